//! Content of a header for scripts (`header` of schema `sealant.luks/1`).

use serde::Serialize;

use crate::kdf::Kdf;
use crate::volume::{Format, Segment, Slot, Volume};

/// Content of a header. Later versions only add fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "format", rename_all = "lowercase")]
pub enum HeaderSummary {
    /// Fields of a LUKS1 header.
    Luks1(Luks1Summary),
    /// Fields of a LUKS2 header.
    Luks2(Luks2Summary),
}

/// A LUKS1 header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Luks1Summary {
    uuid: String,
    cipher: String,
    hash: String,
    key_bits: u32,
    /// First sector of the data, in units of 512 bytes; 0 for a detached header.
    payload_sector: u64,
    active_slots: Vec<u32>,
    /// PBKDF2 iterations of these slots.
    iterations: Vec<u64>,
}

/// A LUKS2 header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Luks2Summary {
    uuid: String,
    label: String,
    subsystem: String,
    sequence: u64,
    metadata_bytes: u64,
    /// Segments that hold data now.
    segments: Vec<SegmentSummary>,
    /// The data before and after an unfinished re-encryption.
    backup_segments: Vec<SegmentSummary>,
    keyslots: Vec<SlotSummary>,
    tokens: Vec<String>,
    flags: Vec<String>,
    requirements: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct SegmentSummary {
    id: u32,
    #[serde(rename = "type")]
    kind: String,
    cipher: Option<String>,
    sector: u32,
    offset: u64,
    /// A decimal number, or `dynamic` for the rest of the device.
    size: String,
    integrity: Option<String>,
    flags: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct SlotSummary {
    id: u32,
    #[serde(rename = "type")]
    kind: String,
    key_bits: u32,
    area_cipher: Option<String>,
    kdf: Option<KdfSummary>,
    priority: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum KdfSummary {
    Pbkdf2 {
        #[serde(rename = "type")]
        kind: &'static str,
        hash: String,
        iterations: u64,
    },
    Argon2 {
        #[serde(rename = "type")]
        kind: String,
        time: u64,
        memory: u64,
        cpus: u64,
    },
    Other {
        #[serde(rename = "type")]
        kind: String,
    },
}

impl From<&Volume> for HeaderSummary {
    fn from(volume: &Volume) -> Self {
        match volume.format {
            Format::Luks1 => Self::Luks1(Luks1Summary::new(volume)),
            Format::Luks2 => Self::Luks2(Luks2Summary::new(volume)),
        }
    }
}

impl Luks1Summary {
    fn new(volume: &Volume) -> Self {
        let data = volume.segments.first();
        let slots = &volume.slots;
        let iterations = |slot: &Slot| match &slot.kdf {
            Some(Kdf::Pbkdf2 { iterations, .. }) => *iterations,
            _ => 0,
        };
        Self {
            uuid: volume.uuid.clone(),
            cipher: data.map(|data| data.cipher.clone()).unwrap_or_default(),
            hash: volume.hash.clone().unwrap_or_default(),
            key_bits: volume.key_bytes.unwrap_or_default().saturating_mul(8),
            payload_sector: data.map_or(0, |data| data.offset / 512),
            active_slots: slots.iter().map(|slot| slot.id).collect(),
            iterations: slots.iter().map(iterations).collect(),
        }
    }
}

impl Luks2Summary {
    fn new(volume: &Volume) -> Self {
        let backups = volume.segments.iter().filter(|segment| segment.is_backup());
        Self {
            uuid: volume.uuid.clone(),
            label: volume.label.clone(),
            subsystem: volume.subsystem.clone(),
            sequence: volume.sequence,
            metadata_bytes: volume.metadata_bytes,
            segments: volume.live().map(SegmentSummary::new).collect(),
            backup_segments: backups.map(SegmentSummary::new).collect(),
            keyslots: volume.slots.iter().map(SlotSummary::new).collect(),
            tokens: volume.tokens.clone(),
            flags: volume.flags.clone(),
            requirements: volume.requirements.clone(),
        }
    }
}

impl SegmentSummary {
    fn new(segment: &Segment) -> Self {
        Self {
            id: segment.id,
            kind: segment.kind.clone(),
            cipher: named(&segment.cipher),
            sector: segment.sector_bytes,
            offset: segment.offset,
            size: segment.size.map_or_else(|| "dynamic".to_owned(), |size| size.to_string()),
            integrity: segment.integrity.as_ref().map(|integrity| integrity.kind.clone()),
            flags: segment.flags.clone(),
        }
    }
}

impl SlotSummary {
    fn new(slot: &Slot) -> Self {
        let priority = match (slot.ignored, slot.preferred) {
            (true, _) => "ignore",
            (_, true) => "prefer",
            _ => "normal",
        };
        Self {
            id: slot.id,
            kind: slot.kind.clone(),
            key_bits: slot.key_bytes.saturating_mul(8),
            area_cipher: named(&slot.area_cipher),
            kdf: slot.kdf.as_ref().map(KdfSummary::new),
            priority,
        }
    }
}

impl KdfSummary {
    fn new(kdf: &Kdf) -> Self {
        match kdf {
            Kdf::Pbkdf2 { hash, iterations } => {
                Self::Pbkdf2 { kind: "pbkdf2", hash: hash.clone(), iterations: *iterations }
            }
            Kdf::Argon2 { variant, time, memory_kib, cpus } => {
                Self::Argon2 { kind: variant.clone(), time: *time, memory: *memory_kib, cpus: *cpus }
            }
            Kdf::Other(kind) => Self::Other { kind: kind.clone() },
        }
    }
}

fn named(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

impl HeaderSummary {
    /// The most important facts as human-readable lines.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Luks1(header) => header.lines(),
            Self::Luks2(header) => header.lines(),
        }
    }

    /// A human-readable line for each key slot.
    #[must_use]
    pub fn slot_lines(&self) -> Vec<String> {
        match self {
            Self::Luks1(header) => header.slot_lines(),
            Self::Luks2(header) => header.slot_lines(),
        }
    }
}

impl Luks1Summary {
    fn lines(&self) -> Vec<String> {
        let head = [
            format!("LUKS1, UUID {}", self.uuid),
            format!(
                "data from byte {}: {}, {} key bits, 512-byte sectors",
                self.payload_sector.saturating_mul(512),
                self.cipher,
                self.key_bits
            ),
        ];
        head.into_iter().chain(self.slot_lines()).collect()
    }

    fn slot_lines(&self) -> Vec<String> {
        let slot = |(id, iterations): (&u32, &u64)| format!("slot {id}: PBKDF2-{}, {iterations} iterations", self.hash);
        self.active_slots.iter().zip(&self.iterations).map(slot).collect()
    }
}

impl Luks2Summary {
    fn lines(&self) -> Vec<String> {
        let label = if self.label.is_empty() { String::new() } else { format!(", label {}", self.label) };
        let mut lines = vec![format!("LUKS2, UUID {}{label}, sequence number {}", self.uuid, self.sequence)];
        lines.extend(self.segments.iter().map(SegmentSummary::line));
        lines.extend(self.slot_lines());
        let lists = [("tokens", &self.tokens), ("flags", &self.flags), ("requirements", &self.requirements)];
        let named = lists.into_iter().filter(|(_, list)| !list.is_empty());
        lines.extend(named.map(|(name, list)| format!("{name}: {}", list.join(", "))));
        lines
    }

    fn slot_lines(&self) -> Vec<String> {
        self.keyslots.iter().map(SlotSummary::line).collect()
    }
}

impl SegmentSummary {
    fn line(&self) -> String {
        let cipher = self.cipher.as_deref().unwrap_or(&self.kind);
        let integrity = self.integrity.as_ref().map(|kind| format!(", {kind}")).unwrap_or_default();
        format!("data from byte {}: {cipher}, {}-byte sectors{integrity}", self.offset, self.sector)
    }
}

impl SlotSummary {
    fn line(&self) -> String {
        let kdf = match &self.kdf {
            Some(KdfSummary::Pbkdf2 { hash, iterations, .. }) => format!("PBKDF2-{hash}, {iterations} iterations"),
            Some(KdfSummary::Argon2 { kind, time, memory, cpus }) => {
                format!("{kind}, {memory} KiB, {time} passes, {cpus} lanes")
            }
            Some(KdfSummary::Other { kind }) => kind.clone(),
            None => self.kind.clone(),
        };
        let priority = if self.priority == "normal" { String::new() } else { format!(", priority {}", self.priority) };
        format!("slot {}: {} key bits, {kdf}{priority}", self.id, self.key_bits)
    }
}
