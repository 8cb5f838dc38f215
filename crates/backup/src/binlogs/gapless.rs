//! Sequences of archived logs in which nothing is missing, and the times of their events.

use archive::names;
use innodb::binlog::FIRST_EVENT;

use super::{
    chain::{Archive, gap_text},
    history::History,
};

/// Logs in which nothing is missing. Times are seconds since 1970, by the clock of the server; 0 if they are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GaplessLogs {
    /// What is missing before them; `None` at the beginning of an archive.
    pub(crate) missing_before: Option<String>,
    /// Time of the first event.
    pub(crate) first: u32,
    /// Time of the first log that is archived from its beginning: only from there on events can be replayed.
    pub(crate) begin: Option<u32>,
    /// Time of the newest event.
    pub(crate) last: u32,
    /// Transactions up to the end; empty if they are not known.
    pub(crate) gtid: String,
}

impl Archive {
    /// Its logs, divided at gaps.
    pub(crate) fn gapless(&self) -> Vec<GaplessLogs> {
        let mut found: Vec<GaplessLogs> = Vec::new();
        let mut is_missing = self.segments().map(|(_, is_missing)| is_missing);
        for (receipt, joins) in self.joined() {
            for segment in &receipt.segments {
                if is_missing.next() == Some(true) || found.is_empty() {
                    let object = names::binlog_receipt(&self.host, &self.server, receipt.number);
                    let broken = self.breaks.iter().find(|(of, _)| *of == object).map(|(_, what)| what.clone());
                    let gap = receipt.gap.as_ref().filter(|_| !joins);
                    let missing_before = gap.map(|gap| gap_text(gap, Some(segment))).or(broken);
                    found.push(GaplessLogs { missing_before, first: segment.first, ..GaplessLogs::default() });
                }
                let Some(logs) = found.last_mut() else { continue };
                if segment.start == FIRST_EVENT && segment.first > 0 {
                    logs.begin = logs.begin.or(Some(segment.first));
                }
                logs.last = logs.last.max(segment.last);
                receipt.gtid.clone_into(&mut logs.gtid);
            }
        }
        found
    }
}

impl History {
    /// The logs of all its archives, divided at gaps. A replay with them can only start from a backup of the first
    /// server: logs behind a gap in a later server's archive have no `begin`.
    pub(crate) fn gapless(&self) -> Vec<GaplessLogs> {
        let mut archives = self.archives();
        let mut found = archives.next().map(Archive::gapless).unwrap_or_default();
        for archive in archives {
            let mut later = archive.gapless().into_iter();
            match (found.last_mut(), later.next()) {
                (Some(before), Some(next)) => {
                    before.last = before.last.max(next.last);
                    before.gtid = next.gtid;
                }
                (None, next) => found.extend(next),
                (Some(_), None) => {}
            }
            found.extend(later.map(|logs| GaplessLogs { begin: None, ..logs }));
        }
        found
    }
}
