//! The systemd unit that usually starts a server.

use std::path::Path;

use innodb::server_file::ARIA_CONTROL;

/// Directories of units of packages and administrators.
const UNITS: [&str; 3] = ["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];

/// Unit of the server with this data directory. Only MariaDB has Aria's control file there. MySQL's unit has two names:
/// Debian's, and the one in MySQL's own packages.
pub(crate) fn usual(datadir: &Path) -> &'static str {
    if datadir.join(ARIA_CONTROL).exists() {
        return "mariadb.service";
    }
    let is_installed = |name: &&str| UNITS.iter().any(|directory| Path::new(directory).join(name).exists());
    ["mysql.service", "mysqld.service"].into_iter().find(is_installed).unwrap_or("mysql.service")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mariadb_is_known_by_arias_control_file() {
        let datadir = tempfile::tempdir().unwrap();
        assert!(usual(datadir.path()).starts_with("mysql"));
        std::fs::write(datadir.path().join(ARIA_CONTROL), []).unwrap();
        assert_eq!(usual(datadir.path()), "mariadb.service");
    }
}
