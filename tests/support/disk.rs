//! LUKS volumes in plain files, made by the real cryptsetup with throw-away keys.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::sealant;

/// Cheap key derivation: these keys protect nothing.
pub(crate) const CHEAP: [&str; 4] = ["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"];

/// Runs `sealant luks …`.
pub(crate) fn luks(args: &[&str]) -> Output {
    sealant().arg("luks").args(args).output().expect("it starts")
}

/// Asserts the exit code; returns the output.
#[track_caller]
pub(crate) fn ends(output: &Output, code: i32) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    format!("{out}{err}")
}

/// A directory with images and keys.
pub(crate) struct Desk {
    dir: TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a directory") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Creates a key file whose content is its own name.
    pub(crate) fn key(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, name).expect("room");
        path
    }

    /// Creates a sparse image of 20 MiB that the key `k1` opens.
    pub(crate) fn volume(&self, name: &str, kind: &str) -> PathBuf {
        let (image, key) = (self.path(name), self.key("k1"));
        fs::File::create(&image).expect("room").set_len(20 << 20).expect("room");
        let args = ["luksFormat", "--type", kind, "--cipher", "aes-xts-plain64", "--key-size", "256"];
        // A small area for key slots keeps the files small.
        let small: &[&str] = if kind == "luks2" { &["--luks2-keyslots-size", "1m"] } else { &[] };
        cryptsetup(&[&args[..], small, &CHEAP[..]].concat(), &[&image, &key]);
        image
    }

    /// Adds the key `new`, authorised by `old`.
    pub(crate) fn add_key(&self, image: &Path, old: &str, new: &str) {
        let (old, new) = (self.key(old), self.key(new));
        let key_file = ["--key-file", text(&old)];
        cryptsetup(&[&["luksAddKey"], &key_file[..], &CHEAP[..]].concat(), &[image, &new]);
    }

    /// Removes a slot, authorised by the key `by`.
    pub(crate) fn kill_slot(&self, image: &Path, slot: &str, by: &str) {
        let by = self.key(by);
        cryptsetup(&["luksKillSlot", "--key-file", text(&by), text(image), slot], &[]);
    }

    /// Whether cryptsetup opens the image with the key of this name.
    pub(crate) fn opens(&self, image: &Path, key: &str) -> bool {
        opens_with(image, &self.key(key))
    }
}

/// Whether cryptsetup opens the image with the key in this file.
pub(crate) fn opens_with(image: &Path, key: &Path) -> bool {
    run(&["open", "--test-passphrase", "--key-file", text(key), text(image)]).status.success()
}

/// Runs cryptsetup, and asserts that it succeeds.
#[track_caller]
pub(crate) fn cryptsetup(args: &[&str], files: &[&Path]) {
    let files: Vec<&str> = files.iter().map(|file| text(file)).collect();
    let output = run(&[args, &files].concat());
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn run(args: &[&str]) -> Output {
    let mut command = Command::new("cryptsetup");
    command.env("LC_ALL", "C").arg("--batch-mode").args(args).stdin(Stdio::null());
    command.output().expect("cryptsetup runs; `make servers` installs it")
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are ASCII")
}
