//! Files to which records are appended, a line of JSON each.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::Path,
};

use serde::Serialize;

use crate::Error;

/// Reads a file of records, if one is named.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read, or `parse` refuses it.
pub(crate) fn read_records<T>(
    path: Option<&Path>,
    parse: impl FnOnce(&str) -> Result<Vec<T>, archive::Error>,
) -> Result<Vec<T>, Error> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let text = fs::read_to_string(path).map_err(Error::io(path, "cannot be read"))?;
    parse(&text).map_err(io::Error::other).map_err(Error::io(path, "cannot be used"))
}

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
