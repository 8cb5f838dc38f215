//! Pauses a migration from another process, and lets it go on.

use server::Connection;

use crate::{Error, Phase, Server, active::lock_target, journal, link, state};

/// Attempts to get the lock of the process that is paused: it finishes the chunk that it is loading.
const ATTEMPTS: u32 = 6;

/// Ends the process that works on a migration, in an orderly way, and keeps others from beginning until [`resume`] is
/// called. Returns when no process works on it any more; a cut-over has then made the source writable again.
///
/// # Errors
/// [`Error::Switched`] after the cut-over; [`Error::CutOverInterrupted`] if the source is fenced, which a pause would
/// hide; [`Error::PauseRequested`] if the process does not end; [`Error::NotBegun`].
pub fn pause(server: &Server) -> Result<(), Error> {
    let mut target = link::target(server)?;
    is_fenced(&mut target)?;
    state::set_paused(&mut target, true)?;
    let mut locked = lock_target(&mut target);
    for _ in 1..ATTEMPTS {
        if !matches!(locked, Err(Error::Locked { .. })) {
            break;
        }
        locked = lock_target(&mut target);
    }
    locked.map_err(|error| match error {
        Error::Locked { .. } => Error::PauseRequested,
        error => error,
    })?;
    // Its process may have been past the point at which it can be paused.
    let refused = match is_fenced(&mut target) {
        Ok(false) => return journal::note(&mut target, "paused", ""),
        Ok(true) => Error::CutOverInterrupted,
        Err(error) => error,
    };
    state::set_paused(&mut target, false)?;
    Err(refused)
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

/// Whether a cut-over has fenced the source, or is about to.
fn is_fenced(target: &mut Connection) -> Result<bool, Error> {
    let run = state::run(target)?.ok_or(Error::NotBegun)?;
    if run.phase == Phase::Switched { Err(Error::Switched) } else { Ok(!run.fence.is_empty()) }
}
