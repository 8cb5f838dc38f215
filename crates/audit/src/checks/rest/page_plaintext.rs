//! `rest-page-plaintext`.

use findings::{Remedy, Severity};
use server::dialect::encryption::MYSQL_ENCRYPTED;
use server::dialect::variable;
use server::quote;

use super::{all_seen, covered_by_disk, listed, unless_hidden, unread, unwalked, with_evidence};
use crate::access;
use crate::artefact::{Artefact, DeclaredEncryption, Kind, State};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_variable;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub const CHECK: Check = Check {
    id: "rest-page-plaintext",
    title: "Encrypted tablespaces still hold pages in clear",
    severity: Severity::High,
    explanation: "The server reports a tablespace as encrypted as soon as the conversion is requested. MySQL encrypts \
        undo pages only when they are written again, MariaDB converts in the background, and a conversion can be \
        interrupted; the server's tables show Y all the time. Only the pages show the state: their type on MySQL (15, \
        16 and 17 are encrypted), their key version on MariaDB. Pages without rows, such as page 0, are never \
        encrypted and do not count.",
    applies: "every server with an encrypted tablespace",
    fix: "wait for the conversion or force the pages to be written again, then scan again with --deep",
    cost: "undo tablespaces: only a spare undo tablespace. Tables: a rebuild, which copies the table",
    standards: &[
        "PCI DSS 4.0.1 3.5.1",
        "HIPAA 164.312(a)(2)(iv)",
        "GDPR 32(1)(a)",
        "NIST SP 800-53r5 SC-28(1)",
        "CIS MySQL 4.10E",
        "CIS MariaDB 4.9",
        "DISA STIG MYS8-00-007200",
    ],
    exposes: Exposes::Data(Attacker::StolenDisk, "Clear pages inside tablespaces that count as encrypted"),
    closed_by: ClosedBy::Encrypt,
    locked_out: None,
    judge,
};

const KINDS: [Kind; 5] =
    [Kind::Table, Kind::GeneralTablespace, Kind::MysqlTablespace, Kind::Undo, Kind::SystemTablespace];

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let spaces: Vec<&Artefact<'_>> = KINDS.iter().flat_map(|kind| cx.artefacts.with_kind(*kind)).collect();
    let meant: Vec<&Artefact<'_>> = spaces.iter().copied().filter(|space| space.meant_to_be_encrypted()).collect();
    if meant.is_empty() {
        return none_encrypted(cx, &spaces);
    }
    let mut results = CheckResults::new();
    let (partly, rest): (Vec<_>, Vec<_>) = meant.into_iter().partition(|space| holds_clear_pages(space));
    let (on_disk, failing): (Vec<_>, Vec<_>) = partly.into_iter().partition(|space| space.disk_encryption().is_some());
    failing.into_iter().for_each(|space| results.push(failure(cx, space)));
    covered_by_disk(cx, &on_disk).into_iter().for_each(|result| results.push(result));
    let (damaged, whole): (Vec<_>, Vec<_>) = rest.into_iter().partition(|space| space.doubt.is_some());
    unread(&damaged).into_iter().for_each(|result| results.push(result));
    let (seen, unseen): (Vec<_>, Vec<_>) = whole.into_iter().partition(|space| space.bytes == Some(State::Encrypted));
    if !unseen.is_empty() {
        results.push_unknown("server", pages_unseen(&unseen));
    }
    if !seen.is_empty() {
        results.pass_if_clean(pass(cx, &seen));
    }
    Ok(unless_hidden(cx, results))
}

/// Includes tablespaces that are completely clear although encryption has started: the server reports them as encrypted
/// or in progress.
fn holds_clear_pages(space: &Artefact<'_>) -> bool {
    let clear = space.scan().is_some_and(|scan| scan.counts.clear_data + scan.counts.mislabelled > 0);
    clear && matches!(space.bytes, Some(State::Partly | State::Clear))
}

fn failure(cx: &Context<'_>, space: &Artefact<'_>) -> CheckResult {
    let counts = space.scan().map(|scan| scan.counts).unwrap_or_default();
    let is_declared = space.declared_encryption().is_some_and(|declared| declared != DeclaredEncryption::None);
    let called = is_declared || space.reported == Some(State::Encrypted);
    let mut text = format!(
        "{} is {}, and {} of {} pages read hold data in clear",
        space.name,
        if called { "called encrypted" } else { "encrypted in part" },
        counts.clear_data + counts.mislabelled,
        counts.scanned
    );
    if counts.mislabelled > 0 {
        text.push_str(&format!("; {} of them are marked encrypted", counts.mislabelled));
    }
    let result = CheckResult::fail(&space.name, EvidenceGrade::Bytes, text).fix(fix(cx, space));
    with_evidence(result, space.evidence(cx.facts))
}

fn pages_unseen(spaces: &[&Artefact<'_>]) -> Unavailable {
    let names = listed(spaces.iter().map(|space| space.name.as_str()));
    Unavailable {
        what: format!("pages of {names}"),
        why: "the server reports them as encrypted, but only their pages prove it, and these were not read or do not \
            show it"
            .to_owned(),
        remedy: access::reading("the data directory, with --deep"),
    }
}

fn pass(cx: &Context<'_>, spaces: &[&Artefact<'_>]) -> CheckResult {
    let sum = |of: fn(&innodb::tablespace::PageCounts) -> u64| -> u64 {
        spaces.iter().filter_map(|space| space.scan()).map(|scan| of(&scan.counts)).sum()
    };
    let (read, all) = (sum(|counts| counts.scanned), sum(|counts| counts.total));
    let extent = if spaces.iter().all(|space| space.scan().is_some_and(|scan| scan.complete)) {
        format!("all {all} pages were read")
    } else {
        format!("a sample of {read} of {all} pages was read, --deep reads all")
    };
    let text = format!("{} encrypted tablespaces hold no data in clear: {extent}", spaces.len());
    let evidence = spaces.first().map(|space| space.evidence(cx.facts)).unwrap_or_default();
    with_evidence(CheckResult::pass("server", EvidenceGrade::Bytes, text), evidence)
}

fn none_encrypted(cx: &Context<'_>, spaces: &[&Artefact<'_>]) -> Observed<CheckResults> {
    let named = cx.facts.sql.as_ref().is_some_and(|sql| sql.answered("tablespaces"));
    if all_seen(cx) || named && spaces.iter().any(|space| space.state().is_some()) {
        return Ok(CheckResults::not_applicable("this server reports no tablespace as encrypted"));
    }
    cx.facts.files()?;
    unwalked(cx).map_or_else(|| Ok(CheckResults::new()), Err)
}

fn fix(cx: &Context<'_>, space: &Artefact<'_>) -> Remedy {
    let sql = cx.facts.sql.as_ref();
    let mariadb = super::mariadb(cx) == Some(true);
    match (space.kind, space.table()) {
        // MariaDB's threads consider the table finished, and do not return to pages that they skipped.
        (Kind::Table, Some((schema, table))) if mariadb && space.reported == Some(State::Encrypted) => {
            Remedy::statement(format!("ALTER TABLE {} FORCE", quote::table(&schema, &table)))
        }
        (_, _) if mariadb => {
            let done = "done when information_schema.INNODB_TABLESPACES_ENCRYPTION shows MIN_KEY_VERSION > 0";
            match sql {
                Some(sql) => set_variable(sql, variable::INNODB_ENCRYPTION_THREADS, "4").note(done),
                None => Remedy::advice(format!("wait; {done}")),
            }
        }
        (Kind::Undo, _) => super::undo_plaintext::rewrite(space),
        (Kind::Table, Some((schema, table))) => {
            let table = quote::table(&schema, &table);
            // Setting ENCRYPTION='N' first would write the whole table in clear text.
            Remedy::statement(format!("ALTER TABLE {table} {MYSQL_ENCRYPTED}, FORCE, ALGORITHM = COPY"))
        }
        (Kind::GeneralTablespace | Kind::MysqlTablespace, _) => {
            // A second ALTER TABLESPACE … ENCRYPTION='Y' generates a second key, and the data on disk is lost (seen on
            // 9.7.4).
            "check performance_schema.events_stages_current for a conversion that still runs; otherwise restart the \
                server, which finishes it; a second ALTER TABLESPACE … ENCRYPTION='Y' can make it unreadable"
                .into()
        }
        _ => CHECK.fix.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, TABLESPACE_COLUMNS, mysql, tablespace, tablespace_with};
    use innodb::tablespace::TablespaceKind;

    #[test]
    fn trap_1_undo_called_encrypted_with_clear_pages() {
        let undo = tablespace_with("encrypted", 21, 290, |scan| scan.kind = TablespaceKind::Undo);
        let made = mysql()
            .answer("tablespaces", TABLESPACE_COLUMNS, &[&["7", "innodb_undo_001", "Undo", "Y"]])
            .file("undo_001", undo);
        let found = made.judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Bytes)));
        assert!(found[0].message.contains("290 of 312"));
        assert!(found[0].remediation.as_ref().unwrap().contains("innodb_undo_001` SET INACTIVE"));
    }

    #[test]
    fn a_pass_says_how_much_was_read() {
        let sample = tablespace_with("encrypted", 4, 0, |scan| {
            scan.complete = false;
            scan.counts.total = 900;
        });
        let found = FactsBuilder::nothing().file("demo/t.ibd", sample).judge(&CHECK);
        assert_eq!(found[0].status, Pass);
        assert!(found[0].message.contains("a sample of 5 of 900"));
        let found = FactsBuilder::nothing().file("demo/t.ibd", tablespace("encrypted", 4, 0)).judge(&CHECK);
        assert!(found[0].message.contains("all 5 pages"));
    }

    #[test]
    fn the_servers_word_alone_is_unknown() {
        let made = mysql().answer("tablespaces", TABLESPACE_COLUMNS, &[&["7", "demo/t", "Single", "Y"]]);
        assert_eq!(made.statuses(&CHECK), [Unknown]);
        let head = tablespace_with("encrypted", 0, 0, |scan| {
            scan.complete = false;
            scan.counts.total = 900;
        });
        assert_eq!(FactsBuilder::nothing().file("demo/t.ibd", head).statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn nothing_encrypted_is_not_applicable_and_nothing_seen_unknown() {
        assert_eq!(
            FactsBuilder::nothing().file("demo/t.ibd", tablespace("plain", 0, 4)).statuses(&CHECK),
            [NotApplicable]
        );
        assert_eq!(mysql().refused("tablespaces", 1227).statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn a_conversion_of_mariadb_that_has_begun_fails() {
        assert_eq!(FactsBuilder::nothing().file("demo/t.ibd", tablespace("begun", 3, 4)).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn an_encrypted_disk_below_passes_with_a_note() {
        let made = FactsBuilder::nothing().file("demo/t.ibd", tablespace("encrypted", 3, 4)).encrypted_disk();
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }
}
