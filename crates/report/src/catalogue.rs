//! The table of checks, with defaults for checks that this release does not have.

use audit::check::Check;
use audit::checks;
use audit::finding::Finding;

/// All checks.
pub(crate) fn all() -> impl Iterator<Item = &'static Check> {
    checks::all().chain(more())
}

#[cfg(not(test))]
const fn more() -> &'static [Check] {
    &[]
}

/// A check that exists only in this crate's tests, as if it had just been added.
#[cfg(test)]
fn more() -> &'static [Check] {
    std::slice::from_ref(&crate::new_check::CHECK)
}

/// The definition of a check; `None` for a check of another release.
#[must_use]
pub(crate) fn row(id: &str) -> Option<&'static Check> {
    all().find(|check| check.id == id)
}

/// One line about what is wrong when the check fails.
#[must_use]
pub(crate) fn title(finding: &Finding) -> &str {
    row(&finding.id).map_or(finding.id.as_str(), |check| check.title)
}

/// The first part of a check's id: `rest`, `host`, `key`, `tls`, …
#[must_use]
pub(crate) fn area(id: &str) -> &str {
    id.split('-').next().unwrap_or(id)
}
