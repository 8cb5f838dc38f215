//! `sealant tunnel far --server-tls-ca`: servers are reached over TLS of their own, or not at all.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;

use harness::certs::{Authority, Profile};
use harness::{Kind, Replication, Server, limit, require};

use crate::support::rotation::end;
use crate::support::tunnel::{End, Near, Setup, driver, eventually, free_port};

const KINDS: [Kind; 2] = [Kind::MySql97, Kind::MariaDb1011];

/// A server that serves this certificate of the setup and refuses plaintext connections.
fn server(kind: Kind, setup: &Setup, certificate: &str, options: &[&str]) -> Server {
    let file = |option: &str, name: &str| format!("--{option}={}", setup.path(name).display());
    let tls = [
        file("ssl-ca", "ca.pem"),
        file("ssl-cert", &format!("{certificate}.pem")),
        file("ssl-key", &format!("{certificate}.key")),
    ];
    let builder = Server::builder(kind).options(tls).option("--require-secure-transport=ON");
    builder.options(options.iter().copied()).start().expect("it starts")
}

/// A tunnel to a port, over TLS verified with the setup's `ca.pem`.
fn tunnel(setup: &Setup, port: u16, far: &[&str], near: &[&str]) -> (End, Near) {
    let (ca, far_port) = (setup.path("ca.pem"), free_port());
    let trusted = ["--server-tls-ca", ca.to_str().expect("ASCII")];
    let far = setup.far_of(&format!("localhost:{port}"), far_port, &[&trusted, far].concat());
    let near = setup.near(&[far_port], near);
    (far, near)
}

#[track_caller]
fn succeeds(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn clients_reach_a_server_that_requires_tls() {
    for kind in KINDS {
        let Some(_) = require(kind) else { continue };
        let setup = Setup::new();
        for (versions, expected) in [("TLSv1.2,TLSv1.3", "TLSv1.3"), ("TLSv1.2", "TLSv1.2")] {
            let options =
                [&format!("--tls-version={versions}"), "--local-infile=1", "--log-bin", "--max-allowed-packet=256M"];
            let server = server(kind, &setup, "far", &options);
            let (far, near) = tunnel(&setup, server.port(), &[], &[]);
            assert!(!far.log().contains("warning"), "{}", far.log());
            assert_eq!(near.value(&server, "SHOW STATUS LIKE 'Ssl_version'"), format!("Ssl_version\t{expected}"));
            accounts(kind, &server, &near);
            // What follows a handshake does not depend on its version.
            if expected == "TLSv1.3" {
                large(&setup, &server, &near);
                drivers(kind, &setup, &server, &near);
            }
            // MariaDB also resumes, but does not count it.
            if !kind.is_mariadb() {
                resumed(&server, &near);
            }
        }
    }
}

/// Logs in with a password that the server has not cached, so that `caching_sha2_password` requests all of it; with a
/// cached one; with a wrong one; and as another account in the same session.
fn accounts(kind: Kind, server: &Server, near: &Near) {
    let how = if kind.is_mariadb() { "BY" } else { "WITH caching_sha2_password BY" };
    for user in ["one", "two"] {
        let sql = format!("CREATE USER {user} IDENTIFIED {how} 'Pass-{user}'; GRANT ALL ON *.* TO {user}");
        server.sql(&sql).expect("made");
    }
    for _ in 0..2 {
        let said = succeeds(near.client(server, "one", "Pass-one").args(["-e", "SELECT CURRENT_USER(), 7"]));
        assert_eq!(said, "one@%\t7\n");
    }
    let wrong = near.client(server, "one", "wrong").args(["-e", "SELECT 1"]).output().expect("it starts");
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("ERROR 1045"), "{wrong:?}");
}

/// More data than a packet of the protocol, in both directions, with and without compression.
fn large(setup: &Setup, server: &Server, near: &Near) {
    let file = setup.path("large.sql");
    fs::write(&file, format!("SELECT SHA2('{}', 256), REPEAT('y', 17 << 20);", "x".repeat(17 << 20))).expect("written");
    let expected = server.value("SELECT SHA2(REPEAT('x', 17 << 20), 256)").expect("a value");
    for compress in [None, Some("--compress")] {
        let mut client = near.client(server, "root", "");
        client.arg("--max-allowed-packet=256M").args(compress).stdin(fs::File::open(&file).expect("a file"));
        let answer = succeeds(&mut client);
        let (digest, body) = answer.trim_end().split_once('\t').expect("two values");
        assert_eq!(digest, expected);
        assert!(body.len() == 17 << 20 && body.bytes().all(|byte| byte == b'y'), "{compress:?}");
    }
    let mut client = near.client(server, "root", "");
    let answer = harness::run(&mut client, b"SELECT SLEEP(0.3), 7", limit(20)).expect("answered");
    assert_eq!(answer.stdout, b"0\t7\n", "a client that ends its own side first still gets its answer");
}

/// Asserts that later handshakes are resumed.
fn resumed(server: &Server, near: &Near) {
    let reused = || near.value(server, "SHOW STATUS LIKE 'Ssl_sessions_reused'") == "Ssl_sessions_reused\t1";
    let count = (0..10).filter(|_| reused()).count();
    assert!(count >= 8, "{count} of 10");
}

fn drivers(kind: Kind, setup: &Setup, server: &Server, near: &Near) {
    let file = setup.path("lines");
    fs::write(&file, "a\n".repeat(5000)).expect("written");
    let file = file.to_str().expect("ASCII");
    for (name, more) in [("python", vec![]), ("node", vec!["two", "Pass-two"]), ("go", vec![file])] {
        let Some(mut program) = driver(name) else { continue };
        server.sql("DROP DATABASE IF EXISTS smoke").expect("gone");
        program.arg(&near.socket).args(["one", "Pass-one"]).args(more);
        assert_eq!(succeeds(&mut program), "ok\n", "{name} on {kind:?}");
    }
}

#[test]
fn a_replica_follows_through_the_tunnel() {
    for kind in KINDS {
        let Some(_) = require(kind) else { continue };
        let setup = Setup::new();
        let source = Server::builder(kind).options(["--log-bin", "--server-id=1"]);
        let file = |option: &str, name: &str| format!("--{option}={}", setup.path(name).display());
        let source = source.options([file("ssl-cert", "far.pem"), file("ssl-key", "far.key")]);
        let source = source.option(file("ssl-ca", "ca.pem")).start().expect("it starts");
        let mut replica = Server::builder(kind).option("--server-id=2").start().expect("it starts");
        replica.replicate_from(&source, &Replication::default()).expect("it follows");
        let (_far, near) = tunnel(&setup, source.port(), &[], &[]);
        let sql = if kind.is_mariadb() {
            format!("STOP SLAVE; CHANGE MASTER TO MASTER_PORT={}; START SLAVE", near.port)
        } else {
            format!("STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_PORT={}; START REPLICA", near.port)
        };
        replica.sql(&sql).expect("changed");
        source.sql("CREATE DATABASE followed; CREATE TABLE followed.t SELECT 7 AS a").expect("written");
        replica.catch_up_with(&source).expect("it follows");
        assert_eq!(replica.value("SELECT a FROM followed.t").expect("a value"), "7");
        assert_eq!(near.counted("sessions"), 1, "the binary log comes through it");
    }
}

#[test]
fn certificates_of_servers_are_judged() {
    let Some(_) = require(Kind::MySql97) else { return };
    let setup = Setup::new();
    let foreign = Authority::create(&setup.path("openssl")).expect("an authority");
    for (name, profile) in
        [("foreign", Profile::default()), ("expired", Profile { expired: true, ..Profile::default() })]
    {
        let issued = foreign.issue(name, &profile).expect("issued");
        fs::copy(&issued.cert, setup.path(&format!("{name}.pem"))).expect("copied");
        fs::copy(&issued.key, setup.path(&format!("{name}.key"))).expect("copied");
    }
    let openssl = foreign.certificate();
    let openssl = openssl.to_str().expect("ASCII");
    setup.cert(&["issue", "--dir", setup.dir(), "--name", "nameless", "--san", "db.example"]);
    let server = server(Kind::MySql97, &setup, "nameless", &[]);
    let refused = |server: &Server, far: &[&str], reason: &str| {
        let (far, near) = tunnel(&setup, server.port(), far, &[]);
        assert!(far.log().contains("warning") && far.log().contains(reason), "{}", far.log());
        let (fine, said) = near.said(server, "SELECT 1");
        assert!(!fine && said.contains("ERROR 1158") && said.contains(reason), "{said}");
        let lines = far.log().lines().filter(|line| line.contains(reason)).count();
        assert!(lines >= 2, "the operator reads it, too: {}", far.log());
    };
    let fine = |server: &Server, far: &[&str]| {
        let (_far, near) = tunnel(&setup, server.port(), far, &[]);
        assert_eq!(near.value(server, "SELECT 1"), "1");
    };
    refused(&server, &[], "localhost");
    fine(&server, &["--server-tls-name", "db.example"]);
    fine(&server, &["--server-tls-any-name"]);
    let untrusting = |server: &Server| {
        let (at, port) = (format!("localhost:{}", server.port()), free_port());
        let far = setup.far_of(&at, port, &["--server-tls-ca", openssl, "--server-tls-any-name"]);
        assert!(far.log().contains("not trusted"), "{}", far.log());
        let (fine, said) = setup.near(&[port], &[]).said(server, "SELECT 1");
        assert!(!fine && said.contains("not trusted"), "{said}");
    };
    untrusting(&server);
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let server = self::server(Kind::MariaDb1011, &setup, "expired", &["--server-id=6"]);
    let far_port = free_port();
    let at = format!("localhost:{}", server.port());
    let far = setup.far_of(&at, far_port, &["--server-tls-ca", openssl]);
    assert!(far.log().contains("expired"), "{}", far.log());
    // After the server gets a valid certificate, the tunnel needs no action.
    let near = setup.near(&[far_port], &[]);
    let (fine, said) = near.said(&server, "SELECT 1");
    assert!(!fine && said.contains("expired"), "{said}");
    for kind in ["pem", "key"] {
        fs::copy(setup.path(&format!("foreign.{kind}")), setup.path(&format!("expired.{kind}"))).expect("copied");
    }
    // Near ends that have another far end use that one meanwhile.
    let good = self::server(Kind::MariaDb1011, &setup, "far", &["--server-id=7"]);
    let next_port = free_port();
    let _next = setup.far(&good, next_port, &[]);
    let both = setup.near(&[far_port, next_port], &["--health-interval", "1s"]);
    assert_eq!(both.value(&server, "SELECT @@server_id"), "7", "{}", far.log());
    server.sql("FLUSH SSL").expect("reloaded");
    assert!(eventually(|| near.said(&server, "SELECT 1").0), "{}", far.log());
    assert!(eventually(|| both.value(&server, "SELECT @@server_id") == "6"), "{}", both.end.log());
}

#[test]
fn nothing_is_sent_to_a_server_in_clear_text() {
    for kind in KINDS {
        let Some(_) = require(kind) else { continue };
        let setup = Setup::new();
        let without = if kind.is_mariadb() { "--skip-ssl" } else { "--tls-version=" };
        let server = Server::builder(kind).option(without).start().expect("it starts");
        let (far, near) = tunnel(&setup, server.port(), &[], &[]);
        assert!(far.log().contains("offers no TLS"), "{}", far.log());
        let (fine, said) = near.said(&server, "SELECT 1");
        assert!(!fine && said.contains("offers no TLS"), "{said}");
    }
    // A server that offers TLS and then continues in clear.
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let setup = Setup::new();
    let real = server(Kind::MariaDb1011, &setup, "far", &[]);
    let (listener, port) = impostor(real.port());
    let (_far, near) = tunnel(&setup, port, &[], &["--warm-max", "0"]);
    let mut client = near.client(&real, "somebody", "Secret-1");
    let said = client.args(["-e", "SELECT 1"]).output().expect("it starts");
    assert!(String::from_utf8_lossy(&said.stderr).contains("sealant tunnel: "), "{said:?}");
    let heard = listener.join().expect("it ends");
    let client_hello = [0x16, 3, 1];
    for heard in heard {
        assert!(heard.len() > 36 && heard[..4] == [32, 0, 0, 1] && heard[36..39] == client_hello, "{heard:x?}");
        assert!(!harness::contains(&heard, b"somebody"), "the login went out in the clear");
    }
}

/// Sends a real greeting, and accepts every login. Returns what it received.
fn impostor(real: u16) -> (thread::JoinHandle<Vec<Vec<u8>>>, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let heard = thread::spawn(move || {
        // The far end probes it when it starts, then the client connects.
        let each = |stream: std::io::Result<TcpStream>| {
            let mut stream = stream.expect("a connection");
            stream.set_read_timeout(Some(limit(20))).expect("set");
            let mut greeting = [0; 1000];
            let count = TcpStream::connect(("127.0.0.1", real)).expect("it is up").read(&mut greeting).expect("greets");
            stream.write_all(&greeting[..count]).expect("taken");
            let mut heard = vec![0; 4096];
            let mut filled = 0;
            while filled < 39 {
                filled += stream.read(&mut heard[filled..]).expect("something");
            }
            heard.truncate(filled);
            let _ = stream.write_all(&[7, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0]);
            let _ = stream.read_to_end(&mut heard);
            heard
        };
        listener.incoming().take(2).map(each).collect()
    });
    (heard, port)
}

#[test]
fn the_tls_capability_of_the_server_is_hidden_from_clients() {
    let Some(_) = require(Kind::MySql97) else { return };
    let setup = Setup::new();
    let server = server(Kind::MySql97, &setup, "far", &[]);
    let (_far, near) = tunnel(&setup, server.port(), &[], &[]);
    let mut client = near.client(&server, "root", "");
    let said = client.args(["--ssl-mode=REQUIRED", "-e", "SELECT 1"]).output().expect("it starts");
    assert!(String::from_utf8_lossy(&said.stderr).contains("SSL"), "{said:?}");
    // A client that requests it nevertheless gets an error, and the next one is served.
    let mut stream = std::os::unix::net::UnixStream::connect(&near.socket).expect("connected");
    let mut greeting = [0; 1000];
    let count = stream.read(&mut greeting).expect("a greeting");
    assert!(count > 5);
    let mut request = vec![32, 0, 0, 1, 0, 0x8a, 0, 0];
    request.resize(36, 0);
    stream.write_all(&request).expect("taken");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("told");
    assert!(
        answer[3..5] == [2, 0xff] && String::from_utf8_lossy(&answer).contains("connect without TLS"),
        "{answer:?}"
    );
    assert_eq!(near.value(&server, "SELECT 1"), "1");
}

#[test]
fn conflicting_options_are_reported() {
    let setup = Setup::new();
    let ca = setup.path("ca.pem");
    let says = |args: &[&str], code: i32, reason: &str| {
        let listen = ["--listen", "127.0.0.1:0", "--server-tls-ca"];
        let ca = if args.contains(&"none") { Path::new("/nonexistent/ca.pem") } else { &ca };
        let more: Vec<&str> = args.iter().copied().filter(|arg| *arg != "none").collect();
        let args = [&listen[..], &[ca.to_str().expect("ASCII")], &more].concat();
        let mut command = Command::new("timeout");
        let inner = setup.command("far", "far", &args);
        command.arg("20").arg(inner.get_program()).args(inner.get_args());
        let ended = end(command);
        assert!(ended.stderr.contains(reason), "{}", ended.stderr);
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
    };
    says(&["--server", "/run/x/s"], 2, "--server-tls-ca goes with a server on HOST:PORT");
    says(&["--server", "db:3306", "--insecure-plaintext-server"], 2, "cannot be used with");
    says(&["--server", "localhost:3306", "none"], 1, "/nonexistent/ca.pem");
    // The far end waits for a server that has not started yet.
    let (far, near) = tunnel(&setup, free_port(), &[], &[]);
    assert!(far.log().contains("refused") && far.log().contains("ready"), "{}", far.log());
    assert!(eventually(|| near.counted("far_in_use") <= 1));
}
