//! Messages of the control connection: the list of files, keepalives, and the reason of an abort.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::round::EntryList;
use crate::{
    error::Error,
    plan::first_invalid,
    progress::{Progress, load},
    tls::ControlChannel,
    wire::{Control, Kind},
};

/// Maximum number of entries in a list.
const MAX_ENTRIES: usize = 4 << 20;
const MAX_LIST_BYTES: usize = 128 << 20;
/// Interval of messages to the sender.
pub(super) const TICK: Duration = Duration::from_millis(250);
/// Interval at which a listening thread checks for the end.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Receives the list of files and checks that it can be created inside the target. Also returns the
/// bytes of the files without holes.
pub(super) fn list(control: &mut ControlChannel, mut first: Option<Control>) -> Result<EntryList, Error> {
    let (mut entries, mut bytes) = (Vec::new(), 0_usize);
    let (allocated_bytes, more, root) = loop {
        let message = match first.take() {
            Some(message) => message,
            None => control.expect()?,
        };
        match message {
            Control::Entry(entry) => {
                bytes += entry.path.as_bytes().len();
                if let Kind::Link { target } = &entry.kind {
                    bytes += target.len();
                }
                entries.push(entry);
                if entries.len() > MAX_ENTRIES || bytes > MAX_LIST_BYTES {
                    return Err(Error::protocol(control.peer(), "too many files"));
                }
            }
            Control::PlanEnd { entries: count, allocated_bytes, more, root }
                if usize::try_from(count) == Ok(entries.len()) =>
            {
                break (allocated_bytes, more, root);
            }
            // The sender is still scanning its files.
            Control::Ping => {}
            Control::Failed { reason } => {
                return Err(Error::Peer { peer: control.peer().to_owned(), reason });
            }
            _ => return Err(Error::protocol(control.peer(), "unexpected message")),
        }
    };
    if first_invalid(&entries).is_some() {
        return Err(Error::protocol(control.peer(), "an invalid path in the list of files"));
    }
    Ok(EntryList { entries, allocated_bytes, more, root })
}

/// Runs a long operation while keepalives are sent. The outer error is that of the connection; the
/// operation completes in any case.
pub(super) fn alive<T: Send>(
    control: &mut ControlChannel,
    progress: &Progress,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Error> {
    thread::scope(|scope| {
        let worker = scope.spawn(work);
        let (mut fate, mut last_sent) = (Ok(()), None);
        while !worker.is_finished() {
            if fate.is_ok() {
                fate = keep_alive(control, progress, &mut last_sent);
            } else {
                thread::sleep(TICK);
            }
        }
        let done = worker.join().map_err(|_| Error::Stopped)?;
        fate.map(|()| done)
    })
}

/// Receives for a moment, and sends a keepalive if it is time; the sender answers each.
fn keep_alive(control: &mut ControlChannel, progress: &Progress, last_sent: &mut Option<Instant>) -> Result<(), Error> {
    match control.receive(POLL_INTERVAL)? {
        Some(Control::Ping) | None => {}
        Some(Control::Failed { reason }) => {
            return Err(Error::Peer { peer: control.peer().to_owned(), reason });
        }
        Some(_) => return Err(Error::protocol(control.peer(), "unexpected message")),
    }
    if last_sent.is_some_and(|last_sent| last_sent.elapsed() < TICK) {
        return Ok(());
    }
    *last_sent = Some(Instant::now());
    control.send(&Control::Progress { bytes: load(&progress.bytes), starving: 0 })
}

/// If the connection broke, the sender may have sent a reason; otherwise send it ours.
pub(super) fn explain(error: Error, control: &mut ControlChannel) -> Error {
    if matches!(error, Error::Peer { .. }) {
        return error;
    }
    if error.is_connection_loss() {
        let until = Instant::now() + Duration::from_secs(2);
        while let Ok(Some(message)) = control.receive(until.saturating_duration_since(Instant::now())) {
            if let Control::Failed { reason } = message {
                return Error::Peer { peer: control.peer().to_owned(), reason };
            }
        }
    }
    let _ = control.send(&Control::Failed { reason: error.to_string() });
    error
}
