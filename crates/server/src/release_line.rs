//! Release lines of the forks, and the last day on which each gets fixes.

use crate::version::Flavor;

/// A release line: the first two numbers of its versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseLine {
    /// The fork. Percona Server has the lines and dates of MySQL, which are not repeated.
    pub flavor: Flavor,
    /// Major number.
    pub major: u16,
    /// Minor number.
    pub minor: u16,
    /// Year, month and day of the last fixes.
    pub last_day: (i16, i8, i8),
}

const fn mysql(major: u16, minor: u16, last_day: (i16, i8, i8)) -> ReleaseLine {
    ReleaseLine { flavor: Flavor::MySql, major, minor, last_day }
}

const fn mariadb(major: u16, minor: u16, last_day: (i16, i8, i8)) -> ReleaseLine {
    ReleaseLine { flavor: Flavor::MariaDb, major, minor, last_day }
}

/// Every line that this release knows.
///
/// Sources: Oracle's lifetime support policy (end of extended support) for GA releases, an innovation release ends with
/// the next one; MariaDB Foundation's maintenance policy, community server.
pub const RELEASE_LINES: [ReleaseLine; 40] = [
    mysql(5, 5, (2018, 12, 31)),
    mysql(5, 6, (2021, 2, 28)),
    mysql(5, 7, (2023, 10, 31)),
    mysql(8, 0, (2026, 4, 30)),
    mysql(8, 1, (2023, 10, 25)),
    mysql(8, 2, (2024, 1, 16)),
    mysql(8, 3, (2024, 4, 30)),
    mysql(8, 4, (2032, 4, 30)),
    mysql(9, 0, (2024, 10, 15)),
    mysql(9, 1, (2025, 1, 21)),
    mysql(9, 2, (2025, 4, 15)),
    mysql(9, 3, (2025, 7, 22)),
    mysql(9, 4, (2025, 10, 21)),
    mysql(9, 5, (2026, 1, 20)),
    mysql(9, 6, (2026, 4, 21)),
    mysql(9, 7, (2034, 4, 30)),
    mariadb(5, 5, (2020, 4, 11)),
    mariadb(10, 0, (2019, 3, 31)),
    mariadb(10, 1, (2020, 10, 17)),
    mariadb(10, 2, (2022, 5, 23)),
    mariadb(10, 3, (2023, 5, 25)),
    mariadb(10, 4, (2024, 6, 18)),
    mariadb(10, 5, (2025, 6, 24)),
    mariadb(10, 6, (2026, 7, 6)),
    mariadb(10, 7, (2023, 2, 9)),
    mariadb(10, 8, (2023, 5, 20)),
    mariadb(10, 9, (2023, 8, 22)),
    mariadb(10, 10, (2023, 11, 17)),
    mariadb(10, 11, (2028, 2, 16)),
    mariadb(11, 0, (2024, 6, 6)),
    mariadb(11, 1, (2024, 8, 21)),
    mariadb(11, 2, (2024, 11, 21)),
    mariadb(11, 3, (2024, 5, 29)),
    mariadb(11, 4, (2029, 5, 29)),
    mariadb(11, 5, (2024, 11, 21)),
    mariadb(11, 6, (2025, 2, 13)),
    mariadb(11, 7, (2025, 5, 12)),
    mariadb(11, 8, (2028, 6, 4)),
    mariadb(12, 0, (2025, 11, 18)),
    mariadb(12, 1, (2026, 2, 13)),
];

/// The lines to upgrade to, as text for people: those that get fixes longest.
#[must_use]
pub const fn upgrade_targets(flavor: Flavor) -> &'static str {
    match flavor {
        Flavor::MariaDb => "MariaDB 11.8, or 11.4",
        Flavor::Percona => "Percona Server 8.4",
        Flavor::MySql => "MySQL 9.7, or 8.4",
    }
}

/// Servers of the compatibility matrix, in its order: the name, and the identifier in the tests of the build that they
/// run or whose files they read. `None`: no test; everything about the server is from documents.
pub const TESTED_SERVERS: [(&str, Option<&str>); 11] = [
    ("MySQL 5.6", Some("Kind::MySql56")),
    ("MySQL 5.7", Some("Kind::MySql57")),
    ("MySQL 8.0", Some("Kind::MySql80")),
    ("MySQL 8.4", None),
    ("MySQL 9.7", Some("Kind::MySql97")),
    ("Percona Server 5.7", Some("percona57")),
    ("Percona Server 8.0", Some("percona80")),
    ("Percona Server 8.4", None),
    ("MariaDB 10.11", Some("Kind::MariaDb1011")),
    ("MariaDB 11.4", Some("Kind::MariaDb114")),
    ("MariaDB 11.8", Some("Kind::MariaDb118")),
];

/// The line of a version; `None` if this release does not know it.
#[must_use]
pub fn release_line(flavor: Flavor, major: u16, minor: u16) -> Option<&'static ReleaseLine> {
    RELEASE_LINES.iter().find(|line| {
        line.flavor.is_mysql_like() == flavor.is_mysql_like() && (line.major, line.minor) == (major, minor)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_to_upgrade_to_are_those_maintained_longest() {
        for flavor in [Flavor::MySql, Flavor::MariaDb] {
            let mut lines: Vec<_> = RELEASE_LINES.iter().filter(|line| line.flavor == flavor).collect();
            lines.sort_by_key(|line| std::cmp::Reverse(line.last_day));
            for line in lines.iter().take(2) {
                assert!(upgrade_targets(flavor).contains(&format!("{}.{}", line.major, line.minor)), "{line:?}");
            }
        }
    }

    #[test]
    fn each_line_stands_once() {
        for (number, line) in RELEASE_LINES.iter().enumerate() {
            let same = |other: &&ReleaseLine| {
                (other.flavor, other.major, other.minor) == (line.flavor, line.major, line.minor)
            };
            assert_eq!(RELEASE_LINES.iter().position(|other| same(&other)), Some(number), "{line:?}");
        }
    }

    #[test]
    fn percona_server_follows_mysql() {
        assert_eq!(release_line(Flavor::Percona, 8, 4), release_line(Flavor::MySql, 8, 4));
        assert_eq!(release_line(Flavor::MySql, 10, 11), None);
    }

    #[test]
    fn every_tested_server_is_of_a_known_line() {
        for (name, _) in TESTED_SERVERS {
            let (fork, numbers) = name.rsplit_once(' ').unwrap();
            let (major, minor) = numbers.split_once('.').unwrap();
            let flavor = if fork == "MariaDB" { Flavor::MariaDb } else { Flavor::MySql };
            assert!(release_line(flavor, major.parse().unwrap(), minor.parse().unwrap()).is_some(), "{name}");
        }
    }
}
