//! `keyring_file` plug-in (MySQL 5.7.11 to 8.3): records with binary length fields, keys XORed with a public constant.
//!
//! Source: docs/formats, "`keyring_file` plug-in". 64-bit little-endian is confirmed on testdata; other widths and byte
//! orders are from the plug-in's source.

use aws_lc_rs::digest::{SHA256, digest};
use zeroize::Zeroizing;

use crate::{
    record::{Material, NewKey, Parsed, Record},
    stored_key::StoredKey,
    summary::{Damage, StoreKind, StoreSummary},
};

const HEADER_BYTES: usize = 24;
const END: &[u8] = b"EOF";
/// A keyring without keys, as MySQL 5.7 writes it.
const EMPTY: &[u8] = b"Keyring file version:1.0EOF";
const HASH_BYTES: usize = 32;

/// The constant that obfuscates keys, from the server's source.
const OBFUSCATION: &[u8; 24] = b"*305=Ljt0*!@$Hnm(*-9-w;:";

/// Parses a file. If it is damaged, returns the records before the damage.
pub(crate) fn parse(bytes: &[u8], kind: StoreKind) -> Parsed<'_> {
    let body = bytes.get(HEADER_BYTES..).unwrap_or_default();
    let tail_bytes = match kind {
        StoreKind::PluginFileV2 => END.len().saturating_add(HASH_BYTES),
        _ => END.len(),
    };
    let parts = body.len().checked_sub(tail_bytes).and_then(|split| body.split_at_checked(split));
    let Some((records, hash)) = parts.and_then(|(records, tail)| Some((records, tail.strip_prefix(END)?))) else {
        let (records, _) = Layout::SERVERS.records(body);
        return Parsed { records, damage: vec![Damage::Truncated], checksum_ok: None };
    };
    let mut damage = Vec::new();
    let checksum_ok = (kind == StoreKind::PluginFileV2).then(|| digest(&SHA256, records).as_ref() == hash);
    if checksum_ok == Some(false) {
        damage.push(Damage::Checksum);
    }
    let (found, end) = Layout::ALL
        .iter()
        .map(|layout| layout.records(records))
        .find(|(_, end)| *end == records.len())
        .unwrap_or_else(|| Layout::SERVERS.records(records));
    if end != records.len() {
        let at = u64::try_from(end.saturating_add(HEADER_BYTES)).unwrap_or(u64::MAX);
        damage.push(Damage::Malformed { at });
    }
    Parsed { records: found, damage, checksum_ok }
}

/// The file with one more key; a new file, as MySQL 5.7 writes it, if `before` is empty. `None` if the
/// file is damaged, or from a machine with another word size or byte order.
pub(crate) fn with_key(before: &[u8], kind: StoreKind, key: NewKey<'_>) -> Option<Zeroizing<Vec<u8>>> {
    let before = if before.is_empty() { EMPTY } else { before };
    let (header, body) = before.split_at_checked(HEADER_BYTES)?;
    let has_hash = kind == StoreKind::PluginFileV2;
    let tail_bytes = if has_hash { END.len().saturating_add(HASH_BYTES) } else { END.len() };
    let records = body.get(..body.len().checked_sub(tail_bytes)?)?;
    let is_sound = parse(before, kind).damage.is_empty() && Layout::SERVERS.records(records).1 == records.len();
    let record = new_record(key).filter(|_| is_sound)?;
    // Allocated once: reallocation would leave keys in memory.
    let capacity = before.len().saturating_add(record.len());
    let mut after = Zeroizing::new(Vec::with_capacity(capacity));
    after.extend(header);
    after.extend(records);
    after.extend(record.iter());
    let hash = digest(&SHA256, after.get(HEADER_BYTES..)?);
    after.extend(END);
    if has_hash {
        after.extend(hash.as_ref());
    }
    Some(after)
}

/// A new file with these keys, as MySQL 5.7 writes it; `None` if one is too long.
pub(crate) fn with_keys(keys: &[StoredKey]) -> Option<Zeroizing<Vec<u8>>> {
    let empty = Zeroizing::new(EMPTY.to_vec());
    keys.iter().try_fold(empty, |bytes, key| with_key(&bytes, StoreKind::PluginFileV1, key.as_new()))
}

/// A record, padded to the word size.
fn new_record(key: NewKey<'_>) -> Option<Zeroizing<Vec<u8>>> {
    const WIDTH: usize = 8;
    let NewKey { name, user, key_type, key } = key;
    let parts = [name.len(), key_type.len(), user.len(), key.len()];
    let bytes = parts.into_iter().try_fold(5 * WIDTH, usize::checked_add)?.checked_next_multiple_of(WIDTH)?;
    let mut record = Zeroizing::new(Vec::with_capacity(bytes));
    for length in std::iter::once(bytes).chain(parts) {
        record.extend(u64::try_from(length).ok()?.to_le_bytes());
    }
    for text in [name, key_type, user] {
        record.extend(text.as_bytes());
    }
    record.extend(key.iter().zip(OBFUSCATION.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    record.resize(bytes, 0);
    Some(record)
}

pub(crate) fn inspect(bytes: &[u8], kind: StoreKind) -> StoreSummary {
    parse(bytes, kind).summary(kind)
}

/// Width and byte order of lengths: those of the machine that wrote the file.
#[derive(Clone, Copy)]
struct Layout {
    wide: bool,
    little: bool,
}

impl Layout {
    const SERVERS: Self = Self { wide: true, little: true };
    const ALL: [Self; 4] = [
        Self::SERVERS,
        Self { wide: true, little: false },
        Self { wide: false, little: true },
        Self { wide: false, little: false },
    ];

    /// The readable records, and the offset of the first unreadable one.
    fn records(self, bytes: &[u8]) -> (Vec<Record<'_>>, usize) {
        let mut records = Vec::new();
        let mut at = 0;
        while let Some((record, next)) = bytes.get(at..).and_then(|rest| self.record(rest)) {
            records.push(record);
            at = usize::saturating_add(at, next);
        }
        (records, at)
    }

    fn record(self, bytes: &[u8]) -> Option<(Record<'_>, usize)> {
        let width = if self.wide { 8 } else { 4 };
        let fields = 5_usize.checked_mul(width)?;
        let mut lengths = [0_usize; 5];
        for (length, at) in lengths.iter_mut().zip((0..).step_by(width)) {
            *length = self.length(bytes.get(at..)?)?;
        }
        let [total, id, key_type, user, key] = lengths;
        let content = bytes.get(fields..total)?;
        let (id, rest) = content.split_at_checked(id)?;
        let (key_type, rest) = rest.split_at_checked(key_type)?;
        let (user, rest) = rest.split_at_checked(user)?;
        // Version 1.0 has no checksum: check that the record's length is the padded sum of its parts.
        let parts = [id.len(), key_type.len(), user.len(), key].into_iter().try_fold(fields, usize::checked_add)?;
        if parts.checked_next_multiple_of(width)? != total {
            return None;
        }
        let material = Some(Material::Masked(rest.get(..key)?, OBFUSCATION));
        let is_utf8 = [id, user, key_type].into_iter().all(|bytes| std::str::from_utf8(bytes).is_ok());
        let record = Record { id: text(id), user: text(user), key_type: text(key_type), is_utf8, material };
        Some((record, total))
    }

    fn length(self, bytes: &[u8]) -> Option<usize> {
        let length = if self.wide {
            let bytes = *bytes.first_chunk::<8>()?;
            if self.little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) }
        } else {
            let bytes = *bytes.first_chunk::<4>()?;
            u64::from(if self.little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
        };
        usize::try_from(length).ok()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::InvalidReason;

    fn record(wide: bool, little: bool) -> Vec<u8> {
        let id = b"INNODBKey-u-1";
        let length = |value: u64| -> Vec<u8> {
            let narrow = u32::try_from(value).unwrap();
            match (wide, little) {
                (true, true) => value.to_le_bytes().to_vec(),
                (true, false) => value.to_be_bytes().to_vec(),
                (false, true) => narrow.to_le_bytes().to_vec(),
                (false, false) => narrow.to_be_bytes().to_vec(),
            }
        };
        let total = if wide { 88 } else { 68 };
        let mut out = Vec::new();
        for value in [total, 13, 3, 0, 32] {
            out.extend(length(value));
        }
        out.extend(id);
        out.extend(b"AES");
        out.resize(usize::try_from(total).unwrap(), 0);
        out
    }

    fn sample(name: &str) -> Vec<u8> {
        std::fs::read(format!("{}/../../testdata/keyring/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn keys_are_written_as_the_server_writes_them() {
        let bytes = sample("percona5722-plugin-file-v1.0");
        let server = crate::MysqlKeyring::load(&bytes).unwrap();
        let mut current = Zeroizing::new(Vec::new());
        for entry in crate::inspect(&bytes).unwrap().entries {
            let key = server.get(&entry.id).unwrap();
            current =
                with_key(&current, StoreKind::PluginFileV1, NewKey::of_server(&entry.id, key.as_bytes())).unwrap();
        }
        assert!(current.as_slice() == bytes, "byte by byte");
    }

    #[test]
    fn a_key_is_added_to_either_version_and_the_others_stay() {
        for (name, kind) in [
            ("percona5722-plugin-file-v1.0", StoreKind::PluginFileV1),
            ("synthetic-plugin-file-v1.0", StoreKind::PluginFileV1),
            ("synthetic-plugin-file-v2.0", StoreKind::PluginFileV2),
        ] {
            let bytes = sample(name);
            let after = with_key(&bytes, kind, NewKey::of_server("INNODBKey-u-9", &[7; 32])).unwrap();
            let (before, after) = (crate::inspect(&bytes).unwrap(), (crate::inspect(&after).unwrap(), after));
            assert_eq!(after.0.entries[..before.entries.len()], before.entries);
            assert_eq!((after.0.entries.len(), after.0.damage), (before.entries.len() + 1, before.damage));
            assert_ne!(after.0.checksum_ok, Some(false));
            let keyring = crate::MysqlKeyring::load(&after.1).unwrap();
            assert_eq!(keyring.get("INNODBKey-u-9").unwrap().as_bytes(), [7; 32]);
            assert!(with_key(&bytes[..bytes.len() - 1], kind, NewKey::of_server("x", &[7; 32])).is_none(), "damaged");
        }
        let mut other = b"Keyring file version:1.0".to_vec();
        other.extend(record(false, true));
        other.extend(END);
        assert!(
            with_key(&other, StoreKind::PluginFileV1, NewKey::of_server("x", &[7; 32])).is_none(),
            "of another machine"
        );
    }

    #[test]
    fn a_key_whose_user_is_not_utf8_is_damage() {
        let bytes = sample("synthetic-plugin-file-v1.0");
        let user = NewKey { name: "of-a-user", user: "m\u{fc}@%", key_type: "SECRET", key: &[1, 2] };
        let sound = with_key(&bytes, StoreKind::PluginFileV1, user).unwrap();
        let before = crate::MysqlKeyring::load(&sound).unwrap();
        assert!(before.damage().is_empty() && before.for_user("of-a-user", user.user).is_some());
        let at = sound.windows(2).position(|pair| pair == "\u{fc}".as_bytes()).unwrap();
        let mut latin = sound.to_vec();
        latin[at..at + 2].copy_from_slice(b"\xfc\xfc");
        let after = crate::MysqlKeyring::load(&latin).unwrap();
        assert!(matches!(after.damage(), [Damage::InvalidElement { reason: InvalidReason::Id, .. }]));
        assert_eq!(after.stored().len(), before.stored().len() - 1);
        assert_eq!(crate::inspect(&latin).unwrap().damage, after.damage());
    }

    #[test]
    fn every_word_size_and_byte_order_is_parsed() {
        for (wide, little) in [(true, true), (true, false), (false, true), (false, false)] {
            let mut file = b"Keyring file version:1.0".to_vec();
            file.extend(record(wide, little));
            file.extend(record(wide, little));
            file.extend(END);
            let summary = crate::inspect(&file).unwrap();
            assert_eq!(summary.entries.len(), 2, "{wide} {little}");
            assert!(summary.has_master_key("u", 1));
            let keyring = crate::MysqlKeyring::load(&file).unwrap();
            assert_eq!(keyring.get("INNODBKey-u-1").unwrap().as_bytes()[..24], *OBFUSCATION);
            assert_eq!(summary.damage.len(), 1, "only the duplicate");
        }
    }
}
