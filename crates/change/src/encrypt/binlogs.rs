//! Binary logs in clear text, and logs that prevent MySQL from starting: the run starts a new log and purges the old
//! ones.

use innodb::binlog::prevents_start_as_second_event;
use server::{
    Capability, Flavor, Rows,
    dialect::statement::{FLUSH_BINARY_LOGS, purge_binary_logs_to},
    error_code::NO_BINARY_LOGGING,
    quote, switch,
};

use super::EncryptAction;
use crate::{Error, Outcome, Session, Step};

/// Largest size of the newest log for which no new log is started: a starting server reads so few bytes in a moment.
const SHORT_BYTES: u64 = 1 << 24;

/// The binary logs that the server lists, the oldest first.
struct BinaryLogs(Vec<Log>);

struct Log {
    name: String,
    encrypted: bool,
    prevents_start: bool,
}

impl Log {
    fn is_unwanted(&self) -> bool {
        !self.encrypted || self.prevents_start
    }
}

impl BinaryLogs {
    /// The server's list of binary logs; `None` if it writes none.
    fn rows(session: &mut Session<'_>) -> Result<Option<Rows>, Error> {
        match session.logical("binary_logs") {
            Err(Error::Server(server::Error::Server { code: NO_BINARY_LOGGING, .. })) => Ok(None),
            rows => rows,
        }
    }

    fn list(session: &mut Session<'_>) -> Result<Self, Error> {
        let rows = Self::rows(session)?.unwrap_or_default();
        let mut logs = Vec::new();
        for row in 0..rows.rows.len() {
            let name = rows.value(row, "name").unwrap_or_default().to_owned();
            let encrypted = match session.identity().version.flavor {
                Flavor::MariaDb => starts_encrypted(session, &name)?,
                Flavor::MySql | Flavor::Percona => rows.value(row, "encrypted").is_some_and(switch::is_on),
            };
            let prevents_start = prevents_start(session, &name)?;
            logs.push(Log { name, encrypted, prevents_start });
        }
        Ok(Self(logs))
    }

    fn any_unwanted(&self) -> bool {
        self.0.iter().any(Log::is_unwanted)
    }

    fn newest_if_unwanted(&self) -> Option<&Log> {
        self.0.last().filter(|log| log.is_unwanted())
    }

    /// Names of the logs that prevent a start, separated by commas; `None` if there are none.
    fn preventing_start(&self) -> Option<String> {
        let names: Vec<&str> = self.0.iter().filter(|log| log.prevents_start).map(|log| log.name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// The log after the newest unwanted one: the first log that a purge keeps.
    fn first_kept(&self) -> Option<&str> {
        let last = self.0.iter().rposition(Log::is_unwanted)?;
        self.0.get(last.checked_add(1)?).map(|log| log.name.as_str())
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

/// Whether a log prevents the next start of the server, judged by its second event. False if the account may not read
/// the log.
fn prevents_start(session: &mut Session<'_>, log: &str) -> Result<bool, Error> {
    if !session.can(Capability::EncryptGeneral) {
        return Ok(false);
    }
    match session.query(&format!("SHOW BINLOG EVENTS IN {} LIMIT 2", quote::text_in_any_mode(log))) {
        Ok(events) => Ok(events.value(1, "Event_type").is_some_and(prevents_start_as_second_event)),
        Err(Error::Server(server::Error::Server { .. })) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Starts a new binary log if the newest is long.
///
/// After a crash, the starting server reads the newest log before it writes the head of the next one. The longer this
/// takes, the likelier it first completes an interrupted `ALTER TABLESPACE` and logs the statement in the wrong place,
/// which prevents the next start: see [`prevents_start_as_second_event`]. If the account lacks the privileges for a new
/// log, the run continues without one.
pub(super) fn rotate_long(session: &mut Session<'_>, executed: &mut Vec<String>) -> Result<(), Error> {
    let newest = match BinaryLogs::rows(session) {
        Err(Error::Server(server::Error::Server { .. })) => 0,
        logs => newest_bytes(&logs?.unwrap_or_default()),
    };
    if newest <= SHORT_BYTES {
        return Ok(());
    }
    executed.push(FLUSH_BINARY_LOGS.to_owned());
    match session.change(FLUSH_BINARY_LOGS) {
        Err(error @ Error::Statement { .. }) if !error.is_fatal() => Ok(()),
        done => done,
    }
}

fn newest_bytes(logs: &Rows) -> u64 {
    let newest = logs.rows.len().checked_sub(1).and_then(|row| logs.value(row, "size"));
    newest.and_then(|size| size.parse().ok()).unwrap_or(0)
}

/// The steps for unwanted logs, which are in clear text or prevent a start. If the newest log is unwanted and the run
/// `may_rotate`, a new log is started. Then unwanted logs are purged if the run `may_purge`; otherwise those that
/// prevent a start are reported.
///
/// A server that was killed while the setting changed can continue a log in clear text although encryption is on.
pub(super) fn steps(
    session: &mut Session<'_>,
    may_rotate: bool,
    may_purge: bool,
) -> Result<Vec<Step<EncryptAction>>, Error> {
    let logs = match BinaryLogs::list(session) {
        // Without the privilege to list the logs, only the report is missing.
        Err(Error::Server(server::Error::Server { .. })) if !may_rotate && !may_purge => return Ok(Vec::new()),
        logs => logs?,
    };
    let mut steps = Vec::new();
    if may_rotate {
        steps.extend(logs.newest_if_unwanted().map(rotation));
    }
    if may_purge && logs.any_unwanted() {
        let has_group = session.has_active_plugin("group_replication")?;
        steps.push(removal(logs.preventing_start(), has_group));
    } else if !may_purge && logs.preventing_start().is_some() {
        let what = "find binary logs with which the server cannot start again";
        steps.push(Step::quiet("check binary logs", what, EncryptAction::CheckBinaryLogs));
    }
    Ok(steps)
}

fn rotation(newest: &Log) -> Step<EncryptAction> {
    let what = if newest.prevents_start {
        "start a new binary log: the server cannot start again with the newest"
    } else {
        "start a new binary log: the newest is in clear text although encryption is on"
    };
    Step::quiet("new binary log", what, EncryptAction::Statements(vec![FLUSH_BINARY_LOGS.to_owned()]))
}

fn removal(preventing_start: Option<String>, has_group: bool) -> Step<EncryptAction> {
    let mut what = match preventing_start {
        Some(names) => format!("remove the binary logs up to {names}: the server cannot start again with them"),
        None => "remove the binary logs that were written in clear text".to_owned(),
    };
    // Other members of the group recover from these binary logs.
    if has_group {
        what.push_str("; members that join the group later get the data only by the clone plug-in");
    }
    Step::quiet("purge binary logs", &what, EncryptAction::PurgeBinaryLogs)
}

/// Reports the logs that prevent a start of the server.
pub(super) fn check(session: &mut Session<'_>) -> Result<Outcome, Error> {
    Ok(match BinaryLogs::list(session)?.preventing_start() {
        Some(names) => Outcome::Failed {
            reason: format!(
                "{names}: a transaction stands before the Previous_gtids event, as after a crash during an encryption, \
                 so the server may not start again; before you stop it, run this again with --purge-binlogs, once every \
                 replica has read these logs"
            ),
        },
        None => Outcome::Done,
    })
}

/// Purges binary logs up to the newest one in clear text. The server keeps logs that a connected replica still reads;
/// it does not know about replicas that are not connected.
pub(super) fn purge(session: &mut Session<'_>, executed: &mut Vec<String>) -> Result<Outcome, Error> {
    let logs = BinaryLogs::list(session)?;
    if !logs.any_unwanted() {
        return Ok(Outcome::Skipped { reason: "no binary log is in clear text".to_owned() });
    }
    let Some(first) = logs.first_kept() else {
        return Ok(Outcome::Failed { reason: "the newest binary log is not encrypted yet".to_owned() });
    };
    let sql = purge_binary_logs_to(first);
    executed.push(sql.clone());
    session.change(&sql)?;
    Ok(if BinaryLogs::list(session)?.any_unwanted() {
        Outcome::Failed { reason: "a replica still reads binary logs that must be removed".to_owned() }
    } else {
        Outcome::Done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(encrypted: &[bool]) -> BinaryLogs {
        let log = |(number, encrypted): (usize, &bool)| Log {
            name: format!("b.{number}"),
            encrypted: *encrypted,
            prevents_start: false,
        };
        BinaryLogs(encrypted.iter().enumerate().map(log).collect())
    }

    #[test]
    fn every_clear_log_is_removed_and_no_log_that_is_written() {
        assert_eq!(logs(&[false, false, true, true]).first_kept(), Some("b.2"));
        assert_eq!(logs(&[true, false, true]).first_kept(), Some("b.2"));
        assert_eq!(logs(&[true, true]).first_kept(), None);
        assert_eq!(logs(&[false, true, false]).first_kept(), None);
        assert!(logs(&[true, false]).newest_if_unwanted().is_some() && logs(&[]).newest_if_unwanted().is_none());
    }

    #[test]
    fn a_log_that_prevents_a_start_is_removed_though_it_is_encrypted() {
        let mut logs = logs(&[true, true, true]);
        assert_eq!(logs.preventing_start(), None);
        logs.0[1].prevents_start = true;
        assert_eq!(logs.first_kept(), Some("b.2"));
        assert_eq!(logs.preventing_start().as_deref(), Some("b.1"));
    }
}
