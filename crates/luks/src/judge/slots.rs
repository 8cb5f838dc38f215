//! Judges key slots: the cost of guessing a passphrase, which data each slot opens, and damage of the key material.

use std::collections::BTreeSet;

use super::Details;
use crate::Error;
use crate::cipher::Cipher;
use crate::finding::{Code, Finding};
use crate::kdf::Kdf;
use crate::luks1;
use crate::material;
use crate::volume::{Format, Slot, Volume};
use files::ReadAt;

/// Judges what the header states about its slots.
pub(super) fn judge(volume: &Volume) -> Vec<Finding> {
    let keys: Vec<&Slot> = volume.slots.iter().filter(|slot| slot.holds_key()).collect();
    [derivations(volume, &keys), hashes(volume, &keys), single(volume, &keys), counts(volume, &keys)].concat()
}

fn derivations(volume: &Volume, keys: &[&Slot]) -> Vec<Finding> {
    let (mut weak, mut pbkdf2) = (Details::new(Code::KdfWeak), Details::new(Code::KdfPbkdf2));
    for slot in keys {
        let Some(kdf) = &slot.kdf else { continue };
        if let Some(why) = kdf.weakness() {
            weak.add(format!("slot {}: {why}", slot.id));
        } else if volume.format == Format::Luks2 && matches!(kdf, Kdf::Pbkdf2 { .. }) {
            pbkdf2.add(format!("slot {}", slot.id));
        }
    }
    let weak = weak.finding(
        "too cheap to protect a passphrase, but harmless for a random key file; change it with \
         `cryptsetup luksConvertKey`",
    );
    let pbkdf2 = pbkdf2.finding("PBKDF2 needs no memory to guess; Argon2id does");
    weak.into_iter().chain(pbkdf2).collect()
}

fn hashes(volume: &Volume, keys: &[&Slot]) -> Vec<Finding> {
    let (mut sha1, mut legacy) = (Details::new(Code::HashSha1), Details::new(Code::HashLegacy));
    let mut note = |hash: &str, detail: String| {
        if hash == "sha1" {
            sha1.add(detail);
        } else if ["ripemd160", "rmd160", "whirlpool", "wp512", "wp384", "wp256"]
            .iter()
            .any(|old| hash.starts_with(old))
        {
            legacy.add(format!("{detail} ({hash})"));
        }
    };
    for slot in keys {
        for hash in slot.kdf.as_ref().and_then(Kdf::hash).into_iter().chain(slot.splitter_hash.as_deref()) {
            note(hash, format!("slot {}", slot.id));
        }
    }
    for digest in &volume.digests {
        if let Some(hash) = &digest.hash {
            note(hash, format!("digest {}", digest.id));
        }
    }
    let advice = "a new LUKS2 header uses SHA-256";
    sha1.finding(advice).into_iter().chain(legacy.finding(advice)).collect()
}

/// Unusual properties of single slots.
fn single(volume: &Volume, keys: &[&Slot]) -> Vec<Finding> {
    let (mut null, mut ignored, mut unbound) =
        (Details::new(Code::KeyslotNull), Details::new(Code::SlotIgnored), Details::new(Code::UnboundSlot));
    for slot in keys {
        let name = format!("slot {}", slot.id);
        // A LUKS1 slot uses the cipher of the data, which is judged there.
        if volume.format == Format::Luks2 && Cipher::parse(&slot.area_cipher).is_null() {
            null.add(name.clone());
        }
        if slot.ignored {
            ignored.add(name.clone());
        }
        let bound = volume.digests.iter().any(|digest| digest.slots.contains(&slot.id) && !digest.segments.is_empty());
        if !bound && !volume.reencrypting() {
            unbound.add(name);
        }
    }
    let found = [
        null.finding("the volume key is stored there in plaintext"),
        ignored.finding("opens only when it is selected"),
        unbound.finding("holds a key that encrypts no data"),
    ];
    found.into_iter().flatten().collect()
}

fn counts(volume: &Volume, keys: &[&Slot]) -> Vec<Finding> {
    let mut found = Vec::new();
    let opening = opening(volume);
    match opening.len() {
        0 if has_crypt(volume) => {
            found
                .push(Finding::new(Code::NoSlot, "no key slot opens the data; only a header backup can bring it back"));
        }
        1 if !volume.reencrypting() => {
            let id = opening.first().copied().unwrap_or_default();
            found.push(Finding::new(Code::OneSlot, format!("only slot {id} opens the data; add a recovery key")));
        }
        _ => {}
    }
    if volume.format == Format::Luks1 && keys.len() >= luks1::SLOTS {
        found.push(Finding::new(Code::SlotsFull, "all eight slots are in use: remove a key before you add another"));
    }
    found
}

/// Slots that open data. During a re-encryption, those of the old and the planned segments count too: a first
/// encryption starts without any encrypted live segment.
fn opening(volume: &Volume) -> BTreeSet<u32> {
    let encrypted = |id: &u32| {
        volume
            .segments
            .iter()
            .any(|segment| segment.id == *id && segment.is_crypt() && (!segment.is_backup() || volume.reencrypting()))
    };
    let digests = volume.digests.iter().filter(|digest| digest.segments.iter().any(encrypted));
    digests.flat_map(|digest| volume.slots_of(digest)).map(|slot| slot.id).collect()
}

fn has_crypt(volume: &Volume) -> bool {
    volume.segments.iter().any(|segment| segment.is_crypt() && (!segment.is_backup() || volume.reencrypting()))
}

/// Slots whose key material was overwritten.
pub(super) fn damaged(source: &dyn ReadAt, volume: &Volume) -> Result<Option<Finding>, Error> {
    let mut details = Details::new(Code::KeyslotAreaDamaged);
    for slot in volume.slots.iter().filter(|slot| slot.holds_key()) {
        if let Some(damage) = material::damage(source, slot).map_err(Error::Read)? {
            details.add(format!("slot {}: {} blocks of 512 bytes from byte {}", slot.id, damage.blocks, damage.first));
        }
    }
    Ok(details.finding("not random, so it was overwritten: this slot no longer opens"))
}

/// Key derivations that would exhaust the machine. None is computed here.
pub(super) fn excesses(volume: &Volume) -> Vec<String> {
    let named = volume.excesses();
    named.map(|what| format!("{what}: opening it may exhaust the machine, and no cryptsetup made it")).collect()
}
