//! Errors of a migration.

use thiserror::Error;

use crate::{Side, catalog::Difference};

/// Why a migration, or a step of one, could not be done.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A server refused a statement, or the connection to it failed.
    #[error("{side}: {error}")]
    Server {
        /// `source` or `target`.
        side: Side,
        /// The server's or the connection's error.
        error: server::Error,
    },
    /// A server's definition of a table is not one that this program can read.
    #[error("source: {table}: its definition cannot be read")]
    Definition {
        /// `schema.table`.
        table: String,
    },
    /// Tables of the target are not as those of the source.
    #[error("target: {}", described(differences))]
    Structure {
        /// What differs.
        differences: Vec<Difference>,
    },
}

/// The first difference, and how many more there are.
fn described(differences: &[Difference]) -> String {
    let Some(first) = differences.first() else { return "its tables differ".to_owned() };
    let place = format!("{}.{} {}", first.table.0, first.table.1, first.object);
    let what = match (&first.source, &first.target) {
        (Some(source), Some(target)) => format!("{} is '{target}' and not '{source}'", first.attribute),
        (_, None) => "is missing".to_owned(),
        (None, _) => "is not in the source".to_owned(),
    };
    let more = match differences.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" ({more} more differences)"),
    };
    format!("{} {what}{more}", place.trim_end())
}
