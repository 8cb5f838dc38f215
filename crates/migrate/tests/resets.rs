//! Logs that are removed and begun anew, and a state of which a part is removed: each is one clear error, or every row is
//! compared again.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use harness::{Kind, Server};
use migrate::{Error, Event, Phase, Until};
use support::{Kinds, Pair};

const MARIADB: Kinds = Kinds { source: Kind::MariaDb1011, target: Kind::MariaDb1011, gtids: true };

fn reset(server: &Server) -> &'static str {
    if server.kind().is_mariadb() { "RESET MASTER" } else { "RESET BINARY LOGS AND GTIDS" }
}

/// A reset log may have any position, and any GTID, again. What it had before may never have been read.
fn is_not_followed_after_a_reset(kinds: Kinds) {
    let Some(pair) = Pair::of_kinds(kinds, 100) else { return };
    let reset_log = reset(&pair.source);
    let mut settings = pair.addresses().settings();
    migrate::create_tables(&settings).unwrap();
    settings.until = Until::Forever;
    let mut reset = false;
    let following = migrate::run(&settings, &mut |event| {
        if !reset && matches!(&event, Event::Progress(progress) if progress.phase == Phase::Copied) {
            reset = true;
            pair.source.sql(&format!("{reset_log}; DELETE FROM shop.item WHERE id = 7")).unwrap();
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
    assert_eq!(pair.source.value("SELECT @@read_only").unwrap(), "0");
}

#[test]
fn a_reset_log_without_gtids_ends_a_migration() {
    is_not_followed_after_a_reset(Kinds { gtids: false, ..Kinds::MYSQL_97 });
}

#[test]
fn a_reset_log_with_gtids_ends_a_migration() {
    is_not_followed_after_a_reset(Kinds::MYSQL_97);
}

#[test]
#[ignore = "another server: make soak"]
fn a_reset_log_of_mariadb_ends_a_migration() {
    is_not_followed_after_a_reset(MARIADB);
}

/// File and position of the end of the log.
fn end(server: &Server) -> (String, u64) {
    let status = if server.kind().is_mariadb() { "SHOW MASTER STATUS" } else { "SHOW BINARY LOG STATUS" };
    let text = server.sql(status).unwrap();
    let mut fields = text.split_whitespace();
    (fields.next().unwrap().to_owned(), fields.next().unwrap().parse().unwrap())
}

/// A change that only the old log of the target had, or the part of the new one that is not read.
fn is_compared_after_a_reset_at_the_target(kinds: Kinds) {
    let Some(pair) = Pair::of_kinds(kinds, 100) else { return };
    pair.target.sql("GRANT REPLICATION SLAVE ON *.* TO mig@'%'").unwrap();
    let mut settings = pair.addresses().settings();
    migrate::create_tables(&settings).unwrap();
    migrate::run(&settings, &mut |_| {}).unwrap();
    let stored = pair.target.value("SELECT file FROM _sealant.target_log").unwrap();
    let offset: u64 = pair.target.value("SELECT position FROM _sealant.target_log").unwrap().parse().unwrap();
    let change = |add: i32| format!("UPDATE shop.pair SET a = a + {add} WHERE u = 7");
    pair.target.sql(&format!("{}; {}", reset(&pair.target), change(1000))).unwrap();
    pair.target.sql("CREATE DATABASE other; CREATE TABLE other.t (a LONGTEXT)").unwrap();
    // A statement would be short in the log.
    let rows = if kinds.target.is_mariadb() { "SET binlog_format = ROW; " } else { "" };
    let grow = format!("{rows}INSERT INTO other.t VALUES (REPEAT('x', 1 << 20))");
    while end(&pair.target) <= (stored.clone(), offset) {
        let next = if end(&pair.target).0 == stored { grow.as_str() } else { "FLUSH BINARY LOGS" };
        pair.target.sql(next).unwrap();
    }
    for ended in [migrate::run(&settings, &mut |_| {}).map(drop), migrate::cut_over(&settings, &mut |_| {}).map(drop)] {
        let error = ended.unwrap_err();
        // A changed key is a row that is missing, and one too many.
        assert!(matches!(&error, Error::Divergence(rows) if rows.len() == 2), "{error}");
    }
    pair.target.sql(&change(-1000)).unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::TargetWritten { .. }), "{error}");
    migrate::run(&settings, &mut |_| {}).unwrap();

    if kinds.target.is_mariadb() {
        return;
    }
    settings.until = Until::Forever;
    let mut is_reset = false;
    let following = migrate::run(&settings, &mut |event| {
        if matches!(&event, Event::Progress(progress) if progress.phase == Phase::Copied) && !is_reset {
            is_reset = true;
            pair.target.sql(&format!("{}; {}", reset(&pair.target), change(1000))).unwrap();
        }
    });
    let error = following.unwrap_err();
    assert!(matches!(error, Error::TargetLog(_) | Error::TargetLogReset { .. }), "{error}");
    let error = migrate::cut_over(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::Divergence(_)), "{error}");
    assert_eq!(pair.source.value("SELECT @@read_only").unwrap(), "0");
}

#[test]
fn a_reset_log_of_a_mysql_target_is_seen() {
    is_compared_after_a_reset_at_the_target(Kinds::MYSQL_97);
}

#[test]
#[ignore = "another server: make soak"]
fn a_reset_log_of_a_mariadb_target_is_seen() {
    is_compared_after_a_reset_at_the_target(MARIADB);
}

/// Nothing goes on with half a state, and nothing takes it for a new one.
#[test]
#[ignore = "each table: make soak"]
fn a_removed_part_of_the_state_is_one_error() {
    let Some(pair) = Pair::start(100) else { return };
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.target.sql("CREATE DATABASE aside").unwrap();
    let tables = pair.target.sql("SHOW TABLES FROM _sealant").unwrap();
    assert!(tables.lines().count() > 8, "{tables}");
    for table in tables.lines() {
        pair.target.sql(&format!("RENAME TABLE _sealant.{table} TO aside.{table}")).unwrap();
        for ended in
            [migrate::run(&settings, &mut |_| {}).map(drop), migrate::cut_over(&settings, &mut |_| {}).map(drop)]
        {
            let error = ended.unwrap_err();
            assert!(error.hint().is_some() && !error.is_transient(), "{table}: {error}");
        }
        pair.target.sql(&format!("RENAME TABLE aside.{table} TO _sealant.{table}")).unwrap();
    }
    // A switch that cannot be stored is none.
    let ended = migrate::cut_over(&settings, &mut |event| {
        if matches!(event, Event::Step { name: "verified" }) {
            let remove = "CREATE TABLE aside.kept SELECT * FROM _sealant.run; DELETE FROM _sealant.run";
            pair.target.sql(remove).unwrap();
        }
    });
    let error = ended.unwrap_err();
    assert!(matches!(error, Error::State { what: "run" }), "{error}");
    assert_eq!(pair.source.value("SELECT @@read_only").unwrap(), "0");
    pair.target.sql("INSERT INTO _sealant.run SELECT * FROM aside.kept").unwrap();
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    // Nothing tells to drop tables that have newer rows than the source.
    pair.target.sql("RENAME TABLE _sealant.rest TO aside.rest").unwrap();
    for ended in [migrate::run(&settings, &mut |_| {}), migrate::verify(&settings, &mut |_| {})] {
        let error = ended.unwrap_err();
        assert!(matches!(error, Error::Switched), "{error}");
    }
    let error = migrate::proof(&settings.target).unwrap_err();
    assert!(error.hint().unwrap().contains("after the cut-over keep the tables"), "{error}");
}

/// In the middle of a run.
#[test]
fn a_state_that_is_removed_ends_a_run() {
    let Some(pair) = Pair::start(100) else { return };
    let mut settings = pair.addresses().settings();
    settings.until = Until::Forever;
    let statements = ["DELETE FROM _sealant.run", "TRUNCATE TABLE _sealant.pos", "DROP DATABASE _sealant"];
    for (marker, statement) in statements.into_iter().enumerate() {
        let mut removed = false;
        let following = migrate::run(&settings, &mut |event| {
            if matches!(&event, Event::Progress(progress) if progress.phase == Phase::Copied) && !removed {
                removed = true;
                pair.target.sql(statement).unwrap();
                pair.source.sql(&format!("INSERT INTO shop.ack VALUES ({marker})")).unwrap();
            }
        });
        let error = following.unwrap_err();
        assert!(error.hint().unwrap().contains("something else has changed"), "{statement}: {error}");
        let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
        assert!(error.hint().is_some() && !error.is_transient(), "{statement}: {error}");
        // After the first, tables of the state are left, as another version has made them.
        pair.target
            .sql(match marker {
                0 => "ALTER TABLE _sealant.target_log DROP COLUMN created",
                _ => "DROP DATABASE IF EXISTS _sealant",
            })
            .unwrap();
        for table in ["item", "pair", "wide", "word", "label", "entry", "grade", "part", "bill_line", "bill", "ack"] {
            pair.target.sql(&format!("SET foreign_key_checks = 0; TRUNCATE TABLE shop.{table}")).unwrap();
        }
    }
}
