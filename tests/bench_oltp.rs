//! `sealant bench oltp`: its arms and clients on real servers, signals, and a slow-down of known size.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use harness::{Kind, Server, require};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::bench::{json, names, short_directory};
use crate::support::schema::has_its_schema;
use crate::support::sealant;

/// Measures transactions of a small load on servers of that kind for a span, with nothing left behind.
fn oltp(kind: Kind, span: &str, options: &[&str]) -> Option<Output> {
    let binaries = require(kind)?;
    // sysbench splits its options at commas.
    let scratch = tempfile::Builder::new().prefix("a,b").tempdir().expect("a directory");
    let mut command = sealant();
    command.args(["bench", "oltp", "--format", "json", "--tables", "2", "--rows", "500", "--span", span]);
    command.args(["--buffer-pool", "32MiB", "--dir"]).arg(scratch.path()).arg("--mysqld").arg(binaries.daemon);
    let output = command.args(options).output().expect("the binary starts");
    assert_eq!(fs::read_dir(scratch.path()).expect("readable").count(), 0, "servers and data are removed");
    Some(output)
}

/// Asserts that each arm of an experiment committed transactions, and that its figures are complete.
fn has_transactions(experiment: &Value, wanted: &[&str]) {
    assert_eq!(names(&experiment["arms"], "name"), wanted, "{experiment}");
    for arm in experiment["arms"].as_array().expect("arms") {
        assert!(arm["amount"].as_u64().expect("a number") > 0, "{arm}");
        let operations = &arm["operations"];
        let of = |name: &str| operations[name]["estimate"].as_f64().expect("a number");
        assert!(of("server_cpu_seconds") > 0.0 && of("written_bytes") > 0.0 && of("fsyncs") > 0.0, "{arm}");
        let latency = |name: &str| operations["latency"][name].as_f64().expect("a number");
        assert!(0.0 < latency("min_seconds") && latency("p50_seconds") <= latency("p95_seconds"), "{arm}");
        assert!(latency("p95_seconds") <= latency("max_seconds"), "{arm}");
    }
}

#[test]
fn transactions_are_measured_on_mysql_with_and_without_encryption() {
    let results = tempfile::tempdir().unwrap();
    let [raw, html, markdown] = ["samples.jsonl", "page.html", "page.md"].map(|name| results.path().join(name));
    let files = [("--raw", &raw), ("--html", &html), ("--markdown", &markdown)];
    let files: Vec<&str> = files.iter().flat_map(|(option, path)| [*option, path.to_str().unwrap()]).collect();
    let options = [&["--rounds", "1", "--arms", "tde+logs"], files.as_slice()].concat();
    let Some(output) = oltp(Kind::MySql97, "200ms", &options) else { return };
    let document = json(&output);
    has_its_schema(&document, "bench-1");
    let experiments = document["experiments"].as_array().unwrap();
    has_transactions(&experiments[0], &["clear", "clear again", "tde+logs"]);
    let ratios = experiments[0]["ratios"].as_array().unwrap();
    let pairs: Vec<_> = ratios.iter().map(|one| (one["of"].as_str().unwrap(), one["to"].as_str().unwrap())).collect();
    assert_eq!(pairs, [("clear again", "clear"), ("tde+logs", "clear")]);
    assert!(ratios.iter().all(|ratio| ratio["difference"]["kind"] == "too-few-rounds"), "{ratios:?}");
    let prediction = &experiments[0]["predictions"][0];
    assert_eq!((&prediction["of"], &prediction["to"]), (&"tde+logs".into(), &"clear".into()));
    let [low, high] = ["low", "high"].map(|end| prediction["predicted_percent"][end].as_f64().expect("a number"));
    let measured = prediction["measured_percent"]["estimate"].as_f64().expect("a number");
    let error = prediction["error_points"].as_f64().expect("a number");
    let corrected = measured - error;
    assert!((low - 1e-9..=high + 1e-9).contains(&corrected), "{prediction}");
    let causes = experiments[0]["causes"].as_array().expect("causes");
    let of = |arm: &str| -> Vec<&str> {
        let causes = causes.iter().filter(|one| one["arm"] == arm);
        causes.map(|one| one["cause"].as_str().expect("a cause")).collect()
    };
    assert_eq!(of("clear"), ["checksums", "context-switches"]);
    assert_eq!(of("tde+logs"), ["aes", "checksums", "context-switches"]);
    let aes = causes.iter().find(|one| one["cause"] == "aes").expect("a sentence on AES");
    assert!(aes["calculated_seconds"]["low"].as_f64() > Some(0.0), "{aes}");
    assert!(aes["text"].as_str().expect("a sentence").contains("MiB of binary log × "), "{aes}");
    let work = &experiments[0]["arms"][2]["operations"]["work"];
    // In so short a time the server may write no page.
    for figure in ["redo_bytes", "binlog_bytes", "client_bytes", "voluntary_switches"] {
        assert!(work[figure]["estimate"].as_f64() > Some(0.0), "{figure}: {work}");
    }
    let is_sampled = document["programs"].to_string().contains("\"perf\"");
    assert_eq!(is_sampled, aes["measured_seconds"].is_f64(), "{aes}");
    let notes = document["notes"].to_string();
    assert!(notes.contains(if is_sampled { "perf sampled the servers" } else { "perf was not used: " }), "{notes}");
    assert!(notes.contains("innodb_redo_log_encrypt, innodb_undo_log_encrypt, binlog_encryption"), "{notes}");

    // Every latency is kept: the run can be judged again.
    let samples = fs::read_to_string(&raw).unwrap();
    for sample in samples.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let counts = sample["latencies"].as_array().unwrap().iter().map(|pair| pair[1].as_u64().unwrap());
        assert_eq!(counts.sum::<u64>(), sample["amount"].as_u64().unwrap());
    }
    let judged = sealant().args(["bench", "judge", "--format", "json"]).arg(&raw).output().expect("it starts");
    let judged = json(&judged);
    has_its_schema(&judged, "bench-1");
    for figure in ["ratios", "arms"] {
        let [again, first] = [&judged, &document].map(|report| &report["experiments"][0][figure][1]);
        assert_eq!((&again["ratio"], &again["rate"]), (&first["ratio"], &first["rate"]), "{figure}");
    }
    assert_eq!(samples.lines().count(), 1 + 3);
    let refused = |options: &[&str]| {
        let output = sealant().args(["bench", "judge"]).arg(&raw).args(options).output().expect("it starts");
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let unknown = refused(&["--to", "luks"]);
    assert!(unknown.contains(": no experiment has the arm luks\n"), "{unknown}");
    assert!(unknown.contains("hint: give one of its arms to --to: clear, clear again, tde+logs\n"), "{unknown}");
    fs::write(&raw, samples.split_at(samples.len() - 20).0).expect("written");
    let cut = refused(&[]);
    assert!(cut.contains(": cut off in line 4\n"), "{cut}");
    let [page, text] = [&html, &markdown].map(|path| fs::read_to_string(path).unwrap());
    assert_eq!(page.matches("<svg").count(), 1);
    assert!(text.contains("\n| in the rows of sysbench | clear | clear again | tde+logs |\n"), "{text}");
    for row in ["transactions, a run", "latency 95th percentile, ms", "fairness over threads, stddev %"] {
        assert!(text.contains(&format!("\n| {row} | ")) && page.contains(&format!("<td>{row}</td>")), "{row}");
    }
    crate::browser::fits(&html);
}

#[test]
fn transactions_are_measured_on_mariadb_at_a_fixed_rate_and_over_tls() {
    let options = ["--rounds", "1", "--rate", "50", "--threads", "1", "--workload", "oltp_update_index"];
    // Fewer transactions can need less than 10 ms of the server's processor time, which is what the kernel counts.
    let Some(output) = oltp(Kind::MariaDb1011, "2s", &[&options[..], &["--arms", "tde,tde+logs,tls"]].concat()) else {
        return;
    };
    let document = json(&output);
    has_its_schema(&document, "bench-1");
    let experiments = document["experiments"].as_array().unwrap();
    has_transactions(&experiments[0], &["clear", "clear again", "tde", "tde+logs"]);
    has_transactions(&experiments[1], &["socket", "tls"]);
    // The rate is given, so that it compares nothing and predicts nothing.
    for experiment in experiments {
        assert_eq!(experiment["compared_by"], "p95-latency");
        assert!(experiment.get("predictions").is_none(), "{experiment}");
    }
    // 50 a second begin in two seconds, however fast the server is.
    for arm in experiments.iter().flat_map(|experiment| experiment["arms"].as_array().unwrap()) {
        assert!(arm["amount"].as_u64().unwrap() <= 100, "{arm}");
    }
    let ran = driver(&document);
    assert!(ran.contains("ran all transactions, as sysbench cannot run this load: with --rate"), "{ran}");
    let notes = document["notes"].to_string();
    assert!(notes.contains("innodb_encrypt_log") && notes.contains("encrypt_binlog"), "{notes}");
}

/// The note on who ran the transactions.
fn driver(document: &Value) -> &str {
    let mut notes = document["notes"].as_array().expect("notes").iter().filter_map(Value::as_str);
    notes.rfind(|note| note.contains(" ran ")).expect("a note on the driver")
}

#[test]
fn sysbench_runs_the_transactions_by_every_kind_of_connection() {
    for kind in [Kind::MySql97, Kind::MariaDb1011] {
        let options = ["--rounds", "1", "--driver", "sysbench", "--arms", "tde,tcp,tls,tls-rsa4096,tunnel"];
        let Some(output) = oltp(kind, "1s", &options) else { continue };
        let document = json(&output);
        has_its_schema(&document, "bench-1");
        let program = &document["programs"][1];
        assert_eq!(program["name"], "sysbench");
        let version = program["version"].as_str().expect("a version");
        let note = format!("sysbench {version} ran the transactions, and rounds latencies to about 2 %");
        assert_eq!(driver(&document), note, "it could connect in every way");
        let experiments = document["experiments"].as_array().unwrap();
        has_transactions(&experiments[0], &["clear", "clear again", "tde"]);
        has_transactions(&experiments[1], &["socket", "tcp", "tls", "tls-rsa4096", "tunnel"]);
    }
}

#[test]
fn a_sysbench_that_cannot_be_used_is_told_and_refused_if_it_was_requested() {
    let Some(binaries) = require(Kind::MariaDb1011) else { return };
    let (scratch, tools) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let refused = |path: &str, options: &[&str], code: i32, expected: &str| {
        let mut command = sealant();
        command.args(["bench", "oltp", "--driver", "sysbench", "--dir"]).arg(scratch.path()).env("PATH", path);
        let output = command.arg("--mysqld").arg(&binaries.daemon).args(options).output().expect("it starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && stderr.contains(expected), "{expected:?} is not in {stderr}");
        assert_eq!(fs::read_dir(scratch.path()).expect("readable").count(), 0);
    };
    let path = tools.path().to_str().expect("ASCII").to_owned();
    refused(&path, &[], 1, "sysbench is not in PATH");
    harness::script(&tools.path().join("sysbench"), "echo sysbench 0.4.12").expect("written");
    let path = format!("{path}:{}", std::env::var("PATH").expect("a path"));
    refused(&path, &[], 1, "sysbench 0.4.12 is too old; 1.0 or newer is needed");
    harness::script(&tools.path().join("sysbench"), "echo sysbench 1.0.20").expect("written");
    refused(&path, &["--rate", "50"], 2, "sysbench cannot run this load: with --rate");
    refused(&path, &["--span", "1500ms"], 2, "sysbench cannot run this load: it runs for whole seconds only");
}

#[test]
fn compressed_tables_rotations_and_the_tunnel_are_measured() {
    let results = tempfile::tempdir().unwrap();
    let html = results.path().join("page.html");
    let options = ["--rounds", "1", "--arms", "compressed+tde,tde-ctr,rotation,tunnel", "--workload"];
    let options = [&options[..], &["oltp_point_select", "--html", html.to_str().unwrap()]].concat();
    let Some(output) = oltp(Kind::MariaDb1011, "1s", &options) else { return };
    let document = json(&output);
    has_its_schema(&document, "bench-1");
    let experiments = document["experiments"].as_array().unwrap();
    let arms = |experiment: usize| names(&experiments[experiment]["arms"], "name");
    assert_eq!(arms(0), ["clear", "clear again", "tde", "compressed", "compressed+tde", "tde-ctr", "rotation"]);
    assert_eq!(arms(1), ["socket", "tunnel"]);
    let ratios = experiments[0]["ratios"].as_array().unwrap();
    let pairs: Vec<_> = ratios.iter().map(|one| (one["of"].as_str().unwrap(), one["to"].as_str().unwrap())).collect();
    for pair in [("compressed+tde", "compressed"), ("tde-ctr", "tde"), ("rotation", "tde")] {
        assert!(pairs.contains(&pair), "{pair:?} is not in {pairs:?}");
    }
    for arm in experiments.iter().flat_map(|experiment| experiment["arms"].as_array().unwrap()) {
        assert!(arm["amount"].as_u64().unwrap() > 0, "{arm}");
    }
    let ran = driver(&document);
    assert!(ran.contains("of the experiments on data at rest: the arm rotation needs"), "{ran}");
    let notes = document["notes"].to_string();
    for wanted in ["compressed+tde: ", " are stored of files of ", "rotation: all pages decrypted and encrypted again"]
    {
        assert!(notes.contains(wanted), "{wanted:?} is not in {notes}");
    }
    // A column for each of seven servers would not fit.
    crate::browser::fits(&html);
}

#[test]
fn mysql_rotates_its_master_key_in_the_middle_and_has_no_counter_mode() {
    let options = ["--rounds", "1", "--arms", "tde-ctr,rotation"];
    let Some(output) = oltp(Kind::MySql97, "1s", &options) else { return };
    let document = json(&output);
    let notes = document["notes"].to_string();
    assert!(notes.contains("rotation: a rotation of the master key took "), "{notes}");
    assert!(notes.contains("tde-ctr was left out: MySQL encrypts pages in CBC mode only"), "{notes}");
    let experiment = &document["experiments"][0];
    assert_eq!(names(&experiment["arms"], "name"), ["clear", "clear again", "tde", "rotation"]);
}

#[test]
fn an_interrupted_measurement_of_transactions_reports_its_rounds() {
    let Some(binaries) = require(Kind::MariaDb1011) else { return };
    let scratch = tempfile::tempdir().expect("a directory");
    let mut command = sealant();
    command
        .args(["bench", "oltp", "--format", "json", "--tables", "1", "--rows", "500", "--span", "100ms", "--rounds"]);
    command.args(["9999", "--dir"]).arg(scratch.path()).arg("--mysqld").arg(binaries.daemon);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    // Each run ends with a new binary log; the first two belong to preparations.
    let number = || {
        let servers = fs::read_dir(scratch.path()).ok()?.next()?.ok()?.path();
        let logs = fs::read_to_string(servers.join("a/data/binlog.index")).ok()?;
        logs.trim().rsplit('.').next()?.parse::<u32>().ok()
    };
    harness::wait_until("some rounds", harness::limit(180), || number().is_some_and(|number| number >= 7));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains("error: interrupted"), "{stderr}");
    assert!(stderr.contains("sealant: this takes about"), "{stderr}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("the report");
    has_its_schema(&document, "bench-1");
    let experiments = document["experiments"].as_array().unwrap();
    assert_eq!(experiments.len(), 1, "{document}");
    assert_eq!(experiments[0]["stopped"], "interrupted");
    assert!(experiments[0]["rounds"].as_u64().unwrap() >= 1, "{document}");
    has_transactions(&experiments[0], &["clear", "clear again", "tde", "tde+logs"]);
    assert_eq!(fs::read_dir(scratch.path()).expect("readable").count(), 0);
}

#[test]
fn a_server_that_does_not_start_is_quoted_and_others_are_left_alone() {
    let Some(output) = oltp(Kind::MariaDb1011, "200ms", &["--server-option", "--innodb-no-such-option=1"]) else {
        return;
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains("unknown variable"), "{stderr}");
    assert!(output.stdout.is_empty());

    let server = Server::builder(Kind::MariaDb1011).start().expect("MariaDB");
    let refused = |options: &[&Path], expected: &str| {
        let output = sealant().args(["bench", "oltp"]).args(options).output().expect("the binary starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(expected) && stderr.contains("only servers that this run starts"), "{stderr}");
    };
    let (dir, mysqld, tmp) = (Path::new("--dir"), Path::new("--mysqld"), Path::new("/tmp"));
    refused(&[dir, server.datadir()], "lies in a server's data directory");
    refused(&[dir, tmp, mysqld, server.socket()], "the socket of a running server");
    let output =
        sealant().args(["bench", "oltp", "--dir", "/tmp", "--mysqld", "/bin/true"]).output().expect("it starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains("/bin/true: is not a server"), "{stderr}");
}

#[test]
fn too_little_memory_or_disk_and_another_version_are_told_before_a_server_starts() {
    let scratch = tempfile::tempdir().expect("a directory");
    let refused = |options: &[&str], server: &[&Path], path: Option<&Path>, expected: [&str; 2]| {
        let mut command = sealant();
        command.args(["bench", "oltp", "--quiet", "--arms", "clear", "--dir"]).arg(scratch.path());
        command.args(options).args(server).envs(path.map(|path| ("PATH", path)));
        let output = command.output().expect("it starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && output.stdout.is_empty(), "{stderr}");
        assert!(expected.iter().all(|text| stderr.contains(text)), "{expected:?} is not in {stderr}");
        assert_eq!(fs::read_dir(scratch.path()).expect("readable").count(), 0);
    };
    let tools = tempfile::tempdir().expect("a directory");
    let program = tools.path().join("mysqld");
    harness::script(&program, "echo 'mysqld  Ver 9.7.4 for Linux on x86_64 (Source distribution)'").expect("written");
    let other = ["mysqld: is of version 9.7.4, not 80\n", "hint: --mysqld takes the path of another server program"];
    refused(&["--server", "mysql80"], &[], Some(tools.path()), other);
    let server = [Path::new("--mysqld"), &program];
    let memory = ["2 servers at a time take ", "hint: give `bench oltp` a smaller --buffer-pool"];
    refused(&["--buffer-pool", "1000000GiB"], &server, None, memory);
    let rows = ["--buffer-pool", "32MiB", "--tables", "1000", "--rows", "100000000"];
    refused(&rows, &server, None, [": servers and their data take ", "or fewer rows or arms"]);
}

#[test]
fn a_signal_while_servers_are_filled_leaves_nothing() {
    let Some(binaries) = require(Kind::MariaDb1011) else { return };
    let scratch = tempfile::tempdir().expect("a directory");
    let mut command = sealant();
    command.args(["bench", "oltp", "--quiet", "--tables", "1", "--rows", "500", "--span", "1s", "--rounds", "2"]);
    command.args(["--arms", "rotation", "--dir"]).arg(scratch.path()).arg("--mysqld").arg(binaries.daemon);
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
    let table =
        || fs::read_dir(scratch.path()).ok()?.next()?.ok().map(|entry| entry.path().join("d/data/oltp/sbtest1.ibd"));
    harness::wait_until("the last server", harness::limit(180), || table().is_some_and(|path| path.exists()));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let status = child.wait().expect("it ends");
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(status.code() == Some(1) && stderr.contains("interrupted"), "{status} {stderr}");
    assert_eq!(fs::read_dir(scratch.path()).expect("readable").count(), 0);
}

/// A measurement of transactions of a small table on MariaDB, below `scratch`.
fn started(scratch: &Path, options: &[&str]) -> Option<Child> {
    let binaries = require(Kind::MariaDb1011)?;
    let mut command = sealant();
    command.args(["bench", "oltp", "--quiet", "--format", "json", "--tables", "1", "--buffer-pool", "32MiB", "--dir"]);
    command.arg(scratch).args(options).arg("--mysqld").arg(binaries.daemon);
    Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts"))
}

/// A file of a server in the directory `server` of the running measurement.
fn server_file(scratch: &Path, server: &str, name: &str) -> Option<PathBuf> {
    let directory = fs::read_dir(scratch).ok()?.next()?.ok()?.path();
    Some(directory.join(server).join(name)).filter(|path| path.exists())
}

/// Ends the measurement by a signal, which leaves no file and no process of it.
fn interrupted(child: Child, scratch: &Path) -> Output {
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains("interrupted"), "{} {stderr}", output.status);
    is_unused(scratch);
    output
}

/// Asserts that a directory is empty, and that no process and no mount uses it.
fn is_unused(scratch: &Path) {
    assert_eq!(fs::read_dir(scratch).expect("readable").count(), 0);
    let scratch = scratch.to_str().expect("ASCII");
    let processes = fs::read_dir("/proc").expect("readable").flatten();
    let commands = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let left: Vec<String> = commands.map(|command| String::from_utf8_lossy(&command).replace('\0', " ")).collect();
    assert!(!left.iter().any(|command| command.contains(scratch)), "{left:?}");
    let mounts = fs::read_to_string("/proc/self/mounts").expect("readable");
    assert!(!mounts.contains(scratch), "{mounts}");
}

#[test]
fn a_signal_in_the_middle_of_a_rotation_leaves_nothing() {
    let scratch = short_directory();
    let options = ["--rows", "50000", "--span", "4s", "--rounds", "1", "--arms", "rotation"];
    let Some(child) = started(scratch.path(), &options) else { return };
    let client = require(Kind::MariaDb1011).and_then(|binaries| binaries.tool("mariadb")).expect("a client");
    let is_decrypted = || {
        let socket = server_file(scratch.path(), "d", "sql")?;
        let mut command = Command::new(&client);
        command.args(["--no-defaults", "--user=administrator", "-Ne", "SELECT @@innodb_encrypt_tables"]);
        let output = command.arg(format!("--socket={}", socket.display())).output().ok()?;
        (output.stdout == b"OFF\n").then_some(())
    };
    harness::wait_until("a rotation", harness::limit(240), is_decrypted);
    interrupted(child, scratch.path());
}

#[test]
fn volumes_in_images_are_measured_and_removed_or_the_reason_is_told() {
    let Some(output) = oltp(Kind::MariaDb1011, "200ms", &["--rounds", "1", "--arms", "luks,image"]) else { return };
    let document = json(&output);
    let (notes, stderr) = (document["notes"].to_string(), String::from_utf8_lossy(&output.stderr));
    let reason = |arm: &str| {
        let (_, said) = stderr.split_once(&format!("warning: {arm} was left out: "))?;
        Some(said.lines().next().expect("a reason"))
    };
    for arm in ["luks", "image"] {
        let is_measured = names(&document["experiments"][0]["arms"], "name").contains(&arm);
        assert_ne!(is_measured, reason(arm).is_some(), "{arm}: {stderr}");
        assert!(reason(arm).is_none_or(|reason| notes.contains(reason)), "{notes}");
    }
    let misc = fs::read_to_string("/proc/misc").expect("readable");
    if !misc.contains("device-mapper") {
        assert_eq!(reason("luks"), Some("this kernel has no device-mapper with dm-crypt"));
    }
}

#[test]
fn a_signal_while_a_server_runs_on_a_volume_unmounts_it() {
    if !rustix::process::geteuid().is_root() {
        harness::skip("only root may mount a volume");
        return;
    }
    let scratch = short_directory();
    let options = ["--rows", "500", "--span", "200ms", "--rounds", "20", "--arms", "image"];
    let Some(child) = started(scratch.path(), &options) else { return };
    let table = || server_file(scratch.path(), "c", "data/oltp/sbtest1.ibd").is_some();
    harness::wait_until("a server on a volume", harness::limit(180), table);
    interrupted(child, scratch.path());
}

/// Stops a server for 30 ms of every 100 ms, which makes a load on it slower by a known share.
fn hamper(server: Pid, until: &AtomicBool) {
    while !until.load(Ordering::Relaxed) {
        for (signal, pause) in [(Signal::STOP, 30), (Signal::CONT, 70)] {
            if kill_process(server, signal).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(pause));
        }
    }
}

/// The ratio of two equal servers under a load of point selects, of which the second is hampered until the end, and the
/// processors that the first uses, from and to.
fn ratio_of_equal_servers(hamper: impl FnOnce(Pid, &AtomicBool) + Send) -> Option<(Value, [f64; 2])> {
    let scratch = short_directory();
    let options = ["--rows", "5000", "--span", "2s", "--rounds", "9", "--arms", "clear", "--workload"];
    let child = started(scratch.path(), &[&options[..], &["oltp_point_select"]].concat())?;
    let hampered = || {
        let pid = fs::read_to_string(server_file(scratch.path(), "b", "pid")?).ok()?;
        Pid::from_raw(pid.trim().parse().ok()?)
    };
    let server = harness::wait_until("the second of two equal servers", harness::limit(120), hampered);
    let ended = AtomicBool::new(false);
    let output = thread::scope(|scope| {
        scope.spawn(|| hamper(server, &ended));
        let output = child.wait_with_output().expect("it ends");
        ended.store(true, Ordering::Relaxed);
        output
    });
    let document = json(&output);
    let experiment = &document["experiments"][0];
    let (ratio, clear) = (experiment["ratios"][0].clone(), &experiment["arms"][0]);
    assert_eq!((&ratio["of"], &ratio["to"]), (&"clear again".into(), &"clear".into()));
    assert_eq!(ratio["difference"]["kind"], "seen");
    let processors = ["low", "high"].map(|end| {
        let figures = [&clear["rate"][end], &clear["operations"]["server_cpu_seconds"][end]];
        figures.map(|figure| figure.as_f64().expect("a number")).iter().product::<f64>()
    });
    Some((ratio, processors))
}

/// Asserts that the interval of a ratio holds one of these values, or is less than 0.03 away from one.
fn holds(ratio: &Value, [least, most]: [f64; 2]) {
    let [low, high] = ["low", "high"].map(|end| ratio["ratio"][end].as_f64().expect("a number"));
    assert!(low - 0.03 <= most && least <= high + 0.03, "{least} to {most}: {ratio}");
}

#[test]
#[ignore = "a minute of load on a quiet machine: make soak"]
fn a_server_that_stands_still_for_a_known_share_of_the_time_is_found() {
    // Signals take effect a little late.
    let Some((ratio, _)) = ratio_of_equal_servers(hamper) else { return };
    holds(&ratio, [0.7, 0.7]);
}

/// A group of processes that gets so many microseconds of processor time in each tenth of a second.
struct Quota {
    directory: PathBuf,
}

impl Quota {
    /// `None` if this machine lets no group be made. Source: the kernel's `cgroup-v2.rst` (`cpu.max`) and `sched-bwc.rst`
    /// (`cpu.cfs_quota_us`).
    fn new(microseconds: u32) -> Option<Self> {
        let root = Path::new("/sys/fs/cgroup");
        let (parent, file) = match root.join("cgroup.controllers").exists() {
            true => (root.to_owned(), "cpu.max"),
            false => (root.join("cpu"), "cpu.cfs_quota_us"),
        };
        let directory = parent.join(format!("sealant-test-{}", std::process::id()));
        fs::create_dir(&directory).ok()?;
        let group = Self { directory };
        // Without the controller the file is missing, and may not be created.
        fs::write(group.directory.join(file), microseconds.to_string()).ok()?;
        Some(group)
    }

    fn limit(&self, process: Pid) {
        let list = self.directory.join("cgroup.procs");
        fs::write(list, process.as_raw_nonzero().to_string()).expect("the process is moved");
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.directory);
    }
}

#[test]
#[ignore = "a minute of load on a quiet machine: make soak"]
fn a_server_that_gets_a_known_share_of_a_processor_is_found() {
    let Some(quota) = Quota::new(20_000) else {
        harness::skip("no control group with a quota of processor time can be made");
        return;
    };
    let Some((ratio, [least, most])) = ratio_of_equal_servers(|server, _| quota.limit(server)) else { return };
    // Where processor time is the limit, a server with a fifth of a processor does so much less than one that uses more.
    assert!(least > 0.3, "the load uses too little of the processors: {least}");
    holds(&ratio, [0.2 / most, 0.2 / least]);
}

#[test]
fn an_interrupted_measurement_of_transactions_leaves_nothing() {
    let Some(binaries) = require(Kind::MariaDb1011) else { return };
    let scratch = tempfile::tempdir().expect("a directory");
    let mut command = sealant();
    command.args(["bench", "oltp", "--quiet", "--tables", "1", "--rows", "500", "--span", "60s", "--dir"]);
    command.arg(scratch.path()).arg("--mysqld").arg(binaries.daemon);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    // The second server has its tables: clients are about to run.
    let running =
        || fs::read_dir(scratch.path()).ok()?.next()?.ok().map(|entry| entry.path().join("b/data/oltp/sbtest1.ibd"));
    harness::wait_until("a second server", harness::limit(60), || running().is_some_and(|path| path.exists()));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let status = child.wait().expect("it ends");
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(status.code() == Some(1) && stderr.contains("interrupted"), "{status} {stderr}");
    assert_eq!(fs::read_dir(scratch.path()).expect("readable").count(), 0);
}
