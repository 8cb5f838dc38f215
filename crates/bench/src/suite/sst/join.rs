//! One join: a donor with a client, a node that joins, and how long both took.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use pki::KeyType;
use server::option_group::{SST, section};
use snapshot::DataDir;

use super::Method;
use crate::{
    Environment, Error, Installation, Node, Sample, TemporaryDirectory, Unit, Writer, program,
    tls::{authority, issue},
};

/// Names of the experiments.
pub(crate) const JOINED: &str = "from the start of the joiner to Synced";
pub(super) const STALLED: &str = "longest commit on the donor meanwhile";
/// The part of the stall that the method causes. A change of members also stalls the cluster, with any method.
pub(super) const BLOCKED: &str = "the donor stood still for the copy, as it says";
pub(super) const ESTIMATED: &str = "sealant snapshot estimate before the join";

/// Settings that all nodes share.
pub(super) struct Cluster<'a> {
    pub(super) installation: Installation,
    /// Option file of the nodes whose method verifies both sides.
    pub(super) options: String,
    /// Size of the data in bytes.
    pub(super) bytes: u64,
    /// Set to true to end the measurement.
    pub(super) stopped: &'a AtomicBool,
}

/// A donor on one file system.
pub(super) struct Donor {
    scratch: TemporaryDirectory,
    file_system: String,
    node: Node,
    writer: Writer,
}

/// Measurements of one join.
pub(super) struct Joined {
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

impl Cluster<'_> {
    /// Starts a donor on a copy of the data, with a client that commits.
    pub(super) fn donor(&self, into: &Path, datadir: &Path) -> Result<Donor, Error> {
        let scratch = TemporaryDirectory::below(into)?;
        let file_system = Environment::now(scratch.path()).file_system.unwrap_or_else(|| "unknown".to_owned());
        let directory = scratch.path().join("donor");
        fs::create_dir(&directory).map_err(Error::file(&directory))?;
        let mut copy = Command::new("cp");
        program::succeed(copy.arg("-a").arg(datadir).arg(directory.join("data")))?;
        let mut node = self.installation.start(&directory, "", "rsync", &self.options)?;
        node.wait_until_synced(self.stopped)?;
        let writer = Writer::begin(&node)?;
        Ok(Donor { scratch, file_system, node, writer })
    }

    /// Lets a node join, and stops it again.
    pub(super) fn join(&self, donor: &mut Donor, method: Method) -> Result<Joined, Error> {
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
        joiner.wait_until_synced(self.stopped)?;
        let took = began.elapsed();
        // The donor becomes Synced a moment later.
        donor.node.wait_until_synced(self.stopped)?;
        let (longest, _) = donor.writer.take();
        joiner.stop()?;
        fs::remove_dir_all(&directory).map_err(Error::file(&directory))?;
        let stood = donor.node.log().get(said..).and_then(blocked_time);
        Ok(Joined { took, longest, stood, estimated })
    }

    pub(super) fn samples(&self, arm: &str, joined: &Joined, round: u32, position: usize) -> Vec<Sample> {
        let sample = |(experiment, time): (&str, Duration)| Sample {
            part: None,
            experiment: experiment.to_owned(),
            arm: arm.to_owned(),
            round,
            position,
            unit: Unit::Bytes,
            amount: self.bytes,
            seconds: time.as_secs_f64(),
            detail: None,
            operations: None,
        };
        joined.times().map(sample).collect()
    }
}

impl Donor {
    pub(super) fn arm(&self, method: Method) -> String {
        format!("{}, {}", method.name(), self.file_system)
    }

    /// Estimated duration of a snapshot of the donor.
    fn estimate(&self) -> Option<Duration> {
        let datadir = DataDir::at(&self.node.datadir()).ok()?.socket(Some(self.node.socket()));
        snapshot::estimate(&datadir, &snapshot::Options::default()).ok().map(|estimate| estimate.freeze())
    }

    pub(super) fn end(self) -> Result<(), Error> {
        drop(self.writer);
        self.node.stop()
    }
}

/// Option file for mariabackup, with certificates of our own authority and verification of both sides. Sealant reads
/// the same file, so that both methods verify the same.
pub(super) fn option_file(directory: &Path) -> Result<String, Error> {
    let (ca, authority) = authority(directory)?;
    let node = issue(&authority, "node", KeyType::EcdsaP256)?;
    let [ca, cert, key] = [&ca, &node.certificate, &node.key].map(|path| path.display().to_string());
    let lines = ["encrypt=4".to_owned(), format!("tca={ca}"), format!("tcert={cert}"), format!("tkey={key}")];
    Ok(section(SST, &lines))
}

/// How long the server was blocked, according to the last line of the donor's log that reports it.
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
