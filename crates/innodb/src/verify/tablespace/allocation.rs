//! Whether a page is allocated, by its extent descriptor.
//!
//! Source: docs/formats, "Page 0 (FSP header)": an all-zero page is valid only if its descriptor says free or it lies
//! beyond the free limit; no exception in 62 files of both servers.

use files::ReadAt;

use crate::{
    bytes::{Bytes, as_u64},
    ids::Lsn,
    page::{checksum, flags::SpaceFlags, header::PageHeader, mysql, types::PageType},
    read::fill,
    tablespace::{Family, XDES_ARRAY},
    verify::tablespace::{Part, TablespaceVerifier, decryptor::Decryptor},
};

/// What the extent descriptor of a page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allocation {
    pub(super) free: bool,
    /// LSN of the descriptor page: its newest change.
    pub(super) lsn: Lsn,
}

const BITMAP: u64 = 24;
/// Two bits per page; the lower one means free.
const FREE_BITS: [u8; 4] = [0x01, 0x04, 0x10, 0x40];

impl TablespaceVerifier<'_> {
    /// Looks up page `number`; `None` if its descriptor cannot be read.
    pub(super) fn allocation<R: ReadAt + ?Sized>(
        &self,
        source: &R,
        number: u64,
        part: &mut Part,
    ) -> Option<Allocation> {
        let group = as_u64(self.page_bytes);
        let behind = number.checked_rem(group)?;
        // The descriptor of a descriptor page is on that page itself, so the free limit on page 0 says whether it was
        // written.
        let written = behind == 0 && number < u64::from(self.page0.free_limit);
        let descriptor_page = if written { 0 } else { number.checked_sub(behind)? };
        let page = self.descriptor_page(source, descriptor_page, part)?;
        let lsn = PageHeader::parse(page).ok()?.lsn;
        if written {
            return Some(Allocation { free: false, lsn });
        }
        if number >= u64::from(self.page0.free_limit) {
            return Some(Allocation { free: true, lsn });
        }
        let extent_pages = u64::from(SpaceFlags::extent_pages(self.page0.logical_page_bytes));
        let entry_bytes = BITMAP.checked_add(extent_pages.div_ceil(4))?;
        let (extent, bit) = (behind.checked_div(extent_pages)?, behind.checked_rem(extent_pages)?);
        let at = XDES_ARRAY.checked_add(extent.checked_mul(entry_bytes)?)?.checked_add(BITMAP)?.checked_add(bit / 4)?;
        let byte = *page.get(usize::try_from(at).ok()?)?;
        let free = FREE_BITS.get(usize::try_from(bit % 4).ok()?).is_some_and(|mask| byte & mask != 0);
        Some(Allocation { free, lsn })
    }

    /// Reads, decrypts and checks the descriptor page, unless it is the one read last.
    fn descriptor_page<'p, R: ReadAt + ?Sized>(&self, source: &R, number: u64, part: &'p mut Part) -> Option<&'p [u8]> {
        if part.descriptor.as_ref().is_none_or(|(known, _)| *known != number) {
            part.descriptor = Some((number, self.read_descriptor(source, number)));
        }
        part.descriptor.as_ref()?.1.as_deref()
    }

    fn read_descriptor<R: ReadAt + ?Sized>(&self, source: &R, number: u64) -> Option<Vec<u8>> {
        let index = number.checked_sub(self.first_page)?;
        let mut page = vec![0; self.page_bytes];
        let offset = index.checked_mul(as_u64(self.page_bytes))?;
        if fill(source, offset, &mut page).ok()?.len() != self.page_bytes {
            return None;
        }
        if mysql::is_encrypted(&page) {
            let Decryptor::MySql { cipher, .. } = &self.decryptor else { return None };
            cipher.decrypt(&mut page).ok()?;
        }
        let sound = match self.page0.family {
            Family::MariaDbFullCrc32 => checksum::full_crc32(&page),
            _ if self.page0.flags.is_row_compressed() => checksum::zip(&page),
            _ => checksum::classic(&page),
        };
        let page_type = PageType(page.be16(24)?);
        let descriptor = matches!(page_type, PageType::FSP_HDR | PageType::XDES);
        (sound.is_ok() && descriptor).then_some(page)
    }
}
