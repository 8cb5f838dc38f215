//! Makes the server write its dirty pages: until then nothing on disk proves that a new copy is encrypted.
//!
//! Resizing the redo log has the same effect, where that is possible. `FLUSH TABLES … FOR EXPORT` would write the key
//! of an encrypted table next to it. Source: MySQL manual, "Configuring Buffer Pool Flushing".

use std::{thread::sleep, time::Instant};

use super::scratch_schema::{DIRTY_PAGES, POLL_INTERVAL, ScratchSchema, TIMEOUT};
use crate::{Error, Outcome, Session};

pub(super) fn write(session: &mut Session<'_>, executed: &mut Vec<String>) -> Result<Outcome, Error> {
    let Some(before) = session.value(&format!("SELECT @@GLOBAL.{DIRTY_PAGES}"))? else {
        return Ok(Outcome::Skipped { reason: "this server offers no way to force writes".to_owned() });
    };
    let mut schema = ScratchSchema::make(session, executed)?;
    schema.set(DIRTY_PAGES, "0", &before)?;
    let written = wait(schema.session())?;
    schema.remove()?;
    Ok(if written {
        Outcome::Done
    } else {
        let seconds = TIMEOUT.as_secs();
        Outcome::Failed { reason: format!("the server did not write all of its pages within {seconds} s") }
    })
}

/// Waits for a moment with few dirty pages. Other clients may keep writing, so there may never be none.
fn wait(session: &mut Session<'_>) -> Result<bool, Error> {
    let began = Instant::now();
    let mut least = u64::MAX;
    while began.elapsed() < TIMEOUT {
        let pages = session.status("Innodb_buffer_pool_pages_dirty")?;
        let Some(now) = pages.and_then(|pages| pages.parse::<u64>().ok()) else { return Ok(false) };
        if now == 0 {
            return Ok(true);
        }
        least = least.min(now);
        sleep(POLL_INTERVAL);
    }
    Ok(least <= FEW)
}

/// A busy server always has this many dirty pages.
const FEW: u64 = 64;
