//! Copies tables in chunks while they change.

pub(crate) mod jobs;
pub(crate) mod load;
pub(crate) mod read;
mod read_back;
mod whole;

use std::{
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use self::{
    jobs::Jobs,
    load::Loader,
    read::{ChunkRows, Reader},
};
use crate::{Error, moved_table::MovedTable, settings::Settings, shared::Shared};

const POLL: Duration = Duration::from_millis(100);
const QUEUE_POLL: Duration = Duration::from_millis(5);

/// Copies every row that is not at the target yet. Returns when all rows are copied, or the run has ended.
///
/// # Errors
/// The error of the first thread that failed.
pub(crate) fn copy(
    settings: &Settings,
    shared: &Shared,
    tables: &[MovedTable],
    watch: &mut dyn FnMut() -> Result<(), Error>,
) -> Result<(), Error> {
    let jobs = Jobs::new(tables, settings.chunk_bytes, shared);
    // Only one chunk waits for a loader, so memory is limited to the chunks of the readers, the loaders and this queue.
    let (sender, receiver) = sync_channel(1);
    let receiver = Mutex::new(receiver);
    thread::scope(|threads| {
        let readers: Vec<_> = (0..settings.readers.max(1))
            .map(|_| {
                let sender = sender.clone();
                threads.spawn(|| shared.watched(|| read_all(settings, shared, &jobs, sender)))
            })
            .collect();
        drop(sender);
        let loaders: Vec<_> = (0..settings.loaders.max(1))
            .map(|_| threads.spawn(|| shared.watched(|| load_all(settings, shared, &receiver))))
            .collect();
        while !readers.iter().chain(&loaders).all(thread::ScopedJoinHandle::is_finished) {
            if let Err(error) = watch() {
                shared.fail(error);
            }
            thread::sleep(POLL);
        }
    });
    if shared.has_ended() { Err(Error::Stopped) } else { Ok(()) }
}

fn read_all<'m>(
    settings: &'m Settings,
    shared: &'m Shared,
    jobs: &'m Jobs<'m>,
    sender: SyncSender<ChunkRows<'m>>,
) -> Result<(), Error> {
    let mut reader = Reader::open(settings, shared, jobs)?;
    while let Some(mut content) = reader.next()? {
        // Does not block: if all loaders have failed, nobody would take the chunk.
        while let Err(full) = sender.try_send(content) {
            let TrySendError::Full(back) = full else { return Err(Error::Stopped) };
            content = back;
            shared.sleep(QUEUE_POLL)?;
            shared.lock().note_wait(true, QUEUE_POLL);
        }
    }
    Ok(())
}

fn load_all(settings: &Settings, shared: &Shared, receiver: &Mutex<Receiver<ChunkRows<'_>>>) -> Result<(), Error> {
    let mut loader = Loader::open(&settings.target, shared)?;
    loop {
        let began = Instant::now();
        let received = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(POLL);
        shared.lock().note_wait(false, began.elapsed());
        match received {
            Ok(content) => loader.load(&content)?,
            Err(RecvTimeoutError::Timeout) if shared.has_ended() => return Err(Error::Stopped),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}
