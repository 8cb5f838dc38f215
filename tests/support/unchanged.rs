//! File systems in plain files, and a load whose acknowledged commits a copy must contain.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use harness::{Kind, Server};
use tempfile::TempDir;

/// A file system in an image file, mounted.
pub(crate) struct Volume {
    kind: &'static str,
    image: PathBuf,
    mount: PathBuf,
    _dir: TempDir,
}

impl Volume {
    /// Creates and mounts a file system. If that is not possible, prints on stderr that the test is skipped.
    ///
    /// # Panics
    /// If `CI` is set: a skipped test must not count as passed there.
    pub(crate) fn new(kind: &'static str, mib: u64) -> Option<Self> {
        // Short, and in /tmp: the path of a socket below it has at most 107 bytes.
        let dir = tempfile::Builder::new().prefix("sealant-fs-").tempdir_in("/tmp").expect("a directory");
        let (image, mount) = (dir.path().join("image"), dir.path().join("m"));
        File::create(&image).expect("room").set_len(mib << 20).expect("room");
        std::fs::create_dir(&mount).expect("room");
        let made = run(Command::new(format!("mkfs.{kind}")).arg("-q").arg(&image));
        let mounted = made.and_then(|()| mount_image(kind, &image, &mount));
        if let Err(why) = mounted {
            harness::skip(&format!("{kind} cannot be mounted here: {why}"));
            return None;
        }
        Some(Self { kind, image, mount, _dir: dir })
    }

    /// Cuts the power: whatever the system has not yet written to the device is lost. Nothing may use the file system.
    pub(crate) fn cut_power(&self) {
        // The image has what the device has, not what is only in the caches of the file system.
        let on_device = self.image.with_extension("cut");
        run(Command::new("cp").arg("--sparse=always").args([&self.image, &on_device])).expect("room");
        run(Command::new("umount").arg(&self.mount)).expect("it is not in use");
        std::fs::rename(on_device, &self.image).expect("renamed");
        mount_image(self.kind, &self.image, &self.mount).expect("mounted");
    }

    /// Path where it is mounted.
    pub(crate) fn path(&self) -> &Path {
        &self.mount
    }

    /// Creates a directory in the file system; on btrfs, a subvolume.
    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        let path = self.mount.join(name);
        if self.kind == "btrfs" {
            run(Command::new("btrfs").args(["subvolume", "create"]).arg(&path)).expect("a subvolume");
        } else {
            std::fs::create_dir(&path).expect("a directory");
        }
        path
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.mount).status();
    }
}

/// ext4 commits what nobody has synced every five seconds; so that a power cut loses it, not within the time of a test.
fn mount_image(kind: &str, image: &Path, mount: &Path) -> Result<(), String> {
    let options = if kind == "ext4" { "loop,commit=300" } else { "loop" };
    run(Command::new("mount").args(["-o", options]).arg(image).arg(mount))
}

fn run(command: &mut Command) -> Result<(), String> {
    let Output { status, stderr, .. } = command.output().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&stderr).trim().to_owned()) }
}

/// Number of accounts. Every transfer between two accounts keeps the total.
const ACCOUNTS: u64 = 500;
const BALANCE: u64 = 1000;

/// Creates the tables of the load.
pub(crate) fn prepare(server: &Server, table_options: &str) {
    let numbers = (1..=ACCOUNTS).map(|id| format!("({id}, {BALANCE}, REPEAT('x', 300))")).collect::<Vec<_>>().join(",");
    let tables = format!(
        "CREATE DATABASE bank; USE bank;
         CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT NOT NULL, note VARCHAR(400), KEY (balance)) {table_options};
         CREATE TABLE journal (writer INT, seq BIGINT, filler VARCHAR(600), PRIMARY KEY (writer, seq)) {table_options};
         INSERT INTO account VALUES {numbers};"
    );
    server.sql(&tables).expect("the tables are made");
}

/// Writers that transfer money and log each transfer.
pub(crate) struct Load {
    writers: Vec<Writer>,
    order: Arc<Order>,
}

/// Flags by which the test controls the writers.
#[derive(Default)]
struct Order {
    pause: AtomicBool,
    stop: AtomicBool,
}

struct Writer {
    client: Child,
    threads: Vec<JoinHandle<()>>,
    acknowledged: Arc<AtomicU64>,
}

impl Load {
    pub(crate) fn start(server: &Server, writers: u64) -> Self {
        let order = Arc::default();
        let writers = (0..writers).map(|number| Writer::start(server, number, &order)).collect();
        Self { writers, order }
    }

    /// Pauses the writers. They still finish the statements that their clients have already read.
    pub(crate) fn pause(&self) {
        self.order.pause.store(true, Ordering::SeqCst);
    }

    /// Resumes the writers after a pause.
    pub(crate) fn resume(&self) {
        self.order.pause.store(false, Ordering::SeqCst);
    }

    /// Number of transfers of each writer whose commit the server has acknowledged.
    pub(crate) fn acknowledged(&self) -> Vec<u64> {
        self.writers.iter().map(|writer| writer.acknowledged.load(Ordering::SeqCst)).collect()
    }

    /// Waits until every writer has committed `by` more transfers.
    pub(crate) fn goes_on(&self, by: u64) {
        let then = self.acknowledged();
        // The limit is minutes, because each commit waits for the disk, which other tests keep busy.
        harness::wait_until("the server commits", harness::limit(180), || {
            let now = self.acknowledged();
            let go_on = now.iter().zip(&then).all(|(now, then)| *now >= then + by);
            if go_on { Ok(()) } else { Err(format!("{then:?}, {now:?}")) }
        });
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.order.stop.store(true, Ordering::SeqCst);
        for writer in &mut self.writers {
            let _ = writer.client.kill();
            let _ = writer.client.wait();
            for thread in writer.threads.drain(..) {
                let _ = thread.join();
            }
        }
    }
}

impl Writer {
    fn start(server: &Server, number: u64, order: &Arc<Order>) -> Self {
        let mut client = server.client();
        client.args(["--unbuffered", "bank"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut client = client.spawn().expect("the client starts");
        let (mut input, output) = (client.stdin.take().expect("piped"), client.stdout.take().expect("piped"));
        let acknowledged = Arc::new(AtomicU64::new(0));
        let (order, reported) = (Arc::clone(order), Arc::clone(&acknowledged));
        let pause = harness::writer_pause();
        let feeding = thread::spawn(move || {
            for seq in 1_u64.. {
                let (from, to) = (seq.wrapping_mul(7919 + number * 31) % ACCOUNTS + 1, seq % ACCOUNTS + 1);
                let statement = format!(
                    "START TRANSACTION; UPDATE account SET balance = balance - 7 WHERE id = {0}; \
                     UPDATE account SET balance = balance + 7 WHERE id = {1}; \
                     INSERT INTO journal VALUES ({number}, {seq}, REPEAT('j', {2})); COMMIT; SELECT {seq};\n",
                    from.min(to),
                    from.max(to),
                    seq % 600
                );
                while order.pause.load(Ordering::SeqCst) && !order.stop.load(Ordering::SeqCst) {
                    thread::sleep(Duration::from_millis(20));
                }
                if order.stop.load(Ordering::SeqCst) || input.write_all(statement.as_bytes()).is_err() {
                    return;
                }
                thread::sleep(pause);
            }
        });
        let reading = thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Ok(seq) = line.trim().parse() {
                    reported.store(seq, Ordering::SeqCst);
                }
            }
        });
        Self { client, threads: vec![feeding, reading], acknowledged }
    }
}

/// Asserts that the copy has everything committed before it, the total is right, and no transfer is missing.
#[track_caller]
pub(crate) fn assert_whole(copy: &Server, acknowledged: &[u64]) {
    let value = |query: &str| copy.value(query).expect("the copy answers");
    assert_eq!(
        value("SELECT SUM(balance) FROM bank.account"),
        (ACCOUNTS * BALANCE).to_string(),
        "transactions are torn"
    );
    for (writer, seq) in acknowledged.iter().enumerate() {
        let found = value(&format!("SELECT COUNT(*), IFNULL(MAX(seq), 0) FROM bank.journal WHERE writer = {writer}"));
        let (count, last) = found.split_once('\t').expect("two columns");
        assert_eq!(count, last, "writer {writer}: commits are missing in the middle");
        let last: u64 = last.parse().expect("a number");
        assert!(last >= *seq, "writer {writer}: {seq} was acknowledged, the copy ends with {last}");
    }
    let checked = copy.sql("CHECK TABLE bank.account, bank.journal").expect("checked");
    assert!(checked.lines().all(|line| line.ends_with("OK")), "{checked}");
    let by_index = value("SELECT COUNT(*) FROM bank.account FORCE INDEX (balance) WHERE balance > -1000000");
    assert_eq!(by_index, ACCOUNTS.to_string(), "the index does not agree with the table");
}

/// Options that make a server's redo log small, so that it wraps, and its binary log part of the copy.
pub(crate) fn options(kind: Kind) -> Vec<String> {
    let mut options = vec!["--log-bin=binlog".to_owned(), "--innodb-buffer-pool-size=24M".to_owned()];
    if kind.is_mariadb() {
        options.push("--binlog-format=ROW".to_owned());
        options.push("--gtid-strict-mode=ON".to_owned());
    } else {
        options.extend(["--gtid-mode=ON", "--enforce-gtid-consistency=ON"].map(str::to_owned));
    }
    options
}
