//! A TLS connection to a server, for a client that does not use TLS.
//!
//! TLS starts in the middle of the protocol: the server sends its greeting unencrypted, and expects the client's
//! capabilities in the request for TLS. So a connection that waits for a client has received its greeting but has no
//! TLS yet; the handshake follows the client's login. TLS sessions are resumed, so most handshakes are short.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use jiff::Timestamp;
use pki::Certificate;
use rustls::{ClientConfig, ClientConnection, HandshakeKind, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::login::{FromClient, FromServer, LoginReader, LoginRequest};
use crate::{Log, greeting, greeting::HEADER_BYTES};

/// Maximum length of a greeting; usual ones have 100 to 200 bytes.
const GREETING_BYTES: usize = 4096;
/// Bytes of a login that are processed at once.
const PIECE_BYTES: usize = 4096;
/// Sequence number that a client expects after its login.
const AFTER_LOGIN: u8 = 2;

/// TLS settings of the connection to the server.
#[derive(Clone)]
pub(crate) struct Security {
    pub(crate) config: Arc<ClientConfig>,
    /// Name that the certificate must have, if names are checked.
    pub(crate) name: ServerName<'static>,
    /// Time limit of the handshake.
    pub(crate) limit: Duration,
    /// Name of the server in messages.
    pub(crate) server: String,
    /// Whether the last handshake failed.
    pub(crate) handshake_failed: Arc<AtomicBool>,
    pub(crate) log: Arc<Log>,
}

/// A connection to a server, as the client sees it, starting with the greeting.
pub(crate) struct TlsServerStream {
    security: Security,
    stage: Stage,
    /// Bytes that the client gets before anything else.
    to_client: Vec<u8>,
}

type Handshake = Pin<Box<dyn Future<Output = io::Result<Session>> + Send + Sync>>;

enum Stage {
    /// The server has sent its greeting; the client has not logged in.
    Greeted(TcpStream, LoginReader),
    /// The start of the login has arrived, and the TLS handshake is running.
    Securing(Handshake),
    /// Everything is encrypted.
    Secured(Box<Session>),
    /// Nothing more is sent or received.
    Closed,
}

struct Session {
    tls: TlsStream<TcpStream>,
    /// Part of the login that TLS has not accepted yet.
    to_server: Vec<u8>,
    from_client: FromClient,
    from_server: FromServer,
    closing: bool,
}

impl TlsServerStream {
    /// Reads the greeting. A server without TLS is an error.
    pub(crate) async fn greeted(mut stream: TcpStream, security: Security) -> io::Result<Self> {
        let mut first = vec![0; HEADER_BYTES];
        stream.read_exact(&mut first).await?;
        let length = match *first.as_slice() {
            [a, b, 0, 0] => usize::from(u16::from_le_bytes([a, b])),
            _ => GREETING_BYTES,
        };
        if length >= GREETING_BYTES {
            return Err(io::Error::other("it sent no greeting of a MySQL server"));
        }
        // Reads exactly the greeting: bytes after it belong to the TLS handshake.
        first.resize(HEADER_BYTES + length, 0);
        stream.read_exact(first.get_mut(HEADER_BYTES..).unwrap_or_default()).await?;
        let stage = if greeting::is_error(&first) {
            Stage::Closed
        } else if greeting::offers_tls(&mut first) {
            greeting::hide_tls(&mut first);
            Stage::Greeted(stream, LoginReader::default())
        } else {
            return Err(io::Error::other("it offers no TLS, and clear text is not allowed there"));
        };
        Ok(Self { security, stage, to_client: first })
    }

    /// Tests the handshake without a login.
    pub(crate) async fn test_handshake(self) -> io::Result<()> {
        let Stage::Greeted(stream, _) = self.stage else { return Ok(()) };
        // CLIENT_PROTOCOL_41, CLIENT_SSL, CLIENT_SECURE_CONNECTION.
        let mut tls_request = vec![32, 0, 0, 1, 0, 0x8a, 0, 0, 0, 0, 0, 1, 45];
        tls_request.resize(HEADER_BYTES + 32, 0);
        let request = LoginRequest { tls_request, login: Vec::new(), left: 0 };
        let mut session = self.security.session(stream, request).await?;
        let _ = timeout(Duration::from_secs(1), session.tls.shutdown()).await;
        Ok(())
    }

    /// Processes the start of the client's login.
    fn begin(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Stage::Greeted(_, reader) = &mut self.stage else { return Ok(0) };
        match reader.take(bytes) {
            Ok((count, None)) => Ok(count),
            Ok((count, Some(request))) => {
                if let Stage::Greeted(stream, _) = std::mem::replace(&mut self.stage, Stage::Closed) {
                    let security = self.security.clone();
                    let securing = async move { security.session(stream, request).await };
                    self.stage = Stage::Securing(Box::pin(securing));
                }
                Ok(count)
            }
            Err(handshake_failed) => {
                self.refuse(&handshake_failed.to_string());
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
    }

    /// Continues the handshake. The client gets an error in place of the server's answer.
    fn poll_secured(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Stage::Securing(securing) = &mut self.stage {
            let secured = ready!(securing.as_mut().poll(cx));
            self.security.handshake_failed.store(secured.is_err(), Relaxed);
            match secured {
                Ok(session) => self.stage = Stage::Secured(Box::new(session)),
                Err(error) => {
                    let why = format!("{}: {}", self.security.server, describe(&error));
                    (self.security.log)(&why);
                    self.refuse(&why);
                }
            }
        }
        Poll::Ready(())
    }

    fn refuse(&mut self, why: &str) {
        self.stage = Stage::Closed;
        self.to_client = greeting::refusal(AFTER_LOGIN, &format!("sealant tunnel: {why}"));
    }
}

impl Security {
    async fn session(&self, mut stream: TcpStream, request: LoginRequest) -> io::Result<Session> {
        let late = || {
            let text = format!("the TLS handshake did not complete within {} s", self.limit.as_secs());
            io::Error::new(io::ErrorKind::TimedOut, text)
        };
        let securing = async {
            stream.write_all(&request.tls_request).await?;
            TlsConnector::from(Arc::clone(&self.config)).connect(self.name.clone(), stream).await
        };
        let tls = timeout(self.limit, securing).await.map_err(|_| late())??;
        check_expiry(tls.get_ref().1)?;
        let from_client = FromClient::after(&request);
        let from_server = FromServer::default();
        Ok(Session { tls, to_server: request.login, from_client, from_server, closing: false })
    }
}

/// Refuses an expired certificate in a resumed session: it was checked in the earlier session, and TLS does not check
/// it again.
fn check_expiry(connection: &ClientConnection) -> io::Result<()> {
    if connection.handshake_kind() != Some(HandshakeKind::Resumed) {
        return Ok(());
    }
    let leaf = connection.peer_certificates().and_then(<[_]>::first);
    match leaf.map(|leaf| Certificate::from_der(leaf)) {
        Some(Ok(leaf)) if leaf.not_after < Timestamp::now() => {
            Err(io::Error::other(format!("its certificate has expired on {}", leaf.not_after)))
        }
        _ => Ok(()),
    }
}

/// Describes an error of the server like the other commands do.
pub(crate) fn describe(error: &io::Error) -> String {
    match error.get_ref().and_then(|cause| cause.downcast_ref()) {
        Some(cause) => server::connect::tls_failure(cause).to_string(),
        None => error.to_string(),
    }
}

impl Session {
    /// Passes pending bytes to TLS.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.to_server.is_empty() {
            let count = ready!(Pin::new(&mut self.tls).poll_write(cx, &self.to_server))?;
            self.to_server.drain(..count);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_drain(cx))?;
        if self.from_client.is_over() {
            return Pin::new(&mut self.tls).poll_write(cx, bytes);
        }
        let part = bytes.get(..bytes.len().min(PIECE_BYTES)).unwrap_or_default();
        self.from_client.pass(part, &mut self.to_server);
        let _ = self.poll_drain(cx)?;
        Poll::Ready(Ok(part.len()))
    }

    /// Reads the rest of the login, partly into `to_client`.
    fn poll_take(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
        to_client: &mut Vec<u8>,
    ) -> Poll<io::Result<()>> {
        if self.from_server.is_over() {
            return Pin::new(&mut self.tls).poll_read(cx, buffer);
        }
        let mut room = [0; PIECE_BYTES];
        let mut piece = ReadBuf::new(&mut room);
        ready!(Pin::new(&mut self.tls).poll_read(cx, &mut piece))?;
        self.from_server.pass(piece.filled(), to_client);
        Poll::Ready(if piece.filled().is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) })
    }

    fn poll_through(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        if self.closing { Pin::new(&mut self.tls).poll_shutdown(cx) } else { Pin::new(&mut self.tls).poll_flush(cx) }
    }
}

impl AsyncRead for TlsServerStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let secure = self.get_mut();
        loop {
            if !secure.to_client.is_empty() {
                let count = buffer.remaining().min(secure.to_client.len());
                buffer.put_slice(secure.to_client.get(..count).unwrap_or_default());
                secure.to_client.drain(..count);
                return Poll::Ready(Ok(()));
            }
            match &mut secure.stage {
                Stage::Greeted(stream, _) => {
                    let mut room = [0];
                    let mut byte = ReadBuf::new(&mut room);
                    ready!(Pin::new(stream).poll_read(cx, &mut byte))?;
                    // The client has disconnected, or sent something that is not allowed before TLS.
                    secure.stage = Stage::Closed;
                }
                Stage::Securing(_) => ready!(secure.poll_secured(cx)),
                Stage::Secured(session) => {
                    ready!(session.poll_take(cx, buffer, &mut secure.to_client))?;
                    if secure.to_client.is_empty() && session.from_server.is_over() {
                        return Poll::Ready(Ok(()));
                    }
                }
                Stage::Closed => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl AsyncWrite for TlsServerStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let secure = self.get_mut();
        ready!(secure.poll_secured(cx));
        match &mut secure.stage {
            Stage::Greeted(..) => Poll::Ready(secure.begin(bytes)),
            Stage::Secured(session) => session.poll_send(cx, bytes),
            Stage::Securing(_) | Stage::Closed => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let secure = self.get_mut();
        ready!(secure.poll_secured(cx));
        match &mut secure.stage {
            Stage::Secured(session) => session.poll_through(cx),
            _ => Poll::Ready(Ok(())),
        }
    }

    /// If the shutdown cannot complete now, each flush continues it.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let secure = self.get_mut();
        match &mut secure.stage {
            Stage::Secured(session) => {
                session.closing = true;
                session.poll_through(cx)
            }
            _ => {
                secure.stage = Stage::Closed;
                Poll::Ready(Ok(()))
            }
        }
    }
}

/// A connection to a server whose certificate name is not checked.
#[cfg(feature = "fuzzing")]
pub(crate) async fn tls_stream_of(stream: TcpStream, config: Arc<ClientConfig>) -> io::Result<TlsServerStream> {
    let name = server::connect::server_name("");
    let log: Arc<Log> = Arc::new(|_| {});
    let (limit, handshake_failed) = (Duration::from_secs(5), Arc::default());
    let security = Security { config, name, limit, server: "it".to_owned(), handshake_failed, log };
    TlsServerStream::greeted(stream, security).await
}
