//! `sealant luks key`: whenever a rotation is killed, a stored key opens the volume, and the same command completes the
//! rotation; on volumes made by the real cryptsetup.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use luks::cryptsetup::Cryptsetup;
use luks::key::{Rotation, RotationStep};

use crate::support::disk::{CHEAP, Desk, cryptsetup, opens_with, text};
use crate::support::sealant;

/// Iterations of key derivation: random keys need few.
const QUICK: &str = "1000";

#[track_caller]
fn ends(output: &Output, code: i32) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    format!("{out}{err}")
}

/// A volume, the file with its key, and a directory for backups.
struct Host {
    desk: Desk,
    image: PathBuf,
    key: PathBuf,
    backups: PathBuf,
}

impl Host {
    fn new(kind: &str) -> Self {
        let desk = Desk::new();
        let image = desk.volume("image", kind);
        let (key, backups) = (desk.path("data.key"), desk.path("headers"));
        fs::copy(desk.key("k1"), &key).expect("room");
        fs::create_dir(&backups).expect("room");
        Self { desk, image, key, backups }
    }

    /// Restores the original volume, for the next attempt.
    fn again(&self, template: &Path) {
        fs::copy(template, &self.image).expect("room");
        fs::remove_dir_all(&self.backups).expect("ours");
        fs::create_dir(&self.backups).expect("room");
        for name in ["data.key", "data.key.sealant-new", "data.key.sealant-old"] {
            let _ = fs::remove_file(self.desk.path(name));
        }
        fs::copy(self.desk.key("k1"), &self.key).expect("room");
    }

    fn args(&self) -> Vec<&str> {
        let location = ["luks", "key", "rotate", text(&self.image), "--key-file", text(&self.key)];
        let backups = ["--backups", text(&self.backups), "--yes"];
        [&location[..], &backups[..]].concat()
    }

    fn rotate(&self) -> Output {
        sealant().args(self.args()).output().expect("it starts")
    }

    /// The invariant: at least one of a rotation's key files opens the volume.
    #[track_caller]
    fn some_stored_key_opens(&self, moment: &str) {
        let files = ["data.key", "data.key.sealant-new", "data.key.sealant-old"].map(|name| self.desk.path(name));
        assert!(files.iter().any(|file| file.exists() && opens_with(&self.image, file)), "no key opens, {moment}");
        assert!(opens_with(&self.image, &self.key), "what crypttab names does not open, {moment}");
    }

    #[track_caller]
    fn is_rotated(&self, moment: &str) {
        assert!(opens_with(&self.image, &self.key), "{moment}");
        assert!(!self.desk.opens(&self.image, "k1"), "the old key opens, {moment}");
        assert_eq!(fs::read(&self.key).expect("a key").len(), 64, "{moment}");
        for name in ["data.key.sealant-new", "data.key.sealant-old"] {
            assert!(!self.desk.path(name).exists(), "{name} is left, {moment}");
        }
        let random = luks::Kdf::Pbkdf2 { hash: "sha256".to_owned(), iterations: luks::RANDOM_KEY_ITERATIONS.into() };
        let reading = luks::read(&fs::File::open(&self.image).expect("ours")).expect("a header");
        let slots = reading.volume.expect("a whole header").slots;
        assert!(slots.iter().all(|slot| slot.kdf.as_ref() == Some(&random)), "{slots:?}");
        let backup = self.newest_backup(moment);
        assert!(opens_with(&backup, &self.key), "{moment}");
        assert!(!self.desk.opens(&backup, "k1"), "the backup opens with the old key, {moment}");
    }

    #[track_caller]
    fn newest_backup(&self, moment: &str) -> PathBuf {
        let entries = fs::read_dir(&self.backups).expect("ours").map(|entry| entry.expect("readable").path());
        let found: Vec<PathBuf> = entries.filter(|path| text(path).ends_with(".header")).collect();
        assert_eq!(found.len(), 1, "{found:?}, {moment}");
        found[0].clone()
    }
}

#[test]
fn a_rotated_key_opens_and_the_old_one_does_not() {
    for kind in ["luks1", "luks2"] {
        let host = Host::new(kind);
        host.desk.add_key(&host.image, "k1", "recovery");
        fs::set_permissions(&host.key, fs::Permissions::from_mode(0o640)).expect("ours");
        let said = ends(&host.rotate(), 0);
        assert!(said.contains("the old key opens nothing any more"), "{said}");
        host.is_rotated(kind);
        assert!(host.desk.opens(&host.image, "recovery"), "other keys stay");
        let mode = fs::metadata(&host.key).expect("ours").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "nobody else reads the new key");
        // A second rotation, from the random key.
        fs::remove_dir_all(&host.backups).expect("ours");
        fs::create_dir(&host.backups).expect("room");
        ends(&host.rotate(), 0);
        host.is_rotated(kind);
    }
}

#[test]
fn backups_that_the_old_key_opens_are_listed() {
    let host = Host::new("luks2");
    let old = host.backups.join("of-last-year");
    ends(&sealant().args(["luks", "header", "backup", text(&host.image), text(&old)]).output().expect("it starts"), 0);
    let said = ends(&host.rotate(), 3);
    assert!(said.contains("of-last-year: an older header backup"), "{said}");
    assert!(host.desk.opens(&old, "k1") && !host.desk.opens(&host.image, "k1"));
}

#[test]
fn slots_of_priority_ignore_are_removed_too() {
    let host = Host::new("luks2");
    let key = host.desk.key("k1");
    cryptsetup(&[&["luksAddKey", "--key-file", text(&key)], &CHEAP[..]].concat(), &[&host.image, &key]);
    cryptsetup(&["config", "--priority", "ignore", "--key-slot", "1", text(&host.image)], &[]);
    ends(&host.rotate(), 0);
    let slots = ends(&sealant().args(["luks", "key", "list", text(&host.image)]).output().expect("it starts"), 0);
    assert_eq!(slots.lines().count(), 1, "{slots}");
}

/// Installs a `cryptsetup` wrapper that kills sealant (and itself) at its `call`-th call, before or after the real
/// program ran.
fn killer(host: &Host, call: u32, after: bool) -> PathBuf {
    let bin = host.desk.path("bin");
    let _ = fs::create_dir(&bin);
    let count = host.desk.path("count");
    let _ = fs::remove_file(&count);
    let real = ["/usr/sbin/cryptsetup", "/sbin/cryptsetup", "/usr/bin/cryptsetup"];
    let real = real.into_iter().find(|path| Path::new(path).exists()).expect("cryptsetup is installed");
    let (before, behind) = if after { (":", "kill -9 $PPID") } else { ("kill -9 $PPID; exit 9", ":") };
    let script = format!(
        "case \"$*\" in --version) exec {real} --version ;; esac\necho x >>{0}\n\
         if [ \"$(wc -l <{0})\" -eq {call} ]; then {before}; {real} \"$@\"; code=$?; {behind}; exit $code; fi\nexec {real} \"$@\"",
        text(&count)
    );
    harness::script(&bin.join("cryptsetup"), &script).expect("room");
    bin
}

#[test]
fn a_rotation_killed_around_any_call_of_cryptsetup_is_finished_by_a_rerun() {
    for kind in ["luks1", "luks2"] {
        let host = Host::new(kind);
        let template = host.desk.path("template");
        fs::copy(&host.image, &template).expect("room");
        let mut killed = 0;
        'calls: for call in 1.. {
            for after in [false, true] {
                host.again(&template);
                let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", killer(&host, call, after).display());
                let output = sealant().env("PATH", path).args(host.args()).output().expect("it starts");
                if output.status.success() {
                    break 'calls;
                }
                let moment = format!("{kind}, killed {} call {call}", if after { "after" } else { "before" });
                assert_eq!(output.status.code(), None, "{moment}: {}", String::from_utf8_lossy(&output.stderr));
                killed += 1;
                host.some_stored_key_opens(&moment);
                ends(&host.rotate(), 0);
                host.is_rotated(&moment);
            }
        }
        assert!(killed >= 14, "{killed} kills reached something");
    }
}

#[test]
fn a_rotation_stopped_after_any_step_is_finished_by_a_rerun() {
    let program = Cryptsetup::find().expect("cryptsetup is installed");
    let host = Host::new("luks2");
    let template = host.desk.path("template");
    fs::copy(&host.image, &template).expect("room");
    for last in [
        RotationStep::Proven,
        RotationStep::Made,
        RotationStep::Added,
        RotationStep::Kept,
        RotationStep::Stored,
        RotationStep::Killed,
        RotationStep::Refused,
        RotationStep::BackedUp,
    ] {
        host.again(&template);
        let rotation = Rotation {
            cryptsetup: &program,
            device: &host.image,
            key: &host.key,
            backups: Some(&host.backups),
            iterations: luks::RANDOM_KEY_ITERATIONS,
        };
        let moment = format!("stopped after {last:?}");
        assert!(matches!(rotation.run(&mut |did| did.step != last), Err(luks::Error::Stopped)), "{moment}");
        host.some_stored_key_opens(&moment);
        ends(&host.rotate(), 0);
        host.is_rotated(&moment);
    }
}

#[test]
fn a_wrong_key_or_a_running_re_encryption_changes_nothing() {
    let host = Host::new("luks2");
    let whole = fs::read(&host.image).expect("ours");
    fs::write(&host.key, "wrong").expect("room");
    assert!(ends(&host.rotate(), 1).contains("does not open"));
    fs::write(&host.key, "").expect("room");
    assert!(ends(&host.rotate(), 1).contains("the key is empty"));
    fs::remove_file(&host.key).expect("ours");
    assert!(ends(&host.rotate(), 1).contains("No such file"));
    fs::write(&host.key, "k1").expect("room");
    let no_backups = ["luks", "key", "rotate", text(&host.image), "--key-file", text(&host.key), "--yes"];
    ends(&sealant().args(no_backups).output().expect("it starts"), 2);
    // There is no terminal for a confirmation.
    let unasked: Vec<&str> = host.args().into_iter().filter(|arg| *arg != "--yes").collect();
    ends(&sealant().args(&unasked).output().expect("it starts"), 2);
    let plan = ends(&sealant().args(&unasked).arg("--dry-run").output().expect("it starts"), 0);
    assert!(plan.contains("keep the old key"), "{plan}");
    assert!(fs::read(&host.image).expect("ours") == whole);
    let key = host.desk.key("k1");
    let begin = ["reencrypt", "--init-only", "--key-file", text(&key), "--force-offline-reencrypt"];
    cryptsetup(&[&begin[..], &CHEAP[..]].concat(), &[&host.image]);
    assert!(ends(&host.rotate(), 1).contains("a re-encryption is not finished"));
    assert!(!host.desk.path("data.key.sealant-new").exists());
}

#[test]
fn keys_are_listed_and_added() {
    let host = Host::new("luks2");
    let (old, new) = (host.desk.key("k1"), host.desk.key("k2"));
    let list = |key: &Path| {
        let args = ["luks", "key", "list", text(&host.image), "--key-file", text(key)];
        sealant().args(args).output().expect("it starts")
    };
    assert!(ends(&list(&old), 0).contains("k1: opens slot 0"));
    assert!(ends(&list(&new), 3).contains("k2: opens nothing"));
    let add = |by: &Path| {
        let location = ["luks", "key", "add", text(&host.image), "--key-file", text(by)];
        let args = [&location[..], &["--new-key-file", text(&new), "--pbkdf2-iterations", QUICK]].concat();
        sealant().args(args).output().expect("it starts")
    };
    assert!(ends(&add(&host.desk.key("wrong")), 1).contains("no key slot"));
    assert!(ends(&add(&old), 0).contains("the new key opens slot 1"));
    assert!(ends(&list(&new), 0).contains("k2: opens slot 1"));
    ends(&add(&old), 0);
    let listed = ends(&list(&new), 0);
    assert_eq!(listed.lines().filter(|line| line.starts_with("slot ")).count(), 2, "{listed}");
}

#[test]
fn two_rotations_of_one_key_exclude_each_other() {
    let host = Host::new("luks2");
    let lock = fs::File::open(host.key.parent().expect("a directory")).expect("ours");
    lock.lock().expect("free");
    assert!(ends(&host.rotate(), 1).contains("another rotation is running"));
}
