//! How much of a file is in the page cache.

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

/// How much of the files is cached, estimated from samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Residency {
    /// Number of bytes sampled.
    #[serde(rename = "looked_at")]
    pub sampled: u64,
    /// Number of samples that were in the cache.
    pub cached: u64,
}

/// Distance between samples. A sample of an uncached page makes the kernel read it, so few are taken.
const STRIDE: u64 = 16 << 20;
/// Maximum number of samples for one file.
const MAX_SAMPLES: u64 = 64;
/// Attempts to drop a file. A sample of an uncached page makes the kernel read it; on a fast disk such pages can arrive
/// before sampling ends, and the file is dropped again.
const TRIES: u32 = 5;

/// Reads the files completely, so that all of them are cached, as far as memory permits.
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

/// Drops the files from the page cache, and checks it.
///
/// # Errors
/// [`Error::NotCold`] if a file remains cached, [`Error::File`].
pub fn drop_cache(files: &[PathBuf]) -> Result<(), Error> {
    for path in files {
        let file = File::open(path).map_err(Error::file(path))?;
        // Dirty pages cannot be dropped.
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

/// How much of the files is in the page cache. Sampling changes it slightly.
///
/// # Errors
/// [`Error::File`].
pub fn residency(files: &[PathBuf]) -> Result<Residency, Error> {
    let mut all = Residency::default();
    for path in files {
        let file = File::open(path).map_err(Error::file(path))?;
        let seen = sample(&file, path)?;
        all.sampled += seen.sampled;
        all.cached += seen.cached;
    }
    Ok(all)
}

/// Drops a file from the cache, and checks that at most a few sampled pages remain.
fn is_dropped(file: &File, path: &Path) -> Result<bool, Error> {
    evict(file, path)?;
    let seen = sample(file, path)?;
    // The samples themselves brought these pages into the cache.
    evict(file, path)?;
    Ok(seen.cached * 8 <= seen.sampled)
}

fn evict(file: &File, path: &Path) -> Result<(), Error> {
    fadvise(file, 0, None, Advice::DontNeed).map_err(|errno| Error::file(path)(errno.into()))
}

/// Samples single bytes with reads that only the cache may satisfy.
fn sample(file: &File, path: &Path) -> Result<Residency, Error> {
    let bytes = file.metadata().map_err(Error::file(path))?.len();
    let stride = STRIDE.max(bytes / MAX_SAMPLES);
    // No read-ahead around a sample.
    fadvise(file, 0, None, Advice::Random).map_err(|errno| Error::file(path)(errno.into()))?;
    let mut seen = Residency::default();
    let mut offset = 0;
    while offset < bytes {
        let mut byte = [0];
        let read = preadv2(file, &mut [IoSliceMut::new(&mut byte)], offset, ReadWriteFlags::NOWAIT);
        seen.sampled += 1;
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
    fn a_file_is_cached_after_a_read_but_not_after_a_drop() {
        let mut file = tempfile::NamedTempFile::new_in(".").unwrap();
        file.write_all(&vec![7; 4 << 20]).unwrap();
        let files = [file.path().to_path_buf()];
        warm(&files).unwrap();
        assert_eq!(residency(&files).unwrap(), Residency { sampled: 1, cached: 1 });
        match drop_cache(&files) {
            Ok(()) => assert_eq!(residency(&files).unwrap().sampled, 1),
            // The file system is in memory.
            Err(error) => assert!(matches!(error, Error::NotCold { .. }), "{error}"),
        }
    }
}
