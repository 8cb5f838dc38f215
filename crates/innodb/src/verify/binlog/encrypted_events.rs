//! Logs whose events are encrypted one by one: MariaDB, and Percona Server 5.7.

use files::ReadAt;
use zeroize::Zeroizing;

use crate::{
    binlog::{EVENT_HEADER_BYTES, EventHeader, known_type},
    bytes::{Bytes, as_u64, as_usize},
    crypt::binlog::{EventMode, EventPieces, MariaDbEvents, NONCE_BYTES},
    error::ScanError,
    ids::KeyVersion,
    keys::{KeySource, MARIADB_SYSTEM_KEY, percona_binary_log_key, percona_binary_log_key_name},
    read::length,
    verify::{
        Check, FileReport, RequiredKey,
        binlog::{
            chain::{Chain, START_BODY_BYTES, StartEncryption, low},
            log::{Cipher, Log, Sum},
        },
    },
};

/// Verifies the log of MariaDB or Percona Server 5.7 after its start-encryption event.
pub(super) fn verify<R: ReadAt + ?Sized>(
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
    let modes: &[EventMode] = if chain.mysql { &[EventMode::Percona] } else { &EventMode::MARIADB };
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
        chain.builder.find(None, offset, Check::KeyOpens, format!("{name} decrypts no event"));
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

/// Finds the mode in which some event decrypts. If a length is damaged, a later event may still decrypt.
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
        if any_decrypts(&log, chain, start.next)? || (broken && chain.search(&log, start.next)?.is_some()) {
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
fn any_decrypts<R: ReadAt + ?Sized>(log: &Log<'_, R>, chain: &Chain, mut at: u64) -> Result<bool, ScanError> {
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
pub(super) const fn has_known_flags(event: EventHeader) -> bool {
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
