//! Encrypts all data with a new volume key: checks first, verifies afterwards, and resumes an interrupted run.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use files::WriteOptions;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::backup::{Header, open};
use crate::cryptsetup::{Cryptsetup, Progress, Reencryption, Version};
use crate::device::{Host, header_path, usage_signs_of_file};
use crate::judge::{DeviceInfo, Relation, audit, compare};
use crate::key;
use crate::read::Readable;
use crate::secret::Secret;
use crate::volume::{Format, Volume};
use crate::{Code, Segment};

/// Parameters of a re-encryption.
#[derive(Debug)]
pub struct Reencrypt<'a> {
    /// The program that re-encrypts.
    pub cryptsetup: &'a Cryptsetup,
    /// Path of the device that has the volume.
    pub device: &'a Path,
    /// A key that opens the volume before, during and after the re-encryption.
    pub key: &'a Secret,
    /// Other keys that must still open the volume afterwards.
    pub others: &'a [Secret],
    /// Whether slots of keys that are not named may be dropped.
    pub drop_others: bool,
    /// Directory for the old and the new header.
    pub backups: &'a Path,
    /// PBKDF2 iterations; by default cryptsetup measures.
    pub iterations: Option<u32>,
    /// Resume an unfinished re-encryption.
    pub resume: bool,
}

/// A re-encryption that is allowed and has not begun.
#[derive(Debug)]
pub struct Ready {
    before: Header,
    slot: u32,
    /// All data is re-encrypted already; only keys are missing.
    finished: bool,
    /// Slots that will be dropped.
    pub dropped: Vec<u32>,
}

/// Record of an unfinished run, for the run that resumes it: during the re-encryption cryptsetup keeps only one key.
#[derive(Debug, Serialize, Deserialize)]
struct UnfinishedRun {
    /// Number of other keys to add afterwards.
    others: usize,
    /// Backup of the previous header, which these keys open; a file beside the note.
    header: PathBuf,
}

fn list(slots: &[u32]) -> String {
    slots.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// Progress of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReencryptStep {
    /// Progress of the data.
    Progress(Progress),
    /// A step was completed and verified.
    Done(String),
}

/// Files of the keys, for display.
#[derive(Debug, Clone, Copy)]
pub struct KeyFiles<'a> {
    /// File of [`Reencrypt::key`].
    pub key: &'a Path,
    /// Files of [`Reencrypt::others`].
    pub others: &'a [PathBuf],
}

impl Reencrypt<'_> {
    /// The planned steps, as lines for the user to confirm.
    #[must_use]
    pub fn describe(&self, ready: &Ready, files: KeyFiles<'_>) -> String {
        let (what, first) = if self.resume {
            ("the unfinished re-encryption continues", "the previous header is kept")
        } else {
            ("all data gets a new volume key", "save the header")
        };
        let in_use = if self.device.is_file() { "" } else { "; it may stay in use" };
        let dropped = match ready.dropped.as_slice() {
            [] => String::new(),
            slots => format!("     DROPPED: slot {}, whose keys are not named\n", list(slots)),
        };
        let others: String =
            files.others.iter().map(|other| format!("     then add {} again\n", other.display())).collect();
        let (device, key, backups) = (self.device.display(), files.key.display(), self.backups.display());
        format!(
            "{device}: {what}{in_use}\n  \
             1. {first} in {backups}\n  \
             2. re-encrypt; {key} opens it at every moment\n\
             {dropped}{others}  \
             3. prove the keys, save the new header in {backups}\n"
        )
    }

    /// Decides whether the re-encryption may begin or resume. Changes nothing.
    ///
    /// # Errors
    /// [`Error::Refused`] with the reason; others.
    pub fn check(&self) -> Result<Ready, Error> {
        let refused = |why: &str| Err(Error::refused(self.device, why));
        let is_device = fs::metadata(self.device).is_ok_and(|metadata| metadata.file_type().is_block_device());
        if let Some(why) = fault(self.cryptsetup.version(), self.resume, is_device) {
            return refused(why);
        }
        let file = open(self.device)?;
        let before = Header::read(&file, self.device)?;
        let report = audit(&file, &DeviceInfo::default(), None)
            .map_err(|error| Error::refused(self.device, error.to_string()))?;
        if report.findings.iter().any(|finding| finding.code == Code::ReencryptStuck) {
            return refused(
                "was interrupted in the last step of a re-encryption; `sealant luks header repair` repairs it",
            );
        }
        if before.volume.is_rewritten() {
            return refused(
                "was interrupted when all its data was re-encrypted, and would be encrypted twice; `sealant luks \
                 header repair` completes it",
            );
        }
        if !is_device {
            // cryptsetup cannot tell whether a file is in use, and is told not to try.
            let uses = usage_signs_of_file(&Host::this(), self.device);
            if !uses.is_empty() {
                return Err(Error::Used { device: self.device.to_owned(), uses });
            }
        }
        let unfinished_run = self.unfinished_run(&before.volume)?;
        let finished = self.resume && unfinished_run.is_some() && !before.volume.reencrypting();
        match &unfinished_run {
            Some(_) if !self.resume => return refused("a re-encryption is not finished; --resume continues it"),
            Some(unfinished_run) => self.prove_others(unfinished_run)?,
            None => {}
        }
        if let (false, Err(why)) = (finished, state(&before.volume, self.resume)) {
            return refused(why);
        }
        // A power cut may damage one copy; cryptsetup restores it when it resumes.
        if !self.resume && before.readable != Readable::Yes {
            return refused(
                "one copy of its header is damaged; `sealant luks audit` shows details, `cryptsetup repair` repairs it",
            );
        }
        let Some(slot) = self.cryptsetup.opens(self.device, self.key, None)? else {
            return refused("the key does not open it");
        };
        let dropped = if self.resume { Vec::new() } else { self.dropped(&before.volume, slot)? };
        Ok(Ready { before, slot, finished, dropped })
    }

    /// The record of an interrupted run, if that run changed anything.
    fn unfinished_run(&self, volume: &Volume) -> Result<Option<UnfinishedRun>, Error> {
        let path = self.note(volume)?;
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(&path)(error)),
        };
        let unfinished_run: UnfinishedRun = serde_json::from_slice(&text)
            .map_err(|error| Error::refused(&path, format!("is not the note of a run: {error}")))?;
        let saved = self.backups.join(&unfinished_run.header);
        let before = Header::read(&open(&saved)?, &saved)?.volume;
        let changed = volume.reencrypting() || compare(&before, volume) == Relation::OtherVolumeKey;
        Ok(changed.then_some(unfinished_run))
    }

    /// Checks the other keys with the previous header, because during the re-encryption they open nothing.
    fn prove_others(&self, unfinished_run: &UnfinishedRun) -> Result<(), Error> {
        if unfinished_run.others > self.others.len() && !self.drop_others {
            let why = format!(
                "was begun with {} other keys, which open nothing meanwhile; name them with --other-key-file, or give \
                 --drop-other-keys",
                unfinished_run.others
            );
            return Err(Error::refused(self.device, why));
        }
        let header = self.backups.join(&unfinished_run.header);
        for other in self.others {
            if self.cryptsetup.opens(&header, other, None)?.is_none() {
                return Err(Error::refused(self.device, "one of the other keys did not open it before"));
            }
        }
        Ok(())
    }

    fn note(&self, volume: &Volume) -> Result<PathBuf, Error> {
        let uuid = volume.plain_uuid().ok_or_else(|| Error::no_uuid(self.device))?;
        Ok(self.backups.join(format!("{uuid}.reencrypt")))
    }

    /// Slots that would be dropped: no given key opens them.
    fn dropped(&self, volume: &Volume, slot: u32) -> Result<Vec<u32>, Error> {
        let mut kept = vec![slot];
        for other in self.others {
            match self.cryptsetup.opens(self.device, other, None)? {
                Some(slot) => kept.push(slot),
                None => return Err(Error::refused(self.device, "one of the other keys does not open it")),
            }
        }
        let holds = volume.slots.iter().filter(|slot| slot.holds_key()).map(|slot| slot.id);
        let dropped: Vec<u32> = holds.filter(|id| !kept.contains(id)).collect();
        if dropped.is_empty() || self.drop_others {
            return Ok(dropped);
        }
        let list = dropped.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let why = format!(
            "the keys of slot {list} would open nothing afterwards; name them with --other-key-file, or give \
             --drop-other-keys"
        );
        Err(Error::refused(self.device, why))
    }

    /// Runs the re-encryption; returns the path of the new header's backup.
    ///
    /// # Errors
    /// [`Error`]; unless the message says that nothing was changed, a run with `resume` continues.
    pub fn run(&self, ready: &Ready, on_step: &mut dyn FnMut(ReencryptStep)) -> Result<PathBuf, Error> {
        let before = &ready.before.volume;
        if Header::read(&open(self.device)?, self.device)?.volume != *before {
            return Err(Error::refused(self.device, "its header has changed since the plan was made"));
        }
        let note = self.note(before)?;
        // A header backup that is made during a re-encryption is useless.
        if !self.resume {
            let saved = self.save(&ready.before)?;
            on_step(ReencryptStep::Done(format!("previous header saved in {}", saved.display())));
            let header = saved.file_name().map(PathBuf::from).unwrap_or_default();
            let unfinished_run = serde_json::to_vec(&UnfinishedRun { others: self.others.len(), header });
            let unfinished_run = unfinished_run.map_err(|error| Error::io(&note)(error.into()))?;
            // Left by a run that was interrupted before it changed anything.
            remove(&note)?;
            files::write_atomic(&note, &unfinished_run, WriteOptions::SECRET).map_err(Error::io(&note))?;
        }
        let several = before.slots.iter().filter(|slot| slot.holds_key()).count() > 1;
        let is_file = fs::metadata(self.device).is_ok_and(|metadata| metadata.is_file());
        let how = Reencryption {
            resume: self.resume,
            slot: several.then_some(ready.slot),
            iterations: self.iterations,
            offline: is_file,
            ..Reencryption::default()
        };
        let mut finished = ready.finished;
        if self.resume && before.is_at_work() {
            self.cryptsetup.recover(self.device, self.key)?;
            on_step(ReencryptStep::Done("the part that was being written at the interruption is recovered".to_owned()));
            // If that was the last part, there is nothing left to resume.
            finished = !Header::read(&open(self.device)?, self.device)?.volume.reencrypting();
        }
        if !finished {
            self.cryptsetup
                .reencrypt(self.device, self.key, &how, &mut |progress| on_step(ReencryptStep::Progress(progress)))?;
        }
        self.prove(before)?;
        on_step(ReencryptStep::Done("all data re-encrypted, and the key opens it".to_owned()));
        for (number, other) in (1_usize..).zip(self.others) {
            let slot = match self.cryptsetup.opens(self.device, other, None)? {
                Some(slot) => slot,
                None => key::add(self.cryptsetup, self.device, self.key, other, self.iterations)?,
            };
            on_step(ReencryptStep::Done(format!("other key {number} opens slot {slot}")));
        }
        let saved = self.save(&Header::read(&open(self.device)?, self.device)?)?;
        remove(&note)?;
        Ok(saved)
    }

    fn prove(&self, before: &Volume) -> Result<(), Error> {
        let not_proven = |why: &str| Err(Error::not_proven(self.device, why));
        let after = Header::read(&open(self.device)?, self.device)?.volume;
        if after.reencrypting() {
            return not_proven("the re-encryption is not finished; --resume continues it");
        }
        if !self.resume && compare(before, &after) != Relation::OtherVolumeKey {
            return not_proven("still has the previous volume key");
        }
        match self.cryptsetup.opens(self.device, self.key, None)? {
            Some(_) => Ok(()),
            None => not_proven("the key does not open it any more"),
        }
    }

    fn save(&self, header: &Header) -> Result<PathBuf, Error> {
        let path = header_path(self.backups, self.device, &header.volume)?;
        if !path.exists() {
            header.save(&path)?;
        }
        Ok(path)
    }
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(path)(error)),
        _ => Ok(()),
    }
}

/// Reason not to use this release of cryptsetup. Sources: release notes of cryptsetup 2.7.5 (online re-encryption could
/// corrupt data) and 2.4.3 (CVE-2021-4122: resuming with a forged header decrypts the data).
fn fault(version: Version, resume: bool, is_device: bool) -> Option<&'static str> {
    if is_device && (Version::new(2, 7, 0)..Version::new(2, 7, 5)).contains(&version) {
        return Some("cryptsetup 2.7.0 to 2.7.4 can corrupt data in online re-encryption; install 2.7.5 or newer");
    }
    if resume && version < Version::new(2, 4, 3) {
        return Some("cryptsetup before 2.4.3 may resume a forged re-encryption (CVE-2021-4122); install a newer one");
    }
    None
}

fn state(volume: &Volume, resume: bool) -> Result<(), &'static str> {
    if volume.format == Format::Luks1 {
        return Err("is LUKS1, which cannot be re-encrypted while in use; `cryptsetup convert --type luks2` first");
    }
    if volume.segments.iter().any(|segment: &Segment| segment.integrity.is_some()) {
        return Err("has authenticated sectors, which cryptsetup does not re-encrypt");
    }
    // cryptsetup would treat the header itself as data, and encrypt its key slots (seen with 2.6.1).
    if volume.is_detached() {
        return Err("is a header whose data lies on another device; `cryptsetup reencrypt --header` re-encrypts that");
    }
    match (resume, volume.reencrypting()) {
        (true, false) => Err("no re-encryption was begun"),
        (false, true) => Err("a re-encryption is not finished; --resume continues it"),
        (false, false) if !volume.requirements.is_empty() => Err("its header has an unknown requirement"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_with_known_faults_are_refused() {
        let fault = |a, b, c, resume, device| fault(Version::new(a, b, c), resume, device).is_some();
        assert!(fault(2, 7, 0, false, true) && fault(2, 7, 4, true, true));
        assert!(!fault(2, 7, 4, false, false), "files are re-encrypted offline");
        assert!(!fault(2, 7, 5, true, true) && !fault(2, 6, 1, true, true));
        assert!(fault(2, 4, 2, true, false) && !fault(2, 4, 2, false, true));
    }
}
