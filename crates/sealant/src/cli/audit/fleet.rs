//! Many servers, concurrently, in one report.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ::audit::outcome::{Outcome, Server};
use ::audit::run::{Rules, judge};
use jiff::Timestamp;
use serde::Deserialize;
use server::tls::Fingerprint;

use super::source::Source;
use crate::cli::connect::Login;
use crate::output::message::{Failure, error};
use crate::output::progress::StatusLine;

/// The fleet file.
///
/// ```toml
/// concurrency = 8
/// facts-directory = "recorded"       # every *.json in it
///
/// [[server]]
/// url = "mysql://audit@db1:3306"
/// defaults-file = "/etc/sealant/db1.cnf"
/// ```
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Fleet {
    /// Servers at a time.
    #[serde(default = "default_concurrency")]
    concurrency: usize,
    /// Saved facts, one server a file.
    #[serde(default)]
    facts_directory: Option<PathBuf>,
    #[serde(default)]
    server: Vec<Member>,
}

const fn default_concurrency() -> usize {
    8
}

/// One server of the fleet: where it is, and what differs from the command line.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Member {
    /// What the report calls it, if not by its address.
    name: Option<String>,
    url: Option<String>,
    socket: Option<PathBuf>,
    offline: Option<PathBuf>,
    facts: Option<PathBuf>,
    user: Option<String>,
    defaults_file: Option<PathBuf>,
    password_file: Option<PathBuf>,
    tls_ca: Option<PathBuf>,
    /// SHA-256 of the server's certificate.
    #[serde(default)]
    tls_fingerprint: Vec<Fingerprint>,
    datadir: Option<PathBuf>,
    #[serde(default)]
    backup: Vec<PathBuf>,
    #[serde(default)]
    client_name: Vec<String>,
    #[serde(default)]
    keyring_copy: Vec<PathBuf>,
    #[serde(default)]
    key_file_copy: Vec<PathBuf>,
    key_file_copy_password_file: Option<PathBuf>,
}

/// Audits every member; one that fails is reported and does not stop the others.
pub(super) fn run(
    file: &Path,
    source: &Source,
    login: &Login,
    rules: &Rules,
    now: Timestamp,
    quiet: bool,
) -> Result<Outcome, Failure> {
    let fleet = load(file)?;
    let line = StatusLine::new(quiet);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(member) = fleet.server.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = audit(member, source, login, rules, now);
            if let Ok(mut done) = done.lock() {
                done.push(outcome);
                line.show(&format!("{} of {} servers", done.len(), fleet.server.len()));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..fleet.concurrency.clamp(1, fleet.server.len().max(1)) {
            scope.spawn(work);
        }
    });
    line.clear();
    let mut outcome = Outcome::empty(now);
    let mut parts = done.into_inner().unwrap_or_default();
    parts.sort_by(|a: &Outcome, b| a.servers.iter().map(|s| &s.target).cmp(b.servers.iter().map(|s| &s.target)));
    outcome.absorb_all(parts);
    Ok(outcome)
}

fn audit(member: &Member, source: &Source, login: &Login, rules: &Rules, now: Timestamp) -> Outcome {
    let facts = source.of(member).facts(&login_of(login, member), true);
    match facts {
        Ok(mut facts) => {
            if let Some(name) = &member.name {
                facts.target.clone_from(name);
            }
            judge(&facts, rules, now)
        }
        Err(failure) => {
            let name = member.label();
            error(&format!("{name}: {}", failure.error));
            let mut outcome = Outcome::empty(now);
            outcome.servers.push(Server::failed(&name, &failure.error));
            outcome
        }
    }
}

impl Member {
    fn label(&self) -> String {
        let path = [&self.socket, &self.offline, &self.facts].into_iter().flatten().next();
        let place = self.url.clone().or_else(|| path.map(|p| p.display().to_string()));
        self.name.clone().or(place).unwrap_or_else(|| "unnamed server".to_owned())
    }
}

impl Source {
    /// The same options, pointed at a member of a fleet.
    fn of(&self, member: &Member) -> Self {
        Self {
            url: member.url.clone(),
            socket: member.socket.clone(),
            offline: member.offline.clone(),
            facts: member.facts.clone(),
            fleet: None,
            datadir: member.datadir.clone(),
            backup: member.backup.clone(),
            client_name: member.client_name.clone(),
            keyring_copy: member.keyring_copy.clone(),
            key_file_copy: member.key_file_copy.clone(),
            key_file_copy_password_file: member.key_file_copy_password_file.clone(),
            ..self.clone()
        }
    }
}

fn login_of(login: &Login, member: &Member) -> Login {
    Login {
        user: member.user.clone().or_else(|| login.user.clone()),
        defaults_file: member.defaults_file.clone().or_else(|| login.defaults_file.clone()),
        password_file: member.password_file.clone().or_else(|| login.password_file.clone()),
        tls_ca: member.tls_ca.clone().or_else(|| login.tls_ca.clone()),
        tls_fingerprint: match member.tls_fingerprint.as_slice() {
            [] => login.tls_fingerprint.clone(),
            own => own.to_vec(),
        },
        ..login.clone()
    }
}

/// Reads the fleet file; paths in it are relative to its own directory.
fn load(file: &Path) -> Result<Fleet, Failure> {
    let fail = |why: String| Failure::usage(format!("{}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|e| Failure::new(format!("{}: {e}", file.display())))?;
    let mut fleet: Fleet = toml::from_str(&text).map_err(|e| fail(e.to_string()))?;
    let base = file.parent().unwrap_or_else(|| Path::new("."));
    for member in &mut fleet.server {
        member.resolve(base);
    }
    if let Some(directory) = &fleet.facts_directory {
        let directory = base.join(directory);
        let found = recorded(&directory).map_err(|e| fail(format!("{}: {e}", directory.display())))?;
        fleet.server.extend(found);
    }
    if fleet.server.is_empty() {
        return Err(fail("it names no server".to_owned()));
    }
    Ok(fleet)
}

impl Member {
    fn resolve(&mut self, base: &Path) {
        let single = [
            &mut self.socket,
            &mut self.offline,
            &mut self.facts,
            &mut self.defaults_file,
            &mut self.password_file,
            &mut self.tls_ca,
            &mut self.datadir,
            &mut self.key_file_copy_password_file,
        ];
        let lists = [&mut self.backup, &mut self.keyring_copy, &mut self.key_file_copy];
        for path in single.into_iter().flatten().chain(lists.into_iter().flatten()) {
            *path = base.join(&*path);
        }
    }
}

fn recorded(directory: &Path) -> std::io::Result<Vec<Member>> {
    let mut members = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            members.push(Member { facts: Some(path), ..Member::default() });
        }
    }
    members.sort_by(|a, b| a.facts.cmp(&b.facts));
    Ok(members)
}
