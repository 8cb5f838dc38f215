//! Directories and files of a set-up.

use std::{
    fs,
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde::{Serialize, Serializer};
use zeroize::Zeroizing;

use super::Error;
use crate::option_file;
use files::WriteOptions;

/// A directory or file.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Path.
    pub path: PathBuf,
    /// Human-readable purpose.
    pub what: String,
    /// Permissions, in octal digits.
    #[serde(serialize_with = "octal")]
    pub mode: u32,
    /// User and group id; those of the caller, if `None`.
    pub owner: Option<(u32, u32)>,
    /// Content, unless it is secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the part exists.
    pub condition: Presence,
}

/// Whether a part exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// It would be written.
    Missing,
    /// It existed as planned.
    There,
    /// It was written.
    Written,
}

/// How to write a part.
#[derive(Clone, Debug)]
pub(super) enum WriteMethod {
    /// Create a directory.
    Directory,
    /// Write its text.
    Text,
    /// Append its text.
    Append,
    /// Create an empty file.
    Empty,
    /// Write a new password.
    Password,
    /// Write new keys, encrypted with the password in a file.
    Keys {
        /// Number of keys.
        keys: u32,
        /// Path of the password file.
        password: PathBuf,
    },
}

fn octal<S: Serializer>(mode: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{mode:04o}"))
}

impl Part {
    /// A file with text that is not secret.
    pub(super) fn text(path: PathBuf, what: &str, mode: u32, owner: Option<(u32, u32)>, text: String) -> Self {
        Self { path, what: what.to_owned(), mode, owner, text: Some(text), condition: Presence::Missing }
    }

    /// A file or directory whose content is not shown.
    pub(super) fn secret(path: PathBuf, what: &str, mode: u32, owner: Option<(u32, u32)>) -> Self {
        Self { path, what: what.to_owned(), mode, owner, text: None, condition: Presence::Missing }
    }

    pub(super) fn there(self, there: bool) -> Self {
        Self { condition: if there { Presence::There } else { Presence::Missing }, ..self }
    }
}

/// The directory of the keys, accessible only to the server.
pub(super) fn directory(keyring: &Path, owner: (u32, u32), datadir: &Path) -> Result<(Part, WriteMethod), Error> {
    let path = files::parent(keyring).to_owned();
    let part = Part::secret(path.clone(), "directory of the keyring", 0o700, Some(owner));
    let metadata = match fs::metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((part, WriteMethod::Directory)),
        Err(source) => return Err(Error::Look { path, source }),
        Ok(metadata) => metadata,
    };
    let refuse = |reason: String| Err(Error::Unsafe { path: path.clone(), reason });
    if !metadata.is_dir() {
        return refuse("is not a directory".to_owned());
    }
    if metadata.uid() != owner.0 {
        return refuse(format!("belongs to user {}, not to the server's, {}", metadata.uid(), owner.0));
    }
    // The data directory's own mode is not judged here.
    if metadata.mode() & 0o027 != 0 && path != datadir {
        return refuse(format!("is open to others (mode {:04o})", metadata.mode() & 0o7777));
    }
    Ok((Part { mode: metadata.mode() & 0o7777, ..part }.there(true), WriteMethod::Directory))
}

/// Content of a file; `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
    match keyring::read_file(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(keyring::Error::NotFound) => Ok(None),
        Err(source) => Err(Error::KeyFile { path: path.to_owned(), source }),
    }
}

/// Writes a missing part.
pub(super) fn written(part: &Part, action: &WriteMethod) -> Result<(), Error> {
    let path = &part.path;
    let failed = |source: io::Error| Error::Write { path: path.clone(), source };
    let secret = |source| Error::KeyFile { path: path.clone(), source };
    let text = part.text.as_deref().unwrap_or_default();
    let options = WriteOptions { mode: part.mode, owner: part.owner, replace: false };
    let bytes = match action {
        WriteMethod::Directory => return files::create_directory(path, options).map_err(failed),
        WriteMethod::Text => Zeroizing::new(text.as_bytes().to_vec()),
        WriteMethod::Empty => Zeroizing::default(),
        WriteMethod::Append => return option_file::append(path, text).map_err(failed),
        WriteMethod::Password => keyring::new_password().map_err(secret)?,
        WriteMethod::Keys { keys, password } => {
            let read = keyring::read_file(password);
            let password = read.map_err(|source| Error::KeyFile { path: password.clone(), source })?;
            Zeroizing::new(keyring::new_key_file(*keys, &password).map_err(secret)?)
        }
    };
    files::write_atomic(path, &bytes, options).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Error::KeysExist { path: path.clone() },
        _ => failed(error),
    })
}
