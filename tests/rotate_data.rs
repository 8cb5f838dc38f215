//! `sealant rotate --data-keys` and `--mariadb-key-id` on real servers: every table gets a new key, no row changes,
//! nothing is in plaintext, and the same command completes an interrupted run.
//!
//! `SEALANT_FAULTS` is the number of random moments (8), `SEALANT_FAULT_SEED` chooses them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use harness::{Kind, Server, limit, require, wait_until};
use serde_json::Value;

use crate::support::chance::{Random, number};
use crate::support::proof::{Proof, Statements};
use crate::support::rotation::{Rotating, end};
use crate::support::sealant;

/// Throw-away keys of MariaDB's `file_key_management`.
const MARIADB_KEYS: &str = "1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n\
    2;4550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n\
    7;5550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n";
const MORE_TABLES: &str = "USE demo;
    CREATE TABLE parts (id INT, v VARCHAR(600)) PARTITION BY HASH(id) PARTITIONS 2; INSERT INTO parts SELECT id, name FROM enc WHERE id < 99;
    CREATE TABLE words (id INT PRIMARY KEY, b TEXT, FULLTEXT(b)); INSERT INTO words VALUES (1, 'of a word');
    CREATE TABLE parent (id INT PRIMARY KEY); INSERT INTO parent VALUES (1);
    CREATE TABLE child (id INT, FOREIGN KEY(id) REFERENCES parent(id)); INSERT INTO child VALUES (1);
    CREATE DATABASE `a-b`; CREATE TABLE `a-b`.`o#d``d` (id INT PRIMARY KEY, v VARCHAR(20), KEY(v)); INSERT INTO `a-b`.`o#d``d` VALUES (1, 'x')";
/// Encrypted tablespaces: enc, zip, written, two partitions, words with eleven of its own, parent, child, o#d`d,
/// general, mysql, and two undo tablespaces.
const TABLESPACES: usize = 24;
const SUMS: &str = "CHECKSUM TABLE demo.enc, demo.zip, demo.inside, demo.parts, demo.words, demo.child, `a-b`.`o#d``d`";

/// Checksum of the wrapped key on page 0 of each encrypted tablespace, by file name. Read here independently of the
/// program.
fn fingerprints(datadir: &Path) -> BTreeMap<PathBuf, [u8; 4]> {
    let mut found = BTreeMap::new();
    let mut directories = vec![datadir.to_owned()];
    while let Some(directory) = directories.pop() {
        for path in fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if !(name.ends_with(".ibd") || name.starts_with("undo_")) {
                continue;
            }
            let bytes = fs::read(&path).unwrap_or_default();
            let head = &bytes[..bytes.len().min(16384)];
            // Magic, number, uuid and the wrapped key stand before it.
            if let Some(at) = head.windows(3).position(|window| window == b"lCC") {
                let crc = head[at + 107..at + 111].try_into().expect("four bytes");
                found.insert(path.strip_prefix(datadir).expect("below").to_owned(), crc);
            }
        }
    }
    found
}

fn mysql() -> Rotating {
    let at = Rotating::begin();
    at.server.sql(MORE_TABLES).expect("tables are made");
    // Page 0 of each is on disk before anything is compared.
    at.server
        .sql("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0; SET GLOBAL innodb_max_dirty_pages_pct = 0")
        .expect("set");
    wait_until("page 0 of every tablespace", limit(60), || {
        let found = fingerprints(at.server.datadir());
        if found.len() < TABLESPACES { Err(format!("{found:?}")) } else { Ok(()) }
    });
    at
}

#[track_caller]
fn leftovers(report: &Value) -> Vec<&str> {
    report["leftovers"].as_array().expect("a list").iter().filter_map(|left| left["artefact"].as_str()).collect()
}

#[test]
fn every_table_of_mysql_gets_a_new_key_while_clients_write() {
    let Some(_) = require(Kind::MySql97) else { return };
    let at = mysql();
    let sums = at.server.value(SUMS).expect("sums");
    let load = Statements::begin(&at.server, "CALL demo.busy()");
    let before = fingerprints(at.server.datadir());
    let report = at.run("one.age", &["--data-keys"]).is_done();
    drop(load);
    let after = fingerprints(at.server.datadir());
    let shared = ["mysql.ibd", "general.ibd"].map(PathBuf::from);
    for (file, key) in &before {
        let kept = after.get(file) == Some(key);
        assert_eq!(kept, shared.contains(file), "{}", file.display());
    }
    assert!(before.len() >= 12, "{before:?}");
    assert_eq!(leftovers(&report), ["tablespace general", "tablespace mysql"]);
    let counts = &report["proofs"]["after"]["data_keys"];
    assert!(counts["new"].as_u64().is_some_and(|new| new >= 12) && counts["kept"] == 2, "{counts}");
    assert_eq!(at.server.value(SUMS).expect("sums"), sums);
    at.opens_everything("one.age");
    assert_eq!(at.left(), ["one.age"]);
    let statements = fs::read_to_string(at.path("statements")).expect("a log");
    assert!(statements.contains("ALGORITHM = COPY") && !statements.contains("ENCRYPTION = 'N'"), "{statements}");
    // Replicas are not changed.
    assert!(!at.server.sql("SHOW BINLOG EVENTS IN 'binlog.000004'").unwrap_or_default().contains("FORCE"));

    // With a new master key in the same run.
    let newest = at.newest();
    let report = at.run("two.age", &["--master-key", "--data-keys"]).is_done();
    assert_eq!(at.newest(), newest + 1, "{report:#}");
    assert_eq!(at.server.value(SUMS).expect("sums"), sums);
}

#[test]
fn a_locked_table_is_reported_and_done_by_the_next_run() {
    let Some(_) = require(Kind::MySql97) else { return };
    let at = mysql();
    let lock = Statements::begin(&at.server, "LOCK TABLES demo.parent READ; DO SLEEP(600)");
    let waiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'DO SLEEP%'";
    wait_until("the lock", limit(60), || at.server.value(waiting).expect("a count") != "0");
    let more = ["--data-keys", "--lock-wait", "1", "--lock-tries", "2"];
    let ended = at.run("one.age", &more);
    assert_eq!(ended.code, Some(3), "{}\n{}", ended.stdout, ended.stderr);
    let report = ended.json();
    let failed = |step: &&Value| step["state"] == "failed";
    let steps: Vec<&Value> = report["steps"].as_array().expect("steps").iter().filter(failed).collect();
    assert!(steps.len() == 1 && steps[0]["step"] == "table demo.parent", "{steps:?}");
    let behind = report["lagging"].as_array().expect("a list");
    assert!(
        behind.iter().any(|file| file["file"].as_str().is_some_and(|f| f.ends_with("demo/parent.ibd"))),
        "{behind:?}"
    );
    drop(lock);
    at.server
        .sql("SELECT CONCAT('KILL ', ID) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'DO SLEEP%'")
        .expect("asked")
        .lines()
        .for_each(|kill| drop(at.server.sql(kill)));
    let report = at.run("one.age", &more).is_done();
    let done: Vec<&Value> = report["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .filter(|step| step["step"].as_str().is_some_and(|step| step.starts_with("table ")) && step["state"] == "done")
        .collect();
    assert!(done.len() == 1 && done[0]["step"] == "table demo.parent", "{done:?}");
}

#[test]
fn a_run_killed_at_any_moment_is_finished_by_the_same_command() {
    let Some(_) = require(Kind::MySql97) else { return };
    let mut random = Random::new(3);
    let mut at = mysql();
    let sums = at.server.value(SUMS).expect("sums");
    let began = Instant::now();
    at.run("first.age", &["--data-keys"]).is_done();
    let usual = u64::try_from(began.elapsed().as_micros()).expect("not for ever");
    let mut cut_off = 0;
    for round in 0..number("SEALANT_FAULTS", 8).div_ceil(2) {
        let backup = format!("round{round}.age");
        let before = fingerprints(at.server.datadir());
        let mut command = at.command(&backup, &["--data-keys"]);
        let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        // Chooses the moment of the kill.
        sleep(Duration::from_micros(random.below(usual)));
        if round % 2 == 0 {
            running.kill().expect("it is a child");
            cut_off += u32::from(!running.wait().expect("it ends").success());
        } else {
            at.server.kill();
            cut_off += u32::from(!running.wait().expect("it ends").success());
            remove_empty_truncation_logs(at.server.datadir());
            at.server.start().expect("it recovers");
        }
        Proof::mysql(&[at.server.datadir()], Some(&at.keyring())).is_sound();
        let mut ended = at.run(&backup, &["--data-keys"]);
        if ended.had_ended_before() {
            at.has_no_unfinished_run();
            continue;
        }
        if ended.stdout.contains("start it, and run this again") {
            at.server.stop().expect("it stops");
            at.server.start().expect("it starts");
            ended = at.run(&backup, &["--data-keys"]);
        }
        ended.is_done();
        let after = fingerprints(at.server.datadir());
        let same = |(file, key): &(&PathBuf, &[u8; 4])| after.get(*file) == Some(*key);
        let same: Vec<_> = before.iter().filter(same).map(|(file, _)| file.display().to_string()).collect();
        assert_eq!(same, ["general.ibd", "mysql.ibd"]);
        assert_eq!(at.server.value(SUMS).expect("sums"), sums);
        assert_eq!(
            at.server
                .value("SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES WHERE NAME LIKE '%#sql%' OR NAME LIKE 'sealant%'")
                .expect("a count"),
            "0"
        );
    }
    assert!(cut_off > 0, "no run was cut off");
}

/// MySQL creates `undo_N_trunc.log` before it truncates an undo tablespace, writes to it, and only then begins. Killed
/// in between, it refuses to start on the empty file (seen with 9.7.4).
fn remove_empty_truncation_logs(datadir: &Path) {
    for entry in fs::read_dir(datadir).expect("a data directory").flatten() {
        let is_log = entry.file_name().to_string_lossy().ends_with("_trunc.log");
        if is_log && entry.metadata().is_ok_and(|file| file.len() == 0) {
            fs::remove_file(entry.path()).expect("removed");
        }
    }
}

/// A MariaDB that encrypts with key 1, and tables of all kinds.
fn mariadb(kind: Kind) -> Rotating {
    let options = ["--innodb-encrypt-tables=ON", "--innodb-encryption-threads=2", "--innodb-encrypt-log=ON"];
    let server = Server::builder(kind).mariadb_keys(MARIADB_KEYS).options(options).start().expect("MariaDB starts");
    server
        .sql(
            "CREATE DATABASE demo; USE demo;
             CREATE TABLE enc (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200), KEY(v));
             INSERT INTO enc (v) SELECT CONCAT('row ', seq) FROM seq_1_to_900;
             CREATE TABLE parts (id INT, v VARCHAR(200)) PARTITION BY HASH(id) PARTITIONS 2; INSERT INTO parts SELECT id, v FROM enc;
             CREATE TABLE words (id INT PRIMARY KEY, b TEXT, FULLTEXT(b)); INSERT INTO words VALUES (1, 'of a word');
             CREATE TABLE there (id INT PRIMARY KEY) ENCRYPTED=YES ENCRYPTION_KEY_ID=7; INSERT INTO there VALUES (1);
             CREATE TABLE clear (id INT PRIMARY KEY) ENCRYPTED=NO;
             CREATE TABLE parent (id INT PRIMARY KEY); INSERT INTO parent VALUES (1);
             CREATE TABLE child (id INT, FOREIGN KEY(id) REFERENCES parent(id)); INSERT INTO child VALUES (1);
             CREATE DATABASE `a-b`; CREATE TABLE `a-b`.`o#d``d` (id INT PRIMARY KEY); INSERT INTO `a-b`.`o#d``d` VALUES (1)",
        )
        .expect("tables are made");
    let open = "SELECT COUNT(*) FROM information_schema.INNODB_SYS_TABLESPACES s \
        LEFT JOIN information_schema.INNODB_TABLESPACES_ENCRYPTION e ON e.SPACE = s.SPACE \
        WHERE s.NAME NOT IN ('innodb_temporary', 'demo/clear') AND (e.SPACE IS NULL OR e.MIN_KEY_VERSION = 0)";
    wait_until("all is encrypted", limit(120), || match server.value(open).expect("a count").as_str() {
        "0" => Ok(()),
        count => Err(format!("{count} tablespaces are not")),
    });
    Rotating::on(server)
}

const MARIADB_SUMS: &str = "CHECKSUM TABLE demo.enc, demo.parts, demo.words, demo.there, demo.child, `a-b`.`o#d``d`";

/// Ids of the keys that files require, by file name.
fn key_ids(at: &Rotating) -> BTreeMap<String, u64> {
    let keys = at.server.dir().join("keys.txt");
    let proof = Proof::mariadb(&[at.server.datadir()], Some(&keys));
    let id = |file: &Value| Some((file["path"].as_str()?.to_owned(), file["key"]["key_id"].as_u64()?));
    let below = format!("{}/", at.server.datadir().display());
    proof.files().iter().filter_map(id).map(|(path, id)| (path.replace(&below, ""), id)).collect()
}

#[test]
fn every_table_of_mariadb_moves_to_the_key() {
    for kind in [Kind::MariaDb1011, Kind::MariaDb118] {
        let Some(_) = require(kind) else { continue };
        let at = mariadb(kind);
        let sums = at.server.value(MARIADB_SUMS).expect("sums");
        at.run("no.age", &["--mariadb-key-id", "9"]).refused(1, "has no key 9", "restart the server");
        at.run("no.age", &["--mariadb-key-id", "7", "--data-keys"]).refused(
            1,
            "only --mariadb-key-id and --mariadb-new-version are supported",
            "",
        );
        let report = at.run("one.age", &["--mariadb-key-id", "7"]).is_done();
        let ids = key_ids(&at);
        let moved = |file: &String| {
            (file.starts_with("demo/") || file.starts_with("a@") || file.starts_with("mysql/"))
                && !file.contains("/FTS_")
        };
        let behind: Vec<_> = ids.iter().filter(|(file, id)| moved(file) && **id != 7).collect();
        assert!(behind.is_empty(), "{behind:?}");
        assert!(ids.keys().filter(|file| moved(file)).count() >= 8, "{ids:?}");
        let left = leftovers(&report);
        assert!(left.contains(&"innodb_system") && left.contains(&"the redo log"), "{left:?}");
        assert!(left.iter().any(|left| left.contains("FTS_")), "{left:?}");
        assert!(report["proofs"]["after"]["tablespaces_on_key_id"].as_u64().is_some_and(|on| on >= 8), "{report:#}");
        assert_eq!(at.server.value(MARIADB_SUMS).expect("sums"), sums);
        assert_eq!(at.open("one.age"), MARIADB_KEYS.as_bytes());
        assert_eq!(at.left(), ["one.age"]);
        // A table that opted out stays as it is.
        let clear = at.server.value("SELECT CREATE_OPTIONS FROM information_schema.TABLES WHERE TABLE_NAME = 'clear'");
        assert!(clear.expect("options").to_lowercase().contains("no"));

        // Killed on the way back, the same command completes the work.
        let mut random = Random::new(4);
        let mut command = at.command("two.age", &["--mariadb-key-id", "2"]);
        let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        // Chooses the moment of the kill.
        sleep(Duration::from_millis(random.below(1500)));
        running.kill().expect("it is a child");
        let ended_before = running.wait().expect("it ends").success();
        if !ended_before {
            let ended = at.run("two.age", &["--mariadb-key-id", "2"]);
            if ended.had_ended_before() {
                at.has_no_unfinished_run();
            } else {
                ended.is_done();
            }
        }
        assert!(key_ids(&at).iter().all(|(file, id)| !moved(file) || *id == 2), "{:?}", key_ids(&at));
        assert_eq!(at.server.value(MARIADB_SUMS).expect("sums"), sums);
    }
}

#[test]
fn an_encrypted_key_file_is_backed_up_with_its_password() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let mut server = Server::builder(Kind::MariaDb1011).start().expect("MariaDB starts");
    let mut init = sealant();
    init.args(["keyring", "init", "--yes", "--user", "root", "--socket"]).arg(server.socket());
    init.arg("--config").arg(server.dir().join("my.cnf"));
    assert!(init.output().expect("it starts").status.success());
    server.stop().expect("it stops");
    server.start().expect("it starts");
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY) ENCRYPTED=YES").expect("made");
    let at = Rotating::on(server);
    let report = at.run("one.age", &["--mariadb-key-id", "3"]).is_done();
    assert_eq!(at.left(), ["one.age", "one.age.password"]);
    assert_eq!(report["backup"]["password"], at.path("one.age.password").to_str().expect("ASCII"));
    let (keys, password) = (at.path("decrypted"), at.path("identity.password"));
    fs::write(&keys, at.open("one.age")).expect("written");
    fs::write(&password, at.open("one.age.password")).expect("written");
    let mut verify = sealant();
    verify.args(["verify", "--format", "json", "--mariadb-key-file"]).arg(&keys);
    verify.arg("--mariadb-key-file-password-file").arg(&password).arg(at.server.datadir().join("d/t.ibd"));
    let verified = verify.output().expect("it starts");
    let verified: Value = serde_json::from_slice(&verified.stdout).expect("JSON");
    assert_eq!((&verified["files"][0]["verdict"], &verified["files"][0]["key"]["key_id"]), (&"ok".into(), &3.into()));
}

/// The key of a new tablespace is on disk only after the server has written it; until then nothing can be proven.
#[test]
fn files_not_on_disk_yet_are_reported_and_are_no_success() {
    let Some(_) = require(Kind::MySql97) else { return };
    let at = mysql();
    at.server
        .sql(
            "SET GLOBAL innodb_max_dirty_pages_pct = 99; SET GLOBAL innodb_idle_flush_pct = 0;
             SET GLOBAL innodb_adaptive_flushing = OFF; SET GLOBAL innodb_redo_log_capacity = 536870912",
        )
        .expect("it writes as late as it can, and not because its redo log fills up");
    let mut command = at.bare(&["run", "--yes", "--data-keys", "--settle", "1s", "--user", "root"]);
    command.arg("--log").arg(at.path("statements")).args(["--recipient", &at.recipient()]);
    let ended = {
        command.arg("--keyring-backup").arg(at.path("k.age"));
        end(command)
    };
    assert_eq!(ended.code, Some(3), "{}\n{}", ended.stdout, ended.stderr);
    let after = ended.stdout.lines().find(|line| line.starts_with("after:")).expect("a proof");
    assert!(after.contains("page 0 is not on disk") && after.contains("not proven"), "{}", ended.stdout);
    assert!(ended.stdout.contains("NOT proven: ") && ended.stdout.contains("/undo_00"), "{}", ended.stdout);
    // The same command continues after they are written.
    at.server
        .sql("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0; SET GLOBAL innodb_max_dirty_pages_pct = 0")
        .expect("set");
    at.run("k.age", &["--data-keys"]).is_done();
}
