//! The work of a run: files to open, and pages of large tablespaces, handed out to its threads.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, atomic::Ordering},
};

use crate::shared_tablespace::SharedTablespace;

/// A thread's next task.
pub(crate) enum Task<'a> {
    /// Open a file; small ones are verified at once.
    File(usize),
    /// A run of pages of a large tablespace, from this page on.
    Pages(Arc<SharedTablespace<'a>>, u64),
}

/// The queue, and a signal that it changed.
pub(crate) struct Work<'a> {
    queue: Mutex<Queue<'a>>,
    changed: Condvar,
}

/// Remaining work. A large tablespace stays at the front until its last page is taken.
struct Queue<'a> {
    files: VecDeque<usize>,
    shared: VecDeque<Arc<SharedTablespace<'a>>>,
    /// Number of files being opened, which may add pages to the queue.
    beginning: usize,
}

impl<'a> Work<'a> {
    pub(crate) fn new(files: Vec<usize>) -> Self {
        let queue = Queue { files: files.into(), shared: VecDeque::new(), beginning: 0 };
        Self { queue: Mutex::new(queue), changed: Condvar::new() }
    }

    /// The next task; `None` when no more can arrive.
    pub(crate) fn next(&self) -> Option<Task<'a>> {
        let mut queue = self.queue.lock().ok()?;
        loop {
            if let Some(task) = queue.next() {
                return Some(task);
            }
            if queue.beginning == 0 {
                return None;
            }
            queue = self.changed.wait(queue).ok()?;
        }
    }

    /// Records that a file was opened. The pages of a large file become tasks.
    pub(crate) fn begun(&self, large: Option<Arc<SharedTablespace<'a>>>) {
        if let Ok(mut queue) = self.queue.lock() {
            queue.shared.extend(large);
            queue.beginning = queue.beginning.saturating_sub(1);
        }
        self.changed.notify_all();
    }
}

impl<'a> Queue<'a> {
    fn next(&mut self) -> Option<Task<'a>> {
        while let Some(shared) = self.shared.front() {
            let first = shared.next.fetch_add(shared.chunk_pages(), Ordering::Relaxed);
            if first < shared.verifier.pages() {
                return Some(Task::Pages(Arc::clone(shared), first));
            }
            self.shared.pop_front();
        }
        let file = self.files.pop_front()?;
        self.beginning = self.beginning.saturating_add(1);
        Some(Task::File(file))
    }
}
