//! `bak-identity-in-reach`.

use findings::{Remedy, Severity};
use process::shell_word;

use super::history::receipts;
use super::unseen_root;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::backup::BackupReceipt;
use crate::facts::files::{Content, FileFact, FileFacts};
use crate::facts::host::Role;
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "bak-identity-in-reach",
    title: "What decrypts the backups lies beside them, or on the host of the server",
    severity: Severity::Critical,
    explanation: "Whoever has an age identity reads every row of the backups that were encrypted to its recipient. \
        The host that makes backups needs the recipients only, and a copy of the repository must not bring the \
        identity along. Judged from age identities in the directories that were read, compared with the recipients in \
        receipts of `sealant backup`. Keyrings in backups are found by key-in-backup.",
    applies: "directories with age files or repositories of `sealant backup`",
    fix: "move the identity to the machine that restores, shred the copy here, and if others could read it, make a new \
        one: backups made before stay readable with the old one",
    cost: "a new full backup if the identity is replaced",
    standards: &["PCI DSS 4.0.1 3.6.1.2", "NIST SP 800-57pt1r5"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Backups beside the identity that decrypts them"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let files = cx.facts.files()?;
    let encrypted = age_files(files) + receipts(files).count();
    let mut results = CheckResults::new();
    for (file, recipients) in identities(files) {
        let opens = newest_opened(files, recipients);
        if opens.is_some() || (encrypted > 0 && file.role == Role::Backup) {
            results.push(fail(file, recipients, opens));
        }
    }
    if encrypted == 0 && results.is_empty() {
        return Ok(CheckResults::not_applicable(
            "no age file or repository of backups was found; name it with --backup DIR",
        ));
    }
    for root in files.unseen_roots().filter(|root| root.role == Role::Backup) {
        results.push_unknown(&root.path, unseen_root(root));
    }
    let text =
        format!("no age identity beside {encrypted} encrypted files and receipts, or in the other directories read");
    let searched = files.roots.iter().filter(|root| root.error.is_none()).map(|root| Evidence::Host {
        source: root.path.clone(),
        observation: "searched for age identities, none found that opens a backup".to_owned(),
    });
    results
        .pass_if_clean(searched.fold(CheckResult::pass("server", EvidenceGrade::Bytes, text), CheckResult::evidence));
    Ok(results)
}

fn identities(files: &FileFacts) -> impl Iterator<Item = (&FileFact, &[String])> {
    files.files.iter().filter_map(|file| match &file.content {
        Content::AgeIdentity { recipients } => Some((file, recipients.as_slice())),
        _ => None,
    })
}

fn age_files(files: &FileFacts) -> usize {
    let is_age = |file: &&FileFact| match &file.content {
        Content::Backup { backup } => backup.layers.last().is_some_and(|layer| layer == "age"),
        _ => false,
    };
    files.files.iter().filter(is_age).count()
}

/// The newest backup that one of these recipients can decrypt.
fn newest_opened<'a>(files: &'a FileFacts, recipients: &[String]) -> Option<&'a BackupReceipt> {
    let is_for = |receipt: &BackupReceipt| receipt.recipients.iter().any(|recipient| recipients.contains(recipient));
    receipts(files).map(|(_, receipt)| receipt).filter(|receipt| is_for(receipt)).max_by_key(|receipt| receipt.ended)
}

fn fail(file: &FileFact, recipients: &[String], opens: Option<&BackupReceipt>) -> CheckResult {
    let text = match opens {
        Some(receipt) => format!("{} decrypts backup {} of {}", file.path, receipt.number, receipt.host),
        None => format!("{} is an age identity beside encrypted files", file.path),
    };
    let evidence = Evidence::Bytes {
        path: file.path.clone(),
        offset: 0,
        hex: String::new(),
        meaning: format!("age identity of the recipient {}", recipients.join(", ")),
    };
    let shred = Remedy::command(format!("shred -u {}", shell_word(&file.path)));
    CheckResult::fail(&file.path, EvidenceGrade::Bytes, text).evidence(evidence).fix(
        Remedy::advice("copy the identity to the machine that restores, and check there that it opens a backup")
            .then(shred),
    )
}

#[cfg(test)]
mod tests {
    use super::super::history::testing::{hours_ago, receipt, with_receipt};
    use super::super::tests::{backup, in_set};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    fn identity(fingerprint: &str) -> Content {
        Content::AgeIdentity { recipients: vec![fingerprint.to_owned()] }
    }

    #[test]
    fn an_identity_of_a_recipient_fails_wherever_it_lies() {
        let made = || with_receipt(FactsBuilder::nothing(), receipt(7, hours_ago(1)));
        assert_eq!(made().statuses(&CHECK), [Pass]);
        let on_host = made().file("key.txt", identity("0011223344556677")).judge(&CHECK);
        assert_eq!((on_host.len(), on_host[0].status), (1, Fail));
        assert!(on_host[0].message.contains("decrypts backup 7 of db1"), "{}", on_host[0].message);
        assert_eq!(made().file("key.txt", identity("ffff223344556677")).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn beside_age_files_every_identity_fails() {
        let age = || in_set(FactsBuilder::nothing(), "full.age", backup(&["age"], Some(false)));
        assert_eq!(age().statuses(&CHECK), [Pass]);
        assert_eq!(in_set(age(), "key.txt", identity("ffff223344556677")).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn without_encrypted_files_nothing_is_judged() {
        let alone = in_set(FactsBuilder::nothing(), "key.txt", identity("ffff223344556677"));
        assert_eq!(alone.statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
