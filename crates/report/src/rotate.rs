//! Plans and runs of `sealant rotate`.

use std::io::Write;

use change::{
    Outcome, StepReport,
    rotate::{OldKeyFile, Proof, RotateReport, RotationProof},
};

use crate::{Error, Message, certificate::write_certificate_table, json, text::visible};

/// Writes the JSON for scripts, schema `sealant.rotate/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_rotate_json(report: &RotateReport, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(report, out)
}

/// Writes the plan as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_rotate_plan(report: &RotateReport, out: &mut dyn Write) -> Result<(), Error> {
    if !report.steps.is_empty() {
        writeln!(out, "{}", visible(&report.server))?;
    }
    for (number, step) in (1_u32..).zip(&report.steps) {
        writeln!(out, "  {number:>2}. {:<17}  {}", name(step), visible(&step.what))?;
        for statement in &step.statements {
            writeln!(out, "      {};", visible(statement))?;
        }
    }
    leftovers(report, out)?;
    certificate(report, out)
}

/// The step's name, short enough for its column: of a step on a table it is `table`, since the text beside it has the
/// table's name.
fn name(step: &StepReport) -> &str {
    step.step.split(' ').next().unwrap_or_default()
}

fn certificate(report: &RotateReport, out: &mut dyn Write) -> Result<(), Error> {
    report.tls.as_ref().map_or(Ok(()), |tls| write_certificate_table(tls, out))
}

/// Writes the result of a run as human-readable text.
///
/// # Errors
/// [`Error::Write`].
pub fn write_rotate_run(report: &RotateReport, out: &mut dyn Write) -> Result<(), Error> {
    if report.steps.is_empty() {
        return certificate(report, out);
    }
    writeln!(out, "{}", visible(&report.server))?;
    for step in &report.steps {
        let (state, why) = match &step.outcome {
            Outcome::Planned => ("not begun", None),
            Outcome::Done => ("done", None),
            Outcome::Skipped { reason } => ("skipped", Some(reason)),
            Outcome::Failed { reason } => ("failed", Some(reason)),
        };
        writeln!(out, "  {:<18} {state:<9} {:>7.2} s  {}", name(step), step.seconds, visible(&step.what))?;
        if let Some(why) = why {
            writeln!(out, "  {:<18} {}", "", visible(why))?;
        }
    }
    write_proofs(report, out)?;
    write_backups(report, out)?;
    leftovers(report, out)?;
    certificate(report, out)
}

fn leftovers(report: &RotateReport, out: &mut dyn Write) -> Result<(), Error> {
    if !report.leftovers.is_empty() {
        writeln!(out, "these keep their key on this server:")?;
    }
    for leftover in &report.leftovers {
        writeln!(out, "  {}: {}", visible(&leftover.artefact), visible(&leftover.reason))?;
        writeln!(out, "      {}", visible(&leftover.remedy))?;
    }
    Ok(())
}

fn write_proofs(report: &RotateReport, out: &mut dyn Write) -> Result<(), Error> {
    if let Some(before) = &report.proofs.before {
        writeln!(out, "before: {}", proof(before))?;
    }
    let Some(after) = &report.proofs.after else { return Ok(()) };
    writeln!(out, "after:  {}", proof(&after.proof))?;
    for line in new_keys(after) {
        writeln!(out, "        {}", visible(&line))?;
    }
    write_old_key_files(report, out)
}

/// Each new key, and what uses it.
pub(crate) fn new_keys(after: &RotationProof) -> Vec<String> {
    let master = after.new_key.as_ref().map(|key| {
        let (spaces, redo) = (after.tablespaces_on_new_key, after.redo_on_new_key);
        format!("{key} on {spaces} tablespaces and {redo} redo log files")
    });
    let logs = after.binary_logs_on_new_key;
    let binary_log = after.new_binlog_key.as_ref().map(|key| format!("{key} on {logs} binary and relay logs"));
    let data = after.data_keys.as_ref();
    let data = data.map(|keys| {
        let keep = if keys.kept == 1 { "keeps its key" } else { "keep theirs" };
        format!("{} tablespaces have new keys of their own, {} {keep}", keys.new, keys.kept)
    });
    let requested = after.tablespaces_on_key_id.map(|on| format!("{on} tablespaces use the requested key"));
    [master, binary_log, data, requested].into_iter().flatten().collect()
}

pub(crate) fn proof(proof: &Proof) -> String {
    let opens = format!("the keyring opens {} encrypted of {} files", proof.encrypted_files, proof.files);
    match proof.unwritten_files {
        0 => opens,
        1 => format!("{opens}; 1 more is not proven: its page 0 is not on disk yet"),
        more => format!("{opens}; {more} more are not proven: their page 0 is not on disk yet"),
    }
}

/// Lists each file that is not proven.
fn write_old_key_files(report: &RotateReport, out: &mut dyn Write) -> Result<(), Error> {
    if report.old_key_files.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "NOT proven: {} files, which the server has not written yet or does not have open",
        report.old_key_files.len()
    )?;
    for old in &report.old_key_files {
        let key = old.key.as_deref().unwrap_or("page 0, which names its key, is not on disk");
        writeln!(out, "        {}: {}", visible(&old.file.to_string_lossy()), visible(key))?;
    }
    Ok(())
}

/// Why a file is not proven to use the new key.
pub(crate) fn why_old(old: &OldKeyFile) -> String {
    match &old.key {
        Some(key) => format!("still carries {key}"),
        None => "its page 0 is not on disk yet".to_owned(),
    }
}

fn write_backups(report: &RotateReport, out: &mut dyn Write) -> Result<(), Error> {
    for backup in report.backup.iter().chain(&report.backup_before) {
        writeln!(out, "backup: {}, {} keys", visible(&backup.file.to_string_lossy()), backup.keys)?;
        writeln!(out, "        sha256 {}", backup.sha256)?;
        if let Some(password) = &backup.password {
            writeln!(out, "        its password: {}", visible(&password.to_string_lossy()))?;
        }
    }
    for key in &report.removed_keys {
        writeln!(out, "        {} was removed by the server; copies of older binary logs still need it", visible(key))?;
    }
    Ok(())
}

/// Messages about files that still use an older key after a rotation, and what to do about them.
#[must_use]
pub fn rotate_messages(report: &RotateReport) -> Vec<Message> {
    let mut messages: Vec<_> = report.compromised.iter().map(|key| Message::warning(key.as_str())).collect();
    if report.done {
        return messages;
    }
    let each = report.old_key_files.iter();
    messages.extend(each.map(|old| Message::error(format!("{}: {}", old.file.display(), why_old(old)))));
    messages.push(Message::hint(
        "the server writes page 0 in the background: SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0, \
            innodb_max_dirty_pages_pct = 0 makes it write soon; then run the same command again; a file that no server \
            uses keeps its key",
    ));
    messages
}
