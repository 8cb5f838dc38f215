//! The LUKS1 header: 592 bytes, integers big-endian.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 6 + 2 | magic, version |
//! | 8, 40, 72 | 32 each | cipher, mode with IV, hash |
//! | 104 | 4 | first sector of the data (512 bytes each), 0 for a detached header |
//! | 108 | 4 | bytes of the volume key |
//! | 112, 132, 164 | 20, 32, 4 | digest of the volume key, its salt, its iterations |
//! | 168 | 40 | UUID |
//! | 208 | 8 × 48 | slots: state, iterations, salt (32), first sector of its area, stripes |

use crate::bytes::{array, be32, text};
use crate::kdf::Kdf;
use crate::material::STRIPES;
use crate::volume::{Digest, Format, KEY_SLOT, Segment, Slot, Volume};
use files::{ReadAt, read_bytes};

/// Bytes of the fields.
pub(crate) const FIELD_BYTES: usize = 592;
/// Slot areas begin after the padded header.
const HEADER_BYTES: u64 = 1024;
const SECTOR_BYTES: u64 = 512;
/// Number of slots in every header.
pub(crate) const SLOTS: usize = 8;
/// 32768 bits; cryptsetup makes no longer keys.
const MAX_KEY_BYTES: u32 = 4096;

/// Why a field cannot be read.
const CUT_OFF: &str = "the header is cut off";

const ENABLED: u32 = 0x00ac_71f3;
const DISABLED: u32 = 0x0000_dead;

/// A slot as stored, active or not.
struct Raw {
    active: bool,
    iterations: u32,
    salt: [u8; 32],
    area_sector: u32,
}

/// Reads and checks the header at the start of `source`. The error names the impossible field.
pub(crate) fn read(source: &dyn ReadAt) -> std::io::Result<Result<Volume, String>> {
    let bytes = read_bytes(source, 0, FIELD_BYTES)?;
    Ok(if bytes.len() < FIELD_BYTES {
        Err(format!("the header ends after {} of {FIELD_BYTES} bytes", bytes.len()))
    } else {
        parse(&bytes)
    })
}

fn parse(bytes: &[u8]) -> Result<Volume, String> {
    let common = Common::parse(bytes)?;
    let stored: Vec<Raw> = (0..SLOTS).map(|id| slot(bytes, id)).collect::<Result<_, _>>()?;
    let area_bytes = area_bytes(common.key_bytes);
    check_areas(&stored, common.payload, area_bytes)?;
    let active = stored.iter().zip(0..).filter(|(slot, _)| slot.active);
    let slots: Vec<Slot> = active.map(|(slot, id)| common.slot(id, slot)).collect();
    Ok(Volume {
        format: Format::Luks1,
        uuid: named_text(bytes, "UUID", 168, 40)?,
        label: String::new(),
        subsystem: String::new(),
        sequence: 0,
        metadata_bytes: HEADER_BYTES,
        header_bytes: header_bytes(&stored, area_bytes),
        digests: vec![common.digest(bytes, &slots)?],
        key_bytes: Some(common.key_bytes),
        segments: vec![common.segment()],
        hash: Some(common.hash),
        slots,
        tokens: Vec::new(),
        flags: Vec::new(),
        requirements: Vec::new(),
    })
}

/// The fields that apply to the data and to every slot.
struct Common {
    /// Specification of the cipher, with its mode.
    cipher: String,
    /// Hash of the key derivation, of the anti-forensic splitter and of the digest.
    hash: String,
    /// First sector of the data.
    payload: u32,
    key_bytes: u32,
}

impl Common {
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let cipher = named_text(bytes, "cipher", 8, 32)?;
        let mode = named_text(bytes, "cipher mode", 40, 32)?;
        let hash = named_text(bytes, "hash", 72, 32)?;
        if cipher.is_empty() || hash.is_empty() {
            return Err("it names no cipher or no hash".to_owned());
        }
        let payload = be32(bytes, 104).ok_or(CUT_OFF)?;
        let key_bytes = be32(bytes, 108).ok_or(CUT_OFF)?;
        if key_bytes == 0 || key_bytes > MAX_KEY_BYTES {
            return Err(format!("its key has {key_bytes} bytes"));
        }
        let cipher = if mode.is_empty() { cipher } else { format!("{cipher}-{mode}") };
        Ok(Self { cipher, hash, payload, key_bytes })
    }

    fn slot(&self, id: u32, slot: &Raw) -> Slot {
        Slot {
            id,
            kind: KEY_SLOT.to_owned(),
            key_bytes: self.key_bytes,
            area_cipher: self.cipher.clone(),
            area_offset: sectors(slot.area_sector),
            area_bytes: area_bytes(self.key_bytes),
            kdf: Some(Kdf::Pbkdf2 { hash: self.hash.to_lowercase(), iterations: slot.iterations.into() }),
            salt: slot.salt.to_vec(),
            splitter_hash: Some(self.hash.to_lowercase()),
            ignored: false,
            preferred: false,
        }
    }

    /// The digest of the volume key, which all slots hold.
    fn digest(&self, bytes: &[u8], slots: &[Slot]) -> Result<Digest, String> {
        let digest = array::<20>(bytes, 112).ok_or(CUT_OFF)?;
        let salt = array::<32>(bytes, 132).ok_or(CUT_OFF)?;
        Ok(Digest {
            id: 0,
            hash: Some(self.hash.to_lowercase()),
            iterations: be32(bytes, 164).ok_or(CUT_OFF)?.into(),
            proof: (salt.to_vec(), digest.to_vec()),
            slots: slots.iter().map(|slot| slot.id).collect(),
            segments: vec![0],
        })
    }

    fn segment(&self) -> Segment {
        Segment {
            id: 0,
            kind: "crypt".to_owned(),
            cipher: self.cipher.clone(),
            sector_bytes: 512,
            offset: sectors(self.payload),
            size: None,
            integrity: None,
            flags: Vec::new(),
        }
    }
}

fn named_text(bytes: &[u8], name: &str, at: usize, length: usize) -> Result<String, String> {
    text(bytes, at, length).map_err(|why| format!("its {name} {why}"))
}

fn slot(bytes: &[u8], id: usize) -> Result<Raw, String> {
    let at = id.saturating_mul(48).saturating_add(208);
    let field = |offset: usize| be32(bytes, at.saturating_add(offset)).ok_or(CUT_OFF);
    let active = match field(0)? {
        ENABLED => true,
        DISABLED => false,
        other => return Err(format!("slot {id} is neither in use nor free ({other:#010x})")),
    };
    let stripes = field(44)?;
    if u64::from(stripes) != STRIPES {
        return Err(format!("slot {id} has {stripes} stripes in place of {STRIPES}"));
    }
    let salt = array(bytes, at.saturating_add(8)).ok_or(CUT_OFF)?;
    Ok(Raw { active, iterations: field(4)?, salt, area_sector: field(40)? })
}

/// Checks that the areas of all slots, including free ones, lie after the header and before the data, and do not
/// overlap.
fn check_areas(slots: &[Raw], payload: u32, area_bytes: u64) -> Result<(), String> {
    let mut areas: Vec<(u64, usize)> =
        slots.iter().enumerate().map(|(id, slot)| (sectors(slot.area_sector), id)).collect();
    areas.sort_unstable();
    let mut free_from = HEADER_BYTES;
    for (offset, id) in areas {
        let end = offset.saturating_add(area_bytes);
        if offset < free_from {
            return Err(format!("the area of slot {id} overlaps another or the header"));
        }
        if payload != 0 && end > sectors(payload) {
            return Err(format!("the area of slot {id} reaches into the data or beyond"));
        }
        free_from = end;
    }
    Ok(())
}

/// Bytes of a slot's key material, rounded up to whole sectors.
fn area_bytes(key_bytes: u32) -> u64 {
    u64::from(key_bytes).saturating_mul(STRIPES).next_multiple_of(SECTOR_BYTES)
}

/// Bytes up to the end of the last area, in whole pages, as in cryptsetup's header backups.
fn header_bytes(slots: &[Raw], area_bytes: u64) -> u64 {
    let last = slots.iter().map(|slot| sectors(slot.area_sector)).max().unwrap_or(HEADER_BYTES);
    last.saturating_add(area_bytes).next_multiple_of(4096)
}

fn sectors(count: u32) -> u64 {
    u64::from(count).saturating_mul(SECTOR_BYTES)
}
