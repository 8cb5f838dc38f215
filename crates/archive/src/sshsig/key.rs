//! Ed25519 keys in OpenSSH's file formats.

use std::fmt;

use aws_lc_rs::{
    digest::{SHA256, digest},
    signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};
use data_encoding::{BASE64, BASE64_NOPAD};
use files::secret;
use zeroize::Zeroizing;

use super::{
    SshFault,
    wire::{Fields, put},
};

pub(super) const KEY_TYPE: &str = "ssh-ed25519";
const PUBLIC_BYTES: usize = 32;
const SEED_BYTES: usize = 32;
const MAGIC: &[u8] = b"openssh-key-v1\0";
const BEGIN: &str = "-----BEGIN OPENSSH PRIVATE KEY-----";
const END: &str = "-----END OPENSSH PRIVATE KEY-----";
/// Line length of ssh-keygen.
const LINE_BYTES: usize = 70;
/// Block size for padding: that of the cipher `none`.
const BLOCK_BYTES: usize = 8;

/// An Ed25519 public key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; PUBLIC_BYTES]);

impl PublicKey {
    /// Parses the blob in files and signatures.
    ///
    /// # Errors
    /// [`SshFault::KeyType`], [`SshFault::NoKey`].
    pub(super) fn from_blob(blob: &[u8]) -> Result<Self, SshFault> {
        let mut fields = Fields(blob);
        let kind = fields.string().ok_or(SshFault::NoKey)?;
        if kind != KEY_TYPE.as_bytes() {
            return Err(SshFault::KeyType(String::from_utf8_lossy(kind).into_owned()));
        }
        let key = fields.string().and_then(|key| key.try_into().ok()).ok_or(SshFault::NoKey)?;
        if fields.0.is_empty() { Ok(Self(key)) } else { Err(SshFault::NoKey) }
    }

    pub(super) fn blob(&self) -> Vec<u8> {
        let mut blob = Vec::new();
        put(&mut blob, KEY_TYPE.as_bytes());
        put(&mut blob, &self.0);
        blob
    }

    /// The fingerprint as OpenSSH's programs show it: `SHA256:` and the hash of the key, in base64.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        format!("SHA256:{}", BASE64_NOPAD.encode(digest(&SHA256, &self.blob()).as_ref()))
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    /// `ssh-ed25519 AAAA…`, as in public key files.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{KEY_TYPE} {}", BASE64.encode(&self.blob()))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// An Ed25519 private key. Wiped on drop.
pub struct SigningKey {
    seed: Zeroizing<[u8; SEED_BYTES]>,
    pair: Ed25519KeyPair,
    public: PublicKey,
}

impl SigningKey {
    /// Generates a new key.
    ///
    /// # Errors
    /// [`SshFault::Crypto`] if there are no random bytes.
    pub fn generate() -> Result<Self, SshFault> {
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        aws_lc_rs::rand::fill(seed.as_mut()).map_err(|_| SshFault::Crypto)?;
        Self::from_seed(seed)
    }

    fn from_seed(seed: Zeroizing<[u8; SEED_BYTES]>) -> Result<Self, SshFault> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed.as_ref()).map_err(|_| SshFault::Crypto)?;
        let public = PublicKey(pair.public_key().as_ref().try_into().map_err(|_| SshFault::Crypto)?);
        Ok(Self { seed, pair, public })
    }

    /// Parses a private key without a passphrase, as written by `ssh-keygen -t ed25519 -N ''`.
    ///
    /// # Errors
    /// [`SshFault::NoKey`], [`SshFault::Passphrase`], [`SshFault::KeyType`].
    pub fn parse(text: &str) -> Result<Self, SshFault> {
        let body = text.trim().strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
        let body = body.ok_or(SshFault::NoKey)?;
        let mut encoded = Zeroizing::new(Vec::with_capacity(body.len()));
        encoded.extend(body.bytes().filter(|byte| !byte.is_ascii_whitespace()));
        let blob = secret::decode_base64(&encoded).ok_or(SshFault::NoKey)?;
        Self::from_blob(&blob)
    }

    fn from_blob(blob: &[u8]) -> Result<Self, SshFault> {
        let mut fields = Fields(blob.strip_prefix(MAGIC).ok_or(SshFault::NoKey)?);
        let (cipher, kdf) = (fields.string(), fields.string());
        let _options = fields.string().ok_or(SshFault::NoKey)?;
        if cipher != Some(b"none".as_slice()) || kdf != Some(b"none".as_slice()) {
            return Err(SshFault::Passphrase);
        }
        if fields.number() != Some(1) {
            return Err(SshFault::NoKey);
        }
        let public = PublicKey::from_blob(fields.string().ok_or(SshFault::NoKey)?)?;
        let mut private = Fields(fields.string().ok_or(SshFault::NoKey)?);
        let (first, second) = (private.number(), private.number());
        let (kind, inner) = (private.string(), private.string());
        let secret = private.string().and_then(|secret| secret.first_chunk::<SEED_BYTES>());
        if first.is_none() || first != second || kind != Some(KEY_TYPE.as_bytes()) || inner != Some(&public.0) {
            return Err(SshFault::NoKey);
        }
        let key = Self::from_seed(Zeroizing::new(*secret.ok_or(SshFault::NoKey)?))?;
        if key.public == public { Ok(key) } else { Err(SshFault::NoKey) }
    }

    /// The text of its file, in ssh-keygen's format.
    ///
    /// # Errors
    /// [`SshFault::Crypto`] if there are no random bytes.
    pub fn to_secret_text(&self, comment: &str) -> Result<Zeroizing<String>, SshFault> {
        let mut check = [0; 4];
        aws_lc_rs::rand::fill(&mut check).map_err(|_| SshFault::Crypto)?;
        // Allocated once, so that no copy is left in memory.
        let mut private = Zeroizing::new(Vec::with_capacity(256_usize.saturating_add(comment.len())));
        private.extend(check);
        private.extend(check);
        put(&mut private, KEY_TYPE.as_bytes());
        put(&mut private, &self.public.0);
        let mut pair = Zeroizing::new(Vec::with_capacity(64));
        pair.extend(self.seed.iter());
        pair.extend(self.public.0);
        put(&mut private, &pair);
        put(&mut private, comment.as_bytes());
        for filler in 1..=u8::MAX {
            if private.len().is_multiple_of(BLOCK_BYTES) {
                break;
            }
            private.push(filler);
        }
        let mut blob = Zeroizing::new(Vec::with_capacity(private.len().saturating_add(256)));
        blob.extend(MAGIC);
        put(&mut blob, b"none");
        put(&mut blob, b"none");
        put(&mut blob, b"");
        blob.extend(1_u32.to_be_bytes());
        put(&mut blob, &self.public.blob());
        put(&mut blob, &private);
        Ok(armored(&blob))
    }

    /// The public half of the key.
    #[must_use]
    pub const fn public(&self) -> &PublicKey {
        &self.public
    }

    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey")
    }
}

fn armored(blob: &[u8]) -> Zeroizing<String> {
    let encoded = secret::encode_base64(blob);
    let lines = encoded.len().div_ceil(LINE_BYTES);
    let room = encoded.len().saturating_add(lines).saturating_add(BEGIN.len()).saturating_add(END.len());
    let mut text = Zeroizing::new(String::with_capacity(room.saturating_add(8)));
    text.push_str(BEGIN);
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, behind) = rest.split_at(rest.len().min(LINE_BYTES));
        text.push('\n');
        text.push_str(line);
        rest = behind;
    }
    text.push('\n');
    text.push_str(END);
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_back_and_shows_nothing() {
        let key = SigningKey::generate().unwrap();
        let text = key.to_secret_text("backup of db1").unwrap();
        let back = SigningKey::parse(&text).unwrap();
        assert_eq!(back.public(), key.public());
        assert_eq!(format!("{back:?}"), "SigningKey");
    }

    /// `ssh-keygen -l -f` shows the same of this key.
    #[test]
    fn a_fingerprint_is_that_of_openssh() {
        let mut bytes = [0; PUBLIC_BYTES];
        (0..).zip(&mut bytes).for_each(|(number, byte)| *byte = number);
        assert_eq!(PublicKey(bytes).fingerprint(), "SHA256:ZkAslGjFiUHdGf/WUL8rQvkib4PTvQatUV0OUQSncCA");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let key = SigningKey::generate().unwrap();
        let text = key.to_secret_text("").unwrap();
        let body: String = text.lines().filter(|line| !line.starts_with('-')).collect();
        let blob = BASE64.decode(body.as_bytes()).unwrap();
        for length in 0..blob.len() {
            assert!(SigningKey::from_blob(&blob[..length]).is_err(), "{length}");
        }
        let none = blob.windows(4).position(|bytes| bytes == b"none").unwrap();
        let mut encrypted = blob;
        encrypted[none] = b'N';
        assert!(matches!(SigningKey::from_blob(&encrypted), Err(SshFault::Passphrase)));
        assert!(matches!(SigningKey::parse("-----BEGIN RSA PRIVATE KEY-----"), Err(SshFault::NoKey)));
    }
}
