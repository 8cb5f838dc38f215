//! `sealant luks format|open|mount|close`: on images as far as device-mapper is not needed, the rest in a virtual
//! machine.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Output;

use harness::vm::Machine;
use serde_json::Value;

use crate::support::disk::{CHEAP, Desk, cryptsetup, ends, luks, opens_with, text};

/// A blank image, with paths for its key and header.
struct Blank {
    desk: Desk,
    image: String,
    key: String,
    backups: String,
}

impl Blank {
    fn new() -> Self {
        let desk = Desk::new();
        let path = |name: &str| text(&desk.path(name)).to_owned();
        let (image, key, backups) = (path("image"), path("key"), path("headers"));
        File::create(&image).expect("room").set_len(40 << 20).expect("room");
        fs::create_dir(&backups).expect("room");
        Self { desk, image, key, backups }
    }

    fn format(&self, more: &[&str]) -> Output {
        let args = ["format", &self.image, "--key-file", &self.key, "--filesystem", "none"];
        luks(&[&args[..], &["--backups", &self.backups], more].concat())
    }

    fn is_blank(&self) -> bool {
        fs::read(&self.image).expect("ours").iter().all(|byte| *byte == 0)
    }
}

const MADE: [&str; 4] = ["--make-key", "--pbkdf2-iterations", "1000", "--yes"];

#[test]
fn an_image_is_formatted_and_its_header_is_saved() {
    let blank = Blank::new();
    let plan = ends(&blank.format(&["--make-key", "--dry-run"]), 0);
    assert!(plan.contains("everything on it is lost") && plan.contains("aes-xts-plain64, 512 key bits"), "{plan}");
    assert!(blank.is_blank() && !Path::new(&blank.key).exists());
    assert!(ends(&blank.format(&["--make-key"]), 2).contains("standard input is not a terminal"), "without a yes");
    assert!(blank.is_blank() && !Path::new(&blank.key).exists());
    let said = ends(&blank.format(&MADE), 0);
    assert!(said.contains("the key opens slot 0, a random one opens nothing"), "{said}");
    assert!(opens_with(Path::new(&blank.image), Path::new(&blank.key)), "cryptsetup opens it as well");
    assert_eq!(fs::read(&blank.key).expect("made").len(), 64);
    let audit = luks(&["audit", &blank.image, "--format", "json"]);
    let json: Value = serde_json::from_slice(&audit.stdout).expect("JSON");
    let codes: Vec<&str> =
        json["findings"].as_array().expect("a list").iter().filter_map(|f| f["code"].as_str()).collect();
    assert_eq!(codes, ["kdf-weak", "one-slot"], "random keys need no costly derivation");
    let backup = fs::read_dir(&blank.backups).expect("ours").map(|entry| entry.expect("ours").path());
    let backup = backup.into_iter().find(|path| path.extension().is_some_and(|end| end == "header")).expect("a backup");
    ends(&luks(&["header", "check", text(&backup), &blank.image, "--key-file", &blank.key]), 0);
}

#[test]
fn disks_that_are_not_blank_are_refused_and_unchanged() {
    let blank = Blank::new();
    let key = blank.desk.key("key");
    let changed = |write: &dyn Fn(), because: &str| {
        write();
        let before = fs::read(&blank.image).expect("ours");
        let said = ends(&blank.format(&["--yes"]), 1);
        assert!(said.contains(because) && said.contains("nothing was changed"), "{because}: {said}");
        assert!(fs::read(&blank.image).expect("ours") == before, "{because}");
        let file = File::create(&blank.image).expect("ours");
        file.set_len(40 << 20).expect("room");
    };
    let mkfs = || {
        let made = std::process::Command::new("mke2fs").args(["-q", "-F", &blank.image]).status().expect("mke2fs runs");
        assert!(made.success());
    };
    changed(&mkfs, "holds a ext2 signature");
    let format = ["luksFormat", "--type", "luks2"];
    changed(&|| cryptsetup(&[&format[..], &CHEAP[..]].concat(), &[Path::new(&blank.image), &key]), "crypto_LUKS");
    let table = || {
        let mut boot_sector = [0_u8; 512];
        (boot_sector[446 + 4], boot_sector[446 + 8], boot_sector[446 + 13]) = (0x83, 8, 1);
        (boot_sector[510], boot_sector[511]) = (0x55, 0xaa);
        let mut disk = vec![0; 40 << 20];
        disk[..512].copy_from_slice(&boot_sector);
        fs::write(&blank.image, disk).expect("room");
    };
    changed(&table, "a partition table (dos)");
    let raw = || {
        let mut disk = vec![0; 40 << 20];
        disk[20 << 20..21 << 20].fill(7);
        fs::write(&blank.image, disk).expect("room");
    };
    changed(&raw, "that no signature explains");
    changed(&|| File::create(&blank.image).expect("ours").set_len(1 << 20).expect("room"), "less than the");
    let open = File::open(&blank.image).expect("ours");
    changed(&|| {}, "is open in process");
    drop(open);
    // A set without a signature may be requested by name.
    raw();
    ends(&blank.format(&["--yes", "--destroy-unknown-data", "--pbkdf2-iterations", "1000"]), 0);
}

#[test]
fn mistakes_are_reported_before_anything_is_changed() {
    let blank = Blank::new();
    let missing = blank.format(&["--yes"]);
    assert!(ends(&missing, 1).contains("No such file"), "no key");
    blank.desk.key("key");
    let taken = ends(&blank.format(&MADE), 1);
    assert!(taken.contains("a key is never overwritten"), "{taken}");
    assert_eq!(fs::read(&blank.key).expect("ours"), b"key");
    ends(&blank.format(&["--yes", "--sector-bytes", "1000"]), 2);
    let nowhere = luks(&["format", &blank.image, "--key-file", &blank.key, "--backups", "/nonexistent", "--yes"]);
    ends(&nowhere, 2);
    let no_disk = luks(&["format", "/nonexistent", "--key-file", &blank.key, "--no-backup", "--yes"]);
    assert!(ends(&no_disk, 1).contains("/nonexistent: No such file"));
    let directory = luks(&["format", "/tmp", "--key-file", &blank.key, "--no-backup", "--yes"]);
    assert!(ends(&directory, 1).contains("neither a block device nor a file"));
    let image = luks(&["format", &blank.image, "--key-file", &blank.key, "--no-backup", "--yes"]);
    assert!(ends(&image, 1).contains("is a file"), "a file system needs a disk");
    assert!(blank.is_blank());
    for (args, because) in [
        (&["open", &blank.image, "--name", "data", "--key-file", &blank.key][..], "not-luks"),
        (&["open", &blank.image, "--name", "a/b", "--key-file", &blank.key], "is not a name"),
        (&["mount", "no-such-volume", "/mnt"], "is not open"),
        (&["close", "no-such-volume"], "is not open"),
    ] {
        let said = ends(&luks(args), 1);
        assert!(said.contains(because), "{args:?}: {said}");
    }
}

#[test]
fn a_header_is_not_mapped_as_data() {
    let desk = Desk::new();
    let (header, data, key) = (desk.path("header"), desk.path("data"), desk.key("k1"));
    File::create(&data).expect("room").set_len(20 << 20).expect("room");
    let format = ["luksFormat", "--type", "luks2", "--key-file", text(&key), "--header", text(&header)];
    cryptsetup(&[&format[..], &CHEAP[..]].concat(), &[&data]);
    let said = ends(&luks(&["open", text(&header), "--name", "data", "--key-file", text(&key)]), 1);
    assert!(said.contains("is a header whose data lies on another device"), "{said}");
}

#[test]
fn an_absurd_key_derivation_is_refused_and_not_computed() {
    // The iterations of the first slot and of the digest, which no checksum protects.
    for at in [212, 164] {
        let desk = Desk::new();
        let image = desk.volume("image", "luks1");
        let file = fs::OpenOptions::new().write(true).open(&image).expect("ours");
        file.write_all_at(&[0xff; 4], at).expect("room");
        drop(file);
        let key = desk.key("k1");
        for args in [
            &["key", "list", text(&image), "--key-file", text(&key)][..],
            &["header", "check", text(&image), text(&image), "--key-file", text(&key)],
            &["open", text(&image), "--name", "data", "--key-file", text(&key)],
        ] {
            let said = ends(&luks(args), 1);
            assert!(said.contains("asks for") && said.contains("nothing was computed"), "{at}, {args:?}: {said}");
        }
    }
}

#[test]
fn a_disk_is_formatted_opened_mounted_guarded_and_closed() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.disk(96).and_then(|m| m.disk(64)).and_then(|m| m.disk(340)).expect("room");
    let machine = machine.program(Path::new(env!("CARGO_BIN_EXE_sealant")), "/usr/bin/sealant").expect("room");
    let ran = machine.run(include_str!("vm/volume.sh")).expect("it runs");
    assert!(ran.status == 0 && ran.log.ends_with("finished\n"), "{}: {}", ran.status, ran.log);
    for number in [0, 2] {
        let disk = fs::read(machine.image(number).expect("a disk")).expect("ours");
        assert!(disk.starts_with(b"LUKS"), "the disk that was formatted, seen from outside");
        assert!(!harness::contains(&disk, b"TELLTALE-PLAINTEXT"), "no plain text");
    }
}
