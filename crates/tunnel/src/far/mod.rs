//! The far end, which runs next to the server.

mod admission;
mod server_session;
mod session;

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
use server::{TlsMode, TlsOptions, address::HostPort};
use tokio::{net::TcpListener, sync::watch};

use self::admission::Admission;
#[cfg(feature = "fuzzing")]
pub(crate) use self::server_session::ServerSession;
use crate::{
    Credentials, Error, FIRST_CONNECT_TIMEOUT, Log, ProxyVersion, STOPPED,
    credentials::Reloadable,
    listener::{self, Listener},
    metrics::{self, Counters, count},
    rate_limited_log::RateLimitedLog,
    server_stream::PasswordKey,
    signals::{self, Signals, notify},
};

/// Default of `warm_max` if the server counts unused connections: near ends share its `max_connect_errors`, 100 by
/// default.
const MAX_WARM_IF_COUNTED: u16 = 16;

/// Address of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerAddress {
    /// Its unix socket.
    Socket(PathBuf),
    /// Its TCP port.
    Port(HostPort),
}

impl std::fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Socket(path) => path.display().fmt(f),
            Self::Port(address) => address.fmt(f),
        }
    }
}

/// TLS of the connection to the server.
#[derive(Clone, Debug)]
pub struct ServerTls {
    /// Authority of the server's certificate, PEM.
    pub ca: PathBuf,
    /// Name that the certificate must have; `None` to check no name.
    pub name: Option<String>,
}

impl ServerTls {
    /// TLS to `server`, whose certificate must have its host as name, or `name` if that is given. With `any_name` no
    /// name is checked.
    ///
    /// # Errors
    /// [`Error::TlsToSocket`].
    pub fn to(server: &ServerAddress, ca: PathBuf, name: Option<&str>, any_name: bool) -> Result<Self, Error> {
        let host = server.certificate_name().ok_or(Error::TlsToSocket)?;
        Ok(Self { ca, name: (!any_name).then(|| name.unwrap_or(host).to_owned()) })
    }
}

/// Options of a far end.
#[derive(Clone, Debug)]
pub struct FarOptions {
    /// Addresses for links.
    pub listen: Vec<HostPort>,
    /// Address of the server.
    pub server: ServerAddress,
    /// Certificate, key and authority of this end.
    pub credentials: Credentials,
    /// Certificate names of near ends that may connect; if empty, all certificates of the authority may.
    pub allow: Vec<String>,
    /// TLS for the connection to the server's port.
    pub server_tls: Option<ServerTls>,
    /// Allow a plaintext connection to a server on another host.
    pub plaintext_server: bool,
    /// Send the address of the near end to the server with the PROXY protocol.
    pub proxy: Option<ProxyVersion>,
    /// Maximum number of server connections kept ready for one near end; `None`: unlimited, but 16
    /// if the server counts unused connections against the host they came from.
    pub warm_max: Option<u16>,
    /// Maximum number of links.
    pub max_links: usize,
    /// Maximum number of simultaneous handshakes.
    pub max_handshakes: usize,
    /// Maximum number of simultaneous handshakes per address.
    pub max_handshakes_per_address: usize,
    /// Time limit of a handshake.
    pub handshake_timeout: Duration,
    /// Time limit of connecting to the server.
    pub connect_timeout: Duration,
    /// Time limit for running sessions after the request to stop.
    pub drain: Duration,
    /// Address at which metrics are served.
    pub metrics: Option<SocketAddr>,
}

/// A listening far end.
pub struct Far {
    listeners: Vec<TcpListener>,
    shared: Arc<FarShared>,
    signals: Signals,
    metrics: Option<std::net::TcpListener>,
    log: Arc<Log>,
}

/// Shared by all links.
pub(crate) struct FarShared {
    options: FarOptions,
    config: Reloadable<ServerConfig>,
    to_server: Option<Reloadable<ClientConfig>>,
    counters: Arc<Counters>,
    admission: Admission,
    /// Maximum number of server connections kept ready for a near end.
    max_warm: u16,
    stop: watch::Receiver<bool>,
    stop_sender: watch::Sender<bool>,
    /// Notifies links of reloaded certificates.
    reloaded: watch::Sender<()>,
    /// Whether the last TLS handshake with the server failed.
    handshake_failed: Arc<AtomicBool>,
    password_key: Arc<PasswordKey>,
    link_failures: Arc<RateLimitedLog>,
    server_failures: Arc<RateLimitedLog>,
    log: Arc<Log>,
}

impl Far {
    /// Reads the certificates and listens. Must be called inside a runtime.
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
                "runs as {user}, so accounts that log in by that name at the socket (unix_socket, auth_socket) are \
                 open to every client of the tunnel; run it as a user of its own"
            ));
        }
        let admission = Admission::new(options.max_links, options.max_handshakes, options.max_handshakes_per_address);
        let max_warm = max_warm(&options);
        let counters = Arc::new(Counters::default());
        let (reloaded, handshake_failed) = (watch::channel(()).0, Arc::default());
        let password_key = Arc::default();
        if let ServerAddress::Socket(_) = options.server {
            prepare(&password_key);
        }
        let shared = FarShared {
            options,
            config,
            to_server,
            counters,
            admission,
            max_warm,
            stop,
            stop_sender,
            reloaded,
            handshake_failed,
            password_key,
            link_failures: RateLimitedLog::new(&log),
            server_failures: RateLimitedLog::new(&log),
            log: Arc::clone(&log),
        };
        Ok(Self { listeners, shared: Arc::new(shared), signals, metrics, log })
    }

    /// Addresses of the listeners.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// The log line that announces that this end accepts near ends.
    #[must_use]
    pub fn ready_text(&self) -> String {
        let addresses: Vec<String> = self.addresses().iter().map(ToString::to_string).collect();
        format!("ready: far end on {}", addresses.join(", "))
    }

    /// Tries once to reach the server; returns the error if that fails.
    pub async fn try_server(&self) -> Option<String> {
        let test_handshake = tokio::time::timeout(FIRST_CONNECT_TIMEOUT, session::try_server(&self.shared)).await;
        let failure =
            test_handshake.unwrap_or_else(|_| Err(format!("{}: does not answer", self.shared.options.server))).err();
        self.shared.handshake_failed.store(failure.is_some(), Relaxed);
        failure
    }

    /// Serves until a signal asks it to stop; the last line of the log says that it has stopped.
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
        // Gives idle links time to send their last message.
        tokio::time::sleep(Duration::from_millis(20)).await;
        (self.log)(STOPPED);
    }
}

/// Generates the key for passwords in the background, so that the first client need not wait for
/// it.
fn prepare(key: &Arc<PasswordKey>) {
    let key = Arc::clone(key);
    // Without a thread, the key is generated when it is needed.
    let _ = std::thread::Builder::new().spawn(move || _ = key.get());
}

impl FarShared {
    fn reload(&self) {
        // Reloads both or neither: a partial reload would be reported as a failed one.
        let read = self
            .config
            .read()
            .and_then(|credentials| Ok((credentials, self.to_server.as_ref().map(Reloadable::read).transpose()?)));
        match read {
            Ok((credentials, to_server)) => {
                self.config.set(credentials);
                if let (Some(reloadable), Some(config)) = (&self.to_server, to_server) {
                    reloadable.set(config);
                }
                count(&self.counters.reloads_total);
                let _ = self.reloaded.send(());
                (self.log)("certificates reloaded; open links close when their session ends");
            }
            Err(error) => {
                count(&self.counters.reload_failures_total);
                (self.log)(&format!("the certificates were not reloaded: {error}"));
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

/// Rejects a plaintext connection to a server on another host, unless it is allowed.
fn is_near(options: &FarOptions) -> Result<(), Error> {
    let ServerAddress::Port(address) = &options.server else { return Ok(()) };
    let resolved = listener::resolve(address)?;
    if options.server_tls.is_some()
        || options.plaintext_server
        || resolved.iter().all(|address| address.ip().is_loopback())
    {
        return Ok(());
    }
    Err(Error::PlaintextServer { address: address.to_string() })
}

/// Maximum number of server connections kept ready for a near end.
fn max_warm(options: &FarOptions) -> u16 {
    let counted = match &options.server {
        ServerAddress::Socket(_) => false,
        ServerAddress::Port(_) if options.proxy.is_some() => true,
        ServerAddress::Port(address) => listener::resolve(address).is_ok_and(|resolved| {
            let exempt: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
            !resolved.iter().all(|address| exempt.contains(&address.ip()))
        }),
    };
    options.warm_max.unwrap_or(if counted { MAX_WARM_IF_COUNTED } else { u16::MAX })
}

/// The user that this process runs as, if a server with socket authentication may give that user an administrator's
/// account without a password: root, or the server's own user.
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

async fn accept(listener: TcpListener, shared: Arc<FarShared>) {
    loop {
        match listener.accept().await {
            Ok((socket, address)) => match shared.admission.admit(address.ip()) {
                Some(entry) => {
                    tokio::spawn(session::link(Arc::clone(&shared), socket, address, entry));
                }
                None => count(&shared.counters.links_turned_away_total),
            },
            Err(error) => {
                // Most likely out of file descriptors; other connections must close first.
                (shared.log)(&format!("a connection cannot be accepted: {error}"));
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_certificate_of_the_server_has_the_name_of_its_host() {
        let server: ServerAddress = "db1:3306".parse().unwrap();
        let name = |name, any| ServerTls::to(&server, PathBuf::from("ca.pem"), name, any).unwrap().name;
        assert_eq!((name(None, false), name(Some("db"), false)), (Some("db1".to_owned()), Some("db".to_owned())));
        assert_eq!(name(None, true), None);
        let socket: ServerAddress = "/run/mysqld/mysqld.sock".parse().unwrap();
        let error = ServerTls::to(&socket, PathBuf::from("ca.pem"), None, false).unwrap_err();
        assert!(matches!(error, Error::TlsToSocket) && error.is_misuse());
    }
}
