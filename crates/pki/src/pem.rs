//! PEM files (RFC 7468): certificates and private keys. Memory that held a key is always wiped.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use files::secret;
use rustls_pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer, pem::PemObject,
};
use zeroize::Zeroizing;

use crate::CertificateFault;

/// Maximum size of a PEM file; real ones stay below 64 KiB.
const MAX_BYTES: u64 = 1 << 20;

/// Reads a file of bounded size.
///
/// # Errors
/// Errors of the system.
pub fn read_secret(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len().min(MAX_BYTES);
    // Full capacity from the start: a vector that grows leaves copies behind.
    let room = usize::try_from(length).unwrap_or_default().saturating_add(64);
    let mut bytes = Zeroizing::new(Vec::with_capacity(room));
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The raw certificates of a PEM file.
///
/// # Errors
/// [`CertificateFault::Pem`] and [`CertificateFault::Empty`].
pub fn ders_from_pem(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, CertificateFault> {
    let ders = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| CertificateFault::Pem { reason: error.to_string() })?;
    if ders.is_empty() {
        return Err(CertificateFault::Empty);
    }
    Ok(ders)
}

/// The first private key of a PEM file (RFC 7468).
///
/// # Errors
/// Why there is no usable key.
pub fn private_key(pem: &[u8]) -> Result<Zeroizing<PrivateKeyDer<'static>>, &'static str> {
    let text = std::str::from_utf8(pem).map_err(|_| "it is not a PEM file")?;
    if text.contains("ENCRYPTED") {
        return Err("the key is encrypted, which servers cannot use");
    }
    let key = |label: &str, wrap: fn(Vec<u8>) -> PrivateKeyDer<'static>| {
        let (_, behind) = text.split_once(&format!("-----BEGIN {label}-----"))?;
        let (body, _) = behind.split_once(&format!("-----END {label}-----"))?;
        decoded(body).map(wrap).map(Zeroizing::new)
    };
    key("PRIVATE KEY", |der| PrivatePkcs8KeyDer::from(der).into())
        .or_else(|| key("EC PRIVATE KEY", |der| PrivateSec1KeyDer::from(der).into()))
        .or_else(|| key("RSA PRIVATE KEY", |der| PrivatePkcs1KeyDer::from(der).into()))
        .ok_or("no private key in it")
}

/// Decodes a PEM body. The caller must wipe the bytes.
fn decoded(body: &str) -> Option<Vec<u8>> {
    let mut text = Zeroizing::new(Vec::with_capacity(body.len()));
    text.extend(body.bytes().filter(|byte| !byte.is_ascii_whitespace()));
    secret::decode_base64(&text).map(|mut bytes| std::mem::take(&mut *bytes))
}

/// Encodes a PKCS #8 key as PEM.
#[must_use]
pub(crate) fn private_key_pem(pkcs8: &[u8]) -> Zeroizing<String> {
    const LINE_CHARACTERS: usize = 64;
    let text = secret::encode_base64(pkcs8);
    let mut pem = Zeroizing::new(String::with_capacity(text.len().saturating_mul(2).saturating_add(64)));
    pem.push_str("-----BEGIN PRIVATE KEY-----\n");
    for line in text.as_bytes().chunks(LINE_CHARACTERS) {
        pem.extend(line.iter().map(|byte| char::from(*byte)));
        pem.push('\n');
    }
    pem.push_str("-----END PRIVATE KEY-----\n");
    pem
}

#[cfg(test)]
mod tests {
    use super::*;

    fn der_of(pem: &str) -> Vec<u8> {
        private_key(pem.as_bytes()).unwrap().secret_der().to_vec()
    }

    #[test]
    fn keys_are_read_and_written_as_by_the_library() {
        for _ in 0..20 {
            let pair = rcgen::KeyPair::generate().unwrap();
            assert_eq!(*private_key_pem(pair.serialized_der()), pair.serialize_pem().replace("\r\n", "\n"));
            assert_eq!(der_of(&pair.serialize_pem()), pair.serialized_der());
        }
    }

    #[test]
    fn certificates_and_keys_are_found_among_other_sections() {
        let with = |label: &str| {
            format!(
                "text\r\n-----BEGIN EC PARAMETERS-----\r\nAAAA\r\n-----END EC PARAMETERS-----\r\n-----BEGIN {label}-----\r\nAQI\r\nD\r\n-----END {label}-----\r\n"
            )
        };
        for label in ["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"] {
            assert_eq!(der_of(&with(label)), [1, 2, 3], "{label}");
        }
        let why = |text: &str| private_key(text.as_bytes()).map(drop).unwrap_err();
        assert_eq!(why(&with("PUBLIC KEY")), "no private key in it");
        assert_eq!(why(&with("PRIVATE KEY").replace("AQI", "A?I")), "no private key in it");
        assert_eq!(why(&with("PRIVATE KEY").replace("-----END", "")), "no private key in it");
        assert!(why(&with("ENCRYPTED PRIVATE KEY")).contains("encrypted"));
    }

    #[test]
    fn a_file_is_read_without_reallocation() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        std::fs::write(&path, vec![7; 200_000]).unwrap();
        let bytes = read_secret(&path).unwrap();
        assert_eq!((bytes.len(), bytes.capacity()), (200_000, 200_064));
    }
}
