//! Files of `openssl enc -aes-256-cbc`, the encryption of MariaDB's key files: `Salted__`, 8 bytes of salt, then
//! AES-256-CBC with PKCS #7 padding.
//!
//! The file does not say how its key was derived from the password, so unknown parameters are searched.
//!
//! Source: docs/formats, "MariaDB key file": SHA-1 without PBKDF2 confirmed on testdata. The other digests and PBKDF2
//! (`file_key_management_digest`, `file_key_management_use_pbkdf2`, MariaDB 12) are documented as `-md` and `-iter` of
//! `openssl enc`; confirmed on files written by OpenSSL 3.0, not with a server.

use std::num::NonZeroU32;

use aws_lc_rs::{
    cipher::{
        AES_256, DecryptingKey, DecryptionContext, EncryptionContext, PaddedBlockEncryptingKey, UnboundCipherKey,
    },
    digest, hmac,
    iv::FixedLength,
    rand::{SecureRandom, SystemRandom},
};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{error::Error, limits::MAX_ROUNDS};

/// Length of an AES block.
const BLOCK: usize = 16;
/// Length of key and initialisation vector.
const MATERIAL_BYTES: usize = 48;
/// The digests of `file_key_management_digest`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Digest {
    /// SHA-1, the default.
    #[default]
    Sha1,
    /// SHA-224.
    Sha224,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

/// How the key of an encrypted key file is derived from the password. The default is the server's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Derivation {
    /// `file_key_management_digest`.
    pub digest: Digest,
    /// `file_key_management_use_pbkdf2`: the number of rounds; `None` for 0, which means `EVP_BytesToKey` with one
    /// round.
    pub pbkdf2_rounds: Option<NonZeroU32>,
}

impl Digest {
    /// All digests, in the order of the search.
    pub const ALL: [Self; 5] = [Self::Sha1, Self::Sha256, Self::Sha512, Self::Sha224, Self::Sha384];

    /// The digest with this name in the server's variable.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let names = ["sha1", "sha256", "sha512", "sha224", "sha384"];
        let named = names.iter().zip(Self::ALL).find(|(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, digest)| digest)
    }

    const fn plain(self) -> &'static digest::Algorithm {
        match self {
            Self::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha224 => &digest::SHA224,
            Self::Sha256 => &digest::SHA256,
            Self::Sha384 => &digest::SHA384,
            Self::Sha512 => &digest::SHA512,
        }
    }

    const fn keyed(self) -> hmac::Algorithm {
        match self {
            Self::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha224 => hmac::HMAC_SHA224,
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha384 => hmac::HMAC_SHA384,
            Self::Sha512 => hmac::HMAC_SHA512,
        }
    }
}

/// An encrypted file and the password to try.
pub(crate) struct OpensslFile<'a> {
    salt: &'a [u8],
    encrypted: &'a [u8],
    password: &'a [u8],
}

/// First bytes of what `openssl enc` writes; the salt follows. Source: openssl-enc(1).
pub const OPENSSL_MAGIC: &[u8] = b"Salted__";

impl<'a> OpensslFile<'a> {
    /// Splits the file into salt and ciphertext.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the ciphertext is not whole blocks.
    pub(crate) fn new(bytes: &'a [u8], password: &'a [u8]) -> Result<Self, Error> {
        let (salt, encrypted) = bytes
            .strip_prefix(OPENSSL_MAGIC)
            .and_then(|rest| rest.split_at_checked(8))
            .filter(|(_, encrypted)| !encrypted.is_empty() && encrypted.len().is_multiple_of(BLOCK))
            .ok_or(Error::Truncated)?;
        Ok(Self { salt, encrypted, password })
    }

    /// Decrypts with `derivation`; `None` if `accept` rejects the content.
    pub(crate) fn decrypt(&self, derivation: Derivation, accept: PlaintextTest) -> Option<Zeroizing<Vec<u8>>> {
        match derivation.pbkdf2_rounds {
            None => self.decrypt_with(&self.bytes_to_key(derivation.digest), accept),
            Some(rounds) => {
                let mut pbkdf2 = Pbkdf2::new(derivation.digest, self.password, self.salt);
                (1..rounds.get()).for_each(|_| pbkdf2.step());
                self.decrypt_with(&pbkdf2.material(), accept)
            }
        }
    }

    /// Tries every digest without PBKDF2, then with every number of rounds up to [`MAX_ROUNDS`].
    pub(crate) fn search(&self, accept: PlaintextTest) -> Option<(Zeroizing<Vec<u8>>, Derivation)> {
        let plain = Digest::ALL.into_iter().map(|digest| Derivation { digest, pbkdf2_rounds: None });
        let found = plain.filter_map(|derivation| Some((self.decrypt(derivation, accept)?, derivation))).next();
        found.or_else(|| self.search_rounds(accept))
    }

    /// Each round continues from the previous one, so trying all numbers costs little more than the largest one.
    fn search_rounds(&self, accept: PlaintextTest) -> Option<(Zeroizing<Vec<u8>>, Derivation)> {
        let mut all = Digest::ALL.map(|digest| (digest, Pbkdf2::new(digest, self.password, self.salt)));
        for rounds in 1..=MAX_ROUNDS {
            for (digest, pbkdf2) in &mut all {
                if let Some(clear) = self.decrypt_with(&pbkdf2.material(), accept) {
                    return Some((clear, Derivation { digest: *digest, pbkdf2_rounds: NonZeroU32::new(rounds) }));
                }
                pbkdf2.step();
            }
        }
        None
    }

    /// `EVP_BytesToKey` with one round: each digest covers the previous one, the password and the salt.
    fn bytes_to_key(&self, digest: Digest) -> Material {
        let mut material = Zeroizing::new([0; MATERIAL_BYTES]);
        let mut last = None::<digest::Digest>;
        let mut rest = material.as_mut_slice();
        while !rest.is_empty() {
            let mut context = digest::Context::new(digest.plain());
            context.update(last.as_ref().map_or(&[][..], digest::Digest::as_ref));
            context.update(self.password);
            context.update(self.salt);
            let next = context.finish();
            let (filled, unfilled) = rest.split_at_mut(next.as_ref().len().min(rest.len()));
            filled.iter_mut().zip(next.as_ref()).for_each(|(to, from)| *to = *from);
            rest = unfilled;
            last = Some(next);
        }
        material
    }

    /// The content without its padding. The last block is decrypted first: its padding already rejects most wrong keys.
    fn decrypt_with(&self, material: &Material, accept: PlaintextTest) -> Option<Zeroizing<Vec<u8>>> {
        let (key, iv) = material.split_first_chunk::<32>()?;
        let iv = <[u8; BLOCK]>::try_from(iv).ok()?;
        let (blocks, _) = self.encrypted.as_chunks::<BLOCK>();
        let (last, before) = blocks.split_last()?;
        let cipher = || DecryptingKey::ecb(UnboundCipherKey::new(&AES_256, key).ok()?).ok();
        let mut end = Zeroizing::new(*last);
        cipher()?.decrypt(end.as_mut_slice(), DecryptionContext::None).ok()?;
        end.iter_mut().zip(before.last().unwrap_or(&iv)).for_each(|(byte, mask)| *byte ^= mask);
        let padding = padding(&end)?;
        let unbound = UnboundCipherKey::new(&AES_256, key).ok()?;
        let mut clear = Zeroizing::new(self.encrypted.to_vec());
        let context = DecryptionContext::Iv128(FixedLength::from(iv));
        DecryptingKey::cbc(unbound).ok()?.decrypt(clear.as_mut_slice(), context).ok()?;
        let length = clear.len().checked_sub(padding)?;
        clear.truncate(length);
        accept(&clear).then_some(clear)
    }
}

/// Encrypts content with a password and a random salt, with the server's default key derivation.
///
/// # Errors
/// [`Error::Cipher`] if the system has no random bytes.
pub(crate) fn encrypt(clear: &[u8], password: &[u8]) -> Result<Vec<u8>, Error> {
    let mut salt = [0; 8];
    SystemRandom::new().fill(&mut salt).map_err(|_| Error::Cipher)?;
    let material = OpensslFile { salt: &salt, encrypted: &[], password }.bytes_to_key(Digest::default());
    let (key, iv) = material.split_first_chunk::<32>().ok_or(Error::Cipher)?;
    let iv = <[u8; BLOCK]>::try_from(iv).map_err(|_| Error::Cipher)?;
    let mut encrypted = Zeroizing::new(Vec::with_capacity(clear.len().saturating_add(BLOCK)));
    encrypted.extend_from_slice(clear);
    let cipher = UnboundCipherKey::new(&AES_256, key).and_then(PaddedBlockEncryptingKey::cbc_pkcs7);
    let cipher = cipher.map_err(|_| Error::Cipher)?;
    let context = EncryptionContext::Iv128(FixedLength::from(iv));
    cipher.less_safe_encrypt(&mut *encrypted, context).map_err(|_| Error::Cipher)?;
    Ok([OPENSSL_MAGIC, &salt, &encrypted].concat())
}

/// Distinguishes valid content from the result of a wrong key.
pub(crate) type PlaintextTest = fn(&[u8]) -> bool;

type Material = Zeroizing<[u8; MATERIAL_BYTES]>;

/// Length of the PKCS #7 padding, from the last block.
fn padding(block: &[u8; BLOCK]) -> Option<usize> {
    let value = *block.last()?;
    let count = usize::from(value);
    let padded = block.iter().rev().take(count).all(|byte| *byte == value);
    ((1..=BLOCK).contains(&count) && padded).then_some(count)
}

/// PBKDF2 (RFC 8018) that can continue after any round.
struct Pbkdf2 {
    key: hmac::Key,
    parts: Vec<Part>,
}

/// A block of the output: its newest round, and the XOR of all rounds.
struct Part {
    last: hmac::Tag,
    sum: Zeroizing<Vec<u8>>,
}

impl Pbkdf2 {
    /// State after the first round.
    fn new(digest: Digest, password: &[u8], salt: &[u8]) -> Self {
        let key = hmac::Key::new(digest.keyed(), password);
        let count = MATERIAL_BYTES.div_ceil(digest.plain().output_len().max(1));
        let parts = (1_u32..).take(count).map(|number| {
            let mut context = hmac::Context::with_key(&key);
            context.update(salt);
            context.update(&number.to_be_bytes());
            let last = context.sign();
            Part { last, sum: Zeroizing::new(last.as_ref().to_vec()) }
        });
        Self { parts: parts.collect(), key }
    }

    fn step(&mut self) {
        for part in &mut self.parts {
            part.last = hmac::sign(&self.key, part.last.as_ref());
            part.sum.iter_mut().zip(part.last.as_ref()).for_each(|(sum, byte)| *sum ^= byte);
        }
    }

    fn material(&self) -> Material {
        let mut material = Zeroizing::new([0; MATERIAL_BYTES]);
        let sums = self.parts.iter().flat_map(|part| part.sum.iter());
        material.iter_mut().zip(sums).for_each(|(to, from)| *to = *from);
        material
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAR: &[u8] = b"1;5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";
    const SALT: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

    /// `openssl enc -aes-256-cbc -md DIGEST [-pbkdf2 -iter ROUNDS] -k secret -S 0102030405060708` of
    /// OpenSSL 3.0.19 on [`CLEAR`]; 0 rounds mean no `-pbkdf2`.
    const VECTORS: [(Digest, u32, &[u8]); 10] = [
        (
            Digest::Sha1,
            0,
            b"31f582ae3b2b1b5cd2d0c36f1fea8a5d3b99b9ce7d464610efd29fa128381467e93b2191326e5467456a4eea8f0cc43e",
        ),
        (
            Digest::Sha224,
            0,
            b"4e1c90cd117200ef6934c4b989a65fce060f40ad51e0bdaf4324e28859398a90bce84dde5d2acd26316ce59089451388",
        ),
        (
            Digest::Sha256,
            0,
            b"62c0fc4131da038fab35a132093c8088e602fecc1e6b810a5fba5ad720909353bcf92408aca7ff5475c77d7f69ec9db0",
        ),
        (
            Digest::Sha384,
            0,
            b"9934612ec8f6b447fcdf9ca90c0a13ad95a31b465fb3d60f2b627b6f3df06efb4ef72c6f44965b01b40300cd54882af0",
        ),
        (
            Digest::Sha512,
            0,
            b"51b89b5b3f2222ddd369da4dc57ef9d73065167c6e9ed80e5ba30c4667f83bb939e890b1c949f1c5b6a1f5e0da04b1de",
        ),
        (
            Digest::Sha1,
            1234,
            b"c75f8e26d7d6fa092e075ce5b577b24efa3cfaf14a9f2e20dda7c28bf97233ce565d9b9a63c2f69fb5fb26ff46e9ff81",
        ),
        (
            Digest::Sha224,
            1234,
            b"cbfd891005b97edb42d8c779d4c20d71162b8ff8032d119acc00e9bb8f4607fced0c77a087f4a00f83cdb4366bb4db02",
        ),
        (
            Digest::Sha256,
            1234,
            b"af62c1401ec56526edd578660d33c9dc56dadafa79ea40e7dfc1bc18e7fa7a7b32130d2a961d06309b627bd61524461f",
        ),
        (
            Digest::Sha384,
            1234,
            b"ebad1d5c8fae19746ceb9353aa0f360cc74dcedf77406f214d22081c9cfeb309661aeda916a4afc26707d53eb8654470",
        ),
        (
            Digest::Sha512,
            1234,
            b"46168cec164bbb767ee0a16eaaa98b1fc3cb6e0b2773757bb87a3e35f71232d6e00a56f3064d29ece5dfa610496b8a44",
        ),
    ];

    fn file(hex: &[u8]) -> Vec<u8> {
        let hex = crate::hex::Hex::new(hex).unwrap();
        let mut encrypted = vec![0; hex.bytes()];
        hex.decode(&mut encrypted);
        [b"Salted__".as_slice(), &SALT, &encrypted].concat()
    }

    #[test]
    fn openssl_files_open_with_their_derivation_only() {
        let variants = VECTORS.map(|(digest, rounds, _)| Derivation { digest, pbkdf2_rounds: NonZeroU32::new(rounds) });
        for ((.., hex), variant) in VECTORS.into_iter().zip(variants) {
            let bytes = file(hex);
            let file = OpensslFile::new(&bytes, b"secret").unwrap();
            for other in variants {
                let clear = file.decrypt(other, |clear| clear.starts_with(b"1;"));
                assert_eq!(
                    clear.map(|clear| clear.to_vec()),
                    (other == variant).then(|| CLEAR.to_vec()),
                    "{variant:?} {other:?}"
                );
            }
        }
    }

    #[test]
    fn the_derivation_is_found_by_searching() {
        for (digest, rounds, hex) in VECTORS {
            let bytes = file(hex);
            let file = OpensslFile::new(&bytes, b"secret").unwrap();
            let (clear, found) = file.search(|clear| clear.starts_with(b"1;")).unwrap();
            assert_eq!(
                (clear.as_slice(), found),
                (CLEAR, Derivation { digest, pbkdf2_rounds: NonZeroU32::new(rounds) })
            );
        }
    }

    #[test]
    fn a_file_without_whole_blocks_is_truncated() {
        let bytes = file(VECTORS[0].2);
        for end in [8, 15, 16, 17, 63] {
            assert!(matches!(OpensslFile::new(&bytes[..end], b"secret"), Err(Error::Truncated)), "{end}");
        }
    }

    #[test]
    fn digests_have_the_names_of_the_variable() {
        for digest in Digest::ALL {
            let name = serde_json::to_string(&digest).unwrap();
            assert_eq!(Digest::by_name(&name.trim_matches('"').to_uppercase()), Some(digest));
        }
        assert_eq!(Digest::by_name("md5"), None);
    }
}
