//! `sealant verify` on files of real servers: sound files are proven, even while the server writes them; damage is
//! found in its place, and the server finds it, too.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use harness::{KeyringLocation, Kind, Server, require};
use serde_json::Value;

use crate::support::schema::has_its_schema;
use crate::support::{run, sealant};

/// Throw-away keys of MariaDB's `file_key_management`.
const MARIADB_KEYS: &str = "1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n\
    34;6e1d21d6b2ba5f5a31b5ac40ba9c65dd9b1c8b0e2ab05d8a\n";

/// Result of `sealant verify … --format json`.
struct Proof {
    json: Value,
    code: i32,
    stderr: String,
}

impl Proof {
    fn run(args: &[&str]) -> Self {
        let output = sealant().args(["verify", "--format", "json"]).args(args).output().expect("the binary starts");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("no JSON: {e}\n{stderr}"));
        has_its_schema(&json, "verify-1");
        Self { json, code: output.status.code().expect("not killed"), stderr }
    }

    fn files(&self) -> &[Value] {
        self.json["files"].as_array().expect("files are a list")
    }

    /// The only file whose path has this suffix.
    #[track_caller]
    fn file(&self, ending: &str) -> &Value {
        let found: Vec<&Value> = self
            .files()
            .iter()
            .filter(|file| file["path"].as_str().is_some_and(|path| path.ends_with(ending)))
            .collect();
        assert_eq!(found.len(), 1, "{ending}: {}", self.listing());
        found[0]
    }

    #[track_caller]
    fn verdict(&self, ending: &str) -> &str {
        self.file(ending)["verdict"].as_str().expect("a verdict is text")
    }

    /// Files that are neither sound nor readable without a key.
    fn unsound(&self) -> Vec<&Value> {
        self.files().iter().filter(|file| file["verdict"] != "ok" && file["verdict"] != "clear").collect()
    }

    #[track_caller]
    fn is_sound(&self) {
        assert!(
            self.unsound().is_empty(),
            "{}\n{}",
            serde_json::to_string_pretty(&self.unsound()).expect("JSON"),
            self.stderr
        );
        assert_eq!(self.code, 0, "{}", self.stderr);
    }

    /// As `is_sound`, for a server that did not shut down: what it has not written yet is only in its redo log, and
    /// cannot be judged.
    #[track_caller]
    fn is_sound_but_for_unwritten_files(&self) {
        let unsound: Vec<&Value> = self.unsound().into_iter().filter(|file| !is_unwritten(file)).collect();
        assert!(unsound.is_empty(), "{}\n{}", serde_json::to_string_pretty(&unsound).expect("JSON"), self.stderr);
        assert!(self.code == 0 || self.code == 4, "{}", self.stderr);
    }

    fn listing(&self) -> String {
        self.files().iter().map(|file| format!("{} {} {}\n", file["verdict"], file["kind"], file["path"])).collect()
    }
}

/// Whether a file belongs to a new table whose beginning is only in the redo log.
fn is_unwritten(file: &Value) -> bool {
    file["verdict"] == "unidentified"
        && file["findings"][0]["detail"].as_str().is_some_and(|detail| detail.contains("not written yet"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the harness uses ASCII paths")
}

/// Path of the keys of a server of the harness.
fn keyring_file(server: &Server) -> PathBuf {
    server.dir().join("keyring")
}

/// All kinds of tables that MySQL encrypts, with enough rows to fill pages.
const MYSQL_TABLES: &str = "
    CREATE DATABASE demo; USE demo;
    CREATE TABLE enc (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(200), KEY(name)) ENCRYPTION='Y';
    INSERT INTO enc (name) SELECT SHA2(RAND(), 512) FROM information_schema.columns LIMIT 3000;
    CREATE TABLE enc_zlib LIKE enc; ALTER TABLE enc_zlib COMPRESSION='zlib', ENCRYPTION='Y';
    INSERT INTO enc_zlib SELECT id, REPEAT(LEFT(name, 4), 40) FROM enc;
    CREATE TABLE enc_lz4 (id INT PRIMARY KEY, note TEXT) COMPRESSION='lz4' ENCRYPTION='Y';
    INSERT INTO enc_lz4 SELECT id, REPEAT(name, 3) FROM enc;
    CREATE TABLE enc_kb4 (id INT PRIMARY KEY, note TEXT) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4 ENCRYPTION='Y';
    INSERT INTO enc_kb4 SELECT id, REPEAT(name, 2) FROM enc;
    CREATE TABLE enc_geo (id INT PRIMARY KEY, p POINT NOT NULL SRID 0, SPATIAL INDEX(p)) ENCRYPTION='Y';
    INSERT INTO enc_geo SELECT id, POINT(id, 3 * id) FROM enc;
    CREATE TABLE enc_blob (id INT PRIMARY KEY, b LONGBLOB) ENCRYPTION='Y';
    INSERT INTO enc_blob VALUES (1, REPEAT('sealant', 200000)), (2, RANDOM_BYTES(1000));
    CREATE TABLE enc_text (id INT PRIMARY KEY, t TEXT, FULLTEXT(t)) ENCRYPTION='Y';
    INSERT INTO enc_text SELECT id, CONCAT('word', id, ' ', name) FROM enc LIMIT 500;
    CREATE TABLE enc_part (id INT PRIMARY KEY) ENCRYPTION='Y' PARTITION BY HASH(id) PARTITIONS 3;
    INSERT INTO enc_part SELECT id FROM enc;
    CREATE TABLESPACE ts ADD DATAFILE 'ts.ibd' ENCRYPTION='Y';
    CREATE TABLE in_ts (id INT PRIMARY KEY, name VARCHAR(200)) TABLESPACE ts ENCRYPTION='Y';
    INSERT INTO in_ts SELECT * FROM enc;
    CREATE TABLE clear (id INT PRIMARY KEY, name VARCHAR(200), KEY(name));
    INSERT INTO clear SELECT * FROM enc;
    CREATE TABLE clear_zlib (id INT PRIMARY KEY, note TEXT) COMPRESSION='zlib';
    INSERT INTO clear_zlib SELECT id, REPEAT(LEFT(name, 4), 40) FROM enc;
    CREATE TABLE clear_kb8 (id INT PRIMARY KEY, note TEXT) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8;
    INSERT INTO clear_kb8 SELECT id, name FROM enc;
    CREATE TABLE gone LIKE enc; INSERT INTO gone SELECT * FROM enc; DROP TABLE gone;
    DELETE FROM enc WHERE id % 3 = 0; DELETE FROM clear WHERE id % 2 = 0; UPDATE in_ts SET name = '';
    CREATE TABLE myisam (id INT) ENGINE=MyISAM; INSERT INTO myisam VALUES (1);
";

fn mysql() -> Option<Server> {
    require(Kind::MySql97)?;
    let server = Server::builder(Kind::MySql97)
        .keyring(KeyringLocation::Beside)
        .options([
            "--log-bin=binlog",
            "--binlog-encryption=ON",
            "--innodb-redo-log-encrypt=ON",
            "--innodb-undo-log-encrypt=ON",
        ])
        .start()
        .expect("MySQL starts");
    server.sql("ALTER TABLESPACE mysql ENCRYPTION='Y'").expect("the dictionary is encrypted");
    server.sql(MYSQL_TABLES).expect("tables are made");
    Some(server)
}

#[test]
fn a_mysql_server_is_proven_stopped_running_and_killed() {
    let Some(mut server) = mysql() else { return };
    let keyring = keyring_file(&server);
    let args = |server: &Server| [text(server.datadir()).to_owned(), "--keyring".to_owned(), text(&keyring).to_owned()];
    let proof = |server: &Server| Proof::run(&args(server).each_ref().map(String::as_str));

    let running = proof(&server);
    running.is_sound();
    server.stop().expect("it stops");
    let stopped = proof(&server);
    stopped.is_sound();
    for file in stopped.files() {
        let unit = |name: &str| file["units"][name].as_u64().expect("a count");
        assert_eq!(unit("total"), unit("encrypted") + unit("clear") + unit("empty") + unit("bad"), "{file}");
    }
    for table in ["enc", "enc_zlib", "enc_lz4", "enc_kb4", "enc_geo", "enc_blob", "enc_text", "enc_part#p#p0"] {
        assert_eq!(stopped.verdict(&format!("demo/{table}.ibd")), "ok", "{table}");
    }
    for table in ["clear", "clear_zlib", "clear_kb8"] {
        assert_eq!(stopped.verdict(&format!("demo/{table}.ibd")), "clear", "{table}");
    }
    for file in ["/ts.ibd", "/mysql.ibd", "/undo_001", "/binlog.000001"] {
        assert_eq!(stopped.verdict(file), "ok", "{file}");
    }
    assert_eq!(stopped.verdict("/ibdata1"), "clear");

    server.start().expect("it starts again");
    server
        .sql("USE demo; UPDATE enc SET name = REVERSE(name); INSERT INTO clear SELECT id + 100000, name FROM enc")
        .unwrap();
    server.kill();
    proof(&server).is_sound();
}

#[test]
fn a_tablespace_without_a_byte_is_counted_as_empty() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let mut server = Server::builder(Kind::MariaDb1011).start().expect("it starts");
    server.sql("CREATE DATABASE demo; CREATE TABLE demo.t (id INT PRIMARY KEY)").expect("a table");
    server.stop().expect("it stops");
    let datadir = text(server.datadir());
    let verified = |code: i32| {
        let output = run(["verify", datadir]);
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(!verified(0).contains(", 1 empty"));
    fs::write(server.datadir().join("demo/t.ibd"), []).expect("cut");
    let said = verified(4);
    let listed = said.lines().find(|line| line.ends_with("demo/t.ibd")).expect("a row");
    assert!(listed.starts_with("empty ") && said.contains(", 1 empty"), "{said}");
    assert!(!said.contains("unidentified"), "{said}");
}

#[test]
fn a_server_that_writes_continuously_is_not_called_damaged() {
    let Some(server) = mysql() else { return };
    let keyring = keyring_file(&server);
    server.sql("SET GLOBAL innodb_max_dirty_pages_pct = 0; SET GLOBAL innodb_io_capacity = 20000").ok();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Also when an assertion below fails: a thread scope waits for its threads.
        let _stopping = Stopping(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let churn =
                    "USE demo; UPDATE enc SET name = SHA2(RAND(), 512); UPDATE clear SET name = SHA2(RAND(), 512);
                    CREATE TABLE t SELECT * FROM enc; ALTER TABLE t ENCRYPTION='Y'; DROP TABLE t; FLUSH BINARY LOGS";
                server.sql(churn).expect("the server works");
            }
        });
        for _ in 0..6 {
            let proof = Proof::run(&[text(server.datadir()), "--keyring", text(&keyring)]);
            let wrong: Vec<&Value> = proof
                .unsound()
                .into_iter()
                .filter(|file| file["verdict"] != "unverifiable" && !is_unwritten(file))
                .collect();
            assert!(wrong.is_empty(), "{}", serde_json::to_string_pretty(&wrong).expect("JSON"));
            assert!(proof.code == 0 || proof.code == 4, "{}", proof.stderr);
        }
    });
}

/// Tells a thread to stop when dropped.
struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_copy_of_the_keyring_from_before_a_rotation_is_not_enough() {
    let Some(mut server) = mysql() else { return };
    let keyring = keyring_file(&server);
    let copy = server.dir().join("copy-of-keyring");
    fs::copy(&keyring, &copy).expect("copied");
    server.sql("ALTER INSTANCE ROTATE INNODB MASTER KEY; ALTER INSTANCE ROTATE BINLOG MASTER KEY").expect("rotated");
    server.stop().expect("it stops");
    let old = Proof::run(&[text(server.datadir()), "--keyring", text(&copy)]);
    assert_eq!(old.code, 3, "{}", old.listing());
    assert_eq!(old.verdict("demo/enc.ibd"), "missing-key");
    let key = &old.file("demo/enc.ibd")["key"];
    assert!(key["server_uuid"].is_string() && key["master_key_id"].is_number(), "{key}");
    assert_eq!(old.verdict("demo/clear.ibd"), "clear", "needs no key");
    Proof::run(&[text(server.datadir()), "--keyring", text(&keyring)]).is_sound();

    let keyless = Proof::run(&[text(server.datadir())]);
    assert_eq!((keyless.code, keyless.verdict("demo/enc.ibd")), (4, "unverifiable"));
    let other = keyring_of_another_server();
    let foreign = Proof::run(&[text(server.datadir()), "--keyring", text(&other)]);
    assert_eq!(foreign.verdict("demo/enc.ibd"), "missing-key");
}

fn keyring_of_another_server() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/keyring/mysql97-component-file.json")
}

/// Flips one bit of a file.
fn flip(path: &Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).expect("opened");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("read");
    file.write_all_at(&[byte[0] ^ 4], at).expect("written");
}

#[test]
fn the_server_refuses_files_called_damaged_and_reads_those_called_ok() {
    const PAGE: u64 = 16384;
    let Some(mut server) = mysql() else { return };
    let keyring = keyring_file(&server);
    // If undo remained to be purged, the server would read a damaged page and abort at an arbitrary moment.
    server.sql("SET GLOBAL innodb_fast_shutdown = 0").expect("set");
    server.stop().expect("it stops");
    let table = |name: &str| server.datadir().join(format!("demo/{name}.ibd"));
    for name in ["enc", "clear"] {
        flip(&table(name), 4 * PAGE + 5000);
    }
    let proof = Proof::run(&[text(server.datadir()), "--keyring", text(&keyring)]);
    assert_eq!(proof.code, 3);
    for (name, check) in [("enc", "opened-checksum"), ("clear", "checksum")] {
        let file = proof.file(&format!("demo/{name}.ibd"));
        assert_eq!((&file["verdict"], &file["units"]["bad"]), (&"damaged".into(), &1.into()), "{file}");
        let finding = &file["findings"][0];
        assert_eq!(
            (&finding["page"], &finding["offset"], &finding["check"]),
            (&4.into(), &(4 * PAGE).into(), &check.into())
        );
    }
    let unsound: Vec<&Value> = proof.unsound().iter().map(|file| &file["path"]).collect();
    assert_eq!(unsound.len(), 2, "{unsound:?}");

    server.start().expect("it starts");
    for name in ["enc_zlib", "enc_geo", "in_ts", "clear_zlib"] {
        server.sql(&format!("SELECT COUNT(*) FROM demo.{name}; CHECK TABLE demo.{name}")).expect(name);
    }
    for name in ["enc", "clear"] {
        let read = server.sql(&format!("SELECT SUM(LENGTH(name)) FROM demo.{name} FORCE INDEX (PRIMARY)"));
        let intact = server.sql("SELECT 1").is_ok();
        assert!(read.is_err() || !intact, "the server reads the damaged page of {name}: {read:?}");
        if !intact {
            server.start().expect("it starts again");
        }
    }
}

#[test]
fn a_redo_file_cut_between_blocks_is_truncated_according_to_the_next_one() {
    let Some(mut server) = mysql() else { return };
    let keyring = keyring_file(&server);
    server
        .sql(
            "SET GLOBAL innodb_redo_log_capacity = 8388608; SET GLOBAL innodb_max_dirty_pages_pct = 90; USE demo;
             UPDATE enc SET name = SHA2(RAND(), 512); UPDATE clear SET name = SHA2(RAND(), 512);
             INSERT INTO clear SELECT id + 200000, name FROM enc; UPDATE clear SET name = SHA2(RAND(), 512)",
        )
        .expect("the log grows");
    server.kill();
    let mut used: Vec<PathBuf> = fs::read_dir(server.datadir().join("#innodb_redo"))
        .expect("read")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| !text(path).ends_with("_tmp"))
        .collect();
    used.sort_by_key(|path| text(path).rsplit("redo").next().and_then(|number| number.parse::<u64>().ok()));
    assert!(used.len() > 1, "{used:?}");
    let args = [text(server.datadir()), "--keyring", text(&keyring)];
    let name = used[0].file_name().expect("a name").to_str().expect("ASCII").to_owned();
    assert_ne!(Proof::run(&args).verdict(&name), "truncated");
    let file = OpenOptions::new().write(true).open(&used[0]).expect("opened");
    let bytes = file.metadata().expect("a length").len();
    file.set_len(bytes / 2 / 512 * 512).expect("cut");
    let proof = Proof::run(&args);
    assert_eq!((proof.code, proof.verdict(&name)), (3, "truncated"), "{}", proof.listing());
}

const MARIADB_TABLES: &str = "
    CREATE DATABASE demo; USE demo;
    CREATE TABLE enc (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(200), KEY(name)) ENCRYPTED=YES;
    INSERT INTO enc (name) SELECT SHA2(RAND(), 512) FROM seq_1_to_3000;
    CREATE TABLE enc_k34 (id INT PRIMARY KEY, name VARCHAR(200)) ENCRYPTED=YES ENCRYPTION_KEY_ID=34;
    INSERT INTO enc_k34 SELECT * FROM enc;
    CREATE TABLE enc_pc (id INT PRIMARY KEY, note TEXT) ENCRYPTED=YES PAGE_COMPRESSED=1;
    INSERT INTO enc_pc SELECT id, REPEAT(LEFT(name, 4), 40) FROM enc;
    CREATE TABLE enc_kb4 (id INT PRIMARY KEY, note TEXT) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4 ENCRYPTED=YES;
    INSERT INTO enc_kb4 SELECT id, name FROM enc;
    CREATE TABLE enc_blob (id INT PRIMARY KEY, b LONGBLOB) ENCRYPTED=YES;
    INSERT INTO enc_blob VALUES (1, REPEAT('sealant', 200000));
    CREATE TABLE clear (id INT PRIMARY KEY, name VARCHAR(200), KEY(name)) ENCRYPTED=NO;
    INSERT INTO clear SELECT * FROM enc;
    CREATE TABLE clear_pc (id INT PRIMARY KEY, note TEXT) ENCRYPTED=NO PAGE_COMPRESSED=1;
    INSERT INTO clear_pc SELECT id, REPEAT(LEFT(name, 4), 40) FROM enc;
    CREATE TABLE aria (id INT PRIMARY KEY, name VARCHAR(200), KEY(name)) ENGINE=Aria TRANSACTIONAL=1;
    INSERT INTO aria SELECT * FROM enc;
    DELETE FROM enc WHERE id % 3 = 0; DELETE FROM clear WHERE id % 2 = 0;
";

const MARIADB_SPATIAL: &str = "
    USE demo; CREATE TABLE enc_geo (id INT PRIMARY KEY, p POINT NOT NULL, SPATIAL INDEX(p)) ENCRYPTED=YES;
    INSERT INTO enc_geo SELECT id, POINT(id, 3 * id) FROM enc;
";

/// A MariaDB server with all encryption switched on, and its key file.
fn mariadb(kind: Kind, more: &[&str]) -> Option<(Server, PathBuf)> {
    require(kind)?;
    let server = Server::builder(kind)
        .mariadb_keys(MARIADB_KEYS)
        .options([
            "--log-bin=mbin",
            "--encrypt-binlog=ON",
            "--innodb-encrypt-tables=ON",
            "--innodb-encryption-threads=2",
            "--innodb-encrypt-log=ON",
            "--aria-encrypt-tables=ON",
            "--encrypt-tmp-disk-tables=ON",
        ])
        .options(more.iter().copied())
        .start()
        .expect("MariaDB starts");
    server.sql(MARIADB_TABLES).expect("tables are made");
    let keys = server.dir().join("keys.txt");
    Some((server, keys))
}

fn proven_in_every_state(kind: Kind, more: &[&str]) {
    let Some((mut server, keys)) = mariadb(kind, more) else { return };
    let proof = |server: &Server| Proof::run(&[text(server.datadir()), "--mariadb-key-file", text(&keys)]);
    if more.is_empty() {
        // The older format cannot encrypt spatial indexes.
        server.sql(MARIADB_SPATIAL).expect("a spatial index is made");
    }
    proof(&server).is_sound_but_for_unwritten_files();
    server.stop().expect("it stops");
    let stopped = proof(&server);
    stopped.is_sound();
    for table in ["enc", "enc_k34", "enc_pc", "enc_kb4", "enc_blob"] {
        assert_eq!(stopped.verdict(&format!("demo/{table}.ibd")), "ok", "{table}");
    }
    for table in ["clear", "clear_pc"] {
        assert_eq!(stopped.verdict(&format!("demo/{table}.ibd")), "clear", "{table}");
    }
    for file in ["demo/aria.MAD", "/mbin.000001", "/ib_logfile0"] {
        assert_eq!(stopped.verdict(file), "ok", "{file}");
    }
    server.start().expect("it starts again");
    server.sql("USE demo; UPDATE enc SET name = REVERSE(name); UPDATE aria SET name = ''").expect("the server works");
    server.kill();
    proof(&server).is_sound_but_for_unwritten_files();

    let keyless = Proof::run(&[text(server.datadir())]);
    assert_eq!((keyless.code, keyless.verdict("demo/enc.ibd")), (4, "unverifiable"));
    let other = server.dir().join("other-keys");
    fs::write(&other, MARIADB_KEYS.replace('3', "4").replace("44;", "34;")).expect("written");
    let wrong = Proof::run(&[text(server.datadir()), "--mariadb-key-file", text(&other)]);
    assert_eq!((wrong.code, wrong.verdict("demo/enc.ibd")), (3, "wrong-key"), "{}", wrong.listing());
    assert_eq!(wrong.verdict("demo/clear.ibd"), "clear");
}

#[test]
fn a_mariadb_1011_server_is_proven_in_every_state() {
    proven_in_every_state(Kind::MariaDb1011, &[]);
}

#[test]
fn a_mariadb_118_server_is_proven_in_every_state() {
    proven_in_every_state(Kind::MariaDb118, &[]);
}

#[test]
fn a_mariadb_server_with_counter_mode_and_the_older_format_is_proven() {
    let more = ["--file-key-management-encryption-algorithm=aes_ctr", "--innodb-checksum-algorithm=crc32"];
    proven_in_every_state(Kind::MariaDb1011, &more);
}

#[test]
fn an_old_mysql_server_is_readable_without_keys() {
    if require(Kind::MySql56).is_none() {
        return;
    }
    let mut server = Server::builder(Kind::MySql56).option("--log-bin=binlog").start().expect("MySQL 5.6 starts");
    server
        .sql(
            "CREATE DATABASE demo; USE demo; CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(200)) ENGINE=InnoDB;
             INSERT INTO t VALUES (1, REPEAT('a', 100)), (2, REPEAT('b', 200))",
        )
        .expect("a table is made");
    Proof::run(&[text(server.datadir())]).is_sound_but_for_unwritten_files();
    server.stop().expect("it stops");
    let proof = Proof::run(&[text(server.datadir())]);
    proof.is_sound();
    assert_eq!(proof.verdict("demo/t.ibd"), "clear");
    assert_eq!(proof.verdict("/ibdata1"), "clear");
}

/// Whether the first extent descriptor marks a page as used: innochecksum skips free pages, whatever they contain.
fn is_in_use(tablespace: &[u8], page: usize) -> bool {
    const BITMAP: usize = 150 + 24;
    tablespace[BITMAP + page / 4] & (1 << (2 * (page % 4))) == 0
}

/// MariaDB's own tool reads unencrypted files of both servers and encrypted ones of its own.
#[test]
fn innochecksum_agrees_page_by_page() {
    let Some((mut server, keys)) = mariadb(Kind::MariaDb1011, &[]) else { return };
    let Some(tool) = server.binaries().tool("innochecksum") else { panic!("innochecksum comes with the server") };
    server.stop().expect("it stops");
    let innochecksum = |path: &Path| Command::new(&tool).arg(path).output().expect("it runs").status.success();
    let damaged = |path: &Path| {
        let proof = Proof::run(&[text(path), "--mariadb-key-file", text(&keys)]);
        proof.files()[0]["verdict"] == "damaged"
    };
    for name in ["enc", "enc_k34", "enc_pc", "enc_kb4", "clear", "clear_pc"] {
        let original = server.datadir().join(format!("demo/{name}.ibd"));
        assert!(innochecksum(&original) && !damaged(&original), "{name}");
        let copy = server.dir().join("copy.ibd");
        let page = if name == "enc_kb4" { 4096 } else { 16384 };
        let bytes = fs::read(&original).expect("read");
        let used = (3..bytes.len() / page).filter(|number| is_in_use(&bytes, *number));
        // After the header, in the part that the checksums of all formats cover.
        let locations: Vec<u64> = used.zip([60, 200, 39]).map(|(number, at)| (number * page + at) as u64).collect();
        assert!(!locations.is_empty(), "{name}");
        for at in locations {
            fs::copy(&original, &copy).expect("copied");
            flip(&copy, at);
            assert_eq!(damaged(&copy), !innochecksum(&copy), "{name} byte {at}");
            assert!(damaged(&copy), "{name} byte {at}");
        }
    }
}

#[test]
fn bad_input_is_one_clear_error() {
    let dir = tempfile::tempdir().expect("a directory");
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tablespace/mysql97-4k-encrypted.ibd");
    let broken = dir.path().join("keyring");
    fs::write(&broken, r#"{"version":"1.0","elements":[{"user":"","data_id":"INNODB"#).expect("written");
    let directory = text(dir.path());
    for (args, code) in [
        (vec!["nowhere"], 1),
        (vec![text(&sample), "--keyring", "nowhere"], 1),
        (vec![text(&sample), "--keyring", directory], 1),
        (vec![text(&sample), "--keyring", text(&broken)], 1),
        (vec![text(&sample), "--mariadb-key-file", text(&broken)], 1),
        (vec![text(&sample), "--keyring-config", "/etc/hostname"], 1),
        (vec![], 2),
        (vec![text(&sample), "--jobs", "0"], 2),
    ] {
        let output = sealant().arg("verify").args(&args).output().expect("the binary starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{args:?}");
        let errors = stderr.lines().filter(|line| line.contains("error:")).count();
        assert_eq!(errors, 1, "{args:?}: {stderr}");
    }
}

#[test]
fn the_page_for_auditors_says_what_was_proven_and_what_was_not() {
    let dir = tempfile::tempdir().expect("a directory");
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let (sample, page) = (testdata.join("tablespace/mysql97-4k-encrypted.ibd"), dir.path().join("page.html"));
    let html = |paths: &[&Path], code: i32| {
        let mut verify = sealant();
        verify.arg("verify").args(paths).arg("--html").arg(&page);
        verify.arg("--keyring").arg(testdata.join("keyring/mysql97-4k-component-file.json"));
        assert_eq!(verify.output().expect("the binary starts").status.code(), Some(code), "{paths:?}");
        fs::read_to_string(&page).expect("a page")
    };
    let proven = html(&[&sample], 0);
    assert!(proven.contains("Proven: every file is sound") && proven.contains(text(&sample)), "{proven}");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    assert!(proven.contains(host.trim_end()), "the host is named");

    let damaged = dir.path().join("t<b>.ibd");
    let mut bytes = fs::read(&sample).expect("a sample");
    *bytes.get_mut(3 * 4096 + 2000).expect("a page") ^= 1;
    fs::write(&damaged, bytes).expect("written");
    let faulty = html(&[&sample, &damaged], 3);
    assert!(faulty.contains("Faulty:") && faulty.contains("page 3 at byte 12288"), "{faulty}");
    assert!(faulty.contains("t&#60;b&#62;.ibd") && !faulty.contains("t<b>.ibd"), "{faulty}");

    let nowhere = sealant().arg("verify").arg(&sample).args(["--html", "/proc/nowhere/page.html"]).output();
    let nowhere = nowhere.expect("the binary starts");
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(nowhere.stdout.is_empty(), "it is refused before files are read");

    let redirected = dir.path().join("redirected.html");
    let mut verify = sealant();
    verify.arg("verify").arg(&sample).args(["--html", "/dev/stdout"]);
    verify.arg("--keyring").arg(testdata.join("keyring/mysql97-4k-component-file.json"));
    let ended = verify.stdout(fs::File::create(&redirected).expect("made")).status().expect("the binary starts");
    assert_eq!(ended.code(), Some(0));
    let both = fs::read_to_string(&redirected).expect("text");
    assert!(both.contains("</html>") && both.contains("VERDICT"), "the page and the table: {both}");
    assert!(Path::new("/dev/stdout").is_symlink(), "the name of standard output is not replaced");
}

#[test]
fn a_directory_without_a_file_of_a_server_is_no_success() {
    let (dir, sound) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("another"));
    let other = dir.path().join("etc");
    for (name, content) in [("hosts", "127.0.0.1 localhost\n"), ("jvm.cfg", "-server KNOWN\n"), ("ssh/moduli", "x")] {
        let path = other.join(name);
        fs::create_dir_all(path.parent().expect("below")).expect("made");
        fs::write(path, content).expect("written");
    }
    let empty = dir.path().join("not-mounted");
    fs::create_dir(&empty).expect("made");
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tablespace/mysql97-16k-clear.ibd.zst");
    let bytes = zstd::decode_all(fs::read(sample).expect("a sample").as_slice()).expect("whole");
    fs::write(sound.path().join("t.ibd"), bytes).expect("written");
    for nothing in [&empty, &other] {
        for paths in [vec![text(nothing)], vec![text(sound.path()), text(nothing)]] {
            let proof = Proof::run(&paths);
            assert_eq!(proof.code, 4, "{paths:?}: {}", proof.stderr);
            let message = format!("{}: no file of a server here", nothing.display());
            assert!(proof.stderr.contains(&message), "{}", proof.stderr);
        }
    }
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(sound.path(), &link).expect("linked");
    assert_eq!(
        Proof::run(&[text(sound.path()), text(&link)]).code,
        0,
        "a second way to the same files is no second place"
    );
}
