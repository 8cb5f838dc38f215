//! The events of an encrypted log of MariaDB or Percona Server 5.7, each encrypted on its own.

use zeroize::Zeroizing;

use super::NONCE_BYTES;
use crate::{
    binlog::EVENT_HEADER_BYTES,
    bytes::{Bytes, as_u64, put},
    crypt::aes::{Aes, BLOCK, Block, CipherFault, KeyLength},
};

/// How events are encrypted. The log does not record MariaDB's mode
/// (`file_key_management_encryption_algorithm`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventMode {
    /// `aes_cbc`, the default.
    Cbc,
    /// `aes_ctr`.
    Ctr,
    /// Percona Server 5.7: CBC with an encrypted initialisation vector.
    Percona,
}

impl EventMode {
    /// MariaDB's modes; a log uses one of them.
    pub const MARIADB: [Self; 2] = [Self::Cbc, Self::Ctr];
}

/// Encrypts and decrypts the events of an encrypted log of MariaDB or Percona Server 5.7.
#[derive(Debug)]
pub struct MariaDbEvents {
    key: Aes,
    nonce: [u8; NONCE_BYTES],
    mode: EventMode,
}

impl MariaDbEvents {
    /// `key` is the key that the start-encryption event names, used unchanged: id 1 of MariaDB's
    /// key file.
    ///
    /// # Errors
    /// [`KeyLength`] unless the key has 16, 24 or 32 bytes.
    pub fn new(key: &[u8], nonce: [u8; NONCE_BYTES], mode: EventMode) -> Result<Self, KeyLength> {
        Ok(Self { key: Aes::new(key)?, nonce, mode })
    }

    /// Decrypts the event at `offset` (bytes from the start of the file) in place.
    ///
    /// # Errors
    /// [`CipherFault`] if `event` is shorter than the common header.
    pub fn decrypt(&self, offset: u64, event: &mut [u8]) -> Result<(), CipherFault> {
        self.pieces(offset, as_u64(event.len())).decrypt(event)
    }

    /// Encrypts the event at `offset` in place. Decrypting and encrypting gives identical bytes.
    ///
    /// # Errors
    /// As [`Self::decrypt`].
    pub fn encrypt(&self, offset: u64, event: &mut [u8]) -> Result<(), CipherFault> {
        self.pieces(offset, as_u64(event.len())).encrypt(event)
    }

    /// Processes an event that is too long for memory in pieces, from its start.
    #[must_use]
    pub fn pieces(&self, offset: u64, event_bytes: u64) -> EventPieces<'_> {
        let position = offset.to_le_bytes();
        let mut iv = [0; BLOCK];
        let bytes = self.nonce.iter().chain(position.range(0, 4));
        iv.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        if self.mode == EventMode::Percona {
            // Encrypting a single block cannot fail.
            let _ = self.key.ecb_encrypt(&mut iv);
        }
        EventPieces { events: self, iv, chain: iv, done: 0, event_bytes }
    }
}

/// One event, encrypted or decrypted piece by piece. Every piece but the last must end 4 bytes
/// after a whole number of blocks, counted from the start of the event, and have at least
/// [`EventPieces::FIRST_BYTES`].
#[derive(Debug)]
pub struct EventPieces<'k> {
    events: &'k MariaDbEvents,
    iv: Block,
    /// Initialisation vector or counter of the next piece.
    chain: Block,
    done: u64,
    event_bytes: u64,
}

/// Bytes at the start of an event that are moved before encryption, see [`with_length_moved`].
const CLEAR_BYTES: usize = 4;
/// Offset of an event's length, which stays readable.
pub(super) const LENGTH_AT: usize = 9;

impl EventPieces<'_> {
    /// Minimum length of the first piece, which holds the common header, unless the whole event is
    /// shorter.
    pub const FIRST_BYTES: usize = CLEAR_BYTES + BLOCK;

    /// Decrypts the next piece.
    ///
    /// # Errors
    /// [`CipherFault`] if a piece ends at a position that is not allowed.
    pub fn decrypt(&mut self, piece: &mut [u8]) -> Result<(), CipherFault> {
        self.next(piece, |this, body, last| match this.events.mode {
            EventMode::Ctr => this.count(body),
            EventMode::Cbc | EventMode::Percona => {
                let after = last_block(body);
                if last {
                    this.mask_rest(body)?;
                }
                this.events.key.cbc_decrypt(&this.chain, body)?;
                this.chain = after.unwrap_or(this.chain);
                Ok(())
            }
        })
    }

    /// Encrypts the next piece.
    ///
    /// # Errors
    /// As [`Self::decrypt`].
    pub fn encrypt(&mut self, piece: &mut [u8]) -> Result<(), CipherFault> {
        self.next(piece, |this, body, last| match this.events.mode {
            EventMode::Ctr => this.count(body),
            EventMode::Cbc | EventMode::Percona => {
                if last {
                    this.mask_rest(body)?;
                }
                this.events.key.cbc_encrypt(&this.chain, body)?;
                this.chain = last_block(body).unwrap_or(this.chain);
                Ok(())
            }
        })
    }

    fn next(
        &mut self,
        piece: &mut [u8],
        crypt: impl FnOnce(&mut Self, &mut [u8], bool) -> Result<(), CipherFault>,
    ) -> Result<(), CipherFault> {
        let end = self.done.saturating_add(as_u64(piece.len()));
        let last = end == self.event_bytes;
        let whole = end.saturating_sub(as_u64(CLEAR_BYTES)).is_multiple_of(as_u64(BLOCK));
        if end > self.event_bytes || (!last && !whole) {
            return Err(CipherFault);
        }
        if self.done == 0 {
            with_length_moved(piece, |body| crypt(self, body, last))?;
        } else {
            crypt(self, piece, last)?;
        }
        self.done = end;
        Ok(())
    }

    /// Masks the bytes after the last whole block with the event's encrypted initialisation vector.
    fn mask_rest(&self, body: &mut [u8]) -> Result<(), CipherFault> {
        let (_, rest) = body.as_chunks_mut::<BLOCK>();
        let mut mask = Zeroizing::new(self.iv);
        self.events.key.ecb_encrypt(mask.as_mut_slice())?;
        rest.iter_mut().zip(mask.iter()).for_each(|(byte, mask)| *byte ^= mask);
        Ok(())
    }

    fn count(&mut self, body: &mut [u8]) -> Result<(), CipherFault> {
        self.events.key.ctr(&self.chain, body)?;
        let blocks = u128::from(as_u64(body.len()).div_ceil(as_u64(BLOCK)));
        self.chain = u128::from_be_bytes(self.chain).wrapping_add(blocks).to_be_bytes();
        Ok(())
    }
}

/// Encrypts or decrypts an event from its fifth byte on, so that its length stays readable: the first four bytes take
/// the place of the length meanwhile. The steps are the same in both directions.
fn with_length_moved(
    event: &mut [u8],
    crypt: impl FnOnce(&mut [u8]) -> Result<(), CipherFault>,
) -> Result<(), CipherFault> {
    if event.len() < EVENT_HEADER_BYTES {
        return Err(CipherFault);
    }
    let length: [u8; CLEAR_BYTES] = event.array_at(LENGTH_AT).ok_or(CipherFault)?;
    let first: [u8; CLEAR_BYTES] = event.array_at(0).ok_or(CipherFault)?;
    put(event, LENGTH_AT, &first);
    crypt(event.get_mut(CLEAR_BYTES..).unwrap_or_default())?;
    let moved: [u8; CLEAR_BYTES] = event.array_at(LENGTH_AT).ok_or(CipherFault)?;
    put(event, 0, &moved);
    put(event, LENGTH_AT, &length);
    Ok(())
}

fn last_block(body: &[u8]) -> Option<Block> {
    body.as_chunks::<BLOCK>().0.last().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|i| (i * 31 % 251) as u8).collect()
    }

    #[test]
    fn pieces_give_the_same_bytes_as_the_whole() {
        for mode in [EventMode::Cbc, EventMode::Ctr, EventMode::Percona] {
            let events = MariaDbEvents::new(&[3; 32], [7; NONCE_BYTES], mode).unwrap();
            for bytes in [19, 20, 35, 36, 37, 1000, 4096] {
                let clear = event(bytes);
                let mut whole = clear.clone();
                events.encrypt(300, &mut whole).unwrap();
                assert_eq!(whole[9..13], clear[9..13], "the length stays");
                let mut pieced = clear.clone();
                let mut pieces = events.pieces(300, bytes as u64);
                let (first, rest) = pieced.split_at_mut(bytes.min(20));
                pieces.encrypt(first).unwrap();
                rest.chunks_mut(48).for_each(|piece| pieces.encrypt(piece).unwrap());
                assert_eq!(pieced, whole, "{mode:?} {bytes}");
                let mut pieces = events.pieces(300, bytes as u64);
                let (first, rest) = pieced.split_at_mut(bytes.min(20));
                pieces.decrypt(first).unwrap();
                rest.chunks_mut(64).for_each(|piece| pieces.decrypt(piece).unwrap());
                assert_eq!(pieced, clear, "{mode:?} {bytes}");
            }
        }
    }

    #[test]
    fn pieces_that_do_not_fit_are_refused() {
        let events = MariaDbEvents::new(&[3; 16], [7; NONCE_BYTES], EventMode::Cbc).unwrap();
        assert_eq!(events.decrypt(4, &mut event(18)), Err(CipherFault));
        assert_eq!(events.pieces(4, 100).decrypt(&mut event(30)), Err(CipherFault));
        assert_eq!(events.pieces(4, 30).decrypt(&mut event(36)), Err(CipherFault));
        assert!(MariaDbEvents::new(&[3; 15], [7; NONCE_BYTES], EventMode::Ctr).is_err());
    }
}
