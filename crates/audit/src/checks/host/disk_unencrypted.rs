//! `host-disk-unencrypted`.

use std::collections::BTreeMap;

use findings::Severity;

use super::observed;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::host::{DiskLayer, HostFacts, LuksDisk, LuksFinding, PathOnDisk};
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "host-disk-unencrypted",
    title: "The disk below a path of the server is not encrypted",
    severity: Severity::High,
    explanation: "The server cannot encrypt table names, logs, temporary files and keys: only an encrypted disk \
        protects them from a thief of the disk. Judged for each path that variables name: the devices below it down to \
        the hardware (dm-crypt by its uuid), ZFS and fscrypt as they report it. The disk of a virtual machine can be \
        encrypted by the host, which the guest cannot see: attest it in a waiver.",
    applies: "Linux",
    fix: "sealant luks plan; or attest the volume in a waiver file",
    cost: "the data is moved once; a restart of the server",
    standards: &["PCI DSS 4.0.1 3.5.1.2", "HIPAA 164.312(a)(2)(iv)", "NIST SP 800-53r5 SC-28(1)", "GDPR 32(1)(a)"],
    exposes: Exposes::Help(
        Attacker::StolenDisk,
        "Whatever the server does not encrypt itself, because the disk below does not",
    ),
    closed_by: ClosedBy::Luks,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let host = cx.facts.host()?;
    let mut results = CheckResults::new();
    let mut paths: BTreeMap<&str, Vec<&PathOnDisk>> = BTreeMap::new();
    host.paths.iter().for_each(|path| paths.entry(&path.path).or_default().push(path));
    for (path, uses) in &paths {
        let Some(first) = uses.first() else { continue };
        match &first.layer {
            DiskLayer::Encrypted { .. } => judge_volume(&mut results, host, path, uses),
            DiskLayer::Memory => {}
            DiskLayer::Unknown { why } => results.push(unknown(path, uses, why)),
            DiskLayer::Plain if host.virtual_machine => {
                results.push(unknown(
                    path,
                    uses,
                    "a virtual machine cannot see whether its disk is encrypted below it",
                ));
            }
            DiskLayer::Plain => results.push(failure(path, uses)),
        }
    }
    if !paths.is_empty() {
        let text = format!("all {} paths lie on encrypted disks or in memory", paths.len());
        let evidence = host.paths.iter().map(|path| observed(&path.path, layer(path)));
        results.pass_if_clean(
            evidence.fold(CheckResult::pass("server", EvidenceGrade::Bytes, text), CheckResult::evidence),
        );
    }
    Ok(results)
}

/// A path on LUKS volumes fails if each of them holds plaintext: an encryption is unfinished, or the cipher is null.
fn judge_volume(results: &mut CheckResults, host: &HostFacts, path: &str, uses: &[&PathOnDisk]) {
    let is_below = |disk: &&LuksDisk| uses.first().is_some_and(|path| path.chain.contains(&disk.kernel_name));
    let below: Vec<&LuksDisk> = host.luks.iter().flatten().filter(is_below).collect();
    let clear: Vec<_> = below.iter().filter_map(|disk| Some((*disk, clear_part(disk)?))).collect();
    let Some((disk, part)) = clear.first().filter(|_| clear.len() == below.len()) else { return };
    let words = format!(
        "{path}, {}, lies on LUKS volume {}, which holds data without encryption: {}",
        uses_of(uses),
        disk.name,
        part.detail
    );
    let evidence = observed(&disk.device, format!("{}: {}", part.code, part.detail));
    results.push(CheckResult::fail(path, EvidenceGrade::Bytes, words).evidence(evidence));
}

/// The finding about plaintext in the volume's header.
fn clear_part(disk: &LuksDisk) -> Option<&LuksFinding> {
    disk.findings.iter().find(|finding| finding.code == "cipher-null")
}

/// `data directory (datadir)` for each use of a path.
fn uses_of(uses: &[&PathOnDisk]) -> String {
    let text: Vec<String> = uses.iter().map(|path| format!("{} ({})", path.role.as_str(), path.via)).collect();
    text.join(", ")
}

fn layer(path: &PathOnDisk) -> String {
    let chain = if path.chain.is_empty() { path.fs_type.clone() } else { path.chain.join(" on ") };
    match &path.layer {
        DiskLayer::Encrypted { by } => format!("{chain}: {by}"),
        DiskLayer::Memory => format!("{}: in memory", path.fs_type),
        DiskLayer::Plain => format!("{} on {chain}, mounted at {}: no encryption", path.fs_type, path.mount_point),
        DiskLayer::Unknown { why } => why.clone(),
    }
}

fn failure(path: &str, uses: &[&PathOnDisk]) -> CheckResult {
    let text = format!("{path}, {}, lies on a disk without encryption", uses_of(uses));
    let evidence = uses.first().map(|first| observed(path, layer(first)));
    evidence.into_iter().fold(CheckResult::fail(path, EvidenceGrade::Bytes, text), CheckResult::evidence)
}

fn unknown(path: &str, uses: &[&PathOnDisk], why: &str) -> CheckResult {
    let unseen = Unavailable {
        what: format!("the disk below {path}, {}", uses_of(uses)),
        why: why.to_owned(),
        remedy: format!("attest the volume's encryption in a waiver for host-disk-unencrypted, artefact {path}"),
    };
    let evidence = uses.first().map(|first| observed(path, layer(first)));
    evidence.into_iter().fold(CheckResult::unknown(path, unseen), CheckResult::evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::host::Role;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::mysql;

    #[test]
    fn each_plain_path_fails_once() {
        let made = mysql().disk(DiskLayer::Plain).path("/var/lib/mysql", Role::Redo, DiskLayer::Plain).path(
            "/tmp",
            Role::Temporary,
            DiskLayer::Memory,
        );
        let found = made.judge(&CHECK);
        assert_eq!((found.len(), found[0].status, found[0].artefact.as_str()), (1, Fail, "/var/lib/mysql"));
        assert!(found[0].message.contains("redo log directory"));
    }

    #[test]
    fn encrypted_disks_and_memory_pass() {
        assert_eq!(mysql().encrypted_disk().path("/tmp", Role::Temporary, DiskLayer::Memory).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_volume_with_clear_parts_is_no_encrypted_disk() {
        let disk = |name: &str, codes: &[&str]| LuksDisk {
            kernel_name: name.to_owned(),
            name: "data".to_owned(),
            device: "/dev/sda".to_owned(),
            findings: codes
                .iter()
                .map(|code| LuksFinding {
                    code: (*code).to_owned(),
                    severity: "critical".to_owned(),
                    detail: "segment 1 is not encrypted".to_owned(),
                })
                .collect(),
            unseen: None,
        };
        let on = |disks: Vec<LuksDisk>| {
            mysql().encrypted_disk().host(|host| {
                let chain: Vec<String> = disks.iter().map(|disk| disk.kernel_name.clone()).collect();
                host.paths.iter_mut().for_each(|path| path.chain.clone_from(&chain));
                host.luks = Some(disks);
            })
        };
        let found = on(vec![disk("dm-0", &["cipher-null", "reencrypt-unfinished"])]).judge(&CHECK);
        assert_eq!((found.len(), found[0].status), (1, Fail));
        assert!(found[0].message.contains("LUKS volume data, which holds data without encryption: segment 1"));
        assert_eq!(on(vec![disk("dm-0", &["cipher-cbc"])]).statuses(&CHECK), [Pass]);
        // Plaintext in the upper volume is encrypted by the lower one.
        assert_eq!(on(vec![disk("dm-1", &["cipher-null"]), disk("dm-0", &[])]).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn virtual_disks_need_an_attestation() {
        let found = mysql().disk(DiskLayer::Plain).host(|host| host.virtual_machine = true).judge(&CHECK);
        assert_eq!(found[0].status, Unknown);
        assert!(found[0].remediation.as_ref().unwrap().contains("waiver"));
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
