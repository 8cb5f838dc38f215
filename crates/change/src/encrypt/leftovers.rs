//! What is in clear text still, why, and what to do about it.

use audit::checks::{self, BINLOG_PLAINTEXT, DOUBLEWRITE_PLAINTEXT, REDO_PLAINTEXT};
use audit::finding::{Finding, Status};
use audit::meaning::ClosedBy;
use serde::Serialize;

/// Something that rests in clear text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leftover {
    /// The file, table or setting.
    pub artefact: String,
    /// The check of `sealant audit` that found it.
    pub check: String,
    /// What is the matter.
    pub reason: String,
    /// What to do about it.
    pub remedy: String,
    /// Whether this server can encrypt it.
    pub closable: bool,
}

/// Findings that are leftovers, each artefact once.
pub(super) fn of(findings: &[Finding], mariadb: bool) -> Vec<Leftover> {
    let mut leftovers: Vec<Leftover> = Vec::new();
    for finding in findings {
        let reason = match finding.status {
            Status::Fail => finding.message.clone(),
            // What could not be looked at is not known to be encrypted.
            Status::Unknown => format!("not proven: {}", finding.message),
            _ => continue,
        };
        if let Some(closable) = closable(finding, mariadb) {
            add(&mut leftovers, vec![leftover(finding, closable, reason)]);
        }
    }
    leftovers
}

/// Clear binary logs are removed by a run that may, which is less work than the audit's remedy.
pub(super) fn name_purge(leftovers: &mut [Leftover]) {
    for leftover in leftovers.iter_mut().filter(|leftover| leftover.check == BINLOG_PLAINTEXT.id) {
        leftover.remedy =
            format!("run it again with --purge-binlogs once every replica has read them; by hand: {}", leftover.remedy);
    }
}

/// Servers before 8.0.30 leave their redo files behind at a restart only, and their doublewrite files by and by.
pub(super) fn name_restart(leftovers: &mut [Leftover]) {
    for leftover in leftovers.iter_mut() {
        if leftover.check == REDO_PLAINTEXT.id {
            "stop the server cleanly (innodb_fast_shutdown = 0), give innodb_log_file_size another value, and start it: \
             the log is made anew"
                .clone_into(&mut leftover.remedy);
        } else if leftover.check == DOUBLEWRITE_PLAINTEXT.id {
            "it is written over as the server writes: run it again later".clone_into(&mut leftover.remedy);
        }
    }
}

/// Adds what is not known yet.
pub(super) fn add(leftovers: &mut Vec<Leftover>, more: Vec<Leftover>) {
    for leftover in more {
        match leftovers.iter_mut().find(|known| known.artefact == leftover.artefact) {
            Some(known) => known.closable |= leftover.closable,
            None => leftovers.push(leftover),
        }
    }
}

/// Whether a run has more to do because of a finding that did not pass; none if it is no leftover.
fn closable(finding: &Finding, mariadb: bool) -> Option<bool> {
    let failed = finding.status == Status::Fail;
    match checks::find(&finding.id).map(|check| check.closed_by) {
        Some(ClosedBy::Encrypt) => Some(true),
        Some(ClosedBy::EncryptOnMariaDb) => Some(mariadb),
        Some(ClosedBy::Disk) => Some(false),
        // Nothing shows that a damaged page is encrypted. Pages whose key is not at hand are the keyring's proof.
        Some(ClosedBy::Restore) => failed.then_some(true),
        Some(_) => None,
        // A failure that nobody knows to be harmless.
        None => failed.then_some(true),
    }
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
    use audit::finding::Severity;

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

    /// Whether a run with this finding has more to do; none if it is no leftover.
    fn closable_of(id: &str, status: Status, mariadb: bool) -> Option<bool> {
        let leftovers = of(&[finding(id, status)], mariadb);
        leftovers.first().map(|leftover| leftover.closable)
    }

    #[test]
    fn a_damaged_page_keeps_a_run_from_being_done() {
        assert_eq!(closable_of("rest-page-damaged", Status::Fail, false), Some(true));
        assert_eq!(closable_of("rest-page-damaged", Status::Unknown, false), None);
    }

    #[test]
    fn a_failure_that_no_check_explains_keeps_a_run_from_being_done() {
        assert_eq!(closable_of("rest-of-a-later-release", Status::Fail, false), Some(true));
    }

    #[test]
    fn data_that_no_server_encrypts_is_told_and_does_not_keep_a_run() {
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
