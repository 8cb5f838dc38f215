//! `sealant sniff` and `audit --sniff` between two hosts: one side runs in a network namespace, and real servers
//! replicate, join, transfer their state, and are reached through a tunnel.

use harness::certs::{Authority, Profile, TlsFiles};
use harness::galera::{SetUp, wait_until_synced};
use harness::group::{self, Group};
use harness::{Kind, Replication, Server, require};
use serde_json::Value;
use server::ProviderOptions;
use tempfile::TempDir;

use crate::sniff::{audited_with, watched_at};
use crate::support::namespace::Namespace;
use crate::support::sst::Programs;
use crate::support::tunnel::{Setup, free_port};

fn certificate() -> (TempDir, TlsFiles) {
    let directory = tempfile::tempdir().expect("a directory");
    let authority = Authority::create(directory.path()).expect("an authority");
    let files = authority.issue("node", &Profile::default()).expect("a certificate");
    (directory, files)
}

/// What crosses between the hosts while `traffic` runs.
fn between(namespace: &Namespace, ports: &[u16], traffic: impl FnOnce()) -> Value {
    watched_at(&namespace.interface(), ports, traffic).expect("root makes namespaces").0
}

/// Protocol and state of each row at a port.
fn at_port(report: &Value, port: u16) -> Vec<[&str; 2]> {
    let ends = format!(":{port}");
    let rows = report["traffic"].as_array().expect("rows").iter();
    let there = rows.filter(|row| row["server"].as_str().is_some_and(|server| server.ends_with(&ends)));
    there.map(|row| ["protocol", "state"].map(|field| row[field].as_str().expect("text"))).collect()
}

/// Asserts that there is traffic at the port, all of it so.
#[track_caller]
fn all_at_port(report: &Value, port: u16, protocol: &str, state: &str) {
    let seen = at_port(report, port);
    assert!(!seen.is_empty() && seen.iter().all(|row| *row == [protocol, state]), "{port}: {report:#}");
}

#[test]
fn a_replica_on_another_host_is_judged_by_its_packets() {
    let (Some(_), Some(namespace)) = (require(Kind::MySql97), Namespace::new()) else { return };
    let (_directory, files) = certificate();
    let source = Server::builder(Kind::MySql97).tls(&files);
    let source = source.options(["--bind-address=*", "--log-bin=binlog", "--server-id=1"]).start().expect("it starts");
    source.sql("CREATE DATABASE d; CREATE TABLE d.t (c TEXT)").expect("a table");
    let replica = Server::builder(Kind::MySql97).option("--server-id=2").in_namespace(namespace.name());
    let mut replica = replica.start().expect("it starts");
    let from = format!("SOURCE_HOST='{}'", namespace.address());
    let how = Replication { clauses: vec![from], ..Replication::default() };
    replica.replicate_from(&source, &how).expect("it replicates");
    let write = || drop(source.sql("INSERT INTO d.t VALUES ('rowvalue')").expect("written"));

    let audit = audited_with(&source, &namespace, write);
    let found = audit.findings("wire-plaintext");
    let [finding] = &found[..] else { panic!("{found:#?} {}", audit.stderr) };
    let artefact =
        format!("replication from {} to {}:{}", namespace.address_there(), namespace.address(), source.port());
    assert_eq!((&finding["status"], &finding["grade"]), (&"FAIL".into(), &"wire".into()), "{finding:#}");
    assert_eq!(finding["artefact"], artefact, "{finding:#}");
    assert!(!audit.json.to_string().contains("rowvalue"), "{:#}", audit.json);

    replica.sql("STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_SSL=1; START REPLICA").expect("changed");
    replica.catch_up_with(&source).expect("it catches up");
    let audit = audited_with(&source, &namespace, write);
    assert_eq!(audit.statuses("wire-plaintext"), ["PASS"], "{:#}", audit.json);
}

/// Lets a node on another host join by this method; returns what crosses, and the ports of group and transfer.
fn joined(namespace: &Namespace, method: &str, provider_options: &str) -> Option<(Value, u16, u16)> {
    require(Kind::MariaDb1011)?.galera_provider()?;
    let (programs, transfer) = (Programs::new(), free_port());
    let mut cluster =
        SetUp::new(Kind::MariaDb1011).method(method).programs(programs.path()).start(0).expect("no node yet");
    let mut donor =
        cluster.prepare_at(&namespace.address().to_string(), provider_options, |node| node).expect("prepared");
    donor.start().and_then(|()| wait_until_synced(&donor)).expect("it starts");
    donor.sql("CREATE DATABASE d; CREATE TABLE d.t (c TEXT); INSERT INTO d.t VALUES ('rowvalue')").expect("a table");
    let there = namespace.address_there().to_string();
    let receives = format!("--wsrep-sst-receive-address={there}:{transfer}");
    let joiner = |node: harness::ServerBuilder| node.in_namespace(namespace.name()).option(receives);
    let mut joiner = cluster.prepare_at(&there, provider_options, joiner).expect("prepared");
    let options = donor.value("SELECT @@wsrep_provider_options").expect("a value");
    let address = ProviderOptions::parse(&options).get("gmcast.listen_addr").map(str::to_owned).expect("an address");
    let group = address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let report = between(namespace, &[group, transfer], || {
        let joined = joiner.start().and_then(|()| wait_until_synced(&joiner));
        assert!(joined.is_ok(), "{joined:?}\n{}\n{}", donor.error_log(), joiner.error_log());
        donor.sql("INSERT INTO d.t VALUES ('rowvalue')").expect("written");
    });
    assert!(!report.to_string().contains("rowvalue"), "{report:#}");
    Some((report, group, transfer))
}

#[test]
fn a_node_that_joins_by_rsync_without_tls_is_seen_in_clear() {
    let Some(namespace) = Namespace::new() else { return };
    let Some((report, group, transfer)) = joined(&namespace, "rsync", "socket.ssl=no") else { return };
    all_at_port(&report, group, "galera", "clear");
    assert!(at_port(&report, transfer).contains(&["rsync", "clear"]), "{report:#}");
}

#[test]
fn a_node_that_joins_by_sealant_is_seen_encrypted_even_if_its_group_is_clear() {
    let Some(namespace) = Namespace::new() else { return };
    let Some((report, group, transfer)) = joined(&namespace, "sealant", "socket.ssl=no") else { return };
    all_at_port(&report, group, "galera", "clear");
    all_at_port(&report, transfer, "tls", "encrypted");
    let rows = report["traffic"].as_array().expect("rows");
    let of_transfer = rows.iter().find(|row| row["protocol"] == "tls").expect("a row");
    assert_eq!(of_transfer["tls"]["version"], "TLSv1.3", "{of_transfer:#}");
}

#[test]
fn a_node_whose_group_has_tls_is_seen_encrypted() {
    let Some(namespace) = Namespace::new() else { return };
    let (_directory, files) = certificate();
    let (key, cert, ca) = (files.key.display(), files.cert.display(), files.ca.display());
    let ssl = format!("socket.ssl=yes;socket.ssl_key={key};socket.ssl_cert={cert};socket.ssl_ca={ca}");
    let Some((report, group, transfer)) = joined(&namespace, "sealant", &ssl) else { return };
    all_at_port(&report, group, "tls", "encrypted");
    all_at_port(&report, transfer, "tls", "encrypted");
    assert_eq!(report["verdict"], "encrypted", "{report:#}");
}

/// Lets a member on another host join a group with this mode of TLS; returns what crosses, and the group's port.
fn grouped(mode: &str) -> Option<(Value, u16)> {
    require(Kind::MySql97)?;
    let namespace = Namespace::new()?;
    let group = Group::at([namespace.address(), namespace.address_there()]).expect("ports");
    let with = |first, id: &str| {
        let member = Server::builder(Kind::MySql97).options(["--bind-address=*", &format!("--server-id={id}")]);
        let member = member.option(format!("--loose-group-replication-ssl-mode={mode}"));
        let member = group.member(first, member).option("--loose-group-replication-recovery-use-ssl=ON");
        let member = if first { member } else { member.in_namespace(namespace.name()) };
        member.start().expect("it starts")
    };
    let (first, mut second) = (with(true, "1"), with(false, "2"));
    group::begin(&first).expect("a group");
    let address = first.value("SELECT @@group_replication_local_address").expect("an address");
    let port = address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let report = between(&namespace, &[port], || group::join(&first, &mut second).expect("it joins"));
    Some((report, port))
}

#[test]
fn a_group_without_tls_is_seen_in_clear() {
    let Some((report, port)) = grouped("DISABLED") else { return };
    all_at_port(&report, port, "group_replication", "clear");
}

#[test]
fn a_group_with_tls_is_seen_encrypted() {
    let Some((report, port)) = grouped("REQUIRED") else { return };
    all_at_port(&report, port, "tls", "encrypted");
}

#[test]
fn a_tunnel_between_hosts_is_seen_encrypted() {
    let (Some(_), Some(namespace)) = (require(Kind::MySql97), Namespace::new()) else { return };
    let server = Server::builder(Kind::MySql97).start().expect("it starts");
    let (setup, port) = (Setup::new(), free_port());
    setup.cert(&["issue", "--dir", setup.dir(), "--name", "host", "--san", &namespace.address().to_string()]);
    let far = format!("{}:{port}", namespace.address());
    let socket = server.socket().to_str().expect("a short path");
    let _far = setup.end("far", "host", &["--listen", &far, "--server", socket, "--allow", "app"]);
    let near = setup.path("near");
    let listen = near.to_str().expect("a short path");
    let report = between(&namespace, &[port], || {
        let command = setup.command("near", "app", &["--listen", listen, "--far", &far]);
        let end = setup.start("near", namespace.inside(&command));
        let mut client = server.client();
        let output = client.arg("--socket").arg(&near).args(["-e", "SELECT 'rowvalue'"]).output().expect("it starts");
        assert!(output.status.success(), "{}\n{}", String::from_utf8_lossy(&output.stderr), end.log());
    });
    all_at_port(&report, port, "tls", "encrypted");
    assert!(!report.to_string().contains("rowvalue"), "{report:#}");
}
