//! Header backups, tied to their volume: take, check and restore them; repair a header.

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

/// The largest header that is copied: two metadata copies of 4 MiB each and 128 MiB of key slots. LUKS1 headers are
/// smaller.
const MAX_HEADER_BYTES: u64 = 136 << 20;
/// Another program may be changing the header while we read; then it is read again.
const ATTEMPTS: usize = 5;

/// Why a header was not saved, checked or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// A file or device cannot be opened, read or written.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// Path of the file or device.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The path is neither a disk nor a disk image.
    #[error("{path}: neither a block device nor a file", path = .path.display())]
    NoDisk {
        /// The path.
        path: PathBuf,
    },
    /// A header cannot be read.
    #[error("{path}: {detail} ({code})", path = .path.display())]
    Unreadable {
        /// The file or device.
        path: PathBuf,
        /// Code of the finding.
        code: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// The header of the device to restore to cannot be read.
    #[error("{path}: {detail} ({code})", path = .path.display())]
    DeviceUnreadable {
        /// The device.
        path: PathBuf,
        /// Code of the finding.
        code: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// The file or device ends before the key slots do.
    #[error("{path}: ends after {found} of {expected} bytes; key slots are missing", path = .path.display())]
    Short {
        /// The file or device.
        path: PathBuf,
        /// Bytes present.
        found: u64,
        /// Bytes that the header takes.
        expected: u64,
    },
    /// The header changed each time it was read.
    #[error("{path}: its header is being changed; try again later", path = .path.display())]
    Changing {
        /// Path of the file or device.
        path: PathBuf,
    },
    /// The manifest is malformed.
    #[error("{path}: not a manifest of a header backup: {why}", path = .path.display())]
    Manifest {
        /// Path of the manifest.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The restore would destroy data.
    #[error("{0}")]
    Refused(String),
    /// Reading back gave other bytes than were written.
    #[error("{path}: reading it back gave other bytes than were written; the previous header is in {saved}", path = .path.display(), saved = .saved.display())]
    NotWritten {
        /// The device.
        path: PathBuf,
        /// Path of the previous header.
        saved: PathBuf,
    },
    /// The key opens the backup but did not open the device after the restore. The previous header was put back.
    #[error("{path}: does not open after its header was written; the previous header was put back and is also in {saved}", path = .path.display(), saved = .saved.display())]
    Undone {
        /// The device.
        path: PathBuf,
        /// Path of the previous header.
        saved: PathBuf,
    },
    /// cryptsetup failed.
    #[error(transparent)]
    Cryptsetup(#[from] CryptsetupError),
}

impl BackupError {
    /// The next step for the user, if there is one.
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

/// A header with its key slots, as stored on a device or in a backup.
#[derive(Debug)]
pub struct Header {
    /// The parsed header.
    pub volume: Volume,
    /// Which of its copies are readable.
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
            // The copy must be one consistent state: the header before and after copying must be the same.
            let copied = self::volume(&bytes, path);
            if copied.is_ok_and(|(_, copied)| copied == volume) && self::volume(source, path)?.1 == volume {
                return Ok(Self { volume, readable, bytes });
            }
        }
        Err(BackupError::Changing { path: path.to_owned() })
    }

    /// Saves the header in a new file, with a [`Manifest`] beside it.
    ///
    /// # Errors
    /// [`BackupError::Io`], also if the file exists.
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
    pub fn has_same_bytes(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Opens a block device or a file for reading. Refuses anything else: a pipe, for example, cannot be read at an offset.
///
/// # Errors
/// [`BackupError::Io`], [`BackupError::NoDisk`].
pub fn open(path: &Path) -> Result<File, BackupError> {
    // Do not block on a pipe without a writer.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(BackupError::io(path))?;
    let kind = file.metadata().map_err(BackupError::io(path))?.file_type();
    if kind.is_file() || kind.is_block_device() { Ok(file) } else { Err(BackupError::NoDisk { path: path.to_owned() }) }
}

/// Reads the header at `path`.
///
/// # Errors
/// [`BackupError`] if it cannot be read.
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
