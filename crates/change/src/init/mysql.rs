//! Sets up MySQL's `component_keyring_file`.
//!
//! The server reads a manifest next to its program, and a configuration next to the component. Both belong to the
//! installation and not to one server, so they only refer to files of the same names in the data directory.
//! Source: MySQL manual, "Keyring Component Installation" and "Using the component_keyring_file File-Based Keyring
//! Component"; confirmed on 9.7.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use keyring::{COMPONENT_MANIFEST, component};
use serde_json::Value;

use super::{
    Error,
    host::Host,
    part::{Part, WriteMethod, directory, read},
};

pub(super) fn parts(host: &Host, keyring: &Path) -> Result<Vec<(Part, WriteMethod)>, Error> {
    let library = host.plugin_dir.join(component::LIBRARY);
    if !library.is_file() {
        let reason = format!("{} is not installed", library.display());
        return Err(Error::NotFound { server: host.datadir.display().to_string(), reason });
    }
    let daemon_dir = host.daemon_dir.clone().ok_or_else(|| Error::NotFound {
        server: host.datadir.display().to_string(),
        reason: "the path of mysqld could not be determined".to_owned(),
    })?;
    let configuration = component::configuration(keyring, component::Access::ReadWrite);
    let configuration = configuration.ok_or_else(|| Error::Unsafe {
        path: keyring.to_owned(),
        reason: "has a name that is not UTF-8, which the configuration cannot hold".to_owned(),
    })?;
    let current = Some(host.owner);
    let parts = vec![
        directory(keyring, host.owner, &host.datadir)?,
        empty(keyring, host.owner)?,
        file(
            host.datadir.join(component::CONFIGURATION),
            "where this server's keyring is",
            (0o640, current),
            &configuration,
        )?,
        file(
            host.plugin_dir.join(component::CONFIGURATION),
            "look for that in each data directory",
            (0o644, None),
            component::LOCAL_CONFIGURATION,
        )?,
        file(
            host.datadir.join(COMPONENT_MANIFEST),
            "load the keyring component",
            (0o640, current),
            &component::manifest(),
        )?,
        file(
            daemon_dir.join(COMPONENT_MANIFEST),
            "look for that in each data directory",
            (0o644, None),
            component::LOCAL_MANIFEST,
        )?,
    ];
    Ok(parts)
}

/// An empty keyring. A mysqld that is started by root would create the file before it changes its user, and could then
/// not write its first key (ER 3185; confirmed on 9.7, which accepts an empty file as a keyring without keys).
fn empty(keyring: &Path, owner: (u32, u32)) -> Result<(Part, WriteMethod), Error> {
    let part = Part::secret(keyring.to_owned(), "keyring, to which the server adds its keys", 0o600, Some(owner));
    let metadata = match fs::symlink_metadata(keyring) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((part, WriteMethod::Empty)),
        Err(source) => return Err(Error::Look { path: keyring.to_owned(), source }),
        Ok(metadata) => metadata,
    };
    let current = metadata.is_file() && metadata.len() == 0 && (metadata.uid(), metadata.gid()) == owner;
    if current && metadata.mode() & 0o7777 == part.mode {
        return Ok((part.there(true), WriteMethod::Empty));
    }
    Err(Error::KeysExist { path: keyring.to_owned() })
}

/// A file with this JSON text. An existing file is kept if it contains the same values, and refused otherwise.
fn file(
    path: PathBuf,
    what: &str,
    (mode, owner): (u32, Option<(u32, u32)>),
    text: &str,
) -> Result<(Part, WriteMethod), Error> {
    let part = Part::text(path.clone(), what, mode, owner, text.to_owned());
    let Some(bytes) = read(&path)? else { return Ok((part, WriteMethod::Text)) };
    let found: Value = serde_json::from_slice(&bytes)
        .map_err(|_| Error::KeyFile { path: path.clone(), source: keyring::Error::NotRecognised })?;
    let wanted: Option<Value> = serde_json::from_str(text).ok();
    let says = |(key, value): (&String, &Value)| found.get(key) == Some(value);
    if wanted.as_ref().and_then(Value::as_object).into_iter().flatten().all(says) {
        return Ok((part.there(true), WriteMethod::Text));
    }
    let reason = match found.get("components").and_then(Value::as_str) {
        Some(components) if components.contains("keyring") => format!("loads {components} already"),
        _ => format!("exists, and does not contain {}", text.trim_end()),
    };
    Err(Error::Configured { path, reason })
}
