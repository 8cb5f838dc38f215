//! Clients that change a server while it is copied, and checks that a copy contains their changes.

use std::{
    fs,
    os::unix::fs::{MetadataExt, chown},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use harness::{Kind, Server};
use innodb::binlog::CopyPosition;
use server::{Endpoint, Options as Connect, Target};
use snapshot::follow::Account;

use crate::chance::Random;

const ACCOUNTS: u64 = 400;
const BALANCE: u64 = 1000;
const TABLES: u64 = 4;
/// Rows of a bulk load: some megabytes, so that it is not complete between two reads of the copy.
const BULK_ROWS: u64 = 8_000;

/// Creates tables between which money is transferred, a journal with a row for each commit, and tables for bulk loads.
pub(crate) fn prepare(server: &Server, table_options: &str) {
    let other_engine = if server.kind().is_mariadb() { "Aria" } else { "MyISAM ENCRYPTION='N'" };
    let rows = (1..=ACCOUNTS).map(|id| format!("({id},{BALANCE},REPEAT('x',300))")).collect::<Vec<_>>().join(",");
    let mut sql = format!(
        "CREATE DATABASE bank; USE bank; CREATE TABLE journal (writer INT, seq BIGINT, filler VARCHAR(600), \
         PRIMARY KEY (writer, seq)) {table_options}; CREATE TABLE log (a INT) ENGINE={other_engine}; \
         CREATE TABLE bulk (id INT PRIMARY KEY, a INT, b VARCHAR(400), KEY (a)) {table_options};"
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

/// Clients that write, and optionally those that load in bulk and run DDL; stopped on drop.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    acknowledged: Vec<Arc<AtomicU64>>,
}

impl Load {
    pub(crate) fn start(server: &Server, writers: u64, definitions: bool, random: &mut Random) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let acknowledged: Vec<Arc<AtomicU64>> = (0..writers).map(|_| Arc::default()).collect();
        let mut threads = Vec::new();
        for (writer, reported) in (0..).zip(&acknowledged) {
            let (stop, reported, account) = (Arc::clone(&stop), Arc::clone(reported), account(server));
            threads.push(thread::spawn(move || write(&account, writer, &reported, &stop)));
        }
        if definitions {
            for work in [change_definitions, load_in_bulk] {
                let (stop, account, datadir) = (Arc::clone(&stop), account(server), server.datadir().to_owned());
                let random = Random(random.below(u64::MAX).max(1));
                threads.push(thread::spawn(move || work(&account, &datadir, random, &stop)));
            }
        }
        Self { stop, threads, acknowledged }
    }

    pub(crate) fn acknowledged(&self) -> Vec<u64> {
        self.acknowledged.iter().map(|reported| reported.load(Ordering::SeqCst)).collect()
    }

    pub(crate) fn wait_for_commits(&self, by: u64) {
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

/// Fills an empty table with one statement and empties it. Without checks MariaDB writes no undo log for the rows
/// (MDEV-515), and builds the index from sorted rows. Deleting them leaves much undo log, which is truncated.
fn load_in_bulk(account: &Account, _datadir: &Path, mut random: Random, stop: &AtomicBool) {
    let mut connection = connect(account);
    while !stop.load(Ordering::SeqCst) {
        let rows = 1 + random.below(BULK_ROWS);
        let checks = random.below(2);
        let fill = format!(
            "INSERT INTO bank.bulk SELECT x.id * 1000 + y.id, y.balance, x.note FROM bank.a0 x, bank.a1 y LIMIT {rows}"
        );
        let checks = format!("SET SESSION unique_checks = {checks}, foreign_key_checks = {checks}");
        for statement in [checks.as_str(), &fill, "DELETE FROM bank.bulk"] {
            // A deadlock rolls it back.
            let _ = connection.query(statement);
        }
    }
}

/// Runs DDL of every kind, in an order that differs from round to round. Each statement works on the results of earlier
/// ones, or fails.
fn change_definitions(account: &Account, datadir: &Path, mut random: Random, stop: &AtomicBool) {
    let mut connection = connect(account);
    for round in 0_u64.. {
        let t = format!("bank.t{}", random.below(7));
        let mut statements = definitions(&t, round, &mut random);
        for number in (1..statements.len()).rev() {
            // Half of the rounds keep the order in which most statements succeed.
            if round % 2 == 1 {
                statements.swap(number, random.below(number as u64 + 1) as usize);
            }
        }
        for statement in statements {
            if stop.load(Ordering::SeqCst) {
                return;
            }
            // Some of them fail, for example because a table already exists.
            let _ = connection.query(&statement);
        }
        if random.below(3) == 0 {
            import(&mut connection, datadir);
        }
    }
}

/// One statement of every kind, on a table.
fn definitions(t: &str, round: u64, random: &mut Random) -> Vec<String> {
    let r = t.replace(".t", ".r");
    let p = format!("bank.p{}", random.below(5));
    let last = ["DROP", "TRUNCATE"][random.below(2) as usize];
    let format = ["DYNAMIC", "COMPRESSED KEY_BLOCK_SIZE=8", "REDUNDANT"][random.below(3) as usize];
    vec![
        format!("CREATE TABLE IF NOT EXISTS {t} (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(400))"),
        format!("INSERT INTO {t} (a, b) SELECT id, note FROM bank.a0"),
        format!("ALTER TABLE {t} ADD INDEX (a), ALGORITHM=INPLACE"),
        format!("ALTER TABLE {t} ADD COLUMN c{round} INT DEFAULT 5, ALGORITHM=INSTANT"),
        format!("ALTER TABLE {t} ADD COLUMN d{round} INT DEFAULT 6, FORCE"),
        format!("ALTER TABLE {t} ADD COLUMN e{round} INT, ALGORITHM=COPY"),
        format!("ALTER TABLE {t} ROW_FORMAT={format}"),
        format!("RENAME TABLE {t} TO {r}"),
        format!("RENAME TABLE {r} TO {t}"),
        format!("CREATE TABLE {p} (a INT) PARTITION BY HASH (a) PARTITIONS 3"),
        format!("INSERT INTO {p} SELECT id FROM bank.a1"),
        format!("TRUNCATE TABLE {p}"),
        format!("INSERT INTO {p} SELECT id FROM bank.a1"),
        format!("ALTER TABLE {p} ADD PARTITION PARTITIONS 1"),
        format!("ALTER TABLE {t} ADD FULLTEXT (b)"),
        format!("OPTIMIZE TABLE {t}"),
        format!("CREATE DATABASE other{round}"),
        format!("RENAME TABLE {t} TO other{round}.t"),
        format!("RENAME TABLE other{round}.t TO {t}"),
        format!("DROP DATABASE other{round}"),
        format!("CREATE TABLE bank.s{} AS SELECT * FROM {t}", round % 3),
        format!("DROP TABLE IF EXISTS bank.s{}", (round + 1) % 3),
        format!("INSERT INTO bank.log VALUES ({round})"),
        format!("{last} TABLE {t}"),
        format!("DROP TABLE IF EXISTS bank.p{}", random.below(5)),
    ]
}

/// Exports a table, and imports its files as another one.
fn import(connection: &mut server::Connection, datadir: &Path) {
    let Some(files) = export(connection, datadir) else { return };
    let bank = datadir.join("bank");
    let discarded = [
        "DROP TABLE IF EXISTS bank.imported",
        "CREATE TABLE bank.imported LIKE bank.source",
        "ALTER TABLE bank.imported DISCARD TABLESPACE",
    ];
    let is_discarded = discarded.iter().all(|statement| connection.query(statement).is_ok());
    for (name, bytes, (user, group)) in files.into_iter().filter(|_| is_discarded) {
        let to = bank.join(name);
        fs::write(&to, bytes).and_then(|()| chown(&to, Some(user), Some(group))).expect("room");
    }
    let _ = connection.query("ALTER TABLE bank.imported IMPORT TABLESPACE");
}

/// Name of a file of the table to import, its content, and its owner.
type Exported = (PathBuf, Vec<u8>, (u32, u32));

fn export(connection: &mut server::Connection, datadir: &Path) -> Option<Vec<Exported>> {
    for statement in [
        "CREATE TABLE IF NOT EXISTS bank.source (id INT PRIMARY KEY, balance BIGINT, note VARCHAR(400), KEY (balance))",
        "REPLACE INTO bank.source SELECT id, balance, note FROM bank.a2",
        "FLUSH TABLES bank.source FOR EXPORT",
    ] {
        connection.query(statement).ok()?;
    }
    let read = |ending: &str| {
        let path = datadir.join("bank/source").with_extension(ending);
        let owner = fs::metadata(&path).map(|metadata| (metadata.uid(), metadata.gid())).ok()?;
        Some((Path::new("imported").with_extension(ending), fs::read(path).ok()?, owner))
    };
    let files = ["ibd", "cfg", "cfp"].into_iter().filter_map(read).collect();
    connection.query("UNLOCK TABLES").ok()?;
    Some(files)
}

pub(crate) fn account(server: &Server) -> Account {
    account_of(server, "root")
}

pub(crate) fn account_of(server: &Server, user: &str) -> Account {
    let endpoint = Endpoint::Socket(server.socket().to_owned());
    Account { target: Target { endpoint, user: user.to_owned() }, options: Connect::default() }
}

pub(crate) fn connect(account: &Account) -> server::Connection {
    let options = Connect { changes: true, statement_timeout: Duration::from_secs(120), ..Connect::default() };
    server::Connection::open(&account.target, &options).expect("it answers")
}

/// Whether a line of CHECK TABLE says that the imported table has no tablespace, or repeats that it failed for this.
fn has_no_tablespace(line: &str) -> bool {
    const MISSING: [&str; 3] = ["has been discarded", "ablespace is missing", "doesn't exist in engine"];
    let is_missing = MISSING.iter().any(|text| line.contains(text)) || line.ends_with("\tstatus\tOperation failed");
    line.starts_with("bank.imported\t") && is_missing && !line.to_lowercase().contains("corrupt")
}

/// Whether a line of MariaDB's CHECK TABLE warns of a deleted record of a secondary index that a rollback has left: a race
/// of rollback and purge that the server only warns of for this reason (MDEV-29823, in `row_check_index` of
/// `row0sel.cc`). The clients' deadlocks are rolled back. A server that nobody copies has such records, too: one of 430
/// restarts of MariaDB 10.11.19 after a SIGKILL under this load left one, which was also found after the next two kills.
/// A record that is not marked as deleted (`info_bits` 32) is an error, and the status of its table not OK.
fn is_left_by_rollback(line: &str) -> bool {
    line.contains("\tWarning\tInnoDB: Clustered index record not found for index") && line.contains("(info_bits=32, ")
}

/// Waits until MariaDB has purged all deleted rows. Purge continues in the background after recovery. A batch of it ends
/// after a number of undo pages, which may be in the middle of a transaction (`trx_purge_attach_undo_recs` in
/// `trx0purge.cc`). `CHECK TABLE … EXTENDED` nevertheless takes the whole transaction for purged (`end_view` in
/// `purge_sys_t::batch_cleanup`), and warns "Unpurged clustered index record" of its other rows (`row_check_index` in
/// `row0sel.cc`) until the next batch has removed them. A warning after the last batch means that the undo log of deleted
/// rows is lost.
fn wait_for_purge(copy: &Server) {
    copy.sql("SET GLOBAL innodb_max_purge_lag_wait = 0").expect("purged");
}

/// Asserts that the total is right, every acknowledged commit is in the copy, and the binary log ends where the server
/// was.
pub(crate) fn check(copy: &Server, acknowledged: &[u64], position: &CopyPosition) {
    let value = |query: &str| copy.value(query).expect("the copy answers");
    let sums = (0..TABLES).map(|table| format!("(SELECT SUM(balance) FROM bank.a{table})")).collect::<Vec<_>>();
    let expected = ACCOUNTS * BALANCE * TABLES;
    assert_eq!(value(&format!("SELECT {}", sums.join(" + "))), expected.to_string(), "transactions are torn");
    for (writer, seq) in acknowledged.iter().enumerate() {
        let last = value(&format!("SELECT IFNULL(MAX(seq), 0) FROM bank.journal WHERE writer = {writer}"));
        assert!(last.parse::<u64>().expect("a number") >= *seq, "writer {writer}: {seq} was acknowledged, not {last}");
    }
    let tables = value(
        "SELECT /*+ SET_VAR(group_concat_max_len = 1000000) */ GROUP_CONCAT('`', table_schema, '`.`', table_name, '`') \
         FROM information_schema.tables \
         WHERE (table_schema = 'bank' OR table_schema LIKE 'other%') AND table_type = 'BASE TABLE'",
    );
    if copy.kind().is_mariadb() {
        wait_for_purge(copy);
    }
    let checked = copy.sql(&format!("CHECK TABLE {tables} EXTENDED")).expect("checked");
    // A crash between DISCARD and IMPORT leaves a table without a tablespace, in the original too.
    let is_allowed = |line: &str| line.ends_with("OK") || has_no_tablespace(line) || is_left_by_rollback(line);
    assert!(checked.lines().all(is_allowed), "{checked}");
    if copy.kind() == Kind::MySql80 {
        // log_status of MySQL 8.0 counts transactions in the position of the binary log before it counts them in the
        // GTID set.
        let subset = format!("SELECT GTID_SUBSET('{}', @@GLOBAL.gtid_executed)", position.gtid);
        return assert_eq!(value(&subset), "1", "{} in {}", position.gtid, value("SELECT @@GLOBAL.gtid_executed"));
    }
    let gtid = if copy.kind().is_mariadb() { "gtid_binlog_pos" } else { "gtid_executed" };
    assert_eq!(value(&format!("SELECT REPLACE(@@GLOBAL.{gtid}, '\n', '')")), position.gtid);
}
