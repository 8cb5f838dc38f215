//! Checks a repository: without decryption, or with an identity by reading all of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    str::FromStr,
};

use agefile::Identity;
use archive::{
    Digest, Error as ArchiveError, PackReader,
    chain::{ChainBreak, Link},
    names::{self, Number},
    receipt::Object,
    sshsig::AllowedSigners,
};
use codec::hash::Hash;
use files::{WriteOptions, write_atomic};
use serde::{Deserialize, Serialize};
use store::Error as StoreError;

use crate::{
    Error, Outcome, Repository,
    binlogs::StoredPart,
    config::{allowed_signers, identities},
    repository::check_sum,
};

mod named;
mod report;

use self::named::Named;
pub use self::report::CheckReport;
pub(crate) use self::report::SCHEMA;

/// How much a check reads.
#[derive(Debug)]
pub enum Depth<'i> {
    /// Receipts and signatures; of all other objects only existence and length.
    Names,
    /// Also the SHA-256 of every object.
    Objects,
    /// Also decrypts and unpacks packs, and parts of binary logs.
    Data {
        /// Identities, one of which decrypts the packs.
        identities: &'i [Identity],
        /// Percentage of the packs that is read, 1 to 100.
        percent: u8,
        /// Name of the last pack that an earlier check read; this check continues after it.
        after: Option<String>,
    },
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
    pub breaks: Vec<ChainBreak>,
    /// Number of receipts, good and bad.
    pub receipts: u64,
    /// Whether signatures were verified.
    pub signed: bool,
    /// Whether it is certain that no newer receipt is hidden.
    pub newest_known: bool,
    /// Percentage of the packs that was read.
    pub percent_done: u8,
    /// Name of the last pack that was read, if only a part of them was.
    pub read_until: Option<String>,
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

/// Results of earlier checks, by host: the file of `--state`.
#[derive(Debug)]
pub struct CheckState {
    path: PathBuf,
    hosts: BTreeMap<String, HostRecord>,
}

/// The newest receipt of a host that a check has seen, and which packs were read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct HostRecord {
    /// Number of the newest receipt.
    number: Number,
    /// Its SHA-256.
    sha256: Digest,
    /// Name of the last pack that was read, if a check read only a part of them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    read_until: Option<String>,
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
/// [`Error`] if the repository cannot be read; problems with objects are in [`Checked`].
pub fn check(
    repository: &Repository,
    host: &str,
    selection: Selection,
    depth: &Depth<'_>,
    signers: Option<&AllowedSigners>,
) -> Result<(Checked, Vec<Link>), Error> {
    let only = match selection {
        Selection::All => None,
        Selection::Number(number) => Some(number),
    };
    let named = Named::read(repository, host, only, signers)?;
    if let (Some(only), true) = (only, named.objects.is_empty()) {
        return Err(repository.no_backup(host, &only.to_string()));
    }
    let mut checked = Checked { signed: signers.is_some(), receipts: named.receipts, ..Checked::default() };
    let parts = named.parts();
    let read = checked.packs_to_read(&named.objects, depth);
    let lengths = repository.lengths(host)?;
    for (object, expected) in &named.objects {
        checked.named = checked.named.saturating_add(1);
        match lengths.get(object).copied() {
            Some(bytes) if bytes == expected.bytes => checked.present = checked.present.saturating_add(1),
            Some(bytes) => checked.bad(object, format!("it has {bytes} bytes, its receipt says {}", expected.bytes)),
            None => checked.bad(object, "it is missing".to_owned()),
        }
        let is_wrong = checked.bad.last().is_some_and(|bad| bad.object == *object);
        let is_read = read.as_ref().is_none_or(|read| !is_pack(object) || read.contains(object.as_str()));
        if !is_wrong && is_read && !matches!(depth, Depth::Names) {
            checked.object(repository, object, *expected, parts.get(object), depth)?;
        }
    }
    if only.is_none() {
        checked.unnamed = named.unnamed(host, lengths.into_keys());
    }
    if checked.bad.is_empty() && named.is_sound() {
        return Ok((checked, named.links));
    }
    // A prune may have removed receipts after they were read, and then what they name: it declares that before, and
    // removes receipts before what they name. So what is missing counts only if its receipt is still there.
    let now = Named::read(repository, host, only, signers)?;
    checked.keep_what_is_named(&now);
    checked.breaks = now.breaks;
    checked.bad.splice(..0, now.bad);
    Ok((checked, named.links))
}

/// What to check, and how much of it to read.
#[derive(Debug)]
pub struct CheckRequest<'r> {
    /// Name of the host.
    pub host: &'r str,
    /// Which of its backups to check.
    pub backups: Selection,
    /// Whether to compute the SHA-256 of every object.
    pub objects: bool,
    /// Percentage of the packs to decrypt and unpack, 1 to 100, if that is asked for.
    pub read_data: Option<u8>,
    /// File of age identities that decrypt the packs.
    pub identity: Option<&'r Path>,
    /// File of allowed signers; without it no signature is verified.
    pub allowed_signers: Option<&'r Path>,
    /// File that records the newest receipt and which packs were read.
    pub state: Option<&'r Path>,
}

impl CheckRequest<'_> {
    /// Checks, continues where the last check with the same state ended, and records where this one did.
    ///
    /// # Errors
    /// [`Error::PartWithoutState`], errors of the files that are named, and as [`check()`].
    pub fn run(&self, repository: &Repository) -> Result<Checked, Error> {
        let signers = self.allowed_signers.map(allowed_signers).transpose()?;
        let identities = self.identity.map(identities).transpose()?.unwrap_or_default();
        let state = self.state.map(CheckState::read).transpose()?;
        let depth = self.depth(&identities, state.as_ref())?;
        let (mut checked, links) = check(repository, self.host, self.backups, &depth, signers.as_ref())?;
        if let Some(state) = state {
            state.compare_and_record(&mut checked, self.host, &links)?;
        }
        Ok(checked)
    }

    fn depth<'i>(&self, identities: &'i [Identity], state: Option<&CheckState>) -> Result<Depth<'i>, Error> {
        let after = || state?.read_until(self.host).map(str::to_owned);
        match (self.read_data, self.objects) {
            (Some(percent @ ..100), _) if state.is_none() => Err(Error::PartWithoutState { percent }),
            (Some(percent), _) => Ok(Depth::Data { identities, percent, after: after() }),
            (None, true) => Ok(Depth::Objects),
            (None, false) => Ok(Depth::Names),
        }
    }
}

impl Checked {
    /// The verdict. Whether signatures were verified, and whether the newest receipt is known to be the newest, counts
    /// only if the check has to be complete.
    #[must_use]
    pub fn outcome(&self, require_complete: bool) -> Outcome {
        if !self.is_sound() {
            Outcome::Damaged
        } else if require_complete && !(self.signed && self.newest_known) {
            Outcome::Unjudged
        } else {
            Outcome::Proven
        }
    }

    /// Whether no problem was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.bad.is_empty() && self.breaks.is_empty()
    }

    fn bad(&mut self, object: &str, what: String) {
        self.bad.push(BadObject { object: object.to_owned(), what });
    }

    fn object(
        &mut self,
        repository: &Repository,
        object: &str,
        expected: Object,
        part: Option<&StoredPart<'_>>,
        depth: &Depth<'_>,
    ) -> Result<(), Error> {
        let checked = repository.object(object).and_then(|read| check_sum(object, read, expected));
        let read = checked.and_then(|()| match (depth, part) {
            (Depth::Data { identities, .. }, Some(part)) => part.check(repository, identities),
            (Depth::Data { identities, .. }, None) if is_pack(object) => read_pack(repository, object, identities),
            _ => Ok(()),
        });
        match read {
            Ok(()) => self.read = self.read.saturating_add(1),
            Err(Error::Object { source, .. }) => self.bad(object, source.to_string()),
            // A failure of the store is not a fault of the object.
            Err(error @ Error::Store(StoreError::S3 { .. })) => return Err(error),
            Err(error) => self.bad(object, error.to_string()),
        }
        Ok(())
    }

    /// Drops what was found about objects that no receipt names any more.
    fn keep_what_is_named(&mut self, now: &Named) {
        let before = self.bad.len();
        self.bad.retain(|bad| now.objects.contains_key(&bad.object));
        let pruned = before.saturating_sub(self.bad.len());
        self.named = self.named.saturating_sub(pruned as u64);
    }

    /// The packs to read, if not all. They are taken in the order of their names, which are hashes.
    fn packs_to_read<'o>(
        &mut self,
        objects: &'o BTreeMap<String, Object>,
        depth: &Depth<'_>,
    ) -> Option<BTreeSet<&'o str>> {
        self.percent_done = if matches!(depth, Depth::Names) { 0 } else { 100 };
        let Depth::Data { percent: percent @ ..100, after, .. } = depth else { return None };
        self.percent_done = *percent;
        let packs: Vec<&str> = objects.keys().map(String::as_str).filter(|object| is_pack(object)).collect();
        let count = (packs.len() * usize::from(*percent)).div_ceil(100);
        let first = packs.partition_point(|pack| after.as_deref().is_some_and(|after| *pack <= after));
        let (before, behind) = packs.split_at(first);
        let part: Vec<&str> = behind.iter().chain(before).take(count).copied().collect();
        self.read_until = part.last().map(|last| (*last).to_owned());
        Some(part.into_iter().collect())
    }
}

fn is_pack(object: &str) -> bool {
    object.contains("/packs/")
}

impl CheckState {
    /// Reads the file; empty if it does not exist.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let hosts = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            read => {
                let bytes = read.map_err(Error::io(path, "cannot be read"))?;
                let read = serde_json::from_slice(&bytes).map_err(io::Error::from);
                read.map_err(Error::io(path, "it was not written by a check"))?
            }
        };
        Ok(Self { path: path.to_owned(), hosts })
    }

    /// Name of the last pack that an earlier check read, if it read only a part of them.
    #[must_use]
    pub fn read_until(&self, host: &str) -> Option<&str> {
        self.hosts.get(host)?.read_until.as_deref()
    }

    /// Compares a check with the newest receipt that an earlier check saw, and records the newest one now. A receipt
    /// that has disappeared was hidden or removed.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written.
    pub fn compare_and_record(mut self, checked: &mut Checked, host: &str, links: &[Link]) -> Result<(), Error> {
        let before = self.hosts.get(host);
        if let Some(newest) = before {
            checked.newest_known = links.iter().any(|link| link.sha256 == newest.sha256);
            if !checked.newest_known {
                let what = "an earlier check saw it, now it is hidden, replaced or removed";
                checked.bad(&names::receipt(host, newest.number), what.to_owned());
                return Ok(());
            }
        }
        let Some(last) = links.last() else { return Ok(()) };
        let read_until = checked.read_until.clone().or_else(|| before?.read_until.clone());
        let newest = HostRecord { number: last.receipt.number, sha256: last.sha256, read_until };
        self.hosts.insert(host.to_owned(), newest);
        let bytes = serde_json::to_vec(&self.hosts).map_err(io::Error::from);
        let bytes = bytes.map_err(Error::io(&self.path, "cannot be written"))?;
        write_atomic(&self.path, &bytes, WriteOptions::SECRET.replacing(true))
            .map_err(Error::io(&self.path, "cannot be written"))
    }
}

/// Decrypts and unpacks a pack, and compares the hash of each frame stored as in the file.
fn read_pack(repository: &Repository, object: &str, identities: &[Identity]) -> Result<(), Error> {
    let wrong = |source: ArchiveError| Error::Object { object: object.to_owned(), source };
    let mut reader = PackReader::decrypt(repository.object(object)?, identities).map_err(wrong)?;
    while let Some(frame) = reader.next_frame().map_err(wrong)? {
        if frame.description.opened.is_none() && Hash::compute(frame.data) != frame.description.hash {
            return Err(wrong(ArchiveError::Pack("the bytes of a frame differ from those that were packed")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(read_data: Option<u8>, objects: bool) -> CheckRequest<'static> {
        CheckRequest {
            host: "db1",
            backups: Selection::All,
            objects,
            read_data,
            identity: None,
            allowed_signers: None,
            state: None,
        }
    }

    #[test]
    fn a_part_is_read_only_if_the_next_check_can_go_on() {
        let error = request(Some(10), false).depth(&[], None).unwrap_err();
        assert!(error.is_misuse() && error.to_string().starts_with("--read-data 10% needs --state"), "{error}");
        assert!(matches!(request(Some(100), false).depth(&[], None), Ok(Depth::Data { percent: 100, .. })));
        let record = HostRecord { number: 3, sha256: Digest::compute(b""), read_until: Some("pack".to_owned()) };
        let state = CheckState { path: PathBuf::new(), hosts: BTreeMap::from([("db1".to_owned(), record)]) };
        let depth = request(Some(10), false).depth(&[], Some(&state)).unwrap();
        assert!(matches!(depth, Depth::Data { percent: 10, after: Some(pack), .. } if pack == "pack"));
        assert!(matches!(request(None, true).depth(&[], None), Ok(Depth::Objects)));
        assert!(matches!(request(None, false).depth(&[], None), Ok(Depth::Names)));
    }

    #[test]
    fn what_was_not_judged_counts_only_if_everything_has_to_be() {
        let unsigned = Checked { newest_known: true, ..Checked::default() };
        assert_eq!((unsigned.outcome(false), unsigned.outcome(true)), (Outcome::Proven, Outcome::Unjudged));
        let complete = Checked { signed: true, ..unsigned };
        assert_eq!(complete.outcome(true), Outcome::Proven);
        let mut damaged = complete;
        damaged.bad("hosts/db1/receipts/1", "it is missing".to_owned());
        assert_eq!((damaged.outcome(false), damaged.outcome(true)), (Outcome::Damaged, Outcome::Damaged));
    }
}
