//! The keys that decrypt one file, from the available keys.

use innodb::{
    KeyVersion,
    crypt::{
        binlog::{EventMode, EventsKey, StreamKey},
        mariadb::{CryptData, Mode, PageKey},
        mysql::{TablespaceKey, WrappedKey},
        redo::{LogKey, LogKeyInfo, run::RunLayout},
    },
    keys::KeySource,
    page::{layout::MAX_PAGE_BYTES, mariadb::key_version},
    redo::{RedoFormat, recognise},
    tablespace::{Encryption, Page0},
    verify::redo::{RedoKeyInfo, blocks_key_info, key_info},
};
use zeroize::Zeroizing;

use super::{
    SpaceCipher,
    binlog::BinlogStream,
    events::LogEvents,
    mariadb::{MariaDbPages, Pages},
    mariadb_blocks::{BlockLog, LogBlocks},
    mariadb_redo::MiniTransactions,
    mysql::MySqlPages,
    redo::RedoBlocks,
};

/// Bytes at the start of a file that identify its kind and key.
pub const HEAD_BYTES: usize = MAX_PAGE_BYTES;

/// Whether to send keys of a key file that encrypt logs directly. MariaDB derives no key per binary log: it uses key 1
/// itself, which decrypts everything that the server ever encrypted with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFileKeys {
    /// Keep the keys; send such files encrypted.
    Keep,
    /// Send the keys, so that such files can be decrypted and compressed.
    Send,
}

/// The keys of one file. Ciphers are made when chunks need them: MariaDB has one for each key
/// version.
#[derive(Debug)]
pub struct SpaceKeys(Keys);

#[derive(Debug)]
enum Keys {
    /// One key for all pages.
    MySql {
        page_bytes: usize,
        key: TablespaceKey,
    },
    MariaDb {
        crypt: CryptData,
        pages: Pages,
    },
    Binlog(StreamKey),
    Events(EventsKey),
    Redo(TablespaceKey),
    MiniTransactions(LogKey, RunLayout),
    Blocks(BlockLog),
}

impl SpaceKeys {
    /// Determines the keys from the start of a file; `None` if the file is not encrypted, or no key decrypts it. Most
    /// files of MySQL's redo log do not identify their key: for those, `log` returns the key that other files of the
    /// log identify.
    #[must_use]
    pub fn from_head(
        head: &[u8],
        keys: &dyn KeySource,
        key_file_keys: KeyFileKeys,
        log: impl FnOnce() -> Option<RedoKeyInfo>,
    ) -> Option<Self> {
        let log_key = StreamKey::from_log(head, keys).map(Keys::Binlog);
        let events = || match key_file_keys {
            KeyFileKeys::Keep => None,
            KeyFileKeys::Send => EventsKey::from_log(head, keys).map(Keys::Events),
        };
        let file = log_key.or_else(events).or_else(|| Keys::space(head, keys));
        file.or_else(|| Keys::redo(head, keys, log)).or_else(|| Keys::mariadb_redo(head, keys)).map(Self)
    }

    /// The key version of most units in a chunk; 0 if the file has only one key.
    #[must_use]
    pub fn version_of(&self, chunk: &[u8]) -> KeyVersion {
        let Keys::MariaDb { pages, .. } = &self.0 else { return KeyVersion(0) };
        let versions = chunk.chunks_exact(pages.bytes).map(|page| key_version(page, pages.layout));
        versions.filter(|version| *version != KeyVersion(0)).max_by_key(|version| version.0).unwrap_or(KeyVersion(0))
    }

    /// The cipher for pages of a key version. Files do not store the mode, so it is determined from such pages in
    /// `chunk`, which starts at `offset` of the file. `None` if the key is not available, or decrypts none of them.
    #[must_use]
    pub fn cipher(&self, version: KeyVersion, offset: u64, chunk: &[u8], keys: &dyn KeySource) -> Option<SpaceCipher> {
        match &self.0 {
            Keys::MySql { page_bytes, key } => MySqlPages::new(*page_bytes, key.clone()).map(SpaceCipher::new),
            Keys::MariaDb { crypt, pages } => {
                let key = keys.mariadb(crypt.key_id, version)?;
                let key = PageKey::derive(&key, &crypt.iv).ok()?;
                MariaDbPages::for_chunk(*pages, key, version, chunk).map(SpaceCipher::new)
            }
            Keys::Binlog(key) => BinlogStream::new(key.clone()).map(SpaceCipher::new),
            Keys::Events(key) => LogEvents::for_chunk(key, offset, chunk).map(SpaceCipher::new),
            Keys::Redo(key) => RedoBlocks::for_chunk(key, chunk).map(SpaceCipher::new),
            Keys::MiniTransactions(key, layout) => {
                MiniTransactions::for_chunk(key, *layout, chunk).map(SpaceCipher::new)
            }
            Keys::Blocks(log) => LogBlocks::for_chunk(log, chunk).map(SpaceCipher::new),
        }
    }
}

impl SpaceKeys {
    /// The cipher that encrypts decrypted units again. There are no encrypted units to determine the mode from, so
    /// `counter_mode` is the [`SpaceCipher::counter_mode`] of the cipher that decrypted them. `None` if the key is not
    /// available.
    #[must_use]
    pub fn encryptor(&self, version: KeyVersion, counter_mode: bool, keys: &dyn KeySource) -> Option<SpaceCipher> {
        let mode = if counter_mode { Mode::Ctr } else { Mode::Cbc };
        match &self.0 {
            Keys::MySql { page_bytes, key } => MySqlPages::new(*page_bytes, key.clone()).map(SpaceCipher::new),
            Keys::MariaDb { crypt, pages } => {
                let key = PageKey::derive(&keys.mariadb(crypt.key_id, version)?, &crypt.iv).ok()?;
                MariaDbPages::new(*pages, key, mode).map(SpaceCipher::new)
            }
            Keys::Binlog(key) => BinlogStream::new(key.clone()).map(SpaceCipher::new),
            Keys::Events(key) => {
                let mode = if counter_mode { EventMode::Ctr } else { EventMode::Cbc };
                LogEvents::new(key.clone(), mode).map(SpaceCipher::new)
            }
            Keys::Redo(key) => RedoBlocks::new(key.clone()).map(SpaceCipher::new),
            Keys::MiniTransactions(key, layout) => {
                MiniTransactions::new(key.clone(), *layout, mode).map(SpaceCipher::new)
            }
            Keys::Blocks(log) => LogBlocks::new(log.clone(), mode).map(SpaceCipher::new),
        }
    }

    /// Everything that determines the encryption except the key version. As long as it is the same, units that were
    /// decrypted earlier are encrypted to the same bytes. Secret.
    #[must_use]
    pub fn context(&self, keys: &dyn KeySource) -> Zeroizing<Vec<u8>> {
        let mut context = Zeroizing::new(Vec::with_capacity(128));
        if let Keys::MariaDb { crypt, pages } = &self.0 {
            context.extend(crypt.key_id.to_be_bytes());
            context.extend(crypt.iv);
            // The layout of the pages is not secret, but also determines how they are encrypted.
            context.extend(format!("{pages:?}").bytes());
        } else if let Some(encryptor) = self.encryptor(KeyVersion(0), false, keys) {
            context.extend(encryptor.encode().iter());
        }
        context
    }

    /// Key id of a MariaDB tablespace.
    #[must_use]
    pub const fn mariadb_key_id(&self) -> Option<u32> {
        match &self.0 {
            Keys::MariaDb { crypt, .. } => Some(crypt.key_id),
            _ => None,
        }
    }
}

impl Keys {
    fn space(head: &[u8], keys: &dyn KeySource) -> Option<Self> {
        let page0 = Page0::parse(head).ok()?;
        let page_bytes = usize::try_from(page0.physical_page_bytes).ok()?;
        match page0.encryption {
            Encryption::MySql { .. } => {
                let key = WrappedKey::parse(head.get(page0.info_offset()..)?)?.unwrap(keys).ok()?;
                Some(Self::MySql { page_bytes, key })
            }
            Encryption::MariaDb { .. } => {
                let (layout, space_id) = (page0.mariadb_layout()?, page0.space_id);
                let pages = Pages { bytes: page_bytes, layout, space_id };
                Some(Self::MariaDb { crypt: CryptData::from_page0(head, &page0)?, pages })
            }
            _ => None,
        }
    }

    fn redo(head: &[u8], keys: &dyn KeySource, log: impl FnOnce() -> Option<RedoKeyInfo>) -> Option<Self> {
        if recognise(head) != Some(RedoFormat::MySql) {
            return None;
        }
        let known = [key_info(head), log()].into_iter().flatten();
        known.max_by_key(|info| info.checkpoint_lsn)?.key.unwrap(keys).ok().map(Self::Redo)
    }

    fn mariadb_redo(head: &[u8], keys: &dyn KeySource) -> Option<Self> {
        let key = |info: &LogKeyInfo| LogKey::derive(&keys.mariadb(info.key_id, info.key_version)?, &info.message).ok();
        let layout = match recognise(head)? {
            RedoFormat::MariaDbEncrypted => RunLayout::OneStream,
            RedoFormat::MariaDbPhys => RunLayout::PageRecords,
            RedoFormat::MariaDbBlocks => {
                let info = blocks_key_info(head)?;
                return Some(Self::Blocks(BlockLog::new(key(&info.key)?, &info)));
            }
            _ => return None,
        };
        Some(Self::MiniTransactions(key(&LogKeyInfo::from_header(head)?)?, layout))
    }
}
