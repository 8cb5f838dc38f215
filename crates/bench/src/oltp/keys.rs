//! Keys for a server with encryption: generated for it, and removed together with its directory.
//!
//! MySQL loads its keyring component by a manifest beside its program, and the component finds its configuration beside
//! the plug-ins. A measurement must not write to either, so the server runs from a link to its program, with links to
//! its plug-ins.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use files::{WriteOptions, write_atomic};
use keyring::component;
use server::{
    dialect::key_store::{
        KEYRING_PLUGIN_LIBRARY, MARIADB_PLUGIN, MARIADB_PLUGIN_LIBRARY, keyring_plugin_options, mariadb_counter_mode,
        mariadb_plugin_options,
    },
    program::{Installation, option},
};

use crate::{Error, tls::StartOptions};

/// Number of keys in a key file of MariaDB: for tables, and for temporary files.
const KEYS: u32 = 2;
/// MariaDB's keys, encrypted.
const KEY_FILE: &str = "keys.enc";
/// The password of [`KEY_FILE`].
const PASSWORD_FILE: &str = "keys.password";
/// MySQL's keys.
const KEYRING: &str = "keyring";

/// Options and files for a server with encryption; `counter_mode` is for MariaDB. `directory` must be private.
pub(super) fn encryption_setup(
    server: &Path,
    mariadb: bool,
    counter_mode: bool,
    directory: &Path,
) -> Result<StartOptions, Error> {
    let plugins = Installation::around(server).plugins.unwrap_or_default();
    if mariadb {
        let mut setup = mariadb_keys(server, &plugins, directory)?;
        setup.options.extend(counter_mode.then(mariadb_counter_mode));
        Ok(setup)
    } else if plugins.join(component::LIBRARY).is_file() {
        component(server, &plugins, directory)
    } else if plugins.join(KEYRING_PLUGIN_LIBRARY).is_file() {
        let installation = keyring_plugin_options(&directory.join(KEYRING));
        Ok(StartOptions { installation, ..StartOptions::default() })
    } else {
        Err(keys_failed(server, component::NAME))
    }
}

/// The stores that [`encryption_setup`] makes in `directory`.
pub(super) fn key_stores(mariadb: bool, directory: &Path) -> verify::KeyStores {
    if mariadb {
        verify::KeyStores {
            key_files: vec![directory.join(KEY_FILE)],
            password_file: Some(directory.join(PASSWORD_FILE)),
            ..verify::KeyStores::default()
        }
    } else {
        verify::KeyStores { keyrings: vec![directory.join(KEYRING)], ..verify::KeyStores::default() }
    }
}

fn mariadb_keys(server: &Path, plugins: &Path, directory: &Path) -> Result<StartOptions, Error> {
    if !plugins.join(MARIADB_PLUGIN_LIBRARY).is_file() {
        return Err(keys_failed(server, MARIADB_PLUGIN));
    }
    let (file, password_file) = (directory.join(KEY_FILE), directory.join(PASSWORD_FILE));
    let password = keyring::new_password()?;
    write_private(&file, &keyring::new_key_file(KEYS, &password)?)?;
    write_private(&password_file, &password)?;
    Ok(StartOptions { options: mariadb_plugin_options(&file, Some(&password_file)), ..StartOptions::default() })
}

fn component(server: &Path, plugins: &Path, directory: &Path) -> Result<StartOptions, Error> {
    let [programs, links] = ["bin", "plugins"].map(|name| directory.join(name));
    for directory in [&programs, &links] {
        fs::create_dir(directory).map_err(Error::file(directory))?;
    }
    for entry in fs::read_dir(plugins).map_err(Error::file(plugins))? {
        let plugin = entry.map_err(Error::file(plugins))?.path();
        let link = links.join(plugin.file_name().unwrap_or_default());
        if plugin.extension().is_some_and(|extension| extension == "so") {
            symlink(&plugin, &link).map_err(Error::file(&link))?;
        }
    }
    let configuration = component::configuration(&directory.join(KEYRING), component::Access::ReadWrite);
    let configuration = configuration.ok_or_else(|| keys_failed(server, "a directory whose name is UTF-8"))?;
    write_private(&links.join(component::CONFIGURATION), configuration.as_bytes())?;
    write_private(&programs.join(keyring::COMPONENT_MANIFEST), component::manifest().as_bytes())?;
    let program = copy_of(server, &programs)?;
    Ok(StartOptions {
        program: Some(program),
        installation: vec![option("plugin-dir", &links)],
        ..StartOptions::default()
    })
}

/// Makes the program available in another directory, by a hard link if possible, because the program's path selects the
/// manifest.
fn copy_of(server: &Path, directory: &Path) -> Result<PathBuf, Error> {
    let server = fs::canonicalize(server).map_err(Error::file(server))?;
    let copy = directory.join("mysqld");
    if fs::hard_link(&server, &copy).is_err() {
        fs::copy(&server, &copy).map_err(Error::file(&server))?;
    }
    Ok(copy)
}

fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_atomic(path, bytes, WriteOptions::SECRET).map_err(Error::file(path))
}

fn keys_failed(server: &Path, what: &str) -> Error {
    Error::program(server, format!("cannot encrypt: it has no {what}"))
}
