//! Counters of a tunnel, and the port that serves them.

use std::{
    net::TcpListener as StdTcpListener,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

/// Defines all counters; one table generates the struct and the text.
macro_rules! counters {
    ($($name:ident $kind:literal $help:literal,)*) => {
        /// Counters and gauges of one end.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(#[doc = $help] pub(crate) $name: AtomicU64,)*
        }

        impl Counters {
            /// The counters in Prometheus's text format.
            pub(crate) fn text(&self, end: &str) -> String {
                let mut text = String::new();
                $({
                    let name = concat!("sealant_tunnel_", stringify!($name));
                    text.push_str(&format!("# HELP {name} {}\n# TYPE {name} {}\n", $help, $kind));
                    text.push_str(&format!("{name}{{end=\"{end}\"}} {}\n", self.$name.load(Relaxed)));
                })*
                text
            }
        }
    };
}

counters! {
    clients_total "counter" "Clients that connected to the near end.",
    clients_refused_total "counter" "Clients that got an error of the tunnel.",
    served_warm_total "counter" "Clients that found a server connection ready.",
    served_cold_total "counter" "Clients that had to wait for a server connection.",
    sessions "gauge" "Sessions in progress.",
    sessions_total "counter" "Sessions started.",
    warm "gauge" "Server connections that are ready for a client, greeting received.",
    idle "gauge" "Links that hold no server connection.",
    recycled_total "counter" "Server connections closed unused; the server counts them in Aborted_connects.",
    server_refusals_total "counter" "Error packets of the server in place of a greeting.",
    links_total "counter" "TLS handshakes that succeeded.",
    link_failures_total "counter" "Links that could not be opened, and failed handshakes.",
    links_turned_away_total "counter" "Connections closed before their handshake, because there were too many.",
    names_refused_total "counter" "Near ends whose certificate is not on the list of --allow.",
    attach_failures_total "counter" "Server connections that could not be opened.",
    failovers_total "counter" "Changes of the far end in use.",
    far_in_use "gauge" "Number of the far end in use, in the given order, from 1; 0 if none answers.",
    bytes_sent_total "counter" "Session bytes sent to the other end.",
    bytes_received_total "counter" "Session bytes received from the other end.",
    reloads_total "counter" "Successful reloads of the certificates.",
    reload_failures_total "counter" "Failed reloads of the certificates.",
}

/// Adds one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

/// Subtracts one.
pub(crate) fn decrement(gauge: &AtomicU64) {
    gauge.fetch_sub(1, Relaxed);
}

impl Counters {
    pub(crate) fn sent(&self, bytes: usize) {
        self.bytes_sent_total.fetch_add(bytes as u64, Relaxed);
    }

    pub(crate) fn received(&self, bytes: usize) {
        self.bytes_received_total.fetch_add(bytes as u64, Relaxed);
    }
}

/// A session in progress, counted until it is dropped.
pub(crate) struct Counted<'c>(&'c AtomicU64);

impl<'c> Counted<'c> {
    pub(crate) fn new(gauge: &'c AtomicU64) -> Self {
        count(gauge);
        Self(gauge)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        decrement(self.0);
    }
}

/// Time limit of a request.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// Maximum number of simultaneous requests.
const READERS: usize = 8;

/// Answers every request with the counters, until the process ends.
pub(crate) async fn serve(listener: StdTcpListener, counters: Arc<Counters>, end: &'static str) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let readers = Arc::new(tokio::sync::Semaphore::new(READERS));
    loop {
        let Ok(permit) = Arc::clone(&readers).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let text = counters.text(end);
                tokio::spawn(async move {
                    let _ = timeout(TIME_LIMIT, answer(stream, text)).await;
                    drop(permit);
                });
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn answer(mut stream: TcpStream, text: String) -> std::io::Result<()> {
    let mut request = [0; 4096];
    let mut filled = 0;
    while let Some(room) = request.get_mut(filled..).filter(|room| !room.is_empty()) {
        match stream.read(room).await? {
            0 => break,
            count => filled += count,
        }
        if request.get(..filled).unwrap_or_default().windows(4).any(|end| end == b"\r\n\r\n") {
            break;
        }
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}
