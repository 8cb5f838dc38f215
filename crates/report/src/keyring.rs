//! Reports of `sealant keyring`: set-up, and whether a server uses it.

use std::io::Write;

use change::{
    init::{CheckReport, CheckState, InitReport, Part, Presence},
    keyring_migration::MigrationReport,
};

use crate::{Error, json, text::visible};

/// Writes the JSON for scripts, schema `sealant.keyring-init/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_init_json(report: &InitReport, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(report, out)
}

/// Writes what was changed, or would be changed, as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_init_table(report: &InitReport, out: &mut dyn Write) -> Result<(), Error> {
    let datadir = report.datadir.to_string_lossy();
    writeln!(out, "{}: {}, data in {}", visible(&report.server), visible(&report.flavor), visible(&datadir))?;
    writeln!(out, "keys: {}\n", visible(&report.keyring.to_string_lossy()))?;
    for part in &report.parts {
        write_part(part, out)?;
    }
    for note in &report.notes {
        writeln!(out, "\nnote: {}", visible(note))?;
    }
    if report.done {
        writeln!(out, "\nnext: {}", visible(&report.next))?;
    }
    Ok(())
}

fn write_part(part: &Part, out: &mut dyn Write) -> Result<(), Error> {
    let condition = match part.condition {
        Presence::Missing => "to write",
        Presence::There => "there",
        Presence::Written => "written",
    };
    let owner = part.owner.map_or_else(String::new, |(user, group)| format!(" {user}:{group}"));
    let path = part.path.to_string_lossy();
    writeln!(out, "{condition:>9}  {:04o}{owner}  {}", part.mode, visible(&path))?;
    writeln!(out, "{:>9}  {}", "", visible(&part.what))?;
    for line in part.text.iter().flat_map(|text| text.lines()) {
        writeln!(out, "{:>13}{}", "", visible(line))?;
    }
    Ok(())
}

/// Writes the JSON for scripts, schema `sealant.keyring-check/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_check_json(report: &CheckReport, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(report, out)
}

/// Writes the result of the check as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_check_table(report: &CheckReport, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "{}, {}", visible(&report.server), visible(&report.version))?;
    for item in &report.items {
        let state = match item.state {
            CheckState::Ok => "ok",
            CheckState::Failed => "FAILED",
            CheckState::Skipped => "skipped",
        };
        writeln!(out, "{state:>9}  {:<11} {}", item.check, visible(&item.detail))?;
        if let Some(remedy) = &item.remedy {
            writeln!(out, "{:>23}{}", "", visible(remedy))?;
        }
    }
    Ok(())
}

/// Writes the JSON for scripts, schema `sealant.keyring-migrate/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_migration_json(report: &MigrationReport, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(report, out)
}

/// Writes what was moved, or would be, and what to do next, as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_migration_table(report: &MigrationReport, out: &mut dyn Write) -> Result<(), Error> {
    writeln!(out, "from: {}\nto:   {}\n", visible(&report.from), visible(&report.to))?;
    for key in &report.keys {
        let owner = key.user.as_deref().map_or_else(String::new, |user| format!(" of {user}"));
        writeln!(out, "{:>9}  {}{}", key.state.to_string(), visible(&key.name), visible(&owner))?;
    }
    let datadir = report.datadir.to_string_lossy();
    let keyring = if report.done { "the target alone opens" } else { "the source opens" };
    writeln!(out, "\n{keyring} all {} encrypted files of {}", report.encrypted_files, visible(&datadir))?;
    for note in &report.notes {
        writeln!(out, "note: {}", visible(note))?;
    }
    writeln!(out, "\n{}", if report.done { "next:" } else { "then:" })?;
    for step in &report.next {
        writeln!(out, "  - {}", visible(&step.to_string()))?;
    }
    Ok(())
}
