//! `keyring_file` plug-in (MySQL 5.7.11 to 8.3): records of binary lengths, keys XORed
//! with a public constant.
//!
//! Source: formats, "`keyring_file` plugin data file": 64-bit little-endian confirmed on
//! testdata, the other widths and orders from the plug-in's source.

use aws_lc_rs::digest::{SHA256, digest};

use crate::{
    record::{Material, Parsed, Record},
    store::{Damage, StoreKind, StoreSummary},
};

const HEADER_BYTES: usize = 24;
const END: &[u8] = b"EOF";
const HASH_BYTES: usize = 32;

/// Constant that keys are hidden with; it is in the server's source.
const OBFUSCATION: &[u8; 24] = b"*305=Ljt0*!@$Hnm(*-9-w;:";

/// Takes a file apart, also one that is damaged: then the records before the damage.
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

    /// The records that can be read, and where the first one that cannot begins.
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
        // Nothing else tells damage in version 1.0: a record is as long as its parts, padded to a length.
        let parts = [id.len(), key_type.len(), user.len(), key].into_iter().try_fold(fields, usize::checked_add)?;
        if parts.checked_next_multiple_of(width)? != total {
            return None;
        }
        let material = Some(Material::Masked(rest.get(..key)?, OBFUSCATION));
        let record = Record { id: text(id), user: text(user), key_type: text(key_type), material };
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

    #[test]
    fn every_width_and_order() {
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
