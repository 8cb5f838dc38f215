//! `keyring_file` plug-in (MySQL 5.7.11 to 8.3): records of binary lengths, keys XORed
//! with a public constant.
//!
//! Source: formats, "`keyring_file` plugin data file": 64-bit little-endian confirmed on
//! testdata, the other widths and orders from the plug-in's source.

use aws_lc_rs::digest::{SHA256, digest};

use crate::{
    key_id::KeyName,
    store::{Damage, KeyEntry, StoreKind, StoreSummary},
};

const HEADER_BYTES: usize = 24;
const END: &[u8] = b"EOF";
const HASH_BYTES: usize = 32;

pub(crate) fn inspect(bytes: &[u8], kind: StoreKind) -> StoreSummary {
    let mut summary = StoreSummary::new(kind, true);
    let body = bytes.get(HEADER_BYTES..).unwrap_or_default();
    let tail_bytes = match kind {
        StoreKind::PluginFileV2 => END.len().saturating_add(HASH_BYTES),
        _ => END.len(),
    };
    let split = body.len().checked_sub(tail_bytes);
    let parts = split.and_then(|split| body.split_at_checked(split));
    let Some((records, hash)) = parts.and_then(|(records, tail)| Some((records, tail.strip_prefix(END)?))) else {
        summary.damage.push(Damage::Truncated);
        let (entries, _) = Layout::SERVERS.records(body);
        summary.entries = entries;
        return summary;
    };
    if kind == StoreKind::PluginFileV2 {
        let holds = digest(&SHA256, records).as_ref() == hash;
        summary.checksum_ok = Some(holds);
        if !holds {
            summary.damage.push(Damage::Checksum);
        }
    }
    let (entries, end) = Layout::ALL
        .iter()
        .map(|layout| layout.records(records))
        .find(|(_, end)| *end == records.len())
        .unwrap_or_else(|| Layout::SERVERS.records(records));
    if end != records.len() {
        let at = u64::try_from(end.saturating_add(HEADER_BYTES)).unwrap_or(u64::MAX);
        summary.damage.push(Damage::Malformed { at });
    }
    for (index, entry) in (0_u64..).zip(&entries) {
        if let Some(reason) = entry.judge() {
            summary.damage.push(Damage::InvalidElement { index, reason });
        }
    }
    summary.entries = entries;
    summary
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
    fn records(self, bytes: &[u8]) -> (Vec<KeyEntry>, usize) {
        let mut entries = Vec::new();
        let mut at = 0;
        while let Some((entry, next)) = bytes.get(at..).and_then(|rest| self.record(rest)) {
            entries.push(entry);
            at = usize::saturating_add(at, next);
        }
        (entries, at)
    }

    fn record(self, bytes: &[u8]) -> Option<(KeyEntry, usize)> {
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
        rest.get(..key)?;
        let id = text(id);
        let entry = KeyEntry {
            name: KeyName::parse(&id),
            id,
            user: text(user),
            key_type: text(key_type),
            key_bytes: u64::try_from(key).ok(),
        };
        Some((entry, total))
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
        let mut out = Vec::new();
        for value in [88_u64, 13, 3, 0, 32] {
            out.extend(length(value));
        }
        out.extend(id);
        out.extend(b"AES");
        out.resize(88, 0);
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
            assert_eq!(summary.damage.len(), 1, "only the duplicate");
        }
    }
}
