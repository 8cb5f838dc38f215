//! Removes archived binary logs from before the oldest kept backup: no restore replays them. Also removes orphans: parts
//! that no receipt names, which an interrupted archiver leaves, and signatures without a receipt, which an interrupted
//! prune leaves.

use std::collections::{BTreeMap, BTreeSet};

use archive::{
    Digest,
    binlog::BinlogReceipt,
    names::{self, Number},
    prune::{RemovedLogs, is_signature_left},
    sshsig::AllowedSigners,
};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use store::Listed;

use super::{
    Objects,
    removable::{RemovableReceipts, RemovedReceipt},
};
use crate::{
    Error, Repository,
    binlogs::{each_receipt, servers},
    declarations::{DeclaredRemoval, HostDeclarations},
};

/// Logs from this long before the oldest kept backup are kept, too: the clocks of a server and of its host may differ.
const MARGIN: SignedDuration = SignedDuration::from_hours(24);

/// No later receipt names a part if a receipt was put at least this long after it. The margin is needed because the
/// clocks of a store's machines may differ.
const RECEIPT_MARGIN: SignedDuration = SignedDuration::from_hours(24);

/// The parts of one server's archive that a prune removes.
#[derive(Clone, Debug, Serialize)]
pub struct BinlogPlan {
    /// The server, as in the name of its archive.
    pub server: String,
    /// Number of receipts to remove.
    pub receipts: usize,
    /// Number of parts to remove.
    pub parts: usize,
    /// Length of these parts in bytes.
    pub bytes: u64,
    /// The receipts to remove with what each names, oldest first.
    #[serde(skip)]
    pub(super) removed: Vec<RemovedReceipt>,
}

impl BinlogPlan {
    fn new(server: &str, removed: Vec<RemovedReceipt>) -> Option<Self> {
        let bytes =
            |receipt: &RemovedReceipt| receipt.parts.values().fold(0_u64, |sum, part| sum.saturating_add(*part));
        (!removed.is_empty()).then(|| Self {
            server: server.to_owned(),
            receipts: removed.len(),
            parts: removed.iter().map(|receipt| receipt.parts.len()).sum(),
            bytes: removed.iter().map(bytes).fold(0, u64::saturating_add),
            removed,
        })
    }

    /// A plan that removes receipts with these numbers, which name no parts.
    #[cfg(test)]
    pub(super) fn of_receipts(server: &str, numbers: std::ops::RangeInclusive<Number>) -> Self {
        let removed = |number| RemovedReceipt { number, sha256: Digest::compute(b""), parts: Objects::new() };
        Self::new(server, numbers.map(removed).collect()).unwrap()
    }

    /// Names of all objects of a host that it removes.
    pub(super) fn objects(&self, host: &str) -> impl Iterator<Item = String> {
        self.removed.iter().flat_map(move |receipt| {
            let names =
                [names::binlog_receipt, names::binlog_signature].map(|of| of(host, &self.server, receipt.number));
            receipt.parts.keys().cloned().chain(names)
        })
    }

    /// The declaration: the last of the removed receipts.
    pub(super) fn declared(&self) -> Option<RemovedLogs> {
        self.removed.last().map(|last| RemovedLogs { number: last.number, sha256: last.sha256 })
    }
}

/// Whether an object of a host can be an orphan: a part of a binary log, or the signature of a receipt that a prune has
/// removed.
pub(super) fn may_be_orphan(host: &str, object: &str, declared: &HostDeclarations) -> bool {
    names::segment_server(host, object).is_some() || signed_removed(host, object, declared).is_some()
}

/// The server and the number of a removed receipt whose signature this is; `None` if that signature is to stay.
fn signed_removed<'n>(host: &str, object: &'n str, declared: &HostDeclarations) -> Option<(&'n str, Number)> {
    let (server, number) = names::binlog_signature_number(host, object)?;
    let is_removed = declared.binlogs.get(server).is_some_and(|declared| declared.has(number));
    (is_removed && !is_signature_left(number)).then_some((server, number))
}

/// Plans what to remove from the archives of a host, and finds orphans. `oldest`: when the oldest kept backup began;
/// `servers_of_backups`: UUIDs of the servers of kept backups; `may_be_orphans`: objects that are old enough to be
/// removed if they are orphans.
pub(super) fn plan(
    repository: &Repository,
    host: &str,
    signers: &AllowedSigners,
    declared: &HostDeclarations,
    (oldest, servers_of_backups): (Timestamp, &BTreeSet<&str>),
    may_be_orphans: &[&Listed],
) -> Result<(Vec<BinlogPlan>, Objects), Error> {
    let time = oldest.saturating_sub(MARGIN).unwrap_or(Timestamp::MIN);
    let stored = servers(repository, host)?;
    let mut archives = Vec::new();
    for (server, receipts) in &stored {
        let mut archive = StoredArchive::new(host, server.clone(), time, declared.binlogs.get(server));
        let numbers: Vec<Number> = receipts.keys().copied().collect();
        each_receipt(repository, host, server, &numbers, signers, &mut |number, found| {
            archive.take(number, found.zip(receipts.get(&number).copied()));
        })?;
        archives.push(archive);
    }
    let newest: BTreeMap<String, Timestamp> =
        archives.iter().filter_map(|archive| Some((archive.server.clone(), archive.newest?))).collect();
    // A prune that was interrupted has left them.
    let is_left = |listed: &&&Listed| {
        let signed = signed_removed(host, listed.name.as_str(), declared);
        signed.is_some_and(|(server, number)| stored.get(server).is_none_or(|stored| !stored.contains_key(&number)))
    };
    let left = may_be_orphans.iter().filter(is_left);
    let mut orphans: Objects = left.map(|listed| (listed.name.to_string(), listed.bytes)).collect();
    let mut plans = Vec::new();
    for mut archive in archives {
        let of_server = |listed: &&&Listed| names::segment_server(host, listed.name.as_str()) == Some(&archive.server);
        let of_server: Vec<&Listed> = may_be_orphans.iter().filter(of_server).copied().collect();
        orphans.extend(archive.unnamed(&of_server));
        let is_followed = newest.iter().any(|(other, put)| *other != archive.server && Some(*put) > archive.newest);
        let is_known = archive.removable.is_whole();
        if is_followed && is_known && !servers_of_backups.contains(archive.server.as_str()) {
            archive.removable.end_archive();
        }
        plans.extend(BinlogPlan::new(&archive.server, archive.removable.end(host, &archive.server)));
    }
    Ok((plans, orphans))
}

/// The archive of one server, as stored in the repository.
struct StoredArchive<'h> {
    host: &'h str,
    server: String,
    removable: RemovableReceipts,
    /// Names of the parts that receipts name.
    named: BTreeSet<String>,
    /// When the newest receipt was put, by the store's clock.
    newest: Option<Timestamp>,
}

impl<'h> StoredArchive<'h> {
    /// Of a server; `time`: that up to which logs may be removed, `declared`: the declaration of an earlier prune.
    fn new(host: &'h str, server: String, time: Timestamp, declared: Option<&DeclaredRemoval>) -> Self {
        let removable = RemovableReceipts::new(time, declared);
        Self { host, server, removable, named: BTreeSet::new(), newest: None }
    }

    /// Takes the next receipt, with its hash and the time when it was put; `None` if it cannot be trusted.
    fn take(&mut self, number: Number, found: Option<((BinlogReceipt, Digest), Timestamp)>) {
        let Some(((receipt, sha256), put)) = found else { return self.removable.pass_over(number) };
        self.named.extend(receipt.segments.iter().map(|part| part.name(self.host, &self.server)));
        self.newest = self.newest.max(Some(put));
        self.removable.take(receipt, sha256, put);
    }

    /// The given parts that no receipt names or will name. An archiver, even an interrupted one, names in its next
    /// receipt only parts that were put after its newest receipt.
    fn unnamed(&self, parts: &[&Listed]) -> Objects {
        let Some(newest) = self.newest.filter(|_| self.removable.is_whole()) else { return Objects::new() };
        let is_passed = |part: &&&Listed| newest.duration_since(part.modified) > RECEIPT_MARGIN;
        let unnamed = parts.iter().filter(is_passed).filter(|part| !self.named.contains(part.name.as_str()));
        unnamed.map(|part| (part.name.to_string(), part.bytes)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::Cursor,
        time::{Duration, SystemTime},
    };

    use archive::{
        receipt::NAMESPACE,
        sshsig::{self, SigningKey},
    };

    use super::{super::removable::tests::receipt, *};
    use crate::repository::name;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    const DAY: i64 = 86_400;

    /// A repository in a directory, whose objects were put some days ago.
    struct TestRepository {
        directory: tempfile::TempDir,
        repository: Repository,
        key: SigningKey,
    }

    impl TestRepository {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let store = store::Directory::make(&directory.path().join("repository")).unwrap();
            Repository::create(&store).unwrap();
            let repository = Repository::open(Box::new(store)).unwrap();
            Self { directory, repository, key: SigningKey::generate().unwrap() }
        }

        fn signers(&self) -> AllowedSigners {
            AllowedSigners::only(self.key.public(), "db1")
        }

        fn put(&self, object: &str, bytes: &[u8], days: i64) {
            let length = bytes.len() as u64;
            self.repository.store().put_new(&name(object).unwrap(), &mut Cursor::new(bytes), length).unwrap();
            let file = File::options().write(true).open(self.directory.path().join("repository").join(object)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(ago(days)).unwrap())).unwrap();
        }

        /// Puts a receipt with its only part; returns the name of that part.
        fn archive(&self, server: &str, number: Number, previous: Option<Digest>, days: i64) -> (String, Digest) {
            let first = u32::try_from(ago(days)).unwrap();
            let receipt = BinlogReceipt {
                repo: self.repository.id.clone(),
                server: server.to_owned(),
                previous,
                ..receipt(number, &[(4, first)])
            };
            let part = receipt.segments[0].name("db1", server);
            self.put(&part, b"part", days);
            let bytes = receipt.encode().unwrap();
            let signature = sshsig::sign(&self.key, NAMESPACE, &bytes);
            self.put(&names::binlog_signature("db1", server, number), signature.as_bytes(), days);
            self.put(&names::binlog_receipt("db1", server, number), &bytes, days);
            (part, Digest::compute(&bytes))
        }

        /// Servers and numbers of receipts that go if the oldest backup is two days old, and parts that no receipt
        /// names.
        fn planned(&self, servers_of_backups: &[&str]) -> (Vec<(String, usize)>, Vec<String>) {
            self.planned_after(servers_of_backups, &HostDeclarations::default())
        }

        fn planned_after(
            &self,
            servers_of_backups: &[&str],
            declared: &HostDeclarations,
        ) -> (Vec<(String, usize)>, Vec<String>) {
            let listed = self.repository.store().list("hosts/db1/").unwrap();
            let old: Vec<&Listed> = listed.iter().filter(|listed| listed.modified < at(ago(7))).collect();
            let backups = (at(ago(2)), &servers_of_backups.iter().copied().collect());
            let planned = plan(&self.repository, "db1", &self.signers(), declared, backups, &old);
            let (plans, unnamed) = planned.unwrap();
            let removed = plans.into_iter().map(|plan| (plan.server, plan.receipts)).collect();
            (removed, unnamed.into_keys().collect())
        }
    }

    fn ago(days: i64) -> i64 {
        Timestamp::now().as_second() - days * DAY
    }

    #[test]
    fn the_archive_of_a_server_that_was_replaced_goes_by_its_age() {
        let repository = TestRepository::new();
        let (_, first) = repository.archive("7", 1, None, 20);
        repository.archive("7", 2, Some(first), 10);
        assert_eq!(repository.planned(&[]).0, [("7".to_owned(), 1)], "it may go on");
        repository.archive("8", 1, None, 1);
        assert_eq!(repository.planned(&["7"]).0, [("7".to_owned(), 1)], "a backup is of this server");
        assert_eq!(repository.planned(&["8"]).0, [("7".to_owned(), 2)]);
    }

    #[test]
    fn parts_without_a_receipt_go_when_no_receipt_can_name_them() {
        let repository = TestRepository::new();
        let (named, first) = repository.archive("7", 1, None, 20);
        let part = |start: u64| named.replace("0000000004-0000000014", &format!("{start:010}-{:010}", start + 10));
        // Put before the newest receipt, after it, and only a few days ago.
        for (start, days) in [(100, 15), (200, 9), (300, 3)] {
            repository.put(&part(start), b"part", days);
        }
        assert!(repository.planned(&[]).1.is_empty(), "an archiver may yet name all of them");
        let (_, second) = repository.archive("7", 2, Some(first), 10);
        assert_eq!(repository.planned(&[]).1, [part(100)]);
        repository.archive("7", 3, Some(second), 1);
        assert_eq!(repository.planned(&[]).1, [part(100), part(200)]);
        repository.put(&names::binlog_receipt("db1", "7", 4), b"not to be trusted", 0);
        assert!(repository.planned(&[]).1.is_empty(), "what that receipt names is not known");
    }

    #[test]
    fn signatures_that_an_interrupted_prune_has_left_go() {
        let repository = TestRepository::new();
        let (_, first) = repository.archive("7", 65, None, 20);
        let declared = RemovedLogs { number: 66, sha256: first };
        let declared = DeclaredRemoval { removed: declared, at: at(ago(10)) };
        let declared = HostDeclarations {
            binlogs: ["7", "8"].map(|server| (server.to_owned(), declared)).into(),
            ..HostDeclarations::default()
        };
        // All others stay: the first and the 64th mark their numbers as used, 65 has its receipt, 67 is not removed,
        // and 60 is not old enough.
        for (server, number, days) in
            [("7", 1, 20), ("7", 63, 20), ("7", 64, 20), ("7", 66, 20), ("7", 67, 20), ("7", 60, 3), ("8", 9, 20)]
        {
            repository.put(&names::binlog_signature("db1", server, number), b"signature", days);
        }
        let (removed, orphans) = repository.planned_after(&[], &declared);
        assert_eq!(removed, [("7".to_owned(), 1)], "the one that was declared");
        let expected = [("7", 63), ("7", 66), ("8", 9)];
        assert_eq!(orphans, expected.map(|(server, number)| names::binlog_signature("db1", server, number)));
        assert!(repository.planned(&[]).1.is_empty(), "nothing is declared");
    }

    /// As an attacker hides it, or the listing of a store that is eventually consistent.
    #[test]
    fn parts_of_a_receipt_that_is_not_listed_stay() {
        let repository = TestRepository::new();
        let (named, first) = repository.archive("7", 1, None, 20);
        let (_, second) = repository.archive("7", 2, Some(first), 15);
        repository.archive("7", 3, Some(second), 1);
        let orphan = named.replace("0000000004-0000000014", "0000000100-0000000110");
        repository.put(&orphan, b"part", 17);
        assert_eq!(repository.planned(&[]).1, [orphan]);
        for hidden in [1, 2] {
            let receipt =
                repository.directory.path().join("repository").join(names::binlog_receipt("db1", "7", hidden));
            let aside = repository.directory.path().join("aside");
            std::fs::rename(&receipt, &aside).unwrap();
            assert!(repository.planned(&[]).1.is_empty(), "receipt {hidden} is hidden");
            std::fs::rename(&aside, &receipt).unwrap();
        }
    }
}
