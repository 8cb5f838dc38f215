//! `sealant cost predict` on real servers: under load, idle, encrypted already, without privileges, and ended meanwhile.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::thread;
use std::time::Duration;

use harness::{KeyringLocation, Kind, Server, require};
use serde_json::Value;

use crate::support::schema::has_its_schema;
use crate::support::sealant;

fn predict(server: &Server, user: &str, options: &[&str]) -> Output {
    let mut command = sealant();
    command.args(["cost", "predict", "--quiet", "--user", user, "--socket"]).arg(server.socket()).args(options);
    command.output().expect("the binary starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The document of a prediction, which took `seconds`.
#[track_caller]
fn document(server: &Server, user: &str, seconds: u32, code: i32) -> Value {
    let output = predict(server, user, &["--format", "json", "--for", &format!("{seconds}s")]);
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    let document = serde_json::from_slice(&output.stdout).expect("JSON");
    has_its_schema(&document, "cost-predict-1");
    document
}

fn layer<'d>(document: &'d Value, name: &str) -> &'d Value {
    let layers = document["layers"].as_array().expect("layers");
    layers.iter().find(|layer| layer["layer"] == name).unwrap_or_else(|| panic!("no {name} in {document}"))
}

/// A client that inserts rows until it is dropped.
struct Load(Child);

impl Load {
    fn start(server: &Server) -> Self {
        let mut child = server
            .client()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a client");
        let mut statements = child.stdin.take().expect("its input");
        thread::spawn(move || {
            let insert = format!("INSERT INTO shop.t (b) VALUES ('{}');\n", "x".repeat(500));
            while statements.write_all(insert.as_bytes()).is_ok() {}
        });
        Self(child)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const TABLE: &str = "CREATE DATABASE shop; CREATE TABLE shop.t (a INT AUTO_INCREMENT PRIMARY KEY, b TEXT)";
const READER: &str = "CREATE USER reader@localhost IDENTIFIED BY ''";

#[test]
fn mysql_under_load_is_predicted_and_what_it_pays_already_is_told() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let mut server = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).start().unwrap();
    server.sql(TABLE).unwrap();
    let idle = predict(&server, "root", &["--for", "1s"]);
    assert_eq!(idle.status.code(), Some(0), "{}", stderr(&idle));
    assert!(stderr(&idle).contains("the server was idle"), "{}", stderr(&idle));

    // The event scheduler is a running session of the server itself.
    assert_eq!(server.value("SELECT @@event_scheduler").unwrap(), "ON");
    assert_eq!(document(&server, "root", 1, 0)["activity"]["running_sessions"], 0.0);

    let load = Load::start(&server);
    let found = document(&server, "root", 2, 0);
    assert_eq!(found["idle"], false);
    let activity = |name: &str| found["activity"][name].as_f64().unwrap_or_else(|| panic!("{name} in {found}"));
    assert!(activity("statements") > 20.0 && activity("redo_bytes") > 500.0 * activity("statements"), "{found}");
    assert!(activity("binlog_bytes") > 500.0 * activity("statements"), "{found}");
    assert!(activity("server_processors") > 0.0 && activity("busy_processors") > 0.0);
    for name in ["tables", "redo log", "binary logs"] {
        let (layer, effect) = (layer(&found, name), &layer(&found, name)["effect"]);
        assert_eq!(layer["state"], "clear", "{name}");
        let loss = &effect["throughput_loss_percent"];
        let [low, high] = ["low", "high"].map(|limit| loss[limit].as_f64().unwrap());
        assert!((0.0..100.0).contains(&low) && low <= high && high < 100.0, "{name}: {loss}");
    }
    let (redo, all) = (&layer(&found, "redo log")["effect"]["processors"], &found["everything"]["processors"]);
    assert!(redo["low"].as_f64() > Some(0.0) && all["high"].as_f64() > redo["high"].as_f64(), "{redo} {all}");
    // The only other client uses the socket.
    assert_eq!(found["protection"]["sessions"]["local"], 1);
    assert_eq!(layer(&found, "connections")["state"], "absent");

    server.sql("ALTER TABLE shop.t ENCRYPTION='Y'; SET GLOBAL innodb_redo_log_encrypt = ON").unwrap();
    let table = predict(&server, "root", &["--for", "1s"]);
    let text = String::from_utf8_lossy(&table.stdout).into_owned();
    for wanted in ["tables       encrypted already; it pays now", "redo log     encrypted already", "MiB of redo log: "]
    {
        assert!(text.contains(wanted), "{wanted:?} is not in\n{text}");
    }

    server.sql(READER).unwrap();
    let blind = predict(&server, "reader", &["--for", "1s"]);
    assert_eq!(blind.status.code(), Some(4), "{}", stderr(&blind));
    for grant in ["PROCESS ON *.*", "REPLICATION CLIENT ON *.*", "SELECT ON performance_schema.*"] {
        let wanted = format!("GRANT {grant} TO 'reader'@'localhost'");
        assert!(stderr(&blind).contains(&wanted), "{wanted} is not in {}", stderr(&blind));
    }
    drop(load);

    let ended = thread::scope(|scope| {
        let socket = server.socket().to_owned();
        let running = scope.spawn(move || {
            let mut command = sealant();
            command.args(["cost", "predict", "--user", "root", "--for", "60s", "--socket"]).arg(socket);
            command.output().expect("the binary starts")
        });
        harness::wait_until("the prediction is connected", harness::limit(30), || {
            server
                .value("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'root'")
                .is_ok_and(|n| n != "1")
        });
        thread::sleep(Duration::from_secs(1));
        server.kill();
        running.join().expect("it ends")
    });
    assert_eq!(ended.status.code(), Some(1), "{}", stderr(&ended));
    assert!(stderr(&ended).contains("connection lost"), "{}", stderr(&ended));
}

#[test]
fn mariadb_under_load_is_predicted() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let server = Server::builder(Kind::MariaDb1011).option("--log-bin=binlog");
    let server = server.option("--event-scheduler=ON").start().unwrap();
    server.sql(TABLE).unwrap();
    let _load = Load::start(&server);
    let found = document(&server, "root", 2, 0);
    let activity = |name: &str| found["activity"][name].as_f64().unwrap_or_else(|| panic!("{name} in {found}"));
    assert!(activity("statements") > 20.0 && activity("redo_bytes") > 500.0 * activity("statements"), "{found}");
    assert!(activity("binlog_bytes") > 500.0 * activity("statements"), "{found}");
    assert_eq!(found["protection"]["undo"], "absent", "it is encrypted with the tables");
    for name in ["tables", "redo log", "binary logs"] {
        assert_eq!(layer(&found, name)["state"], "clear", "{name}");
    }
    // Without performance_schema, MariaDB does not list connections.
    assert_eq!(layer(&found, "connections")["state"], "unknown");

    // MariaDB refuses nothing if it does not list the event scheduler.
    server.sql(READER).unwrap();
    let blind = document(&server, "reader", 1, 4)["unseen"].to_string();
    assert!(blind.contains("which running sessions are the server's own"), "{blind}");
}

/// A calibration of this machine's processor, with one other value.
fn report(cpu: &str, record_seconds: f64) -> Value {
    let aes = serde_json::json!({"page_decrypt": 1e-9, "page_encrypt": 1e-9, "block_encrypt": 1e-9, "stream": 1e-9});
    serde_json::json!({
        "schema": "sealant.cost/1", "server": "s", "layers": [], "advice": [], "parts": [],
        "environment": {
            "time": "2026-01-01T00:00:00Z", "version": "1", "compiler": "c", "optimised": true, "cpu": cpu,
            "cpu_flags": [], "cores": 1, "virtual_machine": false, "emulated": false, "memory_bytes": null,
            "kernel": null, "file_system": null, "load": null
        },
        "calibration": {
            "aes128": aes, "aes256": aes, "record_seconds": record_seconds, "record_byte_seconds": 1e-9,
            "handshakes": [{"key": "k", "server": 1e-4, "both": 2e-4}]
        }
    })
}

#[test]
fn counters_that_are_reset_and_foreign_calibrations_are_noticed() {
    // Older versions cannot set these counters to zero.
    if require(Kind::MariaDb118).is_none() {
        return;
    }
    let server = Server::builder(Kind::MariaDb118).start().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let calibrated = |report: Value| {
        fs::write(file.path(), report.to_string()).unwrap();
        predict(&server, "root", &["--for", "1s", "--calibration", file.path().to_str().unwrap()])
    };
    let refused = |output: &Output, message: &str| {
        assert_eq!(output.status.code(), Some(1), "{}", stderr(output));
        assert!(stderr(output).contains(message), "{message:?} is not in {}", stderr(output));
    };
    refused(&calibrated(report("Another 9000", 1e-6)), "was measured on another machine (Another 9000)");
    refused(&calibrated(report("Another 9000", -1e-6)), "record_seconds is -0.000001");

    let reset = thread::scope(|scope| {
        let running = scope.spawn(|| predict(&server, "root", &["--for", "5s"]));
        // What sessions that have ended did is forgotten; those that are open keep their own counters.
        while !running.is_finished() {
            server.sql(&"SELECT 1;".repeat(50)).unwrap();
            thread::sleep(Duration::from_millis(400));
            server.sql("FLUSH GLOBAL STATUS").unwrap();
        }
        running.join().expect("it ends")
    });
    refused(&reset, "its counters were set to zero meanwhile");
}

#[test]
fn wrong_requests_to_predict_are_refused() {
    let refused = |options: &[&str], code: i32, message: &str| {
        let output = sealant().args(["cost", "predict"]).args(options).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).contains(message), "{message:?} is not in {}", stderr(&output));
    };
    refused(&["--socket", "/no/such/socket", "--for", "0s"], 2, "whole seconds from 1s");
    refused(&["--socket", "/no/such/socket", "--user", "root"], 1, "/no/such/socket: no such socket");
    let other = tempfile::NamedTempFile::new().unwrap();
    fs::write(other.path(), "{}").unwrap();
    let named = |path: &Path| path.to_str().unwrap().to_owned();
    let options = ["--socket", "/no/such/socket", "--calibration", &named(other.path())];
    refused(&options, 1, "not a report of costs");
}
