//! Connects, switches to TLS and logs in, as an account without a password.

use std::{
    io::{self, BufReader},
    sync::Arc,
};

use rustls::{ClientConnection, HandshakeKind, StreamOwned};
use rustls_pki_types::ServerName;
use server::greeting::{UTF8MB4_GENERAL_CI, capability};

use super::{Client, END, OK, malformed, refusal, stream::Stream};
use crate::tls::security::{Address, Security, TlsSettings};

const BUFFER_BYTES: usize = 32 << 10;
/// Capabilities that this client announces in every login.
const LOGIN_CAPABILITIES: u32 = capability::LONG_PASSWORD
    | capability::TRANSACTIONS
    | capability::PROTOCOL_41
    | capability::SECURE_CONNECTION
    | capability::PLUGIN_AUTH;
const MORE_AUTHENTICATION: u8 = 0x01;

impl Client {
    /// Connects and authenticates.
    ///
    /// # Errors
    /// Errors of the network, TLS or the server; a TLS version other than requested.
    pub fn open(address: &Address, user: &str, security: &Security) -> io::Result<Self> {
        let mut client = Self {
            stream: BufReader::with_capacity(BUFFER_BYTES, Stream::connect(address)?),
            packet: Vec::new(),
            command: Vec::new(),
            resumed: false,
        };
        client.read()?;
        let plugin = plugin_of(&client.packet)?;
        let mut sequence = 1;
        if let Security::Tls(settings) = security {
            client.write(&mut sequence, &head(LOGIN_CAPABILITIES | capability::SSL))?;
            client = client.secured(settings)?;
        }
        let tls = if matches!(security, Security::Tls(_)) { capability::SSL } else { 0 };
        let mut response = head(LOGIN_CAPABILITIES | tls);
        response.extend_from_slice(user.as_bytes());
        // The end of the user name, and an empty answer, which stands for an empty password.
        response.extend_from_slice(&[0, 0]);
        response.extend_from_slice(&plugin);
        response.push(0);
        client.write(&mut sequence, &response)?;
        client.authenticate()?;
        Ok(client)
    }

    /// Answers challenges until the server accepts. The answer for an empty password is empty in every plug-in.
    fn authenticate(&mut self) -> io::Result<()> {
        loop {
            let read = self.read()?;
            match self.packet.first() {
                Some(&OK) => return Ok(()),
                // The server asks for another plug-in, or sends the next step.
                Some(&END) => self.write(&mut read.wrapping_add(1), &[])?,
                Some(&MORE_AUTHENTICATION) => {}
                _ => return Err(refusal(&self.packet)),
            }
        }
    }

    fn secured(self, settings: &TlsSettings) -> io::Result<Self> {
        let Stream::Tcp(tcp) = self.stream.into_inner() else { return Err(malformed("TLS over a unix socket")) };
        let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::clone(&settings.config), name).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, tcp);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        if stream.conn.protocol_version() != Some(settings.version.supported().version) {
            return Err(malformed("the TLS version is not the requested one"));
        }
        let resumed = stream.conn.handshake_kind() == Some(HandshakeKind::Resumed);
        if resumed && !settings.resumes {
            return Err(malformed("the session was resumed, which was not requested"));
        }
        let stream = BufReader::with_capacity(BUFFER_BYTES, Stream::Tls(Box::new(stream)));
        Ok(Self { stream, packet: self.packet, command: self.command, resumed })
    }
}

/// The payload of a TLS request, which is also the start of a login.
fn head(capabilities: u32) -> Vec<u8> {
    let mut head = Vec::with_capacity(64);
    head.extend_from_slice(&capabilities.to_le_bytes());
    head.extend_from_slice(&(1_u32 << 24).to_le_bytes());
    head.push(UTF8MB4_GENERAL_CI);
    head.resize(32, 0);
    head
}

/// The authentication plug-in that a greeting names. It follows the version, 31 bytes, and the second part of the
/// challenge, which has at least 13 bytes.
fn plugin_of(greeting: &[u8]) -> io::Result<Vec<u8>> {
    if greeting.first() != Some(&10) {
        return Err(refusal(greeting));
    }
    let version = greeting.iter().position(|byte| *byte == 0).unwrap_or(greeting.len());
    let behind = greeting.get(version + 1 + 31..).unwrap_or_default();
    let challenge = greeting.get(version + 21).map_or(0, |all| usize::from(all.saturating_sub(8)).max(13));
    let name = behind.get(challenge..).unwrap_or_default();
    Ok(name.iter().copied().take_while(|byte| *byte != 0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_names_its_plugin() {
        let mut greeting = vec![10];
        greeting.extend_from_slice(b"9.7.4\0");
        // Thread 4, challenge 8 and its end, capabilities 2, collation, status 2, capabilities 2.
        greeting.extend_from_slice(&[0; 4 + 9 + 2 + 1 + 2 + 2]);
        // Length of the challenge, ten reserved bytes, the rest of the challenge.
        greeting.push(21);
        greeting.extend_from_slice(&[0; 10 + 13]);
        greeting.extend_from_slice(b"caching_sha2_password\0");
        assert_eq!(plugin_of(&greeting).unwrap(), b"caching_sha2_password");
        let refused = plugin_of(b"\xff\x10\x04Too many connections").unwrap_err();
        assert_eq!(refused.to_string(), "Too many connections");
    }
}
