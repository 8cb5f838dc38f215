//! Forks and versions of servers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A fork of MySQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavor {
    /// Oracle's MySQL and compatible builds.
    MySql,
    /// Percona Server and Percona XtraDB Cluster.
    Percona,
    /// MariaDB.
    MariaDb,
}

impl Flavor {
    /// Whether it has MySQL's dictionary, keyrings and system tables.
    pub fn is_mysql_like(self) -> bool {
        matches!(self, Self::MySql | Self::Percona)
    }
}

/// The server program of MySQL and Percona Server; older MariaDB servers have it too.
pub const MYSQL_PROGRAM: &str = "mysqld";
/// The server program of MariaDB.
pub const MARIADB_PROGRAM: &str = "mariadbd";
/// Names of server programs.
pub const PROGRAMS: [&str; 2] = [MARIADB_PROGRAM, MYSQL_PROGRAM];

impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MySql => "MySQL",
            Self::Percona => "Percona Server",
            Self::MariaDb => "MariaDB",
        })
    }
}

/// Indications of the fork other than the version number, which is ambiguous: MySQL has 9.7 and 26.7; MariaDB 10.11,
/// 11.8 and 12.1.
#[derive(Clone, Copy, Debug, Default)]
pub struct VersionHints<'a> {
    /// `@@version_comment`, if known.
    pub comment: &'a str,
    /// The greeting lacks `CLIENT_LONG_PASSWORD`, by which MariaDB 10.2 and later announces its own capability bits.
    pub mariadb_capabilities: bool,
    /// A variable exists that only MariaDB has (`aria_block_size`).
    pub mariadb_variables: bool,
}

/// Fork and version of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerVersion {
    /// The fork.
    pub flavor: Flavor,
    /// Major number.
    pub major: u16,
    /// Minor number.
    pub minor: u16,
    /// Patch number.
    pub patch: u16,
    /// The text sent by the server.
    pub text: String,
}

impl ServerVersion {
    /// Parses `@@version`, or the version in the greeting. The `hints` help to determine the fork; Percona Server is
    /// recognised only by its comment.
    ///
    /// `None` if the text does not begin with three numbers.
    pub fn parse(text: &str, hints: VersionHints<'_>) -> Option<Self> {
        let flavor = flavor(text, hints);
        // MariaDB before 11 prefixed 5.5.5-, because old replicas could not parse "10".
        let numbers = match text.strip_prefix("5.5.5-") {
            Some(rest) if flavor == Flavor::MariaDb && rest.starts_with(|c: char| c.is_ascii_digit()) => rest,
            _ => text,
        };
        let end = numbers.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(numbers.len());
        let mut parts = numbers.get(..end)?.split('.').map(|part| part.parse().ok());
        let (major, minor) = (parts.next()??, parts.next()??);
        let patch = parts.next()??;
        Some(Self { flavor, major, minor, patch, text: text.to_owned() })
    }

    /// The three numbers, to compare with versions of the same fork.
    pub fn numbers(&self) -> (u16, u16, u16) {
        (self.major, self.minor, self.patch)
    }

    /// Whether it is this version or newer; meaningful only within one fork.
    pub fn at_least(&self, major: u16, minor: u16, patch: u16) -> bool {
        self.numbers() >= (major, minor, patch)
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}.{}.{}", self.flavor, self.major, self.minor, self.patch)
    }
}

/// Versions of different forks are not ordered.
impl PartialOrd for ServerVersion {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        if self.flavor.is_mysql_like() != other.flavor.is_mysql_like() {
            return None;
        }
        let order = self.numbers().cmp(&other.numbers());
        // Equal numbers of different builds are neither equal nor ordered.
        (order.is_ne() || self == other).then_some(order)
    }
}

fn flavor(text: &str, hints: VersionHints<'_>) -> Flavor {
    let contains = |hay: &str, needle: &str| hay.to_ascii_lowercase().contains(needle);
    if hints.mariadb_variables
        || hints.mariadb_capabilities
        || contains(text, "mariadb")
        || contains(hints.comment, "mariadb")
    {
        Flavor::MariaDb
    } else if contains(hints.comment, "percona") {
        Flavor::Percona
    } else {
        Flavor::MySql
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn forks_are_recognised_by_features_not_by_numbers() {
        use Flavor::{MariaDb, MySql, Percona};
        let cases = [
            ("9.7.4", "MySQL Community Server - GPL", MySql, (9, 7, 4)),
            ("26.7.0", "MySQL Community Server - GPL", MySql, (26, 7, 0)),
            ("26.10.1-commercial", "MySQL Enterprise Server - Commercial", MySql, (26, 10, 1)),
            ("9.7.4-Debian", "(Debian)", MySql, (9, 7, 4)),
            ("8.0.36-0ubuntu0.22.04.1", "(Ubuntu)", MySql, (8, 0, 36)),
            ("5.6.24-log", "Source distribution", MySql, (5, 6, 24)),
            ("5.7.44-48-log", "Percona Server (GPL), Release 48, Revision 497f936a373", Percona, (5, 7, 44)),
            ("8.0.36-28.1", "Percona XtraDB Cluster (GPL), Release rel28, WSREP version 26.1.4.3", Percona, (8, 0, 36)),
            // Debian's build of Oracle's MySQL: a suffix like Percona's proves nothing.
            ("9.7.4-2", "", MySql, (9, 7, 4)),
            ("5.5.5-10.11.19-MariaDB-0+deb12u1", "", MariaDb, (10, 11, 19)),
            ("10.11.19-MariaDB", "MariaDB Server", MariaDb, (10, 11, 19)),
            ("11.8.6-MariaDB-ubu2404-log", "mariadb.org binary distribution", MariaDb, (11, 8, 6)),
            ("5.5.68-MariaDB", "", MariaDb, (5, 5, 68)),
            ("10.6.18-14-enterprise", "MariaDB Enterprise Server", MariaDb, (10, 6, 18)),
        ];
        for (text, comment, flavor, numbers) in cases {
            let hints = VersionHints { comment, ..VersionHints::default() };
            let version = ServerVersion::parse(text, hints).unwrap();
            assert_eq!((version.flavor, version.numbers()), (flavor, numbers), "{text}");
        }
    }

    #[test]
    fn a_renamed_mariadb_is_recognised() {
        let hints = VersionHints { mariadb_capabilities: true, ..VersionHints::default() };
        let version = ServerVersion::parse("5.7.99-secret", hints).unwrap();
        assert_eq!(version.flavor, Flavor::MariaDb);
    }

    #[test]
    fn versions_compare_only_within_a_fork() {
        let mysql = |text| ServerVersion::parse(text, VersionHints::default()).unwrap();
        assert!(mysql("26.7.0") > mysql("9.7.4"));
        assert!(mysql("8.0.36") < mysql("8.4.0"));
        assert_eq!(mysql("10.0.0").partial_cmp(&mysql("10.11.4-MariaDB")), None);
        assert!(mysql("8.0.16").at_least(8, 0, 16));
    }

    #[test]
    fn text_without_three_numbers_is_no_version() {
        for text in ["", "MySQL", "8", "8.0", "8.0.x", "99999999.1.1", "-1.0.0"] {
            assert!(ServerVersion::parse(text, VersionHints::default()).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_parses_or_not(text: String, comment: String) {
            let hints = VersionHints { comment: &comment, ..VersionHints::default() };
            let _ = ServerVersion::parse(&text, hints);
        }
    }
}
