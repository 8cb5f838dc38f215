//! What precedes the first run: a plan, which the user confirms, and the tables at the target.

use crate::{
    Error, Settings,
    catalog::Creation,
    link,
    plan::{Plan, Readiness, plan},
    preflight::Request,
    run::create_tables,
    state,
};

/// Prepares a run: if no migration was begun, makes the plan, lets `confirm` accept it, and creates the tables at the
/// target. Returns the plan if it does not allow the migration; nothing is changed then.
///
/// # Errors
/// What `confirm` returns; [`Error::Server`]; [`Error::ForeignState`] if something else has made the schema of the
/// state.
pub fn prepare<E: From<Error>>(
    settings: &Settings,
    request: Request,
    confirm: impl FnOnce(&Plan) -> Result<(), E>,
) -> Result<Option<Plan>, E> {
    if state::run(&mut link::target(&settings.target)?)?.is_some() {
        return Ok(None);
    }
    let (filter, creation) = (request.filter.clone(), Creation { encrypt: request.encrypt });
    let plan = plan(&settings.source, &settings.target, request)?;
    if plan.readiness() != Readiness::Ready {
        return Ok(Some(plan));
    }
    confirm(&plan)?;
    create_tables(settings, &filter, creation)?;
    Ok(None)
}
