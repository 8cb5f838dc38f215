//! The page of `sealant verify`.

use std::{io::Write, path::PathBuf};

use files::quantity::size;
use innodb::file_kind::report_name;
use innodb::verify::Units;
use verify::{Conclusion, FileResult, Report};

use super::{Page, Row, Table};
use crate::{
    Error,
    proof::{asked_key, finding_text, kind_name},
    text::{count, number},
};

const LIMITS: &str = "A page is sound if it decrypts with the key given, its checksum matches, and it stands where it belongs. \
    An older copy of a page that is consistent in itself is not found, nor a change by someone who also wrote the checksum; \
    whoever has the key can do so in encrypted pages, and everybody in clear ones. Rows and the transactions that belong \
    together were not compared. Clear files were readable without a key.";

/// Writes what was verified as a page for auditors. `given`: the paths and key stores of the command. `conclusion`: that
/// of the report.
///
/// # Errors
/// [`Error::Write`], [`Error::Template`].
pub fn write_proof_html(
    report: &Report,
    given: (&[PathBuf], &[PathBuf]),
    conclusion: Conclusion,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let (paths, keys) = given;
    let summary = &report.summary;
    let verdicts: Vec<String> = summary.verdicts.iter().map(|(verdict, files)| format!("{files} {verdict}")).collect();
    Page::new("Proof of files", verdict(conclusion), conclusion == Conclusion::Sound, LIMITS)
        .fact("verified", list(paths))
        .fact("keys", if keys.is_empty() { "none".to_owned() } else { list(keys) })
        .fact("files", format!("{}: {}", count(summary.files, "file"), verdicts.join(", ")))
        .fact("pages, blocks, events", format!("{}: {}", number(summary.units.total), units(&summary.units)))
        .fact("read", format!("{} in {:.1} s", size(summary.bytes), summary.seconds))
        .table(unread(report))
        .table(files(report))
        .write(out)
}

fn verdict(conclusion: Conclusion) -> String {
    match conclusion {
        Conclusion::Sound => "Proven: every file is sound, and was opened with the keys given or needs none.",
        Conclusion::Unproven => "Not proven: no fault was found, but not every file could be judged.",
        Conclusion::Faulty => "Faulty: a file is damaged, truncated, or cannot be opened with the keys given.",
        Conclusion::Unread => "Not proven: a file could not be read.",
    }
    .to_owned()
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn unread(report: &Report) -> Table {
    let rows = report.errors.iter().map(|unread| {
        let cells = vec![unread.path.display().to_string(), unread.reason.clone()];
        Row { cells, good: false }
    });
    Table { title: "Not read", note: "", headings: vec!["file", "reason"], rows: rows.collect() }
}

/// All files: those with faults first.
fn files(report: &Report) -> Table {
    let mut files: Vec<&FileResult> = report.files.iter().collect();
    files.sort_by_key(|file| file.verdict.is_sound());
    Table {
        title: "Files",
        note: "A file with a fault, or that could not be judged, is marked and comes first.",
        headings: vec!["file", "verdict", "kind", "pages, blocks, events", "findings"],
        rows: files.into_iter().map(row).collect(),
    }
}

fn row(file: &FileResult) -> Row {
    let unit_name = report_name::unit_of_kind(file.kind);
    let key = asked_key(file).map(|key| format!("asks for {key}"));
    let mut findings: Vec<String> =
        key.into_iter().chain(file.findings.iter().map(|finding| finding_text(finding, unit_name))).collect();
    if file.findings_left_out > 0 {
        findings.push(format!("{} more", number(file.findings_left_out)));
    }
    let (path, verdict) = (file.path.display().to_string(), file.verdict.name().to_owned());
    let cells = vec![path, verdict, kind_name(file).to_owned(), units(&file.units), findings.join("; ")];
    Row { cells, good: file.verdict.is_sound() }
}

/// The numbers that are not 0.
fn units(units: &Units) -> String {
    let numbers = [(units.encrypted, "encrypted"), (units.clear, "clear"), (units.empty, "empty"), (units.bad, "bad")];
    let named =
        numbers.iter().filter(|(units, _)| *units > 0).map(|(units, name)| format!("{} {name}", number(*units)));
    named.collect::<Vec<_>>().join(", ")
}
