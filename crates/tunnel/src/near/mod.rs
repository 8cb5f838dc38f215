//! The near end, beside the client.

mod demand;
mod pool;
mod task;

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::time::{MissedTickBehavior, interval};

use self::pool::Pool;
use crate::{
    Credentials, Error, Listen, Log, SocketAccess,
    credentials::Reloadable,
    listener::{self, Listener},
    metrics::{self, Counters},
    signals::{Signals, notify},
};

/// A far end, as the near end reaches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FarAddress {
    /// Name or address; what its certificate has to name unless another name is given.
    pub host: String,
    /// Port.
    pub port: u16,
}

/// What a near end needs.
#[derive(Clone, Debug)]
pub struct NearOptions {
    /// Where clients connect.
    pub listen: Vec<Listen>,
    /// Who may connect to sockets.
    pub socket: SocketAccess,
    /// A port may be reachable from other hosts, in clear text.
    pub plaintext_listener: bool,
    /// Far ends, the preferred one first.
    pub fars: Vec<FarAddress>,
    /// The name that the far ends' certificates have to carry, in place of their address.
    pub far_name: Option<String>,
    /// Certificate, key, authority.
    pub credentials: Credentials,
    /// The most server connections that wait for a client.
    pub warm_max: usize,
    /// So many wait even if no client has come for long.
    pub warm_min: usize,
    /// How long one may wait: well below the server's `connect_timeout`.
    pub warm_age: Duration,
    /// How long a client waits for a server connection.
    pub wait: Duration,
    /// Clients at once.
    pub max_clients: usize,
    /// The server's offer of TLS is not shown to clients.
    pub hide_tls: bool,
    /// How often far ends that failed are tried again.
    pub health_interval: Duration,
    /// How long a handshake, and the way to the server, may take.
    pub connect_timeout: Duration,
    /// How long sessions may go on after the order to stop.
    pub drain: Duration,
    /// Where metrics are read.
    pub metrics: Option<SocketAddr>,
}

/// A near end that listens.
pub struct Near {
    listeners: Vec<Listener>,
    pool: Arc<Pool>,
    signals: Signals,
    metrics: Option<std::net::TcpListener>,
}

/// What all links and clients share.
pub(crate) struct Shared {
    options: NearOptions,
    config: Reloadable<ClientConfig>,
    names: Vec<ServerName<'static>>,
    counters: Arc<Counters>,
    log: Arc<Log>,
}

/// Whoever starts it waits no longer for far ends, which may come later.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// How often the pool looks after itself.
const TICK: Duration = Duration::from_millis(100);

impl Near {
    /// Reads the certificates and listens. Has to be called within a runtime.
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
        let pool = Pool::new(Shared { options, config, names, counters, log });
        Ok(Self { listeners, pool, signals, metrics })
    }

    /// Where it listens.
    #[must_use]
    pub fn addresses(&self) -> Vec<String> {
        self.listeners.iter().map(ToString::to_string).collect()
    }

    /// Tries the far ends once, all together, and tells what is wrong with those that do not answer.
    pub async fn try_fars(&self) -> Vec<(FarAddress, Result<(), Error>)> {
        let options = &self.pool.shared().options;
        let limit = options.connect_timeout.min(CONNECT_TIMEOUT);
        let trying = |number| tokio::spawn(task::try_far(Arc::clone(&self.pool), number, limit));
        let checks: Vec<_> = (0..options.fars.len()).map(trying).collect();
        let mut tried = Vec::new();
        for (number, (far, check)) in options.fars.iter().zip(checks).enumerate() {
            let result = check.await.unwrap_or_else(|_| Err(self.pool.silent(number, limit)));
            tried.push((far.clone(), result));
        }
        tried
    }

    /// Serves until it is told to stop.
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
            // The socket's file goes with its listener.
            task.abort();
            let _ = task.await;
        }
        ticking.abort();
        self.pool.stop();
        let (counters, drain) = (&shared.counters, shared.options.drain);
        self.signals.drain(|| counters.sessions.load(Relaxed), drain, &*shared.log).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn name(options: &NearOptions, far: &FarAddress) -> Result<ServerName<'static>, Error> {
    let name = options.far_name.as_ref().unwrap_or(&far.host);
    ServerName::try_from(name.clone()).map_err(|_| Error::ServerName { name: name.clone() })
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
