//! Plans and runs of `sealant encrypt`.

use std::io::Write;
use std::path::Path;

use change::{Activity, ClientImpact, Outcome, Request, RunState, StepReport, encrypt};
use files::quantity::{size, sizes};
use jiff::{SpanRound, Timestamp, Unit};

use crate::{
    Error, Message, json, labels,
    text::{count, visible},
};

/// Maximum number of leftovers of one check in the table.
const MAX_LISTED: usize = 12;

/// Writes the JSON for scripts, schema `sealant.encrypt/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_encrypt_json(report: &encrypt::EncryptReport, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(report, out)
}

/// Writes the plan as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_encrypt_plan(report: &encrypt::EncryptReport, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "{}, {}", visible(&report.server), visible(&report.version))?;
    writeln!(out, "\n{:>4}  {:>10}  {:<14}  STEP", "", "REWRITES", "CLIENTS WAIT")?;
    for (number, step) in report.steps.iter().enumerate() {
        let bytes = if step.bytes == 0 { "-".to_owned() } else { size(step.bytes) };
        writeln!(out, "{:>4}  {bytes:>10}  {:<14}  {}", number + 1, waits(step), visible(&step.what))?;
        for statement in &step.statements {
            writeln!(out, "      {};", visible(statement))?;
        }
    }
    let bytes: u64 = report.steps.iter().map(|step| step.bytes).sum();
    writeln!(out, "\n{} will be rewritten{}", size(bytes), room(report.room))?;
    writeln!(out, "At the end every page of every file is read, and files with old clear text are rewritten.")?;
    leftovers("Not closed by this:", &report.leftovers, out)
}

/// The space that the largest copy needs: it exists next to its table until it is complete.
fn room(room: Option<encrypt::Room>) -> String {
    let Some(room) = room else { return ".".to_owned() };
    match room.free_bytes {
        Some(free) if room.lacks() => {
            let [needed, free] = sizes(room.needed_bytes, free);
            format!(
                "; the largest copy needs {needed} of space, and only {free} are free: a run leaves that table as it is."
            )
        }
        _ => format!("; the largest copy needs {} of space.", size(room.needed_bytes)),
    }
}

fn waits(step: &StepReport) -> String {
    match step.blocks {
        ClientImpact::Nothing => "no".to_owned(),
        ClientImpact::Moment => "a moment".to_owned(),
        ClientImpact::Writes if step.bytes < encrypt::ASSUMED_RATE => "writes, < 1 s".to_owned(),
        ClientImpact::Writes => format!("writes, ~{} s", step.bytes / encrypt::ASSUMED_RATE),
    }
}

/// Writes the result of a run as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_encrypt_run(report: &encrypt::EncryptReport, out: &mut dyn Write) -> Result<(), Error> {
    for step in &report.steps {
        let (state, reason) = match &step.outcome {
            Outcome::Planned => ("planned", ""),
            Outcome::Done => ("done", ""),
            Outcome::Skipped { reason } => ("skipped", reason.as_str()),
            Outcome::Failed { reason } => ("FAILED", reason.as_str()),
        };
        writeln!(out, "{state:>8} {:>8.1} s  {}", step.seconds, visible(&step.what))?;
        if !reason.is_empty() {
            writeln!(out, "{:>21}{}", "", visible(reason))?;
        }
    }
    if let Some(after) = &report.keyring_after {
        let files = |opened: u64| count(opened, "encrypted file");
        let before = files(report.keyring.map_or(0, |opened| opened.encrypted_files));
        writeln!(out, "\nThe keyring opened {before} before, and opens {} now.", files(after.encrypted_files))?;
        writeln!(out, "Keep a copy of it that is not on this disk: without it the data is lost.")?;
    }
    let (closable, never): (Vec<_>, Vec<_>) = report.leftovers.iter().cloned().partition(|leftover| leftover.closable);
    leftovers("In clear text still:", &closable, out)?;
    leftovers("Not encrypted by this server:", &never, out)?;
    let message = if report.done {
        "done: every page of every file was read, and all that this server can encrypt is encrypted"
    } else {
        "not done: see above; run it again to continue"
    };
    Ok(writeln!(out, "\n{message}")?)
}

fn leftovers(title: &str, leftovers: &[encrypt::Leftover], out: &mut dyn Write) -> Result<(), Error> {
    if leftovers.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}")?;
    let mut checks: Vec<&str> = Vec::new();
    for leftover in leftovers {
        if !checks.contains(&leftover.check.as_str()) {
            checks.push(&leftover.check);
        }
    }
    for check in checks {
        let of_check: Vec<_> = leftovers.iter().filter(|leftover| leftover.check == check).collect();
        for leftover in of_check.iter().take(MAX_LISTED) {
            writeln!(out, "  {}: {}", visible(&leftover.artefact), visible(&leftover.reason))?;
        }
        if of_check.len() > MAX_LISTED {
            writeln!(out, "  … and {} more (see --format json)", of_check.len() - MAX_LISTED)?;
        }
        if let Some(first) = of_check.first() {
            writeln!(out, "      {}", visible(&first.remedy))?;
        }
    }
    Ok(())
}

/// Writes the known runs as a list for scripts, schema `sealant.encrypt-state/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_runs_json(runs: &[RunState], out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(runs, out)
}

/// Writes each run's task, its progress, and its duration so far.
///
/// # Errors
/// [`Error::Write`].
pub fn write_runs_table(runs: &[RunState], out: &mut dyn Write) -> Result<(), Error> {
    if runs.is_empty() {
        writeln!(out, "no run is known")?;
    }
    runs.iter().try_for_each(|run| write_run(run, Timestamp::now(), out))
}

fn write_run(run: &RunState, now: Timestamp, out: &mut dyn Write) -> Result<(), Error> {
    let why = run.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    writeln!(out, "{}: {}{why}", run.server, run.activity)?;
    if run.activity.is_alive() {
        writeln!(out, "  process {}, step {} of {}: {}", run.pid, run.step, run.steps, run.what)?;
    } else {
        writeln!(out, "  at step {} of {}: {}", run.step, run.steps, run.what)?;
    }
    if let (Activity::Running, Some(within)) = (run.activity, &run.within) {
        writeln!(out, "    {within}")?;
    }
    let (done, total) = (size(run.bytes_done), size(run.bytes_total));
    let end = if run.activity.is_alive() { now } else { run.at };
    let (took, began) = (took(run.began, end), run.began.strftime("%F %T UTC"));
    writeln!(out, "  {done} of {total} rewritten, {took} since {began}")?;
    writeln!(out, "  statements in {}", run.log.display())?;
    Ok(())
}

fn took(from: Timestamp, to: Timestamp) -> String {
    let span = to.since((Unit::Hour, from)).and_then(|span| span.round(SpanRound::new().smallest(Unit::Second)));
    span.map_or_else(|_| "-".to_owned(), |span| format!("{span:#}"))
}

/// Hint at the file with all statements of a run, for a run that left something undone.
#[must_use]
pub fn statement_log_hint(log: &Path) -> Message {
    Message::hint(format!("every statement that ran is in {}", log.display()))
}

/// Messages about the finished runs whose records were removed.
#[must_use]
pub fn forgotten_messages(runs: &[RunState]) -> Vec<Message> {
    let one = |run: &RunState| Message::info(format!("{}: forgotten, of {}", run.server, labels::minute(run.began)));
    if runs.is_empty() {
        vec![Message::info("no run has ended that could be forgotten")]
    } else {
        runs.iter().map(one).collect()
    }
}

/// How a run reacts to a request, or to its withdrawal (`wanted` is false).
#[must_use]
pub fn request_text(run: &RunState, request: Request, wanted: bool) -> String {
    let server = &run.server;
    match (request, wanted) {
        (Request::Pause, true) => format!("{server}: the run pauses after its current step"),
        (Request::Pause, false) => format!("{server}: the run resumes"),
        (Request::Cancel, _) => format!("{server}: the run ends; a table that is being copied stays unchanged"),
    }
}
