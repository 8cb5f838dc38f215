//! `sealant verify` on files of MariaDB in states that are easily mistaken for damage, and on damage that is easily
//! overlooked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use harness::galera::Cluster;
use harness::{Kind, Server, ServerBuilder, limit, require, wait_until, within};
use serde_json::Value;

use crate::support::proof::{Proof, Statements, flip, write};

const PAGE: usize = 16384;
const KEYS: &str = "1;770a8a65da156d24ee2a093277530142\n\
    2;1111111111111111111111111111111122222222222222222222222222222222\n";
const ENCRYPTING: [&str; 5] = [
    "--innodb-encrypt-tables=ON",
    "--innodb-encrypt-log=ON",
    "--aria-encrypt-tables=ON",
    "--encrypt-binlog=ON",
    "--innodb-encryption-threads=2",
];

fn server(kind: Kind, set_up: impl FnOnce(ServerBuilder) -> ServerBuilder) -> Option<Server> {
    require(kind)?;
    let builder = Server::builder(kind).mariadb_keys(KEYS).option("--log-bin=binlog");
    Some(set_up(builder).start().expect("MariaDB starts"))
}

fn proof(server: &Server) -> Proof {
    Proof::mariadb(&[server.datadir()], Some(&server.dir().join("keys.txt")))
}

fn rows(count: u32) -> String {
    format!(
        "CREATE DATABASE demo; USE demo;
         CREATE TABLE source (id INT PRIMARY KEY, name VARCHAR(1000), pad TEXT) ENGINE=InnoDB;
         INSERT INTO source SELECT seq, REPEAT(SHA2(seq, 512), 4), REPEAT(MD5(seq), 20) FROM seq_1_to_{count};"
    )
}

/// SQL that creates a copy of the table of [`rows`].
fn table(name: &str, options: &str) -> String {
    format!(
        "CREATE TABLE `{name}` (id INT PRIMARY KEY, name VARCHAR(1000), pad TEXT, KEY (name(20))) {options};
         INSERT INTO `{name}` SELECT * FROM source; DELETE FROM `{name}` WHERE id % 5 = 0;"
    )
}

/// Tables by name and options. The last ones need pages of at most 16 KiB.
const TABLES: [(&str, &str); 9] = [
    ("enc", "ENGINE=InnoDB ENCRYPTED=YES"),
    ("enc_k2", "ENGINE=InnoDB ENCRYPTED=YES ENCRYPTION_KEY_ID=2 ROW_FORMAT=REDUNDANT"),
    ("enc_zlib", "ENGINE=InnoDB ENCRYPTED=YES PAGE_COMPRESSED=1"),
    ("clear", "ENGINE=InnoDB ENCRYPTED=NO"),
    ("o d-d.#ü/名", "ENGINE=InnoDB PARTITION BY HASH (id) PARTITIONS 3"),
    ("rows", "ENGINE=Aria TRANSACTIONAL=1"),
    ("blob", "ENGINE=Aria TRANSACTIONAL=0 ROW_FORMAT=DYNAMIC"),
    ("enc_kb4", "ENGINE=InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4 ENCRYPTED=YES"),
    ("clear_kb2", "ENGINE=InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=2 ENCRYPTED=NO"),
];

/// Other kinds of indexes, and tables that were truncated, rebuilt and dropped.
const CHANGES: &str =
    "CREATE TABLE text (x TEXT, FULLTEXT (x)) ENGINE=InnoDB; INSERT INTO text SELECT pad FROM source LIMIT 99;
    CREATE TABLE place (g GEOMETRY NOT NULL, SPATIAL INDEX (g)) ENGINE=InnoDB;
    INSERT INTO place SELECT POINT(seq, seq) FROM seq_1_to_2000;
    CREATE TABLE other LIKE enc; INSERT INTO other SELECT * FROM enc; DROP TABLE other;
    CREATE TABLE moved LIKE enc; INSERT INTO moved SELECT * FROM enc; ALTER TABLE moved ENGINE=Aria;
    ALTER TABLE moved ENGINE=InnoDB; TRUNCATE enc_k2; INSERT INTO enc_k2 SELECT * FROM enc LIMIT 20;";

fn load(rounds: u32) -> String {
    let round = |n| {
        format!(
            "UPDATE source SET name = REVERSE(name) WHERE id % 7 = {n} % 7; UPDATE enc SET pad = CONCAT(LEFT(pad, 99), {n});
             UPDATE rows SET name = REPEAT('x', {n}); TRUNCATE enc_zlib; INSERT INTO enc_zlib SELECT * FROM enc;"
        )
    };
    format!("USE demo; {}", (0..rounds).map(round).collect::<String>())
}

#[test]
fn every_page_size_and_checksum_is_proven_in_every_state() {
    for (page, checksum, mode, tables) in [
        ("4k", "crc32", "aes_ctr", TABLES.len()),
        ("16k", "full_crc32", "aes_ctr", TABLES.len()),
        ("64k", "strict_full_crc32", "aes_cbc", TABLES.len() - 2),
    ] {
        let set_up = |builder: ServerBuilder| {
            builder
                .init_option(format!("--innodb-page-size={page}"))
                .options(ENCRYPTING)
                .option(format!("--innodb-checksum-algorithm={checksum}"))
                .option(format!("--file-key-management-encryption-algorithm={mode}"))
        };
        let Some(mut server) = server(Kind::MariaDb1011, set_up) else { return };
        let tables: String = TABLES[..tables].iter().map(|(name, options)| table(name, options)).collect();
        server.sql(&format!("{} {tables} {CHANGES}", rows(500))).expect("tables are made");
        proof(&server).is_sound();
        let statements = Statements::begin(&server, &load(200));
        // Chooses the moment of the kill.
        sleep(Duration::from_millis(700));
        proof(&server).is_sound();
        server.kill();
        drop(statements);
        proof(&server).is_sound();
        server.start().expect("it recovers");
        // A server that is stopped while it starts may leave tables in the redo log.
        server.value("SELECT COUNT(*) FROM demo.enc").expect("rows");
        server.stop().expect("it stops");
        let proof = proof(&server);
        proof.is_complete();
        let verdicts =
            ["demo/enc.ibd", "demo/clear.ibd", "demo/rows.MAD", "demo/blob.MAD", "ib_logfile0", "binlog.000001"];
        assert_eq!(verdicts.map(|name| proof.verdict(name)), ["ok", "clear", "ok", "clear", "ok", "ok"], "{page}");
        innochecksum_agrees(&server, &proof);
    }
}

/// Asserts that the server's own tool also finds all tablespaces sound.
#[track_caller]
fn innochecksum_agrees(server: &Server, proof: &Proof) {
    let Some(innochecksum) = server.binaries().tool("innochecksum") else { return };
    for path in proof.files().iter().filter_map(|file| file["path"].as_str()).filter(|path| path.ends_with(".ibd")) {
        let output = Command::new(&innochecksum).arg(path).output().expect("it runs");
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A modification of a table's file, and the expected report: verdict, pages, a check.
struct Damage {
    name: &'static str,
    apply: fn(&Path, usize),
    expected: (&'static str, &'static [u64], &'static str),
}

const DAMAGES: [Damage; 4] = [
    Damage {
        name: "flipped",
        apply: |path, page| flip(path, offset(3, page, 120), 0x10),
        expected: ("damaged", &[3], "checksum"),
    },
    Damage { name: "swapped", apply: swap, expected: ("damaged", &[3, 5], "position") },
    Damage {
        name: "zeroed",
        apply: |path, page| write(path, offset(4, page, 0), &vec![0; page]),
        expected: ("damaged", &[4], "allocated-zero"),
    },
    Damage {
        name: "cut",
        apply: |path, page| cut(path, offset(6, page, 100)),
        expected: ("truncated", &[6], "partial-unit"),
    },
];

fn offset(number: usize, page: usize, byte: usize) -> u64 {
    u64::try_from(number * page + byte).expect("small")
}

fn swap(path: &Path, page: usize) {
    let bytes = fs::read(path).expect("read");
    let at = |number: usize| &bytes[number * page..(number + 1) * page];
    write(path, offset(3, page, 0), at(5));
    write(path, offset(5, page, 0), at(3));
}

fn cut(path: &Path, bytes: u64) {
    fs::File::options().write(true).open(path).expect("opened").set_len(bytes).expect("cut");
}

#[test]
fn damage_of_a_stopped_servers_files_is_located() {
    let Some(mut server) = server(Kind::MariaDb1011, |builder| builder.options(ENCRYPTING)) else { return };
    let tables: String = TABLES.iter().map(|(name, options)| table(name, options)).collect();
    server.sql(&format!("{} {tables}", rows(500))).expect("tables are made");
    server.stop().expect("it stops");
    proof(&server).is_complete();
    let demo = server.datadir().join("demo");
    for (name, page) in [("enc", PAGE), ("enc_zlib", PAGE), ("clear", PAGE), ("enc_kb4", 4096), ("clear_kb2", 2048)] {
        let (whole, copy) = (demo.join(format!("{name}.ibd")), demo.join("damaged.ibd"));
        for Damage { name: how, apply, expected: (verdict, pages, check) } in DAMAGES {
            fs::copy(&whole, &copy).expect("copied");
            apply(&copy, page);
            let proof = Proof::mariadb(&[&copy], Some(&server.dir().join("keys.txt")));
            let file = proof.file("damaged.ibd");
            assert_eq!((proof.verdict("damaged.ibd"), proof.code), (verdict, 3), "{name} {how}: {file:#}");
            assert!(file["findings"][0]["check"].as_str().is_some_and(|found| found.ends_with(check)), "{file:#}");
            let found: Vec<u64> = findings(file).filter_map(|finding| finding["page"].as_u64()).collect();
            assert!(pages.iter().all(|page| found.contains(page)), "{name} {how}: {file:#}");
        }
    }
}

fn findings(file: &Value) -> impl Iterator<Item = &Value> {
    file["findings"].as_array().into_iter().flatten()
}

#[test]
fn a_wrong_a_missing_and_an_omitted_key_are_distinguished() {
    let Some(mut server) = server(Kind::MariaDb118, |builder| builder.options(ENCRYPTING)) else { return };
    let tables: String = TABLES.iter().map(|(name, options)| table(name, options)).collect();
    server.sql(&format!("{} {tables}", rows(300))).expect("tables are made");
    // The temporary tablespace of a server that has just started is not written yet.
    server.stop().expect("it stops");
    server.start().expect("it starts");
    assert_eq!(proof(&server).verdict("ibtmp1"), "clear");
    server.stop().expect("it stops");
    // One of them is a file whose last pages, of 2 KiB, are missing: servers extend files in blocks of 4 KiB.
    proof(&server).is_complete();
    let keys = server.dir().join("other.txt");
    fs::write(&keys, "1;00000000000000000000000000000001\n").expect("written");
    let names =
        ["demo/enc.ibd", "demo/enc_k2.ibd", "demo/rows.MAD", "ib_logfile0", "binlog.000001", "ibdata1", "undo001"];
    let other = Proof::mariadb(&[server.datadir()], Some(&keys));
    let verdicts = names.map(|name| other.verdict(name));
    let [wrong, missing] = ["wrong-key", "missing-key"];
    assert_eq!(verdicts, [wrong, missing, wrong, wrong, wrong, wrong, wrong]);
    let keyless = Proof::mariadb(&[server.datadir()], None);
    assert_eq!(names.map(|name| keyless.verdict(name)), ["unverifiable"; 7]);
    assert_eq!((other.code, keyless.code), (3, 4));
}

/// The encryption threads process a tablespace page by page, and stop on request.
#[test]
fn tablespaces_half_encrypted_or_half_decrypted_are_not_damaged() {
    let slow = ["--innodb-encryption-rotate-key-age=1", "--innodb-encryption-rotation-iops=20"];
    let Some(mut server) = server(Kind::MariaDb118, |builder| builder.options(slow)) else { return };
    let tables: String = (1..4).map(|n| table(&format!("t{n}"), "ENGINE=InnoDB")).collect();
    server.sql(&format!("{} {tables}", rows(4000))).expect("tables are made");
    for setting in ["ON", "OFF"] {
        let set = format!("SET GLOBAL innodb_encrypt_tables = {setting}; SET GLOBAL innodb_encryption_threads");
        server.sql(&format!("{set} = 1; DO SLEEP(1); SET GLOBAL innodb_encryption_threads = 0")).expect("set");
        proof(&server).is_sound();
        let change = "UPDATE demo.t1 SET pad = '' WHERE id % 9 = 1; UPDATE demo.t3 SET pad = '' WHERE id % 9 = 1";
        server.sql(change).expect("it writes");
        server.kill();
        proof(&server).is_sound();
        let unchanged = format!("--innodb-encrypt-tables={setting}");
        server.restart_with(&[slow[0], slow[1], &unchanged]).expect("it recovers");
        server.stop().expect("it stops");
        proof(&server).is_complete();
        server.start().expect("it starts");
    }
}

/// Pages changed while `innodb_encrypt_tables` is OFF are written in plaintext, and stay so when it is ON again.
#[test]
fn a_single_page_that_a_setting_left_in_the_clear_is_not_damaged() {
    let at_once = [
        "--innodb-encrypt-tables=ON",
        "--innodb-max-dirty-pages-pct=0",
        "--innodb-max-dirty-pages-pct-lwm=0",
        "--innodb-purge-rseg-truncate-frequency=1",
        "--innodb-fast-shutdown=0",
    ];
    let Some(mut server) = server(Kind::MariaDb1011, |builder| builder.options(at_once)) else { return };
    server.sql(&rows(2000)).expect("a table is made");
    server.stop().expect("it stops");
    server.start().expect("it starts");
    // Purge writes to the page of a row once more: it must be complete before the setting changes.
    let written = "SELECT SUM(variable_value) = 0 FROM information_schema.global_status \
        WHERE variable_name IN ('innodb_buffer_pool_pages_dirty', 'innodb_history_list_length')";
    for (setting, id) in [("OFF", 700), ("ON", 1500)] {
        let change = format!("UPDATE demo.source SET name = 'x' WHERE id = {id}");
        server.sql(&format!("SET GLOBAL innodb_encrypt_tables = {setting}; {change}")).expect("it writes");
        wait_until("all is written out", limit(60), || server.value(written).expect("it answers") == "1");
    }
    server.stop().expect("it stops");
    let proof = proof(&server);
    proof.is_complete();
    let clear = findings(proof.file("source.ibd")).filter(|finding| finding["check"] == "mixed").count();
    assert_eq!((proof.verdict("source.ibd"), clear), ("ok", 1), "{:#}", proof.file("source.ibd"));
}

fn rewrite(rounds: u32) -> String {
    let update =
        |n| format!("UPDATE source SET name = REPEAT(SHA2(id + {n}, 512), 5), pad = REPEAT(MD5(id + {n}), 22);");
    format!("USE demo; {}", (0..rounds).map(update).collect::<String>())
}

/// Size of a truncated undo tablespace.
const SHORTENED: u64 = 10 << 20;

/// The file is truncated at once, page 0 is updated later, and in between only the redo log has the new size.
#[test]
fn an_undo_tablespace_that_a_server_shortens_is_not_called_damaged() {
    let shortening = ["--innodb-undo-log-truncate=ON", "--innodb-max-undo-log-size=10485760"];
    let set_up = |builder: ServerBuilder| builder.init_option("--innodb-undo-tablespaces=3").options(shortening);
    let Some(mut server) = server(Kind::MariaDb1011, set_up) else { return };
    server.sql(&rows(8000)).expect("a table is made");
    let undo = [1, 2, 3].map(|n| server.datadir().join(format!("undo00{n}")));
    watch(&server, &undo);
    server.sql(&format!("SET GLOBAL innodb_undo_log_truncate = OFF; {}", rewrite(12))).expect("it writes");
    server.stop().expect("it stops");
    let longest = undo.iter().max_by_key(|path| length(path)).expect("there are three");
    let whole = fs::read(longest).expect("read");
    let name = longest.to_str().expect("ASCII");
    cut(longest, SHORTENED);
    assert_eq!(proof(&server).verdict(name), "truncated", "all was written before the server stopped");
    fs::write(longest, whole).expect("written");
    server.restart_with(&["--innodb-undo-log-truncate=OFF"]).expect("it starts");
    server.sql("UPDATE demo.source SET name = 'x' WHERE id < 100").expect("it writes");
    server.kill();
    proof(&server).is_sound();
    cut(longest, SHORTENED);
    assert_eq!(proof(&server).verdict(name), "unverifiable", "the redo log goes on");
    cut(longest, SHORTENED - offset(1, PAGE, 0));
    assert_eq!(proof(&server).verdict(name), "truncated", "no server makes it as short");
}

/// Verifies undo tablespaces while the server truncates them.
#[track_caller]
fn watch(server: &Server, undo: &[PathBuf; 3]) {
    let _statements = Statements::begin(server, &rewrite(60));
    let keys = server.dir().join("keys.txt");
    let bytes = || undo.each_ref().map(|path| length(path));
    let (mut before, mut seen) = (bytes(), 0);
    let _ = within(limit(20), || {
        let now = bytes();
        if now.iter().zip(before).any(|(now, before)| *now < before) {
            Proof::mariadb(&undo.each_ref().map(PathBuf::as_path), Some(&keys)).is_sound();
            seen += 1;
        }
        before = now;
        seen == 3
    });
    assert!(seen > 0, "no undo tablespace was shortened");
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).expect("it is there").len()
}

/// Runs `mariadb-backup`; `false` if it is not installed.
fn backup(server: &Server, args: &[String]) -> bool {
    let Some(program) = server.binaries().tool("mariadb-backup") else { return false };
    let output = Command::new(program).args(args).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

#[test]
fn backups_are_proven_before_and_after_they_are_prepared_and_on_the_next_server() {
    let Some(mut server) = server(Kind::MariaDb1011, |b| b.options(ENCRYPTING).option("--innodb-log-file-size=96M"))
    else {
        return;
    };
    let tables: String = TABLES.iter().map(|(name, options)| table(name, options)).collect();
    server.sql(&format!("{} {tables} {CHANGES}", rows(500))).expect("tables are made");
    let statements = Statements::begin(&server, &load(40));
    let [full, changes] = ["full", "changes"].map(|name| server.dir().join(name));
    let keys = server.dir().join("keys.txt");
    let arguments = |target: &Path| {
        let plugins = server.binaries().plugins.clone().unwrap_or_default();
        let [socket, datadir] = [server.socket(), server.datadir()].map(Path::display);
        let mut args = vec!["--no-defaults".to_owned(), "--backup".to_owned(), "--user=root".to_owned()];
        args.push(format!("--plugin-dir={}", plugins.display()));
        args.extend([format!("--socket={socket}"), format!("--datadir={datadir}")]);
        args.push(format!("--target-dir={}", target.display()));
        args
    };
    if !backup(&server, &arguments(&full)) {
        return;
    }
    let mut incremental = arguments(&changes);
    incremental.push(format!("--incremental-basedir={}", full.display()));
    backup(&server, &incremental);
    drop(statements);
    Proof::mariadb(&[&full], Some(&keys)).is_sound();
    let proof_of_changes = Proof::mariadb(&[&changes], Some(&keys));
    assert_eq!((proof_of_changes.verdict("ibdata1.delta"), proof_of_changes.code), ("unidentified", 4));
    let plugins = server.binaries().plugins.clone().unwrap_or_default();
    let prepare = [
        format!("--defaults-file={}", full.join("backup-my.cnf").display()),
        "--prepare".to_owned(),
        format!("--plugin-dir={}", plugins.display()),
        format!("--target-dir={}", full.display()),
    ];
    backup(&server, &prepare);
    Proof::mariadb(&[&full], Some(&keys)).is_complete();
    server.stop().expect("it stops");
    let Some(mut newer) = self::server(Kind::MariaDb118, |b| b.options(ENCRYPTING).datadir_seed(full)) else { return };
    proof(&newer).is_sound();
    newer
        .sql("USE demo; UPDATE enc SET name = REVERSE(name); UPDATE clear SET name = REVERSE(name)")
        .expect("it writes");
    newer.kill();
    proof(&newer).is_sound();
    newer.start().expect("it recovers");
    newer.stop().expect("it stops");
    proof(&newer).is_complete();
}

#[test]
fn a_cluster_node_that_joined_is_proven() {
    let Some(binaries) = require(Kind::MariaDb1011) else { return };
    if binaries.galera_provider().is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let keys = dir.path().join("keys.txt");
    fs::write(&keys, KEYS).expect("written");
    let file = format!("--file-key-management-filename={}", keys.display());
    let options = [&["--plugin-load-add=file_key_management", &file, "--log-bin=binlog"][..], &ENCRYPTING].concat();
    let mut cluster = Cluster::start(2, "", &options).expect("it starts");
    let tables = "CREATE TABLE demo.enc LIKE demo.source; INSERT INTO demo.enc SELECT * FROM demo.source";
    cluster.nodes[0].sql(&format!("{} {tables}", rows(500))).expect("tables are made");
    let arrived = "SELECT COUNT(*) = 500 FROM demo.enc";
    wait_until("rows on the other node", limit(60), || cluster.nodes[1].value(arrived).is_ok_and(|there| there == "1"));
    for node in &mut cluster.nodes {
        Proof::mariadb(&[node.datadir()], Some(&keys)).is_sound();
        node.stop().expect("it stops");
        let proof = Proof::mariadb(&[node.datadir()], Some(&keys));
        proof.is_complete();
        assert_eq!((proof.verdict("demo/enc.ibd"), proof.verdict("galera.cache")), ("ok", "clear"));
    }
}
