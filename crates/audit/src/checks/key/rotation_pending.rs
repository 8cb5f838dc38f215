//! `key-rotation-pending`.

use findings::{Remedy, Severity};
use server::dialect::variable;
use server::switch::is_on;

use super::is_mariadb;
use crate::artefact::byte_evidence;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_variable;
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::files::{Content, FileFact};
use crate::facts::host::Role;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "key-rotation-pending",
    title: "Background re-encryption is not finished",
    severity: Severity::Medium,
    explanation: "MariaDB re-encrypts page by page in the background. Until it is done, a tablespace holds pages of \
        an older key version, or clear ones. Judged from MIN_KEY_VERSION, CURRENT_KEY_VERSION and \
        ROTATING_OR_FLUSHING, and from the key versions on the pages.",
    applies: "MariaDB 10.1 and newer with encrypted tablespaces",
    fix: "wait, or raise innodb_encryption_threads and innodb_encryption_rotation_iops",
    cost: "background reads and writes of the pages that are left",
    standards: &["PCI DSS 4.0.1 3.7.4"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if cx.facts.sql.is_some() && !is_mariadb(cx) {
        return Ok(CheckResults::not_applicable("MySQL re-wraps keys at once; see key-wrap-lag"));
    }
    let mut results = CheckResults::new();
    let by_pages = by_pages(cx, &mut results);
    let by_rows = match &cx.facts.sql {
        Some(sql) => by_rows(sql, &mut results)?,
        // Without a server, only pages show key versions: if no file was read, the result is UNKNOWN.
        None if by_pages == 0 && !cx.facts.files()?.data_seen() => {
            cx.facts.sql()?;
            0
        }
        None => 0,
    };
    let seen = by_rows.max(by_pages);
    if seen == 0 && results.is_empty() {
        return Ok(CheckResults::not_applicable("no tablespace is encrypted with a key of MariaDB"));
    }
    let grade = if by_rows > 0 { EvidenceGrade::Reported } else { EvidenceGrade::Bytes };
    let description = format!("{seen} tablespaces are each on one key version");
    let evidence = match &cx.facts.sql {
        Some(sql) if by_rows > 0 => vec![sql.evidence("tablespaces", &*description)],
        _ => cx
            .facts
            .files
            .iter()
            .flat_map(|f| &f.files)
            .filter(|f| is_space(f))
            .take(3)
            .flat_map(byte_evidence)
            .collect(),
    };
    let pass = CheckResult::pass("server", grade, description);
    results.pass_if_clean(evidence.into_iter().fold(pass, CheckResult::evidence));
    Ok(results)
}

const fn is_space(file: &FileFact) -> bool {
    matches!(file.content, Content::Tablespace { .. })
}

/// Judges the server's rows; returns the number of encrypted tablespaces.
fn by_rows(sql: &crate::facts::sql::SqlFacts, results: &mut CheckResults) -> Observed<usize> {
    let rows = sql.rows("tablespaces")?;
    let encrypted: Vec<_> = rows.iter().filter(|row| matches!(row.text("encrypted"), "Y" | "P")).collect();
    for row in &encrypted {
        let (oldest, newest) = (row.number("min_key_version"), row.number("current_key_version"));
        let behind = matches!((oldest, newest), (Some(oldest), Some(newest)) if oldest < newest);
        let rotating = is_on(row.text("rotating")) || row.number("rotating").is_some_and(|n| n > 0);
        if !behind && !rotating {
            continue;
        }
        let name = row.text("name");
        let number = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
        let state = format!("oldest key version {}, newest {}, rotating: {rotating}", number(oldest), number(newest));
        results.push(
            CheckResult::fail(name, EvidenceGrade::Reported, format!("{name} is still being re-encrypted: {state}"))
                .evidence(sql.evidence("tablespaces", format!("{name}: {state}")))
                .fix(threads(sql)),
        );
    }
    Ok(encrypted.len())
}

fn threads(sql: &crate::facts::sql::SqlFacts) -> Remedy {
    if sql.variable_or_none(variable::INNODB_ENCRYPTION_THREADS) == Some("0") {
        set_variable(sql, variable::INNODB_ENCRYPTION_THREADS, "4").note("none is running, so that it never ends")
    } else {
        "wait, or SET GLOBAL innodb_encryption_rotation_iops = 1000".into()
    }
}

/// Judges pages with several key versions; returns the number of tablespaces with encrypted pages.
fn by_pages(cx: &Context<'_>, results: &mut CheckResults) -> usize {
    let mut seen = 0_usize;
    for file in cx.facts.files.iter().flat_map(|files| &files.files).filter(|file| file.role != Role::Backup) {
        let Content::Tablespace { scan } = &file.content else { continue };
        let versions: Vec<_> = scan.key_versions.iter().filter(|pages| pages.version.0 > 0).collect();
        seen = seen.saturating_add(usize::from(!versions.is_empty()));
        if versions.len() > 1 {
            let list: Vec<String> =
                versions.iter().map(|pages| format!("{} pages of version {}", pages.pages, pages.version.0)).collect();
            let message = format!("{} has pages of several key versions: {}", file.name, list.join(", "));
            let result = CheckResult::fail(&file.name, EvidenceGrade::Bytes, message);
            results.push(byte_evidence(file).into_iter().fold(result, CheckResult::evidence));
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn with(encrypted: &str, oldest: &str, rotating: &str) -> FactsBuilder {
        let columns =
            ["space_id", "name", "type", "encrypted", "key_id", "current_key_version", "min_key_version", "rotating"];
        mariadb().answer("tablespaces", &columns, &[&["5", "demo/t", "Single", encrypted, "1", "2", oldest, rotating]])
    }

    #[test]
    fn old_versions_and_running_rotations_fail() {
        assert_eq!(with("Y", "1", "0").statuses(&CHECK), [Fail]);
        assert_eq!(with("P", "0", "0").statuses(&CHECK), [Fail]);
        assert_eq!(with("Y", "2", "1").statuses(&CHECK), [Fail]);
        assert_eq!(with("Y", "2", "0").statuses(&CHECK), [Pass]);
    }

    #[test]
    fn clear_tables_have_no_key_to_rotate() {
        assert_eq!(with("N", "0", "0").statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [NotApplicable]);
        assert_eq!(mariadb().refused("tablespaces", 1227).statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
