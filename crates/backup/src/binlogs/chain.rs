//! Reads the archive of a host's binary logs: its receipts, verified and in order.

use std::collections::BTreeMap;

use archive::{
    Digest,
    binlog::{BinlogPosition, BinlogReceipt, Gap, MAX_BYTES, Segment},
    names,
    receipt::Object,
    sshsig::AllowedSigners,
};

use crate::{BackupError, Repository, repository::read};

/// The archive of one server.
#[derive(Debug)]
pub struct Archive {
    /// Name of the host.
    pub host: String,
    /// Name of the server in object names.
    pub server: String,
    /// Its receipts, in order.
    pub receipts: Vec<BinlogReceipt>,
    /// SHA-256 of the newest one.
    pub(super) newest: Option<Digest>,
    /// Gaps: logs that the server had removed before they were read.
    pub gaps: Vec<String>,
    /// Receipts that do not continue the one before: name of the object, and the fault.
    pub breaks: Vec<(String, String)>,
    /// Whether an allowed signer has signed every receipt.
    pub is_signed: bool,
}

impl Archive {
    /// Reads the archives of all servers of a host. Without `signers` no signature is verified.
    ///
    /// # Errors
    /// [`BackupError::Store`]; [`BackupError::Untrusted`] for an invalid signature.
    pub fn read_all(
        repository: &Repository,
        host: &str,
        signers: Option<&AllowedSigners>,
    ) -> Result<Vec<Self>, BackupError> {
        let mut numbers: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for listed in repository.store().list(&names::binlogs(host))? {
            if let Some((server, number)) = names::binlog_receipt_number(host, listed.name.as_str()) {
                numbers.entry(server.to_owned()).or_default().push(number);
            }
        }
        let archive = |(server, mut numbers): (String, Vec<u64>)| {
            numbers.sort_unstable();
            Self::read(repository, host, &server, &numbers, signers)
        };
        numbers.into_iter().map(archive).collect()
    }

    fn read(
        repository: &Repository,
        host: &str,
        server: &str,
        numbers: &[u64],
        signers: Option<&AllowedSigners>,
    ) -> Result<Self, BackupError> {
        let mut receipts: Vec<BinlogReceipt> = Vec::new();
        let (mut gaps, mut breaks) = (Vec::new(), Vec::new());
        let mut previous: Option<Digest> = None;
        for number in numbers {
            let object = names::binlog_receipt(host, server, *number);
            let bytes = read(repository.store(), &object, MAX_BYTES)?.unwrap_or_default();
            let unusable = |source| BackupError::Object { object: object.clone(), source };
            let receipt = BinlogReceipt::parse(&bytes).map_err(unusable)?;
            if (&receipt.repo, receipt.host.as_str(), receipt.server.as_str(), receipt.number)
                != (&repository.id, host, server, *number)
            {
                let reason = "it was written for another name, host, server or repository".to_owned();
                return Err(BackupError::Untrusted { object, reason });
            }
            if let Some(signers) = signers {
                let signature = names::binlog_signature(host, server, *number);
                repository.judge_object(&signature, host, &bytes, signers)?;
            }
            match receipts.last() {
                Some(before) if receipt.previous != previous => {
                    let what = format!("receipts between {} and {number} are missing", before.number);
                    breaks.push((object, what));
                }
                Some(before) if receipt.gap.is_none() && !receipt.continues(&before.end) => {
                    breaks.push((object, "it does not begin where the receipt before it ends".to_owned()));
                }
                None if receipt.previous.is_some() => {
                    breaks.push((object, "the receipts before it are missing".to_owned()));
                }
                _ => {}
            }
            if let Some(gap) = &receipt.gap {
                gaps.push(gap_text(gap, receipt.segments.first()));
            }
            previous = Some(Digest::compute(&bytes));
            receipts.push(receipt);
        }
        Ok(Self {
            host: host.to_owned(),
            server: server.to_owned(),
            receipts,
            newest: previous,
            gaps,
            breaks,
            is_signed: signers.is_some(),
        })
    }

    /// All parts, in order, each with whether something is missing before it.
    pub fn segments(&self) -> impl Iterator<Item = (&Segment, bool)> {
        let segments = self.receipts.iter().flat_map(|receipt| {
            let gaps = std::iter::once(receipt.gap.is_some()).chain(std::iter::repeat(false));
            receipt.segments.iter().zip(gaps)
        });
        let mut end: Option<BinlogPosition> = None;
        segments.map(move |(segment, is_gap)| {
            let follows = end.as_ref().is_none_or(|end| segment.follows(end));
            end = Some(segment.end());
            (segment, is_gap || !follows)
        })
    }

    /// The objects that the receipts name.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (String, Object)> {
        self.segments().map(|(segment, _)| (self.object(segment), segment.object))
    }

    /// Names of the receipts and their signatures.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        let names = |number| {
            let receipt = names::binlog_receipt(&self.host, &self.server, number);
            [receipt, names::binlog_signature(&self.host, &self.server, number)]
        };
        self.receipts.iter().flat_map(move |receipt| names(receipt.number))
    }

    /// Name of the object of a part.
    pub(super) fn object(&self, segment: &Segment) -> String {
        segment.name(&self.host, &self.server)
    }
}

fn gap_text(gap: &Gap, next: Option<&Segment>) -> String {
    let next = next.map_or_else(String::new, |next| format!(" and {}:{}", next.file, next.start));
    format!("binary logs are missing between {}:{}{next}: {}", gap.from.file, gap.from.offset, gap.reason)
}
