//! Signed receipts of the stored parts. A receipt is recorded in the state before it is stored, so that an interrupted
//! run stores the same one again.

use std::time::Instant;

use archive::{
    Digest,
    binlog::{self, BinlogReceipt},
    names,
    receipt::{NAMESPACE, fingerprint},
    sshsig,
};
use jiff::Timestamp;

use super::Archiver;
use crate::{
    Error,
    binlogs::state::PendingReceipt,
    repository::{Attempt, put_signed},
};

impl Archiver<'_> {
    /// Stores a receipt of all parts that are stored and have none yet.
    pub(super) fn write_receipt(&mut self) -> Result<(), Error> {
        let attempt = if self.state.archive.draft.is_some() { Attempt::Again } else { Attempt::First };
        self.draft_receipt()?;
        let put = self.put_pending_receipt(attempt);
        self.tried(put).map(|_| ())
    }

    /// Records a receipt of all parts that are stored and have none yet, unless another one waits.
    pub(super) fn draft_receipt(&mut self) -> Result<(), Error> {
        self.written = Instant::now();
        let archive = &mut self.state.archive;
        if archive.draft.is_some() {
            return Ok(());
        }
        let (segments, at) = archive.take_stored();
        if segments.is_empty() {
            return Ok(());
        }
        let receipt = BinlogReceipt {
            schema: binlog::SCHEMA.to_owned(),
            repo: self.repository.id.clone(),
            host: self.config.host.clone(),
            server: self.archived.server.clone(),
            version: archive.version.clone(),
            number: archive.number.saturating_add(1),
            previous: archive.previous,
            written: Timestamp::now(),
            predecessor: archive.predecessor.take(),
            gap: archive.gap.take(),
            segments,
            end: at.end,
            gtid: at.gtid,
            recipients: self.config.recipients.iter().map(fingerprint).collect(),
            tool: concat!("sealant ", env!("CARGO_PKG_VERSION")).to_owned(),
        };
        let bytes = receipt.encode()?;
        let signature = sshsig::sign(self.key, NAMESPACE, &bytes);
        let receipt = String::from_utf8_lossy(&bytes).into_owned();
        archive.draft = Some(PendingReceipt { number: archive.number.saturating_add(1), receipt, signature });
        self.save()
    }

    /// Stores the draft, which may already be stored, once repository and state are known to belong together.
    pub(super) fn put_pending_receipt(&mut self, attempt: Attempt) -> Result<(), Error> {
        let Some(pending) = self.state.archive.draft.clone() else { return Ok(()) };
        self.verify_state()?;
        let (host, server, number) = (&self.config.host, &self.archived.server, pending.number);
        let names = [names::binlog_signature(host, server, number), names::binlog_receipt(host, server, number)];
        let (signature, receipt) = (pending.signature.as_bytes(), pending.receipt.as_bytes());
        if !put_signed(self.repository, &names, signature, receipt, attempt)? {
            return Err(Error::OtherArchiver { host: host.clone(), number });
        }
        let previous = Some(Digest::compute(receipt));
        let archive = &mut self.state.archive;
        (archive.number, archive.previous, archive.draft) = (number, previous, None);
        self.save()
    }
}
