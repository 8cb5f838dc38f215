//! Methods to keep a copied table consistent with changes.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    ServerFacts,
    pairs::{NATIVE_FOREIGN_KEYS, logs_cascades},
};
use crate::catalog::{Catalog, Table, TableName, groups};

/// How changes of a table are handled while it is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum CopyMethod {
    /// Changes are applied if their key is within a range that is already copied.
    #[serde(rename = "gate")]
    RangeFilter,
    /// Rows cannot be told apart, or their changes are not all in the log, so the whole table is copied from one
    /// snapshot, and each later change is applied exactly once.
    #[serde(rename = "lock")]
    SingleSnapshot,
}

impl CopyMethod {
    /// The word for it in tables and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RangeFilter => "gate",
            Self::SingleSnapshot => "lock",
        }
    }

    /// The method for a table; `groups` as of [`cascade_groups`].
    #[must_use]
    pub fn of(table: &Table, groups: &[BTreeSet<TableName>]) -> Self {
        let is_alone = !groups.iter().any(|group| group.contains(&table.full_name()));
        match &table.identity {
            Some(identity) if identity.comparable && is_alone => Self::RangeFilter,
            _ => Self::SingleSnapshot,
        }
    }
}

/// The tables that have to be copied together because foreign keys change their rows; none if the source logs that.
#[must_use]
pub fn cascade_groups(catalog: &Catalog, source: &ServerFacts) -> Vec<BTreeSet<TableName>> {
    let native = source.is_on(NATIVE_FOREIGN_KEYS);
    if logs_cascades(&source.identity.version, native) { Vec::new() } else { groups(catalog) }
}
