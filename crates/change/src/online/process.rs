//! A tool's process: started, watched, paused, and never left behind.

use std::{
    fmt::Display,
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use super::{Job, account};
use crate::{Error, Outcome, Session};

/// How often it is looked for requests.
const TICK: Duration = Duration::from_millis(200);
/// How often the rules by which a run waits are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long a tool may tidy up after itself.
const GRACE: Duration = Duration::from_secs(20);
/// Lines that are kept to say why it failed.
const KEPT: usize = 5;
/// A longer line is cut.
const LONGEST_LINE: usize = 300;

/// A program and its arguments.
#[derive(Debug, Default)]
pub(super) struct Call {
    program: String,
    arguments: Vec<String>,
    /// What an auditor needs of it.
    pub(super) shown: String,
    /// How the lines begin that say how far it is.
    pub(super) progress: &'static str,
    /// A file that makes it wait.
    pub(super) pause: Option<PathBuf>,
    /// A file that makes it end.
    pub(super) cancel: Option<PathBuf>,
}

impl Call {
    pub(super) const PAUSE: &str = "pause";
    pub(super) const CANCEL: &str = "cancel";

    pub(super) fn new(program: &str) -> Self {
        Self { program: program.to_owned(), shown: program.to_owned(), ..Self::default() }
    }

    pub(super) fn tell(&mut self, option: &str, value: impl Display) {
        self.shown = format!("{} {option}={value}", self.shown);
        self.quietly(option, value);
    }

    pub(super) fn quietly(&mut self, option: &str, value: impl Display) {
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

/// Runs it to its end.
pub(super) fn run(call: &Call, job: &Job<'_>, watcher: &mut Session<'_>) -> Result<Outcome, Error> {
    // Should we be killed, the kernel kills it too: nobody would steer it any more.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", call.program.as_str()]).args(&call.arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = |source| Error::Tool { program: call.program.clone(), source };
    let mut child = command.spawn().map_err(failed)?;
    let (sender, lines) = channel();
    read(child.stdout.take(), &sender);
    read(child.stderr.take(), &sender);
    drop(sender);
    let (kept, gone) = watch(call, job, &mut child, &lines, watcher);
    let status = child.wait().map_err(failed)?;
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

/// Hands requests on until it has closed its output, and gives the last lines, and why the server cannot be reached any more.
fn watch(
    call: &Call,
    job: &Job<'_>,
    child: &mut Child,
    lines: &Receiver<String>,
    watcher: &mut Session<'_>,
) -> (Vec<String>, Option<Error>) {
    let mut kept: Vec<String> = Vec::new();
    let (mut looked, mut rest) = (Instant::now(), false);
    let mut canceled: Option<Instant> = None;
    let mut gone = None;
    loop {
        match lines.recv_timeout(TICK) {
            Ok(line) => {
                if line.starts_with(call.progress) {
                    (job.progress)(&line);
                }
                kept.drain(..kept.len().saturating_sub(KEPT - 1));
                kept.push(line);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return (kept, gone),
        }
        if gone.is_none() && looked.elapsed() > LOOK_EVERY {
            looked = Instant::now();
            gone = is_gone(watcher, job);
            if gone.is_some() {
                // gh-ost would wait for as long as it is told to rest. It has ended already, if this fails.
                drop(child.kill());
            } else {
                // A replica that cannot be asked is none to burden.
                rest = job.throttle.reason(watcher, Duration::ZERO).map_or(true, |why| why.is_some());
            }
        }
        if let Some(pause) = &call.pause {
            account::flag(pause, rest || job.requests.pause());
        }
        if job.requests.cancel() && canceled.is_none() {
            canceled = Some(Instant::now());
            ask_to_end(call, child);
        }
        if canceled.is_some_and(|since| since.elapsed() > GRACE) {
            // It is gone already, if this fails.
            drop(child.kill());
        }
    }
}

/// Why the server cannot be asked any more. Somebody may have ended the watcher's connection alone.
fn is_gone(watcher: &mut Session<'_>, job: &Job<'_>) -> Option<Error> {
    watcher.ask("SELECT 1").err()?;
    match watcher.beside(job.target, job.connect) {
        Ok(another) => {
            *watcher = another;
            None
        }
        Err(error) => Some(error),
    }
}

/// By its file if it has one, else by the signal upon which it removes what it made.
fn ask_to_end(call: &Call, child: &Child) {
    match &call.cancel {
        Some(file) => account::flag(file, true),
        None => {
            let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
            // It is gone already, if this fails.
            let _gone = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::TERM));
        }
    }
}

fn read(stream: Option<impl Read + Send + 'static>, sender: &Sender<String>) {
    let (Some(stream), sender) = (stream, sender.clone()) else { return };
    thread::spawn(move || {
        for line in BufReader::new(stream).split(b'\n') {
            let Ok(line) = line else { return };
            let text = String::from_utf8_lossy(&line);
            let text: String = text.trim().chars().filter(|c| !c.is_control()).take(LONGEST_LINE).collect();
            if !text.is_empty() && sender.send(text).is_err() {
                return;
            }
        }
    });
}
