//! Logs of MariaDB 10.8 and newer: every mini-transaction from the newest checkpoint to the end of
//! the log. Older parts of the file are not read: the server does not need them.

use std::time::Duration;

use files::ReadAt;

use super::{
    HEAD_BYTES, Job, Outcome,
    chain::{Chain, Ending, MiniTransaction},
    head::mismatch,
    vote::{KeyEvidence, Vote},
};
use crate::{
    bytes::{Bytes, all_zero, as_u64, bump},
    crypt::{
        mariadb::Mode,
        redo::{LogCipher, LogKeyInfo, mariadb_encrypted, mariadb_phys},
    },
    error::ScanError,
    ids::Lsn,
    keys::KeySource,
    read::fill,
    redo::{
        RedoFormat,
        phys::{Checkpoint, FIRST_LSN, Fault, Geometry, NONCE_BYTES},
        records,
    },
    verify::{Check, ReportBuilder, RequiredKey, Units},
};

/// How often a log is read again because its checkpoint has moved.
const ATTEMPTS: u32 = 3;

pub(super) fn verify<R: ReadAt + ?Sized>(job: &mut Job<'_, R>) -> Result<Outcome, ScanError> {
    let head = job.head;
    if !head.sound {
        head.unsound(&mut job.builder);
    }
    let header_bytes = as_u64(HEAD_BYTES);
    if head.file_bytes <= header_bytes {
        let detail = format!("{} bytes, the header alone has {header_bytes}", head.file_bytes);
        job.builder.find(None, Some(head.file_bytes), Check::FileSize, detail);
        return Ok(Outcome::default());
    }
    let cut = is_cut(job);
    let first = Lsn(head.bytes.be64(FIRST_LSN).unwrap_or_default());
    let geometry = Geometry { first, capacity: head.file_bytes.saturating_sub(header_bytes) };
    let Some(mut checkpoint) = checkpoint(job, first, true)? else {
        job.builder.find(None, Checkpoint::OFFSETS.first().copied(), Check::Header, "no checkpoint");
        return Ok(Outcome { key: LogKeyInfo::from_header(head.bytes).map(required_key), ..Outcome::default() });
    };
    let info = key_info(job, geometry, checkpoint)?;
    let key = info.map(required_key);
    for attempt in 1.. {
        let mut walk = Walk::new(job, checkpoint, info);
        walk.run(Chain::new(job.source, geometry, checkpoint.lsn, info.is_some()))?;
        let now = self::checkpoint(job, first, false)?.filter(|now| *now != checkpoint);
        match now {
            // The server has overwritten the part that was being read.
            Some(now) if walk.builder.is_damaged() && attempt < ATTEMPTS => checkpoint = now,
            now => {
                if now.is_some() && walk.builder.is_damaged() {
                    walk.changed();
                }
                if cut && walk.builder.is_damaged() {
                    walk.forget_findings();
                }
                walk.finish(job, geometry)?;
                let end_lsn = Some(walk.end);
                job.builder.merge(walk.builder);
                return Ok(Outcome { key, checkpoint_lsn: Some(checkpoint.lsn), end_lsn });
            }
        }
    }
    Ok(Outcome::default())
}

/// Whether the file is cut: servers make it of whole blocks and not shorter than a minimum, seen on
/// MariaDB 10.11 and 11.8; a backup is as long as its log.
fn is_cut<R: ?Sized>(job: &mut Job<'_, R>) -> bool {
    const BLOCK_BYTES: u64 = 4096;
    const MIN_LOG_BYTES: u64 = 4 << 20;
    let head = job.head;
    if head.creator.as_deref().is_some_and(|creator| creator.starts_with("Backup ")) {
        return false;
    }
    let (check, detail) = if !head.file_bytes.is_multiple_of(BLOCK_BYTES) {
        (Check::PartialUnit, format!("the file ends inside a block, at byte {}", head.file_bytes))
    } else if head.file_bytes < MIN_LOG_BYTES {
        (Check::FileSize, format!("{} bytes, servers make no log of less than {MIN_LOG_BYTES}", head.file_bytes))
    } else {
        return false;
    };
    job.builder.find(None, Some(head.file_bytes), check, detail);
    true
}

/// Key and nonce that the header names. The damaged header of a clear log may name a key and a nonce, too.
fn key_info<R: ReadAt + ?Sized>(
    job: &Job<'_, R>,
    geometry: Geometry,
    checkpoint: Checkpoint,
) -> Result<Option<LogKeyInfo>, ScanError> {
    let info = LogKeyInfo::from_header(job.head.bytes);
    if job.head.format == RedoFormat::MariaDbEncrypted {
        return Ok(Some(info.unwrap_or_default()));
    }
    if job.head.sound || info.is_none() {
        return Ok(info);
    }
    let clear = Chain::new(job.source, geometry, checkpoint.lsn, false).next()?.is_ok();
    Ok(info.filter(|_| !clear))
}

fn required_key(info: LogKeyInfo) -> RequiredKey {
    RequiredKey::MariaDb { key_id: info.key_id, versions: vec![info.key_version] }
}

/// Reads the newest checkpoint again.
fn checkpoint<R: ReadAt + ?Sized>(
    job: &mut Job<'_, R>,
    first: Lsn,
    note: bool,
) -> Result<Option<Checkpoint>, ScanError> {
    let mut newest: Option<Checkpoint> = None;
    for offset in Checkpoint::OFFSETS {
        let mut buf = [0; Checkpoint::BYTES];
        let mut block = fill(job.source, offset, &mut buf)?;
        let mut again = [0; Checkpoint::BYTES];
        if Checkpoint::parse(block, first).is_none() && !all_zero(block) {
            job.source.pause(Duration::from_millis(4));
            block = fill(job.source, offset, &mut again)?;
        }
        match Checkpoint::parse(block, first) {
            Some(found) => newest = Checkpoint::newer(newest, Some(found)),
            None if note && !all_zero(block) => {
                job.builder.find(None, Some(offset), Check::Header, "the checksum of a checkpoint does not match");
            }
            None => {}
        }
    }
    Ok(newest)
}

/// State of the key of a log.
enum LogKey {
    /// The log is not encrypted.
    Unneeded,
    NoStore,
    Missing,
    Known(Box<[LogCipher; 2]>),
}

impl LogKey {
    fn find(info: Option<LogKeyInfo>, keys: &dyn KeySource) -> Self {
        let Some(info) = info else { return Self::Unneeded };
        if !keys.has_mariadb() {
            return Self::NoStore;
        }
        let Some(key) = keys.mariadb(info.key_id, info.key_version) else { return Self::Missing };
        let cipher = |mode| LogCipher::new(&key, &info.message, mode).ok();
        match (cipher(Mode::Cbc), cipher(Mode::Ctr)) {
            (Some(cbc), Some(ctr)) => Self::Known(Box::new([cbc, ctr])),
            _ => Self::Missing,
        }
    }
}

/// State and result of the walk along the log.
struct Walk {
    builder: ReportBuilder,
    checkpoint: Checkpoint,
    info: Option<LogKeyInfo>,
    format: RedoFormat,
    key: LogKey,
    vote: Vote,
    /// Whether a mini-transaction started where the checkpoint was completed.
    completed: bool,
    /// Nonce of the newest mini-transaction.
    nonce: [u8; NONCE_BYTES],
    /// LSN of the end of the log.
    end: Lsn,
    scratch: Vec<u8>,
}

impl Walk {
    fn new<R: ?Sized>(job: &Job<'_, R>, checkpoint: Checkpoint, info: Option<LogKeyInfo>) -> Self {
        Self {
            builder: ReportBuilder::default(),
            checkpoint,
            info,
            format: job.head.format,
            key: LogKey::find(info, job.keys),
            vote: Vote::new(),
            completed: false,
            nonce: [0; NONCE_BYTES],
            end: checkpoint.lsn,
            scratch: Vec::new(),
        }
    }

    fn run<R: ReadAt + ?Sized>(&mut self, mut chain: Chain<'_, R>) -> Result<(), ScanError> {
        while !chain.is_over() {
            let geometry = chain.geometry();
            match chain.next()? {
                Ok(unit) => self.sound(&unit, geometry),
                Err(fault) => {
                    if fault != Fault::Nothing && chain.conclude()? {
                        continue;
                    }
                    if !self.broken(&mut chain, fault)? {
                        break;
                    }
                }
            }
        }
        self.end = Lsn(chain.at);
        Ok(())
    }

    fn sound(&mut self, unit: &MiniTransaction<'_>, geometry: Geometry) {
        self.nonce = unit.nonce;
        self.completed |= unit.lsn == self.checkpoint.end;
        let number = self.builder.units.total;
        bump(&mut self.builder.units.total);
        if self.info.is_some() {
            bump(&mut self.builder.units.encrypted);
            self.judge(unit, number, geometry.offset(unit.lsn.0));
        } else {
            bump(&mut self.builder.units.clear);
        }
    }

    /// Decrypts a mini-transaction in every mode that is still possible.
    fn judge(&mut self, unit: &MiniTransaction<'_>, number: u64, offset: u64) {
        let LogKey::Known(ciphers) = &self.key else { return };
        let [cbc, ctr] = ciphers.as_ref();
        let (format, completes, scratch) = (self.format, self.checkpoint, &mut self.scratch);
        self.vote.test(number, offset, |mode| {
            scratch.clear();
            scratch.extend_from_slice(unit.records);
            let cipher = if mode == Mode::Cbc { cbc } else { ctr };
            let decrypted = match format {
                RedoFormat::MariaDbEncrypted => mariadb_encrypted::decrypt(cipher, unit.nonce, scratch),
                _ if !mariadb_phys::has_ciphertext(unit.records) => return KeyEvidence::Silent,
                _ => mariadb_phys::decrypt(cipher, unit.nonce, scratch),
            };
            match records::contents(scratch).filter(|_| decrypted.is_ok()) {
                None => KeyEvidence::Misfits,
                Some(contents) if format == RedoFormat::MariaDbEncrypted && unit.lsn == completes.end => {
                    if contents.checkpoint == Some(completes.lsn) { KeyEvidence::Proves } else { KeyEvidence::Misfits }
                }
                Some(_) => KeyEvidence::Fits,
            }
        });
    }

    /// Judges a position without a valid mini-transaction; returns whether the walk continues after
    /// it.
    fn broken<R: ReadAt + ?Sized>(&mut self, chain: &mut Chain<'_, R>, fault: Fault) -> Result<bool, ScanError> {
        let (at, geometry) = (chain.at, chain.geometry());
        let required = at <= self.checkpoint.end.0 && !self.completed;
        if required || fault != Fault::Nothing {
            let ending = chain.ending(fault)?;
            // In a truncated file, anything found after the completed checkpoint is from an earlier
            // pass.
            if chain.resume()? && !(required && at < self.checkpoint.end.0 && chain.at > self.checkpoint.end.0) {
                if required || !chain.is_rest_of_buffer(at, self.nonce)? {
                    self.damaged(at, geometry, fault);
                    return Ok(true);
                }
                chain.at = at;
            }
            let pass_is_over = geometry.pass(self.checkpoint.end.0) > 0;
            match ending {
                _ if required && pass_is_over => {
                    let detail = format!("the log continues to LSN {}, but not in this file", self.checkpoint.end);
                    self.builder.find(None, Some(geometry.offset(at)), Check::FileSize, detail);
                }
                _ if required => self.damaged(at, geometry, fault),
                Ending::Sound => {}
                Ending::Damaged(fault) => self.damaged(at, geometry, fault),
                Ending::BeyondFile => {
                    let detail = format!("the mini-transaction at LSN {at} continues beyond the end of the file");
                    self.builder.find(None, Some(geometry.offset(at)), Check::FileSize, detail);
                }
                Ending::Torn => {
                    let detail = format!("the log ends with a mini-transaction that is incomplete, at LSN {at}");
                    self.builder.find(None, Some(geometry.offset(at)), Check::LogEnd, detail);
                }
            }
        }
        Ok(false)
    }

    fn damaged(&mut self, at: u64, geometry: Geometry, fault: Fault) {
        let unit = self.builder.units.total;
        bump(&mut self.builder.units.total);
        bump(&mut self.builder.units.bad);
        let check = if self.info.is_some() { Check::CiphertextChecksum } else { Check::Checksum };
        let detail = match fault {
            Fault::Checksum { expected, found, .. } => mismatch("mini-transaction", expected, found),
            Fault::Nothing | Fault::NoRecord => "no mini-transaction where the log continues".to_owned(),
            Fault::Endless => "no mini-transaction where the log continues: it has no end".to_owned(),
            Fault::Sequence => "no mini-transaction where the log continues: wrong sequence byte".to_owned(),
        };
        self.builder.find(Some(unit), Some(geometry.offset(at)), check, format!("{detail}, at LSN {at}"));
    }

    /// Reports that the server kept writing the log while it was read.
    fn changed(&mut self) {
        self.forget_findings();
        self.builder.find(None, None, Check::Changing, "the log was written while it was read");
    }

    /// Drops findings that are consequences of another fault.
    fn forget_findings(&mut self) {
        let Units { total, bad, .. } = self.builder.units;
        let units = Units { total: total.saturating_sub(bad), bad: 0, ..self.builder.units };
        self.builder = ReportBuilder::default();
        self.builder.units = units;
    }

    /// Reports the result for the key.
    fn finish<R: ReadAt + ?Sized>(&mut self, job: &Job<'_, R>, geometry: Geometry) -> Result<(), ScanError> {
        if matches!(self.key, LogKey::Known(_)) && !self.vote.has_evidence() {
            self.test_older(job, geometry)?;
        }
        let damaged_info = !job.head.sound && self.info.is_some();
        match &self.key {
            LogKey::Unneeded => {}
            LogKey::NoStore => self.builder.unproven(),
            LogKey::Missing if damaged_info => self.bad_info(),
            LogKey::Known(_) if damaged_info && self.vote.rejects_key() => self.bad_info(),
            LogKey::Missing => {
                let info = self.info.unwrap_or_default();
                let detail = format!("version {} of key {} is not in the key file", info.key_version, info.key_id);
                self.builder.find(None, None, Check::Key, detail);
            }
            LogKey::Known(_) => self.vote.finish(&mut self.builder),
        }
        Ok(())
    }

    fn bad_info(&mut self) {
        const KEY_INFO: u64 = 48;
        self.builder
            .bad_key_info(Some(KEY_INFO), "the header is damaged, and the key it names does not decrypt the log");
    }

    /// After a clean shutdown an older `Phys` log has nothing encrypted after its checkpoint.
    /// Checks the key with the mini-transactions before it, if the log has not yet wrapped around
    /// the file.
    fn test_older<R: ReadAt + ?Sized>(&mut self, job: &Job<'_, R>, geometry: Geometry) -> Result<(), ScanError> {
        const ENOUGH_BYTES: u64 = 1 << 20;
        if geometry.pass(self.checkpoint.end.0) > 0 {
            return Ok(());
        }
        let end = self.checkpoint.lsn.0.min(geometry.first.0.saturating_add(ENOUGH_BYTES));
        let mut chain = Chain::new(job.source, geometry, geometry.first, true);
        while chain.at < end {
            let Ok(unit) = chain.next()? else { break };
            self.judge(&unit, 0, geometry.offset(unit.lsn.0));
        }
        Ok(())
    }
}
