//! `sealant sniff`: its reports, exit codes and errors.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use harness::{Kind, Server, require};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::namespace::Namespace;
use crate::support::schema::has_its_schema;
use crate::support::tunnel::{Setup, free_port};
use crate::support::{Audit, run, sealant};

/// A pcap file of raw IP packets, each from a port to a port with a sequence number and a payload.
fn capture(path: &Path, segments: &[(u16, u16, u32, &[u8])]) {
    capture_to([10, 0, 0, 2], path, segments);
}

fn capture_to(address: [u8; 4], path: &Path, segments: &[(u16, u16, u32, &[u8])]) {
    let mut file: Vec<u8> = Vec::new();
    [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 101_u32].iter().for_each(|word| file.extend(word.to_le_bytes()));
    for (from, to, sequence, payload) in segments {
        let length = u16::try_from(40 + payload.len()).expect("short");
        let mut packet = [&[0x45, 0][..], &length.to_be_bytes(), &[0, 0, 0x40, 0, 64, 6, 0, 0]].concat();
        packet.extend([[10, 0, 0, 1], address].concat());
        packet.extend([&from.to_be_bytes()[..], &to.to_be_bytes(), &sequence.to_be_bytes()].concat());
        packet.extend([&[0; 4][..], &[0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0], payload].concat());
        [1_700_000_000, 0, u32::from(length), u32::from(length)]
            .iter()
            .for_each(|word| file.extend(word.to_le_bytes()));
        file.extend(packet);
    }
    fs::write(path, file).expect("written");
}

const QUERY: &[u8] = b"\x0c\0\0\0\x03SELECT name";
const ENCRYPTED: &[u8] = b"\x17\x03\x03\0\x14aaaaaaaaaaaaaaaaaaaa";
const ODD: &[u8] = b"an odd protocol";

#[test]
fn a_file_is_judged_by_the_worst_that_it_holds() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("capture.pcap");
    let file = path.to_str().expect("text");
    let (clear, encrypted, odd) = ((40001, 3306, 1, QUERY), (40002, 3306, 1, ENCRYPTED), (40003, 3306, 1, ODD));
    for (segments, verdict, code) in [
        (vec![clear, encrypted, odd], "clear", 3),
        (vec![encrypted, odd], "unknown", 4),
        (vec![encrypted], "encrypted", 0),
        (vec![], "nothing", 4),
    ] {
        capture(&path, &segments);
        let output = run(["sniff", "--pcap", file, "--format", "json"]);
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        has_its_schema(&report, "sniff-1");
        assert_eq!((report["verdict"].as_str(), output.status.code()), (Some(verdict), Some(code)), "{report:#}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("SELECT"));
        let never = run(["sniff", "--pcap", file, "--fail-on", "never"]);
        assert_eq!(never.status.code(), Some(0));
    }
    capture(&path, &[encrypted, odd]);
    assert_eq!(run(["sniff", "--pcap", file, "--fail-on", "unknown"]).status.code(), Some(3));
    assert_eq!(run(["sniff", "--pcap", file, "--port", "3307"]).status.code(), Some(4));
    for (path, code, says) in [
        (file, 4, "capture.pcap: 0 packets\nsealant: warning: "),
        (directory.path().to_str().expect("text"), 1, ": is a directory\n"),
    ] {
        // The header of the file, and the beginning of the first packet's.
        fs::write(file, &fs::read(file).expect("a capture")[..30]).expect("written");
        let output = run(["sniff", "--pcap", path]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && said.to_lowercase().contains(says), "{said}");
    }
}

#[test]
fn the_table_shows_headers_and_no_content() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("capture.pcap");
    capture(&path, &[(40001, 3306, 1, QUERY)]);
    let output = run(["sniff", "--pcap", path.to_str().expect("text")]);
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("○ clear") && table.contains("to the server at byte 0: 0c00000003  COM_QUERY"), "{table}");
    assert!(table.contains("CLEAR: 1 connection in clear"), "{table}");
    assert!(!table.contains("53454c454354"), "{table}");
}

/// Watches a port of loopback while `traffic` runs, and ends that by a signal. The report, and the exit code; `None` if
/// this user may not.
fn watched(port: u16, traffic: impl FnOnce()) -> Option<(Value, Option<i32>)> {
    watched_at("lo", &[port], traffic)
}

/// Like [`watched`], with ports of any interface.
pub(crate) fn watched_at(interface: &str, ports: &[u16], traffic: impl FnOnce()) -> Option<(Value, Option<i32>)> {
    if !rustix::process::geteuid().is_root() {
        harness::skip("packets can be watched by root only");
        return None;
    }
    let mut command = sealant();
    command.args(["sniff", "--for", "10m", "--interface", interface, "--format", "json"]);
    for port in ports {
        command.args(["--port", &port.to_string()]);
    }
    let mut watching = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(watching.stderr.take().expect("a pipe"));
    let mut line = String::new();
    lines.read_line(&mut line).expect("a line");
    assert!(line.contains("watching for 600 s"), "{line}");
    traffic();
    // A server may still send after its client has ended. What the kernel has queued at the signal is read all the same.
    thread::sleep(Duration::from_millis(500));
    kill_process(Pid::from_child(&watching), Signal::INT).expect("it runs");
    let mut report = String::new();
    watching.stdout.take().expect("a pipe").read_to_string(&mut report).expect("text");
    let code = watching.wait().expect("it ends").code();
    let report: Value = serde_json::from_str(&report).expect("JSON");
    has_its_schema(&report, "sniff-1");
    Some((report, code))
}

#[test]
fn a_signal_ends_it_with_what_was_seen() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = Server::builder(Kind::MySql97).start().expect("it starts");
    let port = server.port().to_string();
    for (mode, code) in [("REQUIRED", 0), ("DISABLED", 3)] {
        let mut client = server.client();
        client.args([
            "--protocol=TCP",
            "--host=127.0.0.1",
            "--port",
            &port,
            &format!("--ssl-mode={mode}"),
            "-e",
            "DO 1",
        ]);
        let traffic = || assert!(client.status().expect("it starts").success());
        let Some((report, ended)) = watched(server.port(), traffic) else { return };
        assert_eq!(ended, Some(code), "{mode}: {report:#}");
        assert_eq!(report["connections"]["clear"], u64::from(code == 3), "{report:#}");
    }
}

#[test]
fn the_x_protocol_is_followed_to_its_handshake() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = Server::builder(Kind::MySql97).start().expect("it starts");
    let x_port = server.x_port().expect("an X plug-in");
    let Some((report, _)) = watched(x_port, || drop(Audit::live(&server))) else { return };
    let rows = report["traffic"].as_array().expect("rows");
    let encrypted = rows.iter().find(|row| row["protocol"] == "x_protocol" && row["state"] == "encrypted");
    let row = encrypted.unwrap_or_else(|| panic!("{report:#}"));
    assert!(row["tls"]["version"].is_string() && row["tls"]["suite"].is_string(), "{row:#}");
    assert_eq!(report["connections"]["clear"], 0, "{report:#}");
}

#[test]
fn a_tunnel_is_seen_as_tls_13() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = Server::builder(Kind::MySql97).start().expect("it starts");
    let (setup, port) = (Setup::new(), free_port());
    let _far = setup.far(&server, port, &["--allow", "app"]);
    let watched = watched(port, || {
        let near = setup.near(&[port], &[]);
        assert_eq!(near.value(&server, "SELECT 'through'"), "through");
    });
    let Some((report, code)) = watched else { return };
    assert_eq!((report["verdict"].as_str(), code), (Some("encrypted"), Some(0)), "{report:#}");
    let rows = report["traffic"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row["protocol"] == "tls" && row["tls"]["version"] == "TLSv1.3"), "{report:#}");
}

#[test]
fn without_the_capability_the_error_says_what_to_do() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let program = sealant().get_program().to_owned();
    let output = Command::new("setpriv")
        .args(["--bounding-set", "-net_raw", "--inh-caps", "-net_raw"])
        .arg(program)
        .args(["sniff", "--for", "1s"])
        .output()
        .expect("setpriv");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("CAP_NET_RAW") && stderr.contains("hint: ") && stderr.contains("--pcap"), "{stderr}");
    let nowhere = run(["sniff", "--interface", "nowhere0", "--for", "1s"]);
    assert_eq!(nowhere.status.code(), Some(2));
}

/// Audits the packets of a server, and meanwhile calls `traffic` again and again.
pub(crate) fn audited_with(server: &Server, namespace: &Namespace, mut traffic: impl FnMut() + Send) -> Audit {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                traffic();
                thread::sleep(Duration::from_millis(100));
            }
        });
        let more = ["--sniff", "2s", "--interface", &namespace.interface(), "--check", "wire-plaintext"];
        let socket = server.socket().to_str().expect("a short path");
        let fixed = ["--socket", socket, "--user", "root", "--no-files", "--no-host", "--no-wire"];
        let audit = Audit::run(fixed.iter().chain(&more));
        over.store(true, Ordering::Relaxed);
        audit
    })
}

/// Runs a client in a namespace again and again until the audit has ended.
fn audited_while(server: &Server, namespace: &Namespace, client: Option<&[&str]>) -> Audit {
    let mut program = client.map(|options| {
        let (address, port) = (namespace.address().to_string(), server.port().to_string());
        let mut command = Command::new(server.client().get_program());
        command.args([
            "--no-defaults",
            "--user=app",
            "--password=p",
            "--protocol=TCP",
            "--host",
            &address,
            "--port",
            &port,
        ]);
        command.args(options).args(["-e", "SELECT 'a row'"]).env("MYSQL_TEST_LOGIN_FILE", "/dev/null");
        namespace.inside(&command)
    });
    audited_with(server, namespace, || {
        let Some(program) = &mut program else { return };
        let output = program.output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    })
}

#[test]
fn an_audit_judges_the_packets_of_its_server() {
    let (Some(_), Some(namespace)) = (require(Kind::MySql97), Namespace::new()) else { return };
    let server = Server::builder(Kind::MySql97).option("--bind-address=*").start().expect("it starts");
    let client = namespace.address_there();
    server.sql(&format!("CREATE USER app@'{client}' IDENTIFIED BY 'p'")).expect("an account");

    let audit = audited_while(&server, &namespace, Some(&["--ssl-mode=DISABLED", "--get-server-public-key"]));
    let found = audit.findings("wire-plaintext");
    let [finding] = &found[..] else { panic!("{found:#?} {}", audit.stderr) };
    let artefact = format!("MySQL from {} to {}:{}", namespace.address_there(), namespace.address(), server.port());
    assert_eq!((audit.code, &finding["status"], &finding["grade"]), (3, &"FAIL".into(), &"wire".into()), "{finding:#}");
    assert_eq!((&finding["artefact"], &finding["severity"]), (&artefact.into(), &"high".into()), "{finding:#}");
    let evidence = finding["evidence"].to_string();
    assert!(evidence.contains("to the server at byte 0: ") && !audit.json.to_string().contains("a row"), "{evidence}");

    let audit = audited_while(&server, &namespace, Some(&["--ssl-mode=REQUIRED"]));
    assert_eq!((audit.code, audit.statuses("wire-plaintext")), (0, vec!["PASS"]), "{:#}", audit.json);
    assert!(audit.findings("wire-plaintext")[0]["evidence"].to_string().contains("TLS 1.3"), "{:#}", audit.json);

    let audit = audited_while(&server, &namespace, None);
    assert_eq!(audit.statuses("wire-plaintext"), ["UNKNOWN"], "{:#}", audit.json);
}

/// An address of this host by which others reach it.
fn own_address() -> Option<[u8; 4]> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("198.51.100.1:9").ok()?;
    match socket.local_addr().ok()?.ip() {
        IpAddr::V4(address) if !address.is_loopback() => Some(address.octets()),
        _ => None,
    }
}

/// Audits with packets of 2023 that were captured on the way to this server.
fn a_capture_is_judged(server: &Server) {
    let path = server.dir().join("capture.pcap");
    let audit = |address: [u8; 4]| {
        capture_to(address, &path, &[(40001, server.port(), 1, QUERY), (40002, server.port() - 1, 1, QUERY)]);
        Audit::live_with(server, &["--no-files", "--no-host", "--pcap", path.to_str().expect("a short path")])
    };
    // Every host has this address.
    assert_eq!(audit([127, 0, 0, 1]).statuses("wire-plaintext"), ["UNKNOWN"]);
    let Some(own) = own_address() else { return harness::skip("this host has no address but loopback") };
    let audit = audit(own);
    let found = audit.findings("wire-plaintext");
    let [finding] = &found[..] else { panic!("{found:#?} {}", audit.stderr) };
    let message = finding["message"].as_str().expect("a message");
    assert_eq!((&finding["status"], &finding["grade"]), (&"FAIL".into(), &"wire".into()), "{finding:#}");
    let when = "captured from 2023-11-14T22:13:20Z to 2023-11-14T22:13:20Z, not now";
    assert!(message.contains(when), "{message}");
    let switch = audit.failure("tls-not-required", "")["message"].to_string();
    assert!(switch.contains(when) && switch.ends_with(": 1 in clear\""), "{switch}");
}

#[test]
fn an_audit_judges_a_capture_and_says_why_it_cannot() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = Server::builder(Kind::MySql97).options(["--bind-address=0.0.0.0"]).start().expect("it starts");
    let socket = server.socket().to_str().expect("a short path");
    let fixed = ["audit", "--socket", socket, "--user", "root", "--no-files", "--no-host", "--no-wire"];
    let option_file = server.option_file();
    let no_capture = option_file.to_str().expect("a short path");
    for (more, code, says) in [
        (vec!["--sniff", "1s", "--interface", "nosuch0"], 2, "there is no such network interface"),
        (vec!["--sniff", "0s"], 2, "--sniff"),
        (vec!["--interface", "lo"], 2, "--sniff"),
        (vec!["--pcap", "c.pcap", "--sniff", "1s"], 2, "cannot be used with"),
        (vec!["--pcap", "/nonexistent.pcap"], 1, "/nonexistent.pcap: "),
        (vec!["--pcap", no_capture], 1, "is neither a pcap nor a pcapng file"),
    ] {
        let output = run(fixed.iter().chain(&more));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && said.contains(says), "{more:?}: {said}");
        assert_eq!((said.matches("error:").count(), output.stdout.is_empty()), (1, true), "{said}");
    }
    a_capture_is_judged(&server);
}
