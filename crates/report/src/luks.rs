//! Reports of `sealant luks`: human-readable tables, JSON for scripts.

use std::io::Write;
use std::path::Path;

use luks::backup::{Check, Manifest};
use luks::boot::Checked;
use luks::device::{MountPointGuard, Mounted, Opened};
use luks::diff::Difference;
use luks::plan::{Plan, Protection};
use luks::{Finding, Report};
use serde_json::json;

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
    for line in header.lines().iter().filter(|line| line.starts_with("slot ")) {
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

/// Writes the kernel's description of an open volume.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_opened(name: &str, opened: &Opened, out: &mut dyn Write) -> Result<(), Error> {
    let (status, state) = (&opened.status, if opened.already { "is open already" } else { "open" });
    let flags = if status.flags.is_empty() { String::new() } else { format!(", {}", status.flags.join(", ")) };
    Ok(writeln!(
        out,
        "/dev/mapper/{name}: {state}: LUKS volume {} on {}, {}, {} key bits, {}-byte sectors{flags}",
        opened.uuid,
        status.device.display(),
        status.cipher,
        status.key_bits,
        status.sector_bytes
    )?)
}

/// Writes the mount points of a volume.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_mounted(name: &str, directory: &Path, mounted: &Mounted, out: &mut dyn Write) -> Result<(), Error> {
    let state = match mounted {
        Mounted::Before { .. } => "is mounted already",
        Mounted::Now(MountPointGuard::Immutable) => "mounted; the directory below is immutable",
        Mounted::Now(MountPointGuard::Permissions) => "mounted; the directory below is closed to all but root",
    };
    Ok(writeln!(out, "{}: /dev/mapper/{name} {state}", directory.display())?)
}

/// Ways in which data can still reach the disk below a mounted volume in plaintext.
#[must_use]
pub fn luks_mount_messages(directory: &Path, mounted: &Mounted) -> Vec<Message> {
    let directory = directory.display();
    match mounted {
        Mounted::Now(MountPointGuard::Immutable) | Mounted::Before { hidden: None } => Vec::new(),
        Mounted::Now(MountPointGuard::Permissions) => vec![Message::warning(format!(
            "{directory}: its file system has no immutable flag; as root, a server could still write there in plaintext"
        ))],
        Mounted::Before { hidden: Some(name) } => vec![
            Message::warning(format!("{directory}: {} lies in plaintext below the volume", name.to_string_lossy())),
            Message::hint("stop the server, `sealant luks close --unmount`, `chattr -i`, move it, and mount again"),
        ],
    }
}

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

/// Writes a plan for encrypting a server's disk as JSON for scripts, schema `sealant.luks-plan/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_plan_json(plan: &Plan, out: &mut dyn Write) -> Result<(), Error> {
    let mut document = serde_json::to_value(plan)?;
    if let Some(fields) = document.as_object_mut() {
        fields.insert("schema".to_owned(), json!("sealant.luks-plan/1"));
    }
    json::pretty(&document, out)
}

/// Writes the result as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_luks_plan_table(plan: &Plan, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "{:<10} {:<24} {:<10} {:<40} DISKS", "STATE", "WHAT", "MIB", "WHERE")?;
    for path in plan.input.paths.iter().chain(&plan.input.swaps) {
        let state = match &path.state {
            Protection::Encrypted(_) => "encrypted",
            Protection::Plain => "PLAIN",
            Protection::Memory => "memory",
            Protection::Unknown(_) => "UNKNOWN",
        };
        let mib = path.bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.div_ceil(1 << 20).to_string());
        writeln!(out, "{state:<10} {:<24} {mib:<10} {:<40} {}", path.role, path.path, path.chain.join(" on "))?;
    }
    if !plan.steps.is_empty() {
        plan_steps(plan, out)?;
    }
    writeln!(out, "\nMind:")?;
    for remark in &plan.remarks {
        writeln!(out, "  - {remark}")?;
    }
    Ok(())
}

fn plan_steps(plan: &Plan, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "\nParameters:")?;
    for choice in &plan.choices {
        writeln!(out, "  {}: {}\n      {}", choice.what, choice.value, choice.why)?;
    }
    writeln!(out, "\nSpace: a new disk of at least {} MiB", plan.needed_bytes.div_ceil(1 << 20))?;
    writeln!(out, "\nSteps:")?;
    for (step, number) in plan.steps.iter().zip(1..) {
        writeln!(out, "  {number}. {}", step.what)?;
        if let Some(command) = &step.command {
            writeln!(out, "       {command}")?;
        }
    }
    Ok(())
}
