//! What precedes the first run: a plan, which the user confirms, and the tables at the target.

use crate::{
    Error, Server, Settings, Side, link,
    plan::{Plan, Readiness, judge},
    preflight::{Facts, Request},
    run::create_tables,
    state,
};

/// What a run may begin with.
#[derive(Debug)]
pub enum Preparation {
    /// The tables are at the target.
    Ready(Box<Settings>),
    /// The plan does not allow the migration. Nothing was changed.
    Refused(Box<Plan>),
}

/// Prepares a run: if no migration was begun, makes the plan, lets `confirm` accept it, and creates the tables at the
/// target as the plan has read them at the source; the run compares them before it copies. For a migration that was
/// begun, reads them again.
///
/// # Errors
/// What `confirm` returns; [`Error::Unverified`]; [`Error::Server`]; [`Error::ForeignState`] if something else has made
/// the schema of the state.
pub fn prepare<E: From<Error>>(
    source: Server,
    target: Server,
    request: Request,
    confirm: impl FnOnce(&Plan) -> Result<(), E>,
) -> Result<Preparation, E> {
    link::require_verified(Side::Source, &source)?;
    if state::run(&mut link::target(&target)?)?.is_some() {
        return Ok(Preparation::Ready(Box::new(Settings::read(source, target, &request)?)));
    }
    let facts = Facts::read(&source, &target, request)?;
    let plan = judge(&facts);
    let catalog = match facts.tables {
        Some(tables) if plan.readiness() == Readiness::Ready => tables.source,
        _ => return Ok(Preparation::Refused(Box::new(plan))),
    };
    confirm(&plan)?;
    let settings = Settings { encrypt: facts.request.encrypt, ..Settings::new(source, target, catalog) };
    create_tables(&settings)?;
    Ok(Preparation::Ready(Box::new(settings)))
}
