//! The plan of a transfer: every file, directory and link of the source, as found by one scan.

mod entry;
mod received;

use std::{
    collections::HashSet,
    ffi::OsStr,
    fs::{self, Metadata},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    time::SystemTime,
};

use files::{LOST_AND_FOUND, MANIFEST, STAGING};
use glob::Pattern;
use innodb::server_file::link::{Destination, destination};

pub(crate) use self::entry::{Chunks, Identity, OTHER_FILE};
pub use self::{
    entry::{PlannedEntry, Stamp},
    received::first_invalid,
};
use crate::{
    error::Error,
    path::RelativePath,
    wire::{Entry, Kind, Root},
};

/// Which files are transferred.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// If not empty, only files and links whose path matches a pattern are transferred.
    pub include: Vec<Pattern>,
    /// Matching entries and everything below them are not transferred.
    pub exclude: Vec<Pattern>,
}

impl Selection {
    fn excludes(&self, path: &Path) -> bool {
        self.exclude.iter().any(|pattern| pattern.matches_path(path))
    }

    fn includes(&self, path: &Path) -> bool {
        self.include.is_empty() || self.include.iter().any(|pattern| pattern.matches_path(path))
    }
}

/// A scanned source.
#[derive(Debug)]
pub struct Plan {
    /// Root directory of the source.
    pub root: PathBuf,
    /// Entries to transfer, parents before their content. The index is the entry's number.
    pub entries: Vec<PlannedEntry>,
    /// Entries that cannot be transferred: sockets, devices, pipes.
    pub skipped: Vec<PathBuf>,
    /// Links that lead out of the source, or are absolute. What they lead to is not transferred in their place.
    pub external_links: Vec<PathBuf>,
    /// Bytes of all files, holes included.
    pub bytes: u64,
    /// Bytes of all files, without holes.
    pub allocated_bytes: u64,
    /// Owner and permissions of the source directory.
    pub root_attributes: Root,
    root_identity: Identity,
    selection: Selection,
    /// Patterns of the selection that matched something.
    matched: HashSet<Pattern>,
    /// Start of the scan.
    began: SystemTime,
    /// Directories outside of the root from which files were added.
    others: Vec<PathBuf>,
}

impl Plan {
    /// Scans everything below `root`.
    ///
    /// # Errors
    /// [`Error::Source`] names what cannot be read; [`Error::Unfinished`] if `root`
    /// is the target of an interrupted transfer.
    pub fn scan(root: &Path, selection: &Selection) -> Result<Self, Error> {
        let unreadable = |source| Error::Source { path: root.to_path_buf(), source };
        let metadata = fs::metadata(root).map_err(unreadable)?;
        if !metadata.is_dir() {
            return Err(unreadable(std::io::ErrorKind::NotADirectory.into()));
        }
        // A staging directory contains only part of the data, and its name does not occur in data directories.
        if stat(&root.join(STAGING))?.is_some() {
            return Err(Error::Unfinished { path: root.to_path_buf() });
        }
        let mut plan = Self {
            root: root.to_path_buf(),
            entries: Vec::new(),
            skipped: Vec::new(),
            external_links: Vec::new(),
            bytes: 0,
            allocated_bytes: 0,
            root_attributes: Root { mode: metadata.mode() & 0o7777, uid: metadata.uid(), gid: metadata.gid() },
            root_identity: Identity::from_metadata(&metadata),
            selection: selection.clone(),
            matched: HashSet::new(),
            began: SystemTime::now(),
            others: Vec::new(),
        };
        let mut directories = vec![PathBuf::new()];
        while let Some(directory) = directories.pop() {
            plan.scan_directory(&directory, selection, &mut directories)?;
        }
        plan.entries.sort_by(|a, b| a.entry.path.cmp(&b.entry.path));
        Ok(plan)
    }

    /// The plan of everything that a stream has delivered so far.
    pub(crate) fn streamed(mut entries: Vec<PlannedEntry>, root_attributes: Root, began: SystemTime) -> Self {
        entries.sort_by(|a, b| a.entry.path.cmp(&b.entry.path));
        let bytes = entries.iter().filter_map(PlannedEntry::file_bytes).sum();
        let root_identity = Identity { device: u64::MAX, inode: 0, bytes: 0, modified: (0, 0), changed: (0, 0) };
        Self {
            root: PathBuf::new(),
            entries,
            skipped: Vec::new(),
            external_links: Vec::new(),
            bytes,
            allocated_bytes: bytes,
            root_attributes,
            root_identity,
            selection: Selection::default(),
            matched: HashSet::new(),
            began,
            others: Vec::new(),
        }
    }

    /// Adds the files of another directory whose names match, as if they were in the root.
    ///
    /// # Errors
    /// [`Error::Source`] names what cannot be read, or a name that already exists in the
    /// root.
    pub fn add(&mut self, directory: &Path, names: &[Pattern]) -> Result<(), Error> {
        let unreadable = |path: &Path, source| Error::Source { path: path.to_path_buf(), source };
        let other = self.others.len();
        self.others.push(directory.to_path_buf());
        for item in fs::read_dir(directory).map_err(|source| unreadable(directory, source))? {
            let name = item.map_err(|source| unreadable(directory, source))?.file_name();
            let path = Path::new(&name);
            if !names.iter().any(|pattern| pattern.matches_path(path)) {
                continue;
            }
            let absolute = directory.join(path);
            if self.entries.iter().any(|planned| planned.entry.path.as_path() == path) {
                return Err(unreadable(&absolute, std::io::ErrorKind::AlreadyExists.into()));
            }
            if let Some(metadata) = stat(&absolute)?.filter(Metadata::is_file) {
                self.entry(path, &absolute, Kind::File { bytes: metadata.len() }, &metadata, Some(other))?;
            }
        }
        self.entries.sort_by(|a, b| a.entry.path.cmp(&b.entry.path));
        Ok(())
    }

    /// Marks files that can be written without a change of their timestamps because a program has
    /// mapped them into memory: they are read again in every round. `is` gets name and inode.
    pub fn mark_mtime_unreliable(&mut self, is: impl Fn(&OsStr, u64) -> bool) {
        for planned in &mut self.entries {
            let name = planned.entry.path.as_path().file_name().unwrap_or_default();
            planned.mtime_unreliable = planned.file_bytes().is_some() && is(name, planned.identity.inode);
        }
    }

    /// Marks files that are sent as they are, even if they change. `is` gets the path.
    pub fn mark_may_change(&mut self, is: impl Fn(&Path) -> bool) {
        for planned in &mut self.entries {
            planned.may_change = planned.file_bytes().is_some() && is(planned.entry.path.as_path());
        }
    }

    /// Whether a file is certainly unchanged since an earlier plan, so that it need not be read
    /// again.
    pub(crate) fn is_unchanged_since(planned: &PlannedEntry, before: &(Identity, SystemTime)) -> bool {
        let (identity, looked) = before;
        !planned.mtime_unreliable && planned.identity == *identity && identity.is_settled(*looked)
    }

    /// The state of a file for a later call of [`is_unchanged_since`](Self::is_unchanged_since).
    pub(crate) const fn identity(&self, planned: &PlannedEntry) -> (Identity, SystemTime) {
        (planned.identity, self.began)
    }

    fn scan_directory(
        &mut self,
        directory: &Path,
        selection: &Selection,
        directories: &mut Vec<PathBuf>,
    ) -> Result<(), Error> {
        let absolute = self.root.join(directory);
        let unreadable = |source| Error::Source { path: absolute.clone(), source };
        let items = match fs::read_dir(&absolute) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !directory.as_os_str().is_empty() => {
                return Ok(());
            }
            items => items.map_err(unreadable)?,
        };
        for item in items {
            let name = item.map_err(unreadable)?.file_name();
            let path = directory.join(&name);
            let ours = directory.as_os_str().is_empty() && is_reserved(&name);
            if ours {
                continue;
            }
            self.note_matches(&selection.exclude, &path);
            if selection.excludes(&path) {
                continue;
            }
            self.stat(&path, selection, directories)?;
        }
        Ok(())
    }

    fn stat(&mut self, path: &Path, selection: &Selection, directories: &mut Vec<PathBuf>) -> Result<(), Error> {
        let absolute = self.root.join(path);
        let unreadable = |source| Error::Source { path: absolute.clone(), source };
        // In a source in use, files may disappear.
        let Some(metadata) = stat(&absolute)? else { return Ok(()) };
        if !metadata.is_dir() {
            self.note_matches(&selection.include, path);
        }
        let kind = if metadata.is_dir() {
            directories.push(path.to_path_buf());
            Kind::Directory
        } else if !selection.includes(path) {
            return Ok(());
        } else if metadata.is_file() {
            Kind::File { bytes: metadata.len() }
        } else if metadata.is_symlink() {
            let target = fs::read_link(&absolute).map_err(unreadable)?;
            let target_of = |place: &Path| fs::read_link(self.root.join(place)).ok();
            // The receiver has another root.
            if destination(None, path, &target, &target_of) != Destination::Inside {
                self.external_links.push(absolute.clone());
            }
            Kind::Link { target: target.as_os_str().as_bytes().to_vec() }
        } else {
            self.skipped.push(absolute);
            return Ok(());
        };
        self.entry(path, &absolute, kind, &metadata, None)
    }

    fn note_matches(&mut self, patterns: &[Pattern], path: &Path) {
        for pattern in patterns.iter().filter(|pattern| pattern.matches_path(path)) {
            if !self.matched.contains(pattern) {
                self.matched.insert(pattern.clone());
            }
        }
    }

    /// Number of files to transfer.
    #[must_use]
    pub fn files(&self) -> usize {
        self.entries.iter().filter(|planned| planned.file_bytes().is_some()).count()
    }

    /// Warnings about entries that are not sent, and about patterns without a match except those in `optional`.
    #[must_use]
    pub fn warnings(&self, optional: &[Pattern]) -> Vec<String> {
        let skipped = self.skipped.iter();
        let skipped = skipped.map(|path| format!("{}: not sent, it is a socket, a pipe or a device", path.display()));
        let external_links = self.external_links.iter().map(|path| {
            format!("{}: a link that leads out of the source; what it points at is not sent", path.display())
        });
        let unmatched = self.unmatched().filter(|pattern| !optional.contains(pattern)).map(|pattern| {
            format!(
                "the pattern '{pattern}' matches nothing; patterns are of paths below the source, such as 'sakila/*'"
            )
        });
        skipped.chain(external_links).chain(unmatched).collect()
    }

    /// Patterns of the selection that matched nothing in the source.
    pub fn unmatched(&self) -> impl Iterator<Item = &Pattern> {
        let patterns = self.selection.include.iter().chain(&self.selection.exclude);
        patterns.filter(|pattern| !self.matched.contains(*pattern))
    }

    fn entry(
        &mut self,
        path: &Path,
        absolute: &Path,
        kind: Kind,
        metadata: &Metadata,
        other: Option<usize>,
    ) -> Result<(), Error> {
        let Some(relative) = RelativePath::parse(path.as_os_str().as_bytes()) else {
            let source = std::io::ErrorKind::InvalidFilename.into();
            return Err(Error::Source { path: absolute.to_path_buf(), source });
        };
        if let Kind::File { bytes } = kind {
            self.bytes += bytes;
            self.allocated_bytes += bytes.min(metadata.blocks().saturating_mul(512));
        }
        let entry = Entry {
            path: relative,
            kind,
            mode: metadata.mode() & 0o7777,
            uid: metadata.uid(),
            gid: metadata.gid(),
            modified: (metadata.mtime(), u32::try_from(metadata.mtime_nsec()).unwrap_or_default()),
        };
        let sparse = metadata.blocks().saturating_mul(512) < metadata.len();
        self.entries.push(PlannedEntry {
            entry,
            sparse,
            identity: Identity::from_metadata(metadata),
            mtime_unreliable: false,
            may_change: false,
            other,
            chunks: None,
        });
        Ok(())
    }

    /// Checks that the source has not changed since the plan was made. A directory's modification
    /// time changes when a file is created or removed in it.
    ///
    /// # Errors
    /// [`Error::Changed`] names the first difference.
    pub fn check_unchanged(&self) -> Result<(), Error> {
        if self.entries.iter().any(|planned| planned.chunks.is_some()) {
            // A stream cannot change.
            return Ok(());
        }
        let changed = |path, change| Err(Error::Changed { path, change });
        if !self.is_root_unchanged() {
            return changed(self.root.clone(), "a file was created or removed");
        }
        for planned in &self.entries {
            let path = self.absolute(planned);
            match fs::symlink_metadata(&path).map(|now| planned.change(&now)) {
                Ok(None) => {}
                Ok(Some(change)) => return changed(path, change),
                Err(_) => return changed(path, "it was removed"),
            }
        }
        Ok(())
    }

    /// Whether nothing was created in the root, except for names that are not selected.
    fn is_root_unchanged(&self) -> bool {
        let Ok(now) = fs::metadata(&self.root).map(|now| Identity::from_metadata(&now)) else { return false };
        let then = self.root_identity;
        if now == then || (now.device, now.inode) != (then.device, then.inode) {
            return now == then;
        }
        let Ok(items) = fs::read_dir(&self.root) else { return false };
        let known = |path: &Path| self.entries.iter().any(|planned| planned.entry.path.as_path() == path);
        items.flatten().all(|item| {
            let name = item.file_name();
            let path = Path::new(&name);
            let goes = item.file_type().is_ok_and(|kind| kind.is_dir()) || self.selection.includes(path);
            is_reserved(&name) || self.selection.excludes(path) || !goes || known(path)
        })
    }

    /// Keeps only the entries for which `goes` returns `true`.
    pub fn keep(&mut self, goes: impl Fn(&PlannedEntry) -> bool) {
        self.entries.retain(goes);
        self.bytes = self.entries.iter().filter_map(PlannedEntry::file_bytes).sum();
        self.external_links.retain(|link| {
            let path = link.strip_prefix(&self.root).unwrap_or(link);
            self.entries.iter().any(|planned| planned.entry.path.as_path() == path)
        });
    }

    /// Absolute path of an entry.
    #[must_use]
    pub fn absolute(&self, planned: &PlannedEntry) -> PathBuf {
        let directory = planned.other.and_then(|other| self.others.get(other)).unwrap_or(&self.root);
        directory.join(planned.entry.path.as_path())
    }
}

/// Whether this name in the root is reserved for this program or the file system. A source that was received has a
/// manifest of its own, which is not sent.
fn is_reserved(name: &OsStr) -> bool {
    name == STAGING || name == LOST_AND_FOUND || name.as_bytes().starts_with(MANIFEST.as_bytes())
}

/// Metadata of a path; `None` if it does not exist.
fn stat(path: &Path) -> Result<Option<Metadata>, Error> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Source { path: path.to_path_buf(), source }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_files_marked_as_changing_may_change() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir(root.join("mysql")).unwrap();
        fs::write(root.join("mysql/slow_log.CSV"), "1\n").unwrap();
        fs::write(root.join("mysql/user.MAD"), "1").unwrap();
        let mut plan = Plan::scan(root, &Selection::default()).unwrap();
        plan.mark_may_change(|path| path.starts_with("mysql/slow_log.CSV"));
        fs::write(root.join("mysql/slow_log.CSV"), "1\n2\n").unwrap();
        plan.check_unchanged().unwrap();
        fs::write(root.join("mysql/user.MAD"), "12").unwrap();
        assert!(matches!(plan.check_unchanged(), Err(Error::Changed { .. })));
    }

    #[test]
    fn a_source_is_listed_with_parents_first() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("b/c")).unwrap();
        fs::write(root.join("b/c/f"), "12345").unwrap();
        fs::write(root.join("b.ibd"), "1").unwrap();
        fs::write(root.join("a"), "").unwrap();
        fs::write(root.join("sealant-manifest"), "").unwrap();
        symlink("../x", root.join("b/out")).unwrap();
        symlink("../../x", root.join("b/far")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("s.sock")).unwrap();
        let plan = Plan::scan(root, &Selection::default()).unwrap();
        let paths: Vec<String> = plan.entries.iter().map(|planned| planned.entry.path.to_string()).collect();
        assert_eq!(paths, ["a", "b", "b/c", "b/c/f", "b/far", "b/out", "b.ibd"]);
        assert_eq!(plan.bytes, 6);
        assert_eq!(plan.skipped, [root.join("s.sock")]);
        assert_eq!(plan.external_links, [root.join("b/far")]);
        let entries: Vec<Entry> = plan.entries.into_iter().map(|planned| planned.entry).collect();
        assert_eq!(first_invalid(&entries), None);
    }

    #[test]
    fn links_that_lead_out_are_named_while_they_are_in_the_plan() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let database = root.join("db");
        fs::create_dir(&database).unwrap();
        fs::write(database.join("t.ibd"), "1").unwrap();
        for (target, link) in [
            (Path::new(".."), "db/up"),
            (Path::new("db/t.ibd"), "within"),
            // As it is written, it stays inside.
            (Path::new("db/up/../x"), "through"),
            (database.as_path(), "absolute"),
            (Path::new("/etc/ssl/cert.pem"), "cert.pem"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        let mut plan = Plan::scan(root, &Selection::default()).unwrap();
        let links = |plan: &Plan| {
            let mut links = plan.external_links.clone();
            links.sort();
            links
        };
        assert_eq!(links(&plan), ["absolute", "cert.pem", "through"].map(|link| root.join(link)));
        plan.keep(|planned| planned.entry.path.as_path() != Path::new("cert.pem"));
        assert_eq!(links(&plan), ["absolute", "through"].map(|link| root.join(link)));
        assert_eq!(plan.bytes, 1);
    }

    #[test]
    fn an_unfinished_target_is_refused_as_a_source() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::write(root.join("ibdata1"), "1").unwrap();
        fs::write(root.join("sealant-manifest"), "").unwrap();
        assert_eq!(Plan::scan(root, &Selection::default()).unwrap().entries.len(), 1);
        fs::create_dir(root.join(STAGING)).unwrap();
        let exclude = vec![Pattern::new(".sealant*").unwrap()];
        for selection in [Selection::default(), Selection { exclude, ..Selection::default() }] {
            let refused = Plan::scan(root, &selection);
            assert!(matches!(&refused, Err(Error::Unfinished { path }) if path == root), "{refused:?}");
        }
    }

    #[test]
    fn a_selection_excludes_whole_directories() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("db")).unwrap();
        fs::write(root.join("db/t.ibd"), "1").unwrap();
        fs::write(root.join("db/t.frm"), "1").unwrap();
        fs::write(root.join("x.ibd"), "1").unwrap();
        let paths = |include: &[&str], exclude: &[&str]| {
            let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern::new(text).unwrap()).collect();
            let selection = Selection { include: patterns(include), exclude: patterns(exclude) };
            let plan = Plan::scan(root, &selection).unwrap();
            plan.entries.iter().map(|planned| planned.entry.path.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(paths(&[], &[]), "db db/t.frm db/t.ibd x.ibd");
        assert_eq!(paths(&[], &["db"]), "x.ibd");
        assert_eq!(paths(&["*.ibd"], &[]), "db db/t.ibd x.ibd");
        assert_eq!(paths(&["*.ibd"], &["x*"]), "db db/t.ibd");
    }

    #[test]
    fn patterns_that_match_nothing_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir(root.join("db")).unwrap();
        fs::write(root.join("db/t.ibd"), "1").unwrap();
        fs::write(root.join("x.pid"), "1").unwrap();
        let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern::new(text).unwrap()).collect();
        let selection = Selection { include: patterns(&["db/*", "db"]), exclude: patterns(&["*.pid", "x*", "/x.pid"]) };
        let plan = Plan::scan(root, &selection).unwrap();
        let unmatched: Vec<&str> = plan.unmatched().map(Pattern::as_str).collect();
        assert_eq!(unmatched, ["db", "/x.pid"]);
        let warned = plan.warnings(&[Pattern::new("/x.pid").unwrap()]);
        assert!(warned.len() == 1 && warned[0].starts_with("the pattern 'db' matches nothing"), "{warned:?}");
    }

    #[test]
    fn changes_since_the_plan_are_detected() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        fs::write(&path, "one").unwrap();
        let plan = Plan::scan(directory.path(), &Selection::default()).unwrap();
        let change = |planned: &PlannedEntry| planned.change(&fs::metadata(&path).unwrap());
        assert_eq!(change(&plan.entries[0]), None);
        fs::write(&path, "other").unwrap();
        assert_eq!(change(&plan.entries[0]), Some("its length changed"));
    }
}
