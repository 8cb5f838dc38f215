//! Appends lines to an option file, replacing the file atomically.

use std::{
    fs,
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt,
    path::Path,
};

use files::WriteOptions;
use server::{Flavor, option_group};

/// Settings for a server of this family, in its group.
pub(crate) fn server_lines(flavor: Flavor, settings: &[String]) -> String {
    format!("# By `sealant encrypt`.\n{}", option_group::section(option_group::of_flavor(flavor), settings))
}

/// Appends lines, which take precedence over those above; creates the file if it does not exist. Owner and mode stay; a
/// link, such as Debian's `/etc/mysql/my.cnf`, stays a link.
pub(crate) fn append(path: &Path, lines: &str) -> io::Result<()> {
    let file = match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return files::write_atomic(path, lines.as_bytes(), WriteOptions::PUBLIC);
        }
        other => other?,
    };
    let mut all = fs::read(&file)?;
    if all.last().is_some_and(|last| *last != b'\n') {
        all.push(b'\n');
    }
    all.extend_from_slice(lines.as_bytes());
    let is = fs::metadata(&file)?;
    let options = WriteOptions { mode: is.mode() & 0o7777, owner: Some((is.uid(), is.gid())), replace: true };
    files::write_atomic(&file, &all, options)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn lines_come_last_and_mode_and_link_stay() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("my.cnf"), directory.path().join("link.cnf"));
        append(&file, "[mariadb]\n").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o644);
        fs::write(&file, "[mariadb]\nport = 1").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        append(&link, "port = 2\n").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "[mariadb]\nport = 1\nport = 2\n");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(append(&directory.path().join("none/my.cnf"), "x").is_err());
    }
}
