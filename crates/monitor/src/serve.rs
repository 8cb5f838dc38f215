//! The listeners, and the signals of the process.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use pki::{Authorities, Identity};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use crate::access::Access;
use crate::http::{Pages, Render, answer};
use crate::monitor::Log;
use crate::{Config, Error, Monitor};

/// Time limit of a TLS handshake, and of the headers of a request.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);
/// Time limit of a connection, which carries one request.
const CONNECTION_LIMIT: Duration = Duration::from_secs(60);
/// Maximum number of simultaneous connections.
const CONNECTIONS: usize = 64;

/// The part of the listeners' state that a reload replaces.
struct Gate {
    access: Arc<Access>,
    tls: Option<TlsAcceptor>,
}

impl Gate {
    fn load(config: &Config) -> Result<Self, Error> {
        Ok(Self { access: Arc::new(Access::load(config)?), tls: tls(config)? })
    }
}

/// Audits the fleet and serves the pages until SIGTERM or SIGINT; SIGHUP reads the configuration again.
///
/// # Errors
/// What prevents the start. Later errors go to the log.
pub fn serve(path: &Path, render: Box<Render>, log: Arc<Log>) -> Result<(), Error> {
    let config = Config::load(path)?;
    let gate = Gate::load(&config)?;
    let listen = config.listen.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Error::System { what: "the listeners cannot be set up", source })?;
    runtime.block_on(async {
        // First: a signal that arrives while stored facts are judged must not kill the process.
        let mut signals = Signals::new()?;
        let listeners = open(&listen).await?;
        let for_rounds = Arc::clone(&log);
        let monitor = Arc::new(Monitor::start(config, Box::new(move |text| for_rounds(text)))?);
        let pages = Arc::new(Pages::start(Arc::clone(&monitor), render)?);
        let gate = Arc::new(RwLock::new(gate));
        for (listener, address) in listeners {
            log(&format!("ready: {}://{address}/", if has_tls(&gate) { "https" } else { "http" }));
            tokio::spawn(accept(listener, Arc::clone(&pages), Arc::clone(&gate)));
        }
        let (reload, log_reload) = (Arc::clone(&gate), Arc::clone(&log));
        let reload_all = || match reload_all(path, &listen, &monitor, &reload) {
            Ok(()) => log_reload("the configuration was read again; listeners and state directory stay as they are"),
            Err(error) => log_reload(&format!("the old configuration stays in use: {error}")),
        };
        signals.until_stop(reload_all).await;
        log("stopped");
        Ok::<_, Error>(())
    })?;
    // A page that is being rendered must not delay the exit.
    runtime.shutdown_background();
    Ok(())
}

async fn open(addresses: &[SocketAddr]) -> Result<Vec<(TcpListener, SocketAddr)>, Error> {
    let mut listeners = Vec::new();
    for address in addresses {
        let failed = |source: io::Error| Error::Listen { address: *address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        listeners.push((listener, bound));
    }
    Ok(listeners)
}

fn has_tls(gate: &RwLock<Gate>) -> bool {
    gate.read().unwrap_or_else(PoisonError::into_inner).tls.is_some()
}

fn reload_all(path: &Path, listen: &[SocketAddr], monitor: &Monitor, gate: &RwLock<Gate>) -> Result<(), Error> {
    // The listeners stay as they are, and must stay protected.
    let config = Config::load(path)?.with_listeners(listen)?;
    let new = Gate::load(&config)?;
    monitor.reload(config)?;
    *gate.write().unwrap_or_else(PoisonError::into_inner) = new;
    Ok(())
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> Result<Self, Error> {
        let of = |kind| signal(kind).map_err(|source| Error::System { what: "cannot wait for signals", source });
        Ok(Self {
            terminate: of(SignalKind::terminate())?,
            interrupt: of(SignalKind::interrupt())?,
            hangup: of(SignalKind::hangup())?,
        })
    }

    /// Calls `reload` on each SIGHUP; returns on SIGTERM and SIGINT.
    async fn until_stop(&mut self, reload: impl Fn()) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hangup.recv() => reload(),
            }
        }
    }
}

async fn accept(listener: TcpListener, pages: Arc<Pages>, gate: Arc<RwLock<Gate>>) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (access, tls) = {
            let gate = gate.read().unwrap_or_else(PoisonError::into_inner);
            (Arc::clone(&gate.access), gate.tls.clone())
        };
        let pages = Arc::clone(&pages);
        tokio::spawn(async move {
            let _ = tokio::time::timeout(CONNECTION_LIMIT, handshake(stream, tls, pages, access)).await;
            drop(permit);
        });
    }
}

async fn handshake(stream: TcpStream, tls: Option<TlsAcceptor>, pages: Arc<Pages>, access: Arc<Access>) {
    let Some(tls) = tls else { return http(stream, pages, access).await };
    if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_LIMIT, tls.accept(stream)).await {
        http(stream, pages, access).await;
    }
}

fn http<S: AsyncRead + AsyncWrite + Unpin + Send>(
    stream: S,
    pages: Arc<Pages>,
    access: Arc<Access>,
) -> impl Future<Output = ()> {
    let service = service_fn(move |request| {
        let (pages, access) = (Arc::clone(&pages), Arc::clone(&access));
        async move { Ok::<_, std::convert::Infallible>(answer(request, pages, access).await) }
    });
    async move {
        let mut connection = http1::Builder::new();
        connection.keep_alive(false).timer(TokioTimer::new()).header_read_timeout(HANDSHAKE_LIMIT);
        let _ = connection.serve_connection(TokioIo::new(stream), service).await;
    }
}

/// TLS, with certificates of the readers if an authority for them is given; browsers and Prometheus need not have any.
fn tls(config: &Config) -> Result<Option<TlsAcceptor>, Error> {
    let Some(files) = &config.tls else { return Ok(None) };
    let identity = Identity::from_files(&files.certificate, &files.key)?;
    let verifier = files.client_ca.as_deref().map(|ca| Authorities::from_file(ca)?.client_verifier()).transpose()?;
    Ok(Some(TlsAcceptor::from(tls13::public_server_config(&identity, verifier)?)))
}
