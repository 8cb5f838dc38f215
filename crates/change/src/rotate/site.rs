//! What has to be known of a server before its keys are rotated, and what forbids it.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use server::Flavor;

use super::{Error, Request, copy::KeyringCopy};
use crate::{KeyringStatus, Session};

/// `performance_schema.keyring_keys` cuts names off there.
const SHOWN_NAME_BYTES: usize = 64;
/// For `sql_log_bin`.
const SESSION_VARIABLES: &str = "SESSION_VARIABLES_ADMIN ON *.*";

/// A server whose keys may be rotated.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// How messages name it.
    pub(super) server: String,
    pub(super) server_uuid: String,
    /// The keyring's file.
    pub(super) keyring: PathBuf,
    /// The data directory first, then what the server keeps elsewhere.
    pub(super) places: Vec<PathBuf>,
}

impl Site {
    /// Asks the server; what forbids a rotation is an error. Changes nothing.
    pub(super) fn of(session: &mut Session<'_>, server: &str, request: &Request) -> Result<Self, Error> {
        supported(session, server)?;
        privileges(session, request)?;
        let status = KeyringStatus::of(session)?;
        let status = status.ok_or_else(|| crate::Error::NoKeyring { server: server.to_owned() })?;
        if status.read_only {
            return Err(crate::Error::ReadOnlyKeyring { server: server.to_owned(), keyring: status.name }.into());
        }
        if request.binlog_key {
            binary_logs(session, server)?;
        }
        let server_uuid = session.identity().server_uuid.clone().unwrap_or_default();
        let datadir = request.datadir.clone().unwrap_or_else(|| session.identity().datadir.clone());
        is_of(&datadir, &server_uuid)?;
        let places = places(session, datadir)?;
        let keyring = keyring_file(&status, request)?;
        Ok(Self { server: server.to_owned(), server_uuid, keyring, places })
    }
}

fn supported(session: &Session<'_>, server: &str) -> Result<(), Error> {
    let version = &session.identity().version;
    let reason = match version.flavor {
        Flavor::MariaDb => "MariaDB has no master keys that could be rotated",
        _ if !version.at_least(8, 0, 0) => "keys are rotated on MySQL 8.0 and newer",
        _ => return Ok(()),
    };
    Err(crate::Error::Unsupported { server: server.to_owned(), reason: reason.to_owned() }.into())
}

/// What the run will need, asked before it begins.
fn privileges(session: &mut Session<'_>, request: &Request) -> Result<(), Error> {
    let grants = crate::grants::of_session(session)?;
    let mut needed = vec!["PROCESS ON *.*"];
    if session.identity().version.at_least(8, 0, 24) {
        needed.push("SELECT ON performance_schema.keyring_component_status");
    }
    if session.identity().version.at_least(8, 0, 16) {
        needed.push("SELECT ON performance_schema.keyring_keys");
    }
    if request.master_key {
        needed.extend(["ENCRYPTION_KEY_ADMIN ON *.*", SESSION_VARIABLES]);
    }
    if request.binlog_key {
        needed.push("BINLOG_ENCRYPTION_ADMIN ON *.*");
    }
    let wider = |need: &str| match need {
        SESSION_VARIABLES if grants.cover("SYSTEM_VARIABLES_ADMIN ON *.*") => true,
        _ => need.contains("_ADMIN ") && grants.cover("SUPER ON *.*"),
    };
    let missing = needed.into_iter().filter(|need| !grants.cover(need) && !wider(need));
    let missing: Vec<String> = missing.map(str::to_owned).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::Privileges { account: crate::grants::account(session)?, missing })
}

fn binary_logs(session: &mut Session<'_>, server: &str) -> Result<(), Error> {
    let on = session.ask("SHOW GLOBAL VARIABLES LIKE 'binlog_encryption'")?;
    if on.value(0, "Value").is_some_and(|value| value == "ON" || value == "1") {
        return Ok(());
    }
    Err(Error::BinaryLogsInClear { server: server.to_owned() })
}

/// A proof about another server's files is none.
fn is_of(datadir: &Path, server_uuid: &str) -> Result<(), Error> {
    let refuse = |reason: String| Error::OtherDatadir { datadir: datadir.to_owned(), reason };
    let text = fs::read_to_string(datadir.join("auto.cnf")).map_err(|error| {
        refuse(format!("auto.cnf, which tells whose data directory it is, cannot be read: {error}"))
    })?;
    let uuid = text.lines().find_map(|line| line.trim().strip_prefix("server-uuid")?.trim_start().strip_prefix('='));
    match uuid.map(str::trim) {
        Some(uuid) if uuid.eq_ignore_ascii_case(server_uuid) => Ok(()),
        Some(uuid) => Err(refuse(format!("is of the server {uuid}, not of {server_uuid}"))),
        None => Err(refuse("auto.cnf does not tell whose data directory it is".to_owned())),
    }
}

/// Directories and files that the server keeps outside its data directory.
fn places(session: &mut Session<'_>, datadir: PathBuf) -> Result<Vec<PathBuf>, Error> {
    let home = session.identity().datadir.clone();
    let variables = session.ask(
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
         ('innodb_data_home_dir', 'innodb_undo_directory', 'innodb_log_group_home_dir')",
    )?;
    let logs =
        session.ask("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_bin_basename', 'relay_log_basename')")?;
    let files = session.ask("SELECT DISTINCT PATH FROM information_schema.INNODB_DATAFILES")?;
    let mut found: BTreeSet<PathBuf> = BTreeSet::new();
    let values = |rows: &server::Rows, column: &str| -> Vec<PathBuf> {
        let values = (0..rows.rows.len()).filter_map(|row| rows.value(row, column));
        values.filter(|value| value.starts_with('/')).map(PathBuf::from).collect()
    };
    found.extend(values(&variables, "Value"));
    found.extend(values(&logs, "Value").iter().filter_map(|base| Some(base.parent()?.to_owned())));
    found.extend(values(&files, "PATH"));
    let outside = found.into_iter().filter(|path| !path.starts_with(&home) && !path.starts_with(&datadir));
    Ok([datadir.clone()].into_iter().chain(outside).collect())
}

fn keyring_file(status: &KeyringStatus, request: &Request) -> Result<PathBuf, Error> {
    match (&request.keyring, &status.file) {
        (Some(given), Some(used)) if is_other(given, used) => {
            Err(Error::OtherKeyring { given: given.clone(), used: used.clone() })
        }
        (Some(given), _) => Ok(given.clone()),
        (None, Some(used)) => Ok(used.clone()),
        (None, None) => Err(Error::KeyringNotAFile { keyring: status.name.clone() }),
    }
}

/// Whether both are there and not the same; in a container the server's path may not be there.
fn is_other(given: &Path, used: &Path) -> bool {
    match (fs::metadata(given), fs::metadata(used)) {
        (Ok(given), Ok(used)) => (given.dev(), given.ino()) != (used.dev(), used.ino()),
        (Err(_), Ok(_)) => true,
        _ => false,
    }
}

/// Every key that the running server holds is in the file, too.
pub(super) fn is_current(session: &mut Session<'_>, copy: &KeyringCopy) -> Result<(), Error> {
    if !session.identity().version.at_least(8, 0, 16) {
        return Ok(());
    }
    let held = session.ask("SELECT KEY_ID FROM performance_schema.keyring_keys WHERE KEY_OWNER = ''")?;
    let shown: BTreeSet<String> = copy.names().iter().map(|name| cut(name).to_owned()).collect();
    let lacking = held.rows.iter().filter_map(|row| row.first()?.as_deref()).find(|key| !shown.contains(cut(key)));
    match lacking {
        Some(key) => Err(Error::KeyringBehind { path: copy.path().to_owned(), key: key.to_owned() }),
        None => Ok(()),
    }
}

fn cut(name: &str) -> &str {
    name.get(..SHOWN_NAME_BYTES).unwrap_or(name)
}
