//! `host-disk-only-for-pan`.

use std::collections::BTreeSet;

use findings::Severity;

use super::observed;
use crate::artefact::{Artefact, Kind, State};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::host::DiskLayer;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "host-disk-only-for-pan",
    title: "Only the disk protects data, which is not enough for card numbers",
    severity: Severity::Info,
    explanation: "PCI DSS 3.5.1.2 accepts disk encryption alone for card numbers on removable media only: whoever is \
        logged in on the host can read everything on a mounted disk. Judged from the artefacts that are clear in the \
        server's own files and lie on an encrypted disk.",
    applies: "servers on encrypted disks",
    fix: "encrypt tables or columns with card numbers in the server, too; the assessor decides",
    cost: "that of encrypting tables",
    standards: &["PCI DSS 4.0.1 3.5.1.2", "PCI DSS 4.0.1 3.5.1.3"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// Kinds of artefacts that may contain card numbers.
const KINDS: [Kind; 9] = [
    Kind::Table,
    Kind::GeneralTablespace,
    Kind::SystemTablespace,
    Kind::Undo,
    Kind::Redo,
    Kind::BinaryLog,
    Kind::RelayLog,
    Kind::AriaTable,
    Kind::PlainTable,
];

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let host = cx.facts.host()?;
    let covers = |layer: &DiskLayer| matches!(layer, DiskLayer::Encrypted { .. });
    let Some(disk) = host.paths.iter().find(|path| covers(&path.layer)) else {
        if host.paths.is_empty() {
            return Ok(CheckResults::new());
        }
        return Ok(CheckResults::not_applicable("no path of the server lies on an encrypted disk"));
    };
    let relevant: Vec<&Artefact<'_>> = KINDS
        .iter()
        .flat_map(|kind| cx.artefacts.with_kind(*kind))
        .filter(|artefact| artefact.disk_encryption().is_some() && !artefact.is_public())
        .collect();
    let reported: Vec<_> = relevant.iter().filter_map(|artefact| Some((*artefact, artefact.state()?))).collect();
    if reported.is_empty() {
        cx.facts.files()?;
        return Ok(CheckResults::new());
    }
    let grade = reported.iter().map(|(_, (_, grade))| *grade).min().unwrap_or(EvidenceGrade::Declared);
    let clear: Vec<&Artefact<'_>> = reported
        .iter()
        .filter(|(_, (state, _))| matches!(state, State::Clear | State::Partly))
        .map(|(artefact, _)| *artefact)
        .collect();
    let result = if clear.is_empty() {
        CheckResult::pass("server", grade, "everything that can hold card numbers is encrypted in the server, too")
    } else {
        CheckResult::fail(
            "server",
            grade,
            format!("{} artefacts are protected by the disk only: {}", clear.len(), some(&clear)),
        )
    };
    Ok(CheckResults::one(result.evidence(observed(&disk.path, format!("{:?}", disk.layer)))))
}

fn some(clear: &[&Artefact<'_>]) -> String {
    const SHOWN: usize = 10;
    let names: BTreeSet<&str> = clear.iter().map(|artefact| artefact.name.as_str()).collect();
    let shown: Vec<&str> = names.iter().copied().take(SHOWN).collect();
    let more = names.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql, tablespace};

    #[test]
    fn clear_tables_on_an_encrypted_disk_are_worth_a_note() {
        let found = mysql().file("demo/t.ibd", tablespace("plain", 0, 4)).encrypted_disk().judge(&CHECK);
        assert_eq!((found[0].status, found[0].severity), (Fail, Severity::Info));
        assert!(found[0].message.contains("demo/t.ibd"));
        assert_eq!(mysql().file("demo/t.ibd", tablespace("encrypted", 4, 0)).encrypted_disk().statuses(&CHECK), [Pass]);
    }

    #[test]
    fn without_an_encrypted_disk_it_does_not_apply() {
        assert_eq!(
            mysql().file("demo/t.ibd", tablespace("plain", 0, 4)).disk(DiskLayer::Plain).statuses(&CHECK),
            [NotApplicable]
        );
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
        assert_eq!(mysql().encrypted_disk().statuses(&CHECK), [Unknown]);
    }
}
