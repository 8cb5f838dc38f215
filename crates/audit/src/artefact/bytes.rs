//! Interprets the bytes of files, and quotes them as evidence.

use files::quantity::size;
use innodb::binlog::{BinlogEncryption, BinlogHead};
use innodb::binlog_scan::EventScan;
use innodb::doublewrite::DoublewriteScan;
use innodb::galera::CacheScan;
use innodb::page::checksum::Checksum;
use innodb::redo::RedoScan;
use innodb::tablespace::{Disagreement, Encryption, TablespaceKind, TablespaceScan};

use super::State;
use crate::facts::files::{Content, FileFact};
use crate::finding::Evidence;

/// What page 0 of a tablespace declares about the encryption of the other pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclaredEncryption {
    /// Not encrypted.
    None,
    /// MariaDB: encryption is in progress; some pages may be clear (oldest key version 0).
    Begun,
    /// All pages are encrypted.
    Full,
}

/// State of a file according to its bytes.
#[must_use]
pub fn state_of(content: &Content) -> Option<State> {
    match content {
        Content::Tablespace { scan } => state_of_pages(scan),
        Content::Redo { scan } => state_of_redo(scan),
        // Clear copies without rows do not count: page 0 and similar pages are never encrypted.
        Content::Doublewrite { scan } => {
            state_of_counts(scan.copies.encrypted, scan.copies.clear_data + scan.copies.mislabelled)
        }
        Content::BinaryLog { log, events } => state_of_binary_log(log, events.as_ref()),
        Content::AriaData { scan } => {
            state_of_counts(scan.counts.encrypted, scan.counts.clear + scan.counts.mislabelled)
        }
        Content::AriaLog | Content::PlainTable { .. } => Some(State::Clear),
        Content::GaleraCache { cache } => state_of_cache(cache),
        Content::Backup { backup } => backup.readable.map(|yes| if yes { State::Clear } else { State::Encrypted }),
        Content::Empty => Some(State::Empty),
        _ => None,
    }
}

/// State of a temporary file, which has no header.
#[must_use]
pub(super) fn state_of_temporary_file(content: &Content) -> Option<State> {
    match content {
        Content::Unknown { looks_random } => looks_random.map(|yes| if yes { State::Encrypted } else { State::Clear }),
        content => state_of(content),
    }
}

/// State of a temporary tablespace. Most of its pages are unused, and page 0 declares nothing about later pages:
/// servers set its flag when they use the file.
#[must_use]
pub(super) fn state_of_temporary(content: &Content) -> Option<State> {
    match content {
        Content::Tablespace { scan }
            if scan.counts.encrypted + scan.counts.clear_data + scan.counts.mislabelled == 0 =>
        {
            Some(State::Empty)
        }
        content => state_of(content),
    }
}

/// What page 0 declares about encryption.
#[must_use]
pub fn declared_encryption(scan: &TablespaceScan) -> DeclaredEncryption {
    match &scan.page0.encryption {
        Encryption::MariaDb { scheme: 0, .. } | Encryption::PerconaKeyring { scheme: 0, .. } => {
            DeclaredEncryption::None
        }
        Encryption::MySql { flag_set: true, .. } | Encryption::PerconaKeyring { .. } => DeclaredEncryption::Full,
        Encryption::MySql { .. } => DeclaredEncryption::None,
        Encryption::MariaDb { min_key_version, .. } if min_key_version.0 == 0 => DeclaredEncryption::Begun,
        Encryption::MariaDb { .. } => DeclaredEncryption::Full,
        Encryption::None if scan.page0.disagreement == Some(Disagreement::FlagWithoutInfo) => DeclaredEncryption::Full,
        Encryption::None => DeclaredEncryption::None,
    }
}

/// The pages determine the state of a tablespace, not page 0: a declaration that no page confirms proves nothing, and
/// neither does a sample during a conversion.
fn state_of_pages(scan: &TablespaceScan) -> Option<State> {
    let counts = &scan.counts;
    if is_misread(scan) {
        return None;
    }
    let clear = counts.clear_data + counts.mislabelled > 0;
    match (declared_encryption(scan), counts.encrypted > 0, clear) {
        (_, true, true) => Some(State::Partly),
        (_, false, true) | (DeclaredEncryption::None, false, false) => Some(State::Clear),
        (DeclaredEncryption::Begun, true, false) if !scan.complete => None,
        (_, true, false) => Some(State::Encrypted),
        (DeclaredEncryption::Begun | DeclaredEncryption::Full, false, false) => None,
    }
}

/// Whether page 0 is damaged and gives a wrong page size: no page is in its position, and some have no known type.
#[must_use]
pub(super) fn is_misread(scan: &TablespaceScan) -> bool {
    let counts = &scan.counts;
    let damaged = scan.page0.checksum == Checksum::Mismatch && declared_encryption(scan) == DeclaredEncryption::None;
    let known = [counts.encrypted, counts.mislabelled, counts.clear_data, counts.clear_structural];
    let placed = known.into_iter().fold(0, u64::saturating_add) > scan.foreign;
    damaged && counts.unrecognised > 0 && !placed
}

/// Why a tablespace with encrypted pages is not proven to be encrypted: the file is damaged. `system_pages`: total
/// pages of the system tablespace's files.
#[must_use]
pub(super) fn damage(scan: &TablespaceScan, system_pages: u64) -> Option<String> {
    let system = scan.kind == TablespaceKind::System;
    let missing = match &scan.truncated {
        _ if system => u64::from(scan.page0.size_in_pages).saturating_sub(system_pages),
        Some(cut) => cut.missing_pages.max(u64::from(cut.partial_bytes > 0)),
        None => 0,
    };
    if missing > 0 {
        return Some(format!("the file is cut: {missing} of {} pages are missing", scan.page0.size_in_pages));
    }
    (scan.foreign > 0).then(|| format!("{} of its pages belong to another place or tablespace", scan.foreign))
}

/// Why the bytes of a tablespace do not show its state.
#[must_use]
pub(super) fn undecided(scan: &TablespaceScan) -> &'static str {
    if is_misread(scan) {
        "page 0 is damaged, and the other pages cannot be read as it says"
    } else if scan.counts.encrypted > 0 {
        "page 0 says that its encryption has not ended, and only a sample of its pages was read, none of them clear"
    } else {
        "page 0 says that the tablespace is encrypted, and no page that was read is encrypted"
    }
}

/// MariaDB encrypts a log completely or not at all, as its header says; MySQL encrypts block by block.
fn state_of_redo(scan: &RedoScan) -> Option<State> {
    match scan.declared_encrypted {
        Some(true) => Some(State::Encrypted),
        // No block is clear, so the header may belong to another log.
        Some(false) if scan.blocks.clear == 0 && scan.blocks.unrecognised > 0 => None,
        Some(false) => Some(State::Clear),
        None => {
            let (encrypted, clear) = (scan.blocks.encrypted, scan.blocks.clear + scan.blocks.mislabelled);
            // In a log whose header is lost, file names are clear, and a few bytes can look like blocks.
            if scan.blocks.unrecognised > 16 * (encrypted + clear) { None } else { state_of_counts(encrypted, clear) }
        }
    }
}

/// State of a binary log. Its magic does not prove that it is clear if no event after the format description can be
/// read: the event that starts the encryption of MariaDB's logs may be damaged or truncated.
fn state_of_binary_log(log: &BinlogHead, events: Option<&EventScan>) -> Option<State> {
    if !log.is_clear() {
        return Some(State::Encrypted);
    }
    let unread = events.is_some_and(|events| events.readable == Some(0));
    (log.encryption == BinlogEncryption::Mislabelled || !unread).then_some(State::Clear)
}

/// Community Galera cannot encrypt, so a preamble without `enc_encrypted` means clear, even where compressed values
/// look random. Page files have no preamble, so only their content counts.
fn state_of_cache(cache: &CacheScan) -> Option<State> {
    let (random, clear) = (cache.content.random, cache.content.clear);
    match cache.preamble.as_ref().map(|preamble| preamble.encrypted == Some(true)) {
        Some(false) => state_of_counts(0, random + clear),
        Some(true) | None => state_of_counts(random, clear),
    }
}

fn state_of_counts(encrypted: u64, clear: u64) -> Option<State> {
    Some(match (encrypted > 0, clear > 0) {
        (true, true) => State::Partly,
        (true, false) => State::Encrypted,
        (false, true) => State::Clear,
        (false, false) => State::Empty,
    })
}

/// The bytes that show a file's state, for an auditor to verify.
#[must_use]
pub fn byte_evidence(file: &FileFact) -> Vec<Evidence> {
    let at =
        |offset: u64, hex: String, meaning: String| Evidence::Bytes { path: file.path.clone(), offset, hex, meaning };
    match &file.content {
        Content::Tablespace { scan } => tablespace_evidence(scan, at),
        Content::Redo { scan } => redo_evidence(scan, at),
        Content::Doublewrite { scan } => doublewrite_evidence(scan, at),
        Content::BinaryLog { log, .. } if log.encryption == BinlogEncryption::Clear => {
            vec![at(0, "fe62696e".to_owned(), "magic of a log in clear".to_owned())]
        }
        Content::BinaryLog { log, .. } => {
            let by_event =
                matches!(log.encryption, BinlogEncryption::MariaDb { .. } | BinlogEncryption::Percona { .. });
            let magic = if by_event { "fe62696e" } else { "fd62696e" };
            vec![at(0, magic.to_owned(), binary_log_text(&log.encryption))]
        }
        Content::AriaData { scan } => {
            let clear = scan.counts.clear + scan.counts.mislabelled;
            let meaning =
                format!("pages: {} encrypted, {clear} clear, {} read", scan.counts.encrypted, scan.counts.scanned);
            vec![at(scan.clear_offsets.first().copied().unwrap_or(0), String::new(), meaning)]
        }
        Content::GaleraCache { cache } => vec![at(
            cache.content.first_clear_offset.unwrap_or(0),
            String::new(),
            format!(
                "windows of 4 KiB: {} like ciphertext, {} clear, {} empty",
                cache.content.random, cache.content.clear, cache.content.empty
            ),
        )],
        Content::AriaLog => vec![at(
            0,
            "fefe0b014d415249414c4f47".to_owned(),
            "magic of an Aria log, which no server encrypts".to_owned(),
        )],
        Content::Unknown { looks_random: Some(false) } => vec![at(0, String::new(), "clear text".to_owned())],
        Content::PlainTable { engine } => {
            vec![at(0, String::new(), format!("{} of {engine} data", size(file.size_bytes)))]
        }
        _ => Vec::new(),
    }
}

fn redo_evidence(scan: &RedoScan, at: impl Fn(u64, String, String) -> Evidence) -> Vec<Evidence> {
    let blocks = &scan.blocks;
    let counts = format!(
        "{} of {} blocks read: {} encrypted, {} clear, {} empty",
        blocks.scanned, blocks.total, blocks.encrypted, blocks.clear, blocks.empty
    );
    let header = at(0, format!("{:08x}", scan.format_id), format!("log format; {counts}"));
    let clear = scan.clear_offsets.iter().take(3).map(|offset| at(*offset, String::new(), "block in clear".to_owned()));
    std::iter::once(header).chain(clear).collect()
}

fn doublewrite_evidence(scan: &DoublewriteScan, at: impl Fn(u64, String, String) -> Evidence) -> Vec<Evidence> {
    let copies = &scan.copies;
    let counts = format!(
        "{} slots: {} encrypted, {} clear with rows, {} clear without, {} empty",
        copies.slots, copies.encrypted, copies.clear_data, copies.clear_structural, copies.empty
    );
    let clear = scan.clear_slots.iter().take(3).map(|slot| {
        at(slot.offset, String::new(), format!("clear {} page of space {}", slot.type_name, slot.space_id.0))
    });
    std::iter::once(at(0, String::new(), counts)).chain(clear).collect()
}

fn binary_log_text(encryption: &BinlogEncryption) -> String {
    match encryption {
        BinlogEncryption::Clear => "log in clear".to_owned(),
        BinlogEncryption::MySql { .. } => "magic fd 62 69 6e: encrypted log".to_owned(),
        BinlogEncryption::MariaDb { .. } | BinlogEncryption::Percona { .. } => {
            "a Start_encryption event follows the format event".to_owned()
        }
        BinlogEncryption::Mislabelled => {
            "magic fd 62 69 6e of an encrypted log, and clear text from byte 512 on".to_owned()
        }
    }
}

fn tablespace_evidence(scan: &TablespaceScan, at: impl Fn(u64, String, String) -> Evidence) -> Vec<Evidence> {
    let counts = &scan.counts;
    let mut evidence = vec![
        at(
            54,
            format!("{:08x}", scan.page0.flags.0),
            format!("tablespace flags: {}", declaration_text(&scan.page0.encryption)),
        ),
        at(
            0,
            String::new(),
            format!(
                "{} of {} pages read: {} encrypted, {} clear, {} empty",
                counts.scanned,
                counts.total,
                counts.encrypted,
                counts.clear() + counts.mislabelled,
                counts.empty
            ),
        ),
    ];
    evidence.extend(scan.clear_pages.iter().take(3).map(|page| {
        at(
            page.offset,
            String::new(),
            format!("page {} is clear: type {} ({})", page.page_no.0, page.page_type, page.type_name),
        )
    }));
    evidence
}

fn declaration_text(encryption: &Encryption) -> String {
    match encryption {
        Encryption::None => "no encryption".to_owned(),
        Encryption::MySql { master_key_id, server_uuid, .. } => {
            let server = server_uuid.as_deref().unwrap_or("(not named)");
            format!("encrypted, wrapped by master key {} of server {server}", master_key_id.0)
        }
        Encryption::MariaDb { scheme, key_id, min_key_version, .. } => {
            format!("encryption scheme {scheme}, key {key_id}, oldest key version {}", min_key_version.0)
        }
        Encryption::PerconaKeyring { scheme: 0, .. } => {
            "no encryption (a record of Percona's keyring encryption, scheme 0)".to_owned()
        }
        Encryption::PerconaKeyring { .. } => "Percona's keyring encryption, which is not supported".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{binary_log, redo, tablespace, tablespace_with};
    use innodb::tablespace::Truncation;

    #[test]
    fn a_declaration_counts_until_pages_break_it() {
        let declared = tablespace("encrypted", 7, 0);
        assert_eq!(state_of(&declared), Some(State::Encrypted));
        assert_eq!(state_of(&tablespace("encrypted", 7, 2)), Some(State::Partly));
        assert_eq!(state_of(&tablespace("encrypted", 0, 2)), Some(State::Clear));
        assert_eq!(state_of(&tablespace("encrypted", 0, 0)), None);
        assert_eq!(state_of(&tablespace("plain", 0, 2)), Some(State::Clear));
        assert_eq!(state_of(&tablespace("plain", 3, 2)), Some(State::Partly));
        assert_eq!(state_of(&tablespace("plain", 0, 0)), Some(State::Clear));
    }

    #[test]
    fn a_tablespace_that_a_damaged_page_0_divides_wrongly_is_neither_encrypted_nor_clear() {
        let state = |checksum, clear: u64, foreign, unrecognised| {
            state_of(&tablespace_with("plain", clear / 2, clear.div_ceil(2), |scan| {
                scan.page0.checksum = checksum;
                scan.foreign = foreign;
                scan.counts.unrecognised = unrecognised;
            }))
        };
        assert_eq!(state(Checksum::Mismatch, 0, 0, 3), None);
        assert_eq!(state(Checksum::Mismatch, 1, 1, 12), None);
        assert_eq!(state(Checksum::Mismatch, 2, 2, 12), None);
        assert_eq!(state(Checksum::Mismatch, 2, 1, 12), Some(State::Partly));
        assert_eq!(state(Checksum::Mismatch, 0, 0, 0), Some(State::Clear));
        assert_eq!(state(Checksum::Crc32, 0, 0, 3), Some(State::Clear));
    }

    #[test]
    fn mariadb_has_only_begun_while_some_page_may_use_key_version_0() {
        assert_eq!(state_of(&tablespace("begun", 0, 3)), Some(State::Clear));
        assert_eq!(state_of(&tablespace("begun", 2, 3)), Some(State::Partly));
        assert_eq!(state_of(&tablespace("begun", 2, 0)), Some(State::Encrypted));
        assert_eq!(state_of(&tablespace_with("begun", 2, 0, |scan| scan.complete = false)), None);
        assert_eq!(state_of(&tablespace("mariadb", 4, 0)), Some(State::Encrypted));
    }

    #[test]
    fn logs_of_which_nothing_can_be_read_are_neither_encrypted_nor_clear() {
        let Content::Redo { mut scan } = redo(3, 2) else { unreachable!("a log was made") };
        scan.blocks.unrecognised = 80;
        assert_eq!(state_of(&Content::Redo { scan: scan.clone() }), Some(State::Partly));
        scan.blocks.unrecognised = 81;
        assert_eq!(state_of(&Content::Redo { scan }), None);
        let log = |readable: Option<u64>| {
            let Content::BinaryLog { log, .. } = binary_log(true) else { unreachable!("a log was made") };
            let events = EventScan { events: 1, readable, ..EventScan::default() };
            state_of(&Content::BinaryLog { log, events: Some(events) })
        };
        assert_eq!([log(Some(0)), log(Some(1)), log(None)], [None, Some(State::Clear), Some(State::Clear)]);
    }

    #[test]
    fn a_damaged_file_is_said_to_be() {
        let scan = |change: fn(&mut TablespaceScan)| match tablespace_with("encrypted", 7, 0, change) {
            Content::Tablespace { scan } => scan,
            _ => unreachable!("a tablespace was made"),
        };
        assert_eq!(damage(&scan(|_| ()), 0), None);
        assert!(damage(&scan(|scan| scan.foreign = 1), 0).is_some());
        let cut = |scan: &mut TablespaceScan| {
            scan.truncated = Some(Truncation { missing_pages: 4, partial_bytes: 0 });
        };
        assert!(damage(&scan(cut), 0).is_some_and(|why| why.contains("4 of 64")));
        let system = scan(|scan| scan.kind = TablespaceKind::System);
        assert_eq!(damage(&system, 64), None);
        assert!(damage(&system, 60).is_some());
    }
}
