//! Features of servers and their first versions. `docs/compatibility.md` is generated from this table.
//!
//! Sources: MySQL manual, "InnoDB Data-at-Rest Encryption" of 5.7 and 8.0 and the release notes of 8.0; MariaDB
//! documentation, "Data-at-Rest Encryption" and "FLUSH". Seen on 5.7.22: 5.7 encrypts nothing but tables. Percona's own
//! options (system and temporary tablespace, binary logs of 5.7) are not included.

use crate::version::{Flavor, ServerVersion};

/// A feature that servers have since a certain version.
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
    /// `JSON_TABLE`, which lists the values of a document.
    JsonTable,
    /// Roles.
    Roles,
    /// Reloading certificates and other TLS settings without a restart.
    ReloadTls,
    /// `SHOW REPLICA STATUS`, instead of `SHOW SLAVE STATUS`.
    ShowReplica,
    /// `CHANGE REPLICATION SOURCE TO`, instead of `CHANGE MASTER TO`.
    ChangeReplicationSource,
    /// Account and password of recovery as options of `START GROUP_REPLICATION`.
    GroupReplicationCredentials,
    /// `ALTER USER` with passwords and required TLS.
    AlterUser,
    /// Privileges that components define, such as `ENCRYPTION_KEY_ADMIN`.
    DynamicPrivileges,
    /// The privilege `BINLOG MONITOR`, instead of `REPLICATION CLIENT`.
    BinlogMonitor,
    /// `caching_sha2_password`.
    CachingSha2,
    /// `auth_parsec`.
    Parsec,
    /// `unix_socket` without installing a plug-in.
    UnixSocketBuiltIn,
    /// Components, such as the newer audit logs.
    Components,
    /// Percona's audit log as a component.
    AuditLogFilterComponent,
    /// The clone plug-in.
    Clone,
    /// X Protocol.
    XProtocol,
    /// TLS settings of the administrative port.
    AdminTls,
    /// TLS 1.2 and its cipher suites.
    Tls12,
    /// A variable that restricts the permitted TLS versions.
    SetTlsVersions,
    /// Only TLS 1.2 and 1.3 are enabled by default.
    OnlyTls12And13,
    /// A certificate that is generated in memory if no file is set.
    CertificateInMemory,
    /// Replicas that refuse an unencrypted source even if its certificate is not verified.
    ReplicaEnforcesTls,
    /// Clients that enforce `ssl` in an option file instead of treating it as a preference.
    ClientEnforcesTls,
    /// The variable `block_encryption_mode`.
    BlockEncryptionMode,
    /// Histograms of column values in the dictionary.
    Histograms,
    /// All auxiliary tables of full-text indexes in the list of tablespaces.
    ListFullTextTables,
    /// Persisted variables that are treated as sensitive.
    SensitiveVariables,
    /// `CREATE UNDO TABLESPACE`.
    CreateUndo,
    /// A redo log in the format that `sealant backup` can follow.
    FollowRedo,
    /// Core dumps without the buffer pool.
    CoreWithoutBufferPool,
    /// `secure_file_priv = NULL`, which disables reading and writing files.
    SecureFilePrivNull,
    /// Removal of the statements named after masters and slaves.
    WithoutMasterStatements,
}

/// The three numbers of a version.
pub type VersionTriple = (u16, u16, u16);

/// A version as text: `8.0.16`.
#[must_use]
pub fn dotted_version((major, minor, patch): VersionTriple) -> String {
    format!("{major}.{minor}.{patch}")
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The capability.
    pub capability: Capability,
    /// Its name in documents.
    pub title: &'static str,
    /// First version of MySQL and Percona Server with the feature; `None` if no version has it.
    pub mysql: Option<VersionTriple>,
    /// First version of MariaDB with the feature; `None` if no version has it.
    pub mariadb: Option<VersionTriple>,
}

const fn row(
    capability: Capability,
    title: &'static str,
    mysql: Option<VersionTriple>,
    mariadb: Option<VersionTriple>,
) -> Row {
    Row { capability, title, mysql, mariadb }
}

/// Every capability.
pub const CAPABILITIES: [Row; 46] = [
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
    row(Capability::JsonTable, "`JSON_TABLE`", Some((8, 0, 4)), Some((10, 6, 0))),
    row(Capability::Roles, "roles", Some((8, 0, 0)), Some((10, 0, 5))),
    row(Capability::ReloadTls, "reloads certificates without a restart", Some((8, 0, 16)), Some((10, 4, 1))),
    row(Capability::ShowReplica, "`SHOW REPLICA STATUS`", Some((8, 0, 22)), Some((10, 5, 1))),
    row(Capability::ChangeReplicationSource, "`CHANGE REPLICATION SOURCE TO`", Some((8, 0, 23)), None),
    row(Capability::GroupReplicationCredentials, "`START GROUP_REPLICATION USER = …`", Some((8, 0, 21)), None),
    row(Capability::AlterUser, "`ALTER USER … REQUIRE`", Some((5, 7, 6)), Some((10, 2, 0))),
    row(Capability::DynamicPrivileges, "dynamic privileges", Some((8, 0, 0)), None),
    row(Capability::BinlogMonitor, "the privilege `BINLOG MONITOR`", None, Some((10, 5, 2))),
    row(Capability::CachingSha2, "`caching_sha2_password`", Some((8, 0, 3)), None),
    row(Capability::Parsec, "`auth_parsec`", None, Some((11, 6, 0))),
    row(Capability::UnixSocketBuiltIn, "`unix_socket` built in", None, Some((10, 4, 3))),
    row(Capability::Components, "components", Some((8, 0, 0)), None),
    row(Capability::AuditLogFilterComponent, "`component_audit_log_filter` (Percona Server)", Some((8, 4, 0)), None),
    row(Capability::Clone, "the clone plug-in", Some((8, 0, 17)), None),
    row(Capability::XProtocol, "X Protocol", Some((5, 7, 12)), None),
    row(Capability::AdminTls, "TLS settings of the administrative port", Some((8, 0, 21)), None),
    row(Capability::Tls12, "TLS 1.2", Some((5, 7, 0)), Some((10, 0, 0))),
    row(Capability::SetTlsVersions, "`tls_version`", Some((5, 7, 10)), Some((10, 4, 6))),
    row(Capability::OnlyTls12And13, "only TLS 1.2 and 1.3 by default", Some((8, 0, 28)), Some((10, 6, 0))),
    row(Capability::CertificateInMemory, "generates a certificate in memory", None, Some((11, 4, 1))),
    row(Capability::ReplicaEnforcesTls, "replicas enforce TLS", Some((5, 7, 3)), None),
    row(Capability::ClientEnforcesTls, "clients enforce `ssl`", Some((5, 7, 3)), Some((11, 4, 0))),
    row(Capability::BlockEncryptionMode, "`block_encryption_mode`", Some((5, 6, 17)), Some((11, 2, 0))),
    row(Capability::Histograms, "histograms", Some((8, 0, 3)), None),
    row(Capability::ListFullTextTables, "lists all tables of full-text indexes", Some((5, 7, 0)), Some((10, 0, 0))),
    row(Capability::SensitiveVariables, "sensitive variables", Some((8, 0, 29)), None),
    row(Capability::CreateUndo, "`CREATE UNDO TABLESPACE`", Some((8, 0, 14)), None),
    row(Capability::FollowRedo, "redo log that a backup follows", Some((8, 0, 30)), Some((10, 8, 0))),
    row(Capability::CoreWithoutBufferPool, "core dumps without the buffer pool", Some((8, 0, 14)), None),
    row(Capability::SecureFilePrivNull, "`secure_file_priv = NULL`", Some((5, 7, 6)), None),
    row(Capability::WithoutMasterStatements, "without `SHOW MASTER STATUS`", Some((8, 4, 0)), None),
];

impl Capability {
    /// The first version of that fork with the capability; `None` if it has none.
    #[must_use]
    pub fn since(self, flavor: Flavor) -> Option<VersionTriple> {
        let row = CAPABILITIES.iter().find(|row| row.capability == self)?;
        if flavor.is_mysql_like() { row.mysql } else { row.mariadb }
    }
}

impl ServerVersion {
    /// Whether this server has the capability.
    #[must_use]
    pub fn can(&self, capability: Capability) -> bool {
        capability.since(self.flavor).is_some_and(|since| self.numbers() >= since)
    }

    /// Whether this is MySQL or Percona Server and has the capability, with that family's statements and variables.
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
