//! MySQL 5.7 and 8.0: every verb on a running server, as far as the server supports it.

use std::fs;
use std::path::{Path, PathBuf};

use harness::certs::{Authority, Profile};
use harness::{KeyringLocation, Kind, Server, ServerBuilder, require};
use serde_json::Value;

use crate::support::encryption::{Ended, MYSQL_TABLES, SUMS, files_with_marker, holds_marker};
use crate::support::moving::{Receiving, send};
use crate::support::proof::{Proof, flip};
use crate::support::rotation::Rotating;
use crate::support::{Audit, run};

/// Tables of all kinds for 5.7, which has no common table expressions and does not accept a string for a generated
/// column in `CREATE TABLE`.
const TABLES_57: &str = "CREATE DATABASE shop; USE shop;
    CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200), KEY(v));
    INSERT INTO t (v) SELECT CONCAT('CLEARTEXT-MARKER ', a.ID, REPEAT('x', 100)) FROM information_schema.COLLATIONS a,
        (SELECT 1 FROM information_schema.COLLATIONS LIMIT 20) b;
    CREATE TABLE zip (id INT PRIMARY KEY, v VARCHAR(200)) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4;
    INSERT INTO zip SELECT id, v FROM t WHERE id < 900;
    CREATE TABLE parts (id INT, v VARCHAR(200)) PARTITION BY RANGE(id) SUBPARTITION BY HASH(id) SUBPARTITIONS 2
    (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE);
    INSERT INTO parts VALUES (1, 'CLEARTEXT-MARKER one'), (11, 'CLEARTEXT-MARKER eleven');
    CREATE TABLE old (id INT, v VARCHAR(99)) TABLESPACE innodb_system;
    CREATE DATABASE `a-b/c`; CREATE TABLE `a-b/c`.`it's \"odd\"` (id INT, v VARCHAR(99));
    INSERT INTO `a-b/c`.`it's \"odd\"` VALUES (1, 'CLEARTEXT-MARKER odd');
    CREATE TABLE `a-b/c`.`ünï` (id INT, v VARCHAR(99)); FLUSH LOGS";
const SUMS_57: &str = "CHECKSUM TABLE shop.t, shop.zip, shop.parts, shop.old, `a-b/c`.`it's \"odd\"`, `a-b/c`.`ünï`";

fn server_57() -> ServerBuilder {
    Server::builder(Kind::MySql57).keyring(KeyringLocation::Beside).option("--log-bin=binlog")
}

fn server_80() -> ServerBuilder {
    Server::builder(Kind::MySql80).keyring(KeyringLocation::Beside).option("--log-bin=binlog")
}

fn start(builder: ServerBuilder, tables: &str) -> Server {
    let server = builder.start().expect("it starts");
    server.sql(&format!("SET NAMES utf8; {tables}")).expect("tables are made");
    server
}

/// Runs `sealant VERB… --socket … --format json`; returns report and exit code.
fn asked(server: &Server, verb: &[&str]) -> (Value, i32) {
    let socket = server.socket().to_str().expect("ASCII");
    let output = run([verb, &["--socket", socket, "--user", "root", "--format", "json"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("no JSON: {e}\n{stderr}"));
    (json, output.status.code().unwrap_or(-1))
}

/// Files with rows in plaintext, except those that this server cannot encrypt.
fn leaks_57(datadir: &Path) -> Vec<PathBuf> {
    let never = |path: &PathBuf| {
        let text = path.to_string_lossy();
        ["ibdata1", "ib_logfile", "binlog.", "ib_buffer_pool"].iter().any(|name| text.contains(name))
    };
    files_with_marker(datadir).into_iter().filter(|path| !never(path)).collect()
}

#[test]
fn the_tables_of_a_5_7_are_encrypted_and_the_rest_is_listed() {
    let Some(_) = require(Kind::MySql57) else { return };
    let mut server = start(server_57(), TABLES_57);
    server.restart_with(&[]).expect("it writes its pages");
    let before = server.sql(&format!("SET NAMES utf8; {SUMS_57}")).expect("sums");
    assert!(!leaks_57(server.datadir()).is_empty());

    let planned = Ended::run(&server, "plan", &[]);
    assert_eq!(planned.code, 0, "{}", planned.stderr);
    for table in ["shop.t", "shop.zip", "shop.parts", "shop.old", "a-b/c.it's \"odd\"", "a-b/c.ünï"] {
        assert!(planned.steps().contains(&format!("table {table}").as_str()), "{table}: {:?}", planned.steps());
    }
    for artefact in ["ib_logfile0", "undo in ibdata1", "binlog.000001"] {
        assert!(planned.artefacts(false).contains(&artefact), "{artefact}: {:?}", planned.artefacts(false));
    }

    let option_file = server.option_file();
    let ended = Ended::run(&server, "run", &["--option-file", option_file.to_str().expect("ASCII")]);
    ended.is_done();
    assert_eq!(server.sql(&format!("SET NAMES utf8; {SUMS_57}")).expect("sums"), before);
    assert_eq!(leaks_57(server.datadir()), Vec::<PathBuf>::new());
    let options = fs::read_to_string(option_file).expect("read");
    assert!(options.contains("innodb_change_buffering = none"), "{options}");
    assert_eq!(server.value("SELECT @@innodb_max_dirty_pages_pct").expect("a value"), "75.000000");

    let again = Ended::run(&server, "run", &[]);
    again.is_done();
    assert_eq!(again.steps(), ["keyring"], "{}", again.report);
}

#[test]
fn a_full_text_index_of_5_7_is_reported_to_stay_clear() {
    let Some(_) = require(Kind::MySql57) else { return };
    let tables = "CREATE DATABASE d; CREATE TABLE d.words (id INT PRIMARY KEY, b TEXT, FULLTEXT(b))";
    let server = start(server_57(), tables);
    let ended = Ended::run(&server, "run", &["--option-file", server.option_file().to_str().expect("ASCII")]);
    ended.is_done();
    let index = |artefact: &&str| artefact.starts_with("d/FTS_");
    assert!(ended.artefacts(false).iter().any(index), "{}", ended.report["leftovers"]);
    let text = ended.report["leftovers"].to_string();
    assert!(text.contains("encrypts no full-text index"), "{text}");
}

#[test]
fn without_its_option_file_a_5_7_is_not_reported_as_done() {
    let Some(_) = require(Kind::MySql57) else { return };
    let server = start(server_57(), "CREATE DATABASE d; CREATE TABLE d.t (id INT)");
    let ended = Ended::run(&server, "run", &[]);
    assert_eq!(ended.artefacts(true), ["innodb_change_buffering"], "{}", ended.report["leftovers"]);
    assert_ne!(ended.code, 0);
}

#[test]
fn keys_of_a_5_7_are_listed_and_rotated() {
    let Some(_) = require(Kind::MySql57) else { return };
    let tables = "CREATE DATABASE d; CREATE TABLE d.t (id INT) ENCRYPTION='Y'; INSERT INTO d.t VALUES (1), (2);
        CREATE TABLE d.u (id INT) ENCRYPTION='Y'";
    let at = Rotating::on(start(server_57(), tables));
    let (keys, code) = asked(&at.server, &["keys"]);
    assert_eq!(
        (code, keys["sound"].as_bool(), keys["keys"].as_array().map(Vec::len)),
        (0, Some(true), Some(1)),
        "{keys:#}"
    );
    let (check, code) = asked(&at.server, &["keyring", "check"]);
    assert_eq!(code, 0, "{check:#}");

    let report = at.run("one.age", &["--master-key"]).is_done();
    let after = &report["proofs"]["after"];
    assert!(after["new_key"].as_str().expect("a name").ends_with("-2"), "{report:#}");
    assert_eq!(after["tablespaces_on_new_key"], 2, "{report:#}");
    let report = at.run("two.age", &["--data-keys"]).is_done();
    assert_eq!(report["proofs"]["after"]["data_keys"]["new"], 2, "{report:#}");
    at.run("three.age", &["--binlog-key"]).refused(1, "cannot encrypt binary logs", "");
    assert_eq!(at.server.value("SELECT COUNT(*) FROM d.t").expect("a count"), "2");
    Proof::mysql(&[at.server.datadir()], Some(&at.keyring())).is_sound();
}

#[test]
fn the_keyring_check_names_a_table_whose_own_key_is_damaged() {
    for (kind, builder) in [(Kind::MySql57, server_57()), (Kind::MySql80, server_80())] {
        if require(kind).is_none() {
            continue;
        }
        let tables = "CREATE DATABASE d; CREATE TABLE d.t (id INT) ENCRYPTION='Y'; CREATE TABLE d.c (id INT);
            FLUSH TABLES d.t, d.c FOR EXPORT; UNLOCK TABLES";
        let server = start(builder, tables);
        let place = tempfile::tempdir().expect("a directory");
        fs::create_dir(place.path().join("d")).expect("made");
        for file in ["auto.cnf", "d/t.ibd", "d/c.ibd"] {
            fs::copy(server.datadir().join(file), place.path().join(file)).expect("copied");
        }
        let check = || asked(&server, &["keyring", "check", "--datadir", place.path().to_str().expect("ASCII")]);
        let opens = |check: &Value| {
            let items = check["items"].as_array().expect("items").iter();
            let detail = |item: &Value| format!("{} {}", item["state"], item["detail"]);
            items.clone().find(|item| item["check"] == "opens").map(detail).unwrap_or_default()
        };
        let (sound, _) = check();
        assert!(opens(&sound).starts_with("\"ok\""), "{kind:?}: {sound:#}");
        // A clear table with a damaged page 0 needs no key.
        flip(&place.path().join("d/c.ibd"), 10_390 + 60, 4);
        assert_eq!(opens(&check().0), opens(&sound), "{kind:?}");
        for at in [10_390, 10_390 + 60] {
            flip(&place.path().join("d/t.ibd"), at, 4);
            let (found, code) = check();
            assert_eq!(code, 3, "{found:#}");
            assert!(opens(&found).starts_with("\"failed\"") && opens(&found).contains("d/t.ibd"), "{found:#}");
            flip(&place.path().join("d/t.ibd"), at, 4);
        }
    }
}

#[test]
fn an_8_0_is_encrypted_everywhere_with_a_component_and_with_a_plug_in() {
    let Some(_) = require(Kind::MySql80) else { return };
    for builder in [server_80(), server_80().keyring_plugin(KeyringLocation::Beside)] {
        let server = start(builder.option("--innodb-flush-log-at-trx-commit=2"), MYSQL_TABLES);
        let before = server.sql(&format!("SET NAMES utf8; {SUMS}")).expect("sums");
        let ended = Ended::run(&server, "run", &["--purge-binlogs"]);
        ended.is_done();
        assert_eq!(server.sql(&format!("SET NAMES utf8; {SUMS}")).expect("sums"), before);
        assert_eq!(files_with_marker(server.datadir()), Vec::<PathBuf>::new());
        let (keys, code) = asked(&server, &["keys"]);
        assert_eq!((code, keys["sound"].as_bool()), (0, Some(true)), "{keys:#}");
    }
}

#[test]
fn keys_of_an_8_0_are_rotated() {
    let Some(_) = require(Kind::MySql80) else { return };
    let options = ["--innodb-redo-log-encrypt=ON", "--innodb-undo-log-encrypt=ON", "--binlog-encryption=ON"];
    for builder in [server_80(), server_80().keyring_plugin(KeyringLocation::Beside)] {
        let builder = builder.options(options).option("--default-table-encryption=ON");
        let at =
            Rotating::on(start(builder, "CREATE DATABASE d; CREATE TABLE d.t (id INT); INSERT INTO d.t VALUES (1)"));
        at.run("one.age", &["--master-key", "--binlog-key"]).is_done();
        at.run("two.age", &["--data-keys"]).is_done();
        assert_eq!(at.server.value("SELECT COUNT(*) FROM d.t").expect("a count"), "1");
    }
}

/// Encrypted and unencrypted tables; only the unencrypted ones may hold their rows in plaintext.
fn mixed(kind: Kind) -> Server {
    let builder = if kind == Kind::MySql57 { server_57() } else { server_80() };
    let tables = "CREATE DATABASE d; USE d; CREATE TABLE enc (id INT PRIMARY KEY, v VARCHAR(200)) ENCRYPTION='Y';
        INSERT INTO enc SELECT ID, 'CLEARTEXT-MARKER of a row' FROM information_schema.COLLATIONS;
        CREATE TABLE zip (id INT PRIMARY KEY, v VARCHAR(200)) ENCRYPTION='Y' ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8;
        INSERT INTO zip SELECT * FROM enc;
        CREATE TABLE pack (id INT PRIMARY KEY, v VARCHAR(200)) ENCRYPTION='Y' COMPRESSION='zlib';
        INSERT INTO pack SELECT * FROM enc; CREATE TABLE plain (id INT PRIMARY KEY); INSERT INTO plain SELECT id FROM enc;
        CREATE TEMPORARY TABLE tmp SELECT * FROM enc; FLUSH LOGS";
    start(builder, tables)
}

#[test]
fn files_of_a_running_a_killed_and_a_stopped_server_are_judged() {
    for kind in [Kind::MySql57, Kind::MySql80] {
        if require(kind).is_none() {
            continue;
        }
        let mut server = mixed(kind);
        let keyring = server.dir().join("keyring");
        Proof::mysql(&[server.datadir()], Some(&keyring)).is_sound();
        server.kill();
        Proof::mysql(&[server.datadir()], Some(&keyring)).is_sound();
        server.start().expect("it recovers");
        server.stop().expect("it stops");
        let proof = Proof::mysql(&[server.datadir()], Some(&keyring));
        proof.is_complete();
        for (file, verdict) in
            [("d/enc.ibd", "ok"), ("d/zip.ibd", "ok"), ("d/pack.ibd", "ok"), ("d/plain.ibd", "clear")]
        {
            assert_eq!(proof.verdict(file), verdict, "{kind:?} {file}");
        }
        let leaking = fs::read(server.datadir().join("d/enc.ibd")).expect("read");
        assert!(!holds_marker(&leaking));
        flip(&server.datadir().join("d/enc.ibd"), 4 * 16384 + 700, 4);
        let proof = Proof::mysql(&[server.datadir()], Some(&keyring));
        assert_eq!((proof.code, proof.verdict("d/enc.ibd")), (3, "damaged"), "{:#}", proof.file("d/enc.ibd"));
    }
}

#[test]
fn an_audit_distinguishes_the_clear_table_from_encrypted_ones() {
    for kind in [Kind::MySql57, Kind::MySql80] {
        if require(kind).is_none() {
            continue;
        }
        let mut server = mixed(kind);
        server.restart_with(&[]).expect("it writes its pages");
        let audit = Audit::live_with(&server, &["--deep"]);
        audit.fails("rest-table-plaintext", "plain");
        for table in ["enc", "zip", "pack"] {
            let failed = |finding: &&Value| finding["status"] == "FAIL" && finding["artefact"].as_str() == Some(table);
            assert!(!audit.findings("rest-table-plaintext").iter().any(failed), "{kind:?} {table}");
        }
        audit.passes("rest-page-damaged");
        audit.passes("key-cannot-open");
        audit.fails("rest-binlog-plaintext", "binlog");
        audit.fails("rest-redo-plaintext", "");
    }
}

#[test]
fn a_directory_is_transferred_with_new_keys_and_a_server_starts_on_it() {
    for kind in [Kind::MySql57, Kind::MySql80] {
        if require(kind).is_none() {
            continue;
        }
        let mut source = mixed(kind);
        source.sql("SET GLOBAL innodb_fast_shutdown = 0").expect("set");
        source.stop().expect("it stops");
        let keyring = source.dir().join("keyring");
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let (into, keys) = (directory.path().join("data"), directory.path().join("keys"));
        let receiving = Receiving::begin(&into, &["--rekey", keys.to_str().expect("ASCII")]);
        // 5.7 creates a new log if there is none; its own log holds wrapped keys.
        let keys_of_source = ["--keyring", keyring.to_str().expect("ASCII")];
        let without_log: &[&str] = if kind == Kind::MySql57 { &["--exclude", "ib_logfile*"] } else { &[] };
        let more = [&keys_of_source, without_log].concat();
        let sent = send(source.datadir(), &receiving.code, &more);
        let (code, stderr) = receiving.end();
        assert_eq!(sent.status.code(), Some(0), "{kind:?}: {}\n{stderr}", String::from_utf8_lossy(&sent.stderr));
        assert_eq!(code, 0, "{stderr}");
        Proof::mysql(&[&into], Some(&keys)).is_complete();
        let builder = Server::builder(kind).option("--log-bin=binlog").datadir_seed(&into);
        let server = builder.keyring(KeyringLocation::Path(keys)).start().expect("it starts on what arrived");
        assert_ne!(server.value("SELECT COUNT(*) FROM d.enc").expect("a count"), "0");
        assert_ne!(server.value("SELECT COUNT(*) FROM d.pack").expect("a count"), "0");
    }
}

#[test]
fn directories_are_audited_by_their_bytes() {
    for kind in [Kind::MySql57, Kind::MySql80] {
        if require(kind).is_none() {
            continue;
        }
        let mut server = mixed(kind);
        server.stop().expect("it stops");
        let keyring = server.dir().join("keyring");
        let datadir = server.datadir().to_str().expect("ASCII");
        let more = ["--deep", "--no-host", "--offline", datadir, "--keyring-copy", keyring.to_str().expect("ASCII")];
        let audit = Audit::run(more);
        audit.fails("rest-table-plaintext", "d/plain.ibd");
        let clear: Vec<&Value> = audit.findings("rest-table-plaintext");
        let accused =
            |table: &str| clear.iter().any(|f| f["status"] == "FAIL" && f["artefact"] == format!("d/{table}.ibd"));
        assert!(!["enc", "zip", "pack"].into_iter().any(accused), "{kind:?}: {clear:#?}");
        audit.passes("rest-page-damaged");
        audit.passes("key-cannot-open");
    }
}

/// Runs `sealant VERB`; returns standard error and exit code.
fn said(args: &[&str]) -> (String, Option<i32>) {
    let output = run(args.iter().copied());
    (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
}

/// This build supports TLS only up to 1.1: verbs that need more refuse, with the reason and what to do.
#[test]
fn tls_of_a_5_7_is_too_old_to_provision_from_it_and_to_prove_its_certificate() {
    let Some(_) = require(Kind::MySql57) else { return };
    let place = tempfile::tempdir().expect("a directory");
    let authority = Authority::create(place.path()).expect("an authority");
    let files = authority.issue("old", &Profile::default()).expect("a certificate");
    let path = |path: &Path| path.to_str().expect("ASCII").to_owned();
    let (ca, cert, key) = (path(&files.ca), path(&files.cert), path(&files.key));
    let source = start(server_57().tls(&files), "CREATE USER admin@'%' IDENTIFIED BY 'pw'");
    let new = start(Server::builder(Kind::MySql57), "SELECT 1");
    let password = path(&place.path().join("pw"));
    fs::write(&password, "pw\n").expect("written");

    let (datadir, socket) = (path(new.datadir()), path(new.socket()));
    let url = format!("mysql://admin@127.0.0.1:{}", source.port());
    let replica = ["provision", "--source", &url, "--into", &datadir, "--socket", &socket, "--role", "replica"];
    let accounts =
        ["--password-file", &password, "--tls-ca", &ca, "--replication-ca", &ca, "--replication-user", "repl"];
    let (text, code) = said(&[&replica[..], &accounts].concat());
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("server does not offer TLS 1.2 or newer"), "{text}");
    assert!(
        text.contains("hint: the replication link would be as weak: run the source on a build with OpenSSL"),
        "{text}"
    );

    let socket = path(source.socket());
    let install = ["cert", "install", "--socket", &socket, "--user", "root", "--skip-checks"];
    let (text, code) = said(&[&install[..], &["--cert", &cert, "--key", &key, "--ca", &ca]].concat());
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("reads certificates only at startup; ALTER INSTANCE RELOAD TLS exists since MySQL 8.0.16"));
    assert!(text.contains("with tls_version TLSv1,TLSv1.1 it offers no TLS 1.2"), "{text}");
    assert!(text.contains("hint: upgrade it: all builds of MySQL from 5.7.28 on have TLS 1.2; until then"), "{text}");
    Audit::live_with(&source, &[]).fails("tls-version-old", "");
}

#[test]
fn a_mariadb_11_4_is_encrypted_proven_and_audited() {
    let Some(_) = require(Kind::MariaDb114) else { return };
    let keys = "1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n";
    let builder = Server::builder(Kind::MariaDb114).mariadb_keys(keys).option("--log-bin=mbin");
    let mut server = builder.start().expect("it starts");
    let rows = "CREATE DATABASE d; USE d; CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(200)) ENGINE=InnoDB;
        INSERT INTO d.t SELECT seq, 'CLEARTEXT-MARKER of a row' FROM seq_1_to_900;
        CREATE TABLE d.pack (id INT PRIMARY KEY, v VARCHAR(200)) ENGINE=InnoDB PAGE_COMPRESSED=1;
        INSERT INTO d.pack SELECT * FROM d.t; FLUSH LOGS";
    server.sql(rows).expect("rows");
    let option_file = server.option_file();
    let more = ["--option-file", option_file.to_str().expect("ASCII"), "--purge-binlogs"];
    let first = Ended::run(&server, "run", &more);
    assert_eq!(first.failures(), "", "{}", first.stderr);
    server.restart_with(&[]).expect("it starts again");
    let planned = Ended::run(&server, "plan", &["--purge-binlogs"]);
    assert!(planned.steps().contains(&"purge binary logs"), "{:?}", planned.steps());
    Ended::run(&server, "run", &more).is_done();
    let logs = server.sql("SHOW BINARY LOGS").expect("a list");
    assert!(!logs.contains("mbin.000001") && !logs.contains("mbin.000002"), "{logs}");
    assert_eq!(server.value("SELECT COUNT(*) FROM d.t").expect("a count"), "900");
    server.stop().expect("it stops");
    let table = server.datadir().join("d/t.ibd");
    assert!(!holds_marker(&fs::read(&table).expect("read")));
    let key_file = server.dir().join("keys.txt");
    let proof = Proof::mariadb(&[server.datadir()], Some(&key_file));
    proof.is_sound();
    assert_eq!((proof.verdict("d/t.ibd"), proof.verdict("d/pack.ibd")), ("ok", "ok"));
    flip(&table, 3 * 16384 + 700, 4);
    assert_eq!(Proof::mariadb(&[server.datadir()], Some(&key_file)).verdict("d/t.ibd"), "damaged");
}
