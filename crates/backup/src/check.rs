//! Checks a repository: without decryption, or with an identity by reading all of it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    str::FromStr,
};

use agefile::Identity;
use archive::{
    Digest, Error as ArchiveError, PackReader,
    chain::{ChainBreak, Link},
    manifest::Lists,
    names::{self, Number},
    receipt::Object,
    sshsig::AllowedSigners,
};
use serde::Serialize;
use store::Error as StoreError;

use crate::{
    Error, Outcome, Repository,
    binlogs::StoredPart,
    repository::{check_sum, read_manifest},
    windows::ArchivedLogs,
};

mod named;
mod report;
mod request;
mod state;

use self::named::Named;
pub(crate) use self::report::SCHEMA;
pub use self::{report::CheckReport, request::CheckRequest, state::CheckState};

/// Maximum number of wrong objects of which older versions are looked for: each costs at least one request.
const MOST_ASKED: usize = 100;

/// How much a check reads.
#[derive(Debug)]
pub enum Depth<'i> {
    /// Receipts and signatures; of all other objects only existence and length.
    Names,
    /// Also the SHA-256 of every object.
    Objects,
    /// Also decrypts and unpacks packs, manifests and parts of binary logs.
    Data {
        /// Identities, one of which decrypts the packs.
        identities: &'i [Identity],
        /// Percentage of the objects that is read, 1 to 100.
        percent: u8,
        /// SHA-256 of the last object that an earlier check read; this check continues after it.
        after: Option<Digest>,
    },
}

/// Result of a check.
#[derive(Debug, Default)]
pub struct Checked {
    /// Number of objects that receipts name.
    pub named: u64,
    /// How many of the named objects exist with the right length.
    pub present: u64,
    /// How many of the named objects were read completely.
    pub read: u64,
    /// Objects that are wrong.
    pub bad: Vec<BadObject>,
    /// Numbers of the backups that need a wrong object.
    pub incomplete: BTreeSet<Number>,
    /// Breaks of the chain of receipts.
    pub breaks: Vec<ChainBreak>,
    /// Number of receipts, good and bad.
    pub receipts: u64,
    /// Whether signatures were verified.
    pub signed: bool,
    /// Fingerprint of the key that has signed the newest receipt, if signatures were verified.
    pub signer: Option<String>,
    /// Whether it is certain that no newer receipt is hidden.
    pub newest_known: bool,
    /// Percentage of the objects that was read.
    pub percent_done: u8,
    /// SHA-256 of the last object that was read, if only a part of them was.
    pub read_until: Option<Digest>,
    /// Objects that no receipt names.
    pub unnamed: Vec<String>,
    /// Number of wrong objects of which no older versions were looked for.
    pub unasked: u64,
    /// What is archived of binary logs; `None` if nothing is, or only one backup was checked.
    pub logs: Option<ArchivedLogs>,
}

/// An object that is missing or wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BadObject {
    /// Name of the object.
    pub object: String,
    /// What is wrong with it.
    pub what: String,
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
    let named = Named::read(repository, host, only, signers, &[])?;
    if let (Some(only), true) = (only, named.objects.is_empty()) {
        return Err(repository.no_backup(host, &only.to_string()));
    }
    let mut checked = Checked {
        signed: signers.is_some(),
        signer: named.signer.map(|key| key.fingerprint()),
        receipts: named.receipts,
        logs: named.logs(),
        ..Checked::default()
    };
    let parts = if matches!(depth, Depth::Data { .. }) { named.parts() } else { BTreeMap::new() };
    let read = checked.sample(&named.objects, depth);
    let (lengths, others) = listed(repository, host, &named.objects)?;
    for (object, expected) in &named.objects {
        checked.named = checked.named.saturating_add(1);
        match lengths.get(object.as_str()).copied() {
            Some(bytes) if bytes == expected.bytes => checked.present = checked.present.saturating_add(1),
            Some(bytes) => checked.bad(object, format!("it has {bytes} bytes, its receipt says {}", expected.bytes)),
            None => checked.bad(object, "it is missing".to_owned()),
        }
        let is_wrong = checked.bad.last().is_some_and(|bad| bad.object == *object);
        let is_read = read.as_ref().is_none_or(|read| read.contains(object.as_str()));
        if !is_wrong && is_read && !matches!(depth, Depth::Names) {
            checked.object(repository, object, *expected, parts.get(object), depth)?;
        }
    }
    if only.is_none() {
        checked.unnamed = named.unnamed(host, others);
    }
    if checked.bad.is_empty() && named.is_sound() {
        return Ok((checked, named.links));
    }
    // A prune may have removed receipts since they were read, and then their objects. It declares a removal first, and
    // removes a receipt before the objects that it names. So a missing object counts only if its receipt still exists.
    let now = Named::read(repository, host, only, signers, &checked.bad)?;
    checked.keep_what_is_named(&now);
    checked.add_older_versions(repository, &named.objects, depth);
    checked.incomplete = now.incomplete;
    checked.breaks = now.breaks;
    checked.bad.splice(..0, now.bad);
    Ok((checked, named.links))
}

/// Lengths of the named objects that exist, and the names of all other objects of a host.
fn listed<'n>(
    repository: &Repository,
    host: &str,
    named: &'n BTreeMap<String, Object>,
) -> Result<(HashMap<&'n str, u64>, Vec<String>), Error> {
    let (mut lengths, mut others) = (HashMap::with_capacity(named.len()), Vec::new());
    repository.store().visit(&names::of_host(host), &mut |listed| match named.get_key_value(listed.name.as_str()) {
        Some((name, _)) => drop(lengths.insert(name.as_str(), listed.bytes)),
        None => others.push(listed.name.to_string()),
    })?;
    Ok((lengths, others))
}

impl Checked {
    /// The verdict. Signatures that were not verified, and a newest receipt that is not known to be the newest, count
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
            (Depth::Data { identities, .. }, None) if names::is_manifest(object) => {
                parse_manifest(repository, object, identities)
            }
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

    /// Adds to wrong objects the older version that a restore uses instead, if there is one. Stops at the first failure
    /// of the store. A check of names reads no bytes, so it compares lengths only.
    fn add_older_versions(&mut self, repository: &Repository, named: &BTreeMap<String, Object>, depth: &Depth<'_>) {
        let mut bad = self.bad.iter_mut().filter_map(|bad| named.get(&bad.object).map(|expected| (bad, *expected)));
        for (bad, expected) in bad.by_ref().take(MOST_ASKED) {
            let found = match depth {
                Depth::Names => repository.older_of_length(&bad.object, expected.bytes).map(|found| {
                    let older = found.into_iter().next()?;
                    Some(format!("an older version, {}, has the right length; --objects compares it", older.id))
                }),
                Depth::Objects | Depth::Data { .. } => repository
                    .older_version(&bad.object, expected)
                    .map(|found| Some(format!("its older version {} is intact, and a restore uses it", found?.id))),
            };
            let Ok(found) = found else {
                self.unasked = 1;
                break;
            };
            found.iter().for_each(|text| bad.what.push_str(&format!("; {text}")));
        }
        self.unasked += bad.count() as u64;
    }

    /// Drops findings about objects that no receipt names any more.
    fn keep_what_is_named(&mut self, now: &Named) {
        let before = self.bad.len();
        self.bad.retain(|bad| now.objects.contains_key(&bad.object));
        let pruned = before.saturating_sub(self.bad.len());
        self.named = self.named.saturating_sub(pruned as u64);
    }

    /// The objects to read, if not all. They are taken in the order of their hashes, so that each check reads about the
    /// same share of packs, manifests and parts of binary logs.
    fn sample<'o>(&mut self, objects: &'o BTreeMap<String, Object>, depth: &Depth<'_>) -> Option<BTreeSet<&'o str>> {
        self.percent_done = if matches!(depth, Depth::Names) { 0 } else { 100 };
        let Depth::Data { percent: percent @ ..100, after, .. } = depth else { return None };
        self.percent_done = *percent;
        let mut order: Vec<(&Digest, &str)> = objects.iter().map(|(name, object)| (&object.sha256, &**name)).collect();
        order.sort_unstable();
        let count = (order.len() * usize::from(*percent)).div_ceil(100);
        let first = order.partition_point(|(sha256, _)| after.is_some_and(|after| **sha256 <= after));
        let (before, behind) = order.split_at(first);
        let mut sample = BTreeSet::new();
        for (sha256, name) in behind.iter().chain(before).take(count) {
            self.read_until = Some(**sha256);
            sample.insert(*name);
        }
        Some(sample)
    }
}

fn is_pack(object: &str) -> bool {
    object.contains("/packs/")
}

/// Decrypts and unpacks a pack. Compares the hash of each frame whose pages are stored as in the file; frames of
/// decrypted pages would have to be encrypted again first.
fn read_pack(repository: &Repository, object: &str, identities: &[Identity]) -> Result<(), Error> {
    let wrong = |source: ArchiveError| Error::of_object(object, source);
    let mut reader = PackReader::decrypt(repository.object(object)?, identities).map_err(wrong)?;
    while let Some(frame) = reader.next_frame().map_err(wrong)? {
        if frame.description.decrypted.is_none() {
            frame.check_hash().map_err(wrong)?;
        }
    }
    Ok(())
}

/// Decrypts and parses a manifest: the hashes of its files have to fit together, and parts to be within files and packs.
fn parse_manifest(repository: &Repository, object: &str, identities: &[Identity]) -> Result<(), Error> {
    let parsed = read_manifest(repository.object(object)?, identities, Lists::not_kept());
    parsed.map(drop).map_err(|source| Error::of_object(object, source))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{self, Cursor, Read},
        ops::Range,
    };

    use store::{Body, Deletion, Directory, Listed, Name, Put, Store, s3::S3Fault};

    use super::*;

    /// A store that fails in the middle of each body.
    #[derive(Debug)]
    struct Failing(Directory);

    impl Failing {
        fn failure() -> StoreError {
            let fault = S3Fault::Busy { status: 503, code: "SlowDown".to_owned(), attempts: 9 };
            StoreError::S3 { location: "s3://backups".to_owned(), fault }
        }
    }

    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other(Self::failure()))
        }
    }

    impl Store for Failing {
        fn put_new(&self, name: &Name, body: &mut dyn Body, bytes: u64) -> Result<Put, StoreError> {
            self.0.put_new(name, body, bytes)
        }

        fn get(&self, name: &Name, range: Option<Range<u64>>) -> Result<Box<dyn Read + Send>, StoreError> {
            let whole = self.0.get(name, range)?;
            if !is_pack(name.as_str()) && !names::is_manifest(name.as_str()) {
                return Ok(whole);
            }
            let half = self.0.head(name)?.unwrap_or_default() / 2;
            Ok(Box::new(whole.take(half).chain(Self(self.0.clone()))))
        }

        fn head(&self, name: &Name) -> Result<Option<u64>, StoreError> {
            self.0.head(name)
        }

        fn list(&self, prefix: &str) -> Result<Vec<Listed>, StoreError> {
            self.0.list(prefix)
        }

        fn delete(&self, name: &Name) -> Result<Deletion, StoreError> {
            self.0.delete(name)
        }

        fn location(&self) -> String {
            self.0.location()
        }
    }

    #[test]
    fn a_store_that_fails_in_a_body_damages_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let open = || Directory::make(&directory.path().join("repository")).unwrap();
        Repository::create(&open()).unwrap();
        let identities = [Identity::generate().unwrap()];
        let mut age = agefile::Encryptor::new(Vec::new(), &[identities[0].recipient()]).unwrap();
        io::copy(&mut io::repeat(7).take(60_000), &mut age).unwrap();
        let bytes = age.finish().unwrap();
        let (pack, manifest) = (names::pack("db1", &Digest::compute(&bytes)), names::manifest("db1", 1));
        for object in [&pack, &manifest] {
            let length = bytes.len() as u64;
            open().put_new(&object.parse().unwrap(), &mut Cursor::new(&bytes), length).unwrap();
        }
        let repository = Repository::open(Box::new(Failing(open()))).unwrap();
        let failures =
            [read_pack(&repository, &pack, &identities), parse_manifest(&repository, &manifest, &identities)];
        for failed in failures.map(Result::unwrap_err) {
            assert!(matches!(&failed, Error::Store(StoreError::S3 { .. })), "{failed}");
            assert_eq!(failed.to_string(), Failing::failure().to_string());
        }
        // Their content is no pack and no manifest, which is a fault of the objects.
        let repository = Repository::open(Box::new(open())).unwrap();
        assert!(matches!(read_pack(&repository, &pack, &identities), Err(Error::Object { .. })));
        assert!(matches!(parse_manifest(&repository, &manifest, &identities), Err(Error::Object { .. })));
    }

    #[test]
    fn checks_of_a_part_read_every_kind_of_object_in_turn() {
        let object = |text: &str| Object { sha256: Digest::compute(text.as_bytes()), bytes: 1 };
        let manifests = (1..=40).map(|number| names::manifest("db1", number));
        let packs = (0..160).map(|pack: u8| names::pack("db1", &Digest::compute(&[pack])));
        let objects: BTreeMap<String, Object> =
            manifests.chain(packs).map(|name| (name.clone(), object(&name))).collect();
        let (mut after, mut read) = (None, BTreeSet::new());
        for _ in 0..20 {
            let mut checked = Checked::default();
            let sample = checked.sample(&objects, &Depth::Data { identities: &[], percent: 5, after }).unwrap();
            assert_eq!((sample.len(), checked.percent_done), (10, 5));
            assert!(sample.iter().filter(|name| names::is_manifest(name)).count() < 10);
            read.extend(sample.into_iter().map(str::to_owned));
            after = checked.read_until;
        }
        assert!(read.iter().eq(objects.keys()));
        let all = Depth::Data { identities: &[], percent: 100, after: None };
        assert!(Checked::default().sample(&objects, &all).is_none());
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
