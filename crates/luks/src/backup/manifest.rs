//! Manifest of a header backup. It identifies the volume and the header, so that a check years later can show whether
//! the backup still belongs to them.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use files::sha256_hex;

use super::Header;
use crate::Error;
use crate::volume::{Format, Volume};

/// Schema id of manifests.
const SCHEMA: &str = "sealant.luks-header/1";
/// A manifest with all 32 slots takes a few kilobytes.
const MAX_BYTES: u64 = 1 << 20;

/// Describes a header backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    schema: String,
    /// When the backup was taken.
    pub made_at: Timestamp,
    /// `luks1` or `luks2`.
    pub format: String,
    /// UUID of the volume.
    pub uuid: String,
    /// The header's sequence number; 0 for LUKS1.
    pub sequence: u64,
    /// Slots that held keys at that time.
    pub slots: Vec<SlotMark>,
    /// SHA-256 of salt and digest of each volume key that encrypted data.
    pub volume_keys: Vec<String>,
    /// Size of the backup.
    pub bytes: u64,
    /// SHA-256 of the backup.
    pub sha256: String,
}

/// Identifies the key in a slot without revealing anything that opens it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotMark {
    /// Number of the slot.
    pub id: u32,
    /// SHA-256 of the slot's salt, which changes with every new key.
    pub key: String,
}

impl Manifest {
    pub(super) fn new(header: &Header) -> Self {
        let Header { volume, bytes, .. } = header;
        Self {
            schema: SCHEMA.to_owned(),
            made_at: Timestamp::now(),
            format: if volume.format == Format::Luks1 { "luks1" } else { "luks2" }.to_owned(),
            uuid: volume.uuid.clone(),
            sequence: volume.sequence,
            slots: slots(volume),
            volume_keys: volume_keys(volume),
            bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            sha256: sha256_hex(bytes),
        }
    }

    /// Path of the manifest of the backup at `path`.
    #[must_use]
    pub fn path(path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(".manifest");
        PathBuf::from(name)
    }

    /// Reads the manifest beside a backup; `None` if there is none, as for backups that cryptsetup made.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Manifest`].
    pub fn beside(backup: &Path) -> Result<Option<Self>, Error> {
        let path = Self::path(backup);
        let length = match std::fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(Error::io(&path))?.len(),
        };
        let wrong = |why: String| Error::Manifest { path: path.clone(), why };
        if length > MAX_BYTES {
            return Err(wrong("too large".to_owned()));
        }
        let bytes = std::fs::read(&path).map_err(Error::io(&path))?;
        let manifest: Self = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        if manifest.schema == SCHEMA { Ok(Some(manifest)) } else { Err(wrong(format!("schema {}", manifest.schema))) }
    }

    /// Whether the bytes of `header` are exactly those that were saved.
    #[must_use]
    pub fn describes(&self, header: &Header) -> bool {
        sha256_hex(&header.bytes) == self.sha256 && header.volume.uuid == self.uuid
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        let mut json = serde_json::to_vec_pretty(self).unwrap_or_default();
        json.push(b'\n');
        json
    }
}

fn slots(volume: &Volume) -> Vec<SlotMark> {
    let keys = volume.slots.iter().filter(|slot| slot.holds_key());
    keys.map(|slot| SlotMark { id: slot.id, key: sha256_hex(&slot.salt) }).collect()
}

fn volume_keys(volume: &Volume) -> Vec<String> {
    volume.current_digests().map(|digest| sha256_hex(&[digest.proof.0.as_slice(), &digest.proof.1].concat())).collect()
}
