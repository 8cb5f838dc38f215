//! What servers can do, and since which version: the one table of it, which `docs/compatibility.md` prints.
//!
//! Sources: MySQL manual, "InnoDB Data-at-Rest Encryption" of 5.7 and 8.0 and the release notes of 8.0; MariaDB
//! documentation, "Data-at-Rest Encryption" and "FLUSH". Seen on 5.7.22: 5.7 encrypts nothing but tables. Percona's own
//! options (system and temporary tablespace, binary logs of 5.7) are not included.

use crate::version::{Flavor, ServerVersion};

/// Something that servers can do since some version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Encryption of tables with their own file; master keys can be rotated.
    EncryptTables,
    /// Encryption of the auxiliary tables of full-text indexes.
    EncryptFullText,
    /// Encryption by default, for new tables of a schema and of the server.
    EncryptByDefault,
    /// Encryption of general tablespaces.
    EncryptGeneral,
    /// Encryption of `mysql.ibd`.
    EncryptDictionary,
    /// Encryption of undo tablespaces.
    EncryptUndo,
    /// Encryption of the redo log.
    EncryptRedo,
    /// Encryption of binary and relay logs.
    EncryptBinaryLogs,
    /// Encrypted copies of encrypted pages in doublewrite files. Earlier versions wrote pages there, and in the system
    /// tablespace of 5.7, before encrypting them.
    EncryptDoublewrite,
    /// A dictionary in `mysql.ibd` instead of tables in `ibdata1`.
    DictionaryTablespace,
    /// A redo log that is resized while the server runs.
    ResizeRedo,
    /// Keyrings that are components.
    KeyringComponents,
    /// `performance_schema.keyring_keys`.
    ListKeyringKeys,
    /// `SET PERSIST`.
    PersistVariables,
    /// Roles.
    Roles,
    /// Reloading certificates and other TLS settings without a restart.
    ReloadTls,
    /// `SHOW REPLICA STATUS`, instead of `SHOW SLAVE STATUS`.
    ShowReplica,
    /// `CHANGE REPLICATION SOURCE TO`, instead of `CHANGE MASTER TO`.
    ChangeReplicationSource,
}

/// A version: its three numbers.
pub type Since = (u16, u16, u16);

/// A version in words: `8.0.16`.
#[must_use]
pub fn since_text((major, minor, patch): Since) -> String {
    format!("{major}.{minor}.{patch}")
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What it is about.
    pub capability: Capability,
    /// As documents call it.
    pub title: &'static str,
    /// First version of MySQL and Percona Server with it; `None` if there is none.
    pub mysql: Option<Since>,
    /// First version of MariaDB with it.
    pub mariadb: Option<Since>,
}

const fn row(capability: Capability, title: &'static str, mysql: Option<Since>, mariadb: Option<Since>) -> Row {
    Row { capability, title, mysql, mariadb }
}

/// Every capability.
pub const CAPABILITIES: [Row; 18] = [
    row(Capability::EncryptTables, "encrypts tables", Some((5, 7, 11)), Some((10, 1, 3))),
    row(Capability::EncryptFullText, "encrypts tables of full-text indexes", Some((8, 0, 0)), Some((10, 1, 3))),
    row(Capability::EncryptByDefault, "encrypts new tables by default", Some((8, 0, 16)), Some((10, 1, 3))),
    row(Capability::EncryptGeneral, "encrypts general tablespaces", Some((8, 0, 13)), None),
    row(Capability::EncryptDictionary, "encrypts `mysql.ibd`", Some((8, 0, 16)), None),
    row(Capability::EncryptUndo, "encrypts undo tablespaces", Some((8, 0, 1)), Some((10, 1, 3))),
    row(Capability::EncryptRedo, "encrypts the redo log", Some((8, 0, 1)), Some((10, 1, 3))),
    row(Capability::EncryptBinaryLogs, "encrypts binary and relay logs", Some((8, 0, 14)), Some((10, 1, 3))),
    row(Capability::EncryptDoublewrite, "encrypts pages before the doublewrite", Some((8, 0, 23)), Some((10, 1, 3))),
    row(Capability::DictionaryTablespace, "has its dictionary in `mysql.ibd`", Some((8, 0, 0)), None),
    row(Capability::ResizeRedo, "resizes its redo log while it runs", Some((8, 0, 30)), Some((10, 9, 0))),
    row(Capability::KeyringComponents, "loads keyrings as components", Some((8, 0, 24)), None),
    row(Capability::ListKeyringKeys, "lists the keys of its keyring", Some((8, 0, 16)), None),
    row(Capability::PersistVariables, "`SET PERSIST`", Some((8, 0, 0)), None),
    row(Capability::Roles, "roles", Some((8, 0, 0)), Some((10, 0, 5))),
    row(Capability::ReloadTls, "reloads certificates without a restart", Some((8, 0, 16)), Some((10, 4, 1))),
    row(Capability::ShowReplica, "`SHOW REPLICA STATUS`", Some((8, 0, 22)), Some((10, 5, 1))),
    row(Capability::ChangeReplicationSource, "`CHANGE REPLICATION SOURCE TO`", Some((8, 0, 23)), None),
];

impl Capability {
    /// The first version of that fork with it; `None` if it has none.
    #[must_use]
    pub fn since(self, flavor: Flavor) -> Option<Since> {
        let row = CAPABILITIES.iter().find(|row| row.capability == self)?;
        if flavor.is_mysql_like() { row.mysql } else { row.mariadb }
    }
}

impl ServerVersion {
    /// Whether this server can do that.
    #[must_use]
    pub fn can(&self, capability: Capability) -> bool {
        capability.since(self.flavor).is_some_and(|since| self.numbers() >= since)
    }

    /// Whether this is MySQL or Percona Server and can do that, with the statements and variables of that family.
    #[must_use]
    pub fn mysql_can(&self, capability: Capability) -> bool {
        self.flavor.is_mysql_like() && self.can(capability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::VersionHints;

    fn version(text: &str) -> ServerVersion {
        ServerVersion::parse(text, VersionHints::default()).unwrap()
    }

    #[test]
    fn every_capability_has_one_row() {
        for (number, row) in CAPABILITIES.iter().enumerate() {
            assert_eq!(row.capability as usize, number, "{:?} is not in its place", row.capability);
        }
    }

    #[test]
    fn a_5_7_encrypts_tables_alone() {
        let encrypts = |version: &ServerVersion| {
            let rows =
                CAPABILITIES.iter().filter(|row| row.title.starts_with("encrypts") && version.can(row.capability));
            rows.map(|row| row.capability).collect::<Vec<_>>()
        };
        assert_eq!(encrypts(&version("5.7.22-log")), [Capability::EncryptTables]);
        assert_eq!(encrypts(&version("5.7.10")), []);
        assert_eq!(encrypts(&version("8.0.33")).len(), 9);
    }

    #[test]
    fn forks_have_versions_of_their_own() {
        assert!(!version("10.11.19-MariaDB").can(Capability::PersistVariables));
        assert!(version("9.7.4").can(Capability::PersistVariables));
        assert!(version("8.0.33").mysql_can(Capability::ReloadTls));
        assert!(!version("10.11.19-MariaDB").mysql_can(Capability::ReloadTls));
        assert!(
            version("10.4.1-MariaDB").can(Capability::ReloadTls)
                && !version("10.4.0-MariaDB").can(Capability::ReloadTls)
        );
    }
}
