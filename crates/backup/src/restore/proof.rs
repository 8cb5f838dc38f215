//! Reads the staged files back from disk and verifies them, with the keys of another keyring if they are to be wrapped
//! with those.

use std::collections::HashMap;

use archive::Manifest;
use codec::path::RelativePath;
use innodb::server_file::ARIA_CONTROL;
use keyring::WritableKeyring;
use transfer::{
    receiver::{Staging, rekey_staged},
    rekey::{RekeyFault, Rekeyed},
};
use verify::Keys;

use super::{PageCounts, RestoreOptions, RestoreProgress, read_back};
use crate::Error;

/// Results of reading everything back from disk.
pub(super) struct Proven {
    pub(super) pages: PageCounts,
    pub(super) report: verify::Report,
    pub(super) rekeyed: Option<Rekeyed>,
    pub(super) new_keys: Option<Keys>,
}

/// Reads everything back from disk, compares it with the backup and verifies every page. If the files' keys are to be
/// rewrapped, that is done before the pages are verified, with the new keys.
pub(super) fn prove_staged(
    staging: &Staging,
    manifest: &Manifest,
    options: &RestoreOptions<'_>,
    progress: &RestoreProgress,
    list: &mut transfer::manifest::Manifest,
) -> Result<Proven, Error> {
    let Some(keyring) = options.rekey else {
        let (pages, report) =
            read_back::read_back_and_judge(staging, manifest, options.keys, options.streams, progress)?;
        return Ok(Proven { pages, report, rekeyed: None, new_keys: None });
    };
    read_back::read_back(staging, manifest, options.streams, progress)?;
    let rekeyed = rekey(staging, manifest, options, keyring, list)?;
    let keys = keys_of(keyring)?;
    let (pages, report) = read_back::pages(&staging.files_path(), &keys, options.streams);
    Ok(Proven { pages, report, rekeyed: Some(rekeyed), new_keys: Some(keys) })
}

/// Loads the keys of the keyring that wraps the keys of the restored files.
pub(super) fn keys_of(keyring: &WritableKeyring) -> Result<Keys, Error> {
    let mut keys = Keys::default();
    keys.add_keyring(keyring.path())?;
    Ok(keys)
}

/// Rewraps the keys of the staged files, which were compared with the backup before, with another keyring.
fn rekey(
    staging: &Staging,
    manifest: &Manifest,
    options: &RestoreOptions<'_>,
    keyring: &WritableKeyring,
    list: &mut transfer::manifest::Manifest,
) -> Result<Rekeyed, Error> {
    let chunks: HashMap<_, _> = manifest.files.iter().map(|file| (&file.entry.path, &file.chunks)).collect();
    let hash_with = |path: &RelativePath, first| match chunks.get(path) {
        Some(chunks) => chunks.file_hash_with(Some(first)),
        None => Ok(None),
    };
    let rekeyed = rekey_staged(staging, options.keys, keyring, list, hash_with);
    rekeyed.map_err(|fault| match fault {
        RekeyFault::Transfer(error) => error.into(),
        fault => Error::Rekey(fault),
    })
}

/// Rejects a backup of a MariaDB server: no keyring wraps its keys.
pub(super) fn check_rekey(manifest: &Manifest) -> Result<(), Error> {
    // Every MariaDB server has this file, since its system tables use Aria. No other server has it.
    let mut files = manifest.files.iter();
    if manifest.keys.is_empty() && !files.any(|file| file.entry.path.as_bytes() == ARIA_CONTROL.as_bytes()) {
        return Ok(());
    }
    Err(Error::RekeyMariaDb { number: manifest.head.number })
}
