//! Processes of a migration that are killed while clients write to the source: the same call then resumes, and no
//! acknowledged write is lost.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{
    collections::HashSet,
    process::Child,
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use harness::Kind;
use migrate::{CutOver, Error, Phase, Preparation, Proof, ProofVerdict, Settings, Until, plan::Plan};
use support::{Addresses, Kinds, Pair, shop, writers::Writers};

/// Milliseconds after which the copying process is killed.
const COPYING: [u64; 3] = [100, 1600, 700];

/// The part of a test that another process does, until it is killed.
#[test]
fn run_in_a_child() {
    let Some(addresses) = Addresses::from_environment() else { return };
    let settings = Settings { until: Until::Forever, ..addresses.settings() };
    migrate::run(&settings, &mut |_| {}).unwrap();
}

#[test]
fn cut_over_in_a_child() {
    let Some(addresses) = Addresses::from_environment() else { return };
    migrate::cut_over(&addresses.settings(), &mut |_| {}).unwrap();
}

#[test]
fn create_in_a_child() {
    let Some(addresses) = Addresses::from_environment() else { return };
    create(&addresses.settings());
}

/// Creates the tables as the command does.
fn create(settings: &Settings) {
    let confirm = |_: &Plan| -> Result<(), Error> { Ok(()) };
    let prepared = migrate::prepare(settings.source.clone(), settings.target.clone(), shop(), confirm).unwrap();
    assert!(matches!(prepared, Preparation::Ready(_)), "{prepared:?}");
}

/// Returns whether the process was still working when it was killed.
fn kill(mut child: Child, after: u64) -> bool {
    thread::sleep(Duration::from_millis(after));
    child.kill().unwrap();
    // A process that has ended by itself has a code.
    child.wait().unwrap().code().is_none()
}

/// Kills processes that copy, after these times in milliseconds, and then processes that cut over. `cut_over` are times
/// since the source was fenced.
fn goes_on(kinds: Kinds, rows: u32, copying: &[u64], cut_over: &[u64]) {
    let Some(pair) = Pair::of_kinds(kinds, rows) else { return };
    let mut settings = pair.addresses().settings();
    migrate::create_tables(&settings).unwrap();
    let writers = Writers::start(&pair, 4, rows.into());
    let copied = || {
        let status = migrate::status(&settings.target);
        status.map_or(0, |status| status.tables.iter().map(|table| table.rows).sum::<u64>())
    };
    for delay in copying {
        let child = pair.addresses().child("run_in_a_child");
        wait_for("something is copied", || copied() > 0);
        assert!(kill(child, *delay), "the run has ended before it was killed");
    }
    settings.until = Until::Copied;
    migrate::run(&settings, &mut |_| {}).unwrap();
    // Asks the target: an administrator at the source would keep MariaDB's cut-over from beginning.
    let status = || migrate::status(&settings.target).unwrap();
    let mut killed = cut_over.is_empty();
    for delay in cut_over {
        let mut child = pair.addresses().child("cut_over_in_a_child");
        wait_for("the source is fenced", || status().fenced || child.try_wait().unwrap().is_some());
        killed |= kill(child, *delay);
    }
    assert!(killed, "every cut-over has ended before it was killed");
    cuts_over(&settings);
    assert!(status().phase == Phase::Switched && pair.source.value("SELECT @@read_only").unwrap() == "1");
    nothing_is_lost(&pair, writers);
}

/// Cuts over, after processes that may have been killed.
fn cuts_over(settings: &Settings) -> CutOver {
    let mut done = None;
    wait_for("a cut-over", || match migrate::cut_over(settings, &mut |_| {}) {
        Ok(cut_over) => {
            done = Some(cut_over);
            true
        }
        // Sessions of a killed process may be there for a moment.
        Err(Error::NotReady { .. } | Error::Locked { .. }) => false,
        Err(error) => panic!("{error}"),
    });
    done.unwrap()
}

/// Stops the writers at the source. The target has what was acknowledged, and nothing else.
fn nothing_is_lost(pair: &Pair, writers: Writers) {
    let acknowledged = writers.stop();
    let stored = pair.target.sql("SELECT marker FROM shop.ack").unwrap();
    let stored: HashSet<u64> = stored.lines().map(|line| line.parse().unwrap()).collect();
    assert!(acknowledged.len() > 20, "{}", acknowledged.len());
    assert!(acknowledged.iter().all(|marker| stored.contains(marker)), "an acknowledged row is lost");
    pair.assert_equal();
}

/// One cut-over after the other, each of a new migration of the same tables. Two of five are killed at first.
fn cuts_over_often(kinds: Kinds, times: u64) {
    const ROWS: u32 = 2000;
    let Some(pair) = Pair::of_kinds(kinds, ROWS) else { return };
    for time in 0..times {
        let mut settings = pair.addresses().settings();
        settings.until = Until::Copied;
        // In every second, only changed rows are compared again.
        settings.whole_bytes *= time % 2;
        migrate::create_tables(&settings).unwrap();
        migrate::run(&settings, &mut |_| {}).unwrap();
        let clients = (0..4).map(|_| pair.client()).collect();
        let writers = Writers::with(clients, time * 4, ROWS.into());
        wait_for("writes", || writers.acknowledged.load(Ordering::Relaxed) > 300);
        let is_killed = time % 5 < 2;
        if is_killed {
            let mut child = pair.addresses().child("cut_over_in_a_child");
            let fenced = || migrate::status(&settings.target).unwrap().fenced;
            wait_for("the source is fenced", || fenced() || child.try_wait().unwrap().is_some());
            kill(child, time * 37 % 300);
        }
        let done = cuts_over(&settings);
        let is_short = done.blocked.is_none_or(|blocked| blocked < harness::limit(2));
        assert!(is_short && (is_killed || done.blocked.is_some()), "{time}: {done:?}");
        nothing_is_lost(&pair, writers);
        let proven = |proof: &Proof| -> Result<(), Error> {
            assert_eq!(proof.verdict(), ProofVerdict::Proven, "{time}");
            Ok(())
        };
        migrate::finish(&settings.target, None, Some(proven)).unwrap();
        pair.target.sql("DROP DATABASE shop").unwrap();
        pair.source.sql("SET GLOBAL read_only = OFF").unwrap();
    }
}

#[track_caller]
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < harness::limit(240), "{what}: never");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_killed_migration_goes_on() {
    goes_on(Kinds::MYSQL_97, 4000, &COPYING, &[]);
}

/// Before the migration begins.
#[test]
fn a_run_that_was_killed_while_it_created_tables_goes_on() {
    let Some(pair) = Pair::of_kinds(Kinds::MYSQL_97, 100) else { return };
    let more = (0..60).map(|number| format!("CREATE TABLE shop.more{number} (id INT PRIMARY KEY) ENCRYPTION='Y';"));
    pair.source.sql(&more.collect::<String>()).unwrap();
    let created = || -> u32 {
        let sql = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema IN ('shop', '_sealant')";
        pair.target.value(sql).unwrap().parse().unwrap()
    };
    for delay in [0, 150, 20] {
        let before = created();
        let mut child = pair.addresses().child("create_in_a_child");
        wait_for("a table is created", || created() > before || child.try_wait().unwrap().is_some());
        kill(child, delay);
    }
    let settings = Settings { until: Until::Copied, ..pair.addresses().settings() };
    create(&settings);
    migrate::run(&settings, &mut |_| {}).unwrap();
    pair.assert_equal();
}

#[test]
fn a_killed_migration_goes_on_without_gtids() {
    goes_on(Kinds { gtids: false, ..Kinds::MYSQL_97 }, 4000, &COPYING, &[]);
}

const MARIADB: Kinds = Kinds { source: Kind::MariaDb1011, target: Kind::MariaDb114, gtids: true };

#[test]
fn a_killed_migration_of_mariadb_goes_on() {
    goes_on(MARIADB, 1500, &COPYING[2..], &[0]);
}

#[test]
#[ignore = "many kills of each pair: make soak"]
fn migrations_that_are_killed_often_go_on() {
    let often: Vec<u64> = (0..12).map(|number| number * 173 % 1900).collect();
    let fenced: Vec<u64> = (0..12).map(|number| number * 40).collect();
    let mariadb_118 = Kinds { source: Kind::MariaDb114, target: Kind::MariaDb118, gtids: true };
    let across = Kinds { target: Kind::MySql97, ..MARIADB };
    for kinds in [Kinds::MYSQL_97, Kinds { gtids: false, ..Kinds::MYSQL_97 }, MARIADB, mariadb_118, across] {
        goes_on(kinds, 8000, &often, &fenced);
    }
}

#[test]
#[ignore = "a hundred cut-overs, forty of them killed: make soak"]
fn many_cut_overs_lose_no_acknowledged_row() {
    cuts_over_often(Kinds::MYSQL_97, 70);
    cuts_over_often(Kinds { source: Kind::MariaDb114, target: Kind::MariaDb118, gtids: true }, 30);
}
