//! The pairs of servers that this version can migrate.

use server::{Flavor, ServerVersion};

/// The first supported version of a fork.
type Since = (u16, u16, u16);

/// A supported pair: the fork and first version of the source, and those of the target.
struct Pair {
    source: (Flavor, Since),
    target: (Flavor, Since),
}

const PAIRS: [Pair; 1] = [Pair { source: (Flavor::MySql, (5, 7, 22)), target: (Flavor::MySql, (8, 0, 16)) }];

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
        let fits = |(flavor, since): (Flavor, Since), version: &ServerVersion| {
            version.flavor == flavor && version.numbers() >= since
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

/// Whether a server's binary log contains the rows that a foreign key changes, by `CASCADE` or `SET NULL`.
///
/// Source: MySQL 9.6 release notes; seen on 9.7. MariaDB 10.11 and 11.8 do not log these rows.
#[must_use]
pub fn logs_cascades(version: &ServerVersion) -> bool {
    version.flavor == Flavor::MySql && version.at_least(9, 6, 0)
}
