//! A status line on stderr during long work. Shown only if stderr is a terminal.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use report::{Message, fit};

use crate::output::message::say;
use crate::output::terminal::Terminal;

/// Interval of updates.
const EVERY: Duration = Duration::from_millis(200);

/// The option that switches the status line off.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Quiet {
    /// Show no status line on standard error
    #[arg(long, short)]
    quiet: bool,
}

impl Quiet {
    /// Whether the option was given.
    pub(crate) const fn is_set(self) -> bool {
        self.quiet
    }

    /// Creates the status line, which stays hidden if the option was given.
    pub(crate) fn status_line(self) -> StatusLine {
        StatusLine::new(self.quiet)
    }
}

/// A status line on stderr.
#[derive(Debug)]
pub(crate) struct StatusLine {
    terminal: Terminal,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    drawn: Option<Instant>,
    started: Instant,
    /// The newest text, if it came too soon after the one before.
    waiting: Option<String>,
}

impl StatusLine {
    /// Creates a line that is shown only if stderr is a terminal that can replace a line, and `quiet` is not set.
    pub(crate) fn new(quiet: bool) -> Self {
        let terminal = if quiet { Terminal::file() } else { Terminal::stderr() };
        let state = State { drawn: None, started: Instant::now(), waiting: None };
        let line = Self { terminal, state: Arc::new(Mutex::new(state)) };
        if terminal.has_escapes() {
            line.draw_what_waits();
        }
        line
    }

    /// Shows `text`, at most five times a second. Shows nothing in the first fifth of a second.
    pub(crate) fn show(&self, text: &str) {
        if !self.terminal.has_escapes() {
            return;
        }
        let Ok(mut state) = self.state.lock() else { return };
        state.waiting = Some(text.to_owned());
        state.draw(self.terminal);
    }

    /// Draws in a thread what came too soon, because the next text may come after hours. The thread ends with the line.
    fn draw_what_waits(&self) {
        let (terminal, state) = (self.terminal, Arc::downgrade(&self.state));
        thread::spawn(move || {
            while let Some(state) = state.upgrade() {
                if let Ok(mut state) = state.lock() {
                    state.draw(terminal);
                }
                drop(state);
                thread::sleep(EVERY);
            }
        });
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

    /// Removes the line and writes messages in its place.
    pub(crate) fn say(&self, messages: &[Message]) {
        if !messages.is_empty() {
            self.clear();
            say(messages);
        }
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        state.waiting = None;
        if state.drawn.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl State {
    fn draw(&mut self, terminal: Terminal) {
        if self.drawn.unwrap_or(self.started).elapsed() < EVERY {
            return;
        }
        let Some(text) = self.waiting.take() else { return };
        self.drawn = Some(Instant::now());
        // A line that the terminal wraps could not be replaced.
        let columns = terminal.columns().saturating_sub(1);
        let text = text.replace(char::is_control, "?");
        let _ = write!(std::io::stderr(), "\r\x1b[K{}", fit(&text, columns, "…"));
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.clear();
    }
}
