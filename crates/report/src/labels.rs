//! Words for states, layers, grades and sources.

use audit::coverage::{CoverageState, DataState, Layer};
use audit::facts::Scope;
use audit::finding::{EvidenceGrade, Status};
use audit::outcome::{Outcome, Server};

use crate::text::count;

/// A warning if not everything was judged: an audit with fewer privileges finds fewer failures, and would look better.
#[must_use]
pub(crate) fn incomplete(outcome: &Outcome) -> Option<String> {
    let sum = &outcome.summary;
    if sum.complete {
        return None;
    }
    let unseen = sum.by_status.get(Status::Unknown.as_str()).copied().unwrap_or(0);
    let missing = match (unseen, sum.unreachable) {
        (0, servers) => format!("{} could not be audited", count(servers, "server")),
        (unseen, _) => format!("{} could not be given", count(unseen, "verdict")),
    };
    Some(format!("incomplete: {missing}, so this may look better than it is; --require-complete makes exit code 0 a 4"))
}

/// State of a row of the map, in one or two words.
#[must_use]
pub(crate) const fn state(state: CoverageState) -> &'static str {
    match state {
        CoverageState::Encrypted => "encrypted",
        CoverageState::Partly => "partly clear",
        CoverageState::Clear => "clear",
        CoverageState::Unknown => "not seen",
        CoverageState::Absent => "none here",
    }
}

/// A shorter label.
#[must_use]
pub(crate) const fn short_state(state: CoverageState) -> &'static str {
    match state {
        CoverageState::Partly => "partly",
        other => self::state(other),
    }
}

/// The state as one word, for class names, labels and values.
#[must_use]
pub(crate) const fn state_key(state: CoverageState) -> &'static str {
    match state {
        CoverageState::Encrypted => "encrypted",
        CoverageState::Partly => "partly",
        CoverageState::Clear => "clear",
        CoverageState::Unknown => "unknown",
        CoverageState::Absent => "absent",
    }
}

/// The encrypting layer.
#[must_use]
pub(crate) const fn layer(layer: Layer) -> &'static str {
    match layer {
        Layer::Tde => "TDE",
        Layer::Disk => "disk",
        Layer::Tls => "TLS",
        Layer::None => "none",
    }
}

/// Grade of the evidence; a dash if there is none.
#[must_use]
pub(crate) fn grade(grade: Option<EvidenceGrade>) -> &'static str {
    grade.map_or("-", EvidenceGrade::as_str)
}

/// At rest or in flight, as a label.
#[must_use]
pub(crate) const fn data_state_key(location: DataState) -> &'static str {
    match location {
        DataState::AtRest => "at-rest",
        DataState::InFlight => "in-flight",
    }
}

/// Product and version; a placeholder if unknown.
#[must_use]
pub(crate) fn product(server: &Server) -> String {
    match (&server.flavor, &server.version) {
        (Some(flavor), Some(version)) => format!("{flavor} {version}"),
        (Some(one), None) | (None, Some(one)) => one.clone(),
        (None, None) if server.scope.files => "files only".to_owned(),
        (None, None) => "version unknown".to_owned(),
    }
}

/// The sources that were available, and those that were not.
#[must_use]
pub(crate) fn sources(scope: Scope) -> (Vec<&'static str>, Vec<&'static str>) {
    let files = if scope.deep { "files (every page)" } else { "files (first pages)" };
    let all = [
        (scope.sql, "server tables", "server tables"),
        (scope.files, files, "files"),
        (scope.wire, "wire", "wire"),
        (scope.host, "host", "host"),
    ];
    let used = all.iter().filter(|(open, ..)| *open).map(|(_, message, _)| *message).collect();
    let closed = all.iter().filter(|(open, ..)| !*open).map(|(.., word)| *word).collect();
    (used, closed)
}

/// [`sources`] in one clause.
#[must_use]
pub(crate) fn evidence_used(scope: Scope) -> String {
    let (used, closed) = sources(scope);
    match (used.is_empty(), closed.is_empty()) {
        (true, _) => "none".to_owned(),
        (false, true) => used.join(", "),
        (false, false) => format!("{}; not used: {}", used.join(", "), closed.join(", ")),
    }
}

/// A time to the second, in UTC, as RFC 3339 has it.
#[must_use]
pub(crate) fn second(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A time to the minute, in UTC.
#[must_use]
pub(crate) fn minute(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_used_names_what_was_not_open() {
        let mut scope = Scope { sql: true, files: true, ..Scope::default() };
        assert_eq!(evidence_used(scope), "server tables, files (first pages); not used: wire, host");
        (scope.wire, scope.host, scope.deep) = (true, true, true);
        assert_eq!(evidence_used(scope), "server tables, files (every page), wire, host");
        assert_eq!(evidence_used(Scope::default()), "none");
    }

    #[test]
    fn times_are_given_to_the_minute() {
        assert_eq!(minute("2026-11-20T12:34:56.789Z".parse().unwrap()), "2026-11-20 12:34 UTC");
    }
}
