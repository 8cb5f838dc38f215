//! Pages of both MariaDB formats.

use crate::{
    bytes::Bytes,
    ids::{KeyVersion, SpaceId},
    page::{
        checksum,
        header::PageHeader,
        layout::ROW_COMPRESSED_PAGE_BYTES,
        mariadb::{self, Layout, PlaintextCheck, PlaintextFault},
        state::{is_exempt, is_unmarked_ciphertext},
        types::PageType,
    },
    tablespace::{Family, MariaDbMode},
    verify::{
        Check,
        tablespace::{
            Expected, PageBuffers, TablespaceVerifier,
            decryptor::{Decryptor, MariaDbDecryptor},
            judgement::{DecryptOutcome, Judgement, State},
            owners::TablespaceLookup,
        },
    },
};

impl TablespaceVerifier<'_> {
    pub(super) fn judge_mariadb(&self, number: u64, page: &mut [u8], buffers: &mut PageBuffers) -> Judgement {
        let (Ok(header), Some(layout)) = (PageHeader::parse(page), self.page0.mariadb_layout()) else {
            return Judgement::new(State::Empty);
        };
        let version = mariadb::key_version(page, layout);
        match &self.decryptor {
            Decryptor::MariaDb(decryptor) if version != KeyVersion(0) => {
                self.judge_encrypted(decryptor, number, page, layout, version, buffers)
            }
            _ if version != KeyVersion(0) && is_unproven_version(page, layout) => {
                self.judge_clear(number, page, &header, layout, buffers)
            }
            _ if version != KeyVersion(0) && !self.is_actually_clear(page, layout, buffers) => {
                let mut judgement = Judgement::new(State::Encrypted);
                judgement.bad(Check::EncryptedUnit, "encrypted, but page 0 holds no crypt data");
                judgement
            }
            _ => self.judge_clear(number, page, &header, layout, buffers),
        }
    }

    /// Bytes 26 to 29 of a page of the older format are a key version only if page 0 has crypt
    /// data; old servers stored other values there.
    fn is_actually_clear(&self, page: &[u8], layout: Layout, buffers: &mut PageBuffers) -> bool {
        let legacy = matches!(layout, Layout::Legacy { .. });
        let plain = mariadb::check_plaintext(page, layout, self.page0.space_id, &mut buffers.rebuilt);
        legacy && !matches!(plain, PlaintextCheck::Fails(_))
    }

    fn judge_encrypted(
        &self,
        decryptor: &MariaDbDecryptor<'_>,
        number: u64,
        page: &mut [u8],
        layout: Layout,
        version: KeyVersion,
        buffers: &mut PageBuffers,
    ) -> Judgement {
        let mut judgement = Judgement::new(State::Encrypted);
        let Ok(header) = PageHeader::parse(page) else { return judgement };
        let newer = matches!(layout, Layout::FullCrc32 { .. });
        if newer && !self.page0.declares_encryption() && is_unproven_version(page, layout) {
            return self.judge_clear(number, page, &header, layout, buffers);
        }
        self.check_position(number, &header, matches!(layout, Layout::Legacy { .. }), &mut judgement);
        if !mariadb::ciphertext_holds(page, layout) {
            if !self.page0.declares_encryption() {
                judgement.state = State::Clear;
                judgement
                    .bad(Check::Header, format!("names version {version} of a key, and its bytes are not encrypted"));
                return judgement;
            }
            judgement.bad(Check::CiphertextChecksum, "the checksum over the encrypted page does not match");
            return judgement;
        }
        let space = self.page0.space_id;
        let outcome = decryptor.decrypt(page, layout, space, version, buffers);
        if !self.page0.declares_encryption() && decryptor.contradicts(outcome) {
            judgement.bad(Check::EncryptedUnit, "encrypted, in a tablespace whose pages are clear");
            return judgement;
        }
        // Only the full_crc32 format covers the version with a checksum.
        let asked = decryptor.min_key_version();
        if outcome == DecryptOutcome::NoKey
            && matches!(layout, Layout::Legacy { .. })
            && decryptor.decrypt(page, layout, space, asked, buffers) == DecryptOutcome::Decrypted
        {
            let detail =
                format!("names version {version} of the key, which is not given, but version {asked} decrypts it");
            judgement.bad(Check::KeyInfo, detail);
            return judgement;
        }
        judgement.outcome = Some((version, outcome));
        judgement.decrypted_lsn = (outcome == DecryptOutcome::Decrypted && !judgement.is_bad()).then_some(header.lsn);
        judgement
    }

    fn judge_clear(
        &self,
        number: u64,
        page: &[u8],
        header: &PageHeader,
        layout: Layout,
        buffers: &mut PageBuffers,
    ) -> Judgement {
        let mut judgement = Judgement::new(State::Clear);
        let full_crc32 = matches!(layout, Layout::FullCrc32 { .. });
        let compressed = mariadb::is_page_compressed(page, layout);
        self.check_position(number, header, !(full_crc32 && compressed), &mut judgement);
        if full_crc32 && !mariadb::ciphertext_holds(page, layout) {
            judgement.bad(Check::Checksum, "the checksum does not match");
        } else {
            check_plain(page, layout, self.page0.space_id, buffers, &mut judgement);
        }
        if self.expected != Expected::Clear
            && judgement.is_bad()
            && is_unmarked_ciphertext(page, header, self.page0.family)
        {
            let mut judgement = Judgement::new(State::Encrypted);
            let detail =
                "the page's key version is damaged: it looks encrypted, and has no valid checksum of a clear page";
            judgement.bad(Check::Header, detail);
            return judgement;
        }
        let (space, page_bytes) = (self.page0.space_id, self.page0.physical_page_bytes);
        let at = crate::PageNo(u32::try_from(number).unwrap_or(u32::MAX));
        if !is_exempt(header, at, space, self.page0.family, page_bytes) {
            self.check_clear_mariadb(header, layout, &mut judgement);
        }
        judgement
    }

    /// Checks a clear page of a kind that servers encrypt in an encrypted tablespace.
    ///
    /// Servers never encrypt R-tree pages of the older format. With `innodb_encrypt_tables=OFF`
    /// they write changed pages of a table that follows that setting in the clear, one by one, and
    /// page 0 says so only when the encryption threads are done. After switching back to ON they
    /// leave such pages as they are, so a single clear page is not damage: seen on MariaDB 10.11
    /// and 11.8.
    fn check_clear_mariadb(&self, header: &PageHeader, layout: Layout, judgement: &mut Judgement) {
        let follows = match &self.decryptor {
            Decryptor::MariaDb(decryptor) => decryptor.option() == MariaDbMode::Default,
            _ => false,
        };
        let mixes = match header.page_type {
            PageType::UNDO | PageType::SYS => true,
            PageType::RTREE => matches!(layout, Layout::Legacy { .. }),
            _ => false,
        };
        match self.expected {
            Expected::Encrypted if mixes || follows => judgement.mixed(),
            _ => self.check_clear(judgement),
        }
    }
}

/// Whether the checksum of a page that names a key version shows that it is damaged, or not encrypted.
fn is_unproven_version(page: &[u8], layout: Layout) -> bool {
    !mariadb::ciphertext_holds(page, layout)
}

fn check_plain(page: &[u8], layout: Layout, space: SpaceId, buffers: &mut PageBuffers, judgement: &mut Judgement) {
    let fault = match mariadb::check_plaintext(page, layout, space, &mut buffers.rebuilt) {
        PlaintextCheck::Fails(fault) => fault,
        PlaintextCheck::Holds | PlaintextCheck::NoChecksum => return,
    };
    let check = match fault {
        PlaintextFault::Checksum => Check::Checksum,
        PlaintextFault::TrailerLsn => Check::TrailerLsn,
        PlaintextFault::SpaceId(_) if judgement.is_bad() => return,
        PlaintextFault::SpaceId(_) => Check::SpaceId,
        PlaintextFault::Image | PlaintextFault::Decompress(_) => Check::Decompression,
    };
    judgement.bad(check, fault.to_string());
}

/// Judges a copy in a doublewrite area. Encrypted copies are judged by the checksum over the
/// ciphertext: the newer format hides their tablespace.
pub(super) fn judge_copy(
    slot: &[u8],
    family: Family,
    owners: &dyn TablespaceLookup,
    buffers: &mut PageBuffers,
) -> Judgement {
    let newer = Layout::FullCrc32 { compression: 0 };
    if family == Family::MariaDbFullCrc32 || mariadb::ciphertext_holds(slot, newer) {
        let readable = mariadb::key_version(slot, newer) == KeyVersion(0);
        let mut judgement = Judgement::new(if readable { State::Clear } else { State::Encrypted });
        if readable && !mariadb::is_page_compressed(slot, newer) {
            note_owner(slot, owners, &mut judgement);
        }
        return judgement;
    }
    for row_compressed in [false, true] {
        let layout = Layout::Legacy { row_compressed };
        if mariadb::key_version(slot, layout) != KeyVersion(0) && mariadb::ciphertext_holds(slot, layout) {
            return Judgement::new(State::Encrypted);
        }
    }
    let mut judgement = Judgement::new(State::Clear);
    note_owner(slot, owners, &mut judgement);
    let compressed = slot.be16(24) == Some(PageType::PAGE_COMPRESSED.0);
    let layout = Layout::Legacy { row_compressed: false };
    if compressed {
        buffers.rebuilt.resize(slot.len(), 0);
        if let Err(error) = mariadb::decompress(slot, layout, &mut buffers.rebuilt) {
            judgement.bad(Check::Decompression, error.to_string());
        }
    } else if !checksum::classic(slot).is_ok() && !is_row_compressed_copy(slot) {
        judgement.bad(Check::Checksum, "no checksum of this copy matches");
    }
    judgement
}

/// Pages of ROW_FORMAT=COMPRESSED tables fill only the start of a slot.
fn is_row_compressed_copy(slot: &[u8]) -> bool {
    ROW_COMPRESSED_PAGE_BYTES.into_iter().any(|size| {
        let page = slot.range(0, size);
        let layout = Layout::Legacy { row_compressed: true };
        let encrypted = mariadb::key_version(page, layout) != KeyVersion(0) && mariadb::ciphertext_holds(page, layout);
        page.len() == size && (encrypted || checksum::zip(page).is_ok())
    })
}

fn note_owner(slot: &[u8], owners: &dyn TablespaceLookup, judgement: &mut Judgement) {
    let Ok(header) = PageHeader::parse(slot) else { return };
    let encrypted = owners.owner(header.space_id).is_some_and(|owner| owner.encrypted);
    let exempt = header.page_no.0 == 0 || header.page_type == PageType::XDES;
    if encrypted && !exempt {
        judgement.clear_copy = true;
    }
}
