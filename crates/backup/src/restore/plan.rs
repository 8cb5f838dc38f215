//! Plans a restore without carrying it out.

use std::{collections::BTreeMap, path::Path};

use agefile::Identity;
use archive::Manifest;
use verify::Keys;

use super::{
    ExternalLinks, Opened, check_rekey, entries, fetch, file_count,
    ranges::{bytes_of, ranges},
    stored_bytes,
};
use crate::{Error, Repository};

/// What a restore needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestorePlan {
    /// Number of files, directories and links.
    pub entries: u64,
    /// Number of files.
    pub files: u64,
    /// Length of all files, in bytes.
    pub bytes: u64,
    /// Bytes that occupy disk space: all but holes.
    pub stored_bytes: u64,
    /// Number of packs to be read.
    pub packs: u64,
    /// Bytes of them that are read.
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
    links: ExternalLinks,
) -> Result<RestorePlan, Error> {
    let mut manifest = opened.manifest(repository, identities)?;
    links.apply(repository, &mut manifest, into)?;
    if is_rekeyed {
        check_rekey(&manifest)?;
    }
    let entries = entries(&manifest, opened)?;
    fetch::spaces(&manifest.files, keys)?;
    let (packs, fetch_bytes) = to_fetch(&manifest);
    Ok(RestorePlan {
        entries: entries.len() as u64,
        files: file_count(&manifest),
        bytes: manifest.bytes(),
        stored_bytes: stored_bytes(&manifest),
        packs,
        fetch_bytes,
        free_bytes: free_bytes(into),
    })
}

/// Number of packs to be read, and of their bytes.
fn to_fetch(manifest: &Manifest) -> (u64, u64) {
    let mut used: BTreeMap<u32, BTreeMap<u64, u32>> = BTreeMap::new();
    for run in manifest.files.iter().flat_map(|file| &file.runs) {
        used.entry(run.pack).or_default().insert(run.frame_at, run.frame_bytes);
    }
    let bytes = used.iter().filter_map(|(pack, frames)| {
        let pack = manifest.packs.get(usize::try_from(*pack).ok()?)?;
        let ranges = ranges(pack.bytes, frames.iter().map(|(at, bytes)| (*at, *bytes)));
        Some(ranges.map_or(pack.bytes, |ranges| bytes_of(&ranges)))
    });
    (used.len() as u64, bytes.fold(0, u64::saturating_add))
}

/// Free bytes of the file system that contains `path` or its nearest existing parent.
fn free_bytes(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|path| path.exists()).filter(|path| !path.as_os_str().is_empty());
    files::free_bytes(existing.unwrap_or_else(|| Path::new("."))).ok()
}
