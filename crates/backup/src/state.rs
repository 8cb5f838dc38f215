//! What this host remembers of its last backup: the map, and 8 bytes of hash for each page.
//!
//! ```text
//! STATE/REPOSITORY/HOST/lock
//!                       secret          32 random bytes, by which pages are hashed
//!                       000123/         of backup 123
//!                              receipt.json  receipt.json.sig
//!                              manifest.zst  JSON lines, as in the repository, but for this host alone
//!                              files.json    for each entry: bytes of a page, what its key is made of, where its hashes begin
//!                              pages         the hashes
//! ```
//!
//! A directory is written whole before the receipt is put into the repository, so that a run that was cut off between the two
//! is finished by the next one. All of it is a cache: without it, or if it does not fit the repository, the next backup is a
//! full one.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufReader, BufWriter, ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use archive::{Digest, Manifest, Receipt, names::Number};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::BackupError;

const LOCK: &str = "lock";
const SECRET: &str = "secret";
const SECRET_BYTES: usize = 32;
const RECEIPT: &str = "receipt.json";
const SIGNATURE: &str = "receipt.json.sig";
const MANIFEST: &str = "manifest.zst";
const FILES: &str = "files.json";
const PAGES: &str = "pages";
/// Ends the name of a directory that is being written.
const PART: &str = ".part";
/// Bytes that are remembered of a page.
pub(crate) const PAGE_HASH_BYTES: u64 = 8;

/// The state of one host in one repository, locked.
#[derive(Debug)]
pub(crate) struct State {
    directory: PathBuf,
    _lock: File,
    pub(crate) secret: Zeroizing<[u8; SECRET_BYTES]>,
}

/// What is remembered of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileState {
    /// Bytes of a page.
    pub(crate) unit_bytes: u32,
    /// What its key is made of, hashed; 0 without one.
    pub(crate) context: u64,
    /// Where its hashes begin.
    pub(crate) pages_at: u64,
}

/// What is remembered of a backup.
#[derive(Debug)]
pub(crate) struct Remembered {
    pub(crate) receipt: Receipt,
    pub(crate) sha256: Digest,
    pub(crate) receipt_bytes: Vec<u8>,
    pub(crate) signature: Vec<u8>,
    directory: PathBuf,
}

/// All of it, to compare with.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) manifest: Manifest,
    pub(crate) files: Vec<Option<FileState>>,
    pub(crate) pages: File,
}

impl State {
    /// Opens the state below `root`, and locks it.
    pub(crate) fn open(root: &Path, repository: &str, host: &str) -> Result<Self, BackupError> {
        let directory = root.join(repository).join(host);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&directory);
        made.map_err(BackupError::io(&directory, "the directory for the state of this host cannot be made"))?;
        let path = directory.join(LOCK);
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let lock = lock.map_err(BackupError::io(&path, "cannot be opened"))?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(BackupError::Busy { path });
        }
        let secret = secret(&directory.join(SECRET))?;
        let state = Self { directory, _lock: lock, secret };
        state.remove(|name| name.ends_with(PART))?;
        Ok(state)
    }

    /// What is remembered of the newest backup; `None` if nothing is, or it cannot be read.
    pub(crate) fn newest(&self) -> Result<Option<Remembered>, BackupError> {
        let mut numbers: Vec<Number> = self.names()?.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        let Some(number) = numbers.last() else { return Ok(None) };
        let directory = self.directory.join(directory_name(*number));
        let read = |name: &str| fs::read(directory.join(name)).ok();
        let (Some(receipt_bytes), Some(signature)) = (read(RECEIPT), read(SIGNATURE)) else { return Ok(None) };
        let Ok(receipt) = Receipt::parse(&receipt_bytes) else { return Ok(None) };
        let sha256 = Digest::of(&receipt_bytes);
        Ok(Some(Remembered { receipt, sha256, receipt_bytes, signature, directory }))
    }

    /// Begins to write what is to be remembered of a backup.
    pub(crate) fn begin(&self, number: Number) -> Result<Draft, BackupError> {
        let target = self.directory.join(directory_name(number));
        let directory = self.directory.join(format!("{}{PART}", directory_name(number)));
        let made = DirBuilder::new().mode(0o700).create(&directory);
        made.map_err(BackupError::io(&directory, "cannot be made"))?;
        let pages = create(&directory.join(PAGES), true)?;
        Ok(Draft { directory, target, pages })
    }

    /// Forgets all backups but one.
    pub(crate) fn forget_others(&self, number: Number) -> Result<(), BackupError> {
        self.remove(|name| name.parse::<Number>().is_ok_and(|other| other != number))
    }

    fn names(&self) -> Result<Vec<String>, BackupError> {
        let items = fs::read_dir(&self.directory).map_err(BackupError::io(&self.directory, "cannot be listed"))?;
        Ok(items.flatten().filter_map(|item| item.file_name().into_string().ok()).collect())
    }

    fn remove(&self, is_old: impl Fn(&str) -> bool) -> Result<(), BackupError> {
        for name in self.names()?.iter().filter(|name| is_old(name)) {
            let path = self.directory.join(name);
            fs::remove_dir_all(&path).map_err(BackupError::io(&path, "cannot be removed"))?;
        }
        Ok(())
    }
}

impl Remembered {
    /// All that is remembered; `None` if something of it is damaged.
    pub(crate) fn base(&self) -> Option<Base> {
        let manifest = zstd::Decoder::new(File::open(self.directory.join(MANIFEST)).ok()?).ok()?;
        let manifest = Manifest::read(&mut BufReader::new(manifest)).ok()?;
        let files: Vec<Option<FileState>> =
            serde_json::from_reader(BufReader::new(File::open(self.directory.join(FILES)).ok()?)).ok()?;
        let pages = File::open(self.directory.join(PAGES)).ok()?;
        (files.len() == manifest.files.len()).then_some(Base { manifest, files, pages })
    }
}

/// What is to be remembered, while it is written.
#[derive(Debug)]
pub(crate) struct Draft {
    directory: PathBuf,
    target: PathBuf,
    pub(crate) pages: File,
}

impl Draft {
    /// A file to write something to that goes on to the repository.
    pub(crate) fn scratch(&self, name: &str) -> Result<(PathBuf, File), BackupError> {
        let path = self.directory.join(name);
        let file = create(&path, true)?;
        Ok((path, file))
    }

    /// Writes the rest, and brings all of it to disk under its name.
    pub(crate) fn finish(
        self,
        manifest: &Manifest,
        files: &[Option<FileState>],
        receipt: &[u8],
        signature: &[u8],
    ) -> Result<(), BackupError> {
        let failed = |path: &Path| BackupError::io(path, "cannot be written");
        let path = self.directory.join(MANIFEST);
        write_manifest(&path, manifest)?;
        let path = self.directory.join(FILES);
        let mut out = BufWriter::new(create(&path, false)?);
        serde_json::to_writer(&mut out, files).map_err(io::Error::from).map_err(failed(&path))?;
        let written = out.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| file.sync_all());
        written.map_err(failed(&path))?;
        for (name, bytes) in [(RECEIPT, receipt), (SIGNATURE, signature)] {
            let path = self.directory.join(name);
            let mut file = create(&path, false)?;
            file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed(&path))?;
        }
        self.pages.sync_all().map_err(failed(&self.directory))?;
        // Of a run that never came to its end, in a repository that does not know of it.
        if self.target.exists() {
            fs::remove_dir_all(&self.target).map_err(failed(&self.target))?;
        }
        let renamed = fs::rename(&self.directory, &self.target).and_then(|()| place::sync(&self.target));
        renamed.map_err(failed(&self.target))
    }
}

fn write_manifest(path: &Path, manifest: &Manifest) -> Result<(), BackupError> {
    let failed = |source| BackupError::Io { path: path.to_owned(), doing: "cannot be written", source };
    let mut out = zstd::Encoder::new(BufWriter::new(create(path, false)?), 1).map_err(failed)?;
    manifest.write(&mut out)?;
    let file = out.finish().and_then(|out| out.into_inner().map_err(io::IntoInnerError::into_error));
    file.and_then(|file| file.sync_all()).map_err(failed)
}

fn create(path: &Path, read: bool) -> Result<File, BackupError> {
    let created = OpenOptions::new().write(true).read(read).create_new(true).mode(0o600).open(path);
    created.map_err(BackupError::io(path, "cannot be made"))
}

fn directory_name(number: Number) -> String {
    format!("{number:06}")
}

/// The secret of this state, made when it is first needed.
fn secret(path: &Path) -> Result<Zeroizing<[u8; SECRET_BYTES]>, BackupError> {
    let mut made = Zeroizing::new([0; SECRET_BYTES]);
    aws_lc_rs::rand::fill(made.as_mut()).map_err(|_| BackupError::Randomness)?;
    match place::place(path, made.as_slice(), place::Placing::SECRET) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        placed => placed.map_err(BackupError::io(path, "cannot be written"))?,
    }
    let bytes = fs::read(path).map(Zeroizing::new).map_err(BackupError::io(path, "cannot be read"))?;
    let wrong =
        || BackupError::Io { path: path.to_owned(), doing: "cannot be used", source: ErrorKind::InvalidData.into() };
    bytes.as_slice().try_into().map(Zeroizing::new).map_err(|_| wrong())
}
