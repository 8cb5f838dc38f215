//! Opening the pages of an encrypted table, and what failures say of its keys.

use std::collections::BTreeMap;

use crate::{
    bytes::bump,
    crypt::aria::{AriaPages, CryptRecord, PageLayout, PageMode},
    ids::KeyVersion,
    keys::KeySource,
    verify::{Check, KeyAsked, MAX_FINDINGS, Tally, aria::Judged},
};

/// Key of system data, and of all tables that are not temporary.
const SYSTEM_KEY: u32 = 1;
/// Key of temporary data, if there is one.
///
/// Source: `ma_crypt.c` (`get_encryption_key_id`); no bytes confirm it.
const TEMPORARY_KEY: u32 = 2;
/// More versions in one table than were ever seen: a page that asks for yet another is not tried.
const MAX_VERSIONS: usize = 64;

/// The keys of one table, by version.
pub(super) struct Opening<'k> {
    keys: &'k dyn KeySource,
    record: Option<CryptRecord>,
    key_id: u32,
    versions: BTreeMap<KeyVersion, Version>,
    /// The mode some page opened in.
    mode: Option<PageMode>,
}

#[derive(Default)]
struct Version {
    pages: Option<AriaPages>,
    opened: u64,
    /// Pages counted as sealed that did not open.
    failed: u64,
    /// The first of them: damaged if another page opens.
    failures: Vec<u64>,
}

impl<'k> Opening<'k> {
    pub(super) fn new(record: Option<CryptRecord>, temporary: bool, keys: &'k dyn KeySource) -> Self {
        let own_key = temporary && keys.mariadb(TEMPORARY_KEY, KeyVersion(1)).is_some();
        let key_id = if own_key { TEMPORARY_KEY } else { SYSTEM_KEY };
        Self { keys, record, key_id, versions: BTreeMap::new(), mode: None }
    }

    /// Opens `page` and compares its checksum. A page that does not open is first counted as
    /// sealed: [`Self::settle`] decides between it and the key.
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

    /// The mode in which the key of this version opens the page.
    fn opens(&self, version: KeyVersion, page_no: u32, layout: &PageLayout, page: &[u8]) -> Option<PageMode> {
        let pages = self.versions.get(&version)?.pages.as_ref()?;
        let modes = [PageMode::Cbc, PageMode::Ctr];
        modes.into_iter().filter(|mode| self.mode.is_none_or(|known| known == *mode)).find(|mode| {
            let mut open = page.to_vec();
            pages.open(*mode, layout, page_no, &mut open).is_ok()
                && layout.checksum(page_no, &open) == PageLayout::stored_checksum(&open)
        })
    }

    /// Another version that opens the page, of those that opened one.
    fn other_version(&self, asked: KeyVersion, page_no: u32, layout: &PageLayout, page: &[u8]) -> Option<KeyVersion> {
        let proven = self.versions.iter().filter(|(version, state)| **version != asked && state.opened > 0);
        proven.map(|(version, _)| *version).find(|version| self.opens(*version, page_no, layout, page).is_some())
    }

    /// A page that claims not to be sealed.
    fn unsealed(&self, page_no: u32, layout: &PageLayout, page: &[u8]) -> Judged {
        if layout.checksum(page_no, page) == PageLayout::stored_checksum(page) {
            return Judged::Bad(Check::ClearUnit, "in the clear, in an encrypted table".to_owned());
        }
        match self.other_version(KeyVersion(0), page_no, layout, page) {
            Some(version) => Judged::Bad(Check::KeyInfo, format!("names no key version, opens with {version}")),
            None => Judged::Bad(Check::Checksum, "names no key version, and its checksum fails".to_owned()),
        }
    }

    /// Pages that asked for a key that is not there, although another version opened some page: their
    /// version may be damaged.
    pub(super) fn doubtful(&self) -> Vec<u64> {
        let proven = self.versions.values().any(|state| state.opened > 0);
        let absent = self.versions.values().filter(|state| proven && state.pages.is_none());
        absent.flat_map(|state| state.failures.iter().copied()).collect()
    }

    /// Judges a [doubtful](Self::doubtful) page again: what is wrong with it, if another version opens it.
    pub(super) fn retry(&mut self, page_no: u32, layout: &PageLayout, page: &[u8]) -> Option<Judged> {
        let asked = layout.key_version(page);
        let other = self.other_version(asked, page_no, layout, page)?;
        if let Some(state) = self.versions.get_mut(&asked) {
            state.failed = state.failed.saturating_sub(1);
        }
        Some(other_opens(asked, other))
    }

    /// Decides what the pages that did not open mean, and names the key the table asks for.
    pub(super) fn settle(&self, tally: &mut Tally, block_bytes: u64) -> Option<KeyAsked> {
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
        (!versions.is_empty()).then_some(KeyAsked::MariaDb { key_id: self.key_id, versions })
    }
}

fn other_opens(asked: KeyVersion, other: KeyVersion) -> Judged {
    Judged::Bad(Check::KeyInfo, format!("asks for key version {asked}, opens with {other}"))
}

const FAILS: &str = "checksum fails after opening";

impl Version {
    /// Other pages opened with this key: those that did not are damaged.
    fn fail(&self, tally: &mut Tally, block_bytes: u64) {
        tally.units.encrypted = tally.units.encrypted.saturating_sub(self.failed);
        tally.units.bad = tally.units.bad.saturating_add(self.failed);
        for number in &self.failures {
            let offset = number.saturating_mul(block_bytes);
            tally.find(Some(*number), Some(offset), Check::OpenedChecksum, FAILS);
        }
    }
}
