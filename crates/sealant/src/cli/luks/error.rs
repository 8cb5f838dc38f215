//! Errors of the library for the user.

use luks::backup::BackupError;
use luks::cryptsetup::Cryptsetup;
use luks::device::DeviceError;
use luks::key::KeyError;

use crate::output::message::Failure;

/// The program, or why there is none that can be used.
pub(in crate::cli) fn cryptsetup() -> Result<Cryptsetup, Failure> {
    Ok(Cryptsetup::find()?)
}

/// A header or a backup that cannot be used.
pub(in crate::cli) fn backup(error: BackupError) -> Failure {
    Failure::from(error)
}

/// Keys that cannot be changed.
pub(in crate::cli) fn key(error: KeyError) -> Failure {
    Failure::from(error)
}

/// A disk or a volume that is not to be had.
pub(in crate::cli) fn device(error: DeviceError) -> Failure {
    Failure::from(error)
}
