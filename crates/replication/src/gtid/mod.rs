//! Global transaction identifiers: which transactions a server has executed.
//!
//! The two families share only the name: [`mysql::GtidSet`] is a set of numbers for each origin,
//! [`mariadb::GtidPosition`] the last transaction of each replication domain.

pub mod mariadb;
pub mod mysql;

/// The text is not a GTID, or not a set of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {kind}")]
pub struct NotGtids {
    /// The wrong part, at most 80 characters.
    text: String,
    /// What was expected.
    kind: &'static str,
}

impl NotGtids {
    fn new(text: &str, kind: &'static str) -> Self {
        Self { text: text.chars().take(80).collect(), kind }
    }
}
