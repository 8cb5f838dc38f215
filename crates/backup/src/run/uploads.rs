//! Stores packs on threads of their own, while the next packs are made.
//!
//! ```text
//! free buffer -> worker fills it -> full pack -> upload thread stores it -> free buffer
//! ```
//!
//! The number of buffers is fixed, so workers wait for a slow store.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::{RunProgress, frames::PackedPart, packs::Packs};
use crate::{Error, memory::Buffers};

/// Number of threads that store packs.
pub(super) const THREADS: u16 = 2;
/// What the capacity of a buffer is above the length of a pack: its header and the tags of its chunks.
pub(super) const MARGIN_BYTES: u64 = 1 << 20;

/// A complete pack, and the parts of files in it.
struct FullPack {
    bytes: Vec<u8>,
    parts: Vec<PackedPart>,
}

/// The buffers that workers and upload threads share.
pub(super) struct Uploads<'r> {
    packs: &'r Packs<'r>,
    workers: u16,
    buffer_bytes: usize,
    progress: &'r RunProgress,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    free: Vec<Vec<u8>>,
    /// Number of buffers that are not allocated yet.
    unused: u16,
    full: VecDeque<FullPack>,
    /// Set when no further pack follows.
    complete: bool,
    /// Set when a pack could not be stored.
    failed: bool,
    /// Total time that workers waited for packs to be stored.
    waited: Duration,
}

impl<'r> Uploads<'r> {
    pub(super) fn new(packs: &'r Packs<'r>, buffers: Buffers, progress: &'r RunProgress) -> Self {
        let workers = buffers.streams;
        let queue = Queue { unused: workers.saturating_add(THREADS), ..Queue::default() };
        let buffer_bytes = usize::try_from(buffers.pack_bytes.saturating_add(MARGIN_BYTES)).unwrap_or_default();
        Self { packs, workers, buffer_bytes, progress, queue: Mutex::new(queue), changed: Condvar::new() }
    }

    /// Runs `work`, which makes packs, and the threads that store them.
    pub(super) fn during(&self, work: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        thread::scope(|scope| {
            let uploads: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| self.upload())).collect();
            let worked = work();
            self.lock().complete = true;
            self.changed.notify_all();
            let began = Instant::now();
            let uploaded = uploads.into_iter().map(|thread| thread.join().unwrap_or(Err(Error::Stopped)));
            let ended = std::iter::once(worked).chain(uploaded).collect();
            // All workers have ended, so this time counts for each of them.
            self.lock().waited += began.elapsed().saturating_mul(u32::from(self.workers));
            super::first_error(ended)
        })
    }

    /// An empty buffer; waits for one.
    ///
    /// # Errors
    /// [`Error::Stopped`] if a pack could not be stored.
    pub(super) fn buffer(&self) -> Result<Vec<u8>, Error> {
        let began = Instant::now();
        let mut queue = self.lock();
        loop {
            if queue.failed {
                return Err(Error::Stopped);
            }
            if let Some(buffer) = queue.free.pop() {
                queue.waited = queue.waited.saturating_add(began.elapsed());
                return Ok(buffer);
            }
            if let Some(unused) = queue.unused.checked_sub(1) {
                queue.unused = unused;
                return Ok(Vec::with_capacity(self.buffer_bytes));
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Queues a pack to be stored.
    pub(super) fn put(&self, bytes: Vec<u8>, parts: Vec<PackedPart>) {
        self.lock().full.push_back(FullPack { bytes, parts });
        self.changed.notify_all();
    }

    /// Total time that workers waited for packs to be stored.
    pub(super) fn waited(&self) -> Duration {
        self.lock().waited
    }

    /// Stores packs until no further one follows.
    fn upload(&self) -> Result<(), Error> {
        let failure = Failure(self);
        while let Some(FullPack { mut bytes, parts }) = self.next() {
            self.packs.put(&bytes, parts, self.progress)?;
            bytes.clear();
            self.lock().free.push(bytes);
            self.changed.notify_all();
        }
        std::mem::forget(failure);
        Ok(())
    }

    fn next(&self) -> Option<FullPack> {
        let mut queue = self.lock();
        loop {
            if queue.failed {
                return None;
            }
            match queue.full.pop_front() {
                None if !queue.complete => queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner),
                next => return next,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reports on drop that an upload thread ended before its work was done.
struct Failure<'u, 'r>(&'u Uploads<'r>);

impl Drop for Failure<'_, '_> {
    fn drop(&mut self) {
        self.0.lock().failed = true;
        self.0.changed.notify_all();
    }
}
