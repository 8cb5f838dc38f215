//! `sealant backup prune` on repositories of real servers.

use std::fs::{self, File};

use serde_json::Value;

use crate::support::backup::{Backups, age, files, is_same, stopped_mysql, with_keeper, with_keyring};
use crate::support::disk::text;
use crate::support::proof::flip;
use crate::support::schema::has_its_schema;

fn numbers(json: &Value, pointer: &str) -> Vec<u64> {
    let all = json.pointer(pointer).and_then(Value::as_array).unwrap_or_else(|| panic!("no {pointer} in {json}"));
    all.iter().filter_map(|one| one["number"].as_u64()).collect()
}

#[test]
fn kept_backups_restore_and_the_others_are_removed() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    let extra = server.datadir().join("demo/extra.MYD");
    for number in 1..=5_u8 {
        fs::write(&extra, vec![number; 300_000]).expect("written");
        backups.backup(&["run"]).is(0);
    }
    let newest = files(server.datadir());
    for object in backups.objects() {
        age(&object, 60);
    }
    // Each is of another day, except that the third and the fourth share one.
    for (number, days) in [(1, 50), (2, 40), (3, 20), (4, 20), (5, 0)] {
        age(&backups.object(&format!("hosts/db1/receipts/{number:06}.json")), days);
    }
    with_keeper(&backups, "keep_last = 1\ndaily = 3\nweekly = 0\nmonthly = 0\nmin_good = 1");

    let before = backups.objects();
    let planned = backups.backup(&["prune", "--dry-run"]).is(0);
    assert_eq!(numbers(&planned.json, "/hosts/0/kept"), [2, 4, 5]);
    assert_eq!(numbers(&planned.json, "/hosts/0/removed"), [1, 3]);
    assert_eq!((backups.objects(), &planned.json["pruned"]), (before.clone(), &Value::Null));
    let table = backups.command(&["prune", "--dry-run"]).output().expect("it starts");
    let table = String::from_utf8_lossy(&table.stdout);
    assert!(table.contains("  remove      3  ") && table.contains("3 kept, 2 to remove"), "{table}");

    let pruned = backups.backup(&["prune", "--yes"]).is(0);
    assert_eq!(pruned.number("/pruned/backups"), 2);
    assert_eq!(pruned.number("/pruned/objects"), pruned.number("/hosts/0/unneeded/objects") + 2, "two receipts");
    let after = backups.objects();
    assert_eq!(after.len() as u64 + pruned.number("/pruned/objects"), before.len() as u64 + 2, "and a declaration");

    let signers = backups.path("signers");
    let check = ["check", "all", "--objects", "--allowed-signers", signers.to_str().expect("ASCII")];
    let checked = backups.backup(&check).is(0);
    assert_eq!(checked.json["unnamed"].as_array().map(Vec::len), Some(0), "{}", checked.json);
    let seen = backups.path("seen");
    let watch = [&check[..], &["--state", seen.to_str().expect("ASCII")]].concat();
    backups.backup(&watch).is(0);
    let keys = ["--keyring", keyring.to_str().expect("ASCII")];
    backups.restore("5", &backups.path("newest"), &keys).is(0);
    is_same(&backups.path("newest"), &newest);
    backups.restore("2", &backups.path("second"), &keys).is(0);
    assert_eq!(fs::read(backups.path("second/demo/extra.MYD")).expect("restored"), vec![2; 300_000]);
    backups.restore("3", &backups.path("third"), &keys).is(1).says("has no backup 3");

    // The chain continues. Of two backups of today, the newer one is kept.
    backups.backup(&["run"]).is(0).says("continues from 5");
    backups.backup(&check).is(0);
    let pruned = backups.backup(&["prune", "--yes"]).is(0);
    assert_eq!((numbers(&pruned.json, "/hosts/0/kept"), pruned.number("/pruned/backups")), (vec![2, 4, 6], 1));
    the_watch_goes_on(&backups, &watch);
    assert_eq!(backups.backup(&["prune", "--yes"]).is(0).number("/pruned/objects"), 0);
    backups.backup(&check).is(0);
    let report = ["report", "--allowed-signers", signers.to_str().expect("ASCII")];
    backups.backup(&report).is(0);
}

/// The prune has removed the receipt that the watch has seen last, and the next one is there. That is no rollback.
fn the_watch_goes_on(backups: &Backups, watch: &[&str]) {
    let unsigned: Vec<&str> = watch.iter().copied().filter(|word| !word.contains("signers")).collect();
    let unverified = backups.backup(&unsigned).is(3);
    assert!(unverified.json.to_string().contains("--allowed-signers"), "{}", unverified.json);
    for _ in 0..2 {
        assert_eq!(backups.backup(watch).is(0).json["newest_known"], true);
    }
    let (newest, hidden) = (backups.object("hosts/db1/receipts/000006.json"), backups.path("hidden"));
    fs::rename(&newest, &hidden).expect("hidden");
    for _ in 0..2 {
        let rolled_back = backups.backup(watch).is(3);
        assert!(rolled_back.json.to_string().contains("an earlier check saw it"), "{}", rolled_back.json);
    }
    fs::rename(&hidden, &newest).expect("back");
    backups.backup(watch).is(0);
}

#[test]
fn unproven_backups_stay_until_they_are_accepted() {
    let Some((server, _)) = stopped_mysql() else { return };
    let backups = Backups::new(server.datadir(), "");
    for _ in 0..4 {
        assert!(backups.backup(&["run"]).is(0).number("/pages/unproven") > 0);
    }
    with_keeper(&backups, "keep_last = 1\ndaily = 0\nweekly = 0\nmonthly = 0\nmin_good = 2");
    let plan = || backups.backup(&["prune", "--dry-run"]).is(0).json;
    let kept = plan();
    assert_eq!((numbers(&kept, "/hosts/0/kept"), numbers(&kept, "/hosts/0/removed")), (vec![1, 2, 3, 4], vec![]));
    assert_eq!(kept["hosts"][0]["kept"][0]["reasons"], serde_json::json!(["few-good"]));
    let table = backups.command(&["prune", "--dry-run"]).output().expect("it starts");
    let table = String::from_utf8_lossy(&table.stdout);
    assert!(table.contains("fewer than min_good backups are good, so all others are kept, too"), "{table}");
    let said = backups.command(&["prune", "--yes"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(said.contains("removed 0 backups") && said.contains("accept_unproven = true"), "{said}");

    backups.configure("[data]\n", "[data]\naccept_unproven = true\n");
    let accepted = plan();
    assert_eq!((numbers(&accepted, "/hosts/0/kept"), numbers(&accepted, "/hosts/0/removed")), (vec![3, 4], vec![1, 2]));
    backups.backup(&["run"]).is(0);
}

#[test]
fn damaged_backups_go_only_if_none_has_to_be_good() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    flip(&server.datadir().join("demo/enc.ibd"), 5 * 16384 + 5000, 1);
    for _ in 0..3 {
        assert!(backups.backup(&["run"]).is(3).number("/pages/damaged") > 0);
    }
    with_keeper(&backups, "keep_last = 2\ndaily = 3\nweekly = 0\nmonthly = 0\nmin_good = 1");
    let said = backups.command(&["prune", "--yes"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(said.contains("removed 0 backups") && said.contains("min_good = 0 under [retention]"), "{said}");

    backups.configure("min_good = 1", "min_good = 0");
    let pruned = backups.backup(&["prune", "--yes"]).is(0);
    assert_eq!((numbers(&pruned.json, "/hosts/0/kept"), pruned.number("/pruned/backups")), (vec![3], 2));
    let said = backups.command(&["prune", "--yes"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(said.contains("removed 0 backups") && !said.contains("min_good"), "{said}");
    backups.backup(&["run"]).is(3).says("continues from 3");
}

/// Whoever may put objects can put one with the name of a receipt.
#[test]
fn an_object_of_somebody_else_stops_nothing() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    let receipt = |number: u64| backups.object(&format!("hosts/db1/receipts/{number:06}.json"));
    backups.backup(&["run"]).is(0);
    let genuine = fs::read_to_string(receipt(1)).expect("a receipt");
    let forged = genuine.replacen("\"number\":1,", "\"number\":2,", 1);
    assert_ne!(forged, genuine);
    fs::write(receipt(2), forged).expect("written");
    for number in [999_999, u64::MAX] {
        fs::write(receipt(number), "of somebody else").expect("written");
    }

    backups.backup(&["run", "--dry-run"]).is(0).says("backup 3 would store only what changed since backup 1");
    let made = backups.backup(&["run"]).is(0).says("continues from 1").says("000002.json was left out: there is no");
    assert_eq!(made.number("/number"), 3);
    let next = backups.backup(&["run"]).is(0).says("continues from 3").says("18446744073709551615.json was left out");
    assert_eq!(next.number("/number"), 4);

    let listed = backups.backup(&["list"]).is(0).json;
    assert_eq!(numbers(&listed, "/backups"), [1, 2, 3, 4], "a list verifies no signature");
    let unusable = listed["unusable"].as_array().expect("two objects");
    assert!(unusable.len() == 2 && unusable[0]["object"] == "hosts/db1/receipts/999999.json", "{listed}");
    let table = backups.command(&["list"]).output().expect("it starts");
    let table = String::from_utf8_lossy(&table.stdout);
    assert!(table.contains("hosts/db1/receipts/999999.json cannot be used: it is not a receipt"), "{table}");
    let shown = backups.command(&["show", "latest"]).output().expect("it starts");
    assert!(String::from_utf8_lossy(&shown.stdout).starts_with("backup 4 of db1"), "{shown:?}");
    assert!(String::from_utf8_lossy(&shown.stderr).contains("999999.json was left out"), "{shown:?}");

    let into = backups.path("into");
    let keys = ["--keyring", keyring.to_str().expect("ASCII")];
    let restored = backups.restore("latest", &into, &keys).is(4).says("999999.json was left out");
    assert_eq!(restored.number("/number"), 4);
    is_same(&into, &files(server.datadir()));

    let signers = backups.path("signers");
    let check = ["check", "all", "--objects", "--allowed-signers", signers.to_str().expect("ASCII")];
    let checked = backups.backup(&check).is(3);
    let bad: Vec<&Value> = checked.json["objects"]["bad"].as_array().expect("bad ones").iter().collect();
    assert_eq!((bad.len(), checked.json["chain"].as_array().map(Vec::len)), (3, Some(0)), "{}", checked.json);
    for number in [2, 999_999, u64::MAX] {
        fs::remove_file(receipt(number)).expect("removed");
    }
    backups.backup(&check).is(0);
    backups.backup(&["run"]).is(0).says("continues from 4");
    backups.backup(&check).is(0);
}

#[test]
fn nothing_is_pruned_if_something_is_wrong_with_the_backups() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    let big = server.datadir().join("demo/big.MYD");
    fs::write(&big, vec![7; 1]).expect("written");
    File::options().write(true).open(&big).expect("open").set_len(1 << 30).expect("a file with a hole");
    for _ in 0..3 {
        backups.backup(&["run"]).is(0);
    }
    backups.backup(&["prune", "--yes"]).is(2).says("keeper");
    with_keeper(&backups, "keep_last = 1\ndaily = 0\nweekly = 0\nmonthly = 0\nmin_good = 1");
    let before = backups.objects();
    let is_refused = |options: &[&str], code, says: &str| {
        backups.backup(&[&["prune", "--yes"], options].concat()).is(code).says(says);
        assert_eq!(backups.objects(), before);
    };

    let signers = fs::read_to_string(backups.path("signers")).expect("signers");
    let without = |word: &str| signers.lines().filter(|line| !line.contains(word)).collect::<Vec<_>>().join("\n");
    fs::write(backups.path("signers"), without("sealant-prune")).expect("written");
    is_refused(&[], 1, "add the line: keeper namespaces=\"sealant-prune\" ssh-ed25519 ");
    fs::write(backups.path("signers"), without("sealant-receipt")).expect("written");
    is_refused(&[], 1, "hosts/db1/receipts/000001.json.sig");
    fs::write(backups.path("signers"), &signers).expect("written");
    backups.command(&["prune"]).output().map(|output| assert_eq!(output.status.code(), Some(2))).expect("it starts");

    let receipt = backups.object("hosts/db1/receipts/000002.json");
    fs::rename(&receipt, backups.path("hidden")).expect("hidden");
    backups.backup(&["prune", "--yes"]).is(3).says("receipt 3 is missing").says("--allow-breaks");
    fs::rename(backups.path("hidden"), &receipt).expect("back");

    fs::remove_file(&big).expect("removed");
    backups.backup(&["run"]).is(0);
    backups.backup(&["prune", "--yes"]).is(3).says("backup 4 has ").says("--allow-shrunk");
    // The next backup does not repair it either.
    backups.backup(&["run"]).is(0);
    backups.backup(&["prune", "--yes"]).is(3).says("backup 4 has ");
    assert_eq!(backups.backup(&["prune", "--yes", "--allow-shrunk"]).is(0).number("/pruned/backups"), 4);
    backups.backup(&["prune", "--yes"]).is(0);
    let check = backups.backup(&["check", "all"]);
    assert_eq!(check.code, 0, "what is younger than a week stays: {}", check.stderr);
    assert!(check.json["unnamed"].as_array().is_some_and(|unnamed| !unnamed.is_empty()), "{}", check.json);

    // A declaration without a valid signature hides nothing.
    let declared = backups.objects().into_iter().find(|path| path.to_string_lossy().contains("/prunes/"));
    let declared = declared.expect("a declaration");
    let document = serde_json::from_slice(&fs::read(&declared).expect("readable")).expect("JSON");
    has_its_schema(&document, "prune-1");
    let forged = fs::read_to_string(&declared).expect("text").replace("\"keeper\":\"keeper\"", "\"keeper\":\"db1\"");
    fs::write(declared.with_file_name("20200101T000000Z-0.json"), forged).expect("written");
    let signers = backups.path("signers");
    let check = ["check", "all", "--allowed-signers", signers.to_str().expect("ASCII")];
    let checked = backups.backup(&check).is(3);
    let bad = &checked.json["objects"]["bad"][0];
    assert_eq!(bad["object"], "prunes/20200101T000000Z-0.json", "{}", checked.json);
    backups.backup(&["prune", "--yes"]).is(1).says("there is no signature");
}

/// Whoever may delete objects, but not their versions, hides receipts. The keeper remembers the newest, removes nothing that
/// they need, and its report names the host.
#[test]
fn hidden_backups_are_noticed_and_lose_nothing() {
    let Some((server, keyring)) = stopped_mysql() else { return };
    let backups = with_keyring(&server, &keyring);
    for _ in 0..2 {
        backups.backup(&["run"]).is(0);
    }
    with_keeper(&backups, "keep_last = 7\ndaily = 0\nweekly = 0\nmonthly = 0\nmin_good = 1");
    let [page, metrics] = ["report.html", "report.prom"].map(|name| backups.path(name));
    let files = ["--html", text(&page), "--prometheus", text(&metrics)];
    let report = [&["report", "--all-hosts", "--max-age", "1h"], &files[..]].concat();
    let healthy = backups.backup(&report).is(0).json;
    assert_eq!((&healthy["host"], &healthy["signed"]), (&Value::from("db1"), &Value::from(true)), "{healthy}");
    backups.backup(&["prune", "--yes"]).is(0);
    backups.objects().iter().for_each(|object| age(object, 60));

    let (receipts, hidden) = (backups.object("hosts/db1/receipts"), backups.path("hidden"));
    let newest = receipts.join("000002.json");
    for hide in [&newest, &receipts] {
        fs::rename(hide, &hidden).expect("hidden");
        let before = backups.objects();
        backups.backup(&["prune", "--yes"]).is(3).says("backup 2 is hidden or gone").says("--allow-breaks");
        assert_eq!(backups.objects(), before);
        if *hide == receipts {
            backups.backup(&report).is(3);
        }
        fs::rename(&hidden, hide).expect("back");
    }
    let [page, metrics] = [page, metrics].map(|path| fs::read_to_string(path).expect("written"));
    assert!(page.contains("not healthy") && page.contains("db1: it has no backup any more"), "{page}");
    assert!(metrics.contains("sealant_backup_objects_bad{host=\"db1\"} 0"), "{metrics}");
    assert!(!metrics.contains("last_good"), "{metrics}");

    backups.backup(&["prune", "--yes"]).is(0);
    fs::remove_file(&newest).expect("removed");
    let accepted = backups.backup(&["prune", "--yes", "--allow-breaks"]).is(0);
    assert_eq!(numbers(&accepted.json, "/hosts/0/kept"), [1]);
    backups.backup(&["prune", "--yes"]).is(0);
}
