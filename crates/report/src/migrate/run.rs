//! Runs of `sealant migrate`: progress, events, and the state.

use std::io::Write;

use ::migrate::{CutOver, DivergenceKind, Event, Phase, Progress, Status, Verified};

use crate::{
    Error, size,
    text::{count, number, visible},
};

/// The status line of a run.
#[must_use]
pub fn migrate_status_line(progress: &Progress) -> String {
    let rows = number(progress.copied_rows);
    let applied = number(progress.applied_rows);
    format!(
        "{}  copied {rows} rows, {}  applied {applied} changes  verified {} of {} chunks",
        phase(progress.phase),
        size(progress.copied_bytes),
        number(progress.verified_chunks),
        number(progress.chunks)
    )
}

/// A line for an event; `None` for progress.
#[must_use]
pub fn migrate_event(event: &Event) -> Option<String> {
    Some(match event {
        Event::Phase(begun) => phase(*begun).to_owned(),
        Event::Resumed { why } => format!("{}; going on", visible(why)),
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

/// What was compared.
#[must_use]
pub fn migrate_verified(verified: &Verified) -> String {
    let chunks = count(verified.chunks, "chunk");
    match verified.open {
        0 => format!("{chunks} compared, all rows are equal"),
        open => format!(
            "{chunks} compared, no row differs; {open} changed all the time and will be compared in the cut-over"
        ),
    }
}

/// What a cut-over did.
#[must_use]
pub fn migrate_cut_over(done: &CutOver) -> String {
    if done.source_end.is_empty() {
        return "the cut-over was done before".to_owned();
    }
    let seconds = done.blocked.as_secs_f64();
    format!("the target has every row up to {}; writes were blocked for {seconds:.1} s so far", done.source_end)
}

/// Writes the state of a migration as text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_migrate_status(status: &Status, out: &mut dyn Write) -> Result<(), Error> {
    let mut text = format!("phase     {}\n", phase(status.phase));
    if !status.step.is_empty() {
        text.push_str(&format!("cut-over  {}\n", status.step));
    }
    text.push_str(&format!("applied   {}\n", visible(&status.position)));
    for table in &status.tables {
        let copied = if table.complete { "copied" } else { "copying" };
        let rows = number(table.rows);
        text.push_str(&format!(
            "{:<40}  {copied:<7}  {rows:>14} rows  {} of {} chunks verified\n",
            visible(&table.name),
            table.verified,
            table.chunks
        ));
    }
    out.write_all(text.as_bytes()).map_err(Error::Write)
}

const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Copy => "copying",
        Phase::Copied => "copied",
        Phase::CutOver => "cutting over",
        Phase::Switched => "switched",
    }
}
