//! Other tablespaces, to which page copies in doublewrite areas belong.

use crate::{
    crypt::mysql::TablespaceKey,
    ids::{Lsn, SpaceId},
};

/// What is known about another tablespace to judge copies of its pages.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Bytes of a page in its file.
    pub page_bytes: usize,
    /// Whether page 0 says that its pages are encrypted.
    pub encrypted: bool,
    /// MySQL: its key.
    pub key: Option<TablespaceKey>,
    /// Lowest LSN of its pages that the key decrypted: an older copy may date from before a change
    /// of key.
    pub decrypted_from: Lsn,
}

/// Other tablespaces by number.
pub trait TablespaceLookup: Sync {
    /// The tablespace, if it is known.
    fn owner(&self, space: SpaceId) -> Option<Owner>;

    /// All tablespaces with that number: of several servers, or of several backups of one.
    fn owners(&self, space: SpaceId) -> Vec<Owner> {
        self.owner(space).into_iter().collect()
    }

    /// Whether an unknown tablespace must be a dropped one: both keys and other tablespaces were
    /// given.
    fn knows_all(&self) -> bool {
        true
    }
}

/// No other tablespaces are known.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTablespaces;

impl TablespaceLookup for NoTablespaces {
    fn owner(&self, _: SpaceId) -> Option<Owner> {
        None
    }

    fn knows_all(&self) -> bool {
        false
    }
}
