//! What a tool leaves when it is killed, noted on the server before it begins and removed by the next
//! run. The table itself is whole at any moment: both tools swap tables by one atomic `RENAME`.

use super::{Table, Tool};
use crate::{
    Error, Session,
    encrypt::scratch::{self, SCHEMA},
    quote,
};

impl Tool {
    /// Tables that it makes beside that one; the last is the old one, after the swap.
    pub(super) fn made_beside(self, name: &str) -> Vec<String> {
        let endings: &[&str] = match self {
            Self::GhOst => &["gho", "ghc", "ghk", "del"],
            Self::PtOsc => &["new", "old"],
        };
        endings.iter().map(|ending| format!("_{name}_{ending}")).collect()
    }

    fn of(program: &str) -> Option<Self> {
        [Self::GhOst, Self::PtOsc].into_iter().find(|tool| tool.program() == program)
    }
}

/// Notes that the tool begins with that table.
pub(crate) fn note(session: &mut Session<'_>, ran: &mut Vec<String>, tool: Tool, table: &Table) -> Result<(), Error> {
    change(session, ran, format!("CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))?;
    change(
        session,
        ran,
        format!(
            "CREATE TABLE IF NOT EXISTS {SCHEMA}.online (tool VARCHAR(64), table_schema VARCHAR(64), \
         table_name VARCHAR(64), PRIMARY KEY (table_schema, table_name)) \
         ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ENCRYPTION = 'Y'"
        ),
    )?;
    change(
        session,
        ran,
        format!(
            "REPLACE INTO {SCHEMA}.online VALUES ({}, {}, {})",
            quote::text(tool.program()),
            quote::text(&table.schema),
            quote::text(&table.name)
        ),
    )
}

/// Whether an interrupted run has noted that table; what a tool left of it is removed before anything else is begun.
pub(super) fn is_noted(session: &mut Session<'_>, table: &Table) -> bool {
    let count = format!(
        "SELECT COUNT(*) FROM {SCHEMA}.online WHERE table_schema = {} AND table_name = {}",
        quote::text(&table.schema),
        quote::text(&table.name)
    );
    // Where nothing is noted there is no such table.
    session.value(&count).is_ok_and(|count| count.as_deref() == Some("1"))
}

/// Forgets that table, of which nothing is left, and the notes with it.
pub(super) fn forget(session: &mut Session<'_>, ran: &mut Vec<String>, table: &Table) -> Result<(), Error> {
    change(
        session,
        ran,
        format!(
            "DELETE FROM {SCHEMA}.online WHERE table_schema = {} AND table_name = {}",
            quote::text(&table.schema),
            quote::text(&table.name)
        ),
    )?;
    change(session, ran, format!("DROP TABLE {SCHEMA}.online"))?;
    scratch::drop_schema(session, ran)
}

/// Removes what tools have left of all tables that are noted, but for the notes.
pub(crate) fn tidy_up(session: &mut Session<'_>, ran: &mut Vec<String>) -> Result<(), Error> {
    // The schema may be there without this table, for another use.
    let Ok(notes) = session.ask(&format!("SELECT tool, table_schema AS s, table_name AS t FROM {SCHEMA}.online"))
    else {
        return Ok(());
    };
    for row in 0..notes.rows.len() {
        let tool = notes.value(row, "tool").and_then(Tool::of);
        let (Some(tool), Some(schema), Some(name)) = (tool, notes.value(row, "s"), notes.value(row, "t")) else {
            continue;
        };
        let table = Table { schema: schema.to_owned(), name: name.to_owned() };
        remove(session, ran, tool, &table)?;
    }
    Ok(())
}

fn remove(session: &mut Session<'_>, ran: &mut Vec<String>, tool: Tool, table: &Table) -> Result<(), Error> {
    let schema = quote::name(&table.schema);
    if tool == Tool::PtOsc {
        drop_triggers(session, ran, table)?;
    }
    let is_there = format!(
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quote::text(&table.schema),
        quote::text(&table.name)
    );
    // Without the table itself, one of these could be all that is left of its rows.
    if session.value(&is_there)?.as_deref() != Some("1") {
        return Ok(());
    }
    for made in tool.made_beside(&table.name) {
        change(session, ran, format!("DROP TABLE IF EXISTS {schema}.{}", quote::name(&made)))?;
    }
    Ok(())
}

/// There was no trigger on the table before the tool began. Their names are cut and changed by its own rules,
/// so they are asked for; with one left, writes to the table would fail once its helper table is gone.
fn drop_triggers(session: &mut Session<'_>, ran: &mut Vec<String>, table: &Table) -> Result<(), Error> {
    let triggers = session.ask(&format!(
        "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = {} \
         AND EVENT_OBJECT_TABLE = {} AND LEFT(TRIGGER_NAME, 7) = 'pt_osc_'",
        quote::text(&table.schema),
        quote::text(&table.name)
    ))?;
    for trigger in triggers.rows.iter().filter_map(|row| row.first()?.as_deref()) {
        let name = format!("{}.{}", quote::name(&table.schema), quote::name(trigger));
        change(session, ran, format!("DROP TRIGGER IF EXISTS {name}"))?;
    }
    Ok(())
}

fn change(session: &mut Session<'_>, ran: &mut Vec<String>, sql: String) -> Result<(), Error> {
    ran.push(sql.clone());
    session.change(&sql)
}
