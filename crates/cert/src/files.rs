//! The files of an authority's directory.

use std::{
    fs::{self, DirBuilder},
    io::ErrorKind,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use place::Placing;
use zeroize::Zeroizing;

use crate::{Error, Name, PrivateKey};

/// Name of the authority's own files.
pub const CA: &str = "ca";

/// Where a certificate and its key are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The certificate, PEM.
    pub certificate: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
}

impl Files {
    /// Of a name in that directory.
    #[must_use]
    pub fn of(directory: &Path, name: &Name) -> Self {
        Self::named(directory, name.as_str())
    }

    /// Of the authority in that directory.
    #[must_use]
    pub fn of_authority(directory: &Path) -> Self {
        Self::named(directory, CA)
    }

    fn named(directory: &Path, name: &str) -> Self {
        Self { certificate: directory.join(format!("{name}.pem")), key: directory.join(format!("{name}.key")) }
    }

    /// Fails if one of them is there.
    pub(crate) fn are_free(&self) -> Result<(), Error> {
        match [&self.key, &self.certificate].into_iter().find(|path| path.symlink_metadata().is_ok()) {
            Some(path) => Err(Error::Exists { path: path.clone() }),
            None => Ok(()),
        }
    }

    /// Writes both, the key first: a certificate is never there without its key.
    pub(crate) fn write(&self, certificate: &str, key: &PrivateKey, replace: bool) -> Result<(), Error> {
        put(&self.key, key.pem().as_bytes(), Placing::SECRET.replacing(replace))?;
        let written = put(&self.certificate, certificate.as_bytes(), Placing::PUBLIC.replacing(replace));
        if written.is_err() && !replace {
            // A key that nothing was issued for would stand in the way of the next try.
            let _ = fs::remove_file(&self.key);
        }
        written
    }

    pub(crate) fn write_certificate(&self, certificate: &str) -> Result<(), Error> {
        put(&self.certificate, certificate.as_bytes(), Placing::PUBLIC.replacing(true))
    }
}

fn put(path: &Path, bytes: &[u8], placing: Placing) -> Result<(), Error> {
    place::place(path, bytes, placing).map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => Error::Exists { path: path.to_owned() },
        _ => Error::Write { path: path.to_owned(), source },
    })
}

/// Makes the directory, which only its owner may enter, if it is not there.
pub(crate) fn make_directory(path: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Names of the certificates in a directory, the authority's left out, in their order.
///
/// # Errors
/// [`Error::Read`].
pub fn names_in(directory: &Path) -> Result<Vec<Name>, Error> {
    let unread = |source| Error::Read { path: directory.to_owned(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(unread)? {
        let file = entry.map_err(unread)?.file_name();
        names.extend(file.to_str().and_then(|file| file.strip_suffix(".pem")).and_then(|name| name.parse().ok()));
    }
    names.sort();
    Ok(names)
}

/// A file of bounded size.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    read_secret(path).map(|bytes| bytes.to_vec())
}

/// The same, wiped when it goes.
pub(crate) fn read_secret(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    tls13::read_secret(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}
