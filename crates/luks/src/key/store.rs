//! The key file and its companions during a rotation.
//!
//! `KEY` always opens the volume. `KEY.sealant-new` holds the next key until it replaces `KEY`; `KEY.sealant-old` holds
//! the previous key until its slots are removed. Which of these files exist shows how far a rotation came, so that a
//! resumed run needs no other record.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use aws_lc_rs::rand;
use files::WriteOptions;
use zeroize::Zeroizing;

use crate::Error;
use crate::secret::{KEY_BYTES, Secret};

/// The three files, and the lock on them.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) key: PathBuf,
    pub(super) new: PathBuf,
    pub(super) old: PathBuf,
    /// Held during the rotation.
    _lock: File,
}

impl Store {
    pub(super) fn open(key: &Path) -> Result<Self, Error> {
        // Renaming over a link would leave the old key in the file that the boot reads.
        let key = &fs::canonicalize(key).map_err(Error::io(key))?;
        let directory = files::parent(key);
        let lock = File::open(directory).map_err(Error::io(directory))?;
        if lock.try_lock().is_err() {
            return Err(Error::Busy { path: directory.to_owned() });
        }
        let beside = |suffix: &str| {
            let mut name = key.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        Ok(Self { key: key.to_owned(), new: beside(".sealant-new"), old: beside(".sealant-old"), _lock: lock })
    }

    pub(super) fn read(path: &Path) -> Result<Secret, Error> {
        Secret::read_file(path).map_err(Error::io(path))
    }

    /// Creates the next key, on disk before it is used anywhere.
    pub(super) fn make_new(&self) -> Result<(), Error> {
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        let filled = rand::fill(bytes.as_mut_slice()).map_err(|_| io::Error::other("no random numbers"));
        let like = |()| files::write_atomic(&self.new, bytes.as_slice(), self.new_options()?);
        filled.and_then(like).map_err(Error::io(&self.new))
    }

    /// The next key gets the owner of the current one, and no wider permissions.
    fn new_options(&self) -> io::Result<WriteOptions> {
        let now = fs::metadata(&self.key)?;
        let owner = (now.uid() != rustix::process::geteuid().as_raw()).then_some((now.uid(), now.gid()));
        Ok(WriteOptions { mode: now.mode() & 0o700, owner, replace: false })
    }

    /// Stores a copy of the current key beside it. An existing copy must be identical.
    pub(super) fn keep_old(&self) -> Result<(), Error> {
        let now = Self::read(&self.key)?;
        if self.old.exists() {
            let same = Self::read(&self.old)?.bytes() == now.bytes();
            let other = || io::Error::other("exists and holds another key; find out what it is for");
            return if same { Ok(()) } else { Err(Error::io(&self.old)(other())) };
        }
        files::write_atomic(&self.old, now.bytes(), WriteOptions::SECRET).map_err(Error::io(&self.old))
    }

    /// Replaces the current key file with the next key.
    pub(super) fn promote(&self) -> Result<(), Error> {
        fs::rename(&self.new, &self.key).and_then(|()| files::sync_parent(&self.key)).map_err(Error::io(&self.key))
    }

    /// Overwrites the old key, as far as that has an effect on this file system, and deletes it.
    pub(super) fn forget_old(&self) -> Result<(), Error> {
        let forget = || {
            let length = usize::try_from(fs::metadata(&self.old)?.len()).unwrap_or_default();
            let mut file = OpenOptions::new().write(true).open(&self.old)?;
            file.write_all(&vec![0; length])?;
            file.sync_all()?;
            fs::remove_file(&self.old)?;
            files::sync_parent(&self.old)
        };
        forget().map_err(Error::io(&self.old))
    }
}
