//! Executes a rotation.

mod back_up;
mod key_version;
mod master_key;
mod prove;
mod record;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use register::{RegisterFile, Unfinished};
use server::{Options, Target, dialect::statement::set_idle_timeout};

use super::{
    Copies, Error, RotateReport, RotateRequest, backup,
    copy::{KeyKind, KeyringCopy},
    data_keys,
    plan::{self, RotateAction},
    proof::FileScan,
    rotation_target::RotationTarget,
    tables::{TableRebuild, Work},
};
use crate::{Outcome, Session, StatementLog, encrypt::undo, pace::Pace};

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
    let mut pace = Pace::new(steps.iter().map(|step| step.bytes).sum());
    for (number, step) in steps.iter().enumerate().skip(1) {
        show(&format!("step {} of {}{pace}  {}", number + 1, steps.len(), step.what));
        let began = Instant::now();
        let ended = run.carry_out(&step.action, &mut report, show);
        let outcome = match &ended {
            Ok(outcome) => outcome.clone(),
            Err(error) => Outcome::Failed { reason: error.to_string() },
        };
        note(&mut report, number, outcome, began.elapsed());
        if let Some(ended) = report.steps.get(number) {
            pace.add(ended);
        }
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

    fn carry_out(&mut self, action: &RotateAction, report: &mut RotateReport, show: &dyn Fn(&str)) -> StepResult {
        match action {
            RotateAction::Check => Ok(Outcome::Done),
            RotateAction::ProveBefore => self.prove_before(report),
            RotateAction::BackUpBefore => self.back_up_before(report),
            RotateAction::RotateMasterKey => self.rotate(action, KeyKind::Master),
            RotateAction::RotateBinlogKey => self.rotate(action, KeyKind::BinaryLog),
            RotateAction::NewVersion(key_id) => self.add_version(*key_id),
            RotateAction::AwaitVersion(key_id) => self.await_version(*key_id),
            RotateAction::BackUp => self.back_up(report),
            RotateAction::Rebuild(table, _) => self.rebuild(action, table),
            RotateAction::RenewUndo => self.renew_undo(show),
            RotateAction::Flush => self.flush(action),
            RotateAction::ProveAfter => self.prove_after(report),
            RotateAction::Record => self.record(report),
        }
    }

    /// Rebuilds a table. If the table is locked or gone, the run continues with the others.
    fn rebuild(&mut self, action: &RotateAction, table: &TableRebuild) -> StepResult {
        if self.request.mariadb_key().is_none() && self.is_rebuilt(&table.files) {
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
    fn flush(&mut self, action: &RotateAction) -> StepResult {
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
}

/// Recognises an undo tablespace by its name.
fn is_undo(path: &Path) -> bool {
    innodb::server_file::is_undo(&path.file_name().unwrap_or_default().to_string_lossy())
}
