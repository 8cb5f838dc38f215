//! `sealant snapshot`: copies of real servers' data directories under load, and failures.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use harness::vm::Machine;
use harness::{KeyringLocation, Kind, Server, ServerBuilder, limit, require, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::moving::Receiving;
use crate::support::unchanged::{Load, Volume, assert_whole, options, prepare};
use crate::support::{is_stopped, sealant};

/// Throw-away keys of MariaDB's `file_key_management`.
const MARIADB_KEYS: &str = "1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n";

/// A process that only sleeps, to be frozen.
struct Sleeper(Child);

impl Sleeper {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").spawn().expect("sleep runs"))
    }

    fn send(&self, signal: Signal) {
        let pid = Pid::from_child(&self.0);
        kill_process(pid, signal).expect("it runs");
    }

    fn is_stopped(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).expect("it runs");
        stat.contains(") T ")
    }

    /// Waits until it is running again.
    #[track_caller]
    fn thawed(&self) {
        wait_until("it runs again", limit(30), || !self.is_stopped());
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A watchdog that has started.
fn watchdog(sleeper: &Sleeper, limit_ms: u64) -> Child {
    let mut command = sealant();
    command.args(["snapshot", "watchdog", &sleeper.0.id().to_string(), &limit_ms.to_string()]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary starts");
    child.stdout.as_mut().expect("piped").read_exact(&mut [0]).expect("it gets ready");
    child
}

fn freeze(sleeper: &Sleeper, watchdog: &mut Child) {
    watchdog.stdin.as_mut().expect("piped").write_all(b"f").expect("it listens");
    sleeper.send(Signal::STOP);
    wait_until("it stops, and stays so", limit(20), || sleeper.is_stopped());
}

#[test]
fn the_watchdog_resumes_a_server_at_the_time_limit() {
    let sleeper = Sleeper::new();
    let mut watchdog = watchdog(&sleeper, 4000);
    let began = Instant::now();
    freeze(&sleeper, &mut watchdog);
    sleeper.thawed();
    assert!(began.elapsed() >= Duration::from_secs(4), "too early: {:?}", began.elapsed());
    assert_eq!(watchdog.wait().expect("it ends").code(), Some(3));
}

#[test]
fn the_watchdog_resumes_a_server_when_the_freezing_process_has_ended() {
    let sleeper = Sleeper::new();
    let mut watchdog = watchdog(&sleeper, 60_000);
    freeze(&sleeper, &mut watchdog);
    // Ending the whole service does not end the watchdog before its work is done.
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        kill_process(Pid::from_child(&watchdog), signal).expect("it runs");
    }
    // Nothing happens in the meantime.
    thread::sleep(Duration::from_millis(100));
    assert!(sleeper.is_stopped());
    drop(watchdog.stdin.take());
    sleeper.thawed();
    assert_eq!(watchdog.wait().expect("it ends").code(), Some(0));
}

/// Number of rounds of each kind; the long test sets more.
fn rounds() -> u32 {
    std::env::var("SEALANT_SNAPSHOT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// For tests in which the length of the freeze does not matter: other tests can stall the disk for over a second.
const HOWEVER_LONG: [&str; 2] = ["--max-freeze", "20s"];

/// Runs `sealant snapshot … --datadir D`, which must succeed; returns its JSON.
#[track_caller]
fn snapshot(command: &str, datadir: &Path, more: &[&str]) -> Value {
    let mut sealant = sealant();
    sealant.args(["snapshot", command, "--format", "json", "--datadir"]).arg(datadir).args(more);
    let output = sealant.output().expect("the binary starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Runs it expecting failure; returns the message.
#[track_caller]
fn refused(command: &str, datadir: &Path, more: &[&str]) -> String {
    let output = sealant().args(["snapshot", command, "--datadir"]).arg(datadir).args(more).output();
    let output = output.expect("the binary starts");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn drop_all(datadir: &Path) {
    for copy in snapshot("list", datadir, &[]).as_array().expect("a list") {
        let name = copy["name"].as_str().expect("a name");
        let dropped = sealant().args(["snapshot", "drop", name, "--datadir"]).arg(datadir).output();
        assert!(dropped.expect("the binary starts").status.success());
    }
}

/// Asserts that servers start on copies of a server under load, and have every commit that was acknowledged before.
fn copies_hold(
    kind: Kind,
    file_system: &'static str,
    builder: ServerBuilder,
    table_options: &str,
    like: ServerBuilder,
) {
    let Some(volume) = Volume::new(file_system, 2048) else { return };
    let server = builder.within(volume.directory("s")).start().expect("it starts");
    prepare(&server, table_options);
    let load = Load::start(&server, 4);
    let expected = match file_system {
        "btrfs" => "btrfs",
        "ext4" => "follow",
        _ => "reflink",
    };
    let socket = server.socket().to_str().expect("ASCII").to_owned();
    // Only a copy of a running server needs an account.
    let account = ["--socket", &socket, "--user", "root"];
    let options = [&HOWEVER_LONG[..], if file_system == "ext4" { &account } else { &[] }].concat();
    for round in 0..rounds() {
        load.goes_on(200);
        let acknowledged = load.acknowledged();
        let taken = snapshot("create", server.datadir(), &options);
        load.goes_on(20);
        assert_eq!(taken["provider"], expected);
        #[allow(clippy::print_stderr, reason = "the figures of a long test")]
        {
            eprintln!("{kind:?} on {file_system}, round {round}: {} ms", taken["freeze_ms"]);
        }
        let root = Path::new(taken["root"].as_str().expect("a path"));
        assert!(!root.join("#innodb_temp").exists() || file_system == "btrfs", "temporary files are left out");
        let copy = like.clone().datadir_seed(root).start().expect("the copy starts");
        assert_whole(&copy, &acknowledged);
        drop(copy);
        drop_all(server.datadir());
    }
    let left = fs::read_dir(server.dir()).expect("listed").flatten();
    assert!(left.into_iter().all(|item| item.file_name() != ".sealant-snapshots"), "nothing is left");
}

fn plain(kind: Kind) -> ServerBuilder {
    Server::builder(kind).options(options(kind))
}

#[test]
fn mysql_is_copied_on_xfs() {
    if require(Kind::MySql97).is_some() {
        copies_hold(Kind::MySql97, "xfs", plain(Kind::MySql97), "", plain(Kind::MySql97));
    }
}

#[test]
fn mysql_57_is_copied_on_xfs() {
    if require(Kind::MySql57).is_some() {
        copies_hold(Kind::MySql57, "xfs", plain(Kind::MySql57), "", plain(Kind::MySql57));
    }
}

#[test]
fn mysql_80_is_copied_on_xfs() {
    if require(Kind::MySql80).is_some() {
        copies_hold(Kind::MySql80, "xfs", plain(Kind::MySql80), "", plain(Kind::MySql80));
    }
}

#[test]
fn mysql_is_copied_on_btrfs() {
    if require(Kind::MySql97).is_some() {
        copies_hold(Kind::MySql97, "btrfs", plain(Kind::MySql97), "", plain(Kind::MySql97));
    }
}

#[test]
fn mariadb_is_copied_on_xfs() {
    if require(Kind::MariaDb1011).is_some() {
        copies_hold(Kind::MariaDb1011, "xfs", plain(Kind::MariaDb1011), "", plain(Kind::MariaDb1011));
    }
}

#[test]
fn mariadb_is_copied_on_btrfs() {
    if require(Kind::MariaDb1011).is_some() {
        copies_hold(Kind::MariaDb1011, "btrfs", plain(Kind::MariaDb1011), "", plain(Kind::MariaDb1011));
    }
}

#[test]
fn a_running_mariadb_is_copied_on_ext4() {
    if require(Kind::MariaDb1011).is_some() {
        copies_hold(Kind::MariaDb1011, "ext4", plain(Kind::MariaDb1011), "", plain(Kind::MariaDb1011));
    }
}

#[test]
fn a_running_mysql_is_copied_on_ext4() {
    if require(Kind::MySql97).is_some() {
        copies_hold(Kind::MySql97, "ext4", plain(Kind::MySql97), "", plain(Kind::MySql97));
    }
}

#[test]
fn a_server_that_cannot_be_followed_gets_the_reason() {
    let (Some(_), Some(volume)) = (require(Kind::MySql57), Volume::new("ext4", 1024)) else { return };
    let server = plain(Kind::MySql57).within(volume.path()).start().expect("it starts");
    let socket = server.socket().to_str().expect("ASCII").to_owned();
    let follow = ["--provider", "follow", "--socket", &socket];
    let other = refused("create", server.datadir(), &[&follow[..], &["--user", "root"]].concat());
    assert!(
        other.contains(
            "cannot be copied while it works: its redo log has a format that is not followed, that of 8.0.30"
        ),
        "{other}"
    );
    let nobody = refused("create", server.datadir(), &[&follow[..], &["--user", "nobody-of-that-name"]].concat());
    assert!(nobody.contains("nobody-of-that-name"), "{nobody}");
    let nothing = refused("create", server.datadir(), &["--provider", "follow"]);
    assert!(nothing.contains("an account is needed") && nothing.contains("--socket"), "{nothing}");
    assert!(!server.dir().join(".sealant-snapshots").exists(), "a refusal leaves nothing");
}

fn encrypted_mysql(keyring: &Path) -> ServerBuilder {
    let encrypted = ["--innodb-redo-log-encrypt=ON", "--innodb-undo-log-encrypt=ON", "--binlog-encryption=ON"];
    plain(Kind::MySql97).keyring(KeyringLocation::Path(keyring.to_owned())).options(encrypted)
}

#[test]
fn a_mysql_with_everything_encrypted_is_copied() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let keys = tempfile::tempdir().expect("a directory");
    let builder = || encrypted_mysql(&keys.path().join("keyring"));
    copies_hold(Kind::MySql97, "xfs", builder(), "ENCRYPTION='Y'", builder());
}

#[test]
fn a_mysql_with_everything_encrypted_is_copied_on_btrfs() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let keys = tempfile::tempdir().expect("a directory");
    let builder = || encrypted_mysql(&keys.path().join("keyring"));
    copies_hold(Kind::MySql97, "btrfs", builder(), "ENCRYPTION='Y'", builder());
}

#[test]
fn a_mariadb_with_everything_encrypted_is_copied() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let keys = tempfile::tempdir().expect("a directory");
    let file = keys.path().join("keys.txt");
    fs::write(&file, "1;770a8a65da156d24ee2a093277530142\n").expect("room");
    let builder = || {
        let encrypted = [
            "--plugin-load-add=file_key_management",
            "--innodb-encrypt-tables=FORCE",
            "--innodb-encrypt-log=ON",
            "--innodb-encryption-threads=2",
            "--aria-encrypt-tables=ON",
            "--encrypt-tmp-disk-tables=ON",
            "--encrypt-binlog=ON",
        ];
        let keys = format!("--file-key-management-filename={}", file.display());
        plain(Kind::MariaDb1011).options(encrypted).option(keys)
    };
    copies_hold(Kind::MariaDb1011, "xfs", builder(), "ENCRYPTED=YES", builder());
}

#[test]
fn a_killed_run_leaves_a_server_that_runs_and_a_copy_that_can_be_dropped() {
    let (Some(_), Some(volume)) = (require(Kind::MariaDb1011), Volume::new("xfs", 1024)) else { return };
    let server = plain(Kind::MariaDb1011).within(volume.path()).start().expect("it starts");
    prepare(&server, "");
    add_files(&server);
    let load = Load::start(&server, 2);
    let mut hit = 0;
    for _ in 0..20 {
        let mut child = sealant();
        child.args(["snapshot", "create", "--max-freeze", "20s", "--datadir"]).arg(server.datadir());
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        while child.try_wait().expect("waited").is_none() && !is_stopped(&server) {
            // The freeze lasts a few milliseconds only.
            thread::sleep(Duration::from_micros(200));
        }
        hit += u32::from(is_stopped(&server));
        child.kill().expect("killed");
        child.wait().expect("it ends");
        load.goes_on(20);
        if hit >= 3 {
            break;
        }
    }
    assert!(hit > 0, "the freeze was never hit");
    let listed = snapshot("list", server.datadir(), &[]);
    assert!(listed.as_array().expect("a list").iter().any(|copy| copy["state"] == "stale"), "{listed}");
    let dropped = sealant().args(["snapshot", "drop", "--stale", "--datadir"]).arg(server.datadir()).output();
    assert!(dropped.expect("it starts").status.success());
    drop_all(server.datadir());
    assert_eq!(snapshot("list", server.datadir(), &[]), serde_json::json!([]));
}

/// Adds many files, so that the freeze lasts long enough to be hit.
fn add_files(server: &Server) {
    let many = server.datadir().join("many");
    fs::create_dir(&many).expect("made");
    for number in 0..8000 {
        fs::write(many.join(format!("f{number}")), "x").expect("room");
    }
}

#[test]
fn a_delayed_copy_is_invalid_and_the_server_does_not_wait_for_it() {
    let (Some(_), Some(volume)) = (require(Kind::MariaDb1011), Volume::new("xfs", 1024)) else { return };
    let server = plain(Kind::MariaDb1011).within(volume.path()).start().expect("it starts");
    add_files(&server);
    for _ in 0..20 {
        let mut create = sealant();
        create.args(["snapshot", "create", "--max-freeze", "3s", "--datadir"]).arg(server.datadir());
        let mut create = create.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        while create.try_wait().expect("waited").is_none() && !is_stopped(&server) {
            // The freeze lasts a few milliseconds only.
            thread::sleep(Duration::from_micros(200));
        }
        if !is_stopped(&server) {
            create.wait().expect("it ends");
            drop_all(server.datadir());
            continue;
        }
        let pid = Pid::from_child(&create);
        kill_process(pid, Signal::STOP).expect("it runs");
        wait_until("the watchdog lets it go", limit(20), || !is_stopped(&server));
        server.value("SELECT 1").expect("it runs");
        kill_process(pid, Signal::CONT).expect("it is there");
        let ended = create.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        // It released the server just before it was stopped itself.
        if ended.status.success() {
            drop_all(server.datadir());
            continue;
        }
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(said.contains("not complete within the maximum freeze of 3000 ms"), "{said}");
        assert_eq!(snapshot("list", server.datadir(), &[]), serde_json::json!([]), "what is void is removed");
        return;
    }
    panic!("the freeze was never hit");
}

#[test]
fn unsuitable_sources_are_refused_with_the_reason() {
    let (Some(_), Some(volume)) = (require(Kind::MySql97), Volume::new("xfs", 1024)) else { return };
    let server = plain(Kind::MySql97).within(volume.path()).start().expect("it starts");
    let datadir = server.datadir();
    let estimate = snapshot("estimate", datadir, &HOWEVER_LONG);
    assert_eq!(estimate["provider"], "reflink");
    assert!(estimate["files"].as_u64() > Some(100) && estimate["extents"].as_u64() > Some(100), "{estimate}");
    assert!(estimate["dirty_bytes"].is_u64() && estimate["freeze_ms"].as_f64() > Some(5.0), "{estimate}");

    let slow = refused("create", datadir, &["--max-freeze", "1ms"]);
    assert!(slow.contains("longer than the 1 ms allowed") && slow.contains("--max-freeze"), "{slow}");
    let other = refused("create", datadir, &["--location", "/tmp"]);
    assert!(other.contains("on another file system"), "{other}");
    let runs = refused("create", datadir, &["--provider", "stopped"]);
    assert!(runs.contains("its server is running, as process"), "{runs}");
    let file = server.dir().join("wrong.pid");
    fs::write(&file, "1").expect("room");
    let wrong = refused("create", datadir, &["--pid-file", file.to_str().expect("ASCII")]);
    assert!(wrong.contains("process 1, its pid file, does not have this data directory open"), "{wrong}");
    let socket = server.socket().to_str().expect("ASCII").to_owned();
    let with_socket = [&HOWEVER_LONG[..], &["--socket", &socket]].concat();
    assert_eq!(snapshot("estimate", datadir, &with_socket)["provider"], "reflink");
    assert!(!server.dir().join(".sealant-snapshots").exists(), "a refusal leaves nothing");
    // The parent of a data directory that is a mount point is another file system: the copy is made inside the data
    // directory.
    let location = ["--location", datadir.to_str().expect("ASCII")];
    let inside = snapshot("create", datadir, &[location, HOWEVER_LONG].concat());
    assert!(Path::new(inside["root"].as_str().expect("a path")).starts_with(datadir));
    assert!(!server.value("SHOW DATABASES").expect("it answers").contains("sealant"));
    let mut server = server;
    server.kill();
    server.start().expect("a server recovers from a crash with a copy inside its data directory");

    server.stop().expect("it stops");
    let estimate = snapshot("estimate", server.datadir(), &[]);
    assert_eq!((&estimate["provider"], &estimate["freeze_ms"]), (&"stopped".into(), &0.0.into()));
    fs::rename(server.datadir().join("#innodb_redo"), server.dir().join("redo")).expect("moved");
    let half = refused("estimate", server.datadir(), &[]);
    assert!(half.contains("the redo log is not in it"), "{half}");
}

#[test]
fn without_clones_the_message_says_what_to_do() {
    let (Some(_), Some(volume)) = (require(Kind::MariaDb1011), Volume::new("ext4", 512)) else { return };
    let server = plain(Kind::MariaDb1011).within(volume.path()).start().expect("it starts");
    let message = refused("create", server.datadir(), &[]);
    assert!(message.contains("ext4 cannot clone files") && message.contains("--provider mariabackup"), "{message}");
}

#[test]
fn logs_in_another_directory_are_part_of_the_copy() {
    let (Some(_), Some(volume)) = (require(Kind::MySql97), Volume::new("xfs", 2048)) else { return };
    let remote = |name: &str| {
        let path = volume.directory(name);
        path.to_str().expect("ASCII").to_owned()
    };
    let (redo, undo, double, logs) = (remote("redo"), remote("undo"), remote("dblwr"), remote("logs"));
    let mut server = plain(Kind::MySql97).within(volume.path()).start().expect("it starts");
    server.stop().expect("it stops");
    let moved = |name: &str, to: &str| {
        let from = server.datadir().join(name);
        fs::rename(&from, Path::new(to).join(name)).expect("moved");
    };
    moved("#innodb_redo", &redo);
    moved("undo_001", &undo);
    moved("undo_002", &undo);
    let options = [
        format!("--innodb-log-group-home-dir={redo}"),
        format!("--innodb-undo-directory={undo}"),
        format!("--innodb-doublewrite-dir={double}"),
        format!("--log-bin={logs}/binary"),
    ];
    server.restart_with(&options.each_ref().map(String::as_str)).expect("it starts");
    prepare(&server, "");
    let load = Load::start(&server, 4);
    for _ in 0..rounds() {
        load.goes_on(200);
        let acknowledged = load.acknowledged();
        let taken = snapshot("create", server.datadir(), &HOWEVER_LONG);
        let root = Path::new(taken["root"].as_str().expect("a path"));
        assert!(root.join("#innodb_redo").is_dir() && root.join("undo_001").exists());
        let index = fs::read_to_string(root.join("binary.index")).expect("an index");
        assert!(index.lines().all(|line| line.starts_with("./binary.")), "{index}");
        let copy = plain(Kind::MySql97).option("--log-bin=binary").datadir_seed(root).start();
        assert_whole(&copy.expect("the copy starts"), &acknowledged);
        drop_all(server.datadir());
    }
    let Some(other) = Volume::new("xfs", 512) else { return };
    drop(load);
    let there = other.path().join("bin");
    server.restart_with(&[&format!("--log-bin={}", there.display())]).expect("it starts");
    let message = refused("create", server.datadir(), &[]);
    assert!(message.contains("is on another file system than the rest"), "{message}");
    assert!(!server.dir().join(".sealant-snapshots").exists(), "a refusal leaves nothing");
}

/// Runs `sealant send --live` to a receiver on this host.
fn send_live(server: &Server, code: &str, more: &[&str]) -> Command {
    let mut command = sealant();
    command.args(["send", "--live", "--datadir"]).arg(server.datadir()).arg(code).args(more);
    command
}

#[test]
fn a_running_server_is_sent_and_the_copy_released() {
    for (kind, file_system) in [(Kind::MySql97, "xfs"), (Kind::MariaDb1011, "btrfs")] {
        let (Some(_), Some(volume)) = (require(kind), Volume::new(file_system, 2048)) else { return };
        let server = plain(kind).within(volume.directory("s")).start().expect("it starts");
        prepare(&server, "");
        let load = Load::start(&server, 4);
        load.goes_on(200);
        let acknowledged = load.acknowledged();
        let target = tempfile::tempdir().expect("a directory");
        let receiving = Receiving::begin(&target.path().join("data"), &[]);
        let sent = send_live(&server, &receiving.code, &HOWEVER_LONG).output().expect("the binary starts");
        let (code, stderr) = receiving.end();
        assert_eq!((sent.status.code(), code), (Some(0), 0), "{}\n{stderr}", String::from_utf8_lossy(&sent.stderr));
        assert_eq!(snapshot("list", server.datadir(), &[]), serde_json::json!([]));
        load.goes_on(20);
        let root = target.path().join("data");
        assert!(!root.join("auto.cnf").exists() && !root.join("ibtmp1").exists());
        let copy = plain(kind).datadir_seed(root).start().expect("the copy starts");
        assert_whole(&copy, &acknowledged);
    }
}

#[test]
fn an_interrupted_send_releases_the_copy_and_a_killed_one_is_found() {
    let (Some(_), Some(volume)) = (require(Kind::MariaDb1011), Volume::new("xfs", 1024)) else { return };
    let server = plain(Kind::MariaDb1011).within(volume.path()).start().expect("it starts");
    prepare(&server, "");
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let target = tempfile::tempdir().expect("a directory");
        let receiving = Receiving::begin(&target.path().join("data"), &[]);
        let slow = ["--bwlimit", "1MiB", "--compress", "none", "--max-freeze", "20s"];
        let mut sender = send_live(&server, &receiving.code, &slow).stderr(Stdio::piped()).spawn().expect("it starts");
        wait_until("the copy is made", limit(60), || match snapshot("list", server.datadir(), &[]) {
            listed if listed[0]["freeze_ms"].is_null() => Err(listed),
            _ => Ok(()),
        });
        assert_eq!(snapshot("list", server.datadir(), &[])[0]["state"], "in-use");
        kill_process(Pid::from_child(&sender), signal).expect("it runs");
        let mut said = String::new();
        sender.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
        let status = sender.wait().expect("it ends");
        receiving.kill();
        let left = snapshot("list", server.datadir(), &[]);
        if signal == Signal::KILL {
            assert_eq!(left[0]["state"], "stale", "{left}");
            drop_all(server.datadir());
        } else {
            assert_eq!(status.code(), Some(1), "{said}");
            assert!(said.contains("ended by a signal"), "{said}");
            assert_eq!(left, serde_json::json!([]));
        }
    }
    server.value("SELECT 1").expect("it runs");
}

#[test]
fn live_and_a_source_exclude_each_other() {
    for args in [&["send", "--live", "--datadir", "/nowhere", "/tmp", "sealant1-x"][..], &["send", "sealant1-x"]] {
        let output = sealant().args(args).output().expect("the binary starts");
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
#[ignore = "takes minutes, the machine being emulated: make soak"]
fn logical_volumes_are_copied_in_a_virtual_machine() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.memory_mib(1024).limit(limit(900)).disk(900).expect("room");
    let machine = machine.program(Path::new(env!("CARGO_BIN_EXE_sealant")), "/usr/bin/sealant").expect("room");
    let ran = machine.run(include_str!("vm/lvm.sh")).expect("it runs");
    assert!(ran.status == 0 && ran.log.ends_with("finished\n"), "{}: {}", ran.status, ran.log);
    #[allow(clippy::print_stderr, reason = "how far the copies were")]
    {
        eprintln!("{}", ran.log);
    }
}

/// A file with many extents: consecutive blocks are written far apart.
fn add_extents(server: &Server, extents: u64) {
    use std::os::unix::fs::FileExt;
    let file = fs::File::create(server.datadir().join("fragmented")).expect("room");
    for number in 0..extents {
        file.write_all_at(&[1; 4096], number * 8192).expect("room");
    }
    file.sync_all().expect("room");
}

#[test]
fn the_freeze_is_about_as_long_as_estimated() {
    let (Some(_), Some(volume)) = (require(Kind::MariaDb1011), Volume::new("xfs", 1024)) else { return };
    let server = plain(Kind::MariaDb1011).within(volume.path()).start().expect("it starts");
    prepare(&server, "");
    let load = Load::start(&server, 2);
    for round in 0..rounds() * 4 {
        match round {
            4 => add_files(&server),
            8 => add_extents(&server, 20_000),
            _ => {}
        }
        // Within 30 % where nothing else runs. The writes of another test may fall into one freeze or into its
        // estimate, and not into three in a row.
        let is_close = || {
            let (estimated, stood) = estimated_and_stood(&server, &load);
            stood < 100.0 || (0.2..5.0).contains(&(stood / estimated))
        };
        assert!((0..3).any(|_| is_close()), "round {round}: not even about as long");
    }
}

/// Estimated and actual length of a freeze, in milliseconds.
fn estimated_and_stood(server: &Server, load: &Load) -> (f64, f64) {
    load.goes_on(50);
    let estimate = snapshot("estimate", server.datadir(), &HOWEVER_LONG);
    let taken = snapshot("create", server.datadir(), &HOWEVER_LONG);
    drop_all(server.datadir());
    let [estimated, stood] = [&estimate, &taken].map(|said| said["freeze_ms"].as_f64().expect("a number"));
    #[allow(clippy::print_stderr, reason = "the figures")]
    {
        eprintln!("{estimate}: stood {stood:.1} ms, {:.2} of it", stood / estimated);
    }
    (estimated, stood)
}

/// A server's backup program; its libraries are beside it.
fn backup_program(kind: Kind) -> PathBuf {
    harness::cache().join(format!("servers/{}/root/usr/bin/mariadb-backup", kind.name()))
}

/// The user that prepares a backup if root runs the test.
const NOBODY: u32 = 65534;

fn owner() -> [String; 2] {
    let owner = if rustix::process::geteuid().is_root() { NOBODY } else { rustix::process::geteuid().as_raw() };
    ["--owner".to_owned(), format!("{owner}:{owner}")]
}

/// A copy of the program in a directory that everybody may enter; the shell runs `first` before it.
fn for_everybody(kind: Kind, directory: &Path, first: &str) -> String {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).expect("ours");
    let root = harness::cache().join(format!("servers/{}/root/usr", kind.name()));
    let copy = directory.join("program");
    fs::create_dir(&copy).expect("made");
    for part in ["bin/mariadb-backup", "lib/x86_64-linux-gnu"] {
        let copied = Command::new("cp").arg("-rL").arg(root.join(part)).arg(&copy).status();
        assert!(copied.expect("cp runs").success());
    }
    let script = directory.join("prepare");
    let copy = copy.display();
    let libraries = format!("{copy}/x86_64-linux-gnu");
    let program = format!("{libraries}/ld-linux-x86-64.so.2 --library-path {libraries} {copy}/mariadb-backup");
    harness::script(&script, &format!("{first}\nexec {program} \"$@\"")).expect("room");
    script.to_str().expect("ASCII").to_owned()
}

#[test]
fn a_backup_is_streamed_received_and_prepared_under_load() {
    for kind in [Kind::MariaDb1011, Kind::MariaDb118] {
        let (Some(_), program) = (require(kind), backup_program(kind)) else { return };
        let program = program.to_str().expect("ASCII");
        // The program gives up if the log wraps before it has copied it.
        let server = plain(kind).option("--innodb-log-file-size=256M").start().expect("it starts");
        prepare(&server, "");
        // More data than the log holds.
        let bulk = "USE bank; CREATE TABLE bulk (id INT PRIMARY KEY, v MEDIUMTEXT);
                    INSERT INTO bulk SELECT seq, REPEAT(MD5(seq), 2000) FROM seq_1_to_2000";
        server.sql(bulk).expect("rows");
        let load = Load::start(&server, 4);
        load.goes_on(200);
        let acknowledged = load.acknowledged();
        let target = tempfile::tempdir().expect("a directory");
        let root = target.path().join("data");
        let (everybodys, [owner, whose]) = (for_everybody(kind, target.path(), ""), owner());
        let receiving = Receiving::begin(&root, &["--prepare-with", &everybodys, &owner, &whose]);
        let defaults = target.path().join("my.cnf");
        fs::write(&defaults, "[mariadb-backup]\nuser=root\n").expect("room");
        let (socket, defaults) = (server.socket().to_str().expect("ASCII"), defaults.to_str().expect("ASCII"));
        let how = ["--provider", "mariabackup", "--backup-program", program, "--backup-defaults", defaults];
        let sent = send_live(&server, &receiving.code, &[&how[..], &["--socket", socket]].concat());
        let sent = { sent }.output().expect("the binary starts");
        let (code, stderr) = receiving.end();
        assert_eq!((sent.status.code(), code), (Some(0), 0), "{}\n{stderr}", String::from_utf8_lossy(&sent.stderr));
        assert!(stderr.contains("prepared by mariabackup"), "{stderr}");
        assert!(!root.join("sealant-manifest").exists(), "it is not what came any more");
        load.goes_on(20);
        let copy = plain(kind).datadir_seed(root).start().expect("the copy starts");
        assert_whole(&copy, &acknowledged);
        let rows =
            copy.value("SELECT COUNT(*) FROM bank.bulk WHERE MD5(v) = MD5(REPEAT(MD5(id), 2000))").expect("it answers");
        assert_eq!(rows, "2000");
    }
}

#[test]
fn a_failed_backup_is_not_committed_and_an_unprepared_one_is_not_called_ready() {
    let (Some(_), program) = (require(Kind::MariaDb1011), backup_program(Kind::MariaDb1011)) else { return };
    let server = plain(Kind::MariaDb1011).start().expect("it starts");
    let desk = tempfile::tempdir().expect("a directory");
    let stand_in = |name: &str, script: &str| {
        let path = desk.path().join(name);
        harness::script(&path, &format!("real={}\n{script}", program.display())).expect("room");
        path.to_str().expect("ASCII").to_owned()
    };
    let socket = server.socket().to_str().expect("ASCII").to_owned();
    let transfer = |name: &str, program: &str, receiver: &[&str]| {
        let root = desk.path().join(name);
        let owner = owner();
        let owner: Vec<&str> = owner.iter().map(String::as_str).collect();
        let receiving = Receiving::begin(&root, &[receiver, &owner].concat());
        let how = ["--provider", "mariabackup", "--backup-program", program, "--socket", &socket];
        let sent = send_live(&server, &receiving.code, &how).output().expect("the binary starts");
        let (code, stderr) = receiving.end();
        (sent.status.code(), String::from_utf8_lossy(&sent.stderr).into_owned(), code, stderr, root)
    };
    // The stream is truncated; the stream is complete but the program fails; the stream is damaged.
    let cut = stand_in(
        "cut",
        r#""$real" --no-defaults "$@" --user=root | head -c 5000000; echo "fatal error: gone" >&2; exit 1"#,
    );
    let late = stand_in("late", r#""$real" --no-defaults "$@" --user=root; echo "fatal error: late" >&2; exit 1"#);
    let torn = stand_in("torn", r#""$real" --no-defaults "$@" --user=root | head -c 5000000"#);
    for (program, because) in [(&cut, "fatal error: gone"), (&late, "fatal error: late"), (&torn, "ends in the middle")]
    {
        let (code, said, received, stderr, root) = transfer("failed", program, &[]);
        assert_eq!((code, received), (Some(1), 1), "{said}\n{stderr}");
        assert!(said.contains(because) && stderr.contains(because), "{said}\n{stderr}");
        assert!(!root.join("ibdata1").exists());
        fs::remove_dir_all(root).expect("ours");
    }
    let real = stand_in("real", r#"exec "$real" --no-defaults "$@" --user=root"#);
    let (code, said, received, stderr, root) = transfer("unprepared", &real, &["--no-prepare"]);
    assert_eq!((code, received), (Some(0), 3), "{said}\n{stderr}");
    assert!(stderr.contains("not ready: no server may start on it before `mariadb-backup --prepare"), "{stderr}");
    assert!(root.join("ibdata1").exists());
    let (code, said, received, stderr, _) = transfer("false", &real, &["--prepare-with", "/bin/false"]);
    assert_eq!((code, received), (Some(0), 1), "{said}\n{stderr}");
    assert!(stderr.contains("received, but not prepared: /bin/false: exit status: 1"), "{stderr}");
    // It is not accepted as a copy.
    let message = refused("create", server.datadir(), &["--provider", "mariabackup"]);
    assert!(message.contains("makes no copy that stays"), "{message}");
}

/// Sends a backup that `change`, a shell line run in its directory, has modified, to a receiver with these options.
/// Returns the receiver's exit code, output and directory.
fn hostile(server: &Server, desk: &Path, change: &str, receiver: &[&str]) -> (i32, String, PathBuf) {
    let (program, mbstream) = (backup_program(Kind::MariaDb1011), backup_program(Kind::MariaDb1011));
    let mbstream = mbstream.with_file_name("mbstream");
    let name = format!("{:016x}", rand());
    let (backup, root, stand_in) = (desk.join(format!("{name}-b")), desk.join(&name), desk.join(format!("{name}-p")));
    let (backup, program, mbstream) = (backup.display(), program.display(), mbstream.display());
    let script = format!(
        "{program} --no-defaults --backup --user=root --target-dir={backup} \"$(echo \"$@\" | grep -o -- '--socket=[^ ]*')\"
         cd {backup} && {change}
         exec {mbstream} -c $(find . -type f | sed 's,^[.]/,,')"
    );
    harness::script(&stand_in, &script).expect("room");
    let receiving = Receiving::begin(&root, receiver);
    let socket = server.socket().to_str().expect("ASCII");
    let stand_in = stand_in.to_str().expect("ASCII");
    let how = ["--provider", "mariabackup", "--backup-program", stand_in, "--socket", socket];
    let sent = send_live(server, &receiving.code, &how).output().expect("the binary starts");
    let (code, stderr) = receiving.end();
    assert_eq!(sent.status.code(), Some(0), "{}\n{stderr}", String::from_utf8_lossy(&sent.stderr));
    (code, stderr, root)
}

/// A number that is different in every run.
fn rand() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

#[test]
fn a_backup_of_encrypted_tables_is_prepared_with_the_keys_of_this_host_alone() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let encrypted = || {
        let options = ["--innodb-encrypt-tables=FORCE", "--innodb-encrypt-log=ON", "--innodb-log-file-size=64M"];
        plain(Kind::MariaDb1011).options(options).mariadb_keys(MARIADB_KEYS)
    };
    let server = encrypted().start().expect("it starts");
    prepare(&server, "ENCRYPTED=YES");
    let desk = tempfile::tempdir().expect("a directory");
    let program = for_everybody(Kind::MariaDb1011, desk.path(), "");
    let [owner, whose] = owner();
    let named = ["--prepare-with", program.as_str(), owner.as_str(), whose.as_str()];
    let own = options_with_keys(desk.path(), MARIADB_KEYS, "own");
    let with_keys = [&named[..], &["--prepare-options", own.as_str()]].concat();

    // Without this host's key nothing opens it, whatever path the sender names.
    let senders = "grep -q ^plugin_load=file_key_management backup-my.cnf";
    let (code, stderr, root) = hostile(&server, desk.path(), senders, &named);
    assert!(code == 1 && stderr.contains("received, but not prepared"), "{stderr}");
    let prepared = fs::read_to_string(root.join("backup-my.cnf")).expect("there");
    assert!(!prepared.contains("file_key_management"), "{prepared}");
    let other = options_with_keys(desk.path(), &MARIADB_KEYS.replace('3', "4"), "other");
    let with_others = [&named[..], &["--prepare-options", other.as_str()]].concat();
    let (code, stderr, _) = hostile(&server, desk.path(), ":", &with_others);
    assert!(code == 1 && stderr.contains("received, but not prepared"), "{stderr}");

    // With the key, the sender's additions change nothing: library, key and user are those of this host.
    let planted = desk.path().join("planted");
    let library =
        format!("plugin_load=x={}\nplugin_dir=/tmp\nfile_key_management_filename=/etc/passwd", planted.display());
    for change in [
        ":".to_owned(),
        format!("printf '{library}\\n' >> backup-my.cnf; sed -i '1i {library}' backup-my.cnf"),
        format!("echo '!include {}' >> backup-my.cnf; printf '!includedir /tmp' >> backup-my.cnf", planted.display()),
        format!("(printf '#%0510d' 0; printf '{library}') >> backup-my.cnf"),
    ] {
        let (code, stderr, root) = hostile(&server, desk.path(), &change, &with_keys);
        assert_eq!(code, 0, "{change}: {stderr}");
        let prepared = fs::read_to_string(root.join("backup-my.cnf")).expect("there");
        let hers = ["passwd", "/tmp\n", "include", "planted"];
        assert!(!hers.iter().any(|word| prepared.contains(word)), "{change}: {prepared}");
        assert!(prepared.ends_with(&fs::read_to_string(&own).expect("ours")), "{change}: {prepared}");
        let id: u32 = whose.split(':').next().expect("a number").parse().expect("a number");
        assert!(
            ["ibdata1", "ib_logfile0"].iter().all(|name| fs::metadata(root.join(name)).expect("there").uid() == id)
        );
        let page = fs::read(root.join("bank/account.ibd")).expect("a table");
        assert!(!harness::contains(&page, &[b'x'; 30]), "{change}: rows in clear");
        let copy = encrypted().datadir_seed(root).start().expect("the copy starts");
        assert_whole(&copy, &[]);
    }
}

/// A world-readable option file with the paths of this host's keys and their plug-in.
fn options_with_keys(desk: &Path, keys: &str, name: &str) -> String {
    let plugins = desk.join("plugins");
    if !plugins.exists() {
        let from = Kind::MariaDb1011.locate().expect("it is there").plugins.expect("it has some");
        fs::create_dir(&plugins).expect("made");
        fs::copy(from.join("file_key_management.so"), plugins.join("file_key_management.so")).expect("copied");
    }
    let file = desk.join(format!("{name}.keys"));
    fs::write(&file, keys).expect("room");
    let options = format!(
        "plugin_load=file_key_management=file_key_management.so\nplugin_dir={}\nfile_key_management_filename={}\n",
        plugins.display(),
        file.display()
    );
    let path = desk.join(format!("{name}.cnf"));
    fs::write(&path, options).expect("room");
    path.to_str().expect("ASCII").to_owned()
}

#[test]
fn a_hostile_backup_chooses_neither_options_nor_user_of_its_preparation() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let server = plain(Kind::MariaDb1011).start().expect("it starts");
    let desk = tempfile::tempdir().expect("a directory");
    // What the program gets: the options that it would read, and the user.
    let seen = desk.path().join("seen");
    let first = format!(
        "for a in \"$@\"; do case $a in --target-dir=*) d=${{a#*=}};; esac; done
         (id -u; id -G; pwd; cat \"$d/backup-my.cnf\") > {}",
        seen.display()
    );
    let program = for_everybody(Kind::MariaDb1011, desk.path(), &first);
    let [owner, whose] = owner();
    let named = ["--prepare-with", program.as_str(), owner.as_str(), whose.as_str()];
    let who = whose.split(':').next().expect("a number").to_owned();
    let included = desk.path().join("x=.cnf");
    fs::write(&included, "[mysqld]\ninnodb_page_size=3\nplugin_load=included\n").expect("room");
    fs::write(&seen, "").expect("room");
    fs::set_permissions(&seen, fs::Permissions::from_mode(0o666)).expect("ours");
    for change in [
        format!("echo '!include {}' >> backup-my.cnf", included.display()),
        "(printf '#%0510d' 0; echo plugin_load=hidden) >> backup-my.cnf".to_owned(),
        "echo plugin_load=plain >> backup-my.cnf; echo plugin_dir=/tmp >> backup-my.cnf".to_owned(),
        "chgrp 6 backup-my.cnf ibdata1; chmod 4755 ibdata1".to_owned(),
    ] {
        fs::write(&seen, "").expect("room");
        let (code, stderr, root) = hostile(&server, desk.path(), &change, &named);
        let seen = fs::read_to_string(&seen).expect("the program ran");
        assert_eq!(code, 0, "{change}: {stderr}");
        assert!(seen.starts_with(&format!("{who}\n{who}\n/\n[mysqld]\n")), "{change}: {seen}");
        assert!(seen.contains("innodb_page_size=16384\n"), "{seen}");
        assert!(!seen.contains("plugin") && !seen.contains("include"), "{change}: {seen}");
        assert!(fs::read_to_string(root.join("backup-my.cnf")).expect("there").starts_with("[mysqld]\n"));
    }
    // This host's settings for its keys are used.
    let current = desk.path().join("own.cnf");
    fs::write(&current, "plugin_load=\n# of this host\n").expect("room");
    let options = ["--prepare-options", current.to_str().expect("ASCII")];
    let (code, stderr, _) = hostile(&server, desk.path(), ":", &[&named[..], &options].concat());
    assert_eq!(code, 0, "{stderr}");
    assert!(fs::read_to_string(&seen).expect("the program ran").ends_with("# of this host\n"));

    fs::write(&seen, "").expect("room");
    let value = "sed -i 's,^innodb_data_file_path.*,innodb_data_file_path=/etc/x:1M,' backup-my.cnf";
    let (code, stderr, _) = hostile(&server, desk.path(), value, &named);
    assert!(code == 1 && stderr.contains("innodb_data_file_path"), "{stderr}");
    let (code, stderr, _) = hostile(&server, desk.path(), "echo /etc/x > test/t.isl", &named);
    assert!(code == 1 && stderr.contains("test/t.isl leads out of the backup"), "{stderr}");
    assert!(!stderr.contains("--prepare --target-dir"), "{stderr}");
    if rustix::process::geteuid().is_root() {
        for owner in [&[][..], &["--owner", "0:0"], &["--owner", "65534:0"], &["--owner", "0:65534"]] {
            let with = [&["--prepare-with", program.as_str()], owner].concat();
            let (code, stderr, _) = hostile(&server, desk.path(), ":", &with);
            assert!(code == 1 && stderr.contains("received, but not prepared: root "), "{owner:?}: {stderr}");
            assert!(stderr.contains("never as root"), "{stderr}");
        }
    }
    assert_eq!(fs::read_to_string(&seen).expect("there"), "", "the program was not run");
}
