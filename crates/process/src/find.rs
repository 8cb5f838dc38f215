//! Finds programs.

use std::{
    env,
    ffi::OsStr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// Directories of programs for all users.
pub const USER_DIRECTORIES: [&str; 3] = ["/usr/bin", "/usr/local/bin", "/bin"];
/// Directories of administrators' programs, which are not on every user's `PATH`.
pub const ADMIN_DIRECTORIES: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

/// Finds a program in `PATH`, or at its path if the name has a slash.
#[must_use]
pub fn find(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    find_in(name.as_ref(), &[])
}

/// As [`find`], and also in the directories of administrators' programs.
#[must_use]
pub fn find_admin(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    find_in(name.as_ref(), &ADMIN_DIRECTORIES)
}

fn find_in(name: &OsStr, more: &[&str]) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        return is_executable(path).then(|| path.to_path_buf());
    }
    let searched = env::var_os("PATH").unwrap_or_default();
    let directories = env::split_paths(&searched).chain(more.iter().map(PathBuf::from));
    directories.map(|directory| directory.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// A command that receives a signal (`TERM`, `KILL`) when this process ends in any way: `setpriv` of util-linux
/// requests it from the kernel. `None` if `setpriv` is not installed. The signal is sent when the thread that started
/// the command ends.
#[must_use]
pub fn killed_with_parent(program: &Path, signal: &str) -> Option<Command> {
    let mut command = Command::new(find("setpriv")?);
    command.args(["--pdeathsig", signal, "--"]).arg(program);
    Some(command)
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
    }
}
