//! The pairs of servers that this version can migrate.

use server::{Flavor, ServerVersion};

/// The first supported version of a fork.
type Since = (u16, u16, u16);

/// A fork, its first supported version, and its first version that is not supported any more.
type Versions = (Flavor, Since, Since);

/// A supported pair of source and target.
struct Pair {
    source: Versions,
    target: Versions,
}

const LATEST: Since = (u16::MAX, 0, 0);
const MARIADB: Versions = (Flavor::MariaDb, (10, 11, 0), (12, 0, 0));

const PAIRS: [Pair; 4] = [
    Pair { source: (Flavor::MySql, (5, 7, 22), LATEST), target: (Flavor::MySql, (8, 0, 16), LATEST) },
    Pair { source: (Flavor::MySql, (8, 0, 16), LATEST), target: MARIADB },
    Pair { source: MARIADB, target: MARIADB },
    Pair { source: MARIADB, target: (Flavor::MySql, (9, 7, 0), LATEST) },
];

/// The supported pairs, for people.
pub(super) const SUPPORTED: &str = "MySQL 5.7.22 or later to MySQL 8.0.16 or later, MySQL 8.0.16 or later to MariaDB \
                                    10.11 to 11.8, and from MariaDB 10.11 to 11.8 to the same or a later series of \
                                    these, or to MySQL 9.7 or later";

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
        let fits = |(flavor, since, before): Versions, version: &ServerVersion| {
            version.flavor == flavor && (since..before).contains(&version.numbers())
        };
        let known = PAIRS.iter().any(|pair| fits(pair.source, source) && fits(pair.target, target));
        let series = |version: &ServerVersion| (version.major, version.minor);
        match known {
            true if source.flavor == target.flavor && series(target) < series(source) => Self::Older,
            true => Self::Yes,
            false => Self::NotYet,
        }
    }
}

/// The variable by which MySQL since 9.6 leaves foreign keys to InnoDB, as before.
pub(crate) const NATIVE_FOREIGN_KEYS: &str = "innodb_native_foreign_keys";

/// Whether a server's binary log contains the rows that a foreign key changes, by `CASCADE` or `SET NULL`. `native` is the
/// value of [`NATIVE_FOREIGN_KEYS`].
///
/// Source: MySQL 9.6 release notes; seen on 9.7. MariaDB 10.11 and 11.8 do not log these rows.
#[must_use]
pub(crate) fn logs_cascades(version: &ServerVersion, native: bool) -> bool {
    version.flavor == Flavor::MySql && version.at_least(9, 6, 0) && !native
}
