//! How long a node of a Galera cluster takes to join, and how it affects its donor's clients.

use std::{
    fs,
    num::NonZeroU32,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use files::quantity::size;
use pki::KeyType;
use snapshot::DataDir;

use super::{Collected, Outcome, Watch, authority, issue};
use crate::{
    Environment, Error, Installation, Node, Sample, Samples, Subject, TemporaryDirectory, Tree, Unit, Writer, program,
};

/// Names of the experiments.
const JOINED: &str = "from the start of the joiner to Synced";
const STALLED: &str = "longest commit on the donor meanwhile";
/// The part of the stall that the method causes; a change of members stalls the cluster with any method.
const BLOCKED: &str = "the donor stood still for the copy, as it says";
const ESTIMATED: &str = "sealant snapshot estimate before the join";

/// Parameters of the measurement.
#[derive(Debug)]
pub struct SstSuite<'a> {
    /// This program.
    pub program: PathBuf,
    /// The name by which servers start it for a state transfer.
    pub program_name: &'static str,
    /// The data directory of a stopped MariaDB; copies of it are used.
    pub datadir: &'a Path,
    /// Working directories, each on another file system.
    pub into: &'a [PathBuf],
    /// Path of the server program.
    pub mariadbd: &'a Path,
    /// The Galera provider.
    pub provider: &'a Path,
    /// Methods of state transfer.
    pub methods: &'a [Method],
    /// Rounds.
    pub rounds: NonZeroU32,
    /// Options of all servers.
    pub server_options: &'a [std::ffi::OsString],
}

/// A method of state transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Blocks the donor for the copy; in clear text.
    Rsync,
    /// Through `socat` with TLS, both sides verified by an authority.
    Mariabackup,
    /// This program.
    Sealant,
}

impl Method {
    const fn name(self) -> &'static str {
        match self {
            Self::Rsync => "rsync",
            Self::Mariabackup => "mariabackup",
            Self::Sealant => "sealant",
        }
    }
}

impl SstSuite<'_> {
    /// Checks the parameters before anything is copied.
    ///
    /// # Errors
    /// [`Error`]: a server runs on the data, or a file or directory is not there.
    pub fn check(&self) -> Result<(), Error> {
        let datadir = DataDir::at(self.datadir)?;
        if let Some(server) = datadir.server()? {
            let pid = server.pid.as_raw_nonzero().get();
            return Err(Error::ServerRuns { path: self.datadir.to_owned(), pid });
        }
        for into in self.into {
            let directory = into.canonicalize().ok().filter(|path| path.is_dir());
            let Some(directory) = directory else { return Err(Error::NoDirectory { path: into.clone() }) };
            if directory.starts_with(datadir.path()) {
                return Err(Error::InDataDirectory { path: into.clone() });
            }
        }
        for (option, file) in [("--mariadbd", self.mariadbd), ("--provider", self.provider)] {
            if !file.is_file() {
                return Err(Error::NoInstallation { path: file.to_owned(), option });
            }
        }
        Ok(())
    }

    /// Runs the measurement.
    ///
    /// # Errors
    /// [`Error`]: a server could not be run, or a node did not join.
    pub fn run(&self, watch: &Watch<'_>) -> Result<Outcome, Error> {
        let environment = Environment::now(self.datadir);
        let tree = Tree::scan(self.datadir)?;
        let tools = TemporaryDirectory::below(&std::env::temp_dir())?;
        let cluster = Cluster {
            installation: self.installation(tools.path())?,
            options: option_file(&tools.path().join("ca"))?,
            bytes: tree.bytes(),
        };
        let mut collected = Collected::default();
        for into in self.into {
            watch(&format!("a donor below {}", into.display()));
            let mut donor = cluster.donor(into, self.datadir)?;
            for round in 0..self.rounds.get() {
                for (position, method) in self.order(round).into_iter().enumerate() {
                    watch(&format!("round {}, {}", round.saturating_add(1), donor.arm(method)));
                    let joined = cluster.join(&mut donor, method)?;
                    collected.samples.extend(cluster.samples(&donor.arm(method), &joined, round, position));
                }
            }
            donor.end()?;
        }
        self.judge(&mut collected, &tree);
        let files = u64::try_from(tree.files().len()).unwrap_or(u64::MAX);
        Ok(collected.finish(environment, Subject { files, bytes: tree.bytes(), ..Subject::default() }))
    }

    /// Order of the methods: forwards in one round, backwards in the next, so that none always follows the same other
    /// one.
    fn order(&self, round: u32) -> Vec<Method> {
        let methods = self.methods.iter().copied();
        if round.is_multiple_of(2) { methods.collect() } else { methods.rev().collect() }
    }

    fn installation(&self, tools: &Path) -> Result<Installation, Error> {
        let link = tools.join(self.program_name);
        symlink(&self.program, &link).map_err(Error::file(&link))?;
        Ok(Installation {
            daemon: self.mariadbd.to_owned(),
            provider: self.provider.to_owned(),
            programs: tools.to_owned(),
            options: self.server_options.to_vec(),
        })
    }

    /// Adds the experiments that have samples, and the conditions.
    fn judge(&self, collected: &mut Collected, tree: &Tree) {
        let samples = &collected.samples;
        let known = [JOINED, STALLED, BLOCKED, ESTIMATED].into_iter();
        let known = known.filter(|name| samples.iter().any(|sample| sample.experiment == *name));
        let of = |name| Samples::from_samples(name, Unit::Bytes, self.rounds.get(), samples).record(&[]);
        collected.experiments = known.map(of).collect();
        collected.notes.push(format!(
            "donor and joiners ran on this machine, over loopback; a client committed on the donor all the time; {} of \
             data",
            size(tree.bytes())
        ));
        collected.notes.push("rsync sends clear text, mariabackup and sealant verify both sides".to_owned());
    }
}

/// Settings that all nodes share.
struct Cluster {
    installation: Installation,
    /// Option file of the nodes whose method verifies both sides.
    options: String,
    /// Size of the data in bytes.
    bytes: u64,
}

/// A donor on one file system.
struct Donor {
    scratch: TemporaryDirectory,
    file_system: String,
    node: Node,
    writer: Writer,
}

/// Measurements of one join.
struct Joined {
    took: Duration,
    longest: Duration,
    /// How long the donor's server was blocked, according to its log.
    stood: Option<Duration>,
    /// The estimated freeze; `None` where no snapshot is possible.
    estimated: Option<Duration>,
}

impl Joined {
    fn times(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        let known = [(JOINED, Some(self.took)), (STALLED, Some(self.longest))];
        let known = known.into_iter().chain([(BLOCKED, self.stood), (ESTIMATED, self.estimated)]);
        known.filter_map(|(experiment, time)| Some((experiment, time?)))
    }
}

impl Cluster {
    /// Starts a donor on a copy of the data, with a client that commits.
    fn donor(&self, into: &Path, datadir: &Path) -> Result<Donor, Error> {
        let scratch = TemporaryDirectory::below(into)?;
        let file_system = Environment::now(scratch.path()).file_system.unwrap_or_else(|| "unknown".to_owned());
        let directory = scratch.path().join("donor");
        fs::create_dir(&directory).map_err(Error::file(&directory))?;
        let mut copy = Command::new("cp");
        program::succeed(copy.arg("-a").arg(datadir).arg(directory.join("data")))?;
        let mut node = self.installation.start(&directory, "", "rsync", &self.options)?;
        node.wait_until_synced()?;
        let writer = Writer::begin(&node)?;
        Ok(Donor { scratch, file_system, node, writer })
    }

    /// Lets a node join, and stops it again.
    fn join(&self, donor: &mut Donor, method: Method) -> Result<Joined, Error> {
        let directory = donor.scratch.path().join("joiner");
        fs::create_dir_all(directory.join("data")).map_err(Error::file(&directory))?;
        // rsync runs in clear text: with certificates it would require stunnel.
        let options = if method == Method::Rsync { "" } else { &self.options };
        let settings = donor.scratch.path().join("donor/my.cnf");
        fs::write(&settings, options).map_err(Error::file(&settings))?;
        let estimated = if method == Method::Sealant { donor.estimate() } else { None };
        let said = donor.node.log().len();
        let _ = donor.writer.take();
        let began = Instant::now();
        let mut joiner = self.installation.start(&directory, &donor.node.address(), method.name(), options)?;
        joiner.wait_until_synced()?;
        let took = began.elapsed();
        // The donor becomes Synced a moment later.
        donor.node.wait_until_synced()?;
        let (longest, _) = donor.writer.take();
        joiner.stop()?;
        fs::remove_dir_all(&directory).map_err(Error::file(&directory))?;
        let stood = donor.node.log().get(said..).and_then(blocked_time);
        Ok(Joined { took, longest, stood, estimated })
    }

    fn samples(&self, arm: &str, joined: &Joined, round: u32, position: usize) -> Vec<Sample> {
        let sample = |(experiment, time): (&str, Duration)| Sample {
            experiment: experiment.to_owned(),
            arm: arm.to_owned(),
            round,
            position,
            amount: self.bytes,
            seconds: time.as_secs_f64(),
            detail: None,
            operations: None,
        };
        joined.times().map(sample).collect()
    }
}

impl Donor {
    fn arm(&self, method: Method) -> String {
        format!("{}, {}", method.name(), self.file_system)
    }

    /// Estimated duration of a snapshot of the donor.
    fn estimate(&self) -> Option<Duration> {
        let datadir = DataDir::at(&self.node.datadir()).ok()?.socket(Some(self.node.socket()));
        snapshot::estimate(&datadir, &snapshot::Options::default()).ok().map(|estimate| estimate.freeze())
    }

    fn end(self) -> Result<(), Error> {
        drop(self.writer);
        self.node.stop()
    }
}

/// Option file for mariabackup, with certificates of our own authority and verification of both sides. This program
/// gets it too, so that both do the same.
fn option_file(directory: &Path) -> Result<String, Error> {
    let (ca, authority) = authority(directory)?;
    let node = issue(&authority, "node", KeyType::EcdsaP256)?;
    let [ca, cert, key] = [&ca, &node.certificate, &node.key].map(|path| path.display().to_string());
    Ok(format!("[sst]\nencrypt=4\ntca={ca}\ntcert={cert}\ntkey={key}\n"))
}

/// How long the server was blocked, according to the last such line of the donor's log.
fn blocked_time(log: &str) -> Option<Duration> {
    let milliseconds = |text: &str| text.split(" ms").next()?.rsplit(' ').next()?.parse::<f64>().ok();
    let mut reported = log.lines().filter(|line| line.contains("sealant donor: ")).filter_map(|line| {
        // Clients wait from the moment the server is asked to stop writing.
        let by_lock = || {
            let (during, before) = line.split_once("stands still: ")?.1.split_once("; ")?.1.split_once(" ms, and ")?;
            Some(during.parse::<f64>().ok()? + milliseconds(before)?)
        };
        line.split_once("stood still for ").and_then(|(_, time)| milliseconds(time)).or_else(by_lock)
    });
    reported.next_back().and_then(|milliseconds| Duration::try_from_secs_f64(milliseconds / 1e3).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite<'a>(datadir: &'a Path, into: &'a [PathBuf]) -> SstSuite<'a> {
        SstSuite {
            program: PathBuf::from("sealant"),
            program_name: "wsrep_sst_sealant",
            datadir,
            into,
            mariadbd: Path::new("/no/mariadbd"),
            provider: Path::new("/no/provider"),
            methods: &[Method::Rsync, Method::Sealant],
            rounds: NonZeroU32::MIN,
            server_options: &[],
        }
    }

    #[test]
    fn the_method_that_runs_first_alternates() {
        let suite = suite(Path::new("x"), &[]);
        assert_eq!(suite.order(0), [Method::Rsync, Method::Sealant]);
        assert_eq!(suite.order(1), [Method::Sealant, Method::Rsync]);
    }

    #[test]
    fn the_donor_reports_how_long_it_was_blocked() {
        let of = |text: &str| {
            blocked_time(&format!("2026-11-22 11:37 0 [Note] WSREP: x\nWSREP_SST: [INFO] sealant {text}\n"))
        };
        let snapshot = "donor: a snapshot by reflink; the server stood still for 37.2 ms (20261122 11:37:25.242)";
        assert_eq!(of(snapshot), Some(Duration::from_micros(37_200)));
        let lock = "donor: while the server stands still: 28.9 MiB looked at, 9.9 MiB sent; 55 ms, and 35 ms until it stood \
                    still (20261122 11:49:15.261)";
        assert_eq!(of(lock), Some(Duration::from_millis(90)));
        assert_eq!(of("donor: connected to 127.0.0.1:4444"), None);
    }

    #[test]
    fn a_join_without_an_estimate_has_no_sample_of_one() {
        let joined = Joined { took: Duration::from_secs(2), longest: Duration::ZERO, stood: None, estimated: None };
        let names: Vec<&str> = joined.times().map(|(name, _)| name).collect();
        assert_eq!(names, [JOINED, STALLED]);
    }
}
