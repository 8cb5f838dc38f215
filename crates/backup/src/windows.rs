//! The times that can be restored to the second: from a backup on, up to the first gap in the archived binary logs.
//!
//! Only receipts are read; each part's entry has the times of its events. So no key is needed, and the times are those
//! of the server's clock.

use std::collections::BTreeSet;

use archive::{chain::Link, names::Number, receipt::Summary};
use jiff::Timestamp;
use serde::Serialize;

use crate::binlogs::{Archive, GaplessLogs, History};

/// A period in which every second can be restored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Window {
    /// The first second: the end of the oldest good backup after which the logs have no gap.
    pub from: Timestamp,
    /// The last second: the time of the newest archived event.
    pub to: Timestamp,
    /// Number of that backup.
    pub backup: Number,
    /// Transactions up to the end; empty if the server has no GTIDs.
    pub gtid: String,
}

/// Binary logs that are missing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct MissingLogs {
    /// The server, as in the name of its archive.
    pub server: String,
    /// The newest archived event before the gap.
    pub from: Option<Timestamp>,
    /// The first archived event after it; `None` if there is none.
    pub to: Option<Timestamp>,
    /// What is missing.
    pub reason: String,
}

/// What is archived of the binary logs of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ArchivedLogs {
    /// Time of the newest event, by the server's clock.
    pub newest: Option<Timestamp>,
    /// Number of times that logs were lost before they were archived, as far as receipts record them.
    pub gaps: u64,
}

impl ArchivedLogs {
    /// Summarizes the archives of a host; `None` if there is none.
    pub(crate) fn new(archives: &[Archive]) -> Option<Self> {
        let newest = archives.iter().flat_map(Archive::segments).map(|(segment, _)| segment.last).max();
        let gaps: u64 = archives.iter().map(|archive| archive.gaps.len() as u64).sum();
        (!archives.is_empty()).then(|| Self { newest: newest.and_then(at), gaps })
    }
}

/// End of a good backup, and the server that was backed up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GoodBackup<'l> {
    number: Number,
    ended: Timestamp,
    /// UUID of its server; `None` for MariaDB.
    server: Option<&'l str>,
}

impl<'l> GoodBackup<'l> {
    /// Converts a receipt; `None` if the backup is not good.
    pub(crate) fn new(link: &'l Link) -> Option<Self> {
        let Summary { number, ended, ref server_uuid, .. } = link.receipt;
        link.receipt.is_good().then_some(Self { number, ended, server: server_uuid.as_deref() })
    }
}

/// Finds the windows of a host, and the gaps in its archives.
pub(crate) fn windows(backups: &[GoodBackup<'_>], archives: &[Archive]) -> (Vec<Window>, Vec<MissingLogs>) {
    let servers: BTreeSet<Option<&str>> = backups.iter().map(|backup| backup.server).collect();
    let mut missing: BTreeSet<MissingLogs> = archives.iter().flat_map(gaps).collect();
    let mut windows: Vec<Window> = Vec::new();
    for server in servers {
        let of_server = || backups.iter().filter(|backup| backup.server == server);
        for (first, others) in candidates(archives, server) {
            let history = if server.is_some() { History::new(first, others) } else { History::of_one(first, &others) };
            windows.extend(history.gapless().iter().filter_map(|logs| window(logs, of_server())));
            missing.extend(history.fork().map(|fork| MissingLogs {
                server: history.last().server.clone(),
                from: None,
                to: None,
                reason: fork.to_owned(),
            }));
        }
    }
    windows.sort_by_key(|window| (window.from, std::cmp::Reverse(window.to)));
    // A backup of the server that took over begins within the window of an earlier one.
    let mut outer: Vec<Window> = Vec::new();
    for window in windows {
        if outer.last().is_none_or(|before| window.to > before.to) {
            outer.push(window);
        }
    }
    (outer, missing.into_iter().collect())
}

/// The archives with which the replay after a server's backup can begin, each with all other archives. A backup of
/// MariaDB does not name its server, so any archive can be the first.
fn candidates(archives: &[Archive], server: Option<&str>) -> Vec<(Archive, Vec<Archive>)> {
    let is_own = |archive: &&Archive| server.is_none_or(|server| archive.server == server);
    let with_others = |first: &Archive| {
        let others = archives.iter().filter(|other| other.server != first.server);
        (first.clone(), others.cloned().collect())
    };
    archives.iter().filter(is_own).filter(|archive| !archive.receipts.is_empty()).map(with_others).collect()
}

/// The window that begins with the oldest of these backups whose log is among `logs`.
fn window<'b>(logs: &GaplessLogs, backups: impl Iterator<Item = &'b GoodBackup<'b>>) -> Option<Window> {
    let begin = at(logs.begin?)?;
    let to = at(logs.last)?;
    let oldest = backups.filter(|backup| (begin..=to).contains(&backup.ended)).min_by_key(|backup| backup.ended)?;
    Some(Window { from: oldest.ended, to, backup: oldest.number, gtid: logs.gtid.clone() })
}

fn gaps(archive: &Archive) -> Vec<MissingLogs> {
    let logs = archive.gapless();
    let before = std::iter::once(None).chain(logs.iter().map(Some));
    let between = before.zip(&logs).filter_map(|(before, behind)| {
        Some(MissingLogs {
            server: archive.server.clone(),
            from: before.and_then(|before| at(before.last)),
            to: at(behind.first),
            reason: behind.missing_before.clone()?,
        })
    });
    between.collect()
}

fn at(seconds: u32) -> Option<Timestamp> {
    Timestamp::from_second(i64::from(seconds)).ok().filter(|_| seconds > 0)
}

#[cfg(test)]
mod tests {
    use archive::binlog::Gap;
    use innodb::binlog::LogPosition;

    use super::*;
    /// A good backup that ended at this second.
    fn backup(number: Number, ended: i64, server: Option<&str>) -> GoodBackup<'_> {
        GoodBackup { number, ended: Timestamp::from_second(ended).unwrap(), server }
    }

    fn found(backups: &[GoodBackup<'_>], archives: &[Archive]) -> Vec<(i64, i64, Number)> {
        let windows = windows(backups, archives).0;
        windows.iter().map(|window| (window.from.as_second(), window.to.as_second(), window.backup)).collect()
    }

    fn gap() -> Gap {
        let from = LogPosition { file: "b.000002".to_owned(), offset: 14 };
        Gap { from, reason: "the server has removed it".to_owned(), noticed: None }
    }

    #[test]
    fn a_window_ends_at_a_gap_and_the_next_begins_with_a_backup() {
        // Logs of 100-150, 200-250 and, behind a gap, 400-450 and 500-550.
        let logs = Archive::with_logs("7", &[(None, 100), (None, 200), (Some(gap()), 400), (None, 500)], None);
        let backups =
            [120, 230, 300, 350, 420, 530].map(|ended| backup(u64::try_from(ended).unwrap(), ended, Some("7")));
        assert_eq!(found(&backups, std::slice::from_ref(&logs)), [(120, 250, 120), (420, 550, 420)]);
        let all = [logs];
        let summary = ArchivedLogs::new(&all).unwrap();
        assert_eq!((summary.newest.map(|time| time.as_second()), summary.gaps), (Some(550), 1));
        assert_eq!(ArchivedLogs::new(&[]), None);
        let missing = windows(&backups, &all).1;
        assert_eq!(missing.len(), 1, "{missing:?}");
        let times = [missing[0].from, missing[0].to].map(|time| time.unwrap().as_second());
        assert!(times == [250, 400] && missing[0].reason.contains("has removed it"), "{missing:?}");
    }

    #[test]
    fn a_backup_is_of_one_server() {
        let logs = [Archive::with_logs("7", &[(None, 100)], None), Archive::with_logs("8", &[(None, 300)], None)];
        assert_eq!(found(&[backup(1, 120, Some("8"))], &logs), []);
        assert_eq!(found(&[backup(1, 120, None), backup(2, 310, None)], &logs), [(120, 150, 1), (310, 350, 2)]);
        assert_eq!(found(&[backup(1, 90, Some("7"))], &logs), [], "the log of the backup is not archived");
    }

    #[test]
    fn a_window_goes_on_after_a_failover() {
        const A: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
        const B: &str = "4e11fa47-71ca-11e1-9e33-c80aa9429562";
        let first = Archive::with_logs(A, &[(None, 100), (None, 200)], None);
        let second = Archive::with_logs(B, &[(None, 150), (None, 300)], Some((A, &format!("{A}:1-10"))));
        let logs = [first, second];
        assert_eq!(found(&[backup(1, 120, Some(A))], &logs), [(120, 350, 1)]);
        assert_eq!(found(&[backup(1, 120, Some(A)), backup(2, 320, Some(B))], &logs), [(120, 350, 1)]);
    }
}
