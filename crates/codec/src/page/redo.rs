//! Blocks of MySQL's redo logs: one key and initialisation vector for the whole log.

use innodb::{
    crypt::{mysql::TablespaceKey, redo::mysql::MySqlBlockCipher},
    redo::blocks::{BLOCK_BYTES, block_holds, is_encrypted},
};

use super::{
    Scheme,
    marks::{Mark, MarkEncoding},
    mysql::{key_and_iv, put_key_and_iv},
};
use crate::{Fields, Malformed};

/// Encrypted blocks of a chunk on which a key is tried.
const SAMPLE_BLOCKS: usize = 8;

#[derive(Debug)]
pub(super) struct RedoBlocks {
    key: TablespaceKey,
    cipher: MySqlBlockCipher,
}

impl RedoBlocks {
    pub(super) const KIND: u8 = 4;

    pub(super) fn new(key: TablespaceKey) -> Option<Self> {
        Some(Self { cipher: MySqlBlockCipher::new(&key).ok()?, key })
    }

    /// The cipher for a chunk of the log; `None` if the key decrypts nothing in it.
    pub(super) fn for_chunk(key: &TablespaceKey, chunk: &[u8]) -> Option<Self> {
        let mut encrypted =
            chunk.chunks_exact(BLOCK_BYTES).filter(|block| is_encrypted(block)).take(SAMPLE_BLOCKS).peekable();
        // Most chunks of a clear or new log have no encrypted block: do not expand the key for
        // them.
        encrypted.peek()?;
        let this = Self::new(key.clone())?;
        encrypted.any(|block| this.decrypt_block(&mut block.to_vec())).then_some(this)
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Box<dyn Scheme>, Malformed> {
        Ok(Box::new(Self::new(key_and_iv(fields)?).ok_or(Malformed)?))
    }

    /// Decrypts a block if the result is valid. A damaged block, one with another key, and a part of the file's header,
    /// in which the encryption bit has another meaning, stay unchanged.
    fn decrypt_block(&self, block: &mut [u8]) -> bool {
        let Some(mut copy) = block.first_chunk::<BLOCK_BYTES>().copied() else { return false };
        let decrypts = is_encrypted(block) && self.cipher.decrypt(&mut copy).is_ok() && block_holds(&copy, true);
        if decrypts {
            block.copy_from_slice(&copy);
        }
        decrypts
    }
}

impl Scheme for RedoBlocks {
    fn kind(&self) -> u8 {
        Self::KIND
    }

    fn unit_bytes(&self, _: usize) -> usize {
        BLOCK_BYTES
    }

    fn form(&self) -> MarkEncoding {
        MarkEncoding::Bits
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_key_and_iv(out, &self.key);
    }

    fn decrypt(&self, _: u64, blocks: &mut [u8]) -> Vec<Mark> {
        let decrypt = |block: &mut [u8]| if self.decrypt_block(block) { Mark::Decrypted } else { Mark::Unchanged };
        blocks.chunks_exact_mut(BLOCK_BYTES).map(decrypt).collect()
    }

    fn encrypt(&self, _: u64, marks: &[Mark], blocks: &mut [u8]) {
        for (block, mark) in blocks.chunks_exact_mut(BLOCK_BYTES).zip(marks) {
            if *mark == Mark::Decrypted {
                let _ = self.cipher.encrypt(block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use innodb::{KeyVersion, verify::redo::key_info};

    use super::*;
    use crate::{
        hash::CHUNK_BYTES,
        page::{
            DecryptedChunk, InvalidPayload, KeyFileKeys, MAX_DESCRIPTION_BYTES, SpaceCipher, SpaceKeys,
            samples::{WrongKeys, decrypt_and_encrypt, keys, sample},
        },
    };

    /// Encrypted blocks in the sample, see testdata/README.md.
    const ENCRYPTED: usize = 70;

    fn log() -> Vec<u8> {
        sample("redo/mysql97-mixed")
    }

    fn cipher_of(log: &[u8]) -> SpaceCipher {
        SpaceKeys::from_head(log, &keys(), KeyFileKeys::Keep, || None)
            .unwrap()
            .cipher(KeyVersion(0), 0, log, &keys())
            .unwrap()
    }

    /// Offsets of encrypted blocks; in the header the encryption bit has another meaning.
    fn offsets(log: &[u8]) -> Vec<usize> {
        let blocks = log.chunks(BLOCK_BYTES).enumerate().skip(4);
        blocks.filter(|(_, block)| is_encrypted(block)).map(|(number, _)| number * BLOCK_BYTES).collect()
    }

    #[test]
    fn every_chunk_is_encrypted_to_the_identical_bytes() {
        let log = log();
        let cipher = cipher_of(&log);
        for chunk_bytes in [BLOCK_BYTES, 4096, 5000 * BLOCK_BYTES, 1 << 20] {
            let chunks = log.chunks(chunk_bytes).enumerate();
            let decrypted =
                chunks.map(|(number, chunk)| decrypt_and_encrypt(&cipher, (number * chunk_bytes) as u64, chunk).0);
            assert_eq!(decrypted.sum::<usize>(), ENCRYPTED, "{chunk_bytes}");
        }
    }

    #[test]
    fn the_description_of_a_whole_chunk_is_short() {
        let mut chunk = log();
        chunk.resize(CHUNK_BYTES, 0);
        let (decrypted, payload) = decrypt_and_encrypt(&cipher_of(&chunk), 0, &chunk);
        assert_eq!((decrypted, payload.len() - CHUNK_BYTES), (ENCRYPTED, 4 + 256));
        assert!(payload.len() - CHUNK_BYTES <= MAX_DESCRIPTION_BYTES);
    }

    #[test]
    fn a_partial_last_block_is_sent_unchanged() {
        let log = log();
        let last = *offsets(&log).last().unwrap();
        let cipher = cipher_of(&log);
        assert_eq!(decrypt_and_encrypt(&cipher, 0, &log[..last + 511]).0, ENCRYPTED - 1);
        assert_eq!(decrypt_and_encrypt(&cipher, 0, &[]).0, 0);
    }

    #[test]
    fn damaged_blocks_are_sent_unchanged() {
        let mut log = log();
        let offsets = offsets(&log);
        assert_eq!(offsets.len(), ENCRYPTED);
        let cipher = cipher_of(&log);
        for (at, damaged) in [(offsets[0] + 100, 1), (offsets[20] + 511, 2), (offsets[69], 3)] {
            log[at] ^= 1;
            assert_eq!(decrypt_and_encrypt(&cipher, 0, &log).0, ENCRYPTED - damaged);
        }
        // Sets the encryption bit of a clear block, and of the header.
        log[4] |= 0x80;
        let clear = log.chunks(BLOCK_BYTES).skip(4).position(|block| !is_encrypted(block)).unwrap() + 4;
        log[clear * BLOCK_BYTES + 4] |= 0x80;
        assert_eq!(decrypt_and_encrypt(&cipher, 0, &log).0, ENCRYPTED - 3);
    }

    #[test]
    fn a_file_without_the_key_uses_that_of_another_file() {
        let mut bare = log();
        let info = key_info(&bare);
        assert!(info.is_some());
        bare[512..2048].fill(0);
        assert!(SpaceKeys::from_head(&bare, &keys(), KeyFileKeys::Keep, || None).is_none());
        let borrowed = SpaceKeys::from_head(&bare, &keys(), KeyFileKeys::Keep, || info.clone()).unwrap();
        let cipher = borrowed.cipher(KeyVersion(0), 0, &bare, &keys()).unwrap();
        assert_eq!(decrypt_and_encrypt(&cipher, 0, &bare).0, ENCRYPTED);
        assert!(SpaceKeys::from_head(&bare, &WrongKeys(keys()), KeyFileKeys::Keep, || info.clone()).is_none());
    }

    #[test]
    fn a_key_that_decrypts_nothing_gives_no_cipher() {
        let log = log();
        let encrypted = SpaceKeys::from_head(&log, &keys(), KeyFileKeys::Keep, || None).unwrap();
        assert!(encrypted.cipher(KeyVersion(0), 0, &[0; 1 << 16], &keys()).is_none());
        let other = TablespaceKey::from_parts(&[1; 32], &[2; 32]);
        assert!(RedoBlocks::for_chunk(&other, &log).is_none());
    }

    #[test]
    fn invalid_descriptions_and_keys_are_refused() {
        let log = &log()[..10 * BLOCK_BYTES];
        let cipher = SpaceCipher::new(RedoBlocks::new(TablespaceKey::from_parts(&[1; 32], &[2; 32])).unwrap());
        let encrypt = |description: [u8; 6], bytes: usize| {
            let payload = [&description, log].concat();
            DecryptedChunk::parse(&payload).unwrap().encrypt(&cipher, 0, &mut vec![0; bytes])
        };
        assert_eq!(encrypt([0, 7, 0, 10, 0xff, 0xc0], log.len()), Ok(()));
        for odd in [[0, 7, 0, 10, 0xff, 0xe0], [0, 7, 0, 9, 0xff, 0x80], [0, 7, 0xff, 0xff, 0xff, 0xff]] {
            assert_eq!(encrypt(odd, log.len()), Err(InvalidPayload), "{odd:?}");
        }
        for bytes in [0, log.len() - 1, log.len() + 1, log.len() - BLOCK_BYTES] {
            assert_eq!(encrypt([0, 7, 0, 10, 0xff, 0xc0], bytes), Err(InvalidPayload), "{bytes}");
        }
        let key = cipher.encode();
        for length in 0..key.len() {
            assert!(SpaceCipher::decode(&key[..length]).is_err(), "{length}");
        }
    }
}
