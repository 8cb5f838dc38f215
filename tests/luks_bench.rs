//! `sealant bench disk`: in memory everywhere, on a disk in a virtual machine. Tests its output, never its speed.

use std::path::Path;
use std::process::Output;

use harness::vm::Machine;
use serde_json::Value;

use crate::support::schema::has_its_schema;
use crate::support::sealant;

fn bench(args: &[&str]) -> Output {
    sealant().args(["bench", "disk", "--quiet"]).args(args).output().expect("it starts")
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn texts<'v>(list: &'v Value, name: &str) -> Vec<&'v str> {
    let list = list.as_array().expect("a list");
    list.iter().map(|one| if name.is_empty() { one } else { &one[name] }.as_str().expect("text")).collect()
}

/// Whether it is a proper, positive interval.
fn is_interval(value: &Value) -> bool {
    let [low, estimate, high] = ["low", "estimate", "high"].map(|end| value[end].as_f64().expect("a number"));
    0.0 <= low && low <= estimate && estimate <= high
}

#[test]
fn every_set_is_measured_in_memory_or_the_reason_is_reported() {
    let dir = tempfile::tempdir().expect("room");
    let [raw, html] = ["raw", "html"].map(|name| dir.path().join(name).to_str().expect("ASCII").to_owned());
    let output = bench(&["--rounds", "2", "--span", "1", "--format", "json", "--raw", &raw, "--html", &html]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let record = document(&String::from_utf8_lossy(&output.stdout));
    has_its_schema(&record, "bench-1");
    let experiments = record["experiments"].as_array().expect("a list");
    let notes = texts(&record["notes"], "").join("\n");
    // Both directions, both sizes; of twelve sets one has half a key, and one does not use AES alone.
    assert_eq!(experiments.len(), 4);
    for experiment in experiments {
        assert_eq!((experiment["rounds"].as_u64(), texts(&experiment["arms"], "name").len()), (Some(2), 10));
        assert!([512, 4096].contains(&experiment["block_bytes"].as_u64().expect("bytes")), "{experiment}");
        for arm in experiment["arms"].as_array().expect("a list") {
            assert!(is_interval(&arm["rate"]) && arm["rate"]["low"].as_f64() > Some(0.0), "{arm}");
        }
        // Every chaining mode, compared with XTS with a key of the same length.
        let ratios = experiment["ratios"].as_array().expect("a list");
        assert_eq!(ratios.len(), 5);
        assert!(ratios.iter().all(|ratio| texts(&Value::from(vec![ratio.clone()]), "of")[0].starts_with("aes-xts")));
    }
    assert!(notes.contains("with as long a key, since each block of CBC waits for the one before"), "{notes}");
    assert!(notes.contains("default 128: not measured in memory: XTS takes two keys"), "{notes}");
    assert!(notes.contains("adiantum-plain64 256: not measured in memory"), "{notes}");
    assert!(notes.contains("no disk was measured"), "{notes}");
    // cryptsetup also reports it for a file.
    for set in ["aes-ecb-plain", "aes-ecb-null", "aes-ecb-benbi", "default"] {
        assert!(notes.contains(&format!("{set} 128 cannot be formatted: ")), "{set}: {notes}");
    }
    assert_eq!(notes.matches("cannot be formatted").count(), 4, "{notes}");
    assert_eq!(std::fs::read_to_string(&raw).expect("written").lines().count(), 1 + 4 * 10 * 2);
    let page = std::fs::read_to_string(&html).expect("written");
    assert_eq!(page.matches("<svg").count(), 4);
}

#[test]
fn the_finding_about_cbc_quotes_the_figures_of_the_record() {
    let sets = "aes-xts-plain64:256;aes-cbc-plain:128";
    let output = bench(&["--sets", sets, "--sector-bytes", "4096", "--rounds", "3", "--span", "2", "--format", "json"]);
    let record = document(&String::from_utf8_lossy(&output.stdout));
    let ratio = record["experiments"][0]["ratios"][0]["ratio"]["estimate"].as_f64().expect("a number");
    let notes = texts(&record["notes"], "").join("\n");
    let figures = format!("{ratio:.1} to {ratio:.1} times");
    assert!(notes.contains(&figures), "{figures}: {notes}");
    assert_eq!(record["programs"].as_array().expect("a list").len(), 1, "cryptsetup");
}

#[test]
fn mistakes_are_reported_before_anything_is_measured() {
    let dir = tempfile::tempdir().expect("room");
    let image = dir.path().join("image");
    std::fs::write(&image, vec![7; 40 << 20]).expect("room");
    let image = image.to_str().expect("ASCII");
    for (args, code, because) in [
        (&["--sets", "aes-xts-plain64"][..], 2, "CIPHER:BITS"),
        (&["--sets=--type:128"], 2, "CIPHER:BITS"),
        (&["--sector-bytes", "100"], 2, "possible values"),
        (&["--yes"], 2, "--on"),
        (&["--on", "/nonexistent", "--yes"], 1, "/nonexistent: No such file"),
        (&["--on", image, "--yes"], 1, "that no signature explains"),
        (&["--on", "/tmp", "--yes"], 1, "neither a block device nor a file"),
    ] {
        let output = bench(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(because), "{args:?}: {said}");
    }
    assert_eq!(std::fs::read(image).expect("ours"), vec![7; 40 << 20]);
}

/// Runs a script that ends well, and returns its document.
fn measured(machine: &Machine, script: &str) -> Value {
    let ran = machine.run(script).expect("it runs");
    assert!(ran.status == 0 && ran.log.ends_with("finished\n"), "{}: {}", ran.status, ran.log);
    let (_, rest) = ran.log.split_once("== document\n").expect("a document");
    let (text, _) = rest.split_once("\n== end").expect("an end");
    document(&text.lines().filter(|line| !line.starts_with("sealant: ")).collect::<String>())
}

#[test]
#[ignore = "minutes of an emulated machine: make soak"]
fn a_disk_is_measured_through_device_mapper() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.disk(48).and_then(|m| m.disk(40)).expect("room");
    let machine = machine.program(Path::new(env!("CARGO_BIN_EXE_sealant")), "/usr/bin/sealant").expect("room");
    let record = measured(&machine, include_str!("vm/bench-disk.sh"));
    assert!(record["environment"]["emulated"].as_bool().expect("known"));
    let notes = texts(&record["notes"], "").join("\n");
    assert!(notes.contains("this machine's processor is emulated"), "{notes}");
    for set in ["aes-ecb-plain", "default"] {
        assert!(notes.contains(&format!("{set} 128 cannot be formatted: ")), "{notes}");
    }
    let experiments = record["experiments"].as_array().expect("a list");
    let disk: Vec<&Value> =
        experiments.iter().filter(|one| one["name"].as_str().expect("text").starts_with("disk: ")).collect();
    assert_eq!(disk.len(), 2, "random-write, fsync");
    for experiment in disk {
        let arms = experiment["arms"].as_array().expect("a list");
        let names = texts(&experiment["arms"], "name");
        assert_eq!(names, ["plain disk", "aes-cbc-plain 128, 4096", "aes-xts-plain64 512, 4096"]);
        for arm in arms {
            let detail = &arm["detail"];
            let at = |name: &str| {
                assert!(is_interval(&detail[name]), "{arm}");
                detail[name]["estimate"].as_f64().expect("a number")
            };
            assert!(at("p50_seconds") <= at("p99_seconds") && at("p99_seconds") <= at("p999_seconds"), "{arm}");
            assert!(at("cores") > 0.0, "{arm}");
        }
        assert_eq!(texts(&experiment["ratios"], "to"), ["plain disk"; 2]);
    }
    assert_eq!(texts(&record["programs"], "name"), ["cryptsetup", "fio"]);
}

#[test]
#[ignore = "minutes of an emulated machine: make soak"]
fn transactions_on_a_volume_are_measured_against_the_same_file_system_in_the_clear() {
    let Some(machine) = Machine::new() else { return };
    // Each of three servers needs a gigabyte of disk and half of one of memory.
    let machine = machine.memory_mib(2560).limit(harness::limit(1800)).disk(5120).expect("room");
    let machine = machine.program(Path::new(env!("CARGO_BIN_EXE_sealant")), "/usr/bin/sealant").expect("room");
    let record = measured(&machine, include_str!("vm/bench-oltp-luks.sh"));
    let experiment = &record["experiments"][1];
    assert_eq!(texts(&experiment["arms"], "name"), ["clear", "image", "luks"]);
    for arm in experiment["arms"].as_array().expect("a list") {
        assert!(arm["amount"].as_u64().expect("a number") > 0, "{arm}");
    }
    let ratios = experiment["ratios"].as_array().expect("a list").iter();
    let pairs: Vec<_> = ratios.map(|ratio| (ratio["of"].as_str(), ratio["to"].as_str())).collect();
    assert!(pairs.contains(&(Some("luks"), Some("image"))), "{pairs:?}");
    assert!(!texts(&record["notes"], "").join("\n").contains("was left out"), "{record}");
}
