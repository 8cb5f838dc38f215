//! Errors of the monitor.

use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    path::PathBuf,
};

/// Why the monitor cannot start, or its configuration cannot be read again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The configuration file could not be read.
    #[error("{}: {source}", path.display())]
    UnreadConfig {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The configuration is not valid.
    #[error("{}: {why}", path.display())]
    BadConfig {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A listener that other hosts can reach lacks TLS, or lacks both a token and client certificates.
    #[error("{}: {address} is reachable from other hosts, but {missing} is not set", path.display())]
    OpenListener {
        /// Path of the configuration.
        path: PathBuf,
        /// The listener.
        address: SocketAddr,
        /// The options that are missing.
        missing: &'static str,
    },
    /// A listener could not be opened.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The listener.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// A thread, the runtime or a signal handler could not be set up.
    #[error("{what}: {source}")]
    System {
        /// What failed.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The state directory is used by another monitor.
    #[error("{}: another monitor uses this state directory", path.display())]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// The fleet, the waivers or the policy cannot be used.
    #[error(transparent)]
    Audit(#[from] audit::Error),
    /// The certificate, its key or the authority of the clients cannot be used.
    #[error(transparent)]
    Certificates(#[from] pki::Error),
    /// The TLS library refuses the certificate.
    #[error("the certificate of the monitor cannot be used: {0}")]
    Tls(#[from] rustls::Error),
}

impl Error {
    /// Whether the cause is a wrong configuration, rather than the system or the network.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        match self {
            Self::BadConfig { .. } | Self::OpenListener { .. } => true,
            Self::Audit(error) => error.is_misuse(),
            Self::Certificates(error) => error.is_misuse(),
            _ => false,
        }
    }

    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnreadConfig { source, .. } => match source.kind() {
                ErrorKind::NotFound => Some("give its path with --config".to_owned()),
                ErrorKind::PermissionDenied => Some("run as a user who can read it".to_owned()),
                _ => None,
            },
            Self::File { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
                Some("run as a user who can read and write it".to_owned())
            }
            Self::BadConfig { .. } => Some("correct the file; the guide of the monitor describes it".to_owned()),
            Self::Listen { source, .. } if source.kind() == ErrorKind::AddrInUse => {
                Some("stop the program that uses the port, or give another address under listen".to_owned())
            }
            Self::Tls(_) => Some("[tls] certificate and key must belong together, both PEM".to_owned()),
            Self::OpenListener { .. } => Some(
                "set [tls] certificate and key, and token-file or client-ca; or listen on 127.0.0.1 or [::1]"
                    .to_owned(),
            ),
            Self::Busy { .. } => Some("stop it, or give this one another state-directory".to_owned()),
            Self::Audit(error) => error.hint().map(String::from),
            Self::Certificates(error) => error.hint().map(String::from),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_configuration_is_given_by_its_option() {
        let (path, source) = (PathBuf::from("/nowhere"), || io::Error::from(ErrorKind::NotFound));
        let config = Error::UnreadConfig { path: path.clone(), source: source() };
        assert!(config.hint().is_some_and(|hint| hint.contains("--config")));
        assert_eq!(Error::File { path, source: source() }.hint(), None);
    }
}
