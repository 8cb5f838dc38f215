//! Reports of `sealant snapshot`: created copies, existing copies, and estimates.

use std::io::Write;

use files::quantity::size;
use serde_json::{Value, json};
use snapshot::{Estimate, FoundCopy, SnapshotCopy, State};

use crate::labels::second;
use crate::{Error, Message, json};

/// Message about how a copy was taken, or that none is needed.
#[must_use]
pub fn snapshot_message(copy: &SnapshotCopy) -> Message {
    Message::info(match copy.name() {
        None => "no server runs on it, so the data directory does not change; nothing was copied".to_owned(),
        Some(_) => format!("taken by {}; {}", copy.provider(), copy.effect()),
    })
}

/// Message that a copy was removed.
#[must_use]
pub fn snapshot_dropped_message(copy: &FoundCopy) -> Message {
    Message::info(format!("dropped {}", copy.name))
}

/// Error that a signal ended a transfer, after its copy was removed.
#[must_use]
pub fn snapshot_released_message() -> Message {
    Message::error("ended by a signal; nothing was committed, and the copy was released")
}

/// Warning that a copy could not be removed.
#[must_use]
pub fn snapshot_kept_message(error: &snapshot::Error) -> Message {
    Message::warning(format!("{error}; `sealant snapshot drop` removes it"))
}

/// Writes the location of a copy, as JSON for scripts.
///
/// # Errors
/// [`Error::Write`].
pub fn write_snapshot_json(unchanged: &SnapshotCopy, out: &mut dyn Write) -> Result<(), Error> {
    let document = json!({
        "name": unchanged.name(),
        "root": unchanged.root(),
        "provider": unchanged.provider().name(),
        "freeze_ms": unchanged.frozen().as_secs_f64() * 1000.0,
    });
    json::pretty(&document, out)
}

/// Writes the location of a copy: its path, for a shell.
///
/// # Errors
/// [`Error::Write`].
pub fn write_snapshot_table(unchanged: &SnapshotCopy, out: &mut dyn Write) -> Result<(), Error> {
    Ok(writeln!(out, "{}", unchanged.root().display())?)
}

/// Writes the copies of a data directory, as JSON for scripts.
///
/// # Errors
/// [`Error::Write`].
pub fn write_snapshots_json(found: &[FoundCopy], out: &mut dyn Write) -> Result<(), Error> {
    let copy = |found: &FoundCopy| {
        json!({
            "name": found.name,
            "root": found.root,
            "provider": found.provider.name(),
            "created": created(found),
            "freeze_ms": found.freeze_ms,
            "state": found.state,
        })
    };
    json::pretty(&found.iter().map(copy).collect::<Vec<Value>>(), out)
}

/// Writes the result as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_snapshots_table(found: &[FoundCopy], out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "{:<20}  {:<8}  {:<6}  NAME", "CREATED", "PROVIDER", "STATE")?;
    for copy in found {
        let state = match copy.state {
            State::Kept => "kept",
            State::InUse => "in use",
            State::Stale => "stale",
            State::Invalid => "void",
        };
        writeln!(out, "{:<20}  {:<8}  {state:<6}  {}", created(copy), copy.provider.name(), copy.name)?;
    }
    Ok(())
}

fn created(found: &FoundCopy) -> String {
    second(found.created)
}

/// Writes the estimated cost of a copy, as JSON for scripts.
///
/// # Errors
/// [`Error::Write`].
pub fn write_estimate_json(estimate: &Estimate, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(estimate, out)
}

/// Writes the result as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_estimate_table(estimate: &Estimate, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "provider     {}", estimate.provider)?;
    writeln!(out, "files        {}", estimate.files)?;
    writeln!(out, "extents      {}", estimate.extents)?;
    writeln!(out, "to write out {}", size(estimate.dirty_bytes))?;
    writeln!(out, "copy         {}", size(estimate.copy_bytes))?;
    Ok(writeln!(out, "freeze       {:.1} ms", estimate.freeze().as_secs_f64() * 1000.0)?)
}
