//! The JSON metadata as types. 64-bit numbers are stored as decimal strings, references as the string of an id.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use serde::Deserialize;
use serde_json::Value;

use crate::bytes::printable;
use crate::kdf::Kdf;
use crate::volume::{self, Format, KEY_SLOT, Volume};

/// Number of a key slot, token, segment or digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Id(pub(super) u32);

impl TryFrom<String> for Id {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let number = text.parse().map_err(|_| "the number of an object is invalid")?;
        if text == u32::to_string(&number) { Ok(Self(number)) } else { Err("the number of an object is invalid") }
    }
}

/// A 64-bit number as a decimal string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Decimal(pub(super) u64);

impl TryFrom<String> for Decimal {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| digits);
        number.map(Self).ok_or("a size or an offset is not a 64-bit number")
    }
}

/// `dynamic`, or a number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum Size {
    /// The rest of the device.
    Dynamic,
    Bytes(u64),
}

impl TryFrom<String> for Size {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text == "dynamic" { Ok(Self::Dynamic) } else { Decimal::try_from(text).map(|size| Self::Bytes(size.0)) }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Metadata {
    pub(super) keyslots: BTreeMap<Id, Keyslot>,
    pub(super) tokens: BTreeMap<Id, Token>,
    pub(super) segments: BTreeMap<Id, SegmentJson>,
    pub(super) digests: BTreeMap<Id, DigestJson>,
    pub(super) config: Config,
}

#[derive(Debug, Deserialize)]
pub(super) struct Keyslot {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) key_size: u32,
    pub(super) area: Area,
    pub(super) kdf: Option<KeyDerivation>,
    pub(super) af: Option<Splitter>,
    /// 0 ignore, 1 normal, 2 prefer.
    pub(super) priority: Option<i64>,
    pub(super) mode: Option<String>,
    pub(super) direction: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Area {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) offset: Decimal,
    pub(super) size: Decimal,
    pub(super) encryption: Option<String>,
    pub(super) key_size: Option<u32>,
}

#[derive(Debug, Deserialize)]
pub(super) struct KeyDerivation {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) salt: Option<String>,
    pub(super) hash: Option<String>,
    pub(super) iterations: Option<u64>,
    pub(super) time: Option<u64>,
    pub(super) memory: Option<u64>,
    pub(super) cpus: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Splitter {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) stripes: Option<u64>,
    pub(super) hash: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Token {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) keyslots: Vec<Id>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SegmentJson {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) offset: Decimal,
    pub(super) size: Size,
    pub(super) iv_tweak: Option<Decimal>,
    pub(super) encryption: Option<String>,
    pub(super) sector_size: Option<u32>,
    pub(super) integrity: Option<IntegrityJson>,
    #[serde(default)]
    pub(super) flags: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct IntegrityJson {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) key_size: Option<u32>,
}

#[derive(Debug, Deserialize)]
pub(super) struct DigestJson {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) keyslots: Vec<Id>,
    pub(super) segments: Vec<Id>,
    pub(super) hash: Option<String>,
    pub(super) iterations: Option<u64>,
    pub(super) salt: Option<String>,
    pub(super) digest: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Config {
    pub(super) json_size: Decimal,
    pub(super) keyslots_size: Decimal,
    #[serde(default)]
    pub(super) flags: Vec<String>,
    #[serde(default)]
    pub(super) requirements: Requirements,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Requirements {
    #[serde(default)]
    pub(super) mandatory: Vec<String>,
}

impl SegmentJson {
    pub(super) fn is_backup(&self) -> bool {
        self.flags.iter().any(|flag| flag.starts_with("backup-"))
    }
}

impl Metadata {
    /// Parses the JSON. The error says what is missing or has the wrong type.
    pub(super) fn read(value: Value) -> Result<Self, String> {
        if !is_printable(&value) {
            return Err("its metadata holds text that is not printable".to_owned());
        }
        serde_json::from_value(value).map_err(|error| format!("its metadata is invalid: {}", short(&error)))
    }

    /// Converts the metadata to the type that the rest of this crate uses; fields of the binary header are left empty.
    pub(super) fn volume(&self, copy_bytes: u64) -> Volume {
        let both = copy_bytes.saturating_mul(2);
        Volume {
            format: Format::Luks2,
            uuid: String::new(),
            label: String::new(),
            subsystem: String::new(),
            sequence: 0,
            metadata_bytes: copy_bytes,
            header_bytes: both.saturating_add(self.config.keyslots_size.0),
            hash: None,
            key_bytes: None,
            segments: self.segments.iter().map(|(id, segment)| segment.read(*id)).collect(),
            slots: self.keyslots.iter().map(|(id, slot)| slot.read(*id)).collect(),
            digests: self.digests.iter().map(|(id, digest)| digest.read(*id)).collect(),
            tokens: self.tokens.values().map(|token| token.kind.clone()).collect(),
            flags: self.config.flags.clone(),
            requirements: self.config.requirements.mandatory.clone(),
        }
    }
}

/// Whether all text is printable. Tokens belong to other programs; only their type is shown and checked.
fn is_printable(metadata: &Value) -> bool {
    let Value::Object(sections) = metadata else { return true };
    sections.iter().all(|(name, section)| match section {
        Value::Object(tokens) if name == "tokens" => {
            tokens.values().all(|token| token.get("type").is_none_or(all_printable))
        }
        _ => printable(name).is_ok() && all_printable(section),
    })
}

/// Recursion is bounded by the JSON reader, which accepts 128 levels.
fn all_printable(value: &Value) -> bool {
    match value {
        Value::String(text) => printable(text).is_ok(),
        Value::Array(items) => items.iter().all(all_printable),
        Value::Object(fields) => fields.iter().all(|(name, field)| printable(name).is_ok() && all_printable(field)),
        _ => true,
    }
}

/// A shortened message of the JSON reader, which may quote a hostile header.
fn short(error: &serde_json::Error) -> String {
    error.to_string().chars().take(160).collect()
}

impl SegmentJson {
    fn read(&self, id: Id) -> volume::Segment {
        volume::Segment {
            id: id.0,
            kind: self.kind.clone(),
            cipher: self.encryption.clone().unwrap_or_default(),
            sector_bytes: self.sector_size.unwrap_or(512),
            offset: self.offset.0,
            size: match self.size {
                Size::Dynamic => None,
                Size::Bytes(bytes) => Some(bytes),
            },
            integrity: self
                .integrity
                .as_ref()
                .map(|integrity| volume::Integrity { kind: integrity.kind.clone(), key_bytes: integrity.key_size }),
            flags: self.flags.clone(),
        }
    }
}

impl Keyslot {
    pub(super) fn holds_key(&self) -> bool {
        self.kind == KEY_SLOT
    }

    fn read(&self, id: Id) -> volume::Slot {
        volume::Slot {
            id: id.0,
            kind: self.kind.clone(),
            key_bytes: self.key_size,
            area_cipher: self.area.encryption.clone().unwrap_or_default(),
            area_offset: self.area.offset.0,
            area_bytes: self.area.size.0,
            kdf: self.kdf.as_ref().map(KeyDerivation::read),
            salt: self.kdf.as_ref().and_then(|kdf| kdf.salt.as_deref()).map(decode).unwrap_or_default(),
            splitter_hash: self.af.as_ref().and_then(|af| af.hash.as_deref()).map(str::to_lowercase),
            ignored: self.priority == Some(0),
            preferred: self.priority == Some(2),
        }
    }
}

impl KeyDerivation {
    fn read(&self) -> Kdf {
        match self.kind.as_str() {
            "pbkdf2" => Kdf::Pbkdf2 {
                hash: self.hash.as_deref().unwrap_or_default().to_lowercase(),
                iterations: self.iterations.unwrap_or_default(),
            },
            variant if variant.starts_with("argon2") => Kdf::Argon2 {
                variant: variant.to_owned(),
                time: self.time.unwrap_or_default(),
                memory_kib: self.memory.unwrap_or_default(),
                cpus: self.cpus.unwrap_or_default(),
            },
            other => Kdf::Other(other.to_owned()),
        }
    }
}

impl DigestJson {
    fn read(&self, id: Id) -> volume::Digest {
        let ids = |ids: &[Id]| ids.iter().map(|id| id.0).collect();
        let proof = |text: &Option<String>| text.as_deref().map(decode).unwrap_or_default();
        volume::Digest {
            id: id.0,
            hash: self.hash.as_deref().map(str::to_lowercase),
            iterations: self.iterations.unwrap_or_default(),
            proof: (proof(&self.salt), proof(&self.digest)),
            slots: ids(&self.keyslots),
            segments: ids(&self.segments),
        }
    }
}

/// Decodes base64. Invalid text is returned undecoded, so that digests can still be compared.
fn decode(text: &str) -> Vec<u8> {
    BASE64.decode(text.as_bytes()).unwrap_or_else(|_| text.as_bytes().to_vec())
}
