//! One copy of the header: 4096 binary bytes, then JSON padded with zeros.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 6 + 2 | magic (`LUKS` or, in the second copy, `SKUL`; then ba be), version |
//! | 8 | 8 | size of this copy, JSON included |
//! | 16 | 8 | sequence number |
//! | 24 | 48 | label |
//! | 72 | 32 | checksum algorithm |
//! | 104 | 64 | salt, different in each copy |
//! | 168 | 40 | UUID |
//! | 208 | 48 | subsystem |
//! | 256 | 8 | offset of this copy |
//! | 448 | 64 | checksum of the whole copy, computed with this field zeroed |

use std::io;

use aws_lc_rs::{digest, rand};
use serde_json::Value;

use super::metadata::Metadata;
use super::{COPY_BYTES, validity};
use crate::bytes::{be16, be64, text};
use crate::volume::Volume;
use files::{ReadAt, read_bytes};

/// First bytes of a LUKS device, of LUKS1 too.
pub(crate) const MAGIC_PRIMARY: [u8; 6] = *b"LUKS\xba\xbe";
/// First bytes of the second copy.
const MAGIC_SECONDARY: [u8; 6] = *b"SKUL\xba\xbe";

/// Size of the binary part.
pub(crate) const BINARY_BYTES: usize = 4096;
const CHECKSUM_AT: usize = 448;
const CHECKSUM_BYTES: usize = 64;

/// Position of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// At the start of the device.
    Primary,
    /// At this offset, which is also the size of a copy.
    Secondary(u64),
}

impl Position {
    fn offset(self) -> u64 {
        match self {
            Self::Primary => 0,
            Self::Secondary(offset) => offset,
        }
    }

    fn magic(self) -> [u8; 6] {
        if self == Self::Primary { MAGIC_PRIMARY } else { MAGIC_SECONDARY }
    }
}

/// What was found at a position.
#[derive(Debug)]
pub(crate) enum CopyState {
    /// No magic.
    Absent,
    /// The magic, followed by damaged content.
    Damaged(String),
    /// The checksum is correct, but fields have impossible values.
    Invalid(String),
    /// The copy is valid.
    Good(Box<Copy>),
}

/// A valid copy.
#[derive(Debug)]
pub(crate) struct Copy {
    /// Size, JSON included.
    pub(crate) bytes: u64,
    /// The JSON as stored.
    pub(crate) json: String,
    /// The 4096 bytes before the JSON.
    pub(crate) binary: Vec<u8>,
    /// The parsed content.
    pub(crate) volume: Volume,
}

impl Copy {
    /// Whether the other copy has the same content.
    pub(crate) fn has_content_of(&self, other: &Self) -> bool {
        self.bytes == other.bytes && self.json == other.json && self.volume == other.volume
    }
}

/// Reads the copy at one position. A read error counts as damage: there is another copy.
pub(crate) fn read_copy(source: &dyn ReadAt, position: Position) -> CopyState {
    match read_whole(source, position) {
        Ok(Ok(bytes)) => parse(&bytes),
        Ok(Err(state)) => state,
        Err(error) => CopyState::Damaged(format!("it cannot be read: {error}")),
    }
}

/// Reads all bytes of the copy. The state is returned instead if magic, version, position or size are wrong.
fn read_whole(source: &dyn ReadAt, position: Position) -> io::Result<Result<Vec<u8>, CopyState>> {
    let damaged = |why: String| Ok(Err(CopyState::Damaged(why)));
    let start = read_bytes(source, position.offset(), BINARY_BYTES)?;
    if !start.starts_with(&position.magic()) {
        return Ok(Err(CopyState::Absent));
    }
    let (Some(version), Some(size), Some(offset)) = (be16(&start, 6), be64(&start, 8), be64(&start, 256)) else {
        return damaged(format!("it ends after {} bytes", start.len()));
    };
    if version != 2 {
        return damaged(format!("its version is {version}"));
    }
    let position_fits = position == Position::Primary || size == position.offset();
    let known =
        COPY_BYTES.first().is_some_and(|least| size >= *least) && COPY_BYTES.last().is_some_and(|most| size <= *most);
    let Some(length) = usize::try_from(size).ok().filter(|_| known && position_fits) else {
        return damaged(format!("its size field says {size}"));
    };
    if offset != position.offset() {
        return damaged(format!("it claims to be at byte {offset}"));
    }
    let bytes = read_bytes(source, position.offset(), length)?;
    if bytes.len() < length {
        return damaged(format!("it ends after {} of {length} bytes", bytes.len()));
    }
    Ok(Ok(bytes))
}

fn parse(bytes: &[u8]) -> CopyState {
    match checked(bytes) {
        Err(why) => CopyState::Damaged(why),
        Ok((json, value)) => match interpret(bytes, value) {
            Err(why) => CopyState::Invalid(why),
            Ok(volume) => {
                let binary = bytes.get(..BINARY_BYTES).unwrap_or_default().to_vec();
                CopyState::Good(Box::new(Copy {
                    bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
                    json,
                    binary,
                    volume,
                }))
            }
        },
    }
}

/// Returns the JSON as text and parsed. Fails unless the checksum is right and only zeros follow the JSON.
fn checked(bytes: &[u8]) -> Result<(String, Value), String> {
    check_sum(bytes)?;
    let area = bytes.get(BINARY_BYTES..).unwrap_or_default();
    let end = area.iter().position(|byte| *byte == 0).ok_or("its JSON has no end")?;
    let (json, rest) = area.split_at(end);
    if rest.iter().any(|byte| *byte != 0) {
        return Err("there is data after its JSON".to_owned());
    }
    let json = std::str::from_utf8(json).map_err(|_| "its JSON is not UTF-8")?;
    if !json.starts_with('{') {
        return Err("its JSON does not begin with a brace".to_owned());
    }
    let value = serde_json::from_str(json)
        .map_err(|error| format!("its JSON cannot be read at line {}, column {}", error.line(), error.column()))?;
    Ok((json.to_owned(), value))
}

fn check_sum(bytes: &[u8]) -> Result<(), String> {
    let name = text(bytes, 72, 32).map_err(|why| format!("its checksum algorithm {why}"))?;
    let algorithm = algorithm(&name).ok_or("its checksum algorithm is unknown")?;
    let stored = bytes.get(CHECKSUM_AT..).and_then(|rest| rest.get(..algorithm.output_len())).unwrap_or_default();
    if checksum(bytes, algorithm).as_ref() == stored { Ok(()) } else { Err("its checksum is wrong".to_owned()) }
}

/// Builds both copies of a header from the binary part of one, new JSON and a new sequence number. `None` if the JSON
/// does not fit.
pub(crate) fn make_copies(of: &Copy, json: &Value, sequence: u64) -> Option<[Vec<u8>; 2]> {
    let json = json.to_string();
    let primary = make_copy(of, Position::Primary, &json, sequence)?;
    Some([primary, make_copy(of, Position::Secondary(of.bytes), &json, sequence)?])
}

fn make_copy(of: &Copy, position: Position, json: &str, sequence: u64) -> Option<Vec<u8>> {
    let mut bytes = of.binary.clone();
    bytes.resize(usize::try_from(of.bytes).ok()?, 0);
    let mut put = |at: usize, field: &[u8]| {
        bytes.get_mut(at..)?.get_mut(..field.len())?.copy_from_slice(field);
        Some(())
    };
    put(0, &position.magic())?;
    put(16, &sequence.to_be_bytes())?;
    let mut salt = [0; 64];
    rand::fill(&mut salt).ok()?;
    put(104, &salt)?;
    put(256, &position.offset().to_be_bytes())?;
    put(CHECKSUM_AT, &[0; CHECKSUM_BYTES])?;
    // The JSON must end with a zero byte.
    let json = [json.as_bytes(), &[0]].concat();
    put(BINARY_BYTES, &json)?;
    let name = text(&bytes, 72, 32).ok()?;
    let sum = checksum(&bytes, algorithm(&name)?);
    let field = bytes.get_mut(CHECKSUM_AT..)?.get_mut(..sum.as_ref().len())?;
    field.copy_from_slice(sum.as_ref());
    Some(bytes)
}

/// The checksum of a whole copy.
fn checksum(bytes: &[u8], algorithm: &'static digest::Algorithm) -> digest::Digest {
    let mut context = digest::Context::new(algorithm);
    context.update(bytes.get(..CHECKSUM_AT).unwrap_or_default());
    context.update(&[0; CHECKSUM_BYTES]);
    context.update(bytes.get(CHECKSUM_AT.saturating_add(CHECKSUM_BYTES)..).unwrap_or_default());
    context.finish()
}

/// Every release of cryptsetup writes SHA-256; the format allows other hashes.
fn algorithm(name: &str) -> Option<&'static digest::Algorithm> {
    match name.to_ascii_lowercase().as_str() {
        "sha1" => Some(&digest::SHA1_FOR_LEGACY_USE_ONLY),
        "sha224" => Some(&digest::SHA224),
        "sha256" => Some(&digest::SHA256),
        "sha384" => Some(&digest::SHA384),
        "sha512" => Some(&digest::SHA512),
        "sha3-256" => Some(&digest::SHA3_256),
        "sha3-384" => Some(&digest::SHA3_384),
        "sha3-512" => Some(&digest::SHA3_512),
        _ => None,
    }
}

/// Parses the copy, and checks that its fields agree.
fn interpret(bytes: &[u8], value: Value) -> Result<Volume, String> {
    let named = |name: &str, at, length| text(bytes, at, length).map_err(|why| format!("its {name} {why}"));
    let (label, uuid, subsystem) = (named("label", 24, 48)?, named("UUID", 168, 40)?, named("subsystem", 208, 48)?);
    let sequence = be64(bytes, 16).unwrap_or_default();
    let metadata = Metadata::read(value)?;
    validity::check(&metadata, u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
    let volume = metadata.volume(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    Ok(Volume { uuid, label, subsystem, sequence, ..volume })
}
