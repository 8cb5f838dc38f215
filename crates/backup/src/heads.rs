//! Heads: the first bytes of each file, which identify its key. A MySQL redo file without key information uses the key
//! information of another file of the same log.

use std::collections::BTreeMap;

use archive::manifest::StoredFile;
use codec::{
    page::{KeyFileKeys, SpaceKeys},
    path::RelativePath,
};
use innodb::{
    keys::KeySource,
    redo::checkpoint_lsn,
    server_file,
    verify::redo::{RedoKeyInfo, key_info},
};

/// Length of the head of a log: the longest header, used by MariaDB since 10.8.
const LOG_HEAD_BYTES: usize = 16 << 10;

/// Key information of redo logs, by directory.
#[derive(Debug, Default)]
pub(crate) struct RedoKeys(BTreeMap<Vec<u8>, RedoKeyInfo>);

impl RedoKeys {
    /// Parses the heads of files.
    pub(crate) fn new<'h, H: AsRef<[u8]>>(heads: impl Iterator<Item = (&'h RelativePath, H)>) -> Self {
        let mut newest: BTreeMap<Vec<u8>, RedoKeyInfo> = BTreeMap::new();
        for (path, head) in heads.filter(|(path, _)| is_redo(path)) {
            let Some(info) = key_info(head.as_ref()) else { continue };
            let directory = directory(path);
            if newest.get(&directory).is_none_or(|known| known.checkpoint_lsn < info.checkpoint_lsn) {
                newest.insert(directory, info);
            }
        }
        Self(newest)
    }

    /// Parses the heads of logs in a manifest.
    pub(crate) fn of(files: &[StoredFile]) -> Self {
        let logs = files.iter().filter(|file| is_redo(&file.entry.path));
        Self::new(logs.filter_map(|file| Some((&file.entry.path, file.head.as_ref()?.bytes()))))
    }

    /// The encryption of a file with the given keys; `None` if it is not encrypted or no key fits.
    pub(crate) fn space(&self, path: &RelativePath, head: &[u8], keys: &dyn KeySource) -> Option<SpaceKeys> {
        SpaceKeys::from_head(head, keys, KeyFileKeys::Send, || self.0.get(&directory(path)).cloned())
    }
}

/// Length of the head that the manifest keeps.
pub(crate) fn head_bytes(unit_bytes: usize, is_tablespace: bool) -> usize {
    if is_tablespace { unit_bytes } else { LOG_HEAD_BYTES }
}

/// Newest checkpoint of all redo logs.
pub(crate) fn newest_checkpoint<'h>(heads: impl Iterator<Item = (&'h RelativePath, &'h [u8])>) -> Option<u64> {
    let redo = heads.filter(|(path, _)| is_redo(path));
    redo.filter_map(|(_, head)| checkpoint_lsn(head)).map(|lsn| lsn.0).max()
}

/// Whether a path is that of a redo log.
pub(crate) fn is_redo(path: &RelativePath) -> bool {
    path.as_path().file_name().is_some_and(server_file::is_redo)
}

fn directory(path: &RelativePath) -> Vec<u8> {
    path.parent().map(|parent| parent.as_bytes().to_vec()).unwrap_or_default()
}
