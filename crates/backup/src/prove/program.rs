//! Prepares the server program so that it finds the keyring.
//!
//! MySQL reads the name of its keyring component from `mysqld.my` next to the program, and the component reads its
//! settings from the plug-in directory. Both belong to the installed server, so a private directory gets a copy of the
//! program and its own settings. A link does not work: the server resolves it (seen on 9.7.4).

use std::{
    fs,
    io::{self, Read},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use files::WriteOptions;
use innodb::keys::MARIADB_SYSTEM_KEY;
use keyring::{COMPONENT_MANIFEST, MariaDbKeys, MysqlKeyring, component};
use server::{
    Capability, ServerVersion,
    dialect::key_store::{keyring_plugin_options, mariadb_plugin_options},
    program,
};

use super::{Prover, private_files::KeySource};
use crate::Error;

/// Name of the copy of a keyring.
pub(super) const KEYRING: &str = "keyring";
/// Name of the copy of a key file of MariaDB.
const KEYS: &str = "keys";

/// A program to start, and the options that load its keyring.
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) options: Vec<String>,
}

/// The version that a program prints.
pub(crate) fn version(path: &Path) -> Result<ServerVersion, Error> {
    let version = program::version(path).map_err(Error::io(path, "cannot be run"))?;
    version.ok_or_else(|| Error::Prove {
        program: path.to_path_buf(),
        reason: "it is not a server: it does not print its version".to_owned(),
    })
}

/// Prepares the program in one private directory, and copies of the keys in another.
pub(crate) fn prepare(
    directory: &Path,
    secrets: &Path,
    version: &ServerVersion,
    prover: &Prover,
) -> Result<Program, Error> {
    let path = prover.mysqld.canonicalize().map_err(Error::io(&prover.mysqld, "cannot be found"))?;
    let installation = program::Installation::around(&path);
    if version.flavor.is_mysql_like() {
        return match &prover.stores.keyring_file()? {
            Some(keyring) => mysql(directory, path, installation, &mysql_keys(keyring, secrets, version)?),
            None => Ok(Program { path, options: installation.options() }),
        };
    }
    let mut options = installation.options();
    if let Some(keys) = prover.stores.key_files.first() {
        let keys = mariadb_keys(keys, secrets)?;
        let password = prover.stores.password_file.as_deref();
        let password = password.map(|password| copy(password, secrets, "password")).transpose()?;
        options.extend(mariadb_plugin_options(&keys, password.as_deref()));
    }
    Ok(Program { path, options })
}

/// Where the keys of the server come from.
pub(super) fn key_source(version: &ServerVersion, prover: &Prover) -> Result<KeySource, Error> {
    let keyring = prover.stores.keyring_file()?.filter(|_| version.flavor.is_mysql_like());
    let key_file = prover.stores.key_files.first().filter(|_| !version.flavor.is_mysql_like());
    let Some(store) = keyring.as_ref().or(key_file) else { return Ok(KeySource::Files) };
    let bytes = keyring::read_file(store).map_err(|source| verify::Error::KeyStore { path: store.clone(), source })?;
    Ok(if keyring::names_service(&bytes) { KeySource::Service } else { KeySource::Files })
}

fn mysql(
    directory: &Path,
    path: PathBuf,
    installation: program::Installation,
    keyring: &Path,
) -> Result<Program, Error> {
    let plugins = installation.plugins.clone().unwrap_or_default();
    let first = first_byte(keyring)?;
    let is_component = first.is_none_or(|first| first == b'{');
    if !is_component {
        // The format of keyring_file, the plug-in of 5.7 and 8.0.
        let mut options = installation.options();
        options.extend(keyring_plugin_options(keyring));
        return Ok(Program { path, options });
    }
    let (programs, components) = (directory.join("bin"), directory.join("plugins"));
    for directory in [&programs, &components] {
        fs::create_dir(directory).map_err(Error::io(directory, "cannot be created"))?;
    }
    let private = programs.join(path.file_name().unwrap_or_default());
    fs::copy(&path, &private).map_err(Error::io(&private, "cannot be written"))?;
    // The program finds these libraries relative to its own directory.
    for name in ["lib", "lib64"] {
        let library = installation.base.join(name);
        if library.is_dir() {
            let link = directory.join(name);
            symlink(&library, &link).map_err(Error::io(&link, "cannot be created"))?;
        }
    }
    let link = components.join(component::LIBRARY);
    symlink(plugins.join(component::LIBRARY), &link).map_err(Error::io(&link, "cannot be created"))?;
    let not_utf8 = || Error::io(keyring, "cannot be named in a configuration")(io::ErrorKind::InvalidFilename.into());
    let settings = component::configuration(keyring, component::Access::ReadOnly).ok_or_else(not_utf8)?;
    write(&components.join(component::CONFIGURATION), settings.as_bytes())?;
    write(&programs.join(COMPONENT_MANIFEST), component::manifest().as_bytes())?;
    let options = program::Installation { plugins: Some(components), ..installation }.options();
    Ok(Program { path: private, options })
}

/// A copy of a keyring file, or a keyring file with the keys from the service that a configuration names.
fn mysql_keys(keyring: &Path, secrets: &Path, version: &ServerVersion) -> Result<PathBuf, Error> {
    let failed = |source| verify::Error::KeyStore { path: keyring.to_owned(), source };
    let bytes = keyring::read_file(keyring).map_err(failed)?;
    if !keyring::names_service(&bytes) {
        return copy(keyring, secrets, KEYRING);
    }
    let keys = MysqlKeyring::open(&bytes).map_err(failed)?;
    let has_components = version.can(Capability::KeyringComponents);
    let keys = if has_components { keys.as_component_file() } else { keys.as_plugin_file() }.map_err(failed)?;
    secret(secrets, KEYRING, &keys)
}

/// A copy of a key file, or a key file with the keys from the service that an option file names.
fn mariadb_keys(file: &Path, secrets: &Path) -> Result<PathBuf, Error> {
    let failed = |source| verify::Error::KeyStore { path: file.to_owned(), source };
    let bytes = keyring::read_file(file).map_err(failed)?;
    if !keyring::names_service(&bytes) {
        return copy(file, secrets, KEYS);
    }
    let keys = MariaDbKeys::open(&bytes, None).map_err(failed)?;
    if !keys.ids().any(|(id, _)| id == MARIADB_SYSTEM_KEY) {
        return Err(Error::NoSystemKey { path: file.to_owned() });
    }
    if keys.ids().any(|(_, version)| version != 1) {
        return Err(Error::KeyVersions { path: file.to_owned() });
    }
    secret(secrets, KEYS, &keys.as_key_file())
}

/// Writes a file that only this user may read.
fn secret(directory: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
    let path = directory.join(name);
    files::write_atomic(&path, bytes, WriteOptions::SECRET).map_err(Error::io(&path, "cannot be written"))?;
    Ok(path)
}

fn first_byte(path: &Path) -> Result<Option<u8>, Error> {
    let (mut byte, failed) = ([0], Error::io(path, "cannot be read"));
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut byte)).map_err(failed)?;
    Ok(byte.first().copied().filter(|_| read > 0))
}

/// Copies a file of keys.
fn copy(from: &Path, directory: &Path, name: &str) -> Result<PathBuf, Error> {
    let to = directory.join(name);
    fs::copy(from, &to).map_err(Error::io(from, "cannot be copied"))?;
    Ok(to)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    fs::write(path, bytes).map_err(Error::io(path, "cannot be written"))
}
