//! Manifests: every file, and where each of its bytes lies in the packs.
//!
//! Lines of JSON: a head, then an `entry` for each file, directory and link, `chunks` with the hashes of the chunks of files
//! that have more than one, a `head` with the first bytes of those that say there which key they need, a `pack` for each that
//! is used, a `run` for each part of a file, and a `key` for each of MariaDB's that is needed. What no run covers is zero.

mod lines;
mod read;
#[cfg(test)]
mod tests;

use std::io::Write;

use codec::{entry::Entry, hash::Hash};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::lines::MariaDbKey;
use crate::{ArchiveError, Digest, receipt::Object};

/// Schema of this version's manifests.
pub const SCHEMA: &str = "sealant.backup-manifest/1";
/// The longest line that is read: 1024 hashes of chunks, [`MAX_HEAD_BYTES`] in base64, or a path of 4095 bytes, each of
/// them escaped, twice.
pub const MAX_LINE_BYTES: u64 = 128 << 10;
/// The longest head: the largest page 0.
pub const MAX_HEAD_BYTES: usize = 64 << 10;

/// A manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// What it is of.
    pub head: Head,
    /// Files, directories and links, parents before what is in them.
    pub files: Vec<Stored>,
    /// Packs, by the numbers that runs have.
    pub packs: Vec<Object>,
    /// Keys of MariaDB that are needed.
    pub keys: Vec<MariaDbKey>,
}

/// What a manifest is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// [`SCHEMA`].
    pub schema: String,
    /// Id of the repository.
    pub repo: String,
    /// Name of the host.
    pub host: String,
    /// Number of the backup.
    pub number: u64,
    /// When the copy was taken, by the clock of the host.
    pub instant: Timestamp,
    /// How it was taken.
    pub provider: String,
    /// `server_uuid` of a MySQL server.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_uuid: Option<String>,
    /// Newest checkpoint of the redo log.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub checkpoint_lsn: Option<u64>,
    /// SHA-256 of the receipt before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parent: Option<Digest>,
    /// Permissions and owner of the data directory itself.
    pub root: Root,
    /// How many entries follow.
    pub entries: u64,
    /// Names of files that are not in the backup, and why.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
}

/// Permissions and owner of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Permission bits.
    pub mode: u32,
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

/// A file that is not in the backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Where it is, for people.
    pub path: String,
    /// Why it is left out.
    pub why: String,
}

/// A file, directory or link, and where its bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// What it is.
    pub entry: Entry,
    /// BLAKE3 of a file.
    pub hash: Option<Hash>,
    /// The first bytes of a file that is encrypted and opened in the packs: they say which key seals it again.
    pub head: Option<Vec<u8>>,
    /// Hashes of its chunks; that of a file's only chunk is the file's.
    pub chunks: Vec<Hash>,
    /// Where its bytes are, in order. What none of them covers is zero.
    pub runs: Vec<Run>,
}

/// Where a part of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where in the file it begins.
    pub at: u64,
    /// How long it is.
    pub bytes: u64,
    /// Number of its pack.
    pub pack: u32,
    /// Where it begins in the unpacked frame.
    pub offset: u32,
    /// Where the frame begins in the plain text of the pack.
    pub frame_at: u64,
    /// How long the frame is there, description included.
    pub frame_bytes: u32,
}

impl Run {
    /// Where in the file it ends.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.at.saturating_add(self.bytes)
    }

    /// The part of it that lies between two positions of the file; `None` if none does.
    #[must_use]
    pub fn within(&self, from: u64, end: u64) -> Option<Self> {
        let (at, end) = (self.at.max(from), self.end().min(end));
        let skipped = u32::try_from(at.checked_sub(self.at)?).ok()?;
        let bytes = end.checked_sub(at).filter(|bytes| *bytes > 0)?;
        Some(Self { at, bytes, offset: self.offset.checked_add(skipped)?, ..*self })
    }

    /// Whether another one goes on where this ends, in the file and in the frame.
    #[must_use]
    pub fn is_followed_by(&self, other: &Self) -> bool {
        (self.pack, self.frame_at) == (other.pack, other.frame_at)
            && self.end() == other.at
            && u64::from(self.offset).checked_add(self.bytes) == Some(u64::from(other.offset))
    }
}

impl Manifest {
    /// Bytes of all files, holes included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.file_bytes()))
    }

    /// Writes it.
    ///
    /// # Errors
    /// [`ArchiveError::Io`].
    pub fn write(&self, out: &mut dyn Write) -> Result<(), ArchiveError> {
        lines::write(self, out)
    }
}

impl Stored {
    /// Length of a file, 0 of anything else.
    #[must_use]
    pub const fn file_bytes(&self) -> u64 {
        match self.entry.kind {
            codec::entry::Kind::File { bytes } => bytes,
            _ => 0,
        }
    }
}
