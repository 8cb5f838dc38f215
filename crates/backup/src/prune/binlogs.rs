//! Removes archived binary logs from before the oldest kept backup: no restore replays them. Also removes parts that no
//! receipt names, which an interrupted archiver leaves.

use std::collections::{BTreeMap, BTreeSet};

use archive::{
    Digest,
    binlog::BinlogReceipt,
    names::{self, Number},
    prune::RemovedLogs,
    sshsig::AllowedSigners,
};
use innodb::binlog::FIRST_EVENT;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use store::Listed;

use super::Objects;
use crate::{
    Error, Repository,
    binlogs::{each_receipt, servers},
    declarations::{DeclaredRemoval, HostDeclarations},
};

/// How much longer than the oldest kept backup logs are kept: the clocks of a server and of its host may differ.
const MARGIN: SignedDuration = SignedDuration::from_hours(24);

/// How much later than a part a receipt has to be put, if the part is to be known as one that no later receipt names:
/// the clocks of a store's machines may differ.
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

/// A receipt to remove.
#[derive(Clone, Debug)]
pub(super) struct RemovedReceipt {
    pub(super) number: Number,
    sha256: Digest,
    /// The parts that it names.
    pub(super) parts: Objects,
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

/// Plans what to remove of the archives of a host, and which parts no receipt names. `oldest`: when the oldest kept
/// backup began; `servers_of_backups`: UUIDs of the servers that kept backups are of; `orphans`: parts that are old
/// enough to go if no receipt names them.
pub(super) fn plan(
    repository: &Repository,
    host: &str,
    signers: &AllowedSigners,
    declared: &HostDeclarations,
    (oldest, servers_of_backups): (Timestamp, &BTreeSet<&str>),
    orphans: &[&Listed],
) -> Result<(Vec<BinlogPlan>, Objects), Error> {
    let time = oldest.saturating_sub(MARGIN).unwrap_or(Timestamp::MIN);
    let mut archives = Vec::new();
    for (server, stored) in servers(repository, host)? {
        let unneeded = Unneeded::new(time, declared.binlogs.get(&server));
        let mut archive = Existing::new(host, server.clone(), unneeded);
        let numbers: Vec<Number> = stored.keys().copied().collect();
        each_receipt(repository, host, &server, &numbers, signers, &mut |number, found| {
            archive.take(number, found.zip(stored.get(&number).copied()));
        })?;
        archives.push(archive);
    }
    let newest: BTreeMap<String, Timestamp> =
        archives.iter().filter_map(|archive| Some((archive.server.clone(), archive.newest?))).collect();
    let (mut plans, mut unnamed) = (Vec::new(), Objects::new());
    for mut archive in archives {
        let of_server = |listed: &&&Listed| names::segment_server(host, listed.name.as_str()) == Some(&archive.server);
        let of_server: Vec<&Listed> = orphans.iter().filter(of_server).copied().collect();
        unnamed.extend(archive.unnamed(&of_server));
        let is_followed = newest.iter().any(|(other, put)| *other != archive.server && Some(*put) > archive.newest);
        if is_followed && archive.is_known && !servers_of_backups.contains(archive.server.as_str()) {
            archive.unneeded.end_archive();
        }
        plans.extend(BinlogPlan::new(&archive.server, archive.unneeded.end(host, &archive.server)));
    }
    Ok((plans, unnamed))
}

/// What the repository has of a server's archive.
struct Existing<'h> {
    host: &'h str,
    server: String,
    unneeded: Unneeded,
    /// Whether more receipts can be unneeded.
    goes_on: bool,
    /// Names of the parts that receipts name.
    named: BTreeSet<String>,
    /// When the newest receipt was put, by the store's clock.
    newest: Option<Timestamp>,
    /// Whether every receipt can be trusted, so that all named parts are known.
    is_known: bool,
}

impl<'h> Existing<'h> {
    const fn new(host: &'h str, server: String, unneeded: Unneeded) -> Self {
        Self { host, server, unneeded, goes_on: true, named: BTreeSet::new(), newest: None, is_known: true }
    }

    /// Takes the next receipt, with its hash and the time when it was put; `None` if it cannot be trusted.
    fn take(&mut self, number: Number, found: Option<((BinlogReceipt, Digest), Timestamp)>) {
        let Some(((receipt, sha256), put)) = found else {
            // Anyone may put an object with the name of a receipt that was removed. Another one that cannot be
            // trusted stays, with those after it: `check` names it.
            let is_left = self.unneeded.is_left(number);
            (self.is_known, self.goes_on) = (self.is_known && is_left, self.goes_on && is_left);
            return;
        };
        self.named.extend(receipt.segments.iter().map(|part| part.name(self.host, &self.server)));
        self.newest = self.newest.max(Some(put));
        self.goes_on = self.goes_on && self.unneeded.take(receipt, sha256, put);
    }

    /// Which of these parts no receipt names or will name. An archiver, even one that was interrupted, has put no
    /// receipt after the parts that its next one names.
    fn unnamed(&self, parts: &[&Listed]) -> Objects {
        let Some(newest) = self.newest.filter(|_| self.is_known) else { return Objects::new() };
        let is_passed = |part: &&&Listed| newest.duration_since(part.modified) > RECEIPT_MARGIN;
        let unnamed = parts.iter().filter(is_passed).filter(|part| !self.named.contains(part.name.as_str()));
        unnamed.map(|part| (part.name.to_string(), part.bytes)).collect()
    }
}

/// Finds the receipts before the log that was the newest at a time.
struct Unneeded {
    time: Timestamp,
    /// What an earlier prune has declared; what is left of it goes, too.
    declared: Option<DeclaredRemoval>,
    receipts: Vec<(BinlogReceipt, Digest)>,
    /// How many of the receipts are before that log.
    count: usize,
    /// SHA-256 of the receipt before the next one.
    previous: Option<Digest>,
    /// Whether a receipt is from after the time, or does not continue the one before it.
    is_later: bool,
}

impl Unneeded {
    fn new(time: Timestamp, declared: Option<&DeclaredRemoval>) -> Self {
        let previous = declared.map(|declared| declared.removed.sha256);
        Self { time, declared: declared.copied(), receipts: Vec::new(), count: 0, previous, is_later: false }
    }

    /// Whether an earlier prune has declared that the receipt goes.
    fn is_left(&self, number: Number) -> bool {
        self.declared.is_some_and(|declared| number <= declared.removed.number)
    }

    /// Takes the next receipt; returns whether more of them can be unneeded. `put`: when it was put, by the store's
    /// clock, which nobody who writes receipts can set back.
    fn take(&mut self, receipt: BinlogReceipt, sha256: Digest, put: Timestamp) -> bool {
        if self.is_left(receipt.number) {
            // A later one is of a host with an old state, as `check` says.
            if self.declared.is_some_and(|declared| put <= declared.at) {
                self.receipts.push((receipt, sha256));
                self.count = self.receipts.len();
            }
            return true;
        }
        if receipt.previous != self.previous.replace(sha256) {
            self.is_later = true;
            return false;
        }
        let mut is_later = put >= self.time;
        for segment in receipt.segments.iter().filter(|segment| segment.start == FIRST_EVENT && segment.first > 0) {
            is_later |= i64::from(segment.first) >= self.time.as_second();
            if !is_later {
                self.count = self.receipts.len();
            }
        }
        is_later |= receipt.segments.iter().any(|segment| i64::from(segment.last) >= self.time.as_second());
        self.receipts.push((receipt, sha256));
        self.is_later = is_later;
        !is_later
    }

    /// Records that the archive has ended, because another server's continues it. Its last log is as unneeded as those
    /// before it, if nothing of it is from after the time.
    fn end_archive(&mut self) {
        if !self.is_later {
            self.count = self.receipts.len();
        }
    }

    fn end(mut self, host: &str, server: &str) -> Vec<RemovedReceipt> {
        self.receipts.truncate(self.count);
        let removed = self.receipts.into_iter().map(|(receipt, sha256)| RemovedReceipt {
            number: receipt.number,
            sha256,
            parts: receipt.segments.iter().map(|part| (part.name(host, server), part.object.bytes)).collect(),
        });
        removed.collect()
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
        binlog::Segment,
        receipt::{NAMESPACE, Object},
        sshsig::{self, SigningKey},
    };

    use super::*;
    use crate::repository::name;

    /// A receipt with parts: offset, and seconds of the first event.
    fn receipt(number: Number, parts: &[(u64, u32)]) -> BinlogReceipt {
        let text = format!(
            r#"{{"schema":"sealant.binlog-receipt/1","repo":"r","host":"db1","server":"7","version":"8.0","number":{number},
            "written":"2026-11-27T01:00:00Z","segments":[],"end":{{"file":"b.000001","offset":9}},"gtid":"","recipients":[],
            "tool":"sealant"}}"#
        );
        let segment = |&(start, first): &(u64, u32)| Segment {
            file: format!("b.{first:06}"),
            start,
            end: start + 10,
            object: Object { sha256: Digest::compute(b"part"), bytes: 9 },
            event_bytes: 10,
            events: 1,
            first,
            last: first,
        };
        let parsed: BinlogReceipt = serde_json::from_str(&text).unwrap();
        BinlogReceipt { segments: parts.iter().map(segment).collect(), ..parsed }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// The receipts, each with the hash of the one before and put at the time of its newest log, and hashes.
    fn chain(receipts: &[&[(u64, u32)]]) -> Vec<(BinlogReceipt, Digest, Timestamp)> {
        let mut previous = None;
        let chained = (1..).zip(receipts).map(|(number, parts)| {
            let receipt = BinlogReceipt { previous, ..receipt(number, parts) };
            let sha256 = Digest::compute(&[u8::try_from(number).unwrap()]);
            previous = Some(sha256);
            let put = parts.iter().map(|(_, first)| i64::from(*first)).max().unwrap_or_default();
            (receipt, sha256, at(put))
        });
        chained.collect()
    }

    /// Numbers of the receipts that are removed before second 1000.
    fn removed(declared: Option<&DeclaredRemoval>, receipts: Vec<(BinlogReceipt, Digest, Timestamp)>) -> Vec<Number> {
        let mut unneeded = Unneeded::new(at(1000), declared);
        for (receipt, sha256, put) in receipts {
            if !unneeded.take(receipt, sha256, put) {
                break;
            }
        }
        unneeded.end("db1", "7").iter().map(|receipt| receipt.number).collect()
    }

    #[test]
    fn logs_before_the_one_of_the_time_go() {
        let of = |receipts: &[&[(u64, u32)]]| removed(None, chain(receipts));
        assert_eq!(
            of(&[&[(4, 100), (14, 150)], &[(4, 200)], &[(4, 900), (14, 950)], &[(14, 990)], &[(4, 1200)]]),
            [1, 2]
        );
        // A log that is in use for long is needed from its beginning.
        assert_eq!(of(&[&[(4, 100)], &[(14, 600)], &[(24, 1500)], &[(34, 9000)]]), [0; 0]);
        // A receipt is removed whole.
        assert_eq!(of(&[&[(4, 100)], &[(14, 500), (4, 800)], &[(4, 1200)]]), [1]);
        assert_eq!(of(&[&[(4, 2000)], &[(4, 2100)]]), [0; 0]);
    }

    #[test]
    fn a_receipt_does_not_say_itself_how_old_it_is() {
        let mut receipts = chain(&[&[(4, 1100)], &[(4, 1200)], &[(4, 1)]]);
        receipts[2].2 = at(1300);
        assert_eq!(removed(None, receipts), [0; 0]);
        let mut receipts = chain(&[&[(4, 100)], &[(4, 200)], &[(4, 300)]]);
        receipts[2].0.previous = None;
        assert_eq!(removed(None, receipts), [1], "what is behind a break stays");
    }

    #[test]
    fn the_last_log_goes_only_if_the_archive_has_ended() {
        let ended = |receipts| {
            let mut unneeded = Unneeded::new(at(1000), None);
            let goes_on = |(receipt, sha256, put)| unneeded.take(receipt, sha256, put);
            let _ = Vec::into_iter(receipts).all(goes_on);
            unneeded.end_archive();
            unneeded.end("db1", "7").len()
        };
        let receipts = chain(&[&[(4, 100)], &[(4, 200), (14, 300)]]);
        assert_eq!(removed(None, receipts.clone()), [1]);
        assert_eq!(ended(receipts.clone()), 2);
        let mut late = receipts.clone();
        late[1].2 = at(1500);
        assert_eq!(ended(late), 0, "it was put after the oldest backup");
        let mut broken = receipts;
        broken[1].0.previous = None;
        assert_eq!(ended(broken), 0, "what is behind a break stays, and the log before it");
    }

    const DAY: i64 = 86_400;

    /// A repository in a directory, whose objects were put some days ago.
    struct Place {
        directory: tempfile::TempDir,
        repository: Repository,
        key: SigningKey,
    }

    impl Place {
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
            let listed = self.repository.store().list("hosts/db1/").unwrap();
            let old: Vec<&Listed> = listed.iter().filter(|listed| listed.modified < at(ago(7))).collect();
            let backups = (at(ago(2)), &servers_of_backups.iter().copied().collect());
            let planned = plan(&self.repository, "db1", &self.signers(), &HostDeclarations::default(), backups, &old);
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
        let place = Place::new();
        let (_, first) = place.archive("7", 1, None, 20);
        place.archive("7", 2, Some(first), 10);
        assert_eq!(place.planned(&[]).0, [("7".to_owned(), 1)], "it may go on");
        place.archive("8", 1, None, 1);
        assert_eq!(place.planned(&["7"]).0, [("7".to_owned(), 1)], "a backup is of this server");
        assert_eq!(place.planned(&["8"]).0, [("7".to_owned(), 2)]);
    }

    #[test]
    fn parts_without_a_receipt_go_when_no_receipt_can_name_them() {
        let place = Place::new();
        let (named, first) = place.archive("7", 1, None, 20);
        let part = |start: u64| named.replace("0000000004-0000000014", &format!("{start:010}-{:010}", start + 10));
        // Put before the newest receipt, after it, and only a few days ago.
        for (start, days) in [(100, 15), (200, 9), (300, 3)] {
            place.put(&part(start), b"part", days);
        }
        assert!(place.planned(&[]).1.is_empty(), "an archiver may yet name all of them");
        let (_, second) = place.archive("7", 2, Some(first), 10);
        assert_eq!(place.planned(&[]).1, [part(100)]);
        place.archive("7", 3, Some(second), 1);
        assert_eq!(place.planned(&[]).1, [part(100), part(200)]);
        place.put(&names::binlog_receipt("db1", "7", 4), b"not to be trusted", 0);
        assert!(place.planned(&[]).1.is_empty(), "what that receipt names is not known");
    }

    #[test]
    fn what_an_earlier_prune_left_goes() {
        let receipts = chain(&[&[(4, 100)], &[(4, 200)], &[(4, 300)], &[(4, 2200)]]);
        let removed_before = RemovedLogs { number: 2, sha256: receipts[1].1 };
        let declared = DeclaredRemoval { removed: removed_before, at: at(500) };
        assert_eq!(removed(Some(&declared), receipts.clone()), [1, 2]);
        let late = receipts.into_iter().map(|(receipt, sha256, _)| (receipt, sha256, at(3000))).collect();
        assert_eq!(removed(Some(&declared), late), [0; 0], "a host with an old state has written them");
    }
}
