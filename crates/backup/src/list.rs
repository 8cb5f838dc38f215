//! The backups of a host, and the points in time that they and the binary logs reach.

use archive::{
    chain::Link,
    names::{self, Number},
};
use jiff::Timestamp;
use serde::Serialize;

use crate::{
    Error, Repository,
    binlogs::{Archive, SpoolStatus},
    check::BadObject,
    repository::receipt_fault,
    windows::{GoodBackup, MissingLogs, Window, windows},
};

/// The backups of a host, schema `sealant.backup-list/1`.
#[derive(Debug, Serialize)]
pub struct ListReport {
    schema: &'static str,
    /// Name of the host.
    pub host: String,
    /// Its backups, oldest first.
    pub backups: Vec<Listed>,
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
    pub full: bool,
    /// Length of all files.
    pub bytes: u64,
    /// Bytes added to the repository.
    pub stored: u64,
    /// Packs that a restore needs.
    pub packs: usize,
    /// SHA-256 of its receipt.
    pub receipt: String,
}

impl Listed {
    /// Converts the receipt of a backup.
    pub(crate) fn new(link: &Link) -> Self {
        let receipt = &link.receipt;
        Self {
            number: receipt.number,
            ended: receipt.ended,
            good: receipt.is_good(),
            full: receipt.full,
            bytes: receipt.bytes.data,
            stored: receipt.bytes.stored,
            packs: receipt.packs,
            receipt: link.sha256.to_string(),
        }
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
        let backups = links.iter().map(Listed::new).collect();
        let host = host.to_owned();
        Ok(Self { schema: "sealant.backup-list/1", host, backups, unusable, windows, gaps, spooled })
    }
}
