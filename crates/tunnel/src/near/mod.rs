//! The near end, which runs next to the client.

mod client_session;
mod demand;
mod pool;

use std::{
    fmt,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use server::address::{HostPort, without_zone};
use tokio::time::{MissedTickBehavior, interval};

#[cfg(feature = "fuzzing")]
pub(crate) use self::client_session::ClientSession;
use self::pool::Pool;
use crate::{
    Credentials, Error, FIRST_CONNECT_TIMEOUT, Listen, Log, STOPPED, SocketAccess,
    credentials::Reloadable,
    listener::{self, Listener},
    metrics::{self, Counters},
    signals::{Signals, notify},
};

/// A far end that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedFarEnd(HostPort);

impl fmt::Display for ReachedFarEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "far end {} answers", self.0)
    }
}

/// Options of a near end.
#[derive(Clone, Debug)]
pub struct NearOptions {
    /// Addresses for clients.
    pub listen: Vec<Listen>,
    /// Access rights of unix sockets.
    pub socket: SocketAccess,
    /// Allow a plaintext port that other hosts can reach.
    pub plaintext_listener: bool,
    /// Addresses of far ends, the preferred one first.
    pub fars: Vec<HostPort>,
    /// Name that the far ends' certificates must have instead of their address.
    pub far_name: Option<String>,
    /// Certificate, key and authority of this end.
    pub credentials: Credentials,
    /// Maximum number of server connections kept ready.
    pub warm_max: usize,
    /// Minimum number kept ready even without clients.
    pub warm_min: usize,
    /// Maximum age of a ready connection: well below the server's `connect_timeout`.
    pub warm_age: Duration,
    /// How long a client waits for a server connection.
    pub wait: Duration,
    /// Maximum number of clients.
    pub max_clients: usize,
    /// Hide the server's TLS capability from clients.
    pub hide_tls: bool,
    /// Interval of retries of failed far ends.
    pub health_interval: Duration,
    /// Time limit of a handshake, and of the far end's connection to the server.
    pub connect_timeout: Duration,
    /// Time limit for running sessions after the request to stop.
    pub drain: Duration,
    /// Address at which metrics are served.
    pub metrics: Option<SocketAddr>,
}

/// A listening near end.
pub struct Near {
    listeners: Vec<Listener>,
    pool: Arc<Pool>,
    signals: Signals,
    metrics: Option<std::net::TcpListener>,
}

/// Shared by all links and clients.
pub(crate) struct NearShared {
    options: NearOptions,
    config: Reloadable<ClientConfig>,
    names: Vec<ServerName<'static>>,
    counters: Arc<Counters>,
    log: Arc<Log>,
}

/// Interval of the pool's maintenance.
const TICK: Duration = Duration::from_millis(100);

impl Near {
    /// Reads the certificates and listens. Must be called inside a runtime.
    ///
    /// # Errors
    /// [`Error`], by cause.
    pub fn open(options: NearOptions, log: Arc<Log>) -> Result<Self, Error> {
        let config = Reloadable::client(&options.credentials)?;
        let names = options.fars.iter().map(|far| name(&options, far)).collect::<Result<_, _>>()?;
        let listeners = listeners(&options)?;
        let metrics = options.metrics.map(listener::metrics).transpose()?;
        let signals = Signals::new()?;
        let counters = Arc::new(Counters::default());
        let pool = Pool::new(NearShared { options, config, names, counters, log });
        Ok(Self { listeners, pool, signals, metrics })
    }

    /// Addresses of the listeners.
    #[must_use]
    pub fn addresses(&self) -> Vec<String> {
        self.listeners.iter().map(ToString::to_string).collect()
    }

    /// The log line that announces that this end accepts clients.
    #[must_use]
    pub fn ready_text(&self) -> String {
        format!("ready: near end on {}", self.addresses().join(", "))
    }

    /// Tries all far ends once, simultaneously; returns the result of each.
    pub async fn try_far_ends(&self) -> Vec<Result<ReachedFarEnd, Error>> {
        let options = &self.pool.shared().options;
        let limit = options.connect_timeout.min(FIRST_CONNECT_TIMEOUT);
        let trying = |number| tokio::spawn(pool::try_far_end(Arc::clone(&self.pool), number, limit));
        let checks: Vec<_> = (0..options.fars.len()).map(trying).collect();
        let mut test_handshake = Vec::new();
        for (number, (far, check)) in options.fars.iter().zip(checks).enumerate() {
            let result = check.await.unwrap_or_else(|_| Err(self.pool.silent(number, limit)));
            test_handshake.push(result.map(|()| ReachedFarEnd(far.clone())));
        }
        test_handshake
    }

    /// Serves until a signal asks it to stop; the last line of the log says that it has stopped.
    pub async fn run(mut self) {
        let shared = self.pool.shared();
        if let Some(listener) = self.metrics.take() {
            tokio::spawn(metrics::serve(listener, Arc::clone(&shared.counters), "near"));
        }
        let accepting: Vec<_> =
            self.listeners.drain(..).map(|listener| tokio::spawn(accept(listener, Arc::clone(&self.pool)))).collect();
        let ticking = tokio::spawn(tick(Arc::clone(&self.pool)));
        notify("READY=1");
        let pool = Arc::clone(&self.pool);
        self.signals.until_stop(|| pool.reload()).await;
        for task in accepting {
            // Dropping the listener removes the socket's file.
            task.abort();
            let _ = task.await;
        }
        ticking.abort();
        self.pool.stop();
        let (counters, drain) = (&shared.counters, shared.options.drain);
        self.signals.drain(|| counters.sessions.load(Relaxed), drain, &*shared.log).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        (shared.log)(STOPPED);
    }
}

fn name(options: &NearOptions, far: &HostPort) -> Result<ServerName<'static>, Error> {
    let name = options.far_name.as_deref().unwrap_or_else(|| without_zone(&far.host));
    ServerName::try_from(name.to_owned()).map_err(|_| Error::ServerName { name: name.to_owned() })
}

fn listeners(options: &NearOptions) -> Result<Vec<Listener>, Error> {
    let mut found = Listener::inherited()?;
    if found.is_empty() {
        for listen in &options.listen {
            found.extend(Listener::open(listen, options.socket)?);
        }
    }
    match found.iter().find(|listener| listener.is_reachable()) {
        Some(open) if !options.plaintext_listener => Err(Error::PlaintextListener { address: open.to_string() }),
        _ => Ok(found),
    }
}

async fn accept(listener: Listener, pool: Arc<Pool>) {
    loop {
        match listener.accept().await {
            Ok(client) => Pool::serve(&pool, client),
            Err(error) => {
                (pool.shared().log)(&format!("a client cannot be accepted: {error}"));
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn tick(pool: Arc<Pool>) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        Pool::tick(&pool);
    }
}
