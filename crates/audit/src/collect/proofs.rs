//! Tests the key file on page 0 of each encrypted tablespace: a key of the right name may be the wrong key, which a
//! running server notices only at its next start.

use std::path::{Path, PathBuf};

use innodb::keys::master_key_name;
use innodb::tablespace::Encryption;
use keyring::{MysqlKeyring, StoreKind, WRAPPED_BYTES};

use super::view::View;
use crate::facts::files::{Content, FileFact, KeyProof};
use crate::facts::host::Role;

/// Maximum size of page 0.
const PAGE_BYTES: usize = 64 << 10;
/// Offset and length of the UUID, after magic and master key number; the wrapped key follows it.
const UUID_AT: usize = 7;
const UUID_BYTES: usize = 36;

/// Tests every MySQL tablespace outside of backups that names a master key and its server.
pub(super) fn collect(view: &View, files: &[FileFact], live_stores: &[PathBuf]) -> Vec<KeyProof> {
    let stores: Vec<&FileFact> = files.iter().filter(|file| is_store(file, live_stores)).collect();
    let mut proofs = Vec::new();
    // Only one store is open at a time, to keep few keys in memory.
    let mut todo: Vec<(&FileFact, u32, &str)> = files.iter().filter_map(wanted).collect();
    let mut unreadable = None;
    for store in &stores {
        let keys = match read_store(view, store) {
            Ok(keys) => keys,
            Err(error) => {
                unreadable.get_or_insert_with(|| format!("{}: {error}", store.path));
                continue;
            }
        };
        todo.retain(|(file, number, uuid)| {
            let Some(proof) = tried(view, file, *number, uuid, store, &keys) else { return true };
            proofs.push(proof);
            false
        });
    }
    let names: Vec<&str> = stores.iter().map(|store| store.path.as_str()).collect();
    proofs.extend(todo.into_iter().map(|(file, number, uuid)| KeyProof {
        path: file.path.clone(),
        key: master_key_name(uuid, number),
        store: names.join(", "),
        opens: None,
        why: Some(match &unreadable {
            Some(error) => error.clone(),
            None if names.is_empty() => "no key file was found".to_owned(),
            None => "the key is not in the key file".to_owned(),
        }),
    }));
    proofs.sort_by(|a, b| a.path.cmp(&b.path));
    proofs
}

/// Key stores of the running server; without one, any key file that is not in a backup.
pub(super) fn is_store(file: &FileFact, live: &[PathBuf]) -> bool {
    let Content::KeyStore { summary } = &file.content else { return false };
    let holds_keys =
        matches!(summary.kind, StoreKind::ComponentFile | StoreKind::PluginFileV1 | StoreKind::PluginFileV2);
    let in_use = live.is_empty() || live.iter().any(|path| path == Path::new(&file.path));
    holds_keys && in_use && file.role != Role::Backup && !file.name.ends_with(".backup")
}

fn wanted(file: &FileFact) -> Option<(&FileFact, u32, &str)> {
    let Content::Tablespace { scan } = &file.content else { return None };
    match &scan.page0.encryption {
        Encryption::MySql { master_key_id, server_uuid: Some(uuid), .. }
            if master_key_id.0 != 0 && file.role != Role::Backup =>
        {
            Some((file, master_key_id.0, uuid))
        }
        _ => None,
    }
}

pub(super) fn read_store(view: &View, store: &FileFact) -> Result<MysqlKeyring, keyring::Error> {
    let mut file = std::fs::File::from(view.open_file(Path::new(&store.path))?);
    MysqlKeyring::load(&keyring::read(&mut file, store.size_bytes)?)
}

/// `None` if this store has no such key, or the page changed meanwhile.
fn tried(
    view: &View,
    file: &FileFact,
    number: u32,
    uuid: &str,
    store: &FileFact,
    keys: &MysqlKeyring,
) -> Option<KeyProof> {
    let key = master_key_name(uuid, number);
    let master = keys.get(&key)?;
    let page = view.read(Path::new(&file.path), PAGE_BYTES).ok()?;
    let (wrapped, checksum) = wrapped_key(&page, number, uuid)?;
    let opens = keyring::unwraps(master, &wrapped, checksum)?;
    Some(KeyProof { path: file.path.clone(), key, store: store.path.clone(), opens: Some(opens), why: None })
}

/// The wrapped key after the number and UUID that the scan found, and its checksum.
fn wrapped_key(page: &[u8], number: u32, uuid: &str) -> Option<([u8; WRAPPED_BYTES], u32)> {
    let at = page.windows(UUID_BYTES).position(|window| window == uuid.as_bytes())?;
    // Older records may have four zero bytes between number and UUID.
    let head = page.get(at.checked_sub(UUID_AT.saturating_add(4))?..at)?;
    let named = head.windows(4).any(|window| window == number.to_be_bytes());
    let rest = page.get(at.checked_add(UUID_BYTES)?..)?;
    let (wrapped, rest) = rest.split_first_chunk::<WRAPPED_BYTES>()?;
    named.then_some((*wrapped, u32::from_be_bytes(*rest.first_chunk()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrapped_key_is_found_behind_its_name() {
        let uuid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
        let mut page = vec![0; 10390];
        page.extend(b"lCC\0\0\0\x05");
        page.extend(uuid.as_bytes());
        page.extend([9; WRAPPED_BYTES]);
        page.extend(0x0102_0304_u32.to_be_bytes());
        page.resize(16384, 0);
        assert_eq!(wrapped_key(&page, 5, uuid), Some(([9; WRAPPED_BYTES], 0x0102_0304)));
        assert_eq!(wrapped_key(&page, 6, uuid), None);
        assert_eq!(wrapped_key(&page[..10400], 5, uuid), None);
    }
}
