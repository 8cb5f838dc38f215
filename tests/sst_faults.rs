//! State transfers with every kind of fault. Each fails as the cluster expects, with a line that says what happened;
//! the donor keeps running, and the next attempt works.
//!
//! `SEALANT_SST_KILLS` is the number of additional kills of a program while it replaces data or the donor is frozen for
//! a copy.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use harness::galera::wait_until_synced;
use harness::{Kind, Server, limit, require};
use rustix::process::{Pid, Signal, kill_process};

use crate::peer::relay::{Break, Relay};
use crate::support::chance::{Random, number};
use crate::support::is_stopped;
use crate::support::sst::{
    ENOUGH_WRITE_SETS, Image, Load, Programs, Setup, empty, fails, fill, join, mebibytes, program, same_rows, says,
    set_up, staged, until,
};
use crate::support::tmpfs::Tmpfs;

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).expect("a process"), signal).expect("it was there");
}

#[test]
fn killed_processes_are_reported_and_the_next_transfer_succeeds() {
    let Some(mut setup) = Setup::new(Kind::MariaDb1011) else { return };

    // The donor's program. Its server reports this.
    let mut node = setup.node(|builder| builder);
    setup.interrupt(&mut node);
    signal(program("donor", setup.donor().datadir()).expect("a donor"), Signal::KILL);
    assert!(node.wait().is_err());
    says(&node.new_log(), "[ERROR] sealant joiner", "");
    assert!(setup.donor().error_log().contains("wsrep_sst_sealant"), "{}", setup.donor().error_log());
    setup.options("[sst]\nsealant-compress=brotli\n");
    fails(&mut node);
    says(&setup.donor().error_log(), "[ERROR] sealant donor", "[sst] sealant-compress: \"brotli\" is none of auto");
    setup.options("[sst]\nrlimit=none\n");
    fails(&mut node);
    setup.goes_on(&mut node, "[sst] rlimit: not a number");

    // The joiner's program.
    let mut node = setup.node(|builder| builder);
    setup.interrupt(&mut node);
    signal(program("joiner", node.datadir()).expect("a joiner"), Signal::KILL);
    assert!(node.wait().is_err());
    setup.goes_on(&mut node, "connection");

    // The joiner's server: nothing notifies its program.
    let mut node = setup.node(|builder| builder);
    setup.interrupt(&mut node);
    program("joiner", node.datadir()).expect("a joiner");
    signal(node.pid().and_then(|pid| i32::try_from(pid).ok()).expect("a server"), Signal::KILL);
    // It ends soon, before the transfer would have ended: not everything is staged.
    until("the program ends", 30, || program("joiner", node.datadir()).is_none());
    let staged = staged(node.datadir());
    assert!(staged > 8 << 20 && staged < (mebibytes() as u64) << 20, "{staged} bytes are staged");
    assert!(node.wait().is_err());
    says(&node.new_log(), "[ERROR] sealant joiner", "the server is gone");
    setup.goes_on(&mut node, "connection");

    // The donor's server.
    let mut node = setup.node(|builder| builder);
    setup.interrupt(&mut node);
    signal(setup.donor().pid().and_then(|pid| i32::try_from(pid).ok()).expect("a server"), Signal::KILL);
    until("the donor's program ends", 5, || program("donor", setup.donor().datadir()).is_none());
    says(&setup.donor().error_log(), "[ERROR] sealant donor", "the server is gone");
    assert!(node.wait().is_err());
    says(&node.new_log(), "[ERROR] sealant joiner", "");
    setup.restart_donor();
    setup.next_try_works(&mut node);
}

/// Files that a joiner's program removes and moves into place.
const DATA: [&str; 7] = ["aria_log_control", "bank", "ib_logfile0", "ibdata1", "mysql", "performance_schema", "sys"];

/// A script that kills a joiner's program when it makes this call for a path in its data directory.
fn killed_at(call: &str, node: &Server, name: &str) -> String {
    let path = node.datadir().join(name);
    format!(
        "exec strace -f -qq -o /dev/null -P {} -e trace={call} -e inject={call}:signal=KILL:when=1 $REAL \"$@\"",
        path.display()
    )
}

#[test]
fn a_joiner_that_is_killed_while_it_replaces_its_data() {
    if Command::new("strace").arg("--version").output().is_err() {
        return harness::skip("strace is not installed");
    }
    let Some(mut setup) = Setup::new(Kind::MariaDb1011) else { return };
    let mut node = setup.node(|builder| builder);
    join(&mut node);
    node.stop().expect("it stops");
    // While the first of the old files is removed, and after some of the new ones are in place.
    for (call, name) in [("unlink", "ibdata1"), ("rename", ".sealant_in/bank")] {
        setup.programs.replace(&killed_at(call, &node, name));
        fs::remove_file(node.datadir().join("grastate.dat")).expect("it was there");
        let log = fails(&mut node);
        assert!(log.contains("are here and verified") && !log.contains("everything is in place"), "{log}");
        assert!(node.datadir().join(".sealant_in").exists());
    }
    setup.programs.restore();
    setup.next_try_works(&mut node);
    let mut random = Random::new(6);
    for _ in 0..number("SEALANT_SST_KILLS", 0) {
        let call = ["unlink", "unlinkat", "rename", "openat"][random.below(4) as usize];
        let above = ["", ".sealant_in/"][random.below(2) as usize];
        let path = format!("{above}{}", DATA[random.below(7) as usize]);
        setup.programs.replace(&killed_at(call, &node, &path));
        fs::remove_file(node.datadir().join("grastate.dat")).expect("it was there");
        // Not every call is made for each of them.
        if node.start().is_ok() {
            node.stop().expect("it stops");
        }
        setup.programs.restore();
        setup.next_try_works(&mut node);
    }
}

#[test]
fn a_donor_whose_program_is_killed_while_it_is_blocked() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let Some(image) = Image::mount("xfs", 1024) else { return };
    let programs = Programs::new();
    let mut cluster = set_up(Kind::MariaDb1011, &programs).start(0).expect("no node yet");
    let mut donor = cluster.prepare(|builder| builder.datadir_in(image.path())).expect("a node");
    join(&mut donor);
    fill(&donor, 0);
    // Many files make the freeze long enough to be hit.
    let many = donor.datadir().join("many");
    fs::create_dir(&many).expect("a directory");
    (0..5000).for_each(|number| fs::write(many.join(format!("f{number}")), "x").expect("room"));
    let load = Load::begin(&donor, 2);
    until("small write-sets alone", 120, || load.commits() > ENOUGH_WRITE_SETS);
    let mut node = cluster.prepare(empty).expect("a node");
    let (wanted, mut tries, mut hits) = (1 + number("SEALANT_SST_KILLS", 0), 0, 0);
    while hits < wanted {
        tries += 1;
        assert!(tries <= 10 * wanted, "the freeze was hit {hits} times in {tries}");
        node.launch().expect("it starts");
        until("the donor stands still", 30, || is_stopped(&donor));
        signal(program("donor", donor.datadir()).expect("a donor"), Signal::KILL);
        hits += u64::from(is_stopped(&donor));
        until("the donor runs on", 2, || !is_stopped(&donor));
        donor.sql("INSERT INTO bank.transfer (a, b, amount) VALUES (4, 4, 0)").expect("it writes");
        assert!(node.wait().is_err());
    }
    // On a busy host a copy with all these files exceeds the maximum freeze, and the server's lock is used.
    fs::remove_dir_all(&many).expect("removed");
    join(&mut node);
    load.end();
    same_rows(&donor, &node);
    says(&donor.error_log(), "[INFO] sealant donor", "a snapshot by reflink");
    let copies = fs::read_dir(donor.datadir().with_file_name(".sealant-snapshots"));
    assert_eq!(copies.map_or(0, Iterator::count), 0, "copies are left");
}

/// A script that calls the donor's program with another address.
fn through(port: u16) -> String {
    format!(
        "previous=\nfor word; do\n  shift\n  [ \"$previous\" = --address ] && word=127.0.0.1:{port}\n  \
         set -- \"$@\" \"$word\"\n  previous=$word\ndone\nexec $REAL \"$@\""
    )
}

#[test]
fn what_lies_between_the_nodes_fails() {
    let Some(mut setup) = Setup::new(Kind::MariaDb1011) else { return };

    // A connection that breaks.
    let port = harness::free_port().expect("a port");
    let mut node = setup.node(|builder| builder.option(format!("--wsrep-sst-receive-address=127.0.0.1:{port}")));
    let relay = Relay::start(SocketAddr::from(([127, 0, 0, 1], port)), Break::Cut, 12 << 20);
    setup.donors.replace(&through(relay.port));
    says(&fails(&mut node), "[ERROR] sealant joiner", "");
    setup.donors.restore();
    setup.goes_on(&mut node, "");

    // A donor without the secret: it fails, and with it the joiner's server.
    let secret = "WSREP_SST_OPT_REMOTE_AUTH=$(echo \"$WSREP_SST_OPT_REMOTE_AUTH\" | sed 's/.....$/aaaaa/')";
    setup.donors.replace(&format!("export {secret}\nexec $REAL \"$@\""));
    let mut node = setup.node(|builder| builder);
    says(&fails(&mut node), "[INFO] sealant joiner", "wrong secret");
    setup.donors.restore();
    setup.goes_on(&mut node, "secret is wrong");

    // Other peers without the secret, then the donor with it: they end nothing.
    let unknown = format!("{secret} $REAL \"$@\" > /dev/null 2>&1");
    setup.donors.replace(&format!("for try in 1 2 3; do {unknown}; done\nexec $REAL \"$@\""));
    let mut node = setup.node(|builder| builder);
    join(&mut node);
    let log = node.new_log();
    says(&log, "[INFO] sealant joiner", "a connection was rejected (2 so far)");
    assert_eq!(log.matches("wrong secret").count(), 2, "{log}");
    same_rows(setup.donor(), &node);
    node.stop().expect("it stops");
    setup.donors.restore();

    // Another process answers at the joiner's address.
    let key = "WSREP_SST_OPT_REMOTE_AUTH=$(echo \"$WSREP_SST_OPT_REMOTE_AUTH\" | sed 's/-...../-aaaaa/')";
    setup.donors.replace(&format!("export {key}\nexec $REAL \"$@\""));
    let mut node = setup.node(|builder| builder);
    fails(&mut node);
    setup.donors.restore();
    setup.goes_on(&mut node, "is not the receiver");

    // A donor without the program, and one whose call lost the secret.
    setup.donors.remove();
    let mut node = setup.node(|builder| builder);
    fails(&mut node);
    fs::write(setup.donors.path().join("wsrep_sst_sealant"), "").expect("room");
    setup.donors.replace("unset WSREP_SST_OPT_REMOTE_AUTH\nexec $REAL \"$@\"");
    fails(&mut node);
    setup.donors.restore();
    setup.goes_on(&mut node, "has no sealant secret");
}

/// Starts a transfer and breaks it while the donor's server is frozen; the server must soon accept writes again.
#[track_caller]
fn silent_under_the_lock(setup: &Setup, node: &mut Server, fault: impl FnOnce(&Server)) {
    let before = setup.donor().error_log().len();
    let said = || setup.donor().error_log().split_off(before);
    node.launch().expect("it starts");
    until("the lock", 60, || said().contains("Tables flushed."));
    fault(node);
    let silent = Instant::now();
    let row = "INSERT INTO bank.transfer (a, b, amount) VALUES (3, 3, 0)";
    setup.donor().sql(row).expect("the donor writes");
    let held = silent.elapsed();
    assert!(held > Duration::from_secs(5) && held < limit(15), "{held:?}\n{}", said());
    assert!(node.wait().is_err());
    says(&said(), "[ERROR] sealant donor", "no sign of life for 10 s");
}

#[test]
fn a_silent_peer_does_not_keep_the_lock() {
    let Some(mut setup) = Setup::new(Kind::MariaDb1011) else { return };
    let port = harness::free_port().expect("a port");
    let mut node = setup.node(|builder| builder.option(format!("--wsrep-sst-receive-address=127.0.0.1:{port}")));
    // Enough data remains for the locked phase that a fault can hit it.
    setup.options("[sst]\nrlimit=16m\n");
    let load = Load::begin(setup.donor(), 2);

    // A connection that passes nothing any more, without an error.
    let relay = Relay::start(SocketAddr::from(([127, 0, 0, 1], port)), Break::Stall, i64::MAX);
    setup.donors.replace(&through(relay.port));
    silent_under_the_lock(&setup, &mut node, |_| relay.break_now());
    setup.donors.restore();

    // A joiner whose program hangs. The kernel kills it when its server has ended: no process could continue it.
    silent_under_the_lock(&setup, &mut node, |node| {
        signal(program("joiner", node.datadir()).expect("a joiner"), Signal::STOP);
    });
    load.end();
    setup.goes_on(&mut node, "no sign of life");
}

#[test]
fn a_disk_that_is_full_and_joiners_that_come_together() {
    let Some(mut setup) = Setup::new(Kind::MariaDb118) else { return };
    let room = tempfile::tempdir().expect("a directory");
    if let Some(disk) = Tmpfs::mount(room.path().join("disk"), "400m") {
        let mut node = setup.node(|builder| builder.datadir_in(&disk.0));
        let ballast = disk.0.join("ballast");
        let fill = |mebibytes: u64| {
            let file = File::create(&ballast).expect("a file");
            rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, mebibytes << 20)
        };
        // Too small from the start, then during the transfer.
        fill(390).expect("room");
        says(&fails(&mut node), "[ERROR] sealant joiner", "bytes are needed");
        fs::remove_file(&ballast).expect("it was there");
        setup.interrupt(&mut node);
        // The joiner also needs space: space that was free may not be free any more.
        until("the disk is full", 5, || {
            let left = rustix::fs::statvfs(&disk.0).expect("a file system");
            let left = (left.f_bavail * left.f_frsize) >> 20;
            left <= 1 || fill(left - 1).is_ok()
        });
        assert!(node.wait().is_err());
        says(&node.new_log(), "[ERROR] sealant joiner", "space");
        assert!(!node.datadir().join(".sealant_in").exists());
        fs::remove_file(&ballast).expect("it was there");
        setup.goes_on(&mut node, "space");
    }
    // A database on a separate file system: nothing is sent, and nothing existing is removed.
    let mut node = setup.node(|builder| builder);
    let (current, old) = (node.datadir().join("shop"), node.datadir().join("ibdata1"));
    fs::create_dir(&current).expect("a directory");
    if let Some(disk) = Tmpfs::mount(current.join("inner"), "4m") {
        fs::write(&old, "old").expect("a file");
        says(&fails(&mut node), "[ERROR] sealant joiner", "shop/inner: a file system of its own");
        assert_eq!(fs::read_to_string(&old).expect("it is there"), "old");
        drop(disk);
        setup.goes_on(&mut node, "a file system of its own");
    }
    let mut nodes = [setup.node(|builder| builder), setup.node(|builder| builder)];
    nodes[0].launch().expect("it starts");
    // Two nodes that join such a small group at the same moment may split it; once members, both need its only donor.
    until("the first one wants its state", 20, || nodes[0].error_log().contains("sealant joiner: listening"));
    nodes[1].launch().expect("it starts");
    for node in &mut nodes {
        node.wait().unwrap_or_else(|error| panic!("{error}"));
        wait_until_synced(node).expect("it is synced");
        same_rows(setup.donor(), node);
    }
}
