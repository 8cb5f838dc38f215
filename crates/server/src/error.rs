//! Errors of connections to servers.

use std::{borrow::Cow, fmt, io, path::PathBuf, time::Duration};

use pki::{Fingerprint, Untrusted};

use crate::{endpoint::Endpoint, error_code};

/// The step of a connection that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Resolving the host name.
    Resolve,
    /// Opening the TCP or Unix socket.
    Connect,
    /// Waiting for or reading the server's first packet.
    Greeting,
    /// The TLS handshake.
    Tls,
    /// Authentication.
    Login,
    /// A statement and its result.
    Statement,
    /// The events of a binary log.
    BinaryLog,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resolve => "looking up the host name",
            Self::Connect => "connecting",
            Self::Greeting => "waiting for the server's greeting",
            Self::Tls => "the TLS handshake",
            Self::Login => "logging in",
            Self::Statement => "executing a statement",
            Self::BinaryLog => "reading the binary log",
        })
    }
}

/// Another kind of server, recognised by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtherService {
    /// A PostgreSQL backend message.
    PostgreSql,
    /// An HTTP response.
    Http,
    /// An SSH banner.
    Ssh,
    /// A TLS record before any greeting: the port uses TLS from the start.
    Tls,
    /// A message of the X Protocol, usually port 33060.
    XProtocol,
    /// A classic MySQL greeting, where the X Protocol was expected.
    Classic,
    /// A line of a mail or file server that begins with `220`.
    LineBanner,
    /// Closed at once without sending a byte.
    Closed,
    /// Unknown.
    Unknown,
}

impl OtherService {
    /// Recognises the first bytes received.
    pub fn guess(first_bytes: &[u8]) -> Self {
        match first_bytes {
            [] => Self::Closed,
            [b'H', b'T', b'T', b'P', ..] | [b'<', ..] => Self::Http,
            [b'S', b'S', b'H', b'-', ..] => Self::Ssh,
            [0x14..=0x17, 3, 0..=4, ..] => Self::Tls,
            [b'2', b'2', b'0', ..] => Self::LineBanner,
            [_, 0, 0, 0, 0x0b, ..] => Self::XProtocol,
            [b'E' | b'R', 0, 0, ..] | [b'N' | b'S'] | [b'E', b'F', b'A', ..] => Self::PostgreSql,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for OtherService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PostgreSql => "it answers like PostgreSQL",
            Self::Http => "it answers like an HTTP server",
            Self::Ssh => "it answers like an SSH server",
            Self::Tls => "it sends TLS before any greeting",
            Self::XProtocol => "it answers in the X Protocol",
            Self::Classic => "it answers in the classic protocol",
            Self::LineBanner => "it answers like a mail or file server",
            Self::Closed => "it closes the connection without a word",
            Self::Unknown => "its first bytes are not a greeting",
        })
    }
}

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
    #[error("server offers no TLS version from 1.2 on ({reason})")]
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
    #[error("{plugin} asks for the password itself, and nothing shows that whoever answers is the server")]
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
    #[error("the password cannot be asked for: {source}")]
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

impl UnverifiedPeer {
    fn hint(&self) -> String {
        let safe = if self.here {
            "log in through the server's socket, or pass --tls-ca (MySQL's own is ca.pem in its data directory)"
        } else {
            "pass the CA that issued the server's certificate with --tls-ca"
        };
        format!(
            "{safe}; or, if `openssl x509 -noout -fingerprint -sha256` shows the same of the server's certificate on its \
             host, pass --tls-fingerprint {}",
            self.fingerprint
        )
    }
}

impl Error {
    /// The next step, if there is one.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        if let Self::UnverifiedServer { seen: Some(seen), .. } = self {
            return Some(seen.hint().into());
        }
        self.fixed_hint().map(Cow::Borrowed)
    }

    /// The next step, unless it depends on the peer.
    pub fn fixed_hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Url { .. } => "write it as mysql://user@host:port",
            Self::PasswordInUrl => {
                "arguments are visible to other users; put the password into an option file \
                 ([client] password=…, mode 0600) and pass it with --defaults-file"
            }
            Self::Refused { endpoint: Endpoint::Socket(_) } => {
                "check that the server runs: no process listens on this socket"
            }
            Self::Refused { .. } => "check that the server runs and listens on this port",
            Self::NoSuchSocket { .. } | Self::NotASocket { .. } => {
                "SHOW VARIABLES LIKE 'socket' gives the server's path"
            }
            Self::Resolve { .. } => "check the host name or give an address",
            Self::Timeout { phase: Phase::Connect, .. } => "a firewall may drop the packets",
            Self::Timeout { phase: Phase::Greeting, .. } => {
                "the port may belong to another service, or the server may wait for a reverse \
                 name look-up (skip_name_resolve)"
            }
            Self::NotMySql { service: OtherService::XProtocol, .. } => {
                "this is the X Protocol port; use the classic port, usually 3306"
            }
            Self::NotMySql { .. } => "check the port number",
            Self::RefusedBeforeGreeting { code: error_code::HOST_IS_BLOCKED, .. } => {
                "the server blocks this host after too many connection errors: \
                 TRUNCATE TABLE performance_schema.host_cache, or FLUSH HOSTS"
            }
            Self::RefusedBeforeGreeting { code: error_code::TOO_MANY_CONNECTIONS, .. } => {
                "every connection is taken; MySQL's admin_port or MariaDB's extra_port may be free"
            }
            Self::RefusedBeforeGreeting { code: error_code::HOST_NOT_PRIVILEGED, .. } => {
                "no account of the server may log in from this host"
            }
            Self::TlsNotOffered => "configure ssl_cert and ssl_key on the server, or connect through its unix socket",
            Self::TlsTooOld { .. } => "connect through the server's unix socket, or upgrade it",
            Self::CertificateNotTrusted { why: Untrusted::UnknownIssuer } => {
                "pass the CA that issued the server's certificate with --tls-ca; \
                 MySQL's automatic one is ca.pem in its data directory"
            }
            Self::CertificateNotTrusted { why: Untrusted::Expired } => {
                concat!(
                    "renew the certificate and reload it: ",
                    crate::mysql_reload_tls!(),
                    ", or on MariaDB ",
                    crate::mariadb_reload_tls!()
                )
            }
            Self::CertificateNotTrusted { why: Untrusted::OtherFingerprint { .. } } => {
                "compare it with the server's certificate on its host: openssl x509 -noout -fingerprint -sha256"
            }
            Self::NameMismatch { .. } => {
                "connect by a name in the certificate, or check the chain only (--tls verify-ca)"
            }
            Self::CaMissing => "pass the CA file with --tls-ca",
            Self::PlaintextRefused { .. } => "use TLS, or the server's unix socket",
            Self::SecureTransportRequired { .. } => "connect with TLS or through the unix socket",
            Self::ClearPasswordRefused { .. } => "connect with TLS or through the unix socket",
            Self::UnverifiedServer { .. } => {
                "pass --tls-ca or --tls-fingerprint, or log in through the server's socket"
            }
            Self::ProofWrong => {
                "this may be a man in the middle; if it is a proxy of yours, pass the CA of its certificate with \
                    --tls-ca"
            }
            Self::ProofMissing { .. } => "pass the server's CA with --tls-ca, or its certificate's --tls-fingerprint",
            Self::AccessDenied { .. } => {
                "check user, password (--password-file, --defaults-file, or -p to be asked) and the host the account is for; \
                 MariaDB gives this error also when it requires TLS"
            }
            Self::PluginUnsupported { .. } => "use an account with a password plug-in",
            Self::LocalInfileRefused => "an honest server never asks this of an audit; check whom you connect to",
            Self::StatementTimedOut { .. } => "raise the statement time limit",
            Self::NoAccount => "give --user NAME",
            Self::PasswordDescriptor { .. } => "open it in the shell, as in --password-fd 3 3<FILE",
            Self::Prompt { .. } => "give it with --defaults-file, --password-file or --password-fd",
            Self::Malformed { .. } => "a proxy or another service may answer on this port",
            _ => return None,
        })
    }

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

    /// Whether the same call may succeed later, over a new connection: the server is down, restarts, or is not reached.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Timeout { .. } | Self::Refused { .. } | Self::Io { .. })
    }

    /// Whether the transaction was rolled back because of another one, or waited too long for its locks. It may be
    /// repeated.
    #[must_use]
    pub fn is_collision(&self) -> bool {
        matches!(self.code(), Some(error_code::LOCK_DEADLOCK | error_code::LOCK_WAIT_TIMEOUT))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_recognised_by_their_first_bytes() {
        let cases: [(&[u8], OtherService); 8] = [
            (b"", OtherService::Closed),
            (b"HTTP/1.1 400 Bad Request\r\n", OtherService::Http),
            (b"SSH-2.0-OpenSSH_10.0\r\n", OtherService::Ssh),
            (&[0x15, 3, 1, 0, 2, 2, 40], OtherService::Tls),
            (b"220 mail.example ESMTP\r\n", OtherService::LineBanner),
            (&[5, 0, 0, 0, 0x0b, 8, 5, 0x1a, 0], OtherService::XProtocol),
            (b"E\0\0\0\x85SFATAL", OtherService::PostgreSql),
            (b"\x7fELF....", OtherService::Unknown),
        ];
        for (bytes, expected) in cases {
            assert_eq!(OtherService::guess(bytes), expected, "{bytes:?}");
        }
    }
}
