//! Redo files keep clear text until the server replaces them. Resizing the log makes the server flush and drop files of
//! the old size; it drops the current file when that is full, which takes as many writes as the file has space.
//! Seen on MySQL 9.7: 100 MiB to 8 MiB in four seconds, and no clear block remained.

use std::{thread::sleep, time::Instant};

use server::dialect::capability::Capability;

use crate::{
    Error, Outcome, Session,
    scratch_schema::{POLL_INTERVAL, REDO_CAPACITY, ScratchSchema, TIMEOUT},
};

/// Minimum capacity of the log.
const SMALL_BYTES: u64 = 8 << 20;
/// For MySQL 8.0: several times `innodb_log_buffer_size`, and twice the amount that is written meanwhile. With 8 MiB,
/// 8.0.33 stopped permanently in one of two runs ("Out of space in the redo log", error MY-013059), until the capacity
/// was increased.
const SMALL_BYTES_OF_80: u64 = 64 << 20;

pub(super) fn renew(session: &mut Session<'_>, executed: &mut Vec<String>) -> Result<Outcome, Error> {
    let Some(capacity) = capacity(session)? else { return Ok(cannot_resize()) };
    let mut schema = ScratchSchema::make(session, executed)?;
    let outcome = pass(&mut schema, capacity)?;
    schema.remove()?;
    Ok(outcome)
}

/// `None` before 8.0.30, when redo files had a fixed size.
pub(super) fn capacity(session: &mut Session<'_>) -> Result<Option<u64>, Error> {
    Ok(session.variable(REDO_CAPACITY)?.and_then(|text| text.parse().ok()))
}

pub(super) fn cannot_resize() -> Outcome {
    Outcome::Failed { reason: "this server can change the size of its redo log only with a restart".to_owned() }
}

/// Writes the whole log once while it is small.
pub(super) fn pass(schema: &mut ScratchSchema<'_, '_>, capacity: u64) -> Result<Outcome, Error> {
    let since_84 = schema.session().identity().version.can(Capability::WithoutMasterStatements);
    let small = if since_84 { SMALL_BYTES } else { SMALL_BYTES_OF_80 };
    // If the log already has this size, use another one.
    let small = if capacity == small { small * 2 } else { small };
    let before = capacity.to_string();
    schema.set(REDO_CAPACITY, &small.to_string(), &before)?;
    let mut resized = wait(schema.session())?;
    schema.fill()?;
    schema.set(REDO_CAPACITY, &before, &before)?;
    resized &= wait(schema.session())?;
    Ok(if resized {
        Outcome::Done
    } else {
        let seconds = TIMEOUT.as_secs();
        Outcome::Failed { reason: format!("the redo log was not resized within {seconds} s") }
    })
}

fn wait(session: &mut Session<'_>) -> Result<bool, Error> {
    let began = Instant::now();
    // The status changes shortly after the statement returns.
    sleep(POLL_INTERVAL);
    while began.elapsed() < TIMEOUT {
        if session.status("Innodb_redo_log_resize_status")?.as_deref() == Some("OK") {
            return Ok(true);
        }
        sleep(POLL_INTERVAL);
    }
    Ok(false)
}
