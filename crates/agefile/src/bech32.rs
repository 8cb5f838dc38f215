//! Bech32 of 32-byte keys: a prefix, `1`, the bytes five bits at a time, and a checksum of six characters.
//!
//! Source: BIP-0173 ("Base32 address format for native v0-16 witness outputs"). Its limit of 90 characters is met: a
//! secret key of age has 74, a recipient 62.

use zeroize::Zeroizing;

use crate::error::KeyFault;

/// Length of a key.
pub(crate) const KEY_BYTES: usize = 32;

const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const SEPARATOR: char = '1';
const CHECKSUM_CHARS: usize = 6;
/// 256 bits in groups of five: 51, and one bit in the last group.
const DATA_CHARS: usize = 52;

/// The key as text, in lower case.
pub(crate) fn encode(prefix: &str, key: &[u8; KEY_BYTES]) -> Zeroizing<String> {
    let prefix = prefix.to_ascii_lowercase();
    let groups = groups(key);
    let sum = checksum(&prefix, groups.as_ref()) ^ 1;
    // One allocation, so that no copy of a secret is left behind.
    let mut text = Zeroizing::new(String::with_capacity(prefix.len().saturating_add(1 + DATA_CHARS + CHECKSUM_CHARS)));
    text.push_str(&prefix);
    text.push(SEPARATOR);
    let check = [25_u32, 20, 15, 10, 5, 0].map(|shift| low_five_bits(sum >> shift));
    text.extend(groups.iter().chain(&check).map(|group| character(*group)));
    text
}

/// Reads a key with the given prefix, all in upper or all in lower case.
pub(crate) fn decode(prefix: &'static str, text: &str) -> Result<Zeroizing<[u8; KEY_BYTES]>, KeyFault> {
    let wrong_prefix = KeyFault::Prefix { expected: prefix };
    let (found, data) = text.rsplit_once(SEPARATOR).ok_or(wrong_prefix)?;
    if !found.eq_ignore_ascii_case(prefix) {
        return Err(wrong_prefix);
    }
    let lower = text.bytes().any(|byte| byte.is_ascii_lowercase());
    if lower && text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(KeyFault::MixedCase);
    }
    let mut groups = Zeroizing::new([0_u8; DATA_CHARS + CHECKSUM_CHARS]);
    if data.chars().count() != groups.len() {
        return Err(KeyFault::Length);
    }
    for (group, char) in groups.iter_mut().zip(data.chars()) {
        *group = value(char).ok_or(KeyFault::Character)?;
    }
    let residue = polymod(expanded(&prefix.to_ascii_lowercase()).chain(groups.iter().copied()));
    let (data, _) = groups.split_at(DATA_CHARS);
    if residue != 1 {
        return Err(KeyFault::Checksum);
    }
    bytes(data).ok_or(KeyFault::Length)
}

fn character(group: u8) -> char {
    ALPHABET.get(usize::from(group)).copied().map_or('q', char::from)
}

fn value(char: char) -> Option<u8> {
    let char = char.to_ascii_lowercase();
    let at = ALPHABET.iter().position(|known| char::from(*known) == char)?;
    u8::try_from(at).ok()
}

/// The lowest `bits` bits: a value below 32.
fn low_bits(value: u32, bits: u32) -> u32 {
    value & !(u32::MAX << bits)
}

fn low_five_bits(value: u32) -> u8 {
    u8::try_from(value & 31).unwrap_or_default()
}

/// Groups of five bits, the highest first; the last group is padded with zeros.
fn groups(key: &[u8; KEY_BYTES]) -> Zeroizing<[u8; DATA_CHARS]> {
    let mut groups = Zeroizing::new([0; DATA_CHARS]);
    let (mut held, mut bits) = (0_u32, 0_u32);
    let mut bytes = key.iter();
    for group in groups.iter_mut() {
        if bits < 5 {
            held = (held << 8) | u32::from(bytes.next().copied().unwrap_or_default());
            bits = bits.saturating_add(8);
        }
        bits = bits.saturating_sub(5);
        *group = low_five_bits(held >> bits);
        held = low_bits(held, bits);
    }
    groups
}

/// The reverse of [`groups`]; `None` if the padding is not zero.
fn bytes(groups: &[u8]) -> Option<Zeroizing<[u8; KEY_BYTES]>> {
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    let (mut held, mut bits) = (0_u32, 0_u32);
    let mut locations = key.iter_mut();
    for group in groups {
        held = (held << 5) | u32::from(*group);
        bits = bits.saturating_add(5);
        if bits >= 8 {
            bits = bits.saturating_sub(8);
            *locations.next()? = u8::try_from(held >> bits).ok()?;
            held = low_bits(held, bits);
        }
    }
    (held == 0).then_some(key)
}

/// The prefix as input of the checksum: the high bits of each character, a zero, the low bits.
fn expanded(prefix: &str) -> impl Iterator<Item = u8> {
    let high = prefix.bytes().map(|byte| byte >> 5);
    high.chain([0]).chain(prefix.bytes().map(|byte| byte & 31))
}

fn checksum(prefix: &str, groups: &[u8]) -> u32 {
    let zeros = [0; CHECKSUM_CHARS];
    polymod(expanded(prefix).chain(groups.iter().copied()).chain(zeros))
}

/// Remainder modulo the generator polynomial, over groups of five bits.
fn polymod(values: impl Iterator<Item = u8>) -> u32 {
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    values.fold(1, |sum, value| {
        let shifted = ((sum & 0x01ff_ffff) << 5) ^ u32::from(value);
        let top = sum >> 25;
        let terms = GENERATOR.iter().enumerate().filter(|(bit, _)| top >> bit & 1 == 1);
        terms.fold(shifted, |sum, (_, term)| sum ^ term)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BIP-0173, "Test vectors", segregated witness programs: not 32 bytes with age's prefixes, but the same checksum.
    #[test]
    fn the_checksum_is_that_of_the_standard() {
        for (prefix, data) in [
            ("a", "2uel5l"),
            ("an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio", "tt5tgs"),
            ("abcdef", "qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw"),
            ("split", "checkupstagehandshakeupstreamerranterredcaperred2y9e3w"),
            ("?", "ezyfcl"),
        ] {
            let values = data.chars().map(|char| value(char).unwrap());
            assert_eq!(polymod(expanded(prefix).chain(values)), 1, "{prefix}1{data}");
        }
    }

    #[test]
    fn the_specifications_keys_are_read_and_written() {
        let recipient = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";
        let identity = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
        assert_eq!(encode("age", &decode("age", recipient).unwrap()).as_str(), recipient);
        let key = decode("AGE-SECRET-KEY-", identity).unwrap();
        assert_eq!(*key, [0x42; KEY_BYTES]);
        assert_eq!(encode("AGE-SECRET-KEY-", &key).to_ascii_uppercase(), identity);
    }

    #[test]
    fn either_case_is_read_but_not_both() {
        let text = encode("age", &[0xa5; KEY_BYTES]);
        assert_eq!(*decode("age", &text.to_ascii_uppercase()).unwrap(), [0xa5; KEY_BYTES]);
        assert_eq!(decode("age", &text.replacen("age", "Age", 1)), Err(KeyFault::MixedCase));
        assert_eq!(decode("age", &text.replacen("age", "AGE", 1)), Err(KeyFault::MixedCase));
    }

    #[test]
    fn every_malformed_text_is_refused_for_its_reason() {
        let good = encode("age", &[7; KEY_BYTES]);
        let prefix = KeyFault::Prefix { expected: "age" };
        for (text, expected) in [
            ("", prefix),
            ("age", prefix),
            (encode("cage", &[7; KEY_BYTES]).as_str(), prefix),
            (encode("age1pq", &[7; KEY_BYTES]).as_str(), prefix),
            ("age1", KeyFault::Length),
            (good.get(..61).unwrap(), KeyFault::Length),
            (&format!("{}q", *good), KeyFault::Length),
            (&good.replacen(good.get(10..11).unwrap(), "b", 1), KeyFault::Character),
            (&format!("{}é", good.get(..61).unwrap()), KeyFault::Character),
            (&format!("{} ", good.get(..61).unwrap()), KeyFault::Character),
        ] {
            assert_eq!(decode("age", text), Err(expected), "{text}");
        }
    }

    #[test]
    fn a_wrong_character_anywhere_is_detected() {
        let good = encode("age", &[7; KEY_BYTES]);
        for at in 4..good.len() {
            let mut bad = good.as_bytes().to_vec();
            bad[at] = if bad[at] == b'q' { b'p' } else { b'q' };
            assert_eq!(decode("age", std::str::from_utf8(&bad).unwrap()), Err(KeyFault::Checksum), "{at}");
        }
    }

    #[test]
    fn padding_bits_of_the_last_group_must_be_zero() {
        let mut groups = groups(&[7; KEY_BYTES]);
        groups[DATA_CHARS - 1] |= 1;
        let sum = checksum("age", groups.as_ref()) ^ 1;
        let check = [25, 20, 15, 10, 5, 0].map(|shift| low_five_bits(sum >> shift));
        let data: String = groups.iter().chain(&check).map(|group| character(*group)).collect();
        assert_eq!(decode("age", &format!("age1{data}")), Err(KeyFault::Length));
    }
}
