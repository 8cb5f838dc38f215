//! `sealant bench migrate`: real servers, and the tools that people use today.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use harness::{Kind, require};
use serde_json::Value;

use crate::bench::{json, names};
use crate::support::schema::has_its_schema;
use crate::support::sealant;

const COPIED: &str = "sealant";
const VERIFIED: &str = "sealant, all rows compared";
const DUMP: &str = "mysqldump | mysql";
const MYDUMPER: &str = "mydumper, myloader";
const REPLICATION: &str = "replication, one thread";
const ALL: [&[&str]; 2] = [&[COPIED, VERIFIED, MYDUMPER, DUMP], &[COPIED, REPLICATION]];

fn command(server: &Path, scratch: &Path) -> Command {
    let mut command = sealant();
    command.args(["bench", "migrate", "--format", "json", "--tables", "2", "--rows", "700", "--rounds", "1", "--dir"]);
    command.arg(scratch).arg("--mysqld").arg(server);
    command
}

/// Measures migrations of a few rows between servers of that kind, with nothing left behind.
fn measured(kind: Kind, options: &[&str]) -> Option<Output> {
    let binaries = require(kind)?;
    let scratch = tempfile::tempdir().expect("a directory");
    let output = command(&binaries.daemon, scratch.path()).args(options).output().expect("the binary starts");
    assert_eq!(fs::read_dir(scratch.path()).expect("readable").count(), 0, "servers and data are removed");
    Some(output)
}

/// The arms of both experiments, each of which did the same work.
fn arms(document: &Value) -> [Vec<&str>; 2] {
    has_its_schema(document, "bench-1");
    let [copies, changes] = document["experiments"].as_array().expect("experiments").as_slice() else {
        panic!("{document}")
    };
    for arm in copies["arms"].as_array().expect("arms") {
        assert_eq!(arm["amount"], document["subject"]["bytes"], "{arm}");
    }
    for arm in changes["arms"].as_array().expect("arms") {
        assert_eq!(arm["amount"], 2 * 700, "{arm}");
    }
    [copies, changes].map(|experiment| names(&experiment["arms"], "name"))
}

#[test]
fn a_migration_is_compared_with_other_tools_on_mysql() {
    let Some(output) = measured(Kind::MySql97, &[]) else { return };
    let document = json(&output);
    assert_eq!(arms(&document), ALL.map(<[_]>::to_vec));
    let notes = document["notes"].to_string();
    for note in ["mydumper, myloader: ", "s of the target", "sealant took at most "] {
        assert!(notes.contains(note), "{note}: {notes}");
    }
    let programs = document["programs"].to_string();
    assert!(["MySQL", "mydumper", "mysqldump"].iter().all(|name| programs.contains(name)), "{programs}");
}

#[test]
fn a_migration_is_compared_with_other_tools_on_mariadb() {
    let Some(output) = measured(Kind::MariaDb1011, &[]) else { return };
    assert_eq!(arms(&json(&output)), ALL.map(<[_]>::to_vec));
}

#[test]
fn no_password_is_among_the_arguments_of_a_program() {
    let Some(binaries) = require(Kind::MySql97) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let mut command = command(&binaries.daemon, scratch.path());
    let mut child = command.arg("--quiet").stdout(Stdio::null()).spawn().unwrap();
    let mut looks = 0;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if let Some(passwords) = passwords(scratch.path()) {
            looks += 1;
            let arguments = arguments_of_all();
            assert!(passwords.iter().all(|password| !arguments.contains(password)), "a password among {arguments}");
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success() && looks > 0, "{status} {looks}");
}

/// The passwords in the option file of both servers.
fn passwords(scratch: &Path) -> Option<Vec<String>> {
    let directory = fs::read_dir(scratch).ok()?.flatten().next()?.path();
    let text = fs::read_to_string(directory.join("servers.cnf")).ok()?;
    let passwords: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix("password=")).map(str::to_owned).collect();
    assert!(passwords.len() == 2 && passwords.iter().all(|password| password.len() >= 32), "two passwords");
    Some(passwords)
}

fn arguments_of_all() -> String {
    let processes = fs::read_dir("/proc").expect("readable").flatten();
    let arguments = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    arguments.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

#[test]
fn a_server_in_use_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("ibdata1"), "").unwrap();
    let output = command(Path::new("/bin/true"), scratch.path()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains("lies in a server's data directory"), "{stderr}");
}
