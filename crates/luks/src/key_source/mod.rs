//! Sources of a volume's key at boot, other than a file on the system's own disk: a file on a USB stick, a program,
//! HashiCorp Vault.
//!
//! At boot, devices, networks and servers may come up later than we do, so each source is retried until a deadline.

mod key_device;
mod program;
mod vault;

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

pub use vault::Vault;

use crate::Error;
use crate::secret::Secret;

/// Pause before a failed attempt is repeated.
const RETRY: Duration = Duration::from_secs(1);
/// Interval at which a missing file or device is looked for.
const POLL: Duration = Duration::from_millis(100);

/// A source of a key.
#[derive(Debug)]
pub enum Source {
    /// A file that holds exactly the bytes of the key.
    File(PathBuf),
    /// The same on a device such as a USB stick, which is mounted read-only to read it.
    KeyDevice {
        /// Path of the device.
        device: PathBuf,
        /// Path of the file on it.
        file: PathBuf,
    },
    /// A program that writes exactly the bytes of the key to its standard output. It gets no arguments.
    Program(PathBuf),
    /// A field of a secret in Vault.
    Vault(Vault),
}

impl Source {
    /// Fetches the key; waits for it until `deadline`.
    ///
    /// # Errors
    /// [`Error`].
    pub fn key(&self, deadline: Instant) -> Result<Secret, Error> {
        match self {
            Self::File(path) => read_file(path, deadline),
            Self::KeyDevice { device, file } => key_device::key(device, file, deadline),
            Self::Program(program) => program::key(program, deadline),
            Self::Vault(vault) => vault.key(deadline),
        }
    }
}

/// Whether there is time for another attempt.
fn leaves_time(deadline: Instant) -> bool {
    deadline.saturating_duration_since(Instant::now()) > RETRY
}

fn wait_for(path: &Path, deadline: Instant) -> Result<(), Error> {
    while !path.exists() {
        if Instant::now() > deadline {
            return Err(Error::Absent { path: path.to_owned() });
        }
        sleep(POLL);
    }
    Ok(())
}

fn read_file(path: &Path, deadline: Instant) -> Result<Secret, Error> {
    wait_for(path, deadline)?;
    // Opening a pipe without a writer would block.
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(nonblocking).open(path).map_err(Error::key_file(path))?;
    if !file.metadata().map_err(Error::key_file(path))?.is_file() {
        return Err(Error::NotAFile { path: path.to_owned() });
    }
    Secret::read(&mut &file).map_err(Error::key_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(300)
    }

    #[test]
    fn a_file_is_read_exactly_and_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        let absent = Source::File(path.clone()).key(soon()).unwrap_err();
        assert!(absent.to_string().ends_with("key: did not appear in time"), "{absent}");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sleep(Duration::from_millis(50));
                std::fs::write(directory.path().join("part"), "a b\n").unwrap();
                std::fs::rename(directory.path().join("part"), &path).unwrap();
            });
            let key = Source::File(path.clone()).key(Instant::now() + Duration::from_secs(10)).unwrap();
            assert_eq!(key.bytes(), b"a b\n");
        });
    }

    #[test]
    fn directories_and_files_of_an_impossible_length_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let refused = |path: &Path| Source::File(path.to_owned()).key(soon()).unwrap_err().to_string();
        assert!(refused(directory.path()).ends_with("is not a file"));
        let (empty, large) = (directory.path().join("empty"), directory.path().join("large"));
        std::fs::write(&empty, "").unwrap();
        std::fs::write(&large, vec![7; (1 << 15) + 1]).unwrap();
        assert!(refused(&empty).ends_with("the key is empty"));
        assert!(refused(&large).ends_with("too large for a key"));
    }
}
