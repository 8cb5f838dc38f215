//! Walks the server's directories and recognises every file.
//!
//! One thread lists directories, a few others open and read files; directories are kept open only while their files are
//! read, so that thousands of schemas do not exhaust descriptors. Links are not followed: exactly the listed files are
//! opened.

mod again;
mod lister;
mod read;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Mutex};

use rustix::fs::{AtFlags, statat};

use super::content::ReadBudget;
use super::request::{Limits, Progress};
use super::roots::ScanRoot;
use super::view::View;
use crate::facts::files::{DirectoryFact, FileFact, Root};
use crate::facts::host::Role;
use again::continue_system_tablespace;

pub(super) use again::settle;
use lister::Lister;
use read::{Job, fact, read_all};

/// Length of the queue of files.
const QUEUE: usize = 256;

/// Parameters of a walk.
pub(super) struct Walk<'a> {
    pub(super) view: &'a View,
    pub(super) scan_roots: &'a [ScanRoot],
    /// Whether every page and block is read.
    pub(super) deep: bool,
    /// The server's user: only its files in a shared temporary directory count.
    pub(super) server_uid: Option<u32>,
    pub(super) limits: &'a Limits,
    pub(super) progress: Option<&'a dyn Fn(Progress)>,
}

/// Result of a walk.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) roots: Vec<Root>,
    pub(super) files: Vec<FileFact>,
    /// The directories of trees, and those that contain the other paths.
    pub(super) directories: Vec<DirectoryFact>,
    pub(super) bytes_read: u64,
    /// Directories inside a root on another device than their parent.
    pub(super) mounts: Vec<(PathBuf, Role)>,
    /// What was left out because of a limit.
    pub(super) left_out: Vec<String>,
}

/// Walks all roots.
pub(super) fn walk(walk: &Walk<'_>) -> Found {
    let budget = ReadBudget::new(walk.deep, walk.limits.special_bytes);
    let bytes = AtomicU64::new(0);
    let (jobs, queue) = sync_channel::<Job>(QUEUE);
    let queue = Mutex::new(queue);
    let (results, done) = channel();
    let mut found = Found::default();
    std::thread::scope(|scope| {
        for _ in 0..walk.limits.readers.max(1) {
            let (queue, results, budget, bytes) = (&queue, results.clone(), &budget, &bytes);
            scope.spawn(move || read_all(queue, &results, budget, bytes));
        }
        drop(results);
        let mut lister = Lister { walk, jobs, done, seen: BTreeSet::new(), found: &mut found, bytes: &bytes };
        walk.scan_roots.iter().for_each(|scan_root| lister.scan_root(scan_root));
        lister.finish();
    });
    found.bytes_read = bytes.into_inner();
    found.files.sort_by(|a, b| a.path.cmp(&b.path));
    found.mounts.sort();
    found.directories.sort_by(|a, b| a.path.cmp(&b.path));
    found.directories.dedup_by(|a, b| a.path == b.path);
    continue_system_tablespace(walk.view, &mut found.files, walk.deep);
    found
}

/// Reads exactly these files, wherever links of their directories lead: the server named them.
pub(super) fn named(walk: &Walk<'_>, paths: &[(PathBuf, String)]) -> Vec<FileFact> {
    let budget = ReadBudget::new(walk.deep, walk.limits.special_bytes);
    let bytes = AtomicU64::new(0);
    let read = |(path, name): &(PathBuf, String)| {
        let resolved = walk.view.resolve(path);
        let dir = walk.view.open_dir(resolved.parent()?).ok()?;
        let file = resolved.file_name()?.to_owned();
        let stat = statat(&dir, &file, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let job = Job {
            dir: Arc::new(dir),
            name: file,
            path: path.clone(),
            below: PathBuf::from(name),
            role: Role::ExternalData,
            log: None,
            stat,
        };
        fact(job, &budget, &bytes)
    };
    paths.iter().filter_map(read).collect()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs::{self, File};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use rustix::fs::{FileType, Mode};

    use super::super::roots::{self, Extent};
    use super::*;
    use crate::facts::files::Content;

    fn walked(dir: &Path) -> Found {
        let limits = Limits::default();
        let scan_roots = roots::from_directory(dir, Role::Data);
        walk(&Walk {
            view: &View::ours(),
            scan_roots: &scan_roots,
            deep: false,
            server_uid: None,
            limits: &limits,
            progress: None,
        })
    }

    fn content<'f>(found: &'f Found, name: &str) -> &'f Content {
        &found.files.iter().find(|file| file.name == name).unwrap_or_else(|| panic!("no {name}")).content
    }

    #[test]
    fn strange_entries_neither_hang_nor_lead_away() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret.ibd"), "x").unwrap();
        let fifo = dir.path().join("t.ibd");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        symlink(outside.path(), dir.path().join("db")).unwrap();
        symlink(dir.path(), dir.path().join("loop")).unwrap();
        fs::write(dir.path().join(OsStr::from_bytes(b"\xff.ibd")), "short").unwrap();
        fs::write(dir.path().join("empty.ibd"), "").unwrap();
        let found = walked(dir.path());
        assert!(matches!(content(&found, "t.ibd"), Content::Special));
        assert!(matches!(content(&found, "db"), Content::Link { .. }));
        assert!(matches!(content(&found, "loop"), Content::Link { .. }));
        assert!(matches!(content(&found, "empty.ibd"), Content::UnidentifiedTablespace { .. }));
        assert_eq!(found.files.len(), 5);
    }

    #[test]
    fn a_huge_sparse_file_takes_bounded_reads() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["t.ibd", "undo_001", "ib_logfile0", "#ib_16384_0.dblwr", "x.bin", "t.MYD"] {
            File::create(dir.path().join(name)).unwrap().set_len(1 << 40).unwrap();
        }
        let found = walked(dir.path());
        assert_eq!(found.files.len(), 6);
        assert!(found.bytes_read < 4 << 30, "{}", found.bytes_read);
    }

    #[test]
    fn a_missing_root_says_why() {
        let found = walked(Path::new("/nowhere/at/all"));
        assert!(found.roots.first().unwrap().error.is_some());
    }

    #[test]
    fn directories_by_name_decide_the_role() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("slow.log"), "hello\n").unwrap();
        fs::write(dir.path().join("bin.000001"), b"\xfebin").unwrap();
        let mut scan_roots = roots::from_directory(dir.path(), Role::Data);
        let base = scan_roots[0].clone();
        scan_roots.push(ScanRoot {
            path: dir.path().join("slow.log"),
            role: Role::Log,
            log: Some("slow"),
            extent: Extent::File,
            ..base.clone()
        });
        scan_roots.push(ScanRoot { role: Role::BinaryLog, extent: Extent::Prefixes(vec!["bin.".to_owned()]), ..base });
        let limits = Limits::default();
        let found = walk(&Walk {
            view: &View::ours(),
            scan_roots: &scan_roots,
            deep: false,
            server_uid: None,
            limits: &limits,
            progress: None,
        });
        assert!(matches!(content(&found, "slow.log"), Content::TextLog { log } if log == "slow"));
        let roles: Vec<Role> = found.files.iter().map(|file| file.role).collect();
        assert_eq!(roles, [Role::BinaryLog, Role::Log]);
    }
}
