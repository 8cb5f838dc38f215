//! Judges a header: weaknesses, damage and unfinished operations.

mod cipher;
mod compare;
mod slots;
mod state;

use std::fs::{File, read_to_string};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use findings::Severity;
use rustix::fs::{SeekFrom, major, minor, seek};
use serde::Serialize;

use crate::Error;
use crate::finding::{Code, Finding};
use crate::material;
use crate::read::{Readable, Reading, open, read};
use crate::summary::HeaderSummary;
use crate::volume::Volume;
use files::ReadAt;

pub use compare::{Relation, compare};

/// Schema id of [`Report`] in JSON output.
pub const SCHEMA: &str = "sealant.luks/1";

/// What is known of the disk apart from the header.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeviceInfo {
    /// Size of the disk that the header is on, or is meant for.
    pub device_bytes: Option<u64>,
    /// Size of its physical blocks.
    pub physical_block_bytes: Option<u32>,
    /// The whole disk can be read. Otherwise zeros in place of the key slots mean that only the header was stored.
    pub whole_device: bool,
}

impl DeviceInfo {
    /// Asks the system about an open device. For a regular file nothing useful is known.
    #[must_use]
    pub(crate) fn for_file(file: &File) -> Self {
        let Some(metadata) = file.metadata().ok().filter(|metadata| metadata.file_type().is_block_device()) else {
            return Self::default();
        };
        let number = format!("{}:{}", major(metadata.rdev()), minor(metadata.rdev()));
        let queue = Path::new("/sys/dev/block").join(number);
        // A partition uses the queue directory of its disk.
        let block = ["queue/physical_block_size", "../queue/physical_block_size"]
            .iter()
            .find_map(|name| read_to_string(queue.join(name)).ok()?.trim().parse().ok());
        let device_bytes = seek(file, SeekFrom::End(0)).ok();
        Self { device_bytes, physical_block_bytes: block, whole_device: true }
    }
}

/// Result of an audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Which copy of the header counts.
    pub readable: Readable,
    /// Findings, most severe first; each code at most once.
    pub findings: Vec<Finding>,
    /// Content of the header, if it can be read.
    pub header: Option<HeaderSummary>,
    /// Whether the key slots are stored and can be judged; null if no header can be read.
    pub keyslots_stored: Option<bool>,
    /// Remarks for the user that are not findings.
    pub notes: Vec<String>,
}

impl Report {
    /// The first finding of at least high severity about a volume that Sealant created. A cheap key derivation does not
    /// count: the keys of such a volume are random.
    pub(crate) fn serious(&self) -> Option<&Finding> {
        let is_serious = |finding: &&Finding| finding.severity >= Some(Severity::High) && finding.code != Code::KdfWeak;
        self.findings.iter().find(is_serious)
    }

    /// Whether a finding is at least this severe. Always true if there is no LUKS header.
    #[must_use]
    pub fn reaches(&self, least: Severity) -> bool {
        self.findings.iter().any(|finding| finding.severity.is_none_or(|severity| severity >= least))
    }
}

/// Reads and judges the header at the start of `source`. If `backup_of` is given, also judges it as a header backup of
/// that volume.
///
/// # Errors
/// [`Error::Read`]; [`Error::NothingToCompare`] if `backup_of` has no readable header.
pub fn audit(source: &dyn ReadAt, device: &DeviceInfo, backup_of: Option<&dyn ReadAt>) -> Result<Report, Error> {
    let current = backup_of.map(read).transpose()?;
    let reading = read(source)?;
    let Reading { readable, mut findings, volume } = reading;
    let mut report = Report {
        schema: SCHEMA,
        readable,
        findings: Vec::new(),
        header: None,
        keyslots_stored: None,
        notes: Vec::new(),
    };
    if let Some(current) = current {
        let current = current.volume.as_ref().ok_or_else(|| nothing(&current.findings))?;
        findings.extend(volume.as_ref().and_then(|backup| compare(backup, current).finding()));
    }
    if let Some(volume) = &volume {
        let stored = device.whole_device || material::is_stored(source, volume).map_err(Error::Read)?;
        findings.extend(judge(volume, device));
        if stored {
            findings.extend(slots::damaged(source, volume)?);
        }
        report.keyslots_stored = Some(stored);
        report.notes = slots::excesses(volume);
        report.header = Some(HeaderSummary::from(volume));
    }
    findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.code.as_str().cmp(b.code.as_str())));
    report.findings = findings;
    Ok(report)
}

/// Runs [`audit`] on the device or file at `path`. Values that the user gave in `reported` take precedence over those
/// of the system.
///
/// # Errors
/// [`Error`] with the path that failed.
pub fn audit_path(path: &Path, reported: &DeviceInfo, backup_of: Option<&Path>) -> Result<Report, Error> {
    let file = open(path)?;
    let volume = backup_of.map(open).transpose()?;
    let known = DeviceInfo::for_file(&file);
    let device = DeviceInfo {
        device_bytes: reported.device_bytes.or(known.device_bytes),
        physical_block_bytes: reported.physical_block_bytes.or(known.physical_block_bytes),
        ..known
    };
    audit(&file, &device, volume.as_ref().map(|file| file as &dyn ReadAt)).map_err(|error| {
        let of_backup = matches!(error, Error::NothingToCompare(_));
        let path = backup_of.filter(|_| of_backup).unwrap_or(path);
        Error::Io { path: path.to_owned(), source: std::io::Error::other(error) }
    })
}

fn nothing(findings: &[Finding]) -> Error {
    Error::NothingToCompare(findings.first().map_or("not-luks", |finding| finding.code.as_str()))
}

/// Judges what the header states.
fn judge(volume: &Volume, device: &DeviceInfo) -> Vec<Finding> {
    [cipher::judge(volume, device), slots::judge(volume), state::judge(volume)].concat()
}

/// Collects the details of one code, to make a single finding of them.
struct Details(Code, Vec<String>);

impl Details {
    fn new(code: Code) -> Self {
        Self(code, Vec::new())
    }

    fn add(&mut self, detail: String) {
        if !self.1.contains(&detail) {
            self.1.push(detail);
        }
    }

    /// The finding, with `advice` after the details.
    fn finding(self, advice: &str) -> Option<Finding> {
        let details = self.1.join("; ");
        let detail = if advice.is_empty() { details } else { format!("{details}: {advice}") };
        (!self.1.is_empty()).then(|| Finding::new(self.0, detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(codes: &[Code]) -> Report {
        Report {
            schema: SCHEMA,
            readable: Readable::Yes,
            findings: codes.iter().map(|code| Finding::new(*code, String::new())).collect(),
            header: None,
            keyslots_stored: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_finding_reaches_its_own_severity_and_lower_ones() {
        for (code, severity) in Code::ALL.iter().filter_map(|code| Some((code, code.severity()?))) {
            assert!(report(&[*code]).reaches(severity) && report(&[*code]).reaches(Severity::Info));
            assert_eq!(report(&[*code]).reaches(Severity::Critical), severity == Severity::Critical);
        }
        assert!(!report(&[]).reaches(Severity::Info));
    }

    #[test]
    fn a_missing_header_reaches_every_severity() {
        let missing: Vec<Code> = Code::ALL.iter().copied().filter(|code| code.severity().is_none()).collect();
        assert!(!missing.is_empty() && report(&missing).reaches(Severity::Critical));
    }
}
