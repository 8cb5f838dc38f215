//! Keys that a keyring has more than once.

use std::fmt;

/// A name and user under which a keyring has several keys, of which the first counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedKey {
    /// Name of the keys.
    pub name: String,
    /// The account that owns them; empty for the server's own keys.
    pub user: String,
    /// Whether they have the same type and bytes, so that they are one key.
    pub is_same: bool,
}

impl fmt::Display for RepeatedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.escape_debug();
        match self.is_same {
            true => write!(f, "{name} is there more than once, as the same key"),
            false => write!(f, "there are different keys of the name {name}, of which the first is used"),
        }
    }
}
