//! A transaction that is in the source's log long before it is visible: in between, semi-synchronous replication waits
//! for a replica that never answers. The chunks must still contain its change, because the stream drops it.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{
    thread,
    time::{Duration, Instant},
};

use harness::Kind;
use migrate::Until;
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
    // With GTIDs, the stream may deliver the change only after the last chunk was read. It is applied then.
    assert!(kinds.gtids || began.elapsed() >= WAIT, "the copy did not wait");
    assert_eq!(writing.join().unwrap().unwrap(), 1);
    if kinds.gtids {
        migrate::run(&settings, &mut |_| {}).unwrap();
    }
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
