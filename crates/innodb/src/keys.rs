//! Where keys come from: this crate asks by name or number and never reads a key store.

use zeroize::Zeroizing;

use crate::ids::{KeyVersion, MasterKeyId};

/// Bytes of a MySQL master key.
pub const MASTER_KEY_BYTES: usize = 32;

/// Keys at hand. Implemented by whoever read the key stores.
pub trait KeySource: Sync {
    /// MySQL: the key called `name`: `INNODBKey-<server uuid>-<id>`,
    /// `MySQLReplicationKey_<server uuid>_<id>`. The bootstrap key of id 0 is not asked for.
    fn mysql(&self, name: &str) -> Option<Zeroizing<[u8; MASTER_KEY_BYTES]>>;

    /// MySQL: the key called `name`, whatever its length: `percona_binlog:<version>` has 16 bytes.
    fn mysql_of_any_length(&self, name: &str) -> Option<Zeroizing<Vec<u8>>> {
        self.mysql(name).map(|key| Zeroizing::new(key.to_vec()))
    }

    /// MySQL: every server's InnoDB master key of this number, for the information of 5.7.11, which
    /// does not say whose key it is.
    fn mysql_numbered(&self, number: MasterKeyId) -> Vec<Zeroizing<[u8; MASTER_KEY_BYTES]>>;

    /// MariaDB: version `version` of key `id`; 16, 24 or 32 bytes.
    fn mariadb(&self, id: u32, version: KeyVersion) -> Option<Zeroizing<Vec<u8>>>;

    /// Whether any MySQL key store was given: a key not found in it is missing, while without
    /// one nothing can be said.
    fn has_mysql(&self) -> bool;

    /// Whether any MariaDB key store was given.
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
