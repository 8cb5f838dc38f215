//! The result of a run, in the form of its JSON.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use innodb::verify::{FileReport, Finding, RequiredKey, Units, Verdict};
use serde::Serialize;

/// Name and version of the JSON document.
pub const SCHEMA: &str = "sealant.verify/1";

/// Result for one file.
#[derive(Clone, Debug, Serialize)]
pub struct FileResult {
    /// The given path, or a path below a given directory. Invalid UTF-8 is replaced in JSON.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// Kind: `tablespace`, `redo`, `doublewrite`, `binlog`, …
    pub kind: String,
    /// Kind of the tablespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tablespace: Option<String>,
    /// Length in bytes.
    pub bytes: u64,
    /// Worst verdict of its units.
    pub verdict: Verdict,
    /// Numbers of pages, blocks or events.
    pub units: Units,
    /// The key that the file needs.
    pub key: Option<RequiredKey>,
    /// Findings, by offset.
    pub findings: Vec<Finding>,
    /// Number of findings that are not listed.
    pub findings_left_out: u64,
}

impl FileResult {
    pub(crate) fn new(path: PathBuf, kind: &str, bytes: u64, report: FileReport) -> Self {
        Self {
            path,
            kind: kind.to_owned(),
            tablespace: None,
            bytes,
            verdict: report.verdict,
            units: report.units,
            key: report.key,
            findings: report.findings,
            findings_left_out: report.findings_left_out,
        }
    }
}

/// Result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Files, sorted by path.
    pub files: Vec<FileResult>,
    /// Files that could not be read.
    pub errors: Vec<Unread>,
    /// Totals.
    pub summary: Summary,
}

/// A file that could not be read.
#[derive(Clone, Debug, Serialize)]
pub struct Unread {
    /// Path of the file.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// The reason.
    pub reason: String,
}

/// Totals over all files.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// The worst verdict; `None` without files.
    pub verdict: Option<Verdict>,
    /// Number of verified files.
    pub files: u64,
    /// Number of files that have nothing to verify.
    pub others: u64,
    /// Number of files by verdict.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// Number of files by kind.
    pub kinds: BTreeMap<String, u64>,
    /// Numbers of units in all files.
    pub units: Units,
    /// Length of all files.
    pub bytes: u64,
    /// Duration of the run in seconds.
    pub seconds: f64,
    /// Number of computing threads.
    pub jobs: usize,
    /// Whether the keys were locked against swapping; `None` without keys.
    pub keys_locked: Option<bool>,
}

impl Report {
    pub(crate) fn new(mut files: Vec<FileResult>, errors: Vec<Unread>, others: u64) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut summary = Summary { others, ..Summary::default() };
        for file in &files {
            summary.files = summary.files.saturating_add(1);
            summary.bytes = summary.bytes.saturating_add(file.bytes);
            summary.units.add(&file.units);
            summary.verdict = summary.verdict.max(Some(file.verdict));
            *summary.verdicts.entry(file.verdict.name()).or_default() += 1;
            *summary.kinds.entry(file.kind.clone()).or_default() += 1;
        }
        Self { schema: SCHEMA, files, errors, summary }
    }
}

fn lossy<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}
