//! Finds programs.

use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Directories of programs for all users.
pub const USER_DIRECTORIES: [&str; 3] = ["/usr/bin", "/usr/local/bin", "/bin"];
/// Directories of administrators' programs, which are not on every user's `PATH`.
pub const ADMIN_DIRECTORIES: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

/// Finds a program in `PATH`, or at its path if the name has a slash.
#[must_use]
pub fn find(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    find_in(name.as_ref(), &env::var_os("PATH").unwrap_or_default())
}

/// As [`find`], and also in the directories of [`admin_path`].
#[must_use]
pub fn find_admin(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    find_in(name.as_ref(), &admin_path())
}

/// The `PATH` of this process, followed by the directories of administrators' programs and of all users' programs: the
/// `PATH` of a service may lack both.
#[must_use]
pub fn admin_path() -> OsString {
    let mut path = env::var_os("PATH").unwrap_or_default();
    for directory in ADMIN_DIRECTORIES.iter().chain(&USER_DIRECTORIES) {
        if !path.is_empty() {
            path.push(":");
        }
        path.push(directory);
    }
    path
}

/// Finds a program in a search path in the format of `PATH`, or at its path if the name has a slash.
pub(crate) fn find_in(name: &OsStr, search_path: &OsStr) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        return is_executable(path).then(|| path.to_path_buf());
    }
    env::split_paths(search_path).map(|directory| directory.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_name_and_by_path() {
        let sh = find("sh").unwrap();
        assert_eq!(find(sh.as_os_str()), Some(sh));
        assert_eq!(find("no-such-program-anywhere"), None);
        assert_eq!(find("/etc/passwd"), None);
        assert!(find_admin("sh").is_some());
        assert_eq!(find_in("sh".as_ref(), "/etc".as_ref()), None);
    }
}
