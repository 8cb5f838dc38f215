//! Redo logs of MariaDB 10.2 to 10.7: blocks, each encrypted with its number and position.

use innodb::{
    Lsn,
    crypt::{
        mariadb::Mode,
        redo::{
            LogKey,
            mariadb_blocks::{BlockLayout, MariaDbBlockCipher, block_lsn, is_plausible, number},
        },
    },
    redo::blocks::{BLOCK_BYTES, block_holds},
    verify::redo::BlocksKeyInfo,
};
use zeroize::Zeroizing;

use super::{
    Scheme, is_ctr,
    marks::{Mark, MarkEncoding},
    mode,
};
use crate::{Fields, Malformed};

/// Blocks of a chunk on which a key is tried.
const SAMPLE_BLOCKS: usize = 8;

#[derive(Debug)]
pub(super) struct LogBlocks {
    log: BlockLog,
    mode: Mode,
    cipher: MariaDbBlockCipher,
}

/// Block layout and key of a log.
#[derive(Clone, Debug)]
pub(super) struct BlockLog {
    key: LogKey,
    nonce: [u8; 4],
    layout: BlockLayout,
    near: Lsn,
}

impl BlockLog {
    pub(super) const fn new(key: LogKey, info: &BlocksKeyInfo) -> Self {
        Self { key, nonce: info.key.nonce, layout: info.layout, near: info.near }
    }
}

impl LogBlocks {
    pub(super) const KIND: u8 = 7;

    pub(super) fn new(log: BlockLog, mode: Mode) -> Option<Self> {
        let cipher = MariaDbBlockCipher::new(log.key.cipher(mode).ok()?, log.nonce, log.layout);
        Some(Self { log, mode, cipher })
    }

    /// The cipher for a chunk of the log; `None` if the key decrypts no block in it.
    pub(super) fn for_chunk(log: &BlockLog, chunk: &[u8]) -> Option<Self> {
        let encrypted = |block: &&[u8]| block_holds(block, false) && number(block).is_some();
        let tried: Vec<&[u8]> = chunk.chunks_exact(BLOCK_BYTES).filter(encrypted).take(SAMPLE_BLOCKS).collect();
        let decrypts = |this: &Self| tried.iter().filter(|block| this.decrypt_block(&mut block.to_vec())).count();
        let ciphers = Mode::ALL.into_iter().filter_map(|mode| Self::new(log.clone(), mode));
        let counted = ciphers.map(|this| (decrypts(&this), this));
        counted.filter(|(decrypted, _)| *decrypted > 0).max_by_key(|(decrypted, _)| *decrypted).map(|(_, this)| this)
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Box<dyn Scheme>, Malformed> {
        let layout = match fields.u8()? {
            0 => BlockLayout::NoKeyVersion,
            1 => BlockLayout::KeyVersion,
            _ => return Err(Malformed),
        };
        let mode = mode(fields)?;
        let key = LogKey::from_bytes(&Zeroizing::new(fields.array()?));
        let log = BlockLog { key, nonce: fields.array()?, layout, near: Lsn(fields.u64()?) };
        Ok(Box::new(Self::new(log, mode).ok_or(Malformed)?))
    }

    fn lsn(&self, block: &[u8]) -> Option<Lsn> {
        number(block).map(|number| block_lsn(number, self.log.near))
    }

    /// Decrypts a block if the result has a valid block header. A block with another key stays
    /// unchanged.
    fn decrypt_block(&self, block: &mut [u8]) -> bool {
        let Some(mut copy) = block.first_chunk::<BLOCK_BYTES>().copied() else { return false };
        let Some(lsn) = self.lsn(&copy) else { return false };
        let decrypts = self.cipher.decrypt(lsn, &mut copy).is_ok() && is_plausible(&copy);
        if decrypts {
            block.copy_from_slice(&copy);
        }
        decrypts
    }
}

impl Scheme for LogBlocks {
    fn kind(&self) -> u8 {
        Self::KIND
    }

    fn unit_bytes(&self, _: usize) -> usize {
        BLOCK_BYTES
    }

    fn form(&self) -> MarkEncoding {
        MarkEncoding::Bits
    }

    fn counter_mode(&self) -> bool {
        self.mode == Mode::Ctr
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend([u8::from(self.log.layout == BlockLayout::KeyVersion), is_ctr(self.mode)]);
        out.extend(self.log.key.expose());
        out.extend(self.log.nonce);
        out.extend(self.log.near.0.to_be_bytes());
    }

    fn decrypt(&self, _: u64, blocks: &mut [u8]) -> Vec<Mark> {
        let decrypt = |block: &mut [u8]| if self.decrypt_block(block) { Mark::Decrypted } else { Mark::Unchanged };
        blocks.chunks_exact_mut(BLOCK_BYTES).map(decrypt).collect()
    }

    fn encrypt(&self, _: u64, marks: &[Mark], blocks: &mut [u8]) {
        for (block, mark) in blocks.chunks_exact_mut(BLOCK_BYTES).zip(marks) {
            if *mark == Mark::Decrypted
                && let Some(lsn) = self.lsn(block)
            {
                let _ = self.cipher.encrypt(lsn, block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use innodb::{KeyVersion, keys::NoKeys};
    use verify::Keys;

    use crate::{
        hash::CHUNK_BYTES,
        page::{
            DecryptedChunk, InvalidPayload, KeyFileKeys, SpaceCipher, SpaceKeys,
            samples::{WrongKeys, decrypt_and_encrypt, mariadb_keys, sample},
        },
    };

    /// Encrypted blocks in the sample, see testdata/README.md.
    const ENCRYPTED: usize = 435;

    fn log() -> (Vec<u8>, Keys) {
        (sample("redo/mariadb10.5.23-encrypted"), mariadb_keys("mariadb-redo-versions-keyfile"))
    }

    fn space(log: &[u8], keys: &dyn innodb::keys::KeySource) -> Option<SpaceKeys> {
        SpaceKeys::from_head(log, keys, KeyFileKeys::Keep, || None)
    }

    fn cipher_of(log: &[u8], keys: &Keys) -> SpaceCipher {
        space(log, keys).unwrap().cipher(KeyVersion(0), 0, log, keys).unwrap()
    }

    #[test]
    fn every_chunk_is_encrypted_to_the_identical_bytes() {
        let (log, keys) = log();
        let cipher = cipher_of(&log, &keys);
        for chunk_bytes in [4096, CHUNK_BYTES] {
            let chunks = log.chunks(chunk_bytes).enumerate();
            let decrypted =
                chunks.map(|(number, chunk)| decrypt_and_encrypt(&cipher, (number * chunk_bytes) as u64, chunk).0);
            assert_eq!(decrypted.sum::<usize>(), ENCRYPTED);
        }
    }

    #[test]
    fn a_log_that_the_key_does_not_decrypt_is_sent_unchanged() {
        let (mut log, keys) = log();
        assert!(space(&log, &NoKeys).is_none());
        let encrypted = space(&log, &keys).unwrap();
        assert!(encrypted.cipher(KeyVersion(0), 0, &[0; 1 << 16], &keys).is_none());
        let wrong = WrongKeys(keys);
        assert!(space(&log, &wrong).unwrap().cipher(KeyVersion(0), 0, &log, &wrong).is_none());
        // No valid checkpoint with the key information.
        log[600] ^= 1;
        log[1600] ^= 1;
        assert!(space(&log, &wrong.0).is_none());
    }

    #[test]
    fn invalid_descriptions_and_keys_are_refused() {
        let (log, keys) = log();
        let cipher = cipher_of(&log, &keys);
        let key = cipher.encode();
        for length in 0..key.len() {
            assert!(SpaceCipher::decode(&key[..length]).is_err(), "{length}");
        }
        for odd in [[7, 2, 0], [7, 0, 2]] {
            assert!(SpaceCipher::decode(&[&odd, &key[3..]].concat()).is_err(), "{odd:?}");
        }
        let payload = [&[0, 7, 0, 2, 0b0110_0000][..], &log[..1024]].concat();
        let encrypted = DecryptedChunk::parse(&payload).unwrap().encrypt(&cipher, 0, &mut [0; 1024]);
        assert_eq!(encrypted, Err(InvalidPayload));
    }
}
