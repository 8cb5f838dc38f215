//! What verification says of a directory, as a backup counts it.

use std::{
    fs::File,
    io::{self, Read},
    num::NonZeroUsize,
    path::Path,
};

use innodb::verify::Verdict;
use verify::{Depth, FileResult, Keys, Plan, Progress, Report, Settings};

/// What a file is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    /// Opened with the keys at hand, or clear; sound.
    Sound,
    /// So many pages are damaged.
    Damaged(u64),
    /// So many pages cannot be proven.
    Unproven(u64),
}

/// Opens and checks every page below a directory with the keys at hand.
pub(crate) fn verify(root: &Path, keys: &Keys, jobs: u16, progress: &(dyn Fn(&Progress) + Sync)) -> Report {
    let jobs = NonZeroUsize::new(usize::from(jobs)).unwrap_or(NonZeroUsize::MIN);
    verify::run(&Plan::of(&[root.to_path_buf()]), keys, &Settings { jobs, depth: Depth::EveryPage, progress })
}

/// What a file of a report is worth.
pub(crate) fn worth(file: &FileResult) -> Worth {
    match file.verdict {
        Verdict::Ok | Verdict::Clear => Worth::Sound,
        Verdict::Damaged | Verdict::Truncated | Verdict::BadKeyInfo => Worth::Damaged(file.units.bad.max(1)),
        // A table that was made since the last checkpoint: all that there is of it is in the redo log.
        Verdict::Unidentified if is_zero(&file.path).unwrap_or(false) => Worth::Sound,
        _ => Worth::Unproven(file.units.encrypted.max(1)),
    }
}

fn is_zero(path: &Path) -> io::Result<bool> {
    let (mut file, mut room) = (File::open(path)?, vec![0; 1 << 20]);
    loop {
        let read = file.read(&mut room)?;
        let bytes = room.get(..read).unwrap_or_default();
        if read == 0 || !transfer::codec::is_zero(bytes) {
            return Ok(read == 0);
        }
    }
}
