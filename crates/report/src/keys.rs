//! The register of a server's keys.

use std::{io::Write, path::Path};

use change::keys::{EncryptedFileKind, KeyEntry, KeyUsage, KeysReport, Storage};
use register::CopyState;

use crate::labels::minute;
use crate::{
    Error, Message, json,
    text::{count, visible},
};

/// Writes the JSON for scripts, schema `sealant.keys/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_keys_json(report: &KeysReport, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(report, out)
}

/// Writes a paragraph for each key.
///
/// # Errors
/// [`Error::Write`].
pub fn write_keys_table(report: &KeysReport, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "{}, {}", visible(&report.server), visible(&report.version))?;
    back_end(report, out)?;
    for key in &report.keys {
        entry(key, &report.datadir, out)?;
    }
    if report.keys.is_empty() {
        writeln!(out, "\nThere is no key, and none of {} needs one.", files(report.files))?;
    }
    for unread in &report.unread {
        writeln!(out, "\nunread: {}: {}", visible(&unread.path.to_string_lossy()), visible(&unread.reason))?;
    }
    for damaged in &report.damaged {
        writeln!(out, "\ndamaged: {}: {}", visible(&damaged.path.to_string_lossy()), visible(&damaged.reason))?;
    }
    writeln!(out)?;
    for (key, when) in &report.last_rotated {
        writeln!(out, "last rotated: {}, {}", visible(&key.replace('_', " ")), minute(*when))?;
    }
    if report.unfinished {
        writeln!(out, "a rotation was interrupted: run it again")?;
    }
    let message = if report.sound {
        format!("sound: every key that {} need exists, and opens them", files(report.files))
    } else if report.tried {
        "NOT sound: see the lines with MISSING, SHUT, unread and damaged".to_owned()
    } else {
        "NOT sound: no key could be read, so none was tried".to_owned()
    };
    writeln!(out, "{message}")?;
    if let Some(remedy) = &report.remedy {
        writeln!(out, "at once: {remedy}")?;
    }
    Ok(())
}

fn back_end(report: &KeysReport, out: &mut dyn Write) -> Result<(), Error> {
    let Some(back_end) = &report.back_end else {
        return Ok(writeln!(out, "no keyring or key management is active")?);
    };
    let kind = match &back_end.storage {
        Storage::File { path } => path.display().to_string(),
        Storage::Service { path } => format!("keys fetched from the service that {} names", path.display()),
        Storage::External { path: Some(path), reason } => format!("{}, not read: {reason}", path.display()),
        Storage::External { path: None, reason } => reason.clone(),
    };
    Ok(writeln!(out, "{}: {}", visible(&back_end.name), visible(&kind))?)
}

fn entry(key: &KeyEntry, datadir: &Path, out: &mut dyn Write) -> Result<(), Error> {
    let newest = if key.newest == Some(true) { ", the newest" } else { "" };
    let held = match key.held {
        Some(true) => "",
        Some(false) if key.is_missing() && key.in_memory == Some(true) => {
            ", MISSING, but in the running server's memory"
        }
        Some(false) if key.is_missing() => ", MISSING",
        Some(false) => ", no longer held",
        None => ", not known whether it is held",
    };
    writeln!(out, "\n{}{newest}{held}", visible(&key.id))?;
    for (kind, uses) in &key.used_by {
        writeln!(out, "  opens        {}", used(*kind, uses, datadir))?;
    }
    if !key.is_needed() {
        writeln!(out, "  opens        nothing known; copies of older files may still need it")?;
    }
    for backup in &key.backups {
        writeln!(out, "  needed by    the backup {}", visible(&backup.to_string_lossy()))?;
    }
    if let Some(seen) = key.first_seen {
        writeln!(out, "  first seen   {}", minute(seen))?;
    }
    if let Some(rotated) = key.rotated {
        writeln!(out, "  rotated      {}, when a newer one replaced it", minute(rotated))?;
    }
    match (&key.copy, key.copy_proven) {
        (Some(copy), Some(proven)) => {
            let now = key.copy_state.as_ref().map(copy_state).unwrap_or_default();
            writeln!(out, "  copy         {}, proven {}{now}", visible(&copy.to_string_lossy()), minute(proven))?;
        }
        _ => writeln!(out, "  copy         none is known")?,
    }
    Ok(())
}

/// State of a proven copy, as a suffix.
fn copy_state(state: &CopyState) -> String {
    match state {
        CopyState::Stands => String::new(),
        CopyState::Gone => ", but it is GONE".to_owned(),
        CopyState::Changed => ", but it was CHANGED since".to_owned(),
        CopyState::OtherKey => ", but the key was EXCHANGED since".to_owned(),
        CopyState::Unread { reason } => format!(", but it cannot be read now: {}", visible(reason)),
        CopyState::NoHash => ", by a version that did not record its hash".to_owned(),
    }
}

/// `12 tablespaces: shop/a.ibd, …`.
fn used(kind: EncryptedFileKind, uses: &KeyUsage, datadir: &Path) -> String {
    let one = match kind {
        EncryptedFileKind::Tablespace => "tablespace",
        EncryptedFileKind::System => "file of the system tablespace",
        EncryptedFileKind::Undo => "undo tablespace",
        EncryptedFileKind::Temporary => "temporary tablespace",
        EncryptedFileKind::Redo => "redo log file",
        EncryptedFileKind::BinaryLog => "binary log",
        EncryptedFileKind::RelayLog => "relay log",
        EncryptedFileKind::Doublewrite => "doublewrite file",
        EncryptedFileKind::Aria => "Aria file",
        EncryptedFileKind::Other => "other file",
    };
    let mut text = count(uses.files, one);
    if let Some(pages) = uses.pages {
        text.push_str(&format!(" with {}", count(pages, "page")));
    }
    if uses.shut > 0 {
        text.push_str(&format!(", {} SHUT", uses.shut));
    }
    let examples: Vec<_> = uses
        .examples
        .iter()
        .map(|path| path.strip_prefix(datadir).unwrap_or(path).to_string_lossy().into_owned())
        .collect();
    let more = if uses.files > examples.len() as u64 { ", …" } else { "" };
    format!("{text}: {}{more}", visible(&examples.join(", ")))
}

fn files(files: u64) -> String {
    count(files, "file")
}

/// Messages about what is wrong with the keys, and what to do about it.
#[must_use]
pub fn keys_messages(report: &KeysReport) -> Vec<Message> {
    let remarks = [&report.withdrawn, &report.unusable, &report.compromised].into_iter().flatten();
    let mut messages: Vec<_> = remarks.map(|key| Message::warning(key.as_str())).collect();
    if report.sound {
        return messages;
    }
    if !report.unread.is_empty() {
        messages.push(Message::error("files could not be read, so the keys they need are not known"));
        messages.push(Message::hint("run as the server's user or as root"));
    }
    if !report.damaged.is_empty() {
        messages.push(Message::error("files are damaged where they name or hold their key, so no key opens them"));
        messages.push(Message::hint("check them with `sealant verify`, and restore them from a backup"));
    }
    if let Some(remedy) = &report.remedy {
        messages.push(Message::error(if report.tried {
            "a required key is missing, or does not open its files"
        } else {
            "no key could be read, so none was tried"
        }));
        messages.push(Message::hint(remedy));
    }
    messages
}
