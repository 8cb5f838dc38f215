//! Where Percona Server and XtraDB Cluster differ from MySQL of the same version.
//!
//! An entry here replaces the one of the same name in the MySQL table. None is
//! needed today: what Percona adds are variables, which `variables` shows.

use super::Entry;

pub(super) const QUERIES: &[Entry] = &[];
