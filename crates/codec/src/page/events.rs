//! MariaDB's encrypted binary and relay logs: each event is encrypted with its position in the
//! file.
//!
//! A chunk is one unit. The whole events in it are decrypted, one after the other from the first; parts of events that
//! continue in neighbouring chunks are sent unchanged. The first event is searched in the chunk itself, so chunks are
//! independent of each other.

use innodb::{
    crypt::binlog::{EventMode, EventsKey, MariaDbEvents},
    verify::binlog::first_event,
};
use zeroize::Zeroizing;

use super::{
    Scheme,
    marks::{Mark, MarkEncoding, Part},
};
use crate::{Fields, Malformed};

#[derive(Debug)]
pub(super) struct LogEvents {
    key: EventsKey,
    mode: EventMode,
    events: MariaDbEvents,
}

impl LogEvents {
    pub(super) const KIND: u8 = 5;

    pub(super) fn new(key: EventsKey, mode: EventMode) -> Option<Self> {
        Some(Self { events: key.events(mode).ok()?, key, mode })
    }

    /// For a chunk of the log, at `offset`; `None` if the key decrypts no event in it.
    pub(super) fn for_chunk(key: &EventsKey, offset: u64, chunk: &[u8]) -> Option<Self> {
        let mut all = EventMode::MARIADB.into_iter().filter_map(|mode| Self::new(key.clone(), mode));
        all.find(|this| first_event(&this.events, offset, chunk).is_some())
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Box<dyn Scheme>, Malformed> {
        let mode = match fields.u8()? {
            0 => EventMode::Cbc,
            1 => EventMode::Ctr,
            _ => return Err(Malformed),
        };
        let nonce = fields.array()?;
        let key = Zeroizing::new(fields.rest().to_vec());
        let key = EventsKey::new(nonce, &key).map_err(|_| Malformed)?;
        Ok(Box::new(Self::new(key, mode).ok_or(Malformed)?))
    }
}

impl Scheme for LogEvents {
    fn kind(&self) -> u8 {
        Self::KIND
    }

    fn form(&self) -> MarkEncoding {
        MarkEncoding::Parts
    }

    fn counter_mode(&self) -> bool {
        self.mode == EventMode::Ctr
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.mode == EventMode::Ctr));
        out.extend(self.key.nonce());
        out.extend(self.key.expose());
    }

    fn decrypt(&self, offset: u64, chunk: &mut [u8]) -> Vec<Mark> {
        let part = first_event(&self.events, offset, chunk).and_then(|from| {
            let run = chunk.get_mut(from..)?;
            Part::new(from, from + self.events.decrypt_run(offset.saturating_add(from as u64), run))
        });
        vec![part.map_or(Mark::Unchanged, Mark::Part)]
    }

    fn encrypt(&self, offset: u64, marks: &[Mark], chunk: &mut [u8]) {
        if let [Mark::Part(part)] = marks
            && let Some(run) = part.slice_mut(chunk)
        {
            self.events.encrypt_run(offset.saturating_add(part.from() as u64), run);
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

    /// Logs, their keys, and their modes.
    fn logs() -> [(Vec<u8>, Keys, EventMode); 3] {
        let log = |name: &str| sample(&format!("binlog/mariadb1011-encrypted-{name}"));
        [
            (log("84-events"), mariadb_keys("mariadb1011-keyfile"), EventMode::Cbc),
            (log("14-events"), mariadb_keys("mariadb1011-keyfile"), EventMode::Cbc),
            (log("ctr"), mariadb_keys("mariadb1011-ctr-keyfile"), EventMode::Ctr),
        ]
    }

    fn space(log: &[u8], keys: &dyn innodb::keys::KeySource) -> Option<SpaceKeys> {
        SpaceKeys::from_head(log, keys, KeyFileKeys::Send, || None)
    }

    fn cipher_of(log: &[u8], keys: &Keys) -> SpaceCipher {
        space(log, keys).unwrap().cipher(KeyVersion(0), 0, log, keys).unwrap()
    }

    fn end_of(log: &[u8], at: usize) -> usize {
        at + u32::from_le_bytes(*log[at + 9..].first_chunk().unwrap()) as usize
    }

    fn encrypted_from(log: &[u8]) -> usize {
        end_of(log, end_of(log, 4))
    }

    /// Start and end of each encrypted event.
    fn events_of(log: &[u8]) -> Vec<(usize, usize)> {
        let begins = std::iter::successors(Some(encrypted_from(log)), |at| {
            Some(end_of(log, *at)).filter(|end| *end < log.len())
        });
        begins.map(|at| (at, end_of(log, at))).collect()
    }

    /// Start and end of the decrypted part of a payload.
    fn part_of(payload: &[u8]) -> (usize, usize) {
        let number = |at: usize| u32::from_be_bytes(*payload[at..].first_chunk().unwrap()) as usize;
        (number(4), number(8))
    }

    #[test]
    fn a_whole_log_is_decrypted_from_its_first_encrypted_event_on() {
        for (log, keys, mode) in logs() {
            let cipher = cipher_of(&log, &keys);
            let (decrypted, payload) = decrypt_and_encrypt(&cipher, 0, &log);
            assert_eq!((decrypted, part_of(&payload)), (1, (encrypted_from(&log), log.len())), "{mode:?}");
            for (at, end) in events_of(&log) {
                let header = &payload[DESCRIPTION_BYTES + at..];
                assert_eq!(header[13..17], (end as u32).to_le_bytes(), "{mode:?} at {at}: its end");
            }
            assert_eq!(cipher.encode()[1], u8::from(mode == EventMode::Ctr));
        }
    }

    #[test]
    fn chunks_that_cut_events_are_decrypted_between_the_cuts() {
        for (log, keys, _) in logs() {
            let events = events_of(&log);
            let cipher = cipher_of(&log, &keys);
            for chunk_bytes in [300, 777, 1500, 4096] {
                for (number, chunk) in log.chunks(chunk_bytes).enumerate() {
                    let begin = number * chunk_bytes;
                    let whole = events.iter().filter(|(at, end)| *at >= begin && *end <= begin + chunk.len());
                    let whole: Vec<_> = whole.collect();
                    let expected =
                        whole.first().map(|(at, _)| at - begin).zip(whole.last().map(|(_, end)| end - begin));
                    let (decrypted, payload) = decrypt_and_encrypt(&cipher, begin as u64, chunk);
                    assert_eq!(decrypted, usize::from(expected.is_some()), "{begin}");
                    assert_eq!(part_of(&payload), expected.unwrap_or_default(), "{begin}");
                }
            }
        }
    }

    /// MariaDB 11.4 omits positions inside transactions; relay logs keep those of the source.
    #[test]
    fn events_that_do_not_state_their_end_are_found() {
        for (mut log, keys, mode) in logs() {
            let key = EventsKey::from_log(&log, &keys).unwrap();
            let (from, events) = (encrypted_from(&log), key.events(mode).unwrap());
            let locations = events_of(&log);
            assert_eq!(events.decrypt_run(from as u64, &mut log[from..]), locations.last().unwrap().1 - from);
            locations.iter().for_each(|(at, _)| log[at + 13..at + 17].fill(0));
            events.encrypt_run(from as u64, &mut log[from..]);
            let cut = from + 30;
            let (decrypted, payload) = decrypt_and_encrypt(&cipher_of(&log, &keys), cut as u64, &log[cut..]);
            assert_eq!((decrypted, part_of(&payload).1), (1, log.len() - cut), "{mode:?}");
        }
    }

    #[test]
    fn the_search_for_forged_lengths_is_bounded() {
        for (log, keys, mode) in logs() {
            let cipher = cipher_of(&log, &keys);
            let (from, offset) = (encrypted_from(&log), 1 << 20);
            for (decoys, expected) in [(1 << 10, 1), (CHUNK_BYTES - log.len(), 0)] {
                let key = EventsKey::from_log(&log, &keys).unwrap().events(mode).unwrap();
                let mut chunk: Vec<u8> = [0, 0, 1].into_iter().cycle().take(decoys).collect();
                let mut run = log[from..].to_vec();
                key.decrypt_run(from as u64, &mut run);
                // Correct the end in the header of events that have one.
                for (at, end) in events_of(&log) {
                    let end = (offset + decoys + end - from) as u32;
                    run[at - from + 13..at - from + 17].copy_from_slice(&end.to_le_bytes());
                }
                key.encrypt_run((offset + decoys) as u64, &mut run);
                chunk.extend(run);
                assert_eq!(decrypt_and_encrypt(&cipher, offset as u64, &chunk).0, expected, "{mode:?} after {decoys}");
            }
        }
    }

    #[test]
    fn a_log_that_the_key_does_not_decrypt_is_sent_unchanged() {
        let [(log, keys, _), ..] = logs();
        assert!(space(&log, &NoKeys).is_none());
        assert!(SpaceKeys::from_head(&log, &keys, KeyFileKeys::Keep, || None).is_none());
        let wrong = WrongKeys(keys);
        assert!(space(&log, &wrong).unwrap().cipher(KeyVersion(0), 0, &log, &wrong).is_none());
        let from = encrypted_from(&log);
        for length in [0, 4, 23, from - 50, from - 25] {
            assert!(space(&log[..length], &wrong).is_none(), "{length}");
        }
        let clear = sample("binlog/mysql97-clear");
        assert!(space(&clear, &wrong).is_none());
    }

    #[test]
    fn a_log_whose_end_is_damaged_or_missing_is_restored_exactly() {
        for (log, keys, _) in logs() {
            let cipher = cipher_of(&log, &keys);
            for end in [log.len() - 1, log.len() - 20, encrypted_from(&log) + 10] {
                decrypt_and_encrypt(&cipher, 0, &log[..end]);
            }
            let mut broken = log.clone();
            let (at, bytes) = (encrypted_from(&log), [0, 1, 18, 19, 0xff]);
            for byte in bytes {
                broken[at + 9..at + 13].fill(byte);
                decrypt_and_encrypt(&cipher, 0, &broken);
            }
            decrypt_and_encrypt(&cipher, 0, &[]);
            decrypt_and_encrypt(&cipher, u64::MAX - 10, &log);
            decrypt_and_encrypt(&cipher, 1 << 33, &log);
        }
    }

    #[test]
    fn invalid_descriptions_and_keys_are_refused() {
        let [(log, keys, _), ..] = logs();
        let cipher = cipher_of(&log, &keys);
        let encrypt = |units: u16, from: usize, end: usize, chunk_bytes: usize| {
            let part = [from as u32, end as u32].map(u32::to_be_bytes).concat();
            let payload = [&[0, 7][..], &units.to_be_bytes(), &part, &log].concat();
            DecryptedChunk::parse(&payload).unwrap().encrypt(&cipher, 0, &mut vec![0; chunk_bytes])
        };
        let all = log.len();
        assert_eq!(encrypt(1, encrypted_from(&log), all, all), Ok(()));
        assert_eq!(encrypt(1, 0, 0, all), Ok(()));
        for (units, from, end) in [(0, 0, 0), (2, 0, 0), (1, 5, 5), (1, 6, 5), (1, 0, all + 1), (1, all, usize::MAX)] {
            assert_eq!(encrypt(units, from, end, all), Err(InvalidPayload), "{units}, {from} to {end}");
        }
        for length in [0, 1, all - 1, all + 1] {
            assert_eq!(encrypt(1, 0, 0, length), Err(InvalidPayload), "{length}");
        }
        let key = cipher.encode();
        for length in (0..key.len()).filter(|length| ![30, 38].contains(length)) {
            assert!(SpaceCipher::decode(&key[..length]).is_err(), "{length}");
        }
        assert!(SpaceCipher::decode(&[&key[..], &[0]].concat()).is_err());
        assert!(SpaceCipher::decode(&[&[5, 2], &key[2..]].concat()).is_err());
    }

    proptest! {
        /// Decrypting and encrypting any part of any bytes gives identical bytes.
        #[test]
        fn any_part_of_any_bytes_is_encrypted_to_the_identical_bytes(
            mut bytes in proptest::collection::vec(any::<u8>(), 1..3000),
            lengths in proptest::collection::vec(0_u32..200, 0..40),
            offset in any::<u64>(),
            key_bytes in proptest::sample::select(vec![16, 24, 32]),
            ctr in any::<bool>(),
        ) {
            let mut at = 0;
            for length in lengths {
                let Some(location) = bytes.get_mut(at + 9..at + 13) else { break };
                location.copy_from_slice(&length.to_le_bytes());
                at += length as usize;
            }
            let mode = if ctr { EventMode::Ctr } else { EventMode::Cbc };
            let key = EventsKey::new([7; 12], &vec![3; key_bytes]).unwrap();
            let events = key.events(mode).unwrap();
            let mut copy = bytes.clone();
            let end = events.decrypt_run(offset, &mut copy);
            prop_assert_eq!(events.encrypt_run(offset, &mut copy[..end]), end);
            prop_assert_eq!(&copy, &bytes);
            decrypt_and_encrypt(&SpaceCipher::new(LogEvents::new(key, mode).unwrap()), offset, &bytes);
        }
    }
}
