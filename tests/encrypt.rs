//! `sealant encrypt` on real servers: afterwards no file holds plaintext and no row has changed, and an interrupted run
//! can be completed by running it again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use harness::{Kind, Server, limit, require, wait_until};
use serde_json::Value;

use crate::support::binlog::remove_previous_gtids;
use crate::support::chance::{Random, number};
use crate::support::encryption::{
    Ended, SUMS, arguments, clear_mysql, comes_to, files_with_marker, holds_marker, log, mysql_to_be_killed,
    mysql_with_tables, pause_between_statements, sealed_keys, start,
};
use crate::support::proof::Statements;
use crate::support::{Audit, run};

/// Throw-away keys of MariaDB's `file_key_management`.
const MARIADB_KEYS: &str = "1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n";

#[test]
fn a_clear_mysql_is_encrypted_everywhere_and_no_row_changes() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = mysql_with_tables();
    let before = server.sql(SUMS).expect("sums");
    let planned = Ended::run(&server, "plan", &["--purge-binlogs"]);
    assert_eq!(planned.code, 0, "{}", planned.stderr);
    assert_eq!(server.value("SELECT @@default_table_encryption").expect("a value"), "0");
    assert!(!log(&server).exists(), "a plan changes nothing, so it logs nothing");
    a_plan_fits_a_terminal(&server);

    let page = server.datadir().with_file_name("evidence.html");
    let html = page.to_str().expect("ASCII");
    let ended = Ended::run(&server, "run", &["--purge-binlogs", "--html", html]);
    ended.is_done();
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("Proven: every page of every file was read") && page.contains("keyring after"), "{page}");
    assert!(page.contains("default_table_encryption"), "its statements are there: {page}");
    assert_eq!(ended.report["schema"], "sealant.encrypt/1");
    for step in planned.steps() {
        assert!(ended.steps().contains(&step), "{step} was planned and is not in {:?}", ended.steps());
    }
    assert_eq!(server.sql(SUMS).expect("sums"), before);
    assert_eq!(files_with_marker(server.datadir()), Vec::<PathBuf>::new());
    let clear = "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES \
        WHERE ENCRYPTION <> 'Y' AND NAME <> 'innodb_temporary'";
    assert_eq!(server.value(clear).expect("a number"), "0");
    // The capacity is unchanged, and no helper remains.
    assert_eq!(server.value("SELECT @@innodb_redo_log_capacity").expect("a number"), (64 << 20).to_string());
    let helpers = "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES WHERE NAME LIKE 'sealant%'";
    assert_eq!(server.value(helpers).expect("a number"), "0");
    // Page 0 is on disk: a table whose pages are not written yet proves nothing, and the next run would rewrite the
    // redo log for it.
    let new = "CREATE DATABASE later; CREATE TABLE later.t (id INT); FLUSH TABLES later.t FOR EXPORT; UNLOCK TABLES";
    server.sql(new).expect("made");
    let encrypted = "SELECT ENCRYPTION FROM information_schema.INNODB_TABLESPACES WHERE NAME = 'later/t'";
    assert_eq!(server.value(encrypted).expect("a value"), "Y");

    // A replica without a keyring would stop at such a statement.
    let last = server.value("SHOW BINARY LOGS").expect("a log");
    let events = server.sql(&format!("SHOW BINLOG EVENTS IN '{}'", last.split_whitespace().next().expect("a name")));
    let events = events.expect("events");
    assert!(!events.contains("ENCRYPTION") && !events.contains("sealant"), "{events}");

    every_statement_is_in_the_log(&server, &ended);
    let again = Ended::run(&server, "run", &[]);
    again.is_done();
    assert_eq!(again.steps(), ["keyring"], "{}", again.report);
    settings_survive_a_restart(server);
}

/// A terminal of 80 columns that knows no escape sequence.
fn a_plan_fits_a_terminal(server: &Server) {
    let (program, socket) = (env!("CARGO_BIN_EXE_sealant"), server.socket().display());
    let line = format!("stty cols 80; TERM=dumb exec {program} encrypt plan --socket {socket} --user root");
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    let shown = terminal.stdin(Stdio::null()).output().expect("script is part of util-linux");
    let shown = String::from_utf8(shown.stdout).expect("UTF-8");
    assert!(shown.contains("At the end every page of every file is read") && !shown.contains('\x1b'), "{shown:?}");
    let lines: Vec<&str> = shown.lines().map(|line| line.trim_end_matches('\r')).collect();
    let wide = lines.iter().find(|line| line.chars().count() > 80 && !line.ends_with(';'));
    assert_eq!(wide, None, "{shown}");
    // Statements are whole, so that they can be pasted.
    let statement = "      ALTER TABLE `shop`.`parent` ENCRYPTION='Y', LOCK = SHARED;";
    assert!(lines.contains(&statement), "{shown}");
}

fn every_statement_is_in_the_log(server: &Server, ended: &Ended) {
    let log = fs::read_to_string(log(server)).expect("a log");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let logged = |statement: &Value, event: &str| {
        lines.iter().any(|line| line["event"] == event && line["statement"] == *statement)
    };
    let steps = ended.report["steps"].as_array().expect("steps");
    let statements: Vec<&Value> =
        steps.iter().flat_map(|step| step["statements"].as_array().expect("a list")).collect();
    assert!(statements.len() > 20);
    for statement in statements {
        assert!(logged(statement, "sent") && logged(statement, "done"), "{statement}");
    }
}

fn settings_survive_a_restart(mut server: Server) {
    server.stop().expect("it stops");
    server.start().expect("it starts");
    for variable in
        ["default_table_encryption", "innodb_redo_log_encrypt", "innodb_undo_log_encrypt", "binlog_encryption"]
    {
        assert_eq!(server.value(&format!("SELECT @@{variable}")).expect("a value"), "1", "{variable}");
    }
    Ended::run(&server, "run", &["--purge-binlogs"]).is_done();
}

#[test]
fn without_permission_to_purge_the_clear_binary_logs_are_reported() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = mysql_with_tables();
    // The state after a server was killed while it created an undo tablespace.
    let orphan = server.datadir().join("sealant_undo_stand_in.ibu");
    fs::write(&orphan, [0; 16384]).expect("written");
    let ended = Ended::run(&server, "run", &[]);
    assert!(!orphan.exists() && ended.failures().is_empty(), "{}", ended.failures());
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert_eq!(ended.report["done"], false);
    assert!(ended.artefacts(true).iter().all(|artefact| artefact.starts_with("binlog.")), "{}", ended.report);
    assert!(!ended.artefacts(true).is_empty());
    assert!(ended.report["leftovers"][0]["remedy"].as_str().expect("text").contains("--purge-binlogs"));
    Ended::run(&server, "plan", &["--schema", "it's not there"]).refuses(1, "there is no schema it's not there");
}

#[test]
fn clients_continue_to_write_during_encryption() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = mysql_with_tables();
    server.sql("CREATE TABLE shop.counted (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(99))").expect("made");
    let stop = AtomicBool::new(false);
    let (written, ended) = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let (mut written, mut deadlocks) = (0_u32, 0_u32);
            while !stop.load(Ordering::Relaxed) {
                let sql = "START TRANSACTION; INSERT INTO shop.counted (v) VALUES ('CLEARTEXT-MARKER new'); \
                    UPDATE shop.t SET v = CONCAT(v, 'z') WHERE id = 1 + FLOOR(RAND() * 500); COMMIT";
                match server.sql(sql) {
                    // Clients must retry after a deadlock at any time; a copy takes locks, too.
                    Err(error) if error.to_string().contains("ERROR 1213") => deadlocks += 1,
                    other => {
                        other.expect("no client statement fails");
                        written += 1;
                    }
                }
                pause_between_statements();
            }
            assert!(deadlocks <= 3, "{deadlocks}");
            written
        });
        let begun = || server.value("SELECT COUNT(*) > 0 FROM shop.counted").is_ok_and(|begun| begun == "1");
        wait_until("clients write", limit(60), begun);
        let ended = Ended::run(&server, "run", &["--purge-binlogs"]);
        stop.store(true, Ordering::Relaxed);
        (writer.join().expect("it writes"), ended)
    });
    ended.is_done();
    assert!(written > 10, "{written}");
    assert_eq!(server.value("SELECT COUNT(*) FROM shop.counted").expect("a number"), written.to_string());
    assert_eq!(files_with_marker(server.datadir()), Vec::<PathBuf>::new());
}

#[test]
fn a_locked_table_is_reported_and_the_others_are_encrypted() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = mysql_with_tables();
    // No transaction, which would also keep undo tablespaces in use.
    let holder = Statements::hold(&server, "LOCK TABLES shop.parent READ");
    let ended = Ended::run(&server, "run", &["--purge-binlogs", "--lock-wait", "1", "--lock-tries", "2"]);
    assert_eq!(ended.code, 3, "{} {}", ended.stderr, ended.report["leftovers"]);
    assert!(ended.failures().contains("shop.parent"), "{}", ended.failures());
    // This also holds the schema's lock.
    assert_eq!(ended.artefacts(true), ["shop/parent.ibd", "shop"], "{}", ended.report["leftovers"]);
    drop(holder);
    Ended::run(&server, "run", &[]).is_done();
}

#[test]
fn without_a_sound_keyring_nothing_is_changed() {
    let Some(_) = require(Kind::MySql97) else { return };
    let bare = Server::builder(Kind::MySql97).start().expect("MySQL starts");
    Ended::run(&bare, "run", &[]).refuses(1, "no keyring is active");
    // The plan is shown, with what a run would report.
    Ended::run(&bare, "plan", &[]).refuses(1, "no keyring is active");
    assert!(!log(&bare).exists() || fs::read(log(&bare)).expect("a log").is_empty(), "nothing was changed");

    let server = mysql_with_tables();
    server.sql("ALTER TABLE shop.parent ENCRYPTION = 'Y'").expect("encrypted");
    let keyring = server.dir().join("keyring");
    let whole = fs::read(&keyring).expect("a keyring");
    fs::write(&keyring, &whole[..whole.len() / 2]).expect("cut");
    let cut = Ended::run(&server, "run", &[]);
    cut.refuses(1, "keyring");
    fs::remove_file(&keyring).expect("removed");
    Ended::run(&server, "run", &[]).refuses(1, "keyring");
    let other = server.dir().join("other");
    fs::write(&other, b"[]").expect("written");
    fs::write(&keyring, &whole).expect("restored");
    Ended::run(&server, "run", &["--keyring-copy", other.to_str().expect("ASCII")]).refuses(1, "other");
    assert_eq!(server.value("SELECT @@default_table_encryption").expect("a value"), "0", "nothing was changed");
    Ended::run(&server, "run", &["--purge-binlogs", "--keyring-copy", keyring.to_str().expect("ASCII")]).is_done();
}

#[test]
fn without_a_terminal_and_without_yes_it_is_wrong_usage() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = clear_mysql().start().expect("MySQL starts");
    let output = run(arguments(&server, "run"));
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--yes"));
    assert_eq!(run(["encrypt", "plan"]).status.code(), Some(2));
    let gone = run(["encrypt", "plan", "--socket", "/nonexistent/socket", "--user", "root"]);
    assert_eq!(gone.status.code(), Some(1));
}

/// The `GRANT` statements of a hint.
fn hint(ended: &Ended) -> Vec<String> {
    let hint = ended.stderr.lines().find_map(|line| line.strip_prefix("sealant: hint: "));
    hint.unwrap_or_else(|| panic!("no hint: {} {} {}", ended.code, ended.stderr, ended.report))
        .split("; ")
        .map(str::to_owned)
        .collect()
}

/// Refuses an account with one privilege; returns the statements that give it the others.
fn refused_for_privileges(server: &Server, more: &[&str]) -> Vec<String> {
    let refused = Ended::run_as("weak", server, "run", more);
    refused.refuses(1, "lacks");
    assert!(!log(server).exists(), "something was changed");
    let grants = hint(&refused);
    assert!(grants.len() > 5 && grants.iter().all(|grant| grant.starts_with("GRANT ")), "{grants:?}");
    grants
}

/// Leaves clear pages, of a table that is gone, in the doublewrite slots for single pages, which only
/// `FLUSH … FOR EXPORT` overwrites. Few pages at a time, so that the server's batch flushing does not come first.
fn write_clear_single_pages(server: &Server) {
    let made = "CREATE TABLE shop.gone (id INT PRIMARY KEY, v VARCHAR(8000) CHARACTER SET latin1) ENCRYPTION='N';
        INSERT INTO shop.gone WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 512)
            SELECT i, REPEAT('x', 8000) FROM n;";
    let flushed = "FLUSH TABLES shop.gone FOR EXPORT; UNLOCK TABLES; UPDATE shop.gone SET v = REPEAT(IF(LEFT(v, 1) = 'x', 'y', 'x'), 8000);";
    server.sql(&format!("{made} {} DROP TABLE shop.gone", flushed.repeat(4))).expect("written");
}

#[test]
fn privileges_that_are_missing_are_listed_and_enough() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = clear_mysql().start().expect("MySQL starts");
    let tables =
        "CREATE TABLE shop.t (id INT PRIMARY KEY, v VARCHAR(99)); INSERT INTO shop.t VALUES (1, 'CLEARTEXT-MARKER')";
    server
        .sql(&format!("CREATE DATABASE shop; {tables}; CREATE TABLESPACE general ADD DATAFILE 'g.ibd'"))
        .expect("made");
    server.sql("CREATE USER weak@localhost; GRANT PROCESS ON *.* TO weak@localhost").expect("made");
    let run = |verb: &str| Ended::run_as("weak", &server, verb, &["--purge-binlogs"]);
    let grants = refused_for_privileges(&server, &["--purge-binlogs"]);
    for needed in ["REPLICATION SLAVE ON *.*", "LOCK TABLES ON `sealant_scratch`.*"] {
        assert!(grants.iter().any(|grant| grant.contains(needed)), "{needed} is not in {grants:?}");
    }
    let is_given_later = |grant: &&String| grant.contains("SYSTEM_VARIABLES_ADMIN") || grant.contains("LOCK TABLES");
    for grant in grants.iter().filter(|grant| !is_given_later(grant)) {
        server.sql(grant).expect("it runs as it stands");
    }
    // A plan is shown with a warning; a run surely cannot work.
    let planned = run("plan");
    assert_eq!(planned.code, 0, "{}", planned.stderr);
    assert!(planned.steps().len() > 5 && planned.stderr.contains("warning: "), "{}", planned.stderr);
    assert_eq!(hint(&planned), grants.iter().filter(is_given_later).cloned().collect::<Vec<_>>());
    run("run").refuses(1, "lacks");

    // Who has roles is not refused: what is denied then is explained.
    let role = "CREATE ROLE admins; GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO admins; GRANT admins TO weak@localhost; \
        SET DEFAULT ROLE admins TO weak@localhost";
    server.sql(role).expect("granted");
    // A first run may overwrite the doublewrite files with the pages of its other steps; nothing else is left after it.
    let first = run("run");
    assert!(first.code == 0 || first.failures().contains("denied"), "{} {}", first.stderr, first.failures());
    write_clear_single_pages(&server);
    let begun = run("run");
    assert_eq!((begun.code, hint(&begun).len()), (3, 1), "{} {}", begun.stderr, begun.failures());
    assert!(begun.failures().contains("denied") && hint(&begun)[0].starts_with("GRANT LOCK TABLES ON "));
    server.sql(&hint(&begun)[0]).expect("it runs as it stands");
    let ended = run("run");
    ended.is_done();
    assert_eq!((ended.failures().as_str(), ended.stderr.contains("hint")), ("", false), "{}", ended.stderr);

    // An account of one schema needs no more than that.
    server.sql("CREATE USER shop@localhost; GRANT ALL ON shop.* TO shop@localhost").expect("made");
    let refused = Ended::run_as("shop", &server, "run", &["--policy", "tables", "--schema", "shop"]);
    refused.refuses(1, "lacks");
    assert!(!refused.stderr.contains(" ON `shop`.*"), "{}", refused.stderr);
}

#[test]
fn privileges_that_are_missing_on_mariadb_are_listed_and_enough() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let server = mariadb_with_tables(Kind::MariaDb1011);
    // Privileges of everybody count.
    server.sql("CREATE USER weak@localhost; GRANT PROCESS ON *.* TO PUBLIC").expect("made");
    let option_file = server.option_file();
    let more = ["--purge-binlogs", "--option-file", option_file.to_str().expect("ASCII")];
    let grants = refused_for_privileges(&server, &more);
    assert!(!grants.iter().any(|grant| grant.contains("PROCESS")), "{grants:?}");
    server.sql(&grants.join("; ")).expect("they run as they stand");
    let ended = Ended::run_as("weak", &server, "run", &more);
    // Logs are encrypted after a restart.
    assert_eq!((ended.failures().as_str(), ended.code), ("", 3), "{}", ended.stderr);
}

#[test]
fn a_run_killed_at_any_moment_is_finished_by_the_next() {
    let Some(_) = require(Kind::MySql97) else { return };
    let mut done = 0;
    let all = number("SEALANT_FAULTS", 4);
    while done < all {
        let server = mysql_with_tables();
        let before = server.sql(SUMS).expect("sums");
        // A run takes about four seconds here; the server is killed at four moments of it.
        for round in 0..4_u64.min(all - done) {
            let mut child = start(&server, &["--purge-binlogs"]);
            // Chooses the moment of the kill.
            thread::sleep(Duration::from_millis(80 + (done + round) * 7919 % 1400));
            child.kill().expect("it runs or has ended");
            child.wait().expect("it ends");
        }
        done += 4;
        Ended::run(&server, "run", &["--purge-binlogs"]).is_done();
        assert_eq!(server.sql(SUMS).expect("sums"), before);
        assert_eq!(files_with_marker(server.datadir()), Vec::<PathBuf>::new());
        let helpers = "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES WHERE NAME LIKE 'sealant%'";
        assert_eq!(server.value(helpers).expect("a number"), "0");
        assert_eq!(server.value("SELECT @@innodb_redo_log_capacity").expect("a number"), (64 << 20).to_string());
    }
}

/// Kills a run's server that many milliseconds after the statement was sent, and starts it again.
fn kill_after(server: &mut Server, statement: &str, millis: u64) {
    let mut child = start(server, &["--purge-binlogs"]);
    comes_to(server, &mut child, statement);
    thread::sleep(Duration::from_millis(millis));
    server.kill();
    assert!(!child.wait().expect("it ends").success());
    server.start().expect("it starts");
}

/// After this kill MySQL 9.7.4 completes the encryption when it starts, but may still report the tablespace as
/// unencrypted. Repeating the statement would destroy its content.
#[test]
fn a_run_killed_while_the_dictionary_is_encrypted_does_not_encrypt_it_twice() {
    let Some(_) = require(Kind::MySql97) else { return };
    let mut chance = Random::new(21);
    for _ in 0..number("SEALANT_FAULTS", 1) {
        let mut server = mysql_to_be_killed();
        let before = server.sql(SUMS).expect("sums");
        kill_after(&mut server, "ALTER TABLESPACE `mysql`", chance.below(400));
        let ended = Ended::run(&server, "run", &["--purge-binlogs"]);
        ended.is_done();
        let calls_it_clear = "SELECT ENCRYPTION = 'N' FROM information_schema.INNODB_TABLESPACES WHERE NAME = 'mysql'";
        let reported = ended.artefacts(false).contains(&"tablespace mysql");
        assert_eq!(server.value(calls_it_clear).expect("a number") == "1", reported, "{}", ended.report["leftovers"]);
        server.stop().expect("it stops");
        server.start().expect("it opens its dictionary");
        assert_eq!(server.sql(SUMS).expect("sums"), before);
        assert_eq!(files_with_marker(server.datadir()), Vec::<PathBuf>::new());
    }
}

/// MySQL 9.7.4, killed while it encrypts a tablespace, can write such a log when it starts (seen in 3 of 8 kills with
/// 600 MB in the log before), and does not start again while no newer log has a transaction.
#[test]
fn a_binary_log_that_prevents_the_next_start_is_reported_and_purged() {
    let Some(_) = require(Kind::MySql97) else { return };
    let mut server = mysql_with_tables();
    server.sql("FLUSH BINARY LOGS; CREATE DATABASE older").expect("a log with a transaction");
    let log = server.sql("SHOW BINARY LOG STATUS").expect("a log").split('\t').next().expect("a name").to_owned();
    server.sql("FLUSH BINARY LOGS; CREATE DATABASE newer").expect("a newer log with a transaction");
    server.stop().expect("it stops");
    remove_previous_gtids(&server.datadir().join(&log));
    server.start().expect("it starts: the newest log is whole");

    let ended = Ended::run(&server, "run", &[]);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let steps = ended.report["steps"].as_array().expect("steps");
    let step = steps.iter().find(|step| step["step"] == "check binary logs").expect("the step");
    assert!(step["reason"].as_str().expect("why").starts_with(&format!("{log}: ")), "{step}");

    let ended = Ended::run(&server, "run", &["--purge-binlogs"]);
    ended.is_done();
    assert!(!server.datadir().join(&log).exists());
    assert!(!ended.steps().contains(&"check binary logs"), "{:?}", ended.steps());
    server.stop().expect("it stops");
    server.start().expect("it starts");
}

#[test]
fn a_run_whose_server_was_killed_is_finished_by_the_next() {
    let Some(_) = require(Kind::MySql97) else { return };
    let mut cut_off = 0;
    for moment in 0..number("SEALANT_FAULTS", 1) {
        let mut server = mysql_to_be_killed();
        let before = server.sql(SUMS).expect("sums");
        let mut child = start(&server, &["--purge-binlogs"]);
        // Chooses the moment of the kill.
        thread::sleep(Duration::from_millis(300 + moment * 4409 % 2500));
        server.kill();
        // On a fast machine the run may have ended.
        let was_through = child.wait().expect("it ends").success();
        cut_off += u32::from(!was_through);
        server.start().expect("it starts");
        assert!(!was_through || files_with_marker(server.datadir()).is_empty(), "what was done is not lost");
        Ended::run(&server, "run", &["--purge-binlogs"]).is_done();
        assert_eq!(server.sql(SUMS).expect("sums"), before);
        assert_eq!(files_with_marker(server.datadir()), Vec::<PathBuf>::new());
    }
    assert!(cut_off > 0, "no run was cut off");
}

/// The file name of such a table is encoded, and after some of these kills MySQL 9.7.4 does not find it.
#[test]
fn a_table_with_an_odd_name_is_complete_after_a_kill_during_its_copy() {
    let Some(_) = require(Kind::MySql97) else { return };
    let mut chance = Random::new(43);
    for _ in 0..number("SEALANT_FAULTS", 1) {
        let mut server = mysql_with_tables();
        let before = server.sql(SUMS).expect("sums");
        kill_after(&mut server, "ALTER TABLE `a-b/c`", chance.below(250));
        let again = Ended::run(&server, "run", &["--purge-binlogs"]);
        if again.code != 0 {
            assert!(again.failures().contains("start it, and run this again"), "{}", again.report);
            server.stop().expect("it stops");
            server.start().expect("it starts");
            Ended::run(&server, "run", &["--purge-binlogs"]).is_done();
        }
        assert_eq!(server.sql(SUMS).expect("sums"), before);
        assert_eq!(files_with_marker(server.datadir()), Vec::<PathBuf>::new());
    }
}

const MARIADB_TABLES: &str = "CREATE DATABASE shop; USE shop;
    CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200), KEY(v));
    INSERT INTO t SELECT seq, CONCAT('CLEARTEXT-MARKER ', seq) FROM seq_1_to_20000;
    CREATE TABLE zip ROW_FORMAT=COMPRESSED AS SELECT * FROM t LIMIT 500;
    CREATE TABLE optout (id INT PRIMARY KEY, v VARCHAR(99)) ENCRYPTED=NO; INSERT INTO optout VALUES (1, 'CLEARTEXT-MARKER no');
    CREATE TABLE a (x VARCHAR(100)) ENGINE=Aria; INSERT INTO a SELECT v FROM t;
    CREATE TABLE parts (id INT) PARTITION BY HASH(id) PARTITIONS 2; FLUSH TABLES";
const MARIADB_SUMS: &str = "CHECKSUM TABLE shop.t, shop.zip, shop.optout, shop.a, shop.parts";

/// A MariaDB server with keys and unencrypted tables. Its key file and password are named relative to the data
/// directory.
fn mariadb_with_tables(kind: Kind) -> Server {
    let directory = tempfile::tempdir().expect("a directory");
    let password = directory.path().join("password");
    fs::write(&password, "of the key file").expect("written");
    let server = Server::builder(kind)
        .file("keys.enc", sealed_keys(MARIADB_KEYS, &password))
        .file("password", "of the key file")
        .options(["--plugin-load-add=file_key_management", "--file-key-management-filename=../keys.enc"])
        .options(["--file-key-management-filekey=FILE:../password", "--log-bin=mbin"])
        .start()
        .expect("starts");
    server.sql(MARIADB_TABLES).expect("tables are made");
    server
}

/// The Aria log cannot be encrypted.
#[track_caller]
fn only_the_aria_log_is_clear(server: &Server) {
    let left = files_with_marker(server.datadir());
    assert!(left.iter().all(|path| path.to_string_lossy().contains("aria_log.")), "{left:?}");
}

fn a_clear_mariadb_is_encrypted(kind: Kind) {
    let Some(_) = require(kind) else { return };
    let mut server = mariadb_with_tables(kind);
    let before = server.sql(MARIADB_SUMS).expect("sums");
    server.sql("FLUSH TABLES shop.t FOR EXPORT; UNLOCK TABLES").expect("all of it is on disk");
    let clear = fs::read(server.datadir().join("shop/t.ibd")).expect("a table");
    let option_file = server.dir().join("my.cnf");
    let added = ["--option-file", option_file.to_str().expect("ASCII")];
    let planned = Ended::run(&server, "plan", &added);
    assert!(planned.steps().contains(&"option file"), "{}", planned.report);
    assert_eq!(fs::read(&option_file).expect("as before"), b"");
    let gone = Ended::run(&server, "run", &["--option-file", "/nonexistent/my.cnf"]);
    assert!(gone.code == 3 && gone.failures().contains("/nonexistent/my.cnf"), "{}", gone.failures());
    let ended = Ended::run(&server, "run", &added);
    assert_eq!(ended.code, 3, "{} {}", ended.stderr, ended.report);
    assert_eq!(ended.failures(), "");
    assert!(ended.artefacts(true).contains(&"innodb_encrypt_log"), "{}", ended.report["leftovers"]);
    assert!(!ended.artefacts(true).contains(&"innodb_encrypt_tables"), "{}", ended.report["leftovers"]);
    assert_eq!(server.sql(MARIADB_SUMS).expect("sums"), before);
    for table in ["shop/t.ibd", "shop/zip.ibd", "shop/optout.ibd", "shop/a.MAD"] {
        assert!(!holds_marker(&fs::read(server.datadir().join(table)).expect("a file")), "{table}");
    }
    // Follows the report: restart, and run again.
    server.stop().expect("it stops");
    server.start().expect("it starts");
    Ended::run(&server, "run", &["--purge-binlogs"]).is_done();
    only_the_aria_log_is_clear(&server);
    assert_eq!(server.sql(MARIADB_SUMS).expect("sums"), before);
    // A page that the threads skipped, as they do under load: they report the table as done and do not return to it.
    server.stop().expect("it stops");
    plant_clear_page(&server.datadir().join("shop/t.ibd"), &clear);
    plant_clear_copies(&server.datadir().join("ibdata1"), &clear);
    server.start().expect("it starts");
    let audit = Audit::live_with(&server, &["--deep"]);
    let remedy = audit.failure("rest-page-plaintext", "shop/t")["remediation"].as_str().unwrap_or_default().to_owned();
    assert_eq!(remedy, "ALTER TABLE `shop`.`t` FORCE");
    Ended::run(&server, "run", &[]).is_done();
    only_the_aria_log_is_clear(&server);
    assert_eq!(server.sql(MARIADB_SUMS).expect("sums"), before);
}

/// Restores the last page with the marker to its earlier content.
fn plant_clear_page(table: &Path, clear: &[u8]) {
    const PAGE: usize = 16384;
    let number = clear.chunks(PAGE).rposition(holds_marker).expect("a clear page");
    let mut bytes = fs::read(table).expect("a table");
    bytes[number * PAGE..][..PAGE].copy_from_slice(&clear[number * PAGE..][..PAGE]);
    fs::write(table, bytes).expect("written");
}

/// Fills the doublewrite area with copies of a page with the marker, as a recovery that applied plaintext changes
/// leaves it.
fn plant_clear_copies(system: &Path, clear: &[u8]) {
    const PAGE: usize = 16384;
    let copy = clear.chunks(PAGE).rfind(|page| holds_marker(page)).expect("a clear page");
    let mut bytes = fs::read(system).expect("ibdata1");
    let area = 6 * PAGE - 200;
    assert_eq!(bytes[area + 10..area + 14], 536_853_855_u32.to_be_bytes(), "no doublewrite area");
    for field in [14, 18] {
        let block = area + field;
        let first = u32::from_be_bytes(bytes[block..block + 4].try_into().expect("four")) as usize;
        bytes[first * PAGE..][..64 * PAGE].chunks_mut(PAGE).for_each(|slot| slot.copy_from_slice(copy));
    }
    fs::write(system, bytes).expect("written");
}

#[test]
fn a_clear_mariadb_10_11_is_encrypted_in_two_runs_with_a_restart_between() {
    a_clear_mariadb_is_encrypted(Kind::MariaDb1011);
}

#[test]
fn a_clear_mariadb_11_8_is_encrypted_in_two_runs_with_a_restart_between() {
    a_clear_mariadb_is_encrypted(Kind::MariaDb118);
}

/// MariaDB's background threads continue what was begun, whichever process is killed; the next run does the rest.
fn a_mariadb_is_killed_while_it_is_encrypted(kind: Kind) {
    let Some(_) = require(kind) else { return };
    let mut chance = Random::new(47);
    let all = number("SEALANT_FAULTS", 4);
    for first in (0..all).step_by(4) {
        let mut server = mariadb_with_tables(kind);
        let before = server.sql(MARIADB_SUMS).expect("sums");
        let option_file = server.dir().join("my.cnf");
        let added = ["--option-file", option_file.to_str().expect("ASCII")];
        for round in first..all.min(first + 4) {
            let mut child = start(&server, &added);
            // Chooses the moment of the kill.
            thread::sleep(Duration::from_millis(50 + chance.below(1500)));
            if round % 2 == 0 {
                child.kill().expect("it runs or has ended");
                child.wait().expect("it ends");
            } else {
                server.kill();
                child.wait().expect("it ends");
                server.start().expect("it starts");
            }
            assert_eq!(server.sql(MARIADB_SUMS).expect("sums"), before);
        }
        assert_eq!(Ended::run(&server, "run", &added).failures(), "");
        server.stop().expect("it stops");
        server.start().expect("it starts");
        Ended::run(&server, "run", &["--purge-binlogs"]).is_done();
        only_the_aria_log_is_clear(&server);
        assert_eq!(server.sql(MARIADB_SUMS).expect("sums"), before);
    }
}

#[test]
fn a_run_on_mariadb_10_11_killed_at_any_moment_is_finished_by_the_next() {
    a_mariadb_is_killed_while_it_is_encrypted(Kind::MariaDb1011);
}

#[test]
fn a_run_on_mariadb_11_8_killed_at_any_moment_is_finished_by_the_next() {
    a_mariadb_is_killed_while_it_is_encrypted(Kind::MariaDb118);
}

#[test]
fn a_mariadb_without_keys_is_refused() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let server = Server::builder(Kind::MariaDb1011).start().expect("MariaDB starts");
    Ended::run(&server, "run", &[]).refuses(1, "no key management plug-in is active");
    Ended::run(&server, "plan", &[]).refuses(1, "no key management plug-in is active");
}
