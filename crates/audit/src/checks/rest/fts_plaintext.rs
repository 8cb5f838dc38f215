//! `rest-fts-plaintext`.

use findings::{Remedy, Severity};
use innodb::server_file::full_text_table_id;
use server::Capability;

use super::{ArtefactPolicy, all_seen, judge_all, table_plaintext, unless_hidden, unwalked};
use crate::artefact::{Artefact, Kind};
use crate::check::{Check, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::sql::SqlFacts;

pub const CHECK: Check = Check {
    id: "rest-fts-plaintext",
    title: "Auxiliary tables of full-text indexes are not encrypted",
    severity: Severity::Medium,
    explanation: "A FULLTEXT index stores every word of the column in separate tablespaces (fts_*), which can stay \
        clear when their table is encrypted. Judged from the server's list and from page 0 and pages of their files.",
    applies: "every server with a full-text index on InnoDB",
    fix: "rebuild the index after its table is encrypted",
    cost: "rebuilds the index and blocks the table's writes meanwhile",
    standards: &["PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Data(Attacker::StolenDisk, "The words of full-text indexes"),
    closed_by: ClosedBy::Encrypt,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let spaces = cx.artefacts.with_kind(Kind::Table).filter(|space| is_auxiliary(space));
    let cannot = cx.facts.sql.as_ref().filter(|sql| {
        let version = &sql.identity.version;
        version.mysql_can(Capability::EncryptTables) && !version.can(Capability::EncryptFullText)
    });
    let fix = |space: &Artefact<'_>| cannot.map_or_else(|| table_plaintext::fix(cx, space), never);
    let terms = ArtefactPolicy { noun: "full-text tablespaces", severity: &|_| None, fix: &fix };
    let results = unless_hidden(cx, judge_all(cx, spaces, &terms));
    if results.is_empty() && !all_seen(cx) {
        let listed = cx.facts.sql().and_then(SqlFacts::tablespaces);
        listed.map_err(|unseen| unwalked(cx).unwrap_or(unseen))?;
    }
    if results.is_empty() {
        return Ok(CheckResults::not_applicable("this server has no full-text index on InnoDB"));
    }
    Ok(results)
}

/// These tables stay clear whether the table is created encrypted, altered, or indexed later: seen on MySQL 5.7.22.
fn never(sql: &SqlFacts) -> Remedy {
    Remedy::advice(format!(
        "{} encrypts no full-text index, whatever the statement: drop the index, put the data directory onto an \
            encrypted disk, or upgrade to MySQL 8.0",
        sql.identity.version
    ))
}

/// Whether it is a table of a full-text index.
pub(super) fn is_auxiliary(space: &Artefact<'_>) -> bool {
    space.table().is_some_and(|(_, name)| full_text_table_id(&name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, TABLESPACE_COLUMNS, mysql};

    #[test]
    fn an_auxiliary_table_is_listed_once() {
        let rows: &[&[&str]] =
            &[&["9", "demo/fts_0000000000000437_being_deleted", "Single", "N"], &["8", "demo/t", "Single", "N"]];
        let made = mysql().answer("tablespaces", TABLESPACE_COLUMNS, rows);
        let named = |check| made.judge(check).into_iter().map(|finding| finding.artefact).collect::<Vec<_>>();
        assert_eq!(named(&CHECK), ["demo/fts_0000000000000437_being_deleted"]);
        assert_eq!(named(&table_plaintext::CHECK), ["demo/t"]);
    }

    #[test]
    fn a_server_that_cannot_says_so_and_names_what_helps() {
        let rows: &[&[&str]] = &[&["9", "demo/FTS_0000000000000037_DELETED", "Single", "N"]];
        let made = FactsBuilder::server("5.7.22", "MySQL Community Server (GPL)").answer(
            "tablespaces",
            TABLESPACE_COLUMNS,
            rows,
        );
        let fix = made.judge(&CHECK).remove(0).remediation.unwrap();
        assert!(fix.contains("drop the index") && !fix.contains("ALTER TABLE"), "{fix}");
    }

    #[test]
    fn only_auxiliary_tables_count() {
        let rows = |encrypted: &str| {
            let aux = ["9", "demo/fts_0000000000000437_being_deleted", "Single", encrypted];
            mysql().answer("tablespaces", TABLESPACE_COLUMNS, &[&aux, &["8", "demo/fts_notes", "Single", "N"]])
        };
        assert_eq!(rows("N").statuses(&CHECK), [Fail]);
        assert_eq!(rows("Y").statuses(&CHECK), [Pass]);
        assert_eq!(mysql().answer("tablespaces", TABLESPACE_COLUMNS, &[]).statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
