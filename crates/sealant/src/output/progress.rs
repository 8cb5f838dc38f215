//! One status line on stderr during long work; silent unless stderr is a terminal.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use report::Message;

use crate::output::message::say;

/// Interval of updates.
const EVERY: Duration = Duration::from_millis(200);

/// The line.
#[derive(Debug)]
pub(crate) struct StatusLine {
    enabled: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    drawn: Option<Instant>,
    started: Instant,
}

impl StatusLine {
    /// A line that is shown if stderr is a terminal and `quiet` is not set.
    pub(crate) fn new(quiet: bool) -> Self {
        let enabled = !quiet && std::io::stderr().is_terminal();
        Self { enabled, state: Mutex::new(State { drawn: None, started: Instant::now() }) }
    }

    /// Shows `text`, at most five times a second. Runs shorter than that show nothing.
    pub(crate) fn show(&self, text: &str) {
        let Ok(mut state) = self.state.lock() else { return };
        let since = state.drawn.unwrap_or(state.started);
        if !self.enabled || since.elapsed() < EVERY {
            return;
        }
        state.drawn = Some(Instant::now());
        let text: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).take(100).collect();
        let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
    }

    /// Runs `work` while the line shows its progress.
    pub(crate) fn watch<T: Send>(self, text: impl Fn() -> String + Send, work: impl FnOnce() -> T + Send) -> T {
        let over = &AtomicBool::new(false);
        thread::scope(|scope| {
            let shown = scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    thread::park_timeout(Duration::from_millis(50));
                    self.show(&text());
                }
            });
            let done = work();
            over.store(true, Ordering::Relaxed);
            shown.thread().unpark();
            done
        })
    }

    /// Writes messages in place of the line.
    pub(crate) fn say(&self, messages: &[Message]) {
        if !messages.is_empty() {
            self.clear();
            say(messages);
        }
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        if self.state.lock().is_ok_and(|state| state.drawn.is_some()) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.clear();
    }
}
