//! The marker file in which a donor's server reports that it has stopped writing, and its position.

use std::{fs, io, path::Path};

use files::regular::{self, Links};
use innodb::server_file::{TRANSFER_FAILED as FAILED, TRANSFER_FLUSHED as FLUSHED};

use crate::{error::Error, galera_state::GaleraState};

/// Removes the marker of an earlier attempt.
pub(crate) fn clear(datadir: &Path) -> Result<(), Error> {
    for name in [FLUSHED, FAILED] {
        let path = datadir.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::file(path, "an old marker cannot be removed")(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the position if the server has stopped writing, and removes the marker.
pub(crate) fn take(datadir: &Path) -> Result<Option<GaleraState>, Error> {
    const MAX_BYTES: u64 = 4096;
    if datadir.join(FAILED).exists() {
        clear(datadir)?;
        return Err(Error::NotFlushed);
    }
    let path = datadir.join(FLUSHED);
    let text = match regular::read(&path, Links::Refused, MAX_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(Error::file(&path, "cannot be read"))?,
    };
    let text = String::from_utf8_lossy(&text);
    // Servers that write the file in place, instead of renaming a complete one, leave it empty for
    // a moment.
    if !text.contains(':') {
        return Ok(None);
    }
    clear(datadir)?;
    GaleraState::parse(&text).map(Some).ok_or(Error::Position { from: "the server" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marker_counts_once_it_is_complete() {
        let directory = tempfile::tempdir().unwrap();
        let datadir = directory.path();
        let text = "1b2f8a4e-c0de-11f0-9c2d-0242ac120002:514 0";
        assert!(take(datadir).unwrap().is_none());
        fs::write(datadir.join(FLUSHED), "").unwrap();
        assert!(take(datadir).unwrap().is_none());
        fs::write(datadir.join(FLUSHED), format!("{text}\n")).unwrap();
        assert_eq!(take(datadir).unwrap().unwrap().to_string(), text);
        assert!(take(datadir).unwrap().is_none());
        fs::write(datadir.join(FAILED), "").unwrap();
        assert!(matches!(take(datadir), Err(Error::NotFlushed)));
        fs::write(datadir.join(FLUSHED), "some:thing").unwrap();
        assert!(matches!(take(datadir), Err(Error::Position { .. })));
    }
}
