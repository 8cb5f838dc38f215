//! `rest-export-key-file`.

use findings::{Remedy, Severity};
use innodb::file_suffix;
use process::shell_word;
use server::dialect::encryption::MYSQL_ENCRYPTED;
use server::quote;

use super::data_seen;
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::files::{Content, FileFact, FileFacts, Root};
use crate::facts::host::Role;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "rest-export-key-file",
    title: "A .cfp file exposes the key of an encrypted table",
    severity: Severity::Critical,
    explanation: "FLUSH TABLES … FOR EXPORT writes TABLE.cfp beside an encrypted tablespace. It holds the \
        tablespace's key, wrapped by a transfer key that is in the same file in clear. Whoever has the file can open \
        the table without the keyring. UNLOCK TABLES removes the file; copies and crashes leave it behind. Judged by \
        content, below the data directory and every directory given to the audit.",
    applies: "MySQL 5.7.11 and newer",
    fix: "shred the file and give that table a new key",
    cost: "the new key copies the table and blocks its writes meanwhile",
    standards: &["PCI DSS 4.0.1 3.6.1.2", "PCI DSS 4.0.1 3.7.3"],
    exposes: Exposes::Data(Attacker::StolenDisk, "The key of an exported table, next to the table"),
    closed_by: ClosedBy::Disk,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let files = cx.facts.files()?;
    let mut results = CheckResults::new();
    files
        .files
        .iter()
        .filter(|file| matches!(file.content, Content::ExportKey))
        .for_each(|file| results.push(failure(file)));
    for file in files.files.iter().filter(|file| file_suffix::has(file.base_name(), file_suffix::EXPORT_KEY)) {
        if let Content::Unreadable { why } = &file.content {
            results.push_unknown(&file.name, unreadable(file, why));
        }
    }
    files
        .unseen_roots()
        .filter(|root| matches!(root.role, Role::Data | Role::Backup))
        .for_each(|root| results.push_unknown(&root.path, root_unseen(root)));
    if data_seen(cx) {
        results.pass_if_clean(pass(files));
    }
    Ok(results)
}

fn failure(file: &FileFact) -> CheckResult {
    let (schema, table) = file_suffix::strip(&file.name, file_suffix::EXPORT_KEY)
        .unwrap_or(&file.name)
        .rsplit_once('/')
        .unwrap_or(("schema", "table"));
    let schema = schema.rsplit('/').next().unwrap_or(schema);
    let quoted = quote::table(schema, table);
    CheckResult::fail(
        &file.name,
        EvidenceGrade::Bytes,
        format!("{} holds the transfer key of {schema}.{table} in clear", file.path),
    )
    .evidence(Evidence::Bytes {
        path: file.path.clone(),
        offset: 0,
        hex: "00000020".to_owned(),
        meaning: "length of the transfer key, which follows in clear".to_owned(),
    })
    .fix(
        Remedy::advice(format!("UNLOCK TABLES in the session that exports, or shred -u {}", shell_word(&file.path)))
            .then("a new key")
            .and(Remedy::statement(format!("ALTER TABLE {quoted} {MYSQL_ENCRYPTED}, FORCE, ALGORITHM = COPY"))),
    )
}

fn unreadable(file: &FileFact, why: &str) -> Unavailable {
    Unavailable { what: file.path.clone(), why: why.to_owned(), remedy: access::reading(&file.path) }
}

fn root_unseen(root: &Root) -> Unavailable {
    let why = root.error.clone().unwrap_or_default();
    Unavailable { what: format!("files below {}", root.path), why, remedy: access::reading(&root.path) }
}

fn pass(files: &FileFacts) -> CheckResult {
    let message = format!("none of {} files is an export key", files.files.len());
    let walked = files.roots.iter().filter(|root| root.error.is_none());
    let evidence = walked.map(|root| Evidence::Host { source: root.path.clone(), observation: "walked".to_owned() });
    evidence.fold(CheckResult::pass("server", EvidenceGrade::Bytes, message), CheckResult::evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, tablespace};

    #[test]
    fn each_key_fails_by_file() {
        let found = FactsBuilder::nothing().file("demo/enc.cfp", Content::ExportKey).judge(&CHECK);
        assert_eq!(
            (found[0].status, found[0].severity, found[0].artefact.as_str()),
            (Fail, Severity::Critical, "demo/enc.cfp")
        );
        assert!(found[0].remediation.as_ref().unwrap().contains("ALTER TABLE `demo`.`enc` ENCRYPTION='Y'"));
    }

    #[test]
    fn none_passes_and_what_was_not_read_is_unknown() {
        assert_eq!(FactsBuilder::nothing().file("demo/t.ibd", tablespace("plain", 0, 1)).statuses(&CHECK), [Pass]);
        assert_eq!(
            FactsBuilder::nothing()
                .file("demo/t.cfp", Content::Unreadable { why: "denied".to_owned() })
                .statuses(&CHECK),
            [Unknown]
        );
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
