//! After a cut-over, the source is kept ready, and clients return to it: no acknowledged write is lost on either way.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{
    collections::HashSet,
    thread,
    time::{Duration, Instant},
};

use harness::{Kind, Server};
use migrate::{Error, FallbackEnd, FallbackStatus, Phase, ProofVerdict, Settings, Until};
use support::{Addresses, Kinds, Pair, writer, writers::Writers};

const ROWS: u32 = 1500;
const HOUR: Duration = Duration::from_secs(3600);

/// The account of the writers, and the privileges for the way back, which docs/migrate.md names.
const WRITER: &str =
    "CREATE USER IF NOT EXISTS writer@localhost IDENTIFIED BY 'secret'; GRANT ALL ON shop.* TO writer@localhost;";
const SOURCE: &str = "GRANT ALL ON shop.* TO mig@'%'; GRANT ALL ON `\\_sealant`.* TO mig@'%';
    GRANT CONNECTION_ADMIN ON *.* TO mig@'%';";
const TARGET: &str = "GRANT REPLICATION SLAVE, REPLICATION CLIENT, SYSTEM_VARIABLES_ADMIN, XA_RECOVER_ADMIN, CONNECTION_ADMIN ON *.* TO mig@'%';";
const MARIADB_SOURCE: &str = "GRANT ALL ON shop.* TO mig@'%'; GRANT ALL ON `\\_sealant`.* TO mig@'%';";
const MARIADB_TARGET: &str = "GRANT READ_ONLY ADMIN, EVENT ON *.* TO mig@'%'; GRANT SELECT ON mysql.* TO mig@'%';
    SET GLOBAL binlog_format = ROW;";

/// Servers whose rows are copied, and the settings of the cut-over.
fn copied(kinds: Kinds) -> Option<(Pair, Settings)> {
    let pair = Pair::of_kinds(kinds, ROWS)?;
    let mariadb = kinds.source.is_mariadb();
    pair.source.sql(&format!("{WRITER}{}", if mariadb { MARIADB_SOURCE } else { SOURCE })).unwrap();
    pair.target.sql(&format!("{WRITER}{}", if mariadb { MARIADB_TARGET } else { TARGET })).unwrap();
    let mut settings = pair.addresses().settings();
    migrate::create_tables(&settings).unwrap();
    settings.until = Until::Copied;
    migrate::run(&settings, &mut |_| {}).unwrap();
    settings.fallback = Some(HOUR);
    Some((pair, settings))
}

fn writers(server: &Server, first: u64) -> Writers {
    Writers::with(vec![writer(server), writer(server)], first, ROWS.into())
}

/// Stops writers of a server, and checks that another one has all that was acknowledged.
fn nothing_is_lost(writers: Writers, other: &Server) {
    let acknowledged = writers.stop();
    let stored = other.sql("SELECT marker FROM shop.ack").unwrap();
    let stored: HashSet<u64> = stored.lines().map(|line| line.parse().unwrap()).collect();
    assert!(acknowledged.len() > 5, "{}", acknowledged.len());
    assert!(acknowledged.iter().all(|marker| stored.contains(marker)), "an acknowledged row is lost");
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}: never");
        thread::sleep(Duration::from_millis(10));
    }
}

fn writes(writers: &Writers) -> u64 {
    writers.acknowledged.load(std::sync::atomic::Ordering::Relaxed)
}

#[track_caller]
fn is_writable(server: &Server, expected: bool) {
    let done = writer(server).execute(b"INSERT INTO shop.ack (marker) VALUES (-1)");
    assert_eq!(done.is_ok(), expected, "{done:?}");
    if expected {
        writer(server).execute(b"DELETE FROM shop.ack WHERE marker = -1").unwrap();
    }
}

/// The way back is followed in another thread, and then taken.
fn returns(kinds: Kinds) {
    let Some((pair, settings)) = copied(kinds) else { return };
    let before = writers(&pair.source, 0);
    wait_for("writes", || writes(&before) > 40);
    let switched = migrate::cut_over(&settings, &mut |_| {}).unwrap();
    nothing_is_lost(before, &pair.target);
    pair.assert_equal();
    is_writable(&pair.source, false);
    assert!(matches!(migrate::status(&settings.target).unwrap().fallback, FallbackStatus::Possible(_)));

    let after = writers(&pair.target, 8);
    let mut applied = 0;
    let follower = thread::spawn({
        let (settings, switched) = (pair.addresses().settings(), switched.clone());
        move || migrate::follow_back(&settings, &switched, &mut |_| {})
    });
    wait_for("changes at the source", || {
        applied = pair.source.value("SELECT COUNT(*) FROM shop.ack WHERE marker >= 8 << 32").unwrap().parse().unwrap();
        applied > 5
    });
    is_writable(&pair.source, false);
    // Without an administrator's session, which would keep MariaDB's fallback from beginning.
    let done = migrate::fall_back(&settings, &mut |_| {}).unwrap();
    assert!(done.blocked.is_some());
    assert_eq!(follower.join().unwrap().unwrap(), FallbackEnd::TakenOver);
    nothing_is_lost(after, &pair.source);
    pair.assert_equal();
    is_writable(&pair.target, false);
    is_writable(&pair.source, true);
    assert_eq!(migrate::fall_back(&settings, &mut |_| {}).unwrap().blocked, None);
    assert_eq!(migrate::status(&settings.target).unwrap().fallback, FallbackStatus::TargetReadOnly);
    assert_eq!(migrate::follow_back(&settings, &switched, &mut |_| {}).unwrap(), FallbackEnd::TakenOver);
    let again = migrate::cut_over(&settings, &mut |_| {}).unwrap();
    assert!(matches!(migrate::follow_back(&settings, &again, &mut |_| {}), Err(Error::FellBack)));

    let unsaved = |_: &migrate::Proof| Ok(());
    assert!(matches!(migrate::finish(&settings.target, None, Some(unsaved)), Err(Error::FallbackOpen)));
    let proven = |proof: &migrate::Proof| -> Result<(), Error> {
        assert_eq!((proof.verdict(), proof.status.phase), (ProofVerdict::Proven, Phase::Switched));
        Ok(())
    };
    migrate::finish(&settings.target, Some(&settings.source), Some(proven)).unwrap();
    for server in [&pair.source, &pair.target] {
        assert_eq!(server.sql("SHOW DATABASES LIKE '%sealant'").unwrap(), "");
    }
    is_writable(&pair.target, false);
    is_writable(&pair.source, true);
}

#[test]
fn clients_return_to_mysql() {
    returns(Kinds::MYSQL_97);
}

#[test]
fn clients_return_to_mysql_without_gtids() {
    let Some((pair, settings)) = copied(Kinds { gtids: false, ..Kinds::MYSQL_97 }) else { return };
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    pair.target.sql("DELETE FROM shop.item WHERE id < 100; INSERT INTO shop.ack VALUES (3)").unwrap();
    migrate::fall_back(&settings, &mut |_| {}).unwrap();
    pair.assert_equal();

    // What a `finish` that was killed in the middle leaves.
    pair.target.sql("SET GLOBAL super_read_only = OFF; DROP DATABASE _sealant").unwrap();
    let discard = None::<fn(&migrate::Proof) -> Result<(), Error>>;
    migrate::finish(&settings.target, Some(&settings.source), discard).unwrap();
    assert_eq!(pair.source.sql("SHOW DATABASES LIKE '%sealant'").unwrap(), "");
    is_writable(&pair.target, false);
    is_writable(&pair.source, true);
    assert!(matches!(migrate::finish(&settings.target, Some(&settings.source), discard), Err(Error::NotBegun)));
}

#[test]
fn clients_return_to_mariadb() {
    returns(Kinds { source: Kind::MariaDb1011, target: Kind::MariaDb118, gtids: true });
}

#[test]
fn what_stands_in_the_way_is_said_before_the_cut_over() {
    let Some((pair, settings)) = copied(Kinds::MYSQL_97) else { return };
    let refused = |expected: &str| {
        let error = migrate::cut_over(&settings, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    pair.source.sql("REVOKE CONNECTION_ADMIN ON *.* FROM mig@'%'").unwrap();
    refused("source: the account may not do this: it lacks CONNECTION_ADMIN");
    pair.source.sql("GRANT CONNECTION_ADMIN ON *.* TO mig@'%'").unwrap();
    pair.target.sql("REVOKE CONNECTION_ADMIN ON *.* FROM mig@'%'").unwrap();
    refused("target: the account may not do this: it lacks CONNECTION_ADMIN");
    pair.target.sql("GRANT CONNECTION_ADMIN ON *.* TO mig@'%'").unwrap();
    pair.target.sql("SET GLOBAL binlog_row_image = MINIMAL").unwrap();
    refused("where source and target are swapped: source: binlog_row_image is MINIMAL, and not FULL");
    pair.target.sql("SET GLOBAL binlog_row_image = FULL").unwrap();
    pair.source.sql("CREATE DATABASE _sealant; CREATE TABLE _sealant.t (a INT PRIMARY KEY)").unwrap();
    refused("the schema _sealant exists, but no migration has made it");
    pair.source.sql("DROP DATABASE _sealant").unwrap();
    let create = "CREATE TRIGGER shop.stamp BEFORE UPDATE ON shop.pair FOR EACH ROW SET NEW.v = 'x'";
    pair.source.sql(create).unwrap();
    let settings = Settings { fallback: Some(HOUR), ..pair.addresses().settings() };
    let error = migrate::cut_over(&settings, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("no fallback is possible: the trigger shop.stamp at the source"), "{error}");
    assert_eq!(pair.source.value("SELECT @@read_only").unwrap(), "0");
}

#[test]
fn a_definition_that_changes_at_the_target_closes_the_way_back() {
    let Some((pair, settings)) = copied(Kinds::MYSQL_97) else { return };
    assert!(matches!(migrate::fall_back(&settings, &mut |_| {}), Err(Error::NotSwitched)));
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    // What is written to the source meanwhile is named: it is on no other server.
    pair.source.sql("SET GLOBAL super_read_only = OFF; INSERT INTO shop.ack VALUES (7)").unwrap();
    let error = migrate::fall_back(&settings, &mut |_| {}).unwrap_err();
    let Error::WayBack(inner) = &error else { panic!("{error}") };
    assert!(matches!(&**inner, Error::TargetWritten { table, .. } if table == "shop.ack"), "{error}");
    pair.source.sql("DELETE FROM shop.ack WHERE marker = 7").unwrap();

    pair.target.sql("ALTER TABLE shop.ack ADD COLUMN more INT").unwrap();
    for _ in 0..2 {
        let error = migrate::fall_back(&settings, &mut |_| {}).unwrap_err();
        assert!(matches!(&error, Error::WayBackClosed(_)), "{error}");
        assert!(error.to_string().contains("shop.ack"), "{error}");
    }
    is_writable(&pair.target, true);
    is_writable(&pair.source, false);
    let discard = None::<fn(&migrate::Proof) -> Result<(), Error>>;
    migrate::finish(&settings.target, Some(&settings.source), discard).unwrap();
    assert_eq!(pair.source.value("SELECT @@super_read_only").unwrap(), "1");
    assert_eq!(pair.source.sql("SHOW DATABASES LIKE '%sealant'").unwrap(), "");
}

#[test]
fn a_fallback_has_its_time() {
    let Some((pair, settings)) = copied(Kinds::MYSQL_97) else { return };
    let settings = Settings { fallback: Some(Duration::from_secs(4)), ..settings };
    let done = migrate::cut_over(&settings, &mut |_| {}).unwrap();
    assert_eq!(migrate::follow_back(&settings, &done, &mut |_| {}).unwrap(), FallbackEnd::Expired);
    assert_eq!(migrate::status(&settings.target).unwrap().fallback, FallbackStatus::Impossible);
    assert_eq!(pair.source.value("SELECT @@super_read_only").unwrap(), "1");
    assert_eq!(pair.source.sql("SHOW DATABASES LIKE '%sealant'").unwrap(), "");
    assert!(matches!(migrate::fall_back(&settings, &mut |_| {}), Err(Error::NoFallback)));
    let discard = None::<fn(&migrate::Proof) -> Result<(), Error>>;
    migrate::finish(&settings.target, None, discard).unwrap();
}

/// The part of a test that another process does, until it is killed: a cut-over, and then the way back.
#[test]
fn cut_over_in_a_child() {
    let Some(addresses) = Addresses::from_environment() else { return };
    let settings = Settings { fallback: Some(HOUR), ..addresses.settings() };
    let done = migrate::cut_over(&settings, &mut |_| {}).unwrap();
    migrate::follow_back(&settings, &done, &mut |_| {}).unwrap();
}

#[test]
fn fall_back_in_a_child() {
    let Some(addresses) = Addresses::from_environment() else { return };
    migrate::fall_back(&addresses.settings(), &mut |_| {}).unwrap();
}

/// Kills the process of the cut-over these times in milliseconds after the switch, and that of the fallback after the
/// fence; `servers` are killed while the way back is followed.
fn returns_after_kills(kinds: Kinds, following: &[u64], falling: &[u64], servers: bool) {
    let Some((mut pair, settings)) = copied(kinds) else { return };
    let switched = || migrate::status(&settings.target).is_ok_and(|status| status.phase == Phase::Switched);
    for delay in following {
        let mut child = pair.addresses().child("cut_over_in_a_child");
        wait_for("the switch", switched);
        thread::sleep(Duration::from_millis(*delay));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().code(), None);
        pair.target.sql(&format!("INSERT INTO shop.ack VALUES ({delay})")).unwrap();
    }
    if servers {
        pair.source.kill();
        pair.target.sql("INSERT INTO shop.ack VALUES (5000001)").unwrap();
        pair.source.start().unwrap();
        pair.target.kill();
        pair.target.start().unwrap();
        if kinds.target.is_mariadb() {
            pair.target.sql("SET GLOBAL binlog_format = ROW").unwrap();
        }
    }
    let after = writers(&pair.target, 8);
    wait_for("writes", || writes(&after) > 20);
    for delay in falling {
        let mut child = pair.addresses().child("fall_back_in_a_child");
        let fenced = || migrate::status(&settings.source).is_ok_and(|status| status.fenced);
        wait_for("the target is fenced", || fenced() || child.try_wait().unwrap().is_some());
        thread::sleep(Duration::from_millis(*delay));
        child.kill().unwrap();
        // It may have ended before the kill, as it should.
        assert!(matches!(child.wait().unwrap().code(), None | Some(0)));
    }
    wait_for("a fallback", || match migrate::fall_back(&settings, &mut |_| {}) {
        Ok(_) => true,
        // Sessions of a killed process may be there for a moment.
        Err(Error::WayBack(error)) if matches!(*error, Error::NotReady { .. } | Error::Locked { .. }) => false,
        Err(Error::Locked { .. }) => false,
        Err(error) => panic!("{error}"),
    });
    nothing_is_lost(after, &pair.source);
    pair.assert_equal();
    is_writable(&pair.target, false);
    is_writable(&pair.source, true);
}

#[test]
fn a_killed_fallback_goes_on() {
    returns_after_kills(Kinds::MYSQL_97, &[0, 900], &[0], true);
}

#[test]
#[ignore = "many kills of each pair: make soak"]
fn fallbacks_that_are_killed_often_go_on() {
    let following: Vec<u64> = (0..8).map(|number| number * 173 % 1900).collect();
    let falling: Vec<u64> = (0..12).map(|number| number * 40).collect();
    let mariadb = Kinds { source: Kind::MariaDb1011, target: Kind::MariaDb118, gtids: true };
    for kinds in [Kinds::MYSQL_97, Kinds { gtids: false, ..Kinds::MYSQL_97 }, mariadb] {
        returns_after_kills(kinds, &following, &falling, true);
    }
}
