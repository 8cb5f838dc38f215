//! MariaDB `file_key_management`: lines `id;hex`.
//!
//! Source: formats, "Key files (file_key_management)", confirmed on MariaDB 10.11.

use crate::{
    key_id::KeyName,
    store::{Damage, InvalidReason, KeyEntry, StoreKind, StoreSummary},
};

pub(crate) fn inspect(bytes: &[u8]) -> StoreSummary {
    let mut summary = StoreSummary::new(StoreKind::MariaDbPlain, true);
    for (number, line) in (1_u64..).zip(bytes.split(|byte| *byte == b'\n')) {
        match Line::parse(line) {
            Line::Blank => {}
            Line::Key { id, key_bytes } => {
                if !matches!(key_bytes, Some(16 | 24 | 32)) {
                    let reason = match key_bytes {
                        None => InvalidReason::Data,
                        Some(_) => InvalidReason::Length,
                    };
                    summary.damage.push(Damage::InvalidElement { index: number, reason });
                }
                summary.entries.push(KeyEntry {
                    id: id.to_string(),
                    name: KeyName::Other,
                    user: String::new(),
                    key_type: String::new(),
                    key_bytes,
                });
            }
            Line::Other => summary.damage.push(Damage::InvalidElement { index: number, reason: InvalidReason::Id }),
        }
    }
    if !summary.entries.iter().any(|entry| entry.id == "1") {
        summary.damage.push(Damage::NoSystemKey);
    }
    summary
}

/// Whether the first line that is no comment is a key with a length it can have.
pub(crate) fn is_key_file(bytes: &[u8]) -> bool {
    bytes
        .split(|byte| *byte == b'\n')
        .map(Line::parse)
        .find(|line| !matches!(line, Line::Blank))
        .is_some_and(|line| matches!(line, Line::Key { key_bytes: Some(16 | 24 | 32), .. }))
}

enum Line {
    /// Empty or a comment.
    Blank,
    Key {
        id: u32,
        key_bytes: Option<u64>,
    },
    Other,
}

impl Line {
    fn parse(line: &[u8]) -> Self {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            return Self::Blank;
        }
        let mut parts = line.splitn(2, |byte| *byte == b';');
        let id = parts.next().and_then(|id| str::from_utf8(id).ok());
        let id = id.and_then(|id| id.parse().ok()).filter(|id| *id > 0);
        let (Some(id), Some(key)) = (id, parts.next()) else {
            return Self::Other;
        };
        // A comment may follow the key.
        let key = key.split(|byte| *byte == b'#').next().unwrap_or(key);
        let key = key.trim_ascii();
        let hex = key.len().is_multiple_of(2) && key.iter().all(u8::is_ascii_hexdigit);
        let key_bytes = u64::try_from(key.len() / 2).ok().filter(|_| hex);
        Self::Key { id, key_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_no_keys_are_named() {
        let key = "00".repeat(32);
        let text = format!("# keys\n  2;{key}\n2;{key}\n3;00\n4;xx\nrubbish\n");
        let summary = crate::inspect(text.as_bytes()).unwrap();
        assert_eq!(summary.entries.len(), 4);
        assert!(summary.damage.contains(&Damage::NoSystemKey));
        assert!(summary.damage.contains(&Damage::Duplicate { id: "2".to_owned() }));
        let lines: Vec<_> = summary
            .damage
            .iter()
            .filter_map(|damage| match damage {
                Damage::InvalidElement { index, .. } => Some(*index),
                _ => None,
            })
            .collect();
        assert_eq!(lines, [4, 5, 6]);
    }
}
