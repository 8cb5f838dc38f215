//! Compares a header backup with the volume's current header.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Header, Manifest, open, volume_at};
use crate::Error;
use crate::cryptsetup::Cryptsetup;
use crate::judge::{Relation, compare};
use crate::secret::Secret;

/// Schema id of [`Check`] in JSON output.
const SCHEMA: &str = "sealant.luks-header-check/1";

/// Result of comparing a backup with its volume. Later versions only add fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Path of the backup.
    #[serde(skip)]
    pub backup: PathBuf,
    schema: &'static str,
    /// One of `current`, `stale`, `other-volume-key`, `other-volume`.
    pub verdict: &'static str,
    /// Slots whose keys open the backup but not the volume.
    pub only_backup: Vec<u32>,
    /// Slots whose keys open the volume but not the backup.
    pub only_volume: Vec<u32>,
    /// Whether the bytes of the backup match its manifest; null if it has no manifest.
    pub as_saved: Option<bool>,
    /// Slot of the backup that the key opens; null if it opens none or no key was given.
    pub key_opens_backup: Option<u32>,
    /// Slot of the volume that the key opens; null as above.
    pub key_opens_volume: Option<u32>,
    /// Whether a key was tried.
    #[serde(skip)]
    pub tried_key: bool,
}

impl Check {
    /// Compares a backup with the volume on `device`.
    ///
    /// # Errors
    /// [`Error`] if the backup or the volume cannot be read.
    pub fn new(backup: &Path, device: &Path) -> Result<Self, Error> {
        let header = Header::read(&open(backup)?, backup)?;
        let manifest = Manifest::beside(backup)?;
        let relation = compare(&header.volume, &volume_at(device)?);
        Ok(Self::from_relation(backup, relation, manifest.map(|manifest| manifest.describes(&header))))
    }

    /// Tries a key on the backup and on the volume.
    ///
    /// # Errors
    /// Those of cryptsetup.
    pub fn try_key(self, cryptsetup: &Cryptsetup, key: &Secret, device: &Path) -> Result<Self, Error> {
        let key_opens_backup = cryptsetup.opens(&self.backup, key, None)?;
        let key_opens_volume = cryptsetup.opens(device, key, None)?;
        Ok(Self { key_opens_backup, key_opens_volume, tried_key: true, ..self })
    }

    /// Whether the backup is current and matches its manifest, if it has one.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.verdict == CURRENT && self.as_saved != Some(false)
    }

    fn from_relation(backup: &Path, relation: Relation, as_saved: Option<bool>) -> Self {
        let (verdict, only_backup, only_volume) = match relation {
            Relation::Current => (CURRENT, Vec::new(), Vec::new()),
            Relation::Stale { only_backup, only_volume } => ("stale", only_backup, only_volume),
            Relation::OtherVolumeKey => ("other-volume-key", Vec::new(), Vec::new()),
            Relation::OtherVolume => ("other-volume", Vec::new(), Vec::new()),
        };
        Self {
            backup: backup.to_owned(),
            schema: SCHEMA,
            verdict,
            only_backup,
            only_volume,
            as_saved,
            key_opens_backup: None,
            key_opens_volume: None,
            tried_key: false,
        }
    }
}

const CURRENT: &str = "current";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_current_backup_that_is_what_was_saved_is_good() {
        assert!(Check::from_relation(Path::new("b"), Relation::Current, None).is_good());
        assert!(Check::from_relation(Path::new("b"), Relation::Current, Some(true)).is_good());
        assert!(!Check::from_relation(Path::new("b"), Relation::Current, Some(false)).is_good());
        let stale = Check::from_relation(
            Path::new("b"),
            Relation::Stale { only_backup: vec![1], only_volume: Vec::new() },
            Some(true),
        );
        assert!(!stale.is_good() && stale.verdict == "stale" && stale.only_backup == [1]);
        assert!(!Check::from_relation(Path::new("b"), Relation::OtherVolumeKey, None).is_good());
    }
}
