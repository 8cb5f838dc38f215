//! `sealant migrate` from the first command to the last, as an administrator gives them, on real servers.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::migrate::{Pair, text};
use crate::support::schema::has_its_schema;

const GTIDS: [&str; 2] = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
const FENCE: [&str; 3] = ["--fence", "read-only", "--yes"];
const IS_READ_ONLY: &str = "SELECT @@super_read_only";
/// Rows that fill several chunks.
const ROWS: &str = "SET cte_max_recursion_depth = 1000000;
    INSERT INTO shop.orders WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
    SELECT i, 1 + i % 2 FROM n;";

/// Runs a verb to its end. Returns its exit code, and what it said.
fn migrate(pair: &Pair, verb: &str, more: &[&str]) -> (i32, String) {
    let output = pair.command(verb, &[]).args(more).output().expect("the binary starts");
    let said = text(&output.stderr) + &text(&output.stdout);
    (output.status.code().expect("no signal"), said)
}

/// Asserts how a verb ends, and that it says all of this, and at most one error.
#[track_caller]
fn ends(pair: &Pair, verb: &str, more: &[&str], code: i32, says: &[&str]) -> String {
    let (ended, said) = migrate(pair, verb, more);
    assert_eq!(ended, code, "{verb}: {said}");
    for part in says {
        assert!(said.contains(part), "{verb} does not say {part:?}: {said}");
    }
    assert_eq!(said.matches("error:").count(), usize::from(code != 0), "{verb}: {said}");
    assert!(!said.contains("panicked") && !said.contains("secret"), "{verb}: {said}");
    said
}

/// The events of a verb with `--json`, each of which has its schema.
#[track_caller]
fn events(pair: &Pair, verb: &str, more: &[&str], code: i32) -> Vec<Value> {
    let output = pair.command(verb, &[]).arg("--json").args(more).output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(code), "{verb}: {}", text(&output.stderr));
    let lines = text(&output.stdout);
    let events = lines.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")));
    let events: Vec<Value> = events.collect();
    events.iter().for_each(|event| has_its_schema(event, "migrate-event-1"));
    events
}

/// The names of events, without progress, whose number depends on the machine.
fn names(events: &[Value]) -> Vec<&str> {
    let names = events.iter().map(|event| event["event"].as_str().expect("a text"));
    names.filter(|name| *name != "progress").collect()
}

/// A verb that runs in the background.
struct Running {
    child: Child,
    lines: BufReader<std::process::ChildStderr>,
    said: String,
}

impl Running {
    fn start(pair: &Pair, verb: &str, more: &[&str]) -> Self {
        let mut child = pair.command(verb, &[]).args(more).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let lines = BufReader::new(child.stderr.take().expect("it is a pipe"));
        Self { child, lines, said: String::new() }
    }

    /// Waits until it says this.
    #[track_caller]
    fn until_it_says(&mut self, part: &str) {
        let mut line = String::new();
        while !line.contains(part) {
            line.clear();
            assert_ne!(self.lines.read_line(&mut line).expect("text"), 0, "it ended without {part:?}: {}", self.said);
            self.said += &line;
        }
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().expect("kill").success());
    }

    /// Its exit code, if it was not killed, and what it has said.
    fn end(mut self) -> (Option<i32>, String) {
        while self.lines.read_line(&mut self.said).expect("text") > 0 {}
        (self.child.wait().expect("it is ours").code(), self.said)
    }
}

/// Waits until a query of the target has this result.
#[track_caller]
fn wait_for(pair: &Pair, query: &str, expected: &str) {
    let began = Instant::now();
    while pair.target.value(query).ok().as_deref() != Some(expected) {
        assert!(began.elapsed() < Duration::from_secs(30), "{query} is not {expected}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn is_read_only(pair: &Pair) -> bool {
    pair.source.value(IS_READ_ONLY).expect("an answer") == "1"
}

/// All rows, read by the servers' own client.
#[track_caller]
fn assert_equal(pair: &Pair) {
    for query in ["SELECT id, HEX(email) FROM shop.customers ORDER BY id", "SELECT * FROM shop.orders ORDER BY id"] {
        let (source, target) = (pair.source.sql(query).expect("rows"), pair.target.sql(query).expect("rows"));
        assert!(!source.is_empty() && source == target, "{query}");
    }
}

/// Inserts one row after the other into the source until it refuses or `stop` is set. Returns the acknowledged ones.
fn write(pair: &Pair, stop: &AtomicBool) -> Vec<u32> {
    let insert = |id: &u32| pair.source.sql(&format!("INSERT INTO shop.orders VALUES ({id}, 1)")).is_ok();
    (100_000..).take_while(|id| !stop.load(Ordering::Relaxed) && insert(id)).collect()
}

#[test]
fn a_migration_from_its_first_command_to_its_last() {
    let Some(pair) = Pair::mysql(&GTIDS) else { return };
    pair.source.sql(ROWS).expect("statements");
    for (verb, more) in [
        ("status", &[][..]),
        ("verify", &[]),
        ("cutover", &FENCE),
        ("report", &[]),
        ("finish", &["--discard-proof"]),
        ("abort", &["--yes"]),
        ("pause", &[]),
        ("resume", &[]),
    ] {
        ends(&pair, verb, more, 1, &["target: no migration was begun there", "sealant migrate run"]);
    }
    ends(&pair, "run", &[], 2, &["standard input is not a terminal", "--yes"]);
    assert_eq!(pair.target.sql("SHOW DATABASES LIKE '%sealant'").expect("an answer"), "");

    let read = pair.definitions_read();
    ends(&pair, "run", &["--yes", "--until", "copied"], 0, &["every row is copied", "not compared yet"]);
    // Those of both tables: for the plan, when the migration is begun, and when the rows are copied.
    assert_eq!(pair.definitions_read() - read, 6);
    let status =
        ends(&pair, "status", &[], 0, &["process   none runs", "shop.customers", "20,000", "sealant migrate run"]);
    assert_eq!(status.lines().find(|line| line.chars().count() > 80), None, "{status}");
    // The tables are not asked for again.
    ends(&pair, "run", &[], 0, &["20,002 rows compared; every row is equal", "sealant migrate cutover"]);
    ends(&pair, "run", &["--quiet"], 0, &[]);
    ends(&pair, "report", &[], 0, &["Equal so far", "The cut-over is"]);
    ends(&pair, "finish", &["--discard-proof"], 1, &["the cut-over was not done yet", "sealant migrate cutover"]);
    ends(&pair, "cutover", &["--yes"], 2, &["--fence <HOW>"]);
    ends(&pair, "cutover", &FENCE[..2], 2, &["standard input is not a terminal"]);
    for (options, says) in [
        (&["--fence", "lock-tables"][..], "--accept-soft-fence"),
        (&["--fence", "read-only,accounts"], "do not go together"),
        (&["--fence", "accounts"], "--fence-account"),
        (&["--fence", "read-only", "--fence-program", "/bin/true"], "--fence external"),
    ] {
        ends(&pair, "cutover", options, 2, &[says]);
    }

    differences_are_named(&pair);
    a_cut_over(&pair);
    the_proof_is_kept(&pair);
    assert_equal(&pair);
    the_proof_outlives_the_state(&pair);
}

/// The state has the only copy of the proof: it is removed only after that was saved.
fn the_proof_outlives_the_state(pair: &Pair) {
    let state = || pair.target.value("SELECT COUNT(*) FROM _sealant.journal");
    let kept = state().expect("a journal");
    ends(pair, "finish", &[], 2, &["--proof <FILE>|--discard-proof"]);
    let nowhere = pair.path("nowhere/proof.jsonl").display().to_string();
    ends(pair, "finish", &["--proof", &nowhere], 2, &["not a file in a directory that exists"]);
    ends(pair, "finish", &["--proof", "/dev/full"], 1, &["/dev/full: No space left on device"]);
    assert_eq!(state().expect("a journal"), kept);
    let saved = pair.path("evidence.jsonl");
    let path = saved.display().to_string();
    pair.target.sql("ALTER TABLE shop.orders ENCRYPTION = 'N'").expect("statements");
    ends(
        pair,
        "finish",
        &["--proof", &path],
        0,
        &[
            &format!("the proof is in {path}"),
            "warning: the proof does not prove the migration: a table is less encrypted",
            "the state of the migration is removed",
        ],
    );
    assert!(state().is_err(), "the state is still there");
    let text = std::fs::read_to_string(saved).expect("it was written");
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let records: Vec<Value> = records.inspect(|record| has_its_schema(record, "migrate-proof-1")).collect();
    assert_eq!(records[0]["verdict"], "less-encrypted");
    ends(pair, "finish", &["--discard-proof"], 1, &["no migration was begun there"]);
}

/// Rows that differ end every verb that compares, and the source stays as it was.
fn differences_are_named(pair: &Pair) {
    let unlogged = |sql: &str| {
        drop(pair.target.sql(&format!("SET sql_log_bin = 0, foreign_key_checks = 0; {sql}")).expect("statements"))
    };
    unlogged("UPDATE shop.orders SET customer = 2 WHERE id = 18000; DELETE FROM shop.customers WHERE id = 1");
    let named = [
        "shop.orders: the row with the key 18000 differs",
        "shop.customers: the row with the key 1 is missing at the target",
        "error: 2 rows differ",
        "abort --drop-tables",
    ];
    ends(pair, "verify", &[], 3, &named);
    ends(pair, "run", &[], 3, &named);
    let events = events(pair, "verify", &[], 3);
    assert_eq!(names(&events), ["divergence", "divergence", "failed"]);
    assert_eq!(events[events.len() - 1]["exit"], 3);
    ends(pair, "status", &[], 0, &["every row is copied", "    0 %\n"]);
    pair.source.sql("GRANT SYSTEM_VARIABLES_ADMIN, XA_RECOVER_ADMIN ON *.* TO mig@'%'").expect("statements");
    ends(pair, "cutover", &FENCE, 3, &named);
    assert!(!is_read_only(pair));
    unlogged("UPDATE shop.orders SET customer = 1 WHERE id = 18000; INSERT INTO shop.customers VALUES (1, 'a')");
    ends(pair, "verify", &[], 0, &["20,002 rows compared; every row is equal"]);
}

/// While the source is written to.
fn a_cut_over(pair: &Pair) {
    pair.source.sql("REVOKE SYSTEM_VARIABLES_ADMIN, XA_RECOVER_ADMIN ON *.* FROM mig@'%'").expect("statements");
    let said = ends(pair, "cutover", &FENCE, 4, &["it lacks SYSTEM_VARIABLES_ADMIN, XA_RECOVER_ADMIN"]);
    let (_, hint) = said.split_once("hint: on the source: ").expect("a hint");
    let (grant, _) = hint.split_once(';').expect("the statement");
    pair.source.sql(grant).expect("the statement that was named");
    let prepare = "CREATE DATABASE other; CREATE TABLE other.t (a INT PRIMARY KEY);
        XA START 'x'; INSERT INTO other.t VALUES (1); XA END 'x'; XA PREPARE 'x'";
    pair.source.sql(prepare).expect("XA");
    ends(pair, "cutover", &FENCE, 1, &["other.t is not one of its tables", "--exclude"]);
    let without = [&FENCE[..], &["--exclude", "other.*"]].concat();
    ends(pair, "cutover", &without, 1, &["XA transactions are prepared at the source"]);
    assert!(!is_read_only(pair));
    pair.source.sql("XA ROLLBACK 'x'; DROP DATABASE other").expect("statements");

    let stop = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        let writer = scope.spawn(|| write(pair, &stop));
        let (code, said) = migrate(pair, "cutover", &FENCE);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(code, 0, "{said}");
        for part in ["cut-over: fenced", "cut-over: switched", "the target has every row up to", "finish"] {
            assert!(said.contains(part), "{said}");
        }
        writer.join().expect("no panic")
    });
    assert!(is_read_only(pair) && !written.is_empty(), "{written:?}");
    let last = written.last().expect("some");
    assert_eq!(pair.target.value(&format!("SELECT COUNT(*) FROM shop.orders WHERE id = {last}")).expect("a row"), "1");

    ends(pair, "cutover", &FENCE, 0, &["the cut-over was done before"]);
    for (verb, more) in [("run", &["--yes"][..]), ("verify", &[]), ("abort", &["--yes", "--drop-tables"])] {
        ends(pair, verb, more, 1, &["target: the cut-over was done, so it may have newer rows", "finish"]);
    }
    ends(pair, "status", &[], 0, &["the cut-over is done", "next      sealant migrate report"]);
}

/// The report says what was compared and how tables are encrypted, and sees a table that lost its encryption.
fn the_proof_is_kept(pair: &Pair) {
    let [page, lines] = ["proof.html", "proof.jsonl"].map(|name| pair.path(name));
    let files = ["--html", page.to_str().expect("ASCII"), "--proof", lines.to_str().expect("ASCII")];
    let summary = ends(
        pair,
        "report",
        &files,
        0,
        &["Proven: every row was compared after its last change", "connected at the source"],
    );
    assert_eq!(summary.lines().find(|line| line.chars().count() > 80), None, "{summary}");
    let page = std::fs::read_to_string(page).expect("it was written");
    for part in
        ["clear &#62; encrypted", "encrypted &#62; encrypted", "shop.orders", "without writes at the source", "differs"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<script") && !page.contains("http:"), "{page}");

    let text = std::fs::read_to_string(lines).expect("it was written");
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    records.iter().for_each(|record| has_its_schema(record, "migrate-proof-1"));
    assert_eq!(records[0]["verdict"], "proven");
    let rows = records.iter().filter(|record| record["record"] == "chunk" && record["current"] == true);
    let rows: u64 = rows.map(|chunk| chunk["rows"].as_u64().expect("a number")).sum();
    let expected =
        pair.source.value("SELECT (SELECT COUNT(*) FROM shop.orders) + (SELECT COUNT(*) FROM shop.customers)");
    assert_eq!(rows.to_string(), expected.expect("a number"));
    let end = text.trim_end().rfind('\n').expect("several lines") + 1;
    let sha256 = records[records.len() - 1]["sha256"].as_str().expect("a text");
    assert_eq!(sha256_of(&text[..end]), sha256);

    pair.target.sql("ALTER TABLE shop.orders ENCRYPTION = 'N'").expect("statements");
    ends_with_findings(pair);
    pair.target.sql("ALTER TABLE shop.orders ENCRYPTION = 'Y'").expect("statements");
}

fn ends_with_findings(pair: &Pair) {
    let (code, said) = migrate(pair, "report", &[]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("a table is less encrypted"), "{said}");
}

/// By a program that shares nothing with the product.
fn sha256_of(text: &str) -> String {
    let output =
        harness::run(&mut Command::new("sha256sum"), text.as_bytes(), Duration::from_secs(10)).expect("it runs");
    String::from_utf8_lossy(&output.stdout).split(' ').next().unwrap_or_default().to_owned()
}

/// The grants of docs/migrate.md for a fallback.
const WAY_BACK: [&str; 2] = [
    r"GRANT ALL ON shop.* TO mig@'%'; GRANT ALL ON `\_sealant`.* TO mig@'%';
      GRANT SYSTEM_VARIABLES_ADMIN, XA_RECOVER_ADMIN, CONNECTION_ADMIN ON *.* TO mig@'%'",
    "GRANT SYSTEM_VARIABLES_ADMIN, XA_RECOVER_ADMIN, CONNECTION_ADMIN ON *.* TO mig@'%'",
];

#[test]
fn clients_return_to_the_source() {
    let Some(pair) = Pair::mysql(&GTIDS) else { return };
    pair.source.sql(&format!("ALTER TABLE shop.customers ENCRYPTION = 'Y'; {}", WAY_BACK[0])).expect("statements");
    let no_way = ["error: target: no migration was begun there", "sealant migrate run"];
    ends(&pair, "fallback", &["--yes"], 1, &no_way);
    ends(&pair, "run", &["--yes"], 0, &["every row is equal"]);
    let with = [&FENCE[..], &["--fallback", "1h"]].concat();
    ends(&pair, "cutover", &with, 4, &["target: the account may not do this: it lacks", "hint: on the target: GRANT"]);
    pair.target.sql(WAY_BACK[1]).expect("statements");
    let mut way_back = Running::start(&pair, "cutover", &with);
    way_back.until_it_says("the target is ready; its changes are applied to the source");
    pair.target.sql("INSERT INTO shop.orders VALUES (900, 1)").expect("it is writable");
    ends(&pair, "status", &[], 0, &["fallback  possible for ", ", by sealant migrate fallback"]);
    ends(&pair, "fallback", &[], 2, &["standard input is not a terminal"]);
    let fell_back = ["cut-over: switched", "the source has every row up to", "it is writable again"];
    ends(&pair, "fallback", &["--yes"], 0, &fell_back);
    let (code, said) = way_back.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("another command works on the way back now"), "{said}");
    assert_equal(&pair);
    pair.source.sql("INSERT INTO shop.orders VALUES (901, 1)").expect("it is writable");
    assert_eq!(pair.target.value(IS_READ_ONLY).expect("an answer"), "1");
    ends(&pair, "cutover", &with, 1, &["the fallback was done", "sealant migrate finish"]);
    let saved = pair.path("back.jsonl").display().to_string();
    ends(&pair, "finish", &["--proof", &saved], 0, &["the state of the migration is removed"]);
    for server in [&pair.source, &pair.target] {
        assert_eq!(server.sql("SHOW DATABASES LIKE '%sealant'").expect("an answer"), "");
    }
}

#[test]
fn an_interrupted_migration_goes_on_or_is_given_up() {
    let Some(mut pair) = Pair::mysql(&GTIDS) else { return };
    pair.source.sql(ROWS).expect("statements");
    pair.source.sql("GRANT SYSTEM_VARIABLES_ADMIN, XA_RECOVER_ADMIN ON *.* TO mig@'%'").expect("statements");
    let mut run = Running::start(&pair, "run", &["--yes"]);
    run.until_it_says("copying the tables");
    run.signal("-INT");
    let (code, said) = run.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("error: stopped before the end") && said.contains("the same command resumes"), "{said}");

    let mut run = Running::start(&pair, "run", &["--until", "forever"]);
    run.until_it_says("every row is copied");
    ends(&pair, "status", &[], 0, &["process   runs now"]);
    pair.target.kill();
    run.until_it_says("trying again");
    pair.target.start().expect("the target starts");
    pair.source.sql("INSERT INTO shop.orders VALUES (30000, 2)").expect("statements");
    wait_for(&pair, "SELECT customer FROM shop.orders WHERE id = 30000", "2");
    ends(&pair, "verify", &[], 1, &["another process runs this migration", "SIGINT"]);
    run.signal("-TERM");
    let (code, said) = run.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("every row is equal"), "{said}");
    a_pause(&pair);

    a_killed_cut_over(&pair);
    ends(&pair, "abort", &["--yes", "--drop-tables"], 0, &["the tables at the target are dropped"]);
    assert!(!is_read_only(&pair));
    assert_eq!(pair.target.sql("SHOW TABLES FROM shop; SHOW DATABASES LIKE '%sealant'").expect("an answer"), "");
    // All of it begins again, and without the source only what needs none works.
    let begun = events(&pair, "run", &["--yes"], 0);
    assert_eq!(names(&begun), ["plan", "phase", "table", "table", "phase", "done"]);
    assert_eq!((&begun[0]["tables"], &begun[begun.len() - 1]["rows"]), (&json!(2), &json!(20_003)));
    pair.source.stop().expect("it stops");
    ends(&pair, "status", &[], 0, &["every row is copied"]);
    ends(&pair, "verify", &[], 1, &["source: 127.0.0.1", "refused"]);
}

/// A pause ends the process that runs, and none begins until the migration is resumed.
fn a_pause(pair: &Pair) {
    let mut run = Running::start(pair, "run", &["--until", "forever"]);
    run.until_it_says("every row is copied");
    ends(pair, "pause", &[], 0, &["the migration is paused: no process works on it", "keep its binary log"]);
    let (code, said) = run.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("error: target: the migration is paused") && said.contains("migrate resume"), "{said}");
    ends(pair, "run", &[], 1, &["the migration is paused", "sealant migrate resume"]);
    ends(pair, "status", &[], 0, &["none runs: the migration is paused", "sealant migrate resume, then"]);
    ends(pair, "resume", &[], 0, &["the migration may go on", "sealant migrate run"]);
    ends(pair, "resume", &[], 1, &["the migration is not paused", "sealant migrate run"]);
}

/// The source is fenced after a kill, and every verb says so.
fn a_killed_cut_over(pair: &Pair) {
    let mut cut_over = Running::start(pair, "cutover", &FENCE);
    cut_over.until_it_says("cut-over: fenced");
    cut_over.signal("-KILL");
    assert_eq!(cut_over.end().0, None);
    assert!(is_read_only(pair));
    ends(pair, "status", &[], 0, &["was interrupted", "clients cannot write", "sealant migrate abort gives"]);
    ends(pair, "run", &[], 1, &["a cut-over was interrupted", "sealant migrate cutover resumes"]);
}

#[test]
fn each_bad_input_is_one_error_of_every_verb() {
    let Some(pair) = Pair::mysql(&GTIDS) else { return };
    let bad = pair.path("bad").display().to_string();
    let nothing = pair.path("nothing").display().to_string();
    let key = pair.path("server-key.pem").display().to_string();
    let cases = [
        ("--target-password-file", bad.as_str(), "target: access denied"),
        ("--target-password-file", &nothing, "nothing: No such file"),
        ("--target-tls-ca", &nothing, "nothing: No such file"),
        ("--target-tls-ca", &key, "no certificate in the file"),
        ("--target", "mysql://mig@127.0.0.1:1", "target: 127.0.0.1:1: connection refused"),
        ("--target", "mysql://mig@nowhere.invalid", "target: "),
        ("--target", "db2", "target: "),
    ];
    let verbs: [(&str, &[&str]); 8] = [
        ("run", &["--yes"]),
        ("verify", &[]),
        ("cutover", &FENCE),
        ("status", &[]),
        ("finish", &["--discard-proof"]),
        ("abort", &["--yes"]),
        ("pause", &[]),
        ("resume", &[]),
    ];
    for (option, value, expected) in cases {
        for (verb, more) in verbs {
            let output = pair.command(verb, &[(option, value)]).args(more).output().expect("the binary starts");
            let said = text(&output.stderr);
            assert!(matches!(output.status.code(), Some(1 | 2)), "{verb} {option} {value}: {said}");
            assert!(said.starts_with("sealant: error: ") && said.contains(expected), "{verb} {option} {value}: {said}");
            assert_eq!((said.matches("error:").count(), output.stdout.len()), (1, 0), "{said}");
            assert!(!said.contains("mistyped"), "{said}");
        }
    }
    assert_eq!(pair.target.sql("SHOW DATABASES LIKE '%sealant'").expect("an answer"), "");
}
