//! Runs `sealant verify` on files of servers, and damages files.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Stdio};

use harness::Server;
use serde_json::Value;

use super::sealant;

/// Result of `sealant verify … --format json`.
pub(crate) struct Proof {
    pub(crate) json: Value,
    pub(crate) code: i32,
    pub(crate) stderr: String,
}

impl Proof {
    /// Verifies files of MySQL.
    pub(crate) fn mysql(paths: &[&Path], keyring: Option<&Path>) -> Self {
        Self::run(paths, "--keyring", keyring)
    }

    /// Verifies files of MariaDB.
    pub(crate) fn mariadb(paths: &[&Path], key_file: Option<&Path>) -> Self {
        Self::run(paths, "--mariadb-key-file", key_file)
    }

    fn run(paths: &[&Path], option: &str, keys: Option<&Path>) -> Self {
        let keys = keys.into_iter().flat_map(|keys| [Path::new(option), keys]);
        let args = paths.iter().copied().chain(keys);
        let output = sealant().args(["verify", "--format", "json"]).args(args).output().expect("the binary starts");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("no JSON: {e}\n{stderr}"));
        Self { json, code: output.status.code().expect("not killed"), stderr }
    }

    pub(crate) fn files(&self) -> &[Value] {
        self.json["files"].as_array().expect("files are a list")
    }

    /// The only file whose path has this suffix.
    #[track_caller]
    pub(crate) fn file(&self, ending: &str) -> &Value {
        let ends = |file: &&Value| file["path"].as_str().is_some_and(|path| path.ends_with(ending));
        self.files().iter().find(ends).unwrap_or_else(|| panic!("no {ending} in {:#}", self.json))
    }

    #[track_caller]
    pub(crate) fn verdict(&self, ending: &str) -> &str {
        self.file(ending)["verdict"].as_str().expect("a verdict is text")
    }

    /// Asserts that every file is proven, or cannot be proven because it is not written yet.
    #[track_caller]
    pub(crate) fn is_sound(&self) {
        let open = ["ok", "clear", "unverifiable", "unidentified"];
        let worse = |file: &&Value| !open.iter().any(|verdict| file["verdict"] == *verdict);
        let worse: Vec<&Value> = self.files().iter().filter(worse).collect();
        assert!(worse.is_empty(), "{:#}\n{}", serde_json::json!(worse), self.stderr);
        assert!(self.code == 0 || self.code == 4, "{}", self.stderr);
    }

    /// Asserts that every file is proven.
    #[track_caller]
    pub(crate) fn is_complete(&self) {
        self.is_sound();
        assert_eq!(self.code, 0, "{:#}", self.json);
    }
}

/// Statements in progress.
pub(crate) struct Statements(Child);

impl Statements {
    /// Starts statements in a client of their own, which is killed on drop.
    pub(crate) fn begin(server: &Server, statements: &str) -> Self {
        let mut client = server.client();
        client.arg(format!("--execute={statements}")).stdout(Stdio::null()).stderr(Stdio::null());
        Self(client.spawn().expect("the client starts"))
    }

    /// Starts statements that take a lock, waits until they have it, and lets them hold it.
    #[track_caller]
    pub(crate) fn hold(server: &Server, statements: &str) -> Self {
        let holding = Self::begin(server, &format!("{statements}; SELECT SLEEP(600)"));
        let sleeping = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP%'";
        harness::wait_until(statements, harness::limit(60), || server.value(sleeping).expect("a count") != "0");
        holding
    }
}

impl Drop for Statements {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Overwrites part of a file.
pub(crate) fn write(path: &Path, at: u64, bytes: &[u8]) {
    File::options().write(true).open(path).expect("opened").write_all_at(bytes, at).expect("written");
}

/// Flips bits of one byte.
pub(crate) fn flip(path: &Path, at: u64, mask: u8) {
    let mut byte = [0];
    File::open(path).expect("opened").read_exact_at(&mut byte, at).expect("read");
    write(path, at, &[byte[0] ^ mask]);
}
