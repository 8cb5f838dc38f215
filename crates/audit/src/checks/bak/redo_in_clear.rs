//! `bak-redo-in-clear`.

use std::path::Path;

use findings::Severity;
use innodb::tablespace::TablespaceKind;

use super::{Part, clear, part_of, quote};
use crate::artefact::{Artefact, Kind, State};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::host::Role;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "bak-redo-in-clear",
    title: "A physical backup of encrypted tables holds redo, undo or binary logs in clear",
    severity: Severity::Medium,
    explanation: "The redo log in a backup holds the changes made during the copy, and binary logs hold every change. \
        Both can hold rows of encrypted tables in clear. Judged from the bytes of each file in a given directory that \
        also holds encrypted tablespaces.",
    applies: "directories with physical backups",
    fix: "encrypt the set as a whole, or switch on redo and binary log encryption on the server and take a new backup",
    cost: "time to read and write the set, or a new backup",
    standards: &["PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Logs inside backups of encrypted tables"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    cx.facts.files()?;
    let members: Vec<&Artefact<'_>> =
        cx.artefacts.with_kind(Kind::Backup).filter(|a| a.file.is_some_and(|f| f.role == Role::Backup)).collect();
    let is = |artefact: &Artefact<'_>, part, states: &[State]| {
        part_of(artefact) == Some(part) && artefact.state().is_some_and(|(state, _)| states.contains(&state))
    };
    let tables: Vec<&&Artefact<'_>> = members
        .iter()
        .filter(|a| a.scan().is_some() && is(a, Part::Rows, &[State::Encrypted, State::Partly]))
        .collect();
    if tables.is_empty() {
        return Ok(CheckResults::not_applicable(
            "no physical backup with encrypted tables was found; name its directory with --backup DIR",
        ));
    }
    let mut results = CheckResults::new();
    let companions: Vec<_> =
        members.iter().filter(|a| part_of(a) == Some(Part::Companion) && beside(a, &tables)).collect();
    if companions.is_empty() {
        return Ok(CheckResults::not_applicable("no log lies beside the encrypted tables of a backup"));
    }
    for artefact in &companions {
        if is(artefact, Part::Companion, &[State::Clear, State::Partly]) && !is_system(artefact) {
            results.push(clear(cx, artefact, "is clear beside encrypted tables", CHECK.fix));
        }
    }
    let message =
        format!("{} encrypted tables, and none of the {} logs beside them is clear", tables.len(), companions.len());
    let pass = CheckResult::pass("server", EvidenceGrade::Bytes, message);
    let evidence = companions.iter().take(5).flat_map(|artefact| quote(cx, artefact));
    results.pass_if_clean(evidence.fold(pass, CheckResult::evidence));
    Ok(results)
}

/// Whether a file belongs to the same backup as one of the tables: each backup has its own directory.
fn beside(artefact: &Artefact<'_>, tables: &[&&Artefact<'_>]) -> bool {
    let Some(set) = artefact.file.and_then(|file| Path::new(&file.path).parent()) else { return false };
    // Redo files may be in the subdirectory `#innodb_redo/`.
    let set = if set.file_name().is_some_and(|name| name.to_string_lossy().starts_with('#')) {
        set.parent().unwrap_or(set)
    } else {
        set
    };
    tables.iter().any(|table| table.file.is_some_and(|file| Path::new(&file.path).starts_with(set)))
}

/// MySQL cannot encrypt `ibdata1`; its content is checked by `rest-ibdata1-exposed`.
fn is_system(artefact: &Artefact<'_>) -> bool {
    artefact.scan().is_some_and(|scan| scan.kind == TablespaceKind::System)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{backup, in_set};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, binary_log, mysql, redo, tablespace};

    #[test]
    fn clear_logs_beside_encrypted_tables_fail() {
        let set = || in_set(FactsBuilder::nothing(), "app/t.ibd", tablespace("encrypted", 10, 0));
        let found = in_set(set(), "ib_logfile0", redo(0, 9)).judge(&CHECK);
        assert_eq!((found[0].status, found[0].artefact.as_str()), (Fail, "ib_logfile0"));
        assert_eq!(in_set(set(), "#innodb_redo/#ib_redo1", redo(0, 9)).statuses(&CHECK), [Fail]);
        assert_eq!(in_set(set(), "binlog.000007", binary_log(true)).statuses(&CHECK), [Fail]);
        assert_eq!(in_set(set(), "ib_logfile0", redo(9, 0)).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn sets_without_encrypted_tables_are_not_concerned() {
        let dump = in_set(FactsBuilder::nothing(), "dump.sql", backup(&["sql"], Some(true)));
        assert_eq!(dump.statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }
}
