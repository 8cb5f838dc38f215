//! Files, directories and links as list entries: in binary for the wire, in JSON for a manifest.

use std::{os::unix::ffi::OsStrExt, path::PathBuf};

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::{Deserialize, Serialize};

use crate::{
    Fields, Malformed,
    hash::Hash,
    path::{MAX_PATH_BYTES, RelativePath},
    put_length_prefixed,
};

/// Permission bits.
const PERMISSIONS: u32 = 0o7777;
const NANOSECONDS: u32 = 1_000_000_000;

/// One file, directory or symbolic link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Path below the root of the transfer.
    pub path: RelativePath,
    /// File, directory or link, with the fields of that kind.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Numeric id of the owner.
    pub uid: u32,
    /// Numeric id of the group.
    pub gid: u32,
    /// Modification time: seconds since 1970 UTC, nanoseconds.
    pub modified: (i64, u32),
}

/// Kind of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File {
        /// Length in bytes.
        bytes: u64,
    },
    /// A directory; its content has entries of its own.
    Directory,
    /// A symbolic link.
    Link {
        /// Target of the link. Never followed.
        target: Vec<u8>,
    },
}

impl Entry {
    /// Appends the encoding that [`decode`](Self::decode) reads.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_length_prefixed(out, self.path.as_bytes());
        out.extend(self.mode.to_be_bytes());
        out.extend(self.uid.to_be_bytes());
        out.extend(self.gid.to_be_bytes());
        out.extend(self.modified.0.to_be_bytes());
        out.extend(self.modified.1.to_be_bytes());
        match &self.kind {
            Kind::File { bytes } => {
                out.push(0);
                out.extend(bytes.to_be_bytes());
            }
            Kind::Directory => out.push(1),
            Kind::Link { target } => {
                out.push(2);
                put_length_prefixed(out, target);
            }
        }
    }

    /// Decodes one entry.
    ///
    /// # Errors
    /// [`Malformed`] if the fields end early or have impossible values.
    pub fn decode(fields: &mut Fields<'_>) -> Result<Self, Malformed> {
        let path = RelativePath::parse(fields.length_prefixed()?).ok_or(Malformed)?;
        let (mode, uid, gid) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let modified = (fields.array().map(i64::from_be_bytes)?, fields.u32()?);
        if mode & !PERMISSIONS != 0 || modified.1 >= NANOSECONDS {
            return Err(Malformed);
        }
        let kind = match fields.u8()? {
            0 => Kind::File { bytes: fields.u64().and_then(within_file_sizes)? },
            1 => Kind::Directory,
            2 => Kind::Link { target: link_target(fields.length_prefixed()?)? },
            _ => return Err(Malformed),
        };
        Ok(Self { path, kind, mode, uid, gid, modified })
    }
}

/// Rejects a length above that of a signed 64-bit offset, the maximum of file systems.
const fn within_file_sizes(bytes: u64) -> Result<u64, Malformed> {
    if bytes > i64::MAX as u64 { Err(Malformed) } else { Ok(bytes) }
}

fn link_target(bytes: &[u8]) -> Result<Vec<u8>, Malformed> {
    let sound = !bytes.is_empty() && bytes.len() <= MAX_PATH_BYTES && !bytes.contains(&0);
    if sound { Ok(bytes.to_vec()) } else { Err(Malformed) }
}

/// An entry as a line of JSON; files have a hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryLine {
    /// The path, with bytes that are not UTF-8 replaced.
    path: String,
    /// The path's bytes in hexadecimal, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    path_bytes: Option<String>,
    kind: LineKind,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    blake3: Option<String>,
    /// Target of a link, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    target_bytes: Option<String>,
    /// Permission bits in octal.
    mode: String,
    uid: u32,
    gid: u32,
    /// Seconds since 1970 UTC, nanoseconds.
    modified: (i64, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LineKind {
    File,
    Directory,
    Link,
}

impl EntryLine {
    /// `hash` is the hash of the content, if the entry is a file.
    #[must_use]
    pub fn new(entry: &Entry, hash: Option<Hash>) -> Self {
        let path = entry.path.as_path();
        let (kind, bytes, target) = match &entry.kind {
            Kind::File { bytes } => (LineKind::File, Some(*bytes), None),
            Kind::Directory => (LineKind::Directory, None, None),
            Kind::Link { target } => (LineKind::Link, None, Some(HEXLOWER.encode(target))),
        };
        Self {
            path: path.to_string_lossy().into_owned(),
            path_bytes: path.to_str().is_none().then(|| HEXLOWER.encode(entry.path.as_bytes())),
            kind,
            bytes,
            blake3: hash.map(|hash| hash.to_string()),
            target_bytes: target,
            mode: format!("{:04o}", entry.mode),
            uid: entry.uid,
            gid: entry.gid,
            modified: entry.modified,
        }
    }

    /// Returns the entry and its hash; `None` if a field of the line is invalid.
    #[must_use]
    pub fn parse(self) -> Option<(Entry, Option<Hash>)> {
        let path = match self.path_bytes {
            Some(bytes) => HEXLOWER_PERMISSIVE.decode(bytes.as_bytes()).ok()?,
            None => PathBuf::from(self.path).as_os_str().as_bytes().to_vec(),
        };
        let hash = match self.blake3 {
            Some(text) => Some(Hash::parse(&text)?),
            None => None,
        };
        let kind = match self.kind {
            LineKind::File => Kind::File { bytes: hash.and(self.bytes)? },
            LineKind::Directory => Kind::Directory,
            LineKind::Link => Kind::Link { target: HEXLOWER_PERMISSIVE.decode(self.target_bytes?.as_bytes()).ok()? },
        };
        let mode = u32::from_str_radix(&self.mode, 8).ok()?;
        let path = RelativePath::parse(&path)?;
        let (uid, gid, modified) = (self.uid, self.gid, self.modified);
        Some((Entry { path, kind, mode, uid, gid, modified }, hash))
    }
}
