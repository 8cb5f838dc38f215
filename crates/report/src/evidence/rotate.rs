//! The page of `sealant rotate run`.

use std::io::Write;

use change::rotate::{Backup, RotateReport};

use super::{Page, Row, Table, steps};
use crate::{
    Error,
    rotate::{new_keys, proof, why_old},
};

const LIMITS: &str = "Each file was opened with the keyring as it is on disk. Old keys are not removed: older backups and binary \
    logs still need them. Replicas have keys of their own and were not rotated.";

/// Writes the result of a rotation as a page for auditors.
///
/// # Errors
/// [`Error::Write`], [`Error::Template`].
pub fn write_rotate_html(report: &RotateReport, out: &mut dyn Write) -> Result<(), Error> {
    let mut page = Page::new("Rotation of keys", verdict(report).to_owned(), report.done, LIMITS);
    page = page.fact(
        "server",
        match &report.server_uuid {
            Some(uuid) => format!("{}, {uuid}", report.server),
            None => report.server.clone(),
        },
    );
    if let Some(before) = &report.proofs.before {
        page = page.fact("before", proof(before));
    }
    if let Some(after) = &report.proofs.after {
        page = page.fact("after", proof(&after.proof));
        for line in new_keys(after) {
            page = page.fact("new key", line);
        }
    }
    for (label, backup) in [("backup", &report.backup), ("backup before", &report.backup_before)]
        .into_iter()
        .filter_map(|(label, backup)| Some((label, backup.as_ref()?)))
    {
        page = page.fact(label, backup_text(backup));
    }
    if let Some(tls) = &report.tls {
        page =
            page.fact("certificate", if tls.done { "installed, and served in a handshake" } else { "not installed" });
    }
    page.table(old_key_files(report)).table(kept_keys(report)).table(steps(&report.steps)).write(out)
}

const fn verdict(report: &RotateReport) -> &'static str {
    if report.done {
        "Proven: what was to be rotated is new, and the keyring opens every encrypted file."
    } else {
        "Not proven: a file still uses an older key, or a proof is missing."
    }
}

fn backup_text(backup: &Backup) -> String {
    let recipients = backup.recipients.join(", ");
    format!("{}, {} keys, SHA-256 {}, to {recipients}", backup.file.display(), backup.keys, backup.sha256)
}

fn old_key_files(report: &RotateReport) -> Table {
    let rows = report.old_key_files.iter().map(|old| {
        let cells = vec![old.file.display().to_string(), why_old(old)];
        Row { cells, good: false }
    });
    Table { title: "Not on the new key", note: "", headings: vec!["file", "reason"], rows: rows.collect() }
}

fn kept_keys(report: &RotateReport) -> Table {
    let rows = report.leftovers.iter().map(|kept| {
        let cells = [&kept.artefact, &kept.reason, &kept.remedy].map(Clone::clone).to_vec();
        Row { cells, good: true }
    });
    let (title, note) = ("Keep their key", "This server never replaces these keys.");
    Table { title, note, headings: vec!["what", "why", "remedy"], rows: rows.collect() }
}
