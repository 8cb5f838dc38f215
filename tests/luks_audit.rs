//! `sealant luks audit` as scripts use it, on the headers in testdata/luks, on headers that the real cryptsetup
//! writes here, and on what is no header.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::schema::has_its_schema;
use crate::support::sealant;

/// What `sealant luks audit FILE --format json …` said.
struct Judged {
    json: Value,
    code: i32,
}

impl Judged {
    #[track_caller]
    fn of(file: &Path, more: &[&str]) -> Self {
        let output =
            sealant().args(["luks", "audit", "--format", "json"]).arg(file).args(more).output().expect("it starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("no JSON: {e}\n{stderr}"));
        has_its_schema(&json, "luks-1");
        Self { json, code: output.status.code().expect("not killed") }
    }

    fn codes(&self) -> Vec<&str> {
        let findings = self.json["findings"].as_array().expect("findings are a list");
        let mut codes: Vec<&str> = findings.iter().filter_map(|finding| finding["code"].as_str()).collect();
        codes.sort_unstable();
        codes
    }
}

/// A header of testdata/luks as a file.
fn unpack(dir: &TempDir, name: &str) -> PathBuf {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../testdata/luks/{name}.zst"));
    let path = dir.path().join(name);
    fs::write(&path, zstd::decode_all(fs::File::open(packed).expect("a sample")).expect("zstd")).expect("room");
    path
}

#[test]
fn the_contract_for_scripts() {
    let dir = tempfile::tempdir().expect("a directory");
    let backup = unpack(&dir, "rotate-backup");
    let after = unpack(&dir, "rotate-after");
    let judged = Judged::of(&backup, &["--backup-of", after.to_str().expect("ASCII")]);
    assert_eq!(judged.json["schema"], "sealant.luks/1");
    assert_eq!(judged.json["readable"], "yes");
    assert_eq!(judged.codes(), ["backup-stale", "kdf-weak", "key-128", "one-slot"]);
    let severities: Vec<&str> =
        judged.json["findings"].as_array().expect("a list").iter().filter_map(|f| f["severity"].as_str()).collect();
    assert_eq!(severities, ["high", "high", "info", "info"], "the worst first");
    assert!(judged.json["findings"].as_array().expect("a list").iter().all(|f| f["detail"].is_string()));
    assert_eq!(judged.json["header"]["format"], "luks2");
    assert_eq!(judged.code, 3);
}

#[test]
fn the_exit_code_follows_the_threshold() {
    let dir = tempfile::tempdir().expect("a directory");
    let good = unpack(&dir, "luks2-good");
    assert_eq!(Judged::of(&good, &[]).code, 0);
    let modest = unpack(&dir, "luks2-pbkdf2-1m");
    assert_eq!(Judged::of(&modest, &[]).code, 0);
    assert_eq!(Judged::of(&modest, &["--fail-on", "low"]).code, 3);
    let plain = unpack(&dir, "not-luks-ext4");
    assert_eq!((Judged::of(&plain, &[]).code, Judged::of(&plain, &["--fail-on", "never"]).code), (3, 0));
    assert_eq!(Judged::of(&plain, &[]).json["findings"][0]["severity"], "-");
}

#[test]
fn sizes_of_the_disk_count_where_they_are_given() {
    let dir = tempfile::tempdir().expect("a directory");
    let plain_iv = unpack(&dir, "luks1-xts-plain");
    let has = |more: &[&str], code: &str| Judged::of(&plain_iv, more).codes().contains(&code);
    assert!(has(&[], "iv-32bit") && !has(&[], "iv-32bit-wrap") && !has(&[], "sector-512"));
    assert!(has(&["--device-bytes", "3298534883328"], "iv-32bit-wrap"));
    // The data begins at 2 MiB: exactly 2^32 sectors do not repeat an IV yet.
    let edge = (1u64 << 41) + (2 << 20);
    assert!(has(&["--device-bytes", &edge.to_string()], "iv-32bit"));
    assert!(has(&["--device-bytes", &(edge + 512).to_string()], "iv-32bit-wrap"));
    assert!(has(&["--physical-block-bytes", "4096"], "sector-512"));
}

#[test]
fn what_cannot_be_read_is_one_line_and_exit_1() {
    let dir = tempfile::tempdir().expect("a directory");
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let good = unpack(&dir, "luks2-good");
    let empty = dir.path().join("empty");
    fs::write(&empty, b"").expect("room");
    for (args, word) in [
        (vec![dir.path().join("absent")], "No such file"),
        (vec![dir.path().to_owned()], "neither a block device nor a file"),
        (vec![pipe], "neither a block device nor a file"),
        (vec![good, "--backup-of".into(), empty], "to compare with (not-luks)"),
    ] {
        let output = sealant().args(["luks", "audit"]).args(&args).output().expect("it starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {stderr}");
        assert!(stderr.starts_with("sealant: error: "), "{stderr}");
        assert!(stderr.contains(word), "{stderr}");
        assert!(output.stdout.is_empty());
    }
}

/// Parameters of real headers, and what is to be found in them beside `one-slot` and `kdf-weak`.
const MADE: &[(&str, &[&str])] = &[
    ("--type luks2 -c aes-xts-plain64 -s 512", &[]),
    ("--type luks2 -c aes-xts-plain64 -s 256 --hash sha512", &["key-128"]),
    ("--type luks2 -c aes-cbc-essiv:sha256 -s 256", &["cipher-cbc"]),
    ("--type luks2 -c aes-cbc-plain64 -s 256 --sector-size 512", &["cipher-cbc-predictable-iv"]),
    ("--type luks2 -c aes-xts-plain -s 512 --hash ripemd160", &["hash-legacy", "iv-32bit"]),
    ("--type luks2 -c aes-xts-plain64 -s 512 --hash whirlpool --luks2-metadata-size 128k", &["hash-legacy"]),
    ("--type luks2 -c aes-xts-plain64 -s 512 --luks2-metadata-size 4m --luks2-keyslots-size 1m", &[]),
    (
        "--type luks2 -c aes-xts-plain64 -s 512 --label data --subsystem mysql --uuid 11111111-2222-3333-4444-555555555555",
        &[],
    ),
    ("--type luks1 -c aes-cbc-essiv:sha256 -s 128 --hash sha512", &["cipher-cbc", "key-128", "luks1"]),
    (
        "--type luks1 -c aes-cbc-plain -s 192 --hash whirlpool",
        &["cipher-cbc-predictable-iv", "hash-legacy", "iv-32bit", "luks1"],
    ),
];

#[test]
fn headers_that_cryptsetup_writes() {
    let dir = tempfile::tempdir().expect("a directory");
    let key = dir.path().join("key");
    fs::write(&key, "throw-away").expect("room");
    for (number, (parameters, wanted)) in MADE.iter().enumerate() {
        let image = dir.path().join(format!("{number}.img"));
        fs::File::create(&image).expect("room").set_len(32 << 20).expect("room");
        let made = Command::new("cryptsetup")
            .env("LC_ALL", "C")
            .args(["--batch-mode", "luksFormat", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"])
            .args(parameters.split(' '))
            .args([&image, &key])
            .output()
            .expect("cryptsetup runs (`make servers` installs it)");
        assert!(made.status.success(), "{parameters}: {}", String::from_utf8_lossy(&made.stderr));
        let judged = Judged::of(&image, &[]);
        let mut wanted = [*wanted, &["kdf-weak", "one-slot"]].concat();
        wanted.sort_unstable();
        assert_eq!(judged.codes(), wanted, "{parameters}: {:#}", judged.json["findings"]);
        assert_eq!(judged.json["readable"], "yes", "{parameters}");
        assert_eq!(judged.json["keyslots_stored"], true, "{parameters}");
        fs::remove_file(&image).expect("ours");
    }
}
