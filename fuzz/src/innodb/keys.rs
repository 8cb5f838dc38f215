//! The keys of testdata/, which protect nothing else.

use std::sync::LazyLock;

use innodb::{KeyVersion, MasterKeyId, keys::KeySource};
use keyring::{Derivation, KeyName, MariaDbKeys, MysqlKeyring};
use zeroize::Zeroizing;

macro_rules! store {
    ($name:literal) => {
        include_bytes!(concat!("../../../testdata/keyring/", $name))
    };
}

/// The password of the encrypted key file.
pub const PASSWORD: &[u8] = store!("mariadb1011-filekey");

const MYSQL: [&[u8]; 6] = [
    store!("mysql97-component-file.json"),
    store!("mysql97-4k-component-file.json"),
    store!("mysql97-8k-component-file.json"),
    store!("mysql97-32k-component-file.json"),
    store!("mysql97-64k-component-file.json"),
    store!("synthetic-plugin-file-v2.0"),
];

/// They have different keys under the same numbers.
const MARIADB: [&[u8]; 3] =
    [store!("mariadb1011-keyfile"), store!("mariadb1011-ctr-keyfile"), store!("mariadb-redo-versions-keyfile")];

/// All keys of the MySQL samples, and of the MariaDB samples those of one key file.
#[derive(Debug)]
pub struct SampleKeys {
    mysql: Vec<MysqlKeyring>,
    mariadb: Option<MariaDbKeys>,
}

static SETS: LazyLock<[SampleKeys; 3]> = LazyLock::new(|| MARIADB.map(SampleKeys::with));

/// The keys of a set; there are three, and `number` says which.
#[must_use]
pub fn set(number: u8) -> &'static SampleKeys {
    let [mariadb1011, ctr, redo] = &*SETS;
    match number % 3 {
        0 => mariadb1011,
        1 => ctr,
        _ => redo,
    }
}

impl SampleKeys {
    fn with(key_file: &[u8]) -> Self {
        Self {
            mysql: MYSQL.iter().filter_map(|file| MysqlKeyring::load(file).ok()).collect(),
            mariadb: MariaDbKeys::load_derived(key_file, None, Derivation::default()).ok(),
        }
    }
}

impl KeySource for SampleKeys {
    fn mysql(&self, name: &str) -> Option<Zeroizing<[u8; 32]>> {
        self.mysql.iter().find_map(|keyring| fixed(keyring.get(name)?.as_bytes()))
    }

    fn mysql_numbered(&self, wanted: MasterKeyId) -> Vec<Zeroizing<[u8; 32]>> {
        let is_wanted =
            |name: &str| matches!(KeyName::parse(name), KeyName::InnodbMaster { number, .. } if number == wanted.0);
        let keys = self.mysql.iter().flat_map(MysqlKeyring::iter);
        keys.filter(|(name, _)| is_wanted(name)).filter_map(|(_, key)| fixed(key.as_bytes())).collect()
    }

    fn mariadb(&self, id: u32, version: KeyVersion) -> Option<Zeroizing<Vec<u8>>> {
        let key = self.mariadb.as_ref()?.get(id, version.0)?;
        Some(Zeroizing::new(key.as_bytes().to_vec()))
    }

    fn has_mysql(&self) -> bool {
        !self.mysql.is_empty()
    }

    fn has_mariadb(&self) -> bool {
        self.mariadb.is_some()
    }
}

fn fixed(key: &[u8]) -> Option<Zeroizing<[u8; 32]>> {
    key.try_into().ok().map(Zeroizing::new)
}
