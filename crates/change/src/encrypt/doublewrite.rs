//! Doublewrite files keep clear-text pages until others overwrite them.
//!
//! The files of MySQL since 8.0.20 have areas for three kinds of flushing: single pages, with 512 slots used in turn
//! (by `FLUSH … FOR EXPORT` and `ALTER`); batches from the flush list (by checkpoints); and batches from the LRU list,
//! when the buffer pool is too small. Seen on MySQL 9.7; source: MySQL manual, "Doublewrite Buffer".

use super::redo;
use crate::scratch_schema::ScratchSchema;
use crate::{Error, Outcome, Session};

pub(super) fn renew(session: &mut Session<'_>, executed: &mut Vec<String>) -> Result<Outcome, Error> {
    let Some(capacity) = redo::capacity(session)? else { return Ok(redo::cannot_resize()) };
    let mut schema = ScratchSchema::make(session, executed)?;
    schema.fill()?;
    schema.export()?;
    let outcome = redo::pass(&mut schema, capacity)?;
    schema.remove()?;
    Ok(outcome)
}
