//! The report on a restore for scripts.

use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use archive::names::Number;
use jiff::Timestamp;
use serde::Serialize;

use super::{Opened, PageCounts, ReplayResult, RestoreProgress, Restored};
use crate::{
    Error,
    binlogs::Transaction,
    prove::{ComparedPosition, Proof},
    record::append_line,
};

/// A restore, schema `sealant.restore/1`.
#[derive(Debug, Serialize)]
pub struct RestoreReport<'r> {
    schema: &'static str,
    host: &'r str,
    number: Number,
    /// `None` if the receipt is lost.
    receipt: Option<String>,
    ended: Timestamp,
    tree: String,
    packs: u64,
    partial_packs: u64,
    bytes: RestoreBytes,
    pages: RestorePages,
    signed: bool,
    newest_known: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    salvaged: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lost: Vec<String>,
    /// Files whose keys were rewrapped with other master keys, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    rekeyed: Option<RekeyedReport>,
    /// Results of the proof by a server, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<ServerProofReport>,
    /// End of a replay of binary logs, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    reached: Option<ReplayReport>,
    /// The first transaction that was not replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_left_out: Option<Transaction>,
    /// Time from the start of the restore until the server had recovered.
    #[serde(skip_serializing_if = "Option::is_none")]
    rto_s: Option<f64>,
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct ReplayReport {
    server: String,
    file: String,
    offset: u64,
    gtid: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Timestamp>,
    transactions: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct RekeyedReport {
    files: usize,
    keyring: String,
    master_keys: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ServerProofReport {
    server: String,
    recovered_s: f64,
    tables: u64,
    checked: u64,
    bad: Vec<String>,
    bad_pages: u64,
    #[serde(flatten)]
    position: ComparedPosition,
}

#[derive(Debug, Serialize)]
struct RestoreBytes {
    fetched: u64,
    written: u64,
    kept: u64,
    from_base: u64,
}

#[derive(Debug, Serialize)]
struct RestorePages {
    /// All pages of the restored files.
    written: u64,
    proven: u64,
    bad: u64,
    unproven: u64,
}

impl<'r> RestoreReport<'r> {
    /// Report of a restore; `seconds` is its duration.
    #[must_use]
    pub fn new(opened: &'r Opened, restored: &Restored, progress: &RestoreProgress, seconds: f64) -> Self {
        let PageCounts { total: written, proven, bad, unproven } = restored.pages;
        Self {
            schema: archive::restores::SCHEMA,
            host: opened.host(),
            number: restored.number,
            receipt: opened.receipt().map(|judged| judged.sha256.to_string()),
            ended: Timestamp::now(),
            tree: restored.tree.to_string(),
            packs: restored.packs,
            partial_packs: restored.partial_packs,
            bytes: RestoreBytes {
                fetched: load(&progress.fetched_bytes),
                written: load(&progress.written_bytes),
                kept: load(&progress.kept_bytes),
                from_base: load(&progress.base_bytes),
            },
            pages: RestorePages { written, proven, bad, unproven },
            signed: opened.is_signed(),
            newest_known: opened.is_newest_known(),
            salvaged: restored.salvaged.is_some(),
            lost: restored.salvaged.clone().unwrap_or_default(),
            rekeyed: restored.rekeyed.as_ref().map(|rekeyed| RekeyedReport {
                files: rekeyed.files,
                keyring: rekeyed.keyring.display().to_string(),
                master_keys: rekeyed.master_keys.clone(),
            }),
            proof: None,
            reached: None,
            next_left_out: None,
            rto_s: None,
            seconds,
        }
    }

    /// Appends the report to a file, as a line of JSON.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written.
    pub fn record(&self, path: &Path) -> Result<(), Error> {
        append_line(self, path)
    }

    /// Adds the result of a replay of binary logs.
    #[must_use]
    pub fn replayed(mut self, replay: &ReplayResult) -> Self {
        self.ended = Timestamp::now();
        let last = replay.reach.last.as_ref();
        self.reached = Some(ReplayReport {
            server: replay.replayed.server.clone(),
            file: replay.reach.end.file.clone(),
            offset: replay.reach.end.offset,
            gtid: replay.replayed.gtid.clone(),
            time: last.and_then(|last| last.committed),
            transactions: replay.reach.transactions,
            bytes: replay.replayed.bytes,
        });
        self.next_left_out.clone_from(&replay.reach.next);
        self
    }

    /// Adds the result of the proof by a server.
    #[must_use]
    pub fn proven(mut self, proof: &Proof) -> Self {
        self.ended = Timestamp::now();
        let recovered_s = proof.recovered.as_secs_f64();
        self.rto_s = Some(self.seconds + recovered_s);
        self.proof = Some(ServerProofReport {
            server: proof.server.clone(),
            recovered_s,
            tables: proof.tables,
            checked: proof.checked,
            bad: proof.bad_tables.clone(),
            bad_pages: proof.bad_pages,
            position: proof.position.clone(),
        });
        self
    }
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
