//! The tables that the rows of a statement refer to.

use std::{collections::HashMap, sync::Arc};

use crate::{Fault, event::TableMap};

/// Table maps by table number, until the end of their statement.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    by_id: HashMap<u64, Arc<TableMap>>,
    /// Total length of their events in bytes.
    held_bytes: u64,
}

impl Tables {
    pub(crate) fn insert(&mut self, table: &Arc<TableMap>, event_bytes: u64, limit: u64) -> Result<(), Fault> {
        let held_bytes = self.held_bytes.saturating_add(event_bytes);
        if held_bytes > limit {
            return Err(Fault::TooLarge { what: "tables of a statement", bytes: held_bytes, limit });
        }
        self.held_bytes = held_bytes;
        self.by_id.insert(table.id, Arc::clone(table));
        Ok(())
    }

    pub(crate) fn find(&self, id: u64) -> Option<Arc<TableMap>> {
        self.by_id.get(&id).cloned()
    }

    pub(crate) fn clear(&mut self) {
        self.by_id.clear();
        self.held_bytes = 0;
    }
}
