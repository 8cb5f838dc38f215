//! Errors of the library with what to do about them.

use luks::backup::BackupError;
use luks::cryptsetup::{Cryptsetup, CryptsetupError};
use luks::device::{DeviceError, Use};
use luks::key::KeyError;

use crate::output::message::Failure;

/// The program, or why there is none that can be used.
pub(in crate::cli) fn cryptsetup() -> Result<Cryptsetup, Failure> {
    Cryptsetup::find().map_err(|error| backup(error.into()))
}

/// A header or a backup that cannot be used.
pub(in crate::cli) fn backup(error: BackupError) -> Failure {
    let hint = match &error {
        BackupError::Io { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists => {
            Some("backups are never overwritten; choose another name")
        }
        BackupError::Io { source, .. } => of_io(source),
        BackupError::Unreadable { .. } => Some("`sealant luks audit` says more"),
        BackupError::Cryptsetup(error) => of_cryptsetup(error),
        _ => None,
    };
    with(error.to_string(), hint)
}

/// Keys that cannot be changed.
pub(in crate::cli) fn key(error: KeyError) -> Failure {
    let hint = match &error {
        KeyError::Backup(_) | KeyError::Stopped => None,
        KeyError::Io { source, .. } => of_io(source),
        KeyError::Cryptsetup(error) => of_cryptsetup(error),
        _ => None,
    };
    match error {
        KeyError::Backup(error) => backup(error),
        other => with(other.to_string(), hint),
    }
}

/// A disk or a volume that is not to be had.
pub(in crate::cli) fn device(error: DeviceError) -> Failure {
    let hint = match &error {
        DeviceError::Io { source, .. } => of_io(source),
        DeviceError::Cryptsetup(error) => of_cryptsetup(error),
        DeviceError::Used { uses, .. } if uses.iter().all(|each| matches!(each, Use::Data { .. })) => {
            Some("if it is surely rubbish: --destroy-unknown-data")
        }
        DeviceError::Used { uses, .. } if uses.iter().all(|each| matches!(each, Use::Signature(_))) => {
            Some("if it is surely not needed: `wipefs --all` on it first, and look twice at the name")
        }
        _ => None,
    };
    match error {
        DeviceError::Backup(error) => backup(error),
        DeviceError::Key(error) => key(error),
        other => with(other.to_string(), hint),
    }
}

fn of_io(error: &std::io::Error) -> Option<&'static str> {
    let denied = error.kind() == std::io::ErrorKind::PermissionDenied;
    denied.then_some("run as root, or as a member of the group `disk`")
}

fn of_cryptsetup(error: &CryptsetupError) -> Option<&'static str> {
    let absent = matches!(error, CryptsetupError::Missing | CryptsetupError::TooOld { .. });
    absent.then_some("install the package cryptsetup-bin (Debian, Ubuntu) or cryptsetup (others)")
}

fn with(error: String, hint: Option<&str>) -> Failure {
    let failure = Failure::new(error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
