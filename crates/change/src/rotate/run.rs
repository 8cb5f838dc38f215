//! Executes a rotation.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use files::sha256_hex;
use innodb::tablespace::TablespaceKind;
use jiff::Timestamp;
use register::{CopyRecord, RegisterFile, Unfinished, Written, mariadb_name, sha256_of};
use server::{Options, Target, dialect::statement::set_idle_timeout};
use verify::FileResult;

use super::{
    After, Backup, Copies, CopyProof, DataKeys, Error, RotateReport, RotateRequest, backup,
    copy::{KeyKind, KeyringCopy},
    data_keys::{self, Fingerprints},
    plan::{self, Action},
    proof::{ExpectedKeys, FileScan},
    rotation_target::{self, RotationTarget},
    tables::{self, Table, Work},
};
use crate::{Outcome, Session, StatementLog, encrypt::undo, keyring::has_room};

/// Longest idle time of the session: a proof between two statements may take long.
const MAX_IDLE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Number of attempts: other clients may add keys while a copy is proven.
const PROOFS: u32 = 3;
const OLD_KEYS_REMAIN: &str = "not every file uses its new key; the run counts as unfinished";
/// How long a resumed run waits for the server's writes; a server that crashed does not continue them.
const RERUN_TIMEOUT: Duration = Duration::from_secs(5);

/// Executes the rotation. The report shows how far it came, even after an error.
pub fn run(
    target: &Target,
    options: &Options,
    request: &RotateRequest,
    copies: &Copies,
    log: &StatementLog,
    show: &dyn Fn(&str),
) -> (RotateReport, Result<(), Error>) {
    let none = plan::steps(request, Some(copies), &Work::default());
    let mut report = RotateReport::new(&target.to_string(), plan::reports(&none));
    let began = Instant::now();
    show("asking the server");
    let mut run = match Run::begin(target, options, request, copies, log) {
        Ok(run) => run,
        Err(error) => {
            let outcome = Outcome::Failed { reason: error.to_string() };
            note(&mut report, 0, outcome, began.elapsed());
            return (report, Err(error));
        }
    };
    let steps = plan::steps(request, Some(copies), &run.work);
    report.server_uuid = Some(run.target.server_uuid.clone());
    report.steps = plan::reports(&steps);
    report.leftovers.clone_from(&run.work.leftovers);
    note(&mut report, 0, Outcome::Done, began.elapsed());
    for (number, step) in steps.iter().enumerate().skip(1) {
        show(&format!("step {} of {}: {}", number + 1, steps.len(), step.what));
        let began = Instant::now();
        let ended = run.carry_out(&step.action, &mut report, show);
        let outcome = match &ended {
            Ok(outcome) => outcome.clone(),
            Err(error) => Outcome::Failed { reason: error.to_string() },
        };
        note(&mut report, number, outcome, began.elapsed());
        if let Err(error) = ended {
            return (report, Err(error));
        }
    }
    let failed = report.steps.iter().any(|step| matches!(step.outcome, Outcome::Failed { .. }));
    report.done = report.old_key_files.is_empty() && !failed;
    (report, Ok(()))
}

fn note(report: &mut RotateReport, number: usize, outcome: Outcome, took: Duration) {
    if let Some(step) = report.steps.get_mut(number) {
        (step.outcome, step.seconds) = (outcome, took.as_secs_f64());
    }
}

/// A run in progress.
struct Run<'r, 'l> {
    request: &'r RotateRequest,
    copies: &'r Copies,
    session: Session<'l>,
    target: RotationTarget,
    ledger: RegisterFile,
    work: Work,
    /// Set if a table could not be rebuilt, so that waiting for its new key is useless.
    failed: bool,
    /// The unfinished run that is resumed.
    resumed: Option<Unfinished>,
    /// The keyring and the files that were proven before the rotation.
    before: Option<(KeyringCopy, FileScan)>,
    /// The last copy that was backed up.
    copy: Option<KeyringCopy>,
}

/// Outcome of a step; an error ends the run.
type StepResult = Result<Outcome, Error>;

impl<'r, 'l> Run<'r, 'l> {
    /// Checks all preconditions before anything is changed.
    fn begin(
        target: &Target,
        options: &Options,
        request: &'r RotateRequest,
        copies: &'r Copies,
        log: &'l StatementLog,
    ) -> Result<Self, Error> {
        let server = target.to_string();
        let mut session = Session::open(target, options, log, request.lock)?;
        session.query(&set_idle_timeout(MAX_IDLE))?;
        let rotation_target = RotationTarget::query(&mut session, &server, request)?;
        backup::check_writable(&copies.file)?;
        let mut ledger = RegisterFile::open(&request.state_dir, &rotation_target.server_uuid)?;
        ledger.register.server.clone_from(&rotation_target.server);
        let resumed = backup::resumed(ledger.register.unfinished.as_ref(), &copies.file)?;
        let work = plan::work(&mut session, &rotation_target, request)?;
        Ok(Self {
            request,
            copies,
            session,
            target: rotation_target,
            ledger,
            work,
            failed: false,
            resumed,
            before: None,
            copy: None,
        })
    }

    fn carry_out(&mut self, action: &Action, report: &mut RotateReport, show: &dyn Fn(&str)) -> StepResult {
        match action {
            Action::Check => Ok(Outcome::Done),
            Action::ProveBefore => self.prove_before(report),
            Action::BackUpBefore => self.back_up_before(report),
            Action::RotateMasterKey => self.rotate(action, KeyKind::Master),
            Action::RotateBinlogKey => self.rotate(action, KeyKind::BinaryLog),
            Action::BackUp => self.back_up(report),
            Action::Rebuild(table, _) => self.rebuild(action, table),
            Action::RenewUndo => self.renew_undo(show),
            Action::Flush => self.flush(action),
            Action::ProveAfter => self.prove_after(report),
            Action::Record => self.record(report),
        }
    }

    /// Rebuilds a table. If it is locked or gone, the others continue.
    fn rebuild(&mut self, action: &Action, table: &Table) -> StepResult {
        if self.request.mariadb_key_id.is_none() && self.is_rebuilt(&table.files) {
            return Ok(Outcome::Skipped { reason: "the interrupted run has done it".to_owned() });
        }
        for statement in action.statements() {
            match self.session.change(&statement) {
                Err(error) if error.is_no_such_table() => {
                    return Ok(Outcome::Skipped { reason: "the table is gone".to_owned() });
                }
                Err(error) if error.is_tablespace_lost() => {
                    self.failed = true;
                    return Ok(error.lost_in_a_crash());
                }
                Err(error) if !error.is_fatal() => {
                    self.failed = true;
                    return Ok(Outcome::Failed { reason: error.to_string() });
                }
                ended => ended?,
            }
        }
        Ok(Outcome::Done)
    }

    /// Makes the server write. Releases before 10.5 have no statement for that; they write with a delay.
    fn flush(&mut self, action: &Action) -> StepResult {
        for statement in action.statements() {
            match self.session.change(&statement) {
                Err(error) if error.is_unknown_variable() => {
                    return Ok(Outcome::Skipped { reason: "this server writes in the background".to_owned() });
                }
                ended => ended?,
            }
        }
        Ok(Outcome::Done)
    }

    fn renew_undo(&mut self, show: &dyn Fn(&str)) -> StepResult {
        let outcome = match self.try_renew_undo(show) {
            Err(error @ Error::Statement { .. }) if !error.is_fatal() => Outcome::Failed { reason: error.to_string() },
            ended => ended?,
        };
        self.failed |= matches!(outcome, Outcome::Failed { .. });
        Ok(outcome)
    }

    fn try_renew_undo(&mut self, show: &dyn Fn(&str)) -> StepResult {
        let mut executed = Vec::new();
        // A run that was killed here may have left an undo tablespace inactive, or the temporary one.
        if undo::exists(&mut self.session)? {
            undo::clean_up(&mut self.session, show, &mut executed)?;
        }
        let undo = self.unfinished_keys().map(|(path, _)| path).filter(|path| is_undo(path));
        let undo: Vec<PathBuf> = undo.cloned().collect();
        if undo.is_empty() || self.is_rebuilt(&undo) {
            return Ok(Outcome::Skipped { reason: "no undo tablespace has an older key".to_owned() });
        }
        let datadir = self.target.datadir().to_owned();
        undo::renew(&mut self.session, &datadir, show, &mut executed)
    }

    /// Fingerprints of the tablespace keys when the rotation first started.
    fn unfinished_keys(&self) -> impl Iterator<Item = (&PathBuf, &u32)> {
        self.ledger.register.unfinished.iter().flat_map(|run| &run.data_keys)
    }

    /// Whether files have other keys than when the rotation first started.
    fn is_rebuilt(&self, files: &[PathBuf]) -> bool {
        let Some(run) = self.ledger.register.unfinished.as_ref().filter(|_| self.resumed.is_some()) else {
            return false;
        };
        let is_new =
            |file: &PathBuf| data_keys::of_tablespace(file).is_some_and(|now| run.data_keys.get(file) != Some(&now));
        !files.is_empty() && files.iter().all(is_new)
    }

    fn prove_before(&mut self, report: &mut RotateReport) -> StepResult {
        let mut copy = KeyringCopy::read(&self.target.store)?;
        if let Some(key_id) = self.request.mariadb_key_id
            && !copy.names().contains(&mariadb_name(key_id, 1))
        {
            return Err(Error::NoSuchKey { path: copy.path().to_owned(), key_id });
        }
        for _ in 0..PROOFS {
            rotation_target::is_current(&mut self.session, &copy)?;
            self.refuse_overwriting(&copy)?;
            let proven = FileScan::prove(&self.target.directories, &copy);
            let now = KeyringCopy::read(&self.target.store)?;
            let unchanged = now.is_same(&copy);
            match proven {
                Ok(seen) if unchanged => {
                    report.proofs.before = Some(seen.proof());
                    self.before = Some((copy, seen));
                    return Ok(Outcome::Done);
                }
                Err(error) if unchanged => return Err(error),
                // The server still executes the statement of a killed run, or others generate keys.
                _ => copy = now,
            }
        }
        Err(Error::KeyringChanges { path: self.target.store.path().to_owned() })
    }

    /// Checks that only files which the unfinished run wrote are replaced.
    fn refuse_overwriting(&self, copy: &KeyringCopy) -> Result<(), Error> {
        let path = &self.copies.file;
        match &self.resumed {
            Some(run) if !run.may_replace(path, &copy.names())? => Err(Error::BackupExists { path: path.clone() }),
            _ => Ok(()),
        }
    }

    fn back_up_before(&mut self, report: &mut RotateReport) -> StepResult {
        let Some((copy, seen)) = self.before.take() else { return Ok(Outcome::Done) };
        self.begin_register(&copy, &seen);
        let path = self.earlier_path(&copy)?;
        report.backup_before = Some(self.write(&path, &copy)?);
        self.before = Some((copy, seen));
        Ok(Outcome::Done)
    }

    /// Records the start of the run; a resumed run keeps its earlier record.
    fn begin_register(&mut self, copy: &KeyringCopy, seen: &FileScan) {
        let current =
            |file: &&FileResult| matches!(file.tablespace, Some(TablespaceKind::FilePerTable | TablespaceKind::Undo));
        let fingerprints = || data_keys::of_all(seen.tablespaces().filter(current).map(|file| file.path.as_path()));
        let data_keys = if self.request.data_keys { fingerprints() } else { Fingerprints::new() };
        let uuid = &self.target.server_uuid;
        let begun = self.resumed.clone().unwrap_or_else(|| Unfinished {
            file: self.copies.file.clone(),
            started: Timestamp::now(),
            master_key: copy.newest(KeyKind::Master, uuid),
            binlog_key: copy.newest(KeyKind::BinaryLog, uuid),
            backups: Vec::new(),
            data_keys,
        });
        self.ledger.register.unfinished = Some(begun);
    }

    /// `FILE.before`; with a number if that file is not this run's or has other keys.
    fn earlier_path(&self, copy: &KeyringCopy) -> Result<PathBuf, Error> {
        let names = copy.names();
        let mut number = 1;
        loop {
            let path = before(&self.copies.file, number);
            if self.may_replace(&path, &names)? {
                return Ok(path);
            }
            number += 1;
        }
    }

    fn may_replace(&self, path: &Path, names: &BTreeSet<String>) -> Result<bool, Error> {
        match &self.ledger.register.unfinished {
            Some(run) => Ok(run.may_replace(path, names)?),
            None => Ok(path.symlink_metadata().is_err()),
        }
    }

    /// Encrypts a copy, records the SHA-256 of the result in the register, writes it, and verifies what is on disk.
    fn write(&mut self, path: &Path, copy: &KeyringCopy) -> Result<Backup, Error> {
        let names = copy.names();
        if !self.may_replace(path, &names)? {
            return Err(Error::BackupExists { path: path.to_owned() });
        }
        let refuse = |reason: String| Error::Age { path: path.to_owned(), reason };
        let sealed = self.copies.recipients.seal(copy.bytes()).map_err(refuse)?;
        let sha256 = sha256_hex(&sealed);
        let keys = names.len() as u64;
        if let Some(run) = &mut self.ledger.register.unfinished {
            run.backups.push(Written { path: path.to_owned(), sha256: sha256.clone(), keys: names });
        }
        self.ledger.save()?;
        let replace = path.symlink_metadata().is_ok();
        backup::install(path, &sealed, replace)?;
        if sha256_of(path)?.as_ref() != Some(&sha256) {
            return Err(refuse("does not hold what was written".to_owned()));
        }
        let proof = self.open_again(path, copy)?;
        let password = self.write_password(path, copy)?;
        let recipients = self.copies.recipients.names();
        Ok(Backup { file: path.to_owned(), recipients, sha256, keys, proof, password })
    }

    /// Backs up the password of an encrypted key file together with the file.
    fn write_password(&mut self, path: &Path, copy: &KeyringCopy) -> Result<Option<PathBuf>, Error> {
        let Some(password) = copy.password() else { return Ok(None) };
        let path = backup::password_of(path);
        if !self.may_replace(&path, &BTreeSet::new())? {
            return Err(Error::BackupExists { path });
        }
        let sealed = self.copies.recipients.seal(&password.bytes);
        let sealed = sealed.map_err(|reason| Error::Age { path: path.clone(), reason })?;
        let sha256 = sha256_hex(&sealed);
        if let Some(run) = &mut self.ledger.register.unfinished {
            run.backups.push(Written { path: path.clone(), sha256: sha256.clone(), keys: BTreeSet::new() });
        }
        self.ledger.save()?;
        backup::install(&path, &sealed, path.symlink_metadata().is_ok())?;
        if sha256_of(&path)? != Some(sha256) {
            return Err(Error::Age { path, reason: "does not hold what was written".to_owned() });
        }
        Ok(Some(path))
    }

    /// Decrypts a backup, if an identity is available.
    fn open_again(&self, path: &Path, copy: &KeyringCopy) -> Result<CopyProof, Error> {
        let Some(identities) = &self.copies.identities else { return Ok(CopyProof::SameBytes) };
        if identities.open(path)?.as_slice() == copy.bytes() {
            return Ok(CopyProof::Decrypted);
        }
        Err(Error::Age { path: path.to_owned(), reason: "decrypts to other data than was encrypted".to_owned() })
    }

    /// Rotates, unless the resumed run already did and every file uses the new key.
    fn rotate(&mut self, action: &Action, kind: KeyKind) -> StepResult {
        let newest = self.before.as_ref().and_then(|(copy, _)| copy.newest(kind, &self.target.server_uuid));
        if let Some(reason) = self.rotated_already(kind, newest.as_deref())? {
            return Ok(Outcome::Skipped { reason });
        }
        let behind = self.behind(kind, newest.as_deref())?;
        has_room(self.target.store.path())?;
        for statement in action.statements() {
            self.session.change(&statement)?;
        }
        let now = KeyringCopy::read(&self.target.store)?;
        if now.newest(kind, &self.target.server_uuid) == newest
            && !self.has_adopted(kind, newest.as_deref(), &behind)?
        {
            return Err(Error::NoNewKey { path: self.target.store.path().to_owned(), older: newest });
        }
        Ok(Outcome::Done)
    }

    /// Whether the server has started to use a key that was already in the keyring. A server that is killed between
    /// generating a key and using it takes that key next time, because it continues from the number in the files
    /// (`Encryption::create_master_key`). `behind`: the files that had another key just before.
    fn has_adopted(&mut self, kind: KeyKind, newest: Option<&str>, behind: &[PathBuf]) -> Result<bool, Error> {
        let (Some(newest), Some((copy, seen))) = (newest, self.before.as_mut()) else { return Ok(false) };
        if behind.is_empty() {
            return Ok(false);
        }
        let wanted = ExpectedKeys::newest(kind, newest);
        seen.wait_until_settled(&wanted, copy, &mut self.session, self.request.settle_timeout)?;
        // A file that is gone uses no key.
        Ok(seen.old_key_files(&wanted).is_empty() && behind.iter().any(|path| seen.carries(path, &wanted)))
    }

    /// Files that do not use the newest key yet.
    fn behind(&mut self, kind: KeyKind, newest: Option<&str>) -> Result<Vec<PathBuf>, Error> {
        let (Some(newest), Some((copy, seen))) = (newest, self.before.as_mut()) else { return Ok(Vec::new()) };
        let wanted = ExpectedKeys::newest(kind, newest);
        if seen.behind(&wanted).is_empty() {
            return Ok(Vec::new());
        }
        seen.rescan(&seen.behind(&wanted), copy)?;
        Ok(seen.behind(&wanted))
    }

    /// Why no rotation is needed: the resumed run has generated the key, and every file uses it. Gives the server time
    /// to write page 0 of every file.
    fn rotated_already(&mut self, kind: KeyKind, newest: Option<&str>) -> Result<Option<String>, Error> {
        let (Some(run), Some(newest)) = (&self.resumed, newest) else { return Ok(None) };
        let then = match kind {
            KeyKind::Master => &run.master_key,
            KeyKind::BinaryLog => &run.binlog_key,
        };
        let wanted = ExpectedKeys::newest(kind, newest);
        let Some((copy, seen)) = self.before.as_mut().filter(|_| then.as_deref() != Some(newest)) else {
            return Ok(None);
        };
        seen.wait_until_settled(&wanted, copy, &mut self.session, self.request.settle_timeout.min(RERUN_TIMEOUT))?;
        let complete = seen.old_key_files(&wanted).is_empty();
        Ok(complete.then(|| format!("the interrupted run of {} has created {newest}", run.started)))
    }

    /// Backs up the current keyring to the requested file.
    fn back_up(&mut self, report: &mut RotateReport) -> StepResult {
        let copy = KeyringCopy::read(&self.target.store)?;
        let path = self.copies.file.clone();
        report.backup = Some(self.write(&path, &copy)?);
        self.copy = Some(copy);
        Ok(Outcome::Done)
    }

    /// Proves the bytes that were backed up last, and once more if the keyring has changed since.
    fn prove_after(&mut self, report: &mut RotateReport) -> StepResult {
        for _ in 0..PROOFS {
            let Some(copy) = self.copy.take() else { return Ok(Outcome::Done) };
            let wanted = self.wanted(&copy)?;
            let settle_timeout =
                if self.failed { self.request.settle_timeout.min(RERUN_TIMEOUT) } else { self.request.settle_timeout };
            let proven = FileScan::prove(&self.target.directories, &copy).and_then(|mut seen| {
                seen.wait_until_settled(&wanted, &copy, &mut self.session, settle_timeout)?;
                Ok(seen)
            });
            let unchanged = KeyringCopy::read(&self.target.store)?.is_same(&copy);
            match proven {
                Ok(seen) if unchanged => {
                    report.proofs.after = Some(after(&seen, &wanted, self.request));
                    report.old_key_files = seen.old_key_files(&wanted);
                    if report.old_key_files.is_empty() {
                        self.prove_redo(&seen, &wanted)?;
                    }
                    self.remember(&copy, &seen, report.backup.as_ref())?;
                    self.copy = Some(copy);
                    return Ok(Outcome::Done);
                }
                Err(error) if unchanged => return Err(error),
                _ => self.back_up(report)?,
            };
        }
        Err(Error::KeyringChanges { path: self.target.store.path().to_owned() })
    }

    fn prove_redo(&self, seen: &FileScan, wanted: &ExpectedKeys) -> Result<(), Error> {
        match &wanted.master {
            Some(key) if self.request.redo && seen.on_new_key(wanted).redo == 0 => {
                Err(Error::RedoUnproven { server: self.target.server.clone(), key: key.clone() })
            }
            _ => Ok(()),
        }
    }

    fn wanted(&mut self, copy: &KeyringCopy) -> Result<ExpectedKeys, Error> {
        let encrypted = tables::called_encrypted(&mut self.session, self.target.datadir())?;
        let newest = |kind, needs: bool| copy.newest(kind, &self.target.server_uuid).filter(|_| needs);
        Ok(ExpectedKeys {
            encrypted,
            master: newest(KeyKind::Master, self.request.rotates_master_key()),
            binary_log: newest(KeyKind::BinaryLog, self.request.binlog_key),
            not: self.unfinished_keys().map(|(path, key)| (path.clone(), *key)).collect(),
            mariadb: self.request.mariadb_key_id.map(|id| (id, self.work.files.clone())),
        })
    }

    /// Records in the register what is known about every key, and the proven backup.
    fn remember(&mut self, copy: &KeyringCopy, seen: &FileScan, backup: Option<&Backup>) -> Result<(), Error> {
        let now = Timestamp::now();
        let (needed, names) = (seen.needed(), copy.names());
        let newest = [KeyKind::Master, KeyKind::BinaryLog].map(|kind| copy.newest(kind, &self.target.server_uuid));
        let register = &mut self.ledger.register;
        let then = register.unfinished.as_ref().map(|run| [run.master_key.clone(), run.binlog_key.clone()]);
        register.record_seen(&names, &needed);
        for record in register.keys.values_mut().filter(|record| record.in_keyring) {
            (record.copy_proven, record.copy) = (Some(now), Some(self.copies.file.clone()));
        }
        for (older, newer) in then.into_iter().flatten().zip(newest) {
            if let Some(record) =
                older.filter(|older| Some(older) != newer.as_ref()).and_then(|older| register.keys.get_mut(&older))
            {
                record.rotated.get_or_insert(now);
            }
        }
        let Some(backup) = backup else { return Ok(()) };
        let password = match &backup.password {
            Some(path) => sha256_of(path)?.map(|hash| (path.clone(), hash)),
            None => None,
        };
        let (sha256, keys) = (backup.sha256.clone(), copy.fingerprints());
        register.copies.insert(backup.file.clone(), CopyRecord { proven: now, sha256, keys, password });
        Ok(())
    }

    /// Completes the run: removes the older backup if the new one has all its keys, and updates the register.
    fn record(&mut self, report: &mut RotateReport) -> StepResult {
        if !report.old_key_files.is_empty() || self.failed {
            self.ledger.save()?;
            return Ok(Outcome::Skipped { reason: OLD_KEYS_REMAIN.to_owned() });
        }
        self.remove_older(report)?;
        let needs = [
            ("master_key", self.request.rotates_master_key()),
            ("binlog_key", self.request.binlog_key),
            ("data_keys", self.request.data_keys),
            ("mariadb_key_id", self.request.mariadb_key_id.is_some()),
        ];
        for (key, _) in needs.into_iter().filter(|(_, needs)| *needs) {
            self.ledger.register.last_rotated.insert(key.to_owned(), Timestamp::now());
        }
        self.ledger.register.unfinished = None;
        self.ledger.save()?;
        Ok(Outcome::Done)
    }

    fn remove_older(&mut self, report: &mut RotateReport) -> Result<(), Error> {
        let Some(copy) = &self.copy else { return Ok(()) };
        let names = copy.names();
        let backups = self.ledger.register.unfinished.as_ref().map(|run| run.backups.clone()).unwrap_or_default();
        let included = self.before.as_ref().is_some_and(|(before, _)| copy.includes(before));
        let kept = [self.copies.file.clone(), backup::password_of(&self.copies.file)];
        for written in backups.iter().filter(|written| !kept.contains(&written.path)) {
            if !written.is_unchanged()? {
                continue;
            }
            let removed: Vec<String> = written.keys.difference(&names).cloned().collect();
            if removed.is_empty() && included {
                let gone = fs::remove_file(&written.path).and_then(|()| files::sync_parent(&written.path));
                gone.map_err(|source| Error::Backup { path: written.path.clone(), source })?;
                report.backup_before = report.backup_before.take().filter(|backup| backup.file != written.path);
                continue;
            }
            for name in removed {
                self.note_removed(&name, written);
                report.removed_keys.push(name);
            }
        }
        self.ledger.register.forget_unused_copies();
        report.removed_keys.sort();
        report.removed_keys.dedup();
        Ok(())
    }

    /// Records a key that the server removed and the older backup has.
    fn note_removed(&mut self, name: &str, written: &Written) {
        let (now, path) = (Timestamp::now(), &written.path);
        // An interrupted run recorded no fingerprints of its backups.
        let keys = self.before.as_ref().map(|(before, _)| before.fingerprints()).unwrap_or_default();
        let keys = keys.into_iter().filter(|(name, _)| written.keys.contains(name)).collect();
        let copy = CopyRecord { proven: now, sha256: written.sha256.clone(), keys, password: None };
        self.ledger.register.copies.insert(path.clone(), copy);
        let record = self.ledger.register.keys.entry(name.to_owned()).or_default();
        record.first_seen.get_or_insert(now);
        (record.copy_proven, record.copy) = (Some(now), Some(path.clone()));
    }
}

fn before(file: &Path, number: u32) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".before");
    if number > 1 {
        name.push(format!(".{number}"));
    }
    PathBuf::from(name)
}

fn after(seen: &FileScan, wanted: &ExpectedKeys, request: &RotateRequest) -> After {
    let on = seen.on_new_key(wanted);
    let data_keys = request.data_keys.then(|| {
        let mut counts = DataKeys::default();
        for file in seen.tablespaces() {
            let shared = matches!(file.tablespace, Some(TablespaceKind::General | TablespaceKind::Dictionary));
            let old = wanted.not.get(&file.path).is_some_and(|old| data_keys::of_tablespace(&file.path) == Some(*old));
            *(if shared || old { &mut counts.kept } else { &mut counts.new }) += 1;
        }
        counts
    });
    After {
        proof: seen.proof(),
        new_key: wanted.master.clone(),
        new_binlog_key: wanted.binary_log.clone(),
        tablespaces_on_new_key: if wanted.mariadb.is_some() { 0 } else { on.tablespaces },
        redo_on_new_key: on.redo,
        binary_logs_on_new_key: on.binary_logs,
        data_keys,
        tablespaces_on_key_id: wanted.mariadb.is_some().then_some(on.tablespaces),
    }
}

/// Recognises an undo tablespace by its name.
fn is_undo(path: &Path) -> bool {
    innodb::server_file::is_undo(&path.file_name().unwrap_or_default().to_string_lossy())
}
