//! Redo files keep what was written in clear text until they are left behind. Resizing the log to the
//! least makes the server flush and leave files of the old size; the file in use is left when it is
//! full, which takes as much writing as it has room.
//! Seen on MySQL 9.7: 100 MiB to 8 MiB in four seconds, no clear block behind it.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use super::{Action, scratch::Scratch};
use crate::{Error, Outcome, Session, Step};

pub(super) const CAPACITY: &str = "innodb_redo_log_capacity";
/// The least there can be.
const LEAST_BYTES: u64 = 8 << 20;
/// For a log that has the least size already.
const OTHER_BYTES: u64 = 16 << 20;
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(200);

pub(super) fn renew(session: &mut Session<'_>, ran: &mut Vec<String>) -> Result<Outcome, Error> {
    let Some(capacity) = capacity(session)? else { return Ok(cannot_resize()) };
    let mut scratch = Scratch::make(session, ran)?;
    let outcome = pass(&mut scratch, capacity)?;
    scratch.remove()?;
    Ok(outcome)
}

/// `None` before 8.0.30, when the log had files of a fixed size.
pub(super) fn capacity(session: &mut Session<'_>) -> Result<Option<u64>, Error> {
    let rows = session.ask(&format!("SHOW GLOBAL VARIABLES LIKE '{CAPACITY}'"))?;
    Ok(rows.value(0, "Value").and_then(|text| text.parse().ok()))
}

/// Whether a step can be done where the log cannot be resized.
pub(super) fn needs_no_resize(step: &Step<Action>) -> bool {
    !matches!(step.action, Action::RenewRedo | Action::RenewDoublewrite)
}

pub(super) fn cannot_resize() -> Outcome {
    Outcome::Failed { reason: "this server can only change the size of its redo log by a restart".to_owned() }
}

/// Writes the log from one end to the other while it is small.
pub(super) fn pass(scratch: &mut Scratch<'_, '_>, capacity: u64) -> Result<Outcome, Error> {
    let small = if capacity == LEAST_BYTES { OTHER_BYTES } else { LEAST_BYTES };
    scratch.set(CAPACITY, small, capacity)?;
    let mut resized = wait(scratch.session())?;
    scratch.fill()?;
    scratch.set(CAPACITY, capacity, capacity)?;
    resized &= wait(scratch.session())?;
    Ok(if resized {
        Outcome::Done
    } else {
        let seconds = PATIENCE.as_secs();
        Outcome::Failed { reason: format!("the redo log was not resized within {seconds} s") }
    })
}

fn wait(session: &mut Session<'_>) -> Result<bool, Error> {
    let began = Instant::now();
    // The state changes a moment after the statement has ended.
    sleep(LOOK_EVERY);
    while began.elapsed() < PATIENCE {
        let state = session.ask("SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_resize_status'")?;
        if state.value(0, "Value") == Some("OK") {
            return Ok(true);
        }
        sleep(LOOK_EVERY);
    }
    Ok(false)
}
