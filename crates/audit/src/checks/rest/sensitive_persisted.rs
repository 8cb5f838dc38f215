//! `rest-sensitive-persisted`.

use findings::Severity;
use server::Capability;

use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::files::{Content, FileFact};
use crate::facts::host::DiskLayer;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "rest-sensitive-persisted",
    title: "mysqld-auto.cnf keeps sensitive variables in clear",
    severity: Severity::Medium,
    explanation: "SET PERSIST of a sensitive variable writes its value to mysqld-auto.cnf, in clear unless a keyring \
        component holds the key and persist_sensitive_variables_in_plaintext (default ON) is off. Judged from the \
        file.",
    applies: "MySQL 8.0.29 and newer",
    fix: "persist_sensitive_variables_in_plaintext=OFF with a keyring component, then persist the variable again",
    cost: "a restart",
    standards: &["PCI DSS 4.0.1 8.3.2", "NIST SP 800-53r5 IA-5"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Sensitive settings, in the file of persisted variables"),
    closed_by: ClosedBy::Disk,
    locked_out: None,
    judge,
};

const NAME: &str = "persist_sensitive_variables_in_plaintext";

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if super::mariadb(cx) == Some(true)
        || cx.facts.sql.as_ref().is_some_and(|sql| !sql.can(Capability::SensitiveVariables))
    {
        return Ok(CheckResults::not_applicable("only MySQL 8.0.29 and newer treat variables as sensitive"));
    }
    let files = cx.facts.files.iter().flat_map(|files| &files.files);
    let persisted: Vec<(&FileFact, &Vec<String>)> = files
        .filter_map(|file| match &file.content {
            Content::PersistedVariables { sensitive, .. } => Some((file, sensitive)),
            _ => None,
        })
        .collect();
    let mut results = CheckResults::new();
    persisted
        .iter()
        .filter(|(_, sensitive)| !sensitive.is_empty())
        .for_each(|(file, sensitive)| results.push(result(cx, file, sensitive)));
    if !results.is_empty() {
        return Ok(results);
    }
    let closed = closed_file(cx);
    if super::data_seen(cx) && closed.is_none() {
        let message = if persisted.is_empty() {
            "there is no mysqld-auto.cnf"
        } else {
            "mysqld-auto.cnf keeps no sensitive value in clear"
        };
        let evidence = persisted.iter().map(|(file, _)| seen(file, "no sensitive variable in clear"));
        return Ok(CheckResults::one(
            evidence.fold(CheckResult::pass("server", EvidenceGrade::Bytes, message), CheckResult::evidence),
        ));
    }
    if let (None, Some((file, why))) = (&cx.facts.sql, closed) {
        return Err(Unavailable { what: file.path.clone(), why: why.to_owned(), remedy: access::reading(&file.path) });
    }
    let sql = cx.facts.sql()?;
    if sql.variable_on(NAME)? {
        return Err(Unavailable {
            what: "mysqld-auto.cnf".to_owned(),
            why: format!("{NAME} is ON, and only the file shows whether it holds a sensitive value"),
            remedy: access::reading(&format!("{}/mysqld-auto.cnf", sql.identity.datadir.trim_end_matches('/'))),
        });
    }
    Ok(CheckResults::one(
        CheckResult::pass("server", EvidenceGrade::Declared, format!("{NAME} is OFF"))
            .evidence(sql.variable_evidence(NAME)),
    ))
}

/// A `mysqld-auto.cnf` that exists but could not be read.
fn closed_file<'f>(cx: &Context<'f>) -> Option<(&'f FileFact, &'f str)> {
    let files = cx.facts.files.iter().flat_map(|files| &files.files);
    files.filter(|file| file.base_name() == keyring::PERSISTED_VARIABLES).find_map(|file| match &file.content {
        Content::Unreadable { why } => Some((file, why.as_str())),
        _ => None,
    })
}

fn result(cx: &Context<'_>, file: &FileFact, sensitive: &[String]) -> CheckResult {
    let names = sensitive.join(", ");
    let result = match cx.facts.host.as_ref().and_then(|host| host.layer_of(&file.path)) {
        Some(DiskLayer::Encrypted { by }) => CheckResult::pass(
            &file.name,
            EvidenceGrade::Bytes,
            format!("{names} in clear, covered by the disk only ({by})"),
        )
        .severity(Severity::Info),
        _ => CheckResult::fail(&file.name, EvidenceGrade::Bytes, format!("{} keeps {names} in clear", file.path)),
    };
    result.evidence(seen(file, &format!("{names} in clear; mode {:04o}", file.mode & 0o7777)))
}

fn seen(file: &FileFact, observation: &str) -> Evidence {
    Evidence::Host { source: file.path.clone(), observation: observation.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{mariadb, mysql};

    fn persisted(sensitive: &[&str]) -> Content {
        let sensitive = sensitive.iter().map(|name| (*name).to_owned()).collect();
        Content::PersistedVariables { sensitive, names: Vec::new() }
    }

    #[test]
    fn the_file_decides() {
        assert_eq!(mysql().file("mysqld-auto.cnf", persisted(&["report_password"])).statuses(&CHECK), [Fail]);
        assert_eq!(mysql().file("mysqld-auto.cnf", persisted(&[])).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_closed_file_is_not_an_absent_one() {
        let closed = || Content::Unreadable { why: "denied".to_owned() };
        assert_eq!(mysql().variable(NAME, "ON").file("mysqld-auto.cnf", closed()).statuses(&CHECK), [Unknown]);
        let alone = crate::testing::FactsBuilder::nothing().file("mysqld-auto.cnf", closed());
        assert_eq!(alone.statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn without_the_file_the_variable() {
        assert_eq!(mysql().variable(NAME, "ON").statuses(&CHECK), [Unknown]);
        assert_eq!(mysql().variable(NAME, "OFF").statuses(&CHECK), [Pass]);
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
    }
}
