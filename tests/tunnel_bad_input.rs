//! `sealant tunnel` with wrong certificates, names, addresses and permissions: one line states the error, one the next
//! step.

use std::fs::{self, Permissions};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use harness::certs::{Authority, Profile};
use harness::{Kind, Server, limit, require};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, Issuer, KeyPair};
use rustix::io::ioctl_fionread;
use time::OffsetDateTime;

use crate::support::rotation::end;
use crate::support::tunnel::{Near, Setup, eventually, free_port};

const DAY: i64 = 86_400;

/// A user that owns nothing here.
const NOBODY: u32 = 65_534;

/// Asserts that an end does not start: one line states the reason, another the next step.
#[track_caller]
fn refuses(setup: &Setup, end_name: &str, name: &str, args: &[&str], reason: &str, hint: &str) {
    refused(&setup.command(end_name, name, args), reason, hint);
}

#[track_caller]
fn refused(command: &Command, reason: &str, hint: &str) {
    let mut limited = Command::new("timeout");
    limited.arg("10").arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    let ended = end(limited);
    ended.refused(1, reason, hint);
    assert_eq!(ended.stderr.lines().count(), 2, "{}", ended.stderr);
}

/// Asserts that a near end starts, warns about its far end with a hint, and tells clients the reason.
#[track_caller]
fn warns(near: &Near, server: &Server, reason: &str, hint: &str) {
    let log = near.end.log();
    assert!(log.contains(reason) && log.contains(hint), "{log}");
    let (fine, said) = near.said(server, "SELECT 1");
    assert!(!fine && said.contains("sealant tunnel: ") && said.contains(reason), "{said}");
}

/// A certificate of the setup's authority for localhost, valid between these seconds from now.
fn dated(setup: &Setup, name: &str, from: i64, to: i64) {
    let read = |file: &str| fs::read_to_string(setup.path(file)).expect("read");
    let authority = KeyPair::from_pem(&read("ca.key")).expect("a key");
    let issuer = Issuer::from_ca_cert_pem(&read("ca.pem"), authority).expect("an authority");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let at = |seconds: i64| {
        OffsetDateTime::from_unix_timestamp(now.cast_signed() + seconds).expect("a date that can be written")
    };
    let mut parameters = CertificateParams::new(["localhost".to_owned(), "app".to_owned()]).expect("names");
    (parameters.not_before, parameters.not_after) = (at(from), at(to));
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    parameters.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate().expect("a key");
    let certificate = parameters.signed_by(&key, &issuer).expect("signed");
    fs::write(setup.path(&format!("{name}.pem")), certificate.pem()).expect("written");
    fs::write(setup.path(&format!("{name}.key")), key.serialize_pem()).expect("written");
    fs::set_permissions(setup.path(&format!("{name}.key")), Permissions::from_mode(0o600)).expect("set");
}

/// Whether a statement over that socket succeeds, and the client's output.
fn ask(server: &Server, socket: &Path) -> (bool, String) {
    let mut client = Command::new(&server.binaries().client);
    client.args(["--no-defaults", "--user=root", "-e", "SELECT 1"]).arg(format!("--socket={}", socket.display()));
    let said = client.output().expect("the client starts");
    (said.status.success(), String::from_utf8_lossy(&said.stderr).into_owned())
}

/// OpenSSL as an end that does not check the dates of its own certificate.
struct Openssl(Child);

impl Drop for Openssl {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn openssl(setup: &Setup, verb: &str, name: &str, args: &[&str]) -> Openssl {
    let mut command = Command::new("openssl");
    command.args([verb, "-tls1_3", "-quiet"]).args(args).arg("-CAfile").arg(setup.path("ca.pem"));
    command.arg("-cert").arg(setup.path(&format!("{name}.pem"))).arg("-key").arg(setup.path(&format!("{name}.key")));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    Openssl(command.spawn().expect("openssl starts"))
}

#[test]
fn certificates_that_are_not_valid_now_are_reported_at_both_ends() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let server = Server::builder(Kind::MariaDb1011).start().expect("it starts");
    let (setup, port) = (Setup::new(), free_port());
    dated(&setup, "future", DAY, 2 * DAY);
    dated(&setup, "past", -2 * DAY, -DAY);
    let far = setup.far(&server, port, &[]);
    for (name, current, seen) in [
        ("future", "it is not valid yet (it is valid from 20", "its certificate is not valid yet"),
        ("past", "it has expired (it is valid from 20", "its certificate has expired"),
    ] {
        let near = ["--listen", "127.0.0.1:0", "--far", "localhost:1"];
        refuses(&setup, "near", name, &near, current, "is the clock right");
        let ours = ["--listen", "127.0.0.1:0", "--server", "/nonexistent/s"];
        refuses(&setup, "far", name, &ours, current, "is the clock right");
        // An end whose clock is wrong shows the problem here.
        let _client = openssl(&setup, "s_client", name, &["-connect", &format!("127.0.0.1:{port}")]);
        far.wait_for(&|log| log.contains(seen));
        let port = free_port();
        let _server = openssl(&setup, "s_server", name, &["-accept", &format!("127.0.0.1:{port}")]);
        assert!(eventually(|| TcpStream::connect(("127.0.0.1", port)).is_ok()));
        warns(&setup.near(&[port], &[]), &server, seen, "clock");
    }
}

#[test]
fn certificates_that_expire_while_they_are_in_use_are_reported() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let server = Server::builder(Kind::MariaDb1011).start().expect("it starts");
    let (setup, ports) = (Setup::new(), [free_port(), free_port()]);
    let _far = setup.far(&server, ports[0], &[]);
    for name in ["far", "app"] {
        let soon = i64::try_from(limit(15).as_secs()).expect("seconds");
        dated(&setup, &format!("{name}-short"), -DAY, soon);
    }
    let far = format!("localhost:{}", ports[0]);
    let socket = setup.path("short");
    let args = ["--listen", socket.to_str().expect("ASCII"), "--far", &far, "--warm-max", "0"];
    let near = setup.end("near", "app-short", &args);
    let listen = format!("127.0.0.1:{}", ports[1]);
    let address = server.socket().to_str().expect("ASCII").to_owned();
    let _short = setup.end("far", "far-short", &["--listen", &listen, "--server", &address]);
    let ask = || ask(&server, &socket);
    assert!(ask().0, "{}", near.log());
    assert!(eventually(|| ask().1.contains("it says that our certificate has expired")), "{}", ask().1);
    warns(&setup.near(&[ports[1]], &[]), &server, "its certificate has expired", "sealant cert renew");
}

#[test]
fn unknown_names_are_reported() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let server = Server::builder(Kind::MariaDb1011).start().expect("it starts");
    let setup = Setup::new();
    let unknown = "nowhere.invalid:3307";
    let socket = setup.path("unknown");
    let mut command = setup.command("near", "app", &["--listen", socket.to_str().expect("ASCII"), "--far", unknown]);
    // A resolver that does not answer must not delay the test.
    command.env("RES_OPTIONS", "timeout:1 attempts:1");
    let near = setup.start("unknown", command);
    let log = near.log();
    assert!(log.contains("nowhere.invalid:3307: cannot be resolved"), "{log}");
    assert!(log.contains("does this host's resolver know it"), "{log}");
    let (_, said) = ask(&server, &socket);
    assert!(said.contains("1158") && said.contains("cannot be resolved"), "{said}");
    let resolver = "does this host's resolver know it";
    for args in [["--listen", unknown, "--server", "/x/s"], ["--listen", "127.0.0.1:0", "--server", unknown]] {
        let mut command = Command::new("env");
        let inner = setup.command("far", "far", &args);
        command.arg("RES_OPTIONS=timeout:1 attempts:1").arg(inner.get_program()).args(inner.get_args());
        refused(&command, "nowhere.invalid:3307: cannot be resolved", resolver);
    }
    let args = ["--listen", "127.0.0.1:0", "--far", "a..b:3307"];
    refuses(&setup, "near", "app", &args, "is not a valid name for a certificate", "--far-name");
}

#[test]
fn unreadable_and_unwritable_files_are_reported() {
    let setup = Setup::new();
    let (closed, binary) = (setup.path("closed"), setup.path("sealant"));
    fs::create_dir(&closed).expect("made");
    let allow = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("set");
    for name in ["far", "app"] {
        fs::copy(setup.path(&format!("{name}.key")), setup.path(&format!("{name}-locked.key"))).expect("copied");
        fs::copy(setup.path(&format!("{name}.pem")), setup.path(&format!("{name}-locked.pem"))).expect("copied");
        allow(&setup.path(&format!("{name}-locked.key")), 0o000);
    }
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        fs::copy(env!("CARGO_BIN_EXE_sealant"), &binary).expect("copied");
        chown(setup.path("app.key"), Some(NOBODY), Some(NOBODY)).expect("given");
    }
    allow(&closed, 0o555);
    allow(setup.0.path(), 0o711);
    // Permissions do not restrict root.
    let as_nobody = |command: &Command| {
        if !is_root {
            let mut same = Command::new(command.get_program());
            same.args(command.get_args());
            return same;
        }
        let mut other = Command::new("setpriv");
        other.args([&format!("--reuid={NOBODY}"), &format!("--regid={NOBODY}"), "--clear-groups", "--inh-caps=-all"]);
        other.arg(&binary).args(command.get_args());
        other
    };
    let says = |command: &Command, reason: &str, hint: &str| refused(&as_nobody(command), reason, hint);
    let socket = format!("{}/s", closed.display());
    let near = |name: &str, listen: &str| setup.command("near", name, &["--listen", listen, "--far", "localhost:1"]);
    says(&near("app", &socket), "closed/s: cannot listen there: Permission denied", "need root, or a systemd unit");
    let open = setup.path("open");
    fs::create_dir(&open).expect("made");
    allow(&open, 0o777);
    let socket = format!("{}/s", open.display());
    let mut foreign = near("app", &socket);
    foreign.args(["--socket-group", "root"]);
    says(&foreign, "open/s: cannot be given to group 0: Operation not permitted", "must be a member of it");
    assert_eq!(fs::read_dir(&open).expect("readable").count(), 0, "no socket is left for whoever comes");
    says(
        &near("app-locked", "127.0.0.1:0"),
        "app-locked.key: cannot be read: Permission denied",
        "must be able to read it",
    );
    let far = setup.command("far", "far-locked", &["--listen", "127.0.0.1:0", "--server", "/x/s"]);
    says(&far, "far-locked.key: cannot be read: Permission denied", "must be able to read it");
    let mut init = crate::support::sealant();
    init.args(["cert", "init", "--dir"]).arg(closed.join("ca"));
    says(&init, "closed/ca: cannot be written: Permission denied", "name a directory that this user may write");
    let mut issue = crate::support::sealant();
    issue.args(["cert", "issue", "--name", "x", "--dir", setup.dir()]);
    allow(&setup.path("ca.key"), 0o000);
    says(&issue, "ca.key: cannot be read: Permission denied", "as the file's owner or as root");
}

#[test]
fn errors_are_one_line_with_a_hint() {
    let setup = Setup::new();
    let dir = setup.dir().to_owned();
    let says = |end: &str, name: &str, args: &[&str], reason: &str, hint: &str| {
        refuses(&setup, end, name, args, reason, hint);
    };
    let socket = format!("{dir}/s");
    let near = ["--far", "localhost:1", "--listen"];
    let with = |listen: &'static str| [&near[..], &[listen]].concat();
    let long = format!("{dir}/{}", "x".repeat(120));
    says("near", "app", &[&near[..], &[&long]].concat(), "the path of a socket has 107 at most", "shorter path");
    says("near", "app", &with("/nonexistent/s"), "cannot listen there", "the directory has to be there");
    says("near", "app", &with("0.0.0.0:0"), "in clear text over the network", "--insecure-plaintext-listener");
    let held = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = held.local_addr().expect("an address").to_string();
    says("near", "app", &[&near[..], &[&taken]].concat(), "another process listens there already", "listen elsewhere");
    says(
        "far",
        "far",
        &["--listen", &taken, "--server", "/x/s"],
        "another process listens there already",
        "listen elsewhere",
    );
    let remote_server = ["--listen", "127.0.0.1:0", "--server", "192.0.2.1:3306"];
    says("far", "far", &remote_server, "in clear text over the network", "--insecure-plaintext-server");
    says("near", "none", &[&near[..], &[&socket]].concat(), "none.pem", "sealant cert issue");
    // Certificates that the other end would refuse are refused here.
    let authority = Authority::create(&setup.path("openssl")).expect("an authority");
    let expired = authority.issue("expired", &Profile { expired: true, ..Profile::default() }).expect("issued");
    fs::copy(&expired.cert, setup.path("expired.pem")).expect("copied");
    fs::copy(&expired.key, setup.path("expired.key")).expect("copied");
    says("near", "expired", &[&near[..], &[&socket]].concat(), "it has expired", "is the clock right");
    fs::copy(setup.path("far.key"), setup.path("swapped.key")).expect("copied");
    fs::copy(setup.path("app.pem"), setup.path("swapped.pem")).expect("copied");
    says("near", "swapped", &[&near[..], &[&socket]].concat(), "is not the key of", "sealant cert issue");
}

#[test]
fn wrong_far_ends_are_reported() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let server = Server::builder(Kind::MariaDb1011).start().expect("it starts");
    let (setup, other) = (Setup::new(), Setup::new());
    let (port, foreign) = (free_port(), free_port());
    let _far = setup.far(&server, port, &["--allow", "somebody"]);
    let _foreign = other.far(&server, foreign, &[]);
    let says = |near: &Near, reason: &str, hint: &str| warns(near, &server, reason, hint);
    says(&setup.near(&[free_port()], &[]), "refused", "does `sealant tunnel far` run there");
    says(&setup.near(&[port], &[]), "app may not connect here", "--allow");
    says(&setup.near(&[foreign], &[]), "not issued by a trusted authority", "of the same authority");
    says(&setup.near(&[port], &["--far-name", "elsewhere"]), "certificate is for another name", "--far-name");
    // A port of another service.
    says(&setup.near(&[server.port()], &[]), "does not speak TLS", "is it the port of `sealant tunnel far`");
}

#[test]
fn near_ends_that_send_garbage_do_not_fill_the_log() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let server = Server::builder(Kind::MariaDb1011).start().expect("it starts");
    let (setup, port) = (Setup::new(), free_port());
    let far = setup.far(&server, port, &[]);
    let connect = format!("127.0.0.1:{port}");
    let mut clients: Vec<Openssl> =
        (0..20).map(|_| openssl(&setup, "s_client", "app", &["-connect", &connect])).collect();
    // A greeting; then another one where none is allowed. OpenSSL sends what it reads at once in one record.
    for _ in 0..2 {
        for client in &mut clients {
            client.0.stdin.as_mut().expect("piped").write_all(&[1, 2]).expect("written");
        }
        let is_read = |client: &Openssl| ioctl_fionread(client.0.stdin.as_ref().expect("piped")).expect("a pipe") == 0;
        assert!(eventually(|| clients.iter().all(is_read)));
    }
    assert!(eventually(|| far.log().contains("unexpected message")), "{}", far.log());
    // Hardly anything happens in the meantime.
    sleep(Duration::from_secs(1));
    assert!(far.log().matches("127.0.0.1:").count() < 12, "{}", far.log());
}
