//! `sealant backup binlogs --follow` while the store cannot be reached.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use harness::faulty::{Fault, FaultyStore, Seen};
use harness::s3::{S3Server, s3_server};
use harness::{KeyringLocation, Kind, Replication, Server, ServerBuilder, limit, require, wait_until};
use serde_json::Value;

use crate::support::backup::{Backups, ended, files_below};
use crate::support::chance::{Random, number};
use crate::support::clock::MovedClock;
use crate::support::disk::text;
use crate::support::tmpfs::{self, Tmpfs};

/// What the store does not do.
#[derive(Clone, Debug)]
enum Outage {
    None,
    /// It cannot be reached.
    Whole,
    /// Requests for these objects are lost.
    Of(String),
    /// It needs a second for each request.
    Slow,
}

impl Outage {
    fn fault(&self, seen: &Seen) -> Fault {
        match self {
            Self::None => Fault::None,
            Self::Whole => Fault::LostBefore,
            Self::Of(names) if seen.target.contains(names) => Fault::LostBefore,
            Self::Of(_) => Fault::None,
            Self::Slow => {
                sleep(Duration::from_secs(1));
                Fault::None
            }
        }
    }
}

/// A server whose logs are archived in a bucket that can become unreachable.
struct Case {
    builder: ServerBuilder,
    server: Server,
    keyring: PathBuf,
    _secrets: tempfile::TempDir,
    s3: S3Server,
    outage: Arc<Mutex<Outage>>,
    backups: Backups,
}

impl Case {
    fn new() -> Option<Self> {
        let s3 = s3_server(false)?;
        require(Kind::MySql97)?;
        let secrets = tempfile::tempdir().expect("a directory");
        let keyring = secrets.path().join("keyring");
        let options = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--default-table-encryption=ON"];
        let builder = Server::builder(Kind::MySql97).keyring(KeyringLocation::Path(keyring.clone())).options(options);
        let server = builder.clone().start().expect("the server starts");
        server.sql("CREATE DATABASE shop; CREATE TABLE shop.orders (note VARCHAR(200) PRIMARY KEY)").expect("made");
        s3.create_bucket("backups", false).expect("a bucket");
        let outage = Arc::new(Mutex::new(Outage::None));
        let now = Arc::clone(&outage);
        let fault = move |seen: &Seen| {
            let now = now.lock().expect("not poisoned").clone();
            now.fault(seen)
        };
        let proxy = FaultyStore::start(s3.port(), fault).expect("a proxy");
        let lines = format!("socket = {:?}\nuser = \"root\"\nkeyring = {keyring:?}", server.socket());
        let root = s3.root().expect("root");
        let backups = Backups::in_bucket(server.datadir(), &lines, &s3, &root, "s3://backups/mysql");
        backups.configure(&s3.endpoint(), &proxy.endpoint());
        backups.configure("[data]\n", "[binlogs]\nsegment_every = \"1s\"\n[data]\nprovider = \"follow\"\n");
        ended(&mut backups.command(&["init", "--unproven-recipient"])).is(0);
        backups.backup(&["run"]).is(0);
        Some(Self { builder, server, keyring, _secrets: secrets, s3, outage, backups })
    }

    fn set(&self, outage: Outage) {
        *self.outage.lock().expect("not poisoned") = outage;
    }

    fn set_down(&self, is_down: bool) {
        self.set(if is_down { Outage::Whole } else { Outage::None });
    }

    fn insert(&self, note: &str) {
        self.server.sql(&format!("INSERT INTO shop.orders VALUES ('secret-marker-{note}')")).expect("inserted");
    }

    fn follow(&self) -> Child {
        self.follower().spawn().expect("it starts")
    }

    fn follower(&self) -> Command {
        let says = fs::File::options().create(true).append(true).open(self.backups.path("says")).expect("a file");
        let mut command = self.backups.command(&["binlogs", "--follow"]);
        command.arg("--prometheus").arg(self.backups.path("metrics.prom")).stderr(says).stdout(Stdio::null());
        command
    }

    fn says(&self) -> String {
        fs::read_to_string(self.backups.path("says")).unwrap_or_default()
    }

    /// The parts in the spool.
    fn spooled(&self) -> Vec<PathBuf> {
        self.in_spool("age")
    }

    /// The files of the spool with this extension.
    fn in_spool(&self, extension: &str) -> Vec<PathBuf> {
        let files = files_below(&self.backups.path("state"));
        let is_spool =
            |path: &PathBuf| path.to_string_lossy().contains("/spool-") && path.extension() == Some(extension.as_ref());
        files.into_iter().filter(is_spool).collect()
    }

    /// Asserts that nothing is left in the spool.
    #[track_caller]
    fn has_empty_spool(&self) {
        assert_eq!((self.spooled(), self.in_spool("list")), (Vec::new(), Vec::new()), "{}", self.says());
    }

    /// What `list` says of the parts that wait, as JSON and as text.
    fn listed(&self) -> (Value, String) {
        let table = self.backups.command(&["list"]).output().expect("it starts");
        let json = self.backups.backup(&["list"]).is(0).json;
        (json["spooled"].clone(), String::from_utf8_lossy(&table.stdout).into_owned())
    }

    /// The archived parts in the bucket.
    fn stored(&self) -> usize {
        let objects = files_below(&self.s3.path("data/backups/mysql/hosts/db1"));
        objects.iter().filter(|path| path.to_string_lossy().contains("/binlogs/")).count()
    }

    #[track_caller]
    fn wait(&self, what: &str, is_so: impl Fn() -> bool) {
        wait_until(what, limit(60), || if is_so() { Ok(()) } else { Err(self.says()) });
    }

    /// Writes a row, and waits until it is in the spool and in the state.
    #[track_caller]
    fn insert_spooled(&self, note: &str) {
        self.insert(note);
        let executed = self.server.value("SELECT @@GLOBAL.gtid_executed").expect("GTIDs");
        self.wait(note, || {
            let states = files_below(&self.backups.path("state")).into_iter();
            let mut states = states.filter(|path| path.extension() == Some("json".as_ref()));
            states.any(|state| {
                let state = fs::read(state).unwrap_or_default();
                let state: Value = serde_json::from_slice(&state).unwrap_or_default();
                state["gtid"] == executed.as_str() && !state["spool"].is_null()
            })
        });
        assert!(!self.spooled().is_empty());
    }

    /// Asserts that a restore to the end of the archive has every row of the server. Returns the report of the last run
    /// that archived logs.
    #[track_caller]
    fn has_everything(&self, name: &str) -> Value {
        self.has_everything_of(&self.server, name)
    }

    #[track_caller]
    fn has_everything_of(&self, server: &Server, name: &str) -> Value {
        let once = self.backups.backup(&["binlogs", "--once"]).is(0).json;
        self.backups.backup(&["binlogs", "show"]).is(0);
        self.backups.backup(&["check", "all", "--objects"]).is(0);
        let into = self.backups.path(name);
        let mysqld = self.server.kind().locate().expect("it is here").daemon;
        let keys = ["--keyring", text(&self.keyring), "--mysqld", text(&mysqld), "--to-end", "--binlog-receipt"];
        let receipt = once["receipt"].as_str().expect("a hash");
        self.backups.restore("1", &into, &[&keys[..], &[receipt]].concat()).is(0);
        let restored = self.builder.clone().datadir_seed(&into).start().expect("a server starts on it");
        assert_eq!(rows(&restored), rows(server));
        once
    }
}

fn rows(server: &Server) -> String {
    let whole = "/*+ SET_VAR(group_concat_max_len = 1000000) */";
    server.value(&format!("SELECT {whole} GROUP_CONCAT(note ORDER BY note) FROM shop.orders")).expect("rows")
}

fn kill(mut follower: Child) {
    follower.kill().expect("killed");
    follower.wait().expect("it ends");
}

/// Asks a follower to end; returns its exit code.
fn stop(mut follower: Child) -> Option<i32> {
    let asked = Command::new("kill").arg(follower.id().to_string()).status().expect("kill runs");
    assert!(asked.success());
    follower.wait().expect("it ends").code()
}

fn metric(path: &Path, name: &str) -> Option<f64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.rsplit(' ').next()?.parse().ok()
}

const BYTES: &str = "sealant_backup_binlog_spooled_bytes{";
const SINCE: &str = "sealant_backup_binlog_spooled_since_timestamp_seconds{";

/// The spool may be on another disk than the state. While that is not mounted, nothing is archived, and what waits on it is
/// not forgotten.
#[test]
fn logs_wait_in_the_directory_that_the_configuration_names() {
    let Some(case) = Case::new() else { return };
    let elsewhere = case.backups.path("elsewhere");
    case.backups.configure("[binlogs]\n", &format!("[binlogs]\nspool = {elsewhere:?}\n"));
    let follower = case.follow();
    case.insert("before");
    case.wait("something is archived", || case.stored() > 0);
    case.set_down(true);
    case.insert("waits");
    let is_part = |path: &PathBuf| path.extension() == Some("age".as_ref());
    let waiting = || files_below(&elsewhere).iter().filter(|path| is_part(path)).count();
    case.wait("it waits there", || waiting() > 0);
    assert_eq!(case.spooled(), Vec::<PathBuf>::new());
    assert_eq!(stop(follower), Some(1), "{}", case.says());
    let (parts, aside) = (waiting(), case.backups.path("aside"));
    fs::rename(&elsewhere, &aside).expect("moved");
    case.set_down(false);
    let missing = case.backups.backup(&["binlogs", "--once"]).is(1);
    missing.says("the binary logs that wait on this host cannot be found").says("mount the file system that has it");
    fs::remove_dir_all(&elsewhere).expect("it has directories at most");
    fs::rename(&aside, &elsewhere).expect("moved back");
    assert_eq!(waiting(), parts);
    let follower = case.follow();
    case.wait("it is stored", || waiting() == 0);
    assert_eq!(stop(follower), Some(0), "{}", case.says());
    case.has_everything("into");
}

/// The store fails for a while, and the follower is killed meanwhile; the server removes the logs that were read. All of
/// it is stored afterwards, in order.
#[test]
fn logs_wait_encrypted_while_the_store_is_unreachable() {
    let Some(case) = Case::new() else { return };
    let follower = case.follow();
    case.insert("before");
    case.wait("something is archived", || case.stored() > 0);
    let metrics = case.backups.path("metrics.prom");
    assert_eq!(metric(&metrics, BYTES), Some(0.0));

    case.set_down(true);
    sleep(Duration::from_secs(1));
    let stored = case.stored();
    case.insert_spooled("first");
    case.server.sql("FLUSH BINARY LOGS").expect("flushed");
    case.insert_spooled("second");
    kill(follower);
    // It begins again although the store cannot be reached.
    let follower = case.follow();
    case.wait("it reads again", || case.says().matches("the server sends its log").count() == 2);
    case.insert_spooled("third");
    assert!(metric(&metrics, BYTES).is_some_and(|bytes| bytes > 0.0));
    let now = jiff::Timestamp::now().as_second() as f64;
    assert!(metric(&metrics, SINCE).is_some_and(|since| (now - 600.0..=now).contains(&since)));
    assert_eq!(case.stored(), stored, "nothing reaches the store");
    let mut parts = 0;
    for path in files_below(&case.backups.path("state")) {
        // The follower replaces its list of parts meanwhile.
        let Ok(bytes) = fs::read(&path) else { continue };
        parts += usize::from(case.spooled().contains(&path));
        assert!(!bytes.windows(13).any(|window| window == b"secret-marker"), "{} is in the clear", path.display());
    }
    assert!(parts > 0, "{:?}", case.spooled());
    case.server.sql("FLUSH BINARY LOGS").expect("flushed");
    case.insert_spooled("fourth");
    let newest = case.server.value("SHOW BINARY LOG STATUS").expect("a log");
    let newest = newest.split('\t').next().expect("a name");
    case.server.sql(&format!("PURGE BINARY LOGS TO '{newest}'")).expect("purged");
    kill(follower);

    case.set_down(false);
    let (json, table) = case.listed();
    assert_eq!(json[0]["parts"].as_u64(), Some(case.spooled().len() as u64), "{json:#}");
    assert!(table.contains("wait on this host until the repository can be reached"), "{table}");
    // Without its list nothing shows the order of the parts, but how many there are.
    let list = case.in_spool("list").pop().expect("a list");
    let aside = case.backups.path("aside");
    fs::rename(&list, &aside).expect("moved");
    let (lost, table) = case.listed();
    assert_eq!((&lost[0]["unlisted"], &lost[0]["since"]), (&json[0]["parts"], &Value::Null), "{lost:#}");
    assert!(table.contains("is missing or damaged: `sealant backup binlogs`"), "{table}");
    fs::rename(&aside, &list).expect("moved back");
    let follower = case.follow();
    case.wait("the spool is stored", || case.spooled().is_empty());
    case.insert("after");
    assert_eq!(stop(follower), Some(0), "{}", case.says());
    assert_eq!(metric(&metrics, BYTES), Some(0.0));
    assert_eq!(metric(&metrics, SINCE), None);
    assert!(case.backups.backup(&["list"]).is(0).json["spooled"].is_null());
    let said = case.says();
    assert!(said.contains("wait on this host") && !said.contains("lost"), "{said}");
    case.has_everything("all");
}

/// Without space, the server is not read; what is lost of the spool is read from the server again.
#[test]
fn a_full_spool_stops_reading_and_a_damaged_one_is_read_again() {
    let Some(case) = Case::new() else { return };
    case.backups.configure("segment_every", "spool_max = \"4KiB\"\nsegment_every");
    let follower = case.follow();
    case.insert("before");
    case.wait("something is archived", || case.stored() > 0);
    case.set_down(true);
    case.wait("it says so", || {
        case.insert(&format!("{}-{}", jiff::Timestamp::now(), "x".repeat(150)));
        sleep(Duration::from_millis(500));
        case.says().contains("there is no space for more")
    });
    case.insert("not read");
    let used: u64 = case.spooled().iter().map(|path| fs::metadata(path).expect("a file").len()).sum();
    assert!((1..=4096).contains(&used), "{used}");
    assert_eq!(stop(follower), Some(1), "{}", case.says());
    assert!(case.says().contains("of binary logs wait on this host"), "{}", case.says());

    let spooled = case.spooled();
    let damaged = &spooled[spooled.len() / 2];
    let mut bytes = fs::read(damaged).expect("readable");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(damaged, bytes).expect("damaged");
    case.set_down(false);
    case.has_everything("all");
    assert!(case.spooled().is_empty());
}

/// A follower that is asked to end first stores what waits, and a receipt of it.
#[test]
fn what_waits_is_stored_before_the_follower_ends() {
    let Some(case) = Case::new() else { return };
    let follower = case.follow();
    case.insert("before");
    case.wait("something is archived", || case.stored() > 0);
    case.set_down(true);
    for note in ["first", "second", "third", "fourth"] {
        case.insert_spooled(note);
    }
    let stored = case.stored();
    case.set(Outage::Slow);
    case.wait("the first part is stored", || case.stored() > stored);
    assert!(!case.spooled().is_empty(), "some wait");
    assert_eq!(stop(follower), Some(0), "{}", case.says());
    case.has_empty_spool();
    case.set_down(false);
    assert_eq!(case.has_everything("all")["segments"], 0, "nothing was left to store");
}

/// The server is gone for good, and the newest of its transactions wait on this host: they are stored without it.
#[test]
fn what_waits_is_stored_although_the_server_is_gone() {
    let Some(mut case) = Case::new() else { return };
    let follower = case.follow();
    case.insert("before");
    case.wait("something is archived", || case.stored() > 0);
    case.set_down(true);
    case.insert_spooled("newest");
    assert_eq!(stop(follower), Some(1), "{}", case.says());
    let expected = rows(&case.server);
    case.server.stop().expect("it stops");
    case.set_down(false);
    case.backups.backup(&["binlogs", "--once"]).is(1);
    case.has_empty_spool();

    case.backups.backup(&["binlogs", "show"]).is(0);
    let is_receipt =
        |path: &&PathBuf| path.to_string_lossy().contains("/binlogs/") && path.extension() == Some("json".as_ref());
    let objects = files_below(&case.s3.path("data/backups/mysql/hosts/db1"));
    let newest = fs::read(objects.iter().rfind(is_receipt).expect("a receipt")).expect("readable");
    let newest = archive::Digest::compute(&newest).to_string();
    let into = case.backups.path("into");
    let mysqld = case.server.kind().locate().expect("it is here").daemon;
    let keys = ["--keyring", text(&case.keyring), "--mysqld", text(&mysqld), "--to-end", "--binlog-receipt", &newest];
    case.backups.restore("1", &into, &keys).is(0);
    assert_eq!(rows(&case.builder.clone().datadir_seed(&into).start().expect("a server starts on it")), expected);
}

/// A full disk stops the reading of the server, but nothing else: what waits is stored when the store can be reached,
/// though the disk is still full.
#[test]
fn a_full_disk_stops_reading_and_what_waits_is_stored() {
    const RESERVE_BYTES: u64 = 64 << 20;
    let Some(case) = Case::new() else { return };
    let Some(disk) = Tmpfs::mount(case.backups.path("disk"), "72M") else { return };
    case.backups.configure(&format!("{:?}", case.backups.path("state")), &format!("{:?}", disk.0));
    ended(&mut case.backups.command(&["init", "--unproven-recipient"])).is(0);
    let spooled = || {
        let files = files_below(&disk.0).into_iter();
        files.filter(|path| path.to_string_lossy().contains("/spool-")).collect::<Vec<_>>()
    };
    let follower = case.follow();
    case.insert("before");
    case.wait("something is archived", || case.stored() > 0);
    case.set_down(true);
    tmpfs::fill(&disk.0, RESERVE_BYTES + (32 << 10));
    case.wait("it says so", || {
        case.insert(&format!("{}-{}", jiff::Timestamp::now(), "x".repeat(150)));
        sleep(Duration::from_millis(500));
        case.says().contains("there is no space for more")
    });
    assert!(!spooled().is_empty());
    let free = rustix::fs::statvfs(&disk.0).map(|found| found.f_bavail * found.f_frsize).expect("its space");
    assert!(free >= RESERVE_BYTES - (16 << 10), "{free}");
    // Another program uses the rest.
    tmpfs::fill(&disk.0, 0);
    case.insert("not read");
    case.set_down(false);
    case.wait("the spool is stored", || spooled().is_empty());
    fs::remove_file(disk.0.join("filler")).expect("it was there");
    assert_eq!(stop(follower), Some(0), "{}", case.says());
    let said = case.says();
    assert!(!said.contains("binary logs are lost"), "{said}");
    case.has_everything("all");
}

/// A disk so full that the state cannot be written stops archiving until there is space, with one warning.
#[test]
fn archiving_waits_until_its_state_can_be_written() {
    const WARNING: &str = "nothing is archived until there is space again";
    let Some(case) = Case::new() else { return };
    let Some(disk) = Tmpfs::mount(case.backups.path("disk"), "72M") else { return };
    case.backups.configure(&format!("{:?}", case.backups.path("state")), &format!("{:?}", disk.0));
    ended(&mut case.backups.command(&["init", "--unproven-recipient"])).is(0);
    let mut follower = case.follow();
    case.insert("before");
    case.wait("something is archived", || case.stored() > 0);
    tmpfs::fill(&disk.0, 0);
    case.insert("first");
    case.wait("it says so", || case.says().contains(WARNING));
    case.insert("second");
    // Several attempts.
    sleep(Duration::from_secs(4));
    assert!(follower.try_wait().expect("a child").is_none(), "{}", case.says());
    let stored = case.stored();
    fs::remove_file(disk.0.join("filler")).expect("it was there");
    case.wait("the rest is archived", || case.stored() > stored);
    assert_eq!(stop(follower), Some(0), "{}", case.says());
    assert_eq!(case.says().matches(WARNING).count(), 1, "{}", case.says());
    case.has_everything("all");
}

/// What waits of a server that was replaced meanwhile is stored beside the archive of the new one, which does not need it.
#[test]
fn what_a_former_server_left_is_stored() {
    let Some(mut case) = Case::new() else { return };
    let options = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
    let keyring = KeyringLocation::Path(case.backups.path("replica"));
    let builder = Server::builder(Kind::MySql97).keyring(keyring).options(options);
    let mut replica = builder.start().expect("the replica starts");
    replica.replicate_from(&case.server, &Replication::default()).expect("it replicates");
    let uuid = case.server.value("SELECT @@server_uuid").expect("a UUID");
    let follower = case.follow();
    case.insert("before");
    case.wait("something is archived", || case.stored() > 0);
    case.set_down(true);
    case.insert_spooled("spooled");
    assert_eq!(stop(follower), Some(1), "{}", case.says());
    replica.catch_up_with(&case.server).expect("it catches up");
    case.server.stop().expect("it stops");
    let take_over = "STOP REPLICA; RESET REPLICA ALL; INSERT INTO shop.orders VALUES ('secret-marker-taken over')";
    replica.sql(take_over).expect("changed");
    let socket = |server: &Server| format!("socket = {:?}", server.socket());
    case.backups.configure(&socket(&case.server), &socket(&replica));

    // The new server is archived although the spool of the former one is not mounted.
    let (spool, aside) = (case.spooled()[0].parent().expect("a directory").to_owned(), case.backups.path("aside"));
    fs::rename(&spool, &aside).expect("moved");
    case.set_down(false);
    let stored = case.stored();
    case.backups.backup(&["binlogs", "--once"]).is(1).says("the binary logs that wait on this host cannot be found");
    assert!(case.stored() > stored);
    fs::rename(&aside, &spool).expect("moved back");
    // As of a follower that was killed before it saved its state.
    let unlisted = spool.join(format!("{}.age", "0".repeat(64)));
    fs::write(&unlisted, "a part").expect("written");
    replica.sql("INSERT INTO shop.orders VALUES ('secret-marker-later')").expect("inserted");

    // The store takes only what is of the new server.
    case.set(Outage::Of(format!("/binlogs/{uuid}/")));
    let stored = case.stored();
    let follower = case.follow();
    case.wait("the new server is archived", || case.stored() > stored);
    let waiting = case.spooled();
    assert!(!waiting.is_empty() && waiting.iter().all(|path| path.to_string_lossy().contains(&uuid)), "{waiting:?}");
    case.set_down(false);
    case.wait("the spool is stored", || case.spooled().is_empty());
    assert_eq!(stop(follower), Some(0), "{}", case.says());
    case.has_empty_spool();
    assert!(unlisted.with_extension("age.unlisted").exists() && case.says().contains("the ending .unlisted"));
    assert_eq!(case.has_everything_of(&replica, "all")["segments"], 0, "nothing was left to store");
}

/// The store's server is killed at any moment while parts arrive: it has each, or each waits until it is there again.
#[test]
fn a_killed_store_loses_no_logs() {
    let Some(mut case) = Case::new() else { return };
    case.backups.configure("timeout = \"10s\"", "timeout = \"10s\"\ngive_up = \"1s\"");
    let follower = case.follow();
    case.insert("before");
    case.wait("something is archived", || case.stored() > 0);
    let mut random = Random::new(0x5c);
    for round in 0..number("SEALANT_FAULTS", 2) {
        let (began, moment) = (Instant::now(), Duration::from_millis(random.below(1500)));
        for row in 0.. {
            case.insert(&format!("{round}-{row}"));
            if began.elapsed() > moment {
                break;
            }
        }
        case.s3.kill();
        case.insert_spooled(&format!("{round}-away"));
        case.s3.start().expect("it starts again");
        case.wait("the spool is stored", || case.spooled().is_empty());
    }
    assert_eq!(stop(follower), Some(0), "{}", case.says());
    case.has_empty_spool();
    let said = case.says();
    assert!(said.contains("does not answer") && !said.contains("lost"), "{said}");
    assert_eq!(case.has_everything("all")["segments"], 0, "nothing was left to store");
}

const MINUTE: Duration = Duration::from_secs(60);

/// Whole seconds of the pauses that a follower has announced.
fn pauses(said: &str) -> Vec<u64> {
    let pauses = said.split("; trying again in ").skip(1).filter_map(|after| after.split(' ').next());
    pauses.map(|seconds| seconds.parse().expect("a number")).collect()
}

/// Asserts that a follower has tried again all the time, though not too often. Pauses that double without a bound would
/// be a dozen in hours.
#[track_caller]
fn tries_patiently(said: &str, time: Duration) {
    let pauses = pauses(said);
    assert!(pauses.iter().all(|pause| *pause <= 30) && pauses.contains(&30), "{pauses:?}");
    let most = time.as_secs() / 30 + 10;
    assert!((30..=most).contains(&(pauses.len() as u64)), "{} attempts in {time:?}", pauses.len());
}

/// Hours pass before the store can be reached again, and the server removes the logs that were read. The pauses between
/// attempts stay bounded, and so does the state.
#[test]
fn hours_without_a_network_lose_nothing() {
    const MINUTES: u32 = 240;
    let Some(case) = Case::new() else { return };
    let clock = MovedClock::new(&case.backups.path(""));
    let follower = clock.set(&mut case.follower()).spawn().expect("it starts");
    case.insert("before");
    case.wait("something is archived", || case.stored() > 0);
    case.set_down(true);
    case.insert_spooled("first");
    let (stored, began) = (case.stored(), clock.ahead());
    for minute in 0..MINUTES {
        clock.advance(MINUTE);
        case.insert(&format!("minute {minute}"));
    }
    let time = clock.ahead() - began;
    assert!(time >= MINUTE * MINUTES);
    tries_patiently(&case.says(), time);
    case.server.sql("FLUSH BINARY LOGS").expect("flushed");
    case.insert_spooled("in the newest log");
    let newest = case.server.value("SHOW BINARY LOG STATUS").expect("a log");
    let newest = newest.split('\t').next().expect("a name");
    case.server.sql(&format!("PURGE BINARY LOGS TO '{newest}'")).expect("purged");
    assert_eq!(case.stored(), stored, "nothing has reached the store");
    // A part has the rows that came while the one before was written.
    case.wait("many parts wait", || case.spooled().len() > 30);
    let is_state =
        |path: &PathBuf| path.extension() == Some("json".as_ref()) && path.to_string_lossy().contains("/binlogs-");
    let state = files_below(&case.backups.path("state")).into_iter().find(is_state).expect("a state");
    let bytes = fs::metadata(&state).expect("a file").len();
    assert!(bytes < 4096, "{} has {bytes} bytes", state.display());

    case.set_down(false);
    // The longest pause.
    clock.advance(Duration::from_secs(30));
    case.wait("the spool is stored", || case.spooled().is_empty());
    assert_eq!(stop(follower), Some(0), "{}", case.says());
    assert!(!case.says().contains("lost"), "{}", case.says());
    case.has_everything("all");
}

/// The spool is full for an hour, and the server removes logs that were not read: the gap is named, and what comes after
/// it is archived.
#[test]
fn what_an_hour_without_a_network_costs_is_named() {
    let Some(case) = Case::new() else { return };
    case.backups.configure("segment_every", "spool_max = \"4KiB\"\nsegment_every");
    // The server gives up a connection that reads nothing, as it does after a minute by default.
    case.server.sql("SET GLOBAL net_write_timeout = 1; CREATE TABLE shop.bulk (bytes LONGTEXT)").expect("configured");
    let clock = MovedClock::new(&case.backups.path(""));
    let follower = clock.set(&mut case.follower()).spawn().expect("it starts");
    case.insert("before");
    case.wait("something is archived", || case.stored() > 0);
    case.set_down(true);
    case.wait("it says so", || {
        clock.advance(MINUTE);
        case.insert(&format!("{}-{}", jiff::Timestamp::now(), "x".repeat(150)));
        case.says().contains("there is no space for more")
    });
    let (said, began) = (case.says().len(), clock.ahead());
    // More than the buffers of a connection have room for.
    let bulk = "INSERT INTO shop.bulk VALUES (REPEAT('x', 1000000)); ".repeat(8);
    case.server.sql(&format!("{bulk} FLUSH BINARY LOGS")).expect("written");
    case.wait("an hour passes", || clock.ahead() - began > MINUTE * 60);
    tries_patiently(&case.says()[said..], clock.ahead() - began);
    let readers = "SELECT COUNT(*) FROM performance_schema.processlist WHERE command LIKE 'Binlog Dump%'";
    case.wait("the server has given up", || case.server.value(readers).expect("a number") == "0");
    let newest = case.server.value("SHOW BINARY LOG STATUS").expect("a log");
    let newest = newest.split('\t').next().expect("a name");
    case.server.sql(&format!("PURGE BINARY LOGS TO '{newest}'")).expect("purged");

    case.set_down(false);
    let named = "binary logs are lost from ";
    case.wait("the gap is noticed", || {
        clock.advance(Duration::from_secs(30));
        case.says().contains(named)
    });
    case.insert("after");
    case.wait("the spool is stored", || case.spooled().is_empty());
    assert_eq!(stop(follower), Some(3), "{}", case.says());
    assert_eq!(case.says().matches(named).count(), 1, "{}", case.says());
    case.has_empty_spool();
    case.backups.backup(&["binlogs", "--once"]).is(0);
    let shown = case.backups.backup(&["binlogs", "show"]).is(3).json.to_string();
    assert!(shown.contains("missing"), "{shown}");
    case.backups.backup(&["check", "all", "--objects"]).is(0);
}
