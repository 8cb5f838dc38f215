//! Binary logs that were begun before they were encrypted: a new one is begun, and old ones are removed.

use server::Flavor;

use super::Action;
use crate::{Error, Outcome, Session, Step, quote};

/// Begins the next binary log. Local: a replica has its own.
const BEGIN: &str = "FLUSH LOCAL BINARY LOGS";

/// The binary logs that the server lists, from the oldest on.
struct BinaryLogs(Vec<Log>);

struct Log {
    name: String,
    encrypted: bool,
}

impl BinaryLogs {
    fn of(session: &mut Session<'_>) -> Result<Self, Error> {
        let rows = match session.ask("SHOW BINARY LOGS") {
            Ok(rows) => rows,
            // ER_NO_BINARY_LOGGING
            Err(Error::Server(server::Error::Server { code: 1381, .. })) => return Ok(Self(Vec::new())),
            Err(error) => return Err(error),
        };
        let mut logs = Vec::new();
        for row in 0..rows.rows.len() {
            let name = rows.value(row, "Log_name").unwrap_or_default().to_owned();
            let encrypted = match session.identity().version.flavor {
                Flavor::MariaDb => begins_encryption(session, &name)?,
                _ => rows.value(row, "Encrypted").is_some_and(|value| value == "Yes"),
            };
            logs.push(Log { name, encrypted });
        }
        Ok(Self(logs))
    }

    fn any_clear(&self) -> bool {
        self.0.iter().any(|log| !log.encrypted)
    }

    fn newest_is_clear(&self) -> bool {
        self.0.last().is_some_and(|log| !log.encrypted)
    }

    /// The one behind the newest that is clear.
    fn first_kept(&self) -> Option<&str> {
        let clear = self.0.iter().rposition(|log| !log.encrypted)?;
        self.0.get(clear.checked_add(1)?).map(|log| log.name.as_str())
    }
}

/// MariaDB lists no column for it: an encrypted log has an event that says so behind its first.
///
/// Source: seen on MariaDB 10.11, 11.4 and 11.8.
fn begins_encryption(session: &mut Session<'_>, log: &str) -> Result<bool, Error> {
    let events = session.ask(&format!("SHOW BINLOG EVENTS IN {} LIMIT 3", quote::text(log)))?;
    let is_start = |row| events.value(row, "Event_type") == Some("Start_encryption");
    Ok((0..events.rows.len()).any(is_start))
}

/// The step that begins a new log where logs are to be encrypted and the newest is not: a server that was killed while this was
/// set can go on with a clear one.
pub(super) fn renewal(session: &mut Session<'_>) -> Result<Option<Step<Action>>, Error> {
    let what = "begin a new binary log: the newest is in clear text, though they are to be encrypted";
    let step = || Step::quiet("new binary log", what, Action::Statements(vec![BEGIN.to_owned()]));
    Ok(BinaryLogs::of(session)?.newest_is_clear().then(step))
}

/// The step that removes clear logs, if there are any.
pub(super) fn purge_step(session: &mut Session<'_>) -> Result<Option<Step<Action>>, Error> {
    let what = "remove the binary logs that were written in clear text";
    let step = || Step::quiet("purge binary logs", what, Action::PurgeBinaryLogs);
    Ok(BinaryLogs::of(session)?.any_clear().then(step))
}

/// Removes binary logs up to the newest that is clear. The server keeps those that a connected replica still reads; of
/// replicas that are not connected it knows nothing.
pub(super) fn purge(session: &mut Session<'_>, ran: &mut Vec<String>) -> Result<Outcome, Error> {
    let logs = BinaryLogs::of(session)?;
    if !logs.any_clear() {
        return Ok(Outcome::Skipped { reason: "no binary log is in clear text".to_owned() });
    }
    let Some(first) = logs.first_kept() else {
        return Ok(Outcome::Failed { reason: "the newest binary log is not encrypted yet".to_owned() });
    };
    let sql = format!("PURGE BINARY LOGS TO {}", quote::text(first));
    ran.push(sql.clone());
    session.change(&sql)?;
    Ok(if BinaryLogs::of(session)?.any_clear() {
        Outcome::Failed { reason: "a replica still reads binary logs in clear text".to_owned() }
    } else {
        Outcome::Done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(encrypted: &[bool]) -> BinaryLogs {
        let log = |(number, encrypted): (usize, &bool)| Log { name: format!("b.{number}"), encrypted: *encrypted };
        BinaryLogs(encrypted.iter().enumerate().map(log).collect())
    }

    #[test]
    fn every_clear_log_is_removed_and_no_log_that_is_written() {
        assert_eq!(logs(&[false, false, true, true]).first_kept(), Some("b.2"));
        assert_eq!(logs(&[true, false, true]).first_kept(), Some("b.2"));
        assert_eq!(logs(&[true, true]).first_kept(), None);
        assert_eq!(logs(&[false, true, false]).first_kept(), None);
        assert!(logs(&[true, false]).newest_is_clear() && !logs(&[]).newest_is_clear());
    }
}
