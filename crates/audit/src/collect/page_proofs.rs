//! Tests MariaDB's key file on a page of each encrypted tablespace: page 0 names a key only by number, and the number
//! may belong to another key now.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use innodb::crypt::mariadb::CryptData;
use innodb::tablespace::{Encryption, Family, Page0};
use keyring::{Derivation, Digest, MariaDbKeys, PageSample, StoreKind};
use server::dialect::key_store::{MARIADB_KEYS, MARIADB_PASSWORD, named_file};
use zeroize::Zeroizing;

use super::roots::normal;
use super::view::View;
use crate::facts::files::{Content, FileFact, KeyProof};
use crate::facts::host::Role;
use crate::facts::sql::SqlFacts;

/// Page 3 is the root of a table's first index; later pages are read if it is clear.
const FIRST_PAGES: usize = 4;
const MORE_PAGES: usize = 12;
/// Maximum length that MariaDB reads of a password file, including a line end.
const PASSWORD_BYTES: usize = 256 + 2;

/// The key file that the running server names, and its password.
#[derive(Default)]
pub(super) struct KeyFileSettings {
    path: Option<PathBuf>,
    password_file: Option<PathBuf>,
    password: Option<Zeroizing<Vec<u8>>>,
    derivation: Derivation,
}

impl KeyFileSettings {
    pub(super) fn by(sql: &SqlFacts, view: &View, datadir: &Path) -> Self {
        let value = |name: &str| sql.variable_or_none(name).filter(|value| !value.is_empty());
        let file = |name| Some(normal(&datadir.join(named_file(name, value(name)?)?)));
        let (path, password_file) = (file(MARIADB_KEYS), file(MARIADB_PASSWORD));
        let read = |file: &PathBuf| view.read(file, PASSWORD_BYTES).ok().map(Zeroizing::new);
        // Only newer servers have these two; others use these defaults.
        let digest = value("file_key_management_digest").map_or_else(|| Some(Digest::default()), Digest::by_name);
        let rounds = value("file_key_management_use_pbkdf2").map_or(Some(0), |rounds| rounds.parse().ok());
        let derivation =
            digest.zip(rounds).map(|(digest, rounds)| Derivation { digest, pbkdf2_rounds: NonZeroU32::new(rounds) });
        let password = derivation.and(password_file.as_ref()).and_then(read);
        Self { path, password_file, password, derivation: derivation.unwrap_or_default() }
    }

    /// The password file of the key file.
    pub(super) fn password_file(&self) -> Option<&Path> {
        self.password_file.as_deref()
    }

    /// The keys; `None` if the file is encrypted and the password is missing or unreadable.
    pub(super) fn load(&self, view: &View, store: &FileFact) -> Result<MariaDbKeys, keyring::Error> {
        let mut file = std::fs::File::from(view.open_file(Path::new(&store.path))?);
        let bytes = keyring::read(&mut file, store.size_bytes)?;
        let password = self.password.as_deref().map(Vec::as_slice);
        MariaDbKeys::load_derived(&bytes, password, self.derivation)
    }
}

/// Tests every MariaDB tablespace outside of backups.
pub(super) fn collect(view: &View, files: &[FileFact], named: &KeyFileSettings) -> Vec<KeyProof> {
    let wanted: Vec<(&FileFact, &Page0, u32)> = files.iter().filter_map(wanted).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut proofs = Vec::new();
    for store in files.iter().filter(|file| is_store(file, named)) {
        let keys = named.load(view, store);
        for (file, page0, id) in &wanted {
            let (opens, why) = match &keys {
                Ok(keys) => tried(keys, *id, &samples(view, file, page0)),
                // The server could not use this password either.
                Err(keyring::Error::WrongPassword) => (Some(false), None),
                Err(error) => (None, Some(error.to_string())),
            };
            let (path, store) = (file.path.clone(), store.path.clone());
            proofs.push(KeyProof { path, key: format!("key {id}"), store, opens, why });
        }
    }
    proofs
}

fn tried(keys: &MariaDbKeys, id: u32, samples: &[PageSample]) -> (Option<bool>, Option<String>) {
    let opens = keyring::decrypts_page(keys, id, samples);
    let why = match samples {
        [] => "no encrypted page to try a key on",
        _ => "the key is not in the key file",
    };
    (opens, opens.is_none().then(|| why.to_owned()))
}

fn wanted(file: &FileFact) -> Option<(&FileFact, &Page0, u32)> {
    let Content::Tablespace { scan } = &file.content else { return None };
    match scan.page0.encryption {
        Encryption::MariaDb { scheme: 1, key_id, .. }
            if scan.page0.family == Family::MariaDbFullCrc32 && file.role != Role::Backup =>
        {
            Some((file, &scan.page0, key_id))
        }
        _ => None,
    }
}

/// Key files in use, according to the server; without it, any that is not in a backup.
pub(super) fn is_store(file: &FileFact, named: &KeyFileSettings) -> bool {
    let Content::KeyStore { summary } = &file.content else { return false };
    let in_use = named.path.as_ref().is_none_or(|path| path == Path::new(&file.path));
    matches!(summary.kind, StoreKind::MariaDbPlain | StoreKind::OpensslSalted) && in_use && file.role != Role::Backup
}

/// A few encrypted pages of a tablespace.
fn samples(view: &View, file: &FileFact, page0: &Page0) -> Vec<PageSample> {
    let Ok(page_bytes) = usize::try_from(page0.physical_page_bytes) else { return Vec::new() };
    for pages in [FIRST_PAGES, MORE_PAGES] {
        let Ok(bytes) = view.read(Path::new(&file.path), page_bytes.saturating_mul(pages)) else { continue };
        let Some(record) = CryptData::from_page0(bytes.get(..page_bytes).unwrap_or_default(), page0) else { continue };
        let sampled = bytes.chunks_exact(page_bytes).enumerate().skip(1);
        let found: Vec<PageSample> =
            sampled.filter_map(|(_, page)| sample(page, record.iv, page0.space_id.0)).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// A page with key version 1, the only one that key files support, and without page compression.
fn sample(page: &[u8], space_iv: [u8; 16], space_id: u32) -> Option<PageSample> {
    const COMPRESSED: u8 = 0x80;
    let u32_at = |at: usize| page.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
    let encrypted = u32_at(0)? == 1 && page.get(24)? & COMPRESSED == 0;
    let lsn = u64::from_be_bytes(*page.get(16..)?.first_chunk()?);
    let encrypted_block = *page.get(26..)?.first_chunk()?;
    encrypted.then_some(PageSample { space_iv, space_id, page_no: u32_at(4)?, lsn, encrypted_block })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_encrypted_pages_without_compression_are_samples() {
        let mut page = vec![0_u8; 64];
        page[3] = 1;
        page[7] = 4;
        page[23] = 9;
        page[26] = 0xb8;
        let found = sample(&page, [5; 16], 7).unwrap();
        assert_eq!((found.page_no, found.lsn, found.space_id, found.encrypted_block[0]), (4, 9, 7, 0xb8));
        page[24] = 0x80;
        assert_eq!(sample(&page, [5; 16], 7), None);
        assert_eq!(sample(&[0; 64], [5; 16], 7), None);
        assert_eq!(sample(&[0; 8], [5; 16], 7), None);
    }
}
