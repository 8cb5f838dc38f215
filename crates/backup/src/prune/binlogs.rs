//! Removes archived binary logs from before the oldest kept backup: no restore replays them.

use archive::{
    Digest,
    binlog::{BinlogReceipt, FIRST_EVENT},
    names::{self, Number},
    prune::RemovedLogs,
    sshsig::AllowedSigners,
};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::Objects;
use crate::{
    BackupError, Repository,
    binlogs::{each_receipt, servers},
    declared::{DeclaredLogs, DeclaredOfHost},
};

/// How much longer than the oldest kept backup logs are kept: the clocks of a server and of its host may differ.
const MARGIN: SignedDuration = SignedDuration::from_hours(24);

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

/// Plans what to remove of the archives of a host. `oldest`: when the oldest kept backup began.
pub(super) fn plan(
    repository: &Repository,
    host: &str,
    signers: &AllowedSigners,
    declared: &DeclaredOfHost,
    oldest: Timestamp,
) -> Result<Vec<BinlogPlan>, BackupError> {
    let mut plans = Vec::new();
    for (server, stored) in servers(repository, host)? {
        let declared = declared.binlogs.get(&server);
        let mut unneeded = Unneeded::new(oldest.saturating_sub(MARGIN).unwrap_or(Timestamp::MIN), declared);
        let numbers: Vec<Number> = stored.keys().copied().collect();
        each_receipt(repository, host, &server, &numbers, signers, &mut |number, found| {
            match found.zip(stored.get(&number).copied()) {
                Some(((receipt, sha256), put)) => unneeded.take(receipt, sha256, put),
                // Anyone may put an object with the name of a receipt that was removed. Another one that cannot be
                // trusted stays, with those after it: `check` names it.
                None => unneeded.is_left(number),
            }
        })?;
        plans.extend(BinlogPlan::new(&server, unneeded.end(host, &server)));
    }
    Ok(plans)
}

/// Finds the receipts before the log that was the newest at a time.
struct Unneeded {
    time: Timestamp,
    /// What an earlier prune has declared; what is left of it goes, too.
    declared: Option<DeclaredLogs>,
    receipts: Vec<(BinlogReceipt, Digest)>,
    /// How many of the receipts are before that log.
    count: usize,
    /// SHA-256 of the receipt before the next one.
    previous: Option<Digest>,
}

impl Unneeded {
    fn new(time: Timestamp, declared: Option<&DeclaredLogs>) -> Self {
        let previous = declared.map(|declared| declared.removed.sha256);
        Self { time, declared: declared.copied(), receipts: Vec::new(), count: 0, previous }
    }

    /// Whether an earlier prune has declared that the receipt goes.
    fn is_left(&self, number: Number) -> bool {
        self.declared.is_some_and(|declared| number <= declared.removed.number)
    }

    /// Takes the next receipt; returns whether more of them can be unneeded. `put`: when it was put, by the store's clock,
    /// which nobody who writes receipts can set back.
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
            return false;
        }
        let mut is_later = put >= self.time;
        for segment in receipt.segments.iter().filter(|segment| segment.start == FIRST_EVENT && segment.first > 0) {
            is_later |= i64::from(segment.first) >= self.time.as_second();
            if !is_later {
                self.count = self.receipts.len();
            }
        }
        self.receipts.push((receipt, sha256));
        !is_later
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
    use archive::{binlog::Segment, receipt::Object};

    use super::*;

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
    fn removed(declared: Option<&DeclaredLogs>, receipts: Vec<(BinlogReceipt, Digest, Timestamp)>) -> Vec<Number> {
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
        // A log that goes on for long is needed from its beginning.
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
    fn what_an_earlier_prune_left_goes() {
        let receipts = chain(&[&[(4, 100)], &[(4, 200)], &[(4, 300)], &[(4, 2200)]]);
        let removed_before = RemovedLogs { number: 2, sha256: receipts[1].1 };
        let declared = DeclaredLogs { removed: removed_before, at: at(500) };
        assert_eq!(removed(Some(&declared), receipts.clone()), [1, 2]);
        let late = receipts.into_iter().map(|(receipt, sha256, _)| (receipt, sha256, at(3000))).collect();
        assert_eq!(removed(Some(&declared), late), [0; 0], "a host with an old state has written them");
    }
}
