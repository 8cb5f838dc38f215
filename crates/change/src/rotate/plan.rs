//! The steps of a rotation.

use register::RegisterFile;
use server::{
    Options, Target,
    dialect::statement::{CHECKPOINT, NOT_ON_REPLICAS, ROTATE_BINLOG_KEY, ROTATE_MASTER_KEY},
};

use super::{
    Copies, Error, RotateReport, RotateRequest, backup,
    rotation_target::RotationTarget,
    tables::{TableRebuild, Work},
};
use crate::{ClientImpact, Outcome, Session, StatementLog, Step, StepReport};

/// Action of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RotateAction {
    Check,
    ProveBefore,
    BackUpBefore,
    RotateMasterKey,
    RotateBinlogKey,
    /// Write a new version of this key into the Vault.
    NewVersion(u32),
    /// Wait until the server encrypts with the newest version of this key.
    AwaitVersion(u32),
    BackUp,
    /// Rebuild a table with this statement.
    Rebuild(TableRebuild, String),
    RenewUndo,
    Flush,
    ProveAfter,
    Record,
}

impl RotateAction {
    /// The statements, in order.
    pub(super) fn statements(&self) -> Vec<String> {
        let statements: &[&str] = match self {
            Self::RotateMasterKey => &[NOT_ON_REPLICAS, ROTATE_MASTER_KEY],
            Self::RotateBinlogKey => &[ROTATE_BINLOG_KEY],
            Self::Rebuild(_, statement) => &[NOT_ON_REPLICAS, statement],
            Self::Flush => &[CHECKPOINT],
            _ => &[],
        };
        statements.iter().map(|statement| (*statement).to_owned()).collect()
    }
}

/// Queries the server and returns the steps, if its keys can be rotated. Changes nothing; no backup needs to be named.
///
/// # Errors
/// The reasons that prevent the rotation.
pub fn plan(
    target: &Target,
    options: &Options,
    request: &RotateRequest,
    copies: Option<&Copies>,
    log: &StatementLog,
) -> Result<RotateReport, Error> {
    let server = target.to_string();
    let mut session = Session::open(target, options, log, request.lock)?;
    let rotation_target = RotationTarget::query(&mut session, &server, request)?;
    let register = RegisterFile::read_unlocked(&request.state_dir, &rotation_target.server_uuid)?;
    if let Some(copies) = copies {
        backup::resumed(register.as_ref().and_then(|register| register.unfinished.as_ref()), &copies.file)?;
        backup::may_write_beside(&copies.file)?;
    }
    let work = work(&mut session, &rotation_target, request)?;
    let mut report = RotateReport::new(&server, reports(&steps(request, copies, &work)));
    report.server_uuid = Some(rotation_target.server_uuid);
    report.leftovers = work.leftovers;
    Ok(report)
}

/// Tables that must be rebuilt for new keys.
pub(super) fn work(session: &mut Session<'_>, target: &RotationTarget, request: &RotateRequest) -> Result<Work, Error> {
    let datadir = target.datadir();
    match (request.mariadb_key_id, request.mariadb_new_version) {
        (Some(id), _) => Work::for_mariadb(session, datadir, id),
        (None, Some(id)) => Work::for_mariadb_version(session, datadir, id),
        (None, None) => {
            let mut work = if request.data_keys { Work::for_mysql(session, datadir)? } else { Work::default() };
            if request.redo {
                work.leave_redo();
            }
            Ok(work)
        }
    }
}

/// Reports of the steps, none executed.
pub(super) fn reports(steps: &[Step<RotateAction>]) -> Vec<StepReport> {
    steps.iter().map(|step| step.report(step.action.statements(), Outcome::Planned, 0.0)).collect()
}

/// The steps in order. After each rotation the keyring is backed up at once: until then only the live keyring has the
/// new key.
pub(super) fn steps(request: &RotateRequest, copies: Option<&Copies>, work: &Work) -> Vec<Step<RotateAction>> {
    let file = copies.map_or_else(|| "FILE".to_owned(), |copies| copies.file.display().to_string());
    let step = |id: &str, action: RotateAction, blocks: ClientImpact, what: String| Step {
        id: id.to_owned(),
        what,
        blocks,
        bytes: 0,
        action,
    };
    let quiet = |id: &str, action: RotateAction, what: String| step(id, action, ClientImpact::Nothing, what);
    let mut steps = vec![
        quiet(
            "check",
            RotateAction::Check,
            "ask the server for its keyring, and check that it can be written".to_owned(),
        ),
        quiet(
            "prove-before",
            RotateAction::ProveBefore,
            "prove that the keyring on disk opens every encrypted file".to_owned(),
        ),
        quiet("backup-before", RotateAction::BackUpBefore, format!("back up these bytes, encrypted, as {file}.before")),
    ];
    if request.rotates_master_key() {
        let what = "create a new InnoDB master key and re-wrap every tablespace key";
        steps.push(step("rotate-master-key", RotateAction::RotateMasterKey, ClientImpact::Moment, what.to_owned()));
        steps.push(quiet("backup-master-key", RotateAction::BackUp, format!("back up the keyring as {file}")));
    }
    if request.binlog_key {
        let what = "create a new binary log key and re-wrap every binary and relay log";
        steps.push(step("rotate-binlog-key", RotateAction::RotateBinlogKey, ClientImpact::Moment, what.to_owned()));
        steps.push(quiet("backup-binlog-key", RotateAction::BackUp, format!("back up the keyring as {file}")));
    }
    if let Some(id) = request.mariadb_new_version {
        let what = format!("write a new version of key {id} into the Vault, and fetch it again");
        steps.push(quiet("new-version", RotateAction::NewVersion(id), what));
    }
    if !request.rotates_master_key() && !request.binlog_key {
        steps.push(quiet("backup", RotateAction::BackUp, format!("back up the keyring as {file}")));
    }
    if let Some(id) = request.mariadb_new_version {
        let what = format!("wait until the server encrypts with the new version of key {id}");
        steps.push(quiet("await-version", RotateAction::AwaitVersion(id), what));
    }
    steps.extend(work.tables.iter().map(|table| rebuild(table, request.mariadb_key_id)));
    if request.data_keys {
        let what = "empty and recreate the undo tablespaces, with new keys";
        steps.push(quiet("renew-undo", RotateAction::RenewUndo, what.to_owned()));
    }
    if request.mariadb_key().is_some() {
        steps.push(quiet("flush", RotateAction::Flush, "make the server write the moved tables to disk".to_owned()));
    }
    let what = "prove that the backup's bytes open every encrypted file, and that none carries an older key";
    steps.push(quiet("prove-after", RotateAction::ProveAfter, what.to_owned()));
    let what = format!("record dates and uses of keys in {}", request.state_dir.display());
    steps.push(quiet("record", RotateAction::Record, what));
    steps
}

fn rebuild(table: &TableRebuild, key_id: Option<u32>) -> Step<RotateAction> {
    let name = table.name();
    let what = match key_id {
        Some(id) => format!("copy the table {name} to move it to key {id}"),
        None => format!("copy the table {name} to give it a new key"),
    };
    let action = RotateAction::Rebuild(table.clone(), table.statement(key_id));
    Step { id: format!("table {name}"), what, blocks: ClientImpact::Writes, bytes: table.bytes, action }
}
