//! Kills a rotation, or its server, at any moment: running it again completes it, and nothing is lost.
//!
//! `SEALANT_FAULTS` is the number of random moments (4), `SEALANT_FAULT_SEED` chooses them.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use harness::{Kind, limit, require, wait_until};

use crate::support::chance::{Random, number};
use crate::support::proof::{Proof, Statements};
use crate::support::rotation::Rotating;

const BOTH: [&str; 2] = ["--master-key", "--binlog-key"];
/// Enough tables that re-wrapping takes the server a while.
const TABLES: u32 = 120;

/// Waits for a moment in a run of length `run`: at its beginning, soon after it has sent a statement, or at random.
fn wait_for_a_moment(random: &mut Random, at: &Rotating, sent: usize, run: Duration) {
    let whole = u64::try_from(run.as_micros()).expect("not for ever");
    let began = Instant::now();
    match random.below(4) {
        0 => sleep(Duration::from_micros(random.below(90_000))),
        1 => sleep(Duration::from_micros(random.below(whole + whole / 10))),
        _ => {
            // One of the three, with a time limit: a rerun need not send any statement.
            let statements = 1 + usize::try_from(random.below(3)).expect("small");
            while statements_sent(at) < sent + statements && began.elapsed() < run {
                sleep(Duration::from_micros(200));
            }
            sleep(Duration::from_micros(random.below(25_000)));
        }
    }
}

/// Number of statements in the log so far.
fn statements_sent(at: &Rotating) -> usize {
    fs::read_to_string(at.path("statements")).unwrap_or_default().matches("\"event\":\"sent\"").count()
}

fn begin() -> (Rotating, Duration) {
    let at = Rotating::begin();
    at.server.sql(&format!("USE demo; CALL more_tables({TABLES})")).expect("tables are made");
    let began = Instant::now();
    at.run("first.age", &BOTH).is_done();
    (at, began.elapsed())
}

/// The invariant after every run: the live keyring opens everything, and every existing backup is complete.
#[track_caller]
fn nothing_is_lost(at: &Rotating, backup: &str) {
    // A server continues with statements of a client that is gone.
    let at_it = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'ALTER INSTANCE%'";
    wait_until("the server is through", limit(60), || at.server.value(at_it).expect("a count") == "0");
    Proof::mysql(&[at.server.datadir()], Some(&at.keyring())).is_sound();
    let live = fs::read_to_string(at.keyring()).expect("a keyring");
    for left in at.left().iter().filter(|left| left.starts_with(backup)) {
        let held = String::from_utf8(at.open(left)).expect("text");
        assert!(held.starts_with('{') && held.ends_with('}'), "{left}");
    }
    assert!(live.contains("INNODBKey-"));
}

/// Returns whether the rerun completed without another rotation of the master key.
#[track_caller]
fn a_rerun_finishes(at: &Rotating, backup: &str) -> bool {
    let ended = at.run(backup, &BOTH);
    let report = if ended.had_ended_before() {
        at.has_no_unfinished_run();
        None
    } else {
        let report = ended.is_done();
        assert_eq!(report["lagging"], serde_json::json!([]), "{report:#}");
        Some(report)
    };
    assert_eq!(at.open(backup), fs::read(at.keyring()).expect("a keyring"));
    at.opens_everything(backup);
    let left = at.left();
    assert!(left.iter().all(|name| !name.contains("sealant-part")), "{left:?}");
    report.is_none_or(|report| report["steps"][3]["state"] == "skipped")
}

#[test]
fn a_rotation_killed_at_any_moment_loses_nothing_and_a_rerun_finishes() {
    let Some(_) = require(Kind::MySql97) else { return };
    let mut random = Random::new(1);
    let (at, usual) = begin();
    let _load = Statements::begin(&at.server, "CALL demo.busy()");
    let (mut cut_off, mut resumed) = (0, 0);
    for round in 0..number("SEALANT_FAULTS", 4) {
        let backup = format!("round{round}.age");
        let (mut command, sent) = (at.command(&backup, &BOTH), statements_sent(&at));
        let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        wait_for_a_moment(&mut random, &at, sent, usual);
        running.kill().expect("it is a child");
        let ended = running.wait().expect("it ends");
        if ended.success() {
            continue;
        }
        cut_off += 1;
        // Every second rerun starts at once, while the server may still be working.
        if round % 2 == 0 {
            nothing_is_lost(&at, &backup);
        }
        resumed += u32::from(a_rerun_finishes(&at, &backup));
    }
    assert!(cut_off > 0, "no run was cut off");
    println_counts("cut off", cut_off, "and finished without another rotation", resumed);
    assert_eq!(at.server.value("SELECT COUNT(*) FROM demo.zip").expect("rows"), "900");
}

#[allow(clippy::print_stdout, reason = "shown with --nocapture")]
fn println_counts(one: &str, count: u32, other: &str, of_these: u32) {
    println!("{one}: {count}, {other}: {of_these}");
}

#[test]
fn a_server_that_is_killed_meanwhile_recovers_and_a_rerun_finishes() {
    let Some(_) = require(Kind::MySql97) else { return };
    let mut random = Random::new(2);
    let (mut at, usual) = begin();
    for round in 0..number("SEALANT_FAULTS", 4).div_ceil(2).max(3) {
        let backup = format!("round{round}.age");
        let load = Statements::begin(&at.server, "CALL demo.busy()");
        let (mut command, sent) = (at.command(&backup, &BOTH), statements_sent(&at));
        let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        wait_for_a_moment(&mut random, &at, sent, usual);
        at.server.kill();
        drop(load);
        let ended = running.wait_with_output().expect("it ends");
        let finished = ended.status.success();
        assert!(finished || ended.status.code() == Some(1) || ended.status.code() == Some(3));
        at.server.start().expect("it recovers");
        nothing_is_lost(&at, &backup);
        if !finished {
            a_rerun_finishes(&at, &backup);
        }
    }
    assert_eq!(at.server.value("SELECT COUNT(*) FROM demo.zip").expect("rows"), "900");
}
