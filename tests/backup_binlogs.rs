//! `sealant backup binlogs` of real servers, and restores to a point in time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use archive::Digest;
use archive::binlog::BinlogReceipt;
use archive::receipt::NAMESPACE;
use archive::sshsig::{self, SigningKey};
use harness::certs::{Authority, Profile};
use harness::{KeyringLocation, Kind, Replication, Server, ServerBuilder, limit, require, wait_until};
use serde_json::Value;

use crate::support::backup::{Backups, age, ended, files_below, with_keeper};
use crate::support::schema::has_its_schema;

fn text(path: &Path) -> &str {
    path.to_str().expect("the harness uses ASCII paths")
}

/// A server, its backups, and what a restore needs besides.
pub(crate) struct Case {
    builder: ServerBuilder,
    pub(crate) server: Server,
    secrets: tempfile::TempDir,
    pub(crate) backups: Backups,
    /// Options of a restore.
    pub(crate) keys: Vec<String>,
    pub(crate) mysqld: PathBuf,
}

const TABLES: &str = "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY AUTO_INCREMENT, note VARCHAR(200)); \
     INSERT INTO shop.orders (note) VALUES ('secret-marker-1'), ('two'), ('three')";

impl Case {
    /// With the same keys as lines of the configuration and as options of a restore.
    fn new(builder: ServerBuilder, secrets: tempfile::TempDir, lines: &str, keys: &[&str]) -> Self {
        let server = builder.clone().start().expect("the server starts");
        server.sql(TABLES).expect("tables are made");
        let lines = format!("socket = {:?}\nuser = \"root\"\n{lines}", server.socket());
        let backups = Backups::new(server.datadir(), &lines);
        backups.configure("[data]\n", "[binlogs]\nsegment_every = \"1s\"\n[data]\nprovider = \"follow\"\n");
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        let mysqld = server.kind().locate().expect("it is here").daemon;
        Self { builder, server, secrets, backups, keys, mysqld }
    }

    pub(crate) fn mysql() -> Option<Self> {
        require(Kind::MySql97)?;
        let secrets = tempfile::tempdir().expect("a directory");
        let keyring = secrets.path().join("keyring");
        let options = [
            "--gtid-mode=ON",
            "--enforce-gtid-consistency=ON",
            "--binlog-encryption=ON",
            "--default-table-encryption=ON",
        ];
        let builder = Server::builder(Kind::MySql97).keyring(KeyringLocation::Path(keyring.clone())).options(options);
        Some(Self::new(builder, secrets, &format!("keyring = {keyring:?}"), &["--keyring", text(&keyring)]))
    }

    pub(crate) fn mariadb() -> Option<Self> {
        require(Kind::MariaDb1011)?;
        let secrets = tempfile::tempdir().expect("a directory");
        let keys = secrets.path().join("keys");
        fs::write(&keys, "1;9f1c3a0d2b4e5f60718293a4b5c6d7e8f9010203040506070809000102030405\n").expect("written");
        let options = [
            "--log-bin=binlog",
            "--plugin-load-add=file_key_management",
            "--innodb-encrypt-tables=ON",
            "--encrypt-binlog=ON",
        ];
        let builder = Server::builder(Kind::MariaDb1011).options(options);
        let builder = builder.option(format!("--file-key-management-filename={}", keys.display()));
        Some(Self::new(builder, secrets, &format!("mariadb_key_file = {keys:?}"), &["--mariadb-key-file", text(&keys)]))
    }

    fn archive(&self) -> Value {
        self.backups.backup(&["binlogs", "--once"]).is(0).json
    }

    fn restore(&self, name: &str, more: &[&str]) -> (PathBuf, Value) {
        let into = self.backups.path(name);
        let mut options: Vec<&str> = self.keys.iter().map(String::as_str).collect();
        options.extend(["--mysqld", text(&self.mysqld)]);
        options.extend(more);
        // The hash shows that nothing newer is hidden.
        let newest = more.contains(&"--to-end").then(|| self.archive()["receipt"].as_str().expect("a hash").to_owned());
        options.extend(newest.iter().flat_map(|newest| ["--binlog-receipt", newest]));
        let ran = self.backups.restore("1", &into, &options).is(0);
        if more.contains(&"--before-gtid") {
            let is_mysql = self.server.kind() == Kind::MySql97;
            let event = if is_mysql { "ALTER EVENT `shop`.`nightly` ENABLE" } else { "drop these again: shop.nightly" };
            return (into, ran.says(event).json);
        }
        (into, ran.json)
    }

    /// A server on a restored directory.
    pub(crate) fn start(&self, into: &Path) -> Server {
        self.builder.clone().datadir_seed(into).start().expect("a server starts on it")
    }

    /// The transaction that dropped the table, as the archive lists it.
    fn dropped(&self) -> Value {
        let now = jiff::Timestamp::now().to_string();
        let identity = self.backups.path("identity");
        let shown = self.backups.backup(&[
            "binlogs",
            "show",
            "--around",
            &now,
            "--within",
            "1h",
            "--identity",
            text(&identity),
        ]);
        let shown = shown.is(0).json;
        assert!(!shown.to_string().contains("secret-marker"), "{shown:#}");
        let transactions = shown["transactions"].as_array().expect("transactions");
        let drops = |transaction: &&Value| transaction["changes"]["shop.orders"].to_string().contains("DROP TABLE");
        transactions.iter().find(drops).expect("the statement is found").clone()
    }
}

/// Marker in the rows that a replay writes.
const REPLAYED: &str = "replayed-marker";

/// Asserts that no file of a table has a replayed row in the clear.
#[track_caller]
fn is_sealed(datadir: &Path) {
    let tables = files_below(datadir).into_iter().filter(|path| path.extension() == Some("ibd".as_ref()));
    for table in tables {
        let bytes = fs::read(&table).expect("readable");
        assert!(!bytes.windows(REPLAYED.len()).any(|window| window == REPLAYED.as_bytes()), "{}", table.display());
    }
}

fn rows(server: &Server) -> String {
    server.value("SELECT GROUP_CONCAT(note ORDER BY id) FROM shop.orders").expect("the table is there")
}

/// Changes after the backup, over several logs, the last of which drops the table.
fn an_error_is_undone(case: &Case) {
    // MariaDB writes long statements beside their rows; positions after them must be right.
    case.server.sql("CREATE TABLE shop.texts (t LONGTEXT)").expect("a table is made");
    for _ in 0..3 {
        case.server.sql(&format!("INSERT INTO shop.texts VALUES ('{}')", "y".repeat(40_000))).expect("changed");
    }
    case.backups.backup(&["run"]).is(0);
    case.server.sql(&format!("INSERT INTO shop.orders (note) VALUES ('{REPLAYED}')")).expect("changed");
    let first = case.archive();
    assert!(first["segments"].as_u64() > Some(0), "{first}");
    // The archive continues inside a log.
    case.server.sql("INSERT INTO shop.texts VALUES ('short')").expect("changed");
    case.server.sql("FLUSH BINARY LOGS; UPDATE shop.orders SET note = 'TWO' WHERE id = 2").expect("changed");
    case.server.sql("CREATE USER app IDENTIFIED BY 'x'; GRANT SELECT ON shop.* TO app").expect("an account is made");
    let event = "CREATE EVENT shop.nightly ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.orders WHERE id < 0";
    case.server.sql(event).expect("an event is made");
    if case.server.kind() == Kind::MySql97 {
        // A master key created during the replay would be lost with the temporary server.
        case.server.sql("ALTER INSTANCE ROTATE INNODB MASTER KEY").expect("rotated");
    }
    case.server
        .sql("INSERT INTO shop.orders (note) VALUES (REPEAT('x', 200)); DROP TABLE shop.orders")
        .expect("changed");
    let later = "CREATE TABLE shop.later (a INT PRIMARY KEY, note TEXT)";
    case.server.sql(&format!("{later}; INSERT INTO shop.later VALUES (1, '{REPLAYED}')")).expect("changed");
    case.archive();
    // A second run finds nothing new.
    assert_eq!(case.archive()["segments"], 0);
    let objects = case.backups.objects();
    let stored = objects.iter().filter(|path| path.to_string_lossy().contains("/binlogs/"));
    for object in stored {
        let bytes = fs::read(object).expect("readable");
        assert!(!bytes.windows(13).any(|window| window == b"secret-marker"), "{}", object.display());
    }

    let is_receipt = |path: &&PathBuf| path.to_string_lossy().ends_with("/receipts/00000001.json");
    let receipt = objects.iter().find(is_receipt).expect("a receipt of binary logs");
    let receipt = serde_json::from_slice(&fs::read(receipt).expect("readable")).expect("JSON");
    has_its_schema(&receipt, "binlog-receipt-1");

    // Every part is there, and its bytes are those of its receipt.
    let checked = case.backups.backup(&["check", "all", "--objects"]).is(0).json;
    assert_eq!(checked["unnamed"].as_array().map(Vec::len), Some(0), "{checked:#}");
    let part = objects
        .iter()
        .find(|path| path.to_string_lossy().contains("/binlogs/") && path.extension() == Some("age".as_ref()));
    let part = part.expect("a part");
    let bytes = fs::read(part).expect("readable");
    let mut changed = bytes.clone();
    changed[bytes.len() / 2] ^= 1;
    fs::write(part, changed).expect("written");
    let checked = case.backups.backup(&["check", "all", "--objects"]).is(3).json;
    assert!(checked["objects"]["bad"][0]["object"].to_string().contains("/binlogs/"), "{checked:#}");
    fs::write(part, bytes).expect("written");

    // Every part opens with the identity, and with no other.
    let read = |identity: &Path| case.backups.backup(&["check", "all", "--read-data", "--identity", text(identity)]);
    read(&case.backups.path("identity")).is(0);
    let stranger = case.backups.path("stranger");
    fs::write(&stranger, agefile::Identity::generate().expect("an identity").to_secret_text().as_bytes())
        .expect("written");
    let unopened = read(&stranger).is(3).json["objects"]["bad"].to_string();
    assert!(unopened.contains("/binlogs/"), "{unopened}");

    case.backups.backup(&["binlogs", "show", "--host", "db2"]).is(1).says("has no binary logs of db2");

    let dropped = case.dropped();
    let whole = format!("secret-marker-1,TWO,three,{REPLAYED},{}", "x".repeat(200));
    let gtid = dropped["gtid"].as_str().expect("a GTID");
    let (into, json) = case.restore("before", &["--before-gtid", gtid, "--prove"]);
    assert_eq!(json["next_left_out"]["gtid"], gtid, "{json:#}");
    assert_eq!(json["proof"]["bad_pages"], 0, "{json:#}");
    is_sealed(&into);
    let restored = case.start(&into);
    assert_eq!(rows(&restored), whole);
    assert_eq!(restored.value("SELECT COUNT(*) FROM mysql.user WHERE user = 'app'").expect("accounts"), "1");
    drop(restored);

    let position = format!("{}:{}", dropped["file"].as_str().expect("a log"), dropped["start"]);
    let (into, _) = case.restore("position", &["--to-position", &position]);
    assert_eq!(rows(&case.start(&into)), whole);
    if case.server.kind() == Kind::MySql97 {
        // MySQL records the time of a commit in microseconds.
        let committed: jiff::Timestamp = dropped["committed"].as_str().expect("a time").parse().expect("a time");
        let before = committed - jiff::SignedDuration::from_micros(1);
        let (into, json) = case.restore("time", &["--to-time", &before.to_string()]);
        assert_eq!((rows(&case.start(&into)), &json["next_left_out"]["gtid"]), (whole, &dropped["gtid"]));
        let early = case.backups.restore(
            "1",
            &case.backups.path("early"),
            &["--mysqld", text(&case.mysqld), "--to-time", "2026-01-01T00:00:00Z"],
        );
        early.is(1).says("restore an older one");
        let early = ["--mysqld", text(&case.mysqld), "--to-time", "2026-01-01T00:00:00Z"];
        let none = case.backups.restore("latest", &case.backups.path("early"), &early).is(1);
        none.says("no backup of db1 is older than the point in time").says("choose a later point in time");
        let (into, _) = case.restore("gtid", &["--to-gtid", gtid]);
        case.start(&into).sql("SELECT 1 FROM shop.orders").expect_err("it was dropped");
        // A newer backup contains changes after the target: `latest` must choose the one before it.
        case.backups.backup(&["run"]).is(0);
        let plan = |backup, target: &[&str]| {
            let mut options: Vec<&str> = case.keys.iter().map(String::as_str).collect();
            options.extend(["--mysqld", text(&case.mysqld), "--dry-run"]);
            options.extend(target);
            case.backups.restore(backup, &case.backups.path("planned"), &options)
        };
        for target in [["--before-gtid", gtid], ["--to-position", &position], ["--to-time", &before.to_string()]] {
            plan("2", &target).is(1).says("backup 2 is newer than the point in time");
            plan("latest", &target).is(0).says("backup 1");
        }
        plan("latest", &["--to-end"]).is(0).says("backup 2");
    }
    let mut options: Vec<&str> = case.keys.iter().map(String::as_str).collect();
    options.extend(["--mysqld", text(&case.mysqld), "--to-end"]);
    case.backups
        .restore("1", &case.backups.path("unsure"), &options)
        .is(4)
        .says("could hide newer binary logs")
        .says("--binlog-receipt");
    let other = "0".repeat(64);
    options.extend(["--binlog-receipt", &other]);
    case.backups
        .restore("1", &case.backups.path("hidden"), &options)
        .is(1)
        .says("the newest receipt of binary logs is");
    let (into, json) = case.restore("end", &["--to-end"]);
    assert_eq!(json["next_left_out"], Value::Null, "{json:#}");
    is_sealed(&into);
    let restored = case.start(&into);
    assert_eq!(restored.value("SELECT COUNT(*) FROM shop.later").expect("the last table"), "1");
    restored.sql("SELECT 1 FROM shop.orders").expect_err("it was dropped");
}

#[test]
fn an_error_on_mysql_is_undone() {
    if let Some(case) = Case::mysql() {
        an_error_is_undone(&case);
    }
}

#[test]
fn an_error_on_mariadb_is_undone() {
    if let Some(case) = Case::mariadb() {
        an_error_is_undone(&case);
    }
}

/// The replay of its logs keeps the replication channels of a replica.
#[test]
fn a_replica_of_mysql_keeps_its_channels() {
    let Some(case) = Case::mysql() else { return };
    let channel = |user| {
        format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'up.invalid', SOURCE_USER = '{user}', SOURCE_AUTO_POSITION = 1"
        )
    };
    let both = format!("{}; {} FOR CHANNEL 'second'", channel("one"), channel("two"));
    case.server.sql(&both).expect("channels are made");
    let channels = |server: &Server| {
        let columns = "Channel_name, ' ', Host, ' ', User_name, ' ', Enabled_auto_position";
        let query = format!("SELECT GROUP_CONCAT({columns} ORDER BY Channel_name) FROM mysql.slave_master_info");
        server.value(&query).expect("channels")
    };
    let expected = channels(&case.server);
    case.backups.backup(&["run"]).is(0);
    case.server.sql("INSERT INTO shop.orders (note) VALUES ('four'); FLUSH BINARY LOGS").expect("changed");
    case.server.sql("INSERT INTO shop.orders (note) VALUES ('five')").expect("changed");
    case.archive();
    let (into, _) = case.restore("replica", &["--to-end", "--prove"]);
    let restored = case.start(&into);
    assert_eq!(rows(&restored), "secret-marker-1,two,three,four,five");
    assert_eq!(channels(&restored), expected);
}

#[test]
fn the_archive_survives_kills_and_purged_logs_are_a_gap() {
    let Some(case) = Case::mysql() else { return };
    case.backups.backup(&["run"]).is(0);
    for round in 0..3 {
        let mut follower =
            case.backups.command(&["binlogs", "--follow"]).stderr(Stdio::null()).spawn().expect("it starts");
        for number in 0..40 {
            let row = format!("INSERT INTO shop.orders (note) VALUES ('{round}-{number}')");
            case.server.sql(&row).expect("changed");
        }
        let parts =
            || case.backups.objects().iter().filter(|path| path.to_string_lossy().contains("/binlogs/")).count();
        let before = parts();
        case.server.sql("FLUSH BINARY LOGS; INSERT INTO shop.orders (note) VALUES ('end')").expect("changed");
        wait_until("something is archived", limit(60), || if parts() > before { Ok(()) } else { Err("nothing yet") });
        follower.kill().expect("killed");
        follower.wait().expect("it ends");
    }
    // A host that has lost its state continues from its receipts.
    case.archive();
    fs::remove_dir_all(case.backups.path("state")).expect("removed");
    case.server.sql("INSERT INTO shop.orders (note) VALUES ('without state')").expect("changed");
    case.archive();
    let expected = rows(&case.server);
    let (into, _) = case.restore("all", &["--to-end"]);
    assert_eq!(rows(&case.start(&into)), expected);

    case.server.sql("INSERT INTO shop.orders (note) VALUES ('lost'); FLUSH BINARY LOGS").expect("changed");
    std::thread::sleep(Duration::from_secs(1));
    let newest = case.server.value("SHOW BINARY LOG STATUS").expect("a log");
    let newest = newest.split('\t').next().expect("a name");
    case.server.sql(&format!("PURGE BINARY LOGS TO '{newest}'")).expect("purged");
    case.server.sql("INSERT INTO shop.orders (note) VALUES ('behind')").expect("changed");
    let gap = case.backups.backup(&["binlogs", "--once"]).is(3).says("binary logs are lost");
    assert_eq!(gap.json["gaps"].as_array().map(Vec::len), Some(1), "{}", gap.json);
    let shown = case.backups.backup(&["binlogs", "show"]).is(3);
    assert!(shown.json["archives"][0]["findings"][0].to_string().contains("missing"), "{}", shown.json);
    // A follower that begins later still has it in its metrics.
    let metrics = case.backups.path("metrics.prom");
    let mut follower = case.backups.command(&["binlogs", "--follow"]);
    let mut follower = follower.arg("--prometheus").arg(&metrics).stderr(Stdio::null()).spawn().expect("it starts");
    let lost = "sealant_backup_binlogs_lost_timestamp_seconds{";
    let written = || fs::read_to_string(&metrics).unwrap_or_default();
    wait_until(
        "the loss is in the metrics",
        limit(60),
        || if written().contains(lost) { Ok(()) } else { Err(written()) },
    );
    follower.kill().expect("killed");
    follower.wait().expect("it ends");
    // Another backup begins a new window behind the gap.
    let windows = |list: &Value| list["windows"].as_array().expect("windows").clone();
    let list = case.backups.backup(&["list"]).is(0).json;
    assert_eq!((windows(&list).len(), &windows(&list)[0]["backup"]), (1, &Value::from(1)), "{list:#}");
    assert!(list["gaps"][0]["reason"].to_string().contains("missing"), "{list:#}");
    assert_eq!(list["gaps"].as_array().map(Vec::len), Some(1), "{list:#}");
    case.backups.backup(&["run"]).is(0);
    std::thread::sleep(Duration::from_secs(1));
    case.server.sql("INSERT INTO shop.orders (note) VALUES ('after the second backup')").expect("changed");
    case.archive();
    let list = case.backups.backup(&["list"]).is(0).json;
    assert_eq!((windows(&list).len(), &windows(&list)[1]["backup"]), (2, &Value::from(2)), "{list:#}");
    let table = case.backups.command(&["list"]).output().expect("it starts");
    let table = String::from_utf8_lossy(&table.stdout);
    assert!(table.contains("any second from ") && table.contains("are missing from "), "{table}");
    let mut options: Vec<&str> = case.keys.iter().map(String::as_str).collect();
    options.extend(["--mysqld", text(&case.mysqld), "--to-end"]);
    let refused = ended(&mut case.backups.restore_command("1", &case.backups.path("gap"), &options));
    refused.is(1).says("logs are missing before");
    assert!(!case.backups.path("gap").exists(), "nothing is restored");
}

#[test]
fn a_restart_loses_nothing_and_foreign_objects_are_ignored() {
    let Some(mut case) = Case::mysql() else { return };
    case.backups.backup(&["run"]).is(0);
    case.archive();
    // Only the newest log is archived in part; the server may purge those that are archived completely.
    case.server.sql("FLUSH BINARY LOGS").expect("flushed");
    case.archive();
    case.server.sql("FLUSH BINARY LOGS").expect("flushed");
    case.archive();
    let newest = case.server.value("SHOW BINARY LOG STATUS").expect("a log");
    let newest = newest.split('\t').next().expect("a name");
    case.server.sql(&format!("PURGE BINARY LOGS TO '{newest}'")).expect("purged");
    case.archive();

    let says = case.backups.path("follower");
    let follower = fs::File::create(&says).expect("a file");
    let mut follower = case.backups.command(&["binlogs", "--follow"]).stderr(follower).spawn().expect("it starts");
    let archived = |case: &Case, what: &str| {
        let parts =
            || case.backups.objects().iter().filter(|path| path.to_string_lossy().contains("/binlogs/")).count();
        let before = parts();
        for number in 0..5 {
            let row = format!("INSERT INTO shop.orders (note) VALUES ('{what}-{number}')");
            case.server.sql(&row).expect("changed");
        }
        wait_until(what, limit(60), || if parts() > before { Ok(()) } else { Err("nothing is archived") });
    };
    archived(&case, "before the restart");
    case.server.stop().expect("it stops");
    std::thread::sleep(Duration::from_secs(3));
    case.server.restart_with(&[]).expect("it starts again");
    archived(&case, "after the restart");
    let stopped = std::process::Command::new("kill").arg(follower.id().to_string()).status().expect("kill runs");
    assert!(stopped.success() && follower.wait().expect("it ends").success(), "{:?}", fs::read_to_string(&says));
    let said = fs::read_to_string(&says).expect("text");
    assert!(!said.contains("lost"), "{said}");
    let expected = rows(&case.server);
    case.archive();
    case.server.sql("INSERT INTO shop.orders (note) VALUES ('newest')").expect("changed");
    case.archive();

    // An attacker who may put objects adds foreign ones.
    let host = case.backups.object("hosts/db1/binlogs");
    let receipts = fs::read_dir(&host).expect("an archive").next().expect("a server").expect("readable").path();
    let receipts = receipts.join("receipts");
    fs::write(receipts.join("99999999.json"), "x").expect("written");
    fs::create_dir_all(host.join("other/receipts")).expect("made");
    fs::write(host.join("other/receipts/00000001.json"), "x").expect("written");
    let (into, _) = case.restore("despite", &["--to-end"]);
    assert_eq!(rows(&case.start(&into)), format!("{expected},newest"));
    let checked = case.backups.backup(&["check", "all", "--objects"]).is(3).json.to_string();
    assert!(checked.contains("99999999") && checked.contains("binlogs/other"), "{checked}");

    // An attacker who may delete objects creates a gap: nothing after it is restored.
    for name in ["00000002.json", "00000002.json.sig"] {
        fs::remove_file(receipts.join(name)).expect("removed");
    }
    let mut options: Vec<&str> = case.keys.iter().map(String::as_str).collect();
    options.extend(["--mysqld", text(&case.mysqld), "--to-end"]);
    let refused = case.backups.restore("1", &case.backups.path("hidden"), &options);
    refused.is(1).says("logs are missing before").says("receipts between 1 and 3 are missing");
}

/// A follower, and what it writes to stderr.
struct Follower {
    process: Child,
    says: PathBuf,
}

impl Follower {
    fn start(backups: &Backups) -> Self {
        let says = backups.path("says");
        let stderr = fs::File::create(&says).expect("a file");
        let mut command = backups.command(&["binlogs", "--follow"]);
        let process = command.stderr(stderr).stdout(Stdio::null()).spawn().expect("it starts");
        Self { process, says }
    }

    fn says(&self) -> String {
        fs::read_to_string(&self.says).expect("text")
    }

    #[track_caller]
    fn wait_for(&self, text: &str) {
        wait_until(text, limit(120), || if self.says().contains(text) { Ok(()) } else { Err(self.says()) });
    }

    /// Asks it to end; returns its exit code.
    fn stop(mut self) -> Option<i32> {
        let asked = std::process::Command::new("kill").arg(self.process.id().to_string()).status().expect("kill runs");
        assert!(asked.success());
        self.process.wait().expect("it ends").code()
    }
}

/// A server begins its logs again: before a run, and while a follower reads them. Some of these servers neither end the
/// stream of the former log nor send anything of the new one. Each time the archive names what may be missing, and a
/// backup made afterwards is complete with it.
fn logs_that_begin_again_are_a_gap(case: &Case) {
    let reset = if case.server.kind().is_mariadb() { "RESET MASTER" } else { "RESET BINARY LOGS AND GTIDS" };
    let insert = |note: &str, count| {
        let row = format!("INSERT INTO shop.orders (note) VALUES ('{note}');");
        case.server.sql(&row.repeat(count)).expect("changed");
    };
    let begin_again = || case.server.sql(reset).expect("the logs are reset");
    let gaps = |archived: &Value| archived["gaps"].as_array().map(Vec::len);
    case.backups.backup(&["run"]).is(0);
    insert("a", 50);
    case.archive();
    begin_again();
    insert("b", 1);
    let once = case.backups.backup(&["binlogs", "--once"]).is(3).says("binary logs are lost");
    assert_eq!(gaps(&once.json), Some(1), "{}", once.json);
    insert("c", 50);
    assert_eq!(gaps(&case.archive()), Some(0));

    let follower = Follower::start(&case.backups);
    follower.wait_for("the server sends its log");
    begin_again();
    insert("d", 1);
    follower.wait_for("binary logs are lost");
    insert("e", 1);
    assert_eq!(follower.stop(), Some(3));

    case.backups.backup(&["run"]).is(0);
    insert("f", 2);
    let newest = case.archive()["receipt"].as_str().expect("a hash").to_owned();
    let mut options: Vec<&str> = case.keys.iter().map(String::as_str).collect();
    options.extend(["--mysqld", text(&case.mysqld), "--to-end", "--binlog-receipt", &newest]);
    let refused = case.backups.restore("1", &case.backups.path("refused"), &options);
    refused.is(1).says("logs are missing before");
    let into = case.backups.path("into");
    case.backups.restore("2", &into, &options).is(0);
    let expected = rows(&case.server);
    assert!(expected.ends_with("c,d,e,f,f"), "{expected}");
    assert_eq!(rows(&case.start(&into)), expected);
}

#[test]
fn logs_of_mysql_that_begin_again_are_a_gap() {
    if let Some(case) = Case::mysql() {
        logs_that_begin_again_are_a_gap(&case);
    }
}

#[test]
fn logs_of_mariadb_that_begin_again_are_a_gap() {
    if let Some(case) = Case::mariadb() {
        logs_that_begin_again_are_a_gap(&case);
    }
}

/// The address leads to another server, although the former one still answers on its connection. What has arrived of the
/// former one is archived first.
#[test]
fn a_follower_notices_that_its_server_was_replaced() {
    let Some(case) = Case::mysql() else { return };
    let link = case.backups.path("server.sock");
    let lead_to = |server: &Server| {
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(server.socket(), &link).expect("a link");
    };
    lead_to(&case.server);
    case.backups.configure(&format!("socket = {:?}", case.server.socket()), &format!("socket = {link:?}"));
    case.backups.configure("segment_every = \"1s\"", "segment_every = \"60s\"");
    let mut follower = Follower::start(&case.backups);
    follower.wait_for("the server sends its log");
    case.server.sql("INSERT INTO shop.orders (note) VALUES ('newest')").expect("changed");
    let executed = case.server.value("SELECT @@GLOBAL.gtid_executed").expect("GTIDs");
    let options = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
    let other = Server::builder(Kind::MySql97).options(options).start().expect("another server starts");
    lead_to(&other);
    let ended = wait_until("it ends", limit(120), || follower.process.try_wait().expect("a child"));
    let said = follower.says();
    assert!(ended.code() == Some(1) && said.contains("another server answers than before"), "{ended}: {said}");
    let shown = case.backups.backup(&["binlogs", "show"]).is(0).json;
    assert_eq!(shown["archives"][0]["gtid"], executed.as_str(), "{shown:#}");
}

/// The server is killed while a follower reads from it. The archive has what the server has when it has recovered.
fn a_killed_server_loses_nothing(mut case: Case) {
    case.backups.backup(&["run"]).is(0);
    let follower = Follower::start(&case.backups);
    follower.wait_for("the server sends its log");
    for round in 1..=3 {
        let row = format!("INSERT INTO shop.orders (note) VALUES ('{round}');");
        case.server.sql(&row.repeat(20)).expect("changed");
        case.server.kill();
        case.server.restart_with(&[]).expect("it starts again");
        let connected = || follower.says().matches("the server sends its log").count();
        wait_until("it follows again", limit(120), || if connected() > round { Ok(()) } else { Err(follower.says()) });
    }
    let said = follower.says();
    assert!(!said.contains("lost from"), "{said}");
    assert_eq!(follower.stop(), Some(0), "{said}");
    let expected = rows(&case.server);
    assert_eq!(expected.matches('3').count(), 20, "{expected}");
    let (into, _) = case.restore("into", &["--to-end"]);
    assert_eq!(rows(&case.start(&into)), expected);
}

#[test]
fn a_killed_server_of_mysql_loses_nothing() {
    if let Some(case) = Case::mysql() {
        a_killed_server_loses_nothing(case);
    }
}

#[test]
fn a_killed_server_of_mariadb_loses_nothing() {
    if let Some(case) = Case::mariadb() {
        a_killed_server_loses_nothing(case);
    }
}

/// A domain that is removed from the logs is no gap.
#[test]
fn a_removed_domain_of_mariadb_is_no_gap() {
    let Some(case) = Case::mariadb() else { return };
    case.backups.backup(&["run"]).is(0);
    case.server.sql("SET gtid_domain_id = 7; INSERT INTO shop.orders (note) VALUES ('domain 7')").expect("changed");
    case.archive();
    case.server.sql("FLUSH BINARY LOGS; INSERT INTO shop.orders (note) VALUES ('domain 0')").expect("changed");
    case.archive();
    // A domain can be removed when no log has an event of it, and a log goes only when its transactions are durable.
    let newest = case.server.value("SHOW MASTER STATUS").expect("a log");
    let newest = newest.split('\t').next().expect("a name");
    let remove = format!("PURGE BINARY LOGS TO '{newest}'; FLUSH BINARY LOGS DELETE_DOMAIN_ID = (7)");
    wait_until("the domain is removed", limit(60), || case.server.sql(&remove));
    case.server.sql("INSERT INTO shop.orders (note) VALUES ('after')").expect("changed");
    let (into, json) = case.restore("into", &["--to-end"]);
    assert_eq!(json["next_left_out"], Value::Null, "{json:#}");
    assert_eq!(rows(&case.start(&into)), rows(&case.server));
    case.backups.backup(&["binlogs", "show"]).is(0);
}

#[test]
fn logs_are_read_over_tls_from_a_verified_server() {
    let Some(case) = Case::mysql() else { return };
    let authorities = tempfile::tempdir().expect("a directory");
    let [own, other] = ["own", "other"].map(|name| {
        let directory = authorities.path().join(name);
        fs::create_dir(&directory).expect("made");
        Authority::create(&directory).expect("an authority")
    });
    let files = own.issue("server", &Profile::default()).expect("a certificate");
    let foreign = other.issue("server", &Profile::default()).expect("a certificate");
    case.server
        .sql(&format!(
            "SET GLOBAL ssl_ca = {:?}; SET GLOBAL ssl_cert = {:?}; SET GLOBAL ssl_key = {:?}; ALTER INSTANCE RELOAD TLS; \
             CREATE USER archive@'%' IDENTIFIED BY 'word'",
            files.ca, files.cert, files.key
        ))
        .expect("TLS is set up");
    let password = authorities.path().join("password");
    fs::write(&password, "word\n").expect("written");
    let (wrong, right) = (format!("ca = {:?}", foreign.ca), format!("ca = {:?}", files.ca));
    let source = format!("[binlogs]\nurl = \"mysql://archive@localhost:{}\"\n{wrong}\n", case.server.port());
    case.backups.configure("[binlogs]\n", &source);
    case.backups.configure("user = \"root\"\n", &format!("user = \"root\"\npassword_file = {password:?}\n"));
    case.backups.backup(&["binlogs", "--once"]).is(1).says("certificate");
    case.backups.configure(&wrong, &right);
    case.backups.backup(&["binlogs", "--once"]).is(1).says("GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.*");
    case.server.sql("GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO archive@'%'").expect("granted");
    assert!(case.archive()["event_bytes"].as_u64() > Some(0));
}

/// Logs from before the oldest backup go, and the archive is whole without them.
#[test]
fn logs_before_the_oldest_backup_are_pruned() {
    let Some(case) = Case::mysql() else { return };
    case.backups.backup(&["run"]).is(0);
    let log = |note: &str| {
        case.server
            .sql(&format!("INSERT INTO shop.orders (note) VALUES ('{note}'); FLUSH BINARY LOGS"))
            .expect("changed");
        case.archive();
    };
    for note in ["a", "b", "c"] {
        log(note);
    }
    case.backups.backup(&["run"]).is(0);
    for note in ["d", "e"] {
        log(note);
    }
    with_keeper(&case.backups, "keep_last = 1\ndaily = 0\nweekly = 0\nmonthly = 0\nmin_good = 1");
    let prune = |options: &[&str]| case.backups.backup(&[&["prune"], options].concat()).is(0);
    let logs = |of: &Value| of.pointer("/hosts/0/binlogs").and_then(Value::as_array).map(Vec::len);
    assert_eq!(logs(&prune(&["--dry-run"]).json), Some(0), "they are less than a day older");

    make_older(&case.backups, 3);
    age(&case.backups.object("hosts/db1/receipts/000001.json"), 4);
    let pruned = prune(&["--yes"]);
    assert_eq!(
        (logs(&pruned.json), pruned.number("/pruned/backups")),
        (Some(0), 1),
        "the first backup was still there"
    );
    let before = case.backups.objects().len() as u64;
    let planned = prune(&["--dry-run"]).json;
    assert_eq!(logs(&planned), Some(1), "{planned:#}");
    let pruned = prune(&["--yes"]);
    has_its_schema(&pruned.json, "backup-prune-1");
    let of_logs = pruned.number("/hosts/0/binlogs/0/parts") + 2 * pruned.number("/hosts/0/binlogs/0/receipts");
    assert!(of_logs > 0, "{}", pruned.json);
    assert_eq!(case.backups.objects().len() as u64, before + 2 - pruned.number("/pruned/objects"));
    let declared = case
        .backups
        .objects()
        .into_iter()
        .rfind(|path| path.to_string_lossy().contains("/prunes/") && path.extension() == Some("json".as_ref()));
    let declared = fs::read(declared.expect("a declaration")).expect("readable");
    has_its_schema(&serde_json::from_slice(&declared).expect("JSON"), "prune-1");

    let signers = case.backups.path("signers");
    let check = ["check", "all", "--objects", "--allowed-signers", text(&signers)];
    // The packs of the first backup are too young to go.
    let checked = case.backups.backup(&check).is(0).json;
    assert!(!checked["unnamed"].to_string().contains("/binlogs/"), "{checked:#}");
    assert_eq!(logs(&prune(&["--yes"]).json), Some(0));
    log("f");
    case.backups.backup(&check).is(0);
    let mut options: Vec<&str> = case.keys.iter().map(String::as_str).collect();
    let newest = case.archive()["receipt"].as_str().expect("a hash").to_owned();
    options.extend(["--mysqld", text(&case.mysqld), "--to-end", "--binlog-receipt", &newest]);
    let into = case.backups.path("end");
    case.backups.restore("2", &into, &options).is(0);
    assert_eq!(rows(&case.start(&into)), rows(&case.server));

    // Without the declaration they are lost.
    fs::rename(case.backups.object("prunes"), case.backups.path("hidden")).expect("hidden");
    case.backups.backup(&check).is(3);
    let shown = case.backups.backup(&["binlogs", "show"]).is(3).json.to_string();
    assert!(shown.contains("the receipts before it are missing"), "{shown}");
}

/// Makes the logs of the first receipts two days older, as if they had been archived then.
fn make_older(backups: &Backups, receipts: usize) {
    const SECONDS: u32 = 48 * 3600;
    let key = fs::read_to_string(backups.path("signing.key")).expect("the key");
    let key = SigningKey::parse(&key).expect("a key");
    let archives = backups.object("hosts/db1/binlogs");
    let server = fs::read_dir(archives).expect("an archive").next().expect("a server").expect("readable").path();
    let mut previous = None;
    for number in 1.. {
        let path = server.join(format!("receipts/{number:08}.json"));
        let Ok(bytes) = fs::read(&path) else { break };
        let mut receipt = BinlogReceipt::parse(&bytes).expect("a receipt");
        let older = if number <= receipts { SECONDS } else { 0 };
        for segment in &mut receipt.segments {
            (segment.first, segment.last) = (segment.first - older, segment.last - older);
        }
        receipt.previous = previous;
        let bytes = receipt.encode().expect("JSON");
        previous = Some(Digest::compute(&bytes));
        fs::write(path.with_extension("json.sig"), sshsig::sign(&key, NAMESPACE, &bytes)).expect("written");
        fs::write(&path, bytes).expect("written");
        age(&path, if number <= receipts { 2 } else { 0 });
    }
    // The host goes on after the newest one.
    let is_state = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with("binlogs-") && name.ends_with(".json")
    };
    let state = files_below(&backups.path("state")).into_iter().find(is_state).expect("a state");
    let mut document: Value = serde_json::from_slice(&fs::read(&state).expect("readable")).expect("JSON");
    document["previous"] = previous.expect("a receipt").to_string().into();
    fs::write(state, document.to_string()).expect("written");
}

/// A replica becomes the source; what the old source had not archived is in the new one's logs.
#[test]
fn the_archive_continues_after_a_failover() {
    let Some(mut case) = Case::mysql() else { return };
    let options = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
    let keyring = KeyringLocation::Path(case.secrets.path().join("replica"));
    let mut replica =
        Server::builder(Kind::MySql97).keyring(keyring).options(options).start().expect("the replica starts");
    replica.replicate_from(&case.server, &Replication::default()).expect("it replicates");
    case.backups.backup(&["run"]).is(0);
    case.server.sql("INSERT INTO shop.orders (note) VALUES ('archived')").expect("changed");
    case.archive();
    case.server.sql("INSERT INTO shop.orders (note) VALUES ('replicated')").expect("changed");
    replica.catch_up_with(&case.server).expect("it catches up");
    // Transactions that only the lost server had stay lost.
    case.server.stop().expect("it stops");
    replica
        .sql("STOP REPLICA; RESET REPLICA ALL; INSERT INTO shop.orders (note) VALUES ('taken over')")
        .expect("changed");

    let socket = |server: &Server| format!("socket = {:?}", server.socket());
    case.backups.configure(&socket(&case.server), &socket(&replica));
    let took = case.backups.backup(&["binlogs", "--once"]).is(0).says("the server took over from");
    assert_eq!(took.json["gaps"].as_array().map(Vec::len), Some(0), "{}", took.json);
    replica.sql("FLUSH BINARY LOGS; INSERT INTO shop.orders (note) VALUES ('later')").expect("changed");
    let last = replica.value("SELECT @@GLOBAL.gtid_executed").expect("GTIDs");
    let newest = case.archive()["receipt"].as_str().expect("a hash").to_owned();
    let shown = case.backups.backup(&["binlogs", "show"]).is(0).json;
    let archives = shown["archives"].as_array().expect("archives");
    let of_replica = archives.iter().find(|archive| archive["predecessor"].is_string()).expect("it is shown");
    let of_source = archives.iter().find(|archive| archive["server"] == of_replica["predecessor"]);
    assert!(archives.len() == 2 && of_source.is_some(), "{shown:#}");
    has_its_schema(&shown, "backup-binlogs-list-1");

    let expected = rows(&replica);
    assert!(expected.ends_with("archived,replicated,taken over,later"), "{expected}");
    let restored = |name: &str, target: &[&str]| {
        let mut options: Vec<&str> = case.keys.iter().map(String::as_str).collect();
        options.extend(["--mysqld", text(&case.mysqld)]);
        options.extend(target);
        let into = case.backups.path(name);
        let json = case.backups.restore("1", &into, &options).is(0).json;
        (case.start(&into), json)
    };
    let (server, json) = restored("end", &["--to-end", "--binlog-receipt", &newest]);
    assert_eq!(rows(&server), expected);
    assert_eq!(server.value(&format!("SELECT GTID_SUBSET('{last}', @@GLOBAL.gtid_executed)")).expect("a number"), "1");
    has_its_schema(&json, "restore-1");
    drop(server);
    // One target after the failover, and one before it.
    let uuid = replica.value("SELECT @@server_uuid").expect("a UUID");
    let (server, json) = restored("behind", &["--to-gtid", &format!("{uuid}:1")]);
    assert_eq!(rows(&server), expected.trim_end_matches(",later"));
    assert_eq!(json["next_left_out"]["server"], uuid.as_str(), "{json:#}");
    drop(server);
    let (server, _) = restored("before", &["--before-gtid", &format!("{uuid}:1")]);
    assert!(rows(&server).ends_with("archived,replicated"));
    drop(server);

    // A server that lacks archived transactions cannot continue the archive.
    let other = Server::builder(Kind::MySql97).options(options).start().expect("another server starts");
    case.backups.configure(&socket(&replica), &socket(&other));
    case.backups.backup(&["binlogs", "--once"]).is(3).says("the new server lacks transactions of");
}

#[test]
fn a_replica_of_mariadb_is_archived() {
    let Some(case) = Case::mariadb() else { return };
    case.server
        .sql(
            "CHANGE MASTER 'other' TO MASTER_HOST = '127.0.0.2', MASTER_USER = 'nobody'; \
             CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_USER = 'nobody'",
        )
        .expect("channels are made");
    case.backups.backup(&["run"]).is(0);
    case.server.sql("INSERT INTO shop.orders (note) VALUES ('four')").expect("changed");
    assert!(case.archive()["segments"].as_u64() > Some(0));
    let expected = rows(&case.server);
    let (into, _) = case.restore("replica", &["--to-end"]);
    let restored = case.start(&into);
    assert_eq!(rows(&restored), expected);
    let channels = restored.value("SHOW ALL SLAVES STATUS\\G").expect("channels");
    assert!(channels.contains("127.0.0.1") && channels.contains("127.0.0.2"), "{channels}");
}

#[test]
fn another_server_of_mariadb_begins_an_archive_of_its_own_and_says_so() {
    let Some(case) = Case::mariadb() else { return };
    case.backups.backup(&["run"]).is(0);
    case.archive();
    let other = case.builder.clone().option("--server-id=77").start().expect("another server starts");
    other.sql("CREATE DATABASE elsewhere").expect("changed");
    let socket = |server: &Server| format!("socket = {:?}", server.socket());
    case.backups.configure(&socket(&case.server), &socket(&other));
    let once = || case.backups.backup(&["binlogs", "--once"]);
    let began = once().is(3).says("the logs of two MariaDB servers cannot be joined").says("make a new backup");
    assert_eq!(began.json["gaps"].as_array().map(Vec::len), Some(1), "{}", began.json);
    other.sql("CREATE DATABASE further").expect("changed");
    assert_eq!(once().is(0).json["gaps"].as_array().map(Vec::len), Some(0));
}
