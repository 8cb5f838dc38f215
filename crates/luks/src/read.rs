//! Finds the copies of a header and decides which one to use.

use std::fs::File;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use serde::Serialize;

use crate::Error;
use crate::bytes::be16;
use crate::finding::{Code, Finding};
use crate::luks1;
use crate::luks2::{COPY_BYTES, Copy, CopyState, MAGIC_PRIMARY, Position, read_copy};
use crate::volume::Volume;
use files::{ReadAt, read_bytes};

/// Which copy of the header can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Readable {
    /// LUKS1, or LUKS2 with two good and equal copies.
    Yes,
    /// Only the primary copy.
    Primary,
    /// Only the secondary copy.
    Secondary,
    /// No copy.
    No,
}

impl Readable {
    /// Name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Primary => "primary",
            Self::Secondary => "secondary",
            Self::No => "no",
        }
    }
}

/// Result of reading a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Which copy is used.
    pub readable: Readable,
    /// Findings about the copies.
    pub findings: Vec<Finding>,
    /// Content of the header, if a copy can be used.
    pub volume: Option<Volume>,
}

/// Reads the header at the start of `source`.
///
/// # Errors
/// [`Error::Read`] if the first bytes cannot be read. Damage further on is a finding.
pub fn read(source: &dyn ReadAt) -> Result<Reading, Error> {
    let start = read_bytes(source, 0, 8).map_err(Error::Read)?;
    if !start.starts_with(&MAGIC_PRIMARY) {
        return Ok(without_primary(find_secondary(source)));
    }
    match be16(&start, 6) {
        None => Ok(Reading::unreadable(Code::HeaderBothBad, "only the magic is left")),
        Some(1) => Ok(match luks1::read(source).map_err(Error::Read)? {
            Ok(volume) => Reading { readable: Readable::Yes, findings: Vec::new(), volume: Some(volume) },
            Err(why) => Reading::unreadable(Code::HeaderInvalid, format!("LUKS1: {why}")),
        }),
        Some(2) => Ok(pair(source)),
        Some(version) => Ok(match find_secondary(source) {
            CopyState::Good(second) => {
                Reading::second(*second, Code::HeaderPrimaryBad, &format!("its version is {version}"))
            }
            _ => {
                Reading::unreadable(Code::HeaderUnknownVersion, format!("the version is {version}; 1 and 2 are known"))
            }
        }),
    }
}

/// Searches for the second copy if the first one, which has its offset, is lost.
fn find_secondary(source: &dyn ReadAt) -> CopyState {
    let mut best = CopyState::Absent;
    for offset in COPY_BYTES {
        let found = read_copy(source, Position::Secondary(offset));
        match (&best, &found) {
            (_, CopyState::Good(_)) => return found,
            (CopyState::Absent, _) | (CopyState::Damaged(_), CopyState::Invalid(_)) => best = found,
            _ => {}
        }
    }
    best
}

fn without_primary(second: CopyState) -> Reading {
    match second {
        CopyState::Good(second) => Reading::second(*second, Code::HeaderPrimaryMissing, "it has been overwritten"),
        CopyState::Invalid(why) => Reading::unreadable(Code::HeaderInvalid, format!("second copy: {why}")),
        CopyState::Damaged(why) => {
            Reading::unreadable(Code::HeaderBothBad, format!("first copy: overwritten; second copy: {why}"))
        }
        CopyState::Absent => Reading::unreadable(
            Code::NotLuks,
            "no LUKS header; random bytes may still be a plain dm-crypt volume, or one with a detached header",
        ),
    }
}

/// The copy of a LUKS2 header that counts: the newer valid one.
pub(crate) fn copy_in_use(source: &dyn ReadAt) -> Option<Copy> {
    let CopyState::Good(first) = read_copy(source, Position::Primary) else {
        let CopyState::Good(second) = find_secondary(source) else { return None };
        return Some(*second);
    };
    match read_copy(source, Position::Secondary(first.bytes)) {
        CopyState::Good(second) if second.volume.sequence > first.volume.sequence => Some(*second),
        _ => Some(*first),
    }
}

fn pair(source: &dyn ReadAt) -> Reading {
    let first = read_copy(source, Position::Primary);
    let second = match &first {
        CopyState::Good(copy) => read_copy(source, Position::Secondary(copy.bytes)),
        _ => find_secondary(source),
    };
    match (first, second) {
        (CopyState::Good(first), CopyState::Good(second)) => both(*first, *second),
        (CopyState::Good(first), second) => Reading::first(*first, &second),
        (CopyState::Damaged(why) | CopyState::Invalid(why), CopyState::Good(second)) => {
            Reading::second(*second, Code::HeaderPrimaryBad, &why)
        }
        (first, second) => neither(&first, &second),
    }
}

/// Two valid copies: the newer one is used.
fn both(first: Copy, second: Copy) -> Reading {
    if first.has_content_of(&second) {
        return Reading { readable: Readable::Yes, findings: Vec::new(), volume: Some(first.volume) };
    }
    let (one, two) = (first.volume.sequence, second.volume.sequence);
    let (readable, volume) =
        if two > one { (Readable::Secondary, second.volume) } else { (Readable::Primary, first.volume) };
    let detail = format!(
        "the first copy has sequence number {one}, the second {two}: a write was cut off; the {} one counts and \
         cryptsetup repairs the other when it opens the volume",
        if readable == Readable::Primary { "first" } else { "second" }
    );
    Reading { readable, findings: vec![Finding::new(Code::HeaderDiffers, detail)], volume: Some(volume) }
}

fn neither(first: &CopyState, second: &CopyState) -> Reading {
    let describe = format!("first copy: {}; second copy: {}", describe(first), describe(second));
    let invalid = [first, second].iter().any(|state| matches!(state, CopyState::Invalid(_)));
    Reading::unreadable(if invalid { Code::HeaderInvalid } else { Code::HeaderBothBad }, describe)
}

fn describe(state: &CopyState) -> &str {
    match state {
        CopyState::Absent => "not there",
        CopyState::Damaged(why) | CopyState::Invalid(why) => why,
        CopyState::Good(_) => "whole",
    }
}

impl Reading {
    fn unreadable(code: Code, detail: impl Into<String>) -> Self {
        Self { readable: Readable::No, findings: vec![Finding::new(code, detail)], volume: None }
    }

    fn first(first: Copy, second: &CopyState) -> Self {
        let detail = format!("{}; the first copy is whole", describe(second));
        let findings = vec![Finding::new(Code::HeaderSecondaryBad, detail)];
        Self { readable: Readable::Primary, findings, volume: Some(first.volume) }
    }

    fn second(second: Copy, code: Code, why: &str) -> Self {
        let detail = format!("{why}; the second copy is whole, and `cryptsetup repair` restores the first from it");
        let volume = Some(second.volume);
        Self { readable: Readable::Secondary, findings: vec![Finding::new(code, detail)], volume }
    }
}

/// Opens a block device or a file for reading. Refuses anything else: a pipe, for example, cannot be read at an offset.
///
/// # Errors
/// [`Error::Io`], [`Error::NoDisk`].
pub fn open(path: &Path) -> Result<File, Error> {
    // Do not block on a pipe without a writer.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(Error::io(path))?;
    let kind = file.metadata().map_err(Error::io(path))?.file_type();
    if kind.is_file() || kind.is_block_device() { Ok(file) } else { Err(Error::NoDisk { path: path.to_owned() }) }
}
