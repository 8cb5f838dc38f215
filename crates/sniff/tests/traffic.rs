//! Captures real servers and clients on the loopback interface: their protocols are recognised, and whether others can
//! read them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use harness::certs::{Authority, Profile, TlsFiles};
use harness::galera::{SetUp, wait_until_synced};
use harness::group::{self, Group};
use harness::{Kind, Replication, Server, ServerBuilder, require};
use server::ProviderOptions;
use sniff::{Outcome, Ports, Protocol, Service, State, Traffic, Verdict, watch};

/// Captures packets of these ports while `traffic` runs; `None` if this process lacks the permission.
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
    // A server may still send after its client has ended. Packets that the kernel has queued when the flag is set are
    // still read.
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

/// Asserts that nothing in the outcome, evidence included, contains these texts, as text or in hexadecimal.
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

const SOURCE: [&str; 2] = ["--log-bin=binlog", "--server-id=1"];

const CHANGES: &str = "CREATE OR REPLACE DATABASE d; CREATE TABLE d.t (c TEXT); INSERT INTO d.t VALUES ('rowvalue')";

fn certificate() -> (tempfile::TempDir, TlsFiles) {
    let directory = tempfile::tempdir().expect("a directory");
    let authority = Authority::create(directory.path()).expect("an authority");
    let files = authority.issue("node", &Profile::default()).expect("a certificate");
    (directory, files)
}

#[test]
fn replication_is_told_apart_by_its_command_or_by_tls() {
    let (_directory, files) = certificate();
    for kind in [Kind::MySql97, Kind::MariaDb1011] {
        let Some(_) = require(kind) else { continue };
        for tls in [false, true] {
            let source = Server::builder(kind).options(SOURCE).tls(&files).start().expect("it starts");
            let mut replica = Server::builder(kind).option("--server-id=2").start().expect("it starts");
            let how = Replication { tls, user: "wirename".to_owned(), ..Replication::default() };
            let Some(outcome) = seen(&[source.port()], || {
                replica.replicate_from(&source, &how).expect("it replicates");
                source
                    .sql("CREATE DATABASE d; CREATE TABLE d.t (c TEXT); INSERT INTO d.t VALUES ('rowvalue')")
                    .expect("done");
                replica.catch_up_with(&source).expect("it catches up");
            }) else {
                return;
            };
            if tls {
                assert_eq!(outcome.verdict, Verdict::Encrypted, "{kind:?}: {outcome:#?}");
                assert!(!rows(&outcome, Protocol::Mysql, State::Encrypted).is_empty(), "{kind:?}: {outcome:#?}");
            } else {
                let clear = rows(&outcome, Protocol::Replication, State::Clear);
                assert_eq!(clear.len(), 1, "{kind:?}: {outcome:#?}");
                assert!(clear[0].evidence.iter().any(|seen| seen.meaning.starts_with("COM_")), "{kind:?}: {clear:#?}");
            }
            holds_none_of(&outcome, &["wirename", "Replica-1", "rowvalue"]);
        }
    }
}

#[test]
fn a_replica_that_is_set_to_tls_is_clear_if_its_source_has_no_certificate() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let source = Server::builder(Kind::MariaDb1011).options(SOURCE).start().expect("it starts");
    let mut replica = Server::builder(Kind::MariaDb1011).option("--server-id=2").start().expect("it starts");
    let how = Replication { tls: true, ..Replication::default() };
    let Some(outcome) = seen(&[source.port()], || replica.replicate_from(&source, &how).expect("it replicates")) else {
        return;
    };
    let declared = replica.sql("SHOW ALL SLAVES STATUS").expect("a status");
    assert!(declared.contains("\tYes\t"), "{declared}");
    assert_eq!(rows(&outcome, Protocol::Replication, State::Clear).len(), 1, "{outcome:#?}");
}

#[test]
fn a_session_that_was_there_before_is_recognised() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let (_directory, files) = certificate();
    let source = Server::builder(Kind::MariaDb1011).options(SOURCE).tls(&files).start().expect("it starts");
    for tls in [false, true] {
        let mut replica = Server::builder(Kind::MariaDb1011).option("--server-id=2").start().expect("it starts");
        replica.replicate_from(&source, &Replication { tls, ..Replication::default() }).expect("it replicates");
        let Some(outcome) = seen(&[source.port()], || {
            source.sql(CHANGES).expect("done");
            replica.catch_up_with(&source).expect("it catches up");
        }) else {
            return;
        };
        let (protocol, state) =
            if tls { (Protocol::Tls, State::Encrypted) } else { (Protocol::Replication, State::Clear) };
        assert_eq!(rows(&outcome, protocol, state).len(), 1, "tls: {tls}: {outcome:#?}");
        holds_none_of(&outcome, &["rowvalue"]);
    }
}

/// Lets a second node join a cluster of one node with a full state transfer by this method. Returns the capture of the
/// Galera and state transfer ports of both.
fn joined(method: &str, provider_options: &str, option_file: &str) -> Option<Outcome> {
    let account = "--wsrep-sst-auth=transfer:Transfer-1";
    let set_up = SetUp::new(Kind::MariaDb1011).method(method).option_file(option_file).options([account]);
    let mut cluster = set_up.start(0).expect("no node yet");
    // Uses an option file, since mariadb-backup does not know all options on a server's command line.
    let mut donor = cluster.prepare_with(provider_options, ServerBuilder::by_option_file).expect("prepared");
    donor.start().and_then(|()| wait_until_synced(&donor)).expect("it starts");
    let grants = "CREATE USER transfer@localhost IDENTIFIED BY 'Transfer-1'; GRANT ALL ON *.* TO transfer@localhost";
    donor.sql(grants).expect("made");
    let (transfer, ist) = (harness::free_port().expect("a port"), harness::free_port().expect("a port"));
    let more = format!("ist.recv_addr=127.0.0.1:{ist};{provider_options}");
    let receives = format!("--wsrep-sst-receive-address=127.0.0.1:{transfer}");
    let by_file = |builder: ServerBuilder| builder.by_option_file().option(receives);
    let mut joiner = cluster.prepare_with(&more, by_file).expect("prepared");
    let options = donor.value("SELECT @@wsrep_provider_options").expect("a value");
    let address = ProviderOptions::parse(&options).get("gmcast.listen_addr").map(str::to_owned).expect("an address");
    let group = address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let outcome = seen(&[group, transfer, ist], || {
        let joined = joiner.start().and_then(|()| wait_until_synced(&joiner));
        assert!(joined.is_ok(), "{joined:?}\n{}", donor.error_log());
        let statements = "CREATE DATABASE d; CREATE TABLE d.t (c TEXT); INSERT INTO d.t VALUES ('rowvalue')";
        donor.sql(statements).expect("done");
    })?;
    holds_none_of(&outcome, &["rowvalue"]);
    let on_port = |port| outcome.traffic.iter().filter(move |row| row.server.port() == port);
    assert!(on_port(group).count() > 0 && on_port(transfer).count() > 0, "{outcome:#?}");
    Some(outcome)
}

fn galera_is_installed() -> bool {
    require(Kind::MariaDb1011).is_some_and(|binaries| binaries.galera_provider().is_some())
}

#[test]
fn galera_and_transfers_by_rsync_and_mariabackup_are_seen_in_clear() {
    if !galera_is_installed() {
        return;
    }
    for (method, protocol) in [("rsync", Protocol::Rsync), ("mariabackup", Protocol::Xbstream)] {
        let Some(outcome) = joined(method, "socket.ssl=no", "") else { return };
        assert!(!rows(&outcome, Protocol::Galera, State::Clear).is_empty(), "{outcome:#?}");
        assert!(!rows(&outcome, protocol, State::Clear).is_empty(), "{method}: {outcome:#?}");
        assert_eq!((outcome.connections.encrypted, outcome.connections.unknown), (0, 0), "{method}: {outcome:#?}");
    }
}

#[test]
fn galera_with_tls_and_a_transfer_by_socat_with_tls_are_seen_encrypted() {
    if !galera_is_installed() {
        return;
    }
    let (_directory, files) = certificate();
    let (key, cert, ca) = (files.key.display(), files.cert.display(), files.ca.display());
    let ssl = format!("socket.ssl=yes;socket.ssl_key={key};socket.ssl_cert={cert};socket.ssl_ca={ca}");
    let sst = format!("[sst]\nencrypt=4\ntkey={key}\ntcert={cert}\ntca={ca}\n");
    let Some(outcome) = joined("mariabackup", &ssl, &sst) else { return };
    assert_eq!(outcome.verdict, Verdict::Encrypted, "{outcome:#?}");
    assert!(rows(&outcome, Protocol::Tls, State::Encrypted).len() >= 2, "{outcome:#?}");
}

#[test]
fn group_replication_is_seen_in_clear_and_encrypted() {
    let Some(_) = require(Kind::MySql97) else { return };
    for (mode, state) in [("DISABLED", State::Clear), ("REQUIRED", State::Encrypted)] {
        let group = Group::new().expect("ports");
        let with = |first, id: &str| {
            let builder = Server::builder(Kind::MySql97).option(format!("--server-id={id}"));
            let builder = builder.option(format!("--loose-group-replication-ssl-mode={mode}"));
            group
                .member(first, builder)
                .option("--loose-group-replication-recovery-use-ssl=ON")
                .start()
                .expect("it starts")
        };
        let (first, mut second) = (with(true, "1"), with(false, "2"));
        group::begin(&first).expect("a group");
        let address = first.value("SELECT @@group_replication_local_address").expect("an address");
        let port = address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        let Some(outcome) = seen(&[port], || group::join(&first, &mut second).expect("it joins")) else { return };
        let protocol = if state == State::Clear { Protocol::GroupReplication } else { Protocol::Tls };
        assert!(!rows(&outcome, protocol, state).is_empty(), "{mode}: {outcome:#?}");
        assert_eq!(outcome.connections.unknown, 0, "{mode}: {outcome:#?}");
    }
}
