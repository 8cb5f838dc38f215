//! The lines of a manifest, as JSON.

use std::io::{self, Write};

use codec::{entry::EntryLine, hash::HASH_BYTES};
use data_encoding::BASE64;
use serde::{Deserialize, Serialize};

use super::{Manifest, Run};
use crate::{Digest, Error};

/// Maximum number of hashes in one line.
const HASHES: usize = 1024;

/// A line after the head.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Line {
    Entry(Box<EntryLine>),
    Chunks(ChunksLine),
    Pack(PackLine),
    Run(RunLine),
    Head(HeadLine),
    Key(MariaDbKey),
}

/// Hashes of consecutive chunks of a file.
#[derive(Serialize, Deserialize)]
pub(super) struct ChunksLine {
    /// Number of the entry.
    pub(super) f: u32,
    /// Concatenated hashes, base64.
    pub(super) b3: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PackLine {
    pub(super) sha256: Digest,
    pub(super) bytes: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct RunLine {
    /// Number of the entry.
    pub(super) f: u32,
    pub(super) at: u64,
    pub(super) n: u64,
    /// Number of the pack.
    pub(super) p: u32,
    /// Offset in the unpacked frame.
    pub(super) o: u32,
    /// Offset of the frame in the plain text of the pack, and its packed length.
    pub(super) z: u64,
    pub(super) zn: u32,
}

impl RunLine {
    pub(super) const fn run(&self) -> Run {
        let Self { at, n: bytes, p: pack, o: offset, z: frame_at, zn: frame_bytes, .. } = *self;
        Run { at, bytes, pack, offset, frame_at, frame_bytes }
    }

    const fn new(f: u32, run: &Run) -> Self {
        let Run { at, bytes: n, pack: p, offset: o, frame_at: z, frame_bytes: zn } = *run;
        Self { f, at, n, p, o, z, zn }
    }
}

/// The first bytes of a file.
#[derive(Serialize, Deserialize)]
pub(super) struct HeadLine {
    /// Number of the entry.
    pub(super) f: u32,
    /// Number of bytes, including the zeros at the end.
    pub(super) n: u32,
    /// The bytes without the zeros at the end, base64.
    pub(super) b: String,
}

/// A MariaDB key that the files need, with a check value to test key files against the manifest alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MariaDbKey {
    /// Key id.
    pub id: u32,
    /// Key version.
    pub version: u32,
    /// The first 8 bytes of HMAC-SHA256 under the key, in hexadecimal: see `docs/formats/backup.md`.
    pub check: String,
}

pub(super) fn write(manifest: &Manifest, out: &mut dyn Write) -> Result<(), Error> {
    put(&manifest.head, out)?;
    for file in &manifest.files {
        put(&Line::Entry(Box::new(EntryLine::new(&file.entry, file.hash))), out)?;
    }
    for (f, file) in (0..).zip(&manifest.files).filter(|(_, file)| file.chunks.len() > 1) {
        for first in (0..file.chunks.len()).step_by(HASHES) {
            let hashes = file.chunks.range(first, HASHES as u64)?;
            let mut bytes = Vec::with_capacity(hashes.len().saturating_mul(HASH_BYTES));
            hashes.iter().for_each(|hash| bytes.extend(hash.0));
            put(&Line::Chunks(ChunksLine { f, b3: BASE64.encode(&bytes) }), out)?;
        }
    }
    for (f, head) in (0..).zip(&manifest.files).filter_map(|(f, file)| Some((f, file.head.as_ref()?))) {
        let head = head.bytes();
        let kept = head.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1));
        let b = BASE64.encode(head.get(..kept).unwrap_or_default());
        put(&Line::Head(HeadLine { f, n: u32::try_from(head.len()).unwrap_or(u32::MAX), b }), out)?;
    }
    for pack in &manifest.packs {
        put(&Line::Pack(PackLine { sha256: pack.sha256, bytes: pack.bytes }), out)?;
    }
    for (f, file) in (0..).zip(&manifest.files) {
        for run in file.runs.iter() {
            put(&Line::Run(RunLine::new(f, &run?)), out)?;
        }
    }
    for key in &manifest.keys {
        put(&Line::Key(key.clone()), out)?;
    }
    Ok(())
}

fn put(line: &impl Serialize, out: &mut dyn Write) -> Result<(), Error> {
    serde_json::to_writer(&mut *out, line).map_err(io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}
