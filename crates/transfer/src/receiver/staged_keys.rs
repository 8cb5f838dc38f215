//! Rewraps the keys of a staged directory before it is committed.

use std::{io, os::unix::fs::FileExt};

use innodb::{
    crypt::wrapped::{HEAD_BYTES, Secret},
    keys::KeySource,
};
use keyring::WritableKeyring;

use super::{keyring_config::write_configuration, rekey::add_master_keys, staging::Staging};
use crate::{
    error::Error,
    hash::{Hash, chunk_bytes, chunk_hash},
    manifest::Manifest,
    path::RelativePath,
    plan::{Plan, Selection},
    rekey::{KeySink, MasterKeys, RekeyFault, Rekeyed, check_names, unwrap_keys},
    wire::{Entry, Kind},
};

/// Unwraps the keys of all staged files with `keys`, and wraps them with new master keys in `keyring`. If a file
/// configures a keyring, it is changed to name this one. `list` gets the hashes of the changed files; `hash_with` returns
/// the hash of a file that has another first chunk, from the hash of that chunk.
///
/// # Errors
/// [`RekeyFault`]. Some files may already be changed, so a new attempt has to write their first chunks again.
pub fn rekey_staged(
    staging: &Staging,
    keys: &dyn KeySource,
    keyring: &WritableKeyring,
    list: &mut Manifest,
    hash_with: impl Fn(&RelativePath, Hash) -> io::Result<Option<Hash>>,
) -> Result<Rekeyed, RekeyFault> {
    let plan = Plan::scan(&staging.files_path(), &Selection::default())?;
    let mut secrets = Collected::default();
    unwrap_keys(&plan, keys, &mut secrets)?;
    let entries: Vec<Entry> = list.entries.iter().map(|(entry, _)| entry.clone()).collect();
    let masters = add_master_keys(staging, keyring, secrets.0.iter().map(|(_, secret)| secret), &entries)?;
    for (number, secret) in &secrets.0 {
        let Some(planned) = plan.entries.get(*number) else { continue };
        let hash = rewrap_file(staging, &planned.entry, secret, &masters, &hash_with)?;
        let listed = list.entries.iter_mut().find(|(entry, _)| entry.path == planned.entry.path);
        if let Some((_, listed)) = listed {
            *listed = Some(hash);
        }
    }
    let is_named = write_configuration(staging, keyring, list)?;
    let rekeyed = masters.summary(secrets.0.len(), keyring, is_named);
    check_names(keyring, &rekeyed.master_keys, || Error::KeysLost { path: keyring.path().to_owned() })?;
    Ok(rekeyed)
}

/// Rewraps the key of one file. Returns the file's new hash.
fn rewrap_file(
    staging: &Staging,
    entry: &Entry,
    secret: &Secret,
    masters: &MasterKeys,
    hash_with: &impl Fn(&RelativePath, Hash) -> io::Result<Option<Hash>>,
) -> Result<Hash, Error> {
    let path = staging.path_of(&entry.path);
    let failed = |source| Error::Target { path: path.clone(), doing: "cannot be rewritten", source };
    let Kind::File { bytes } = entry.kind else { return Err(Error::Stopped) };
    let file = staging.open_file(&mut staging.parents(), &entry.path)?;
    let mut first = vec![0; chunk_bytes(bytes, 0)];
    file.read_exact_at(&mut first, 0).map_err(failed)?;
    let head = first.len().min(HEAD_BYTES);
    let Some(head) = first.get_mut(..head) else { return Err(Error::Stopped) };
    masters.rewrap(secret, head, || path.clone())?;
    file.write_all_at(head, 0).and_then(|()| file.sync_all()).map_err(failed)?;
    let hash = hash_with(&entry.path, chunk_hash(bytes, 0, &first));
    hash.map_err(|source| Error::Target { path, doing: "cannot be compared with its hashes", source })?
        .ok_or(Error::Stopped)
}

/// Unwrapped keys, by the number of the file.
#[derive(Default)]
struct Collected(Vec<(usize, Secret)>);

impl KeySink for Collected {
    fn add(&mut self, file: usize, secret: Secret) -> Result<(), Error> {
        self.0.push((file, secret));
        Ok(())
    }

    fn keep_alive(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// Checks that the committed files were wrapped with keys of this keyring.
///
/// # Errors
/// [`Error::CommittedOtherwise`].
pub fn check_committed(staging: &Staging, keyring: &WritableKeyring, into: &std::path::Path) -> Result<(), Error> {
    let otherwise = || Error::CommittedOtherwise { path: into.to_owned() };
    let Some(mark) = staging.mark()? else { return Ok(()) };
    check_names(keyring, &mark.master_keys.ok_or_else(otherwise)?, otherwise)
}
