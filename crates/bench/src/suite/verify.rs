//! Measures the cost of `sealant verify`, compared with plain reads and other programs.

use std::{
    ffi::{OsStr, OsString},
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use innodb::verify::{RequiredKey, Verdict};
use verify::{Depth, FileResult, Keys, Plan, Report};

use super::{Collected, Outcome, Watch};
use crate::{Environment, Error, Experiment, Peer, PeerKind, Settings, Subject, arms, drop_cache, residency};

/// Minimum size in bytes of files on which other programs are timed: on smaller ones their startup would dominate.
const LARGE: u64 = 16 << 20;

/// Parameters of the measurement.
#[derive(Debug)]
pub struct VerifySuite<'a> {
    /// Data directories, backups or single files.
    pub paths: &'a [PathBuf],
    /// The available keys.
    pub keys: &'a Keys,
    /// Read from disk instead of from the page cache.
    pub cold: bool,
    /// `innochecksum` of MariaDB or MySQL; by default the one in `PATH`.
    pub innochecksum: &'a [OsString],
    /// `inno` of innodb-utils; by default the one in `PATH`.
    pub inno: Option<&'a OsStr>,
    /// `fio`, to read files from disk; by default the one in `PATH`.
    pub fio: Option<&'a OsStr>,
    /// Rounds and time budget of each experiment.
    pub settings: Settings<'a>,
    /// Number of processors that may be used at the same time.
    pub processors: NonZeroUsize,
}

impl VerifySuite<'_> {
    /// Runs the measurement.
    ///
    /// # Errors
    /// [`Error`]: a file cannot be read, there is no file, or a program is missing or fails.
    pub fn run(&self, watch: &Watch<'_>) -> Result<Outcome, Error> {
        let environment = Environment::now(self.paths.first().map_or_else(|| Path::new("."), PathBuf::as_path));
        let plan = Plan::scan(self.paths);
        watch("reading the files");
        let report = self.first_run(&plan)?;
        let mut measuring = Measuring { suite: self, plan, report, watch, collected: Collected::default() };
        if self.cold {
            measuring.cold()?
        } else {
            measuring.warm()?
        }
        measuring.note();
        let subject = measuring.subject();
        Ok(measuring.collected.finish(environment, subject))
    }

    /// Finds the sound files, and reads all files into the page cache unless they are to be read from disk.
    fn first_run(&self, plan: &Plan) -> Result<Report, Error> {
        if !self.cold {
            let paths: Vec<PathBuf> = plan.files.iter().map(|file| file.path.clone()).collect();
            crate::warm(&paths)?;
        }
        let settings = verify::Settings { jobs: self.processors, depth: Depth::EveryPage, progress: &|_| {} };
        let report = verify::run(plan, self.keys, &settings);
        if let Some(unread) = report.errors.first() {
            return Err(Error::Unread { path: unread.path.clone(), reason: unread.reason.clone() });
        }
        if report.files.is_empty() { Err(Error::NothingToVerify) } else { Ok(report) }
    }

    /// The peers. Requested programs must exist; others are used if they exist.
    fn peers(&self) -> Result<Vec<Peer>, Error> {
        let innochecksums = self.innochecksum.iter().map(|program| (PeerKind::Innochecksum, program.as_os_str()));
        let inno = self.inno.map(|program| (PeerKind::Inno, program));
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

    fn fio(&self) -> Result<Option<PathBuf>, Error> {
        match self.fio {
            Some(program) => process::find(program).map(Some).ok_or_else(|| missing(program)),
            None => Ok(process::find("fio")),
        }
    }
}

/// State of the measurement.
struct Measuring<'a> {
    suite: &'a VerifySuite<'a>,
    plan: Plan,
    /// Report of the first run.
    report: Report,
    watch: &'a Watch<'a>,
    collected: Collected,
}

impl Measuring<'_> {
    fn warm(&mut self) -> Result<(), Error> {
        let files = self.files(|_| true);
        let mut experiment = Experiment::new("page cache, all files");
        let mut pairs = Vec::new();
        for threads in self.threads() {
            let (ours, reading) = (name("sealant", threads), name("read only", threads));
            experiment = experiment
                .arm(arms::verify(&ours, &self.plan, self.suite.keys, threads))
                .arm(arms::read_cached(&reading, &files, threads));
            if threads > NonZeroUsize::MIN {
                pairs.push((ours.clone(), name("sealant", NonZeroUsize::MIN)));
            }
            pairs.push((ours, reading));
        }
        self.collected.run(experiment, &self.suite.settings, &pairs, self.watch)?;
        self.suite.peers()?.iter().try_for_each(|peer| self.against(peer))
    }

    /// Compares with another program, on large files that it reads to the end.
    fn against(&mut self, peer: &Peer) -> Result<(), Error> {
        let files = self.comparable(peer)?;
        if files.is_empty() {
            return Ok(());
        }
        let plan = Plan::scan(&files);
        let mut experiment = Experiment::new(format!("page cache, {} large files, {}", files.len(), peer.name()));
        let mut pairs = Vec::new();
        for threads in self.threads() {
            let ours = name("sealant", threads);
            let theirs_threads = if peer.has_threads() { threads } else { NonZeroUsize::MIN };
            let theirs = name(&peer.name(), theirs_threads);
            experiment = experiment.arm(arms::verify(&ours, &plan, self.suite.keys, threads));
            if theirs_threads == threads {
                experiment = experiment.arm(arms::peer(&theirs, peer, &files, threads));
            }
            pairs.push((ours, theirs));
        }
        self.collected.run(experiment, &self.suite.settings, &pairs, self.watch)
    }

    /// Runs another program on every file; returns the files on which times are comparable.
    fn comparable(&mut self, peer: &Peer) -> Result<Vec<PathBuf>, Error> {
        let mut read_whole = Vec::new();
        for (group, files) in self.groups() {
            (self.watch)(&format!("asking {}", peer.name()));
            let (opinion, calls_sound) = peer.opinion(group, &files)?;
            self.collected.opinions.push(opinion);
            read_whole.extend(if peer.stops_at_fault() { calls_sound } else { files });
        }
        Ok(read_whole.into_iter().filter(|path| self.is_large(path)).collect())
    }

    fn cold(&mut self) -> Result<(), Error> {
        let large = self.files(|file| file.bytes >= LARGE);
        let files = if large.is_empty() { self.files(|_| true) } else { large };
        let plan = Plan::scan(&files);
        let fio = self.suite.fio()?;
        let (processors, direct) = (self.suite.processors, "direct reads, 1 MiB".to_owned());
        let ours = name("sealant", processors);
        let mut experiment = Experiment::new(format!("from disk, {} files", files.len()))
            .arm(arms::verify(&ours, &plan, self.suite.keys, processors))
            .arm(arms::read_direct(&direct, &files))
            .before_each(|| drop_cache(&files));
        let mut pairs = vec![(ours.clone(), direct)];
        for depth in [1, 8] {
            if let Some(program) = &fio {
                let theirs = format!("fio, {depth} at a time");
                experiment = experiment.arm(arms::fio(&theirs, program, &files, depth));
                pairs.push((ours.clone(), theirs));
            }
        }
        self.collected.run(experiment, &self.suite.settings, &pairs, self.watch)
    }

    fn files(&self, wanted: impl Fn(&FileResult) -> bool) -> Vec<PathBuf> {
        self.report.files.iter().filter(|file| wanted(file)).map(|file| file.path.clone()).collect()
    }

    fn is_large(&self, path: &Path) -> bool {
        self.report.files.iter().any(|file| file.path == path && file.bytes >= LARGE)
    }

    /// Tablespaces without a known fault, grouped by the programs that can read them.
    fn groups(&self) -> Vec<(&'static str, Vec<PathBuf>)> {
        let fine = |file: &FileResult| {
            file.is_tablespace() && (file.verdict.is_sound() || file.verdict == Verdict::Unverifiable)
        };
        let groups = ["encrypted MySQL", "encrypted MariaDB", "clear"].map(|group| {
            let files = self.files(|file| fine(file) && group_of(file) == group);
            (group, files)
        });
        groups.into_iter().filter(|(_, files)| !files.is_empty()).collect()
    }

    /// Numbers of threads: one, and all.
    fn threads(&self) -> Vec<NonZeroUsize> {
        let mut threads = vec![NonZeroUsize::MIN, self.suite.processors];
        threads.dedup();
        threads
    }

    fn subject(&self) -> Subject {
        let bytes = |verdict| {
            let files = self.report.files.iter().filter(|file| file.verdict == verdict);
            files.map(|file| file.bytes).fold(0, u64::saturating_add)
        };
        let unsound = self.report.files.iter().filter(|file| !file.verdict.is_sound()).count();
        Subject {
            files: self.report.summary.files,
            bytes: self.report.summary.bytes,
            opened_bytes: bytes(Verdict::Ok),
            clear_bytes: bytes(Verdict::Clear),
            unsound: u64::try_from(unsound).unwrap_or(u64::MAX),
        }
    }

    /// Adds notes on the files.
    fn note(&mut self) {
        let unsound = self.subject().unsound;
        let notes = &mut self.collected.notes;
        if unsound > 0 {
            notes.push(format!("not proven sound by `sealant verify`: {unsound} of the files"));
        }
        let paths: Vec<PathBuf> = self.report.files.iter().map(|file| file.path.clone()).collect();
        if !self.suite.cold
            && let Ok(seen) = residency(&paths)
            && seen.cached < seen.sampled
        {
            notes.push("the page cache does not hold all of the files: part of the time is disk time".to_owned());
        }
    }
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

fn missing(program: &OsStr) -> Error {
    Error::NoProgram { program: program.into(), has_version: true }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::Rounds;

    fn suite<'a>(paths: &'a [PathBuf], keys: &'a Keys) -> VerifySuite<'a> {
        let settings = Settings { rounds: Rounds::Exactly(NonZeroU32::MIN), ..Settings::default() };
        let processors = NonZeroUsize::MIN;
        VerifySuite { paths, keys, cold: false, innochecksum: &[], inno: None, fio: None, settings, processors }
    }

    #[test]
    fn nothing_to_verify_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let paths = [directory.path().to_owned()];
        let error = suite(&paths, &Keys::default()).run(&|_| {}).unwrap_err();
        assert!(matches!(error, Error::NothingToVerify), "{error}");
    }

    #[test]
    fn a_requested_program_must_exist() {
        let keys = Keys::default();
        let suite = VerifySuite { inno: Some(OsStr::new("/no/such/inno")), ..suite(&[], &keys) };
        let error = suite.peers().unwrap_err().to_string();
        assert_eq!(error, "/no/such/inno: no such program, or it does not report its version");
    }

    #[test]
    fn arms_are_named_by_their_threads() {
        assert_eq!(name("sealant", NonZeroUsize::MIN), "sealant, 1 thread");
        assert_eq!(name("sealant", NonZeroUsize::new(4).unwrap()), "sealant, 4 threads");
    }
}
