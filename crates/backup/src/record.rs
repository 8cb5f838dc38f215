//! Files to which records are appended, a line of JSON each.

use std::{fs::OpenOptions, io::Write, path::Path};

use serde::Serialize;

use crate::Error;

/// Appends a record, and syncs it.
///
/// # Errors
/// [`Error::Io`] if the file cannot be written.
pub(crate) fn append_line(record: &impl Serialize, path: &Path) -> Result<(), Error> {
    let append = || {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        file.write_all(&line)?;
        file.sync_all()
    };
    append().map_err(Error::io(path, "cannot be written"))
}
