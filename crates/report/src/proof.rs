//! Reports of `sealant verify`: a human-readable table, JSON for scripts.

use std::{collections::BTreeMap, io::Write, path::Path};

use files::quantity::size;
use innodb::file_kind::report_name;
use innodb::tablespace::TablespaceKind;
use innodb::verify::{Check, Finding, RequiredKey, Verdict};
use verify::{FileResult, Report};

use crate::text::{count, pad, visible};
use crate::{Error, Message, json};

/// Options of the table.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProofOptions {
    /// List every file and every recorded finding.
    pub verbose: bool,
}

/// Message about a given directory that has no file of a server.
pub(crate) const NOTHING_HERE: &str = "no file of a server here";
/// Without `verbose`, sound files are listed only if there are at most this many files.
const LISTED: usize = 40;
/// Without `verbose`, maximum number of findings listed for a file.
pub(crate) const FINDINGS: usize = 5;

/// Messages besides the report: files that could not be read, directories without anything to verify, and the next
/// steps. `has_keys` says whether a key store was given.
#[must_use]
pub fn verification_messages(report: &Report, nothing_in: &[&Path], has_keys: bool) -> Vec<Message> {
    let unread = report.errors.iter().map(|unread| format!("{}: {}", unread.path.display(), unread.reason));
    let nothing = nothing_in.iter().map(|directory| format!("{}: {NOTHING_HERE}", directory.display()));
    let mut messages: Vec<Message> = unread.chain(nothing).map(Message::error).collect();
    if !nothing_in.is_empty() {
        messages.push(Message::hint("is its file system mounted, and is it the data directory or the backup itself?"));
    }
    messages.extend(report.hints(has_keys).map(Message::hint));
    messages
}

/// Writes the JSON for scripts, schema `sealant.verify/1`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_proof_json(report: &Report, out: &mut dyn Write) -> Result<(), Error> {
    json::pretty(report, out)
}

/// Writes the table: files that are not sound with their findings, then totals.
///
/// # Errors
/// [`Error::Write`].
pub fn write_proof_table(report: &Report, options: &ProofOptions, out: &mut dyn Write) -> Result<(), Error> {
    let all = options.verbose || report.files.len() <= LISTED;
    let listed: Vec<&FileResult> = report.files.iter().filter(|file| all || !file.verdict.is_sound()).collect();
    let rows: Vec<Row> = listed.iter().map(|file| Row::new(file)).collect();
    let layout = Layout::fitting(&rows);
    if !rows.is_empty() {
        writeln!(out, "{}FILE", layout.cells(&HEADINGS.map(str::to_owned)))?;
    }
    for (file, row) in listed.iter().zip(&rows) {
        writeln!(out, "{}{}", layout.cells(&row.0), path(&file.path))?;
        findings(file, options, out)?;
    }
    for error in &report.errors {
        writeln!(out, "{}  {}: {}", pad("unread", layout.0[0]), path(&error.path), visible(&error.reason))?;
    }
    summary(report, out)
}

const HEADINGS: [&str; 7] = ["VERDICT", "KIND", "UNITS", "ENCRYPTED", "CLEAR", "EMPTY", "BAD"];

/// Cells of a file, but for its path: two words, then numbers.
struct Row([String; 7]);

impl Row {
    fn new(file: &FileResult) -> Self {
        let units = &file.units;
        let [total, encrypted, clear, empty, bad] =
            [units.total, units.encrypted, units.clear, units.empty, units.bad].map(|number| number.to_string());
        let (verdict, kind) = (verdict_name(file).to_owned(), kind_name(file).to_owned());
        Self([verdict, kind, total, encrypted, clear, empty, bad])
    }
}

/// Widths of the columns: as wide as their widest cell, so that paths have as much room as possible.
struct Layout([usize; 7]);

impl Layout {
    fn fitting(rows: &[Row]) -> Self {
        let mut widths = HEADINGS.map(str::len);
        for Row(cells) in rows {
            widths.iter_mut().zip(cells).for_each(|(width, cell)| *width = cell.len().max(*width));
        }
        Self(widths)
    }

    fn cells(&self, cells: &[String; 7]) -> String {
        let word = |(cell, width): (&String, &usize)| format!("{cell:<width$}  ");
        let number = |(cell, width): (&String, &usize)| format!("{cell:>width$}  ");
        let mut columns = cells.iter().zip(&self.0);
        let words: String = columns.by_ref().take(2).map(word).collect();
        words + &columns.map(number).collect::<String>()
    }
}

fn findings(file: &FileResult, options: &ProofOptions, out: &mut dyn Write) -> Result<(), Error> {
    if let Some(key) = asked_key(file) {
        writeln!(out, "    asks for {}", visible(&key.to_string()))?;
    }
    let shown = if options.verbose { file.findings.len() } else { FINDINGS };
    for finding in file.findings.iter().take(shown) {
        writeln!(out, "    {}", visible(&finding_text(finding, report_name::unit_of_kind(file.kind))))?;
    }
    match hidden(file, shown) {
        0 => Ok(()),
        more if options.verbose => Ok(writeln!(out, "    {more} more were not kept")?),
        more => Ok(writeln!(out, "    {more} more; --verbose or --format json lists them")?),
    }
}

/// Number of findings that are not among the first `shown`.
pub(crate) fn hidden(file: &FileResult, shown: usize) -> u64 {
    let hidden = u64::try_from(file.findings.len().saturating_sub(shown)).unwrap_or(0);
    hidden.saturating_add(file.findings_left_out)
}

/// The key that a file needs, if no given key opened the file.
pub(crate) fn asked_key(file: &FileResult) -> Option<&RequiredKey> {
    let asked =
        matches!(file.verdict, Verdict::MissingKey | Verdict::WrongKey | Verdict::BadKeyInfo | Verdict::Unverifiable);
    file.key.as_ref().filter(|_| asked)
}

/// Kind of a file; for tablespaces that hold no single table, the kind of tablespace.
pub(crate) fn kind_name(file: &FileResult) -> &'static str {
    let special = file.tablespace.filter(|kind| *kind != TablespaceKind::FilePerTable);
    special.map_or_else(|| report_name::of_kind(file.kind), TablespaceKind::name)
}

pub(crate) fn finding_text(finding: &Finding, unit_name: &str) -> String {
    let location = match (finding.unit, finding.offset) {
        (Some(unit), Some(offset)) => format!("{unit_name} {unit} at byte {offset}: "),
        (None, Some(offset)) => format!("at byte {offset}: "),
        (Some(unit), None) => format!("{unit_name} {unit}: "),
        (None, None) => String::new(),
    };
    format!("{location}{} ({})", finding.detail, check_name(finding.check))
}

fn check_name(check: Check) -> String {
    serde_json::to_value(check).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

fn path(path: &Path) -> String {
    visible(&path.display().to_string()).into_owned()
}

/// The verdict in words. A file without a byte is called what it is; a tablespace cannot be empty, so it proves nothing.
pub(crate) fn verdict_name(file: &FileResult) -> &'static str {
    match file.verdict {
        Verdict::Unidentified if file.bytes == 0 => "empty",
        verdict => verdict.name(),
    }
}

/// Number of files by verdict: `3 clear, 1 empty`.
pub(crate) fn verdict_counts(report: &Report) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for file in &report.files {
        *counts.entry(verdict_name(file)).or_default() += 1;
    }
    counts.iter().map(|(verdict, files)| format!("{files} {verdict}")).collect::<Vec<_>>().join(", ")
}

fn summary(report: &Report, out: &mut dyn Write) -> Result<(), Error> {
    let (summary, errors) = (&report.summary, report.errors.len());
    let verdicts = verdict_counts(report);
    let verdicts = if verdicts.is_empty() { "nothing to verify".to_owned() } else { verdicts };
    let errors = if errors > 0 { format!(", {errors} could not be read") } else { String::new() };
    writeln!(out, "{}: {verdicts}{errors}", count(summary.files, "file"))?;
    let units = &summary.units;
    writeln!(
        out,
        "{} units: {} encrypted, {} clear, {} empty, {} bad",
        units.total, units.encrypted, units.clear, units.empty, units.bad
    )?;
    let seconds = summary.seconds.max(0.001);
    let bytes = summary.bytes;
    let rate = Rate { bytes, seconds };
    writeln!(out, "{} in {seconds:.1} s ({rate}), {}", size(bytes), count(summary.jobs, "thread"))?;
    if summary.others > 0 {
        writeln!(out, "{} without anything to verify left out", count(summary.others, "file"))?;
    }
    Ok(())
}

struct Rate {
    bytes: u64,
    seconds: f64,
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        #[allow(clippy::cast_precision_loss, reason = "a human-readable figure")]
        let per_second = self.bytes as f64 / self.seconds;
        write!(f, "{:.2} GB/s", per_second / 1e9)
    }
}
