//! Where an archive begins or continues: in the state of this host, in the repository, or in the archive of the server
//! that was replaced.

use std::{path::Path, time::Instant};

use archive::{binlog::Gap, sshsig::AllowedSigners};

use innodb::binlog::{FIRST_EVENT, LogPosition};

use super::{APPLIER_POLL, APPLIER_STILL, Archiver, Note};
use crate::{
    Error,
    binlogs::{
        chain::Archive,
        failover::{self, ArchiveStart, PreviousArchive},
        receipts::{newest_trusted, pruned},
        source::Source,
        state::ArchiveState,
    },
    repository::is_denied,
};

impl Archiver<'_> {
    /// Chooses the beginning of a new archive: the log that the newest backup ends in, so that all later changes are
    /// included.
    pub(super) fn begin(&mut self, source: &Source, directory: &Path) -> Result<(), Error> {
        self.state.archive.version = source.version.to_string();
        if !self.state.archive.end.file.is_empty() {
            return Ok(());
        }
        if self.adopt(source)? || self.take_over(source, directory)? {
            return self.save();
        }
        // If the state was lost, nothing shows which logs the parts of the spool are from.
        self.set_aside()?;
        let of_backup = crate::state::newest_position(directory)?;
        let of_backup = of_backup.map(|position| LogPosition { offset: FIRST_EVENT, ..position.log });
        self.state.archive.end = of_backup.filter(|at| source.has(at)).unwrap_or_else(|| source.oldest());
        self.save()
    }

    /// Verifies, before this run stores something, that repository and state belong together.
    pub(super) fn verify_state(&mut self) -> Result<(), Error> {
        if !self.is_verified {
            self.repository.verify_id()?;
            self.check_state()?;
            self.is_verified = true;
        }
        Ok(())
    }

    /// Refuses a state that is older than receipts of this host: the state is an older copy, or another machine has
    /// continued as this host.
    fn check_state(&self) -> Result<(), Error> {
        let ArchiveState { number, draft, end, .. } = &self.state.archive;
        if !self.repository.may_read() || end.file.is_empty() {
            return Ok(());
        }
        // A draft may be stored already.
        let own = draft.as_ref().map_or(*number, |draft| draft.number);
        let signers = AllowedSigners::only(self.key.public(), &self.config.host);
        match newest_trusted(self.repository, (&self.config.host, &self.archived.server), own, &signers) {
            Ok(None) => Ok(()),
            Ok(Some(newest)) => {
                let (host, server) = (self.config.host.clone(), self.archived.server.clone());
                Err(Error::OldState { host, server, number: *number, newest })
            }
            // It may read the repository, but not list it.
            Err(error) if is_denied(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Continues the archive in the repository, for a host that has lost its state. Returns whether there is one.
    fn adopt(&mut self, source: &Source) -> Result<bool, Error> {
        if !self.repository.may_read() {
            return Ok(false);
        }
        // Only receipts that this host has signed.
        let signers = AllowedSigners::only(self.key.public(), &self.config.host);
        let archive = Archive::read_one(self.repository, &self.config.host, &source.id, Some(&signers))?;
        let Some((newest, digest)) = archive.as_ref().and_then(|archive| archive.receipts.last().zip(archive.newest))
        else {
            return self.number_after_prune(source).map(|()| false);
        };
        let segments = archive.iter().flat_map(Archive::segments).map(|(segment, _)| segment);
        let begin = segments.filter(|segment| segment.file == newest.end.file && segment.start == FIRST_EVENT).last();
        self.state.archive = ArchiveState {
            number: newest.number,
            previous: Some(digest),
            end: newest.end.clone(),
            gtid: newest.gtid.clone(),
            log_began: begin.map_or(0, |segment| segment.first),
            ..ArchiveState::default()
        };
        Ok(true)
    }

    /// Takes the number and hash of the newest receipt from a prune that has removed all of them.
    fn number_after_prune(&mut self, source: &Source) -> Result<(), Error> {
        let mut pruned = match pruned(self.repository, &self.config.host, None) {
            Err(error) if is_denied(&error) => return Ok(()),
            pruned => pruned?,
        };
        if let Some(newest) = pruned.remove(&source.id) {
            let (number, previous) = (newest.removed.number, Some(newest.removed.sha256));
            self.state.archive = ArchiveState { number, previous, ..self.state.archive.clone() };
        }
        Ok(())
    }

    /// Continues the archive of the server that this one has replaced. Returns whether there is one.
    fn take_over(&mut self, source: &Source, directory: &Path) -> Result<bool, Error> {
        let Some(former) = failover::newest(directory, &source.id)? else { return Ok(false) };
        if source.is_mariadb {
            self.begin_after(former.ends_with("the logs of two MariaDB servers cannot be joined".to_owned()), source);
            return Ok(true);
        }
        let now = self.wait_for_applier(&former, source)?;
        let source = now.as_ref().unwrap_or(source);
        if self.is_stopped() {
            return Ok(true);
        }
        let settings = self.settings();
        let mut before = |log: &str| failover::gtids_before(source, self.account, &settings, log);
        match failover::take_over(&former, &source.gtids, &source.logs, &mut before)? {
            ArchiveStart::Continues(predecessor, begin) => {
                (self.note)(&Note::TookOver(&predecessor));
                self.state.archive.lost = former.lost;
                self.state.archive.predecessor = Some(predecessor);
                self.state.archive.end = begin;
            }
            ArchiveStart::Lost(gap) => self.begin_after(gap, source),
        }
        Ok(true)
    }

    /// Waits while a promoted server still applies what it has received from the former one. Returns its last answer,
    /// if it had to be asked again.
    fn wait_for_applier(&self, former: &PreviousArchive, source: &Source) -> Result<Option<Source>, Error> {
        let (began, mut changed) = (Instant::now(), Instant::now());
        let mut missing = former.missing_in(&source.gtids);
        let mut newest = None;
        if !missing.is_empty() && source.gtids.is_on {
            (self.note)(&Note::Waiting(&missing.to_string(), self.config.takeover_wait));
        }
        while !missing.is_empty() && source.gtids.is_on && began.elapsed() < self.config.takeover_wait {
            self.sleep(APPLIER_POLL);
            let (mut connection, now) = source.connect_again(self.account)?;
            let left = former.missing_in(&now.gtids);
            if left != missing || now.applies(&mut connection)? {
                changed = Instant::now();
            }
            (missing, newest) = (left, Some(now));
            if self.is_stopped() || changed.elapsed() > APPLIER_STILL {
                break;
            }
        }
        Ok(newest)
    }

    /// Begins with the oldest log of the server, after a gap.
    pub(super) fn begin_after(&mut self, gap: Gap, source: &Source) {
        (self.note)(&Note::Lost(&gap));
        self.archived.gaps.push(gap.clone());
        self.state.archive.lost = gap.noticed;
        self.state.archive.gap = Some(gap);
        self.state.archive.predecessor = None;
        self.state.archive.end = source.oldest();
        self.state.archive.gtid = String::new();
        self.state.archive.log_began = 0;
        (self.note)(&Note::Spooled(&self.spooled()));
    }
}
