//! Typical mistakes: each gives one clear line and the documented exit code, and none panics.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;
use std::thread;
use std::time::Instant;

use harness::{KeyringLocation, Kind, Server, limit, require};

use crate::support::{Audit, run, sealant};

/// Asserts one error line, an optional hint, the exit code, empty stdout and no panic.
#[track_caller]
fn refused(output: &Output, code: i32, word: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    let errors = stderr.lines().filter(|line| line.starts_with("sealant: error: ")).count();
    assert_eq!(errors, 1, "{stderr}");
    assert!(stderr.to_lowercase().contains(&word.to_lowercase()), "{word:?} is not in: {stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    assert!(output.stdout.is_empty());
}

fn url(port: u16) -> String {
    format!("mysql://audit@127.0.0.1:{port}")
}

/// A listener that greets every client with `greeting`, and keeps the connection open.
fn listener(greeting: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        let mut held: Vec<TcpStream> = Vec::new();
        for mut client in listener.incoming().flatten() {
            let _ = client.write_all(greeting);
            held.push(client);
        }
    });
    port
}

#[test]
fn an_unreachable_server_is_an_error() {
    let port = harness::free_port().expect("a port");
    refused(&run(["audit", &url(port)]), 1, "refused");
    refused(&run(["audit", "--socket", "/nonexistent/mysqld.sock", "--user", "audit"]), 1, "/nonexistent/mysqld.sock");
}

#[test]
fn a_server_that_hangs_is_an_error() {
    let begin = Instant::now();
    refused(&run(["audit", "--timeout", "2", &url(listener(b""))]), 1, "127.0.0.1");
    assert!(begin.elapsed() < limit(20), "took {:?}", begin.elapsed());
}

#[test]
fn servers_of_other_protocols_are_recognised() {
    let http = listener(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    refused(&run(["audit", "--timeout", "2", &url(http)]), 1, "HTTP");
    let ssh = listener(b"SSH-2.0-OpenSSH_9.2\r\n");
    refused(&run(["audit", "--timeout", "2", &url(ssh)]), 1, "SSH");
    let garbage = listener(&[0xff; 300]);
    refused(&run(["audit", "--timeout", "2", &url(garbage)]), 1, "");
    let huge = listener(&[0xff, 0xff, 0xff, 0x00, 0x0a]);
    refused(&run(["audit", "--timeout", "2", &url(huge)]), 1, "");
}

#[test]
fn a_postgresql_server_stays_silent_until_spoken_to() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut bytes = [0; 64];
                let _ = client.read(&mut bytes);
            });
        }
    });
    refused(&run(["audit", "--timeout", "2", &url(port)]), 1, "");
}

#[test]
fn a_wrong_password_and_missing_privileges_are_reported() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let server = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).start().expect("starts");
    server.sql("CREATE USER poor@'%' IDENTIFIED BY 'Right-1'").expect("an account");
    let dir = tempfile::tempdir().expect("a directory");
    let (right, wrong) = (dir.path().join("right"), dir.path().join("wrong"));
    fs::write(&right, "Right-1\n").expect("written");
    fs::write(&wrong, "Wrong-secret-1\n").expect("written");
    let url = format!("mysql://poor@127.0.0.1:{}", server.port());

    let ca = server.datadir().join("ca.pem").to_str().expect("ASCII").to_owned();
    let output = run(["audit", &url, "--tls-ca", &ca, "--password-file", wrong.to_str().expect("ASCII")]);
    refused(&output, 1, "denied");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("Wrong-secret-1"));

    let right_file = right.to_str().expect("ASCII");
    let audit = Audit::run([&url, "--tls-ca", &ca, "--password-file", right_file, "--no-files", "--no-host"]);
    audit.unknown("rest-table-plaintext");
    let unknown = audit.findings("rest-table-plaintext");
    let remedy = unknown[0]["remediation"].as_str().expect("what would show it");
    assert!(remedy.contains("PROCESS") || remedy.contains("GRANT"), "{remedy}");
    audit.fails("ev-incomplete", "");
    let complete = sealant()
        .args(["audit", &url, "--no-files", "--no-host", "--fail-on", "never", "--require-complete", "--password-file"])
        .arg(&right)
        .output()
        .expect("runs");
    assert_eq!(complete.status.code(), Some(4), "{}", String::from_utf8_lossy(&complete.stderr));
}

#[test]
fn wrong_usage_exits_with_2() {
    refused(&run(["audit"]), 2, "nothing to audit");
    refused(&run(["audit", "postgres://x@y"]), 2, "mysql://");
    let output = run(["audit", "mysql://audit:very-secret@127.0.0.1"]);
    refused(&output, 2, "password");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("very-secret"));
    assert_eq!(run(["audit", "--fail-on", "sometimes", &url(1)]).status.code(), Some(2));
    assert_eq!(run(["audit", "--format", "yaml", &url(1)]).status.code(), Some(2));
    refused(&run(["checks", "no-such-check"]), 2, "no-such-check");
}

#[test]
fn unreadable_facts_are_errors() {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).expect("written");
        path.to_str().expect("ASCII").to_owned()
    };
    refused(&run(["audit", "--facts", "/nonexistent.json"]), 1, "/nonexistent.json");
    refused(&run(["audit", "--facts", &write("a.json", "{")]), 1, "a.json");
    refused(&run(["audit", "--facts", &write("b.json", "{\"schema\": \"something/1\"}")]), 1, "b.json");
    refused(
        &run(["audit", "--facts", &write("c.json", "{\"schema\": \"sealant.facts/999\"}")]),
        1,
        "sealant.facts/999",
    );
}

#[test]
fn invalid_waivers_are_errors() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("t.ibd"), []).expect("written");
    let audit = |text: &str| {
        let waivers = dir.path().join("waivers.toml");
        fs::write(&waivers, text).expect("written");
        let output = sealant()
            .args(["audit", "--fail-on", "never", "--offline"])
            .arg(dir.path())
            .arg("--waivers")
            .arg(&waivers)
            .output();
        output.expect("runs").status.code()
    };
    let waiver = |check: &str, expires: &str| {
        format!("[[waiver]]\ncheck = \"{check}\"\nreason = \"r\"\napprover = \"a\"\nexpires = \"{expires}\"\n")
    };
    assert_eq!(audit(&waiver("host-disk-unencrypted", "2020-01-01")), Some(5), "expired");
    assert_eq!(audit(&waiver("no-such-check", "2099-01-01")), Some(5), "unknown check");
    assert_eq!(audit("[[waiver]]\ncheck = \"rest-table-plaintext\"\n"), Some(5), "no expiry");
    assert_eq!(audit("not toml ["), Some(5), "malformed");
    assert_eq!(audit(&waiver("host-disk-unencrypted", "2099-01-01")), Some(0), "valid");
}

/// The file with waivers has an exit code of its own.
#[test]
fn a_mistake_in_any_configuration_is_wrong_usage() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("mistake.toml");
    fs::write(&file, "# a comment\nno_such_setting = 1\n").expect("written");
    let file = file.to_str().expect("ASCII");
    let verbs: [&[&str]; 6] = [
        &["audit", "--offline", ".", "--policy", file],
        &["audit", "--fleet", file],
        &["monitor", "--config", file],
        &["backup", "run", "--config", file],
        &["backup", "list", "--config", file],
        &["backup", "prune", "--config", file],
    ];
    for args in verbs {
        refused(&run(args.iter().copied()), 2, "line 2: unknown field `no_such_setting`");
    }
}

#[test]
fn paths_that_are_no_data_directory_are_errors() {
    refused(&run(["audit", "--offline", "/nonexistent"]), 1, "/nonexistent");
    refused(&run(["audit", "--offline", "/etc/hostname"]), 1, "/etc/hostname");
}

#[test]
fn damaged_files_are_unknown_and_never_a_panic() {
    let dir = tempfile::tempdir().expect("a directory");
    let demo = dir.path().join("demo");
    fs::create_dir(&demo).expect("a directory");
    let write = |name: &str, bytes: &[u8]| fs::write(demo.join(name), bytes).expect("written");
    write("empty.ibd", &[]);
    write("short.ibd", &[7; 100]);
    write("zero.ibd", &[0; 16384 * 4]);
    write("garbage.ibd", &(0..65536_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect::<Vec<_>>());
    rustix::fs::mkfifoat(rustix::fs::CWD, demo.join("fifo.ibd"), rustix::fs::Mode::RUSR).expect("a pipe");
    std::os::unix::fs::symlink("/dev/zero", demo.join("endless.ibd")).expect("a link");
    std::os::unix::fs::symlink("..", demo.join("loop")).expect("a link");
    fs::write(Path::new(dir.path()).join("ib_logfile0"), [1; 600]).expect("written");
    fs::write(Path::new(dir.path()).join("binlog.000001"), b"\xfebin").expect("written");

    let audit = Audit::offline(dir.path());
    assert!(!audit.stderr.contains("panicked"), "{}", audit.stderr);
    for name in ["empty.ibd", "short.ibd", "zero.ibd", "garbage.ibd"] {
        let passes: Vec<_> =
            audit.findings("rest-table-plaintext").into_iter().filter(|f| f["status"] == "PASS").collect();
        assert!(passes.is_empty(), "{name}: {passes:?}");
    }
    assert!(
        audit.statuses("rest-table-plaintext").contains(&"UNKNOWN"),
        "{:?}",
        audit.findings("rest-table-plaintext")
    );
}

#[test]
fn results_that_cannot_be_written_are_errors() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("binlog.000001"), b"\xfebin").expect("written");
    let offline = dir.path().to_str().expect("ASCII");
    refused(&run(["audit", "--offline", offline, "--html", "/nonexistent/report.html"]), 2, "/nonexistent/report.html");
    refused(&run(["audit", "--offline", offline, "--fail-on", "never", "--output", "/proc/report"]), 1, "/proc/report");
    for verb in ["encrypt", "rotate"] {
        let keys: &[&str] = if verb == "rotate" { &["--master-key"] } else { &[] };
        let arguments = [[verb, "run", "--dry-run", "--html", "page.html"].as_slice(), keys].concat();
        let output = run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("'--dry-run' cannot be used with '--html <FILE>'"), "{stderr}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("binlog.000001"), b"\xfebin").expect("written");
    let output =
        sealant().args(["audit", "--fail-on", "never", "--output", "/dev/full", "--offline"]).arg(dir.path()).output();
    refused(&output.expect("runs"), 1, "no space left");
}

#[test]
fn a_closed_pipe_ends_the_run_quietly() {
    let mut child = sealant()
        .args(["checks"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ends");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0));
}
