//! Header backups, tied to their volume: take, check and restore them; repair a header.

mod check;
mod lock;
mod manifest;
mod repair;
mod restore;

use std::io;
use std::path::{Path, PathBuf};

use files::{WriteOptions, sha256_hex};
use jiff::Timestamp;

pub use check::Check;
pub use manifest::Manifest;
pub use repair::Repair;
pub use restore::{RestorePlan, Restored};

use crate::Error;
pub use crate::read::open;
use crate::read::{Readable, read};
use crate::volume::Volume;
use files::{ReadAt, read_bytes};

/// The largest header that is copied: two metadata copies of 4 MiB each and 128 MiB of key slots. LUKS1 headers are
/// smaller.
const MAX_HEADER_BYTES: u64 = 136 << 20;
/// Another program may be changing the header while we read; then it is read again.
const ATTEMPTS: usize = 5;

/// Path for the header that a restore replaces: beside the backup, with the time.
#[must_use]
pub fn replaced_path(backup: &Path, now: Timestamp) -> PathBuf {
    let mut name = backup.as_os_str().to_owned();
    name.push(now.strftime(".replaced-%Y%m%dT%H%M%SZ").to_string());
    PathBuf::from(name)
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
    /// [`Error::Unreadable`], [`Error::Short`], [`Error::Changing`], [`Error::Io`].
    pub fn read(source: &dyn ReadAt, path: &Path) -> Result<Self, Error> {
        for _ in 0..ATTEMPTS {
            let (readable, volume) = volume(source, path)?;
            let expected = volume.header_bytes;
            let length = usize::try_from(expected.min(MAX_HEADER_BYTES)).unwrap_or_default();
            let bytes = read_bytes(source, 0, length).map_err(Error::io(path))?;
            let found = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            if found < expected {
                return Err(Error::Short { path: path.to_owned(), found, expected });
            }
            // The copy must be one consistent state: the header before and after copying must be the same.
            let copied = self::volume(&bytes, path);
            if copied.is_ok_and(|(_, copied)| copied == volume) && self::volume(source, path)?.1 == volume {
                return Ok(Self { volume, readable, bytes });
            }
        }
        Err(Error::Changing { path: path.to_owned() })
    }

    /// Saves the header in a new file, with a [`Manifest`] beside it.
    ///
    /// # Errors
    /// [`Error::Io`], also if the file exists.
    pub fn save(&self, path: &Path) -> Result<Manifest, Error> {
        let manifest = Manifest::new(self);
        files::write_atomic(path, &self.bytes, WriteOptions::SECRET).map_err(Error::saving(path))?;
        let beside = Manifest::path(path);
        files::write_atomic(&beside, &manifest.to_json(), WriteOptions::SECRET).map_err(Error::saving(&beside))?;
        let again = std::fs::read(path).map_err(Error::io(path))?;
        if sha256_hex(&again) == manifest.sha256 {
            return Ok(manifest);
        }
        let source = io::Error::other("what was written is not what is read");
        Err(Error::Io { path: path.to_owned(), source })
    }
}

impl Header {
    /// Whether `other` holds the same bytes.
    #[must_use]
    pub(crate) fn has_same_bytes(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads the header at `path`.
///
/// # Errors
/// [`Error`] if it cannot be read.
pub fn volume_at(path: &Path) -> Result<Volume, Error> {
    volume(&open(path)?, path).map(|(_, volume)| volume)
}

fn volume(source: &dyn ReadAt, path: &Path) -> Result<(Readable, Volume), Error> {
    let reading = read(source).map_err(|error| match error {
        Error::Read(source) => Error::Io { path: path.to_owned(), source },
        other => Error::Io { path: path.to_owned(), source: io::Error::other(other) },
    })?;
    let readable = reading.readable;
    reading.volume.map(|volume| (readable, volume)).ok_or_else(|| Error::unreadable(path, &reading.findings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_header_lies_beside_the_backup() {
        let now = "2026-11-26T14:05:00Z".parse().unwrap();
        let expected = Path::new("/safe/data.header.replaced-20261126T140500Z");
        assert_eq!(replaced_path(Path::new("/safe/data.header"), now), expected);
    }
}
