//! Private keys: generated, read, and wiped on drop.

use std::{fmt, path::Path};

use rcgen::{
    KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_RSA_SHA256, PublicKeyData, RsaKeySize,
    SignatureAlgorithm, SigningKey,
};
use zeroize::{Zeroize, Zeroizing};

use crate::{Certificate, Error, read_secret};

/// Kind of a key pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyType {
    /// ECDSA on NIST P-256: the cheapest handshake that all peers support.
    #[default]
    EcdsaP256,
    /// ECDSA on NIST P-384.
    EcdsaP384,
    /// RSA with 2048 bits.
    Rsa2048,
    /// RSA with 3072 bits.
    Rsa3072,
    /// RSA with 4096 bits.
    Rsa4096,
}

impl KeyType {
    /// The kind of a certificate's key; `None` if it is not one of these kinds.
    #[must_use]
    pub(crate) fn from_certificate(certificate: &Certificate) -> Option<Self> {
        Some(match (certificate.key_type.as_str(), certificate.key_bits) {
            ("EC P-256", _) => Self::EcdsaP256,
            ("EC P-384", _) => Self::EcdsaP384,
            ("RSA", Some(2048)) => Self::Rsa2048,
            ("RSA", Some(3072)) => Self::Rsa3072,
            ("RSA", Some(4096)) => Self::Rsa4096,
            _ => return None,
        })
    }
}

/// A private key, wiped on drop.
pub struct PrivateKey {
    pair: KeyPair,
    pem: Zeroizing<String>,
}

impl Drop for PrivateKey {
    fn drop(&mut self) {
        self.pair.zeroize();
    }
}

/// Signs without exposing the key.
impl SigningKey for PrivateKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        self.pair.sign(message)
    }
}

impl PublicKeyData for PrivateKey {
    fn der_bytes(&self) -> &[u8] {
        self.pair.der_bytes()
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        self.pair.algorithm()
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey")
    }
}

impl PrivateKey {
    /// Generates a key.
    ///
    /// # Errors
    /// [`Error::Library`].
    pub fn generate(kind: KeyType) -> Result<Self, Error> {
        let pair = match kind {
            KeyType::EcdsaP256 => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256),
            KeyType::EcdsaP384 => KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384),
            KeyType::Rsa2048 => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048),
            KeyType::Rsa3072 => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_3072),
            KeyType::Rsa4096 => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_4096),
        };
        Ok(Self::from(pair.map_err(library)?))
    }

    /// Reads a PEM file.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Content`] name the file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = read_secret(path).map_err(Error::read(path))?;
        let unusable = |reason| Error::Content { path: path.to_owned(), reason };
        let der = crate::private_key(&bytes).map_err(|reason| unusable(reason.to_owned()))?;
        let pair = KeyPair::try_from(&*der).map_err(|error| unusable(format!("not a usable key: {error}")))?;
        Ok(Self::from(pair))
    }

    /// The key as PKCS #8 PEM.
    #[must_use]
    pub fn pem(&self) -> &Zeroizing<String> {
        &self.pem
    }

    pub(crate) fn pair(&self) -> &KeyPair {
        &self.pair
    }

    /// Whether the certificate is for this key.
    pub(crate) fn belongs_to(&self, certificate: &Certificate) -> bool {
        ::files::sha256_hex(&self.pair.subject_public_key_info()) == certificate.spki_sha256
    }
}

impl From<KeyPair> for PrivateKey {
    fn from(pair: KeyPair) -> Self {
        let pem = crate::pem::private_key_pem(pair.serialized_der());
        Self { pair, pem }
    }
}

pub(crate) fn library(error: impl fmt::Display) -> Error {
    Error::Library(error.to_string())
}
