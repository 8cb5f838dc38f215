//! Finds the files to verify, and determines their kinds.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use files::regular::{self, Links};
use innodb::file_kind::{self, FileKind};
use innodb::page::layout::MAX_PAGE_BYTES;
use innodb::server_file;

use crate::{Error, error};

/// A file to verify.
#[derive(Clone, Debug)]
pub struct PlannedFile {
    /// The given path, or a path below a given directory; for a link, its target.
    pub path: PathBuf,
    /// Kind of the file.
    pub kind: DetectedKind,
    /// Length in bytes at the time of the scan.
    pub bytes: u64,
}

/// Kind of a file to verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetectedKind {
    /// A file of a known kind.
    Known(FileKind),
    /// Named like a tablespace, but its first page is not one.
    TablespaceWithoutHeader,
    /// Of an unknown kind, although its name or the command line says it should be known.
    Unidentified,
}

/// Files of one directory that depend on each other, as indices into [`Plan::files`].
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Redo logs.
    pub redo: Vec<usize>,
    /// Files of the system tablespace, in order.
    pub system: Vec<usize>,
}

/// The files to verify.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// All files.
    pub files: Vec<PlannedFile>,
    /// Groups, by directory.
    pub groups: BTreeMap<PathBuf, Group>,
    /// Paths that could not be inspected, with the reason.
    pub failures: Vec<(PathBuf, String)>,
    /// Number of files that have nothing to verify (definitions, options, certificates).
    pub others: u64,
}

/// Maximum depth below a given directory: schemas are one deep, partitions and backups a few.
const MAX_DEPTH: u32 = 16;

/// State of the search.
struct Walk {
    /// The given paths, with links resolved.
    roots: Vec<PathBuf>,
    /// Whether to follow links that lead out of all roots.
    outward_links: Links,
    /// Device and inode of every file and directory seen.
    seen: BTreeSet<(u64, u64)>,
}

impl Plan {
    /// Lists everything below `paths`, which may be links. A link below them is followed if its target is also below
    /// one of them; otherwise it is a failure if it may be a server's file or directory.
    #[must_use]
    pub fn scan(paths: &[PathBuf]) -> Self {
        Self::scan_with(paths, Links::Refused)
    }

    /// Like [`Self::scan`], for the directories of a server on this host: links are followed wherever the server
    /// follows them (`DATA DIRECTORY`, moved schemas).
    #[must_use]
    pub fn scan_server(paths: &[PathBuf]) -> Self {
        Self::scan_with(paths, Links::Followed)
    }

    fn scan_with(paths: &[PathBuf], outward_links: Links) -> Self {
        let mut plan = Self::default();
        let roots = paths.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
        let mut walk = Walk { roots, outward_links, seen: BTreeSet::new() };
        for path in paths {
            plan.add_named(path, &mut walk);
        }
        plan.files.sort_by(|a, b| a.path.cmp(&b.path));
        plan.files.dedup_by(|a, b| a.path == b.path);
        plan.group();
        plan
    }

    /// The given directories with nothing to verify: perhaps the wrong directory, or a file system that is not mounted.
    #[must_use]
    pub fn without_files<'p>(&self, given: &'p [PathBuf]) -> Vec<&'p Path> {
        let directories = given.iter().map(PathBuf::as_path).filter(|path| path.is_dir());
        directories.filter(|directory| !self.has_files_of(directory)).collect()
    }

    /// Compares both given and resolved paths, because a file that is reached by two paths is listed only once.
    fn has_files_of(&self, directory: &Path) -> bool {
        let listed = || self.files.iter().map(|file| &file.path).chain(self.failures.iter().map(|(path, _)| path));
        listed().any(|path| path.starts_with(directory))
            || fs::canonicalize(directory)
                .is_ok_and(|real| listed().any(|path| fs::canonicalize(path).is_ok_and(|path| path.starts_with(&real))))
    }

    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.bytes))
    }

    fn add_named(&mut self, path: &Path, walk: &mut Walk) {
        match fs::metadata(path) {
            Err(error) => self.fail(path, &error),
            // Names below a link to a directory keep the given path.
            Ok(metadata) if metadata.is_dir() => self.visit(path, &metadata, true, 0, walk),
            Ok(metadata) => match fs::canonicalize(path) {
                Ok(target) if path.is_symlink() => self.visit(&target, &metadata, true, 0, walk),
                _ => self.visit(path, &metadata, true, 0, walk),
            },
        }
    }

    fn add_found(&mut self, path: &Path, depth: u32, walk: &mut Walk) {
        match fs::symlink_metadata(path) {
            // A running server has dropped the file in the meantime.
            Err(error) if is_dangling(&error) => {}
            Err(error) => self.fail(path, &error),
            Ok(metadata) if metadata.is_symlink() => self.link(path, depth, walk),
            Ok(metadata) => self.visit(path, &metadata, false, depth, walk),
        }
    }

    fn visit(&mut self, path: &Path, metadata: &fs::Metadata, named: bool, depth: u32, walk: &mut Walk) {
        if metadata.is_dir() {
            if walk.seen.insert((metadata.dev(), metadata.ino())) && depth <= MAX_DEPTH {
                self.enter(path, depth, walk);
            }
        } else if metadata.is_file() {
            if walk.seen.insert((metadata.dev(), metadata.ino())) {
                self.inspect(path, named, metadata.len());
            }
        } else if named {
            self.failures.push((path.to_path_buf(), "neither a file nor a directory".to_owned()));
        } else {
            self.others = self.others.saturating_add(1);
        }
    }

    fn link(&mut self, link: &Path, depth: u32, walk: &mut Walk) {
        // An `.isl` file of MySQL, or a link to a data file, in a backup that did not follow it.
        let may_be_data = classify(&[], name(link), false, 0).is_some();
        let target = fs::canonicalize(link).and_then(|target| Ok((fs::metadata(&target)?, target)));
        match target {
            Err(error) if is_dangling(&error) && !may_be_data => {}
            Err(error) if is_dangling(&error) => self.refuse(link, "a symbolic link whose target does not exist"),
            Err(error) => self.fail(link, &error),
            // The search below that root finds the target itself.
            Ok((_, target)) if walk.roots.iter().any(|root| target.starts_with(root)) => {}
            Ok((metadata, target)) if walk.outward_links == Links::Followed => {
                self.visit(&target, &metadata, false, depth, walk);
            }
            Ok((metadata, _)) if metadata.is_dir() || may_be_data => {
                self.refuse(link, "a symbolic link to a path outside, which is not followed; name its target, too");
            }
            Ok(_) => self.others = self.others.saturating_add(1),
        }
    }

    fn refuse(&mut self, path: &Path, why: &str) {
        self.failures.push((path.to_path_buf(), why.to_owned()));
    }

    fn enter(&mut self, path: &Path, depth: u32, walk: &mut Walk) {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return self.fail(path, &error),
        };
        let mut below: Vec<PathBuf> = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => below.push(entry.path()),
                Err(error) => self.fail(path, &error),
            }
        }
        below.sort();
        for path in below {
            self.add_found(&path, depth.saturating_add(1), walk);
        }
    }

    fn inspect(&mut self, path: &Path, named: bool, bytes: u64) {
        match detect(path, named, bytes) {
            Ok(Some(kind)) => self.files.push(PlannedFile { path: path.to_path_buf(), kind, bytes }),
            Ok(None) => self.others = self.others.saturating_add(1),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !named => {}
            Err(error) => self.fail(path, &error),
        }
    }

    fn fail(&mut self, path: &Path, error: &io::Error) {
        self.failures.push((path.to_path_buf(), reason(error)));
    }

    fn group(&mut self) {
        for (index, file) in self.files.iter().enumerate() {
            let directory = data_directory(&file.path);
            match file.kind {
                DetectedKind::Known(FileKind::Redo) => self.groups.entry(directory).or_default().redo.push(index),
                DetectedKind::Known(FileKind::Tablespace) | DetectedKind::TablespaceWithoutHeader
                    if is_system(&file.path) =>
                {
                    self.groups.entry(directory).or_default().system.push(index);
                }
                _ => {}
            }
        }
        for group in self.groups.values_mut() {
            group.system.sort_by_key(|index| self.files.get(*index).and_then(|file| system_number(&file.path)));
            continue_first(&group.system, &mut self.files);
        }
    }
}

/// Only the first file of a system tablespace has a page 0; the others continue it.
fn continue_first(system: &[usize], files: &mut [PlannedFile]) {
    let Some((first, others)) = system.split_first() else { return };
    let tablespace = DetectedKind::Known(FileKind::Tablespace);
    if files.get(*first).is_some_and(|file| file.kind == tablespace) {
        for index in others {
            if let Some(file) = files.get_mut(*index) {
                file.kind = tablespace;
            }
        }
    }
}

/// Whether the target of a path does not exist, or its links form a cycle.
fn is_dangling(error: &io::Error) -> bool {
    let in_a_circle = rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP);
    in_a_circle || matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The directory whose files a file depends on. MySQL keeps its redo log one level deeper.
pub(crate) fn data_directory(path: &Path) -> PathBuf {
    let parent = path.parent().unwrap_or_else(|| Path::new(""));
    match parent.file_name() {
        Some(name) if name == server_file::REDO_DIRECTORY => parent.parent().unwrap_or(parent).to_path_buf(),
        _ => parent.to_path_buf(),
    }
}

/// Recognises a system tablespace by its default name; only those files are joined to one tablespace.
fn is_system(path: &Path) -> bool {
    system_number(path).is_some()
}

fn system_number(path: &Path) -> Option<u32> {
    server_file::system_number(name(path))
}

/// The message for a file that could not be read, with the next step.
pub(crate) fn reason(error: &io::Error) -> String {
    let reason = error::reason(error);
    error::next_step(error).map_or_else(|| reason.clone(), |step| format!("{reason}; {step}"))
}

/// The last part of a path, as text.
pub(crate) fn name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// The kind of a file; `None` if it has nothing to verify. A file named on the command line always has a kind.
fn detect(path: &Path, named: bool, bytes: u64) -> io::Result<Option<DetectedKind>> {
    let file = regular::open(path, Links::Refused)?;
    let head = files::read_bytes(&file, 0, MAX_PAGE_BYTES.min(usize::try_from(bytes).unwrap_or(MAX_PAGE_BYTES)))?;
    Ok(classify(&head, name(path), named, bytes))
}

fn classify(head: &[u8], name: &str, named: bool, bytes: u64) -> Option<DetectedKind> {
    let kind = file_kind::recognise(head, name, bytes);
    match kind {
        Some(FileKind::Tablespace) if innodb::tablespace::Page0::parse(head).is_err() => {
            // An empty file is being created.
            Some(if bytes == 0 { DetectedKind::Unidentified } else { DetectedKind::TablespaceWithoutHeader })
        }
        Some(FileKind::Definition | FileKind::ExportMeta | FileKind::CsvMeta | FileKind::MyisamIndex) if !named => None,
        // Tablespaces, also `.ibu` ones, are recognised by name above; a key file has no data.
        Some(FileKind::ExportKey) if !named => None,
        Some(kind) => Some(DetectedKind::Known(kind)),
        None if named || server_file::log_base(name).is_some() || server_file::is_changed_pages(name) => {
            Some(DetectedKind::Unidentified)
        }
        None => None,
    }
}

/// Checks that every path exists.
///
/// # Errors
/// [`Error::Path`] for the first path that does not.
pub fn check_paths(paths: &[PathBuf]) -> Result<(), Error> {
    for path in paths {
        fs::metadata(path).map_err(|source| Error::Path { path: path.clone(), source })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_tablespaces_are_recognised_by_name() {
        assert!(is_system(Path::new("/d/ibdata12")));
        assert!(!is_system(Path::new("/d/ibdata1.bak")));
    }

    #[test]
    fn later_files_of_a_system_tablespace_continue_the_first() {
        let file = |name: &str, kind| PlannedFile { path: Path::new("/d").join(name), kind, bytes: 1 << 20 };
        let tablespace = DetectedKind::Known(FileKind::Tablespace);
        let names = ["ibdata1", "ibdata10", "ibdata2"];
        let files = names.map(|name| file(name, DetectedKind::TablespaceWithoutHeader));
        let mut plan = Plan { files: files.to_vec(), ..Plan::default() };
        plan.group();
        assert_eq!(plan.files[1].kind, DetectedKind::TablespaceWithoutHeader, "without a first page 0 they are lost");
        plan.groups.clear();
        plan.files[0].kind = tablespace;
        plan.group();
        assert_eq!(plan.groups[Path::new("/d")].system, [0, 2, 1]);
        assert!(plan.files.iter().all(|file| file.kind == tablespace));
    }

    #[test]
    fn redo_logs_belong_to_the_parent_directory() {
        assert_eq!(data_directory(Path::new("d/#innodb_redo/#ib_redo1")), Path::new("d"));
        assert_eq!(data_directory(Path::new("d/ib_logfile0")), Path::new("d"));
        assert_eq!(data_directory(Path::new("ib_logfile0")), Path::new(""));
    }

    #[test]
    fn a_file_named_by_the_user_always_has_a_kind() {
        assert_eq!(classify(b"text", "notes.txt", true, 4), Some(DetectedKind::Unidentified));
        assert_eq!(classify(b"text", "notes.txt", false, 4), None);
        assert_eq!(classify(&[7; 4096], "t.ibd", false, 4096), Some(DetectedKind::TablespaceWithoutHeader));
        assert_eq!(classify(&[7; 64], "binlog.000001", false, 64), Some(DetectedKind::Unidentified));
        assert_eq!(classify(&[7; 4096], "undo_001", false, 4096), Some(DetectedKind::TablespaceWithoutHeader));
    }
}
