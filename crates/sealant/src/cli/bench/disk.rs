//! `sealant bench disk`: what cipher sets of an encrypted disk cost the processor, and the disk.

use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::bench::disk::{CipherSet, Disk, FioLoad, Pattern, Refusal, TestVolume, Way, device_mapper, sectors};
use ::bench::{
    Arm, Environment, Experiment, ExperimentRecord, Program, Record, SCHEMA, Sample, Scratch, Subject, find_program,
};
use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use luks::cryptsetup::Cryptsetup;
use luks::device::{Block, DeviceError, Host, uses};
use luks::sector::SectorCipher;

use super::effort::Effort;
use super::output::Output;
use super::{conditions, failure, missing};
use crate::cli::change::Consent;
use crate::cli::luks::error::{cryptsetup as find_cryptsetup, device as device_failure};
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::message::{Failure, hint};
use crate::output::progress::StatusLine;

/// Measure what cipher sets of an encrypted disk cost: the processor everywhere, a disk where there is one to spare
///
/// The processor's part needs no root and no disk: sectors in memory are encrypted and decrypted as dm-crypt does it, by
/// one thread, for each cipher set and size of sectors.
///
/// With --on, volumes are opened on that disk by device-mapper, one after the other, and `fio` puts the loads of a database
/// on them and on the plain disk, in interleaved rounds: throughput, latencies, busy processors. What is on the disk is
/// lost; the disk has to be as free as `sealant luks format` wants it. Headers stay off the disk, so that all sets and the
/// plain disk use the same bytes. Sets that cryptsetup refuses are named with its reason.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct BenchDisk {
    /// Cipher sets: CIPHER:BITS; `2014` for the eight of a well-known comparison, `today` for those in use now
    #[arg(long, value_name = "SET", value_delimiter = ';', default_value = "2014;today", value_parser = set)]
    sets: Vec<Sets>,
    /// Bytes of encryption sectors
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [512, 4096], value_parser = sector())]
    sector_bytes: Vec<u32>,
    /// Measure on this disk or image too, whose content is lost; needs root, cryptsetup, fio and device-mapper
    #[arg(long, value_name = "DISK")]
    on: Option<PathBuf>,
    /// Loads for the disk
    #[arg(long, value_name = "LOAD", value_delimiter = ',', requires = "on", value_parser = pattern_names())]
    patterns: Vec<String>,
    /// How long `fio` runs each time: seconds, or with s, m or h
    #[arg(long, value_name = "TIME", default_value = "2s", requires = "on", value_parser = value::time)]
    disk_span: Duration,
    /// Open volumes without work queues
    #[arg(long, requires = "on")]
    no_queues: bool,
    /// `fio`; default: the one in PATH
    #[arg(long, value_name = "PROGRAM", requires = "on")]
    fio: Option<OsString>,
    /// Write over data on the disk that no signature explains, such as what the measurement before left
    #[arg(long, requires = "on")]
    destroy_unknown_data: bool,
    #[command(flatten)]
    consent: Consent,
    /// How long each arm of the processor's part runs in each round, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    span: u32,
    #[command(flatten)]
    effort: Effort,
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  sealant bench disk
  sealant bench disk --sets 'aes-xts-plain64:512;aes-cbc-essiv:sha256:256' --sector-bytes 4096
  sealant bench disk --on /dev/nvme1n1 --html disk.html --raw disk.jsonl
  sealant bench disk --on image --sets today --patterns random-read,fsync --disk-span 5s";

const EXITS: exit::Codes = &[
    (Exit::Clean, "measured; what this machine cannot measure is named"),
    (Exit::Failed, "the disk is not free, or a program could not be run"),
    (Exit::Usage, "wrong usage"),
];

/// One word of `--sets`.
type Sets = Vec<CipherSet>;

fn set(text: &str) -> Result<Sets, String> {
    CipherSet::by_word(text).map_err(|error| error.to_string())
}

fn sector() -> impl TypedValueParser<Value = u32> {
    PossibleValuesParser::new(["512", "1024", "2048", "4096"]).map(|text| text.parse().unwrap_or(512))
}

fn pattern_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Pattern::ALL.map(Pattern::as_str))
}

const PLAIN: &str = "plain disk";
/// An image on which it is tried which sets can be formatted, if there is no disk.
const TRIAL_BYTES: u64 = 32 << 20;

impl BenchDisk {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        self.output.check()?;
        if self.on.is_none() && (self.consent.yes || self.consent.dry_run) {
            return Err(Failure::usage("--yes and --dry-run are about the disk of --on, and none is given"));
        }
        let environment = Environment::now(self.on.as_deref().unwrap_or_else(|| Path::new(".")));
        let bench = Bench::new(&self)?;
        if let Some(site) = bench.written()
            && !self.consent.given(&bench.plan(site))?
        {
            return Ok(Exit::Clean);
        }
        let mut gathered = Gathered::default();
        bench.processor(&mut gathered)?;
        bench.disk(&mut gathered)?;
        bench.status.clear();
        gathered.finding(&bench.sets);
        let mut notes = conditions(&environment);
        notes.extend(machine_notes(&environment));
        notes.append(&mut gathered.notes);
        let Gathered { samples, experiments, missing, .. } = gathered;
        let (subject, opinions, programs) = (Subject::default(), Vec::new(), bench.programs());
        let record = Record { schema: SCHEMA, environment, subject, programs, missing, experiments, opinions, notes };
        self.output.write(&record, &samples)?;
        if let Some(site) = bench.written() {
            hint(&format!("{} holds noise now; overwrite it before it is used", site.named.display()));
        }
        Ok(Exit::Clean)
    }

    fn patterns(&self) -> Vec<Pattern> {
        let wanted =
            |pattern: &Pattern| self.patterns.is_empty() || self.patterns.iter().any(|n| n == pattern.as_str());
        Pattern::ALL.into_iter().filter(wanted).collect()
    }

    fn settings(&self, warm_up: bool) -> ::bench::Settings {
        ::bench::Settings { warm_up, ..self.effort.settings() }
    }
}

/// What makes the processor's figures those of nothing real.
fn machine_notes(environment: &Environment) -> Vec<String> {
    let mut notes = Vec::new();
    if environment.emulated {
        let note = "a program emulates this machine's processor: no figure here says anything of a real one";
        notes.push(note.to_owned());
    }
    if !environment.cpu_flags.iter().any(|flag| flag == "aes") {
        let note = "this processor has no AES instructions: AES costs many times what it does elsewhere";
        notes.push(note.to_owned());
    }
    notes
}

/// Everything that is measured with.
struct Bench<'a> {
    options: &'a BenchDisk,
    sets: Vec<CipherSet>,
    status: StatusLine,
    cryptsetup: Option<Cryptsetup>,
    site: Option<Site>,
    stopped: Arc<AtomicBool>,
}

/// The disk.
struct Site {
    named: PathBuf,
    bytes: u64,
    fio: FioLoad,
    has_device_mapper: bool,
}

/// Volumes with the names of their arms, and sets of which there can be none.
type Made = (Vec<(String, TestVolume)>, Vec<Refusal>);

/// What has been measured.
#[derive(Default)]
struct Gathered {
    samples: Vec<Sample>,
    experiments: Vec<ExperimentRecord>,
    missing: Vec<String>,
    notes: Vec<String>,
}

impl<'a> Bench<'a> {
    /// Finds out before a long run what is wrong.
    fn new(options: &'a BenchDisk) -> Result<Self, Failure> {
        let mut sets: Vec<CipherSet> = Vec::new();
        for set in options.sets.iter().flatten() {
            if !sets.contains(set) {
                sets.push(set.clone());
            }
        }
        let site = options.on.as_deref().map(|named| Site::new(options, named)).transpose()?;
        let cryptsetup = if site.is_some() { Some(find_cryptsetup()?) } else { Cryptsetup::find().ok() };
        let stopped = Arc::new(AtomicBool::new(false));
        if site.is_some() {
            for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
                let registered = signal_hook::flag::register(signal, Arc::clone(&stopped));
                registered.map_err(|error| Failure::new(format!("signals cannot be handled: {error}")))?;
            }
        }
        let status = options.output.status();
        Ok(Self { options, sets, status, cryptsetup, site, stopped })
    }

    /// The disk, if anything is written to it.
    fn written(&self) -> Option<&Site> {
        self.site.as_ref().filter(|site| site.has_device_mapper)
    }

    fn plan(&self, site: &Site) -> String {
        let (patterns, sectors) = (self.options.patterns().len(), self.options.sector_bytes.len());
        let arms = self.sets.len().saturating_mul(sectors).saturating_add(1);
        let runs = u64::try_from(arms.saturating_mul(patterns)).unwrap_or(u64::MAX);
        let rounds = self.options.effort.rounds.map_or(5, NonZeroU32::get);
        let seconds = self.options.disk_span.as_secs().max(1).saturating_mul(runs).saturating_mul(rounds.into());
        format!(
            "{}: everything on it is lost\n  1. encrypt and decrypt in memory\n  2. open {} volumes on it, one after the \
             other, their headers elsewhere\n  3. put {patterns} loads on each of them and on the plain disk by {}: {} \
             min or more\n",
            site.named.display(),
            arms.saturating_sub(1),
            site.fio.program.display(),
            seconds.div_ceil(60)
        )
    }

    /// Sectors in memory.
    fn processor(&self, gathered: &mut Gathered) -> Result<(), Failure> {
        let (ciphers, left_out) = self.ciphers();
        gathered.notes.extend(left_out);
        let span = Duration::from_millis(self.options.span.into());
        for (way, verb) in [(Way::Encrypt, "encrypt"), (Way::Decrypt, "decrypt")] {
            for &bytes in &self.options.sector_bytes {
                if ciphers.is_empty() {
                    continue;
                }
                let size = usize::try_from(bytes).unwrap_or(512);
                let arms = ciphers.iter().map(|(set, cipher)| sectors(set.to_string(), cipher, size, way, span));
                let name = format!("{verb} {bytes}-byte sectors in memory, one core");
                let experiment = Experiment::new(name).block_bytes(bytes.into()).arms(arms);
                let pairs = pairs(&ciphers);
                gathered.add(self.measure(experiment, true, &pairs)?);
            }
        }
        Ok(())
    }

    /// Sets that our own loops know, with a key of zeros, which costs what every key does; and why not the others.
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

    /// The disk, if there is one, and which sets can be formatted at all.
    fn disk(&self, gathered: &mut Gathered) -> Result<(), Failure> {
        let Some(cryptsetup) = &self.cryptsetup else {
            gathered.missing.push("cryptsetup (which sets it still formats is not told)".to_owned());
            return Ok(());
        };
        let scratch = Scratch::below(&std::env::temp_dir()).map_err(failure)?;
        match &self.site {
            Some(site) if site.has_device_mapper => self.volumes(site, cryptsetup, &scratch, gathered),
            Some(site) => {
                let name = site.named.display();
                gathered.missing.push(format!("device-mapper: nothing was measured on {name}, nor written to it"));
                self.trial(cryptsetup, &scratch, gathered)
            }
            None => {
                gathered.notes.push("no disk was measured: --on DISK".to_owned());
                self.trial(cryptsetup, &scratch, gathered)
            }
        }
    }

    /// Without a disk: an image tells which sets cryptsetup refuses. What it refuses because there is no device-mapper
    /// is no fault of the set.
    fn trial(&self, cryptsetup: &Cryptsetup, scratch: &Scratch, gathered: &mut Gathered) -> Result<(), Failure> {
        let image = scratch.path().join("image");
        let made = std::fs::File::create(&image).and_then(|file| file.set_len(TRIAL_BYTES));
        made.map_err(|error| Failure::new(format!("{}: {error}", image.display())))?;
        let faulty: Vec<&CipherSet> = self.sets.iter().filter(|set| set.fault().is_some()).collect();
        let sectors = self.options.sector_bytes.iter().take(1);
        let (_, refused) = self.made(&faulty, sectors, cryptsetup, &image, scratch)?;
        gathered.refusals(&refused);
        Ok(())
    }

    /// Volumes of sets that can be formatted and opened here, with their names, and the other sets.
    fn made<'s>(
        &self,
        sets: &[&CipherSet],
        sectors: impl Iterator<Item = &'s u32> + Clone,
        cryptsetup: &Cryptsetup,
        device: &Path,
        scratch: &Scratch,
    ) -> Result<Made, Failure> {
        let (mut volumes, mut refused) = (Vec::new(), Vec::new());
        for set in sets {
            for &bytes in sectors.clone() {
                self.status.show(&format!("format {set}"));
                let made = TestVolume::make(cryptsetup, set, bytes, device, scratch.path(), self.options.no_queues);
                let opened = made.and_then(|volume| {
                    if self.written().is_some() {
                        volume.open(cryptsetup)?;
                    }
                    Ok(volume)
                });
                match opened {
                    Ok(volume) => volumes.push((format!("{set}, {bytes}"), volume)),
                    Err(error) => refused.push(Refusal::of(set, bytes, error).map_err(failure)?),
                }
                self.go_on()?;
            }
        }
        Ok((volumes, refused))
    }

    fn volumes(
        &self,
        site: &Site,
        cryptsetup: &Cryptsetup,
        scratch: &Scratch,
        gathered: &mut Gathered,
    ) -> Result<(), Failure> {
        let disk = Disk::of(&site.named).map_err(failure)?;
        let sets: Vec<&CipherSet> = self.sets.iter().collect();
        let (volumes, refused) =
            self.made(&sets, self.options.sector_bytes.iter(), cryptsetup, disk.path(), scratch)?;
        gathered.refusals(&refused);
        gathered.notes.push(site.note(&disk));
        let fio = &site.fio;
        let stopped = || if self.stopped.load(Ordering::Relaxed) { Err(::bench::Error::Interrupted) } else { Ok(()) };
        for pattern in self.options.patterns() {
            let plain = Arm::timing_itself(PLAIN, || fio.run(disk.path(), pattern));
            let arms = volumes.iter().map(|(name, volume)| {
                Arm::timing_itself(name.as_str(), move || fio.run(volume.open(cryptsetup)?.path(), pattern))
            });
            let name = format!("disk: {}", pattern.title());
            let experiment = Experiment::new(name).arm(plain).arms(arms).before_each(stopped);
            let pairs: Vec<(String, String)> =
                volumes.iter().map(|(name, _)| (name.clone(), PLAIN.to_owned())).collect();
            gathered.add(self.measure(experiment, false, &pairs)?);
        }
        Ok(())
    }

    fn go_on(&self) -> Result<(), Failure> {
        if self.stopped.load(Ordering::Relaxed) { Err(failure(::bench::Error::Interrupted)) } else { Ok(()) }
    }

    fn measure(
        &self,
        experiment: Experiment<'_>,
        warm_up: bool,
        pairs: &[(String, String)],
    ) -> Result<(Vec<Sample>, ExperimentRecord), Failure> {
        let show = |progress: &::bench::Progress<'_>| {
            let (experiment, arm, rounds) = (progress.experiment, progress.arm, progress.rounds);
            self.status.show(&format!("{experiment}: round {}, {arm}", rounds.saturating_add(1)));
        };
        let samples = experiment.run(&self.options.settings(warm_up), &show).map_err(failure)?;
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(of, to)| (of.as_str(), to.as_str())).collect();
        Ok((samples.all().to_vec(), samples.record(&pairs)))
    }

    fn programs(&self) -> Vec<Program> {
        let cryptsetup = self.cryptsetup.as_ref().map(|found| ("cryptsetup", Some(found.version().to_string())));
        let measured = self.site.as_ref().filter(|site| site.has_device_mapper);
        let fio = measured.map(|site| ("fio", version_of(&site.fio.program)));
        let programs = cryptsetup.into_iter().chain(fio);
        programs.map(|(name, version)| Program { name: name.to_owned(), version }).collect()
    }
}

/// The strongest claim about CBC is made of its own pair: XTS with as long a key for the data.
fn pairs(ciphers: &[(&CipherSet, SectorCipher)]) -> Vec<(String, String)> {
    let xts = |bits: u32| ciphers.iter().find(|(set, _)| set.is_xts() && set.data_key_bits() == bits);
    let cbc = ciphers.iter().filter(|(set, _)| set.is_cbc());
    cbc.filter_map(|(set, _)| Some((xts(set.data_key_bits())?.0.to_string(), set.to_string()))).collect()
}

impl Site {
    fn new(options: &BenchDisk, named: &Path) -> Result<Self, Failure> {
        let host = Host::this();
        let found = uses(&host, named, !options.destroy_unknown_data).map_err(device_failure)?;
        if !found.is_empty() {
            return Err(device_failure(DeviceError::Used { device: named.to_owned(), uses: found }));
        }
        let has_device_mapper = device_mapper();
        let wanted = options.fio.clone().unwrap_or_else(|| OsString::from("fio"));
        let program = match find_program(&wanted) {
            Some(program) => program,
            None if options.fio.is_some() => return Err(missing(&wanted)),
            None if has_device_mapper => {
                return Err(Failure::new("fio is not installed").hint("install the package fio, or give --fio"));
            }
            None => PathBuf::from("fio"),
        };
        let block = Block::of(&host, named).ok().flatten();
        let file_bytes = || std::fs::metadata(named).map(|metadata| metadata.len()).unwrap_or_default();
        let bytes = block.as_ref().map_or_else(file_bytes, Block::bytes);
        let fio = FioLoad { program, span: options.disk_span };
        Ok(Self { named: named.to_owned(), bytes, fio, has_device_mapper })
    }

    /// What the disk is.
    fn note(&self, disk: &Disk) -> String {
        let block = Block::of(&Host::this(), disk.path()).ok().flatten();
        let queue = |name: &str| block.as_ref().and_then(|block| block.queue(name));
        let kind = match (disk.is_loop(), queue("rotational")) {
            (true, _) => "a file behind a loop device, whose file system is measured too",
            (false, Some(1)) => "rotating",
            (false, _) => "not rotating",
        };
        let blocks = queue("physical_block_size").map(|size| format!(", blocks of {size} bytes")).unwrap_or_default();
        format!(
            "measured on {}: {} MiB, {kind}{blocks}; busy cores count whatever ran on the machine, fio too",
            self.named.display(),
            self.bytes >> 20
        )
    }
}

impl Gathered {
    fn add(&mut self, (samples, record): (Vec<Sample>, ExperimentRecord)) {
        self.samples.extend(samples);
        self.experiments.push(record);
    }

    /// Sets that are refused for every size of sectors, once.
    fn refusals(&mut self, refused: &[Refusal]) {
        for (at, refusal) in refused.iter().enumerate() {
            let again = |other: &Refusal| other.set == refusal.set && other.reason == refusal.reason;
            if !refused.iter().take(at).any(again) {
                self.notes.push(format!("{} cannot be formatted: {}", refusal.set, refusal.reason));
            }
        }
    }

    /// What the figures in memory say of CBC, with the least and the most of its ratios.
    fn finding(&mut self, sets: &[CipherSet]) {
        let is_cbc = |name: &str| sets.iter().any(|set| set.is_cbc() && set.to_string() == name);
        let range = |verb: &str| {
            let experiments = self.experiments.iter().filter(|experiment| experiment.name.starts_with(verb));
            let ratios = experiments.flat_map(|experiment| &experiment.ratios).filter(|ratio| is_cbc(&ratio.to));
            ratios.map(|ratio| ratio.ratio.estimate).fold(None, |range: Option<(f64, f64)>, ratio| {
                let (least, most) = range.unwrap_or((ratio, ratio));
                Some((least.min(ratio), most.max(ratio)))
            })
        };
        let (Some(encrypting), Some(decrypting)) = (range("encrypt"), range("decrypt")) else { return };
        self.notes.insert(0, finding(encrypting, decrypting));
    }
}

fn finding((least, most): (f64, f64), (open_least, open_most): (f64, f64)) -> String {
    let encrypting = if least > 1.0 {
        format!("CBC encrypts {least:.1} to {most:.1} times slower than XTS")
    } else {
        format!("XTS encrypts {least:.1} to {most:.1} times as fast as CBC")
    };
    format!(
        "{encrypting} with as long a key, since each block of CBC waits for the one before; decrypting, where no block \
         waits, XTS is {open_least:.1} to {open_most:.1} times as fast in these loops, and a kernel's may differ"
    )
}

fn version_of(fio: &Path) -> Option<String> {
    let output = Command::new(fio).arg(OsStr::new("--version")).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Some(text.strip_prefix("fio-").map(str::to_owned).unwrap_or(text)).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_finding_is_of_the_figures() {
        let said = finding((4.24, 5.06), (0.95, 1.2));
        assert!(
            said.starts_with("CBC encrypts 4.2 to 5.1 times slower than XTS") && said.contains("0.9 to 1.2"),
            "{said}"
        );
        assert!(finding((0.8, 1.5), (1.0, 1.0)).starts_with("XTS encrypts 0.8 to 1.5 times as fast as CBC"));
    }

    #[test]
    fn chaining_is_compared_with_a_key_of_the_same_strength() {
        let set = |word: &str| CipherSet::by_word(word).unwrap().remove(0);
        let sets = ["aes-xts-plain64:512", "aes-xts-plain64:256", "aes-cbc-plain:128", "aes-ecb-null:128"].map(set);
        let cipher = |set: &CipherSet| SectorCipher::new(&set.cipher, &vec![0; set.key_bits as usize / 8]).unwrap();
        let ciphers: Vec<_> = sets.iter().map(|set| (set, cipher(set))).collect();
        assert_eq!(pairs(&ciphers), [("aes-xts-plain64 256".to_owned(), "aes-cbc-plain 128".to_owned())]);
    }
}
