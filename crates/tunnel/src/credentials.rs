//! Certificate, key and authority of this side: read at the start, and again on reload.

use std::{
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use pki::{Authorities, Certificate, Identity, Purpose, Untrusted};
use rustls::{ClientConfig, ServerConfig};
use rustls_pki_types::CertificateDer;

use crate::Error;

/// Paths of the credential files.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The certificate, PEM.
    pub certificate: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
    /// The authority that issued both ends' certificates, PEM.
    pub ca: PathBuf,
}

impl Credentials {
    /// A warning about the files, if necessary.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let mode = std::fs::metadata(&self.key).map_or(0, |found| found.permissions().mode());
        (mode & 0o007 != 0).then(|| {
            let key = self.key.display();
            format!("{key} is a private key and others may read it (mode {:04o}); chmod 0600 it", mode & 0o7777)
        })
    }

    fn read(&self, purpose: Purpose) -> Result<(Identity, Authorities), Error> {
        let identity = Identity::from_files(&self.certificate, &self.key).map_err(|error| self.mismatch(error))?;
        let authorities = Authorities::from_file(&self.ca)?;
        self.judge(&identity.chain(), purpose)?;
        Ok((identity, authorities))
    }

    /// Rejects certificates that the peer would reject.
    fn judge(&self, chain: &[CertificateDer<'static>], purpose: Purpose) -> Result<(), Error> {
        let refuse = |reason: String| Error::LocalCertificate { path: self.certificate.clone(), reason };
        let unread = |reason| pki::Error::Content { path: self.ca.clone(), reason };
        let pem = std::fs::read(&self.ca).map_err(|error| unread(error.to_string()))?;
        let trusted = pki::ders_from_pem(&pem).map_err(|error| unread(error.to_string()))?;
        let now = jiff::Timestamp::now();
        let dates = || {
            let leaf = chain.first().and_then(|der| Certificate::from_der(der).ok());
            leaf.map(|leaf| format!(" (it is valid from {} to {})", leaf.not_before, leaf.not_after))
                .unwrap_or_default()
        };
        match pki::leads_to(chain, &trusted, purpose, now) {
            Ok(()) => Ok(()),
            Err(why @ (Untrusted::Expired | Untrusted::NotYetValid)) => Err(refuse(format!("{why}{}", dates()))),
            Err(Untrusted::NotForServers) => Err(refuse("it may not be used at this end".to_owned())),
            Err(why) => Err(refuse(format!("it does not chain to {}: {why}", self.ca.display()))),
        }
    }

    fn mismatch(&self, error: pki::Error) -> Error {
        match error {
            pki::Error::KeyMismatch => {
                Error::KeyMismatch { key: self.key.clone(), certificate: self.certificate.clone() }
            }
            other => other.into(),
        }
    }

    fn client(&self) -> Result<Arc<ClientConfig>, Error> {
        let (identity, authorities) = self.read(Purpose::Client)?;
        tls13::client_config(None, &identity, authorities.server_verifier()?).map_err(unusable)
    }

    fn server(&self) -> Result<Arc<ServerConfig>, Error> {
        let (identity, authorities) = self.read(Purpose::Server)?;
        tls13::server_config(&identity, authorities.client_verifier()?).map_err(unusable)
    }
}

fn unusable(error: rustls::Error) -> Error {
    pki::Error::Tls(error.to_string()).into()
}

/// Builds a configuration from the files.
type Make<Config> = dyn Fn() -> Result<Arc<Config>, Error> + Send + Sync;

/// A configuration that can be replaced while it is in use: running handshakes keep the old one.
pub(crate) struct Reloadable<Config> {
    make: Box<Make<Config>>,
    current: RwLock<Arc<Config>>,
}

impl Reloadable<ClientConfig> {
    pub(crate) fn client(credentials: &Credentials) -> Result<Self, Error> {
        let credentials = credentials.clone();
        Self::new(move || credentials.client())
    }
}

impl Reloadable<ServerConfig> {
    pub(crate) fn server(credentials: &Credentials) -> Result<Self, Error> {
        let credentials = credentials.clone();
        Self::new(move || credentials.server())
    }
}

impl<Config> Reloadable<Config> {
    pub(crate) fn new(make: impl Fn() -> Result<Arc<Config>, Error> + Send + Sync + 'static) -> Result<Self, Error> {
        let current = RwLock::new(make()?);
        Ok(Self { make: Box::new(make), current })
    }

    pub(crate) fn get(&self) -> Arc<Config> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the files again; keeps the current configuration if they are not valid.
    pub(crate) fn reload(&self) -> Result<(), Error> {
        self.set((self.make)()?);
        Ok(())
    }

    /// Reads the files without using them.
    pub(crate) fn read(&self) -> Result<Arc<Config>, Error> {
        (self.make)()
    }

    /// Replaces the current configuration.
    pub(crate) fn set(&self, new: Arc<Config>) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
    }
}
