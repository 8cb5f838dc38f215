//! Keys of a volume: adds keys with proof, and rotates a key without a moment in which no stored key opens the volume.

mod rotate;
mod store;

use std::path::Path;

pub use rotate::{CompletedStep, Rotation, RotationStep};

use crate::Error;
use crate::backup::{Header, open};
use crate::cryptsetup::Cryptsetup;
use crate::luks1;
use crate::read::Readable;
use crate::secret::Secret;
use crate::volume::{Format, Volume};

/// Creates a key of 64 random bytes in a new file.
///
/// # Errors
/// [`Error::Io`].
pub fn make(path: &Path) -> Result<Secret, Error> {
    Secret::random().and_then(|key| key.store(path).map(|()| key)).map_err(Error::io(path))
}

/// Checks that a key can be read from this file, or with `make` that it can be created. Writes nothing.
///
/// # Errors
/// [`Error::Exists`], [`Error::Io`].
pub fn check_file(path: &Path, make: bool) -> Result<(), Error> {
    match make {
        true if path.exists() => Err(Error::Exists { path: path.to_owned() }),
        true => Ok(()),
        false => Secret::read_file(path).map(drop).map_err(Error::io(path)),
    }
}

/// The slot that each key opens; `None` for a key that opens none.
///
/// # Errors
/// [`Error`], also if there are keys and cryptsetup is not installed.
pub fn slots_of(device: &Path, keys: &[Secret]) -> Result<Vec<Option<u32>>, Error> {
    keys.iter().map(|key| Cryptsetup::find()?.opens(device, key, None)).collect()
}

/// Adds the key `new` to `device`, authorised by `key`, and proves that it opens the volume. Returns its slot. A key
/// that already opens the volume is not added again.
///
/// # Errors
/// [`Error`].
pub fn add(
    cryptsetup: &Cryptsetup,
    device: &Path,
    key: &Secret,
    new: &Secret,
    iterations: Option<u32>,
) -> Result<u32, Error> {
    let volume = changeable(device)?;
    if let Some(slot) = cryptsetup.opens(device, new, None)? {
        return Ok(slot);
    }
    check_room(&volume, device)?;
    cryptsetup.add_key(device, key, new, iterations)?;
    cryptsetup
        .opens(device, new, None)?
        .ok_or_else(|| Error::not_proven(device, "the key that was added does not open it; the earlier key still does"))
}

/// Reads the header, if its keys may be changed.
fn changeable(device: &Path) -> Result<Volume, Error> {
    let header = Header::read(&open(device)?, device)?;
    let refused = |why: &str| Err(Error::refused(device, why));
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

fn check_room(volume: &Volume, device: &Path) -> Result<(), Error> {
    let most = if volume.format == Format::Luks1 { luks1::SLOTS } else { crate::luks2::MAX_OBJECTS };
    if volume.slots.len() < most {
        return Ok(());
    }
    Err(Error::refused(device, "all its key slots are in use; remove one first"))
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
