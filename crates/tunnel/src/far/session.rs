//! Serves one link: handshake, then one session after the other.

use std::{
    io,
    net::SocketAddr,
    path::Path,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use jiff::Timestamp;
use pki::Certificate;
use rustls::server::UnbufferedServerConnection;
use server::address::HostPort;
use tls13::{Handshake, record};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    sync::watch,
    time::{sleep, timeout},
};

use super::{FarShared, ServerAddress, admission::Admitted, server_session::ServerSession};
use crate::{
    Error,
    copier::Copier,
    link::{self, Link},
    local_stream::LocalStream,
    message::{self, Kind, VERSION},
    metrics::{Counted, count},
    proxy,
    server_stream::{
        SocketServerStream, TlsServerStream,
        tls::{self, Security},
    },
    socket::enable_keepalive,
    stream_socket::StreamSocket,
};

/// Time without any message after which an unused link counts as dead: near ends send pings.
const IDLE_TIMEOUT: Duration = Duration::from_secs(180);

/// Time within which a server on this host usually sends its greeting.
const USUAL_GREETING_DELAY: Duration = Duration::from_millis(3);

/// Serves one link until it closes.
pub(super) async fn link(shared: Arc<FarShared>, mut socket: TcpStream, address: SocketAddr, mut admitted: Admitted) {
    enable_keepalive(&socket);
    let limit = shared.options.handshake_timeout;
    let Some(began) = first_record(&mut socket, &address.to_string(), &mut admitted, limit).await else {
        return count(&shared.counters.links_turned_away_total);
    };
    let local_address = socket.local_addr().unwrap_or(address);
    let mut peer = Peer { address, local_address, reloaded: shared.reloaded.subscribe(), not_after: None };
    let proven = tokio::select! {
        biased;
        proven = async { authenticate(&shared, socket, began?, &mut peer).await } => proven,
        () = admitted.evicted() => return count(&shared.counters.links_turned_away_total),
    };
    let mut link = match proven {
        Ok(link) => link,
        Err(error) => {
            count(&shared.counters.link_failures_total);
            shared.link_failures.log(error.to_string());
            return;
        }
    };
    let _permit = admitted.proven();
    count(&shared.counters.links_total);
    match serve(&shared, &mut link, &mut peer).await {
        Ok(()) => link.close().await,
        Err(Error::Closed { .. } | Error::Connect { .. }) => {}
        Err(error) => shared.link_failures.log(error.to_string()),
    }
}

/// Waits for the first record, until the time limit, or until the slot is needed for another
/// connection.
async fn first_record(
    socket: &mut TcpStream,
    peer: &str,
    admitted: &mut Admitted,
    limit: Duration,
) -> Option<Result<Vec<u8>, Error>> {
    let mut came = Vec::new();
    let record = tokio::select! {
        biased;
        record = timeout(limit, link::next_record(socket, &mut came, 0, peer)) => record.ok()?,
        () = admitted.evicted() => return None,
    };
    if record.is_ok() && is_hello(&came) {
        admitted.started();
    }
    Some(record.map(|_| came))
}

/// Whether a record starts a handshake, as far as a cheap check can tell.
fn is_hello(record: &[u8]) -> bool {
    const CLIENT_HELLO: u8 = 1;
    matches!(record, [record::HANDSHAKE, _, _, _, _, CLIENT_HELLO, ..])
}

/// The peer of a link.
struct Peer {
    address: SocketAddr,
    local_address: SocketAddr,
    /// Signals that the certificates used to check the peer were reloaded.
    reloaded: watch::Receiver<()>,
    /// Expiry of the peer's certificate.
    not_after: Option<Timestamp>,
}

impl Peer {
    /// Whether the peer must reconnect, because its certificate may no longer be valid.
    fn must_reconnect(&self) -> bool {
        self.reloaded.has_changed().unwrap_or(false) || self.not_after.is_some_and(|end| end < Timestamp::now())
    }
}

/// Handshake, name check and Hello; each within the time limit of a handshake.
async fn authenticate(shared: &FarShared, socket: TcpStream, began: Vec<u8>, peer: &mut Peer) -> Result<Link, Error> {
    let name = peer.address.to_string();
    let limit = shared.options.handshake_timeout;
    let tls = UnbufferedServerConnection::new(shared.config.get());
    let tls = tls.map_err(|source| Error::Tls { peer: name.clone(), source })?;
    let (mut link, chain) = Link::open(socket, began, Handshake::Server(Box::new(tls)), &name, limit).await?;
    let certificate = chain.first().and_then(|der| Certificate::from_der(der).ok());
    peer.not_after = certificate.as_ref().map(|certificate| certificate.not_after);
    if let Err(names) = pki::check_name(&shared.options.allow, &chain) {
        count(&shared.counters.names_refused_total);
        let _ = link.send(Kind::Refused, format!("{names} may not connect here").as_bytes()).await;
        link.close().await;
        return Err(Error::Protocol { peer: format!("{name} ({names})"), what: "is not on the list of --allow" });
    }
    let hello = timeout(limit, link.receive()).await;
    let hello = hello.map_err(|_| Error::Silent { peer: name, seconds: limit.as_secs() })??;
    if hello.kind != Kind::Hello || hello.payload != [VERSION] {
        let _ = link.send(Kind::Refused, b"another version of the tunnel's protocol").await;
        return Err(link.protocol("it speaks another version of the tunnel's protocol"));
    }
    link.send(Kind::Hello, &message::far_hello(shared.max_warm)).await?;
    Ok(link)
}

async fn serve(shared: &FarShared, link: &mut Link, peer: &mut Peer) -> Result<(), Error> {
    let mut stop = shared.stop.clone();
    loop {
        link.release_buffers();
        let message = tokio::select! {
            biased;
            message = link.receive() => Some(message?),
            () = stopped(&mut stop) => None,
            _ = peer.reloaded.changed() => None,
            () = sleep(IDLE_TIMEOUT) => return Ok(()),
        };
        let Some(message) = message else { return link.send(Kind::Leaving, &[]).await };
        match message.kind {
            Kind::Attach if peer.must_reconnect() => return link.send(Kind::Leaving, &[]).await,
            Kind::Attach => while session(shared, link, peer).await? {},
            Kind::Ping => link.send(Kind::Pong, &[]).await?,
            // The message belongs to a session that has just ended at this end.
            Kind::Data | Kind::Fin | Kind::Reset => {}
            _ => return Err(link.protocol("it sent an unexpected message")),
        }
    }
}

/// Returns when the far end has to stop.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Serves one server connection. Returns whether the next one was already requested.
async fn session(shared: &FarShared, link: &mut Link, peer: &Peer) -> Result<bool, Error> {
    let mut server = match flush_if_slow(link, fetch(shared, peer.address, peer.local_address)).await? {
        Ok(server) => server,
        Err(error) => {
            count(&shared.counters.attach_failures_total);
            let name = shared.options.server.to_string();
            shared.server_failures.log(format!("{name}: {error}"));
            link.send(Kind::Detached, format!("{name}: {error}").as_bytes()).await?;
            return Ok(false);
        }
    };
    if link.unsent() > 0 {
        // Sends the end of the previous session together with the greeting, if the greeting arrives at once.
        let _ = timeout(USUAL_GREETING_DELAY, server.readable()).await;
    }
    count(&shared.counters.sessions_total);
    let busy = AtomicBool::new(false);
    let ended = {
        let _counted = Counted::new(&shared.counters.sessions);
        let mut stop = shared.stop.clone();
        let side = ServerSession::new(&busy);
        let mut copying = pin!(Copier::new(link, &mut server, &shared.counters, side, Vec::new()).run());
        tokio::select! {
            biased;
            ended = &mut copying => ended.map(|side| side.is_next_requested()),
            // An unused connection is closed at once.
            () = stopped(&mut stop) => match busy.load(Relaxed) {
                true => {
                    let ended = timeout(shared.options.drain, copying).await;
                    ended.map_or(Ok(false), |ended| ended.map(|side| side.is_next_requested()))
                }
                false => Ok(false),
            },
        }
    };
    drop(server);
    if ended? && !*shared.stop.borrow() && !peer.must_reconnect() {
        link.queue(Kind::Detached, &[])?;
        return Ok(true);
    }
    link.send(Kind::Detached, &[]).await?;
    Ok(false)
}

/// Runs `connecting`. If the server is slow, flushes the link first, so that the end of the previous session is not
/// delayed.
async fn flush_if_slow<T>(link: &mut Link, connecting: impl Future<Output = T>) -> Result<T, Error> {
    let mut connecting = pin!(connecting);
    match timeout(USUAL_GREETING_DELAY, &mut connecting).await {
        Ok(connected) => Ok(connected),
        Err(_) => {
            link.flush().await?;
            Ok(connecting.await)
        }
    }
}

/// Connects to the server's unix socket; retries while its queue of connections is full, which a non-blocking socket
/// reports as an error.
async fn connect_socket(path: &Path) -> io::Result<StreamSocket> {
    loop {
        match StreamSocket::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(Duration::from_millis(2)).await,
            other => return other,
        }
    }
}

/// Connects to the server for a client. TLS starts only with the client's login. After a failed handshake it is tested
/// in advance, so that near ends learn of the failure and use another far end.
async fn fetch(shared: &FarShared, address: SocketAddr, local_address: SocketAddr) -> io::Result<LocalStream> {
    if shared.to_server.is_some() && shared.handshake_failed.load(Relaxed) {
        try_server(shared).await.map_err(io::Error::other)?;
        shared.handshake_failed.store(false, Relaxed);
    }
    connect(shared, address, local_address).await
}

async fn connect(shared: &FarShared, address: SocketAddr, local_address: SocketAddr) -> io::Result<LocalStream> {
    let connecting = async {
        Ok::<LocalStream, io::Error>(match &shared.options.server {
            ServerAddress::Socket(path) => {
                let mut wire = connect_socket(path).await?;
                send_proxy_header(shared, &mut wire, address, local_address).await?;
                SocketServerStream::new(wire, &shared.password_key).into()
            }
            ServerAddress::Port(server) => {
                let mut stream = TcpStream::connect((server.host.as_str(), server.port)).await?;
                let security = security(shared, server);
                let near = stream.peer_addr()?.ip().to_canonical().is_loopback();
                if !near && !shared.options.plaintext_server && security.is_none() {
                    return Err(io::Error::other(
                        "its name resolves to another host now, and clear text is not allowed there",
                    ));
                }
                send_proxy_header(shared, &mut stream, address, local_address).await?;
                match security {
                    Some(security) => {
                        let _ = stream.set_nodelay(true);
                        enable_keepalive(&stream);
                        TlsServerStream::greeted(stream, security).await?.into()
                    }
                    None => {
                        enable_keepalive(&stream);
                        stream.into()
                    }
                }
            }
        })
    };
    let limit = shared.options.connect_timeout;
    let late = || io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", limit.as_secs()));
    timeout(limit, connecting).await.map_err(|_| late())?
}

/// Sends the client's address to the server, if configured.
async fn send_proxy_header(
    shared: &FarShared,
    server: &mut (impl AsyncWrite + Unpin),
    address: SocketAddr,
    local_address: SocketAddr,
) -> io::Result<()> {
    match shared.options.proxy {
        Some(version) => server.write_all(&proxy::header(version, address, local_address)).await,
        None => Ok(()),
    }
}

fn security(shared: &FarShared, address: &HostPort) -> Option<Security> {
    let (config, tls) = (shared.to_server.as_ref()?, shared.options.server_tls.as_ref()?);
    Some(Security {
        config: config.get(),
        name: server::connect::server_name(tls.name.as_deref().unwrap_or(&address.host)),
        limit: shared.options.connect_timeout,
        server: address.to_string(),
        handshake_failed: Arc::clone(&shared.handshake_failed),
        log: Arc::clone(&shared.log),
    })
}

/// Tests whether the server can be reached, including TLS. A plaintext server is not connected to:
/// it would count an aborted connection, and there is no certificate to check.
pub(super) async fn try_server(shared: &FarShared) -> Result<(), String> {
    let failed = |error: &io::Error| format!("{}: {}", shared.options.server, tls::describe(error));
    if let ServerAddress::Socket(path) = &shared.options.server {
        return std::fs::metadata(path).map(drop).map_err(|error| failed(&error));
    }
    if shared.to_server.is_none() {
        return Ok(());
    }
    // To the server this is a connection from this host that sends nothing.
    let local_address = SocketAddr::from(([127, 0, 0, 1], 0));
    match connect(shared, local_address, local_address).await.map_err(|error| failed(&error))? {
        LocalStream::Tls(secure) => secure.test_handshake().await.map_err(|error| failed(&error)),
        LocalStream::Socket(_) | LocalStream::Tcp(_) | LocalStream::Plain(_) => Ok(()),
    }
}
