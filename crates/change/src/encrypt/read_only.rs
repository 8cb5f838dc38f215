//! Lifts `super_read_only` of a replica, which blocks this run's own statements, for the duration of a run; `read_only`
//! stays on and keeps clients from writing. The run's state records the change first, so that the next run restores the
//! setting if this one is killed. Source: MySQL manual, "Server System Variables".

use server::dialect::statement::{SUPER_READ_ONLY_OFF, SUPER_READ_ONLY_ON};

use super::{EncryptAction, Options, ServerAccess};
use crate::{Control, Error, Outcome, Session, StatementLog, Step};

/// Whether `super_read_only` is on. Releases without it allow administrators to write.
pub(super) fn is_super(session: &mut Session<'_>) -> Result<bool, Error> {
    session.is_on("super_read_only")
}

pub(super) fn step() -> Step<EncryptAction> {
    let what = "lift super_read_only until the end; read_only stays on for all others";
    Step::quiet("super_read_only", what, EncryptAction::LiftSuperReadOnly)
}

pub(super) fn lift(session: &mut Session<'_>, control: &Control, executed: &mut Vec<String>) -> Result<Outcome, Error> {
    control.update(|state| state.super_read_only = true)?;
    executed.push(SUPER_READ_ONLY_OFF.to_owned());
    session.change(SUPER_READ_ONLY_OFF).map(|()| Outcome::Done)
}

pub(super) fn put_back(
    access: &ServerAccess,
    options: &Options,
    log: &StatementLog,
    control: &Control,
) -> Result<(), Error> {
    let mut session = Session::open(&access.target, &access.connect, log, options.lock_wait)?;
    session.change(SUPER_READ_ONLY_ON)?;
    control.update(|state| state.super_read_only = false)
}
