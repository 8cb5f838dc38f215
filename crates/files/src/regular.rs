//! Opens files in directories that others can write to.
//!
//! The name of a file may lead to a pipe, whose open blocks forever; to a device, whose open or read has effects; or to
//! a link to a file that its creator may not read. So only regular files are opened, without blocking, and a link at
//! the end of a path is followed only if the user wrote the path.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, ErrorKind, Read},
    os::fd::AsFd,
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat},
    io::Errno,
};

/// Whether a link at the end of a path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Yes: the user wrote the path.
    Followed,
    /// No: the name was found in a directory, or derived from one.
    Refused,
}

/// The path is not a regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotRegular {
    /// What it is instead, such as "a named pipe".
    pub found: &'static str,
}

impl std::fmt::Display for NotRegular {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, not a file", self.found)
    }
}

impl std::error::Error for NotRegular {}

impl NotRegular {
    /// Extracts this cause from an error of [`open`] or [`open_at`].
    #[must_use]
    pub fn in_error(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<NotRegular> for io::Error {
    fn from(found: NotRegular) -> Self {
        Self::new(ErrorKind::InvalidInput, found)
    }
}

/// Opens a regular file for reading, without blocking, and without changing its access time if permitted.
///
/// # Errors
/// Errors of the system; [`NotRegular`] inside for anything that is not a regular file.
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    open_at(CWD, path.as_os_str(), links)
}

/// As [`open`], for a name in a directory.
///
/// # Errors
/// As [`open`].
pub fn open_at(directory: impl AsFd, name: &OsStr, links: Links) -> io::Result<File> {
    let (link_at, no_link) = match links {
        Links::Followed => (AtFlags::empty(), OFlags::empty()),
        Links::Refused => (AtFlags::SYMLINK_NOFOLLOW, OFlags::NOFOLLOW),
    };
    // Checked before the open, too: opening a device may have effects.
    check(statat(&directory, name, link_at)?.st_mode)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | no_link;
    let opened = match openat(&directory, name, flags | OFlags::NOATIME, Mode::empty()) {
        // Only the owner and root may leave the access time unchanged.
        Err(Errno::PERM) => openat(&directory, name, flags, Mode::empty()),
        opened => opened,
    };
    let file = match opened {
        // A link has replaced the file since the check.
        Err(Errno::LOOP) if links == Links::Refused => return Err(NotRegular { found: LINK }.into()),
        opened => File::from(opened?),
    };
    check(fstat(&file)?.st_mode)?;
    Ok(file)
}

/// Reads a small file completely.
///
/// # Errors
/// As [`open`]; [`ErrorKind::FileTooLarge`] if it has more than `most_bytes`.
pub fn read(path: &Path, links: Links, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, links)?.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= most_bytes) {
        return Ok(bytes);
    }
    Err(io::Error::new(ErrorKind::FileTooLarge, format!("larger than {most_bytes} bytes, the limit for such a file")))
}

const LINK: &str = "a symbolic link";

fn check(mode: u32) -> Result<(), NotRegular> {
    let found = match FileType::from_raw_mode(mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a directory",
        FileType::Symlink => LINK,
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        _ => "a device",
    };
    Err(NotRegular { found })
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::{fs::symlink, net::UnixListener},
    };

    use super::*;

    fn found(path: &Path, links: Links) -> &'static str {
        NotRegular::in_error(&open(path, links).unwrap_err()).unwrap().found
    }

    #[test]
    fn only_regular_files_are_opened_and_links_only_if_permitted() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("file"), "text").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        symlink("link", at("twice")).unwrap();
        rustix::fs::mkfifoat(CWD, at("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        symlink("pipe", at("to-pipe")).unwrap();
        let _listener = UnixListener::bind(at("socket")).unwrap();
        for links in [Links::Followed, Links::Refused] {
            assert_eq!(read(&at("file"), links, 4).unwrap(), b"text");
            assert_eq!(found(&at("pipe"), links), "a named pipe");
            assert_eq!(found(&at("socket"), links), "a socket");
            assert_eq!(found(directory.path(), links), "a directory");
            assert_eq!(found(Path::new("/dev/zero"), links), "a device");
            assert_eq!(open(&at("none"), links).unwrap_err().kind(), ErrorKind::NotFound);
        }
        assert_eq!(read(&at("twice"), Links::Followed, 4).unwrap(), b"text");
        assert_eq!(found(&at("to-pipe"), Links::Followed), "a named pipe");
        assert_eq!(found(&at("endless"), Links::Followed), "a device");
        for link in ["link", "twice", "to-pipe", "endless"] {
            assert_eq!(found(&at(link), Links::Refused), "a symbolic link");
        }
    }

    #[test]
    fn a_file_over_the_limit_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(read(&path, Links::Refused, 4096).unwrap_err().kind(), ErrorKind::FileTooLarge);
    }
}
