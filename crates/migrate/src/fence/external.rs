//! The fence `external`: the user, or a program of the user, stops writes.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use super::Former;
use crate::{Error, fencing::LastingFence, program, settings::Settings, shared::Shared};

/// Longest time for which the program that has stopped writes takes that back.
const LIFT_TIME: Duration = Duration::from_secs(60);

/// Lets the user's program stop writes.
pub(super) fn raise(program: &Path, settings: &Settings, shared: &Shared) -> Result<(), Error> {
    program::run(program, "fence", settings, || shared.has_ended())
}

/// Lets the user's program take back what it did, if it has stopped writes.
///
/// # Errors
/// [`Error::StillFenced`].
pub(crate) fn lift_external(before: &Former, settings: &Settings) -> Result<(), Error> {
    let Some(LastingFence::External(Some(path))) = &settings.fencing.lasting else { return Ok(()) };
    if !before.is_external() {
        return Ok(());
    }
    let began = Instant::now();
    program::run(path, "lift", settings, || began.elapsed() > LIFT_TIME).map_err(|error| before.still_fenced(&error))
}
