//! Reports on transfers: what would be sent, and whether received files are unchanged.

use std::io::Write;
use std::iter;
use std::sync::atomic::Ordering;
use std::time::Duration;

use files::quantity::size;
use serde_json::json;
use snapshot::backup::Program;
use transfer::check::{Checked, Difference};
use transfer::plan::Plan;
use transfer::progress::Progress;
use transfer::rekey::Rekeyed;
use transfer::summary::{Event, Summary};

use crate::text::visible;
use crate::{Error, Message, json};

/// Messages about a transfer that was sent.
#[must_use]
pub fn sent_messages(summary: &Summary, progress: &Progress) -> Vec<Message> {
    let sent = Message::info(format!("sent {summary}"));
    iter::once(sent).chain(send_hint(progress).map(Message::Hint)).collect()
}

/// Messages about a transfer that was received, and about its new master keys, if any.
#[must_use]
pub fn received_messages(summary: &Summary, rekeyed: Option<&Rekeyed>) -> Vec<Message> {
    let keys = rekeyed.into_iter().flat_map(|rekeyed| [rekeyed.to_string(), rekeyed.how_to_start()]);
    let received = iter::once(format!("received {summary}")).chain(keys).map(Message::Info);
    received.chain(rekeyed.and_then(Rekeyed::about_unused).map(Message::Warning)).collect()
}

/// Hint for a transfer planned without keys: with keys, encrypted tablespaces compress.
#[must_use]
pub fn send_keys_hint() -> Message {
    Message::hint("with the keys of the server, encrypted tablespaces compress: see --keyring and --mariadb-key-file")
}

/// Warning that the report of a complete transfer was not written.
#[must_use]
pub fn no_transfer_report_message(reason: &str) -> Message {
    Message::warning(format!("everything is in place, but there is no report: {reason}"))
}

/// A hint about logs that were sent encrypted although the given keys decrypt them.
fn send_hint(progress: &Progress) -> Option<String> {
    let bytes = progress.withheld_bytes.load(Ordering::Relaxed);
    (bytes > 0).then(|| {
        format!(
            "{} of MariaDB's encrypted binary logs were sent encrypted, so they did not compress; see --send-mariadb-key in \
             `sealant send --help`",
            size(bytes)
        )
    })
}

/// Message that a received backup was prepared.
#[must_use]
pub fn prepared_message(program: Program, took: Duration) -> Message {
    Message::info(format!("prepared by {program} in {:.1} s: a server may start on it", took.as_secs_f64()))
}

/// The status line while received files are compared with their manifest.
#[must_use]
pub fn manifest_check_status(bytes: u64, total: u64) -> String {
    format!("{} of {}", size(bytes), size(total))
}

/// Writes an event of a transfer as a line of JSON, in one piece.
///
/// # Errors
/// [`Error::Write`].
pub fn write_transfer_event(event: &Event<'_>, out: &mut dyn Write) -> Result<(), Error> {
    let mut line = Vec::new();
    json::line(event, &mut line)?;
    out.write_all(&line)?;
    Ok(out.flush()?)
}

/// Writes the report of a transfer as JSON, schema `sealant.transfer/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_transfer_report(summary: &Summary, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(summary, out)
}

/// Writes what would be sent as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_send_plan(plan: &Plan, out: &mut dyn Write) -> Result<(), Error> {
    for planned in &plan.entries {
        if let Some(bytes) = planned.file_bytes() {
            writeln!(out, "{:>12}  {}", size(bytes), visible(&planned.entry.path.to_string()))?;
        }
    }
    Ok(writeln!(out, "{:>12}  in all, {} entries; nothing was sent", size(plan.bytes), plan.entries.len())?)
}

/// Writes the differences between a directory and its manifest as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_manifest_check_table(checked: &Checked, out: &mut dyn Write) -> Result<(), Error> {
    for Difference { path, fault } in &checked.differences {
        writeln!(out, "{}: {fault}", path.display())?;
    }
    let manifest = &checked.manifest;
    let (entries, bytes, tree) = (manifest.entries.len(), size(manifest.bytes()), manifest.tree());
    match checked.differences.len() {
        0 => writeln!(out, "{entries} entries, {bytes}: all unchanged since they were received; tree {tree}")?,
        count => writeln!(out, "{count} of {entries} entries have changed since they were received; tree {tree}")?,
    }
    Ok(())
}

/// Writes the differences as JSON for scripts, schema `sealant.manifest-check/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_manifest_check_json(checked: &Checked, out: &mut dyn Write) -> Result<(), Error> {
    let difference = |difference: &Difference| json!({ "path": difference.path.display().to_string(), "fault": difference.fault.to_string() });
    let differences: Vec<_> = checked.differences.iter().map(difference).collect();
    let document = json!({
        "schema": "sealant.manifest-check/1",
        "entries": checked.manifest.entries.len(),
        "bytes": checked.manifest.bytes(),
        "tree": checked.manifest.tree().to_string(),
        "differences": differences,
    });
    json::pretty(&document, out)
}
