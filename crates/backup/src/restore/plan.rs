//! Plans a restore without carrying it out.

use std::{collections::BTreeMap, fs::File, io, path::Path};

use agefile::Identity;
use archive::Manifest;
use verify::Keys;

use super::{
    ExternalLinks, Opened, check_rekey, entries, fetch, file_count,
    pack_runs::PackRuns,
    ranges::{bytes_of, ranges},
    scratch::{existing, lists, scratch},
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
    let mut manifest = opened.manifest(repository, identities, lists(into)?)?;
    links.apply(repository, &mut manifest, into)?;
    if is_rekeyed {
        check_rekey(&manifest)?;
    }
    let entries = entries(&manifest, opened)?;
    fetch::spaces(&manifest.files, keys)?;
    let (packs, fetch_bytes) = to_fetch(&manifest, scratch(into)?).map_err(Error::Lists)?;
    Ok(RestorePlan {
        entries: entries.len() as u64,
        files: file_count(&manifest),
        bytes: manifest.bytes(),
        stored_bytes: stored_bytes(&manifest).map_err(Error::Lists)?,
        packs,
        fetch_bytes,
        free_bytes: files::free_bytes(existing(into)).ok(),
    })
}

/// Number of packs to be read, and of their bytes. `scratch` is an empty file.
fn to_fetch(manifest: &Manifest, scratch: File) -> io::Result<(u64, u64)> {
    let (by_pack, mut fetch_bytes) = (PackRuns::sort(manifest, scratch, &|_, _| true)?, 0_u64);
    for (number, pack) in manifest.packs.iter().enumerate() {
        let mut frames: BTreeMap<u64, u32> = BTreeMap::new();
        for part in by_pack.of(number).iter() {
            let run = part?.run;
            frames.insert(run.frame_at, run.frame_bytes);
        }
        if !frames.is_empty() {
            let ranges = ranges(pack.bytes, frames.into_iter());
            let bytes = ranges.map_or(pack.bytes, |ranges| bytes_of(&ranges));
            fetch_bytes = fetch_bytes.saturating_add(bytes);
        }
    }
    Ok((by_pack.wanted(), fetch_bytes))
}
