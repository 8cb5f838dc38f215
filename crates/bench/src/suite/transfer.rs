//! How fast a directory is copied, compared with other common programs.

mod notes;
mod peers;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use files::quantity::size;

use self::notes::{Sent, disk_notes};
pub use self::peers::Peers;
use super::{Collected, Outcome, Watch, served::Served};
use crate::{
    COPY_PEERS, CopyJob, CopyPeer, Environment, Error, Experiment, Link, Rate, SealantCopy, Settings, Subject,
    TemporaryDirectory, Tree, arms, programs_of,
};

/// Space for the overhead of other file systems: journals and directories.
const SPARE_BYTES: u64 = 64 << 20;

/// Parameters of the measurement.
#[derive(Debug)]
pub struct TransferSuite<'a> {
    /// This program.
    pub program: PathBuf,
    /// The directory to copy.
    pub source: &'a Path,
    /// Directory below which copies are made and removed.
    pub into: &'a Path,
    /// Names of peers; by default those that are installed.
    pub peers: &'a [String],
    /// Measure only this program.
    pub no_peers: bool,
    /// Measure peers with OpenSSL a second time, without AES instructions.
    pub peers_without_aes: bool,
    /// Rate of a limited link.
    pub rate: Option<Rate>,
    /// Compressions of `sealant send`; several are compared with each other.
    pub compress: &'a [String],
    /// Additional options of `sealant send`.
    pub send: Vec<OsString>,
    /// Rounds and time budget.
    pub settings: Settings<'a>,
}

impl TransferSuite<'_> {
    /// The directory to copy.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::NothingToCopy`].
    pub fn tree(&self) -> Result<Tree, Error> {
        let tree = Tree::scan(self.source)?;
        if tree.bytes() == 0 { Err(Error::NothingToCopy { path: self.source.to_owned() }) } else { Ok(tree) }
    }

    /// Chooses the peers; `is_served` says whether a running server was given.
    ///
    /// # Errors
    /// [`Error`] if a requested peer cannot be used.
    pub fn choose(&self, is_served: bool) -> Result<Peers, Error> {
        if self.peers_without_aes && !cfg!(target_arch = "x86_64") {
            return Err(Error::NoAesSwitch);
        }
        let wanted = |peer: &&CopyPeer| !self.no_peers && (peer.networked || self.rate.is_none());
        let all: Vec<&CopyPeer> = if self.peers.is_empty() {
            COPY_PEERS.iter().filter(wanted).collect()
        } else {
            self.peers.iter().filter_map(|name| CopyPeer::by_name(name)).collect()
        };
        let mut chosen = Peers::default();
        for peer in all {
            chosen.add(peer, !self.peers.is_empty(), is_served)?;
        }
        chosen.check(is_served, self.rate)?;
        Ok(chosen)
    }

    /// Runs the measurement.
    ///
    /// # Errors
    /// [`Error`]: there is no room, a program fails, a copy differs from its source.
    pub fn run(&self, tree: &Tree, peers: Peers, served: Option<&Served>, watch: &Watch<'_>) -> Result<Outcome, Error> {
        let environment = Environment::now(self.source);
        let scratch = self.scratch(tree)?;
        let link = self.rate.map_or(Ok(Link::Loopback), Link::limited)?;
        let server = served.map(|served| &served.server);
        let job = CopyJob { tree, scratch: &scratch, server, link: &link, without_aes: false };
        let Peers { there, missing } = peers;
        let mut collected = Collected { missing, programs: programs_of(&there), ..Collected::default() };
        collected.run(self.experiment(job, &there), &self.settings, &self.pairs(&there), watch)?;
        let sent = self.sent(&scratch);
        collected.notes.extend(sent.iter().map(|(name, sent)| sent.note(name)));
        collected.notes.extend(disk_notes(&environment, scratch.path(), &there));
        if let Some(served) = served {
            let notes = self.server_notes(served, &there, &collected);
            collected.notes.extend(notes);
        }
        let subject = Subject {
            files: u64::try_from(tree.files().len()).unwrap_or(u64::MAX),
            bytes: tree.bytes(),
            opened_bytes: sent.first().map_or(0, |(_, sent)| sent.opened_bytes),
            ..Subject::default()
        };
        Ok(collected.finish(environment, subject))
    }

    fn scratch(&self, tree: &Tree) -> Result<TemporaryDirectory, Error> {
        if fs::canonicalize(self.into).is_ok_and(|below| below.starts_with(tree.root())) {
            return Err(Error::WithinSource { path: self.into.to_owned() });
        }
        let scratch = TemporaryDirectory::below(self.into)?;
        let (needed, room) = (tree.bytes(), scratch.free_bytes()?);
        if room < needed.saturating_add(SPARE_BYTES) {
            return Err(Error::NoRoom { path: self.into.to_owned(), needed, room });
        }
        Ok(scratch)
    }

    fn experiment<'e>(&self, job: CopyJob<'e>, peers: &[&'static CopyPeer]) -> Experiment<'e> {
        let name = match self.rate {
            Some(rate) => format!("copy over a link of {rate}"),
            None => "copy over loopback".to_owned(),
        };
        let mut experiment = Experiment::new(name);
        for (name, sealant) in self.sealant_copies(job.scratch) {
            experiment = experiment.arm(arms::copy_by_sealant(name, job, sealant));
        }
        for (name, peer, without_aes) in self.peer_arms(peers) {
            experiment = experiment.arm(arms::copy_by_peer(name, CopyJob { without_aes, ..job }, peer));
        }
        experiment
    }

    /// This program, once for each requested compression.
    fn sealant_copies(&self, scratch: &TemporaryDirectory) -> Vec<(String, SealantCopy)> {
        let copy = |(name, compress): (String, Option<&String>)| {
            let mut send = self.send.clone();
            send.extend(compress.map(|how| OsString::from(format!("--compress={how}"))));
            let report = report_of(scratch, &name);
            (name, SealantCopy { program: self.program.clone(), send, report })
        };
        let names = self.our_names().into_iter();
        match self.compress {
            [] => names.map(|name| copy((name, None))).collect(),
            several => names.zip(several.iter().map(Some)).map(copy).collect(),
        }
    }

    fn our_names(&self) -> Vec<String> {
        match self.compress {
            [] | [_] => vec!["sealant".to_owned()],
            several => several.iter().map(|how| format!("sealant, {how}")).collect(),
        }
    }

    /// Names of arms, with the peer and whether it runs without AES instructions.
    fn peer_arms(&self, peers: &[&'static CopyPeer]) -> Vec<(String, &'static CopyPeer, bool)> {
        let arms = peers.iter().flat_map(|&peer| {
            let slowed = self.peers_without_aes && peer.openssl;
            let slowed = slowed.then(|| (format!("{}, no AES", peer.name), peer, true));
            std::iter::once((peer.name.to_owned(), peer, false)).chain(slowed)
        });
        arms.collect()
    }

    /// Pairs of each of our arms with all arms after it.
    fn pairs(&self, peers: &[&'static CopyPeer]) -> Vec<(String, String)> {
        let ours = self.our_names();
        let theirs: Vec<String> = self.peer_arms(peers).into_iter().map(|(name, ..)| name).collect();
        let others = |index: usize| ours.iter().skip(index.saturating_add(1)).chain(&theirs);
        let of = |(index, our): (usize, &String)| {
            let our = our.clone();
            others(index).map(move |other| (our.clone(), other.clone())).collect::<Vec<_>>()
        };
        ours.iter().enumerate().flat_map(of).collect()
    }

    fn sent(&self, scratch: &TemporaryDirectory) -> Vec<(String, Sent)> {
        let sent = |name: String| Sent::read(&report_of(scratch, &name)).map(|sent| (name, sent));
        self.our_names().into_iter().filter_map(sent).collect()
    }

    /// Notes on how a backup from a server differs from a copy of the directory.
    fn server_notes(&self, served: &Served, peers: &[&'static CopyPeer], collected: &Collected) -> Vec<String> {
        let arms = self.peer_arms(peers).into_iter().filter(|(_, peer, _)| peer.from_server).map(|(name, ..)| name);
        let note = |name: String| {
            let sample = collected.samples.iter().find(|sample| sample.arm == name)?;
            let (bytes, version) = (size(sample.amount), &served.version);
            Some(format!(
                "{name} copied {bytes} from a running {version}, with only what is new of its redo log and no binary \
                 logs; its copy still needs `mariabackup --prepare`, which was not measured"
            ))
        };
        arms.filter_map(note).collect()
    }
}

fn report_of(scratch: &TemporaryDirectory, arm: &str) -> PathBuf {
    let name: String = arm.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    scratch.path().join(format!("{name}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite<'a>(source: &'a Path, into: &'a Path) -> TransferSuite<'a> {
        TransferSuite {
            program: PathBuf::from("sealant"),
            source,
            into,
            peers: &[],
            no_peers: false,
            peers_without_aes: false,
            rate: None,
            compress: &[],
            send: Vec::new(),
            settings: Settings::default(),
        }
    }

    #[test]
    fn each_of_our_arms_is_compared_with_all_later_arms() {
        let compress = ["none".to_owned(), "lz4".to_owned()];
        let suite =
            TransferSuite { compress: &compress, peers_without_aes: true, ..suite(Path::new("x"), Path::new("y")) };
        let cp = CopyPeer::by_name("cp").unwrap();
        let pair = |of: &str, to: &str| (of.to_owned(), to.to_owned());
        let wanted = [pair("sealant, none", "sealant, lz4"), pair("sealant, none", "cp"), pair("sealant, lz4", "cp")];
        assert_eq!(suite.pairs(&[cp]), wanted);
        let tls = CopyPeer::by_name("tar-socat-tls").unwrap();
        let names: Vec<String> = suite.peer_arms(&[tls]).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["tar-socat-tls", "tar-socat-tls, no AES"]);
    }

    #[test]
    fn an_empty_source_and_copies_inside_the_source_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let empty = suite(directory.path(), directory.path()).tree().unwrap_err();
        assert!(matches!(empty, Error::NothingToCopy { .. }), "{empty}");
        fs::write(directory.path().join("t.ibd"), [7]).unwrap();
        let suite = suite(directory.path(), directory.path());
        let within = suite.scratch(&suite.tree().unwrap()).unwrap_err();
        assert!(within.is_misuse() && within.to_string().ends_with("is inside the directory that is to be copied"));
    }
}
