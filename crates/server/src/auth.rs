//! Authenticates an account with its password, for each authentication plug-in.
//!
//! The password itself is sent only over a Unix socket, or over TLS to a verified server. It is not encrypted with an
//! RSA key from the server: an impostor could send his own key.

use mysql_common::auth::plugins::{
    ChallengeResponsePlugin, Context, Response,
    caching_sha2_password::scramble_sha256,
    client_ed25519::ClientEd25519,
    mysql_native_password::{MysqlNativePassword, scramble_native},
    parsec::Parsec,
};
use zeroize::Zeroizing;

use crate::{auth_plugin, error::Error, secret::Password};

/// Protection of the connection, which decides whether the password itself may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransportSecurity {
    /// TCP without TLS.
    Clear,
    /// Unix socket.
    Socket,
    /// TLS with an unverified peer.
    Unverified,
    /// TLS with the verified server.
    Tls,
}

/// A conversation with one plug-in.
#[derive(Debug)]
pub(crate) struct PluginLogin<'a> {
    password: &'a Password,
    security: TransportSecurity,
    plugin: Plugin,
    challenge: Vec<u8>,
}

#[derive(Debug)]
enum Plugin {
    Native,
    CachingSha2,
    Sha256,
    Clear,
    Ed25519,
    Parsec(Box<Parsec>),
    Dialog { answered: bool },
    Socket,
}

impl Plugin {
    /// The challenge without a terminating NUL, if it was sent as a C string.
    ///
    /// The length decides: the random bytes of Ed25519 and parsec may themselves end with zero.
    fn challenge<'c>(&self, sent: &'c [u8]) -> &'c [u8] {
        let length = match self {
            Self::Ed25519 | Self::Parsec(_) => 32,
            _ => 20,
        };
        match sent {
            [challenge @ .., 0] if challenge.len() == length => challenge,
            _ => sent,
        }
    }
}

impl<'a> PluginLogin<'a> {
    /// Starts with the plug-in and the challenge that the server sent.
    pub(crate) fn new(
        plugin: &str,
        challenge: &[u8],
        password: &'a Password,
        security: TransportSecurity,
    ) -> Result<Self, Error> {
        let plugin = match plugin {
            auth_plugin::NATIVE_PASSWORD => Plugin::Native,
            auth_plugin::CACHING_SHA2_PASSWORD => Plugin::CachingSha2,
            auth_plugin::SHA256_PASSWORD => Plugin::Sha256,
            auth_plugin::CLEAR_PASSWORD => Plugin::Clear,
            auth_plugin::CLIENT_ED25519 => Plugin::Ed25519,
            auth_plugin::PARSEC => Plugin::Parsec(Box::default()),
            auth_plugin::DIALOG => Plugin::Dialog { answered: false },
            auth_plugin::AUTH_SOCKET | auth_plugin::UNIX_SOCKET => Plugin::Socket,
            auth_plugin::OLD_PASSWORD => {
                return Err(unsupported(auth_plugin::OLD_PASSWORD, "its hash from before MySQL 4.1 is broken"));
            }
            other => return Err(unsupported(other, "")),
        };
        Ok(Self { password, security, challenge: plugin.challenge(challenge).to_vec(), plugin })
    }

    /// Name of the plug-in.
    pub(crate) fn plugin(&self) -> &'static str {
        match self.plugin {
            Plugin::Native => auth_plugin::NATIVE_PASSWORD,
            Plugin::CachingSha2 => auth_plugin::CACHING_SHA2_PASSWORD,
            Plugin::Sha256 => auth_plugin::SHA256_PASSWORD,
            Plugin::Clear => auth_plugin::CLEAR_PASSWORD,
            Plugin::Ed25519 => auth_plugin::CLIENT_ED25519,
            Plugin::Parsec(_) => auth_plugin::PARSEC,
            Plugin::Dialog { .. } => auth_plugin::DIALOG,
            Plugin::Socket => auth_plugin::AUTH_SOCKET,
        }
    }

    /// The first answer.
    pub(crate) fn first(&mut self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let secret = self.password.expose();
        let answer = match &mut self.plugin {
            Plugin::Native => {
                scramble_native(&self.challenge, secret).map(|answer| answer.to_vec()).unwrap_or_default()
            }
            Plugin::CachingSha2 => {
                let nonce = self.challenge.as_slice().try_into().map_err(|_| Error::Malformed { what: "challenge" })?;
                // An empty password is sent as one NUL.
                scramble_sha256(nonce, secret).map_or_else(|| vec![0], |answer| answer.to_vec())
            }
            Plugin::Sha256 if secret.is_empty() => vec![0],
            // Unlike caching_sha2_password, this server plug-in accepts it only over TLS.
            Plugin::Sha256 if self.security == TransportSecurity::Socket => return Err(self.refused()),
            Plugin::Sha256 => return self.password_itself(),
            Plugin::Clear => return self.password_itself(),
            Plugin::Ed25519 if secret.is_empty() => Vec::new(),
            Plugin::Ed25519 => {
                let mut plugin = ClientEd25519::default();
                let facts = AuthContext(secret, &self.challenge);
                packet(plugin.run(facts, &self.challenge))?
            }
            Plugin::Parsec(plugin) => {
                let facts = AuthContext(secret, &self.challenge);
                packet(plugin.run(facts, &self.challenge))?
            }
            Plugin::Dialog { .. } => return self.dialog(None),
            Plugin::Socket => Vec::new(),
        };
        Ok(Zeroizing::new(answer))
    }

    /// The answer to a further packet of the server; `None` if it expects none.
    pub(crate) fn next(&mut self, data: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        let secret = self.password.expose();
        match &mut self.plugin {
            // 3: the cached digest matches, an OK packet follows. 4: the server asks for the password.
            Plugin::CachingSha2 => match data {
                [3] => Ok(None),
                [4] => self.password_itself().map(Some),
                _ => Err(Error::Malformed { what: "caching_sha2_password answer" }),
            },
            Plugin::Parsec(plugin) => {
                let facts = AuthContext(secret, &self.challenge);
                packet(plugin.run(facts, data)).map(|answer| Some(Zeroizing::new(answer)))
            }
            Plugin::Dialog { .. } => self.dialog(Some(data)).map(Some),
            _ => Err(Error::Malformed { what: "authentication message" }),
        }
    }

    /// The only function that returns the password itself.
    fn password_itself(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        match self.security {
            TransportSecurity::Clear | TransportSecurity::Unverified => Err(self.refused()),
            TransportSecurity::Socket | TransportSecurity::Tls => Ok(with_nul(self.password.expose())),
        }
    }

    /// PAM's questions: the first answer is the password; a second question would need a person.
    ///
    /// Source: MariaDB's `dialog` client plug-in. The first byte of a question is its kind.
    fn dialog(&mut self, _question: Option<&[u8]>) -> Result<Zeroizing<Vec<u8>>, Error> {
        let answer = self.password_itself()?;
        match &mut self.plugin {
            Plugin::Dialog { answered } if !*answered => {
                *answered = true;
                Ok(answer)
            }
            _ => Err(unsupported(auth_plugin::DIALOG, "it asks more than one question")),
        }
    }

    fn refused(&self) -> Error {
        let plugin = self.plugin().to_owned();
        match self.security {
            TransportSecurity::Unverified => Error::UnverifiedServer { plugin, seen: None },
            _ => Error::ClearPasswordRefused { plugin },
        }
    }

    /// The password hash that the server stores. `None` without a password, and for plug-ins that receive the password
    /// itself.
    pub(crate) fn password_hash(&self) -> Option<Zeroizing<Vec<u8>>> {
        let secret = self.password.expose();
        if secret.is_empty() {
            return None;
        }
        let facts = AuthContext(secret, &self.challenge);
        let hash = match &self.plugin {
            Plugin::Native => MysqlNativePassword::default().password_hash(facts),
            Plugin::Ed25519 => ClientEd25519::default().password_hash(facts),
            Plugin::Parsec(plugin) => plugin.password_hash(facts),
            _ => None,
        };
        hash.map(Zeroizing::new)
    }
}

/// Password and challenge, for mysql_common's plug-ins.
struct AuthContext<'a>(&'a [u8], &'a [u8]);

impl Context for AuthContext<'_> {
    fn pass(&self) -> &[u8] {
        self.0
    }

    fn is_ipc_transport(&self) -> bool {
        false
    }

    fn is_tls_transport(&self) -> bool {
        false
    }

    fn scramble(&self) -> &[u8] {
        self.1
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}

fn packet(response: Result<Response, mysql_common::auth::plugins::Error>) -> Result<Vec<u8>, Error> {
    match response {
        Ok(Response::Next { packet } | Response::Last { packet }) => Ok(packet.unwrap_or_default()),
        Err(_) => Err(Error::Malformed { what: "challenge" }),
    }
}

fn with_nul(secret: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut answer = Zeroizing::new(Vec::with_capacity(secret.len().saturating_add(1)));
    answer.extend_from_slice(secret);
    answer.push(0);
    answer
}

fn unsupported(plugin: &str, reason: &'static str) -> Error {
    Error::PluginUnsupported { plugin: plugin.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHALLENGE: &[u8] = b"abcdefghijklmnopqrst\0";

    #[test]
    fn a_password_never_crosses_plain_tcp() {
        let password = Password::new("secret");
        for plugin in ["mysql_clear_password", "sha256_password", "dialog"] {
            let mut login = PluginLogin::new(plugin, CHALLENGE, &password, TransportSecurity::Clear).unwrap();
            assert!(matches!(login.first(), Err(Error::ClearPasswordRefused { .. })));
        }
        let mut login =
            PluginLogin::new("caching_sha2_password", CHALLENGE, &password, TransportSecurity::Clear).unwrap();
        assert_eq!(login.first().unwrap().len(), 32);
        assert!(login.next(&[3]).unwrap().is_none());
        assert!(matches!(login.next(&[4]), Err(Error::ClearPasswordRefused { .. })));
    }

    #[test]
    fn a_password_never_goes_to_whoever_answers_with_tls() {
        let password = Password::new("secret");
        for plugin in ["mysql_clear_password", "sha256_password", "dialog"] {
            let mut login = PluginLogin::new(plugin, CHALLENGE, &password, TransportSecurity::Unverified).unwrap();
            assert!(matches!(login.first(), Err(Error::UnverifiedServer { .. })), "{plugin}");
        }
        let mut login =
            PluginLogin::new("caching_sha2_password", CHALLENGE, &password, TransportSecurity::Unverified).unwrap();
        assert_eq!(login.first().unwrap().len(), 32);
        assert!(matches!(login.next(&[4]), Err(Error::UnverifiedServer { .. })));
    }

    #[test]
    fn a_password_crosses_tls_with_its_nul() {
        let password = Password::new("secret");
        let mut login = PluginLogin::new("mysql_clear_password", b"", &password, TransportSecurity::Tls).unwrap();
        assert_eq!(login.first().unwrap().as_slice(), b"secret\0");
    }

    #[test]
    fn broken_and_unknown_plugins_are_named() {
        let password = Password::new("");
        for name in ["mysql_old_password", "auth_gssapi_client", "\u{fffd}"] {
            let error = PluginLogin::new(name, CHALLENGE, &password, TransportSecurity::Tls).unwrap_err();
            assert!(matches!(error, Error::PluginUnsupported { plugin, .. } if plugin == name));
        }
    }

    #[test]
    fn a_challenge_of_wrong_size_is_malformed() {
        let password = Password::new("secret");
        for plugin in ["caching_sha2_password", "client_ed25519", "parsec"] {
            let mut login = PluginLogin::new(plugin, b"short", &password, TransportSecurity::Tls).unwrap();
            assert!(matches!(login.first(), Err(Error::Malformed { .. })), "{plugin}");
        }
    }

    #[test]
    fn a_challenge_may_end_with_a_zero() {
        let password = Password::new("secret");
        let mut challenge = [7; 33];
        challenge[31] = 0;
        challenge[32] = 0;
        for plugin in ["client_ed25519", "parsec"] {
            let answer =
                |sent| PluginLogin::new(plugin, sent, &password, TransportSecurity::Tls).unwrap().first().unwrap();
            assert_eq!(answer(&challenge[..32]), answer(&challenge), "{plugin}");
        }
    }
}
