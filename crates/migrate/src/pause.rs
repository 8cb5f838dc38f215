//! Pauses a migration from another process, and lets it go on.

use server::Connection;

use crate::{Error, Phase, Server, active::lock_target, journal, link, state};

/// Attempts to get the lock of the process that is paused: it finishes the chunk that it is loading.
const ATTEMPTS: u32 = 6;

/// Ends the process that works on a migration, in an orderly way, and keeps others from beginning until [`resume`] is
/// called. Returns when no process works on it any more; a cut-over has then made the source writable again.
///
/// # Errors
/// [`Error::Switched`] after the cut-over; [`Error::Locked`] if the process does not end; [`Error::NotBegun`].
pub fn pause(server: &Server) -> Result<(), Error> {
    let mut target = link::target(server)?;
    before_cut_over(&mut target)?;
    state::set_paused(&mut target, true)?;
    let mut locked = lock_target(&mut target);
    for _ in 1..ATTEMPTS {
        if !matches!(locked, Err(Error::Locked { .. })) {
            break;
        }
        locked = lock_target(&mut target);
    }
    locked?;
    // Its process may have been past the point at which it can be paused.
    before_cut_over(&mut target)?;
    journal::note(&mut target, "paused", "")
}

/// Lets a paused migration go on: [`run`](crate::run()) continues it.
///
/// # Errors
/// [`Error::NotPaused`]; [`Error::NotBegun`].
pub fn resume(server: &Server) -> Result<(), Error> {
    let mut target = link::target(server)?;
    if !state::run(&mut target)?.ok_or(Error::NotBegun)?.paused {
        return Err(Error::NotPaused);
    }
    state::set_paused(&mut target, false)?;
    journal::note(&mut target, "resumed", "")
}

fn before_cut_over(target: &mut Connection) -> Result<(), Error> {
    let run = state::run(target)?.ok_or(Error::NotBegun)?;
    if run.phase == Phase::Switched { Err(Error::Switched) } else { Ok(()) }
}
