//! `sealant rotate` on real servers: new keys everywhere, backups that open everything, and refusals.

use std::fs;

use harness::{KeyringLocation, Kind, Server, require};

use crate::support::Audit;
use crate::support::chance::number;
use crate::support::proof::{Proof, Statements};
use crate::support::rotation::{Rotating, encrypting, end, mode};

const BOTH: [&str; 2] = ["--master-key", "--binlog-key"];

#[test]
fn everything_carries_the_new_keys_and_the_backup_opens_it_while_clients_write() {
    let Some(_) = require(Kind::MySql97) else { return };
    let mut at = Rotating::begin();
    let load = Statements::begin(&at.server, "CALL demo.busy()");
    let before = at.newest();
    let report = at.run("one.age", &BOTH).is_done();
    drop(load);

    let after = &report["proofs"]["after"];
    assert!(after["new_key"].as_str().expect("a name").ends_with(&format!("-{}", before + 1)), "{report:#}");
    // enc, zip, written, general, mysql, two undo tablespaces.
    assert!(after["tablespaces_on_new_key"].as_u64().expect("a number") >= 7, "{report:#}");
    assert!(after["binary_logs_on_new_key"].as_u64().expect("a number") >= 3, "{report:#}");
    assert!(after["redo_on_new_key"].as_u64().expect("a number") >= 1, "{report:#}");
    assert_eq!(report["lagging"], serde_json::json!([]));
    let backup = &report["backup"];
    assert_eq!(backup["recipients"][0], at.recipient());
    assert_eq!(backup["proof"], "same-bytes");
    assert_eq!(mode(&at.path("one.age")), 0o600);
    assert_eq!(at.open("one.age"), fs::read(at.keyring()).expect("a keyring"));

    // The server removed the older binary log key: only the earlier backup has it.
    let removed = report["removed_keys"][0].as_str().expect("a key was removed");
    assert!(removed.starts_with("MySQLReplicationKey_"), "{removed}");
    assert_eq!(at.left(), ["one.age", "one.age.before"]);
    let held = String::from_utf8(at.open("one.age.before")).expect("text");
    assert!(held.contains(removed) && !String::from_utf8(at.open("one.age")).expect("text").contains(removed));

    // This time with a proof by decryption; nothing would be lost with the earlier backup.
    let identity = at.path("identity");
    let page = at.path("page.html");
    let [identity, html] = [&identity, &page].map(|path| path.to_str().expect("ASCII"));
    let report = at.run("two.age", &["--master-key", "--identity", identity, "--html", html]).is_done();
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("Proven: the keys that were to be rotated are new"), "{page}");
    assert!(page.contains(report["backup"]["sha256"].as_str().expect("a hash")), "{page}");
    assert!(at.secrets().iter().all(|key| !page.to_ascii_lowercase().contains(key)));
    assert_eq!(report["backup"]["proof"], "decrypted");
    assert_eq!(at.left(), ["one.age", "one.age.before", "two.age"]);
    assert_eq!(at.newest(), before + 2);

    // The redo log's key is re-wrapped but not replaced, and the report says so.
    let report = at.run("three.age", &["--redo"]).is_done();
    assert!(report["proofs"]["after"]["redo_on_new_key"].as_u64().expect("a number") >= 1, "{report:#}");
    assert_eq!((report["leftovers"][0]["artefact"].as_str(), at.newest()), (Some("redo log"), before + 3));

    // No secret was printed or written.
    let log = fs::read_to_string(at.path("statements")).expect("a log");
    let register = fs::read_dir(at.path("state")).expect("a directory").map(|entry| entry.expect("an entry").path());
    let register: String = register.map(|path| fs::read_to_string(path).expect("text")).collect();
    let said = format!("{log}{register}{report}").to_ascii_lowercase();
    assert!(at.secrets().len() >= 3 && at.secrets().iter().all(|key| !said.contains(key)));
    assert_eq!(log.matches("\"event\":\"done\"").count(), 7, "{log}");
    // Replicas do not rotate at the same time, without a proof and a backup.
    let events =
        |number: u32| at.server.sql(&format!("SHOW BINLOG EVENTS IN 'binlog.{number:06}'")).unwrap_or_default();
    let events: String = (1..9).map(events).collect();
    assert!(events.contains("CREATE TABLESPACE") && !events.contains("ALTER INSTANCE"), "{events}");
    assert!(register.contains("\"last_rotated\"") && !register.contains("unfinished"), "{register}");

    // A stopped server's files, every page, by the backup alone.
    at.server.stop().expect("it stops");
    at.opens_everything("three.age").is_complete();
    at.server.start().expect("it starts");
    assert_eq!(at.server.value("SELECT COUNT(*) FROM demo.inside").expect("rows"), "900");
}

#[test]
fn a_plan_changes_nothing() {
    let Some(_) = require(Kind::MySql97) else { return };
    let at = Rotating::begin();
    let keyring = fs::read(at.keyring()).expect("a keyring");
    for args in [&["plan"][..], &["run", "--dry-run"]] {
        let mut command = at.bare(args);
        command.args(["--user", "root", "--recipient", &at.recipient(), "--master-key"]);
        command.arg("--keyring-backup").arg(at.path("b.age"));
        let planned = end(command);
        assert_eq!(planned.code, Some(0), "{}", planned.stderr);
        assert!(planned.stdout.contains("ALTER INSTANCE ROTATE INNODB MASTER KEY"), "{}", planned.stdout);
        assert!(!planned.stdout.contains("BINLOG"), "{}", planned.stdout);
    }
    // A plan needs no backup, a run always does.
    let mut command = at.bare(&["plan", "--user", "root", "--master-key"]);
    let planned = end(command);
    assert_eq!(planned.code, Some(0), "{}", planned.stderr);
    assert!(planned.stdout.contains("back up the keyring as FILE"), "{}", planned.stdout);
    command = at.bare(&["run", "--user", "root", "--master-key", "--yes"]);
    end(command).refused(2, "no file for the backup of the keyring was given", "--keyring-backup FILE");
    // There is no terminal for a confirmation.
    let mut command = at.bare(&["run", "--master-key", "--user", "root", "--recipient", &at.recipient()]);
    command.arg("--keyring-backup").arg(at.path("b.age"));
    end(command).refused(2, "standard input is not a terminal", "--yes");
    assert_eq!(fs::read(at.keyring()).expect("a keyring"), keyring);
    assert!(!at.path("state").exists() && !at.path("b.age").exists());
}

#[test]
fn many_rotations_in_a_row_succeed() {
    let Some(_) = require(Kind::MySql97) else { return };
    let at = Rotating::begin();
    let before = at.newest();
    let last = u32::try_from(number("SEALANT_ROTATIONS", 20)).expect("not so many");
    for number in 1..=last {
        let report = at.run(&format!("{number}.age"), &BOTH).is_done();
        let key = report["proofs"]["after"]["new_key"].as_str().expect("a name").to_owned();
        assert!(key.ends_with(&format!("-{}", before + number)), "{key}");
    }
    at.opens_everything(&format!("{last}.age"));
    assert_eq!(at.server.value("SELECT COUNT(*) FROM demo.zip").expect("rows"), "900");
}

#[test]
fn a_damaged_or_foreign_keyring_is_not_rotated() {
    let Some(_) = require(Kind::MySql97) else { return };
    let at = Rotating::begin();
    let keyring = fs::read(at.keyring()).expect("a keyring");
    let newest = at.newest();
    let lost = "do not stop the server";

    fs::remove_file(at.keyring()).expect("removed");
    at.run("b.age", &BOTH).refused(1, "does not exist", lost);
    fs::write(at.keyring(), &keyring[..keyring.len() / 2]).expect("written");
    at.run("b.age", &BOTH).refused(1, "its end is missing", lost);
    fs::write(at.keyring(), b"").expect("written");
    at.run("b.age", &BOTH).refused(1, "the key store is empty", lost);
    fs::write(at.keyring(), br#"{"version":"1.0","elements":[]}"#).expect("written");
    at.run("b.age", &BOTH).refused(1, "which the running server has", lost);
    // Two keys of one name.
    let element = |byte: &str| {
        let data = byte.repeat(32);
        format!(r#"{{"user":"","data_id":"twice","data_type":"AES","data":"{data}","extension":[]}},"#)
    };
    let twice = format!(r#""elements":[{}{}"#, element("A5"), element("B6"));
    let several = String::from_utf8(keyring.clone()).expect("text").replacen(r#""elements":["#, &twice, 1);
    assert!(several.contains(&twice), "the file has other spaces");
    fs::write(at.keyring(), several).expect("written");
    at.run("b.age", &BOTH).refused(1, "different keys of the same name", "remove those that the server does not use");
    // The names are right, but not the keys.
    let swapped = String::from_utf8(keyring.clone()).expect("text");
    let swapped = secrets_in(&swapped).iter().fold(swapped, |text, key| text.replace(key, &"A5".repeat(32)));
    fs::write(at.keyring(), swapped).expect("written");
    at.run("b.age", &BOTH).refused(1, "encrypted files; the first that it does not open is", lost);

    fs::write(at.keyring(), &keyring).expect("written");
    let copy = at.path("copy");
    fs::write(&copy, &keyring).expect("written");
    let copy = copy.to_str().expect("ASCII");
    at.run("b.age", &["--master-key", "--keyring", copy]).refused(
        1,
        "the server keeps its keys in",
        "leave --keyring out",
    );
    assert_eq!((at.newest(), at.left()), (newest, vec!["copy".to_owned()]), "nothing was done");
    at.run("b.age", &BOTH).is_done();
}

#[test]
fn keys_that_cannot_be_backed_up_are_not_rotated() {
    let Some(_) = require(Kind::MySql97) else { return };
    let at = Rotating::begin();
    let newest = at.newest();
    fs::write(at.path("there.age"), "mine").expect("written");
    at.run("there.age", &BOTH).refused(1, "already exists", "name a new file");
    assert_eq!(fs::read(at.path("there.age")).expect("read"), b"mine");
    at.run("no/such/directory.age", &BOTH).refused(1, "cannot be written", "directory");
    at.run("b.age", &["--master-key", "--state-dir", "/proc/nothing"]).refused(2, "cannot be used multiple times", "");
    at.run("b.age", &["--master-key", "--recipient", "age1nonsense"]).refused(2, "no X25519 recipient", "age-keygen");
    let secret = fs::read_to_string(at.path("identity")).expect("an identity");
    let ended = at.run("b.age", &["--master-key", "--recipient", &secret]);
    ended.refused(2, "it is a secret key", "");
    assert!(!ended.stderr.contains(&secret));
    let other = tempfile::tempdir().expect("a directory");
    fs::write(other.path().join("auto.cnf"), "[auto]\nserver-uuid=11111111-e4cd-11f1-8c02-02fc00000001\n")
        .expect("written");
    let datadir = other.path().to_str().expect("ASCII");
    at.run("b.age", &["--master-key", "--datadir", datadir]).refused(1, "is of the server 11111111", "--datadir");
    at.run("b.age", &[]).refused(2, "--master-key", "");
    assert_eq!(at.newest(), newest);
    assert_eq!(at.left(), ["there.age"]);
}

#[test]
fn missing_privileges_are_reported() {
    let Some(_) = require(Kind::MySql97) else { return };
    let at = Rotating::begin();
    at.server.sql("CREATE USER few@localhost; GRANT PROCESS ON *.* TO few@localhost").expect("made");
    let run = || {
        let mut command = at.bare(&["run", "--yes", "--user", "few", "--recipient", &at.recipient()]);
        command.args(BOTH).arg("--keyring-backup").arg(at.path("b.age")).args(["--format", "json"]);
        end(command)
    };
    let ended = run();
    ended.refused(1, "ENCRYPTION_KEY_ADMIN ON *.*", "GRANT SESSION_VARIABLES_ADMIN ON *.* TO `few`@`localhost`");
    ended.refused(1, "BINLOG_ENCRYPTION_ADMIN", "SELECT ON `performance_schema`.keyring_component_status");
    // The privileges in the hint suffice, also through a role.
    let hint = ended.stderr.lines().find_map(|line| line.strip_prefix("sealant: hint: ")).expect("a hint");
    at.server
        .sql("CREATE ROLE keeper; GRANT keeper TO few@localhost; SET DEFAULT ROLE ALL TO few@localhost")
        .expect("made");
    at.server.sql(&hint.replace("`few`@`localhost`", "`keeper`")).expect("granted");
    run().is_done();
}

#[test]
fn servers_that_have_nothing_to_rotate_get_advice() {
    if require(Kind::MySql97).is_some() {
        let server = Server::builder(Kind::MySql97).start().expect("MySQL starts");
        let at = Rotating::on(server);
        at.run("b.age", &["--master-key"]).refused(1, "no keyring is active", "component_keyring_file");

        let mut at = Rotating::begin();
        at.server.stop().expect("it stops");
        let config = at.server.datadir().join("component_keyring_file.cnf");
        let text = fs::read_to_string(&config).expect("a configuration").replace("false", "true");
        fs::write(&config, text).expect("written");
        at.server.start().expect("it starts");
        at.run("b.age", &["--master-key"]).refused(1, "is read-only", "\"read_only\": false");

        let server = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).option("--log-bin=binlog");
        let server = server.start().expect("MySQL starts");
        server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT) ENCRYPTION='Y'").expect("made");
        let at = Rotating::on(server);
        at.run("b.age", &BOTH).refused(1, "binary logs are not encrypted", "leave --binlog-key out");
        at.run("b.age", &["--redo"]).refused(1, "redo log is not encrypted", "leave --redo out");
        let report = at.run("b.age", &["--master-key"]).is_done();
        assert_eq!(report["proofs"]["after"]["tablespaces_on_new_key"], 1, "{report:#}");
    }
    if require(Kind::MariaDb1011).is_some() {
        let at = Rotating::on(Server::builder(Kind::MariaDb1011).start().expect("MariaDB starts"));
        at.run("b.age", &["--master-key"]).refused(1, "MariaDB has no master keys", "ENCRYPTION_KEY_ID");
    }
}

#[test]
fn a_file_that_the_server_does_not_rewrap_is_reported_and_the_run_is_unfinished() {
    let Some(_) = require(Kind::MySql97) else { return };
    let at = Rotating::begin();
    at.server.sql("FLUSH TABLES demo.enc FOR EXPORT").expect("written out");
    let orphan = at.server.datadir().join("demo/orphan.ibd");
    fs::copy(at.server.datadir().join("demo/enc.ibd"), &orphan).expect("copied");
    let ended = at.run("b.age", &["--master-key", "--settle", "3s"]);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    let report = ended.json();
    assert_eq!((report["done"].as_bool(), report["lagging"].as_array().map(Vec::len)), (Some(false), Some(1)));
    assert!(report["lagging"][0]["file"].as_str().expect("a path").ends_with("demo/orphan.ibd"));
    assert!(ended.stderr.contains("orphan.ibd: still carries INNODBKey-"), "{}", ended.stderr);
    assert_eq!(at.left(), ["b.age", "b.age.before"]);
    at.opens_everything("b.age");

    // When it is moved away, the same command completes the work; nothing is rotated a second time.
    let newest = at.newest();
    fs::remove_file(&orphan).expect("removed");
    let report = at.run("b.age", &["--master-key"]).is_done();
    assert_eq!(report["steps"][3]["state"], "skipped", "{report:#}");
    assert_eq!((at.newest(), at.left()), (newest, vec!["b.age".to_owned()]));
}

/// The state after a server was killed between creating a key and using it in a file.
#[test]
fn an_unused_key_of_a_killed_server_is_used_by_the_next_rotation() {
    let Some(_) = require(Kind::MySql97) else { return };
    let mut at = Rotating::begin();
    let before = at.newest();
    at.server.stop().expect("it stops");
    let keyring = fs::read_to_string(at.keyring()).expect("a keyring");
    let mut keyring: serde_json::Value = serde_json::from_str(&keyring).expect("JSON");
    let elements = keyring["elements"].as_array_mut().expect("keys");
    let newest = format!("-{before}");
    let of_newest = |key: &&serde_json::Value| {
        key["data_id"].as_str().is_some_and(|name| name.starts_with("INNODBKey-") && name.ends_with(&newest))
    };
    let mut unused = elements.iter().find(of_newest).expect("it is there").clone();
    let server = unused["data_id"].as_str().and_then(|name| name.strip_suffix(&newest)).expect("a name");
    let name = format!("{server}-{}", before + 1);
    (unused["data_id"], unused["data"]) = (name.as_str().into(), "A5".repeat(32).into());
    elements.push(unused);
    fs::write(at.keyring(), keyring.to_string()).expect("written");
    at.server.start().expect("it starts");

    let report = at.run("b.age", &["--master-key"]).is_done();
    let after = &report["proofs"]["after"];
    assert_eq!((after["new_key"].as_str(), at.newest()), (Some(name.as_str()), before + 1), "{report:#}");
    assert!(after["tablespaces_on_new_key"].as_u64().expect("a number") >= 7, "{report:#}");
    at.opens_everything("b.age");
}

#[test]
fn tablespaces_outside_the_data_directory_are_proven_too() {
    let Some(_) = require(Kind::MySql97) else { return };
    let outside = tempfile::tempdir().expect("a directory");
    let server = encrypting().option(format!("--innodb-directories={}", outside.path().display()));
    let at = Rotating::on(server.start().expect("MySQL starts"));
    let directory = outside.path().display();
    at.server
        .sql(&format!("CREATE DATABASE demo; CREATE TABLE demo.far (id INT PRIMARY KEY) DATA DIRECTORY='{directory}'"))
        .expect("made");
    let report = at.run("b.age", &["--master-key"]).is_done();
    let key = report["proofs"]["after"]["new_key"].as_str().expect("a name").to_owned();
    let proof = Proof::mysql(&[outside.path()], Some(&at.keyring()));
    assert_eq!(proof.file("far.ibd")["key"]["name"], key.as_str());
    assert_eq!(report["proofs"]["after"]["tablespaces_on_new_key"], 3, "far and two undo tablespaces: {report:#}");
}

/// The keys in a keyring's text, as stored.
fn secrets_in(keyring: &str) -> Vec<String> {
    let is_key = |part: &&str| part.len() == 64 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    keyring.split('"').filter(is_key).map(str::to_owned).collect()
}

/// Unused and spare redo log files keep their old header: the key in the newest header opens them.
#[test]
fn after_a_rotation_an_audit_finds_no_outdated_key() {
    let Some(_) = require(Kind::MySql97) else { return };
    let at = Rotating::begin();
    let load = Statements::begin(&at.server, "CALL demo.busy()");
    for (backup, more) in [("one.age", "--master-key"), ("two.age", "--redo"), ("three.age", "--master-key")] {
        // Several files of the log hold a checkpoint, each with a header of its own.
        at.server.sql(REDO).expect("the log goes on");
        at.run(backup, &[more]).is_done();
        Audit::live(&at.server).passes("key-wrap-lag");
    }
    drop(load);
    Audit::live_with(&at.server, &["--deep"]).passes("key-wrap-lag");
    // By hand, the header of the log is updated at the next checkpoint, as the finding advises.
    at.server.sql("ALTER INSTANCE ROTATE INNODB MASTER KEY").expect("rotated");
    at.run("four.age", &["--redo"]).is_done();
    Audit::live(&at.server).passes("key-wrap-lag");
}

/// Fills and switches files of the redo log.
const REDO: &str = "CREATE TABLE demo.fill (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(8000)) CHARACTER SET latin1;
    INSERT INTO demo.fill (v) SELECT REPEAT('x', 8000) FROM demo.enc LIMIT 700;
    UPDATE demo.fill SET v = REPEAT('y', 8000); DROP TABLE demo.fill";
