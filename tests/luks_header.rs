//! `sealant luks header`: backups are tied to their volume, and a restore proves the key before and after, on volumes
//! made by the real cryptsetup.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::support::disk::{CHEAP, Desk, cryptsetup, text};
use crate::support::schema::has_its_schema;
use crate::support::sealant;

fn header(args: &[&str]) -> Output {
    sealant().args(["luks", "header"]).args(args).output().expect("it starts")
}

#[track_caller]
fn ends(output: &Output, code: i32) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    assert!(!err.contains("panicked"), "{err}");
    format!("{out}{err}")
}

/// Verdict of `header check`.
#[track_caller]
fn verdict(backup: &Path, image: &Path, more: &[&str]) -> Value {
    let output = header(&[&["check", text(backup), text(image), "--format", "json"], more].concat());
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    has_its_schema(&report, "luks-header-check-1");
    report
}

fn wipe(image: &Path, from: u64, bytes: usize) {
    OpenOptions::new().write(true).open(image).expect("ours").write_all_at(&vec![0; bytes], from).expect("room");
}

#[test]
fn a_backup_equals_that_of_cryptsetup_is_private_and_names_its_volume() {
    for kind in ["luks1", "luks2"] {
        let desk = Desk::new();
        let (image, ours, theirs) = (desk.volume("image", kind), desk.path("ours"), desk.path("theirs"));
        ends(&header(&["backup", text(&image), text(&ours)]), 0);
        cryptsetup(&["luksHeaderBackup", text(&image), "--header-backup-file", text(&theirs)], &[]);
        assert!(fs::read(&ours).expect("ours") == fs::read(&theirs).expect("theirs"), "{kind}");
        for path in [&ours, &desk.path("ours.manifest")] {
            assert_eq!(fs::metadata(path).expect("it is there").permissions().mode() & 0o777, 0o600);
        }
        let manifest: Value =
            serde_json::from_slice(&fs::read(desk.path("ours.manifest")).expect("a manifest")).expect("JSON");
        has_its_schema(&manifest, "luks-header-1");
        assert_eq!(manifest["format"], kind);
        assert_eq!(manifest["slots"].as_array().map(Vec::len), Some(1));
        assert_eq!(verdict(&ours, &image, &[])["verdict"], "current");
        assert_eq!(verdict(&ours, &image, &[])["as_saved"], true);
        assert_eq!(verdict(&theirs, &image, &[])["as_saved"], Value::Null);
        assert!(ends(&header(&["backup", text(&image), text(&ours)]), 1).contains("never overwritten"));
    }
}

#[test]
fn a_backup_from_before_a_key_change_is_stale_and_opens_with_the_removed_key() {
    let desk = Desk::new();
    let (image, backup) = (desk.volume("image", "luks2"), desk.path("backup"));
    ends(&header(&["backup", text(&image), text(&backup)]), 0);
    desk.add_key(&image, "k1", "k2");
    desk.kill_slot(&image, "0", "k2");
    let found = verdict(&backup, &image, &["--key-file", text(&desk.key("k1"))]);
    assert_eq!(found["verdict"], "stale");
    assert_eq!((&found["only_backup"], &found["only_volume"]), (&serde_json::json!([0]), &serde_json::json!([1])));
    assert_eq!((&found["key_opens_backup"], &found["key_opens_volume"]), (&0.into(), &Value::Null));
    ends(&header(&["check", text(&backup), text(&image)]), 3);
    let said = ends(&header(&["diff", text(&backup), text(&image)]), 3);
    assert!(said.contains("keyslots.0.key: ") && said.contains("sequence: "), "{said}");
    assert_eq!(ends(&header(&["diff", text(&image), text(&image)]), 0), "");
    // It may be restored, with a warning: the data has the same key.
    let said =
        ends(&header(&["restore", text(&backup), text(&image), "--yes", "--key-file", text(&desk.key("k1"))]), 0);
    assert!(said.contains("warning: the backup has other key slots"), "{said}");
    assert!(desk.opens(&image, "k1") && !desk.opens(&image, "k2"));
}

#[test]
fn other_volumes_and_other_volume_keys_are_refused_and_nothing_is_changed() {
    let desk = Desk::new();
    let (image, other) = (desk.volume("image", "luks2"), desk.volume("other", "luks2"));
    let (backup, foreign) = (desk.path("backup"), desk.path("foreign"));
    ends(&header(&["backup", text(&image), text(&backup)]), 0);
    ends(&header(&["backup", text(&other), text(&foreign)]), 0);
    let key = desk.key("k1");
    let reencrypt = ["reencrypt", "--force-offline-reencrypt", "--key-file", text(&key)];
    cryptsetup(&[&reencrypt[..], &CHEAP[..]].concat(), &[&image]);
    let before = fs::read(&image).expect("ours");
    assert_eq!(verdict(&backup, &image, &[])["verdict"], "other-volume-key");
    assert_eq!(verdict(&foreign, &image, &[])["verdict"], "other-volume");
    for (file, word) in [(&backup, "unreadable"), (&foreign, "another volume")] {
        let said = ends(&header(&["restore", text(file), text(&image), "--yes", "--key-file", text(&key)]), 1);
        assert!(said.contains(word) && said.contains("nothing was changed"), "{said}");
    }
    assert!(fs::read(&image).expect("ours") == before);
}

#[test]
fn a_lost_header_is_restored_and_the_previous_bytes_are_saved() {
    for kind in ["luks1", "luks2"] {
        let desk = Desk::new();
        let (image, backup, saved) = (desk.volume("image", kind), desk.path("backup"), desk.path("saved"));
        let whole = fs::read(&image).expect("ours");
        ends(&header(&["backup", text(&image), text(&backup)]), 0);
        wipe(&image, 0, 1 << 20);
        let key = desk.key("k1");
        let restore = ["restore", text(&backup), text(&image), "--key-file", text(&key), "--save", text(&saved)];
        let said = ends(&header(&[&restore[..], &["--yes"]].concat()), 1);
        assert!(said.contains("--header-is-lost"), "{said}");
        // A plan changes nothing, and without a terminal nothing happens.
        let said = ends(&header(&[&restore[..], &["--header-is-lost", "--dry-run"]].concat()), 0);
        assert!(said.contains("NOTHING proves"), "{said}");
        ends(&header(&[&restore[..], &["--header-is-lost"]].concat()), 2);
        assert!(!desk.opens(&image, "k1") && !saved.exists());
        ends(&header(&[&restore[..], &["--header-is-lost", "--yes"]].concat()), 0);
        assert!(desk.opens(&image, "k1"));
        assert!(fs::read(&image).expect("ours") == whole, "{kind}");
        assert!(fs::read(&saved).expect("kept").starts_with(&[0; 4096]));
    }
}

#[test]
fn a_wrong_key_or_a_damaged_backup_changes_nothing() {
    let desk = Desk::new();
    let (image, backup) = (desk.volume("image", "luks2"), desk.path("backup"));
    ends(&header(&["backup", text(&image), text(&backup)]), 0);
    let before = fs::read(&image).expect("ours");
    let (key, wrong) = (desk.key("k1"), desk.key("wrong"));
    let restore = |key: &Path| header(&["restore", text(&backup), text(&image), "--yes", "--key-file", text(key)]);
    assert!(ends(&restore(&wrong), 1).contains("the key does not open"));
    assert!(ends(&restore(&desk.path("absent")), 1).contains("No such file"));
    let mut bytes = fs::read(&backup).expect("ours");
    bytes[100_000] ^= 1;
    fs::write(&backup, &bytes).expect("room");
    assert!(ends(&restore(&key), 1).contains("not what its manifest says"));
    assert_eq!(verdict(&backup, &image, &[])["as_saved"], false);
    fs::write(&backup, &bytes[..100_000]).expect("room");
    assert!(ends(&restore(&key), 1).contains("key slots are missing"));
    assert!(fs::read(&image).expect("ours") == before);
}

#[test]
fn a_restored_header_that_does_not_open_the_volume_is_undone() {
    // A cryptsetup that opens only backups: how a disk that returns wrong data looks.
    let desk = Desk::new();
    let (image, backup, bin) = (desk.volume("image", "luks2"), desk.path("backup"), desk.path("bin"));
    ends(&header(&["backup", text(&image), text(&backup)]), 0);
    desk.add_key(&image, "k1", "k2");
    let before = fs::read(&image).expect("ours");
    fs::create_dir(&bin).expect("room");
    let script = "case \"$*\" in\n*--version*) echo 'cryptsetup 2.6.1' ;;\n*/backup) echo 'Key slot 0 unlocked.' ;;\n*) exit 2 ;;\nesac";
    harness::script(&bin.join("cryptsetup"), script).expect("room");
    let key = desk.key("k1");
    let output = sealant()
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .args(["luks", "header", "restore", text(&backup), text(&image), "--yes", "--key-file", text(&key)])
        .output()
        .expect("it starts");
    assert!(ends(&output, 1).contains("the previous header was put back"));
    assert!(fs::read(&image).expect("ours") == before);
}

#[test]
fn an_old_cryptsetup_is_refused() {
    let desk = Desk::new();
    let (image, backup, bin) = (desk.volume("image", "luks2"), desk.path("backup"), desk.path("bin"));
    ends(&header(&["backup", text(&image), text(&backup)]), 0);
    fs::create_dir(&bin).expect("room");
    harness::script(&bin.join("cryptsetup"), "echo cryptsetup 1.7.5").expect("room");
    let key = desk.key("k1");
    let args = ["luks", "header", "restore", text(&backup), text(&image), "--yes", "--key-file", text(&key)];
    let output = sealant().env("PATH", text(&bin)).args(args).output().expect("it starts");
    assert!(ends(&output, 1).contains("version 1.7.5; 2.1.0 or newer is needed"));
}
