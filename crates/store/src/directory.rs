//! A directory: each object is a file.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
};

use files::{
    PendingFile, WriteOptions,
    regular::{self, Links},
};

use jiff::Timestamp;

use crate::{Body, Deletion, Error, Listed, Name, Put, Store};

/// A directory, one file for each object. A file is written under a temporary name, synced and renamed without
/// replacing anything.
#[derive(Clone, Debug)]
pub struct Directory {
    root: PathBuf,
}

/// Everyone who may write the directory may read objects: they are encrypted, or public.
const OPTIONS: WriteOptions = WriteOptions { mode: 0o640, owner: None, replace: false };

impl Directory {
    /// Opens an existing directory.
    ///
    /// # Errors
    /// [`Error::Absent`] if it does not exist, [`Error::Io`] if it is not a directory.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let failed = |source: io::Error| match source.kind() {
            ErrorKind::NotFound => Error::Absent { location: root.display().to_string(), source },
            _ => io_error(root, "cannot be opened", source),
        };
        if !fs::metadata(root).map_err(failed)?.is_dir() {
            return Err(failed(ErrorKind::NotADirectory.into()));
        }
        Ok(Self { root: root.to_owned() })
    }

    /// Creates the directory unless it exists, and opens it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn make(root: &Path) -> Result<Self, Error> {
        match files::create_directory(root, WriteOptions { mode: 0o750, ..OPTIONS }) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => made.map_err(|source| io_error(root, "cannot be created", source))?,
        }
        Self::open(root)
    }

    fn path(&self, name: &Name) -> PathBuf {
        self.root.join(name.as_str())
    }

    /// Creates the parent directories of an object and syncs each.
    fn make_parents(&self, path: &Path) -> Result<(), Error> {
        let below = path.parent().and_then(|parent| parent.strip_prefix(&self.root).ok());
        let mut directory = self.root.clone();
        for part in below.into_iter().flatten() {
            directory.push(part);
            match files::create_directory(&directory, WriteOptions { mode: 0o750, ..OPTIONS }) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => made.map_err(|source| io_error(&directory, "cannot be created", source))?,
            }
        }
        Ok(())
    }

    fn walk(&self, directory: &Path, found: &mut Vec<Listed>) -> io::Result<()> {
        let items = match fs::read_dir(directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            items => items?,
        };
        for item in items {
            let item = item?;
            let (path, kind) = (item.path(), item.file_type()?);
            if kind.is_dir() {
                self.walk(&path, found)?;
                continue;
            }
            let name = path.strip_prefix(&self.root).ok().and_then(Path::to_str).and_then(|name| name.parse().ok());
            // Unfinished objects are hidden files, which are not valid names.
            if let Some(name) = name.filter(|_| kind.is_file()) {
                let metadata = item.metadata()?;
                let modified = Timestamp::try_from(metadata.modified()?).unwrap_or_default();
                found.push(Listed { name, bytes: metadata.len(), modified, etag: None });
            }
        }
        Ok(())
    }

    fn missing(&self, name: &Name) -> Error {
        Error::Missing { location: self.location(), name: name.clone() }
    }
}

impl Store for Directory {
    fn put_new(&self, name: &Name, body: &mut dyn Body, bytes: u64) -> Result<Put, Error> {
        let path = self.path(name);
        self.make_parents(&path)?;
        if fs::symlink_metadata(&path).is_ok() {
            return Ok(Put::Exists);
        }
        let failed = |source| io_error(&path, "cannot be written", source);
        let (pending, found) =
            PendingFile::copy(&path, &mut body.take(bytes.saturating_add(1)), OPTIONS).map_err(failed)?;
        if found != bytes {
            return Err(Error::Length { name: name.clone(), expected: bytes, found });
        }
        match pending.commit() {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Put::Exists),
            put => put.map(|()| Put::New).map_err(failed),
        }
    }

    fn get(&self, name: &Name, range: Option<Range<u64>>) -> Result<Box<dyn Read + Send>, Error> {
        let path = self.path(name);
        let failed = |source: io::Error| match source.kind() {
            ErrorKind::NotFound => self.missing(name),
            _ => io_error(&path, "cannot be read", source),
        };
        let mut file: File = regular::open(&path, Links::Refused).map_err(failed)?;
        let Some(range) = range else { return Ok(Box::new(file)) };
        file.seek(SeekFrom::Start(range.start)).map_err(failed)?;
        Ok(Box::new(file.take(range.end.saturating_sub(range.start))))
    }

    fn head(&self, name: &Name) -> Result<Option<u64>, Error> {
        let path = self.path(name);
        match fs::symlink_metadata(&path) {
            Ok(found) => Ok(found.is_file().then_some(found.len())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(io_error(&path, "cannot be looked at", source)),
        }
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>, Error> {
        let mut found = Vec::new();
        let directory = self.root.join(prefix);
        self.walk(&directory, &mut found).map_err(|source| io_error(&directory, "cannot be listed", source))?;
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    fn children(&self, prefix: &str) -> Result<Vec<String>, Error> {
        let directory = self.root.join(prefix);
        let failed = |source| io_error(&directory, "cannot be listed", source);
        let items = match fs::read_dir(&directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            items => items.map_err(failed)?,
        };
        let mut children = Vec::new();
        for item in items {
            let item = item.map_err(failed)?;
            if item.file_type().map_err(failed)?.is_dir() {
                let name = item.file_name().to_str().and_then(|name| name.parse::<Name>().ok());
                children.extend(name.map(|name| name.to_string()));
            }
        }
        children.sort_unstable();
        Ok(children)
    }

    fn delete(&self, name: &Name) -> Result<Deletion, Error> {
        let path = self.path(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Deletion::Done),
            removed => removed.map(|()| Deletion::Done).map_err(|source| io_error(&path, "cannot be removed", source)),
        }
    }

    fn location(&self) -> String {
        self.root.display().to_string()
    }
}

fn io_error(path: &Path, doing: &'static str, source: io::Error) -> Error {
    Error::Io { path: path.display().to_string(), doing, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_left_is_no_object() {
        let directory = tempfile::tempdir().unwrap();
        let store = Directory::open(directory.path()).unwrap();
        fs::create_dir_all(directory.path().join("a")).unwrap();
        fs::write(directory.path().join("a/.b.sealant-part-0123456789abcdef"), "half").unwrap();
        assert_eq!(store.list("").unwrap(), []);
        let name: Name = "a/b".parse().unwrap();
        assert_eq!(store.put_new(&name, &mut io::Cursor::new(b"whole"), 5).unwrap(), Put::New);
        assert_eq!(fs::read_dir(directory.path().join("a")).unwrap().count(), 1);
    }

    #[test]
    fn a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("real"), "secret").unwrap();
        std::os::unix::fs::symlink("real", directory.path().join("link")).unwrap();
        let store = Directory::open(directory.path()).unwrap();
        let link: Name = "link".parse().unwrap();
        assert!(store.get(&link, None).is_err());
        assert_eq!(store.head(&link).unwrap(), None);
        assert_eq!(store.put_new(&link, &mut io::Cursor::new(b"x"), 1).unwrap(), Put::Exists);
    }
}
