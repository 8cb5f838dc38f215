//! `sealant bench`: its measurements, and its reports on other programs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use harness::{KeyringLocation, Kind, Server, require};
use serde_json::Value;

use crate::support::schema::has_its_schema;
use crate::support::sealant;

/// A plaintext tablespace of a server, and a copy that many empty pages make large enough to time other programs.
fn files(directory: &Path) -> [PathBuf; 2] {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tablespace/mysql97-16k-clear.ibd.zst");
    let bytes = zstd::decode_all(fs::File::open(packed).expect("testdata")).expect("zstd");
    let [small, large] = ["small.ibd", "large.ibd"].map(|name| directory.join(name));
    fs::write(&small, &bytes).expect("written");
    fs::write(&large, &bytes).expect("written");
    fs::OpenOptions::new().write(true).open(&large).and_then(|file| file.set_len(20 << 20)).expect("longer");
    [small, large]
}

fn bench(directory: &Path, options: &[&str]) -> Output {
    let mut command = sealant();
    command.args(["bench", "verify", "--rounds", "3", "--format", "json"]).arg(directory).args(options);
    command.output().expect("the binary starts")
}

pub(crate) fn json(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("no JSON: {e}\n{stderr}"))
}

/// A program of that name that reports its version, and otherwise exits with `code`.
fn program(directory: &Path, name: &str, code: u8) -> String {
    let path = directory.join(name);
    let text = format!("[ \"$1\" = --version ] && echo Ver 1.2.3 && exit\necho invalid >&2\nexit {code}");
    harness::script(&path, &text).expect("written");
    path.to_str().expect("ASCII").to_owned()
}

#[test]
fn verification_is_measured_against_reading_and_against_peers() {
    let (data, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    files(data.path());
    let [raw, page] = ["samples.jsonl", "page.html"].map(|name| tools.path().join(name));
    let options = [
        "--innochecksum",
        &program(tools.path(), "good", 0),
        "--innochecksum",
        &program(tools.path(), "bad", 1),
        "--inno",
        &program(tools.path(), "inno", 1),
        "--raw",
        raw.to_str().unwrap(),
        "--html",
        page.to_str().unwrap(),
    ];
    let document = json(&bench(data.path(), &options));
    has_its_schema(&document, "bench-1");
    assert_eq!(document["subject"]["files"], 2);
    // The program that calls the files invalid does not read them to the end, so it is not timed.
    let experiments = document["experiments"].as_array().unwrap();
    let names: Vec<&str> = experiments.iter().map(|experiment| experiment["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names[1].ends_with("innochecksum 1.2.3") && names[2].ends_with("inno checksum 1.2.3"), "{names:?}");
    for experiment in experiments {
        assert_eq!(experiment["rounds"], 3);
        for arm in experiment["arms"].as_array().unwrap() {
            let [low, rate, high] = ["low", "estimate", "high"].map(|end| arm["rate"][end].as_f64().unwrap());
            assert!(0.0 < low && low <= rate && rate <= high, "{arm}");
        }
        assert!(!experiment["ratios"].as_array().unwrap().is_empty());
    }
    let said: Vec<(u64, u64)> = document["opinions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|opinion| (opinion["sound"].as_u64().unwrap(), opinion["invalid"].as_u64().unwrap()))
        .collect();
    assert_eq!(said, [(2, 0), (0, 2), (0, 2)]);

    let samples = fs::read_to_string(raw).unwrap();
    let arms: usize = experiments.iter().map(|experiment| experiment["arms"].as_array().unwrap().len()).sum();
    assert_eq!(samples.lines().count(), 1 + 3 * arms);
    let page = fs::read_to_string(page).unwrap();
    assert_eq!(page.matches("<svg").count(), experiments.len(), "a chart for each experiment");
}

#[test]
fn cold_files_are_measured_against_direct_reads() {
    let data = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let [_, large] = files(data.path());
    let output = bench(data.path(), &["--cold"]);
    if String::from_utf8_lossy(&output.stderr).contains("cannot be dropped") {
        // A file system in memory.
        return;
    }
    let document = json(&output);
    let experiment = &document["experiments"][0];
    let length = fs::metadata(large).unwrap().len();
    assert!(experiment["arms"].as_array().unwrap().iter().all(|arm| arm["amount"] == length), "{experiment}");
    assert!(document["opinions"].as_array().unwrap().is_empty());
}

#[test]
fn a_requested_program_must_be_installed() {
    let data = tempfile::tempdir().unwrap();
    files(data.path());
    let output = bench(data.path(), &["--inno", "/no/such/inno"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/no/such/inno: no such program"));
}

/// A directory like a data directory: files of several sizes, an empty file, an empty directory, a link.
fn datadir(directory: &Path) {
    fs::create_dir_all(directory.join("db/empty")).expect("a directory");
    fs::write(directory.join("db/ib_logfile0"), vec![1; 1_500_000]).expect("written");
    fs::write(directory.join("db/t.ibd"), noise(500_000)).expect("written");
    fs::write(directory.join("db/a name with blanks"), "x").expect("written");
    fs::write(directory.join("debian.flag"), "").expect("written");
    symlink("ib_logfile0", directory.join("db/link")).expect("a link");
}

/// Measures copies in a directory of its own, and asserts that it is empty afterwards.
fn transfer(directory: &Path, options: &[&str], change: impl FnOnce(&mut Command)) -> Output {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let mut command = sealant();
    command.args(["bench", "transfer", "--rounds", "2", "--format", "json", "--into"]).arg(scratch.path());
    command.arg(directory).args(options);
    change(&mut command);
    let output = command.output().expect("the binary starts");
    assert_eq!(fs::read_dir(scratch.path()).expect("readable").count(), 0, "copies are removed");
    output
}

pub(crate) fn names<'v>(list: &'v Value, name: &str) -> Vec<&'v str> {
    list.as_array().expect("a list").iter().map(|one| one[name].as_str().expect("a name")).collect()
}

#[test]
fn copies_are_measured_against_every_installed_peer() {
    let (data, results) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    datadir(data.path());
    let [raw, html] = ["samples.jsonl", "page.html"].map(|name| results.path().join(name));
    let mut options = vec!["--raw", raw.to_str().unwrap(), "--html", html.to_str().unwrap()];
    if cfg!(target_arch = "x86_64") {
        options.push("--peers-without-aes");
    }
    let document = json(&transfer(data.path(), &options, |_| {}));
    has_its_schema(&document, "bench-1");
    assert_eq!(document["subject"]["files"], 4);
    let experiment = &document["experiments"][0];
    let arms = names(&experiment["arms"], "name");
    assert_eq!(arms[..2], ["sealant", "cp"]);
    // Each peer is measured or named as missing.
    let missing = document["missing"].as_array().unwrap();
    let slowed = arms.iter().filter(|arm| arm.ends_with(", no AES")).count();
    assert_eq!(arms.len() - slowed + missing.len(), 9, "{arms:?} {missing:?}");
    let with_openssl = arms.iter().filter(|arm| arm.ends_with("-tls")).count();
    assert_eq!(slowed, if cfg!(target_arch = "x86_64") { with_openssl } else { 0 });
    assert_eq!(names(&document["programs"], "name")[0], "cp");
    let bytes = document["subject"]["bytes"].as_u64().unwrap();
    assert!(experiment["arms"].as_array().unwrap().iter().all(|arm| arm["amount"] == bytes), "{experiment}");
    assert_eq!(names(&experiment["ratios"], "to"), arms[1..]);

    assert_eq!(fs::read_to_string(raw).unwrap().lines().count(), 1 + 2 * arms.len());
    let page = fs::read_to_string(html).unwrap();
    assert_eq!(page.matches("<rect").count(), arms.len());
}

#[test]
fn compressions_are_measured_against_each_other() {
    let data = tempfile::tempdir().unwrap();
    datadir(data.path());
    let document = json(&transfer(data.path(), &["--no-peers", "--compress", "none,zstd:1", "--streams", "2"], |_| {}));
    let experiment = &document["experiments"][0];
    assert_eq!(names(&experiment["arms"], "name"), ["sealant, none", "sealant, zstd:1"]);
    assert_eq!(names(&experiment["ratios"], "to"), ["sealant, zstd:1"]);
    let notes: Vec<&str> = document["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect();
    assert!(notes.iter().any(|note| note.contains("through 2 connections")), "{notes:?}");
}

#[test]
fn a_copy_that_differs_ends_the_measurement() {
    let (data, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    datadir(data.path());
    let cp = tools.path().join("cp");
    // The last argument is the target.
    harness::script(&cp, "/bin/cp \"$@\"\nfor to; do :; done\nprintf y >\"$to/db/a name with blanks\"").unwrap();
    let path = format!("{}:{}", tools.path().display(), std::env::var("PATH").unwrap());
    let output = transfer(data.path(), &["--peers", "cp"], |command| {
        command.env("PATH", path);
    });
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("cp: db/a name with blanks has other bytes in the copy"), "{stderr}");
    assert!(output.stdout.is_empty());
}

#[test]
fn missing_peers_are_listed_and_requesting_one_is_an_error() {
    let (data, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    datadir(data.path());
    symlink("/bin/cp", tools.path().join("cp")).unwrap();
    let document = json(&transfer(data.path(), &[], |command| {
        command.env("PATH", tools.path());
    }));
    assert_eq!(names(&document["experiments"][0]["arms"], "name"), ["sealant", "cp"]);
    let missing: Vec<&str> =
        document["missing"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(missing[0], "tar-socat (needs tar, socat)");
    let needs = "needs mariadb-backup, mbstream, socat, openssl, a running server: --server-socket";
    assert_eq!(missing[6], format!("mariabackup-socat-tls ({needs})"));
    assert_eq!(missing.len(), 7);

    let output = transfer(data.path(), &["--peers", "cp,rsync"], |command| {
        command.env("PATH", tools.path());
    });
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("rsync: not in PATH: rsync"));
}

#[test]
fn copies_use_a_link_of_a_given_rate_or_one_error_says_why_not() {
    let data = tempfile::tempdir().unwrap();
    fs::write(data.path().join("random"), noise(4 << 20)).unwrap();
    let output = transfer(data.path(), &["--no-peers", "--rate", "200Mbit"], |_| {});
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(1) {
        // Without root, or without the modules of the kernel.
        assert!(stderr.contains("a link of that rate cannot be made") && stderr.contains("hint: "), "{stderr}");
        return;
    }
    let document = json(&output);
    let experiment = &document["experiments"][0];
    assert_eq!(experiment["name"], "copy over a link of 200 Mbit/s");
    // The first burst is not slowed.
    let fastest = experiment["arms"][0]["rate"]["high"].as_f64().unwrap();
    assert!(fastest < 200e6 / 8.0 * 1.1, "{fastest} bytes a second");
}

/// Bytes that do not compress.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

#[test]
fn a_scratch_within_the_source_and_peers_without_a_network_are_refused() {
    let data = tempfile::tempdir().unwrap();
    datadir(data.path());
    let inside = sealant().args(["bench", "transfer", "--into"]).args([data.path(), data.path()]).output().unwrap();
    assert_eq!(inside.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&inside.stderr).contains("is inside the directory that is to be copied"));
    let local = transfer(data.path(), &["--peers", "cp", "--rate", "1Gbit"], |_| {});
    assert_eq!(local.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&local.stderr).contains("cp uses no network"));
}

const KEYS: &str = "1;00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n";

/// A MariaDB server with an encrypted and a plaintext table, and a consistent copy of its directory.
fn served() -> Option<(Server, tempfile::TempDir)> {
    require(Kind::MariaDb1011)?;
    let tables = "CREATE DATABASE db; USE db;
        CREATE TABLE db.sealed (id INT PRIMARY KEY, c CHAR(200)) ENCRYPTED=YES;
        CREATE TABLE db.open LIKE db.sealed; ALTER TABLE db.open ENCRYPTED=NO;
        INSERT INTO db.sealed SELECT seq, MD5(seq) FROM seq_1_to_5000;
        INSERT INTO db.open SELECT * FROM db.sealed;
        CREATE USER backup@localhost IDENTIFIED BY 'Backup-secret-1';
        GRANT RELOAD, PROCESS, LOCK TABLES, BINLOG MONITOR ON *.* TO backup@localhost";
    let mut server = Server::builder(Kind::MariaDb1011).mariadb_keys(KEYS).start().expect("MariaDB");
    server.sql(tables).expect("tables");
    server.stop().expect("stopped");
    let unchanged = tempfile::tempdir().expect("a directory");
    let copied = Command::new("cp").arg("-a").arg(server.datadir().join(".")).arg(unchanged.path()).status();
    assert!(copied.expect("cp").success());
    server.start().expect("started again");
    Some((server, unchanged))
}

#[test]
fn full_backups_incremental_backups_and_restores_are_measured() {
    let Some(_) = require(Kind::MySql97) else { return };
    let mut server = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).start().expect("it starts");
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v CHAR(200)) ENCRYPTION='Y'").expect("made");
    server.sql("INSERT INTO d.t VALUES (1, 'a'), (2, 'b')").expect("rows");
    server.stop().expect("it stops");
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let [before, scratch] = ["before", "scratch"].map(|name| directory.path().join(name));
    let copied = Command::new("cp").arg("-a").arg(server.datadir()).arg(&before).status();
    assert!(copied.expect("cp").success());
    fs::create_dir(&scratch).expect("a directory");
    server.start().expect("it starts");
    server.sql("UPDATE d.t SET v = 'c' WHERE id = 2").expect("changed");

    let mut command = sealant();
    command.args(["bench", "backup", "--rounds", "2", "--format", "json", "--into"]).arg(&scratch);
    command.arg("--keyring").arg(server.dir().join("keyring")).arg("--before").arg(&before).arg(server.datadir());
    prepend(&mut command, &harness::cache().join("servers/peers/root/usr/bin"));
    let refused = command.output().expect("it starts");
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("a server runs on it"));

    server.stop().expect("it stops");
    let document = json(&command.output().expect("it starts"));
    has_its_schema(&document, "bench-1");
    assert_eq!(fs::read_dir(&scratch).expect("readable").count(), 0, "repositories are removed");
    let experiments = document["experiments"].as_array().unwrap();
    let expected = ["full backup", "restore", "incremental backup", "check of all objects"];
    assert_eq!(names(&document["experiments"], "name"), expected);
    let arms = names(&experiments[0]["arms"], "name");
    assert_eq!(arms[..2], ["sealant", "sealant, pages as-is"]);
    assert_eq!(names(&experiments[1]["arms"], "name"), [&arms[..], &["cp"]].concat());
    // Each peer is measured, or named as missing.
    assert_eq!(arms.len() + document["missing"].as_array().unwrap().len(), 5, "{document:#}");
    assert_eq!(names(&experiments[2]["arms"], "name")[..2], arms[..2]);
    let notes = document["notes"].to_string();
    for expected in ["sealant stored", "in full", "of what changed", "of memory", "bar m"] {
        assert!(notes.contains(expected), "{expected}: {notes}");
    }
}

/// `mariabackup` under its older name; `None` if another required program is not installed.
fn backup_programs(server: &Server) -> Option<tempfile::TempDir> {
    let tools = tempfile::tempdir().expect("a directory");
    let current = |name| server.binaries().tool(name);
    let others = harness::cache().join("servers/peers/root/usr/bin/socat");
    let socat = others.exists().then_some(others).or_else(|| current("socat"))?;
    let programs = [("mariabackup", current("mariadb-backup")?), ("mbstream", current("mbstream")?), ("socat", socat)];
    for (name, program) in programs {
        symlink(program, tools.path().join(name)).expect("a link");
    }
    Some(tools)
}

fn prepend(command: &mut Command, directory: &Path) {
    let path = std::env::var("PATH").expect("a path");
    command.env("PATH", format!("{}:{path}", directory.display()));
}

fn with_server<'o>(socket: &'o Path, more: &[&'o str]) -> Vec<&'o str> {
    let socket = ["--server-socket", socket.to_str().expect("ASCII")];
    [&["--peers", "tar-socat-tls,mariabackup-socat-tls"], socket.as_slice(), more].concat()
}

#[test]
fn mariabackup_is_measured_on_a_running_server_with_encrypted_tables() {
    let Some((server, unchanged)) = served() else { return };
    let Some(tools) = backup_programs(&server) else { return };
    let defaults = tools.path().join("backup.cnf");
    fs::write(&defaults, "[client]\nuser=backup\npassword=Backup-secret-1\n[mariabackup]\nparallel=2\n").unwrap();
    fs::set_permissions(&defaults, fs::Permissions::from_mode(0o600)).unwrap();
    for account in [["--server-user", "root"], ["--server-defaults", defaults.to_str().unwrap()]] {
        let output = transfer(unchanged.path(), &with_server(server.socket(), &account), |command| {
            prepend(command, tools.path());
        });
        let document = json(&output);
        let arms = document["experiments"][0]["arms"].as_array().unwrap();
        assert_eq!(arms[2]["name"], "mariabackup-socat-tls");
        // Without most of the redo log, which alone has more than the tables.
        let [whole, backup] = [0, 2].map(|arm: usize| arms[arm]["amount"].as_u64().unwrap());
        assert!(5_000_000 < backup && backup < whole, "{arms:?}");
        let programs = names(&document["programs"], "name");
        let version = programs.iter().position(|name| *name == "mariadb-backup").unwrap();
        let version = document["programs"][version]["version"].as_str().unwrap();
        assert!(server.binaries().version.starts_with(version), "{version}");
        let notes = document["notes"].to_string();
        assert!(notes.contains("from a running MariaDB") && notes.contains("--prepare"), "{notes}");
        assert!(document["missing"].as_array().unwrap().is_empty());
    }
}

#[test]
fn a_server_that_mariabackup_cannot_be_measured_on_is_refused_in_one_sentence() {
    let Some((mut server, unchanged)) = served() else { return };
    let Some(tools) = backup_programs(&server) else { return };
    let refused = |directory: &Path, socket: &Path, more: &[&str], tools: &Path, code: i32, expected: &str| {
        let output = transfer(directory, &with_server(socket, more), |command| prepend(command, tools));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        let errors: Vec<&str> = stderr.lines().filter(|line| !line.starts_with("sealant: hint: ")).collect();
        assert!(errors.len() == 1 && errors[0].contains(expected), "{stderr}");
        assert!(output.stdout.is_empty());
    };
    let (socket, root) = (server.socket().to_owned(), ["--server-user", "root"]);
    let all = tools.path();
    refused(unchanged.path(), Path::new("/no/such.sock"), &root, all, 1, "/no/such.sock: no such socket");
    refused(unchanged.path(), &socket, &["--server-user", "nobody"], all, 1, "access denied");
    refused(server.datadir(), &socket, &root, all, 1, "the server runs in DIR");
    let remote = tempfile::tempdir().unwrap();
    datadir(remote.path());
    refused(remote.path(), &socket, &root, all, 1, "not the same data: the server does not have db/t.ibd");

    // The message is the program's own, although mbstream also reports a stream that ends too early.
    let fails = tempfile::tempdir().unwrap();
    program(fails.path(), "mariadb-backup", 3);
    for name in ["mbstream", "socat"] {
        symlink(fs::read_link(all.join(name)).unwrap(), fails.path().join(name)).unwrap();
    }
    refused(unchanged.path(), &socket, &root, fails.path(), 1, "mariadb-backup: invalid (exit status: 3)");
    // It exits with 0, but nothing arrives.
    program(fails.path(), "mariadb-backup", 0);
    refused(unchanged.path(), &socket, &root, fails.path(), 1, "ended without `completed OK!`");

    server.stop().unwrap();
    refused(unchanged.path(), &socket, &root, all, 1, &format!("{}: ", socket.display()));
}

#[test]
fn a_server_and_mariabackup_must_be_given_together() {
    let (data, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    datadir(data.path());
    for name in ["tar", "socat", "mbstream", "mariabackup", "openssl"] {
        program(tools.path(), name, 0);
    }
    let said = |options: &[&str]| {
        let output = transfer(data.path(), options, |command| {
            command.env("PATH", tools.path());
        });
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, stderr) = said(&["--peers", "mariabackup-socat-tls"]);
    let needs = "sealant: error: mariabackup-socat-tls: needs a running server: --server-socket\n";
    assert_eq!((code, stderr.as_str()), (Some(2), needs));
    let (code, stderr) = said(&["--server-socket", "s", "--peers", "tar-socat"]);
    let none = "sealant: error: --server-socket: no peer of --peers copies from a server\n";
    assert_eq!((code, stderr.as_str()), (Some(2), none));
    fs::remove_file(tools.path().join("mbstream")).unwrap();
    let (code, stderr) = said(&["--server-socket", "s"]);
    let missing = "sealant: error: mariabackup-socat-tls: not in PATH: mbstream\n";
    assert_eq!((code, stderr.as_str()), (Some(1), missing));
}

#[test]
fn a_mysql_server_is_refused_for_mariabackup() {
    let (Some(_), Some(mariadb)) = (require(Kind::MySql97), require(Kind::MariaDb1011)) else { return };
    let server = Server::builder(Kind::MySql97).keyring(KeyringLocation::None).start().expect("MySQL");
    let data = tempfile::tempdir().unwrap();
    datadir(data.path());
    let options = with_server(server.socket(), &["--server-user", "root"]);
    let output = transfer(data.path(), &options, |command| prepend(command, &mariadb.basedir.join("bin")));
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("mariabackup copies MariaDB only, and this is MySQL 9."), "{stderr}");
}

fn tls(server: &Path, into: &Path, options: &[&str]) -> Output {
    let mut command = sealant();
    command.args(["bench", "tls", "--quiet", "--format", "json", "--server-program"]).arg(server);
    command.arg("--into").arg(into).args(options).output().expect("the binary starts")
}

/// A directory whose path is short enough for sockets.
pub(crate) fn short_directory() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("sb").tempdir_in("/tmp").expect("a directory")
}

#[test]
fn the_cost_of_tls_is_measured_on_a_new_server() {
    for kind in [Kind::MariaDb1011, Kind::MySql97] {
        let Some(binaries) = require(kind) else { return };
        let into = short_directory();
        let html = into.path().join("tls.html");
        let html = html.to_str().expect("ASCII");
        let options = ["--round-trips=0,20", "--rounds=2", "--span=20", "--sizes=1k,3M", "--html", html];
        let document = json(&tls(&binaries.daemon, into.path(), &options));
        let version = document["programs"][0]["version"].as_str().expect("a version");
        assert_eq!(version, binaries.version, "{document}");
        let experiments = document["experiments"].as_array().expect("experiments");
        assert_eq!(
            names(&document["experiments"], "name"),
            [
                "connections, one after the other, loopback",
                "SELECT 1 on an open connection, loopback",
                "results of 1 kB",
                "results of 3 MB",
                "connections, one after the other, round trip 20 ms",
                "SELECT 1 on an open connection, round trip 20 ms",
            ]
        );
        let arms = names(&experiments[0]["arms"], "name");
        for wanted in ["plain TCP", "TLS 1.3 ECDSA", "TLS 1.2 RSA-4096", "client program, clear", "sealant tunnel"] {
            assert!(arms.contains(&wanted), "{wanted} is not in {arms:?}");
        }
        let amount = |experiment: usize| {
            let arms = experiments[experiment]["arms"].as_array().expect("arms");
            arms.iter().map(|arm| arm["amount"].as_u64().expect("a number")).collect::<Vec<_>>()
        };
        assert!(amount(3).iter().all(|bytes| *bytes >= 3_000_000), "{document}");
        assert_eq!((&experiments[0]["unit"], &experiments[2]["unit"]), (&"connections".into(), &"bytes".into()));
        // A connection in the clear takes three round trips: TCP's own, the greeting's, the login's.
        let seconds = experiments[4]["arms"][0]["seconds"]["low"].as_f64().expect("a number");
        let count = experiments[4]["arms"][0]["amount"].as_f64().expect("a number");
        assert!(seconds / count >= 0.06, "{}", experiments[4]);
        let page = fs::read_to_string(html).expect("a page");
        assert!(page.contains("<th>conn/s</th>") && page.contains("results of 3 MB"), "{page}");
        let left: Vec<_> = fs::read_dir(into.path()).expect("listed").map(|item| item.unwrap().file_name()).collect();
        assert_eq!(left, ["tls.html"], "nothing is left");
    }
}

#[test]
fn servers_without_usable_tls_are_reported_in_one_sentence() {
    let into = short_directory();
    let refused = |server: &str, into: &Path, options: &[&str], message: &str| {
        let output = tls(Path::new(server), into, options);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code == 1 || code == 2), "{stderr}");
        assert!(stderr.starts_with("sealant: error: ") || stderr.starts_with("error: "), "{stderr}");
        assert!(stderr.contains(message), "{message:?} is not in {stderr}");
    };
    refused("/nowhere/mariadbd", into.path(), &[], "/nowhere/mariadbd: no such program");
    refused("/bin/true", into.path(), &[], "is not a server");
    refused("/bin/true", Path::new("/nowhere"), &[], "/nowhere: No such file");
    refused("/bin/true", into.path(), &["--sizes=2T"], "a size from 1 to 1G");
    refused("/bin/true", into.path(), &["--html=/nowhere/page"], "/nowhere");
    refused("/bin/true", into.path(), &["--oltp=0"], "1..=1000");
    // A server that cannot start says why.
    let script = into.path().join("server");
    let text = "echo 'x Ver 10.11.1-MariaDB'\necho 'E [ERROR] no luck today' >&2\n[ \"$2\" = --version ]";
    harness::script(&script, text).expect("written");
    refused(script.to_str().expect("ASCII"), into.path(), &[], "its scripts for system tables are missing");
    assert!(fs::read_dir(into.path()).expect("listed").count() == 1, "nothing is left");
}

#[test]
fn a_join_is_measured_together_with_the_donors_own_report() {
    let Some(binaries) = require(Kind::MariaDb1011) else { return };
    let Some(provider) = binaries.galera_provider() else { return };
    let desk = tempfile::tempdir().expect("a directory");
    let mut server = Server::builder(Kind::MariaDb1011).start().expect("it starts");
    server.stop().expect("it stops");
    let datadir = server.datadir().to_owned();
    let refused = |into: &Path, why: &str, hint: &str| {
        let output = sealant().args(["bench", "sst"]).arg(&datadir).arg("--into").arg(into).output();
        let said = String::from_utf8_lossy(&output.expect("the binary starts").stderr).into_owned();
        assert!(said.contains(why) && said.contains(hint), "{said}");
    };
    refused(Path::new("/nowhere"), "/nowhere: no such directory", "--into takes");
    refused(&datadir, "lies in the data directory", "a directory elsewhere");
    server.start().expect("it starts");
    refused(desk.path(), "a server runs on it", "stop it");
    server.stop().expect("it stops");
    let mut command = sealant();
    command.args(["bench", "sst", "--methods", "sealant", "--rounds", "1", "--format", "json"]).arg(server.datadir());
    command.arg("--into").arg(desk.path()).arg("--mariadbd").arg(&binaries.daemon).arg("--provider").arg(provider);
    let record = json(&command.output().expect("the binary starts"));
    let experiments = record["experiments"].as_array().expect("a list").iter();
    let names: Vec<_> = experiments.filter_map(|experiment| experiment["name"].as_str()).collect();
    for name in [
        "from the start of the joiner to Synced",
        "longest commit on the donor meanwhile",
        "the donor stood still for the copy, as it says",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
}
