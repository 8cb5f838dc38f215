//! Reads the archive of a host's binary logs: its receipts, verified and in order.

use archive::{
    Digest,
    binlog::{BinlogReceipt, Gap, Predecessor, Segment},
    names,
    prune::RemovedLogs,
    sshsig::AllowedSigners,
};
use innodb::binlog::LogPosition;

use jiff::Timestamp;

use super::receipts::{RECEIPTS, StoredReceipts, judged_receipts, pruned, servers};
use crate::{Error, Repository, binlogs::StoredPart, declarations::DeclaredRemoval};

/// The archive of one server.
#[derive(Clone, Debug)]
pub struct Archive {
    /// Name of the host.
    pub host: String,
    /// Name of the server in object names.
    pub server: String,
    /// Its receipts, in order.
    pub receipts: Vec<BinlogReceipt>,
    /// For each receipt, whether nothing is missing before its first part.
    joins: Vec<bool>,
    /// SHA-256 of the newest receipt.
    pub(crate) newest: Option<Digest>,
    /// Gaps: logs that the server had removed before they were read.
    pub gaps: Vec<String>,
    /// Receipts that do not continue the one before: name of the object, and the fault.
    pub breaks: Vec<(String, String)>,
    /// Whether an allowed signer has signed every receipt.
    pub is_signed: bool,
    /// The last receipt that a prune has removed, with all before it.
    pruned: Option<RemovedLogs>,
}

impl Archive {
    /// Reads the archives of all servers of a host. Without `signers` no signature is verified.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn read_all(repository: &Repository, host: &str, signers: Option<&AllowedSigners>) -> Result<Vec<Self>, Error> {
        if servers(repository, host)?.is_empty() {
            return Ok(Vec::new());
        }
        let mut declared = pruned(repository, host, signers)?;
        loop {
            let of_server = |(server, stored): (&String, &StoredReceipts)| {
                Self::read(repository, host, server, stored, signers, declared.get(server))
            };
            let archives: Vec<Self> = servers(repository, host)?.iter().map(of_server).collect::<Result<_, Error>>()?;
            if archives.iter().all(|archive| archive.breaks.is_empty()) {
                return Ok(archives);
            }
            // A prune may have removed receipts meanwhile, which it has declared before.
            let now = pruned(repository, host, signers)?;
            if now == declared {
                return Ok(archives);
            }
            declared = now;
        }
    }

    /// As [`Self::read_all`], for a host that should have an archive.
    ///
    /// # Errors
    /// [`Error::NoBinlogArchive`], [`Error::Store`].
    pub fn read_some(
        repository: &Repository,
        host: &str,
        signers: Option<&AllowedSigners>,
    ) -> Result<Vec<Self>, Error> {
        let archives = Self::read_all(repository, host, signers)?;
        if archives.is_empty() {
            let location = repository.store().location();
            return Err(Error::NoBinlogArchive { location, host: host.to_owned() });
        }
        Ok(archives)
    }

    /// Reads the archive of one server, for the host that writes it: without the declarations of prunes, which a host
    /// may not be allowed to read. `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn read_one(
        repository: &Repository,
        host: &str,
        server: &str,
        signers: Option<&AllowedSigners>,
    ) -> Result<Option<Self>, Error> {
        let Some(stored) = servers(repository, host)?.remove(server) else { return Ok(None) };
        Self::read(repository, host, server, &stored, signers, None).map(Some)
    }

    /// Reads receipts up to the first untrusted one. Anyone who may write to the repository can add an untrusted
    /// receipt, so it must not hide the receipts before it. Receipts that a prune in `pruned` has left behind are
    /// ignored.
    fn read(
        repository: &Repository,
        host: &str,
        server: &str,
        stored: &StoredReceipts,
        signers: Option<&AllowedSigners>,
        pruned: Option<&DeclaredRemoval>,
    ) -> Result<Self, Error> {
        let mut archive = Self {
            host: host.to_owned(),
            server: server.to_owned(),
            receipts: Vec::new(),
            joins: Vec::new(),
            newest: None,
            gaps: Vec::new(),
            breaks: Vec::new(),
            is_signed: signers.is_some(),
            pruned: pruned.map(|pruned| pruned.removed),
        };
        let is_left = |number: u64| pruned.is_some_and(|pruned| number <= pruned.removed.number);
        // A host with an old state would store receipts under numbers that readers ignore.
        let is_new = |put: &Timestamp| pruned.is_some_and(|pruned| *put > pruned.at);
        for (number, _) in stored.iter().filter(|(number, put)| is_left(**number) && is_new(put)) {
            let object = names::binlog_receipt(host, server, *number);
            archive.breaks.push((object, "it was stored after a prune of the receipts up to its number".to_owned()));
        }
        let numbers: Vec<u64> = stored.keys().copied().filter(|number| !is_left(*number)).collect();
        for numbers in numbers.chunks(RECEIPTS) {
            for found in judged_receipts(repository, host, server, numbers, signers) {
                let (object, reason) = match found {
                    Ok((receipt, sha256)) => {
                        let object = names::binlog_receipt(host, server, receipt.number);
                        archive.add(receipt, object, sha256);
                        continue;
                    }
                    Err(Error::Object { object, source }) => (object, source.to_string()),
                    Err(Error::Untrusted { object, reason }) => (object, reason),
                    Err(error) => return Err(error),
                };
                archive.breaks.push((object, reason));
                return Ok(archive);
            }
        }
        Ok(archive)
    }

    fn add(&mut self, receipt: BinlogReceipt, object: String, digest: Digest) {
        let broken = match self.receipts.last() {
            Some(before) if receipt.previous != self.newest => {
                Some(format!("receipts between {} and {} are missing", before.number, receipt.number))
            }
            Some(before) if receipt.gap.is_none() && !receipt.continues(&before.end) => {
                Some("it does not begin where the receipt before it ends".to_owned())
            }
            None if receipt.previous != self.pruned.map(|pruned| pruned.sha256) => {
                Some("the receipts before it are missing".to_owned())
            }
            _ => None,
        };
        self.joins.push(broken.is_none() && receipt.gap.is_none());
        self.breaks.extend(broken.map(|what| (object, what)));
        if let Some(gap) = &receipt.gap {
            self.gaps.push(gap_text(gap, receipt.segments.first()));
        }
        self.newest = Some(digest);
        self.receipts.push(receipt);
    }

    /// The server whose archive this one continues.
    pub(super) fn predecessor(&self) -> Option<&Predecessor> {
        self.receipts.first()?.predecessor.as_ref()
    }

    /// Whether something is missing before its first part.
    pub(super) fn begins_with_gap(&self) -> bool {
        self.receipts.first().is_some_and(|receipt| receipt.gap.is_some())
    }

    /// Whether the newest receipt of this archive was written after the newest one of another archive.
    pub(super) fn is_newer_than(&self, other: &Self) -> bool {
        let written = |archive: &Self| archive.receipts.last().map(|receipt| receipt.written);
        written(self) > written(other)
    }

    /// GTIDs up to its end; empty if they are not known.
    pub(super) fn gtid(&self) -> &str {
        self.receipts.last().map_or("", |receipt| &receipt.gtid)
    }

    /// All parts, in order, each with whether something is missing before it.
    pub fn segments(&self) -> impl Iterator<Item = (&Segment, bool)> {
        let segments = self.receipts.iter().zip(&self.joins).flat_map(|(receipt, joins)| {
            let gaps = std::iter::once(!joins).chain(std::iter::repeat(false));
            receipt.segments.iter().zip(gaps)
        });
        let mut end: Option<LogPosition> = None;
        segments.map(move |(segment, is_gap)| {
            let follows = end.as_ref().is_none_or(|end| segment.follows(end));
            end = Some(segment.end());
            (segment, is_gap || !follows)
        })
    }

    /// The receipts, each with whether nothing is missing before its first part.
    pub(super) fn joined(&self) -> impl Iterator<Item = (&BinlogReceipt, bool)> {
        self.receipts.iter().zip(self.joins.iter().copied())
    }

    /// For each part, the time of the last gap before it; `None` before the first gap. After a gap the server may have
    /// other logs of the same names.
    pub(super) fn epochs(&self) -> impl Iterator<Item = Option<Timestamp>> {
        let mut epoch = None;
        self.receipts.iter().flat_map(move |receipt| {
            if let Some(gap) = &receipt.gap {
                epoch = Some(gap.noticed.unwrap_or(receipt.written));
            }
            std::iter::repeat_n(epoch, receipt.segments.len())
        })
    }

    /// All parts as objects of the repository.
    pub(crate) fn parts(&self) -> impl Iterator<Item = StoredPart<'_>> {
        self.segments().map(|(segment, _)| self.stored(segment))
    }

    /// Names of the receipts and their signatures.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        let names = |number| {
            let receipt = names::binlog_receipt(&self.host, &self.server, number);
            [receipt, names::binlog_signature(&self.host, &self.server, number)]
        };
        self.receipts.iter().flat_map(move |receipt| names(receipt.number))
    }

    /// A part as an object of the repository.
    pub(super) fn stored<'p>(&'p self, segment: &'p Segment) -> StoredPart<'p> {
        StoredPart { server: &self.server, object: segment.name(&self.host, &self.server), segment }
    }
}

pub(super) fn gap_text(gap: &Gap, next: Option<&Segment>) -> String {
    let next = next.map_or_else(String::new, |next| format!(" and {}:{}", next.file, next.start));
    format!("binary logs are missing between {}{next}: {}", gap.from, gap.reason)
}

#[cfg(test)]
impl Archive {
    /// An archive with these gaps before receipts, each of one log, which has events of 50 seconds from a time on.
    pub(crate) fn with_logs(server: &str, logs: &[(Option<Gap>, u32)], predecessor: Option<(&str, &str)>) -> Self {
        let mut previous = None;
        let gtid = [predecessor.map(|(_, gtid)| gtid.to_owned()), Some(format!("{server}:1-10"))];
        let gtid = gtid.into_iter().flatten().collect::<Vec<_>>().join(",");
        let one = |(number, (gap, first)): (u64, &(Option<Gap>, u32))| {
            let mut receipt = tests::receipt(number, previous, &format!("b.{number:06}"));
            (receipt.gap, receipt.gtid) = (gap.clone(), gtid.clone());
            (receipt.segments[0].first, receipt.segments[0].last) = (*first, first + 50);
            let before = predecessor.filter(|_| number == 1);
            receipt.predecessor =
                before.map(|(server, gtid)| Predecessor { server: server.to_owned(), gtid: gtid.to_owned() });
            previous = Some(Digest::compute(&number.to_le_bytes()));
            (receipt, Digest::compute(&number.to_le_bytes()))
        };
        let receipts: Vec<_> = (1..).zip(logs).map(one).collect();
        let mut archive = tests::archive(&receipts);
        server.clone_into(&mut archive.server);
        archive
    }

    /// An archive with one receipt, which has these GTIDs and continues the archive of another server up to others.
    pub(super) fn with_receipt(server: &str, gtid: &str, predecessor: Option<(&str, &str)>) -> Self {
        let predecessor =
            predecessor.map(|(server, gtid)| Predecessor { server: server.to_owned(), gtid: gtid.to_owned() });
        let receipt = BinlogReceipt {
            server: server.to_owned(),
            gtid: gtid.to_owned(),
            predecessor,
            ..tests::receipt(1, None, "b.000001")
        };
        let mut archive = tests::archive(&[(receipt, Digest::compute(server.as_bytes()))]);
        server.clone_into(&mut archive.server);
        archive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn receipt(number: u64, previous: Option<Digest>, file: &str) -> BinlogReceipt {
        let text = format!(
            r#"{{"schema":"sealant.binlog-receipt/1","repo":"r","host":"db1","server":"7","version":"8.0","number":{number},
            "written":"2026-11-27T01:00:00Z","segments":[{{"file":"{file}","start":4,"end":900,"sha256":"{}","bytes":9,
            "event_bytes":896,"events":3,"first":1,"last":2}}],"end":{{"file":"{file}","offset":900}},"gtid":"",
            "recipients":[],"tool":"sealant"}}"#,
            "0".repeat(64)
        );
        BinlogReceipt { previous, ..serde_json::from_str(&text).unwrap() }
    }

    pub(super) fn archive(receipts: &[(BinlogReceipt, Digest)]) -> Archive {
        let mut archive = Archive {
            host: "db1".to_owned(),
            server: "7".to_owned(),
            receipts: Vec::new(),
            joins: Vec::new(),
            newest: None,
            gaps: Vec::new(),
            breaks: Vec::new(),
            is_signed: false,
            pruned: None,
        };
        for (receipt, digest) in receipts {
            archive.add(receipt.clone(), format!("receipt {}", receipt.number), *digest);
        }
        archive
    }

    fn gaps(archive: &Archive) -> Vec<bool> {
        archive.segments().map(|(_, is_gap)| is_gap).skip(1).collect()
    }

    #[test]
    fn a_hidden_receipt_is_a_gap_although_the_next_one_begins_a_log() {
        let [one, two, three] = [b"1", b"2", b"3"].map(|bytes| Digest::compute(bytes));
        let first = (receipt(1, None, "b.000001"), one);
        let second = (receipt(2, Some(one), "b.000002"), two);
        let third = (receipt(3, Some(two), "b.000003"), three);
        let whole = archive(&[first.clone(), second, third.clone()]);
        assert!(whole.breaks.is_empty());
        assert_eq!(gaps(&whole), [false, false]);
        let hidden = archive(&[first, third]);
        assert_eq!(hidden.breaks.len(), 1);
        assert_eq!(gaps(&hidden), [true]);
    }
}
