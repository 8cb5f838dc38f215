//! Both sides of a TLS 1.3 connection in this process, without a network between them.

use std::{
    io::{self, Read, Write},
    path::Path,
    sync::Arc,
};

use pki::Identity;
use rustls::{ClientConfig, ClientConnection, ConnectionCommon, ServerConfig, ServerConnection, version::TLS13};
use rustls_pki_types::ServerName;

use crate::{Error, KeyPairFiles, TlsSettings, TlsVersion, processor::thread_seconds};

/// Configurations of both sides.
pub(super) struct TlsPair {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

/// A connection after its handshake.
pub(super) struct Connected {
    client: ClientConnection,
    server: ServerConnection,
    /// CPU time of the server during the handshake, in seconds.
    pub(super) server_seconds: f64,
}

/// A handshake takes two exchanges; a further one would be an error of the library.
const MAX_EXCHANGES: usize = 4;

impl TlsPair {
    /// A server with this certificate, and a client that trusts the authority in the file `ca`.
    pub(super) fn new(ca: &Path, pair: &KeyPairFiles) -> Result<Self, Error> {
        let identity = Identity::from_files(&pair.certificate, &pair.key)?;
        let client = TlsSettings::new(TlsVersion::Tls13, ca, false).map_err(tls)?.config;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]);
        let server = builder.map_err(tls)?.with_no_client_auth().with_cert_resolver(identity.resolver());
        Ok(Self { client, server: Arc::new(server) })
    }

    /// A full handshake.
    pub(super) fn connect(&self) -> Result<Connected, Error> {
        let name = ServerName::try_from("localhost").map_err(tls)?;
        let mut client = ClientConnection::new(Arc::clone(&self.client), name).map_err(tls)?;
        let mut server = ServerConnection::new(Arc::clone(&self.server)).map_err(tls)?;
        let mut server_seconds = 0.0;
        for _ in 0..MAX_EXCHANGES {
            let request = written(&mut client).map_err(tls)?;
            let begin = thread_seconds();
            read(&mut server, &request).map_err(tls)?;
            let answer = written(&mut server).map_err(tls)?;
            server_seconds += thread_seconds() - begin;
            read(&mut client, &answer).map_err(tls)?;
            if !client.is_handshaking() && !server.is_handshaking() && !client.wants_write() {
                return Ok(Connected { client, server, server_seconds });
            }
        }
        Err(Error::Tls("the handshake does not end".to_owned()))
    }
}

impl Connected {
    /// Sends a message from the server to the client, in one record.
    pub(super) fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        self.transmit(message).map_err(tls)
    }

    fn transmit(&mut self, message: &[u8]) -> io::Result<()> {
        self.server.writer().write_all(message)?;
        let record = written(&mut self.server)?;
        read(&mut self.client, &record)?;
        let mut received = vec![0; message.len()];
        self.client.reader().read_exact(&mut received)
    }
}

/// The bytes that a side wants to send.
fn written<Side>(side: &mut ConnectionCommon<Side>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while side.wants_write() {
        side.write_tls(&mut bytes)?;
    }
    Ok(bytes)
}

/// Passes bytes to a side.
fn read<Side>(side: &mut ConnectionCommon<Side>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        side.read_tls(&mut bytes)?;
        side.process_new_packets().map_err(io::Error::other)?;
    }
    Ok(())
}

fn tls(error: impl std::fmt::Display) -> Error {
    Error::Tls(error.to_string())
}
