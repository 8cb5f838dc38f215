//! Errors of connections to servers.

mod hint;
mod other_service;
mod phase;

use std::{io, path::PathBuf, time::Duration};

use pki::{Fingerprint, Untrusted};

pub use self::{other_service::OtherService, phase::Phase};
use crate::{endpoint::Endpoint, error_code};

/// All errors of a connection to a server.
///
/// No variant contains a secret. [`Error::hint`] gives the next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A malformed server URL.
    #[error("server URL: {reason}")]
    Url {
        /// What is wrong with it, without the URL.
        reason: &'static str,
    },
    /// A password inside a URL: it would be visible in the process list.
    #[error("server URL contains a password")]
    PasswordInUrl,
    /// Nothing listens on the endpoint.
    #[error("{endpoint}: connection refused")]
    Refused {
        /// Address or socket of the server.
        endpoint: Endpoint,
    },
    /// The path does not lead to a Unix socket.
    #[error("{}: {found}, not a socket", path.display())]
    NotASocket {
        /// The path.
        path: PathBuf,
        /// Type of the file at the path.
        found: &'static str,
    },
    /// The Unix socket file does not exist.
    #[error("{}: no such socket", path.display())]
    NoSuchSocket {
        /// Path of the socket.
        path: PathBuf,
    },
    /// The host name has no address.
    #[error("{host}: cannot be resolved ({source})")]
    Resolve {
        /// The host name.
        host: String,
        /// The resolver's error.
        source: io::Error,
    },
    /// Another error of the operating system.
    #[error("{endpoint}: {source} while {phase}")]
    Io {
        /// Address or socket of the server.
        endpoint: Endpoint,
        /// The failed step.
        phase: Phase,
        /// The system's error.
        source: io::Error,
    },
    /// A step timed out.
    #[error("no answer within {} s while {phase}", after.as_secs_f32())]
    Timeout {
        /// The step.
        phase: Phase,
        /// The timeout.
        after: Duration,
    },
    /// The server closed the connection.
    #[error("connection lost while {phase}")]
    Lost {
        /// The failed step.
        phase: Phase,
    },
    /// Another kind of server answers.
    #[error("{endpoint}: not a MySQL server: {service}")]
    NotMySql {
        /// Address or socket of the server.
        endpoint: Endpoint,
        /// What it seems to be.
        service: OtherService,
    },
    /// The server sent an error packet instead of a greeting.
    #[error("server refused the connection before its greeting: {message} ({code})")]
    RefusedBeforeGreeting {
        /// The server's error number, such as 1129 (host blocked) or 1040 (too many connections).
        code: u16,
        /// The server's message.
        message: String,
    },
    /// TLS is required but the server does not offer it.
    #[error("server offers no TLS")]
    TlsNotOffered,
    /// The server supports only unsafe TLS versions.
    #[error("server does not offer TLS 1.2 or newer ({reason})")]
    TlsTooOld {
        /// The error of the handshake.
        reason: String,
    },
    /// The TLS handshake failed.
    #[error("TLS handshake failed: {reason}")]
    Tls {
        /// The error of the handshake.
        reason: String,
    },
    /// The server's certificate is not issued by the given CA.
    #[error("server certificate not trusted: {why}")]
    CertificateNotTrusted {
        /// The reason.
        why: Untrusted,
    },
    /// The certificate is trusted, but not for this host.
    #[error(
        "server certificate is not for {host} (it names {})",
        if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
    )]
    NameMismatch {
        /// Host name of the connection.
        host: String,
        /// The names in the certificate.
        names: Vec<String>,
    },
    /// Verification needs a CA file, but none was given.
    #[error("certificate verification needs a CA file")]
    CaMissing,
    /// A certificate or key file cannot be used.
    #[error("{}: {reason}", path.display())]
    PemFile {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// TCP without TLS was requested without the option that permits it.
    #[error("{endpoint}: refusing to connect over TCP without TLS")]
    PlaintextRefused {
        /// Address or socket of the server.
        endpoint: Endpoint,
    },
    /// The server requires TLS or a socket.
    #[error("server requires secure transport: {message} ({code})")]
    SecureTransportRequired {
        /// The server's error number.
        code: u16,
        /// The server's message.
        message: String,
    },
    /// Access denied: wrong user, host or password.
    #[error("access denied: {message} ({code})")]
    AccessDenied {
        /// The server's error number.
        code: u16,
        /// The server's message.
        message: String,
    },
    /// The account uses an unsupported authentication plug-in.
    #[error("authentication plug-in {plugin} is not supported{}", because(.reason))]
    PluginUnsupported {
        /// Name of the plug-in.
        plugin: String,
        /// The reason, if known.
        reason: &'static str,
    },
    /// The plug-in asks for the password itself, but the transport is not encrypted.
    #[error("{plugin} would send the password over an unencrypted connection")]
    ClearPasswordRefused {
        /// Name of the plug-in.
        plugin: String,
    },
    /// The plug-in asks for the password itself, but the server is not verified.
    #[error("{plugin} asks for the password itself, and the server's identity is not verified")]
    UnverifiedServer {
        /// Name of the plug-in.
        plugin: String,
        /// The peer's certificate, if known.
        seen: Option<UnverifiedPeer>,
    },
    /// MariaDB's proof does not match the certificate: a man in the middle may have replaced it.
    #[error("the server's password-based certificate proof does not match the certificate it presented")]
    ProofWrong,
    /// The server did not prove its certificate by the password hash.
    #[error("server does not prove that its certificate is its own: {why}")]
    ProofMissing {
        /// The reason.
        why: &'static str,
    },
    /// The server asked for a file of this machine.
    #[error("server asked for a local file (LOCAL INFILE), refused")]
    LocalInfileRefused,
    /// Bytes that violate the protocol.
    #[error("malformed {what} from the server")]
    Malformed {
        /// The message concerned.
        what: &'static str,
    },
    /// A result or packet exceeds the limit.
    #[error("result larger than the limit of {limit_bytes} bytes")]
    ResultTooLarge {
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// The server ended the statement because of its timeout.
    #[error("statement timed out on the server: {message} ({code})")]
    StatementTimedOut {
        /// The server's error number.
        code: u16,
        /// The server's message.
        message: String,
    },
    /// Another error packet.
    #[error("server error {code} ({sqlstate}): {message}")]
    Server {
        /// The server's error number.
        code: u16,
        /// Five characters of SQLSTATE, or `HY000`.
        sqlstate: String,
        /// The server's message.
        message: String,
    },
    /// No account is given, neither by the caller nor in an option file or the environment.
    #[error("no account is named")]
    NoAccount,
    /// A password file cannot be read.
    #[error("{}: {source}", path.display())]
    PasswordFile {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A password cannot be read from a file descriptor.
    #[error("descriptor {fd}: {source}")]
    PasswordDescriptor {
        /// The descriptor.
        fd: i32,
        /// The system's error.
        source: io::Error,
    },
    /// The user cannot be asked for a password.
    #[error("cannot prompt for the password: {source}")]
    Prompt {
        /// The terminal's error.
        source: io::Error,
    },
    /// An option file cannot be read.
    #[error("{}: {source}", path.display())]
    OptionFileRead {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A malformed line of an option file.
    #[error("{}:{line}: {reason}", path.display())]
    OptionFileSyntax {
        /// Path of the file.
        path: PathBuf,
        /// Line number, from 1.
        line: u32,
        /// What is wrong, without the line's content.
        reason: &'static str,
    },
}

/// An unverified peer, known only by its certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnverifiedPeer {
    /// Fingerprint of its certificate.
    pub fingerprint: Fingerprint,
    /// Whether it is on this host.
    pub here: bool,
}

impl Error {
    /// The message, prefixed with the server's name unless it already begins with it.
    #[must_use]
    pub fn naming(&self, endpoint: &Endpoint) -> String {
        match self {
            Self::Refused { .. }
            | Self::NoSuchSocket { .. }
            | Self::NotASocket { .. }
            | Self::Io { .. }
            | Self::NotMySql { .. }
            | Self::PlaintextRefused { .. } => self.to_string(),
            _ => format!("{endpoint}: {self}"),
        }
    }

    /// Whether the user's input is malformed, for example a URL.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::Url { .. } | Self::PasswordInUrl | Self::NoAccount)
    }

    /// Whether the same call may succeed later, over a new connection: the server is down, restarting or unreachable.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Timeout { .. } | Self::Refused { .. } | Self::Io { .. })
    }

    /// Whether the transaction failed because of another one: a deadlock, or a timeout while it waited for a lock. It
    /// may be repeated.
    #[must_use]
    pub fn is_collision(&self) -> bool {
        matches!(self.code(), Some(error_code::LOCK_DEADLOCK | error_code::LOCK_WAIT_TIMEOUT))
    }

    /// Whether the server ended the transaction because of a deadlock.
    #[must_use]
    pub const fn is_deadlock(&self) -> bool {
        matches!(self.code(), Some(error_code::LOCK_DEADLOCK))
    }

    /// The number of an error that has no variant of its own.
    #[must_use]
    pub const fn code(&self) -> Option<u16> {
        match self {
            Self::Server { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether a privilege is missing.
    pub fn is_privilege(&self) -> bool {
        self.code().is_some_and(|code| error_code::ACCESS_DENIED.contains(&code))
    }
}

fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}
