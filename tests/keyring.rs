//! `sealant keyring init` and `check` on real servers: from no keyring to one that is used and proven.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use harness::{KeyringLocation, Kind, Server, require};
use serde_json::Value;

use crate::support::proof::Proof;
use crate::support::rotation::{Ended, end, mode};
use crate::support::schema::has_its_schema;
use crate::support::{Audit, sealant};

/// `sealant keyring VERB` on a running server.
fn on(server: &Server, verb: &str, more: &[&str]) -> Ended {
    let mut command = sealant();
    command.current_dir(server.dir()).args(["keyring", verb, "--user", "root", "--format", "json", "--socket"]);
    command.arg(server.socket()).args(more);
    end(command)
}

/// `sealant keyring init` on an option file.
fn offline(config: &Path, more: &[&str]) -> Command {
    let mut command = sealant();
    command.args(["keyring", "init", "--format", "json", "--config"]).arg(config).args(more);
    command
}

#[track_caller]
fn written(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let report = ended.json();
    has_its_schema(&report, "keyring-init-1");
    report
}

/// Result of the check with that name.
#[track_caller]
fn state(report: &Value, check: &str) -> String {
    let items = report["items"].as_array().expect("a list");
    let item = items.iter().find(|item| item["check"] == check).unwrap_or_else(|| panic!("no {check} in {report:#}"));
    item["state"].as_str().expect("text").to_owned()
}

#[track_caller]
fn checked(ended: &Ended, code: i32) -> Value {
    assert_eq!(ended.code, Some(code), "{}\n{}", ended.stdout, ended.stderr);
    let report = ended.json();
    has_its_schema(&report, "keyring-check-1");
    report
}

/// The default path of the keyring for the data directory.
fn beside(server: &Server, name: &str) -> std::path::PathBuf {
    server.dir().join("data-keyring").join(name)
}

fn restart(server: &mut Server) {
    server.stop().expect("it stops");
    server.start().expect("it starts");
}

#[test]
fn a_mysql_without_a_keyring_gets_one_and_is_encrypted_with_it() {
    [Kind::MySql97, Kind::MySql80].into_iter().for_each(a_mysql_gets_a_keyring);
}

fn a_mysql_gets_a_keyring(kind: Kind) {
    let Some(_) = require(kind) else { return };
    let mut server = Server::builder(kind).option("--log-bin=binlog").start().expect("MySQL starts");
    assert_eq!(state(&checked(&on(&server, "check", &[]), 3), "active"), "failed");
    // A plan changes nothing, and asks for no confirmation without a terminal.
    let plan = written(&on(&server, "init", &["--dry-run"]));
    assert_eq!(plan["done"], false, "{plan:#}");
    on(&server, "init", &[]).refused(2, "standard input is not a terminal", "--dry-run");
    assert!(!server.dir().join("data-keyring").exists() && !server.datadir().join("mysqld.my").exists());

    let report = written(&on(&server, "init", &["--yes"]));
    assert_eq!(report["done"], true, "{report:#}");
    assert_eq!(report["keyring"], beside(&server, "keyring").to_str().expect("ASCII"));
    assert_eq!(mode(&server.dir().join("data-keyring")), 0o700);
    assert_eq!(mode(&beside(&server, "keyring")), 0o600);
    assert_eq!(fs::metadata(beside(&server, "keyring")).expect("it is there").len(), 0);
    assert_eq!(mode(&server.datadir().join("component_keyring_file.cnf")), 0o640);
    // A second run: everything exists.
    let again = written(&on(&server, "init", &["--yes"]));
    let there = again["parts"].as_array().expect("a list").iter().all(|part| part["condition"] == "there");
    assert!(there, "{again:#}");

    restart(&mut server);
    on(&server, "init", &["--yes"]).refused(1, "is already active", "keyring check");
    let report = checked(&on(&server, "check", &[]), 0);
    assert_eq!((state(&report, "active"), state(&report, "write-test")), ("ok".to_owned(), "skipped".to_owned()));
    let copy = server.dir().join("copy");
    let log = server.dir().join("statements.jsonl");
    let log_file = log.to_str().expect("a short path");
    let report = checked(&on(&server, "check", &["--write-test", "--log", log_file]), 0);
    for check in ["active", "write-test", "place", "modes", "opens"] {
        assert_eq!(state(&report, check), "ok", "{report:#}");
    }
    assert_eq!(server.value("SHOW DATABASES LIKE 'sealant%'").unwrap_or_default(), "");
    let log = fs::read_to_string(log).expect("a log");
    assert!(log.contains("CREATE TABLE") && log.contains("DROP SCHEMA"), "{log}");

    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1)").expect("made");
    let mut encrypt = sealant();
    encrypt.current_dir(server.dir()).args(["encrypt", "run", "--yes", "--policy", "tables", "--user", "root"]);
    encrypt.args(["--format", "json", "--socket"]).arg(server.socket());
    // Logs remain in clear text, which the exit code shows.
    let report = end(encrypt).json();
    let steps = report["steps"].as_array().expect("steps");
    assert!(steps.iter().any(|step| step["step"] == "table d.t" && step["state"] == "done"), "{report:#}");
    // Writes its pages: until then, the file on disk may have no page 0.
    server.sql("FLUSH TABLES d.t FOR EXPORT; UNLOCK TABLES").expect("written");
    let proof = Proof::mysql(&[&server.datadir().join("d/t.ibd")], Some(&beside(&server, "keyring")));
    assert_eq!(proof.verdict("t.ibd"), "ok");

    fs::copy(beside(&server, "keyring"), &copy).expect("copied");
    let copies = ["--keyring-copy", copy.to_str().expect("ASCII")];
    assert_eq!(state(&checked(&on(&server, "check", &copies), 0), "copy-opens"), "ok");
    fs::write(&copy, r#"{"version":"1.0","elements":[]}"#).expect("written");
    assert_eq!(state(&checked(&on(&server, "check", &copies), 3), "copy-opens"), "failed");
    fs::set_permissions(beside(&server, "keyring"), fs::Permissions::from_mode(0o644)).expect("set");
    assert_eq!(state(&checked(&on(&server, "check", &[]), 3), "modes"), "failed");
    Audit::live(&server).fails("key-file-perms", "keyring");
    // A group with several members may not read it, as in the audit.
    let keyring = beside(&server, "keyring");
    fs::set_permissions(&keyring, fs::Permissions::from_mode(0o640)).expect("set");
    if std::os::unix::fs::chown(&keyring, None, Some(65534)).is_ok() {
        assert_eq!(state(&checked(&on(&server, "check", &[]), 3), "modes"), "failed");
        assert_eq!(Audit::live(&server).failure("key-file-perms", "keyring")["severity"], "high");
    }
}

/// If root starts MySQL, it changes its user only after the keyring component has created its file.
#[test]
fn a_mysql_that_root_starts_can_write_its_keyring() {
    const NOBODY: u32 = 65534;
    let Some(_) = require(Kind::MySql97) else { return };
    if fs::metadata("/proc/self").expect("a process").uid() != 0 {
        return;
    }
    let mut server =
        Server::builder(Kind::MySql97).option_file("[mysqld]\nuser=nobody").prepare().expect("MySQL is made");
    let current = |path: &Path| {
        let owned = Command::new("chown").args(["-R", &format!("{NOBODY}:{NOBODY}")]).arg(path).status();
        assert!(owned.expect("chown runs").success());
    };
    current(server.dir());
    server.start().expect("it starts");
    written(&on(&server, "init", &["--yes"]));
    restart(&mut server);
    let process = format!("/proc/{}", server.pid().expect("it runs"));
    assert_eq!(fs::metadata(process).expect("a process").uid(), NOBODY);
    let keyring = beside(&server, "keyring");
    let report = checked(&on(&server, "check", &["--write-test"]), 0);
    assert_eq!((state(&report, "write-test"), state(&report, "opens")), ("ok".to_owned(), "ok".to_owned()));
    assert_eq!(fs::metadata(&keyring).expect("a keyring").uid(), NOBODY);
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY) ENCRYPTION='Y'").expect("it encrypts");
    // The server finds its key again.
    restart(&mut server);
    assert_eq!(server.value("SELECT COUNT(*) FROM d.t").expect("it opens"), "0");
}

#[test]
fn existing_keyrings_and_configurations_are_not_overwritten() {
    let Some(_) = require(Kind::MySql97) else { return };
    let server = Server::builder(Kind::MySql97).start().expect("MySQL starts");
    let keyring = beside(&server, "keyring");
    fs::create_dir(server.dir().join("data-keyring")).expect("made");
    fs::set_permissions(server.dir().join("data-keyring"), fs::Permissions::from_mode(0o755)).expect("set");
    on(&server, "init", &["--yes"]).refused(1, "is open to others (mode 0755)", "0700");
    fs::set_permissions(server.dir().join("data-keyring"), fs::Permissions::from_mode(0o700)).expect("set");
    fs::write(&keyring, "keys of another").expect("written");
    on(&server, "init", &["--yes"]).refused(1, "keys are never overwritten", "--keyring-file");
    assert_eq!(fs::read_to_string(&keyring).expect("read"), "keys of another");
    fs::remove_file(&keyring).expect("removed");

    let inside = server.datadir().join("keyring");
    let inside = inside.to_str().expect("ASCII");
    on(&server, "init", &["--yes", "--keyring-file", inside]).refused(
        1,
        "inside the data directory",
        "--inside-datadir",
    );
    let plan = written(&on(&server, "init", &["--dry-run", "--inside-datadir", "--keyring-file", inside]));
    assert!(plan["notes"][0].as_str().is_some_and(|note| note.contains("inside")), "{plan:#}");

    let manifest = server.datadir().join("mysqld.my");
    fs::write(&manifest, r#"{"components":"file://component_keyring_kmip"}"#).expect("written");
    on(&server, "init", &["--yes"]).refused(1, "loads file://component_keyring_kmip already", "nothing was written");
    fs::remove_file(&manifest).expect("removed");
    on(&server, "init", &["--yes", "--plugin-dir", "/tmp"]).refused(1, "is not installed", "--plugin-dir");
    on(&server, "init", &["--yes", "--datadir", "/tmp"]).refused(1, "auto.cnf", "--datadir");
    on(&server, "init", &["--yes", "--keyring-file", "/proc/no/keyring"]).refused(1, "cannot be written", "root");
    assert!(!server.datadir().join("component_keyring_file.cnf").exists() && !manifest.exists());

    let ready = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).start().expect("MySQL starts");
    on(&ready, "init", &["--yes"]).refused(1, "component_keyring_file is already active", "keyring check");
}

#[test]
fn a_server_that_does_not_run_is_set_up_by_its_option_file() {
    let Some(binaries) = require(Kind::MySql97) else { return };
    let mut server = Server::builder(Kind::MySql97).start().expect("MySQL starts");
    server.stop().expect("it stops");
    // An installation without a manifest.
    let (daemon, plugins) = (server.dir().join("sbin"), server.dir().join("plugins"));
    for directory in [&daemon, &plugins] {
        fs::create_dir(directory).expect("made");
    }
    fs::write(plugins.join("component_keyring_file.so"), "").expect("written");
    let config = server.dir().join("server.cnf");
    fs::write(&config, format!("[mysqld]\ndatadir={}\n", server.datadir().display())).expect("written");
    let locations = ["--plugin-dir", plugins.to_str().expect("ASCII"), "--daemon-dir", daemon.to_str().expect("ASCII")];
    written(&end(offline(&config, &[&locations[..], &["--yes"]].concat())));
    let said = |path: &Path| serde_json::from_slice::<Value>(&fs::read(path).expect("read")).expect("JSON");
    assert_eq!(said(&daemon.join("mysqld.my")), serde_json::json!({"read_local_manifest": true}));
    assert_eq!(mode(&daemon.join("mysqld.my")), 0o644);
    assert_eq!(said(&plugins.join("component_keyring_file.cnf")), serde_json::json!({"read_local_config": true}));
    // The real installation has both files, so the server finds those in its data directory.
    drop(binaries);
    server.start().expect("it starts");
    assert_eq!(state(&checked(&on(&server, "check", &["--write-test"]), 0), "write-test"), "ok");

    let nothing = server.dir().join("nothing.cnf");
    end(offline(&nothing, &["--yes"])).refused(1, "nothing.cnf", "");
    fs::write(&nothing, "[mysqld]\n").expect("written");
    end(offline(&nothing, &["--yes"])).refused(1, "does not report its data directory", "");
    fs::write(&nothing, "[mysqld]\ndatadir=/proc\n").expect("written");
    end(offline(&nothing, &["--yes", "--plugin-dir", "/tmp"])).refused(1, "is not a data directory", "--datadir");
}

#[test]
fn a_mariadb_without_keys_gets_them() {
    for kind in [Kind::MariaDb1011, Kind::MariaDb118] {
        let Some(_) = require(kind) else { continue };
        let mut server = Server::builder(kind).option_file("[mariadb]\n# mine").start().expect("MariaDB starts");
        let config = server.dir().join("my.cnf");
        let text = config.to_str().expect("ASCII").to_owned();
        // The file that the running server was started with, and no other.
        let plan = written(&on(&server, "init", &["--dry-run"]));
        let parts = plan["parts"].as_array().expect("a list");
        assert_eq!(parts.last().expect("a part")["path"], text, "{plan:#}");
        let run = |server: &Server| on(server, "init", &["--yes", "--keys", "3"]);
        let report = written(&run(&server));
        assert!(report["notes"][0].as_str().is_some_and(|note| note.contains("beside")), "{report:#}");
        let options = fs::read_to_string(&config).expect("read");
        assert!(
            options.starts_with("[mariadb]\n# mine\n") && options.contains("plugin_load_add = file_key_management")
        );
        for name in ["keys.enc", "keys.password"] {
            assert_eq!(mode(&beside(&server, name)), 0o600);
        }
        let keys = fs::read(beside(&server, "keys.enc")).expect("keys");
        assert!(keys.starts_with(b"Salted__"));
        // Again, as after an interruption: nothing is created a second time.
        let again = written(&run(&server));
        assert!(
            again["parts"].as_array().expect("a list").iter().all(|part| part["condition"] == "there"),
            "{again:#}"
        );
        assert_eq!(fs::read(beside(&server, "keys.enc")).expect("keys"), keys);

        restart(&mut server);
        let report = checked(&on(&server, "check", &["--write-test"]), 0);
        for check in ["active", "write-test", "place", "modes", "opens"] {
            assert_eq!(state(&report, check), "ok", "{report:#}");
        }
        server
            .sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY) ENCRYPTED=YES ENCRYPTION_KEY_ID=3")
            .expect("key 3 is there");
        run(&server).refused(1, "file_key_management is already active", "keyring check");
        // The password alone does not open another key file.
        fs::remove_file(&config).expect("removed");
        fs::write(beside(&server, "keys.enc"), b"Salted__others").expect("written");
        let datadir = server.datadir().to_str().expect("ASCII").to_owned();
        server.stop().expect("it stops");
        fs::write(&config, format!("[mariadb]\ndatadir={datadir}\n")).expect("written");
        let plugins = server.binaries().plugins.clone().expect("plug-ins");
        let more = ["--yes", "--plugin-dir", plugins.to_str().expect("ASCII")];
        end(offline(&config, &more)).refused(1, "keys are never overwritten", "--keyring-file");
    }
}
