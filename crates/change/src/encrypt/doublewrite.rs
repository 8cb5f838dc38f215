//! Doublewrite files keep clear pages until others are written over them.
//!
//! The files of MySQL since 8.0.20 have parts for three ways of flushing: single pages, 512 slots used
//! in turn (a table that is exported or altered is flushed so); batches from the flush list (a
//! checkpoint is made so); and batches of a buffer pool that is too small, which go on by themselves.
//! Seen on MySQL 9.7; source: MySQL manual, "Doublewrite Buffer".

use super::{redo, scratch::Scratch};
use crate::{Error, Outcome, Session};

pub(super) fn renew(session: &mut Session<'_>, ran: &mut Vec<String>) -> Result<Outcome, Error> {
    let Some(capacity) = redo::capacity(session)? else { return Ok(redo::cannot_resize()) };
    let mut scratch = Scratch::make(session, ran)?;
    scratch.fill()?;
    scratch.export()?;
    let outcome = redo::pass(&mut scratch, capacity)?;
    scratch.remove()?;
    Ok(outcome)
}
