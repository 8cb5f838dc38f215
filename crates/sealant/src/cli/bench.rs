//! `sealant bench`: what this program costs on this machine, against what it competes with.

mod disk;
mod effort;
mod output;
mod server;
mod sst;
mod tls;
mod transfer;

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use ::bench::{
    Environment, Experiment, ExperimentRecord, Opinion, Peer, PeerKind, Record, SCHEMA, Sample, Subject, arms,
};
use ::verify::{Depth, FileResult, Keys, Plan, Report, Settings};
use clap::{Args, Subcommand};
use innodb::verify::{RequiredKey, Verdict};
use report::is_sound;

use self::effort::Effort;
use self::output::Output;
use super::verify::{KeyStores, check_paths, processors};
use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::output::progress::StatusLine;

/// Measure what this program costs on this machine, against what it competes with
///
/// Arms run in interleaved rounds (A B B A …) until the 95 % interval of every median is narrow or
/// the time is over. Ratios are taken within rounds, with bootstrap intervals.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Disk(Box<disk::BenchDisk>),
    Sst(Box<sst::BenchSst>),
    Tls(Box<tls::BenchTls>),
    Transfer(Box<transfer::BenchTransfer>),
    Verify(Box<BenchVerify>),
}

/// Measure `sealant verify` on these files, against reading alone and against other programs
///
/// From the page cache: one thread and all processors, reading the same files and nothing else,
/// `innochecksum` and `inno checksum` if they are there. Other programs are timed on files of
/// 16 MiB and more that they read to the end, and asked about every file. With --cold, from disk:
/// against direct sequential reads of 1 MiB and against `fio`.
///
/// The files are only read, but --cold takes them out of the page cache, which slows a server on
/// them for a while.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct BenchVerify {
    /// Data directories, backups or single files
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    keys: KeyStores,
    #[command(flatten)]
    effort: Effort,
    /// `innochecksum` of MariaDB or MySQL (repeatable); default: the one in PATH, if any
    #[arg(long, value_name = "PROGRAM")]
    innochecksum: Vec<OsString>,
    /// `inno` of the crate innodb-utils; default: the one in PATH, if any
    #[arg(long, value_name = "PROGRAM")]
    inno: Option<OsString>,
    /// From disk instead of from the page cache
    #[arg(long)]
    cold: bool,
    /// `fio`, for --cold; default: the one in PATH, if any
    #[arg(long, value_name = "PROGRAM", requires = "cold")]
    fio: Option<OsString>,
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  sealant bench verify /backup/datadir --keyring keyring
  sealant bench verify t.ibd --innochecksum /usr/bin/innochecksum --rounds 20 --raw samples.jsonl
  sealant bench verify /backup/datadir --keyring keyring --cold --format json";

const EXITS: exit::Codes = &[
    (Exit::Clean, "measured"),
    (Exit::Failed, "a key store or a file could not be read, or a program could not be run"),
    (Exit::Usage, "wrong usage"),
];

/// Other programs are timed on files of at least so many bytes: on smaller ones their start would
/// be most of it.
const LARGE: u64 = 16 << 20;

impl Bench {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        match self.what {
            What::Disk(verb) => verb.run(),
            What::Sst(verb) => verb.run(),
            What::Tls(verb) => verb.run(),
            What::Transfer(verb) => verb.run(),
            What::Verify(verb) => verb.run(),
        }
    }
}

impl BenchVerify {
    fn run(self) -> Result<Exit, Failure> {
        check_paths(&self.paths)?;
        self.output.check()?;
        let datadir = self.paths.iter().find(|path| path.is_dir());
        let keys = self.keys.read(datadir.map(PathBuf::as_path))?;
        let status = self.output.status();
        let environment = Environment::now(self.paths.first().map_or_else(|| Path::new("."), PathBuf::as_path));
        let bench = Measuring::new(&self, &keys, &status)?;
        let experiments = if self.cold { bench.cold()? } else { bench.warm()? };
        let opinions = bench.opinions.take();
        let notes = bench.notes(&environment);
        let subject = bench.subject();
        status.clear();
        let samples = bench.samples.take();
        let (programs, missing) = (Vec::new(), Vec::new());
        let record = Record { schema: SCHEMA, environment, subject, programs, missing, experiments, opinions, notes };
        self.output.write(&record, &samples)?;
        Ok(Exit::Clean)
    }

    /// Programs that were asked for have to be there; others are taken if they are.
    fn peers(&self) -> Result<Vec<Peer>, Failure> {
        let innochecksums = self.innochecksum.iter().map(|program| (PeerKind::Innochecksum, program));
        let inno = self.inno.iter().map(|program| (PeerKind::Inno, program));
        let mut peers = Vec::new();
        for (kind, program) in innochecksums.chain(inno) {
            peers.push(Peer::find(kind, program).ok_or_else(|| missing(program))?);
        }
        if self.innochecksum.is_empty() {
            peers.extend(Peer::find(PeerKind::Innochecksum, OsStr::new("innochecksum")));
        }
        if self.inno.is_none() {
            peers.extend(Peer::find(PeerKind::Inno, OsStr::new("inno")));
        }
        Ok(peers)
    }

    fn fio(&self) -> Result<Option<PathBuf>, Failure> {
        match &self.fio {
            Some(program) => ::bench::find_program(program).map(Some).ok_or_else(|| missing(program)),
            None => Ok(::bench::find_program(OsStr::new("fio"))),
        }
    }
}

/// What is measured, and what came of it so far.
struct Measuring<'a> {
    options: &'a BenchVerify,
    keys: &'a Keys,
    status: &'a StatusLine,
    plan: Plan,
    /// What a first run said.
    report: Report,
    opinions: RefCell<Vec<Opinion>>,
    samples: RefCell<Vec<Sample>>,
}

/// Arms compared with each other, by name.
type Pair = (String, String);

impl<'a> Measuring<'a> {
    fn new(options: &'a BenchVerify, keys: &'a Keys, status: &'a StatusLine) -> Result<Self, Failure> {
        let plan = Plan::scan(&options.paths);
        let paths: Vec<PathBuf> = plan.files.iter().map(|file| file.path.clone()).collect();
        status.show("reading the files");
        if !options.cold {
            ::bench::warm(&paths).map_err(failure)?;
        }
        let report =
            ::verify::run(&plan, keys, &Settings { jobs: processors(), depth: Depth::EveryPage, progress: &|_| {} });
        if let Some(unread) = report.errors.first() {
            return Err(Failure::new(format!("{}: {}", unread.path.display(), unread.reason)));
        }
        if report.files.is_empty() {
            return Err(Failure::new("there is nothing to verify there"));
        }
        Ok(Self { options, keys, status, plan, report, opinions: RefCell::default(), samples: RefCell::default() })
    }

    fn warm(&self) -> Result<Vec<ExperimentRecord>, Failure> {
        let files = self.files(|_| true);
        let mut experiment = Experiment::new("page cache, all files");
        let mut pairs = Vec::new();
        for threads in self.threads() {
            let (ours, reading) = (name("sealant", threads), name("read only", threads));
            experiment = experiment
                .arm(arms::verify(&ours, &self.plan, self.keys, threads))
                .arm(arms::read_cached(&reading, &files, threads));
            if threads > NonZeroUsize::MIN {
                pairs.push((ours.clone(), name("sealant", NonZeroUsize::MIN)));
            }
            pairs.push((ours, reading));
        }
        let mut experiments = vec![self.measure(experiment, &pairs)?];
        for peer in self.options.peers()? {
            experiments.extend(self.against(&peer)?);
        }
        Ok(experiments)
    }

    /// Compares with another program on large files that it reads to the end.
    fn against(&self, peer: &Peer) -> Result<Option<ExperimentRecord>, Failure> {
        let mut sound = Vec::new();
        for (group, files) in self.groups() {
            self.status.show(&format!("asking {}", peer.name()));
            let (opinion, calls_sound) = peer.opinion(group, &files).map_err(failure)?;
            self.opinions.borrow_mut().push(opinion);
            sound.extend(if peer.stops_at_fault() { calls_sound } else { files });
        }
        let files: Vec<PathBuf> = sound.into_iter().filter(|path| self.is_large(path)).collect();
        if files.is_empty() {
            return Ok(None);
        }
        let plan = Plan::scan(&files);
        let mut experiment = Experiment::new(format!("page cache, {} large files, {}", files.len(), peer.name()));
        let mut pairs = Vec::new();
        for threads in self.threads() {
            let ours = name("sealant", threads);
            let theirs_threads = if peer.has_threads() { threads } else { NonZeroUsize::MIN };
            let theirs = name(&peer.name(), theirs_threads);
            experiment = experiment.arm(arms::verify(&ours, &plan, self.keys, threads));
            if theirs_threads == threads {
                experiment = experiment.arm(arms::peer(&theirs, peer, &files, threads));
            }
            pairs.push((ours, theirs));
        }
        self.measure(experiment, &pairs).map(Some)
    }

    fn cold(&self) -> Result<Vec<ExperimentRecord>, Failure> {
        let large = self.files(|file| file.bytes >= LARGE);
        let files = if large.is_empty() { self.files(|_| true) } else { large };
        let plan = Plan::scan(&files);
        let fio = self.options.fio()?;
        let ours = name("sealant", processors());
        let direct = "direct reads, 1 MiB".to_owned();
        let mut experiment = Experiment::new(format!("from disk, {} files", files.len()))
            .arm(arms::verify(&ours, &plan, self.keys, processors()))
            .arm(arms::read_direct(&direct, &files))
            .before_each(|| ::bench::forget(&files));
        let mut pairs = vec![(ours.clone(), direct)];
        for depth in [1, 8] {
            if let Some(program) = &fio {
                let theirs = format!("fio, {depth} at a time");
                experiment = experiment.arm(arms::fio(&theirs, program, &files, depth));
                pairs.push((ours.clone(), theirs));
            }
        }
        Ok(vec![self.measure(experiment, &pairs)?])
    }

    fn measure(&self, experiment: Experiment<'_>, pairs: &[Pair]) -> Result<ExperimentRecord, Failure> {
        let show = |progress: &::bench::Progress<'_>| {
            let (experiment, arm, rounds) = (progress.experiment, progress.arm, progress.rounds);
            self.status.show(&format!("{experiment}: round {}, {arm}", rounds.saturating_add(1)));
        };
        let samples = experiment.run(&self.options.effort.settings(), &show).map_err(failure)?;
        self.samples.borrow_mut().extend_from_slice(samples.all());
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(of, to)| (of.as_str(), to.as_str())).collect();
        Ok(samples.record(&pairs))
    }

    fn files(&self, wanted: impl Fn(&FileResult) -> bool) -> Vec<PathBuf> {
        self.report.files.iter().filter(|file| wanted(file)).map(|file| file.path.clone()).collect()
    }

    fn is_large(&self, path: &Path) -> bool {
        self.report.files.iter().any(|file| file.path == path && file.bytes >= LARGE)
    }

    /// Tablespaces with which nothing is known to be wrong, by what other programs know of them.
    fn groups(&self) -> Vec<(&'static str, Vec<PathBuf>)> {
        let fine = |file: &FileResult| {
            file.kind == "tablespace" && (is_sound(file.verdict) || file.verdict == Verdict::Unverifiable)
        };
        let groups = ["encrypted MySQL", "encrypted MariaDB", "clear"].map(|group| {
            let files = self.files(|file| fine(file) && group_of(file) == group);
            (group, files)
        });
        groups.into_iter().filter(|(_, files)| !files.is_empty()).collect()
    }

    fn threads(&self) -> Vec<NonZeroUsize> {
        let mut threads = vec![NonZeroUsize::MIN, processors()];
        threads.dedup();
        threads
    }

    fn subject(&self) -> Subject {
        let bytes = |verdict| {
            let files = self.report.files.iter().filter(|file| file.verdict == verdict);
            files.map(|file| file.bytes).fold(0, u64::saturating_add)
        };
        let unsound = self.report.files.iter().filter(|file| !is_sound(file.verdict)).count();
        Subject {
            files: self.report.summary.files,
            bytes: self.report.summary.bytes,
            opened_bytes: bytes(Verdict::Ok),
            clear_bytes: bytes(Verdict::Clear),
            unsound: u64::try_from(unsound).unwrap_or(u64::MAX),
        }
    }

    /// What a reader has to know of the conditions.
    fn notes(&self, environment: &Environment) -> Vec<String> {
        let mut notes = conditions(environment);
        let unsound = self.subject().unsound;
        if unsound > 0 {
            notes.push(format!("not proven sound, as `sealant verify` tells: {unsound} of the files"));
        }
        if !self.options.cold
            && let Ok(seen) = ::bench::residency(&self.files(|_| true))
            && seen.cached < seen.looked_at
        {
            notes.push("the page cache does not hold all of the files: part of the time is the disk's".to_owned());
        }
        notes
    }
}

/// What of the machine makes figures doubtful.
fn conditions(environment: &Environment) -> Vec<String> {
    let mut notes = Vec::new();
    if !environment.optimised {
        notes.push("this program was built without optimisation: the figures say nothing".to_owned());
    }
    if environment.is_busy() {
        notes.push("other programs kept the processors busy; trust the ratios, not the rates".to_owned());
    }
    notes
}

fn group_of(file: &FileResult) -> &'static str {
    match (&file.key, file.verdict) {
        (Some(RequiredKey::MariaDb { .. }), _) => "encrypted MariaDB",
        (Some(_), _) => "encrypted MySQL",
        (None, _) => "clear",
    }
}

fn name(what: &str, threads: NonZeroUsize) -> String {
    format!("{what}, {threads} thread{}", if threads.get() == 1 { "" } else { "s" })
}

fn missing(program: &OsStr) -> Failure {
    Failure::new(format!("{}: no such program, or it does not say its version", program.display()))
}

fn failure(error: ::bench::Error) -> Failure {
    Failure::from(error)
}
