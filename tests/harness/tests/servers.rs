//! Tests of the harness with real servers. Tests of a server that is not installed are skipped, with a message.
#![allow(clippy::unwrap_used, reason = "what fails in a helper is a failed test as well")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use harness::certs::{Authority, KeyKind, Profile};
use harness::galera::Cluster;
use harness::{KeyringLocation, Kind, Replication, Server, free_port, limit, require, wait_until};

const MARIADB_KEYS: &str = "1;00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n";

fn starts_answers_and_stops(kind: Kind, version: &str) {
    if require(kind).is_none() {
        return;
    }
    let mut server = Server::builder(kind).start().unwrap();
    let (dir, pid) = (server.dir().to_owned(), server.pid().unwrap());
    assert!(server.value("SELECT VERSION()").unwrap().starts_with(version));
    server.stop().unwrap();
    assert!(!runs(pid));
    assert!(server.error_log().to_lowercase().contains("shutdown complete"));
    drop(server);
    assert!(!dir.exists());
}

#[test]
fn custom_builds_start_answer_and_stop() {
    for kind in Kind::custom_builds() {
        starts_answers_and_stops(kind, "");
    }
}

#[test]
fn a_missing_build_is_reported_with_its_variable() {
    for missing in Kind::custom_builds().filter_map(|kind| kind.locate().err()) {
        let message = missing.to_string();
        assert!(message.contains("set SEALANT_"), "{message}");
    }
    assert!(Kind::all().all(|kind| !kind.name().is_empty()));
}

#[test]
fn mysql_97_starts_answers_and_stops() {
    starts_answers_and_stops(Kind::MySql97, "");
}

#[test]
fn mariadb_1011_starts_answers_and_stops() {
    starts_answers_and_stops(Kind::MariaDb1011, "10.11.");
}

#[test]
fn mariadb_118_starts_answers_and_stops() {
    starts_answers_and_stops(Kind::MariaDb118, "11.8.");
}

#[test]
fn mysql_56_starts_answers_and_stops() {
    starts_answers_and_stops(Kind::MySql56, "5.6.");
}

#[test]
fn mysql_57_starts_answers_and_stops() {
    starts_answers_and_stops(Kind::MySql57, "5.7.");
}

#[test]
fn mysql_80_starts_answers_and_stops() {
    starts_answers_and_stops(Kind::MySql80, "8.0.");
}

#[test]
fn mariadb_114_starts_answers_and_stops() {
    starts_answers_and_stops(Kind::MariaDb114, "11.4.");
}

#[test]
fn two_servers_run_at_once_with_two_identities() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let first = Server::builder(Kind::MySql97).with_admin_port().start().unwrap();
    let second = Server::builder(Kind::MySql97).start().unwrap();
    let uuid = |server: &Server| server.value("SELECT @@server_uuid").unwrap();
    assert_ne!(uuid(&first), uuid(&second));
    assert_ne!(first.port(), second.port());
    let port = |server: &Server, variable| server.value(&format!("SELECT @@{variable}")).unwrap();
    assert_eq!(port(&first, "mysqlx_port"), first.x_port().unwrap().to_string());
    assert_eq!(port(&first, "admin_port"), first.admin_port().unwrap().to_string());
}

/// Starts processes at the same time, as a test runner does.
fn harnesses(test: &str, count: usize, set: impl Fn(&mut Command)) -> Vec<Child> {
    let begin = |_| {
        let mut harness = Command::new(std::env::current_exe().unwrap());
        harness.args(["--exact", test, "--ignored", "--nocapture"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        set(&mut harness);
        harness.spawn().unwrap()
    };
    (0..count).map(begin).collect()
}

#[test]
fn no_two_processes_get_the_same_port() {
    let mut harnesses = harnesses("helper_process_that_reserves_ports", 4, |_| {});
    let mut taken = Vec::new();
    for harness in &mut harnesses {
        let lines = BufReader::new(harness.stdout.take().unwrap()).lines().map_while(Result::ok);
        let ports = lines.filter_map(|line| line.split_once("port ")?.1.parse::<u16>().ok());
        taken.extend(ports.take(PORTS_OF_A_HARNESS));
    }
    assert_eq!(taken.len(), 4 * PORTS_OF_A_HARNESS);
    taken.sort_unstable();
    let same: Vec<_> = taken.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(same.is_empty(), "{same:?}");
    for mut harness in harnesses {
        harness.kill().unwrap();
        harness.wait().unwrap();
    }
}

/// More than the difference of their process ids, so that the processes would collide.
const PORTS_OF_A_HARNESS: usize = 300;

#[test]
#[ignore = "runs inside no_two_processes_get_the_same_port"]
fn helper_process_that_reserves_ports() {
    for _ in 0..PORTS_OF_A_HARNESS {
        println!("port {}", free_port().unwrap());
    }
    // The others choose ports while this process holds its own.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn several_processes_make_a_single_template() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(harness::cache().join("servers"), cache.path().join("servers")).unwrap();
    let harnesses = harnesses("helper_process_that_starts_a_server", 3, |harness| {
        harness.env("SEALANT_CACHE", cache.path());
    });
    // A second process that tries fails: it cannot take the place of the first.
    for harness in harnesses {
        let output = harness.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let templates = fs::read_dir(cache.path().join("templates")).unwrap().map(|entry| entry.unwrap().path());
    let directories: Vec<_> = templates.filter(|path| path.is_dir()).collect();
    assert_eq!(directories.len(), 1, "{directories:?}");
}

#[test]
#[ignore = "runs inside several_processes_make_a_single_template"]
fn helper_process_that_starts_a_server() {
    Server::builder(Kind::MariaDb1011).start().unwrap();
}

#[test]
fn data_survives_a_crash_and_a_restart_with_options() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let mut server = Server::builder(Kind::MariaDb1011).start().unwrap();
    server.sql("CREATE TABLE test.t (a INT); INSERT INTO test.t VALUES (7)").unwrap();
    server.kill();
    server.start().unwrap();
    server.restart_with(&["--max-connections=17", "--log-bin={dir}/log"]).unwrap();
    assert_eq!(server.value("SELECT a, @@max_connections FROM test.t").unwrap(), "7\t17");
    assert!(server.dir().join("log.000001").exists());
}

#[test]
fn persisted_variables_and_the_option_file_are_read() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let builder = Server::builder(Kind::MySql97).option_file("[mysqld]\nmax_connections=19\n");
    let mut server = builder.start().unwrap();
    server.sql("SET PERSIST default_table_encryption=ON").unwrap();
    server.restart_with(&[]).unwrap();
    let query = "SELECT @@max_connections, @@default_table_encryption";
    assert_eq!(server.value(query).unwrap(), "19\t1");
}

#[test]
fn the_data_directory_can_be_shaped_and_seeded() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let page_size = "--innodb-page-size=4k";
    let mut first = Server::builder(Kind::MySql97).init_option(page_size).start().unwrap();
    first.sql("CREATE DATABASE d; CREATE TABLE d.t SELECT 11 AS a").unwrap();
    first.stop().unwrap();
    let builder = Server::builder(Kind::MySql97).datadir_seed(first.datadir());
    let second = builder.init_option(page_size).start().unwrap();
    assert_eq!(second.value("SELECT a, @@innodb_page_size FROM d.t").unwrap(), "11\t4096");
}

#[test]
fn a_wrong_option_shows_the_error_log() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let error = Server::builder(Kind::MariaDb1011).option("--no-such-thing=1").start().unwrap_err();
    assert!(error.to_string().contains("no-such-thing"), "{error}");
}

#[test]
fn a_killed_harness_leaves_no_server() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let mut harness = harnesses("helper_process_that_is_killed_while_its_server_runs", 1, |_| {}).remove(0);
    let lines = BufReader::new(harness.stdout.take().unwrap()).lines();
    let pid = lines.map_while(Result::ok).find_map(|line| line.split_once("server pid ")?.1.parse().ok()).unwrap();
    assert!(runs(pid));
    harness.kill().unwrap();
    harness.wait().unwrap();
    wait_until("the server ends", limit(10), || !runs(pid));
}

#[test]
#[ignore = "runs inside a_killed_harness_leaves_no_server"]
fn helper_process_that_is_killed_while_its_server_runs() {
    let server = Server::builder(Kind::MariaDb1011).start().unwrap();
    println!("server pid {}", server.pid().unwrap());
    // It is killed; if the test process is killed before, it ends, too.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn mysql_97_encrypts_a_table_with_its_keyring() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let locations = [KeyringLocation::InDatadir, KeyringLocation::Path("{dir}/elsewhere.keys".into())];
    for (location, file) in locations.into_iter().zip(["data/component_keyring_file.keys", "elsewhere.keys"]) {
        let server = Server::builder(Kind::MySql97).keyring(location).start().unwrap();
        server.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT) ENCRYPTION='Y'").unwrap();
        assert!(server.dir().join(file).exists());
    }
}

#[test]
fn mysql_97_without_a_keyring_refuses_encryption() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let server = Server::builder(Kind::MySql97).start().unwrap();
    let statement = "CREATE DATABASE d; CREATE TABLE d.t (a INT) ENCRYPTION='Y'";
    let error = server.sql(statement).unwrap_err();
    assert!(error.to_string().contains("master key"), "{error}");
}

#[test]
fn mariadb_1011_encrypts_a_table_with_a_key_file() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let mut server = Server::builder(Kind::MariaDb1011).mariadb_keys(MARIADB_KEYS).start().unwrap();
    let marker = "plain-marker-0123456789";
    for (table, encrypted) in [("open", "NO"), ("closed", "YES")] {
        let columns = format!("(a VARCHAR(100)) ENGINE=InnoDB ENCRYPTED={encrypted}");
        server.sql(&format!("CREATE TABLE test.{table} {columns}")).unwrap();
        server.sql(&format!("INSERT INTO test.{table} VALUES ('{marker}')")).unwrap();
    }
    server.stop().unwrap();
    let shows = |table| contains(&server.datadir().join(format!("test/{table}.ibd")), marker);
    assert!(shows("open"));
    assert!(!shows("closed"));
}

#[test]
fn mariadb_118_serves_tls_with_the_given_certificate() {
    if require(Kind::MariaDb118).is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let tls = Authority::create(dir.path()).unwrap().issue("server", &Profile::default()).unwrap();
    let server = Server::builder(Kind::MariaDb118).tls(&tls).start().unwrap();
    server.sql("CREATE USER u@'127.0.0.1' IDENTIFIED BY 'p' REQUIRE SSL").unwrap();
    let mut client = Command::new(&server.binaries().client);
    client.args(["--no-defaults", "-N", "-h127.0.0.1", "-uu", "-pp", "-eSHOW STATUS LIKE 'Ssl_version'"]);
    client.arg(format!("--port={}", server.port()));
    client.arg(format!("--ssl-ca={}", tls.ca.display()));
    let output = harness::run(&mut client, b"", limit(20)).unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("TLSv1"));
}

#[test]
fn mysql_56_offers_tls() {
    if require(Kind::MySql56).is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let tls = Authority::create(dir.path()).unwrap().issue("server", &Profile::default()).unwrap();
    let server = Server::builder(Kind::MySql56).tls(&tls).start().unwrap();
    assert_eq!(server.value("SELECT @@have_ssl").unwrap(), "YES");
}

#[test]
fn a_replica_follows_its_source() {
    for kind in [Kind::MySql97, Kind::MariaDb1011, Kind::MariaDb118] {
        if require(kind).is_none() {
            continue;
        }
        let source = Server::builder(kind).option("--log-bin=binlog").start().unwrap();
        let mut replica = Server::builder(kind).start().unwrap();
        replica.replicate_from(&source, &Replication::default()).unwrap();
        source.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT); INSERT INTO d.t VALUES (3)").unwrap();
        replica.catch_up_with(&source).unwrap();
        assert_eq!(replica.value("SELECT a FROM d.t").unwrap(), "3");
    }
}

#[test]
fn a_galera_node_starts_and_another_joins_it() {
    let Some(binaries) = require(Kind::MariaDb1011) else { return };
    if binaries.galera_provider().is_none() {
        return;
    }
    let cluster = Cluster::start(2, "", &[]).unwrap();
    let [first, second] = cluster.nodes.as_slice() else { panic!("two nodes") };
    assert!(second.sql("SHOW STATUS LIKE 'wsrep_cluster_size'").unwrap().ends_with("\t2\n"));
    first.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY)").unwrap();
    first.sql("INSERT INTO d.t VALUES (5)").unwrap();
    assert_eq!(second.value("SET wsrep_sync_wait=1; SELECT a FROM d.t").unwrap(), "5");
}

#[test]
fn certificates_have_the_requested_faults() {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::create(dir.path()).unwrap();
    let good = Profile::default;
    let cases = [
        ("good", good(), "Version: 3"),
        ("short", Profile { key: KeyKind::Rsa1024, ..good() }, "Public-Key: (1024 bit)"),
        ("curve", Profile { key: KeyKind::P256, ..good() }, "prime256v1"),
        ("expired", Profile { expired: true, ..good() }, "Not After : Dec 31 00:00:00 2019"),
        ("sha1", Profile { sha1: true, ..good() }, "Signature Algorithm: sha1WithRSAEncryption"),
        ("version1", Profile { version1: true, ..good() }, "Version: 1"),
    ];
    for (name, profile, expected) in cases {
        let text = text(&authority.issue(name, &profile).unwrap().cert);
        assert!(text.contains(expected), "{name}: {text}");
    }
    let nameless = Profile { alternative_names: None, ..good() };
    assert!(!text(&authority.issue("nameless", &nameless).unwrap().cert).contains("DNS:"));
}

fn text(certificate: &Path) -> String {
    let output = Command::new("openssl").args(["x509", "-noout", "-text", "-in"]).arg(certificate).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn contains(file: &Path, marker: &str) -> bool {
    harness::contains(&fs::read(file).unwrap(), marker.as_bytes())
}

/// Zombies do not count: there may be no process left to reap them.
fn runs(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
}
