//! Verifies a directory and classifies the results for a backup.

use std::{
    fs::File,
    io::{self, Read},
    num::NonZeroUsize,
    path::Path,
};

use innodb::verify::{Check, Verdict};
use verify::{Depth, FileResult, Keys, Plan, Progress, Report, Settings};

/// Result for one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileVerdict {
    /// Sound: in clear, or decrypted with the given keys.
    Sound,
    /// A complete binary log of MySQL with which a server may not start: the server itself wrote its events in this
    /// order, after a crash.
    OutOfOrder,
    /// Number of damaged pages.
    Damaged(u64),
    /// Number of pages that cannot be proven.
    Unproven(u64),
}

/// Verifies every page below a directory with the given keys.
pub(crate) fn verify(root: &Path, keys: &Keys, jobs: u16, progress: &(dyn Fn(&Progress) + Sync)) -> Report {
    verify::run(&Plan::scan(&[root.to_path_buf()]), keys, &Settings { progress, ..settings(jobs) })
}

/// Settings to verify all pages with this number of threads.
pub(crate) fn settings<'s>(jobs: u16) -> Settings<'s> {
    let jobs = NonZeroUsize::new(usize::from(jobs)).unwrap_or(NonZeroUsize::MIN);
    Settings { jobs, depth: Depth::EveryPage, progress: &|_| {} }
}

/// Classifies a verified file.
pub(crate) fn classify(file: &FileResult) -> FileVerdict {
    match file.verdict {
        Verdict::Ok | Verdict::Clear => FileVerdict::Sound,
        Verdict::Damaged if is_wrong_in_order_alone(file) => FileVerdict::OutOfOrder,
        Verdict::Damaged | Verdict::Truncated | Verdict::BadKeyInfo => FileVerdict::Damaged(file.units.bad.max(1)),
        // A table created after the last checkpoint: its pages are only in the redo log.
        Verdict::Unidentified if is_zero(&file.path).unwrap_or(false) => FileVerdict::Sound,
        _ => FileVerdict::Unproven(file.units.encrypted.max(1)),
    }
}

/// Whether the order of events is the only finding in a file.
fn is_wrong_in_order_alone(file: &FileResult) -> bool {
    let all = file.findings.iter().all(|finding| finding.check == Check::EventOrder);
    all && !file.findings.is_empty() && file.findings_left_out == 0
}

fn is_zero(path: &Path) -> io::Result<bool> {
    let (mut file, mut room) = (File::open(path)?, vec![0; 1 << 20]);
    loop {
        let read = file.read(&mut room)?;
        let bytes = room.get(..read).unwrap_or_default();
        if read == 0 || !files::all_zero(bytes) {
            return Ok(read == 0);
        }
    }
}
