//! Plain reads of files: the upper limit of any verification.

use std::{
    fs::{File, OpenOptions},
    io,
    num::NonZeroUsize,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use rustix::fs::OFlags;

use crate::{Arm, Error};

/// Length of one read.
const BUFFER_BYTES: usize = 1 << 20;
const BUFFER: u64 = BUFFER_BYTES as u64;
/// Alignment of memory for direct reads.
const ALIGNMENT: usize = 4096;

/// Reads the files with `pread`, 1 MiB at a time, with `threads` threads.
pub fn read_cached<'a>(name: impl Into<String>, files: &'a [PathBuf], threads: NonZeroUsize) -> Arm<'a> {
    Arm::new(name, move || {
        let mut bytes = 0_u64;
        for path in files {
            let file = File::open(path).map_err(Error::file(path))?;
            bytes += read_by_many(&file, path, threads)?;
        }
        Ok(bytes)
    })
}

/// Reads the files one after the other by direct reads of 1 MiB, one at a time, like `fio --rw=read --direct=1
/// --bs=1M`.
pub fn read_direct<'a>(name: impl Into<String>, files: &'a [PathBuf]) -> Arm<'a> {
    Arm::new(name, move || {
        let flags = i32::try_from(OFlags::DIRECT.bits()).unwrap_or_default();
        let mut memory = aligned();
        let mut bytes = 0_u64;
        for path in files {
            let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(Error::file(path))?;
            let mut offset = 0;
            loop {
                let read = file.read_at(room(&mut memory), offset).map_err(Error::file(path))?;
                offset += u64::try_from(read).unwrap_or(0);
                if read < BUFFER_BYTES {
                    break;
                }
            }
            bytes += offset;
        }
        Ok(bytes)
    })
}

fn read_by_many(file: &File, path: &Path, threads: NonZeroUsize) -> Result<u64, Error> {
    let (next, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = || -> io::Result<()> {
        let mut memory = aligned();
        loop {
            let offset = next.fetch_add(BUFFER, Ordering::Relaxed);
            let read = file.read_at(room(&mut memory), offset)?;
            bytes.fetch_add(u64::try_from(read).unwrap_or(0), Ordering::Relaxed);
            if read < BUFFER_BYTES {
                return Ok(());
            }
        }
    };
    let done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.get()).map(|_| scope.spawn(work)).collect();
        let current = work();
        others.into_iter().fold(current, |done, other| other.join().unwrap_or(Ok(())).and(done))
    });
    done.map_err(Error::file(path))?;
    Ok(bytes.into_inner())
}

fn aligned() -> Vec<u8> {
    vec![0; BUFFER_BYTES + ALIGNMENT]
}

fn room(memory: &mut [u8]) -> &mut [u8] {
    let skip = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
    &mut memory[skip..skip + BUFFER_BYTES]
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::{Experiment, Rounds, Settings};

    #[test]
    fn every_byte_is_read_once() {
        let file = tempfile::NamedTempFile::new_in(".").unwrap();
        std::fs::write(file.path(), vec![1; 3 * BUFFER_BYTES + 4096 * 3]).unwrap();
        let files = [file.path().to_path_buf()];
        let settings = Settings { rounds: Rounds::Exactly(NonZeroU32::MIN), ..Settings::default() };
        let three = NonZeroUsize::new(3).unwrap();
        let experiment = Experiment::new("read")
            .arm(read_cached("1", &files, NonZeroUsize::MIN))
            .arm(read_cached("3", &files, three))
            .arm(read_direct("direct", &files));
        let samples = match experiment.run(&settings, &|_| {}) {
            Ok(samples) => samples,
            // The file system does not support direct reads.
            Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::InvalidInput => return,
            Err(error) => panic!("{error}"),
        };
        let bytes: Vec<u64> = samples.all().iter().map(|sample| sample.amount).collect();
        assert_eq!(bytes, [(3 * BUFFER_BYTES + 4096 * 3) as u64; 3]);
    }
}
