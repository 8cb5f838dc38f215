//! Begins the archive of a server that took over from another one, so that it continues the other's archive.
//!
//! Only MySQL's GTIDs are used: each of its logs begins with the set of transactions before it. MariaDB's servers have
//! an archive each.

use std::{path::Path, time::SystemTime};

use ::binlog::{
    Body,
    replica::{Replica, Settings, Start},
};
use archive::binlog::{Gap, Predecessor};
use innodb::binlog::{FIRST_EVENT, LogPosition};
use jiff::Timestamp;
use replication::gtid::mysql::GtidSet;
use snapshot::follow::Account;

use super::{
    source::Source,
    state::{ArchiveEnd, StateFile},
};
use crate::Error;

/// How the archive of a new server begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ArchiveStart {
    /// The archive continues another one, from the beginning of this log.
    Continues(Predecessor, LogPosition),
    /// Transactions are lost between the other archive and this one.
    Lost(Gap),
}

/// The archive of a server that this host has archived before: its name, and where it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PreviousArchive {
    server: String,
    end: LogPosition,
    gtid: GtidSet,
    /// When logs were last lost.
    pub(super) lost: Option<Timestamp>,
}

/// The archive of another server that this host wrote last; `None` if there is none.
pub(super) fn newest(directory: &Path, server: &str) -> Result<Option<PreviousArchive>, Error> {
    let mut newest: Option<(SystemTime, PreviousArchive)> = None;
    for other in StateFile::servers(directory)?.into_iter().filter(|other| other != server) {
        let Some(ArchiveEnd { end, gtid, lost }) = StateFile::read_end(directory, &other)? else { continue };
        let written = StateFile::written(directory, &other)?;
        if !end.file.is_empty() && newest.as_ref().is_none_or(|(time, _)| *time < written) {
            newest =
                Some((written, PreviousArchive { server: other, end, gtid: gtid.parse().unwrap_or_default(), lost }));
        }
    }
    Ok(newest.map(|(_, former)| former))
}

impl PreviousArchive {
    /// The gap between its end and the archive of a server that does not continue it.
    pub(super) fn ends_with(&self, reason: String) -> Gap {
        Gap { from: self.end.clone(), reason, noticed: Some(Timestamp::now()) }
    }

    /// Transactions of the archive that a server has not executed.
    pub(super) fn missing_in(&self, gtids: &Gtids) -> GtidSet {
        self.gtid.without(&gtids.executed)
    }
}

/// GTIDs of a server.
#[derive(Debug, Default)]
pub(super) struct Gtids {
    /// All that it has executed.
    pub(super) executed: GtidSet,
    /// Those that are in none of its logs, because they were removed or never written.
    pub(super) purged: GtidSet,
    /// Whether every transaction has one (`gtid_mode`).
    pub(super) is_on: bool,
}

/// Finds the newest log before which there are only transactions of the former archive.
///
/// `gtids`: GTIDs of the new server; `before`: reads the GTIDs before a log.
pub(super) fn take_over(
    former: &PreviousArchive,
    gtids: &Gtids,
    logs: &[LogPosition],
    before: &mut dyn FnMut(&str) -> Result<GtidSet, Error>,
) -> Result<ArchiveStart, Error> {
    let lost = |reason: String| Ok(ArchiveStart::Lost(former.ends_with(reason)));
    if !gtids.is_on || former.gtid.is_empty() {
        return lost(format!(
            "without GTIDs nothing shows that the new server has the transactions of {}",
            former.server
        ));
    }
    let missing = former.missing_in(gtids);
    if !missing.is_empty() {
        return lost(format!("the new server lacks transactions of {}: {missing}", former.server));
    }
    let unlogged = gtids.purged.without(&former.gtid);
    if !unlogged.is_empty() {
        return lost(format!(
            "transactions after those of {} are in no log of the new server: {unlogged}",
            former.server
        ));
    }
    for log in logs.iter().rev() {
        if before(&log.file)?.is_subset_of(&former.gtid) {
            let predecessor = Predecessor { server: former.server.clone(), gtid: former.gtid.to_string() };
            return Ok(ArchiveStart::Continues(
                predecessor,
                LogPosition { file: log.file.clone(), offset: FIRST_EVENT },
            ));
        }
    }
    lost(format!("the new server has removed the logs with the first transactions after those of {}", former.server))
}

/// Reads the GTIDs before a log from its first events.
pub(super) fn gtids_before(
    source: &Source,
    account: &Account,
    settings: &Settings,
    log: &str,
) -> Result<GtidSet, Error> {
    let start = Start::Position(LogPosition { file: log.to_owned(), offset: FIRST_EVENT });
    let (connection, _) = source.connect_again(account)?;
    let mut replica = Replica::start(connection, &start, settings)?;
    while let Some(event) = replica.next_event()? {
        match event.body {
            Body::PreviousGtids(previous) => return Ok(previous.set),
            Body::Rotate(_) | Body::FormatDescription(_) => {}
            _ => break,
        }
    }
    Err(Error::unreachable(format!("{log} does not say which transactions are before it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn set(numbers: &str) -> GtidSet {
        format!("{A}:{numbers}").parse().unwrap()
    }

    fn log(number: u32) -> LogPosition {
        LogPosition { file: format!("b.{number:06}"), offset: 900 }
    }

    /// A takeover after 1-10, by a server with these transactions before each of its logs.
    fn taken(executed: &str, before: &[&str]) -> ArchiveStart {
        let former = PreviousArchive { server: A.to_owned(), end: log(7), gtid: set("1-10"), lost: None };
        let logs: Vec<LogPosition> = (1..).take(before.len()).map(log).collect();
        let mut of_log = |name: &str| {
            let number: usize = name.trim_start_matches("b.").parse().unwrap();
            Ok(set(before[number - 1]))
        };
        let gtids = Gtids { executed: set(executed), is_on: true, ..Gtids::default() };
        take_over(&former, &gtids, &logs, &mut of_log).unwrap()
    }

    #[test]
    fn the_archive_begins_with_the_last_log_that_misses_nothing() {
        let ArchiveStart::Continues(predecessor, begin) = taken("1-20", &["1-3", "1-8", "1-12"]) else {
            panic!("lost")
        };
        assert_eq!((predecessor.gtid.as_str(), begin.file.as_str()), (set("1-10").to_string().as_str(), "b.000002"));
        let ArchiveStart::Continues(_, begin) = taken("1-10", &["1-3", "1-10"]) else { panic!("lost") };
        assert_eq!((begin.file.as_str(), begin.offset), ("b.000002", FIRST_EVENT));
    }

    #[test]
    fn a_server_without_what_follows_is_a_gap() {
        let ArchiveStart::Lost(gap) = taken("1-9", &["1-3"]) else { panic!("continued") };
        assert!(gap.reason.contains(":10") && gap.from == log(7), "{gap:?}");
        let ArchiveStart::Lost(gap) = taken("1-20", &["1-12", "1-14"]) else { panic!("continued") };
        assert!(gap.reason.contains("has removed the logs"), "{gap:?}");
    }

    #[test]
    fn transactions_that_are_in_no_log_are_a_gap() {
        let former = PreviousArchive { server: A.to_owned(), end: log(7), gtid: set("1-10"), lost: None };
        let reason = |gtids: &Gtids| match take_over(&former, gtids, &[log(1)], &mut |_| Ok(GtidSet::default())) {
            Ok(ArchiveStart::Lost(gap)) => gap.reason,
            other => panic!("{other:?}"),
        };
        // It was copied at 1-12, or does not log transactions that it replicates.
        let copied = Gtids { executed: set("1-20"), purged: set("1-12"), is_on: true };
        assert!(reason(&copied).contains("in no log of the new server") && reason(&copied).contains(":11-12"));
        assert!(reason(&Gtids { is_on: false, ..copied }).contains("without GTIDs"));
    }
}
