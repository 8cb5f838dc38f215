//! Galera's write-set cache: `galera.cache` and `gcache.page.*`.
//!
//! Write-sets are row changes. Community Galera cannot encrypt the cache. Percona XtraDB Cluster can, and the preamble
//! records it.
//!
//! Source: docs/formats, "Coverage" (rows readable in community Galera); preamble keys from Percona's documentation of
//! write-set encryption; no sample file.

use files::ReadAt;
use serde::{Deserialize, Serialize};

use crate::{
    bytes::Bytes,
    error::ScanError,
    randomness::{StreamSample, sample},
    read::{fill, length},
};

/// Bytes of the text at the start of `galera.cache`.
const PREAMBLE_BYTES: usize = 1024;

/// Result of reading a write-set cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheScan {
    /// The text at the start of `galera.cache`; page files have none.
    pub preamble: Option<Preamble>,
    /// Content after the preamble.
    pub content: StreamSample,
}

/// Text at the start of `galera.cache`. Key numbers are not secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preamble {
    /// `Version:`.
    pub version: Option<String>,
    /// `GID:`, the cluster's uuid.
    pub cluster_uuid: Option<String>,
    /// `synced:`, whether the server was stopped cleanly.
    pub synced: Option<bool>,
    /// `enc_encrypted:`; `None` in community Galera, which cannot encrypt.
    pub encrypted: Option<bool>,
    /// `enc_mk_id:`, number of the master key.
    pub master_key_id: Option<u32>,
}

/// Reads a write-set cache; at most `max_bytes` of its content.
///
/// # Errors
/// [`ScanError::EmptyFile`], [`ScanError::Io`].
pub fn scan<R: ReadAt + ?Sized>(source: &R, max_bytes: u64) -> Result<CacheScan, ScanError> {
    if length(source)? == 0 {
        return Err(ScanError::EmptyFile);
    }
    let mut buf = vec![0; PREAMBLE_BYTES];
    let preamble = recognise(fill(source, 0, &mut buf)?);
    let from = if preamble.is_some() { 1024 } else { 0 };
    Ok(CacheScan { preamble, content: sample(source, from, max_bytes)? })
}

/// Parses the preamble; `None` if the file does not start with one.
#[must_use]
pub fn recognise(head: &[u8]) -> Option<Preamble> {
    let text = head.range(0, PREAMBLE_BYTES);
    let text = text.split(|byte| *byte == 0).next()?;
    let text = String::from_utf8_lossy(text);
    let mut found = Preamble::default();
    for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        match key.trim() {
            "Version" => found.version = Some(clip(value)),
            "GID" => found.cluster_uuid = Some(clip(value)),
            "synced" => found.synced = Some(value == "1"),
            "enc_encrypted" => found.encrypted = Some(value == "1"),
            "enc_mk_id" => found.master_key_id = value.parse().ok(),
            _ => {}
        }
    }
    (found.version.is_some() && found.cluster_uuid.is_some()).then_some(found)
}

fn clip(value: &str) -> String {
    value.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.')).take(36).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PXC: &str = "Version: 2\nGID: 3afaa71d-6665-11ed-98de-2aba4aabc65e\nsynced: 0\n\
        enc_version: 1\nenc_encrypted: 1\nenc_mk_id: 3\n";

    #[test]
    fn preamble_of_an_encrypted_cache() {
        let found = recognise(PXC.as_bytes()).unwrap();
        assert_eq!(found.encrypted, Some(true));
        assert_eq!(found.master_key_id, Some(3));
        assert_eq!(found.synced, Some(false));
        assert_eq!(recognise(b"binlog"), None);
    }

    #[test]
    fn clear_write_sets_are_found() {
        let mut file = b"Version: 2\nGID: 00000000-0000-0000-0000-000000000000\n".to_vec();
        file.resize(1024, 0);
        file.extend(b"sealant-name-0001 sealant note ".repeat(300));
        let found = scan(&file, u64::MAX).unwrap();
        assert_eq!(found.preamble.unwrap().encrypted, None);
        assert!(found.content.has_clear());
    }
}
