//! External files: files that a server keeps outside of its data directory and that a copy of the
//! same instant needs: redo and undo logs, system tablespace, doublewrite buffer, Aria's logs,
//! binary logs.
//!
//! The server's open files show where they are, whatever its variables say. A copy has all of them
//! in the default location: in the data directory.

use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use innodb::file_suffix;
use innodb::server_file;

use crate::{
    error::Error,
    process::{OpenFile, ServerProcess, of_process, open_files},
};

/// The external files of one kind in one directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ExternalFiles {
    pub(crate) directory: PathBuf,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// InnoDB's own files: `ib_logfile0`, `#ib_redo12`, `ibdata1`, `undo_001`, `#ib_16384_0.dblwr`.
    InnoDb,
    /// `aria_log_control`, `aria_log.00000001`.
    Aria,
    /// Logs with this base name, and their index.
    Logs(String),
}

impl Kind {
    fn from_name(name: &str) -> Option<Self> {
        if is_innodb(name) {
            Some(Self::InnoDb)
        } else if name.starts_with(server_file::ARIA) {
            Some(Self::Aria)
        } else {
            server_file::log_base(name).map(|base| Self::Logs(base.to_owned()))
        }
    }

    fn holds(&self, name: &str) -> bool {
        match self {
            Self::InnoDb => is_innodb(name),
            Self::Aria => name.starts_with(server_file::ARIA),
            Self::Logs(base) => server_file::is_log_of(name, base),
        }
    }
}

fn is_innodb(name: &str) -> bool {
    is_system_or_undo(name) || server_file::is_redo(name) || server_file::is_doublewrite(name)
}

/// Whether a name is that of a file of the system tablespace or of an undo tablespace.
fn is_system_or_undo(name: &str) -> bool {
    server_file::system_number(name).is_some() || server_file::is_undo(name)
}

/// Whether the name of a file is that of an InnoDB tablespace: of a table, the system or undo logs.
pub(crate) fn is_tablespace(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    is_system_or_undo(&name) || file_suffix::has(path, file_suffix::TABLESPACE)
}

/// One external file.
pub(crate) struct ExternalFile {
    pub(crate) from: PathBuf,
    /// Target path, relative to the copy's data directory.
    pub(crate) to: PathBuf,
    /// Whether it is an index that lists other files by path.
    pub(crate) is_index: bool,
}

impl ExternalFiles {
    /// The files that are currently in the directory.
    pub(crate) fn files(&self) -> Result<Vec<ExternalFile>, Error> {
        let unreadable = |source| Error::Unreadable { path: self.directory.clone(), source };
        // MySQL keeps its redo log in a separate directory of this name.
        let redo = self.directory.file_name().filter(|name| *name == server_file::REDO_DIRECTORY).map(Path::new);
        let mut files = Vec::new();
        for item in fs::read_dir(&self.directory).map_err(unreadable)? {
            let item = item.map_err(unreadable)?;
            let name = item.file_name();
            if name.to_str().is_some_and(|name| self.kind.holds(name)) {
                files.push(ExternalFile {
                    from: item.path(),
                    to: redo.unwrap_or_else(|| Path::new("")).join(&name),
                    is_index: matches!(self.kind, Kind::Logs(_))
                        && server_file::log_base(&name.to_string_lossy()).is_none(),
                });
            }
        }
        Ok(files)
    }
}

/// Finds the files that a server has open outside of its data directory.
///
/// # Errors
/// [`Error::TablespaceOutside`] for a table: a copy could not put it where the server expects it.
pub(crate) fn find(server: &ServerProcess, datadir: &Path) -> Result<Vec<ExternalFiles>, Error> {
    let open = open_files(server.pid).map_err(|source| match source.kind() {
        io::ErrorKind::PermissionDenied => Error::Hidden { pid: server.pid },
        _ => Error::Unreadable { path: of_process(server.pid).join("fd"), source },
    })?;
    let inside = |open: &OpenFile| open.path.starts_with(datadir) || linked_from(datadir, &open.path);
    let mut found = BTreeSet::new();
    for open in open.filter(|open| !inside(open)) {
        let (Some(directory), Some(name)) = (open.path.parent(), open.path.file_name()) else { continue };
        let name = name.to_string_lossy();
        if file_suffix::has(&*name, file_suffix::TABLESPACE) {
            return Err(Error::TablespaceOutside { path: open.path });
        }
        let Some(kind) = Kind::from_name(&name) else { continue };
        // The path is as the server sees it, possibly from inside a container.
        let same = fs::metadata(&open.path).is_ok_and(|seen| (seen.dev(), seen.ino()) == open.identity);
        if !same {
            return Err(Error::OutOfSight { path: open.path });
        }
        found.insert(ExternalFiles { directory: directory.to_owned(), kind });
    }
    Ok(found.into_iter().collect())
}

/// Whether a link in the data directory leads to the directory of a file, which is then copied in
/// place of the link.
fn linked_from(datadir: &Path, path: &Path) -> bool {
    let links = fs::read_dir(datadir).into_iter().flatten().flatten();
    let mut links = links.filter(|item| item.file_type().is_ok_and(|kind| kind.is_symlink()));
    links.any(|link| fs::canonicalize(link.path()).is_ok_and(|target| path.starts_with(target)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tablespaces_are_known_by_their_names() {
        for name in ["db/t.ibd", "db/t#P#p0.ibd", "ibdata1", "undo001", "undo_002", "more.ibu"] {
            assert!(is_tablespace(Path::new(name)), "{name}");
        }
        for name in ["ib_logfile0", "#innodb_redo/#ib_redo7", "#ib_16384_0.dblwr", "ib_buffer_pool", "db/t.MYD", "undo"]
        {
            assert!(!is_tablespace(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn files_of_a_server_are_known_by_their_names() {
        for name in ["ib_logfile0", "ibdata1", "undo_001", "undo001", "#ib_redo7", "#ib_redo8_tmp", "#ib_16384_0.dblwr"]
        {
            assert_eq!(Kind::from_name(name), Some(Kind::InnoDb), "{name}");
        }
        assert_eq!(Kind::from_name("aria_log.00000001"), Some(Kind::Aria));
        assert_eq!(Kind::from_name("mysql-bin.000012"), Some(Kind::Logs("mysql-bin".to_owned())));
        for name in ["error.log", "slow.log", "ibtmp1", "undo", "x.12", "general.log.1"] {
            assert_eq!(Kind::from_name(name), None, "{name}");
        }
        let logs = Kind::Logs("mysql-bin".to_owned());
        assert!(logs.holds("mysql-bin.000001") && logs.holds("mysql-bin.index"));
        assert!(!logs.holds("relay-bin.000001") && !logs.holds("mysql-bin.index.bak"));
    }
}
