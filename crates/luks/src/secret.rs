//! Keys and passphrases on their way to cryptsetup.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use aws_lc_rs::rand;
use files::WriteOptions;
use zeroize::Zeroizing;

/// A key or passphrase, exact bytes; wiped when it goes.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

/// Bytes of a key that we make: as much as the longest volume key; more than anybody can guess.
pub(crate) const KEY_BYTES: usize = 64;
/// A pipe holds as many before anybody reads.
const MAX_BYTES: usize = 1 << 15;

impl Secret {
    /// Takes over bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// All that `source` holds.
    ///
    /// # Errors
    /// What the system reports, no bytes at all, or more than 32 KiB, which is no key.
    pub fn read(source: &mut dyn Read) -> io::Result<Self> {
        // Room from the start: a vector that grows leaves copies behind.
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

    /// The key in a file, exact bytes.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_file(path: &Path) -> io::Result<Self> {
        File::open(path).and_then(|mut file| Self::read(&mut file))
    }

    /// Writes the key, exact bytes.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.0).and_then(|()| out.flush())
    }

    /// A new key: 64 random bytes.
    ///
    /// # Errors
    /// There are no random numbers.
    pub fn random() -> io::Result<Self> {
        let mut bytes = Zeroizing::new(vec![0; KEY_BYTES]);
        rand::fill(&mut bytes).map_err(|_| io::Error::other("no random numbers"))?;
        Ok(Self(bytes))
    }

    /// Keeps it in a new file that only its owner may read.
    ///
    /// # Errors
    /// What the system reports, also if a file is in the way.
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
