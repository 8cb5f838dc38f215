//! Signals to a running end, and notifications to systemd.

use std::{
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixDatagram},
        },
    },
    time::Duration,
};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

use crate::{Error, Log};

/// SIGTERM or SIGINT stops the end; SIGHUP reloads the certificates.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    pub(crate) fn new() -> Result<Self, Error> {
        let of = |kind| signal(kind).map_err(|source| Error::System { what: "cannot wait for signals", source });
        Ok(Self {
            terminate: of(SignalKind::terminate())?,
            interrupt: of(SignalKind::interrupt())?,
            hangup: of(SignalKind::hangup())?,
        })
    }

    /// Calls `reload` on each SIGHUP; returns when the end is to stop.
    pub(crate) async fn until_stop(&mut self, mut reload: impl FnMut()) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hangup.recv() => {
                    notify("RELOADING=1");
                    reload();
                    notify("READY=1");
                }
            }
        }
    }

    /// Waits until no session is left, `limit` has passed, or a second signal to stop arrives.
    pub(crate) async fn drain(&mut self, sessions: impl Fn() -> u64, limit: Duration, log: &Log) {
        notify("STOPPING=1");
        let open = sessions();
        if open == 0 {
            return;
        }
        log(&format!("waiting for {open} sessions to end, for {} s at most", limit.as_secs()));
        let ended = async {
            while sessions() > 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::select! {
            () = ended => return,
            () = tokio::time::sleep(limit) => {}
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        log(&format!("{} sessions are cut off", sessions()));
    }
}

/// A channel that informs all tasks that the end is stopping.
pub(crate) fn stopping() -> (watch::Sender<bool>, watch::Receiver<bool>) {
    watch::channel(false)
}

/// Sends a state to systemd, if it is listening (`sd_notify`).
pub(crate) fn notify(state: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = match path.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&path),
    };
    if let (Ok(address), Ok(socket)) = (address, UnixDatagram::unbound()) {
        let _ = socket.send_to_addr(state.as_bytes(), &address);
    }
}
