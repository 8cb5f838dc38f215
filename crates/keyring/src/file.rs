//! Reads files of keys and passwords into memory that is wiped.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::Path,
};

use files::regular::{self, Links, NotRegular};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use zeroize::Zeroizing;

use crate::{error::Error, limits::MAX_STORE_BYTES};

/// Size of the first buffer for a source of unknown length.
const FIRST_BYTES: usize = 64 << 10;

/// Reads a whole key store, configuration or password file.
///
/// A path in `/dev` or `/proc` that names an open descriptor may also be a pipe, as from the shell's `<(…)`. Other
/// pipes and devices are refused: reading them may block forever, or take data from another reader.
///
/// # Errors
/// [`Error::NotFound`], [`Error::NotPermitted`], [`Error::NotAFile`],
/// [`Error::TooLarge`] above [`MAX_STORE_BYTES`], [`Error::Io`].
pub fn read_file(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut file = match open_pipe(path)? {
        Some(pipe) => pipe,
        None => regular::open(path, Links::Followed).map_err(|error| match NotRegular::in_error(&error) {
            Some(NotRegular { found }) => Error::NotAFile { found },
            None => error.into(),
        })?,
    };
    let metadata = file.metadata()?;
    read(&mut file, if metadata.is_file() { metadata.len() } else { 0 })
}

/// Opens a pipe that is a descriptor of this process; `None` for any other path.
fn open_pipe(path: &Path) -> io::Result<Option<File>> {
    if !is_descriptor(path) || !std::fs::metadata(path)?.file_type().is_fifo() {
        return Ok(None);
    }
    // Non-blocking, because opening a pipe waits for a writer.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    wait_again(&file)?;
    Ok(Some(file))
}

/// Reads a key store into memory that is wiped when dropped. `file_bytes` is the expected length; the file may have
/// grown.
///
/// # Errors
/// [`Error::TooLarge`] above [`MAX_STORE_BYTES`], [`Error::Io`].
pub fn read(source: &mut impl Read, file_bytes: u64) -> Result<Zeroizing<Vec<u8>>, Error> {
    let too_large = || Error::TooLarge { limit: MAX_STORE_BYTES };
    let limit = usize::try_from(MAX_STORE_BYTES).map_err(|_| too_large())?;
    let expected = usize::try_from(file_bytes).map_err(|_| too_large())?;
    if expected > limit {
        return Err(too_large());
    }
    // One byte more than expected, so that the end is found without reallocation.
    let first = if expected == 0 { FIRST_BYTES } else { expected.saturating_add(1) };
    files::read_wiped(source, first, limit)?.ok_or_else(too_large)
}

/// Whether the path names an open descriptor of this process.
fn is_descriptor(path: &Path) -> bool {
    path == Path::new("/dev/stdin") || ["/dev/fd", "/proc/self/fd"].iter().any(|directory| path.starts_with(directory))
}

fn wait_again(file: &File) -> io::Result<()> {
    let flags = fcntl_getfl(file)?;
    Ok(fcntl_setfl(file, flags.difference(OFlags::NONBLOCK))?)
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        os::{fd::AsRawFd, unix::net::UnixListener},
        thread,
    };

    use super::*;

    #[test]
    fn a_file_is_read_completely() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys");
        for bytes in [0, 1, 4096, 300_000] {
            std::fs::write(&path, vec![7; bytes]).unwrap();
            assert_eq!(**read_file(&path).unwrap(), vec![7; bytes]);
        }
    }

    #[test]
    fn the_error_names_the_type_of_a_special_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        assert!(matches!(read_file(&path), Err(Error::NotFound)));
        let found = |path: &Path| match read_file(path) {
            Err(Error::NotAFile { found }) => found,
            other => panic!("{other:?}"),
        };
        assert_eq!(found(directory.path()), "a directory");
        assert_eq!(found(Path::new("/dev/zero")), "a device");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        assert_eq!(found(&path), "a named pipe");
        let socket = directory.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        assert_eq!(found(&socket), "a socket");
    }

    #[test]
    fn a_pipe_of_the_shell_is_read_to_its_end() {
        for bytes in [0, 1, FIRST_BYTES - 1, FIRST_BYTES, FIRST_BYTES + 1, 700_000] {
            let (reader, mut writer) = io::pipe().unwrap();
            let path = format!("/dev/fd/{}", reader.as_raw_fd());
            let written = thread::spawn(move || {
                for chunk in vec![9; bytes].chunks(1000) {
                    writer.write_all(chunk).unwrap();
                }
            });
            assert_eq!(**read_file(Path::new(&path)).unwrap(), vec![9; bytes]);
            written.join().unwrap();
        }
    }

    #[test]
    fn an_endless_pipe_ends_at_the_limit() {
        let (reader, mut writer) = io::pipe().unwrap();
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        let writing = thread::spawn(move || while writer.write_all(&[1; 65536]).is_ok() {});
        assert!(matches!(read_file(Path::new(&path)), Err(Error::TooLarge { .. })));
        drop(reader);
        writing.join().unwrap();
    }
}
