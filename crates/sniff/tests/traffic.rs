//! Real servers and clients on loopback: what they say is recognised, and whether others can read it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use harness::{Kind, Server, require};
use sniff::{Outcome, Ports, Protocol, Service, State, Traffic, Verdict, watch};

/// Watches these ports while `traffic` runs; `None` if this process may not.
fn seen(ports: &[u16], traffic: impl FnOnce()) -> Option<Outcome> {
    let (ports, stop) =
        (Ports::new(ports.iter().map(|port| (*port, Service::Other))), Arc::new(AtomicBool::new(false)));
    let (begun, has_begun) = mpsc::channel();
    let watcher = {
        let stop = Arc::clone(&stop);
        thread::spawn(move || {
            watch(&ports, Some("lo"), Duration::from_secs(600), &stop, || begun.send(()).expect("a receiver"))
        })
    };
    if has_begun.recv().is_ok() {
        traffic();
    }
    // The kernel queues packets; the watcher looks at the flag every 100 ms, and reads on as long as there are some.
    thread::sleep(Duration::from_millis(500));
    stop.store(true, Ordering::Relaxed);
    match watcher.join().expect("no panic") {
        Ok(outcome) => Some(outcome),
        Err(sniff::Error::NotPermitted) => {
            harness::skip("packets can be watched by root only");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn over_tcp(server: &Server, options: &[&str], sql: &str) {
    let mut client = server.client();
    client.args(["--protocol=TCP", "--host=127.0.0.1"]).arg(format!("--port={}", server.port())).args(options);
    let output = client.args(["-e", sql]).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The rows of one protocol and state.
fn rows(outcome: &Outcome, protocol: Protocol, state: State) -> Vec<&Traffic> {
    outcome.traffic.iter().filter(|row| row.protocol == protocol && row.state == state).collect()
}

/// No evidence, and nothing else in the outcome, holds these texts, as text or as hexadecimal digits.
fn holds_none_of(outcome: &Outcome, secrets: &[&str]) {
    let text = format!("{outcome:?}");
    for secret in secrets {
        let digits: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(!text.contains(secret) && !text.contains(&digits), "{secret}: {text}");
    }
}

#[test]
fn clients_with_and_without_tls_are_told_apart() {
    for (kind, clear, tls) in [
        (Kind::MySql97, "--ssl-mode=DISABLED", "--ssl-mode=REQUIRED"),
        (Kind::MariaDb118, "--skip-ssl", "--ssl-verify-server-cert=0"),
    ] {
        let Some(_) = require(kind) else { continue };
        let server = Server::builder(kind).start().expect("it starts");
        server.sql("CREATE USER 'wirename'@'%' IDENTIFIED BY 'wireword'").expect("made");
        let account = ["--user=wirename", "--password=wireword"];
        let Some(outcome) = seen(&[server.port()], || {
            over_tcp(&server, &[account[0], account[1], tls], "SELECT 'rowvalue'");
            over_tcp(&server, &[account[0], account[1], tls], "SELECT 'rowvalue'");
            if kind == Kind::MySql97 {
                over_tcp(&server, &["--user=root", clear], "SELECT 'rowvalue'");
            } else {
                over_tcp(&server, &[account[0], account[1], clear], "SELECT 'rowvalue'");
            }
        }) else {
            return;
        };
        assert_eq!(outcome.verdict, Verdict::Clear, "{kind:?}: {outcome:#?}");
        let encrypted = rows(&outcome, Protocol::Mysql, State::Encrypted);
        assert_eq!(encrypted.iter().map(|row| row.connections).sum::<u64>(), 2, "{kind:?}: {outcome:#?}");
        let tls = encrypted[0].tls.as_ref().expect("TLS");
        assert!(tls.version.is_some() && tls.suite.as_ref().is_some_and(|suite| suite.starts_with("TLS_")), "{tls:?}");
        let clear = rows(&outcome, Protocol::Mysql, State::Clear);
        assert_eq!(clear.iter().map(|row| row.connections).sum::<u64>(), 1, "{kind:?}: {outcome:#?}");
        assert!(clear[0].bytes_to_server > 50 && clear[0].bytes_to_client > 100);
        assert_eq!(clear[0].server.port(), server.port());
        holds_none_of(&outcome, &["wirename", "wireword", "rowvalue", "SELECT"]);
    }
}
