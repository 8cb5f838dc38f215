//! A plan or a run as a user starts it: planned, confirmed, logged, and controlled from other processes.

use std::path::Path;
use std::sync::{Arc, atomic::AtomicBool};

use super::{Options, Progress, Report, ServerAccess, may_begin, plan};
use crate::{Confirm, Control, Error, Runs, StatementLog};

/// What is asked of a user before and during a run. Errors of the user's side are `E`.
pub struct User<'u, E> {
    /// Agrees to the plan, or returns why not; then nothing is logged or changed.
    pub confirm: Confirm<'u, Report, E>,
    /// Called when the plan is agreed to; the run is canceled when the flag is set.
    pub stop: &'u dyn Fn() -> Result<Arc<AtomicBool>, E>,
}

/// Where a run is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Records<'r> {
    /// The log of statements.
    pub log: &'r Path,
    /// Directory of the runs' state.
    pub state_directory: &'r Path,
}

/// Plans; changes and logs nothing. The plan is worth reading even if a run would be refused, so the refusal is beside
/// it.
///
/// # Errors
/// [`Error`] if the server cannot be planned for; beside the plan, why a run would not begin.
pub fn preview(
    access: &ServerAccess,
    options: &Options,
    progress: &Progress<'_>,
) -> Result<(Report, Result<(), Error>), Error> {
    let log = StatementLog::none(&access.target)?;
    let report = plan(access, options, &log, progress)?.report();
    Ok((report, may_begin(access, options, &log)))
}

/// Plans, asks the user, and carries out the plan.
///
/// # Errors
/// [`Error`] by cause, and those of the user's side.
pub fn carry_out<E: From<Error>>(
    access: &ServerAccess,
    options: &Options,
    records: Records<'_>,
    user: &User<'_, E>,
    progress: &Progress<'_>,
) -> Result<Report, E> {
    let plan = plan(access, options, &StatementLog::none(&access.target)?, progress)?;
    (user.confirm)(&plan.report())?;
    let log = StatementLog::of_target(records.log, &access.target)?;
    let runs = Runs::below(records.state_directory);
    let server = access.target.to_string();
    let control = Control::begin(&runs, &plan.identity, &server, records.log, (user.stop)()?)?;
    Ok(plan.run(access, options, &log, &control, progress)?)
}
