//! The state that this host keeps of its last backup, with 8 bytes of hash for each page.
//!
//! ```text
//! STATE/REPOSITORY/HOST/lock
//!                       secret          32 random bytes, by which pages are hashed
//!                       reserved        the highest number in use
//!                       overtaken       a number that was in use, unknown to this state: it is an older copy
//!                       recipients.json which recipients were proven: `recipients`
//!                       000123-MILLISECONDS.part/   of a run without a receipt: `run::journal`
//!                       000123/         of backup 123
//!                              receipt.json  receipt.json.sig
//!                              manifest.zst  JSON lines, as in the repository, but for this host alone, with zstd's checksum
//!                              files.json    for each entry: page size, hash of its key, offset of its hashes
//!                              hashes        of the pages: 8 bytes of a keyed hash of each page's subtree in BLAKE3
//!                              oldest        when its first pack was stored at the earliest
//! ```
//!
//! A directory is complete before the receipt is stored, so that the next run can finish one that was interrupted in
//! between. The state is a cache: without it, or if it does not match the repository, the next backup is full.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufReader, BufWriter, ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use archive::{
    Digest, Error as ArchiveError, Manifest, Receipt, Run, manifest::Lists, names::Number, prune::MAX_RUN_HOURS,
};
use files::{WriteOptions, unnamed_file};
use innodb::{binlog::CopyPosition, keys::KeySource};
use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use transfer::plan::Stamp;
use zeroize::Zeroizing;

use crate::{
    Error,
    key_check::{self, KeyCheck},
    note_file::make_private,
    recipients::Recipients,
};

const LOCK: &str = "lock";
const SECRET: &str = "secret";
const SECRET_BYTES: usize = 32;
const RECEIPT: &str = "receipt.json";
const SIGNATURE: &str = "receipt.json.sig";
const MANIFEST: &str = "manifest.zst";
const FILES: &str = "files.json";
pub(crate) const PAGES: &str = "hashes";
/// The journal of a run, and the files that it names.
pub(crate) const JOURNAL: &str = "journal";
pub(crate) const JOURNAL_FILES: &str = "journal-files.json";
/// The manifest while it is sent to the repository.
pub(crate) const TEMPORARY_MANIFEST: &str = "manifest.age";
/// Start of the first run that stored packs of a backup.
const OLDEST: &str = "oldest";
/// Longest time, in hours, for which packs without a receipt are used: half of what a run may take.
const MAX_ATTEMPT_HOURS: i64 = MAX_RUN_HOURS / 2;
/// Number of runs without a receipt whose packs are used.
const MAX_ATTEMPTS: usize = 4;
/// Suffix of a directory that is being written.
const PART: &str = ".part";
/// The highest number in use.
const RESERVED: &str = "reserved";
/// Marks the state of a host whose next number was in use, although this state does not know it.
const OVERTAKEN: &str = "overtaken";
/// Marks the state of a backup whose receipt is in the repository.
const COMMITTED: &str = "committed";
/// Length of a page's hash.
pub(crate) const PAGE_HASH_BYTES: u64 = 8;

/// The state of one host for one repository, locked.
#[derive(Debug)]
pub(crate) struct State {
    directory: PathBuf,
    _lock: File,
    pub(crate) secret: Zeroizing<[u8; SECRET_BYTES]>,
}

/// State of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileState {
    /// Length of a page.
    pub(crate) unit_bytes: u32,
    /// Hash of the secret that its key derives from; 0 without a key.
    pub(crate) context: u64,
    /// Position of its hashes.
    pub(crate) pages_at: u64,
    /// Whether all its pages were sound. If so, unchanged pages need not be judged again.
    #[serde(default)]
    pub(crate) sound: bool,
    /// Lowest LSN of the pages that its key decrypted; MySQL's doublewrite files may have older copies.
    #[serde(default, rename = "opened_from")]
    pub(crate) decrypted_from: u64,
    /// Set if a later write of the file would change its metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seen: Option<Seen>,
}

/// The metadata of a file when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) stamp: Stamp,
    /// When all of it was read, in seconds since 1970 UTC.
    pub(crate) read_at: i64,
}

/// State of one backup.
#[derive(Debug)]
pub(crate) struct SavedState {
    pub(crate) receipt: Receipt,
    pub(crate) sha256: Digest,
    pub(crate) receipt_bytes: Vec<u8>,
    pub(crate) signature: Vec<u8>,
    /// Start of the first run that stored packs of it.
    pub(crate) oldest: Timestamp,
    directory: PathBuf,
}

/// A run that ended without a receipt.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// Its unfinished state.
    pub(crate) directory: PathBuf,
    pub(crate) began: Timestamp,
}

/// State of the last backup, to compare with.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) manifest: Manifest,
    pub(crate) files: Vec<Option<FileState>>,
    pub(crate) pages: File,
    /// Whether the server's keys open it.
    pub(crate) keys: KeyCheck,
    /// Whether each pack may be used. Parts in others count as changed.
    pub(crate) uses_pack: Vec<bool>,
}

impl State {
    /// Opens the state below `root` and locks it.
    pub(crate) fn open(root: &Path, repository: &str, host: &str) -> Result<Self, Error> {
        let directory = root.join(repository).join(host);
        make_directory(&directory)?;
        let path = directory.join(LOCK);
        let Some(lock) = lock(&path)? else { return Err(Error::Busy { path }) };
        let secret = secret(&directory.join(SECRET))?;
        let state = Self { directory, _lock: lock, secret };
        let usable = state.attempts()?;
        let is_usable = |name: &str| usable.iter().any(|attempt| attempt.directory.ends_with(name));
        state.remove(|name| name.ends_with(PART) && !is_usable(name))?;
        Ok(state)
    }

    /// The newest runs without a receipt that have stored packs which no prune has removed yet, the oldest first.
    pub(crate) fn attempts(&self) -> Result<Vec<Attempt>, Error> {
        let now = Timestamp::now();
        let attempt = |name: String| {
            let (_, milliseconds) = name.strip_suffix(PART)?.split_once('-')?;
            let began = Timestamp::from_millisecond(milliseconds.parse().ok()?).ok()?;
            let directory = self.directory.join(name);
            let hours = now.duration_since(began).as_hours();
            // One that began in the future is of a clock that was set back: its age is not known.
            let is_used = has_journal(&directory) && (0..MAX_ATTEMPT_HOURS).contains(&hours);
            is_used.then_some(Attempt { directory, began })
        };
        let mut attempts: Vec<Attempt> = self.names()?.into_iter().filter_map(attempt).collect();
        attempts.sort_unstable_by_key(|attempt| std::cmp::Reverse(attempt.began));
        attempts.truncate(MAX_ATTEMPTS);
        attempts.reverse();
        Ok(attempts)
    }

    /// State of the newest backup; `None` if there is no such backup, or it cannot be read.
    pub(crate) fn newest(&self) -> Result<Option<SavedState>, Error> {
        let mut numbers: Vec<Number> = self.names()?.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        let Some(number) = numbers.last() else { return Ok(None) };
        let directory = self.directory.join(directory_name(*number));
        let read = |name: &str| fs::read(directory.join(name)).ok();
        let (Some(receipt_bytes), Some(signature)) = (read(RECEIPT), read(SIGNATURE)) else { return Ok(None) };
        let Ok(receipt) = Receipt::parse(&receipt_bytes) else { return Ok(None) };
        let sha256 = Digest::compute(&receipt_bytes);
        let oldest = read(OLDEST).and_then(|text| String::from_utf8(text).ok()?.parse().ok()).unwrap_or(receipt.began);
        Ok(Some(SavedState { receipt, sha256, receipt_bytes, signature, oldest, directory }))
    }

    /// Reads the proofs of the host's recipients.
    pub(crate) fn recipients(&self) -> Result<Recipients, Error> {
        Recipients::read(&self.directory)
    }

    /// Creates a file without a name, for what a run knows of all parts.
    pub(crate) fn scratch(&self) -> Result<File, Error> {
        scratch(&self.directory)
    }

    /// Starts writing the state of a backup.
    pub(crate) fn begin(&self, number: Number) -> Result<Draft, Error> {
        let target = self.directory.join(directory_name(number));
        let milliseconds = Timestamp::now().as_millisecond();
        let directory = self.directory.join(format!("{}-{milliseconds}{PART}", directory_name(number)));
        let made = DirBuilder::new().mode(0o700).create(&directory);
        made.map_err(Error::io(&directory, "cannot be created"))?;
        let pages = create(&directory.join(PAGES), true)?;
        Ok(Draft { directory, target, pages })
    }

    /// Records a number that a backup uses, before any object of this name exists in the repository.
    pub(crate) fn reserve(&self, number: Number) -> Result<(), Error> {
        write(&self.directory.join(RESERVED), &number.to_string())
    }

    /// The highest number that was reserved; 0 if none was.
    pub(crate) fn reserved(&self) -> Result<Number, Error> {
        Ok(self.number(RESERVED)?.unwrap_or(0))
    }

    /// Reads a file with a number; `None` if there is none.
    fn number(&self, name: &str) -> Result<Option<Number>, Error> {
        let path = self.directory.join(name);
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            read => {
                let text = read.map_err(Error::io(&path, "cannot be read"))?;
                let number = text.trim().parse().map(Some);
                number.map_err(|_| Error::io(&path, "cannot be used")(ErrorKind::InvalidData.into()))
            }
        }
    }

    /// Records that the repository has a backup of this host with a number that this state does not know: the state is
    /// an older copy, or another machine writes as this host. Packs that the state refers to may be gone.
    pub(crate) fn mark_overtaken(&self, number: Number) -> Result<(), Error> {
        write(&self.directory.join(OVERTAKEN), &number.to_string())
    }

    /// The number that was found in use, if one was.
    pub(crate) fn overtaken(&self) -> Result<Option<Number>, Error> {
        self.number(OVERTAKEN)
    }

    /// Records that this state belongs to the newest backup in the repository.
    pub(crate) fn mark_newest(&self) -> Result<(), Error> {
        let path = self.directory.join(OVERTAKEN);
        match fs::remove_file(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(Error::io(&path, "cannot be removed")),
        }
    }

    /// Records that the receipt of a backup is in the repository.
    pub(crate) fn mark_committed(&self, number: Number) -> Result<(), Error> {
        write(&self.directory.join(directory_name(number)).join(COMMITTED), "")
    }

    pub(crate) fn is_committed(&self, number: Number) -> bool {
        self.directory.join(directory_name(number)).join(COMMITTED).exists()
    }

    /// Removes the state of all other backups, and that of runs without a receipt.
    pub(crate) fn forget_others(&self, number: Number) -> Result<(), Error> {
        self.remove(|name| name.ends_with(PART) || name.parse::<Number>().is_ok_and(|other| other != number))
    }

    fn names(&self) -> Result<Vec<String>, Error> {
        let items = fs::read_dir(&self.directory).map_err(Error::io(&self.directory, "cannot be listed"))?;
        Ok(items.flatten().filter_map(|item| item.file_name().into_string().ok()).collect())
    }

    fn remove(&self, is_old: impl Fn(&str) -> bool) -> Result<(), Error> {
        for name in self.names()?.iter().filter(|name| is_old(name)) {
            let path = self.directory.join(name);
            fs::remove_dir_all(&path).map_err(Error::io(&path, "cannot be removed"))?;
        }
        Ok(())
    }
}

impl SavedState {
    /// The complete state, and whether the keys open the backup; `None` if a part is damaged. The lists of its manifest are in files without a name.
    ///
    /// # Errors
    /// [`Error::Io`] if these cannot be written.
    pub(crate) fn base(&self, keys: &dyn KeySource) -> Result<Option<Base>, Error> {
        let lists = Lists::in_files(scratch(&self.directory)?, scratch(&self.directory)?);
        match self.read_base(lists, keys) {
            Err(ArchiveError::Lists(source)) => Err(Error::Lists(source)),
            read => Ok(read.ok().flatten()),
        }
    }

    fn read_base(&self, lists: Lists, keys: &dyn KeySource) -> Result<Option<Base>, ArchiveError> {
        let open = |name: &str| File::open(self.directory.join(name));
        let mut manifest = Manifest::read_with(&mut BufReader::new(zstd::Decoder::new(open(MANIFEST)?)?), lists)?;
        let keys = key_check::check(&manifest, keys);
        // Else, only a restore needs them.
        manifest.files.iter_mut().for_each(|file| file.head = None);
        let files: Vec<Option<FileState>> =
            serde_json::from_reader(BufReader::new(open(FILES)?)).map_err(io::Error::from)?;
        let (pages, uses_pack) = (open(PAGES)?, vec![true; manifest.packs.len()]);
        Ok((files.len() == manifest.files.len()).then_some(Base { manifest, files, pages, uses_pack, keys }))
    }
}

impl Base {
    /// Excludes packs from reuse.
    pub(crate) fn only_with(mut self, uses: impl Fn(&Digest) -> bool) -> Self {
        for (pack, is_used) in self.manifest.packs.iter().zip(&mut self.uses_pack) {
            *is_used &= uses(&pack.sha256);
        }
        self
    }

    /// The parts of a file, in packs that may be used, that have bytes between two offsets.
    pub(crate) fn runs(&self, file: usize, from: u64, end: u64) -> io::Result<Vec<Run>> {
        let Some(stored) = self.manifest.files.get(file) else { return Ok(Vec::new()) };
        let mut runs = stored.runs.overlapping(from, end)?;
        runs.retain(|run| self.uses(run));
        Ok(runs)
    }

    /// Whether a part is in a pack that may be used.
    pub(crate) fn uses(&self, run: &Run) -> bool {
        usize::try_from(run.pack).ok().and_then(|pack| self.uses_pack.get(pack)) == Some(&true)
    }
}

/// State that is being written.
#[derive(Debug)]
pub(crate) struct Draft {
    directory: PathBuf,
    target: PathBuf,
    pub(crate) pages: File,
}

/// Without a journal, unfinished state is of no use to the next run, and takes space.
impl Drop for Draft {
    fn drop(&mut self) {
        if !has_journal(&self.directory) {
            let _ = fs::remove_dir_all(&self.directory);
            return;
        }
        for name in [TEMPORARY_MANIFEST, MANIFEST, FILES, RECEIPT, SIGNATURE, OLDEST] {
            let _ = fs::remove_file(self.directory.join(name));
        }
    }
}

/// Whether the run of this unfinished state has stored packs.
fn has_journal(directory: &Path) -> bool {
    fs::metadata(directory.join(JOURNAL)).is_ok_and(|journal| journal.len() > 0)
}

impl Draft {
    /// Creates a temporary file for data that is sent to the repository.
    pub(crate) fn temporary_file(&self, name: &str) -> Result<(PathBuf, File), Error> {
        let path = self.directory.join(name);
        let file = create(&path, true)?;
        Ok((path, file))
    }

    /// Writes the remaining files, syncs and renames the directory. `oldest` is the start of the first run that stored
    /// packs of the backup.
    pub(crate) fn finish(
        self,
        manifest: &Manifest,
        files: &[Option<FileState>],
        (receipt, signature): (&[u8], &[u8]),
        oldest: Timestamp,
    ) -> Result<(), Error> {
        let failed = |path: &Path| Error::io(path, "cannot be written");
        let path = self.directory.join(MANIFEST);
        write_manifest(&path, manifest)?;
        let path = self.directory.join(FILES);
        let mut out = BufWriter::new(create(&path, false)?);
        serde_json::to_writer(&mut out, files).map_err(io::Error::from).map_err(failed(&path))?;
        let written = out.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| file.sync_all());
        written.map_err(failed(&path))?;
        let oldest = oldest.to_string();
        for (name, bytes) in [(RECEIPT, receipt), (SIGNATURE, signature), (OLDEST, oldest.as_bytes())] {
            let path = self.directory.join(name);
            let mut file = create(&path, false)?;
            file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed(&path))?;
        }
        self.pages.sync_all().map_err(failed(&self.directory))?;
        // Left by a run that never finished; the repository does not have it.
        if self.target.exists() {
            fs::remove_dir_all(&self.target).map_err(failed(&self.target))?;
        }
        for name in [JOURNAL, JOURNAL_FILES] {
            fs::remove_file(self.directory.join(name)).map_err(failed(&self.directory))?;
        }
        files::sync_parent(&self.directory.join(RECEIPT)).map_err(failed(&self.directory))?;
        let renamed = fs::rename(&self.directory, &self.target).and_then(|()| files::sync_parent(&self.target));
        renamed.map_err(failed(&self.target))
    }
}

fn scratch(directory: &Path) -> Result<File, Error> {
    unnamed_file(directory).map_err(Error::io(directory, "a temporary file cannot be created there"))
}

/// Locks a file, creating it if necessary; `None` if another process has the lock.
pub(crate) fn lock(path: &Path) -> Result<Option<File>, Error> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
    let file = file.map_err(Error::io(path, "cannot be opened"))?;
    Ok(flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok().then_some(file))
}

/// Creates the state directory of a host, if necessary.
pub(crate) fn make_directory(directory: &Path) -> Result<(), Error> {
    make_private(directory).map_err(Error::io(directory, "the state directory of this host cannot be created"))
}

/// Position of the newest backup of this host in the binary log, if its state has one.
pub(crate) fn newest_position(directory: &Path) -> Result<Option<CopyPosition>, Error> {
    let Ok(items) = fs::read_dir(directory) else { return Ok(None) };
    let number = |name: std::ffi::OsString| name.to_str()?.parse::<Number>().ok();
    let newest = items.flatten().filter_map(|item| number(item.file_name())).max();
    let Some(newest) = newest else { return Ok(None) };
    let path = directory.join(directory_name(newest)).join(MANIFEST);
    let Ok(file) = File::open(&path) else { return Ok(None) };
    let decoder = zstd::Decoder::new(file).map_err(Error::io(&path, "cannot be read"))?;
    let manifest = Manifest::read_with(&mut BufReader::new(decoder), Lists::not_kept());
    Ok(manifest.ok().and_then(|manifest| manifest.head.position))
}

fn write_manifest(path: &Path, manifest: &Manifest) -> Result<(), Error> {
    let failed = |source| Error::Io { path: path.to_owned(), doing: "cannot be written", source };
    let mut out = zstd::Encoder::new(BufWriter::new(create(path, false)?), 1).map_err(failed)?;
    // A damaged location of a page would be in every later backup.
    out.include_checksum(true).map_err(failed)?;
    manifest.write(&mut out)?;
    let file = out.finish().and_then(|out| out.into_inner().map_err(io::IntoInnerError::into_error));
    file.and_then(|file| file.sync_all()).map_err(failed)
}

fn create(path: &Path, read: bool) -> Result<File, Error> {
    let created = OpenOptions::new().write(true).read(read).create_new(true).mode(0o600).open(path);
    created.map_err(Error::io(path, "cannot be created"))
}

/// Writes a small file, or replaces it.
fn write(path: &Path, text: &str) -> Result<(), Error> {
    let written = files::write_atomic(path, text.as_bytes(), WriteOptions::SECRET.replacing(true));
    written.map_err(Error::io(path, "cannot be written"))
}

fn directory_name(number: Number) -> String {
    format!("{number:06}")
}

/// The secret of this state; created at first use.
fn secret(path: &Path) -> Result<Zeroizing<[u8; SECRET_BYTES]>, Error> {
    let mut made = Zeroizing::new([0; SECRET_BYTES]);
    aws_lc_rs::rand::fill(made.as_mut()).map_err(|_| Error::Randomness)?;
    match files::write_atomic(path, made.as_slice(), WriteOptions::SECRET) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        installed => installed.map_err(Error::io(path, "cannot be written"))?,
    }
    let bytes = fs::read(path).map(Zeroizing::new).map_err(Error::io(path, "cannot be read"))?;
    let wrong = || Error::Io { path: path.to_owned(), doing: "cannot be used", source: ErrorKind::InvalidData.into() };
    bytes.as_slice().try_into().map(Zeroizing::new).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_runs_without_a_receipt_are_listed_from_the_oldest_on() {
        let root = tempfile::tempdir().unwrap();
        let state = State::open(root.path(), "repository", "db1").unwrap();
        let now = Timestamp::now().as_millisecond();
        let directory = |minutes: i64| {
            let began = now - minutes * 60_000;
            root.path().join("repository/db1").join(format!("000002-{began}{PART}"))
        };
        for minutes in [7, 3, 9, 1, 5] {
            fs::create_dir(directory(minutes)).unwrap();
            fs::write(directory(minutes).join(JOURNAL), "{}\n").unwrap();
        }
        fs::create_dir(directory(2)).unwrap();
        let found: Vec<PathBuf> = state.attempts().unwrap().into_iter().map(|attempt| attempt.directory).collect();
        assert_eq!(found, [7, 5, 3, 1].map(directory), "without the fifth newest, and one that has stored nothing");
    }
}
