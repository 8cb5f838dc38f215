//! Keys of a volume: adds keys with proof, and rotates a key without a moment in which no stored key opens the volume.

mod rotate;
mod store;

use std::io;
use std::path::Path;

pub use rotate::{CompletedStep, Rotation, RotationStep};

use crate::Error;
use crate::backup::{Header, open};
use crate::cryptsetup::Cryptsetup;
use crate::luks1;
use crate::read::Readable;
use crate::secret::Secret;
use crate::volume::{Format, Volume};

/// Reads the exact bytes of a key file; `-` is standard input.
///
/// # Errors
/// [`Error::KeyFile`].
pub fn read(path: &Path) -> Result<Secret, Error> {
    let read = if is_stdin(path) { Secret::read(&mut io::stdin().lock()) } else { Secret::read_file(path) };
    read.map_err(Error::key_file(path))
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The key of a new volume.
#[derive(Clone, Copy, Debug)]
pub struct NewVolumeKey<'p> {
    /// Its file; `-` is standard input.
    pub path: &'p Path,
    /// Whether the file is created, with 64 random bytes. An existing one is never overwritten.
    pub make: bool,
}

impl<'p> NewVolumeKey<'p> {
    /// Checks that the key can be read or created. Writes nothing, and does not read standard input, which can be read
    /// only once.
    ///
    /// # Errors
    /// [`Error::KeyToStdin`], [`Error::Exists`], [`Error::Io`].
    pub fn check(self) -> Result<(), Error> {
        match self.make {
            true if is_stdin(self.path) => Err(Error::KeyToStdin),
            true if self.path.exists() => Err(Error::Exists { path: self.path.to_owned() }),
            true => Ok(()),
            false if is_stdin(self.path) => Ok(()),
            false => Secret::read_file(self.path).map(drop).map_err(Error::io(self.path)),
        }
    }

    /// The file that will be created.
    #[must_use]
    pub fn created(self) -> Option<&'p Path> {
        self.make.then_some(self.path)
    }

    /// Reads or creates the key.
    ///
    /// # Errors
    /// [`Error::KeyFile`] if it cannot be read, [`Error::Io`] if it cannot be created.
    pub fn read_or_create(self) -> Result<Secret, Error> {
        if !self.make {
            return read(self.path);
        }
        let made = Secret::random().and_then(|key| key.store(self.path).map(|()| key));
        made.map_err(Error::io(self.path))
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
            "one copy of its header is damaged; `sealant luks audit` shows details, `cryptsetup repair` repairs it",
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
        return refused("a key slot or a digest demands an excessive amount of work; `sealant luks audit` names it");
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
        let (old, new) = (NewVolumeKey { path: &path, make: false }, NewVolumeKey { path: &path, make: true });
        assert!(new.check().is_ok() && old.check().is_err() && old.read_or_create().is_err());
        let key = new.read_or_create().unwrap();
        assert_eq!(Secret::read_file(&path).unwrap().bytes(), key.bytes());
        let exists = new.check().unwrap_err();
        assert!(exists.hint().is_some_and(|hint| hint.contains("--make-key")), "{exists}");
        assert!(old.check().is_ok() && new.read_or_create().is_err());
        assert_eq!(old.read_or_create().unwrap().bytes(), key.bytes());
        assert_eq!((new.created(), old.created()), (Some(path.as_path()), None));
    }

    #[test]
    fn no_key_is_made_on_standard_input() {
        let error = NewVolumeKey { path: "-".as_ref(), make: true }.check().unwrap_err();
        assert!(matches!(error, Error::KeyToStdin) && error.hint().is_some(), "{error}");
    }

    #[test]
    fn standard_input_is_not_read_before_the_key_is_needed() {
        assert!(NewVolumeKey { path: "-".as_ref(), make: false }.check().is_ok());
    }
}
