//! Binary and relay logs: every event follows the one before, and its checksum matches.
//!
//! Proven: lengths lead from the magic to the end of the file without a gap; every event's CRC-32
//! matches after decryption; each event names its own position, if the server writes it (MariaDB
//! 11.4 and newer leave it out inside transactions, and a relay log keeps the source's).
//!
//! Not proven: a log written with `binlog_checksum=NONE`, or by a server older than MySQL 5.6.1 and
//! MariaDB 5.3, has no checksums. Only its lengths and positions are checked, so changed rows are
//! not detected. A log cut exactly between two events looks complete. Compressed transactions and
//! compressed events of MariaDB are not decompressed: the checksum of the whole event covers them.
//!
//! Source: docs/formats, "MySQL binary / relay log encryption" and "Binary / relay log" of MariaDB; logs of Percona
//! Server 5.7.22 confirmed on testdata.

mod chain;
mod encrypted_events;
mod first_event;
pub(crate) mod format;
mod log;
mod resume;
mod search_budget;

use files::ReadAt;

pub use self::first_event::first_event;
use crate::{
    binlog::{FIRST_EVENT, FORMAT_DESCRIPTION, MAGIC_CLEAR, MAGIC_ENCRYPTED, MYSQL_HEADER_BYTES},
    bytes::{Bytes, as_u64},
    crypt::binlog::{HeaderFault, MySqlHeader, MySqlStream, StreamKey},
    error::ScanError,
    keys::KeySource,
    randomness::looks_random,
    read::{fill, length},
    verify::{
        Check, FileReport, ReportBuilder, RequiredKey,
        binlog::{
            chain::{Chain, Stop},
            log::{Cipher, Log, Sum},
        },
    },
};

/// Enough to detect clear text after the header of an encrypted log.
const HEAD_BYTES: usize = 4096;

/// Verifies the events of a binary or relay log, in bounded memory for events of any length.
///
/// Without the key of a MySQL log its events cannot be counted: the units are then 0.
///
/// # Errors
/// [`ScanError::EmptyFile`], [`ScanError::NotRecognised`] if neither its magic nor the bytes after
/// it are those of a log, [`ScanError::Io`].
pub fn verify<R: ReadAt + ?Sized>(source: &R, keys: &dyn KeySource) -> Result<FileReport, ScanError> {
    let file_bytes = length(source)?;
    if file_bytes == 0 {
        return Err(ScanError::EmptyFile);
    }
    let mut buf = vec![0; HEAD_BYTES];
    let head = fill(source, 0, &mut buf)?;
    let clear = Log { source, base: 0, end: file_bytes, cipher: Cipher::Clear };
    if head.starts_with(MAGIC_CLEAR) {
        return events(&clear, ReportBuilder::default(), keys);
    }
    if head.starts_with(MAGIC_ENCRYPTED) {
        return mysql(source, head, file_bytes, ReportBuilder::default(), keys);
    }
    let mut builder = ReportBuilder::default();
    builder.find(None, Some(0), Check::Header, "the magic is not that of a binary log, what follows it is");
    if describes(&clear)? {
        return events(&clear, builder, keys);
    }
    if MySqlHeader::parse(head).is_ok() {
        return mysql(source, head, file_bytes, builder, keys);
    }
    Err(ScanError::NotRecognised { expected: "binary log" })
}

/// Whether the clear stream starts with a valid format description event.
fn describes<R: ReadAt + ?Sized>(log: &Log<'_, R>) -> Result<bool, ScanError> {
    let event = log.header(FIRST_EVENT)?.filter(|event| event.kind == FORMAT_DESCRIPTION && event.bytes <= 4096);
    event.map_or(Ok(false), |event| Ok(log.sum(FIRST_EVENT, event)? == Sum::Right))
}

/// Verifies MySQL's log after its header.
fn mysql<R: ReadAt + ?Sized>(
    source: &R,
    head: &[u8],
    file_bytes: u64,
    mut builder: ReportBuilder,
    keys: &dyn KeySource,
) -> Result<FileReport, ScanError> {
    let header_bytes = as_u64(MYSQL_HEADER_BYTES);
    if file_bytes < header_bytes {
        let detail = format!("the header has {header_bytes} bytes, the file {file_bytes}");
        builder.find(None, Some(file_bytes), Check::FileSize, detail);
        return Ok(builder.finish(None));
    }
    let header = match MySqlHeader::parse(head) {
        Ok(header) => header,
        Err(HeaderFault::Version(version)) => {
            builder.find(None, Some(4), Check::Unknown, format!("version {version} of the header is not known"));
            return Ok(builder.finish(None));
        }
        Err(fault) => {
            builder.bad_key_info(Some(4), fault.to_string());
            return Ok(builder.finish(None));
        }
    };
    if !header.padded_with_zeros {
        builder.find(None, Some(5), Check::Header, "the header's padding is not zero");
    }
    let key = Some(RequiredKey::MysqlBinlog { name: header.key_name.clone() });
    let clear_text = looks_random(head.range(MYSQL_HEADER_BYTES, head.len())) == Some(false);
    if let Some(stream) = mysql_stream(&header, &mut builder, keys) {
        let end = file_bytes.saturating_sub(header_bytes);
        let log = Log { source, base: header_bytes, end, cipher: Cipher::MySql(stream) };
        if decrypts(&log, clear_text, &mut builder)? {
            let mut chain = walk_on(&log, builder)?;
            chain.expect_event(&log);
            return Ok(chain.builder.finish(key));
        }
    } else if clear_text {
        builder.find(None, Some(header_bytes), Check::ClearUnit, CLEAR_TEXT);
    }
    Ok(builder.finish(key))
}

const CLEAR_TEXT: &str = "clear text after the header of an encrypted log";

/// The stream as the available key decrypts it.
fn mysql_stream(header: &MySqlHeader, builder: &mut ReportBuilder, keys: &dyn KeySource) -> Option<MySqlStream> {
    let Some(password) = header.password_of(keys) else {
        if keys.has_mysql() {
            builder.find(None, Some(4), Check::Key, format!("no key {}", header.key_name));
        } else {
            builder.unproven();
        }
        return None;
    };
    StreamKey::derive(&password).ok()?.stream().ok()
}

/// Whether the key decrypts the stream. Tests the magic or, if that is damaged, the event after it.
fn decrypts<R: ReadAt + ?Sized>(
    log: &Log<'_, R>,
    clear_text: bool,
    builder: &mut ReportBuilder,
) -> Result<bool, ScanError> {
    let mut buf = [0; MAGIC_CLEAR.len()];
    let magic = log.bytes(0, &mut buf)?;
    if magic == MAGIC_CLEAR {
        return Ok(true);
    }
    let offset = Some(log.file_offset(0));
    if magic.len() < MAGIC_CLEAR.len() {
        builder.find(None, offset, Check::FileSize, "the file ends before the first event");
    } else if describes(log)? {
        builder.find(None, offset, Check::Header, "the magic inside is damaged, but what follows it decrypts");
        return Ok(true);
    } else if clear_text {
        builder.find(None, offset, Check::ClearUnit, CLEAR_TEXT);
    } else {
        let detail = "the key does not decrypt the log to a binary log: another key, or the password or initialisation \
                      vector in the header is damaged, which nothing in the file tells apart";
        builder.find(None, offset, Check::KeyOpens, detail);
    }
    Ok(false)
}

/// Walks a log that needs no further key.
fn walk_on<R: ReadAt + ?Sized>(log: &Log<'_, R>, builder: ReportBuilder) -> Result<Chain, ScanError> {
    let mut chain = Chain::new(log.end);
    chain.builder = builder;
    chain.walk(log, FIRST_EVENT)?;
    Ok(chain)
}

/// Verifies a log that starts in the clear: all of it, or up to MariaDB's first encrypted event.
fn events<R: ReadAt + ?Sized>(
    clear: &Log<'_, R>,
    builder: ReportBuilder,
    keys: &dyn KeySource,
) -> Result<FileReport, ScanError> {
    let mut chain = Chain::new(clear.end);
    chain.builder = builder;
    match chain.walk(clear, FIRST_EVENT)? {
        Stop::End => {
            chain.expect_more(clear)?;
            Ok(chain.builder.finish(None))
        }
        Stop::Encrypted(start) => encrypted_events::verify(clear, chain, start, keys),
    }
}
