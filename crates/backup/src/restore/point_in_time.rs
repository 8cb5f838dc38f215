//! Replays archived binary logs after a restore, up to a point in time.

use std::path::Path;

use archive::{Digest, Head, manifest::Lists, names, sshsig::AllowedSigners};
use verify::Keys;

use super::{Found, Restored};
use crate::{
    Error,
    binlogs::{Archive, History, ReplayRange, Replayed, Replayer, ResolvedTarget, Until, position_of, replay},
    prove::{Prover, memory},
};

/// The archive of the backup's server, and the target.
#[derive(Debug)]
pub struct PointInTime {
    history: History,
    /// Its `from` is empty if the manifest has no position.
    target: ReplayRange,
    /// The range to replay, if the position is known.
    planned: Option<ResolvedTarget>,
}

/// Result of a replay after a restore.
#[derive(Debug)]
pub struct ReplayResult {
    /// The range of the replay.
    pub reach: ResolvedTarget,
    /// Results of the server.
    pub replayed: Replayed,
}

impl PointInTime {
    /// Reads the archive of the backup's server, and finds the target in it.
    ///
    /// # Errors
    /// [`Error::Unreachable`] if there is no archive, if the archive of several servers cannot be distinguished,
    /// if logs are missing, or if the target is not in the archive. [`Error::NewerBackup`],
    /// [`Error::Memory`].
    pub fn open(found: &Found, until: Until, signers: Option<&AllowedSigners>) -> Result<Self, Error> {
        // Fail now rather than after the restore.
        memory::free_bytes(Path::new(memory::DIRECTORY))?;
        let manifest = found.opened.manifest(&found.repository, &found.identities, Lists::not_kept())?;
        let Head { position, instant, .. } = manifest.head;
        let position = position.filter(|position| !position.log.file.is_empty()).unwrap_or_default();
        let target = ReplayRange {
            backup: found.opened.number(),
            from: position.log,
            gtid: position.gtid,
            time: instant,
            until,
        };
        // Reading the archive takes long, and `latest` tries one backup after the other.
        target.check_order()?;
        let history = history_of(found, &target, signers)?;
        let mut point = Self { history, target, planned: None };
        point.planned = point.has_position().then(|| point.reach(found, &point.target)).transpose()?;
        Ok(point)
    }

    /// Compares the newest receipt of the archive with `expected`, if given. Returns whether it was given.
    ///
    /// # Errors
    /// [`Error::Untrusted`] if it is another one: newer receipts are hidden.
    pub(super) fn check_newest(&self, expected: Option<Digest>) -> Result<bool, Error> {
        let Some(expected) = expected else { return Ok(false) };
        let archive = self.history.last();
        if archive.newest == Some(expected) {
            return Ok(true);
        }
        let number = archive.receipts.last().map_or(0, |receipt| receipt.number);
        let object = names::binlog_receipt(&archive.host, &archive.server, number);
        let found = archive.newest.map_or_else(|| "none".to_owned(), |found| found.to_string());
        let reason = format!("the newest receipt of binary logs is {found}, not {expected} as given");
        Err(Error::Untrusted { object, reason })
    }

    /// The range to replay; `None` if the position of the backup is only known after the restore.
    #[must_use]
    pub const fn planned(&self) -> Option<&ResolvedTarget> {
        self.planned.as_ref()
    }

    /// Appends the faults of the archive to `reason`: they may explain why the target is not in it.
    fn with_breaks(&self, reason: String) -> String {
        let breaks = self.history.breaks().map(|(object, what)| format!("; {object}: {what}"));
        let fork = self.history.fork().map(|fork| format!("; {fork}"));
        std::iter::once(reason).chain(breaks.take(1)).chain(fork).collect()
    }

    const fn has_position(&self) -> bool {
        !self.target.from.file.is_empty()
    }

    fn reach(&self, found: &Found, target: &ReplayRange) -> Result<ResolvedTarget, Error> {
        target.find(&found.repository, &self.history, &found.identities).map_err(|error| match error {
            Error::Unreachable { reason } => Error::Unreachable { reason: self.with_breaks(reason) },
            error => error,
        })
    }

    /// Replays the logs on the restored directory `into`, as planned. Afterwards the directory is recovered and
    /// contains more than the backup.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::Replay`].
    pub fn replay(
        &self,
        found: &Found,
        restored: &mut Restored,
        into: &Path,
        keys: &Keys,
        prover: &Prover,
        note: &dyn Fn(u64),
    ) -> Result<ReplayResult, Error> {
        // The directory is no longer at the backup's position, and the report no longer describes its files.
        restored.position = None;
        restored.is_replayed = true;
        let report = restored.report.take();
        let keys = restored.new_keys.as_ref().unwrap_or(keys);
        let from = if self.has_position() { self.target.from.clone() } else { position_of(into, keys)? };
        let target = ReplayRange { from, ..self.target.clone() };
        let reach = self.planned.clone().map_or_else(|| self.reach(found, &target), Ok)?;
        let server_uuid = found.opened.server_uuid();
        let replayer = Replayer {
            datadir: into,
            from: &target.from,
            time: target.time,
            reach: &reach,
            report: report.as_ref(),
            keys,
            prover,
            server_uuid,
        };
        let replayed = replay(&found.repository, &self.history, &found.identities, &replayer, note)?;
        Ok(ReplayResult { reach, replayed })
    }
}

/// The archive of the backup's server, and the archives that continue it. A MariaDB backup has no server UUID: if the
/// host has archives of several servers, the one with the backup's log is used.
fn history_of(found: &Found, target: &ReplayRange, signers: Option<&AllowedSigners>) -> Result<History, Error> {
    let (repository, host) = (&found.repository, found.opened.host());
    let none = || Error::unreachable(format!("no binary logs of the server of {host} are archived"));
    let mut archives = Archive::read_all(repository, host, signers)?;
    if let Some(uuid) = found.opened.server_uuid() {
        let own = archives.iter().position(|archive| archive.server == uuid).ok_or_else(none)?;
        let first = archives.swap_remove(own);
        // A position is one of the server that was backed up.
        let is_position = matches!(target.until, Until::Position(_));
        return Ok(if is_position { History::of_one(first, &archives) } else { History::new(first, archives) });
    }
    // Anyone may put an archive that nobody has signed.
    archives.retain(|archive| !archive.receipts.is_empty());
    let is_own = |archive: &Archive| target.from.file.is_empty() || archive.has_log(&target.from, target.time);
    let (mut archives, others): (Vec<Archive>, Vec<Archive>) =
        if archives.len() > 1 { archives.into_iter().partition(is_own) } else { (archives, Vec::new()) };
    match (archives.pop(), archives.len()) {
        (Some(archive), 0) => Ok(History::of_one(archive, &others)),
        (None, _) => Err(none()),
        (Some(_), _) => Err(Error::unreachable(format!(
            "{host} has archived binary logs of several servers, and the backup does not say which is its own"
        ))),
    }
}
