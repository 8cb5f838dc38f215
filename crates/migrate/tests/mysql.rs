//! Migrations between real servers while the source is written to.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{collections::HashSet, sync::atomic::Ordering, time::Duration};

use migrate::{
    DivergenceKind, Error, Event, NotWritable, Phase, Side, Until,
    catalog::Filter,
    preflight::{Facts, Finding, Remedy, Request, Severity, judge},
};
use server::tls::TlsVersion;
use support::{Addresses, Pair, writers::Writers};

const ROWS: u32 = 20_000;

#[test]
fn rows_are_equal_after_a_migration_under_writes() {
    let Some(pair) = Pair::start(ROWS) else { return };
    let writers = Writers::start(&pair, 4, ROWS.into());
    let mut settings = pair.addresses().settings();
    let mut phases = Vec::new();
    settings.until = Until::Copied;
    let mut note = |event: Event| {
        if let Event::Phase(phase) = event {
            phases.push(phase);
        }
    };
    migrate::run(&settings, &mut note).unwrap();
    let during = writers.acknowledged.load(Ordering::Relaxed);
    assert!(during > 100, "{during}");
    // Everything is compared while writes go on, down to rows that change all the time.
    settings.until = Until::Verified;
    migrate::run(&settings, &mut |_| {}).unwrap();
    writers.stop();
    // Only what has changed since then is left.
    let verified = migrate::run(&settings, &mut note).unwrap();
    assert_eq!(phases, [Phase::Copy, Phase::Copied, Phase::Copied]);
    assert!(verified.chunks > 20 && verified.open == 0, "{verified:?}");
    pair.assert_equal();
}

/// The part of a test that another process does, until it is killed.
#[test]
fn child() {
    let Some(addresses) = Addresses::from_environment() else { return };
    let settings = addresses.settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
}

#[test]
fn a_killed_migration_goes_on() {
    let Some(pair) = Pair::start(ROWS) else { return };
    let writers = Writers::start(&pair, 4, ROWS.into());
    for delay in [900, 1600, 700] {
        let mut child = pair.addresses().child("child");
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success());
    }
    let mut settings = pair.addresses().settings();
    let copied = migrate::status(&settings).unwrap().tables.iter().map(|table| table.rows).sum::<u64>();
    assert!(copied > 0, "the first processes have copied nothing");
    settings.until = Until::Copied;
    migrate::run(&settings, &mut |_| {}).unwrap();
    writers.stop();
    settings.until = Until::Verified;
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.assert_equal();
}

#[test]
fn rows_that_differ_are_named() {
    let Some(pair) = Pair::start(3000) else { return };
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    // One of each kind, and two rows that exchange a value, which a checksum of CRCs does not see.
    pair.target
        .sql(
            "SET sql_log_bin = 0; UPDATE shop.item SET doc = NULL WHERE id = 17; DELETE FROM shop.item WHERE id = 2000; \
             INSERT INTO shop.item (id) VALUES (900000); \
             UPDATE shop.item a JOIN shop.item b ON (a.id, b.id) IN ((41, 42), (42, 41)) SET a.data = b.data; \
             UPDATE shop.wide SET body = CONCAT(body, '') , n = n + 1000 LIMIT 1",
        )
        .unwrap();
    let error = migrate::verify(&settings, &mut |_| {}).unwrap_err();
    let Error::Divergence(divergences) = error else { panic!("{error}") };
    let mut found: Vec<_> = divergences.iter().map(|it| (it.table.as_str(), it.key.as_str(), it.kind)).collect();
    found.sort_by_key(|(table, key, _)| (*table, key.len(), *key));
    use DivergenceKind::{Different, Extra, Missing};
    assert_eq!(
        found[..5],
        [
            ("shop.item", "17", Different),
            ("shop.item", "41", Different),
            ("shop.item", "42", Different),
            ("shop.item", "2000", Missing),
            ("shop.item", "900000", Extra),
        ]
    );
    let wide: Vec<_> = found[5..].iter().map(|(table, _, kind)| (*table, *kind)).collect();
    assert_eq!(wide.len(), 2, "{found:?}");
    assert!(wide.contains(&("shop.wide", Missing)) && wide.contains(&("shop.wide", Extra)));
}

#[test]
fn what_a_checksum_could_miss_is_found() {
    let Some(pair) = Pair::start(200) else { return };
    let members: Vec<_> = (0..64).map(|number| format!("'m{number}'")).collect();
    let flags = format!("CREATE TABLE shop.flag (id INT PRIMARY KEY, s SET({})) ENCRYPTION='Y';", members.join(","));
    pair.target.sql(&flags).unwrap();
    pair.source
        .sql(&format!(
            "{flags} INSERT INTO shop.flag VALUES (1, 'm0,m63'), (2, 'm0,m63');
             INSERT INTO shop.wide VALUES ('2030-01-01', 1, REPEAT('a', 3000000)), ('2030-01-01', 2, REPEAT('b', 3000000));
             UPDATE shop.item SET doc = JSON_OBJECT('k', REPEAT('z', 2000000)) WHERE id = 5"
        ))
        .unwrap();
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    // As DOUBLE, both sets are 2^63.
    pair.target
        .sql(
            "SET sql_log_bin = 0; UPDATE shop.flag SET s = 'm1,m63' WHERE id = 1;
             UPDATE shop.wide SET body = REPEAT('c', 3000000) WHERE day = '2030-01-01' AND n = 2",
        )
        .unwrap();
    for server in [&pair.source, &pair.target] {
        server.sql("SET GLOBAL max_allowed_packet = 1048576").unwrap();
    }
    let error = migrate::verify(&settings, &mut |_| {}).unwrap_err();
    let Error::Divergence(divergences) = error else { panic!("{error}") };
    let mut found: Vec<_> = divergences.iter().map(|it| (it.table.as_str(), it.key.as_str(), it.kind)).collect();
    found.sort_by_key(|(table, key, _)| (*table, *key));
    // The servers cannot give the text of the JSON value any more, so nobody knows that it is equal.
    let different = DivergenceKind::Different;
    assert_eq!(
        found,
        [("shop.flag", "1", different), ("shop.item", "5", different), ("shop.wide", "'2030-01-01', 2.00", different)]
    );
}

/// Findings of a check about both servers of a pair.
fn found(pair: &Pair, check: &str) -> Vec<Finding> {
    let (mut source, mut target) = (support::root(&pair.source), support::root(&pair.target));
    let request = Request {
        filter: Filter { schemas: vec!["shop".to_owned()], ..Filter::default() },
        encrypt: true,
        min_tls: TlsVersion::Tls13,
        unverified_source: false,
        unverified_target: false,
    };
    let options = server::Options::default();
    let facts = Facts::read((&mut source, &options), (&mut target, &options), request).unwrap();
    judge(&facts).into_iter().find(|judged| judged.check.id == check).unwrap().findings.unwrap()
}

#[test]
fn json_that_text_cannot_hold_is_refused() {
    let Some(pair) = Pair::start(300) else { return };
    assert_eq!(found(&pair, "tables.json"), []);
    // Of the same length as a DOUBLE with the same text.
    let price = "JSON_OBJECT('a', JSON_ARRAY(1, JSON_OBJECT('price', CAST(12345.67 AS DECIMAL(7, 2)))))";
    for value in [price, "CAST(CAST('2026-01-01' AS DATE) AS JSON)"] {
        pair.source.sql(&format!("UPDATE shop.item SET doc = {value} WHERE id = 200")).unwrap();
        let refused = found(&pair, "tables.json");
        let [finding] = refused.as_slice() else { panic!("{refused:?}") };
        assert_eq!((finding.severity, finding.object.as_str()), (Severity::Block, "shop.item"));
        assert!(matches!(finding.remedy, Some(Remedy::Advice { .. })), "{finding:?}");
        pair.source.sql("UPDATE shop.item SET doc = CAST('{\"price\": 12345.67}' AS JSON) WHERE id = 200").unwrap();
        assert_eq!(found(&pair, "tables.json"), [], "{value}");
    }
    // The same while the migration goes on.
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.source.sql(&format!("UPDATE shop.item SET doc = {price} WHERE id = 201")).unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, Error::Change { column, why: NotWritable::JsonScalar, .. } if column == "doc"), "{error}");
}

#[test]
fn the_state_is_encrypted_like_the_tables() {
    let Some(pair) = Pair::start(100) else { return };
    let clear =
        "SELECT COUNT(*) FROM information_schema.innodb_tablespaces WHERE name LIKE '%sealant/%' AND encryption = 'N'";
    for (encrypt, tables_in_clear) in [(true, "0"), (false, "4")] {
        let mut settings = pair.addresses().settings();
        settings.tables.iter_mut().for_each(|table| table.encrypted = false);
        settings.encrypt = encrypt;
        settings.until = Until::Copied;
        migrate::run(&settings, &mut |_| {}).unwrap();
        assert_eq!(pair.target.value(clear).unwrap(), tables_in_clear);
        pair.target
            .sql("DROP DATABASE _sealant; DELETE FROM shop.item; DELETE FROM shop.pair; DELETE FROM shop.wide")
            .unwrap();
    }
}

#[test]
fn no_acknowledged_write_is_lost_by_a_cut_over() {
    let Some(pair) = Pair::start(5000) else { return };
    let writers = Writers::start(&pair, 4, 5000);
    let mut settings = pair.addresses().settings();
    assert!(matches!(migrate::cut_over(&settings, &mut |_| {}), Err(Error::NotBegun)));
    settings.until = Until::Copied;
    migrate::run(&settings, &mut |_| {}).unwrap();
    assert!(matches!(migrate::finish(&settings.target), Err(Error::NotReady { .. })));
    let mut steps = Vec::new();
    let done = migrate::cut_over(&settings, &mut |event| {
        if let Event::Step { name } = event {
            steps.push(name);
        }
    });
    let done = done.unwrap();
    // The writers go on, and are refused.
    std::thread::sleep(Duration::from_millis(300));
    let acknowledged = writers.stop();
    assert_eq!(steps, ["fenced", "drained", "verified", "switched"]);
    assert!(acknowledged.len() > 50, "{}", acknowledged.len());
    let stored = pair.target.sql("SELECT marker FROM shop.ack").unwrap();
    let stored: HashSet<u64> = stored.lines().map(|line| line.parse().unwrap()).collect();
    assert!(acknowledged.iter().all(|marker| stored.contains(marker)), "an acknowledged row is lost");
    pair.assert_equal();
    println!("blocked for {:?}", done.blocked);
    assert_eq!(pair.source.value("SELECT @@super_read_only").unwrap(), "1");
    let counter = "SET information_schema_stats_expiry = 0; SELECT auto_increment FROM information_schema.tables WHERE table_name = 'item'";
    assert_eq!(pair.source.value(counter).unwrap(), pair.target.value(counter).unwrap());
    // Again: nothing is left to do.
    assert_eq!(migrate::cut_over(&settings, &mut |_| {}).unwrap().blocked, Duration::ZERO);
    assert!(matches!(migrate::abort(&settings, true), Err(Error::NotReady { .. })));
    migrate::finish(&settings.target).unwrap();
    assert_eq!(pair.target.sql("SHOW DATABASES LIKE '%sealant'").unwrap(), "");
}

#[test]
fn an_aborted_migration_leaves_nothing_behind() {
    let Some(pair) = Pair::start(1000) else { return };
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    // As if the process had been killed while the source was fenced.
    pair.target.sql("UPDATE _sealant.run SET step = 'fenced', fence = '0,0', phase = 'cut-over'").unwrap();
    pair.source.sql("SET GLOBAL super_read_only = ON").unwrap();
    migrate::abort(&settings, true).unwrap();
    assert_eq!(pair.source.value("SELECT @@super_read_only + @@read_only").unwrap(), "0");
    assert_eq!(pair.target.sql("SHOW DATABASES LIKE '%sealant'; SHOW TABLES FROM shop").unwrap(), "");
}

#[test]
fn a_changed_definition_ends_a_run() {
    let Some(pair) = Pair::start(1000) else { return };
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.source
        .sql("CREATE TABLE shop.other (a INT); DROP TABLE shop.other; ALTER TABLE shop.item ADD INDEX (t)")
        .unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, Error::DefinitionChanged { table, .. } if table == "shop.item"), "{error}");
    assert!(error.to_string().contains("ALTER TABLE shop.item ADD INDEX"), "{error}");
}

#[test]
fn what_is_not_safe_is_refused() {
    let Some(pair) = Pair::start(200) else { return };
    let mut settings = pair.addresses().settings();
    settings.source.options.tls.mode = Some(server::TlsMode::Required);
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::Unverified { side: Side::Source, .. }), "{error}");
    let mut settings = pair.addresses().settings();
    settings.tables.iter_mut().find(|table| table.name == "item").unwrap().identity = None;
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, Error::NoIdentity { table } if table == "shop.item"), "{error}");

    let settings = pair.addresses().settings();
    pair.target.sql("INSERT INTO shop.item (id) VALUES (5)").unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, Error::NotEmpty { table } if table == "shop.item"), "{error}");
    pair.target.sql("DROP DATABASE _sealant; CREATE DATABASE _sealant; CREATE TABLE _sealant.mine (a INT)").unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::ForeignState { .. }), "{error}");
    pair.source.sql("SET GLOBAL binlog_row_image = MINIMAL").unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::SourceSetting { variable: "binlog_row_image", .. }), "{error}");
}
