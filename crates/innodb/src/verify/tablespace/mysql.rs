//! Pages of MySQL, and of servers older than both formats of MariaDB.

use crate::{
    bytes::Bytes,
    page::{
        checksum::{self, Checksum},
        compressed,
        header::PageHeader,
        types::PageType,
    },
    verify::{
        Check,
        tablespace::{
            Scratch, TablespaceVerifier,
            head::Opener,
            judgement::{Judgement, State},
        },
    },
};

impl TablespaceVerifier<'_> {
    pub(super) fn judge_mysql(&self, number: u64, page: &mut [u8], scratch: &mut Scratch) -> Judgement {
        let Ok(header) = PageHeader::parse(page) else { return Judgement::new(State::Empty) };
        let encrypted = header.page_type.is_mysql_encrypted();
        let mut judgement = Judgement::new(if encrypted { State::Encrypted } else { State::Clear });
        self.check_place(number, &header, true, &mut judgement);
        if !encrypted {
            if number > 0 {
                self.check_clear(&mut judgement);
            }
            check_sound(page, self.page0.flags.is_row_compressed(), Check::Checksum, scratch, &mut judgement);
            return judgement;
        }
        match &self.opener {
            Opener::None => {
                judgement.bad(Check::EncryptedUnit, "encrypted, but page 0 holds no encryption information");
            }
            Opener::MySql { cipher, .. } => match cipher.open(page) {
                Ok(_) => {
                    let zip = self.page0.flags.is_row_compressed();
                    check_sound(page, zip, Check::OpenedChecksum, scratch, &mut judgement);
                    judgement.opened_lsn = (!judgement.is_bad()).then_some(header.lsn);
                }
                Err(error) => judgement.bad(Check::Length, error.to_string()),
            },
            Opener::MariaDb(_) | Opener::Closed | Opener::Unknown => {}
        }
        judgement
    }
}

/// Checksum and trailer of a clear or opened page; `check` names the layer if they fail.
pub(super) fn check_sound(page: &[u8], zip: bool, check: Check, scratch: &mut Scratch, judgement: &mut Judgement) {
    if page.be16(24) == Some(PageType::COMPRESSED.0) {
        scratch.rebuilt.resize(page.len(), 0);
        match compressed::rebuild_mysql(page, &mut scratch.rebuilt) {
            Ok(()) => check_plain(&scratch.rebuilt, zip, check, judgement),
            Err(error) => judgement.bad(Check::Decompression, error.to_string()),
        }
    } else {
        check_plain(page, zip, check, judgement);
    }
}

fn check_plain(page: &[u8], zip: bool, check: Check, judgement: &mut Judgement) {
    let found = if zip { checksum::zip(page) } else { checksum::classic(page) };
    if found == Checksum::Mismatch {
        let stored = page.be32(0).unwrap_or_default();
        let computed = if zip { checksum::zip_crc32(page) } else { checksum::crc32(page) };
        let when = if check == Check::OpenedChecksum { " after decryption" } else { "" };
        judgement.bad(
            check,
            format!("the checksum does not match{when}: stored 0x{stored:08x}, computed 0x{computed:08x} (crc32)"),
        );
    } else if !zip && page.be32(page.len().saturating_sub(4)) != page.be32(20) {
        judgement.bad(Check::TrailerLsn, "the LSN of the trailer differs from that of the header: a torn write");
    }
}
