//! `sealant keyring migrate`: the keys of a MySQL move between a file and a real HashiCorp Vault, in the form of Percona's
//! component and plug-in.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use change::keyring_migration::MigrationRequest;
use data_encoding::BASE64;
use harness::{KeyringLocation, Kind, Server, require};
use serde_json::{Value, json};

use crate::keys_in_vault::Site;
use crate::support::rotation::{Ended, end};
use crate::support::schema::has_its_schema;
use crate::support::sealant;

fn migrate(from: &Path, to: &Path, server: &Server, more: &[&str]) -> Ended {
    let mut command = sealant();
    command.args(["keyring", "migrate", "--format", "json"]).args([from, to]);
    let ended = end({
        command.arg("--datadir").arg(server.datadir()).args(more);
        command
    });
    assert!(!ended.stderr.contains("hvs.") && !ended.stdout.contains("hvs."), "{}", ended.stderr);
    ended
}

#[track_caller]
fn moved(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let report = ended.json();
    has_its_schema(&report, "keyring-migrate-1");
    report
}

/// States of the keys, in the order of their names.
fn states(report: &Value) -> Vec<&str> {
    let keys = report["keys"].as_array().expect("keys");
    keys.iter().map(|key| key["state"].as_str().expect("a state")).collect()
}

fn all_steps(report: &Value) -> String {
    report["next"].to_string()
}

/// A configuration of Percona's component.
fn component(site: &Site, name: &str, path: &str, token: &str) -> PathBuf {
    site.component(name, &site.vault.address(), path, token)
}

/// The server reads the encrypted table with the keyring file at `keyring`.
fn reads_with(server: &mut Server, keyring: &Path) {
    let settings = json!({"path": keyring, "read_only": false}).to_string();
    fs::write(server.datadir().join("component_keyring_file.cnf"), settings).expect("written");
    server.start().expect("it starts with the keyring");
    assert_eq!(server.value("SELECT COUNT(*) FROM demo.t").expect("it opens"), "1");
}

#[test]
fn keys_move_from_a_file_into_a_vault_and_back() {
    let Some(site) = Site::start() else { return };
    if require(Kind::MySql97).is_none() {
        return;
    }
    let mut server = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).start().expect("MySQL starts");
    let table = "CREATE DATABASE demo; CREATE TABLE demo.t (x TEXT) ENCRYPTION='Y'; INSERT INTO demo.t VALUES ('x');";
    server.sql(&format!("{table} ALTER INSTANCE ROTATE INNODB MASTER KEY; FLUSH TABLES")).expect("SQL");
    let keyring = server.dir().join("keyring");
    site.vault(&["secrets", "enable", "-path=two", "-version=2", "kv"]);
    site.vault(&["secrets", "enable", "-path=one", "-version=1", "kv"]);
    let policy = "path \"two/data/db/*\" { capabilities = [\"create\", \"read\"] }
        path \"two/metadata/db/*\" { capabilities = [\"list\"] }
        path \"one/db/*\" { capabilities = [\"create\", \"read\", \"list\"] }";
    let token = site.vault.token("mysql", policy, &[]).expect("a token");
    let vault = component(&site, "component_keyring_vault.cnf", "two/db", &token);

    // A server that runs on the source is mentioned; a plan writes nothing.
    let plan = moved(&migrate(&keyring, &vault, &server, &["--dry-run"]));
    assert_eq!((plan["done"].as_bool(), states(&plan)), (Some(false), vec!["missing"; 2]), "{plan:#}");
    let pid = format!("process id {}", server.pid().expect("it runs"));
    assert!(plan["notes"].to_string().contains(&pid), "{plan:#}");
    migrate(&keyring, &vault, &server, &[]).refused(2, "standard input is not a terminal", "--dry-run");
    server.stop().expect("it stops");
    refusals(&site, &server, &keyring, &vault);

    // A key of a user moves with the others.
    let mine = r#"{"user":"me@%","data_id":"mine","data_type":"SECRET","data":"01020304","extension":[]}"#;
    let text = fs::read_to_string(&keyring).expect("a keyring").replacen("[{", &format!("[{mine},{{"), 1);
    fs::write(&keyring, text).expect("written");
    let report = moved(&migrate(&keyring, &vault, &server, &["--yes"]));
    // The interrupted run left one key.
    assert_eq!(
        (report["done"].as_bool(), states(&report)),
        (Some(true), vec!["there", "added", "added"]),
        "{report:#}"
    );
    assert!(report["encrypted_files"].as_u64() > Some(0), "{report:#}");
    let steps = all_steps(&report);
    for step in ["component_keyring_vault.cnf", "mysqld.my", "restart", "mysql_migrate_keyring", "keyring check"] {
        assert!(steps.contains(step), "{step}: {steps}");
    }
    // The secret has the form that Percona Server reads.
    let secret = site.vault(&["kv", "get", "-format=json", &format!("two/db/{}", BASE64.encode(b"4_mine4_me@%"))]);
    let secret: Value = serde_json::from_str(&secret).expect("JSON");
    assert_eq!(secret["data"]["data"], json!({"type": "SECRET", "value": "AQIDBA=="}));
    let again = moved(&migrate(&keyring, &vault, &server, &["--yes"]));
    assert_eq!(states(&again), ["there"; 3]);

    // A key that is deleted in the source could be needed by a backup.
    let mine_there = format!("two/db/{}", BASE64.encode(b"4_mine4_me@%"));
    site.vault(&["kv", "delete", &mine_there]);
    let back = server.dir().join("back");
    let withdrawn = format!("has withdrawn keys: mine of me@% ({mine_there}) is deleted at ");
    migrate(&vault, &back, &server, &["--yes"]).refused(1, &withdrawn, "vault kv undelete");
    assert!(!back.exists());
    site.vault(&["kv", "undelete", "-versions=1", &mine_there]);

    // Between the versions of the engine, in the plug-in's format, and back into a new file.
    let (address, ca) = (site.vault.address(), site.vault.authority().display().to_string());
    let lines = format!(
        "vault_url = {address}\nsecret_mount_point = one/db\nvault_ca = {ca}\ntoken = {token}\n\
         secret_mount_point_version = 1\n"
    );
    let plugin = site.file("keyring_vault.conf", &lines);
    let report = moved(&migrate(&vault, &plugin, &server, &["--yes"]));
    let steps = all_steps(&report);
    assert!(
        steps.contains("keyring_vault_config = ") && steps.contains("--keyring-migration-from-component"),
        "{steps}"
    );
    let report = moved(&migrate(&plugin, &back, &server, &["--yes"]));
    assert_eq!(states(&report), ["added"; 3]);
    assert!(fs::read_to_string(&back).expect("a keyring").contains(r#""user":"me@%""#));
    reads_with(&mut server, &back);

    // The server uses `back` now: no key is added to it.
    let elements = fs::read_to_string(&back).expect("a keyring");
    let more = elements.replacen("[{", &format!("[{},{{", mine.replace("\"mine\"", "\"other\"")), 1);
    let larger = site.file("larger", &more);
    migrate(&larger, &back, &server, &["--yes"]).refused(1, "the running server with process id", "stop that server");
    // Nor if the server starts after the plan was shown.
    server.stop().expect("it stops");
    let (datadir, to) = (server.datadir().to_owned(), back.clone());
    let planned = change::keyring_migration::plan(&MigrationRequest { from: larger, to, datadir }).expect("a plan");
    assert!(!planned.is_complete());
    server.start().expect("it starts");
    let refused = planned.carry_out().expect_err("the server uses the target");
    assert!(matches!(refused, change::Error::KeyringInUse { .. }), "{refused}");
    assert_eq!(fs::read_to_string(&back).expect("a keyring"), elements);
}

/// Runs that are refused, and one that the Vault's policy interrupts after the first key.
fn refusals(site: &Site, server: &Server, keyring: &Path, vault: &Path) {
    let before = fs::read(keyring).expect("a keyring");
    migrate(keyring, keyring, server, &["--yes"]).refused(1, "is the source and the target", "another target");
    // A pipe can be read once, and the keys are read several times.
    let mut shell = Command::new("bash");
    shell
        .args(["-c", r#"exec "$0" keyring migrate --yes --datadir "$1" <(cat "$2") "$3""#])
        .arg(sealant().get_program());
    shell.arg(server.datadir()).args([keyring, vault]);
    end(shell).refused(1, "a pipe, device or directory, not a file; copy its content into a file", "");
    // A file that cannot be read may need any key.
    let unread = server.datadir().join("demo/gone.ibd");
    symlink("/nonexistent/gone.ibd", &unread).expect("a link");
    migrate(keyring, vault, server, &["--yes"]).refused(1, "gone.ibd: a symbolic link whose target does not exist", "");
    fs::remove_file(unread).expect("removed");
    let empty = tempfile::tempdir().expect("room");
    let mut command = sealant();
    command.args(["keyring", "migrate", "--yes", "--datadir"]).arg(empty.path()).args([keyring, vault]);
    end(command).refused(1, "is no data directory", "--datadir");
    // The keyring of another server.
    let other = String::from_utf8(before.clone()).expect("text").replace("\"data\":\"", "\"data\":\"FF");
    let other = other.split("\"data\":\"").map(|part| match part.find("\",\"extension") {
        Some(66) => format!("{}{}", &part[..64], &part[66..]),
        _ => part.to_owned(),
    });
    let other = site.file("other", &other.collect::<Vec<_>>().join("\"data\":\""));
    migrate(&other, vault, server, &["--yes"]).refused(1, "opens only", "");
    migrate(keyring, &other, server, &["--yes"]).refused(1, "holds another key of the same name", "another server");

    let list = "path \"two/data/db/*\" { capabilities = [\"read\"] }
        path \"two/metadata/db/*\" { capabilities = [\"list\"] }";
    let token = site.vault.token("reader", list, &[]).expect("a token");
    let reader = component(site, "reader.cnf", "two/db", &token);
    migrate(keyring, &reader, server, &["--yes"]).refused(1, "does not let this token write", "`create`");

    let json: Value = serde_json::from_slice(&before).expect("JSON");
    let mut names: Vec<&str> =
        json["elements"].as_array().expect("keys").iter().filter_map(|key| key["data_id"].as_str()).collect();
    names.sort_unstable();
    let first = BASE64.encode(format!("{}_{}0_", names[0].len(), names[0]).as_bytes());
    let one = format!("{list}\npath \"two/data/db/{first}\" {{ capabilities = [\"create\", \"read\"] }}");
    let token = site.vault.token("one", &one, &[]).expect("a token");
    let interrupted = component(site, "one.cnf", "two/db", &token);
    migrate(keyring, &interrupted, server, &["--yes"]).refused(1, "does not let this token write", "`create`");
    let listed = site.vault(&["kv", "list", "-format=json", "two/db"]);
    assert_eq!(serde_json::from_str::<Value>(&listed).expect("JSON"), json!([first]));
    assert_eq!(fs::read(keyring).expect("a keyring"), before, "the source is unchanged");
}
