//! Versions of a secret that the service no longer has.

use serde::{Deserialize, Serialize};

/// Why a version of a secret no longer exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "how")]
pub enum Withdrawn {
    /// Deleted; it can be undeleted.
    Deleted {
        /// When, in RFC 3339.
        time: String,
    },
    /// Destroyed; it cannot be restored.
    Destroyed,
    /// Older than the number of versions that the engine keeps.
    NotKept,
}

impl std::fmt::Display for Withdrawn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Deleted { time } => {
                write!(f, "deleted at {}; `vault kv undelete` restores it", time.escape_debug())
            }
            Self::Destroyed => f.write_str("destroyed for ever"),
            Self::NotKept => f.write_str("older than the versions that the engine keeps (max_versions)"),
        }
    }
}
