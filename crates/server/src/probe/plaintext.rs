//! Tests whether an account may log in without TLS.

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{ProbeLimits, classic::greet};
use crate::{
    auth::{PluginLogin, TransportSecurity},
    auth_plugin,
    bytes::Bytes,
    connect::login_request,
    endpoint::Endpoint,
    error::{Error, Phase},
    greeting::capability,
    packet::{self, PacketError},
    secret::Password,
    socket::Socket,
};

/// Result of a clear-text login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlainLogin {
    /// Logged in: the server accepts this account in clear text.
    Accepted,
    /// Refused because TLS is required (3159 and related errors).
    RefusedTransport(u16),
    /// Refused for another reason. MariaDB also answers 1045 when it requires TLS, so this alone does not show whether
    /// TLS is required.
    Denied(u16),
    /// Not completed, with the reason.
    NotTried(String),
}

/// Tries to log in without TLS, only by challenge and response.
///
/// The password itself is never sent; if a plug-in asks for it, the result is [`PlainLogin::NotTried`]. The response
/// does cross the network, so callers use this over loopback only, and only on request: a failed attempt counts as a
/// failed login.
pub fn plaintext_login(
    endpoint: &Endpoint,
    user: &str,
    password: Option<&Password>,
    limits: &ProbeLimits,
) -> PlainLogin {
    match try_login(endpoint, user, password, limits) {
        Ok(()) => PlainLogin::Accepted,
        Err(Error::SecureTransportRequired { code, .. }) => PlainLogin::RefusedTransport(code),
        Err(
            Error::AccessDenied { code, .. } | Error::Server { code, .. } | Error::RefusedBeforeGreeting { code, .. },
        ) => PlainLogin::Denied(code),
        Err(error) => PlainLogin::NotTried(error.to_string()),
    }
}

fn try_login(endpoint: &Endpoint, user: &str, password: Option<&Password>, limits: &ProbeLimits) -> Result<(), Error> {
    let empty = Password::new(Vec::new());
    let password = password.unwrap_or(&empty);
    let (mut socket, greeting) = greet(endpoint, limits.timeout)?;
    let plugin = auth_plugin::unasked(&greeting.auth_plugin);
    let capabilities = capability::LONG_PASSWORD
        | capability::PROTOCOL_41
        | capability::SECURE_CONNECTION
        | (greeting.capabilities & capability::PLUGIN_AUTH);
    // Treated as clear text on any endpoint: only challenge and response are permitted.
    let security = TransportSecurity::Clear;
    let mut login = PluginLogin::new(plugin, &greeting.challenge, password, security)?;
    let first = login.first()?;
    let request = login_request(user, capabilities, login.plugin(), &first)?;
    let mut sequence = 1;
    send(&mut socket, &mut sequence, &request)?;
    for _ in 0..8 {
        let packet = receive(&mut socket, &mut sequence)?;
        let mut bytes = Bytes::new(&packet);
        let answer: Option<Zeroizing<Vec<u8>>> = match bytes.u8() {
            Some(0) => {
                // COM_QUIT, so that the server counts no aborted client.
                let _ = send(&mut socket, &mut 0, &[1]);
                return Ok(());
            }
            Some(0xff) => {
                return Err(packet::server_error(&packet).unwrap_or(Error::Malformed { what: "error packet" }));
            }
            Some(0xfe) => {
                let name = bytes.until_nul().unwrap_or(auth_plugin::OLD_PASSWORD.as_bytes());
                let name = String::from_utf8_lossy(name);
                login = PluginLogin::new(&name, bytes.rest(), password, security)?;
                Some(login.first()?)
            }
            Some(1) => login.next(bytes.rest())?,
            _ => login.next(&packet)?,
        };
        if let Some(answer) = answer {
            send(&mut socket, &mut sequence, &answer)?;
        }
    }
    Err(Error::Malformed { what: "authentication" })
}

fn send(socket: &mut Socket, sequence: &mut u8, payload: &[u8]) -> Result<(), Error> {
    packet::write(socket, sequence, payload).map_err(|error| socket.failure(Phase::Login, error))
}

fn receive(socket: &mut Socket, sequence: &mut u8) -> Result<Vec<u8>, Error> {
    packet::read(socket, sequence, 1 << 16).map_err(|error| match error {
        PacketError::Io(error) => socket.failure(Phase::Login, error),
        PacketError::TooLarge => Error::Malformed { what: "packet length" },
    })
}
