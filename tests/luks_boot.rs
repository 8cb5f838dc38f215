//! `sealant luks boot` and `key serve`: tables and units in a directory, and real boots in a virtual machine: three of a
//! MariaDB on a volume, and four of a MySQL whose key is on a stick.

use std::fs;
use std::path::Path;

use harness::vm::Machine;
use harness::{Kind, Server, require};

use crate::support::disk::{Desk, ends, luks, text};
use crate::support::schema::has_its_schema;

/// Common start of the scripts of both servers.
const COMMON: &str = include_str!("vm/server-boot.sh");

#[test]
fn boot_tables_below_another_root_are_edited() {
    let desk = Desk::new();
    let (image, root) = (desk.volume("image", "luks2"), desk.path("root"));
    fs::create_dir_all(root.join("etc/systemd/system")).expect("room");
    let (image, root) = (text(&image), text(&root));
    let install = |more: &[&str]| {
        let args = ["boot", "install", image, "--name", "data", "--directory", "/srv/data", "--root", root];
        luks(&[&args[..], &["--unit", "mysql.service"], more].concat())
    };
    let plan = ends(&install(&["--key-file", "/root/key", "--dry-run"]), 0);
    assert!(plan.contains("luks,nofail,headless") && plan.contains("RequiresMountsFor=/srv/data"), "{plan}");
    assert!(!Path::new(root).join("etc/fstab").exists());
    ends(&install(&["--key-file", "/root/key"]), 2);
    ends(&install(&["--key-file", "/root/key", "--yes"]), 0);
    let again = ends(&install(&["--key-file", "/root/key", "--dry-run"]), 0);
    assert_eq!(again.matches("(stays as it is)").count(), 3, "{again}");
    let other = ends(&install(&["--key-file", "/root/other", "--yes"]), 1);
    assert!(other.contains("already has another line"), "{other}");
    let blank = ["boot", "install", image, "--name", "x", "--directory", "/srv/a b", "--root", root, "--yes"];
    let blank = luks(&[&blank[..], &["--key-file", "/k", "--unit", "mysql.service"]].concat());
    assert!(ends(&blank, 1).contains("without blanks"));
    let unit = ["boot", "install", image, "--name", "x", "--directory", "/srv/x", "--root", root, "--yes"];
    let unit = luks(&[&unit[..], &["--key-file", "/k", "--unit", "mysql"]].concat());
    assert!(ends(&unit, 1).contains("such as mariadb.service"));
    // This machine's systemd generators, if present, accept the tables; the key file is missing.
    let check =
        luks(&["boot", "check", "--name", "data", "--unit", "mysql.service", "--root", root, "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&ends(&check, 3)).expect("JSON");
    has_its_schema(&json, "luks-boot-1");
    let faults: Vec<&str> =
        json["faults"].as_array().expect("a list").iter().filter_map(|f| f["code"].as_str()).collect();
    assert!(faults.contains(&"boot-key") && !faults.contains(&"boot-drop-in"), "{json:#}");
    let fstab = Path::new(root).join("etc/fstab");
    let theirs = "/dev/mapper/data /mnt ext4 noauto 0 0\n";
    fs::write(&fstab, fs::read_to_string(&fstab).expect("written") + theirs).expect("room");
    let removed = ends(&luks(&["boot", "remove", "--name", "data", "--root", root, "--yes"]), 0);
    assert!(removed.contains("/mnt ext4 noauto 0 0` stays"), "{removed}");
    assert_eq!(fs::read_to_string(&fstab).expect("kept"), theirs);
    ends(&luks(&["boot", "remove", "--name", "data", "--root", root, "--yes"]), 1);
    ends(&luks(&["boot", "check", "--name", "data", "--unit", "mysql.service", "--root", root]), 1);
}

#[test]
fn boot_tables_below_another_root_get_a_key_socket() {
    let desk = Desk::new();
    let (image, root) = (desk.volume("image", "luks2"), desk.path("root"));
    fs::create_dir_all(root.join("etc/systemd/system")).expect("room");
    let link = root.join("etc/systemd/system/systemd-cryptsetup@data.service.requires/sealant-key-data.socket");
    let (image, root) = (text(&image), text(&root));
    let install = ["boot", "install", image, "--name", "data", "--directory", "/srv/data/", "--root", root, "--yes"];
    let install = [&install[..], &["--key-from=--file", "--key-from=k", "--unit", "mysql.service"]].concat();
    ends(&luks(&install), 0);
    assert_eq!(fs::read_link(&link).expect("enabled"), Path::new("/etc/systemd/system/sealant-key-data.socket"));
    assert!(fs::read_to_string(Path::new(root).join("etc/fstab")).expect("written").contains(" /srv/data ext4 "));
    let check = || {
        let check = ["boot", "check", "--name", "data", "--unit", "mysql.service", "--root", root];
        ends(&luks(&check), 3)
    };
    let said = check();
    assert!(!said.contains("boot-key") && said.contains(&format!("{root}/srv/data")), "{said}");
    fs::remove_file(&link).expect("ours");
    assert!(check().contains("boot-key-enabled"));
    ends(&luks(&install), 0);
    let removed = ends(&luks(&["boot", "remove", "--name", "data", "--root", root, "--yes"]), 0);
    assert!(removed.contains("- the link to"), "{removed}");
    assert_eq!(fs::read_dir(Path::new(root).join("etc/systemd/system")).expect("kept").count(), 0);
}

#[test]
fn a_key_is_served_exactly_or_not_at_all() {
    let desk = Desk::new();
    let script = |name: &str, text: &str| {
        let path = desk.path(name);
        harness::script(&path, text).expect("room");
        path
    };
    let serve = |option: &str, path: &Path| luks(&["key", "serve", option, text(path), "--wait", "2"]);
    let key = desk.path("key");
    fs::write(&key, b"\x00\n\xff key\n").expect("room");
    assert_eq!(serve("--file", &key).stdout, b"\x00\n\xff key\n");
    assert_eq!(serve("--command", &script("good", "printf 'abc\\n'")).stdout, b"abc\n");
    let large = desk.path("large");
    fs::write(&large, vec![7; 1 << 16]).expect("room");
    let empty = desk.path("empty");
    fs::write(&empty, b"").expect("room");
    for (option, path, because) in [
        ("--file", desk.path("gone"), "did not appear in time"),
        ("--file", large, "too large for a key"),
        ("--file", empty, "the key is empty"),
        ("--command", script("fails", "echo half; exit 3"), "failed, or gave no key in time"),
        ("--command", script("hangs", "exec sleep 60"), "failed, or gave no key in time"),
        ("--command", desk.path("gone"), "No such file"),
    ] {
        let output = serve(option, &path);
        let said = ends(&output, 1);
        assert!(said.contains(because), "{}: {said}", path.display());
        assert!(output.stdout.is_empty(), "half a key is no key");
    }
    ends(&luks(&["key", "serve"]), 2);
}

#[test]
#[ignore = "minutes of an emulated machine: make soak"]
fn a_mariadb_comes_back_with_its_volume_and_stays_down_without_its_key() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let Some(machine) = Machine::new() else { return };
    let server = Server::builder(Kind::MariaDb1011).prepare().expect("a data directory");
    let machine = machine.disk(256).expect("room").systemd().memory_mib(1024).limit(harness::limit(1800));
    let machine = machine
        .program(Path::new(env!("CARGO_BIN_EXE_sealant")), "/usr/bin/sealant")
        .and_then(|m| m.directory(server.datadir(), Path::new("/vm/datadir")))
        .expect("room");
    let ran = machine.run(&[COMMON, include_str!("vm/mariadb-boot.sh")].concat()).expect("it runs");
    assert!(ran.status == 0 && ran.log.ends_with("finished\n"), "{}: {}", ran.status, ran.log);
    let disk = fs::read(machine.image(0).expect("a disk")).expect("ours");
    assert!(!harness::contains(&disk, b"TELLTALE-PLAINTEXT"), "no plain text");
}

#[test]
#[ignore = "minutes of an emulated machine: make soak"]
fn a_mysql_comes_back_with_its_volume_and_stays_down_without_the_stick_that_has_its_key() {
    let Some(binaries) = require(Kind::MySql97) else { return };
    let Some(machine) = Machine::new() else { return };
    let server = Server::builder(Kind::MySql97).prepare().expect("a data directory");
    let machine = machine.disk(400).and_then(|m| m.disk(16)).expect("room");
    let machine = machine.systemd().memory_mib(1536).limit(harness::limit(3600));
    let machine = machine
        .program(Path::new(env!("CARGO_BIN_EXE_sealant")), "/usr/bin/sealant")
        .and_then(|m| m.installed(&binaries.daemon))
        .and_then(|m| m.installed(&binaries.client))
        .and_then(|m| m.directory(&binaries.messages, &binaries.messages))
        .and_then(|m| m.directory(server.datadir(), Path::new("/vm/datadir")))
        .expect("room");
    let [daemon, client, messages] =
        [&binaries.daemon, &binaries.client, &binaries.messages].map(|path| path.display());
    let script = [COMMON, include_str!("vm/mysql-boot.sh")].concat();
    let ran = machine.run(&format!("mysqld={daemon}\nmysql={client}\nmessages={messages}\n{script}")).expect("it runs");
    assert!(ran.status == 0 && ran.log.ends_with("finished\n"), "{}: {}", ran.status, ran.log);
    let disk = fs::read(machine.image(0).expect("a disk")).expect("ours");
    assert!(!harness::contains(&disk, b"TELLTALE-PLAINTEXT"), "no plain text");
}
