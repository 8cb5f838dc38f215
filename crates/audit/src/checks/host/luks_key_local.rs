//! `host-luks-key-local`.

use findings::Severity;

use super::{observed, servers_host};
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::host::{CrypttabEntry, DiskLayer};
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "host-luks-key-local",
    title: "The key of an encrypted disk lies in clear on the same host",
    severity: Severity::High,
    explanation: "If a key file named in /etc/crypttab is on a disk without encryption, whoever steals the machine \
        can open the encrypted disk. Judged from crypttab and the devices below the key file.",
    applies: "Linux with dm-crypt",
    fix: "unlock with TPM2 (systemd-cryptenroll), Tang (clevis) or a key service, then shred the key file",
    cost: "none; a restart to test that it unlocks",
    standards: &["PCI DSS 4.0.1 3.5.1.3", "PCI DSS 4.0.1 3.6.1.2"],
    exposes: Exposes::Help(Attacker::StolenDisk, "The key of the encrypted disk, in clear on the same host"),
    closed_by: ClosedBy::Luks,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let host = servers_host(cx.facts)?;
    let entries = host.crypttab.as_ref().ok_or_else(|| Unavailable {
        what: "/etc/crypttab".to_owned(),
        why: "it was not read".to_owned(),
        remedy: access::reading("/etc/crypttab"),
    })?;
    if entries.is_empty() {
        return Ok(CheckResults::not_applicable("/etc/crypttab names no disk"));
    }
    let mut results = CheckResults::new();
    for entry in entries {
        match (&entry.key_file, &entry.key_layer) {
            (Some(file), Some(DiskLayer::Plain)) => results.push(failure(entry, file)),
            (Some(file), Some(DiskLayer::Unknown { why })) => results.push_unknown(file, unseen(file, why)),
            (Some(file), None) => results.push_unknown(file, unseen(file, "what it lies on was not found")),
            _ => {}
        }
    }
    let message = format!("none of {} disks in /etc/crypttab has a key file on a plain disk", entries.len());
    results.pass_if_clean(
        CheckResult::pass("server", EvidenceGrade::Bytes, message)
            .evidence(observed("/etc/crypttab", "no key file on a plain disk")),
    );
    Ok(results)
}

fn failure(entry: &CrypttabEntry, file: &str) -> CheckResult {
    CheckResult::fail(
        file,
        EvidenceGrade::Bytes,
        format!("{file}, the key of {}, lies on a disk without encryption", entry.name),
    )
    .evidence(observed("/etc/crypttab", format!("{} … {file}", entry.name)))
}

fn unseen(file: &str, why: &str) -> Unavailable {
    Unavailable {
        what: format!("the disk below {file}"),
        why: why.to_owned(),
        remedy: "attest the volume in a waiver".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    fn with(key_layer: Option<DiskLayer>) -> FactsBuilder {
        let key_file = key_layer.as_ref().map(|_| "/boot/key".to_owned());
        mysql().host(|host| host.crypttab = Some(vec![CrypttabEntry { name: "data".to_owned(), key_file, key_layer }]))
    }

    #[test]
    fn by_the_disk_below_the_key() {
        assert_eq!(with(Some(DiskLayer::Plain)).judge(&CHECK)[0].artefact, "/boot/key");
        assert_eq!(with(Some(DiskLayer::Plain)).statuses(&CHECK), [Fail]);
        assert_eq!(with(Some(DiskLayer::Encrypted { by: "x".to_owned() })).statuses(&CHECK), [Pass]);
        assert_eq!(with(None).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn no_crypttab_is_not_applicable_and_an_unread_one_unknown() {
        assert_eq!(mysql().host(|host| host.crypttab = Some(Vec::new())).statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().host(|_| ()).statuses(&CHECK), [Unknown]);
    }
}
