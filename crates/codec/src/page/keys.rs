//! What the keys at hand open of one file.

use innodb::{
    KeyVersion,
    crypt::{
        binlog::{EventMode, EventsKey, StreamKey},
        mariadb::{self, CryptData, Layout, Mode, PageKey},
        mysql::{TablespaceKey, WrappedKey},
        redo::{LogKey, LogKeyInfo, run::Layout as RecordLayout},
    },
    keys::KeySource,
    redo::{RedoFormat, recognise},
    tablespace::{Encryption, Page0},
    verify::redo::{RedoKeyInfo, blocks_key_info, key_info},
};
use zeroize::Zeroizing;

use super::{
    MAX_PAGE_BYTES, SpaceCipher,
    binlog::BinlogStream,
    events::LogEvents,
    mariadb::{MariaDbPages, Pages},
    mariadb_blocks::{BlockLog, LogBlocks},
    mariadb_redo::MiniTransactions,
    mysql::MySqlPages,
    redo::RedoBlocks,
};

/// Bytes of a file's beginning in which it says what it is.
pub const HEAD_BYTES: usize = MAX_PAGE_BYTES;

/// Whether keys of a key file go to the other side where nothing is derived of them: MariaDB seals
/// its binary logs with key 1 itself, which opens all that the server ever sealed with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFileKeys {
    /// They stay here, and such files travel as they are.
    Stay,
    /// They travel, so that such files can be opened.
    Travel,
}

/// What the keys at hand open of one file. Ciphers are made as chunks ask for them: MariaDB has one
/// for each key version.
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
    MiniTransactions(LogKey, RecordLayout),
    Blocks(BlockLog),
}

impl SpaceKeys {
    /// From the beginning of a file; `None` if it is nothing encrypted, or if no key opens it. For
    /// files of MySQL's redo log, most of which do not say which key they need, `log` is asked what
    /// the other files of the log say.
    #[must_use]
    pub fn of(
        head: &[u8],
        keys: &dyn KeySource,
        key_file_keys: KeyFileKeys,
        log: impl FnOnce() -> Option<RedoKeyInfo>,
    ) -> Option<Self> {
        let of_log = StreamKey::of(head, keys).map(Keys::Binlog);
        let of_events = || match key_file_keys {
            KeyFileKeys::Stay => None,
            KeyFileKeys::Travel => EventsKey::of(head, keys).map(Keys::Events),
        };
        let of_file = of_log.or_else(of_events).or_else(|| Keys::of_space(head, keys));
        of_file.or_else(|| Keys::of_redo(head, keys, log)).or_else(|| Keys::of_mariadb_redo(head, keys)).map(Self)
    }

    /// The key version that most of a chunk needs; 0 where there is only one.
    #[must_use]
    pub fn version_of(&self, chunk: &[u8]) -> KeyVersion {
        let Keys::MariaDb { pages, .. } = &self.0 else { return KeyVersion(0) };
        let versions = chunk.chunks_exact(pages.bytes).map(|page| mariadb::key_version(page, pages.layout));
        versions.filter(|version| *version != KeyVersion(0)).max_by_key(|version| version.0).unwrap_or(KeyVersion(0))
    }

    /// The cipher for pages of a key version; `chunk`, at `offset` of the file, has such pages and tells
    /// what is stored nowhere. `None` if the key is not at hand, or opens none of them.
    #[must_use]
    pub fn cipher(&self, version: KeyVersion, offset: u64, chunk: &[u8], keys: &dyn KeySource) -> Option<SpaceCipher> {
        match &self.0 {
            Keys::MySql { page_bytes, key } => MySqlPages::new(*page_bytes, key.clone()).map(SpaceCipher::new),
            Keys::MariaDb { crypt, pages } => {
                let key = keys.mariadb(crypt.key_id, version)?;
                let key = PageKey::derive(&key, &crypt.iv).ok()?;
                MariaDbPages::of(*pages, key, version, chunk).map(SpaceCipher::new)
            }
            Keys::Binlog(key) => BinlogStream::new(key.clone()).map(SpaceCipher::new),
            Keys::Events(key) => LogEvents::of(key, offset, chunk).map(SpaceCipher::new),
            Keys::Redo(key) => RedoBlocks::of(key, chunk).map(SpaceCipher::new),
            Keys::MiniTransactions(key, layout) => MiniTransactions::of(key, *layout, chunk).map(SpaceCipher::new),
            Keys::Blocks(log) => LogBlocks::of(log, chunk).map(SpaceCipher::new),
        }
    }
}

impl SpaceKeys {
    /// The cipher that seals what one of the same kind has opened, where there are no sealed units to learn from. `counter_mode`
    /// is what [`SpaceCipher::counter_mode`] said. `None` if the key is not at hand.
    #[must_use]
    pub fn sealer(&self, version: KeyVersion, counter_mode: bool, keys: &dyn KeySource) -> Option<SpaceCipher> {
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

    /// What the key is made of, but for its version: as long as it is the same, units that were opened once are sealed again
    /// to the same bytes. Secret.
    #[must_use]
    pub fn context(&self, keys: &dyn KeySource) -> Zeroizing<Vec<u8>> {
        let mut context = Zeroizing::new(Vec::with_capacity(128));
        if let Keys::MariaDb { crypt, pages } = &self.0 {
            context.extend(crypt.key_id.to_be_bytes());
            context.extend(crypt.iv);
            // No secret, and no more than this decides of how pages are sealed.
            context.extend(format!("{pages:?}").bytes());
        } else if let Some(sealer) = self.sealer(KeyVersion(0), false, keys) {
            context.extend(sealer.encode().iter());
        }
        context
    }

    /// Number of the key, of a tablespace of MariaDB.
    #[must_use]
    pub const fn mariadb_key_id(&self) -> Option<u32> {
        match &self.0 {
            Keys::MariaDb { crypt, .. } => Some(crypt.key_id),
            _ => None,
        }
    }
}

impl Keys {
    fn of_space(head: &[u8], keys: &dyn KeySource) -> Option<Self> {
        let page0 = Page0::parse(head).ok()?;
        let page_bytes = usize::try_from(page0.physical_page_bytes).ok()?;
        match page0.encryption {
            Encryption::MySql { .. } => {
                let key = WrappedKey::parse(head.get(page0.info_offset()..)?)?.unwrap(keys).ok()?;
                Some(Self::MySql { page_bytes, key })
            }
            Encryption::MariaDb { .. } => {
                let (layout, space_id) = (Layout::of(&page0)?, page0.space_id);
                let pages = Pages { bytes: page_bytes, layout, space_id };
                Some(Self::MariaDb { crypt: CryptData::of(head, &page0)?, pages })
            }
            _ => None,
        }
    }

    fn of_redo(head: &[u8], keys: &dyn KeySource, log: impl FnOnce() -> Option<RedoKeyInfo>) -> Option<Self> {
        if recognise(head) != Some(RedoFormat::MySql) {
            return None;
        }
        let known = [key_info(head), log()].into_iter().flatten();
        known.max_by_key(|info| info.checkpoint_lsn)?.key.unwrap(keys).ok().map(Self::Redo)
    }

    fn of_mariadb_redo(head: &[u8], keys: &dyn KeySource) -> Option<Self> {
        let key = |info: &LogKeyInfo| LogKey::derive(&keys.mariadb(info.key_id, info.key_version)?, &info.message).ok();
        let layout = match recognise(head)? {
            RedoFormat::MariaDbEncrypted => RecordLayout::OneStream,
            RedoFormat::MariaDbPhys => RecordLayout::PageRecords,
            RedoFormat::MariaDbBlocks => {
                let info = blocks_key_info(head)?;
                return Some(Self::Blocks(BlockLog::new(key(&info.key)?, &info)));
            }
            _ => return None,
        };
        Some(Self::MiniTransactions(key(&LogKeyInfo::of_header(head)?)?, layout))
    }
}
