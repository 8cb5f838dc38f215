//! The files of keys for signatures and of identities, which the configuration and options name.

use std::{fs, path::Path};

use agefile::Identity;
use archive::sshsig::{AllowedSigners, SigningKey};
use zeroize::Zeroizing;

use crate::Error;

/// Reads a private key for signatures.
///
/// # Errors
/// [`Error::Key`], [`Error::Io`].
pub(crate) fn signing_key(path: &Path) -> Result<SigningKey, Error> {
    let text = fs::read_to_string(path).map(Zeroizing::new);
    let text = text.map_err(Error::io(path, "the signing key cannot be read"))?;
    SigningKey::parse(&text).map_err(|source| Error::Key { path: path.to_owned(), source })
}

/// Reads a file of allowed signers.
///
/// # Errors
/// [`Error::Unreadable`] and [`Error::Key`].
pub fn allowed_signers(path: &Path) -> Result<AllowedSigners, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
    AllowedSigners::parse(&text).map_err(|source| Error::Key { path: path.to_owned(), source })
}

/// Reads an age identity file.
///
/// # Errors
/// [`Error::Identity`], [`Error::Io`].
pub fn identities(path: &Path) -> Result<Vec<Identity>, Error> {
    let text = fs::read_to_string(path).map(Zeroizing::new);
    let text = text.map_err(Error::io(path, "the identity file cannot be read"))?;
    Identity::parse_file(&text).map_err(|source| Error::Identity { path: path.to_owned(), source })
}
