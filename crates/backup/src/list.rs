//! The backups of a host, and the points in time that they and the binary logs reach.

use std::path::Path;

use archive::{
    KeyCheckRecord, RestoreRecord,
    chain::Link,
    names::{self, Number},
};
use jiff::Timestamp;
use serde::Serialize;

use crate::{
    Error, Repository,
    binlogs::{Archive, SpoolStatus},
    check::BadObject,
    parallel,
    record::read_records,
    repository::{name, receipt_fault},
    windows::{GoodBackup, MissingLogs, Window, windows},
};

/// The backups of a host, schema `sealant.backup-list/1`.
#[derive(Debug, Serialize)]
pub struct ListReport {
    schema: &'static str,
    /// Name of the host.
    pub host: String,
    /// Its backups, oldest first.
    pub backups: Vec<Tested>,
    /// Objects with the name of a receipt that cannot be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unusable: Vec<BadObject>,
    /// Periods in which every second can be restored. They are computed from the receipts of binary logs, whose
    /// signatures are not verified.
    pub windows: Vec<Window>,
    /// Binary logs that are missing.
    pub gaps: Vec<MissingLogs>,
    /// Binary logs that wait on this host until the repository can be reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spooled: Vec<SpoolStatus>,
}

/// A backup of a list, and when it was last shown that it can be used.
#[derive(Debug, Serialize)]
pub struct Tested {
    /// What its receipt says.
    #[serde(flatten)]
    pub listed: Listed,
    /// When a copy of the keyring was last proven to open all of it; `None` if no record says so.
    pub keyring_proven: Option<Timestamp>,
    /// When a restore of it was last proven by a server; `None` if no record says so.
    pub tested: Option<Timestamp>,
}

/// Whether a backup stores everything itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackupKind {
    /// It stores all pages itself.
    Full,
    /// It stores the pages that have changed since an earlier backup.
    Incremental,
}

impl BackupKind {
    /// The word in documents and tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Incremental => "incremental",
        }
    }
}

/// One backup of a list.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// Number of the backup.
    pub number: Number,
    /// When it was complete.
    pub ended: Timestamp,
    /// Whether every page is verified and sound.
    pub good: bool,
    /// Whether it stores all pages itself.
    pub kind: BackupKind,
    /// Length of all files.
    pub bytes: u64,
    /// Bytes added to the repository.
    pub stored: u64,
    /// Packs that a restore needs.
    pub packs: usize,
    /// SHA-256 of its receipt.
    pub receipt: String,
    /// When the first lock of its receipt and its manifest ends; `None` if one of them is not locked, or this user may
    /// not ask.
    pub locked_until: Option<Timestamp>,
}

impl Listed {
    /// Converts the receipt of a backup.
    pub(crate) fn new(link: &Link) -> Self {
        let receipt = &link.receipt;
        Self {
            number: receipt.number,
            ended: receipt.ended,
            good: receipt.is_good(),
            kind: if receipt.full { BackupKind::Full } else { BackupKind::Incremental },
            bytes: receipt.bytes.data,
            stored: receipt.bytes.stored,
            packs: receipt.packs,
            receipt: link.sha256.to_string(),
            locked_until: None,
        }
    }
}

/// Adds when the locks of backups end: the store is asked about the receipt and the manifest of each. Packs that they
/// share with earlier backups are too many to ask.
///
/// # Errors
/// [`Error::Store`].
pub(crate) fn add_lock_ends<'l>(
    repository: &Repository,
    host: &str,
    backups: impl Iterator<Item = &'l mut Listed>,
) -> Result<(), Error> {
    let mut backups: Vec<&mut Listed> = backups.collect();
    let numbers: Vec<Number> = backups.iter().map(|listed| listed.number).collect();
    let first_end = |number: &Number| -> Result<Option<Timestamp>, Error> {
        let receipt = lock_end(repository, &names::receipt(host, *number))?;
        let manifest = receipt.map(|_| lock_end(repository, &names::manifest(host, *number))).transpose()?;
        Ok(receipt.zip(manifest.flatten()).map(|(receipt, manifest)| receipt.min(manifest)))
    };
    for (listed, end) in backups.iter_mut().zip(parallel::all(&numbers, &first_end)) {
        listed.locked_until = end?;
    }
    Ok(())
}

/// When the lock of an object ends; `None` if it is not locked, or this user may not ask.
fn lock_end(repository: &Repository, object: &str) -> Result<Option<Timestamp>, Error> {
    let store = repository.store();
    match store.lock_end(&name(object)?) {
        Err(error) if error.is_denied() => Ok(None),
        end => Ok(end?.filter(|end| *end > store.now())),
    }
}

impl ListReport {
    /// Reads the receipts of a host. `spooled`: binary logs that wait on this machine, if it is that host.
    ///
    /// # Errors
    /// [`Error`] if the repository cannot be read. An object that is no receipt of this host is no error: whoever may
    /// put objects may have put it.
    pub fn read(repository: &Repository, host: &str, spooled: Vec<SpoolStatus>) -> Result<Self, Error> {
        let (mut links, mut unusable) = (Vec::new(), Vec::new());
        for number in repository.numbers(host)?.0 {
            match repository.receipt(host, number) {
                Ok(stored) => links.extend(stored.map(|stored| stored.link())),
                Err(error) => {
                    let (object, what) = (names::receipt(host, number), receipt_fault(error, false)?);
                    unusable.push(BadObject { object, what });
                }
            }
        }
        let archives = Archive::read_all(repository, host, None)?;
        let bases: Vec<GoodBackup<'_>> = links.iter().filter_map(GoodBackup::new).collect();
        let (windows, gaps) = windows(&bases, &archives);
        let tested = |link: &Link| Tested { listed: Listed::new(link), keyring_proven: None, tested: None };
        let mut backups: Vec<Tested> = links.iter().map(tested).collect();
        add_lock_ends(repository, host, backups.iter_mut().map(|backup| &mut backup.listed))?;
        let host = host.to_owned();
        Ok(Self { schema: "sealant.backup-list/1", host, backups, unusable, windows, gaps, spooled })
    }

    /// Adds what the records of restores and of tests of keyring copies say.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be read, or a line of it is not such a record.
    pub fn add_records(&mut self, restores: Option<&Path>, key_checks: Option<&Path>) -> Result<(), Error> {
        let restores = read_records(restores, RestoreRecord::parse_all)?;
        let key_checks = read_records(key_checks, KeyCheckRecord::parse_all)?;
        for Tested { listed, keyring_proven, tested } in &mut self.backups {
            let proven = restores.iter().filter(|restore| restore.proven);
            let proven = proven.filter(|restore| restore.receipt.to_string() == listed.receipt);
            *tested = proven.map(|restore| restore.ended).max();
            // If nothing needs a key, any copy would pass.
            let opened = key_checks.iter().filter(|check| check.missing == 0 && check.needed > 0);
            let opened = opened.filter(|check| check.receipt.to_string() == listed.receipt);
            *keyring_proven = opened.map(|check| check.tested).max();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        sync::atomic::{AtomicU64, Ordering},
    };

    use archive::Receipt;
    use store::{Directory, Error as StoreError, Name, Store};

    use super::*;
    use crate::repository::tests::TestRepository;

    /// In seconds since 1970.
    const END: i64 = 4_000_000_000;

    /// A store in which receipts are locked for longer than manifests. Those of backup 2 are not locked, and the lock of
    /// those of backup 3 has ended.
    #[derive(Debug)]
    struct Locking {
        inner: Directory,
        asked: &'static AtomicU64,
    }

    impl store::Wrapper for Locking {
        fn inner(&self) -> &dyn Store {
            &self.inner
        }

        fn lock_end(&self, name: &Name) -> Result<Option<Timestamp>, StoreError> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let second = match name.as_str() {
                name if name.contains("000002") => return Ok(None),
                name if name.contains("000003") => 1000,
                name if name.contains("receipts") => END + 1000,
                _ => END,
            };
            Ok(Timestamp::from_second(second).ok())
        }
    }

    #[test]
    fn a_backup_is_locked_until_the_first_of_its_own_locks_ends() {
        static ASKED: AtomicU64 = AtomicU64::new(0);
        let directory = tempfile::tempdir().unwrap();
        let open = || Directory::make(&directory.path().join("repository")).unwrap();
        Repository::create(&open()).unwrap();
        let repository = Repository::open(Box::new(Locking { inner: open(), asked: &ASKED })).unwrap();
        let mut listed = [listed(1), listed(2), listed(3)];
        add_lock_ends(&repository, "db1", listed.iter_mut()).unwrap();
        assert_eq!(listed.map(|listed| listed.locked_until), [Timestamp::from_second(END).ok(), None, None]);
        assert_eq!(ASKED.load(Ordering::Relaxed), 4, "the manifest of a receipt that is not locked");
    }

    /// A backup of a list, from a receipt.
    fn listed(number: Number) -> Listed {
        let test = TestRepository::new();
        let receipt = Receipt::parse(&test.receipt(number)).unwrap();
        Listed::new(&Link { sha256: archive::Digest::compute(b"receipt"), receipt: receipt.summary() })
    }

    #[test]
    fn records_say_when_a_backup_was_tested() {
        let test = TestRepository::new();
        let digests = [1, 2].map(|number| test.put_signed(number, &test.receipt(number)));
        let directory = tempfile::tempdir().unwrap();
        let [restores, key_checks] = ["restores", "keys"].map(|name| directory.path().join(name));
        let restore = |ended: &str, bad: u64| {
            let pages = format!(r#"{{"bad":{bad},"unproven":0}}"#);
            let begin = format!(r#"{{"schema":"sealant.restore/1","receipt":"{}","ended":"{ended}""#, digests[0]);
            format!(r#"{begin},"seconds":1,"rto_s":2,"pages":{pages},"proof":{{"bad":[],"bad_pages":0}}}}"#)
        };
        let lines = [restore("2026-11-24T01:00:00Z", 0), restore("2026-11-25T01:00:00Z", 1)];
        fs::write(&restores, lines.join("\n") + "\n").unwrap();
        let record = |at: i64, needed, missing| {
            let backup = (digests[1], "db1", 2);
            serde_json::to_string(&KeyCheckRecord::new(backup, Timestamp::from_second(at).unwrap(), needed, missing))
        };
        let lines = [record(1, 9, 0), record(2, 9, 0), record(3, 9, 1), record(4, 0, 0)].map(Result::unwrap);
        fs::write(&key_checks, lines.join("\n") + "\n").unwrap();

        let mut list = ListReport::read(&test.repository, "db1", Vec::new()).unwrap();
        let dates = |list: &ListReport| -> Vec<(Option<Timestamp>, Option<Timestamp>)> {
            list.backups.iter().map(|backup| (backup.keyring_proven, backup.tested)).collect()
        };
        list.add_records(None, None).unwrap();
        assert_eq!(dates(&list), [(None, None); 2]);
        list.add_records(Some(&restores), Some(&key_checks)).unwrap();
        let tested = "2026-11-24T01:00:00Z".parse().ok();
        assert_eq!(dates(&list), [(None, tested), (Timestamp::from_second(2).ok(), None)]);
        let json = serde_json::to_value(&list).unwrap();
        assert_eq!((&json["backups"][0]["kind"], &json["backups"][0]["locked_until"]), (&"full".into(), &().into()));
        assert!(list.add_records(Some(&key_checks), None).is_err(), "they are records of something else");
    }
}
