//! Copies of pages of other tablespaces, in doublewrite areas and files.
//!
//! A slot keeps its content until it is overwritten, so copies of dropped tablespaces are normal. Source: docs/formats,
//! "mysql.ibd, ibdata1, temporary, doublewrite" and "Page encryption" (ibdata1 of MariaDB).

use crate::{
    bytes::{Bytes, all_zero},
    page::{
        checksum::{self, Checksum},
        header::PageHeader,
        state::{PageState, copy_family, copy_state, sound_row_compressed},
        types::PageType,
    },
    tablespace::Family,
    verify::{
        Check,
        tablespace::{
            PageBuffers,
            judgement::{Judgement, State},
            mariadb, mysql,
            owners::{Owner, TablespaceLookup},
        },
    },
};

/// Judges a copy; decrypts it in place if its owner's key is known.
pub(crate) fn judge(
    slot: &mut [u8],
    mysql: bool,
    owners: &dyn TablespaceLookup,
    buffers: &mut PageBuffers,
) -> Judgement {
    let Ok(header) = PageHeader::parse(slot) else { return Judgement::new(State::Empty) };
    if all_zero(slot.range(24, slot.len())) {
        return Judgement::new(State::Empty);
    }
    let family = copy_family(slot, mysql);
    if family != Family::MySql {
        return mariadb::judge_copy(slot, family, owners, buffers);
    }
    if header.page_type.is_mysql_encrypted() && copy_state(slot, &header, family).state == PageState::Encrypted {
        return encrypted(slot, &header, owners, buffers);
    }
    let mut judgement = Judgement::new(State::Clear);
    let owner = owners.owner(header.space_id);
    if owner.is_some_and(|owner| owner.encrypted) && header.page_no.0 != 0 {
        judgement.clear_copy = true;
    }
    match sound_bytes(slot) {
        Some((page_bytes, zip)) => {
            let page = slot.range(0, page_bytes);
            mysql::check_sound(page, zip, Check::Checksum, buffers, &mut judgement);
        }
        None => judgement.bad(Check::Checksum, "no checksum of this copy matches"),
    }
    judgement
}

/// The page size in a clear slot, and whether it is a ROW_FORMAT=COMPRESSED page.
fn sound_bytes(slot: &[u8]) -> Option<(usize, bool)> {
    let page_compressed = slot.be16(24) == Some(PageType::COMPRESSED.0);
    let whole = match checksum::classic(slot) {
        Checksum::Mismatch => page_compressed,
        // Without checksums a ROW_FORMAT=COMPRESSED page looks the same if the rest of the slot is
        // left over from a page of full size.
        Checksum::None => slot.be32(slot.len().saturating_sub(4)) == slot.be32(20),
        _ => true,
    };
    if whole {
        return Some((slot.len(), false));
    }
    sound_row_compressed(slot).map(|page_bytes| (page_bytes, true))
}

fn encrypted(
    slot: &mut [u8],
    header: &PageHeader,
    owners: &dyn TablespaceLookup,
    buffers: &mut PageBuffers,
) -> Judgement {
    let space = header.space_id;
    let known = owners.owners(space);
    let mut judgement = Judgement::new(State::Encrypted);
    if known.iter().all(|owner| owner.key.is_none()) {
        let (check, why) = match known.first() {
            None if owners.knows_all() => (Check::Stale, "which is not here"),
            None => (Check::Unknown, "which is not here"),
            Some(owner) if owner.encrypted => (Check::Unknown, "which no given key decrypts"),
            Some(_) => (Check::Stale, "which is clear now"),
        };
        judgement.note(check, format!("copy of a page of tablespace {space}, {why}"));
        return judgement;
    }
    let encrypted = slot.to_vec();
    for owner in known.into_iter().filter(|owner| owner.key.is_some()) {
        slot.copy_from_slice(&encrypted);
        judgement = decrypted(slot, header, &owner, buffers);
        if !judgement.is_bad() {
            break;
        }
    }
    judgement
}

/// Whether the key decrypted a page that fails other checks: the checksum in its trailer, which is encrypted, equals
/// the one in its header, which is not.
fn is_decrypted(page: &[u8]) -> bool {
    const TRAILER_BYTES: usize = 8;
    page.be32(0).is_some_and(|sum| sum != 0 && page.be32(page.len().saturating_sub(TRAILER_BYTES)) == Some(sum))
}

fn decrypted(slot: &mut [u8], header: &PageHeader, owner: &Owner, buffers: &mut PageBuffers) -> Judgement {
    let mut judgement = Judgement::new(State::Encrypted);
    let zip = owner.page_bytes < slot.len();
    let cipher = owner.key.as_ref().and_then(|key| key.cipher().ok());
    let (Some(cipher), Some(page)) = (cipher, slot.get_mut(..owner.page_bytes)) else {
        judgement.bad(Check::OpenedChecksum, "no key of its tablespace decrypts this copy");
        return judgement;
    };
    match cipher.decrypt(page) {
        Ok(_) => mysql::check_sound(page, zip, Check::OpenedChecksum, buffers, &mut judgement),
        Err(error) => judgement.bad(Check::Length, error.to_string()),
    }
    if judgement.is_bad() && header.lsn < owner.decrypted_from && !is_decrypted(page) {
        judgement.problems.clear();
        let detail = format!("copy of a page of tablespace {}, older than its current key", header.space_id);
        judgement.note(Check::Stale, detail);
    }
    judgement
}
