//! Plans a restore without carrying it out.

use std::{collections::BTreeSet, path::Path};

use agefile::Identity;
use verify::Keys;

use super::{Opened, check_rekey, entries, fetch, stored_bytes};
use crate::{Error, Repository};

/// What a restore needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestorePlan {
    /// Number of files, directories and links.
    pub entries: u64,
    /// Length of all files, in bytes.
    pub bytes: u64,
    /// Bytes that occupy disk space: all but holes.
    pub stored_bytes: u64,
    /// Number of packs to be read.
    pub packs: u64,
    /// Bytes of these packs.
    pub fetch_bytes: u64,
    /// Free bytes of the target's file system, if known.
    pub free_bytes: Option<u64>,
}

/// Reads the manifest. Checks that the keys can encrypt the decrypted pages of the backup and, if `is_rekeyed`, that
/// another keyring can wrap the keys.
///
/// # Errors
/// [`Error`], as a restore would return before it fetches anything.
pub(super) fn plan(
    repository: &Repository,
    opened: &Opened,
    identities: &[Identity],
    keys: &Keys,
    into: &Path,
    is_rekeyed: bool,
) -> Result<RestorePlan, Error> {
    let manifest = opened.manifest(repository, identities)?;
    if is_rekeyed {
        check_rekey(&manifest)?;
    }
    let entries = entries(&manifest, opened)?;
    fetch::spaces(&manifest, keys)?;
    let used: BTreeSet<u32> = manifest.files.iter().flat_map(|file| &file.runs).map(|run| run.pack).collect();
    let packs = used.iter().filter_map(|pack| manifest.packs.get(usize::try_from(*pack).ok()?));
    Ok(RestorePlan {
        entries: entries.len() as u64,
        bytes: manifest.bytes(),
        stored_bytes: stored_bytes(&manifest),
        packs: used.len() as u64,
        fetch_bytes: packs.fold(0, |sum, pack| sum.saturating_add(pack.bytes)),
        free_bytes: free_bytes(into),
    })
}

/// Free bytes of the file system that contains `path` or its nearest existing parent.
fn free_bytes(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|path| path.exists()).filter(|path| !path.as_os_str().is_empty());
    files::free_bytes(existing.unwrap_or_else(|| Path::new("."))).ok()
}
