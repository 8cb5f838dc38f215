//! `sealant bench disk`: measures what ciphers of an encrypted disk cost the processor and the disk.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ::bench::disk::{CipherSet, Pattern};
use ::bench::suite::disk::{DiskSuite, FreeDisk, find_cryptsetup};
use ::bench::{Environment, Settings};
use clap::Args;
use clap::builder::PossibleValuesParser;
use report::bench_disk_hint;

use super::effort::Effort;
use super::output::Output;
use crate::cli::change::Consent;
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::message::{Failure, say};
use crate::process::ended_by_signals;

/// Measure what ciphers of an encrypted disk cost: on the processor, and on a spare disk if one is given
///
/// The processor part needs no root and no disk: one thread encrypts and decrypts sectors in memory as dm-crypt does,
/// for each cipher and sector size.
///
/// With --on, device-mapper opens volumes on that disk, one after the other, and `fio` runs database loads on them and
/// on the plain disk, in interleaved rounds. Throughput, latencies and processor use are measured. All data on the disk
/// is lost; it must be as unused as `sealant luks format` requires. Headers are kept off the disk, so that all ciphers
/// and the plain disk use the same bytes. Ciphers that cryptsetup refuses are listed with its reason.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct BenchDisk {
    /// Ciphers, separated by semicolons, each as CIPHER:BITS; 2014 stands for the eight of a well-known comparison,
    /// today for those in use now
    #[arg(long, value_name = "SET", value_delimiter = ';', default_value = "2014;today", value_parser = CipherSet::parse_all)]
    sets: Vec<Sets>,
    /// Sizes of encryption sectors in bytes, separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [512, 4096], value_parser = value::sector_bytes())]
    sector_bytes: Vec<u32>,
    /// Also measure on this disk or image, whose content is lost; needs root, cryptsetup, fio and device-mapper
    #[arg(long, value_name = "DISK")]
    on: Option<PathBuf>,
    /// Loads for the disk, separated by commas [default: all]
    #[arg(long, value_name = "LOAD", value_delimiter = ',', requires = "on", value_parser = pattern_names())]
    patterns: Vec<String>,
    #[arg(long, value_name = "TIME", default_value = "2s", requires = "on", value_parser = value::time)]
    #[arg(help = value::time_help("How long `fio` runs each time"))]
    disk_span: Duration,
    /// Open volumes without dm-crypt's work queues
    #[arg(long, requires = "on")]
    no_queues: bool,
    /// Path of `fio` [default: the one in PATH]
    #[arg(long, value_name = "PROGRAM", requires = "on")]
    fio: Option<OsString>,
    /// Overwrite the disk even if it holds data that no known signature explains
    #[arg(long, requires = "on")]
    destroy_unknown_data: bool,
    #[command(flatten)]
    consent: Consent,
    /// How long each arm of the processor part runs in each round; a number alone is in milliseconds
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = value::milliseconds(1, 60_000))]
    span: Duration,
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
];

/// One value of `--sets`.
type Sets = Vec<CipherSet>;

fn pattern_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Pattern::ALL.map(Pattern::as_str))
}

impl BenchDisk {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        self.output.check()?;
        if self.on.is_none() && (self.consent.yes || self.consent.dry_run) {
            return Err(Failure::usage("--yes and --dry-run are about the disk of --on, and none is given"));
        }
        let environment = Environment::now(self.on.as_deref().unwrap_or_else(|| Path::new(".")));
        // An open volume is closed and files are removed when a signal ends the measurement.
        let stopped = ended_by_signals()?;
        let suite = self.suite(&stopped)?;
        if let Some(plan) = suite.plan(self.effort.rounds)
            && !self.consent.given(&plan)?
        {
            return Ok(Exit::Clean);
        }
        let exit =
            self.output.measure("What ciphers of an encrypted disk cost", |watch| suite.run(environment, watch))?;
        if let Some(free_disk) = suite.written() {
            say(&[bench_disk_hint(&free_disk.named)]);
        }
        Ok(exit)
    }

    fn suite<'a>(&'a self, stopped: &'a AtomicBool) -> Result<DiskSuite<'a>, Failure> {
        let find =
            |named: &PathBuf| FreeDisk::find(named, self.fio.as_deref(), self.disk_span, self.destroy_unknown_data);
        let free_disk = self.on.as_ref().map(find).transpose()?;
        let cryptsetup = find_cryptsetup(free_disk.as_ref())?;
        Ok(DiskSuite {
            sets: CipherSet::each_once(self.sets.iter().flatten()),
            sector_bytes: &self.sector_bytes,
            free_disk,
            patterns: Pattern::named(&self.patterns),
            no_queues: self.no_queues,
            span: self.span,
            settings: Settings { stopped: Some(stopped), ..self.effort.settings() },
            cryptsetup,
            stopped,
        })
    }
}
