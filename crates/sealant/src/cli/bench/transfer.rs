//! `sealant bench transfer`: how fast a directory is copied, against what people use today.

use std::ffi::OsString;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::bench::{
    COPY_PEERS, CopyPeer, Environment, Experiment, Link, Ours, Rate, Record, Rounds, SCHEMA, Samples, Scratch, Site,
    Subject, Tree, arms, programs_of,
};
use ::transfer::codec::effort::Compression;
use clap::Args;
use clap::builder::PossibleValuesParser;
use report::size;
use serde::Deserialize;

use super::output::Output;
use super::server::{Served, ServerOptions};
use super::{conditions, failure};
use crate::cli::transfer::check_source;
use crate::cli::value;
use crate::cli::verify::KeyStores;
use crate::exit::{self, Exit};
use crate::output::message::Failure;

/// Measure how fast a directory is copied, against what people use today
///
/// Copies DIR into an empty directory with `sealant receive` and `sealant send`, and with every peer
/// whose programs are in PATH: `cp -r`; `tar` through `socat`, in the clear and with TLS of OpenSSL;
/// the same behind `zstd -1 -T2` and behind `age`; `rsync` to a daemon, one process, and four with a
/// file each. The listener waits already; the time goes from the start of the sender until both sides
/// have ended and the file system was flushed once. Before each copy the source is read into the page
/// cache and the target is emptied; after it, unmeasured, every byte is compared, and a copy that
/// differs ends the measurement.
///
/// `mariabackup` into `socat` with TLS copies from a running server, so it takes part only if
/// --server-socket names one. Of its copy it is checked that it has every tablespace in its length;
/// a server can use it after `mariabackup --prepare`, which is not measured.
///
/// DIR is only read. It has to be still: the directory of a stopped server, or a snapshot. Copies
/// need as much room as DIR.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct BenchTransfer {
    /// The directory to copy
    #[arg(value_name = "DIR")]
    source: PathBuf,
    /// Directory below which copies are made and removed; default: that for temporary files
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Rounds; default: until the intervals are narrow
    #[arg(long, value_name = "N")]
    rounds: Option<NonZeroU32>,
    /// Time for all rounds: seconds, or with s, m or h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = value::time)]
    budget: Duration,
    /// Peers, with commas between them; default: those whose programs are there
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = peer_names(), conflicts_with = "no_peers")]
    peers: Vec<String>,
    /// Measure this program alone
    #[arg(long)]
    no_peers: bool,
    /// Measure peers that use OpenSSL once more without the processor's AES instructions (x86-64)
    #[arg(long)]
    peers_without_aes: bool,
    /// Over a link that lets so much through, such as 1Gbit, between two network namespaces; needs
    /// root, iproute2, and veth and sch_tbf in the kernel. `cp` is left out, since it uses no network
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// Connections of `sealant send`; default: as it has
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    streams: Option<u16>,
    /// Compression of `sealant send`; default: as it has. Several, with commas between them, are
    /// measured against each other
    #[arg(long, value_name = "HOW", value_delimiter = ',', value_parser = compression)]
    compress: Vec<String>,
    #[command(flatten)]
    keys: KeyStores,
    #[command(flatten)]
    server: ServerOptions,
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  sealant bench transfer /snap/mysql --into /var/tmp
  sealant bench transfer /snap/mysql --keyring keyring --rate 1Gbit --html transfer.html
  sealant bench transfer /snap/mysql --peers cp,tar-socat-tls --peers-without-aes --rounds 10
  sealant bench transfer /snap/mysql --server-socket /run/mysqld/mysqld.sock --server-user root";

const EXITS: exit::Codes = &[
    (Exit::Clean, "measured"),
    (Exit::Failed, "a program could not be run, a copy differed from its source, or there is no room"),
    (Exit::Usage, "wrong usage"),
];

/// Other file systems, journals and directories need some too.
const SPARE: u64 = 64 << 20;
/// File systems on which `cp` need not copy anything.
const SHARING: [&str; 4] = ["btrfs", "xfs", "zfs", "bcachefs"];
const NEEDS_SERVER: &str = "a running server: --server-socket";

impl BenchTransfer {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        self.check()?;
        let environment = Environment::now(&self.source);
        let (peers, missing) = self.peers()?;
        let tree = Tree::of(&self.source).map_err(failure)?;
        if tree.bytes() == 0 {
            return Err(Failure::new(format!("{}: there is nothing to copy", self.source.display())));
        }
        let served = self.server.served(&tree)?;
        let scratch = self.scratch(&tree)?;
        let link = self.link()?;
        let server = served.as_ref().map(|served| &served.server);
        let site = Site { tree: &tree, scratch: &scratch, server, link: &link, without_aes: false };
        let samples = self.measure(site, &peers)?;
        let mut record = self.record(environment, site, &peers, missing, &samples);
        record.notes.extend(served.iter().flat_map(|served| self.server_notes(served, &peers, &samples)));
        self.output.write(&record, samples.all())?;
        Ok(Exit::Clean)
    }

    /// Finds out before a long run what is wrong.
    fn check(&self) -> Result<(), Failure> {
        check_source(&self.source)?;
        self.output.check()?;
        if self.peers_without_aes && !cfg!(target_arch = "x86_64") {
            return Err(Failure::usage("--peers-without-aes: OpenSSL can be told so on x86-64 only"));
        }
        Ok(())
    }

    /// Peers that take part, and the names of those that cannot. Who was asked for has to be there.
    fn peers(&self) -> Result<(Vec<&'static CopyPeer>, Vec<String>), Failure> {
        let (mut there, mut missing) = (Vec::new(), Vec::new());
        let wanted = |peer: &&CopyPeer| !self.no_peers && (peer.networked || self.rate.is_none());
        let all: Vec<&CopyPeer> = if self.peers.is_empty() {
            COPY_PEERS.iter().filter(wanted).collect()
        } else {
            self.peers.iter().filter_map(|name| CopyPeer::named(name)).collect()
        };
        for peer in all {
            let asked = !self.peers.is_empty() || (peer.from_server && self.server.is_given());
            let mut needs = peer.missing();
            if asked && !needs.is_empty() {
                return Err(Failure::new(format!("{}: not in PATH: {}", peer.name, needs.join(", "))));
            }
            if peer.from_server && !self.server.is_given() {
                needs.push(NEEDS_SERVER);
            }
            match needs.is_empty() {
                true => there.push(peer),
                false if asked => return Err(Failure::usage(format!("{}: needs {NEEDS_SERVER}", peer.name))),
                false => missing.push(format!("{} (needs {})", peer.name, needs.join(", "))),
            }
        }
        self.check_peers(&there)?;
        Ok((there, missing))
    }

    /// Whether the other options go with these peers.
    fn check_peers(&self, peers: &[&CopyPeer]) -> Result<(), Failure> {
        if self.server.is_given() && !peers.iter().any(|peer| peer.from_server) {
            return Err(Failure::usage("--server-socket: no peer of --peers copies from a server"));
        }
        match peers.iter().find(|peer| !peer.networked) {
            Some(peer) if self.rate.is_some() => {
                Err(Failure::usage(format!("{} uses no network, so --rate does not go with it", peer.name)))
            }
            _ => Ok(()),
        }
    }

    fn scratch(&self, tree: &Tree) -> Result<Scratch, Failure> {
        let below = self.into.clone().unwrap_or_else(std::env::temp_dir);
        if fs::canonicalize(&below).is_ok_and(|below| below.starts_with(tree.root())) {
            return Err(Failure::usage(format!("{}: lies within what is to be copied", below.display())));
        }
        let scratch = Scratch::below(&below).map_err(failure)?;
        let room = scratch.room_bytes().map_err(failure)?;
        if room < tree.bytes().saturating_add(SPARE) {
            let (needed, room) = (size(tree.bytes()), size(room));
            let failure = Failure::new(format!("{}: a copy takes {needed}, there is room for {room}", below.display()));
            return Err(failure.hint("give another directory with --into"));
        }
        Ok(scratch)
    }

    fn link(&self) -> Result<Link, Failure> {
        let Some(rate) = self.rate else { return Ok(Link::Loopback) };
        Link::limited(rate).map_err(|error| {
            failure(error)
                .hint("--rate needs root, `unshare`, `nsenter`, `ip`, `tc`, and veth and sch_tbf in the kernel")
        })
    }

    fn measure(&self, site: Site<'_>, peers: &[&'static CopyPeer]) -> Result<Samples, Failure> {
        let name = match self.rate {
            Some(rate) => format!("copy over a link of {rate}"),
            None => "copy over loopback".to_owned(),
        };
        let mut experiment = Experiment::new(name);
        for (name, ours) in self.ours(site)? {
            experiment = experiment.arm(arms::copy_by_ours(name, site, ours));
        }
        for (name, peer, without_aes) in self.peer_arms(peers) {
            experiment = experiment.arm(arms::copy_by_peer(name, Site { without_aes, ..site }, peer));
        }
        let status = self.output.status();
        let show = |progress: &::bench::Progress<'_>| {
            status.show(&format!("round {}, {}", progress.rounds.saturating_add(1), progress.arm));
        };
        let rounds = self.rounds.map_or(Rounds::UntilNarrow, Rounds::Exactly);
        let settings = ::bench::Settings { rounds, budget: self.budget, ..::bench::Settings::default() };
        let samples = experiment.run(&settings, &show);
        status.clear();
        samples.map_err(failure)
    }

    /// This binary, once for each compression asked for.
    fn ours(&self, site: Site<'_>) -> Result<Vec<(String, Ours)>, Failure> {
        let program = std::env::current_exe().map_err(|e| Failure::new(format!("the path of this program: {e}")))?;
        let ours = |(name, compress): (String, Option<&String>)| {
            let mut send = self.keys.options();
            send.extend(self.streams.map(|streams| format!("--streams={streams}").into()));
            send.extend(compress.map(|how| OsString::from(format!("--compress={how}"))));
            let report = report_of(site.scratch, &name);
            (name, Ours { program: program.clone(), send, report })
        };
        let names = self.our_names().into_iter();
        Ok(if self.compress.is_empty() {
            names.map(|name| ours((name, None))).collect()
        } else {
            names.zip(self.compress.iter().map(Some)).map(ours).collect()
        })
    }

    fn our_names(&self) -> Vec<String> {
        match self.compress.as_slice() {
            [] | [_] => vec!["sealant".to_owned()],
            several => several.iter().map(|how| format!("sealant, {how}")).collect(),
        }
    }

    /// Names of arms, with the peer and whether it does without AES instructions.
    fn peer_arms(&self, peers: &[&'static CopyPeer]) -> Vec<(String, &'static CopyPeer, bool)> {
        let arms = peers.iter().flat_map(|&peer| {
            let slowed = self.peers_without_aes && peer.openssl;
            let slowed = slowed.then(|| (format!("{}, no AES", peer.name), peer, true));
            std::iter::once((peer.name.to_owned(), peer, false)).chain(slowed)
        });
        arms.collect()
    }

    fn record(
        &self,
        environment: Environment,
        site: Site<'_>,
        peers: &[&'static CopyPeer],
        missing: Vec<String>,
        samples: &Samples,
    ) -> Record {
        let ours = self.our_names();
        let peer_arms: Vec<String> = self.peer_arms(peers).into_iter().map(|(name, ..)| name).collect();
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for (index, our) in ours.iter().enumerate() {
            let others = ours.iter().skip(index.saturating_add(1)).chain(&peer_arms);
            pairs.extend(others.map(|other| (our.as_str(), other.as_str())));
        }
        let sent: Vec<(&String, Sent)> =
            ours.iter().filter_map(|name| Some((name, Sent::read(&report_of(site.scratch, name))?))).collect();
        let subject = Subject {
            files: u64::try_from(site.tree.files().len()).unwrap_or(u64::MAX),
            bytes: site.tree.bytes(),
            opened_bytes: sent.first().map_or(0, |(_, sent)| sent.opened_bytes),
            ..Subject::default()
        };
        let mut notes = conditions(&environment);
        notes.extend(sent.iter().map(|(name, sent)| sent.note(name)));
        notes.extend(self.disk_notes(&environment, site.scratch.path(), peers));
        let programs = programs_of(peers);
        let experiments = vec![samples.record(&pairs)];
        Record { schema: SCHEMA, environment, subject, programs, missing, experiments, opinions: Vec::new(), notes }
    }

    /// Whether the disk makes copies cheaper or dearer than they are elsewhere.
    fn disk_notes(&self, source: &Environment, scratch: &Path, peers: &[&CopyPeer]) -> Vec<String> {
        let mut notes = Vec::new();
        let Some(system) = Environment::now(scratch).file_system else { return notes };
        if system == "tmpfs" {
            notes.push("copies were written into memory (tmpfs), not to a disk".to_owned());
        } else if source.file_system.as_ref() != Some(&system) {
            notes.push(format!("copies were written to {system}"));
        }
        if SHARING.contains(&system.as_str()) && peers.iter().any(|peer| !peer.networked) {
            notes.push(format!("cp may have shared the blocks of the source instead of copying them ({system})"));
        }
        if std::env::var_os("OPENSSL_ia32cap").is_some() {
            notes.push("OPENSSL_ia32cap is set for all of them, this program too".to_owned());
        }
        notes
    }

    /// What of a backup is not what the others do.
    fn server_notes(&self, served: &Served, peers: &[&'static CopyPeer], samples: &Samples) -> Vec<String> {
        let arms = self.peer_arms(peers).into_iter().filter(|(_, peer, _)| peer.from_server).map(|(name, ..)| name);
        let note = |name: String| {
            let sample = samples.all().iter().find(|sample| sample.arm == name)?;
            let (bytes, version) = (size(sample.amount), &served.version);
            Some(format!(
                "{name} copied {bytes} from a running {version}, with only what is new of its redo log and no binary \
                 logs; its copy still needs `mariabackup --prepare`, which was not measured"
            ))
        };
        arms.filter_map(note).collect()
    }
}

/// What `send` reports.
#[derive(Deserialize)]
struct Sent {
    bytes: u64,
    wire_bytes: u64,
    opened_bytes: u64,
    suite: Option<String>,
    streams: usize,
}

impl Sent {
    fn read(report: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(report).ok()?).ok()
    }

    fn note(&self, name: &str) -> String {
        let (bytes, wire) = (size(self.bytes), size(self.wire_bytes));
        let suite = self.suite.as_deref().unwrap_or("an unknown suite");
        format!("{name} sent {bytes} as {wire} through {} connections with {suite}", self.streams)
    }
}

fn report_of(scratch: &Scratch, arm: &str) -> PathBuf {
    let name: String = arm.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    scratch.path().join(format!("{name}.json"))
}

fn peer_names() -> PossibleValuesParser {
    PossibleValuesParser::new(COPY_PEERS.iter().map(|peer| peer.name))
}

/// As `send` understands it, handed on as it is.
fn compression(text: &str) -> Result<String, String> {
    match text.parse::<Compression>() {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
