//! Tables that are made at the source while a migration runs, which are not moved. Some are there for moments: those of
//! loads, and of programs that change tables. Only those that stay end a run.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use crate::catalog::TableName;

/// Time between two lists of the source's tables.
const LISTING_INTERVAL: Duration = Duration::from_secs(10);

/// The tables that were there when the source's tables were last listed, and when each was first seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewTables {
    seen: BTreeMap<TableName, Instant>,
    listed: Option<Instant>,
}

impl NewTables {
    /// Whether the source's tables were not listed for a while.
    pub(crate) fn is_due(&self) -> bool {
        self.listed.is_none_or(|listed| listed.elapsed() >= LISTING_INTERVAL)
    }

    /// Whether the last list had no such table.
    pub(crate) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Takes over a list that was read at `now`. Returns the tables that the one before did not have.
    pub(crate) fn update(&mut self, tables: BTreeSet<TableName>, now: Instant) -> Vec<TableName> {
        self.listed = Some(now);
        self.seen.retain(|name, _| tables.contains(name));
        let new: Vec<_> = tables.into_iter().filter(|name| !self.seen.contains_key(name)).collect();
        self.seen.extend(new.iter().map(|name| (name.clone(), now)));
        new
    }

    /// The tables that the last list had this long after they were first seen.
    pub(crate) fn lasting(&self, limit: Duration) -> Vec<&TableName> {
        let Some(listed) = self.listed else { return Vec::new() };
        let lasts = |since: Instant| listed.saturating_duration_since(since) >= limit;
        self.seen.iter().filter(|(_, since)| lasts(**since)).map(|(name, _)| name).collect()
    }

    /// Whether a table of an earlier state of this list is still there.
    pub(crate) fn has_any_of(&self, earlier: &Self) -> bool {
        earlier.seen.iter().any(|(name, since)| self.seen.get(name) == Some(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(names: &[&str]) -> BTreeSet<TableName> {
        names.iter().map(|name| ("shop".to_owned(), (*name).to_owned())).collect()
    }

    fn names<'n>(tables: impl IntoIterator<Item = &'n TableName>) -> Vec<&'n str> {
        tables.into_iter().map(|(_, name)| name.as_str()).collect()
    }

    #[test]
    fn a_table_is_told_once_and_lasts_only_if_it_stays() {
        let (begin, minute) = (Instant::now(), Duration::from_secs(60));
        let mut new = NewTables::default();
        assert!(new.is_due() && new.is_empty() && new.lasting(Duration::ZERO).is_empty());
        assert_eq!(names(&new.update(tables(&["a", "b"]), begin)), ["a", "b"]);
        assert!(!new.is_due() && !new.is_empty());
        assert_eq!(names(new.lasting(Duration::ZERO)), ["a", "b"]);
        let first = new.clone();
        assert_eq!(names(&new.update(tables(&["b", "c"]), begin + minute / 2)), ["c"]);
        assert!(new.lasting(minute).is_empty() && new.has_any_of(&first));
        assert!(new.update(tables(&["b", "c"]), begin + minute).is_empty());
        assert_eq!(names(new.lasting(minute)), ["b"]);
        // One of the same name is another table, which was made later.
        assert!(new.update(tables(&["c"]), begin + minute).is_empty());
        assert_eq!(names(&new.update(tables(&["b", "c"]), begin + minute)), ["b"]);
        assert!(new.lasting(minute).is_empty() && !new.has_any_of(&first));
        new.update(tables(&[]), begin + minute * 2);
        assert!(new.is_empty() && new.lasting(Duration::ZERO).is_empty());
    }
}
