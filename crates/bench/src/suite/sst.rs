//! How long a node of a Galera cluster takes to join, and how it affects its donor's clients.

mod join;

use std::{
    num::NonZeroU32,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use files::quantity::size;
use snapshot::DataDir;

pub(crate) use self::join::JOINED;
use self::join::{BLOCKED, Cluster, ESTIMATED, STALLED, option_file};
use super::{Collected, Outcome, Watch};
use crate::{Environment, Error, Installation, Sample, Samples, Subject, TemporaryDirectory, Tree, Unit};

/// Parameters of the measurement.
#[derive(Debug)]
pub struct SstSuite<'a> {
    /// This program.
    pub program: PathBuf,
    /// The name by which servers start it for a state transfer.
    pub program_name: &'static str,
    /// The data directory of a stopped MariaDB; copies of it are used.
    pub datadir: &'a Path,
    /// Working directories, each on a different file system.
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
    /// Set to true to end the measurement.
    pub stopped: &'a AtomicBool,
}

/// A method of state transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// rsync: blocks the donor during the copy; in plaintext.
    Rsync,
    /// Through `socat` with TLS, both sides verified by an authority.
    Mariabackup,
    /// This program.
    Sealant,
}

impl Method {
    pub(crate) const fn name(self) -> &'static str {
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
    /// [`Error`]: a server runs on the data, or a file or directory does not exist.
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
            stopped: self.stopped,
        };
        let mut collected = Collected::default();
        for into in self.into {
            watch(&format!("a donor below {}", into.display()));
            let mut donor = self.unless_stopped(cluster.donor(into, self.datadir))?;
            for round in 0..self.rounds.get() {
                for (position, method) in self.order(round).into_iter().enumerate() {
                    watch(&format!("round {}, {}", round.saturating_add(1), donor.arm(method)));
                    let joined = self.unless_stopped(cluster.join(&mut donor, method))?;
                    collected.samples.extend(cluster.samples(&donor.arm(method), &joined, round, position));
                }
            }
            donor.end()?;
        }
        self.judge(&mut collected, &tree);
        let files = u64::try_from(tree.files().len()).unwrap_or(u64::MAX);
        Ok(collected.finish(environment, Subject { files, bytes: tree.bytes(), ..Subject::default() }))
    }

    /// After a signal, every error is only a consequence of it.
    fn unless_stopped<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if self.stopped.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { result }
    }

    /// Order of the methods: forwards in one round, backwards in the next, so that a method does not always follow the
    /// same other method.
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
        let pairs = pairs(samples);
        let of = |name: &str| {
            let compared = if name == JOINED { pairs.clone() } else { Vec::new() };
            Samples::from_samples(name, Unit::Bytes, self.rounds.get(), samples).compare(compared).record()
        };
        collected.experiments = known.map(of).collect();
        collected.notes.push(format!(
            "donor and joiners ran on this machine, over loopback; a client committed on the donor all the time; {} of \
             data",
            size(tree.bytes())
        ));
        collected.notes.push("rsync sends clear text, mariabackup and sealant verify both sides".to_owned());
    }
}

/// The arms of this program, each with those of other methods on the same file system.
fn pairs(samples: &[Sample]) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for ours in samples {
        let Some(file_system) = ours.arm.strip_prefix(Method::Sealant.name()) else { continue };
        let others = samples.iter().filter(|other| other.arm != ours.arm && other.arm.ends_with(file_system));
        for other in others {
            let pair = (ours.arm.clone(), other.arm.clone());
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    static RUNNING: AtomicBool = AtomicBool::new(false);

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
            stopped: &RUNNING,
        }
    }

    #[test]
    fn the_method_that_runs_first_alternates() {
        let suite = suite(Path::new("x"), &[]);
        assert_eq!(suite.order(0), [Method::Rsync, Method::Sealant]);
        assert_eq!(suite.order(1), [Method::Sealant, Method::Rsync]);
    }

    #[test]
    fn this_program_is_compared_with_the_others_on_the_same_file_system() {
        let sample = |arm: &str| Sample {
            part: None,
            experiment: JOINED.to_owned(),
            arm: arm.to_owned(),
            round: 0,
            position: 0,
            unit: Unit::Bytes,
            amount: 1,
            seconds: 1.0,
            detail: None,
            operations: None,
        };
        let samples = ["rsync, ext4", "sealant, ext4", "sealant, ext4", "rsync, xfs"].map(sample);
        assert_eq!(pairs(&samples), [("sealant, ext4".to_owned(), "rsync, ext4".to_owned())]);
    }
}
