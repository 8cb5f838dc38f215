//! Work that takes long, and a line that says how far it is.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use report::size;

use crate::output::progress::StatusLine;

/// Does the work while `words` are shown.
pub(crate) fn watch<T: Send>(quiet: bool, words: impl Fn() -> String + Send, work: impl FnOnce() -> T + Send) -> T {
    let (status, over) = (StatusLine::new(quiet), AtomicBool::new(false));
    let over = &over;
    thread::scope(|scope| {
        let shown = scope.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                thread::park_timeout(Duration::from_millis(50));
                status.show(&words());
            }
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        shown.thread().unpark();
        done
    })
}

/// So many bytes of so many.
pub(crate) fn part(what: &str, done: &AtomicU64, all: &AtomicU64) -> String {
    let (done, all) = (done.load(Ordering::Relaxed), all.load(Ordering::Relaxed));
    let percent = done.saturating_mul(100).checked_div(all).unwrap_or(0).min(100);
    format!("{what} {} of {} ({percent} %)", size(done), size(all))
}
