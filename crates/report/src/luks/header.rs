//! Headers and their backups: content, judgement, comparison, repair.

use std::io::Write;
use std::path::Path;

use luks::backup::{Check, Manifest, Restored};
use luks::diff::Difference;
use luks::{Finding, Readable, Relation, Report};

use crate::text::{count, pad, visible};
use crate::{Error, Message, json};

/// Width of the severity column.
const SEVERITY: usize = 9;
/// Width of the code column.
const CODE: usize = 26;

/// Writes the JSON for scripts, schema `sealant.luks/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_json(report: &Report, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(report, out)
}

/// Writes a human-readable description of the header at `name`, and the findings.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_table(name: &str, report: &Report, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "{}: {}", visible(name), readable(report))?;
    for line in report.header.iter().flat_map(luks::HeaderSummary::lines) {
        writeln!(out, "  {}", visible(&line))?;
    }
    for note in &report.notes {
        writeln!(out, "  note: {}", visible(note))?;
    }
    if report.keyslots_stored == Some(false) {
        writeln!(out, "  note: only the header is present; key material was not judged")?;
    }
    if !report.findings.is_empty() {
        writeln!(out, "\n{}{}DETAIL", pad("SEVERITY", SEVERITY + 1), pad("FINDING", CODE + 1))?;
    }
    for finding in &report.findings {
        line(finding, out)?;
    }
    let found = report.findings.len();
    writeln!(out, "\n{}", if found == 0 { "nothing to find fault with".to_owned() } else { count(found, "finding") })?;
    Ok(())
}

fn line(finding: &Finding, out: &mut dyn Write) -> Result<(), Error> {
    let (severity, code) = (pad(finding.severity_text(), SEVERITY), pad(finding.code.as_str(), CODE));
    Ok(writeln!(out, "{severity} {code} {}", visible(&finding.detail))?)
}

fn readable(report: &Report) -> &'static str {
    use luks::Readable::{No, Primary, Secondary, Yes};
    match report.readable {
        Yes => "LUKS header, whole",
        Primary => "LUKS header, only the first copy counts",
        Secondary => "LUKS header, only the second copy counts",
        No => "no LUKS header that can be read",
    }
}

/// Writes the content of a header backup.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_backup(backup: &str, manifest: &Manifest, out: &mut dyn Write) -> Result<(), Error> {
    let slots: Vec<String> = manifest.slots.iter().map(|slot| slot.id.to_string()).collect();
    writeln!(out, "{backup}: header of volume {}", manifest.uuid)?;
    writeln!(out, "  sequence number {}, key slots {}", manifest.sequence, slots.join(", "))?;
    Ok(writeln!(out, "  {} bytes, SHA-256 {}", manifest.bytes, manifest.sha256)?)
}

/// Writes the differences between two headers, one line each.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_differences(differences: &[Difference], out: &mut dyn Write) -> Result<(), Error> {
    for difference in differences {
        let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        writeln!(out, "{}: {} | {}", difference.field, side(&difference.one), side(&difference.other))?;
    }
    Ok(())
}

/// Writes the check of a header backup as JSON for scripts, schema `sealant.luks-header-check/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_check_json(check: &Check, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(check, out)
}

/// Writes the check of the header backup in the file `backup` as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_check_table(check: &Check, out: &mut dyn Write) -> Result<(), Error> {
    let list = |ids: &[u32]| ids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    writeln!(out, "{}: {}", check.backup.display(), check.verdict)?;
    match check.verdict {
        "current" => writeln!(out, "  same volume key, same slots")?,
        "stale" => writeln!(out, "  make a new backup and destroy this one")?,
        "other-volume-key" => writeln!(out, "  restoring it would make the data unreadable: destroy it")?,
        _ => writeln!(out, "  not of this volume: restoring it would destroy the data")?,
    }
    if !check.only_backup.is_empty() {
        writeln!(out, "  still opens with the removed key of slot {}", list(&check.only_backup))?;
    }
    if !check.only_volume.is_empty() {
        writeln!(out, "  lacks the key of slot {}", list(&check.only_volume))?;
    }
    match check.as_saved {
        None => writeln!(out, "  no manifest beside it")?,
        Some(true) => writeln!(out, "  identical to its manifest")?,
        Some(false) => writeln!(out, "  NOT identical to its manifest: it was changed or damaged since")?,
    }
    if check.tried_key {
        writeln!(out, "  key on the backup: {}", opens(check.key_opens_backup, "does not open it"))?;
        writeln!(out, "  key on the volume: {}", opens(check.key_opens_volume, "does not open it"))?;
    }
    Ok(())
}

/// Writes the key slots of a header, and which of them the keys in files open.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_slots(
    header: &luks::HeaderSummary,
    opened: &[(String, Option<u32>)],
    out: &mut dyn Write,
) -> Result<(), Error> {
    for line in header.slot_lines() {
        writeln!(out, "{line}")?;
    }
    for (file, slot) in opened {
        writeln!(out, "{file}: {}", opens(*slot, "opens nothing"))?;
    }
    Ok(())
}

fn opens(slot: Option<u32>, none: &str) -> String {
    slot.map_or_else(|| none.to_owned(), |slot| format!("opens slot {slot}"))
}

/// A warning if only one copy of a header is valid: the backup of the header is then as damaged as the volume.
#[must_use]
pub fn luks_header_messages(readable: Readable) -> Vec<Message> {
    match readable {
        Readable::Yes => Vec::new(),
        _ => vec![Message::warning(
            "only one copy of the header is valid, and the backup is as damaged as the volume; see `sealant luks audit`",
        )],
    }
}

/// A warning if the backup has other key slots than the volume: restoring it brings removed keys back.
#[must_use]
pub fn luks_restore_messages(relation: Option<&Relation>) -> Vec<Message> {
    match relation {
        Some(Relation::Stale { .. }) => vec![Message::warning(
            "the backup has other key slots than the volume; keys that were removed since will open it again",
        )],
        _ => Vec::new(),
    }
}

/// Writes that the header of `device` was repaired or restored, as `done` says.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_header_changed(
    device: &Path,
    done: &str,
    restored: &Restored,
    out: &mut dyn Write,
) -> Result<(), Error> {
    writeln!(out, "{}: header {done}; the key opens slot {}", device.display(), restored.slot)?;
    Ok(writeln!(out, "the previous header is in {}", restored.saved.display())?)
}
