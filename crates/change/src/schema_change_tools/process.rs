//! The process of a tool: started, monitored, paused, and always stopped.

use std::{
    fmt::Display,
    io::{self, BufRead, BufReader, Read},
    path::PathBuf,
    process::Stdio,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use process::{EndSignal, Program, Running, Unguarded};
use rustix::process::Signal;

use super::{Job, account};
use crate::{Error, Outcome, Session};

/// Polling interval for requests.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Polling interval of the throttling rules.
const THROTTLE_INTERVAL: Duration = Duration::from_secs(2);
/// Time limit for a tool to clean up.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(20);
/// Number of output lines kept, to explain a failure.
const KEPT_LINES: usize = 5;
/// Maximum length of a kept line; longer ones are truncated.
const MAX_LINE_BYTES: usize = 300;

/// A program and its arguments.
#[derive(Debug, Default)]
pub(super) struct Call {
    program: String,
    arguments: Vec<String>,
    /// The command line for the statement log, without secrets.
    pub(super) shown: String,
    /// Prefixes of output lines that report progress.
    pub(super) progress: &'static str,
    /// Flag file that pauses the tool.
    pub(super) pause: Option<PathBuf>,
    /// Flag file that stops the tool.
    pub(super) cancel: Option<PathBuf>,
}

impl Call {
    pub(super) const PAUSE: &str = "pause";
    pub(super) const CANCEL: &str = "cancel";

    pub(super) fn new(program: &str) -> Self {
        Self { program: program.to_owned(), shown: program.to_owned(), ..Self::default() }
    }

    pub(super) fn logged_option(&mut self, option: &str, value: impl Display) {
        self.shown = format!("{} {option}={value}", self.shown);
        self.option(option, value);
    }

    pub(super) fn option(&mut self, option: &str, value: impl Display) {
        self.arguments.push(format!("{option}={value}"));
    }

    pub(super) fn flag(&mut self, option: &str) {
        self.arguments.push(option.to_owned());
    }

    pub(super) fn last(&mut self, argument: &str, shown: &str) {
        self.shown = format!("{} {shown}", self.shown);
        self.arguments.push(argument.to_owned());
    }
}

/// Runs the tool until it ends.
pub(super) fn run(call: &Call, job: &Job<'_>, watcher: &mut Session<'_>) -> Result<Outcome, Error> {
    let failed = |source| Error::Tool { program: call.program.clone(), source };
    // If this process is killed, the kernel kills the tool as well, which would otherwise run without control.
    let program = Program::at(&call.program).args(&call.arguments);
    let program = program.ended_with_parent(EndSignal::Kill, Unguarded::Refuse);
    let mut running = program.start(Stdio::piped(), Stdio::piped()).map_err(failed)?;
    let (sender, lines) = channel();
    read(running.stdout.take(), &sender);
    read(running.stderr.take(), &sender);
    drop(sender);
    let (kept, gone) = watch(call, job, &running, &lines, watcher);
    let status = running.wait(Duration::MAX).map_err(failed)?.ok_or_else(|| failed(io::ErrorKind::TimedOut.into()))?;
    if let Some(error) = gone {
        return Err(error);
    }
    if job.requests.cancel() {
        return Ok(Outcome::Failed { reason: "canceled".to_owned() });
    }
    Ok(match status.success() {
        true => Outcome::Done,
        false => Outcome::Failed { reason: format!("{}: {status}: {}", call.program, kept.join(" / ")) },
    })
}

/// Forwards requests until the tool closes its output. Returns its last lines, and why the server is unreachable, if it
/// is.
fn watch(
    call: &Call,
    job: &Job<'_>,
    running: &Running,
    lines: &Receiver<String>,
    watcher: &mut Session<'_>,
) -> (Vec<String>, Option<Error>) {
    let mut kept: Vec<String> = Vec::new();
    let (mut looked, mut rest) = (Instant::now(), false);
    let mut canceled: Option<Instant> = None;
    let mut gone = None;
    loop {
        match lines.recv_timeout(POLL_INTERVAL) {
            Ok(line) => {
                if line.starts_with(call.progress) {
                    (job.progress)(&line);
                }
                kept.drain(..kept.len().saturating_sub(KEPT_LINES - 1));
                kept.push(line);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return (kept, gone),
        }
        if gone.is_none() && looked.elapsed() > THROTTLE_INTERVAL {
            looked = Instant::now();
            gone = is_gone(watcher, job);
            if gone.is_some() {
                // A paused gh-ost would not end.
                running.kill();
            } else {
                // Put no load on a replica whose lag is unknown.
                rest = job.throttle.reason(watcher, Duration::ZERO).map_or(true, |why| why.is_some());
            }
        }
        if let Some(pause) = &call.pause {
            account::flag(pause, rest || job.requests.pause());
        }
        if job.requests.cancel() && canceled.is_none() {
            canceled = Some(Instant::now());
            ask_to_end(call, running);
        }
        if canceled.is_some_and(|since| since.elapsed() > CLEANUP_TIMEOUT) {
            running.kill();
        }
    }
}

/// Why the server is unreachable. `None` if only the monitoring connection was killed.
fn is_gone(watcher: &mut Session<'_>, job: &Job<'_>) -> Option<Error> {
    watcher.query("SELECT 1").err()?;
    match watcher.connect_to(job.target, job.connect) {
        Ok(another) => {
            *watcher = another;
            None
        }
        Err(error) => Some(error),
    }
}

/// Stops the tool with its flag file, or with the signal at which it cleans up.
fn ask_to_end(call: &Call, running: &Running) {
    match &call.cancel {
        Some(file) => account::flag(file, true),
        None => running.signal(Signal::TERM),
    }
}

fn read(stream: Option<impl Read + Send + 'static>, sender: &Sender<String>) {
    let (Some(stream), sender) = (stream, sender.clone()) else { return };
    thread::spawn(move || {
        for line in BufReader::new(stream).split(b'\n') {
            let Ok(line) = line else { return };
            let text = String::from_utf8_lossy(&line);
            let text: String = text.trim().chars().filter(|c| !c.is_control()).take(MAX_LINE_BYTES).collect();
            if !text.is_empty() && sender.send(text).is_err() {
                return;
            }
        }
    });
}
