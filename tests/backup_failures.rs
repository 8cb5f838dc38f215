//! What can fail while a server is backed up or a backup is restored: one error says what to do, nothing is lost, and
//! the same command works once the cause is gone.
//!
//! `SEALANT_FAULTS` is the number of runs killed at random moments (3), `SEALANT_FAULT_SEED` chooses the moments.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use harness::{KeyringLocation, Kind, Server, ServerBuilder, require};

use crate::support::backup::{Backups, files, is_same, shown_on_terminal, status_lines, stopped_mysql, with_keyring};
use crate::support::binlog::put_gtid_first;
use crate::support::chance::{Random, number};
use crate::support::proof::Statements;
use crate::support::sealant;
use crate::support::unchanged::{Load, assert_whole, options, prepare};

fn text(path: &Path) -> &str {
    path.to_str().expect("the harness uses ASCII paths")
}

/// A server that works while it is backed up by `follow`, with encrypted tables.
struct Followed {
    builder: ServerBuilder,
    server: Server,
    backups: Backups,
    /// Option of a restore that names the keys.
    keys: [String; 2],
    _secrets: tempfile::TempDir,
}

impl Followed {
    fn mysql() -> Option<Self> {
        require(Kind::MySql97)?;
        let secrets = tempfile::tempdir().expect("a directory");
        let keyring = secrets.path().join("keyring");
        let builder = Server::builder(Kind::MySql97).options(options(Kind::MySql97));
        let builder = builder.keyring(KeyringLocation::Path(keyring.clone())).option("--innodb-redo-log-encrypt=ON");
        Some(Self::start(builder, "ENCRYPTION='Y'", ["keyring", "--keyring"], &keyring, secrets))
    }

    fn mariadb() -> Option<Self> {
        require(Kind::MariaDb1011)?;
        let secrets = tempfile::tempdir().expect("a directory");
        let key_file = secrets.path().join("keys");
        let lines = format!("1;{}\n", "3a".repeat(32));
        fs::write(&key_file, &lines).expect("written");
        let encrypted = ["--innodb-encrypt-tables=FORCE", "--innodb-encrypt-log=ON", "--innodb-log-file-size=8M"];
        let builder = Server::builder(Kind::MariaDb1011).options(options(Kind::MariaDb1011));
        let builder = builder.mariadb_keys(&lines).options(encrypted);
        Some(Self::start(builder, "", ["mariadb_key_file", "--mariadb-key-file"], &key_file, secrets))
    }

    fn start(
        builder: ServerBuilder,
        table_options: &str,
        [line, option]: [&str; 2],
        keys: &Path,
        secrets: tempfile::TempDir,
    ) -> Self {
        let server = builder.clone().start().expect("it starts");
        prepare(&server, table_options);
        // Files that take a while to copy.
        server
            .sql(&format!(
                "CREATE TABLE bank.large (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(4000)) {table_options}; \
                 INSERT INTO bank.large (v) SELECT REPEAT('v', 4000) FROM bank.account; \
                 INSERT INTO bank.large (v) SELECT a.v FROM bank.large a, (SELECT 1 FROM bank.account LIMIT 20) b"
            ))
            .expect("a large table");
        let backups = Backups::new(server.datadir(), &format!("{line} = {keys:?}"));
        let account = format!("socket = {:?}\nuser = \"root\"\n[data]\nprovider = \"follow\"", server.socket());
        backups.configure("[data]", &account);
        let keys = [option.to_owned(), text(keys).to_owned()];
        Self { builder, server, backups, keys, _secrets: secrets }
    }

    fn run(&self) -> Child {
        self.backups.command(&["run"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts")
    }

    /// The directory for copies.
    fn copies(&self) -> PathBuf {
        self.server.dir().join(".sealant-snapshots")
    }

    /// Waits until a run copies the server's files.
    fn wait_for_copy(&self) {
        harness::wait_until("the server is copied", harness::limit(60), || {
            let copies = fs::read_dir(self.copies()).into_iter().flatten().flatten();
            copies.map(|copy| copy.path().join("data")).any(|data| data.join("bank").exists())
        });
    }

    fn number_of_backups(&self) -> usize {
        self.backups.backup(&["list"]).is(0).json["backups"].as_array().expect("a list").len()
    }

    /// Makes a backup, restores it, and asserts that a server starts on it with every commit.
    fn is_backed_up(&self, load: Option<&Load>) {
        let acknowledged = load.map(Load::acknowledged).unwrap_or_default();
        let made = self.backups.backup(&["run"]).is(0);
        assert_eq!((made.number("/pages/damaged"), &made.json["provider"]), (0, &"follow".into()), "{}", made.json);
        let into = self.backups.path("into");
        let keys = self.keys.each_ref().map(String::as_str);
        let code = if made.number("/pages/unproven") == 0 { 0 } else { 4 };
        self.backups.restore(&made.number("/number").to_string(), &into, &keys).is(code);
        let copy = self.builder.clone().datadir_seed(&into).start().expect("a server starts on what was restored");
        assert_whole(&copy, &acknowledged);
        fs::remove_dir_all(into).expect("it was there");
    }
}

/// Asserts that a run failed with one error.
#[track_caller]
fn failed(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().filter(|line| line.contains("error:")).count(), 1, "{said}");
    said
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).map_or(true, |mut found| found.next().is_none())
}

fn a_server_is_killed_while_it_is_copied(mut followed: Followed) {
    let load = Load::start(&followed.server, 2);
    load.goes_on(20);
    let running = followed.run();
    followed.wait_for_copy();
    followed.server.kill();
    drop(load);
    let said = failed(&running.wait_with_output().expect("it ends"));
    assert!(followed.number_of_backups() == 0 && is_empty(&followed.copies()), "{said}");
    followed.server.start().expect("it recovers");
    followed.is_backed_up(None);
}

#[test]
fn mysql_is_killed_while_it_is_copied() {
    if let Some(followed) = Followed::mysql() {
        a_server_is_killed_while_it_is_copied(followed);
    }
}

#[test]
fn mariadb_is_killed_while_it_is_copied() {
    if let Some(followed) = Followed::mariadb() {
        a_server_is_killed_while_it_is_copied(followed);
    }
}

/// The locks end with the sessions of the run, and the next run takes another copy.
fn a_run_is_killed_while_it_copies_a_server(followed: &Followed, mut random: Random) {
    let load = Load::start(&followed.server, 2);
    load.goes_on(20);
    let began = Instant::now();
    followed.is_backed_up(Some(&load));
    let whole = u64::try_from(began.elapsed().as_micros()).expect("not that long") / 2;
    let mut alive = 0;
    for round in 0..number("SEALANT_FAULTS", 3) {
        let before = followed.number_of_backups();
        let mut running = followed.run();
        // How long a run takes depends on what else the machine does, so one of them is killed when its copy has begun.
        if round == 0 {
            followed.wait_for_copy();
        } else {
            sleep(Duration::from_micros(random.below(whole)));
        }
        alive += u32::from(running.try_wait().expect("it is asked").is_none());
        running.kill().expect("it was there");
        running.wait().expect("it ends");
        let definition = format!("SET SESSION lock_wait_timeout = 30; CREATE TABLE bank.after{round} (a INT)");
        followed.server.sql(&definition).expect("no lock is left");
        load.goes_on(5);
        assert!(followed.number_of_backups() <= before + 1);
        followed.is_backed_up(Some(&load));
    }
    assert!(alive > 0, "every run had ended before it was killed");
}

#[test]
fn a_run_killed_while_it_copies_mysql_leaves_no_lock() {
    if let Some(followed) = Followed::mysql() {
        a_run_is_killed_while_it_copies_a_server(&followed, Random::new(0xbaf0));
    }
}

#[test]
fn a_run_killed_while_it_copies_mariadb_leaves_no_lock() {
    if let Some(followed) = Followed::mariadb() {
        a_run_is_killed_while_it_copies_a_server(&followed, Random::new(0xbaf1));
    }
}

fn signal(process: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &process.id().to_string()]).status();
    assert!(sent.expect("kill").success());
}

/// Whoever ends the sessions of a run also ends its locks, so that tables can be defined while it copies.
fn the_sessions_of_a_run_are_killed(followed: &Followed) {
    let account = "CREATE USER keeper@localhost; GRANT ALL ON *.* TO keeper@localhost";
    followed.server.sql(account).expect("an account for the run alone");
    followed.backups.configure("user = \"root\"", "user = \"keeper\"");
    let load = Load::start(&followed.server, 2);
    load.goes_on(20);
    let running = followed.run();
    followed.wait_for_copy();
    signal(&running, "-STOP");
    let sessions = "SELECT GROUP_CONCAT(id) FROM information_schema.processlist WHERE user = 'keeper'";
    let sessions = followed.server.value(sessions).expect("sessions");
    for session in sessions.split(',') {
        followed.server.sql(&format!("KILL {session}")).expect("killed");
    }
    let definition = "SET SESSION lock_wait_timeout = 30; CREATE TABLE bank.unlocked (a INT); DROP TABLE bank.unlocked";
    followed.server.sql(definition).expect("no lock is left");
    signal(&running, "-CONT");
    let said = failed(&running.wait_with_output().expect("it ends"));
    assert!(followed.number_of_backups() == 0 && is_empty(&followed.copies()), "{said}");
    followed.is_backed_up(Some(&load));
}

/// While the server is copied, a terminal shows how much, and how fast. A lock keeps the copy from its end until then.
fn the_copy_shows_its_progress(followed: &Followed) {
    followed.server.sql("CREATE TABLE bank.held (a INT) ENGINE=MyISAM").expect("a table that a copy locks");
    let mut snapshot = sealant();
    snapshot.args(["snapshot", "create", "--provider", "follow", "--user", "root", "--datadir"]);
    snapshot.arg(followed.server.datadir()).arg("--socket").arg(followed.server.socket()).args(&followed.keys);
    for command in [followed.backups.command(&["run", "--full"]), snapshot] {
        let is_shown = |said: &str| {
            let lines = status_lines(said, "copying ");
            lines.iter().any(|line| line.contains(" of ") && line.contains(" %), ") && line.contains("/s"))
        };
        let holding = Statements::hold(&followed.server, "LOCK TABLES bank.held WRITE");
        let said = shown_on_terminal(&command, is_shown, || drop(holding));
        assert!(!said.replace("\x1b[K", "").contains('\x1b'), "NO_COLOR is set: {said:?}");
    }
    fs::remove_dir_all(followed.copies()).expect("the copy of snapshot create");
    // How much room that needs is said before.
    followed.backups.backup(&["run", "--dry-run"]).is(0).says("the copy would take").says("after the copy");
    let said = followed.backups.run_on_terminal("dumb");
    assert!(!said.contains('\x1b') && !said.contains("copying ") && said.contains(" of db1: "), "{said:?}");
}

#[test]
fn a_run_whose_sessions_are_killed_by_mysql_makes_no_backup() {
    if let Some(followed) = Followed::mysql() {
        the_sessions_of_a_run_are_killed(&followed);
        the_copy_shows_its_progress(&followed);
    }
}

#[test]
fn a_run_whose_sessions_are_killed_by_mariadb_makes_no_backup() {
    if let Some(followed) = Followed::mariadb() {
        the_sessions_of_a_run_are_killed(&followed);
    }
}

/// A reader that falls a whole redo log behind cannot have read all of it.
#[test]
fn a_run_that_falls_behind_the_redo_log_of_mariadb_fails() {
    let Some(followed) = Followed::mariadb() else { return };
    let written = || -> u64 {
        let row = followed.server.sql("SHOW GLOBAL STATUS LIKE 'Innodb_lsn_current'").expect("it answers");
        row.split_whitespace().last().expect("a value").parse().expect("a number")
    };
    let mut said = String::new();
    for _ in 0..5 {
        let running = followed.run();
        followed.wait_for_copy();
        signal(&running, "-STOP");
        let began = written();
        let more = "INSERT INTO bank.large (v) SELECT v FROM bank.large LIMIT 2000";
        // Stopped at its end, the run holds the lock for which a commit waits; then another try is needed.
        let is_free = || followed.server.sql(&format!("SET SESSION lock_wait_timeout = 5; {more}")).is_ok();
        while is_free() && written() < began + 4 * (8 << 20) {}
        signal(&running, "-CONT");
        let output = running.wait_with_output().expect("it ends");
        if output.status.success() {
            continue;
        }
        said = failed(&output);
        break;
    }
    assert!(said.contains("overwr") && said.contains("innodb_log_file_size"), "{said}");
    assert!(is_empty(&followed.copies()), "{said}");
    followed.is_backed_up(None);
}

#[test]
fn two_machines_that_write_at_once_as_one_host_lose_nothing() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    let is_refused =
        |output: &Output| !output.status.success() && failed(output).contains("another machine writes as db1: backup");
    let mut was_refused = false;
    let of_this = backups.path("backup.toml");
    let (of_other, configuration) = (backups.path("other.toml"), fs::read_to_string(&of_this).expect("it was written"));
    let run = |configuration: &Path| {
        let mut command = sealant();
        command.args(["backup", "run", "--full", "--config"]).arg(configuration);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    for round in 0..10 {
        let state = format!("/other-state-{round}\"");
        fs::write(&of_other, configuration.replacen("/state\"", &state, 1)).expect("room");
        let runs = [run(&of_this), run(&of_other)];
        let ended = runs.map(|run| run.wait_with_output().expect("it ends"));
        assert!(ended.iter().any(|output| output.status.success()), "{ended:?}");
        was_refused = ended.iter().any(is_refused);
        if was_refused {
            break;
        }
    }
    assert!(was_refused, "no two runs wanted the same number");
    let signers = backups.path("signers");
    backups.backup(&["check", "all", "--objects", "--allowed-signers", text(&signers)]).is(0);
    let last = backups.backup(&["run"]).is(0).number("/number").to_string();
    backups.restore(&last, &backups.path("last"), &["--keyring", text(&keyring)]).is(0);
    is_same(&backups.path("last"), &files(server.datadir()));
}

/// A byte that changes on disk after it was written: a restore trusts no write, also not that of an earlier try.
#[test]
fn a_byte_that_changes_on_disk_during_a_restore_is_found() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    let expected = files(server.datadir());
    let into = backups.path("into");
    let keys = ["--keyring", text(&keyring)];
    let staged = || -> Vec<PathBuf> {
        let staging = into.join(".sealant-staging");
        let found = if staging.exists() { crate::support::backup::files_below(&staging) } else { Vec::new() };
        found.into_iter().filter(|path| path.ends_with("mysql.ibd") && path.exists()).collect()
    };
    let table = expected.iter().find(|(path, _)| path.ends_with("mysql.ibd")).expect("a file").1;
    for _ in 0..20 {
        let mut command = backups.restore_command("1", &into, &keys);
        let mut restoring = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        while !staged().first().is_some_and(|path| fs::read(path).is_ok_and(|bytes| bytes == *table)) {
            assert!(restoring.try_wait().expect("its state").is_none(), "it ended before its files were seen");
        }
        restoring.kill().expect("it was there");
        restoring.wait().expect("it ends");
        if !staged().is_empty() {
            break;
        }
        fs::remove_dir_all(&into).expect("it was restored");
    }
    let path = staged().pop().expect("a staged file");
    let mut bytes = fs::read(&path).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).expect("written");
    let resumed = backups.restore("1", &into, &keys);
    if resumed.code != 0 {
        resumed.is(1).says("mysql.ibd: what was read back from disk differs from the backup");
        assert!(!into.join("sealant-manifest").exists() && !into.join("mysql.ibd").exists());
        backups.restore("1", &into, &keys).is(0);
    }
    is_same(&into, &expected);
}

#[test]
fn another_identity_gets_the_recipients_of_the_backup() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    let identity = fs::read_to_string(backups.path("identity")).expect("an identity");
    let recipient = agefile::Identity::parse_file(&identity).expect("an identity")[0].recipient().to_string();
    let fingerprint = archive::Digest::compute(recipient.as_bytes()).to_string()[..16].to_owned();
    let other = agefile::Identity::generate().expect("an identity");
    fs::write(backups.path("identity"), other.to_secret_text().as_bytes()).expect("written");
    let into = backups.path("into");
    backups.restore("1", &into, &["--keyring", text(&keyring)]).is(1).says(&fingerprint).says("age-keygen -y");
    assert!(is_empty(&into));
}

/// The server wrote such a log itself; the backup of it is as good as the server.
#[test]
fn a_log_with_which_a_server_may_not_start_is_reported_and_is_not_damage() {
    let Some(_) = require(Kind::MySql97) else { return };
    let gtids = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
    let builder = Server::builder(Kind::MySql97).options(gtids);
    let mut server = builder.clone().start().expect("it starts");
    server.sql("FLUSH BINARY LOGS; CREATE DATABASE newer").expect("a log with a transaction");
    let log = server.sql("SHOW BINARY LOG STATUS").expect("a log").split('\t').next().expect("a name").to_owned();
    server.stop().expect("it stops");
    put_gtid_first(&server.datadir().join(&log));
    let backups = Backups::new(server.datadir(), "");
    let made = backups.backup(&["run"]).is(0).says(&format!("{log}: the server wrote a GTID before Previous_gtids"));
    assert_eq!((made.number("/pages/damaged"), &made.json["findings"][0]["id"]), (0, &"event-order".into()));
    assert_eq!(backups.backup(&["list"]).is(0).json["backups"][0]["good"], true);
    let into = backups.path("into");
    let restored = backups.restore("1", &into, &["--receipt", made.json["receipt"].as_str().expect("a hash")]);
    let restored = restored.is(0).says(&format!("{log}: the server had written a GTID before Previous_gtids"));
    assert_eq!((restored.number("/pages/bad"), restored.number("/pages/unproven")), (0, 0));
    is_same(&into, &files(server.datadir()));
    assert!(builder.clone().datadir_seed(&into).start().is_err(), "the warning is right");
    // What the page says to do.
    let index = into.join("binlog.index");
    let lines = fs::read_to_string(&index).expect("an index");
    let kept: String = lines.lines().filter(|line| !line.ends_with(&log)).map(|line| format!("{line}\n")).collect();
    fs::write(&index, kept).expect("written");
    fs::remove_file(into.join(&log)).expect("it was there");
    builder.datadir_seed(&into).start().expect("it starts without the log");
}

/// Pages of MariaDB's tables are encrypted only while the server's default says so: the server that proves a restore
/// has that default, so that what its recovery writes is not in clear text.
#[test]
fn a_proof_leaves_no_page_of_mariadb_in_clear_text() {
    let Some(followed) = Followed::mariadb() else { return };
    let load = Load::start(&followed.server, 2);
    load.goes_on(50);
    let made = followed.backups.backup(&["run"]).is(0);
    drop(load);
    let into = followed.backups.path("into");
    let daemon = Kind::MariaDb1011.locate().expect("it is here").daemon;
    let [option, keys] = followed.keys.each_ref().map(String::as_str);
    let code = if made.number("/pages/unproven") == 0 { 0 } else { 4 };
    followed.backups.restore("1", &into, &[option, keys, "--prove", "--mysqld", text(&daemon)]).is(code);
    let verify = sealant().args(["verify", "--format", "json", option, keys]).arg(into.join("bank")).output();
    let report: serde_json::Value = serde_json::from_slice(&verify.expect("the binary starts").stdout).expect("JSON");
    let files = report["files"].as_array().expect("files");
    assert!(files.len() >= 3, "{report}");
    for file in files {
        // Page 0 is never encrypted.
        assert!(file["units"]["clear"].as_u64().expect("a number") <= 1, "{file}");
    }
}

/// Without GTIDs, a proof compares the end of the binary log. If the backup has no position, it says so.
#[test]
fn a_proof_compares_the_binary_log_of_a_server_without_gtids() {
    let Some(found) = require(Kind::MySql97) else { return };
    let proving = ["--prove", "--mysqld", text(&found.daemon)];
    for encryption in ["OFF", "ON"] {
        let secrets = tempfile::tempdir().expect("a directory");
        let keyring = secrets.path().join("keyring");
        let encryption = format!("--binlog-encryption={encryption}");
        let options = ["--log-bin=binlog", "--enforce-gtid-consistency=OFF", "--gtid-mode=OFF", encryption.as_str()];
        let builder = Server::builder(Kind::MySql97).keyring(KeyringLocation::Path(keyring.clone())).options(options);
        let followed = Followed::start(builder, "ENCRYPTION='Y'", ["keyring", "--keyring"], &keyring, secrets);
        let load = Load::start(&followed.server, 2);
        load.goes_on(50);
        let made = followed.backups.backup(&["run"]).is(0);
        drop(load);
        let position = &made.json["position"];
        assert_eq!(position["gtid"], "", "{position}");
        let code = if made.number("/pages/unproven") == 0 { 0 } else { 4 };
        let keys = followed.keys.each_ref().map(String::as_str);
        let ran = followed.backups.restore("1", &followed.backups.path("into"), &[&keys[..], &proving].concat());
        let ran = ran.is(code).says("its binary log ends at the backup's position");
        let log = &ran.json["proof"]["log"];
        assert_eq!([&log["file"], &log["offset"]], [&position["file"], &position["offset"]], "{log}");
        assert_eq!(log["is_whole"], true, "{log}");
    }
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    let ran = backups.restore("1", &backups.path("into"), &[&["--keyring", text(&keyring)][..], &proving].concat());
    let ran = ran.is(0).says("the position was not compared, because");
    assert!(ran.json["proof"]["position_not_compared"].is_string(), "{}", ran.json);
}
