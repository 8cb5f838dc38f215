//! The handshake of a data connection, which yields the keys of both directions.

use tls13::{Handshake, RecordKeys, Step};

use super::socket::RecordSocket;
use crate::error::Error;

/// Runs the handshake. Leaves the bytes after it in the socket.
pub(super) fn run(mut handshake: Handshake, socket: &mut RecordSocket) -> Result<RecordKeys, Error> {
    let mut shown = 0;
    loop {
        let (taken, next) = step(&mut handshake, socket, shown);
        socket.take(taken);
        shown = shown.saturating_sub(taken);
        match next {
            Ok(Step::Progress) => {}
            Ok(Step::Transmit) => socket.flush()?,
            // Record by record, so that it does not see data after the handshake.
            Ok(Step::NeedsInput) => shown = socket.wait_for_record(shown)?,
            Ok(Step::Done) => break,
            Err(error) => {
                send_alert(&mut handshake, socket, shown);
                return Err(error);
            }
        }
    }
    socket.flush()?;
    handshake.into_keys().map_err(|error| socket.tls_error(error))
}

/// Processes the first `shown` received bytes; returns how many of them were used.
fn step(handshake: &mut Handshake, socket: &mut RecordSocket, shown: usize) -> (usize, Result<Step, Error>) {
    let (received, room, put) = socket.both(shown);
    let (taken, step) = handshake.step(received, room, put);
    (taken, step.map_err(|error| socket.tls_error(error)))
}

/// After an error, send the waiting alert, which tells the peer the reason.
fn send_alert(handshake: &mut Handshake, socket: &mut RecordSocket, shown: usize) {
    let (received, room, ready) = socket.both(shown);
    *ready += handshake.alert(received, room);
    // The connection ends in any case.
    let _ = socket.flush();
}
