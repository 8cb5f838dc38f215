//! Paths in messages: relative, below the root, never through a link.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Maximum length of a path in bytes.
pub const MAX_PATH_BYTES: usize = 4095;
const MAX_NAME_BYTES: usize = 255;

/// A path below the root of a transfer: one or more names separated by `/`, none of them empty, `.`
/// or `..`, none with a zero byte. The bytes are those of the file system, in no particular
/// encoding.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelativePath(PathBuf);

impl RelativePath {
    /// Validates the bytes of a path; `None` if it could lead out of the root or does not have this
    /// form.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let names = bytes.split(|byte| *byte == b'/');
        let sound = |name: &[u8]| {
            !name.is_empty() && name.len() <= MAX_NAME_BYTES && name != b"." && name != b".." && !name.contains(&0)
        };
        let fits = bytes.len() <= MAX_PATH_BYTES && names.clone().all(sound);
        fits.then(|| Self(PathBuf::from(OsStr::from_bytes(bytes))))
    }

    /// As a path of the operating system.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// As raw bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_os_str().as_bytes()
    }

    /// The parent directory; `None` for a name directly below the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let parent = self.0.parent()?;
        (!parent.as_os_str().is_empty()).then(|| Self(parent.to_path_buf()))
    }

    /// The first name of the path.
    #[must_use]
    pub fn first(&self) -> &OsStr {
        self.0.iter().next().unwrap_or_default()
    }
}

impl std::fmt::Debug for RelativePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::fmt::Display for RelativePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_root_are_refused() {
        let long = "n".repeat(256);
        let deep = vec!["name"; 1000].join("/");
        for bad in
            ["", "/", "/etc/passwd", "..", "a/..", "a/../b", "../a", ".", "a/.", "a//b", "a/", "a\0b", &long, &deep]
        {
            assert_eq!(RelativePath::parse(bad.as_bytes()), None, "{bad:?}");
        }
    }

    #[test]
    fn names_may_have_any_bytes() {
        for good in [&b"a"[..], b"..a/b..", b"\xff\xfe/x\n", b"with space", b"...", &[b'n'; 255]] {
            let path = RelativePath::parse(good).unwrap();
            assert_eq!(path.as_bytes(), good);
        }
        let path = RelativePath::parse(b"a/b/c").unwrap();
        assert_eq!(path.parent(), RelativePath::parse(b"a/b"));
        assert_eq!(path.first(), "a");
        assert_eq!(RelativePath::parse(b"a").unwrap().parent(), None);
    }
}
