//! Backups and restores that are killed at any moment, or find no space at any write: every receipt restores, and the
//! same command completes an interrupted run.
//!
//! `SEALANT_FAULTS` is the number of random moments for each test (8), `SEALANT_FAULT_SEED` chooses them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use harness::Server;

use crate::support::backup::{
    Backups, age, ended, files, files_below, is_same, stopped_mysql, with_keeper, with_keyring, write_incompressible,
};
use crate::support::chance::{Random, number};
use crate::support::proof::flip;
use crate::support::tmpfs::Tmpfs;
use crate::support::unchanged::Volume;

/// Rounds in one repository; a new one afterwards keeps leftovers of killed runs from filling the disk.
const ROUNDS: u64 = 25;
/// Message of the system for `ENOSPC`.
const FULL: &str = "No space left on device";

fn rounds() -> u64 {
    number("SEALANT_FAULTS", 8)
}

fn quiet(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}

/// Kills a run after this time, unless it has already ended.
fn kill_after(mut child: Child, time: Duration) {
    sleep(time);
    child.kill().expect("it was there");
    child.wait().expect("it ends");
}

/// A random moment during a run of this length, or shortly after it.
fn moment(random: &mut Random, whole: Duration) -> Duration {
    let bound = u64::try_from(whole.as_micros()).expect("not that long") * 11 / 10;
    Duration::from_micros(random.below(bound.max(1)))
}

fn numbers(backups: &Backups) -> Vec<u64> {
    let listed = backups.backup(&["list"]).is(0);
    let number = |of: &serde_json::Value| of["number"].as_u64().expect("a number");
    listed.json["backups"].as_array().expect("a list").iter().map(number).collect()
}

/// Asserts that every object of every receipt exists and is complete.
fn is_sound(backups: &Backups) {
    let signers = backups.path("signers");
    let signers = signers.to_str().expect("the harness uses ASCII paths");
    backups.backup(&["check", "all", "--objects", "--allowed-signers", signers]).is(0);
}

struct Lab {
    server: Server,
    keyring: PathBuf,
}

impl Lab {
    fn new() -> Option<Self> {
        let (server, keyring) = stopped_mysql()?;
        Some(Self { server, keyring })
    }

    fn keys(&self) -> [&str; 2] {
        ["--keyring", self.keyring.to_str().expect("the harness uses ASCII paths")]
    }

    /// Backups whose first run was killed when it had stored one or two packs of three.
    fn killed_run(&self) -> Backups {
        for number in 0..9 {
            write_incompressible(&self.server.datadir().join(format!("demo/large{number}.MYD")), 8 << 20);
        }
        let backups = with_keyring(&self.server, &self.keyring);
        // One pack at a time, and the largest files first: the first pack has the encrypted data dictionary.
        backups.configure("[data]\n", "[data]\nstreams = 1\n");
        // Two threads store packs.
        let _ = killed_at(&backups.command(&["run"]), "renameat2", 2);
        backups
    }

    /// Asserts that the restored backup equals the server's files.
    fn restores(&self, backups: &Backups, number: u64) {
        let into = backups.path("restored");
        backups.restore(&number.to_string(), &into, &self.keys()).is(0);
        is_same(&into, &files(self.server.datadir()));
        fs::remove_dir_all(into).expect("it was there");
    }
}

#[test]
fn a_run_killed_at_any_moment_leaves_no_receipt_that_does_not_restore() {
    let Some(lab) = Lab::new() else { return };
    let mut random = Random::new(0xbac0);
    for first in (0..rounds()).step_by(ROUNDS as usize) {
        let backups = with_keyring(&lab.server, &lab.keyring);
        let began = Instant::now();
        backups.backup(&["run"]).is(0);
        let whole = began.elapsed();
        for round in first..rounds().min(first + ROUNDS) {
            // Every second run has to store everything.
            let verb = if round % 2 == 0 { &["run", "--full"][..] } else { &["run"] };
            kill_after(quiet(&mut backups.command(verb)), moment(&mut random, whole));
            is_sound(&backups);
        }
        for number in numbers(&backups) {
            lab.restores(&backups, number);
        }
        backups.backup(&["run"]).is(0);
        lab.restores(&backups, *numbers(&backups).last().expect("one"));
    }
}

/// Kills a command when a thread of it makes such a call for the n-th time, before the call has an effect.
fn killed_at(command: &Command, call: &str, nth: u64) -> Output {
    // With --seccomp-bpf, strace 6.1 sends no signal.
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")]);
    traced.args(["-e", &format!("inject={call}:signal=KILL:when={nth}")]);
    let ended = traced.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null()).output();
    let ended = ended.expect("strace starts");
    assert!(!ended.status.success(), "it ended before {call} {nth}: {ended:?}");
    ended
}

/// Packs of the repository: paths and lengths.
fn packs(backups: &Backups) -> BTreeMap<PathBuf, u64> {
    let is_pack = |path: &PathBuf| path.to_string_lossy().contains("/packs/") && path.extension().is_some();
    let packs = backups.objects().into_iter().filter(is_pack);
    packs.map(|path| (path.clone(), fs::metadata(path).expect("a pack").len())).collect()
}

/// A run that is killed leaves packs that no receipt names. The next run uses what has not changed since, and a prune does
/// not remove it.
#[test]
fn a_run_goes_on_where_a_killed_one_ended() {
    let Some(lab) = Lab::new().filter(|_| strace_is_there()) else { return };
    let backups = lab.killed_run();
    let left: u64 = packs(&backups).values().sum();
    assert!(left > 25 << 20 && numbers(&backups).is_empty(), "{left}");
    // One page in the middle of what is stored changes.
    let path = lab.server.datadir().join("demo/large0.MYD");
    let mut changed = fs::read(&path).expect("readable");
    changed[5 << 20] ^= 1;
    fs::write(&path, changed).expect("written");

    let resumed = backups.backup(&["run"]).is(0).says("had been stored by a run that was interrupted");
    let stored = resumed.number("/bytes/stored");
    assert_eq!(resumed.number("/pages/damaged") + resumed.number("/pages/unproven"), 0, "{}", resumed.json);
    is_sound(&backups);
    lab.restores(&backups, 1);

    // Prunes remove what no receipt names after a week.
    backups.objects().iter().for_each(|object| age(object, 30));
    with_keeper(&backups, "keep_last = 1\ndaily = 0\nweekly = 0\nmonthly = 0\nmin_good = 1");
    backups.backup(&["prune", "--yes"]).is(0);
    is_sound(&backups);
    lab.restores(&backups, 1);

    let full = backups.backup(&["run", "--full"]).is(0).number("/bytes/stored");
    assert!(stored + (25 << 20) < full, "{stored} of {full} bytes were stored again, {left} were there");
}

/// Packs of a killed run that are truncated or gone are stored again.
#[test]
fn a_run_does_not_use_lost_packs_of_a_killed_one() {
    let Some(lab) = Lab::new().filter(|_| strace_is_there()) else { return };
    let backups = lab.killed_run();
    for (number, (pack, bytes)) in packs(&backups).into_iter().enumerate() {
        match number {
            0 => fs::remove_file(pack).expect("removed"),
            _ => File::options().write(true).open(pack).and_then(|pack| pack.set_len(bytes - 1)).expect("truncated"),
        }
    }
    let run = backups.backup(&["run"]).is(0);
    assert!(!run.stderr.contains("a run that was interrupted"), "{}", run.stderr);
    is_sound(&backups);
    lab.restores(&backups, 1);
}

/// A prune that is killed at its n-th step has declared what it removes, and the next one removes the rest. Nothing is
/// lost that a kept backup needs.
#[test]
fn a_prune_killed_at_any_step_is_finished_by_the_next() {
    let Some(lab) = Lab::new().filter(|_| strace_is_there()) else { return };
    let backups = with_keyring(&lab.server, &lab.keyring);
    let extra = lab.server.datadir().join("demo/extra.MYD");
    for _ in 0..4 {
        write_incompressible(&extra, 300_000);
        backups.backup(&["run"]).is(0);
    }
    let newest = files(lab.server.datadir());
    backups.objects().iter().for_each(|object| age(object, 60));
    with_keeper(&backups, "keep_last = 2\ndaily = 0\nweekly = 0\nmonthly = 0\nmin_good = 1");
    let (repository, whole) = (backups.path("repository"), backups.path("whole"));
    let copy = |from: &Path, to: &Path| {
        let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
        assert!(copied.expect("cp").success());
    };
    copy(&repository, &whole);
    let prune = backups.command(&["prune", "--yes"]);
    backups.backup(&["prune", "--yes"]).is(0);
    let names = |of: &Backups| -> Vec<PathBuf> {
        let objects = of.objects().into_iter();
        objects.filter(|path| !path.to_string_lossy().contains("/prunes/")).collect()
    };
    let expected = names(&backups);
    let removed = files_below(&whole).len() - expected.len();
    assert!(removed > 4, "two receipts, two manifests, and their packs: {removed}");

    // The declaration is put after its signature, then each object is removed.
    let steps = (1..=2).map(|nth| ("renameat2", nth)).chain((2..=removed as u64).step_by(2).map(|nth| ("unlink", nth)));
    for (call, nth) in steps {
        fs::remove_dir_all(&repository).expect("it was there");
        copy(&whole, &repository);
        let _ = killed_at(&prune, call, nth);
        is_sound(&backups);
        let left = numbers(&backups);
        assert!(left.ends_with(&[3, 4]), "{call} {nth}: {left:?}");
        let rest = backups.backup(&["prune", "--yes"]).is(0);
        assert_eq!(names(&backups), expected, "{call} {nth}: {}", rest.json);
        is_sound(&backups);
    }
    backups.restore("4", &backups.path("newest"), &lab.keys()).is(0);
    is_same(&backups.path("newest"), &newest);
}

#[test]
fn a_restore_killed_at_any_moment_is_finished_by_the_same_command() {
    let Some(lab) = Lab::new() else { return };
    let mut random = Random::new(0xbac1);
    let backups = with_keyring(&lab.server, &lab.keyring);
    backups.backup(&["run"]).is(0);
    let began = Instant::now();
    lab.restores(&backups, 1);
    let whole = began.elapsed();
    let expected = files(lab.server.datadir());
    for _ in 0..rounds() {
        let into = backups.path("into");
        let is_whole = || into.join("sealant-manifest").exists() && !into.join(".sealant-staging").exists();
        while !is_whole() {
            kill_after(quiet(&mut backups.restore_command("1", &into, &lab.keys())), moment(&mut random, whole));
            if random.below(2) == 0 && !is_whole() {
                backups.restore("1", &into, &lab.keys()).is(0);
            }
        }
        is_same(&into, &expected);
        fs::remove_dir_all(into).expect("it was there");
    }
}

/// Kills a restore when it has moved the first entry into place.
fn killed_while_it_moves_files(restore: &Command, into: &Path) {
    let ended = killed_at(restore, "renameat2", 2);
    assert!(into.join(".sealant-staging/commit").exists() && !into.join("sealant-manifest").exists(), "{ended:?}");
}

/// Whoever completes the commit of a restore reports what that restore has found, and no other backup.
#[test]
fn a_restore_killed_while_it_moves_files_is_finished_with_its_own_result() {
    let Some(lab) = Lab::new().filter(|_| strace_is_there()) else { return };
    let (backups, keys) = (with_keyring(&lab.server, &lab.keyring), lab.keys());
    backups.backup(&["run"]).is(0);
    let (first, packs) = (files(lab.server.datadir()), packs(&backups));
    // The second backup has a damaged page.
    flip(&lab.server.datadir().join("demo/enc.ibd"), 5 * 16384 + 5000, 1);
    backups.backup(&["run"]).is(3);
    let second = files(lab.server.datadir());
    let (into, whole) = (backups.path("into"), backups.path("whole"));

    killed_while_it_moves_files(&backups.restore_command("1", &into, &keys), &into);
    let refused = backups.restore("2", &into, &keys).is(1).says("a restore of backup 1 of db1");
    refused.says("the same command for backup 1 finishes it");
    let owner = fs::metadata(&into).expect("a directory");
    let owner = format!("{}:{}", owner.uid(), owner.gid());
    let owned = [&keys[..], &["--owner", &owner]].concat();
    backups.restore("1", &into, &owned).is(1).says("--owner was given otherwise");
    let finished = backups.restore("1", &into, &keys).is(0).says("only an interrupted commit");
    assert!(finished.number("/number") == 1 && finished.number("/pages/proven") > 0, "{}", finished.json);
    is_same(&into, &first);
    fs::remove_dir_all(&into).expect("it was there");

    let pages = backups.restore("2", &whole, &keys).is(3).json["pages"].clone();
    killed_while_it_moves_files(&backups.restore_command("2", &into, &keys), &into);
    backups.restore("1", &into, &keys).is(1).says("a restore of backup 2 of db1");
    let finished = backups.restore("2", &into, &keys).is(3).says("only an interrupted commit");
    assert_eq!(finished.json["pages"], pages);
    is_same(&into, &second);
    fs::remove_dir_all(&into).expect("it was there");

    // Without a pack that is lost, though the manifest is there.
    let salvage = [&keys[..], &["--salvage"]].concat();
    // Whichever is lost, the rest is salvaged, even if the redo log needs a key that only this pack has.
    for pack in packs.keys() {
        let (aside, probe) = (backups.path("aside"), backups.path("probe"));
        fs::rename(pack, &aside).expect("moved");
        backups.restore("1", &probe, &salvage).is(3).says("lost: ");
        fs::remove_dir_all(&probe).expect("it was there");
        fs::rename(&aside, pack).expect("moved back");
    }
    fs::remove_file(packs.keys().next().expect("a pack")).expect("it was there");
    killed_while_it_moves_files(&backups.restore_command("1", &into, &salvage), &into);
    let finished = backups.restore("1", &into, &keys).is(3).says("lost: ").says("found in packs alone");
    assert_eq!(finished.json["salvaged"], true, "{}", finished.json);
}

/// A kill at the very end leaves an empty staging directory and no marker: what is in place is verified again.
#[test]
fn a_restore_killed_when_everything_is_in_place_is_verified_again() {
    let Some(lab) = Lab::new() else { return };
    let (backups, keys) = (with_keyring(&lab.server, &lab.keyring), lab.keys());
    let into = backups.path("into");
    backups.backup(&["run"]).is(0);
    let first = files(lab.server.datadir());
    let pages = backups.restore("1", &into, &keys).is(0).json["pages"].clone();
    write_incompressible(&lab.server.datadir().join("demo/extra.MYD"), 300_000);
    backups.backup(&["run"]).is(0);
    let staging = into.join(".sealant-staging/files");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(staging).expect("a directory");
    backups.restore("2", &into, &keys).is(1).says("it is not known of what");
    let finished = backups.restore("1", &into, &keys).is(0).says("only an interrupted commit");
    assert_eq!(finished.json["pages"], pages);
    is_same(&into, &first);
}

/// The power is cut at a random moment of a run, and right after runs and restores have ended: only what they synced is
/// left.
#[test]
fn a_power_cut_loses_no_backup_that_was_reported_and_leaves_none_that_does_not_restore() {
    let Some(lab) = Lab::new() else { return };
    let mut random = Random::new(0xbac6);
    let (count, most) = (rounds().div_ceil(4), ROUNDS / 3);
    for first in (0..count).step_by(most as usize) {
        let Some(volume) = Volume::new("ext4", 1024) else { return };
        let backups = Backups::within(volume.path(), lab.server.datadir(), &format!("keyring = {:?}", lab.keyring));
        let synced = Command::new("sync").arg("--file-system").arg(volume.path()).status();
        assert!(synced.expect("sync runs").success(), "configuration and keys are there before the first cut");
        let began = Instant::now();
        let mut done = backups.backup(&["run"]).is(0).number("/number");
        let whole = began.elapsed();
        volume.cut_power();
        for _ in first..count.min(first + most) {
            kill_after(quiet(&mut backups.command(&["run", "--full"])), moment(&mut random, whole));
            volume.cut_power();
            assert!(numbers(&backups).contains(&done));
            is_sound(&backups);
            done = backups.backup(&["run", "--full"]).is(0).number("/number");
            volume.cut_power();
            assert_eq!(numbers(&backups).last(), Some(&done));
        }
        is_sound(&backups);
        let into = backups.path("into");
        backups.restore(&done.to_string(), &into, &lab.keys()).is(0);
        volume.cut_power();
        is_same(&into, &files(lab.server.datadir()));
    }
}

/// Control for the test above: if nothing is synced, the power cut loses a backup and a restore that were reported.
#[test]
fn a_power_cut_loses_what_was_not_synced() {
    const SYNCS: &str = "fsync,fdatasync,syncfs,sync,sync_file_range";
    let Some(lab) = Lab::new().filter(|_| strace_is_there()) else { return };
    let Some(volume) = Volume::new("ext4", 1024) else { return };
    let backups = Backups::within(volume.path(), lab.server.datadir(), &format!("keyring = {:?}", lab.keyring));
    backups.backup(&["run"]).is(0);
    let synced = Command::new("sync").arg("--file-system").arg(volume.path()).status();
    assert!(synced.expect("sync runs").success());
    let inject = format!("inject={SYNCS}:retval=0");
    let without_syncs = |command: &Command| {
        ended(&mut strace(command, Path::new("/dev/null"), &["-e", &format!("trace={SYNCS}"), "-e", &inject])).is(0)
    };
    let into = backups.path("into");
    without_syncs(&backups.restore_command("1", &into, &lab.keys()));
    is_same(&into, &files(lab.server.datadir()));
    volume.cut_power();
    assert!(!into.exists() || files(&into) != files(lab.server.datadir()), "the restore was synced");
    without_syncs(backups.command(&["run", "--full"]).arg("--json"));
    volume.cut_power();
    let signers = backups.path("signers");
    let signers = signers.to_str().expect("the harness uses ASCII paths");
    let is_there = backups.object("hosts/db1/receipts/000002.json").exists();
    let check = backups.backup(&["check", "2", "--objects", "--allowed-signers", signers]);
    assert!(!is_there || check.code != 0, "the backup was synced");
}

/// Uses all space of a file system except this many bytes.
fn fill(disk: &Path, but_for: u64) {
    let file = File::create(disk.join("filler")).expect("a file");
    let block = vec![1; 4096];
    while (&file).write_all(&block).is_ok() {}
    let length = file.metadata().expect("a length").len();
    file.set_len(length.saturating_sub(but_for)).expect("shorter");
}

fn make_room(disk: &Path) {
    fs::remove_file(disk.join("filler")).expect("it was there");
}

/// Asserts that there is one error, that it names the cause, and that no other is suggested.
#[track_caller]
fn says_full(stderr: &str) {
    let errors: Vec<&str> = stderr.lines().filter(|line| line.contains("error:")).collect();
    assert!(errors.len() == 1 && errors[0].contains(FULL), "{stderr}");
}

#[test]
fn a_run_on_a_full_disk_reports_it_and_completes_once_there_is_space() {
    let Some(lab) = Lab::new() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let Some(disk) = Tmpfs::mount(directory.path().join("disk"), "400M") else { return };
    let new = || Backups::within(&disk.0, lab.server.datadir(), &format!("keyring = {:?}", lab.keyring));
    let mut random = Random::new(0xbac2);
    let stored = new().backup(&["run"]).is(0).number("/bytes/stored");
    let mut but_for = vec![0, 4096];
    but_for.extend((0..rounds()).map(|_| random.below(stored * 5 / 4)));
    // Objects of interrupted runs take space that no receipt accounts for: the disk has room for this many rounds.
    for but_for in but_for.chunks(10) {
        let backups = new();
        backups.backup(&["run"]).is(0);
        for (round, but_for) in but_for.iter().copied().enumerate() {
            let before = numbers(&backups);
            fill(&disk.0, but_for);
            let ran = backups.backup(&["run", "--full"]);
            if ran.code == 0 {
                assert!(but_for > stored / 2, "{but_for} of {stored}");
            } else {
                says_full(&ran.is(1).stderr);
                assert_eq!(numbers(&backups), before);
            }
            make_room(&disk.0);
            is_sound(&backups);
            let done = backups.backup(&["run", "--full"]).is(0).number("/number");
            if round % 4 == 0 {
                lab.restores(&backups, done);
            }
        }
    }
}

#[test]
fn a_restore_on_a_disk_that_fills_up_resumes_once_there_is_space() {
    let Some(lab) = Lab::new() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let Some(disk) = Tmpfs::mount(directory.path().join("disk"), "400M") else { return };
    let backups = with_keyring(&lab.server, &lab.keyring);
    backups.backup(&["run"]).is(0);
    let expected = files(lab.server.datadir());
    let into = disk.0.join("into");
    // Too little space from the start: nothing is staged.
    fill(&disk.0, 1 << 20);
    backups.restore("1", &into, &lab.keys()).is(1).says("free");
    make_room(&disk.0);
    let mut random = Random::new(0xbac3);
    for _ in 0..rounds().div_ceil(2) {
        let output =
            backups.restore_command("1", &into, &lab.keys()).stderr(Stdio::piped()).stdout(Stdio::null()).spawn();
        let child = output.expect("it starts");
        while !into.join(".sealant-staging").exists() {
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_micros(random.below(100_000)));
        fill(&disk.0, random.below(1 << 20) & !4095);
        let ended = child.wait_with_output().expect("it ends");
        make_room(&disk.0);
        if !ended.status.success() {
            assert_eq!(ended.status.code(), Some(1), "{ended:?}");
            says_full(&String::from_utf8_lossy(&ended.stderr));
            backups.restore("1", &into, &lab.keys()).is(0);
        }
        is_same(&into, &expected);
        fs::remove_dir_all(&into).expect("it was there");
    }
}

/// System calls that need space on a disk. `strace` ignores those that the program never makes.
const WRITES: &str = "write,pwrite64,copy_file_range,fallocate,ftruncate,mkdir,mkdirat,link,linkat,rename,renameat,renameat2,\
                      fsync,fdatasync,syncfs";

fn strace(command: &Command, output: &Path, options: &[&str]) -> Command {
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "--seccomp-bpf", "-o"]).arg(output).args(options);
    traced.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    traced
}

fn strace_is_there() -> bool {
    let there = Command::new("strace").arg("--version").output().is_ok();
    if !there {
        harness::skip("strace is not installed");
    }
    there
}

/// For each of these calls, the largest number that one thread of the command makes.
fn writes(command: &Command, log: &Path) -> Vec<(String, u64)> {
    let output = strace(command, log, &["-e", &format!("trace={WRITES}")]).output().expect("strace starts");
    assert!(output.status.success(), "{output:?}");
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let text = fs::read_to_string(log).expect("a log");
    for (thread, call) in text.lines().filter_map(|line| line.split_once(' ')) {
        let name = call.trim_start().split('(').next().unwrap_or_default();
        if WRITES.split(',').any(|write| write == name) {
            *counts.entry((name, thread)).or_default() += 1;
        }
    }
    let mut most: BTreeMap<&str, u64> = BTreeMap::new();
    for ((name, _), count) in counts {
        let of_name = most.entry(name).or_default();
        *of_name = count.max(*of_name);
    }
    most.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

/// A sample of this many calls, spread evenly over the names; all calls if there are fewer.
fn some_of(writes: &[(String, u64)], random: &mut Random) -> Vec<(String, u64)> {
    let all = writes.iter().map(|(_, count)| count).sum();
    if rounds() >= all {
        return writes.iter().flat_map(|(name, count)| (1..=*count).map(|nth| (name.clone(), nth))).collect();
    }
    let names = writes.iter().cycle().take(usize::try_from(rounds()).expect("a number"));
    names.map(|(name, count)| (name.clone(), 1 + random.below(*count))).collect()
}

/// Runs a command in which the n-th such call of each thread fails with `ENOSPC`. The command reports that or succeeds
/// without the call. The failed call may be the one that writes the message.
fn without_room(command: &Command, (call, nth): &(String, u64)) -> (i32, String) {
    let inject = format!("inject={call}:error=ENOSPC:when={nth}");
    let output = strace(command, Path::new("/dev/null"), &["-e", &format!("trace={call}"), "-e", &inject]).output();
    let output = output.expect("strace starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code().filter(|code| [0, 1].contains(code));
    let code = code.unwrap_or_else(|| panic!("{call} {nth}: {:?}, {said}", output.status));
    if code == 1 && !said.is_empty() {
        says_full(&said);
    }
    (code, said)
}

#[test]
fn a_run_without_space_for_some_write_leaves_no_receipt_that_does_not_restore() {
    let Some(lab) = Lab::new().filter(|_| strace_is_there()) else { return };
    let mut random = Random::new(0xbac4);
    let full = |backups: &Backups| backups.command(&["run", "--full", "--quiet"]);
    let first = with_keyring(&lab.server, &lab.keyring);
    let writes = writes(&full(&first), &first.path("log"));
    for some in some_of(&writes, &mut random).chunks(ROUNDS as usize) {
        let backups = with_keyring(&lab.server, &lab.keyring);
        backups.backup(&["run"]).is(0);
        for (round, write) in some.iter().enumerate() {
            let before = numbers(&backups);
            let (code, said) = without_room(&full(&backups), write);
            is_sound(&backups);
            let after = numbers(&backups);
            assert!(code == 1 || after.len() == before.len() + 1, "{write:?}: {before:?}, {after:?}, {said}");
            let done = backups.backup(&["run"]).is(0).number("/number");
            if round % 4 == 0 {
                after.last().into_iter().for_each(|number| lab.restores(&backups, *number));
                lab.restores(&backups, done);
            }
        }
    }
}

/// The state alone is on a disk that is full, is lost, or fills up right after the receipt was stored: one error or
/// warning names it, the repository keeps what it has, and the next run completes.
#[test]
fn a_state_that_cannot_be_written_costs_no_backup() {
    let Some(lab) = Lab::new().filter(|_| strace_is_there()) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let Some(disk) = Tmpfs::mount(directory.path().join("disk"), "64M") else { return };
    let backups = with_keyring(&lab.server, &lab.keyring);
    let state = disk.0.join("state");
    backups.configure(&format!("{:?}", backups.path("state")), &format!("{state:?}"));
    backups.backup(&["run"]).is(0).says("it is the first backup");
    fill(&disk.0, 0);
    let full = backups.backup(&["run", "--full"]).is(1);
    says_full(&full.stderr);
    assert!(full.stderr.contains(state.to_str().expect("ASCII")), "{}", full.stderr);
    assert_eq!(numbers(&backups), [1]);
    assert!(!files_below(&state).iter().any(|path| path.to_string_lossy().contains(".part")), "unfinished state");
    make_room(&disk.0);
    backups.backup(&["run"]).is(0).says("continues from 1");
    fs::remove_dir_all(&state).expect("it was there");
    let after_loss = backups.backup(&["run"]).is(0);
    assert!(after_loss.json["full"].is_string(), "{}", after_loss.json);
    let newest = after_loss.number("/number");

    // The record that the receipt is stored comes last.
    let run = backups.command(&["run", "--full", "--quiet"]);
    let record = nth_with(&run, &backups.path("log"), "/committed");
    let (code, said) = without_room(&run, &record);
    let made = newest + 2;
    assert!(code == 0 && said.contains(&format!("backup {made} is complete, but")), "{said}");
    assert!(said.contains("committed") && said.contains(FULL), "{said}");
    assert_eq!(numbers(&backups).last(), Some(&made));
    backups.backup(&["run"]).is(0).says(&format!("continues from {made}"));
    is_sound(&backups);
    lab.restores(&backups, made);
}

/// The first rename of a path with this end: the call, and its number within its thread.
fn nth_with(command: &Command, log: &Path, end: &str) -> (String, u64) {
    let output = strace(command, log, &["-e", "trace=rename,renameat,renameat2"]).output().expect("strace starts");
    assert!(output.status.success(), "{output:?}");
    let text = fs::read_to_string(log).expect("a log");
    let calls = || text.lines().filter_map(|line| line.split_once(' ')).map(|(of, call)| (of, call.trim_start()));
    let name = |call: &str| call.split('(').next().unwrap_or_default().to_owned();
    let is_it = |call: &str| call.contains(&format!("{end}\""));
    let at = calls().position(|(_, call)| is_it(call)).unwrap_or_else(|| panic!("no {end} in {text}"));
    let (thread, call) = calls().nth(at).expect("found");
    let before = calls().take(at + 1).filter(|(of, other)| *of == thread && name(other) == name(call)).count();
    (name(call), u64::try_from(before).expect("a number"))
}

#[test]
fn a_restore_without_space_for_some_write_is_finished_by_the_same_command() {
    let Some(lab) = Lab::new().filter(|_| strace_is_there()) else { return };
    let mut random = Random::new(0xbac5);
    let backups = with_keyring(&lab.server, &lab.keyring);
    backups.backup(&["run"]).is(0);
    let expected = files(lab.server.datadir());
    let into = backups.path("into");
    let with_report = backups.restore_command("1", &into, &lab.keys());
    let mut command = Command::new(with_report.get_program());
    // A report that cannot be written is a separate error, after the restore is complete.
    command.args(with_report.get_args().filter(|argument| *argument != "--json")).arg("--quiet");
    let writes = writes(&command, &backups.path("log"));
    fs::remove_dir_all(&into).expect("it was restored");
    for write in some_of(&writes, &mut random) {
        if without_room(&command, &write).0 == 1 {
            eprintln!("{write:?}");
            backups.restore("1", &into, &lab.keys()).is(0);
        }
        is_same(&into, &expected);
        fs::remove_dir_all(&into).expect("it was restored");
    }
}
