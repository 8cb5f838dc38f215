//! Backups in a bucket whose server is killed and started again meanwhile: the same command completes, and nothing is
//! lost.
//!
//! `SEALANT_FAULTS` is the number of kills for each test (2), `SEALANT_FAULT_SEED` chooses their moments.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use harness::s3::{S3Server, s3_server};
use harness::{Server, limit, wait_until};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::backup::{Backups, Ran, files, files_below, is_same, ran, stopped_mysql, write_incompressible};
use crate::support::chance::{Random, number};
use crate::support::disk::text;

/// A file that makes some packs of the smallest size.
const EXTRA: &str = "demo/extra.MYD";
const EXTRA_BYTES: u64 = 32 << 20;

fn kills() -> u64 {
    number("SEALANT_FAULTS", 2)
}

struct Case {
    server: Server,
    keyring: PathBuf,
    s3: S3Server,
    backups: Backups,
}

impl Case {
    /// With one backup of everything.
    fn new() -> Option<Self> {
        let s3 = s3_server(true)?;
        let (server, keyring) = stopped_mysql()?;
        s3.create_bucket("backups", false).expect("a bucket");
        let (root, lines) = (s3.root().expect("root"), format!("keyring = {keyring:?}"));
        let backups = Backups::in_bucket(server.datadir(), &lines, &s3, &root, "s3://backups/mysql");
        backups.configure("[data]\n", "[data]\npack = \"4MiB\"\n");
        let case = Self { server, keyring, s3, backups };
        case.change();
        case.backups.backup(&["run"]).is(0);
        Some(case)
    }

    fn change(&self) {
        write_incompressible(&self.server.datadir().join(EXTRA), EXTRA_BYTES);
    }

    fn packs(&self) -> usize {
        let objects = files_below(&self.s3.path("data/backups/mysql/hosts/db1/packs"));
        objects.iter().filter(|path| path.extension() == Some("age".as_ref())).count()
    }

    /// Starts a run and waits until it has stored three of its packs. At that rate it needs more than a second for the
    /// others.
    fn run_in_progress(&self) -> Child {
        self.change();
        let enough = self.packs() + 3;
        let run = begin(&mut self.backups.command(&["run", "--json"]));
        wait_until("packs are stored", limit(60), || self.packs() >= enough);
        run
    }

    fn restore(&self, into: &Path) -> Command {
        self.backups.restore_command("1", into, &["--keyring", text(&self.keyring), "--streams", "1"])
    }

    #[track_caller]
    fn is_sound(&self) {
        self.backups.backup(&["check", "all", "--objects"]).is(0);
    }
}

fn begin(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

fn end(child: Child) -> Ran {
    ran(&child.wait_with_output().expect("it ends"))
}

/// Whether a command has not ended yet.
fn is_running(child: &mut Child) -> bool {
    child.try_wait().expect("a child").is_none()
}

#[test]
fn a_run_completes_although_the_store_is_killed_meanwhile() {
    let Some(mut case) = Case::new() else { return };
    case.backups.configure("[data]\n", "[data]\nbwlimit = \"12MiB\"\nstreams = 1\n");
    let mut random = Random::new(0x5d);
    for _ in 0..kills() {
        let mut run = case.run_in_progress();
        sleep(Duration::from_millis(random.below(600)));
        assert!(is_running(&mut run));
        case.s3.kill();
        sleep(Duration::from_millis(random.below(1000)));
        case.s3.start().expect("it starts again");
        end(run).is(0);
        case.is_sound();
    }

    // A run that gives up has lost nothing.
    case.backups.configure("timeout = \"10s\"", "timeout = \"10s\"\ngive_up = \"1s\"");
    let run = case.run_in_progress();
    case.s3.kill();
    end(run).is(1).says("does not answer").says("nothing was lost: run it again later");
    case.s3.start().expect("it starts again");
    let again = case.backups.backup(&["run"]).is(0).says("had been stored by a run that was interrupted");
    case.is_sound();
    let (number, into) = (again.number("/number").to_string(), case.backups.path("into"));
    case.backups.restore(&number, &into, &["--keyring", text(&case.keyring)]).is(0);
    is_same(&into, &files(case.server.datadir()));
}

#[test]
fn a_restore_completes_although_the_store_is_killed_meanwhile() {
    let Some(mut case) = Case::new() else { return };
    let (expected, into) = (files(case.server.datadir()), case.backups.path("into"));
    let staged = into.join(".sealant-staging/files").join(EXTRA);
    let signal = |restore: &Child, signal| kill_process(Pid::from_child(restore), signal).expect("it is there");
    let mut random = Random::new(0x5e);
    // A restore that has read everything does not need the store any more.
    let (mut needed, mut rounds) = (0, 0);
    while needed < kills() {
        rounds += 1;
        assert!(rounds < 20 * kills(), "the store was needed {needed} times");
        let mut restore = begin(&mut case.restore(&into));
        wait_until("a pack is restored", limit(60), || {
            fs::metadata(&staged).is_ok_and(|file| file.blocks() > 0) || !is_running(&mut restore)
        });
        signal(&restore, Signal::STOP);
        case.s3.kill();
        let before = case.s3.access_log().len();
        if random.below(2) == 0 {
            signal(&restore, Signal::CONT);
            sleep(Duration::from_millis(random.below(1000)));
        }
        case.s3.start().expect("it starts again");
        signal(&restore, Signal::CONT);
        end(restore).is(0);
        is_same(&into, &expected);
        fs::remove_dir_all(&into).expect("it was there");
        let is_needed = |line: &String| line.contains("GetObject ") && line.contains("/packs/");
        needed += u64::from(case.s3.access_log().iter().skip(before).any(is_needed));
    }
}
