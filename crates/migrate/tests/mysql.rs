//! Migrations between real servers while the source is written to.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{
    collections::HashSet,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use findings::Action;
use harness::{Server, limit, wait_until};
use migrate::{
    DivergenceKind, Error, Event, Fencing, NotWritable, Phase, Preparation, ProofVerdict, Settings, Side, Until,
    Verified,
    catalog::Encrypt,
    preflight::{Effect, Facts, Finding, Remedy, judge},
};
use support::{Kinds, Pair, shop, writers::Writers};

const ROWS: u32 = 8_000;

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
    // Everything is compared while writes continue, down to single rows that change all the time.
    settings.until = Until::Verified;
    migrate::run(&settings, &mut |_| {}).unwrap();
    writers.stop();
    // Only rows that have changed since then are left.
    let verified = migrate::run(&settings, &mut note).unwrap();
    assert_eq!(phases, [Phase::Copy, Phase::Copied, Phase::Copied]);
    assert!(verified.chunks > 20 && verified.open == 0, "{verified:?}");
    pair.assert_equal();
}

#[test]
fn rows_that_differ_are_named() {
    let Some(pair) = Pair::start(3000) else { return };
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    // One difference of each kind, and two rows that exchange a value, which a checksum of CRCs would miss.
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

/// So that a cut-over can be done however the changes are spread.
#[test]
fn only_the_changed_rows_of_many_chunks_are_compared_again() {
    let Some(pair) = Pair::start(ROWS) else { return };
    let mut settings = pair.addresses().settings();
    settings.whole_bytes = 0;
    migrate::run(&settings, &mut |_| {}).unwrap();
    let writers = Writers::start(&pair, 4, ROWS.into());
    let run = following(&settings);
    let target = settings.target.clone();
    let changed = || {
        let proof = migrate::proof(&target).unwrap();
        proof.tables.iter().flat_map(|table| &table.chunks).map(|chunk| chunk.changed_rows).sum::<u64>()
    };
    wait_until("changed rows are compared", limit(120), || {
        assert!(!run.is_finished(), "the run has ended");
        changed() > 0
    });
    settings.stop.store(true, Ordering::Relaxed);
    let ended = run.join().unwrap();
    // It may be stopped before it has compared everything for the first time.
    assert!(matches!(ended, Ok(_) | Err(Error::Stopped)), "{ended:?}");
    settings.stop.store(false, Ordering::Relaxed);
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    let acknowledged = writers.stop();
    pair.assert_equal();
    let markers = pair.target.sql("SELECT marker FROM shop.ack").unwrap();
    let markers: HashSet<u64> = markers.lines().map(|marker| marker.parse().unwrap()).collect();
    assert!(acknowledged.iter().all(|marker| markers.contains(marker)), "{} of {}", markers.len(), acknowledged.len());
    let proof = migrate::proof(&settings.target).unwrap();
    assert_eq!(proof.verdict(), ProofVerdict::Proven);
    let chunks = || proof.tables.iter().flat_map(|table| &table.chunks);
    assert!(chunks().all(|chunk| chunk.current), "{proof:?}");
    for chunk in chunks() {
        let is_empty = [&chunk.changed_position, &chunk.changed_at].map(String::is_empty);
        assert_eq!(is_empty, [chunk.changed_rows == 0; 2], "{chunk:?}");
    }
}

/// The rest of its chunk is not read again.
#[test]
fn a_changed_row_that_differs_lets_its_chunk_be_compared_whole() {
    let Some(pair) = Pair::start(3000) else { return };
    let mut settings = pair.addresses().settings();
    settings.whole_bytes = 0;
    migrate::run(&settings, &mut |_| {}).unwrap();
    // Found only if its whole chunk is compared.
    pair.target.sql("SET sql_log_bin = 0; UPDATE shop.item SET doc = NULL WHERE id = 19").unwrap();
    let spoil = "CREATE TRIGGER shop.spoil BEFORE INSERT ON shop.item FOR EACH ROW SET NEW.price = IF(NEW.id = 17, 1, NEW.price)";
    pair.target.sql(spoil).unwrap();
    let run = following(&settings);
    pair.source
        .sql("UPDATE shop.item SET c = 'new' WHERE id IN (17, 18); DELETE FROM shop.item WHERE id = 20")
        .unwrap();
    let error = run.join().unwrap().unwrap_err();
    let named = |error: &Error| {
        let Error::Divergence(rows) = error else { panic!("{error}") };
        let mut rows: Vec<_> = rows.iter().map(|row| (row.key.clone(), row.kind)).collect();
        rows.sort_by(|(one, _), (other, _)| one.cmp(other));
        rows
    };
    let expected = ["17", "19"].map(|key| (key.to_owned(), DivergenceKind::Different));
    assert_eq!(named(&error), expected);
    assert_eq!(named(&migrate::run(&settings, &mut |_| {}).unwrap_err()), expected);
}

/// A row takes over a unique value of another row that has lost it at the source, but not at the target.
#[test]
fn a_row_that_another_one_replaces_is_missing() {
    let Some(pair) = Pair::start(3000) else { return };
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    let first =
        pair.source.value("SELECT CONCAT(a, ', ', LOWER(HEX(k))) FROM shop.pair ORDER BY a, k LIMIT 1").unwrap();
    pair.target.sql("SET sql_log_bin = 0; UPDATE shop.pair SET u = 900000 ORDER BY a, k LIMIT 1").unwrap();
    pair.source.sql("INSERT INTO shop.pair VALUES (1000, 'k', 'new', 900000)").unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    let Error::Divergence(rows) = &error else { panic!("{error}") };
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((row.table.as_str(), row.kind), ("shop.pair", DivergenceKind::Missing));
    assert_eq!(row.key.replace("x'", "").replace('\'', ""), first);
}

/// The target computes them, and may do so otherwise, for example in another time zone.
#[test]
fn generated_columns_that_are_stored_are_compared() {
    let Some(pair) = Pair::start(50) else { return };
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    let compute = |factor: u32| {
        let column = format!("doubled DOUBLE AS (d * {factor}) STORED");
        pair.target.sql(&format!("SET sql_log_bin = 0; ALTER TABLE shop.item MODIFY {column}")).unwrap();
    };
    compute(3);
    let error = migrate::verify(&settings, &mut |_| {}).unwrap_err();
    let Error::Divergence(found) = &error else { panic!("{error}") };
    // Every fifth is NULL.
    assert_eq!(found.len(), 40, "{found:?}");
    assert!(found.iter().all(|row| row.table == "shop.item" && row.kind == DivergenceKind::Different), "{found:?}");
    compute(2);
    migrate::verify(&settings, &mut |_| {}).unwrap();
    pair.assert_equal();
}

/// Changes of the target's rows by the remainder of their ids. None of them is visible to a casual look.
const PLANTED: [(u32, &str); 11] = [
    (1, "name = CONCAT('N', SUBSTR(name, 2))"),
    (2, "d = d + d * 2.3e-16"),
    (3, "note = NULL"),
    (4, "name = CONCAT(name, ' ')"),
    (6, "data = CONCAT(LEFT(data, 15), IF(RIGHT(data, 1) = x'00', x'01', x'00'))"),
    (11, "f = f * 1E0 + f * 1.3e-7"),
    (12, "doc = JSON_SET(doc, '$.k', id + 0.5e0)"),
    (13, "at = at + INTERVAL 1 MICROSECOND"),
    (14, "name = ''"),
    (16, "c = CONCAT(c, 'x')"),
    (17, "b = b ^ 1"),
];
/// Rows of which every twentieth has each of the differences above.
const MANY: u32 = 18_000;

/// While other tables are written to.
#[test]
#[ignore = "more than ten thousand differences: make soak"]
fn every_one_of_many_differences_is_named_and_none_is_invented() {
    use DivergenceKind::{Different, Extra, Missing};
    let Some(pair) = Pair::start(MANY) else { return };
    pair.source.sql("UPDATE shop.item SET name = NULL WHERE id % 20 = 14").unwrap();
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    let mut expected = HashSet::new();
    let mut plant = "SET sql_log_bin = 0; DELETE FROM shop.item WHERE id % 20 = 7; \
        UPDATE shop.item a JOIN shop.item b ON a.id DIV 20 = b.id DIV 20 AND a.id % 20 IN (8, 9) AND b.id % 20 = 17 - a.id % 20 \
        SET a.data = b.data; INSERT INTO shop.item (id) SELECT id + 1000000 FROM shop.pair JOIN shop.item ON id = u WHERE id % 40 = 0;"
        .to_owned();
    for (remainder, change) in PLANTED {
        plant += &format!("UPDATE shop.item SET {change} WHERE id % 20 = {remainder};");
    }
    for id in 1..=MANY {
        let is_changed = PLANTED.iter().any(|(remainder, _)| id % 20 == *remainder) || matches!(id % 20, 8 | 9);
        expected.extend(is_changed.then(|| (id.to_string(), Different)));
        expected.extend((id % 20 == 7).then(|| (id.to_string(), Missing)));
        expected.extend((id % 40 == 0).then(|| ((id + 1_000_000).to_string(), Extra)));
    }
    pair.target.sql(&plant).unwrap();
    assert!(expected.len() > 10_000, "{}", expected.len());
    let stop = AtomicBool::new(false);
    let error = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            (0..).take_while(|_| !stop.load(Ordering::Relaxed)).for_each(|number: u32| {
                let row = number % MANY;
                let sql = format!(
                    "UPDATE shop.pair SET v = {number} WHERE u = {row}; INSERT INTO shop.ack VALUES ({number})"
                );
                pair.source.sql(&sql).unwrap();
            });
        });
        let ended = migrate::verify(&settings, &mut |_| {});
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        ended.unwrap_err()
    });
    let Error::Divergence(found) = error else { panic!("{error}") };
    let count = found.len();
    let elsewhere: Vec<_> = found.iter().filter(|it| it.table != "shop.item").collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    let found: HashSet<_> = found.into_iter().map(|it| (it.key, it.kind)).collect();
    assert_eq!(count, found.len(), "a row is named twice");
    let not_named: Vec<_> = expected.difference(&found).take(10).collect();
    let invented: Vec<_> = found.difference(&expected).take(10).collect();
    assert!(not_named.is_empty() && invented.is_empty(), "not named: {not_named:?}; invented: {invented:?}");
}

/// In a statement, each quote takes two bytes.
#[test]
fn rows_that_are_too_long_for_a_statement_are_applied() {
    let Some(pair) = Pair::start(50) else { return };
    let note =
        "CREATE TABLE shop.note (n INT, body LONGBLOB, d DOUBLE, e ENUM('x', 'y'), b BIT(9), y YEAR) ENCRYPTION='Y'";
    for server in [&pair.source, &pair.target] {
        server.sql(&format!("{note}; SET GLOBAL max_allowed_packet = 1048576")).unwrap();
    }
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.source
        .sql(
            "INSERT INTO shop.wide VALUES ('2030-01-01', 1, REPEAT('''', 1000000)), ('2030-01-01', 2, 'x');
             UPDATE shop.wide SET body = REPEAT('\\\\', 1000000) WHERE day = '2030-01-01' AND n = 2;
             INSERT INTO shop.note VALUES (1, REPEAT('''', 1000000), 1 / 3e0, 'y', 257, 0),
               (2, REPEAT('\\t', 1000000), NULL, NULL, 0, 1901);
             INSERT INTO shop.note SELECT * FROM shop.note; UPDATE shop.note SET n = n + 10, y = y + 1 LIMIT 3;
             DELETE FROM shop.note WHERE n = 12 LIMIT 1",
        )
        .unwrap();
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.assert_equal();
    let rows = "SELECT n, SHA2(body, 256), HEX(POINT(d, 0)), e + 0, b + 0, y FROM shop.note ORDER BY 1, 2, 6";
    assert_eq!(pair.target.sql(rows).unwrap(), pair.source.sql(rows).unwrap());
    assert_eq!(pair.target.value("SELECT COUNT(*) FROM shop.note").unwrap(), "3");
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
    // Converted to DOUBLE, both sets are 2^63.
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
    // The servers can no longer compute the text of the JSON value, so equality is unknown.
    let different = DivergenceKind::Different;
    assert_eq!(
        found,
        [("shop.flag", "1", different), ("shop.item", "5", different), ("shop.wide", "'2030-01-01', 2.00", different)]
    );
}

/// Findings of a check about both servers of a pair.
fn found(pair: &Pair, check: &str) -> Vec<Finding> {
    let [source, target] = [(Side::Source, &pair.source), (Side::Target, &pair.target)].map(support::as_root);
    let facts = Facts::read(&source, &target, shop()).unwrap();
    judge(&facts).into_iter().find(|judged| judged.check.id == check).unwrap().findings.unwrap()
}

#[test]
fn json_that_text_cannot_hold_is_refused() {
    let Some(pair) = Pair::start(300) else { return };
    assert_eq!(found(&pair, "tables.json"), []);
    // Has the same length as a DOUBLE with the same text.
    let price = "JSON_OBJECT('a', JSON_ARRAY(1, JSON_OBJECT('price', CAST(12345.67 AS DECIMAL(7, 2)))))";
    for value in [price, "CAST(CAST('2026-01-01' AS DATE) AS JSON)"] {
        pair.source.sql(&format!("UPDATE shop.item SET doc = {value} WHERE id = 200")).unwrap();
        let refused = found(&pair, "tables.json");
        let [finding] = refused.as_slice() else { panic!("{refused:?}") };
        assert_eq!((finding.effect, finding.object.as_str()), (Effect::Block, "shop.item"));
        assert!(matches!(finding.remedy, Some(Remedy { action: Action::Advice { .. }, .. })), "{finding:?}");
        pair.source.sql("UPDATE shop.item SET doc = CAST('{\"price\": 12345.67}' AS JSON) WHERE id = 200").unwrap();
        assert_eq!(found(&pair, "tables.json"), [], "{value}");
    }
    // The same values while the migration runs.
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.source.sql(&format!("UPDATE shop.item SET doc = {price} WHERE id = 201")).unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, Error::Change { column, why: NotWritable::JsonScalar, .. } if column == "doc"), "{error}");
}

#[test]
fn the_state_is_encrypted_like_the_tables() {
    let Some(pair) = Pair::start(100) else { return };
    let state = "FROM information_schema.innodb_tablespaces WHERE name LIKE '%sealant/%'";
    let encrypted = format!(
        "SELECT CONCAT(COUNT(*) > 0, SUM(encryption = 'Y') = COUNT(*), SUM(encryption = 'N') = COUNT(*)) {state}"
    );
    for (encrypt, all_are) in [(Encrypt::All, "110"), (Encrypt::AsSource, "101")] {
        let mut settings = pair.addresses().settings();
        settings.catalog.tables.iter_mut().for_each(|table| table.encrypted = false);
        settings.encrypt = encrypt;
        settings.until = Until::Copied;
        migrate::run(&settings, &mut |_| {}).unwrap();
        assert_eq!(pair.target.value(&encrypted).unwrap(), all_are);
        pair.target
            .sql("DROP DATABASE _sealant; DELETE FROM shop.item; DELETE FROM shop.pair; DELETE FROM shop.wide; DELETE FROM shop.word; DELETE FROM shop.label; DELETE FROM shop.entry; DELETE FROM shop.grade; DELETE FROM shop.bill; DELETE FROM shop.part")
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
    let unsaved = |_: &migrate::Proof| -> Result<(), Error> { panic!("there is no proof yet") };
    assert!(matches!(migrate::finish(&settings.target, None, Some(unsaved)), Err(Error::NotSwitched)));
    let mut steps = Vec::new();
    let done = migrate::cut_over(&settings, &mut |event| {
        if let Event::Step { name } = event {
            steps.push(name);
        }
    });
    let done = done.unwrap();
    // The writers continue, and are refused.
    thread::sleep(Duration::from_millis(300));
    let acknowledged = writers.stop();
    assert_eq!(steps, ["fenced", "drained", "verified", "switched"]);
    assert!(acknowledged.len() > 50, "{}", acknowledged.len());
    let stored = pair.target.sql("SELECT marker FROM shop.ack").unwrap();
    let stored: HashSet<u64> = stored.lines().map(|line| line.parse().unwrap()).collect();
    assert!(acknowledged.iter().all(|marker| stored.contains(marker)), "an acknowledged row is lost");
    pair.assert_equal();
    assert!(done.blocked.is_some_and(|blocked| blocked < settings.max_blocked), "{:?}", done.blocked);
    assert_eq!(pair.source.value("SELECT @@super_read_only").unwrap(), "1");
    let [given, next] = [&pair.source, &pair.target].map(|server| counter(server, "item"));
    assert!(next >= given, "{next} was given already: {given}");
    // Repeated: nothing is left to do.
    assert_eq!(migrate::cut_over(&settings, &mut |_| {}).unwrap().blocked, None);
    assert!(matches!(migrate::abort(&settings.source, &settings.target, Some(&shop().filter)), Err(Error::Switched)));
    // From now on the target has writes of its own, which nothing may overwrite.
    assert!(matches!(migrate::run(&settings, &mut |_| {}), Err(Error::Switched)));
    assert!(matches!(migrate::verify(&settings, &mut |_| {}), Err(Error::Switched)));
    // If the proof cannot be saved, the state is not removed.
    let fail = |_: &migrate::Proof| -> Result<(), Error> { Err(Error::Stopped) };
    let failed = migrate::finish(&settings.target, None, Some(fail)).unwrap_err();
    assert!(matches!(failed, Error::Stopped), "{failed}");
    let mut saved = None;
    let mut save = |proof: &migrate::Proof| -> Result<(), Error> {
        saved = Some(proof.clone());
        Ok(())
    };
    migrate::finish(&settings.target, None, Some(&mut save)).unwrap();
    let saved = saved.unwrap();
    assert_eq!((saved.verdict(), saved.source_end), (ProofVerdict::Proven, done.source_end));
    assert_eq!(pair.target.sql("SHOW DATABASES LIKE '%sealant'").unwrap(), "");
}

/// The next number of a table.
fn counter(server: &Server, table: &str) -> u64 {
    let sql = "SET information_schema_stats_expiry = 0; SELECT auto_increment FROM information_schema.tables \
               WHERE table_schema = 'shop' AND table_name =";
    server.value(&format!("{sql} '{table}'")).unwrap().parse().unwrap()
}

/// Numbers that no row has are not given again, and a table that somebody uses at the target does not block writes.
#[test]
fn no_number_is_given_twice() {
    let Some(pair) = Pair::start(200) else { return };
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    let burn = "INSERT INTO shop.item (name) VALUES ('a'), ('b'); DELETE FROM shop.item WHERE name IN ('a', 'b')";
    pair.source.sql(&format!("BEGIN; {burn}; ROLLBACK; BEGIN; {burn}; COMMIT")).unwrap();
    let mut reader = support::root(&pair.target);
    reader.query("BEGIN").unwrap();
    reader.query("SELECT id FROM shop.item LIMIT 1").unwrap();
    pair.target.sql("GRANT SELECT ON performance_schema.* TO mig@'%'").unwrap();
    let mut steps = Vec::new();
    let error = migrate::cut_over(&settings, &mut |event| {
        if let Event::Step { name } = event {
            steps.push(name);
        }
    });
    let error = error.unwrap_err();
    let named = matches!(&error, Error::TargetInUse { table, by } if table == "shop.item" && by.contains(" of root"));
    assert!(named && steps.is_empty(), "{error}: {steps:?}");
    reader.query("COMMIT").unwrap();
    // A counter that gets ahead after the others were set.
    let ahead = |event: Event| {
        if matches!(event, Event::Step { .. }) {
            let limited = "SELECT COUNT(*) FROM performance_schema.variables_by_thread \
                WHERE VARIABLE_NAME = 'lock_wait_timeout' AND VARIABLE_VALUE = '1'";
            assert_eq!(pair.target.value(limited).unwrap(), "0", "sessions that wait for a second alone");
        }
        if matches!(event, Event::Step { name: "drained" }) {
            let alter = "SET sql_log_bin = 0; SET GLOBAL super_read_only = OFF; \
                ALTER TABLE shop.item AUTO_INCREMENT = 900000; SET GLOBAL super_read_only = ON";
            pair.source.sql(alter).unwrap();
        }
    };
    migrate::cut_over(&settings, &mut { ahead }).unwrap();
    assert_eq!(counter(&pair.target, "item"), 900_000);
    // Rows that were inserted together have left numbers out.
    let [given, next] = [&pair.source, &pair.target].map(|server| counter(server, "bill_line"));
    assert!((given..=given + 10_000).contains(&next), "{given}, {next}");
    pair.assert_equal();
}

/// A number of an ENUM or SET is more than its text: sessions without strict mode leave 0 in an ENUM in place of a label
/// that does not exist, and labels can be empty.
#[test]
fn enums_and_sets_keep_their_numbers() {
    let Some(pair) = Pair::start(100) else { return };
    let columns = "e ENUM('0','a') NOT NULL, w ENUM('b','') CHARACTER SET utf16, s SET('','b')";
    let tables = format!(
        "CREATE TABLE shop.mood (id INT PRIMARY KEY, {columns}) ENCRYPTION='Y';
         CREATE TABLE shop.mood_log (id INT, {columns}) ENCRYPTION='Y';"
    );
    // All warnings count, also those that a server does not keep.
    pair.target.sql(&format!("{tables} SET GLOBAL max_error_count = 1;")).unwrap();
    pair.source.sql(&tables).unwrap();
    let both = |statement: &str| {
        let sql = ["mood", "mood_log"].map(|table| statement.replace("mood", table));
        pair.source.sql(&format!("SET sql_mode = ''; {}", sql.join(";"))).unwrap();
    };
    let are_equal = || {
        for table in ["mood", "mood_log"] {
            let rows = |server: &Server| {
                server.sql(&format!("SELECT id, e + 0, w + 0, s + 0 FROM shop.{table} ORDER BY id")).unwrap()
            };
            assert_eq!(rows(&pair.source), rows(&pair.target), "{table}");
        }
    };
    both("INSERT INTO shop.mood VALUES (1, 'bogus', 'bogus', 1), (2, '0', '', 2), (3, 'a', NULL, NULL)");
    both("INSERT INTO shop.mood VALUES (4, 'a', 'b', 0)");
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    are_equal();
    both("UPDATE shop.mood SET e = 'bogus', w = '', s = 3 WHERE id = 4");
    both("UPDATE shop.mood SET w = 'b' WHERE id = 1");
    both("INSERT INTO shop.mood VALUES (5, 'bogus', 'bogus', 1), (6, 'a', 'b', 'b')");
    both("DELETE FROM shop.mood WHERE id = 5");
    both("UPDATE shop.mood SET e = 'bogus', w = 'bogus' WHERE id = 6");
    migrate::run(&settings, &mut |_| {}).unwrap();
    are_equal();
    let zeros = "SELECT CONCAT(SUM(e = 0), SUM(w = 0), SUM(s = 1)) FROM shop.mood";
    assert_eq!(pair.target.value(zeros).unwrap(), "311");
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    are_equal();
    assert_eq!(migrate::proof(&settings.target).unwrap().verdict(), ProofVerdict::Proven);
}

/// Cuts over, and calls `act` after the step `step`. Asserts that the cut-over fails, and that the source takes writes
/// again.
fn failed_cut_over(pair: &Pair, settings: &Settings, step: &str, act: &dyn Fn()) -> Error {
    let mut done = false;
    let error = migrate::cut_over(settings, &mut |event| {
        if matches!(event, Event::Step { name } if name == step) {
            act();
            done = true;
        }
    });
    assert_eq!(pair.source.value("SELECT @@super_read_only + @@read_only").unwrap(), "0");
    let error = error.unwrap_err();
    assert!(done || step.is_empty(), "{error}");
    error
}

#[test]
fn a_difference_that_was_found_is_not_forgotten() {
    let Some(pair) = Pair::start(1000) else { return };
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.target.sql("SET sql_log_bin = 0; DELETE FROM shop.item WHERE id = 500").unwrap();
    assert!(matches!(migrate::verify(&settings, &mut |_| {}), Err(Error::Divergence(_))));
    let error = failed_cut_over(&pair, &settings, "", &|| {});
    assert!(matches!(&error, Error::Divergence(rows) if rows.len() == 1), "{error}");
}

#[test]
fn a_cut_over_that_fails_gives_the_source_back() {
    let Some(pair) = Pair::start(1000) else { return };
    let mut settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();

    let error = failed_cut_over(&pair, &settings, "fenced", &|| settings.stop.store(true, Ordering::Relaxed));
    assert!(matches!(error, Error::Stopped), "{error}");
    settings.stop.store(false, Ordering::Relaxed);

    let write = || {
        pair.source.sql("SET GLOBAL super_read_only = OFF; SET GLOBAL read_only = OFF").unwrap();
        pair.source.sql("INSERT INTO shop.ack VALUES (1); SET GLOBAL super_read_only = ON").unwrap();
    };
    let error = failed_cut_over(&pair, &settings, "verified", &write);
    assert!(error.to_string().contains("transactions were executed at the fenced source"), "{error}");

    pair.source.sql("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1; START REPLICA").unwrap();
    let error = failed_cut_over(&pair, &settings, "", &|| {});
    assert!(error.to_string().contains("applies changes of another server"), "{error}");
    pair.source.sql("STOP REPLICA").unwrap();

    settings.max_blocked = Duration::from_secs(1);
    let late = || {
        thread::sleep(Duration::from_secs(3));
        // The fence is lifted although the cut-over still waits.
        assert_eq!(pair.source.value("SELECT @@super_read_only + @@read_only").unwrap(), "0");
    };
    let error = failed_cut_over(&pair, &settings, "fenced", &late);
    assert!(error.to_string().contains("has taken no writes for 1 s"), "{error}");

    settings.max_blocked = Duration::from_secs(30);
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    assert_eq!(pair.source.value("SELECT @@super_read_only").unwrap(), "1");
}

#[test]
fn a_target_that_was_changed_ends_a_migration() {
    let Some(pair) = Pair::start(200) else { return };
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.target.sql("ALTER TABLE shop.wide ADD INDEX more (n)").unwrap();
    for error in [migrate::run(&settings, &mut |_| {}).map(drop), migrate::cut_over(&settings, &mut |_| {}).map(drop)] {
        let error = error.unwrap_err();
        assert!(matches!(&error, Error::Structure { differences } if differences[0].table.1 == "wide"), "{error}");
    }
    pair.target.sql("ALTER TABLE shop.wide DROP INDEX more; ALTER TABLE shop.pair ENCRYPTION = 'N'").unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, Error::Structure { differences } if differences[0].attribute == "encryption"), "{error}");
}

/// A trigger changes one value of one row; nothing warns of it.
#[test]
fn a_row_that_is_stored_otherwise_is_not_copied() {
    let Some(pair) = Pair::start(200) else { return };
    let settings = pair.addresses().settings();
    let trigger = "CREATE TRIGGER shop.other BEFORE INSERT ON shop.pair FOR EACH ROW
        SET NEW.v = IF(NEW.u = 77, CONCAT(NEW.v, '!'), NEW.v)";
    pair.target.sql(trigger).unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    let key = pair.source.value("SELECT a FROM shop.pair WHERE u = 77").unwrap();
    assert!(
        matches!(&error, Error::ReadBack { table, what: found } if table == "shop.pair" && found.contains(&key)),
        "{error}"
    );
    assert_eq!(pair.target.value("SELECT COUNT(*) FROM shop.pair WHERE u = 77").unwrap(), "0");
    pair.target.sql("DROP TRIGGER shop.other").unwrap();
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.assert_equal();
}

/// Writes that leave the rows equal are found too, whenever they happen; then the tables are compared again.
#[test]
fn foreign_writes_to_the_target_are_named() {
    let Some(pair) = Pair::start(200) else { return };
    pair.target.sql("GRANT REPLICATION SLAVE ON *.* TO mig@'%'").unwrap();
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    let ends = |what: &str, error: Option<Error>| {
        let named = matches!(&error, Some(Error::TargetWritten { table, .. }) if table == "shop.pair");
        assert!(named, "{what}: {error:?}");
    };
    let elsewhere = "CREATE DATABASE other; CREATE TABLE other.t (a INT PRIMARY KEY); INSERT INTO other.t VALUES (1)";
    pair.target.sql(elsewhere).unwrap();
    let code = "CREATE VIEW shop.seen AS SELECT * FROM shop.pair; OPTIMIZE TABLE shop.pair; DROP VIEW shop.seen";
    pair.target.sql(code).unwrap();
    assert_eq!(migrate::run(&settings, &mut |_| {}).unwrap().chunks, 0);
    let change = "UPDATE shop.pair SET u = u + 1000000 LIMIT 1";
    pair.target.sql(&format!("{change}; UPDATE shop.pair SET u = u - 1000000 WHERE u >= 1000000")).unwrap();
    ends("between two runs", migrate::run(&settings, &mut |_| {}).err());
    ends("the second transaction", migrate::cut_over(&settings, &mut |_| {}).err());
    assert_eq!(pair.source.value("SELECT @@super_read_only").unwrap(), "0");
    assert!(migrate::run(&settings, &mut |_| {}).unwrap().chunks > 0, "nothing was compared again");
    pair.target.sql(&format!("SET binlog_transaction_compression = ON; {change}")).unwrap();
    ends("compressed", migrate::verify(&settings, &mut |_| {}).err());
    pair.target.sql("UPDATE shop.pair SET u = u - 1000000 WHERE u >= 1000000").unwrap();
    ends("back", migrate::run(&settings, &mut |_| {}).err());
    migrate::run(&settings, &mut |_| {}).unwrap();
    let opened = |event: Event| {
        if matches!(event, Event::Step { name: "switched" }) {
            pair.target.sql(&format!("{change}; UPDATE shop.pair SET u = u - 1000000 WHERE u >= 1000000")).unwrap();
            thread::sleep(Duration::from_millis(500));
        }
    };
    migrate::cut_over(&settings, &mut { opened }).unwrap();
    pair.assert_equal();
    let proof = migrate::proof(&settings.target).unwrap();
    assert_eq!(proof.verdict(), ProofVerdict::Proven);
    assert_eq!(proof.journal.iter().filter(|entry| entry.what == "foreign-write").count(), 4);
}

/// No batch, chunk or cut-over of the migration itself is taken for a foreign write, however large its transactions.
#[test]
fn own_writes_to_the_target_are_not_foreign() {
    let Some(pair) = Pair::start(2000) else { return };
    pair.target.sql("GRANT REPLICATION SLAVE ON *.* TO mig@'%'").unwrap();
    let mut settings = pair.addresses().settings();
    settings.batch.rows = 50;
    let writers = Writers::start(&pair, 2, 2000);
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.source.sql("UPDATE shop.pair SET v = CONCAT(v, '!'); FLUSH BINARY LOGS").unwrap();
    pair.target.sql("FLUSH BINARY LOGS").unwrap();
    migrate::run(&settings, &mut |_| {}).unwrap();
    writers.stop();
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    pair.assert_equal();
}

#[test]
fn a_paused_migration_waits_until_it_is_resumed() {
    let Some(pair) = Pair::start(200) else { return };
    let mut settings = pair.addresses().settings();
    assert!(matches!(migrate::pause(&settings.target), Err(Error::NotBegun)));
    settings.until = Until::Forever;
    let following = settings.clone();
    let run = thread::spawn(move || migrate::run(&following, &mut |_| {}).unwrap_err());
    wait_until("the rows are copied", limit(60), || {
        assert!(!run.is_finished(), "the run has ended");
        migrate::status(&settings.target).is_ok_and(|status| status.phase == Phase::Copied)
    });
    migrate::pause(&settings.target).unwrap();
    let error = run.join().unwrap();
    assert!(matches!(error, Error::Paused), "{error}");
    let status = migrate::status(&settings.target).unwrap();
    assert!(status.paused && !status.running);
    for error in [migrate::run(&settings, &mut |_| {}).map(drop), migrate::cut_over(&settings, &mut |_| {}).map(drop)] {
        assert!(matches!(error, Err(Error::Paused)), "{error:?}");
    }
    pair.source.sql("DELETE FROM shop.item WHERE id < 50").unwrap();
    migrate::resume(&settings.target).unwrap();
    assert!(matches!(migrate::resume(&settings.target), Err(Error::NotPaused)));
    settings.until = Until::Verified;
    migrate::run(&settings, &mut |_| {}).unwrap();
    // As a killed cut-over leaves it.
    pair.target.sql("UPDATE _sealant.run SET fence = '0,0', phase = 'cut-over'").unwrap();
    assert!(matches!(migrate::pause(&settings.target), Err(Error::CutOverInterrupted)));
    assert!(!migrate::status(&settings.target).unwrap().paused);
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    pair.assert_equal();
    assert!(matches!(migrate::pause(&settings.target), Err(Error::Switched)));
    pair.target.sql("UPDATE _sealant.run SET format = 3; ALTER TABLE _sealant.run DROP COLUMN paused").unwrap();
    let error = migrate::status(&settings.target).unwrap_err();
    assert!(matches!(&error, Error::OtherFormat { found, .. } if found == "3"), "{error}");
}

#[test]
fn a_table_that_was_encrypted_after_the_plan_is_not_copied_in_clear() {
    let Some(pair) = Pair::start(100) else { return };
    for server in [&pair.source, &pair.target] {
        server.sql("ALTER TABLE shop.pair ENCRYPTION = 'N'").unwrap();
    }
    let mut settings = pair.addresses().settings();
    settings.encrypt = Encrypt::AsSource;
    pair.source.sql("ALTER TABLE shop.pair ENCRYPTION = 'Y'").unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, Error::Structure { differences } if differences[0].attribute == "encryption"), "{error}");
    assert_eq!(pair.target.value("SELECT COUNT(*) FROM shop.pair").unwrap(), "0");
    assert_eq!(pair.target.sql("SHOW DATABASES LIKE '%sealant'").unwrap(), "");
}

/// Every row that is applied would be in clear in that log.
#[test]
fn a_target_whose_log_is_in_clear_gets_no_rows() {
    let Some(pair) = Pair::start(200) else { return };
    let mut settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    let set = |value: &str| drop(pair.target.sql(&format!("SET GLOBAL binlog_encryption = {value}")).unwrap());
    let is_refused = |error: &Error| {
        assert!(matches!(error, Error::LessEncrypted { check: "encryption.binary-log", .. }), "{error}");
        assert!(error.is_refusal() && error.hint().unwrap().contains("SET PERSIST binlog_encryption = ON"));
    };
    set("OFF");
    pair.source.sql("INSERT INTO shop.ack VALUES (7)").unwrap();
    for ended in [
        migrate::run(&settings, &mut |_| {}).map(drop),
        migrate::verify(&settings, &mut |_| {}).map(drop),
        migrate::cut_over(&settings, &mut |_| {}).map(drop),
    ] {
        is_refused(&ended.unwrap_err());
    }
    assert_eq!(pair.target.value("SELECT COUNT(*) FROM shop.ack").unwrap(), "0");
    set("ON");
    is_refused(&failed_cut_over(&pair, &settings, "fenced", &|| set("OFF")));
    set("ON");
    settings.until = Until::Forever;
    let mut is_off = false;
    let followed = migrate::run(&settings, &mut |event| {
        if matches!(&event, Event::Progress(progress) if progress.phase == Phase::Copied) && !is_off {
            is_off = true;
            set("OFF");
        }
    });
    is_refused(&followed.unwrap_err());
    set("ON");
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    pair.assert_equal();
    let journal = migrate::proof(&settings.target).unwrap().journal;
    let noted = |what: &str| journal.iter().filter(|entry| entry.what == what).collect::<Vec<_>>();
    assert_eq!(noted("less-encrypted").len(), 5, "{journal:?}");
    let encrypted = "binary log encrypted (binlog_encryption), redo log in clear";
    assert!(noted("encryption").last().unwrap().detail.contains(encrypted), "{journal:?}");
}

/// As if a run had been killed between two tables.
#[test]
fn tables_that_an_interrupted_run_has_created_are_its_own() {
    let Some(pair) = Pair::of_kinds(Kinds::MYSQL_97, 100) else { return };
    let settings = pair.addresses().settings();
    let prepare = |after_plan: &dyn Fn()| {
        migrate::prepare(settings.source.clone(), settings.target.clone(), shop(), |_| -> Result<(), Error> {
            after_plan();
            Ok(())
        })
    };
    let is_ready = || assert!(matches!(prepare(&|| ()).unwrap(), Preparation::Ready(_)));
    let abort = || migrate::abort(&settings.source, &settings.target, Some(&shop().filter));
    // All that is left of a run that is killed before it stores what it is about to create.
    pair.target.sql("CREATE DATABASE _sealant").unwrap();
    let view = || drop(pair.target.sql("CREATE DATABASE shop; CREATE VIEW shop.label AS SELECT 1").unwrap());
    let error = prepare(&view).unwrap_err();
    assert!(matches!(&error, Error::Create { object, .. } if object == "shop.label"), "{error}");
    let created = "SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables \
                   WHERE table_schema = 'shop' AND table_type = 'BASE TABLE'";
    assert_eq!(pair.target.value(created).unwrap(), "ack,bill,bill_line,entry,grade,item");
    assert!(matches!(migrate::status(&settings.target), Err(Error::NotBegun)));
    // The view alone is in the way.
    let blocked = found(&pair, "target.empty");
    assert!(matches!(blocked.as_slice(), [view] if view.object == "shop.label"), "{blocked:?}");
    assert!(matches!(prepare(&|| ()).unwrap(), Preparation::Refused(_)));
    pair.target.sql("DROP VIEW shop.label; DROP TABLE shop.ack").unwrap();
    is_ready();

    pair.target.sql("INSERT INTO shop.ack VALUES (7)").unwrap();
    let error = abort().unwrap_err();
    assert!(matches!(&error, Error::NotEmpty { table } if table == "shop.ack"), "{error}");
    pair.target.sql("DELETE FROM shop.ack").unwrap();
    abort().unwrap();
    assert_eq!(pair.target.sql("SHOW DATABASES LIKE '%sealant'; SHOW TABLES FROM shop").unwrap(), "");
    assert!(matches!(abort(), Err(Error::NotBegun)));

    is_ready();
    migrate::run(&settings, &mut |_| {}).unwrap();
    assert_eq!(pair.target.sql("SHOW TABLES FROM _sealant LIKE 'creating'").unwrap(), "");
    pair.assert_equal();
}

#[test]
fn a_process_that_another_one_has_followed_stores_nothing() {
    let Some(pair) = Pair::start(200) else { return };
    let settings = pair.addresses().settings();
    let follow = || drop(pair.target.sql("UPDATE _sealant.epoch SET epoch = epoch + 1").unwrap());
    let run = |at: Phase, act: &dyn Fn()| {
        migrate::run(&settings, &mut |event| {
            if event == Event::Phase(at) {
                act();
            }
        })
    };
    // Loads a chunk.
    let error = run(Phase::Copy, &follow).unwrap_err();
    assert!(matches!(error, Error::Locked { side: Side::Target }), "{error}");
    assert_eq!(pair.target.value("SELECT COUNT(*) FROM shop.item").unwrap(), "0");
    // Applies a change.
    let change = || {
        follow();
        pair.source.sql("INSERT INTO shop.ack VALUES (77)").unwrap();
    };
    let error = run(Phase::Copied, &change).unwrap_err();
    assert!(matches!(error, Error::Locked { side: Side::Target }), "{error}");
    assert_eq!(pair.target.value("SELECT COUNT(*) FROM shop.ack").unwrap(), "0");
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.assert_equal();
}

#[test]
fn a_lost_target_gives_the_source_back() {
    let Some(pair) = Pair::start(200) else { return };
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    let lose = || drop(pair.target.sql("SHUTDOWN"));
    let error = failed_cut_over(&pair, &settings, "fenced", &lose);
    assert!(matches!(error, Error::Server { side: Side::Target, .. }), "{error}");
}

#[test]
fn an_aborted_migration_leaves_nothing_behind() {
    let Some(pair) = Pair::start(1000) else { return };
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    // As if the process had been killed while the source was fenced.
    pair.target.sql("UPDATE _sealant.run SET step = 'fenced', fence = '0,0', phase = 'cut-over'").unwrap();
    pair.source.sql("SET GLOBAL super_read_only = ON").unwrap();
    migrate::abort(&settings.source, &settings.target, Some(&shop().filter)).unwrap();
    assert_eq!(pair.source.value("SELECT @@super_read_only + @@read_only").unwrap(), "0");
    assert_eq!(pair.target.sql("SHOW DATABASES LIKE '%sealant'; SHOW TABLES FROM shop").unwrap(), "");
}

#[test]
fn a_migration_is_given_up_without_its_source() {
    let Some(pair) = Pair::start(100) else { return };
    let mut settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    settings.source.target = "mysql://mig@127.0.0.1:1".parse().unwrap();
    let dropping = migrate::abort(&settings.source, &settings.target, Some(&shop().filter));
    assert!(matches!(dropping, Err(Error::Server { side: Side::Source, .. })), "{dropping:?}");
    migrate::abort(&settings.source, &settings.target, None).unwrap();
    assert_eq!(pair.target.sql("SHOW DATABASES LIKE '%sealant'").unwrap(), "");
    assert_eq!(pair.target.value("SELECT COUNT(*) FROM shop.item").unwrap(), "100");
}

#[test]
fn a_proof_that_is_discarded_is_not_read() {
    let Some(pair) = Pair::start(100) else { return };
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.target.sql("UPDATE _sealant.run SET phase = 'switched'; DROP TABLE _sealant.journal").unwrap();
    let unsaved = |_: &migrate::Proof| -> Result<(), Error> { panic!("it cannot be read") };
    assert!(matches!(
        migrate::finish(&settings.target, None, Some(unsaved)),
        Err(Error::Server { side: Side::Target, .. })
    ));
    let discard = None::<fn(&migrate::Proof) -> Result<(), Error>>;
    migrate::finish(&settings.target, None, discard).unwrap();
    assert_eq!(pair.target.sql("SHOW DATABASES LIKE '%sealant'").unwrap(), "");
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
fn comments_do_not_hide_a_definition() {
    let Some(pair) = Pair::start(200) else { return };
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    let mut root = pair.root();
    root.query("SET NAMES utf8mb4").unwrap();
    for statement in ["USE shop", "-- Create user table: don't\nTRUNCATE TABLE ack"] {
        root.query(statement).unwrap();
    }
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, Error::DefinitionChanged { table, .. } if table == "shop.ack"), "{error}");
}

/// Runs a migration until it is stopped, in a thread of its own. Returns once the rows are copied.
fn following(settings: &Settings) -> JoinHandle<Result<Verified, Error>> {
    following_with(settings, |_| {})
}

fn following_with(
    settings: &Settings,
    mut events: impl FnMut(Event) + Send + 'static,
) -> JoinHandle<Result<Verified, Error>> {
    let settings = Settings { until: Until::Forever, ..settings.clone() };
    let target = settings.target.clone();
    let run = thread::spawn(move || migrate::run(&settings, &mut events));
    wait_until("the rows are copied", limit(60), || {
        assert!(!run.is_finished(), "the run has ended");
        migrate::status(&target).is_ok_and(|status| status.phase == Phase::Copied)
    });
    run
}

/// Rows of such a table would be at the source alone.
#[test]
fn a_table_that_is_made_meanwhile_is_named() {
    let Some(pair) = Pair::start(200) else { return };
    let mut settings = pair.addresses().settings();
    let is_named = |error: &Error, name: &str| {
        matches!(error, Error::NewTables { tables } if tables == name)
            && error.is_refusal()
            && error.hint().unwrap().contains("--exclude")
    };
    let make = |name: &str| {
        let sql = format!("CREATE TABLE {name} (id INT PRIMARY KEY); INSERT INTO {name} VALUES (1)");
        pair.source.sql(&sql).unwrap();
    };
    let (sender, said) = mpsc::channel();
    let run = following_with(&settings, move |event| {
        if let Event::NewTables { tables } = event {
            let _ = sender.send(tables);
        }
    });
    make("shop.staging");
    assert_eq!(said.recv_timeout(limit(60)).unwrap(), "shop.staging");
    pair.source.sql("DROP TABLE shop.staging").unwrap();
    settings.stop.store(true, Ordering::Relaxed);
    run.join().unwrap().unwrap();
    settings.stop.store(false, Ordering::Relaxed);
    // One that stays.
    settings.new_table_limit = Duration::from_secs(1);
    let run = following(&settings);
    make("shop.new");
    let error = run.join().unwrap().unwrap_err();
    assert!(is_named(&error, "shop.new"), "while following: {error}");
    // It is no table of the migration when that resumes, either.
    let confirm = |_: &migrate::plan::Plan| -> Result<(), Error> { panic!("the migration has begun") };
    let prepared = migrate::prepare(settings.source.clone(), settings.target.clone(), shop(), confirm).unwrap();
    let Preparation::Ready(mut resumed) = prepared else { panic!("{prepared:?}") };
    resumed.new_table_limit = Duration::ZERO;
    let error = migrate::run(&resumed, &mut |_| {}).unwrap_err();
    assert!(is_named(&error, "shop.new"), "when it resumes: {error}");
    // As if it had been made after the cut-over had listed the tables, and before that.
    let error = failed_cut_over(&pair, &settings, "", &|| {});
    assert!(is_named(&error, "shop.new"), "in the cut-over: {error}");
    let error = failed_cut_over(&pair, &pair.addresses().settings(), "", &|| {});
    assert!(matches!(&error, Error::OtherMigration { what } if what.starts_with("shop.new ")), "{error}");
    settings.filter.exclude.push(glob::Pattern::new("shop.new").unwrap());
    // Only moved tables are locked.
    settings.fencing = Fencing { lock_tables: true, lasting: None };
    let error = failed_cut_over(&pair, &settings, "verified", &|| make("shop.late"));
    assert!(is_named(&error, "shop.late"), "while writes are blocked: {error}");
    // One that is gone again needs no `--exclude`.
    pair.source.sql("DROP TABLE shop.late").unwrap();
    settings.fencing = Fencing::default();
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    pair.assert_equal();
}

/// It may be gone before the rows are copied and compared.
#[test]
fn a_new_table_ends_no_run_that_has_work_to_do() {
    let Some(pair) = Pair::start(300) else { return };
    let mut settings = pair.addresses().settings();
    settings.new_table_limit = Duration::ZERO;
    let make = |event: Event| {
        if matches!(event, Event::Phase(Phase::Copy)) {
            pair.source.sql("CREATE TABLE IF NOT EXISTS shop.work (id INT PRIMARY KEY)").unwrap();
        }
    };
    let error = migrate::run(&settings, &mut { make }).unwrap_err();
    assert!(matches!(&error, Error::NewTables { tables } if tables == "shop.work"), "{error}");
    let status = migrate::status(&settings.target).unwrap();
    let is_compared = status.tables.iter().all(|table| table.complete && table.verified == table.chunks);
    assert!(status.phase == Phase::Copied && is_compared, "{status:?}");
    pair.source.sql("DROP TABLE shop.work").unwrap();
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.assert_equal();
}

#[test]
fn statements_that_keep_rows_do_not_end_a_run() {
    let Some(pair) = Pair::start(200) else { return };
    let settings = pair.addresses().settings();
    let run = following(&settings);
    let trigger = "CREATE TRIGGER shop.more AFTER INSERT ON shop.ack FOR EACH ROW
        UPDATE shop.pair SET v = 'fired' WHERE u = 7";
    for statement in [
        "OPTIMIZE TABLE shop.pair",
        "ANALYZE TABLE shop.pair",
        "CREATE VIEW shop.seen AS SELECT * FROM shop.pair",
        "CREATE PROCEDURE shop.clear() DELETE FROM shop.ack",
        "CREATE EVENT shop.nightly ON SCHEDULE EVERY 1 YEAR STARTS NOW() + INTERVAL 1 YEAR DO DELETE FROM shop.ack",
        trigger,
        "CREATE DATABASE other; CREATE TABLE other.copy LIKE shop.pair",
    ] {
        pair.source.sql(statement).unwrap();
    }
    let mut root = pair.root();
    for (charset, statement) in [
        ("cp1251", &b"ALTER TABLE other.copy COMMENT '\xE6\xF3\xEA'"[..]),
        ("latin1", b"CREATE TABLE other.t (a INT COMMENT '5 \x80')"),
    ] {
        root.query(&format!("SET NAMES {charset}")).unwrap();
        root.execute(statement).unwrap();
    }
    pair.source.sql("INSERT INTO shop.ack VALUES (77)").unwrap();
    wait_until("the change of the trigger is applied", limit(60), || {
        assert!(!run.is_finished(), "the run has ended");
        pair.target.value("SELECT COUNT(*) FROM shop.pair WHERE v = 'fired'").unwrap() == "1"
    });
    settings.stop.store(true, Ordering::Relaxed);
    run.join().unwrap().unwrap();
    settings.stop.store(false, Ordering::Relaxed);
    pair.assert_equal();
    // This one may have changed the columns.
    root.execute(b"ALTER TABLE shop.pair COMMENT '5 \x80'").unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, Error::LogGap { what, .. } if what.contains("cannot be read")), "{error}");
}

#[test]
fn a_logged_statement_ends_a_run() {
    let Some(pair) = Pair::start(200) else { return };
    let mut root = pair.root();
    for statement in [
        "CREATE DATABASE other",
        "CREATE TABLE other.t (a INT)",
        "SET GLOBAL log_bin_trust_function_creators = ON",
        "CREATE FUNCTION other.f() RETURNS INT BEGIN DELETE FROM shop.ack; RETURN 1; END",
    ] {
        root.query(statement).unwrap();
    }
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    // The function changes a table that the statement does not name.
    root.query("SET SESSION binlog_format = STATEMENT").unwrap();
    root.query("INSERT INTO other.t VALUES (other.f())").unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::StatementFormat { .. }), "{error}");
}

#[test]
fn modes_of_the_source_change_no_values() {
    let Some(pair) = Pair::start(200) else { return };
    let modes = "STRICT_ALL_TABLES,PAD_CHAR_TO_FULL_LENGTH,NO_BACKSLASH_ESCAPES";
    pair.source
        .sql(&format!(
            "SET GLOBAL sql_mode = '{modes}'; SET sql_mode = 'ALLOW_INVALID_DATES'; \
             INSERT INTO shop.wide VALUES ('2001-02-31', 1, REPEAT('x', 250000)), ('2001-02-31', 2, 'y')"
        ))
        .unwrap();
    let mut settings = pair.addresses().settings();
    // A chunk ends with the long row, so its date is compared.
    migrate::run(&settings, &mut |_| {}).unwrap();
    // Zeros, also in a compressed transaction.
    pair.source
        .sql(
            "SET binlog_transaction_compression = ON; \
             UPDATE shop.item SET data = REPEAT(CHAR(0), 100), name = '''\\' WHERE id < 50",
        )
        .unwrap();
    settings.until = Until::Verified;
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.source.sql("SET GLOBAL sql_mode = DEFAULT").unwrap();
    pair.assert_equal();
}

#[test]
fn what_is_not_safe_is_refused() {
    let Some(pair) = Pair::start(200) else { return };
    let mut settings = pair.addresses().settings();
    settings.source.options.tls.mode = Some(server::TlsMode::Required);
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::Unverified { side: Side::Source, .. }), "{error}");

    let settings = pair.addresses().settings();
    pair.target.sql("INSERT INTO shop.item (id) VALUES (5)").unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, Error::NotEmpty { table } if table == "shop.item"), "{error}");
    // Rows that are not a copy are never dropped.
    assert!(matches!(migrate::abort(&settings.source, &settings.target, Some(&shop().filter)), Err(Error::NotBegun)));
    assert_eq!(pair.target.value("SELECT COUNT(*) FROM shop.item").unwrap(), "1");
    pair.target.sql("CREATE DATABASE _sealant; CREATE TABLE _sealant.mine (a INT)").unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::ForeignState { .. }), "{error}");
    pair.target.sql("DROP DATABASE _sealant; DELETE FROM shop.item").unwrap();
    pair.source.sql("SET GLOBAL binlog_row_image = MINIMAL").unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::SourceSetting { variable: "binlog_row_image", .. }), "{error}");
}

/// The rows of an XA transaction are in the log before they are visible.
#[test]
fn xa_transactions_of_moved_tables_end_a_run() {
    let Some(pair) = Pair::start(100) else { return };
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    let xa = |change: &str| format!("XA START 'a'; {change}; XA END 'a'; XA PREPARE 'a'; XA COMMIT 'a'");
    pair.source.sql("CREATE DATABASE other; CREATE TABLE other.t (a INT PRIMARY KEY)").unwrap();
    pair.source.sql(&xa("INSERT INTO other.t VALUES (1)")).unwrap();
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.source.sql(&xa("INSERT INTO shop.ack VALUES (1)")).unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    let Error::LogGap { what, .. } = &error else { panic!("{error}") };
    assert!(what.contains("XA transaction"), "{error}");
    assert_eq!(pair.target.value("SELECT COUNT(*) FROM shop.ack").unwrap(), "0");
}

#[test]
fn an_open_xa_transaction_is_refused() {
    let Some(pair) = Pair::start(20) else { return };
    assert_eq!(found(&pair, "log.prepared"), []);
    pair.source.sql("XA START 'a'; INSERT INTO shop.ack VALUES (1); XA END 'a'; XA PREPARE 'a'").unwrap();
    let refused = found(&pair, "log.prepared");
    assert!(matches!(refused.as_slice(), [finding] if finding.effect == Effect::Block), "{refused:?}");
    pair.source.sql("XA ROLLBACK 'a'").unwrap();
    assert_eq!(found(&pair, "log.prepared"), []);
}

#[test]
fn filters_of_logs_are_seen() {
    let Some(mut pair) = Pair::start(20) else { return };
    pair.target.sql("GRANT REPLICATION SLAVE ON *.* TO mig@'%'").unwrap();
    pair.source.restart_with(&["--binlog-do-db=other"]).unwrap();
    pair.target.restart_with(&["--binlog-ignore-db=shop"]).unwrap();
    let refused = found(&pair, "log.filters");
    let [finding] = refused.as_slice() else { panic!("{refused:?}") };
    assert_eq!(finding.effect, Effect::Block);
    assert!(finding.evidence.contains("binlog-do-db is other"), "{}", finding.evidence);
    let told = found(&pair, "target.log");
    assert!(matches!(told.as_slice(), [finding] if finding.effect == Effect::Tell), "{told:?}");
}

/// A trigger changes another table within a transaction of the migration, and so does not write on its own.
#[test]
fn a_trigger_that_changes_another_table_is_a_foreign_write() {
    let Some(pair) = Pair::start(100) else { return };
    pair.target.sql("GRANT REPLICATION SLAVE ON *.* TO mig@'%'").unwrap();
    pair.source.sql("INSERT INTO shop.ack VALUES (1)").unwrap();
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    let trigger = "CREATE TRIGGER shop.more AFTER DELETE ON shop.pair FOR EACH ROW DELETE FROM shop.ack";
    pair.target.sql(trigger).unwrap();
    pair.source.sql("DELETE FROM shop.pair WHERE u = 7").unwrap();
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    let named = matches!(&error, Error::TargetWritten { table, .. } if table == "shop.ack, shop.pair");
    assert!(named, "{error}");
    let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
    let Error::Divergence(rows) = &error else { panic!("{error}") };
    let rows: Vec<_> = rows.iter().map(|row| (row.table.as_str(), row.kind)).collect();
    assert_eq!(rows, [("shop.ack", DivergenceKind::Missing)]);
}

/// Foreign writes are then found only where rows differ.
#[test]
fn a_target_needs_no_binary_log() {
    let Some(mut pair) = Pair::start(100) else { return };
    pair.target.sql("GRANT REPLICATION SLAVE ON *.* TO mig@'%'").unwrap();
    pair.target.restart_with(&["--skip-log-bin"]).unwrap();
    pair.target.sql("SET GLOBAL local_infile = ON").unwrap();
    let told = found(&pair, "target.log");
    assert!(matches!(told.as_slice(), [finding] if finding.effect == Effect::Tell), "{told:?}");
    let settings = pair.addresses().settings();
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.target.sql("UPDATE shop.pair SET v = 'other' WHERE u = 7").unwrap();
    // A run compares only what has changed at the source, but a cut-over compares everything, before it blocks writes.
    migrate::run(&settings, &mut |_| {}).unwrap();
    let mut said = Vec::new();
    let error = migrate::cut_over(&settings, &mut |event| {
        said.extend(Some(event).filter(|event| matches!(event, Event::ComparesAgain | Event::Step { .. })));
    });
    let error = error.unwrap_err();
    assert!(matches!(&error, Error::Divergence(rows) if rows.len() == 1), "{error}");
    assert_eq!(said, [Event::ComparesAgain]);
    assert!(matches!(migrate::verify(&settings, &mut |_| {}), Err(Error::Divergence(_))));
    pair.source.sql("UPDATE shop.pair SET v = 'new' WHERE u = 7").unwrap();
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    pair.assert_equal();
    let proof = migrate::proof(&settings.target).unwrap();
    assert_eq!(proof.verdict(), ProofVerdict::Proven);
    assert_eq!(proof.journal.iter().filter(|entry| entry.what == "compares-again").count(), 2);
}
