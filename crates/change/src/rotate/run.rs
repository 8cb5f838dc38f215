//! Carrying it out.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use server::{Options, Target};

use super::{
    After, Backup, CopyProof, Error, Report, Request, Unfinished, Written, backup,
    copy::{KeyKind, KeyringCopy},
    plan::{self, Action},
    proof::{Seen, Wanted},
    register::Ledger,
    site::{self, Site},
};
use crate::{LockPatience, Outcome, Session, StatementLog, atomic};

/// Between two of the server's statements a proof may take long.
const KEEP_SESSION: &str = "SET SESSION wait_timeout = 604800";
/// Others may add keys while one copy is proven.
const PROOFS: u32 = 3;
/// A rerun waits so long for what the server may still write; one that crashed does not come back to it.
const RERUN_PATIENCE: Duration = Duration::from_secs(5);

/// Carries out the rotation. The report says how far it came, also if it failed.
pub fn run(
    target: &Target,
    options: &Options,
    request: &Request,
    log: &StatementLog,
    show: &dyn Fn(&str),
) -> (Report, Result<(), Error>) {
    let mut report = Report::new(&target.to_string(), plan::reports(request));
    let steps = plan::steps(request);
    let mut run = None;
    for (number, step) in steps.iter().enumerate() {
        show(&step.what);
        let began = Instant::now();
        let ended = match (&mut run, step.action) {
            (None, _) => Run::begin(target, options, request, log).map(|begun| {
                report.server_uuid = Some(begun.site.server_uuid.clone());
                run = Some(begun);
                None
            }),
            (Some(run), action) => run.carry_out(action, &mut report),
        };
        let seconds = began.elapsed().as_secs_f64();
        let (outcome, error) = match ended {
            Ok(None) => (Outcome::Done, None),
            Ok(Some(reason)) => (Outcome::Skipped { reason }, None),
            Err(error) => (Outcome::Failed { reason: error.to_string() }, Some(error)),
        };
        if let Some(step) = report.steps.get_mut(number) {
            (step.outcome, step.seconds) = (outcome, seconds);
        }
        if let Some(error) = error {
            return (report, Err(error));
        }
    }
    report.done = report.lagging.is_empty();
    (report, Ok(()))
}

/// A run under way.
struct Run<'r, 'l> {
    request: &'r Request,
    session: Session<'l>,
    site: Site,
    ledger: Ledger,
    /// The run that is gone on with.
    resumed: Option<Unfinished>,
    /// What was proven before the rotation.
    before: Option<(KeyringCopy, Seen)>,
    /// What was backed up last.
    copy: Option<KeyringCopy>,
}

/// Why a step was left out; `None` if it was done.
type Ended = Result<Option<String>, Error>;

impl<'r, 'l> Run<'r, 'l> {
    /// Refuses what cannot be done, before anything is changed.
    fn begin(target: &Target, options: &Options, request: &'r Request, log: &'l StatementLog) -> Result<Self, Error> {
        let server = target.to_string();
        let mut session = Session::open(target, options, log, LockPatience::default())?;
        session.ask(KEEP_SESSION)?;
        let site = Site::of(&mut session, &server, request)?;
        backup::check_writable(&request.backup)?;
        let mut ledger = Ledger::open(&request.state_dir, &site.server_uuid)?;
        ledger.register.server.clone_from(&site.server);
        let resumed = ledger.register.resumed(&request.backup)?;
        Ok(Self { request, session, site, ledger, resumed, before: None, copy: None })
    }

    fn carry_out(&mut self, action: Action, report: &mut Report) -> Ended {
        match action {
            Action::Check => Ok(None),
            Action::ProveBefore => self.prove_before(report),
            Action::BackUpBefore => self.back_up_before(report),
            Action::RotateMasterKey => self.rotate(action, KeyKind::Master),
            Action::RotateBinlogKey => self.rotate(action, KeyKind::BinaryLog),
            Action::BackUp => self.back_up(report),
            Action::ProveAfter => self.prove_after(report),
            Action::Record => self.record(report),
        }
    }

    fn prove_before(&mut self, report: &mut Report) -> Ended {
        let mut copy = KeyringCopy::read(&self.site.store)?;
        for _ in 0..PROOFS {
            site::is_current(&mut self.session, &copy)?;
            self.refuse_overwriting(&copy)?;
            let proven = Seen::prove(&self.site.places, &copy);
            let now = KeyringCopy::read(&self.site.store)?;
            let unchanged = now.is_same(&copy);
            match proven {
                Ok(seen) if unchanged => {
                    report.proofs.before = Some(seen.proof());
                    self.before = Some((copy, seen));
                    return Ok(None);
                }
                Err(error) if unchanged => return Err(error),
                // The server is still at the statement of a run that was killed, or others make keys.
                _ => copy = now,
            }
        }
        Err(Error::KeyringChanges { path: self.site.store.path().to_owned() })
    }

    /// Only what the unfinished run left may be replaced.
    fn refuse_overwriting(&self, copy: &KeyringCopy) -> Result<(), Error> {
        let path = &self.request.backup;
        match &self.resumed {
            Some(run) if !run.may_replace(path, &copy.names())? => Err(Error::BackupExists { path: path.clone() }),
            _ => Ok(()),
        }
    }

    fn back_up_before(&mut self, report: &mut Report) -> Ended {
        let Some((copy, seen)) = self.before.take() else { return Ok(None) };
        self.begin_register(&copy);
        let path = self.place_before(&copy)?;
        report.backup_before = Some(self.write(&path, &copy)?);
        self.before = Some((copy, seen));
        Ok(None)
    }

    /// Notes that a run has begun; one that is gone on with keeps what it noted.
    fn begin_register(&mut self, copy: &KeyringCopy) {
        let uuid = &self.site.server_uuid;
        let begun = self.resumed.clone().unwrap_or_else(|| Unfinished {
            file: self.request.backup.clone(),
            started: Timestamp::now(),
            master_key: copy.newest(KeyKind::Master, uuid),
            binlog_key: copy.newest(KeyKind::BinaryLog, uuid),
            backups: Vec::new(),
        });
        self.ledger.register.unfinished = Some(begun);
    }

    /// `FILE.before`, or with a number if that is somebody else's or holds other keys.
    fn place_before(&self, copy: &KeyringCopy) -> Result<PathBuf, Error> {
        let names = copy.names();
        let mut number = 1;
        loop {
            let path = before(&self.request.backup, number);
            if self.may_replace(&path, &names)? {
                return Ok(path);
            }
            number += 1;
        }
    }

    fn may_replace(&self, path: &Path, names: &BTreeSet<String>) -> Result<bool, Error> {
        match &self.ledger.register.unfinished {
            Some(run) => run.may_replace(path, names),
            None => Ok(path.symlink_metadata().is_err()),
        }
    }

    /// Encrypts the bytes of a copy, notes the hash of that in the register, puts it into place, and
    /// proves what stands there.
    fn write(&mut self, path: &Path, copy: &KeyringCopy) -> Result<Backup, Error> {
        let names = copy.names();
        if !self.may_replace(path, &names)? {
            return Err(Error::BackupExists { path: path.to_owned() });
        }
        let refuse = |reason: String| Error::Age { path: path.to_owned(), reason };
        let sealed = self.request.recipients.seal(copy.bytes()).map_err(refuse)?;
        let sha256 = backup::sha256(&sealed);
        let keys = names.len() as u64;
        if let Some(run) = &mut self.ledger.register.unfinished {
            run.backups.push(Written { path: path.to_owned(), sha256: sha256.clone(), keys: names });
        }
        self.ledger.save()?;
        let replace = path.symlink_metadata().is_ok();
        backup::place(path, &sealed, replace)?;
        if backup::sha256_of(path)?.as_ref() != Some(&sha256) {
            return Err(refuse("does not hold what was written".to_owned()));
        }
        let proof = self.open_again(path, copy)?;
        Ok(Backup { file: path.to_owned(), recipients: self.request.recipients.names(), sha256, keys, proof })
    }

    /// Decrypts a backup, if there is an identity to do it with.
    fn open_again(&self, path: &Path, copy: &KeyringCopy) -> Result<CopyProof, Error> {
        let Some(identities) = &self.request.identities else { return Ok(CopyProof::SameBytes) };
        if identities.open(path)?.as_slice() == copy.bytes() {
            return Ok(CopyProof::Decrypted);
        }
        Err(Error::Age { path: path.to_owned(), reason: "decrypts to something else than was encrypted".to_owned() })
    }

    /// Rotates, unless the run that is gone on with has done it and no file is left behind.
    fn rotate(&mut self, action: Action, kind: KeyKind) -> Ended {
        let newest = self.before.as_ref().and_then(|(copy, _)| copy.newest(kind, &self.site.server_uuid));
        if let Some(reason) = self.rotated_already(kind, newest.as_deref())? {
            return Ok(Some(reason));
        }
        for statement in action.statements() {
            self.session.change(statement)?;
        }
        let now = KeyringCopy::read(&self.site.store)?;
        if now.newest(kind, &self.site.server_uuid) == newest {
            return Err(Error::NoNewKey { path: self.site.store.path().to_owned(), older: newest });
        }
        Ok(None)
    }

    /// The run that is gone on with may have made the key; then the server gets the time that it
    /// takes to write page 0 of every file.
    fn rotated_already(&mut self, kind: KeyKind, newest: Option<&str>) -> Result<Option<String>, Error> {
        let (Some(run), Some(newest)) = (&self.resumed, newest) else { return Ok(None) };
        let (then, wanted) = match kind {
            KeyKind::Master => (&run.master_key, Wanted { master: Some(newest.to_owned()), binary_log: None }),
            KeyKind::BinaryLog => (&run.binlog_key, Wanted { master: None, binary_log: Some(newest.to_owned()) }),
        };
        let Some((copy, seen)) = self.before.as_mut().filter(|_| then.as_deref() != Some(newest)) else {
            return Ok(None);
        };
        seen.settle(&wanted, copy, &mut self.session, self.request.patience.min(RERUN_PATIENCE))?;
        let complete = seen.lagging(&wanted).is_empty();
        Ok(complete.then(|| format!("the run of {} that was interrupted has made {newest}", run.started)))
    }

    /// Backs up the keyring as it is now, as the file that was asked for.
    fn back_up(&mut self, report: &mut Report) -> Ended {
        let copy = KeyringCopy::read(&self.site.store)?;
        let path = self.request.backup.clone();
        report.backup = Some(self.write(&path, &copy)?);
        self.copy = Some(copy);
        Ok(None)
    }

    /// Proves the bytes that were backed up last; again, if the keyring has others by then.
    fn prove_after(&mut self, report: &mut Report) -> Ended {
        for _ in 0..PROOFS {
            let Some(copy) = self.copy.take() else { return Ok(None) };
            let wanted = self.wanted(&copy);
            let proven = Seen::prove(&self.site.places, &copy).and_then(|mut seen| {
                seen.settle(&wanted, &copy, &mut self.session, self.request.patience)?;
                Ok(seen)
            });
            let unchanged = KeyringCopy::read(&self.site.store)?.is_same(&copy);
            match proven {
                Ok(seen) if unchanged => {
                    report.proofs.after = Some(after(&seen, &wanted));
                    report.lagging = seen.lagging(&wanted);
                    self.remember(&copy, &seen);
                    self.copy = Some(copy);
                    return Ok(None);
                }
                Err(error) if unchanged => return Err(error),
                _ => self.back_up(report)?,
            };
        }
        Err(Error::KeyringChanges { path: self.site.store.path().to_owned() })
    }

    fn wanted(&self, copy: &KeyringCopy) -> Wanted {
        let newest = |kind, asked: bool| copy.newest(kind, &self.site.server_uuid).filter(|_| asked);
        Wanted {
            master: newest(KeyKind::Master, self.request.master_key),
            binary_log: newest(KeyKind::BinaryLog, self.request.binlog_key),
        }
    }

    /// Notes what is known of every key.
    fn remember(&mut self, copy: &KeyringCopy, seen: &Seen) {
        let now = Timestamp::now();
        let (needed, names) = (seen.needed(), copy.names());
        let newest = [KeyKind::Master, KeyKind::BinaryLog].map(|kind| copy.newest(kind, &self.site.server_uuid));
        let register = &mut self.ledger.register;
        let then = register.unfinished.as_ref().map(|run| [run.master_key.clone(), run.binlog_key.clone()]);
        register.sighted(&names, &needed);
        for record in register.keys.values_mut().filter(|record| record.in_keyring) {
            (record.copy_proven, record.copy) = (Some(now), Some(self.request.backup.clone()));
        }
        for (older, newer) in then.into_iter().flatten().zip(newest) {
            if let Some(record) =
                older.filter(|older| Some(older) != newer.as_ref()).and_then(|older| register.keys.get_mut(&older))
            {
                record.rotated.get_or_insert(now);
            }
        }
    }

    /// Ends the run: the backup of before goes if the new one holds all its keys, and the register
    /// says what is known.
    fn record(&mut self, report: &mut Report) -> Ended {
        if !report.lagging.is_empty() {
            self.ledger.save()?;
            return Ok(Some("files still carry an older key; the run counts as unfinished".to_owned()));
        }
        self.remove_older(report)?;
        let asked = [("master_key", self.request.master_key), ("binlog_key", self.request.binlog_key)];
        for (key, _) in asked.into_iter().filter(|(_, asked)| *asked) {
            self.ledger.register.last_rotated.insert(key.to_owned(), Timestamp::now());
        }
        self.ledger.register.unfinished = None;
        self.ledger.save()?;
        Ok(None)
    }

    fn remove_older(&mut self, report: &mut Report) -> Result<(), Error> {
        let Some(copy) = &self.copy else { return Ok(()) };
        let names = copy.names();
        let backups = self.ledger.register.unfinished.as_ref().map(|run| run.backups.clone()).unwrap_or_default();
        let included = self.before.as_ref().is_some_and(|(before, _)| copy.includes(before));
        for written in backups.iter().filter(|written| written.path != self.request.backup) {
            if !written.stands()? {
                continue;
            }
            let removed: Vec<String> = written.keys.difference(&names).cloned().collect();
            if removed.is_empty() && included {
                let gone = fs::remove_file(&written.path).and_then(|()| atomic::sync(&written.path));
                gone.map_err(|source| Error::Backup { path: written.path.clone(), source })?;
                report.backup_before = report.backup_before.take().filter(|backup| backup.file != written.path);
                continue;
            }
            for name in removed {
                self.note_removed(&name, &written.path);
                report.removed_keys.push(name);
            }
        }
        report.removed_keys.sort();
        report.removed_keys.dedup();
        Ok(())
    }

    /// A key that the server removed is in the backup of before.
    fn note_removed(&mut self, name: &str, path: &Path) {
        let now = Timestamp::now();
        let record = self.ledger.register.keys.entry(name.to_owned()).or_default();
        record.first_seen.get_or_insert(now);
        (record.copy_proven, record.copy) = (Some(now), Some(path.to_owned()));
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

fn after(seen: &Seen, wanted: &Wanted) -> After {
    let on = seen.on_new_key(wanted);
    After {
        proof: seen.proof(),
        new_key: wanted.master.clone(),
        new_binlog_key: wanted.binary_log.clone(),
        tablespaces_on_new_key: on.tablespaces,
        redo_on_new_key: on.redo,
        binary_logs_on_new_key: on.binary_logs,
    }
}
