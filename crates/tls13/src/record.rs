//! The record layer of TLS 1.3 (RFC 8446, section 5) between the caller's memory and the wire.
//!
//! The record layer of rustls copies each byte once more on each side, which took 7 % of the processor time of a
//! transfer over loopback. Handshake and key schedule are those of rustls, the ciphers those of aws-lc.

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use rustls::{ConnectionTrafficSecrets, Error, crypto::cipher::AeadKey};

/// Bytes of a record's header: content type, version, length.
pub const HEADER_BYTES: usize = 5;
/// Maximum content of a record, in bytes.
pub const MAX_CONTENT_BYTES: usize = 1 << 14;
/// Maximum length after a record's header, in bytes.
pub const MAX_BODY_BYTES: usize = MAX_CONTENT_BYTES + 256;
/// Overhead of a record without padding, in bytes.
pub const OVERHEAD_BYTES: usize = HEADER_BYTES + KIND_BYTES + TAG_BYTES;

/// Content type of an alert.
pub const ALERT: u8 = 21;
/// Content type of handshake messages.
pub const HANDSHAKE: u8 = 22;
/// Content type of data, and outer type of every encrypted record.
pub const APPLICATION_DATA: u8 = 23;

const TAG_BYTES: usize = 16;
const KIND_BYTES: usize = 1;
/// Version in record headers since TLS 1.2.
const VERSION: [u8; 2] = [3, 3];

/// A key for one direction, and the number of the next record.
pub struct RecordKey {
    aead: LessSafeKey,
    iv: [u8; NONCE_LEN],
    sequence: u64,
    /// Number of records that it may encrypt.
    limit: u64,
}

impl std::fmt::Debug for RecordKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RecordKey")
    }
}

impl RecordKey {
    /// Key from the secrets of the handshake.
    ///
    /// # Errors
    /// The suite is not one of TLS 1.3.
    pub fn new(sequence: u64, secrets: &ConnectionTrafficSecrets, limit: u64) -> Result<Self, Error> {
        let (algorithm, key, iv): (_, &AeadKey, _) = match secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&AES_128_GCM, key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&AES_256_GCM, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (&CHACHA20_POLY1305, key, iv),
            _ => return Err(Error::General("an unknown cipher suite".to_owned())),
        };
        let key = UnboundKey::new(algorithm, key.as_ref()).map_err(|_| Error::EncryptError)?;
        let iv = iv.as_ref().try_into().map_err(|_| Error::EncryptError)?;
        Ok(Self { aead: LessSafeKey::new(key), iv, sequence, limit })
    }

    /// Limits the number of records, for tests of key updates.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Whether the next record should be the last one encrypted with this key.
    #[must_use]
    pub fn is_worn(&self) -> bool {
        self.sequence.saturating_add(1) >= self.limit
    }

    /// Nonce according to RFC 8446, section 5.3. No number is used twice.
    fn nonce(&mut self) -> Option<Nonce> {
        let sequence = self.sequence;
        self.sequence = sequence.checked_add(1)?;
        let mut nonce = self.iv;
        for (byte, number) in nonce.iter_mut().rev().zip(sequence.to_le_bytes()) {
            *byte ^= number;
        }
        Some(Nonce::assume_unique_for_key(nonce))
    }

    /// Encrypts `content`, at most [`MAX_CONTENT_BYTES`], into a record at the front of `out`. Returns the record's
    /// length.
    ///
    /// # Errors
    /// The key is used up, or a buffer is too small.
    pub fn seal(&mut self, kind: u8, content: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        if self.sequence >= self.limit || content.len() > MAX_CONTENT_BYTES {
            return Err(Error::EncryptError);
        }
        let record_bytes = content.len() + OVERHEAD_BYTES;
        let record = out.get_mut(..record_bytes).ok_or(Error::EncryptError)?;
        let (header, body) = record.split_at_mut(HEADER_BYTES);
        let (sealed, kind_and_tag) = body.split_at_mut(content.len());
        header.copy_from_slice(&header_of(kind_and_tag.len() + sealed.len()).ok_or(Error::EncryptError)?);
        let nonce = self.nonce().ok_or(Error::EncryptError)?;
        let done =
            self.aead.seal_out_of_place_scatter(nonce, Aad::from(&*header), content, sealed, &[kind], kind_and_tag);
        done.map(|()| record_bytes).map_err(|_| Error::EncryptError)
    }

    /// Decrypts the `body` after a record's header into the front of `out`, which must have at least [`opened_bytes`].
    /// Returns the type and length of the content. Bytes of `out` after the content are undefined.
    ///
    /// # Errors
    /// The record was modified, or violates the standard.
    pub fn open(&mut self, header: &[u8; HEADER_BYTES], body: &[u8], out: &mut [u8]) -> Result<(u8, usize), Error> {
        let (sealed, tag) = body.split_at_checked(opened_bytes(body)).ok_or(Error::DecryptError)?;
        let out = out.get_mut(..sealed.len()).ok_or(Error::DecryptError)?;
        let nonce = self.nonce().ok_or(Error::DecryptError)?;
        let opened = self.aead.open_separate_gather(nonce, Aad::from(header), sealed, tag, out);
        opened.map_err(|_| Error::DecryptError)?;
        // The type is the last byte that is not padding.
        let end = out.iter().rposition(|byte| *byte != 0).ok_or_else(no_kind)?;
        if end > MAX_CONTENT_BYTES {
            return Err(Error::PeerSentOversizedRecord);
        }
        let kind = out.get(end).copied().ok_or_else(no_kind)?;
        Ok((kind, end))
    }
}

fn no_kind() -> Error {
    Error::PeerMisbehaved(rustls::PeerMisbehaved::IllegalTlsInnerPlaintext)
}

/// Buffer size for decryption: content, type and padding.
#[must_use]
pub fn opened_bytes(body: &[u8]) -> usize {
    body.len().saturating_sub(TAG_BYTES)
}

fn header_of(body_bytes: usize) -> Option<[u8; HEADER_BYTES]> {
    let [high, low] = u16::try_from(body_bytes).ok()?.to_be_bytes();
    let [major, minor] = VERSION;
    Some([APPLICATION_DATA, major, minor, high, low])
}

/// Length of what follows a header, encrypted or not.
///
/// # Errors
/// It is longer than the standard allows.
pub fn body_bytes(header: &[u8; HEADER_BYTES]) -> Result<usize, Error> {
    let [_, _, _, high, low] = *header;
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length > MAX_BODY_BYTES { Err(Error::PeerSentOversizedRecord) } else { Ok(length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8448, section 3: the client's application data.
    const IV: [u8; 12] = [0x5b, 0x78, 0x92, 0x3d, 0xee, 0x08, 0x57, 0x90, 0x33, 0xe5, 0x23, 0xd9];
    const KEY: [u8; 16] =
        [0x17, 0x42, 0x2d, 0xda, 0x59, 0x6e, 0xd5, 0xd9, 0xac, 0xd8, 0x90, 0xe3, 0xc6, 0x3f, 0x50, 0x51];
    const RECORD: [u8; 72] = [
        0x17, 0x03, 0x03, 0x00, 0x43, 0xa2, 0x3f, 0x70, 0x54, 0xb6, 0x2c, 0x94, 0xd0, 0xaf, 0xfa, 0xfe, 0x82, 0x28,
        0xba, 0x55, 0xcb, 0xef, 0xac, 0xea, 0x42, 0xf9, 0x14, 0xaa, 0x66, 0xbc, 0xab, 0x3f, 0x2b, 0x98, 0x19, 0xa8,
        0xa5, 0xb4, 0x6b, 0x39, 0x5b, 0xd5, 0x4a, 0x9a, 0x20, 0x44, 0x1e, 0x2b, 0x62, 0x97, 0x4e, 0x1f, 0x5a, 0x62,
        0x92, 0xa2, 0x97, 0x70, 0x14, 0xbd, 0x1e, 0x3d, 0xea, 0xe6, 0x3a, 0xee, 0xbb, 0x21, 0x69, 0x49, 0x15, 0xe4,
    ];

    fn key() -> RecordKey {
        let unbound = UnboundKey::new(&AES_128_GCM, &KEY).unwrap();
        RecordKey { aead: LessSafeKey::new(unbound), iv: IV, sequence: 0, limit: 2 }
    }

    #[test]
    fn records_are_those_of_the_standard() {
        let content: Vec<u8> = (0..50).collect();
        let mut record = [0; 100];
        assert_eq!(key().seal(APPLICATION_DATA, &content, &mut record).unwrap(), RECORD.len());
        assert_eq!(record[..RECORD.len()], RECORD);
        let (header, body) = RECORD.split_first_chunk().unwrap();
        assert_eq!(body_bytes(header).unwrap(), body.len());
        let mut opened = [0; 60];
        assert_eq!(key().open(header, body, &mut opened).unwrap(), (APPLICATION_DATA, 50));
        assert_eq!(opened[..50], content);
    }

    #[test]
    fn no_key_encrypts_more_records_than_its_limit() {
        let (mut key, mut out) = (key(), [0; 100]);
        assert!(!key.is_worn());
        key.seal(APPLICATION_DATA, b"", &mut out).unwrap();
        assert!(key.is_worn());
        key.seal(APPLICATION_DATA, b"", &mut out).unwrap();
        assert_eq!(key.seal(APPLICATION_DATA, b"", &mut out), Err(Error::EncryptError));
    }

    #[test]
    fn lengths_that_do_not_fit_are_errors() {
        let mut out = vec![0; MAX_CONTENT_BYTES + OVERHEAD_BYTES];
        assert!(key().seal(APPLICATION_DATA, &vec![0; MAX_CONTENT_BYTES + 1], &mut out).is_err());
        assert!(key().seal(APPLICATION_DATA, b"12", &mut [0; OVERHEAD_BYTES + 1]).is_err());
        let (header, body) = RECORD.split_first_chunk().unwrap();
        assert!(key().open(header, body, &mut [0; 50]).is_err());
        for short in [0, 1, 15, 16, 17] {
            assert!(key().open(header, &body[..short], &mut out).is_err());
        }
        assert_eq!(body_bytes(&[23, 3, 3, 0x41, 0x01]), Err(Error::PeerSentOversizedRecord));
        assert_eq!(body_bytes(&[23, 3, 3, 0x41, 0x00]), Ok(MAX_BODY_BYTES));
    }
}
