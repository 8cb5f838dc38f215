//! Backups of the keyring: age files, for whoever holds the identities of the recipients.

use std::{
    fs::File,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use agefile::{Decryptor, Encryptor, Identity, KeyError, Recipient};
use files::WriteOptions;
use register::Unfinished;
use rustix::fs::{Access, access};
use serde::Serialize;
use zeroize::Zeroizing;

use super::Error;

/// Who can open the backups.
#[derive(Clone, Default)]
pub struct Recipients(Vec<Recipient>);

impl Recipients {
    /// Reads the recipients given on the command line.
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

    /// Adds those of a file: one a line, empty lines and lines that begin with `#` left out.
    ///
    /// # Errors
    /// [`Error::Recipient`].
    pub fn add_file(&mut self, path: &Path) -> Result<(), Error> {
        let place = || path.display().to_string();
        let bytes =
            keyring::read_file(path).map_err(|error| Error::Recipient { place: place(), reason: error.to_string() })?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| Error::Recipient { place: place(), reason: "no text".to_owned() })?;
        for (number, line) in (1_u64..).zip(text.lines().map(str::trim)) {
            if !line.is_empty() && !line.starts_with('#') {
                self.add(line, || format!("{} line {number}", path.display()))?;
            }
        }
        Ok(())
    }

    fn add(&mut self, text: &str, place: impl Fn() -> String) -> Result<(), Error> {
        let refuse = |reason: &str| Error::Recipient { place: place(), reason: reason.to_owned() };
        let recipient = text.parse().map_err(|error| match error {
            KeyError::Secret => refuse(&error.to_string()),
            error => refuse(&format!("no X25519 recipient of age: {error}")),
        })?;
        if !self.0.contains(&recipient) {
            self.0.push(recipient);
        }
        Ok(())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As they are written; they are public.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }

    /// An age file of these bytes.
    pub(super) fn seal(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let mut encryptor = Encryptor::new(Vec::new(), &self.0).map_err(|error| error.to_string())?;
        encryptor.write_all(bytes).and_then(|()| encryptor.finish()).map_err(|error| error.to_string())
    }
}

/// Secret keys that open backups.
pub struct Identities(Vec<Identity>);

impl Identities {
    /// Reads a file as `age-keygen` writes it.
    ///
    /// # Errors
    /// [`Error::Identity`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let refuse = |reason: String| Error::Identity { path: path.to_owned(), reason };
        let bytes = keyring::read_file(path).map_err(|error| refuse(error.to_string()))?;
        let text = std::str::from_utf8(&bytes).map_err(|_| refuse("no text".to_owned()))?;
        let identities = Identity::parse_file(text)
            .map_err(|error| refuse(format!("not a file of X25519 identities of age: {error}")))?;
        Ok(Self(identities))
    }

    /// What is in a backup.
    pub(super) fn open(&self, path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
        let refuse = |reason: String| Error::Age { path: path.to_owned(), reason };
        let file = File::open(path).map_err(|error| refuse(error.to_string()))?;
        let mut reader = Decryptor::new(file, &self.0).map_err(|error| refuse(error.to_string()))?;
        keyring::read(&mut reader, 0).map_err(|error| refuse(error.to_string()))
    }
}

/// How it is known that a backup opens what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CopyProof {
    /// The bytes that were proven are those that were encrypted, and the age file on disk is the one
    /// that was made of them.
    SameBytes,
    /// The age file was decrypted again, to the bytes that were proven.
    Decrypted,
}

/// A backup.
#[derive(Clone, Debug, Serialize)]
pub struct Backup {
    /// The age file.
    pub file: PathBuf,
    /// Who can open it.
    pub recipients: Vec<String>,
    /// Hash of the age file, as `sha256sum` prints it.
    pub sha256: String,
    /// How many of the server's keys are in it.
    pub keys: u64,
    /// How it was proven.
    pub proof: CopyProof,
    /// The age file of the password, if the keys are encrypted with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<PathBuf>,
}

/// Where the password of a key file goes: beside the backup of that.
pub(super) fn password_of(backup: &Path) -> PathBuf {
    let mut name = backup.as_os_str().to_owned();
    name.push(".password");
    PathBuf::from(name)
}

/// The unfinished run that one with this backup goes on with. A file that is there already, and of no such run, is
/// not touched.
pub(super) fn resumed(unfinished: Option<&Unfinished>, file: &Path) -> Result<Option<Unfinished>, Error> {
    match unfinished.filter(|run| run.file == file) {
        None if file.symlink_metadata().is_ok() => Err(Error::BackupExists { path: file.to_owned() }),
        resumed => Ok(resumed.cloned()),
    }
}

/// Puts bytes into place: whole and on disk, or not at all. Only the owner may read them.
pub(super) fn place(path: &Path, bytes: &[u8], replace: bool) -> Result<(), Error> {
    files::write_atomic(path, bytes, WriteOptions::SECRET.replacing(replace)).map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => Error::BackupExists { path: path.to_owned() },
        _ => Error::Backup { path: path.to_owned(), source },
    })
}

/// Whether this user may put a file there, without trying.
pub(super) fn may_write_beside(path: &Path) -> Result<(), Error> {
    let may = access(files::parent(path), Access::WRITE_OK | Access::EXEC_OK);
    may.map_err(|source| Error::Backup { path: path.to_owned(), source: source.into() })
}

/// Finds out, before anything is changed, that a file can be put there later.
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
    fn what_is_sealed_is_opened_by_its_identity_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("backup");
        let identity = Identity::generate().unwrap();
        place(&path, &recipients(&identity).seal(b"keys").unwrap(), false).unwrap();
        assert_eq!(Identities(vec![identity]).open(&path).unwrap().as_slice(), b"keys");
        assert!(Identities(vec![Identity::generate().unwrap()]).open(&path).is_err());
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
