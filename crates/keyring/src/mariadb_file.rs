//! MariaDB `file_key_management`: lines `id;hex`, or `id;version;hex`.
//!
//! Parsed as the server does, which refuses a whole file for one invalid line. Blanks are permitted only before the
//! number, everything after the key's digits is ignored, and a NUL ends the file.
//!
//! Source: docs/formats, "MariaDB key file"; confirmed on MariaDB 10.11. Lines with a version (Enterprise Server 11.8)
//! are from its documentation, without a sample.

use innodb::keys::MARIADB_SYSTEM_KEY;

use crate::{
    hex::Hex,
    key_id::KeyName,
    summary::{Damage, InvalidReason, KeyEntry, StoreKind, StoreSummary},
};

/// The version of keys on lines without one.
pub(crate) const FIRST_VERSION: u32 = 1;

pub(crate) fn inspect(bytes: &[u8]) -> StoreSummary {
    let mut summary = StoreSummary::new(StoreKind::MariaDbPlain, true);
    let mut system_key = false;
    for (number, line) in lines(bytes) {
        let reason = match line {
            Line::Blank => continue,
            Line::Other => InvalidReason::Id,
            Line::Key(key) => {
                system_key |= key.id == MARIADB_SYSTEM_KEY;
                summary.entries.push(key.entry());
                match key.hex() {
                    Ok(_) => continue,
                    Err(reason) => reason,
                }
            }
        };
        summary.damage.push(Damage::InvalidElement { index: number, reason });
    }
    if !system_key {
        summary.damage.push(Damage::NoSystemKey);
    }
    summary
}

/// Whether the first line that is not a comment has a key of valid length.
pub(crate) fn is_key_file(bytes: &[u8]) -> bool {
    let first = lines(bytes).map(|(_, line)| line).find(|line| !matches!(line, Line::Blank));
    matches!(first, Some(Line::Key(key)) if key.hex().is_ok())
}

/// The lines, numbered from 1.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, Line<'_>)> {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    (1_u64..).zip(text.split(|byte| *byte == b'\n').map(Line::parse))
}

pub(crate) enum Line<'a> {
    /// Empty or a comment.
    Blank,
    Key(KeyLine<'a>),
    Other,
}

pub(crate) struct KeyLine<'a> {
    pub(crate) id: u32,
    pub(crate) version: u32,
    digits: &'a [u8],
}

impl<'a> Line<'a> {
    fn parse(line: &'a [u8]) -> Self {
        let line = split_while(line, |byte| matches!(byte, b' ' | 9..=13)).1;
        if line.is_empty() || line.starts_with(b"#") {
            return Self::Blank;
        }
        let Some((id, rest)) = number(line) else { return Self::Other };
        let (version, rest) = number(rest).unwrap_or((FIRST_VERSION, rest));
        Self::Key(KeyLine { id, version, digits: split_while(rest, u8::is_ascii_hexdigit).0 })
    }
}

impl<'a> KeyLine<'a> {
    /// The key's digits, or why they are not valid.
    pub(crate) fn hex(&self) -> Result<Hex<'a>, InvalidReason> {
        key_digits(self.digits)
    }

    fn entry(&self) -> KeyEntry {
        let id = match self.version {
            FIRST_VERSION => self.id.to_string(),
            version => format!("{} version {version}", self.id),
        };
        let key_bytes = Hex::new(self.digits).filter(|hex| hex.bytes() > 0);
        KeyEntry {
            id,
            name: KeyName::Other,
            user: String::new(),
            key_type: String::new(),
            key_bytes: key_bytes.and_then(|hex| u64::try_from(hex.bytes()).ok()),
        }
    }
}

/// The digits of a key, or why they are not valid.
pub(crate) fn key_digits(digits: &[u8]) -> Result<Hex<'_>, InvalidReason> {
    match Hex::new(digits) {
        Some(hex) if matches!(hex.bytes(), 16 | 24 | 32) => Ok(hex),
        Some(hex) if hex.bytes() > 0 => Err(InvalidReason::Length),
        _ => Err(InvalidReason::Data),
    }
}

/// Splits off a number of at least 1 that ends with a semicolon.
fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = split_while(bytes, u8::is_ascii_digit);
    let number = str::from_utf8(digits).ok()?.parse().ok().filter(|number| *number > 0)?;
    Some((number, rest.strip_prefix(b";")?))
}

fn split_while(bytes: &[u8], wanted: impl Fn(&u8) -> bool) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| !wanted(byte)).unwrap_or(bytes.len());
    bytes.split_at_checked(end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str) -> Vec<Result<(u32, u32), Option<InvalidReason>>> {
        lines(text.as_bytes())
            .filter_map(|(_, line)| match line {
                Line::Blank => None,
                Line::Key(key) => Some(key.hex().map(|_| (key.id, key.version)).map_err(Some)),
                Line::Other => Some(Err(None)),
            })
            .collect()
    }

    #[test]
    fn invalid_lines_are_reported() {
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

    #[test]
    fn lines_that_the_server_accepts_are_parsed() {
        let key = "9f".repeat(16);
        for line in [
            format!("1;{key}"),
            format!("\t \r1;{key}\r"),
            format!("0001;{key} # comment"),
            format!("1;{key}; and more"),
            format!("1;{}", key.to_uppercase()),
            format!("1;{key}\0rubbish\nrubbish"),
        ] {
            assert_eq!(judged(&line), [Ok((1, 1))], "{line:?}");
        }
        assert_eq!(judged(&format!("4294967295;7;{key}")), [Ok((u32::MAX, 7))]);
        assert_eq!(judged(" \n#x\n\r\n"), []);
    }

    #[test]
    fn lines_that_the_server_refuses_are_invalid() {
        use InvalidReason::{Data, Length};
        let key = "9f".repeat(16);
        for (line, reason) in [
            (format!("1 ;{key}"), None),
            (format!("0;{key}"), None),
            (format!("4294967296;{key}"), None),
            (format!("-1;{key}"), None),
            (key.clone(), None),
            (format!("1; {key}"), Some(Data)),
            (format!("1;0;{key}"), Some(Data)),
            (format!("1;{key}9"), Some(Data)),
            (format!("1;{key}9f"), Some(Length)),
            (format!("1;{key}{key}9f"), Some(Length)),
        ] {
            assert_eq!(judged(&line), [Err(reason)], "{line:?}");
        }
    }
}
