//! The collectors against real servers.
#![allow(clippy::unwrap_used, reason = "a helper's failure is the test's failure")]

use std::fs;
use std::path::Path;

use audit::collect::{LiveOptions, OfflineOptions, live, offline};
use audit::facts::Facts;
use audit::facts::files::{Content, FileFact, FileFacts};
use audit::facts::host::Role;
use audit::facts::sql::QueryOutcome;
use harness::{KeyringLocation, Kind, Server};
use server::{Endpoint, Options, Password, Target, TlsMode};

const PASSWORD: &str = "Correct-Horse-7";
const KEY: &str = "0123456789abcdef0123456789abcdef";

fn target(user: &str, endpoint: Endpoint) -> Target {
    Target { endpoint, user: user.to_owned() }
}

fn by_socket(server: &Server, user: &str, password: Option<&str>) -> LiveOptions<'static> {
    let connect = Options { password: password.map(Password::new), ..Options::default() };
    LiveOptions::new(target(user, Endpoint::Socket(server.socket().to_owned())), connect)
}

fn by_tcp(server: &Server, user: &str, password: &str) -> LiveOptions<'static> {
    let mut connect = Options { password: Some(Password::new(password)), ..Options::default() };
    if server.kind() == Kind::MariaDb1011 {
        connect.tls.mode = Some(TlsMode::Off);
        connect.allow_plaintext_tcp = true;
    } else {
        connect.tls.ca_file = Some(server.datadir().join("ca.pem"));
    }
    LiveOptions::new(target(user, Endpoint::tcp("127.0.0.1", server.port())), connect)
}

fn files(facts: &Facts) -> &FileFacts {
    facts.files.as_ref().unwrap_or_else(|| panic!("no files: {:?}", facts.gaps))
}

fn named<'f>(facts: &'f Facts, name: &str) -> &'f FileFact {
    files(facts).files.iter().find(|file| file.name == name).unwrap_or_else(|| panic!("no file {name}"))
}

/// Facts survive being saved and loaded, and hold no secret.
fn assert_harmless(facts: &Facts) {
    let json = serde_json::to_string(facts).unwrap();
    let again: Facts = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), json);
    for secret in [PASSWORD, KEY, "sealant-row-value"] {
        assert!(!json.contains(secret), "facts contain {secret}");
    }
}

/// Only a clean shutdown guarantees that a new tablespace's pages are on disk.
fn with_pages_on_disk(mut server: Server) -> Server {
    server.restart_with(&[]).unwrap();
    server
}

fn mysql() -> Server {
    let server = Server::builder(Kind::MySql97).keyring(KeyringLocation::InDatadir).start().unwrap();
    let statements = format!(
        "CREATE DATABASE d; CREATE TABLE d.clear (a VARCHAR(100)); INSERT INTO d.clear VALUES ('sealant-row-value');
         CREATE TABLE d.secret (a VARCHAR(100)) ENCRYPTION='Y'; INSERT INTO d.secret VALUES ('sealant-row-value');
         CREATE TABLE d.isam (a VARCHAR(100)) ENGINE=MyISAM; INSERT INTO d.isam VALUES ('sealant-row-value');
         CREATE USER audit@localhost IDENTIFIED BY '{PASSWORD}';
         CREATE USER audit@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';
         GRANT PROCESS, REPLICATION CLIENT ON *.* TO audit@localhost, audit@'127.0.0.1';
         GRANT SELECT ON performance_schema.* TO audit@localhost, audit@'127.0.0.1';"
    );
    server.sql(&statements).unwrap();
    with_pages_on_disk(server)
}

#[test]
fn mysql_is_seen_from_all_sides() {
    if harness::require(Kind::MySql97).is_none() {
        return;
    }
    let server = mysql();
    fs::write(server.dir().join("backup.sql"), "-- MySQL dump 10.13\nCREATE TABLE t (a int);\n").unwrap();
    let mut options = by_socket(&server, "root", None);
    options.backup_dirs = vec![server.dir().join("backups")];
    fs::create_dir(server.dir().join("backups")).unwrap();
    fs::copy(server.dir().join("backup.sql"), server.dir().join("backups/a.sql")).unwrap();
    let facts = live(&options).unwrap();
    assert_harmless(&facts);

    let process = facts.host.as_ref().unwrap().process.as_ref().unwrap();
    assert_eq!((Some(process.pid.unsigned_abs()), process.found_by.as_str()), (server.pid(), "socket peer"));
    assert!(process.listeners.iter().any(|listener| listener.ends_with(&format!(":{}", server.port()))));

    let encrypted = |name: &str| match &named(&facts, name).content {
        Content::Tablespace { scan } => scan.page0.declares_encryption(),
        other => panic!("{name}: {other:?}"),
    };
    assert!(!encrypted("d/clear.ibd"));
    assert!(encrypted("d/secret.ibd"));
    assert!(matches!(&named(&facts, "d/isam.MYD").content, Content::PlainTable { engine } if engine == "MyISAM"));
    assert!(matches!(named(&facts, "component_keyring_file.keys").content, Content::KeyStore { .. }));
    assert!(matches!(named(&facts, "ca-key.pem").content, Content::PrivateKey { encrypted: false }));
    assert!(matches!(named(&facts, "server-cert.pem").content, Content::Certificates { .. }));
    assert!(matches!(&named(&facts, "a.sql").content, Content::Backup { backup } if backup.readable == Some(true)));
    let all = &files(&facts).files;
    assert!(all.iter().any(|file| matches!(file.content, Content::Redo { .. })));
    assert!(all.iter().any(|file| matches!(file.content, Content::Doublewrite { .. })));
    assert!(all.iter().any(|file| matches!(file.content, Content::BinaryLog { .. }) && file.role == Role::BinaryLog));
    let unread: Vec<&FileFact> = all.iter().filter(|file| matches!(file.content, Content::Unreadable { .. })).collect();
    assert!(unread.is_empty(), "{unread:?}");
    let unknown: Vec<&str> = all
        .iter()
        .filter(|file| matches!(file.content, Content::Unknown { .. }))
        .map(|file| file.name.as_str())
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert_eq!(files(&facts).server_uuid, facts.sql.as_ref().unwrap().identity.server_uuid);
    assert_eq!(files(&facts).unlinked_unseen, None);

    let wire = facts.wire.as_ref().unwrap();
    assert!(wire.classic.as_ref().unwrap().probe.reachable);
    assert!(wire.x.as_ref().unwrap().probe.reachable);
    assert_eq!(wire.chain.as_ref().unwrap().error, None);
    let modes = &facts.host.as_ref().unwrap().modes;
    assert!(modes.iter().any(|mode| mode.what == "keyring" && mode.mode.is_some()));
    assert!(modes.iter().any(|mode| mode.what == "ca key"));
}

#[test]
fn least_privileges_and_tcp_find_the_same_server() {
    if harness::require(Kind::MySql97).is_none() {
        return;
    }
    let server = mysql();
    let mut options = by_tcp(&server, "audit", PASSWORD);
    options.plaintext_probe = true;
    let facts = live(&options).unwrap();
    assert_harmless(&facts);
    let sql = facts.sql.as_ref().unwrap();
    assert!(sql.tablespaces().unwrap().iter().any(|space| space.name == "d/secret" && space.encrypted == "Y"));
    assert!(sql.session.tls.is_some());
    let accounts = &sql.answers["accounts"];
    assert!(matches!(accounts.outcome, QueryOutcome::Failed { code, .. } if code != 0), "{:?}", accounts.outcome);
    assert!(accounts.needs.contains("SELECT"));
    let process = facts.host.as_ref().unwrap().process.as_ref().unwrap();
    assert_eq!((Some(process.pid.unsigned_abs()), process.found_by.as_str()), (server.pid(), "listening socket"));
}

#[test]
fn mariadb_is_seen_from_all_sides() {
    if harness::require(Kind::MariaDb1011).is_none() {
        return;
    }
    let server = Server::builder(Kind::MariaDb1011)
        .mariadb_keys(&format!("1;{KEY}\n"))
        .options(["--innodb-encrypt-tables=ON", "--aria-encrypt-tables=ON", "--log-bin=bin", "--general-log=ON"])
        .start()
        .unwrap();
    let statements = format!(
        "CREATE DATABASE d; CREATE TABLE d.secret (a VARCHAR(100)) ENCRYPTED=YES; INSERT INTO d.secret VALUES ('sealant-row-value');
         CREATE TABLE d.aria (a VARCHAR(100)) ENGINE=Aria; INSERT INTO d.aria VALUES ('sealant-row-value');
         CHANGE MASTER TO MASTER_HOST='192.0.2.1', MASTER_USER='r', MASTER_PASSWORD='{PASSWORD}';
         CREATE USER audit@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; GRANT PROCESS, REPLICATION CLIENT, REPLICA MONITOR ON *.* TO audit@'127.0.0.1';
         FLUSH TABLES;"
    );
    server.sql(&statements).unwrap();
    let server = with_pages_on_disk(server);
    for options in [by_socket(&server, "root", None), by_tcp(&server, "audit", PASSWORD)] {
        let facts = live(&options).unwrap();
        assert_harmless(&facts);
        assert!(facts.host.as_ref().unwrap().process.is_some());
        assert!(matches!(named(&facts, "d/aria.MAD").content, Content::AriaData { .. }));
        assert!(matches!(named(&facts, "d/secret.ibd").content, Content::Tablespace { .. }));
        assert!(matches!(named(&facts, "master.info").content, Content::ReplicaState { password: true }));
        let key = files(&facts).files.iter().find(|file| file.role == Role::Key).unwrap();
        assert!(matches!(key.content, Content::KeyStore { .. }), "{:?}", key.content);
        let general = files(&facts)
            .files
            .iter()
            .find(|file| matches!(&file.content, Content::TextLog { log } if log == "general"));
        assert_eq!(general.unwrap().role, Role::Log);
    }
}

#[test]
fn a_stopped_server_is_read_offline() {
    if harness::require(Kind::MySql97).is_none() {
        return;
    }
    let mut server = mysql();
    server.stop().unwrap();
    let facts = offline(server.datadir(), &OfflineOptions { deep: true, ..OfflineOptions::default() }).unwrap();
    assert_harmless(&facts);
    match &named(&facts, "d/secret.ibd").content {
        Content::Tablespace { scan } => assert!(scan.complete && scan.counts.clear_data == 0),
        other => panic!("{other:?}"),
    }
    assert!(files(&facts).server_uuid.is_some());
    let proof = files(&facts).key_proofs.iter().find(|proof| proof.path.ends_with("d/secret.ibd")).unwrap();
    assert_eq!(proof.opens, Some(true), "{proof:?}");
    exchange_keys(&server.datadir().join("component_keyring_file.keys"));
    let facts = offline(server.datadir(), &OfflineOptions::default()).unwrap();
    let proof = files(&facts).key_proofs.iter().find(|proof| proof.path.ends_with("d/secret.ibd")).unwrap();
    assert_eq!(proof.opens, Some(false), "{proof:?}");
}

/// Replaces the keys under the same names.
fn exchange_keys(path: &Path) {
    let mut store: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    for element in store["elements"].as_array_mut().unwrap() {
        element["data"] = serde_json::Value::String("0123456789ABCDEF".repeat(4));
    }
    fs::write(path, store.to_string()).unwrap();
}

#[test]
fn another_servers_directory_is_refused() {
    if harness::require(Kind::MySql97).is_none() {
        return;
    }
    let (server, other) = (mysql(), mysql());
    let mut options = by_socket(&server, "root", None);
    options.wire = false;
    options.datadir = Some(other.datadir().to_owned());
    let facts = live(&options).unwrap();
    assert!(facts.files.is_none());
    assert!(
        facts.gaps.iter().any(|gap| gap.what == "files" && gap.why.contains("belongs to server")),
        "{:?}",
        facts.gaps
    );
}

#[test]
fn a_directory_of_something_else_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("notes.txt"), "hello\n").unwrap();
    assert!(offline(dir.path(), &OfflineOptions::default()).is_err());
    assert!(offline(Path::new("/nowhere/at/all"), &OfflineOptions::default()).is_err());
}
