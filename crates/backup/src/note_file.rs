//! A file of the state directory in which a command notes something for its next run. Only its owner can read it, and it
//! is replaced as a whole. Without it the next run knows less, but is not wrong.

use std::{
    fs::DirBuilder,
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use files::{
    WriteOptions,
    regular::{self, Links},
    write_atomic,
};

#[derive(Debug, Default)]
pub(crate) struct NoteFile(PathBuf);

impl NoteFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Its content. A file that is missing, longer than `most_bytes`, or no regular file counts as empty.
    pub(crate) fn read(&self, most_bytes: u64) -> Vec<u8> {
        regular::read(&self.0, Links::Refused, most_bytes).unwrap_or_default()
    }

    /// Replaces it durably. Its directory is created if necessary.
    pub(crate) fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        make_private(files::parent(&self.0))?;
        write_atomic(&self.0, bytes, WriteOptions::SECRET.replacing(true))
    }
}

/// Creates a directory that only its owner can use, and those above it, if necessary.
pub(crate) fn make_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn only_its_owner_can_read_it_and_what_is_no_note_counts_as_empty() {
        let state = tempfile::tempdir().unwrap();
        let file = NoteFile::new(state.path().join("notes").join("one"));
        assert_eq!(file.read(9), b"");
        for text in ["first", "second"] {
            file.replace(text.as_bytes()).unwrap();
            assert_eq!(file.read(6), text.as_bytes());
        }
        assert_eq!(file.read(5), b"", "it is too long");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(file.path()), mode(&state.path().join("notes"))), (0o600, 0o700));
        let link = NoteFile::new(state.path().join("link"));
        std::os::unix::fs::symlink(file.path(), link.path()).unwrap();
        assert_eq!(link.read(9), b"");
        assert_eq!(NoteFile::new(state.path().to_owned()).read(9), b"");
    }
}
