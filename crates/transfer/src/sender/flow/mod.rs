//! A source that comes piece by piece, in the order of a program that writes it: a backup that is streamed.
//!
//! How long its files are is known when they end, and nothing of it is kept here but what is on its way: what came
//! is gathered up to a bound, and goes as one round of a source in use, with a list of what is known of all files by then.
//! While a round is sent the next is gathered. When the stream is over, and the program has said that it is whole, a
//! last round has nothing but the list, and the receiver commits.

mod catalogue;
pub mod xbstream;

use std::{
    collections::BTreeMap,
    sync::{atomic::Ordering, mpsc},
    thread,
    time::Duration,
};

use self::catalogue::{Catalogue, Gathered};
use super::{Sent, Session, Source};
use crate::{error::TransferError, path::RelativePath, progress::Progress};

/// Bytes of one round. Three are in memory at most: one is sent, one waits, one is gathered.
const WINDOW_BYTES: usize = 48 << 20;
/// How often the connection is kept while nothing comes.
const TICK: Duration = Duration::from_millis(20);

/// What comes next of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes at the end of a file as it is so far.
    Bytes {
        /// The file.
        path: RelativePath,
        /// Where they belong.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A file is whole.
    End {
        /// The file.
        path: RelativePath,
    },
}

/// A stream of files.
pub trait Flow: Send {
    /// What comes next; `None` when it is over, and whole.
    ///
    /// # Errors
    /// [`TransferError`] if it is damaged, or its program failed.
    fn next(&mut self) -> Result<Option<Piece>, TransferError>;

    /// Ends it from another thread, so that who waits for the next piece waits no more.
    fn stopper(&self) -> Box<dyn Fn() + Send + Sync> {
        Box::new(|| {})
    }
}

/// What files of a stream are given, since it does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dress {
    /// Permissions of files.
    pub file_mode: u32,
    /// Permissions of directories.
    pub directory_mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Time of modification, in seconds since 1970.
    pub modified: i64,
}

/// Chunks of one file, all of them whole but the last of a file that has ended.
pub(crate) type Chunks = BTreeMap<u64, Vec<u8>>;

/// Sends a stream to its end. Nothing is committed yet: [`Session::finish`] does that.
///
/// # Errors
/// [`TransferError`]: the first thing that went wrong, wherever it did. The other side has been told.
pub fn send_flow(
    session: &mut Session<'_>,
    flow: &mut dyn Flow,
    dress: Dress,
    progress: &Progress,
) -> Result<(), TransferError> {
    let stop = flow.stopper();
    thread::scope(|scope| {
        let (gathered, windows) = mpsc::sync_channel(1);
        scope.spawn(move || gather(flow, &gathered));
        let sent = send_windows(session, &windows, Catalogue::new(dress), progress);
        if sent.is_err() {
            stop();
        }
        sent
    })
}

/// What a thread that gathers hands on; nothing when the stream is over.
type Window = Result<Option<Vec<Gathered>>, TransferError>;

fn send_windows(
    session: &mut Session<'_>,
    windows: &mpsc::Receiver<Window>,
    mut catalogue: Catalogue,
    progress: &Progress,
) -> Result<(), TransferError> {
    loop {
        let window = match windows.recv_timeout(TICK) {
            Ok(window) => window?,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                session.rest(TICK)?;
                continue;
            }
            // It has said that it is whole before, or why not.
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err(TransferError::Stopped),
        };
        let Some(window) = window else { break };
        let plan = catalogue.plan(window)?;
        progress.total_bytes.store(plan.bytes, Ordering::Relaxed);
        session.round(&plan, None, Source::InUse)?;
    }
    session.round(&catalogue.whole()?, None, Source::Still).map(drop)
}

/// The same, with the commit. The program that uses the other side is told `note`.
///
/// # Errors
/// As [`send_flow`].
pub fn send_flow_and_finish(
    mut session: Session<'_>,
    flow: &mut dyn Flow,
    dress: Dress,
    note: &str,
    progress: &Progress,
) -> Result<Sent, TransferError> {
    match send_flow(&mut session, flow, dress, progress).and_then(|()| session.say(note)) {
        Ok(()) => session.finish(),
        Err(error) => {
            session.give_up(&error.to_string());
            Err(error)
        }
    }
}

/// Reads the stream, and hands on what came of it.
fn gather(flow: &mut dyn Flow, to: &mpsc::SyncSender<Window>) {
    let mut open = catalogue::Open::default();
    loop {
        let window = open.gather(flow, WINDOW_BYTES);
        let over = !matches!(window, Ok(Some(_)));
        // Nobody listens any more if the transfer has failed.
        if to.send(window).is_err() || over {
            return;
        }
    }
}
