//! The steps of a rotation.

use server::{Options, Target};

use super::{Error, Report, Request, backup, register::Ledger, site::Site};
use crate::{Blocks, LockPatience, Outcome, Session, StatementLog, Step, StepReport};

/// How a step is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Check,
    ProveBefore,
    BackUpBefore,
    RotateMasterKey,
    RotateBinlogKey,
    BackUp,
    ProveAfter,
    Record,
}

impl Action {
    /// What is sent to the server, in order.
    pub(super) const fn statements(self) -> &'static [&'static str] {
        match self {
            Self::RotateMasterKey => &[NOT_ON_REPLICAS, ROTATE_MASTER_KEY],
            // The server keeps this one from the binary log itself.
            Self::RotateBinlogKey => &[ROTATE_BINLOG_KEY],
            _ => &[],
        }
    }
}

/// The server would write its rotation to the binary log, and replicas would rotate without a proof
/// and without a backup; each server is rotated by a run of its own.
const NOT_ON_REPLICAS: &str = "SET SESSION sql_log_bin = 0";
const ROTATE_MASTER_KEY: &str = "ALTER INSTANCE ROTATE INNODB MASTER KEY";
const ROTATE_BINLOG_KEY: &str = "ALTER INSTANCE ROTATE BINLOG MASTER KEY";

/// Asks the server whether its keys can be rotated, and says what would be done. Changes nothing.
///
/// # Errors
/// What forbids it.
pub fn plan(target: &Target, options: &Options, request: &Request, log: &StatementLog) -> Result<Report, Error> {
    let server = target.to_string();
    let mut session = Session::open(target, options, log, LockPatience::default())?;
    let site = Site::of(&mut session, &server, request)?;
    Ledger::peek(&request.state_dir, &site.server_uuid)?.resumed(&request.backup)?;
    backup::may_write_beside(&request.backup)?;
    let mut report = Report::new(&server, reports(request));
    report.server_uuid = Some(site.server_uuid);
    Ok(report)
}

/// The steps, none of them begun.
pub(super) fn reports(request: &Request) -> Vec<StepReport> {
    steps(request).iter().map(report).collect()
}

fn report(step: &Step<Action>) -> StepReport {
    let statements = step.action.statements().iter().map(|statement| (*statement).to_owned()).collect();
    step.report(statements, Outcome::Planned, 0.0)
}

/// The steps in their order. After each rotation the keyring is backed up at once: until then the new
/// key is in the live keyring alone.
pub(super) fn steps(request: &Request) -> Vec<Step<Action>> {
    let file = request.backup.display();
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
    let what = "prove that the backup's bytes open every encrypted file, and that none carries an older key";
    steps.push(quiet("prove-after", Action::ProveAfter, what.to_owned()));
    let what = format!("note dates and needs of keys in {}", request.state_dir.display());
    steps.push(quiet("record", Action::Record, what));
    steps
}
