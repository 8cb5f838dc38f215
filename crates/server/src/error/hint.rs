//! The next step after an error.

use std::borrow::Cow;

use pki::Untrusted;

use super::{Error, OtherService, Phase, UnverifiedPeer};
use crate::{endpoint::Endpoint, error_code};

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
        self.connection_hint().or_else(|| self.tls_hint()).or_else(|| self.login_hint())
    }

    /// Hints for addresses, and for servers that do not answer or are others.
    fn connection_hint(&self) -> Option<&'static str> {
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
                "all connections are in use; MySQL's admin_port or MariaDB's extra_port may be free"
            }
            Self::RefusedBeforeGreeting { code: error_code::HOST_NOT_PRIVILEGED, .. } => {
                "no account of the server may log in from this host"
            }
            _ => return None,
        })
    }

    /// Hints for encryption and the server's certificate.
    fn tls_hint(&self) -> Option<&'static str> {
        Some(match self {
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
            _ => return None,
        })
    }

    /// Hints for accounts, passwords and statements.
    fn login_hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::AccessDenied { .. } => {
                "check user, password (--password-file, --defaults-file, or -p to be asked) and the host the account \
                 is for; an account that requires TLS is denied without it, on a socket too: --tls required"
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
}

impl UnverifiedPeer {
    fn hint(&self) -> String {
        let safe = if self.here {
            "log in through the server's socket, or pass --tls-ca (MySQL's own is ca.pem in its data directory)"
        } else {
            "pass the CA that issued the server's certificate with --tls-ca"
        };
        format!(
            "{safe}; or, if `openssl x509 -noout -fingerprint -sha256` shows the same of the server's certificate on \
             its host, pass --tls-fingerprint {}",
            self.fingerprint
        )
    }
}
