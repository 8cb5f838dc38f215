//! Identity of this side in TLS: a key made for one transfer, or certificates of the site.

use std::{fmt, path::Path, sync::Arc};

use rustls::{
    InconsistentKeys, RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    crypto::{
        CryptoProvider,
        aws_lc_rs::{self, sign::any_supported_type},
    },
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
    sign::{CertifiedKey, SingleCertAndKey},
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use zeroize::{Zeroize, Zeroizing};

use crate::{Error, ders_from_pem, private_key, read_secret};

/// A certificate and its key. Only the library holds the key, and wipes it when the last configuration that uses it is
/// dropped.
pub struct Identity(Arc<CertifiedKey>);

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}

impl Identity {
    /// Creates an ECDSA P-256 key and a self-signed certificate, in memory only.
    ///
    /// # Errors
    /// [`Error::Tls`] if the library fails.
    pub fn ephemeral() -> Result<Self, Error> {
        let mut key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(tls)?;
        let parameters = rcgen::CertificateParams::new(vec!["sealant".to_owned()]).map_err(tls)?;
        let certificate = parameters.self_signed(&key).map_err(tls)?;
        let made = Self::new(vec![certificate.der().clone()], &PrivatePkcs8KeyDer::from(key.serialized_der()).into());
        key.zeroize();
        made.map_err(tls)
    }

    fn new(chain: Vec<CertificateDer<'static>>, key: &PrivateKeyDer<'_>) -> Result<Self, rustls::Error> {
        // By reference: a function that takes ownership of the key would not wipe it.
        Ok(Self(Arc::new(CertifiedKey::new(chain, any_supported_type(key)?))))
    }

    /// Reads PEM files.
    ///
    /// # Errors
    /// [`Error::Content`] names the file.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, Error> {
        let chain = certificates(certificate)?;
        let pem = read_secret(key).map_err(Error::read(key))?;
        let der: Zeroizing<PrivateKeyDer<'static>> = private_key(&pem).map_err(|reason| unusable(key, &reason))?;
        let identity = Self::new(chain, &der).map_err(|error| unusable(key, &format!("not a usable key: {error}")))?;
        match identity.0.keys_match() {
            Err(rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => Err(Error::KeyMismatch),
            Ok(()) | Err(rustls::Error::InconsistentKeys(_)) => Ok(identity),
            Err(error) => Err(unusable(certificate, &error)),
        }
    }

    /// A second handle of the same identity.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// The certificate first, then intermediate certificates.
    #[must_use]
    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        self.0.cert.clone()
    }

    /// The identity as a certificate resolver for rustls.
    #[must_use]
    pub fn resolver(&self) -> Arc<SingleCertAndKey> {
        Arc::new(Arc::clone(&self.0).into())
    }
}

/// The authorities that may have issued the other side's certificate.
#[derive(Clone, Debug)]
pub struct Authorities {
    roots: Arc<RootCertStore>,
}

impl Authorities {
    /// Reads a PEM file.
    ///
    /// # Errors
    /// [`Error::Content`] names the file.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(path)? {
            roots.add(certificate).map_err(|error| unusable(path, &error))?;
        }
        Ok(Self { roots: Arc::new(roots) })
    }

    /// Verifier of servers.
    ///
    /// # Errors
    /// [`Error::Tls`].
    pub fn server_verifier(&self) -> Result<Arc<dyn ServerCertVerifier>, Error> {
        let builder = WebPkiServerVerifier::builder_with_provider(self.roots.clone(), provider());
        Ok(builder.build().map_err(tls)?)
    }

    /// Verifier of clients.
    ///
    /// # Errors
    /// [`Error::Tls`].
    pub fn client_verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, Error> {
        WebPkiClientVerifier::builder_with_provider(self.roots.clone(), provider()).build().map_err(tls)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let pem = read_secret(path).map_err(Error::read(path))?;
    ders_from_pem(&pem).map_err(|fault| unusable(path, &fault))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

fn tls(error: impl fmt::Display) -> Error {
    Error::Tls(error.to_string())
}

fn unusable(path: &Path, reason: &dyn fmt::Display) -> Error {
    Error::Content { path: path.to_path_buf(), reason: reason.to_string() }
}
