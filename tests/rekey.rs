//! `sealant receive --rekey`: donor and joiner share no master key.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use harness::{Kind, Server, limit, require, wait_until};

use crate::keys_in_vault::Site;
use crate::support::moving::{Receiving, send, tree};
use crate::support::proof::Proof;
use crate::support::rotation::encrypting;
use crate::support::run;

fn text(path: &Path) -> &str {
    path.to_str().expect("the harness uses ASCII paths")
}

const TABLES: &str = "CREATE DATABASE demo; USE demo;
    CREATE TABLE enc (id INT PRIMARY KEY, name VARCHAR(600));
    INSERT INTO enc WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < 900)
    SELECT n, REPEAT(CONCAT('row ', n, ' '), 40) FROM s;
    CREATE TABLE zip (id INT PRIMARY KEY, name VARCHAR(600)) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4;
    INSERT INTO zip SELECT * FROM enc;
    CREATE TABLESPACE general ADD DATAFILE 'general.ibd' ENCRYPTION='Y';
    CREATE TABLE inside (id INT PRIMARY KEY) TABLESPACE general; INSERT INTO inside SELECT id FROM enc;
    ALTER TABLESPACE mysql ENCRYPTION='Y';
    FLUSH LOGS; DELETE FROM enc WHERE id > 800";

/// A stopped donor, and its keyring.
fn donor() -> (Server, PathBuf) {
    let mut donor = encrypting().start().expect("MySQL starts");
    donor.sql(TABLES).expect("tables are made");
    donor.stop().expect("it stops");
    let keyring = donor.dir().join("keyring");
    (donor, keyring)
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory")
}

/// Exit code and stderr of a run.
fn ends(args: &[&str]) -> (Option<i32>, String) {
    let output = run(args);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Sends to a receiver with `--rekey`; returns the results of both sides.
fn transfer(source: &Path, into: &Path, target_keyring: &Path, more: &[&str]) -> (Output, i32, String) {
    let receiving = Receiving::begin(into, &["--rekey", text(target_keyring)]);
    let sent = send(source, &receiving.code, more);
    let (code, stderr) = receiving.end();
    (sent, code, stderr)
}

/// Asserts that both sides gave up, the sender for this reason, and that nothing was committed.
#[track_caller]
fn refuses(source: &Path, more: &[&str], reason: &str) {
    let target = directory();
    let (into, target_keyring) = (target.path().join("into"), target.path().join("keyring"));
    let (sent, code, stderr) = transfer(source, &into, &target_keyring, more);
    let said = String::from_utf8_lossy(&sent.stderr);
    assert_eq!((sent.status.code(), code), (Some(1), 1), "{said}\n{stderr}");
    assert!(said.contains(reason) && stderr.contains(reason), "{said}\n{stderr}");
    assert!(!target_keyring.exists(), "no key was made");
    assert!(tree(&into).keys().all(|path| path.starts_with(".sealant-staging")));
}

#[test]
fn a_server_starts_on_the_copy_with_only_its_own_keyring() {
    let Some(_) = require(Kind::MySql97) else { return };
    let (donor, donors_keyring) = donor();
    let target = directory();
    let (into, target_keyring) = (target.path().join("into"), target.path().join("keyring"));
    let keys = ["--keyring", text(&donors_keyring), "--compress", "zstd:1"];
    let (sent, code, stderr) = transfer(donor.datadir(), &into, &target_keyring, &keys);
    assert_eq!((sent.status.code(), code), (Some(0), 0), "{}\n{stderr}", String::from_utf8_lossy(&sent.stderr));
    assert!(stderr.contains("wrapped by INNODBKey-") && stderr.contains("MySQLReplicationKey_"), "{stderr}");

    assert!(stderr.contains("-1 and MySQLReplicationKey_"), "{stderr}");

    // The joiner's keyring opens everything, the donor's keyring nothing that is encrypted.
    Proof::mysql(&[&into], Some(&target_keyring)).is_complete();
    let with_the_donors = Proof::mysql(&[&into], Some(&donors_keyring));
    for file in ["demo/enc.ibd", "demo/zip.ibd", "general.ibd", "mysql.ibd", "undo_001", "binlog.000001"] {
        assert_eq!(with_the_donors.verdict(file), "missing-key", "{file}");
    }
    let donors_keys = fs::read_to_string(&donors_keyring).expect("a keyring");
    let target_keys = fs::read_to_string(&target_keyring).expect("a keyring");
    let hexadecimal = |text: &str| -> Vec<String> {
        text.split('"').filter(|part| part.len() == 64).map(str::to_ascii_uppercase).collect()
    };
    let (theirs, ours) = (hexadecimal(&donors_keys), hexadecimal(&target_keys));
    assert!(theirs.len() >= 2 && ours.len() == 2);
    assert!(ours.iter().all(|key| !theirs.contains(key)), "a key is in both keyrings");

    // The manifest matches the written files.
    let manifest = into.join("sealant-manifest");
    assert_eq!(ends(&["verify", "--manifest", text(&manifest), text(&into)]).0, Some(0));
    // Only the beginnings of files differ.
    let (before, after) = (tree(donor.datadir()), tree(&into));
    // Another test covers which keyring is used.
    for (path, item) in before.iter().filter(|(path, _)| !path.ends_with("component_keyring_file.cnf")) {
        let (one, other) = (item.bytes(), after[path].bytes());
        assert_eq!(one.len(), other.len(), "{}", path.display());
        assert_eq!(one.get(65536..), other.get(65536..), "{}", path.display());
    }

    // A real server, with nothing but the joiner's keyring.
    let target_keys = fs::read(&target_keyring).expect("a keyring");
    let mut joiner = encrypting().datadir_seed(&into).file("keyring", target_keys).start().expect("it starts");
    let rows = "SELECT CONCAT_WS(' ', (SELECT COUNT(*) FROM demo.enc), (SELECT COUNT(*) FROM demo.zip),
        (SELECT COUNT(*) FROM demo.inside), (SELECT name FROM demo.enc WHERE id = 7) = REPEAT('row 7 ', 40))";
    assert_eq!(joiner.value(rows).expect("rows"), "800 900 900 1");
    let events = joiner.sql("SHOW BINLOG EVENTS IN 'binlog.000001' LIMIT 20").expect("an old log opens");
    assert!(events.contains("demo"), "{events}");
    joiner.sql("ALTER INSTANCE ROTATE INNODB MASTER KEY; ALTER INSTANCE ROTATE BINLOG MASTER KEY").expect("rotated");
    joiner.sql("CREATE TABLE demo.more (id INT PRIMARY KEY); INSERT INTO demo.more VALUES (1)").expect("made");
    joiner.kill();
    joiner.start().expect("it recovers");
    assert_eq!(joiner.value(rows).expect("rows"), "800 900 900 1");
    assert_eq!(joiner.value("SELECT COUNT(*) FROM demo.more").expect("rows"), "1");
}

#[test]
fn the_joiners_keys_can_be_in_a_vault() {
    let (Some(site), Some(_)) = (Site::start(), require(Kind::MySql97)) else { return };
    let (donor, donors_keyring) = donor();
    site.vault(&["secrets", "enable", "-path=two", "-version=2", "kv"]);
    let reads = "path \"two/metadata/joiner/*\" { capabilities = [\"list\"] }
        path \"two/data/joiner/*\" { capabilities = [\"read\"] }";
    let reader = site.vault.token("reader", reads, &[]).expect("a token");
    let writer =
        site.vault.token("writer", &reads.replace("[\"read\"]", "[\"create\", \"read\"]"), &[]).expect("a token");
    let config = |name: &str, token: &str| site.component(name, &site.vault.address(), "two/joiner", token);
    let (reader, writer) = (config("reader.cnf", &reader), config("writer.cnf", &writer));
    let target = directory();
    let into = target.path().join("into");
    let keys = ["--keyring", text(&donors_keyring)];
    // The receiver finds it out before it listens.
    let (code, stderr) = ends(&["receive", "--into", text(&into), "--listen", "127.0.0.1:0", "--rekey", text(&reader)]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("does not let this token write") && stderr.contains("`create`"), "{stderr}");
    assert!(!into.exists(), "nothing was received");
    // A token without the default policy may not ask what it may do, and finds it out when it writes.
    let silent = site.vault.token("silent", reads, &["-no-default-policy"]).expect("a token");
    let (sent, code, stderr) = transfer(donor.datadir(), &into, &config("silent.cnf", &silent), &keys);
    assert_eq!((sent.status.code(), code), (Some(1), 1), "{stderr}");
    assert!(stderr.contains("does not let this token write"), "{stderr}");
    let (sent, code, stderr) = transfer(donor.datadir(), &into, &writer, &keys);
    assert_eq!((sent.status.code(), code), (Some(0), 0), "{}\n{stderr}", String::from_utf8_lossy(&sent.stderr));
    assert!(stderr.contains("start the server with the keyring that reads the Vault"), "{stderr}");
    Proof::mysql(&[&into], Some(&reader)).is_complete();
    assert_eq!(Proof::mysql(&[&into], Some(&donors_keyring)).verdict("demo/enc.ibd"), "missing-key");
    // Nothing in the directory leads to the donor's keyring.
    assert!(!into.join("component_keyring_file.cnf").exists());
    let manifest = into.join("sealant-manifest");
    assert_eq!(ends(&["verify", "--manifest", text(&manifest), text(&into)]).0, Some(0));

    // No server at hand reads a Vault, so the keys go into a file.
    let keyring = target.path().join("keyring");
    let moved = ["keyring", "migrate", "--yes", "--datadir", text(&into), text(&reader), text(&keyring)];
    assert_eq!(ends(&moved).0, Some(0));
    let keys = fs::read(&keyring).expect("a keyring");
    let joiner = encrypting().datadir_seed(&into).file("keyring", keys).start().expect("it starts");
    assert_eq!(joiner.value("SELECT COUNT(*) FROM demo.enc").expect("rows"), "800");
}

#[test]
fn configuration_of_the_donors_keyring_is_rewritten_for_the_joiners() {
    let Some(_) = require(Kind::MySql97) else { return };
    let (mut donor, donors_keyring) = donor();
    let datadir = donor.datadir().to_owned();
    let at = |name: &str| datadir.join(name);
    let named = fs::read_to_string(at("component_keyring_file.cnf")).expect("the harness configures it here");
    assert!(named.contains(text(&donors_keyring)), "{named}");
    fs::write(at("component_keyring_kmip.cnf"), r#"{"server_addr":"the-donors:5696"}"#).expect("written");
    // As `SET PERSIST keyring_file_data` of the plug-in leaves it.
    donor.start().expect("it starts");
    donor.sql("SET PERSIST max_connections = 99").expect("kept");
    donor.stop().expect("it stops");
    let kept = fs::read_to_string(at("mysqld-auto.cnf")).expect("there");
    let kept = kept.replace(
        "\"max_connections\"",
        &format!("\"keyring_file_data\": {{\"Value\": \"{}\"}}, \"max_connections\"", text(&donors_keyring)),
    );
    assert!(kept.contains("keyring_file_data"), "{kept}");
    fs::write(at("mysqld-auto.cnf"), kept).expect("written");
    let target = directory();
    let (into, target_keyring) = (target.path().join("into"), target.path().join("keyring"));
    let (sent, code, stderr) = transfer(donor.datadir(), &into, &target_keyring, &["--keyring", text(&donors_keyring)]);
    assert_eq!((sent.status.code(), code), (Some(0), 0), "{}\n{stderr}", String::from_utf8_lossy(&sent.stderr));
    let start = format!("component_keyring_file.cnf in the data directory names {} now", text(&target_keyring));
    assert!(stderr.contains(&start), "{stderr}");
    assert!(!into.join("component_keyring_kmip.cnf").exists());
    let kept = fs::read_to_string(into.join("mysqld-auto.cnf")).expect("there");
    assert!(kept.contains("max_connections") && !kept.contains("keyring"), "{kept}");
    assert_eq!(fs::read(into.join("mysqld.my")).expect("there"), fs::read(at("mysqld.my")).expect("there"));
    let manifest = into.join("sealant-manifest");
    assert_eq!(ends(&["verify", "--manifest", text(&manifest), text(&into)]).0, Some(0));
    // The server finds the keyring from the received files alone; the donor's files are moved away.
    let away = donors_keyring.with_extension("away");
    fs::rename(&donors_keyring, &away).expect("ours");
    let joiner = Server::builder(Kind::MySql97).datadir_seed(&into).start().expect("it starts");
    let rows = "SELECT CONCAT_WS(' ', (SELECT COUNT(*) FROM demo.enc), (SELECT COUNT(*) FROM demo.zip))";
    assert_eq!(joiner.value(rows).expect("rows"), "800 900");
    let read = joiner
        .value("SELECT STATUS_VALUE FROM performance_schema.keyring_component_status WHERE STATUS_KEY = 'Data_file'");
    assert_eq!(read.expect("a component"), text(&target_keyring));
    assert_eq!(joiner.value("SELECT @@max_connections").expect("kept"), "99");
    // Without a configuration among the files, the message says what the server needs.
    fs::rename(&away, &donors_keyring).expect("ours");
    for name in ["component_keyring_file.cnf", "component_keyring_kmip.cnf"] {
        fs::remove_file(at(name)).expect("ours");
    }
    fs::write(at("mysqld.my"), r#"{"components":"file://component_keyring_kmip"}"#).expect("written");
    let into = target.path().join("other");
    let (_, code, stderr) = transfer(donor.datadir(), &into, &target_keyring, &["--keyring", text(&donors_keyring)]);
    let start = format!("start the server with component_keyring_file, and \"path\": \"{}\"", text(&target_keyring));
    assert!(code == 0 && stderr.contains(&start), "{stderr}");
    let components = fs::read_to_string(into.join("mysqld.my")).expect("there");
    assert_eq!(components, "{\"components\":\"file://component_keyring_file\"}\n");
}

#[test]
fn the_keyring_of_a_5_7_directory_is_one_that_5_7_loads() {
    let sample = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name);
    let (source, target) = (directory(), directory());
    let table = fs::read(sample("tablespace/synthetic-lCB.ibd.zst")).expect("a sample");
    fs::create_dir(source.path().join("demo")).expect("made");
    fs::write(source.path().join("demo/t.ibd"), zstd::decode_all(table.as_slice()).expect("zstd")).expect("written");
    fs::write(source.path().join("demo/t.frm"), [0xfe, 1, 9]).expect("written");
    let (target_keyring, keys) = (target.path().join("keyring"), sample("keyring/synthetic-plugin-file-v1.0"));
    for into in ["one", "other"].map(|name| target.path().join(name)) {
        let (sent, code, stderr) = transfer(source.path(), &into, &target_keyring, &["--keyring", text(&keys)]);
        assert_eq!((sent.status.code(), code), (Some(0), 0), "{}\n{stderr}", String::from_utf8_lossy(&sent.stderr));
        let start = format!("early-plugin-load=keyring_file.so and keyring_file_data={}", text(&target_keyring));
        assert!(stderr.contains(&start), "{stderr}");
        assert!(fs::read(&target_keyring).expect("a keyring").starts_with(b"Keyring file version:1.0"));
        Proof::mysql(&[&into], Some(&target_keyring)).is_complete();
        assert_eq!(Proof::mysql(&[&into], Some(&keys)).verdict("demo/t.ibd"), "missing-key");
    }
    // A keyring that 5.7 cannot load is not written.
    let (into, target_keyring) = (target.path().join("third"), target.path().join("component"));
    let component = br#"{"version":"1.0","elements":[]}"#;
    fs::write(&target_keyring, component).expect("written");
    let (sent, code, stderr) = transfer(source.path(), &into, &target_keyring, &["--keyring", text(&keys)]);
    assert_eq!((sent.status.code(), code), (Some(1), 1), "{stderr}");
    assert!(stderr.contains("which MySQL 5.7 does not load"), "{stderr}");
    assert!(fs::read(&target_keyring).expect("there") == component && !into.join("demo").exists());
}

#[test]
fn keys_that_cannot_be_sent_end_the_transfer_before_any_data() {
    let Some(_) = require(Kind::MySql97) else { return };
    let (donor, keyring) = donor();
    refuses(donor.datadir(), &[], "no keyring of this side was given");
    let other = directory();
    let empty = other.path().join("empty");
    fs::write(&empty, r#"{"version":"1.0","elements":[]}"#).expect("written");
    refuses(donor.datadir(), &["--keyring", text(&empty)], "the keyring has no such key (INNODBKey-");

    // The donor's own keyring is not sent.
    let inside = donor.datadir().join("keyring-of-the-donor");
    fs::copy(&keyring, &inside).expect("copied");
    refuses(donor.datadir(), &["--keyring", text(&keyring)], "leave it out with --exclude");
    let target = directory();
    let (into, target_keyring) = (target.path().join("into"), target.path().join("keyring"));
    let keys = ["--keyring", text(&keyring), "--exclude", "keyring-of-the-donor"];
    let (_, code, stderr) = transfer(donor.datadir(), &into, &target_keyring, &keys);
    assert_eq!(code, 0, "{stderr}");
    Proof::mysql(&[&into], Some(&target_keyring)).is_complete();
}

#[test]
fn recovery_that_would_restore_the_donors_keys_is_reported() {
    let Some(_) = require(Kind::MySql97) else { return };
    let mut donor = encrypting().option("--innodb-redo-log-capacity=64M").start().expect("MySQL starts");
    donor.sql(TABLES).expect("tables are made");
    // No checkpoint comes between the table and the kill.
    let lazy = "SET GLOBAL innodb_idle_flush_pct = 0; SET GLOBAL innodb_adaptive_flushing = OFF; \
        SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0; SET GLOBAL innodb_max_dirty_pages_pct = 99";
    donor.sql(lazy).expect("set");
    donor.sql("CREATE TABLE demo.fresh (id INT PRIMARY KEY); INSERT INTO demo.fresh VALUES (1)").expect("made");
    donor.kill();
    let keyring = donor.dir().join("keyring");
    refuses(donor.datadir(), &["--keyring", text(&keyring)], "recovery would restore keys");
}

fn journal_bytes(into: &Path) -> u64 {
    fs::metadata(into.join(".sealant-staging/journal")).map_or(0, |journal| journal.len())
}

/// Waits until more chunks are recorded than `before`, or than were left of them when the journal is rewritten.
#[track_caller]
fn wait_for_chunks(into: &Path, mut before: u64) {
    wait_until("chunks come", limit(60), || {
        let now = journal_bytes(into);
        now > std::mem::replace(&mut before, now)
    });
}

#[test]
fn an_interrupted_transfer_resumes_with_new_keys_in_every_file() {
    let Some(_) = require(Kind::MySql97) else { return };
    let (donor, keyring) = donor();
    let target = directory();
    let (into, target_keyring) = (target.path().join("into"), target.path().join("keyring"));
    // Interrupted attempts: first without new keys, then with them.
    for rekey in [vec![], vec!["--rekey", text(&target_keyring)]] {
        let receiving = Receiving::begin(&into, &rekey);
        let before = journal_bytes(&into);
        let mut sender = crate::support::sealant();
        sender.arg("send").arg(donor.datadir()).arg(&receiving.code);
        sender.args(["--bwlimit", "8MiB", "--compress", "none", "--keyring", text(&keyring)]);
        let mut sender = sender.stderr(Stdio::null()).spawn().expect("it starts");
        wait_for_chunks(&into, before);
        // Chooses the moment of the kill: after some new chunks, before the last one.
        sleep(Duration::from_millis(1500));
        sender.kill().expect("it runs");
        sender.wait().expect("it ends");
        assert_eq!(receiving.end().0, 1);
    }
    let report = target.path().join("report.json");
    let more = ["--keyring", text(&keyring), "--report", text(&report)];
    let (sent, code, stderr) = transfer(donor.datadir(), &into, &target_keyring, &more);
    assert_eq!((sent.status.code(), code), (Some(0), 0), "{stderr}");
    let left = "also has INNODBKey-";
    assert!(stderr.contains(left) && stderr.contains("which an interrupted attempt has added"), "{stderr}");
    let report: serde_json::Value = serde_json::from_slice(&fs::read(report).expect("a report")).expect("JSON");
    assert!(report["kept_bytes"].as_u64().expect("a number") > 5 << 20, "{report}");
    assert!(report["rekeyed_files"].as_u64().expect("a number") >= 8, "{report}");
    Proof::mysql(&[&into], Some(&target_keyring)).is_complete();
    assert_eq!(ends(&["verify", "--manifest", text(&into.join("sealant-manifest")), text(&into)]).0, Some(0));
}

#[test]
fn the_donors_keys_are_not_taken_for_the_joiners_own() {
    let Some(_) = require(Kind::MySql97) else { return };
    let (donor, donors_keyring) = donor();
    let target = directory();
    let (into, target_keyring) = (target.path().join("into"), target.path().join("keyring"));
    fs::copy(&donors_keyring, &target_keyring).expect("copied");
    let (_, code, stderr) = transfer(donor.datadir(), &into, &target_keyring, &["--keyring", text(&donors_keyring)]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(Proof::mysql(&[&into], Some(&donors_keyring)).verdict("demo/enc.ibd"), "missing-key");
    // The next rotation does not reuse a key that the donor has.
    let keys = fs::read(&target_keyring).expect("a keyring");
    let mut joiner = encrypting().datadir_seed(&into).file("keyring", keys).start().expect("it starts");
    joiner.sql("ALTER INSTANCE ROTATE INNODB MASTER KEY").expect("rotated");
    joiner.stop().expect("it stops");
    assert_eq!(Proof::mysql(&[joiner.datadir()], Some(&donors_keyring)).verdict("demo/enc.ibd"), "missing-key");
    Proof::mysql(&[joiner.datadir()], Some(&joiner.dir().join("keyring"))).is_complete();
}

#[test]
fn an_interrupted_commit_is_finished_only_with_the_same_keyring() {
    let (source, target) = (directory(), directory());
    fs::write(source.path().join("t.ibd"), b"data").expect("written");
    let (into, target_keyring) = (target.path().join("into"), target.path().join("keyring"));
    let (_, code, stderr) = transfer(source.path(), &into, &target_keyring, &[]);
    assert_eq!(code, 0, "{stderr}");
    // The state after a kill before the last moves.
    let staging = into.join(".sealant-staging");
    let cut_off = |mark: &str| {
        fs::create_dir_all(staging.join("files")).expect("made");
        for (from, to) in [("t.ibd", "files/t.ibd"), ("sealant-manifest", "sealant-manifest")] {
            fs::rename(into.join(from), staging.join(to)).expect("moved");
        }
        fs::write(staging.join("commit"), mark).expect("written");
    };
    let finish =
        || ends(&["receive", "--into", text(&into), "--listen", "127.0.0.1:0", "--rekey", text(&target_keyring)]);
    cut_off("");
    let (code, stderr) = finish();
    assert!(code == Some(1) && stderr.contains("not wrapped by this keyring"), "{stderr}");
    fs::write(staging.join("commit"), "rekeyed\nINNODBKey-x-1\n").expect("written");
    let (code, stderr) = finish();
    assert!(code == Some(1) && stderr.contains("not wrapped by this keyring"), "{stderr}");
    fs::write(staging.join("commit"), "rekeyed\n\n").expect("written");
    assert_eq!(finish().0, Some(0));
    assert_eq!(fs::read(into.join("t.ibd")).expect("it is there"), b"data");
}

#[test]
fn a_source_without_wrapped_keys_is_reported() {
    const KEYS: &str = "1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n";
    if require(Kind::MariaDb1011).is_some() {
        let mut server = Server::builder(Kind::MariaDb1011).mariadb_keys(KEYS).start().expect("MariaDB starts");
        server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY) ENCRYPTED=YES").expect("made");
        server.stop().expect("it stops");
        let keys = server.dir().join("keys.txt");
        refuses(server.datadir(), &["--mariadb-key-file", text(&keys)], "no key to re-wrap");
    }
    // Without anything encrypted nothing happens, and no key is created.
    let (source, target) = (directory(), directory());
    fs::write(source.path().join("ibdata1"), b"clear").expect("written");
    let (into, target_keyring) = (target.path().join("into"), target.path().join("keyring"));
    let (_, code, stderr) = transfer(source.path(), &into, &target_keyring, &[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("nothing was re-wrapped"), "{stderr}");
    assert!(!target_keyring.exists());
}

#[test]
fn an_unusable_keyring_is_reported_before_anyone_sends() {
    let target = directory();
    let target_keyring = target.path().join("keyring");
    let inside =
        ends(&["receive", "--into", text(target.path()), "--listen", "127.0.0.1:0", "--rekey", text(&target_keyring)]);
    assert!(inside.0 == Some(1) && inside.1.contains("is inside the target directory"), "{}", inside.1);
    for (content, reason) in [
        (&br#"{"version":"1.0","elements":[{"user":""#[..], "its end is missing"),
        (b"1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n", "a key file of MariaDB"),
    ] {
        fs::write(&target_keyring, content).expect("written");
        let into = text(target.path()).to_owned() + "/into";
        let (code, stderr) =
            ends(&["receive", "--into", &into, "--listen", "127.0.0.1:0", "--rekey", text(&target_keyring)]);
        assert_eq!(code, Some(1), "{stderr}");
        assert!(stderr.contains(reason), "{stderr}");
        assert!(!Path::new(&into).exists());
    }
}
