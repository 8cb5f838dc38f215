//! Decrypts the pages of an encrypted table, and decides what failures say about its keys.

use std::collections::BTreeMap;

use crate::{
    bytes::bump,
    crypt::aria::{AriaPages, CryptRecord, PageLayout, PageMode},
    ids::KeyVersion,
    keys::KeySource,
    verify::{Check, MAX_FINDINGS, RequiredKey, Tally, aria::Judged},
};

/// Id of the key for system data, and for all tables that are not temporary.
const SYSTEM_KEY: u32 = 1;
/// Id of the key for temporary data, if there is one.
///
/// Source: `ma_crypt.c` (`get_encryption_key_id`); not confirmed on a file.
const TEMPORARY_KEY: u32 = 2;
/// Maximum number of key versions in one table: pages with further versions are not decrypted.
const MAX_VERSIONS: usize = 64;

/// The keys of one table, by version.
pub(super) struct Decryption<'k> {
    keys: &'k dyn KeySource,
    record: Option<CryptRecord>,
    key_id: u32,
    versions: BTreeMap<KeyVersion, Version>,
    /// The mode that decrypted a page.
    mode: Option<PageMode>,
}

#[derive(Default)]
struct Version {
    pages: Option<AriaPages>,
    opened: u64,
    /// Pages counted as encrypted that failed to decrypt.
    failed: u64,
    /// The first of these: damaged if another page decrypts.
    failures: Vec<u64>,
}

impl<'k> Decryption<'k> {
    pub(super) fn new(record: Option<CryptRecord>, temporary: bool, keys: &'k dyn KeySource) -> Self {
        let own_key = temporary && keys.mariadb(TEMPORARY_KEY, KeyVersion(1)).is_some();
        let key_id = if own_key { TEMPORARY_KEY } else { SYSTEM_KEY };
        Self { keys, record, key_id, versions: BTreeMap::new(), mode: None }
    }

    /// Decrypts `page` and compares its checksum. A page that fails is first counted as encrypted:
    /// [`Self::conclude`] decides later whether the page or the key is at fault.
    pub(super) fn open(&mut self, number: u64, page_no: u32, layout: &PageLayout, page: &[u8]) -> Judged {
        let Some(record) = self.record else { return Judged::Sealed };
        let asked = layout.key_version(page);
        if asked == KeyVersion(0) {
            return self.unsealed(page_no, layout, page);
        }
        self.load(asked, &record);
        if let Some(mode) = self.opens(asked, page_no, layout, page) {
            if !layout.is_short() {
                self.mode = Some(mode);
            }
            if let Some(version) = self.versions.get_mut(&asked) {
                bump(&mut version.opened);
            }
            return Judged::Sealed;
        }
        if let Some(other) = self.other_version(asked, page_no, layout, page) {
            return other_opens(asked, other);
        }
        match self.versions.get_mut(&asked) {
            Some(version) if version.opened == 0 => {
                bump(&mut version.failed);
                if version.failures.len() < MAX_FINDINGS {
                    version.failures.push(number);
                }
                Judged::Sealed
            }
            Some(_) => Judged::Bad(Check::OpenedChecksum, FAILS.to_owned()),
            None => Judged::Bad(Check::KeyInfo, format!("asks for key version {asked}")),
        }
    }

    fn load(&mut self, asked: KeyVersion, record: &CryptRecord) {
        if self.versions.contains_key(&asked) || self.versions.len() >= MAX_VERSIONS {
            return;
        }
        let key = self.keys.mariadb(self.key_id, asked);
        let pages = key.and_then(|key| AriaPages::new(&key, record).ok());
        self.versions.insert(asked, Version { pages, ..Version::default() });
    }

    /// The mode in which the key of this version decrypts the page.
    fn opens(&self, version: KeyVersion, page_no: u32, layout: &PageLayout, page: &[u8]) -> Option<PageMode> {
        let pages = self.versions.get(&version)?.pages.as_ref()?;
        let modes = [PageMode::Cbc, PageMode::Ctr];
        modes.into_iter().filter(|mode| self.mode.is_none_or(|known| known == *mode)).find(|mode| {
            let mut open = page.to_vec();
            pages.open(*mode, layout, page_no, &mut open).is_ok()
                && layout.checksum(page_no, &open) == PageLayout::stored_checksum(&open)
        })
    }

    /// Another version that decrypts the page, of those that decrypted one before.
    fn other_version(&self, asked: KeyVersion, page_no: u32, layout: &PageLayout, page: &[u8]) -> Option<KeyVersion> {
        let proven = self.versions.iter().filter(|(version, state)| **version != asked && state.opened > 0);
        proven.map(|(version, _)| *version).find(|version| self.opens(*version, page_no, layout, page).is_some())
    }

    /// Judges a page that claims not to be encrypted.
    fn unsealed(&self, page_no: u32, layout: &PageLayout, page: &[u8]) -> Judged {
        if layout.checksum(page_no, page) == PageLayout::stored_checksum(page) {
            return Judged::Bad(Check::ClearUnit, "clear page in an encrypted table".to_owned());
        }
        match self.other_version(KeyVersion(0), page_no, layout, page) {
            Some(version) => Judged::Bad(Check::KeyInfo, format!("names no key version, opens with {version}")),
            None => Judged::Bad(Check::Checksum, "names no key version, and its checksum fails".to_owned()),
        }
    }

    /// Pages whose key version is missing although another version decrypted some page: their
    /// version field may be damaged.
    pub(super) fn doubtful(&self) -> Vec<u64> {
        let proven = self.versions.values().any(|state| state.opened > 0);
        let absent = self.versions.values().filter(|state| proven && state.pages.is_none());
        absent.flat_map(|state| state.failures.iter().copied()).collect()
    }

    /// Judges a page of [`Self::doubtful`] again: returns its fault if another version decrypts it.
    pub(super) fn retry(&mut self, page_no: u32, layout: &PageLayout, page: &[u8]) -> Option<Judged> {
        let asked = layout.key_version(page);
        let other = self.other_version(asked, page_no, layout, page)?;
        if let Some(state) = self.versions.get_mut(&asked) {
            state.failed = state.failed.saturating_sub(1);
        }
        Some(other_opens(asked, other))
    }

    /// Decides what the pages that failed to decrypt mean, and names the key the table needs.
    pub(super) fn conclude(&self, tally: &mut Tally, block_bytes: u64) -> Option<RequiredKey> {
        let record = self.record?;
        let asked = self.versions.iter().filter(|(_, state)| state.opened > 0 || state.failed > 0);
        for (version, state) in asked.clone() {
            let name = format!("version {version} of key {}", self.key_id);
            if state.pages.is_none() && self.keys.has_mariadb() {
                tally.find(None, None, Check::Key, format!("no {name}"));
            } else if state.pages.is_none() {
                tally.unproven();
            } else if state.opened == 0 && state.failed > 0 {
                let detail = format!(
                    "{name} opens none of {} pages: another key, or the table's encryption record (number {:08x}) is \
                     damaged, which nothing in the file tells apart",
                    state.failed, record.space
                );
                tally.find(None, None, Check::KeyOpens, detail);
            } else {
                state.fail(tally, block_bytes);
            }
        }
        let versions: Vec<_> = asked.map(|(version, _)| *version).collect();
        (!versions.is_empty()).then_some(RequiredKey::MariaDb { key_id: self.key_id, versions })
    }
}

fn other_opens(asked: KeyVersion, other: KeyVersion) -> Judged {
    Judged::Bad(Check::KeyInfo, format!("asks for key version {asked}, opens with {other}"))
}

const FAILS: &str = "checksum fails after decryption";

impl Version {
    /// Other pages decrypt with this key, so those that do not are damaged.
    fn fail(&self, tally: &mut Tally, block_bytes: u64) {
        tally.units.encrypted = tally.units.encrypted.saturating_sub(self.failed);
        tally.units.bad = tally.units.bad.saturating_add(self.failed);
        for number in &self.failures {
            let offset = number.saturating_mul(block_bytes);
            tally.find(Some(*number), Some(offset), Check::OpenedChecksum, FAILS);
        }
    }
}
