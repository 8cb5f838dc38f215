//! What a stolen disk and network traffic reveal, in sentences.

use std::collections::BTreeSet;

use audit::checks::area_of;
use audit::coverage::DataState;
use audit::exposure::{Exposes, KeyFlaw};
use audit::finding::{Finding, Status};
use findings::Severity;

use crate::catalogue::{row, title};
use crate::group::by_check;
use crate::text::{capital, first_names, number, visible};

/// What an attacker can read, of data at rest or in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exposure {
    /// Something is readable.
    Open,
    /// Nothing readable was found, but not everything was checked.
    Unseen,
    /// Everything was checked, and nothing is readable.
    Closed,
}

/// One kind of exposed data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExposedData<'a> {
    /// The check that found it.
    pub(crate) id: &'a str,
    /// Severity of the worst finding.
    pub(crate) severity: Severity,
    pub(crate) sentence: String,
}

/// What an attacker can read of data at rest or in flight, worst first.
#[must_use]
pub(crate) fn exposed_data<'a>(
    findings: impl Iterator<Item = &'a Finding>,
    location: DataState,
) -> Vec<ExposedData<'a>> {
    let groups = by_check(findings, Status::Fail);
    let here = groups.iter().filter(|group| concerns(group.id, location));
    here.map(|group| ExposedData {
        id: group.id,
        severity: group.severity,
        sentence: sentence(group.id, &group.findings),
    })
    .collect()
}

/// Maximum number of names in one sentence.
const MAX_NAMES: usize = 3;

fn sentence(id: &str, findings: &[&Finding]) -> String {
    let message =
        row(id).and_then(|check| check.exposes.text()).or_else(|| findings.first().map(|f| title(f))).unwrap_or(id);
    let message = capital(&visible(message));
    let servers: BTreeSet<&str> = findings.iter().map(|f| f.server.as_str()).collect();
    if servers.len() > 1 {
        return format!("{message}, on {} servers.", number(servers.len()));
    }
    let named = findings.iter().map(|f| f.artefact.as_str()).filter(|name| *name != "server");
    let names = first_names(named, MAX_NAMES);
    if names.is_empty() { format!("{message}.") } else { format!("{message}: {names}.") }
}

/// What a failure of the check exposes. A check of another release is judged by its area and has no sentence.
fn exposes(id: &str) -> Exposes {
    let of_area = || area_of(id).map(|area| area.exposes);
    row(id).map(|check| check.exposes).or_else(of_area).unwrap_or(Exposes::Nothing)
}

/// Whether a failure of the check exposes data in this state.
fn concerns(id: &str, location: DataState) -> bool {
    exposes(id).data_state() == Some(location)
}

/// What an attacker can read of one server, at rest or in flight. Only findings count: the coverage map also shows
/// clear data where it was accepted, or where nothing can be read.
#[must_use]
pub(crate) fn at<'a>(findings: impl Iterator<Item = &'a Finding> + Clone, location: DataState) -> Exposure {
    if opened(findings.clone(), Status::Fail, location) {
        Exposure::Open
    } else if unjudged(findings, location) {
        Exposure::Unseen
    } else {
        Exposure::Closed
    }
}

/// Whether something is readable there, but was accepted by a waiver.
#[must_use]
pub(crate) fn accepted<'a>(findings: impl Iterator<Item = &'a Finding> + Clone, location: DataState) -> bool {
    opened(findings, Status::Waived, location)
}

/// Whether a relevant check has no verdict, or there is no relevant check.
fn unjudged<'a>(findings: impl Iterator<Item = &'a Finding>, location: DataState) -> bool {
    let mut here = findings.filter(|f| concerns(&f.id, location)).peekable();
    here.peek().is_none() || here.any(|f| f.status == Status::Unknown)
}

/// Whether findings with this status expose data: directly, or by keys that are readable and on the same disk.
fn opened<'a>(findings: impl Iterator<Item = &'a Finding> + Clone, status: Status, location: DataState) -> bool {
    let here =
        findings.filter(|f| f.status == status).map(|f| exposes(&f.id)).filter(|e| e.data_state() == Some(location));
    let has = |flaw| here.clone().any(|exposes| matches!(exposes, Exposes::Keys(is, _) if is == flaw));
    let has_keys = has(KeyFlaw::Readable) && has(KeyFlaw::BesideData);
    has_keys || here.clone().any(|exposes| matches!(exposes, Exposes::Data(..)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::finding;

    #[test]
    fn exposed_data_names_its_artefacts_and_counts_the_rest() {
        let names = ["demo/a.ibd", "demo/b.ibd", "demo/c.ibd", "demo/d.ibd"];
        let findings: Vec<Finding> = names.iter().map(|n| finding("rest-table-plaintext", Status::Fail, n)).collect();
        let exposed_data = exposed_data(findings.iter(), DataState::AtRest);
        assert_eq!(exposed_data.len(), 1);
        assert_eq!(
            exposed_data[0].sentence,
            "The rows of tables, readable with a text viewer: demo/a.ibd, demo/b.ibd, demo/c.ibd and 1 more."
        );
    }

    #[test]
    fn what_exposes_nothing_is_filed_nowhere() {
        for id in ["rest-default-off", "rest-page-damaged", "tls-no-13", "tls-chain-untrusted"] {
            let found = [finding(id, Status::Fail, "server")];
            for location in [DataState::AtRest, DataState::InFlight] {
                assert_eq!(exposed_data(found.iter(), location), [], "{id}");
                assert_ne!(at(found.iter(), location), Exposure::Open, "{id}");
            }
        }
    }

    #[test]
    fn an_impostor_stands_on_the_network() {
        let found = [finding("tls-cert-identity", Status::Fail, "server")];
        let heard = exposed_data(found.iter(), DataState::InFlight);
        assert_eq!(
            heard[0].sentence,
            "Sessions, to whoever poses as the server: its certificate does not contain its name."
        );
        assert_eq!(exposed_data(found.iter(), DataState::AtRest), []);
    }

    #[test]
    fn a_clear_key_beside_the_data_opens_the_disk() {
        let key = finding("key-file-clear", Status::Fail, "keyring");
        let beside = finding("key-same-disk", Status::Fail, "keyring");
        let one = std::slice::from_ref(&key);
        assert_eq!(at(one.iter(), DataState::AtRest), Exposure::Closed);
        assert_eq!(at([&key, &beside].into_iter(), DataState::AtRest), Exposure::Open);
        assert_eq!(at([].iter(), DataState::InFlight), Exposure::Unseen);
        let unknown = finding("rest-redo-plaintext", Status::Unknown, "server");
        assert_eq!(at([&unknown].into_iter(), DataState::AtRest), Exposure::Unseen);
    }
}
