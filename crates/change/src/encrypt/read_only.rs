//! Replicas whose `super_read_only` keeps everybody from writing, us too. It is lifted for as long as a run takes; `read_only` stays on, which
//! keeps clients from writing. That it has to be put back is in the run's state before it is lifted, for the next run if this one is
//! killed. Source: MySQL manual, "Server System Variables".

use super::{Action, Options, Place};
use crate::{Control, Error, Outcome, Session, StatementLog, Step};

pub(super) const LIFT: &str = "SET GLOBAL super_read_only = OFF";

/// Whether nobody may write. Releases that do not know it let administrators write.
pub(super) fn is_super(session: &mut Session<'_>) -> Result<bool, Error> {
    let rows = session.ask("SHOW GLOBAL VARIABLES LIKE 'super_read_only'")?;
    Ok(rows.value(0, "Value") == Some("ON"))
}

pub(super) fn step() -> Step<Action> {
    let what = "let administrators write until the end; read_only stays on for all others";
    Step::quiet("super_read_only", what, Action::LiftSuperReadOnly)
}

pub(super) fn lift(session: &mut Session<'_>, control: &Control, ran: &mut Vec<String>) -> Result<Outcome, Error> {
    control.tell(|state| state.super_read_only = true)?;
    ran.push(LIFT.to_owned());
    session.change(LIFT).map(|()| Outcome::Done)
}

pub(super) fn put_back(place: &Place, options: &Options, log: &StatementLog, control: &Control) -> Result<(), Error> {
    let mut session = Session::open(&place.target, &place.connect, log, options.patience)?;
    session.change("SET GLOBAL super_read_only = ON")?;
    control.tell(|state| state.super_read_only = false)
}
