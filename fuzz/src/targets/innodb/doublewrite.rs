//! Doublewrite files, whose copies of pages belong to one tablespace or another.
//!
//! Control byte: bits 0 to 2 give the slot's size, by trial from 5 on; bits 3 and 4 the size of the
//! owner's pages against the slot's; bit 5 gives the owner's key away, bit 6 says that it is encrypted;
//! with bit 7 the slots are clear pages, which are sealed first.

use std::sync::LazyLock;

use crate::innodb::{
    control, is_set,
    repair::{PageSums, clear_page, mysql_page},
};
use innodb::{
    Lsn, SpaceId,
    crypt::mysql::TablespaceKey,
    verify::{
        doublewrite,
        tablespace::{Owner, TablespaceLookup},
    },
};

static KEY: LazyLock<TablespaceKey> = LazyLock::new(|| TablespaceKey::from_parts(&[7; 32], &[9; 32]));

struct Known {
    owner: Owner,
}

impl TablespaceLookup for Known {
    /// Every other tablespace is known.
    fn owner(&self, space: SpaceId) -> Option<Owner> {
        (space.0 & 1 == 0).then(|| self.owner.clone())
    }
}

pub(crate) fn run(input: &[u8]) {
    let Some((control, bytes)) = control(input) else { return };
    let page_bytes = 4096_u32 << (control & 7);
    let given = (page_bytes <= 65536).then_some(page_bytes);
    let owner = Owner {
        page_bytes: page_bytes as usize >> (control >> 3 & 3),
        encrypted: is_set(control, 6),
        key: is_set(control, 5).then(|| KEY.clone()),
        decrypted_from: Lsn(1 << 20),
    };
    let mut file = bytes.to_vec();
    if is_set(control, 7)
        && let Ok(cipher) = KEY.cipher()
    {
        let sums = if owner.page_bytes < page_bytes as usize { PageSums::Zip } else { PageSums::Classic };
        for slot in file.chunks_exact_mut(page_bytes as usize) {
            let page = slot.get_mut(..owner.page_bytes).unwrap_or_default();
            clear_page(page, sums);
            mysql_page(page, &cipher);
        }
    }
    if let Ok(report) = doublewrite::verify(&file, given, &Known { owner }) {
        let units = report.units;
        assert_eq!(units.encrypted + units.clear + units.empty + units.bad, units.total);
    }
}
