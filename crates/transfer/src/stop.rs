//! Ends a transfer on the first error: connections are shut down, so that no thread waits for the
//! peer.

use std::{
    net::{Shutdown, TcpStream},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::error::Error;

/// Shared by all threads of one side.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    stopped: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    first: Option<Error>,
    sockets: Vec<TcpStream>,
}

impl Stop {
    pub(crate) fn is_set(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Returns [`Error::Stopped`] if another thread has failed.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.is_set() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Registers a connection to shut down.
    pub(crate) fn watch(&self, socket: TcpStream) {
        if let Ok(mut state) = self.state.lock() {
            if self.is_set() {
                let _ = socket.shutdown(Shutdown::Both);
            }
            state.sockets.push(socket);
        }
    }

    /// Ends everything without an error, because all work is done.
    pub(crate) fn end(&self) {
        if let Ok(mut state) = self.state.lock() {
            self.stopped.store(true, Ordering::Relaxed);
            for socket in state.sockets.drain(..) {
                let _ = socket.shutdown(Shutdown::Both);
            }
        }
    }

    /// Stores an error and ends everything. A cause replaces its consequences.
    pub(crate) fn fail(&self, error: Error) {
        let Ok(mut state) = self.state.lock() else { return };
        let better = state.first.as_ref().is_none_or(|first| {
            (first.is_consequence() && !error.is_consequence())
                || (first.is_connection_loss() && !error.is_connection_loss())
        });
        if better {
            state.first = Some(error);
        }
        self.stopped.store(true, Ordering::Relaxed);
        for socket in state.sockets.drain(..) {
            // The connection may already be closed.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// The error that ended the transfer.
    pub(crate) fn take(&self) -> Option<Error> {
        self.state.lock().ok().and_then(|mut state| state.first.take())
    }
}
