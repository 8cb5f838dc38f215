//! The register on disk.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use files::{
    WriteOptions,
    regular::{self, Links},
};

use crate::{Error, Register, SCHEMA};

/// Largest register that is read; a key takes some hundred bytes.
const MAX_BYTES: u64 = 64 << 20;

/// The register's file, locked against other runs.
#[derive(Debug)]
pub struct RegisterFile {
    path: PathBuf,
    /// Content; [`Self::save`] writes it.
    pub register: Register,
    /// Locked until this value is dropped.
    _lock: Option<File>,
}

impl RegisterFile {
    /// Opens the register of the server named [`crate::server_name`] and locks it.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Unusable`].
    pub fn open(directory: &Path, server_uuid: &str) -> Result<Self, Error> {
        let path = path(directory, server_uuid);
        let failed = |error: io::Error| Error::Unusable { path: path.clone(), reason: error.to_string() };
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
        let lock_path = path.with_extension("lock");
        let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(&lock_path).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(Error::Busy { path: lock_path }),
            Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
        }
        Ok(Self {
            register: read(&path, server_uuid)?.unwrap_or_else(|| Register::new(server_uuid)),
            path,
            _lock: Some(lock),
        })
    }

    /// Reads a register without locking it; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Unusable`].
    pub fn read_unlocked(directory: &Path, server_uuid: &str) -> Result<Option<Register>, Error> {
        read(&path(directory, server_uuid), server_uuid)
    }

    /// Writes the register to disk.
    ///
    /// # Errors
    /// [`Error::Unusable`].
    pub fn save(&self) -> Result<(), Error> {
        let failed = |reason: String| Error::Unusable { path: self.path.clone(), reason };
        let mut bytes = serde_json::to_vec_pretty(&self.register).map_err(|error| failed(error.to_string()))?;
        bytes.push(b'\n');
        files::write_atomic(&self.path, &bytes, WriteOptions::SECRET.replacing(true))
            .map_err(|error| failed(error.to_string()))
    }
}

/// Path of a server's register.
#[must_use]
pub fn path(directory: &Path, server_uuid: &str) -> PathBuf {
    directory.join(format!("keys-{server_uuid}.json"))
}

fn read(path: &Path, server_uuid: &str) -> Result<Option<Register>, Error> {
    let failed = |reason: String| Error::Unusable { path: path.to_owned(), reason };
    let bytes = match regular::read(path, Links::Followed, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error.to_string())),
    };
    let register: Register = serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
    if register.schema != SCHEMA {
        return Err(failed(format!("is {:?}, this version reads {SCHEMA:?}", register.schema)));
    }
    if !register.server_uuid.eq_ignore_ascii_case(server_uuid) {
        return Err(failed(format!("is of the server {}, not of {server_uuid}", register.server_uuid)));
    }
    Ok(Some(register))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_at_a_time_and_a_damaged_register_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let register_file = RegisterFile::open(directory.path(), "u").unwrap();
        assert!(matches!(RegisterFile::open(directory.path(), "u"), Err(Error::Busy { .. })));
        register_file.save().unwrap();
        drop(register_file);
        assert_eq!(RegisterFile::open(directory.path(), "u").unwrap().register.schema, SCHEMA);
        fs::write(path(directory.path(), "u"), "{").unwrap();
        assert!(matches!(RegisterFile::open(directory.path(), "u"), Err(Error::Unusable { .. })));
    }

    #[test]
    fn a_register_of_another_server_or_version_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(RegisterFile::read_unlocked(directory.path(), "u").unwrap(), None);
        RegisterFile::open(directory.path(), "u").unwrap().save().unwrap();
        assert!(RegisterFile::read_unlocked(directory.path(), "U".to_lowercase().as_str()).unwrap().is_some());
        fs::copy(path(directory.path(), "u"), path(directory.path(), "v")).unwrap();
        let foreign = RegisterFile::read_unlocked(directory.path(), "v").unwrap_err().to_string();
        assert!(foreign.contains("is of the server u, not of v"), "{foreign}");
        let text = fs::read_to_string(path(directory.path(), "u")).unwrap();
        fs::write(path(directory.path(), "u"), text.replace("key-register/1", "key-register/2")).unwrap();
        let newer = RegisterFile::read_unlocked(directory.path(), "u").unwrap_err().to_string();
        assert!(newer.contains("key-register/2"), "{newer}");
    }
}
