//! Tests whether a master key unwraps the key of a tablespace, in memory that is wiped. Only the result leaves it.
//!
//! Source: docs/formats, "Encryption info on page 0": 64 bytes, AES-256-ECB under the master key; their CRC-32C shows
//! whether the key was right. Confirmed on MySQL 9.7.

use aws_lc_rs::cipher::{AES_256, DecryptingKey, DecryptionContext, UnboundCipherKey};
use zeroize::Zeroizing;

use crate::key::Key;

/// Length of the wrapped key and initialisation vector of a tablespace.
pub const WRAPPED_BYTES: usize = 64;

/// Tries a master key on a wrapped tablespace key with the CRC-32C `checksum`; `None` if `master` does not have 256
/// bits.
#[must_use]
pub fn unwraps(master: &Key, wrapped: &[u8; WRAPPED_BYTES], checksum: u32) -> Option<bool> {
    let unbound = UnboundCipherKey::new(&AES_256, master.as_bytes()).ok()?;
    let cipher = DecryptingKey::ecb(unbound).ok()?;
    let mut inside = Zeroizing::new(*wrapped);
    cipher.decrypt(inside.as_mut_slice(), DecryptionContext::None).ok()?;
    Some(crc32c(inside.as_slice()) == checksum)
}

/// CRC-32C (Castagnoli), bit by bit: for 64 bytes a table would not be faster.
fn crc32c(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let step = |crc: u32, _: u32| (crc >> 1) ^ (POLYNOMIAL & (crc & 1).wrapping_neg());
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::cipher::EncryptingKey;

    use super::*;
    use crate::key::Arena;

    fn key(bytes: &[u8]) -> Key {
        let mut arena = Arena::new(bytes.len()).unwrap();
        let (slot, memory) = arena.allocate(bytes.len()).unwrap();
        memory.copy_from_slice(bytes);
        arena.freeze().key(slot)
    }

    #[test]
    fn the_right_key_opens_and_another_does_not() {
        let (inside, right) = ([0x5a; 64], [7; 32]);
        let mut wrapped = inside;
        let cipher = EncryptingKey::ecb(UnboundCipherKey::new(&AES_256, &right).unwrap()).unwrap();
        cipher.encrypt(&mut wrapped).unwrap();
        assert_eq!(unwraps(&key(&right), &wrapped, crc32c(&inside)), Some(true));
        assert_eq!(unwraps(&key(&[8; 32]), &wrapped, crc32c(&inside)), Some(false));
        assert_eq!(unwraps(&key(&right[..16]), &wrapped, crc32c(&inside)), None);
    }

    #[test]
    fn the_checksum_is_crc_32c() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }
}
