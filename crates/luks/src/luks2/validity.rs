//! Rules for JSON metadata beyond its syntax. Later code relies on them.
//!
//! Source: LUKS2 specification, section 3, and what cryptsetup 2.6.1 refuses (seen with damaged headers).

use super::metadata::{Id, Keyslot, Metadata, SegmentJson, Size};
use super::{COPY_BYTES, MAX_OBJECTS};
use crate::luks2::copy::BINARY_BYTES;
use crate::material::STRIPES;
use crate::volume::is_reencryption;

/// Maximum size of all key slots together. Source: `LUKS2_MAX_KEYSLOTS_SIZE`.
const MAX_KEYSLOTS_BYTES: u64 = 128 << 20;

type Validity = Result<(), String>;

/// Checks the metadata of a copy of `copy_bytes`. The error names the broken rule.
pub(super) fn check(metadata: &Metadata, copy_bytes: u64) -> Validity {
    check_counts(metadata)?;
    check_config(metadata, copy_bytes)?;
    check_references(metadata)?;
    check_segments(metadata)?;
    check_keyslots(metadata)?;
    check_areas(metadata, copy_bytes)?;
    check_reencryption(metadata)
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Validity {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn check_counts(metadata: &Metadata) -> Validity {
    let counts = [
        ("keyslots", metadata.keyslots.len()),
        ("tokens", metadata.tokens.len()),
        ("segments", metadata.segments.len()),
        ("digests", metadata.digests.len()),
    ];
    for (name, count) in counts {
        ensure(count <= MAX_OBJECTS, || format!("it has {count} {name}, more than {MAX_OBJECTS}"))?;
    }
    ensure(!metadata.segments.is_empty(), || "it has no segment".to_owned())
}

fn check_config(metadata: &Metadata, copy_bytes: u64) -> Validity {
    let config = &metadata.config;
    let binary = u64::try_from(BINARY_BYTES).unwrap_or(u64::MAX);
    ensure(config.json_size.0.saturating_add(binary) == copy_bytes && COPY_BYTES.contains(&copy_bytes), || {
        format!("its JSON area has {} bytes, which does not fit a header of {copy_bytes}", config.json_size.0)
    })?;
    let keyslots = config.keyslots_size.0;
    ensure(keyslots <= MAX_KEYSLOTS_BYTES && keyslots.is_multiple_of(4096), || {
        format!("its key slots take {keyslots} bytes")
    })?;
    let end = copy_bytes.saturating_mul(2).saturating_add(keyslots);
    let first = metadata.segments.values().filter(|segment| !segment.is_backup()).map(|segment| segment.offset.0).min();
    ensure(first.is_none_or(|first| first == 0 || first >= end), || {
        format!("its key slots reach to byte {end}, into the data")
    })
}

fn check_references(metadata: &Metadata) -> Validity {
    let slot = |id: &Id| metadata.keyslots.contains_key(id);
    let segment = |id: &Id| metadata.segments.contains_key(id);
    for (id, token) in &metadata.tokens {
        ensure(token.keyslots.iter().all(slot), || format!("token {} names a key slot that is not there", id.0))?;
    }
    for (id, digest) in &metadata.digests {
        ensure(digest.keyslots.iter().all(slot), || format!("digest {} names a key slot that is not there", id.0))?;
        ensure(digest.segments.iter().all(segment), || format!("digest {} names a segment that is not there", id.0))?;
        let complete =
            digest.hash.is_some() && digest.iterations.is_some() && digest.salt.is_some() && digest.digest.is_some();
        ensure(complete || digest.kind != "pbkdf2", || format!("digest {} is not complete", id.0))?;
    }
    Ok(())
}

fn check_segments(metadata: &Metadata) -> Validity {
    let mut seen_backup = false;
    for (expected, (id, segment)) in (0..).zip(&metadata.segments) {
        let id = id.0;
        ensure(id == expected, || format!("segment {expected} is missing"))?;
        check_segment(metadata, id, segment)?;
        ensure(segment.is_backup() || !seen_backup, || format!("segment {id} comes after those of a re-encryption"))?;
        seen_backup |= segment.is_backup();
    }
    let live = metadata.segments.iter().filter(|(_, segment)| !segment.is_backup());
    let live: Vec<(u32, &SegmentJson)> = live.map(|(id, segment)| (id.0, segment)).collect();
    ensure(!live.is_empty(), || "it has no segment of data".to_owned())?;
    check_apart(live)
}

/// Checks that live segments do not overlap. The segments of a re-encryption (`backup-…`) describe the same bytes
/// before and after, so they do not count. Segments need not be in the order of their offsets: for data that is
/// encrypted or decrypted in place with a shift, the first part is stored elsewhere, mostly after all others, until it
/// is processed. Source: `validate_segment_intervals` of cryptsetup; seen with 2.6.1 (`backup-moved-segment`).
fn check_apart(mut live: Vec<(u32, &SegmentJson)>) -> Validity {
    let last = live.last().map(|(id, _)| *id);
    let open_end = live.iter().find(|(id, segment)| segment.size == Size::Dynamic && Some(*id) != last);
    ensure(open_end.is_none(), || "a segment before the last one has no end".to_owned())?;
    live.sort_by_key(|(_, segment)| segment.offset);
    let mut free_from = Some(0);
    for (id, segment) in live {
        ensure(free_from.is_some_and(|free| segment.offset.0 >= free), || format!("segment {id} overlaps another"))?;
        free_from = match segment.size {
            Size::Dynamic => None,
            Size::Bytes(bytes) => segment.offset.0.checked_add(bytes),
        };
    }
    Ok(())
}

fn check_segment(metadata: &Metadata, id: u32, segment: &SegmentJson) -> Validity {
    let size = match segment.size {
        Size::Dynamic => 512,
        Size::Bytes(bytes) => bytes,
    };
    let end = segment.offset.0.checked_add(size);
    let aligned = segment.offset.0.is_multiple_of(512) && size.is_multiple_of(512);
    ensure(size > 0 && aligned && end.is_some(), || format!("segment {id} has an impossible offset or size"))?;
    if segment.kind != "crypt" && segment.kind != "hw-opal-crypt" {
        return Ok(());
    }
    let named = segment.encryption.as_deref().is_some_and(|cipher| !cipher.is_empty()) && segment.iv_tweak.is_some();
    ensure(named, || format!("segment {id} names no cipher or no IV"))?;
    let sector = segment.sector_size.unwrap_or_default();
    let fits = matches!(segment.size, Size::Dynamic) || size.is_multiple_of(u64::from(sector.max(1)));
    ensure([512, 1024, 2048, 4096].contains(&sector) && fits, || {
        format!("segment {id} has sectors of {sector} bytes")
    })?;
    let proven = metadata.digests.values().any(|digest| digest.segments.contains(&Id(id)));
    ensure(proven, || format!("segment {id} has no digest"))
}

fn check_keyslots(metadata: &Metadata) -> Validity {
    for (id, slot) in &metadata.keyslots {
        if !slot.holds_key() {
            continue;
        }
        let digests = metadata.digests.values().filter(|digest| digest.keyslots.contains(id)).count();
        // A slot without a digest belongs to no segment; cryptsetup 2.6.1 opens such a volume by its other slots.
        ensure(digests <= 1, || format!("key slot {} has {digests} digests instead of one", id.0))?;
        check_key_slot(slot).map_err(|what| format!("key slot {} {what}", id.0))?;
    }
    Ok(())
}

fn check_key_slot(slot: &Keyslot) -> Validity {
    let (Some(kdf), Some(splitter)) = (&slot.kdf, &slot.af) else {
        return Err("has no key derivation or no splitter".to_owned());
    };
    let complete = match kdf.kind.as_str() {
        "pbkdf2" => kdf.hash.is_some() && kdf.iterations.is_some(),
        "argon2i" | "argon2id" => kdf.time.is_some() && kdf.memory.is_some() && kdf.cpus.is_some(),
        _ => true,
    };
    ensure(complete && kdf.salt.is_some(), || "has a key derivation that is not complete".to_owned())?;
    let split = splitter.kind == "luks1" && splitter.hash.is_some() && splitter.stripes == Some(STRIPES);
    ensure(split, || format!("is not split into {STRIPES} stripes"))?;
    let raw = slot.area.kind == "raw" && slot.area.key_size.is_some();
    ensure(raw && slot.area.encryption.is_some(), || "has an area without a cipher".to_owned())?;
    let needed = u64::from(slot.key_size).saturating_mul(STRIPES);
    ensure(slot.key_size > 0 && needed <= slot.area.size.0, || {
        format!("holds a key of {} bytes in an area of {}", slot.key_size, slot.area.size.0)
    })
}

fn check_areas(metadata: &Metadata, copy_bytes: u64) -> Validity {
    let first = copy_bytes.saturating_mul(2);
    let end = first.saturating_add(metadata.config.keyslots_size.0);
    let mut areas: Vec<(u64, u64, u32)> =
        metadata.keyslots.iter().map(|(id, slot)| (slot.area.offset.0, slot.area.size.0, id.0)).collect();
    areas.sort_unstable();
    let mut free_from = first;
    for (offset, bytes, id) in areas {
        ensure(bytes > 0 && offset >= free_from, || {
            format!("the area of key slot {id} overlaps another or the metadata")
        })?;
        free_from = offset.saturating_add(bytes);
        ensure(free_from <= end, || format!("the area of key slot {id} reaches beyond the key slots"))?;
    }
    Ok(())
}

/// Checks that an online re-encryption has a slot of its own, and segments that describe the data before and after.
fn check_reencryption(metadata: &Metadata) -> Validity {
    let requirements = &metadata.config.requirements.mandatory;
    let marks = requirements.iter().filter(|name| is_reencryption(name) && name.starts_with("online")).count();
    let slots: Vec<&Keyslot> = metadata.keyslots.values().filter(|slot| slot.kind == "reencrypt").collect();
    ensure(slots.len() == marks && marks <= 1, || {
        format!("it has {} slots of a re-encryption and {marks} requirements of one", slots.len())
    })?;
    if let Some(slot) = slots.first() {
        let mode = matches!(slot.mode.as_deref(), Some("reencrypt" | "encrypt" | "decrypt"));
        let direction = matches!(slot.direction.as_deref(), Some("forward" | "backward"));
        ensure(mode && direction && slot.key_size == 1, || "its re-encryption slot is invalid".to_owned())?;
        let flagged =
            |flag: &str| metadata.segments.values().any(|segment| segment.flags.iter().any(|current| current == flag));
        ensure(flagged("backup-final") && flagged("backup-previous"), || {
            "a segment of its re-encryption is missing".to_owned()
        })?;
    }
    Ok(())
}
