//! Selects a backup: reads and judges its receipt, and reads its manifest.

use std::{io::BufReader, str::FromStr};

use agefile::{Decryptor, Identity};
use archive::{ArchiveError, Digest, Manifest, Receipt, names::Number, sshsig::AllowedSigners};
use verify::Keys;

use crate::{
    BackupError, Repository,
    file_keys::{FileKeys, Head},
    repository::check_sum,
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

/// A receipt, and how far it is trusted.
#[derive(Clone, Debug)]
pub struct Opened {
    pub(super) receipt: Receipt,
    pub(super) sha256: Digest,
    /// Whether an allowed signer has signed it.
    pub signed: bool,
    /// Whether an older receipt cannot have replaced the newest: its hash or number was given.
    pub newest_known: bool,
}

/// Reads the receipt of a backup. `expected` is the hash printed when it was made.
///
/// # Errors
/// [`BackupError::NoBackup`], [`BackupError::Untrusted`], and any other.
pub fn open(
    repository: &Repository,
    host: &str,
    selector: BackupSelector,
    signers: Option<&AllowedSigners>,
    expected: Option<Digest>,
) -> Result<Opened, BackupError> {
    let none = |wanted: &str| BackupError::NoBackup {
        location: repository.store().location(),
        host: host.to_owned(),
        wanted: wanted.to_owned(),
    };
    let number = match selector {
        BackupSelector::Number(number) => number,
        BackupSelector::Latest => *repository.numbers(host)?.0.last().ok_or_else(|| none("at all"))?,
    };
    let (link, bytes) = repository.receipt(host, number)?.ok_or_else(|| none(&number.to_string()))?;
    if let Some(expected) = expected.filter(|expected| *expected != link.sha256) {
        let object = archive::names::receipt(host, number);
        let reason = format!("its hash is {}, not {expected} as given", link.sha256);
        return Err(BackupError::Untrusted { object, reason });
    }
    if let Some(signers) = signers {
        repository.judge(host, number, &bytes, signers)?;
    }
    let newest_known = expected.is_some() || selector != BackupSelector::Latest;
    Ok(Opened { receipt: link.receipt, sha256: link.sha256, signed: signers.is_some(), newest_known })
}

impl Opened {
    /// Adds the keys of the backup's files, which it has for these identities if it was made with `[keys]`.
    ///
    /// # Errors
    /// [`BackupError::NoFileKeys`], [`BackupError::Object`], [`BackupError::Store`].
    pub fn add_keys(
        &self,
        repository: &Repository,
        identities: &[Identity],
        keys: &mut Keys,
    ) -> Result<(), BackupError> {
        let (host, number) = (&self.receipt.host, self.receipt.number);
        let expected = self.receipt.keys.ok_or(BackupError::NoFileKeys { number })?;
        let object = archive::names::keys(host, number);
        check_sum(&object, repository.object(&object)?, expected)?;
        let head = Head::new(&self.receipt.repo, host, number);
        let read = FileKeys::decrypt(repository.object(&object)?, &head, identities, keys);
        read.map_err(|source| BackupError::Object { object, source })
    }

    /// Reads the manifest, and checks that it belongs to the receipt.
    ///
    /// # Errors
    /// [`BackupError::Object`], [`BackupError::Store`].
    pub fn manifest(&self, repository: &Repository, identities: &[Identity]) -> Result<Manifest, BackupError> {
        let object = self.receipt.manifest_name();
        // Verify the hash first, so that only signed data is parsed.
        check_sum(&object, repository.object(&object)?, self.receipt.manifest)?;
        let wrong = |source: ArchiveError| BackupError::Object { object: object.clone(), source };
        let age = Decryptor::new(repository.object(&object)?, identities).map_err(|error| wrong(error.into()))?;
        let zstd = zstd::Decoder::with_buffer(age).map_err(|error| wrong(error.into()))?;
        let manifest = Manifest::read(&mut BufReader::new(zstd)).map_err(&wrong)?;
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
