//! Runs the `sealant` binary as users do, and reads its output.

pub(crate) mod backup;
pub(crate) mod binlog;
pub(crate) mod chance;
pub(crate) mod clock;
pub(crate) mod disk;
pub(crate) mod encryption;
pub(crate) mod key_services;
pub(crate) mod moving;
pub(crate) mod namespace;
pub(crate) mod proof;
pub(crate) mod rotation;
pub(crate) mod schema;
pub(crate) mod sst;
pub(crate) mod tmpfs;
pub(crate) mod tunnel;
pub(crate) mod unchanged;

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use harness::Server;
use serde_json::Value;

/// The binary under test, without the user's own configuration.
pub(crate) fn sealant() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealant"));
    command.env("NO_COLOR", "1").env_remove("MYSQL_PWD").stdin(std::process::Stdio::null());
    command
}

/// Whether the server's process is stopped by a signal.
pub(crate) fn is_stopped(server: &Server) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.pid().expect("it runs")));
    stat.expect("it runs").contains(") T ")
}

/// Runs the binary to its end.
pub(crate) fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Output {
    sealant().args(args).output().expect("the binary starts")
}

/// JSON output and exit code of an audit.
#[derive(Debug)]
pub(crate) struct Audit {
    pub(crate) json: Value,
    pub(crate) code: i32,
    pub(crate) stderr: String,
}

impl Audit {
    /// Runs `sealant audit … --format json`.
    pub(crate) fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Self {
        let output = sealant().args(["audit", "--format", "json"]).args(args).output().expect("the binary starts");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let json = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("no JSON: {e}\n{}\n{stderr}", String::from_utf8_lossy(&output.stdout)));
        Self { json, code: output.status.code().expect("not killed"), stderr }
    }

    /// Audits a running server as root, over its socket.
    pub(crate) fn live(server: &Server) -> Self {
        Self::live_with(server, &[])
    }

    /// Audits a running server with more options.
    pub(crate) fn live_with(server: &Server, more: &[&str]) -> Self {
        let socket = server.socket().to_str().expect("the harness uses short ASCII paths");
        Self::run([&["--socket", socket, "--user", "root"], more].concat())
    }

    /// Audits every page of the files in a directory.
    pub(crate) fn offline(directory: &Path) -> Self {
        Self::run([OsStr::new("--deep"), OsStr::new("--offline"), directory.as_os_str()])
    }

    /// Findings of one check.
    pub(crate) fn findings(&self, id: &str) -> Vec<&Value> {
        let all = self.json["findings"].as_array().expect("findings are a list");
        all.iter().filter(|finding| finding["id"] == id).collect()
    }

    /// Statuses of one check, without duplicates.
    pub(crate) fn statuses(&self, id: &str) -> Vec<&str> {
        let mut statuses: Vec<&str> = self.findings(id).iter().filter_map(|f| f["status"].as_str()).collect();
        statuses.sort_unstable();
        statuses.dedup();
        statuses
    }

    /// The failure of check `id` for an artefact whose name contains `artefact`.
    pub(crate) fn failure(&self, id: &str, artefact: &str) -> &Value {
        let found = self.findings(id);
        let wanted =
            |f: &&&Value| f["status"] == "FAIL" && f["artefact"].as_str().is_some_and(|a| a.contains(artefact));
        found.iter().find(wanted).unwrap_or_else(|| panic!("no FAIL of {id} for {artefact:?} in {}", pretty(&found)))
    }

    /// Asserts that check `id` failed for an artefact whose name contains `artefact`, with evidence and a fix.
    #[track_caller]
    pub(crate) fn fails(&self, id: &str, artefact: &str) {
        let failure = self.failure(id, artefact);
        assert!(failure["evidence"].as_array().is_some_and(|e| !e.is_empty()), "no evidence: {failure}");
        assert!(failure["remediation"].is_string(), "no fix: {failure}");
        assert!(failure["grade"].is_string(), "no grade: {failure}");
    }

    /// Asserts that `id` passed everywhere.
    #[track_caller]
    pub(crate) fn passes(&self, id: &str) {
        assert_eq!(self.statuses(id), ["PASS"], "{id}: {}", pretty(&self.findings(id)));
    }

    /// Asserts that `id` neither failed nor passed.
    #[track_caller]
    pub(crate) fn unknown(&self, id: &str) {
        assert_eq!(self.statuses(id), ["UNKNOWN"], "{id}: {}", pretty(&self.findings(id)));
    }
}

fn pretty(findings: &[&Value]) -> String {
    serde_json::to_string_pretty(findings).unwrap_or_default()
}
