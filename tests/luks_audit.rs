//! `sealant luks audit` as scripts use it: on the headers in testdata/luks, on headers that the real cryptsetup writes
//! here, and on files without a header.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::disk::{CHEAP, Desk};
use crate::support::schema::has_its_schema;
use crate::support::sealant;

/// Result of `sealant luks audit FILE --format json …`.
struct Judged {
    json: Value,
    code: i32,
}

impl Judged {
    #[track_caller]
    fn run(file: &Path, more: &[&str]) -> Self {
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

/// Writes a header of testdata/luks to a file.
fn unpack(dir: &TempDir, name: &str) -> PathBuf {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../testdata/luks/{name}.zst"));
    let path = dir.path().join(name);
    fs::write(&path, zstd::decode_all(fs::File::open(packed).expect("a sample")).expect("zstd")).expect("room");
    path
}

#[test]
fn json_and_exit_codes_for_scripts_are_as_documented() {
    let dir = tempfile::tempdir().expect("a directory");
    let backup = unpack(&dir, "rotate-backup");
    let after = unpack(&dir, "rotate-after");
    let judged = Judged::run(&backup, &["--backup-of", after.to_str().expect("ASCII")]);
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
    assert_eq!(Judged::run(&good, &[]).code, 0);
    let modest = unpack(&dir, "luks2-pbkdf2-1m");
    assert_eq!(Judged::run(&modest, &[]).code, 0);
    assert_eq!(Judged::run(&modest, &["--fail-on", "low"]).code, 3);
    let plain = unpack(&dir, "not-luks-ext4");
    assert_eq!((Judged::run(&plain, &[]).code, Judged::run(&plain, &["--fail-on", "never"]).code), (3, 0));
    assert_eq!(Judged::run(&plain, &[]).json["findings"][0]["severity"], "-");
}

#[test]
fn given_sizes_of_the_disk_take_precedence() {
    let dir = tempfile::tempdir().expect("a directory");
    let plain_iv = unpack(&dir, "luks1-xts-plain");
    let has = |more: &[&str], code: &str| Judged::run(&plain_iv, more).codes().contains(&code);
    assert!(has(&[], "iv-32bit") && !has(&[], "iv-32bit-wrap") && !has(&[], "sector-512"));
    assert!(has(&["--device-bytes", "3298534883328"], "iv-32bit-wrap"));
    // The data begins at 2 MiB: exactly 2^32 sectors do not repeat an IV yet.
    let edge = (1u64 << 41) + (2 << 20);
    assert!(has(&["--device-bytes", &edge.to_string()], "iv-32bit"));
    assert!(has(&["--device-bytes", &(edge + 512).to_string()], "iv-32bit-wrap"));
    assert!(has(&["--physical-block-bytes", "4096"], "sector-512"));
}

#[test]
fn unreadable_input_is_one_line_and_exit_1() {
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

/// Parameters of real headers, and their findings besides `one-slot` and `kdf-weak`.
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

/// Arguments of `cryptsetup reencrypt`, the initial disk, and where the header is afterwards.
struct Begun {
    arguments: &'static str,
    /// A volume, or nothing.
    volume: &'static str,
    header: &'static str,
}

/// Modes of re-encryption, and how the part being written is protected. Those that need no mapping run on plain files.
const BEGUN: [Begun; 11] = [
    Begun { arguments: "--resilience checksum IMAGE", volume: "IMAGE", header: "IMAGE" },
    Begun { arguments: "--resilience journal IMAGE", volume: "IMAGE", header: "IMAGE" },
    Begun { arguments: "--resilience none IMAGE", volume: "IMAGE", header: "IMAGE" },
    Begun { arguments: "--reduce-device-size 8M IMAGE", volume: "IMAGE", header: "IMAGE" },
    Begun { arguments: "--encrypt --reduce-device-size 16M IMAGE", volume: "", header: "IMAGE" },
    Begun { arguments: "--encrypt --header HEADER IMAGE", volume: "", header: "HEADER" },
    Begun { arguments: "--encrypt --resilience journal --header HEADER IMAGE", volume: "", header: "HEADER" },
    Begun { arguments: "--encrypt --reduce-device-size 8M --header HEADER IMAGE", volume: "", header: "HEADER" },
    Begun { arguments: "--decrypt --header HEADER IMAGE", volume: "--header HEADER IMAGE", header: "HEADER" },
    Begun { arguments: "--decrypt --header HEADER IMAGE", volume: "IMAGE", header: "HEADER" },
    Begun {
        arguments: "--decrypt --resilience datashift-journal --header HEADER IMAGE",
        volume: "IMAGE",
        header: "HEADER",
    },
];

impl Begun {
    /// Inserts paths for names, and cheap keys.
    fn command(&self, desk: &Desk, verb: &str, arguments: &str) -> Command {
        let mut command = Command::new("cryptsetup");
        command.env("LC_ALL", "C").args(["--batch-mode", verb, "--type", "luks2"]).args(CHEAP);
        command.arg("--key-file").arg(desk.key("key")).stdin(Stdio::null()).stdout(Stdio::null());
        let path = |word| if ["IMAGE", "HEADER"].contains(&word) { desk.path(word) } else { word.into() };
        command.args(arguments.split(' ').map(path));
        command
    }

    /// Creates the initial disk.
    fn prepare(&self, desk: &Desk) {
        let _ = fs::remove_file(desk.path("HEADER"));
        fs::File::create(desk.path("IMAGE")).expect("room").set_len(64 << 20).expect("room");
        if !self.volume.is_empty() {
            assert!(self.command(desk, "luksFormat", self.volume).status().expect("it runs").success());
        }
    }

    fn begin(&self, desk: &Desk, more: &[&str]) -> Command {
        let mut command = self.command(desk, "reencrypt", self.arguments);
        command.args(["--force-offline-reencrypt", "--hotzone-size", "1M"]).args(more).stderr(Stdio::null());
        command
    }

    /// Asserts that cryptsetup and we can read the header completely.
    #[track_caller]
    fn is_read(&self, desk: &Desk, at: &str) -> Value {
        let header = desk.path(self.header);
        let dump = Command::new("cryptsetup").args(["luksDump", "--dump-json-metadata"]).arg(&header).output();
        let dump: Value = serde_json::from_slice(&dump.expect("it runs").stdout).expect("cryptsetup reads it");
        let judged = Judged::run(&header, &[]);
        let damage: Vec<_> = judged.codes().into_iter().filter(|code| code.contains("header-")).collect();
        assert!(damage.iter().all(|code| *code == "detached-header"), "{} {at}: {damage:?}", self.arguments);
        let found = &judged.json["header"];
        let count = |name: &str| found[name].as_array().map_or(0, Vec::len);
        let segments = dump["segments"].as_object().map(serde_json::Map::len);
        assert_eq!(Some(count("segments") + count("backup_segments")), segments, "{} {at}", self.arguments);
        assert_eq!(Some(count("keyslots")), dump["keyslots"].as_object().map(serde_json::Map::len), "{at}");
        // The unencrypted parts according to cryptsetup are exactly those in the finding.
        let clear = clear_parts(&dump);
        let said = detail(&judged.json, "cipher-null").unwrap_or_default();
        let called: Vec<&str> = said.split("segment ").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
        assert_eq!(called, clear, "{} {at}: {said}", self.arguments);
        judged.json
    }
}

/// Numbers of live unencrypted segments in cryptsetup's JSON.
fn clear_parts(dump: &Value) -> Vec<&str> {
    let segments = dump["segments"].as_object().into_iter().flatten();
    let is_clear = |segment: &Value| segment["type"] == "linear" && !is_note(segment);
    segments.filter(|(_, segment)| is_clear(segment)).map(|(number, _)| number.as_str()).collect()
}

/// Whether a segment only describes data before or after.
fn is_note(segment: &Value) -> bool {
    flagged(segment, "backup-")
}

fn flagged(segment: &Value, flag: &str) -> bool {
    let own = segment["flags"].as_array().into_iter().flatten();
    own.filter_map(Value::as_str).any(|own| own.starts_with(flag))
}

fn detail(json: &Value, code: &str) -> Option<String> {
    let findings = json["findings"].as_array().expect("a list");
    findings.iter().find(|finding| finding["code"] == code).map(|one| one["detail"].as_str().unwrap_or("").to_owned())
}

#[test]
fn headers_of_initialised_reencryptions_are_judged() {
    for kind in &BEGUN {
        let desk = Desk::new();
        kind.prepare(&desk);
        let begun = kind.begin(&desk, &["--init-only"]).status().expect("it runs");
        assert!(begun.success(), "{}", kind.arguments);
        let json = kind.is_read(&desk, "begun");
        let unfinished = detail(&json, "reencrypt-unfinished");
        let detached = kind.arguments.contains("--header");
        let next =
            if detached { "cryptsetup reencrypt --resume-only --header" } else { "sealant luks reencrypt --resume" };
        assert!(unfinished.is_some_and(|detail| detail.contains(next)), "{}: {json:#}", kind.arguments);
    }
}

#[test]
fn headers_of_killed_reencryptions_are_judged() {
    // Without a journal or checksums nothing is recorded between start and end.
    for kind in BEGUN.iter().filter(|kind| !kind.arguments.contains("--resilience none")) {
        let desk = Desk::new();
        let header = desk.path(kind.header);
        // A part that is being written, and several that were written.
        for parts in [1, 2, 3] {
            let caught = (0..20).any(|_| {
                kind.prepare(&desk);
                let mut running = kind.begin(&desk, &[]).spawn().expect("it runs");
                let caught = loop {
                    let at_work = parts_at_work(&header);
                    if at_work >= parts || running.try_wait().expect("a child").is_some() {
                        break at_work >= parts;
                    }
                };
                let _ = running.kill();
                running.wait().expect("a child");
                // Of a header that was being written when the run was killed, the older copy counts.
                caught && segments(&Judged::run(&header, &[]).json).count() >= parts
            });
            assert!(caught, "{}: never seen with {parts} parts", kind.arguments);
            let json = kind.is_read(&desk, &format!("with {parts} parts"));
            // A first encryption leaves encrypted parts beside clear ones; the volume does not count as encrypted.
            if parts == 3 && kind.arguments.starts_with("--encrypt") {
                let kinds: Vec<&Value> = segments(&json).map(|segment| &segment["type"]).collect();
                assert!(["crypt", "linear"].iter().all(|kind| kinds.contains(&&Value::from(*kind))), "{kinds:?}");
                assert!(detail(&json, "cipher-null").is_some(), "{json:#}");
            }
        }
    }
}

/// Live segments of a report.
fn segments(json: &Value) -> impl Iterator<Item = &Value> {
    json["header"]["segments"].as_array().into_iter().flatten()
}

/// Number of parts of the data during a re-encryption; 0 outside of one. Reads the JSON of the first copy, after its
/// 4096 binary bytes, while the header is being written.
fn parts_at_work(header: &Path) -> usize {
    let mut bytes = vec![0; 16384];
    let read = fs::File::open(header).and_then(|mut file| file.read_exact(&mut bytes));
    let text = bytes.get(4096..).unwrap_or_default().split(|byte| *byte == 0).next().unwrap_or_default();
    let json: Value = match read.is_ok().then(|| serde_json::from_slice(text)) {
        Some(Ok(json)) => json,
        _ => return 0,
    };
    let segments = json["segments"].as_object().into_iter().flatten().map(|(_, segment)| segment);
    let live: Vec<&Value> = segments.filter(|segment| !is_note(segment)).collect();
    if live.iter().any(|segment| flagged(segment, "in-reencryption")) { live.len() } else { 0 }
}

#[test]
fn headers_written_by_cryptsetup_are_judged() {
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
        let judged = Judged::run(&image, &[]);
        let mut wanted = [*wanted, &["kdf-weak", "one-slot"]].concat();
        wanted.sort_unstable();
        assert_eq!(judged.codes(), wanted, "{parameters}: {:#}", judged.json["findings"]);
        assert_eq!(judged.json["readable"], "yes", "{parameters}");
        assert_eq!(judged.json["keyslots_stored"], true, "{parameters}");
        fs::remove_file(&image).expect("ours");
    }
}
