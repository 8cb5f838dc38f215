//! Interoperability with the `age` program, in both directions.

#![allow(clippy::unwrap_used, reason = "in a test a failure is to be seen")]

mod support;

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use agefile::{Error, Identity};
use support::{decrypt, encrypt};

/// Lengths around the ends of chunks.
const LENGTHS: [usize; 8] = [0, 1, 65_535, 65_536, 65_537, 131_072, 131_073, 1_000_000];

/// Whether `age` is installed.
///
/// # Panics
/// If it is not and `CI` is set: a skipped test must not count as passed there.
fn is_age_installed() -> bool {
    let here = Command::new("age").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !here {
        harness::skip("no age; run tests/harness/bin/install-servers tools");
    }
    here
}

/// Runs `age`; returns its stdout.
#[track_caller]
fn age(args: &[&str], input: &Path) -> Vec<u8> {
    let output = Command::new("age").args(args).stdin(fs::File::open(input).unwrap()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Identities made by `age-keygen`, and the text of their files.
fn keygen(directory: &Path, count: usize) -> Vec<(Identity, String)> {
    let one = |number: usize| {
        let path = directory.join(format!("identity{number}"));
        let made = Command::new("age-keygen").arg("-o").arg(&path).stderr(Stdio::null()).status().unwrap();
        assert!(made.success());
        let text = fs::read_to_string(&path).unwrap();
        let mut identities = Identity::parse_file(&text).unwrap();
        let identity = identities.pop().unwrap();
        assert!(text.contains(&format!("# public key: {}\n", identity.recipient())), "{text}");
        assert!(text.contains(identity.to_secret_text().as_str()));
        (identity, path.to_str().unwrap().to_owned())
    };
    (0..count).map(one).collect()
}

fn plain(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 253) as u8).collect()
}

#[test]
fn age_opens_our_files() {
    if !is_age_installed() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let keys = keygen(directory.path(), 3);
    let recipients: Vec<_> = keys.iter().map(|(identity, _)| identity.recipient()).collect();
    let file = directory.path().join("file.age");
    for length in LENGTHS {
        fs::write(&file, encrypt(&plain(length), &recipients)).unwrap();
        for (_, identity) in &keys {
            assert!(age(&["-d", "-i", identity], &file) == plain(length), "{length}");
        }
    }
    let ours = Identity::generate().unwrap();
    let written = directory.path().join("ours");
    fs::write(&written, ours.to_secret_text()).unwrap();
    fs::write(&file, encrypt(b"to our own identity", &[ours.recipient()])).unwrap();
    assert_eq!(age(&["-d", "-i", written.to_str().unwrap()], &file), b"to our own identity");
}

#[test]
fn we_open_files_of_age() {
    if !is_age_installed() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut keys: Vec<Identity> = keygen(directory.path(), 2).into_iter().map(|(identity, _)| identity).collect();
    keys.push(Identity::generate().unwrap());
    let recipients: Vec<String> = keys.iter().map(|identity| identity.recipient().to_string()).collect();
    let args: Vec<&str> = recipients.iter().flat_map(|recipient| ["-r", recipient]).collect();
    let file = directory.path().join("plain");
    for length in LENGTHS {
        fs::write(&file, plain(length)).unwrap();
        let encrypted = age(&args, &file);
        for identity in &keys {
            let (read, end) = decrypt(&encrypted, std::slice::from_ref(identity));
            end.unwrap();
            assert!(read == plain(length), "{length}");
        }
        let (read, end) = decrypt(&encrypted, &[Identity::generate().unwrap()]);
        assert!(read.is_empty() && matches!(end, Err(Error::NoMatch)));
    }
    let armored = age(&["-a", "-r", &recipients[0]], &file);
    assert!(matches!(decrypt(&armored, &keys).1, Err(Error::Armored)));
}
