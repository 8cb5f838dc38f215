//! Tables that are made at the source while a migration runs, which are not moved. Some are there for moments: of loads, and
//! of programs that change tables. Only those that stay end a run.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use server::Connection;

use crate::{
    Error, Event, Side,
    catalog::{TableName, base_table_names},
    definitions::{named, names},
    settings::Settings,
    shared::Shared,
};

/// Time between two lists of the source's tables.
const LISTING_INTERVAL: Duration = Duration::from_secs(10);

/// The tables that were there when the source's tables were last listed, and when each was first seen.
#[derive(Debug, Default)]
pub(crate) struct NewTables {
    seen: BTreeMap<TableName, Instant>,
    listed: Option<Instant>,
}

impl NewTables {
    /// Lists the source's tables if the log has shown that there may be new ones, or some were there; not more often than
    /// needed.
    ///
    /// # Errors
    /// [`Error::NewTables`] for tables that are there for too long.
    pub(crate) fn look(
        &mut self,
        settings: &Settings,
        shared: &Shared,
        source: &mut Connection,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), Error> {
        let is_wanted = shared.lock().may_have_new_tables || !self.is_empty();
        if is_wanted && self.is_due() { self.list(settings, shared, source, events) } else { Ok(()) }
    }

    /// Lists the source's tables.
    ///
    /// # Errors
    /// [`Error::NewTables`] for tables that are there for too long.
    pub(crate) fn list(
        &mut self,
        settings: &Settings,
        shared: &Shared,
        source: &mut Connection,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), Error> {
        // Before the list is read: what the log shows later may not be in it.
        shared.lock().may_have_new_tables = false;
        let mut tables = base_table_names(source, &settings.filter).map_err(Error::at(Side::Source))?;
        let moved = names(settings);
        tables.retain(|name| !moved.contains(name));
        let now = Instant::now();
        let new = self.update(tables, now);
        if !new.is_empty() {
            events(Event::NewTables { tables: named(&new) });
        }
        let lasting: Vec<_> = self.lasting(settings.new_table_limit, now).cloned().collect();
        if lasting.is_empty() { Ok(()) } else { Err(Error::NewTables { tables: named(&lasting) }) }
    }

    /// Whether the last list had none.
    pub(crate) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    fn is_due(&self) -> bool {
        self.listed.is_none_or(|listed| listed.elapsed() >= LISTING_INTERVAL)
    }

    /// Takes over a list; returns the tables that the one before did not have.
    fn update(&mut self, tables: BTreeSet<TableName>, now: Instant) -> Vec<TableName> {
        self.listed = Some(now);
        self.seen.retain(|name, _| tables.contains(name));
        let new: Vec<_> = tables.into_iter().filter(|name| !self.seen.contains_key(name)).collect();
        self.seen.extend(new.iter().map(|name| (name.clone(), now)));
        new
    }

    /// The tables that have been there for longer than `limit`.
    fn lasting(&self, limit: Duration, now: Instant) -> impl Iterator<Item = &TableName> {
        let lasts = move |since: &Instant| now.saturating_duration_since(*since) > limit;
        self.seen.iter().filter(move |(_, since)| lasts(since)).map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(names: &[&str]) -> BTreeSet<TableName> {
        names.iter().map(|name| ("shop".to_owned(), (*name).to_owned())).collect()
    }

    #[test]
    fn a_table_is_told_once_and_ends_a_run_only_if_it_stays() {
        let (begin, minute) = (Instant::now(), Duration::from_secs(60));
        let mut new = NewTables::default();
        assert!(new.is_due());
        assert_eq!(named(&new.update(tables(&["a", "b"]), begin)), "shop.a, shop.b");
        assert!(!new.is_due());
        let later = begin + minute;
        assert_eq!(named(&new.update(tables(&["b", "c"]), later)), "shop.c");
        assert_eq!(new.lasting(minute, later).count(), 0);
        let latest = later + Duration::from_secs(1);
        assert_eq!(named(&new.lasting(minute, latest).cloned().collect::<Vec<_>>()), "shop.b");
        // One of the same name is another table.
        new.update(tables(&[]), latest);
        assert_eq!(named(&new.update(tables(&["b"]), latest)), "shop.b");
        assert_eq!(new.lasting(minute, latest + minute).count(), 0);
    }
}
