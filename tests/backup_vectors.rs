//! The repository of the format's vectors (testdata/backup) is restored with the program, and without it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::sealant;

/// Number of each backup, and SHA-256 of its receipt: docs/formats/backup.md, "Vectors".
const BACKUPS: [(&str, &str); 2] = [
    ("1", "e44e4871c762cc235a9d7a847a16e125df73116fac106dd9edd72a808473b1eb"),
    ("2", "b0d54d598f2873d5e1416a5f4bae911853133b7b3aa4d89270099b838770c7ca"),
];

fn vector(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// Asserts that a directory has the files of a backup.
#[track_caller]
fn has_files_of(number: &str, into: &Path) {
    let list = vector(&format!("backup/{number}.sha256")).canonicalize().expect("the vector is there");
    let mut compare = Command::new("sha256sum");
    let compared = compare.args(["-c", "--quiet", "--strict"]).arg(list).current_dir(into).output().expect("sha256sum");
    assert!(compared.status.success(), "{}", String::from_utf8_lossy(&compared.stderr));
    assert_eq!(into.join("demo/link").is_symlink(), number == "1", "the link was removed before the second backup");
}

fn by_hand(number: &str, into: &Path, keys: &Path) -> Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/restore-by-hand.py");
    let [repository, identity, signers] =
        ["repository", "identity", "signers"].map(|name| vector(&format!("backup/{name}")));
    let mut python = Command::new("python3");
    python.arg(script).arg(repository).args(["db1", number]).args([identity, signers]).arg(into).arg(keys);
    python.output().expect("Python is installed")
}

#[test]
fn the_vectors_are_restored() {
    let directory = tempfile::tempdir().expect("a directory");
    for (number, receipt) in BACKUPS {
        let into = directory.path().join(number);
        let mut restore = sealant();
        restore.args(["restore", number, "--receipt", receipt, "--repository"]).arg(vector("backup/repository"));
        restore.arg("--identity").arg(vector("backup/identity"));
        restore.arg("--allowed-signers").arg(vector("backup/signers"));
        restore.arg("--keyring").arg(vector("keyring/mysql97-component-file.json")).arg("--into").arg(&into);
        let restored = restore.output().expect("the binary starts");
        let said = String::from_utf8_lossy(&restored.stderr);
        // The stubs of the system tablespace and the redo log are damaged.
        assert_eq!(restored.status.code(), Some(3), "{said}");
        assert!(said.contains("2 pages are damaged, as they were at the backup"), "{said}");
        has_files_of(number, &into);
    }
}

#[test]
fn the_vectors_are_restored_without_sealant() {
    let directory = tempfile::tempdir().expect("a directory");
    // The keys that the backup holds, for a recipient of their own.
    let keys = directory.path().join("keys.json");
    let mut age = Command::new("age");
    age.arg("-d").arg("-i").arg(vector("backup/key-identity")).arg("-o").arg(&keys);
    let opened = age.arg(vector("backup/repository/hosts/db1/keys/000002.age")).status();
    assert!(opened.expect("age is installed").success());
    for (number, keys) in [("1", vector("keyring/mysql97-component-file.json")), ("2", keys)] {
        let into = directory.path().join(number);
        let restored = by_hand(number, &into, &keys);
        assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
        has_files_of(number, &into);
    }
    let other = vector("keyring/mysql97-8k-component-file.json");
    let refused = by_hand("1", &directory.path().join("other"), &other);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("demo/enc.ibd") && said.contains("is not among KEYS"), "{said}");
}
