//! Entry points for fuzz targets: all code of this crate that parses data of a peer.

use std::sync::Arc;

use rustls::{client::UnbufferedClientConnection, server::UnbufferedServerConnection};
use server::{TlsMode, TlsOptions};
use tls13::Handshake;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixStream},
    runtime::Runtime,
};

use crate::{
    Credentials, copier::Copier, credentials::Reloadable, far, greeting, link::Link, local_stream::LocalStream,
    message, metrics::Counters, near::ClientSession, server_stream, stream_socket::StreamSocket,
};

/// Parses a server's first packet, and makes text of a peer printable.
pub fn greeting(bytes: &[u8]) {
    let mut first = bytes.to_vec();
    let error = greeting::is_error(&first);
    greeting::hide_tls(&mut first);
    assert!(first.len() == bytes.len() && greeting::is_error(&first) == error && !greeting::offers_tls(&mut first));
    let text = message::text(bytes);
    assert!(!text.contains(char::is_control) && text.chars().count() <= message::MAX_TEXT_BYTES);
    let refusal = greeting::refusal(0, &text);
    assert!(greeting::is_error(&refusal));
}

/// Passes a login, from either side, in pieces of `piece` bytes.
pub fn login(bytes: &[u8], piece: usize) {
    server_stream::login_of(bytes, piece.max(1));
}

/// Follows logins at a server's socket; the input interleaves the bytes of client and server.
pub fn password(bytes: &[u8]) {
    let _ = server_stream::watch_of(bytes);
}

/// A hostile peer that has a valid certificate.
pub struct MaliciousPeer {
    runtime: Runtime,
    near: Credentials,
    far: Credentials,
}

/// An action of the peer, or of the local side.
#[derive(Debug)]
pub enum Action<'a> {
    /// A correctly encrypted record.
    Sealed(&'a [u8]),
    /// Raw bytes.
    Raw(&'a [u8]),
    /// Bytes of the local client or server.
    Local(&'a [u8]),
    /// The local client or server closes its side.
    LocalEnds,
}

impl MaliciousPeer {
    /// Uses these certificates for the two ends.
    #[must_use]
    pub fn new(near: Credentials, far: Credentials) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
        Self { runtime, near, far }
    }

    /// Runs a session with these actions at either end. It must end when the peer is gone.
    pub fn session(&self, at_near: bool, acts: &[Action<'_>]) {
        self.runtime.block_on(async {
            let (ours, theirs) = pair().await;
            let (client, server) = if at_near { (ours, theirs) } else { (theirs, ours) };
            let (client, server) = tokio::join!(self.connect(client), self.accept(server));
            let (mut ours, mut theirs) = if at_near { (client, server) } else { (server, client) };
            let (local, mut outside) = UnixStream::pair().expect("a pair");
            let local = local.into_std().expect("it is open").into();
            let mut local = LocalStream::from(StreamSocket::new(local).expect("it can be watched"));
            let counters = Counters::default();
            let pumping = async {
                if at_near {
                    let side = ClientSession::new(false, || true);
                    let _ = Copier::new(&mut ours, &mut local, &counters, side, Vec::new()).run().await;
                } else {
                    let busy = false.into();
                    let side = far::ServerSession::new(&busy);
                    let _ = Copier::new(&mut ours, &mut local, &counters, side, Vec::new()).run().await;
                }
                drop(local);
                ours.close().await;
            };
            let acting = async {
                for act in acts {
                    match act {
                        Action::Sealed(content) => drop(theirs.queue_content(content)),
                        Action::Raw(bytes) => theirs.queue_raw(bytes),
                        Action::Local(bytes) => drop(outside.write_all(bytes).await),
                        Action::LocalEnds => drop(outside.shutdown().await),
                    }
                    let _ = theirs.flush().await;
                    tokio::task::yield_now().await;
                }
                drop(theirs);
                let mut rest = Vec::new();
                let _ = outside.shutdown().await;
                let _ = outside.read_to_end(&mut rest).await;
            };
            tokio::join!(pumping, acting);
        });
    }

    /// A server that sends `answers` to a client that sends `client`, with TLS requested.
    pub fn server(&self, answers: &[u8], client: &[u8]) {
        let options = TlsOptions { ca_file: Some(self.near.ca.clone()), ..TlsOptions::default() };
        let config = server::connect::client_config(TlsMode::VerifyCa, &options, "").expect("an authority");
        self.runtime.block_on(async {
            let (ours, mut theirs) = pair().await;
            let hostile = async {
                let _ = theirs.write_all(answers).await;
                let _ = theirs.shutdown().await;
                let mut heard = Vec::new();
                let _ = theirs.read_to_end(&mut heard).await;
                heard
            };
            let served = async {
                let Ok(mut server) = server_stream::tls_stream_of(ours, Arc::clone(&config)).await else { return };
                let _ = server.write_all(client).await;
                let _ = server.flush().await;
                let mut shown = Vec::new();
                let _ = server.read_to_end(&mut shown).await;
            };
            let (heard, ()) = tokio::join!(hostile, served);
            // Only the request for TLS is sent unencrypted, and no part of the login.
            assert!(heard.is_empty() || heard.len() > 36 && heard.get(36) == Some(&22), "{heard:x?}");
        });
    }

    async fn connect(&self, socket: TcpStream) -> Link {
        let config = Reloadable::client(&self.near).expect("credentials").get();
        let tls = UnbufferedClientConnection::new(config, server::connect::server_name("far")).expect("a name");
        Link::open(socket, Vec::new(), Handshake::Client(Box::new(tls)), "far", TIME_LIMIT)
            .await
            .expect("a handshake")
            .0
    }

    async fn accept(&self, socket: TcpStream) -> Link {
        let config = Reloadable::server(&self.far).expect("credentials").get();
        let tls = UnbufferedServerConnection::new(config).expect("a configuration");
        Link::open(socket, Vec::new(), Handshake::Server(Box::new(tls)), "near", TIME_LIMIT)
            .await
            .expect("a handshake")
            .0
    }
}

const TIME_LIMIT: std::time::Duration = std::time::Duration::from_secs(5);

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (one, other) = tokio::join!(TcpStream::connect(address), listener.accept());
    (one.expect("connected"), other.expect("accepted").0)
}
