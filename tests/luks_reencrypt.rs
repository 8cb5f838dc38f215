//! `sealant luks reencrypt`: a new volume key for images, and in a virtual machine under a mounted file system, through
//! power cuts halfway and in the last commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use harness::vm::Machine;

use crate::support::disk::{CHEAP, Desk, cryptsetup, ends, text};
use crate::support::sealant;

fn reencrypt(desk: &Desk, image: &Path, more: &[&str]) -> Output {
    let backups = desk.path("headers");
    fs::create_dir_all(&backups).expect("room");
    let args = ["luks", "reencrypt", text(image), "--backups", text(&backups), "--pbkdf2-iterations", "1000"];
    sealant().args(args).args(more).output().expect("it starts")
}

#[test]
fn named_keys_open_the_re_encrypted_volume_and_old_headers_do_not() {
    let desk = Desk::new();
    let image = desk.volume("image", "luks2");
    for key in ["k2", "k3"] {
        desk.add_key(&image, "k1", key);
    }
    let (k1, k2) = (desk.key("k1"), desk.key("k2"));
    let named = ["--key-file", text(&k1), "--other-key-file", text(&k2)];
    let before = fs::read(&image).expect("ours");
    let refused = ends(&reencrypt(&desk, &image, &[&named[..], &["--yes"]].concat()), 1);
    assert!(refused.contains("slot 2 would open nothing") && refused.contains("nothing was changed"), "{refused}");
    let plan = ends(&reencrypt(&desk, &image, &[&named[..], &["--drop-other-keys", "--dry-run"]].concat()), 0);
    assert!(plan.contains("DROPPED: slot 2"), "{plan}");
    assert!(fs::read(&image).expect("ours") == before);
    let said = ends(&reencrypt(&desk, &image, &[&named[..], &["--drop-other-keys", "--yes"]].concat()), 0);
    assert!(said.contains("other key 1 opens slot"), "{said}");
    assert!(desk.opens(&image, "k1") && desk.opens(&image, "k2") && !desk.opens(&image, "k3"));
    assert!(fs::read(&image).expect("ours")[8 << 20..] != before[8 << 20..], "the data is re-encrypted");
    let headers = fs::read_dir(desk.path("headers")).expect("ours").map(|entry| entry.expect("ours").path());
    let headers: Vec<_> = headers.filter(|path| path.extension().is_some_and(|end| end == "header")).collect();
    assert_eq!(headers.len(), 2, "the headers of before and after");
    let check =
        |path: &Path| sealant().args(["luks", "header", "check", text(path), text(&image)]).output().expect("starts");
    let mut verdicts: Vec<i32> = headers.iter().map(|path| check(path).status.code().expect("a code")).collect();
    verdicts.sort_unstable();
    assert_eq!(verdicts, [0, 3], "one is current, one has another volume key");
}

#[test]
fn what_cannot_be_re_encrypted_is_refused_and_left_alone() {
    let desk = Desk::new();
    let (luks1, luks2) = (desk.volume("luks1", "luks1"), desk.volume("luks2", "luks2"));
    let begun = desk.volume("begun", "luks2");
    let (key, wrong) = (desk.key("k1"), desk.key("wrong"));
    let begin = ["reencrypt", "--init-only", "--force-offline-reencrypt", "--key-file", text(&key)];
    cryptsetup(&[&begin[..], &CHEAP[..]].concat(), &[&begun]);
    // cryptsetup would use each of these files as its own.
    let detached =
        ["detached", "decrypted"].map(|name| (desk.path(name), desk.volume(&format!("{name}-data"), "luks2")));
    let header = ["--key-file", text(&key), "--header"];
    cryptsetup(&[&["luksFormat"], &header[..], &[text(&detached[0].0)], &CHEAP[..]].concat(), &[&detached[0].1]);
    let decrypt = ["reencrypt", "--decrypt", "--init-only", "--force-offline-reencrypt"];
    cryptsetup(&[&decrypt[..], &header, &[text(&detached[1].0)]].concat(), &[&detached[1].1]);
    for (image, more, because) in [
        (&detached[0].0, &["--key-file", text(&key)][..], "is a header whose data lies on another device"),
        (&detached[1].0, &["--key-file", text(&key), "--resume"], "is a header whose data lies on another device"),
        (&luks1, &["--key-file", text(&key)], "is LUKS1"),
        (&luks2, &["--key-file", text(&wrong)], "the key does not open it"),
        (&luks2, &["--key-file", text(&key), "--other-key-file", text(&wrong)], "one of the other keys"),
        (&luks2, &["--key-file", text(&key), "--resume"], "no re-encryption was begun"),
        (&begun, &["--key-file", text(&key)], "--resume continues it"),
        (&wrong, &["--key-file", text(&key)], "not-luks"),
    ] {
        let before = fs::read(image).expect("ours");
        let said = ends(&reencrypt(&desk, image, &[more, &["--yes"]].concat()), 1);
        assert!(said.contains(because), "{because}: {said}");
        assert!(fs::read(image).expect("ours") == before, "{because}");
    }
    assert_eq!(fs::read_dir(desk.path("headers")).expect("ours").count(), 0, "no header was saved for nothing");
    ends(&reencrypt(&desk, &begun, &["--key-file", text(&key), "--resume", "--yes"]), 0);
    assert!(desk.opens(&begun, "k1"));
}

/// A volume with two keys, and what a run saves before it starts: header and note.
fn noted(desk: &Desk, image: &Path) -> PathBuf {
    desk.add_key(image, "k1", "k2");
    let uuid = Command::new("cryptsetup").arg("luksUUID").arg(image).output().expect("it starts").stdout;
    let uuid = String::from_utf8(uuid).expect("text").trim().to_owned();
    let headers = desk.path("headers");
    fs::create_dir_all(&headers).expect("room");
    let (header, note) = (headers.join(format!("{uuid}-4.header")), headers.join(format!("{uuid}.reencrypt")));
    cryptsetup(&["luksHeaderBackup", "--header-backup-file", text(&header)], &[image]);
    fs::write(&note, format!("{{\"others\":1,\"header\":\"{uuid}-4.header\"}}")).expect("room");
    note
}

#[test]
fn a_run_interrupted_before_it_began_does_not_count_as_finished() {
    let desk = Desk::new();
    let image = desk.volume("image", "luks2");
    let note = noted(&desk, &image);
    let (k1, k2) = (desk.key("k1"), desk.key("k2"));
    let named = ["--key-file", text(&k1), "--other-key-file", text(&k2), "--yes"];
    let before = fs::read(&image).expect("ours");
    let said = ends(&reencrypt(&desk, &image, &[&named[..], &["--resume"]].concat()), 1);
    assert!(said.contains("no re-encryption was begun"), "{said}");
    assert!(fs::read(&image).expect("ours") == before && note.exists());
    ends(&reencrypt(&desk, &image, &named), 0);
    assert!(desk.opens(&image, "k1") && desk.opens(&image, "k2") && !note.exists());
    assert!(fs::read(&image).expect("ours")[8 << 20..] != before[8 << 20..], "the data is re-encrypted");
}

/// The state after power failed between the end of cryptsetup's run and the restoration of the other keys.
#[test]
fn a_resumed_run_adds_the_other_keys_again() {
    let desk = Desk::new();
    let image = desk.volume("image", "luks2");
    let note = noted(&desk, &image);
    let (k1, k2, wrong) = (desk.key("k1"), desk.key("k2"), desk.key("wrong"));
    let whole = ["reencrypt", "--force-offline-reencrypt", "--key-slot", "0", "--key-file", text(&k1)];
    cryptsetup(&[&whole[..], &CHEAP[..]].concat(), &[&image]);
    assert!(desk.opens(&image, "k1") && !desk.opens(&image, "k2"));

    let named = ["--key-file", text(&k1), "--other-key-file"];
    for (more, because) in [
        (&["--key-file", text(&k1)][..], "--resume continues it"),
        (&["--key-file", text(&k1), "--resume"], "was begun with 1 other keys"),
        (&[&named[..], &[text(&wrong), "--resume"]].concat(), "did not open it before"),
    ] {
        let said = ends(&reencrypt(&desk, &image, &[more, &["--yes"]].concat()), 1);
        assert!(said.contains(because), "{because}: {said}");
    }
    ends(&reencrypt(&desk, &image, &[&named[..], &[text(&k2), "--resume", "--yes"]].concat()), 0);
    assert!(desk.opens(&image, "k1") && desk.opens(&image, "k2") && !note.exists());
}

/// Simulates a power cut: `part` halfway, `stuck` in the last commit.
fn power_cut(what: &str) {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.disk(48).expect("room").limit(harness::limit(600));
    let machine = machine.program(Path::new(env!("CARGO_BIN_EXE_sealant")), "/usr/bin/sealant").expect("room");
    let script = format!("what={what}\n{}", include_str!("vm/reencrypt.sh"));
    let ran = machine.run(&script).expect("it runs");
    assert!(ran.status == 0 && ran.log.ends_with("finished\n"), "{}: {}", ran.status, ran.log);
}

#[test]
#[ignore = "minutes in an emulated machine; `make soak` runs it"]
fn a_power_cut_in_the_middle_is_resumed() {
    power_cut("part");
}

#[test]
#[ignore = "minutes in an emulated machine; `make soak` runs it, and `luks_repair` such headers more often"]
fn a_power_cut_in_the_last_commit_is_repaired() {
    power_cut("stuck");
}
