//! Tablespaces already verified, by number: their keys open copies of their pages elsewhere.

use std::{collections::BTreeMap, sync::Mutex};

use innodb::{
    SpaceId,
    verify::tablespace::{Owner, Owners},
};

/// Filled while tablespaces are verified, asked when doublewrite areas are.
#[derive(Debug, Default)]
pub(crate) struct Spaces {
    owners: Mutex<BTreeMap<SpaceId, Owner>>,
}

impl Spaces {
    /// Two tablespaces of one number (copies of one file in a tree of backups) cannot be told
    /// apart here: the first that has a key stays.
    pub(crate) fn add(&self, space: SpaceId, owner: Owner) {
        if let Ok(mut owners) = self.owners.lock() {
            let better = owners.get(&space).is_none_or(|known| known.key.is_none() && owner.key.is_some());
            if better {
                owners.insert(space, owner);
            }
        }
    }
}

impl Owners for Spaces {
    fn owner(&self, space: SpaceId) -> Option<Owner> {
        self.owners.lock().ok()?.get(&space).cloned()
    }

    fn any_key(&self) -> bool {
        self.owners.lock().is_ok_and(|owners| owners.values().any(|owner| owner.key.is_some()))
    }
}
