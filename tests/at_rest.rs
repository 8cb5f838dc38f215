//! Data at rest, with servers, settings and damaged files beyond the trap suite: plaintext must fail, encrypted data
//! must not, and what cannot be determined must not pass.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use harness::{KeyringLocation, Kind, Server, limit, require, wait_until};
use serde_json::Value;

use crate::support::proof::Proof;
use crate::support::{Audit, sealant};

/// Throw-away keys of MariaDB's `file_key_management`.
const MARIADB_KEYS: &str = "1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n";

/// Size of a page in the sample tablespaces.
const PAGE: usize = 16384;
/// Range of MySQL's encryption information on page 0 of 16 KiB.
const INFO: std::ops::Range<usize> = 10390..10505;

/// A sample file of the repository.
fn sample(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name);
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if name.ends_with(".zst") { zstd::decode_all(bytes.as_slice()).expect("a sample is whole") } else { bytes }
}

fn encrypted() -> Vec<u8> {
    sample("tablespace/mysql97-16k-encrypted.ibd")
}

fn clear() -> Vec<u8> {
    sample("tablespace/mysql97-16k-clear.ibd.zst")
}

/// Audits a directory that contains exactly these files.
fn directory(files: &[(&str, &[u8])]) -> Audit {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, bytes) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("below the directory")).expect("made");
        fs::write(path, bytes).expect("written");
    }
    Audit::offline(dir.path())
}

/// Verdicts of check `id` on a directory with the file of one table.
fn of_table(id: &str, bytes: &[u8]) -> Vec<String> {
    let audit = directory(&[("demo/t.ibd", bytes), ("demo/healthy.ibd", &encrypted())]);
    audit.statuses(id).into_iter().map(str::to_owned).collect()
}

/// Sets the ENCRYPTION flag of page 0.
fn flagged(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[56] |= 0x20;
    bytes
}

/// Marks every page that has content as encrypted, as MySQL does.
fn marked(mut bytes: Vec<u8>) -> Vec<u8> {
    for page in bytes.chunks_exact_mut(PAGE).skip(1).filter(|page| page.iter().any(|byte| *byte != 0)) {
        page.copy_within(24..26, 28);
        page[24..26].copy_from_slice(&15_u16.to_be_bytes());
    }
    bytes
}

#[test]
fn a_forged_encryption_flag_does_not_make_a_table_encrypted() {
    let mut with_information = flagged(clear());
    with_information[INFO].copy_from_slice(&encrypted()[INFO]);
    for forged in [flagged(clear()), marked(clear()), marked(flagged(clear())), marked(with_information.clone())] {
        assert_eq!(of_table("rest-table-plaintext", &forged), ["FAIL"]);
    }
    assert_eq!(of_table("rest-page-plaintext", &with_information), ["FAIL"]);
}

#[test]
fn one_clear_page_in_an_encrypted_table_is_found() {
    let mut mixed = encrypted();
    mixed[4 * PAGE..5 * PAGE].copy_from_slice(&clear()[4 * PAGE..5 * PAGE]);
    assert_eq!(of_table("rest-page-plaintext", &mixed), ["FAIL"]);
    assert_eq!(of_table("rest-table-plaintext", &mixed), ["FAIL"]);
}

#[test]
fn damaged_tables_are_neither_encrypted_nor_clear() {
    let mut zeroed = encrypted();
    zeroed[PAGE..].fill(0);
    let mut other_page_size = encrypted();
    // Bits 6 to 9 of the flags: 7 is 64 KiB.
    other_page_size[56] |= 1;
    other_page_size[57] |= 0xc0;
    let zero_first = [&[0; PAGE][..], &clear()[PAGE..]].concat();
    let cut: [&[u8]; 5] =
        [&[], &encrypted()[..100], &encrypted()[..PAGE], &encrypted()[..PAGE + 9], &encrypted()[..3 * PAGE]];
    for damaged in cut.into_iter().chain([&zeroed[..], &other_page_size, &zero_first, &[b'x'; 40_000]]) {
        assert_eq!(of_table("rest-table-plaintext", damaged), ["UNKNOWN"], "{} bytes", damaged.len());
    }
    for clear in [&clear()[..PAGE], &clear()[..3 * PAGE]] {
        assert_eq!(of_table("rest-table-plaintext", clear), ["FAIL"]);
    }
}

#[test]
fn logs_with_a_false_header_are_judged_by_the_bytes_after_it() {
    let (clear, encrypted) = (sample("binlog/mysql97-clear"), sample("binlog/mysql97-encrypted-13-events"));
    let lying = [b"\xfdbin", &clear[4..]].concat();
    let relabelled = [&encrypted[..512], &clear[4..]].concat();
    let audit = directory(&[
        ("binlog.000001", &lying),
        ("binlog.000002", &relabelled),
        ("binlog.000003", &encrypted),
        ("binlog.000004", &encrypted[..2]),
        ("binlog.000005", &[0; 3000]),
        ("binlog.000006", b""),
    ]);
    audit.fails("rest-binlog-plaintext", "binlog.000001");
    audit.fails("rest-binlog-plaintext", "binlog.000002");
    let unknown = |f: &&Value| f["status"] == "UNKNOWN";
    let found = audit.findings("rest-binlog-plaintext");
    let unknown: Vec<&str> = found.iter().copied().filter(unknown).filter_map(|f| f["artefact"].as_str()).collect();
    assert_eq!(unknown, ["binlog.000004", "binlog.000005"]);
}

#[test]
fn links_out_of_a_directory_are_reported() {
    let (dir, remote) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("another"));
    fs::create_dir(dir.path().join("demo")).expect("made");
    fs::write(dir.path().join("demo/t.ibd"), encrypted()).expect("written");
    fs::write(remote.path().join("far.ibd"), clear()).expect("written");
    symlink(remote.path().join("far.ibd"), dir.path().join("demo/far.ibd")).expect("linked");
    symlink(remote.path(), dir.path().join("farther")).expect("linked");
    symlink(dir.path().join("demo"), dir.path().join("near")).expect("linked");
    let audit = Audit::offline(dir.path());
    let found = audit.findings("rest-table-plaintext");
    let named: Vec<&str> = found.iter().filter_map(|f| f["artefact"].as_str()).collect();
    assert_eq!((named, audit.statuses("rest-table-plaintext")), (vec!["demo/far.ibd", "farther"], vec!["UNKNOWN"]));
}

#[test]
fn a_directory_of_another_user_is_refused_and_its_mode_is_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let compressed =
        zstd::encode_all(&b"some text of a manual, long enough to be compressed\n"[..], 3).expect("compressed");
    for (name, bytes) in [
        ("jvm.cfg", &b"-server KNOWN\n"[..]),
        ("hosts.lock", b""),
        ("manual.1.zst", &compressed),
        ("app.log", b"one line\n"),
    ] {
        fs::write(dir.path().join(name), bytes).expect("written");
    }
    let audit =
        || sealant().args(["audit", "--format", "json", "--offline"]).arg(dir.path()).output().expect("it starts");
    let refused = audit();
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0), "{stderr}");
    assert!(stderr.contains("no file of a server here"), "{stderr}");

    // A directory such as /var, which only contains the data directory, must not be closed: others need its files.
    for i in 0..40 {
        let table = dir.path().join(format!("lib/mysql/demo/t{i}.ibd"));
        fs::create_dir_all(table.parent().expect("below")).expect("made");
        fs::write(&table, clear()).expect("written");
        fs::set_permissions(&table, fs::Permissions::from_mode(0o644)).expect("opened");
    }
    symlink("/etc/hosts", dir.path().join("lib/mysql/demo/link.ibd")).expect("linked");
    for open in ["", "lib", "lib/mysql", "lib/mysql/demo"] {
        fs::set_permissions(dir.path().join(open), fs::Permissions::from_mode(0o755)).expect("opened");
    }
    let audit = Audit::offline(dir.path());
    let found = audit.findings("host-datadir-perms");
    let fixes: Vec<&str> = found.iter().filter_map(|f| f["remediation"].as_str()).collect();
    assert!(fixes.iter().all(|fix| fix.starts_with("chmod o-rwx /") && fix.contains("lib/mysql/demo")), "{fixes:?}");
    assert!(found.iter().all(|f| f["artefact"] != "lib/mysql/demo/link.ibd"), "{found:?}");
    assert_eq!(fixes.iter().map(|fix| fix.matches(".ibd").count()).sum::<usize>(), 40);
}

#[test]
fn leftover_files_are_reported_by_their_kind() {
    let dump = format!("-- MySQL dump\n{}", "INSERT INTO `t` VALUES (1,'some row');\n".repeat(500));
    let core = [b"\x7fELF\x02\x01\x01".as_slice(), &[0; 9], &[4, 0, 62, 0], &[7; 3000]].concat();
    let audit = directory(&[
        ("demo/t.ibd", &encrypted()),
        ("demo/t.ibd.bak", &clear()),
        ("demo/t.cfp", &sample("export/mysql97-16k-encrypted.cfp")),
        ("old/dump.sql", dump.as_bytes()),
        ("core.4711", &core),
    ]);
    audit.fails("rest-table-plaintext", "demo/t.ibd.bak");
    audit.fails("rest-export-key-file", "demo/t.cfp");
    audit.fails("bak-set-plaintext", "old/dump.sql");
    audit.fails("host-coredump", "core.4711");
    let fix = &audit.failure("rest-table-plaintext", "demo/t.ibd.bak")["remediation"];
    assert!(fix.as_str().is_some_and(|fix| fix.contains("shred")), "{fix}");
}

#[test]
fn every_page_size_and_format_is_recognised() {
    let encrypted = [
        "mysql97-4k-encrypted.ibd",
        "mysql97-4k-encrypted-kbs2.ibd",
        "mysql97-64k-encrypted.ibd.zst",
        "mysql97-64k-encrypted-zlib.ibd.zst",
        "mysql97-16k-encrypted-rtree.ibd.zst",
        "mysql97-16k-encrypted-blob.ibd.zst",
    ];
    let mariadb = [
        "mariadb1011-ctr-4k-encrypted.ibd",
        "mariadb1011-ctr-64k-encrypted.ibd.zst",
        "mariadb1011-ctr-32k-legacy-encrypted.ibd.zst",
        "mariadb1011-16k-legacy-encrypted-page-compressed.ibd.zst",
        "mariadb1011-16k-encrypted-rtree.ibd",
    ];
    for names in [&encrypted[..], &mariadb] {
        let bytes: Vec<_> = names.iter().map(|name| sample(&format!("tablespace/{name}"))).collect();
        let paths: Vec<_> = (0..names.len()).map(|i| format!("demo/t{i}.ibd")).collect();
        let files: Vec<_> = paths.iter().map(String::as_str).zip(bytes.iter().map(Vec::as_slice)).collect();
        let audit = directory(&files);
        audit.passes("rest-table-plaintext");
        audit.passes("rest-page-plaintext");
    }
    for name in
        ["mariadb1011-16k-clear.ibd.zst", "mariadb1011-16k-legacy-clear.ibd.zst", "mysql97-16k-clear-zlib.ibd.zst"]
    {
        let bytes = sample(&format!("tablespace/{name}"));
        directory(&[("demo/t.ibd", &bytes)]).fails("rest-table-plaintext", "demo/t.ibd");
    }
}

/// Row of the map, and the check that judges the same artefacts.
const MAP: [(&str, &str); 7] = [
    ("tables", "rest-table-plaintext"),
    ("general tablespaces", "rest-general-plaintext"),
    ("data dictionary (mysql.ibd)", "rest-mysql-ibd-plaintext"),
    ("undo tablespaces", "rest-undo-plaintext"),
    ("redo log", "rest-redo-plaintext"),
    ("binary logs", "rest-binlog-plaintext"),
    ("Aria tables", "rest-aria-plaintext"),
];

/// Asserts that the map and the findings do not contradict each other.
fn agrees(audit: &Audit) {
    let rows = audit.json["coverage"].as_array().expect("a map");
    for (artefact, id) in MAP {
        let row = rows.iter().find(|row| row["artefact"] == artefact).expect("a row for each kind");
        let on_map = matches!(row["state"].as_str(), Some("clear" | "partly"));
        let findings = audit.findings(id);
        let found = findings.iter().any(|f| f["status"] == "FAIL" && f["grade"] != "declared");
        assert_eq!(on_map, found, "{id} and the map disagree: {row}\n{findings:?}");
    }
}

#[test]
fn the_map_agrees_with_the_findings() {
    let redo = sample("redo/mysql97-mixed.zst");
    let undo = sample("tablespace/mysql97-undo-mixed.zst");
    let general = sample("tablespace/mysql97-16k-encrypted-general.ibd.zst");
    let log = sample("binlog/mysql97-clear");
    agrees(&directory(&[("demo/t.ibd", &encrypted()), ("ts.ibd", &general)]));
    agrees(&directory(&[("demo/t.ibd", &clear()), ("#innodb_redo/#ib_redo10", &redo), ("binlog.000001", &log)]));
    agrees(&directory(&[("demo/t.ibd", &flagged(clear())), ("undo_001", &undo)]));
    let aria = [sample("aria/dynamic-clear.MAI"), sample("aria/dynamic-clear.MAD")];
    agrees(&directory(&[("demo/a.MAI", &aria[0]), ("demo/a.MAD", &aria[1])]));
}

fn mysql(options: &[&str]) -> Option<Server> {
    require(Kind::MySql97)?;
    let builder = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).options(options.iter().copied());
    Some(builder.start().expect("MySQL 9.7 starts"))
}

/// Options that switch on all of MySQL's encryption from the first start.
const MYSQL_ALL_ON: [&str; 5] = [
    "--default-table-encryption=ON",
    "--innodb-redo-log-encrypt=ON",
    "--innodb-undo-log-encrypt=ON",
    "--binlog-encryption=ON",
    "--innodb-max-dirty-pages-pct=0",
];

/// Waits until `query` answers `wanted`.
fn until(server: &Server, query: &str, wanted: &str) {
    wait_until(&format!("{query}: {wanted}"), limit(60), || match server.value(query).expect("an answer") {
        value if value == wanted => Ok(()),
        value => Err(value),
    });
}

/// Audits until check `id` has only this status: pages reach the disk some time after the statement.
fn until_status(server: &Server, id: &str, wanted: &str) -> Audit {
    wait_until(&format!("{id}: {wanted}"), limit(60), || {
        let audit = Audit::live_with(server, &["--deep"]);
        if audit.statuses(id) == [wanted] { Ok(audit) } else { Err(format!("{:?}", audit.findings(id))) }
    })
}

#[test]
fn after_undo_is_rewritten_and_redo_has_wrapped_nothing_is_clear() {
    let Some(server) = mysql(&MYSQL_ALL_ON) else { return };
    server
        .sql(
            "ALTER TABLESPACE mysql ENCRYPTION='Y'; ALTER TABLE sys.sys_config ENCRYPTION='Y'; \
             CREATE DATABASE demo; CREATE TABLE demo.t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(200)); \
             INSERT INTO demo.t(v) WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 900) \
             SELECT REPEAT('clear row ', 18) FROM s; \
             CREATE UNDO TABLESPACE spare ADD DATAFILE 'spare.ibu'; CREATE UNDO TABLESPACE more ADD DATAFILE 'more.ibu'; \
             ALTER UNDO TABLESPACE innodb_undo_001 SET INACTIVE; ALTER UNDO TABLESPACE innodb_undo_002 SET INACTIVE",
        )
        .expect("made");
    until(&server, "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES WHERE STATE = 'empty'", "2");
    // More changes than the log's 8 MiB.
    for i in 0..20 {
        server.sql(&format!("UPDATE demo.t SET v = REPEAT('{i} changed ', 16)")).expect("changed");
    }
    server.sql("FLUSH BINARY LOGS").expect("rotated");
    let logs = server.sql("SHOW BINARY LOGS").expect("listed");
    let last = logs.lines().last().and_then(|line| line.split('\t').next()).expect("a log");
    server.sql(&format!("PURGE BINARY LOGS TO '{last}'")).expect("purged");
    let audit = until_status(&server, "rest-page-plaintext", "PASS");
    for id in ["rest-table-plaintext", "rest-mysql-ibd-plaintext", "rest-page-plaintext", "rest-undo-plaintext"] {
        audit.passes(id);
    }
    audit.passes("rest-redo-plaintext");
    audit.passes("rest-binlog-plaintext");
    agrees(&audit);
}

#[test]
fn a_full_scan_finds_a_damaged_page_and_reports_none_on_a_running_server() {
    let Some(mut server) = mysql(&MYSQL_ALL_ON) else { return };
    server
        .sql(
            "CREATE DATABASE demo; CREATE TABLE demo.t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(200)); \
             INSERT INTO demo.t(v) WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 900) \
             SELECT REPEAT('clear row ', 18) FROM s",
        )
        .expect("made");
    let churn: String = (0..200)
        .map(|i| {
            format!("UPDATE demo.t SET v = REPEAT('{i} changed ', 16); CREATE TABLE demo.z{i} (a INT); FLUSH LOGS;")
        })
        .collect();
    let mut client = server.client().args(["-e", &churn]).spawn().expect("the client starts");
    for _ in 0..3 {
        let busy = Audit::live_with(&server, &["--deep"]);
        for id in ["rest-page-damaged", "key-cannot-open"] {
            assert!(!busy.statuses(id).contains(&"FAIL"), "{id}: {:?}", busy.findings(id));
        }
    }
    client.kill().expect("the client is ended");
    client.wait().expect("the client is ended");
    Audit::live(&server).unknown("rest-page-damaged");
    let healthy = until_status(&server, "rest-page-damaged", "PASS");
    healthy.passes("rest-page-damaged");
    healthy.passes("key-cannot-open");

    let saved = server.dir().join("facts.json");
    let saved = saved.to_str().expect("an ASCII path");
    server.stop().expect("it stops");
    let table = server.datadir().join("demo/t.ibd");
    let mut bytes = fs::read(&table).expect("the table");
    bytes[4 * PAGE + 5000] ^= 4;
    fs::write(&table, bytes).expect("damaged");
    let (datadir, keyring) = (server.datadir().to_path_buf(), server.dir().join("keyring"));
    let (datadir, keyring) = (datadir.to_str().expect("ASCII"), keyring.to_str().expect("ASCII"));
    let audit = Audit::run(["--offline", datadir, "--deep", "--keyring-copy", keyring, "--save", saved]);
    audit.fails("rest-page-damaged", "demo/t.ibd");
    let failure = audit.failure("rest-page-damaged", "demo/t.ibd");
    assert_eq!((&failure["severity"], &failure["evidence"][0]["offset"]), (&"high".into(), &(4 * PAGE).into()));
    let found = audit.findings("rest-page-damaged");
    assert_eq!(found.len(), 1, "{found:?}");
    audit.passes("key-cannot-open");
    audit.passes("key-backup-missing");
    let keyless = Audit::run(["--offline", datadir, "--deep"]);
    assert!(!keyless.statuses("rest-page-damaged").contains(&"PASS"));
    let again = Audit::run(["--facts", saved]);
    assert_eq!(audit.findings("rest-page-damaged"), again.findings("rest-page-damaged"));
}

#[test]
fn tables_in_any_directory_with_any_name_are_found_by_their_bytes() {
    let far = tempfile::tempdir().expect("a directory");
    let far = far.path().display();
    let Some(server) = mysql(&[&format!("--innodb-directories={far}")]) else { return };
    server
        .sql(&format!(
            "CREATE DATABASE `a-b #@`; CREATE TABLE `a-b #@`.`t \"q' ü``.x` (a INT); \
             CREATE TABLE `a-b #@`.`k` (a INT) ENCRYPTION='Y'; CREATE DATABASE demo; \
             CREATE TABLE demo.far (a INT) DATA DIRECTORY='{far}'; \
             CREATE TABLE demo.p (a INT) PARTITION BY RANGE(a) (PARTITION `p 0` VALUES LESS THAN (5), \
             PARTITION p1 VALUES LESS THAN MAXVALUE); \
             CREATE TABLESPACE ts ADD DATAFILE '{far}/ts.ibd'; CREATE TABLE demo.inside (a INT) TABLESPACE ts; \
             CREATE TABLE demo.again (a INT) ENCRYPTION='Y'; ALTER TABLE demo.again ENCRYPTION='N'; \
             CREATE TABLE demo.words (a TEXT, FULLTEXT(a)); CREATE TABLE demo.isam (a INT) ENGINE=MyISAM; \
             INSERT INTO demo.isam VALUES (1)"
        ))
        .expect("made");
    let audit = Audit::live(&server);
    for artefact in ["far.ibd", "p#p#p@00200", "p#p#p1", "demo/again", "demo/words", "a@002db@0020@0023@0040/t"] {
        audit.fails("rest-table-plaintext", artefact);
    }
    audit.fails("rest-general-plaintext", "ts.ibd");
    audit.fails("rest-fts-plaintext", "fts_");
    audit.fails("rest-engine-cannot-encrypt", "demo/isam.MYD");
    let odd = &audit.failure("rest-table-plaintext", "/t@0020")["remediation"];
    assert_eq!(odd, "ALTER TABLE `a-b #@`.`t \"q' ü``.x` ENCRYPTION='Y'");
    let partition = &audit.failure("rest-table-plaintext", "p#p#p1")["remediation"];
    assert_eq!(partition, "ALTER TABLE `demo`.`p` ENCRYPTION='Y'");
    let named = |f: &&Value| f["artefact"].as_str().is_some_and(|artefact| artefact.ends_with("/k.ibd"));
    assert!(!audit.findings("rest-table-plaintext").iter().any(named), "an encrypted table failed");
    server.sql("ALTER TABLE `a-b #@`.`t \"q' ü``.x` ENCRYPTION='Y'").expect("the remediation works as it stands");
    agrees(&audit);
}

/// Checks at rest that a variable alone decides; every account may read variables.
const BY_VARIABLE: [&str; 4] =
    ["rest-default-off", "rest-optout-allowed", "rest-general-log-on", "rest-encryption-threads-zero"];

/// Ids of checks at rest that passed.
fn passed(audit: &Audit) -> Vec<&str> {
    let all = audit.json["findings"].as_array().expect("findings are a list");
    let passed = all.iter().filter(|f| f["status"] == "PASS").filter_map(|f| f["id"].as_str());
    passed.filter(|id| id.starts_with("rest-") && !BY_VARIABLE.contains(id)).collect()
}

#[test]
fn without_grants_and_files_no_check_at_rest_passes() {
    let Some(server) = mysql(&MYSQL_ALL_ON) else { return };
    server.sql("ALTER TABLESPACE mysql ENCRYPTION='Y'; CREATE USER nobody@localhost").expect("made");
    let socket = server.socket().to_str().expect("an ASCII path");
    let blind = Audit::run(["--socket", socket, "--user", "nobody", "--no-files", "--no-host"]);
    assert_eq!(passed(&blind), Vec::<&str>::new());
    // With grants the server's own answers count, except for checks that only the bytes of files decide.
    let reported = Audit::live_with(&server, &["--no-files", "--no-host"]);
    for id in ["rest-page-plaintext", "rest-undo-plaintext", "rest-redo-plaintext", "rest-doublewrite-plaintext"] {
        assert!(!reported.statuses(id).contains(&"PASS"), "{id}: {:?}", reported.findings(id));
    }

    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let server = Server::builder(Kind::MariaDb1011).start().expect("MariaDB 10.11 starts");
    server.sql("CREATE USER nobody@localhost IDENTIFIED BY ''").expect("made");
    let socket = server.socket().to_str().expect("an ASCII path");
    let blind = Audit::run(["--socket", socket, "--user", "nobody", "--no-files", "--no-host"]);
    assert_eq!(passed(&blind), Vec::<&str>::new());
}

#[test]
fn saved_facts_are_judged_as_they_were() {
    let Some(server) = mysql(&[]) else { return };
    server.sql("CREATE DATABASE demo; CREATE TABLE demo.t (a INT)").expect("made");
    let saved = server.dir().join("facts.json");
    let saved = saved.to_str().expect("an ASCII path");
    let live = Audit::live_with(&server, &["--save", saved]);
    let again = Audit::run(["--facts", saved]);
    let of_rest = |audit: &Audit| -> Vec<Value> {
        let all = audit.json["findings"].as_array().expect("findings are a list").iter();
        all.filter(|f| f["id"].as_str().is_some_and(|id| id.starts_with("rest-") || id.starts_with("host-")))
            .cloned()
            .collect()
    };
    assert_eq!(of_rest(&live), of_rest(&again));
    assert_eq!(live.json["coverage"], again.json["coverage"]);
}

#[test]
fn a_mariadb_that_encrypts_everything_leaves_only_what_it_cannot_encrypt() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let server = Server::builder(Kind::MariaDb1011)
        .mariadb_keys(MARIADB_KEYS)
        .options([
            "--innodb-encrypt-tables=FORCE",
            "--innodb-encrypt-log=ON",
            "--innodb-encrypt-temporary-tables=ON",
            "--innodb-encryption-threads=4",
            "--encrypt-binlog=ON",
            "--encrypt-tmp-files=ON",
            "--encrypt-tmp-disk-tables=ON",
            "--aria-encrypt-tables=ON",
            "--log-bin=mbin",
            "--innodb-max-dirty-pages-pct=0",
            "--innodb-max-dirty-pages-pct-lwm=0",
        ])
        .start()
        .expect("MariaDB 10.11 starts");
    // An undo page that is written before and freed afterwards stays clear: a freed page is not encrypted.
    let system_tablespace =
        "SELECT MIN_KEY_VERSION FROM information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE SPACE = 0";
    until(&server, system_tablespace, "1");
    server
        .sql(
            "CREATE DATABASE demo; USE demo; \
             CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(100), KEY(v)); \
             INSERT INTO t SELECT seq, CONCAT('clear row ', seq) FROM seq_1_to_2000; \
             CREATE TABLE k ROW_FORMAT=COMPRESSED AS SELECT * FROM t; CREATE TABLE c PAGE_COMPRESSED=1 AS SELECT * FROM t; \
             CREATE TABLE v (a INT) WITH SYSTEM VERSIONING; CREATE SEQUENCE s; \
             CREATE TABLE p (a INT) PARTITION BY HASH(a) PARTITIONS 2; \
             CREATE TABLE a (x VARCHAR(100)) ENGINE=Aria; INSERT INTO a SELECT v FROM t; \
             CREATE TABLE d (x VARCHAR(100)) ENGINE=Aria ROW_FORMAT=DYNAMIC; INSERT INTO d SELECT v FROM t; FLUSH TABLES",
        )
        .expect("filled");
    let audit = until_status(&server, "rest-page-plaintext", "PASS");
    for id in ["rest-table-plaintext", "rest-page-plaintext", "rest-redo-plaintext", "rest-binlog-plaintext"] {
        audit.passes(id);
    }
    audit.passes("rest-ibdata1-exposed");
    audit.fails("rest-aria-log-plaintext", "aria_log.00000001");
    audit.fails("rest-aria-plaintext", "demo/d.MAD");
    let aria = audit.findings("rest-aria-plaintext");
    assert!(aria.iter().all(|f| f["artefact"] != "demo/a.MAD"), "{aria:?}");
    agrees(&audit);

    server.sql("SET GLOBAL innodb_encrypt_tables='ON'; CREATE TABLE demo.no (a INT) ENCRYPTED=NO").expect("made");
    Audit::live(&server).fails("rest-table-plaintext", "demo/no.ibd");
    server.sql("SET GLOBAL innodb_encrypt_tables=OFF").expect("switched off");
    wait_until("a table that was decrypted does not pass", limit(60), || {
        let decrypted = |f: &&Value| f["status"] == "FAIL" && f["artefact"] == "demo/t.ibd";
        Audit::live(&server).findings("rest-table-plaintext").iter().any(decrypted)
    });
}

/// Switches encryption off and on again, with another key id, and back; files and server are judged each time.
#[test]
fn a_mariadb_whose_encryption_was_switched_is_judged_by_its_files() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let keys = format!("{MARIADB_KEYS}2;0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n");
    let mut server = Server::builder(Kind::MariaDb1011)
        .mariadb_keys(&keys)
        .options(["--innodb-encryption-threads=4", "--innodb-encrypt-tables=ON"])
        .options(["--innodb-max-dirty-pages-pct=0", "--innodb-max-dirty-pages-pct-lwm=0"])
        .start()
        .expect("MariaDB 10.11 starts");
    let table = |name: &str, options: &str| {
        let rows = "SELECT seq, CONCAT('clear row ', seq) FROM seq_1_to_500";
        format!(
            "USE demo; CREATE TABLE demo.{name} (id INT PRIMARY KEY, v VARCHAR(100)) {options}; INSERT INTO demo.{name} {rows};"
        )
    };
    server
        .sql(
            &[
                "CREATE DATABASE demo;".to_owned(),
                table("auto", ""),
                table("never", "ENCRYPTED=NO"),
                table("always", "ENCRYPTED=YES"),
            ]
            .concat(),
        )
        .expect("filled");
    let key_file = server.dir().join("keys.txt");
    fs::write(&key_file, &keys).expect("written");
    for (switch, is_encrypted) in [("ON", true), ("OFF", false), ("ON", true), ("OFF", false)] {
        server.sql(&format!("SET GLOBAL innodb_encrypt_tables = {switch}")).expect("switched");
        if is_encrypted {
            server.sql("SET GLOBAL innodb_default_encryption_key_id = 2").expect("set");
            let tables = server.value("SELECT COUNT(*) FROM information_schema.TABLES").expect("a number");
            server.sql(&table(&format!("later_{tables}"), "")).expect("filled");
        }
        let state = "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION \
                     WHERE NAME = 'demo/auto' AND IF(MIN_KEY_VERSION = 0, 'OFF', 'ON') =";
        until(&server, &format!("{state} '{switch}' AND ROTATING_OR_FLUSHING = 0"), "1");
        let fails = |audit: &Audit, name: &str| {
            let failed =
                |finding: &&Value| finding["status"] == "FAIL" && finding["artefact"] == format!("demo/{name}.ibd");
            audit.findings("rest-table-plaintext").iter().any(failed)
        };
        let live = Audit::live(&server);
        let judged = ["auto", "never", "always"].map(|name| fails(&live, name));
        assert_eq!(judged, [!is_encrypted, true, false], "{switch}: {:#?}", live.findings("rest-table-plaintext"));
        server.stop().expect("it stops");
        let offline = Audit::offline(server.datadir());
        let judged = ["auto", "never", "always"].map(|name| fails(&offline, name));
        assert_eq!(judged, [!is_encrypted, true, false], "{switch}: {:#?}", offline.findings("rest-table-plaintext"));
        let proof = Proof::mariadb(&[server.datadir()], Some(&key_file));
        proof.is_sound();
        let verdict = if is_encrypted { "ok" } else { "clear" };
        assert_eq!(proof.verdict("demo/auto.ibd"), verdict, "{switch}");
        assert_eq!((proof.verdict("demo/never.ibd"), proof.verdict("demo/always.ibd")), ("clear", "ok"), "{switch}");
        server.start().expect("it starts");
    }
}

#[test]
fn a_table_dropped_while_it_is_audited_is_no_failure() {
    let Some(server) = mysql(&MYSQL_ALL_ON) else { return };
    server.sql("CREATE DATABASE demo").expect("made");
    let mut client = server.client();
    let churn: String = (0..400)
        .map(|i| format!("CREATE TABLE demo.z{i} (a INT); TRUNCATE TABLE demo.z{i}; DROP TABLE demo.z{i};"))
        .collect();
    let mut client = client.args(["-e", &churn]).spawn().expect("the client starts");
    for _ in 0..3 {
        let audit = Audit::live(&server);
        let failed = |f: &&Value| f["status"] == "FAIL" && f["artefact"].as_str().is_some_and(|a| a.contains("demo/z"));
        let findings = audit.json["findings"].as_array().expect("findings are a list");
        assert_eq!(findings.iter().filter(failed).collect::<Vec<_>>(), Vec::<&Value>::new());
    }
    client.kill().expect("the client is ended");
    client.wait().expect("the client is ended");
}

#[test]
fn an_old_server_has_no_findings_for_files_it_cannot_encrypt() {
    if require(Kind::MySql56).is_none() {
        return;
    }
    let mut server = Server::builder(Kind::MySql56).start().expect("MySQL 5.6 starts");
    server
        .sql("CREATE DATABASE demo; CREATE TABLE demo.f (id INT PRIMARY KEY, b TEXT, FULLTEXT(b)) ENGINE=InnoDB")
        .expect("made");
    server.restart_with(&[]).expect("restarts, with every page written");
    let audit = Audit::live_with(&server, &["--tls", "off"]);
    audit.fails("rest-table-plaintext", "demo/f.ibd");
    audit.fails("rest-redo-plaintext", "ib_logfile0");
    audit.passes("rest-orphan-file");
}

#[test]
fn special_files_cause_no_hang_and_no_pass() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::create_dir(dir.path().join("demo")).expect("made");
    fs::write(dir.path().join("demo/t.ibd"), encrypted()).expect("written");
    symlink(dir.path(), dir.path().join("demo/loop")).expect("linked");
    let fifo = dir.path().join("demo/pipe.ibd");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs");
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("mysql.sock")).expect("bound");
    let sparse = fs::File::create(dir.path().join("demo/sparse.ibd")).expect("made");
    sparse.set_len(2 << 30).expect("sparse");
    let output = sealant().args(["audit", "--format", "json", "--offline"]).arg(dir.path()).output().expect("it ends");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = json["findings"].as_array().expect("findings are a list");
    let tables: Vec<_> = findings.iter().filter(|f| f["id"] == "rest-table-plaintext").collect();
    assert_eq!((tables.len(), &tables[0]["artefact"]), (1, &Value::from("demo/sparse.ibd")), "{tables:?}");
    assert_eq!(tables[0]["status"], "UNKNOWN");
}
