//! Differences between Percona Server or XtraDB Cluster and MySQL of the same version.
//!
//! An entry here replaces the entry of the same name in the MySQL table. None is needed at present: Percona adds
//! variables, which the query `variables` shows.

use super::Entry;

pub(super) const QUERIES: &[Entry] = &[];
