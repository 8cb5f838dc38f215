//! Links of a backup that lead out of the directory into which it is restored. Backups of older releases can have some.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{self, Path, PathBuf},
};

use archive::{Manifest, manifest::StoredFile};
use codec::{
    entry::{Entry, Kind},
    path::RelativePath,
};
use innodb::server_file::link::{Destination, destination};

use crate::{Error, Repository};

/// What becomes of links that lead out of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalLinks {
    /// They are restored.
    Kept,
    /// With such a link nothing is restored: a server is to start on the directory, and would follow it.
    Refused,
    /// They are left out, with a warning.
    LeftOut,
}

impl ExternalLinks {
    /// `leave_out`: whether the user wants to do without them. `starts_server`: whether a server is to start on the
    /// directory.
    #[must_use]
    pub const fn new(leave_out: bool, starts_server: bool) -> Self {
        match (leave_out, starts_server) {
            (true, _) => Self::LeftOut,
            (false, true) => Self::Refused,
            (false, false) => Self::Kept,
        }
    }

    /// Judges the links in a manifest before anything is restored into `into`. Removes those that are left out.
    ///
    /// # Errors
    /// [`Error::LinksOut`].
    pub(super) fn apply(self, repository: &Repository, manifest: &mut Manifest, into: &Path) -> Result<(), Error> {
        if self == Self::Kept {
            return Ok(());
        }
        let links = leading_out(&manifest.files, resolved(into).as_deref());
        let Some((path, target)) = links.first_key_value() else { return Ok(()) };
        if self == Self::Refused {
            let (path, target) = (path.as_path().to_owned(), target.clone());
            return Err(Error::LinksOut { number: manifest.head.number, path, target, count: links.len() });
        }
        for (path, target) in &links {
            let reason = format!("it is a link that leads out of the directory, to {}", target.display());
            repository.leave_out(path.to_string(), reason);
        }
        manifest.files.retain(|file| !links.contains_key(&file.entry.path));
        Ok(())
    }
}

/// Number of links among entries.
pub(super) fn count<'e>(entries: impl Iterator<Item = &'e Entry>) -> usize {
    entries.filter(|entry| target(entry).is_some()).count()
}

/// The links that would lead out of a directory, and their targets. `root` is its path, if known.
fn leading_out(files: &[StoredFile], root: Option<&Path>) -> BTreeMap<RelativePath, PathBuf> {
    let links = files.iter().filter_map(|file| Some((&file.entry.path, target(&file.entry)?)));
    let targets: BTreeMap<&Path, &Path> = links.clone().map(|(path, target)| (path.as_path(), target)).collect();
    let target_of = |place: &Path| targets.get(place).map(|target| target.to_path_buf());
    let leads_out = |path: &RelativePath, target: &Path| {
        destination(root, path.as_path(), target, &target_of) == Destination::Outside
    };
    let outside = links.filter(|(path, target)| leads_out(path, target));
    outside.map(|(path, target)| (path.clone(), target.to_owned())).collect()
}

fn target(entry: &Entry) -> Option<&Path> {
    match &entry.kind {
        Kind::Link { target } => Some(Path::new(OsStr::from_bytes(target))),
        Kind::File { .. } | Kind::Directory => None,
    }
}

/// The path of a directory that need not exist, with links resolved.
fn resolved(directory: &Path) -> Option<PathBuf> {
    let directory = path::absolute(directory).ok()?;
    let parent = || Some(directory.parent()?.canonicalize().ok()?.join(directory.file_name()?));
    directory.canonicalize().ok().or_else(parent)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use archive::{List, manifest::Head};
    use verify::Keys;

    use super::*;
    use crate::{
        repository::tests::TestRepository,
        restore::{Opened, RestoreOptions, RestoreProgress, restore},
    };

    /// A backup of a directory, and of links with these paths and targets.
    fn manifest(links: &[(&str, &str)]) -> Manifest {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let stored = |path: &str, kind: Kind| StoredFile {
            entry: Entry {
                path: RelativePath::parse(path.as_bytes()).unwrap(),
                kind,
                mode: 0o750,
                uid,
                gid,
                modified: (0, 0),
            },
            hash: None,
            head: None,
            chunks: List::default(),
            runs: List::default(),
        };
        let link = |(path, target): &(&str, &str)| stored(path, Kind::Link { target: target.as_bytes().to_vec() });
        let mut files: Vec<StoredFile> = links.iter().map(link).collect();
        files.push(stored("db", Kind::Directory));
        files.sort_by(|one, other| one.entry.path.cmp(&other.entry.path));
        let head = serde_json::json!({
            "schema": "", "repo": "", "host": "db1", "number": 7, "instant": "2026-11-23T01:00:00Z",
            "provider": "stopped", "root": { "mode": 0o750, "uid": uid, "gid": gid }, "entries": files.len(),
        });
        let head: Head = serde_json::from_value(head).unwrap();
        Manifest { head, keys: Vec::new(), packs: Vec::new(), files }
    }

    fn restored(test: &TestRepository, into: &Path, manifest: &Manifest, links: ExternalLinks) -> Result<u64, Error> {
        let keys = Keys::default();
        let options = RestoreOptions {
            into: into.to_owned(),
            identities: &[],
            keys: &keys,
            owner: None,
            rekey: None,
            base: None,
            salvage: false,
            links,
            streams: 1,
        };
        let opened = Opened::Manifest(Box::new(manifest.clone()));
        let restored = restore(&test.repository, &opened, &options, &RestoreProgress::default())?;
        Ok(restored.entries)
    }

    #[test]
    fn links_that_lead_out_are_told_from_others() {
        let backup = manifest(&[
            ("absolute", "/srv/into/db"),
            ("db/up", ".."),
            ("far", "/etc"),
            ("near", "db/t.ibd"),
            ("out", "../other"),
            ("through", "db/up/../other"),
            ("twice", "far/passwd"),
        ]);
        let named = |root: Option<&str>| {
            let paths = leading_out(&backup.files, root.map(Path::new)).into_keys();
            paths.map(|path| path.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(named(Some("/srv/into")), "far out through twice");
        assert_eq!(named(Some("/srv/other")), "absolute far out through twice");
        assert_eq!(named(None), "absolute far out through twice");
    }

    #[test]
    fn a_link_that_leads_out_is_refused_before_anything_is_written() {
        let (test, directory) = (TestRepository::new(), tempfile::tempdir().unwrap());
        let (into, backup) = (directory.path().join("into"), manifest(&[("far", "/etc"), ("out", "../other")]));
        let error = restored(&test, &into, &backup, ExternalLinks::Refused).unwrap_err();
        assert!(!into.exists());
        let expected = "backup 7: far is a link that leads out of the directory, to /etc, and so does another; ";
        assert!(error.to_string().starts_with(expected), "{error}");
        assert!(error.hint().unwrap().contains("--leave-out-links"));

        assert_eq!(restored(&test, &into, &backup, ExternalLinks::Kept).unwrap(), 3);
        assert_eq!(fs::read_link(into.join("far")).unwrap(), Path::new("/etc"));
        assert!(test.repository.warnings().is_empty());
    }

    #[test]
    fn links_that_lead_out_are_left_out_and_named() {
        let (test, directory) = (TestRepository::new(), tempfile::tempdir().unwrap());
        let (into, backup) = (directory.path().join("into"), manifest(&[("far", "/etc"), ("near", "db")]));
        assert_eq!(restored(&test, &into, &backup, ExternalLinks::LeftOut).unwrap(), 2);
        assert!(into.join("near").is_symlink() && !into.join("far").is_symlink());
        let expected = "far was left out: it is a link that leads out of the directory, to /etc";
        assert_eq!(test.repository.warnings(), [expected]);
    }

    #[test]
    fn other_links_are_restored_for_a_server_too() {
        let (test, directory) = (TestRepository::new(), tempfile::tempdir().unwrap());
        let (into, backup) = (directory.path().join("into"), manifest(&[("near", "db")]));
        assert_eq!(ExternalLinks::new(false, false), ExternalLinks::Kept);
        assert_eq!(restored(&test, &into, &backup, ExternalLinks::new(false, true)).unwrap(), 2);
        assert!(into.join("near").is_symlink());
    }
}
