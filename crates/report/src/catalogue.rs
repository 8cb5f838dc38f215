//! What the table of checks says of a finding's check, also if this release does not know it.

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

/// A check that only this crate's tests know, as if somebody had just added it.
#[cfg(test)]
fn more() -> &'static [Check] {
    std::slice::from_ref(&crate::new_check::CHECK)
}

/// The check's row; none for a finding of another release.
#[must_use]
pub(crate) fn row(id: &str) -> Option<&'static Check> {
    all().find(|check| check.id == id)
}

/// One line that says what is wrong when the check fails.
#[must_use]
pub(crate) fn title(finding: &Finding) -> &str {
    row(&finding.id).map_or(finding.id.as_str(), |check| check.title)
}

/// The first part of a check's id: `rest`, `host`, `key`, `tls`, …
#[must_use]
pub(crate) fn area(id: &str) -> &str {
    id.split('-').next().unwrap_or(id)
}
