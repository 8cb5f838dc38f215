//! Descriptions of frames.

use codec::{hash::Hash, page::MarkEncoding, path::RelativePath};
use data_encoding::{BASE64, HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::{Deserialize, Serialize};

use super::{MAX_DESCRIPTION_BYTES, MAX_FRAME_BYTES, MAX_PACKED_BYTES, MAX_RUNS};
use crate::Error;

/// What a frame contains: parts of one file, concatenated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Path of the file.
    pub path: RelativePath,
    /// The parts, in the order of the file.
    pub extents: Vec<Extent>,
    /// BLAKE3 of the parts' bytes as they are in the file, not decrypted.
    pub hash: Hash,
    /// How to encrypt the pages again, if they are decrypted in the pack.
    pub decrypted: Option<DecryptedUnits>,
}

/// Part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct Extent {
    /// Offset in the file.
    pub at: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl From<(u64, u64)> for Extent {
    fn from((at, bytes): (u64, u64)) -> Self {
        Self { at, bytes }
    }
}

impl From<Extent> for (u64, u64) {
    fn from(extent: Extent) -> Self {
        (extent.at, extent.bytes)
    }
}

/// What is needed to encrypt the units of a frame again, besides the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecryptedUnits {
    /// Encoding of the marks.
    pub form: MarkEncoding,
    /// Length of a unit in bytes.
    pub unit_bytes: u32,
    /// Marks: data that each unit needs to be encrypted again.
    pub marks: Vec<u8>,
    /// Cipher, as a number.
    pub kind: u8,
    /// Version of the key (MariaDB), else 0.
    pub key_version: u32,
    /// Whether the cipher is AES-CTR, which MariaDB's files do not state.
    pub counter_mode: bool,
}

/// The description as JSON.
#[derive(Serialize, Deserialize)]
struct Line {
    /// Path, with invalid UTF-8 replaced.
    f: String,
    /// The path's bytes in hexadecimal, if they are not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    fb: Option<String>,
    runs: Vec<Extent>,
    b3: String,
    /// Length of the packed frame.
    z: u32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    form: Option<MarkEncoding>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    page: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    marks: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cipher: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    ctr: Option<bool>,
}

impl Description {
    /// Length of the frame's data, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.extents.iter().fold(0, |sum, extent| sum.saturating_add(extent.bytes))
    }

    /// The JSON of a frame of `packed_bytes` bytes.
    pub(super) fn encode(&self, packed_bytes: usize) -> Result<Vec<u8>, Error> {
        let path = self.path.as_path();
        let decrypted = self.decrypted.as_ref();
        let line = Line {
            f: path.to_string_lossy().into_owned(),
            fb: path.to_str().is_none().then(|| HEXLOWER.encode(self.path.as_bytes())),
            runs: self.extents.clone(),
            b3: self.hash.to_string(),
            z: u32::try_from(packed_bytes).map_err(|_| Error::Pack("a frame is too long"))?,
            form: decrypted.map(|decrypted| decrypted.form),
            page: decrypted.map(|decrypted| decrypted.unit_bytes),
            marks: decrypted.map(|decrypted| BASE64.encode(&decrypted.marks)),
            cipher: decrypted.map(|decrypted| decrypted.kind),
            version: decrypted.map(|decrypted| decrypted.key_version),
            ctr: decrypted.map(|decrypted| decrypted.counter_mode),
        };
        let text = serde_json::to_vec(&line).map_err(|_| Error::Pack("a description cannot be written"))?;
        let fits = text.len() <= MAX_DESCRIPTION_BYTES && self.is_sound();
        if fits { Ok(text) } else { Err(Error::Pack("a description is too long")) }
    }

    /// Parses the JSON; also returns the length of the packed frame.
    pub(super) fn parse(text: &[u8]) -> Result<(Self, usize), Error> {
        let malformed = Error::Pack("a description is not as the format has it");
        let Some((description, packed_bytes)) = serde_json::from_slice(text).ok().and_then(Self::from_line) else {
            return Err(malformed);
        };
        let fits = description.is_sound() && packed_bytes <= MAX_PACKED_BYTES;
        if fits { Ok((description, packed_bytes)) } else { Err(malformed) }
    }

    fn from_line(line: Line) -> Option<(Self, usize)> {
        let path = match line.fb {
            Some(digits) => RelativePath::parse(&HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok()?)?,
            None => RelativePath::parse(line.f.as_bytes())?,
        };
        let decrypted = match line.form {
            None => None,
            Some(form) => Some(DecryptedUnits {
                form,
                unit_bytes: line.page?,
                marks: BASE64.decode(line.marks?.as_bytes()).ok()?,
                kind: line.cipher?,
                key_version: line.version?,
                counter_mode: line.ctr?,
            }),
        };
        let hash = Hash::parse(&line.b3)?;
        Some((Self { path, extents: line.runs, hash, decrypted }, usize::try_from(line.z).ok()?))
    }

    /// Whether the parts are in order, do not overlap, lie within a file, and fit a frame.
    fn is_sound(&self) -> bool {
        let mut end = 0;
        let in_order = self.extents.iter().all(|extent| {
            let sound = extent.at >= end && extent.bytes > 0;
            end = extent.at.saturating_add(extent.bytes);
            sound && end <= i64::MAX as u64
        });
        let fits = self.bytes() <= MAX_FRAME_BYTES as u64;
        in_order && fits && !self.extents.is_empty() && self.extents.len() <= MAX_RUNS
    }
}
