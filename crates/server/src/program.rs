//! A server's program, `mysqld` or `mariadbd`: its version, its installation, and its error log.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::version::{PROGRAMS, ServerVersion, VersionHints};

/// Directories of an installation, derived from the path of its program. A package unpacked to another path than it was
/// built for needs options that name them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// For `--basedir`.
    pub base: PathBuf,
    /// For `--lc-messages-dir`; MariaDB's SQL scripts are here as well.
    pub messages: Option<PathBuf>,
    /// For `--plugin-dir`.
    pub plugins: Option<PathBuf>,
}

/// Plug-in directories below the base directory: on Debian, on Red Hat, and in archives.
pub const PLUGIN_DIRECTORIES: [&str; 6] = [
    "lib/mysql/plugin",
    "lib64/mysql/plugin",
    "lib/x86_64-linux-gnu/mysql/plugin",
    "lib/aarch64-linux-gnu/mysql/plugin",
    "lib/plugin",
    "lib64/plugin",
];

impl Installation {
    /// The installation of a program in a `bin` or `sbin` directory.
    #[must_use]
    pub fn around(program: &Path) -> Self {
        let base = program.ancestors().nth(2).unwrap_or_else(|| Path::new("/usr")).to_path_buf();
        let first = |names: &[&str]| names.iter().map(|name| base.join(name)).find(|directory| directory.is_dir());
        Self { messages: first(&["share/mariadb", "share/mysql", "share"]), plugins: first(&PLUGIN_DIRECTORIES), base }
    }

    /// Options of the server that name these directories.
    #[must_use]
    pub fn options(&self) -> Vec<String> {
        let named = [
            ("basedir", Some(&self.base)),
            ("lc-messages-dir", self.messages.as_ref()),
            ("plugin-dir", self.plugins.as_ref()),
        ];
        named.into_iter().filter_map(|(name, path)| Some(option(name, path?))).collect()
    }
}

/// Scripts that start a server and restart it.
pub const SAFE_SCRIPTS: [&str; 2] = ["mysqld_safe", "mariadbd-safe"];
/// Prefix of the names of the scripts by which Galera copies the data of a node to another.
pub const STATE_TRANSFER_SCRIPTS: &str = "wsrep_sst_";

/// Whether a program is a script that starts the server or transfers its state. The name may be cut to the 15 bytes
/// that Linux keeps.
#[must_use]
pub fn is_launcher(name: &str) -> bool {
    SAFE_SCRIPTS.iter().any(|script| name.starts_with(script)) || name.starts_with(STATE_TRANSFER_SCRIPTS)
}

/// Whether the option `-p` of a program is a password, judged by the beginning of the program's name. For other
/// programs, it is a port, a path or a process.
#[must_use]
pub fn takes_password(name: &str) -> bool {
    const CLIENTS: [&str; 10] = [
        "mysql",
        "mariadb",
        "mariabackup",
        XTRABACKUP,
        "innobackupex",
        "mydumper",
        "myloader",
        "pt-",
        "sysbench",
        "percona",
    ];
    CLIENTS.iter().any(|client| name.starts_with(client))
}

/// Whether a package may let a program run as the server's user, judged by the beginning of the program's name: other
/// servers, arbitrators, proxies and backups.
#[must_use]
pub fn shares_server_user(name: &str) -> bool {
    const FAMILY: [&str; 6] = ["mysql", "mariadb", "garbd", XTRABACKUP, "maxscale", "sealant"];
    FAMILY.iter().any(|known| name.starts_with(known))
}

/// Backup program of MariaDB, under its name since 10.5 and its older one, which is only a link since then.
pub const MARIADB_BACKUP: [&str; 2] = ["mariadb-backup", "mariabackup"];
/// Backup program of Percona for MySQL.
pub const XTRABACKUP: &str = "xtrabackup";

/// An option that names a path.
#[must_use]
pub fn option(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

/// The version that a program prints; `None` if the program is not a server.
///
/// # Errors
/// The program cannot be run.
pub fn version(program: &Path) -> io::Result<Option<ServerVersion>> {
    let text = process::version_text(program, &["--no-defaults", "--version"])?;
    Ok(version_word(&text)
        .and_then(|version| ServerVersion::parse(version, VersionHints { comment: &text, ..VersionHints::default() })))
}

/// The version in the text that a server program prints about itself, unchanged.
#[must_use]
pub fn version_word(text: &str) -> Option<&str> {
    text.split_whitespace().skip_while(|word| *word != "Ver").nth(1)
}

/// The first error in an error log; later ones are consequences of it.
#[must_use]
pub fn first_error(log: &str) -> Option<&str> {
    log.lines().find(|line| line.contains("ERROR")).map(str::trim)
}

/// Whether a process of this host has the name of a server, which everybody may read. Scripts that start a server have
/// longer names. Source: `proc_pid_comm(5)`.
#[must_use]
pub fn is_named_like_server(pid: u32) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let after = |server: &&str| name.trim_end().strip_prefix(*server);
    PROGRAMS.iter().filter_map(after).any(|rest| rest.is_empty() || rest.starts_with("-debug"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_not_named_like_a_server() {
        assert!(!is_named_like_server(std::process::id()));
    }

    #[test]
    fn an_installation_lies_around_its_program() {
        let root = std::env::temp_dir().join(format!("sealant-installation-{}", std::process::id()));
        let (program, plugins) = (root.join("sbin/mysqld"), root.join("lib/mysql/plugin"));
        fs::create_dir_all(&plugins).unwrap();
        let found = Installation::around(&program);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(found, Installation { base: root, messages: None, plugins: Some(plugins.clone()) });
        assert_eq!(found.options().last(), Some(&option("plugin-dir", &plugins)));
    }

    #[test]
    fn scripts_are_known_by_the_bytes_that_linux_keeps() {
        assert!(["mysqld_safe", "mariadbd-safe", "wsrep_sst_xtrab"].into_iter().all(is_launcher));
        assert!(!["mysqld", "mariadbd", "wsrep"].into_iter().any(is_launcher));
    }

    #[test]
    fn the_first_error_is_the_cause() {
        let log = "1 [Note] starting\n2 [ERROR] [MY-1] cannot open\n3 [ERROR] aborting\n";
        assert_eq!(first_error(log), Some("2 [ERROR] [MY-1] cannot open"));
        assert_eq!(first_error("all is well"), None);
    }
}
