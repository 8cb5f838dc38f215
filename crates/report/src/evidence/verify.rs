//! The page of `sealant verify`.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use files::quantity::size;
use innodb::file_kind::report_name;
use innodb::verify::Units;
use verify::{Conclusion, FileResult, Report};

use super::{Page, Row, Table};
use crate::{
    Error,
    proof::{FINDINGS, NOTHING_HERE, asked_key, finding_text, hidden, kind_name, verdict_counts, verdict_name},
    text::{count, number},
};

const LIMITS: &str = "A page is sound if it decrypts with the key given, its checksum matches, and it stands where it belongs. \
    An older copy of a page that is consistent in itself is not found, nor a change by someone who also wrote the checksum; \
    whoever has the key can do so in encrypted pages, and everybody in clear ones. Rows and the transactions that belong \
    together were not compared. Clear files were readable without a key. Files without a format to verify, such as MyISAM \
    tables, CSV tables and text logs, were left out.";

/// Writes what was verified as a page for auditors. `given`: the paths and key stores of the command. `nothing_in`:
/// given directories without a file of a server.
///
/// # Errors
/// [`Error::Write`], [`Error::Template`].
pub fn write_proof_html(
    report: &Report,
    given: (&[PathBuf], &[PathBuf]),
    nothing_in: &[&Path],
    out: &mut dyn Write,
) -> Result<(), Error> {
    let (paths, keys) = given;
    let summary = &report.summary;
    let conclusion = report.conclusion(!nothing_in.is_empty());
    let mut page = Page::new("Proof of files", verdict(report, conclusion), conclusion == Conclusion::Sound, LIMITS)
        .fact("verified", list(paths))
        .fact("keys", if keys.is_empty() { "none".to_owned() } else { list(keys) })
        .fact("files", format!("{}: {}", count(summary.files, "file"), verdict_counts(report)))
        .fact("pages, blocks, events", format!("{}: {}", number(summary.units.total), units(&summary.units)))
        .fact("read", format!("{} in {:.1} s", size(summary.bytes), summary.seconds));
    if summary.others > 0 {
        page = page.fact("left out", format!("{} without a format to verify", count(summary.others, "file")));
    }
    page.table(unread(report, nothing_in)).table(files(report)).write(out)
}

fn verdict(report: &Report, conclusion: Conclusion) -> String {
    match conclusion {
        Conclusion::Sound => "Proven: every file is sound, and was opened with the keys given or needs none.",
        Conclusion::Unproven => "Not proven: no fault was found, but not every file could be judged.",
        Conclusion::Faulty => "Faulty: a file is damaged, truncated, or cannot be opened with the keys given.",
        Conclusion::Unread if report.worst_of_files() == Conclusion::Faulty => {
            "Faulty, and not proven: a file could not be read, and another is damaged, truncated, or cannot be opened with \
                the keys given."
        }
        Conclusion::Unread => "Not proven: a file could not be read.",
    }
    .to_owned()
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn unread(report: &Report, nothing_in: &[&Path]) -> Table {
    let unread = report.errors.iter().map(|unread| (unread.path.as_path(), unread.reason.as_str()));
    let rows = unread.chain(nothing_in.iter().map(|directory| (*directory, NOTHING_HERE))).map(|(path, reason)| {
        let cells = vec![path.display().to_string(), reason.to_owned()];
        Row { cells, good: false }
    });
    Table { title: "Not read", note: "", headings: vec!["file or directory", "reason"], rows: rows.collect() }
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
    let most = if file.verdict.is_sound() { FINDINGS } else { usize::MAX };
    let shown = file.findings.iter().take(most).map(|finding| finding_text(finding, unit_name));
    let mut findings: Vec<String> = key.into_iter().chain(shown).collect();
    let more = hidden(file, most);
    if more > 0 {
        findings.push(format!("{} more", number(more)));
    }
    let (path, verdict) = (file.path.display().to_string(), verdict_name(file).to_owned());
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

#[cfg(test)]
mod tests {
    use innodb::verify::Verdict;
    use verify::{SCHEMA, Summary, Unread};

    use super::*;
    use crate::text::collect;

    fn page(report: &Report, nothing_in: &[&Path]) -> String {
        collect(|out| write_proof_html(report, (&[], &[]), nothing_in, out)).unwrap()
    }

    fn unread(files: Vec<FileResult>) -> Report {
        let errors = vec![Unread { path: "t2.ibd".into(), reason: "it is locked".to_owned() }];
        Report { schema: SCHEMA, files, errors, summary: Summary { others: 2, ..Summary::default() } }
    }

    #[test]
    fn an_unreadable_file_hides_no_fault() {
        let damaged = FileResult {
            path: "t.ibd".into(),
            kind: None,
            tablespace: None,
            bytes: 1,
            verdict: Verdict::Damaged,
            units: Units::default(),
            key: None,
            findings: Vec::new(),
            findings_left_out: 0,
        };
        let alone = page(&unread(Vec::new()), &[]);
        assert!(alone.contains("Not proven: a file could not be read.") && !alone.contains("Faulty"), "{alone}");
        assert!(alone.contains("2 files without a format to verify") && alone.contains("it is locked"), "{alone}");
        let both = page(&unread(vec![damaged]), &[]);
        assert!(both.contains("Faulty, and not proven: a file could not be read"), "{both}");
    }

    #[test]
    fn a_directory_without_a_file_of_a_server_is_listed() {
        let nothing = Report { errors: Vec::new(), ..unread(Vec::new()) };
        let listed = page(&nothing, &[Path::new("/not-mounted")]);
        assert!(listed.contains("/not-mounted") && listed.contains(NOTHING_HERE), "{listed}");
        assert!(listed.contains("Not proven: no fault was found"), "{listed}");
    }
}
