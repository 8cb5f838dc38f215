//! Crafted metadata with correct checksums, one case for each rule.

mod common;

use aws_lc_rs::digest;
use common::samples;
use luks::{DeviceInfo, Report, audit};
use serde_json::{Value, json};

/// JSON of a sample.
fn metadata(name: &str) -> Value {
    let bytes = samples().into_iter().find(|sample| sample.name == name).expect("the sample").bytes;
    let json = bytes[4096..16384].split(|byte| *byte == 0).next().expect("JSON").to_vec();
    serde_json::from_slice(&json).expect("JSON")
}

/// Two copies with this JSON, correct checksums and these sequence numbers.
fn header(first: &Value, second: &Value, sequences: [u64; 2]) -> Vec<u8> {
    [copy(b"LUKS\xba\xbe", 0, first, sequences[0]), copy(b"SKUL\xba\xbe", 16384, second, sequences[1])].concat()
}

fn copy(magic: &[u8; 6], offset: u64, json: &Value, sequence: u64) -> Vec<u8> {
    let mut bytes = vec![0; 16384];
    bytes[..6].copy_from_slice(magic);
    bytes[7] = 2;
    bytes[8..16].copy_from_slice(&16384u64.to_be_bytes());
    bytes[16..24].copy_from_slice(&sequence.to_be_bytes());
    bytes[72..78].copy_from_slice(b"sha256");
    bytes[168..172].copy_from_slice(b"uuid");
    bytes[256..264].copy_from_slice(&offset.to_be_bytes());
    let text = json.to_string();
    bytes[4096..4096 + text.len()].copy_from_slice(text.as_bytes());
    let sum = digest::digest(&digest::SHA256, &bytes);
    bytes[448..480].copy_from_slice(sum.as_ref());
    bytes
}

fn judged(bytes: &[u8]) -> Report {
    audit(&bytes, &DeviceInfo::default(), None).expect("memory can be read")
}

fn codes(report: &Report) -> Vec<&str> {
    let mut codes: Vec<&str> = report.findings.iter().map(|finding| finding.code.as_str()).collect();
    codes.sort_unstable();
    codes
}

/// Findings after `change` is applied to the sample's metadata.
fn after(name: &str, change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut json = metadata(name);
    change(&mut json);
    codes(&judged(&header(&json, &json, [3, 3]))).into_iter().map(str::to_owned).collect()
}

#[test]
fn impossible_fields_are_refused() {
    type Change = fn(&mut Value);
    let cases: &[(&str, Change)] = &[
        ("an absurd area", |j| j["keyslots"]["0"]["area"]["size"] = json!("99999999999999999999")),
        ("an area that wraps", |j| j["keyslots"]["0"]["area"]["size"] = json!("18446744073709551615")),
        ("an area in the metadata", |j| j["keyslots"]["0"]["area"]["offset"] = json!("4096")),
        ("an area too small for its key", |j| j["keyslots"]["0"]["area"]["size"] = json!("4096")),
        ("a digest of no slot", |j| j["digests"]["0"]["keyslots"] = json!(["7"])),
        ("a digest of no segment", |j| j["digests"]["0"]["segments"] = json!(["0", "5"])),
        ("a token of no slot", |j| j["tokens"]["0"] = json!({"type": "x", "keyslots": ["9"]})),
        ("a segment without digest", |j| j["digests"]["0"]["segments"] = json!([])),
        ("a segment that is not there", |j| j["segments"] = json!({})),
        ("sectors of 100 bytes", |j| j["segments"]["0"]["sector_size"] = json!(100)),
        ("sectors of 8 KiB", |j| j["segments"]["0"]["sector_size"] = json!(8192)),
        ("data in the key slots", |j| j["segments"]["0"]["offset"] = json!("40960")),
        ("an offset that is no number", |j| j["segments"]["0"]["offset"] = json!("+16777216")),
        ("no kdf", |j| {
            j["keyslots"]["0"].as_object_mut().expect("a slot").remove("kdf");
        }),
        ("a negative cost", |j| j["keyslots"]["0"]["kdf"]["time"] = json!(-1)),
        ("a JSON size that is not its own", |j| j["config"]["json_size"] = json!("28672")),
        ("key slots of a terabyte", |j| j["config"]["keyslots_size"] = json!("1099511627776")),
        ("text that drives a terminal", |j| j["segments"]["0"]["encryption"] = json!("aes-xts-plain64\u{1b}[2J")),
        ("a slot of two digests", |j| {
            let digest = j["digests"]["0"].clone();
            j["digests"]["1"] = digest;
        }),
        ("a re-encryption without its slot", |j| {
            j["config"]["requirements"] = json!({"mandatory": ["online-reencrypt-v2"]})
        }),
        ("a number with a zero before it", |j| {
            let slot = j["keyslots"]["0"].clone();
            j["keyslots"]["00"] = slot;
        }),
    ];
    for (what, change) in cases {
        assert_eq!(after("luks2-good", change), ["header-invalid"], "{what}");
    }
}

/// Segments right after the start of an encryption with a shift of 8 MiB, as cryptsetup 2.6.1 writes them: the first
/// part of the data was moved after the rest, and is listed first.
fn moved_first_part() -> Value {
    let linear =
        |offset: u64, bytes: u64| json!({"type": "linear", "offset": offset.to_string(), "size": bytes.to_string()});
    json!({"0": linear(56 << 20, 8 << 20), "1": linear(16 << 20, 40 << 20)})
}

#[test]
fn segments_may_have_any_order_but_must_not_overlap() {
    type Change = fn(&mut Value);
    let segments = |change: Change| {
        after("luks2-reencrypt-init", |j| {
            let mut live = moved_first_part();
            change(&mut live);
            let notes =
                j["segments"].as_object().expect("segments").values().filter(|s| s["flags"].is_array()).cloned();
            let notes: Vec<Value> = notes.collect();
            for (number, note) in (2..).zip(notes) {
                live[number.to_string()] = note;
            }
            let numbers: Vec<String> = (2..live.as_object().expect("segments").len()).map(|n| n.to_string()).collect();
            j["segments"] = live;
            for digest in j["digests"].as_object_mut().expect("digests").values_mut() {
                digest["segments"] = json!(numbers);
            }
        })
    };
    assert!(!segments(|_| ()).contains(&"header-invalid".to_owned()), "{:?}", segments(|_| ()));
    let wrong: [(&str, Change); 4] = [
        ("the moved part in the rest", |live| live["0"]["offset"] = json!((48u64 << 20).to_string())),
        ("the rest in the moved part", |live| live["1"]["size"] = json!((48u64 << 20).to_string())),
        ("a moved part without end", |live| live["0"]["size"] = json!("dynamic")),
        ("the same part twice", |live| live["1"] = live["0"].clone()),
    ];
    for (what, change) in wrong {
        assert_eq!(segments(change), ["header-invalid"], "{what}");
    }
}

#[test]
fn a_huge_cost_is_reported_and_not_computed() {
    let huge = |j: &mut Value| {
        j["keyslots"]["0"]["kdf"]["memory"] = json!(u64::MAX);
        j["keyslots"]["1"]["kdf"]["time"] = json!(4_000_000_000u64);
    };
    let mut json = metadata("luks2-good");
    huge(&mut json);
    let report = judged(&header(&json, &json, [3, 3]));
    assert_eq!(codes(&report), Vec::<&str>::new(), "cost alone is no weakness");
    assert_eq!(report.notes.len(), 2, "{:?}", report.notes);
}

#[test]
fn weak_key_derivations_are_found_at_their_thresholds() {
    let kdf = |kdf: Value| {
        move |j: &mut Value| {
            let salt = j["keyslots"]["0"]["kdf"]["salt"].clone();
            j["keyslots"]["0"]["kdf"] = kdf;
            j["keyslots"]["0"]["kdf"]["salt"] = salt;
        }
    };
    let pbkdf2 = |hash: &str, n: u64| kdf(json!({"type": "pbkdf2", "hash": hash, "iterations": n}));
    let argon2 = |time: u64, memory: u64| kdf(json!({"type": "argon2id", "time": time, "memory": memory, "cpus": 1}));
    assert_eq!(after("luks2-good", pbkdf2("sha256", 599_999)), ["kdf-weak"]);
    assert_eq!(after("luks2-good", pbkdf2("sha256", 600_000)), ["kdf-pbkdf2"]);
    assert_eq!(after("luks2-good", pbkdf2("sha512", 210_000)), ["kdf-pbkdf2"]);
    assert_eq!(after("luks2-good", pbkdf2("sha1", 1_299_999)), ["hash-sha1", "kdf-weak"]);
    assert_eq!(after("luks2-good", pbkdf2("whirlpool", 600_000)), ["hash-legacy", "kdf-pbkdf2"]);
    assert_eq!(after("luks2-good", argon2(3, 65_536)), Vec::<String>::new());
    assert_eq!(after("luks2-good", argon2(2, 65_536)), ["kdf-weak"]);
    assert_eq!(after("luks2-good", argon2(4, 65_535)), ["kdf-weak"]);
}

#[test]
fn ciphers() {
    let cipher = |name: &str| {
        let name = name.to_owned();
        move |j: &mut Value| j["segments"]["0"]["encryption"] = json!(name)
    };
    for (name, wanted) in [
        ("aes-lrw-benbi", vec!["cipher-lrw"]),
        ("aes-ecb-plain", vec!["cipher-ecb"]),
        ("aes-ctr-plain", vec!["cipher-ctr", "iv-32bit"]),
        ("capi:cbc(aes)-essiv:sha256", vec!["cipher-cbc"]),
        ("capi:essiv(cbc(aes),sha256)-plain64", vec!["cipher-cbc"]),
        ("twofish-cbc-eboiv", vec!["cipher-cbc-predictable-iv", "cipher-unusual"]),
        ("camellia-xts-plain64", vec!["cipher-unusual"]),
        ("capi:adiantum(xchacha20,aes)-plain64", vec!["cipher-unusual"]),
        ("aes-hctr2-plain64", vec![]),
        ("null", vec!["cipher-null"]),
        ("capi:ecb(cipher_null)-plain", vec!["cipher-null"]),
    ] {
        assert_eq!(after("luks2-good", cipher(name)), wanted, "{name}");
    }
}

#[test]
fn states_of_a_re_encryption_are_distinguished() {
    let kill = |digest: &'static str| move |j: &mut Value| j["digests"][digest]["keyslots"] = json!([]);
    assert_eq!(after("luks2-reencrypt-part", kill("0")), ["kdf-weak", "reencrypt-stuck", "unbound-slot"][..2]);
    assert_eq!(after("luks2-reencrypt-part", kill("1")), ["kdf-weak", "reencrypt-stuck"]);
    let later = |j: &mut Value| j["config"]["requirements"]["mandatory"] = json!(["online-reencrypt-v3", "frobnicate"]);
    assert_eq!(after("luks2-reencrypt-init", later), ["kdf-weak", "reencrypt-unfinished", "requirement-unknown"]);
    // A first encryption: the data has no key yet and is in plaintext.
    let encryption = |j: &mut Value| {
        for id in ["0", "1"] {
            let segment = j["segments"][id].as_object_mut().expect("a segment");
            segment.insert("type".to_owned(), json!("linear"));
            for name in ["encryption", "sector_size", "iv_tweak"] {
                segment.remove(name);
            }
        }
        j["keyslots"].as_object_mut().expect("slots").remove("0");
        j["digests"].as_object_mut().expect("digests").remove("0");
        j["keyslots"]["2"]["mode"] = json!("encrypt");
    };
    assert_eq!(after("luks2-reencrypt-init", encryption), ["cipher-null", "kdf-weak", "reencrypt-unfinished"]);
}

#[test]
fn the_newer_copy_is_used() {
    let (old, mut new) = (metadata("luks2-good"), metadata("luks2-good"));
    new["keyslots"].as_object_mut().expect("slots").remove("1");
    new["digests"]["0"]["keyslots"] = json!(["0"]);
    let first = judged(&header(&new, &old, [8, 7]));
    assert_eq!((first.readable.as_str(), codes(&first)), ("primary", vec!["header-differs", "one-slot"]));
    let second = judged(&header(&old, &new, [7, 8]));
    assert_eq!((second.readable.as_str(), codes(&second)), ("secondary", vec!["header-differs", "one-slot"]));
    let same = judged(&header(&old, &new, [7, 7]));
    assert_eq!((same.readable.as_str(), codes(&same)), ("primary", vec!["header-differs"]));
}

#[test]
fn an_invalid_copy_beside_a_good_one_is_a_damaged_copy() {
    let (good, mut bad) = (metadata("luks2-good"), metadata("luks2-good"));
    bad["digests"]["0"]["keyslots"] = json!(["7"]);
    let report = judged(&header(&bad, &good, [9, 3]));
    assert_eq!((report.readable.as_str(), codes(&report)), ("secondary", vec!["header-primary-bad"]));
    let report = judged(&header(&good, &bad, [3, 9]));
    assert_eq!((report.readable.as_str(), codes(&report)), ("primary", vec!["header-secondary-bad"]));
}
