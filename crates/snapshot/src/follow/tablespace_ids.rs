//! Checks that MySQL will start on the tablespaces of a copy.
//!
//! A table that is being imported has a file with the ID of the tablespace that it was exported from, until `ALTER TABLE …
//! IMPORT TABLESPACE` gives it its own. A server that finds both files ends its start ("Multiple files found for the same
//! tablespace ID", seen on 9.7): recovery would not know which of them a log record is for.

use std::{collections::BTreeMap, fs::File, io::ErrorKind, path::Path};

use files::read_up_to;
use innodb::{
    file_suffix,
    page::layout::{HEADER_BYTES, SPACE_ID},
};

use super::copy::Item;
use crate::Error;

/// # Errors
/// [`Error::SameTablespaceId`]; [`Error::Copy`] if a file of the copy cannot be read.
pub(super) fn check_distinct(root: &Path, items: &[Item]) -> Result<(), Error> {
    let mut files: BTreeMap<u32, &Path> = BTreeMap::new();
    for item in items.iter().filter(|item| file_suffix::has(&item.to, file_suffix::TABLESPACE)) {
        let Some(id) = space_id(&root.join(&item.to))? else { continue };
        if let Some(other) = files.insert(id, &item.to) {
            return Err(Error::SameTablespaceId { id, files: [other.to_owned(), item.to.clone()] });
        }
    }
    Ok(())
}

/// The ID that the first page of a tablespace has; `None` if the file is gone, shorter than that, or of zeros.
fn space_id(path: &Path) -> Result<Option<u32>, Error> {
    let mut header = [0; HEADER_BYTES];
    let file = match File::open(path) {
        // The original was removed while the copy was made.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(Error::copying(path))?,
    };
    read_up_to(&file, 0, &mut header).map_err(|error| Error::copying(path)(error.source))?;
    let id = header.get(SPACE_ID..).and_then(<[u8]>::first_chunk).map(|id| u32::from_be_bytes(*id));
    Ok(id.filter(|id| *id != 0))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn two_files_with_one_id_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let mut items = Vec::new();
        let mut add = |name: &str, id: u32| {
            let mut page = vec![0; HEADER_BYTES];
            page[SPACE_ID..].copy_from_slice(&id.to_be_bytes());
            fs::write(root.path().join(name), page).unwrap();
            items.push(Item { from: name.into(), to: name.into() });
            check_distinct(root.path(), &items)
        };
        assert!(add("a.ibd", 7).is_ok() && add("new.ibd", 0).is_ok() && add("newer.ibd", 0).is_ok());
        assert!(add("a.cfg", 7).is_ok(), "no tablespace");
        let refused = add("b.ibd", 7).unwrap_err();
        assert!(refused.to_string().contains("a.ibd and b.ibd"), "{refused}");
    }
}
