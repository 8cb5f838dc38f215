//! Whether a page was read as a whole, while its server may have been writing it.

use innodb::{
    KeyVersion, SpaceId,
    crypt::mariadb::{Layout, Plain, PlainFault, ciphertext_holds, key_version, test_clear},
    tablespace::Page0,
};

/// How the pages of a file are checked.
#[derive(Clone, Copy, Debug)]
pub(super) enum PageFormat {
    /// Pages of a tablespace of MariaDB.
    MariaDb(Layout, SpaceId),
    /// The first page was not on disk yet.
    Undetermined,
}

/// What the checksum of a page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Whole,
    /// Its server writes no checksums.
    Unproven,
    /// Read while it was written, or damaged.
    Torn,
}

impl PageFormat {
    /// Reads it off the beginning of a file, and how many bytes a page has; `None` if it is of another server.
    pub(super) fn read(head: &[u8], page_bytes: usize) -> Option<(Self, usize)> {
        let Ok(page0) = Page0::parse(head) else { return Some((Self::Undetermined, page_bytes)) };
        let layout = Layout::from_page0(&page0)?;
        Some((Self::MariaDb(layout, page0.space_id), usize::try_from(page0.physical_page_bytes).ok()?))
    }

    /// Judges a page; `image` is memory that is used again.
    pub(super) fn judge(self, page: &[u8], image: &mut Vec<u8>) -> Page {
        if page.iter().all(|byte| *byte == 0) {
            return Page::Whole;
        }
        match self {
            Self::MariaDb(layout, space) => judge(page, layout, space, image),
            Self::Undetermined => {
                let layouts = [
                    Layout::FullCrc32 { compression: 0 },
                    Layout::Legacy { row_compressed: false },
                    Layout::Legacy { row_compressed: true },
                ];
                let judged = layouts.map(|layout| judge(page, layout, SpaceId(0), image));
                if judged.contains(&Page::Whole) { Page::Whole } else { Page::Torn }
            }
        }
    }
}

fn judge(page: &[u8], layout: Layout, space: SpaceId, image: &mut Vec<u8>) -> Page {
    let checked_as_stored = matches!(layout, Layout::FullCrc32 { .. }) || key_version(page, layout) != KeyVersion(0);
    if checked_as_stored && ciphertext_holds(page, layout) {
        return Page::Whole;
    }
    if matches!(layout, Layout::FullCrc32 { .. }) {
        return Page::Torn;
    }
    match test_clear(page, layout, space, image) {
        // Copies of other tablespaces' pages in the doublewrite area.
        Plain::Holds | Plain::Fails(PlainFault::SpaceId(_)) => Page::Whole,
        Plain::NoChecksum => Page::Unproven,
        Plain::Fails(_) => Page::Torn,
    }
}
