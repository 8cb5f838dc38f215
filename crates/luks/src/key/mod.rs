//! Keys of a volume: adds keys with proof, and rotates a key without a moment in which no stored key opens the volume.

mod rotate;
mod store;

use std::io;
use std::path::{Path, PathBuf};

pub use rotate::{Rotation, Step, Stepped};

use crate::backup::{BackupError, Header, open};
use crate::cryptsetup::{Cryptsetup, CryptsetupError};
use crate::error::hint_of_io;
use crate::luks1;
use crate::read::Readable;
use crate::secret::Secret;
use crate::volume::{Format, Volume};

/// Why keys were not changed, or only partly.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A key file or its directory cannot be read or written.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// Path of the file or device.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The key file to create already exists.
    #[error("{path}: exists, and a key is never overwritten", path = .path.display())]
    Exists {
        /// Path of the file or device.
        path: PathBuf,
    },
    /// The state of the volume forbids it.
    #[error("{device}: {why}; nothing was changed", device = .device.display())]
    Refused {
        /// The volume.
        device: PathBuf,
        /// The reason, as messages give it.
        why: String,
    },
    /// The key opens no slot.
    #[error("{key}: does not open {device}; nothing was changed", key = .key.display(), device = .device.display())]
    WrongKey {
        /// The key file.
        key: PathBuf,
        /// The volume.
        device: PathBuf,
    },
    /// A key was added but does not open the volume.
    #[error("{device}: the key that was added does not open it; the earlier key still does", device = .device.display())]
    NotProven {
        /// The volume.
        device: PathBuf,
    },
    /// The old key still opens the volume although its slots were removed.
    #[error("{device}: the old key still opens slot {slot}; both keys are kept", device = .device.display())]
    OldKeyOpens {
        /// The volume.
        device: PathBuf,
        /// Slot that it opens.
        slot: u32,
    },
    /// Another rotation is running.
    #[error("{path}: another rotation is running here", path = .path.display())]
    Busy {
        /// Directory of the key file.
        path: PathBuf,
    },
    /// The caller asked to stop between two steps.
    #[error("stopped; the same command resumes it")]
    Stopped,
    /// The header or its backup is at fault.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// cryptsetup failed.
    #[error(transparent)]
    Cryptsetup(#[from] CryptsetupError),
}

impl KeyError {
    /// The next step for the user, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { source, .. } => hint_of_io(source),
            Self::Exists { .. } => Some("leave out --make-key to use it"),
            Self::Backup(error) => error.hint(),
            Self::Cryptsetup(error) => error.hint(),
            _ => None,
        }
    }
}

impl KeyError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// Creates a key of 64 random bytes in a new file.
///
/// # Errors
/// [`KeyError::Io`].
pub fn make(path: &Path) -> Result<Secret, KeyError> {
    Secret::random().and_then(|key| key.store(path).map(|()| key)).map_err(KeyError::io(path))
}

/// Checks that a key can be read from this file, or with `make` that it can be created. Writes nothing.
///
/// # Errors
/// [`KeyError::Exists`], [`KeyError::Io`].
pub fn check_file(path: &Path, make: bool) -> Result<(), KeyError> {
    match make {
        true if path.exists() => Err(KeyError::Exists { path: path.to_owned() }),
        true => Ok(()),
        false => Secret::read_file(path).map(drop).map_err(KeyError::io(path)),
    }
}

/// Adds the key `new` to `device`, authorised by `key`, and proves that it opens the volume. Returns its slot. A key
/// that already opens the volume is not added again.
///
/// # Errors
/// [`KeyError`].
pub fn add(
    cryptsetup: &Cryptsetup,
    device: &Path,
    key: &Secret,
    new: &Secret,
    iterations: Option<u32>,
) -> Result<u32, KeyError> {
    let volume = changeable(device)?;
    if let Some(slot) = cryptsetup.opens(device, new, None)? {
        return Ok(slot);
    }
    check_room(&volume, device)?;
    cryptsetup.add_key(device, key, new, iterations)?;
    cryptsetup.opens(device, new, None)?.ok_or_else(|| KeyError::NotProven { device: device.to_owned() })
}

/// Reads the header, if its keys may be changed.
fn changeable(device: &Path) -> Result<Volume, KeyError> {
    let header = Header::read(&open(device)?, device)?;
    let refused = |why: &str| Err(KeyError::Refused { device: device.to_owned(), why: why.to_owned() });
    if header.readable != Readable::Yes {
        return refused(
            "one copy of its header is damaged; `sealant luks audit` says more, `cryptsetup repair` repairs it",
        );
    }
    let volume = header.volume;
    if volume.reencrypting() {
        return refused("a re-encryption is not finished");
    }
    if !volume.requirements.is_empty() {
        return refused("its header has an unknown requirement");
    }
    if volume.excess().is_some() {
        return refused("a key slot or a digest asks for an absurd amount of work; `sealant luks audit` names it");
    }
    Ok(volume)
}

fn check_room(volume: &Volume, device: &Path) -> Result<(), KeyError> {
    let most = if volume.format == Format::Luks1 { luks1::SLOTS } else { crate::luks2::MAX_OBJECTS };
    if volume.slots.len() < most {
        return Ok(());
    }
    Err(KeyError::Refused {
        device: device.to_owned(),
        why: "all its key slots are in use; remove one first".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_never_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        assert!(check_file(&path, true).is_ok() && check_file(&path, false).is_err());
        let key = make(&path).unwrap();
        assert_eq!(Secret::read_file(&path).unwrap().bytes(), key.bytes());
        let exists = check_file(&path, true).unwrap_err();
        assert!(exists.hint().is_some_and(|hint| hint.contains("--make-key")), "{exists}");
        assert!(check_file(&path, false).is_ok() && make(&path).is_err());
    }
}
