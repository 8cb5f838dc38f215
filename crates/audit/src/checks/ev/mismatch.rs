//! `ev-mismatch`.

use files::quantity::size;
use findings::Severity;
use server::dialect::encryption::{Encrypts, switches};
use server::dialect::variable;
use server::switch::is_on;

use crate::access;
use crate::artefact::{Artefact, Kind, State};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

mod transport;

pub const CHECK: Check = Check {
    id: "ev-mismatch",
    title: "What the server says is contradicted by bytes or by the wire",
    severity: Severity::High,
    explanation: "The server's tables and variables show what was configured. If bytes on disk or a TLS handshake \
        show otherwise, the stronger evidence decides the other findings. This one shows both sides, because tools \
        that rely on the server's variables are misled. The check compares each tablespace and log that the server \
        calls encrypted with its bytes, each setting with the files it controls, and TLS variables and certificate \
        files with what the listener does.",
    applies: "every server whose files or ports can be seen",
    fix: "see the finding of the artefact itself",
    cost: "see the finding of the artefact itself",
    standards: &["PCI DSS 4.0.1 3.5.1", "NIST SP 800-53r5 CA-7"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    let mut results = CheckResults::new();
    let mut compared = 0_usize;
    for artefact in cx.artefacts.iter().filter(|a| a.reported.is_some() && a.bytes.is_some()) {
        compared = compared.saturating_add(1);
        if artefact.contradicted() {
            results.push(contradicted(cx, artefact));
        }
    }
    compared = compared.saturating_add(compare_switches(cx, sql, &mut results));
    let pairs = transport::compare(cx, sql, &mut results);
    compared = compared.saturating_add(pairs);
    if compared == 0 {
        return Err(nothing_to_compare(cx));
    }
    let grade = if compared == pairs { EvidenceGrade::Wire } else { EvidenceGrade::Bytes };
    let agreeing = cx.artefacts.iter().filter(|a| a.reported.is_some() && a.bytes.is_some());
    let mut evidence: Vec<Evidence> = agreeing.take(2).flat_map(|a| a.evidence(cx.facts)).collect();
    if pairs > 0 {
        evidence.extend(transport::compared(cx));
    }
    let text = format!("{compared} statements of the server agree with its bytes and its TLS");
    results.pass_if_clean(evidence.into_iter().fold(CheckResult::pass("server", grade, text), CheckResult::evidence));
    Ok(results)
}

fn contradicted(cx: &Context<'_>, artefact: &Artefact<'_>) -> CheckResult {
    let bytes = match artefact.bytes {
        Some(State::Partly) => "holds clear pages or blocks",
        _ => "is clear",
    };
    let result = CheckResult::fail(
        &artefact.name,
        EvidenceGrade::Bytes,
        format!("the server calls {} encrypted, and it {bytes}", artefact.name),
    );
    artefact.evidence(cx.facts).into_iter().fold(result, CheckResult::evidence)
}

/// Files whose state the server does not report individually.
const UNREPORTED: &[(Encrypts, &[Kind], &str)] = &[
    (Encrypts::BinaryLogs, &[Kind::BinaryLog, Kind::RelayLog], "binary and relay logs"),
    (Encrypts::AriaTables, &[Kind::AriaTable], "Aria tables"),
    (Encrypts::Undo, &[Kind::Undo], "undo tablespaces"),
];

/// Compares each enabled variable with its files; returns the number of files compared.
fn compare_switches(cx: &Context<'_>, sql: &SqlFacts, results: &mut CheckResults) -> usize {
    let mut compared = 0_usize;
    let named = UNREPORTED
        .iter()
        .flat_map(|(what, kinds, text)| switches(*what).into_iter().map(move |name| (name, *kinds, *text)));
    for (name, kinds, text) in named {
        if !sql.variable_or_none(name).is_some_and(is_on) {
            continue;
        }
        let seen = || cx.artefacts.iter().filter(|a| kinds.contains(&a.kind) && a.bytes.is_some() && !a.is_public());
        // Files that the server itself reports as encrypted are judged individually.
        let clear: Vec<_> = seen().filter(|a| a.bytes == Some(State::Clear) && !a.contradicted()).collect();
        compared = compared.saturating_add(usize::from(seen().next().is_some()));
        if let Some(first) = clear.first() {
            let message = format!(
                "{name} is ON, and {} of {} {text} are clear, such as {}",
                clear.len(),
                seen().count(),
                first.name
            );
            let result = CheckResult::fail(name, EvidenceGrade::Bytes, message).evidence(sql.variable_evidence(name));
            results.push(first.evidence(cx.facts).into_iter().fold(result, CheckResult::evidence));
        }
    }
    compared.saturating_add(temporary_files(cx, sql, results))
}

fn temporary_files(cx: &Context<'_>, sql: &SqlFacts, results: &mut CheckResults) -> usize {
    // It is unknown which variable applies to a file without a name, so the variables count only together.
    let all_on =
        switches(Encrypts::TemporaryFiles).into_iter().filter_map(|name| sql.variable_or_none(name)).all(is_on);
    let promised = all_on && sql.variable_or_none(variable::TEMPORARY_FILES).is_some();
    let Some(files) = cx.facts.files.as_ref().filter(|_| promised) else { return 0 };
    let known: Vec<_> = files.unlinked.iter().filter(|file| file.looks_random.is_some()).collect();
    if let Some(clear) = known.iter().find(|file| file.looks_random == Some(false)) {
        let message = format!("encrypt_tmp_files is ON, and {} (once {}) is clear", clear.path, clear.name);
        results.push(
            CheckResult::fail(variable::TEMPORARY_FILES, EvidenceGrade::Bytes, message)
                .evidence(sql.variable_evidence(variable::TEMPORARY_FILES))
                .evidence(Evidence::Bytes {
                    path: clear.path.clone(),
                    offset: clear.clear_offset.unwrap_or(0),
                    hex: String::new(),
                    meaning: format!("clear sample in {}", size(clear.size_bytes)),
                }),
        );
    }
    usize::from(!known.is_empty())
}

fn nothing_to_compare(cx: &Context<'_>) -> Unavailable {
    let why = |unseen: Result<(), Unavailable>| unseen.err().map(|unseen| unseen.why);
    let files = why(cx.facts.files().map(|_| ()));
    let wire = why(cx.facts.wire().map(|_| ()));
    let reasons: Vec<String> = [files, wire].into_iter().flatten().collect();
    Unavailable {
        what: "bytes and TLS handshakes to compare with what the server says".to_owned(),
        why: if reasons.is_empty() { "nothing that both cover".to_owned() } else { reasons.join("; ") },
        remedy: access::reading("the data directory, over an address that reaches the server"),
    }
}

#[cfg(test)]
mod tests {
    use innodb::binlog::{BinlogEncryption, BinlogHead};
    use innodb::tablespace::TablespaceKind;

    use super::*;
    use crate::facts::files::Content;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql, tablespace_with};

    fn log(encryption: BinlogEncryption) -> Content {
        let log = BinlogHead { encryption, server_version: None, created: None, file_bytes: 1000 };
        Content::BinaryLog { log, events: None }
    }

    #[test]
    fn a_switch_against_old_clear_logs_fails_with_both_sides() {
        let found =
            mariadb().variable("encrypt_binlog", "ON").file("bin.000001", log(BinlogEncryption::Clear)).judge(&CHECK);
        assert_eq!((found[0].status, found[0].artefact.as_str()), (Fail, "encrypt_binlog"));
        assert!(found[0].evidence.len() >= 2);
    }

    #[test]
    fn agreement_passes() {
        let encrypted = log(BinlogEncryption::MySql { version: 1, key_id: None });
        let made = mysql().variable("binlog_encryption", "ON").file("bin.000001", encrypted);
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_temporary_tablespace_without_rows_contradicts_nothing() {
        let made = |rows| {
            let percona = FactsBuilder::server("8.0.27-18", "Percona Server (GPL), Release 18, Revision 24801e21b45");
            let space = tablespace_with("plain", 0, rows, |scan| scan.kind = TablespaceKind::SessionTemporary);
            percona.variable("innodb_temp_tablespace_encrypt", "ON").file("#innodb_temp/temp_1.ibt", space)
        };
        assert_eq!(made(0).statuses(&CHECK), [Pass]);
        assert_eq!(made(2).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn one_side_alone_proves_nothing() {
        assert_eq!(mysql().variable("binlog_encryption", "ON").statuses(&CHECK), [Unknown]);
        assert_eq!(
            FactsBuilder::nothing().file("bin.000001", log(BinlogEncryption::Clear)).statuses(&CHECK),
            [Unknown]
        );
    }
}
