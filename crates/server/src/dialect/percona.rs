//! Differences between Percona Server or XtraDB Cluster and MySQL of the same version.
//!
//! An entry here replaces that of the same name in the MySQL table. None is needed at present: Percona adds variables,
//! which `variables` shows.

use super::Entry;

pub(super) const QUERIES: &[Entry] = &[];
