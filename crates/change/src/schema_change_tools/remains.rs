//! Leftovers of a killed tool: recorded on the server before the tool starts, and removed by the next run. The table
//! itself is always complete, since both tools swap tables with one atomic `RENAME`.

use server::dialect::encryption::table_option;
use server::quote;

use super::{Table, Tool};
use crate::{
    Error, Session,
    scratch_schema::{self, SCHEMA},
};

impl Tool {
    /// The tables that the tool creates; the last is the original table after the swap.
    pub(super) fn made_beside(self, name: &str) -> Vec<String> {
        let endings: &[&str] = match self {
            Self::GhOst => &["gho", "ghc", "ghk", "del"],
            Self::PtOsc => &["new", "old"],
        };
        endings.iter().map(|ending| format!("_{name}_{ending}")).collect()
    }

    fn from_program(program: &str) -> Option<Self> {
        [Self::GhOst, Self::PtOsc].into_iter().find(|tool| tool.program() == program)
    }
}

/// Records that the tool is about to start on this table.
pub(crate) fn note(
    session: &mut Session<'_>,
    executed: &mut Vec<String>,
    tool: Tool,
    table: &Table,
) -> Result<(), Error> {
    change(session, executed, scratch_schema::create_schema())?;
    let encrypted = table_option(session.identity().flavor(), true);
    change(
        session,
        executed,
        format!(
            "CREATE TABLE IF NOT EXISTS {SCHEMA}.online (tool VARCHAR(64), table_schema VARCHAR(64), \
         table_name VARCHAR(64), PRIMARY KEY (table_schema, table_name)) \
         ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin {encrypted}"
        ),
    )?;
    change(
        session,
        executed,
        format!(
            "REPLACE INTO {SCHEMA}.online VALUES ({}, {}, {})",
            quote::text_in_any_mode(tool.program()),
            quote::text_in_any_mode(&table.schema),
            quote::text_in_any_mode(&table.name)
        ),
    )
}

/// Whether an interrupted run has recorded this table; leftovers of the tool are removed first.
pub(super) fn is_noted(session: &mut Session<'_>, table: &Table) -> bool {
    let count = format!(
        "SELECT COUNT(*) FROM {SCHEMA}.online WHERE table_schema = {} AND table_name = {}",
        quote::text_in_any_mode(&table.schema),
        quote::text_in_any_mode(&table.name)
    );
    // The table of records exists only while it has records.
    session.value(&count).is_ok_and(|count| count.as_deref() == Some("1"))
}

/// Deletes the record of a table without leftovers. Drops the records' table when it is empty.
pub(super) fn forget(session: &mut Session<'_>, executed: &mut Vec<String>, table: &Table) -> Result<(), Error> {
    change(
        session,
        executed,
        format!(
            "DELETE FROM {SCHEMA}.online WHERE table_schema = {} AND table_name = {}",
            quote::text_in_any_mode(&table.schema),
            quote::text_in_any_mode(&table.name)
        ),
    )?;
    change(session, executed, format!("DROP TABLE {SCHEMA}.online"))?;
    scratch_schema::drop_schema(session, executed)
}

/// Removes the leftovers of tools for all recorded tables, but not the records.
pub(crate) fn clean_up(session: &mut Session<'_>, executed: &mut Vec<String>) -> Result<(), Error> {
    // The schema may exist without this table, for another purpose.
    let Ok(notes) = session.query(&format!("SELECT tool, table_schema AS s, table_name AS t FROM {SCHEMA}.online"))
    else {
        return Ok(());
    };
    for row in 0..notes.rows.len() {
        let tool = notes.value(row, "tool").and_then(Tool::from_program);
        let (Some(tool), Some(schema), Some(name)) = (tool, notes.value(row, "s"), notes.value(row, "t")) else {
            continue;
        };
        let table = Table { schema: schema.to_owned(), name: name.to_owned() };
        remove(session, executed, tool, &table)?;
    }
    Ok(())
}

fn remove(session: &mut Session<'_>, executed: &mut Vec<String>, tool: Tool, table: &Table) -> Result<(), Error> {
    let schema = quote::identifier(&table.schema);
    if tool == Tool::PtOsc {
        drop_triggers(session, executed, table)?;
    }
    let is_there = format!(
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quote::text_in_any_mode(&table.schema),
        quote::text_in_any_mode(&table.name)
    );
    // If the table itself is missing, one of these may have the only copy of its rows.
    if session.value(&is_there)?.as_deref() != Some("1") {
        return Ok(());
    }
    for made in tool.made_beside(&table.name) {
        change(session, executed, format!("DROP TABLE IF EXISTS {schema}.{}", quote::identifier(&made)))?;
    }
    Ok(())
}

/// Drops the tool's triggers: the table had none before. The tool shortens their names, so they are queried. A
/// remaining trigger would make writes fail once the tool's table is dropped.
fn drop_triggers(session: &mut Session<'_>, executed: &mut Vec<String>, table: &Table) -> Result<(), Error> {
    let triggers = session.query(&format!(
        "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = {} \
         AND EVENT_OBJECT_TABLE = {} AND LEFT(TRIGGER_NAME, 7) = 'pt_osc_'",
        quote::text_in_any_mode(&table.schema),
        quote::text_in_any_mode(&table.name)
    ))?;
    for trigger in triggers.rows.iter().filter_map(|row| row.first()?.as_deref()) {
        let name = format!("{}.{}", quote::identifier(&table.schema), quote::identifier(trigger));
        change(session, executed, format!("DROP TRIGGER IF EXISTS {name}"))?;
    }
    Ok(())
}

fn change(session: &mut Session<'_>, executed: &mut Vec<String>, sql: String) -> Result<(), Error> {
    executed.push(sql.clone());
    session.change(&sql)
}
