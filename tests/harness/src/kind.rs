//! The servers that tests can use, and where each is installed.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::run;
use crate::limit;

/// A server release line. New lines are added here and in `bin/install-servers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// MySQL 9.7, from Debian unstable; `SEALANT_MYSQLD` replaces it.
    MySql97,
    /// MariaDB 10.11, from Debian 12; `SEALANT_MARIADBD` replaces it.
    MariaDb1011,
    /// MariaDB 11.8, from Debian 13.
    MariaDb118,
    /// MySQL 5.6: old TLS; it has no client of its own and uses MariaDB 10.11's.
    MySql56,
    /// MySQL 5.7, with a stand-in for its keyring plug-in and MariaDB 10.11's client; `SEALANT_MYSQL57` replaces it.
    MySql57,
    /// MySQL 8.0; `SEALANT_MYSQL80` replaces it.
    MySql80,
    /// MariaDB 11.4; `SEALANT_MARIADB114` replaces it.
    MariaDb114,
    /// MySQL 8.4: a custom build.
    MySql84,
    /// Percona Server 5.7: a custom build.
    Percona57,
    /// Percona Server 8.0: a custom build.
    Percona80,
    /// Percona Server 8.4: a custom build.
    Percona84,
}

/// Properties of a kind, before it is located.
struct Line {
    kind: Kind,
    /// The name that `bin/install-servers` knows, if it installs it.
    name: &'static str,
    /// Environment variable that names a daemon to run as this kind.
    variable: Option<&'static str>,
    /// Path of the daemon below the root that `bin/install-servers` creates; `None` if only the variable can name a
    /// daemon.
    installed: Option<&'static str>,
}

const fn line(kind: Kind, name: &'static str, variable: Option<&'static str>, installed: Option<&'static str>) -> Line {
    Line { kind, name, variable, installed }
}

/// All kinds.
const LINES: [Line; 11] = [
    line(Kind::MySql97, "mysql97", Some("SEALANT_MYSQLD"), Some("usr/sbin/mysqld")),
    line(Kind::MariaDb1011, "mariadb1011", Some("SEALANT_MARIADBD"), Some("usr/sbin/mariadbd")),
    line(Kind::MariaDb118, "mariadb118", None, Some("usr/sbin/mariadbd")),
    line(Kind::MySql56, "mysql56", None, Some("server/mysqld")),
    line(Kind::MySql57, "mysql57", Some("SEALANT_MYSQL57"), Some("usr/bin/mysqld")),
    line(Kind::MySql80, "mysql80", Some("SEALANT_MYSQL80"), Some("usr/bin/mysqld")),
    line(Kind::MariaDb114, "mariadb114", Some("SEALANT_MARIADB114"), Some("usr/bin/mariadbd")),
    line(Kind::MySql84, "mysql84", Some("SEALANT_MYSQL84"), None),
    line(Kind::Percona57, "percona57", Some("SEALANT_PERCONA57"), None),
    line(Kind::Percona80, "percona80", Some("SEALANT_PERCONA80"), None),
    line(Kind::Percona84, "percona84", Some("SEALANT_PERCONA84"), None),
];

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
    /// For `--lc-messages-dir`. MariaDB's SQL scripts are in this directory, too.
    pub messages: PathBuf,
    /// The version as the daemon prints it, for example `9.7.4-2`.
    pub version: String,
}

/// Error: a server is not installed.
#[derive(Clone, Debug)]
pub struct Missing {
    kind: Kind,
    path: PathBuf,
}

impl Kind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        LINES.iter().map(|line| line.kind)
    }

    /// Kinds that `bin/install-servers` does not install: custom builds that an environment variable names.
    pub fn custom_builds() -> impl Iterator<Item = Self> {
        Self::all().filter(|kind| kind.is_custom_build())
    }

    fn is_custom_build(self) -> bool {
        self.line().is_some_and(|line| line.installed.is_none())
    }

    fn line(self) -> Option<&'static Line> {
        LINES.iter().find(|line| line.kind == self)
    }

    /// The name that `bin/install-servers` uses; for a custom build, a name for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.line().map_or("", |line| line.name)
    }

    /// Whether it has the X Protocol, and therefore an administrative port.
    pub(crate) fn has_x_protocol(self) -> bool {
        matches!(self, Self::MySql80 | Self::MySql84 | Self::MySql97 | Self::Percona80 | Self::Percona84)
    }

    /// Whether this is a MariaDB.
    #[must_use]
    pub fn is_mariadb(self) -> bool {
        matches!(self, Self::MariaDb1011 | Self::MariaDb114 | Self::MariaDb118)
    }

    pub(crate) fn always_tested(self) -> bool {
        matches!(self, Self::MySql97 | Self::MariaDb1011)
    }

    /// Finds the server's files.
    ///
    /// # Errors
    /// [`Missing`] with the first path that does not exist or cannot be executed.
    pub fn locate(self) -> Result<Binaries, Missing> {
        let daemon = self.daemon();
        let missing = |path: &Path| Missing { kind: self, path: path.to_owned() };
        let version = version(&daemon).ok_or_else(|| missing(&daemon))?;
        let basedir = self.basedir(&daemon);
        let clients = basedir.join("bin");
        let borrows = matches!(self, Self::MySql56 | Self::MySql57) || self.is_custom_build();
        let borrowed = borrows.then(|| root(Self::MariaDb1011).join("usr/bin"));
        let client = |clients: &Path| first(clients, &["mariadb", "mysql"]);
        let borrowed = || borrowed.as_deref().and_then(client);
        Ok(Binaries {
            client: client(&clients).or_else(borrowed).ok_or_else(|| missing(&clients))?,
            messages: first(&basedir, &["share/mariadb", "share/mysql", "share"]).ok_or_else(|| missing(&basedir))?,
            plugins: first(&basedir, &["lib/mysql/plugin", "lib64/mysql/plugin", "lib/plugin"]),
            basedir,
            daemon,
            version,
        })
    }

    fn daemon(self) -> PathBuf {
        let current = self.line().and_then(|line| line.variable).and_then(env::var_os);
        let installed = self.line().and_then(|line| line.installed).unwrap_or_default();
        current.map_or_else(|| root(self).join(installed), PathBuf::from)
    }

    /// The directory above `sbin` or `bin`; 5.6 has its daemon directly in it.
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
        match self.kind.line() {
            Some(Line { installed: None, variable: Some(variable), .. }) => {
                write!(f, "{name} is not here; set {variable} to its mysqld")
            }
            _ => write!(f, "{name} is not here ({path}); run tests/harness/bin/install-servers {name}"),
        }
    }
}

impl std::error::Error for Missing {}

/// Directory for files that are kept between test runs.
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

/// Extracts `9.7.4-2` from `…/mysqld  Ver 9.7.4-2 for Linux on x86_64`.
fn version(daemon: &Path) -> Option<String> {
    let mut command = Command::new(daemon);
    let output = run(command.args(["--no-defaults", "--version"]), b"", limit(20));
    let text = String::from_utf8_lossy(&output.ok()?.stdout).into_owned();
    text.split_whitespace().skip_while(|word| *word != "Ver").nth(1).map(str::to_owned)
}
