//! `rest-external-path`.

use findings::Severity;

use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::host::{DiskLayer, HostFacts, PathOnDisk, Role};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "rest-external-path",
    title: "Data lies outside the encrypted mount of the data directory",
    severity: Severity::Medium,
    explanation: "If the disk below the data directory is encrypted, it does not protect tables with DATA DIRECTORY, \
        or undo, redo, temporary and log directories elsewhere. Judged from the devices below each path that variables \
        and data files name.",
    applies: "servers whose data directory lies on an encrypted disk",
    fix: "move the path onto the encrypted mount",
    cost: "a restart; reads and writes all data once",
    standards: &["PCI DSS 4.0.1 3.5.1.2", "NIST SP 800-53r5 SC-28"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let host = cx.facts.host()?;
    let Some(data) = host.paths.iter().find(|path| path.role == Role::Data) else { return Err(no_data_directory()) };
    let DiskLayer::Encrypted { by } = &data.layer else {
        return Ok(CheckResults::not_applicable(
            "the data directory itself is not on an encrypted disk, see host-disk-unencrypted",
        ));
    };
    let mut results = CheckResults::new();
    for path in outside_datadir(host) {
        match &path.layer {
            DiskLayer::Plain => results.push(failure(path, by)),
            DiskLayer::Unknown { why } => results.push_unknown(&path.path, unseen(path, why)),
            DiskLayer::Encrypted { .. } | DiskLayer::Memory => {}
        }
    }
    results.pass_if_clean(
        CheckResult::pass(
            "server",
            EvidenceGrade::Bytes,
            format!("all {} paths lie on encrypted disks or in memory", host.paths.len()),
        )
        .evidence(Evidence::Host { source: data.path.clone(), observation: by.clone() }),
    );
    Ok(results)
}

/// Keys have their own checks.
fn outside_datadir(host: &HostFacts) -> impl Iterator<Item = &PathOnDisk> {
    host.paths.iter().filter(|path| !matches!(path.role, Role::Data | Role::Key))
}

fn no_data_directory() -> Unavailable {
    Unavailable {
        what: "the disk below the data directory".to_owned(),
        why: "it was not found on this host".to_owned(),
        remedy: access::ON_HOST.to_owned(),
    }
}

fn unseen(path: &PathOnDisk, why: &str) -> Unavailable {
    Unavailable {
        what: format!("the disk below {} ({})", path.path, path.via),
        why: why.to_owned(),
        remedy: "attest the volume in a waiver".to_owned(),
    }
}

fn failure(path: &PathOnDisk, by: &str) -> CheckResult {
    let message = format!(
        "{} ({}, {}) lies on a plain disk; the data directory is protected by {by}",
        path.path,
        path.role.as_str(),
        path.via
    );
    let observation = format!("mounted at {} on {}: no encryption", path.mount_point, path.chain.join(" on "));
    CheckResult::fail(&path.path, EvidenceGrade::Bytes, message)
        .evidence(Evidence::Host { source: path.path.clone(), observation })
        .fix(format!("move {} onto the encrypted mount and set {} to the new place", path.path, path.via))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    #[test]
    fn a_plain_path_beside_an_encrypted_one_fails() {
        let made = || mysql().encrypted_disk();
        assert_eq!(made().path("/tmp", Role::Temporary, DiskLayer::Plain).judge(&CHECK)[0].artefact, "/tmp");
        assert_eq!(made().path("/tmp", Role::Temporary, DiskLayer::Plain).statuses(&CHECK), [Fail]);
        assert_eq!(made().path("/tmp", Role::Temporary, DiskLayer::Memory).statuses(&CHECK), [Pass]);
        let unknown = DiskLayer::Unknown { why: "virtual disk".to_owned() };
        assert_eq!(made().path("/tmp", Role::Temporary, unknown).statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn a_plain_data_directory_is_another_checks() {
        assert_eq!(mysql().disk(DiskLayer::Plain).statuses(&CHECK), [NotApplicable]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
