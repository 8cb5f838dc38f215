//! The page of `sealant encrypt run`.

use std::io::Write;

use change::encrypt::{EncryptReport, Leftover};

use super::{Page, Row, Table, steps};
use crate::{Error, text::count};

const READ: &str = "At the end every page of every file in the data directory was read.";
const NOT_READ: &str = "A run that is not complete does not prove that every page of every file was read.";
const LIMITS: &str = "Free space of the disk, copies and backups made before, and swap can still hold what was in clear text. \
    The keys are as safe as the place of the keyring: keep a copy of it, not on this disk.";

/// Writes the result of a run as a page for auditors.
///
/// # Errors
/// [`Error::Write`], [`Error::Template`].
pub fn write_encrypt_html(report: &EncryptReport, out: &mut dyn Write) -> Result<(), Error> {
    let (closable, never): (Vec<_>, Vec<_>) = report.leftovers.iter().partition(|leftover| leftover.closable);
    let limits = format!("{} {LIMITS}", if report.done { READ } else { NOT_READ });
    let mut page = Page::new("Encryption of a server", verdict(report).to_owned(), report.done, limits)
        .fact("server", format!("{}, {}", report.server, report.version));
    let opened = [("keyring before", report.keyring), ("keyring after", report.keyring_after)];
    for (label, opened) in opened.into_iter().filter_map(|(label, opened)| Some((label, opened?))) {
        let files = count(opened.encrypted_files, "encrypted file");
        page = page.fact(label, format!("opened {files} of {}", count(opened.files, "file")));
    }
    page.table(leftovers("To be done", "Each row says how; then run the same command again.", &closable))
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

#[cfg(test)]
mod tests {
    use change::encrypt::SCHEMA;

    use super::*;
    use crate::text::collect;

    fn page(report: &EncryptReport) -> String {
        collect(|out| write_encrypt_html(report, out)).unwrap()
    }

    #[test]
    fn only_a_complete_run_has_read_every_page() {
        let done = EncryptReport {
            schema: SCHEMA,
            server: "db1".to_owned(),
            version: "8.4.0".to_owned(),
            steps: Vec::new(),
            leftovers: Vec::new(),
            room: None,
            keyring: None,
            keyring_after: None,
            denied: None,
            canceled: false,
            done: true,
        };
        let (read, to_be_done) = ("At the end every page of every file", "To be done");
        let proven = page(&done);
        assert!(proven.contains(read) && !proven.contains(to_be_done), "{proven}");
        let leftover = Leftover {
            artefact: "shop/t".to_owned(),
            check: "rest-table-plaintext".to_owned(),
            reason: "it is in clear text".to_owned(),
            remedy: "ALTER TABLE".to_owned(),
            closable: true,
        };
        for canceled in [true, false] {
            let leftovers = vec![leftover.clone()];
            let open = page(&EncryptReport { leftovers, canceled, done: false, ..done.clone() });
            assert!(!open.contains(read) && open.contains(NOT_READ) && open.contains(to_be_done), "{open}");
        }
    }
}
