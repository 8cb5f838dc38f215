//! The servers that tests may ask for, and where each is on this machine.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::run;
use crate::limit;

/// A line of servers. New lines are added here and in `bin/install-servers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// MySQL 9.7, from Debian unstable; `SEALANT_MYSQLD` replaces it.
    MySql97,
    /// MariaDB 10.11, from Debian 12; `SEALANT_MARIADBD` replaces it.
    MariaDb1011,
    /// MariaDB 11.8, from Debian 13.
    MariaDb118,
    /// MySQL 5.6: old TLS, no client of its own (MariaDB 10.11's is used).
    MySql56,
}

/// The files of one installed server.
#[derive(Clone, Debug)]
pub struct Binaries {
    /// `mysqld` or `mariadbd`.
    pub daemon: PathBuf,
    /// The command-line client.
    pub client: PathBuf,
    /// For `--basedir`.
    pub basedir: PathBuf,
    /// For `--plugin-dir`; `None` if this build has no plug-ins.
    pub plugins: Option<PathBuf>,
    /// For `--lc-messages-dir`; MariaDB's SQL scripts are here too.
    pub messages: PathBuf,
    /// The version as the daemon prints it, for example `9.7.4-2`.
    pub version: String,
}

/// A server that is not on this machine.
#[derive(Clone, Debug)]
pub struct Missing {
    kind: Kind,
    path: PathBuf,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::MySql97, Self::MariaDb1011, Self::MariaDb118, Self::MySql56];

    /// The name that `bin/install-servers` knows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MySql97 => "mysql97",
            Self::MariaDb1011 => "mariadb1011",
            Self::MariaDb118 => "mariadb118",
            Self::MySql56 => "mysql56",
        }
    }

    /// Whether this is a MariaDB.
    #[must_use]
    pub fn is_mariadb(self) -> bool {
        matches!(self, Self::MariaDb1011 | Self::MariaDb118)
    }

    pub(crate) fn always_tested(self) -> bool {
        matches!(self, Self::MySql97 | Self::MariaDb1011)
    }

    /// Finds the server's files.
    ///
    /// # Errors
    /// [`Missing`] with the first path that is not there or does not run.
    pub fn locate(self) -> Result<Binaries, Missing> {
        let daemon = self.daemon();
        let missing = |path: &Path| Missing { kind: self, path: path.to_owned() };
        let version = version(&daemon).ok_or_else(|| missing(&daemon))?;
        let basedir = self.basedir(&daemon);
        let clients = match self {
            Self::MySql56 => root(Self::MariaDb1011).join("usr/bin"),
            _ => basedir.join("bin"),
        };
        Ok(Binaries {
            client: first(&clients, &["mariadb", "mysql"]).ok_or_else(|| missing(&clients))?,
            messages: first(&basedir, &["share/mariadb", "share/mysql", "share"]).ok_or_else(|| missing(&basedir))?,
            plugins: first(&basedir, &["lib/mysql/plugin", "lib64/mysql/plugin", "lib/plugin"]),
            basedir,
            daemon,
            version,
        })
    }

    fn daemon(self) -> PathBuf {
        let own = match self {
            Self::MySql97 => env::var_os("SEALANT_MYSQLD"),
            Self::MariaDb1011 => env::var_os("SEALANT_MARIADBD"),
            Self::MariaDb118 | Self::MySql56 => None,
        };
        let installed = match self {
            Self::MySql97 => "usr/sbin/mysqld",
            Self::MariaDb1011 | Self::MariaDb118 => "usr/sbin/mariadbd",
            Self::MySql56 => "server/mysqld",
        };
        own.map_or_else(|| root(self).join(installed), PathBuf::from)
    }

    /// The directory above `sbin` or `bin`; 5.6 has its daemon in it.
    fn basedir(self, daemon: &Path) -> PathBuf {
        let levels = if self == Self::MySql56 { 1 } else { 2 };
        daemon.ancestors().nth(levels).unwrap_or_else(|| Path::new("/")).to_owned()
    }
}

impl Binaries {
    /// The Galera provider library beside this server.
    #[must_use]
    pub fn galera_provider(&self) -> Option<PathBuf> {
        first(&self.basedir, &["lib/galera/libgalera_smm.so", "lib64/galera-4/libgalera_smm.so"])
    }

    /// Another program of the same server, for example `mariadb-backup`.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<PathBuf> {
        first(&self.basedir.join("bin"), &[name])
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, path) = (self.kind.name(), self.path.display());
        write!(f, "{name} is not here ({path}); run tests/harness/bin/install-servers {name}")
    }
}

impl std::error::Error for Missing {}

/// Directory for everything that outlives a test run.
#[must_use]
pub fn cache() -> PathBuf {
    if let Some(cache) = env::var_os("SEALANT_CACHE") {
        return PathBuf::from(cache);
    }
    PathBuf::from(env::var_os("HOME").unwrap_or_else(|| "/root".into())).join(".cache/sealant")
}

fn root(kind: Kind) -> PathBuf {
    cache().join("servers").join(kind.name()).join("root")
}

fn first(dir: &Path, names: &[&str]) -> Option<PathBuf> {
    names.iter().map(|name| dir.join(name)).find(|path| path.exists())
}

/// Takes `9.7.4-2` out of `…/mysqld  Ver 9.7.4-2 for Linux on x86_64`.
fn version(daemon: &Path) -> Option<String> {
    let mut command = Command::new(daemon);
    let output = run(command.args(["--no-defaults", "--version"]), b"", limit(20));
    let text = String::from_utf8_lossy(&output.ok()?.stdout).into_owned();
    text.split_whitespace().skip_while(|word| *word != "Ver").nth(1).map(str::to_owned)
}
