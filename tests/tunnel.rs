//! `sealant tunnel` between real clients and real servers: everything works as without a tunnel, and failures are
//! reported.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::{fs::FileExt, net::UnixStream};
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use harness::{Kind, Replication, Server, limit, require};
use rustix::process::Signal;

use crate::compressed::{Client, Entry, Method};
use crate::support::tunnel::{Near, Setup, driver, eventually, first_byte, free_port, relay_from};

const KINDS: [Kind; 4] = [Kind::MySql97, Kind::MySql80, Kind::MySql57, Kind::MariaDb1011];

/// A server, and both ends of a tunnel to it.
struct Site {
    server: Server,
    near: Near,
    far: crate::support::tunnel::End,
    far_port: u16,
    setup: Setup,
}

impl Site {
    fn on(kind: Kind, options: &[&str], near: &[&str]) -> Self {
        let server = Server::builder(kind).options(options.iter().copied()).start().expect("it starts");
        let (setup, port) = (Setup::new(), free_port());
        let far = setup.far(&server, port, &["--allow", "app"]);
        let near = setup.near(&[port], near);
        Self { server, near, far, far_port: port, setup }
    }

    fn value(&self, sql: &str) -> String {
        self.near.value(&self.server, sql)
    }
}

fn output(command: &mut Command) -> Output {
    command.output().expect("it starts")
}

#[track_caller]
fn succeeds(command: &mut Command) -> String {
    let output = output(command);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const PASSING: [&str; 3] = ["--max-allowed-packet=256M", "--local-infile=1", "--log-bin"];

#[test]
fn every_operation_of_a_client_works_through_the_tunnel() {
    for kind in KINDS {
        let Some(_) = require(kind) else { continue };
        let site = Site::on(kind, &PASSING, &[]);
        // As on the server's own socket.
        assert_eq!(site.value("SELECT USER()"), "root@localhost");
        assert_eq!(site.value("SELECT 1; SELECT 2; SELECT 3"), "1\n2\n3");
        assert_eq!(site.value("PREPARE p FROM 'SELECT ? + 1'; SET @a = 41; EXECUTE p USING @a"), "42");
        // In both directions, larger than a packet of the protocol.
        let body = "x".repeat(20 << 20);
        let file = site.setup.path("large.sql");
        fs::write(&file, format!("SELECT SHA2('{body}', 256), LENGTH(REPEAT('y', 20 << 20));")).expect("written");
        for compress in [false, true] {
            let mut client = site.near.client(&site.server, "root", "");
            client.arg("--max-allowed-packet=256M").stdin(fs::File::open(&file).expect("a file"));
            if compress {
                client.arg("--compress");
            }
            let expected = site.server.value(&format!("SELECT SHA2(REPEAT('x', 20 << 20), 256), {}", 20 << 20));
            assert_eq!(succeeds(&mut client).trim_end(), expected.expect("a value"), "compressed: {compress}");
        }
        infile(&site);
        killed(&site);
        accounts(&site, kind);
        // A client that closes its sending side first still gets its answer.
        let mut client = site.near.client(&site.server, "root", "");
        let answer = harness::run(&mut client, b"SELECT SLEEP(0.3), 7", limit(20)).expect("answered");
        assert_eq!(answer.stdout, b"0\t7\n");
    }
}

fn infile(site: &Site) {
    let lines = site.setup.path("lines");
    fs::write(&lines, "one\ntwo\nthree\n").expect("written");
    let load = format!("LOAD DATA LOCAL INFILE '{}' INTO TABLE test_lines.t", lines.display());
    let sql = format!(
        "CREATE DATABASE test_lines; CREATE TABLE test_lines.t (t TEXT); {load}; SELECT COUNT(*) FROM test_lines.t"
    );
    assert_eq!(site.value(&sql), "3");
}

/// KILL has the same effect on the client as without a tunnel.
fn killed(site: &Site) {
    let sleeping = thread::scope(|scope| {
        let sleeping = scope.spawn(|| site.near.said(&site.server, "SELECT SLEEP(30)"));
        let mut id = String::new();
        let find = "SELECT ID FROM information_schema.processlist WHERE INFO = 'SELECT SLEEP(30)'";
        assert!(eventually(|| {
            id = site.value(find);
            !id.is_empty()
        }));
        site.value(&format!("KILL {id}"));
        sleeping.join().expect("it ends")
    });
    assert!(!sleeping.0 && (sleeping.1.contains("2013") || sleeping.1.contains("1317")), "{}", sleeping.1);
}

/// Each plug-in, with a password that the server has not cached: caching_sha2_password requests the full password.
fn accounts(site: &Site, kind: Kind) {
    let plugins: &[(&str, &str)] = match kind {
        Kind::MySql97 | Kind::MySql80 => {
            &[("caching", "WITH caching_sha2_password BY"), ("sha", "WITH sha256_password BY")]
        }
        Kind::MySql57 => &[("native", "WITH mysql_native_password BY")],
        _ => &[("native", "VIA mysql_native_password USING PASSWORD"), ("ed", "VIA ed25519 USING PASSWORD")],
    };
    if kind.is_mariadb() {
        site.server.sql("INSTALL SONAME 'auth_ed25519'").expect("installed");
    }
    // No test here for plug-ins that this installation's client lacks.
    for (user, how) in plugins.iter().filter(|(user, _)| *user != "ed" || plugins_of(site).is_some()) {
        let password = if how.ends_with("BY") { "'Secret-1'" } else { "('Secret-1')" };
        site.server.sql(&format!("CREATE USER {user}@localhost IDENTIFIED {how} {password}")).expect("made");
        for _ in 0..2 {
            let mut client = site.near.client(&site.server, user, "Secret-1");
            client.args(plugins_of(site));
            assert_eq!(succeeds(client.args(["-e", "SELECT CURRENT_USER()"])), format!("{user}@localhost\n"));
        }
        if !kind.is_mariadb() && kind != Kind::MySql57 {
            by_the_port(site, user);
        }
        let wrong =
            output(site.near.client(&site.server, user, "wrong").args(plugins_of(site)).args(["-e", "SELECT 1"]));
        assert!(String::from_utf8_lossy(&wrong.stderr).contains("ERROR 1045"), "{wrong:?}");
    }
}

/// The client treats the port as insecure, and the server its socket as secure: the test makes both use the same
/// encryption of the password.
fn by_the_port(site: &Site, user: &str) {
    for (password, fine) in [("Secret-1", true), ("Secret-1", true), ("wrong", false)] {
        let mut client = Command::new(&site.server.binaries().client);
        client.args(["--no-defaults", "--ssl-mode=DISABLED", "--get-server-public-key", "--host=127.0.0.1"]);
        client.args(["-N", "-e", "SELECT CURRENT_USER()"]).arg(format!("--port={}", site.near.port));
        // The first login uses a password that the server has not cached.
        site.server.sql(if fine { "FLUSH PRIVILEGES" } else { "SELECT 1" }).expect("said");
        let said = output(client.arg(format!("--user={user}")).env("MYSQL_PWD", password));
        let text = String::from_utf8_lossy(if fine { &said.stdout } else { &said.stderr }).into_owned();
        let expected = if fine { format!("{user}@localhost\n") } else { "ERROR 1045".to_owned() };
        assert!(said.status.success() == fine && text.contains(&expected), "{user} {password}: {said:?}");
    }
}

/// MariaDB's client looks for its own plug-ins elsewhere.
fn plugins_of(site: &Site) -> Option<String> {
    let lib = site.server.binaries().basedir.join("lib");
    let found = fs::read_dir(lib).ok()?.filter_map(|entry| Some(entry.ok()?.path().join("libmariadb3/plugin")));
    let found = found.into_iter().find(|path| path.is_dir())?;
    Some(format!("--plugin-dir={}", found.display()))
}

#[test]
fn a_slow_reader_gets_everything_and_takes_no_memory() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let site = Site::on(Kind::MariaDb1011, &[], &[]);
    let memory = || {
        let of = |end: &crate::support::tunnel::End| {
            let status = fs::read_to_string(format!("/proc/{}/status", end.pid())).expect("it runs");
            let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a line");
            line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number")
        };
        of(&site.near.end) + of(&site.far)
    };
    assert_eq!(site.value("SELECT 1"), "1");
    let before = memory();
    let mut client = site.near.client(&site.server, "root", "");
    client.args(["--quick", "--raw", "mysql", "-e", "SELECT REPEAT(seq % 10, 99999) FROM seq_1_to_1500"]);
    let mut client = client.stdout(std::process::Stdio::piped()).spawn().expect("it starts");
    let mut stdout = client.stdout.take().expect("a pipe");
    let (mut buffer, mut count, mut sum) = (vec![0; 1 << 20], 0_u64, 0_u64);
    let mut stops = [0, 50 << 20, 100 << 20].into_iter().peekable();
    loop {
        // Meanwhile all buffers on the path fill up; a busy machine has fewer.
        if stops.next_if(|stop| *stop <= count).is_some() {
            thread::sleep(Duration::from_secs(1));
        }
        match stdout.read(&mut buffer).expect("read") {
            0 => break,
            some => {
                count += some as u64;
                sum += buffer[..some].iter().map(|byte| u64::from(*byte)).sum::<u64>();
            }
        }
    }
    assert!(client.wait().expect("it ends").success());
    let digits: u64 = (1..=1500_u64).map(|number| u64::from(b'0') + number % 10).sum();
    assert_eq!((count, sum), (1500 * 100_000, digits * 99_999 + 1500 * u64::from(b'\n')));
    assert!(memory() - before < 4096, "{} KiB", memory() - before);
}

#[test]
fn drivers_of_other_languages_work() {
    // Their statements need 8.0 or later.
    for kind in KINDS.into_iter().filter(|kind| *kind != Kind::MySql57) {
        let Some(_) = require(kind) else { continue };
        let site = Site::on(kind, &PASSING, &[]);
        let plugin = if kind.is_mariadb() { "BY" } else { "WITH caching_sha2_password BY" };
        for user in ["one", "two"] {
            let sql = format!(
                "CREATE USER {user}@localhost IDENTIFIED {plugin} 'Pass-{user}'; GRANT ALL ON *.* TO {user}@localhost"
            );
            site.server.sql(&sql).expect("made");
        }
        let file = site.setup.path("lines");
        fs::write(&file, "a\n".repeat(5000)).expect("written");
        let file = file.to_str().expect("ASCII");
        for (name, more) in [("python", vec![]), ("node", vec!["two", "Pass-two"]), ("go", vec![file])] {
            let Some(mut program) = driver(name) else { continue };
            program.arg(&site.near.socket).args(["one", "Pass-one"]).args(more);
            assert_eq!(succeeds(&mut program), "ok\n", "{name} on {kind:?}");
        }
        assert!(site.near.counted("served_warm_total") > 200, "{}", site.near.counted("served_warm_total"));
        // Through the port, which clients treat as insecure, with passwords that the server has not cached.
        site.server.sql("FLUSH PRIVILEGES; DROP DATABASE IF EXISTS smoke").expect("forgotten");
        let Some(mut program) = driver("node") else { continue };
        program.arg(site.near.port.to_string()).args(["one", "Pass-one", "two", "Pass-two"]);
        assert_eq!(succeeds(&mut program), "ok\n", "node by the port on {kind:?}");
        site.server.sql("FLUSH PRIVILEGES; DROP DATABASE smoke").expect("forgotten");
        let mut program = driver("node").expect("it is here");
        program.arg(site.near.port.to_string()).args(["one", "Pass-one", "two", "Pass-two", "compress"]);
        assert_eq!(succeeds(&mut program), "ok\n", "node by the port on {kind:?}, compressed");
    }
}

#[test]
fn users_change_within_compressed_sessions() {
    let Some(_) = require(Kind::MySql97) else { return };
    let site = Site::on(Kind::MySql97, &PASSING, &[]);
    for user in ["one", "two"] {
        let made = format!("CREATE USER {user}@localhost IDENTIFIED WITH caching_sha2_password BY 'Pass-{user}'");
        site.server.sql(&made).expect("made");
    }
    let forget = || site.server.sql("FLUSH PRIVILEGES").expect("said");
    for method in [Method::Zlib, Method::Zstd] {
        forget();
        let (mut client, entry) = Client::log_in(site.near.port, "one", "Pass-one", method);
        assert_eq!(entry, Entry::Report, "{method:?}");
        let large = "SELECT REPEAT('0123456789abcde\n', 20 << 16)";
        for (user, entry) in
            [("two", Entry::Report), ("two", Entry::Known), ("one", Entry::Known), ("two", Entry::Known)]
        {
            assert!(client.value(large) == "0123456789abcde\n".repeat(20 << 16).as_bytes());
            assert_eq!(client.change_user(user, &format!("Pass-{user}")), entry, "{method:?}");
            assert_eq!(client.value("SELECT CURRENT_USER()"), format!("{user}@localhost").as_bytes());
        }
        // A statement in several compressed packets, which contains what looks like a change of user.
        let body = format!("{}{}", "x".repeat(10 << 20), "\x09\0\0\0\0\0\0\x05\0\0\0\x11two\0");
        let digest = client.value(&format!("SELECT LENGTH('{body}')"));
        assert_eq!(digest, body.len().to_string().as_bytes());
        forget();
        assert_eq!(client.change_user("one", "Pass-one"), Entry::Report, "{method:?}");
        forget();
        assert_eq!(client.change_user("two", "wrong"), Entry::Refused(1045), "{method:?}");
    }
}

#[test]
fn a_replica_follows_through_the_tunnel() {
    for kind in KINDS {
        let Some(_) = require(kind) else { continue };
        let server = Server::builder(kind).options(["--log-bin", "--server-id=1"]).start().expect("it starts");
        let mut replica = Server::builder(kind).option("--server-id=2").start().expect("it starts");
        replica.replicate_from(&server, &Replication::default()).expect("it follows");
        // Through ports at both ends: the replica connects to a port, so the server must not see a socket.
        let (setup, port, address) = (Setup::new(), free_port(), format!("127.0.0.1:{}", server.port()));
        let _far = setup.far_of(&address, port, &[]);
        let near = setup.near(&[port], &[]);
        let sql = if matches!(kind, Kind::MySql57 | Kind::MariaDb1011) {
            format!("STOP SLAVE; CHANGE MASTER TO MASTER_PORT={}; START SLAVE", near.port)
        } else {
            format!("STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_PORT={}; START REPLICA", near.port)
        };
        replica.sql(&sql).expect("changed");
        server.sql("CREATE DATABASE followed; CREATE TABLE followed.t SELECT 7 AS a").expect("written");
        replica.catch_up_with(&server).expect("it follows");
        assert_eq!(replica.value("SELECT a FROM followed.t").expect("a value"), "7");
        assert_eq!(near.counted("sessions"), 1, "the binary log comes through it");
    }
}

#[test]
fn a_burst_is_served_and_the_number_of_unused_connections_is_bounded() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    // The first client keeps its session until the last one has a session.
    let options = ["--max-connections=1200", "--back-log=1000", "--connect-timeout=120"];
    let site = Site::on(Kind::MariaDb1011, &options, &["--warm-age", "1s", "--wait", "120s"]);
    let aborted = || -> u64 {
        let status = site.server.value("SHOW GLOBAL STATUS LIKE 'Aborted_connects'").expect("a status");
        status.rsplit('\t').next().and_then(|value| value.parse().ok()).expect("a number")
    };
    let before = aborted();
    let mut clients: Vec<UnixStream> =
        (0..1000).map(|_| UnixStream::connect(&site.near.socket).expect("connected")).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(first_byte(client), Some(10), "client {number}: {}", site.near.end.log());
    }
    assert_eq!(site.near.counted("sessions"), 1000);
    drop(clients);
    assert!(eventually(|| site.near.counted("sessions") == 0));
    for _ in 0..20 {
        site.value("SELECT 1");
    }
    // A thousand clients left without a login; the number of ready connections never exceeds the number served.
    assert!(eventually(|| site.near.counted("warm") == 0));
    // A connection that was still being opened is given up a second later; then nothing happens any more.
    let counts = || (aborted(), site.near.counted("recycled_total"));
    let is_quiet = || {
        let then = counts();
        thread::sleep(Duration::from_secs(3));
        counts() == then
    };
    assert!(eventually(is_quiet), "nobody comes, nothing waits: {:?}", counts());
    let (then, recycled) = counts();
    assert!(recycled <= 1020, "{recycled}");
    assert!(then - before <= 1000 + recycled, "{} {recycled}", then - before);
    assert!(site.near.counted("idle") >= 2);
}

#[test]
fn refusals_of_the_server_reach_the_client() {
    for kind in KINDS {
        let Some(_) = require(kind) else { continue };
        let site = Site::on(kind, &["--max-connections=10"], &[]);
        let mut held: Vec<UnixStream> =
            (0..11).map(|_| UnixStream::connect(site.server.socket()).expect("connected")).collect();
        for client in &mut held {
            first_byte(client);
        }
        let (fine, said) = site.near.said(&site.server, "SELECT 1");
        assert!(!fine && said.contains("1040") && said.contains("Too many connections"), "{said}");
        assert!(site.near.counted("server_refusals_total") >= 1);
        drop(held);
        assert!(eventually(|| site.near.said(&site.server, "SELECT 1").0));
        // The tunnel keeps no more connections ready than remain available.
        assert_eq!(site.value("SELECT 2"), "2");
    }
}

/// A server does not block hosts on its socket or at 127.0.0.1.
const BLOCKABLE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Whether a lookup of the name for that address ends soon: a server does one for each connection.
fn is_looked_up_soon() -> bool {
    // Less than a resolver waits for a name server that does not answer, which is 5 s.
    let soon = Duration::from_secs(3);
    let said = harness::run(Command::new("getent").args(["hosts", &BLOCKABLE.to_string()]), b"", soon);
    !matches!(said, Err(harness::Error::TimedOut { .. }))
}

#[test]
fn unused_connections_do_not_block_the_far_end() {
    if !is_looked_up_soon() {
        return harness::print_skipped("the resolver does not answer");
    }
    for kind in KINDS {
        let Some(_) = require(kind) else { continue };
        let server = Server::builder(kind).option("--max-connect-errors=40").start().expect("it starts");
        server.sql("CREATE USER p@'%'").expect("made");
        let (setup, ports) = (Setup::new(), [free_port(), free_port()]);
        let by_port = relay_from(BLOCKABLE, server.port()).to_string();
        let _fars = [setup.far(&server, ports[0], &[]), setup.far_of(&by_port, ports[1], &[])];
        for (port, counted) in ports.into_iter().zip([false, true]) {
            let near = setup.near(&[port], &["--warm-min", "100", "--warm-age", "1s"]);
            let ask = || output(near.client(&server, "p", "").args(["-e", "SELECT 1"]));
            (0..20).for_each(|_| assert!(ask().status.success()));
            if counted {
                // Nothing more happens in the meantime.
                thread::sleep(Duration::from_secs(3));
                assert!(near.counted("recycled_total") <= 32, "{}", near.counted("recycled_total"));
            } else {
                assert!(eventually(|| near.counted("recycled_total") >= 300), "{}", near.end.log());
            }
            assert!(ask().status.success(), "{kind:?}: {:?}", ask());
        }
    }
}

#[test]
fn a_blocked_host_is_reported_and_served_again() {
    if !is_looked_up_soon() {
        return harness::print_skipped("the resolver does not answer");
    }
    for kind in KINDS {
        let Some(_) = require(kind) else { continue };
        let server = Server::builder(kind).option("--max-connect-errors=3").start().expect("it starts");
        server.sql("CREATE USER p@'%'").expect("made");
        let (setup, port, address) = (Setup::new(), free_port(), relay_from(BLOCKABLE, server.port()));
        let far = setup.far_of(&address.to_string(), port, &["--warm-max", "0"]);
        let near = setup.near(&[port], &[]);
        let ask = || {
            let said = output(near.client(&server, "p", "").args(["-e", "SELECT 1"]));
            (said.status.success(), String::from_utf8_lossy(&said.stderr).into_owned())
        };
        assert!(ask().0);
        (0..3).for_each(|_| fail_to_log_in(address));
        let (fine, said) = ask();
        // A server does not block a host whose name it could not look up because no resolver answered.
        if fine {
            harness::print_skipped("the resolver does not answer for 127.0.0.2");
            continue;
        }
        assert!(said.contains("1129") && said.contains("'127.0.0.2' is blocked"), "{kind:?}: {said}");
        assert!(near.counted("server_refusals_total") >= 1);
        let forget = if kind.is_mariadb() { "FLUSH HOSTS" } else { "TRUNCATE TABLE performance_schema.host_cache" };
        server.sql(forget).expect("forgotten");
        assert!(eventually(|| ask().0), "{}\n{}", near.end.log(), far.log());
        assert_eq!(near.counted("far_in_use"), 1, "{}", near.end.log());
    }
}

/// Answers the server's greeting with an invalid login.
fn fail_to_log_in(server: SocketAddr) {
    let mut stream = TcpStream::connect(server).expect("connected");
    stream.set_read_timeout(Some(limit(20))).expect("set");
    let _ = stream.read(&mut [0; 256]).expect("a greeting");
    stream.write_all(&[2, 0, 0, 1, 0, 0]).expect("sent");
    let _ = stream.read_to_end(&mut Vec::new());
}

#[test]
fn servers_and_far_ends_may_restart() {
    let Some(_) = require(Kind::MySql97) else { return };
    let mut server = Server::builder(Kind::MySql97).start().expect("it starts");
    let (setup, port) = (Setup::new(), free_port());
    let far = setup.far(&server, port, &[]);
    let near = setup.near(&[port], &[]);
    let ask = |server: &Server| near.said(server, "SELECT 1");
    (0..5).for_each(|_| assert!(ask(&server).0));
    server.stop().expect("it stops");
    let (fine, said) = ask(&server);
    assert!(!fine && said.contains("sealant tunnel") && said.contains("sql.sock"), "{said}");
    server.start().expect("it starts");
    assert!(eventually(|| ask(&server).0), "{}", near.end.log());
    // The far end stops, and starts again.
    assert!(far.stop().success());
    assert!(eventually(|| !ask(&server).0));
    let (_, said) = ask(&server);
    assert!(said.contains("sealant tunnel"), "{said}");
    let _far = setup.far(&server, port, &[]);
    assert!(eventually(|| ask(&server).0), "{}", near.end.log());
}

#[test]
fn the_server_stops_sending_to_a_client_that_was_killed() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let site = Site::on(Kind::MariaDb1011, &[], &[]);
    let running = "SELECT COUNT(*) FROM information_schema.processlist WHERE INFO LIKE 'SELECT REPEAT%'";
    // In the middle of its result, and before its first row.
    for from in ["seq_1_to_1000000000", "(SELECT SLEEP(2) LIMIT 1) begin JOIN seq_1_to_1000000000"].repeat(2) {
        let mut client = site.near.client(&site.server, "root", "");
        client.args(["--quick", "-e", &format!("SELECT REPEAT('x', 1000) FROM {from}"), "mysql"]);
        let mut client = client.stdout(std::process::Stdio::null()).spawn().expect("it starts");
        assert!(eventually(|| site.server.value(running).is_ok_and(|count| count == "1")));
        client.kill().expect("it is ours");
        client.wait().expect("it is ours");
        assert!(eventually(|| site.server.value(running).is_ok_and(|count| count == "0")), "it goes on");
        assert_eq!(site.value("SELECT 1"), "1");
    }
}

#[test]
fn clients_that_vanish_during_a_statement_delay_no_other() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let site = Site::on(Kind::MariaDb1011, &[], &[]);
    let running = "SELECT COUNT(*) FROM information_schema.processlist WHERE INFO = 'SELECT SLEEP(600)'";
    let start = || site.near.client(&site.server, "root", "").args(["-e", "SELECT SLEEP(600)"]).spawn();
    let mut clients: Vec<_> = (0..5).map(|_| start().expect("it starts")).collect();
    assert!(eventually(|| site.server.value(running).is_ok_and(|count| count == "5")));
    for client in &mut clients {
        client.kill().expect("it is ours");
        client.wait().expect("it is ours");
    }
    (0..3).for_each(|_| assert_eq!(site.value("SELECT 1"), "1"));
    assert_eq!(site.server.value(running).expect("a count"), "5", "the server has not noticed");
}

/// Two servers that answer 1 and 2.
fn numbered() -> [Server; 2] {
    [1, 2].map(|id| Server::builder(Kind::MariaDb1011).option(format!("--server-id={id}")).start().expect("it starts"))
}

#[test]
fn a_silent_far_end_is_replaced_by_the_next_in_time() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let servers = numbered();
    let (setup, ports) = (Setup::new(), [free_port(), free_port()]);
    let first = setup.far(&servers[0], ports[0], &[]);
    let _second = setup.far(&servers[1], ports[1], &[]);
    // A connection that already has its greeting would hang with the server, like any open one.
    let options = ["--health-interval", "1s", "--connect-timeout", "2s", "--wait", "60s", "--warm-max", "0"];
    let near = setup.near(&ports, &options);
    let id = || near.said(&servers[0], "SELECT @@server_id").1.trim().to_owned();
    let server = i32::try_from(servers[0].pid().expect("it runs")).expect("a process id");
    for pid in [first.pid(), server] {
        assert!(eventually(|| id() == "1"), "{}", near.end.log());
        // A session that hangs with it must not count as a sign of life.
        let mut held = UnixStream::connect(&near.socket).expect("connected");
        assert_eq!(first_byte(&mut held), Some(10));
        let signal = |signal| {
            let pid = rustix::process::Pid::from_raw(pid).expect("a process id");
            rustix::process::kill_process(pid, signal).expect("it is there");
        };
        signal(Signal::STOP);
        let said = id();
        signal(Signal::CONT);
        assert_eq!(said, "2", "{}", near.end.log());
    }
    assert_eq!(near.counted("clients_refused_total"), 0, "{}", near.end.log());
}

#[test]
fn far_ends_are_used_in_their_order() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let servers = numbered();
    let (setup, ports) = (Setup::new(), [free_port(), free_port()]);
    let first = setup.far(&servers[0], ports[0], &[]);
    let second = setup.far(&servers[1], ports[1], &[]);
    let near = setup.near(&ports, &["--health-interval", "1s"]);
    let id = || near.said(&servers[0], "SELECT @@server_id").1.trim().to_owned();
    assert_eq!(id(), "1");
    first.stop();
    assert!(eventually(|| id() == "2"), "{}", near.end.log());
    for _ in 0..10 {
        assert_eq!(id(), "2");
    }
    let first = setup.far(&servers[0], ports[0], &[]);
    assert!(eventually(|| id() == "1"), "{}", near.end.log());
    assert!(near.counted("failovers_total") >= 2);
    // A far end that was down while the other was down, too, is known to be back when it is needed.
    first.stop();
    second.stop();
    assert!(eventually(|| id().contains("sealant tunnel")), "{}", near.end.log());
    let first = setup.far(&servers[0], ports[0], &[]);
    assert!(eventually(|| id() == "1"), "{}", near.end.log());
    let _second = setup.far(&servers[1], ports[1], &[]);
    // The near end probes a far end that is down each second; nothing shows that a probe succeeded.
    thread::sleep(limit(3));
    let refused = near.counted("clients_refused_total");
    first.stop();
    assert!(eventually(|| id() == "2"), "{}", near.end.log());
    assert_eq!(near.counted("clients_refused_total"), refused, "{}", near.end.log());
}

#[test]
fn a_stopping_end_lets_sessions_end() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let site = Site::on(Kind::MariaDb1011, &[], &[]);
    let Site { server, near, far, setup: _setup, .. } = site;
    let asking = |sql: &'static str| {
        let mut client = near.client(&server, "root", "");
        thread::spawn(move || succeeds(client.args(["-e", sql])))
    };
    let running = "SELECT COUNT(*) FROM information_schema.processlist WHERE INFO LIKE 'SELECT SLEEP%'";
    let waits = |server: &Server| assert!(eventually(|| server.value(running).is_ok_and(|count| count == "1")));
    let slow = asking("SELECT SLEEP(6), 7");
    waits(&server);
    assert!(far.stop().success());
    assert_eq!(server.value(running).expect("a count"), "0", "it waited");
    assert_eq!(slow.join().expect("it ends"), "0\t7\n");
    drop((near, server));

    let Site { server, near, far: _far, setup: _setup, .. } = Site::on(Kind::MariaDb1011, &[], &[]);
    let mut client = near.client(&server, "root", "");
    let slow = thread::spawn(move || succeeds(client.args(["-e", "SELECT SLEEP(6), 8"])));
    waits(&server);
    near.end.signal(Signal::TERM);
    assert!(eventually(|| UnixStream::connect(&near.socket).is_err()), "nobody new is taken");
    assert_eq!(slow.join().expect("it ends"), "0\t8\n");
    let Near { mut end, socket, .. } = near;
    assert!(end.ended().is_some_and(|status| status.success()), "{}", end.log());
    assert!(!socket.exists(), "its socket goes with it");
}

#[test]
fn certificates_are_reloaded_on_a_signal() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let site = Site::on(Kind::MariaDb1011, &[], &[]);
    let ask = || site.near.said(&site.server, "SELECT 1");
    assert!(ask().0);
    // A new certificate for the near end, with a name that is not in the list: the far end's answer shows that it is
    // used.
    let dir = site.setup.dir();
    site.setup.cert(&["issue", "--dir", dir, "--name", "other"]);
    let certificate = fs::read(site.setup.path("app.pem")).expect("read");
    let key = fs::read(site.setup.path("app.key")).expect("read");
    fs::copy(site.setup.path("other.pem"), site.setup.path("app.pem")).expect("copied");
    site.near.end.signal(Signal::HUP);
    site.near.end.wait_for(&|log| log.contains("the certificates were not reloaded"));
    assert!(ask().0, "what was in use stays");
    let mut client = site.near.client(&site.server, "root", "");
    let busy = thread::spawn(move || succeeds(client.args(["-e", "SELECT SLEEP(6), 9"])));
    let running = "SELECT COUNT(*) FROM information_schema.processlist WHERE INFO LIKE 'SELECT SLEEP%'";
    assert!(eventually(|| site.server.value(running).is_ok_and(|count| count == "1")));
    fs::copy(site.setup.path("other.key"), site.setup.path("app.key")).expect("copied");
    site.near.end.signal(Signal::HUP);
    site.near.end.wait_for(&|log| log.contains("certificates reloaded"));
    assert_eq!(busy.join().expect("it ends"), "0\t9\n", "a session goes on");
    (0..5).for_each(|_| assert!(!ask().0, "its link does not"));
    assert!(eventually(|| ask().1.contains("other may not connect here")), "{}", ask().1);
    fs::write(site.setup.path("app.pem"), certificate).expect("written");
    fs::write(site.setup.path("app.key"), key).expect("written");
    site.near.end.signal(Signal::HUP);
    assert!(eventually(|| ask().0), "{}", site.near.end.log());
}

#[test]
fn an_audit_through_the_tunnel_recognises_that_the_port_is_not_the_servers() {
    for kind in KINDS {
        let Some(_) = require(kind) else { continue };
        let site = Site::on(kind, &[], &[]);
        let seen = |port: u16| {
            let mut audit = crate::support::sealant();
            let output = output(audit.args(["audit", "--tls", "off", "--insecure-plaintext-tcp"]).args([
                "--format",
                "json",
                &format!("mysql://root@127.0.0.1:{port}"),
            ]));
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(!text.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
            text.contains("is not the server's own port")
        };
        assert!(seen(site.near.port), "{kind:?}");
        assert!(!seen(site.server.port()), "{kind:?}");
        // Through the socket, from a host with another name, and from the server's host.
        for (name, remote) in [("app1", true), ("$(hostname)", false)] {
            let script = format!("hostname \"{name}\" && exec \"$@\"");
            let mut audit = Command::new("unshare");
            audit.args([
                "--uts",
                "sh",
                "-c",
                &script,
                "sh",
                crate::support::sealant().get_program().to_str().expect("ASCII"),
            ]);
            audit.args(["audit", "--user", "root", "--format", "json", "--socket"]).arg(&site.near.socket);
            if !rustix::process::geteuid().is_root() {
                harness::skip("only root may give a process a host name of its own");
                return;
            }
            let text = String::from_utf8_lossy(&output(&mut audit).stdout).into_owned();
            assert_eq!(text.contains("ports of this host are not the server's"), remote, "{kind:?} {name}: {text}");
            assert!(text.contains("\"findings\""), "{text}");
        }
    }
}

#[test]
fn links_are_replaced_when_certificates_are_reloaded() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let site = Site::on(Kind::MariaDb1011, &[], &["--warm-max", "0"]);
    (0..3).for_each(|_| assert_eq!(site.value("SELECT 1"), "1"));
    let opened = site.near.counted("links_total");
    site.far.signal(Signal::HUP);
    site.far.wait_for(&|log| log.contains("certificates reloaded"));
    (0..3).for_each(|_| assert_eq!(site.value("SELECT 1"), "1"));
    assert!(site.near.counted("links_total") > opened, "{}", site.near.end.log());
    assert_eq!(site.near.counted("clients_refused_total"), 0, "{}", site.near.end.log());
}

#[test]
fn the_clients_address_and_the_servers_tls_are_shown_as_configured() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let server = Server::builder(Kind::MariaDb1011);
    let setup = Setup::new();
    let (certificate, key) =
        (format!("--ssl-cert={}/far.pem", setup.dir()), format!("--ssl-key={}/far.key", setup.dir()));
    let server = server.options(["--proxy-protocol-networks=127.0.0.1", "--skip-name-resolve"]);
    let server = server.options([certificate, key]).start().expect("it starts");
    server.sql("CREATE USER p@'%'").expect("made");
    let address = format!("127.0.0.1:{}", server.port());
    let user = |near: &Near| succeeds(near.client(&server, "p", "").args(["-e", "SELECT USER()"]));
    for (version, expected) in [(None, "p@127.0.0.1\n"), (Some("v1"), "p@::1\n"), (Some("v2"), "p@::1\n")] {
        let port = free_port();
        let listen = format!("[::1]:{port}");
        let mut args = vec!["--listen", &listen, "--server", &address];
        args.extend(version.iter().flat_map(|version| ["--proxy-protocol", version]));
        let _far = setup.end("far", "far", &args);
        let near = setup.near_of(&format!("[::1]:{port}"), &["--far-name", "far"]);
        assert_eq!(user(&near), expected, "{version:?}");
    }
    // The server's capabilities are passed on, unless hidden.
    let port = free_port();
    let _far = setup.far(&server, port, &[]);
    for (hidden, more) in [(false, &[][..]), (true, &["--hide-tls"][..])] {
        let near = setup.near(&[port], more);
        let mut stream = UnixStream::connect(&near.socket).expect("connected");
        let mut greeting = [0; 128];
        let count = stream.read(&mut greeting).expect("a greeting");
        let version = greeting[5..count].iter().position(|byte| *byte == 0).expect("a version");
        // After it: thread id, challenge, zero; CLIENT_SSL is in the second byte of the capabilities.
        let ssl = greeting[5 + version + 1 + 14] & 0x08 != 0;
        assert_eq!(ssl, !hidden, "{greeting:x?}");
        assert_eq!(near.value(&server, "SELECT 1"), "1");
    }
}

#[test]
fn systemd_is_notified_and_its_sockets_are_used() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let site = Site::on(Kind::MariaDb1011, &[], &[]);
    let (socket, reported) = (site.setup.path("activated"), site.setup.path("notify"));
    let notified = std::os::unix::net::UnixDatagram::bind(&reported).expect("bound");
    notified.set_read_timeout(Some(limit(20))).expect("set");
    // As systemd does: the listener is descriptor 3.
    let program = "import os, socket, sys\n\
                   s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(64)\n\
                   os.dup2(s.fileno(), 3); os.set_inheritable(3, True); os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))\n\
                   os.execv(sys.argv[2], sys.argv[2:])";
    let far = format!("localhost:{}", site.far_port);
    let near = site.setup.command("near", "app", &["--listen", "/nonexistent/unused", "--far", &far]);
    let mut command = Command::new("python3");
    command.args(["-c", program]).arg(&socket).arg(near.get_program()).args(near.get_args());
    let mut running = command.env("NOTIFY_SOCKET", &reported).spawn().expect("it starts");
    let mut said = [0; 64];
    let count = notified.recv(&mut said).expect("it tells");
    assert_eq!(&said[..count], b"READY=1");
    let mut client = UnixStream::connect(&socket).expect("connected");
    assert_eq!(first_byte(&mut client), Some(10));
    drop(client);
    let pid = rustix::process::Pid::from_child(&running);
    rustix::process::kill_process(pid, Signal::TERM).expect("it runs");
    let count = notified.recv(&mut said).expect("it tells");
    assert_eq!(&said[..count], b"STOPPING=1");
    assert!(running.wait().expect("it ends").success());
    assert!(socket.exists(), "the socket is systemd's");
}

#[test]
fn a_far_end_without_room_for_more_links_is_not_down() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let server = Server::builder(Kind::MariaDb1011).start().expect("it starts");
    let (setup, port) = (Setup::new(), free_port());
    let _far = setup.far(&server, port, &["--max-links", "2"]);
    let near = setup.near(&[port], &["--warm-max", "0", "--wait", "20s"]);
    let mut held: Vec<UnixStream> = (0..2).map(|_| UnixStream::connect(&near.socket).expect("connected")).collect();
    held.iter_mut().for_each(|client| assert_eq!(first_byte(client), Some(10)));
    let mut client = near.client(&server, "root", "");
    let waits = thread::spawn(move || succeeds(client.args(["-e", "SELECT 1"])));
    assert!(eventually(|| near.counted("link_failures_total") >= 4), "{}", near.end.log());
    let failures = near.counted("link_failures_total");
    // Hardly anything happens in the meantime.
    thread::sleep(Duration::from_secs(2));
    assert!(near.counted("link_failures_total") <= failures + 4, "failed links are not retried constantly");
    drop(held.pop());
    assert_eq!(waits.join().expect("it ends"), "1\n");
    assert_eq!((near.counted("far_in_use"), near.counted("failovers_total")), (1, 0), "{}", near.end.log());
    assert_eq!(near.counted("clients_refused_total"), 0, "{}", near.end.log());
}

#[test]
fn silent_clients_block_nobody() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let server = Server::builder(Kind::MariaDb1011).start().expect("it starts");
    let (setup, port) = (Setup::new(), free_port());
    let far = setup.far(&server, port, &["--handshake-timeout", "60s", "--max-handshakes", "8"]);
    let _silent: Vec<TcpStream> =
        (0..50).map(|_| TcpStream::connect(("127.0.0.1", port)).expect("connected")).collect();
    let near = setup.near(&[port], &[]);
    assert_eq!(near.value(&server, "SELECT 1"), "1", "{}", far.log());
    assert_eq!(near.counted("link_failures_total"), 0, "{}", near.end.log());
}

#[test]
fn slow_clients_block_nobody() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let server = Server::builder(Kind::MariaDb1011).start().expect("it starts");
    let (setup, port) = (Setup::new(), free_port());
    let far = setup.far(&server, port, &["--handshake-timeout", "60s", "--max-handshakes", "8"]);
    let mut slow: Vec<TcpStream> =
        (0..50).map(|_| TcpStream::connect(("127.0.0.1", port)).expect("connected")).collect();
    // The start of a record that is never completed.
    let mut say = |byte: u8| slow.iter_mut().for_each(|stream| _ = stream.write_all(&[byte]));
    [0x16, 3, 1, 2, 0, 1].into_iter().for_each(&mut say);
    let near = setup.near(&[port], &[]);
    assert_eq!(near.value(&server, "SELECT 1"), "1", "{}", far.log());
    say(0);
    assert_eq!(near.value(&server, "SELECT 2"), "2", "{}", far.log());
    assert_eq!(near.counted("link_failures_total"), 0, "{}", near.end.log());
}

#[test]
fn a_second_signal_to_stop_ends_sessions_at_once() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    // Together they would wait longer than the test.
    let server = Server::builder(Kind::MariaDb1011).option("--connect-timeout=600").start().expect("it starts");
    let (setup, port) = (Setup::new(), free_port());
    let far = setup.far(&server, port, &["--drain", "600s"]);
    let near = setup.near(&[port], &["--drain", "600s"]);
    let mut held = UnixStream::connect(&near.socket).expect("connected");
    assert_eq!(first_byte(&mut held), Some(10));
    for mut end in [near.end, far] {
        let sessions = end.log().matches("sessions to end").count();
        end.signal(Signal::TERM);
        // The far end may have no session left to wait for.
        assert!(eventually(|| end.is_over() || end.log().matches("sessions to end").count() > sessions));
        if !end.is_over() {
            end.signal(Signal::TERM);
        }
        assert!(end.ended().is_some_and(|status| status.success()), "{}", end.log());
    }
}

#[test]
fn a_client_that_left_while_waiting_gets_no_connection() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let site = Site::on(Kind::MariaDb1011, &[], &["--warm-max", "0", "--wait", "60s"]);
    assert_eq!(site.value("SELECT 1"), "1");
    site.far.signal(Signal::STOP);
    let gone: Vec<UnixStream> = (0..30).map(|_| UnixStream::connect(&site.near.socket).expect("connected")).collect();
    assert!(eventually(|| site.near.counted("clients_total") >= 31));
    let sessions = site.near.counted("sessions_total");
    drop(gone);
    site.far.signal(Signal::CONT);
    assert!(eventually(|| site.near.said(&site.server, "SELECT 2").0), "{}", site.near.end.log());
    assert!(site.near.counted("sessions_total") <= sessions + 3, "{}", site.near.counted("sessions_total"));
}

/// Writable memory of a process.
fn memory_of(pid: i32) -> Vec<u8> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("it runs");
    let memory = fs::File::open(format!("/proc/{pid}/mem")).expect("root may read it");
    let mut all = Vec::new();
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let range = line.split([' ', '-']).take(2).map(|text| u64::from_str_radix(text, 16).expect("an address"));
        let [from, to] = range.collect::<Vec<_>>().try_into().expect("two");
        let mut bytes = vec![0; usize::try_from(to - from).expect("it fits")];
        if memory.read_exact_at(&mut bytes, from).is_ok() {
            all.append(&mut bytes);
        }
    }
    all
}

#[test]
fn private_keys_are_not_left_in_memory_in_their_file_format() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    if !rustix::process::geteuid().is_root() {
        return harness::skip("only root may read the memory of a process that forbids dumps");
    }
    let site = Site::on(Kind::MariaDb1011, &[], &[]);
    for (name, end) in [("far", &site.far), ("app", &site.near.end)] {
        assert_eq!(site.value("SELECT 1"), "1");
        end.signal(Signal::HUP);
        end.wait_for(&|log| log.contains("certificates reloaded"));
        let pem = fs::read_to_string(site.setup.path(&format!("{name}.key"))).expect("read");
        let pair = rcgen::KeyPair::from_pem(&pem).expect("a key");
        let scalar = harness::find(pair.serialized_der(), &[2, 1, 1, 4, 32]).expect("a scalar");
        let line = pem.lines().nth(1).expect("a line").as_bytes();
        let memory = memory_of(end.pid());
        assert!(harness::contains(&memory, b"ca.pem"), "what is there is found");
        for secret in [&pair.serialized_der()[scalar + 5..][..32], &line[40..60]] {
            assert!(!harness::contains(&memory, secret), "{name}: a key is in memory");
        }
    }
}

#[test]
fn hostile_bytes_at_both_ends_change_nothing() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let server = Server::builder(Kind::MariaDb1011).start().expect("it starts");
    let (setup, port) = (Setup::new(), free_port());
    let far = setup.far(&server, port, &["--handshake-timeout", "1s", "--max-handshakes-per-address", "8"]);
    let near = setup.near(&[port], &[]);
    assert_eq!(near.value(&server, "SELECT 1"), "1");
    let open = far.descriptors();
    let mut hello = vec![0x16, 3, 1, 0x40, 0];
    hello.extend(std::iter::repeat_n(0xaa, 0x4000));
    let hostile: [&[u8]; 6] =
        [b"", b"GET / HTTP/1.0\r\n\r\n", &[0; 5000], &[0xff; 70000], &hello, &[0x16, 3, 3, 0, 1, 9]];
    for bytes in hostile.iter().cycle().take(60) {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
            let _ = stream.write_all(bytes);
        }
        let mut client = UnixStream::connect(&near.socket).expect("connected");
        let _ = client.write_all(bytes);
    }
    // Peers that send nothing occupy a connection only briefly, and only a few handshakes.
    let silent: Vec<TcpStream> = (0..100).filter_map(|_| TcpStream::connect(("127.0.0.1", port)).ok()).collect();
    for mut stream in silent {
        let _ = stream.set_read_timeout(Some(limit(20)));
        let mut rest = Vec::new();
        assert!(!matches!(stream.read_to_end(&mut rest), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock));
    }
    assert!(eventually(|| near.said(&server, "SELECT 2").0), "{}\n{}", near.end.log(), far.log());
    // Idle links stay for a while.
    let resting = || usize::try_from(near.counted("idle") + near.counted("warm")).expect("a few");
    let held = || format!("{} descriptors, {} links rest", far.descriptors(), resting());
    assert!(eventually(|| far.descriptors() <= open + resting() + 10), "{}", held());
}
