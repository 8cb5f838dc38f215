//! Directories of Percona Server 5.7 and 8.0, composed of the sample files: healthy files are proven, plaintext is
//! reported as such, and every leak and every damage is found in its place.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::{Kind, Server, require};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::proof::{Proof, flip, write};
use crate::support::sealant;

/// Files of a killed server: path in the data directory, and the sample.
pub(crate) const FILES_57: [(&str, &str); 9] = [
    ("ibdata1", "tablespace/percona57-ibdata1"),
    ("ibtmp1", "tablespace/percona57-ibtmp1"),
    ("xb_doublewrite", "doublewrite/percona57-parallel"),
    ("binlog.000001", "binlog/percona57-encrypted-4-events"),
    ("binlog.000003", "binlog/percona57-encrypted-24-events"),
    ("demo/enc.ibd", "tablespace/percona57-16k-encrypted.ibd"),
    ("demo/enc_kb8.ibd", "tablespace/percona57-16k-encrypted-kbs8.ibd"),
    ("demo/enc_zlib.ibd", "tablespace/percona57-16k-encrypted-zlib.ibd"),
    ("demo/plain.ibd", "tablespace/percona57-16k-clear.ibd"),
];
/// Files of a stopped server with all of its own encryption switched on.
pub(crate) const FILES_80: [(&str, &str); 4] = [
    ("ibdata1", "tablespace/percona80-ibdata1-encrypted"),
    ("ib_logfile0", "redo/percona80-header"),
    ("ib_logfile1", "redo/percona80-write-ahead"),
    ("demo/plain.ibd", "tablespace/percona80-16k-clear.ibd"),
];

const LOG_BYTES: usize = 425_984;

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

pub(crate) fn keyring(name: &str) -> PathBuf {
    testdata().join("keyring").join(name)
}

pub(crate) fn data_directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    fs::create_dir(directory.path().join("demo")).expect("made");
    for (name, sample) in files {
        let plain = fs::read(testdata().join(sample));
        let mut bytes = plain.unwrap_or_else(|_| {
            let packed = fs::File::open(testdata().join(format!("{sample}.zst"))).expect("the sample is there");
            zstd::decode_all(packed).expect("it is whole")
        });
        // The samples hold only the beginning of the logs.
        if name.starts_with("ib_logfile") {
            bytes.resize(LOG_BYTES, 0);
        }
        fs::write(directory.path().join(name), bytes).expect("written");
    }
    directory
}

fn proof(directory: &Path, keys: &str) -> Proof {
    Proof::mysql(&[directory], Some(&keyring(keys)))
}

/// Verdicts by file, without healthy files.
fn unsound(proof: &Proof) -> Vec<(String, String)> {
    let text = |file: &Value, field: &str| file[field].as_str().expect("text").to_owned();
    let files = proof.files().iter().filter(|file| file["verdict"] != "ok" && file["verdict"] != "clear");
    files.map(|file| (text(file, "path"), text(file, "verdict"))).collect()
}

/// Results of an audit of bytes only: check, artefact, status.
fn audited(directory: &Path, copy: &str) -> Vec<(String, String, String)> {
    let mut audit = sealant();
    audit.args(["audit", "--deep", "--no-host", "--format", "json", "--offline"]).arg(directory);
    statuses(audit.arg("--keyring-copy").arg(keyring(copy)))
}

/// Results of an audit of the saved facts of a live server.
fn replayed(facts: &str) -> Vec<(String, String, String)> {
    let directory = tempfile::tempdir().expect("a directory");
    let packed = fs::File::open(testdata().join(format!("facts/{facts}.json.zst"))).expect("the facts are there");
    let file = directory.path().join("facts.json");
    fs::write(&file, zstd::decode_all(packed).expect("they are whole")).expect("written");
    statuses(sealant().args(["audit", "--format", "json", "--facts"]).arg(file))
}

fn statuses(audit: &mut Command) -> Vec<(String, String, String)> {
    let output = audit.output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("no JSON: {e}\n{stderr}"));
    let text = |finding: &Value, field: &str| finding[field].as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().expect("findings").iter();
    findings.map(|found| (text(found, "id"), text(found, "artefact"), text(found, "status"))).collect()
}

#[track_caller]
fn is(found: &[(String, String, String)], check: &str, expected: &[(&str, &str)]) {
    let of_check = found.iter().filter(|(id, ..)| id == check);
    let of_check: Vec<(&str, &str)> =
        of_check.map(|(_, artefact, status)| (artefact.as_str(), status.as_str())).collect();
    assert_eq!(of_check, expected, "{check}");
}

#[test]
fn a_killed_5_7_is_healthy_and_its_leak_is_reported() {
    let directory = data_directory(&FILES_57);
    let found = proof(directory.path(), "percona57-plugin-file");
    found.is_complete();
    assert_eq!(unsound(&found), []);
    for (file, verdict) in
        [("binlog.000003", "ok"), ("ibtmp1", "clear"), ("xb_doublewrite", "clear"), ("enc.ibd", "ok")]
    {
        assert_eq!(found.verdict(file), verdict, "{file}");
    }
    assert_eq!(found.file("ibtmp1")["tablespace"], "global-temporary");
    assert_eq!(found.file("xb_doublewrite")["findings"][0]["check"], "mixed", "{:#}", found.json);

    let found = audited(directory.path(), "percona57-plugin-file");
    is(&found, "rest-doublewrite-plaintext", &[("xb_doublewrite", "FAIL")]);
    is(&found, "rest-binlog-plaintext", &[("server", "PASS")]);
    is(&found, "rest-table-plaintext", &[("demo/plain.ibd", "FAIL")]);
    is(&found, "rest-page-damaged", &[("server", "PASS")]);
    is(&found, "key-cannot-open", &[("server", "PASS")]);
}

#[test]
fn an_encrypted_8_0_is_healthy() {
    let directory = data_directory(&FILES_80);
    let found = proof(directory.path(), "percona80-plugin-file");
    found.is_complete();
    for (file, verdict) in [("ibdata1", "ok"), ("ib_logfile1", "ok"), ("plain.ibd", "clear")] {
        assert_eq!(found.verdict(file), verdict, "{file}");
    }

    let found = audited(directory.path(), "percona80-plugin-file");
    is(&found, "rest-table-plaintext", &[("demo/plain.ibd", "FAIL")]);
    is(&found, "rest-page-plaintext", &[("server", "PASS")]);
    is(&found, "rest-page-damaged", &[("server", "PASS")]);
}

#[test]
fn facts_of_a_live_8_0_are_judged() {
    let found = replayed("percona80");
    is(&found, "rest-table-plaintext", &[("demo/plain.ibd", "FAIL")]);
    is(&found, "rest-mysql-ibd-plaintext", &[("mysql.ibd", "FAIL")]);
    // Unused session temporary tablespaces are no contradiction, and temporary files can be encrypted here.
    is(&found, "ev-mismatch", &[("server", "PASS")]);
    is(&found, "rest-tmpfile-spill", &[("innodb_encrypt_online_alter_logs", "FAIL")]);
    is(&found, "rest-temp-plaintext", &[("innodb_temp_tablespace_encrypt", "FAIL")]);
    for check in [
        "rest-redo-plaintext",
        "rest-undo-plaintext",
        "rest-binlog-plaintext",
        "rest-general-plaintext",
        "key-wrap-lag",
    ] {
        is(&found, check, &[("server", "PASS")]);
    }
    // These facts were collected before the scheme in Percona's record was noted: they say that it encrypts, that no page
    // of the table is encrypted, and that its key was not tried.
    is(&found, "rest-page-plaintext", &[("demo/plain.ibd", "FAIL")]);
    is(&found, "key-cannot-open", &[("tablespaces", "UNKNOWN")]);
    is(&found, "key-not-loaded", &[("keyring", "PASS")]);
    is(&found, "key-file-clear", &[("/srv/db/keyring/keyring", "FAIL")]);
}

#[test]
fn facts_of_a_live_5_7_are_judged() {
    let found = replayed("percona57");
    let tables: Vec<&str> = found
        .iter()
        .filter(|(check, artefact, status)| {
            check == "rest-table-plaintext" && status == "FAIL" && !artefact.starts_with("mysql/")
        })
        .map(|(_, artefact, _)| artefact.as_str())
        .collect();
    assert_eq!(tables, ["demo/plain.ibd"]);
    is(&found, "rest-redo-plaintext", &[("ib_logfile0", "FAIL")]);
    // These facts were collected before the events of its encrypted logs were known, and report each log as clear.
    let logs = ["binlog.000001", "binlog.000002", "binlog.000003", "binlog.000004"];
    is(&found, "rest-binlog-plaintext", &logs.map(|log| (log, "FAIL")));
    // Its OpenSSL negotiates TLS 1.3, for which this server has no option and no name.
    is(&found, "ev-mismatch", &[("127.0.0.1:28972", "FAIL"), ("encrypt_binlog", "FAIL")]);
    is(&found, "rest-ibdata1-exposed", &[("ibdata1", "FAIL"), ("undo in ibdata1", "FAIL")]);
    is(&found, "rest-tmpfile-spill", &[("innodb_encrypt_online_alter_logs", "FAIL")]);
    for check in ["rest-page-plaintext", "key-cannot-open", "key-wrap-lag", "rest-orphan-file"] {
        is(&found, check, &[("server", "PASS")]);
    }
    for check in ["rest-mysql-ibd-plaintext", "rest-general-plaintext", "rest-stats-leak", "rest-schema-default-no"] {
        is(&found, check, &[("server", "N/A")]);
    }
}

#[test]
fn a_flipped_bit_is_found_in_its_file_alone() {
    for (files, keys, changes) in [
        (
            &FILES_57[..],
            "percona57-plugin-file",
            &[
                ("demo/enc.ibd", 70_000),
                ("demo/enc_kb8.ibd", 36_000),
                ("demo/plain.ibd", 70_000),
                ("binlog.000003", 30_000),
            ][..],
        ),
        (
            &FILES_80,
            "percona80-plugin-file",
            &[("ibdata1", 1_070_000), ("ib_logfile1", 300_000), ("demo/plain.ibd", 70_000)],
        ),
    ] {
        for (file, at) in changes {
            let directory = data_directory(files);
            flip(&directory.path().join(file), *at, 1);
            let path = directory.path().join(file).to_string_lossy().into_owned();
            assert_eq!(unsound(&proof(directory.path(), keys)), [(path, "damaged".to_owned())], "{file}");
        }
    }
}

#[test]
fn truncation_is_found_in_its_file_alone() {
    let directory = data_directory(&FILES_57);
    for (file, left) in [("demo/enc.ibd", 6 * 16384), ("binlog.000003", 39_000), ("ibdata1", 700 * 16384)] {
        let path = directory.path().join(file);
        let whole = fs::read(&path).expect("read");
        fs::write(&path, &whole[..left]).expect("written");
        let expected = [(path.to_string_lossy().into_owned(), "truncated".to_owned())];
        assert_eq!(unsound(&proof(directory.path(), "percona57-plugin-file")), expected, "{file}");
        fs::write(&path, &whole).expect("written");
    }
}

fn exchange(directory: &Path, one: &str, other: &str) {
    let aside = directory.join("aside");
    fs::rename(directory.join(one), &aside).expect("renamed");
    fs::rename(directory.join(other), directory.join(one)).expect("renamed");
    fs::rename(aside, directory.join(other)).expect("renamed");
}

#[test]
fn both_of_two_exchanged_files_are_reported() {
    for (one, other) in [("ib_logfile0", "ib_logfile1"), ("ibdata1", "demo/plain.ibd")] {
        let directory = data_directory(&FILES_80);
        exchange(directory.path(), one, other);
        let found = proof(directory.path(), "percona80-plugin-file");
        assert_eq!((found.verdict(one), found.verdict(other)), ("damaged", "damaged"), "{one}: {:#}", found.json);
        assert_eq!(unsound(&found).len(), 2, "{one}: {:#}", found.json);
    }
}

#[test]
fn a_table_in_place_of_a_log_and_a_log_in_place_of_a_table_are_reported() {
    let directory = data_directory(&FILES_57);
    exchange(directory.path(), "binlog.000003", "demo/enc.ibd");
    let found = proof(directory.path(), "percona57-plugin-file");
    let path = |file: &str| (directory.path().join(file).to_string_lossy().into_owned(), "damaged".to_owned());
    assert_eq!(unsound(&found), [path("binlog.000003"), path("demo/enc.ibd")], "{:#}", found.json);
}

#[test]
fn a_damaged_start_of_a_file_hides_no_plaintext() {
    let directory = data_directory(&FILES_57);
    let log = fs::read(directory.path().join("binlog.000003")).expect("read");
    for damage in [&log[..512], b"\xfdbin"] {
        write(&directory.path().join("xb_doublewrite"), 0, damage);
        let found = audited(directory.path(), "percona57-plugin-file");
        is(&found, "rest-doublewrite-plaintext", &[("xb_doublewrite", "FAIL")]);
        is(&found, "rest-page-damaged", &[("xb_doublewrite", "FAIL")]);
    }
}

#[test]
fn the_header_of_another_redo_log_is_damage_and_no_plaintext() {
    let directory = data_directory(&FILES_80);
    let other = fs::read(directory.path().join("ib_logfile0")).expect("read");
    write(&directory.path().join("ib_logfile1"), 0, &other[..512]);
    let found = audited(directory.path(), "percona80-plugin-file");
    is(&found, "rest-page-damaged", &[("ib_logfile1", "FAIL")]);
    assert!(!found.iter().any(|(check, _, status)| check == "rest-redo-plaintext" && status == "FAIL"), "{found:?}");
}

#[test]
fn a_redo_log_shorter_than_its_other_file_is_truncated() {
    for (file, left) in [("ib_logfile0", 0), ("ib_logfile1", 0), ("ib_logfile0", LOG_BYTES / 2), ("ib_logfile1", 4096)]
    {
        let directory = data_directory(&FILES_80);
        let path = directory.path().join(file);
        let whole = fs::read(&path).expect("read");
        fs::write(&path, &whole[..left]).expect("written");
        let found = proof(directory.path(), "percona80-plugin-file");
        assert_eq!(found.verdict(file), "truncated", "{file} {left}: {:#}", found.json);
        assert_eq!(found.code, 3, "{file} {left}");
    }
}

#[test]
fn a_clear_table_whose_first_page_is_damaged_misses_no_key() {
    // Placed where the record of a key is, and the flag for one.
    for (at, mask) in [(10_390, 8), (10_433, 16), (56, 0x20)] {
        let directory = data_directory(&FILES_57);
        let path = directory.path().join("demo/plain.ibd");
        flip(&path, at, mask);
        let expected = [(path.to_string_lossy().into_owned(), "damaged".to_owned())];
        assert_eq!(unsound(&proof(directory.path(), "percona57-plugin-file")), expected, "{at}");
        let found = audited(directory.path(), "percona57-plugin-file");
        is(&found, "key-cannot-open", &[("server", "PASS")]);
        is(&found, "rest-page-damaged", &[("demo/plain.ibd", "FAIL")]);
    }
}

#[test]
fn with_another_keyring_nothing_is_damaged_and_nothing_clear() {
    let directory = data_directory(&FILES_57);
    let found = proof(directory.path(), "percona80-plugin-file");
    let closed: Vec<String> = unsound(&found).into_iter().map(|(_, verdict)| verdict).collect();
    assert_eq!(closed, ["missing-key"; 5], "{:#}", found.json);
    assert_eq!(found.verdict("plain.ibd"), "clear");
    let found = proof(data_directory(&FILES_80).path(), "percona57-plugin-file");
    assert_eq!((found.verdict("ibdata1"), found.verdict("ib_logfile1")), ("missing-key", "missing-key"));
}

#[test]
fn custom_builds_are_proven() {
    for kind in Kind::custom_builds() {
        if require(kind).is_none() {
            continue;
        }
        let mut server = Server::builder(kind).option("--log-bin=binlog").start().expect("it starts");
        let rows = "CREATE DATABASE demo; CREATE TABLE demo.t (id INT PRIMARY KEY); INSERT INTO demo.t VALUES (1), (2)";
        server.sql(rows).expect("rows");
        Proof::mysql(&[server.datadir()], None).is_sound();
        server.stop().expect("it stops");
        Proof::mysql(&[server.datadir()], None).is_complete();
    }
}
