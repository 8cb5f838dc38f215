//! Finds the receipts of binary logs that can be removed, because no restore needs the parts that they name.

use archive::{Digest, binlog::BinlogReceipt, names::Number};
use innodb::binlog::FIRST_EVENT;
use jiff::Timestamp;

use super::Objects;
use crate::declarations::DeclaredRemoval;

/// A receipt to remove.
#[derive(Clone, Debug)]
pub(super) struct RemovedReceipt {
    pub(super) number: Number,
    pub(super) sha256: Digest,
    /// The parts that it names.
    pub(super) parts: Objects,
}

/// Finds the receipts before the log that was the newest at a time.
pub(super) struct RemovableReceipts {
    time: Timestamp,
    /// The declaration of an earlier prune. Receipts that this prune has left are removed, too.
    declared: Option<DeclaredRemoval>,
    receipts: Vec<(BinlogReceipt, Digest)>,
    /// Number of receipts before that log.
    count: usize,
    /// SHA-256 of the receipt before the next one.
    previous: Option<Digest>,
    /// Whether later receipts may be removable, too.
    goes_on: bool,
    is_whole: bool,
}

impl RemovableReceipts {
    pub(super) fn new(time: Timestamp, declared: Option<&DeclaredRemoval>) -> Self {
        let previous = declared.map(|declared| declared.removed.sha256);
        let (receipts, declared) = (Vec::new(), declared.copied());
        Self { time, declared, receipts, count: 0, previous, goes_on: true, is_whole: true }
    }

    /// Whether every receipt so far can be trusted, and none is missing.
    pub(super) const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether an earlier prune has declared that the receipt goes.
    fn is_left(&self, number: Number) -> bool {
        self.declared.is_some_and(|declared| declared.has(number))
    }

    /// Takes the next receipt. `put`: when it was put, by the store's clock, which a writer of receipts cannot set back.
    pub(super) fn take(&mut self, receipt: BinlogReceipt, sha256: Digest, put: Timestamp) {
        if self.is_left(receipt.number) {
            // A receipt put after the declaration is from a host with an old state; `check` reports it.
            if self.declared.is_some_and(|declared| put <= declared.at) {
                self.receipts.push((receipt, sha256));
                self.count = self.receipts.len();
            }
            return;
        }
        // One before it may be hidden, or missing in a listing.
        let continues = receipt.previous == self.previous.replace(sha256);
        self.is_whole &= continues;
        self.goes_on = self.goes_on && continues && self.add(receipt, sha256, put);
    }

    /// Passes over a receipt that cannot be trusted. Anyone may put an object with the name of a removed receipt. Any
    /// other one stays, with all receipts after it; `check` reports it.
    pub(super) fn pass_over(&mut self, number: Number) {
        let is_left = self.is_left(number);
        self.is_whole &= is_left;
        self.goes_on &= is_left;
    }

    /// Adds a receipt; returns whether later ones may be removable.
    fn add(&mut self, receipt: BinlogReceipt, sha256: Digest, put: Timestamp) -> bool {
        let mut is_later = put >= self.time;
        for segment in receipt.segments.iter().filter(|segment| segment.start == FIRST_EVENT && segment.first > 0) {
            is_later |= i64::from(segment.first) >= self.time.as_second();
            if !is_later {
                self.count = self.receipts.len();
            }
        }
        is_later |= receipt.segments.iter().any(|segment| i64::from(segment.last) >= self.time.as_second());
        self.receipts.push((receipt, sha256));
        !is_later
    }

    /// Records that the archive has ended, because another server's archive continues it. Its last log can then be
    /// removed like earlier logs, unless it has events from after the time.
    pub(super) fn end_archive(&mut self) {
        if self.goes_on {
            self.count = self.receipts.len();
        }
    }

    pub(super) fn end(mut self, host: &str, server: &str) -> Vec<RemovedReceipt> {
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
pub(super) mod tests {
    use archive::{binlog::Segment, prune::RemovedLogs, receipt::Object};

    use super::*;

    /// A receipt with parts: offset, and seconds of the first event.
    pub(in crate::prune) fn receipt(number: Number, parts: &[(u64, u32)]) -> BinlogReceipt {
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
        let mut removable = RemovableReceipts::new(at(1000), declared);
        for (receipt, sha256, put) in receipts {
            removable.take(receipt, sha256, put);
        }
        removable.end("db1", "7").iter().map(|receipt| receipt.number).collect()
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
        let ended = |receipts: Vec<_>| {
            let mut removable = RemovableReceipts::new(at(1000), None);
            receipts.into_iter().for_each(|(receipt, sha256, put)| removable.take(receipt, sha256, put));
            removable.end_archive();
            removable.end("db1", "7").len()
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
