//! `/run/sealant`, which only root may change: sockets of keys, copies of headers, mounts of snapshots.
//!
//! Whoever can write to the directory, or owns it, controls what is found there. So it is checked each time before
//! something is put there.

use std::{
    fs::{self, DirBuilder},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

/// The directory; it does not survive a reboot.
pub const DIRECTORY: &str = "/run/sealant";
/// Required owner.
const ROOT: u32 = 0;
/// Write permission of group or others.
const SHARED: u32 = 0o022;

/// Creates the directory, if it does not exist.
///
/// # Errors
/// Errors of the system; [`ErrorKind::PermissionDenied`] if users other than root can change its content.
pub fn directory() -> io::Result<&'static Path> {
    let directory = Path::new(DIRECTORY);
    make(directory, 0o755, ROOT)?;
    Ok(directory)
}

/// Creates a directory in it that only root may enter, if it does not exist.
///
/// # Errors
/// As [`directory`].
pub fn private_directory(name: &str) -> io::Result<PathBuf> {
    let private = directory()?.join(name);
    make(&private, 0o700, ROOT)?;
    Ok(private)
}

/// Checks that only root can change its content, if it exists.
///
/// # Errors
/// As [`directory`].
pub fn check() -> io::Result<()> {
    match judge(Path::new(DIRECTORY), ROOT) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        judged => judged,
    }
}

fn make(path: &Path, mode: u32, owner: u32) -> io::Result<()> {
    match DirBuilder::new().mode(mode).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())))
        }
        _ => judge(path, owner),
    }
}

fn judge(path: &Path, owner: u32) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    let why = match found.mode() & 0o7777 {
        _ if !found.is_dir() => "is not a directory".to_owned(),
        _ if found.uid() != owner => format!("belongs to user {}", found.uid()),
        mode if mode & SHARED != 0 => format!("may be written to by others (mode {mode:04o})"),
        _ => return Ok(()),
    };
    let path = path.display();
    let why = format!("{path} {why}, and has to be root's alone; end what made it so, and remove it");
    Err(io::Error::new(ErrorKind::PermissionDenied, why))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_directory_that_others_may_change_is_refused() {
        let above = tempfile::tempdir().unwrap();
        let owner = fs::metadata(above.path()).unwrap().uid();
        let (directory, link) = (above.path().join("run"), above.path().join("link"));
        make(&directory, 0o755, owner).unwrap();
        make(&directory, 0o755, owner).unwrap();
        assert_eq!(fs::metadata(&directory).unwrap().mode() & 0o022, 0, "whatever the umask");
        let refused = |path: &Path, owner: u32, why: &str| {
            let error = make(path, 0o755, owner).unwrap_err();
            assert!(error.kind() == ErrorKind::PermissionDenied && error.to_string().contains(why), "{error}");
        };
        refused(&directory, owner + 1, &format!("belongs to user {owner}, and has to be root's alone"));
        for mode in [0o775, 0o757, 0o1777] {
            fs::set_permissions(&directory, fs::Permissions::from_mode(mode)).unwrap();
            refused(&directory, owner, "may be written to by others");
        }
        symlink(above.path(), &link).unwrap();
        refused(&link, owner, "is not a directory");
    }
}
