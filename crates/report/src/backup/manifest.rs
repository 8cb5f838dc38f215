//! What a manifest lists: files, keys, and the parts of each file.

use std::io::Write;

use archive::{Manifest, manifest::StoredFile};
use codec::entry::{Entry, Kind};
use innodb::keys::NoKeys;

use crate::{Error, visible};

/// Parts of a manifest to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestList {
    /// Files, directories and links.
    Files,
    /// Everything that needs a key.
    Keys,
    /// The packs that hold each part of each file.
    Map,
}

/// Lists the content of a manifest, one line each.
///
/// # Errors
/// [`Error::Write`].
pub fn write_manifest_table(manifest: &Manifest, list: ManifestList, out: &mut dyn Write) -> Result<(), Error> {
    match list {
        ManifestList::Files => manifest.files.iter().try_for_each(|file| write_file(&file.entry, out)),
        ManifestList::Keys => {
            // Without keys, everything that needs one counts as missing.
            let needed = backup::keys::check(manifest, &NoKeys).missing;
            Ok(needed.iter().try_for_each(|key| writeln!(out, "{}", visible(key)))?)
        }
        ManifestList::Map => manifest.files.iter().try_for_each(|file| write_runs(manifest, file, out)),
    }
}

fn write_file(entry: &Entry, out: &mut dyn Write) -> Result<(), Error> {
    let path = entry.path.to_string();
    let path = visible(&path);
    match &entry.kind {
        Kind::File { bytes } => writeln!(out, "{bytes:>16}  {path}")?,
        Kind::Directory => writeln!(out, "{:>16}  {path}/", "")?,
        Kind::Link { target } => {
            writeln!(out, "{:>16}  {path} -> {}", "", visible(&String::from_utf8_lossy(target)))?;
        }
    }
    Ok(())
}

fn write_runs(manifest: &Manifest, file: &StoredFile, out: &mut dyn Write) -> Result<(), Error> {
    let path = file.entry.path.to_string();
    let path = visible(&path);
    for run in file.runs.iter() {
        let run = run?;
        let pack = usize::try_from(run.pack).ok().and_then(|pack| manifest.packs.get(pack));
        let pack = pack.map(|pack| pack.sha256.to_string()).unwrap_or_default();
        writeln!(out, "{path}  {} {}  {pack}", run.at, run.bytes)?;
    }
    Ok(())
}
