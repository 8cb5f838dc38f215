//! Files that a server writes in a binary format: tablespaces, logs, tables of other engines.

use innodb::aria;
use innodb::binlog::{self, BinlogEncryption};
use innodb::binlog_scan;
use innodb::file_kind::{self, FileKind};
use innodb::file_suffix;
use innodb::server_file::{self, ROCKSDB_DIRECTORIES, has_rocksdb_rows};
use innodb::tablespace::{self, Depth, Encryption, ScanOptions, TablespaceKind};
use innodb::{Page0Fault, PageNo, ScanError, doublewrite, galera, redo};

use super::{Candidate, fill};
use crate::facts::files::Content;
use crate::facts::host::Role;

/// Number of pages besides page 0 that are read of a tablespace that page 0 declares unencrypted.
const CLEAR_SAMPLE: u32 = 6;
/// As above, if page 0 declares encryption: an unencrypted page is then a finding.
const ENCRYPTED_SAMPLE: u32 = 64;
/// Number of events that are read of a binary log; `--deep` reads all.
const EVENTS: u64 = 50_000;

pub(super) fn empty(file: &Candidate<'_>) -> Option<Content> {
    if file.size_bytes > 0 {
        return None;
    }
    Some(match file_kind::recognise(&[], file.name, 0) {
        Some(FileKind::Tablespace) => unidentified("the file is empty", false),
        _ => Content::Empty,
    })
}

pub(super) fn by_content(file: &Candidate<'_>) -> Option<Content> {
    // Page 0 of a tablespace can only be judged as a whole.
    let kind = file_kind::recognise(file.head, "", file.size_bytes).or_else(|| {
        let mut page = vec![0; 64 << 10];
        let may_be = file.head.get(24..26) == Some(&[0, 8]);
        let count = if may_be { fill(file.source, 0, &mut page)? } else { 0 };
        file_kind::recognise(page.get(..count)?, "", file.size_bytes)
    })?;
    as_kind(file, stronger_than_content(file).unwrap_or(kind))
}

/// Files whose name is more reliable than their content: the first slot of a doublewrite file may contain the first
/// page of a tablespace, and files with a damaged start may look like another kind.
fn stronger_than_content(file: &Candidate<'_>) -> Option<FileKind> {
    if is_doublewrite(file) {
        return Some(FileKind::Doublewrite);
    }
    let named = file_kind::by_name(file.name);
    named.filter(|kind| matches!(kind, FileKind::Redo | FileKind::AriaData))
}

pub(super) fn by_name(file: &Candidate<'_>) -> Option<Content> {
    let kind = file_kind::recognise(&[], file.name, file.size_bytes);
    as_kind(file, kind.or_else(|| is_doublewrite(file).then_some(FileKind::Doublewrite))?)
}

/// By name, or because a variable names it.
fn is_doublewrite(file: &Candidate<'_>) -> bool {
    file.role == Role::Doublewrite || file_kind::recognise(&[], file.name, 0) == Some(FileKind::Doublewrite)
}

/// ELF header: magic, and type `ET_CORE` (4) at byte 16. Source: `elf(5)`.
pub(super) fn core_dump(file: &Candidate<'_>) -> Option<Content> {
    let little = file.head.get(16..18) == Some(&[4, 0]);
    let big = file.head.get(16..18) == Some(&[0, 4]);
    (file.head.starts_with(b"\x7fELF") && (little || big)).then_some(Content::CoreDump)
}

/// Engines with their own file names: MyRocks stores tables, values and its log in one directory, TokuDB a file for
/// each index. Neither encrypts.
pub(super) fn other_engine(file: &Candidate<'_>) -> Option<Content> {
    if file_suffix::has(file.name, file_suffix::TOKUDB) {
        return Some(plain("TokuDB"));
    }
    if !ROCKSDB_DIRECTORIES.contains(&file.parent) {
        return None;
    }
    Some(if has_rocksdb_rows(file.name) { plain("MyRocks") } else { Content::Structure })
}

fn as_kind(file: &Candidate<'_>, kind: FileKind) -> Option<Content> {
    Some(match kind {
        FileKind::Tablespace => tablespace(file),
        FileKind::Redo => or_unreadable(
            redo::scan(file.source, file.budget.special(file.size_bytes))
                .map(|scan| Content::Redo { scan: Box::new(scan) }),
        ),
        FileKind::Doublewrite => doublewrite(file),
        FileKind::Binlog | FileKind::BinlogEncrypted => binary_log(file),
        FileKind::AriaIndex => aria_index(file),
        FileKind::AriaData => aria_data(file),
        FileKind::AriaLog => Content::AriaLog,
        FileKind::MyisamData => plain("MyISAM"),
        FileKind::Archive => plain("ARCHIVE"),
        FileKind::Csv => plain("CSV"),
        FileKind::ExportKey => Content::ExportKey,
        FileKind::GaleraCache => {
            or_unreadable(galera::scan(file.source, file.budget.sample()).map(|cache| Content::GaleraCache { cache }))
        }
        FileKind::MyisamIndex | FileKind::CsvMeta | FileKind::Definition | FileKind::ExportMeta => Content::Structure,
    })
}

fn tablespace(file: &Candidate<'_>) -> Content {
    let first = match tablespace::scan(file.source, Depth::Head, &ScanOptions::default()) {
        Ok(scan) => scan,
        Err(ScanError::Io { source, .. }) => return Content::Unreadable { why: source.to_string() },
        Err(error) if is_unwritten(&error) && never_used(file) => return Content::Empty,
        Err(error) if is_unwritten(&error) => return unidentified(UNWRITTEN, true),
        Err(error) => return unidentified(&error.to_string(), false),
    };
    let page_bytes = u64::from(first.page0.physical_page_bytes).max(1);
    let special = is_special(first.page0.kind) || server_file::is_undo(file.name);
    let depth = if file.budget.deep {
        Depth::All
    } else if special {
        let pages = file.budget.special(file.size_bytes) / page_bytes;
        if pages.saturating_mul(page_bytes) >= file.size_bytes {
            Depth::All
        } else {
            Depth::Sample(u32::try_from(pages).unwrap_or(u32::MAX))
        }
    } else if matches!(first.page0.encryption, Encryption::None) {
        Depth::Sample(CLEAR_SAMPLE)
    } else {
        Depth::Sample(ENCRYPTED_SAMPLE)
    };
    or_unreadable(
        tablespace::scan(file.source, depth, &ScanOptions::default())
            .map(|scan| Content::Tablespace { scan: Box::new(scan) }),
    )
}

/// A temporary tablespace that was created but not used: everything after its first pages, which have no rows, is zero.
fn never_used(file: &Candidate<'_>) -> bool {
    const FIRST_PAGES: u64 = 64 << 10;
    let temporary = server_file::is_temporary(file.name);
    let sample = || innodb::randomness::sample(file.source, FIRST_PAGES, file.budget.special(file.size_bytes));
    temporary && sample().is_ok_and(|sample| sample.clear == 0 && sample.random == 0)
}

/// Tablespaces whose pages may differ from what page 0 declares, so that a sample does not suffice.
const fn is_special(kind: TablespaceKind) -> bool {
    !matches!(kind, TablespaceKind::FilePerTable | TablespaceKind::General)
}

fn doublewrite(file: &Candidate<'_>) -> Content {
    let page_bytes = doublewrite::page_bytes_of_name(file.name);
    let allowed = file.budget.special(file.size_bytes);
    or_unreadable(
        doublewrite::scan(file.source, page_bytes, allowed).map(|scan| Content::Doublewrite { scan: Box::new(scan) }),
    )
}

fn binary_log(file: &Candidate<'_>) -> Content {
    let limit = if file.budget.deep { u64::MAX } else { EVENTS };
    let log = match binlog::recognise(file.source) {
        Ok(log) => log,
        Err(error) => return Content::Unreadable { why: error.to_string() },
    };
    let open = !matches!(log.encryption, BinlogEncryption::MySql { .. });
    let events = if open { binlog_scan::events(file.source, limit, u64::MAX).ok() } else { None };
    Content::BinaryLog { log, events }
}

fn aria_index(file: &Candidate<'_>) -> Content {
    match aria::recognise_table(file.head) {
        Some(table) => Content::AriaIndex { table },
        None => Content::Unreadable { why: "its header is not that of an Aria table's index file".to_owned() },
    }
}

/// The data file has no header; the index file next to it is needed to read it.
fn aria_data(file: &Candidate<'_>) -> Content {
    let stem = file_suffix::strip(file.name, file_suffix::ARIA_DATA).unwrap_or(file.name);
    let index = format!("{stem}.{}", file_suffix::ARIA_INDEX);
    match (file.sibling)(&index).and_then(|head| aria::recognise_table(&head)) {
        Some(table) => {
            let scanned = aria::scan_data(file.source, &table, file.budget.sample());
            or_unreadable(scanned.map(|scan| Content::AriaData { scan }))
        }
        None => Content::Unreadable { why: format!("{index} beside it, which tells its format, cannot be read") },
    }
}

fn plain(engine: &str) -> Content {
    Content::PlainTable { engine: engine.to_owned() }
}

fn unidentified(why: &str, unwritten: bool) -> Content {
    Content::UnidentifiedTablespace { why: why.to_owned(), unwritten }
}

const UNWRITTEN: &str =
    "its first page is zero or has no type, as of a table just made: its beginning can be in the redo log alone";

/// A new tablespace: its first page is zero, or has no type, until it is written.
const fn is_unwritten(error: &ScanError) -> bool {
    matches!(error, ScanError::Page(Page0Fault::Empty | Page0Fault::NotFirst { page_no: PageNo(0), page_type: 0 }))
}

fn or_unreadable(scanned: Result<Content, ScanError>) -> Content {
    scanned.unwrap_or_else(|error| Content::Unreadable { why: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::super::testing::recognised;
    use super::*;

    #[test]
    fn damaged_tablespaces_are_unidentified() {
        let why = |bytes: &[u8]| match recognised("t.ibd", Role::Data, bytes) {
            Content::UnidentifiedTablespace { why, .. } => why,
            other => panic!("{other:?}"),
        };
        assert!(why(b"").contains("empty"));
        assert!(why(&[0; 16384]).contains("zero"));
        assert!(!why(b"\x01\x02").is_empty());
    }

    #[test]
    fn a_doublewrite_file_may_begin_with_the_first_page_of_a_tablespace() {
        let mut page = vec![0; 16384];
        page[8..12].copy_from_slice(&90_704_u32.to_be_bytes());
        page[24..26].copy_from_slice(&8_u16.to_be_bytes());
        page[54..58].copy_from_slice(&0x4021_u32.to_be_bytes());
        assert!(matches!(recognised("t.ibd", Role::Data, &page), Content::Tablespace { .. }));
        assert!(matches!(recognised("#ib_16384_0.dblwr", Role::Data, &page), Content::Doublewrite { .. }));
        assert!(matches!(recognised("xb_doublewrite", Role::Data, &page), Content::Doublewrite { .. }));
        assert!(matches!(recognised("xb_doublewrite", Role::Data, &[0; 65536]), Content::Doublewrite { .. }));
        assert!(matches!(recognised("parallel", Role::Doublewrite, &page), Content::Doublewrite { .. }));
        assert!(matches!(recognised("parallel", Role::Doublewrite, &[0; 65536]), Content::Doublewrite { .. }));
    }

    #[test]
    fn an_unused_temporary_tablespace_is_empty() {
        for name in ["ibtmp1", "temp_1.ibt"] {
            assert!(matches!(recognised(name, Role::Data, &[0; 32768]), Content::Empty), "{name}");
        }
        assert!(matches!(recognised("temp_1.ibd", Role::Data, &[0; 32768]), Content::UnidentifiedTablespace { .. }));
        let mut used = vec![0; 65536];
        used.extend([1; 16384]);
        assert!(matches!(recognised("ibtmp1", Role::Data, &used), Content::UnidentifiedTablespace { .. }));
    }

    #[test]
    fn tables_of_other_engines_are_plain() {
        assert!(
            matches!(recognised("t.MYD", Role::Data, b"row"), Content::PlainTable { engine } if engine == "MyISAM")
        );
        assert!(
            matches!(recognised("slow_log.CSV", Role::Data, b"\"x\""), Content::PlainTable { engine } if engine == "CSV")
        );
        assert!(matches!(recognised("t.MYD", Role::Data, b""), Content::Empty));
    }

    #[test]
    fn engines_that_cannot_encrypt_are_named() {
        assert!(
            matches!(recognised("_d_t_main_1.tokudb", Role::Data, b"tokudata"), Content::PlainTable { engine } if engine == "TokuDB")
        );
        let rocks = tempfile::tempdir().unwrap();
        let dir = rocks.path().join(".rocksdb");
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("000012.sst"), [7; 64]).unwrap();
        std::fs::write(dir.join("CURRENT"), "MANIFEST-000001\n").unwrap();
        let found = crate::collect::offline(rocks.path(), &crate::collect::OfflineOptions::default()).unwrap();
        let contents: Vec<&Content> = found.files.as_ref().unwrap().files.iter().map(|file| &file.content).collect();
        assert!(matches!(contents.as_slice(), [Content::PlainTable { .. }, Content::Structure]), "{contents:?}");
    }

    #[test]
    fn a_damaged_file_of_the_server_is_no_archive() {
        // The first bytes of an encrypted OpenPGP message, by chance.
        let mut bytes: Vec<u8> =
            (0_u32..8192).map(|i| (i.wrapping_mul(2_654_435_761) ^ i.rotate_left(13)).to_be_bytes()[1]).collect();
        bytes[..3].copy_from_slice(&[0x84, 0x5e, 3]);
        assert!(matches!(recognised("x.pgp", Role::Data, &bytes), Content::Backup { .. }));
        for name in ["t.MAI", "t.MAD"] {
            assert!(matches!(recognised(name, Role::Data, &bytes), Content::Unreadable { .. }), "{name}");
        }
        assert!(matches!(recognised("binlog.000007", Role::Data, &bytes), Content::Unknown { .. }));
    }

    #[test]
    fn a_core_dump_is_known_by_its_header() {
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(16, 0);
        elf.extend([4, 0, 62, 0]);
        assert!(matches!(recognised("core.1", Role::Data, &elf), Content::CoreDump));
    }
}
