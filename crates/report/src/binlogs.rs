//! Human-readable reports on the archive of binary logs.

use std::io::Write;

use backup::binlogs::{Archived, ArchivesReport, Note, Replayed, ResolvedTarget, SpoolStatus, Transaction};
use backup::restore::ReplayResult;
use files::quantity::size;
use jiff::Timestamp;

use crate::Error;
use crate::labels::second;
use crate::message::Message;
use crate::metrics::{head, sample};
use crate::text::{count, visible};

/// Messages about events while logs are archived; `None` for an event that only the status line shows.
#[must_use]
pub fn binlog_note(note: &Note<'_>) -> Option<Message> {
    match note {
        Note::Connected(from) => {
            Some(Message::info(format!("the server sends its log from {}:{}", from.file, from.offset)))
        }
        Note::Stored(_) => None,
        Note::TookOver(predecessor) => Some(Message::info(format!(
            "the server took over from {}, whose archive this one continues",
            visible(&predecessor.server)
        ))),
        Note::Waiting(missing, limit) => Some(Message::info(format!(
            "the server does not have all archived transactions yet, waiting at most {} s for {}",
            limit.as_secs(),
            visible(missing)
        ))),
        Note::Spooled(_) => None,
        Note::Outage(spooled) => (spooled.parts > 0).then(|| Message::info(spool_text(spooled))),
        Note::SpoolFull(spooled, limit) => Some(Message::warning(format!(
            "there is no space for more ({} of {} are used): the server's log is not read until the repository can be \
             reached, and changes are lost if the server removes it first",
            size(spooled.bytes),
            size(*limit)
        ))),
        Note::StateFull(error) => Some(Message::warning(format!(
            "{}: nothing is archived until there is space again, and changes are lost if the server removes its logs first",
            visible(&error.to_string())
        ))),
        Note::Behind(bytes, None) => {
            Some(Message::info(format!("the archive is {} of binary logs behind the server", size(*bytes))))
        }
        Note::Behind(bytes, Some(oldest)) => Some(Message::warning(format!(
            "the archive is {} of binary logs behind the server, whose oldest log, {}, is not archived yet: changes are lost if the \
             server removes it first",
            size(*bytes),
            visible(oldest)
        ))),
        Note::Lost(gap) => Some(Message::warning(format!(
            "binary logs are lost from {}:{} on: {}; make a new backup, from which changes can be replayed again",
            gap.from.file, gap.from.offset, gap.reason
        ))),
        Note::SetAside(parts, directory) => Some(Message::warning(format!(
            "{} of binary logs that waited on this host may have events that are lost on the server: they are kept in \
             {} with the ending .unlisted, for `age -d` and `zstd -d`",
            count(*parts, "part"),
            visible(&directory.to_string_lossy())
        ))),
        Note::FormerMissing(error) => Some(Message::warning(format!(
            "of a server that was replaced: {}; the current one is archived meanwhile",
            visible(&error.to_string())
        ))),
        Note::Retry(error, pause) => {
            Some(Message::warning(format!("{}; trying again in {} s", visible(&error.to_string()), pause.as_secs())))
        }
    }
}

/// The status line while logs are archived.
#[must_use]
pub fn binlog_status(note: &Note<'_>) -> Option<String> {
    match note {
        Note::Stored(segment) => {
            let newest = i64::from(segment.last);
            let behind = Timestamp::now().as_second().saturating_sub(newest).max(0);
            let behind = if newest > 0 { format!(", {behind} s behind the server") } else { String::new() };
            Some(format!("archived up to {}:{}{behind}", visible(&segment.file), segment.end))
        }
        Note::Spooled(spooled) if spooled.parts > 0 => Some(spool_text(spooled)),
        _ => None,
    }
}

/// How many logs wait on this host because the repository cannot be reached, and since when.
pub(crate) fn spool_text(spooled: &SpoolStatus) -> String {
    let since = spooled.since.map_or_else(String::new, |since| format!(", since {}", second(since)));
    let (server, parts, bytes) = (visible(&spooled.server), count(spooled.parts, "part"), size(spooled.bytes));
    let unlisted = if spooled.unlisted > 0 {
        let further = count(spooled.unlisted, "further part");
        format!(
            "; the list of {further} is missing or damaged: `sealant backup binlogs` reads the server's logs again, or \
             says what is missing"
        )
    } else {
        String::new()
    };
    format!("logs of {server} wait on this host until the repository can be reached: {parts}, {bytes}{since}{unlisted}")
}

/// Warning that the logs that wait on this host cannot be listed.
#[must_use]
pub fn spool_unread_message(error: &backup::Error) -> Message {
    Message::warning(format!("what waits on this host is not shown: {error}"))
}

/// A metric of the logs that wait on a host: name, help, and its value for a server; `None` if the server has none.
type SpoolMetric = (&'static str, &'static str, fn(&SpoolStatus) -> Option<f64>);

const SPOOL_METRICS: [SpoolMetric; 3] = [
    (
        "sealant_backup_binlog_spooled_bytes",
        "Binary logs that wait on this host because the repository cannot be reached.",
        |spooled| Some(spooled.bytes as f64),
    ),
    (
        "sealant_backup_binlog_spooled_since_timestamp_seconds",
        "When the oldest of the binary logs that wait on this host was read, Unix time.",
        |spooled| Some(spooled.since?.as_second() as f64),
    ),
    (
        "sealant_backup_binlogs_lost_timestamp_seconds",
        "When binary logs were last found to be lost before they were archived, Unix time.",
        |spooled| Some(spooled.lost?.as_second() as f64),
    ),
];

/// Writes the amount of logs that wait on this host for the repository, and when logs were lost, in Prometheus' text
/// format. `servers`: one status for each.
///
/// # Errors
/// [`Error::Write`].
pub fn write_spool_metrics<'s>(
    host: &str,
    servers: impl Iterator<Item = &'s SpoolStatus> + Clone,
    out: &mut dyn Write,
) -> Result<(), Error> {
    for (name, help, value) in SPOOL_METRICS {
        let mut samples = servers.clone().filter_map(|server| Some((server, value(server)?))).peekable();
        if samples.peek().is_some() {
            head(out, name, help)?;
        }
        for (server, value) in samples {
            sample(out, name, &[("host", host), ("server", &server.server)], value)?;
        }
    }
    Ok(())
}

/// Messages about the logs that a run archived.
#[must_use]
pub fn binlog_messages(host: &str, archived: &Archived) -> Vec<Message> {
    let gtid = if archived.gtid.is_empty() { String::new() } else { format!(", GTIDs {}", visible(&archived.gtid)) };
    let archived_up_to = Message::info(format!(
        "binary logs of {host} are archived up to {}:{}: {} in {}, {} stored{gtid}",
        visible(&archived.end.file),
        archived.end.offset,
        size(archived.event_bytes),
        count(archived.segments, "part"),
        size(archived.stored_bytes)
    ));
    let receipt = archived.receipt.map(|receipt| Message::info(format!("newest receipt {receipt}")));
    [archived_up_to].into_iter().chain(receipt).collect()
}

/// Writes the archived logs, and the requested transactions.
///
/// # Errors
/// Those of `out`.
pub fn write_binlog_table(report: &ArchivesReport, out: &mut dyn Write) -> Result<(), Error> {
    for archive in &report.archives {
        let position = |position: &Option<innodb::binlog::LogPosition>| {
            position.as_ref().map_or_else(|| "-".to_owned(), |at| at.to_string())
        };
        let time = |time: Option<Timestamp>| time.map_or_else(|| "-".to_owned(), |time| time.to_string());
        writeln!(out, "server    {} ({})", visible(&archive.server), visible(&archive.version))?;
        if let Some(before) = &archive.predecessor {
            writeln!(out, "continues {}", visible(before))?;
        }
        writeln!(out, "from      {}  {}", position(&archive.begin), time(archive.first))?;
        writeln!(out, "to        {}  {}", position(&archive.end), time(archive.last))?;
        if !archive.gtid.is_empty() {
            writeln!(out, "GTIDs     {}", visible(&archive.gtid))?;
        }
        writeln!(out, "stored    {} in {}", size(archive.stored_bytes), count(archive.segments, "part"))?;
        for finding in &archive.findings {
            writeln!(out, "missing   {}", visible(finding))?;
        }
    }
    if !report.transactions.is_empty() {
        writeln!(out, "{:<30}  {:<28}  {:<44}  changes", "committed", "position", "GTID")?;
        for transaction in &report.transactions {
            let committed = transaction.committed.map_or_else(|| "-".to_owned(), |time| time.to_string());
            let position = format!("{}:{}", visible(&transaction.file), transaction.start);
            let (gtid, changes) = (visible(&transaction.gtid), changes(transaction));
            writeln!(out, "{committed:<30}  {position:<28}  {gtid:<44}  {}", visible(&changes))?;
        }
    }
    Ok(())
}

fn changes(transaction: &Transaction) -> String {
    let change = |(table, what): (&String, &std::collections::BTreeSet<String>)| {
        let what = what.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        if table.is_empty() { what } else { format!("{what} {table}") }
    };
    transaction.changes.iter().map(change).collect::<Vec<_>>().join("; ")
}

/// Messages about the last transaction to replay, and the first one to leave out.
#[must_use]
pub fn reach_messages(reach: &ResolvedTarget) -> Vec<Message> {
    let last = reach.last.as_ref().map_or_else(|| "nothing".to_owned(), described);
    let next = reach.next.as_ref().map_or_else(|| "nothing, it is the end of the archive".to_owned(), described);
    vec![
        Message::info(format!("{} transactions follow the backup; the last one in: {last}", reach.transactions)),
        Message::info(format!("the first one left out: {next}")),
    ]
}

fn described(transaction: &Transaction) -> String {
    let gtid = if transaction.gtid.is_empty() { String::new() } else { format!("{} ", transaction.gtid) };
    let committed = transaction.committed.map_or_else(String::new, |time| format!("{time} "));
    let text = format!("{gtid}{committed}{}:{} {}", transaction.file, transaction.start, changes(transaction));
    visible(&text).into_owned()
}

/// Warnings about scheduled events that a replay disabled or did not define.
fn event_messages(replayed: &Replayed) -> Vec<Message> {
    let enable = replayed.disabled_events.iter().map(|event| format!("ALTER EVENT {event} ENABLE"));
    let enable: Vec<String> = enable.collect();
    let mut messages = Vec::new();
    if !enable.is_empty() {
        messages.push(Message::warning(format!(
            "events that were defined or altered are disabled, as on a replica; where they ran before: {}",
            visible(&enable.join("; "))
        )));
    }
    if !replayed.skipped_events.is_empty() {
        let events: Vec<&str> = replayed.skipped_events.iter().map(String::as_str).collect();
        messages.push(Message::warning(format!(
            "definitions of events are not replayed; create, alter or drop these again: {}",
            visible(&events.join(", "))
        )));
    }
    messages
}

/// Messages about a complete replay.
#[must_use]
pub(crate) fn replay_messages(replay: &ReplayResult) -> Vec<Message> {
    let mut messages = reach_messages(&replay.reach);
    messages.push(Message::info(format!(
        "{} replayed {} of binary logs up to {}:{}",
        replay.replayed.server,
        size(replay.replayed.bytes),
        visible(&replay.reach.end.file),
        replay.reach.end.offset
    )));
    if replay.replayed.rotations > 0 {
        messages.push(Message::hint(
            "the master key was rotated meanwhile, which is not replayed: rotate it on the restored server with `sealant rotate run`",
        ));
    }
    messages.extend(event_messages(&replay.replayed));
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_do_not_run_are_named() {
        let names = |name: &str| std::iter::once(name.to_owned()).collect();
        let replayed = |disabled, skipped| Replayed {
            server: String::new(),
            bytes: 0,
            gtid: String::new(),
            rotations: 0,
            disabled_events: disabled,
            skipped_events: skipped,
        };
        let text = |replayed| format!("{:?}", event_messages(&replayed));
        assert!(text(replayed(names("`shop`.`nightly`"), names("x"))).contains("ALTER EVENT `shop`.`nightly` ENABLE"));
        assert!(text(replayed(Default::default(), names("shop.nightly"))).contains("again: shop.nightly"));
        assert!(event_messages(&replayed(Default::default(), Default::default())).is_empty());
    }
}
