//! `sealant backup prune` on repositories of real servers.

use std::fs::{self, File};

use serde_json::Value;

use crate::support::backup::{age, files, is_same, stopped_mysql, with_keeper, with_keyring};
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
    assert_eq!(backups.backup(&["prune", "--yes"]).is(0).number("/pruned/objects"), 0);
    backups.backup(&check).is(0);
    let report = ["report", "--allowed-signers", signers.to_str().expect("ASCII")];
    backups.backup(&report).is(0);
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
