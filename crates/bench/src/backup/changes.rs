//! What changed between two copies of a directory: what an incremental backup has to store.

use std::{fs::File, io::Read, path::Path};

use files::fill;

use crate::{Error, Tree};

/// Length of the parts that are compared: most pages have it.
const UNIT_BYTES: usize = 16 << 10;

/// Bytes of parts that changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Of pages of tablespaces.
    pub(crate) page_bytes: u64,
    /// Of all other files, the redo log among them.
    pub(crate) other_bytes: u64,
}

impl Changes {
    /// Compares `after` with `before`, 16 KiB by 16 KiB. A file that `before` does not have counts as a whole.
    pub(crate) fn between(before: &Tree, after: &Tree) -> Result<Self, Error> {
        let (mut changes, tablespaces) = (Self::default(), after.tablespaces());
        for path in after.files() {
            let Ok(name) = path.strip_prefix(after.root()) else { continue };
            let changed = changed_bytes(&before.root().join(name), &path)?;
            let sum = match tablespaces.contains_key(name) {
                true => &mut changes.page_bytes,
                false => &mut changes.other_bytes,
            };
            *sum = sum.saturating_add(changed);
        }
        Ok(changes)
    }
}

fn changed_bytes(before: &Path, after: &Path) -> Result<u64, Error> {
    let mut old = File::open(before).ok();
    let mut new = File::open(after).map_err(Error::file(after))?;
    let (mut rooms, mut changed) = ([vec![0; UNIT_BYTES], vec![0; UNIT_BYTES]], 0_u64);
    loop {
        let [of_old, of_new] = &mut rooms;
        let read_new = read(&mut new, of_new).map_err(Error::file(after))?;
        if read_new == 0 {
            return Ok(changed);
        }
        let read_old = match &mut old {
            Some(old) => read(old, of_old).map_err(Error::file(before))?,
            None => 0,
        };
        if of_old.get(..read_old) != of_new.get(..read_new) {
            changed = changed.saturating_add(read_new as u64);
        }
    }
}

fn read(file: &mut impl Read, room: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    fill(file, room, &mut filled)?;
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn changed_parts_of_tablespaces_and_of_other_files_are_counted() {
        let directory = tempfile::tempdir().unwrap();
        let [before, after] = ["before", "after"].map(|name| directory.path().join(name));
        for root in [&before, &after] {
            fs::create_dir(root).unwrap();
            fs::write(root.join("t.ibd"), vec![1; 3 * UNIT_BYTES]).unwrap();
            fs::write(root.join("ib_logfile0"), vec![2; 100]).unwrap();
        }
        let trees = || [&before, &after].map(|root| Tree::scan(root).unwrap());
        let [old, new] = trees();
        assert_eq!(Changes::between(&old, &new).unwrap(), Changes::default());
        let mut changed = vec![1; 3 * UNIT_BYTES];
        changed[UNIT_BYTES] = 9;
        fs::write(after.join("t.ibd"), changed).unwrap();
        fs::write(after.join("ib_logfile0"), vec![2; 101]).unwrap();
        fs::write(after.join("new"), vec![0; 7]).unwrap();
        let [old, new] = trees();
        let expected = Changes { page_bytes: UNIT_BYTES as u64, other_bytes: 101 + 7 };
        assert_eq!(Changes::between(&old, &new).unwrap(), expected);
    }
}
