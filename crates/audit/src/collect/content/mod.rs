//! Determines the kind of a file from its bytes; the name counts only where they are ambiguous.
//!
//! [`RECOGNISERS`] is the table: each function examines the start of the file and returns its kind, or leaves it to the
//! next one. A new kind of file needs one function and one line there.

pub(super) mod backup;
mod keys;
mod repository;
mod server_file;
mod text;
mod unpack;

use std::sync::atomic::{AtomicU64, Ordering};

use files::ReadAt;

use crate::facts::files::Content;
use crate::facts::host::Role;

/// Bytes read of every file first; they include every magic number.
pub(super) const HEAD_BYTES: usize = 4096;

/// How much is read: whether whole backups, and how many more bytes of special files.
#[derive(Debug)]
pub(super) struct ReadBudget {
    /// Whether every page and block of every file is read.
    pub(super) deep: bool,
    /// Remaining bytes for reading undo, redo, doublewrite and temporary files completely.
    special_bytes: AtomicU64,
}

/// A file to recognise.
pub(super) struct Candidate<'a> {
    /// Name of the file; invalid UTF-8 is replaced.
    pub(super) name: &'a str,
    /// Name of its directory.
    pub(super) parent: &'a str,
    /// Role of its root.
    pub(super) role: Role,
    /// Kind of log according to a variable, if one names it.
    pub(super) log: Option<&'static str>,
    /// Length in bytes.
    pub(super) size_bytes: u64,
    /// Its first [`HEAD_BYTES`].
    pub(super) head: &'a [u8],
    /// The whole file.
    pub(super) source: &'a dyn ReadAt,
    /// Reads the first bytes of a file next to it.
    pub(super) sibling: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    /// How much is read.
    pub(super) budget: &'a ReadBudget,
}

type Recogniser = fn(&Candidate<'_>) -> Option<Content>;

/// In order: by content, then by structure, then by name.
const RECOGNISERS: &[Recogniser] = &[
    server_file::empty,
    server_file::by_content,
    keys::store,
    repository::receipt,
    repository::restores,
    repository::bucket,
    repository::key_checks,
    repository::other,
    keys::pem,
    keys::age_identity,
    text::persisted_variables,
    text::replica_state,
    server_file::core_dump,
    server_file::other_engine,
    server_file::by_name,
    text::structure,
    text::log,
    backup::container,
    backup::rows_as_text,
];

/// The kind of `file`.
pub(super) fn recognise(file: &Candidate<'_>) -> Content {
    RECOGNISERS
        .iter()
        .find_map(|recogniser| recogniser(file))
        .unwrap_or_else(|| Content::Unknown { looks_random: looks_random(file.source) })
}

impl ReadBudget {
    /// A budget for samples, or with `deep` for everything.
    pub(super) const fn new(deep: bool, special_bytes: u64) -> Self {
        Self { deep, special_bytes: AtomicU64::new(special_bytes) }
    }

    /// How many bytes of a special file of this length may be read. Every file gets a minimum, so that a large one does
    /// not use up everything.
    pub(super) fn special(&self, size_bytes: u64) -> u64 {
        const LEAST: u64 = 16 << 20;
        if self.deep {
            return u64::MAX;
        }
        let take = |left: u64| Some(left.saturating_sub(size_bytes));
        let left = self.special_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).unwrap_or_default();
        left.max(LEAST)
    }

    /// How many bytes of a file without structure are sampled.
    pub(super) const fn sample(&self) -> u64 {
        if self.deep { u64::MAX } else { 4 << 20 }
    }
}

impl Candidate<'_> {
    /// The complete file, if it has at most `limit` bytes.
    fn whole(&self, limit: u64) -> Option<Vec<u8>> {
        let size = usize::try_from(self.size_bytes).ok().filter(|_| self.size_bytes <= limit)?;
        let mut bytes = vec![0; size];
        let count = fill(self.source, 0, &mut bytes)?;
        bytes.truncate(count);
        Some(bytes)
    }

    /// The head as text, if it is text.
    fn text(&self) -> Option<&str> {
        as_text(self.head)
    }
}

/// Fills `buf` from `offset`; returns the number of bytes, `None` on a read error.
fn fill(source: &dyn ReadAt, offset: u64, buf: &mut [u8]) -> Option<usize> {
    files::read_up_to(source, offset, buf).ok()
}

/// Bytes as text: UTF-8, except a truncated last character, without control characters that do not occur in text.
pub(super) fn as_text(bytes: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?,
        Err(_) => return None,
    };
    let printable = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    (!text.trim().is_empty() && text.chars().all(printable)).then_some(text)
}

/// Whether sampled bytes look like cipher text: false if any part does not.
pub(super) fn looks_random(source: &dyn ReadAt) -> Option<bool> {
    const SAMPLE: u64 = 256 << 10;
    let sample = innodb::randomness::sample(source, 0, SAMPLE).ok()?;
    match (sample.clear, sample.random) {
        (0, 0) => None,
        (0, _) => Some(true),
        _ => Some(false),
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// The recognised content of `bytes` in a file called `name`.
    pub(in crate::collect) fn recognised(name: &str, role: Role, bytes: &[u8]) -> Content {
        let budget = ReadBudget::new(false, 1 << 30);
        let owned = bytes.to_vec();
        recognise(&Candidate {
            name,
            parent: "data",
            role,
            log: None,
            size_bytes: u64::try_from(bytes.len()).unwrap(),
            head: bytes.get(..HEAD_BYTES).unwrap_or(bytes),
            source: &owned,
            sibling: &|_| None,
            budget: &budget,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::testing::recognised;
    use super::*;

    #[test]
    fn unknown_bytes_are_distinguished_from_cipher_text() {
        let noise: Vec<u8> = (0_u32..4096).map(|i| (i.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect();
        let zeros = vec![0; 4096];
        assert!(matches!(recognised("x", Role::Data, &zeros), Content::Unknown { looks_random: None }));
        let mut clear = vec![1, 2, 3, 0];
        clear.resize(4096, 7);
        assert!(matches!(recognised("x", Role::Data, &clear), Content::Unknown { looks_random: Some(false) }));
        assert!(matches!(recognised("x", Role::Data, &noise), Content::Unknown { .. }));
    }

    #[test]
    fn text_may_end_inside_a_character() {
        assert_eq!(as_text("grün".get(..2).unwrap().as_bytes()), Some("gr"));
        assert_eq!(as_text(&"grün".as_bytes()[..3]), Some("gr"));
        assert_eq!(as_text(b"a\0b"), None);
        assert_eq!(as_text(b" \n"), None);
    }

    #[test]
    fn every_special_file_has_a_share() {
        let budget = ReadBudget::new(false, 100);
        assert_eq!(budget.special(1000), 16 << 20);
        assert_eq!(ReadBudget::new(true, 0).special(1), u64::MAX);
    }
}
