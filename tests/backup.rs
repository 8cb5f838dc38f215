//! `sealant backup` and `sealant restore` with the files of real servers.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use harness::{KeyringLocation, Kind, Server, ServerBuilder, require};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::readme::scripts;
use crate::support::backup::{
    Backups, Ran, files, is_same, last_json, status_lines, stopped_mysql, with_keyring, write_incompressible,
};
use crate::support::moving::tree;
use crate::support::proof::Proof;
use crate::support::rotation::encrypting;
use crate::support::schema::has_its_schema;
use crate::support::unchanged::{Load, Volume, assert_whole, options, prepare};
use crate::support::{Audit, sealant};

fn text(path: &Path) -> &str {
    path.to_str().expect("the harness uses ASCII paths")
}

#[test]
fn mysql_is_restored_to_the_byte_from_full_and_incremental_backups() {
    let Some((mut server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    let keys = ["--keyring", text(&keyring)];
    let full = backups.backup(&["run"]).is(0).says("it is the first backup");
    let first = files(server.datadir());
    // Pages of encrypted tables compress, because they are decrypted first.
    assert!(full.number("/bytes/opened") > full.number("/bytes/changed") / 2, "{}", full.json);
    assert!(full.number("/bytes/stored") * 2 < full.number("/bytes/changed"), "{}", full.json);

    server.start().expect("it starts");
    server
        .sql("UPDATE demo.enc SET name = 'changed' WHERE id < 5; CREATE TABLE demo.more (id INT PRIMARY KEY)")
        .expect("changed");
    server.sql("DROP TABLE demo.inside; ALTER INSTANCE ROTATE INNODB MASTER KEY").expect("changed");
    server.stop().expect("it stops");
    let second = files(server.datadir());
    let next = backups.backup(&["run"]).is(0).says("continues from 1");
    assert!(next.number("/bytes/changed") < full.number("/bytes/changed"), "{}", next.json);
    assert_eq!(next.number("/pages/damaged") + next.number("/pages/unproven"), 0);

    let into = [1, 2].map(|number| backups.path(&format!("into{number}")));
    backups.restore("1", &into[0], &keys).is(0);
    backups.restore("2", &into[1], &keys).is(0);
    is_same(&into[0], &first);
    is_same(&into[1], &second);
    let proof = Proof::mysql(&[&into[1]], Some(&keyring));
    proof.is_complete();

    let keys = fs::read(&keyring).expect("a keyring");
    let restored = encrypting().datadir_seed(&into[1]).file("keyring", keys).start().expect("MySQL starts on it");
    assert_eq!(restored.value("SELECT COUNT(*) FROM demo.enc WHERE name = 'changed'").expect("rows"), "4");
    assert_eq!(restored.value("SELECT COUNT(*) FROM demo.zip").expect("rows"), "900");
}

#[test]
#[ignore = "waits until files are a minute old: `make soak`"]
fn tablespaces_that_were_not_written_are_not_read() {
    let Some((mut server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.configure("[data]\n", "[data]\nscan = \"changed\"\n");
    std::thread::sleep(Duration::from_secs(61));
    let read = |ran: &Ran| ran.number("/bytes/read");
    let first = backups.backup(&["run"]).is(0);
    assert_eq!(read(&first), first.number("/bytes/data"));
    let second = backups.backup(&["run"]).is(0).says("were not read");
    assert!(read(&second) < read(&first), "{}", second.json);
    assert_eq!(second.number("/pages/seen"), first.number("/pages/seen"));
    backups.restore("2", &backups.path("second"), &["--keyring", text(&keyring)]).is(0);
    is_same(&backups.path("second"), &files(server.datadir()));

    server.start().expect("it starts");
    server.sql("UPDATE demo.enc SET name = 'changed' WHERE id < 5").expect("changed");
    server.stop().expect("it stops");
    let third = backups.backup(&["run"]).is(0).says("were not read");
    assert!((read(&second)..read(&first)).contains(&read(&third)), "{}", third.json);
    assert_eq!(third.number("/pages/damaged") + third.number("/pages/unproven"), 0, "{}", third.json);
    backups.restore("3", &backups.path("third"), &["--keyring", text(&keyring)]).is(0);
    is_same(&backups.path("third"), &files(server.datadir()));
    backups.configure("scan = \"changed\"\n", "scan = \"all\"\n");
    let all = backups.backup(&["run"]).is(0);
    assert_eq!((read(&all), all.number("/bytes/changed")), (all.number("/bytes/data"), 0), "{}", all.json);
}

/// The design's limit, for data of which every buffer gets more than it holds.
#[test]
#[ignore = "stores and restores 800 MiB: `make soak`"]
#[allow(clippy::print_stdout, reason = "the figures of docs/benchmarks.md")]
fn runs_and_restores_take_little_memory() {
    const LIMIT: u64 = 256 << 20;
    let Some((server, keyring)) = stopped_mysql() else { return };
    for number in 0..4 {
        write_incompressible(&server.datadir().join(format!("demo/large{number}.MYD")), 200 << 20);
    }
    let backups = with_keyring(&server, &keyring);
    let keys = ["--keyring", text(&keyring)];
    let restore = backups.restore_command("1", &backups.path("into"), &keys);
    for (what, mut command) in [("run", backups.command(&["run"])), ("restore", restore)] {
        let peak = bench::peak_memory(&mut command).expect("it ends");
        assert!(peak.code == 0 && peak.resident_bytes <= LIMIT, "{what}: {peak:?}");
        println!("{what}: {} MiB", peak.resident_bytes >> 20);
    }
}

/// What is known of each file must be little: a server can have a hundred thousand.
#[test]
#[ignore = "stores and restores 6,000 tables: `make soak`"]
#[allow(clippy::print_stdout, reason = "the figures of docs/benchmarks.md")]
fn many_tables_take_little_memory() {
    const LIMIT: u64 = 256 << 20;
    let Some((server, keyring)) = stopped_mysql() else { return };
    let table = server.datadir().join("demo/enc.ibd");
    for number in 0..6000 {
        fs::copy(&table, server.datadir().join(format!("demo/copy{number}.ibd"))).expect("copied");
    }
    let backups = with_keyring(&server, &keyring);
    let restore = backups.restore_command("1", &backups.path("into"), &["--keyring", text(&keyring)]);
    let run = || backups.command(&["run"]);
    for (what, mut command) in [("run", run()), ("restore", restore), ("incremental run", run())] {
        let peak = bench::peak_memory(&mut command).expect("it ends");
        println!("{what}: {} MiB", peak.resident_bytes >> 20);
        // Copies of one tablespace have one number, which a verification may report.
        assert!([0, 3, 4].contains(&peak.code) && peak.resident_bytes <= LIMIT, "{what}: {peak:?}");
    }
}

#[test]
fn a_run_shows_its_progress_and_the_remaining_time_on_a_terminal() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    let bytes = crate::support::chance::Random::new(0xbac8).fill(64 << 20);
    fs::write(server.datadir().join("demo/large.MYD"), bytes).expect("written");
    let said = backups.run_on_terminal("xterm");
    let lines = status_lines(&said, "reading ");
    assert!(lines.iter().any(|line| line.contains(" %), ") && line.contains(" stored  ETA 00:")), "{said:?}");
    assert!(!said.replace("\x1b[K", "").contains('\x1b'), "NO_COLOR is set: {said:?}");
    let said = backups.run_on_terminal("dumb");
    assert!(!said.contains('\x1b') && !said.contains("reading ") && said.contains("backup 2 of db1"), "{said:?}");
}

/// The events that a command writes, and its exit code.
fn events(command: &mut Command) -> (Vec<Value>, Option<i32>) {
    let output = command.output().expect("it starts");
    let lines = String::from_utf8(output.stdout).expect("text");
    (lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect(), output.status.code())
}

/// The first and the last event of what has succeeded, with nothing but progress between them.
#[track_caller]
fn begin_and_end(command: &mut Command) -> [Value; 2] {
    let (mut events, code) = events(command);
    assert_eq!(code, Some(0), "{events:?}");
    let end = events.pop().expect("an event");
    let begin = events.remove(0);
    assert!(begin["event"] == "plan" && end["event"] == "committed", "{begin} {end}");
    for progress in &events {
        assert!(progress["event"] == "progress" && progress["total_bytes"] == begin["bytes"], "{progress}");
    }
    [begin, end]
}

#[test]
fn scripts_follow_a_run_and_a_restore_by_their_events() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    let (planned, _) = events(&mut backups.command(&["run", "--dry-run", "--json"]));
    let [plan, made] = begin_and_end(&mut backups.command(&["run", "--json"]));
    assert_eq!(planned.as_slice(), std::slice::from_ref(&plan));
    has_its_schema(&made, "backup-1");
    assert_eq!((&plan["files"], &plan["bytes"]), (&made["files"], &made["bytes"]["data"]));

    let (into, keys) = (backups.path("into"), ["--keyring", text(&keyring)]);
    let dry = [&keys[..], &["--dry-run"]].concat();
    assert_eq!(events(&mut backups.restore_command("1", &into, &dry)), (planned, Some(0)));
    let [restoring, restored] = begin_and_end(&mut backups.restore_command("1", &into, &keys));
    assert_eq!(restoring, plan);
    has_its_schema(&restored, "restore-1");
    assert!(restored["pages"]["written"].as_u64() >= restored["pages"]["proven"].as_u64(), "{restored}");

    let (failed, code) = events(&mut backups.restore_command("1", &into, &keys));
    assert_eq!((failed.len(), code), (1, Some(1)), "{failed:?}");
    assert!(failed[0]["event"] == "failed" && failed[0]["reason"].is_string(), "{failed:?}");
}

#[test]
fn limits_and_files_of_the_configuration_take_effect() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    write_incompressible(&server.datadir().join("demo/large.MYD"), 24 << 20);
    let [page, metrics] = ["calendar.html", "backup.prom"].map(|name| backups.path(name));
    let report = format!("[report]\nhtml = {page:?}\nprometheus = {metrics:?}\n[binlogs]\nenabled = false\n");
    backups.configure("[data]\n", &format!("{report}[data]\npack = \"4MiB\"\nbwlimit = \"16MiB\"\n"));
    let began = Instant::now();
    let made = backups.backup(&["run"]).is(0);
    let seconds = made.number("/bytes/stored") / (16 << 20);
    assert!(seconds >= 1 && began.elapsed() >= Duration::from_secs(seconds), "{seconds} s");
    let lengths: Vec<u64> = packs(&backups).iter().map(|pack| fs::metadata(pack).expect("it is there").len()).collect();
    assert!(lengths.len() >= 6 && lengths.iter().all(|bytes| *bytes <= 4 << 20), "{lengths:?}");
    backups.restore("1", &backups.path("into"), &["--keyring", text(&keyring)]).is(0);
    is_same(&backups.path("into"), &files(server.datadir()));

    let written = |path: &Path| fs::read_to_string(path).expect("it was written");
    assert!(written(&page).contains("Backups of db1"));
    assert!(written(&metrics).contains("\nsealant_backup_number{host=\"db1\"} 1\n"), "{}", written(&metrics));
    fs::remove_file(&metrics).expect("it was there");
    backups.backup(&["report"]).is(0);
    assert!(metrics.exists(), "the report writes the files of the configuration, too");
    // A backup is complete without them.
    backups.configure(text(&page), text(&backups.path("nowhere/calendar.html")));
    backups.backup(&["run"]).is(0).says("the files of [report] were not written");
    backups.backup(&["binlogs", "--once"]).is(0).says("binary logs are not archived");
}

#[test]
fn a_recipient_is_proven_by_the_challenge_that_its_identity_decrypts() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    let challenges = backups.path("challenges");
    let init = |more: &[&str]| {
        let output = backups.command(&["init"]).args(more).output().expect("it starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = init(&["--challenges", text(&challenges)]);
    assert_eq!(code, Some(4), "{said}");
    // The page shows the commands as lines to copy into a terminal.
    assert!(said.contains("\nage -d -i IDENTITY <<END\n-----BEGIN AGE ENCRYPTED FILE-----\n"), "{said}");
    assert!(said.contains("\n-----END AGE ENCRYPTED FILE-----\nEND\n") && said.contains("--answer WORD"), "{said}");
    let first =
        backups.backup(&["run"]).is(0).says("nobody has proven possession of the identity of 1 of 1 recipients");
    assert_eq!(first.number("/number"), 1);

    let challenge = fs::read_dir(&challenges).expect("listed").next().expect("a file").expect("a file").path();
    let identity = fs::read_to_string(backups.path("identity")).expect("an identity");
    let identities = agefile::Identity::parse_file(&identity).expect("an identity");
    let mut word = String::new();
    let opened = agefile::Decryptor::new(File::open(challenge).expect("readable"), &identities);
    opened.expect("for this identity").read_to_string(&mut word).expect("a word");
    let (code, said) = init(&["--answer", "0123456789abcdef0123"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("not the word") && said.contains("age -d"), "{said}");
    let (code, said) = init(&["--answer", word.trim()]);
    assert_eq!(code, Some(0), "{said}");
    let second = backups.backup(&["run"]).is(0);
    assert!(!second.stderr.contains("nobody has proven possession"), "{}", second.stderr);
    assert_eq!(init(&[]).0, Some(0));
}

#[test]
fn a_restore_gives_the_files_keys_of_another_keyring() {
    let Some((server, old)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &old);
    backups.backup(&["run"]).is(0);
    let before = files(server.datadir());
    let [new, inside] = ["new-keyring", "target/keyring"].map(|name| backups.path(name));
    let with_old = |rekey: &Path| ["--keyring", text(&old), "--rekey", text(rekey)].map(str::to_owned);
    let refused = with_old(&inside);
    let refused = refused.each_ref().map(String::as_str);
    backups.restore("1", &backups.path("target"), &refused).is(1).says("keyring");
    assert!(!inside.exists() && !backups.path("target").join("demo").exists());

    let into = backups.path("into");
    let options = with_old(&new);
    let options = options.each_ref().map(String::as_str);
    let done = backups.restore("1", &into, &options).is(0).says("are now wrapped by INNODBKey-");
    assert!(done.number("/rekeyed/files") >= 3, "{}", done.json);
    assert_eq!(done.number("/pages/unproven") + done.number("/pages/bad"), 0, "{}", done.json);
    // Only page 0 of each file differs, and the old keyring opens nothing.
    let after = files(&into);
    let changed: Vec<_> = before.iter().filter(|(path, bytes)| after.get(*path) != Some(bytes)).collect();
    for (path, bytes) in &changed {
        let same = bytes.iter().zip(&after[*path]).filter(|(one, other)| one == other).count();
        assert!(bytes.len() - same < 512, "{} differs in {} bytes", path.display(), bytes.len() - same);
    }
    let verified = |keyring: &Path| {
        let verify = sealant().arg("verify").arg(&into).arg("--keyring").arg(keyring).output();
        verify.expect("it starts").status.code()
    };
    assert_eq!((verified(&new), verified(&old)), (Some(0), Some(3)));
    let keys = fs::read(&new).expect("a keyring");
    let restored = encrypting().datadir_seed(&into).file("keyring", keys).start().expect("MySQL starts on it");
    assert_eq!(restored.value("SELECT COUNT(*) FROM demo.zip").expect("rows"), "900");
    restored.sql("ALTER INSTANCE ROTATE INNODB MASTER KEY").expect("rotated");
}

#[test]
fn with_the_keys_in_the_backup_no_keyring_of_the_server_is_needed() {
    let Some((server, old)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &old);
    backups.backup(&["run"]).is(0);
    let identity = agefile::Identity::generate().expect("an identity");
    let [key_identity, new, into] = ["key-identity", "new-keyring", "into"].map(|name| backups.path(name));
    fs::write(&key_identity, identity.to_secret_text().as_str()).expect("written");
    backups.configure("[state]", &format!("[keys]\nrecipients = [\"{}\"]\n[state]", identity.recipient()));
    backups.backup(&["run"]).is(0).says("of 2 of 2 recipients");

    let with = |identity: &Path| ["--rekey", text(&new), "--key-identity", text(identity)].map(str::to_owned);
    let restore = |number: &str, identity: &Path| {
        let options = with(identity);
        backups.restore(number, &into, &options.each_ref().map(String::as_str))
    };
    restore("1", &key_identity).is(1).says("backup 1 was made without [keys] recipients").says("--keyring");
    restore("2", &backups.path("identity")).is(1).says("hosts/db1/keys/000002.age");
    assert!(!into.exists() && !new.exists());
    let mut stored = String::new();
    let object = File::open(backups.object("hosts/db1/keys/000002.age")).expect("readable");
    let mut opened = agefile::Decryptor::new(object, std::slice::from_ref(&identity)).expect("for this identity");
    opened.read_to_string(&mut stored).expect("lines of JSON");
    let first = stored.lines().next().expect("a line");
    has_its_schema(&serde_json::from_str(first).expect("JSON"), "backup-keys-1");
    let keys = backups.path("keys.json");
    fs::write(&keys, &stored).expect("written");
    is_restored_by_hand(&backups, "2", Some(&keys), server.datadir());
    let done = restore("2", &key_identity).is(0).says("are now wrapped by INNODBKey-");
    assert_eq!(done.number("/pages/unproven") + done.number("/pages/bad"), 0, "{}", done.json);
    assert!(done.number("/rekeyed/files") >= 3, "{}", done.json);
    let keys = fs::read(&new).expect("a keyring");
    let restored = encrypting().datadir_seed(&into).file("keyring", keys).start().expect("MySQL starts on it");
    assert_eq!(restored.value("SELECT COUNT(*) FROM demo.zip").expect("rows"), "900");

    flip(&backups.object("hosts/db1/keys/000002.age"), 200);
    let checked = backups.backup(&["check", "all", "--objects"]).is(3);
    assert_eq!(checked.json["objects"]["bad"][0]["object"], "hosts/db1/keys/000002.age", "{}", checked.json);
}

#[test]
fn data_that_a_directory_already_has_is_not_fetched_and_a_dry_run_fetches_nothing() {
    let Some((mut server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    let keys = ["--keyring", text(&keyring)];
    let before = backups.objects();
    backups
        .backup(&["run", "--dry-run"])
        .is(0)
        .says("it is the first backup")
        .says("auto.cnf")
        .says("it would store about")
        .says("nothing was stored");
    assert_eq!(backups.objects(), before);
    backups.backup(&["run"]).is(0);
    let base = backups.path("base");
    backups.restore("1", &base, &keys).is(0);

    server.start().expect("it starts");
    server.sql("UPDATE demo.enc SET name = 'changed' WHERE id < 5").expect("changed");
    server.stop().expect("it stops");
    backups.backup(&["run", "--dry-run"]).is(0).says("changed since backup 1").says("the last backup stored");
    backups.backup(&["run"]).is(0);

    // A base directory may hold anything: files that differ or are missing, and links, are fetched.
    flip(&base.join("demo/zip.ibd"), 20_000);
    fs::remove_file(base.join("mysql.ibd")).expect("it was there");
    symlink(server.datadir().join("mysql.ibd"), base.join("mysql.ibd")).expect("a link");
    let found = files(&base);
    let into = backups.path("into");
    let with_base = [&keys[..], &["--base", text(&base)]].concat();
    let planned = [&with_base[..], &["--dry-run"]].concat();
    backups.restore("2", &into, &planned).is(0).says("to be fetched").says("nothing was restored");
    assert!(!into.exists());
    let restored = backups.restore("2", &into, &with_base).is(0);
    assert!(restored.number("/bytes/from_base") > restored.number("/bytes/written"), "{}", restored.json);
    assert!(restored.number("/bytes/written") > 0, "{}", restored.json);
    is_same(&into, &files(server.datadir()));
    is_same(&base, &found);

    let refused = backups.path("refused");
    backups.restore("2", &refused, &["--dry-run"]).is(1).says("the given keys cannot encrypt them again");
    assert!(!refused.exists());
}

/// A stopped MariaDB server with everything encrypted, and its key file.
fn mariadb() -> Option<(Server, PathBuf)> {
    require(Kind::MariaDb1011)?;
    let keys = format!("1;{}\n2;{}\n", "3a".repeat(32), "5b".repeat(32));
    let options = [
        "--innodb-encrypt-tables=FORCE",
        "--innodb-encrypt-log=ON",
        "--innodb-encryption-threads=2",
        "--encrypt-binlog=ON",
        "--log-bin=binlog",
        "--innodb-log-file-size=16M",
    ];
    let mut server =
        Server::builder(Kind::MariaDb1011).mariadb_keys(&keys).options(options).start().expect("MariaDB starts");
    let tables = "CREATE DATABASE demo; USE demo;
        CREATE TABLE enc (id INT PRIMARY KEY, name VARCHAR(600)) ENGINE=InnoDB ENCRYPTION_KEY_ID=2;
        INSERT INTO enc SELECT seq, REPEAT(CONCAT('row ', seq, ' '), 40) FROM seq_1_to_900;
        CREATE TABLE packed (id INT PRIMARY KEY, name VARCHAR(600)) ENGINE=InnoDB PAGE_COMPRESSED=1;
        INSERT INTO packed SELECT * FROM enc;
        CREATE TABLE small (id INT PRIMARY KEY, name VARCHAR(600)) ENGINE=InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4;
        INSERT INTO small SELECT * FROM enc;
        CREATE TABLE aria (id INT PRIMARY KEY, name VARCHAR(600)) ENGINE=Aria; INSERT INTO aria SELECT * FROM enc;
        FLUSH LOGS; DELETE FROM enc WHERE id > 800";
    server.sql(tables).expect("tables are made");
    server.stop().expect("it stops");
    let keys = server.dir().join("keys.txt");
    Some((server, keys))
}

#[test]
fn mariadb_is_restored_to_the_byte_from_full_and_incremental_backups() {
    let Some((mut server, key_file)) = mariadb() else { return };
    let backups = Backups::new(server.datadir(), &format!("mariadb_key_file = {key_file:?}"));
    let keys = ["--mariadb-key-file", text(&key_file)];
    let full = backups.backup(&["run"]).is(0);
    let first = files(server.datadir());
    assert!(full.number("/bytes/opened") > full.number("/bytes/changed") / 2, "{}", full.json);
    assert!(full.number("/bytes/stored") * 2 < full.number("/bytes/changed"), "{}", full.json);

    server.start().expect("it starts");
    server
        .sql("UPDATE demo.enc SET name = 'changed' WHERE id < 5; INSERT INTO demo.aria VALUES (1000, 'new')")
        .expect("changed");
    server.stop().expect("it stops");
    let second = files(server.datadir());
    backups.backup(&["run"]).is(0).says("continues from 1");

    let into = [1, 2].map(|number| backups.path(&format!("into{number}")));
    backups.restore("1", &into[0], &keys).is(0);
    backups.restore("2", &into[1], &keys).is(0);
    is_same(&into[0], &first);
    is_same(&into[1], &second);
    Proof::mariadb(&[&into[1]], Some(&key_file)).is_sound();

    // No keyring wraps MariaDB's keys; the restore reports that before it fetches anything.
    let (rekeyed, keyring) = (backups.path("rekeyed"), backups.path("new-keyring"));
    let rekey = [&keys[..], &["--rekey", text(&keyring)]].concat();
    for dry_run in [&["--dry-run"][..], &[]] {
        let refused = backups.restore("2", &rekeyed, &[&rekey[..], dry_run].concat());
        refused.is(1).says("backup 2 is of a MariaDB server").says("restore without --rekey");
        assert!(!rekeyed.exists() && !keyring.exists());
    }
}

#[test]
fn without_a_change_nothing_but_a_manifest_is_stored() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    let first = backups.backup(&["run"]).is(0);
    let again = backups.backup(&["run"]).is(0);
    assert_eq!((again.number("/bytes/changed"), again.number("/packs/new")), (0, 0));
    assert_eq!(again.number("/pages/seen"), first.number("/pages/seen"));
    let asked = backups.backup(&["run", "--full"]).is(0).says("it was requested");
    assert!(asked.number("/packs/new") > 0);
    // A host without its state stores everything again, and reports that.
    fs::remove_dir_all(backups.path("state")).expect("it was there");
    let without = backups.backup(&["run"]).is(0).says("this host has no state of the last backup");
    assert_eq!(without.number("/number"), 4);
    let listed = backups.backup(&["list"]).is(0);
    let good: Vec<bool> =
        listed.json["backups"].as_array().expect("a list").iter().map(|of| of["good"] == true).collect();
    assert_eq!(good, [true; 4]);
    a_new_recipient_gets_everything(&backups, server.datadir(), &keyring);
}

/// A new recipient's identity cannot open what is already stored, so all of it is stored again.
fn a_new_recipient_gets_everything(backups: &Backups, datadir: &Path, keyring: &Path) {
    let identity = agefile::Identity::generate().expect("an identity");
    backups.configure("recipients = [", &format!("recipients = [\"{}\", ", identity.recipient()));
    for verb in [&["run", "--dry-run"][..], &["run"]] {
        backups.backup(verb).is(0).says("the recipients have changed");
    }
    fs::write(backups.path("identity"), format!("{}\n", identity.to_secret_text().as_str())).expect("written");
    let into = backups.path("into");
    backups.restore("latest", &into, &["--keyring", text(keyring)]).is(4);
    is_same(&into, &files(datadir));
    backups.backup(&["run"]).is(0).says("continues from 5");
}

#[test]
fn key_files_are_excluded_and_listed() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    fs::copy(&keyring, server.datadir().join("keyring-copy")).expect("copied");
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0).says("not in the backup: keyring-copy").says("not in the backup: auto.cnf");
    let into = backups.path("into");
    // Without the key nothing is staged, and the message names the key.
    let refused = backups.restore("1", &into, &[]).is(1).says("the given keys cannot encrypt them again");
    assert!(refused.stderr.contains("INNODBKey-"), "{}", refused.stderr);
    backups.restore("1", &into, &["--keyring", text(&keyring)]).is(0);
    assert!(
        !into.join("keyring-copy").exists() && !into.join("auto.cnf").exists() && !into.join("ca-key.pem").exists()
    );
}

/// Output of a program for this input.
fn piped(program: &str, args: &[&str], input: &[u8]) -> (bool, Vec<u8>) {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program is installed");
    let mut to = child.stdin.take().expect("piped");
    std::thread::scope(|scope| {
        let writing = scope.spawn(move || to.write_all(input));
        let output = child.wait_with_output().expect("it ends");
        let _ = writing.join();
        (output.status.success(), output.stdout)
    })
}

#[test]
fn a_backup_can_be_decrypted_with_common_programs() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    let receipt = fs::read(backups.object("hosts/db1/receipts/000001.json")).expect("a receipt");
    let (signers, signature) = (backups.path("signers"), backups.object("hosts/db1/receipts/000001.json.sig"));
    let verify = |receipt: &[u8]| {
        let args = ["-Y", "verify", "-f", text(&signers), "-I", "db1", "-n", "sealant-receipt", "-s", text(&signature)];
        piped("ssh-keygen", &args, receipt).0
    };
    assert!(verify(&receipt));
    assert!(!verify(&receipt[1..]));
    // The signing key works with OpenSSH, too.
    let (reads, public) = piped("ssh-keygen", &["-y", "-f", text(&backups.path("signing.key"))], b"");
    let signer = fs::read_to_string(&signers).expect("signers");
    let key = String::from_utf8_lossy(&public).split_whitespace().nth(1).expect("a key").to_owned();
    assert!(reads && signer.contains(&key));

    let json: Value = serde_json::from_slice(&receipt).expect("JSON");
    has_its_schema(&json, "receipt-1");
    let repository = fs::read(backups.object("sealant-repo.json")).expect("a description");
    has_its_schema(&serde_json::from_slice(&repository).expect("JSON"), "repository-1");
    let identity = backups.path("identity");
    let manifest = backups.object("hosts/db1/manifests/000001.age");
    let (opens, packed) = piped("age", &["-d", "-i", text(&identity), text(&manifest)], b"");
    let (unpacks, lines) = piped("zstd", &["-dc"], &packed);
    assert!(opens && unpacks);
    let head = lines.split(|byte| *byte == b'\n').next().expect("a line");
    has_its_schema(&serde_json::from_slice(head).expect("JSON"), "backup-manifest-1");
    for pack in json["packs"].as_array().expect("packs") {
        let sha256 = pack["sha256"].as_str().expect("a hash");
        let object = backups.object(&format!("hosts/db1/packs/{}/{sha256}.age", &sha256[..2]));
        let (_, sum) = piped("sha256sum", &[], &fs::read(&object).expect("a pack"));
        assert!(String::from_utf8_lossy(&sum).starts_with(sha256));
        let (opens, packed) = piped("age", &["-d", "-i", text(&identity), text(&object)], b"");
        let (unpacks, bytes) = piped("zstd", &["-dc"], &packed);
        assert!(opens && unpacks);
        assert!(bytes.len() as u64 >= pack["live_bytes"].as_u64().expect("a number"));
    }
}

/// Makes three backups of a server under load, a full one and two incremental ones, and restores each. A server must
/// start on it and have every commit that was acknowledged before.
fn backups_under_load_hold(
    file_system: &'static str,
    builder: ServerBuilder,
    table_options: &str,
    keys: [(&str, &Path); 2],
) {
    let Some(volume) = Volume::new(file_system, 2048) else { return };
    let server = builder.clone().within(volume.directory("s")).start().expect("it starts");
    prepare(&server, table_options);
    let [(line, key_file), (option, _)] = keys;
    let backups = Backups::new(server.datadir(), &format!("{line} = {key_file:?}"));
    backups.configure("[data]", "[data]\nmax_freeze = \"60s\"");
    let follows = file_system == "ext4";
    if follows {
        backups.configure("[data]", &format!("socket = {:?}\nuser = \"root\"\n[data]", server.socket()));
    }
    let load = Load::start(&server, 4);
    for round in 1..=2_u32 {
        load.goes_on(100);
        let acknowledged = load.acknowledged();
        let made = backups.backup(&["run"]).is(0);
        assert_eq!(made.json["provider"] == "follow", follows, "{}", made.json);
        assert_eq!(made.number("/pages/damaged"), 0, "{}", made.json);
        // A table of MariaDB whose page 0 is not written yet is in the redo log only.
        let unproven = made.number("/pages/unproven");
        assert!(unproven == 0 || server.kind().is_mariadb(), "{}", made.json);
        assert_eq!(made.json["full"].is_null(), round > 1);
        load.goes_on(20);
        load.pause();
        let into = backups.path(&format!("into-{round}"));
        let code = if unproven == 0 { 0 } else { 4 };
        let mut options = vec![option, text(key_file)];
        let daemon = server.kind().locate().expect("it is here").daemon;
        if follows {
            options.extend(["--prove", "--mysqld", text(&daemon)]);
        }
        let restored = backups.restore(&round.to_string(), &into, &options).is(code);
        if follows {
            // A backup that follows the server knows its position, and the proof compares it.
            assert_eq!(restored.json["proof"]["reached"]["is_whole"], true, "{}", restored.json);
            assert_eq!(restored.json["proof"]["reached"]["expected"], made.json["position"]["gtid"]);
            assert!(made.number("/position/lsn") > 0, "{}", made.json);
        }
        let copy = builder.clone().datadir_seed(&into).start().expect("a server starts on what was restored");
        assert_whole(&copy, &acknowledged);
        load.resume();
    }
}

#[test]
fn backups_of_a_running_mysql_hold_every_commit() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let keys = tempfile::tempdir().expect("a directory");
    let keyring = keys.path().join("keyring");
    let encrypted = ["--innodb-redo-log-encrypt=ON", "--innodb-undo-log-encrypt=ON", "--binlog-encryption=ON"];
    let builder = Server::builder(Kind::MySql97).options(options(Kind::MySql97));
    let builder = builder.keyring(KeyringLocation::Path(keyring.clone())).options(encrypted);
    for file_system in ["xfs", "btrfs", "ext4"] {
        let keys = [("keyring", keyring.as_path()), ("--keyring", &keyring)];
        backups_under_load_hold(file_system, builder.clone(), "ENCRYPTION='Y'", keys);
    }
}

#[test]
fn backups_of_a_running_mariadb_hold_every_commit() {
    if require(Kind::MariaDb1011).is_none() {
        return;
    }
    let keys = tempfile::tempdir().expect("a directory");
    let key_file = keys.path().join("keys");
    let lines = format!("1;{}\n", "3a".repeat(32));
    fs::write(&key_file, &lines).expect("written");
    let encrypted = [
        "--innodb-encrypt-tables=FORCE",
        "--innodb-encrypt-log=ON",
        "--innodb-encryption-threads=2",
        "--encrypt-binlog=ON",
    ];
    let builder = Server::builder(Kind::MariaDb1011).options(options(Kind::MariaDb1011));
    let builder = builder.mariadb_keys(&lines).options(encrypted);
    for file_system in ["xfs", "btrfs", "ext4"] {
        let keys = [("mariadb_key_file", key_file.as_path()), ("--mariadb-key-file", &key_file)];
        backups_under_load_hold(file_system, builder.clone(), "", keys);
    }
}

/// A restore that a server of the harness has proven.
fn proven(backups: &Backups, kind: Kind, into: &Path, more: &[&str]) -> Ran {
    let daemon = kind.locate().expect("it is here").daemon;
    backups.restore("1", into, &[&["--prove", "--mysqld", text(&daemon)], more].concat())
}

#[test]
fn a_private_server_proves_a_restored_mysql() {
    let Some((mut server, keyring)) = stopped_mysql() else { return };
    server.start().expect("it starts");
    server.sql("UPDATE demo.enc SET name = 'late' WHERE id < 50").expect("rows");
    server.kill();
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    let keys = ["--keyring", text(&keyring)];
    let into = backups.path("into");
    let ran = proven(&backups, Kind::MySql97, &into, &keys).is(0).says("recovered it in");
    let tables = ran.number("/proof/tables");
    assert!(tables > 20 && ran.number("/proof/checked") == tables, "{}", ran.json);
    assert!(ran.json["rto_s"].as_f64() > ran.json["seconds"].as_f64(), "{}", ran.json);
    has_its_schema(&ran.json, "restore-1");
    assert!(!into.join("auto.cnf").exists(), "each server restored from it makes its own");
    // The server that recovered the restore wrote nothing in clear.
    Proof::mysql(&[&into], Some(&keyring)).is_complete();
    let verified = sealant().args(["verify", "--format", "json"]).arg(&into).args(keys).output().expect("it runs");
    let report: Value = serde_json::from_slice(&verified.stdout).expect("JSON");
    let is_clear_log = |file: &&Value| {
        ["redo", "binlog"].contains(&file["kind"].as_str().unwrap_or_default()) && file["units"]["clear"] != 0
    };
    let clear: Vec<&Value> = report["files"].as_array().expect("files").iter().filter(is_clear_log).collect();
    assert_eq!(clear, Vec::<&Value>::new());
    backups.restore("1", &backups.path("other"), &[&keys[..], &["--prove"]].concat()).is(2).says("--mysqld");
}

#[test]
fn links_that_no_copy_can_have_are_refused_before_one_is_made() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    let (demo, moved) = (server.datadir().join("demo"), server.dir().join("moved"));
    fs::rename(&demo, &moved).expect("moved");
    symlink(&moved, &demo).expect("a link");
    let target = moved.canonicalize().expect("it is there");
    for verb in [&["run", "--dry-run"][..], &["run"]] {
        let refused = backups.backup(verb).is(1).says("/demo: a link that leads out of the data directory, to ");
        refused.says(text(&target)).says("hint: move what it points at into the data directory");
    }
    fs::remove_file(&demo).expect("a link");
    fs::rename(&moved, &demo).expect("moved back");

    let (up, link, dictionary) = (demo.join("up"), server.datadir().join("link"), server.datadir().join("mysql.ibd"));
    symlink("..", &up).expect("a link");
    for (target, said) in [
        // As it is written, it stays inside.
        (Path::new("demo/up/../elsewhere"), "leads out of the data directory, to demo/up/../elsewhere, where nothing"),
        (dictionary.as_path(), "/mysql.ibd in the data directory that is absolute; make it relative"),
    ] {
        symlink(target, &link).expect("a link");
        for verb in [&["run", "--dry-run"][..], &["run"]] {
            backups.backup(verb).is(1).says("/link: a link ").says(said);
        }
        fs::remove_file(&link).expect("a link");
    }
    fs::remove_file(&up).expect("a link");

    // Certificates are often links, and stay out of the backup.
    symlink("/nowhere/site.pem", server.datadir().join("site.pem")).expect("a link");
    backups.backup(&["run", "--dry-run"]).is(0);
    backups.backup(&["run"]).is(0);
    let into = backups.path("into");
    proven(&backups, Kind::MySql97, &into, &["--keyring", text(&keyring), "--leave-out-links"]).is(0);
    assert!(!into.join("site.pem").is_symlink());
}

#[test]
fn a_test_of_a_backup_leaves_nothing_behind() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    let scratch = backups.path("scratch");
    fs::create_dir(&scratch).expect("a directory");
    let mysqld = require(Kind::MySql97).expect("there").daemon;
    let mut command = sealant();
    command.args(["restore", "latest", "--quiet", "--repository"]).arg(backups.path("repository"));
    command.arg("--identity").arg(backups.path("identity")).arg("--allowed-signers").arg(backups.path("signers"));
    command.arg("--scratch").arg(&scratch).arg("--keyring").arg(&keyring).arg("--prove").arg("--mysqld").arg(mysqld);
    a_signal_removes_the_keys(&mut command);
    assert_eq!(fs::read_dir(&scratch).expect("listed").count(), 0);
    let records = backups.path("records");
    fs::create_dir(&records).expect("a directory");
    let record = records.join("restores.jsonl");
    let output = command.arg("--record").arg(&record).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("recovered"), "{said}");
    assert_eq!(fs::read_dir(&scratch).expect("listed").count(), 0);
    the_report_has_the_restore(&backups, &record);
    an_audit_judges_the_backups(server.datadir(), &backups, &records);
}

/// A proof that gets SIGTERM stops its server and removes its copies of the keys.
fn a_signal_removes_the_keys(command: &mut Command) {
    let mut proving = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let own = format!("sealant-prove-{}-", proving.id());
    let keyring = || {
        let all = fs::read_dir("/dev/shm").expect("listed").flatten();
        let mut own = all.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own));
        own.next().map(|entry| entry.path().join("keyring"))
    };
    while !keyring().is_some_and(|path| path.exists()) {
        assert!(proving.try_wait().expect("a child").is_none(), "it ended without keys in memory");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&proving), Signal::TERM).expect("it runs");
    let output = proving.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("a signal ended it") && said.contains("copies of the keys are removed"), "{said}");
    assert_eq!(keyring(), None);
}

/// The repository has one backup, of an unproven recipient, and one proven restore of it.
fn an_audit_judges_the_backups(datadir: &Path, backups: &Backups, records: &Path) {
    let repository = backups.path("repository");
    let of_repository = ["--offline", text(datadir), "--backup", text(&repository)];
    let audit = Audit::run(of_repository);
    audit.passes("bak-set-plaintext");
    audit.passes("bak-too-old");
    audit.fails("bak-unproven", "backups of db1");
    assert_eq!(audit.statuses("bak-never-restored"), ["UNKNOWN"]);
    audit.passes("bak-identity-in-reach");
    audit.fails("bak-no-lock", "backups of db1");
    Audit::run([&of_repository[..], &["--backup", text(records)]].concat()).passes("bak-never-restored");
    let identity = records.join("identity");
    fs::copy(backups.path("identity"), &identity).expect("copied");
    let in_reach = Audit::run([&of_repository[..], &["--backup", text(records)]].concat());
    in_reach.fails("bak-identity-in-reach", text(&identity));
    in_reach.passes("bak-set-plaintext");

    let policy = backups.path("policy.toml");
    fs::write(&policy, "backup_max_age_hours = 0\n").expect("written");
    Audit::run([&of_repository[..], &["--policy", text(&policy)]].concat()).fails("bak-too-old", "backups of db1");
    let receipt =
        backups.objects().into_iter().find(|path| text(path).ends_with("/receipts/000001.json")).expect("one");
    let whole = fs::read(&receipt).expect("readable");
    fs::write(&receipt, &whole[..whole.len() / 2]).expect("written");
    let cut = Audit::run(of_repository);
    assert_eq!(cut.statuses("bak-too-old"), ["UNKNOWN"]);
    fs::write(&receipt, whole).expect("written");
}

/// The report of a backup and of a proven restore of it, in each form.
fn the_report_has_the_restore(backups: &Backups, record: &Path) {
    let [page, metrics] = ["report.html", "report.prom"].map(|name| backups.path(name));
    let files = ["--restores", text(record), "--html", text(&page), "--prometheus", text(&metrics)];
    let ran = backups.backup(&[&["report", "--max-age", "1h"], &files[..]].concat()).is(0);
    assert_eq!(ran.json["backups"][0]["good"], true, "{}", ran.json);
    assert_eq!(ran.json["backups"][0]["restores"][0]["proven"], true, "{}", ran.json);
    let [page, metrics] = [page, metrics].map(|path| fs::read_to_string(path).expect("written"));
    assert!(page.contains("Backups of db1: healthy") && page.contains("class=\"proven\""), "{page}");
    for wanted in ["last_good_timestamp_seconds", "restore_test_timestamp_seconds", "restore_test_seconds"] {
        assert!(metrics.contains(&format!("\nsealant_backup_{wanted}{{host=\"db1\"}} ")), "{metrics}");
    }
    let json = backups.path("report.json");
    let table = backups.command(&["report", "--json", text(&json)]).output().expect("it starts");
    has_its_schema(&last_json(&fs::read(&json).expect("written")), "backup-report-1");
    let list = backups.backup(&["list", "--restores", text(record)]).is(0);
    let listed = &list.json["backups"][0];
    assert!(listed["tested"].is_string() && listed["kind"] == "full", "{listed}");
    assert_eq!((&listed["keyring_proven"], &listed["locked_until"]), (&Value::Null, &Value::Null));
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.lines().nth(1).is_some_and(|line| line.contains("full         good")), "{table}");
    backups.backup(&["report", "--restores", text(&backups.path("gone"))]).is(1).says("cannot be read");
    backups.backup(&["report", "--max-age", "0s"]).is(2);
}

#[test]
fn a_report_finds_that_backups_are_too_old_or_incomplete() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    let none = backups.backup(&["report", "--max-age", "1h"]).is(3);
    assert_eq!((&none.json["too_old"], &none.json["age_seconds"]), (&Value::Bool(true), &Value::Null));
    backups.backup(&["report"]).is(0);
    backups.backup(&["run"]).is(0);
    backups.backup(&["report", "--max-age", "1h"]).is(0);
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(backups.backup(&["report", "--max-age", "1s"]).is(3).json["too_old"], true);
    let pack = backups.objects().into_iter().find(|path| text(path).contains("/packs/")).expect("a pack");
    fs::remove_file(pack).expect("it was there");
    let missing = backups.backup(&["report"]).is(3);
    assert_eq!(missing.json["backups"][0]["good"], false, "{}", missing.json);
    assert!(missing.json["bad"][0]["what"].as_str().is_some_and(|what| what.contains("missing")), "{}", missing.json);
}

#[test]
fn a_private_server_proves_a_restored_mariadb_or_says_why_it_does_not_start() {
    let Some((server, keys)) = mariadb() else { return };
    let backups = Backups::new(server.datadir(), &format!("mariadb_key_file = {keys:?}"));
    backups.backup(&["run"]).is(0);
    let with_keys = ["--mariadb-key-file", text(&keys), "--check-tables", "3"];
    let ran = proven(&backups, Kind::MariaDb1011, &backups.path("into"), &with_keys).is(0);
    assert_eq!(ran.number("/proof/checked"), 3, "{}", ran.json);
    let wrong = [&with_keys[..], &["--prove-option=--no-such-option=1"]].concat();
    let refused = proven(&backups, Kind::MariaDb1011, &backups.path("wrong"), &wrong).is(1);
    refused.says("was not proven").says("no-such-option");
    assert!(backups.path("wrong").join("sealant-manifest").exists(), "it is restored all the same");
}

#[test]
fn the_commands_of_the_page_on_first_backups_work() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let script = format!("set -eu -o pipefail\n{}", scripts(include_str!("../docs/backup.md")));
    let programs = Path::new(env!("CARGO_BIN_EXE_sealant")).parent().expect("a directory").display().to_string();
    let path = format!("{programs}:{}", std::env::var("PATH").expect("a path"));
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(directory.path())
        .env("PATH", path)
        .env("DATADIR", server.datadir())
        .env("KEYRING", &keyring)
        .env("DOCS", concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"))
        .output()
        .expect("bash is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = files(server.datadir());
    ["restored", "by-hand"].iter().for_each(|into| is_same(&directory.path().join(into), &expected));
}

#[test]
fn a_check_without_any_key_finds_every_changed_object() {
    let Some((mut server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    server.start().expect("it starts");
    server.sql("UPDATE demo.enc SET name = 'changed'").expect("changed");
    server.stop().expect("it stops");
    backups.backup(&["run"]).is(0);
    let signers = backups.path("signers");
    let check = ["check", "--objects", "--allowed-signers", text(&signers)];
    let sound = backups.backup(&check).is(0);
    assert_eq!(sound.number("/objects/read"), sound.number("/objects/named"));
    assert_eq!(sound.number("/receipts"), 2);
    assert!(sound.json["signer"].as_str().is_some_and(|signer| signer.starts_with("SHA256:")), "{}", sound.json);
    assert_eq!(backups.backup(&["check"]).is(0).json["signer"], Value::Null);
    let identity = backups.path("identity");
    let read = ["check", "--read-data", "--identity", text(&identity), "--allowed-signers", text(&signers)];
    backups.backup(&read).is(0);

    let objects: Vec<PathBuf> =
        backups.objects().into_iter().filter(|path| path.to_string_lossy().contains("/hosts/")).collect();
    let other = fs::read(&objects[0]).expect("an object");
    for object in &objects {
        let sound = fs::read(object).expect("an object");
        for kind in ["flipped", "cut", "gone", "swapped"] {
            match kind {
                "flipped" => flip(object, sound.len() as u64 / 2),
                "cut" => fs::write(object, &sound[..sound.len() / 2]).expect("written"),
                "gone" => fs::remove_file(object).expect("removed"),
                _ if other == sound => continue,
                _ => fs::write(object, &other).expect("written"),
            }
            let checked = backups.backup(&check);
            // Somebody can remove a receipt at either end of the chain; only those who have seen the receipt notice.
            // Its signature remains.
            let is_taken = kind == "gone" && object.extension().is_some_and(|ending| ending == "json");
            assert_eq!(checked.code, if is_taken { 0 } else { 3 }, "{} {kind}: {}", object.display(), checked.stderr);
            assert!(!is_taken || checked.json["unnamed"].to_string().contains(".json.sig"), "{}", checked.json);
            fs::write(object, &sound).expect("written");
        }
    }
    let state = backups.path("seen");
    let seen = ["check", "--state", text(&state), "--allowed-signers", text(&signers), "--require-complete"];
    backups.backup(&seen).is(4);
    backups.backup(&seen).is(0);
    for ending in ["json", "json.sig"] {
        fs::remove_file(backups.object(&format!("hosts/db1/receipts/000002.{ending}"))).expect("removed");
    }
    let hidden = backups.backup(&seen).is(3);
    assert!(hidden.json.to_string().contains("an earlier check saw it"), "{}", hidden.json);
}

/// The packs of the repository, in the order of their names.
fn packs(backups: &Backups) -> Vec<PathBuf> {
    backups.objects().into_iter().filter(|path| text(path).contains("/packs/")).collect()
}

#[test]
fn content_of_damaged_packs_is_stored_again_while_the_server_has_it() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    let all = packs(&backups);
    flip(&all[0], 5000);
    fs::remove_file(&all[1]).expect("it was there");
    let report = backups.path("report.json");
    let found = backups.backup(&["check", "all", "--objects"]).is(3);
    fs::write(&report, found.json.to_string()).expect("written");
    let again = backups.backup(&["run", "--again", text(&report)]).is(0);
    assert_eq!((again.number("/base"), &again.json["full"]), (1, &Value::Null), "{}", again.json);
    let (stored, data) = (again.number("/bytes/changed"), again.number("/bytes/data"));
    assert!(stored > 0 && stored < data / 2 || all.len() < 4, "{stored} of {data}");
    backups.backup(&["check", "2", "--objects"]).is(0);
    let into = backups.path("into");
    backups.restore("2", &into, &["--keyring", text(&keyring)]).is(0);
    is_same(&into, &files(server.datadir()));
    // The next backup needs no report of damaged packs.
    assert!(backups.backup(&["run"]).is(0).number("/bytes/changed") < stored);

    let refused = |text_of: &str| {
        fs::write(&report, text_of).expect("written");
        backups.backup(&["run", "--again", text(&report)]).is(1)
    };
    refused("{}").says("not the report of a check");
    refused(&found.json.to_string().replace("\"db1\"", "\"db2\"")).says("backups of db2, not of db1");
    refused(&found.json.to_string().replace("check/1", "check/2")).says("sealant.backup-check/1");
    backups.backup(&["run", "--again", text(&backups.path("gone"))]).is(1).says("cannot be read");
    backups.backup(&["run", "--provider", "no-such"]).is(2);
    backups.backup(&["run", "--provider", "mariabackup"]).is(2);
    assert_eq!(backups.backup(&["run", "--provider", "stopped"]).is(0).json["provider"], "stopped");
}

#[test]
fn partial_checks_eventually_read_everything() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    backups.backup(&["run", "--full"]).is(0);
    let (identity, state) = (backups.path("identity"), backups.path("check.json"));
    let check = |percent: &str, more: &[&str]| {
        backups.backup(&[&["check", "--read-data", percent, "--identity", text(&identity)], more].concat())
    };
    let state = ["--state", text(&state)];
    let all = packs(&backups);
    flip(&all[all.len() - 1], 5000);
    let reads = |ran: &Ran| (ran.number("/objects/read"), ran.json["objects"]["bad"].as_array().expect("a list").len());
    let checks: Vec<Ran> = (0..4).map(|_| check("25%", &state)).collect();
    assert_eq!(checks[0].number("/percent_done"), 25, "{}", checks[0].json);
    let found: usize = checks.iter().map(|ran| reads(ran).1).sum();
    assert!(found >= 1, "the damaged pack is in none of the parts");
    let each = checks[0].number("/objects/named").div_ceil(4);
    for ran in &checks {
        let (read, bad) = reads(ran);
        assert_eq!(read + bad as u64, each, "{}", ran.json);
    }
    assert_eq!(check("100", &[]).is(3).number("/percent_done"), 100);
    check("25%", &[]).is(2).says("--state");
    check("0%", &state).is(2);
    check("101%", &state).is(2);
}

#[test]
fn a_manifest_can_be_listed_with_an_identity() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    let identity = backups.path("identity");
    let list = |what: &str| {
        let output = backups.command(&["show", "1", what, "--identity", text(&identity)]).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let bytes = fs::metadata(server.datadir().join("demo/enc.ibd")).expect("it is there").len();
    assert!(list("--files").lines().any(|line| line.trim_start() == format!("{bytes}  demo/enc.ibd")));
    assert!(list("--keys").lines().any(|line| line.starts_with("demo/enc.ibd (INNODBKey-")), "{}", list("--keys"));
    let map = list("--map");
    let runs = map.lines().filter_map(|line| line.strip_prefix("demo/enc.ibd  "));
    let packs: Vec<&str> = runs.filter_map(|line| line.rsplit_once("  ").map(|(_, pack)| pack)).collect();
    assert!(!packs.is_empty(), "{map}");
    for pack in packs {
        assert!(backups.object(&format!("hosts/db1/packs/{}/{pack}.age", &pack[..2])).exists(), "{pack}");
    }
    backups.backup(&["show", "1", "--files"]).is(2);
    backups.backup(&["show", "1", "--identity", text(&identity)]).is(2);
    backups.backup(&["show", "1", "--map", "--identity", text(&backups.path("signing.key"))]).is(1);
}

#[test]
fn a_copy_of_the_keyring_is_judged_by_the_manifest_alone() {
    let Some((mut server, keyring)) = stopped_mysql() else { return };
    let old = server.dir().join("old-keyring");
    fs::copy(&keyring, &old).expect("copied");
    server.start().expect("it starts");
    server.sql("ALTER INSTANCE ROTATE INNODB MASTER KEY").expect("rotated");
    server.stop().expect("it stops");
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    // The check reads no pack.
    fs::rename(backups.object("hosts/db1/packs"), backups.path("away")).expect("moved");
    let identity = backups.path("identity");
    let records = backups.path("records");
    fs::create_dir(&records).expect("a directory");
    let record = records.join("keys.jsonl");
    let check = |copy: &Path| {
        let args = ["keyring", "check", "latest", "--identity", text(&identity), "--keyring", text(copy)];
        let output = backups.command(&args).arg("--record").arg(&record).output().expect("the binary starts");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let repository = backups.path("repository");
    let of_repository =
        ["--offline", text(server.datadir()), "--backup", text(&repository), "--backup", text(&records)];
    Audit::run(of_repository).fails("bak-keyring-unproven", "backups of db1");
    let (code, listed) = check(&old);
    assert!(code == Some(3) && listed.contains("demo/enc.ibd (INNODBKey-"), "{listed}");
    Audit::run(of_repository).fails("bak-keyring-unproven", "backups of db1");
    assert_eq!(check(&keyring), (Some(0), String::new()));
    let list = backups.backup(&["list", "--key-checks", text(&record)]).is(0);
    let listed = &list.json["backups"][0];
    assert!(listed["keyring_proven"].is_string() && listed["tested"].is_null(), "{listed}");
    Audit::run(of_repository).passes("bak-keyring-unproven");
    let lines = fs::read_to_string(&record).expect("records");
    lines.lines().for_each(|line| has_its_schema(&serde_json::from_str(line).expect("JSON"), "key-check-1"));
    // The manifest of pages that are stored as they are names no file that needs a key, so any copy would pass.
    fs::remove_file(&record).expect("records");
    fs::rename(backups.path("away"), backups.object("hosts/db1/packs")).expect("moved");
    backups.configure("[data]", "[data]\npages = \"as-is\"");
    backups.backup(&["run", "--full"]).is(0);
    assert_eq!(check(&old), (Some(4), String::new()));
    assert_eq!(Audit::run(of_repository).statuses("bak-keyring-unproven"), ["UNKNOWN"]);

    let Some((server, key_file)) = mariadb() else { return };
    let backups = Backups::new(server.datadir(), &format!("mariadb_key_file = {key_file:?}"));
    backups.backup(&["run"]).is(0);
    let wrong = backups.path("wrong");
    fs::write(&wrong, format!("1;{}\n2;{}\n", "3a".repeat(32), "5c".repeat(32))).expect("written");
    let identity = backups.path("identity");
    for (copy, code) in [(&key_file, 0), (&wrong, 3)] {
        let args = ["keyring", "check", "1", "--identity", text(&identity), "--mariadb-key-file", text(copy)];
        let output = backups.command(&args).output().expect("the binary starts");
        assert_eq!(output.status.code(), Some(code), "{output:?}");
    }
}

#[test]
fn damaged_pages_are_stored_and_reported() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    let table = server.datadir().join("demo/enc.ibd");
    flip(&table, 5 * 16384 + 5000);
    let damaged = backups.backup(&["run"]).is(3).says("demo/enc.ibd: damaged (page 5)");
    assert_eq!(damaged.number("/pages/damaged"), 1);
    let listed = backups.backup(&["list"]).is(0);
    assert_eq!(listed.json["backups"][0]["good"], false);
    let into = backups.path("into");
    backups.restore("1", &into, &["--keyring", text(&keyring)]).is(3).says("as they were at the backup");
    is_same(&into, &files(server.datadir()));
    // A damaged page that has not changed is reported again, but not stored again.
    let again = backups.backup(&["run"]).is(3).says("demo/enc.ibd: damaged (page 5)");
    let numbers = |of: &Ran| ["/pages/damaged", "/pages/seen"].map(|pointer| of.number(pointer));
    assert_eq!((numbers(&again), again.number("/packs/new")), (numbers(&damaged), 0));
    // Without the keys no page is verified, and the run says that they would be missed.
    assert_eq!((again.number("/base_keys/missing"), again.number("/base_keys/needed") > 0), (0, true));
    backups.configure(&format!("keyring = {keyring:?}"), "");
    let lost = backups.backup(&["run"]).is(0).says("its restore needs the earlier keyring");
    assert_eq!(lost.number("/base_keys/missing"), lost.number("/base_keys/needed"));
    backups.backup(&["run", "--require-complete", "--full"]);
    flip(&table, 5 * 16384 + 5000);
    let unproven = backups.backup(&["run", "--require-complete"]).is(4);
    assert!(unproven.number("/pages/unproven") > 0);
}

/// Restores a backup with the program of the documentation.
fn by_hand(backups: &Backups, number: &str, into: &Path, keys: Option<&Path>) -> Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/restore-by-hand.py");
    let [repository, identity, signers] = ["repository", "identity", "signers"].map(|name| backups.path(name));
    let mut python = Command::new("python3");
    python.arg(script).arg(&repository).args(["db1", number]).args([&identity, &signers]).arg(into).args(keys);
    python.output().expect("Python is installed")
}

fn is_restored_by_hand(backups: &Backups, number: &str, keys: Option<&Path>, expected: &Path) -> PathBuf {
    let into = backups.path(&format!("by-hand-{number}"));
    let output = by_hand(backups, number, &into, keys);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    is_same(&into, &files(expected));
    into
}

#[test]
fn a_backup_of_mysql_is_restored_without_sealant() {
    let Some((mut server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.configure("[data]", "[data]\npages = \"as-is\"");
    backups.backup(&["run"]).is(0);
    let into = is_restored_by_hand(&backups, "1", None, server.datadir());
    Proof::mysql(&[&into], Some(&keyring)).is_complete();

    // Decrypted pages need the keys of the server; an incremental backup has some in each of its packs.
    backups.configure("as-is", "open");
    backups.backup(&["run", "--full"]).is(0);
    server.start().expect("it starts");
    server.sql("UPDATE demo.enc SET name = 'changed' WHERE id < 5").expect("changed");
    server.stop().expect("it stops");
    let incremental = backups.backup(&["run"]).is(0);
    assert!(incremental.number("/bytes/opened") > 0 && incremental.json["full"].is_null(), "{}", incremental.json);
    is_restored_by_hand(&backups, "3", Some(&keyring), server.datadir());
    let refused = by_hand(&backups, "3", &backups.path("keyless"), None);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("is not among KEYS"), "{said}");

    flip(&backups.object("hosts/db1/receipts/000001.json"), 100);
    assert!(!by_hand(&backups, "1", &backups.path("changed"), None).status.success());
}

#[test]
fn a_backup_of_mariadb_is_restored_without_sealant() {
    let Some((server, key_file)) = mariadb() else { return };
    let backups = Backups::new(server.datadir(), &format!("mariadb_key_file = {key_file:?}"));
    let made = backups.backup(&["run"]).is(0);
    assert!(made.number("/bytes/opened") > made.number("/bytes/changed") / 2, "{}", made.json);
    is_restored_by_hand(&backups, "1", Some(&key_file), server.datadir());
    let wrong = backups.path("wrong-keys");
    fs::write(&wrong, format!("1;{}\n2;{}\n", "3b".repeat(32), "5b".repeat(32))).expect("written");
    let refused = by_hand(&backups, "1", &backups.path("refused"), Some(&wrong));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("of key 1 is not in the key file"), "{said}");
    assert!(!backups.path("refused").exists());
}

#[test]
fn without_its_manifest_a_backup_is_salvaged_from_its_packs() {
    let Some((mut server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    let keys = ["--keyring", text(&keyring)];
    backups.backup(&["run"]).is(0);
    server.start().expect("it starts");
    server.sql("UPDATE demo.enc SET name = 'changed' WHERE id < 5").expect("changed");
    server.stop().expect("it stops");
    backups.backup(&["run"]).is(0);
    let expected = files(server.datadir());
    for number in [1, 2] {
        fs::remove_file(backups.object(&format!("hosts/db1/manifests/{number:06}.age"))).expect("it was there");
    }
    let into = backups.path("into");
    backups.restore("2", &into, &keys).is(1).says("restore --salvage");
    let salvage = [&keys[..], &["--salvage"]].concat();
    let done = backups.restore("2", &into, &salvage).is(4).says("found in packs alone");
    assert_eq!((done.number("/pages/bad"), &done.json["salvaged"]), (0, &Value::Bool(true)), "{}", done.json);
    // Without the manifest, trailing zeros are lost, and a file that became shorter keeps its old end.
    let found = files(&into);
    for (path, bytes) in expected.iter().filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0)) {
        let mut found = found[path].clone();
        found.resize(bytes.len().max(found.len()), 0);
        assert!(found[..bytes.len()] == **bytes, "{}", path.display());
        let is_tablespace = path.extension().is_some_and(|ending| ending == "ibd");
        assert!(found.len() == bytes.len() || !is_tablespace, "{}", path.display());
    }
    Proof::mysql(&[&into], Some(&keyring)).is_sound();

    let mut packs = backups.objects().into_iter().filter(|path| path.to_string_lossy().contains("/packs/"));
    fs::remove_file(packs.next_back().expect("a pack")).expect("removed");
    backups.restore("2", &backups.path("less"), &salvage).is(3).says("lost: ").says("/packs/");
}

#[test]
fn without_its_receipt_a_backup_is_restored_by_its_manifest() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    for receipt in backups.objects().into_iter().filter(|path| text(path).contains("/receipts/")) {
        fs::remove_file(receipt).expect("it was there");
    }
    let restore = |manifest: &Path, into: &Path| {
        let mut command = sealant();
        command.args(["restore", "--quiet", "--repository"]).arg(backups.path("repository"));
        command.arg("--identity").arg(backups.path("identity")).arg("--into").arg(into);
        command.arg("--keyring").arg(&keyring).arg("--manifest").arg(manifest);
        let output = command.arg("--json").output().expect("it starts");
        (output.status.code(), output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let into = backups.path("into");
    let manifest = backups.object("hosts/db1/manifests/000001.age");
    let (code, json, said) = restore(&manifest, &into);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("nothing shows who wrote the backup"), "{said}");
    let json = last_json(&json);
    has_its_schema(&json, "restore-1");
    assert_eq!(
        (&json["receipt"], &json["signed"], &json["newest_known"]),
        (&Value::Null, &false.into(), &false.into())
    );
    is_same(&into, &files(server.datadir()));
    Proof::mysql(&[&into], Some(&keyring)).is_complete();

    let other = backups.path("other");
    let pack = backups.objects().into_iter().find(|path| text(path).contains("/packs/")).expect("a pack");
    let (code, _, said) = restore(&pack, &other);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("manifest"), "{said}");
    let cut = backups.path("cut");
    let whole = fs::read(&manifest).expect("readable");
    fs::write(&cut, &whole[..whole.len() - 20]).expect("written");
    assert_eq!(restore(&cut, &other).0, Some(1));
    let foreign = Backups::new(server.datadir(), &format!("keyring = {keyring:?}"));
    let description = "sealant-repo.json";
    fs::copy(foreign.object(description), backups.object(description)).expect("copied");
    let (code, _, said) = restore(&manifest, &other);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("another repository"), "{said}");
    assert!(!other.exists(), "{other:?}");
}

#[test]
fn an_interrupted_restore_is_resumed_and_replaces_nothing() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    let keys = ["--keyring", text(&keyring)];
    let into = backups.path("into");
    for moment in 0..6_u64 {
        let mut restoring = backups
            .restore_command("1", &into, &keys)
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_millis(60 * moment));
        restoring.kill().expect("it was there");
        restoring.wait().expect("it ends");
        if into.join("sealant-manifest").exists() {
            break;
        }
    }
    if !into.join("sealant-manifest").exists() || into.join(".sealant-staging").exists() {
        backups.restore("1", &into, &keys).is(0);
    }
    is_same(&into, &files(server.datadir()));
    let before = files(&into);
    backups.restore("1", &into, &keys).is(1).says("not empty");
    is_same(&into, &before);
}

#[test]
fn a_killed_run_leaves_no_backup_or_a_complete_one() {
    let Some((mut server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    server.start().expect("it starts");
    server.sql("INSERT INTO demo.enc SELECT id + 1000, name FROM demo.enc").expect("changed");
    server.stop().expect("it stops");
    for moment in 0..8_u64 {
        let mut running =
            backups.command(&["run"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(50 * moment));
        running.kill().expect("it was there");
        running.wait().expect("it ends");
    }
    let last = backups.backup(&["run"]).is(0);
    let number = last.number("/number").to_string();
    let keys = ["--keyring", text(&keyring)];
    backups.restore(&number, &backups.path("last"), &keys).is(0);
    is_same(&backups.path("last"), &files(server.datadir()));
    // Each listed object is an object of the repository.
    let listed = backups.backup(&["list"]).is(0);
    for of in listed.json["backups"].as_array().expect("a list").iter().rev().take(3) {
        let number = of["number"].to_string();
        backups.restore(&number, &backups.path(&format!("into-{number}")), &keys).is(0);
    }
}

#[test]
fn backups_of_unknown_signers_and_possibly_outdated_ones_are_refused() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    let made = backups.backup(&["run"]).is(0);
    let receipt = made.json["receipt"].as_str().expect("a hash").to_owned();
    let keys = ["--keyring", text(&keyring)];
    backups
        .restore("latest", &backups.path("latest"), &keys)
        .is(4)
        .says("it is not proven that this one is the newest");
    let named = ["--keyring", text(&keyring), "--receipt", &receipt];
    backups.restore("latest", &backups.path("named"), &named).is(0);
    let other = ["--keyring", text(&keyring), "--receipt", &"0".repeat(64)];
    backups.restore("latest", &backups.path("other"), &other).is(1).says("as given");
    let signers = fs::read_to_string(backups.path("signers")).expect("signers");
    fs::write(backups.path("signers"), signers.replacen("db1", "db2", 1)).expect("written");
    backups.restore("1", &backups.path("unsigned"), &keys).is(1).says("not among the allowed signers");
    // A receipt with another number is put in place of this one.
    fs::write(backups.path("signers"), signers).expect("written");
    backups.backup(&["run"]).is(0);
    for ending in ["json", "json.sig"] {
        let of = |number: u32| backups.object(&format!("hosts/db1/receipts/{number:06}.{ending}"));
        fs::copy(of(1), of(2)).expect("copied");
    }
    backups.restore("2", &backups.path("swapped"), &keys).is(1).says("written for another name");
}

#[test]
fn two_runs_at_once_and_two_machines_with_one_name_are_detected() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    let lock = backups.objects().len();
    assert!(lock > 0);
    let runs: Vec<_> = (0..3)
        .map(|_| {
            backups.command(&["run", "--full"]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts")
        })
        .collect();
    let ended: Vec<_> = runs.into_iter().map(|run| run.wait_with_output().expect("it ends")).collect();
    let good = ended.iter().filter(|ended| ended.status.success()).count();
    let busy = ended
        .iter()
        .filter(|ended| String::from_utf8_lossy(&ended.stderr).contains("another backup of this host is running"))
        .count();
    assert!(good >= 1 && good + busy == 3, "{ended:?}");
    // Another machine, with its own state, continues from the repository's content.
    backups.configure("/state\"", "/other-state\"");
    backups.backup(&["run"]).is(0).says("this host has no state");
    backups.configure("/other-state\"", "/state\"");
    backups.backup(&["run"]).is(0).says("does not belong to the newest backup");
}

fn flip(path: &Path, at: u64) {
    let mut file = File::options().read(true).write(true).open(path).expect("an object");
    file.seek(SeekFrom::Start(at)).expect("there is so much");
    let mut byte = [0];
    file.read_exact(&mut byte).expect("a byte");
    file.seek(SeekFrom::Start(at)).expect("there is so much");
    file.write_all(&[byte[0] ^ 1]).expect("written");
}

#[test]
fn objects_changed_in_the_repository_are_never_restored() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    backups.backup(&["run"]).is(0);
    let keys = ["--keyring", text(&keyring)];
    let objects = backups.objects();
    assert!(objects.len() >= 5, "{objects:?}");
    for (number, object) in objects.iter().enumerate() {
        let sound = fs::read(object).expect("an object");
        for kind in ["flipped", "cut", "gone"] {
            match kind {
                "flipped" => flip(object, sound.len() as u64 / 2),
                "cut" => fs::write(object, &sound[..sound.len() / 2]).expect("written"),
                _ => fs::remove_file(object).expect("removed"),
            }
            let into = backups.path(&format!("into-{number}-{kind}"));
            let refused = backups.restore("1", &into, &keys);
            assert_eq!(refused.code, 1, "{} {kind}: {}", object.display(), refused.stderr);
            assert!(
                refused.stderr.contains(".age")
                    || refused.stderr.contains(".json")
                    || refused.stderr.contains("no backup"),
                "{}",
                refused.stderr
            );
            let left = if into.exists() { tree(&into) } else { Default::default() };
            assert!(left.keys().all(|path| path.starts_with(".sealant-staging")), "nothing took its place");
            fs::write(object, &sound).expect("written");
        }
    }
    backups.restore("1", &backups.path("into"), &keys).is(0);
}
