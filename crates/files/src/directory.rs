//! Creates and opens directories in places where others may write.

use std::{
    ffi::OsStr,
    io::{self, ErrorKind},
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::fchown,
    },
    path::{Component, Path},
};

use rustix::fs::{CWD, Dir, Mode, OFlags, fchmod, fstat, fsync, mkdirat, openat};

use crate::{WriteOptions, parent};

/// Name of the directory for unfinished data, in a target that is being filled.
pub const STAGING: &str = ".sealant-staging";
/// Name of the list of all files and their hashes, in a filled target.
pub const MANIFEST: &str = "sealant-manifest";
/// Name of the directory that file systems create in their root directory.
pub const LOST_AND_FOUND: &str = "lost+found";

/// Creates a directory that is private to its owner from the start.
///
/// If others can write to the parent directory, they may replace the new directory at any moment. So its owner is
/// changed by descriptor, and only if it is the empty directory that was created.
///
/// # Errors
/// Errors of the system; [`ErrorKind::AlreadyExists`] if it exists, or is no longer the one that was created.
pub fn create_directory(path: &Path, options: WriteOptions) -> io::Result<()> {
    let above = open_directory(CWD, parent(path).as_os_str(), OFlags::empty())?;
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
    create_directory_at(&above, name, options, || {})
}

/// Opens a directory by an absolute path without symbolic links. Later operations on the descriptor affect this
/// directory, even if the path is replaced.
///
/// # Errors
/// Errors of the system; `ELOOP` or `ENOTDIR` if a component is a link.
pub fn open_directory_without_links(path: &Path) -> io::Result<OwnedFd> {
    let mut parts = path.components();
    if parts.next() != Some(Component::RootDir) {
        return Err(ErrorKind::InvalidInput.into());
    }
    // O_PATH: search permission is enough, read permission is not needed.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut directory = openat(CWD, "/", flags, Mode::empty())?;
    for part in parts {
        let Component::Normal(name) = part else { return Err(ErrorKind::InvalidInput.into()) };
        directory = openat(&directory, name, flags, Mode::empty())?;
    }
    Ok(directory)
}

/// `made` is called between creating and opening; tests replace the directory there.
fn create_directory_at(above: &OwnedFd, name: &OsStr, options: WriteOptions, made: impl FnOnce()) -> io::Result<()> {
    mkdirat(above, name, Mode::from_raw_mode(0o700))?;
    made();
    let below = open_directory(above, name, OFlags::NOFOLLOW)?;
    if let Some((user, group)) = options.owner {
        check_new(&below)?;
        fchown(&below, Some(user), Some(group))?;
    }
    fchmod(&below, Mode::from_raw_mode(options.mode))?;
    Ok(fsync(above)?)
}

fn open_directory(above: impl AsFd, name: &OsStr, no_link: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | no_link;
    Ok(openat(above, name, flags, Mode::empty())?)
}

/// Whether a directory looks newly created: owned by this user, private, and empty. Another user's directory cannot
/// look like that, since only root can give files away, and what root creates for itself is not empty.
fn check_new(directory: &OwnedFd) -> io::Result<()> {
    let found = fstat(directory)?;
    let is_ours = found.st_uid == rustix::process::geteuid().as_raw() && found.st_mode & 0o077 == 0;
    let is_empty = || io::Result::Ok(Dir::read_from(directory)?.filter_map(Result::ok).count() <= 2);
    if is_ours && is_empty()? {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "something else took the place of the directory that was made"))
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, Permissions},
        os::unix::fs::PermissionsExt,
    };

    use super::*;

    #[test]
    fn links_in_the_path_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(at("way/end")).unwrap();
        std::os::unix::fs::symlink("way", at("link")).unwrap();
        open_directory_without_links(&at("way/end")).unwrap();
        for wrong in ["link/end", "link", "way/../way", "none"] {
            assert!(open_directory_without_links(&at(wrong)).is_err(), "{wrong}");
        }
        assert!(open_directory_without_links(Path::new("tmp")).is_err());
    }

    #[test]
    fn a_directory_that_replaced_the_new_one_keeps_its_owner() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let owner = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let options = WriteOptions { mode: 0o755, owner: Some(owner), replace: false };
        let above = open_directory(CWD, root.path().as_os_str(), OFlags::empty()).unwrap();
        let make = |other: &str| {
            let swap = || {
                fs::rename(at("made"), at("away")).unwrap();
                fs::rename(at(other), at("made")).unwrap();
            };
            let made = create_directory_at(&above, OsStr::new("made"), options, swap);
            fs::remove_dir(at("away")).unwrap();
            fs::rename(at("made"), at(other)).unwrap();
            made
        };
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
        for name in ["secret", "full", "open"] {
            fs::create_dir(at(name)).unwrap();
            fs::set_permissions(at(name), Permissions::from_mode(0o700)).unwrap();
        }
        std::os::unix::fs::symlink("secret", at("link")).unwrap();
        assert!(make("link").is_err());
        fs::write(at("full/key"), "").unwrap();
        assert_eq!(make("full").unwrap_err().kind(), ErrorKind::AlreadyExists);
        fs::set_permissions(at("open"), Permissions::from_mode(0o711)).unwrap();
        assert_eq!(make("open").unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!((mode("secret"), mode("full"), mode("open")), (0o700, 0o700, 0o711));
        if owner.0 == 0 {
            std::os::unix::fs::chown(at("secret"), Some(65534), None).unwrap();
            assert_eq!(make("secret").unwrap_err().kind(), ErrorKind::AlreadyExists);
        }
        // A new directory of the same user cannot be distinguished, and need not be.
        create_directory_at(&above, OsStr::new("made"), options, || {}).unwrap();
        assert_eq!(mode("made"), 0o755);
    }
}
