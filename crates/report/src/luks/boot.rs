//! Opening volumes at boot.

use std::io::Write;
use std::path::{Path, PathBuf};

use luks::boot::Checked;
use luks::device::MountPointGuard;
use serde_json::json;

use super::volume::not_immutable;
use crate::{Error, Message, json};

/// Writes what would keep a server down at the next boot, as JSON for scripts, schema `sealant.luks-boot/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_boot_json(checked: &Checked, out: &mut dyn Write) -> Result<(), Error> {
    let (good, faults) = (&checked.good, &checked.faults);
    let faults: Vec<_> = faults.iter().map(|fault| json!({"code": fault.code, "detail": fault.what})).collect();
    json::pretty(&json!({"schema": "sealant.luks-boot/1", "good": good, "faults": faults}), out)
}

/// Writes the result as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_boot_table(checked: &Checked, out: &mut dyn Write) -> Result<(), Error> {
    for line in &checked.good {
        writeln!(out, "ok     {line}")?;
    }
    for fault in &checked.faults {
        writeln!(out, "WRONG  {} ({})", fault.what, fault.code)?;
    }
    Ok(())
}

/// Messages after a volume was set up to open at boot: a warning about its mount point, and how to prove the set-up.
#[must_use]
pub fn luks_boot_installed_messages(
    directory: &Path,
    guard: Option<MountPointGuard>,
    name: &str,
    units: &[String],
) -> Vec<Message> {
    let warning = (guard == Some(MountPointGuard::Permissions)).then(|| not_immutable(directory));
    let units = units.join(" --unit ");
    let hint = format!("prove it: `sealant luks boot check --name {name} --unit {units}`");
    warning.into_iter().chain([Message::hint(hint)]).collect()
}

/// Warnings about lines in tables that stay although the volume's own lines are removed. `foreign` has pairs of table
/// and line.
#[must_use]
pub fn luks_boot_foreign_messages(foreign: &[(PathBuf, String)]) -> Vec<Message> {
    let stays = |(table, line): &(PathBuf, String)| {
        Message::warning(format!("{}: `{line}` stays, because `boot install` did not write it", table.display()))
    };
    foreign.iter().map(stays).collect()
}

/// Hint after a volume's set-up for boot was removed: its mount point stays immutable.
#[must_use]
pub fn luks_boot_removed_message() -> Message {
    Message::hint("the mount point stays immutable; `chattr -i` makes it writable")
}
