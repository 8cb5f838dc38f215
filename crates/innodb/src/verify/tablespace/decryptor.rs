//! Decrypts the pages of a tablespace with the keys that page 0 and the pages name.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, RwLock,
        atomic::{AtomicU8, Ordering},
    },
};

use crate::{
    crypt::{
        mariadb::{self, CryptData, Mode, PageKey},
        mysql::{PageCipher, TablespaceKey},
    },
    ids::{KeyVersion, SpaceId},
    keys::KeySource,
    page::mariadb::{Layout, PlaintextCheck},
    tablespace::MariaDbMode,
    verify::tablespace::{PageBuffers, judgement::DecryptOutcome},
};

/// How to decrypt the pages.
pub(super) enum Decryptor<'a> {
    /// Page 0 has no encryption information.
    None,
    /// MySQL, with the key available.
    MySql { key: TablespaceKey, cipher: Box<PageCipher> },
    /// MariaDB; keys are looked up by version as pages need them.
    MariaDb(MariaDbDecryptor<'a>),
    /// Encrypted by MySQL, and no key decrypts it.
    Closed,
    /// A scheme that is only recognised by name.
    Unknown,
}

impl Decryptor<'_> {
    pub(super) fn tablespace_key(&self) -> Option<TablespaceKey> {
        match self {
            Self::MySql { key, .. } => Some(key.clone()),
            _ => None,
        }
    }
}

/// Decrypts pages with keys that are looked up by the version that a page names.
pub(super) struct MariaDbDecryptor<'a> {
    crypt: CryptData,
    keys: &'a dyn KeySource,
    by_version: RwLock<BTreeMap<KeyVersion, Option<Arc<PageKey>>>>,
    /// 0 until a page was decrypted, then 1 + the index in [`Mode::ALL`].
    mode: AtomicU8,
}

/// Maximum number of key versions kept; a server has a few.
const MAX_VERSIONS: usize = 1024;

impl<'a> MariaDbDecryptor<'a> {
    pub(super) fn new(page0: &[u8], info_at: usize, keys: &'a dyn KeySource) -> Option<Self> {
        let crypt = CryptData::parse(page0, info_at)?;
        Some(Self { crypt, keys, by_version: RwLock::default(), mode: AtomicU8::new(0) })
    }

    /// Decrypts a page in place if there is a key.
    pub(super) fn decrypt(
        &self,
        page: &mut [u8],
        layout: Layout,
        space: SpaceId,
        version: KeyVersion,
        buffers: &mut PageBuffers,
    ) -> DecryptOutcome {
        if !self.keys.has_mariadb() {
            return DecryptOutcome::NoKeyFile;
        }
        let Some(key) = self.key(version) else { return DecryptOutcome::NoKey };
        for mode in self.modes() {
            let Ok(decrypted) = mariadb::decrypt(page, layout, mode, space, &key, &mut buffers.rebuilt) else {
                return DecryptOutcome::Failed;
            };
            if !matches!(decrypted.plain, PlaintextCheck::Fails(_)) {
                self.remember(mode);
                return DecryptOutcome::Decrypted;
            }
            // Undoes the decryption, for the other mode or for the caller.
            if mariadb::encrypt(page, layout, mode, space, &key).is_err() {
                return DecryptOutcome::Failed;
            }
        }
        DecryptOutcome::Failed
    }

    /// The table's ENCRYPTED option.
    pub(super) const fn option(&self) -> MariaDbMode {
        self.crypt.mode
    }

    /// Lower bound of the pages' key versions.
    pub(super) const fn min_key_version(&self) -> KeyVersion {
        self.crypt.min_key_version
    }

    /// Whether an encrypted page contradicts a tablespace whose pages should be clear. When the
    /// encryption threads decrypt a tablespace, they leave free pages encrypted, but a table made
    /// with ENCRYPTED=NO has none.
    pub(super) fn contradicts(&self, outcome: DecryptOutcome) -> bool {
        self.crypt.mode == MariaDbMode::Off || outcome == DecryptOutcome::Failed
    }

    fn key(&self, version: KeyVersion) -> Option<Arc<PageKey>> {
        if let Some(known) = self.by_version.read().ok()?.get(&version) {
            return known.clone();
        }
        let key = self.keys.mariadb(self.crypt.key_id, version);
        let key = key.and_then(|key| PageKey::derive(&key, &self.crypt.iv).ok()).map(Arc::new);
        let mut known = self.by_version.write().ok()?;
        if known.len() < MAX_VERSIONS {
            known.insert(version, key.clone());
        }
        key
    }

    /// Modes to try, starting with the one that decrypted a page before.
    fn modes(&self) -> [Mode; 2] {
        match self.mode.load(Ordering::Relaxed) {
            2 => [Mode::Ctr, Mode::Cbc],
            _ => Mode::ALL,
        }
    }

    fn remember(&self, mode: Mode) {
        let number = if mode == Mode::Ctr { 2 } else { 1 };
        if self.mode.load(Ordering::Relaxed) != number {
            self.mode.store(number, Ordering::Relaxed);
        }
    }
}
