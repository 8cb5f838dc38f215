//! Servers with unencrypted tables of all kinds, and runs of `sealant encrypt` on them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use harness::{KeyringLocation, Kind, Server, ServerBuilder};
use serde_json::Value;

use super::schema::has_its_schema;
use super::{run, sealant};

const LOG: &str = "statements.jsonl";

/// Text that no file may contain after encryption.
pub(crate) const MARKER: &[u8] = b"CLEARTEXT-MARKER";

pub(crate) const MYSQL_TABLES: &str = "CREATE DATABASE shop; USE shop;
    CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200), g VARCHAR(250) AS (CONCAT(v, '!')) STORED, KEY(v));
    INSERT INTO t (v) WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < 900)
    SELECT CONCAT('CLEARTEXT-MARKER ', n, REPEAT('x', 100)) FROM s;
    INSERT INTO t (v) SELECT a.v FROM t a JOIN (SELECT 1 FROM t LIMIT 15) b;
    UPDATE t SET v = CONCAT(v, 'y') WHERE id < 5000;
    CREATE TABLE zip (id INT PRIMARY KEY, v VARCHAR(200)) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4;
    INSERT INTO zip SELECT id, v FROM t WHERE id < 900;
    CREATE TABLE parts (id INT, v VARCHAR(200)) PARTITION BY RANGE(id) SUBPARTITION BY HASH(id) SUBPARTITIONS 2
    (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE);
    INSERT INTO parts VALUES (1, 'CLEARTEXT-MARKER one'), (11, 'CLEARTEXT-MARKER eleven');
    CREATE TABLE words (id INT PRIMARY KEY, b TEXT, FULLTEXT(b)); INSERT INTO words VALUES (1, 'CLEARTEXT-MARKER of a word');
    CREATE TABLESPACE general ADD DATAFILE 'general.ibd';
    CREATE TABLE inside (id INT PRIMARY KEY, v VARCHAR(99)) TABLESPACE general;
    INSERT INTO inside VALUES (1, 'CLEARTEXT-MARKER inside');
    CREATE TABLE parent (id INT PRIMARY KEY); INSERT INTO parent VALUES (1);
    CREATE TABLE child (id INT, FOREIGN KEY(id) REFERENCES parent(id)); INSERT INTO child VALUES (1);
    CREATE TRIGGER counted AFTER INSERT ON parent FOR EACH ROW SET @x = 1;
    CREATE DATABASE `a-b/c`; CREATE TABLE `a-b/c`.`it's \"odd\"` (id INT, v VARCHAR(99));
    INSERT INTO `a-b/c`.`it's \"odd\"` VALUES (1, 'CLEARTEXT-MARKER odd');
    CREATE TABLE `a-b/c`.`q#p#q` (id INT) COMMENT 'ENCRYPTION=\\'Y\\'';
    CREATE TABLE `a-b/c`.old (id INT, v VARCHAR(99)) TABLESPACE innodb_system;
    CREATE TABLE `a-b/c`.`ünï` (id INT, b TEXT, FULLTEXT(b)); FLUSH LOGS";

pub(crate) const SUMS: &str = "CHECKSUM TABLE shop.t, shop.zip, shop.parts, shop.words, shop.inside, shop.parent, shop.child, \
    `a-b/c`.`it's \"odd\"`, `a-b/c`.`q#p#q`, `a-b/c`.old, `a-b/c`.`ünï`";

pub(crate) fn clear_mysql() -> ServerBuilder {
    let options = ["--log-bin=binlog", "--innodb-redo-log-capacity=64M", "--innodb-flush-log-at-trx-commit=2"];
    Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).options(options)
}

/// A MySQL server with tables of all kinds, none of them encrypted.
pub(crate) fn mysql_with_tables() -> Server {
    let server = clear_mysql().start().expect("MySQL starts");
    server.sql(MYSQL_TABLES).expect("tables are made");
    assert!(!files_with_marker(server.datadir()).is_empty(), "the marker is there to be found");
    server
}

/// Like [`mysql_with_tables`], without tables whose file name is encoded: if MySQL 9.7.4 is killed while it copies such
/// a table, it may not find the tablespace until it is restarted again (error 1812).
pub(crate) fn mysql_to_be_killed() -> Server {
    let server = mysql_with_tables();
    server.sql("DROP DATABASE `a-b/c`").expect("dropped");
    server
}

pub(crate) fn arguments<'a>(server: &'a Server, verb: &'a str) -> Vec<&'a str> {
    let socket = server.socket().to_str().expect("ASCII");
    vec!["encrypt", verb, "--socket", socket, "--user", "root", "--format", "json"]
}

/// Result of a run: report, exit code, and stderr.
pub(crate) struct Ended {
    pub(crate) report: Value,
    pub(crate) code: i32,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn run(server: &Server, verb: &str, more: &[&str]) -> Self {
        Self::with_state_in(server.dir(), server, verb, more)
    }

    /// Runs as another user than root.
    pub(crate) fn run_as(user: &str, server: &Server, verb: &str, more: &[&str]) -> Self {
        let as_user = |word| if word == "root" { user } else { word };
        Self::with(arguments(server, verb).into_iter().map(as_user).collect(), server.dir(), verb, more)
    }

    /// Runs with state and log in `location` instead of beside the server.
    pub(crate) fn with_state_in(location: &Path, server: &Server, verb: &str, more: &[&str]) -> Self {
        Self::with(arguments(server, verb), location, verb, more)
    }

    fn with(all: Vec<&str>, location: &Path, verb: &str, more: &[&str]) -> Self {
        let log = location.join(LOG);
        let mut all = all;
        if verb == "run" {
            let state = location.to_str().expect("ASCII");
            all.extend(["--yes", "--log", log.to_str().expect("ASCII"), "--state-dir", state]);
        }
        all.extend(more);
        let output = run(&all);
        let report = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        if report != Value::Null {
            has_its_schema(&report, "encrypt-1");
        }
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Self { report, code: output.status.code().unwrap_or(-1), stderr }
    }

    #[track_caller]
    pub(crate) fn is_done(&self) {
        let why = format!("{}\n{}\n{}", self.stderr, self.report["leftovers"], self.report["steps"]);
        assert_eq!((self.code, self.report["done"].as_bool()), (0, Some(true)), "{why}");
    }

    #[track_caller]
    pub(crate) fn refuses(&self, code: i32, reason: &str) {
        assert_eq!(self.code, code, "{} {}", self.stderr, self.report);
        assert!(self.stderr.contains(reason), "{reason:?} is not in {}", self.stderr);
        assert_eq!(self.stderr.matches("sealant: error:").count(), 1, "{}", self.stderr);
    }

    pub(crate) fn steps(&self) -> Vec<&str> {
        self.report["steps"].as_array().into_iter().flatten().filter_map(|step| step["step"].as_str()).collect()
    }

    pub(crate) fn failures(&self) -> String {
        let failed = |step: &&Value| step["state"] == "failed";
        let steps = self.report["steps"].as_array().into_iter().flatten().filter(failed);
        steps.map(ToString::to_string).collect()
    }

    pub(crate) fn artefacts(&self, closable: bool) -> Vec<&str> {
        let leftovers = self.report["leftovers"].as_array().into_iter().flatten();
        let of_kind = leftovers.filter(|leftover| leftover["closable"] == closable);
        of_kind.filter_map(|leftover| leftover["artefact"].as_str()).collect()
    }
}

/// A key file encrypted for MariaDB by `openssl enc`.
pub(crate) fn sealed_keys(lines: &str, password: &Path) -> Vec<u8> {
    let mut openssl = Command::new("openssl");
    openssl.args(["enc", "-aes-256-cbc", "-md", "sha1", "-pass", &format!("file:{}", password.display())]);
    let mut child =
        openssl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("openssl starts");
    child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    output.stdout
}

pub(crate) fn log(server: &Server) -> PathBuf {
    server.dir().join(LOG)
}

/// Files of the data directory that contain the marker, except the temporary tablespaces, which MySQL cannot encrypt.
pub(crate) fn files_with_marker(datadir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![datadir.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a directory").flatten() {
            let path = entry.path();
            if path.ends_with("#innodb_temp") || path.ends_with("ibtmp1") {
                continue;
            }
            if path.is_dir() {
                directories.push(path);
            } else if let Some(page) = fs::read(&path).ok().and_then(|bytes| page_with_marker(&bytes)) {
                found.push(path.join(page));
            }
        }
    }
    found
}

/// Number, type and tablespace of the first page with the marker, for diagnosis.
pub(crate) fn page_with_marker(bytes: &[u8]) -> Option<String> {
    let at = harness::find(bytes, MARKER)?;
    let page = bytes.get(at / 16384 * 16384..)?;
    let (kind, space) = (page.get(24..26)?, page.get(34..38)?);
    Some(format!("page {} of type {kind:?} of tablespace {space:?}", at / 16384))
}

pub(crate) fn holds_marker(bytes: &[u8]) -> bool {
    harness::contains(bytes, MARKER)
}

/// Pauses writers during a run. Starting a client for each statement instead would slow the run down.
pub(crate) fn pause_between_statements() {
    thread::sleep(Duration::from_millis(50));
}

/// Waits until a run has logged this statement.
#[track_caller]
pub(crate) fn comes_to(server: &Server, child: &mut Child, statement: &str) {
    harness::wait_until(statement, harness::limit(120), || {
        let log = fs::read_to_string(log(server)).unwrap_or_default();
        let has_come = log.contains(statement);
        assert!(has_come || child.try_wait().expect("its state").is_none(), "it ended before: {log}");
        if has_come { Ok(()) } else { Err(log) }
    });
}

pub(crate) fn start(server: &Server, more: &[&str]) -> Child {
    let log = log(server);
    let mut command = sealant();
    command.args(arguments(server, "run")).args(["--yes", "--log", log.to_str().expect("ASCII")]).args(more);
    command.args(["--state-dir", server.dir().to_str().expect("ASCII")]);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts")
}
