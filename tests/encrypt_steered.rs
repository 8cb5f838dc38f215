//! Controls `sealant encrypt` from outside: pause, cancel, waiting, and tools that copy tables while clients write.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use harness::{Kind, Replication, Server, limit, require, wait_until};
use serde_json::Value;

use crate::support::chance::{Random, number};
use crate::support::encryption::{
    Ended, SUMS, clear_mysql, comes_to, files_with_marker, mysql_to_be_killed, mysql_with_tables,
    pause_between_statements, start,
};
use crate::support::proof::Statements;
use crate::support::schema::has_its_schema;
use crate::support::{run, sealant};

/// Output of `sealant encrypt status` for the only run.
fn status(server: &Server) -> Value {
    let output = run(["encrypt", "status", "--format", "json", "--state-dir", server.dir().to_str().expect("ASCII")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let Some(state) = all.get(0) else { return Value::Null };
    has_its_schema(state, "encrypt-state-1");
    state.clone()
}

fn steer(server: &Server, verb: &str) -> std::process::Output {
    run(["encrypt", verb, "--state-dir", server.dir().to_str().expect("ASCII")])
}

#[track_caller]
fn wait_for(server: &Server, what: &str, seen: impl Fn(&Value) -> bool) -> Value {
    wait_until(what, limit(60), || {
        let state = status(server);
        if seen(&state) { Ok(state) } else { Err(state) }
    })
}

fn ended(child: Child) -> (Option<i32>, Value) {
    let output = child.wait_with_output().expect("it ends");
    (output.status.code(), serde_json::from_slice(&output.stdout).expect("a report"))
}

#[test]
fn a_run_is_paused_resumed_and_canceled_and_the_next_finishes() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = mysql_with_tables();
    let before = server.sql(SUMS).expect("sums");
    assert_eq!(steer(&server, "pause").status.code(), Some(1), "nothing goes on yet");

    let child = start(&server, &["--purge-binlogs", "--throttle", "Threads_connected=0"]);
    let waiting = wait_for(&server, "it waits", |state| state["activity"] == "waiting");
    assert!(waiting["why"].as_str().expect("why").contains("Threads_connected is 1"), "{waiting}");
    let second = Ended::run(&server, "run", &[]);
    second.refuses(1, "another run is working");
    assert!(steer(&server, "cancel").status.success());
    let (code, report) = ended(child);
    assert_eq!((code, report["canceled"].as_bool(), report["done"].as_bool()), (Some(3), Some(true), Some(false)));
    assert_eq!(status(&server)["activity"], "canceled");

    let child = start(&server, &["--purge-binlogs"]);
    wait_for(&server, "it works", |state| state["step"].as_u64() > Some(2));
    assert!(steer(&server, "pause").status.success());
    let paused = wait_for(&server, "it is paused", |state| state["activity"] == "paused");
    // Nothing happens in the meantime.
    thread::sleep(Duration::from_millis(1200));
    assert_eq!(status(&server)["step"], paused["step"], "it stays where it is");
    assert!(steer(&server, "resume").status.success());
    let (code, report) = ended(child);
    assert_eq!((code, report["done"].as_bool()), (Some(0), Some(true)), "{}", report["leftovers"]);
    assert_eq!(status(&server)["activity"], "done");
    let state_dir = server.dir().to_str().expect("ASCII");
    let forgotten = run(["encrypt", "status", "--forget", "--state-dir", state_dir]);
    assert!(String::from_utf8_lossy(&forgotten.stderr).contains("forgotten"), "{forgotten:?}");
    assert_eq!(status(&server), Value::Null);
    assert_eq!(server.sql(SUMS).expect("sums"), before);
    assert_eq!(files_with_marker(server.datadir()), Vec::<PathBuf>::new());
}

#[test]
fn a_table_whose_copy_was_canceled_is_unchanged() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = mysql_with_tables();
    server.sql("ALTER SCHEMA shop DEFAULT ENCRYPTION = 'Y'").expect("altered, which the lock would keep from it");
    // A lock delays the copy, so that the cancellation happens during it.
    let holder = Statements::hold(&server, "LOCK TABLES shop.t READ");
    let child = start(&server, &["--lock-wait", "60"]);
    wait_for(&server, "it is at the table", |state| {
        state["what"].as_str().is_some_and(|what| what.contains("shop.t "))
    });
    let waits =
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table metadata lock%'";
    wait_until("it waits for the lock", limit(60), || server.value(waits).is_ok_and(|count| count != "0"));
    let asked = Instant::now();
    let pid = child.id().to_string();
    // A signal has the same effect as `sealant encrypt cancel`.
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
    let (code, report) = ended(child);
    assert_eq!((code, report["canceled"].as_bool()), (Some(3), Some(true)));
    // The lock is still held; the statement would have waited a minute for it.
    let soon = limit(20).min(Duration::from_secs(50));
    assert!(asked.elapsed() < soon, "it ends at once, not when the lock is free");
    drop(holder);
    assert_eq!(
        server
            .value("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'sealant%'")
            .expect("a number"),
        "0"
    );
    Ended::run(&server, "run", &["--purge-binlogs"]).is_done();
}

#[test]
fn impossible_throttling_rules_are_errors() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = mysql_with_tables();
    Ended::run(&server, "run", &["--throttle", "No_such_status=1"]).refuses(1, "no status variable No_such_status");
    Ended::run(&server, "run", &["--method", "rebuild-replica"]).refuses(1, "it is no replica");
    for wrong in [["--window", "5-6"], ["--throttle", "x"], ["--lock-budget", "0"], ["--replica", "mysql://r@h"]] {
        assert_eq!(Ended::run(&server, "run", &wrong).code, 2, "{wrong:?}");
    }
    // Without a usable tool, tables too large for the budget are left and reported.
    let all_too_large = ["--lock-budget", "1s", "--method", "auto", "--largest-table", "1"];
    let ended = Ended::run(&server, "run", &all_too_large);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let left = |step: &&Value| step["step"] == "table shop.t" && step["state"] == "skipped";
    let steps = ended.report["steps"].as_array().expect("steps");
    assert!(steps.iter().find(left).is_some_and(|step| step["reason"].to_string().contains("--largest-table")));
}

#[test]
fn a_replica_is_encrypted_while_it_replicates_and_logs_nothing_of_it() {
    let Some(_) = require(Kind::MySql97) else { return };
    let source = mysql_with_tables();
    let mut replica = clear_mysql().options(["--server-id=2", "--super-read-only=ON"]).start().expect("MySQL starts");
    replica.replicate_from(&source, &Replication::default()).expect("it follows");
    replica.catch_up_with(&source).expect("it follows");
    let before = source.sql(SUMS).expect("sums");
    assert_eq!(replica.sql(SUMS).expect("sums"), before);
    let stop = AtomicBool::new(false);
    let (written, ended) = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            source.sql("CREATE TABLE shop.meanwhile (id INT AUTO_INCREMENT PRIMARY KEY)").expect("made");
            let mut written = 0_u32;
            while !stop.load(Ordering::Relaxed) {
                source.sql("INSERT INTO shop.meanwhile VALUES ()").expect("written");
                written += 1;
                pause_between_statements();
            }
            written
        });
        let ended = Ended::run(&replica, "run", &["--method", "rebuild-replica", "--purge-binlogs"]);
        stop.store(true, Ordering::Relaxed);
        (writer.join().expect("it writes"), ended)
    });
    ended.is_done();
    assert_eq!(ended.failures(), "");
    replica.catch_up_with(&source).expect("it follows");
    assert_eq!(replica.sql(SUMS).expect("sums"), before);
    assert_eq!(replica.value("SELECT COUNT(*) FROM shop.meanwhile").expect("rows"), written.to_string());
    assert_eq!(files_with_marker(replica.datadir()), Vec::<PathBuf>::new());
    assert_eq!(replica.value("SELECT @@super_read_only").expect("a value"), "1");
    let last = replica.value("SHOW BINARY LOGS").expect("a log");
    let last = last.split_whitespace().next().expect("a name");
    let events = replica.sql(&format!("SHOW BINLOG EVENTS IN '{last}'")).expect("events");
    assert!(events.contains("meanwhile") && !events.contains("ENCRYPTION") && !events.contains("sealant"), "{events}");
    // The source is encrypted by a run of its own; it does not count as lag of the replica.
    let url = format!("mysql://root@127.0.0.1:{}", replica.port());
    Ended::run(&source, "run", &["--purge-binlogs", "--max-lag", "60s", "--replica", &url]).is_done();
    assert_eq!(source.sql(SUMS).expect("sums"), before);
}

/// gh-ost and a pt-online-schema-change for MySQL 9 cannot be installed from the registries that the tests can reach:
/// they are used if they are installed.
fn gh_ost() -> bool {
    installed("gh-ost", |_| true)
}

fn pt_osc() -> bool {
    installed("pt-online-schema-change", |version| !version.contains(" 3.2.") && !version.contains(" 3.5."))
}

fn installed(program: &str, is_fit: impl Fn(&str) -> bool) -> bool {
    let version = Command::new(program).arg("--version").stderr(Stdio::null()).output();
    let there = version.is_ok_and(|out| out.status.success() && is_fit(&String::from_utf8_lossy(&out.stdout)));
    if !there {
        say(&format!("{program} is not installed: tables are not copied by it in this run"));
    }
    there
}

#[allow(clippy::print_stdout, reason = "a test that does nothing says so")]
fn say(text: &str) {
    println!("{text}");
}

const BY_GH_OST: [&str; 4] = ["--purge-binlogs", "--method", "gh-ost", "--replicated"];
const BY_PT_OSC: [&str; 4] = ["--purge-binlogs", "--method", "pt-osc", "--replicated"];
const LEFT_BY_TOOLS: &str = "SELECT COUNT(*) + (SELECT COUNT(*) FROM information_schema.TRIGGERS \
    WHERE TRIGGER_NAME LIKE 'pt_osc%') FROM information_schema.TABLES \
    WHERE TABLE_NAME REGEXP '_(gho|ghc|ghk|del|new|old)$' OR TABLE_SCHEMA LIKE 'sealant%'";

#[test]
fn gh_ost_copies_tables_while_clients_write() {
    let (Some(_), true) = (require(Kind::MySql97), gh_ost()) else { return };
    tables_are_copied_while_clients_write(&BY_GH_OST, "gh-ost --database");
}

#[test]
fn pt_osc_copies_tables_while_clients_write() {
    let (Some(_), true) = (require(Kind::MySql97), pt_osc()) else { return };
    tables_are_copied_while_clients_write(&BY_PT_OSC, "pt-online-schema-change --alter");
}

fn tables_are_copied_while_clients_write(by: &[&str], call: &str) {
    let server = mysql_with_tables();
    server.sql("CREATE TABLE shop.counted (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(99))").expect("made");
    let stop = AtomicBool::new(false);
    let (written, ended) = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut written = 0_u32;
            while !stop.load(Ordering::Relaxed) {
                server.sql("INSERT INTO shop.counted (v) VALUES ('CLEARTEXT-MARKER new')").expect("it is written");
                written += 1;
                pause_between_statements();
            }
            written
        });
        let ended = Ended::run(&server, "run", by);
        stop.store(true, Ordering::Relaxed);
        (writer.join().expect("it writes"), ended)
    });
    ended.is_done();
    let by_tool = |step: &str| {
        ended.report["steps"]
            .as_array()
            .expect("steps")
            .iter()
            .any(|known| known["step"] == step && known["statements"].to_string().contains(call))
    };
    assert!(by_tool("table shop.counted") && by_tool("table shop.t"), "{}", ended.report["steps"]);
    assert!(!by_tool("table shop.child"), "a table with foreign keys is copied by the server");
    assert_eq!(server.value("SELECT COUNT(*) FROM shop.counted").expect("a number"), written.to_string());
    assert_eq!(server.value(LEFT_BY_TOOLS).expect("a number"), "0");
    assert_eq!(files_with_marker(server.datadir()), Vec::<PathBuf>::new());
}

#[test]
fn the_progress_of_gh_ost_is_shown() {
    let (Some(_), true) = (require(Kind::MySql97), gh_ost()) else { return };
    let server = mysql_with_tables();
    let child = start(&server, &BY_GH_OST);
    let state = wait_for(&server, "gh-ost says how far it is", |state| {
        state["within"].as_str().is_some_and(|within| within.starts_with("Copy: "))
    });
    assert!(state["what"].as_str().is_some_and(|what| what.contains("by gh-ost")), "{state}");
    assert_eq!(ended(child).0, Some(0));
    assert!(status(&server).get("within").is_none());
}

#[test]
fn the_next_run_removes_leftovers_of_a_killed_gh_ost() {
    let (Some(_), true) = (require(Kind::MySql97), gh_ost()) else { return };
    let mut chance = Random::new(31);
    for round in 0..number("SEALANT_FAULTS", 2) {
        let mut server = mysql_to_be_killed();
        let before = server.sql(SUMS).expect("sums");
        let mut child = start(&server, &BY_GH_OST);
        comes_to(&server, &mut child, "gh-ost --database");
        // Chooses the moment of the kill.
        thread::sleep(Duration::from_millis(chance.below(6000)));
        match round % 3 {
            0 => child.kill().expect("it runs"),
            1 => drop(Command::new("pkill").args(["-KILL", "-P", &child.id().to_string()]).status()),
            _ => server.kill(),
        }
        drop(child.wait_with_output());
        if round % 3 == 2 {
            server.start().expect("it starts");
        }
        let again = Ended::run(&server, "run", &BY_GH_OST);
        again.is_done();
        assert_eq!(again.failures(), "");
        assert_eq!(server.sql(SUMS).expect("sums"), before);
        assert_eq!(server.value(LEFT_BY_TOOLS).expect("a number"), "0");
        assert_eq!(files_with_marker(server.datadir()), Vec::<PathBuf>::new());
    }
}

#[test]
fn no_tool_is_used_with_a_server_that_it_does_not_know() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = mysql_with_tables();
    // The actual answer of Debian 12's program.
    let programs = server.dir().join("programs");
    std::fs::create_dir(&programs).expect("made");
    let old = programs.join("pt-online-schema-change");
    harness::script(&old, "echo 'pt-online-schema-change 3.2.1'").expect("made a program");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").expect("a path"));
    let arguments = ["encrypt", "plan", "--user", "root", "--method", "pt-osc", "--socket"];
    let output = sealant().args(arguments).arg(server.socket()).env("PATH", path).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let version = server.value("SELECT SUBSTRING_INDEX(VERSION(), '-', 1)").expect("a version");
    assert!(said.contains(&format!("pt-online-schema-change 3.2.1 does not support MySQL {version}")), "{said}");
}

#[test]
fn names_that_gh_ost_does_not_escape_are_copied_by_the_server() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = mysql_with_tables();
    server.sql("CREATE TABLE shop.`we``ird` (a INT PRIMARY KEY) ENCRYPTION='N'").expect("a table");
    let programs = server.dir().join("programs");
    std::fs::create_dir(&programs).expect("made");
    harness::script(&programs.join("gh-ost"), "echo 1.1.8").expect("made a program");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").expect("a path"));
    let arguments = ["encrypt", "plan", "--user", "root", "--method", "gh-ost", "--format", "json", "--socket"];
    let output = sealant().args(arguments).arg(server.socket()).env("PATH", path).output().expect("it starts");
    let plan: Value = serde_json::from_slice(&output.stdout).expect("a plan");
    let steps = plan["steps"].as_array().expect("steps");
    let what = |table: &str| {
        let step = steps.iter().find(|step| step["step"] == format!("table shop.{table}").as_str());
        step.unwrap_or_else(|| panic!("{table}: {plan}"))["what"].to_string()
    };
    assert!(what("t").ends_with("by gh-ost\""), "{plan}");
    assert!(what("we`ird").ends_with("by a copy\""), "{plan}");
}
