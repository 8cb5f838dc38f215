//! `sealant send` and `sealant receive`: whole directories, real servers' data, and what goes wrong.

use std::fs::{self, File, Permissions};
use std::io::{BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use codec::hash::Hash;
use harness::certs::{Authority, Profile};
use harness::{KeyringLocation, Kind, Server, limit, require, wait_until};

use crate::support::encryption::sealed_keys;
use crate::support::moving::{Receiving, assert_same, moves, noise, send};
use crate::support::proof::Proof;
use crate::support::run;
use crate::support::schema::has_its_schema;

const MIB: usize = 1 << 20;

fn text(path: &Path) -> &str {
    path.to_str().expect("the harness uses ASCII paths")
}

/// Files of every kind that a data directory could have.
fn odd_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let root = directory.path();
    fs::create_dir_all(root.join("db/deep/er")).expect("made");
    fs::create_dir(root.join("empty-dir")).expect("made");
    let files = [
        ("empty", Vec::new()),
        ("one-byte", vec![7]),
        ("db/exactly-one-chunk", noise(1, MIB)),
        ("db/chunks-and-a-bit", noise(2, 5 * MIB + 12_345)),
        ("db/deep/er/text", b"all work and no play ".repeat(100_000)),
        ("db/zeros", vec![0; 3 * MIB + 17]),
    ];
    for (name, content) in files {
        fs::write(root.join(name), content).expect("written");
    }
    let sparse = File::create(root.join("db/sparse.ibd")).expect("made");
    sparse.set_len(9 * MIB as u64 + 100).expect("long");
    for (offset, bytes) in [(0, 4096), (MIB as u64 + 8192, 12288), (5 * MIB as u64, 2 * MIB)] {
        sparse.write_all_at(&noise(3, bytes), offset).expect("written");
    }
    fs::write(root.join(std::ffi::OsStr::from_bytes(b"b\xff\xfe\n name")), "odd").expect("written");
    symlink("db/zeros", root.join("link")).expect("linked");
    symlink("/nowhere", root.join("db/far")).expect("linked");
    fs::set_permissions(root.join("one-byte"), Permissions::from_mode(0o400)).expect("set");
    fs::set_permissions(root.join("db/deep"), Permissions::from_mode(0o2750)).expect("set");
    directory
}

#[test]
fn a_directory_arrives_unchanged() {
    let source = odd_directory();
    for compress in ["none", "lz4", "zstd:3", "auto"] {
        let target = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let into = target.path().join("new");
        let report = moves(source.path(), &into, &["--compress", compress, "--streams", "3"]);
        has_its_schema(&report, "transfer-1");
        assert_eq!(report["kept_bytes"], 0);
        let blocks = |root: &Path| fs::metadata(root.join("db/sparse.ibd")).expect("there").blocks();
        assert_eq!(blocks(source.path()), blocks(&into), "holes stay holes");
        assert!(!into.join(".sealant-staging").exists());
        let manifest = fs::read_to_string(into.join("sealant-manifest")).expect("a manifest");
        assert!(manifest.contains(report["tree"].as_str().expect("text")));
        for line in manifest.lines() {
            has_its_schema(&serde_json::from_str(line).expect("JSON"), "manifest-1");
        }
        let check = || run(["verify", "--manifest", text(&into.join("sealant-manifest"))]);
        assert_eq!(check().status.code(), Some(0), "{}", String::from_utf8_lossy(&check().stdout));
        fs::write(into.join("db/zeros"), vec![1; 3 * MIB + 17]).expect("written");
        let changed = check();
        assert_eq!(changed.status.code(), Some(3));
        assert!(String::from_utf8_lossy(&changed.stdout).contains("db/zeros: its content differs"));
        let changed = run(["verify", "--manifest", text(&into.join("sealant-manifest")), "--format", "json"]);
        let changed = serde_json::from_slice(&changed.stdout).expect("JSON");
        has_its_schema(&changed, "manifest-check-1");
        assert_eq!(changed["differences"][0]["path"], text(&into.join("db/zeros")));
    }
}

#[test]
fn an_interrupted_transfer_is_resumed() {
    let source = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    for file in 0..6 {
        fs::write(source.path().join(format!("t{file}.ibd")), noise(file, 8 * MIB)).expect("written");
    }
    let target = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let receiving = Receiving::begin(target.path(), &[]);
    let mut sender = crate::support::sealant();
    sender.arg("send").arg(source.path()).arg(&receiving.code).args(["--bwlimit", "20MiB", "--compress", "none"]);
    let mut sender = sender.stderr(Stdio::null()).spawn().expect("it starts");
    let journal = target.path().join(".sealant-staging/journal");
    wait_until("ten chunks", limit(60), || fs::metadata(&journal).is_ok_and(|metadata| metadata.len() >= 600));
    sender.kill().expect("it runs");
    sender.wait().expect("it ends");
    let (code, stderr) = receiving.end();
    assert_eq!(code, 1, "{stderr}");
    assert_eq!(stderr.lines().filter(|line| line.contains("error:")).count(), 1, "{stderr}");
    let left: Vec<_> =
        fs::read_dir(target.path()).expect("listed").map(|item| item.expect("item").file_name()).collect();
    assert_eq!(left, [".sealant-staging"], "nothing took its place");

    let report = moves(source.path(), target.path(), &["--resume"]);
    assert!(report["kept_bytes"].as_u64().expect("a number") >= 10 * MIB as u64, "{report}");
}

#[test]
fn a_source_that_changes_is_reported_and_not_committed() {
    let source = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let changing = source.path().join("ibdata1");
    fs::write(&changing, noise(1, 20 * MIB)).expect("written");
    let target = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let receiving = Receiving::begin(target.path(), &[]);
    let mut sender = crate::support::sealant();
    sender.arg("send").arg(source.path()).arg(&receiving.code).args(["--bwlimit", "20MiB", "--compress", "none"]);
    let sender = sender.stderr(Stdio::piped()).spawn().expect("it starts");
    wait_until("the journal", limit(60), || target.path().join(".sealant-staging/journal").exists());
    File::options().write(true).open(&changing).and_then(|file| file.write_all_at(b"x", 100)).expect("written");
    let sent = sender.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&sent.stderr);
    assert_eq!(sent.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("ibdata1: changed while it was sent (it was written)"), "{stderr}");
    let (code, stderr) = receiving.end();
    assert!(code == 1 && stderr.contains("ibdata1: changed while it was sent"), "{stderr}");
    assert!(!target.path().join("ibdata1").exists());
}

#[test]
fn a_bandwidth_limit_has_a_unit_and_is_reported_as_the_bottleneck() {
    let source = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    fs::write(source.path().join("t.ibd"), noise(1, 16 * MIB)).expect("written");
    let target = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let receiving = Receiving::begin(target.path(), &[]);
    let sent = send(source.path(), &receiving.code, &["--bwlimit", "5MiB", "--compress", "none", "--json"]);
    assert_eq!(receiving.end().0, 0);
    let events = String::from_utf8_lossy(&sent.stdout);
    assert!(events.contains("\"limited_by\":\"--bwlimit\""), "{events}");
    let refused = send(source.path(), "sealant1-x", &["--bwlimit", "100"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("a unit is missing: KiB, MiB or GiB"), "{said}");
}

#[test]
fn a_target_with_other_content_is_refused() {
    let target = tempfile::tempdir().expect("a directory");
    fs::write(target.path().join("ibdata1"), "").expect("written");
    let output = run(["receive", "--listen", "127.0.0.1:0", "--into", text(target.path())]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("not empty") && stderr.contains("hint:"), "{stderr}");
    assert!(output.stdout.is_empty(), "no code for a receiver that will not receive");
}

#[test]
fn a_source_that_is_an_unfinished_target_is_refused() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let [source, into] = ["source", "into"].map(|name| directory.path().join(name));
    fs::create_dir_all(source.join(".sealant-staging")).expect("made");
    fs::write(source.join("ibdata1"), "1").expect("written");
    let receiving = Receiving::begin(&into, &[]);
    let refused = send(&source, &receiving.code, &[]);
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("contains an unfinished transfer") && stderr.contains("hint: finish it with `sealant receive"),
        "{stderr}"
    );
    fs::remove_dir(source.join(".sealant-staging")).expect("removed");
    let sent = send(&source, &receiving.code, &[]);
    assert_eq!(sent.status.code(), Some(0), "{}", String::from_utf8_lossy(&sent.stderr));
    assert_eq!(receiving.end().0, 0);
    // A completed transfer can be sent to the next host.
    moves(&into, &directory.path().join("next"), &[]);
}

#[test]
fn keys_that_would_be_sent_are_reported() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let [source, into] = ["source", "into"].map(|name| directory.path().join(name));
    fs::create_dir_all(source.join("db")).expect("made");
    let key = "1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n";
    fs::write(source.join("keys[1].txt"), key).expect("written");
    fs::write(source.join("db/t.ibd"), noise(1, MIB)).expect("written");
    let receiving = Receiving::begin(&into, &[]);
    let warned = |more: &[&str]| {
        let output = send(&source, &receiving.code, &[&["--dry-run"], more].concat());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        stderr.lines().filter(|line| line.contains("warning:")).map(str::to_owned).collect::<Vec<_>>()
    };
    let warnings = warned(&[]);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("keys[1].txt: will be sent, and is a key file of MariaDB"), "{warnings:?}");
    let (_, pattern) = warnings[0].split_once("--exclude '").expect("a way to leave it out");
    let pattern = pattern.split('\'').next().expect("a pattern");
    assert_eq!(warned(&["--exclude", pattern]), [""; 0]);
    assert_eq!(warned(&["--mariadb-key-file", text(&source.join("keys[1].txt"))]).len(), 1);
    receiving.kill();
}

#[test]
fn sites_with_certificates_need_no_code() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let authority = Authority::create(&directory.path().join("ca")).expect("made");
    let other = Authority::create(&directory.path().join("other")).expect("made");
    let named = |name: &str| Profile { common_name: name.to_owned(), ..Profile::default() };
    let [donor, joiner] = ["donor", "joiner"].map(|name| authority.issue(name, &named(name)).expect("issued"));
    let unknown = other.issue("unknown", &Profile::default()).expect("issued");
    let source = directory.path().join("source");
    fs::create_dir(&source).expect("made");
    fs::write(source.join("ibdata1"), noise(1, 3 * MIB)).expect("written");
    let options = |files: &harness::certs::TlsFiles| {
        let files = [&files.cert, &files.key, &files.ca].map(|path| text(path).to_owned());
        let [cert, key, ca] = files;
        ["--tls-cert".to_owned(), cert, "--tls-key".to_owned(), key, "--tls-ca".to_owned(), ca]
    };
    let (joiners, donors, unknown) = (options(&joiner), options(&donor), options(&unknown));
    let into = directory.path().join("into");
    let receiving = Receiving::begin(&into, &joiners.each_ref().map(String::as_str));
    let port = receiving.code.rsplit(':').next().expect("a port").to_owned();

    let refused = send(&source, &format!("localhost:{port}"), &unknown.each_ref().map(String::as_str));
    assert_eq!(refused.status.code(), Some(1), "{}", String::from_utf8_lossy(&refused.stderr));
    let expired = Profile { expired: true, ..Profile::default() };
    let expired = options(&authority.issue("expired", &expired).expect("issued"));
    let refused = send(&source, &format!("localhost:{port}"), &expired.each_ref().map(String::as_str));
    assert_eq!(refused.status.code(), Some(1), "{}", String::from_utf8_lossy(&refused.stderr));
    // The certificate names localhost and 127.0.0.1.
    let refused = send(&source, &format!("127.1.2.3:{port}"), &donors.each_ref().map(String::as_str));
    assert_eq!(refused.status.code(), Some(1), "{}", String::from_utf8_lossy(&refused.stderr));
    // Not an address; the message does not show it, because it may be a pairing code.
    for (address, reason) in [
        (format!("::1:{port}"), "needs brackets"),
        ("sealant1-aech6aaaaeivyjqlc52".to_owned(), "names no port"),
        ("localhost:0".to_owned(), "port 0"),
    ] {
        let refused = send(&source, &address, &donors.each_ref().map(String::as_str));
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(2) && stderr.contains(reason) && !stderr.contains(&address), "{stderr}");
    }
    let sent = send(&source, &format!("localhost:{port}"), &donors.each_ref().map(String::as_str));
    assert_eq!(sent.status.code(), Some(0), "{}", String::from_utf8_lossy(&sent.stderr));
    assert_eq!(receiving.end().0, 0);
    assert_same(&source, &into);

    // A certificate of the site's authority does not suffice if a name is required.
    let app = options(&authority.issue("app", &named("app")).expect("issued"));
    let (into, app) = (directory.path().join("named"), app.each_ref().map(String::as_str));
    let mut allowing = joiners.each_ref().map(String::as_str).to_vec();
    allowing.extend(["--allow", "Donor", "--allow", "other"]);
    let receiving = Receiving::begin(&into, &allowing);
    let port = receiving.code.rsplit(':').next().expect("a port").to_owned();
    let refused = send(&source, &format!("localhost:{port}"), &app);
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && stderr.contains("app") && stderr.contains("--allow"), "{stderr}");
    let sent = send(&source, &format!("localhost:{port}"), &donors.each_ref().map(String::as_str));
    assert_eq!(sent.status.code(), Some(0), "{}", String::from_utf8_lossy(&sent.stderr));
    assert_eq!(receiving.end().0, 0);

    // A rejected sender gets the reason, and no pairing code is mentioned where none is used.
    let into = directory.path().join("nobody");
    allowing.extend(["--expiry", "3s"]);
    let receiving = Receiving::begin(&into, &allowing);
    let port = receiving.code.rsplit(':').next().expect("a port").to_owned();
    send(&source, &format!("localhost:{port}"), &app);
    let (code, stderr) = receiving.end();
    assert!(code == 1 && stderr.contains("app") && stderr.contains("--allow"), "{stderr}");
    assert!(!stderr.contains("pairing code"), "{stderr}");
}

#[test]
fn encrypted_mysql_tablespaces_compress_and_arrive_unchanged() {
    let Some(_) = require(Kind::MySql97) else { return };
    let options =
        ["--innodb-redo-log-encrypt=ON", "--innodb-undo-log-encrypt=ON", "--log-bin=binlog", "--binlog-encryption=ON"];
    let builder = || Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).options(options);
    let mut server = builder().start().expect("MySQL starts");
    let tables = "SET SESSION cte_max_recursion_depth = 40000; CREATE DATABASE demo; USE demo;
        CREATE TABLE enc (id INT PRIMARY KEY, name VARCHAR(600)) ENCRYPTION='Y';
        INSERT INTO enc WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < 40000)
        SELECT n, REPEAT(CONCAT('row ', n, ' '), 40) FROM s;
        CREATE TABLE pc (id INT PRIMARY KEY, name VARCHAR(600)) ENCRYPTION='Y' COMPRESSION='zlib';
        INSERT INTO pc SELECT * FROM enc;
        CREATE TABLE clear (id INT PRIMARY KEY, name VARCHAR(600)); INSERT INTO clear SELECT * FROM enc LIMIT 1000";
    server.sql(tables).expect("tables are made");
    server.stop().expect("it stops");
    let keyring = server.dir().join("keyring");
    let target = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let wire = |name: &str, more: &[&str]| {
        let options = [&["--compress", "zstd:3"], more].concat();
        let report = moves(server.datadir(), &target.path().join(name), &options);
        (report["wire_bytes"].as_u64().expect("a number"), report["opened_bytes"].as_u64().expect("a number"))
    };
    let (closed, nothing) = wire("closed", &[]);
    let (open, opened) = wire("open", &["--keyring", text(&keyring)]);
    assert_eq!(nothing, 0);
    assert!(opened > 30 * MIB as u64, "{opened}");
    assert!(open + 15 * (MIB as u64) < closed, "{open} bytes with the keyring, {closed} without");
    Proof::mysql(&[&target.path().join("open")], Some(&keyring)).is_complete();
    let keyring_option = ["--keyring", text(&keyring)];
    logs_compress(server.datadir(), "binlog.0", &[], &keyring_option);
    logs_compress(&server.datadir().join("#innodb_redo"), "#ib_redo", &[], &keyring_option);

    let keys = fs::read(&keyring).expect("a keyring");
    let joiner = builder().datadir_seed(target.path().join("open")).file("keyring", keys).start();
    let joiner = joiner.expect("a server starts on what arrived");
    assert_eq!(joiner.value("SELECT COUNT(*) FROM demo.enc JOIN demo.pc USING (id, name)").expect("rows"), "40000");
}

/// Logs whose names begin like this, sent alone, are opened with the options of `open`, not with those of `closed`, and
/// arrive unchanged.
fn logs_compress(logs: &Path, names: &str, closed: &[&str], open: &[&str]) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let source = directory.path().join("source");
    fs::create_dir(&source).expect("made");
    for log in fs::read_dir(logs).expect("a directory").map(|log| log.expect("a file").path()) {
        let name = log.file_name().expect("a name");
        if name.to_string_lossy().starts_with(names) {
            fs::copy(&log, source.join(name)).expect("copied");
        }
    }
    let [closed, open] = [("closed", closed), ("open", open)].map(|(name, keys)| {
        let into = directory.path().join(name);
        moves(&source, &into, &[&["--compress", "zstd:3"], keys].concat())
    });
    let number = |report: &serde_json::Value, field: &str| report[field].as_u64().expect("a number");
    assert_eq!(number(&closed, "opened_bytes"), 0);
    let written = written_bytes(&source);
    assert!(written > 4 * MIB as u64, "{names}: {open}");
    assert!(number(&open, "opened_bytes") * 10 > written * 9, "{names}, {written} written: {open}");
    assert!(number(&open, "wire_bytes") * 2 < number(&closed, "wire_bytes"), "{names}: {closed} {open}");
}

/// Bytes of all MiB that are not zero: servers create redo logs in their full length.
fn written_bytes(directory: &Path) -> u64 {
    let files = fs::read_dir(directory).expect("a directory").map(|file| file.expect("a file").path());
    let pieces = |file: PathBuf| {
        let bytes = fs::read(file).expect("a file");
        let written = bytes.chunks(MIB).filter(|piece| piece.iter().any(|byte| *byte != 0));
        written.map(|piece| piece.len() as u64).sum::<u64>()
    };
    files.map(pieces).sum()
}

#[test]
fn encrypted_mariadb_tablespaces_compress_and_arrive_unchanged() {
    const KEYS: &str = "1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n";
    for (kind, algorithm) in [(Kind::MariaDb1011, "aes_cbc"), (Kind::MariaDb118, "aes_ctr")] {
        let Some(_) = require(kind) else { continue };
        let mut server = Server::builder(kind)
            .mariadb_keys(KEYS)
            .options(["--innodb-encrypt-tables=ON", "--innodb-encryption-threads=2", "--innodb-encrypt-log=ON"])
            .options(["--log-bin=../binlog", "--encrypt-binlog=ON", "--binlog-format=ROW"])
            .option(format!("--file-key-management-encryption-algorithm={algorithm}"))
            .start()
            .expect("MariaDB starts");
        let tables = "CREATE DATABASE demo; USE demo;
            CREATE TABLE enc (id INT PRIMARY KEY, name VARCHAR(600)) ENCRYPTED=YES;
            INSERT INTO enc SELECT seq, REPEAT(CONCAT('row ', seq, ' '), 40) FROM seq_1_to_40000;
            CREATE TABLE pc (id INT PRIMARY KEY, name VARCHAR(600)) ENCRYPTED=YES PAGE_COMPRESSED=1;
            INSERT INTO pc SELECT * FROM enc";
        server.sql(tables).expect("tables are made");
        server.stop().expect("it stops");
        let keys = server.dir().join("keys.txt");
        let target = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let key_file = ["--mariadb-key-file", text(&keys)];
        let options = [&["--compress", "zstd:3"][..], &key_file].concat();
        let report = moves(server.datadir(), &target.path().join("open"), &options);
        let [bytes, wire, opened] =
            ["bytes", "wire_bytes", "opened_bytes"].map(|field| report[field].as_u64().expect("a number"));
        assert!(opened > 10 * MIB as u64, "{report}");
        assert!(wire * 3 < bytes, "{kind:?}: {report}");
        // MariaDB derives no key for its logs: the key of the key file is sent only if the option permits it.
        let with_key = [&key_file[..], &["--send-mariadb-key"]].concat();
        logs_compress(server.dir(), "binlog.0", &key_file, &with_key);
        logs_compress(server.datadir(), "ib_logfile0", &[], &key_file);
    }
}

/// Transactions of one statement each, thousands of rows, and events longer than 1 MiB.
const EVENTS: &str = "USE demo;
DELIMITER //
    CREATE OR REPLACE PROCEDURE many() BEGIN
        FOR n IN 1..4000 DO INSERT INTO small (note) VALUES (CONCAT('all work and no play ', n)); END FOR;
    END//
DELIMITER ;
    CREATE OR REPLACE TABLE small (id INT PRIMARY KEY AUTO_INCREMENT, note VARCHAR(100));
    CREATE OR REPLACE TABLE rows_of (id INT PRIMARY KEY, note VARCHAR(600));
    CREATE OR REPLACE TABLE large (note LONGBLOB);
    SET SESSION binlog_format = STATEMENT; CALL many();
    SET SESSION binlog_format = ROW;
    INSERT INTO rows_of SELECT seq, REPEAT(CONCAT('row ', seq, ' '), 40) FROM seq_1_to_20000;
    INSERT INTO large VALUES (REPEAT('blob', 900000));
    INSERT INTO rows_of SELECT seq, REPEAT(CONCAT('row ', seq, ' '), 40) FROM seq_20001_to_40000;
    CALL many()";

#[test]
fn mariadb_logs_under_several_keys_and_in_both_modes_arrive_unchanged() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let password = directory.path().join("password");
    fs::write(&password, "of the key file\n").expect("written");
    let keys = ["35", "6b"].map(|byte| format!("1;{}\n2;{}\n", byte.repeat(32), byte.repeat(16)));
    let sealed = keys.each_ref().map(|lines| sealed_keys(lines, &password));
    let mut server = Server::builder(Kind::MariaDb1011)
        .file("keys.enc", sealed[0].clone())
        .file("password", fs::read(&password).expect("there"))
        .options(["--plugin-load-add=file_key_management", "--file-key-management-filename={dir}/keys.enc"])
        .options(["--file-key-management-filekey=FILE:{dir}/password", "--max-binlog-size=9M"])
        .options(["--log-bin=../binlog", "--encrypt-binlog=ON", "--max-allowed-packet=16M"])
        .start()
        .expect("MariaDB starts");
    server.sql("CREATE DATABASE demo").and_then(|_| server.sql(EVENTS)).expect("it works");
    server.sql("DROP TABLE demo.small, demo.rows_of, demo.large").expect("dropped");
    let logs = |server: &Server| {
        let files = fs::read_dir(server.dir()).expect("a directory").map(|file| file.expect("a file").path());
        files.filter(|file| file.to_string_lossy().contains("/binlog.0")).collect::<Vec<_>>()
    };
    // From here on with another key, and in the other mode.
    server.stop().expect("it stops");
    let before = logs(&server);
    fs::write(server.dir().join("keys.enc"), &sealed[1]).expect("written");
    server.restart_with(&["--file-key-management-encryption-algorithm=aes_ctr"]).expect("it starts");
    server.sql(EVENTS).expect("it works");
    server.kill();
    let source = directory.path().join("source");
    fs::create_dir(&source).expect("made");
    let mut bytes = [0, 0];
    for log in logs(&server) {
        let copied = fs::copy(&log, source.join(log.file_name().expect("a name"))).expect("copied");
        bytes[usize::from(!before.contains(&log))] += copied;
    }
    assert!(bytes.iter().all(|bytes| *bytes > 20 * MIB as u64), "{bytes:?}");

    let files = [0, 1].map(|number| directory.path().join(format!("keys{number}.enc")));
    for (file, sealed) in files.iter().zip(&sealed) {
        fs::write(file, sealed).expect("written");
    }
    let hints = |stderr: &[u8]| {
        let stderr = String::from_utf8_lossy(stderr).into_owned();
        stderr.lines().filter(|line| line.contains("--send-mariadb-key")).count()
    };
    for (number, file) in files.iter().enumerate() {
        let mut sent_bytes = Vec::new();
        for (more, hinted) in [(&["--send-mariadb-key"][..], 0), (&[], 1), (&["--quiet"], 0)] {
            let into = directory.path().join(format!("{number}-{}", more.concat()));
            let report = directory.path().join("report");
            let receiving = Receiving::begin(&into, &[]);
            let options = ["--mariadb-key-file", text(file), "--mariadb-key-file-password-file", text(&password)];
            let common = ["--compress", "zstd:3", "--streams", "7", "--report", text(&report)];
            let sent = send(&source, &receiving.code, &[&common[..], &options, more].concat());
            let (code, stderr) = receiving.end();
            assert_eq!((sent.status.code(), code), (Some(0), 0), "{}{stderr}", String::from_utf8_lossy(&sent.stderr));
            assert_same(&source, &into);
            assert_eq!(hints(&sent.stderr), hinted, "{more:?}: {}", String::from_utf8_lossy(&sent.stderr));
            let report: serde_json::Value = serde_json::from_slice(&fs::read(&report).expect("read")).expect("JSON");
            sent_bytes.push(["opened_bytes", "wire_bytes"].map(|field| report[field].as_u64().expect("a number")));
        }
        // Events with the other key are not opened; events with this key are, except for parts of the long ones.
        let [[opened, wire], [unopened, all_wire], _] = *sent_bytes.as_chunks().0.first().expect("three");
        assert!(opened * 10 > bytes[number] * 6 && opened <= bytes[number], "{opened} of {bytes:?}");
        assert_eq!(unopened, 0);
        assert!(wire + bytes[number] / 2 < all_wire, "{wire} of {all_wire}");
    }
    broken_off_and_resumed(&source, &directory.path().join("again"), &files[1], &password);
}

/// A transfer of logs whose sender is killed halfway, and a second one that resumes.
fn broken_off_and_resumed(source: &Path, into: &Path, keys: &Path, password: &Path) {
    let options = ["--mariadb-key-file", text(keys), "--mariadb-key-file-password-file", text(password)];
    let options = [&["--compress", "zstd:3", "--send-mariadb-key"][..], &options].concat();
    let receiving = Receiving::begin(into, &[]);
    let mut sender = crate::support::sealant();
    sender.arg("send").arg(source).arg(&receiving.code).args(&options).args(["--bwlimit", "2MiB"]);
    let mut sender = sender.stderr(Stdio::null()).spawn().expect("it starts");
    let journal = into.join(".sealant-staging/journal");
    wait_until("eight chunks", limit(60), || fs::metadata(&journal).is_ok_and(|journal| journal.len() >= 8 * 60));
    sender.kill().and_then(|()| sender.wait()).expect("killed");
    assert_eq!(receiving.end().0, 1);
    let report = moves(source, into, &options);
    assert!(report["kept_bytes"].as_u64().expect("a number") > 4 * MIB as u64, "{report}");
}

#[test]
fn a_dry_run_sends_nothing() {
    let source = odd_directory();
    let output = send(source.path(), "sealant1-x", &["--dry-run"]);
    assert_eq!(output.status.code(), Some(2), "a code is checked all the same");
    let target = tempfile::tempdir().expect("a directory");
    let receiving = Receiving::begin(target.path(), &[]);
    let output = send(source.path(), &receiving.code, &["--dry-run"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("db/chunks-and-a-bit"));
    receiving.kill();
}

#[test]
fn a_dry_run_prints_file_names_escaped() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let [source, into] = ["source", "into"].map(|name| directory.path().join(name));
    fs::create_dir_all(source.join("secret")).expect("made");
    fs::write(source.join("secret/t.ibd"), "1").expect("written");
    fs::write(source.join("odd\x1b[2J\nname"), "1").expect("written");
    let receiving = Receiving::begin(&into, &[]);
    let shown = |more: &[&str]| {
        let output = send(&source, &receiving.code, &[&["--dry-run"], more].concat());
        let message = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(output.status.code(), Some(0), "{}", message(&output.stderr));
        (message(&output.stdout), message(&output.stderr))
    };
    let (list, _) = shown(&[]);
    assert!(list.contains("odd\\u{1b}[2J\\nname") && !list.contains('\x1b'), "{list}");
    let (list, warnings) = shown(&["--exclude", "secret/"]);
    assert!(!list.contains("t.ibd") && !warnings.contains("warning:"), "{list}{warnings}");
    let (list, warnings) = shown(&["--exclude", "/secret"]);
    assert!(list.contains("t.ibd") && warnings.contains("the pattern '/secret' matches nothing"), "{list}{warnings}");
    receiving.kill();
}

/// Bytes of a file in the page cache, according to `fincore` of util-linux.
fn cached_bytes(path: &Path) -> Option<u64> {
    let output =
        Command::new("fincore").args(["--bytes", "--noheadings", "--output", "RES"]).arg(path).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}

/// Peak memory of a process, in KiB.
fn peak_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or_default()
}

/// Peak memory of sender and receiver until the sender has ended, in KiB.
fn peaks(mut sender: Child, receiving: &Receiving) -> [u64; 2] {
    let mut peaks = [0, 0];
    while sender.try_wait().expect("asked").is_none() {
        peaks = [peaks[0].max(peak_memory(sender.id())), peaks[1].max(peak_memory(receiving.pid()))];
        std::thread::sleep(Duration::from_millis(2));
    }
    peaks
}

#[test]
fn no_combination_of_options_takes_much_memory() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let source = directory.path().join("source");
    fs::create_dir(&source).expect("made");
    for file in 0..128_usize {
        fs::write(source.join(format!("t{file}.ibd")), format!("row of {file} ").repeat(160_000)).expect("written");
    }
    for compress in ["zstd:19", "zstd:9", "lz4"] {
        let into = directory.path().join(compress);
        let receiving = Receiving::begin(&into, &["--streams", "64"]);
        let mut sender = crate::support::sealant();
        sender.arg("send").arg(&source).arg(&receiving.code).args(["--compress", compress, "--streams", "64"]);
        let peaks = peaks(sender.stderr(Stdio::null()).spawn().expect("it starts"), &receiving);
        assert_eq!(receiving.end().0, 0);
        assert!(peaks.iter().all(|peak| (1..256 << 10).contains(peak)), "{compress}: {peaks:?} KiB");
        assert_same(&source, &into);
        fs::remove_dir_all(&into).expect("removed");
    }
}

/// Bytes that a process has read, from any file.
fn read_bytes(pid: u32) -> u64 {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    io.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok()).unwrap_or_default()
}

#[test]
fn a_large_resumed_transfer_takes_little_memory() {
    const CHUNKS: u64 = 4 << 20;
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let [source, into] = ["source", "into"].map(|name| directory.path().join(name));
    let staging = into.join(".sealant-staging");
    fs::create_dir(&source).expect("made");
    fs::create_dir_all(staging.join("files")).expect("made");
    File::create(staging.join("files/t.ibd")).expect("made");
    // A sparse file of 4 TiB, and a journal that claims that all of it is in place.
    File::create(source.join("t.ibd")).expect("made").set_len(CHUNKS * MIB as u64).expect("long");
    let mut journal = BufWriter::new(File::create(staging.join("journal")).expect("made"));
    let path = Hash::compute(b"t.ibd");
    for chunk in 0..CHUNKS {
        let claim = [&path.0[..16], &chunk.to_be_bytes(), &path.0].concat();
        journal.write_all(&claim).and_then(|()| journal.write_all(&Hash::compute(&claim).0[..4])).expect("written");
    }
    journal.into_inner().expect("written");
    let claims = fs::metadata(staging.join("journal")).expect("there").len();
    let receiving = Receiving::begin(&into, &[]);
    let mut sender = crate::support::sealant();
    sender.arg("send").arg(&source).arg(&receiving.code).stderr(Stdio::null());
    let mut sender = sender.spawn().expect("it starts");
    // By then the receiver has read the journal, and checks it.
    wait_until("the claims are looked at", limit(300), || {
        assert!(sender.try_wait().expect("asked").is_none(), "it ended");
        read_bytes(receiving.pid()) >= claims + (64 << 20)
    });
    let peaks = [sender.id(), receiving.pid()].map(peak_memory);
    sender.kill().and_then(|()| sender.wait()).expect("it was there");
    receiving.kill();
    assert!(peaks.iter().all(|peak| (1..96 << 10).contains(peak)), "{peaks:?} KiB");
}

#[test]
fn neither_side_takes_much_memory_or_the_page_cache() {
    const BYTES: usize = 64 * MIB;
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let [source, into, copy] = ["source", "into", "copy"].map(|name| directory.path().join(name));
    fs::create_dir(&source).expect("made");
    let [hot, cold] = ["hot.ibd", "cold.ibd"].map(|name| source.join(name));
    fs::write(&hot, noise(1, BYTES)).expect("written");
    fs::write(&cold, noise(2, BYTES)).expect("written");
    if ::bench::drop_cache(&[hot.clone(), cold.clone()]).is_err() || cached_bytes(&hot).is_none() {
        harness::skip("a file system in memory, or no fincore");
        return;
    }
    ::bench::warm(std::slice::from_ref(&hot)).expect("read");
    let receiving = Receiving::begin(&into, &[]);
    let mut sender = crate::support::sealant();
    sender.arg("send").arg(&source).arg(&receiving.code).args(["--compress", "zstd:1", "--streams", "8"]);
    let sender = sender.stderr(Stdio::null()).spawn().expect("it starts");
    let peaks = peaks(sender, &receiving);
    assert_eq!(receiving.end().0, 0);
    assert!(peaks.iter().all(|peak| (1..256 << 10).contains(peak)), "{peaks:?} KiB");
    // The donor's page cache is unchanged, and the joiner's has no new files.
    let (few, most) = (BYTES as u64 / 10, BYTES as u64 / 10 * 9);
    let cached = |path: &Path| cached_bytes(path).expect("a number");
    assert!(cached(&hot) > most, "only {} bytes of what was in the page cache still are", cached(&hot));
    for path in [&cold, &into.join("hot.ibd"), &into.join("cold.ibd")] {
        assert!(cached(path) < few, "{} bytes of {} are in the page cache", cached(path), path.display());
    }
    // A plain copy leaves both files in the cache; this shows that the measurement works.
    let mut copied = Command::new("dd");
    copied.args(["bs=1M", "status=none"]).arg(format!("if={}", text(&cold)));
    assert!(copied.arg(format!("of={}", text(&copy))).status().expect("dd runs").success());
    assert!([&cold, &copy].into_iter().all(|path| cached(path) > most), "{} {}", cached(&cold), cached(&copy));
    assert_same(&source, &into);
}
