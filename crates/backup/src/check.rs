//! Checks a repository: without decryption, or with an identity by reading all of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
    str::FromStr,
};

use agefile::Identity;
use archive::{
    ArchiveError, Digest, PackReader,
    chain::{self, Break, Link},
    names::{self, Number},
    receipt::Object,
    sshsig::AllowedSigners,
};
use codec::hash::Hash;
use files::{WriteOptions, write_atomic};
use serde::{Deserialize, Serialize};

use crate::{
    BackupError, Repository,
    repository::{check_sum, name},
};

/// How much a check reads.
#[derive(Debug)]
pub enum Depth<'i> {
    /// Receipts and signatures; of all other objects only existence and length.
    Names,
    /// Also the SHA-256 of every object.
    Objects,
    /// Also decrypts and unpacks every pack.
    Data(&'i [Identity]),
}

/// Result of a check.
#[derive(Debug, Default)]
pub struct Checked {
    /// Number of objects that receipts name.
    pub named: u64,
    /// How many of them exist with the right length.
    pub present: u64,
    /// How many of them were read completely.
    pub read: u64,
    /// Objects that are wrong.
    pub bad: Vec<BadObject>,
    /// Breaks of the chain of receipts.
    pub breaks: Vec<Break>,
    /// Number of receipts, good and bad.
    pub receipts: u64,
    /// Whether signatures were verified.
    pub signed: bool,
    /// Whether it is certain that no newer receipt is hidden.
    pub newest_known: bool,
    /// Objects that no receipt names.
    pub unnamed: Vec<String>,
}

/// An object that is missing or wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BadObject {
    /// Name of the object.
    pub object: String,
    /// What is wrong with it.
    pub what: String,
}

/// The newest receipt seen, for each host.
type Seen = BTreeMap<String, Newest>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Newest {
    number: Number,
    sha256: Digest,
}

/// The backups to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All of a host.
    All,
    /// The one with this number.
    Number(Number),
}

impl FromStr for Selection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let number = text.parse().ok().filter(|number| *number > 0);
        number.map(Self::Number).ok_or_else(|| "the number of a backup, or all".to_owned())
    }
}

/// Checks all backups of a host, or only one.
///
/// # Errors
/// [`BackupError`] if the repository cannot be read; problems with objects are in [`Checked`].
pub fn check(
    repository: &Repository,
    host: &str,
    selection: Selection,
    depth: &Depth<'_>,
    signers: Option<&AllowedSigners>,
) -> Result<(Checked, Vec<Link>), BackupError> {
    let only = match selection {
        Selection::All => None,
        Selection::Number(number) => Some(number),
    };
    let mut checked = Checked { signed: signers.is_some(), ..Checked::default() };
    let links = receipts(repository, host, signers, &mut checked)?;
    checked.breaks = chain::breaks(&repository.id, host, &links);
    let chosen: Vec<&Link> = links.iter().filter(|link| only.is_none_or(|only| link.receipt.number == only)).collect();
    if let (Some(only), true) = (only, chosen.is_empty()) {
        let (location, host) = (repository.store().location(), host.to_owned());
        return Err(BackupError::NoBackup { location, host, wanted: only.to_string() });
    }
    let objects: BTreeMap<String, Object> = chosen.iter().flat_map(|link| link.receipt.objects()).collect();
    for (object, expected) in &objects {
        checked.named = checked.named.saturating_add(1);
        match repository.store().head(&name(object)?)? {
            Some(bytes) if bytes == expected.bytes => checked.present = checked.present.saturating_add(1),
            Some(bytes) => checked.bad(object, format!("it has {bytes} bytes, its receipt says {}", expected.bytes)),
            None => checked.bad(object, "it is missing".to_owned()),
        }
        let is_wrong = checked.bad.last().is_some_and(|bad| bad.object == *object);
        if !is_wrong && !matches!(depth, Depth::Names) {
            checked.object(repository, object, *expected, depth);
        }
    }
    if only.is_none() {
        checked.unnamed(repository, host, &links)?;
    }
    Ok((checked, links))
}

/// Reads and judges every receipt. Wrong ones are recorded as bad and left out of the links.
fn receipts(
    repository: &Repository,
    host: &str,
    signers: Option<&AllowedSigners>,
    checked: &mut Checked,
) -> Result<Vec<Link>, BackupError> {
    let mut links = Vec::new();
    for number in repository.numbers(host)?.0 {
        checked.receipts = checked.receipts.saturating_add(1);
        let judged = repository.receipt(host, number).and_then(|found| {
            let Some((link, bytes)) = found else { return Ok(None) };
            signers.map_or(Ok(()), |signers| repository.judge(host, number, &bytes, signers))?;
            Ok(Some(link))
        });
        match judged {
            Ok(link) => links.extend(link),
            Err(BackupError::Store(error)) => return Err(error.into()),
            Err(BackupError::Object { object, source }) => checked.bad(&object, source.to_string()),
            Err(BackupError::Untrusted { object, reason }) => checked.bad(&object, reason),
            Err(error) => return Err(error),
        }
    }
    Ok(links)
}

impl Checked {
    /// Whether no problem was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.bad.is_empty() && self.breaks.is_empty()
    }

    fn bad(&mut self, object: &str, what: String) {
        self.bad.push(BadObject { object: object.to_owned(), what });
    }

    fn object(&mut self, repository: &Repository, object: &str, expected: Object, depth: &Depth<'_>) {
        let checked = repository.object(object).and_then(|read| check_sum(object, read, expected));
        let read = checked.and_then(|()| match depth {
            Depth::Data(identities) if object.contains("/packs/") => read_pack(repository, object, identities),
            _ => Ok(()),
        });
        match read {
            Ok(()) => self.read = self.read.saturating_add(1),
            Err(BackupError::Object { source, .. }) => self.bad(object, source.to_string()),
            Err(error) => self.bad(object, error.to_string()),
        }
    }

    fn unnamed(&mut self, repository: &Repository, host: &str, links: &[Link]) -> Result<(), BackupError> {
        let named: BTreeSet<String> =
            links.iter().flat_map(|link| link.receipt.objects().map(|(object, _)| object)).collect();
        let listed = repository.store().list(&format!("hosts/{host}/"))?;
        let of_receipt = |object: &str| names::receipt_number(host, object);
        let receipts: BTreeSet<Number> = listed
            .iter()
            .filter_map(|of| of_receipt(of.name.as_str()).filter(|(_, is_receipt)| *is_receipt))
            .map(|(number, _)| number)
            .collect();
        for object in listed.iter().map(|of| of.name.as_str()) {
            let is_expected = match of_receipt(object) {
                Some((number, _)) => receipts.contains(&number),
                None => named.contains(object),
            };
            if !is_expected {
                self.unnamed.push(object.to_owned());
            }
        }
        Ok(())
    }

    /// Compares with the newest receipt that an earlier check saw, and records the newest one now. A receipt that
    /// existed before and does not now was hidden or removed.
    ///
    /// # Errors
    /// [`BackupError::Io`] if the file cannot be read or written.
    pub fn compare_and_record(&mut self, path: &Path, host: &str, links: &[Link]) -> Result<(), BackupError> {
        let mut seen: Seen = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Seen::new(),
            read => {
                let bytes = read.map_err(BackupError::io(path, "cannot be read"))?;
                let read = serde_json::from_slice(&bytes).map_err(io::Error::from);
                read.map_err(BackupError::io(path, "it was not written by a check"))?
            }
        };
        if let Some(newest) = seen.get(host) {
            self.newest_known = links.iter().any(|link| link.sha256 == newest.sha256);
            if !self.newest_known {
                let what = "an earlier check saw it, now it is hidden, replaced or removed";
                self.bad(&names::receipt(host, newest.number), what.to_owned());
                return Ok(());
            }
        }
        let Some(last) = links.last() else { return Ok(()) };
        seen.insert(host.to_owned(), Newest { number: last.receipt.number, sha256: last.sha256 });
        let bytes = serde_json::to_vec(&seen).map_err(io::Error::from);
        let bytes = bytes.map_err(BackupError::io(path, "cannot be written"))?;
        write_atomic(path, &bytes, WriteOptions::SECRET.replacing(true))
            .map_err(BackupError::io(path, "cannot be written"))
    }
}

/// Decrypts and unpacks a pack, and compares the hash of each frame stored as in the file.
fn read_pack(repository: &Repository, object: &str, identities: &[Identity]) -> Result<(), BackupError> {
    let wrong = |source: ArchiveError| BackupError::Object { object: object.to_owned(), source };
    let mut reader = PackReader::decrypt(repository.object(object)?, identities).map_err(wrong)?;
    while let Some(frame) = reader.next_frame().map_err(wrong)? {
        if frame.description.opened.is_none() && Hash::compute(frame.data) != frame.description.hash {
            return Err(wrong(ArchiveError::Pack("the bytes of a frame differ from those that were packed")));
        }
    }
    Ok(())
}
