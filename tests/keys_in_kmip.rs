//! `sealant verify`, `audit --deep`, `keys`, `send` and `keyring migrate` with keys in a real KMIP service, as Percona's
//! `component_keyring_kmip` stores them: those of a MySQL.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use harness::certs::Authority;
use harness::kmip::{self, Kmip};
use harness::{KeyringLocation, Kind, Server, require};
use serde_json::{Value, json};

use crate::keys_in_vault::ExpiredService;
use crate::support::moving::{Receiving, send};
use crate::support::proof::Proof;
use crate::support::rotation::end;
use crate::support::{Audit, sealant};

/// A configuration of the component, beside the service's files.
pub(crate) fn config(service: &Kmip, name: &str, more: &Value) -> PathBuf {
    let tls = service.client();
    let mut json = json!({
        "server_addr": "127.0.0.1", "server_port": service.port().to_string(), "client_ca": tls.cert,
        "client_key": tls.key, "server_ca": tls.ca, "object_group": "db1",
    });
    for (name, value) in more.as_object().expect("an object") {
        json[name] = value.clone();
    }
    let path = service.path(name);
    fs::write(&path, json.to_string()).expect("room");
    path
}

fn verified(server: &Server, config: &Path) -> Output {
    let mut command = sealant();
    command.arg("verify").arg(server.datadir()).arg("--keyring-config").arg(config);
    command.output().expect("the binary starts")
}

/// Asserts that there is one error that says this, and no report.
#[track_caller]
fn fails(output: &Output, because: &str, hint: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.matches("sealant: error: ").count(), 1, "{said}");
    assert!(said.contains(because) && said.contains(hint), "{because} / {hint}: {said}");
    assert!(output.stdout.is_empty(), "{said}");
}

#[test]
fn keys_of_a_kmip_service_open_the_tables_of_mysql() {
    let Some(python) = kmip::require() else { return };
    if require(Kind::MySql97).is_none() {
        return;
    }
    let mut service = Kmip::start(python).expect("PyKMIP starts");
    let mut server = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).start().expect("MySQL starts");
    let table = "CREATE DATABASE demo; CREATE TABLE demo.t (x TEXT) ENCRYPTION='Y'; INSERT INTO demo.t VALUES ('x');";
    server.sql(&format!("{table} FLUSH TABLES demo.t FOR EXPORT; UNLOCK TABLES")).expect("SQL");
    let keyring = server.dir().join("keyring");
    let json: Value = serde_json::from_slice(&fs::read(&keyring).expect("a keyring")).expect("JSON");
    let mut ids = Vec::new();
    for element in json["elements"].as_array().expect("elements") {
        let text = |name: &str| element[name].as_str().expect("text");
        ids.push(service.register(text("data_id"), "db1", text("data")).expect("registered"));
    }
    // A key that no file needs, which remains when the others are destroyed.
    service.register("INNODBKey-another-1", "db1", &"55".repeat(32)).expect("registered");
    // A key of another group, and of the same name.
    let name = json["elements"][0]["data_id"].as_str().expect("a name");
    service.register(name, "db2", &"77".repeat(32)).expect("registered");

    let good = config(&service, "component_keyring_kmip.cnf", &json!({}));
    let mut keys = sealant();
    keys.args(["keys", "--user", "root", "--format", "json", "--socket"]).arg(server.socket());
    let listed = end({
        keys.arg("--keyring").arg(&good);
        keys
    });
    assert_eq!((listed.code, &listed.json()["sound"]), (Some(0), &Value::Bool(true)), "{}", listed.stderr);
    server.stop().expect("it stops");
    let proof = Proof::mysql(&[server.datadir()], Some(&good));
    proof.is_complete();
    assert_eq!(proof.verdict("demo/t.ibd"), "ok");
    assert_eq!(verified(&server, &good).status.code(), Some(0));

    every_page_is_opened_and_rewrapped(&server, &good);

    // The keys move into a file, which opens the same.
    let file = server.dir().join("from-kmip");
    let mut command = sealant();
    command.args(["keyring", "migrate", "--yes", "--datadir"]).arg(server.datadir()).arg(&good).arg(&file);
    assert_eq!(end(command).code, Some(0));
    Proof::mysql(&[server.datadir()], Some(&file)).is_complete();
    let mut command = sealant();
    command.args(["keyring", "migrate", "--yes", "--datadir"]).arg(server.datadir()).arg(&keyring);
    command.arg(config(&service, "empty.cnf", &json!({"object_group": "none"})));
    end(command).refused(1, "keys can only be read from a KMIP service", "mysql_migrate_keyring");

    let nobody = config(&service, "group.cnf", &json!({"object_group": "db3"}));
    fails(&verified(&server, &nobody), "has no keys with names in the object group db3", "object_group");
    let other = Authority::create(&service.path("other")).expect("openssl");
    let middle = config(&service, "middle.cnf", &json!({"server_ca": other.certificate()}));
    fails(&verified(&server, &middle), "its certificate is not trusted", "another machine answers");
    let expired = ExpiredService::start(&service.path("expired"));
    let past = json!({"server_port": expired.port.to_string(), "server_ca": expired.tls.ca});
    let past = config(&service, "past.cnf", &past);
    fails(&verified(&server, &past), "its certificate is not trusted: certificate expired", "check this host's clock");
    drop(expired);
    let incomplete = config(&service, "incomplete.cnf", &json!({"client_key": ""}));
    fails(&verified(&server, &incomplete), "the configuration of a KMIP service has no client_key", "");

    // A key that others may know opens its tables, with a warning.
    service.compromise(&ids[0]).expect("revoked");
    let output = verified(&server, &good);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let compromised = format!("the KMIP service calls {name} compromised");
    assert!(said.contains(&compromised), "{said}");
    let mut command = sealant();
    command.args(["keyring", "migrate", "--dry-run", "--datadir"]).arg(server.datadir()).arg(&good);
    let planned = end({
        command.arg(server.dir().join("not-made"));
        command
    });
    assert!(planned.stdout.contains(&compromised), "{}", planned.stdout);
    server.start().expect("it starts again");
    let listed = end({
        let mut keys = sealant();
        keys.args(["keys", "--user", "root", "--socket"]).arg(server.socket()).arg("--keyring").arg(&good);
        keys
    });
    assert!(listed.code == Some(0) && listed.stderr.contains(&compromised), "{}", listed.stderr);
    server.stop().expect("it stops");

    // A destroyed key is missing, and the report says for which file.
    service.destroy(&ids[0]).expect("destroyed");
    let proof = Proof::mysql(&[server.datadir()], Some(&good));
    assert_eq!((proof.verdict("demo/t.ibd"), proof.code), ("missing-key", 3));
    service.stop();
    fails(&verified(&server, &good), "cannot be reached", "is the KMIP service running");
}

/// `audit --deep`, and a transfer to a server with keys of its own.
fn every_page_is_opened_and_rewrapped(server: &Server, config: &Path) {
    let (datadir, config) = (server.datadir(), config.to_str().expect("ASCII"));
    let offline = datadir.to_str().expect("ASCII");
    let audit = Audit::run(["--offline", offline, "--deep", "--keyring-copy", config]);
    assert_eq!(audit.statuses("key-cannot-open"), ["PASS"], "{}", audit.stderr);

    let target = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("room");
    let (into, keyring) = (target.path().join("into"), target.path().join("keyring"));
    let receiving = Receiving::begin(&into, &["--rekey", keyring.to_str().expect("ASCII")]);
    let sent = send(datadir, &receiving.code, &["--keyring", config]);
    let (code, stderr) = receiving.end();
    assert_eq!((sent.status.code(), code), (Some(0), 0), "{}\n{stderr}", String::from_utf8_lossy(&sent.stderr));
    let proof = Proof::mysql(&[&into], Some(&keyring));
    proof.is_complete();
    assert_eq!(proof.verdict("demo/t.ibd"), "ok");
}
