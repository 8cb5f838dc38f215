//! What `sealant backup` and `sealant restore` show to other processes, and what they write: no password, no identity,
//! and no key of a keyring.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use data_encoding::HEXUPPER_PERMISSIVE;
use harness::{KeyringLocation, Kind, Server, require};
use serde_json::Value;

use crate::support::backup::{Backups, files_below};

/// Password of the account for backups.
const PASSWORD: &str = "pl4nted-Passw0rd";

/// A secret: its name, and its bytes.
type Secret = (&'static str, Vec<u8>);

/// Arguments and environment of processes, by their ids.
type Seen = BTreeMap<u32, Vec<Vec<u8>>>;

#[track_caller]
fn has_none(secrets: &[Secret], place: &str, bytes: &[u8]) {
    for (name, secret) in secrets {
        assert!(!bytes.windows(secret.len()).any(|window| window == secret), "{name} is in {place}");
    }
}

/// Adds what other processes can read of this process and of its descendants.
fn look(process: u32, seen: &mut Seen) {
    for name in ["cmdline", "environ"] {
        let now = fs::read(format!("/proc/{process}/{name}")).unwrap_or_default();
        let all = seen.entry(process).or_default();
        if !now.is_empty() && !all.contains(&now) {
            all.push(now);
        }
    }
    for task in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        children.split_whitespace().filter_map(|child| child.parse().ok()).for_each(|child| look(child, seen));
    }
}

/// The limits of a process's core dumps; `None` if it has ended.
fn core_limits(process: u32) -> Option<[String; 2]> {
    let limits = fs::read_to_string(format!("/proc/{process}/limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max core file size"))?;
    let mut values = line.split_whitespace().map(str::to_owned);
    Some([values.next()?, values.next()?])
}

/// The keys of a keyring, as bytes and in hexadecimal.
fn keys_of(keyring: &Path) -> Vec<Secret> {
    let json: Value = serde_json::from_slice(&fs::read(keyring).expect("a keyring")).expect("JSON");
    let elements = json["elements"].as_array().expect("keys");
    // MySQL also keeps the number of its newest key for binary logs, which is too short to search for.
    let texts = elements.iter().filter_map(|element| element["data"].as_str()).filter(|text| text.len() == 64);
    let keys: Vec<Secret> = texts
        .flat_map(|text| {
            [
                ("a key in capital hexadecimal", text.to_uppercase().into_bytes()),
                ("a key in small hexadecimal", text.to_lowercase().into_bytes()),
                ("a key", HEXUPPER_PERMISSIVE.decode(text.as_bytes()).expect("hexadecimal")),
            ]
        })
        .collect();
    assert!(!keys.is_empty(), "the keyring has no key");
    keys
}

/// A server with encrypted tables, backed up through an account with a password.
struct Planted {
    server: Server,
    backups: Backups,
    keyring: PathBuf,
    _keys: tempfile::TempDir,
}

impl Planted {
    fn new() -> Option<Self> {
        require(Kind::MySql97)?;
        let keys = tempfile::tempdir().expect("a directory");
        let keyring = keys.path().join("keyring");
        let server = Server::builder(Kind::MySql97)
            .keyring(KeyringLocation::Path(keyring.clone()))
            .options([
                "--gtid-mode=ON",
                "--enforce-gtid-consistency=ON",
                "--binlog-encryption=ON",
                "--innodb-redo-log-encrypt=ON",
            ])
            .start()
            .expect("it starts");
        server
            .sql(&format!(
                "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY) ENCRYPTION='Y'; \
                 INSERT INTO shop.orders VALUES (1); \
                 CREATE USER keeper@localhost IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON *.* TO keeper@localhost"
            ))
            .expect("an account");
        let password = keys.path().join("password");
        fs::write(&password, format!("{PASSWORD}\n")).expect("written");
        fs::set_permissions(&password, Permissions::from_mode(0o600)).expect("for its owner");
        let backups = Backups::new(server.datadir(), &format!("keyring = {keyring:?}"));
        let account = format!(
            "socket = {:?}\nuser = \"keeper\"\npassword_file = {password:?}\n[binlogs]\nsegment_every = \"1s\"\n\
             [data]\nprovider = \"follow\"",
            server.socket()
        );
        backups.configure("[data]", &account);
        Some(Self { server, backups, keyring, _keys: keys })
    }

    fn secrets(&self) -> Vec<Secret> {
        let identity = fs::read_to_string(self.backups.path("identity")).expect("an identity");
        let mut secrets = keys_of(&self.keyring);
        secrets.push(("the password", PASSWORD.into()));
        secrets.push(("the identity", identity.trim().into()));
        secrets
    }

    /// Runs a verb while its processes are looked at; returns how many there were.
    fn runs(&self, name: &str, command: &mut Command, codes: &[i32], secrets: &[Secret]) -> usize {
        let outputs = ["stdout", "stderr"].map(|stream| self.backups.path(&format!("{name}.{stream}")));
        let [stdout, stderr] = outputs.each_ref().map(|path| File::create(path).expect("a file"));
        let mut running = command.stdout(stdout).stderr(stderr).spawn().expect("it starts");
        let (mut seen, mut limits) = (Seen::new(), None);
        while running.try_wait().expect("its state").is_none() {
            look(running.id(), &mut seen);
            limits = core_limits(running.id()).or(limits);
            sleep(Duration::from_millis(1));
        }
        let code = running.wait().expect("it ends").code().unwrap_or(-1);
        let said = fs::read_to_string(&outputs[1]).expect("text");
        assert!(codes.contains(&code), "{name}: {code}: {said}");
        assert_eq!(limits.expect("it was seen"), ["0", "0"], "{name}: core dumps are possible");
        let own = &seen[&running.id()];
        assert!(
            own.iter().any(|text| text.windows(9).any(|window| window == b"--config\0" || window == b"identity\0"))
        );
        for texts in seen.values() {
            texts.iter().for_each(|text| has_none(secrets, &format!("the processes of {name}"), text));
        }
        seen.len()
    }
}

#[test]
fn no_secret_is_in_arguments_environments_outputs_and_objects() {
    let Some(mut planted) = Planted::new() else { return };
    let secrets = planted.secrets();
    let Planted { backups, keyring, .. } = &planted;
    let json = |verb: &[&str]| {
        let mut command = backups.command(verb);
        command.arg("--json");
        command
    };
    planted.runs("run", &mut json(&["run"]), &[0], &secrets);
    planted.server.sql("INSERT INTO shop.orders VALUES (2)").expect("changed");
    planted.runs("binlogs", &mut json(&["binlogs", "--once"]), &[0], &secrets);
    let keys = ["--keyring", keyring.to_str().expect("ASCII")];
    planted.runs("restore", &mut backups.restore_command("1", &backups.path("into"), &keys), &[0], &secrets);
    let daemon = Kind::MySql97.locate().expect("it is here").daemon;
    let prove = [&keys[..], &["--prove", "--mysqld", daemon.to_str().expect("ASCII")]].concat();
    let proving = &mut backups.restore_command("1", &backups.path("proven"), &prove);
    assert!(planted.runs("prove", proving, &[0], &secrets) > 1, "the private server was not seen");
    planted.server.stop().expect("it stops");

    // What the restores wrote is the server's own data, and the identity is the user's own file.
    let others = ["identity", "into", "proven"].map(|name| planted.backups.path(name));
    let written = files_below(&planted.backups.path(""));
    let written: Vec<_> = written.iter().filter(|path| !others.iter().any(|other| path.starts_with(other))).collect();
    for part in ["state", "receipts", "packs", "run.stdout", "prove.stderr"] {
        assert!(written.iter().any(|path| path.components().any(|name| name.as_os_str() == part)), "{written:?}");
    }
    for path in written {
        has_none(&secrets, &path.display().to_string(), &fs::read(path).expect("readable"));
    }
}
