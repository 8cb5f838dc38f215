//! `sealant keys`: lists every key of a server, its location, and what needs it. It never shows a key.
//!
//! It compares three sources: the keys of the back end, the key names in the headers of the server's files, and the
//! [`Register`] with dates and backups. The server is not changed; the register only on request.

mod back_end;
mod entries;
mod uses;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use register::{BackupRecord, Register, RegisterFile};
use serde::Serialize;
use server::{Options, Target};
use verify::Unread;

use self::{back_end::AvailableKeys, uses::KeyNeeds};
pub use self::{
    back_end::{BackEnd, Storage},
    entries::{KeyEntry, KeyUse},
    uses::{EncryptedFileKind, KeyUsage},
};
use crate::{
    Error, LockWait, Session, StatementLog,
    error::{KEYRING_LOST, LOST_IN_SERVICE},
    rotate::data_files,
};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "sealant.keys/1";

/// Options.
#[derive(Clone, Debug, Default)]
pub struct KeysRequest {
    /// The data directory, if its path here differs from the server's.
    pub datadir: Option<PathBuf>,
    /// The keyring or key file, if its path here differs from the server's.
    pub keyring: Option<PathBuf>,
    /// Backups of data to examine.
    pub backups: Vec<PathBuf>,
    /// Backups of data that no longer exist.
    pub forgotten: Vec<PathBuf>,
    /// Directory of the register.
    pub state_dir: PathBuf,
    /// Record the result in the register.
    pub record: bool,
}

/// Result.
#[derive(Clone, Debug, Serialize)]
pub struct KeysReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Name of the server in messages.
    pub server: String,
    /// Version of the server.
    pub version: String,
    /// UUID of the server; MariaDB has none.
    pub server_uuid: Option<String>,
    /// Path of the examined data directory.
    pub datadir: PathBuf,
    /// The back end of the keys; `None` if none is configured.
    pub back_end: Option<BackEnd>,
    /// Path of the register, which need not exist.
    pub register: PathBuf,
    /// For each rotate option, the time when a run last rotated that key and proved it.
    pub last_rotated: BTreeMap<String, Timestamp>,
    /// Whether an unfinished rotation exists.
    pub unfinished: bool,
    /// The keys, sorted by kind and number.
    pub keys: Vec<KeyEntry>,
    /// Backups of data in the register, and those examined now.
    pub backups: BTreeMap<PathBuf, BackupRecord>,
    /// Number of files examined.
    pub files: u64,
    /// Files that could not be read, so that their keys are unknown.
    pub unread: Vec<Unread>,
    /// Files that are damaged where they name or hold their key, so that no key opens them.
    pub damaged: Vec<Unread>,
    /// Whether the keys were read from their store and tested on the files that need them.
    pub tried: bool,
    /// Whether every file was readable and names its key, and every key that a file needs exists and opens it.
    pub sound: bool,
    /// Keys that the service no longer has, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withdrawn: Vec<String>,
    /// Keys whose entries are damaged, or that AWS KMS does not recognise, each as a message names it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unusable: Vec<String>,
    /// Keys that the service calls compromised, with the advice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compromised: Vec<String>,
    /// What to do at once, if keys are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Queries the server, and reads the headers and first pages of its files.
///
/// # Errors
/// [`Error`].
pub fn inspect(
    target: &Target,
    options: &Options,
    request: &KeysRequest,
    log: &StatementLog,
    show: &dyn Fn(&str),
) -> Result<KeysReport, Error> {
    let server = target.to_string();
    show("asking the server");
    let mut session = Session::open(target, options, log, LockWait::default())?;
    let directories = data_files::directories(&mut session, request.datadir.as_deref())?;
    let identity = session.identity().clone();
    let known = register::server_name(&identity);
    let datadir = directories.first().cloned().unwrap_or_default();
    let available = AvailableKeys::query(&mut session, request.keyring.as_deref(), &datadir)?;
    show("reading the headers of the server's files");
    let needs = KeyNeeds::by_server(&mut session, &directories, &available)?;
    let mut register =
        RegisterFile::read_unlocked(&request.state_dir, &known)?.unwrap_or_else(|| Register::new(&known));
    let (mut unread, mut damaged) = (needs.unread.clone(), needs.damaged.clone());
    for backup in &request.backups {
        show(&format!("reading the headers of {}", backup.display()));
        let found = KeyNeeds::by_backup(backup, &available)?;
        unread.extend(found.unread.clone());
        damaged.extend(found.damaged.clone());
        let keys = found.by_key.into_keys().collect();
        register.backups.insert(absolute(backup), BackupRecord { seen: Timestamp::now(), keys });
    }
    register.backups.retain(|path, _| !request.forgotten.iter().any(|gone| absolute(gone) == *path));
    if request.record {
        show("writing the register");
        register = record(request, &known, &server, register, &available, &needs)?;
    }
    let keys = entries::list(&available, &needs, &register, &known);
    let tried = available.readable || keys.iter().all(|key| key.used_by.is_empty());
    let sound = tried && unread.is_empty() && damaged.is_empty() && keys.iter().all(KeyEntry::is_sound);
    let remedy = remedy(&available, tried, &keys);
    let lost = available.keys.lost();
    let compromised = available.keys.compromised().map(ToString::to_string).collect();
    Ok(KeysReport {
        schema: SCHEMA,
        server,
        version: identity.version.to_string(),
        server_uuid: identity.server_uuid,
        datadir,
        back_end: available.back_end,
        register: register::path(&request.state_dir, &known),
        last_rotated: register.last_rotated,
        unfinished: register.unfinished.is_some(),
        keys,
        backups: register.backups,
        files: needs.files,
        unread,
        damaged,
        tried,
        sound,
        withdrawn: lost.withdrawn.iter().map(ToString::to_string).collect(),
        unusable: lost.unusable,
        compromised,
        remedy,
    })
}

/// The next step if a key is missing or could not be tested.
fn remedy(available: &AvailableKeys, tried: bool, keys: &[KeyEntry]) -> Option<String> {
    let lost = keys.iter().any(|key| key.is_missing() || key.used_by.values().any(|uses| uses.shut > 0));
    let message = match available.back_end.as_ref().map(|back_end| &back_end.storage) {
        Some(Storage::Service { .. }) if lost => LOST_IN_SERVICE,
        _ if lost => KEYRING_LOST,
        _ if tried => return None,
        None => {
            "the server runs without its keys: put its keyring back and restart it; its error log says why it has none"
        }
        Some(Storage::External { path: None, .. }) => {
            "nothing was opened with keys that are in a service: give the configuration of the service, or a copy \
             of the keys in a file, with --keyring"
        }
        Some(_) => {
            "run as the server's user or as root; if the file is damaged, do not stop the server, and restore it"
        }
    };
    Some(message.to_owned())
}

/// Records the result. Another run may have written the register since it was read.
fn record(
    request: &KeysRequest,
    known: &str,
    server: &str,
    seen: Register,
    available: &AvailableKeys,
    needs: &KeyNeeds,
) -> Result<Register, Error> {
    let mut ledger = RegisterFile::open(&request.state_dir, known)?;
    server.clone_into(&mut ledger.register.server);
    ledger.register.backups = seen.backups;
    let held = available.held.clone().unwrap_or_else(|| ledger.register.in_keyring());
    ledger.register.record_seen(&held, &needs.counts());
    ledger.save()?;
    Ok(ledger.register)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
