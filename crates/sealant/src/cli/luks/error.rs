//! Errors of the library with what to do about them.

use luks::backup::BackupError;
use luks::cryptsetup::Cryptsetup;
use luks::device::DeviceError;
use luks::key::KeyError;

use crate::output::message::Failure;

/// The program, or why there is none that can be used.
pub(in crate::cli) fn cryptsetup() -> Result<Cryptsetup, Failure> {
    Cryptsetup::find().map_err(|error| with(&error, error.hint()))
}

/// A header or a backup that cannot be used.
pub(in crate::cli) fn backup(error: BackupError) -> Failure {
    with(&error, error.hint())
}

/// Keys that cannot be changed.
pub(in crate::cli) fn key(error: KeyError) -> Failure {
    with(&error, error.hint())
}

/// A disk or a volume that is not to be had.
pub(in crate::cli) fn device(error: DeviceError) -> Failure {
    with(&error, error.hint())
}

fn with(error: &dyn std::fmt::Display, hint: Option<&str>) -> Failure {
    let failure = Failure::new(error.to_string());
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
