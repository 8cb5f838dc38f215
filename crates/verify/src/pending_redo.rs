//! State on disk that a running or killed MariaDB leaves until its redo log is applied, and that would otherwise count
//! as damage.
//!
//! - A page that was allocated before the newest checkpoint and freed after it is never written: the descriptor on disk
//!   says that it is in use, but it is zero.
//! - An undo tablespace (`innodb_undo_log_truncate`) is truncated at once; page 0 with its length is written at the
//!   next checkpoint.
//!
//! Both seen on MariaDB 10.11, the second also on 11.8.

use std::path::Path;

use innodb::verify::{Check, FileReport, Verdict};

use crate::plan::name;

/// Minimum length of an undo tablespace after truncation.
///
/// Source: `srv0srv.h` (`SRV_UNDO_TABLESPACE_SIZE_IN_PAGES`).
const MIN_UNDO_BYTES: u64 = 10 << 20;

/// Whether pending redo can explain everything that is wrong with a tablespace.
pub(crate) fn can_explain(report: &FileReport, path: &Path, bytes: u64) -> bool {
    let shortened = is_undo(path) && bytes >= MIN_UNDO_BYTES;
    let harmless = |check: Check| match check {
        Check::AllocatedZero => true,
        Check::FileSize => shortened,
        Check::PartialUnit => false,
        other => !other.is_damage(),
    };
    matches!(report.verdict, Verdict::Damaged | Verdict::Truncated)
        && report.findings.iter().all(|finding| harmless(finding.check))
}

/// Recognises MariaDB's undo tablespaces by name.
fn is_undo(path: &Path) -> bool {
    innodb::server_file::is_mariadb_undo(name(path))
}

/// Marks the findings as unproven: the redo log can explain them, but only applying it could prove that.
pub(crate) fn mark_unproven(report: &mut FileReport) {
    for finding in &mut report.findings {
        if matches!(finding.check, Check::AllocatedZero | Check::FileSize) {
            finding.check = Check::Changing;
            finding.detail.push_str(", which newer changes in the redo log can explain");
        }
    }
    report.units.empty = report.units.empty.saturating_add(report.units.bad);
    report.units.bad = 0;
    report.verdict = Verdict::Unverifiable;
}
