//! A complete migration between each pair of kinds of servers: tables are created, copied and followed while clients
//! write to the source, a planted difference is found, and the cut-over happens under writes.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{collections::HashSet, sync::atomic::Ordering};

use harness::{Kind, limit, wait_until};
use migrate::{
    DivergenceKind, Error, ProofVerdict, Settings, Until,
    plan::{CheckState, Readiness, plan},
    preflight::Effect,
};
use support::{Kinds, Pair, shop, types, writers::Writers};

const ROWS: u32 = 1500;

/// Plans with the accounts of the migration. Nothing may block it.
fn is_planned(settings: &Settings) {
    let plan = plan(&settings.source, &settings.target, shop()).unwrap();
    let found = plan.checks.iter().filter(|check| matches!(check.result, CheckState::Found | CheckState::Unknown));
    let found: Vec<_> = found.map(|check| format!("{}: {} {}", check.id, check.object, check.evidence)).collect();
    assert_eq!(plan.readiness(), Readiness::Ready, "{found:#?}");
}

fn migrates(kinds: Kinds) {
    let Some(pair) = Pair::of_kinds(kinds, ROWS) else { return };
    let mut settings = pair.addresses().settings();
    is_planned(&settings);
    migrate::create_tables(&settings).unwrap();
    if kinds.source.is_mariadb() || kinds.target.is_mariadb() {
        is_not_copied_in_clear(&pair, &settings);
    }
    let writers = Writers::start(&pair, 2, ROWS.into());
    settings.until = Until::Copied;
    migrate::run(&settings, &mut |_| {}).unwrap();
    let during = writers.acknowledged.load(Ordering::Relaxed);
    assert!(during > 20, "{during}");
    settings.until = Until::Verified;
    the_planted_row_alone_differs(&pair, &settings);
    if kinds.source.is_mariadb() {
        is_not_fenced_for_administrators(&pair, &settings);
    }
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    let acknowledged = writers.stop();
    let stored = pair.target.sql("SELECT marker FROM shop.ack").unwrap();
    let stored: HashSet<u64> = stored.lines().map(|line| line.parse().unwrap()).collect();
    assert!(acknowledged.len() > 20, "{}", acknowledged.len());
    assert!(acknowledged.iter().all(|marker| stored.contains(marker)), "an acknowledged row is lost");
    pair.assert_equal();
    migrate::finish(&settings.target, None, Some(|proof: &migrate::Proof| proven(proof.verdict()))).unwrap();
}

/// A table of the target that is less encrypted than the source's gets no rows.
fn is_not_copied_in_clear(pair: &Pair, settings: &Settings) {
    let [clear, encrypted] = match pair.target.kind().is_mariadb() {
        true => ["ENCRYPTED=NO", "ENCRYPTED=YES"],
        false => ["ENCRYPTION='N'", "ENCRYPTION='Y'"],
    };
    let alter = |option: &str| pair.target.sql(&format!("ALTER TABLE shop.pair {option}")).unwrap();
    alter(clear);
    let error = migrate::run(settings, &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "target: shop.pair tablespace encryption is 'clear' and not 'encrypted'");
    alter(encrypted);
}

/// Users who can write in spite of MariaDB's `read_only` have to leave before the cut-over.
fn is_not_fenced_for_administrators(pair: &Pair, settings: &Settings) {
    let administrator = pair.root();
    let error = migrate::cut_over(settings, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, Error::NotReady { what } if what.starts_with("root: connected")), "{error}");
    assert!(error.to_string().contains("REVOKE READ_ONLY ADMIN, and end these sessions"), "{error}");
    assert_eq!(pair.source.value("SELECT @@read_only").unwrap(), "0");
    administrator.close();
    // The server ends a session a moment after its client has closed it. The session that asks is of the same user.
    let others = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'root' AND ID <> CONNECTION_ID()";
    wait_until("the sessions of root have ended", limit(30), || pair.source.value(others).unwrap() == "0");
}

fn proven(verdict: ProofVerdict) -> Result<(), Error> {
    assert_eq!(verdict, ProofVerdict::Proven);
    Ok(())
}

/// Every row is compared while the writers continue. They never write to the planted row.
fn the_planted_row_alone_differs(pair: &Pair, settings: &Settings) {
    let change =
        |body: &str| format!("SET sql_log_bin = 0; UPDATE shop.wide SET body = {body} WHERE day = '1999-01-01'");
    pair.target.sql(&change("CONCAT(body, 'x')")).unwrap();
    let error = migrate::run(settings, &mut |_| {}).unwrap_err();
    let Error::Divergence(found) = &error else { panic!("{error}") };
    let [row] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((row.table.as_str(), row.kind), ("shop.wide", DivergenceKind::Different));
    pair.target.sql(&change("'planted'")).unwrap();
}

#[test]
fn mysql_5_7_without_gtids_to_8_0() {
    migrates(Kinds { source: Kind::MySql57, target: Kind::MySql80, gtids: false });
}

#[test]
fn mysql_5_7_to_9_7() {
    migrates(Kinds { source: Kind::MySql57, target: Kind::MySql97, gtids: true });
}

#[test]
#[ignore = "half a minute beside others of its kind: make soak"]
fn mysql_8_0_without_gtids_to_8_0() {
    migrates(Kinds { source: Kind::MySql80, target: Kind::MySql80, gtids: false });
}

#[test]
#[ignore = "half a minute beside others of its kind: make soak"]
fn mysql_8_0_to_9_7() {
    migrates(Kinds { source: Kind::MySql80, target: Kind::MySql97, gtids: true });
}

#[test]
fn mysql_9_7_without_gtids() {
    migrates(Kinds { gtids: false, ..Kinds::MYSQL_97 });
}

#[test]
#[ignore = "half a minute beside others of its kind: make soak"]
fn mariadb_10_11_to_10_11() {
    migrates(Kinds { source: Kind::MariaDb1011, target: Kind::MariaDb1011, gtids: true });
}

#[test]
fn mariadb_10_11_to_11_8() {
    migrates(Kinds { source: Kind::MariaDb1011, target: Kind::MariaDb118, gtids: true });
}

#[test]
fn mariadb_10_11_to_mysql_9_7() {
    migrates(Kinds { source: Kind::MariaDb1011, target: Kind::MySql97, gtids: true });
}

#[test]
fn mysql_9_7_to_mariadb_10_11() {
    migrates(Kinds { source: Kind::MySql97, target: Kind::MariaDb1011, gtids: true });
}

#[test]
#[ignore = "half a minute beside others of its kind: make soak"]
fn mysql_9_7_without_gtids_to_mariadb_11_8() {
    migrates(Kinds { source: Kind::MySql97, target: Kind::MariaDb118, gtids: false });
}

#[test]
#[ignore = "half a minute beside others of its kind: make soak"]
fn mysql_8_0_to_mariadb_10_11() {
    migrates(Kinds { source: Kind::MySql80, target: Kind::MariaDb1011, gtids: true });
}

#[test]
#[ignore = "half a minute beside others of its kind: make soak"]
fn mariadb_11_4_to_11_8() {
    migrates(Kinds { source: Kind::MariaDb114, target: Kind::MariaDb118, gtids: true });
}

/// Copied rows, and rows that are changed afterwards, have the same bits as at the source.
fn values_are_exact(kinds: Kinds) {
    let Some(pair) = Pair::of_kinds(kinds, 20) else { return };
    pair.source.sql(&types::create(kinds, "types", "id INT PRIMARY KEY")).unwrap();
    pair.source.sql(&types::create(kinds, "keyless", "id INT")).unwrap();
    let insert = |first| {
        for table in ["types", "keyless"] {
            pair.source.sql(&types::insert(kinds, table, first)).unwrap();
            // As sessions without strict mode leave it: a number that stands for no label.
            let bogus = format!("SET sql_mode = ''; UPDATE shop.{table} SET e = 'bogus' WHERE id = {first}");
            pair.source.sql(&bogus).unwrap();
        }
    };
    insert(0);
    let mut settings = pair.addresses().settings();
    is_planned(&settings);
    migrate::create_tables(&settings).unwrap();
    settings.until = Until::Copied;
    if kinds.source.is_mariadb() && !kinds.target.is_mariadb() {
        pair.source.sql("INSERT INTO shop.types (id, t6) VALUES (99, '838:59:59.999999')").unwrap();
        let error = migrate::run(&settings, &mut |_| {}).unwrap_err();
        let Error::Load { table, code, column, .. } = &error else { panic!("{error}") };
        let named = table == "shop.types" && *code == 1264 && column.as_deref() == Some("t6");
        assert!(named, "beyond the range of MySQL: {error}");
        pair.source.sql("DELETE FROM shop.types WHERE id = 99").unwrap();
    }
    migrate::run(&settings, &mut |_| {}).unwrap();
    insert(100);
    settings.until = Until::Verified;
    migrate::run(&settings, &mut |_| {}).unwrap();
    let are_equal = |table: &str, rows: usize| {
        let dump = |server: &harness::Server| server.sql(&types::dump(kinds, table)).unwrap();
        let (source, target) = (dump(&pair.source), dump(&pair.target));
        assert_eq!((source.lines().count(), target.lines().count()), (rows, rows), "{table}");
        source.lines().zip(target.lines()).for_each(|(one, other)| assert_eq!(one, other));
    };
    are_equal("types", 2 * types::ROWS.len());
    are_equal("keyless", 2 * types::ROWS.len());
    // Each of these rows is found by its values.
    pair.source.sql("UPDATE shop.keyless SET id = id + 1000; DELETE FROM shop.keyless WHERE id < 1100").unwrap();
    migrate::run(&settings, &mut |_| {}).unwrap();
    are_equal("keyless", types::ROWS.len());
}

#[test]
fn values_of_mariadb_10_11_are_exact_in_11_8() {
    values_are_exact(Kinds { source: Kind::MariaDb1011, target: Kind::MariaDb118, gtids: true });
}

#[test]
fn values_of_mariadb_10_11_are_exact_in_mysql_9_7() {
    values_are_exact(Kinds { source: Kind::MariaDb1011, target: Kind::MySql97, gtids: true });
}

#[test]
#[ignore = "two more servers: make soak"]
fn values_of_mariadb_11_8_are_exact_in_11_8() {
    values_are_exact(Kinds { source: Kind::MariaDb118, target: Kind::MariaDb118, gtids: true });
}

#[test]
fn values_of_mysql_9_7_are_exact_in_mariadb_10_11() {
    values_are_exact(Kinds { source: Kind::MySql97, target: Kind::MariaDb1011, gtids: true });
}

/// Only a server can compare UUIDs, so that rows with such a key are found by it there.
#[test]
fn rows_with_uuids_as_keys_are_followed() {
    let kinds = Kinds { source: Kind::MariaDb1011, target: Kind::MariaDb118, gtids: true };
    let Some(pair) = Pair::of_kinds(kinds, 8) else { return };
    // Versions 1 and 4, whose bytes are stored in another order, version 7, and none.
    let uuids = ["123e4567-e89b-12d3-a456-426614170000", "00112233-4455-4677-8899-aabbccddee00"]
        .into_iter()
        .chain(["018e4c7c-7c7c-7abc-bdef-0123456789ab", "00000000-0000-0000-0000-000000000000"]);
    let rows: Vec<_> = uuids.zip(1..).map(|(uuid, n)| format!("('{uuid}', '::{n}:0', {n})")).collect();
    let sql = format!(
        "CREATE TABLE shop.device (u UUID NOT NULL, a INET6 NOT NULL, n INT, PRIMARY KEY (u, a)) ENCRYPTED=YES; \
         INSERT INTO shop.device VALUES {}",
        rows.join(", ")
    );
    pair.source.sql(&sql).unwrap();
    let settings = pair.addresses().settings();
    migrate::create_tables(&settings).unwrap();
    migrate::run(&settings, &mut |_| {}).unwrap();
    let change = "UPDATE shop.device SET n = n + 10; DELETE FROM shop.device WHERE n = 12; \
                  UPDATE shop.device SET u = UUID(), a = '2001:db8::' WHERE n = 13; \
                  INSERT INTO shop.device VALUES (UUID(), '::1', 0)";
    pair.source.sql(change).unwrap();
    migrate::run(&settings, &mut |_| {}).unwrap();
    let rows = "SELECT u, a, n FROM shop.device ORDER BY u, a";
    let (source, target) = (pair.source.sql(rows).unwrap(), pair.target.sql(rows).unwrap());
    assert_eq!((source.lines().count(), source.as_str()), (4, target.as_str()));
}

/// What MariaDB does not have is named before a table is created.
#[test]
fn what_mariadb_lacks_of_mysql_is_refused() {
    let kinds = Kinds { source: Kind::MySql97, target: Kind::MariaDb1011, gtids: true };
    let Some(pair) = Pair::of_kinds(kinds, 1) else { return };
    let tables = [
        ("by_expression", "a INT, KEY k ((a + 1))", "the index k is over an expression"),
        ("checked", "a INT CHECK (a > 1)", "it has a CHECK"),
        ("computed", "a INT, b INT AS (a + 1)", "column b is generated"),
        ("given", "a VARCHAR(36) DEFAULT (UUID())", "column a has an expression as its default"),
        ("hidden_index", "a INT, KEY k (a) INVISIBLE", "it has an ignored index"),
        ("located", "p POINT NOT NULL SRID 4326", "column p is limited to SRID 4326"),
        ("parsed", "t TEXT, FULLTEXT KEY k (t) WITH PARSER ngram", "it has an index with a parser"),
        ("parts", "a INT) PARTITION BY HASH (a", "it has partitions"),
        ("of_china", "t TEXT CHARACTER SET gb18030", "column t has the collation gb18030_chinese_ci"),
        ("text_key", "k VARCHAR(20) PRIMARY KEY", "the texts of PRIMARY may be ordered otherwise"),
        ("vectors", "v VECTOR(3)", "column v has the type VECTOR"),
    ];
    for (name, columns, _) in tables {
        pair.source.sql(&format!("CREATE TABLE shop.{name} ({columns})")).unwrap();
    }
    let settings = pair.addresses().settings();
    let plan = plan(&settings.source, &settings.target, shop()).unwrap();
    assert_eq!(plan.readiness(), Readiness::Blocked);
    let blocking =
        plan.checks.iter().filter(|check| check.effect == Some(Effect::Block) && check.result == CheckState::Found);
    let found: Vec<_> = blocking.map(|check| format!("{}: {}", check.object, check.evidence)).collect();
    for (name, _, what) in tables {
        assert!(found.iter().any(|one| one.starts_with(&format!("shop.{name}: {what}"))), "{name}: {found:#?}");
    }
    let is_of_words = |one: &String| one.starts_with("shop.parsed: it has a full-text index, whose words");
    let others: Vec<_> = found.iter().filter(|one| !is_of_words(one)).collect();
    assert_eq!((found.len(), others.len()), (tables.len() + 1, tables.len()), "{found:#?}");
}

/// The newest collations of MariaDB are its own.
#[test]
fn a_collation_that_the_other_fork_lacks_is_refused() {
    let kinds = Kinds { source: Kind::MariaDb118, target: Kind::MySql97, gtids: true };
    let Some(pair) = Pair::of_kinds(kinds, 1) else { return };
    let settings = pair.addresses().settings();
    let plan = plan(&settings.source, &settings.target, shop()).unwrap();
    assert_eq!(plan.readiness(), Readiness::Blocked);
    let found =
        plan.checks.iter().filter(|check| check.result == CheckState::Found && check.effect == Some(Effect::Block));
    let found: Vec<_> = found.map(|check| format!("{}: {}: {}", check.id, check.object, check.evidence)).collect();
    let of_name = |found: &&String| {
        found.starts_with("tables.other-fork: shop.item: column name has the collation utf8mb4_uca1400_ai_ci")
    };
    assert!(found.iter().any(|one| of_name(&one)), "{found:#?}");
    for object in ["shop", "shop.item"] {
        let default = format!("tables.other-fork: {object}: its default collation is utf8mb4_uca1400_ai_ci");
        assert!(found.iter().any(|one| one.starts_with(&default)), "{found:#?}");
    }
    assert!(found.iter().all(|one| one.contains("_uca1400_ai_ci, which the target does not have")), "{found:#?}");
}
