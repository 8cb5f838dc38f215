//! `sealant cost`: measures on real servers, resumes after an interruption, compares reports.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use harness::{Kind, Server, require};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::bench::short_directory;
use crate::support::schema::has_its_schema;
use crate::support::sealant;

/// A measurement with little data; `None` without MariaDB.
fn cost(directory: &Path, options: &[&str]) -> Option<Command> {
    let binaries = require(Kind::MariaDb1011)?;
    let mut command = sealant();
    command.args(["cost", "--rows", "100", "--quiet", "--format", "json", "--dir"]).arg(directory);
    if !options.contains(&"--minutes") {
        command.args(["--minutes", "0.4"]);
    }
    command.args(options).arg("--mysqld").arg(binaries.daemon);
    Some(command)
}

fn entries(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).expect("a directory");
    names.map(|entry| entry.expect("an entry").file_name().into_string().expect("ASCII")).collect()
}

/// Ends the measurement as soon as something is there.
fn interrupted_after(child: Child, is_there: &dyn Fn() -> bool) -> Output {
    harness::wait_until("the first part", harness::limit(240), is_there);
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    child.wait_with_output().expect("its output")
}

#[test]
fn an_interrupted_measurement_resumes_and_two_reports_are_compared() {
    let (scratch, results) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(mut command) = cost(scratch.path(), &["--parts", "connections,disk"]) else { return };
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Results of each server and size of data have a directory of their own.
    let saved = |name: &str| {
        let of_server = fs::read_dir(scratch.path().join("sealant-cost")).ok()?.next()?.ok()?.path();
        Some(of_server.join(name)).filter(|path| path.exists())
    };
    let ended = interrupted_after(child, &|| saved("connections.json").is_some());
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("interrupted"), "{stderr}");
    assert_eq!(entries(scratch.path()), ["sealant-cost"], "servers and their data are removed");

    let kept = fs::read(saved("calibration.json").expect("it is kept with the first part")).expect("readable");
    let calibration = serde_json::from_slice::<Value>(&kept).expect("JSON")["calibration"].clone();

    let [html, markdown, raw] = ["cost.html", "cost.md", "raw.jsonl"].map(|name| results.path().join(name));
    let files = ["--html", "--markdown", "--raw"].into_iter().zip([&html, &markdown, &raw]);
    let options: Vec<&str> = files.flat_map(|(option, path)| [option, path.to_str().unwrap()]).collect();
    // The saved part is not measured again, and this one takes no minute alone.
    let options = [&["--parts", "connections"], options.as_slice()].concat();
    let started = Instant::now();
    let output = cost(scratch.path(), &options).unwrap().output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("measured by an earlier run that was interrupted: connections"), "{stderr}");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert_eq!(entries(scratch.path()), [""; 0], "nothing is left to resume");

    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    has_its_schema(&report, "cost-1");
    has_its_schema(&report["parts"][0]["record"], "bench-1");
    assert_eq!(report["calibration"], calibration, "it is measured once for all parts");
    let layers: Vec<&str> =
        report["layers"].as_array().unwrap().iter().map(|layer| layer["layer"].as_str().unwrap()).collect();
    assert_eq!(
        layers,
        [
            "new connections: TLS 1.3, ECDSA",
            "new connections: TLS 1.3, RSA-2048",
            "new connections: TLS 1.3, RSA-4096",
            "new connections: sealant tunnel",
            "queries: TLS 1.3",
            "queries: sealant tunnel",
        ]
    );
    let unmeasured: Vec<&Value> = report["unmeasured"].as_array().unwrap().iter().collect();
    let told = |layer: &str| unmeasured.iter().find(|one| one["layer"] == layer).unwrap_or_else(|| panic!("{layer}"));
    assert_eq!(told("Backups and copies of the data")["reason"], "not among --parts");
    let disk = told("Transactions on an encrypted disk (LUKS)")["command"].as_str().unwrap();
    assert!(disk.starts_with("sealant bench oltp --dir ") && disk.ends_with(" --arms luks"), "{disk}");
    let tls = &report["layers"][0]["seconds"];
    assert!(tls["with"].as_f64() > tls["without"].as_f64(), "a handshake takes time: {tls}");
    assert!(fs::read_to_string(&markdown).unwrap().contains("| new connections: TLS 1.3, ECDSA | "));
    assert!(fs::read_to_string(&html).unwrap().contains("What each layer costs"));
    crate::browser::fits(&html);
    let samples = fs::read_to_string(&raw).unwrap();
    assert!(samples.lines().count() > 6 * 20);
    assert!(samples.lines().skip(1).all(|sample| sample.contains(r#""part":"connections""#)), "{samples}");

    let path = results.path().join("cost.json");
    fs::write(&path, &output.stdout).unwrap();
    let compare = |options: &[&str]| sealant().args(["cost", "compare"]).args([&path, &path]).args(options).output();
    let compared: Value = serde_json::from_slice(&compare(&["--format", "json"]).unwrap().stdout).unwrap();
    has_its_schema(&compared, "cost-compare-1");
    assert_eq!((compared["layers"].as_array().unwrap().len(), &compared["unmatched"]), (6, &Value::from(0)));
    assert!(compared["arms"].as_array().unwrap().iter().all(|arm| arm["shift"] == "not-seen"), "it is the same report");
    let table = String::from_utf8(compare(&[]).unwrap().stdout).unwrap();
    assert!(table.contains("no difference seen") && !table.contains("B is"), "{table}");
}

/// A server of a user, and a client's command on it.
fn of_user(sql: &str) -> Option<Server> {
    require(Kind::MySql97)?;
    let server = Server::builder(Kind::MySql97).start().expect("MySQL");
    server.sql(sql).expect("it answers");
    Some(server)
}

#[test]
fn data_is_made_like_that_of_a_named_server_which_is_only_read() {
    let rows = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 900)";
    let Some(server) = of_user("CREATE DATABASE shop") else { return };
    for (table, length) in [("orders", 2000), ("notes", 10)] {
        server.sql(&format!("CREATE TABLE shop.{table} (id INT PRIMARY KEY, text VARCHAR(3000))")).unwrap();
        let insert = format!("INSERT INTO shop.{table} {rows} SELECT i, REPEAT('x', {length}) FROM n");
        server.sql(&insert).unwrap();
        server.sql(&format!("ANALYZE TABLE shop.{table}")).unwrap();
    }
    server.sql("CREATE USER sizes@localhost; GRANT SHOW VIEW ON *.* TO sizes@localhost").unwrap();
    server.sql("CREATE USER nothing@localhost").unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let socket = server.socket().to_str().expect("ASCII").to_owned();
    let options = ["--minutes", "1", "--parts", "disk", "--socket", &socket, "--user"];
    let Some(mut command) = cost(scratch.path(), &[&options[..], &["sizes"]].concat()) else { return };
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    has_its_schema(&report, "cost-1");
    let (data, like) = (&report["data"], &report["data"]["like"]);
    assert_eq!((&like["tables"], &like["large_tables"]), (&2.into(), &1.into()), "{like}");
    assert_eq!((&data["tables"], &data["rows"]), (&1.into(), &100.into()), "{data}");
    let row_bytes = data["row_bytes"].as_u64().expect("a number");
    assert!((700..2000).contains(&row_bytes), "rows of both tables are about 1100 bytes long on average: {data}");
    assert!(!report.to_string().contains("xxx") && !report.to_string().contains("shop"), "only sizes are read");

    let output = cost(scratch.path(), &[&options[..], &["nothing"]].concat()).unwrap().output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains("sees no rows of InnoDB tables there"), "{stderr}");
}

#[test]
fn backups_and_copies_are_measured_with_and_without_encryption() {
    let scratch = tempfile::tempdir().unwrap();
    let Some(mut command) = cost(scratch.path(), &["--minutes", "1", "--parts", "copies"]) else { return };
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(entries(scratch.path()), [""; 0], "servers, backups and copies are removed");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    has_its_schema(&report, "cost-1");
    let layers = report["layers"].as_array().unwrap();
    assert_eq!(layers[0]["layer"], "backup: encrypted tables");
    let [clear, encrypted] = ["without", "with"].map(|name| layers[0]["data_bytes"][name].as_f64().unwrap());
    assert!(clear > 1e6 && encrypted >= 0.9 * clear, "{}", layers[0]);
    assert!(layers[1]["layer"].as_str().unwrap().starts_with("copy: sealant, not "), "{layers:?}");
    for layer in layers {
        let figure = |of: &Value, name: &str| of[name].as_f64().unwrap_or_else(|| panic!("no {name} in {layer}"));
        assert!(figure(&layer["seconds"], "without") > 0.0 && figure(&layer["seconds"], "with") > 0.0, "{layer}");
        let ratio = &layer["throughput"]["ratio"];
        assert!(figure(ratio, "low") > 0.0 && figure(ratio, "low") <= figure(ratio, "high"), "{layer}");
        assert_ne!(layer["throughput"]["difference"]["kind"], "too-few-rounds", "{layer}");
    }
}

#[test]
fn joins_need_a_provider_and_time_and_end_with_a_signal() {
    let scratch = short_directory();
    let Some(mut command) = cost(scratch.path(), &["--minutes", "0.1", "--parts", "joins"]) else { return };
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    if require(Kind::MariaDb1011).and_then(|binaries| binaries.galera_provider()).is_none() {
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(report["unmeasured"].to_string().contains("the Galera provider is not installed"), "{report}");
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("the time is too short for intervals: with joins it takes at least 2 min"), "{stderr}");

    let mut command = cost(scratch.path(), &["--minutes", "2", "--parts", "joins"]).unwrap();
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let joiner = || {
        let inner = fs::read_dir(scratch.path()).ok()?.next()?.ok()?.path();
        let directories = fs::read_dir(inner).ok()?.flatten();
        directories.map(|one| one.path().join("joiner/error.log")).find(|path| path.exists())
    };
    harness::wait_until("a joiner", harness::limit(240), joiner);
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let ended = child.wait_with_output().expect("its output");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code() == Some(1) && stderr.contains("interrupted"), "{stderr}");
    assert_eq!(entries(scratch.path()), [""; 0], "nothing was completed, and nothing is left");
}

#[test]
#[ignore = "four minutes of load: make soak"]
fn transactions_are_measured_in_all_situations_and_judged_again() {
    let (scratch, results) = (short_directory(), tempfile::tempdir().unwrap());
    let [raw, html, markdown] = ["raw.jsonl", "cost.html", "cost.md"].map(|name| results.path().join(name));
    let files = [("--raw", &raw), ("--html", &html), ("--markdown", &markdown)];
    let files: Vec<&str> = files.iter().flat_map(|(option, path)| [*option, path.to_str().unwrap()]).collect();
    let parts = "in-memory,larger-than-memory,commits";
    let options = [&["--minutes", "4", "--parts", parts], files.as_slice()].concat();
    let Some(mut command) = cost(scratch.path(), &options) else { return };
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(entries(scratch.path()), [""; 0], "servers and their data are removed");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    has_its_schema(&report, "cost-1");
    let layers = report["layers"].as_array().unwrap();
    for part in parts.split(',') {
        let of_part: Vec<&Value> = layers.iter().filter(|layer| layer["part"] == part).collect();
        assert_eq!(of_part.len(), 3, "{part}: {layers:?}");
        assert!(
            of_part.iter().all(|layer| layer["throughput"]["difference"]["kind"] != "too-few-rounds"),
            "{layers:?}"
        );
    }
    let text = fs::read_to_string(&markdown).unwrap();
    let in_rows = ["clear | clear again | tde | tde+logs", "tcp | tls"];
    for arms in in_rows.map(|arms| format!("\n| in the rows of sysbench | {arms} |\n")) {
        assert_eq!(text.matches(&arms).count(), 3, "{arms:?} in {text}");
    }
    crate::browser::fits(&html);
    let judged = sealant().args(["bench", "judge", "--format", "json"]).arg(&raw).output().unwrap();
    let judged: Value = serde_json::from_slice(&judged.stdout).unwrap();
    let names: Vec<&str> =
        judged["experiments"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    assert!(parts.split(',').all(|part| names.iter().any(|name| name.starts_with(part))), "{names:?}");
}

#[test]
#[ignore = "ten joins: make soak"]
fn the_join_of_a_node_is_measured_with_and_without_encryption() {
    let scratch = short_directory();
    let Some(mut command) = cost(scratch.path(), &["--minutes", "2", "--parts", "joins"]) else { return };
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(entries(scratch.path()), [""; 0], "servers and their data are removed");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    has_its_schema(&report, "cost-1");
    let layer = &report["layers"][0];
    assert_eq!(layer["layer"], "join: sealant (TLS 1.3), not rsync");
    let [without, with] = ["without", "with"].map(|name| layer["seconds"][name].as_f64().expect("a number"));
    assert!(without > 0.0 && with > 0.0, "{layer}");
    assert_ne!(layer["throughput"]["difference"]["kind"], "too-few-rounds", "{layer}");
}

#[test]
fn a_signal_ends_connections_at_once() {
    let scratch = tempfile::tempdir().unwrap();
    let options = ["--minutes", "60", "--parts", "connections"];
    let Some(mut command) = cost(scratch.path(), &options) else { return };
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let server = || fs::read_dir(scratch.path()).ok()?.next()?.ok().map(|entry| entry.path().join("server/sql"));
    harness::wait_until("a server", harness::limit(120), || server().is_some_and(|socket| socket.exists()));
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    // Runs of this budget take many seconds each, and there are more than a hundred.
    let ended = child.wait_with_output().expect("its output");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code() == Some(1) && stderr.contains("interrupted"), "{stderr}");
    assert_eq!(entries(scratch.path()), [""; 0], "nothing was completed, and nothing is left");
}

#[test]
fn wrong_requests_end_before_a_server_is_started() {
    let scratch = tempfile::tempdir().unwrap();
    let refused = |mut command: Command, code: i32, message: &str| {
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(message), "{message:?} is not in {stderr}");
        assert_eq!(entries(scratch.path()), [""; 0]);
    };
    let Some(two) = cost(scratch.path(), &["--parts", "in-memory,commits"]) else { return };
    refused(two, 2, "the time is too short for intervals: with commits it takes at least 2 min");
    refused(cost(Path::new("/no/such/directory"), &[]).unwrap(), 1, "/no/such/directory: No such file or directory");
    let server = Server::builder(Kind::MariaDb1011).start().unwrap();
    refused(cost(server.datadir(), &["--parts", "copies"]).unwrap(), 1, "lies in a server's data directory");
    let named_socket = |program: &Path| {
        let mut command = sealant();
        command.args(["cost", "--dir"]).arg(scratch.path()).arg("--mysqld").arg(program);
        command
    };
    refused(named_socket(server.socket()), 1, "is no server program but the socket of a running server");
    refused(cost(server.socket(), &["--parts", "copies"]).unwrap(), 1, "not a directory");
    refused(cost(scratch.path(), &["--parts", "tde"]).unwrap(), 2, "invalid value 'tde'");
    let no_server = |program: &str| {
        let mut command = sealant();
        command.args(["cost", "--dir"]).arg(scratch.path()).args(["--mysqld", program]);
        command
    };
    refused(no_server("/no/such/mysqld"), 1, "/no/such/mysqld: no such program");
    refused(no_server("/bin/true"), 1, "is not a server");
    let mut huge = sealant();
    huge.args(["cost", "--hours", "1000", "--parts", "commits", "--rows", "100000000", "--dir"]).arg(scratch.path());
    huge.arg("--mysqld").arg(require(Kind::MariaDb1011).expect("it is installed").daemon);
    refused(huge, 1, "4 servers at a time take ");
    let other = tempfile::NamedTempFile::new().unwrap();
    fs::write(other.path(), "{\"schema\": \"sealant.bench/1\"}").unwrap();
    let mut compare = sealant();
    compare.args(["cost", "compare"]).args([other.path(), other.path()]);
    refused(compare, 1, "not a report of costs");
}
