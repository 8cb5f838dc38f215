//! What follows a backup: the archived binary logs, replayed up to a point in time.

use std::path::Path;

use archive::{Head, binlog::BinlogPosition, sshsig::AllowedSigners};
use jiff::Timestamp;
use verify::Keys;

use super::{Found, Restored};
use crate::{
    BackupError,
    binlogs::{Archive, Reach, Replayed, Replayer, Target, Until, position_of, replay},
    prove::{Prover, memory},
};

/// The archive of the backup's server, and the point to reach.
#[derive(Debug)]
pub struct PointInTime {
    archive: Archive,
    until: Until,
    /// Where the backup ends, if its manifest says so.
    position: Option<BinlogPosition>,
    /// The same in GTIDs.
    gtid: String,
    /// When its copy was taken.
    instant: Timestamp,
    /// From where to where logs are replayed, if the position is known.
    planned: Option<Reach>,
}

/// Result of a replay of binary logs after a restore.
#[derive(Debug)]
pub struct ReplayResult {
    /// The last transaction in, and the first one out.
    pub reach: Reach,
    /// What a server did.
    pub replayed: Replayed,
}

impl PointInTime {
    /// Reads the archive of the server that the backup is of, and finds the target in it.
    ///
    /// # Errors
    /// [`BackupError::Unreachable`] if there is none, or several servers of the host have one and it is not known which it
    /// is; if logs are missing, or the target is not in the archive. [`BackupError::NewerBackup`].
    /// [`BackupError::Memory`].
    pub fn open(found: &Found, until: Until, signers: Option<&AllowedSigners>) -> Result<Self, BackupError> {
        // Before anything is restored in vain.
        memory::free_bytes(Path::new(memory::DIRECTORY))?;
        let host = found.opened.host();
        let mut archives = Archive::read_all(&found.repository, host, signers)?;
        if let Some(uuid) = found.opened.server_uuid() {
            archives.retain(|archive| archive.server == uuid);
        }
        let Head { position, instant, .. } = found.opened.manifest(&found.repository, &found.identities)?.head;
        let position = position.filter(|position| !position.file.is_empty());
        let gtid = position.as_ref().map_or_else(String::new, |position| position.gtid.clone());
        let position = position.map(|position| BinlogPosition { file: position.file, offset: position.offset });
        let archive = match (archives.pop(), archives.len()) {
            (Some(archive), 0) => archive,
            (None, _) => {
                return Err(BackupError::unreachable(format!("no binary logs of the server of {host} are archived")));
            }
            (Some(_), _) => {
                return Err(BackupError::unreachable(format!(
                    "{host} has archived binary logs of several servers, and the backup does not say which is its own"
                )));
            }
        };
        let mut point = Self { archive, until, position, gtid, instant, planned: None };
        point.planned = point.position.as_ref().map(|from| point.reach(found, from)).transpose()?;
        Ok(point)
    }

    /// What is replayed; `None` if only the restored directory tells where the backup ends.
    #[must_use]
    pub const fn planned(&self) -> Option<&Reach> {
        self.planned.as_ref()
    }

    fn reach(&self, found: &Found, from: &BinlogPosition) -> Result<Reach, BackupError> {
        let target = Target {
            backup: found.opened.number(),
            from: from.clone(),
            gtid: self.gtid.clone(),
            time: self.instant,
            until: self.until.clone(),
        };
        target.find(&found.repository, &self.archive, &found.identities)
    }

    /// Replays the logs on the restored directory `into`, as planned. It is recovered then, and holds more than the backup.
    ///
    /// # Errors
    /// [`BackupError::Unreachable`], [`BackupError::Replay`].
    pub fn replay(
        &self,
        found: &Found,
        restored: &mut Restored,
        into: &Path,
        keys: &Keys,
        prover: &Prover,
        note: &dyn Fn(u64),
    ) -> Result<ReplayResult, BackupError> {
        // It has more than that afterwards.
        restored.position = None;
        let keys = restored.new_keys.as_ref().unwrap_or(keys);
        let from = match &self.position {
            Some(position) => position.clone(),
            None => position_of(into, keys)?,
        };
        let reach = self.planned.clone().map_or_else(|| self.reach(found, &from), Ok)?;
        let server_uuid = found.opened.server_uuid();
        let replayer =
            Replayer { datadir: into, from: &from, time: self.instant, reach: &reach, keys, prover, server_uuid };
        let replayed = replay(&found.repository, &self.archive, &found.identities, &replayer, note)?;
        // It described the files as they were restored.
        restored.report = None;
        Ok(ReplayResult { reach, replayed })
    }
}
