//! The archive of the server that was backed up, and the archives of the servers that took over from it.
//!
//! After a failover the new source has other logs, which repeat some of the old source's transactions. GTIDs show
//! which.

use std::ops::ControlFlow;

use agefile::Identity;
use innodb::binlog::LogPosition;
use replication::gtid::mysql::GtidSet;

use super::{
    chain::Archive,
    events::{LogEvent, Range, each_event},
    transaction::Transaction,
};
use crate::{Error, Repository};

/// A sequence of archives, each of which continues the one before it. The first is the archive of the server that was
/// backed up.
#[derive(Debug)]
pub struct History {
    first: Archive,
    later: Vec<Successor>,
    /// Why no further archive can be added, although the host has more.
    fork: Option<String>,
}

/// The archive of a server that took over.
#[derive(Debug)]
struct Successor {
    archive: Archive,
    /// Transactions that the archives before it have.
    repeated: GtidSet,
}

impl History {
    /// Starts with an archive, and adds the archives of `others` that continue it.
    pub(crate) fn new(first: Archive, mut others: Vec<Archive>) -> Self {
        let mut history = Self { first, later: Vec::new(), fork: None };
        loop {
            let last = history.last();
            let continues = |other: &Archive| {
                other.predecessor().is_some_and(|before| before.server == last.server) && !other.begins_with_gap()
            };
            let Some(next) = others.iter().position(continues) else {
                history.fork = history.newer(&others);
                return history;
            };
            let next = others.remove(next);
            let repeated: GtidSet = last.gtid().parse().unwrap_or_default();
            let other = others.iter().find(|other| continues(other));
            if let Some(reason) = fork(last, &repeated, &next, other) {
                history.fork = reason;
                return history;
            }
            history.later.push(Successor { archive: next, repeated });
        }
    }

    /// A history of one archive, that of the server that was backed up, although the host has `others`.
    pub(crate) fn of_one(first: Archive, others: &[Archive]) -> Self {
        let mut history = Self { first, later: Vec::new(), fork: None };
        history.fork = history.newer(others);
        history
    }

    /// Why the newest archive does not have the newest transactions: another archive has newer ones.
    fn newer(&self, others: &[Archive]) -> Option<String> {
        let last = self.last();
        let has: Option<GtidSet> = last.gtid().parse().ok().filter(|set: &GtidSet| !set.is_empty());
        let is_part = |other: &Archive| {
            let gtids: Option<GtidSet> = other.gtid().parse().ok().filter(|set: &GtidSet| !set.is_empty());
            gtids.zip(has.as_ref()).is_some_and(|(gtids, has)| gtids.is_subset_of(has))
        };
        let newer = others.iter().find(|other| other.is_newer_than(last) && !is_part(other))?;
        Some(format!(
            "the archive of {} has newer transactions, and does not continue that of {}",
            newer.server, last.server
        ))
    }

    /// The archive of the server that has the newest transactions.
    pub(crate) fn last(&self) -> &Archive {
        self.later.last().map_or(&self.first, |successor| &successor.archive)
    }

    /// The archives in order.
    pub(super) fn archives(&self) -> impl Iterator<Item = &Archive> {
        std::iter::once(&self.first).chain(self.later.iter().map(|successor| &successor.archive))
    }

    /// Why the newest archive does not end with the newest archived transactions; `None` if it does.
    pub(crate) fn fork(&self) -> Option<&str> {
        self.fork.as_deref()
    }

    /// What is wrong with the archives: name of the object, and the fault.
    pub(crate) fn breaks(&self) -> impl Iterator<Item = &(String, String)> {
        let later = self.later.iter().flat_map(|successor| &successor.archive.breaks);
        self.first.breaks.iter().chain(later)
    }

    /// Visits events of the first archive in a range, and all of those that continue it, until `visit` breaks.
    pub(super) fn each_event(
        &self,
        repository: &Repository,
        identities: &[Identity],
        range: Range<'_>,
        visit: &mut dyn FnMut(&LogEvent<'_>) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Error> {
        let first = (&self.first, range);
        let later = self.later.iter().map(|successor| (&successor.archive, Range::Whole));
        for (archive, range) in std::iter::once(first).chain(later) {
            if each_event(repository, archive, identities, range, visit)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Whether a position in the logs of a server is before the backup's.
    pub(super) fn is_before(&self, server: &str, file: &str, start: u64, from: &LogPosition) -> bool {
        server == self.first.server && file == from.file && start < from.offset
    }

    /// Whether the transaction is from a server that took over and has no GTID, so that nothing shows whether it is
    /// repeated.
    pub(super) fn is_unidentified(&self, transaction: &Transaction) -> bool {
        transaction.gtid.is_empty() && transaction.server != self.first.server
    }

    /// Whether an archive earlier in the history also has the transaction.
    pub(super) fn is_repeated(&self, transaction: &Transaction) -> bool {
        let of_server = |successor: &&Successor| successor.archive.server == transaction.server;
        self.later.iter().find(of_server).is_some_and(|successor| {
            let gtid = transaction.gtid.parse::<GtidSet>();
            gtid.is_ok_and(|one| !one.is_empty() && one.is_subset_of(&successor.repeated))
        })
    }
}

/// Whether `next`, which took over from `last`, cannot be added to it. `Some(None)`: nothing is lost without it.
#[expect(clippy::option_option, reason = "not to add an archive needs no reason if it has nothing new")]
fn fork(last: &Archive, has: &GtidSet, next: &Archive, other: Option<&Archive>) -> Option<Option<String>> {
    if let Some(other) = other {
        let reason = format!("the servers {} and {} both took over from {}", next.server, other.server, last.server);
        return Some(Some(reason));
    }
    let taken = next.predecessor().and_then(|before| before.gtid.parse::<GtidSet>().ok());
    if taken.is_some_and(|taken| taken == *has) {
        return None;
    }
    // The first server is the source again, and has the transactions that the other server executed meanwhile.
    if next.gtid().parse::<GtidSet>().is_ok_and(|of_next| of_next.is_subset_of(has)) {
        return Some(None);
    }
    Some(Some(format!("the archive of {} was continued after {} had taken over from it", last.server, next.server)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    const B: &str = "4e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn archive(server: &str, gtid: &str, predecessor: Option<(&str, &str)>) -> Archive {
        Archive::with_receipt(server, gtid, predecessor)
    }

    fn servers(history: &History) -> Vec<&str> {
        let later = history.later.iter().map(|successor| successor.archive.server.as_str());
        std::iter::once(history.first.server.as_str()).chain(later).collect()
    }

    #[test]
    fn servers_that_took_over_continue_the_archive() {
        let (ten, more) = (format!("{A}:1-10"), format!("{A}:1-10,{B}:1-5"));
        let history = History::new(
            archive(A, &ten, None),
            vec![
                archive("c", &format!("{more},{B}:6-9"), Some((B, &more))),
                archive(B, &more, Some((A, &ten))),
                archive("other", "", None),
            ],
        );
        assert_eq!((servers(&history), history.fork()), (vec![A, B, "c"], None));
        let transaction =
            |server: &str, gtid: String| Transaction { server: server.to_owned(), gtid, ..Transaction::default() };
        assert!(history.is_repeated(&transaction(B, format!("{A}:10"))));
        assert!(!history.is_repeated(&transaction(B, format!("{B}:1"))));
        assert!(history.is_repeated(&transaction("c", format!("{B}:1"))));
        assert!(!history.is_repeated(&transaction(A, format!("{A}:10"))));
    }

    #[test]
    fn two_successors_are_a_fork() {
        let ten = format!("{A}:1-10");
        let both = vec![archive(B, &ten, Some((A, &ten))), archive("c", &ten, Some((A, &ten)))];
        let history = History::new(archive(A, &ten, None), both);
        assert_eq!(servers(&history), [A]);
        assert!(history.fork().is_some_and(|reason| reason.contains("both took over")), "{history:?}");
    }

    #[test]
    fn a_server_that_is_the_source_again_has_all() {
        let (ten, all) = (format!("{A}:1-10"), format!("{A}:1-12,{B}:1-5"));
        let meanwhile = format!("{A}:1-10,{B}:1-5");
        let history = History::new(archive(A, &all, None), vec![archive(B, &meanwhile, Some((A, &ten)))]);
        assert_eq!((servers(&history), history.fork()), (vec![A], None));
        // Both were continued, each without the other.
        let eleven = format!("{A}:1-11");
        let history = History::new(archive(A, &eleven, None), vec![archive(B, &meanwhile, Some((A, &ten)))]);
        assert!(history.fork().is_some_and(|reason| reason.contains("was continued after")), "{history:?}");
    }
}
