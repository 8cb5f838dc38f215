//! Verifies everything except tablespaces: redo and binary logs, doublewrite files, Aria.

use std::path::Path;

use files::{ReadAt, Reader};
use innodb::{
    ScanError, doublewrite,
    file_kind::FileKind,
    file_suffix,
    randomness::looks_random,
    redo::RedoFormat,
    server_file::{is_batch_doublewrite, is_redo_with_header, redo_name, redo_number},
    verify::{
        self, Check, FileReport, ReportBuilder, Verdict,
        aria::AriaHeader,
        redo::{self, RedoReport},
        tablespace::TablespaceLookup,
    },
};

use crate::{
    keys::Keys,
    plan::{PlannedFile, data_directory, name as file_name},
    redo_logs::{RedoLogs, SystemLsns, has_mini_transactions, is_spare},
};

/// How often a file is verified again before it counts as changing.
const REREADS: usize = 4;
/// Verifies one file. Repeats if it looks damaged while a server may be writing it.
pub(crate) fn verify(
    kind: FileKind,
    file: &PlannedFile,
    reader: &Reader,
    keys: &Keys,
    logs: &RedoLogs,
    owners: &dyn TablespaceLookup,
    live: bool,
) -> Result<FileReport, ScanError> {
    let mut changed = false;
    let mut pauses = files::reread_pauses(REREADS);
    loop {
        let before = Stamp::read(reader);
        let report = once(kind, file, reader, keys, logs, owners)?;
        let during = before != Stamp::read(reader);
        changed |= during;
        let suspicious = matches!(report.verdict, Verdict::Damaged | Verdict::Truncated | Verdict::BadKeyInfo);
        if !suspicious || !(live || during) {
            return Ok(report);
        }
        let Some(pause) = pauses.next() else { return Ok(if changed { changing(report) } else { report }) };
        std::thread::sleep(pause);
    }
}

fn once(
    kind: FileKind,
    file: &PlannedFile,
    reader: &Reader,
    keys: &Keys,
    logs: &RedoLogs,
    owners: &dyn TablespaceLookup,
) -> Result<FileReport, ScanError> {
    match kind {
        FileKind::Redo => redo(file, reader, keys, logs),
        FileKind::Binlog | FileKind::BinlogEncrypted => verify::binlog::verify(reader, keys),
        FileKind::Doublewrite if is_batch_doublewrite(file_name(&file.path)) => Ok(FileReport::without_units()),
        FileKind::Doublewrite => {
            let page_bytes = doublewrite::page_bytes_of_name(file_name(&file.path));
            verify::doublewrite::verify(reader, page_bytes, owners)
        }
        FileKind::AriaIndex | FileKind::AriaData => aria_file(kind, file, reader, keys),
        _ => Ok(FileReport::without_units()),
    }
}

fn redo(file: &PlannedFile, reader: &Reader, keys: &Keys, logs: &RedoLogs) -> Result<FileReport, ScanError> {
    let redo_file_set = logs.redo_file_set(&file.path);
    match redo::verify(reader, keys, logs.key(&file.path)) {
        Err(ScanError::EmptyFile) if is_spare(&file.path) => Ok(FileReport::without_units()),
        Err(ScanError::EmptyFile) if redo_file_set.is_some_and(|(redo_file_set, _)| redo_file_set.is_one_file()) => {
            Ok(empty_log(logs.systems.get(&data_directory(&file.path)).copied()))
        }
        Err(ScanError::EmptyFile) => {
            let mut report = FileReport::without_units();
            report.shorten(0, "empty, and the log has other files");
            Ok(report)
        }
        report => {
            let mut report = report?;
            if report.format == RedoFormat::MySql && !is_spare(&file.path) {
                check_length(file, &mut report, logs);
            }
            if report.format == RedoFormat::Blank
                && report.file.verdict.is_sound()
                && is_redo_with_header(file_name(&file.path))
            {
                report.file = without_header();
            }
            if let Some((redo_file_set, number)) = redo_file_set.filter(|_| !has_mini_transactions(report.format)) {
                redo_file_set.check(number, file.bytes, &mut report.file);
            }
            Ok(report.file)
        }
    }
}

fn without_header() -> FileReport {
    let mut builder = ReportBuilder::default();
    builder.find(None, Some(0), Check::Unknown, "all zero, although its name is that of a file in use");
    builder.finish(None)
}

/// Judges an empty log. MariaDB accepts it as a log without changes, as mariadb-backup leaves it, if the system
/// tablespace contains the LSN at which it ended; otherwise it does not start ("ib_logfile0 is empty, and LSN is
/// unknown").
///
/// Source: seen on MariaDB 10.11 and 11.8.
fn empty_log(system: Option<SystemLsns>) -> FileReport {
    let mut builder = ReportBuilder::default();
    match system {
        None => builder.find(None, Some(0), Check::Unknown, "empty, and no system tablespace beside it says why"),
        Some(system) if system.flushed.0 == 0 => {
            builder.find(
                None,
                Some(0),
                Check::FileSize,
                "empty, and the system tablespace does not say where the log ended",
            );
        }
        Some(system) if system.flushed < system.newest => {
            let detail = format!("empty, and pages were changed after LSN {}, where the log ended", system.flushed);
            builder.find(None, Some(0), Check::FileSize, detail);
        }
        Some(_) => {}
    }
    builder.finish(None)
}

/// Checks the length of a file. MySQL's redo files are contiguous, so the start of the next one shows it.
fn check_length(file: &PlannedFile, report: &mut RedoReport, logs: &RedoLogs) {
    let Some(start) = report.start_lsn else { return };
    let Some(next) = logs.next_start(&file.path, start) else { return };
    let (needed, log_bytes) =
        (next.0.saturating_sub(start.0), file.bytes.saturating_sub(innodb::redo::blocks::BLOCKS_BEGIN));
    if needed > log_bytes && !is_followed_by_another(&file.path, logs) {
        let detail = format!("the next file of the log begins {needed} bytes later, this one holds {log_bytes}");
        report.file.shorten(file.bytes, detail);
    }
}

/// Whether the next file of the log, by its number, exists without a header that gives its start. Then that file is
/// damaged, and the one before it is not too short.
fn is_followed_by_another(redo: &Path, logs: &RedoLogs) -> bool {
    let follower = redo_number(file_name(redo)).and_then(|number| number.checked_add(1));
    let path = follower.map(|number| redo.with_file_name(redo_name(number)));
    path.is_some_and(|path| logs.without_start.contains(&path))
}

/// Verifies a file of Aria. A data file can be read only with the header of its index file. If the key decrypts nothing
/// in an index file, or not the only page of a data file, the table's other file decides whether the key is wrong. If
/// many pages of a data file cannot be decrypted, the index file may be that of another table.
fn aria_file(kind: FileKind, file: &PlannedFile, reader: &Reader, keys: &Keys) -> Result<FileReport, ScanError> {
    let of_index = kind == FileKind::AriaIndex;
    // A data file has no header.
    if !of_index && AriaHeader::read(reader).is_ok() {
        let mut report = FileReport::without_units();
        report.misplace("is an index file of Aria, in place of a data file");
        return Ok(report);
    }
    let other_path = file.path.with_extension(if of_index { file_suffix::ARIA_DATA } else { file_suffix::ARIA_INDEX });
    let other = || Reader::open(&other_path).map_err(|source| ScanError::Io { offset: 0, source });
    let header = if of_index { AriaHeader::read(reader) } else { other().and_then(|index| AriaHeader::read(&index)) };
    let verify = |of_index: bool, reader: &Reader, header: &AriaHeader| match of_index {
        true => verify::aria::verify_index(reader, header, keys),
        false => verify::aria::verify_data(reader, header, keys),
    };
    match header {
        Ok(header) => {
            let report = verify(of_index, reader, &header)?;
            match other() {
                Ok(other) if report.verdict == Verdict::WrongKey && (of_index || report.units.encrypted == 1) => {
                    let other = verify(!of_index, &other, &header)?;
                    verify(of_index, reader, &header.with_other_file(&other))
                }
                Ok(index) if !of_index && report.verdict == Verdict::Clear && looks_encrypted(reader) => {
                    let damaged = verify(true, &index, &header)?.verdict == Verdict::Damaged;
                    Ok(if damaged { unread_aria(&other_path, "damaged") } else { report })
                }
                _ => Ok(report),
            }
        }
        Err(error) if of_index => Err(error),
        Err(error) => Ok(unread_aria(&other_path, &error.to_string())),
    }
}

fn unread_aria(index: &Path, why: &str) -> FileReport {
    let mut builder = ReportBuilder::default();
    builder.find(
        None,
        Some(0),
        Check::Unknown,
        format!("{}, whose header is needed to read it: {why}", file_name(index)),
    );
    builder.finish(None)
}

/// Whether the first page of rows, after the page of the bitmap, looks like ciphertext.
fn looks_encrypted(reader: &Reader) -> bool {
    const ROWS: u64 = 8192 + 64;
    let mut bytes = vec![0; 4096];
    let read = reader.read_at(ROWS, &mut bytes).unwrap_or(0);
    bytes.truncate(read);
    looks_random(&bytes) == Some(true)
}

/// Reports a file that changed during each attempt as changing, not as damaged.
fn changing(mut report: FileReport) -> FileReport {
    report.verdict = Verdict::Unverifiable;
    for finding in &mut report.findings {
        finding.check = Check::Changing;
    }
    report
}

/// Length and modification time, to detect whether a file was written.
#[derive(PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: Option<std::time::SystemTime>,
}

impl Stamp {
    fn read(reader: &Reader) -> Option<Self> {
        let metadata = reader.file().metadata().ok()?;
        Some(Self { bytes: metadata.len(), modified: metadata.modified().ok() })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::plan::{DetectedKind, Plan};

    fn redo_file(start: u64) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        bytes[..4].copy_from_slice(&6_u32.to_be_bytes());
        bytes[8..16].copy_from_slice(&start.to_be_bytes());
        bytes[16..28].copy_from_slice(b"MySQL 9.7.4\0");
        bytes
    }

    #[test]
    fn an_empty_log_is_sound_only_where_it_ended_before_all_pages() {
        let verdict = |flushed: u64, newest: u64| {
            let directory = tempfile::tempdir().expect("made");
            let mut page0 = vec![0; 16384];
            page0[16..24].copy_from_slice(&newest.to_be_bytes());
            page0[24..26].copy_from_slice(&8_u16.to_be_bytes());
            page0[26..34].copy_from_slice(&flushed.to_be_bytes());
            fs::write(directory.path().join("ibdata1"), page0).expect("written");
            let log = directory.path().join("ib_logfile0");
            fs::write(&log, b"").expect("written");
            let plan = Plan::scan(&[directory.path().to_owned()]);
            let file = PlannedFile { path: log.clone(), kind: DetectedKind::Known(FileKind::Redo), bytes: 0 };
            let reader = Reader::open(&log).expect("there");
            redo(&file, &reader, &Keys::default(), &RedoLogs::read(&plan)).expect("read").verdict
        };
        assert_eq!(verdict(5000, 4000), Verdict::Clear);
        assert_eq!(verdict(5000, 6000), Verdict::Truncated);
        assert_eq!(verdict(0, 6000), Verdict::Truncated);
        assert_eq!(empty_log(None).verdict, Verdict::Unverifiable);
    }

    #[test]
    fn a_tablespace_in_place_of_a_log_does_not_make_the_other_log_too_short() {
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
        let tablespace = fs::read(sample.join("tablespace/mysql97-16k-encrypted-kbs8.ibd")).expect("a sample");
        let directory = tempfile::tempdir().expect("made");
        let log = |number: u32| directory.path().join(format!("ib_logfile{number}"));
        fs::write(log(0), &tablespace).expect("written");
        fs::write(log(1), vec![0; tablespace.len() / 2]).expect("written");
        let logs = RedoLogs::read(&Plan::scan(&[directory.path().to_owned()]));
        let (redo_file_set, number) = logs.redo_file_set(&log(1)).expect("a log");
        assert!(redo_file_set.is_one_file() && number == 1);
        fs::write(log(0), vec![0; tablespace.len()]).expect("written");
        let logs = RedoLogs::read(&Plan::scan(&[directory.path().to_owned()]));
        assert!(!logs.redo_file_set(&log(1)).expect("a log").0.is_one_file());
    }

    #[test]
    fn an_encrypted_table_of_aria_is_not_clear_because_its_index_file_is_damaged() {
        let sample = |name: &str| {
            fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/aria").join(name)).expect("a sample")
        };
        let directory = tempfile::tempdir().expect("made");
        let path = |ending: &str| directory.path().join("t").with_extension(ending);
        let header = sample("dynamic-clear.MAI");
        let index = [&header[..8192], &sample("encrypted.MAI")[8192..]].concat();
        fs::write(path("MAI"), index).expect("written");
        let verdict = |rows: &str| {
            fs::write(path("MAD"), sample(rows)).expect("written");
            let file = PlannedFile { path: path("MAD"), kind: DetectedKind::Known(FileKind::AriaData), bytes: 1 };
            let reader = Reader::open(&file.path).expect("there");
            aria_file(FileKind::AriaData, &file, &reader, &Keys::default()).expect("read").verdict
        };
        assert_eq!(verdict("encrypted.MAD"), Verdict::Unverifiable);
        assert_eq!(verdict("dynamic-clear.MAD"), Verdict::Clear);
        assert_eq!(verdict("encrypted.MAI"), Verdict::Damaged);
    }

    #[test]
    fn zeros_are_no_proof_of_a_redo_file_in_use() {
        let directory = tempfile::tempdir().expect("made");
        let verdict = |name: &str| {
            let path = directory.path().join(name);
            fs::write(&path, vec![0; 8192]).expect("written");
            let file = PlannedFile { path: path.clone(), kind: DetectedKind::Known(FileKind::Redo), bytes: 8192 };
            let reader = Reader::open(&path).expect("there");
            redo(&file, &reader, &Keys::default(), &RedoLogs::default()).expect("read").verdict
        };
        assert_eq!(verdict(&redo_name(7)), Verdict::Unverifiable);
        assert_eq!(verdict(&format!("{}_tmp", redo_name(8))), Verdict::Clear);
        // The only file of MariaDB's log, or the first of several.
        assert_eq!(verdict("ib_logfile0"), Verdict::Unverifiable);
        assert_eq!(verdict("ib_logfile1"), Verdict::Clear);
    }

    #[test]
    fn a_file_of_the_log_is_not_too_short_because_the_next_one_is_damaged() {
        let directory = tempfile::tempdir().expect("made");
        let path = |number: u64| directory.path().join(redo_name(number));
        for (number, start) in [(7, 2048), (8, 4096), (9, 6144)] {
            fs::write(path(number), redo_file(start)).expect("written");
        }
        let followed =
            || is_followed_by_another(&path(7), &RedoLogs::read(&Plan::scan(&[directory.path().to_owned()])));
        assert!(!followed());
        for damaged in [vec![], vec![0; 4096]] {
            fs::write(path(8), damaged).expect("written");
            assert!(followed());
        }
        // Only the length of the previous file shows that one is missing.
        fs::remove_file(path(8)).expect("removed");
        assert!(!followed());
    }
}
