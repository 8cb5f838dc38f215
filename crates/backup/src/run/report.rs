//! The report on a backup for scripts.

use std::{sync::atomic::Ordering, time::Duration};

use archive::{manifest::ExcludedFile, names::Number, receipt::Finding};
use innodb::binlog::CopyPosition;
use jiff::Timestamp;
use serde::Serialize;

use super::{Backup, Bottleneck, RunProgress};
use crate::key_check::KeyCheck;

/// A backup that was made, schema `sealant.backup/1`.
#[derive(Debug, Serialize)]
pub struct RunReport<'r> {
    schema: &'static str,
    host: &'r str,
    number: Number,
    began: Timestamp,
    ended: Timestamp,
    receipt: String,
    base: Option<Number>,
    base_keys: Option<BaseKeys>,
    full: Option<String>,
    provider: &'r str,
    files: u64,
    bytes: RunBytes,
    pages: archive::receipt::Pages,
    packs: Packs,
    left_out: &'r [ExcludedFile],
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<Position<'r>>,
    findings: &'r [Finding],
    stood_still_ms: f64,
    lock_ms: Option<f64>,
    ddl_waited_ms: Option<f64>,
    limited_by: Bottleneck,
    phases: RunPhases,
    seconds: f64,
}

/// Number of files and keys of the backup that this one builds on which need a key of the server, and of those among
/// them that no key opens.
#[derive(Debug, Serialize)]
struct BaseKeys {
    needed: u64,
    missing: u64,
}

impl BaseKeys {
    fn new(KeyCheck { needed, missing }: &KeyCheck) -> Self {
        Self { needed: *needed, missing: missing.len() as u64 }
    }
}

/// Position of the copy in the logs of the server.
#[derive(Debug, Serialize)]
struct Position<'r> {
    /// LSN at which its redo log ends.
    lsn: u64,
    #[serde(flatten)]
    binary_log: &'r CopyPosition,
}

/// Durations in milliseconds.
#[derive(Debug, Serialize)]
struct RunPhases {
    copy: f64,
    store: f64,
    commit: f64,
}

#[derive(Debug, Serialize)]
struct RunBytes {
    data: u64,
    read: u64,
    changed: u64,
    opened: u64,
    stored: u64,
}

#[derive(Debug, Serialize)]
struct Packs {
    new: usize,
    used: usize,
    repacked: u64,
}

impl<'r> RunReport<'r> {
    /// Report of a backup; `seconds` is its duration.
    #[must_use]
    pub fn new(made: &'r Backup, seconds: f64, progress: &RunProgress) -> Self {
        let receipt = &made.receipt;
        let archive::receipt::Bytes { data, read, changed, stored } = receipt.bytes;
        let new = receipt.packs.iter().filter(|pack| pack.new).count();
        let position = made.position.as_ref().zip(made.end_lsn);
        Self {
            schema: "sealant.backup/1",
            host: &receipt.host,
            number: receipt.number,
            began: receipt.began,
            ended: receipt.ended,
            receipt: made.sha256.to_string(),
            base: made.base,
            base_keys: made.base_keys.as_ref().map(BaseKeys::new),
            full: made.full.map(|full| full.to_string()),
            provider: &receipt.provider,
            files: made.files,
            bytes: RunBytes { data, read, changed, opened: progress.decrypted_bytes.load(Ordering::Relaxed), stored },
            pages: receipt.pages,
            packs: Packs { new, used: receipt.packs.len(), repacked: made.repacked.packs },
            left_out: &made.left_out,
            position: position.map(|(binary_log, lsn)| Position { lsn, binary_log }),
            findings: &receipt.findings,
            stood_still_ms: milliseconds(made.waited.stood_still),
            lock_ms: made.waited.locks.map(milliseconds),
            ddl_waited_ms: made.waited.definitions.map(milliseconds),
            limited_by: made.limited_by,
            phases: RunPhases {
                copy: milliseconds(made.phases.copy),
                store: milliseconds(made.phases.store),
                commit: milliseconds(made.phases.commit),
            },
            seconds,
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
