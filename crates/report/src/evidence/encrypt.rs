//! The page of `sealant encrypt run`.

use std::io::Write;

use change::encrypt::{EncryptReport, Leftover};

use super::{Page, Row, Table, steps};
use crate::{Error, text::count};

const LIMITS: &str = "At the end every page of every file in the data directory was read. Free space of the disk, copies and \
    backups made before, and swap can still hold what was in clear text. The keys are as safe as the place of the keyring: \
    keep a copy of it, not on this disk.";

/// Writes the result of a run as a page for auditors.
///
/// # Errors
/// [`Error::Write`], [`Error::Template`].
pub fn write_encrypt_html(report: &EncryptReport, out: &mut dyn Write) -> Result<(), Error> {
    let (closable, never): (Vec<_>, Vec<_>) = report.leftovers.iter().partition(|leftover| leftover.closable);
    let mut page = Page::new("Encryption of a server", verdict(report).to_owned(), report.done, LIMITS)
        .fact("server", format!("{}, {}", report.server, report.version));
    let opened = [("keyring before", report.keyring), ("keyring after", report.keyring_after)];
    for (label, opened) in opened.into_iter().filter_map(|(label, opened)| Some((label, opened?))) {
        let files = count(opened.encrypted_files, "encrypted file");
        page = page.fact(label, format!("opened {files} of {}", count(opened.files, "file")));
    }
    page.table(leftovers(
        "In clear text still",
        "This server can encrypt these: run the same command again.",
        &closable,
    ))
    .table(leftovers("Not encrypted by this server", "", &never))
    .table(steps(&report.steps))
    .write(out)
}

const fn verdict(report: &EncryptReport) -> &'static str {
    if report.done {
        "Proven: every page of every file was read, and all that this server can encrypt is encrypted."
    } else if report.canceled {
        "Not done: the run was canceled."
    } else {
        "Not done: something that this server can encrypt is in clear text, or could not be read."
    }
}

fn leftovers(title: &'static str, note: &'static str, leftovers: &[&Leftover]) -> Table {
    let rows = leftovers.iter().map(|leftover| {
        let cells = [&leftover.artefact, &leftover.check, &leftover.reason, &leftover.remedy];
        Row { cells: cells.map(Clone::clone).to_vec(), good: !leftover.closable }
    });
    Table { title, note, headings: vec!["what", "check", "why", "remedy"], rows: rows.collect() }
}
