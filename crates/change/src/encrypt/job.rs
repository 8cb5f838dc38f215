//! A plan or a run as a user starts it: planned, confirmed, logged, and controllable from other processes.

use std::path::Path;
use std::sync::{Arc, atomic::AtomicBool};

use super::{
    EncryptPlan, EncryptReport, Options, Progress, ServerAccess, key_proof::prove_keyrings, plan::plan,
    privileges::Lacking,
};
use crate::{Confirm, Control, Error, Runs, Session, StatementLog};

/// Callbacks to the user before and during a run. Their errors are of type `E`.
pub struct User<'u, E> {
    /// Confirms the plan. An error is the reason why not; then nothing is logged or changed.
    pub confirm: Confirm<'u, EncryptReport, E>,
    /// Called after the confirmation. The run is canceled when the returned flag is set.
    pub stop: &'u dyn Fn() -> Result<Arc<AtomicBool>, E>,
    /// Called with the privileges that are missing, before the confirmation if a run can begin without them, and at the
    /// end if the server has denied a statement.
    pub warn: &'u dyn Fn(&Error),
}

/// A plan that is only shown.
#[derive(Debug)]
pub struct Preview {
    /// The plan.
    pub report: EncryptReport,
    /// The privileges that are missing, if that is certain.
    pub lacking: Option<Error>,
    /// The reason why the keys are not proven, for which a run would be refused.
    pub keys: Result<(), Error>,
}

/// Paths of the records of a run.
#[derive(Clone, Copy, Debug)]
pub struct Records<'r> {
    /// The log of statements.
    pub log: &'r Path,
    /// Directory of the runs' state.
    pub state_directory: &'r Path,
}

/// Plans without changing or logging anything. The plan is useful even if a run would be refused, so the reasons are
/// returned in addition to it.
///
/// # Errors
/// [`Error`] if no plan can be made.
pub fn preview(access: &ServerAccess, options: &Options, progress: &Progress<'_>) -> Result<Preview, Error> {
    let log = StatementLog::none(&access.target)?;
    let (plan, lacking) = plan_and_compare(access, options, &log, progress)?;
    let mut session = Session::open(&access.target, &access.connect, &log, options.lock_wait)?;
    let keys = prove_keyrings(&mut session, &access.target.to_string(), options).map(drop);
    Ok(Preview { report: plan.report(), lacking: lacking.warning(), keys })
}

/// Plans, asks the user, and carries out the plan.
///
/// # Errors
/// [`Error`] by cause, and errors of the callbacks.
pub fn carry_out<E: From<Error>>(
    access: &ServerAccess,
    options: &Options,
    records: Records<'_>,
    user: &User<'_, E>,
    progress: &Progress<'_>,
) -> Result<EncryptReport, E> {
    let silent = StatementLog::none(&access.target)?;
    let (plan, lacking) = plan_and_compare(access, options, &silent, progress)?;
    if let Some(refusal) = lacking.refusal() {
        return Err(refusal.into());
    }
    if let Some(warning) = lacking.warning() {
        (user.warn)(&warning);
    }
    (user.confirm)(&plan.report())?;
    let log = StatementLog::of_target(records.log, &access.target)?;
    let runs = Runs::below(records.state_directory);
    let server = access.target.to_string();
    let control = Control::begin(&runs, &plan.identity, &server, records.log, (user.stop)()?)?;
    let report = plan.run(access, options, &log, &control, progress).map_err(|error| lacking.explain(error))?;
    if let Some(denied) = lacking.denied_step(&report) {
        (user.warn)(&denied);
    }
    Ok(report)
}

/// A plan, and what the account lacks for it.
fn plan_and_compare(
    access: &ServerAccess,
    options: &Options,
    log: &StatementLog,
    progress: &Progress<'_>,
) -> Result<(EncryptPlan, Lacking), Error> {
    let planned = match plan(access, options, log, progress) {
        Err(error) if !error.is_privilege() => return Err(error),
        planned => planned,
    };
    let mut session = Session::open(&access.target, &access.connect, log, options.lock_wait)?;
    let lacking = Lacking::query(&mut session, options, planned.as_ref().ok())?;
    match planned {
        Ok(plan) => Ok((plan, lacking)),
        Err(error) => Err(lacking.explain(error)),
    }
}
