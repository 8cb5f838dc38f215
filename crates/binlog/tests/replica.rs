//! The stream of real servers, over verified TLS: every row that the server's own tool shows, exact positions and
//! GTIDs, and resumption after the connection or the server was lost.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::{path::PathBuf, time::Duration};

use binlog::{
    Body, Error, EventType, Limits,
    replica::{Replica, Settings, Start},
};
use harness::{
    KeyringLocation, Kind, Server,
    certs::{Authority, Profile},
    require,
};
use innodb::binlog::{FIRST_EVENT, LogPosition};
use server::{Password, Target, TlsMode};
use support::{
    logs, tool,
    verbose::{Family, Printer},
    workload,
};

const KEY: &str = "1;0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const GRANTS: &str =
    "CREATE USER repl@'%' IDENTIFIED BY 'secret' REQUIRE SSL; GRANT REPLICATION SLAVE ON *.* TO repl@'%';";

/// A server with encrypted logs, and the CA of its certificate.
struct Source {
    server: Server,
    ca: PathBuf,
    _directory: tempfile::TempDir,
}

fn start(kind: Kind) -> Option<Source> {
    require(kind)?;
    let directory = tempfile::tempdir().unwrap();
    let files = Authority::create(directory.path()).unwrap().issue("server", &Profile::default()).unwrap();
    let builder = Server::builder(kind).tls(&files).options(["--log-bin=binlog", "--binlog-format=ROW"]);
    let builder = match kind {
        kind if kind.is_mariadb() => builder.mariadb_keys(KEY).option("--encrypt-binlog=ON"),
        _ => builder.keyring(KeyringLocation::Beside).options([
            "--binlog-encryption=ON",
            "--gtid-mode=ON",
            "--enforce-gtid-consistency=ON",
        ]),
    };
    let server = builder.start().unwrap();
    server.sql(GRANTS).unwrap();
    Some(Source { server, ca: files.ca, _directory: directory })
}

impl Source {
    fn options(&self) -> server::Options {
        let mut options = server::Options { password: Some(Password::new(b"secret".to_vec())), ..Default::default() };
        options.tls.ca_file = Some(self.ca.clone());
        options.tls.mode = Some(TlsMode::VerifyIdentity);
        options
    }

    fn follow(&self, start: &Start) -> Result<Replica, Error> {
        let target: Target = format!("mysql://repl@127.0.0.1:{}", self.server.port()).parse().unwrap();
        let settings =
            Settings { server_id: 990_017, heartbeat: Duration::from_millis(200), limits: Limits::default() };
        Replica::connect(&target, &self.options(), start, &settings)
    }

    /// What the server has executed, as the progress of a stream writes it.
    fn executed(&self) -> String {
        let variable = if self.server.kind().is_mariadb() { "gtid_binlog_pos" } else { "gtid_executed" };
        let value = self.server.value(&format!("SELECT @@GLOBAL.{variable}")).unwrap();
        // The client writes line breaks as two characters.
        value.replace("\\n", "").replace('\n', "")
    }

    fn end(&self) -> LogPosition {
        let log = logs(&self.server).pop().unwrap();
        let file = log.file_name().unwrap().to_str().unwrap().to_owned();
        let statement =
            if self.server.kind() == Kind::MySql97 { "SHOW BINARY LOG STATUS" } else { "SHOW MASTER STATUS" };
        let status = self.server.sql(statement).unwrap();
        let offset = status.split('\t').nth(1).unwrap().parse().unwrap();
        LogPosition { file, offset }
    }

    /// The start after the transactions that a stream has delivered whole.
    fn behind(&self, replica: &Replica) -> Start {
        let progress = replica.progress();
        match self.server.kind().is_mariadb() {
            true => Start::MariaDb(progress.mariadb.clone()),
            false => Start::MySql(progress.mysql.clone()),
        }
    }
}

fn has(replica: &Replica, mariadb: bool) -> String {
    let progress = replica.progress();
    if mariadb { progress.mariadb.to_string() } else { progress.mysql.to_string() }
}

/// Reads until everything that the server has executed has come.
fn catch_up(source: &Source, replica: &mut Replica, printer: &mut Printer) {
    let mariadb = source.server.kind().is_mariadb();
    let executed = source.executed();
    let mut heartbeats = 0;
    while has(replica, mariadb) != executed {
        let inside = {
            let event = replica.next_event().unwrap().expect("the server goes on");
            heartbeats = if matches!(event.body, Body::Heartbeat(_)) { heartbeats + 1 } else { 0 };
            printer.event(&event)
        };
        printer.inside(replica.decoder(), &inside);
        assert!(heartbeats < 100, "{} and not {executed}", has(replica, mariadb));
    }
}

/// Reads to the end that the server or a kill sets; what came before is not compared.
fn read_to_the_end(replica: &mut Replica) {
    for _ in 0..1000 {
        match replica.next_event() {
            Ok(Some(_)) => {}
            Ok(None) | Err(Error::Server(_) | Error::Unavailable { .. }) => return,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the stream goes on");
}

fn inserts(server: &Server, from: u32, count: u32) {
    let statements: String = (from..from + count).map(|id| format!("INSERT INTO f.t VALUES ({id}, 'row');")).collect();
    server
        .sql(&format!(
            "CREATE DATABASE IF NOT EXISTS f; CREATE TABLE IF NOT EXISTS f.t (a INT PRIMARY KEY, b TEXT); {statements}"
        ))
        .unwrap();
}

fn stream(kind: Kind) {
    let Some(mut source) = start(kind) else { return };
    let family = if kind.is_mariadb() { Family::MariaDb } else { Family::MySql };
    let first = logs(&source.server).remove(0).file_name().unwrap().to_str().unwrap().to_owned();
    let mut replica = source.follow(&Start::Position(LogPosition { file: first, offset: FIRST_EVENT })).unwrap();
    assert!(replica.connection().tls().is_some());
    let mut printer = Printer::new(family);
    let workload = workload::statements(kind, 1);
    source.server.sql(&format!("{workload} FLUSH LOGS; SET GLOBAL binlog_checksum='NONE';")).unwrap();
    catch_up(&source, &mut replica, &mut printer);
    let more = if kind.is_mariadb() {
        "SET GLOBAL log_bin_compress=1"
    } else {
        "SET SESSION binlog_transaction_compression=ON"
    };
    let workload = workload::statements(kind, 1);
    source.server.sql(&format!("{more}; {workload} SET GLOBAL binlog_checksum='CRC32';")).unwrap();
    inserts(&source.server, 0, 3);
    catch_up(&source, &mut replica, &mut printer);
    assert_eq!(replica.progress().position, source.end());
    assert_eq!(replica.progress().boundary, source.end());
    let shown: Vec<_> =
        logs(&source.server).iter().flat_map(|log| tool::remote_rows(&source.server, log).unwrap()).collect();
    assert!(shown.len() > 10_000);
    for (ours, theirs) in printer.lines.iter().zip(&shown) {
        assert_eq!(String::from_utf8_lossy(ours), String::from_utf8_lossy(theirs));
    }
    assert_eq!(printer.lines.len(), shown.len());
    // The server has no events, so it sends heartbeats.
    loop {
        let event = replica.next_event().unwrap().unwrap();
        if let Body::Heartbeat(heartbeat) = event.body {
            assert_eq!(heartbeat.position, source.end().offset);
            break;
        }
    }

    // After the source has ended the connection, a new stream continues without a gap and repeats nothing.
    let threads = source.server.sql("SELECT id FROM information_schema.processlist WHERE user = 'repl'").unwrap();
    threads.lines().for_each(|id| drop(source.server.sql(&format!("KILL {id}")).unwrap()));
    read_to_the_end(&mut replica);
    inserts(&source.server, 100, 5);
    let mut resumed = source.follow(&source.behind(&replica)).unwrap();
    let mut printer = Printer::new(family);
    catch_up(&source, &mut resumed, &mut printer);
    assert_eq!(inserted(&printer), [100, 101, 102, 103, 104]);

    // The same, resumed by position instead of GTID.
    let by_position = Start::Position(resumed.progress().boundary.clone());
    source.server.restart_with(&[]).unwrap();
    read_to_the_end(&mut resumed);
    inserts(&source.server, 200, 2);
    let mut replica = source.follow(&by_position).unwrap();
    let mut printer = Printer::new(family);
    while inserted(&printer).len() < 2 {
        let event = replica.next_event().unwrap().expect("the server goes on");
        printer.event(&event);
    }
    assert_eq!(inserted(&printer), [200, 201]);
    assert!(printer.kinds.contains(&EventType::ROTATE));

    // A stream that begins in a purged log is refused.
    source.server.sql("FLUSH LOGS; FLUSH LOGS").unwrap();
    let last = source.end().file;
    source.server.sql(&format!("PURGE BINARY LOGS TO '{last}'")).unwrap();
    let mut late = source.follow(&by_position).unwrap();
    let refused = loop {
        match late.next_event() {
            Ok(Some(event)) => assert!(matches!(event.body, Body::Rotate(_))),
            Ok(None) => panic!("no error"),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::Unavailable { .. }), "{refused}");
}

/// Keys of the rows of `f.t`.
fn inserted(printer: &Printer) -> Vec<u32> {
    let keys = printer.lines.iter().filter_map(|line| str::from_utf8(line).ok()?.strip_prefix("###   @1="));
    keys.map(|key| key.parse().unwrap()).collect()
}

#[test]
fn the_stream_of_mysql_97_is_complete() {
    stream(Kind::MySql97);
}

#[test]
fn the_stream_of_mysql_80_is_complete() {
    stream(Kind::MySql80);
}

#[test]
fn the_stream_of_mariadb_1011_is_complete() {
    stream(Kind::MariaDb1011);
}

#[test]
fn the_stream_of_mariadb_118_is_complete() {
    stream(Kind::MariaDb118);
}

/// Without the right CA nothing is sent; without the privilege the hint names it.
#[test]
fn an_unverified_server_and_an_account_without_the_privilege_are_refused() {
    let Some(source) = start(Kind::MySql97) else { return };
    let other = tempfile::tempdir().unwrap();
    let mut options = source.options();
    options.tls.ca_file = Some(Authority::create(other.path()).unwrap().certificate());
    let target: Target = format!("mysql://repl@127.0.0.1:{}", source.server.port()).parse().unwrap();
    let settings = Settings { server_id: 990_018, heartbeat: Duration::from_secs(1), limits: Limits::default() };
    let start = Start::MySql("".parse().unwrap());
    let untrusted = Replica::connect(&target, &options, &start, &settings).unwrap_err();
    assert!(matches!(untrusted, Error::Server(server::Error::CertificateNotTrusted { .. })), "{untrusted}");

    source.server.sql("REVOKE REPLICATION SLAVE ON *.* FROM repl@'%'").unwrap();
    let denied = source.follow(&start).map(drop).unwrap_err();
    assert!(matches!(denied, Error::Privilege { .. }), "{denied}");
    assert!(denied.hint().unwrap_or_default().contains("REPLICATION SLAVE"), "{denied}");
}
