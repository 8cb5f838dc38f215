//! The cost of cipher sets for encrypted disks: processor time, and throughput of a disk.

mod finding;
mod free_disk;
mod volumes;

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use luks::{cryptsetup::Cryptsetup, sector::SectorCipher};

pub use self::free_disk::FreeDisk;
use self::volumes::Volumes;
use super::{Collected, Outcome, Watch};
use crate::{
    Environment, Error, Experiment, Program, Settings, Subject, TemporaryDirectory,
    disk::{CipherDirection, CipherSet, Pattern, sectors},
};

/// Finds cryptsetup, which a disk requires. The measurement in memory runs without it.
///
/// # Errors
/// [`Error::Luks`] if it is required and not installed.
pub fn find_cryptsetup(free_disk: Option<&FreeDisk>) -> Result<Option<Cryptsetup>, Error> {
    match (Cryptsetup::find(), free_disk) {
        (Err(error), Some(_)) => Err(error.into()),
        (found, _) => Ok(found.ok()),
    }
}

/// Parameters of the measurement.
#[derive(Debug)]
pub struct DiskSuite<'a> {
    /// Cipher sets, each once.
    pub sets: Vec<CipherSet>,
    /// Sizes of encryption sectors, in bytes.
    pub sector_bytes: &'a [u32],
    /// A disk or image to measure on as well; its content is lost.
    pub free_disk: Option<FreeDisk>,
    /// Loads for the disk.
    pub patterns: Vec<Pattern>,
    /// Whether volumes bypass the work queues of dm-crypt.
    pub no_queues: bool,
    /// Duration of each run of the processor experiments.
    pub span: Duration,
    /// Rounds and time budget of each experiment.
    pub settings: Settings<'a>,
    /// `cryptsetup`; without it, the report does not say which sets it still formats.
    pub cryptsetup: Option<Cryptsetup>,
    /// Set to true to end the measurement.
    pub stopped: &'a AtomicBool,
}

impl DiskSuite<'_> {
    /// The disk that the measurement writes to, if any.
    #[must_use]
    pub fn written(&self) -> Option<&FreeDisk> {
        self.free_disk.as_ref().filter(|free_disk| free_disk.has_device_mapper)
    }

    /// Describes the planned writes to the disk for `rounds` rounds; `None` if nothing is written.
    #[must_use]
    pub fn plan(&self, rounds: Option<NonZeroU32>) -> Option<String> {
        let free_disk = self.written()?;
        let patterns = self.patterns.len();
        let arms = self.sets.len().saturating_mul(self.sector_bytes.len()).saturating_add(1);
        let runs = u64::try_from(arms.saturating_mul(patterns)).unwrap_or(u64::MAX);
        let rounds = rounds.map_or(5, NonZeroU32::get);
        let seconds = free_disk.fio.span.as_secs().max(1).saturating_mul(runs).saturating_mul(rounds.into());
        Some(format!(
            "{}: everything on it is lost\n  1. encrypt and decrypt in memory\n  2. open {} volumes on it, one after the \
             other, their headers elsewhere\n  3. put {patterns} loads on each of them and on the plain disk by {}: {} \
             min or more\n",
            free_disk.named.display(),
            arms.saturating_sub(1),
            free_disk.fio.program.display(),
            seconds.div_ceil(60)
        ))
    }

    /// Runs the measurement. `environment` describes the machine with the disk.
    ///
    /// # Errors
    /// [`Error`]: a program could not be run, or it was interrupted.
    pub fn run(&self, environment: Environment, watch: &Watch<'_>) -> Result<Outcome, Error> {
        let mut collected = Collected { notes: machine_notes(&environment), ..Collected::default() };
        let before = collected.notes.len();
        self.processor(&mut collected, watch)?;
        self.disk(&mut collected, watch)?;
        collected.programs = self.programs();
        if let Some(finding) = finding::about_cbc(&self.sets, &collected.experiments) {
            collected.notes.insert(before, finding);
        }
        Ok(collected.finish(environment, Subject::default()))
    }

    /// Measures sectors in memory.
    fn processor(&self, collected: &mut Collected, watch: &Watch<'_>) -> Result<(), Error> {
        let (ciphers, left_out) = self.ciphers();
        collected.notes.extend(left_out);
        let pairs = pairs(&ciphers);
        let settings = Settings { warm_up: true, ..self.settings };
        for (direction, verb) in [(CipherDirection::Encrypt, "encrypt"), (CipherDirection::Decrypt, "decrypt")] {
            for &bytes in self.sector_bytes.iter().filter(|_| !ciphers.is_empty()) {
                let size = usize::try_from(bytes).unwrap_or(512);
                let arms =
                    ciphers.iter().map(|(set, cipher)| sectors(set.to_string(), cipher, size, direction, self.span));
                let name = format!("{verb} {bytes}-byte sectors in memory, one core");
                let experiment = Experiment::new(name).block_bytes(bytes.into()).arms(arms);
                collected.run(experiment, &settings, &pairs, watch)?;
            }
        }
        Ok(())
    }

    /// The sets that our own implementation supports, each with a key of zeros, which costs the same as any key; and
    /// reasons why the other sets are not supported.
    fn ciphers(&self) -> (Vec<(&CipherSet, SectorCipher)>, Vec<String>) {
        let (mut ciphers, mut left_out) = (Vec::new(), Vec::new());
        for set in &self.sets {
            let key = vec![0; usize::try_from(set.key_bits / 8).unwrap_or_default()];
            match SectorCipher::new(&set.cipher, &key) {
                Ok(cipher) => ciphers.push((set, cipher)),
                Err(error) => left_out.push(format!("{set}: not measured in memory: {error}")),
            }
        }
        (ciphers, left_out)
    }

    /// Measures the disk, if one is given, and finds the sets that can be formatted.
    fn disk(&self, collected: &mut Collected, watch: &Watch<'_>) -> Result<(), Error> {
        let Some(cryptsetup) = &self.cryptsetup else {
            collected.missing.push(
                "cryptsetup (without it, the report does not say which sets cryptsetup still \
                formats)"
                    .to_owned(),
            );
            return Ok(());
        };
        let scratch = &TemporaryDirectory::below(&std::env::temp_dir())?;
        let volumes = Volumes { suite: self, cryptsetup, scratch, watch };
        match &self.free_disk {
            Some(free_disk) if free_disk.has_device_mapper => {
                return volumes.measure(free_disk, collected);
            }
            Some(free_disk) => {
                let name = free_disk.named.display();
                collected.missing.push(format!("device-mapper: nothing was measured on {name}, nor written to it"));
            }
            None => collected.notes.push("no disk was measured: --on DISK".to_owned()),
        }
        volumes.format_image(collected)
    }

    fn check_stopped(&self) -> Result<(), Error> {
        if self.stopped.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    fn programs(&self) -> Vec<Program> {
        let cryptsetup = self.cryptsetup.as_ref().map(|found| ("cryptsetup", Some(found.version().to_string())));
        let fio = self.written().map(|free_disk| ("fio", free_disk.version()));
        let programs = cryptsetup.into_iter().chain(fio);
        programs.map(|(name, version)| Program { name: name.to_owned(), version }).collect()
    }
}

/// Notes on what makes the processor's figures meaningless.
fn machine_notes(environment: &Environment) -> Vec<String> {
    let mut notes = Vec::new();
    if environment.emulated {
        let note = "this machine's processor is emulated: the figures do not apply to a real one";
        notes.push(note.to_owned());
    }
    if !environment.cpu_flags.iter().any(|flag| flag == "aes") {
        let note = "this processor has no AES instructions: AES is many times slower than with them";
        notes.push(note.to_owned());
    }
    notes
}

/// Compares each CBC set with the XTS set whose data key has the same size, as the strongest claim requires.
fn pairs(ciphers: &[(&CipherSet, SectorCipher)]) -> Vec<(String, String)> {
    let xts = |bits: u32| ciphers.iter().find(|(set, _)| set.is_xts() && set.data_key_bits() == bits);
    let cbc = ciphers.iter().filter(|(set, _)| set.is_cbc());
    cbc.filter_map(|(set, _)| Some((xts(set.data_key_bits())?.0.to_string(), set.to_string()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(word: &str) -> CipherSet {
        CipherSet::parse_all(word).unwrap().remove(0)
    }

    #[test]
    fn chaining_is_compared_with_a_key_of_the_same_strength() {
        let sets = ["aes-xts-plain64:512", "aes-xts-plain64:256", "aes-cbc-plain:128", "aes-ecb-null:128"].map(set);
        let cipher = |set: &CipherSet| SectorCipher::new(&set.cipher, &vec![0; set.key_bits as usize / 8]).unwrap();
        let ciphers: Vec<_> = sets.iter().map(|set| (set, cipher(set))).collect();
        assert_eq!(pairs(&ciphers), [("aes-xts-plain64 256".to_owned(), "aes-cbc-plain 128".to_owned())]);
    }

    #[test]
    fn without_a_disk_nothing_is_planned_and_a_stop_ends_the_run() {
        let stopped = AtomicBool::new(false);
        let suite = DiskSuite {
            sets: vec![set("aes-xts-plain64:512")],
            sector_bytes: &[512],
            free_disk: None,
            patterns: Pattern::ALL.to_vec(),
            no_queues: false,
            span: Duration::from_millis(1),
            settings: Settings::default(),
            cryptsetup: None,
            stopped: &stopped,
        };
        assert!(suite.plan(None).is_none() && suite.check_stopped().is_ok());
        stopped.store(true, Ordering::Relaxed);
        assert!(matches!(suite.check_stopped(), Err(Error::Interrupted)));
    }
}
