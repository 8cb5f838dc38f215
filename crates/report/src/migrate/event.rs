//! Events of `sealant migrate` for scripts: JSON Lines, schema `sealant.migrate-event/1`.

use std::io::Write;

use ::migrate::{CutOver, Event, Progress, Verified, WatchEnd, plan::Plan};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    json_line,
    run::{divergence_kind, phase_name},
};
use crate::{Error, labels::second};

/// A line.
#[derive(Debug)]
#[non_exhaustive]
pub enum MigrateLine<'a> {
    /// A migration begins.
    Plan(&'a Plan),
    /// What happens while it runs.
    Event(&'a Event),
    /// The last line of a run or a comparison.
    Compared(&'a Verified),
    /// The last line of a cut-over.
    CutOver(&'a CutOver),
    /// The last line of a cut-over after which the source was watched.
    Watched(&'a CutOver, &'a WatchEnd),
    /// The last line, if the goal was not reached.
    Failed {
        /// What failed.
        error: &'a str,
        /// The next step.
        hint: Option<&'a str>,
        /// Exit code.
        exit: u8,
    },
}

/// Writes a line in one piece. Some events have none.
///
/// # Errors
/// [`Error::Write`].
pub fn write_migrate_line(line: &MigrateLine<'_>, out: &mut dyn Write) -> Result<(), Error> {
    let Some((event, fields)) = fields(line) else { return Ok(()) };
    let first = [
        ("schema", json!("sealant.migrate-event/1")),
        ("time", json!(second(Timestamp::now()))),
        ("event", json!(event)),
    ];
    out.write_all(&json_line(first, fields)?)?;
    Ok(out.flush()?)
}

fn fields(line: &MigrateLine<'_>) -> Option<(&'static str, Value)> {
    Some(match line {
        MigrateLine::Plan(plan) => {
            let (rows, bytes) = plan.tables.iter().fold((0_u64, 0_u64), |(rows, bytes), table| {
                (rows.saturating_add(table.rows), bytes.saturating_add(table.bytes))
            });
            ("plan", json!({ "tables": plan.tables.len(), "rows": rows, "bytes": bytes }))
        }
        MigrateLine::Event(event) => return of_event(event),
        MigrateLine::Compared(verified) => {
            ("done", json!({ "rows": verified.rows, "chunks": verified.chunks, "open": verified.open }))
        }
        MigrateLine::CutOver(done) => ("done", of_cut_over(done)),
        MigrateLine::Watched(done, end) => {
            let mut line = of_cut_over(done);
            let watch = match end {
                WatchEnd::Quiet => "quiet",
                WatchEnd::Stopped => "stopped",
                WatchEnd::Unreachable(_) => "unreachable",
            };
            line["watch"] = json!(watch);
            ("done", line)
        }
        MigrateLine::Failed { error, hint, exit } => ("failed", json!({ "error": error, "hint": hint, "exit": exit })),
    })
}

fn of_cut_over(done: &CutOver) -> Value {
    json!({ "blocked_seconds": done.blocked.map(|blocked| blocked.as_secs_f64()), "end_position": done.source_end })
}

fn of_event(event: &Event) -> Option<(&'static str, Value)> {
    Some(match event {
        Event::Progress(progress) => ("progress", of_progress(progress)),
        Event::Phase(phase) => ("phase", json!({ "phase": phase_name(*phase) })),
        Event::Resumed { why } => ("resumed", json!({ "why": why })),
        Event::Table { name, rows, bytes } => ("table", json!({ "table": name, "rows": rows, "bytes": bytes })),
        Event::InUse { tables } => ("in-use", json!({ "tables": tables })),
        Event::NewTables { tables } => ("new-tables", json!({ "tables": tables })),
        Event::ComparesAgain => ("compares-again", json!({})),
        Event::Divergence(found) => {
            let kind = divergence_kind(found.kind);
            ("divergence", json!({ "table": found.table, "key": found.key, "kind": kind }))
        }
        Event::Step { name } => ("cutover-step", json!({ "step": name })),
        _ => return None,
    })
}

fn of_progress(progress: &Progress) -> Value {
    json!({
        "phase": phase_name(progress.phase),
        "work": progress.work,
        "rows": progress.copied_rows,
        "bytes": progress.copied_bytes,
        "bytes_per_second": progress.bytes_per_second,
        "done_bytes": progress.done_bytes,
        "total_bytes": progress.total_bytes,
        "limited_by": progress.limited_by,
        "applied": progress.applied_rows,
        "lag_seconds": progress.lag.map(|lag| lag.as_secs()),
        "chunks": progress.chunks,
        "verified_chunks": progress.verified_chunks,
        "eta_seconds": progress.eta.map(|left| left.as_secs()),
    })
}
