//! Copies of real servers that work on while they are copied: the server's own recovery makes them whole.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use harness::{Kind, Server, ServerBuilder, require};
use server::{Endpoint, Options as Connect, Target};
use snapshot::{
    Choice, DataDir, Keep, Options, Provider,
    follow::{Account, Position},
    take,
};

const ACCOUNTS: u64 = 400;
const BALANCE: u64 = 1000;
const TABLES: u64 = 4;

/// Tables between which money moves, and a journal with a row for each commit.
fn prepare(server: &Server) {
    let rows = (1..=ACCOUNTS).map(|id| format!("({id},{BALANCE},REPEAT('x',300))")).collect::<Vec<_>>().join(",");
    let mut sql = "CREATE DATABASE bank; USE bank; CREATE TABLE journal (writer INT, seq BIGINT, filler VARCHAR(600), \
                   PRIMARY KEY (writer, seq)); CREATE TABLE log (a INT) ENGINE=Aria;"
        .to_owned();
    for table in 0..TABLES {
        sql += &format!(
            "CREATE TABLE a{table} (id INT PRIMARY KEY, balance BIGINT NOT NULL, note VARCHAR(400), KEY (balance)); \
             INSERT INTO a{table} VALUES {rows};"
        );
    }
    server.sql(&sql).expect("tables are made");
}

/// Writers, and perhaps one that changes definitions, until it is dropped.
struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    acknowledged: Vec<Arc<AtomicU64>>,
}

impl Load {
    fn start(server: &Server, writers: u64, definitions: bool) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let acknowledged: Vec<Arc<AtomicU64>> = (0..writers).map(|_| Arc::default()).collect();
        let mut threads = Vec::new();
        for (writer, reported) in (0..).zip(&acknowledged) {
            let (stop, reported, account) = (Arc::clone(&stop), Arc::clone(reported), account(server));
            threads.push(thread::spawn(move || write(&account, writer, &reported, &stop)));
        }
        if definitions {
            let (stop, account) = (Arc::clone(&stop), account(server));
            threads.push(thread::spawn(move || change_definitions(&account, &stop)));
        }
        Self { stop, threads, acknowledged }
    }

    fn acknowledged(&self) -> Vec<u64> {
        self.acknowledged.iter().map(|reported| reported.load(Ordering::SeqCst)).collect()
    }

    fn goes_on(&self, by: u64) {
        let then = self.acknowledged().iter().sum::<u64>();
        let goes_on = || self.acknowledged().iter().sum::<u64>() >= then + by;
        harness::wait_until("the server commits", harness::limit(120), goes_on);
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Moves money, and writes down each transfer that the server says is committed.
fn write(account: &Account, writer: u64, reported: &AtomicU64, stop: &AtomicBool) {
    let mut connection = connect(account);
    for seq in 1_u64.. {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let (from, to) = (seq * (7919 + writer) % ACCOUNTS + 1, seq % ACCOUNTS + 1);
        let (one, other) = (seq % TABLES, (seq + writer + 1) % TABLES);
        let digit = seq % 10;
        let statements = [
            "START TRANSACTION".to_owned(),
            format!("UPDATE bank.a{one} SET balance = balance - 7, note = REPEAT('{digit}', 300) WHERE id = {from}"),
            format!("UPDATE bank.a{other} SET balance = balance + 7 WHERE id = {to}"),
            format!("INSERT INTO bank.journal VALUES ({writer}, {seq}, REPEAT('j', {}))", seq % 600),
            "COMMIT".to_owned(),
        ];
        // A deadlock undoes the transfer.
        if statements.iter().all(|statement| connection.query(statement).is_ok()) {
            reported.store(seq, Ordering::SeqCst);
        } else {
            let _ = connection.query("ROLLBACK");
        }
    }
}

/// Changes of definitions of every kind, round and round; what one round leaves behind, the next one finds.
fn change_definitions(account: &Account, stop: &AtomicBool) {
    let mut connection = connect(account);
    for round in 0_u64.. {
        let (t, r, p) =
            (format!("bank.t{}", round % 7), format!("bank.r{}", round % 7), format!("bank.p{}", round % 5));
        let last = if round.is_multiple_of(3) { "DROP" } else { "TRUNCATE" };
        for statement in [
            format!("CREATE TABLE IF NOT EXISTS {t} (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(400))"),
            format!("INSERT INTO {t} (a, b) SELECT id, note FROM bank.a0"),
            format!("ALTER TABLE {t} ADD INDEX (a), ALGORITHM=INPLACE"),
            format!("ALTER TABLE {t} ADD COLUMN c{round} INT DEFAULT 5, ALGORITHM=INSTANT"),
            format!("ALTER TABLE {t} ADD COLUMN d{round} INT DEFAULT 6, FORCE"),
            format!("RENAME TABLE {t} TO {r}"),
            format!("RENAME TABLE {r} TO {t}"),
            format!("CREATE TABLE {p} (a INT) PARTITION BY HASH (a) PARTITIONS 3"),
            format!("INSERT INTO {p} SELECT id FROM bank.a1"),
            format!("TRUNCATE TABLE {p}"),
            format!("INSERT INTO {p} SELECT id FROM bank.a1"),
            format!("ALTER TABLE {t} ADD FULLTEXT (b)"),
            format!("OPTIMIZE TABLE {t}"),
            format!("INSERT INTO bank.log VALUES ({round})"),
            format!("{last} TABLE {t}"),
            format!("DROP TABLE IF EXISTS bank.p{}", (round + 1) % 5),
        ] {
            if stop.load(Ordering::SeqCst) {
                return;
            }
            // Some of them fail, as of a table that is there already.
            let _ = connection.query(&statement);
        }
    }
}

fn account(server: &Server) -> Account {
    let endpoint = Endpoint::Socket(server.socket().to_owned());
    Account { target: Target { endpoint, user: "root".to_owned() }, options: Connect::default() }
}

fn connect(account: &Account) -> server::Connection {
    let options = Connect { changes: true, statement_timeout: Duration::from_secs(120), ..Connect::default() };
    server::Connection::open(&account.target, &options).expect("it answers")
}

/// Money is neither made nor lost, every commit that was acknowledged is there, and the binary log ends where the server was.
fn check(copy: &Server, acknowledged: &[u64], position: &Position) {
    let value = |query: &str| copy.value(query).expect("the copy answers");
    let sums = (0..TABLES).map(|table| format!("(SELECT SUM(balance) FROM bank.a{table})")).collect::<Vec<_>>();
    let expected = ACCOUNTS * BALANCE * TABLES;
    assert_eq!(value(&format!("SELECT {}", sums.join(" + "))), expected.to_string(), "transactions are torn");
    for (writer, seq) in acknowledged.iter().enumerate() {
        let last = value(&format!("SELECT IFNULL(MAX(seq), 0) FROM bank.journal WHERE writer = {writer}"));
        assert!(last.parse::<u64>().expect("a number") >= *seq, "writer {writer}: {seq} was acknowledged, not {last}");
    }
    let tables = value(
        "SELECT GROUP_CONCAT('`', table_schema, '`.`', table_name, '`') FROM information_schema.tables \
         WHERE table_schema = 'bank' AND table_type = 'BASE TABLE'",
    );
    let checked = copy.sql(&format!("CHECK TABLE {tables} EXTENDED")).expect("checked");
    assert!(checked.lines().all(|line| line.ends_with("OK")), "{checked}");
    assert_eq!(value("SELECT @@gtid_binlog_pos"), position.gtid);
}

fn rounds() -> u32 {
    std::env::var("SEALANT_FOLLOW_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2)
}

fn copies_hold(builder: ServerBuilder, like: ServerBuilder, definitions: bool) {
    let server = builder.start().expect("it starts");
    prepare(&server);
    let load = Load::start(&server, 3, definitions);
    for round in 0..rounds() {
        load.goes_on(300);
        let acknowledged = load.acknowledged();
        let datadir = DataDir::at(server.datadir()).expect("its data directory");
        let options = Options {
            provider: Choice::Only(Provider::Follow),
            keep: Keep::WhileInUse,
            account: Some(account(&server)),
            ..Options::default()
        };
        let copy = take(&datadir, &options).unwrap_or_else(|error| panic!("round {round}: {error}"));
        let followed = copy.followed().expect("it was followed").clone();
        #[allow(clippy::print_stderr, reason = "the figures of a long test")]
        {
            eprintln!("round {round}: {followed:?}");
        }
        assert_eq!(followed.damaged, []);
        let copy = like.clone().datadir_seed(copy.root()).start();
        let copy = copy.unwrap_or_else(|error| panic!("round {round}: the copy does not start: {error}"));
        check(&copy, &acknowledged, &followed.position);
    }
}

fn mariadb(kind: Kind) -> ServerBuilder {
    let options = [
        "--log-bin=binlog",
        "--binlog-format=ROW",
        "--gtid-strict-mode=ON",
        "--innodb-buffer-pool-size=24M",
        "--innodb-log-file-size=8M",
        // So that pages and checkpoints are written while the copy goes on.
        "--innodb-max-dirty-pages-pct-lwm=1",
        "--innodb-max-dirty-pages-pct=5",
        "--innodb-io-capacity=2000",
    ];
    Server::builder(kind).options(options.map(str::to_owned))
}

fn encrypted(kind: Kind, keys: &Path) -> ServerBuilder {
    let options = [
        "--plugin-load-add=file_key_management",
        "--innodb-encrypt-tables=ON",
        "--innodb-encrypt-log=ON",
        "--innodb-encryption-threads=2",
        "--aria-encrypt-tables=ON",
        "--encrypt-binlog=ON",
    ];
    mariadb(kind).options(options).option(format!("--file-key-management-filename={}", keys.display()))
}

#[test]
fn mariadb_1011() {
    if require(Kind::MariaDb1011).is_some() {
        copies_hold(mariadb(Kind::MariaDb1011), mariadb(Kind::MariaDb1011), false);
    }
}

#[test]
fn mariadb_1011_whose_definitions_change() {
    if require(Kind::MariaDb1011).is_some() {
        copies_hold(mariadb(Kind::MariaDb1011), mariadb(Kind::MariaDb1011), true);
    }
}

#[test]
fn mariadb_1011_encrypted_whose_definitions_change() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let keys = directory.path().join("keys.txt");
    std::fs::write(&keys, "1;770a8a65da156d24ee2a093277530142\n").expect("room");
    let builder = || encrypted(Kind::MariaDb1011, &keys);
    copies_hold(builder(), builder(), true);
}

#[test]
fn mariadb_118_whose_definitions_change() {
    if require(Kind::MariaDb118).is_some() {
        copies_hold(mariadb(Kind::MariaDb118), mariadb(Kind::MariaDb118), true);
    }
}
