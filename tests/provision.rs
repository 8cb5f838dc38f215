//! `sealant provision`: copies of running servers become replicas and group members.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use harness::certs::{Authority, Profile};
use harness::{KeyringLocation, Kind, Server, ServerBuilder, TlsFiles, limit, require, wait_until};
use tempfile::TempDir;

use crate::support::moving::Receiving;
use crate::support::sealant;
use crate::support::unchanged::{Load, Volume, options, prepare};

/// Certificates, passwords and received copies.
struct Desk {
    dir: TempDir,
    tls: TlsFiles,
}

impl Desk {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let authority = Authority::create(dir.path()).expect("an authority");
        let profile =
            Profile { alternative_names: Some("IP:127.0.0.1,DNS:localhost".to_owned()), ..Profile::default() };
        let tls = authority.issue("server", &profile).expect("a certificate");
        fs::write(dir.path().join("pw"), "It's-\\Repl-1\n").expect("room");
        Self { dir, tls }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Sends a running server's data to this host.
    fn copy_of(&self, server: &Server, name: &str) -> PathBuf {
        let into = self.path(name);
        let receiving = Receiving::begin(&into, &[]);
        let mut send = sealant();
        // A disk that is busy for a second must not end this test.
        send.args(["send", "--live", "--max-freeze", "20s", "--datadir"]).arg(server.datadir()).arg(&receiving.code);
        let sent = send.output().expect("the binary starts");
        let (code, stderr) = receiving.end();
        assert_eq!((sent.status.code(), code), (Some(0), 0), "{}\n{stderr}", said(&sent));
        into
    }

    fn provision(&self, source: &Server, new: &Server, role: &str, more: &[&str]) -> Output {
        let mut command = self.provision_unverified(source, new, role);
        command.arg("--replication-ca").arg(&self.tls.ca);
        if !more.contains(&"--replication-password-file") {
            command.arg("--replication-password-file").arg(self.path("pw"));
        }
        command.args(more).output().expect("the binary starts")
    }

    /// Without verification of the source by the new server.
    fn provision_unverified(&self, source: &Server, new: &Server, role: &str) -> Command {
        let mut command = sealant();
        command.args(["provision", "--source", &format!("mysql://admin@127.0.0.1:{}", source.port()), "--role", role]);
        command.arg("--into").arg(new.datadir()).arg("--socket").arg(new.socket());
        command.arg("--password-file").arg(self.path("pw")).arg("--tls-ca").arg(&self.tls.ca);
        command.args(["--replication-user", "repl"]);
        command
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const ACCOUNTS: &str = "CREATE USER admin@'%' IDENTIFIED BY 'It''s-\\\\Repl-1' REQUIRE SSL; \
     CREATE USER repl@'%' IDENTIFIED BY 'It''s-\\\\Repl-1' REQUIRE SSL; \
     GRANT REPLICATION SLAVE ON *.* TO repl@'%';";

fn checksums(server: &Server) -> String {
    server.sql("CHECKSUM TABLE bank.account, bank.journal").expect("checksums")
}

/// Asserts that rows written on `source` after the copy arrive on `new`, and that both hold the same.
fn assert_follows(source: &Server, new: &Server, load: Load) {
    load.goes_on(50);
    drop(load);
    source.sql("INSERT INTO bank.journal VALUES (99, 1, 'after the copy')").expect("written");
    let count = "SELECT COUNT(*) FROM bank.journal WHERE writer = 99";
    let has_come = || new.value(count).expect("it answers") == "1";
    wait_until("a row that was written after the copy", limit(60), has_come);
    assert_eq!(checksums(source), checksums(new));
}

#[test]
fn an_encrypted_mysql_gets_a_replica() {
    let (Some(_), Some(volume)) = (require(Kind::MySql97), Volume::new("xfs", 2048)) else { return };
    let desk = Desk::new();
    let builder = |keyring: &str| {
        let encrypted = ["--innodb-redo-log-encrypt=ON", "--innodb-undo-log-encrypt=ON", "--binlog-encryption=ON"];
        let keyring = KeyringLocation::Path(desk.path(keyring));
        Server::builder(Kind::MySql97)
            .options(options(Kind::MySql97))
            .options(encrypted)
            .tls(&desk.tls)
            .keyring(keyring)
    };
    let source = builder("keyring").within(volume.path()).start().expect("it starts");
    source.sql(ACCOUNTS).expect("accounts");
    prepare(&source, "ENCRYPTION='Y'");
    let load = Load::start(&source, 4);
    load.goes_on(200);
    let copy = desk.copy_of(&source, "copy");
    fs::copy(desk.path("keyring"), desk.path("keyring2")).expect("copied");
    let new = builder("keyring2").datadir_seed(copy).start().expect("the copy starts");
    follows(&desk, &source, &new, load);
    again(&desk, &source, &new);
    let link = "SELECT CONCAT(SSL_ALLOWED, SSL_VERIFY_SERVER_CERTIFICATE, AUTO_POSITION) \
                FROM performance_schema.replication_connection_configuration";
    assert_eq!(new.value(link).expect("it answers"), "YESYES1");

    purge(&source);
    let later = builder("keyring2").datadir_seed(desk.path("copy")).start().expect("the copy starts");
    refuses(&desk, &source, &later, "has purged the binary logs since the copy");
    later.sql("CREATE DATABASE after_join").expect("written");
    refuses(&desk, &source, &later, "has transactions that the source does not have");
    later.sql("RESET BINARY LOGS AND GTIDS").expect("reset");
    refuses(&desk, &source, &later, "there is no position to start from");
}

fn follows(desk: &Desk, source: &Server, new: &Server, load: Load) {
    let unverified = desk.provision_unverified(source, new, "replica").output().expect("the binary starts");
    assert_eq!((unverified.status.code(), unverified.stdout.as_slice()), (Some(1), b"".as_slice()));
    assert!(said(&unverified).contains("can get the replication password"), "{}", said(&unverified));
    let mut risky = desk.provision_unverified(source, new, "replica");
    let risky = risky.arg("--insecure-unverified-source").output().expect("the binary starts");
    assert_eq!(risky.status.code(), Some(0), "{}", said(&risky));
    assert!(String::from_utf8_lossy(&risky.stdout).contains("_SSL_VERIFY_SERVER_CERT=0"));
    let shown = desk.provision(source, new, "replica", &[]);
    assert_eq!(shown.status.code(), Some(0), "{}", said(&shown));
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(text.contains("_SSL=1") && text.contains("_PASSWORD='…'") && !text.contains("Repl-1"), "{text}");
    let done = desk.provision(source, new, "replica", &["--yes"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(!said(&done).contains("Repl-1"), "{}", said(&done));
    assert_follows(source, new, load);
}

/// Sets up an existing replica again, as for the copy of a replica.
fn again(desk: &Desk, source: &Server, new: &Server) {
    let done = desk.provision(source, new, "replica", &["--yes"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    source.sql("INSERT INTO bank.journal VALUES (98, 1, 'after the second time')").expect("written");
    let done = desk.provision(source, new, "replica", &["--yes"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(new.value("SELECT COUNT(*) FROM bank.journal WHERE writer = 98").expect("it answers"), "1");
}

fn refuses(desk: &Desk, source: &Server, new: &Server, why: &str) {
    let refused = desk.provision(source, new, "replica", &["--yes"]);
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    assert!(said(&refused).contains(why), "{}", said(&refused));
}

/// Purges binary logs. A log that is being sent to a replica is kept, so it retries until none is in use.
fn purge(source: &Server) {
    wait_until("no binary log is in use", limit(60), || {
        source.sql("FLUSH BINARY LOGS; PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY").expect("purged");
        source.sql("SHOW BINARY LOGS").expect("listed").lines().count() == 1
    });
}

#[test]
fn a_mariadb_gets_a_replica() {
    for kind in [Kind::MariaDb1011, Kind::MariaDb118] {
        let (Some(_), Some(volume)) = (require(kind), Volume::new("btrfs", 2048)) else { return };
        let desk = Desk::new();
        fs::write(desk.path("keys.txt"), "1;770a8a65da156d24ee2a093277530142\n").expect("room");
        let encrypted = [
            "--log-slave-updates=ON".to_owned(),
            "--plugin-load-add=file_key_management".to_owned(),
            format!("--file-key-management-filename={}", desk.path("keys.txt").display()),
            "--innodb-encrypt-tables=FORCE".to_owned(),
            "--innodb-encrypt-log=ON".to_owned(),
            "--encrypt-binlog=ON".to_owned(),
        ];
        let builder = || Server::builder(kind).options(options(kind)).options(encrypted.clone()).tls(&desk.tls);
        let source = builder().within(volume.directory("s")).start().expect("it starts");
        source.sql(ACCOUNTS).expect("accounts");
        source.sql("GRANT BINLOG MONITOR ON *.* TO admin@'%'").expect("granted");
        prepare(&source, "ENCRYPTED=YES");
        let load = Load::start(&source, 4);
        load.goes_on(200);
        let new = builder().datadir_seed(desk.copy_of(&source, "copy")).start().expect("the copy starts");
        follows(&desk, &source, &new, load);
        again(&desk, &source, &new);

        // Transactions that the replica applied without logging them would be applied twice.
        let silent = || builder().option("--log-slave-updates=OFF");
        let silent = silent().datadir_seed(desk.path("copy")).start().expect("the copy starts");
        let done = desk.provision(&source, &silent, "replica", &["--yes"]);
        assert_eq!(done.status.code(), Some(0), "{}", said(&done));
        refuses(&desk, &source, &silent, "would be applied twice");

        drop((new, silent));
        purge(&source);
        let later = builder().datadir_seed(desk.path("copy")).start().expect("the copy starts");
        refuses(&desk, &source, &later, "has purged the binary logs since the copy");

        let bare = Server::builder(kind).tls(&desk.tls).start().expect("it starts");
        refuses(&desk, &source, &bare, "there is no position to start from");
    }
}

/// A member of a group on 127.0.0.1.
fn member(desk: &Desk, port: u16, seeds: &str) -> ServerBuilder {
    let current = ["--binlog-checksum=NONE", "--report-host=127.0.0.1", "--plugin-load-add=group_replication.so"];
    let keyring = KeyringLocation::Path(desk.path(&format!("keyring-{port}")));
    let server = Server::builder(Kind::MySql97).options(options(Kind::MySql97)).tls(&desk.tls).keyring(keyring);
    let encrypted = ["--innodb-redo-log-encrypt=ON", "--innodb-undo-log-encrypt=ON", "--binlog-encryption=ON"];
    server.options(current).options(encrypted).options([
        "--loose-group-replication-group-name=5ea1a1a1-0000-4000-8000-000000000001".to_owned(),
        format!("--loose-group-replication-local-address=127.0.0.1:{port}"),
        format!("--loose-group-replication-group-seeds={seeds}"),
        "--loose-group-replication-start-on-boot=OFF".to_owned(),
        "--loose-group-replication-ssl-mode=REQUIRED".to_owned(),
        "--loose-group-replication-recovery-use-ssl=ON".to_owned(),
        "--loose-group-replication-ip-allowlist=127.0.0.1/8".to_owned(),
    ])
}

#[test]
fn a_copy_of_a_member_joins_the_group() {
    let (Some(_), Some(volume)) = (require(Kind::MySql97), Volume::new("xfs", 2048)) else { return };
    let desk = Desk::new();
    let [one, two] = [(); 2].map(|()| harness::free_port().expect("a port"));
    let seeds = format!("127.0.0.1:{one},127.0.0.1:{two}");
    let source = member(&desk, one, &seeds).within(volume.path()).start().expect("it starts");
    source.sql(ACCOUNTS).expect("accounts");
    source.sql("GRANT GROUP_REPLICATION_STREAM, CONNECTION_ADMIN ON *.* TO repl@'%'").expect("granted");
    let boot = "SET GLOBAL group_replication_bootstrap_group=ON; START GROUP_REPLICATION; \
                SET GLOBAL group_replication_bootstrap_group=OFF";
    source.sql(boot).expect("a group");
    prepare(&source, "ENCRYPTION='Y'");
    let load = Load::start(&source, 3);
    load.goes_on(100);
    let copy = desk.copy_of(&source, "copy");
    let keyring = |port: u16| desk.path(&format!("keyring-{port}"));
    fs::copy(keyring(one), keyring(two)).expect("copied");
    let new = member(&desk, two, &seeds).datadir_seed(copy).start().expect("the copy starts");
    let provision = |more: &[&str]| {
        let output = desk.provision(&source, &new, "group-member", more);
        (output.status.code(), said(&output), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    // With a wrong password the group expels it; that does not prevent the next attempt.
    new.sql("SET GLOBAL group_replication_recovery_retry_count = 1").expect("set");
    fs::write(desk.path("wrong"), "wrong").expect("room");
    let wrong = desk.path("wrong").display().to_string();
    let (code, said, _) = provision(&["--yes", "--replication-password-file", &wrong]);
    assert_eq!(code, Some(1), "{said}");
    let (code, said, _) = provision(&["--yes"]);
    assert_eq!(code, Some(0), "{said}\n{}", new.error_log());
    assert!(said.contains("is ONLINE in the group"), "{said}");
    // Nor does an earlier successful run.
    for more in [&["--yes"][..], &[]] {
        let (code, said, statements) = provision(more);
        assert_eq!((code, statements.as_str()), (Some(0), ""), "{said}");
        assert!(said.contains("is a member of the group already, ONLINE"), "{said}");
    }
    assert!(new.error_log().contains("Incremental recovery"), "{}", new.error_log());
    assert_follows(&source, &new, load);
    let kept = "SELECT COUNT(*) FROM performance_schema.persisted_variables \
                WHERE VARIABLE_NAME LIKE 'group_replication_recovery_ssl_%'";
    assert_eq!(new.value(kept).expect("it answers"), "2", "later recoveries verify, too");
}

#[test]
fn a_stopped_server_and_a_galera_node_get_advice() {
    let datadir = tempfile::tempdir().expect("a directory");
    fs::write(datadir.path().join("ibdata1"), "").expect("room");
    let run = |role: &str| {
        let into: &Path = datadir.path();
        let args = ["provision", "--source", "mysql://admin@127.0.0.1:1", "--role", role, "--replication-user", "r"];
        sealant().args(args).arg("--into").arg(into).output().expect("the binary starts")
    };
    let down = run("replica");
    assert_eq!(down.status.code(), Some(1));
    assert!(said(&down).contains("no server runs on it"), "{}", said(&down));
    let galera = run("galera");
    assert_eq!(galera.status.code(), Some(2));
    assert!(said(&galera).contains("wsrep_sst_method=sealant"), "{}", said(&galera));
}
