//! Each fence of a cut-over, under writers: no acknowledged write is lost, and a refused cut-over restores what was.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{
    collections::HashSet,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use harness::{Kind, Server, limit, wait_until};
use migrate::{Error, Event, Fencing, LastingFence, Settings, Until, WatchEnd, watch_source};
use server::{Account, Connection, Endpoint, Password, Target};
use support::{Kinds, Pair, root, writer, writers::Writers};

const ROWS: u32 = 300;
const WRITER: &str =
    "CREATE USER IF NOT EXISTS writer@localhost IDENTIFIED BY 'secret'; GRANT ALL ON shop.* TO writer@localhost;";
/// The privileges of the fence `accounts`, which a plan names.
const ACCOUNTS: &str = "GRANT CREATE USER, CONNECTION_ADMIN, EVENT ON *.* TO mig@'%';";
const MARIADB_ACCOUNTS: &str = "GRANT CREATE USER, CONNECTION ADMIN ON *.* TO mig@'%';";
/// None of those of the fence `read-only`.
const NO_READ_ONLY: &str = "REVOKE SYSTEM_VARIABLES_ADMIN, XA_RECOVER_ADMIN ON *.* FROM mig@'%';";

const MARIADB: Kinds = Kinds { source: Kind::MariaDb1011, target: Kind::MariaDb118, gtids: true };

fn accounts(lock_tables: bool) -> Fencing {
    let Ok(name) = "writer@localhost".parse::<Account>();
    Fencing { lock_tables, lasting: Some(LastingFence::Accounts(vec![name])) }
}

fn external(program: Option<PathBuf>) -> Fencing {
    Fencing { lock_tables: false, lasting: Some(LastingFence::External(program)) }
}

/// Servers whose rows are copied, and settings of a cut-over.
fn copied(kinds: Kinds, fencing: Fencing) -> Option<(Pair, Settings)> {
    let pair = Pair::of_kinds(kinds, ROWS)?;
    let grants = match (kinds.source.is_mariadb(), &fencing.lasting) {
        (true, _) => MARIADB_ACCOUNTS.to_owned(),
        (_, Some(LastingFence::Accounts(_))) => format!("{NO_READ_ONLY}{ACCOUNTS}"),
        _ => NO_READ_ONLY.to_owned(),
    };
    pair.source.sql(&format!("{WRITER}{grants}")).unwrap();
    // On a busy machine the limit of 10 s is too short.
    let max_blocked = Duration::from_secs(60);
    let settings = Settings { fencing, max_blocked, ..pair.addresses().settings() };
    migrate::create_tables(&settings).unwrap();
    let copy = Settings { until: Until::Copied, ..settings.clone() };
    migrate::run(&copy, &mut |_| {}).unwrap();
    Some((pair, settings))
}

/// Writers of the account `writer`, after their first changes.
fn writers(pair: &Pair) -> Writers {
    let writers = Writers::with(vec![writer(&pair.source), writer(&pair.source)], 0, ROWS.into());
    let began = Instant::now();
    while writers.acknowledged.load(std::sync::atomic::Ordering::Relaxed) < 40 {
        assert!(began.elapsed() < Duration::from_secs(60), "they write nothing");
        thread::sleep(Duration::from_millis(10));
    }
    writers
}

#[track_caller]
fn nothing_is_lost(acknowledged: &[u64], target: &Server) {
    let stored = target.sql("SELECT marker FROM shop.ack").unwrap();
    let stored: HashSet<u64> = stored.lines().map(|line| line.parse().unwrap()).collect();
    assert!(acknowledged.len() > 3, "{}", acknowledged.len());
    let lost = acknowledged.iter().find(|marker| !stored.contains(marker));
    assert_eq!(lost, None, "an acknowledged row is lost");
}

/// Whether the writers' account can log in and write.
fn may_write(server: &Server) -> bool {
    let target = Target { endpoint: Endpoint::Socket(server.socket().to_owned()), user: "writer".to_owned() };
    let password = Some(Password::new(b"secret".to_vec()));
    let Ok(mut client) = Connection::open(&target, &server::Options { changes: true, password, ..Default::default() })
    else {
        return false;
    };
    let mut write = |sql: &str| client.execute(sql.as_bytes()).is_ok();
    write("INSERT INTO shop.ack VALUES (9999999)") && write("DELETE FROM shop.ack WHERE marker = 9999999")
}

fn accounts_are_locked(kinds: Kinds, lock_tables: bool) {
    let Some((pair, settings)) = copied(kinds, accounts(lock_tables)) else { return };
    let late = Settings { max_blocked: Duration::from_millis(1), ..settings.clone() };
    let error = migrate::cut_over(&late, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::NotReady { .. } | Error::Stopped), "{error}");
    assert!(may_write(&pair.source), "the account is still locked");
    refuses_events_that_are_executed(&pair, &settings);

    let writers = writers(&pair);
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    nothing_is_lost(&writers.stop(), &pair.target);
    pair.assert_equal();
    assert!(!may_write(&pair.source), "the account is not locked");
    migrate::finish(&settings.target, None, None::<fn(&migrate::Proof) -> Result<(), Error>>).unwrap();
}

/// To turn the scheduler off does not end them.
fn refuses_events_that_are_executed(pair: &Pair, settings: &Settings) {
    let mut holder = root(&pair.source);
    holder.query("SELECT GET_LOCK('held', 0)").unwrap();
    let event = "CREATE EVENT shop.late ON SCHEDULE AT NOW() DO \
        BEGIN DO GET_LOCK('held', 600); INSERT INTO shop.ack VALUES (424242); END";
    for sql in ["SET GLOBAL event_scheduler = ON", event] {
        root(&pair.source).query(sql).unwrap();
    }
    let waits = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User lock'";
    wait_until("the event is executed", limit(60), || pair.source.value(waits).unwrap() == "1");
    pair.source.sql("SET GLOBAL event_scheduler = OFF").unwrap();
    let error = migrate::cut_over(settings, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, Error::NotReady { what } if what.contains("still being executed")), "{error}");
    holder.query("SELECT RELEASE_LOCK('held')").unwrap();
    let stored = "SELECT COUNT(*) FROM shop.ack WHERE marker = 424242";
    wait_until("the event has written", limit(60), || pair.source.value(stored).unwrap() == "1");
}

#[test]
fn locked_accounts_lose_nothing() {
    accounts_are_locked(Kinds::MYSQL_97, false);
}

#[test]
fn locked_tables_and_accounts_lose_nothing() {
    accounts_are_locked(MARIADB, true);
}

/// Nothing lifts the fence any more then.
#[test]
fn a_target_that_does_not_store_the_switch_in_time_gets_no_writes() {
    let Some((pair, settings)) = copied(Kinds::MYSQL_97, accounts(false)) else { return };
    let held = "CREATE TABLE held.t (id INT PRIMARY KEY) ENCRYPTION='Y'; INSERT INTO held.t VALUES (1)";
    pair.target.sql(&format!("CREATE DATABASE held; {held}")).unwrap();
    let mut target = root(&pair.target);
    let trigger = "CREATE TRIGGER _sealant.waits BEFORE UPDATE ON _sealant.run FOR EACH ROW BEGIN DECLARE found INT; \
        IF NEW.phase = 'switched' THEN SELECT id INTO found FROM held.t FOR UPDATE; END IF; END";
    for sql in [trigger, "START TRANSACTION", "SELECT id FROM held.t FOR UPDATE"] {
        target.query(sql).unwrap();
    }
    let late = Settings { max_blocked: Duration::from_secs(8), ..settings.clone() };
    let began = Instant::now();
    let error = migrate::cut_over(&late, &mut |_| {}).unwrap_err();
    // A session waits 50 s for a row by default.
    assert!(began.elapsed() < Duration::from_secs(40), "{error}");
    assert!(matches!(error, Error::NotReady { .. } | Error::Stopped), "{error}");
    assert!(may_write(&pair.source), "the account is still locked");
    target.query("ROLLBACK").unwrap();
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    pair.assert_equal();
}

#[test]
fn only_accounts_that_can_be_locked_are_a_fence() {
    let Some((pair, settings)) = copied(Kinds::MYSQL_97, accounts(false)) else { return };
    let refused = |fencing: Fencing, fallback, part: &str| {
        let settings = Settings { fencing, fallback, ..settings.clone() };
        let error = migrate::cut_over(&settings, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    let named = |name: &str| {
        let Ok(name) = name.parse::<Account>();
        Fencing { lock_tables: false, lasting: Some(LastingFence::Accounts(vec![name])) }
    };
    refused(named("nobody@%"), None, "the account `nobody`@`%` of --fence-account is not at the source");
    refused(named("mig@%"), None, "the account `mig`@`%` has the user of the migration");
    refused(accounts(false), Some(Duration::from_secs(60)), "no fallback is possible: it needs --fence read-only");
    refused(Fencing::default(), None, "it lacks SYSTEM_VARIABLES_ADMIN, XA_RECOVER_ADMIN");
    pair.source.sql("REVOKE CONNECTION_ADMIN ON *.* FROM mig@'%'").unwrap();
    refused(accounts(false), None, "it lacks CONNECTION_ADMIN");
    assert!(may_write(&pair.source));
}

/// What is written to the source after the switch is named, and nothing else is.
fn late_writes_are_named(kinds: Kinds) {
    let Some((mut pair, settings)) = copied(kinds, Fencing { lock_tables: true, lasting: None }) else { return };
    let done = migrate::cut_over(&settings, &mut |_| {}).unwrap();
    pair.source.sql("CREATE DATABASE other; CREATE TABLE other.t (a INT); INSERT INTO other.t VALUES (1)").unwrap();
    let watch = |settings: &Settings, seconds| watch_source(settings, &done, Duration::from_secs(seconds));
    assert_eq!(watch(&settings, 2).unwrap(), WatchEnd::Quiet);
    let stopped = Settings { stop: Arc::new(true.into()), ..settings.clone() };
    assert_eq!(watch(&stopped, 60).unwrap(), WatchEnd::Stopped);

    let watching = thread::spawn({
        let (settings, done) = (settings.clone(), done.clone());
        move || watch_source(&settings, &done, Duration::from_secs(60))
    });
    thread::sleep(Duration::from_millis(500));
    pair.source.sql("BEGIN; INSERT INTO other.t VALUES (2); INSERT INTO shop.ack VALUES (12345); COMMIT").unwrap();
    let is_named = |error: &Error| matches!(error, Error::LateWrite { table, .. } if table == "shop.ack");
    let error = watching.join().unwrap().unwrap_err();
    assert!(is_named(&error) && error.is_refusal(), "{error}");
    let noted = pair.target.value("SELECT COUNT(*) FROM _sealant.journal WHERE event = 'late-write'").unwrap();
    assert_eq!(noted, "1");
    // Also if it was written before.
    let error = watch(&settings, 60).unwrap_err();
    assert!(is_named(&error), "{error}");
    pair.source.kill();
    assert!(matches!(watch(&settings, 2).unwrap(), WatchEnd::Unreachable(_)));
}

#[test]
fn late_writes_to_mysql_are_named() {
    late_writes_are_named(Kinds::MYSQL_97);
}

#[test]
fn late_writes_to_mariadb_are_named() {
    late_writes_are_named(MARIADB);
}

/// Writers go on when the command ends, and what they write then is at the source alone.
#[test]
fn locked_tables_hold_until_the_command_ends() {
    let soft = Fencing { lock_tables: true, lasting: None };
    let Some((pair, settings)) = copied(Kinds::MYSQL_97, soft) else { return };
    pair.source.sql("CREATE DATABASE other; CREATE TABLE other.t (a INT)").unwrap();
    let late = Settings { max_blocked: Duration::from_millis(1), ..settings.clone() };
    let error = migrate::cut_over(&late, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::NotReady { .. } | Error::Stopped), "{error}");
    assert!(may_write(&pair.source), "the tables are still locked");

    let directory = tempfile::tempdir().unwrap();
    let on_switch = script(directory.path(), "");
    let settings = Settings { on_switch: Some(on_switch), ..settings };
    let writers = writers(&pair);
    let markers = "SELECT marker FROM shop.ack ORDER BY marker";
    let mut locked = String::new();
    migrate::cut_over(&settings, &mut |event| match event {
        // Other tables are written to all the time.
        Event::Step { name: "fenced" } => drop(pair.source.sql("INSERT INTO other.t VALUES (1)").unwrap()),
        Event::Step { name: "verified" } => locked = pair.source.sql(markers).unwrap(),
        _ => {}
    })
    .unwrap();
    writers.stop();
    assert!(locked.lines().count() > 3, "{locked}");
    assert_eq!(pair.target.sql(markers).unwrap(), locked, "every row that was there under the locks, and no other");
    assert_eq!(steps(directory.path()), "switched\n");
    assert!(may_write(&pair.source), "the fence was a soft one");
}

/// A program that notes its steps, and then does this.
fn script(directory: &Path, then: &str) -> PathBuf {
    let path = directory.join("program");
    let steps = directory.join("steps");
    let text = format!("#!/bin/sh\ntest -n \"$SEALANT_SOURCE\" && echo \"$1\" >> {}\n{then}\n", steps.display());
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn steps(directory: &Path) -> String {
    fs::read_to_string(directory.join("steps")).unwrap_or_default()
}

#[test]
fn a_program_stops_writes_or_the_target_does_not_take_over() {
    let Some((pair, settings)) = copied(Kinds::MYSQL_97, external(None)) else { return };
    let directory = tempfile::tempdir().unwrap();
    let with = |then: &str| {
        let fencing = external(Some(script(directory.path(), then)));
        Settings { fencing, max_blocked: Duration::from_secs(4), ..settings.clone() }
    };
    let writers = writers(&pair);
    let error = migrate::cut_over(&with("test \"$1\" = lift || exit 3"), &mut |_| {}).unwrap_err();
    assert!(matches!(&error, Error::Program { what, .. } if what.contains('3')), "{error}");
    // It says that it has stopped writes, and has not.
    let error = migrate::cut_over(&with(""), &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::NotReady { .. } | Error::Stopped), "{error}");
    assert_eq!(steps(directory.path()), "fence\nlift\nfence\nlift\n");

    let (asked, done) = (directory.path().join("asked"), directory.path().join("done"));
    let stops = format!("touch {}; while [ ! -e {} ]; do sleep 0.02; done", asked.display(), done.display());
    let settings = Settings { max_blocked: Duration::from_secs(20), ..with(&stops) };
    let stopping = thread::spawn(move || {
        while !asked.exists() {
            thread::sleep(Duration::from_millis(5));
        }
        let acknowledged = writers.stop();
        fs::write(done, "").unwrap();
        acknowledged
    });
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    nothing_is_lost(&stopping.join().unwrap(), &pair.target);
    pair.assert_equal();
    assert_eq!(steps(directory.path()).lines().filter(|step| *step == "lift").count(), 2);
}
