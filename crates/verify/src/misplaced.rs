//! Tablespaces that are sound, and are not what their name says: two files were exchanged.
//!
//! The system tablespace and the data dictionary have fixed numbers. Exchanged tables are not found: which number a
//! table has is in the server's dictionary alone.

use std::path::Path;

use innodb::{
    SpaceId,
    tablespace::{Family, Page0, TablespaceKind},
};

use crate::plan::{Group, Plan, name};

/// Why the file cannot be in its place; `None` where nothing speaks against it, and for a damaged page 0, whose number
/// may be wrong.
pub(crate) fn why(plan: &Plan, index: usize, path: &Path, page0: &Page0) -> Option<String> {
    if !page0.checksum.is_ok() {
        return None;
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

/// For a file beside the system tablespace. `other` says that it is of MySQL, and not the data dictionary.
fn in_data_directory(group: &Group, index: usize, path: &Path, space: SpaceId, other: bool) -> Option<String> {
    if group.system.first() == Some(&index) && space != SpaceId(0) {
        return Some(format!("is tablespace {space}, and the system tablespace is number 0"));
    }
    (name(path) == "mysql.ibd" && other).then(|| format!("is tablespace {space}, and not the data dictionary"))
}
