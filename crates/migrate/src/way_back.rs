//! What a cut-over checks and stores, so that a fallback is possible after it.

use std::{
    collections::BTreeSet,
    time::{SystemTime, UNIX_EPOCH},
};

use server::{Connection, dialect::statement::RUNNING_EVENTS};

use crate::{
    Error, Settings, Side, Until,
    accounts::Accounts,
    active::{Active, check_source, tracking},
    catalog::{Encrypt, Filter, Table},
    definitions,
    fence::require_grants,
    fencing::Fencing,
    link::{flavor, variable},
    log_access,
    position::{self, Tracking},
    preflight,
    state::{self, SwitchEnd},
};

/// Checks, before writes are blocked, that a fallback will be possible.
///
/// # Errors
/// [`Error::NotReady`], [`Error::MissingGrant`], [`Error::WayBack`].
pub(crate) fn require_possible(
    settings: &Settings,
    source: &mut Connection,
    target: &mut Connection,
) -> Result<(), Error> {
    let refused = |what: String| Err(Error::NotReady { what: format!("no fallback is possible: {what}") });
    if settings.fencing != Fencing::default() {
        return refused("it needs --fence read-only".to_owned());
    }
    if flavor(source) != flavor(target) {
        return refused("the source cannot follow a server of another fork".to_owned());
    }
    let on_way_back = |error| Error::WayBack(Box::new(error));
    if variable(target, Side::Target, "log_bin")? != "1" || !log_access::is_whole(target)? {
        return refused("the target has no binary log of all schemas".to_owned());
    }
    let tracked = tracking(target)?;
    check_source(target, tracked).map_err(on_way_back)?;
    if state::run(source).map_err(on_way_back)?.is_some() {
        return refused("the source has the state of an earlier migration, which has to be finished".to_owned());
    }
    if let Some(trigger) = trigger(settings) {
        return refused(format!("{trigger} at the source would be executed for every change that comes back"));
    }
    let events = source.query(RUNNING_EVENTS).map_err(Error::at(Side::Source))?;
    if events.scalar() != Some("0") {
        return refused("events of the source could write to it (SET GLOBAL event_scheduler = OFF)".to_owned());
    }
    if let (Some(from), Some(to)) = (source.greeting().server_version(), target.greeting().server_version()) {
        let schemas: BTreeSet<_> = settings.catalog.tables.iter().map(|table| table.schema.clone()).collect();
        let grants = preflight::fallback(&from, &to, &schemas.into_iter().collect::<Vec<_>>());
        let (of_source, of_target): (Vec<_>, Vec<_>) = grants.into_iter().partition(|it| it.side == Side::Source);
        require_grants(source, Side::Source, &of_source)?;
        require_grants(target, Side::Target, &of_target)?;
    }
    definitions::check(&swapped(settings)?).map_err(on_way_back)
}

/// A trigger of a table that is moved.
fn trigger(settings: &Settings) -> Option<String> {
    let names: BTreeSet<_> = settings.catalog.tables.iter().map(Table::full_name).collect();
    let is_moved = |schema: &String, table: &String| names.contains(&(schema.clone(), table.clone()));
    let mut triggers = settings.catalog.code.iter().filter(|code| code.kind == "trigger");
    let found = triggers.find(|code| code.table.as_ref().is_some_and(|table| is_moved(&code.schema, table)))?;
    Some(format!("the trigger {}.{}", found.schema, found.name))
}

/// Settings of a migration from the target to the source.
pub(crate) fn swapped(settings: &Settings) -> Result<Settings, Error> {
    let names = definitions::names(settings);
    let catalog = definitions::catalog(Side::Target, &settings.target, &names)?;
    // New tables of the target do not come back.
    let filter = Filter { only: Some(names), ..Filter::default() };
    let (source, target) = (settings.target.clone(), settings.source.clone());
    let (encrypt, until) = (Encrypt::AsSource, Until::Forever);
    let (accounts, fencing) = (Accounts::Report, Fencing::default());
    Ok(Settings {
        source,
        target,
        catalog,
        filter,
        encrypt,
        until,
        accounts,
        fencing,
        on_switch: None,
        fallback: None,
        way_back: true,
        ..settings.clone()
    })
}

/// What the switch stores of the target, so that a fallback can begin at this moment.
pub(crate) fn switch_end(active: &mut Active<'_>) -> Result<SwitchEnd, Error> {
    let target_end = position::log_end_at(&mut active.target, Side::Target);
    let Some(time) = active.settings.fallback else {
        let target_end = target_end.map(|end| end.to_string()).unwrap_or_default();
        return Ok(SwitchEnd { target_end, ..SwitchEnd::default() });
    };
    let target_end = target_end?.to_string();
    let target_gtids = match tracking(&mut active.target)? {
        Tracking::Gtids => position::end(&mut active.target, Tracking::Gtids)?.gtids.to_string(),
        Tracking::Positions | Tracking::Snapshots => String::new(),
    };
    let fallback = now().saturating_add(time.as_secs()).max(1);
    Ok(SwitchEnd { target_end, target_gtids, fallback })
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
