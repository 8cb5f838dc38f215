//! Reports on backups, restores and checks for scripts, with the schemas in `docs/schema`.

use std::{
    fs::OpenOptions,
    io::Write,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use archive::{
    chain::Link,
    manifest::{LeftOut, Position},
    names::Number,
    receipt::Finding,
};
use jiff::Timestamp;
use serde::Serialize;

use crate::{
    Error, Repository,
    binlogs::{Archive, Transaction},
    check::{BadObject, Checked},
    prove::{Proof, RecoveredGtids},
    restore::{self, Opened, Restored},
    run::{self, Backup},
    windows::{Base, MissingLogs, Window, windows},
};

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
    full: Option<String>,
    provider: &'r str,
    files: u64,
    bytes: RunBytes,
    pages: archive::receipt::Pages,
    packs: Packs,
    left_out: &'r [LeftOut],
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<&'r Position>,
    findings: &'r [Finding],
    stood_still_ms: f64,
    lock_ms: Option<f64>,
    ddl_waited_ms: Option<f64>,
    limited_by: run::Bottleneck,
    phases: RunPhases,
    seconds: f64,
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
}

impl<'r> RunReport<'r> {
    /// Report of a backup; `seconds` is its duration.
    #[must_use]
    pub fn new(made: &'r Backup, seconds: f64, progress: &run::RunProgress) -> Self {
        let receipt = &made.receipt;
        let archive::receipt::Bytes { data, read, changed, stored } = receipt.bytes;
        let new = receipt.packs.iter().filter(|pack| pack.new).count();
        Self {
            schema: "sealant.backup/1",
            host: &receipt.host,
            number: receipt.number,
            began: receipt.began,
            ended: receipt.ended,
            receipt: made.sha256.to_string(),
            base: made.base,
            full: made.full.map(|full| full.to_string()),
            provider: &receipt.provider,
            files: made.files,
            bytes: RunBytes { data, read, changed, opened: load(&progress.opened_bytes), stored },
            pages: receipt.pages,
            packs: Packs { new, used: receipt.packs.len() },
            left_out: &made.left_out,
            position: made.position.as_ref(),
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

/// The backups of a host, schema `sealant.backup-list/1`.
#[derive(Debug, Serialize)]
pub struct ListReport {
    schema: &'static str,
    /// Name of the host.
    pub host: String,
    /// Its backups, oldest first.
    pub backups: Vec<Listed>,
    /// Times of which each second can be restored, by what the receipts of binary logs say; their signatures are not verified.
    pub windows: Vec<Window>,
    /// Binary logs that are missing.
    pub gaps: Vec<MissingLogs>,
}

/// One backup of a list.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// Its number.
    pub number: Number,
    /// When it was complete.
    pub ended: Timestamp,
    /// Whether every page is verified and sound.
    pub good: bool,
    /// Whether it stores all pages itself.
    pub full: bool,
    /// Length of all files.
    pub bytes: u64,
    /// Bytes added to the repository.
    pub stored: u64,
    /// Packs that a restore needs.
    pub packs: usize,
    /// SHA-256 of its receipt.
    pub receipt: String,
}

impl Listed {
    /// From a receipt.
    pub(crate) fn new(link: &Link) -> Self {
        let receipt = &link.receipt;
        Self {
            number: receipt.number,
            ended: receipt.ended,
            good: receipt.is_good(),
            full: receipt.full,
            bytes: receipt.bytes.data,
            stored: receipt.bytes.stored,
            packs: receipt.packs.len(),
            receipt: link.sha256.to_string(),
        }
    }
}

impl ListReport {
    /// Reads the receipts of a host.
    ///
    /// # Errors
    /// [`Error`] if one of them cannot be read.
    pub fn read(repository: &Repository, host: &str) -> Result<Self, Error> {
        let mut links = Vec::new();
        for number in repository.numbers(host)?.0 {
            links.extend(repository.receipt(host, number)?.map(|(link, _)| link));
        }
        let archives = Archive::read_all(repository, host, None)?;
        let bases: Vec<Base<'_>> = links.iter().filter_map(Base::new).collect();
        let (windows, gaps) = windows(&bases, &archives);
        let backups = links.iter().map(Listed::new).collect();
        Ok(Self { schema: "sealant.backup-list/1", host: host.to_owned(), backups, windows, gaps })
    }
}

/// Schema of the report of a check.
pub(crate) const CHECK_SCHEMA: &str = "sealant.backup-check/1";

/// A check of a repository, schema `sealant.backup-check/1`.
#[derive(Debug, Serialize)]
pub struct CheckReport<'r> {
    schema: &'static str,
    host: &'r str,
    receipts: u64,
    objects: Objects<'r>,
    chain: Vec<String>,
    signed: bool,
    newest_known: bool,
    percent_done: u8,
    unnamed: &'r [String],
}

#[derive(Debug, Serialize)]
struct Objects<'r> {
    named: u64,
    present: u64,
    read: u64,
    bad: &'r [BadObject],
}

impl<'r> CheckReport<'r> {
    /// Report of a check of a host's backups.
    #[must_use]
    pub fn new(host: &'r str, checked: &'r Checked) -> Self {
        let Checked { named, present, read, .. } = *checked;
        Self {
            schema: CHECK_SCHEMA,
            host,
            receipts: checked.receipts,
            objects: Objects { named, present, read, bad: &checked.bad },
            chain: checked.breaks.iter().map(ToString::to_string).collect(),
            signed: checked.signed,
            newest_known: checked.newest_known,
            percent_done: checked.percent_done,
            unnamed: &checked.unnamed,
        }
    }
}

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
    #[serde(skip_serializing_if = "Option::is_none")]
    reached: Option<RecoveredGtids>,
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
    proven: u64,
    bad: u64,
    unproven: u64,
}

impl<'r> RestoreReport<'r> {
    /// Report of a restore; `seconds` is its duration.
    #[must_use]
    pub fn new(opened: &'r Opened, restored: &Restored, progress: &restore::RestoreProgress, seconds: f64) -> Self {
        let restore::PageCounts { proven, bad, unproven } = restored.pages;
        Self {
            schema: archive::restores::SCHEMA,
            host: opened.host(),
            number: restored.number,
            receipt: opened.receipt().map(|judged| judged.sha256.to_string()),
            ended: Timestamp::now(),
            tree: restored.tree.to_string(),
            packs: restored.packs,
            bytes: RestoreBytes {
                fetched: load(&progress.fetched_bytes),
                written: load(&progress.written_bytes),
                kept: load(&progress.kept_bytes),
                from_base: load(&progress.base_bytes),
            },
            pages: RestorePages { proven, bad, unproven },
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
        let append = || {
            let mut line = serde_json::to_vec(self)?;
            line.push(b'\n');
            let mut file = OpenOptions::new().append(true).create(true).open(path)?;
            file.write_all(&line)?;
            file.sync_all()
        };
        append().map_err(Error::io(path, "cannot be written"))
    }

    /// Adds the result of a replay of binary logs.
    #[must_use]
    pub fn replayed(mut self, replay: &restore::ReplayResult) -> Self {
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
            reached: proof.gtids.clone(),
        });
        self
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
