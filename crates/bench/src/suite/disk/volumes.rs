//! Encrypted volumes on a disk or in an image: which can be formatted, and what they cost.

use std::{fs::File, path::Path};

use luks::cryptsetup::Cryptsetup;

use super::{DiskSuite, FreeDisk};
use crate::{
    Arm, Error, Experiment, Settings, TemporaryDirectory,
    disk::{CipherSet, Disk, Refusal, TestVolume},
    suite::{Collected, Watch},
};

const PLAIN: &str = "plain disk";
/// Size of an image that shows which sets can be formatted, if no disk is given.
const IMAGE_BYTES: u64 = 32 << 20;

/// Volumes with the names of their arms, and sets that were refused.
type FormatOutcome = (Vec<(String, TestVolume)>, Vec<Refusal>);

/// Formats, opens and measures volumes.
pub(super) struct Volumes<'v> {
    pub(super) suite: &'v DiskSuite<'v>,
    pub(super) cryptsetup: &'v Cryptsetup,
    /// The directory of headers and of an image.
    pub(super) scratch: &'v TemporaryDirectory,
    pub(super) watch: &'v Watch<'v>,
}

impl Volumes<'_> {
    /// Formats an image if there is no disk, to find the sets that cryptsetup refuses. A refusal for lack of
    /// device-mapper does not count.
    pub(super) fn format_image(&self, collected: &mut Collected) -> Result<(), Error> {
        let image = self.scratch.path().join("image");
        File::create(&image).and_then(|file| file.set_len(IMAGE_BYTES)).map_err(Error::file(&image))?;
        let faulty: Vec<&CipherSet> = self.suite.sets.iter().filter(|set| set.fault().is_some()).collect();
        let sectors = self.suite.sector_bytes.get(..1).unwrap_or_default();
        let (_, refused) = self.make(&faulty, sectors, &image)?;
        collected.notes.extend(refusals(&refused));
        Ok(())
    }

    /// Volumes of the sets that can be formatted and opened here, with their names, and the refused sets.
    fn make(&self, sets: &[&CipherSet], sectors: &[u32], device: &Path) -> Result<FormatOutcome, Error> {
        let no_queues = self.suite.no_queues;
        let (mut volumes, mut refused) = (Vec::new(), Vec::new());
        for set in sets {
            for &bytes in sectors {
                (self.watch)(&format!("format {set}"));
                let made = TestVolume::make(self.cryptsetup, set, bytes, device, self.scratch.path(), no_queues);
                let opened = made.and_then(|volume| {
                    if self.suite.written().is_some() {
                        volume.open(self.cryptsetup)?;
                    }
                    Ok(volume)
                });
                match opened {
                    Ok(volume) => volumes.push((format!("{set}, {bytes}"), volume)),
                    Err(error) => refused.push(Refusal::from_error(set, bytes, error)?),
                }
                self.suite.check_stopped()?;
            }
        }
        Ok((volumes, refused))
    }

    /// Measures the volumes and the plain disk.
    pub(super) fn measure(&self, free_disk: &FreeDisk, collected: &mut Collected) -> Result<(), Error> {
        let cryptsetup = self.cryptsetup;
        let disk = Disk::open(&free_disk.named)?;
        let sets: Vec<&CipherSet> = self.suite.sets.iter().collect();
        let (volumes, refused) = self.make(&sets, self.suite.sector_bytes, disk.path())?;
        collected.notes.extend(refusals(&refused));
        collected.notes.push(free_disk.note(&disk));
        let pairs: Vec<(String, String)> = volumes.iter().map(|(name, _)| (name.clone(), PLAIN.to_owned())).collect();
        let settings = Settings { warm_up: false, ..self.suite.settings };
        for &pattern in &self.suite.patterns {
            let plain = Arm::self_timed(PLAIN, || free_disk.fio.run(disk.path(), pattern));
            let arms = volumes.iter().map(|(name, volume)| {
                Arm::self_timed(name.as_str(), move || free_disk.fio.run(volume.open(cryptsetup)?.path(), pattern))
            });
            let name = format!("disk: {}", pattern.title());
            let experiment = Experiment::new(name).arm(plain).arms(arms).before_each(|| self.suite.check_stopped());
            collected.run(experiment, &settings, &pairs, self.watch)?;
        }
        Ok(())
    }
}

/// Sets that are refused, one line for all sector sizes.
fn refusals(refused: &[Refusal]) -> Vec<String> {
    let is_first = |(at, refusal): &(usize, &Refusal)| {
        let same = |other: &Refusal| other.set == refusal.set && other.reason == refusal.reason;
        !refused.iter().take(*at).any(same)
    };
    let note = |(_, refusal): (usize, &Refusal)| format!("{} cannot be formatted: {}", refusal.set, refusal.reason);
    refused.iter().enumerate().filter(is_first).map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_reported_once_for_all_sizes() {
        let refusal = |set: &str, sector_bytes| Refusal { set: set.to_owned(), sector_bytes, reason: "no".to_owned() };
        let notes = refusals(&[refusal("a", 512), refusal("a", 4096), refusal("b", 512)]);
        assert_eq!(notes, ["a cannot be formatted: no", "b cannot be formatted: no"]);
    }
}
