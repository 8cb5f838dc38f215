//! A plan or a run as a user starts it: planned, confirmed, logged, and controllable from other processes.

use std::path::Path;
use std::sync::{Arc, atomic::AtomicBool};

use super::{EncryptReport, Options, Progress, ServerAccess, key_proof::prove_keyrings, plan::plan, privileges};
use crate::{Confirm, Control, Error, Runs, Session, StatementLog};

/// Callbacks to the user before and during a run. Their errors are of type `E`.
pub struct User<'u, E> {
    /// Confirms the plan. An error is the reason why not; then nothing is logged or changed.
    pub confirm: Confirm<'u, EncryptReport, E>,
    /// Called after the confirmation. The run is canceled when the returned flag is set.
    pub stop: &'u dyn Fn() -> Result<Arc<AtomicBool>, E>,
}

/// Paths of the records of a run.
#[derive(Clone, Copy, Debug)]
pub struct Records<'r> {
    /// The log of statements.
    pub log: &'r Path,
    /// Directory of the runs' state.
    pub state_directory: &'r Path,
}

/// Plans without changing or logging anything. The plan is useful even if a run would be refused, so the refusal is
/// returned in addition to it.
///
/// # Errors
/// [`Error`] if no plan can be made. The reason to refuse a run is returned next to the plan.
pub fn preview(
    access: &ServerAccess,
    options: &Options,
    progress: &Progress<'_>,
) -> Result<(EncryptReport, Result<(), Error>), Error> {
    let log = StatementLog::none(&access.target)?;
    let allowed = may_begin(access, options, &log);
    match plan(access, options, &log, progress) {
        Ok(plan) => Ok((plan.report(), allowed)),
        // A missing privilege can be the reason why there is no plan.
        Err(error) => Err(allowed.err().unwrap_or(error)),
    }
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
    let mut session = Session::open(&access.target, &access.connect, &silent, options.lock_wait)?;
    privileges::check(&mut session, options)?;
    drop(session);
    let plan = plan(access, options, &silent, progress)?;
    (user.confirm)(&plan.report())?;
    let log = StatementLog::of_target(records.log, &access.target)?;
    let runs = Runs::below(records.state_directory);
    let server = access.target.to_string();
    let control = Control::begin(&runs, &plan.identity, &server, records.log, (user.stop)()?)?;
    Ok(plan.run(access, options, &log, &control, progress)?)
}

/// Checks the preconditions of a run: the account's privileges, and keys that exist in a file. Changes nothing.
///
/// # Errors
/// As [`super::EncryptPlan::run`].
fn may_begin(access: &ServerAccess, options: &Options, log: &StatementLog) -> Result<(), Error> {
    let mut session = Session::open(&access.target, &access.connect, log, options.lock_wait)?;
    privileges::check(&mut session, options)?;
    prove_keyrings(&mut session, &access.target.to_string(), options).map(drop)
}
