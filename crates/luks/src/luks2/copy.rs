//! One copy of the header: 4096 binary bytes, then JSON filled up with zeros.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 6 + 2 | magic (`LUKS` or, in the second copy, `SKUL`; then ba be), version |
//! | 8 | 8 | bytes of this copy with its JSON |
//! | 16 | 8 | sequence number |
//! | 24 | 48 | label |
//! | 72 | 32 | checksum algorithm |
//! | 104 | 64 | salt, unlike in the other copy |
//! | 168 | 40 | UUID |
//! | 208 | 48 | subsystem |
//! | 256 | 8 | offset of this copy |
//! | 448 | 64 | checksum of the whole copy with this field zeroed |

use std::io;

use aws_lc_rs::{digest, rand};
use serde_json::Value;

use super::metadata::Metadata;
use super::{COPY_BYTES, validity};
use crate::bytes::{be16, be64, text};
use crate::volume::Volume;
use files::{ReadAt, read_bytes};

/// How a LUKS device begins; LUKS1 too.
pub(crate) const MAGIC_PRIMARY: [u8; 6] = *b"LUKS\xba\xbe";
/// How the second copy begins.
const MAGIC_SECONDARY: [u8; 6] = *b"SKUL\xba\xbe";

/// Bytes before the JSON.
pub(crate) const BINARY_BYTES: usize = 4096;
const CHECKSUM_AT: usize = 448;
const CHECKSUM_BYTES: usize = 64;

/// Which copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// At the start of the device.
    Primary,
    /// At this offset, which is also its size.
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

/// What was found at a place.
#[derive(Debug)]
pub(crate) enum CopyState {
    /// No magic.
    Absent,
    /// The magic and something that is not what was written.
    Damaged(String),
    /// The checksum is right, and the fields cannot be.
    Invalid(String),
    /// Whole.
    Good(Box<Copy>),
}

/// A copy that is whole.
#[derive(Debug)]
pub(crate) struct Copy {
    /// Bytes with its JSON.
    pub(crate) bytes: u64,
    /// The JSON as it is stored.
    pub(crate) json: String,
    /// The 4096 bytes before it.
    pub(crate) binary: Vec<u8>,
    /// What it says.
    pub(crate) volume: Volume,
}

impl Copy {
    /// Whether the other copy says the same.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.bytes == other.bytes && self.json == other.json && self.volume == other.volume
    }
}

/// Looks at one place. What cannot be read counts as damaged: there is another copy.
pub(crate) fn read_copy(source: &dyn ReadAt, position: Position) -> CopyState {
    match read_whole(source, position) {
        Ok(Ok(bytes)) => parse(&bytes),
        Ok(Err(state)) => state,
        Err(error) => CopyState::Damaged(format!("it cannot be read: {error}")),
    }
}

/// The whole copy if its magic, version, place and size are right.
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
        return damaged(format!("it says that it lies at byte {offset}"));
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

/// The JSON, if the checksum is right and it is JSON with nothing but zeros behind.
fn checked(bytes: &[u8]) -> Result<(String, Value), String> {
    check_sum(bytes)?;
    let area = bytes.get(BINARY_BYTES..).unwrap_or_default();
    let end = area.iter().position(|byte| *byte == 0).ok_or("its JSON has no end")?;
    let (json, rest) = area.split_at(end);
    if rest.iter().any(|byte| *byte != 0) {
        return Err("something stands behind its JSON".to_owned());
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
    let algorithm = algorithm(&name).ok_or("its checksum algorithm is not known")?;
    let stored = bytes.get(CHECKSUM_AT..).and_then(|rest| rest.get(..algorithm.output_len())).unwrap_or_default();
    if checksum(bytes, algorithm).as_ref() == stored { Ok(()) } else { Err("its checksum is wrong".to_owned()) }
}

/// Makes the two copies of a header out of the binary part of one, other JSON and another sequence number. None if
/// the JSON has no room.
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
    // A zero has to stand behind the JSON.
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

/// Every release of cryptsetup writes SHA-256; the format allows any hash.
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

/// What the copy says, if its fields agree.
fn interpret(bytes: &[u8], value: Value) -> Result<Volume, String> {
    let named = |name: &str, at, length| text(bytes, at, length).map_err(|why| format!("its {name} {why}"));
    let (label, uuid, subsystem) = (named("label", 24, 48)?, named("UUID", 168, 40)?, named("subsystem", 208, 48)?);
    let sequence = be64(bytes, 16).unwrap_or_default();
    let metadata = Metadata::read(value)?;
    validity::check(&metadata, u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
    let volume = metadata.volume(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    Ok(Volume { uuid, label, subsystem, sequence, ..volume })
}
