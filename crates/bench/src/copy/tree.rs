//! A directory tree, and its comparison with a copy.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use files::MANIFEST;
use innodb::file_suffix;

use crate::Error;

/// A directory with its files, directories and links.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
    entries: BTreeMap<PathBuf, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    File(u64),
    Directory,
    Link(PathBuf),
}

impl Tree {
    /// Lists everything below `root`.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn scan(root: &Path) -> Result<Self, Error> {
        let root = fs::canonicalize(root).map_err(Error::file(root))?;
        let mut entries = BTreeMap::new();
        let mut directories = vec![PathBuf::new()];
        while let Some(directory) = directories.pop() {
            let path = root.join(&directory);
            for found in fs::read_dir(&path).map_err(Error::file(&path))? {
                let name = directory.join(found.map_err(Error::file(&path))?.file_name());
                let Some(entry) = Entry::read(&root.join(&name))? else { continue };
                if entry == Entry::Directory {
                    directories.push(name.clone());
                }
                entries.insert(name, entry);
            }
        }
        entries.retain(|name, _| !name.to_string_lossy().starts_with(MANIFEST));
        Ok(Self { root, entries })
    }

    /// Path of the directory, with links resolved.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its files, with full paths.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        self.lengths().map(|(name, _)| self.root.join(name)).collect()
    }

    /// Length of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.lengths().map(|(_, bytes)| bytes).fold(0, u64::saturating_add)
    }

    /// Files and links by relative path, the largest first.
    pub(crate) fn largest_first(&self) -> Vec<&Path> {
        let mut files: Vec<(&Path, u64)> = self.lengths().collect();
        files.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let links = self.entries.iter().filter(|(_, entry)| matches!(entry, Entry::Link(_)));
        files.into_iter().map(|(name, _)| name).chain(links.map(|(name, _)| name.as_path())).collect()
    }

    /// Describes the first difference between this tree and a copy: name, kind or content. Times and owners are
    /// ignored, because `cp -r` does not preserve them.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn difference(&self, copy: &Path) -> Result<Option<String>, Error> {
        let other = Self::scan(copy)?;
        let names = self.entries.keys().chain(other.entries.keys());
        let unlike = names.into_iter().find(|name| self.entries.get(*name) != other.entries.get(*name));
        if let Some(name) = unlike {
            let what = match (self.entries.get(name), other.entries.get(name)) {
                (_, None) => "is missing in the copy",
                (None, _) => "is in the copy only",
                _ => "has another kind or length in the copy",
            };
            return Ok(Some(format!("{} {what}", name.display())));
        }
        for (name, _) in self.lengths() {
            if !same_bytes(&self.root.join(name), &copy.join(name))? {
                return Ok(Some(format!("{} has other bytes in the copy", name.display())));
            }
        }
        Ok(None)
    }

    /// Describes the first tablespace that is missing in a copy or has different bytes there.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn tablespace_difference(&self, copy: &Path) -> Result<Option<String>, Error> {
        for (name, _) in self.tablespaces() {
            let other = copy.join(name);
            if !other.is_file() {
                return Ok(Some(format!("{} is missing in the copy", name.display())));
            }
            if !same_bytes(&self.root.join(name), &other)? {
                return Ok(Some(format!("{} has other bytes in the copy", name.display())));
            }
        }
        Ok(None)
    }

    /// InnoDB's tablespaces: relative paths and lengths.
    pub(crate) fn tablespaces(&self) -> BTreeMap<&Path, u64> {
        self.lengths().filter(|(name, _)| file_suffix::has(name, file_suffix::TABLESPACE)).collect()
    }

    fn lengths(&self) -> impl Iterator<Item = (&Path, u64)> {
        self.entries.iter().filter_map(|(name, entry)| match entry {
            Entry::File(bytes) => Some((name.as_path(), *bytes)),
            _ => None,
        })
    }
}

impl Entry {
    /// `None` for a socket, a pipe or a device, which cannot be copied.
    fn read(path: &Path) -> Result<Option<Self>, Error> {
        let metadata = fs::symlink_metadata(path).map_err(Error::file(path))?;
        let kind = metadata.file_type();
        Ok(if kind.is_file() {
            Some(Self::File(metadata.len()))
        } else if kind.is_dir() {
            Some(Self::Directory)
        } else if kind.is_symlink() {
            Some(Self::Link(fs::read_link(path).map_err(Error::file(path))?))
        } else {
            None
        })
    }
}

fn same_bytes(one: &Path, other: &Path) -> Result<bool, Error> {
    const CHUNK: usize = 1 << 20;
    let (mut a, mut b) = (Vec::with_capacity(CHUNK), Vec::with_capacity(CHUNK));
    let mut first = File::open(one).map_err(Error::file(one))?;
    let mut second = File::open(other).map_err(Error::file(other))?;
    loop {
        read_chunk(&mut first, &mut a, CHUNK).map_err(Error::file(one))?;
        read_chunk(&mut second, &mut b, CHUNK).map_err(Error::file(other))?;
        if a != b {
            return Ok(false);
        }
        if a.is_empty() {
            return Ok(true);
        }
    }
}

fn read_chunk(file: &mut File, chunk: &mut Vec<u8>, most: usize) -> std::io::Result<usize> {
    chunk.clear();
    file.take(u64::try_from(most).unwrap_or(u64::MAX)).read_to_end(chunk)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn make(root: &Path) {
        fs::create_dir_all(root.join("db/empty")).unwrap();
        fs::write(root.join("db/t.ibd"), vec![7; (1 << 20) + 3]).unwrap();
        fs::write(root.join("auto.cnf"), "x").unwrap();
        symlink("t.ibd", root.join("db/link")).unwrap();
    }

    #[test]
    fn every_kind_of_difference_is_described() {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("source");
        make(&source);
        let tree = Tree::scan(&source).unwrap();
        assert_eq!((tree.files().len(), tree.bytes()), (2, (1 << 20) + 4));
        let names: Vec<&str> = tree.largest_first().iter().map(|name| name.to_str().unwrap()).collect();
        assert_eq!(names, ["db/t.ibd", "auto.cnf", "db/link"]);
        type Damage = fn(&Path);
        let damages: [(Option<&str>, Damage); 8] = [
            (None, |_| {}),
            (None, |copy| fs::write(copy.join("sealant-manifest"), "ours").unwrap()),
            (Some("db/more is in the copy only"), |copy| fs::write(copy.join("db/more"), "").unwrap()),
            (Some("auto.cnf is missing in the copy"), |copy| fs::remove_file(copy.join("auto.cnf")).unwrap()),
            (Some("db/empty is missing in the copy"), |copy| fs::remove_dir(copy.join("db/empty")).unwrap()),
            (Some("auto.cnf has another kind or length in the copy"), |copy| {
                fs::write(copy.join("auto.cnf"), "xy").unwrap();
            }),
            (Some("auto.cnf has other bytes in the copy"), |copy| fs::write(copy.join("auto.cnf"), "y").unwrap()),
            (Some("db/t.ibd has other bytes in the copy"), |copy| {
                let mut bytes = vec![7; (1 << 20) + 3];
                bytes[(1 << 20) + 1] = 8;
                fs::write(copy.join("db/t.ibd"), bytes).unwrap();
            }),
        ];
        for (index, (expected, damage)) in damages.into_iter().enumerate() {
            let copy = dir.path().join(index.to_string());
            make(&copy);
            damage(&copy);
            assert_eq!(tree.difference(&copy).unwrap().as_deref(), expected);
        }
    }
}
