//! The trap suite: configurations that some checker, or the server itself, judges wrongly.
//!
//! Each test creates one on a real server and requires the verdict that the bytes on disk and on the network prove.

use std::fs;

use harness::certs::{Authority, Profile};
use harness::galera::Cluster;
use harness::{KeyringLocation, Kind, Replication, Server, limit, require, wait_until};

use crate::support::Audit;

/// Key files of MariaDB's `file_key_management`: throw-away keys.
const MARIADB_KEYS: &str = "1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n\
                            2;8a1f0c3c5e2d4b6a7988776655443322\n";

/// Everything that MariaDB can encrypt.
const MARIADB_ALL_ON: [&str; 9] = [
    "--innodb-encrypt-tables=ON",
    "--innodb-encrypt-log=ON",
    "--innodb-encrypt-temporary-tables=ON",
    "--innodb-encryption-threads=4",
    "--encrypt-binlog=ON",
    "--encrypt-tmp-files=ON",
    "--encrypt-tmp-disk-tables=ON",
    "--aria-encrypt-tables=ON",
    "--log-bin=mbin",
];

fn mysql(keyring: KeyringLocation) -> Option<Server> {
    require(Kind::MySql97)?;
    Some(Server::builder(Kind::MySql97).keyring(keyring).start().expect("MySQL 9.7 starts"))
}

fn mariadb(options: &[&str]) -> Option<Server> {
    require(Kind::MariaDb1011)?;
    let builder = Server::builder(Kind::MariaDb1011).mariadb_keys(MARIADB_KEYS).options(options.iter().copied());
    Some(builder.start().expect("MariaDB 10.11 starts"))
}

/// Enough rows to fill pages, undo and logs.
fn fill(server: &Server, table: &str, options: &str) {
    server
        .sql(&format!(
            "CREATE DATABASE IF NOT EXISTS demo; \
             CREATE TABLE demo.{table} (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(200), KEY(name)) {options}; \
             INSERT INTO demo.{table}(name) VALUES {}; \
             INSERT INTO demo.{table}(name) SELECT CONCAT(name, id) FROM demo.{table}; \
             INSERT INTO demo.{table}(name) SELECT CONCAT(name, id) FROM demo.{table}; \
             INSERT INTO demo.{table}(name) SELECT CONCAT(name, id) FROM demo.{table}; \
             UPDATE demo.{table} SET name = CONCAT('sealant-updated-', name);",
            vec!["('sealant-marker-of-a-row-in-clear')"; 200].join(",")
        ))
        .expect("the table is filled");
}

#[test]
fn trap_01_everything_switched_on_leaves_clear_pages_behind() {
    let Some(mut server) = mysql(KeyringLocation::Beside) else { return };
    fill(&server, "t", "");
    // A slot that was written in clear twice stays clear: with new slots in use, it would be random whether an old one
    // remains.
    server.restart_with(&["--innodb-doublewrite=OFF"]).expect("restarts");
    server
        .sql(
            "SET PERSIST default_table_encryption=ON; ALTER DATABASE demo DEFAULT ENCRYPTION='Y'; \
             ALTER TABLE demo.t ENCRYPTION='Y'; ALTER TABLESPACE mysql ENCRYPTION='Y'; \
             SET PERSIST innodb_undo_log_encrypt=ON; SET PERSIST innodb_redo_log_encrypt=ON; \
             SET PERSIST binlog_encryption=ON; \
             UPDATE demo.t SET name = CONCAT('again-', name) LIMIT 50;",
        )
        .expect("all switches are on");
    let audit = Audit::live(&server);
    audit.fails("rest-page-plaintext", "undo_00");
    audit.fails("rest-redo-plaintext", "#ib_redo");
    audit.fails("rest-binlog-plaintext", "000001");
    audit.fails("rest-doublewrite-plaintext", ".dblwr");
    audit.fails("ev-mismatch", "undo_00");
    audit.passes("rest-table-plaintext");
    assert_eq!(audit.code, 3);
}

#[test]
fn trap_02_a_schema_made_earlier_makes_clear_tables() {
    let Some(server) = mysql(KeyringLocation::Beside) else { return };
    server
        .sql("CREATE DATABASE early; SET PERSIST default_table_encryption=ON; CREATE TABLE early.t (a INT)")
        .expect("the table is made");
    let audit = Audit::live(&server);
    audit.fails("rest-schema-default-no", "early");
    audit.fails("rest-table-plaintext", "early/t");
}

#[test]
fn trap_03_redo_encryption_without_keyring_stays_off() {
    let Some(server) = mysql(KeyringLocation::None) else { return };
    let _ = server.sql("SET GLOBAL innodb_redo_log_encrypt=ON");
    let audit = Audit::live(&server);
    audit.fails("key-not-loaded", "");
    audit.fails("rest-redo-plaintext", "");
}

#[test]
fn trap_04_mariadb_encrypts_nothing_without_threads() {
    let Some(server) = mariadb(&["--innodb-encryption-threads=0"]) else { return };
    fill(&server, "t", "");
    server.sql("SET GLOBAL innodb_encrypt_tables=ON").expect("the switch is on");
    let audit = Audit::live(&server);
    audit.fails("rest-encryption-threads-zero", "");
    audit.fails("rest-table-plaintext", "demo/t");
}

#[test]
fn trap_05_mariadb_leaves_aria_myisam_statistics_and_old_logs_in_clear() {
    let Some(mut server) = mariadb(&["--log-bin=mbin"]) else { return };
    server
        .sql(
            "CREATE DATABASE demo; CREATE TABLE demo.old_aria (a VARCHAR(100)) ENGINE=Aria; \
             INSERT INTO demo.old_aria VALUES (REPEAT('clear row ', 9)); \
             CREATE TABLE demo.isam (a VARCHAR(100)) ENGINE=MyISAM; INSERT INTO demo.isam VALUES (REPEAT('clear ', 9)); \
             CREATE TABLE demo.t (a VARCHAR(100)); INSERT INTO demo.t VALUES ('x'),('y'); \
             SET use_stat_tables=preferably; ANALYZE TABLE demo.t PERSISTENT FOR ALL; FLUSH TABLES",
        )
        .expect("the tables are filled");
    server.restart_with(&MARIADB_ALL_ON).expect("restarts with all switches on");
    server.sql("INSERT INTO demo.old_aria VALUES (REPEAT('more rows ', 9)); FLUSH TABLES").expect("writes");
    let audit = Audit::live(&server);
    audit.fails("rest-aria-plaintext", "demo/old_aria.MAD");
    audit.fails("rest-aria-plaintext", "column_stats.MAD");
    audit.fails("rest-aria-log-plaintext", "aria_log.00000001");
    audit.fails("rest-engine-cannot-encrypt", "demo/isam.MYD");
    audit.fails("rest-binlog-plaintext", "mbin.000001");
}

#[test]
fn trap_06_a_sort_spills_rows_of_an_encrypted_table() {
    let Some(server) = mysql(KeyringLocation::Beside) else { return };
    fill(&server, "t", "ENCRYPTION='Y'");
    server
        .sql("INSERT INTO demo.t(name) SELECT a.name FROM demo.t a, (SELECT 1 FROM demo.t LIMIT 30) b")
        .expect("grows");
    // The sort's file exists as long as its statement: a client that does not read the rows keeps it while the audit
    // runs.
    let mut client = server
        .client()
        .args(["--quick", "--batch", "-e"])
        .arg(
            "SET SESSION sort_buffer_size=32768; SET SESSION max_sort_length=1024; \
             SELECT SLEEP(0.5), x.name FROM (SELECT name FROM demo.t ORDER BY CONCAT(name, id), id LIMIT 40000) x",
        )
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the client starts");
    let audit = wait_until("rest-tmpfile-spill: FAIL", limit(60), || {
        let audit = Audit::live(&server);
        let fails = audit.statuses("rest-tmpfile-spill").contains(&"FAIL");
        if fails { Ok(audit) } else { Err(format!("{:?}", audit.findings("rest-tmpfile-spill"))) }
    });
    client.kill().expect("the client is ended");
    client.wait().expect("the client is ended");
    audit.fails("rest-tmpfile-spill", "");
}

#[test]
fn trap_07_a_server_without_have_ssl_has_tls() {
    let Some(server) = mysql(KeyringLocation::None) else { return };
    let audit = Audit::live(&server);
    audit.passes("tls-disabled");
    assert_eq!(audit.findings("tls-disabled")[0]["grade"], "wire");
}

#[test]
fn trap_08_mariadb_accounts_without_require_are_found() {
    let Some(server) = mariadb(&[]) else { return };
    server
        .sql("CREATE USER app@'%' IDENTIFIED BY 'x'; CREATE USER safe@'%' IDENTIFIED BY 'x' REQUIRE SSL")
        .expect("made");
    let audit = Audit::live(&server);
    audit.fails("tls-user-not-required", "'app'@'%'");
    let named = audit.findings("tls-user-not-required");
    assert!(named.iter().all(|f| !f["artefact"].as_str().is_some_and(|a| a.contains("safe"))), "{named:?}");
}

#[test]
fn trap_09_socket_ssl_no_is_not_yes() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let cluster = Cluster::start(1, "socket.ssl=no", &[]).expect("a node starts");
    let audit = Audit::live(&cluster.nodes[0]);
    audit.fails("galera-traffic-plaintext", "");
}

#[test]
fn trap_10_an_active_keyring_component_is_seen() {
    let Some(server) = mysql(KeyringLocation::Beside) else { return };
    Audit::live(&server).passes("key-not-loaded");
}

#[test]
fn trap_11_empty_tables_of_a_server_without_performance_schema_are_no_proof() {
    let Some(source) = mariadb(&["--log-bin=mbin", "--server-id=1"]) else { return };
    let Some(mut replica) = mariadb(&["--server-id=2", "--performance-schema=OFF"]) else { return };
    replica.replicate_from(&source, &Replication { tls: false, ..Replication::default() }).expect("replicates");
    let audit = Audit::live(&replica);
    audit.fails("repl-channel-plaintext", "");
    audit.unknown("tls-live-plaintext");
}

#[test]
fn trap_12_a_healthy_encrypted_directory_is_healthy() {
    let Some(mut server) = mysql(KeyringLocation::Beside) else { return };
    fill(&server, "t", "ENCRYPTION='Y'");
    server.stop().expect("stops cleanly");
    let audit = Audit::offline(server.datadir());
    let pages = audit.findings("rest-page-plaintext");
    assert!(pages.iter().all(|f| f["status"] != "FAIL"), "{pages:?}");
    let tables = audit.findings("rest-table-plaintext");
    assert!(tables.iter().all(|f| f["artefact"] != "demo/t.ibd" || f["status"] == "PASS"), "{tables:?}");
}

#[test]
fn trap_13_relative_certificate_paths_are_below_the_data_directory() {
    let Some(server) = mysql(KeyringLocation::None) else { return };
    let audit = Audit::live(&server);
    audit.passes("tls-cert-stale");
}

#[test]
fn trap_14_a_renewed_certificate_that_was_not_reloaded() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let authority = Authority::create(dir.path()).expect("an authority");
    let files = authority.issue("server", &Profile::default()).expect("a certificate");
    let server = Server::builder(Kind::MySql97).tls(&files).start().expect("starts");
    let newer = authority.issue("newer", &Profile::default()).expect("another certificate");
    fs::copy(&newer.cert, &files.cert).expect("replaced");
    fs::copy(&newer.key, &files.key).expect("replaced");
    let audit = Audit::live(&server);
    audit.fails("tls-cert-stale", "");
}

#[test]
fn trap_15_the_x_protocol_listens_everywhere() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let server = Server::builder(Kind::MySql97)
        .options(["--bind-address=127.0.0.1", "--mysqlx=ON", "--mysqlx-bind-address=*"])
        .start()
        .expect("starts");
    Audit::live(&server).fails("tls-xprotocol", "");
}

#[test]
fn trap_17_client_options_that_switch_verification_off() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let options = "[client]\nssl\ndisable-ssl-verify-server-cert\n";
    let server = Server::builder(Kind::MariaDb1011).option_file(options).start().expect("starts");
    Audit::live(&server).fails("tls-client-config-weak", "my.cnf");
}

#[test]
fn trap_18_the_replication_password_is_on_disk() {
    let (Some(source), Some(mut replica)) = (mysql(KeyringLocation::None), mysql(KeyringLocation::None)) else {
        return;
    };
    replica.replicate_from(&source, &Replication { tls: true, ..Replication::default() }).expect("replicates");
    Audit::live(&replica).fails("rest-repl-credential-clear", "");

    let Some(source) = mariadb(&["--log-bin=mbin", "--server-id=1"]) else { return };
    let Some(mut replica) = mariadb(&["--server-id=2"]) else { return };
    replica.replicate_from(&source, &Replication::default()).expect("replicates");
    let audit = Audit::live(&replica);
    audit.fails("rest-repl-credential-clear", "master.info");
    assert!(!audit.json.to_string().contains("Replica-1"), "the password itself is in the report");
}
