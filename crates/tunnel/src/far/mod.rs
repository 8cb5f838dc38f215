//! The far end, beside the server.

mod admission;
mod compressed;
mod login;
mod password;
mod secure;
mod session;
mod socket;
mod watcher;

use std::os::unix::fs::MetadataExt;
use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use rustls::{ClientConfig, ServerConfig};
use server::{TlsMode, TlsOptions};
use tokio::{net::TcpListener, sync::watch};

use self::{admission::Admission, password::PasswordKey};
#[cfg(feature = "fuzzing")]
pub(crate) use self::{login::login_of, secure::secure_of, watcher::watch_of};
pub(crate) use self::{secure::Secure, socket::AtSocket};
use crate::{
    Credentials, Error, Log, ProxyVersion,
    credentials::Reloadable,
    listener::{self, Listener},
    metrics::{self, Counters, count},
    rate_limited_log::RateLimitedLog,
    signals::{self, Signals, notify},
};

/// Whoever starts it waits no longer for the server, which may come later.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Near ends share the server's `max_connect_errors`, 100 by default.
const COUNTED_AHEAD: u16 = 16;

/// The server, as the far end reaches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerAddress {
    /// Its unix socket.
    Socket(PathBuf),
    /// Its port, as `HOST:PORT`.
    Port(String),
}

impl std::fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Socket(path) => path.display().fmt(f),
            Self::Port(address) => f.write_str(address),
        }
    }
}

/// How the way to a server is encrypted, if it is.
#[derive(Clone, Debug)]
pub struct ServerTls {
    /// The authority that its certificate has to come from, PEM.
    pub ca: PathBuf,
    /// The name that it has to carry; `None`: names are not looked at.
    pub name: Option<String>,
}

/// What a far end needs.
#[derive(Clone, Debug)]
pub struct FarOptions {
    /// Ports for links, as `HOST:PORT`.
    pub listen: Vec<String>,
    /// The server.
    pub server: ServerAddress,
    /// Certificate, key, authority.
    pub credentials: Credentials,
    /// Names in certificates of near ends that may come; empty: all that the authority has certified.
    pub allow: Vec<String>,
    /// The way to the server's port is encrypted.
    pub server_tls: Option<ServerTls>,
    /// A server on another host may be reached in clear text.
    pub plaintext_server: bool,
    /// Says to the server who the near end is.
    pub proxy: Option<ProxyVersion>,
    /// The most server connections that may wait for clients of one near end; `None`: as many as it likes, but
    /// 16 where the server holds those given up against the host they came from.
    pub warm_max: Option<u16>,
    /// Links at once.
    pub max_links: usize,
    /// Handshakes at once.
    pub max_handshakes: usize,
    /// Handshakes at once from one address.
    pub max_handshakes_per_address: usize,
    /// How long a handshake may take.
    pub handshake_timeout: Duration,
    /// How long connecting to the server may take.
    pub connect_timeout: Duration,
    /// How long sessions may go on after the order to stop.
    pub drain: Duration,
    /// Where metrics are read.
    pub metrics: Option<SocketAddr>,
}

/// A far end that listens.
pub struct Far {
    listeners: Vec<TcpListener>,
    shared: Arc<Shared>,
    signals: Signals,
    metrics: Option<std::net::TcpListener>,
    log: Arc<Log>,
}

/// What all links share.
pub(crate) struct Shared {
    options: FarOptions,
    config: Reloadable<ServerConfig>,
    to_server: Option<Reloadable<ClientConfig>>,
    counters: Arc<Counters>,
    admission: Admission,
    /// How many server connections of a near end may wait for clients.
    most_ahead: u16,
    stop: watch::Receiver<bool>,
    stop_sender: watch::Sender<bool>,
    /// The certificates are others.
    reloaded: watch::Sender<()>,
    /// The server's TLS failed the last time.
    unfit: Arc<AtomicBool>,
    password_key: Arc<PasswordKey>,
    link_failures: Arc<RateLimitedLog>,
    server_failures: Arc<RateLimitedLog>,
    log: Arc<Log>,
}

impl Far {
    /// Reads the certificates and listens. Has to be called within a runtime.
    ///
    /// # Errors
    /// [`Error`], by cause.
    pub fn open(options: FarOptions, log: Arc<Log>) -> Result<Self, Error> {
        let config = Reloadable::server(&options.credentials)?;
        let to_server = options.server_tls.clone().map(|tls| Reloadable::new(move || tls.config())).transpose()?;
        is_near(&options)?;
        let listeners = listeners(&options)?;
        let metrics = options.metrics.map(listener::metrics).transpose()?;
        let signals = Signals::new()?;
        let (stop_sender, stop) = signals::stopping();
        if let Some(user) = trusted_user(&options) {
            log(&format!(
                "runs as {user}, so accounts that log in by that name at the socket (unix_socket, auth_socket) are open to every \
                 client of the tunnel; run it as a user of its own"
            ));
        }
        let admission = Admission::new(options.max_links, options.max_handshakes, options.max_handshakes_per_address);
        let most_ahead = most_ahead(&options);
        let counters = Arc::new(Counters::default());
        let (reloaded, unfit) = (watch::channel(()).0, Arc::default());
        let password_key = Arc::default();
        if let ServerAddress::Socket(_) = options.server {
            prepare(&password_key);
        }
        let shared = Shared {
            options,
            config,
            to_server,
            counters,
            admission,
            most_ahead,
            stop,
            stop_sender,
            reloaded,
            unfit,
            password_key,
            link_failures: RateLimitedLog::new(&log),
            server_failures: RateLimitedLog::new(&log),
            log: Arc::clone(&log),
        };
        Ok(Self { listeners, shared: Arc::new(shared), signals, metrics, log })
    }

    /// Where it listens.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Tries once whether the server can be reached, and tells why not.
    pub async fn try_server(&self) -> Option<String> {
        let tried = tokio::time::timeout(CONNECT_TIMEOUT, session::try_server(&self.shared)).await;
        let failure = tried.unwrap_or_else(|_| Err(format!("{}: does not answer", self.shared.options.server))).err();
        self.shared.unfit.store(failure.is_some(), Relaxed);
        failure
    }

    /// Serves until it is told to stop.
    pub async fn run(mut self) {
        if let Some(listener) = self.metrics.take() {
            tokio::spawn(metrics::serve(listener, Arc::clone(&self.shared.counters), "far"));
        }
        let accepting: Vec<_> =
            self.listeners.drain(..).map(|listener| tokio::spawn(accept(listener, Arc::clone(&self.shared)))).collect();
        notify("READY=1");
        let shared = Arc::clone(&self.shared);
        self.signals.until_stop(|| shared.reload()).await;
        accepting.iter().for_each(tokio::task::JoinHandle::abort);
        let _ = self.shared.stop_sender.send(true);
        let (sessions, drain) = (|| shared.counters.sessions.load(Relaxed), shared.options.drain);
        self.signals.drain(sessions, drain, &*self.log).await;
        // Idle links say goodbye.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Makes the key for passwords beside the rest: the first client that needs it need not wait.
fn prepare(key: &Arc<PasswordKey>) {
    let key = Arc::clone(key);
    // If there is no thread to be had, it is made when it is needed.
    let _ = std::thread::Builder::new().spawn(move || _ = key.get());
}

impl Shared {
    fn reload(&self) {
        // Both or none: half of it would be told as nothing.
        let read =
            self.config.read().and_then(|own| Ok((own, self.to_server.as_ref().map(Reloadable::read).transpose()?)));
        match read {
            Ok((own, to_server)) => {
                self.config.set(own);
                if let (Some(reloadable), Some(config)) = (&self.to_server, to_server) {
                    reloadable.set(config);
                }
                count(&self.counters.reloads_total);
                let _ = self.reloaded.send(());
                (self.log)("certificates are read again; links that are open are left when their session ends");
            }
            Err(error) => {
                count(&self.counters.reload_failures_total);
                (self.log)(&format!("the certificates are not changed: {error}"));
            }
        }
    }
}

impl ServerTls {
    fn config(&self) -> Result<Arc<ClientConfig>, Error> {
        let mode = if self.name.is_some() { TlsMode::VerifyIdentity } else { TlsMode::VerifyCa };
        let options = TlsOptions { ca_file: Some(self.ca.clone()), ..TlsOptions::default() };
        Ok(server::connect::client_config(mode, &options, self.name.as_deref().unwrap_or_default())?)
    }
}

/// A server in clear text must not be on another host by accident.
fn is_near(options: &FarOptions) -> Result<(), Error> {
    let ServerAddress::Port(address) = &options.server else { return Ok(()) };
    let resolved = listener::resolve(address)?;
    if options.server_tls.is_some()
        || options.plaintext_server
        || resolved.iter().all(|address| address.ip().is_loopback())
    {
        return Ok(());
    }
    Err(Error::PlaintextServer { address: address.clone() })
}

/// How many server connections of a near end may wait for clients.
fn most_ahead(options: &FarOptions) -> u16 {
    let counted = match &options.server {
        ServerAddress::Socket(_) => false,
        ServerAddress::Port(_) if options.proxy.is_some() => true,
        ServerAddress::Port(address) => listener::resolve(address).is_ok_and(|resolved| {
            let exempt: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
            !resolved.iter().all(|address| exempt.contains(&address.ip()))
        }),
    };
    options.warm_max.unwrap_or(if counted { COUNTED_AHEAD } else { u16::MAX })
}

/// The user whose name a server may take for a password at its socket, if that is an administrator's.
fn trusted_user(options: &FarOptions) -> Option<&'static str> {
    let ServerAddress::Socket(path) = &options.server else { return None };
    let user = rustix::process::geteuid();
    let of_server = std::fs::metadata(path).is_ok_and(|socket| socket.uid() == user.as_raw());
    if user.is_root() { Some("root") } else { of_server.then_some("the server's own user") }
}

fn listeners(options: &FarOptions) -> Result<Vec<TcpListener>, Error> {
    let mut found = Vec::new();
    for listener in Listener::inherited()? {
        if let Listener::Tcp(listener) = listener {
            found.push(listener.into_inner());
        }
    }
    if found.is_empty() {
        for address in &options.listen {
            for address in listener::resolve(address)? {
                found.push(listener::listen_on(address)?);
            }
        }
    }
    let system = |source| Error::System { what: "the listener cannot be used", source };
    found.into_iter().map(|listener| TcpListener::from_std(listener).map_err(system)).collect()
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((socket, address)) => match shared.admission.admit(address.ip()) {
                Some(entry) => {
                    tokio::spawn(session::link(Arc::clone(&shared), socket, address, entry));
                }
                None => count(&shared.counters.links_turned_away_total),
            },
            Err(error) => {
                // Out of descriptors, most likely: others have to end first.
                (shared.log)(&format!("a connection cannot be accepted: {error}"));
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}
