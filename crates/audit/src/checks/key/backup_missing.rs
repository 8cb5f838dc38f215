//! `key-backup-missing`.

use super::{can_encrypt, keyring, live_stores, wrapped};
use crate::check::{Check, Context, Verdict};
use crate::facts::{Seen, Unseen};
use crate::finding::Severity;

pub(crate) const CHECK: Check = Check {
    id: "key-backup-missing",
    title: "No copy of the current keys is proven",
    severity: Severity::Critical,
    explanation: "When the keys are lost, everything encrypted with them is, backups included. No server knows whether a \
        copy exists, and no file on this host can prove one that must be elsewhere: the answer is UNKNOWN until somebody \
        attests it in a waiver, whose expiry date makes them look again.",
    applies: "servers with encrypted data",
    fix: "copy the keys off this host, try the copy on a restored backup, and attest it in a waiver",
    cost: "none",
    standards: &["PCI DSS 4.0.1 3.7.3", "NIST SP 800-53r5 CP-9", "GDPR 32(1)(c)"],
    judge,
};

fn judge(cx: &Context<'_>) -> Seen<Verdict> {
    let keys_in_use = live_stores(cx).any(|(_, store)| !store.entries.is_empty()) || !wrapped(cx, true).is_empty();
    let mut what = "a copy of the keys".to_owned();
    if let Some(sql) = cx.facts.sql.as_ref().filter(|_| !keys_in_use) {
        if !can_encrypt(sql) {
            return Ok(Verdict::not_applicable(format!("{} has no encryption at rest", sql.identity.version)));
        }
        match keyring(sql)? {
            None => return Ok(Verdict::not_applicable("no key store is loaded")),
            Some(keyring) => what = format!("a copy of the keys of {}", keyring.name),
        }
    }
    Err(Unseen {
        what,
        why: "no proof of one is recorded".to_owned(),
        remedy:
            "copy the keys off this host after each rotation, open a restored backup with the copy, and attest it: a \
            [[waiver]] with check = \"key-backup-missing\", reason, approver and expires"
                .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{json, with_plugins};
    use super::*;
    use crate::finding::Status::{NotApplicable, Unknown};
    use crate::testing::{Made, mariadb};

    #[test]
    fn it_is_never_proven_from_here() {
        let found = Made::nothing().file("component_keyring_file", json(&[1])).judge(&CHECK);
        assert_eq!(found[0].status, Unknown);
        assert!(found[0].remediation.as_ref().unwrap().contains("[[waiver]]"));
        let made = with_plugins(mariadb(), &[["aws_key_management", "ENCRYPTION"]]);
        assert_eq!(made.statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn without_keys_there_is_nothing_to_copy() {
        assert_eq!(with_plugins(mariadb(), &[]).statuses(&CHECK), [NotApplicable]);
    }
}
