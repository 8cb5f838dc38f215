//! Methods to keep a copied table consistent with changes.

use serde::Serialize;

use crate::catalog::{Catalog, Table};

/// How changes of a table are handled while it is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum CopyMethod {
    /// Changes are applied if their key is within a range that is already copied.
    #[serde(rename = "gate")]
    RangeFilter,
    /// Only the server can compare the key, so changed rows are read again at the end.
    #[serde(rename = "touch")]
    RereadChanged,
    /// Changes cannot be applied, so the whole table is copied from one snapshot.
    #[serde(rename = "lock")]
    SingleSnapshot,
}

impl CopyMethod {
    /// The methods that this version implements.
    pub const AVAILABLE: [Self; 1] = [Self::RangeFilter];

    /// The word for it in tables and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RangeFilter => "gate",
            Self::RereadChanged => "touch",
            Self::SingleSnapshot => "lock",
        }
    }
}

/// The method for a table. `cascades_logged` says whether the source's binary log contains rows that foreign keys
/// change.
#[must_use]
pub fn copy_method(catalog: &Catalog, table: &Table, cascades_logged: bool) -> CopyMethod {
    let changed_unseen = !cascades_logged
        && catalog.foreign_keys.iter().any(|key| {
            let name = table.full_name();
            key.cascades() && (key.table == name || key.parent == name)
        });
    match &table.identity {
        _ if changed_unseen => CopyMethod::SingleSnapshot,
        None => CopyMethod::SingleSnapshot,
        Some(identity) if identity.comparable => CopyMethod::RangeFilter,
        Some(_) => CopyMethod::RereadChanged,
    }
}
