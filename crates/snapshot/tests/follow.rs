//! Copies of real servers that keep running while they are copied: the server's own recovery completes them.

use std::{
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use harness::{KeyringLocation, Kind, Server, ServerBuilder, require};
use innodb::binlog::CopyPosition;
use server::{Endpoint, Options as Connect, Target};
use snapshot::{
    DataDir, Error, Keep, Options, Provider, ProviderChoice, SnapshotCopy,
    follow::{Account, Checkpoint, Keys},
    take,
};

const ACCOUNTS: u64 = 400;
const BALANCE: u64 = 1000;
const TABLES: u64 = 4;

/// Tables between which money is transferred, and a journal with a row for each commit.
fn prepare(server: &Server, table_options: &str) {
    let other_engine = if server.kind().is_mariadb() { "Aria" } else { "MyISAM ENCRYPTION='N'" };
    let rows = (1..=ACCOUNTS).map(|id| format!("({id},{BALANCE},REPEAT('x',300))")).collect::<Vec<_>>().join(",");
    let mut sql = format!(
        "CREATE DATABASE bank; USE bank; CREATE TABLE journal (writer INT, seq BIGINT, filler VARCHAR(600), \
         PRIMARY KEY (writer, seq)) {table_options}; CREATE TABLE log (a INT) ENGINE={other_engine};"
    );
    for table in 0..TABLES {
        sql += &format!(
            "CREATE TABLE a{table} (id INT PRIMARY KEY, balance BIGINT NOT NULL, note VARCHAR(400), KEY (balance)) \
             {table_options}; \
             INSERT INTO a{table} VALUES {rows};"
        );
    }
    server.sql(&sql).expect("tables are made");
}

/// Clients that write, and optionally one that runs DDL; stopped on drop.
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

    fn wait_for_commits(&self, by: u64) {
        let then = self.acknowledged().iter().sum::<u64>();
        let wait_for_commits = || self.acknowledged().iter().sum::<u64>() >= then + by;
        harness::wait_until("the server commits", harness::limit(120), wait_for_commits);
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

/// Transfers money, and records each transfer that the server has acknowledged.
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
        // A deadlock rolls the transfer back.
        if statements.iter().all(|statement| connection.query(statement).is_ok()) {
            reported.store(seq, Ordering::SeqCst);
        } else {
            let _ = connection.query("ROLLBACK");
        }
    }
}

/// DDL of every kind, repeatedly; each round finds what the previous one left.
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
            // Some of them fail, for example because a table already exists.
            let _ = connection.query(&statement);
        }
    }
}

fn account(server: &Server) -> Account {
    account_of(server, "root")
}

fn account_of(server: &Server, user: &str) -> Account {
    let endpoint = Endpoint::Socket(server.socket().to_owned());
    Account { target: Target { endpoint, user: user.to_owned() }, options: Connect::default() }
}

fn connect(account: &Account) -> server::Connection {
    let options = Connect { changes: true, statement_timeout: Duration::from_secs(120), ..Connect::default() };
    server::Connection::open(&account.target, &options).expect("it answers")
}

/// Recovery from the newest checkpoint instead of the first one misses what was written between the two: the server
/// refuses the copy, or its contents are wrong. This shows that the other tests can fail.
fn a_copy_from_the_newest_checkpoint_is_wrong(case: &Case) {
    let server = case.builder.clone().start().expect("it starts");
    prepare(&server, case.table_options);
    let load = Load::start(&server, 3, false);
    load.wait_for_commits(300);
    // Or no page was written, and there was no checkpoint.
    server.sql("SET GLOBAL innodb_max_dirty_pages_pct = 0").expect("set");
    let control = Options { recover_from: Checkpoint::Newest, ..options(&server, case) };
    let copy = take_copy(&server, &control).expect("a copy");
    let followed = copy.followed().expect("it was followed").clone();
    let Ok(copy) = case.builder.clone().datadir_seed(copy.root()).start() else { return };
    let checked = panic::catch_unwind(AssertUnwindSafe(|| check(&copy, &[], &followed.position)));
    assert!(checked.is_err(), "{followed:?}: nothing is wrong with it");
}

/// Asserts that the total is right, every acknowledged commit is in the copy, and the binary log ends where the server
/// was.
fn check(copy: &Server, acknowledged: &[u64], position: &CopyPosition) {
    let value = |query: &str| copy.value(query).expect("the copy answers");
    let sums = (0..TABLES).map(|table| format!("(SELECT SUM(balance) FROM bank.a{table})")).collect::<Vec<_>>();
    let expected = ACCOUNTS * BALANCE * TABLES;
    assert_eq!(value(&format!("SELECT {}", sums.join(" + "))), expected.to_string(), "transactions are torn");
    for (writer, seq) in acknowledged.iter().enumerate() {
        let last = value(&format!("SELECT IFNULL(MAX(seq), 0) FROM bank.journal WHERE writer = {writer}"));
        assert!(last.parse::<u64>().expect("a number") >= *seq, "writer {writer}: {seq} was acknowledged, not {last}");
    }
    let tables = value(
        "SELECT /*+ SET_VAR(group_concat_max_len = 1000000) */ GROUP_CONCAT('`', table_schema, '`.`', table_name, '`') FROM information_schema.tables \
         WHERE table_schema = 'bank' AND table_type = 'BASE TABLE'",
    );
    let checked = copy.sql(&format!("CHECK TABLE {tables} EXTENDED")).expect("checked");
    assert!(checked.lines().all(|line| line.ends_with("OK")), "{checked}");
    if copy.kind() == Kind::MySql80 {
        // Its log_status counts transactions in the position of the binary log before it counts them in the set.
        let subset = format!("SELECT GTID_SUBSET('{}', @@GLOBAL.gtid_executed)", position.gtid);
        return assert_eq!(value(&subset), "1", "{} in {}", position.gtid, value("SELECT @@GLOBAL.gtid_executed"));
    }
    let gtid = if copy.kind().is_mariadb() { "gtid_binlog_pos" } else { "gtid_executed" };
    assert_eq!(value(&format!("SELECT REPLACE(@@GLOBAL.{gtid}, '\n', '')")), position.gtid);
}

fn rounds(usual: u32) -> u32 {
    std::env::var("SEALANT_FOLLOW_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// A server, and the options of its test.
struct Case {
    builder: ServerBuilder,
    table_options: &'static str,
    /// MySQL's keyring, which is passed to the copy.
    keyring: Option<PathBuf>,
    definitions: bool,
    rounds: u32,
}

impl Case {
    fn new(builder: ServerBuilder) -> Self {
        Self { builder, table_options: "", keyring: None, definitions: false, rounds: 2 }
    }

    fn keys(&self) -> Keys {
        let mut keys = verify::Keys::default();
        if let Some(path) = &self.keyring {
            keys.add_keyring(path).expect("a keyring");
        }
        Keys::new(keys)
    }
}

fn options(server: &Server, case: &Case) -> Options {
    Options {
        provider: ProviderChoice::Only(Provider::Follow),
        keep: Keep::WhileInUse,
        account: Some(account(server)),
        keys: case.keys(),
        ..Options::default()
    }
}

fn take_copy(server: &Server, options: &Options) -> Result<SnapshotCopy, Error> {
    take(&DataDir::at(server.datadir()).expect("its data directory"), options)
}

/// The reason why there is no copy.
fn refused(server: &Server, options: &Options) -> Error {
    take_copy(server, options).expect_err("it is refused")
}

fn check_copies(case: &Case) {
    let server = case.builder.clone().start().expect("it starts");
    prepare(&server, case.table_options);
    let load = Load::start(&server, 3, case.definitions);
    for round in 0..rounds(case.rounds) {
        load.wait_for_commits(300);
        let acknowledged = load.acknowledged();
        let copy = take_copy(&server, &options(&server, case)).unwrap_or_else(|error| panic!("round {round}: {error}"));
        let followed = copy.followed().expect("it was followed").clone();
        #[allow(clippy::print_stderr, reason = "the figures of a long test")]
        {
            eprintln!("round {round}: {followed:?}");
        }
        assert_eq!((followed.damaged.as_slice(), followed.unproven_pages), (&[][..], 0));
        let copy = case.builder.clone().datadir_seed(copy.root()).start();
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
        // So that pages and checkpoints are written during the copy.
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

fn mysql(kind: Kind) -> ServerBuilder {
    let options = [
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
        "--innodb-buffer-pool-size=24M",
        "--innodb-max-dirty-pages-pct-lwm=1",
        "--innodb-max-dirty-pages-pct=5",
        "--innodb-io-capacity=2000",
    ];
    Server::builder(kind).options(options.map(str::to_owned))
}

/// Tables, dictionary, undo, redo and binary logs are encrypted.
fn encrypted_mysql(kind: Kind, keyring: &Path) -> Case {
    let options = [
        "--innodb-redo-log-encrypt=ON",
        "--innodb-undo-log-encrypt=ON",
        "--binlog-encryption=ON",
        "--default-table-encryption=ON",
    ];
    let builder = mysql(kind).keyring(KeyringLocation::Path(keyring.to_owned())).options(options);
    Case { table_options: "ENCRYPTION='Y'", keyring: Some(keyring.to_owned()), rounds: 1, ..Case::new(builder) }
}

#[test]
fn mariadb_1011_is_copied_under_load() {
    if require(Kind::MariaDb1011).is_some() {
        check_copies(&Case { definitions: false, ..Case::new(mariadb(Kind::MariaDb1011)) });
    }
}

#[test]
fn mariadb_1011_is_copied_during_ddl() {
    if require(Kind::MariaDb1011).is_some() {
        check_copies(&Case { definitions: true, ..Case::new(mariadb(Kind::MariaDb1011)) });
    }
}

#[test]
fn encrypted_mariadb_1011_is_copied_during_ddl() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let keys = directory.path().join("keys.txt");
    std::fs::write(&keys, "1;770a8a65da156d24ee2a093277530142\n").expect("room");
    check_copies(&Case { definitions: true, ..Case::new(encrypted(Kind::MariaDb1011, &keys)) });
}

#[test]
fn mariadb_118_is_copied_during_ddl() {
    if require(Kind::MariaDb118).is_some() {
        check_copies(&Case { definitions: true, ..Case::new(mariadb(Kind::MariaDb118)) });
    }
}

#[test]
fn mysql_97_is_copied_under_load() {
    if require(Kind::MySql97).is_some() {
        check_copies(&Case { rounds: 1, ..Case::new(mysql(Kind::MySql97)) });
    }
}

#[test]
fn mysql_97_is_copied_during_ddl() {
    if require(Kind::MySql97).is_some() {
        check_copies(&Case { definitions: true, rounds: 1, ..Case::new(mysql(Kind::MySql97)) });
    }
}

#[test]
fn encrypted_mysql_97_is_copied_during_ddl() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let case = encrypted_mysql(Kind::MySql97, &directory.path().join("keyring"));
    check_copies(&Case { definitions: true, ..case });
}

#[test]
fn mysql_80_is_copied_under_load() {
    if require(Kind::MySql80).is_some() {
        check_copies(&Case { rounds: 1, ..Case::new(mysql(Kind::MySql80)) });
    }
}

#[test]
fn a_copy_of_mysql_97_recovered_from_the_newest_checkpoint_is_wrong() {
    if require(Kind::MySql97).is_some() {
        a_copy_from_the_newest_checkpoint_is_wrong(&Case::new(mysql(Kind::MySql97)));
    }
}

#[test]
fn a_copy_of_mariadb_1011_recovered_from_the_newest_checkpoint_is_wrong() {
    if require(Kind::MariaDb1011).is_some() {
        a_copy_from_the_newest_checkpoint_is_wrong(&Case::new(mariadb(Kind::MariaDb1011)));
    }
}

#[test]
fn an_encrypted_redo_log_of_mysql_97_needs_the_keyring() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let case = encrypted_mysql(Kind::MySql97, &directory.path().join("keyring"));
    let server = case.builder.clone().start().expect("it starts");
    prepare(&server, case.table_options);
    let no_keys = Options { keys: Keys::default(), ..options(&server, &case) };
    let error = refused(&server, &no_keys);
    assert!(matches!(error, Error::RedoEncrypted), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("--keyring")));

    // What was encrypted in the log before is older than the checkpoint then.
    server.sql("SET GLOBAL innodb_redo_log_encrypt = OFF; SET GLOBAL innodb_max_dirty_pages_pct = 0").expect("set");
    let load = Load::start(&server, 3, false);
    let mut copy = None;
    harness::wait_until("the log begins with clear blocks", harness::limit(120), || {
        load.wait_for_commits(300);
        copy = Some((load.acknowledged(), take_copy(&server, &no_keys)));
        !matches!(copy, Some((_, Err(Error::Redo { .. }))))
    });
    let (acknowledged, copy) = copy.expect("tried");
    let copy = copy.expect("a copy");
    let followed = copy.followed().expect("it was followed").clone();
    assert!(followed.unproven_pages > 0 && copy.effect().contains("read twice"), "{}", copy.effect());
    let copy = case.builder.datadir_seed(copy.root()).start().expect("the copy starts");
    check(&copy, &acknowledged, &followed.position);
}

#[test]
fn mysql_97_reports_why_it_cannot_be_copied() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let case = Case::new(mysql(Kind::MySql97));
    let server = case.builder.clone().start().expect("it starts");
    prepare(&server, "");
    server.sql("CREATE USER backup").expect("made");
    let as_backup = Options { account: Some(account_of(&server, "backup")), ..options(&server, &case) };
    for (grant, hint) in [
        ("BACKUP_ADMIN ON *.*", "GRANT BACKUP_ADMIN ON"),
        ("SELECT ON performance_schema.log_status", "GRANT SELECT ON performance_schema.log_status TO"),
        ("RELOAD ON *.*", "GRANT RELOAD ON"),
        ("SELECT, LOCK TABLES ON bank.*", "GRANT SELECT, LOCK TABLES ON"),
    ] {
        let error = refused(&server, &as_backup);
        assert!(error.hint().is_some_and(|found| found.starts_with(hint)), "{grant}: {error}: {:?}", error.hint());
        server.sql(&format!("GRANT {grant} TO backup")).expect("granted");
    }
    drop(take_copy(&server, &as_backup).expect("no other privilege is needed"));

    let mut other = connect(&account(&server));
    other.query("SELECT innodb_redo_log_consumer_register()").expect("registered");
    assert!(matches!(refused(&server, &as_backup), Error::OtherConsumer));
    drop(other);
    server.sql("ALTER INSTANCE DISABLE INNODB REDO_LOG").expect("disabled");
    assert!(matches!(refused(&server, &as_backup), Error::RedoDisabled));
    server.sql("ALTER INSTANCE ENABLE INNODB REDO_LOG").expect("enabled");

    // A killed session has lost its lock and the log; the next copy finds no remains of it.
    let stop = Arc::new(AtomicBool::new(false));
    let killer = thread::spawn({
        let (account, stop) = (account(&server), Arc::clone(&stop));
        move || kill_sessions_of_backup(&account, &stop)
    });
    let error = refused(&server, &as_backup);
    stop.store(true, Ordering::SeqCst);
    killer.join().expect("it ends");
    assert!(matches!(error, Error::Server { .. }), "{error:?}");
    assert!(!server.dir().join(".sealant-snapshots").exists(), "nothing is left behind");
    let is_free = || take_copy(&server, &as_backup).is_ok();
    harness::wait_until("the next copy is taken", harness::limit(60), is_free);
}

fn kill_sessions_of_backup(account: &Account, stop: &AtomicBool) {
    let mut connection = connect(account);
    while !stop.load(Ordering::SeqCst) {
        let query = "SELECT MIN(id) AS id FROM performance_schema.processlist WHERE user = 'backup'";
        let found = connection.query(query).expect("it answers").scalar().map(str::to_owned);
        if let Some(id) = found {
            // It may have ended on its own.
            let _ = connection.query(&format!("KILL {id}"));
        }
    }
}
