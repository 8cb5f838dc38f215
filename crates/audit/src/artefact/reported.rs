//! What the server reports about the encryption of artefacts.

use std::collections::BTreeMap;

use server::dialect::encryption::{Encrypts, switches};
use server::switch::{is_on, is_switched_on};

use super::State;
use crate::facts::sql::{Row, SqlFacts, Tablespace};

/// The server's report about an artefact, and its source.
#[derive(Default)]
pub(super) struct Reported {
    pub(super) state: Option<State>,
    pub(super) by: &'static str,
    pub(super) switch: Option<&'static str>,
}

/// What the variables that encrypt `what` say.
pub(super) fn switched(sql: &SqlFacts, what: Encrypts) -> Reported {
    let set = switches(what).into_iter().find_map(|name| Some((name, sql.variable_or_none(name)?)));
    let state = set.map(|(_, value)| if is_switched_on(value) { State::Encrypted } else { State::Clear });
    Reported { state, by: "variables", switch: set.map(|(name, _)| name) }
}

/// Absolute paths of the data files, by space id.
pub(super) fn datafile_paths(sql: &SqlFacts) -> BTreeMap<u32, String> {
    let rows = sql.rows("datafiles").unwrap_or_default();
    let path = |row: &Row<'_>| {
        let space = u32::try_from(row.number("space_id")?).ok()?;
        let path = row.text("path").trim_start_matches("./");
        let datadir = sql.identity.datadir.trim_end_matches('/');
        Some((space, if path.starts_with('/') { path.to_owned() } else { format!("{datadir}/{path}") }))
    };
    rows.iter().filter_map(path).collect()
}

/// Whether a binary log is encrypted, by the list of logs.
pub(super) fn reported_binary_log(sql: &SqlFacts, name: &str) -> Option<State> {
    let rows = sql.rows("binary_logs").ok()?;
    let row = rows.iter().find(|row| row.text("name") == name)?;
    match row.get("encrypted") {
        Some(value) if is_on(value) => Some(State::Encrypted),
        Some(_) => Some(State::Clear),
        // MariaDB has no column for it; the variable applies only to logs created after it was set.
        None => None,
    }
}

/// Whether a tablespace is encrypted, by the list of tablespaces.
pub(super) fn reported_state(space: &Tablespace<'_>) -> Option<State> {
    match space.encrypted {
        "Y" => Some(State::Encrypted),
        "P" => Some(State::Partly),
        "N" => Some(State::Clear),
        _ => None,
    }
}
