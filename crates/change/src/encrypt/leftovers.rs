//! Leftovers: data still in clear text, with reason and remedy.

use audit::checks::{
    self, BINLOG_PLAINTEXT, DEFAULT_OFF, DOUBLEWRITE_PLAINTEXT, FTS_PLAINTEXT, GENERAL_PLAINTEXT, MYSQL_IBD_PLAINTEXT,
    REDO_PLAINTEXT, RELAYLOG_PLAINTEXT, SCHEMA_DEFAULT_NO, UNDO_PLAINTEXT,
};
use audit::exposure::ClosedBy;
use audit::finding::{Finding, Status};
use serde::Serialize;
use server::{Capability, Flavor, ServerVersion};

/// Data that is still in clear text on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leftover {
    /// File, table or setting.
    pub artefact: String,
    /// Id of the audit check that found it.
    pub check: String,
    /// Why it is in clear text.
    pub reason: String,
    /// How to encrypt it.
    pub remedy: String,
    /// Whether this server can encrypt it.
    pub closable: bool,
}

/// Capability with which a server of the MySQL family can close a check, if encrypting tables is not enough.
const NEEDED: [(&str, Capability); 10] = [
    (BINLOG_PLAINTEXT.id, Capability::EncryptBinaryLogs),
    (DOUBLEWRITE_PLAINTEXT.id, Capability::EncryptDoublewrite),
    (REDO_PLAINTEXT.id, Capability::EncryptRedo),
    (UNDO_PLAINTEXT.id, Capability::EncryptUndo),
    (DEFAULT_OFF.id, Capability::EncryptByDefault),
    (FTS_PLAINTEXT.id, Capability::EncryptFullText),
    (GENERAL_PLAINTEXT.id, Capability::EncryptGeneral),
    (MYSQL_IBD_PLAINTEXT.id, Capability::EncryptDictionary),
    (RELAYLOG_PLAINTEXT.id, Capability::EncryptBinaryLogs),
    (SCHEMA_DEFAULT_NO.id, Capability::EncryptByDefault),
];

/// The findings that are leftovers, each artefact once.
pub(super) fn from_findings(findings: &[Finding], version: Option<&ServerVersion>) -> Vec<Leftover> {
    let mut leftovers: Vec<Leftover> = Vec::new();
    for finding in findings {
        let reason = match finding.status {
            Status::Fail => finding.message.clone(),
            // Unreadable files count: they are not known to be encrypted.
            Status::Unknown => format!("not proven: {}", finding.message),
            _ => continue,
        };
        if let Some(closable) = closable(finding, version) {
            add(&mut leftovers, vec![leftover(finding, closable, reason)]);
        }
    }
    leftovers
}

/// Adjusts remedies where a run can do more than the audit suggests.
pub(super) fn name_remedies(leftovers: &mut [Leftover], version: &ServerVersion, resizes: bool) {
    if version.can(Capability::EncryptBinaryLogs) {
        name_purge(leftovers);
    }
    if !resizes && version.can(Capability::EncryptRedo) {
        name_restart(leftovers);
    }
}

/// Clear-text binary logs: a run with `--purge-binlogs` is simpler than the audit's remedy.
pub(super) fn name_purge(leftovers: &mut [Leftover]) {
    for leftover in leftovers.iter_mut().filter(|leftover| leftover.check == BINLOG_PLAINTEXT.id) {
        leftover.remedy =
            format!("run it again with --purge-binlogs once every replica has read them; by hand: {}", leftover.remedy);
    }
}

/// Before 8.0.30 redo files are replaced only at a restart, and doublewrite files are overwritten over time.
fn name_restart(leftovers: &mut [Leftover]) {
    for leftover in leftovers.iter_mut() {
        if leftover.check == REDO_PLAINTEXT.id {
            "stop the server cleanly (innodb_fast_shutdown = 0), give innodb_log_file_size another value, and start \
                it: it creates a new log"
                .clone_into(&mut leftover.remedy);
        } else if leftover.check == DOUBLEWRITE_PLAINTEXT.id {
            "the server overwrites it as it writes: run it again later".clone_into(&mut leftover.remedy);
        }
    }
}

/// Adds leftovers that are not in the list.
pub(super) fn add(leftovers: &mut Vec<Leftover>, more: Vec<Leftover>) {
    for leftover in more {
        match leftovers.iter_mut().find(|known| known.artefact == leftover.artefact) {
            Some(known) => known.closable |= leftover.closable,
            None => leftovers.push(leftover),
        }
    }
}

/// Whether a run can close a finding that did not pass; `None` if the finding is not a leftover.
fn closable(finding: &Finding, version: Option<&ServerVersion>) -> Option<bool> {
    let failed = finding.status == Status::Fail;
    match checks::find(&finding.id).map(|check| check.closed_by) {
        Some(ClosedBy::Encrypt) => Some(version.is_none_or(|version| can_encrypt(version, &finding.id))),
        Some(ClosedBy::EncryptOnMariaDb) => Some(version.is_some_and(is_mariadb)),
        Some(ClosedBy::Disk) => Some(false),
        // A damaged page may be in clear text. Pages without a key are covered by the proof of the keyring.
        Some(ClosedBy::Restore) => failed.then_some(true),
        Some(_) => None,
        // An unknown failure counts as a leftover.
        None => failed.then_some(true),
    }
}

fn is_mariadb(version: &ServerVersion) -> bool {
    version.flavor == Flavor::MariaDb
}

/// Whether the server can encrypt the data that the check found in clear text.
fn can_encrypt(version: &ServerVersion, check: &str) -> bool {
    let needed = NEEDED.iter().find(|(known, _)| *known == check).map_or(Capability::EncryptTables, |(_, what)| *what);
    is_mariadb(version) || version.can(needed)
}

fn leftover(finding: &Finding, closable: bool, reason: String) -> Leftover {
    let disk = "encrypt the disk below it (`sealant luks`)";
    Leftover {
        artefact: finding.artefact.clone(),
        check: finding.id.clone(),
        reason,
        remedy: finding.remediation.clone().unwrap_or_else(|| disk.to_owned()),
        closable,
    }
}

#[cfg(test)]
mod tests {

    use findings::Severity;

    use super::*;

    fn finding(id: &str, status: Status) -> Finding {
        Finding {
            id: id.to_owned(),
            status,
            severity: Severity::High,
            server: "db1".to_owned(),
            artefact: "demo/t.ibd".to_owned(),
            grade: None,
            message: "something is wrong with it".to_owned(),
            evidence: Vec::new(),
            remediation: None,
            remedies: Vec::new(),
            cost: None,
            standards: Vec::new(),
            waiver: None,
            fingerprint: String::new(),
        }
    }

    /// Whether a run can close this finding; `None` if it is not a leftover.
    fn closable_of(id: &str, status: Status, mariadb: bool) -> Option<bool> {
        let (text, comment) =
            if mariadb { ("10.11.19-MariaDB", "") } else { ("9.7.4", "MySQL Community Server - GPL") };
        closable_on(text, comment, id, status)
    }

    fn closable_on(text: &str, comment: &str, id: &str, status: Status) -> Option<bool> {
        let version =
            ServerVersion::parse(text, server::VersionHints { comment, ..server::VersionHints::default() }).unwrap();
        let leftovers = from_findings(&[finding(id, status)], Some(&version));
        leftovers.first().map(|leftover| leftover.closable)
    }

    #[test]
    fn a_damaged_page_keeps_a_run_from_being_done() {
        assert_eq!(closable_of("rest-page-damaged", Status::Fail, false), Some(true));
        assert_eq!(closable_of("rest-page-damaged", Status::Unknown, false), None);
    }

    #[test]
    fn a_5_7_is_not_asked_for_what_it_cannot() {
        let on_57 = |id| closable_on("5.7.22", "MySQL Community Server (GPL)", id, Status::Fail);
        assert_eq!(on_57("rest-table-plaintext"), Some(true));
        for (id, _) in NEEDED {
            assert_eq!(on_57(id), Some(false), "{id}");
        }
    }

    #[test]
    fn a_failure_that_no_check_explains_keeps_a_run_from_being_done() {
        assert_eq!(closable_of("rest-of-a-later-release", Status::Fail, false), Some(true));
    }

    #[test]
    fn data_that_no_server_encrypts_is_reported_and_does_not_fail_a_run() {
        for id in ["rest-export-key-file", "rest-repl-credential-clear", "rest-general-log-on"] {
            assert_eq!(closable_of(id, Status::Fail, true), Some(false), "{id}");
        }
    }

    #[test]
    fn what_a_run_closes_depends_on_the_server() {
        assert_eq!(closable_of("rest-temp-plaintext", Status::Fail, false), Some(false));
        assert_eq!(closable_of("rest-temp-plaintext", Status::Fail, true), Some(true));
        assert_eq!(closable_of("rest-table-plaintext", Status::Unknown, false), Some(true));
        assert_eq!(closable_of("exp-local-infile", Status::Fail, false), None);
    }
}
