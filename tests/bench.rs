//! `sealant bench`: what it measures, and what it says of other programs.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::support::sealant;

/// A clear tablespace of a server, and one that is large enough to time other programs on: the same
/// with many empty pages behind.
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

fn json(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("no JSON: {e}\n{stderr}"))
}

/// A program of that name that ends with `code`, but says its version.
fn program(directory: &Path, name: &str, code: u8) -> String {
    let path = directory.join(name);
    let script =
        format!("#!/bin/sh\n[ \"$1\" = --version ] && echo Ver 1.2.3 && exit\necho invalid >&2\nexit {code}\n");
    fs::write(&path, script).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    path.to_str().expect("ASCII").to_owned()
}

#[test]
fn verification_is_measured_against_reading_and_against_peers() {
    let (data, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    files(data.path());
    let raw = tools.path().join("samples.jsonl");
    let options = [
        "--innochecksum",
        &program(tools.path(), "good", 0),
        "--innochecksum",
        &program(tools.path(), "bad", 1),
        "--inno",
        &program(tools.path(), "inno", 1),
        "--raw",
        raw.to_str().unwrap(),
    ];
    let document = json(&bench(data.path(), &options));
    assert_eq!(document["schema"], "sealant.bench/1");
    assert_eq!(document["subject"]["files"], 2);
    // The one that calls the files invalid does not read them to the end, so it is not timed.
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
    assert!(experiment["arms"].as_array().unwrap().iter().all(|arm| arm["bytes"] == length), "{experiment}");
    assert!(document["opinions"].as_array().unwrap().is_empty());
}

#[test]
fn a_program_that_was_asked_for_has_to_be_there() {
    let data = tempfile::tempdir().unwrap();
    files(data.path());
    let output = bench(data.path(), &["--inno", "/no/such/inno"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/no/such/inno: no such program"));
}
