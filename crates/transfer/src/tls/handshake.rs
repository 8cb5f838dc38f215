//! The handshake of a data connection, up to the keys of both directions.

use tls13::{Handshake, RecordKeys, Step};

use super::socket::RecordSocket;
use crate::error::TransferError;

/// Goes through the handshake. Nothing that comes behind it is taken from the socket.
pub(super) fn run(mut handshake: Handshake, socket: &mut RecordSocket) -> Result<RecordKeys, TransferError> {
    let mut shown = 0;
    loop {
        let (taken, next) = step(&mut handshake, socket, shown);
        socket.take(taken);
        shown = shown.saturating_sub(taken);
        match next {
            Ok(Step::Progress) => {}
            Ok(Step::Transmit) => socket.flush()?,
            // Record by record, so that nothing behind the handshake is shown to it.
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

/// Shows the first `shown` received bytes; returns how many of them are done with.
fn step(handshake: &mut Handshake, socket: &mut RecordSocket, shown: usize) -> (usize, Result<Step, TransferError>) {
    let (received, room, put) = socket.both(shown);
    let (taken, step) = handshake.step(received, room, put);
    (taken, step.map_err(|error| socket.tls_error(error)))
}

/// The other side should learn why: after an error, an alert is waiting.
fn send_alert(handshake: &mut Handshake, socket: &mut RecordSocket, shown: usize) {
    let (received, room, ready) = socket.both(shown);
    *ready += handshake.alert(received, room);
    // The connection ends in either case.
    let _ = socket.flush();
}
