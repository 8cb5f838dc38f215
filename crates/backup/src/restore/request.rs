//! Finds the requested backup and the identities that decrypt it.

use std::{path::Path, sync::Arc};

use agefile::Identity;
use archive::{
    Digest,
    names::{self, Number},
    sshsig::AllowedSigners,
};
use verify::Keys;

use super::{
    BackupSelector, ExternalLinks, Opened, PointInTime, RestoreOptions, RestorePlan, RestoreProgress, Restored, open,
    plan, restore,
};
use crate::{
    Error, Location, Repository,
    binlogs::Until,
    config::{allowed_signers, identities},
    init::open_location,
    repository::receipt_fault,
};

/// The requested backup.
#[derive(Debug)]
pub struct Request<'r> {
    /// Where the backup is stored.
    pub repository: &'r Location,
    /// Its host; optional if the repository has only one.
    pub host: Option<&'r str>,
    /// Selects one of the host's backups.
    pub backup: BackupSelector,
    /// File of age identities.
    pub identity: &'r Path,
    /// File of allowed signers; without it the signature is not verified.
    pub allowed_signers: Option<&'r Path>,
    /// Hash of the receipt, if known.
    pub receipt: Option<Digest>,
    /// SHA-256 of the newest receipt of binary logs, if it is known. Only [`Self::find_for`] uses it.
    pub binlog_receipt: Option<Digest>,
    /// File with the manifest of a backup whose receipt is lost. Host, backup, signers and receipt are then unused.
    pub manifest: Option<&'r Path>,
}

/// A backup that was found.
#[derive(Clone, Debug)]
pub struct Found {
    pub(super) repository: Arc<Repository>,
    /// The identities in the given file.
    pub identities: Arc<Vec<Identity>>,
    /// The backup's receipt and how far it can be trusted, or its manifest.
    pub opened: Opened,
}

impl Request<'_> {
    /// Opens the repository and reads the receipt, or the manifest.
    ///
    /// # Errors
    /// As [`open()`] and [`Opened::from_manifest`], and errors of the given files.
    pub fn find(&self) -> Result<Found, Error> {
        let repository = Arc::new(open_location(self.repository)?);
        let identities = Arc::new(identities(self.identity)?);
        if let Some(path) = self.manifest {
            let opened = Opened::from_manifest(&repository, path, &identities)?;
            return Ok(Found { repository, identities, opened });
        }
        let host = repository.host(self.host)?;
        let signers = self.allowed_signers.map(allowed_signers).transpose()?;
        let opened = open(&repository, &host, self.backup, signers.as_ref(), self.receipt)?;
        Ok(Found { repository, identities, opened: Opened::Receipt(Box::new(opened)) })
    }
}

impl Request<'_> {
    /// Finds a backup and, with a point in time, what is to be replayed after it.
    ///
    /// # Errors
    /// As [`Self::find`] and [`Self::find_for`].
    pub fn find_until(&self, until: Option<&Until>) -> Result<(Found, Option<PointInTime>), Error> {
        match until {
            Some(until) => self.find_for(until).map(|(found, point)| (found, Some(point))),
            None => Ok((self.find()?, None)),
        }
    }

    /// Finds a backup and what is to be replayed after it. [`BackupSelector::Latest`] means the newest good backup that
    /// is older than the point in time.
    ///
    /// # Errors
    /// As [`Self::find`] and [`PointInTime::open`].
    pub fn find_for(&self, until: &Until) -> Result<(Found, PointInTime), Error> {
        let signers = self.allowed_signers.map(allowed_signers).transpose()?;
        let open = |mut found: Found| {
            let point = PointInTime::open(&found, until.clone(), signers.as_ref())?;
            let newest_known = point.check_newest(self.binlog_receipt)?;
            if *until == Until::End && !newest_known {
                found.opened.newest_binlogs_are_unknown();
            }
            Ok((found, point))
        };
        let newest = self.find()?;
        if self.backup != BackupSelector::Latest {
            return open(newest);
        }
        let host = newest.opened.host().to_owned();
        let (numbers, _) = newest.repository.numbers(&host)?;
        let mut oldest = None;
        // Those above the newest cannot be used.
        for number in numbers.into_iter().rev().filter(|number| *number <= newest.opened.number()) {
            // A replay to the end of the archive must report whether this backup is known to be the newest, so keep
            // that result.
            let is_newest = *until == Until::End && number == newest.opened.number();
            let found = if is_newest { Some(newest.clone()) } else { numbered(number, &newest, signers.as_ref())? };
            let Some(found) = found.filter(|found| found.opened.is_good()) else { continue };
            match open(found) {
                Err(Error::NewerBackup { number, reason }) => oldest = Some((number, reason)),
                other => return other,
            }
        }
        Err(match oldest {
            Some((number, reason)) => Error::AllNewer { host, number, reason },
            None => newest.repository.no_backup(&host, "with every page proven"),
        })
    }
}

/// Another backup of the same host. `None` if its receipt cannot be used; warns of it.
fn numbered(number: Number, other: &Found, signers: Option<&AllowedSigners>) -> Result<Option<Found>, Error> {
    let (repository, host) = (&other.repository, other.opened.host());
    match open(repository, host, BackupSelector::Number(number), signers, None) {
        Ok(opened) => Ok(Some(Found { opened: Opened::Receipt(Box::new(opened)), ..other.clone() })),
        Err(error) => {
            repository.leave_out(names::receipt(host, number), receipt_fault(error, signers.is_some())?);
            Ok(None)
        }
    }
}

impl Found {
    /// The repository that has the backup.
    #[must_use]
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Adds the keys of the backup's files, decrypted with the identities in a file.
    ///
    /// # Errors
    /// As [`Opened::add_keys`], and errors of the file.
    pub fn add_keys(&self, identity: &Path, keys: &mut Keys) -> Result<(), Error> {
        self.opened.add_keys(&self.repository, &identities(identity)?, keys)
    }

    /// Plans a restore: reads the manifest, judges its links, and checks that the keys fit.
    ///
    /// # Errors
    /// [`Error`], as a restore would return before it fetches anything.
    pub fn plan(&self, keys: &Keys, into: &Path, is_rekeyed: bool, links: ExternalLinks) -> Result<RestorePlan, Error> {
        plan(&self.repository, &self.opened, &self.identities, keys, into, is_rekeyed, links)
    }

    /// Restores the backup.
    ///
    /// # Errors
    /// [`Error`]; the target is unchanged, except for a staging directory from which the same call continues.
    pub fn restore(&self, options: &RestoreOptions<'_>, progress: &RestoreProgress) -> Result<Restored, Error> {
        restore(&self.repository, &self.opened, options, progress)
    }
}
