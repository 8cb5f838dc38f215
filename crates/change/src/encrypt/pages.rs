//! Has the server write the pages that it keeps in memory: until then nothing on disk proves that a new copy is encrypted.
//!
//! Where the redo log can be resized that does it as well. `FLUSH TABLES … FOR EXPORT` would write the key of an encrypted table beside
//! it. Source: MySQL manual, "Configuring Buffer Pool Flushing".

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use super::scratch::{DIRTY_PAGES, Scratch};
use crate::{Error, Outcome, Session};

const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(200);

pub(super) fn write(session: &mut Session<'_>, ran: &mut Vec<String>) -> Result<Outcome, Error> {
    let Some(before) = session.value(&format!("SELECT @@GLOBAL.{DIRTY_PAGES}"))? else {
        return Ok(Outcome::Skipped { reason: "this server writes when it comes to it".to_owned() });
    };
    let mut scratch = Scratch::make(session, ran)?;
    scratch.set(DIRTY_PAGES, "0", &before)?;
    let written = wait(scratch.session())?;
    scratch.remove()?;
    Ok(if written {
        Outcome::Done
    } else {
        let seconds = PATIENCE.as_secs();
        Outcome::Failed { reason: format!("the server did not write all of its pages within {seconds} s") }
    })
}

/// Others may go on to write, so a moment with few of them is as much as there can be.
fn wait(session: &mut Session<'_>) -> Result<bool, Error> {
    let began = Instant::now();
    let mut least = u64::MAX;
    while began.elapsed() < PATIENCE {
        let pages = session.ask("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")?;
        let Some(now) = pages.value(0, "Value").and_then(|pages| pages.parse::<u64>().ok()) else { return Ok(false) };
        if now == 0 {
            return Ok(true);
        }
        least = least.min(now);
        sleep(LOOK_EVERY);
    }
    Ok(least <= FEW)
}

/// Pages that a busy server always has.
const FEW: u64 = 64;
