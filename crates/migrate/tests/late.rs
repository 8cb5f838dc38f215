//! A transaction that is in the source's log long before it is visible: in between, semi-synchronous replication waits
//! for a replica that never answers. The chunks must still contain its change, because the stream drops it.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{
    thread,
    time::{Duration, Instant},
};

use harness::Kind;
use migrate::{Error, Event, Phase, Until};
use support::{Kinds, Pair};

/// A table whose rows are stored in the order of another key than its identity, which is the first key by name.
const SECOND: &str =
    "CREATE TABLE shop.second (a INT NOT NULL, b INT NOT NULL, v VARCHAR(10), UNIQUE KEY z (a), UNIQUE KEY y (b));
    INSERT INTO shop.second VALUES (1, 9, 'early'), (2, 8, 'early')";

/// How long the source waits for the replica.
const WAIT: Duration = Duration::from_secs(3);

const SEMI_SYNCHRONOUS: &str = "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so';
    SET GLOBAL rpl_semi_sync_source_timeout = 3000; SET GLOBAL rpl_semi_sync_source_enabled = ON";

/// Migrates while the change of `statement` is in the log but not visible. `rows` must then be equal at both ends.
fn is_not_lost(kinds: Kinds, statement: &'static str, rows: &str) {
    let Some(pair) = Pair::of_kinds(kinds, 300) else { return };
    pair.source.sql(SECOND).unwrap();
    let mut settings = pair.addresses().settings();
    settings.until = Until::Copied;
    migrate::create_tables(&settings).unwrap();
    pair.source.sql(SEMI_SYNCHRONOUS).unwrap();
    let end = || match kinds.source {
        Kind::MySql97 => pair.source.value("SHOW BINARY LOG STATUS").unwrap(),
        _ => pair.source.value("SHOW MASTER STATUS").unwrap(),
    };
    let (before, seen) = (end(), pair.source.value(rows).unwrap());
    let began = Instant::now();
    let mut writer = pair.client();
    let writing = thread::spawn(move || writer.execute(statement.as_bytes()).map(|done| done.affected_rows));
    while end() == before {
        assert!(began.elapsed() < WAIT, "nothing was logged");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(pair.source.value(rows).unwrap(), seen, "it is visible already");
    migrate::run(&settings, &mut |_| {}).unwrap();
    assert!(began.elapsed() >= WAIT, "the copy did not wait");
    assert_eq!(writing.join().unwrap().unwrap(), 1);
    let changed = pair.source.value(rows).unwrap();
    assert_ne!(changed, seen);
    assert_eq!(pair.target.value(rows).unwrap(), changed);
    pair.assert_equal();
}

/// Finds the row by its place, so that the statement does not lock the index of the identity.
const UPDATE: (&str, &str) =
    ("UPDATE shop.second SET v = 'late' WHERE a = 1", "SELECT a, b, v FROM shop.second ORDER BY a");
const DELETE: (&str, &str) = ("DELETE FROM shop.item WHERE id = 150", "SELECT COUNT(*) FROM shop.item");

#[test]
fn an_update_with_a_gtid() {
    is_not_lost(Kinds::MYSQL_97, UPDATE.0, UPDATE.1);
}

#[test]
fn an_update_without_a_gtid() {
    is_not_lost(Kinds { gtids: false, ..Kinds::MYSQL_97 }, UPDATE.0, UPDATE.1);
}

#[test]
fn a_deletion_without_a_gtid_in_8_0() {
    let kinds = Kinds { source: Kind::MySql80, target: Kind::MySql97, gtids: false };
    is_not_lost(kinds, DELETE.0, DELETE.1);
}

/// A reset log may have any position, and any GTID, again. What it had before may never have been read.
fn is_not_followed_after_a_reset(gtids: bool) {
    let Some(pair) = Pair::of_kinds(Kinds { gtids, ..Kinds::MYSQL_97 }, 100) else { return };
    let mut settings = pair.addresses().settings();
    migrate::create_tables(&settings).unwrap();
    settings.until = Until::Forever;
    let mut reset = false;
    let following = migrate::run(&settings, &mut |event| {
        if !reset && matches!(&event, Event::Progress(progress) if progress.phase == Phase::Copied) {
            reset = true;
            pair.source.sql("RESET BINARY LOGS AND GTIDS; DELETE FROM shop.item WHERE id = 7").unwrap();
        }
    });
    // Now the log is longer than it was.
    pair.source.sql(&"INSERT INTO shop.ack VALUES (9); DELETE FROM shop.ack WHERE marker = 9;".repeat(400)).unwrap();
    settings.until = Until::Verified;
    for ended in [
        following.map(drop),
        migrate::run(&settings, &mut |_| {}).map(drop),
        migrate::verify(&settings, &mut |_| {}).map(drop),
        migrate::cut_over(&settings, &mut |_| {}).map(drop),
    ] {
        let error = ended.unwrap_err();
        assert!(matches!(error, Error::LogReset { .. }), "{error}");
        assert!(error.hint().unwrap().contains("abort --drop-tables"));
    }
    assert_eq!(pair.source.value("SELECT @@super_read_only").unwrap(), "0");
}

#[test]
fn a_reset_log_without_gtids_ends_a_migration() {
    is_not_followed_after_a_reset(false);
}

#[test]
fn a_reset_log_with_gtids_ends_a_migration() {
    is_not_followed_after_a_reset(true);
}

#[test]
fn without_gtids_another_server_is_not_followed() {
    let Some(mut pair) = Pair::of_kinds(Kinds { gtids: false, ..Kinds::MYSQL_97 }, 100) else { return };
    let settings = pair.addresses().settings();
    migrate::create_tables(&settings).unwrap();
    migrate::run(&settings, &mut |_| {}).unwrap();
    let before = pair.source.value("SELECT @@server_uuid").unwrap();
    pair.source.stop().unwrap();
    std::fs::remove_file(pair.source.datadir().join("auto.cnf")).unwrap();
    pair.source.start().unwrap();
    for error in [migrate::run(&settings, &mut |_| {}).map(drop), migrate::cut_over(&settings, &mut |_| {}).map(drop)] {
        let error = error.unwrap_err();
        assert!(matches!(&error, Error::OtherServer { expected, .. } if *expected == before), "{error}");
        assert!(error.hint().unwrap().contains("GTID"));
    }
}
