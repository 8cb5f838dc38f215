//! Checks whether a server uses its keyring safely, and whether the keyring and its copies open all files.

use std::{
    borrow::Cow,
    fmt::Write as _,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use audit::key_access::KeyAccess;
use findings::Severity;
use keyring::LostKeys;
use rustix::fs::lgetxattr_query;
use serde::Serialize;
use server::{
    Flavor, Options, Target,
    dialect::{encryption::table_option, statement::NOT_ON_REPLICAS},
};

use super::Error;
use crate::{
    KeyStore, LockWait, Session, StatementLog,
    error::KEYRING_LOST,
    keyring::{awaits_first_key, in_memory, lacking, prove_and_list},
    rotate::{copy::KeyringCopy, data_files},
};

/// Name and version of the JSON document.
pub const CHECK_SCHEMA: &str = "sealant.keyring-check/1";

/// Schema with an encrypted table, for which the server must fetch a key and, on MySQL, generate one if there is none.
const SCRATCH_SCHEMA: &str = "sealant_keyring_check";

/// Options of a check.
#[derive(Clone, Debug, Default)]
pub struct CheckRequest {
    /// The data directory, if its path here differs from the server's.
    pub datadir: Option<PathBuf>,
    /// The keyring or key file, if its path here differs from the server's.
    pub keyring: Option<PathBuf>,
    /// Copies that must open everything, too.
    pub copies: Vec<PathBuf>,
    /// Create an encrypted table and drop it.
    pub write_test: bool,
}

/// Result of a check.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// [`CHECK_SCHEMA`].
    pub schema: &'static str,
    /// The server, as messages name it.
    pub server: String,
    /// Version of the server.
    pub version: String,
    /// Results of the single checks, in order.
    pub items: Vec<Item>,
    /// Whether no check failed.
    pub sound: bool,
}

/// Result of a single check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Name of the check.
    pub check: &'static str,
    /// Its state.
    pub state: CheckState,
    /// What was found.
    pub detail: String,
    /// The remedy, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// State of a single check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckState {
    /// Passed.
    Ok,
    /// Failed.
    Failed,
    /// Not executed.
    Skipped,
}

/// Checks a running server. Only the write test changes it, if requested.
///
/// # Errors
/// [`Error`] if the server or its files cannot be read.
pub fn check(
    target: &Target,
    options: &Options,
    request: &CheckRequest,
    log: &StatementLog,
) -> Result<CheckReport, Error> {
    let mut session = Session::open(target, options, log, LockWait::default())?;
    let datadir =
        data_files::directories(&mut session, request.datadir.as_deref())?.into_iter().next().unwrap_or_default();
    let version = session.identity().version.to_string();
    let mut look = Checker { session, request, datadir, items: Vec::new() };
    look.all()?;
    let sound = look.items.iter().all(|item| item.state != CheckState::Failed);
    Ok(CheckReport { schema: CHECK_SCHEMA, server: target.to_string(), version, items: look.items, sound })
}

/// A check in progress.
struct Checker<'r, 'l> {
    session: Session<'l>,
    request: &'r CheckRequest,
    datadir: PathBuf,
    items: Vec<Item>,
}

impl Checker<'_, '_> {
    fn all(&mut self) -> Result<(), Error> {
        let Some(store) = self.active()? else { return Ok(()) };
        if self.request.write_test {
            self.write();
        } else {
            self.add("write-test", CheckState::Skipped, "--write-test creates and drops an encrypted table", "");
        }
        let Some(store) = store else {
            let detail = "no file holds the keys; give the configuration of their service with --keyring";
            self.add("opens", CheckState::Skipped, detail, "");
            self.copies(&self.store_at(PathBuf::new(), None));
            return Ok(());
        };
        if store.names_service() {
            let detail = format!("the keys are in a service, which {} names", store.path().display());
            self.add("place", CheckState::Ok, &detail, "");
        } else {
            self.location(store.path());
        }
        self.modes(&store);
        match awaits_first_key(&mut self.session, &self.datadir, &store) {
            Ok(true) => {
                self.add("opens", CheckState::Skipped, "there is no key yet; the first encrypted table creates one", "")
            }
            Ok(false) => self.opens("opens", &store),
            Err(error) => {
                let remedy = error.hint().unwrap_or(Cow::Borrowed(KEYRING_LOST));
                self.add("opens", CheckState::Failed, &error.to_string(), &remedy);
            }
        }
        self.copies(&store);
        Ok(())
    }

    /// Tries the copies, which have the password of the server's own key file if that has one.
    fn copies(&mut self, store: &KeyStore) {
        for copy in &self.request.copies {
            self.opens("copy-opens", &store.copy(copy.clone()));
        }
    }

    /// The key store of this family at a path.
    fn store_at(&self, file: PathBuf, password: Option<PathBuf>) -> KeyStore {
        match self.session.identity().flavor() {
            Flavor::MariaDb => KeyStore::MariaDb { file, password },
            _ => KeyStore::MySql(file),
        }
    }

    fn add(&mut self, check: &'static str, state: CheckState, detail: &str, remedy: &str) {
        let remedy = (state == CheckState::Failed).then(|| remedy.to_owned());
        self.items.push(Item { check, state, detail: detail.to_owned(), remedy });
    }

    /// `None` if no keyring is active; else the key store, if it is a file.
    fn active(&mut self) -> Result<Option<Option<KeyStore>>, Error> {
        let given = self.request.keyring.clone();
        let Some(active) = self.session.active_key_store(&self.datadir)? else {
            let remedy = "`sealant keyring init`, then restart the server; if that is done, its error log says why not";
            self.add("active", CheckState::Failed, "no keyring or key management is active", remedy);
            return Ok(None);
        };
        let (name, read_only, password) = (active.name, active.read_only, active.password);
        let store = given.or(active.file).map(|file| self.store_at(file, password));
        let state = if read_only { CheckState::Failed } else { CheckState::Ok };
        let detail = if read_only { format!("{name} is active, but read-only") } else { format!("{name} is active") };
        self.add("active", state, &detail, "set \"read_only\": false in its configuration and restart the server");
        Ok(Some(store))
    }

    /// Whether the server can encrypt a new table.
    fn write(&mut self) {
        let encrypted = table_option(self.session.identity().flavor(), true);
        let _ = self.session.query(NOT_ON_REPLICAS);
        let statements = [
            format!("CREATE SCHEMA IF NOT EXISTS {SCRATCH_SCHEMA}"),
            format!("CREATE TABLE IF NOT EXISTS {SCRATCH_SCHEMA}.t (id INT PRIMARY KEY) ENGINE = InnoDB {encrypted}"),
            format!("INSERT IGNORE INTO {SCRATCH_SCHEMA}.t VALUES (1)"),
        ];
        let made = statements.iter().try_for_each(|sql| self.session.change(sql));
        let gone = self.session.change(&format!("DROP SCHEMA IF EXISTS {SCRATCH_SCHEMA}"));
        match made.and(gone) {
            Ok(()) => self.add("write-test", CheckState::Ok, "an encrypted table was created and dropped", ""),
            Err(error) => {
                let remedy = "see the server's error log; can the server's user write to the keyring's directory?";
                self.add("write-test", CheckState::Failed, &error.to_string(), remedy);
            }
        }
    }

    fn location(&mut self, keyring: &Path) {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let inside = real(keyring).starts_with(real(&self.datadir));
        let (state, detail) = if inside {
            (CheckState::Failed, format!("{} is inside the data directory", keyring.display()))
        } else {
            (CheckState::Ok, format!("{} lies outside the data directory", keyring.display()))
        };
        self.add("place", state, &detail, "move it: a copy of the data directory includes the keys");
    }

    /// Checks that only the server's user may read the keys and write their directory, by the rules of the audit. If
    /// the owner's private group may read them, this is mentioned, but the check passes.
    fn modes(&mut self, store: &KeyStore) {
        let owner = fs::metadata(&self.datadir).map(|metadata| metadata.uid()).ok();
        let mut paths = vec![store.path().to_owned()];
        if let KeyStore::MariaDb { password: Some(password), .. } = store {
            paths.push(password.clone());
        }
        let faults: Vec<(String, Severity)> = paths.iter().flat_map(|path| faults(path, owner)).collect();
        let message = faults.iter().map(|(message, _)| message.as_str()).collect::<Vec<_>>().join("; ");
        let remedy = "chmod 0600 the files, 0700 their directory, and chown both to the server's user";
        match faults.iter().map(|(_, severity)| *severity).max() {
            None => self.add("modes", CheckState::Ok, "only the server's user reads the keys", ""),
            Some(Severity::Medium) => {
                let detail = format!("{message}, a group of its owner only; 0600 excludes everybody else");
                self.add("modes", CheckState::Ok, &detail, "");
            }
            Some(_) => self.add("modes", CheckState::Failed, &message, remedy),
        }
    }

    /// Checks that the keyring has all keys of the running server: a key that exists only in memory is lost when the
    /// server stops, even if no file needs it yet.
    fn is_whole(&mut self, store: &KeyStore) -> Result<(), Error> {
        let Ok(Some(memory)) = in_memory(&mut self.session) else { return Ok(()) };
        let copy = KeyringCopy::read(store)?;
        match lacking(&memory, &copy.names()) {
            Some(key) => Err(copy.behind(key, store)),
            None => Ok(()),
        }
    }

    fn opens(&mut self, check: &'static str, store: &KeyStore) {
        let whole = if check == "opens" { self.is_whole(store) } else { Ok(()) };
        match whole.and_then(|()| prove_and_list(&self.datadir, store)) {
            Ok((opened, damaged)) => {
                let mut detail = format!("{} opens {} encrypted files", store.path().display(), opened.encrypted_files);
                let Some(first) = damaged.first() else { return self.add(check, CheckState::Ok, &detail, "") };
                let more = match damaged.len() {
                    1 => String::new(),
                    many => format!(", and {} more are", many.saturating_sub(1)),
                };
                let first = first.display();
                // Writing to a `String` cannot fail.
                let _ = write!(detail, "; none opens {first}, which is damaged where its key is{more}");
                self.add(
                    check,
                    CheckState::Failed,
                    &detail,
                    "check them with `sealant verify`, and restore them from a backup",
                );
            }
            Err(mut error) => {
                let hint = error.hint().filter(|_| store.names_service()).map(Cow::into_owned);
                let usual = if check == "opens" { KEYRING_LOST } else { "copy the keyring again" };
                let remedy = hint.as_deref().unwrap_or(usual);
                let mut also = String::new();
                // A key that the server still has in memory, and the files that need it.
                if let Error::KeyringBehind { lost, .. } = &mut error
                    && let Err(unopened @ Error::KeyringOpensNotAll { .. }) = prove_and_list(&self.datadir, store)
                {
                    // The other error names them, too.
                    *lost = LostKeys::default();
                    also = format!("; {unopened}");
                }
                let detail = format!("{error}{also}");
                self.add(check, CheckState::Failed, &detail, remedy);
            }
        }
    }
}

/// Problems with the permissions of a key file, each with the actual mode.
fn faults(path: &Path, server: Option<u32>) -> Vec<(String, Severity)> {
    let Ok(metadata) = fs::metadata(path) else { return Vec::new() };
    let access = KeyAccess {
        mode: metadata.mode() & 0o7777,
        uid: Some(metadata.uid()),
        gid: Some(metadata.gid()),
        acl: lgetxattr_query(path, "system.posix_acl_access").is_ok_and(|bytes| bytes > 0),
        directory_mode: fs::metadata(files::parent(path)).ok().map(|directory| directory.mode() & 0o7777),
        secret: true,
    };
    let mode = access.mode;
    let message = |(message, severity)| (format!("{} {message} (mode {mode:04o})", path.display()), severity);
    access.faults(server).into_iter().map(message).collect()
}
