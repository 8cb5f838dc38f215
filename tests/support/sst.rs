//! Clusters whose nodes join through Sealant, and the load on them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use harness::galera::{Cluster, SetUp, wait_until_synced};
use harness::{Error, Kind, Server, ServerBuilder, require};
use server::{Connection, Endpoint, Options, Target};
use tempfile::TempDir;

use super::chance::number;

/// A directory that contains `wsrep_sst_sealant`.
pub(crate) struct Programs {
    directory: TempDir,
}

impl Programs {
    /// The program, under the name that servers call.
    pub(crate) fn new() -> Self {
        let programs = Self { directory: tempfile::tempdir().expect("a directory") };
        programs.restore();
        programs
    }

    fn program(&self) -> PathBuf {
        self.directory.path().join("wsrep_sst_sealant")
    }

    /// Replaces the program with a script, in which `$REAL` is the path of the program.
    pub(crate) fn replace(&self, script: &str) {
        let real = self.directory.path().join("real");
        fs::create_dir_all(&real).expect("a directory");
        let real = real.join("wsrep_sst_sealant");
        let _ = fs::remove_file(&real);
        symlink(env!("CARGO_BIN_EXE_sealant"), &real).expect("a link");
        self.remove();
        harness::script(&self.program(), &format!("REAL={}\n{script}", real.display())).expect("a script");
    }

    /// Removes the program.
    pub(crate) fn remove(&self) {
        fs::remove_file(self.program()).expect("it was there");
    }

    /// Restores the program.
    pub(crate) fn restore(&self) {
        let _ = fs::remove_file(self.program());
        symlink(env!("CARGO_BIN_EXE_sealant"), self.program()).expect("a link");
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().to_owned()
    }
}

/// Clients that transfer money between accounts, which keeps the total unchanged.
pub(crate) struct Load {
    over: Arc<AtomicBool>,
    commits: Arc<AtomicU64>,
    stall: Arc<AtomicU64>,
    writers: Vec<JoinHandle<()>>,
}

const ACCOUNTS: u64 = 2000;

/// Creates tables with `mebibytes` of incompressible data, and the accounts.
pub(crate) fn fill(server: &Server, mebibytes: usize) {
    let made = "CREATE DATABASE bank; USE bank; \
        CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT NOT NULL, filler VARCHAR(200)); \
        INSERT INTO account SELECT seq, 1000, REPEAT('x', 200) FROM seq_1_to_2000; \
        CREATE TABLE transfer (id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT, b INT, amount INT, note VARCHAR(100)); \
        CREATE TABLE bulk (id INT PRIMARY KEY, v VARBINARY(1024)); \
        CREATE TABLE myisam_like (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=Aria TRANSACTIONAL=1; \
        INSERT INTO myisam_like SELECT seq, seq FROM seq_1_to_1000;";
    server.sql(made).expect("tables are made");
    for part in 0..mebibytes.div_ceil(8) {
        let (from, to) = (part * 8192 + 1, (part + 1) * 8192);
        let rows = format!("USE bank; INSERT INTO bulk SELECT seq, RANDOM_BYTES(1000) FROM seq_{from}_to_{to}");
        server.sql(&rows).expect("rows");
    }
}

impl Load {
    /// Starts `writers` clients that write without pause.
    pub(crate) fn begin(server: &Server, writers: u64) -> Self {
        let (over, commits, stall) = (Arc::default(), Arc::default(), Arc::default());
        let writers = (0..writers).map(|number| {
            let socket = server.socket().to_owned();
            let (over, commits, stall) = (Arc::clone(&over), Arc::clone(&commits), Arc::clone(&stall));
            thread::spawn(move || write(&socket, number, &over, &commits, &stall))
        });
        let writers = writers.collect();
        Self { over, commits, stall, writers }
    }

    /// Resets the longest commit.
    pub(crate) fn forget(&self) {
        self.stall.store(0, Ordering::Relaxed);
    }

    /// The longest commit since the reset.
    pub(crate) fn longest(&self) -> Duration {
        Duration::from_micros(self.stall.load(Ordering::Relaxed))
    }

    /// Number of commits so far.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Stops the load; returns the number of commits.
    pub(crate) fn end(self) -> u64 {
        self.over.store(true, Ordering::Relaxed);
        for writer in self.writers {
            writer.join().expect("a writer ends in order");
        }
        self.commits.load(Ordering::Relaxed)
    }
}

fn write(socket: &Path, writer: u64, over: &AtomicBool, commits: &AtomicU64, stall: &AtomicU64) {
    let target = Target { endpoint: Endpoint::Socket(socket.to_owned()), user: "root".to_owned() };
    let options = Options { changes: true, statement_timeout: harness::limit(120), ..Options::default() };
    let mut connection = Connection::open(&target, &options).expect("a connection");
    let mut number = writer;
    while !over.load(Ordering::Relaxed) {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (a, b) = ((number >> 33) % ACCOUNTS + 1, (number >> 17) % ACCOUNTS + 1);
        let began = Instant::now();
        let statements = [
            "BEGIN".to_owned(),
            format!("UPDATE bank.account SET balance = balance - 7 WHERE id = {a}"),
            format!("UPDATE bank.account SET balance = balance + 7 WHERE id = {b}"),
            format!(
                "INSERT INTO bank.transfer (a, b, amount, note) VALUES ({a}, {b}, 7, REPEAT('n', {}))",
                number % 90
            ),
            "COMMIT".to_owned(),
        ];
        // If two writers conflict, on this node or in the cluster, one of them gets an error, and its transaction has
        // no effect.
        let done = statements.iter().try_for_each(|sql| connection.query(sql).map(drop));
        if done.is_err() {
            let _ = connection.query("ROLLBACK");
            continue;
        }
        let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        stall.fetch_max(micros, Ordering::Relaxed);
        commits.fetch_add(1, Ordering::Relaxed);
    }
}

const SUMS: &str = "CHECKSUM TABLE bank.account, bank.transfer, bank.bulk, bank.myisam_like";

/// Asserts that both nodes have the same rows once both have applied everything, and that the totals are right.
#[track_caller]
pub(crate) fn same_rows(donor: &Server, joiner: &Server) {
    let expected = donor.value(SUMS).expect("checksums");
    harness::wait_until("the same rows", harness::limit(60), || match joiner.value(SUMS).expect("checksums") {
        found if found == expected => Ok(()),
        found => Err(format!("{found}\n{expected}\n{}", joiner.new_log())),
    });
    let invariants = "SELECT (SELECT SUM(balance) = COUNT(*) * 1000 FROM bank.account), \
        (SELECT COUNT(*) FROM bank.transfer) > 0";
    assert_eq!(joiner.value(invariants).expect("sums"), "1\t1");
    let checked = joiner.sql("CHECK TABLE bank.account, bank.transfer, bank.bulk, bank.myisam_like").expect("checks");
    assert!(checked.lines().all(|line| line.ends_with("\tOK")), "{checked}");
}

/// The process of one side of a state transfer on this data directory.
pub(crate) fn program(role: &str, datadir: &Path) -> Option<i32> {
    let directory = format!("{}/", datadir.display());
    fs::read_dir("/proc").expect("/proc").flatten().find_map(|item| {
        let pid = item.file_name().to_str()?.parse().ok()?;
        let line = fs::read(item.path().join("cmdline")).ok()?;
        let message: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let named = message.first()?.ends_with(b"wsrep_sst_sealant");
        let has = |word: &str| message.contains(&word.as_bytes());
        (named && has(role) && has(&directory)).then_some(pid)
    })
}

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn until(what: &str, seconds: u64, is_so: impl FnMut() -> bool) {
    harness::wait_until(what, harness::limit(seconds), is_so);
}

/// Bytes that a joiner has staged so far.
pub(crate) fn staged(datadir: &Path) -> u64 {
    let journal = datadir.join(".sealant_in/.sealant-staging/journal");
    fs::metadata(journal).map_or(0, |journal| (journal.len() / 60) << 20)
}

/// Options that make a transfer slow enough to cause faults during it.
pub(crate) const SLOW: &str = "[sst]\nrlimit=6m\nencrypt=0\n";

/// Number of write-sets after which a joiner no longer receives the last large write-set. A joiner gets the write-sets
/// since all nodes last reported their progress, which they do after 128 write-sets or 1024 rows
/// (`Certification::index_purge_required` of Galera). This number is more than twice 128.
pub(crate) const ENOUGH_WRITE_SETS: u64 = 300;

/// Amount of data to send, in MiB.
pub(crate) fn mebibytes() -> usize {
    number("SEALANT_SST_MIB", 48) as usize
}

/// Options for nodes that join through this program.
pub(crate) fn set_up(kind: Kind, programs: &Programs) -> SetUp {
    SetUp::new(kind).method("sealant").programs(programs.path()).options(["--innodb-log-file-size=16M"])
}

/// Starts a node that joins, and waits until it is ready.
#[track_caller]
pub(crate) fn join(node: &mut Server) -> Duration {
    let began = Instant::now();
    if let Err(error) = node.start().and_then(|()| wait_until_synced(node)) {
        panic!("{error}\n{}", node.new_log());
    }
    began.elapsed()
}

/// Like [`join`]; the message of a failure includes the donor's log.
#[track_caller]
pub(crate) fn join_from(donor: &Server, node: &mut Server) -> Duration {
    let began = Instant::now();
    if let Err(error) = node.start().and_then(|()| wait_until_synced(node)) {
        panic!("{error}\n{}\nLog of the donor:\n{}", node.new_log(), donor.error_log());
    }
    began.elapsed()
}

/// Starts a node that must fail, and returns its log.
#[track_caller]
pub(crate) fn fails(node: &mut Server) -> String {
    match node.start() {
        Err(Error::NotStarted { .. }) => {
            // The program that the server started may run a moment longer to report the reason.
            until("the joiner's program ends", 10, || program("joiner", node.datadir()).is_none());
            node.new_log()
        }
        other => panic!("{other:?}\n{}", node.new_log()),
    }
}

/// A builder without additional options.
pub(crate) fn empty(builder: ServerBuilder) -> ServerBuilder {
    builder.empty_datadir()
}

#[track_caller]
/// Asserts that a side of the transfer has logged a text.
pub(crate) fn says(log: &str, side: &str, text: &str) {
    // System messages, such as `Connection reset by peer`, start with a capital letter.
    let has = |line: &str| line.to_lowercase().contains(&text.to_lowercase());
    let line = log.lines().find(|line| line.contains("WSREP_SST: ") && line.contains(side) && has(line));
    assert!(line.is_some(), "no line of {side} with {text:?} in\n{log}");
}

/// A cluster of one node, with its own programs, for tests in which joining fails at first.
pub(crate) struct Setup {
    pub(crate) programs: Programs,
    pub(crate) donors: Programs,
    cluster: Cluster,
}

impl Setup {
    pub(crate) fn new(kind: Kind) -> Option<Self> {
        require(kind)?;
        let (programs, donors) = (Programs::new(), Programs::new());
        // Keeps the remaining node running if the other of two nodes is killed; without a quorum it would stop.
        let alone =
            "pc.ignore_quorum=true;evs.keepalive_period=PT0.5S;evs.suspect_timeout=PT5S;evs.inactive_timeout=PT10S";
        let cluster = set_up(kind, &donors).provider_options(alone).start(1).expect("a node");
        fill(&cluster.nodes[0], mebibytes());
        cluster.nodes[0].sql("INSERT INTO bank.transfer (a, b, amount) VALUES (1, 1, 0)").expect("a row");
        Some(Self { programs, donors, cluster })
    }

    pub(crate) fn donor(&self) -> &Server {
        &self.cluster.nodes[0]
    }

    pub(crate) fn node(&mut self, more: impl FnOnce(ServerBuilder) -> ServerBuilder) -> Server {
        let programs = self.programs.path();
        self.cluster.prepare(|builder| more(builder.empty_datadir().programs(programs))).expect("a node")
    }

    /// Rewrites the donor's option file, which its program reads each time.
    pub(crate) fn options(&self, text: &str) {
        fs::write(self.donor().dir().join("my.cnf"), text).expect("an option file");
    }

    /// Launches a node, and waits until part of the data has arrived.
    #[track_caller]
    pub(crate) fn interrupt(&self, node: &mut Server) {
        self.options(SLOW);
        node.launch().expect("it starts");
        until("a part of the data", 30, || staged(node.datadir()) > 8 << 20);
    }

    /// Starts the donor again after it was killed: it is the only node left.
    pub(crate) fn restart_donor(&mut self) {
        let [donor] = self.cluster.nodes.as_mut_slice() else { panic!("not one node") };
        let state = donor.datadir().join("grastate.dat");
        let text = fs::read_to_string(&state).expect("a state").replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1");
        fs::write(&state, text).expect("room");
        join(donor);
    }

    /// Asserts that after a failure the donor is ready and has logged the reason, and that the same node joins at its
    /// next attempt.
    #[track_caller]
    pub(crate) fn goes_on(&self, node: &mut Server, reason: &str) {
        let donor = self.donor();
        until("the donor goes on", 20, || {
            let state = "SHOW STATUS LIKE 'wsrep_local_state_comment'";
            donor.sql(state).is_ok_and(|state| state.contains("Synced"))
        });
        says(&donor.error_log(), "[ERROR] sealant donor", reason);
        self.next_try_works(node);
    }

    /// Asserts that a node joins at its next attempt, whatever ended the previous attempt.
    #[track_caller]
    pub(crate) fn next_try_works(&self, node: &mut Server) {
        let donor = self.donor();
        donor.sql("INSERT INTO bank.transfer (a, b, amount) VALUES (2, 2, 0)").expect("the donor writes");
        until("the donor's program ends", 5, || program("donor", donor.datadir()).is_none());
        until("the joiner's program ends", 5, || program("joiner", node.datadir()).is_none());
        self.options("");
        join(node);
        same_rows(donor, node);
        node.stop().expect("it stops");
    }
}

/// A file system in a file.
pub(crate) struct Image {
    directory: TempDir,
}

impl Image {
    /// Creates and mounts a file system; `None`, with a message, if that is not possible here.
    #[track_caller]
    pub(crate) fn mount(system: &str, mebibytes: u64) -> Option<Self> {
        let image = Self { directory: tempfile::tempdir().expect("a directory") };
        let file = image.directory.path().join("image");
        fs::File::create(&file).expect("a file").set_len(mebibytes << 20).expect("room");
        fs::create_dir(image.path()).expect("a directory");
        let run = |program: &str, args: &[&std::ffi::OsStr]| {
            Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
        };
        let made = run(&format!("mkfs.{system}"), &["-q".as_ref(), file.as_os_str()]);
        if !made || !run("mount", &["-o".as_ref(), "loop".as_ref(), file.as_os_str(), image.path().as_os_str()]) {
            harness::skip(&format!("only root can make and mount {system}"));
            return None;
        }
        Some(image)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("mounted")
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}
