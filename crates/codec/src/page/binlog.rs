//! MySQL's encrypted binary and relay logs: one stream in counter mode after a header, which is sent unchanged. The
//! part of the stream in a chunk is one unit.

use innodb::{
    binlog::MYSQL_HEADER_BYTES,
    crypt::binlog::{MySqlStream, StreamKey},
};
use zeroize::Zeroizing;

use super::{
    Scheme,
    marks::{Mark, MarkEncoding},
};
use crate::{Fields, Malformed};

#[derive(Debug)]
pub(super) struct BinlogStream {
    key: StreamKey,
    stream: MySqlStream,
}

impl BinlogStream {
    pub(super) const KIND: u8 = 3;

    pub(super) fn new(key: StreamKey) -> Option<Self> {
        Some(Self { stream: key.stream().ok()?, key })
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Box<dyn Scheme>, Malformed> {
        let key = StreamKey::from_bytes(&Zeroizing::new(fields.array()?));
        Ok(Box::new(Self::new(key).ok_or(Malformed)?))
    }

    /// Encrypts or decrypts the part of the stream in a chunk at `offset`: the same operation in counter mode.
    fn apply(&self, offset: u64, chunk: &mut [u8]) -> bool {
        let header = (MYSQL_HEADER_BYTES as u64).saturating_sub(offset);
        let header = usize::try_from(header).unwrap_or(usize::MAX).min(chunk.len());
        let (_, part) = chunk.split_at_mut(header);
        self.stream.apply(offset.saturating_sub(MYSQL_HEADER_BYTES as u64), part).is_ok()
    }
}

impl Scheme for BinlogStream {
    fn kind(&self) -> u8 {
        Self::KIND
    }

    fn form(&self) -> MarkEncoding {
        MarkEncoding::Bits
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.key.expose());
    }

    fn decrypt(&self, offset: u64, chunk: &mut [u8]) -> Vec<Mark> {
        vec![if self.apply(offset, chunk) { Mark::Decrypted } else { Mark::Unchanged }]
    }

    fn encrypt(&self, offset: u64, marks: &[Mark], chunk: &mut [u8]) {
        if marks.contains(&Mark::Decrypted) {
            self.apply(offset, chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use innodb::KeyVersion;

    use super::*;
    use crate::page::{
        DecryptedChunk, InvalidPayload, KeyFileKeys, SpaceCipher, SpaceKeys,
        samples::{WrongKeys, decrypt_and_encrypt, keys, sample},
    };

    const LOGS: [&str; 3] = ["83", "13", "7"];

    fn log(events: &str) -> Vec<u8> {
        sample(&format!("binlog/mysql97-encrypted-{events}-events"))
    }

    fn cipher_of(log: &[u8]) -> SpaceCipher {
        SpaceKeys::from_head(log, &keys(), KeyFileKeys::Keep, || None)
            .unwrap()
            .cipher(KeyVersion(0), 0, log, &keys())
            .unwrap()
    }

    #[test]
    fn every_chunk_is_encrypted_to_the_identical_bytes() {
        for log in LOGS.map(log) {
            let cipher = cipher_of(&log);
            for chunk_bytes in [700, 4096, 1 << 20] {
                let mut clear = Vec::new();
                for (number, chunk) in log.chunks(chunk_bytes).enumerate() {
                    let (decrypted, payload) = decrypt_and_encrypt(&cipher, (number * chunk_bytes) as u64, chunk);
                    assert_eq!(decrypted, 1);
                    clear.extend(&payload[5..]);
                }
                assert_eq!(clear[..MYSQL_HEADER_BYTES], log[..MYSQL_HEADER_BYTES]);
                assert!(clear[MYSQL_HEADER_BYTES..].starts_with(b"\xfebin"));
            }
        }
    }

    #[test]
    fn a_log_that_the_key_does_not_decrypt_has_no_cipher() {
        let mut log = log("7");
        assert!(SpaceKeys::from_head(&log, &WrongKeys(keys()), KeyFileKeys::Keep, || None).is_none());
        assert!(SpaceKeys::from_head(&log, &innodb::keys::NoKeys, KeyFileKeys::Keep, || None).is_none());
        for length in [0, 4, 511, 512, 515] {
            assert!(SpaceKeys::from_head(&log[..length], &keys(), KeyFileKeys::Keep, || None).is_none(), "{length}");
        }
        assert!(SpaceKeys::from_head(&log[..516], &keys(), KeyFileKeys::Keep, || None).is_some());
        log[MYSQL_HEADER_BYTES] ^= 1;
        assert!(SpaceKeys::from_head(&log, &keys(), KeyFileKeys::Keep, || None).is_none());
    }

    #[test]
    fn invalid_descriptions_and_keys_are_refused() {
        let log = log("7");
        let cipher = cipher_of(&log);
        let payload = |head: [u8; 5]| [&head[..], &log].concat();
        let encrypt = |payload: &[u8], chunk_bytes: usize| {
            DecryptedChunk::parse(payload).unwrap().encrypt(&cipher, 0, &mut vec![0; chunk_bytes])
        };
        let sound = payload([0, 7, 0, 1, 0x80]);
        assert_eq!(encrypt(&sound, log.len()), Ok(()));
        assert_eq!(encrypt(&payload([0, 7, 0, 1, 0]), log.len()), Ok(()));
        for odd in [[0, 7, 0, 0, 0x80], [0, 7, 0, 2, 0x80], [0, 7, 0, 1, 0xc0], [0, 7, 0xff, 0xff, 0xff]] {
            assert_eq!(encrypt(&payload(odd), log.len()), Err(InvalidPayload), "{odd:?}");
        }
        for length in [0, 1, log.len() - 1, log.len() + 1] {
            assert_eq!(encrypt(&sound, length), Err(InvalidPayload), "{length}");
        }
        let key = cipher.encode();
        for length in 0..key.len() {
            assert!(SpaceCipher::decode(&key[..length]).is_err(), "{length}");
        }
        assert!(SpaceCipher::decode(&[&key[..], &[0]].concat()).is_err());
    }

    #[test]
    fn the_end_of_the_longest_file_does_not_panic() {
        let cipher = cipher_of(&log("7"));
        decrypt_and_encrypt(&cipher, u64::MAX - 10, &[1; 100]);
        decrypt_and_encrypt(&cipher, 0, &[]);
    }
}
