//! Removes the boot entries of a volume.

use std::fs;
use std::path::{Path, PathBuf};

use super::names::check_name;
use super::table::{LineSelector, RemovedLines, without_lines};
use super::write::{Edit, apply};
use super::{UNITS, drop_in_name, is_this_system, key_link, key_unit_names, socket_path};
use crate::Error;
use crate::device::{reload, stop};

/// Changes that remove the boot entries of a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removal {
    /// Changes to files.
    pub edits: Vec<Edit>,
    /// Lines about the same volume that stay because `boot install` did not write them, each with the path of its
    /// table.
    pub foreign: Vec<(PathBuf, String)>,
}

impl Removal {
    /// Fails if there is nothing to remove for the volume `name`.
    ///
    /// # Errors
    /// [`Error::NothingInstalled`].
    pub fn require_edits(&self, name: &str) -> Result<(), Error> {
        if self.edits.is_empty() { Err(Error::NothingInstalled { name: name.to_owned() }) } else { Ok(()) }
    }

    /// Removes the entries; on the running system, systemd reloads its units and stops listening.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, root: &Path, name: &str) -> Result<(), Error> {
        apply(&self.edits)?;
        if is_this_system(root) {
            reload()?;
            stop_listening(self, name)?;
        }
        Ok(())
    }
}

/// The changes that remove all boot entries of `name`.
///
/// # Errors
/// [`Error::Refused`] if `name` is not a valid name; [`Error::Io`].
pub fn removal(root: &Path, name: &str) -> Result<Removal, Error> {
    check_name(name)?;
    let mut removal = Removal::default();
    for (file, lines) in [("etc/crypttab", LineSelector::Crypttab(name)), ("etc/fstab", LineSelector::Fstab(name))] {
        let path = root.join(file);
        let mut foreign = Vec::new();
        let edit = Edit::text(root, &path, |text| {
            let RemovedLines { text, removed, foreign: stays } = without_lines(text, lines);
            foreign = stays;
            Ok((text, removed.iter().map(|line| format!("- {line}")).collect()))
        })?;
        removal.foreign.extend(foreign.into_iter().map(|line| (path.clone(), line)));
        removal.edits.push(edit);
    }
    removal.edits.retain(|edit| !edit.added.is_empty());
    let units = root.join(UNITS);
    let mut files: Vec<PathBuf> = fs::read_dir(&units)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "d"))
        .map(|directory| directory.join(drop_in_name(name)))
        .collect();
    files.sort();
    files.extend(key_unit_names(name).map(|file| units.join(file)));
    files.push(key_link(root, name).0);
    for file in files {
        removal.edits.extend(Edit::removal(root, &file)?);
    }
    Ok(removal)
}

/// Stops the socket of the key. Call it after the removal was applied and systemd has reloaded: while opening the
/// volume still requires the socket, stopping the socket would close the volume.
///
/// # Errors
/// [`Error::Program`]; [`Error::Io`].
fn stop_listening(removal: &Removal, name: &str) -> Result<(), Error> {
    let [socket, _] = key_unit_names(name);
    let was_ours = removal.edits.iter().any(|edit| edit.path.ends_with(&socket) && edit.after.is_none());
    if !was_ours {
        return Ok(());
    }
    stop(&socket)?;
    // systemd leaves the socket file behind.
    let path = socket_path(name);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(&path)(error)),
        _ => Ok(()),
    }
}
