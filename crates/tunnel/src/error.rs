//! Errors of starting a tunnel, or of a link between its ends.

use std::{io, path::PathBuf};

/// Why a tunnel could not start, or a link could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Worker threads cannot be started.
    #[error("no threads can be started: {0}")]
    Threads(io::Error),
    /// A certificate, key or authority cannot be used.
    #[error(transparent)]
    Credentials(#[from] pki::Error),
    /// The key does not belong to the certificate.
    #[error("{}: is not the key of {}", key.display(), certificate.display())]
    KeyMismatch {
        /// The key's file.
        key: PathBuf,
        /// The certificate's file.
        certificate: PathBuf,
    },
    /// This side's own certificate is not valid.
    #[error("{}: {reason}", path.display())]
    LocalCertificate {
        /// Its file.
        path: PathBuf,
        /// Why it is not valid.
        reason: String,
    },
    /// The authority for the server's certificate cannot be used.
    #[error(transparent)]
    Server(#[from] server::Error),
    /// The name of the far end is not valid in a certificate.
    #[error("{name:?} is not a valid name for a certificate")]
    ServerName {
        /// The name that was given for the far end.
        name: String,
    },
    /// A plaintext listener that other hosts can reach.
    #[error("{address}: clients would connect to it in clear text over the network")]
    PlaintextListener {
        /// The address, as it was given.
        address: String,
    },
    /// TLS was requested for a server that is reached over its unix socket.
    #[error("--server-tls-ca goes with a server on HOST:PORT")]
    TlsToSocket,
    /// A plaintext connection to a server on another host.
    #[error("{address}: the connection to the server would be in clear text over the network")]
    PlaintextServer {
        /// The address, as it was given.
        address: String,
    },
    /// The address does not resolve.
    #[error("{address}: cannot be resolved: {source}")]
    Resolve {
        /// The address, as it was given.
        address: String,
        /// Error of the resolver.
        source: io::Error,
    },
    /// Another process listens on the address.
    #[error("{address}: another process listens there already")]
    InUse {
        /// The address, as it was given.
        address: String,
    },
    /// The path of a socket is too long.
    #[error("{}: is {bytes} bytes long, and the path of a socket has 107 at most", path.display())]
    PathTooLong {
        /// Path of the socket, as it was given.
        path: PathBuf,
        /// Its length in bytes.
        bytes: usize,
    },
    /// The path exists and is not a socket.
    #[error("{}: exists, and is not a socket", path.display())]
    NotASocket {
        /// Path of the socket, as it was given.
        path: PathBuf,
    },
    /// The socket cannot be given to a group.
    #[error("{}: cannot be given to group {group}: {source}", path.display())]
    SocketGroup {
        /// Path of the socket, as it was given.
        path: PathBuf,
        /// Group id.
        group: u32,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The listener cannot be opened for another reason.
    #[error("{address}: cannot listen there: {source}")]
    Listen {
        /// The address, as it was given.
        address: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The peer cannot be reached.
    #[error("{peer}: {source}")]
    Connect {
        /// The peer's address.
        peer: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The TLS handshake failed.
    #[error("{peer}: {}", tls13::describe(source))]
    Tls {
        /// The peer's address.
        peer: String,
        /// Error of the TLS library.
        source: rustls::Error,
    },
    /// The peer did not answer in time.
    #[error("{peer}: no answer within {seconds} s")]
    Silent {
        /// The peer's address.
        peer: String,
        /// Timeout in seconds.
        seconds: u64,
    },
    /// The peer closed the connection.
    #[error("{peer}: closed the connection")]
    Closed {
        /// The peer's address.
        peer: String,
    },
    /// The peer is not a tunnel, or one of another version.
    #[error("{peer}: {what}")]
    Protocol {
        /// The peer's address.
        peer: String,
        /// What it sent.
        what: &'static str,
    },
    /// The peer refuses to serve.
    #[error("{peer}: refuses: {reason}")]
    Refused {
        /// The peer's address.
        peer: String,
        /// The reason it sent.
        reason: String,
    },
    /// A system resource is not available.
    #[error("{what}: {source}")]
    System {
        /// The operation that failed: "cannot be …".
        what: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl Error {
    /// Whether the command line is wrong.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::TlsToSocket)
    }

    /// The next step for the user, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        use rustls::{AlertDescription as A, CertificateError as C, Error as E};
        Some(match self {
            Self::Credentials(pki::Error::Read { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {
                "the user that this runs as must be able to read it"
            }
            Self::Credentials(_) | Self::KeyMismatch { .. } => "make them with `sealant cert issue`",
            Self::LocalCertificate { .. } => {
                "is the clock right? `sealant cert check` tells more, `sealant cert renew` makes a new one"
            }
            Self::Server(error) => return error.fixed_hint(),
            Self::ServerName { .. } => "give the name in its certificate with --far-name",
            Self::PlaintextListener { .. } => {
                "listen on a socket or on 127.0.0.1, or give --insecure-plaintext-listener"
            }
            Self::TlsToSocket => "a socket does not leave the host, so it needs no TLS",
            Self::PlaintextServer { .. } => "run the far end beside the server, or give --insecure-plaintext-server",
            Self::Resolve { .. } => "is the name right, and does this host's resolver know it?",
            Self::InUse { .. } => "stop the other one, or listen elsewhere",
            Self::PathTooLong { .. } => "name a shorter path, such as /run/sealant-tunnel-near/db.sock",
            Self::NotASocket { .. } => "name another path",
            Self::SocketGroup { .. } => "the user that this runs as must be a member of it",
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
