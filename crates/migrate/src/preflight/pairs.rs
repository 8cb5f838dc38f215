//! The pairs of servers that this version can migrate.

use server::{Flavor, ServerVersion};

/// The first supported version of a fork.
type Since = (u16, u16, u16);

/// A supported pair of one fork: the first version of the source, the first of the target, and the first that neither
/// may have.
struct Pair {
    flavor: Flavor,
    source: Since,
    target: Since,
    before: Since,
}

const PAIRS: [Pair; 2] = [
    Pair { flavor: Flavor::MySql, source: (5, 7, 22), target: (8, 0, 16), before: (u16::MAX, 0, 0) },
    Pair { flavor: Flavor::MariaDb, source: (10, 11, 0), target: (10, 11, 0), before: (12, 0, 0) },
];

/// The supported pairs, for people.
pub(super) const SUPPORTED: &str = "MySQL 5.7.22 or later to MySQL 8.0.16 or later, and from MariaDB 10.11 to 11.8 to \
                                    the same or a later series of these";

/// Whether a pair is supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// The pair is supported.
    Yes,
    /// The target's release series is older than the source's.
    Older,
    /// This version does not support the pair.
    NotYet,
}

impl Support {
    /// Looks up the pair.
    #[must_use]
    pub fn for_versions(source: &ServerVersion, target: &ServerVersion) -> Self {
        let fits = |pair: &Pair, since: Since, version: &ServerVersion| {
            version.flavor == pair.flavor && (since..pair.before).contains(&version.numbers())
        };
        let known = PAIRS.iter().any(|pair| fits(pair, pair.source, source) && fits(pair, pair.target, target));
        let series = |version: &ServerVersion| (version.major, version.minor);
        match known {
            true if series(target) < series(source) => Self::Older,
            true => Self::Yes,
            false => Self::NotYet,
        }
    }
}

/// Whether a server's binary log contains the rows that a foreign key changes, by `CASCADE` or `SET NULL`.
///
/// Source: MySQL 9.6 release notes; seen on 9.7. MariaDB 10.11 and 11.8 do not log these rows.
#[must_use]
pub fn logs_cascades(version: &ServerVersion) -> bool {
    version.flavor == Flavor::MySql && version.at_least(9, 6, 0)
}
