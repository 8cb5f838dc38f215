//! Requirements of standards, with the results of the checks that map to them.

use std::collections::BTreeMap;

use audit::finding::{Finding, Status};

/// One requirement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Requirement<'a> {
    /// The document, such as `PCI DSS 4.0.1`.
    pub(crate) document: &'a str,
    /// The item in it, such as `3.5.1`.
    pub(crate) item: &'a str,
    /// The worst status of its checks.
    pub(crate) status: Status,
    /// Each check with its worst status, worst first.
    pub(crate) checks: Vec<(&'a str, Status)>,
}

/// The requirements that the findings name, by document and item.
#[must_use]
pub(crate) fn requirements<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<Requirement<'a>> {
    let mut worst: BTreeMap<(&str, Natural<'_>), BTreeMap<&str, Status>> = BTreeMap::new();
    for finding in findings {
        for standard in &finding.standards {
            let (document, item) = standard.rsplit_once(' ').unwrap_or((standard, ""));
            let checks = worst.entry((document, Natural(item))).or_default();
            let status = checks.entry(&finding.id).or_insert(finding.status);
            *status = (*status).max(finding.status);
        }
    }
    worst.into_iter().map(|((document, item), checks)| requirement(document, item.0, checks)).collect()
}

fn requirement<'a>(document: &'a str, item: &'a str, checks: BTreeMap<&'a str, Status>) -> Requirement<'a> {
    let status = checks.values().copied().max().unwrap_or(Status::NotApplicable);
    let mut checks: Vec<(&str, Status)> = checks.into_iter().collect();
    checks.sort_by_key(|(_, status)| std::cmp::Reverse(*status));
    Requirement { document, item, status, checks }
}

/// An item that sorts numerically: 3.5 before 3.10.
#[derive(Debug, PartialEq, Eq)]
struct Natural<'a>(&'a str);

impl Natural<'_> {
    fn key(&self) -> Vec<(u64, &str)> {
        let parts = self.0.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
        parts.map(|part| (part.parse().unwrap_or(u64::MAX), part)).collect()
    }
}

impl Ord for Natural<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key()).then_with(|| self.0.cmp(other.0))
    }
}

impl PartialOrd for Natural<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::finding;

    #[test]
    fn a_requirement_is_as_good_as_its_worst_check() {
        let mut fail = finding("rest-redo-plaintext", Status::Fail, "redo");
        fail.standards = vec!["PCI DSS 4.0.1 3.5.1".to_owned()];
        let mut pass = finding("rest-table-plaintext", Status::Pass, "server");
        pass.standards = vec!["PCI DSS 4.0.1 3.5.1".to_owned(), "PCI DSS 4.0.1 3.10".to_owned()];
        let found = requirements([&pass, &fail].into_iter());
        let seen: Vec<_> = found.iter().map(|r| (r.document, r.item, r.status)).collect();
        assert_eq!(seen, [("PCI DSS 4.0.1", "3.5.1", Status::Fail), ("PCI DSS 4.0.1", "3.10", Status::Pass)]);
        assert_eq!(found[0].checks, [("rest-redo-plaintext", Status::Fail), ("rest-table-plaintext", Status::Pass)]);
    }
}
