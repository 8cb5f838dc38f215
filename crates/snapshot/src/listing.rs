//! Lists the files of a data directory that are copied.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, File},
    io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use files::{
    LOST_AND_FOUND, STAGING,
    regular::{self, Links},
};
use innodb::file_suffix;
use innodb::server_file;
use innodb::server_file::link::{Destination, destination};

use crate::{error::Error, location::DIRECTORY};

/// Names at the top of a data directory that belong to a running process and not to its data.
///
/// A server recreates them. Galera's cache and state belong to one node. MariaDB's
/// `ddl_recovery.log` is not listed, since a copy of a running server needs it.
pub const EXCLUDED: [Excluded; 16] = [
    Excluded::Starts(server_file::TEMPORARY),
    Excluded::Is(server_file::TEMPORARY_DIRECTORY),
    Excluded::Ends(".pid"),
    Excluded::Ends(".err"),
    Excluded::Ends(".sock"),
    Excluded::Ends(".sock.lock"),
    Excluded::Is(server_file::GALERA_CACHE),
    Excluded::Starts(server_file::GALERA_PAGE),
    Excluded::Is(server_file::GALERA_STATE[1]),
    Excluded::Is(server_file::GALERA_STATE[0]),
    Excluded::Is(server_file::TRANSFER_IN_PROGRESS),
    Excluded::Is(server_file::TRANSFER_FLUSHED),
    Excluded::Is(server_file::TRANSFER_FAILED),
    Excluded::Is(LOST_AND_FOUND),
    Excluded::Is(STAGING),
    Excluded::Is(DIRECTORY),
];

/// Excluded names that are directories.
const DIRECTORIES: [&str; 4] = [server_file::TEMPORARY_DIRECTORY, LOST_AND_FOUND, STAGING, DIRECTORY];

/// Names that are excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excluded {
    /// This name.
    Is(&'static str),
    /// Names with this prefix.
    Starts(&'static str),
    /// Names with this suffix.
    Ends(&'static str),
}

impl Excluded {
    /// Prefixes and suffixes never match directories, and whole names only those in [`DIRECTORIES`]: a database may
    /// have a name such as `ibtmp_orders` or `tables_flushed`.
    fn matches(self, name: &OsStr, is_directory: bool) -> bool {
        let name = name.as_bytes();
        match self {
            Self::Is(text) => name == text.as_bytes() && (!is_directory || DIRECTORIES.contains(&text)),
            Self::Starts(text) => !is_directory && name.starts_with(text.as_bytes()),
            Self::Ends(text) => !is_directory && name.ends_with(text.as_bytes()),
        }
    }

    /// As a pattern for file names.
    #[must_use]
    pub fn pattern(self) -> String {
        match self {
            Self::Is(text) => text.to_owned(),
            Self::Starts(text) => format!("{text}[0-9]*"),
            Self::Ends(text) => format!("*{text}"),
        }
    }
}

/// Everything below a data directory, as paths relative to it, parents first.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) directories: Vec<PathBuf>,
    pub(crate) files: Vec<PathBuf>,
    /// Links that are copied as links: they lead to the same place in a copy, or are certificates of this server.
    pub(crate) links: Vec<PathBuf>,
    /// Links that lead out of the directory: their targets are listed in their place.
    pub(crate) external_links: Vec<PathBuf>,
}

impl Listing {
    /// Lists a data directory.
    ///
    /// # Errors
    /// [`Error::LeadsNowhere`] and [`Error::LeadsBack`] for links that no copy can have; [`Error::TablespaceOutside`].
    pub(crate) fn scan(root: &Path) -> Result<Self, Error> {
        let mut listing = Self::default();
        let mut followed = BTreeSet::new();
        let mut open = vec![PathBuf::new()];
        while let Some(directory) = open.pop() {
            let absolute = root.join(&directory);
            let unreadable = |source| Error::Unreadable { path: absolute.clone(), source };
            for item in fs::read_dir(&absolute).map_err(unreadable)? {
                let item = item.map_err(unreadable)?;
                let name = item.file_name();
                let path = directory.join(&name);
                let kind = item.file_type().map_err(unreadable)?;
                let is_left_out = |known: &Excluded| known.matches(&name, kind.is_dir());
                if directory.as_os_str().is_empty() && EXCLUDED.iter().any(is_left_out) {
                    continue;
                }
                if kind.is_dir() {
                    listing.directories.push(path.clone());
                    open.push(path);
                } else if file_suffix::has(&path, file_suffix::LINK) {
                    // This file contains the path of a table outside of the data directory.
                    return Err(Error::TablespaceOutside { path: root.join(path) });
                } else if kind.is_file() {
                    listing.files.push(path);
                } else if kind.is_symlink() && listing.add_link(root, path.clone(), &mut followed)? {
                    open.push(path);
                }
            }
        }
        listing.directories.sort();
        Ok(listing)
    }

    /// Adds a link; its target is scanned if it is a directory outside.
    fn add_link(&mut self, root: &Path, link: PathBuf, followed: &mut BTreeSet<(u64, u64)>) -> Result<bool, Error> {
        let path = root.join(&link);
        // A running server removes links.
        let Ok(written) = fs::read_link(&path) else { return Ok(false) };
        let target_of = |place: &Path| fs::read_link(root.join(place)).ok();
        let is_inside = destination(Some(root), &link, &written, &target_of) == Destination::Inside;
        // What is below a link that is followed is in another place now than in a copy.
        let is_moved = self.external_links.iter().any(|above| link.starts_with(above));
        let target = fs::canonicalize(&path).ok();
        if server_file::is_certificate(&link) || is_inside && (!is_moved || target.is_none()) {
            self.links.push(link);
            return Ok(false);
        }
        let Some(target) = target.filter(|target| !target.starts_with(root)) else {
            return Err(Error::leads_out(root, path));
        };
        let unreadable = |source| Error::Unreadable { path: target.clone(), source };
        let metadata = fs::metadata(&target).map_err(unreadable)?;
        self.external_links.push(link.clone());
        if metadata.is_file() {
            self.files.push(link);
        } else if metadata.is_dir() && followed.insert((metadata.dev(), metadata.ino())) {
            self.directories.push(link);
            return Ok(true);
        }
        Ok(false)
    }
}

/// Opens a file of a data directory for reading, without changing its access time if possible.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    // The targets of links that lead out are copied.
    regular::open(path, Links::Followed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_of_the_running_process_are_excluded_and_external_links_followed() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap().join("data");
        let other = root.with_file_name("other");
        for path in [
            root.join("db"),
            root.join("ibtmp_db"),
            root.join("#innodb_temp"),
            root.join("#innodb_redo"),
            other.join("deep"),
        ] {
            fs::create_dir_all(path).unwrap();
        }
        for name in ["ibdata1", "ibtmp1", "vm.pid", "vm.err", "galera.cache", "db/ibtmp1.pid", "#innodb_temp/t.ibt"] {
            fs::write(root.join(name), "").unwrap();
        }
        fs::write(other.join("t.ibd"), "").unwrap();
        symlink(&other, root.join("linked")).unwrap();
        symlink("deep", other.join("again")).unwrap();
        symlink("nothing", other.join("dangling")).unwrap();
        symlink("ibdata1", root.join("within")).unwrap();
        symlink("nothing", root.join("dangling")).unwrap();
        symlink("/nowhere/cert.pem", root.join("server-cert.pem")).unwrap();
        let listing = Listing::scan(&root).unwrap();
        let sorted = |paths: &[PathBuf]| {
            let mut names: Vec<_> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            names.sort();
            names.join(" ")
        };
        assert_eq!(sorted(&listing.directories), "#innodb_redo db ibtmp_db linked linked/again linked/deep");
        assert_eq!(sorted(&listing.files), "db/ibtmp1.pid ibdata1 linked/t.ibd");
        assert_eq!(sorted(&listing.links), "dangling linked/dangling server-cert.pem within");
        assert_eq!(sorted(&listing.external_links), "linked linked/again");
    }

    #[test]
    fn links_that_no_copy_can_have_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap().join("data");
        let other = root.with_file_name("other");
        for path in [root.join("db"), other.clone()] {
            fs::create_dir_all(path).unwrap();
        }
        fs::write(root.join("ibdata1"), "").unwrap();
        symlink("..", root.join("db/up")).unwrap();
        symlink(&other, root.join("linked")).unwrap();
        let refused = |link: PathBuf, target: &str| {
            symlink(target, &link).unwrap();
            let error = Listing::scan(&root).unwrap_err();
            fs::remove_file(link).unwrap();
            error.to_string()
        };
        let (inside, link) = (root.join("ibdata1"), root.join("link"));
        let (place, inside) = (link.display(), inside.display());
        let absolute = "is absolute; make it relative: in a copy it would lead to the original";
        for (target, expected) in [
            (inside.to_string(), format!("{inside} in the data directory that {absolute}")),
            (format!("{inside}.gone"), format!("{inside}.gone in the data directory that {absolute}")),
            ("../data/ibdata1".to_owned(), format!("{inside} in the data directory that leaves")),
        ] {
            let error = refused(link.clone(), &target);
            assert!(error.starts_with(&format!("{place}: a link to {expected}")), "{error}");
        }
        for target in ["/nowhere", "../nowhere", "db/up/../nowhere", "link"] {
            let expected = "a link that leads out of the data directory, to";
            let expected = format!("{place}: {expected} {target}, where nothing can be found");
            assert_eq!(refused(link.clone(), target), expected);
        }
        let error = refused(other.join("back"), &root.to_string_lossy());
        assert!(error.contains("/linked/back: a link to ") && error.contains(absolute), "{error}");
    }
}
