//! What of a file is in the page cache.

use std::{
    fs::File,
    io::{IoSliceMut, Read},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Advice, fadvise, fsync},
    io::{ReadWriteFlags, preadv2},
};
use serde::Serialize;

use crate::Error;

/// How much of the files is in the page cache, by samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Residency {
    /// Places looked at.
    pub looked_at: u64,
    /// Places that were in the cache.
    pub cached: u64,
}

/// Distance between two places that are looked at. A look at what is not cached makes the kernel
/// read it, so few are taken.
const STRIDE: u64 = 16 << 20;
/// Most places of one file.
const MOST: u64 = 64;
/// What a look makes the kernel read may be there before the look has ended, if the disk is quick
/// and the processor busy: then the file is dropped again.
const TRIES: u32 = 5;

/// Reads the files whole, so that all of them are in the page cache, as far as memory goes.
///
/// # Errors
/// [`Error::File`].
pub fn warm(files: &[PathBuf]) -> Result<(), Error> {
    let mut buffer = vec![0; 1 << 20];
    for path in files {
        let mut file = File::open(path).map_err(Error::file(path))?;
        while file.read(&mut buffer).map_err(Error::file(path))? > 0 {}
    }
    Ok(())
}

/// Takes the files out of the page cache and proves it.
///
/// # Errors
/// [`Error::NotCold`] if a file stays, [`Error::File`].
pub fn forget(files: &[PathBuf]) -> Result<(), Error> {
    for path in files {
        let file = File::open(path).map_err(Error::file(path))?;
        // What is not yet on disk cannot be dropped.
        fsync(&file).map_err(|errno| Error::file(path)(errno.into()))?;
        let mut tries = 1;
        while !is_dropped(&file, path)? {
            if tries == TRIES {
                return Err(Error::NotCold { path: path.clone() });
            }
            tries += 1;
        }
    }
    Ok(())
}

/// How much of the files is in the page cache. Changes it a little.
///
/// # Errors
/// [`Error::File`].
pub fn residency(files: &[PathBuf]) -> Result<Residency, Error> {
    let mut all = Residency::default();
    for path in files {
        let file = File::open(path).map_err(Error::file(path))?;
        let seen = look(&file, path)?;
        all.looked_at += seen.looked_at;
        all.cached += seen.cached;
    }
    Ok(all)
}

/// Drops a file and looks whether it is gone but for a few places.
fn is_dropped(file: &File, path: &Path) -> Result<bool, Error> {
    drop_cache(file, path)?;
    let seen = look(file, path)?;
    // The looks themselves brought in what they looked at.
    drop_cache(file, path)?;
    Ok(seen.cached * 8 <= seen.looked_at)
}

fn drop_cache(file: &File, path: &Path) -> Result<(), Error> {
    fadvise(file, 0, None, Advice::DontNeed).map_err(|errno| Error::file(path)(errno.into()))
}

/// Reads single bytes that may come from the cache only.
fn look(file: &File, path: &Path) -> Result<Residency, Error> {
    let bytes = file.metadata().map_err(Error::file(path))?.len();
    let stride = STRIDE.max(bytes / MOST);
    // Nothing beside the place.
    fadvise(file, 0, None, Advice::Random).map_err(|errno| Error::file(path)(errno.into()))?;
    let mut seen = Residency::default();
    let mut offset = 0;
    while offset < bytes {
        let mut byte = [0];
        let read = preadv2(file, &mut [IoSliceMut::new(&mut byte)], offset, ReadWriteFlags::NOWAIT);
        seen.looked_at += 1;
        seen.cached += u64::from(read == Ok(1));
        offset += stride;
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_just_read_is_cached_and_one_forgotten_is_not() {
        let mut file = tempfile::NamedTempFile::new_in(".").unwrap();
        file.write_all(&vec![7; 4 << 20]).unwrap();
        let files = [file.path().to_path_buf()];
        warm(&files).unwrap();
        assert_eq!(residency(&files).unwrap(), Residency { looked_at: 1, cached: 1 });
        match forget(&files) {
            Ok(()) => assert_eq!(residency(&files).unwrap().looked_at, 1),
            // A file system in memory.
            Err(error) => assert!(matches!(error, Error::NotCold { .. }), "{error}"),
        }
    }
}
