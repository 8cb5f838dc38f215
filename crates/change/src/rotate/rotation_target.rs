//! Facts about a server before its keys are rotated, and preconditions.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use server::dialect::variable;
use server::{Capability, Flavor, dialect::key_store::ActiveKeyStore};

use super::{Error, RotateRequest, copy::KeyringCopy, data_files};
use crate::{
    KeyStore, Session,
    grants::{self, SESSION_VARIABLES},
    keyring::{has_room, in_memory, lacking},
};

/// A server whose keys may be rotated.
#[derive(Clone, Debug)]
pub(super) struct RotationTarget {
    /// Name of the server in messages.
    pub(super) server: String,
    pub(super) server_uuid: String,
    /// Path of the keyring.
    pub(super) store: KeyStore,
    /// The data directory first, then paths outside it.
    pub(super) directories: Vec<PathBuf>,
}

impl RotationTarget {
    /// Queries the server. A violated precondition is an error. Changes nothing.
    pub(super) fn query(session: &mut Session<'_>, server: &str, request: &RotateRequest) -> Result<Self, Error> {
        supported(session, server, request)?;
        privileges(session, request)?;
        if session.identity().flavor() == Flavor::MariaDb {
            return Self::query_mariadb(session, server, request);
        }
        let datadir = session.datadir(request.datadir.as_deref());
        let status = session.active_key_store(&datadir)?;
        let status = status.ok_or_else(|| Error::NoKeyring { server: server.to_owned() })?;
        if status.read_only {
            return Err(Error::ReadOnlyKeyring { server: server.to_owned(), keyring: status.name });
        }
        if request.binlog_key && !session.is_on(variable::MYSQL_BINARY_LOGS)? {
            return Err(Error::BinaryLogsInClear { server: server.to_owned() });
        }
        if request.redo && !session.is_on(variable::MYSQL_REDO)? {
            return Err(Error::RedoInClear { server: server.to_owned() });
        }
        let server_uuid = register::server_name(session.identity());
        let directories = data_files::directories(session, request.datadir.as_deref())?;
        let keyring = keyring_file(&status, request)?;
        has_room(&keyring)?;
        let store = KeyStore::MySql(keyring);
        Ok(Self { server: server.to_owned(), server_uuid, store, directories })
    }

    /// Path of the data directory on this host.
    pub(super) fn datadir(&self) -> &Path {
        self.directories.first().map_or_else(|| Path::new("/"), PathBuf::as_path)
    }

    fn query_mariadb(session: &mut Session<'_>, server: &str, request: &RotateRequest) -> Result<Self, Error> {
        let datadir = session.datadir(request.datadir.as_deref());
        let plugin = session.active_key_store(&datadir)?;
        let plugin = plugin.ok_or_else(|| Error::NoKeyManagement { server: server.to_owned() })?;
        let server_uuid = register::server_name(session.identity());
        let directories = data_files::directories(session, request.datadir.as_deref())?;
        let file = request.keyring.clone().or(plugin.file);
        let file = file.ok_or(Error::KeyringNotAFile { keyring: plugin.name })?;
        let store = KeyStore::MariaDb { file, password: plugin.password };
        if request.mariadb_new_version.is_some() && !store.takes_new_versions() {
            let reason = if store.names_service() {
                "--mariadb-new-version is for keys in a Vault; here, SET GLOBAL aws_key_management_rotate_key makes one"
            } else {
                "--mariadb-new-version is for keys in a Vault; keys in a file have no versions"
            };
            return Err(Error::Unsupported { server: server.to_owned(), reason: reason.to_owned() });
        }
        Ok(Self { server: server.to_owned(), server_uuid, store, directories })
    }
}

fn supported(session: &Session<'_>, server: &str, request: &RotateRequest) -> Result<(), Error> {
    let version = &session.identity().version;
    let reason = match version.flavor {
        Flavor::MariaDb if request.mariadb_key().is_none() => {
            return Err(Error::NoMasterKey { server: server.to_owned() });
        }
        Flavor::MariaDb if request.rotates_master_key() || request.binlog_key || request.data_keys => {
            "on MariaDB only --mariadb-key-id and --mariadb-new-version are supported"
        }
        Flavor::MariaDb => return Ok(()),
        _ if request.mariadb_key_id.is_some() => "--mariadb-key-id is for MariaDB",
        _ if request.mariadb_new_version.is_some() => "--mariadb-new-version is for MariaDB",
        _ if !session.can(Capability::EncryptTables) => "it cannot encrypt; MySQL 5.7.11 and later can",
        _ if request.binlog_key && !session.can(Capability::EncryptBinaryLogs) => {
            "it cannot encrypt binary logs, and has no key for them"
        }
        _ if request.redo && !session.can(Capability::EncryptRedo) => "it cannot encrypt its redo log",
        _ => return Ok(()),
    };
    Err(Error::Unsupported { server: server.to_owned(), reason: reason.to_owned() })
}

/// Checks all privileges of the run before it starts.
fn privileges(session: &mut Session<'_>, request: &RotateRequest) -> Result<(), Error> {
    let mut needed = vec!["PROCESS ON *.*"];
    let mariadb = session.identity().flavor() == Flavor::MariaDb;
    if mariadb || request.data_keys {
        needed.extend(["ALTER ON *.*", "CREATE ON *.*", "INSERT ON *.*"]);
    }
    if mariadb {
        needed.extend(["BINLOG ADMIN ON *.*", "SUPER ON *.*"]);
    } else if request.data_keys {
        needed.extend(["CREATE TABLESPACE ON *.*", SESSION_VARIABLES]);
    }
    if session.can(Capability::KeyringComponents) {
        needed.push("SELECT ON performance_schema.keyring_component_status");
    }
    if session.can(Capability::ListKeyringKeys) {
        needed.push("SELECT ON performance_schema.keyring_keys");
    }
    if request.rotates_master_key() {
        needed.push("ENCRYPTION_KEY_ADMIN ON *.*");
        needed.extend((!request.data_keys).then_some(SESSION_VARIABLES));
    }
    if request.binlog_key {
        needed.push("BINLOG_ENCRYPTION_ADMIN ON *.*");
    }
    grants::require(session, &needed)
}

fn keyring_file(status: &ActiveKeyStore, request: &RotateRequest) -> Result<PathBuf, Error> {
    match (&request.keyring, &status.file) {
        (Some(given), Some(used)) if is_other(given, used) => {
            Err(Error::OtherKeyring { given: given.clone(), used: used.clone() })
        }
        (Some(given), _) => Ok(given.clone()),
        (None, Some(used)) => Ok(used.clone()),
        (None, None) => Err(Error::KeyringNotAFile { keyring: status.name.clone() }),
    }
}

/// Whether both paths exist and differ. The server's path may not exist outside its container.
fn is_other(given: &Path, used: &Path) -> bool {
    match (fs::metadata(given), fs::metadata(used)) {
        (Ok(given), Ok(used)) => (given.dev(), given.ino()) != (used.dev(), used.ino()),
        (Err(_), Ok(_)) => true,
        _ => false,
    }
}

/// Checks that the file has every key of the running server.
pub(super) fn is_current(session: &mut Session<'_>, copy: &KeyringCopy, store: &KeyStore) -> Result<(), Error> {
    let Some(in_memory) = in_memory(session)? else { return Ok(()) };
    match lacking(&in_memory, &copy.names()) {
        Some(key) => Err(copy.behind(key, store)),
        None => Ok(()),
    }
}
