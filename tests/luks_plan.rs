//! `sealant luks plan`: the paths of real servers, and a disk that stays unchanged to the last byte.

use std::fs::{self, File};
use std::process::Output;

use harness::{Kind, Server, require};
use serde_json::Value;

use crate::support::disk::{Desk, text};
use crate::support::schema::has_its_schema;
use crate::support::sealant;

fn plan(args: &[&str]) -> Output {
    sealant().args(["luks", "plan"]).args(args).output().expect("it starts")
}

fn json(args: &[&str]) -> Value {
    let output = plan(&[args, &["--format", "json"]].concat());
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn paths_of(kind: Kind) {
    if require(kind).is_none() {
        return;
    }
    let server = Server::builder(kind).option("--log-bin=binlog").option("--server-id=1").start().expect("it starts");
    let socket = server.socket().to_str().expect("ASCII");
    let plan = json(&["--socket", socket, "--user", "root"]);
    has_its_schema(&plan, "luks-plan-1");
    let paths = plan["paths"].as_array().expect("a list");
    let role =
        |role: &str| paths.iter().find(|path| path["role"] == role).unwrap_or_else(|| panic!("{role}: {plan:#}"));
    let datadir = fs::canonicalize(server.datadir()).expect("it is there");
    assert_eq!(role("data directory")["path"], datadir.to_str().expect("ASCII"));
    assert!(role("data directory")["bytes"].as_u64().expect("counted") > 1 << 20);
    for other in ["redo log directory", "binary log directory", "temporary directory", "log directory"] {
        assert!(
            role(other)["state"] == role("data directory")["state"]
                || role(other)["path"] != role("data directory")["path"]
        );
        assert!(role(other)["via"].is_string());
    }
    assert!(plan["swaps"].is_array() && plan["choices"].as_array().is_some_and(|list| list.len() > 5));
}

#[test]
fn paths_of_a_mysql_are_found() {
    paths_of(Kind::MySql97);
}

#[test]
fn paths_of_a_mariadb_are_found() {
    paths_of(Kind::MariaDb1011);
}

/// A data directory of a stopped server, with its option file.
fn at_rest(desk: &Desk) -> String {
    fs::create_dir_all(desk.path("data/sakila")).expect("room");
    fs::write(desk.path("data/sakila/actor.ibd"), vec![7; 1 << 20]).expect("room");
    let file = desk.path("my.cnf");
    fs::write(&file, format!("[mysqld]\ndatadir={}\n", desk.path("data").display())).expect("room");
    text(&file).to_owned()
}

#[test]
fn the_disk_is_read_and_nothing_is_changed() {
    let desk = Desk::new();
    let (file, image) = (at_rest(&desk), desk.path("disk"));
    File::create(&image).expect("room").set_len(200 << 20).expect("room");
    let before = fs::metadata(&image).expect("ours").modified().expect("a time");
    let args = ["--option-file", &file, "--disk", text(&image)];
    let output = plan(&args);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in ["aes-xts-plain64", "4096 bytes", "sealant luks format", "boot install", "at least"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("refuses it"), "{said}");
    assert!(fs::read(&image).expect("ours").iter().all(|byte| *byte == 0));
    assert_eq!(fs::metadata(&image).expect("ours").modified().expect("a time"), before);
    // The same with a LUKS volume on it.
    let taken = desk.volume("taken", "luks2");
    let before = fs::read(&taken).expect("ours");
    let said = json(&["--option-file", &file, "--disk", text(&taken)]);
    assert!(said["disk"]["obstacles"].to_string().contains("crypto_LUKS"), "{said:#}");
    assert!(fs::read(&taken).expect("ours") == before);
}

#[test]
fn mistakes_are_reported() {
    let desk = Desk::new();
    let gone = text(&desk.path("gone")).to_owned();
    let file = at_rest(&desk);
    for (args, code, because) in [
        (&["--datadir", &gone][..], 1, "No such file"),
        (&["--option-file", &file, "--disk", &gone], 1, "No such file"),
        (&["--socket", &gone, "--user", "root"], 1, "gone"),
        (&["--option-file", &file, "mysql://root@localhost"], 2, "cannot be used with"),
    ] {
        let output = plan(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(because), "{args:?}: {said}");
    }
}
