//! Who this side is: a key made for one transfer, or certificates of the site.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    InconsistentKeys, RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    crypto::aws_lc_rs::sign::any_supported_type,
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
    sign::{CertifiedKey, SingleCertAndKey},
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject};
use zeroize::{Zeroize, Zeroizing};

use crate::{private_key, provider, read_secret};

/// Why an identity or authorities cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A key that is not the certificate's.
    #[error("the key is not the key of the certificate")]
    KeyMismatch,
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

/// A certificate and its key. The library alone holds the key; it wipes it when the last configuration goes that uses it.
pub struct Identity(Arc<CertifiedKey>);

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
        let mut key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(failed)?;
        let parameters = rcgen::CertificateParams::new(vec!["sealant".to_owned()]).map_err(failed)?;
        let certificate = parameters.self_signed(&key).map_err(failed)?;
        let made = Self::new(vec![certificate.der().clone()], &PrivatePkcs8KeyDer::from(key.serialized_der()).into());
        key.zeroize();
        made.map_err(failed)
    }

    fn new(chain: Vec<CertificateDer<'static>>, key: &PrivateKeyDer<'_>) -> Result<Self, rustls::Error> {
        // By reference: what takes the key as it is does not wipe it.
        Ok(Self(Arc::new(CertifiedKey::new(chain, any_supported_type(key)?))))
    }

    /// From PEM files.
    ///
    /// # Errors
    /// [`Error::Credentials`] names the file.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, Error> {
        let chain = certificates(certificate)?;
        let pem = read_secret(key).map_err(|source| Error::Read { path: key.to_owned(), source })?;
        let der: Zeroizing<PrivateKeyDer<'static>> = private_key(&pem).map_err(|reason| unusable(key, &reason))?;
        let identity = Self::new(chain, &der).map_err(|error| unusable(key, &format!("not a usable key: {error}")))?;
        match identity.0.keys_match() {
            Err(rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => Err(Error::KeyMismatch),
            Ok(()) | Err(rustls::Error::InconsistentKeys(_)) => Ok(identity),
            Err(error) => Err(unusable(certificate, &error)),
        }
    }

    /// A second one of it.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// The certificate first, then what comes between it and its authority.
    #[must_use]
    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        self.0.cert.clone()
    }

    /// What rustls asks for a certificate.
    pub(crate) fn resolver(&self) -> Arc<SingleCertAndKey> {
        Arc::new(Arc::clone(&self.0).into())
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
    let pem = read_secret(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let certificates = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    match certificates {
        Ok(certificates) if certificates.is_empty() => Err(unusable(path, &"no certificate in it")),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(unusable(path, &error)),
    }
}

fn unusable(path: &Path, reason: &dyn fmt::Display) -> Error {
    Error::Credentials { path: path.to_path_buf(), reason: reason.to_string() }
}
