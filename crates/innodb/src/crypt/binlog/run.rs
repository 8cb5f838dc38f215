//! Consecutive events in a part of a MariaDB log.

use super::events::{LENGTH_AT, MariaDbEvents};
use crate::{
    binlog::EVENT_HEADER_BYTES,
    bytes::{Bytes, as_u64, as_usize},
    crypt::aes::CipherFault,
};

impl MariaDbEvents {
    /// Decrypts every whole event of `run`, which starts with an event at `offset` of the file.
    /// Returns the end of the last whole event; the bytes after it stay. Encrypting up to there
    /// gives identical bytes for any content, because an event's length is not encrypted.
    pub fn decrypt_run(&self, offset: u64, run: &mut [u8]) -> usize {
        each(run, |at, event| self.decrypt(offset.saturating_add(at), event))
    }

    /// Encrypts every whole event of `run`, see [`Self::decrypt_run`].
    pub fn encrypt_run(&self, offset: u64, run: &mut [u8]) -> usize {
        each(run, |at, event| self.encrypt(offset.saturating_add(at), event))
    }
}

fn each(run: &mut [u8], mut crypt: impl FnMut(u64, &mut [u8]) -> Result<(), CipherFault>) -> usize {
    let mut at = 0_usize;
    while let Some(bytes) = length(run, at) {
        let end = at.saturating_add(bytes);
        let Some(event) = run.get_mut(at..end) else { break };
        if crypt(as_u64(at), event).is_err() {
            break;
        }
        at = end;
    }
    at
}

/// The length of the event at `at`; `None` if there is no valid event.
fn length(run: &[u8], at: usize) -> Option<usize> {
    let bytes = as_usize(u64::from(run.get(at..)?.le32(LENGTH_AT)?));
    (bytes >= EVENT_HEADER_BYTES).then_some(bytes)
}
