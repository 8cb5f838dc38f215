//! Selects a backup: reads and verifies its receipt, and reads its manifest.

use std::{
    fs::File,
    io::{BufReader, Read},
    path::Path,
    str::FromStr,
};

use agefile::Identity;
use archive::{
    Digest, Error as ArchiveError, Manifest, Receipt, manifest::Lists, names::Number, sshsig::AllowedSigners,
};
use jiff::Timestamp;
use verify::Keys;

use super::scratch::temporary_lists;
use crate::{
    Error, Repository,
    file_keys::{FileKeys, Head},
    repository::{StoredReceipt, read_manifest, receipt_fault},
};

/// The requested backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupSelector {
    /// The newest one.
    Latest,
    /// The one with this number.
    Number(Number),
}

impl FromStr for BackupSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "latest" {
            return Ok(Self::Latest);
        }
        let number = text.parse().ok().filter(|number| *number > 0);
        number.map(Self::Number).ok_or_else(|| "the number of a backup, or latest".to_owned())
    }
}

/// A receipt, and how far it can be trusted.
#[derive(Clone, Debug)]
pub struct JudgedReceipt {
    /// The receipt. It is unverified unless the other fields say that its hash was given or its signature verified.
    pub receipt: Receipt,
    /// SHA-256 of the receipt.
    pub sha256: Digest,
    /// Whether an allowed signer has signed it.
    pub signed: bool,
    /// Whether an older receipt cannot have replaced the newest: its hash or number was given.
    pub newest_known: bool,
    /// Whether newer binary logs cannot be hidden, or are not wanted.
    pub newest_binlogs_known: bool,
}

/// Reads the receipt of a backup, and verifies its signature if `signers` are given. The latest backup is the newest
/// whose receipt can be used so. `expected` is the hash printed when it was made.
///
/// # Errors
/// [`Error::NoBackup`], [`Error::Untrusted`], and any other error.
pub fn open(
    repository: &Repository,
    host: &str,
    selector: BackupSelector,
    signers: Option<&AllowedSigners>,
    expected: Option<Digest>,
) -> Result<JudgedReceipt, Error> {
    let stored = match selector {
        BackupSelector::Number(number) => {
            let stored = repository.judged_receipt(host, number, signers)?;
            stored.ok_or_else(|| repository.no_backup(host, &number.to_string()))?
        }
        BackupSelector::Latest => newest(repository, host, signers)?,
    };
    if let Some(expected) = expected.filter(|expected| *expected != stored.sha256) {
        let object = archive::names::receipt(host, stored.receipt.number);
        let reason = format!("its hash is {}, not {expected} as given", stored.sha256);
        return Err(Error::Untrusted { object, reason });
    }
    let newest_known = expected.is_some() || selector != BackupSelector::Latest;
    Ok(JudgedReceipt {
        receipt: stored.receipt,
        sha256: stored.sha256,
        signed: signers.is_some(),
        newest_known,
        newest_binlogs_known: true,
    })
}

/// The newest receipt that can be used. Warns of newer ones: whoever may put objects may have put or damaged them.
fn newest(repository: &Repository, host: &str, signers: Option<&AllowedSigners>) -> Result<StoredReceipt, Error> {
    let mut first = None;
    for number in repository.numbers(host)?.0.into_iter().rev() {
        match repository.judged_receipt(host, number, signers) {
            Ok(Some(stored)) => return Ok(stored),
            Ok(None) => {}
            Err(error) => {
                let reason = receipt_fault(error, signers.is_some())?;
                let object = archive::names::receipt(host, number);
                repository.leave_out(object.clone(), reason.clone());
                first.get_or_insert(Error::Untrusted { object, reason });
            }
        }
    }
    Err(first.unwrap_or_else(|| repository.no_backup(host, "at all")))
}

impl JudgedReceipt {
    /// Reads the manifest, and checks that it belongs to the receipt. Its lists are kept in `lists`.
    ///
    /// # Errors
    /// [`Error::Object`], [`Error::Store`], [`Error::Lists`].
    pub fn manifest(&self, repository: &Repository, identities: &[Identity], lists: Lists) -> Result<Manifest, Error> {
        let object = self.receipt.manifest_name();
        let wrong = |source: ArchiveError| match source {
            ArchiveError::Age(agefile::Error::NoMatch) => {
                Error::OtherRecipients { object: object.clone(), recipients: self.receipt.recipients.clone() }
            }
            ArchiveError::Lists(source) => Error::Lists(source),
            source => Error::of_object(&object, source),
        };
        let read = |input: &mut dyn Read| read_manifest(input, identities, lists).map_err(&wrong);
        let manifest = repository.parse(&object, self.receipt.manifest, read)?;
        let head = &manifest.head;
        let is_of =
            (&head.repo, &head.host, head.number) == (&self.receipt.repo, &self.receipt.host, self.receipt.number);
        let packs = manifest.packs.iter().map(|pack| (pack.sha256, pack.bytes));
        let has_packs = packs.eq(self.receipt.packs.iter().map(|pack| (pack.sha256, pack.bytes)));
        if is_of && has_packs {
            return Ok(manifest);
        }
        Err(wrong(ArchiveError::Manifest { line: 1, reason: "it belongs to another backup than the receipt" }))
    }
}

/// A backup, identified by its receipt, or by a manifest whose receipt is lost.
#[derive(Clone, Debug)]
pub enum Opened {
    /// The receipt names the manifest and the packs.
    Receipt(Box<JudgedReceipt>),
    /// The manifest names the packs. Nothing proves who wrote it or whether it is the newest.
    Manifest(Box<Manifest>),
}

impl Opened {
    /// Reads a manifest from a file. It must be of a backup of this repository whose receipt is lost.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be opened; [`Error::Object`] if it cannot be decrypted or parsed;
    /// [`Error::Untrusted`] if it belongs to another repository.
    pub fn from_manifest(repository: &Repository, path: &Path, identities: &[Identity]) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::io(path, "cannot be read"))?;
        let manifest =
            read_manifest(BufReader::new(file), identities, temporary_lists()?).map_err(|source| match source {
                ArchiveError::Lists(source) => Error::Lists(source),
                source => Error::Object { object: path.display().to_string(), source },
            })?;
        repository.check_id(&path.display().to_string(), &manifest.head.repo)?;
        Ok(Self::Manifest(Box::new(manifest)))
    }

    /// The receipt, unless it is lost.
    #[must_use]
    pub fn receipt(&self) -> Option<&JudgedReceipt> {
        match self {
            Self::Receipt(receipt) => Some(receipt),
            Self::Manifest(_) => None,
        }
    }

    /// Name of the host.
    #[must_use]
    pub fn host(&self) -> &str {
        match self {
            Self::Receipt(judged) => &judged.receipt.host,
            Self::Manifest(manifest) => &manifest.head.host,
        }
    }

    /// Number of the backup.
    #[must_use]
    pub fn number(&self) -> Number {
        match self {
            Self::Receipt(judged) => judged.receipt.number,
            Self::Manifest(manifest) => manifest.head.number,
        }
    }

    /// `server_uuid`, of a MySQL server.
    #[must_use]
    pub fn server_uuid(&self) -> Option<&str> {
        match self {
            Self::Receipt(judged) => judged.receipt.server_uuid.as_deref(),
            Self::Manifest(manifest) => manifest.head.server_uuid.as_deref(),
        }
    }

    /// Time of the data: the end of the run, or the instant of the copy.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        match self {
            Self::Receipt(judged) => judged.receipt.ended,
            Self::Manifest(manifest) => manifest.head.instant,
        }
    }

    /// Whether an allowed signer has signed the receipt.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        self.receipt().is_some_and(|judged| judged.signed)
    }

    /// Whether every page of it was proven when it was made. A manifest alone does not say.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.receipt().is_none_or(|judged| judged.receipt.is_good())
    }

    /// Whether nothing newer can be hidden.
    #[must_use]
    pub fn is_newest_known(&self) -> bool {
        self.receipt().is_some_and(|judged| judged.newest_known && judged.newest_binlogs_known)
    }

    /// Records that newer binary logs may be hidden.
    pub(super) fn newest_binlogs_are_unknown(&mut self) {
        if let Self::Receipt(judged) = self {
            judged.newest_binlogs_known = false;
        }
    }

    /// Adds the keys of the backup's files, which it contains for these identities if it was made with `[keys]`.
    ///
    /// # Errors
    /// [`Error::NoFileKeys`], [`Error::Object`], [`Error::Store`].
    pub fn add_keys(&self, repository: &Repository, identities: &[Identity], keys: &mut Keys) -> Result<(), Error> {
        let (host, number) = (self.host(), self.number());
        let object = archive::names::keys(host, number);
        let head = Head::new(&repository.id, host, number);
        let mut read = |input: &mut dyn Read| {
            let read = FileKeys::decrypt(input, &head, identities, keys);
            read.map_err(|source| Error::of_object(&object, source))
        };
        match self.receipt() {
            Some(judged) => repository.parse(&object, judged.receipt.keys.ok_or(Error::NoFileKeys { number })?, read),
            None => read(&mut repository.object(&object)?),
        }
    }

    /// The manifest. Unless the receipt is lost, it is read, and its lists are kept in `lists`.
    ///
    /// # Errors
    /// [`Error::Object`], [`Error::Store`], [`Error::Lists`].
    pub(super) fn manifest(
        &self,
        repository: &Repository,
        identities: &[Identity],
        lists: Lists,
    ) -> Result<Manifest, Error> {
        match self {
            Self::Receipt(judged) => judged.manifest(repository, identities, lists),
            Self::Manifest(manifest) => Ok(Manifest::clone(manifest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use archive::names;

    use super::*;
    use crate::repository::tests::TestRepository;

    #[test]
    fn the_latest_is_the_newest_that_can_be_used() {
        let test = TestRepository::new();
        let signers = AllowedSigners::only(test.key.public(), "db1");
        let latest = |signers, expected| open(&test.repository, "db1", BackupSelector::Latest, signers, expected);
        test.put(&names::receipt("db1", 999_999), b"of somebody else");
        let error = latest(Some(&signers), None).unwrap_err().to_string();
        assert_eq!(error, "hosts/db1/receipts/999999.json: there is no signature");
        let first = test.put_signed(1, &test.receipt(1));
        test.put(&names::receipt("db1", 2), &test.receipt(2));

        let found = latest(Some(&signers), None).unwrap();
        assert_eq!((found.receipt.number, found.signed, found.newest_known), (1, true, false));
        let warnings = test.repository.warnings();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(latest(Some(&signers), Some(first)).unwrap().newest_known);
        assert!(latest(Some(&signers), Some(Digest::compute(b""))).is_err());
        assert_eq!(latest(None, None).unwrap().receipt.number, 2, "without signers, nothing tells it from a forgery");
        let numbered = open(&test.repository, "db1", BackupSelector::Number(2), Some(&signers), None);
        assert!(matches!(numbered, Err(Error::Untrusted { .. })));
    }
}
