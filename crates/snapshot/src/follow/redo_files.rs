//! MySQL's redo log files, read while their server writes them.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use files::regular::{self, Links};
use innodb::{
    Lsn,
    keys::KeySource,
    redo::blocks::{BLOCK_BYTES, BLOCK_HEADER_BYTES, BLOCKS_BEGIN, HEADER_BYTES},
    redo_copy::{Blocks, CopyCheckpoint, Head, RedoCopyFault},
    server_file::{REDO_DIRECTORY, redo_name, redo_number},
};
use rustix::fs::OFlags;
use server::dialect::backup_lock::advance_redo_consumer;

use super::{
    copy::{Copier, Item},
    log::{End, POLL, TAIL_TIMEOUT},
    session::{Privilege, Session},
};
use crate::Error;

/// Status variable: the LSN up to which the log is on disk.
const WRITTEN: &str = "Innodb_redo_log_flushed_to_disk_lsn";
/// Blocks read at once.
const WINDOW_BYTES: usize = 1 << 20;
const BLOCK: u64 = BLOCK_BYTES as u64;

/// The copied log, from the newest checkpoint on, file by file. Only the newest file and its copy are open: a large log
/// can have more files than a process may open.
pub(super) struct RedoFiles<'a> {
    directory: PathBuf,
    copier: &'a Copier<'a>,
    blocks: Blocks,
    checkpoint: Lsn,
    /// LSN up to which whole blocks are copied.
    position: u64,
    /// The files that are copied to their end, in order.
    complete: Vec<CompleteFile>,
    /// The file that is being copied; `None` once the end of the copy is cut off.
    newest: Option<RedoFile>,
}

/// A file of the log and its copy.
struct RedoFile {
    number: u64,
    path: PathBuf,
    head: Head,
    from: File,
    to: File,
}

/// The copy of a file that was copied to its end. The server may use the original for something else by now.
struct CompleteFile {
    number: u64,
    start: Lsn,
    /// The header, if it is not written yet.
    head: Option<Head>,
    /// Device and inode.
    identity: (u64, u64),
}

impl<'a> RedoFiles<'a> {
    /// Starts the copy at the newest checkpoint in the server's files. The server must have been told to keep these
    /// files before this call.
    pub(super) fn begin(items: &[Item], copier: &'a Copier<'a>, keys: &dyn KeySource) -> Result<Self, Error> {
        let directory =
            items.iter().find(|item| item.to.starts_with(REDO_DIRECTORY)).and_then(|item| item.from.parent());
        let directory = directory.ok_or(Error::NoAnswer("redo log"))?.to_owned();
        let newest = newest_checkpoint(&directory)?;
        let (number, checkpoint) = newest.ok_or(Error::NoAnswer("newest checkpoint"))?;
        let first = RedoFile::open(&directory, number, copier)?;
        // Read the header again from the open file: its checkpoint may be newer by now, but never older.
        let checkpoint = first.head.checkpoint().filter(|found| *found >= checkpoint);
        let checkpoint = checkpoint.ok_or_else(|| Error::Moving { path: directory.clone() })?;
        let blocks = Blocks::new(&first.head, keys);
        let position = checkpoint.0 - checkpoint.0 % BLOCK;
        let (complete, newest) = (Vec::new(), Some(first));
        let log = Self { directory, copier, blocks, checkpoint, position, complete, newest };
        log.copy_before_checkpoint()?;
        Ok(log)
    }

    pub(super) const fn checkpoint(&self) -> Lsn {
        self.checkpoint
    }

    /// Whether encrypted blocks can be decrypted.
    pub(super) fn has_key(&self) -> bool {
        self.blocks.has_key()
    }

    /// Bytes of log from the checkpoint up to an LSN.
    pub(super) fn bytes_to(&self, end: u64) -> u64 {
        end.saturating_sub(self.checkpoint.0)
    }

    /// Copies the log until its end is known and reached. The server keeps what is not copied yet as long as the
    /// session is registered as its consumer.
    pub(super) fn follow(&mut self, session: &mut Session, end: &End, stop: &AtomicBool) -> Result<(), Error> {
        loop {
            let ends = end.get();
            let written = ends.map_or_else(|| session.status(WRITTEN), Ok)?;
            let copied = self.copy_to(written - written % BLOCK, stop)?;
            if let Some(end) = ends {
                // The server has written more since the end was determined.
                return if end < self.position { self.cut_back(end) } else { self.copy_end(end, stop) };
            }
            if copied {
                // The function returns 1 if the consumer was at this position already, which is harmless.
                session.run_with(Privilege::Backup, &advance_redo_consumer(self.position))?;
            } else {
                check_stopped(stop)?;
                thread::sleep(POLL);
            }
        }
    }

    /// Writes the header with the checkpoint and that of the last file, without which no server would recover from the
    /// log. Recovery begins at `checkpoint`.
    pub(super) fn finish(&mut self, checkpoint: Lsn) -> Result<(), Error> {
        self.complete_newest()?;
        let starts = self.complete.iter().skip(1).map(|file| file.start.0).chain([u64::MAX]);
        for ((file, next), number) in self.complete.iter().zip(starts).zip(1..) {
            let (holds, is_last) = ((file.start.0..next).contains(&checkpoint.0), number == self.complete.len());
            let checkpoints = match holds {
                false => CopyCheckpoint::None,
                true if checkpoint == self.checkpoint => CopyCheckpoint::AsRead,
                true => CopyCheckpoint::At(checkpoint),
            };
            if file.head.is_some() || holds || is_last {
                file.write_head(self.copier, &checkpoints, is_last)?;
            }
        }
        Ok(())
    }

    /// Closes the newest file and its copy. Its header is written, unless it is the first one.
    fn complete_newest(&mut self) -> Result<(), Error> {
        let Some(RedoFile { number, path, head, from, to }) = self.newest.take() else { return Ok(()) };
        let (failed, start) = (Error::copying(&path), head.start());
        let is_first = self.complete.is_empty();
        if !is_first {
            to.write_all_at(&head.of_copy(&CopyCheckpoint::None, false), 0).map_err(&failed)?;
        }
        let like = from.metadata().map_err(&failed)?;
        self.copier.finish(&path_of_copy(number), &to, &like, like.len())?;
        let identity = identity(&to).map_err(failed)?;
        self.complete.push(CompleteFile { number, start, head: is_first.then_some(head), identity });
        Ok(())
    }

    /// Copies the blocks of the first file from before the checkpoint unchecked: recovery does not read them.
    fn copy_before_checkpoint(&self) -> Result<(), Error> {
        let Some(file) = &self.newest else { return Ok(()) };
        let end = file.offset(self.position);
        let mut before = vec![0; usize::try_from(end).unwrap_or(0).saturating_sub(HEADER_BYTES)];
        let read = file.from.read_exact_at(&mut before, BLOCKS_BEGIN);
        let written = read.and_then(|()| file.to.write_all_at(&before, BLOCKS_BEGIN));
        written.map_err(Error::copying(&file.path))
    }

    /// Copies whole blocks up to an LSN that the server has written. Returns whether there were any.
    fn copy_to(&mut self, end: u64, stop: &AtomicBool) -> Result<bool, Error> {
        let (began, mut waiting_since) = (self.position, Instant::now());
        let mut window = vec![0; WINDOW_BYTES];
        while self.position < end {
            check_stopped(stop)?;
            self.open_next_at_end()?;
            match self.copy_window(&mut window, end) {
                Ok(()) => waiting_since = Instant::now(),
                Err(Error::Redo { source: RedoCopyFault::Unwritten(_), .. })
                    if waiting_since.elapsed() < TAIL_TIMEOUT =>
                {
                    self.wait_for_blocks();
                }
                Err(error) => return Err(error),
            }
        }
        Ok(self.position > began)
    }

    /// Copies the next valid blocks of the newest file; an error if there are none.
    fn copy_window(&mut self, window: &mut [u8], end: u64) -> Result<(), Error> {
        let Some(file) = &self.newest else { return Ok(()) };
        let wanted = file.end()?.min(end).saturating_sub(self.position).min(window.len() as u64);
        let window = window.get_mut(..usize::try_from(wanted).unwrap_or(0)).unwrap_or_default();
        let offset = file.offset(self.position);
        file.from.read_exact_at(window, offset).map_err(Error::copying(&file.path))?;
        let mut sound = 0;
        let mut fault = None;
        for block in window.as_chunks::<BLOCK_BYTES>().0 {
            if let Err(found) = self.blocks.check_full(block, Lsn(self.position + sound)) {
                fault = Some(found);
                break;
            }
            sound += BLOCK;
        }
        let copied = window.get(..usize::try_from(sound).unwrap_or(0)).unwrap_or_default();
        file.to.write_all_at(copied, offset).map_err(Error::copying(&file.path))?;
        self.position += sound;
        match fault {
            Some(fault) if sound == 0 => Err(file.failed(fault)),
            _ => Ok(()),
        }
    }

    /// Cuts the copy off at the end: removes the part that was copied beyond it.
    fn cut_back(&mut self, end: u64) -> Result<(), Error> {
        self.position = end - end % BLOCK;
        self.complete_newest()?;
        while let Some(behind) = self.complete.pop_if(|file| file.start.0 > self.position) {
            let path = self.copier.root.join(path_of_copy(behind.number));
            fs::remove_file(&path).map_err(Error::copying(&path))?;
        }
        let Some(file) = self.complete.last() else { return Err(self.moving()) };
        let (path, to) = file.open(self.copier)?;
        let like = to.metadata().map_err(Error::copying(&path))?;
        let (mut block, offset) = ([0; BLOCK_BYTES], BLOCKS_BEGIN + self.position.saturating_sub(file.start.0));
        let read = to.read_exact_at(&mut block, offset);
        read.and_then(|()| to.set_len(offset)).map_err(Error::copying(&path))?;
        if end % BLOCK != BLOCK_HEADER_BYTES as u64 {
            let cut = self.blocks.cut(&block, Lsn(self.position), Lsn(end));
            let cut = cut.map_err(|source| Error::Redo { path: path.clone(), source })?;
            to.write_all_at(&cut, offset).map_err(Error::copying(&path))?;
        }
        self.copier.finish(&path_of_copy(file.number), &to, &like, like.len())
    }

    /// Copies the last block up to the end.
    fn copy_end(&mut self, end: u64, stop: &AtomicBool) -> Result<(), Error> {
        if end % BLOCK == BLOCK_HEADER_BYTES as u64 {
            // The next block has not begun, and the file for it may not exist yet.
            let Some(file) = &self.newest else { return Ok(()) };
            return if self.position < file.end()? { Ok(()) } else { Err(self.moving()) };
        }
        self.open_next_at_end()?;
        let since = Instant::now();
        loop {
            check_stopped(stop)?;
            let Some(file) = &self.newest else { return Ok(()) };
            let (mut block, offset) = ([0; BLOCK_BYTES], file.offset(self.position));
            file.from.read_exact_at(&mut block, offset).map_err(Error::copying(&file.path))?;
            match self.blocks.cut(&block, Lsn(self.position), Lsn(end)) {
                Ok(cut) => return file.to.write_all_at(&cut, offset).map_err(Error::copying(&file.path)),
                Err(RedoCopyFault::Unwritten(_)) if since.elapsed() < TAIL_TIMEOUT => self.wait_for_blocks(),
                Err(source) => return Err(file.failed(source)),
            }
        }
    }

    /// Waits, and has the blocks read from the disk afterwards.
    fn wait_for_blocks(&self) {
        if let Some(file) = &self.newest {
            files::evict(&file.from, 0, None);
        }
        thread::sleep(Duration::from_millis(1));
    }

    fn moving(&self) -> Error {
        Error::Moving { path: self.directory.clone() }
    }

    /// Opens the next file if the newest one is read to its end.
    fn open_next_at_end(&mut self) -> Result<(), Error> {
        let Some(file) = &self.newest else { return Ok(()) };
        let end = file.end()?;
        if self.position < end {
            return Ok(());
        }
        let next = RedoFile::open(&self.directory, file.number + 1, self.copier)?;
        if self.position != end || next.head.start().0 != end {
            return Err(self.moving());
        }
        self.complete_newest()?;
        self.newest = Some(next);
        Ok(())
    }
}

impl RedoFile {
    fn open(directory: &Path, number: u64, copier: &Copier<'_>) -> Result<Self, Error> {
        let path = directory.join(redo_name(number));
        let from = regular::open(&path, Links::Refused).map_err(Error::copying(&path))?;
        let head = read_head(&from, &path)?;
        let to = copier.create(&path_of_copy(number))?;
        Ok(Self { number, path, head, from, to })
    }

    /// LSN after the last block of the file. The server can change the length of the newest file.
    fn end(&self) -> Result<u64, Error> {
        let bytes = self.from.metadata().map_err(Error::copying(&self.path))?.len();
        Ok(self.head.end(bytes).0)
    }

    fn offset(&self, lsn: u64) -> u64 {
        BLOCKS_BEGIN + lsn.saturating_sub(self.head.start().0)
    }

    fn failed(&self, source: RedoCopyFault) -> Error {
        Error::Redo { path: self.path.clone(), source }
    }
}

impl CompleteFile {
    /// Opens the copy for reading and writing. Returns its path, too.
    fn open(&self, copier: &Copier<'_>) -> Result<(PathBuf, File), Error> {
        let path = copier.root.join(path_of_copy(self.number));
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&path);
        let found = opened.and_then(|file| Ok((identity(&file)?, file)));
        let (identity, file) = found.map_err(Error::copying(&path))?;
        if identity == self.identity { Ok((path, file)) } else { Err(Error::Moving { path }) }
    }

    /// Writes the header of the copy.
    fn write_head(&self, copier: &Copier<'_>, checkpoints: &CopyCheckpoint, is_last: bool) -> Result<(), Error> {
        let (path, to) = self.open(copier)?;
        let like = to.metadata().map_err(Error::copying(&path))?;
        let written = if self.head.is_none() { Some(read_head(&to, &path)?) } else { None };
        if let Some(head) = self.head.as_ref().or(written.as_ref()) {
            to.write_all_at(&head.of_copy(checkpoints, is_last), 0).map_err(Error::copying(&path))?;
        }
        copier.finish(&path_of_copy(self.number), &to, &like, like.len())
    }
}

/// Path of the copy of a file of the log, relative to the copy's data directory.
fn path_of_copy(number: u64) -> PathBuf {
    Path::new(REDO_DIRECTORY).join(redo_name(number))
}

/// Device and inode of a file.
fn identity(file: &File) -> io::Result<(u64, u64)> {
    file.metadata().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Reads the header of a file, which the server may be writing.
fn read_head(file: &File, path: &Path) -> Result<Head, Error> {
    let since = Instant::now();
    loop {
        let mut head = [0; HEADER_BYTES];
        file.read_exact_at(&mut head, 0).map_err(Error::copying(path))?;
        match Head::parse(&head) {
            Ok(head) => return Ok(head),
            Err(source) if since.elapsed() > TAIL_TIMEOUT / 10 => {
                return Err(Error::Redo { path: path.to_owned(), source });
            }
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// The newest checkpoint, and the number of the file that holds it. The server may remove older files meanwhile: then
/// all are read again, since a file that was read before may hold a newer checkpoint by now.
fn newest_checkpoint(directory: &Path) -> Result<Option<(u64, Lsn)>, Error> {
    const ATTEMPTS: u32 = 10;
    for _ in 1..ATTEMPTS {
        match read_checkpoints(directory) {
            Err(Error::Copy { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            read => return read,
        }
    }
    read_checkpoints(directory)
}

fn read_checkpoints(directory: &Path) -> Result<Option<(u64, Lsn)>, Error> {
    let mut newest = None;
    for item in fs::read_dir(directory).map_err(Error::copying(directory))? {
        let name = item.map_err(Error::copying(directory))?.file_name();
        // Spare files have a suffix after the number.
        let number = name.to_str().and_then(redo_number);
        let Some(number) = number else { continue };
        let path = directory.join(&name);
        let file = regular::open(&path, Links::Refused).map_err(Error::copying(&path))?;
        if let Some(checkpoint) = read_head(&file, &path)?.checkpoint() {
            newest = newest.max(Some((checkpoint, number)));
        }
    }
    Ok(newest.map(|(checkpoint, number)| (number, checkpoint)))
}

fn check_stopped(stop: &AtomicBool) -> Result<(), Error> {
    if stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
}
