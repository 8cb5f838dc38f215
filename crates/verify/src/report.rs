//! The result of a run, in the form of its JSON.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use innodb::file_kind::{FileKind, report_name};
use innodb::tablespace::TablespaceKind;
use innodb::verify::{Check, FileReport, Finding, RequiredKey, Units, Verdict};
use serde::Serialize;

/// Name and version of the JSON document.
pub const SCHEMA: &str = "sealant.verify/1";

/// Result for one file.
#[derive(Clone, Debug, Serialize)]
pub struct FileResult {
    /// The given path, or a path below a given directory. Invalid UTF-8 is replaced in JSON.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// Kind; `None` if it is not known.
    #[serde(serialize_with = "report_name::serialize")]
    pub kind: Option<FileKind>,
    /// Kind of the tablespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tablespace: Option<TablespaceKind>,
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
    /// Number of further findings, which are not listed.
    pub findings_left_out: u64,
}

impl FileResult {
    pub(crate) fn new(path: PathBuf, kind: Option<FileKind>, bytes: u64, report: FileReport) -> Self {
        Self {
            path,
            kind,
            tablespace: None,
            bytes,
            verdict: report.verdict,
            units: report.units,
            key: report.key,
            findings: report.findings,
            findings_left_out: report.findings_left_out,
        }
    }

    /// Whether it is a tablespace.
    #[must_use]
    pub fn is_tablespace(&self) -> bool {
        self.kind == Some(FileKind::Tablespace)
    }

    /// Whether only a key is missing to prove the file, from a store that may not have been given.
    fn lacks_keys(&self) -> bool {
        self.verdict == Verdict::Unverifiable && self.key.as_ref().is_some_and(RequiredKey::is_in_a_store)
    }
}

/// Result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Files, sorted by path.
    pub files: Vec<FileResult>,
    /// Files that could not be read.
    pub errors: Vec<Unread>,
    /// Totals over all files.
    pub summary: Summary,
}

/// A file that could not be read.
#[derive(Clone, Debug, Serialize)]
pub struct Unread {
    /// Path of the file.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// The system's error, as text.
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
    pub kinds: BTreeMap<&'static str, u64>,
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

/// Conclusions of a run, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conclusion {
    /// Every file is sound.
    Sound,
    /// Nothing is known to be wrong, but something could not be proven, or a directory has no file of a server.
    Unproven,
    /// A file is damaged, truncated, or cannot be opened with the keys given.
    Faulty,
    /// A file could not be read.
    Unread,
}

impl Report {
    /// The worst of the results: an unreadable file counts more than a fault, and a fault more than something unproven.
    /// `empty`: a given directory has nothing to verify.
    #[must_use]
    pub fn conclusion(&self, empty: bool) -> Conclusion {
        if !self.errors.is_empty() {
            return Conclusion::Unread;
        }
        let least = if empty { Conclusion::Unproven } else { Conclusion::Sound };
        self.worst_of_files().max(least)
    }

    /// The worst result of the files that were read.
    #[must_use]
    pub fn worst_of_files(&self) -> Conclusion {
        let of = |file: &FileResult| match file.verdict {
            verdict if verdict.is_sound() => Conclusion::Sound,
            Verdict::Unverifiable | Verdict::Unidentified => Conclusion::Unproven,
            _ => Conclusion::Faulty,
        };
        self.files.iter().map(of).fold(Conclusion::Sound, Conclusion::max)
    }

    /// The next steps that are clear, that for missing keys first. `has_keys`: a key store was given.
    pub fn hints(&self, has_keys: bool) -> impl Iterator<Item = &'static str> {
        let order = self.has(Check::EventOrder).then_some(
            "do not stop a server that runs on such a binary log: once every replica has read it, FLUSH BINARY LOGS and \
             PURGE BINARY LOGS remove it, as sealant encrypt run --purge-binlogs does",
        );
        [self.key_hint(has_keys), order].into_iter().flatten()
    }

    fn key_hint(&self, has_keys: bool) -> Option<&'static str> {
        let any = |verdict| self.files.iter().any(|file| file.verdict == verdict);
        if self.files.iter().any(FileResult::lacks_keys) && !has_keys {
            Some("some files are encrypted; give their keys with --keyring or --mariadb-key-file")
        } else if any(Verdict::MissingKey) {
            Some(
                "the key asked for may be in a newer copy of the keyring, or in that of the server that wrote the \
                 files; --keyring is repeatable",
            )
        } else if any(Verdict::WrongKey) {
            Some("the key of that name belongs to another server or another time; try other copies of the key store")
        } else {
            None
        }
    }

    fn has(&self, check: Check) -> bool {
        self.files.iter().flat_map(|file| &file.findings).any(|finding| finding.check == check)
    }

    pub(crate) fn new(mut files: Vec<FileResult>, errors: Vec<Unread>, others: u64) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut summary = Summary { others, ..Summary::default() };
        for file in &files {
            summary.files = summary.files.saturating_add(1);
            summary.bytes = summary.bytes.saturating_add(file.bytes);
            summary.units.add(&file.units);
            summary.verdict = summary.verdict.max(Some(file.verdict));
            *summary.verdicts.entry(file.verdict.name()).or_default() += 1;
            *summary.kinds.entry(report_name::of_kind(file.kind)).or_default() += 1;
        }
        Self { schema: SCHEMA, files, errors, summary }
    }
}

fn lossy<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(verdicts: &[Verdict]) -> Report {
        let file = |verdict: &Verdict| FileResult {
            path: PathBuf::from("t.ibd"),
            kind: Some(FileKind::Tablespace),
            tablespace: None,
            bytes: 1,
            verdict: *verdict,
            units: Units::default(),
            key: None,
            findings: Vec::new(),
            findings_left_out: 0,
        };
        Report::new(verdicts.iter().map(file).collect(), Vec::new(), 0)
    }

    #[test]
    fn the_worst_file_is_the_conclusion() {
        assert_eq!(report(&[Verdict::Ok, Verdict::Clear]).conclusion(false), Conclusion::Sound);
        assert_eq!(report(&[]).conclusion(true), Conclusion::Unproven);
        assert_eq!(report(&[Verdict::Ok, Verdict::Unidentified]).conclusion(false), Conclusion::Unproven);
        assert_eq!(report(&[Verdict::Unverifiable, Verdict::WrongKey]).conclusion(true), Conclusion::Faulty);
        let unread = vec![Unread { path: PathBuf::from("x"), reason: "no".to_owned() }];
        let unread = Report { errors: unread, ..report(&[Verdict::Damaged]) };
        assert_eq!((unread.conclusion(false), unread.worst_of_files()), (Conclusion::Unread, Conclusion::Faulty));
    }

    #[test]
    fn the_hint_asks_for_keys_only_if_none_was_given() {
        let hints = |report: &Report, has_keys| report.hints(has_keys).collect::<Vec<_>>();
        let mut encrypted = report(&[Verdict::Unverifiable]);
        assert!(hints(&encrypted, false).is_empty(), "a log without a header needs no key");
        encrypted.files[0].key = Some(RequiredKey::MariaDb { key_id: 1, versions: Vec::new() });
        assert!(matches!(hints(&encrypted, false)[..], [keys] if keys.contains("--keyring")));
        assert!(hints(&encrypted, true).is_empty());
        assert!(matches!(hints(&report(&[Verdict::WrongKey]), true)[..], [keys] if keys.contains("other copies")));
        assert!(hints(&report(&[Verdict::Ok, Verdict::Damaged]), true).is_empty());
        let check = Check::EventOrder;
        encrypted.files[0].findings.push(Finding { unit: Some(1), offset: Some(4), check, detail: String::new() });
        let both = hints(&encrypted, false);
        assert!(matches!(both[..], [keys, order] if keys.contains("--keyring") && order.contains("do not stop")));
        assert!(matches!(hints(&encrypted, true)[..], [order] if order.contains("do not stop")));
    }
}
