//! The key of a file, and the keys derived from it.

use aws_lc_rs::{
    aead::{CHACHA20_POLY1305, LessSafeKey, UnboundKey},
    hkdf, hmac,
};
use zeroize::Zeroizing;

use crate::error::Error;

/// Length of a file key.
pub(crate) const FILE_KEY_BYTES: usize = 16;
/// Length of the nonce before the chunks.
pub(crate) const PAYLOAD_NONCE_BYTES: usize = 16;
/// Length of the header's MAC.
pub(crate) const MAC_BYTES: usize = 32;

/// Length of a derived key.
const DERIVED_BYTES: usize = 32;

/// 128 random bits. The header contains them once for each recipient, wrapped.
pub(crate) struct FileKey(Zeroizing<[u8; FILE_KEY_BYTES]>);

impl FileKey {
    pub(crate) fn generate() -> Result<Self, Error> {
        let mut key = Zeroizing::new([0; FILE_KEY_BYTES]);
        aws_lc_rs::rand::fill(key.as_mut())?;
        Ok(Self(key))
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut key = Zeroizing::new([0; FILE_KEY_BYTES]);
        if bytes.len() != key.len() {
            return None;
        }
        key.copy_from_slice(bytes);
        Some(Self(key))
    }

    pub(crate) fn bytes(&self) -> &[u8; FILE_KEY_BYTES] {
        &self.0
    }

    /// MAC of the header up to and including its last `---`.
    pub(crate) fn header_mac(&self, header: &[u8]) -> Result<hmac::Tag, Error> {
        Ok(hmac::sign(&self.mac_key()?, header))
    }

    /// Compares the header's MAC in constant time.
    pub(crate) fn verify_header(&self, header: &[u8], mac: &[u8; MAC_BYTES]) -> Result<(), Error> {
        hmac::verify(&self.mac_key()?, header, mac).map_err(|_| Error::Mac)
    }

    /// The key that encrypts the chunks.
    pub(crate) fn payload_key(&self, nonce: &[u8; PAYLOAD_NONCE_BYTES]) -> Result<LessSafeKey, Error> {
        let key = derive(self.0.as_ref(), nonce, b"payload")?;
        aead(key.as_ref())
    }

    fn mac_key(&self) -> Result<hmac::Key, Error> {
        let key = derive(self.0.as_ref(), &[], b"header")?;
        Ok(hmac::Key::new(hmac::HMAC_SHA256, key.as_ref()))
    }
}

/// HKDF-SHA-256 (RFC 5869), 32 bytes.
pub(crate) fn derive(secret: &[u8], salt: &[u8], info: &[u8]) -> Result<Zeroizing<[u8; DERIVED_BYTES]>, Error> {
    let mut key = Zeroizing::new([0; DERIVED_BYTES]);
    let prk = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(secret);
    prk.expand(&[info], hkdf::HKDF_SHA256)?.fill(key.as_mut())?;
    Ok(key)
}

/// ChaCha20-Poly1305 (RFC 8439) under a derived key.
pub(crate) fn aead(key: &[u8]) -> Result<LessSafeKey, Error> {
    Ok(LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key)?))
}
