//! Judges how the data is encrypted.

use std::collections::BTreeMap;

use super::{Details, DeviceInfo};
use crate::cipher::{Cipher, mac_key_bytes};
use crate::finding::{Code, Finding};
use crate::volume::{Format, Segment, Volume};

/// Size of 2³² sectors of 512 bytes, after which 32-bit IVs repeat.
const IV_32BIT_BYTES: u64 = 1 << 41;

/// Advice for each code.
const ADVICE: &[(Code, &str)] = &[
    (Code::CipherNull, "the data is readable to everyone; copy it to a new volume"),
    (Code::CipherEcb, "equal blocks stay equal; `cryptsetup reencrypt` to aes-xts-plain64"),
    (Code::CipherCtr, "rewriting a sector reuses its key stream; `cryptsetup reencrypt` to aes-xts-plain64"),
    (
        Code::CipherCbcPredictableIv,
        "the IV is predictable, so that watermarks can be recognised; `cryptsetup reencrypt` to aes-xts-plain64",
    ),
    (Code::CipherLrw, "LRW leaks when its tweak key is on the disk; `cryptsetup reencrypt` to aes-xts-plain64"),
    (Code::CipherCbc, "chosen bits of the data can be flipped; `cryptsetup reencrypt` to aes-xts-plain64"),
    (Code::Iv32BitWrap, "IVs repeat after 2 TiB; `cryptsetup reencrypt` to aes-xts-plain64"),
    (Code::Iv32Bit, "the IV has 32 bits: the volume must not grow beyond 2 TiB"),
    (Code::CipherUnusual, "sound, but the processor's AES instructions are not enough for it"),
    (Code::Key128, "sound"),
    (Code::Integrity, "sectors are authenticated"),
    (Code::Sector512, "each block of the disk is encrypted in eight pieces; 4096-byte sectors cost less"),
];

/// Advice for data that an unfinished re-encryption has not yet encrypted, or has decrypted.
const UNTIL_ENCRYPTED: &str = "readable to everyone until the re-encryption has encrypted it";

/// Judges each encrypted part of the data.
pub(super) fn judge(volume: &Volume, device: &DeviceInfo) -> Vec<Finding> {
    let mut found: BTreeMap<Code, Details> = BTreeMap::new();
    for segment in judged(volume) {
        for (code, detail) in segment_findings(volume, segment, device) {
            found.entry(code).or_insert_with(|| Details::new(code)).add(detail);
        }
    }
    let advice = |code: Code| match code {
        Code::CipherNull if volume.reencrypting() => UNTIL_ENCRYPTED,
        _ => ADVICE.iter().find(|(own, _)| *own == code).map_or("", |(_, advice)| advice),
    };
    found.into_iter().filter_map(|(code, details)| details.finding(advice(code))).collect()
}

/// The segments that hold data now, including unencrypted ones. If a first encryption was prepared but has encrypted
/// nothing yet, also the segments that it will create.
fn judged(volume: &Volume) -> Vec<&Segment> {
    let mut judged: Vec<&Segment> =
        volume.live().filter(|segment| segment.is_crypt() || segment.kind == "linear").collect();
    if volume.reencrypting() && !judged.iter().any(|segment| segment.is_crypt()) {
        let will_be = |segment: &&Segment| segment.is_crypt() && segment.has_flag("backup-final");
        judged.extend(volume.segments.iter().filter(will_be));
    }
    judged
}

fn segment_findings(volume: &Volume, segment: &Segment, device: &DeviceInfo) -> Vec<(Code, String)> {
    let cipher = Cipher::parse(&segment.cipher);
    let mut found = Vec::new();
    if let Some(integrity) = &segment.integrity {
        found.push((Code::Integrity, integrity.kind.clone()));
    }
    if cipher.is_null() || !segment.is_crypt() {
        let name = if segment.is_crypt() {
            segment.cipher.clone()
        } else {
            format!("segment {} is not encrypted", segment.id)
        };
        found.push((Code::CipherNull, name));
        return found;
    }
    let named = |code| (code, segment.cipher.clone());
    found.extend(mode(&cipher).map(named));
    if cipher.iv() == "plain" && !cipher.is_mode("ecb") {
        found.push(iv_32bit(segment, device));
    }
    if !cipher.is_aes() {
        found.push((Code::CipherUnusual, format!("{} ({})", segment.cipher, cipher.algorithm())));
    }
    if key_bytes(volume, segment).any(|bytes| is_128(&cipher, segment, bytes)) {
        found.push((Code::Key128, format!("{} with 128 effective key bits", segment.cipher)));
    }
    let blocks = device.physical_block_bytes.filter(|bytes| segment.sector_bytes == 512 && *bytes >= 4096);
    found.extend(blocks.map(|bytes| (Code::Sector512, format!("512-byte sectors on blocks of {bytes} bytes"))));
    found
}

fn mode(cipher: &Cipher) -> Option<Code> {
    let of_mode = [("ecb", Code::CipherEcb), ("ctr", Code::CipherCtr), ("lrw", Code::CipherLrw)];
    if cipher.is_mode("cbc") {
        return Some(if cipher.iv() == "essiv" { Code::CipherCbc } else { Code::CipherCbcPredictableIv });
    }
    of_mode.into_iter().find(|(mode, _)| cipher.is_mode(mode)).map(|(_, code)| code)
}

fn iv_32bit(segment: &Segment, device: &DeviceInfo) -> (Code, String) {
    let rest = device.device_bytes.map(|bytes| bytes.saturating_sub(segment.offset));
    match segment.size.or(rest).filter(|bytes| *bytes > IV_32BIT_BYTES) {
        Some(bytes) => (Code::Iv32BitWrap, format!("{} over {bytes} bytes", segment.cipher)),
        None => (Code::Iv32Bit, segment.cipher.clone()),
    }
}

/// Lengths of the keys that encrypt this segment.
fn key_bytes<'a>(volume: &'a Volume, segment: &'a Segment) -> impl Iterator<Item = u32> + 'a {
    let of_slots = volume
        .digests
        .iter()
        .filter(|digest| digest.segments.contains(&segment.id))
        .flat_map(|digest| volume.slots_of(digest))
        .map(|slot| slot.key_bytes);
    let of_header = volume.key_bytes.filter(|_| volume.format == Format::Luks1);
    of_header.into_iter().chain(of_slots)
}

fn is_128(cipher: &Cipher, segment: &Segment, key_bytes: u32) -> bool {
    let mac =
        |integrity: &crate::volume::Integrity| integrity.key_bytes.unwrap_or_else(|| mac_key_bytes(&integrity.kind));
    cipher.effective_key_bits(key_bytes, segment.integrity.as_ref().map_or(0, mac)) == 128
}
