//! What the verbs show while they run: a status line and messages, or JSON Lines for scripts.

use ::migrate::Event;
use clap::Args;
use report::{Message, MigrateLine, migrate_event, migrate_more_differ, migrate_status_line, write_migrate_line};

use crate::exit::Exit;
use crate::output::message::{Failure, say};
use crate::output::progress::StatusLine;

/// Rows that differ, and are named. JSON has all of them.
const NAMED: usize = 100;

/// Options of verbs that run for a long time.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct Reporting {
    /// Write events to standard output, one JSON object per line; the schema is in docs/schema
    #[arg(long)]
    json: bool,
    /// Show no status line, and no messages except errors
    #[arg(short, long)]
    quiet: bool,
}

/// Shows what happens.
pub(super) struct Reporter<'r> {
    options: &'r Reporting,
    status: StatusLine,
    differing: usize,
}

impl Reporting {
    pub(super) fn reporter(&self) -> Reporter<'_> {
        Reporter { options: self, status: StatusLine::new(self.quiet || self.json), differing: 0 }
    }

    /// Runs a verb. If it fails, the last line for scripts says so.
    pub(super) fn run(&self, verb: impl FnOnce(&mut Reporter<'_>) -> Result<Exit, Failure>) -> Result<Exit, Failure> {
        let mut reporter = self.reporter();
        verb(&mut reporter).inspect_err(|failure| {
            let (error, hint) = (failure.error.as_str(), failure.hint.as_deref());
            reporter.line(&MigrateLine::Failed { error, hint, exit: failure.exit.code() });
        })
    }
}

impl Reporter<'_> {
    /// Shows an event: progress in the status line, everything else as a line of its own.
    pub(super) fn event(&mut self, event: &Event) {
        self.line(&MigrateLine::Event(event));
        if let Event::Progress(progress) = event {
            return self.status.show(&migrate_status_line(progress));
        }
        let named = !matches!(event, Event::Divergence(_)) || self.may_name();
        if let Some(text) = migrate_event(event).filter(|_| named) {
            self.say(&[Message::Info(text)]);
        }
    }

    /// Whether one more row that differs is named.
    fn may_name(&mut self) -> bool {
        self.differing += 1;
        if self.differing == NAMED + 1 {
            self.say(&[migrate_more_differ(NAMED)]);
        }
        self.differing <= NAMED
    }

    /// The last line for scripts, and the messages at the end.
    pub(super) fn end(&self, line: &MigrateLine<'_>, messages: &[Message]) {
        self.line(line);
        self.say(messages);
    }

    /// Writes a line for scripts. A reader that is gone does not end the verb.
    pub(super) fn line(&self, line: &MigrateLine<'_>) {
        if self.options.json {
            let _ = write_migrate_line(line, &mut std::io::stdout().lock());
        }
    }

    /// Shows messages while the verb goes on.
    pub(super) fn say(&self, messages: &[Message]) {
        self.status.clear();
        if !self.options.quiet {
            say(messages);
        }
    }
}

impl Drop for Reporter<'_> {
    fn drop(&mut self) {
        self.status.clear();
    }
}
