//! Wraps keys with the receiver's own master key, so that donor and joiner never share one.
//!
//! The wrapped key is in the first bytes of a file. It is replaced after the first chunk was received and its hash
//! checked, but before the chunk is written: nothing on disk is ever wrapped by the donor's master key. The manifest
//! has the hashes of what was written.

use std::{
    collections::HashMap,
    io,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use files::Buffer;
use innodb::crypt::wrapped::{HEAD_BYTES, Secret, Wrapped};
use keyring::WritableKeyring;

use crate::{
    error::Error,
    hash::{Hash, chunk_hash},
    manifest::Manifest,
    receiver::{chunk_index::ChunkIndex, staging::Staging},
    rekey::{MasterKeys, Rekeyed},
    tls::ControlChannel,
    wire::{Control, Entry, Kind},
};

/// Keys to wrap, and the master keys to wrap them with.
#[derive(Debug)]
pub(super) struct Rekeying {
    secrets: HashMap<usize, Secret>,
    masters: MasterKeys,
    /// Hashes of first chunks as written, if they differ from the received ones.
    written: Mutex<HashMap<usize, Hash>>,
}

impl Rekeying {
    /// Receives the sender's keys, and generates the master keys for them.
    pub(super) fn agree(
        control: &mut ControlChannel,
        staging: &Staging,
        target_keyring: &WritableKeyring,
        entries: &[Entry],
    ) -> Result<Self, Error> {
        let secrets = secrets(control, entries)?;
        let masters = add_master_keys(staging, target_keyring, secrets.values(), entries)?;
        Ok(Self { secrets, masters, written: Mutex::default() })
    }

    /// Wraps the key in the first chunk of a file. Returns whether it has one: then the bytes to
    /// write are in `room`.
    pub(super) fn first_chunk(
        &self,
        file: usize,
        path: impl Fn() -> PathBuf + Copy,
        file_bytes: u64,
        bytes: &[u8],
        room: &mut Buffer,
    ) -> Result<bool, Error> {
        let refused = |reason: String| Error::Rekey { path: path(), reason };
        let Some(secret) = self.secrets.get(&file) else {
            let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes);
            return match Wrapped::find(head) {
                // A key that the sender overlooked must not stay wrapped by the donor's master key.
                Some(wrapped) => Err(refused(format!("it came without ({})", wrapped.master_key_name()))),
                None => Ok(false),
            };
        };
        let room = room.take(bytes.len());
        room.copy_from_slice(bytes);
        self.masters.rewrap(secret, room, path)?;
        let hash = chunk_hash(file_bytes, 0, room);
        self.written.lock().unwrap_or_else(PoisonError::into_inner).insert(file, hash);
        Ok(true)
    }

    /// Converts the manifest of what was received to that of what was written.
    pub(super) fn manifest(&self, mut came: Manifest, chunk_index: &ChunkIndex) -> io::Result<Manifest> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, first) in &*written {
            let Some((entry, hash)) = came.entries.get_mut(*number) else { continue };
            *hash = chunk_index.file_hash(*number, entry, Some(*first))?;
        }
        Ok(came)
    }

    pub(super) fn summary(&self, target_keyring: &WritableKeyring, is_named: bool) -> Rekeyed {
        self.masters.summary(self.secrets.len(), target_keyring, is_named)
    }
}

/// Adds master keys to a keyring. The staging directory records them, so that the next attempt can name those of an
/// interrupted one.
pub(super) fn add_master_keys<'s>(
    staging: &Staging,
    target_keyring: &WritableKeyring,
    secrets: impl Iterator<Item = &'s Secret>,
    entries: &[Entry],
) -> Result<MasterKeys, Error> {
    let record = |name: &str| staging.record_master_key(name);
    MasterKeys::add(target_keyring, secrets, entries, &record, staging.master_keys()?)
}

/// First chunks with a wrapped key have to be sent again: they may be from an attempt without new keys.
pub(super) fn forget_first_chunks(staging: &Staging, entries: &[Entry], chunk_index: &ChunkIndex) -> Result<(), Error> {
    let mut parents = staging.parents();
    for (file, _) in chunk_index.runs().into_iter().filter(|(_, run)| run.start == 0) {
        let Some(entry) = entries.get(file) else { continue };
        let mut head = vec![0; HEAD_BYTES];
        let read = files::ReadAt::read_at(&staging.open_file(&mut parents, &entry.path)?, 0, &mut head);
        head.truncate(read.unwrap_or_default());
        if Wrapped::find(&head).is_some() {
            chunk_index.remove(file, 0..1);
        }
    }
    Ok(())
}

fn secrets(control: &mut ControlChannel, entries: &[Entry]) -> Result<HashMap<usize, Secret>, Error> {
    let mut secrets = HashMap::new();
    loop {
        match control.expect()? {
            Control::Unwrapped { file, secret } => {
                let number = usize::try_from(file).unwrap_or(usize::MAX);
                let is_file = entries.get(number).is_some_and(|entry| matches!(entry.kind, Kind::File { .. }));
                let secret = Secret::from_bytes(&secret.0).filter(|_| is_file);
                let secret = secret.ok_or_else(|| Error::protocol(control.peer(), "a key of no file"))?;
                if secrets.insert(number, secret).is_some() {
                    return Err(Error::protocol(control.peer(), "two keys of one file"));
                }
            }
            Control::UnwrappedEnd { files } if usize::try_from(files) == Ok(secrets.len()) => {
                return Ok(secrets);
            }
            Control::Ping => {}
            Control::Failed { reason } => {
                return Err(Error::Peer { peer: control.peer().to_owned(), reason });
            }
            _ => return Err(Error::protocol(control.peer(), "unexpected message")),
        }
    }
}
