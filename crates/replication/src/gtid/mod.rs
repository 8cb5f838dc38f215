//! Global transaction identifiers: which transactions a server has executed.
//!
//! The families share the name and nothing else: [`mysql::GtidSet`] is a set of numbers for each origin,
//! [`mariadb::GtidPosition`] the last transaction of each replication domain.

pub mod mariadb;
pub mod mysql;

/// A text that is not what servers write for their GTIDs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {kind}")]
pub struct NotGtids {
    /// The part that is wrong, at most 80 characters of it.
    text: String,
    /// What was expected.
    kind: &'static str,
}

impl NotGtids {
    fn new(text: &str, kind: &'static str) -> Self {
        Self { text: text.chars().take(80).collect(), kind }
    }
}
