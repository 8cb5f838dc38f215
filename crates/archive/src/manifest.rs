//! Manifests: every file, and the location of its bytes in the packs.
//!
//! Lines of JSON: a head; an `entry` for each file, directory and link; `chunks` with the chunk hashes of files that
//! have more than one; a `head` with the first bytes of files that name their key there; a `pack` for each pack in use;
//! a `run` for each part of a file; and a `key` for each MariaDB key needed. Bytes outside all runs are zero.

mod file_head;
mod lines;
mod read;
#[cfg(test)]
mod tests;

use std::{
    fs::File,
    io::{self, Write},
};

use codec::{
    entry::Entry,
    hash::{HASH_BYTES, Hash, Tree},
};
use innodb::binlog::CopyPosition;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::{file_head::FileHead, lines::MariaDbKey};
use crate::{
    Digest, Error, List,
    list::{Place, Record, take},
    receipt::Object,
};

/// Schema that this version writes.
pub const SCHEMA: &str = "sealant.backup-manifest/1";
/// Maximum length of a line: 1024 chunk hashes, [`MAX_HEAD_BYTES`] in base64, or two paths of 4095 bytes, all escaped.
pub const MAX_LINE_BYTES: u64 = 128 << 10;
/// Maximum length of a file's head: the largest page 0.
pub const MAX_HEAD_BYTES: usize = 64 << 10;

/// A parsed manifest: the files of a backup, and the packs with their bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Host, number and origin of the backup.
    pub head: Head,
    /// Files, directories and links, parents before their contents.
    pub files: Vec<StoredFile>,
    /// Packs, indexed by [`Run::pack`].
    pub packs: Vec<Object>,
    /// MariaDB keys that are needed to read the files.
    pub keys: Vec<MariaDbKey>,
}

/// First line of a manifest.
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
    /// Time of the copy, by the host's clock.
    pub instant: Timestamp,
    /// The snapshot provider that took the copy.
    pub provider: String,
    /// `server_uuid`, of a MySQL server.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_uuid: Option<String>,
    /// Newest checkpoint of the redo log, in bytes of LSN.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub checkpoint_lsn: Option<u64>,
    /// Position of the copy in the binary log, if the provider reads it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub position: Option<CopyPosition>,
    /// SHA-256 of the previous receipt.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parent: Option<Digest>,
    /// Permissions and owner of the data directory.
    pub root: Root,
    /// Number of entries that follow.
    pub entries: u64,
    /// Files that the backup omits, and why.
    #[serde(default)]
    pub left_out: Vec<ExcludedFile>,
}

/// Permissions and owner of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Permission bits.
    pub mode: u32,
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

/// A file that the backup omits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcludedFile {
    /// Its path, for messages.
    pub path: String,
    /// The reason.
    pub why: String,
}

/// A file, directory or link, and the location of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Path, kind, permissions and times.
    pub entry: Entry,
    /// BLAKE3 of a file.
    pub hash: Option<Hash>,
    /// First bytes of a file whose pages are decrypted in the packs: they identify the key for encrypting the pages
    /// again.
    pub head: Option<FileHead>,
    /// BLAKE3 of each chunk; for a file of one chunk, that of the file.
    pub chunks: List<Hash>,
    /// Location of its bytes, in order. Bytes outside all runs are zero.
    pub runs: List<Run>,
}

/// Where the lists of a manifest that is read are kept. All others of it take memory for each file and each pack.
#[derive(Debug, Default)]
pub struct Lists {
    /// [`StoredFile::chunks`]: 32 bytes for each.
    pub chunks: Place,
    /// [`StoredFile::runs`]: 36 bytes for each.
    pub runs: Place,
}

impl Lists {
    /// In these files, which are empty.
    #[must_use]
    pub const fn in_files(chunks: File, runs: File) -> Self {
        Self { chunks: Place::File(chunks), runs: Place::File(runs) }
    }

    /// Nowhere: they are checked, but not kept.
    #[must_use]
    pub const fn not_kept() -> Self {
        Self { chunks: Place::Nowhere, runs: Place::Nowhere }
    }
}

/// Location of a part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Offset in the file.
    pub at: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Index of the pack in [`Manifest::packs`].
    pub pack: u32,
    /// Offset in the unpacked frame.
    pub offset: u32,
    /// Offset of the frame in the plain text of the pack.
    pub frame_at: u64,
    /// Length of the packed frame, description included.
    pub frame_bytes: u32,
}

impl Run {
    /// End of the part, as an offset in the file.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.at.saturating_add(self.bytes)
    }

    /// The part between two offsets of the file; `None` if it is empty.
    #[must_use]
    pub fn within(&self, from: u64, end: u64) -> Option<Self> {
        let (at, end) = (self.at.max(from), self.end().min(end));
        let skipped = u32::try_from(at.checked_sub(self.at)?).ok()?;
        let bytes = end.checked_sub(at).filter(|bytes| *bytes > 0)?;
        Some(Self { at, bytes, offset: self.offset.checked_add(skipped)?, ..*self })
    }

    /// Whether `other` continues this run, in the file and in the frame.
    #[must_use]
    pub fn is_followed_by(&self, other: &Self) -> bool {
        (self.pack, self.frame_at) == (other.pack, other.frame_at)
            && self.end() == other.at
            && u64::from(self.offset).checked_add(self.bytes) == Some(u64::from(other.offset))
    }
}

impl Record for Run {
    const BYTES: usize = 36;

    fn encode(&self, out: &mut Vec<u8>) {
        let Self { at, bytes, pack, offset, frame_at, frame_bytes } = self;
        [at, bytes, frame_at].into_iter().for_each(|field| out.extend(field.to_be_bytes()));
        [pack, offset, frame_bytes].into_iter().for_each(|field| out.extend(field.to_be_bytes()));
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut long = || take(&mut bytes).map(u64::from_be_bytes);
        let (at, length, frame_at) = (long()?, long()?, long()?);
        let mut short = || take(&mut bytes).map(u32::from_be_bytes);
        Some(Self { at, bytes: length, frame_at, pack: short()?, offset: short()?, frame_bytes: short()? })
    }
}

impl Record for Hash {
    const BYTES: usize = HASH_BYTES;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.0);
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        take(&mut bytes).map(Self)
    }
}

impl List<Run> {
    /// The runs that have bytes between two offsets of the file.
    ///
    /// # Errors
    /// The file of the list cannot be read.
    pub fn overlapping(&self, from: u64, end: u64) -> io::Result<Vec<Run>> {
        let first = self.partition_point(|run| run.end() <= from)?;
        self.iter_from(first).take_while(|run| run.as_ref().map_or(true, |run| run.at < end)).collect()
    }
}

impl List<Hash> {
    /// The hash of the file that has these chunks; `None` if there are none.
    ///
    /// # Errors
    /// The file of the list cannot be read.
    pub fn file_hash(&self) -> io::Result<Option<Hash>> {
        self.file_hash_with(None)
    }

    /// Like [`Self::file_hash`], with another first chunk.
    ///
    /// # Errors
    /// The file of the list cannot be read.
    pub fn file_hash_with(&self, first: Option<Hash>) -> io::Result<Option<Hash>> {
        let (mut tree, count) = (Tree::default(), self.len());
        for (chunk, hash) in (0..).zip(self.iter()) {
            let hash = hash?;
            tree.add(count, chunk, first.filter(|_| chunk == 0).unwrap_or(hash));
        }
        Ok(tree.hash(count))
    }
}

impl Manifest {
    /// Length of all files in bytes, holes included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.file_bytes()))
    }

    /// Writes the manifest as lines of JSON.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&self, out: &mut dyn Write) -> Result<(), Error> {
        lines::write(self, out)
    }
}

impl StoredFile {
    /// Length of a file in bytes; 0 for directories and links.
    #[must_use]
    pub const fn file_bytes(&self) -> u64 {
        match self.entry.kind {
            codec::entry::Kind::File { bytes } => bytes,
            _ => 0,
        }
    }
}
