//! Copies of pages of other tablespaces, as doublewrite areas and files keep them.
//!
//! A slot keeps its content until it is overwritten, so copies of dropped tablespaces are normal.
//! Source: formats, "mysql.ibd, ibdata1, temporary, doublewrite" and "Page encryption" (ibdata1 of
//! MariaDB).

use crate::{
    bytes::{Bytes, all_zero},
    crypt::mysql::TablespaceKey,
    ids::{Lsn, SpaceId},
    page::{
        checksum::{self, Checksum},
        header::PageHeader,
        state::copy_family,
        types::PageType,
    },
    tablespace::Family,
    verify::{
        Check,
        tablespace::{
            Scratch,
            judgement::{Judgement, State},
            mariadb, mysql,
        },
    },
};

/// Another tablespace, as far as copies of its pages need it.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Bytes of a page in its file.
    pub page_bytes: usize,
    /// Whether page 0 says that its pages are encrypted.
    pub encrypted: bool,
    /// MySQL: its key.
    pub key: Option<TablespaceKey>,
    /// Lowest LSN of its pages that the key opened: an older copy may be from before a change of
    /// key.
    pub opened_from: Lsn,
}

/// Other tablespaces by number.
pub trait Owners: Sync {
    /// The tablespace, if it is known.
    fn owner(&self, space: SpaceId) -> Option<Owner>;

    /// All tablespaces of that number: of several servers, or of several backups of one.
    fn owners(&self, space: SpaceId) -> Vec<Owner> {
        self.owner(space).into_iter().collect()
    }

    /// Whether a tablespace that is not known is a dropped one: keys were given, and other
    /// tablespaces were.
    fn knows_all(&self) -> bool {
        true
    }
}

/// No other tablespace is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoOwners;

impl Owners for NoOwners {
    fn owner(&self, _: SpaceId) -> Option<Owner> {
        None
    }

    fn knows_all(&self) -> bool {
        false
    }
}

/// Sizes of compressed-row pages: they fill only the start of a slot.
const ROW_COMPRESSED: [usize; 5] = [1024, 2048, 4096, 8192, 16384];

/// Judges a copy, which is opened in place if its owner's key is known.
pub(crate) fn judge(slot: &mut [u8], mysql: bool, owners: &dyn Owners, scratch: &mut Scratch) -> Judgement {
    let Ok(header) = PageHeader::parse(slot) else { return Judgement::new(State::Empty) };
    if all_zero(slot.range(24, slot.len())) {
        return Judgement::new(State::Empty);
    }
    let family = copy_family(slot, mysql);
    if family != Family::MySql {
        return mariadb::judge_copy(slot, family, owners, scratch);
    }
    if header.page_type.is_mysql_encrypted() {
        return encrypted(slot, &header, owners, scratch);
    }
    let mut judgement = Judgement::new(State::Clear);
    let owner = owners.owner(header.space_id);
    if owner.is_some_and(|owner| owner.encrypted) && header.page_no.0 != 0 {
        judgement.clear_copy = true;
    }
    match sound_bytes(slot) {
        Some((page_bytes, zip)) => {
            let page = slot.range(0, page_bytes);
            mysql::check_sound(page, zip, Check::Checksum, scratch, &mut judgement);
        }
        None => judgement.bad(Check::Checksum, "no checksum of this copy holds"),
    }
    judgement
}

/// How many bytes of a clear slot are the page, and whether its rows are compressed.
fn sound_bytes(slot: &[u8]) -> Option<(usize, bool)> {
    let page_compressed = slot.be16(24) == Some(PageType::COMPRESSED.0);
    let whole = match checksum::classic(slot) {
        Checksum::Mismatch => page_compressed,
        // Where pages have no checksums, the one of a compressed-row page looks the same if the end
        // of the slot is left from a page of the full size.
        Checksum::None => slot.be32(slot.len().saturating_sub(4)) == slot.be32(20),
        _ => true,
    };
    if whole {
        return Some((slot.len(), false));
    }
    ROW_COMPRESSED
        .into_iter()
        .find(|size| *size <= slot.len() && checksum::zip(slot.range(0, *size)).is_ok())
        .map(|size| (size, true))
}

fn encrypted(slot: &mut [u8], header: &PageHeader, owners: &dyn Owners, scratch: &mut Scratch) -> Judgement {
    let space = header.space_id;
    let known = owners.owners(space);
    let mut judgement = Judgement::new(State::Encrypted);
    if known.iter().all(|owner| owner.key.is_none()) {
        let (check, why) = match known.first() {
            None if owners.knows_all() => (Check::Stale, "which is not here"),
            None => (Check::Unknown, "which is not here"),
            Some(owner) if owner.encrypted => (Check::Unknown, "which no key given opens"),
            Some(_) => (Check::Stale, "which is clear by now"),
        };
        judgement.note(check, format!("copy of a page of tablespace {space}, {why}"));
        return judgement;
    }
    let sealed = slot.to_vec();
    for owner in known.into_iter().filter(|owner| owner.key.is_some()) {
        slot.copy_from_slice(&sealed);
        judgement = opened(slot, header, &owner, scratch);
        if !judgement.is_bad() {
            break;
        }
    }
    judgement
}

fn opened(slot: &mut [u8], header: &PageHeader, owner: &Owner, scratch: &mut Scratch) -> Judgement {
    let mut judgement = Judgement::new(State::Encrypted);
    let zip = owner.page_bytes < slot.len();
    let cipher = owner.key.as_ref().and_then(|key| key.cipher().ok());
    let (Some(cipher), Some(page)) = (cipher, slot.get_mut(..owner.page_bytes)) else {
        judgement.bad(Check::OpenedChecksum, "no key of its tablespace opens this copy");
        return judgement;
    };
    match cipher.open(page) {
        Ok(_) => mysql::check_sound(page, zip, Check::OpenedChecksum, scratch, &mut judgement),
        Err(error) => judgement.bad(Check::Length, error.to_string()),
    }
    if judgement.is_bad() && header.lsn < owner.opened_from {
        judgement.problems.clear();
        let detail = format!("copy of a page of tablespace {}, older than its present key", header.space_id);
        judgement.note(Check::Stale, detail);
    }
    judgement
}
