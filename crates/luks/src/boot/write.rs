//! Changes to files, each with the content that was read and the content to write.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::Error;
use files::WriteOptions;

/// The file or link at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A file with this text.
    Text(String),
    /// A symbolic link to this path.
    Link(PathBuf),
}

/// A change to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Path of the file.
    pub path: PathBuf,
    /// Content when it was read; `None` if there was nothing.
    pub before: Option<Content>,
    /// New content; `None` to remove it.
    pub after: Option<Content>,
    /// Added lines, for display; empty if nothing changes.
    pub added: Vec<String>,
    /// The file that `path` leads to, if it is a link.
    target: PathBuf,
}

/// Shows the path, and below it the added lines.
impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unchanged = if self.added.is_empty() { " (stays as it is)" } else { "" };
        writeln!(f, "{}{unchanged}", self.path.display())?;
        self.added.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

impl Edit {
    /// Replaces the text of a file below `root`.
    pub(super) fn text(
        root: &Path,
        path: &Path,
        change: impl FnOnce(&str) -> Result<(String, Vec<String>), Error>,
    ) -> Result<Self, Error> {
        let target = target(root, path)?;
        let before = content(&target)?;
        let text = match &before {
            Some(Content::Text(text)) => text.as_str(),
            _ => "",
        };
        let (after, added) = change(text)?;
        Ok(Self { path: path.to_owned(), before, after: Some(Content::Text(after)), added, target })
    }

    /// Creates a link. An existing link to the same target is accepted, however it is written.
    pub(super) fn link(root: &Path, path: &Path, to: &Path) -> Result<Self, Error> {
        below(root, path)?;
        let before = content(path)?;
        let added = match &before {
            Some(Content::Link(there)) if there.file_name() == to.file_name() => Vec::new(),
            None => vec![format!("+ link to {}", to.display())],
            Some(_) => return Err(Error::refused(path, "exists and is not the link to the socket of the key")),
        };
        let after = Some(Content::Link(to.to_owned()));
        Ok(Self { path: path.to_owned(), before, after, added, target: path.to_owned() })
    }

    /// Removes a file or link; `None` if it does not exist.
    pub(super) fn removal(root: &Path, path: &Path) -> Result<Option<Self>, Error> {
        below(root, path)?;
        let Some(before) = content(path)? else { return Ok(None) };
        let added = match &before {
            Content::Text(_) => "- the file".to_owned(),
            Content::Link(to) => format!("- the link to {}", to.display()),
        };
        let (path, target) = (path.to_owned(), path.to_owned());
        Ok(Some(Self { path, before: Some(before), after: None, added: vec![added], target }))
    }

    fn is_current(&self) -> Result<bool, Error> {
        Ok(content(&self.target)? == self.before)
    }

    fn apply(&self) -> Result<(), Error> {
        let io = || Error::io(&self.path);
        if let Some(parent) = self.target.parent().filter(|_| self.after.is_some()) {
            fs::create_dir_all(parent).map_err(io())?;
        }
        match &self.after {
            None => {
                fs::remove_file(&self.target).map_err(io())?;
                let made_for_it = |end: &std::ffi::OsStr| end == "d" || end == "requires";
                if let Some(parent) = self.target.parent().filter(|parent| parent.extension().is_some_and(made_for_it))
                {
                    // Fails, as intended, while the directory contains other files.
                    let _ = fs::remove_dir(parent);
                }
                Ok(())
            }
            Some(Content::Link(to)) => {
                symlink(to, &self.target).and_then(|()| files::sync_parent(&self.target)).map_err(io())
            }
            Some(Content::Text(text)) => {
                let options = match self.before {
                    Some(_) => WriteOptions::replacing_file(&fs::metadata(&self.target).map_err(io())?),
                    None => WriteOptions::PUBLIC,
                };
                files::write_atomic(&self.target, text.as_bytes(), options).map_err(io())
            }
        }
    }
}

/// Applies the edits. Each file has either its old or its new content at any moment, also after a power cut.
///
/// # Errors
/// [`Error::Refused`], before the first write, if a file changed since it was read; [`Error::Io`].
pub fn apply(edits: &[Edit]) -> Result<(), Error> {
    let edits = || edits.iter().filter(|edit| !edit.added.is_empty());
    for edit in edits() {
        if !edit.is_current()? {
            return Err(Error::refused(&edit.path, "has changed in the meantime"));
        }
    }
    edits().try_for_each(Edit::apply)
}

/// Treats a missing file as empty.
pub(super) fn read(path: &Path) -> Result<String, Error> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        other => other.map_err(Error::io(path)),
    }
}

fn content(path: &Path) -> Result<Option<Content>, Error> {
    let io = || Error::io(path);
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io()(error)),
        Ok(metadata) if metadata.is_symlink() => fs::read_link(path).map(|to| Some(Content::Link(to))).map_err(io()),
        Ok(_) => fs::read_to_string(path).map(|text| Some(Content::Text(text))).map_err(io()),
    }
}

/// The file that a link leads to. It may be in another directory, but not outside of `root`.
fn target(root: &Path, path: &Path) -> Result<PathBuf, Error> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    let target = if is_link { fs::canonicalize(path).map_err(Error::io(path))? } else { path.to_owned() };
    below(root, &target)?;
    Ok(target)
}

/// Checks that no link on the path leads out of `root`. A link in an image is relative to the image's root; followed
/// from our root, it would lead to one of our own files.
fn below(root: &Path, path: &Path) -> Result<(), Error> {
    let Ok(root) = fs::canonicalize(root) else { return Ok(()) };
    let parents = path.ancestors().skip(1);
    match parents.map(fs::canonicalize).find_map(Result::ok) {
        Some(real) if !real.starts_with(&root) => {
            Err(Error::refused(path, format!("leads out of {} by a link", root.display())))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    fn appended(root: &Path, path: &Path) -> Result<Edit, Error> {
        Edit::text(root, path, |text| Ok((format!("{text}new\n"), vec!["+ new".to_owned()])))
    }

    #[test]
    fn nothing_is_written_if_one_file_changed_meanwhile() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let (one, two, three) = (root.join("one"), root.join("two"), root.join("three"));
        fs::write(&one, "one\n").unwrap();
        fs::write(&two, "two\n").unwrap();
        let edits = [&one, &two, &three].map(|path| appended(root, path).unwrap());
        fs::write(&two, "two\nof somebody else\n").unwrap();
        assert!(apply(&edits).unwrap_err().to_string().contains("has changed in the meantime"));
        assert_eq!(fs::read_to_string(&one).unwrap(), "one\n");
        assert_eq!(fs::read_to_string(&two).unwrap(), "two\nof somebody else\n");
        fs::write(&two, "two\n").unwrap();
        fs::write(&three, "").unwrap();
        assert!(apply(&edits).is_err(), "one that came is a change too");
        fs::remove_file(&three).unwrap();
        apply(&edits).unwrap();
        assert_eq!(fs::read_to_string(&two).unwrap(), "two\nnew\n");
        assert_eq!(fs::read_to_string(&three).unwrap(), "new\n");
    }

    #[test]
    fn mode_and_owner_stay_and_links_are_followed() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let (real, link) = (root.join("real"), root.join("link"));
        fs::write(&real, "").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        // Only root may change the owner.
        let given = std::os::unix::fs::chown(&real, Some(12), Some(34)).is_ok();
        symlink("real", &link).unwrap();
        apply(&[appended(root, &link).unwrap()]).unwrap();
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("real"));
        assert_eq!(fs::read_to_string(&real).unwrap(), "new\n");
        let metadata = fs::metadata(&real).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o7777, 0o640);
        assert!(!given || (metadata.uid(), metadata.gid()) == (12, 34));
    }

    #[test]
    fn a_link_out_of_the_image_is_refused() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = root.path();
        fs::write(outside.path().join("fstab"), "of the host\n").unwrap();
        symlink(outside.path().join("fstab"), root.join("fstab")).unwrap();
        symlink(outside.path(), root.join("etc")).unwrap();
        for path in [root.join("fstab"), root.join("etc/fstab"), root.join("etc/new/file")] {
            assert!(appended(root, &path).unwrap_err().to_string().contains("leads out of"), "{}", path.display());
        }
        assert!(Edit::removal(root, &root.join("etc/fstab")).is_err());
        assert!(appended(Path::new("/"), &root.join("fstab")).is_ok());
    }
}
