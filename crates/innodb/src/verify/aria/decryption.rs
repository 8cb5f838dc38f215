//! Decrypts the pages of an encrypted table, and decides what failures say about its keys.
//!
//! A key that decrypts any page of the table, at its own position or at another, is the right one: pages it does not
//! decrypt are damaged. So are pages that name an impossible key version, or whose readable fields are not valid.

use std::collections::BTreeMap;

use crate::{
    aria::layout::PageLayout,
    bytes::bump,
    crypt::{
        aria::{AriaPages, CryptRecord},
        mariadb::Mode,
    },
    ids::KeyVersion,
    keys::{KeySource, MARIADB_SYSTEM_KEY, MARIADB_TEMPORARY_KEY},
    verify::{Check, MAX_FINDINGS, ReportBuilder, RequiredKey, aria::Judged},
};

/// Maximum number of key versions in one table: pages with further versions are not decrypted.
const MAX_VERSIONS: usize = 64;
/// Versions count up from 1, so a version this far above one that decrypts pages cannot exist.
const MAX_ROTATIONS: u32 = 1 << 16;
/// Versions to try if the version that a page names is not available.
const TRIED_VERSIONS: u32 = 16;
/// Number of failed pages to try at other positions, if no page decrypts at its own.
const MISPLACED_PAGES: usize = 8;
/// Number of positions to try for each.
const TRIED_PAGES: u32 = 64;

/// The keys of one table, by version.
pub(super) struct Decryption<'k> {
    keys: &'k dyn KeySource,
    record: Option<CryptRecord>,
    key_id: u32,
    versions: BTreeMap<KeyVersion, Version>,
    /// The mode that decrypted a page.
    mode: Option<Mode>,
}

#[derive(Default)]
struct Version {
    pages: Option<AriaPages>,
    /// Pages that decrypt, in this file or in the table's other one.
    decrypted: u64,
    /// Pages counted as encrypted that failed to decrypt.
    failed: u64,
    /// The first failures. These pages are damaged if another page decrypts.
    failures: Vec<Failure>,
}

struct Failure {
    number: u64,
    /// Whether the unencrypted fields are valid.
    is_page: bool,
}

/// A page to decrypt.
pub(super) struct EncryptedPage<'p> {
    pub(super) number: u64,
    /// The page number in its checksum and initialisation vector.
    pub(super) page_no: u32,
    pub(super) layout: &'p PageLayout,
    pub(super) bytes: &'p [u8],
    /// Whether the unencrypted fields are valid.
    pub(super) is_page: bool,
}

impl<'k> Decryption<'k> {
    pub(super) fn new(
        record: Option<CryptRecord>,
        temporary: bool,
        proven: &[KeyVersion],
        keys: &'k dyn KeySource,
    ) -> Self {
        let own_key = temporary && keys.mariadb(MARIADB_TEMPORARY_KEY, KeyVersion(1)).is_some();
        let key_id = if own_key { MARIADB_TEMPORARY_KEY } else { MARIADB_SYSTEM_KEY };
        let mut decryption = Self { keys, record, key_id, versions: BTreeMap::new(), mode: None };
        for version in proven {
            decryption.load(*version);
            decryption.prove(*version);
        }
        decryption
    }

    /// Decrypts a page and compares its checksum. A page that fails is first counted as encrypted:
    /// [`Self::conclude`] decides later whether the page or the key is at fault.
    pub(super) fn decrypt(&mut self, page: &EncryptedPage<'_>) -> Judged {
        let EncryptedPage { number, page_no, layout, bytes, is_page } = *page;
        if self.record.is_none() {
            return Judged::Encrypted;
        }
        let asked = layout.key_version(bytes);
        if asked == KeyVersion(0) {
            return self.without_key_version(page_no, layout, bytes);
        }
        if is_page || self.keys.mariadb(self.key_id, asked).is_some() {
            self.load(asked);
        }
        if let Some(mode) = self.decrypts(asked, page_no, layout, bytes) {
            if !layout.is_short() {
                self.mode = Some(mode);
            }
            self.prove(asked);
            return Judged::Encrypted;
        }
        if let Some(other) = self.other_version(asked, page_no, layout, bytes) {
            return other_decrypts(asked, other);
        }
        match self.versions.get_mut(&asked) {
            Some(version) if version.decrypted == 0 => {
                bump(&mut version.failed);
                if version.failures.len() < MAX_FINDINGS {
                    version.failures.push(Failure { number, is_page });
                }
                Judged::Encrypted
            }
            Some(_) => Judged::Bad(Check::OpenedChecksum, FAILS.to_owned()),
            None if !is_page => Judged::Bad(Check::Header, NO_PAGE.to_owned()),
            None => Judged::Bad(Check::KeyInfo, format!("asks for key version {asked}")),
        }
    }

    /// Records that a page of the table decrypts with this version.
    fn prove(&mut self, version: KeyVersion) {
        if let Some(version) = self.versions.get_mut(&version) {
            bump(&mut version.decrypted);
        }
    }

    fn load(&mut self, asked: KeyVersion) {
        let Some(record) = self.record else { return };
        if self.versions.contains_key(&asked) || self.versions.len() >= MAX_VERSIONS {
            return;
        }
        let key = self.keys.mariadb(self.key_id, asked);
        let pages = key.and_then(|key| AriaPages::new(&key, &record).ok());
        self.versions.insert(asked, Version { pages, ..Version::default() });
    }

    /// The mode in which this version of the key decrypts the page.
    fn decrypts(&self, version: KeyVersion, page_no: u32, layout: &PageLayout, page: &[u8]) -> Option<Mode> {
        let pages = self.versions.get(&version)?.pages.as_ref()?;
        Mode::ALL.into_iter().filter(|mode| self.mode.is_none_or(|known| known == *mode)).find(|mode| {
            let mut decrypted = page.to_vec();
            pages.decrypt(*mode, layout, page_no, &mut decrypted).is_ok()
                && layout.checksum(page_no, &decrypted) == PageLayout::stored_checksum(&decrypted)
        })
    }

    /// Another version that decrypts the page, among those that decrypted one before.
    fn other_version(&self, asked: KeyVersion, page_no: u32, layout: &PageLayout, page: &[u8]) -> Option<KeyVersion> {
        let proven = self.versions.iter().filter(|(version, state)| **version != asked && state.decrypted > 0);
        proven.map(|(version, _)| *version).find(|version| self.decrypts(*version, page_no, layout, page).is_some())
    }

    /// Judges a page that is not marked as encrypted.
    fn without_key_version(&self, page_no: u32, layout: &PageLayout, page: &[u8]) -> Judged {
        if layout.checksum(page_no, page) == PageLayout::stored_checksum(page) {
            return Judged::Bad(Check::ClearUnit, "clear page in an encrypted table".to_owned());
        }
        match self.other_version(KeyVersion(0), page_no, layout, page) {
            Some(version) => Judged::Bad(Check::KeyInfo, format!("names no key version, is decrypted by {version}")),
            None => Judged::Bad(Check::Checksum, "names no key version, and its checksum fails".to_owned()),
        }
    }

    /// Pages whose key version is not available: the version field may be damaged.
    pub(super) fn doubtful(&self) -> Vec<u64> {
        let absent = self.versions.values().filter(|state| self.keys.has_mariadb() && state.pages.is_none());
        absent.flat_map(|state| state.failures.iter().map(|failure| failure.number)).collect()
    }

    /// Judges a page of [`Self::doubtful`] again: returns its fault if another version decrypts it.
    pub(super) fn retry(&mut self, page_no: u32, layout: &PageLayout, page: &[u8]) -> Option<Judged> {
        let asked = layout.key_version(page);
        let other =
            self.other_version(asked, page_no, layout, page).or_else(|| self.unused_version(page_no, layout, page))?;
        self.prove(other);
        if let Some(state) = self.versions.get_mut(&asked) {
            state.failed = state.failed.saturating_sub(1);
        }
        Some(other_decrypts(asked, other))
    }

    /// A version that no page names but that decrypts this page.
    fn unused_version(&mut self, page_no: u32, layout: &PageLayout, page: &[u8]) -> Option<KeyVersion> {
        (1..=TRIED_VERSIONS).map(KeyVersion).find(|version| {
            if self.versions.contains_key(version) || self.keys.mariadb(self.key_id, *version).is_none() {
                return false;
            }
            self.load(*version);
            self.decrypts(*version, page_no, layout, page).is_some()
        })
    }

    /// Pages that failed at their own position, if their key version is available but has decrypted no page.
    pub(super) fn not_decrypted(&self) -> Vec<u64> {
        let none = self.versions.values().filter(|state| state.pages.is_some() && state.decrypted == 0);
        none.flat_map(|state| state.failures.iter().take(MISPLACED_PAGES).map(|failure| failure.number)).collect()
    }

    /// Tries a page of [`Self::not_decrypted`] at the first positions of the file: pages of a table may have been
    /// swapped.
    pub(super) fn try_other_pages(&mut self, layout: &PageLayout, page: &[u8]) {
        let asked = layout.key_version(page);
        // Few encrypted bytes can match by chance.
        if !layout.is_short() && (0..TRIED_PAGES).any(|number| self.decrypts(asked, number, layout, page).is_some()) {
            self.prove(asked);
        }
    }

    /// Decides whether the pages or the key are at fault for failures, and names the key the table needs.
    pub(super) fn conclude(&mut self, builder: &mut ReportBuilder, block_bytes: u64) -> Option<RequiredKey> {
        let record = self.record?;
        let proven = self.versions.iter().filter(|(_, state)| state.decrypted > 0).map(|(version, _)| version.0).max();
        let beyond = proven.map(|newest| newest.saturating_add(MAX_ROTATIONS));
        let mut needed = Vec::new();
        for (version, state) in self.versions.iter_mut().filter(|(_, state)| state.decrypted > 0 || state.failed > 0) {
            let never_made = state.pages.is_none() && beyond.is_some_and(|beyond| version.0 > beyond);
            if state.decrypted > 0 || never_made {
                let fault = if never_made { NEVER_MADE } else { FAILS };
                state.fail(builder, block_bytes, |_| Some((Check::OpenedChecksum, fault)));
            } else {
                state.fail(builder, block_bytes, |failure| (!failure.is_page).then_some((Check::Header, NO_PAGE)));
            }
            if state.decrypted == 0 && state.failed == 0 {
                continue;
            }
            needed.push(*version);
            let name = format!("version {version} of key {}", self.key_id);
            if state.pages.is_none() && self.keys.has_mariadb() {
                builder.find(None, None, Check::Key, format!("no {name}"));
            } else if state.pages.is_none() {
                builder.unproven();
            } else if state.decrypted == 0 {
                let detail = format!(
                    "{name} decrypts none of {} pages: another key, or the table's encryption record (number {:08x}) \
                     is damaged or in the index file of another table, which nothing in the file tells apart",
                    state.failed, record.space
                );
                builder.find(None, None, Check::KeyOpens, detail);
            }
        }
        (!needed.is_empty()).then_some(RequiredKey::MariaDb { key_id: self.key_id, versions: needed })
    }
}

fn other_decrypts(asked: KeyVersion, other: KeyVersion) -> Judged {
    Judged::Bad(Check::KeyInfo, format!("asks for key version {asked}, is decrypted by {other}"))
}

const FAILS: &str = "checksum fails after decryption";
const NEVER_MADE: &str = "asks for a key version far beyond the one that decrypts other pages";
const NO_PAGE: &str = "the fields that are never encrypted are not those of a page";

impl Version {
    /// Reports the failed pages for which `fault` returns a fault. The others remain counted as failures of the key.
    fn fail(
        &mut self,
        builder: &mut ReportBuilder,
        block_bytes: u64,
        fault: impl Fn(&Failure) -> Option<(Check, &'static str)>,
    ) {
        let mut bad = 0_u64;
        for failure in &self.failures {
            let Some((check, detail)) = fault(failure) else { continue };
            bump(&mut bad);
            let offset = failure.number.saturating_mul(block_bytes);
            builder.find(Some(failure.number), Some(offset), check, detail);
        }
        // If the key is right, all failures are bad pages, also those beyond the list.
        let bad = if self.decrypted > 0 { self.failed } else { bad };
        self.failed = self.failed.saturating_sub(bad);
        builder.units.encrypted = builder.units.encrypted.saturating_sub(bad);
        builder.units.bad = builder.units.bad.saturating_add(bad);
    }
}
