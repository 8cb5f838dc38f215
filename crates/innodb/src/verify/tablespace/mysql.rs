//! Pages of MySQL, and of servers older than both MariaDB formats.

use crate::{
    ids::Lsn,
    page::{
        header::PageHeader,
        mysql::{self, PageFault},
        state::{PageState, has_blank_header, is_unmarked_ciphertext, judge},
        types::PageType,
    },
    tablespace::Encryption,
    verify::{
        Check,
        tablespace::{
            Expected, PageBuffers, TablespaceVerifier,
            decryptor::Decryptor,
            judgement::{Judgement, State},
        },
    },
};

impl TablespaceVerifier<'_> {
    /// Judges a page. A page of zeros, encrypted or not, is [`State::Empty`]: its extent descriptor
    /// decides whether it is valid.
    pub(super) fn judge_mysql(&self, number: u64, page: &mut [u8], buffers: &mut PageBuffers) -> Judgement {
        let Ok(header) = PageHeader::parse(page) else { return Judgement::new(State::Empty) };
        if header.page_type.is_mysql_encrypted() {
            return self.judge_encrypted_mysql(number, page, &header, buffers);
        }
        let mut judgement = Judgement::new(State::Clear);
        if has_blank_header(page, &header) && mysql::is_zeros(page, &mut buffers.rebuilt) {
            return Judgement::new(State::Empty);
        }
        self.check_position(number, &header, true, &mut judgement);
        if self.expected == Expected::Encrypted && number > 0 && self.is_newer_than_page0(header.lsn) {
            judgement.mixed();
        } else if number > 0 {
            self.check_clear(&mut judgement);
        }
        check_sound(page, self.page0.flags.is_row_compressed(), Check::Checksum, buffers, &mut judgement);
        let may_be_encrypted = number > 0 && self.expected != Expected::Clear;
        if may_be_encrypted
            && judgement.is_bad()
            && let Some(proof) = self.proof_of_damaged_type(page, &header, buffers)
        {
            let mut judgement = Judgement::new(State::Encrypted);
            judgement.bad(Check::Header, format!("the page's type, {}, is damaged: {proof}", header.page_type.0));
            return judgement;
        }
        judgement
    }

    /// Why a page counts as encrypted although its type says otherwise: a key decrypts it, or its bytes look like
    /// ciphertext.
    fn proof_of_damaged_type(&self, page: &[u8], header: &PageHeader, buffers: &mut PageBuffers) -> Option<String> {
        if let Some(PageType(page_type)) = self.decryptable_type(page, buffers) {
            return Some(format!("it can be decrypted as type {page_type}"));
        }
        let by_bytes = is_unmarked_ciphertext(page, header, self.page0.family);
        by_bytes.then(|| "it looks encrypted, and has no valid checksum of a clear page".to_owned())
    }

    /// The encrypted page type with which a key decrypts a page that names another type.
    fn decryptable_type(&self, page: &[u8], buffers: &mut PageBuffers) -> Option<PageType> {
        let Decryptor::MySql { cipher, .. } = &self.decryptor else { return None };
        let types = [PageType::ENCRYPTED, PageType::COMPRESSED_ENCRYPTED, PageType::ENCRYPTED_RTREE];
        types.into_iter().find(|page_type| {
            let mut page = page.to_vec();
            if let Some(stored) = page.get_mut(24..26) {
                stored.copy_from_slice(&page_type.0.to_be_bytes());
            }
            let mut judgement = Judgement::new(State::Encrypted);
            let zip = self.page0.flags.is_row_compressed();
            if cipher.decrypt(&mut page).is_ok() {
                check_sound(&page, zip, Check::OpenedChecksum, buffers, &mut judgement);
                return !judgement.is_bad();
            }
            false
        })
    }

    fn judge_encrypted_mysql(
        &self,
        number: u64,
        page: &mut [u8],
        header: &PageHeader,
        buffers: &mut PageBuffers,
    ) -> Judgement {
        let mut judgement = Judgement::new(State::Encrypted);
        let blank = has_blank_header(page, header);
        if !blank {
            self.check_position(number, header, true, &mut judgement);
        }
        match &self.decryptor {
            Decryptor::None if self.is_newer_than_page0(header.lsn) => {
                let detail = "encrypted since the newest checkpoint, but page 0 does not say so yet: the key is in the \
                    redo log alone";
                judgement.note(Check::Unknown, detail);
            }
            Decryptor::None if matches!(self.page0.encryption, Encryption::PerconaKeyring { .. }) => {
                judgement.note(Check::Unknown, "encrypted, and page 0 holds a record of Percona's keyring encryption");
            }
            Decryptor::None if judge(page, header, self.page0.context()).state == PageState::Encrypted => {
                judgement.bad(Check::EncryptedUnit, "encrypted, but page 0 holds no encryption information");
            }
            Decryptor::None => {
                judgement.state = State::Clear;
                let page_type = header.page_type.0;
                judgement
                    .bad(Check::Header, format!("the page's type, {page_type}, says encrypted, and its bytes do not"));
            }
            Decryptor::MySql { cipher, .. } => match cipher.decrypt(page) {
                Ok(_) if blank && mysql::is_zeros(page, &mut buffers.rebuilt) => return Judgement::new(State::Empty),
                Ok(_) => {
                    let zip = self.page0.flags.is_row_compressed();
                    check_sound(page, zip, Check::OpenedChecksum, buffers, &mut judgement);
                    judgement.decrypted_lsn = (!judgement.is_bad()).then_some(header.lsn);
                }
                Err(error) => judgement.bad(Check::Length, error.to_string()),
            },
            Decryptor::MariaDb(_) | Decryptor::Closed | Decryptor::Unknown => {}
        }
        judgement
    }

    /// Whether a page of this LSN may be newer than page 0 on disk. While `ALTER TABLESPACE …
    /// ENCRYPTION` runs, the server writes pages in their new form before page 0, which is then in
    /// the redo log after the newest checkpoint.
    ///
    /// Source: seen on 9.7 killed while it encrypted and decrypted a general tablespace.
    fn is_newer_than_page0(&self, lsn: Lsn) -> bool {
        self.checkpoint.map_or(self.live, |checkpoint| lsn > checkpoint)
    }
}

/// Checks a clear or decrypted page; `check` names the layer if its checksum fails.
pub(super) fn check_sound(page: &[u8], zip: bool, check: Check, buffers: &mut PageBuffers, judgement: &mut Judgement) {
    match mysql::check(page, zip, &mut buffers.rebuilt) {
        Ok(_) => {}
        Err(PageFault::Decompress(error)) => judgement.bad(Check::Decompression, error.to_string()),
        Err(PageFault::Checksum { stored, computed }) => {
            let when = if check == Check::OpenedChecksum { " after decryption" } else { "" };
            judgement.bad(
                check,
                format!("the checksum does not match{when}: stored 0x{stored:08x}, computed 0x{computed:08x} (crc32)"),
            );
        }
        Err(PageFault::TrailerLsn) => {
            judgement.bad(Check::TrailerLsn, "the LSN of the trailer differs from that of the header: a torn write");
        }
    }
}
