//! Audits several servers concurrently, with one outcome.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use pki::Fingerprint;
use serde::Deserialize;
use server::Target;
use server::login::{Login, PasswordSource, Prompt};
use server::option_file::Warning;

use crate::Error;
use crate::collect::KeyCopies;
use crate::facts::Facts;
use crate::outcome::Outcome;
use crate::rules::Rules;
use crate::run::judge;
use crate::source::{self, Source};

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
pub struct Fleet {
    /// Number of servers audited concurrently.
    #[serde(default = "default_concurrency")]
    concurrency: usize,
    /// Directory of saved facts, one server per file.
    #[serde(default)]
    facts_directory: Option<PathBuf>,
    #[serde(default)]
    server: Vec<Member>,
}

const fn default_concurrency() -> usize {
    8
}

/// A server of the fleet, with its settings that differ from the common ones.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Member {
    /// Name in the report, instead of its address.
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

/// Settings common to all servers of a fleet.
pub struct FleetOptions<'c> {
    /// What to examine.
    pub source: &'c Source,
    /// Login options.
    pub login: &'c Login,
    /// Asks the user at a terminal.
    pub prompt: &'c (dyn Prompt + Sync),
    /// How to judge.
    pub rules: &'c Rules,
    /// Time of judgement.
    pub now: Timestamp,
}

/// Events while a fleet is audited.
#[derive(Debug)]
pub enum Event<'e> {
    /// A warning about an option file with connection options.
    OptionFile(&'e Warning),
    /// A server could not be audited; the others continue.
    Failed {
        /// Its name in the report.
        name: &'e str,
        /// The reason.
        reason: &'e str,
    },
    /// A server is done.
    Done {
        /// Number of servers done.
        done: usize,
        /// Total number of servers.
        of: usize,
    },
}

impl Fleet {
    /// Reads a fleet file; paths in it are relative to its directory.
    ///
    /// # Errors
    /// [`Error::File`] and [`Error::BadFleet`].
    pub fn load(file: &Path) -> Result<Self, Error> {
        let fail = |why: String| Error::BadFleet { path: file.to_owned(), why };
        let text = std::fs::read_to_string(file).map_err(|source| Error::File { path: file.to_owned(), source })?;
        let mut fleet: Self = files::toml::parse(&text).map_err(fail)?;
        let base = file.parent().unwrap_or_else(|| Path::new("."));
        for member in &mut fleet.server {
            // Checked before anything is shown: the URL serves as the server's name, and must not reveal a password.
            if let Some(Err(error @ server::Error::PasswordInUrl)) = member.url.as_deref().map(str::parse::<Target>) {
                return Err(fail(error.to_string()));
            }
            member.resolve(base);
        }
        if let Some(directory) = &fleet.facts_directory {
            let directory = base.join(directory);
            let found = recorded(&directory).map_err(|error| fail(format!("{}: {error}", directory.display())))?;
            fleet.server.extend(found);
        }
        if fleet.server.is_empty() {
            return Err(fail("it names no server".to_owned()));
        }
        Ok(fleet)
    }

    /// The servers.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.server
    }

    /// The servers, without the fleet.
    #[must_use]
    pub fn into_members(self) -> Vec<Member> {
        self.server
    }

    /// Number of servers to be audited concurrently.
    #[must_use]
    pub const fn concurrency(&self) -> usize {
        self.concurrency
    }

    /// Audits every member; one that fails is in the outcome and does not stop the others.
    pub fn audit(&self, common: &FleetOptions<'_>, tell: &(dyn Fn(Event<'_>) + Sync)) -> Outcome {
        let done = Mutex::new(0_usize);
        let parts = self.each(&|member| {
            let outcome = member.audit(common, tell);
            if let Ok(mut done) = done.lock() {
                *done = done.saturating_add(1);
                tell(Event::Done { done: *done, of: self.server.len() });
            }
            outcome
        });
        let mut outcome = Outcome::empty(common.now);
        outcome.absorb_all(parts);
        outcome
    }

    /// Calls `work` with every member, with several concurrently; outcomes are in the order of their servers' names.
    pub fn each(&self, work: &(dyn Fn(&Member) -> Outcome + Sync)) -> Vec<Outcome> {
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let worker = || {
            while let Some(member) = self.server.get(next.fetch_add(1, Ordering::Relaxed)) {
                let outcome = work(member);
                if let Ok(mut done) = done.lock() {
                    done.push(outcome);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.concurrency.clamp(1, self.server.len().max(1)) {
                scope.spawn(worker);
            }
        });
        let mut outcomes = done.into_inner().unwrap_or_default();
        outcomes.sort_by(|a: &Outcome, b| a.servers.iter().map(|s| &s.target).cmp(b.servers.iter().map(|s| &s.target)));
        outcomes
    }
}

impl Member {
    fn audit(&self, common: &FleetOptions<'_>, tell: &(dyn Fn(Event<'_>) + Sync)) -> Outcome {
        let warn = |odd: &Warning| tell(Event::OptionFile(odd));
        match self.facts(common.source, common.login, common.prompt, &warn) {
            Ok(mut facts) => {
                if let Some(name) = &self.name {
                    facts.target.clone_from(name);
                }
                judge(&facts, common.rules, common.now)
            }
            Err(error) => {
                let (name, reason) = (self.label(), error.one_line());
                tell(Event::Failed { name: &name, reason: &reason });
                Outcome::failed(&name, &reason, common.now)
            }
        }
    }

    /// Collects the facts about the server, or loads them; its own settings come before the common ones. Warnings about
    /// option files go to `warn`.
    ///
    /// # Errors
    /// Errors of [`Source::facts`].
    pub fn facts(
        &self,
        common: &Source,
        login: &Login,
        prompt: &dyn Prompt,
        warn: &dyn Fn(&Warning),
    ) -> Result<Facts, Error> {
        let tell = |event: source::SourceEvent<'_>| {
            if let source::SourceEvent::OptionFile(odd) = event {
                warn(odd);
            }
        };
        self.source(common).facts(&self.login(login), prompt, &tell)
    }

    /// Whether it is a directory without a server.
    #[must_use]
    pub const fn is_offline(&self) -> bool {
        self.offline.is_some()
    }

    /// Whether it is a file of saved facts.
    #[must_use]
    pub const fn is_recorded(&self) -> bool {
        self.facts.is_some()
    }

    /// Its name in reports: the given one, else its address.
    #[must_use]
    pub fn label(&self) -> String {
        let path = [&self.socket, &self.offline, &self.facts].into_iter().flatten().next();
        let address = self.url.clone().or_else(|| path.map(|path| path.display().to_string()));
        self.name.clone().or(address).unwrap_or_else(|| "unnamed server".to_owned())
    }

    /// The common settings for this server.
    fn source(&self, common: &Source) -> Source {
        Source {
            url: self.url.clone(),
            socket: self.socket.clone(),
            offline: self.offline.clone(),
            facts: self.facts.clone(),
            datadir: self.datadir.clone(),
            backup_dirs: self.backup.clone(),
            client_names: self.client_name.clone(),
            // A copy can only be proven on the server's files.
            key_copies: if common.no_files { KeyCopies::default() } else { self.key_copies() },
            ..common.clone()
        }
    }

    fn key_copies(&self) -> KeyCopies {
        KeyCopies {
            keyrings: self.keyring_copy.clone(),
            key_files: self.key_file_copy.clone(),
            key_file_password_file: self.key_file_copy_password_file.clone(),
        }
    }

    fn login(&self, common: &Login) -> Login {
        Login {
            user: self.user.clone().or_else(|| common.user.clone()),
            option_file: self.defaults_file.clone().or_else(|| common.option_file.clone()),
            password: self.password_file.clone().map_or_else(|| common.password.clone(), PasswordSource::File),
            ca_file: self.tls_ca.clone().or_else(|| common.ca_file.clone()),
            fingerprints: match self.tls_fingerprint.as_slice() {
                [] => common.fingerprints.clone(),
                current => current.to_vec(),
            },
            ..common.clone()
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(text: &str) -> Result<Fleet, Error> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("fleet.toml");
        std::fs::write(&file, text).unwrap();
        Fleet::load(&file)
    }

    #[test]
    fn a_fleet_without_servers_or_with_a_misspelled_option_is_wrong_usage() {
        for text in ["", "concurrency = 2\n", "[[server]]\nurll = \"mysql://a@h\"\n"] {
            let error = fleet(text).unwrap_err();
            assert!(matches!(error, Error::BadFleet { .. }) && error.is_misuse(), "{text}: {error}");
        }
    }

    #[test]
    fn a_url_with_a_password_is_refused_without_repeating_it() {
        let error = fleet("[[server]]\nurl = \"mysql://audit:s3cret@db1\"\n").unwrap_err();
        assert!(error.is_misuse() && !error.to_string().contains("s3cret"), "{error}");
    }

    #[test]
    fn paths_are_relative_to_the_file() {
        let fleet = fleet("[[server]]\nsocket = \"db1.sock\"\nkeyring-copy = [\"/safe/keyring\"]\n").unwrap();
        let member = fleet.server.first().unwrap();
        assert!(member.socket.as_ref().unwrap().is_absolute());
        assert_eq!(member.keyring_copy, [PathBuf::from("/safe/keyring")]);
    }

    #[test]
    fn settings_of_a_server_override_common_ones() {
        let fleet = fleet("[[server]]\nurl = \"mysql://db1\"\nuser = \"own\"\npassword-file = \"/pw\"\n").unwrap();
        let member = fleet.server.first().unwrap();
        let common = Login {
            user: Some("common".to_owned()),
            ca_file: Some("/ca.pem".into()),
            password: PasswordSource::Prompt,
            ..Login::default()
        };
        let login = member.login(&common);
        assert_eq!((login.user.as_deref(), login.ca_file), (Some("own"), Some("/ca.pem".into())));
        assert!(matches!(login.password, PasswordSource::File(path) if path == Path::new("/pw")));
        let source = member.source(&Source { deep: true, socket: Some("/s".into()), ..Source::default() });
        assert!(source.deep && source.socket.is_none());
        assert_eq!(source.url.as_deref(), Some("mysql://db1"));
    }
}
