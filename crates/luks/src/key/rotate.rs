//! Replaces a key: add the new key, prove it, store it, remove the old key's slots, prove that the old key is refused,
//! back up the header.
//!
//! An interrupted rotation can be resumed after every step with the same command, and at every moment at least one
//! stored key opens the volume:
//!
//! | files on disk | next step |
//! |---|---|
//! | `KEY` | create the next key |
//! | `KEY`, `.sealant-new` | add and prove the next key unless it opens already, keep the old key, rename the next key
//! to `KEY` |
//! | `KEY` (new), `.sealant-old` | remove the old key's slots, prove that it is refused, back up the header, delete the
//! old key |

use std::fmt;
use std::path::{Path, PathBuf};

use super::store::Store;
use super::{add, changeable};
use crate::Error;
use crate::backup::{Header, open};
use crate::cryptsetup::Cryptsetup;
use crate::judge::{Relation, compare};
use crate::secret::Secret;
use crate::volume::{Format, Volume};

/// A completed step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RotationStep {
    /// The current key opens the volume.
    Proven,
    /// The next key is stored on disk.
    Made,
    /// The next key opens the volume.
    Added,
    /// A copy of the current key is stored beside it.
    Kept,
    /// The next key has replaced the current key file.
    Stored,
    /// A slot of the old key was removed.
    Killed,
    /// The old key no longer opens anything.
    Refused,
    /// The current header is saved.
    BackedUp,
    /// The old key file is deleted.
    Forgotten,
}

/// A completed step, with the slot or file concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletedStep {
    /// What was done.
    pub step: RotationStep,
    /// The slot, if a slot is concerned.
    pub slot: Option<u32>,
    /// The file, if a file is concerned.
    pub file: Option<PathBuf>,
}

/// Rotation of the key in a file.
#[derive(Debug)]
pub struct Rotation<'a> {
    /// The program that changes the slots.
    pub cryptsetup: &'a Cryptsetup,
    /// Path of the device that has the volume.
    pub device: &'a Path,
    /// The key file. Its content is replaced; its name stays.
    pub key: &'a Path,
    /// Directory for the new header backup; `None` for no backup.
    pub backups: Option<&'a Path>,
    /// PBKDF2 iterations for the new key.
    pub iterations: u32,
}

impl fmt::Display for CompletedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slot = self.slot.map(|slot| format!(" slot {slot}")).unwrap_or_default();
        let file = self.file.as_deref().unwrap_or_else(|| Path::new("")).display();
        match self.step {
            RotationStep::Proven => write!(f, "the key opens{slot}"),
            RotationStep::Made => write!(f, "next key in {file}"),
            RotationStep::Added => write!(f, "it opens{slot}"),
            RotationStep::Kept => write!(f, "old key kept in {file}"),
            RotationStep::Stored => write!(f, "new key in {file}"),
            RotationStep::Killed => write!(f, "removed{slot} of the old key"),
            RotationStep::Refused => f.write_str("the old key opens nothing any more"),
            RotationStep::BackedUp => write!(f, "header saved in {file}"),
            RotationStep::Forgotten => write!(f, "removed {file}"),
        }
    }
}

impl Rotation<'_> {
    /// The planned steps, as lines for the user to confirm.
    #[must_use]
    pub fn describe(&self) -> String {
        let (device, key) = (self.device.display(), self.key.display());
        let backup = match self.backups {
            Some(directory) => format!("save the header in {}", directory.display()),
            None => "save no header".to_owned(),
        };
        format!(
            "{device}: a new key in {key}\n  \
             1. prove that {key} opens it\n  \
             2. make {key}.sealant-new, 64 random bytes\n  \
             3. add it to a free key slot and prove it\n  \
             4. keep the old key in {key}.sealant-old and put the new one in its place\n  \
             5. remove the key slots that the old key opens\n  \
             6. prove that the old key opens nothing and the new one does\n  \
             7. {backup}\n  \
             8. remove {key}.sealant-old\n"
        )
    }

    /// Runs the rotation, or resumes an interrupted one. Calls `after_step` after each step; if it returns false, the
    /// rotation stops before the next one. Returns the header backups that the old key still opens.
    ///
    /// # Errors
    /// [`Error`]. In every case a stored key opens the volume.
    pub fn run(&self, after_step: &mut dyn FnMut(&CompletedStep) -> bool) -> Result<Vec<PathBuf>, Error> {
        changeable(self.device)?;
        let store = Store::open(self.key)?;
        let mut on_step = |step: RotationStep, slot: Option<u32>, file: Option<&Path>| {
            let stepped = CompletedStep { step, slot, file: file.map(Path::to_owned) };
            if after_step(&stepped) { Ok(()) } else { Err(Error::Stopped) }
        };
        if store.new.exists() || !store.old.exists() {
            self.renew(&store, &mut on_step)?;
        }
        self.retire(&store, &mut on_step)?;
        let stale = self.back_up(&mut on_step)?;
        store.forget_old()?;
        on_step(RotationStep::Forgotten, None, Some(&store.old))?;
        Ok(stale)
    }

    /// Adds the new key and puts it in place of the old one.
    fn renew(&self, store: &Store, on_step: &mut OnStep<'_>) -> Result<(), Error> {
        let key = Store::read(&store.key)?;
        let slot = self.opens(&key)?.ok_or_else(|| self.wrong(&store.key))?;
        on_step(RotationStep::Proven, Some(slot), None)?;
        if !store.new.exists() {
            store.make_new()?;
        }
        on_step(RotationStep::Made, None, Some(&store.new))?;
        let new = Store::read(&store.new)?;
        let slot = add(self.cryptsetup, self.device, &key, &new, Some(self.iterations))?;
        on_step(RotationStep::Added, Some(slot), None)?;
        store.keep_old()?;
        on_step(RotationStep::Kept, None, Some(&store.old))?;
        store.promote()?;
        on_step(RotationStep::Stored, None, Some(&store.key))
    }

    /// Removes the old key's slots, after proving the new key once more, as read from its final file.
    fn retire(&self, store: &Store, on_step: &mut OnStep<'_>) -> Result<(), Error> {
        let (key, old) = (Store::read(&store.key)?, Store::read(&store.old)?);
        if key.bytes() == old.bytes() {
            return Err(self.refused("the old key and the new one are the same"));
        }
        let ours = self.opens(&key)?.ok_or_else(|| self.wrong(&store.key))?;
        let volume = changeable(self.device)?;
        // A slot of priority `ignore` opens only if it is selected.
        for slot in volume.slots.iter().filter(|slot| slot.holds_key() && slot.id != ours) {
            if self.cryptsetup.opens(self.device, &old, Some(slot.id))?.is_some() {
                self.cryptsetup.kill_slot(self.device, slot.id, &key)?;
                on_step(RotationStep::Killed, Some(slot.id), None)?;
            }
        }
        if let Some(slot) = self.opens(&old)? {
            return Err(Error::OldKeyOpens { device: self.device.to_owned(), slot });
        }
        self.opens(&key)?.ok_or_else(|| self.wrong(&store.key))?;
        on_step(RotationStep::Refused, None, None)
    }

    /// Saves the current header, and lists the backups that it made stale.
    fn back_up(&self, on_step: &mut OnStep<'_>) -> Result<Vec<PathBuf>, Error> {
        let Some(directory) = self.backups else { return Ok(Vec::new()) };
        let header = Header::read(&open(self.device)?, self.device)?;
        let mut path = directory.join(backup_name(&header.volume));
        // A resumed run finds its own backup. A different header of the same name is from an earlier rotation.
        let saved = |path: &Path| {
            open(path).and_then(|file| Header::read(&file, path)).is_ok_and(|saved| saved.has_same_bytes(&header))
        };
        if path.exists() && !saved(&path) {
            path = directory.join(format!("{}.{}", backup_name(&header.volume), jiff::Timestamp::now().as_second()));
        }
        if !path.exists() {
            header.save(&path)?;
            files::sync_parent(&path).map_err(Error::io(directory))?;
        }
        on_step(RotationStep::BackedUp, None, Some(&path))?;
        stale(directory, &header.volume).map_err(Error::io(directory))
    }

    fn opens(&self, key: &Secret) -> Result<Option<u32>, Error> {
        self.cryptsetup.opens(self.device, key, None)
    }

    fn wrong(&self, key: &Path) -> Error {
        Error::WrongKey { key: key.to_owned(), device: self.device.to_owned() }
    }

    fn refused(&self, why: &str) -> Error {
        Error::refused(self.device, why)
    }
}

/// Reports a completed step.
type OnStep<'a> = dyn FnMut(RotationStep, Option<u32>, Option<&Path>) -> Result<(), Error> + 'a;

/// Name of the backup, from the volume and the state of its header. LUKS1 has no sequence number; its slots are used
/// instead.
fn backup_name(volume: &Volume) -> String {
    let uuid: String = volume.uuid.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    match volume.format {
        Format::Luks2 => format!("{uuid}.{}.header", volume.sequence),
        Format::Luks1 => {
            let salts: Vec<u8> = volume.slots.iter().flat_map(|slot| slot.salt.clone()).collect();
            let mark: String = files::sha256_hex(&salts).chars().take(8).collect();
            format!("{uuid}.{mark}.header")
        }
    }
}

/// Backups of this volume in a directory that are no longer current.
fn stale(directory: &Path, current: &Volume) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let header = path.is_file().then(|| open(&path).and_then(|file| Header::read(&file, &path)));
        let Some(Ok(header)) = header else { continue };
        if !matches!(compare(&header.volume, current), Relation::Current | Relation::OtherVolume) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_names_its_slot_or_file() {
        let stepped =
            |step, slot, file: Option<&str>| CompletedStep { step, slot, file: file.map(PathBuf::from) }.to_string();
        assert_eq!(stepped(RotationStep::Proven, Some(1), None), "the key opens slot 1");
        assert_eq!(stepped(RotationStep::Killed, Some(0), None), "removed slot 0 of the old key");
        assert_eq!(stepped(RotationStep::BackedUp, None, Some("/h")), "header saved in /h");
    }
}
