//! Redo logs of MariaDB 10.8 and newer: mini-transactions, each encrypted with its own nonce, in a
//! log without blocks.
//!
//! A chunk is one unit. The whole mini-transactions in it are decrypted, one after the other from the first to the
//! first invalid one; the rest is sent unchanged. Their checksums cover the stored bytes, so they are found without the
//! chunk before.

use innodb::crypt::{
    mariadb::Mode,
    redo::{
        LogCipher, LogKey,
        run::{self, RunLayout},
    },
};
use zeroize::Zeroizing;

use super::{
    Scheme, is_ctr,
    marks::{Mark, MarkEncoding, Part},
    mode,
};
use crate::{Fields, Malformed};

#[derive(Debug)]
pub(super) struct MiniTransactions {
    key: LogKey,
    layout: RunLayout,
    mode: Mode,
    cipher: LogCipher,
}

impl MiniTransactions {
    pub(super) const KIND: u8 = 6;

    pub(super) fn new(key: LogKey, layout: RunLayout, mode: Mode) -> Option<Self> {
        Some(Self { cipher: key.cipher(mode).ok()?, key, layout, mode })
    }

    /// The cipher for a chunk of the log; `None` if the key decrypts nothing in it to valid records. Remains of an
    /// earlier log in the file can have another key.
    pub(super) fn for_chunk(key: &LogKey, layout: RunLayout, chunk: &[u8]) -> Option<Self> {
        let run = chunk.get(run::first(chunk)?..)?;
        let ciphers = Mode::ALL.into_iter().filter_map(|mode| Self::new(key.clone(), layout, mode));
        let validity = ciphers.map(|this| (run::count_valid(&this.cipher, layout, run), this));
        // With a wrong key, few mini-transactions look valid by chance.
        let best = validity.filter(|((fits, misfits), _)| *fits > 0 && *fits >= 4 * misfits);
        best.max_by_key(|((fits, _), _)| *fits).map(|(_, this)| this)
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Box<dyn Scheme>, Malformed> {
        let layout = match fields.u8()? {
            0 => RunLayout::OneStream,
            1 => RunLayout::PageRecords,
            _ => return Err(Malformed),
        };
        let mode = mode(fields)?;
        let key = LogKey::from_bytes(&Zeroizing::new(fields.array()?));
        Ok(Box::new(Self::new(key, layout, mode).ok_or(Malformed)?))
    }
}

impl Scheme for MiniTransactions {
    fn kind(&self) -> u8 {
        Self::KIND
    }

    fn form(&self) -> MarkEncoding {
        MarkEncoding::Parts
    }

    fn counter_mode(&self) -> bool {
        self.mode == Mode::Ctr
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend([u8::from(self.layout == RunLayout::PageRecords), is_ctr(self.mode)]);
        out.extend(self.key.expose());
    }

    fn decrypt(&self, _: u64, chunk: &mut [u8]) -> Vec<Mark> {
        let part = run::first(chunk).and_then(|from| {
            let end = from + run::decrypt(&self.cipher, self.layout, chunk.get_mut(from..)?);
            Part::new(from, end)
        });
        vec![part.map_or(Mark::Unchanged, Mark::Part)]
    }

    fn encrypt(&self, _: u64, marks: &[Mark], chunk: &mut [u8]) {
        if let [Mark::Part(part)] = marks
            && let Some(run) = part.slice_mut(chunk)
        {
            run::encrypt(&self.cipher, self.layout, run);
        }
    }
}

#[cfg(test)]
mod tests {
    use innodb::{KeyVersion, keys::NoKeys};
    use proptest::prelude::*;
    use verify::Keys;

    use super::*;
    use crate::{
        hash::CHUNK_BYTES,
        page::{
            DecryptedChunk, InvalidPayload, KeyFileKeys, SpaceCipher, SpaceKeys,
            samples::{WrongKeys, decrypt_and_encrypt, mariadb_keys, sample},
        },
    };

    /// Slot, number of units, start, end.
    const DESCRIPTION_BYTES: usize = 12;
    /// Offset of the log in the file.
    const HEADER_BYTES: usize = 12288;

    fn logs() -> [(Vec<u8>, Keys, RunLayout); 3] {
        let log = |name: &str| sample(&format!("redo/mariadb{name}"));
        let versions = || mariadb_keys("mariadb-redo-versions-keyfile");
        [
            (log("10.11.19-encrypted"), mariadb_keys("mariadb1011-keyfile"), RunLayout::OneStream),
            (log("11.4.5-encrypted-phys"), versions(), RunLayout::PageRecords),
            (log("11.8.6-encrypted"), versions(), RunLayout::OneStream),
        ]
    }

    fn space(log: &[u8], keys: &dyn innodb::keys::KeySource) -> Option<SpaceKeys> {
        SpaceKeys::from_head(log, keys, KeyFileKeys::Keep, || None)
    }

    fn cipher_of(log: &[u8], keys: &Keys) -> SpaceCipher {
        space(log, keys).unwrap().cipher(KeyVersion(0), 0, log, keys).unwrap()
    }

    fn part_of(payload: &[u8]) -> (usize, usize) {
        let number = |at: usize| u32::from_be_bytes(*payload[at..].first_chunk().unwrap()) as usize;
        (number(4), number(8))
    }

    /// Offset of the log's end in the file; the rest of the file is zero.
    fn end_of(log: &[u8]) -> usize {
        log.iter().rposition(|byte| *byte != 0).unwrap() + 1
    }

    fn zstd_bytes(bytes: &[u8]) -> usize {
        zstd::bulk::compress(bytes, 3).unwrap().len()
    }

    #[test]
    fn a_log_is_decrypted_from_its_first_mini_transaction_to_its_last() {
        for (log, keys, layout) in logs() {
            let log = &log[..end_of(&log)];
            let (decrypted, payload) = decrypt_and_encrypt(&cipher_of(log, &keys), 0, log);
            let (from, end) = part_of(&payload);
            assert_eq!((decrypted, from), (1, HEADER_BYTES), "{layout:?}");
            // After the newest mini-transaction, its last block still has the previous content.
            assert!(end + 8192 > log.len(), "{layout:?}: {end} of {}", log.len());
            let bytes = [log, &payload].map(zstd_bytes);
            // In the older layout only the bodies of records are encrypted, and most are short.
            let most = if layout == RunLayout::OneStream { bytes[0] / 4 } else { bytes[0] / 10 * 9 };
            assert!(bytes[1] < most, "{layout:?}: {bytes:?}");
        }
    }

    #[test]
    fn chunks_that_cut_mini_transactions_are_encrypted_to_the_identical_bytes() {
        for (log, keys, layout) in logs() {
            let cipher = cipher_of(&log, &keys);
            // The smaller chunks do not contain the longest ones as a whole.
            for (chunk_bytes, percent) in [(70_001, 50), (CHUNK_BYTES, 90)] {
                let end = end_of(&log);
                let (all, mut decrypted_bytes) = (end - HEADER_BYTES, 0);
                for (number, chunk) in log[..end].chunks(chunk_bytes).enumerate() {
                    let (_, payload) = decrypt_and_encrypt(&cipher, (number * chunk_bytes) as u64, chunk);
                    let (from, end) = part_of(&payload);
                    decrypted_bytes += end - from;
                }
                assert!(decrypted_bytes * 100 > all * percent, "{layout:?}: {decrypted_bytes} of {all}");
            }
        }
    }

    #[test]
    fn an_invalid_mini_transaction_ends_the_decrypted_part() {
        for (mut log, keys, _) in logs() {
            let cipher = cipher_of(&log, &keys);
            let broken = HEADER_BYTES + (end_of(&log) - HEADER_BYTES) / 2;
            log[broken] ^= 0x40;
            let (decrypted, payload) = decrypt_and_encrypt(&cipher, 0, &log[..end_of(&log)]);
            let (from, end) = part_of(&payload);
            assert_eq!((decrypted, from), (1, HEADER_BYTES));
            assert!((from..=broken).contains(&end));
            decrypt_and_encrypt(&cipher, 0, &log[..HEADER_BYTES]);
            decrypt_and_encrypt(&cipher, 0, &[]);
            assert_eq!(decrypt_and_encrypt(&cipher, 0, &[0xff; 70_000]).0, 0);
        }
    }

    #[test]
    fn a_log_that_the_key_does_not_decrypt_is_sent_unchanged() {
        for (mut log, keys, layout) in logs() {
            assert!(space(&log, &NoKeys).is_none());
            let wrong = WrongKeys(keys);
            assert!(space(&log, &wrong).unwrap().cipher(KeyVersion(0), 0, &log, &wrong).is_none(), "{layout:?}");
            assert!(space(&log[..70], &wrong).is_none());
            let keys = wrong.0;
            let encrypted = space(&log, &keys).unwrap();
            assert!(encrypted.cipher(KeyVersion(0), 0, &[0; 1 << 16], &keys).is_none());
            // A header that says that the log is not encrypted.
            log[..4].copy_from_slice(b"Phys");
            log[48..52].fill(0);
            assert!(space(&log, &keys).is_none());
        }
    }

    #[test]
    fn invalid_descriptions_and_keys_are_refused() {
        let [(log, keys, _), ..] = logs();
        let (log, cipher) = (&log[..20_000], cipher_of(&log, &keys));
        let encrypt = |units: u16, from: usize, end: usize| {
            let part = [from as u32, end as u32].map(u32::to_be_bytes).concat();
            let payload = [&[0, 7][..], &units.to_be_bytes(), &part, log].concat();
            DecryptedChunk::parse(&payload).unwrap().encrypt(&cipher, 0, &mut vec![0; log.len()])
        };
        // For any range: the hash reveals a wrong result.
        for (from, end) in [(0, 0), (HEADER_BYTES, 20_000), (0, 20_000), (19_999, 20_000)] {
            assert_eq!(encrypt(1, from, end), Ok(()));
        }
        for (units, from, end) in [(0, 0, 0), (2, 0, 0), (1, 6, 5), (1, 0, 20_001)] {
            assert_eq!(encrypt(units, from, end), Err(InvalidPayload), "{units}, {from} to {end}");
        }
        let key = cipher.encode();
        for length in 0..key.len() {
            assert!(SpaceCipher::decode(&key[..length]).is_err(), "{length}");
        }
        for odd in [[6, 2, 0], [6, 0, 2]] {
            assert!(SpaceCipher::decode(&[&odd, &key[3..]].concat()).is_err(), "{odd:?}");
        }
        let (decrypted, payload) = decrypt_and_encrypt(&cipher, 0, log);
        assert!(decrypted == 1 && payload.len() == DESCRIPTION_BYTES + log.len());
    }

    proptest! {
        /// Records of any kind and length with valid checksums: decrypting and encrypting restores
        /// them.
        #[test]
        fn any_mini_transactions_are_encrypted_to_the_identical_bytes(
            units in proptest::collection::vec(
                (proptest::collection::vec((2_u8.., proptest::collection::vec(any::<u8>(), 15)), 1..9), any::<[u8; 8]>()),
                1..9,
            ),
            page_records in any::<bool>(),
            ctr in any::<bool>(),
            mut log in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            // The bytes before them end like a mini-transaction.
            if let Some(at) = log.len().checked_sub(13) {
                log[at] = 1;
            }
            for (records, nonce) in units {
                let mut encrypted = Vec::new();
                for (first, payload) in records {
                    encrypted.push(first | u8::from(first & 0x0f == 0));
                    encrypted.extend(&payload[..usize::from(encrypted[encrypted.len() - 1] & 0x0f)]);
                }
                let sum = crc_of(&[&encrypted[..], &nonce].concat());
                log.extend([&encrypted[..], &[1], &nonce, &sum.to_be_bytes()].concat());
            }
            let layout = if page_records { RunLayout::PageRecords } else { RunLayout::OneStream };
            let mode = if ctr { Mode::Ctr } else { Mode::Cbc };
            let scheme = MiniTransactions::new(LogKey::from_bytes(&[5; 16]), layout, mode).unwrap();
            let (decrypted, payload) = decrypt_and_encrypt(&SpaceCipher::new(scheme), 0, &log);
            prop_assert_eq!(decrypted, 1);
            prop_assert_eq!(part_of(&payload).1, log.len());
        }
    }

    #[test]
    fn the_first_whole_mini_transaction_after_a_cut_one_is_found() {
        let mut random = blake3::Hasher::new().update(b"records").finalize_xof();
        let mut encrypted = |records: usize| {
            let mut unit = vec![0; 16 * records];
            random.fill(&mut unit);
            unit.chunks_mut(16).for_each(|record| record[0] |= 0x3f);
            let nonce: [u8; 8] = *unit.last_chunk().unwrap();
            let sum = crc_of(&[&unit[..], &nonce].concat());
            [&unit[..], &[1], &nonce, &sum.to_be_bytes()].concat()
        };
        let (long, short) = (encrypted(4000), encrypted(40));
        let cut = 100;
        let chunk = [&long[cut..], &short[..], &short[..]].concat();
        let scheme = MiniTransactions::new(LogKey::from_bytes(&[5; 16]), RunLayout::OneStream, Mode::Cbc).unwrap();
        let (decrypted, payload) = decrypt_and_encrypt(&SpaceCipher::new(scheme), 0, &chunk);
        assert_eq!((decrypted, part_of(&payload)), (1, (long.len() - cut, chunk.len())));
    }

    /// CRC-32C, bit by bit.
    fn crc_of(bytes: &[u8]) -> u32 {
        let bit = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
        !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), bit))
    }
}
