//! Nodes of a real Galera cluster that join by `wsrep_sst_method=sealant`, while it works, and while
//! things go wrong.
//!
//! `SEALANT_SST_ROUNDS` is the number of joins under load (1), `SEALANT_SST_MIB` how much there is to
//! send (48).

#[allow(dead_code, reason = "a link is only cut here")]
#[path = "peer/relay.rs"]
mod relay;
mod support;

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use harness::certs::{Authority, Profile};
use harness::galera::{Cluster, SetUp, wait_until_synced};
use harness::{Error, Kind, Server, ServerBuilder, TlsFiles, require};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::relay::{Break, Relay};
use crate::support::chance::number;
use crate::support::sst::{Load, Programs, fill, program, same_rows, staged, until};

const KEYS: &str = "1;770a8a65da156d24ee2a093277530142\n";
/// All that MariaDB encrypts.
const ENCRYPTING: [&str; 9] = [
    "--plugin-load-add=file_key_management",
    "--file-key-management-filename={dir}/keys.txt",
    "--innodb-encrypt-tables=ON",
    "--innodb-encrypt-log=ON",
    "--innodb-encryption-threads=2",
    "--aria-encrypt-tables=ON",
    "--encrypt-tmp-disk-tables=ON",
    "--encrypt-binlog=ON",
    "--log-bin=binlog",
];
/// So slow that there is time for something to happen.
const SLOW: &str = "[sst]\nrlimit=6m\nencrypt=0\n";

fn mebibytes() -> usize {
    number("SEALANT_SST_MIB", 48) as usize
}

fn set_up(kind: Kind, programs: &Programs) -> SetUp {
    SetUp::new(kind).method("sealant").programs(programs.path()).options(["--innodb-log-file-size=16M"])
}

/// Starts a node that joins, and waits until it serves.
#[track_caller]
fn join(node: &mut Server) -> Duration {
    let began = Instant::now();
    if let Err(error) = node.start() {
        panic!("{error}\n{}", node.new_log());
    }
    wait_until_synced(node).expect("it is synced");
    began.elapsed()
}

/// Starts a node that is not to come up, and returns its log.
#[track_caller]
fn fails(node: &mut Server) -> String {
    match node.start() {
        Err(Error::NotStarted { .. }) => node.new_log(),
        other => panic!("{other:?}\n{}", node.new_log()),
    }
}

fn empty(builder: ServerBuilder) -> ServerBuilder {
    builder.empty_datadir()
}

#[track_caller]
fn says(log: &str, side: &str, text: &str) {
    let line = log.lines().find(|line| line.contains("WSREP_SST: ") && line.contains(side) && line.contains(text));
    assert!(line.is_some(), "no line of {side} with {text:?} in\n{log}");
}

#[track_caller]
fn nodes_join_under_load(kind: Kind, encrypted: bool) {
    if require(kind).is_none() {
        return;
    }
    let programs = Programs::new();
    let mut set_up = set_up(kind, &programs);
    if encrypted {
        set_up = set_up.file("keys.txt", KEYS.as_bytes()).options(ENCRYPTING);
    }
    let mut cluster = set_up.start(1).expect("a node");
    fill(&cluster.nodes[0], mebibytes());
    for round in 0..number("SEALANT_SST_ROUNDS", 1) {
        let load = Load::begin(&cluster.nodes[0], 2);
        // One with nothing, and one with data of another time.
        for own in [empty as fn(ServerBuilder) -> ServerBuilder, |builder| builder] {
            let mut node = cluster.prepare(own).expect("a node");
            load.forget();
            let before = load.commits();
            let took = join(&mut node);
            println!(
                "{kind:?}, encrypted: {encrypted}, round {round}: joined in {:.2} s, {} commits meanwhile, the longest \
                 {:.0} ms",
                took.as_secs_f64(),
                load.commits() - before,
                load.longest().as_secs_f64() * 1e3
            );
            says(&node.new_log(), "joiner", "everything is in place");
            assert!(!node.datadir().join(".sealant_in").exists() && !node.datadir().join("sealant-manifest").exists());
            cluster.nodes.push(node);
        }
        load.end();
        for joiner in &cluster.nodes[1..] {
            same_rows(&cluster.nodes[0], joiner);
        }
        for line in cluster.nodes[0].error_log().lines().filter(|line| line.contains("stands still")) {
            println!("{line}");
        }
        cluster.nodes.truncate(1);
    }
}

#[test]
fn nodes_join_under_load_with_equal_rows() {
    nodes_join_under_load(Kind::MariaDb1011, true);
}

#[test]
fn nodes_of_a_newer_server_join_under_load_with_equal_rows() {
    nodes_join_under_load(Kind::MariaDb118, false);
}

#[test]
fn a_node_that_was_away_for_a_moment_keeps_its_data() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let programs = Programs::new();
    let mut cluster = set_up(Kind::MariaDb1011, &programs).start(1).expect("a node");
    fill(&cluster.nodes[0], 8);
    let mut node = cluster.prepare(empty).expect("a node");
    join(&mut node);
    node.stop().expect("it stops");
    let witness = node.datadir().join("bank/bulk.ibd");
    let before = fs::metadata(&witness).expect("a table").modified().expect("a time");
    let load = Load::begin(&cluster.nodes[0], 1);
    until("some commits", 30, || load.commits() > 20);
    join(&mut node);
    load.end();
    let log = node.new_log();
    says(&log, "joiner", "the data that is here is good");
    says(&cluster.nodes[0].error_log(), "donor", "the joiner's data is good");
    assert!(!log.contains("everything is in place"), "{log}");
    assert_eq!(fs::metadata(&witness).expect("a table").modified().expect("a time"), before);
    same_rows(&cluster.nodes[0], &node);
}

/// A cluster of one node, whose programs are its own, and joiners that fail at first.
struct Place {
    programs: Programs,
    donors: Programs,
    cluster: Cluster,
}

impl Place {
    fn new(kind: Kind) -> Option<Self> {
        require(kind)?;
        let (programs, donors) = (Programs::new(), Programs::new());
        let cluster = set_up(kind, &donors).start(1).expect("a node");
        fill(&cluster.nodes[0], mebibytes());
        cluster.nodes[0].sql("INSERT INTO bank.transfer (a, b, amount) VALUES (1, 1, 0)").expect("a row");
        Some(Self { programs, donors, cluster })
    }

    fn donor(&self) -> &Server {
        &self.cluster.nodes[0]
    }

    fn node(&mut self, more: impl FnOnce(ServerBuilder) -> ServerBuilder) -> Server {
        let programs = self.programs.path();
        self.cluster.prepare(|builder| more(builder.empty_datadir().programs(programs))).expect("a node")
    }

    /// The option file of the donor, which its program reads each time.
    fn options(&self, text: &str) {
        fs::write(self.donor().dir().join("my.cnf"), text).expect("an option file");
    }

    /// Launches a node, and waits until part of the data has come.
    #[track_caller]
    fn half_way(&self, node: &mut Server) {
        self.options(SLOW);
        node.launch().expect("it starts");
        until("a part of the data", 30, || staged(node.datadir()) > 8 << 20);
    }

    /// After a failure the donor serves and has said what happened, and the next try of the same node works.
    #[track_caller]
    fn goes_on(&self, node: &mut Server, reason: &str) {
        let donor = self.donor();
        until("the donor goes on", 20, || {
            let state = "SHOW STATUS LIKE 'wsrep_local_state_comment'";
            donor.sql(state).is_ok_and(|state| state.contains("Synced"))
        });
        says(&donor.error_log(), "[ERROR] sealant donor", reason);
        donor.sql("INSERT INTO bank.transfer (a, b, amount) VALUES (2, 2, 0)").expect("the donor writes");
        assert_eq!(program("donor", donor.datadir()), None);
        assert_eq!(program("joiner", node.datadir()), None);
        self.options("");
        join(node);
        same_rows(donor, node);
        node.stop().expect("it stops");
    }
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).expect("a process"), signal).expect("it was there");
}

#[test]
fn processes_that_are_killed() {
    let Some(mut place) = Place::new(Kind::MariaDb1011) else { return };

    // The donor's program. Its server says so.
    let mut node = place.node(|builder| builder);
    place.half_way(&mut node);
    signal(program("donor", place.donor().datadir()).expect("a donor"), Signal::KILL);
    assert!(node.wait().is_err());
    says(&node.new_log(), "[ERROR] sealant joiner", "");
    assert!(place.donor().error_log().contains("wsrep_sst_sealant"), "{}", place.donor().error_log());
    place.options("[sst]\nrlimit=none\n");
    fails(&mut node);
    place.goes_on(&mut node, "[sst] rlimit: not a number");

    // The joiner's program.
    let mut node = place.node(|builder| builder);
    place.half_way(&mut node);
    signal(program("joiner", node.datadir()).expect("a joiner"), Signal::KILL);
    assert!(node.wait().is_err());
    place.goes_on(&mut node, "connection");

    // The joiner's server: nobody tells its program.
    let mut node = place.node(|builder| builder);
    place.half_way(&mut node);
    let joiner = Pid::from_raw(program("joiner", node.datadir()).expect("a joiner")).expect("a process");
    signal(node.pid().and_then(|pid| i32::try_from(pid).ok()).expect("a server"), Signal::KILL);
    let killed = Instant::now();
    until("the program ends", 5, || test_kill_process(joiner).is_err());
    assert!(killed.elapsed() < Duration::from_secs(1), "{:?}", killed.elapsed());
    assert!(node.wait().is_err());
    says(&node.new_log(), "[ERROR] sealant joiner", "the server is gone");
    place.goes_on(&mut node, "connection");
}

/// Calls the donor's program with another address.
fn through(port: u16) -> String {
    format!(
        "previous=\nfor word; do\n  shift\n  [ \"$previous\" = --address ] && word=127.0.0.1:{port}\n  \
         set -- \"$@\" \"$word\"\n  previous=$word\ndone\nexec $REAL \"$@\""
    )
}

#[test]
fn what_lies_between_the_nodes_fails() {
    let Some(mut place) = Place::new(Kind::MariaDb1011) else { return };

    // A link that is cut.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let mut node = place.node(|builder| builder.option(format!("--wsrep-sst-receive-address=127.0.0.1:{port}")));
    let relay = Relay::start(SocketAddr::from(([127, 0, 0, 1], port)), Break::Cut, 12 << 20);
    place.donors.replace(&through(relay.port));
    says(&fails(&mut node), "[ERROR] sealant joiner", "");
    place.donors.restore();
    place.goes_on(&mut node, "");

    // Someone who does not know the secret.
    let secret = "WSREP_SST_OPT_REMOTE_AUTH=$(echo \"$WSREP_SST_OPT_REMOTE_AUTH\" | sed 's/.....$/aaaaa/')";
    place.donors.replace(&format!("export {secret}\nexec $REAL \"$@\""));
    let mut node = place.node(|builder| builder);
    says(&fails(&mut node), "[ERROR] sealant joiner", "wrong secret");
    place.donors.restore();
    place.goes_on(&mut node, "secret is wrong");

    // Someone else who answers at the joiner's address.
    let key = "WSREP_SST_OPT_REMOTE_AUTH=$(echo \"$WSREP_SST_OPT_REMOTE_AUTH\" | sed 's/-...../-aaaaa/')";
    place.donors.replace(&format!("export {key}\nexec $REAL \"$@\""));
    let mut node = place.node(|builder| builder);
    fails(&mut node);
    place.donors.restore();
    place.goes_on(&mut node, "is not the receiver");

    // A donor without the program, and one whose call lost the secret.
    place.donors.remove();
    let mut node = place.node(|builder| builder);
    fails(&mut node);
    fs::write(place.donors.path().join("wsrep_sst_sealant"), "").expect("room");
    place.donors.replace("unset WSREP_SST_OPT_REMOTE_AUTH\nexec $REAL \"$@\"");
    fails(&mut node);
    place.donors.restore();
    place.goes_on(&mut node, "has no secret of sealant");
}

/// A small file system in memory.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(path: PathBuf, size: &str) -> Option<Self> {
        fs::create_dir(&path).expect("a directory");
        let option = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(&path).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(path))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_disk_that_is_full_and_joiners_that_come_together() {
    let Some(mut place) = Place::new(Kind::MariaDb118) else { return };
    let room = tempfile::tempdir().expect("a directory");
    match Tmpfs::mount(room.path().join("disk"), "400m") {
        Some(disk) => {
            let mut node = place.node(|builder| builder.datadir_in(&disk.0));
            let ballast = disk.0.join("ballast");
            let fill = |mebibytes: u64| {
                let file = File::create(&ballast).expect("a file");
                rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, mebibytes << 20).expect("room");
            };
            // Too small from the beginning, and then in the middle.
            fill(390);
            says(&fails(&mut node), "[ERROR] sealant joiner", "bytes are needed");
            fs::remove_file(&ballast).expect("it was there");
            place.half_way(&mut node);
            let left = rustix::fs::statvfs(&disk.0).expect("a file system");
            fill((left.f_bavail * left.f_frsize >> 20) - 1);
            assert!(node.wait().is_err());
            says(&node.new_log(), "[ERROR] sealant joiner", "space");
            assert!(!node.datadir().join(".sealant_in").exists());
            fs::remove_file(&ballast).expect("it was there");
            place.goes_on(&mut node, "space");
        }
        None => println!("skipped: only root can mount a small file system"),
    }
    let mut nodes = [place.node(|builder| builder), place.node(|builder| builder)];
    nodes.iter_mut().for_each(|node| node.launch().expect("it starts"));
    for node in &mut nodes {
        node.wait().unwrap_or_else(|error| panic!("{error}"));
        wait_until_synced(node).expect("it is synced");
        same_rows(place.donor(), node);
    }
}

#[test]
fn certificates_of_the_site() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let desk = tempfile::tempdir().expect("a directory");
    let authority = Authority::create(desk.path()).expect("an authority");
    let good = authority.issue("good", &Profile::default()).expect("a certificate");
    let other = Profile { alternative_names: Some("DNS:elsewhere.example".to_owned()), ..Profile::default() };
    let other = authority.issue("other", &other).expect("a certificate");
    let section = |files: &TlsFiles| {
        let (ca, cert, key) = (files.ca.display(), files.cert.display(), files.key.display());
        format!("[sst]\ntca={ca}\ntcert={cert}\ntkey={key}\nencrypt=0\n")
    };
    let Some(mut place) = Place::new(Kind::MariaDb1011) else { return };
    place.options(&section(&good));
    // None where the donor has some, one for another name, and a good one.
    let mut node = place.node(|builder| builder);
    fails(&mut node);
    says(&place.donor().error_log(), "[ERROR] sealant donor", "the joiner shows none");
    let option_file = node.dir().join("my.cnf");
    fs::write(&option_file, section(&other)).expect("an option file");
    says(&fails(&mut node), "[ERROR] sealant joiner", "");
    says(&place.donor().error_log(), "[ERROR] sealant donor", "certificate");
    fs::write(&option_file, section(&good)).expect("an option file");
    join(&mut node);
    says(&node.new_log(), "joiner", "certificates of [sst]");
    same_rows(place.donor(), &node);
}
