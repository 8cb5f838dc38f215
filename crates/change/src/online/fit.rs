//! Which tables and servers an online tool can be used with. Each rule is one of the tool's own, asked
//! before anything is begun.

use server::{TlsMode, TlsOptions};

use super::{Table, Tool, remains::is_noted};
use crate::{Error, Session, quote};

/// Names of the tables that a tool makes have to fit into 64 characters.
const LONGEST_NAME: usize = 59;

const BESIDE: &str = "a table that looks like the tool's own is beside it";

/// Why the tool cannot change that table, if it cannot. `replicated` says that replicas have keyrings.
pub(crate) fn unfit(
    session: &mut Session<'_>,
    tool: Tool,
    table: &Table,
    connect: &TlsOptions,
    replicated: bool,
) -> Result<Option<String>, Error> {
    if let Some(why) = server_unfit(session, tool, replicated)? {
        return Ok(Some(why));
    }
    if tool == Tool::PtOsc && (connect.ca_file.is_some() || connect.mode.is_some_and(|mode| mode != TlsMode::Off)) {
        return Ok(Some("it cannot be made to check the server's certificate as this connection does".to_owned()));
    }
    let (schema, name) = (quote::text(&table.schema), quote::text(&table.name));
    if table.name.chars().count() > LONGEST_NAME {
        return Ok(Some("its name is too long for the names of helper tables".to_owned()));
    }
    let rules = [
        ("it has no primary or other unique key without NULL", no_key(&schema, &name)),
        ("it has foreign keys, or others refer to it", foreign_keys(&schema, &name)),
        (
            "it has triggers",
            format!(
                "SELECT COUNT(*) FROM information_schema.TRIGGERS \
             WHERE EVENT_OBJECT_SCHEMA = {schema} AND EVENT_OBJECT_TABLE = {name}"
            ),
        ),
        (
            BESIDE,
            format!(
                "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME IN ({})",
                tool.made_beside(&table.name).iter().map(|made| quote::text(made)).collect::<Vec<_>>().join(", ")
            ),
        ),
    ];
    let own = is_noted(session, table);
    for (why, sql) in rules.into_iter().filter(|(why, _)| !own || *why != BESIDE) {
        if session.value(&sql)?.is_some_and(|count| count != "0") {
            return Ok(Some(why.to_owned()));
        }
    }
    Ok(None)
}

fn server_unfit(session: &mut Session<'_>, tool: Tool, replicated: bool) -> Result<Option<String>, Error> {
    // gh-ost would look for its source and change the table there; what pt-online-schema-change writes to a
    // replica's own binary log is in no other.
    if !session.ask(session.replica_status())?.rows.is_empty() {
        return Ok(Some(
            "this server is a replica: the tool would change its source, or write a history of its own".to_owned(),
        ));
    }
    if tool == Tool::GhOst
        && session.value("SELECT @@log_bin = 1 AND @@binlog_format = 'ROW' AND @@binlog_row_image = 'FULL'")?.as_deref()
            != Some("1")
    {
        return Ok(Some("it needs a binary log of whole rows".to_owned()));
    }
    let dumps = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'";
    if !replicated && session.value(dumps)?.is_some_and(|count| count != "0") {
        let why = "its statements reach the replicas, which stop if they have no keyring; --replicated says they have";
        return Ok(Some(why.to_owned()));
    }
    Ok(None)
}

/// 1 if there is no unique key all of whose columns are NOT NULL.
fn no_key(schema: &str, name: &str) -> String {
    format!(
        "SELECT NOT EXISTS (SELECT 1 FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = {schema} \
         AND TABLE_NAME = {name} AND NON_UNIQUE = 0 GROUP BY INDEX_NAME HAVING SUM(NULLABLE = 'YES') = 0)"
    )
}

fn foreign_keys(schema: &str, name: &str) -> String {
    format!(
        "SELECT COUNT(*) FROM information_schema.REFERENTIAL_CONSTRAINTS \
         WHERE CONSTRAINT_SCHEMA = {schema} AND TABLE_NAME = {name} \
         OR UNIQUE_CONSTRAINT_SCHEMA = {schema} AND REFERENCED_TABLE_NAME = {name}"
    )
}
