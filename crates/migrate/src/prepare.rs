//! Prepares the first run: the user confirms a plan, and the tables are created at the target.

use crate::{
    Error, Server, Settings, Side, link,
    plan::{Plan, Readiness, judge},
    preflight::{Facts, Request},
    run::create_tables,
    state,
};

/// Result of preparing a run.
#[derive(Debug)]
pub enum Preparation {
    /// The run may begin: the tables exist at the target.
    Ready(Box<Settings>),
    /// The plan does not allow the migration. Nothing was changed.
    Refused(Box<Plan>),
}

/// Prepares a run. If no migration has begun: makes the plan, asks `confirm` to accept it, and creates the tables at
/// the target as the plan has read them at the source; the run compares them before it copies. If a migration has
/// begun: reads the tables again.
///
/// # Errors
/// What `confirm` returns; [`Error::Unverified`]; [`Error::Server`]; [`Error::ForeignState`] if the schema for the
/// state contains tables of something else.
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
    let Request { filter, encrypt, accounts } = facts.request;
    let settings = Settings { encrypt, filter, accounts, ..Settings::new(source, target, catalog) };
    create_tables(&settings)?;
    Ok(Preparation::Ready(Box::new(settings)))
}
