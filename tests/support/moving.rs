//! Runs `sealant receive` and `sealant send`, and compares directories.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

use super::sealant;

/// A receiver that is listening.
pub(crate) struct Receiving {
    child: Child,
    /// The pairing code, the first line of its output.
    pub(crate) code: String,
    output: BufReader<std::process::ChildStdout>,
}

impl Receiving {
    /// Starts a receiver into a directory, on a free port of this host.
    pub(crate) fn begin(into: &Path, more: &[&str]) -> Self {
        let mut command = sealant();
        command.args(["receive", "--listen", "127.0.0.1:0", "--into"]).arg(into).args(more);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let mut code = String::new();
        output.read_line(&mut code).expect("stdout is read");
        Self { child, code: code.trim().to_owned(), output }
    }

    /// Waits for its end; returns exit code and stderr.
    pub(crate) fn end(mut self) -> (i32, String) {
        let mut stderr = String::new();
        self.child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("stderr is text");
        self.output.read_to_string(&mut String::new()).expect("stdout is text");
        let status = self.child.wait().expect("it ends");
        (status.code().unwrap_or(-1), stderr)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it was there");
        self.child.wait().expect("it ends");
    }
}

/// Runs a sender to its end.
pub(crate) fn send(source: &Path, destination: &str, more: &[&str]) -> Output {
    sealant().arg("send").arg(source).arg(destination).args(more).output().expect("the binary starts")
}

/// Sends a directory, and asserts that both sides succeed and that it arrived unchanged. Returns the sender's report.
#[track_caller]
pub(crate) fn moves(source: &Path, into: &Path, more: &[&str]) -> serde_json::Value {
    let receiving = Receiving::begin(into, &[]);
    assert!(receiving.code.starts_with("sealant1-"), "{}", receiving.code);
    let report = tempfile::NamedTempFile::new().expect("a temporary file");
    let location = report.path().to_str().expect("ASCII");
    let sent = send(source, &receiving.code, &[&["--report", location], more].concat());
    let (code, stderr) = receiving.end();
    assert_eq!(sent.status.code(), Some(0), "{}\n{stderr}", String::from_utf8_lossy(&sent.stderr));
    assert_eq!(code, 0, "{stderr}");
    assert_same(source, into);
    serde_json::from_slice(&fs::read(report.path()).expect("a report")).expect("JSON")
}

/// The compared properties of a file: kind and permissions, times, allocated bytes, content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Item {
    mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
    target: Option<PathBuf>,
    content: Option<Vec<u8>>,
}

impl Item {
    /// Content of a file.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.content.as_deref().unwrap_or_default()
    }
}

/// Everything in a directory except manifests.
pub(crate) fn tree(root: &Path) -> BTreeMap<PathBuf, Item> {
    let mut found = BTreeMap::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        for item in fs::read_dir(root.join(&directory)).expect("a directory") {
            let name: OsString = item.expect("an item").file_name();
            if directory.as_os_str().is_empty() && name.to_string_lossy().starts_with("sealant-manifest") {
                continue;
            }
            let path = directory.join(name);
            let absolute = root.join(&path);
            let metadata = fs::symlink_metadata(&absolute).expect("metadata");
            if metadata.is_dir() {
                directories.push(path.clone());
            }
            let item = Item {
                mode: metadata.mode(),
                owner: (metadata.uid(), metadata.gid()),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                target: fs::read_link(&absolute).ok(),
                content: metadata.is_file().then(|| fs::read(&absolute).expect("a file")),
            };
            found.insert(path, item);
        }
    }
    found
}

/// Asserts that both directories are equal in content and properties.
#[track_caller]
pub(crate) fn assert_same(one: &Path, other: &Path) {
    let (one, other) = (tree(one), tree(other));
    let paths = |tree: &BTreeMap<PathBuf, Item>| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(paths(&one), paths(&other));
    for (path, item) in &one {
        let theirs = &other[path];
        assert!(item.content == theirs.content, "{} has other bytes", path.display());
        let of = |item: &Item| (item.mode, item.owner, item.modified, item.target.clone());
        assert_eq!(of(item), of(theirs), "{}", path.display());
    }
}

/// Incompressible bytes, the same for the same seed.
pub(crate) fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let message = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    message.flatten().take(bytes).collect()
}
