//! `sealant keys` on real servers: every required key, where it is, and what still needs it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use harness::{Kind, Server, limit, require, wait_until};
use serde_json::Value;

use crate::support::proof::Proof;
use crate::support::rotation::{Ended, Rotating, end};
use crate::support::schema::has_its_schema;
use crate::support::{Audit, sealant};

/// Throw-away keys of MariaDB's `file_key_management`.
const MARIADB_KEYS: &str = "1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n\
    2;4550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n\
    7;5550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n";

fn keys(server: &Server, state: &Path, more: &[&str]) -> Ended {
    let mut command = sealant();
    command.args(["keys", "--user", "root", "--format", "json", "--socket"]).arg(server.socket());
    command.arg("--state-dir").arg(state).args(more);
    end(command)
}

/// The report of a server on which everything opens.
#[track_caller]
fn sound(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let report = ended.json();
    has_its_schema(&report, "keys-1");
    assert_eq!(report["sound"], true);
    report
}

/// The key whose name has this suffix.
#[track_caller]
fn key<'r>(report: &'r Value, ending: &str) -> &'r Value {
    let keys = report["keys"].as_array().expect("keys are a list");
    let ends = |key: &&Value| key["id"].as_str().is_some_and(|id| id.ends_with(ending));
    keys.iter().find(ends).unwrap_or_else(|| panic!("no {ending} in {report:#}"))
}

#[track_caller]
fn files(key: &Value, directory: &str) -> u64 {
    key["used_by"][directory]["files"].as_u64().unwrap_or_else(|| panic!("no {directory} in {key:#}"))
}

#[test]
fn mysql_keys_are_listed_with_the_files_that_need_them() {
    let Some(_) = require(Kind::MySql97) else { return };
    let at = Rotating::begin();
    let state = at.path("state");
    at.server
        .sql("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0; SET GLOBAL innodb_max_dirty_pages_pct = 0")
        .expect("set");
    let master = |report: &Value| key(report, &format!("-{}", at.newest())).clone();
    // Page 0 of new tables is on disk a moment later: enc, zip, written, general, mysql.
    let report = wait_until("page 0 of every table", limit(60), || {
        let report = sound(&keys(&at.server, &state, &[]));
        let found = master(&report)["used_by"]["tablespace"]["files"].as_u64().unwrap_or(0) >= 5;
        if found { Ok(report) } else { Err(format!("{report:#}")) }
    });
    assert!(!state.exists(), "nothing is written unless asked");
    assert_eq!(report["back_end"]["path"], at.keyring().to_str().expect("ASCII"));
    let master = key(&report, &format!("-{}", at.newest()));
    assert_eq!(
        (&master["kind"], &master["newest"], &master["held"]),
        (&"innodb-master".into(), &true.into(), &true.into())
    );
    assert!(files(master, "undo") >= 2, "{master:#}");
    assert!(files(master, "redo") >= 1, "{master:#}");
    assert!(master["used_by"]["doublewrite"]["pages"].as_u64().is_some_and(|pages| pages > 0), "{master:#}");
    let binary_log = report["keys"].as_array().expect("a list").iter().find(|key| key["kind"] == "binary-log");
    let binary_log = binary_log.expect("a binary log key");
    assert!(files(binary_log, "binary-log") >= 3, "{binary_log:#}");
    let said = report.to_string().to_ascii_lowercase();
    assert!(!at.secrets().is_empty() && at.secrets().iter().all(|secret| !said.contains(secret)));

    // After a rotation the register has its date and the proven copy; an older backup still needs the older key.
    let backup = at.path("data-backup");
    fs::create_dir(&backup).expect("made");
    fs::copy(at.server.datadir().join("demo/enc.ibd"), backup.join("enc.ibd")).expect("copied");
    let older = at.newest();
    at.run("k.age", &["--master-key"]).is_done();
    let of_backup = ["--backup", backup.to_str().expect("ASCII"), "--record"];
    let report = sound(&keys(&at.server, &state, &of_backup));
    let old = key(&report, &format!("-{older}"));
    assert_eq!((&old["newest"], &old["held"]), (&false.into(), &true.into()), "{old:#}");
    assert!(old["rotated"].is_string() && old["first_seen"].is_string(), "{old:#}");
    assert_eq!(old["backups"][0], backup.to_str().expect("ASCII"));
    assert!(old["used_by"].as_object().is_some_and(|uses| !uses.contains_key("tablespace")), "{old:#}");
    let new = key(&report, &format!("-{}", at.newest()));
    assert_eq!(new["copy"], at.path("k.age").to_str().expect("ASCII"));
    assert!(new["copy_proven"].is_string() && report["last_rotated"]["master_key"].is_string(), "{report:#}");

    // The register keeps the backup until `--forget`.
    let report = sound(&keys(&at.server, &state, &[]));
    assert_eq!(key(&report, &format!("-{older}"))["backups"].as_array().map(Vec::len), Some(1));
    let forget = ["--record", "--forget-backup", backup.to_str().expect("ASCII")];
    let report = sound(&keys(&at.server, &state, &forget));
    assert_eq!(key(&report, &format!("-{older}"))["backups"].as_array().map(Vec::len), Some(0));

    // Files that no longer open are reported.
    let newest = at.newest();
    let keyring = fs::read_to_string(at.keyring()).expect("a keyring");
    fs::write(at.keyring(), keyring.replace(&format!("-{}\"", at.newest()), "-999\"")).expect("written");
    let ended = keys(&at.server, &state, &[]);
    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    let report = ended.json();
    let missing = key(&report, &format!("-{}", at.newest() - 998 + older));
    assert_eq!(missing["held"], false, "{missing:#}");
    assert!(missing["used_by"]["tablespace"]["shut"].as_u64().is_some_and(|shut| shut >= 5), "{missing:#}");
    let mut table = sealant();
    table.args(["keys", "--user", "root", "--socket"]).arg(at.server.socket()).arg("--state-dir").arg(&state);
    let table = end(table);
    assert!(table.stdout.contains("MISSING") && table.stdout.contains("SHUT"), "{}", table.stdout);
    let checked = keyring_check(&at.server);
    assert_eq!(checked.code, Some(3), "{}", checked.stdout);
    assert!(
        checked.stdout.contains("does not open is") && checked.stdout.contains("demo/enc.ibd"),
        "{}",
        checked.stdout
    );
    // The same for a missing or empty keyring: the keys in the running server's memory are no proof.
    for empty in [false, true] {
        fs::remove_file(at.keyring()).expect("removed");
        if empty {
            fs::write(at.keyring(), "").expect("written");
        }
        let ended = keys(&at.server, &state, &[]);
        ended.refused(3, "is missing", "do not stop the server: it still has its keys in memory");
        let report = ended.json();
        has_its_schema(&report, "keys-1");
        assert_eq!(
            (&report["back_end"]["storage"], &report["sound"]),
            (&"elsewhere".into(), &false.into()),
            "{report:#}"
        );
        let missing = key(&report, &format!("-{}", newest));
        assert_eq!((&missing["held"], &missing["in_memory"]), (&false.into(), &true.into()), "{missing:#}");
        assert!(missing["used_by"]["tablespace"]["shut"].as_u64().is_some_and(|shut| shut >= 5), "{missing:#}");
        let ended = keyring_check(&at.server);
        assert_eq!(ended.code, Some(3), "{}", ended.stdout);
        assert!(
            ended.stdout.contains("is missing or empty") && ended.stdout.contains("do not stop"),
            "{}",
            ended.stdout
        );
        let mut encrypt = sealant();
        encrypt.args(["encrypt", "run", "--yes", "--user", "root", "--socket"]).arg(at.server.socket());
        encrypt.arg("--log").arg(at.path("encrypt.log")).arg("--state-dir").arg(&state);
        end(encrypt).refused(1, "is missing or empty", "");
        fs::write(at.keyring(), &keyring).expect("written");
        fs::set_permissions(at.keyring(), fs::Permissions::from_mode(0o600)).expect("its mode is set");
    }
    sound(&keys(&at.server, &state, &[]));
    assert_eq!(keyring_check(&at.server).code, Some(0));
    a_destroyed_record_is_named(&at, &state);
}

/// No key opens a table whose page 0 has lost its key or a part of it.
fn a_destroyed_record_is_named(at: &Rotating, state: &Path) {
    let table = at.server.datadir().join("demo/enc.ibd");
    let whole = fs::read(&table).expect("read");
    let record = harness::find(&whole, b"lCC").expect("page 0 has the record of a key");
    for destroyed in [record..record + 3, record..record + 111, record + 60..record + 61] {
        let mut bytes = whole.clone();
        bytes[destroyed.clone()].iter_mut().for_each(|byte| *byte ^= 0x21);
        fs::write(&table, &bytes).expect("written");
        let ended = keys(&at.server, state, &[]);
        ended.refused(3, "damaged where they name or hold their key", "sealant verify");
        let report = ended.json();
        has_its_schema(&report, "keys-1");
        let damaged = report["damaged"].as_array().expect("a list");
        assert_eq!(damaged.len(), 1, "{destroyed:?}: {report:#}");
        assert_eq!(damaged[0]["path"], table.to_str().expect("ASCII"), "{destroyed:?}");
        let checked = keyring_check(&at.server);
        assert_eq!(checked.code, Some(3), "{destroyed:?}: {}", checked.stdout);
        assert!(checked.stdout.contains("demo/enc.ibd"), "{destroyed:?}: {}", checked.stdout);
    }
    fs::write(&table, &whole).expect("written");
}

fn keyring_check(server: &Server) -> Ended {
    let mut command = sealant();
    command.args(["keyring", "check", "--user", "root", "--format", "json", "--socket"]).arg(server.socket());
    end(command)
}

#[test]
fn mariadb_keys_are_listed_with_the_files_that_need_them() {
    for kind in [Kind::MariaDb1011, Kind::MariaDb118] {
        let Some(_) = require(kind) else { continue };
        let options = [
            "--innodb-encrypt-tables=ON",
            "--innodb-encryption-threads=2",
            "--innodb-encrypt-log=ON",
            "--encrypt-binlog=ON",
            "--log-bin=binlog",
            "--aria-encrypt-tables=ON",
        ];
        let server = Server::builder(kind).mariadb_keys(MARIADB_KEYS).options(options).start().expect("MariaDB starts");
        server
            .sql(
                "CREATE DATABASE d; CREATE TABLE d.two (id INT PRIMARY KEY) ENCRYPTED=YES ENCRYPTION_KEY_ID=2;
                 INSERT INTO d.two VALUES (1); FLUSH TABLES d.two FOR EXPORT",
            )
            .expect("made");
        let directory = tempfile::tempdir().expect("a directory");
        let report = sound(&keys(&server, directory.path(), &["--record"]));
        let (one, two, seven) = (key(&report, "1 version 1"), key(&report, "2 version 1"), key(&report, "7 version 1"));
        assert!(files(one, "redo") == 1 && files(one, "binary-log") >= 1, "{one:#}");
        assert_eq!(files(two, "tablespace"), 1, "{two:#}");
        assert_eq!((&seven["held"], seven["used_by"].as_object().map(|uses| uses.len())), (&true.into(), Some(0)));
        assert!(one["first_seen"].is_string(), "{one:#}");
        assert!(!report.to_string().contains("3550199a"), "no key is said");

        // A key file that lacks a key does not open its table.
        let other = directory.path().join("other.txt");
        fs::write(&other, MARIADB_KEYS.lines().next().expect("a line")).expect("written");
        let ended = keys(&server, directory.path(), &["--keyring", other.to_str().expect("ASCII")]);
        assert_eq!(ended.code, Some(3), "{}", ended.stdout);
        assert_eq!(key(&ended.json(), "2 version 1")["held"], false);

        // A missing key file opens nothing, whatever keys the running server has in memory.
        let gone = server.dir().join("gone");
        let mariadb_keys = server.sql("SELECT @@file_key_management_filename").expect("a path");
        let mariadb_keys = Path::new(mariadb_keys.trim());
        fs::rename(mariadb_keys, &gone).expect("moved");
        let ended = keys(&server, directory.path(), &[]);
        ended.refused(3, "is missing", "do not stop the server: it still has its keys in memory");
        assert_eq!(ended.json()["sound"], false);
        assert_eq!(keyring_check(&server).code, Some(3));
        fs::rename(&gone, mariadb_keys).expect("moved back");
        sound(&keys(&server, directory.path(), &[]));

        // A directory of another server is refused.
        let empty = directory.path().join("empty");
        fs::create_dir(&empty).expect("made");
        let ended = keys(&server, directory.path(), &["--datadir", empty.to_str().expect("ASCII")]);
        ended.refused(1, "which this server has, is missing", "--datadir");
    }
}

#[test]
fn servers_without_keys_are_reported() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = Server::builder(Kind::MySql97).start().expect("MySQL starts");
    let directory = tempfile::tempdir().expect("a directory");
    let report = sound(&keys(&server, directory.path(), &[]));
    assert_eq!((&report["back_end"], report["keys"].as_array().map(Vec::len)), (&Value::Null, Some(0)));
    Proof::mysql(&[server.datadir()], None).is_sound();
    keys(&server, directory.path(), &["--backup", "/no/such/directory"]).refused(1, "/no/such/directory", "");
    let empty = tempfile::tempdir().expect("a directory");
    let empty = empty.path().to_str().expect("ASCII");
    keys(&server, directory.path(), &["--backup", empty]).refused(1, "no file of a server here", "");
    keys(&server, directory.path(), &["--forget-backup", "/x"]).refused(2, "--record", "");
}

/// Audits as root, with this directory of registers.
fn audit(server: &Server, state: &Path, more: &[&str]) -> Audit {
    Audit::live_with(server, &[&["--state-dir", state.to_str().expect("ASCII")], more].concat())
}

/// Asserts status and description of the only finding of a check.
#[track_caller]
fn says(audit: &Audit, id: &str, status: &str, description: &[&str]) {
    let found = audit.findings(id);
    assert_eq!((found.len(), found[0]["status"].as_str()), (1, Some(status)), "{found:#?}");
    let message = found[0]["message"].as_str().expect("text");
    assert!(description.iter().all(|word| message.contains(word)), "{description:?} in {message}");
}

const BACKUP: &str = "key-backup-missing";

#[test]
fn the_audit_agrees_with_keys_about_copies_and_dates() {
    let Some(_) = require(Kind::MySql97) else { return };
    let at = Rotating::begin();
    let (state, copy) = (at.path("state"), at.path("k.age"));
    let said = |description: &[&str], status: &str| says(&audit(&at.server, &state, &[]), BACKUP, status, description);
    said(&["there is no register"], "UNKNOWN");

    // A rotation leaves a proven copy and a date, for both verbs.
    let backup = at.path("data-backup");
    fs::create_dir(&backup).expect("made");
    fs::copy(at.server.datadir().join("demo/enc.ibd"), backup.join("enc.ibd")).expect("copied");
    let older = at.newest();
    at.run("k.age", &["--master-key"]).is_done();
    let seen = audit(&at.server, &state, &[]);
    says(&seen, BACKUP, "PASS", &["k.age", "by the register"]);
    says(&seen, "key-master-age", "PASS", &["0 days ago", "by the register"]);
    let newest = |report: &Value| key(report, &format!("-{}", at.newest())).clone();
    let report = sound(&keys(&at.server, &state, &[]));
    assert_eq!(newest(&report)["copy_state"]["state"], "stands", "{report:#}");
    let older_key = |audit: &Audit| {
        let found = audit.findings("key-retired-needed-by-backup");
        let named =
            |found: &&&Value| found["artefact"].as_str().is_some_and(|name| name.ends_with(&format!("-{older}")));
        found.iter().find(named).expect("the older key")["message"].as_str().expect("text").to_owned()
    };
    assert!(older_key(&seen).contains("no backup that was read needs it"));

    // A backup of data that `keys` has seen needs the older key.
    sound(&keys(&at.server, &state, &["--backup", backup.to_str().expect("ASCII"), "--record"]));
    assert!(older_key(&audit(&at.server, &state, &[])).contains("data-backup"));

    // A key created since is in no copy.
    at.server.sql("ALTER INSTANCE ROTATE INNODB MASTER KEY").expect("rotated");
    said(&["knows of no copy with", &format!("-{}", at.newest())], "UNKNOWN");
    assert_eq!(newest(&keys(&at.server, &state, &[]).json())["copy"], Value::Null);
    fs::remove_file(&copy).expect("removed");
    at.run("k.age", &["--master-key"]).is_done();
    said(&["k.age", "by the register"], "PASS");

    // A copy that was changed or removed.
    let bytes = fs::read(&copy).expect("read");
    fs::write(&copy, &bytes[..bytes.len() - 1]).expect("cut");
    said(&["k.age has other bytes than were proven"], "UNKNOWN");
    assert_eq!(newest(&keys(&at.server, &state, &[]).json())["copy_state"]["state"], "changed");
    fs::remove_file(&copy).expect("removed");
    said(&["k.age is gone"], "UNKNOWN");
    assert_eq!(newest(&keys(&at.server, &state, &[]).json())["copy_state"]["state"], "gone");
    fs::write(&copy, &bytes).expect("written");
    said(&["k.age", "by the register"], "PASS");

    let names = register(&state);
    // A register of an earlier version, of another server, a damaged one, or another file in its place.
    let text = fs::read_to_string(&names).expect("a register");
    has_its_schema(&serde_json::from_str(&text).expect("JSON"), "key-register-1");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    document.as_object_mut().expect("an object").remove("copies");
    fs::write(&names, document.to_string()).expect("written");
    said(&["did not record its hash"], "UNKNOWN");
    fs::write(&names, text.replace("\"server_uuid\": \"", "\"server_uuid\": \"00")).expect("written");
    let foreign = audit(&at.server, &state, &[]);
    says(&foreign, BACKUP, "UNKNOWN", &["is of the server 00"]);
    says(&foreign, "key-master-age", "UNKNOWN", &["is of the server 00"]);
    fs::write(&names, "{").expect("written");
    said(&["the register of keys", "EOF"], "UNKNOWN");
    fs::remove_file(&names).expect("removed");
    fs::create_dir(&names).expect("made");
    said(&["a directory, not a file"], "UNKNOWN");
    fs::remove_dir(&names).expect("removed");
    fs::write(&names, &text).expect("written");
    said(&["by the register"], "PASS");
    // From another host the copies cannot be compared with the keys.
    says(&audit(&at.server, &state, &["--no-files"]), BACKUP, "UNKNOWN", &["its files were not read"]);
}

/// Path of the register.
fn register(state: &Path) -> PathBuf {
    let mut paths = fs::read_dir(state).expect("a directory").map(|entry| entry.expect("an entry").path());
    paths.find(|path| path.extension().is_some_and(|is| is == "json")).expect("a register")
}

#[test]
fn the_audit_and_keys_notice_that_mariadbs_key_was_exchanged() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let options = ["--innodb-encrypt-tables=ON", "--innodb-encryption-threads=2"];
    let server =
        Server::builder(Kind::MariaDb1011).mariadb_keys(MARIADB_KEYS).options(options).start().expect("MariaDB starts");
    server
        .sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY) ENCRYPTED=YES; INSERT INTO d.t VALUES (1)")
        .expect("made");
    let at = Rotating::on(server);
    let state = at.path("state");
    at.run("k.age", &["--mariadb-key-id", "2"]).is_done();
    says(&audit(&at.server, &state, &[]), BACKUP, "PASS", &["k.age", "by the register"]);
    let file = at.server.sql("SELECT @@file_key_management_filename").expect("a path");
    fs::write(file.trim(), MARIADB_KEYS.replace("7;55", "7;56")).expect("written");
    says(&audit(&at.server, &state, &[]), BACKUP, "UNKNOWN", &["no copy with 7 version 1 as it is now"]);
    let report = keys(&at.server, &state, &[]).json();
    has_its_schema(&report, "keys-1");
    assert_eq!(key(&report, "7 version 1")["copy_state"]["state"], "other-key", "{report:#}");
    assert_eq!(key(&report, "2 version 1")["copy_state"]["state"], "stands", "{report:#}");
}
