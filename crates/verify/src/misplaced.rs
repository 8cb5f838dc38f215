//! Finds tablespaces that are sound but do not belong to their name, because two files were swapped.
//!
//! The system tablespace and the data dictionary have fixed space ids, and no tablespace has the name of a log.
//! Exchanged tables are not found: only the server's dictionary has their space ids.

use std::path::Path;

use innodb::{
    SpaceId,
    file_kind::{FileKind, by_name},
    server_file::{DICTIONARY, log_base},
    tablespace::{Family, Page0, TablespaceKind},
};

use crate::plan::{DetectedKind, Group, Plan, name};

/// Reason why this tablespace cannot belong to its file name. `None` if nothing contradicts the name, and for a damaged
/// page 0, whose space id may be wrong.
pub(crate) fn why_tablespace(plan: &Plan, index: usize, path: &Path, page0: &Page0) -> Option<String> {
    if !page0.checksum.is_ok() {
        return None;
    }
    if is_among_logs(plan, path) {
        return Some("is a tablespace, in place of a log".to_owned());
    }
    if matches!(by_name(name(path)), Some(FileKind::AriaIndex | FileKind::AriaData | FileKind::AriaLog)) {
        return Some("is a tablespace, in place of a file of Aria".to_owned());
    }
    let data_directory = |directory: &Path| plan.groups.get(directory).filter(|group| !group.system.is_empty());
    let directory = path.parent()?;
    let (space, mysql) = (page0.space_id, page0.family == Family::MySql);
    let dictionary = mysql && page0.kind == TablespaceKind::Dictionary;
    if let Some(group) = data_directory(directory) {
        return in_data_directory(group, index, path, space, mysql && !dictionary);
    }
    directory.parent().and_then(data_directory)?;
    match space {
        SpaceId(0) => Some("is the system tablespace, in place of a table".to_owned()),
        _ if dictionary => Some("is the data dictionary, in place of a table".to_owned()),
        _ => None,
    }
}

/// Like [`why_tablespace`], for files that are not tablespaces but have the name of one.
pub(crate) fn why_file(kind: FileKind, path: &Path) -> Option<String> {
    let what = match kind {
        FileKind::Binlog | FileKind::BinlogEncrypted => "a binary log",
        FileKind::Redo => "a redo log",
        FileKind::AriaIndex | FileKind::AriaLog => "a file of Aria",
        _ => return None,
    };
    (by_name(name(path)) == Some(FileKind::Tablespace)).then(|| format!("is {what}, in place of a tablespace"))
}

/// Whether the name belongs to a series of binary logs in the directory: `binlog.000002`. Backups may end in a number,
/// too.
fn is_among_logs(plan: &Plan, path: &Path) -> bool {
    let Some(base) = log_base(name(path)) else { return false };
    plan.files.iter().any(|file| {
        matches!(file.kind, DetectedKind::Known(FileKind::Binlog | FileKind::BinlogEncrypted))
            && file.path.parent() == path.parent()
            && log_base(name(&file.path)) == Some(base)
    })
}

/// Checks a file in the directory of the system tablespace. `other`: the file is a MySQL tablespace other than the data
/// dictionary.
fn in_data_directory(group: &Group, index: usize, path: &Path, space: SpaceId, other: bool) -> Option<String> {
    if group.system.first() == Some(&index) && space != SpaceId(0) {
        return Some(format!("is tablespace {space}, and the system tablespace is number 0"));
    }
    (name(path) == DICTIONARY && other).then(|| format!("is tablespace {space}, and not the data dictionary"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_tablespace_may_have_the_name_of_one() {
        let kinds =
            [FileKind::Redo, FileKind::Binlog, FileKind::BinlogEncrypted, FileKind::AriaIndex, FileKind::AriaLog];
        for kind in kinds {
            assert!(why_file(kind, Path::new("demo/t.ibd")).is_some(), "{kind:?}");
            assert!(why_file(kind, Path::new("ibdata1")).is_some(), "{kind:?}");
            assert_eq!(why_file(kind, Path::new("backup-of-a-log")), None);
        }
        assert_eq!(why_file(FileKind::Tablespace, Path::new("demo/t.ibd")), None);
    }
}
