//! Unwraps the keys in the files of a directory that is not being written, so that they can be wrapped with another
//! master key.

use std::path::PathBuf;

use innodb::{
    Lsn,
    binlog::{self, BinlogEncryption},
    crypt::{
        mysql::UnwrapFault,
        redo::{key_records::KeyRecords, mysql::MySqlBlockCipher},
        wrapped::{HEAD_BYTES, Secret, Wrapped},
    },
    file_kind::{self, FileKind},
    keys::KeySource,
    page::{
        checksum::Checksum,
        layout::{HEADER_BYTES, PAGE_BYTES, PAGE_NO},
        mysql,
    },
    redo::{RedoFormat, checkpoint_lsn, mysql_start_lsn, recognise},
    tablespace::{Encryption, MySqlMagic, Page0},
    verify::redo::{KEY_INFO_BYTES, RedoKeyInfo, key_info},
};
use keyring::StoreKind;

use crate::{error::Error, key_files::store_kind, path::RelativePath, plan::Plan, source::SourceFile};

/// Why the keys of a directory cannot be rewrapped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RekeyFault {
    /// No keyring was given.
    #[error("{}: no keyring was given to unwrap its key", path.display())]
    NoKeyring {
        /// Path of the file.
        path: PathBuf,
    },
    /// The key of a file cannot be unwrapped, or the file must not be transferred.
    #[error("{}: {reason}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Why not, as the message gives it.
        reason: String,
        /// Whether a server can start without the file.
        is_optional: bool,
    },
    /// Recovery would restore keys that were wrapped since the last checkpoint.
    #[error("{}: recovery would restore keys that were wrapped since the last checkpoint", path.display())]
    KeyRecords {
        /// The file of the redo log.
        path: PathBuf,
        /// Whether the server is older than MySQL 8.0.30, so that a shutdown does not clear the log.
        is_kept: bool,
    },
    /// A file cannot be read, or a key cannot be passed on.
    #[error(transparent)]
    Transfer(#[from] Error),
}

/// Bytes at the start of a file that contain its key, and the header of page 1 of any tablespace.
const TWO_PAGES_BYTES: usize = HEAD_BYTES + HEADER_BYTES;

/// Receives unwrapped keys.
pub(crate) trait KeySink {
    /// Adds the key of a file, given by its number in the plan.
    fn add(&mut self, file: usize, secret: Secret) -> Result<(), Error>;

    /// Called repeatedly while files are read.
    fn keep_alive(&mut self) -> Result<(), Error>;
}

/// Unwraps the key of every file that has one. One fault names all files whose key cannot be unwrapped.
pub(crate) fn unwrap_keys(plan: &Plan, keys: &dyn KeySource, sink: &mut dyn KeySink) -> Result<(), RekeyFault> {
    let mut logs = RedoFiles::default();
    let mut unopened = FilesWithoutKey::default();
    for (number, planned) in plan.entries.iter().enumerate().filter(|(_, planned)| planned.file_bytes().is_some()) {
        let fault =
            |reason: String, is_optional| RekeyFault::File { path: plan.absolute(planned), reason, is_optional };
        let source = SourceFile::open(plan, number)?;
        let head = source.head(TWO_PAGES_BYTES)?;
        if let Some(reason) = superfluous(&source, &head, &planned.entry.path)? {
            return Err(fault(reason.to_owned(), true));
        }
        if let Some(reason) = obstacle(&head) {
            return Err(fault(reason.to_owned(), false));
        }
        logs.note(number, &head);
        let Some(wrapped) = Wrapped::find(&head) else {
            sink.keep_alive()?;
            continue;
        };
        match wrapped.unwrap(&head, keys) {
            Ok(secret) if unopened.files.is_empty() => sink.add(number, secret)?,
            Ok(_) => sink.keep_alive()?,
            Err(UnwrapFault::NoStore) => return Err(RekeyFault::NoKeyring { path: plan.absolute(planned) }),
            Err(error) => {
                unopened.add(plan.absolute(planned), format!("{error} ({})", wrapped.master_key_name()));
                sink.keep_alive()?;
            }
        }
    }
    unopened.fault()?;
    logs.check(plan, keys, sink)
}

/// Files whose keys the given keyring does not unwrap.
#[derive(Default)]
struct FilesWithoutKey {
    files: Vec<PathBuf>,
    /// Why the first file's key cannot be unwrapped.
    reason: String,
}

impl FilesWithoutKey {
    fn add(&mut self, path: PathBuf, reason: String) {
        if self.files.is_empty() {
            self.reason = reason;
        }
        self.files.push(path);
    }

    /// A single fault for all files, which names the first few.
    fn fault(self) -> Result<(), RekeyFault> {
        const NAMED: usize = 10;
        let Some((first, others)) = self.files.split_first() else { return Ok(()) };
        let mut reason = self.reason;
        if !others.is_empty() {
            let names: Vec<String> = others.iter().take(NAMED).map(|path| path.display().to_string()).collect();
            let rest = if others.len() > NAMED { ", …" } else { "" };
            let more = others.len();
            reason.push_str(&format!("; the keys of {more} more files are missing, too: {}{rest}", names.join(", ")));
        }
        Err(RekeyFault::File { path: first.clone(), reason, is_optional: false })
    }
}

/// The reason not to transfer a file, for files that a server does not need to start; `None` if it may be transferred.
fn superfluous(source: &SourceFile<'_>, head: &[u8], path: &RelativePath) -> Result<Option<&'static str>, Error> {
    if is_keyring(source, head, path)? {
        return Ok(Some("it is a keyring of this side, and would be sent"));
    }
    let reason = "its events are encrypted directly with a key of this side, so there is no key to re-wrap";
    Ok(has_encrypted_events(head).then_some(reason))
}

/// Why the key of a file cannot be rewrapped.
fn obstacle(head: &[u8]) -> Option<&'static str> {
    let kind = file_kind::recognise(head, "", u64::try_from(head.len()).unwrap_or(u64::MAX));
    if kind == Some(FileKind::BinlogEncrypted) && Wrapped::find(head).is_none() {
        return Some("its header, which holds the key, is damaged or cut off");
    }
    let Ok(page0) = Page0::parse(head) else {
        return begins_with_encrypted_page(head).then_some("its page 0, which holds the key, is lost");
    };
    let doubtful = matches!(page0.encryption, Encryption::MySql { .. }) || page0.disagreement.is_some();
    match page0.encryption {
        _ if doubtful && page0.checksum == Checksum::Mismatch => Some("the checksum of its page 0 does not match"),
        Encryption::None if page0.declares_encryption() => {
            Some("its page 0 says that it is encrypted, and holds no key")
        }
        // The receiver would reject this key in the middle of the transfer.
        Encryption::MySql { magic: MySqlMagic::V1, .. } => Some(
            "its key is wrapped by MySQL 5.7.11, which does not store the server's uuid; rotate the master key with a \
                newer server",
        ),
        Encryption::MariaDb { scheme: 1.., .. } => {
            Some("MariaDB encrypts directly with the keys of its key file, so there is no key to re-wrap")
        }
        Encryption::PerconaKeyring { scheme: 1.., .. } => Some("it has the keyring scheme that Percona Server removed"),
        _ => None,
    }
}

/// Whether an encrypted page follows page 0, at the offset of page 1 for any page size.
fn begins_with_encrypted_page(head: &[u8]) -> bool {
    PAGE_BYTES.into_iter().filter_map(|page_bytes| head.get(page_bytes..)).any(|page| {
        let number = page.get(PAGE_NO..).and_then(|bytes| bytes.first_chunk()).map(|bytes| u32::from_be_bytes(*bytes));
        number == Some(1) && mysql::is_encrypted(page)
    })
}

/// Whether the file is a binary log of MariaDB or Percona Server 5.7, which encrypt each event.
fn has_encrypted_events(head: &[u8]) -> bool {
    let log = binlog::recognise(&head).ok();
    log.is_some_and(|log| matches!(log.encryption, BinlogEncryption::MariaDb { .. } | BinlogEncryption::Percona { .. }))
}

fn is_keyring(source: &SourceFile<'_>, head: &[u8], path: &RelativePath) -> Result<bool, Error> {
    let kind = store_kind(source, head, path)?;
    Ok(matches!(kind, Some(StoreKind::ComponentFile | StoreKind::PluginFileV1 | StoreKind::PluginFileV2)))
}

/// The files of MySQL's redo log.
#[derive(Default)]
struct RedoFiles {
    /// File numbers, each with the first LSN of the file.
    files: Vec<(Option<Lsn>, usize)>,
    newest: Option<RedoKeyInfo>,
    checkpoint: Option<Lsn>,
}

impl RedoFiles {
    fn note(&mut self, number: usize, head: &[u8]) {
        if recognise(head) != Some(RedoFormat::MySql) {
            return;
        }
        self.files.push((mysql_start_lsn(head), number));
        self.checkpoint = self.checkpoint.max(checkpoint_lsn(head));
        if let Some(info) = head.get(..KEY_INFO_BYTES).and_then(key_info)
            && self.newest.as_ref().is_none_or(|newest| newest.checkpoint_lsn < info.checkpoint_lsn)
        {
            self.newest = Some(info);
        }
    }

    /// Checks that recovery would not replace rewrapped keys with those in the log.
    fn check(mut self, plan: &Plan, keys: &dyn KeySource, sink: &mut dyn KeySink) -> Result<(), RekeyFault> {
        self.files.sort_unstable();
        let key = self.newest.and_then(|info| info.key.unwrap(keys).ok());
        let cipher = key.and_then(|key| MySqlBlockCipher::new(&key).ok());
        let mut records = KeyRecords::new(self.checkpoint.unwrap_or_default(), cipher.as_ref());
        for (start, number) in self.files {
            // The next use of the sink reports the error.
            let mut alive = || drop(sink.keep_alive());
            let source = SourceFile::open(plan, number)?;
            let path = || plan.entries.get(number).map(|planned| plan.absolute(planned)).unwrap_or_default();
            let Some(log) = source.log() else { continue };
            let found = records.search(log, &mut alive);
            if found.map_err(|error| RekeyFault::File {
                path: path(),
                reason: error.to_string(),
                is_optional: false,
            })? {
                return Err(RekeyFault::KeyRecords { path: path(), is_kept: start.is_none() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Selection;

    #[test]
    fn a_key_that_the_receiver_would_refuse_is_reported_before_any_data() {
        let directory = tempfile::tempdir().unwrap();
        let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/tablespace");
        for (sample, refused) in [("synthetic-lCA-serverid951.ibd.zst", true), ("synthetic-lCB.ibd.zst", false)] {
            let Ok(packed) = std::fs::File::open(format!("{samples}/{sample}")) else { panic!("no {sample}") };
            std::fs::write(directory.path().join("t.ibd"), zstd::decode_all(packed).unwrap()).unwrap();
            let plan = Plan::scan(directory.path(), &Selection::default()).unwrap();
            let source = SourceFile::open(&plan, 0).unwrap();
            let head = source.head(TWO_PAGES_BYTES).unwrap();
            assert!(Wrapped::find(&head).is_some(), "{sample}");
            let reason = obstacle(&head);
            assert_eq!(reason.is_some_and(|reason| reason.contains("5.7.11")), refused, "{sample}: {reason:?}");
        }
    }

    #[test]
    fn all_files_whose_key_is_missing_are_named_at_once() {
        struct Nothing;
        impl KeySource for Nothing {
            fn mysql(&self, _: &str) -> Option<zeroize::Zeroizing<[u8; 32]>> {
                None
            }

            fn mysql_numbered(&self, _: innodb::MasterKeyId) -> Vec<zeroize::Zeroizing<[u8; 32]>> {
                Vec::new()
            }

            fn mariadb(&self, _: u32, _: innodb::KeyVersion) -> Option<zeroize::Zeroizing<Vec<u8>>> {
                None
            }

            fn has_mysql(&self) -> bool {
                true
            }

            fn has_mariadb(&self) -> bool {
                false
            }
        }
        struct Ignored;
        impl KeySink for Ignored {
            fn add(&mut self, _: usize, _: Secret) -> Result<(), Error> {
                Ok(())
            }

            fn keep_alive(&mut self) -> Result<(), Error> {
                Ok(())
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/tablespace/mysql97-16k-encrypted.ibd");
        for name in ["a.ibd", "b.ibd", "c.ibd"] {
            std::fs::copy(sample, directory.path().join(name)).unwrap();
        }
        let plan = Plan::scan(directory.path(), &Selection::default()).unwrap();
        let fault = unwrap_keys(&plan, &Nothing, &mut Ignored).unwrap_err().to_string();
        assert!(fault.contains("a.ibd: the keyring has no such key (INNODBKey-"), "{fault}");
        assert!(fault.contains("2 more files") && fault.contains("b.ibd, ") && fault.ends_with("c.ibd"), "{fault}");
    }

    #[test]
    fn files_whose_key_cannot_be_rewrapped_are_refused_and_clear_ones_are_not() {
        let testdata = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata");
        for (sample, refused) in [
            ("tablespace/percona80-16k-clear.ibd.zst", None),
            ("binlog/percona57-encrypted-4-events", Some("no key to re-wrap")),
            ("binlog/mariadb1011-encrypted-14-events", Some("no key to re-wrap")),
            ("binlog/mysql97-clear", None),
            ("binlog/mysql97-encrypted-7-events", None),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let bytes = std::fs::read(format!("{testdata}/{sample}")).unwrap();
            let bytes = if sample.ends_with(".zst") { zstd::decode_all(&*bytes).unwrap() } else { bytes };
            std::fs::write(directory.path().join("file"), bytes).unwrap();
            let plan = Plan::scan(directory.path(), &Selection::default()).unwrap();
            let source = SourceFile::open(&plan, 0).unwrap();
            let head = source.head(TWO_PAGES_BYTES).unwrap();
            let reason = superfluous(&source, &head, &plan.entries[0].entry.path).unwrap().or_else(|| obstacle(&head));
            assert_eq!(reason.is_some(), refused.is_some(), "{sample}: {reason:?}");
            assert!(reason.unwrap_or_default().contains(refused.unwrap_or_default()), "{sample}: {reason:?}");
        }
    }

    #[test]
    fn a_file_whose_key_is_damaged_or_missing_is_reported_before_any_data() {
        type Damage = fn(&mut [u8]);
        let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/tablespace");
        let (encrypted, clear) = ("mysql97-16k-encrypted.ibd", "mysql97-16k-clear.ibd.zst");
        let log = "../binlog/mysql97-encrypted-7-events";
        let damages: [(&str, Damage, Option<&str>); 8] = [
            (log, |header| header[20] ^= 1, Some("is damaged")),
            (encrypted, |page| page[10_390] ^= 1, Some("the checksum")),
            (encrypted, |page| page[10_440] ^= 1, Some("the checksum")),
            (encrypted, |page| page.fill(0), Some("is lost")),
            (encrypted, |page| page.fill(0xab), Some("is lost")),
            // Page 1 follows after 64 KiB.
            ("mysql97-64k-encrypted.ibd.zst", |page| page.fill(0), Some("is lost")),
            (clear, |page| page[56] ^= 0x20, Some("the checksum")),
            (clear, |page| page.fill(0), None),
        ];
        for (sample, damage, refused) in damages {
            let directory = tempfile::tempdir().unwrap();
            let bytes = std::fs::read(format!("{samples}/{sample}")).unwrap();
            let mut bytes = if sample.ends_with(".zst") { zstd::decode_all(&*bytes).unwrap() } else { bytes };
            let first = bytes.len().min(if sample.contains("-64k-") { 65536 } else { 16384 });
            damage(&mut bytes[..first]);
            std::fs::write(directory.path().join("t.ibd"), bytes).unwrap();
            let plan = Plan::scan(directory.path(), &Selection::default()).unwrap();
            let source = SourceFile::open(&plan, 0).unwrap();
            let head = source.head(TWO_PAGES_BYTES).unwrap();
            let reason = superfluous(&source, &head, &plan.entries[0].entry.path).unwrap().or_else(|| obstacle(&head));
            assert_eq!(reason.is_some(), refused.is_some(), "{sample}: {reason:?}");
            assert!(reason.unwrap_or_default().contains(refused.unwrap_or_default()), "{sample}: {reason:?}");
        }
    }
}
