//! A complete migration between each pair of kinds of servers: tables are created, copied and followed while clients
//! write to the source, a planted difference is found, and the cut-over happens under writes.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{collections::HashSet, sync::atomic::Ordering};

use harness::Kind;
use migrate::{
    DivergenceKind, Error, ProofVerdict, Settings, Until,
    plan::{CheckState, Readiness, plan},
};
use support::{Kinds, Pair, shop, writers::Writers};

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
    let writers = Writers::start(&pair, 2, ROWS.into());
    settings.until = Until::Copied;
    migrate::run(&settings, &mut |_| {}).unwrap();
    let during = writers.acknowledged.load(Ordering::Relaxed);
    assert!(during > 20, "{during}");
    settings.until = Until::Verified;
    the_planted_row_alone_differs(&pair, &settings);
    migrate::cut_over(&settings, &mut |_| {}).unwrap();
    let acknowledged = writers.stop();
    let stored = pair.target.sql("SELECT marker FROM shop.ack").unwrap();
    let stored: HashSet<u64> = stored.lines().map(|line| line.parse().unwrap()).collect();
    assert!(acknowledged.len() > 20, "{}", acknowledged.len());
    assert!(acknowledged.iter().all(|marker| stored.contains(marker)), "an acknowledged row is lost");
    pair.assert_equal();
    migrate::finish(&settings.target, Some(|proof: &migrate::Proof| proven(proof.verdict()))).unwrap();
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
fn mysql_8_0_without_gtids_to_8_0() {
    migrates(Kinds { source: Kind::MySql80, target: Kind::MySql80, gtids: false });
}

#[test]
fn mysql_8_0_to_9_7() {
    migrates(Kinds { source: Kind::MySql80, target: Kind::MySql97, gtids: true });
}

#[test]
fn mysql_9_7_without_gtids() {
    migrates(Kinds { gtids: false, ..Kinds::MYSQL_97 });
}
