//! Files whose keys are wrapped by a MySQL master key: tablespaces and redo logs.

use std::collections::BTreeMap;
use std::path::Path;

use innodb::Lsn;
use innodb::keys::master_key_name;
use innodb::redo::{INFO_OFFSET, RedoKey};
use innodb::tablespace::{Encryption, MySqlMagic, TablespaceKind};

use crate::check::Context;
use crate::facts::files::{Content, FileFact};
use crate::facts::host::Role;
use crate::finding::Evidence;

/// A tablespace or log of the server whose key is wrapped by a MySQL master key.
#[derive(Debug, Clone)]
pub(super) struct Wrapped<'a> {
    /// Name in findings.
    pub(super) name: &'a str,
    /// Path of the file.
    pub(super) path: &'a str,
    /// Number of the master key; 0 is the public bootstrap key.
    pub(super) id: u32,
    /// The server's UUID in the key's name; `None` in files of 5.7.11.
    pub(super) uuid: Option<&'a str>,
    /// Offset of the encryption information in the file, in bytes.
    pub(super) offset: u64,
    /// Its first seven bytes in hexadecimal: magic and number.
    pub(super) hex: String,
    /// Whether it is recreated at every start, and not re-wrapped by a rotation.
    pub(super) temporary: bool,
}

impl Wrapped<'_> {
    /// Name of its master key in a keyring.
    pub(super) fn key_name(&self) -> String {
        master_key_name(self.uuid.unwrap_or("SERVER_ID"), self.id)
    }

    /// The bytes that name the key, as evidence.
    pub(super) fn evidence(&self) -> Evidence {
        Evidence::Bytes {
            path: self.path.to_owned(),
            offset: self.offset,
            hex: self.hex.clone(),
            meaning: format!("encryption information: wrapped by {}", self.key_name()),
        }
    }
}

/// The first seven bytes of the encryption information: magic and number.
fn info_hex(magic: MySqlMagic, number: u32) -> String {
    let [first, second, third] = magic.as_bytes();
    format!("{first:02x}{second:02x}{third:02x}{number:08x}")
}

/// Files with wrapped keys: the server's own (`live`), or those of its backups.
pub(super) fn wrapped<'a>(cx: &'a Context<'_>, live: bool) -> Vec<Wrapped<'a>> {
    let files = cx.facts.files.iter().flat_map(|files| &files.files);
    let wanted: Vec<&FileFact> = files.filter(|file| (file.role != Role::Backup) == live).collect();
    let logs = newest_redo_headers(&wanted);
    let of_log = |file: &FileFact| {
        redo_key(file).is_none() || logs.get(directory(file)).is_some_and(|log| log.path == file.path)
    };
    wanted.into_iter().filter(|file| of_log(file)).filter_map(wrapped_file).collect()
}

/// The redo log files whose headers count. The log has one key; each file with a checkpoint stores it wrapped by the
/// master key of that time. The newest header is enough for older files, and for reused ones, which keep their previous
/// header until they get a checkpoint. No server re-wraps those (seen on 9.7.4).
fn newest_redo_headers<'a>(files: &[&'a FileFact]) -> BTreeMap<&'a Path, &'a FileFact> {
    let mut newest: BTreeMap<&Path, &FileFact> = BTreeMap::new();
    for file in files.iter().filter(|file| redo_key(file).is_some()) {
        let known = newest.entry(directory(file)).or_insert(file);
        if redo_checkpoint(file) > redo_checkpoint(known) {
            *known = file;
        }
    }
    newest
}

fn directory(file: &FileFact) -> &Path {
    Path::new(&file.path).parent().unwrap_or_else(|| Path::new("/"))
}

/// Newest checkpoint in the header.
fn redo_checkpoint(file: &FileFact) -> Option<Lsn> {
    match &file.content {
        Content::Redo { scan } => scan.checkpoint_lsn,
        _ => None,
    }
}

/// Magic, master key number and server UUID of a redo log file with encrypted blocks.
///
/// The header stays when encryption is disabled; the blocks show whether the key is still needed.
fn redo_key(file: &FileFact) -> Option<(MySqlMagic, u32, Option<&str>)> {
    match &file.content {
        Content::Redo { scan } if scan.blocks.encrypted > 0 => match &scan.key {
            Some(RedoKey::MySql { magic, master_key_id, server_uuid }) => {
                Some((*magic, master_key_id.0, server_uuid.as_deref()))
            }
            _ => None,
        },
        _ => None,
    }
}

fn wrapped_file(file: &FileFact) -> Option<Wrapped<'_>> {
    let ((magic, id, uuid), offset, temporary) = match &file.content {
        Content::Tablespace { scan } => match &scan.page0.encryption {
            Encryption::MySql { magic, master_key_id, server_uuid, .. } => {
                let offset = scan.page0.info_offset();
                let temporary =
                    matches!(scan.page0.kind, TablespaceKind::GlobalTemporary | TablespaceKind::SessionTemporary);
                ((*magic, master_key_id.0, server_uuid.as_deref()), offset, temporary)
            }
            _ => return None,
        },
        _ => (redo_key(file)?, INFO_OFFSET, false),
    };
    let hex = info_hex(magic, id);
    let offset = u64::try_from(offset).ok()?;
    Some(Wrapped { name: &file.name, path: &file.path, id, uuid, offset, hex, temporary })
}
