//! `sealant bench sst`: how long a node of a Galera cluster takes to join, and what its donor's clients
//! notice of it.

use std::ffi::OsString;
use std::fs;
use std::num::NonZeroU32;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ::bench::{
    Environment, Installation, Node, Program, Record, SCHEMA, Sample, Samples, Scratch, Subject, Tree, Unit, Writer,
};
use ::snapshot::DataDir;
use clap::{Args, ValueEnum};
use report::size;

use super::output::Output;
use super::{conditions, failure};
use crate::cli::snapshot;
use crate::cli::sst::PROGRAM;
use crate::exit::{self, Exit};
use crate::output::message::Failure;

/// Measure how long nodes of a Galera cluster take to join, by this and by other methods
///
/// Starts a node of its own on a copy of DIR, with a client that commits without a pause, and lets others join it:
/// from the start of the joiner's server until it is Synced, and the longest that a commit on the donor took
/// meanwhile; for this program beside how long the donor says that it stood still, and what `sealant snapshot estimate` said
/// before. A change of members stalls the commits of a cluster too, whatever the method. Everything happens on this machine, over loopback, below the directories of --into, each of
/// which stands for its file system. The donor's page cache is as the last run left it.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct BenchSst {
    /// The data directory of a stopped MariaDB, of which copies are made
    datadir: PathBuf,
    /// Directories to work below, with commas between them
    #[arg(long, value_name = "DIR", value_delimiter = ',', required = true)]
    into: Vec<PathBuf>,
    /// The server
    #[arg(long, value_name = "PROGRAM", default_value = "/usr/sbin/mariadbd")]
    mariadbd: PathBuf,
    /// The Galera provider
    #[arg(long, value_name = "FILE", default_value = "/usr/lib/galera/libgalera_smm.so")]
    provider: PathBuf,
    /// Methods, with commas between them
    #[arg(long, value_enum, value_name = "NAME", value_delimiter = ',', default_value = "rsync,mariabackup,sealant")]
    methods: Vec<Method>,
    /// Rounds
    #[arg(long, value_name = "N", default_value = "3")]
    rounds: NonZeroU32,
    /// An option of all servers, such as --innodb-buffer-pool-size=1G (repeatable)
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    server_option: Vec<OsString>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Method {
    /// Blocks the donor for the copy; in clear text
    Rsync,
    /// Through socat with TLS, both sides verified by an authority
    Mariabackup,
    /// This program
    Sealant,
}

const EXAMPLES: &str = "\
Examples:
  sealant bench sst /backup/datadir --into /var/tmp
  sealant bench sst /backup/datadir --into /mnt/btrfs,/mnt/xfs,/var/tmp --rounds 5 --raw samples.jsonl";

const EXITS: exit::Codes = &[
    (Exit::Clean, "measured"),
    (Exit::Failed, "a server could not be run, or a node did not join"),
    (Exit::Usage, "wrong usage"),
];

/// Names of the experiments.
const JOINED: &str = "from the start of the joiner to Synced";
const STALLED: &str = "longest commit on the donor meanwhile";
/// A change of members stalls the cluster besides, whatever the method: this is the method's own part.
const STOOD: &str = "the donor stood still for the copy, as it says";
const ESTIMATED: &str = "sealant snapshot estimate before the join";

impl Method {
    const fn name(self) -> &'static str {
        match self {
            Self::Rsync => "rsync",
            Self::Mariabackup => "mariabackup",
            Self::Sealant => "sealant",
        }
    }
}

/// A donor on one file system.
struct Place {
    scratch: Scratch,
    system: String,
    donor: Node,
    writer: Writer,
}

/// What a join took.
struct Joined {
    took: Duration,
    longest: Duration,
    /// What the donor's program says of its server.
    stood: Option<Duration>,
    /// What was foretold; nothing where no snapshot can be had.
    estimated: Option<Duration>,
}

impl Joined {
    fn times(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        let known = [(JOINED, Some(self.took)), (STALLED, Some(self.longest))];
        let known = known.into_iter().chain([(STOOD, self.stood), (ESTIMATED, self.estimated)]);
        known.filter_map(|(experiment, time)| Some((experiment, time?)))
    }
}

impl BenchSst {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        self.check()?;
        let environment = Environment::now(&self.datadir);
        let tree = Tree::of(&self.datadir).map_err(failure)?;
        let status = self.output.status();
        let tools = Scratch::below(&std::env::temp_dir()).map_err(failure)?;
        let installation = self.installation(tools.path())?;
        let options = self.option_file(tools.path())?;
        let mut samples = Vec::new();
        for into in &self.into {
            status.show(&format!("a donor below {}", into.display()));
            let mut place = self.place(into, &installation, &options)?;
            for round in 0..self.rounds.get() {
                for (position, method) in self.order(round).into_iter().enumerate() {
                    let arm = format!("{}, {}", method.name(), place.system);
                    status.show(&format!("round {}, {arm}", round + 1));
                    let joined = place.join(&installation, &options, method)?;
                    for (experiment, time) in joined.times() {
                        let (experiment, arm, seconds) = (experiment.to_owned(), arm.clone(), time.as_secs_f64());
                        samples.push(Sample {
                            experiment,
                            arm,
                            round,
                            position,
                            amount: tree.bytes(),
                            seconds,
                            detail: None,
                        });
                    }
                }
            }
            place.end()?;
        }
        status.clear();
        let record = self.record(environment, &tree, &samples);
        self.output.write(&record, &samples)?;
        Ok(Exit::Clean)
    }

    /// Before anything is copied: all that was given can be used.
    fn check(&self) -> Result<(), Failure> {
        let datadir = DataDir::at(&self.datadir).map_err(snapshot::failure)?;
        if let Some(server) = datadir.server().map_err(snapshot::failure)? {
            let failure = format!("{}: a server runs on it, as process {}", self.datadir.display(), server.pid);
            return Err(Failure::new(failure).hint("stop it, or give a copy: see `sealant snapshot create`"));
        }
        for into in &self.into {
            let directory = into.canonicalize().ok().filter(|path| path.is_dir());
            let Some(directory) = directory else {
                return Err(Failure::new(format!("{}: no such directory", into.display()))
                    .hint("--into takes directories that are there, one on each file system that is to be measured"));
            };
            if directory.starts_with(datadir.path()) {
                return Err(Failure::new(format!("{}: lies in the data directory", into.display()))
                    .hint("copies of it cannot be made in itself: give --into a directory elsewhere"));
            }
        }
        for (option, file) in [("--mariadbd", &self.mariadbd), ("--provider", &self.provider)] {
            if !file.is_file() {
                return Err(Failure::new(format!("{}: no such file", file.display()))
                    .hint(format!("install MariaDB with Galera, or give {option}")));
            }
        }
        self.output.check()
    }

    /// First to last, then last to first, so that none always runs behind the same other one.
    fn order(&self, round: u32) -> Vec<Method> {
        let methods = self.methods.iter().copied();
        if round.is_multiple_of(2) { methods.collect() } else { methods.rev().collect() }
    }

    fn installation(&self, tools: &Path) -> Result<Installation, Failure> {
        let ours = std::env::current_exe().map_err(|e| Failure::new(format!("the path of this program: {e}")))?;
        let link = tools.join(PROGRAM);
        symlink(ours, &link).map_err(|e| Failure::new(format!("{}: {e}", link.display())))?;
        Ok(Installation {
            daemon: self.mariadbd.clone(),
            provider: self.provider.clone(),
            programs: tools.to_owned(),
            options: self.server_option.clone(),
        })
    }

    /// For mariabackup: certificates of an authority of our own, and both sides verified. They are given to
    /// this program too, so that the two do the same.
    fn option_file(&self, tools: &Path) -> Result<String, Failure> {
        let directory = tools.join("ca");
        let ours = std::env::current_exe().map_err(|e| Failure::new(format!("the path of this program: {e}")))?;
        let run = |args: &[&str]| {
            let output = Command::new(&ours).arg("cert").args(args).arg("--dir").arg(&directory).output();
            match output {
                Ok(output) if output.status.success() => Ok(()),
                Ok(output) => Err(Failure::new(String::from_utf8_lossy(&output.stderr).into_owned())),
                Err(e) => Err(Failure::new(format!("certificates: {e}"))),
            }
        };
        run(&["init"])?;
        run(&["issue", "--name", "node", "--san", "127.0.0.1"])?;
        let path = |name: &str| directory.join(name).display().to_string();
        let (ca, cert, key) = (path("ca.pem"), path("node.pem"), path("node.key"));
        Ok(format!("[sst]\nencrypt=4\ntca={ca}\ntcert={cert}\ntkey={key}\n"))
    }

    fn place(&self, into: &Path, installation: &Installation, options: &str) -> Result<Place, Failure> {
        let scratch = Scratch::below(into).map_err(failure)?;
        let system = Environment::now(scratch.path()).file_system.unwrap_or_else(|| "unknown".to_owned());
        let directory = scratch.path().join("donor");
        let made = fs::create_dir(&directory);
        made.map_err(|e| Failure::new(format!("{}: {e}", directory.display())))?;
        let copied = Command::new("cp").arg("-a").arg(&self.datadir).arg(directory.join("data")).status();
        if !copied.is_ok_and(|status| status.success()) {
            return Err(Failure::new(format!("{}: cannot be copied", self.datadir.display())));
        }
        let mut donor = installation.start(&directory, "", "rsync", options).map_err(failure)?;
        donor.wait_until_synced().map_err(failure)?;
        let writer = Writer::begin(&donor).map_err(failure)?;
        Ok(Place { scratch, system, donor, writer })
    }

    fn record(&self, environment: Environment, tree: &Tree, samples: &[Sample]) -> Record {
        let files = u64::try_from(tree.files().len()).unwrap_or(u64::MAX);
        let subject = Subject { files, bytes: tree.bytes(), ..Subject::default() };
        let mut notes = conditions(&environment);
        notes.push(format!(
            "donor and joiners ran on this machine, over loopback; a client committed on the donor all the time; {} of data",
            size(tree.bytes())
        ));
        notes.push("rsync sends clear text, mariabackup and sealant verify both sides".to_owned());
        let of = |name| Samples::of_experiment(name, Unit::Bytes, self.rounds.get(), samples).record(&[]);
        let known = [JOINED, STALLED, STOOD, ESTIMATED].into_iter();
        let known = known.filter(|name| samples.iter().any(|sample| sample.experiment == *name));
        let experiments = known.map(of).collect();
        Record {
            schema: SCHEMA,
            environment,
            subject,
            programs: Vec::<Program>::new(),
            missing: Vec::new(),
            experiments,
            opinions: Vec::new(),
            notes,
        }
    }
}

impl Place {
    /// A node joins, and goes again.
    fn join(&mut self, installation: &Installation, options: &str, method: Method) -> Result<Joined, Failure> {
        let directory = self.scratch.path().join("joiner");
        let made = fs::create_dir_all(directory.join("data"));
        made.map_err(|e| Failure::new(format!("{}: {e}", directory.display())))?;
        // rsync goes in clear text: with certificates it would ask for stunnel.
        let options = if method == Method::Rsync { "" } else { options };
        let settings = self.scratch.path().join("donor/my.cnf");
        fs::write(&settings, options).map_err(|e| Failure::new(format!("{}: {e}", settings.display())))?;
        let estimated = if method == Method::Sealant { self.estimate() } else { None };
        let said = self.donor.log().len();
        let _ = self.writer.take();
        let began = Instant::now();
        let started = installation.start(&directory, &self.donor.address(), method.name(), options);
        let mut joiner = started.map_err(failure)?;
        joiner.wait_until_synced().map_err(failure)?;
        let took = began.elapsed();
        // The donor is Synced a moment later.
        self.donor.wait_until_synced().map_err(failure)?;
        let (longest, _) = self.writer.take();
        joiner.stop().map_err(failure)?;
        let gone = fs::remove_dir_all(&directory);
        gone.map_err(|e| Failure::new(format!("{}: {e}", directory.display())))?;
        let stood = self.donor.log().get(said..).and_then(stood_still);
        Ok(Joined { took, longest, stood, estimated })
    }

    /// What a snapshot of the donor would take now.
    fn estimate(&self) -> Option<Duration> {
        let datadir = ::snapshot::DataDir::at(&self.donor.datadir()).ok()?.socket(Some(self.donor.socket()));
        ::snapshot::estimate(&datadir, &::snapshot::Options::default()).ok().map(|estimate| estimate.freeze())
    }

    fn end(self) -> Result<(), Failure> {
        drop(self.writer);
        self.donor.stop().map_err(failure)
    }
}

/// How long the server stood still by the last line of the donor's program that tells.
fn stood_still(log: &str) -> Option<Duration> {
    let milliseconds = |text: &str| text.split(" ms").next()?.rsplit(' ').next()?.parse::<f64>().ok();
    let mut told = log.lines().filter(|line| line.contains("sealant donor: ")).filter_map(|line| {
        // Its clients wait from the moment that it is asked.
        let by_lock = || {
            let (during, before) = line.split_once("stands still: ")?.1.split_once("; ")?.1.split_once(" ms, and ")?;
            Some(during.parse::<f64>().ok()? + milliseconds(before)?)
        };
        line.split_once("stood still for ").and_then(|(_, time)| milliseconds(time)).or_else(by_lock)
    });
    told.next_back().and_then(|milliseconds| Duration::try_from_secs_f64(milliseconds / 1e3).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_donor_tells_how_long_it_stood_still() {
        let of = |text: &str| {
            stood_still(&format!("2026-11-22 11:37 0 [Note] WSREP: x\nWSREP_SST: [INFO] sealant {text}\n"))
        };
        let snapshot = "donor: a snapshot by reflink; the server stood still for 37.2 ms (20261122 11:37:25.242)";
        assert_eq!(of(snapshot), Some(Duration::from_micros(37_200)));
        let lock = "donor: while the server stands still: 28.9 MiB looked at, 9.9 MiB sent; 55 ms, and 35 ms until it stood \
                    still (20261122 11:49:15.261)";
        assert_eq!(of(lock), Some(Duration::from_millis(90)));
        assert_eq!(of("donor: connected to 127.0.0.1:4444"), None);
    }
}
