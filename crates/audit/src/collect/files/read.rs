//! Opens files and recognises what they are.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use files::ReadAt;
use files::regular::NotRegular;
use innodb::server_file;
use rustix::fs::{FileType, Stat, readlinkat};

use super::super::content::{Candidate, HEAD_BYTES, ReadBudget, recognise};
use super::super::view::open_at;
use super::text;
use crate::facts::files::{Content, FileFact};
use crate::facts::host::Role;

/// A file to open and read.
pub(super) struct Job {
    pub(super) dir: Arc<OwnedFd>,
    pub(super) name: OsString,
    pub(super) path: PathBuf,
    pub(super) below: PathBuf,
    pub(super) role: Role,
    pub(super) log: Option<&'static str>,
    pub(super) stat: Stat,
}

/// Reads files from the queue until it ends.
pub(super) fn read_all(
    queue: &Mutex<Receiver<Job>>,
    results: &Sender<FileFact>,
    budget: &ReadBudget,
    bytes: &AtomicU64,
) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        if let Some(file) = fact(job, budget, bytes) {
            // The receiver exists until all readers have ended.
            let _ = results.send(file);
        }
    }
}

/// The fact about a file; `None` if it was removed.
pub(super) fn fact(job: Job, budget: &ReadBudget, bytes: &AtomicU64) -> Option<FileFact> {
    let content = content_of(&job, budget, bytes)?;
    let name = if job.below.as_os_str().is_empty() { text(&job.path) } else { text(&job.below) };
    Some(FileFact {
        path: text(&job.path),
        name,
        role: role_of(&job, &content),
        size_bytes: u64::try_from(job.stat.st_size).unwrap_or(0),
        mode: job.stat.st_mode & 0o7777,
        uid: job.stat.st_uid,
        gid: job.stat.st_gid,
        modified: job.stat.st_mtime,
        content,
    })
}

/// Without a server, only the default name shows that a log is a relay log.
fn role_of(job: &Job, content: &Content) -> Role {
    let relayed = server_file::is_named_as_relay_log(&job.name.to_string_lossy());
    match content {
        Content::BinaryLog { .. } if job.role == Role::Data && relayed => Role::RelayLog,
        _ => job.role,
    }
}

fn content_of(job: &Job, budget: &ReadBudget, bytes: &AtomicU64) -> Option<Content> {
    match FileType::from_raw_mode(job.stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => {
            let target = readlinkat(&*job.dir, &job.name, Vec::new()).ok()?;
            return Some(Content::Link { target: target.to_string_lossy().into_owned() });
        }
        _ => return Some(Content::Special),
    }
    let file = match open_at(&*job.dir, &job.name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        // The name may belong to a pipe by now.
        Err(error) if NotRegular::in_error(&error).is_some() => return Some(Content::Special),
        Err(error) => return Some(Content::Unreadable { why: error.to_string() }),
    };
    let stat = rustix::fs::fstat(&file).ok()?;
    let source = Counted { file: File::from(file), bytes };
    let mut head = vec![0; HEAD_BYTES];
    let count = match source.read_at(0, &mut head) {
        Ok(count) => count,
        Err(error) => return Some(Content::Unreadable { why: error.to_string() }),
    };
    head.truncate(count);
    let parent = job.path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let sibling = |name: &str| {
        let file = open_at(&*job.dir, OsStr::new(name)).ok()?;
        files::read_bytes(&File::from(file), 0, HEAD_BYTES).ok()
    };
    Some(recognise(&Candidate {
        name: &job.name.to_string_lossy(),
        parent: &parent,
        role: job.role,
        log: job.log,
        size_bytes: u64::try_from(stat.st_size).unwrap_or(0),
        head: &head,
        source: &source,
        sibling: &sibling,
        budget,
    }))
}

/// A file that counts the bytes read.
struct Counted<'a> {
    file: File,
    bytes: &'a AtomicU64,
}

impl ReadAt for Counted<'_> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(offset, buf)?;
        self.bytes.fetch_add(u64::try_from(count).unwrap_or(0), Ordering::Relaxed);
        Ok(count)
    }

    fn len(&self) -> io::Result<u64> {
        ReadAt::len(&self.file)
    }

    fn pause(&self, time: Duration) {
        self.file.pause(time);
    }
}

impl Counted<'_> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        ReadAt::read_at(self, offset, buf)
    }
}
