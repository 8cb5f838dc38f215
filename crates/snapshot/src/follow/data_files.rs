//! Checks that a copy has the file of every table of a MySQL server.
//!
//! A server opens the file of a table when somebody uses the table. So its open files do not show all that are outside
//! of the data directory (`DATA DIRECTORY`).

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Component, Path},
};

use innodb::file_suffix;
use server::dialect::innodb::dictionary;

use super::{copy::Item, live_server::LiveServer, session::Privilege};
use crate::error::Error;

/// Checks that the files of all tables are copied. Returns whether the account may list them, which needs PROCESS.
///
/// # Errors
/// [`Error::TablespaceOutside`] names the first file that is not copied.
pub(super) fn check_copied(server: &mut LiveServer<'_>, items: &[Item]) -> Result<bool, Error> {
    let query = dictionary(&server.session.identity.version).files;
    let rows = match server.session.rows(query, Privilege::Unknown) {
        Err(Error::Privilege { .. }) => return Ok(false),
        rows => rows?,
    };
    let copied = Copied::new(server.datadir, items);
    let listed = (0..rows.rows.len()).filter_map(|row| rows.value(row, "path"));
    // Files of the system tablespace and undo tablespaces are copied from wherever they are.
    let mut tables = listed.filter(|path| file_suffix::has(path, file_suffix::TABLESPACE));
    match tables.find(|path| !copied.has(path)) {
        Some(path) => Err(Error::TablespaceOutside { path: server.datadir.join(path) }),
        None => Ok(true),
    }
}

/// The files that are copied.
struct Copied<'a> {
    datadir: &'a Path,
    /// Device and inode of each tablespace.
    identities: BTreeSet<(u64, u64)>,
}

impl<'a> Copied<'a> {
    fn new(datadir: &'a Path, items: &[Item]) -> Self {
        let tables = items.iter().filter(|item| file_suffix::has(&item.to, file_suffix::TABLESPACE));
        let metadata = tables.filter_map(|item| fs::metadata(&item.from).ok());
        Self { datadir, identities: metadata.map(|metadata| (metadata.dev(), metadata.ino())).collect() }
    }

    /// Whether it is copied, or inside of the data directory without a file, as a discarded table is. The server lists
    /// paths relative to the data directory, and others as absolute ones.
    fn has(&self, listed: &str) -> bool {
        let path = self.datadir.join(listed);
        match fs::metadata(&path) {
            Ok(metadata) => self.identities.contains(&(metadata.dev(), metadata.ino())),
            Err(_) => path.starts_with(self.datadir) && path.components().all(|part| part != Component::ParentDir),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_table_outside_is_copied_only_if_a_link_leads_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let [datadir, other, linked] = ["data", "other", "linked"].map(|name| directory.path().join(name));
        for path in [&datadir.join("db"), &other, &linked] {
            fs::create_dir_all(path).unwrap();
        }
        for path in [datadir.join("db/t.ibd"), other.join("far.ibd"), linked.join("l.ibd")] {
            fs::write(path, "").unwrap();
        }
        symlink(&linked, datadir.join("more")).unwrap();
        let items = ["db/t.ibd", "more/l.ibd"].map(|name| Item { from: datadir.join(name), to: name.into() });
        let copied = Copied::new(&datadir, &items);
        for path in ["./db/t.ibd", "db/t.ibd", "./more/l.ibd", "./db/discarded.ibd"] {
            assert!(copied.has(path), "{path}");
        }
        let far = other.join("far.ibd");
        for path in [far.to_str().unwrap(), "./../other/far.ibd", "./../other/gone.ibd", "/nowhere/t.ibd"] {
            assert!(!copied.has(path), "{path}");
        }
    }
}
