//! Binary and relay logs: every event follows the one before, and its checksum matches.
//!
//! Proven: lengths lead from the magic to the end of the file without a gap; every event's CRC-32
//! matches after decryption; each event names its own position, if the server writes it (MariaDB
//! 11.4 and newer leave it out inside transactions, and a relay log keeps the source's). Not
//! proven: a log written with `binlog_checksum=NONE`, or by a server older than MySQL 5.6.1 and
//! MariaDB 5.3, has no checksums, so only lengths and positions are checked and changed rows are
//! not detected; a log cut exactly between two events looks complete. Events inside compressed
//! transactions and compressed events of MariaDB are covered by the checksum of the whole and are
//! not decompressed.
//!
//! Source: docs/formats, "MySQL binary / relay log encryption" and "Binary / relay log" of MariaDB; logs of Percona
//! Server 5.7.22 confirmed on testdata.

mod chain;
mod first_event;
pub(crate) mod format;
mod log;
mod resume;
mod search_budget;

use files::ReadAt;
use zeroize::Zeroizing;

pub use self::first_event::first_event;
use crate::{
    binlog::{
        EVENT_HEADER_BYTES, EventHeader, FIRST_EVENT, FORMAT_DESCRIPTION, MAGIC_CLEAR, MAGIC_ENCRYPTED,
        MYSQL_HEADER_BYTES, known_type,
    },
    bytes::{Bytes, as_u64, as_usize},
    crypt::binlog::{
        EventMode, EventPieces, HeaderFault, MariaDbEvents, MySqlHeader, MySqlStream, NONCE_BYTES, StreamKey,
    },
    error::ScanError,
    ids::KeyVersion,
    keys::{KeySource, MARIADB_SYSTEM_KEY, percona_binary_log_key, percona_binary_log_key_name},
    randomness::looks_random,
    read::{fill, length},
    verify::{
        Check, FileReport, ReportBuilder, RequiredKey,
        binlog::{
            chain::{Chain, START_BODY_BYTES, StartEncryption, Stop, low},
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
        if opens(&log, clear_text, &mut builder)? {
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

/// Whether the key decrypts the stream: by its magic, or by the event after a damaged magic.
fn opens<R: ReadAt + ?Sized>(
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
        builder.find(None, offset, Check::Header, "the magic inside is damaged, what follows it opens");
        return Ok(true);
    } else if clear_text {
        builder.find(None, offset, Check::ClearUnit, CLEAR_TEXT);
    } else {
        let detail = "the key opens the log to no binary log: another key, or the password or initialisation vector \
                      in the header is damaged, which nothing in the file tells apart";
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
        Stop::Encrypted(start) => sealed(clear, chain, start, keys),
    }
}

/// Verifies the log of MariaDB or Percona Server 5.7 after its start-encryption event.
fn sealed<R: ReadAt + ?Sized>(
    clear: &Log<'_, R>,
    mut chain: Chain,
    start: StartEncryption,
    keys: &dyn KeySource,
) -> Result<FileReport, ScanError> {
    let mut buf = [0; START_BODY_BYTES as usize];
    let body = clear.bytes(start.at.saturating_add(as_u64(EVENT_HEADER_BYTES)), &mut buf)?;
    let [scheme] = body.array_at(0).unwrap_or_default();
    let version = KeyVersion(body.le32(1).unwrap_or(0));
    let nonce: [u8; NONCE_BYTES] = body.array_at(5).unwrap_or_default();
    let offset = Some(start.at);
    if scheme != 1 {
        chain.builder.find(Some(1), offset, Check::Unknown, format!("encryption of scheme {scheme} is not known"));
        walk_encrypted(clear, &mut chain, start.next)?;
        return Ok(chain.builder.finish(None));
    }
    let LogKey { name, asked, key, store_given } = LogKey::find(chain.mysql, version, keys);
    let modes: &[EventMode] = if chain.mysql { &[EventMode::Percona] } else { &[EventMode::Cbc, EventMode::Ctr] };
    let events = match &key {
        Some(key) => decryptor(clear, &mut chain, start, key, nonce, modes)?,
        None => None,
    };
    if let Some(events) = events {
        let log = Log { source: clear.source, base: 0, end: clear.end, cipher: Cipher::MariaDb(events) };
        chain.walk(&log, start.next)?;
        return Ok(chain.builder.finish(Some(asked)));
    }
    walk_encrypted(clear, &mut chain, start.next)?;
    let any = chain.builder.units.encrypted > 0;
    if !start.sound {
        chain.builder.bad_key_info(offset, "the start-encryption event fails its checksum");
    } else if key.is_none() && store_given {
        chain.builder.find(None, offset, Check::Key, format!("no {name}"));
    } else if key.is_some() && any {
        chain.builder.find(None, offset, Check::KeyOpens, format!("{name} opens no event"));
    } else if any {
        chain.builder.unproven();
    }
    Ok(chain.builder.finish(Some(asked)))
}

/// The key that a start-encryption event names.
struct LogKey {
    /// Name of the key in messages.
    name: String,
    asked: RequiredKey,
    key: Option<Zeroizing<Vec<u8>>>,
    /// Whether a key store of the right kind was given.
    store_given: bool,
}

impl LogKey {
    /// MariaDB: from the key file. Percona Server 5.7: from the keyring; 5.7.20 stored it without a
    /// version.
    ///
    /// Source: `binlog_crypt_data.cc` of Percona Server 5.7; the name with a version confirmed on 5.7.22.
    fn find(percona: bool, version: KeyVersion, keys: &dyn KeySource) -> Self {
        if percona {
            let name = percona_binary_log_key_name(version);
            let key = percona_binary_log_key(keys, version);
            let asked = RequiredKey::MysqlBinlog { name: name.clone() };
            return Self { name: format!("key {name}"), asked, key, store_given: keys.has_mysql() };
        }
        Self {
            name: format!("key {MARIADB_SYSTEM_KEY} version {version}"),
            asked: RequiredKey::MariaDb { key_id: MARIADB_SYSTEM_KEY, versions: vec![version] },
            key: keys.mariadb(MARIADB_SYSTEM_KEY, version),
            store_given: keys.has_mariadb(),
        }
    }
}

/// Finds the mode in which some event decrypts. If a length is damaged, a later event may.
fn decryptor<R: ReadAt + ?Sized>(
    clear: &Log<'_, R>,
    chain: &mut Chain,
    start: StartEncryption,
    key: &[u8],
    nonce: [u8; NONCE_BYTES],
    modes: &[EventMode],
) -> Result<Option<MariaDbEvents>, ScanError> {
    for mode in modes {
        let Ok(events) = MariaDbEvents::new(key, nonce, *mode) else { return Ok(None) };
        let log = Log { source: clear.source, base: 0, end: clear.end, cipher: Cipher::MariaDb(events) };
        let broken = !reaches_the_end(clear, start.next)?;
        if any_opens(&log, chain, start.next)? || (broken && chain.search(&log, start.next)?.is_some()) {
            let Cipher::MariaDb(events) = log.cipher else { return Ok(None) };
            return Ok(Some(events));
        }
    }
    Ok(None)
}

/// Whether the lengths of encrypted events lead to the end of the log.
fn reaches_the_end<R: ReadAt + ?Sized>(clear: &Log<'_, R>, mut at: u64) -> Result<bool, ScanError> {
    while at < clear.end {
        let Some(event) = clear.header(at)? else { return Ok(false) };
        at = at.saturating_add(u64::from(event.bytes));
    }
    Ok(at == clear.end)
}

/// Whether one of the first events decrypts to a valid event: it names its own position (32 bits),
/// or its checksum matches. If neither is written, the first few must look like events.
fn any_opens<R: ReadAt + ?Sized>(log: &Log<'_, R>, chain: &Chain, mut at: u64) -> Result<bool, ScanError> {
    const EVENTS: u32 = 64;
    const IN_A_ROW: u32 = 3;
    const MAX_CHECKSUMMED_BYTES: u32 = 1 << 20;
    let rules = chain.rules;
    let mut alike = true;
    let mut short = false;
    for number in 1..=EVENTS {
        let Some(event) = log.header(at)? else { break };
        let next = at.saturating_add(u64::from(event.bytes));
        let known = known_type(event.kind);
        if known && rules.positions && event.end_log_pos == low(next) {
            // Less than a block is encrypted: both modes give the same result.
            if as_usize(u64::from(event.bytes)) >= EventPieces::FIRST_BYTES {
                return Ok(true);
            }
            short = true;
        }
        if next > log.end {
            break;
        }
        if rules.checksums && known && event.bytes <= MAX_CHECKSUMMED_BYTES && log.sum(at, event)? == Sum::Right {
            return Ok(true);
        }
        let unsaid = !rules.positions || event.end_log_pos == 0;
        alike &= known && unsaid && has_known_flags(event);
        if !rules.checksums && alike && (number >= IN_A_ROW || next == log.end) {
            return Ok(true);
        }
        at = next;
    }
    Ok(short)
}

/// Source: `log_event.h`: flags 0x0400 to 0x2000 are not used.
const fn has_known_flags(event: EventHeader) -> bool {
    event.flags & 0x3c00 == 0
}

/// Follows the readable lengths of encrypted events and counts them.
fn walk_encrypted<R: ReadAt + ?Sized>(clear: &Log<'_, R>, chain: &mut Chain, mut at: u64) -> Result<(), ScanError> {
    while at < clear.end {
        let left = clear.end.saturating_sub(at);
        let event = clear.header(at)?;
        let bytes = event.map_or(0, |event| u64::from(event.bytes));
        if event.is_some() && bytes <= left {
            chain.count_encrypted();
            at = at.saturating_add(bytes);
            continue;
        }
        if event.is_none() && left >= as_u64(EVENT_HEADER_BYTES) {
            chain.bad(clear, at, Check::Length, "gives its length as less than its header".to_owned());
        } else if length(clear.source)? <= clear.end {
            let detail = format!("the last event has only {left} bytes left, or its length is damaged");
            chain.builder.find(Some(chain.unit()), Some(at), Check::PartialUnit, detail);
        }
        return Ok(());
    }
    Ok(())
}
