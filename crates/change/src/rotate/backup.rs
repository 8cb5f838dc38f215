//! Backups of the keyring: age files for the given recipients.

use std::{
    fs::File,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use agefile::{Decryptor, Encryptor, Identity, KeyFault, Recipient};
use files::WriteOptions;
use register::Unfinished;
use rustix::fs::{Access, access};
use serde::Serialize;
use zeroize::Zeroizing;

use super::Error;

/// Recipients of the backups.
#[derive(Clone, Default)]
pub struct Recipients(Vec<Recipient>);

impl Recipients {
    /// Parses recipients from the command line.
    ///
    /// # Errors
    /// [`Error::Recipient`].
    pub fn parse<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, Error> {
        let mut recipients = Self::default();
        for text in texts {
            recipients.add(text, || "--recipient".to_owned())?;
        }
        Ok(recipients)
    }

    /// Adds the recipients in a file: one a line; empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// [`Error::Recipient`].
    pub fn add_file(&mut self, path: &Path) -> Result<(), Error> {
        let location = || path.display().to_string();
        let bytes = keyring::read_file(path)
            .map_err(|error| Error::Recipient { location: location(), reason: error.to_string() })?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| Error::Recipient { location: location(), reason: "not text".to_owned() })?;
        for (number, line) in (1_u64..).zip(text.lines().map(str::trim)) {
            if !line.is_empty() && !line.starts_with('#') {
                self.add(line, || format!("{} line {number}", path.display()))?;
            }
        }
        Ok(())
    }

    fn add(&mut self, text: &str, location: impl Fn() -> String) -> Result<(), Error> {
        let refuse = |reason: &str| Error::Recipient { location: location(), reason: reason.to_owned() };
        let recipient = text.parse().map_err(|error| match error {
            KeyFault::Secret => refuse(&error.to_string()),
            error => refuse(&format!("no X25519 recipient of age: {error}")),
        })?;
        if !self.0.contains(&recipient) {
            self.0.push(recipient);
        }
        Ok(())
    }

    /// Whether there are no recipients.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The recipients as text; they are public.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }

    /// Encrypts bytes as an age file.
    pub(super) fn encrypt(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let mut encryptor = Encryptor::new(Vec::new(), &self.0).map_err(|error| error.to_string())?;
        encryptor.write_all(bytes).and_then(|()| encryptor.finish()).map_err(|error| error.to_string())
    }
}

/// Secret keys that decrypt backups.
pub struct Identities(Vec<Identity>);

impl Identities {
    /// Reads an identity file as `age-keygen` writes it.
    ///
    /// # Errors
    /// [`Error::Identity`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let refuse = |reason: String| Error::Identity { path: path.to_owned(), reason };
        let bytes = keyring::read_file(path).map_err(|error| refuse(error.to_string()))?;
        let text = std::str::from_utf8(&bytes).map_err(|_| refuse("not text".to_owned()))?;
        let identities = Identity::parse_file(text)
            .map_err(|error| refuse(format!("not a file of X25519 identities of age: {error}")))?;
        Ok(Self(identities))
    }

    /// Decrypts a backup.
    pub(super) fn decrypt(&self, path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
        let refuse = |reason: String| Error::Age { path: path.to_owned(), reason };
        let file = File::open(path).map_err(|error| refuse(error.to_string()))?;
        let mut reader = Decryptor::new(file, &self.0).map_err(|error| refuse(error.to_string()))?;
        keyring::read(&mut reader, 0).map_err(|error| refuse(error.to_string()))
    }
}

/// Proof that a backup is correct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CopyProof {
    /// The proven bytes were encrypted, and the age file on disk is the result.
    SameBytes,
    /// The age file was decrypted again, and yielded the proven bytes.
    Decrypted,
}

/// A backup of the keyring.
#[derive(Clone, Debug, Serialize)]
pub struct Backup {
    /// Path of the age file.
    pub file: PathBuf,
    /// Its recipients.
    pub recipients: Vec<String>,
    /// SHA-256 of the age file in hexadecimal digits.
    pub sha256: String,
    /// Number of the server's keys in it.
    pub keys: u64,
    /// The proof of the backup.
    pub proof: CopyProof,
    /// Path of the age file with the password, if the keys are encrypted with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<PathBuf>,
}

/// Path of the password's backup, next to that of the key file.
pub(super) fn password_of(backup: &Path) -> PathBuf {
    let mut name = backup.as_os_str().to_owned();
    name.push(".password");
    PathBuf::from(name)
}

/// The unfinished run to resume: the one with this backup file.
///
/// # Errors
/// [`Error::BackupExists`] if the file exists but belongs to no unfinished run.
pub(super) fn resumed(unfinished: Option<&Unfinished>, file: &Path) -> Result<Option<Unfinished>, Error> {
    match unfinished.filter(|run| run.file == file) {
        None if file.symlink_metadata().is_ok() => Err(Error::BackupExists { path: file.to_owned() }),
        resumed => Ok(resumed.cloned()),
    }
}

/// Writes a file atomically and durably, readable only by its owner.
pub(super) fn install(path: &Path, bytes: &[u8], replace: bool) -> Result<(), Error> {
    files::write_atomic(path, bytes, WriteOptions::SECRET.replacing(replace)).map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => Error::BackupExists { path: path.to_owned() },
        _ => Error::Backup { path: path.to_owned(), source },
    })
}

/// Whether this user may create files in the directory of `path`, without trying.
pub(super) fn may_write_beside(path: &Path) -> Result<(), Error> {
    let may = access(files::parent(path), Access::WRITE_OK | Access::EXEC_OK);
    may.map_err(|source| Error::Backup { path: path.to_owned(), source: source.into() })
}

/// Checks, before anything is changed, that the file can be written later.
pub(super) fn check_writable(path: &Path) -> Result<(), Error> {
    let checked = files::check_writable(path, WriteOptions::SECRET);
    checked.map_err(|source| Error::Backup { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipients(identity: &Identity) -> Recipients {
        Recipients::parse([identity.recipient().to_string().as_str()]).unwrap()
    }

    #[test]
    fn what_is_encrypted_is_decrypted_by_its_identity_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("backup");
        let identity = Identity::generate().unwrap();
        install(&path, &recipients(&identity).encrypt(b"keys").unwrap(), false).unwrap();
        assert_eq!(Identities(vec![identity]).decrypt(&path).unwrap().as_slice(), b"keys");
        assert!(Identities(vec![Identity::generate().unwrap()]).decrypt(&path).is_err());
    }

    #[test]
    fn a_secret_key_given_as_recipient_is_not_repeated() {
        let secret = "AGE-SECRET-KEY-1QQPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQQPZRY9X8GF2TVDW0S3";
        let error = Recipients::parse([secret]).err().unwrap();
        assert!(!error.to_string().contains("QQPZ"), "{error}");
        assert!(error.to_string().contains("secret key"), "{error}");
        let error = Recipients::parse(["age1nonsense"]).err().unwrap();
        assert!(error.hint().unwrap().contains("age-keygen"), "{error}");
    }
}
