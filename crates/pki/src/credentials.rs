//! A certificate with its key and its authority, from files.

use std::path::Path;

use rustls_pki_types::CertificateDer;
use zeroize::Zeroizing;

use crate::{Certificate, Error, PrivateKey, ders_from_pem, files, read_secret};

/// A certificate chain; with its key and the trusted authorities, if they were given.
#[derive(Debug)]
pub struct Credentials {
    /// The certificate first, then intermediate certificates. Never empty.
    pub chain: Vec<Certificate>,
    /// The same certificates in DER.
    pub(crate) ders: Vec<CertificateDer<'static>>,
    /// Bytes of the certificate's file.
    pub certificate_pem: Vec<u8>,
    /// The key, and the bytes of its file.
    pub key: Option<(PrivateKey, Zeroizing<Vec<u8>>)>,
    /// The authorities, and the bytes of their file.
    pub authorities: Option<(Vec<CertificateDer<'static>>, Vec<u8>)>,
}

impl Credentials {
    /// Reads PEM files.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Content`] name the file.
    pub fn read(certificate: &Path, key: Option<&Path>, ca: Option<&Path>) -> Result<Self, Error> {
        let certificate_pem = files::read(certificate)?;
        let (ders, chain) = parse(certificate, &certificate_pem)?;
        let key =
            key.map(|path| Ok((PrivateKey::read(path)?, read_secret(path).map_err(Error::read(path))?))).transpose()?;
        let authorities = ca.map(|path| {
            let pem = files::read(path)?;
            Ok((parse(path, &pem)?.0, pem))
        });
        Ok(Self { chain, ders, certificate_pem, key, authorities: authorities.transpose()? })
    }

    /// The chain that a server presented.
    ///
    /// # Errors
    /// [`Error::Content`] if it cannot be read.
    pub fn served(location: &Path, chain: Vec<Vec<u8>>, ca: Option<&Path>) -> Result<Self, Error> {
        let described: Result<Vec<_>, _> = chain.iter().map(|der| Certificate::from_der(der)).collect();
        let described = described.map_err(|error| content(location, &error))?;
        if described.is_empty() {
            return Err(content(location, &"no certificate was shown"));
        }
        let authorities = ca.map(|path| {
            let pem = files::read(path)?;
            Ok((parse(path, &pem)?.0, pem))
        });
        Ok(Self {
            chain: described,
            ders: chain.into_iter().map(CertificateDer::from).collect(),
            certificate_pem: Vec::new(),
            key: None,
            authorities: authorities.transpose()?,
        })
    }

    /// The certificate itself.
    #[must_use]
    pub fn leaf(&self) -> Option<&Certificate> {
        self.chain.first()
    }

    /// The chain as DER.
    #[must_use]
    pub fn ders(&self) -> &[CertificateDer<'static>] {
        &self.ders
    }
}

/// Every certificate of a PEM file, described.
///
/// # Errors
/// [`Error::Read`] and [`Error::Content`] name the file.
pub(crate) fn read_certificates(path: &Path) -> Result<Vec<Certificate>, Error> {
    Ok(parse(path, &files::read(path)?)?.1)
}

fn parse(path: &Path, pem: &[u8]) -> Result<(Vec<CertificateDer<'static>>, Vec<Certificate>), Error> {
    let ders = ders_from_pem(pem).map_err(|error| content(path, &error))?;
    let described: Result<Vec<_>, _> = ders.iter().map(|der| Certificate::from_der(der)).collect();
    Ok((ders, described.map_err(|error| content(path, &error))?))
}

fn content(path: &Path, reason: &dyn std::fmt::Display) -> Error {
    Error::Content { path: path.to_owned(), reason: reason.to_string() }
}
