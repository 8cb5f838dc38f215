//! Differences between both servers: in definitions of tables, and in rows.

/// An attribute of a definition whose values differ, or that one server lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Schema and name of the table.
    pub table: (String, String),
    /// The part of the table, such as ``column id``; empty for the whole table.
    pub object: String,
    /// The attribute; empty if one server lacks the object.
    pub attribute: String,
    /// The value at the source; `None` if it lacks the object.
    pub source: Option<String>,
    /// The value at the target; `None` if it lacks the object.
    pub target: Option<String>,
}

/// A row that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// `schema.table`.
    pub table: String,
    /// The row's key, as literals.
    pub key: String,
    /// How it differs.
    pub kind: DivergenceKind,
}

/// How a row differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DivergenceKind {
    /// At the source only.
    Missing,
    /// At the target only.
    Extra,
    /// At both, with different values.
    Different,
}

/// Describes the first difference, and says how many more there are.
pub(crate) fn described(differences: &[Difference]) -> String {
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
