//! The steps of a rotation.

use register::Ledger;
use server::{Options, Target};

use super::{
    Copies, Error, Report, Request, backup,
    site::Site,
    tables::{Table, Work},
};
use crate::{Blocks, Outcome, Session, StatementLog, Step, StepReport};

/// How a step is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Check,
    ProveBefore,
    BackUpBefore,
    RotateMasterKey,
    RotateBinlogKey,
    BackUp,
    /// Which table, and the statement.
    Rebuild(Table, String),
    RenewUndo,
    Flush,
    ProveAfter,
    Record,
}

impl Action {
    /// What is sent to the server, in order.
    pub(super) fn statements(&self) -> Vec<String> {
        let statements: &[&str] = match self {
            Self::RotateMasterKey => &[NOT_ON_REPLICAS, ROTATE_MASTER_KEY],
            // The server keeps this one from the binary log itself.
            Self::RotateBinlogKey => &[ROTATE_BINLOG_KEY],
            Self::Rebuild(_, statement) => &[NOT_ON_REPLICAS, statement],
            Self::Flush => &[CHECKPOINT],
            _ => &[],
        };
        statements.iter().map(|statement| (*statement).to_owned()).collect()
    }
}

/// The server would write its rotation to the binary log, and replicas would rotate without a proof
/// and without a backup; each server is rotated by a run of its own.
const NOT_ON_REPLICAS: &str = "SET SESSION sql_log_bin = 0";
const ROTATE_MASTER_KEY: &str = "ALTER INSTANCE ROTATE INNODB MASTER KEY";
/// What MariaDB has moved is in memory and in its log until it writes it.
const CHECKPOINT: &str = "SET GLOBAL innodb_log_checkpoint_now = ON";
const ROTATE_BINLOG_KEY: &str = "ALTER INSTANCE ROTATE BINLOG MASTER KEY";

/// Asks the server whether its keys can be rotated, and says what would be done. Changes nothing, and needs no copies to
/// be named yet.
///
/// # Errors
/// What forbids it.
pub fn plan(
    target: &Target,
    options: &Options,
    request: &Request,
    copies: Option<&Copies>,
    log: &StatementLog,
) -> Result<Report, Error> {
    let server = target.to_string();
    let mut session = Session::open(target, options, log, request.lock)?;
    let site = Site::of(&mut session, &server, request)?;
    let register = Ledger::read_unlocked(&request.state_dir, &site.server_uuid)?;
    if let Some(copies) = copies {
        backup::resumed(register.as_ref().and_then(|register| register.unfinished.as_ref()), &copies.file)?;
        backup::may_write_beside(&copies.file)?;
    }
    let work = work(&mut session, &site, request)?;
    let mut report = Report::new(&server, reports(&steps(request, copies, &work)));
    report.server_uuid = Some(site.server_uuid);
    report.leftovers = work.leftovers;
    Ok(report)
}

/// What has to be written anew for new keys.
pub(super) fn work(session: &mut Session<'_>, site: &Site, request: &Request) -> Result<Work, Error> {
    let datadir = site.datadir();
    match request.mariadb_key_id {
        Some(id) => Work::of_mariadb(session, datadir, id),
        None => {
            let mut work = if request.data_keys { Work::of_mysql(session, datadir)? } else { Work::default() };
            if request.redo {
                work.leave_redo();
            }
            Ok(work)
        }
    }
}

/// The steps, none of them begun.
pub(super) fn reports(steps: &[Step<Action>]) -> Vec<StepReport> {
    steps.iter().map(|step| step.report(step.action.statements(), Outcome::Planned, 0.0)).collect()
}

/// The steps in their order. After each rotation the keyring is backed up at once: until then the new
/// key is in the live keyring alone.
pub(super) fn steps(request: &Request, copies: Option<&Copies>, work: &Work) -> Vec<Step<Action>> {
    let file = copies.map_or_else(|| "FILE".to_owned(), |copies| copies.file.display().to_string());
    let step = |id: &str, action: Action, blocks: Blocks, what: String| Step {
        id: id.to_owned(),
        what,
        blocks,
        bytes: 0,
        action,
    };
    let quiet = |id: &str, action: Action, what: String| step(id, action, Blocks::Nothing, what);
    let mut steps = vec![
        quiet("check", Action::Check, "ask the server for its keyring, and see that it can be written".to_owned()),
        quiet(
            "prove-before",
            Action::ProveBefore,
            "prove that the keyring on disk opens every encrypted file".to_owned(),
        ),
        quiet("backup-before", Action::BackUpBefore, format!("back up these bytes, encrypted, as {file}.before")),
    ];
    if request.master_key {
        let what = "make a new InnoDB master key and re-wrap every tablespace key";
        steps.push(step("rotate-master-key", Action::RotateMasterKey, Blocks::Moment, what.to_owned()));
        steps.push(quiet("backup-master-key", Action::BackUp, format!("back up the keyring as {file}")));
    }
    if request.binlog_key {
        let what = "make a new binary log key and re-wrap every binary and relay log";
        steps.push(step("rotate-binlog-key", Action::RotateBinlogKey, Blocks::Moment, what.to_owned()));
        steps.push(quiet("backup-binlog-key", Action::BackUp, format!("back up the keyring as {file}")));
    }
    if !request.master_key && !request.binlog_key {
        steps.push(quiet("backup", Action::BackUp, format!("back up the keyring as {file}")));
    }
    steps.extend(work.tables.iter().map(|table| rebuild(table, request.mariadb_key_id)));
    if request.data_keys {
        let what = "empty the undo tablespaces and make them anew, with new keys";
        steps.push(quiet("renew-undo", Action::RenewUndo, what.to_owned()));
    }
    if request.mariadb_key_id.is_some() {
        steps.push(quiet("flush", Action::Flush, "have the server write what was moved".to_owned()));
    }
    let what = "prove that the backup's bytes open every encrypted file, and that none carries an older key";
    steps.push(quiet("prove-after", Action::ProveAfter, what.to_owned()));
    let what = format!("note dates and needs of keys in {}", request.state_dir.display());
    steps.push(quiet("record", Action::Record, what));
    steps
}

fn rebuild(table: &Table, key_id: Option<u32>) -> Step<Action> {
    let name = table.name();
    let what = match key_id {
        Some(id) => format!("move the table {name} to key {id} by a copy"),
        None => format!("give the table {name} a new key by a copy"),
    };
    let action = Action::Rebuild(table.clone(), table.statement(key_id));
    Step { id: format!("table {name}"), what, blocks: Blocks::Writes, bytes: table.bytes, action }
}
