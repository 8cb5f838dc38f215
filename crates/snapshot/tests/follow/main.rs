//! Copies of real servers that keep running while they are copied: the server's own recovery completes them.
//!
//! `SEALANT_FOLLOW_ROUNDS` is the number of copies for each test, `SEALANT_FAULT_SEED` chooses what the clients do and
//! when a copy begins. Each copy prints a line that starts with the number of its round.

#[path = "../../../../tests/support/chance.rs"]
#[allow(dead_code, reason = "the tests of the command line use the rest")]
mod chance;
mod load;

use std::{
    fs,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use harness::{KeyringLocation, Kind, Replication, Server, ServerBuilder, require};
use innodb::page::checksum;
use snapshot::{
    DataDir, Error, Keep, Options, Provider, ProviderChoice, SnapshotCopy,
    follow::{Account, Checkpoint, Keys},
    take,
};

use crate::{
    chance::{Random, number},
    load::{Load, account, account_of, check, connect, prepare},
};

/// Copies of one server; a new one afterwards keeps the journal short.
const ROUNDS: u64 = 25;

/// Recovery from the newest checkpoint instead of the first one misses what was written between the two: the server
/// refuses the copy, or its contents are wrong. This shows that the other tests can fail.
fn a_copy_from_the_newest_checkpoint_is_wrong(case: &Case) {
    let server = case.builder.clone().start().expect("it starts");
    prepare(&server, case.table_options);
    let load = Load::start(&server, 3, false, &mut Random::new(0xf01));
    load.wait_for_commits(300);
    // Otherwise no page might be written, and there might be no new checkpoint.
    server.sql("SET GLOBAL innodb_max_dirty_pages_pct = 0").expect("set");
    let control = Options { recover_from: Checkpoint::Newest, ..options(&server, case) };
    let copy = take_copy(&server, &control).expect("a copy");
    let followed = copy.followed().expect("it was followed").clone();
    let Ok(copy) = case.builder.clone().datadir_seed(copy.root()).start() else { return };
    let checked = panic::catch_unwind(AssertUnwindSafe(|| check(&copy, &[], &followed.position)));
    assert!(checked.is_err(), "{followed:?}: nothing is wrong with it");
}

/// A server, and the options of its test.
struct Case {
    builder: ServerBuilder,
    table_options: &'static str,
    /// MySQL's keyring, which is passed to the copy.
    keyring: Option<PathBuf>,
    definitions: bool,
    rounds: u64,
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

/// Takes a copy, which must fail; returns the error.
fn refused(server: &Server, options: &Options) -> Error {
    take_copy(server, options).expect_err("it is refused")
}

fn check_copies(case: &Case) {
    let mut random = Random::new(0xf0);
    let rounds = number("SEALANT_FOLLOW_ROUNDS", case.rounds);
    for first in (0..rounds).step_by(ROUNDS as usize) {
        let server = case.builder.clone().start().expect("it starts");
        prepare(&server, case.table_options);
        let load = Load::start(&server, 3, case.definitions, &mut random);
        for round in first..rounds.min(first + ROUNDS) {
            load.wait_for_commits(50 + random.below(500));
            check_copy(case, &server, &load, round);
        }
    }
}

fn check_copy(case: &Case, server: &Server, load: &Load, round: u64) {
    let acknowledged = load.acknowledged();
    let (copy, open) = open_log_files(|| {
        loop {
            match take_copy(server, &options(server, case)) {
                // The load imports tables: until the statement for that, a file has the ID of the table it was copied from.
                Err(Error::SameTablespaceId { .. }) if case.definitions => {}
                taken => break taken,
            }
        }
    });
    let copy = copy.unwrap_or_else(|error| panic!("round {round}: {error}"));
    assert!(open <= 4, "{open} files of MySQL's redo log and copies of them were open at once");
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

/// The largest number of files of MySQL's redo log, and copies of these, that this process has open during `work`.
fn open_log_files<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let stop = AtomicBool::new(false);
    let open = || {
        let all = fs::read_dir("/proc/self/fd").expect("descriptors").flatten();
        all.filter_map(|item| fs::read_link(item.path()).ok()).filter(|path| is_log_file(path)).count()
    };
    thread::scope(|scope| {
        let counting = scope.spawn(|| {
            let mut most = 0;
            while !stop.load(Ordering::SeqCst) {
                most = most.max(open());
                thread::sleep(Duration::from_millis(1));
            }
            most
        });
        let result = work();
        stop.store(true, Ordering::SeqCst);
        (result, counting.join().expect("it counts"))
    })
}

fn is_log_file(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("#ib_redo"))
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
        "--innodb-undo-tablespaces=3",
        "--innodb-undo-log-truncate=ON",
        "--innodb-max-undo-log-size=10M",
        "--innodb-purge-rseg-truncate-frequency=1",
    ];
    Server::builder(kind).options(options.map(str::to_owned)).init_option("--innodb-undo-tablespaces=3")
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
        // The smallest: its files are reused during the copy.
        "--innodb-redo-log-capacity=8M",
    ];
    Server::builder(kind).options(options.map(str::to_owned))
}

/// Pages so large that a disk does not write them at once.
const LARGE_PAGES: &str = "--innodb-page-size=64k";

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

/// Runs a test on a server of MariaDB that encrypts everything.
fn check_copies_of_encrypted(kind: Kind) {
    if require(kind).is_none() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let keys = directory.path().join("keys.txt");
    fs::write(&keys, "1;770a8a65da156d24ee2a093277530142\n").expect("room");
    check_copies(&Case { definitions: true, ..Case::new(encrypted(kind, &keys)) });
}

#[test]
fn encrypted_mariadb_1011_is_copied_during_ddl() {
    check_copies_of_encrypted(Kind::MariaDb1011);
}

#[test]
fn encrypted_mariadb_118_is_copied_during_ddl() {
    check_copies_of_encrypted(Kind::MariaDb118);
}

#[test]
fn mariadb_118_is_copied_during_ddl() {
    if require(Kind::MariaDb118).is_some() {
        check_copies(&Case { definitions: true, ..Case::new(mariadb(Kind::MariaDb118)) });
    }
}

#[test]
fn large_pages_of_mariadb_1011_are_copied_whole() {
    if require(Kind::MariaDb1011).is_some() {
        let builder = mariadb(Kind::MariaDb1011).option(LARGE_PAGES).init_option(LARGE_PAGES);
        check_copies(&Case { rounds: 1, definitions: true, ..Case::new(builder) });
    }
}

#[test]
fn large_pages_of_mysql_97_are_copied_whole() {
    if require(Kind::MySql97).is_some() {
        let builder = mysql(Kind::MySql97).option(LARGE_PAGES).init_option(LARGE_PAGES);
        check_copies(&Case { rounds: 1, definitions: true, ..Case::new(builder) });
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
fn a_table_that_is_being_imported_is_refused() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let case = Case::new(mysql(Kind::MySql97));
    let server = case.builder.clone().start().expect("it starts");
    prepare(&server, case.table_options);
    let discarded = "CREATE TABLE bank.exported (a INT PRIMARY KEY); CREATE TABLE bank.imported LIKE bank.exported; \
                     ALTER TABLE bank.imported DISCARD TABLESPACE; FLUSH TABLES bank.exported FOR EXPORT";
    server.sql(discarded).expect("statements");
    let [from, to] = ["exported", "imported"].map(|name| server.datadir().join(format!("bank/{name}.ibd")));
    fs::copy(from, &to).expect("a copy of the file");
    let error = refused(&server, &options(&server, &case));
    assert!(matches!(error, Error::SameTablespaceId { .. }), "{error}");
    assert!(error.to_string().contains("bank/exported.ibd and bank/imported.ibd"), "{error}");
    server.sql("ALTER TABLE bank.imported IMPORT TABLESPACE").expect("it is imported");
    take_copy(&server, &options(&server, &case)).expect("a copy");
}

/// After a restart, nobody has used the table, so the server does not have its file open.
#[test]
fn a_table_of_mysql_97_outside_the_data_directory_is_refused() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let elsewhere = tempfile::tempdir().expect("a directory");
    let builder = mysql(Kind::MySql97).option(format!("--innodb-directories={}", elsewhere.path().display()));
    let case = Case::new(builder);
    let mut server = case.builder.clone().start().expect("it starts");
    prepare(&server, "");
    let table = format!("CREATE TABLE bank.far (a INT PRIMARY KEY) DATA DIRECTORY='{}'", elsewhere.path().display());
    server.sql(&table).expect("it is made");
    server.stop().expect("it stops");
    server.start().expect("it starts");
    let error = refused(&server, &options(&server, &case));
    assert!(matches!(&error, Error::TablespaceOutside { path } if path.ends_with("bank/far.ibd")), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("move the table")), "{:?}", error.hint());
    server.sql("DROP TABLE bank.far").expect("dropped");
    drop(take_copy(&server, &options(&server, &case)).expect("a copy"));
}

/// However large the binary log is, commits only wait for its end.
#[test]
fn commits_of_mariadb_1011_do_not_wait_for_all_of_a_large_binary_log() {
    const LOG_BYTES: u64 = 64 << 20;
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let case = Case::new(mariadb(Kind::MariaDb1011));
    let server = case.builder.clone().start().expect("it starts");
    prepare(&server, "");
    server.sql("CREATE TABLE bank.large (a LONGBLOB) ENGINE=MyISAM").expect("made");
    for _ in 0..8 {
        server.sql("INSERT INTO bank.large SELECT REPEAT('x', 1 << 20) FROM bank.seq_1_to_8").expect("rows");
    }
    server.sql("DROP TABLE bank.large").expect("dropped");
    let load = Load::start(&server, 3, false, &mut Random::new(0xf02));
    load.wait_for_commits(50);
    let acknowledged = load.acknowledged();
    let copy = take_copy(&server, &options(&server, &case)).expect("a copy");
    let followed = copy.followed().expect("it was followed").clone();
    let log = fs::metadata(copy.root().join(&followed.position.log.file)).expect("a binary log");
    assert!(log.len() >= LOG_BYTES && followed.last_log_bytes < LOG_BYTES / 8, "{followed:?}");
    let copy = case.builder.datadir_seed(copy.root()).start().expect("the copy starts");
    check(&copy, &acknowledged, &followed.position);
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

    // After the next checkpoint, recovery no longer needs the encrypted part of the log.
    server.sql("SET GLOBAL innodb_redo_log_encrypt = OFF; SET GLOBAL innodb_max_dirty_pages_pct = 0").expect("set");
    let load = Load::start(&server, 3, false, &mut Random::new(0xf01));
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

/// Runs a statement in another session while `meanwhile` does something; ends it afterwards.
fn while_running(server: &Server, statement: &str, meanwhile: impl FnOnce(u64)) {
    let mut other = connect(&account(server));
    let id = other.query("SELECT CONNECTION_ID()").expect("a number").scalar().expect("a number").parse();
    let id: u64 = id.expect("a number");
    let statement = statement.to_owned();
    let running = thread::spawn(move || other.query(&statement).map(drop));
    let is_running =
        format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id} AND COMMAND = 'Query'");
    harness::wait_until("the statement runs", harness::limit(30), || {
        server.value(&is_running).expect("it answers") == "1"
    });
    meanwhile(id);
    server.sql(&format!("KILL QUERY {id}")).expect("killed");
    let _ = running.join().expect("it ends");
}

/// Asserts that a copy is refused because a statement holds up a lock, and that the error shows the statement without
/// its values.
fn assert_held_up(server: &Server, options: &Options, lock: &str, id: u64, statement: &str) {
    let error = refused(server, options);
    let (said, hint) = (error.to_string(), error.hint().expect("a hint").into_owned());
    assert!(said.starts_with(&format!("{lock}: the lock was not granted within 1 s: session {id} of root")), "{said}");
    assert!(said.contains(&format!("with {statement}, for")) && !said.contains("4711"), "{said}");
    // MariaDB does not say who holds a stage.
    let advice =
        if lock.starts_with("BACKUP STAGE") { "one of these may hold it" } else { &format!("KILL QUERY {id}") };
    assert!(hint.contains(advice), "{hint}");
}

#[test]
fn mysql_97_names_the_session_that_holds_its_lock_up() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let case = Case::new(mysql(Kind::MySql97));
    let server = case.builder.clone().start().expect("it starts");
    prepare(&server, "");
    server.sql(
        "CREATE USER few; GRANT BACKUP_ADMIN, RELOAD ON *.* TO few; GRANT SELECT ON performance_schema.log_status TO few",
    ).expect("made");
    let in_time = Options { lock_wait: Duration::from_secs(1), ..options(&server, &case) };
    let mut reader = connect(&account(&server));
    reader.query("START TRANSACTION").and_then(|_| reader.query("SELECT * FROM bank.a0")).expect("rows");
    // The statement waits for the reader, and holds the lock that a backup needs.
    while_running(&server, "ALTER TABLE bank.a0 ADD COLUMN pin INT DEFAULT 4711, ALGORITHM=COPY", |id| {
        assert_held_up(&server, &in_time, "LOCK INSTANCE FOR BACKUP", id, "ALTER TABLE bank.a0");
        let as_few = Options { account: Some(account_of(&server, "few")), ..in_time.clone() };
        let error = refused(&server, &as_few);
        let grants = "GRANT SELECT ON performance_schema.metadata_locks TO the account";
        assert!(error.to_string().ends_with("the lock was not granted within 1 s"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.starts_with(grants)), "{:?}", error.hint());
    });
    reader.query("ROLLBACK").expect("ended");
    drop(take_copy(&server, &in_time).expect("nothing holds the lock any more"));
}

#[test]
fn mysql_97_is_not_copied_if_a_change_of_definitions_waits_too_long() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let case = Case::new(mysql(Kind::MySql97));
    let server = case.builder.clone().start().expect("it starts");
    prepare(&server, "");
    server.sql("CREATE TABLE bank.plain (a INT) ENGINE=MyISAM").expect("made");
    server.sql(
        "CREATE USER few; GRANT BACKUP_ADMIN, RELOAD ON *.* TO few; GRANT SELECT ON performance_schema.log_status TO few",
    ).expect("made");
    let second = Duration::from_secs(1);
    let limited = Options { lock_wait: 8 * second, ddl_wait_max: Some(second), ..options(&server, &case) };
    let error = refused(&server, &Options { account: Some(account_of(&server, "few")), ..limited.clone() });
    let grants = "GRANT SELECT ON performance_schema.metadata_locks TO the account";
    assert!(error.hint().is_some_and(|hint| hint.starts_with(grants)), "{error}: {:?}", error.hint());
    drop(take_copy(&server, &limited).expect("nobody waits"));

    // The copy waits for this session, with the lock that DDL waits for.
    let mut writer = connect(&account(&server));
    writer.query("LOCK TABLES bank.plain WRITE").expect("locked");
    let (mut looking, mut changing) = (connect(&account(&server)), connect(&account(&server)));
    let changed = thread::spawn(move || {
        let held = "SELECT EXISTS (SELECT 1 FROM performance_schema.metadata_locks \
                    WHERE OBJECT_TYPE = 'BACKUP LOCK' AND LOCK_STATUS = 'GRANTED')";
        harness::wait_until("the copy has its lock", harness::limit(30), || {
            looking.query(held).expect("it answers").scalar() == Some("1")
        });
        changing.query("ALTER TABLE bank.a0 ADD COLUMN pin INT DEFAULT 4711").map(drop)
    });
    let error = refused(&server, &limited);
    let said = error.to_string();
    assert!(matches!(error, Error::DdlWaited { .. }), "{error:?}");
    assert!(said.contains("with ALTER TABLE bank.a0, for") && !said.contains("4711"), "{said}");
    changed.join().expect("it ends").expect("the lock is free");
    writer.query("UNLOCK TABLES").expect("unlocked");
    drop(take_copy(&server, &limited).expect("nobody waits any more"));
}

#[test]
fn mariadb_1011_is_copied_with_a_limit_only_if_the_account_sees_who_waits() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let case = Case::new(mariadb(Kind::MariaDb1011));
    let server = case.builder.clone().start().expect("it starts");
    prepare(&server, "");
    server.sql("CREATE USER few@localhost; GRANT RELOAD, BINLOG MONITOR ON *.* TO few@localhost").expect("made");
    let account = Some(account_of(&server, "few"));
    let limited = Options { account, ddl_wait_max: Some(Duration::from_secs(60)), ..options(&server, &case) };
    let error = refused(&server, &limited);
    assert!(matches!(error, Error::DdlUnseen { .. }), "{error:?}");
    assert!(error.hint().is_some_and(|hint| hint.starts_with("GRANT PROCESS ON *.*")), "{:?}", error.hint());
    server.sql("GRANT PROCESS ON *.* TO few@localhost").expect("granted");
    drop(take_copy(&server, &limited).expect("it sees who waits"));
}

#[test]
fn mariadb_1011_names_the_session_that_holds_a_stage_up() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let case = Case::new(mariadb(Kind::MariaDb1011));
    let server = case.builder.clone().start().expect("it starts");
    prepare(&server, "");
    let in_time = Options { lock_wait: Duration::from_secs(1), ..options(&server, &case) };
    while_running(&server, "CREATE TABLE bank.x AS SELECT SLEEP(60), 4711 AS pin", |id| {
        assert_held_up(&server, &in_time, "BACKUP STAGE START", id, "CREATE TABLE bank.x");
    });
    // A table without transactions.
    server.sql("CREATE TABLE bank.plain (a INT) ENGINE=MyISAM").expect("made");
    while_running(&server, "INSERT INTO bank.plain SELECT 4711 + SLEEP(60)", |id| {
        assert_held_up(&server, &in_time, "BACKUP STAGE BLOCK_DDL", id, "INSERT");
    });
    // Another backup holds the stage between two statements. A session that waits for it, too, does not hold it.
    let mut backup = connect(&account(&server));
    backup.query("BACKUP STAGE START").expect("begun");
    while_running(&server, "BACKUP STAGE START", |id| {
        let waits = format!(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id} AND STATE = 'Waiting for backup lock'"
        );
        harness::wait_until("it waits", harness::limit(30), || server.value(&waits).expect("it answers") == "1");
        let error = refused(&server, &in_time);
        assert!(error.to_string().ends_with("the lock was not granted within 1 s"), "{error}");
    });
    drop(backup);
    drop(take_copy(&server, &in_time).expect("nothing holds the lock any more"));
}

/// A replica's thread runs the imports of its source.
#[test]
fn mariadb_1011_waits_for_an_import_of_its_source() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let case = Case::new(mariadb(Kind::MariaDb1011));
    let source = case.builder.clone().start().expect("it starts");
    let mut server = case.builder.clone().start().expect("it starts");
    server.replicate_from(&source, &Replication::default()).expect("it replicates");
    let tables = "CREATE DATABASE bank; CREATE TABLE bank.exported (a INT PRIMARY KEY); \
                  CREATE TABLE bank.imported LIKE bank.exported";
    source.sql(tables).expect("made");
    server.catch_up_with(&source).expect("replicated");
    // The replica's thread waits for this reader.
    let mut reader = connect(&account(&server));
    reader.query("START TRANSACTION").and_then(|_| reader.query("SELECT * FROM bank.imported")).expect("no rows");
    let discarded = "SET sql_log_bin = 0; ALTER TABLE bank.imported DISCARD TABLESPACE; \
                     FLUSH TABLES bank.exported FOR EXPORT";
    source.sql(discarded).expect("statements");
    let [from, to] = ["exported", "imported"].map(|name| source.datadir().join(format!("bank/{name}.ibd")));
    fs::copy(from, to).expect("a copy of the file");
    source.sql("ALTER TABLE bank.imported IMPORT TABLESPACE").expect("it is imported");
    let importing = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Slave%' \
                     AND INFO LIKE 'ALTER%IMPORT%TABLESPACE'";
    let is_importing = |count: &str| server.value(importing).expect("it answers") == count;
    harness::wait_until("the replica imports", harness::limit(30), || is_importing("1"));
    let in_time = Options { lock_wait: Duration::from_secs(1), ..options(&server, &case) };
    let error = refused(&server, &in_time).to_string();
    assert!(error.contains(" of system user with ALTER TABLE bank.imported, for "), "{error}");
    // There the tablespace was not discarded, so that the statement fails.
    reader.query("ROLLBACK").expect("ended");
    harness::wait_until("the import ends", harness::limit(30), || is_importing("0"));
    drop(take_copy(&server, &in_time).expect("nothing is imported any more"));
}

/// Adds a file whose pages are newer than the log, like a file of another server. The copy is refused: the log lacks
/// changes of these pages, so a server could not recover it.
fn a_page_newer_than_the_log_is_refused(builder: ServerBuilder) {
    let case = Case::new(builder);
    let server = case.builder.clone().start().expect("it starts");
    prepare(&server, "");
    let table = server.datadir().join("bank/a0.ibd");
    harness::wait_until("the table is on disk", harness::limit(60), || {
        server.sql("FLUSH TABLES bank.a0 FOR EXPORT; UNLOCK TABLES").is_ok()
    });
    let mut bytes = fs::read(&table).expect("a table");
    let page = &mut bytes[3 * 16384..4 * 16384];
    let checksum = [checksum::classic(page), checksum::full_crc32(page)].into_iter().find(|found| found.is_ok());
    // The upper half of the LSN; the lower one is also at the end of the page.
    page[16..20].copy_from_slice(&(1_u32 << 18).to_be_bytes());
    checksum::update_checksum(page, checksum.expect("it is in clear text"));
    let foreign = server.datadir().join("bank/foreign.ibd");
    fs::write(&foreign, &bytes).expect("room");
    let error = refused(&server, &options(&server, &case));
    let is_found = matches!(&error, Error::NewerPage { path, newest, .. } if path == Path::new("bank/foreign.ibd") && *newest >= 1 << 50);
    assert!(is_found, "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("move it out")), "{:?}", error.hint());
    fs::remove_file(foreign).expect("it was there");
    drop(take_copy(&server, &options(&server, &case)).expect("a copy"));
}

#[test]
fn a_page_newer_than_the_log_of_mysql_97_is_refused() {
    if require(Kind::MySql97).is_some() {
        a_page_newer_than_the_log_is_refused(mysql(Kind::MySql97));
    }
}

#[test]
fn a_page_newer_than_the_log_of_mariadb_1011_is_refused() {
    if require(Kind::MariaDb1011).is_some() {
        a_page_newer_than_the_log_is_refused(mariadb(Kind::MariaDb1011));
    }
}
