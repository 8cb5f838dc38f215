//! Transfers with faults: kills, broken connections, full disks, wrong and hostile peers. The target is unchanged or
//! complete, and what arrived is not sent again.
//!
//! `SEALANT_FAULTS` is the number of random moments (20), `SEALANT_FAULT_SEED` chooses them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use codec::entry::{Entry, Kind};
use codec::hash::{CHUNK_BYTES, Hash, chunk_bytes, chunk_hash, chunks_of, file_hash};
use codec::path::RelativePath;
use harness::{limit, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use transfer::manifest::Manifest;
use transfer::pairing::{PIN_BYTES, PairingCode, Pin, Secret};
use transfer::wire::{Chunk, Codec, Control, Data, Material, Root, Segment};

use crate::peer::relay::{Break, Relay};
use crate::peer::{Rogue, Tls, config, connect, say_data, say_raw};
use crate::support::chance::{Random, number};
use crate::support::sealant;
use crate::support::sst::until;
use crate::support::tmpfs::Tmpfs;

/// Time limit in seconds until a process has ended or printed something.
const SECONDS: u64 = 60;
/// Bytes of one record of the journal.
const RECORD_BYTES: u64 = 60;
const MIB: usize = 1 << 20;
/// Content of a directory that a hostile peer claims to send.
const ROOT: Root = Root { mode: 0o700, uid: 0, gid: 0 };

/// A source with every kind of file, 10 MiB of it not holes.
fn source(root: &Path) {
    let mut random = Random(0x5ea1);
    fs::create_dir_all(root.join("db/empty")).expect("directories");
    let write = |name: &OsStr, bytes: &[u8], mode: u32| {
        let path = root.join(name);
        fs::write(&path, bytes).expect("a file");
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("permissions");
    };
    write("ibdata1".as_ref(), &random.fill(5 * MIB + 12345), 0o640);
    write("db/t1.ibd".as_ref(), &random.fill(2 * MIB), 0o600);
    write("db/t2.ibd".as_ref(), &random.fill(MIB + 1), 0o400);
    write("none".as_ref(), b"", 0o444);
    write(OsStr::from_bytes(b"db/\xff odd\n\x01"), b"odd", 0o4755);
    write("n".repeat(255).as_ref(), b"long", 0o000);
    let holey = File::create(root.join("db/holey.ibd")).expect("a file");
    holey.set_len(6 * MIB as u64 + 4096).expect("a length");
    for at in [0, 65536, 3 * MIB, 5 * MIB + 8192] {
        holey.write_all_at(&random.fill(32 << 10), at as u64).expect("a part");
    }
    symlink("../ibdata1", root.join("db/link")).expect("a link");
    symlink("/nonexistent", root.join("dangling")).expect("a link");
    fs::set_permissions(root.join("db"), PermissionsExt::from_mode(0o750)).expect("permissions");
    fs::set_permissions(root, PermissionsExt::from_mode(0o710)).expect("permissions");
    let past = std::time::UNIX_EPOCH + Duration::new(1_234_567_890, 987_654_321);
    for path in ["ibdata1", "db/t1.ibd", "db/empty", "db"] {
        File::open(root.join(path)).and_then(|file| file.set_modified(past)).expect("a time");
    }
}

/// All properties that must be kept, by path.
type Tree = BTreeMap<PathBuf, (u32, (i64, i64), (u32, u32), Vec<(u64, u64)>, Vec<u8>)>;

fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut directories = vec![root.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for item in fs::read_dir(&directory).expect("a directory") {
            let path = item.expect("an item").path();
            let name = path.strip_prefix(root).expect("below the root").to_path_buf();
            if name == Path::new("sealant-manifest") {
                continue;
            }
            let metadata = fs::symlink_metadata(&path).expect("metadata");
            let (holes, bytes) = if metadata.is_dir() {
                directories.push(path);
                (Vec::new(), Vec::new())
            } else if metadata.is_symlink() {
                (Vec::new(), fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes())
            } else {
                (parts(&path), Hash::compute(&fs::read(&path).expect("a file")).0.to_vec())
            };
            let owner = (metadata.uid(), metadata.gid());
            tree.insert(name, (metadata.mode(), (metadata.mtime(), metadata.mtime_nsec()), owner, holes, bytes));
        }
    }
    tree
}

/// Permissions and owner.
fn ownership(path: &Path) -> (u32, u32, u32) {
    let metadata = fs::metadata(path).expect("metadata");
    (metadata.mode() & 0o7777, metadata.uid(), metadata.gid())
}

/// The parts of a file that are no holes.
fn parts(path: &Path) -> Vec<(u64, u64)> {
    use rustix::fs::{SeekFrom, seek};
    let file = File::open(path).expect("a file");
    let mut parts = Vec::new();
    let mut at = 0;
    while let Ok(data) = seek(&file, SeekFrom::Data(at)) {
        at = seek(&file, SeekFrom::Hole(data)).expect("an end");
        parts.push((data, at));
    }
    parts
}

#[track_caller]
fn assert_same(source: &Path, target: &Path) {
    let (expected, found) = (tree(source), tree(target));
    for (path, entry) in &expected {
        assert_eq!(found.get(path), Some(entry), "{}", path.display());
    }
    let names = |tree: &Tree| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&expected));
    assert!(target.join("sealant-manifest").exists());
    assert_eq!(ownership(target), ownership(source));
}

/// A child process, killed when the test ends.
struct Running {
    child: Child,
    stderr: PathBuf,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start(command: &mut Command, stderr: PathBuf) -> Self {
        let child = command.stderr(File::create(&stderr).expect("a file")).spawn().expect("the binary starts");
        Self { child, stderr }
    }

    fn kill(&mut self) {
        self.child.kill().expect("a process");
        self.child.wait().expect("an end");
    }

    fn is_over(&mut self) -> bool {
        self.child.try_wait().expect("a process").is_some()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is there");
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.stderr).expect("stderr")
    }

    /// Its exit code; every test also checks that it ends.
    #[track_caller]
    fn code(&mut self) -> Option<i32> {
        wait_until("its end", limit(SECONDS), || if self.is_over() { Ok(()) } else { Err(self.said()) });
        self.child.wait().expect("an end").code()
    }

    /// It failed, with one clear line.
    #[track_caller]
    fn failed(&mut self, code: i32, word: &str) {
        let found = self.code();
        let said = self.said();
        assert_eq!(found, Some(code), "{said}");
        assert_eq!(said.lines().filter(|line| line.starts_with("sealant: error: ")).count(), 1, "{said}");
        assert!(said.contains(word) && !said.contains("panicked"), "{word:?} is not in: {said}");
    }
}

/// A directory with a source, a target, and the output of processes.
struct Setup {
    directory: TempDir,
    target: PathBuf,
}

impl Setup {
    fn new() -> Self {
        let directory = TempDir::new().expect("a directory");
        let target = directory.path().join("target");
        fs::create_dir(directory.path().join("source")).expect("a directory");
        Self { directory, target }
    }

    fn with_source() -> Self {
        let setup = Self::new();
        source(&setup.source());
        setup
    }

    fn source(&self) -> PathBuf {
        self.directory.path().join("source")
    }

    fn receive(&self, args: &[&str]) -> (Running, Option<PairingCode>) {
        self.receive_by(sealant(), args)
    }

    /// The same, with a command that runs this program.
    fn receive_by(&self, mut command: Command, args: &[&str]) -> (Running, Option<PairingCode>) {
        command.args(["receive", "--listen", "127.0.0.1:0", "--quiet", "--into"]).arg(&self.target).args(args);
        let mut running = Running::start(command.stdout(Stdio::piped()), self.directory.path().join("receive.err"));
        let stdout = running.child.stdout.take().expect("stdout");
        let (tell, reported) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            let _ = BufReader::new(stdout).read_line(&mut line);
            let _ = tell.send(line);
        });
        let line = reported.recv_timeout(limit(SECONDS)).expect("a line, or the end");
        (running, line.trim().parse().ok())
    }

    fn send(&self, code: &PairingCode, args: &[&str]) -> Running {
        self.send_text(&code.to_string(), args)
    }

    fn send_text(&self, code: &str, args: &[&str]) -> Running {
        let mut command = sealant();
        command.arg("send").arg(self.source()).arg(code).args(["--quiet", "--compress", "none", "--report"]);
        command.arg(self.report()).args(args);
        Running::start(command.stdout(Stdio::null()), self.directory.path().join("send.err"))
    }

    fn report(&self) -> PathBuf {
        self.directory.path().join("report.json")
    }

    /// Chunks recorded in the target's journal.
    fn chunks(&self) -> u64 {
        fs::metadata(self.target.join(".sealant-staging/journal")).map_or(0, |metadata| metadata.len() / RECORD_BYTES)
    }

    /// The target is unchanged, or a commit has started or completed.
    #[track_caller]
    fn assert_old_or_new(&self) {
        let staging = self.target.join(".sealant-staging");
        if staging.join("commit").exists() || self.target.join("sealant-manifest").exists() {
            return;
        }
        let names: Vec<_> =
            fs::read_dir(&self.target).into_iter().flatten().flatten().map(|item| item.file_name()).collect();
        assert!(names.iter().all(|name| name == ".sealant-staging"), "{names:?}");
    }

    /// Receives and sends until everything has arrived; returns the bytes that were not sent again, `None` if nothing
    /// had to be sent.
    #[track_caller]
    fn resume(&self) -> Option<u64> {
        if self.target.join("sealant-manifest").exists() && !self.target.join(".sealant-staging").exists() {
            assert_same(&self.source(), &self.target);
            return None;
        }
        let (mut receiver, code) = self.receive(&[]);
        let kept = code.map(|code| {
            let mut sender = self.send(&code, &[]);
            assert_eq!(sender.code(), Some(0), "{}", sender.said());
            let report = fs::read(self.report()).expect("a report");
            let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
            report["kept_bytes"].as_u64().expect("a number")
        });
        assert_eq!(receiver.code(), Some(0), "{}", receiver.said());
        assert_same(&self.source(), &self.target);
        assert!(!self.target.join(".sealant-staging").exists());
        kept
    }
}

/// Statistics of what was kept.
#[derive(Debug, Default)]
struct Tally {
    moments: u64,
    kept: u64,
}

impl Tally {
    /// The invariant after any fault.
    #[track_caller]
    fn check(&mut self, setup: &Setup) {
        setup.assert_old_or_new();
        let chunks = setup.chunks();
        self.moments += 1;
        match setup.resume() {
            // Everything was in place.
            None => self.kept += 1,
            Some(kept) => {
                assert_eq!(kept > 0, chunks > 0, "{kept} bytes of {chunks} chunks were kept");
                self.kept += u64::from(kept > 0);
            }
        }
    }
}

impl Drop for Tally {
    #[allow(clippy::print_stdout, reason = "shown if the test fails, or by --nocapture")]
    fn drop(&mut self) {
        println!("{self:?}");
        assert!(thread::panicking() || self.kept * 3 >= self.moments, "{self:?}");
    }
}

/// A quarter of the moments: four tests share them.
fn moments() -> u64 {
    number("SEALANT_FAULTS", 20).div_ceil(4)
}

/// Waits for a random moment of a transfer: between two chunks, or soon after the last one.
fn wait_for_a_moment(random: &mut Random, setup: &Setup, running: &mut [&mut Running]) {
    let chunks = random.below(22);
    while setup.chunks() < chunks && !running.iter_mut().any(|process| process.is_over()) {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_micros(random.below(40_000)));
}

#[test]
fn a_transfer_resumes_after_its_sender_was_killed() {
    let (mut random, mut tally) = (Random::new(1), Tally::default());
    for _ in 0..moments() {
        let setup = Setup::with_source();
        let (mut receiver, code) = setup.receive(&[]);
        let mut sender = setup.send(&code.expect("a code"), &["--bwlimit", "30MiB"]);
        wait_for_a_moment(&mut random, &setup, &mut [&mut sender, &mut receiver]);
        sender.kill();
        end_of(&mut receiver, &setup, "");
        tally.check(&setup);
    }
}

#[test]
fn a_transfer_resumes_after_its_receiver_was_killed() {
    let (mut random, mut tally) = (Random::new(2), Tally::default());
    for _ in 0..moments() {
        let setup = Setup::with_source();
        let (mut receiver, code) = setup.receive(&[]);
        let mut sender = setup.send(&code.expect("a code"), &["--bwlimit", "30MiB"]);
        wait_for_a_moment(&mut random, &setup, &mut [&mut sender, &mut receiver]);
        receiver.kill();
        if sender.code() != Some(0) {
            sender.failed(1, "");
        }
        tally.check(&setup);
    }
}

/// Waits for a receiver's end. Before a sender has authenticated, the receiver keeps waiting after a failure.
#[track_caller]
fn end_of(receiver: &mut Running, setup: &Setup, word: &str) {
    if !setup.target.join(".sealant-staging/journal").exists() && !receiver.is_over() {
        receiver.kill();
    } else if receiver.code() != Some(0) {
        receiver.failed(1, word);
    }
}

fn a_link_that_breaks(mut random: Random, how: Break, time_limit: &str) {
    let mut tally = Tally::default();
    for _ in 0..moments() {
        let setup = Setup::with_source();
        let (mut receiver, code) = setup.receive(&["--timeout", time_limit]);
        let mut code = code.expect("a code");
        let to = code.sockets().next().expect("an address");
        let relay = Relay::start(to, how, 1 + random.below(10 * MIB as u64) as i64);
        code.port = relay.port;
        let mut sender = setup.send(&code, &["--streams", "2", "--timeout", time_limit]);
        // The sender may have finished before the connection broke.
        if sender.code() != Some(0) {
            sender.failed(1, "127.0.0.1");
        }
        end_of(&mut receiver, &setup, "127.0.0.1");
        drop(relay);
        tally.check(&setup);
    }
}

#[test]
fn a_transfer_resumes_after_its_link_was_cut() {
    a_link_that_breaks(Random::new(3), Break::Cut, "20s");
}

#[test]
fn a_transfer_resumes_after_its_link_stalled() {
    a_link_that_breaks(Random::new(4), Break::Stall, "2s");
}

#[test]
fn a_full_disk_is_reported_and_the_transfer_resumes() {
    let mut setup = Setup::with_source();
    let path = setup.directory.path().join("disk");
    let Some(disk) = Tmpfs::mount(path, "32m") else { return };
    setup.target = disk.0.join("target");
    let (mut receiver, code) = setup.receive(&[]);
    let mut sender = setup.send(&code.expect("a code"), &["--bwlimit", "10MiB"]);
    until("some chunks", 60, || setup.chunks() >= 3);
    let mut ballast = File::create(disk.0.join("ballast")).expect("a file");
    while ballast.write_all(&[1; 4096]).is_ok() {}
    receiver.failed(1, "No space left");
    sender.failed(1, "No space left");
    setup.assert_old_or_new();
    let (mut receiver, code) = setup.receive(&[]);
    let mut sender = setup.send(&code.expect("a code"), &[]);
    receiver.failed(1, "bytes are needed");
    sender.failed(1, "bytes are needed");
    fs::remove_file(disk.0.join("ballast")).expect("a file");
    drop(ballast);
    assert!(setup.resume().is_some_and(|kept| kept >= MIB as u64));
}

#[test]
fn a_source_that_changed_before_the_second_attempt_is_sent_as_it_is_now() {
    let setup = Setup::new();
    let mut random = Random(7);
    let file = |name: &str| setup.source().join(name);
    for (name, bytes) in [("large", 10 * MIB), ("small", 2 * MIB)] {
        fs::write(file(name), random.fill(bytes)).expect("a file");
    }
    let (mut receiver, code) = setup.receive(&[]);
    let mut sender = setup.send(&code.expect("a code"), &["--bwlimit", "8MiB"]);
    // Both are sent at the same time: then the small one is complete, and the large one is not.
    until("some chunks", 60, || setup.chunks() >= 7);
    sender.kill();
    receiver.failed(1, "");
    let small = File::options().write(true).open(file("small")).expect("a file");
    small.write_all_at(b"new", 2_000_000).expect("bytes");
    assert!(setup.resume().is_some_and(|kept| kept > 0));
}

#[test]
fn a_throttled_sender_does_not_time_out() {
    let setup = Setup::new();
    fs::write(setup.source().join("f"), Random(5).fill(2 * MIB)).expect("a file");
    let (mut receiver, code) = setup.receive(&["--timeout", "2s"]);
    let mut sender = setup.send(&code.expect("a code"), &["--streams", "1", "--bwlimit", "300KiB"]);
    assert_eq!((sender.code(), receiver.code()), (Some(0), Some(0)), "{}{}", sender.said(), receiver.said());
    assert_same(&setup.source(), &setup.target);
}

#[test]
fn data_of_an_earlier_attempt_does_not_show_through_holes() {
    let setup = Setup::new();
    let staged = setup.target.join(".sealant-staging/files");
    fs::create_dir_all(&staged).expect("directories");
    // The data was written, but its record is missing from the journal.
    fs::write(staged.join("f"), Random(9).fill(500_000)).expect("a file");
    let file = File::create(setup.source().join("f")).expect("a file");
    file.set_len(600_000).expect("a length");
    file.write_all_at(b"end", 590_000).expect("bytes");
    assert_eq!(setup.resume(), Some(0));
}

#[test]
fn deep_directories_of_an_earlier_attempt_are_removed() {
    let setup = small();
    let staging = setup.target.join(".sealant-staging");
    let mut deep = staging.join("files");
    (0..300).for_each(|_| deep.push("d"));
    fs::create_dir_all(&deep).expect("directories");
    fs::write(deep.join("f"), "left").expect("a file");
    fs::set_permissions(&staging, PermissionsExt::from_mode(0o700)).expect("permissions");
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 100 && exec \"$0\" \"$@\""]).arg(sealant().get_program());
    let (mut receiver, code) = setup.receive_by(limited, &[]);
    let mut sender = setup.send(&code.expect("a code"), &[]);
    assert_eq!((sender.code(), receiver.code()), (Some(0), Some(0)), "{}{}", sender.said(), receiver.said());
    assert_same(&setup.source(), &setup.target);
}

#[test]
fn an_interrupted_commit_is_resumed_or_repeated() {
    let setup = Setup::with_source();
    setup.resume();
    let staging = setup.target.join(".sealant-staging");
    // Killed at the very end: only an empty directory remains.
    fs::create_dir(&staging).expect("a directory");
    assert_eq!(setup.resume(), None);
    // Killed between the last two steps.
    fs::create_dir_all(staging.join("files")).expect("directories");
    assert_eq!(setup.resume(), None);
    // Killed between two renames.
    cut_off(&setup, "");
    let (mut receiver, code) = setup.receive(&["--restart"]);
    assert_eq!((receiver.code(), code), (Some(0), None), "{}", receiver.said());
    assert_same(&setup.source(), &setup.target);
}

/// Kills a receiver at the `time`th call with that name; returns whether there were so many.
fn is_killed_at(setup: &Setup, call: &str, time: u32) -> bool {
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e"]);
    traced.arg(format!("inject={call}:signal=KILL:when={time}")).arg(sealant().get_program());
    let (mut receiver, code) = setup.receive_by(traced, &[]);
    let Some(code) = code else { return receiver.code() != Some(0) };
    let mut sender = setup.send(&code, &[]);
    let sent = sender.code();
    let received = receiver.code();
    assert!(received != Some(0) || sent == Some(0), "{}", sender.said());
    received != Some(0)
}

#[test]
fn a_receiver_that_is_killed_at_any_call_of_its_commit() {
    if Command::new("strace").arg("--version").output().is_err() {
        return harness::skip("strace is not installed");
    }
    // The steps of a commit: files get their metadata, are flushed, marked and moved; then the rest is removed.
    for call in ["fchmod", "utimensat", "syncfs", "fsync", "renameat", "renameat2", "unlinkat"] {
        for time in 1.. {
            let setup = Setup::with_source();
            if !is_killed_at(&setup, call, time) {
                assert!(time > 1, "{call} is never made");
                break;
            }
            setup.assert_old_or_new();
            setup.resume();
        }
    }
}

/// Files in a directory, also unlinked ones, that a process has open.
fn open_files(pid: u32, directory: &Path) -> Vec<PathBuf> {
    let items = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten().map(|item| item.path());
    let files = items.filter(|item| fs::metadata(item).is_ok_and(|found| found.is_file()));
    files.filter_map(|item| fs::read_link(item).ok()).filter(|path| path.starts_with(directory)).collect()
}

/// On NFS, a file that is removed while open stays in its directory under another name, and cannot be removed.
#[test]
fn no_file_of_the_staging_directory_is_open_when_it_is_removed() {
    if Command::new("strace").arg("--version").output().is_err() {
        return harness::skip("strace is not installed");
    }
    let setup = Setup::with_source();
    let staging = setup.target.join(".sealant-staging");
    let mut traced = Command::new("strace");
    // Leaves time for inspection before anything is moved.
    traced.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=syncfs", "-e", "inject=syncfs:delay_enter=2000000"]);
    let (mut receiver, code) = setup.receive_by(
        {
            traced.arg(sealant().get_program());
            traced
        },
        &[],
    );
    let receiving = receiver.child.id();
    let receiving = fs::read_to_string(format!("/proc/{receiving}/task/{receiving}/children")).expect("children");
    let receiving = receiving.trim().parse().expect("one");
    let mut sender = setup.send(&code.expect("a code"), &[]);
    until("the transfer", 60, || !open_files(receiving, &staging).is_empty());
    until("the list", 60, || staging.join("sealant-manifest").exists());
    // The list itself may be half written.
    until("all files closed", 1, || open_files(receiving, &staging).is_empty());
    assert!(!staging.join("commit").exists(), "it was looked at too late");
    assert_eq!((sender.code(), receiver.code()), (Some(0), Some(0)), "{}{}", sender.said(), receiver.said());
}

/// The state after a kill between two moves of a commit.
fn cut_off(setup: &Setup, mark: &str) {
    let staging = setup.target.join(".sealant-staging");
    fs::create_dir_all(staging.join("files")).expect("directories");
    for (name, back) in [("ibdata1", "files/ibdata1"), ("db", "files/db"), ("sealant-manifest", "sealant-manifest")] {
        fs::rename(setup.target.join(name), staging.join(back)).expect("a rename");
    }
    fs::write(staging.join("commit"), mark).expect("a mark");
}

#[test]
fn files_created_in_the_target_meanwhile_are_not_overwritten() {
    let setup = Setup::with_source();
    let (mut receiver, code) = setup.receive(&[]);
    let mut sender = setup.send(&code.expect("a code"), &["--bwlimit", "5MiB"]);
    until("some chunks", 60, || setup.chunks() > 1);
    let foreign = setup.target.join("ibdata1");
    fs::write(&foreign, "of a server that was started there").expect("a file");
    receiver.failed(1, "ibdata1: was created in the target during the transfer");
    sender.failed(1, "was created in the target");
    assert_eq!(fs::read_to_string(&foreign).expect("still there"), "of a server that was started there");
    assert!(!setup.target.join("db").exists());
    fs::remove_file(&foreign).expect("moved away");
    assert!(setup.resume().expect("a transfer") > 0);

    // The same between two moves of a commit.
    cut_off(&setup, "");
    fs::create_dir_all(setup.target.join("db/more")).expect("a directory");
    let (mut receiver, _) = setup.receive(&["--restart"]);
    receiver.failed(1, "db: was created in the target");
    assert!(setup.target.join("db/more").exists());
    fs::remove_dir_all(setup.target.join("db")).expect("moved away");
    assert_eq!(setup.resume(), None);
}

#[test]
fn everything_belongs_to_the_requested_owner() {
    if !rustix::process::geteuid().is_root() {
        harness::skip("only root can give files away");
        return;
    }
    let setup = Setup::with_source();
    let (mut receiver, code) = setup.receive(&["--owner", "12345:12346"]);
    let mut sender = setup.send(&code.expect("a code"), &[]);
    assert_eq!((sender.code(), receiver.code()), (Some(0), Some(0)), "{}{}", sender.said(), receiver.said());
    let is_theirs = |name: &str| {
        let metadata = fs::symlink_metadata(setup.target.join(name)).expect("metadata");
        (metadata.uid(), metadata.gid()) == (12345, 12346)
    };
    let names = ["", "ibdata1", "db", "db/empty", "db/link", "sealant-manifest"];
    assert!(names.into_iter().all(is_theirs));
    assert_eq!(ownership(&setup.target).0, 0o710);
    let odd = setup.target.join(OsStr::from_bytes(b"db/\xff odd\n\x01"));
    assert_eq!(ownership(&odd).0, 0o755, "no program runs as an owner that it was not made for");

    // A run that only completes a commit uses the owner of the earlier run.
    cut_off(&setup, "root 710 0 0\nowner 12345 12346\n");
    std::os::unix::fs::chown(setup.target.join(".sealant-staging/files/db"), Some(0), Some(0)).expect("given back");
    let (mut receiver, code) = setup.receive(&[]);
    assert_eq!((receiver.code(), code), (Some(0), None), "{}", receiver.said());
    assert!(names.into_iter().all(is_theirs));
}

#[test]
fn an_owner_that_cannot_be_set_is_reported_at_the_start() {
    if !rustix::process::geteuid().is_root() {
        harness::skip("only root can become another user");
        return;
    }
    let setup = Setup::new();
    fs::set_permissions(setup.directory.path(), PermissionsExt::from_mode(0o777)).expect("permissions");
    let mut command = sealant();
    command.args(["receive", "--listen", "127.0.0.1:0", "--owner", "0:0", "--into"]).arg(&setup.target);
    let mut receiver =
        Running::start(command.uid(65534).gid(65534).stdout(Stdio::null()), setup.directory.path().join("receive.err"));
    receiver.failed(1, "files in it cannot be given to 0:0");
}

#[test]
fn links_planted_in_the_staging_directory_are_not_followed() {
    let setup = Setup::with_source();
    let outside = setup.directory.path().join("outside");
    fs::write(&outside, "mine").expect("a file");
    let files = setup.target.join(".sealant-staging/files");
    fs::create_dir_all(&files).expect("directories");
    fs::set_permissions(files.parent().expect("staging"), PermissionsExt::from_mode(0o700)).expect("permissions");
    fs::hard_link(&outside, files.join("ibdata1")).expect("a link");
    setup.resume();
    assert_eq!(fs::read_to_string(&outside).expect("a file"), "mine");

    let setup = Setup::with_source();
    let staging = setup.target.join(".sealant-staging");
    fs::create_dir_all(&staging).expect("directories");
    fs::set_permissions(&staging, PermissionsExt::from_mode(0o777)).expect("permissions");
    let (mut receiver, _) = setup.receive(&[]);
    receiver.failed(1, "others may write it");
}

#[test]
fn a_second_sender_does_not_wait() {
    let setup = Setup::with_source();
    let (mut receiver, code) = setup.receive(&[]);
    let code = code.expect("a code");
    let mut first = setup.send(&code, &["--bwlimit", "4MiB"]);
    until("some chunks", 60, || setup.chunks() > 1);
    // The first one makes no progress, so the second one would wait for it.
    first.signal(Signal::STOP);
    let began = Instant::now();
    let mut second = setup.send(&code, &[]);
    second.failed(1, "127.0.0.1");
    assert!(began.elapsed() < limit(9), "{:?}: {}", began.elapsed(), second.said());
    assert!(!first.is_over());
    first.signal(Signal::CONT);
    assert_eq!((first.code(), receiver.code()), (Some(0), Some(0)), "{}{}", first.said(), receiver.said());
}

/// An entry as it is sent, with a path that no library would accept.
fn entry_body(path: &[u8], mode: u32, kind: &[u8]) -> Vec<u8> {
    let mut body = (path.len() as u16).to_be_bytes().to_vec();
    body.extend(path);
    body.extend(mode.to_be_bytes());
    body.extend([0; 8]);
    body.extend([0; 12]);
    body.extend(kind);
    body
}

const ENTRY: u8 = 3;
const DIRECTORY: &[u8] = &[1];
const EMPTY_FILE: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 0, 0];
const LINK_OUT: &[u8] = b"\x02\x00\x0a../outside";

/// A list of files that must be refused.
fn list(rogue: &mut Rogue, entries: &[(&[u8], u32, &[u8])]) {
    for (path, mode, kind) in entries {
        say_raw(&mut rogue.control, ENTRY, &entry_body(path, *mode, kind));
    }
    rogue.say(&Control::PlanEnd { entries: entries.len() as u32, allocated_bytes: 0, more: false, root: ROOT });
}

#[test]
fn lists_with_paths_outside_the_directory_are_refused() {
    let huge = [&[0][..], &(i64::MAX as u64).to_be_bytes()].concat();
    let beyond = [&[0][..], &(i64::MAX as u64 + 1).to_be_bytes()].concat();
    let long = [b'n'; 256];
    let deep = vec![&b"d"[..]; 2100].join(&b'/');
    let malformed = "malformed message";
    let invalid = "an invalid path";
    type Case<'c> = (&'c str, Vec<(&'c [u8], u32, &'c [u8])>);
    let cases: Vec<Case<'_>> = vec![
        (malformed, vec![(b"../outside/x", 0o600, EMPTY_FILE)]),
        (malformed, vec![(b"..", 0o700, DIRECTORY)]),
        (malformed, vec![(b"d", 0o700, DIRECTORY), (b"d/../../outside/x", 0o600, EMPTY_FILE)]),
        (malformed, vec![(b"/tmp/sealant-escaped", 0o600, EMPTY_FILE)]),
        (malformed, vec![(b"", 0o600, EMPTY_FILE)]),
        (malformed, vec![(b"a\0b", 0o600, EMPTY_FILE)]),
        (malformed, vec![(&long, 0o600, EMPTY_FILE)]),
        (malformed, vec![(&deep, 0o600, EMPTY_FILE)]),
        (malformed, vec![(b"f", 0o100_600, EMPTY_FILE)]),
        (malformed, vec![(b"f", 0o600, b"\x03")]),
        (malformed, vec![(b"f", 0o600, &beyond)]),
        (malformed, vec![(b"l", 0o600, b"\x02\x00\x03a\0b")]),
        (invalid, vec![(b"l", 0o777, LINK_OUT), (b"l/x", 0o600, EMPTY_FILE)]),
        (invalid, vec![(b"f", 0o600, EMPTY_FILE), (b"f", 0o777, LINK_OUT)]),
        (invalid, vec![(b"g", 0o600, EMPTY_FILE), (b"f", 0o600, EMPTY_FILE)]),
        (invalid, vec![(b"d/f", 0o600, EMPTY_FILE)]),
        (invalid, vec![(b"sealant-manifest", 0o600, EMPTY_FILE)]),
        (invalid, vec![(b".sealant-staging", 0o700, DIRECTORY), (b".sealant-staging/x", 0o600, EMPTY_FILE)]),
        ("target", vec![(b"f", 0o600, &huge), (b"g", 0o600, &huge), (b"h", 0o600, &huge)]),
    ];
    for (word, entries) in &cases {
        refused(word, |rogue| list(rogue, entries));
    }
    refused("unexpected message", |rogue| {
        rogue.say(&Control::PlanEnd { entries: u32::MAX, allocated_bytes: 0, more: false, root: ROOT })
    });
    refused("unexpected message", |rogue| rogue.say(&Control::Finish { tree: Hash([0; 32]) }));
    refused(malformed, |rogue| say_raw(&mut rogue.control, 99, b""));
    refused(malformed, |rogue| drop(rogue.control.write_all(&[0xff; 5])));
}

#[test]
fn a_list_of_100_000_files_with_a_bad_one_at_its_end_is_refused() {
    refused("an invalid path", |rogue| {
        for number in 0..100_000 {
            say_raw(&mut rogue.control, ENTRY, &entry_body(format!("{number:08}").as_bytes(), 0o600, EMPTY_FILE));
        }
        say_raw(&mut rogue.control, ENTRY, &entry_body(b"00000007", 0o777, LINK_OUT));
        rogue.say(&Control::PlanEnd { entries: 100_001, allocated_bytes: 0, more: false, root: ROOT });
    });
}

/// Runs a hostile sender against a receiver, which must refuse it, report the reason, and change nothing.
#[track_caller]
fn refused(word: &str, attack: impl FnOnce(&mut Rogue)) {
    let setup = Setup::new();
    let outside = setup.directory.path().join("outside");
    fs::create_dir(&outside).expect("a directory");
    let (mut receiver, code) = setup.receive(&["--timeout", "10s"]);
    let mut rogue = Rogue::pair(&code.expect("a code"));
    attack(&mut rogue);
    receiver.failed(1, word);
    setup.assert_old_or_new();
    assert!(!setup.target.join("sealant-manifest").exists());
    assert_eq!(fs::read_dir(&outside).expect("a directory").count(), 0);
    assert!(!Path::new("/tmp/sealant-escaped").exists());
}

/// The files for attacks on data: one of three chunks, the last one short, and an empty one.
fn files() -> Vec<(Entry, Vec<u8>)> {
    let contents = [(&b"f"[..], Random(11).fill(2 * MIB + 5000)), (b"g", Vec::new())];
    let entry = |path: &[u8], bytes: u64| Entry {
        path: RelativePath::parse(path).expect("a path"),
        kind: Kind::File { bytes },
        mode: 0o600,
        uid: 0,
        gid: 0,
        modified: (1, 2),
    };
    contents.into_iter().map(|(path, bytes)| (entry(path, bytes.len() as u64), bytes)).collect()
}

/// Chunk `number` of file `file`, and its payload.
fn chunk(file: usize, number: u64) -> (Chunk<'static>, Vec<u8>) {
    let (_, bytes) = files().swap_remove(file);
    let all = bytes.len() as u64;
    let from = number as usize * CHUNK_BYTES;
    let payload = bytes[from..from + chunk_bytes(all, number)].to_vec();
    let hash = chunk_hash(all, number, &payload);
    (Chunk { file: file as u32, number, hash, codec: Codec::Raw, segments: None, payload: &[] }, payload)
}

fn say_chunk(to: &mut Tls, chunk: Chunk<'_>, payload: &[u8]) {
    say_data(to, &Data::Chunk(chunk), payload);
}

/// The hash of the list of files.
fn tree_hash() -> Hash {
    let entries = files().into_iter().enumerate().map(|(file, (entry, bytes))| {
        let hashes: Vec<Hash> = (0..chunks_of(bytes.len() as u64)).map(|number| chunk(file, number).0.hash).collect();
        (entry, file_hash(&hashes))
    });
    Manifest { entries: entries.collect() }.tree()
}

fn offer(rogue: &mut Rogue) -> Tls {
    for (entry, _) in files() {
        rogue.say(&Control::Entry(entry));
    }
    rogue.say(&Control::PlanEnd { entries: 2, allocated_bytes: 0, more: false, root: ROOT });
    rogue.wait_until_ready();
    rogue.data()
}

fn send_all(data: &mut Tls) {
    for (file, number) in [(0, 0), (0, 1), (0, 2), (1, 0)] {
        let (chunk, payload) = chunk(file, number);
        say_chunk(data, chunk, &payload);
    }
}

/// An attack by messages on a data connection.
#[track_caller]
fn refused_data(word: &str, attack: impl FnOnce(&mut Tls)) {
    refused(word, |rogue| {
        let mut data = offer(rogue);
        attack(&mut data);
        // Until the receiver closes: the test must not take its own close for the receiver's.
        let _ = data.read_to_end(&mut Vec::new());
    });
}

#[test]
fn chunks_outside_the_list_are_refused() {
    let change = |word, change: &dyn Fn(&mut Chunk<'_>, &mut Vec<u8>)| {
        refused_data(word, |data| {
            let (mut chunk, mut payload) = chunk(0, 2);
            change(&mut chunk, &mut payload);
            say_chunk(data, chunk, &payload);
        });
    };
    let segment = |from, bytes| Some(vec![Segment { from, bytes }]);
    let undecodable = "cannot be decoded";
    change("no file", &|chunk, _| chunk.file = 2);
    change("no file", &|chunk, _| chunk.file = u32::MAX);
    change("beyond the end", &|chunk, _| chunk.number = 3);
    change("beyond the end", &|chunk, _| chunk.number = u64::MAX);
    change("hash does not match", &|chunk, _| chunk.hash.0[31] ^= 1);
    change("hash does not match", &|_, payload| payload[4999] ^= 1);
    change(undecodable, &|_, payload| payload.truncate(4999));
    change(undecodable, &|_, payload| payload.push(0));
    change(undecodable, &|chunk, payload| {
        chunk.codec = Codec::Zstd;
        *payload = zstd::bulk::compress(&vec![0; MIB], 1).expect("zstd");
    });
    change(undecodable, &|chunk, _| chunk.codec = Codec::Lz4);
    change(undecodable, &|chunk, _| chunk.codec = Codec::Zeros);
    change(undecodable, &|chunk, _| chunk.segments = segment(1, 5000));
    change("malformed message", &|chunk, _| chunk.segments = segment(u32::MAX, 1));
    change("malformed message", &|chunk, _| chunk.segments = segment(0, 0));
    // Decrypted pages under a key that was never sent.
    change(undecodable, &|chunk, payload| {
        let described = [&7_u16.to_be_bytes()[..], &[0, 1, 0, 0, 0, 0, 0], payload].concat();
        chunk.codec = Codec::PagesZstd;
        *payload = zstd::bulk::compress(&described, 1).expect("zstd");
    });
}

#[test]
fn data_that_violates_the_protocol_is_refused() {
    refused_data("duplicate chunk", |data| {
        for _ in 0..2 {
            let (chunk, payload) = chunk(0, 1);
            say_chunk(data, chunk, &payload);
        }
    });
    refused_data("too many keys", |data| {
        let material = [&[1][..], &16384_u32.to_be_bytes(), &[7; 64]].concat();
        for slot in [15, 16] {
            say_data(data, &Data::Key { slot, material: Material(&material) }, &[]);
        }
    });
    // A key of the previous list.
    refused_data("cannot be decoded", |data| {
        let material = [&[1][..], &16384_u32.to_be_bytes(), &[7; 64]].concat();
        say_data(data, &Data::Key { slot: 7, material: Material(&material) }, &[]);
        say_data(data, &Data::End, &[]);
        crate::peer::hear(data);
        let (mut chunk, payload) = chunk(0, 2);
        chunk.codec = Codec::PagesZstd;
        let described = [&[0, 7, 0, 0][..], &payload].concat();
        say_chunk(data, chunk, &zstd::bulk::compress(&described, 1).expect("zstd"));
    });
    let odd = Data::Key { slot: 0, material: Material(&[9; 69]) };
    refused_data("malformed message", |data| say_data(data, &odd, &[]));
    refused_data("malformed message", |data| say_raw(data, 99, b""));
    refused_data("malformed message", |data| drop(data.write_all(&[0xff; 5]).and_then(|()| data.flush())));
    refused_data("unexpected message", |data| say_data(data, &Data::Attached, &[]));
}

#[test]
fn a_false_finish_message_is_refused() {
    refused("some chunks never came", |rogue| {
        let mut data = offer(rogue);
        let (chunk, payload) = chunk(0, 0);
        say_chunk(&mut data, chunk, &payload);
        rogue.say(&Control::Finish { tree: tree_hash() });
        let _ = data.read_to_end(&mut Vec::new());
    });
    refused("lists of files of both sides differ", |rogue| {
        let mut data = offer(rogue);
        send_all(&mut data);
        say_data(&mut data, &Data::End, &[]);
        crate::peer::hear(&mut data);
        rogue.say(&Control::Finish { tree: Hash([5; 32]) });
    });
}

/// Waits until everything sent on a connection has been handled, while it is not drained.
fn wait_until_heard(data: &mut Tls) {
    say_data(data, &Data::HashQuery { file: 0, first: 0, count: 1 }, &[]);
    let (kind, body) = crate::peer::hear(data).expect("an answer");
    assert_eq!(Data::decode(kind, &body), Ok(Data::Hashes { hashes: &chunk(0, 0).0.hash.0 }));
}

#[test]
fn a_sender_that_continues_before_its_connections_are_drained_is_refused() {
    let offer_more = |rogue: &mut Rogue, more| {
        files().into_iter().for_each(|(entry, _)| rogue.say(&Control::Entry(entry)));
        rogue.say(&Control::PlanEnd { entries: 2, allocated_bytes: 0, more, root: ROOT });
    };
    refused("before its connections are drained", |rogue| {
        offer_more(rogue, true);
        rogue.wait_until_ready();
        let mut data = rogue.data();
        send_all(&mut data);
        wait_until_heard(&mut data);
        offer_more(rogue, false);
        let _ = data.read_to_end(&mut Vec::new());
    });
    refused("before its connections are drained", |rogue| {
        let mut data = offer(rogue);
        send_all(&mut data);
        wait_until_heard(&mut data);
        rogue.say(&Control::Finish { tree: tree_hash() });
        let _ = data.read_to_end(&mut Vec::new());
    });
    for (file, first) in [(0, 0), (1, u64::MAX), (u32::MAX, 0)] {
        refused_data("chunks that are not present", |data| {
            say_data(data, &Data::HashQuery { file, first, count: 1 }, &[])
        });
    }
}

/// Peak memory of a process, in KiB.
fn peak_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or_default()
}

#[test]
fn a_sender_cannot_exhaust_the_receivers_memory() {
    const STREAMS: u8 = 64;
    let all = 3 * MIB as u64 - 1;
    let zeros = vec![0; MIB];
    let setup = Setup::new();
    let (mut receiver, code) = setup.receive(&["--streams", "64"]);
    let mut rogue = Rogue::pair_by(&code.expect("a code"), limit(SECONDS), |mut hello| {
        // The last field is the number of connections that it requests.
        hello.last_mut().into_iter().for_each(|last| *last = STREAMS);
        hello
    });
    let rogue = rogue.as_mut().expect("a welcome");
    let (entry, _) = files().swap_remove(0);
    for file in 0..STREAMS {
        let path = RelativePath::parse(&[b'A' + file]).expect("a path");
        rogue.say(&Control::Entry(Entry { path, kind: Kind::File { bytes: all }, ..entry.clone() }));
    }
    rogue.say(&Control::PlanEnd { entries: STREAMS.into(), allocated_bytes: 0, more: false, root: ROOT });
    rogue.wait_until_ready();
    let material = [&[1][..], &16384_u32.to_be_bytes(), &[7; 64]].concat();
    let opened = [&[0, 7, 0, 64][..], &[0; 64 * 5], &zeros].concat();
    let opened = zstd::bulk::compress(&opened, 1).expect("zstd");
    let open: Vec<_> = (0..STREAMS)
        .map(|file| {
            let mut data = rogue.data();
            (0..16).for_each(|slot| say_data(&mut data, &Data::Key { slot, material: Material(&material) }, &[]));
            for (number, codec, payload) in
                [(0, Codec::Raw, &zeros[..]), (1, Codec::PagesZstd, &opened), (2, Codec::Raw, &zeros[1..])]
            {
                let hash = chunk_hash(all, number, &zeros[..chunk_bytes(all, number)]);
                say_chunk(
                    &mut data,
                    Chunk { file: file.into(), number, hash, codec, segments: None, payload: &[] },
                    payload,
                );
            }
            say_data(&mut data, &Data::End, &[]);
            assert_eq!(crate::peer::hear(&mut data).map(|(kind, _)| kind), Some(37), "{}", receiver.said());
            data
        })
        .collect();
    let peak = peak_memory(receiver.child.id());
    drop(open);
    receiver.kill();
    assert!((1..256 << 10).contains(&peak), "{peak} KiB");
}

#[test]
fn a_repeated_finish_message_changes_nothing() {
    let setup = Setup::new();
    let (mut receiver, code) = setup.receive(&[]);
    let mut rogue = Rogue::pair(&code.expect("a code"));
    // A connection without the token is not the sender's.
    let unknown = rogue.data_with([0; 16]);
    let mut data = offer(&mut rogue);
    send_all(&mut data);
    say_data(&mut data, &Data::End, &[]);
    crate::peer::hear(&mut data);
    (0..2).for_each(|_| rogue.say(&Control::Finish { tree: tree_hash() }));
    assert_eq!(receiver.code(), Some(0), "{}", receiver.said());
    for (entry, bytes) in files() {
        assert!(fs::read(setup.target.join(entry.path.as_path())).expect("a file") == bytes);
    }
    drop(unknown);
}

/// A source of one small file.
fn small() -> Setup {
    let setup = Setup::new();
    fs::write(setup.source().join("f"), "contents").expect("a file");
    setup
}

#[test]
fn a_mistyped_code_is_reported() {
    let setup = small();
    let (mut receiver, code) = setup.receive(&[]);
    let code = code.expect("a code");
    let mut typed = code.to_string();
    let last = if typed.remove(40) == 'a' { 'b' } else { 'a' };
    typed.insert(40, last);
    setup.send_text(&typed, &[]).failed(2, "mistyped");
    setup.send_text(&typed[..50], &[]).failed(2, "cut short");
    // Nothing was damaged.
    assert_eq!(setup.send(&code, &[]).code(), Some(0));
    assert_eq!(receiver.code(), Some(0));
}

#[test]
fn a_wrong_secret_invalidates_the_code() {
    let setup = small();
    let (mut receiver, code) = setup.receive(&[]);
    let code = code.expect("a code");
    let guess = PairingCode { secret: Secret::generate().expect("a secret"), ..code.clone() };
    setup.send(&guess, &[]).failed(1, "secret is wrong");
    receiver.failed(1, "the code is void");
    setup.send(&code, &[]).failed(1, "refused");
    setup.assert_old_or_new();
}

#[test]
fn a_code_of_another_key_is_reported_and_invalidates_nothing() {
    let setup = small();
    let (mut receiver, code) = setup.receive(&[]);
    let code = code.expect("a code");
    let other = PairingCode { pin: Pin([7; PIN_BYTES]), ..code.clone() };
    setup.send(&other, &[]).failed(1, "is not the receiver that made the pairing code");
    assert_eq!(setup.send(&code, &[]).code(), Some(0));
    assert_eq!(receiver.code(), Some(0));
    setup.send(&code, &[]).failed(1, "refused");
}

#[test]
fn a_code_expires() {
    let setup = small();
    let (mut receiver, code) = setup.receive(&["--expiry", "1s"]);
    receiver.failed(1, "void");
    setup.send(&code.expect("a code"), &[]).failed(1, "refused");
}

/// Connects repeatedly and sends nothing, until stopped.
fn idle(address: SocketAddr, over: &AtomicBool) {
    let mut held = Vec::new();
    while !over.load(Ordering::Relaxed) {
        held.extend(TcpStream::connect(address));
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn port_scanners_neither_invalidate_the_code_nor_block_the_sender() {
    // Little data, so that its transfer takes a small part of the time on any machine.
    let setup = small();
    fs::write(setup.source().join("more"), Random(6).fill(2 * MIB)).expect("a file");
    let (mut receiver, code) = setup.receive(&[]);
    let code = code.expect("a code");
    let address = code.sockets().next().expect("an address");
    let mut held: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(address).expect("a connection")).collect();
    drop(TcpStream::connect(address));
    let mut garbage = TcpStream::connect(address).expect("a connection");
    let _ = garbage.write_all(&[b'G'; 70_000]);
    held.push(garbage);
    let anonymous = connect(address, &config(false));
    let known = connect(address, &config(true));
    let over = AtomicBool::new(false);
    let began = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| idle(address, &over));
        let mut sender = setup.send(&code, &["--bwlimit", "20MiB"]);
        let ended = sender.code();
        over.store(true, Ordering::Relaxed);
        assert_eq!(ended, Some(0), "{}", sender.said());
    });
    assert_eq!(receiver.code(), Some(0), "{}", receiver.said());
    // An unauthenticated peer has ten seconds, and the receiver did not wait for it.
    assert!(began.elapsed() < limit(9), "{:?}", began.elapsed());
    assert_same(&setup.source(), &setup.target);
    drop((held, anonymous, known));
}
