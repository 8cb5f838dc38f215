//! Who this side is: a key made for one transfer, or certificates of the site.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject};

use crate::provider;

/// Why an identity or authorities cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A PEM file that cannot be used.
    #[error("{}: {reason}", path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The library failed.
    #[error("{0}")]
    Library(String),
}

/// A certificate and its key. The key is wiped when the last configuration that uses it goes.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}

pub(crate) fn failed(error: impl fmt::Display) -> Error {
    Error::Library(error.to_string())
}

impl Identity {
    /// A new ECDSA P-256 key in a certificate that it signs itself. It lives in memory only.
    ///
    /// # Errors
    /// [`Error::Library`] if the library fails.
    pub fn ephemeral() -> Result<Self, Error> {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(failed)?;
        let parameters = rcgen::CertificateParams::new(vec!["sealant".to_owned()]).map_err(failed)?;
        let certificate = parameters.self_signed(&key).map_err(failed)?;
        let der = PrivatePkcs8KeyDer::from(key.serialize_der());
        Ok(Self { chain: vec![certificate.der().clone()], key: der.into() })
    }

    /// From PEM files.
    ///
    /// # Errors
    /// [`Error::Credentials`] names the file.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, Error> {
        let chain = certificates(certificate)?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
        Ok(Self { chain, key })
    }

    /// A second one of it.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        Self { chain: self.chain(), key: self.key() }
    }

    /// The certificate first, then what comes between it and its authority.
    #[must_use]
    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        self.chain.clone()
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        self.key.clone_key()
    }
}

/// The authorities that the other side's certificate has to come from.
#[derive(Clone, Debug)]
pub struct Authorities {
    roots: Arc<RootCertStore>,
}

impl Authorities {
    /// From a PEM file.
    ///
    /// # Errors
    /// [`Error::Credentials`] names the file.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(path)? {
            roots.add(certificate).map_err(|error| unusable(path, &error))?;
        }
        Ok(Self { roots: Arc::new(roots) })
    }

    /// Judges who is connected to.
    ///
    /// # Errors
    /// [`Error::Library`].
    pub fn server_verifier(&self) -> Result<Arc<dyn ServerCertVerifier>, Error> {
        let builder = WebPkiServerVerifier::builder_with_provider(self.roots.clone(), provider(None));
        Ok(builder.build().map_err(failed)?)
    }

    /// Judges who connects.
    ///
    /// # Errors
    /// [`Error::Library`].
    pub fn client_verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, Error> {
        WebPkiClientVerifier::builder_with_provider(self.roots.clone(), provider(None)).build().map_err(failed)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let certificates = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match certificates {
        Ok(certificates) if certificates.is_empty() => Err(unusable(path, &"no certificate in it")),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(unusable(path, &error)),
    }
}

fn unusable(path: &Path, reason: &dyn fmt::Display) -> Error {
    Error::Credentials { path: path.to_path_buf(), reason: reason.to_string() }
}
