//! Signatures compatible with `ssh-keygen -Y sign` and `ssh-keygen -Y verify`: Ed25519 over the SHA-512 of a file, in
//! OpenSSH's armor.
//!
//! Sources: `PROTOCOL.sshsig` and `PROTOCOL.key` of OpenSSH, RFC 8709 (Ed25519 in SSH), ssh-keygen(1) "ALLOWED
//! SIGNERS". Confirmed with OpenSSH's program in tests/backup.rs.

mod key;
mod signers;
mod wire;

use aws_lc_rs::digest::{SHA256, SHA512, digest};
use data_encoding::BASE64;

use self::{
    key::KEY_TYPE,
    wire::{Fields, put},
};
pub use self::{
    key::{PublicKey, SigningKey},
    signers::{AllowedSigners, SignerRejected},
};

const MAGIC: &[u8; 6] = b"SSHSIG";
const VERSION: u32 = 1;
const SHA512_NAME: &[u8] = b"sha512";
const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
/// Line length of ssh-keygen.
const LINE_BYTES: usize = 70;
/// Maximum length of a signature file; an Ed25519 signature has about 300 bytes.
pub const MAX_SIGNATURE_BYTES: usize = 16 << 10;

/// Why a key or a signature cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SshFault {
    /// The text is not an OpenSSH private key.
    #[error("it is not a private key as ssh-keygen writes it")]
    NoKey,
    /// The private key is encrypted.
    #[error(
        "the private key is encrypted with a passphrase; a key for backups must have none (ssh-keygen -p removes it)"
    )]
    Passphrase,
    /// The key is RSA, ECDSA or another type.
    #[error("the key is of type {0}, ssh-ed25519 is needed")]
    KeyType(String),
    /// The text is not an OpenSSH signature.
    #[error("it is not a signature as ssh-keygen -Y sign writes it")]
    NoSignature,
    /// The signature was made for another purpose.
    #[error("the signature is for the purpose '{found}', not '{expected}'")]
    Namespace {
        /// Namespace of the signature.
        found: String,
        /// Namespace that was expected.
        expected: String,
    },
    /// The hash algorithm is not supported.
    #[error("the signature is over the hash {0}; sha512 and sha256 are supported")]
    Hash(String),
    /// The signature does not verify.
    #[error("the signature does not match: the file was changed, or another key signed it")]
    Mismatch,
    /// A line of an allowed signers file cannot be used.
    #[error("line {line} of the allowed signers: {reason}")]
    Signers {
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// The cryptographic library failed.
    #[error("the cryptographic library failed")]
    Crypto,
}

/// Signs a message for a namespace. Returns the text of the signature file.
///
/// # Errors
/// [`SshFault::Crypto`].
#[must_use]
pub fn sign(key: &SigningKey, namespace: &str, message: &[u8]) -> String {
    let signed = signed_bytes(namespace.as_bytes(), SHA512_NAME, digest(&SHA512, message).as_ref());
    let mut signature = Vec::new();
    put(&mut signature, KEY_TYPE.as_bytes());
    put(&mut signature, &key.sign(&signed));
    let mut blob = MAGIC.to_vec();
    blob.extend(VERSION.to_be_bytes());
    put(&mut blob, &key.public().blob());
    put(&mut blob, namespace.as_bytes());
    put(&mut blob, b"");
    put(&mut blob, SHA512_NAME);
    put(&mut blob, &signature);
    let encoded = BASE64.encode(&blob);
    let mut text = format!("{BEGIN}\n");
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, behind) = rest.split_at(rest.len().min(LINE_BYTES));
        text.push_str(line);
        text.push('\n');
        rest = behind;
    }
    text.push_str(END);
    text.push('\n');
    text
}

/// A parsed signature, not yet verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    key: PublicKey,
    namespace: Vec<u8>,
    hash: Vec<u8>,
    signature: [u8; 64],
}

impl Signature {
    /// Parses the text of a signature file.
    ///
    /// # Errors
    /// [`SshFault::NoSignature`], [`SshFault::KeyType`].
    pub fn parse(text: &[u8]) -> Result<Self, SshFault> {
        let text = text.get(..text.len().min(MAX_SIGNATURE_BYTES)).unwrap_or_default();
        let text = std::str::from_utf8(text).map_err(|_| SshFault::NoSignature)?;
        let body = text.trim().strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
        let encoded: String = body.ok_or(SshFault::NoSignature)?.split_ascii_whitespace().collect();
        let blob = BASE64.decode(encoded.as_bytes()).map_err(|_| SshFault::NoSignature)?;
        Self::from_blob(&blob)
    }

    fn from_blob(blob: &[u8]) -> Result<Self, SshFault> {
        let mut fields = Fields(blob.strip_prefix(MAGIC.as_slice()).ok_or(SshFault::NoSignature)?);
        let none = || SshFault::NoSignature;
        if fields.number().ok_or_else(none)? != VERSION {
            return Err(SshFault::NoSignature);
        }
        let key = PublicKey::from_blob(fields.string().ok_or_else(none)?)?;
        let namespace = fields.string().ok_or_else(none)?.to_vec();
        let _reserved = fields.string().ok_or_else(none)?;
        let hash = fields.string().ok_or_else(none)?.to_vec();
        let mut inner = Fields(fields.string().ok_or_else(none)?);
        let kind = inner.string().ok_or_else(none)?;
        if kind != KEY_TYPE.as_bytes() {
            return Err(SshFault::KeyType(String::from_utf8_lossy(kind).into_owned()));
        }
        let signature = inner.string().and_then(|bytes| bytes.try_into().ok()).ok_or_else(none)?;
        if !fields.0.is_empty() || !inner.0.is_empty() {
            return Err(SshFault::NoSignature);
        }
        Ok(Self { key, namespace, hash, signature })
    }

    /// Verifies the signature over `message` for `namespace`. Returns the key that made it; [`AllowedSigners`] decides
    /// whether this key is trusted.
    ///
    /// # Errors
    /// [`SshFault::Namespace`], [`SshFault::Hash`], [`SshFault::Mismatch`].
    pub fn verify(&self, namespace: &str, message: &[u8]) -> Result<&PublicKey, SshFault> {
        if self.namespace != namespace.as_bytes() {
            let found = String::from_utf8_lossy(&self.namespace).into_owned();
            return Err(SshFault::Namespace { found, expected: namespace.to_owned() });
        }
        let hash = match self.hash.as_slice() {
            SHA512_NAME => digest(&SHA512, message),
            b"sha256" => digest(&SHA256, message),
            other => return Err(SshFault::Hash(String::from_utf8_lossy(other).into_owned())),
        };
        let signed = signed_bytes(&self.namespace, &self.hash, hash.as_ref());
        if self.key.verifies(&signed, &self.signature) { Ok(&self.key) } else { Err(SshFault::Mismatch) }
    }
}

/// The bytes to sign; they contain the message's hash.
fn signed_bytes(namespace: &[u8], hash_name: &[u8], hash: &[u8]) -> Vec<u8> {
    let mut signed = MAGIC.to_vec();
    put(&mut signed, namespace);
    put(&mut signed, b"");
    put(&mut signed, hash_name);
    put(&mut signed, hash);
    signed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_its_message_and_purpose_alone() {
        let key = SigningKey::generate().unwrap();
        let text = sign(&key, "sealant-receipt", b"a message\n");
        let signature = Signature::parse(text.as_bytes()).unwrap();
        assert_eq!(signature.verify("sealant-receipt", b"a message\n"), Ok(key.public()));
        assert_eq!(signature.verify("sealant-receipt", b"a message"), Err(SshFault::Mismatch));
        assert!(matches!(signature.verify("file", b"a message\n"), Err(SshFault::Namespace { .. })));
        assert!(text.lines().all(|line| line.len() <= LINE_BYTES));
    }

    #[test]
    fn every_changed_byte_is_found() {
        let key = SigningKey::generate().unwrap();
        let text = sign(&key, "n", b"m");
        let body: String = text.lines().filter(|line| !line.starts_with('-')).collect();
        let blob = BASE64.decode(body.as_bytes()).unwrap();
        for at in 0..blob.len() {
            let mut changed = blob.clone();
            changed[at] ^= 1;
            let held =
                Signature::from_blob(&changed).is_ok_and(|signature| signature.verify("n", b"m") == Ok(key.public()));
            // The reserved field is signed as empty, whatever its content.
            assert!(!held, "byte {at}");
        }
        for length in 0..blob.len() {
            assert!(Signature::from_blob(&blob[..length]).is_err(), "{length}");
        }
    }
}
