//! The files of an authority's directory.

use std::{
    fs::{self, DirBuilder},
    io::{self, ErrorKind},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use files::{PendingFile, SavedFile, WriteOptions};

use crate::{CA, Error, Name, PrivateKey, read_secret};

/// Files of a certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The certificate, PEM.
    pub certificate: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
}

impl Files {
    /// Files of that name in the directory.
    #[must_use]
    pub(crate) fn for_name(directory: &Path, name: &Name) -> Self {
        Self::named(directory, name.as_str())
    }

    /// Files of the authority in the directory.
    #[must_use]
    pub(crate) fn for_authority(directory: &Path) -> Self {
        Self::named(directory, CA)
    }

    fn named(directory: &Path, name: &str) -> Self {
        Self { certificate: directory.join(format!("{name}.pem")), key: directory.join(format!("{name}.key")) }
    }

    /// Returns [`Error::Exists`] if the certificate or its key exists.
    pub(crate) fn check_free(&self) -> Result<(), Error> {
        match [&self.key, &self.certificate].into_iter().find(|path| path.symlink_metadata().is_ok()) {
            Some(path) => Err(Error::Exists { path: path.clone() }),
            None => Ok(()),
        }
    }

    /// Moves both files into place after both are on disk, the key first: a certificate never exists without its key.
    /// If the certificate cannot be moved, the previous key is restored.
    pub(crate) fn write(&self, certificate: &str, key: &PrivateKey, replace: bool) -> Result<(), Error> {
        let part = |path: &Path, text: &str, options: WriteOptions| {
            PendingFile::write(path, text.as_bytes(), options.replacing(replace))
                .map_err(|source| write_failed(path, source))
        };
        let new_key = part(&self.key, key.pem(), WriteOptions::SECRET)?;
        let new_certificate = part(&self.certificate, certificate, WriteOptions::PUBLIC)?;
        let old_key = SavedFile::link(&self.key).map_err(|source| write_failed(&self.key, source))?;
        new_key.commit().map_err(|source| write_failed(&self.key, source))?;
        let put = new_certificate.commit().map_err(|source| write_failed(&self.certificate, source));
        if put.is_err() {
            let undone = match old_key {
                Some(old) => old.restore(),
                // A key without a certificate would block the next attempt.
                None if !replace => fs::remove_file(&self.key),
                None => Ok(()),
            };
            undone.map_err(|source| write_failed(&self.key, source))?;
        }
        put
    }

    pub(crate) fn write_certificate(&self, certificate: &str) -> Result<(), Error> {
        put(&self.certificate, certificate.as_bytes(), WriteOptions::PUBLIC.replacing(true))
    }
}

fn put(path: &Path, bytes: &[u8], options: WriteOptions) -> Result<(), Error> {
    files::write_atomic(path, bytes, options).map_err(|source| write_failed(path, source))
}

fn write_failed(path: &Path, source: io::Error) -> Error {
    match source.kind() {
        ErrorKind::AlreadyExists => Error::Exists { path: path.to_owned() },
        _ => Error::Write { path: path.to_owned(), source },
    }
}

/// Creates the directory, accessible only to its owner, if it does not exist.
pub(crate) fn make_directory(path: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Names of the certificates in a directory, sorted, without the authority's.
///
/// # Errors
/// [`Error::Read`].
pub(crate) fn names_in(directory: &Path) -> Result<Vec<Name>, Error> {
    let unread = |source| Error::Read { path: directory.to_owned(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(unread)? {
        let file = entry.map_err(unread)?.file_name();
        names.extend(file.to_str().and_then(|file| file.strip_suffix(".pem")).and_then(|name| name.parse().ok()));
    }
    names.sort();
    Ok(names)
}

/// Reads a file of bounded size.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    read_secret(path).map(|bytes| bytes.to_vec()).map_err(Error::read(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyType;

    #[test]
    fn a_key_stays_if_its_certificate_cannot_be_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files::for_name(directory.path(), &"db1".parse().unwrap());
        let [old, new] = [(); 2].map(|()| PrivateKey::generate(KeyType::default()).unwrap());
        files.write("certificate", &old, false).unwrap();
        fs::remove_file(&files.certificate).unwrap();
        // Nothing can replace a directory.
        fs::create_dir(&files.certificate).unwrap();
        assert!(
            matches!(files.write("another", &new, true), Err(Error::Write { path, .. }) if path == files.certificate)
        );
        assert_eq!(fs::read(&files.key).unwrap(), old.pem().as_bytes());
        fs::remove_file(&files.key).unwrap();
        assert!(matches!(files.write("another", &new, false), Err(Error::Exists { .. })));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing but the directory");
    }
}
