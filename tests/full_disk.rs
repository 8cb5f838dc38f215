//! `sealant encrypt` and `sealant rotate` on a disk that is or becomes full: one sentence says so, nothing is lost, and
//! the same command completes the work when there is space.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use harness::{KeyringLocation, Kind, Server, require};

use crate::support::encryption::{Ended, MYSQL_TABLES, SUMS, clear_mysql, comes_to, files_with_marker, start};
use crate::support::proof::Proof;
use crate::support::rotation::{Rotating, TABLES, encrypting};
use crate::support::tmpfs::{Tmpfs, fill};

/// A small disk, and a server on it with nothing encrypted.
struct Small {
    server: Server,
    disk: Tmpfs,
    _directory: tempfile::TempDir,
}

impl Small {
    /// `None` if this user cannot mount file systems, or MySQL is not installed.
    fn with_size(size: &str) -> Option<Self> {
        require(Kind::MySql97)?;
        let directory = tempfile::tempdir().expect("a directory");
        let disk = Tmpfs::mount(directory.path().join("disk"), size)?;
        let server = clear_mysql().within(&disk.0).start().expect("MySQL starts");
        Some(Self { server, disk, _directory: directory })
    }

    /// Without a compressed table: MySQL 9.7.4 aborts if it flushes a page of such a table to a full disk (assertion in
    /// fil0fil.cc).
    fn make_tables(&self) {
        self.server.sql(MYSQL_TABLES).expect("tables are made");
        self.server.sql("DROP TABLE shop.zip").expect("dropped");
    }

    /// Uses all space except this many MiB.
    fn fill(&self, but_for: u64) {
        fill(&self.disk.0, but_for << 20);
    }

    /// MySQL ends itself if a page that must be written cannot be; that is no fault of the run.
    fn start_if_it_aborted(&mut self) {
        if self.server.has_ended() {
            let log = self.server.error_log();
            let full = ["No space left", "errno: 28", "Error number 28", "is full"];
            assert!(full.iter().any(|text| log.contains(text)), "it ended for another reason: {log}");
            self.server.start().expect("MySQL starts when there is room");
        }
    }

    fn make_room(&self) {
        fs::remove_file(self.disk.0.join("filler")).expect("it was there");
    }
}

#[test]
fn tables_without_disk_space_are_reported_and_encrypted_once_there_is() {
    let Some(at) = Small::with_size("900M") else { return };
    at.make_tables();
    let before = at.server.sql(SUMS).expect("sums");
    at.fill(40);
    let remote = tempfile::tempdir().expect("a directory");
    let ended = Ended::with_state_in(remote.path(), &at.server, "run", &["--purge-binlogs"]);
    assert_eq!(ended.code, 3, "{} {}", ended.stderr, ended.report);
    assert!(ended.failures().contains("make room and run it again"), "{}", ended.failures());
    assert_eq!(at.server.sql(SUMS).expect("sums"), before);
    at.make_room();
    Ended::with_state_in(remote.path(), &at.server, "run", &["--purge-binlogs"]).is_done();
    assert_eq!(at.server.sql(SUMS).expect("sums"), before);
    assert_eq!(files_with_marker(at.server.datadir()), Vec::<PathBuf>::new());
}

#[test]
fn a_disk_that_fills_up_during_a_copy_loses_no_data() {
    let Some(mut at) = Small::with_size("900M") else { return };
    at.make_tables();
    let before = at.server.sql(SUMS).expect("sums");
    let mut child = start(&at.server, &["--purge-binlogs"]);
    comes_to(&at.server, &mut child, "ALTER TABLE");
    at.fill(0);
    // The disk is full for so long: some statements wait for space, others fail, as the server implements them.
    sleep(Duration::from_secs(8));
    at.make_room();
    let code = child.wait().expect("it ends").code();
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?}");
    at.start_if_it_aborted();
    assert_eq!(at.server.sql(SUMS).expect("sums"), before);
    Ended::run(&at.server, "run", &["--purge-binlogs"]).is_done();
    assert_eq!(at.server.sql(SUMS).expect("sums"), before);
    assert_eq!(files_with_marker(at.server.datadir()), Vec::<PathBuf>::new());
}

#[test]
fn an_unwritable_keyring_is_kept_and_a_rerun_rotates() {
    let Some(_) = require(Kind::MySql97) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let Some(disk) = Tmpfs::mount(directory.path().join("disk"), "64k") else { return };
    let keyring = disk.0.join("keyring");
    let server = encrypting().keyring(KeyringLocation::Path(keyring.clone())).start().expect("MySQL starts");
    server.sql(TABLES).expect("tables are made");
    up_to_the_end_of_a_block(&server, &keyring);
    fill(&disk.0, 0);
    let at = Rotating::on(server);
    let before = fs::read(&keyring).expect("a keyring");
    at.run("full.age", &["--master-key"]).refused(1, "B are free on its disk", "make room");
    Ended::run(&at.server, "run", &[]).refuses(1, "B are free on its disk");
    assert!(fs::read(&keyring).expect("a keyring") == before, "it is as it was");
    Proof::mysql(&[at.server.datadir()], Some(&keyring)).is_sound();
    fs::remove_file(disk.0.join("filler")).expect("it was there");
    at.run("full.age", &["--master-key"]).is_done();
    Proof::mysql(&[at.server.datadir()], Some(&keyring)).is_sound();
    at.opens_everything("full.age");
}

/// Creates keys until the next one needs another disk block.
fn up_to_the_end_of_a_block(server: &Server, keyring: &Path) {
    let size = || fs::metadata(keyring).expect("a keyring").len();
    loop {
        let before = size();
        server.sql("ALTER INSTANCE ROTATE INNODB MASTER KEY").expect("rotated");
        let key = size() - before;
        if size() % 4096 + key > 4096 {
            break;
        }
    }
}

#[test]
fn a_key_backup_without_disk_space_stops_the_rotation() {
    let Some(_) = require(Kind::MySql97) else { return };
    let at = Rotating::begin();
    let Some(disk) = Tmpfs::mount(at.path("small"), "64k") else { return };
    fill(&disk.0, 0);
    let newest = at.newest();
    at.run("small/b.age", &["--master-key"]).refused(1, "cannot be written", "");
    assert_eq!(at.newest(), newest);
    let left: Vec<_> = fs::read_dir(&disk.0).expect("a directory").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["filler"]);
}
