//! Decides which tables and servers an online tool supports. The rules are those of the tools, checked before a run
//! starts.

use server::quote;
use server::{Endpoint, Options, TlsMode};

use super::{Table, Tool, remains::is_noted};
use crate::{Error, Session};

/// The tool's table names add a suffix and must fit into 64 characters.
const MAX_NAME_CHARS: usize = 59;

const BESIDE: &str = "a table with the name of the tool's helper table exists";

/// Why the tool cannot change the table, if it cannot. `replicated`: replicas have keyrings.
pub(crate) fn unsupported_reason(
    session: &mut Session<'_>,
    tool: Tool,
    table: &Table,
    connect: &Options,
    replicated: bool,
) -> Result<Option<String>, Error> {
    if let Some(why) = server_unsupported_reason(session, tool, replicated)? {
        return Ok(Some(why));
    }
    if let Some(why) = account_unsafe(tool, &session.target().endpoint, connect) {
        return Ok(Some(why.to_owned()));
    }
    if [&table.schema, &table.name].into_iter().any(|name| !is_quoted_well(tool, name)) {
        return Ok(Some(
            "it does not escape a character in the name of the table or schema (a quote or backslash)".to_owned(),
        ));
    }
    let (schema, name) = (quote::text_in_any_mode(&table.schema), quote::text_in_any_mode(&table.name));
    if table.name.chars().count() > MAX_NAME_CHARS {
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
                tool.made_beside(&table.name)
                    .iter()
                    .map(|made| quote::text_in_any_mode(made))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        ),
    ];
    let current = is_noted(session, table);
    for (why, sql) in rules.into_iter().filter(|(why, _)| !current || *why != BESIDE) {
        if session.value(&sql)?.is_some_and(|count| count != "0") {
            return Ok(Some(why.to_owned()));
        }
    }
    Ok(None)
}

/// Why the tool would disclose the account to an unauthenticated server, if it would.
fn account_unsafe(tool: Tool, endpoint: &Endpoint, connect: &Options) -> Option<&'static str> {
    let tls = &connect.tls;
    let by_authority = matches!(tls.mode_for(endpoint), TlsMode::VerifyCa | TlsMode::VerifyIdentity)
        && tls.ca_file.is_some()
        && tls.ca_path.is_none()
        && tls.fingerprints.is_empty();
    match tool {
        // The server was authenticated by its socket; the tool then uses its port on this host.
        _ if endpoint.is_socket() && tls.mode.is_none_or(|mode| mode == TlsMode::Off) => None,
        Tool::GhOst if endpoint.is_socket() || by_authority => None,
        Tool::GhOst if tls.verifies(endpoint) => Some("it can check a server's certificate only with --tls-ca"),
        Tool::PtOsc if endpoint.is_socket() || tls.has_authority() || !tls.fingerprints.is_empty() => {
            Some("it cannot check the server's certificate as this connection does")
        }
        _ if connect.password_to_unverified || tls.mode_for(endpoint) == TlsMode::Off => None,
        _ => Some(
            "it would send the password to any server with TLS; connect through the server's socket, or with --tls-ca \
                for gh-ost",
        ),
    }
}

/// Whether the tool quotes this name correctly.
///
/// gh-ost strips quotes around a name, does not escape quotes within it, and also puts the table's name between
/// apostrophes (`EscapeName` and `validateTable`). In pt-online-schema-change a backslash before a comma is an escape.
fn is_quoted_well(tool: Tool, name: &str) -> bool {
    match tool {
        Tool::GhOst => !name.contains(['`', '"', '\'', '\\']),
        Tool::PtOsc => !name.contains('\\'),
    }
}

fn server_unsupported_reason(session: &mut Session<'_>, tool: Tool, replicated: bool) -> Result<Option<String>, Error> {
    // gh-ost would change the table on the source; the changes of pt-online-schema-change on a replica would be only in
    // the replica's own binary log.
    if !session.query(session.replica_status())?.rows.is_empty() {
        return Ok(Some(
            "this server is a replica: the tool would change its source, or write transactions of its own".to_owned(),
        ));
    }
    if tool == Tool::GhOst
        && session.value("SELECT @@log_bin = 1 AND @@binlog_format = 'ROW' AND @@binlog_row_image = 'FULL'")?.as_deref()
            != Some("1")
    {
        return Ok(Some("it needs a binary log with complete rows".to_owned()));
    }
    let dumps = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'";
    if !replicated && session.value(dumps)?.is_some_and(|count| count != "0") {
        let why = "its statements are replicated, and replicas without a keyring stop; --replicated confirms that \
            they have one";
        return Ok(Some(why.to_owned()));
    }
    Ok(None)
}

/// SQL that yields 1 if there is no unique key whose columns are all NOT NULL.
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

#[cfg(test)]
mod tests {
    use pki::Fingerprint;
    use server::TlsOptions;

    use super::*;

    #[test]
    fn names_that_a_tool_does_not_escape_are_left_to_the_server() {
        for name in ["a`b", "\"t\"", "'t'", "a\\", "a` ENGINE=MyISAM -- "] {
            assert!(!is_quoted_well(Tool::GhOst, name), "{name}");
        }
        for name in ["a b", "a,b", "a-b;", "ä%_"] {
            assert!(is_quoted_well(Tool::GhOst, name) && is_quoted_well(Tool::PtOsc, name), "{name}");
        }
        assert!(!is_quoted_well(Tool::PtOsc, "a\\"));
    }

    #[test]
    fn a_tool_gets_the_account_only_where_the_server_is_known() {
        let (tcp, socket) = (Endpoint::tcp("db", 3306), Endpoint::Socket("/s".into()));
        let with = |tls| Options { tls, ..Options::default() };
        let of_ca = || with(TlsOptions { ca_file: Some("/ca.pem".into()), ..TlsOptions::default() });
        let pinned = with(TlsOptions { fingerprints: vec![Fingerprint::from_der(b"one")], ..TlsOptions::default() });
        let required = with(TlsOptions { mode: Some(TlsMode::Required), ..of_ca().tls });
        let safe = |tool, endpoint, options: &Options| account_unsafe(tool, endpoint, options).is_none();
        for tool in [Tool::GhOst, Tool::PtOsc] {
            assert!(safe(tool, &socket, &Options::default()));
            assert!(!safe(tool, &tcp, &Options::default()));
            assert!(!safe(tool, &tcp, &pinned));
            assert!(!safe(tool, &tcp, &required));
            let risky = Options { password_to_unverified: true, ..Options::default() };
            assert!(safe(tool, &tcp, &risky));
        }
        assert!(safe(Tool::GhOst, &tcp, &of_ca()));
        assert!(!safe(Tool::PtOsc, &tcp, &of_ca()));
    }
}
