//! Executes every logical query once, over one connection, and keeps each result unchanged: rows, or the error and the
//! grant that would avoid it.

use std::collections::BTreeMap;

use server::dialect::{self, Query};
use server::secret_name::{LEFT_OUT, has_passwords, is_secret, without_passwords};
use server::{Connection, Endpoint, Rows, error_code};

use super::request::{LiveOptions, report};
use crate::Error;
use crate::facts::sql::{Answer, Identity, QueryOutcome, Session, SqlFacts};

/// Results of one connection.
pub(super) struct ServerAnswers {
    pub(super) sql: SqlFacts,
    /// With `@@socket` and `@@pid_file`, which help to find the server's process.
    pub(super) identity: server::Identity,
    /// Process id of the peer of a Unix socket.
    pub(super) peer_pid: Option<i32>,
}

/// Connects, queries, and closes. A connection that is lost is opened once more.
///
/// # Errors
/// [`Error::Server`] if the connection fails, or the server shuts down; a refused statement is a result.
pub(super) fn query_server(options: &LiveOptions<'_>) -> Result<ServerAnswers, Error> {
    let open = || Connection::open(&options.target, &options.connect);
    let mut connection = open()?;
    let identity = server::describe(&mut connection)?;
    let mut answers = BTreeMap::new();
    for query in dialect::queries(&identity.version) {
        report(options.progress, "asking the server", answers.len(), 0);
        // A query that took too long has left it in an unknown state.
        if connection.is_broken() {
            connection = open()?;
        }
        let answered = answer(&mut connection, &query).or_else(|error| match error.is_transient() {
            true => {
                connection = open()?;
                answer(&mut connection, &query)
            }
            false => Err(error),
        });
        if let Some(answer) = answered? {
            answers.insert(query.name.to_owned(), answer);
        }
    }
    let session = session(&connection, &answers);
    let peer_pid = connection.peer_pid().and_then(|pid| i32::try_from(pid).ok());
    connection.close();
    Ok(ServerAnswers { sql: SqlFacts { identity: kept(&identity), session, answers }, identity, peer_pid })
}

/// The result of one query; `None` if this build lacks the feature of an optional query.
///
/// # Errors
/// The server is away, or shuts down: what it has not said is no evidence.
fn answer(connection: &mut Connection, query: &Query) -> Result<Option<Answer>, server::Error> {
    let outcome = match query.run(connection) {
        Ok(rows) => kept_rows(query.name, rows),
        Err(error) if is_away(&error) => return Err(error),
        Err(error) => {
            let code = code_of(&error);
            if code == error_code::NO_BINARY_LOGGING {
                return Ok(Some(Answer {
                    sql: query.sql.clone().into_owned(),
                    needs: query.needs.to_owned(),
                    outcome: no_rows(query),
                }));
            }
            if query.optional && !error.is_privilege() && error_code::ABSENT.contains(&code) {
                return Ok(None);
            }
            QueryOutcome::Failed { code, message: error.to_string() }
        }
    };
    Ok(Some(Answer { sql: query.sql.clone().into_owned(), needs: query.needs.to_owned(), outcome }))
}

/// Whether the connection was lost or the server shuts down. A statement that only takes too long is not answered, but
/// others may be.
const fn is_away(error: &server::Error) -> bool {
    match error {
        server::Error::Timeout { .. } => false,
        server::Error::Server { code, .. } => *code == error_code::SERVER_SHUTDOWN,
        error => error.is_transient(),
    }
}

fn no_rows(query: &Query) -> QueryOutcome {
    QueryOutcome::Rows {
        columns: query.column_names().iter().map(|name| (*name).to_owned()).collect(),
        rows: Vec::new(),
    }
}

fn code_of(error: &server::Error) -> u16 {
    match error {
        server::Error::Server { code, .. } | server::Error::AccessDenied { code, .. } => *code,
        _ => 0,
    }
}

/// Rows for the facts, without values of secret variables.
fn kept_rows(name: &str, rows: Rows) -> QueryOutcome {
    let Rows { columns, mut rows } = rows;
    if ["variables", "persisted_variables", "variable_sources"].contains(&name) {
        for row in &mut rows {
            if let [Some(key), Some(value), ..] = row.as_mut_slice() {
                if is_secret(key, value) {
                    LEFT_OUT.clone_into(value);
                } else if has_passwords(value) {
                    // Only the passwords are removed: the other settings are evidence.
                    *value = without_passwords(value);
                }
            }
        }
    }
    let columns = columns.into_iter().map(|column| column.to_ascii_lowercase()).collect();
    QueryOutcome::Rows { columns, rows }
}

fn kept(identity: &server::Identity) -> Identity {
    Identity {
        version: identity.version.clone(),
        version_comment: identity.version_comment.clone(),
        hostname: identity.hostname.clone(),
        server_uuid: identity.server_uuid.clone(),
        datadir: identity.datadir.to_string_lossy().into_owned(),
        port: identity.port,
    }
}

fn session(connection: &Connection, answers: &BTreeMap<String, Answer>) -> Session {
    let account = answers.get("session").and_then(|answer| match &answer.outcome {
        QueryOutcome::Rows { columns, rows } => {
            let at = columns.iter().position(|column| column == "current_user")?;
            rows.first()?.get(at)?.clone()
        }
        QueryOutcome::Failed { .. } => None,
    });
    let target = connection.target();
    let endpoint = match &target.endpoint {
        Endpoint::Socket(path) => path.to_string_lossy().into_owned(),
        tcp @ Endpoint::Tcp { .. } => tcp.to_string(),
    };
    Session {
        account: account.unwrap_or_else(|| target.user.clone()),
        endpoint,
        tls: connection.tls().map(|tls| format!("{} {}", tls.version.name(), tls.suite)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(name: &str, rows: &[(&str, Option<&str>)]) -> Vec<Option<String>> {
        let rows = rows.iter().map(|(k, v)| vec![Some((*k).to_owned()), v.map(str::to_owned)]).collect();
        match kept_rows(name, Rows { columns: vec!["NAME".to_owned(), "VALUE".to_owned()], rows }) {
            QueryOutcome::Rows { rows, .. } => rows.into_iter().filter_map(|row| row.into_iter().nth(1)).collect(),
            QueryOutcome::Failed { .. } => Vec::new(),
        }
    }

    #[test]
    fn secrets_in_variables_are_left_out() {
        let kept = values(
            "variables",
            &[
                ("file_key_management_filekey", Some("geheim")),
                ("file_key_management_filekey", Some("FILE:/x")),
                ("file_key_management_filekey", Some("")),
                ("secure_file_priv", None),
                ("password_history", Some("0")),
                ("wsrep_provider_options", Some("gcs.x = 1; socket.ssl_password = geheim")),
            ],
        );
        let kept: Vec<Option<&str>> = kept.iter().map(Option::as_deref).collect();
        let options = "gcs.x = 1; socket.ssl_password = (left out)";
        assert_eq!(kept, [Some(LEFT_OUT), Some("FILE:/x"), Some(""), None, Some("0"), Some(options)]);
    }

    #[test]
    fn other_answers_stay_as_they_are() {
        assert_eq!(values("plugins", &[("password_x", Some("ACTIVE"))]), [Some("ACTIVE".to_owned())]);
    }
}
