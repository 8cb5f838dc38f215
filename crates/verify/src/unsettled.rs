//! What a MariaDB that runs or was killed leaves on disk until its redo log is applied, and what
//! would be damage otherwise.
//!
//! - A page that was allocated before the newest checkpoint and freed after it is never written:
//!   the descriptor on disk says that it is in use, and it is zero.
//! - An undo tablespace (`innodb_undo_log_truncate`) is cut at once; page 0, which tells its length,
//!   is written with the next checkpoint.
//!
//! Both seen on MariaDB 10.11, the second on 11.8 too.

use std::path::Path;

use innodb::verify::{Check, FileReport, Verdict};

use crate::plan::name;

/// What servers leave of an undo tablespace at least.
///
/// Source: `srv0srv.h` (`SRV_UNDO_TABLESPACE_SIZE_IN_PAGES`).
const SHORTEST_UNDO_BYTES: u64 = 10 << 20;

/// Whether all that is wrong with a tablespace can be of a server that did not come to its end.
pub(crate) fn explains(report: &FileReport, path: &Path, bytes: u64) -> bool {
    let shortened = is_undo(path) && bytes >= SHORTEST_UNDO_BYTES;
    let harmless = |check: Check| match check {
        Check::AllocatedZero => true,
        Check::FileSize => shortened,
        Check::PartialUnit => false,
        other => !other.is_damage(),
    };
    matches!(report.verdict, Verdict::Damaged | Verdict::Truncated)
        && report.findings.iter().all(|finding| harmless(finding.check))
}

/// By the name MariaDB gives them.
fn is_undo(path: &Path) -> bool {
    innodb::file_kind::is_mariadb_undo(name(path))
}

/// Not damage, and not proven either: that only the redo log could tell.
pub(crate) fn forgive(report: &mut FileReport) {
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
