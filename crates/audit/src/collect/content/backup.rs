//! Dumps, backups and archives: their kind, and whether rows can be read without a key.
//!
//! Up to three layers of compression and archives are unpacked. A stream that is encrypted as a whole is recognised by
//! its header; in archives the members are judged, and one readable member suffices.

use innodb::tablespace::Encryption;
use innodb::{file_kind, server_file, tablespace};

use super::unpack::{Budget, Member, Prefixed, Raw, decoded, tar_members, xbstream_members};
use super::{Candidate, as_text};
use crate::facts::files::{BackupFile, Content};
use crate::facts::host::Role;

/// Bytes read of each layer and member: page 0 of any page size.
const LOOK_BYTES: u64 = 64 << 10;
/// Maximum number of layers that are unpacked.
const MAX_LAYERS: u32 = 3;
/// Maximum bytes read and unpacked of a file, without and with `--deep`.
const BUDGET: (u64, u64) = (16 << 20, 1 << 30);
/// Maximum number of members judged in an archive.
const MEMBERS: u32 = 4096;

/// Result for a stream or a member.
#[derive(Debug, Default)]
struct Found {
    layers: Vec<String>,
    readable: Option<bool>,
    holds_keys: bool,
}

impl Found {
    fn layer(name: &str, readable: Option<bool>) -> Self {
        Self { layers: vec![name.to_owned()], readable, holds_keys: false }
    }
}

/// A dump, an archive, a compressed or encrypted stream.
pub(super) fn container(file: &Candidate<'_>) -> Option<Content> {
    // A damaged server log can begin with any bytes.
    if file.role != Role::Backup && server_file::log_base(file.name).is_some() {
        return None;
    }
    let first = layer_of(file.head, file.name)?;
    if first.layers == ["text"] {
        return None;
    }
    let budget = Budget::new(if file.budget.deep { BUDGET.1 } else { BUDGET.0 });
    let raw = Raw::new(file.source, &budget);
    let found = open(Prefixed::look(Box::new(raw), LOOK_BYTES), file.name, &budget, 0);
    Some(Content::Backup {
        backup: BackupFile { layers: found.layers, readable: found.readable, holds_keys: found.holds_keys },
    })
}

/// In a backup directory, any text is a readable export: CSV, TSV, JSON.
pub(super) fn rows_as_text(file: &Candidate<'_>) -> Option<Content> {
    let exported = file.role == Role::Backup && file.text().is_some();
    let backup = BackupFile { layers: vec!["text".to_owned()], readable: Some(true), holds_keys: false };
    exported.then_some(Content::Backup { backup })
}

fn open(stream: Prefixed<'_>, name: &str, budget: &Budget, depth: u32) -> Found {
    let Some(mut found) = layer_of(stream.head(), name) else {
        return Found::layer("unknown", unknown_bytes(stream.head()));
    };
    let layer = found.layers.last().cloned().unwrap_or_default();
    if depth >= MAX_LAYERS {
        return found;
    }
    let inner_name = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let inner = match layer.as_str() {
        "tar" => archive(|visit| tar_members(stream, LOOK_BYTES, visit), depth),
        "xbstream" => archive(|visit| xbstream_members(stream, LOOK_BYTES, visit), depth),
        _ => match decoded(&layer, stream, budget) {
            Some(decoder) => {
                unwrapped(open(Prefixed::look(decoder, LOOK_BYTES), inner_name, budget, depth.saturating_add(1)), depth)
            }
            None => return found,
        },
    };
    found.readable = inner.readable;
    found.holds_keys |= inner.holds_keys;
    found.layers.extend(inner.layers);
    found
}

/// Text that is compressed on its own is an export; in an archive it may be documentation.
fn unwrapped(mut inner: Found, depth: u32) -> Found {
    if depth == 0 && inner.layers == ["text"] {
        inner.readable = Some(true);
    }
    inner
}

/// Judges members until a readable one and one with keys were found.
fn archive(walk: impl FnOnce(&mut dyn FnMut(Member) -> bool) -> std::io::Result<()>, depth: u32) -> Found {
    let mut sum = Found::default();
    let mut members = 0_u32;
    let mut visit = |member: Member| {
        members = members.saturating_add(1);
        let mut found = of_member(&member, depth);
        if found.layers.last().is_some_and(|layer| layer == "unknown") {
            found.readable = None;
        }
        sum.holds_keys |= found.holds_keys;
        sum.readable = match (sum.readable, found.readable) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (before, None) => before,
            (_, after) => after,
        };
        for layer in found.layers.into_iter().filter(|layer| layer != "unknown") {
            if !sum.layers.contains(&layer) {
                sum.layers.push(layer);
            }
        }
        members < MEMBERS && !(sum.readable == Some(true) && sum.holds_keys)
    };
    // The members before the damage count in a truncated or damaged archive.
    let _ = walk(&mut visit);
    sum
}

fn of_member(member: &Member, depth: u32) -> Found {
    let name = member.name.rsplit('/').next().unwrap_or(&member.name);
    if keyring::recognise(&member.head, name, member.size_bytes).is_some_and(is_key_material) {
        return Found { holds_keys: true, ..Found::layer("keyring", None) };
    }
    let budget = Budget::new(LOOK_BYTES.saturating_mul(16));
    let raw = Raw::new(&member.head, &budget);
    open(Prefixed::look(Box::new(raw), LOOK_BYTES), name, &budget, depth.saturating_add(1))
}

/// Configurations of key stores contain no keys.
fn is_key_material(kind: keyring::StoreKind) -> bool {
    use keyring::StoreKind as K;
    matches!(kind, K::ComponentFile | K::PluginFileV1 | K::PluginFileV2 | K::MariaDbPlain | K::CfpExportKey)
}

/// Magic numbers. Sources: RFC 1952, RFC 8878, LZ4 frame format, xz and bzip2 formats, `age` v1, RFC 4880, OpenSSL
/// `enc(1)`, Percona `xbstream.h`, `xbcrypt.h`, qpress 1.1.
const MAGICS: &[(&[u8], &str, Option<bool>)] = &[
    (b"\x1f\x8b", "gzip", None),
    (b"\x28\xb5\x2f\xfd", "zstd", None),
    (b"\x04\x22\x4d\x18", "lz4", None),
    (b"\xfd7zXZ\0", "xz", None),
    (b"BZh", "bzip2", None),
    (b"qpress", "qpress", None),
    (b"\x89LZO\0", "lzop", None),
    (b"PK\x03\x04", "zip", None),
    (b"7z\xbc\xaf\x27\x1c", "7z", None),
    (b"XBSTCK01", "xbstream", None),
    (agefile::FORMAT, "age", Some(false)),
    (agefile::ARMOR, "age", Some(false)),
    (b"-----BEGIN PGP MESSAGE-----", "openpgp", Some(false)),
    (keyring::OPENSSL_MAGIC, "openssl", Some(false)),
    (b"XBCRYP", "xbcrypt", Some(false)),
];

/// The outermost layer of a stream, by its first bytes.
fn layer_of(head: &[u8], name: &str) -> Option<Found> {
    if let Some((_, layer, readable)) = MAGICS.iter().find(|(magic, _, _)| head.starts_with(magic)) {
        // If a format cannot be unpacked here, the name of a dump still shows that its rows are readable.
        let named = name.contains(".sql.") && matches!(*layer, "xz" | "bzip2" | "lzop" | "qpress");
        return Some(Found::layer(layer, if named { Some(true) } else { *readable }));
    }
    if head.get(257..262) == Some(b"ustar") {
        return Some(Found::layer("tar", None));
    }
    if is_openpgp(head) {
        return Some(Found::layer("openpgp", Some(false)));
    }
    if is_sql(head) {
        return Some(Found::layer("sql", Some(true)));
    }
    server_file(head, name).or_else(|| as_text(head).map(|_| Found::layer("text", None)))
}

/// A server's own file inside an archive. Outside of archives, such files were recognised before.
fn server_file(head: &[u8], name: &str) -> Option<Found> {
    use file_kind::FileKind as K;
    let size = u64::try_from(head.len()).unwrap_or(u64::MAX);
    let kind = file_kind::recognise(head, name, size)?;
    Some(match kind {
        K::Tablespace => Found::layer("innodb", tablespace_is_clear(head)),
        K::Binlog => Found::layer("binlog", innodb::binlog::recognise(&head).ok().map(|found| found.is_clear())),
        K::BinlogEncrypted => Found::layer("binlog", Some(false)),
        K::Redo => Found::layer("redo", redo_is_clear(head)),
        K::Doublewrite => Found::layer("doublewrite", slots_are_clear(head, name)),
        K::MyisamData | K::Archive | K::Csv => Found::layer("table", Some(true)),
        K::AriaLog => Found::layer("aria log", Some(true)),
        K::ExportKey => Found { holds_keys: true, ..Found::layer("keyring", None) },
        _ => Found::layer("structure", None),
    })
}

fn tablespace_is_clear(head: &[u8]) -> Option<bool> {
    let page0 = tablespace::Page0::parse(head).ok()?;
    Some(match page0.encryption {
        Encryption::None => true,
        Encryption::MySql { flag_set, .. } => !flag_set,
        Encryption::MariaDb { scheme, .. } => scheme == 0,
        Encryption::PerconaKeyring { scheme: 0, .. } => true,
        Encryption::PerconaKeyring { .. } => return None,
    })
}

fn slots_are_clear(head: &[u8], name: &str) -> Option<bool> {
    let scan = innodb::doublewrite::scan(&head, innodb::doublewrite::page_bytes_of_name(name), u64::MAX).ok()?;
    match (scan.copies.clear_data + scan.copies.mislabelled, scan.copies.encrypted) {
        (0, 0) => None,
        (clear, _) => Some(clear > 0),
    }
}

fn redo_is_clear(head: &[u8]) -> Option<bool> {
    let scan = innodb::redo::scan(&head, u64::MAX).ok()?;
    match (scan.declared_encrypted, scan.blocks.clear, scan.blocks.encrypted) {
        (Some(encrypted), _, _) => Some(!encrypted),
        (None, 0, 0) => None,
        (None, clear, _) => Some(clear > 0),
    }
}

/// First packet of an encrypted OpenPGP message: public-key (tag 1) or symmetric-key (tag 3)
/// encrypted session key, with a version that exists. RFC 4880 section 4.2, RFC 9580.
fn is_openpgp(head: &[u8]) -> bool {
    let (Some(first), Some(&length)) = (head.first(), head.get(1)) else { return false };
    let body = match first {
        0x84 | 0x8c | 0xc1 | 0xc3 if length < 192 => 2,
        0x85 | 0x8d | 0xc1 | 0xc3 => 3,
        _ => return false,
    };
    let versions: &[u8] = if matches!(first, 0x84 | 0x85 | 0xc1) { &[3, 6] } else { &[4, 5, 6] };
    let known = head.get(body).is_some_and(|version| versions.contains(version));
    known && head.len() > 256 && unknown_bytes(head.get(64..).unwrap_or_default()).is_none()
}

/// Whether bytes of an unknown format are in clear text: `None` if that is not certain, or all of them are zero.
fn unknown_bytes(bytes: &[u8]) -> Option<bool> {
    let something = bytes.iter().any(|byte| *byte != 0);
    (something && innodb::randomness::looks_random(bytes) == Some(false)).then_some(true)
}

/// The first lines that dump tools write, or statements at the start of a line.
fn is_sql(head: &[u8]) -> bool {
    let Some(text) = as_text(head.get(..head.len().min(4096)).unwrap_or_default()) else { return false };
    let tools = [
        "-- MySQL dump",
        "-- MariaDB dump",
        "-- mydumper",
        "-- MySQL Shell",
        "-- Dump created by MySQL pump",
        "-- Host: ",
        "-- phpMyAdmin",
    ];
    let statements = [
        "INSERT INTO ",
        "REPLACE INTO ",
        "CREATE TABLE ",
        "CREATE DATABASE ",
        "DROP TABLE IF EXISTS ",
        "LOCK TABLES ",
        "/*!40",
        "/*!50",
        "/*M!",
        "SET @",
        "SET NAMES ",
    ];
    let begins = |line: &str, message: &[&str]| {
        message.iter().any(|word| line.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)))
    };
    text.lines().take(60).any(|line| begins(line, &tools) || begins(line, &statements))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::testing::recognised;
    use super::*;

    const DUMP: &[u8] = b"-- MySQL dump 10.13  Distrib 9.7.4\n--\nCREATE TABLE `t` (\n";

    fn backup(name: &str, bytes: &[u8]) -> BackupFile {
        match recognised(name, Role::Backup, bytes) {
            Content::Backup { backup } => backup,
            other => panic!("{other:?}"),
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn lz4(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, content) in members {
            let mut header = [0; 512];
            header[..name.len()].copy_from_slice(name.as_bytes());
            let size = format!("{:011o}\0", content.len());
            header[124..136].copy_from_slice(size.as_bytes());
            header[156] = b'0';
            header[257..262].copy_from_slice(b"ustar");
            bytes.extend(header);
            bytes.extend(*content);
            bytes.resize(bytes.len().next_multiple_of(512), 0);
        }
        bytes.resize(bytes.len() + 1024, 0);
        bytes
    }

    fn noise(len: usize) -> Vec<u8> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn dumps_are_found_inside_their_wrappings() {
        let found = backup("a.sql", DUMP);
        assert_eq!((found.layers.join(" "), found.readable), ("sql".to_owned(), Some(true)));
        let found = backup("a.sql.gz", &gzip(DUMP));
        assert_eq!((found.layers.join(" "), found.readable), ("gzip sql".to_owned(), Some(true)));
        let found = backup("a.lz4", &lz4(&tar(&[("x/a.sql", DUMP)])));
        assert_eq!((found.layers.join(" "), found.readable), ("lz4 tar sql".to_owned(), Some(true)));
        let found = backup("a.zst", &zstd::encode_all(DUMP, 1).unwrap());
        assert_eq!((found.layers.join(" "), found.readable), ("zstd sql".to_owned(), Some(true)));
    }

    #[test]
    fn encrypted_streams_are_not_readable() {
        let mut age = b"age-encryption.org/v1\n-> X25519 abc\n".to_vec();
        age.extend(noise(4000));
        assert_eq!(backup("a.age", &age).readable, Some(false));
        let mut gpg = b"\x8c\x0d\x04\x09\x03\x02".to_vec();
        gpg.extend(noise(4000));
        assert_eq!(backup("a.gpg", &gpg).layers, ["openpgp"]);
        let mut openssl = b"Salted__".to_vec();
        openssl.extend(noise(4000));
        assert_eq!(backup("a.enc", &openssl).readable, Some(false));
        let inside = backup("a.tar.gz", &gzip(&tar(&[("dump.sql.age", &age)])));
        assert_eq!((inside.layers.join(" "), inside.readable), ("gzip tar age".to_owned(), Some(false)));
    }

    #[test]
    fn a_key_in_an_archive_is_seen() {
        let keys = b"1;0123456789abcdef0123456789abcdef\n";
        let found = backup("a.tar", &tar(&[("etc/keys.txt", keys), ("a.sql", DUMP)]));
        assert!(found.holds_keys && found.readable == Some(true));
    }

    #[test]
    fn members_of_an_xbstream_are_judged() {
        let mut bytes = Vec::new();
        for (path, content) in [("a.cnf", &b"[mysqld]"[..]), ("t.sql", DUMP)] {
            bytes.extend(b"XBSTCK01\0P");
            bytes.extend(u32::try_from(path.len()).unwrap().to_le_bytes());
            bytes.extend(path.as_bytes());
            bytes.extend(u64::try_from(content.len()).unwrap().to_le_bytes());
            bytes.extend([0; 12]);
            bytes.extend(content);
        }
        let found = backup("a.xbstream", &bytes);
        assert_eq!((found.layers.last().map(String::as_str), found.readable), (Some("sql"), Some(true)));
    }

    #[test]
    fn what_cannot_be_unpacked_is_not_called_encrypted() {
        let mut xz = b"\xfd7zXZ\0".to_vec();
        xz.extend(noise(1000));
        assert_eq!(backup("a.tar.xz", &xz).readable, None);
        assert_eq!(backup("a.sql.xz", &xz).readable, Some(true));
        let broken = gzip(DUMP);
        assert_eq!(backup("a.gz", &broken[..12]).layers.first().map(String::as_str), Some("gzip"));
    }

    #[test]
    fn a_bomb_is_unpacked_only_in_part() {
        let bomb = gzip(&vec![0; 200 << 20]);
        assert!(backup("bomb.gz", &bomb).readable.is_none());
    }

    #[test]
    fn exports_as_text_are_readable() {
        assert_eq!(backup("export.csv", b"1,\"Anna\"\n2,\"Bert\"\n").layers, ["text"]);
        assert!(matches!(recognised("notes", Role::Data, b"hello\n"), Content::Unknown { .. }));
    }
}
