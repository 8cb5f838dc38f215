//! `key-binlog-age`.

use findings::{Remedy, Severity};
use innodb::binlog::BinlogEncryption;
use keyring::KeyName;
use server::dialect::statement::ROTATE_BINLOG_KEY;
use server::dialect::variable;
use server::switch::is_on;

use super::{is_mariadb, known_keys};
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::files::Content;
use crate::facts::host::Role;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "key-binlog-age",
    title: "The binary log's master key was never rotated",
    severity: Severity::Low,
    explanation: "Keys of binary and relay logs are wrapped by a separate master key, which ALTER INSTANCE ROTATE \
        INNODB MASTER KEY does not rotate. Its number is in its name, MySQLReplicationKey_UUID_N, in the keyring and \
        in the header of each encrypted log: N = 1 is the first.",
    applies: "MySQL 8.0.14 and newer with binlog_encryption",
    fix: ROTATE_BINLOG_KEY,
    cost: "seconds; rewrites the headers of the encrypted logs; back up the keyring before and after",
    standards: &["PCI DSS 4.0.1 3.7.4"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Rotate,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if is_mariadb(cx) {
        return Ok(CheckResults::not_applicable("MariaDB encrypts binary logs with key 1 of its plug-in"));
    }
    let newest = in_headers(cx).into_iter().chain(in_keyring(cx)).max_by_key(|(number, _)| *number);
    let Some((number, evidence)) = newest else { return no_key(cx) };
    let result = if number > 1 {
        CheckResult::pass(
            "binary log master key",
            grade(&evidence),
            format!("the binary log's master key is number {number}"),
        )
    } else if let Some(sql) = &cx.facts.sql
        && sql.variable_or_none("binlog_rotate_encryption_master_key_at_startup").is_some_and(is_on)
    {
        CheckResult::pass(
            "binary log master key",
            EvidenceGrade::Declared,
            "rotated at the next start, as at every start",
        )
        .evidence(sql.variable_evidence("binlog_rotate_encryption_master_key_at_startup"))
    } else {
        CheckResult::fail("binary log master key", grade(&evidence), "the binary log's master key is still the first")
            .fix(Remedy::statement(CHECK.fix))
    };
    Ok(CheckResults::one(result.evidence(evidence)))
}

const fn grade(evidence: &Evidence) -> EvidenceGrade {
    if matches!(evidence, Evidence::Query { .. }) { EvidenceGrade::Reported } else { EvidenceGrade::Bytes }
}

/// The newest key named in a header.
fn in_headers(cx: &Context<'_>) -> Option<(u32, Evidence)> {
    let files = cx.facts.files.iter().flat_map(|files| &files.files).filter(|file| file.role != Role::Backup);
    let named = files.filter_map(|file| match &file.content {
        Content::BinaryLog { log, .. } => match &log.encryption {
            BinlogEncryption::MySql { key_id: Some(id), .. } => match KeyName::parse(id) {
                KeyName::Replication { number, .. } => Some((number, file, id)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let (number, file, id) = named.max_by_key(|(number, ..)| *number)?;
    let meaning = format!("header names {id}");
    Some((number, Evidence::Bytes { path: file.path.clone(), offset: 5, hex: String::new(), meaning }))
}

/// The newest key in the keyring, in a file or in memory.
fn in_keyring(cx: &Context<'_>) -> Option<(u32, Evidence)> {
    let numbers = known_keys(cx).into_iter().filter_map(|name| match name {
        KeyName::Replication { number, .. } => Some(number),
        _ => None,
    });
    let newest = numbers.max()?;
    let message = format!("newest MySQLReplicationKey_… is {newest}");
    let evidence = match super::live_stores(cx).find(|(_, store)| !store.replication_keys.is_empty()) {
        Some((file, _)) => Evidence::Bytes { path: file.path.clone(), offset: 0, hex: String::new(), meaning: message },
        None => cx.facts.sql.as_ref().map(|sql| sql.evidence("keyring_keys", message))?,
    };
    Some((newest, evidence))
}

fn no_key(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    if !sql.variable_or_none(variable::MYSQL_BINARY_LOGS).is_some_and(is_on) {
        return Ok(CheckResults::not_applicable("binary logs are not encrypted"));
    }
    sql.rows("keyring_keys")?;
    Err(Unavailable {
        what: "number of the binary log's master key".to_owned(),
        why: "the keyring lists none, and no header of an encrypted log could be read".to_owned(),
        remedy: access::reading("the binary logs"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::UUID;
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn with_keys(numbers: &[u32]) -> FactsBuilder {
        let names: Vec<String> = numbers.iter().map(|n| format!("MySQLReplicationKey_{UUID}_{n}")).collect();
        let rows: Vec<Vec<&str>> = names.iter().map(|name| vec![name.as_str(), ""]).collect();
        let rows: Vec<&[&str]> = rows.iter().map(Vec::as_slice).collect();
        mysql().variable("binlog_encryption", "ON").answer("keyring_keys", &["key_id", "key_owner"], &rows)
    }

    #[test]
    fn the_first_key_fails_and_a_later_one_passes() {
        assert_eq!(with_keys(&[1]).statuses(&CHECK), [Fail]);
        assert_eq!(with_keys(&[1, 2]).statuses(&CHECK), [Pass]);
        let at_start = with_keys(&[1]).variable("binlog_rotate_encryption_master_key_at_startup", "ON");
        assert_eq!(at_start.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn clear_logs_have_no_key() {
        assert_eq!(mysql().variable("binlog_encryption", "OFF").statuses(&CHECK), [NotApplicable]);
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
        assert_eq!(
            mysql().variable("binlog_encryption", "ON").refused("keyring_keys", 1142).statuses(&CHECK),
            [Unknown]
        );
    }
}
