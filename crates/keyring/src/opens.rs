//! Whether a master key opens a tablespace: the only question that needs key bytes. They are
//! unwrapped in memory that is wiped, and only the answer leaves.
//!
//! Source: formats, "Encryption info on page 0": 64 bytes, AES-256-ECB under the master key;
//! the CRC-32C of what is inside tells whether the key was right. Confirmed on MySQL 9.7.

use aws_lc_rs::cipher::{AES_256, DecryptingKey, DecryptionContext, UnboundCipherKey};
use serde::Deserialize;
use zeroize::{Zeroize, Zeroizing};

use crate::store::{StoreKind, recognise};

/// Bytes of a tablespace's key and initialisation vector, wrapped.
pub const WRAPPED_BYTES: usize = 64;

/// Constant that the plug-in's file hides its keys with; it is in the server's source.
const OBFUSCATION: &[u8; 24] = b"*305=Ljt0*!@$Hnm(*-9-w;:";

/// Tries the master key called `key` of a key store, all bytes of which are given, on a
/// tablespace's wrapped key; `None` if the store holds no such key that can be used.
#[must_use]
pub fn opens(store: &[u8], key: &str, wrapped: &[u8; WRAPPED_BYTES], checksum: u32) -> Option<bool> {
    let master = master_key(store, key)?;
    let unbound = UnboundCipherKey::new(&AES_256, &master).ok()?;
    let cipher = DecryptingKey::ecb(unbound).ok()?;
    let mut inside = Zeroizing::new(*wrapped);
    cipher.decrypt(inside.as_mut_slice(), DecryptionContext::None).ok()?;
    Some(crc32c(inside.as_slice()) == checksum)
}

fn master_key(store: &[u8], key: &str) -> Option<Zeroizing<Vec<u8>>> {
    let size = u64::try_from(store.len()).ok()?;
    match recognise(store, "", size)? {
        StoreKind::ComponentFile => of_component(store, key),
        StoreKind::PluginFileV1 | StoreKind::PluginFileV2 => of_plugin(store, key),
        _ => None,
    }
}

#[derive(Deserialize)]
struct File {
    elements: Vec<Element>,
}

#[derive(Deserialize)]
struct Element {
    data_id: String,
    data: String,
}

impl Drop for Element {
    fn drop(&mut self) {
        self.data.zeroize();
    }
}

fn of_component(store: &[u8], key: &str) -> Option<Zeroizing<Vec<u8>>> {
    let file: File = serde_json::from_slice(store).ok()?;
    let element = file.elements.iter().find(|element| element.data_id == key)?;
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = element.data.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    });
    bytes.collect::<Option<Vec<u8>>>().map(Zeroizing::new)
}

/// A record: five 64-bit lengths (record, name, type, user, key), then the four texts.
fn of_plugin(store: &[u8], key: &str) -> Option<Zeroizing<Vec<u8>>> {
    const LENGTHS: usize = 40;
    let mut at = 24_usize;
    loop {
        let record = store.get(at..)?;
        let mut lengths = [0_usize; 5];
        for (length, bytes) in lengths.iter_mut().zip(record.get(..LENGTHS)?.chunks_exact(8)) {
            *length = usize::try_from(u64::from_le_bytes(*bytes.first_chunk()?)).ok()?;
        }
        let [total, name, key_type, user, key_bytes] = lengths;
        let texts = record.get(LENGTHS..total)?;
        if texts.get(..name)? == key.as_bytes() {
            let begin = name.checked_add(key_type)?.checked_add(user)?;
            let hidden = texts.get(begin..begin.checked_add(key_bytes)?)?;
            let clear = hidden.iter().zip(OBFUSCATION.iter().cycle()).map(|(byte, mask)| byte ^ mask);
            return Some(Zeroizing::new(clear.collect()));
        }
        at = at.checked_add(total)?;
    }
}

/// Castagnoli's CRC, bit by bit: 64 bytes do not deserve a table.
fn crc32c(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let step = |crc: u32, _: u32| (crc >> 1) ^ (POLYNOMIAL & (crc & 1).wrapping_neg());
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "tests build their own bytes")]
mod tests {
    use aws_lc_rs::cipher::EncryptingKey;

    use super::*;

    const NAME: &str = "INNODBKey-u-1";

    fn component(key: &[u8]) -> Vec<u8> {
        let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        format!(r#"{{"version":"1.0","elements":[{{"user":"","data_id":"{NAME}","data_type":"AES","data":"{hex}","extension":[]}}]}}"#)
            .into_bytes()
    }

    fn plugin(key: &[u8]) -> Vec<u8> {
        let hidden: Vec<u8> = key.iter().zip(OBFUSCATION.iter().cycle()).map(|(a, b)| a ^ b).collect();
        let texts = [NAME.as_bytes(), b"AES", b"", &hidden].concat();
        let total = (40 + texts.len()).next_multiple_of(8);
        let mut store = b"Keyring file version:1.0".to_vec();
        for length in [total, NAME.len(), 3, 0, key.len()] {
            store.extend(u64::try_from(length).unwrap().to_le_bytes());
        }
        store.extend(texts);
        store.resize(24 + total, 0);
        store.extend(b"EOF");
        store
    }

    fn wrapped(key: &[u8], inside: &[u8; 64]) -> [u8; 64] {
        let mut bytes = *inside;
        let cipher = EncryptingKey::ecb(UnboundCipherKey::new(&AES_256, key).unwrap()).unwrap();
        cipher.encrypt(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn the_right_key_opens_and_another_does_not() {
        let (right, wrong) = ([7; 32], [8; 32]);
        let inside = [0x5a; 64];
        let (wrapped, sum) = (wrapped(&right, &inside), crc32c(&inside));
        for store in [component, plugin] {
            assert_eq!(opens(&store(&right), NAME, &wrapped, sum), Some(true));
            assert_eq!(opens(&store(&wrong), NAME, &wrapped, sum), Some(false));
            assert_eq!(opens(&store(&right), "INNODBKey-u-2", &wrapped, sum), None);
            assert_eq!(opens(&store(&right[..16]), NAME, &wrapped, sum), None);
        }
        assert_eq!(opens(b"", NAME, &wrapped, sum), None);
    }

    #[test]
    fn the_checksum_is_castagnolis() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }
}
