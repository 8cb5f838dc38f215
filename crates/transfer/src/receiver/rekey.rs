//! Wraps keys with the receiver's own master key, so that donor and joiner never share one.
//!
//! The wrapped key is in the first bytes of a file. It is replaced after the first chunk was
//! received and its hash checked, and before it is written: nothing on disk is ever wrapped by the
//! donor's master key. The manifest has the hashes of what was written.

use std::{
    collections::HashMap,
    fmt, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use files::Buffer;
use innodb::crypt::wrapped::{HEAD_BYTES, MasterKey, Secret, Wrapped, rewrap};
use keyring::{AddedKey, KeyringError, LoadedBy, Purpose, WritableKeyring};
use zeroize::Zeroizing;

use crate::{
    error::TransferError,
    hash::{Hash, chunk_hash},
    manifest::Manifest,
    receiver::{chunk_index::ChunkIndex, staging::Staging},
    tls::ControlChannel,
    wire::{Control, Entry, Kind},
};

/// What was wrapped again, and with which keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rekeyed {
    /// Number of files.
    pub files: usize,
    /// Names of the master keys.
    pub master_keys: Vec<String>,
    /// Path of the keyring with these keys.
    pub keyring: PathBuf,
    /// The part of the server that loads it.
    pub loaded_by: LoadedBy,
    /// Whether a configuration in the data directory names that keyring.
    pub is_named: bool,
}

/// What was done, in one sentence.
impl fmt::Display for Rekeyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.files {
            0 => f.write_str("no file holds a wrapped key; nothing was wrapped anew"),
            files => write!(f, "the keys of {files} files are now wrapped by {}", self.master_keys.join(" and ")),
        }
    }
}

impl Rekeyed {
    /// How a server is started on it.
    #[must_use]
    pub fn how_to_start(&self) -> String {
        let keyring = self.keyring.display();
        if self.loaded_by == LoadedBy::Plugin {
            return format!("start MySQL 5.7 with early-plugin-load=keyring_file.so and keyring_file_data={keyring}");
        }
        if self.is_named {
            return format!(
                "component_keyring_file.cnf in the data directory names {keyring} now: start the server as it is"
            );
        }
        format!(
            "start the server with component_keyring_file, and \"path\": \"{keyring}\" in its component_keyring_file.cnf"
        )
    }
}

/// Keys to wrap, and the master keys to wrap them with.
#[derive(Debug)]
pub(super) struct Rekeying {
    secrets: HashMap<usize, Secret>,
    innodb: Option<MasterKey>,
    replication: Option<MasterKey>,
    names: Vec<String>,
    loaded_by: LoadedBy,
    /// Hashes of first chunks as written, if they differ from the received ones.
    written: Mutex<HashMap<usize, Hash>>,
}

impl Rekeying {
    /// Receives the sender's keys, and generates the master keys for them.
    pub(super) fn agree(
        control: &mut ControlChannel,
        target_keyring: &WritableKeyring,
        entries: &[Entry],
    ) -> Result<Self, TransferError> {
        let secrets = secrets(control, entries)?;
        let (mut names, loaded_by) = (Vec::new(), loaded_by(entries));
        let mut master = |purpose, wanted: fn(&Secret) -> bool| {
            let needed = secrets.values().any(wanted);
            needed.then(|| add(target_keyring, purpose, loaded_by, &mut names)).transpose()
        };
        let innodb = master(Purpose::Innodb, |secret| matches!(secret, Secret::Space(_)))?;
        let replication = master(Purpose::Replication, |secret| matches!(secret, Secret::Password(_)))?;
        Ok(Self { secrets, innodb, replication, names, loaded_by, written: Mutex::default() })
    }

    /// Wraps the key in the first chunk of a file. Returns whether it has one: then the bytes to
    /// write are in `room`.
    pub(super) fn first_chunk(
        &self,
        file: usize,
        path: impl Fn() -> PathBuf,
        file_bytes: u64,
        bytes: &[u8],
        room: &mut Buffer,
    ) -> Result<bool, TransferError> {
        let refused = |reason: String| TransferError::Rekey { path: path(), reason };
        let Some(secret) = self.secrets.get(&file) else {
            let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes);
            return match Wrapped::find(head) {
                // A key that the sender overlooked must not stay wrapped by the donor's master key.
                Some(wrapped) => Err(refused(format!("it came without ({})", wrapped.master_key_name()))),
                None => Ok(false),
            };
        };
        let master = match secret {
            Secret::Space(_) => self.innodb.as_ref(),
            Secret::Password(_) => self.replication.as_ref(),
        };
        let master = master.ok_or(TransferError::Stopped)?;
        let mut iv = [0; 16];
        SystemRandom::new().fill(&mut iv).map_err(|_| TransferError::Randomness)?;
        let room = room.take(bytes.len());
        room.copy_from_slice(bytes);
        rewrap(room, secret, master, iv).map_err(|fault| refused(fault.to_string()))?;
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
        let (files, master_keys, keyring) = (self.secrets.len(), self.names.clone(), target_keyring.path().to_owned());
        Rekeyed { files, master_keys, keyring, loaded_by: self.loaded_by, is_named }
    }
}

/// First chunks with a wrapped key have to be sent again: they may be from an attempt without new
/// keys.
pub(super) fn forget_first_chunks(
    staging: &Staging,
    entries: &[Entry],
    chunk_index: &ChunkIndex,
) -> Result<(), TransferError> {
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

/// Checks that the keyring is outside of the target, where a received file could replace it.
pub(super) fn check_location(target_keyring: &WritableKeyring, into: &Path) -> Result<(), TransferError> {
    let absolute = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    let name = target_keyring.path().file_name().unwrap_or_default();
    match (absolute(target_keyring.directory()), absolute(into)) {
        (Ok(parent), Ok(into)) if !parent.join(name).starts_with(&into) => Ok(()),
        _ => Err(TransferError::KeyringInside { path: target_keyring.path().to_owned() }),
    }
}

/// Checks that the keyring has keys of these names.
pub(super) fn check_names(
    target_keyring: &WritableKeyring,
    names: &[String],
    missing: impl Fn() -> TransferError,
) -> Result<(), TransferError> {
    for name in names {
        let found = target_keyring.has(name);
        let found =
            found.map_err(|source| TransferError::Keyring { path: target_keyring.path().to_owned(), source })?;
        if !found {
            return Err(missing());
        }
    }
    Ok(())
}

fn secrets(control: &mut ControlChannel, entries: &[Entry]) -> Result<HashMap<usize, Secret>, TransferError> {
    let mut secrets = HashMap::new();
    loop {
        match control.expect()? {
            Control::Unwrapped { file, secret } => {
                let number = usize::try_from(file).unwrap_or(usize::MAX);
                let is_file = entries.get(number).is_some_and(|entry| matches!(entry.kind, Kind::File { .. }));
                let secret = Secret::from_bytes(&secret.0).filter(|_| is_file);
                let secret = secret.ok_or_else(|| TransferError::protocol(control.peer(), "a key of no file"))?;
                if secrets.insert(number, secret).is_some() {
                    return Err(TransferError::protocol(control.peer(), "two keys of one file"));
                }
            }
            Control::UnwrappedEnd { files } if usize::try_from(files) == Ok(secrets.len()) => {
                return Ok(secrets);
            }
            Control::Ping => {}
            Control::Failed { reason } => {
                return Err(TransferError::Peer { peer: control.peer().to_owned(), reason });
            }
            _ => return Err(TransferError::protocol(control.peer(), "unexpected message")),
        }
    }
}

/// MySQL 5.7 stores each table's definition in a file next to it, newer versions in `mysql.ibd`.
fn loaded_by(entries: &[Entry]) -> LoadedBy {
    let has_dictionary = entries.iter().any(|entry| entry.path.as_bytes() == b"mysql.ibd");
    let has_definitions = || entries.iter().any(|entry| entry.path.as_path().extension().is_some_and(|of| of == "frm"));
    if !has_dictionary && has_definitions() { LoadedBy::Plugin } else { LoadedBy::Component }
}

/// Adds a master key to the keyring, and its name to `names`.
fn add(
    target_keyring: &WritableKeyring,
    purpose: Purpose,
    loaded_by: LoadedBy,
    names: &mut Vec<String>,
) -> Result<MasterKey, TransferError> {
    let unusable = |source: KeyringError| TransferError::Keyring { path: target_keyring.path().to_owned(), source };
    let AddedKey { name, server_uuid, number, key } = target_keyring.add(purpose, loaded_by).map_err(unusable)?;
    names.push(name);
    let key: &[u8; 32] = key.as_bytes().try_into().map_err(|_| unusable(KeyringError::Cipher))?;
    Ok(MasterKey { server_uuid, number, key: Zeroizing::new(*key) })
}
