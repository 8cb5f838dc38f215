//! `rest-orphan-file`.

use findings::{Remedy, Severity};
use process::shell_word;
use server::Capability;

use super::fts_plaintext::is_auxiliary;
use super::{all_seen, unwalked, with_evidence};
use crate::artefact::{Artefact, Kind, State};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "rest-orphan-file",
    title: "The data directory holds clear tablespaces that the server does not know",
    severity: Severity::Medium,
    explanation: "Copies, remains of interrupted ALTER TABLE (#sql*) and tablespaces removed from the server keep \
        their rows, and nothing encrypts them. Judged by content, not by name: a file with a page 0 and clear pages \
        that the server does not list.",
    applies: "every server with InnoDB",
    fix: "find out whose it is, then shred it",
    cost: "none",
    standards: &["PCI DSS 4.0.1 3.2.1", "GDPR 5(1)(e)"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Forgotten copies of data"),
    closed_by: ClosedBy::Disk,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    sql.tablespaces()?;
    cx.facts.files()?;
    let files: Vec<&Artefact<'_>> = [Kind::Table, Kind::GeneralTablespace]
        .iter()
        .flat_map(|kind| cx.artefacts.with_kind(*kind))
        .filter(|space| space.scan().is_some())
        .collect();
    let (known, unknown): (Vec<_>, Vec<_>) = files.into_iter().partition(|space| space.tablespace.is_some());
    if known.is_empty() && !unknown.is_empty() {
        return Err(no_match());
    }
    let mut results = CheckResults::new();
    // Before 5.7 the list lacks some auxiliary tables of full-text indexes.
    let unlisted = |space: &&Artefact<'_>| !sql.can(Capability::ListFullTextTables) && is_auxiliary(space);
    let clear = unknown.into_iter().filter(|space| matches!(space.bytes, Some(State::Clear | State::Partly)));
    let clear = clear.filter(|space| !unlisted(space));
    clear.filter(|space| space.disk_encryption().is_none()).for_each(|space| results.push(failure(cx, space)));
    if let Some(unseen) = unwalked(cx) {
        results.push_unknown("server", unseen);
    }
    if all_seen(cx) {
        results.pass_if_clean(
            CheckResult::pass(
                "server",
                EvidenceGrade::Bytes,
                "there is no clear tablespace that the server does not know",
            )
            .evidence(sql.evidence("tablespaces", format!("{} tablespaces, each with its file", known.len()))),
        );
    }
    Ok(results)
}

fn no_match() -> Unavailable {
    Unavailable {
        what: "files of the server's tablespaces".to_owned(),
        why:
            "no file that was read belongs to a tablespace that the server lists: it may be another server's directory"
                .to_owned(),
        remedy: "point the audit at the data directory of this server".to_owned(),
    }
}

fn failure(cx: &Context<'_>, space: &Artefact<'_>) -> CheckResult {
    let path = space.file.map_or(space.name.as_str(), |file| &file.path);
    let result = CheckResult::fail(
        &space.name,
        EvidenceGrade::Bytes,
        format!("{path} is a clear tablespace that the server does not know"),
    )
    .fix(
        Remedy::advice("look whose it is")
            .and(Remedy::command(format!("shred -u {}", shell_word(path))).once("you know that nobody needs it")),
    );
    let id = space.space_id().map_or(0, |id| id.0);
    let listed: Vec<Evidence> = cx
        .facts
        .sql
        .iter()
        .map(|sql| sql.evidence("tablespaces", format!("no row for this file (space {id})")))
        .collect();
    with_evidence(with_evidence(result, listed), space.evidence(cx.facts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, TABLESPACE_COLUMNS, mysql, tablespace};

    fn server() -> FactsBuilder {
        mysql().answer("tablespaces", TABLESPACE_COLUMNS, &[&["7", "demo/t", "Single", "Y"]])
    }

    #[test]
    fn a_clear_copy_fails_and_an_encrypted_one_does_not() {
        let made =
            server().file("demo/t.ibd", tablespace("encrypted", 4, 0)).file("demo/old.ibd", tablespace("plain", 0, 4));
        let found = made.judge(&CHECK);
        assert_eq!((found.len(), found[0].status, found[0].artefact.as_str()), (1, Fail, "demo/old.ibd"));
        let made = server()
            .file("demo/t.ibd", tablespace("encrypted", 4, 0))
            .file("demo/u.ibd", tablespace("encrypted", 4, 0));
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn another_servers_directory_is_unknown() {
        let made = mysql().answer("tablespaces", TABLESPACE_COLUMNS, &[&["3", "demo/z", "Single", "Y"]]);
        assert_eq!(made.file("demo/old.ibd", tablespace("plain", 0, 4)).statuses(&CHECK), [Unknown]);
        assert_eq!(server().statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
