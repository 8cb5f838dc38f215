//! Which tables are copied in chunks, and which as a whole.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::catalog::{Catalog, Table, TableName, groups};

/// How a table is copied while it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum CopyMethod {
    /// In chunks: changes are applied if their key is within a chunk that is already copied.
    #[serde(rename = "gate")]
    Chunks,
    /// Rows cannot be told apart, or their changes are not all in the log, so the whole table is copied from one
    /// snapshot, and each later change is applied exactly once.
    #[serde(rename = "lock")]
    Whole,
}

impl CopyMethod {
    /// The word for it in tables and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chunks => "gate",
            Self::Whole => "lock",
        }
    }

    /// The method for a table; `groups` as of [`cascade_groups`].
    pub(crate) fn of(table: &Table, groups: &[BTreeSet<TableName>]) -> Self {
        let is_alone = !groups.iter().any(|group| group.contains(&table.full_name()));
        match &table.identity {
            Some(identity) if identity.comparable && is_alone => Self::Chunks,
            _ => Self::Whole,
        }
    }
}

/// The tables that have to be copied together because foreign keys change their rows; none if the source logs that.
pub(crate) fn cascade_groups(catalog: &Catalog, logs_cascades: bool) -> Vec<BTreeSet<TableName>> {
    if logs_cascades { Vec::new() } else { groups(catalog) }
}
