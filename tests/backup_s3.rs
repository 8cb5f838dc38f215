//! Backups in buckets of real S3 servers.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Instant;

use harness::Server;
use harness::faulty::{Fault, FaultyStore, Seen};
use harness::s3::{S3Server, careless_s3_server, s3_server};
use serde_json::Value;

use crate::support::backup::{
    Backups, age, ended, files, files_below, is_same, stopped_mysql, with_keeper, write_incompressible,
};
use crate::support::chance::Random;
use crate::support::clock::WrongClock;
use crate::support::disk::text;
use crate::support::schema::has_its_schema;
use crate::support::{Audit, sealant};

/// A stopped MySQL server, and its backups in a bucket, by the bucket's owner.
struct Lab {
    s3: S3Server,
    server: Server,
    keyring: PathBuf,
    backups: Backups,
}

impl Lab {
    fn new(is_locking: bool) -> Option<Self> {
        let s3 = s3_server(false)?;
        let (server, keyring) = stopped_mysql()?;
        s3.create_bucket("backups", is_locking).expect("a bucket");
        let (root, keys) = (s3.root().expect("root"), format!("keyring = {keyring:?}"));
        let backups = Backups::in_bucket(server.datadir(), &keys, &s3, &root, "s3://backups/mysql");
        Some(Self { s3, server, keyring, backups })
    }
}

/// Backup, list, check and restore over TLS, by a user with all permissions.
#[test]
fn a_bucket_stores_backups_like_a_directory() {
    let Some(s3) = s3_server(true) else { return };
    let Some((mut server, keyring)) = stopped_mysql() else { return };
    s3.create_bucket("backups", true).expect("a bucket");
    let root = s3.root().expect("root");
    let lines = format!("keyring = {keyring:?}");
    let backups = Backups::in_bucket(server.datadir(), &lines, &s3, &root, "s3://backups/mysql");
    backups.configure("timeout", "lock_days = 1\ntimeout");
    let full = backups.backup(&["run"]).is(0).says("it is the first backup");
    assert!(full.number("/bytes/stored") > 0);
    let first = files(server.datadir());

    server.start().expect("it starts");
    server.sql("UPDATE demo.enc SET name = 'changed' WHERE id < 5").expect("changed");
    server.stop().expect("it stops");
    let second = files(server.datadir());
    backups.backup(&["run"]).is(0).says("continues from 1");

    let list = backups.backup(&["list"]).is(0);
    assert_eq!(list.json["backups"].as_array().map(Vec::len), Some(2), "{}", list.json);
    let hours = hours_locked(&list.json);
    assert!(hours.len() == 2 && hours.iter().all(|hours| (22..=24).contains(hours)), "{hours:?}");
    let check = backups.backup(&["check", "all", "--objects"]).is(0);
    assert_eq!(check.number("/objects/named"), check.number("/objects/read"), "{}", check.json);
    let shown = backups.command(&["show", "2"]).output().expect("it starts");
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    let keys = ["--keyring", text(&keyring)];
    for (number, expected) in [("1", &first), ("latest", &second)] {
        let into = backups.path(&format!("into-{number}"));
        backups.restore(number, &into, &keys).is(if number == "1" { 0 } else { 4 });
        is_same(&into, expected);
    }
    an_older_version_takes_the_place_of_a_damaged_one(&backups, &first, &keys, &s3);
    an_audit_judges_the_locks(&backups, server.datadir(), &s3);
}

/// For how many hours from now on each backup of a list is locked.
fn hours_locked(list: &Value) -> Vec<i64> {
    let end = |backup: &Value| backup["locked_until"].as_str()?.parse::<jiff::Timestamp>().ok();
    let ends = list["backups"].as_array().into_iter().flatten().filter_map(end);
    ends.map(|end| end.duration_since(jiff::Timestamp::now()).as_hours()).collect()
}

/// Somebody who may put objects without a condition replaces a pack and a manifest. The bucket keeps what they had.
fn an_older_version_takes_the_place_of_a_damaged_one(
    backups: &Backups,
    expected: &BTreeMap<PathBuf, Vec<u8>>,
    keys: &[&str],
    s3: &S3Server,
) {
    let receipt: Value = serde_json::from_slice(
        &fs::read(s3.path("data").join("backups/mysql/hosts/db1/receipts/000001.json")).expect("readable"),
    )
    .expect("JSON");
    let pack = receipt["packs"][0]["sha256"].as_str().expect("a hash");
    let pack = format!("hosts/db1/packs/{}/{pack}.age", &pack[..2]);
    let manifest = "hosts/db1/manifests/000001.age";
    for object in [pack.as_str(), manifest] {
        s3.put_object(&format!("backups/mysql/{object}"), "replaced").expect("a newer version");
    }
    let check = backups.backup(&["check", "all", "--objects"]).is(3);
    let bad = check.json["objects"]["bad"].as_array().expect("a list");
    let older = |object: &str| {
        let is_it = |bad: &&Value| bad["object"] == object;
        let what = bad.iter().find(is_it).and_then(|bad| bad["what"].as_str()).unwrap_or_default();
        what.contains("its older version ") && what.contains(" is intact")
    };
    assert!(bad.len() == 2 && older(&pack) && older(manifest), "{}", check.json);
    let into = backups.path("into-from-versions");
    let restored = backups.restore("1", &into, keys).is(0);
    for object in [pack.as_str(), manifest] {
        assert!(
            restored.stderr.contains(&format!("{object} is damaged, replaced or hidden in ")),
            "{}",
            restored.stderr
        );
    }
    is_same(&into, expected);
}

/// A bucket that keeps versions passes; one that keeps none fails, until the repository is in the former again.
fn an_audit_judges_the_locks(backups: &Backups, datadir: &Path, s3: &S3Server) {
    const CHECK: &str = "bak-no-lock";
    let records = backups.path("state").join("repositories");
    let audit = || Audit::run(["--offline", text(datadir), "--backup", text(&records)]);
    audit().passes(CHECK);
    s3.create_bucket("plain", false).expect("a bucket");
    let safe = files_below(&records).pop().expect("a record");
    let record: Value = serde_json::from_slice(&fs::read(&safe).expect("readable")).expect("JSON");
    has_its_schema(&record, "repository-record-1");
    backups.configure("s3://backups/mysql", "s3://plain/mysql");
    backups.configure("lock_days = 1\n", "");
    let init = backups.command(&["init", "--unproven-recipient"]).output().expect("it starts");
    assert!(init.status.success(), "{}", String::from_utf8_lossy(&init.stderr));
    let found = audit();
    found.fails(CHECK, "s3://plain/mysql");
    assert_eq!(found.statuses(CHECK), ["FAIL", "PASS"]);
    fs::remove_file(files_below(&records).into_iter().find(|path| *path != safe).expect("two records")).expect("gone");
    audit().passes(CHECK);
}

/// A user who may only put objects makes full and incremental backups, and archives binary logs, without reading, listing
/// or deleting anything.
#[test]
fn a_host_that_may_only_put_objects_makes_incremental_backups() {
    let Some(s3) = s3_server(false) else { return };
    let Some((mut server, keyring)) = stopped_mysql() else { return };
    s3.create_bucket("backups", false).expect("a bucket");
    let (root, host) = (s3.root().expect("root"), s3.create_user("host").expect("a user"));
    let lines = format!("keyring = {keyring:?}");
    s3.put_policy("backups", HOST_ONLY).expect("a policy");
    let before = s3.access_log().len();
    let backups = Backups::in_bucket(server.datadir(), &lines, &s3, &host, "s3://backups/mysql");
    let asked: Vec<String> = s3.access_log().split_off(before);
    assert!(asked.iter().any(|line| line.contains(" s3_PutObject ")), "{asked:?}");

    let before = s3.access_log().len();
    backups.backup(&["run"]).is(0).says("it is the first backup");
    server.start().expect("it starts");
    server.sql("UPDATE demo.enc SET name = 'changed' WHERE id < 5").expect("changed");
    server.stop().expect("it stops");
    backups.backup(&["run"]).is(0).says("continues from 1");
    let asked: Vec<String> = s3.access_log().split_off(before);
    assert!(asked.len() > 6, "{asked:?}");
    for line in &asked {
        assert!(line.contains(" s3_PutObject "), "{line}");
    }

    // This user cannot see the objects that it has put.
    let denied = backups.backup(&["list"]).is(1);
    assert!(denied.stderr.contains("s3:ListBucket"), "{}", denied.stderr);
    let into = backups.path("into");
    let keys = ["--keyring", text(&keyring)];
    backups.restore("2", &into, &keys).is(1).says("s3:GetObject");
    assert!(!into.exists());

    // A user who may read finds both backups and nothing else.
    let config = backups.configure_user("reader", &s3, &root);
    let check = ended(sealant().args(["backup", "check", "all", "--objects", "--json", "--config"]).arg(&config)).is(0);
    assert_eq!(check.json["unnamed"].as_array().map(Vec::len), Some(0), "{}", check.json);
    backups.restore_as(&s3, &root, "2", &into, &keys).is(0);
    is_same(&into, &files(server.datadir()));

    server.start().expect("it starts");
    let running = format!("{lines}\nsocket = {:?}\nuser = \"root\"", server.socket());
    backups.configure(&lines, &running);
    let before = s3.access_log().len();
    backups.backup(&["binlogs", "--once"]).is(0);
    let asked: Vec<String> = s3.access_log().split_off(before);
    assert!(asked.iter().any(|line| line.contains("/binlogs/")), "{asked:?}");
    for line in &asked {
        assert!(line.contains(" s3_PutObject "), "{line}");
    }
    server.stop().expect("it stops");
    backups.configure(&running, &lines);

    // Without its state the host does not know the next number; nothing is lost.
    fs::remove_dir_all(backups.path("state")).expect("removed");
    backups.backup(&["run"]).is(1).says("s3:GetObject");
}

/// With the printed policy each role can do its own task and nothing else.
#[test]
fn every_role_does_what_the_printed_policy_allows() {
    let Some(s3) = s3_server(false) else { return };
    let Some((server, keyring)) = stopped_mysql() else { return };
    s3.create_bucket("backups", false).expect("a bucket");
    let [host, keeper, dba] = ["db1", "keeper", "dba"].map(|name| s3.create_user(name).expect("a user"));
    let allowed = ["host/db1=db1", "keeper=keeper", "restorer=dba"].map(|allowed| ["--allow", allowed]).concat();
    let printed = sealant()
        .args(["backup", "policy", "--store", "versitygw", "--repository", "s3://backups/mysql"])
        .args(&allowed)
        .output()
        .expect("it starts");
    s3.put_policy("backups", &String::from_utf8_lossy(&printed.stdout)).expect("the store takes the policy");

    let backups =
        Backups::in_bucket(server.datadir(), &format!("keyring = {keyring:?}"), &s3, &host, "s3://backups/mysql");
    for _ in 0..3 {
        backups.backup(&["run"]).is(0);
    }
    with_keeper(&backups, "keep_last = 1\ndaily = 0\nweekly = 0\nmonthly = 0\nmin_good = 1");
    let data = s3.path("data/backups/mysql/hosts");
    files_below(&data).iter().for_each(|object| age(object, 60));
    let before = files_below(&data);

    // The host cannot read its objects, and a restorer can delete nothing.
    backups.backup(&["prune", "--yes"]).is(1).says("s3:GetObject");
    let as_user = |name: &str, user| {
        let config = backups.configure_user(name, &s3, user);
        ended(sealant().args(["backup", "prune", "--yes", "--json", "--config"]).arg(&config))
    };
    as_user("dba", &dba).is(1).says("s3:PutObject");
    assert_eq!(files_below(&data), before);
    let pruned = as_user("keeper", &keeper).is(0);
    assert_eq!(pruned.number("/pruned/backups"), 2);
    assert!(files_below(&data).len() < before.len());

    let keys = ["--keyring", text(&keyring)];
    backups.restore_as(&s3, &dba, "3", &backups.path("into"), &keys).is(0);
    is_same(&backups.path("into"), &files(server.datadir()));
    let config = backups.configure_user("checker", &s3, &dba);
    let check = ended(sealant().args(["backup", "check", "all", "--objects", "--json", "--config"]).arg(&config)).is(0);
    assert_eq!(check.json["unnamed"].as_array().map(Vec::len), Some(0), "{}", check.json);
    backups.backup(&["run"]).is(0).says("continues from 3");
}

/// A host that may only put objects, and whose state directory was restored from an old copy, neither overwrites
/// anything nor makes a backup on top of one whose packs may be gone.
#[test]
fn a_host_with_an_old_state_makes_no_backup_until_it_may_read() {
    let Some(s3) = s3_server(false) else { return };
    let Some((mut server, keyring)) = stopped_mysql() else { return };
    s3.create_bucket("backups", false).expect("a bucket");
    let (root, host) = (s3.root().expect("root"), s3.create_user("host").expect("a user"));
    s3.put_policy("backups", HOST_ONLY).expect("a policy");
    let backups =
        Backups::in_bucket(server.datadir(), &format!("keyring = {keyring:?}"), &s3, &host, "s3://backups/mysql");
    backups.backup(&["run"]).is(0);
    let (state, old) = (backups.path("state"), backups.path("old"));
    copy(&state, &old);
    let mut change = |name: &str| {
        server.start().expect("it starts");
        server.sql(&format!("UPDATE demo.enc SET name = '{name}' WHERE id < 5")).expect("changed");
        server.stop().expect("it stops");
    };
    for name in ["second", "third"] {
        change(name);
        backups.backup(&["run"]).is(0);
    }
    let data = s3.path("data/backups/mysql/hosts");
    let receipts = || files_below(&data).into_iter().filter(|path| path.to_string_lossy().contains("/receipts/"));
    let before: Vec<(PathBuf, Vec<u8>)> =
        receipts().map(|path| (path.clone(), fs::read(path).expect("a receipt"))).collect();
    let roll_back = || {
        fs::remove_dir_all(&state).expect("removed");
        copy(&old, &state);
    };
    roll_back();
    backups.backup(&["run"]).is(1).says("backup 2 exists");
    // It does not look for a number that is free.
    for _ in 0..3 {
        backups.backup(&["run"]).is(1).says("the state of db1 is outdated").says("allowed to list and read");
    }
    let now: Vec<_> = receipts().map(|path| (path.clone(), fs::read(path).expect("a receipt"))).collect();
    assert!(now == before, "no receipt was written or replaced");

    // A prune has removed the backups between: their numbers are still in use.
    with_keeper(&backups, "keep_last = 1\ndaily = 0\nweekly = 0\nmonthly = 0\nmin_good = 1");
    files_below(&data).iter().for_each(|object| age(object, 60));
    let keeper = backups.configure_user("keeper", &s3, &root);
    let as_keeper =
        |verb: &[&str]| ended(sealant().arg("backup").args(verb).arg("--json").arg("--config").arg(&keeper));
    assert_eq!(as_keeper(&["prune", "--yes"]).is(0).number("/pruned/backups"), 2);
    let signers = backups.path("signers");
    let check = ["check", "all", "--objects", "--allowed-signers", text(&signers)];
    let checked = as_keeper(&check).is(0).json;
    assert_eq!(as_keeper(&["prune", "--yes"]).is(0).number("/pruned/objects"), 0);
    roll_back();
    backups.backup(&["run"]).is(1).says("backup 2 exists");
    backups.backup(&["run"]).is(1).says("the state of db1 is outdated");
    assert_eq!(as_keeper(&check).is(0).json["chain"], checked["chain"]);

    // If the host may read the bucket, it makes a full backup after the newest one.
    let all = HOST_ONLY
        .replace("[\"s3:PutObject\"]", "[\"s3:*\"]")
        .replace("[\"arn:aws:s3:::backups/*\"]", "[\"arn:aws:s3:::backups\", \"arn:aws:s3:::backups/*\"]");
    s3.put_policy("backups", &all).expect("a policy");
    ended(&mut backups.command(&["init", "--unproven-recipient"])).is(0);
    backups.backup(&["run"]).is(0).says("does not belong to the newest backup");
    assert_eq!(as_keeper(&check).is(0).number("/receipts"), 2);
    backups.restore_as(&s3, &root, "4", &backups.path("into"), &["--keyring", text(&keyring)]).is(0);
    is_same(&backups.path("into"), &files(server.datadir()));
    s3.put_policy("backups", HOST_ONLY).expect("a policy");
    ended(&mut backups.command(&["init", "--unproven-recipient"])).is(0);
    backups.backup(&["run"]).is(0).says("continues from 4");
}

/// A store that replaces objects although it is told not to is refused.
#[test]
fn a_store_that_replaces_objects_is_refused() {
    let Some(Lab { s3, server: _server, keyring: _, backups }) = Lab::new(true) else { return };
    let init = ["init", "--unproven-recipient"];
    let careful = backups.command(&init).output().expect("it starts");
    let said = String::from_utf8_lossy(&careful.stderr).into_owned();
    assert!(said.contains("refuses wrong checksums: yes, keeps versions: yes, locks objects: not known"), "{said}");
    without_a_list_of_versions_a_check_names_what_is_wrong(&backups, &s3);
    let fault = |seen: &Seen| if seen.method == "PUT" { Fault::Answer(200, "taken") } else { Fault::None };
    let proxy = FaultyStore::start(s3.port(), fault).expect("a proxy");
    backups.configure(&s3.endpoint(), &proxy.endpoint());
    let careless = backups.command(&init).output().expect("it starts");
    let said = String::from_utf8_lossy(&careless.stderr).into_owned();
    assert!(careless.status.code() == Some(1) && said.contains("the store replaces an object"), "{said}");
}

/// `init` says what a store does less than it should. It refuses to replace objects, so backups in it are whole.
#[test]
fn a_careless_store_is_named_and_its_backups_restore() {
    let Some(s3) = careless_s3_server() else { return };
    let Some((mut server, keyring)) = stopped_mysql() else { return };
    s3.create_bucket("backups", false).expect("a bucket");
    let root = s3.root().expect("root");
    let backups =
        Backups::in_bucket(server.datadir(), &format!("keyring = {keyring:?}"), &s3, &root, "s3://backups/mysql");
    // Whether it locks shows in an object that is put with a lock.
    backups.configure("s3://backups/mysql", "s3://backups/locked");
    backups.configure("timeout", "lock_days = 2\ntimeout");
    let init = ended(&mut backups.command(&["init", "--unproven-recipient"])).is(0);
    init.says("refuses to replace objects: yes, refuses wrong checksums: no, keeps versions: no, locks objects: no")
        .says("the store keeps bytes whose checksum is wrong")
        .says("the store ignores object locks: lock_days protects nothing");
    backups.configure("s3://backups/locked", "s3://backups/mysql");
    backups.configure("lock_days = 2\n", "");
    ended(&mut backups.command(&["init", "--unproven-recipient"])).is(0);
    backups.backup(&["run"]).is(0);
    server.start().expect("it starts");
    server.sql("UPDATE demo.enc SET name = 'changed' WHERE id < 5").expect("changed");
    server.stop().expect("it stops");
    backups.backup(&["run"]).is(0).says("continues from 1");
    let check = backups.backup(&["check", "all", "--objects"]).is(0);
    assert_eq!(check.json["unnamed"].as_array().map(Vec::len), Some(0), "{}", check.json);
    with_keeper(&backups, "keep_last = 1\ndaily = 0\nweekly = 0\nmonthly = 0\nmin_good = 1");
    files_below(&s3.path("data/backups/mysql/hosts")).iter().for_each(|object| age(object, 60));
    assert_eq!(backups.backup(&["prune", "--yes"]).is(0).number("/pruned/backups"), 1);
    backups.restore("2", &backups.path("into"), &["--keyring", text(&keyring)]).is(0);
    is_same(&backups.path("into"), &files(server.datadir()));
}

/// Stores without versions refuse the list of versions, or answer with a list of objects.
fn without_a_list_of_versions_a_check_names_what_is_wrong(backups: &Backups, s3: &S3Server) {
    const OBJECT: &str = "mysql/hosts/db1/manifests/000001.age";
    backups.backup(&["run"]).is(0);
    s3.put_object(&format!("backups/{OBJECT}"), "replaced").expect("a newer version");
    let checked = |of_versions: Fault, depth: &[&str]| {
        let fault = move |seen: &Seen| if seen.target.contains("versions=") { of_versions } else { Fault::None };
        let proxy = FaultyStore::start(s3.port(), fault).expect("a proxy");
        backups.configure(&s3.endpoint(), &proxy.endpoint());
        let check = backups.backup(&[&["check", "all"], depth].concat()).is(3);
        backups.configure(&proxy.endpoint(), &s3.endpoint());
        assert_eq!(proxy.faults(), usize::from(of_versions != Fault::None), "{}", check.json);
        let bad = check.json["objects"]["bad"].as_array().expect("a list");
        assert!(bad.len() == 1 && OBJECT.ends_with(bad[0]["object"].as_str().expect("a name")), "{}", check.json);
        bad[0]["what"].as_str().expect("a text").to_owned()
    };
    for fault in [Fault::Answer(501, "NotImplemented"), Fault::Says("<ListBucketResult></ListBucketResult>")] {
        let what = checked(fault, &["--objects"]);
        assert!(what.contains("it has 8 bytes") && !what.contains("version"), "{what}");
    }
    assert!(checked(Fault::None, &[]).contains("has the right length; --objects compares it"));
    assert!(checked(Fault::None, &["--objects"]).contains(" is intact, and a restore uses it"));
}

/// Every first request of a run fails in one way or another, and then the store does not answer at all: a run asks
/// again, or ends with one error, and the next run completes.
#[test]
fn network_errors_during_runs_lose_no_backup() {
    const FAULTS: [Fault; 5] = [
        Fault::Answer(500, "InternalError"),
        Fault::LostBefore,
        Fault::LostAfter,
        Fault::Truncated,
        Fault::Answer(503, "SlowDown"),
    ];
    let Some(Lab { s3, mut server, keyring, backups }) = Lab::new(false) else { return };
    let (is_away, mut known) = (Arc::new(AtomicBool::new(false)), HashSet::new());
    let away = Arc::clone(&is_away);
    let proxy = FaultyStore::start(s3.port(), move |seen| match away.load(Ordering::SeqCst) {
        true => Fault::LostBefore,
        false if known.insert((seen.method.clone(), seen.target.clone())) => FAULTS[known.len() % FAULTS.len()],
        false => Fault::None,
    });
    let proxy = proxy.expect("a proxy");
    backups.configure(&s3.endpoint(), &proxy.endpoint());
    backups.backup(&["run"]).is(0).says("the store asked to slow down");
    let during = proxy.faults();
    assert!(during > FAULTS.len(), "{during}");

    server.start().expect("it starts");
    server.sql("UPDATE demo.enc SET name = 'changed' WHERE id < 5").expect("changed");
    server.stop().expect("it stops");
    is_away.store(true, Ordering::SeqCst);
    backups.configure("timeout = \"10s\"", "timeout = \"10s\"\ngive_up = \"1s\"");
    let given_up = backups.backup(&["run"]).is(1).says("does not answer").says("nothing was lost: run it again later");
    assert_eq!(given_up.stderr.matches("error:").count(), 1, "{}", given_up.stderr);
    is_away.store(false, Ordering::SeqCst);
    backups.backup(&["run"]).is(0).says("continues from 1");
    assert!(proxy.faults() > during);
    backups.configure(&proxy.endpoint(), &s3.endpoint());
    a_wrong_clock_changes_no_order(&backups);
    backups.backup(&["check", "all", "--objects"]).is(0);
    backups.restore("latest", &backups.path("into"), &["--keyring", text(&keyring)]).is(4);
    is_same(&backups.path("into"), &files(server.datadir()));
}

/// A store that fails while an object is read says nothing about the object.
#[test]
fn a_store_that_fails_during_a_check_is_no_damage() {
    let Some(Lab { s3, server: _server, keyring: _, backups }) = Lab::new(false) else { return };
    backups.backup(&["run"]).is(0);
    backups.configure("timeout = \"10s\"", "timeout = \"10s\"\ngive_up = \"1s\"");
    let mut is_away = false;
    let proxy = FaultyStore::start(s3.port(), move |seen| {
        if is_away {
            return Fault::LostBefore;
        }
        is_away = seen.method == "GET" && seen.target.contains("/packs/");
        if is_away { Fault::Truncated } else { Fault::None }
    });
    let proxy = proxy.expect("a proxy");
    backups.configure(&s3.endpoint(), &proxy.endpoint());
    backups.backup(&["check", "all", "--objects"]).is(1).says("does not answer").says("run it again later");
    backups.configure(&proxy.endpoint(), &s3.endpoint());
    backups.backup(&["check", "all", "--objects"]).is(0);
}

/// Runs into a bucket are killed at any moment, and the store becomes full during one: what is listed is whole, and the
/// next run completes.
#[test]
fn killed_runs_and_a_full_store_lose_no_backup() {
    const BYTES: u64 = 20 << 20;
    let Some(Lab { s3, server, keyring, backups }) = Lab::new(false) else { return };
    backups.configure("[data]\n", "[data]\npack = \"4MiB\"\n");
    let extra = server.datadir().join("demo/extra.MYD");
    write_incompressible(&extra, BYTES);
    let began = Instant::now();
    backups.backup(&["run"]).is(0);
    let (whole, mut random) = (began.elapsed(), Random::new(0x53));
    for _ in 0..8 {
        write_incompressible(&extra, BYTES);
        let mut run = backups.command(&["run"]);
        let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        sleep(whole.mul_f64(random.below(110) as f64 / 100.0));
        run.kill().expect("it was there");
        run.wait().expect("it ends");
        backups.backup(&["check", "all", "--objects"]).is(0);
    }

    let (is_full, mut left) = (Arc::new(AtomicBool::new(true)), 3);
    let full = Arc::clone(&is_full);
    let proxy = FaultyStore::start(s3.port(), move |seen| {
        if seen.method != "PUT" || !full.load(Ordering::SeqCst) {
            return Fault::None;
        }
        left = i32::max(left - 1, 0);
        if left == 0 { Fault::Answer(507, "InsufficientStorage") } else { Fault::None }
    });
    let proxy = proxy.expect("a proxy");
    backups.configure(&s3.endpoint(), &proxy.endpoint());
    write_incompressible(&extra, BYTES);
    backups.backup(&["run"]).is(1).says("the store is full").says("make room");
    is_full.store(false, Ordering::SeqCst);
    let number = backups.backup(&["run"]).is(0).number("/number").to_string();
    backups.backup(&["check", "all", "--objects"]).is(0);
    backups.restore(&number, &backups.path("into"), &["--keyring", text(&keyring)]).is(0);
    is_same(&backups.path("into"), &files(server.datadir()));
}

/// The store refuses requests of a host whose clock is wrong, which then uses the store's time. Backups are in the order
/// of their numbers.
fn a_wrong_clock_changes_no_order(backups: &Backups) {
    let clock = WrongClock::new(&backups.path(""));
    for (seconds, which) in [(-7200, "s slow"), (7200, "s fast")] {
        let ran = clock.ahead(seconds, &mut backups.command(&["run", "--json"])).is(0);
        let ran = ran.says("the clock of this host is 7").says(&format!("{which}, by the store's"));
        let list = backups.backup(&["list"]).is(0).json;
        let listed = list["backups"].as_array().expect("a list");
        assert_eq!(listed.last().expect("one")["number"], ran.json["number"], "{list}");
    }
}

/// A lock is as long as it should be although the host's clock is wrong by more than it: a lock that nobody can lift does
/// not last for months, and one that ended before it began is not asked for. A keeper whose clock is wrong does not take
/// what a run has just stored for old.
#[test]
fn a_wrong_clock_makes_no_lock_longer_or_shorter_and_no_object_old() {
    const MONTH: i64 = 30 * 86_400;
    let Some(Lab { s3, server: _server, keyring: _, backups }) = Lab::new(true) else { return };
    backups.configure("timeout", "lock_days = 2\nlock_mode = \"governance\"\ntimeout");
    let clock = WrongClock::new(&backups.path(""));
    for ahead in [MONTH, -MONTH] {
        clock.ahead(ahead, &mut backups.command(&["run", "--json"])).is(0);
    }
    let list = backups.backup(&["list"]).is(0).json;
    let hours = hours_locked(&list);
    assert!(hours.len() == 2 && hours.iter().all(|hours| (46..=48).contains(hours)), "{hours:?}");

    // As a run leaves it until it has put its receipt.
    let pack = "0".repeat(64);
    s3.put_object(&format!("backups/mysql/hosts/db1/packs/00/{pack}.age"), "young").expect("put");
    with_keeper(&backups, "keep_last = 2\ndaily = 0\nweekly = 0\nmonthly = 0\nmin_good = 1");
    let plan = |ahead| clock.ahead(ahead, &mut backups.command(&["prune", "--dry-run", "--json"])).is(0);
    for ahead in [0, MONTH] {
        assert_eq!(plan(ahead).number("/hosts/0/unneeded/objects"), 0, "{ahead}");
    }
    age(&s3.path(&format!("data/backups/mysql/hosts/db1/packs/00/{pack}.age")), 60);
    for ahead in [0, MONTH, -MONTH] {
        assert_eq!(plan(ahead).number("/hosts/0/unneeded/objects"), 1, "{ahead}");
    }
}

/// Copies a directory with everything in it.
fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status().expect("cp runs");
    assert!(copied.success());
}

/// A second `init`, by the same host or by others, joins the repository and changes nothing in it.
#[test]
fn a_second_init_joins_the_repository() {
    let Some(s3) = s3_server(false) else { return };
    let Some((server, keyring)) = stopped_mysql() else { return };
    s3.create_bucket("backups", false).expect("a bucket");
    let (root, host) = (s3.root().expect("root"), s3.create_user("host").expect("a user"));
    let backups =
        Backups::in_bucket(server.datadir(), &format!("keyring = {keyring:?}"), &s3, &root, "s3://backups/mysql");
    backups.backup(&["run"]).is(0);
    let data = s3.path("data/backups");
    let objects = || files_below(&data).into_iter().map(|path| (fs::read(&path).expect("an object"), path));
    let before: Vec<_> = objects().collect();
    let record = fs::read(data.join("mysql/sealant-repo.json")).expect("the repository");
    let record: Value = serde_json::from_slice(&record).expect("JSON");
    let id = format!("s3://backups/mysql (there already), id {}", record["id"].as_str().expect("an id"));
    let init = |command: &mut Command| ended(command.arg("--unproven-recipient"));

    let signers = backups.command(&["init", "--unproven-recipient"]).output().expect("it starts").stdout;
    assert_eq!(signers, fs::read(backups.path("signers")).expect("signers"));
    init(&mut backups.command(&["init"])).is(0).says(&id).says("signing.key (there already)");
    assert!(objects().eq(before.iter().cloned()), "an object was changed or added");
    backups.backup(&["run"]).is(0).says("continues from 1");

    let other = |name: &str, user, more: &str| {
        let path = backups.configure_user(name, &s3, user);
        let text = fs::read_to_string(&path).expect("a configuration");
        let text = text.replace("\"db1\"", &format!("{name:?}")).replace("signing.key", &format!("{name}.key"));
        fs::write(&path, text.replace("[host]", &format!("{more}[host]"))).expect("written");
        let verb = |verb: &'static str| {
            let mut command = sealant();
            command.args(["backup", verb, "--config"]).arg(&path);
            command
        };
        (init(&mut verb("init")), verb("run"))
    };
    let (joined, mut run) = other("db2", &root, "");
    joined.is(0).says(&id).says("db2.key (made)");
    ended(&mut run).is(0).says("it is the first backup");
    // One that may only put objects has to be told which repository it is.
    s3.put_policy("backups", HOST_ONLY).expect("a policy");
    other("db3", &host, "").0.is(1).says("may not read its id");
    let (joined, mut run) = other("db3", &host, &format!("id = {}\n", record["id"]));
    joined.is(0).says(&id);
    ended(&mut run).is(0).says("it is the first backup");
    let list = |host: &str| backups.backup(&["list", "--host", host]).is(0).json;
    for (host, count) in [("db1", 2), ("db2", 1), ("db3", 1)] {
        assert_eq!(list(host)["backups"].as_array().map(Vec::len), Some(count), "{host}");
    }
}

/// Whoever looks at backups again reads no receipt again, and what was replaced in the bucket is still noticed.
#[test]
fn receipts_are_read_once_unless_they_were_replaced() {
    let Some(Lab { s3, server: _server, keyring: _, backups }) = Lab::new(false) else { return };
    for _ in 0..3 {
        backups.backup(&["run"]).is(0);
    }
    with_keeper(&backups, "keep_last = 2\ndaily = 0\nweekly = 0\nmonthly = 0\nmin_good = 1");
    let read =
        || s3.access_log().iter().filter(|line| line.contains("GetObject ") && line.contains("/receipts/")).count();
    let reading = |verb: &[&str]| {
        let before = read();
        let ran = backups.backup(verb);
        (ran, read() - before)
    };
    let signers = backups.path("signers");
    let report: [&str; 3] = ["report", "--allowed-signers", text(&signers)];
    let (first, count) = reading(&["list"]);
    assert_eq!(count, 3, "three receipts");
    let first = first.is(0).json;
    let (second, count) = reading(&["list"]);
    assert_eq!((second.is(0).json, count), (first, 0));
    let (ran, count) = reading(&report);
    ran.is(0);
    assert_eq!(count, 3, "the signatures, which a list does not judge");
    for verb in [&report[..], &["prune", "--dry-run"]] {
        let (ran, count) = reading(verb);
        ran.is(0);
        assert_eq!(count, 0, "{verb:?}");
    }
    let (ran, count) = reading(&["check", "--allowed-signers", text(&signers)]);
    ran.is(0);
    assert_eq!(count, 6, "a check reads the bucket");

    // Somebody who may write the bucket replaces a receipt by one of the same length.
    let receipt = s3.path("data/backups/mysql/hosts/db1/receipts/000002.json");
    let genuine = fs::read_to_string(&receipt).expect("a receipt");
    let forged = genuine.replace("\"full\":false", "\"full\":true ");
    assert!(forged != genuine && forged.len() == genuine.len(), "{genuine}");
    s3.put_object("backups/mysql/hosts/db1/receipts/000002.json", &forged).expect("replaced");
    let (ran, count) = reading(&["list"]);
    assert_eq!((ran.is(0).json["backups"][1]["kind"].as_str(), count), (Some("full"), 1));
    let bad = reading(&report).0.is(3).json.to_string();
    assert!(bad.contains("receipts/000002.json"), "{bad}");
    backups.backup(&["prune", "--dry-run"]).is(1).says("receipts/000002.json");
    s3.put_object("backups/mysql/hosts/db1/receipts/000002.json", &genuine).expect("replaced");
    backups.backup(&report).is(0);
    backups.backup(&["prune", "--dry-run"]).is(0);

    // The cache is not needed, and not trusted to be whole.
    let caches = files_below(&backups.path("state/receipt-cache"));
    let cache = caches.iter().find(|path| path.ends_with("host-db1")).expect("a cache");
    let mut bytes = fs::read(cache).expect("a cache");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(cache, &bytes).expect("damaged");
    backups.backup(&report).is(0);
    fs::remove_dir_all(backups.path("state/receipt-cache")).expect("removed");
    fs::write(backups.path("state/receipt-cache"), "not a directory").expect("written");
    backups.backup(&report).is(0);
}

const HOST_ONLY: &str = r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": ["host"]},
    "Action": ["s3:PutObject"], "Resource": ["arn:aws:s3:::backups/*"]}]}"#;
