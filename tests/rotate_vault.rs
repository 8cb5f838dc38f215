//! `sealant rotate --mariadb-new-version` on a MariaDB whose keys are in a real HashiCorp Vault: the rotation happens and is
//! proven, or the run says what was not rotated.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use harness::faulty::{Fault, Seen};
use harness::{Kind, require};
use serde_json::json;

use crate::keys_in_vault::{FaultyVault, KEY_1, KEY_2, Site, read_keyring, table};
use crate::support::proof::Proof;
use crate::support::rotation::{Rotating, encrypting, end};
use crate::support::sealant;

/// Privileges for sealant: those for reading, and for a new version.
const WRITER: &str = "path \"mariadb/data/*\" { capabilities = [\"read\", \"update\"] }
    path \"mariadb/metadata/*\" { capabilities = [\"list\"] }";
const QUICK: &str = "--hashicorp-key-management-cache-version-timeout=500";
const SLOW: &str = "--hashicorp-key-management-cache-version-timeout=3600000";

/// The newest version of key 1 in the Vault.
fn newest(site: &Site) -> String {
    let json = site.vault(&["kv", "get", "-format=json", "mariadb/1"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    json["data"]["metadata"]["version"].to_string()
}

/// The versions of its key that a file needs.
fn versions(proof: &Proof, file: &str) -> serde_json::Value {
    proof.file(file)["key"]["versions"].clone()
}

#[test]
fn a_new_version_is_written_into_the_vault_and_proven_in_every_table() {
    let Some(site) = Site::start() else { return };
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    site.vault(&["secrets", "enable", "-path=mariadb", "-version=2", "kv"]);
    site.vault(&["kv", "put", "mariadb/1", KEY_1]);
    site.vault(&["kv", "put", "mariadb/2", KEY_2]);
    let reader = site.vault.token("mariadb", crate::keys_in_vault::POLICY, &[]).expect("a token");
    let writer = site.vault.token("writer", WRITER, &[]).expect("a token");
    let server = site.mariadb(&reader, &[QUICK]);
    let tables = [table("one", "ENCRYPTED=YES"), table("two", "ENCRYPTED=YES ENCRYPTION_KEY_ID=2")];
    server.sql(&format!("CREATE DATABASE demo; USE demo; {}", tables.concat())).expect("SQL");
    let sums = server.value("CHECKSUM TABLE demo.one").expect("a sum");
    let config = |name: &str, token: &str| site.with_token(name, "mariadb", token).display().to_string();
    let (reading, writing) = (config("reader.cnf", &reader), config("writer.cnf", &writer));
    let mut at = Rotating::on(server);

    at.run("no.age", &["--mariadb-new-version", "1"]).refused(
        1,
        "",
        "the configuration of the Vault, the KMIP service or AWS KMS, with --keyring",
    );
    let denied = at.run("denied.age", &["--mariadb-new-version", "1", "--keyring", &reading]);
    denied.refused(1, "mariadb/data/1: the Vault does not let this token write", "`update`");
    assert_eq!(newest(&site), "1");

    let report = at.run("one.age", &["--mariadb-new-version", "1", "--keyring", &writing]).is_done();
    assert_eq!(newest(&site), "2");
    assert_eq!(report["proofs"]["after"]["tablespaces_on_key_id"], 1, "{report:#}");
    let left = report["leftovers"].to_string();
    assert!(left.contains("redo log") && left.contains("Aria tables") && !left.contains("demo/"), "{left}");
    let proof = Proof::mariadb(&[at.server.datadir()], Some(Path::new(&writing)));
    assert_eq!((versions(&proof, "demo/one.ibd"), versions(&proof, "demo/two.ibd")), (json!([2]), json!([1])));
    assert_eq!(at.server.value("CHECKSUM TABLE demo.one").expect("a sum"), sums, "no row changed");
    // The backup alone opens everything, without the Vault.
    let backup = at.path("keys");
    fs::write(&backup, at.open("one.age")).expect("written");
    at.server.stop().expect("it stops");
    Proof::mariadb(&[at.server.datadir()], Some(&backup)).is_complete();
    at.server.start().expect("it starts");

    old_version_in_use(&site, &mut at, &writing);
    lying_vault(&site, &at);
    older_version_would_be_lost(&site, &at);
}

/// A proxy in front of the Vault loses requests and answers, each time at another moment of the rotation.
#[test]
fn a_rotation_that_a_failing_vault_interrupts_is_continued_and_writes_one_version() {
    let Some(site) = Site::start() else { return };
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    site.vault(&["secrets", "enable", "-path=mariadb", "-version=2", "kv"]);
    site.vault(&["kv", "put", "mariadb/1", KEY_1]);
    let reader = site.vault.token("mariadb", crate::keys_in_vault::POLICY, &[]).expect("a token");
    let server = site.mariadb(&reader, &[QUICK]);
    server.sql(&format!("CREATE DATABASE demo; USE demo; {}", table("one", "ENCRYPTED=YES"))).expect("SQL");
    let sums = server.value("CHECKSUM TABLE demo.one").expect("a sum");
    let faulty = FaultyVault::before(&site.vault);
    let token = site.file("faulty-token", &site.vault.token("writer", WRITER, &[]).expect("a token"));
    let text = format!(
        "[mariadb]\nhashicorp_key_management_vault_url = {}/v1/mariadb\n[sealant]\nsealant_token_file = {}\n",
        faulty.address(),
        token.display()
    );
    let config = site.file("faulty.cnf", &text).display().to_string();
    let mut at = Rotating::on(server);
    let rotation = ["--mariadb-new-version", "1", "--keyring", &config];
    let list: fn(&Seen) -> bool = |seen| seen.target.contains("list=true");
    let write: fn(&Seen) -> bool = |seen| seen.method == "POST";
    let sealed = Fault::Answer(503, "Vault is sealed");
    // Each run reads all keys twice before it writes, and once before each backup and after the last proof.
    let moments = [
        (list, 0, Fault::LostBefore, "1"),
        (list, 1, sealed, "1"),
        (write, 0, Fault::LostBefore, "1"),
        (write, 0, sealed, "1"),
        (write, 0, Fault::LostAfter, "2"),
        (list, 2, Fault::Truncated, "2"),
        (list, 3, sealed, "2"),
    ];
    for (number, (counts, before, fault, versions)) in moments.into_iter().enumerate() {
        faulty.fail(counts, before, fault);
        let ended = at.run("keys.age", &rotation);
        assert_eq!(
            (ended.code, faulty.faults()),
            (Some(1), number + 1),
            "{number}: {}\n{}",
            ended.stdout,
            ended.stderr
        );
        assert_eq!(ended.stderr.matches("sealant: error: ").count(), 1, "{}", ended.stderr);
        assert!(!ended.stderr.contains("put a good copy of the keyring"), "{}", ended.stderr);
        assert_eq!(newest(&site), versions, "{number}: {}", ended.stderr);
    }
    at.run("keys.age", &rotation).is_done();
    assert_eq!(newest(&site), "2", "one version was written");
    let proof = Proof::mariadb(&[at.server.datadir()], Some(Path::new(&config)));
    assert_eq!(versions(&proof, "demo/one.ibd"), json!([2]));
    assert_eq!(at.server.value("CHECKSUM TABLE demo.one").expect("a sum"), sums, "no row changed");
    at.server.stop().expect("it stops");
}

/// The server's own rotation reports success. Its keyring is a file here, which the test copies into the Vault.
#[test]
fn a_master_key_that_the_vault_did_not_get_is_noticed() {
    let Some(site) = Site::start() else { return };
    if require(Kind::MySql97).is_none() {
        return;
    }
    let server = encrypting().start().expect("MySQL starts");
    server.sql("CREATE DATABASE demo; CREATE TABLE demo.t (x TEXT); INSERT INTO demo.t VALUES ('x')").expect("SQL");
    site.vault(&["secrets", "enable", "-path=two", "-version=2", "kv"]);
    site.put_keyring("two/db", &read_keyring(&server));
    let policy = "path \"two/data/db/*\" { capabilities = [\"read\"] }
        path \"two/metadata/db/*\" { capabilities = [\"list\"] }";
    let token = site.vault.token("mysql", policy, &[]).expect("a token");
    let config = site.component("component_keyring_vault.cnf", &site.vault.address(), "two/db", &token);
    let mut at = Rotating::on(server);
    let first = format!("-{}", at.newest());
    // The server has its keys in memory, and its own file would count for sealant.
    fs::rename(at.keyring(), at.server.dir().join("its-own")).expect("moved");
    let rotation = ["--master-key", "--keyring", config.to_str().expect("ASCII")];
    let refused = at.run("keys.age", &rotation);
    refused.refused(1, "has no key newer than INNODBKey-", "the service did not get a key");
    assert!(refused.stderr.contains(&format!("{first} after the rotation")), "{}", refused.stderr);

    // The server has written all its keys again, and now the Vault gets the new one.
    site.put_keyring("two/db", &read_keyring(&at.server));
    fs::remove_file(at.keyring()).expect("removed");
    let report = at.run("keys.age", &rotation).is_done();
    assert!(report["steps"].to_string().contains("has created INNODBKey-"), "{report:#}");
    assert_ne!(report["proofs"]["after"]["tablespaces_on_new_key"], 0, "{report:#}");
    at.opens_everything("keys.age");

    // A copy of the running server, whose encrypted redo log cannot be cut without the keys.
    fs::create_dir(at.path("copies")).expect("room");
    let mut command = sealant();
    command.args(["snapshot", "create", "--provider", "follow", "--user", "root", "--keyring-config"]).arg(&config);
    command.arg("--datadir").arg(at.server.datadir()).arg("--socket").arg(at.server.socket());
    let taken = end({
        command.arg("--location").arg(at.path("copies"));
        command
    });
    assert_eq!(taken.code, Some(0), "{}", taken.stderr);
    Proof::mysql(&[Path::new(taken.stdout.trim())], Some(&config)).is_sound();
    at.server.stop().expect("it stops");
    Proof::mysql(&[at.server.datadir()], Some(&config)).is_complete();
}

/// An engine that keeps as many versions as there are would remove the oldest for a new one.
fn older_version_would_be_lost(site: &Site, at: &Rotating) {
    site.vault(&["write", "mariadb/config", "max_versions=3"]);
    let policy =
        WRITER.replace("[\"list\"]", "[\"list\", \"read\"]") + " path \"mariadb/config\" { capabilities = [\"read\"] }";
    let token = site.vault.token("asks", &policy, &[]).expect("a token");
    let config = site.with_token("asks.cnf", "mariadb", &token).display().to_string();
    let refused = at.run("lost.age", &["--mariadb-new-version", "1", "--keyring", &config]);
    refused.refused(1, "the Vault keeps 3 versions of key 1, so a new one would remove version 1", "-max-versions=N");
    assert_eq!(newest(site), "3");
}

/// The server caches the number of the newest version: no table is rotated, and the same command finishes later.
fn old_version_in_use(site: &Site, at: &mut Rotating, config: &str) {
    at.server.restart_with(&[SLOW]).expect("it starts");
    at.server.sql("SELECT COUNT(*) FROM demo.one").expect("it reads");
    let rotation = ["--mariadb-new-version", "1", "--keyring", config, "--settle", "2s"];
    let refused = at.run("two.age", &rotation);
    let message =
        "no table is rotated: the server still encrypts with version 2 of key 1, although the Vault has version 3";
    refused.refused(1, message, "cache_version_timeout");
    assert_eq!(newest(site), "3");
    let proof = Proof::mariadb(&[at.server.datadir()], Some(Path::new(config)));
    assert_eq!(versions(&proof, "demo/one.ibd"), json!([2]));
    at.server.restart_with(&[QUICK]).expect("it starts");
    let report = at.run("two.age", &rotation).is_done();
    assert_eq!(newest(site), "3", "the version of the interrupted run is used");
    assert!(report["steps"].to_string().contains("has written version 3"), "{report:#}");
    let proof = Proof::mariadb(&[at.server.datadir()], Some(Path::new(config)));
    assert_eq!(versions(&proof, "demo/one.ibd"), json!([3]));
}

/// A service that accepts a new version and goes on to return the old one as the newest.
fn lying_vault(site: &Site, at: &Rotating) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let key = |id: &str| {
        let get = |version: &str| {
            let version = format!("-version={version}");
            site.vault(&["kv", "get", &version, "-format=json", &format!("mariadb/{id}")])
        };
        if id == "1" { vec![get("1"), get("2"), get("3")] } else { vec![get("1")] }
    };
    let keys = [key("1"), key("2")];
    thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(stream, &keys)));
    let token = site.file("lying-token", "any");
    let text = format!(
        "[mariadb]\nhashicorp_key_management_vault_url = http://{address}/v1/mariadb\n[sealant]\nsealant_token_file = {}\n",
        token.display()
    );
    let config = site.file("lying.cnf", &text).display().to_string();
    let ended = at.run("lying.age", &["--mariadb-new-version", "1", "--keyring", &config]);
    ended.refused(
        1,
        "nothing is rotated: the Vault took a new version of key 1, but still returns version 3",
        "audit log",
    );
    assert_eq!(newest(site), "3");
}

/// Answers one request: a list, a secret in the asked or newest version, or 200 to whatever is written.
fn answer(mut stream: TcpStream, keys: &[Vec<String>; 2]) {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
    let (mut request, mut length) = (String::new(), 0);
    reader.read_line(&mut request).expect("a request");
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).expect("a header");
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
        if header.trim().is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length]).expect("a body");
    let versions = if request.contains("data/2") { &keys[1] } else { &keys[0] };
    let asked = request.split("version=").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    let body = match request.split(' ').next() {
        _ if request.contains("list=true") => r#"{"data":{"keys":["1","2"]}}"#.to_owned(),
        Some("POST") => r#"{"data":{"version":4}}"#.to_owned(),
        _ => versions[asked.unwrap_or(versions.len()) - 1].clone(),
    };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes()).expect("sent");
}
