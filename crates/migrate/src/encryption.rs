//! The encryption rule: no table is less encrypted at the target than at the source.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{
    catalog::{Catalog, Encrypt, Table},
    storage::NotProven,
};

/// Whether a table is encrypted at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AtRest {
    /// Stored in plaintext.
    Clear,
    /// Stored encrypted.
    Encrypted,
}

impl AtRest {
    const fn from_flag(encrypted: bool) -> Self {
        if encrypted { Self::Encrypted } else { Self::Clear }
    }

    /// The word for it in tables and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::Encrypted => "encrypted",
        }
    }
}

/// How the state at the target is known, the weakest evidence first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// By the plan: the table does not exist yet, and will be checked once it is created.
    Planned,
    /// By what the service says about its storage.
    Attested,
    /// By the server's list of tablespaces.
    Reported,
}

/// A table at both ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableEncryption {
    /// `schema.table`.
    pub table: String,
    /// Its state at the source, according to the list of tablespaces.
    pub source: AtRest,
    /// Its state at the target.
    pub target: AtRest,
    /// How the state at the target is known.
    pub grade: Grade,
}

impl TableEncryption {
    /// Whether the table is less encrypted at the target, which no option permits.
    #[must_use]
    pub fn is_less(&self) -> bool {
        self.target < self.source
    }
}

/// The states that the tables will have once they are created. `storage` is the evidence about the target's storage.
#[must_use]
pub fn planned(source: &Catalog, encrypt: Encrypt, storage: &Result<String, NotProven>) -> Vec<TableEncryption> {
    let entry = |table: &Table| {
        let (target, grade) = match encrypt {
            Encrypt::All | Encrypt::AsSource => (encrypt.requires(table), Grade::Planned),
            Encrypt::Storage => (storage.is_ok(), Grade::Attested),
        };
        TableEncryption {
            table: table.label(),
            source: AtRest::from_flag(table.encrypted),
            target: AtRest::from_flag(target),
            grade,
        }
    };
    source.tables.iter().map(entry).collect()
}

/// The states that the servers report. A table that the target lacks counts as unencrypted there.
#[must_use]
pub fn reported(source: &Catalog, target: &Catalog) -> Vec<TableEncryption> {
    let encrypted: BTreeSet<_> = target.tables.iter().filter(|table| table.encrypted).map(Table::full_name).collect();
    let entry = |table: &Table| TableEncryption {
        table: table.label(),
        source: AtRest::from_flag(table.encrypted),
        target: AtRest::from_flag(encrypted.contains(&table.full_name())),
        grade: Grade::Reported,
    };
    source.tables.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::table;

    fn catalog(encrypted: bool) -> Catalog {
        let mut table = table("t");
        table.encrypted = encrypted;
        Catalog { tables: vec![table], ..Catalog::default() }
    }

    #[test]
    fn a_clear_target_of_an_encrypted_source_is_less() {
        for (source, target, less) in
            [(true, false, true), (true, true, false), (false, false, false), (false, true, false)]
        {
            let entries = reported(&catalog(source), &catalog(target));
            assert_eq!(entries.iter().any(TableEncryption::is_less), less, "{source} {target}");
        }
        assert!(reported(&catalog(true), &Catalog::default()).iter().any(TableEncryption::is_less));
        let nothing = || NotProven { why: String::new(), is_clear: false };
        let less = |encrypt, storage| planned(&catalog(true), encrypt, &storage).iter().any(TableEncryption::is_less);
        assert!(!less(Encrypt::AsSource, Err(nothing())));
        assert!(less(Encrypt::Storage, Err(nothing())) && !less(Encrypt::Storage, Ok(String::new())));
        let all = planned(&catalog(false), Encrypt::All, &Err(nothing()));
        assert_eq!(all.first().unwrap().target, AtRest::Encrypted);
    }
}
