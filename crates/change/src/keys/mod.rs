//! `sealant keys`: every key that opens something on a server, where, and who still needs it. Never a
//! key.
//!
//! Three sources are laid side by side: what the back end holds, what the headers of the server's files
//! ask for, and what the [`Register`] knows of dates and backups. The server is
//! not changed; the register only if that is asked for.

mod back_end;
mod entries;
mod uses;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use register::{BackupRecord, Ledger, Register};
use serde::Serialize;
use server::{Options, Target};
use verify::Unread;

use self::{back_end::Holding, uses::Asked};
pub use self::{
    back_end::{BackEnd, Storage},
    entries::{KeyEntry, KeyUse},
    uses::{Uses, Where},
};
use crate::{
    LockPatience, Session, StatementLog,
    keyring::LOST,
    rotate::{Error, data_files},
};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "sealant.keys/1";

/// What is wanted.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The data directory, if it is elsewhere than the server says.
    pub datadir: Option<PathBuf>,
    /// The keyring or key file, if it is elsewhere than the server says.
    pub keyring: Option<PathBuf>,
    /// Backups of data to look at.
    pub backups: Vec<PathBuf>,
    /// Backups that are gone.
    pub forgotten: Vec<PathBuf>,
    /// Where the register is.
    pub state_dir: PathBuf,
    /// Write into the register what was seen.
    pub record: bool,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The server.
    pub server: String,
    /// Its version.
    pub version: String,
    /// Its uuid; MariaDB has none.
    pub server_uuid: Option<String>,
    /// The data directory that was looked at.
    pub datadir: PathBuf,
    /// Where the keys come from; none if nothing is configured.
    pub back_end: Option<BackEnd>,
    /// The register's file, whether or not it is there.
    pub register: PathBuf,
    /// When a run that proved it rotated a key last, by the option that asked for it.
    pub last_rotated: BTreeMap<String, Timestamp>,
    /// A rotation has begun and not ended.
    pub unfinished: bool,
    /// The keys, by kind and number.
    pub keys: Vec<KeyEntry>,
    /// Backups of data that the register knows or that were looked at now.
    pub backups: BTreeMap<PathBuf, BackupRecord>,
    /// Files looked at.
    pub files: u64,
    /// Files that could not be read, so that the keys they ask for are not known.
    pub unread: Vec<Unread>,
    /// Whether keys were read from their file now, and tried on what asks for them, if anything does.
    pub tried: bool,
    /// Whether every file could be read, and every key that one asks for is held and opens it.
    pub sound: bool,
    /// What to do at once, if it is not sound because of keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Asks the server, and reads the headers and first pages of its files.
///
/// # Errors
/// [`Error`].
pub fn look(
    target: &Target,
    options: &Options,
    request: &Request,
    log: &StatementLog,
    show: &dyn Fn(&str),
) -> Result<Report, Error> {
    let server = target.to_string();
    show("asking the server");
    let mut session = Session::open(target, options, log, LockPatience::default())?;
    let places = data_files::places(&mut session, request.datadir.as_deref())?;
    let identity = session.identity().clone();
    let known = register::server_name(&identity);
    let holding = Holding::of(&mut session, request.keyring.as_deref())?;
    show("reading the headers of the server's files");
    let asked = Asked::by_server(&mut session, &places, &holding)?;
    let mut register = Ledger::read_unlocked(&request.state_dir, &known)?.unwrap_or_else(|| Register::new(&known));
    let mut unread = asked.unread.clone();
    for backup in &request.backups {
        show(&format!("reading the headers of {}", backup.display()));
        let found = Asked::by_backup(backup, &holding)?;
        unread.extend(found.unread.clone());
        let keys = found.by_key.into_keys().collect();
        register.backups.insert(absolute(backup), BackupRecord { seen: Timestamp::now(), keys });
    }
    register.backups.retain(|path, _| !request.forgotten.iter().any(|gone| absolute(gone) == *path));
    if request.record {
        show("writing the register");
        register = record(request, &known, &server, register, &holding, &asked)?;
    }
    let keys = entries::list(&holding, &asked, &register, &known);
    let tried = holding.readable || keys.iter().all(|key| key.used_by.is_empty());
    let sound = tried && unread.is_empty() && keys.iter().all(KeyEntry::is_sound);
    let remedy = remedy(&holding, tried, &keys);
    Ok(Report {
        schema: SCHEMA,
        server,
        version: identity.version.to_string(),
        server_uuid: identity.server_uuid,
        datadir: places.first().cloned().unwrap_or_default(),
        back_end: holding.back_end,
        register: register::path(&request.state_dir, &known),
        last_rotated: register.last_rotated,
        unfinished: register.unfinished.is_some(),
        keys,
        backups: register.backups,
        files: asked.files,
        unread,
        tried,
        sound,
        remedy,
    })
}

/// The next step where a key is not held, or could not be tried.
fn remedy(holding: &Holding, tried: bool, keys: &[KeyEntry]) -> Option<String> {
    let lost = keys.iter().any(|key| key.is_missing() || key.used_by.values().any(|uses| uses.shut > 0));
    let words = match holding.back_end.as_ref().map(|back_end| &back_end.storage) {
        _ if lost => LOST,
        _ if tried => return None,
        None => {
            "the server runs without its keys: put its keyring back and restart it; its error log says why it has none"
        }
        Some(Storage::Elsewhere { path: None, .. }) => {
            "nothing was opened with keys that are in a service: give a copy of them in a file with --keyring"
        }
        Some(_) => {
            "run as the server's user or as root; if the file is damaged, do not stop the server, and restore it"
        }
    };
    Some(words.to_owned())
}

/// Notes what was seen. Another run may have written the register since it was read.
fn record(
    request: &Request,
    known: &str,
    server: &str,
    seen: Register,
    holding: &Holding,
    asked: &Asked,
) -> Result<Register, Error> {
    let mut ledger = Ledger::open(&request.state_dir, known)?;
    server.clone_into(&mut ledger.register.server);
    ledger.register.backups = seen.backups;
    let held = holding.held.clone().unwrap_or_else(|| ledger.register.in_keyring());
    ledger.register.record_seen(&held, &asked.counts());
    ledger.save()?;
    Ok(ledger.register)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
