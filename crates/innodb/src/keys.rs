//! Key lookup: this crate asks for keys by name or number and never reads a key store itself.

use std::fmt::{self, Display};

use zeroize::Zeroizing;

use crate::ids::{KeyVersion, MasterKeyId};

/// Bytes of a MySQL master key.
pub const MASTER_KEY_BYTES: usize = 32;

/// A master key and its name.
pub struct MasterKey {
    /// Server uuid in the name of the key.
    pub server_uuid: String,
    /// Number in the name of the key.
    pub number: u32,
    /// The secret key bytes.
    pub key: Zeroizing<[u8; MASTER_KEY_BYTES]>,
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey")
    }
}

/// Id of MariaDB's key for logs, system data and all tables that name no other key.
pub const MARIADB_SYSTEM_KEY: u32 = 1;
/// Id of MariaDB's key for temporary data, if there is one.
///
/// Source: `ma_crypt.c` (`get_encryption_key_id`); not confirmed on a file.
pub(crate) const MARIADB_TEMPORARY_KEY: u32 = 2;

/// Prefix of the names of MySQL's InnoDB master keys.
pub const MASTER_KEY_PREFIX: &str = "INNODBKey-";
/// Prefix of the names of the master keys of MySQL's binary and relay logs.
pub const BINARY_LOG_KEY_PREFIX: &str = "MySQLReplicationKey_";
/// Name of the binary log key of Percona Server 5.7, without its version.
const PERCONA_BINARY_LOG_KEY: &str = "percona_binlog";

/// Name of an InnoDB master key. `owner` is the server's UUID.
#[must_use]
pub fn master_key_name(owner: &str, number: impl Display) -> String {
    format!("{MASTER_KEY_PREFIX}{owner}-{number}")
}

/// Name of a master key of binary logs. `owner` is the server's UUID.
#[must_use]
pub fn binary_log_key_name(owner: &str, number: impl Display) -> String {
    format!("{BINARY_LOG_KEY_PREFIX}{owner}_{number}")
}

/// Name of a version of the binary log key of Percona Server 5.7.
#[must_use]
pub fn percona_binary_log_key_name(version: impl Display) -> String {
    format!("{PERCONA_BINARY_LOG_KEY}:{version}")
}

/// The key of binary logs of Percona Server 5.7; 5.7.20 stored it without a version.
#[must_use]
pub fn percona_binary_log_key(keys: &(impl KeySource + ?Sized), version: KeyVersion) -> Option<Zeroizing<Vec<u8>>> {
    let name = percona_binary_log_key_name(version);
    keys.mysql_of_any_length(&name).or_else(|| keys.mysql_of_any_length(PERCONA_BINARY_LOG_KEY))
}

/// Access to the available keys. Implemented by the code that reads key stores.
pub trait KeySource: Sync {
    /// MySQL: the key named `name`: `INNODBKey-<server uuid>-<id>`, `MySQLReplicationKey_<server
    /// uuid>_<id>`. Never asked for the bootstrap key (id 0).
    fn mysql(&self, name: &str) -> Option<Zeroizing<[u8; MASTER_KEY_BYTES]>>;

    /// MySQL: the key named `name`, of any length: `percona_binlog:<version>` has 16 bytes.
    fn mysql_of_any_length(&self, name: &str) -> Option<Zeroizing<Vec<u8>>> {
        self.mysql(name).map(|key| Zeroizing::new(key.to_vec()))
    }

    /// MySQL: the InnoDB master keys of this number of all servers. Needed for the encryption
    /// information of 5.7.11, which does not name the server.
    fn mysql_numbered(&self, number: MasterKeyId) -> Vec<Zeroizing<[u8; MASTER_KEY_BYTES]>>;

    /// MariaDB: version `version` of key `id`; 16, 24 or 32 bytes.
    fn mariadb(&self, id: u32, version: KeyVersion) -> Option<Zeroizing<Vec<u8>>>;

    /// MySQL: the key of a tablespace or redo log, or the password of a binary log, if it was given unwrapped instead
    /// of a master key. `_wrapped` is the wrapped key as the file stores it. The caller checks that the key is right.
    fn unwrapped(&self, _wrapped: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        None
    }

    /// Whether a MySQL key store was given. If so, a key not found in it is missing; if not, the
    /// key is unknown.
    fn has_mysql(&self) -> bool;

    /// Whether a MariaDB key store was given.
    fn has_mariadb(&self) -> bool;
}

/// No keys at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKeys;

impl KeySource for NoKeys {
    fn mysql(&self, _: &str) -> Option<Zeroizing<[u8; MASTER_KEY_BYTES]>> {
        None
    }

    fn mysql_numbered(&self, _: MasterKeyId) -> Vec<Zeroizing<[u8; MASTER_KEY_BYTES]>> {
        Vec::new()
    }

    fn mariadb(&self, _: u32, _: KeyVersion) -> Option<Zeroizing<Vec<u8>>> {
        None
    }

    fn has_mysql(&self) -> bool {
        false
    }

    fn has_mariadb(&self) -> bool {
        false
    }
}
