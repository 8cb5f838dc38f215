//! What the table of checks says of a finding's check, also if this release does not know it.

use audit::check::Check;
use audit::checks;
use audit::finding::Finding;

/// The check's row; none for a finding of another release.
#[must_use]
pub(crate) fn row(id: &str) -> Option<&'static Check> {
    checks::find(id)
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
