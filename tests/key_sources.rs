//! Every verb that reads keys, with the keys in every service that can have them. Each pair is run twice: with all keys,
//! where something has to be opened by them, and after the service has lost the key of a table.
//!
//! All verbs read keys through one function, so the gate runs each verb with one of the services, and each service with some
//! verbs; `make soak` runs every pair.
//!
//! A new verb is a row of [`VERBS`], a new service a row of `support::key_services`. The servers here have their keys in
//! a file, because no Percona Server is installed: the test stores the same keys in each service as the server's plug-in or
//! component would, and moves the file away, so that a verb which does not read the service opens nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use harness::{Kind, Server, require};
use serde_json::Value;

use crate::keys_in_vault::{read_keyring, table};
use crate::support::backup::{Backups, files, is_same};
use crate::support::chance::number;
use crate::support::key_services::{Key, KeySource, Services, keys_of};
use crate::support::moving::{Receiving, send};
use crate::support::proof::Proof;
use crate::support::rotation::{Ended, Rotating, encrypting, end};
use crate::support::sealant;

/// The state of the server that a verb needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It runs, and its own key file is away.
    Running,
    /// It runs, and has its own key file, because the verb reads that, too.
    WithFile,
    Stopped,
}

/// A verb that reads keys.
struct Verb {
    name: &'static str,
    state: State,
    run: fn(&At<'_>) -> Tried,
    /// What it says of the table whose key is lost.
    names: &'static str,
    /// Whether it warns of what happened to the key, besides.
    warns: bool,
    /// Whether MariaDB's keys are something to it.
    mariadb: bool,
}

/// Everything that reads keys; `rotate` is in [`Owner::rotations`], because it changes them.
#[rustfmt::skip]
const VERBS: &[Verb] = &[
    Verb { name: "audit --deep", state: State::WithFile, run: audit, names: "demo/two.ibd", warns: true, mariadb: true },
    Verb { name: "encrypt", state: State::WithFile, run: encrypt, names: "demo/two.ibd", warns: true, mariadb: true },
    Verb { name: "keys", state: State::Running, run: keys, names: "demo/two.ibd", warns: true, mariadb: true },
    Verb { name: "keyring check", state: State::Running, run: keyring_check, names: "demo/two.ibd", warns: true, mariadb: true },
    Verb { name: "snapshot", state: State::Running, run: snapshot, names: "without its key", warns: true, mariadb: false },
    Verb { name: "verify", state: State::Stopped, run: verify, names: "missing-key", warns: true, mariadb: true },
    Verb { name: "bench verify", state: State::Stopped, run: bench_verify, names: "", warns: true, mariadb: true },
    Verb { name: "audit --offline", state: State::Stopped, run: audit_offline, names: "demo/two.ibd", warns: true, mariadb: true },
    Verb { name: "send", state: State::Stopped, run: send_opened, names: "", warns: true, mariadb: true },
    Verb { name: "backup", state: State::Stopped, run: back_up, names: "demo/two.ibd", warns: true, mariadb: true },
    Verb { name: "keyring migrate", state: State::Stopped, run: migrate, names: "", warns: false, mariadb: false },
];

/// A verb on a server with a configuration of a service.
struct At<'s> {
    server: &'s Server,
    mariadb: bool,
    config: &'s str,
    room: PathBuf,
}

/// What a verb has done.
#[derive(Debug)]
struct Tried {
    /// Keys, files or bytes that were opened, or 1 for the whole.
    opened: u64,
    said: String,
}

impl Tried {
    fn new(ended: &Ended, opened: u64) -> Self {
        Self { opened, said: format!("{}\n{}", ended.stdout, ended.stderr) }
    }
}

impl At<'_> {
    /// The option of verbs that take key stores.
    fn stores(&self) -> &'static str {
        if !self.mariadb { "--keyring" } else { "--mariadb-key-file" }
    }

    fn copy(&self) -> &'static str {
        if !self.mariadb { "--keyring-copy" } else { "--key-file-copy" }
    }

    fn datadir(&self) -> &str {
        self.server.datadir().to_str().expect("ASCII")
    }

    /// A verb on the running server.
    fn online(&self, verb: &[&str], more: &[&str]) -> Ended {
        let mut command = sealant();
        command.current_dir(&self.room).args(verb).args(["--user", "root", "--socket"]).arg(self.server.socket());
        end(with(command, more))
    }

    fn offline(&self, verb: &[&str], more: &[&str]) -> Ended {
        end(with(sealant(), &[verb, more].concat()))
    }
}

fn with(mut command: Command, more: &[&str]) -> Command {
    command.args(more);
    command
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or(Value::Null)
}

/// Number of elements of a list with this property.
fn count(list: &Value, is: impl Fn(&Value) -> bool) -> u64 {
    list.as_array().map_or(0, |list| list.iter().filter(|item| is(item)).count() as u64)
}

fn keys(at: &At<'_>) -> Tried {
    let ended = at.online(&["keys", "--format", "json"], &["--keyring", at.config]);
    let needed = |key: &Value| key["used_by"].as_object().is_some_and(|uses| !uses.is_empty());
    let held = count(&json(&ended)["keys"], |key| key["held"] == true && needed(key));
    Tried::new(&ended, held)
}

fn keyring_check(at: &At<'_>) -> Tried {
    let stores = ["--keyring", at.config, "--keyring-copy", at.config];
    let ended = at.online(&["keyring", "check", "--format", "json"], &stores);
    let opens = |item: &Value| item["check"].as_str().is_some_and(|check| check.ends_with("opens"));
    let opened = count(&json(&ended)["items"], |item| opens(item) && item["state"] == "ok");
    Tried::new(&ended, opened)
}

fn audited(ended: &Ended) -> Tried {
    let report = json(ended);
    let of_keys = |found: &&Value| found["id"] == "key-cannot-open" || found["id"] == "key-backup-missing";
    let findings: Vec<&Value> = report["findings"].as_array().into_iter().flatten().filter(of_keys).collect();
    // That a configuration opens everything does not make it a copy of the keys: the audit calls that UNKNOWN.
    let opened = u64::from(!findings.is_empty() && findings.iter().all(|found| found["status"] != "FAIL"));
    let said = format!("{}\n{}", serde_json::json!(findings), ended.stderr);
    Tried { opened, said }
}

fn audit(at: &At<'_>) -> Tried {
    audited(&at.online(&["audit", "--format", "json", "--deep", "--no-wire"], &[at.copy(), at.config]))
}

fn audit_offline(at: &At<'_>) -> Tried {
    let verb = ["audit", "--format", "json", "--deep", "--no-host", "--offline", at.datadir()];
    audited(&at.offline(&verb, &[at.copy(), at.config]))
}

fn snapshot(at: &At<'_>) -> Tried {
    let location = at.room.join("copies");
    fs::create_dir(&location).expect("room");
    let location = location.to_str().expect("ASCII");
    let verb = ["snapshot", "create", "--provider", "follow", "--datadir", at.datadir(), "--location", location];
    let ended = at.online(&verb, &["--keyring", at.config]);
    Tried::new(&ended, u64::from(ended.code == Some(0)))
}

fn encrypt(at: &At<'_>) -> Tried {
    let verb = ["encrypt", "run", "--yes", "--policy", "logs", "--state-dir", "state"];
    let ended = at.online(&verb, &["--log", "statements", "--keyring-copy", at.config]);
    Tried::new(&ended, u64::from(ended.code == Some(0) || ended.code == Some(3)))
}

fn verify(at: &At<'_>) -> Tried {
    let ended = at.offline(&["verify", "--format", "json", at.datadir()], &[at.stores(), at.config]);
    let is_two = |file: &Value| file["path"].as_str().is_some_and(|path| path.ends_with("demo/two.ibd"));
    let opened = count(&json(&ended)["files"], |file| is_two(file) && file["verdict"] == "ok");
    Tried::new(&ended, opened)
}

fn bench_verify(at: &At<'_>) -> Tried {
    let file = at.server.datadir().join("demo/two.ibd");
    let file = file.to_str().expect("ASCII");
    let verb = ["bench", "verify", "--rounds", "1", "--quiet", "--format", "json", file];
    let ended = at.offline(&verb, &[at.stores(), at.config]);
    let opened = json(&ended).pointer("/subject/opened_bytes").and_then(Value::as_u64).unwrap_or(0);
    Tried::new(&ended, opened)
}

fn send_opened(at: &At<'_>) -> Tried {
    let (into, report) = (at.room.join("into"), at.room.join("report"));
    let receiving = Receiving::begin(&into, &[]);
    let more = ["--compress", "zstd:3", "--report", report.to_str().expect("ASCII"), at.stores(), at.config];
    let sent = send(at.server.datadir(), &receiving.code, &more);
    let stderr = if sent.status.success() {
        receiving.end().1
    } else {
        {
            receiving.kill();
            String::new()
        }
    };
    let json: Value = serde_json::from_slice(&fs::read(&report).unwrap_or_default()).unwrap_or(Value::Null);
    let said = format!("{json} {} {stderr}", String::from_utf8_lossy(&sent.stderr));
    Tried { opened: json["opened_bytes"].as_u64().unwrap_or(0), said }
}

/// The backup, its keys, its restoration, and the proof by a private server, which has a copy of the keys.
fn back_up(at: &At<'_>) -> Tried {
    let line = if !at.mariadb { "keyring" } else { "mariadb_key_file" };
    let backups = Backups::within(&at.room, at.server.datadir(), &format!("{line} = {:?}", at.config));
    let ran = backups.backup(&["run"]);
    let identity = backups.path("identity");
    let check = ["keyring", "check", "--identity", identity.to_str().expect("ASCII"), at.stores(), at.config];
    let checked = end(backups.command(&check));
    let opened = ran.number("/bytes/opened");
    let mut said = format!("{}\n{}\n{}\n{}", ran.json, ran.stderr, checked.stdout, checked.stderr);
    if checked.code == Some(0) {
        let restored = at.room.join("restored");
        let keys = [at.stores(), at.config];
        let ended = backups.restore("latest", &restored, &keys).is(4);
        is_same(&restored, &files(at.server.datadir()));
        said += &format!("\nrestored: {} {}", ended.json, ended.stderr);
        if ran.number("/pages/unproven") == 0 {
            let daemon = at.server.kind().locate().expect("it is here").daemon;
            let prove = ["--prove", "--mysqld", daemon.to_str().expect("ASCII")];
            let proven = backups.restore("latest", &at.room.join("proven"), &[&keys[..], &prove].concat()).is(4);
            assert_eq!(proven.json["proof"]["bad_pages"], 0, "{}", proven.json);
        }
    } else {
        assert_eq!(checked.code, Some(3), "{said}");
    }
    Tried { opened, said }
}

fn migrate(at: &At<'_>) -> Tried {
    let to = at.room.join("keyring");
    let verb = ["keyring", "migrate", "--yes", "--datadir", at.datadir(), at.config, to.to_str().expect("ASCII")];
    let ended = at.offline(&verb, &[]);
    let opened = if ended.code == Some(0) { Proof::mysql(&[at.server.datadir()], Some(&to)).files().len() } else { 0 };
    Tried::new(&ended, opened as u64)
}

/// A server, the file of its keys, and where that is while it is away.
struct Owner {
    server: Server,
    mariadb: bool,
    file: PathBuf,
}

impl Owner {
    fn hide(&self) {
        fs::rename(&self.file, self.file.with_extension("away")).expect("moved");
    }

    fn show(&self) {
        fs::rename(self.file.with_extension("away"), &self.file).expect("moved");
    }

    /// Runs each verb for this state with each source.
    fn try_verbs(&self, state: State, sources: &[KeySource<'_>]) -> BTreeMap<(&'static str, &'static str), Tried> {
        let for_each_verb = (number("SEALANT_KEY_SOURCES", 1) as usize).min(sources.len());
        let verbs = VERBS.iter().enumerate();
        let verbs = verbs.filter(|(_, verb)| verb.state == state && (verb.mariadb || !self.mariadb));
        let cells = verbs.flat_map(|(row, verb)| {
            sources.iter().cycle().skip(row).take(for_each_verb).map(move |source| (verb, source))
        });
        let tried = cells.map(|(verb, source)| {
            let room = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("room");
            let config = source.config.to_str().expect("ASCII");
            let at = At { server: &self.server, mariadb: self.mariadb, config, room: room.path().to_owned() };
            ((verb.name, source.name), (verb.run)(&at))
        });
        tried.collect()
    }

    /// Runs each verb in each state of the server.
    fn try_all(&mut self, sources: &[KeySource<'_>]) -> BTreeMap<(&'static str, &'static str), Tried> {
        let mut tried = self.try_verbs(State::WithFile, sources);
        self.hide();
        tried.extend(self.try_verbs(State::Running, sources));
        self.server.stop().expect("it stops");
        tried.extend(self.try_verbs(State::Stopped, sources));
        self.show();
        tried
    }

    /// Asserts that each verb opens something with the keys of each service, and less without `key`, which it names with
    /// its table.
    fn opens_with_all_keys_only(&mut self, sources: &[KeySource<'_>], key: &str) {
        let whole = self.try_all(sources);
        sources.iter().for_each(|source| source.take_away(key));
        self.server.start().expect("it starts");
        let lacking = self.try_all(sources);
        for (cell, whole) in &whole {
            let (verb, source) = (verb_of(cell.0), source_of(sources, cell.1));
            let lacking = &lacking[cell];
            assert!(whole.opened > 0, "{cell:?}: {whole:#?}");
            assert!(lacking.opened < whole.opened, "{cell:?}: {whole:#?} {lacking:#?}");
            assert!(lacking.said.contains(verb.names), "{cell:?}: {lacking:#?}");
            assert!(!verb.warns || lacking.said.contains(source.withdrawn), "{cell:?}: {lacking:#?}");
        }
    }

    /// Rotates the master key once for each source. The service does not get the new key at first: its proof has to
    /// notice, and it succeeds once the key is there.
    fn rotations(self, sources: &[KeySource<'_>]) -> Self {
        let Self { server, mariadb, file } = self;
        let at = Rotating::on(server);
        // Those of a Vault are in `rotate_vault`.
        let others = sources.iter().filter(|source| !source.name.contains("vault"));
        for (number, source) in others.enumerate() {
            fs::rename(&file, file.with_extension("away")).expect("moved");
            let backup = format!("{number}.age");
            let rotation = ["--master-key", "--keyring", source.config.to_str().expect("ASCII")];
            let refused = at.run(&backup, &rotation);
            refused.refused(1, "has no key newer than INNODBKey-", "the service did not get a key");
            // The server has written all its keys again.
            let keys = keys_of(&read_keyring(&at.server));
            sources.iter().for_each(|source| source.put(&keys));
            fs::rename(&file, file.with_extension("away")).expect("moved");
            let report = at.run(&backup, &rotation).is_done();
            assert_ne!(report["proofs"]["after"]["tablespaces_on_new_key"], 0, "{}: {report:#}", source.name);
            fs::rename(file.with_extension("away"), &file).expect("moved");
        }
        Self { server: at.server, mariadb, file }
    }
}

fn verb_of(name: &str) -> &'static Verb {
    VERBS.iter().find(|verb| verb.name == name).expect("a verb")
}

fn source_of<'s>(sources: &'s [KeySource<'s>], name: &str) -> &'s KeySource<'s> {
    sources.iter().find(|source| source.name == name).expect("a source")
}

#[test]
fn every_verb_opens_a_mysql_with_keys_from_every_service() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let Some(services) = Services::start() else { return };
    let server = encrypting().start().expect("MySQL starts");
    let made = "CREATE DATABASE demo; CREATE TABLE demo.two (x TEXT); INSERT INTO demo.two VALUES (REPEAT('x', 9999));";
    server.sql(&format!("{made} FLUSH TABLES demo.two FOR EXPORT; UNLOCK TABLES")).expect("SQL");
    let keys = keys_of(&read_keyring(&server));
    let sources = services.of_mysql();
    sources.iter().for_each(|source| source.put(&keys));
    let file = server.dir().join("keyring");
    let mut owner = Owner { server, mariadb: false, file }.rotations(&sources);
    let keys = keys_of(&read_keyring(&owner.server));
    let master = keys.iter().map(|(name, ..)| name).filter(|name| name.starts_with("INNODBKey-")).max().expect("a key");
    owner.opens_with_all_keys_only(&sources, master);
}

#[test]
fn every_verb_opens_a_mariadb_with_keys_from_every_service() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let Some(services) = Services::start() else { return };
    let digits =
        ["770a8a65da156d24ee2a093277530142770a8a65da156d24ee2a093277530142", "11111111111111111111111111111111"];
    let keys: Vec<Key> =
        (1..).zip(digits).map(|(id, digits)| (format!("{id}"), String::new(), digits.to_owned())).collect();
    let options = ["--innodb-encrypt-log=ON", "--aria-encrypt-tables=ON", "--encrypt-binlog=ON", "--log-bin=binlog"];
    let lines: String = keys.iter().map(|(id, _, digits)| format!("{id};{digits}\n")).collect();
    let server = Server::builder(Kind::MariaDb1011).mariadb_keys(&lines).options(options);
    let server = server.start().expect("MariaDB starts");
    let tables = [table("one", "ENCRYPTED=YES"), table("two", "ENCRYPTED=YES ENCRYPTION_KEY_ID=2")].concat();
    server
        .sql(&format!("CREATE DATABASE demo; USE demo; {tables} FLUSH TABLES one, two FOR EXPORT; UNLOCK TABLES"))
        .expect("SQL");
    let sources = services.of_mariadb(server.datadir());
    sources.iter().for_each(|source| source.put(&keys));
    let file = server.dir().join("keys.txt");
    let mut owner = Owner { server, mariadb: true, file };
    owner.opens_with_all_keys_only(&sources, "2");
}
