//! Page copies in doublewrite areas and files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    bytes::bump,
    ids::SpaceId,
    page::{
        header::PageHeader,
        state::{Judged, PageState, copy_family, copy_state},
        types::{ClearClass, is_blank},
    },
    tablespace::Family,
};

/// Copies of pages of one tablespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpacePages {
    /// The tablespace the pages belong to.
    pub space_id: SpaceId,
    /// Encrypted copies.
    pub encrypted: u64,
    /// Clear copies that expose data.
    pub clear_data: u64,
    /// Clear copies with bookkeeping only.
    pub clear_structural: u64,
}

/// Page copies in a doublewrite area or file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoublewriteCopies {
    /// Slots read.
    pub slots: u64,
    /// Empty slots.
    pub empty: u64,
    /// Encrypted copies.
    pub encrypted: u64,
    /// Clear copies that expose data.
    pub clear_data: u64,
    /// Clear copies with bookkeeping only.
    pub clear_structural: u64,
    /// The header says encrypted, but the body is clear text.
    pub mislabelled: u64,
    /// Copies with an unknown page type.
    pub unrecognised: u64,
    /// By tablespace, ascending. Copies whose space id is unreadable (MariaDB, encrypted,
    /// full_crc32) are not listed, and at most 65,536 tablespaces are.
    pub by_space: Vec<SpacePages>,
    /// Types of clear copies, by name.
    pub clear_types: BTreeMap<String, u64>,
}

impl DoublewriteCopies {
    /// The page copies of one tablespace.
    #[must_use]
    pub fn for_space(&self, space_id: SpaceId) -> Option<&SpacePages> {
        self.by_space.iter().find(|pages| pages.space_id == space_id)
    }
}

/// Maximum number of tablespaces that are listed.
const MAX_SPACES: usize = 65536;

/// Counts copies of pages whose tablespaces are not available.
pub(crate) struct CopyCounter {
    mysql: bool,
    found: DoublewriteCopies,
    by_space: BTreeMap<SpaceId, SpacePages>,
}

impl CopyCounter {
    pub(crate) fn new(mysql: bool) -> Self {
        Self { mysql, found: DoublewriteCopies::default(), by_space: BTreeMap::new() }
    }

    /// Counts one slot. Returns its state and the name of its page type.
    pub(crate) fn copy(&mut self, page: &[u8]) -> Option<(PageState, String)> {
        let header = PageHeader::parse(page).ok()?;
        bump(&mut self.found.slots);
        if is_blank(page) {
            bump(&mut self.found.empty);
            return None;
        }
        let family = copy_family(page, self.mysql);
        let judged = copy_state(page, &header, family);
        let readable = family != Family::MariaDbFullCrc32
            || (judged.key_version.is_none() && header.page_type.full_crc32_compressed().is_none());
        self.count(&judged, readable.then_some(header.space_id));
        let name = header.page_type.name(family);
        if matches!(judged.state, PageState::Clear(_)) {
            bump(self.found.clear_types.entry(name.clone()).or_insert(0));
        }
        Some((judged.state, name))
    }

    fn count(&mut self, judged: &Judged, space_id: Option<SpaceId>) {
        let mut unlisted = SpacePages::default();
        let space = match space_id {
            Some(space_id)
                if judged.state != PageState::Unrecognised
                    && (self.by_space.len() < MAX_SPACES || self.by_space.contains_key(&space_id)) =>
            {
                self.by_space.entry(space_id).or_insert_with(|| SpacePages { space_id, ..SpacePages::default() })
            }
            _ => &mut unlisted,
        };
        match judged.state {
            PageState::Empty => bump(&mut self.found.empty),
            PageState::Encrypted => {
                bump(&mut self.found.encrypted);
                bump(&mut space.encrypted);
            }
            PageState::Mislabelled => {
                bump(&mut self.found.mislabelled);
                bump(&mut space.clear_data);
            }
            PageState::Clear(ClearClass::Data) => {
                bump(&mut self.found.clear_data);
                bump(&mut space.clear_data);
            }
            PageState::Clear(ClearClass::Structural) => {
                bump(&mut self.found.clear_structural);
                bump(&mut space.clear_structural);
            }
            PageState::Unrecognised => bump(&mut self.found.unrecognised),
        }
    }

    pub(crate) fn finish(mut self) -> DoublewriteCopies {
        self.found.by_space = self.by_space.into_values().collect();
        self.found
    }
}
