//! The events of a log file, decrypted if it is encrypted.

use files::{ReadAt, read_up_to};
use innodb::{
    KeyVersion,
    binlog::{MAGIC_CLEAR, MAGIC_ENCRYPTED, MYSQL_HEADER_BYTES},
    crypt::binlog::{EventMode, MariaDbEvents, MySqlHeader, MySqlStream, StreamKey},
    keys::{KeySource, MARIADB_SYSTEM_KEY, percona_binary_log_key, percona_binary_log_key_name},
};

use crate::{
    Checksum, Event, EventHeader, EventType, Fault, HEADER_BYTES, Limits,
    bytes::{as_u64, as_usize},
    decoder::Decoder,
    error::Error,
    event::{Body, StartEncryption},
};

/// Bytes at the start of a MySQL log that show whether a key is right.
const HEAD_BYTES: usize = MYSQL_HEADER_BYTES + 4;
/// Offset of an event's length, which is never encrypted.
const LENGTH_AT: u64 = 9;
/// Bytes that are read at a time.
const BLOCK_BYTES: usize = 1 << 16;

#[derive(Debug)]
enum Cipher {
    Clear,
    MySql(MySqlStream),
    /// From the start encryption event on.
    MariaDb(MariaDbEvents),
}

/// Reads the events of a log file in order. Positions are those of the server: offsets in the decrypted log.
///
/// Memory is bounded by the longest event, see [`Limits`].
#[derive(Debug)]
pub struct LogFile<'k, R> {
    source: R,
    keys: &'k dyn Keys,
    /// Offset in the file at which the decrypted log begins.
    base: u64,
    position: u64,
    end: u64,
    cipher: Cipher,
    decoder: Decoder,
    event: Vec<u8>,
}

/// A [`KeySource`] whose `Debug` output shows no keys.
trait Keys: KeySource {}

impl<K: KeySource + ?Sized> Keys for K {}

impl std::fmt::Debug for dyn Keys + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

impl<'k, R: ReadAt> LogFile<'k, R> {
    /// Opens a log at its first event. Bytes that are appended later are not read.
    ///
    /// # Errors
    /// [`Error`].
    pub fn open<K: KeySource>(source: R, keys: &'k K, limits: Limits) -> Result<Self, Error> {
        let end = source.len().map_err(|source| Error::Read { offset: 0, source })?;
        let mut head = vec![0; HEAD_BYTES];
        let found = fill(&source, 0, &mut head)?;
        head.truncate(found);
        let (base, cipher) = if head.starts_with(MAGIC_CLEAR) {
            (0, Cipher::Clear)
        } else if head.starts_with(MAGIC_ENCRYPTED) {
            (as_u64(MYSQL_HEADER_BYTES), Cipher::MySql(stream(&head, keys)?))
        } else {
            return Err(Error::NotALog);
        };
        let end = end.saturating_sub(base);
        let decoder = Decoder::new(limits);
        let position = as_u64(MAGIC_CLEAR.len());
        Ok(Self { source, keys, base, position, end, cipher, decoder, event: Vec::new() })
    }

    /// Position of the next event.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The decoder, for the events of a [`crate::event::Payload`].
    pub const fn decoder(&mut self) -> &mut Decoder {
        &mut self.decoder
    }

    /// The next event with its position; `None` at the end.
    ///
    /// # Errors
    /// [`Error`]. The next call continues after a damaged event, if its length is known.
    pub fn next_event(&mut self) -> Result<Option<(u64, Event<'_>)>, Error> {
        let Some(position) = self.read()? else { return Ok(None) };
        let at = |fault| Error::Event { position, fault };
        let event = self.decoder.decode(&self.event).map_err(at)?;
        if let Body::StartEncryption(start) = &event.body {
            let percona = event.header.kind == EventType::START_ENCRYPTION_PERCONA;
            let checksum = self.decoder.format().map(|format| format.checksum).unwrap_or_default();
            let setup = CipherSetup { source: &self.source, position: self.position, end: self.end, checksum };
            self.cipher = setup.open(start, percona, self.keys)?;
        }
        Ok(Some((position, event)))
    }

    /// Reads the next event into `event` and moves past it. Returns the position of the event.
    fn read(&mut self) -> Result<Option<u64>, Error> {
        let position = self.position;
        if position >= self.end {
            return Ok(None);
        }
        let at = |fault| Error::Event { position, fault };
        let short = || at(Fault::Short { what: "event" });
        let bytes = self.length(position)?.ok_or_else(short)?;
        let limit = self.decoder.limits().event_bytes;
        if bytes > limit {
            return Err(at(Fault::TooLarge { what: "event", bytes, limit }));
        }
        let next = position.saturating_add(bytes);
        if bytes < as_u64(HEADER_BYTES) || next > self.end {
            return Err(short());
        }
        self.position = next;
        load(&self.source, self.base.saturating_add(position), bytes, &mut self.event)?;
        self.cipher.open(position, &mut self.event).map_err(at)?;
        Ok(Some(position))
    }

    /// Length of the event at `position`.
    fn length(&self, position: u64) -> Result<Option<u64>, Error> {
        let mut bytes = [0; 4];
        let at = position.saturating_add(LENGTH_AT);
        let found = fill(&self.source, self.base.saturating_add(at), &mut bytes)?;
        if let Cipher::MySql(stream) = &self.cipher {
            stream.apply(at, &mut bytes).map_err(|_| Error::Head)?;
        }
        Ok((found == bytes.len()).then(|| u64::from(u32::from_le_bytes(bytes))))
    }
}

impl Cipher {
    /// Decrypts the event at `position` of the log.
    fn open(&self, position: u64, event: &mut [u8]) -> Result<(), Fault> {
        let failed = |_| Fault::Malformed { what: "encrypted event" };
        match self {
            Self::Clear => Ok(()),
            Self::MySql(stream) => stream.apply(position, event).map_err(failed),
            Self::MariaDb(events) => events.decrypt(position, event).map_err(failed),
        }
    }
}

fn fill<R: ReadAt + ?Sized>(source: &R, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
    read_up_to(source, offset, buffer).map_err(|error| Error::Read { offset: error.offset, source: error.source })
}

/// Reads `bytes` into `event`. Its memory grows only with the bytes that the file has.
fn load<R: ReadAt>(source: &R, offset: u64, bytes: u64, event: &mut Vec<u8>) -> Result<(), Error> {
    event.clear();
    let wanted = as_usize(bytes);
    while event.len() < wanted {
        let from = event.len();
        event.resize(wanted.min(from.saturating_add(BLOCK_BYTES)), 0);
        let part = event.get_mut(from..).unwrap_or_default();
        let found = fill(source, offset.saturating_add(as_u64(from)), part)?;
        if found < part.len() {
            let fault = Fault::Short { what: "event" };
            return Err(Error::Event { position: offset, fault });
        }
    }
    Ok(())
}

fn stream<K: KeySource>(head: &[u8], keys: &K) -> Result<MySqlStream, Error> {
    let header = MySqlHeader::parse(head).map_err(|_| Error::Head)?;
    let missing = || Error::Key { key: header.key_name.clone() };
    let key = StreamKey::from_log(head, keys).ok_or_else(missing)?;
    key.stream().map_err(|_| Error::Head)
}

/// Determines how MariaDB, or Percona Server 5.7, encrypted the events after a start encryption event.
struct CipherSetup<'s, R> {
    source: &'s R,
    position: u64,
    end: u64,
    checksum: Checksum,
}

impl<R: ReadAt> CipherSetup<'_, R> {
    /// Source: docs/formats, "Binary / relay log" and "Percona Server 5.7".
    fn open(&self, start: &StartEncryption, percona: bool, keys: &dyn Keys) -> Result<Cipher, Error> {
        const SCHEME: u8 = 1;
        let version = start.key_version;
        let (name, key, modes): (_, _, &[EventMode]) = if percona {
            let key = percona_binary_log_key(keys, KeyVersion(version));
            (percona_binary_log_key_name(version), key, &[EventMode::Percona])
        } else {
            let key = keys.mariadb(MARIADB_SYSTEM_KEY, KeyVersion(version));
            (format!("{MARIADB_SYSTEM_KEY}, version {version}"), key, &[EventMode::Cbc, EventMode::Ctr])
        };
        let missing = || Error::Key { key: name.clone() };
        let key = key.filter(|_| start.scheme == SCHEME).ok_or_else(missing)?;
        for mode in modes {
            let Ok(events) = MariaDbEvents::new(&key, start.nonce, *mode) else { break };
            if self.opens(&events)? {
                return Ok(Cipher::MariaDb(events));
            }
        }
        Err(missing())
    }

    /// Whether the key decrypts the next event: its checksum is right or, without one, it has a known type and states
    /// its own position. At the end of the log any key passes.
    fn opens(&self, events: &MariaDbEvents) -> Result<bool, Error> {
        /// Maximum length of an event that is read for the test.
        const MAX_BYTES: u64 = 1 << 24;
        let mut header = [0; HEADER_BYTES];
        if fill(self.source, self.position, &mut header)? < HEADER_BYTES {
            return Ok(true);
        }
        let [.., a, b, c, d, _, _, _, _, _, _] = header;
        let bytes = u64::from(u32::from_le_bytes([a, b, c, d]));
        let next = self.position.saturating_add(bytes);
        if bytes > MAX_BYTES || next > self.end {
            return Ok(false);
        }
        let mut event = Vec::new();
        load(self.source, self.position, bytes, &mut event)?;
        if events.decrypt(self.position, &mut event).is_err() {
            return Ok(false);
        }
        let Ok(header) = EventHeader::parse(&event) else { return Ok(false) };
        Ok(match self.checksum {
            Checksum::Crc32 => self.checksum.strip(&event, header.kind).is_ok(),
            Checksum::None => {
                let low = u32::try_from(next & u64::from(u32::MAX)).unwrap_or(0);
                header.kind.name().is_some() && matches!(header.end_position, end if end == low || end == 0)
            }
        })
    }
}
