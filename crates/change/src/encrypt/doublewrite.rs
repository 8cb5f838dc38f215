//! Doublewrite files keep clear-text pages until others overwrite them.
//!
//! The files of MySQL since 8.0.20 have areas for three kinds of flushing: single pages, with 512 slots used in turn
//! (by `FLUSH … FOR EXPORT` and `ALTER`); batches from the flush list (by checkpoints); and batches from the LRU list,
//! when the buffer pool is too small. Seen on MySQL 9.7; source: MySQL manual, "Doublewrite Buffer".

use super::{redo, scratch::Scratch};
use crate::{Error, Outcome, Session};

pub(super) fn renew(session: &mut Session<'_>, executed: &mut Vec<String>) -> Result<Outcome, Error> {
    let Some(capacity) = redo::capacity(session)? else { return Ok(redo::cannot_resize()) };
    let mut scratch = Scratch::make(session, executed)?;
    scratch.fill()?;
    scratch.export()?;
    let outcome = redo::pass(&mut scratch, capacity)?;
    scratch.remove()?;
    Ok(outcome)
}
