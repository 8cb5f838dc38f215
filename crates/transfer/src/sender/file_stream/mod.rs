//! A source that is a stream, in the order of the program that writes it: a streamed backup.
//!
//! The length of a file is known only at its end, and nothing is kept here except data in flight.
//! Data is collected up to a limit, and sent as one round of a source in use, with a list of all
//! files known by then. While a round is sent the next one is collected. When the stream is over,
//! and the program has reported success, a last round has only the list, and the receiver commits.

mod inventory;
pub mod xbstream;

use std::{
    sync::{atomic::Ordering, mpsc},
    thread,
    time::Duration,
};

use self::inventory::{Collected, Inventory};
use super::{Sent, Session, Source};
use crate::{error::Error, path::RelativePath, progress::Progress};

/// Bytes of one round. At most three are in memory: one is sent, one waits, one is collected.
const WINDOW_BYTES: usize = 48 << 20;
/// Keepalive interval while nothing arrives.
const TICK: Duration = Duration::from_millis(20);

/// The next item of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes to append to a file.
    Bytes {
        /// Path of the file.
        path: RelativePath,
        /// Offset in the file.
        offset: u64,
        /// Its next bytes, in any number.
        bytes: Vec<u8>,
    },
    /// A file is complete.
    End {
        /// Path of the file.
        path: RelativePath,
    },
}

/// A stream of files.
pub trait FileStream: Send {
    /// The next item; `None` at the end of a complete stream.
    ///
    /// # Errors
    /// [`Error`] if the stream is damaged, or its program failed.
    fn next(&mut self) -> Result<Option<Piece>, Error>;

    /// Returns a function that ends the stream from another thread, and so unblocks
    /// [`next`](Self::next).
    fn stopper(&self) -> Box<dyn Fn() + Send + Sync> {
        Box::new(|| {})
    }
}

/// Attributes of the files, which the stream does not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAttributes {
    /// Permission bits of files.
    pub file_mode: u32,
    /// Permission bits of directories.
    pub directory_mode: u32,
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Modification time in seconds since 1970 UTC.
    pub modified: i64,
}

/// Sends a stream to its end. Nothing is committed yet: [`Session::finish`] does that.
///
/// # Errors
/// [`Error`]: the first error of any thread. The receiver has been notified.
pub(crate) fn send_stream(
    session: &mut Session<'_>,
    stream: &mut dyn FileStream,
    attributes: FileAttributes,
    progress: &Progress,
) -> Result<(), Error> {
    let stop = stream.stopper();
    thread::scope(|scope| {
        let (collected, windows) = mpsc::sync_channel(1);
        scope.spawn(move || collect(stream, &collected));
        let sent = send_windows(session, &windows, Inventory::new(attributes), progress);
        if sent.is_err() {
            stop();
        }
        sent
    })
}

/// A collected round; `None` when the stream is over.
type Window = Result<Option<Vec<Collected>>, Error>;

fn send_windows(
    session: &mut Session<'_>,
    windows: &mpsc::Receiver<Window>,
    mut inventory: Inventory,
    progress: &Progress,
) -> Result<(), Error> {
    loop {
        let window = match windows.recv_timeout(TICK) {
            Ok(window) => window?,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                session.idle(TICK)?;
                continue;
            }
            // The stream reported its end or an error before.
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err(Error::Stopped),
        };
        let Some(window) = window else { break };
        let plan = inventory.plan(window)?;
        progress.total_bytes.store(plan.bytes, Ordering::Relaxed);
        session.round(&plan, None, Source::InUse)?;
    }
    session.round(&inventory.complete_plan()?, None, Source::Static).map(drop)
}

/// Sends a stream and commits it. The program on the receiver's side gets `note`.
///
/// # Errors
/// [`Error`]: the first error of any thread. The receiver has been notified.
pub fn send_stream_and_commit(
    mut session: Session<'_>,
    stream: &mut dyn FileStream,
    attributes: FileAttributes,
    note: &str,
    progress: &Progress,
) -> Result<Sent, Error> {
    match send_stream(&mut session, stream, attributes, progress).and_then(|()| session.send_note(note)) {
        Ok(()) => session.finish(),
        Err(error) => {
            session.abort(&error.to_string());
            Err(error)
        }
    }
}

/// Reads the stream, and passes collected rounds on.
fn collect(stream: &mut dyn FileStream, to: &mpsc::SyncSender<Window>) {
    let mut open = inventory::Open::default();
    loop {
        let window = open.collect(stream, WINDOW_BYTES);
        let over = !matches!(window, Ok(Some(_)));
        // The other end is closed if the transfer failed.
        if to.send(window).is_err() || over {
            return;
        }
    }
}
