//! Runs of `sealant migrate`: progress, events, and the state.

use std::{io::Write, path::Path, time::Duration};

use ::migrate::{CutOver, DivergenceKind, Event, FallbackEnd, FallbackStatus, Phase, Status, Verified, WatchEnd};

use super::plan::paragraph;
use crate::{
    Error, Message, size,
    text::{count, fit_name, number, pad, visible},
};

/// Columns of a table's name.
const NAME: usize = 36;

/// Name of a phase, for scripts.
pub(super) const fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Copy => "copy",
        Phase::Copied => "copied",
        Phase::CutOver => "cut-over",
        Phase::Switched => "switched",
    }
}

/// Name of a kind of difference, for scripts.
pub(super) const fn divergence_kind(kind: DivergenceKind) -> &'static str {
    match kind {
        DivergenceKind::Missing => "missing",
        DivergenceKind::Extra => "extra",
        DivergenceKind::Different => "different",
    }
}

/// A line for an event; `None` for progress.
#[must_use]
pub fn migrate_event(event: &Event) -> Option<String> {
    Some(match event {
        Event::Phase(Phase::Copy) => "copying the tables, and following the source".to_owned(),
        Event::Phase(Phase::Copied) => "every row is copied; following the source".to_owned(),
        Event::Phase(_) => return None,
        Event::Resumed { why } => format!("{}; trying again", visible(why)),
        Event::InUse { tables } => {
            format!("{}: in use by a transaction, so other tables are copied first", visible(tables))
        }
        Event::NewTables { tables } => {
            format!(
                "{}: made at the source meanwhile, and not moved; a run ends if it stays, and a cut-over is refused",
                visible(tables)
            )
        }
        Event::ComparesAgain => {
            "the log that tells who else changes the copies is not read: every row is compared again before writes are \
             blocked, at each attempt"
                .to_owned()
        }
        Event::Divergence(found) => {
            let how = match found.kind {
                DivergenceKind::Missing => "is missing at the target",
                DivergenceKind::Extra => "is at the target only",
                DivergenceKind::Different => "differs",
            };
            format!("{}: the row with the key {} {how}", visible(&found.table), visible(&found.key))
        }
        Event::Step { name } => format!("cut-over: {name}"),
        _ => return None,
    })
}

/// What aborting a migration will remove, for a confirmation prompt.
#[must_use]
pub const fn migrate_abort_change(drop_tables: bool) -> &'static str {
    match drop_tables {
        true => "The state and the tables of the migration at the target will be removed.",
        false => "The state of the migration at the target will be removed.",
    }
}

/// Message that a migration was aborted.
#[must_use]
pub fn migrate_aborted(drop_tables: bool) -> Message {
    let tables = if drop_tables { "the tables at the target are dropped" } else { "its tables stay at the target" };
    Message::info(format!("the migration is aborted; {tables}"))
}

/// Messages that a migration is paused, and how it goes on.
#[must_use]
pub fn migrate_paused() -> [Message; 2] {
    let keep = "the source has to keep its binary log meanwhile; sealant migrate resume lets the migration go on";
    [Message::info("the migration is paused: no process works on it"), Message::hint(keep)]
}

/// Messages that a migration is not paused any more, and what continues it.
#[must_use]
pub fn migrate_resumed() -> [Message; 2] {
    [Message::info("the migration may go on"), Message::hint("sealant migrate run continues it")]
}

/// Message with the path at which the proof of a migration was saved.
#[must_use]
pub fn migrate_proof_saved(path: &Path) -> Message {
    Message::info(format!("the proof is in {}", path.display()))
}

/// Message that more rows differ than the `named` ones.
#[must_use]
pub fn migrate_more_differ(named: usize) -> Message {
    Message::info(format!("more than {named} rows differ; --json names all"))
}

/// Message that a migration was ended after its cut-over.
#[must_use]
pub fn migrate_finished() -> Message {
    Message::info("the state of the migration is removed; the tables stay at both ends")
}

/// Hint at the end of a run that only copied rows: they are not compared yet.
#[must_use]
pub fn migrate_copied() -> Vec<Message> {
    vec![Message::hint("rows are not compared yet: sealant migrate run does that, and sealant migrate verify again")]
}

/// Messages at the end of a run that made the target ready for the cut-over.
#[must_use]
pub fn migrate_ready(verified: &Verified) -> Vec<Message> {
    let next = "to follow the source until the cut-over: sealant migrate run --until forever; to end the migration: \
                sealant migrate cutover --fence read-only";
    [migrate_verified(verified), vec![Message::hint(next)]].concat()
}

/// Message about the rows that were compared.
#[must_use]
pub fn migrate_verified(verified: &Verified) -> Vec<Message> {
    let rows = count(verified.rows, "row");
    vec![Message::info(match (verified.open, verified.chunks) {
        (0, 0) => "no row has changed since all were compared; every row is equal at both servers".to_owned(),
        (0, _) => format!("{rows} compared; every row is equal at both servers"),
        (open, _) => format!(
            "{rows} compared, and none differs; {} changed all the time, and the cut-over will compare them",
            count(open, "range")
        ),
    })]
}

/// Messages about a cut-over, and the next step.
#[must_use]
pub fn migrate_cut_over(done: &CutOver) -> Vec<Message> {
    let end = visible(&done.source_end);
    let text = match done.blocked {
        None => format!("the cut-over was done before: the target has every row up to {end} of the source's log"),
        Some(blocked) => format!(
            "the target has every row up to {end} of the source's log, and all are equal; the source has taken \
             no writes for {:.1} s",
            blocked.as_secs_f64()
        ),
    };
    let next = "let the applications write to the target; show the proof with sealant migrate report --html FILE; end the \
                migration with sealant migrate finish --proof FILE; the source stays fenced as --fence says";
    vec![Message::info(text), Message::hint(next)]
}

/// Message that the source is watched after the cut-over.
#[must_use]
pub fn migrate_watching(time: Duration) -> Message {
    Message::info(format!("the source's log is watched for changes of the moved tables, for {}", ago(time)))
}

/// Message at the end of this.
#[must_use]
pub fn migrate_watched(end: &WatchEnd) -> Message {
    Message::info(match end {
        WatchEnd::Quiet => "no moved table was changed at the source since the switch".to_owned(),
        WatchEnd::Stopped => "stopped: no moved table was changed at the source so far".to_owned(),
        WatchEnd::Unreachable(why) => {
            format!(
                "no moved table was changed at the source, until it could not be reached any more: {}",
                visible(why)
            )
        }
    })
}

/// Messages after a cut-over whose source is kept ready for a fallback.
#[must_use]
pub fn migrate_way_back() -> [Message; 2] {
    [
        Message::info("the target is ready; its changes are applied to the source from now on"),
        Message::hint(
            "let the applications write to the target; sealant migrate fallback returns to the source; SIGINT or SIGTERM \
             ends this command, and the same command resumes; sealant migrate finish --proof FILE ends the migration",
        ),
    ]
}

/// Message that changes of the target are not applied to the source any more.
#[must_use]
pub fn migrate_way_back_ended(end: FallbackEnd) -> Vec<Message> {
    match end {
        FallbackEnd::Expired => vec![
            Message::info("the time for a fallback is over: there is no way back, and the source stays read-only"),
            Message::hint("end the migration with sealant migrate finish --proof FILE"),
        ],
        FallbackEnd::TakenOver => vec![Message::info("another command works on the way back now")],
        FallbackEnd::Stopped => vec![
            Message::info("changes of the target are not applied to the source any more"),
            Message::hint("the same command resumes; the target has to keep its binary log meanwhile"),
        ],
    }
}

/// Messages about a fallback, and the next step.
#[must_use]
pub fn migrate_fell_back(done: &CutOver) -> Vec<Message> {
    let end = visible(&done.source_end);
    let text = match done.blocked {
        None => format!("the fallback was done before: the source has every row up to {end} of the target's log"),
        Some(blocked) => format!(
            "the source has every row up to {end} of the target's log, and all are equal; it is writable again, and the \
             target is read-only since {:.1} s",
            blocked.as_secs_f64()
        ),
    };
    let next = "let the applications write to the source; end the migration with sealant migrate finish --proof FILE; the \
                target stays read-only (super_read_only)";
    vec![Message::info(text), Message::hint(next)]
}

/// Writes the state of a migration as text, in 80 columns.
///
/// # Errors
/// [`Error::Write`].
pub fn write_migrate_status(status: &Status, out: &mut dyn Write) -> Result<(), Error> {
    paragraph(out, "phase", phase(status))?;
    if status.fenced {
        paragraph(out, "source", "fenced: clients cannot write")?;
    }
    if let Some(text) = fallback(status.fallback) {
        paragraph(out, "fallback", &text)?;
    }
    let process = match (status.running, status.paused) {
        (true, _) => "runs now".to_owned(),
        (false, true) => "none runs: the migration is paused".to_owned(),
        (false, false) => format!("none runs; the last sign of one is {} old", ago(status.seen)),
    };
    paragraph(out, "process", &process)?;
    paragraph(out, "applied", &format!("transactions {}", status.position.replace(',', ", ")))?;
    tables(status, out)?;
    let next = next(status);
    if next.is_empty() { Ok(()) } else { paragraph(out, "next", next) }
}

fn fallback(status: FallbackStatus) -> Option<String> {
    match status {
        FallbackStatus::Impossible => None,
        FallbackStatus::Possible(left) => Some(format!("possible for {}, by sealant migrate fallback", ago(left))),
        FallbackStatus::TargetReadOnly => Some("the target is read-only: it is being done, or was done".to_owned()),
    }
}

fn tables(status: &Status, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out)?;
    line(out, ["TABLES", "copied", "rows", "size", "equal"])?;
    for table in &status.tables {
        let whole = if table.complete { "whole" } else { "partly" };
        let equal = match (table.complete, table.chunks == table.verified) {
            (true, true) => "all".to_owned(),
            _ => format!("{} %", table.verified.saturating_mul(100).checked_div(table.chunks).unwrap_or(0)),
        };
        line(out, [&visible(&table.name), whole, &number(table.rows), &size(table.bytes), &equal])?;
    }
    Ok(writeln!(out)?)
}

/// Name, state, rows, size, and how many of the chunks are equal.
fn line(out: &mut dyn Write, [name, copied, rows, size, equal]: [&str; 5]) -> Result<(), Error> {
    let name = pad(&fit_name(name, NAME, "…"), NAME);
    Ok(writeln!(out, "{name}  {copied:<6}  {rows:>14}  {size:>9}  {equal:>5}")?)
}

/// The command that comes next; empty while one runs.
const fn next(status: &Status) -> &'static str {
    match status.phase {
        Phase::Switched => {
            "sealant migrate report shows the proof; sealant migrate finish --proof FILE saves it and ends the migration"
        }
        _ if status.running => "",
        _ if status.fenced && status.paused => {
            "sealant migrate resume, then sealant migrate cutover; sealant migrate abort gives the migration up"
        }
        _ if status.fenced => "sealant migrate cutover resumes; sealant migrate abort gives the migration up",
        _ if status.paused => "sealant migrate resume, then sealant migrate run",
        Phase::Copy => "sealant migrate run resumes",
        Phase::Copied | Phase::CutOver => "sealant migrate run, until the cut-over; sealant migrate cutover",
    }
}

const fn phase(status: &Status) -> &'static str {
    match status.phase {
        Phase::Copy => "rows are copied",
        Phase::Copied => "every row is copied; changes of the source are applied",
        Phase::CutOver if status.running => "the cut-over is in progress",
        Phase::CutOver => "a cut-over was interrupted",
        Phase::Switched => "the cut-over is done: the target has every row",
    }
}

/// A time in its two largest units.
fn ago(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use migrate::TableStatus;

    use super::*;

    fn status(phase: Phase, running: bool, fenced: bool) -> String {
        let table = |name: &str, complete, verified| TableStatus {
            name: name.to_owned(),
            chunks: 8,
            rows: 12_345_678_901,
            bytes: 5 << 40,
            verified,
            complete,
        };
        let long = format!("shop.{}", "x".repeat(64));
        let tables = vec![table(&long, true, 8), table("shop.b", false, 2)];
        let position = "f275dc0a-ea58-11f1-8af4-02fc00000001:1-7,".repeat(4);
        let seen = Duration::from_secs(4000);
        let (step, fallback) = (String::new(), FallbackStatus::Impossible);
        let status = Status { phase, step, fenced, paused: false, running, seen, fallback, position, tables };
        let mut out = Vec::new();
        write_migrate_status(&status, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_status_says_what_comes_next_in_80_columns() {
        for (phase, running, fenced, expected) in [
            (Phase::Copy, false, false, "next      sealant migrate run resumes\n"),
            (Phase::CutOver, false, true, "sealant migrate abort gives the\n"),
            (Phase::Switched, false, false, "sealant migrate finish"),
            (Phase::Copied, true, false, "process   runs now"),
            (Phase::Copied, false, false, "none runs; the last sign of one is 1 h 6 min old"),
        ] {
            let text = status(phase, running, fenced);
            assert!(text.contains(expected), "{text}");
            assert_eq!(text.lines().find(|line| line.chars().count() > 80), None, "{text}");
            assert_eq!(text.contains("clients cannot write"), fenced, "{text}");
            assert!(text.contains("  all\n") && text.contains("25 %\n"), "{text}");
        }
    }
}
