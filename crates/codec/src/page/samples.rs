//! Files of testdata/ for the tests of schemes.

use std::{fs, path::PathBuf};

use innodb::{
    KeyVersion, MasterKeyId,
    keys::{KeySource, MASTER_KEY_BYTES},
};
use verify::Keys;
use zeroize::Zeroizing;

use super::{DecryptedChunk, SpaceCipher};

fn sample_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// A sample, decompressed if it is stored compressed.
pub(super) fn sample(name: &str) -> Vec<u8> {
    fs::read(sample_path(name)).unwrap_or_else(|_| {
        let packed = fs::File::open(sample_path(&format!("{name}.zst"))).unwrap();
        let mut bytes = Vec::new();
        zstd::stream::copy_decode(packed, &mut bytes).unwrap();
        bytes
    })
}

/// The keyring of MySQL's samples.
pub(super) fn keys() -> Keys {
    let mut keys = Keys::default();
    keys.add_keyring(&sample_path("keyring/mysql97-component-file.json")).unwrap();
    keys
}

/// Keys of a key file of MariaDB's samples.
pub(super) fn mariadb_keys(name: &str) -> Keys {
    let mut keys = Keys::default();
    keys.add_key_file(&sample_path(&format!("keyring/{name}")), None).unwrap();
    keys
}

/// The same names with other keys.
pub(super) struct WrongKeys(pub(super) Keys);

impl KeySource for WrongKeys {
    fn mysql(&self, name: &str) -> Option<Zeroizing<[u8; MASTER_KEY_BYTES]>> {
        let mut key = self.0.mysql(name)?;
        key[0] ^= 1;
        Some(key)
    }

    fn mysql_numbered(&self, _: MasterKeyId) -> Vec<Zeroizing<[u8; MASTER_KEY_BYTES]>> {
        Vec::new()
    }

    fn mariadb(&self, id: u32, version: KeyVersion) -> Option<Zeroizing<Vec<u8>>> {
        let mut key = self.0.mariadb(id, version)?;
        key[0] ^= 1;
        Some(key)
    }

    fn has_mysql(&self) -> bool {
        self.0.has_mysql()
    }

    fn has_mariadb(&self) -> bool {
        self.0.has_mariadb()
    }
}

/// Decrypts a chunk, encrypts it as a receiver with the key would, and compares it with the
/// original. Returns the number of decrypted units, and the payload.
#[track_caller]
pub(super) fn decrypt_and_encrypt(cipher: &SpaceCipher, offset: u64, chunk: &[u8]) -> (usize, Vec<u8>) {
    let (mut payload, mut check) = (Vec::new(), Vec::new());
    let units = cipher.decrypt(7, offset, chunk, &mut payload, &mut check);
    let receiver = SpaceCipher::decode(&cipher.encode()).unwrap();
    let decrypted = DecryptedChunk::parse(&payload).unwrap();
    assert_eq!(decrypted.slot, 7);
    let mut encrypted = vec![0x55; chunk.len()];
    decrypted.encrypt(&receiver, offset, &mut encrypted).unwrap();
    assert!(encrypted == chunk, "the chunk at {offset} differs");
    (units, payload)
}
