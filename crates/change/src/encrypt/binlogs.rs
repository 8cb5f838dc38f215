//! Binary logs in clear text: the run starts a new log and purges the old ones.

use server::{
    Flavor,
    dialect::statement::{FLUSH_BINARY_LOGS, purge_binary_logs_to},
    error_code::NO_BINARY_LOGGING,
    quote, switch,
};

use super::Action;
use crate::{Error, Outcome, Session, Step};

/// The binary logs that the server lists, the oldest first.
struct BinaryLogs(Vec<Log>);

struct Log {
    name: String,
    encrypted: bool,
}

impl BinaryLogs {
    fn list(session: &mut Session<'_>) -> Result<Self, Error> {
        let rows = match session.logical("binary_logs") {
            Ok(rows) => rows.unwrap_or_default(),
            Err(Error::Server(server::Error::Server { code: NO_BINARY_LOGGING, .. })) => return Ok(Self(Vec::new())),
            Err(error) => return Err(error),
        };
        let mut logs = Vec::new();
        for row in 0..rows.rows.len() {
            let name = rows.value(row, "name").unwrap_or_default().to_owned();
            let encrypted = match session.identity().version.flavor {
                Flavor::MariaDb => starts_encrypted(session, &name)?,
                _ => rows.value(row, "encrypted").is_some_and(switch::is_on),
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

    /// The log after the newest one in clear text.
    fn first_kept(&self) -> Option<&str> {
        let clear = self.0.iter().rposition(|log| !log.encrypted)?;
        self.0.get(clear.checked_add(1)?).map(|log| log.name.as_str())
    }
}

/// Whether a log of MariaDB is encrypted. No column shows it, but the second event of such a log is `Start_encryption`.
///
/// Source: seen on MariaDB 10.11, 11.4 and 11.8.
fn starts_encrypted(session: &mut Session<'_>, log: &str) -> Result<bool, Error> {
    let events = session.query(&format!("SHOW BINLOG EVENTS IN {} LIMIT 3", quote::text_in_any_mode(log)))?;
    let is_start = |row| events.value(row, "Event_type") == Some("Start_encryption");
    Ok((0..events.rows.len()).any(is_start))
}

/// The step that rotates the log if encryption is on and the newest log is in clear text. A server that was killed
/// while the setting changed can continue a log in clear text.
pub(super) fn renewal(session: &mut Session<'_>) -> Result<Option<Step<Action>>, Error> {
    let what = "start a new binary log: the newest is in clear text although encryption is on";
    let step = || Step::quiet("new binary log", what, Action::Statements(vec![FLUSH_BINARY_LOGS.to_owned()]));
    Ok(BinaryLogs::list(session)?.newest_is_clear().then(step))
}

/// The step that purges logs in clear text, if there are any.
pub(super) fn purge_step(session: &mut Session<'_>) -> Result<Option<Step<Action>>, Error> {
    if !BinaryLogs::list(session)?.any_clear() {
        return Ok(None);
    }
    let mut what = "remove the binary logs that were written in clear text".to_owned();
    // Other members of the group recover from these binary logs.
    if session.has_active_plugin("group_replication")? {
        what.push_str("; members that join the group later get the data only by the clone plug-in");
    }
    Ok(Some(Step::quiet("purge binary logs", &what, Action::PurgeBinaryLogs)))
}

/// Purges binary logs up to the newest one in clear text. The server keeps logs that a connected replica still reads;
/// it does not know about replicas that are not connected.
pub(super) fn purge(session: &mut Session<'_>, executed: &mut Vec<String>) -> Result<Outcome, Error> {
    let logs = BinaryLogs::list(session)?;
    if !logs.any_clear() {
        return Ok(Outcome::Skipped { reason: "no binary log is in clear text".to_owned() });
    }
    let Some(first) = logs.first_kept() else {
        return Ok(Outcome::Failed { reason: "the newest binary log is not encrypted yet".to_owned() });
    };
    let sql = purge_binary_logs_to(first);
    executed.push(sql.clone());
    session.change(&sql)?;
    Ok(if BinaryLogs::list(session)?.any_clear() {
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
