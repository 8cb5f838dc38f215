//! Verified tablespaces by space id. Their keys open the copies of their pages in other files.

use std::{collections::BTreeMap, sync::Mutex};

use innodb::{
    SpaceId,
    verify::tablespace::{Owner, TablespaceLookup},
};

/// Tablespaces are added when they are verified; the verification of doublewrite areas looks them up.
#[derive(Debug)]
pub(crate) struct VerifiedTablespaces {
    keys_given: bool,
    owners: Mutex<BTreeMap<SpaceId, Vec<Owner>>>,
}

/// Maximum number of tablespaces kept for one space id; a tree of backups can have many.
const MAX_PER_SPACE_ID: usize = 64;

impl VerifiedTablespaces {
    pub(crate) const fn new(keys_given: bool) -> Self {
        Self { keys_given, owners: Mutex::new(BTreeMap::new()) }
    }

    pub(crate) fn add(&self, space: SpaceId, owner: Owner) {
        if let Ok(mut owners) = self.owners.lock() {
            let owners = owners.entry(space).or_default();
            if owners.len() < MAX_PER_SPACE_ID {
                owners.push(owner);
            }
        }
    }
}

impl TablespaceLookup for VerifiedTablespaces {
    fn owner(&self, space: SpaceId) -> Option<Owner> {
        let owners = self.owners(space);
        owners.iter().find(|owner| owner.encrypted).or_else(|| owners.first()).cloned()
    }

    fn owners(&self, space: SpaceId) -> Vec<Owner> {
        self.owners.lock().ok().and_then(|owners| owners.get(&space).cloned()).unwrap_or_default()
    }

    fn knows_all(&self) -> bool {
        self.keys_given && self.owners.lock().is_ok_and(|owners| !owners.is_empty())
    }
}
