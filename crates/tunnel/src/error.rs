//! Why a tunnel could not start, or a link between its ends could not be had.

use std::{io, path::PathBuf};

/// Why a tunnel could not start, or a link between its ends could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The threads cannot be started.
    #[error("no threads can be started: {0}")]
    Threads(io::Error),
    /// A certificate, key or authority that cannot be used.
    #[error(transparent)]
    Credentials(#[from] tls13::Error),
    /// A certificate whose key is another's.
    #[error("{}: is not the key of {}", key.display(), certificate.display())]
    KeyMismatch {
        /// The key's file.
        key: PathBuf,
        /// The certificate's file.
        certificate: PathBuf,
    },
    /// This side's own certificate is not good.
    #[error("{}: {reason}", path.display())]
    OwnCertificate {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// What the server's certificate is judged by cannot be used.
    #[error(transparent)]
    Server(#[from] server::Error),
    /// A name of the far end that no certificate can have.
    #[error("{name:?} is no name that a certificate can have")]
    ServerName {
        /// The name.
        name: String,
    },
    /// A listener in clear text that others could reach.
    #[error("{address}: clients would connect to it in clear text over the network")]
    PlaintextListener {
        /// The address.
        address: String,
    },
    /// A server in clear text on another host.
    #[error("{address}: the way to the server would be in clear text over the network")]
    PlaintextServer {
        /// The address.
        address: String,
    },
    /// An address that does not resolve.
    #[error("{address}: cannot be resolved: {source}")]
    Resolve {
        /// The address.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// Somebody listens there already.
    #[error("{address}: somebody listens there already")]
    InUse {
        /// The address.
        address: String,
    },
    /// The path of a socket is too long.
    #[error("{}: is {bytes} bytes long, and the path of a socket has 107 at most", path.display())]
    PathTooLong {
        /// The path.
        path: PathBuf,
        /// Its length.
        bytes: usize,
    },
    /// There is a file, and it is no socket.
    #[error("{}: is there already, and is not a socket", path.display())]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// A socket cannot be given to a group.
    #[error("{}: cannot be given to group {group}: {source}", path.display())]
    SocketGroup {
        /// The path.
        path: PathBuf,
        /// The group's number.
        group: u32,
        /// Why.
        source: io::Error,
    },
    /// A listener cannot be had for another reason.
    #[error("{address}: cannot listen there: {source}")]
    Listen {
        /// The address.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// The other end cannot be reached.
    #[error("{peer}: {source}")]
    Connect {
        /// The other end.
        peer: String,
        /// Why.
        source: io::Error,
    },
    /// The handshake failed.
    #[error("{peer}: {}", tls13::in_words(source))]
    Tls {
        /// The other end.
        peer: String,
        /// Why.
        source: rustls::Error,
    },
    /// The other end is silent.
    #[error("{peer}: no answer within {seconds} s")]
    Silent {
        /// The other end.
        peer: String,
        /// How long was waited.
        seconds: u64,
    },
    /// The other end has closed.
    #[error("{peer}: closed the connection")]
    Closed {
        /// The other end.
        peer: String,
    },
    /// The other end is no tunnel's, or of another version.
    #[error("{peer}: {what}")]
    Protocol {
        /// The other end.
        peer: String,
        /// What it sent.
        what: &'static str,
    },
    /// The other end says why it does not serve.
    #[error("{peer}: refuses: {reason}")]
    Refused {
        /// The other end.
        peer: String,
        /// In its words.
        reason: String,
    },
    /// The system lacks something.
    #[error("{what}: {source}")]
    System {
        /// What.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

impl Error {
    /// The next step, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        use rustls::{AlertDescription as A, CertificateError as C, Error as E};
        Some(match self {
            Self::Credentials(tls13::Error::Read { source, .. })
                if source.kind() == io::ErrorKind::PermissionDenied =>
            {
                "the user that this runs as has to be able to read it"
            }
            Self::Credentials(_) | Self::KeyMismatch { .. } => "make them with `sealant cert issue`",
            Self::OwnCertificate { .. } => {
                "is the clock right? `sealant cert check` tells more, `sealant cert renew` makes a new one"
            }
            Self::Server(error) => return error.fixed_hint(),
            Self::ServerName { .. } => "name it as its certificate does, with --far-name",
            Self::PlaintextListener { .. } => {
                "listen on a socket or on 127.0.0.1, or give --insecure-plaintext-listener"
            }
            Self::PlaintextServer { .. } => "run the far end beside the server, or give --insecure-plaintext-server",
            Self::Resolve { .. } => "is the name right, and does this host's resolver know it?",
            Self::InUse { .. } => "stop the other one, or listen elsewhere",
            Self::PathTooLong { .. } => "name a shorter path, such as /run/sealant-tunnel-near/db.sock",
            Self::NotASocket { .. } => "name another path",
            Self::SocketGroup { .. } => "the user that this runs as has to be a member of it",
            Self::Listen { source, .. } => return listen_hint(source),
            Self::Connect { source, .. } if source.kind() == io::ErrorKind::ConnectionRefused => {
                "does `sealant tunnel far` run there, and listen on this port?"
            }
            Self::Connect { .. } => "is the host up, and does a firewall let this port through?",
            Self::Tls { source: E::InvalidCertificate(C::Expired | C::ExpiredContext { .. }), .. } => {
                "renew it there with `sealant cert renew`; if it is not expired, this host's clock is wrong"
            }
            Self::Tls { source: E::InvalidCertificate(C::NotValidYet | C::NotValidYetContext { .. }), .. } => {
                "is the clock of one of the hosts wrong?"
            }
            Self::Tls {
                source: E::InvalidCertificate(C::NotValidForName | C::NotValidForNameContext { .. }), ..
            } => "issue it with that name in --san, or say which name it has with --far-name",
            Self::Tls {
                source: E::InvalidCertificate(_) | E::AlertReceived(A::UnknownCA | A::DecryptError), ..
            } => "both ends need certificates of the same authority, and its ca.pem",
            Self::Tls { source: E::AlertReceived(A::CertificateExpired), .. } => {
                "renew it with `sealant cert renew`; if it is in date here, one of the hosts' clocks is wrong"
            }
            Self::Tls { source: E::InvalidMessage(_), .. } | Self::Protocol { .. } => {
                "is it the port of `sealant tunnel far`, of the same release?"
            }
            Self::Refused { .. } => "the far end's --allow has to name this certificate",
            _ => return None,
        })
    }
}

fn listen_hint(source: &io::Error) -> Option<&'static str> {
    match source.kind() {
        io::ErrorKind::PermissionDenied => {
            Some("ports below 1024 and directories such as /run need root, or a systemd unit that gives them")
        }
        io::ErrorKind::NotFound => Some("the directory has to be there: make it, or use RuntimeDirectory= in the unit"),
        io::ErrorKind::AddrNotAvailable => Some("this host has no such address"),
        _ => None,
    }
}
