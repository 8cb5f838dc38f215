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
    binlogs::{read_receipt, servers},
    declared::DeclaredOfHost,
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

    /// Whether it removes the object of a host.
    pub(super) fn removes(&self, host: &str, object: &str) -> bool {
        let is_receipt = |number| {
            [names::binlog_receipt(host, &self.server, number), names::binlog_signature(host, &self.server, number)]
                .iter()
                .any(|name| name == object)
        };
        object.starts_with(&names::binlogs_of(host, &self.server))
            && self.removed.iter().any(|receipt| receipt.parts.contains_key(object) || is_receipt(receipt.number))
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
    for (server, numbers) in servers(repository, host)? {
        let before = declared.binlogs.get(&server).map_or(0, |removed| removed.number);
        let mut unneeded = Unneeded::new(oldest.saturating_sub(MARGIN).unwrap_or(Timestamp::MIN), before);
        for number in numbers {
            // A receipt that cannot be trusted, and those after it, stay: `check` names it.
            let Some((receipt, sha256)) = read_receipt(repository, host, &server, number, signers)? else { break };
            if !unneeded.take(receipt, sha256) {
                break;
            }
        }
        plans.extend(BinlogPlan::new(&server, unneeded.end(host, &server)));
    }
    Ok(plans)
}

/// Finds the receipts before the log that was the newest at a time.
struct Unneeded {
    /// In seconds since 1970.
    time: i64,
    /// Number of the last receipt that an earlier prune has declared; what is left of these goes, too.
    declared: Number,
    receipts: Vec<(BinlogReceipt, Digest)>,
    /// How many of the receipts are before that log.
    count: usize,
}

impl Unneeded {
    fn new(time: Timestamp, declared: Number) -> Self {
        Self { time: time.as_second(), declared, receipts: Vec::new(), count: 0 }
    }

    /// Takes the next receipt; returns whether more of them can be unneeded.
    fn take(&mut self, receipt: BinlogReceipt, sha256: Digest) -> bool {
        if receipt.number <= self.declared {
            self.receipts.push((receipt, sha256));
            self.count = self.receipts.len();
            return true;
        }
        let begins = receipt.segments.iter().filter(|segment| segment.start == FIRST_EVENT && segment.first > 0);
        let mut is_later = false;
        for segment in begins {
            is_later |= i64::from(segment.first) >= self.time;
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

    /// Numbers of the receipts that are removed before second 1000.
    fn removed(declared: Number, receipts: &[&[(u64, u32)]]) -> Vec<Number> {
        let mut unneeded = Unneeded::new(Timestamp::from_second(1000).unwrap(), declared);
        for (number, parts) in (1..).zip(receipts) {
            if !unneeded.take(receipt(number, parts), Digest::compute(b"receipt")) {
                break;
            }
        }
        unneeded.end("db1", "7").iter().map(|receipt| receipt.number).collect()
    }

    #[test]
    fn logs_before_the_one_of_the_time_go() {
        let logs: [&[(u64, u32)]; 5] =
            [&[(4, 100), (14, 150)], &[(4, 200)], &[(4, 900), (14, 950)], &[(14, 990)], &[(4, 1200)]];
        assert_eq!(removed(0, &logs), [1, 2]);
        // A log that goes on for long is needed from its beginning.
        assert_eq!(removed(0, &[&[(4, 100)], &[(14, 600)], &[(24, 1500)], &[(34, 9000)]]), [0; 0]);
        // A receipt is removed whole.
        assert_eq!(removed(0, &[&[(4, 100)], &[(14, 500), (4, 800)], &[(4, 1200)]]), [1]);
        assert_eq!(removed(0, &[&[(4, 2000)], &[(4, 2100)]]), [0; 0]);
    }

    #[test]
    fn what_an_earlier_prune_left_goes() {
        assert_eq!(removed(2, &[&[(4, 2000)], &[(14, 2100)], &[(24, 2200)]]), [1, 2]);
        assert_eq!(removed(1, &[&[(4, 100)], &[(4, 200)], &[(4, 300)], &[(4, 2200)]]), [1, 2]);
    }
}
