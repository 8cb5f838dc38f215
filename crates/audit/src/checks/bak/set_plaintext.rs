//! `bak-set-plaintext`.

use findings::{Remedy, Severity};
use process::shell_word;

use super::{Part, clear, looked_at, part_of, quote, unseen_root};
use crate::access;
use crate::artefact::{Kind, State};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::files::{Content, FileFacts};
use crate::facts::host::Role;
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "bak-set-plaintext",
    title: "A backup or dump can be read by whoever gets the file",
    severity: Severity::High,
    explanation: "The server's encryption does not cover dumps: SQL text and logical backups are in clear even if the \
        tables are encrypted, and backups are copied to many places. Every file of the given directories, of \
        secure_file_priv and of the data directory is recognised by its content, also inside gzip, zstd, lz4, tar and \
        xbstream. age, OpenPGP, openssl and xbcrypt are recognised as encrypted.",
    applies: "every directory with backups",
    fix: "encrypt it (age -r RECIPIENT -o FILE.age FILE), test that it can be decrypted, then shred -u FILE",
    cost: "time to read and write the file; its size in free space",
    standards: &["PCI DSS 4.0.1 3.5.1", "HIPAA 164.312(a)(2)(iv)", "GDPR 32(1)(a)", "NIST SP 800-53r5 CP-9(8)"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Dumps and backups"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let files = cx.facts.files()?;
    let mut results = CheckResults::new();
    let mut encrypted = Vec::new();
    for artefact in cx.artefacts.with_kind(Kind::Backup) {
        if artefact
            .file
            .is_some_and(|file| file.role == Role::Backup && matches!(file.content, Content::Unreadable { .. }))
        {
            results.push_unknown(&artefact.name, unread(&artefact.name));
            continue;
        }
        if part_of(artefact) != Some(Part::Rows) {
            continue;
        }
        match artefact.state() {
            Some((State::Clear, _)) => results.push(clear(
                cx,
                artefact,
                "can be read without a key",
                fix(artefact.file.map(|f| f.path.as_str())),
            )),
            Some((State::Partly, _)) => results.push(clear(
                cx,
                artefact,
                "can be read in part without a key",
                fix(artefact.file.map(|f| f.path.as_str())),
            )),
            Some((State::Encrypted, _)) => encrypted.push(artefact),
            Some((State::Empty, _)) => {}
            None => results.push_unknown(&artefact.name, unread(&artefact.name)),
        }
    }
    for root in files.unseen_roots().filter(|root| root.role == Role::Backup) {
        results.push_unknown(&root.path, unseen_root(root));
    }
    if encrypted.is_empty() {
        return Ok(if results.is_empty() { none_found(files)? } else { results });
    }
    let pass = CheckResult::pass(
        "server",
        EvidenceGrade::Bytes,
        format!("{} files of backups, none of them readable without a key", encrypted.len()),
    );
    let evidence = encrypted.iter().take(5).flat_map(|artefact| quote(cx, artefact));
    results.pass_if_clean(evidence.fold(pass, CheckResult::evidence));
    Ok(results)
}

fn fix(path: Option<&str>) -> Remedy {
    path.map_or_else(
        || CHECK.fix.into(),
        |path| {
            let (clear, encrypted) = (shell_word(path), shell_word(&format!("{path}.age")));
            Remedy::command(format!("age -r RECIPIENT -o {encrypted} {clear}"))
                .and(Remedy::advice("prove that it opens").then(Remedy::command(format!("shred -u {clear}"))))
        },
    )
}

fn unread(name: &str) -> Unavailable {
    Unavailable {
        what: format!("whether {name} can be read without a key"),
        why: "its bytes could not be read, or its format is not known".to_owned(),
        remedy: access::reading("the file"),
    }
}

fn none_found(files: &FileFacts) -> Observed<CheckResults> {
    let looked = looked_at(files);
    if looked.is_empty() {
        return Err(Unavailable {
            what: "backups and dumps".to_owned(),
            why: "no directory could be read".to_owned(),
            remedy: "name the directories with --backup DIR, as a user who can read them".to_owned(),
        });
    }
    Ok(CheckResults::not_applicable(format!(
        "no backup or dump in {}; name other directories with --backup DIR",
        looked.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{backup, in_set};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    #[test]
    fn readable_dumps_fail_wherever_they_lie() {
        let in_data = FactsBuilder::nothing().file("dump.sql.gz", backup(&["gzip", "sql"], Some(true))).judge(&CHECK);
        assert_eq!(
            (in_data[0].status, in_data[0].artefact.as_str(), in_data[0].grade),
            (Fail, "dump.sql.gz", Some(EvidenceGrade::Bytes))
        );
        let given = in_set(FactsBuilder::nothing(), "full.xbstream", backup(&["xbstream", "innodb"], Some(true)));
        assert_eq!(given.statuses(&CHECK), [Fail]);
    }

    #[test]
    fn encrypted_ones_pass_and_unknown_ones_are_unknown() {
        let age = in_set(FactsBuilder::nothing(), "full.age", backup(&["age"], Some(false)));
        assert_eq!(age.statuses(&CHECK), [Pass]);
        assert_eq!(in_set(age, "blob", backup(&["tar"], None)).statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn an_encrypted_disk_covers_a_dump_with_a_note() {
        use crate::facts::host::DiskLayer;
        let layer = DiskLayer::Encrypted { by: "dm-crypt CRYPT-LUKS2".to_owned() };
        let made = in_set(FactsBuilder::nothing(), "dump.sql", backup(&["sql"], Some(true))).path(
            "/backup",
            Role::Backup,
            layer,
        );
        let found = made.judge(&CHECK);
        assert_eq!((found[0].status, found[0].severity), (Pass, Severity::Info));
    }

    #[test]
    fn nothing_found_is_not_a_pass() {
        assert_eq!(FactsBuilder::nothing().file("ca.pem", Content::Structure).statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
