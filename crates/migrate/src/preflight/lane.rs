//! In which way a table is kept equal while it is copied.

use serde::Serialize;

use crate::catalog::{Catalog, Table};

/// A way of copying a table under change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    /// Changes are compared with the ranges that are copied already, by the key.
    Gate,
    /// Only the server can compare the key: changed rows are read again at the end.
    Touch,
    /// Changes cannot be repeated: one snapshot of the whole table.
    Lock,
}

impl Lane {
    /// The lanes that this version has.
    pub const AVAILABLE: [Self; 1] = [Self::Gate];

    /// The word in tables and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Touch => "touch",
            Self::Lock => "lock",
        }
    }
}

/// The lane of a table. `cascades_logged`: whether the source's binary log has the rows that its foreign keys change.
#[must_use]
pub fn lane(catalog: &Catalog, table: &Table, cascades_logged: bool) -> Lane {
    let changed_unseen = !cascades_logged
        && catalog.foreign_keys.iter().any(|key| {
            let name = table.full_name();
            key.cascades() && (key.table == name || key.parent == name)
        });
    match &table.identity {
        _ if changed_unseen => Lane::Lock,
        None => Lane::Lock,
        Some(identity) if identity.comparable => Lane::Gate,
        Some(_) => Lane::Touch,
    }
}
