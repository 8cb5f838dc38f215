//! Compares a header backup with the current header.

use std::collections::BTreeSet;

use crate::finding::{Code, Finding};
use crate::volume::{Slot, Volume};

/// How a backup relates to a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relation {
    /// Same volume key, same slots.
    Current,
    /// Same volume key, different slots.
    Stale {
        /// Slots only in the backup: their keys were removed from the volume, but still open the backup.
        only_backup: Vec<u32>,
        /// Slots only in the volume: the backup lacks their keys.
        only_volume: Vec<u32>,
    },
    /// Same volume, different volume key: restoring the backup would make the data unreadable.
    OtherVolumeKey,
    /// Another volume.
    OtherVolume,
}

/// How `backup` relates to the volume with the header `current`.
#[must_use]
pub fn compare(backup: &Volume, current: &Volume) -> Relation {
    if backup.uuid != current.uuid {
        return Relation::OtherVolume;
    }
    if proofs(backup) != proofs(current) {
        return Relation::OtherVolumeKey;
    }
    let (only_backup, only_volume) = (only_in(backup, current), only_in(current, backup));
    if only_backup.is_empty() && only_volume.is_empty() {
        Relation::Current
    } else {
        Relation::Stale { only_backup, only_volume }
    }
}

/// The volume keys that encrypt live data, identified by their digests.
fn proofs(volume: &Volume) -> BTreeSet<&(Vec<u8>, Vec<u8>)> {
    volume.current_digests().map(|digest| &digest.proof).collect()
}

/// Slots of `one` that `other` lacks. A new key always has a new salt.
fn only_in(one: &Volume, other: &Volume) -> Vec<u32> {
    let keys =
        |volume: &Volume| volume.slots.iter().filter(|slot| slot.holds_key()).map(identity).collect::<BTreeSet<_>>();
    let known = keys(other);
    one.slots.iter().filter(|slot| slot.holds_key() && !known.contains(&identity(slot))).map(|slot| slot.id).collect()
}

fn identity(slot: &Slot) -> (u32, Vec<u8>) {
    (slot.id, slot.salt.clone())
}

impl Relation {
    /// The finding for a backup that is not current.
    pub(super) fn finding(&self) -> Option<Finding> {
        match self {
            Self::Current => None,
            Self::Stale { only_backup, only_volume } => {
                Some(Finding::new(Code::BackupStale, stale(only_backup, only_volume)))
            }
            Self::OtherVolumeKey => Some(Finding::new(
                Code::BackupOtherVolumeKey,
                "has another volume key: restoring it would make the data unreadable; destroy it",
            )),
            Self::OtherVolume => {
                Some(Finding::new(Code::BackupOtherVolume, "another UUID: restoring it would destroy the data"))
            }
        }
    }
}

fn stale(only_backup: &[u32], only_volume: &[u32]) -> String {
    let list = |ids: &[u32]| ids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let removed =
        (!only_backup.is_empty()).then(|| format!("still opens with the removed key of slot {}", list(only_backup)));
    let lacking = (!only_volume.is_empty()).then(|| format!("lacks the key of slot {}", list(only_volume)));
    let parts: Vec<String> = removed.into_iter().chain(lacking).collect();
    format!("{}; make a new one and destroy this", parts.join(", and "))
}
