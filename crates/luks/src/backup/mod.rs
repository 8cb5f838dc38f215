//! Header backups, tied to their volume: taken, checked, put back; and the repair of a header.

mod check;
mod lock;
mod manifest;
mod repair;
mod restore;

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest;
use data_encoding::HEXLOWER;
use files::WriteOptions;
use rustix::fs::OFlags;

pub use check::Check;
pub use manifest::Manifest;
pub use repair::Repair;
pub use restore::{Plan, Restored};

use crate::cryptsetup::CryptsetupError;
use crate::error::{LuksError, hint_of_io};
use crate::finding::Finding;
use crate::read::{Readable, read};
use crate::volume::Volume;
use files::{ReadAt, read_bytes};

/// The largest header that is copied: both copies of 4 MiB and 128 MiB of key slots; LUKS1 has less.
const MAX_HEADER_BYTES: u64 = 136 << 20;
/// Somebody may be changing the header; then it is read again.
const ATTEMPTS: usize = 5;

/// Why a header was not saved, checked or put back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// A file or a device refuses.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Neither a disk nor an image of one.
    #[error("{path}: neither a block device nor a file", path = .path.display())]
    NoDisk {
        /// Which.
        path: PathBuf,
    },
    /// A header cannot be read.
    #[error("{path}: {detail} ({code})", path = .path.display())]
    Unreadable {
        /// Where.
        path: PathBuf,
        /// The finding.
        code: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// The same of the device that a header is to be put back on.
    #[error("{path}: {detail} ({code})", path = .path.display())]
    DeviceUnreadable {
        /// Which.
        path: PathBuf,
        /// The finding.
        code: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// It ends before its key slots do.
    #[error("{path}: ends after {found} of {expected} bytes; key slots are missing", path = .path.display())]
    Short {
        /// Which.
        path: PathBuf,
        /// Bytes that are there.
        found: u64,
        /// Bytes that the header takes.
        expected: u64,
    },
    /// The header changed each time it was read.
    #[error("{path}: its header is being changed; try again later", path = .path.display())]
    Changing {
        /// Where.
        path: PathBuf,
    },
    /// A manifest that is none.
    #[error("{path}: not a manifest of a header backup: {why}", path = .path.display())]
    Manifest {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A restore that would destroy data.
    #[error("{0}")]
    Refused(String),
    /// What was written is not what can be read again.
    #[error("{path}: what was written is not what is read; the header of before is in {saved}", path = .path.display(), saved = .saved.display())]
    NotWritten {
        /// The device.
        path: PathBuf,
        /// Where the header of before is.
        saved: PathBuf,
    },
    /// The key opens the backup, and not the device after it was restored.
    #[error("{path}: does not open after its header was written; the header of before was put back and is in {saved}", path = .path.display(), saved = .saved.display())]
    Undone {
        /// The device.
        path: PathBuf,
        /// Where the header of before is.
        saved: PathBuf,
    },
    /// cryptsetup.
    #[error(transparent)]
    Cryptsetup(#[from] CryptsetupError),
}

impl BackupError {
    /// The next step, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
                Some("backups are never overwritten; choose another name")
            }
            Self::Io { source, .. } => hint_of_io(source),
            Self::Unreadable { .. } => Some("`sealant luks audit` says more"),
            Self::DeviceUnreadable { .. } => Some("if its header is lost and you know the device: --header-is-lost"),
            Self::Cryptsetup(error) => error.hint(),
            _ => None,
        }
    }
}

impl BackupError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    fn unreadable(path: &Path, findings: &[Finding]) -> Self {
        let (code, detail) = findings
            .first()
            .map_or(("not-luks", String::new()), |finding| (finding.code.as_str(), finding.detail.clone()));
        Self::Unreadable { path: path.to_owned(), code, detail }
    }
}

/// A header with its key slots, as it lies on a device or in a backup.
#[derive(Debug)]
pub struct Header {
    /// What it says.
    pub volume: Volume,
    /// Which of its copies count.
    pub readable: Readable,
    bytes: Vec<u8>,
}

impl Header {
    /// Reads a header and its key slots.
    ///
    /// # Errors
    /// [`BackupError::Unreadable`], [`BackupError::Short`], [`BackupError::Changing`], [`BackupError::Io`].
    pub fn read(source: &dyn ReadAt, path: &Path) -> Result<Self, BackupError> {
        for _ in 0..ATTEMPTS {
            let (readable, volume) = volume(source, path)?;
            let expected = volume.header_bytes;
            let length = usize::try_from(expected.min(MAX_HEADER_BYTES)).unwrap_or_default();
            let bytes = read_bytes(source, 0, length).map_err(BackupError::io(path))?;
            let found = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            if found < expected {
                return Err(BackupError::Short { path: path.to_owned(), found, expected });
            }
            // What was copied must be one state: that which was there before and after.
            let copied = self::volume(&bytes, path);
            if copied.is_ok_and(|(_, copied)| copied == volume) && self::volume(source, path)?.1 == volume {
                return Ok(Self { volume, readable, bytes });
            }
        }
        Err(BackupError::Changing { path: path.to_owned() })
    }

    /// Saves it in a new file with a [`Manifest`] beside it.
    ///
    /// # Errors
    /// [`BackupError::Io`], also if a file is in the way.
    pub fn save(&self, path: &Path) -> Result<Manifest, BackupError> {
        let manifest = Manifest::new(self);
        files::write_atomic(path, &self.bytes, WriteOptions::SECRET).map_err(BackupError::io(path))?;
        let beside = Manifest::path(path);
        files::write_atomic(&beside, &manifest.to_json(), WriteOptions::SECRET).map_err(BackupError::io(&beside))?;
        let again = std::fs::read(path).map_err(BackupError::io(path))?;
        if sha256_hex(&again) == manifest.sha256 {
            return Ok(manifest);
        }
        let source = io::Error::other("what was written is not what is read");
        Err(BackupError::Io { path: path.to_owned(), source })
    }
}

impl Header {
    /// Whether `other` holds the same bytes.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Opens a block device or a file to be read; anything else, such as a pipe, cannot be read at any place.
///
/// # Errors
/// [`BackupError::Io`], [`BackupError::NoDisk`].
pub fn open(path: &Path) -> Result<File, BackupError> {
    // A pipe without a writer must not hang us.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(BackupError::io(path))?;
    let kind = file.metadata().map_err(BackupError::io(path))?.file_type();
    if kind.is_file() || kind.is_block_device() { Ok(file) } else { Err(BackupError::NoDisk { path: path.to_owned() }) }
}

/// What the header at `path` says.
///
/// # Errors
/// [`BackupError`], also if it cannot be read.
pub fn volume_at(path: &Path) -> Result<Volume, BackupError> {
    volume(&open(path)?, path).map(|(_, volume)| volume)
}

fn volume(source: &dyn ReadAt, path: &Path) -> Result<(Readable, Volume), BackupError> {
    let reading = read(source).map_err(|error| match error {
        LuksError::Read(source) => BackupError::Io { path: path.to_owned(), source },
        other => BackupError::Io { path: path.to_owned(), source: io::Error::other(other) },
    })?;
    let readable = reading.readable;
    reading.volume.map(|volume| (readable, volume)).ok_or_else(|| BackupError::unreadable(path, &reading.findings))
}

/// SHA-256 as hex.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(digest::digest(&digest::SHA256, bytes).as_ref())
}
