//! What is in clear text still, why, and what to do about it.

use audit::finding::{Finding, Status};
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

/// Checks about data at rest that a run can close, on MySQL and on MariaDB.
const CLOSABLE: [&str; 14] = [
    "rest-aria-plaintext",
    "rest-binlog-plaintext",
    "rest-default-off",
    "rest-doublewrite-plaintext",
    "rest-encryption-threads-zero",
    "rest-fts-plaintext",
    "rest-general-plaintext",
    "rest-mysql-ibd-plaintext",
    "rest-page-plaintext",
    "rest-redo-plaintext",
    "rest-relaylog-plaintext",
    "rest-schema-default-no",
    "rest-table-plaintext",
    "rest-undo-plaintext",
];
/// Temporary files, which MariaDB can encrypt and MySQL cannot.
const CLOSABLE_ON_MARIADB: [&str; 2] = ["rest-temp-plaintext", "rest-tmpfile-spill"];
/// What lies in clear text and what no server encrypts.
const NEVER: [&str; 9] = [
    "rest-aria-log-plaintext",
    "rest-engine-cannot-encrypt",
    "rest-galera-gcache-plaintext",
    "rest-general-log-on",
    "rest-ibdata1-exposed",
    "rest-log-plaintext",
    "rest-log-table-csv",
    "rest-orphan-file",
    "rest-stats-leak",
];

/// Findings that are leftovers, each artefact once.
pub(super) fn of(findings: &[Finding], mariadb: bool) -> Vec<Leftover> {
    let mut leftovers: Vec<Leftover> = Vec::new();
    for finding in findings {
        let Some(closable) = closable(&finding.id, mariadb) else { continue };
        let leftover = match finding.status {
            Status::Fail => leftover(finding, closable, finding.message.clone()),
            // What could not be looked at is not known to be encrypted.
            Status::Unknown => leftover(finding, closable, format!("not proven: {}", finding.message)),
            _ => continue,
        };
        add(&mut leftovers, vec![leftover]);
    }
    leftovers
}

/// Clear binary logs are removed by a run that may, which is less work than the audit's remedy.
pub(super) fn name_purge(leftovers: &mut [Leftover]) {
    for leftover in leftovers.iter_mut().filter(|leftover| leftover.check == "rest-binlog-plaintext") {
        leftover.remedy =
            format!("run it again with --purge-binlogs once every replica has read them; by hand: {}", leftover.remedy);
    }
}

/// Servers before 8.0.30 leave their redo files behind at a restart only, and their doublewrite files by and by.
pub(super) fn name_restart(leftovers: &mut [Leftover]) {
    for leftover in leftovers.iter_mut() {
        let remedy = match leftover.check.as_str() {
            "rest-redo-plaintext" => {
                "stop the server cleanly (innodb_fast_shutdown = 0), give innodb_log_file_size another value, and start it: \
                 the log is made anew"
            }
            "rest-doublewrite-plaintext" => "it is written over as the server writes: run it again later",
            _ => continue,
        };
        remedy.clone_into(&mut leftover.remedy);
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

fn closable(check: &str, mariadb: bool) -> Option<bool> {
    if CLOSABLE.contains(&check) {
        return Some(true);
    }
    if CLOSABLE_ON_MARIADB.contains(&check) {
        return Some(mariadb);
    }
    NEVER.contains(&check).then_some(false)
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
