//! What a run found, in the shape of its JSON.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use innodb::verify::{FileReport, Finding, KeyAsked, Units, Verdict};
use serde::Serialize;

/// Name and version of the JSON document.
pub const SCHEMA: &str = "sealant.verify/1";

/// One file.
#[derive(Clone, Debug, Serialize)]
pub struct FileResult {
    /// As given, or below the directory given. Bytes that are not UTF-8 are replaced in JSON.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// What it is: `tablespace`, `redo`, `doublewrite`, `binlog`, …
    pub kind: String,
    /// Which kind of tablespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tablespace: Option<String>,
    /// Length in bytes.
    pub bytes: u64,
    /// The sum of it.
    pub verdict: Verdict,
    /// Pages, blocks or events.
    pub units: Units,
    /// Which key it asks for.
    pub key: Option<KeyAsked>,
    /// What was found, by offset.
    pub findings: Vec<Finding>,
    /// Findings beyond those listed.
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

/// Everything.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Files in order of their paths.
    pub files: Vec<FileResult>,
    /// Files that could not be read at all.
    pub errors: Vec<Unread>,
    /// Counts.
    pub summary: Summary,
}

/// A file that could not be read.
#[derive(Clone, Debug, Serialize)]
pub struct Unread {
    /// Its path.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// Counts over all files.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// The worst verdict; `None` without files.
    pub verdict: Option<Verdict>,
    /// Files verified.
    pub files: u64,
    /// Files in the directories that hold nothing to verify.
    pub others: u64,
    /// Files by verdict.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// Files by kind.
    pub kinds: BTreeMap<String, u64>,
    /// Units of all files.
    pub units: Units,
    /// Bytes of all files.
    pub bytes: u64,
    /// Time it took.
    pub seconds: f64,
    /// Threads.
    pub jobs: usize,
    /// Whether the keys were kept from being swapped out; `None` without keys.
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
