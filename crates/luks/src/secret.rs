//! Keys and passphrases for cryptsetup.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use aws_lc_rs::rand;
use files::WriteOptions;
use zeroize::Zeroizing;

/// The exact bytes of a key or passphrase; wiped on drop.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

/// Size of the keys that we create: as long as the longest volume key, and impossible to guess.
pub(crate) const KEY_BYTES: usize = 64;
/// Maximum size of a key or passphrase. A pipe buffers this many bytes before anyone reads.
const MAX_BYTES: usize = 1 << 15;

impl Secret {
    /// Takes ownership of the bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Reads all of `source`.
    ///
    /// # Errors
    /// Read errors; an empty source; more than 32 KiB, which cannot be a key.
    pub fn read(source: &mut dyn Read) -> io::Result<Self> {
        // Full capacity from the start: a vector that grows leaves copies behind.
        let mut bytes = Zeroizing::new(vec![0; MAX_BYTES.saturating_add(1)]);
        let mut filled = 0usize;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match source.read(rest) {
                Ok(0) => break,
                Ok(count) => filled = filled.saturating_add(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if filled == 0 {
            return Err(io::Error::other("the key is empty"));
        }
        if filled > MAX_BYTES {
            return Err(io::Error::other("too large for a key"));
        }
        bytes.truncate(filled);
        Ok(Self(bytes))
    }

    /// Reads the exact bytes of a file.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_file(path: &Path) -> io::Result<Self> {
        File::open(path).and_then(|mut file| Self::read(&mut file))
    }

    /// Writes the exact bytes.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.0).and_then(|()| out.flush())
    }

    /// Creates a key of 64 random bytes.
    ///
    /// # Errors
    /// The system provides no random numbers.
    pub fn random() -> io::Result<Self> {
        let mut bytes = Zeroizing::new(vec![0; KEY_BYTES]);
        rand::fill(&mut bytes).map_err(|_| io::Error::other("no random numbers"))?;
        Ok(Self(bytes))
    }

    /// Stores the key in a new file that only its owner may read.
    ///
    /// # Errors
    /// Errors of the system; the file exists.
    pub fn store(&self, path: &Path) -> io::Result<()> {
        files::write_atomic(path, &self.0, WriteOptions::SECRET)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
