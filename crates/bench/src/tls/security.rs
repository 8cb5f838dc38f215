//! Where a client connects to, and with which TLS.

use std::{
    fmt, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion, client::Resumption, version};

/// Address of a server.
#[derive(Clone, Debug)]
pub enum Address {
    /// TCP.
    Tcp(SocketAddr),
    /// Unix socket.
    Socket(PathBuf),
}

/// The TLS versions to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246).
    Tls12,
    /// TLS 1.3 (RFC 8446).
    Tls13,
}

impl TlsVersion {
    pub(super) fn supported(self) -> &'static SupportedProtocolVersion {
        match self {
            Self::Tls12 => &version::TLS12,
            Self::Tls13 => &version::TLS13,
        }
    }
}

impl fmt::Display for TlsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tls12 => "TLS 1.2",
            Self::Tls13 => "TLS 1.3",
        })
    }
}

/// TLS settings of a client.
#[derive(Clone)]
pub struct TlsSettings {
    pub(crate) config: Arc<ClientConfig>,
    pub(super) resumes: bool,
    pub(super) version: TlsVersion,
}

/// Security of a connection between the client and the server.
#[derive(Clone)]
pub enum Security {
    /// Clear text.
    Plain,
    /// TLS to the server.
    Tls(TlsSettings),
}

impl TlsSettings {
    /// TLS of one version, trusting the authority in the file `ca`. With `resumes`, sessions are resumed if the server
    /// permits it; else every handshake is full.
    ///
    /// # Errors
    /// If the file has no certificate.
    pub fn new(version: TlsVersion, ca: &Path, resumes: bool) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in pki::ders_from_pem(&std::fs::read(ca)?).map_err(io::Error::other)? {
            roots.add(certificate).map_err(io::Error::other)?;
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[version.supported()]);
        let mut config = builder.map_err(io::Error::other)?.with_root_certificates(roots).with_no_client_auth();
        config.resumption = if resumes { Resumption::in_memory_sessions(16) } else { Resumption::disabled() };
        Ok(Self { config: Arc::new(config), resumes, version })
    }
}

impl Security {
    /// The value of the session's status variable `Ssl_version`.
    pub(crate) const fn session_version(&self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Tls(TlsSettings { version: TlsVersion::Tls12, .. }) => "TLSv1.2",
            Self::Tls(TlsSettings { version: TlsVersion::Tls13, .. }) => "TLSv1.3",
        }
    }

    /// Whether a new connection resumes the TLS session of an earlier one.
    pub(super) const fn resumes(&self) -> bool {
        matches!(self, Self::Tls(TlsSettings { resumes: true, .. }))
    }
}
