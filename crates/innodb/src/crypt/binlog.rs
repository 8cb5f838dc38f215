//! Encryption of binary and relay logs: MySQL encrypts the whole log, MariaDB and Percona Server
//! 5.7 each event.
//!
//! MySQL wraps a random password in a 512-byte header. The password gives the log's key and
//! counter; everything after the header is one stream in counter mode. MariaDB encrypts each event
//! with a key of its key file and a nonce made of the log's nonce and the event's offset; only the
//! event's length stays readable. Percona Server 5.7 does the same with a key of the keyring, and
//! encrypts the nonce and offset before it uses them.
//!
//! Source: docs/formats, "MySQL binary / relay log encryption" and "Binary / relay log" of MariaDB; MySQL 9.7, MariaDB
//! 10.11 (both modes) and Percona Server 5.7.22 confirmed on testdata.

mod events_key;
mod run;
mod stream_key;
mod wrapping;

use std::fmt;

use zeroize::{Zeroize, Zeroizing};

pub use self::{events_key::EventsKey, stream_key::StreamKey};
use crate::{
    binlog::{EVENT_HEADER_BYTES, MYSQL_HEADER_BYTES},
    bytes::{Bytes, all_zero, as_u64, as_usize, put},
    crypt::aes::{Aes, BLOCK, Block, CipherFault, KeyLength},
    keys::{BINARY_LOG_KEY_PREFIX, MASTER_KEY_BYTES},
};

/// Bytes of the password in the header of MySQL's logs.
const PASSWORD_BYTES: usize = 32;
/// Bytes of the nonce in MariaDB's start-encryption event.
pub const NONCE_BYTES: usize = 12;

/// The header of an encrypted MySQL log, with the password still wrapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MySqlHeader {
    /// Name of the master key in the keyring, `MySQLReplicationKey_<server uuid>_<n>`.
    pub key_name: String,
    /// `true` if only zeros follow the fields, as the server writes it.
    pub padded_with_zeros: bool,
    password: [u8; PASSWORD_BYTES],
    iv: Block,
}

/// Why a header cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderFault {
    /// Unknown header version.
    #[error("version {0} of the header is not known")]
    Version(u8),
    /// Unknown field type.
    #[error("field {field} at offset {offset} is not known")]
    Field {
        /// Its type.
        field: u8,
        /// Offset of the field in the header, in bytes.
        offset: u64,
    },
    /// A required field is missing, cut off or duplicated.
    #[error("the {0} is missing, cut off or duplicated")]
    Missing(&'static str),
    /// The key name does not have the form of a binary log key.
    #[error("the key has no name of the form {BINARY_LOG_KEY_PREFIX}<server uuid>_<number>")]
    KeyName,
}

impl MySqlHeader {
    /// Parses the header at the start of a log. The magic is not checked.
    ///
    /// # Errors
    /// [`HeaderFault`]. A changed byte inside the password or the initialisation vector cannot be
    /// detected here: only the decrypted log shows it.
    pub fn parse(log: &[u8]) -> Result<Self, HeaderFault> {
        let head = log.range(0, MYSQL_HEADER_BYTES);
        match head.array_at(4) {
            Some([1]) => {}
            Some([version]) => return Err(HeaderFault::Version(version)),
            None => return Err(HeaderFault::Missing("version")),
        }
        let mut fields = Fields::default();
        let mut at = 5_usize;
        while let Some(next) = fields.read(head, at)? {
            at = next;
        }
        let rest = head.range(at, head.len());
        fields.header(all_zero(rest))
    }

    /// Unwraps the password and derives the log's key. Unwrapping succeeds with any key: the magic
    /// at offset 0 of the decrypted stream shows whether it was the right one.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn unwrap(&self, master_key: &[u8; MASTER_KEY_BYTES]) -> Result<MySqlStream, CipherFault> {
        self.stream_key(master_key)?.stream()
    }
}

#[derive(Default)]
struct Fields {
    key_name: Option<String>,
    password: Option<[u8; PASSWORD_BYTES]>,
    iv: Option<Block>,
}

impl Fields {
    /// Parses the field at `at`. Returns the offset of the next field, `None` after the last.
    fn read(&mut self, head: &[u8], at: usize) -> Result<Option<usize>, HeaderFault> {
        let [field] = head.array_at(at).ok_or(HeaderFault::Missing("end of the fields"))?;
        let from = at.saturating_add(1);
        match field {
            // Also reached at the end of the fields, because the padding is zero.
            0 => Ok(None),
            1 => {
                let text = short_text(head, from).ok_or(HeaderFault::Missing("name of the key"))?;
                once(&mut self.key_name, key_name(text), "name of the key")?;
                Ok(Some(from.saturating_add(1).saturating_add(text.len())))
            }
            2 => {
                once(&mut self.password, head.array_at(from), "password")?;
                Ok(Some(from.saturating_add(PASSWORD_BYTES)))
            }
            3 => {
                once(&mut self.iv, head.array_at(from), "initialisation vector")?;
                Ok(Some(from.saturating_add(BLOCK)))
            }
            field => Err(HeaderFault::Field { field, offset: as_u64(at) }),
        }
    }

    fn header(self, padded_with_zeros: bool) -> Result<MySqlHeader, HeaderFault> {
        let key_name = self.key_name.ok_or(HeaderFault::Missing("name of the key"))?;
        if key_name.is_empty() {
            return Err(HeaderFault::KeyName);
        }
        let password = self.password.ok_or(HeaderFault::Missing("password"))?;
        let iv = self.iv.ok_or(HeaderFault::Missing("initialisation vector"))?;
        Ok(MySqlHeader { key_name, padded_with_zeros, password, iv })
    }
}

fn once<T>(field: &mut Option<T>, value: Option<T>, name: &'static str) -> Result<(), HeaderFault> {
    match value {
        Some(value) if field.is_none() => {
            *field = Some(value);
            Ok(())
        }
        _ => Err(HeaderFault::Missing(name)),
    }
}

/// Text with a length prefix of one byte.
fn short_text(head: &[u8], at: usize) -> Option<&[u8]> {
    let [length] = head.array_at(at)?;
    let from = at.checked_add(1)?;
    head.get(from..from.checked_add(usize::from(length))?)
}

/// The name if it has the right form, else `None`.
fn key_name(text: &[u8]) -> Option<String> {
    let name = str::from_utf8(text).unwrap_or_default();
    let well_formed = name.strip_prefix(BINARY_LOG_KEY_PREFIX).and_then(|rest| rest.rsplit_once('_')).is_some_and(
        |(uuid, number)| {
            uuid.len() == 36
                && uuid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
                && !number.is_empty()
                && number.bytes().all(|byte| byte.is_ascii_digit())
        },
    );
    Some(if well_formed { name.to_owned() } else { String::new() })
}

/// Encrypts and decrypts everything after the header of an encrypted MySQL log.
pub struct MySqlStream {
    key: Aes,
    /// First half of every counter block; the second counts blocks from 0.
    start: [u8; 8],
}

impl MySqlStream {
    /// Encrypts or decrypts `data`, which starts at `offset` of the stream: the same operation in
    /// counter mode. Offset 0 of the stream is offset 512 of the file.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn apply(&self, offset: u64, data: &mut [u8]) -> Result<(), CipherFault> {
        const BLOCK_BYTES: u64 = 16;
        let block = offset.checked_div(BLOCK_BYTES).unwrap_or(0);
        let inside = as_usize(offset.checked_rem(BLOCK_BYTES).unwrap_or(0));
        if inside == 0 {
            return self.key.ctr(&self.counter(block), data);
        }
        let (first, rest) = data.split_at_mut(data.len().min(BLOCK.saturating_sub(inside)));
        let mut mask = Zeroizing::new([0; BLOCK]);
        self.key.ctr(&self.counter(block), mask.as_mut_slice())?;
        first.iter_mut().zip(mask.range(inside, BLOCK)).for_each(|(byte, mask)| *byte ^= mask);
        if rest.is_empty() { Ok(()) } else { self.key.ctr(&self.counter(block.saturating_add(1)), rest) }
    }

    fn counter(&self, block: u64) -> Block {
        let counter = (u128::from(u64::from_be_bytes(self.start)) << 64) | u128::from(block);
        counter.to_be_bytes()
    }
}

impl fmt::Debug for MySqlStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MySqlStream")
    }
}

impl Drop for MySqlStream {
    fn drop(&mut self) {
        self.start.zeroize();
    }
}

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
const LENGTH_AT: usize = 9;

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

    #[test]
    fn a_stream_can_be_decrypted_from_any_offset() {
        let stream = StreamKey::derive(&[5; PASSWORD_BYTES]).unwrap().stream().unwrap();
        let clear = event(200);
        let mut whole = clear.clone();
        stream.apply(0, &mut whole).unwrap();
        for (from, to) in [(0, 1), (1, 3), (15, 16), (15, 18), (16, 40), (33, 200), (199, 200)] {
            let mut part = whole[from..to].to_vec();
            stream.apply(from as u64, &mut part).unwrap();
            assert_eq!(part, clear[from..to], "{from}..{to}");
        }
    }

    #[test]
    fn key_names() {
        let uuid = "95b2f013-e4cd-11f1-8c02-02fc00000001";
        let name = format!("{BINARY_LOG_KEY_PREFIX}{uuid}_12");
        assert_eq!(key_name(name.as_bytes()).as_deref(), Some(name.as_str()));
        for wrong in
            [format!("{BINARY_LOG_KEY_PREFIX}{uuid}_"), format!("{BINARY_LOG_KEY_PREFIX}{uuid}"), format!("x{name}")]
        {
            assert_eq!(key_name(wrong.as_bytes()).as_deref(), Some(""), "{wrong}");
        }
    }
}
