//! Stores parts, or writes them to the spool while the store fails, so that the server's log is read on.

use std::time::{Duration, Instant};

use archive::{binlog::Segment, receipt::Object};
use jiff::Timestamp;

use super::{Archiver, Mode, Note, PAUSES, RECEIPT_EVERY};
use crate::{
    Error,
    binlogs::{
        segment,
        source::Source,
        spool::{Checkpoint, SpoolStatus, SpooledPart},
    },
    repository::Attempt,
};

/// How long parts of the spool are stored before the server is read again. The server closes a connection that reads
/// nothing for `net_write_timeout` (60 s by default).
const SLICE: Duration = Duration::from_secs(5);
/// Maximum number of parts in a receipt that is written while the spool is stored.
const MAX_RECEIPT_PARTS: usize = 200;

impl Archiver<'_> {
    /// Stores a part, or writes it to the spool if something waits there already or the store fails. `after`: the
    /// position after it, if no transaction is open there.
    pub(super) fn keep(
        &mut self,
        segment: &Segment,
        encrypted: &[u8],
        after: Option<Checkpoint>,
        source: &Source,
    ) -> Result<(), Error> {
        loop {
            if !self.is_backlogged() {
                let put = self.put_part(segment, encrypted);
                if self.tried(put)?.is_some() {
                    self.state.archive.pending.push(segment.clone());
                    return Ok(());
                }
            }
            if self.spool_part(segment, encrypted, after.as_ref())? {
                return Ok(());
            }
            // The server keeps unread events for a while.
            (self.note)(&Note::SpoolFull(&self.spooled(), self.config.spool_bytes));
            self.note_lag(source);
            if self.has_failed {
                self.wait()?;
            }
            self.end_pause();
            self.drain()?;
        }
    }

    /// Whether something has to be stored before the next part.
    pub(super) fn is_backlogged(&self) -> bool {
        !self.state.archive.spool.is_empty() || self.state.archive.draft.is_some()
    }

    /// Stores what waits, in order, for a few seconds; nothing if the store has just failed.
    pub(super) fn drain(&mut self) -> Result<(), Error> {
        self.drain_for(SLICE)?;
        self.go_on_with_former()
    }

    /// Stores what waits, in order, for about this long; nothing if the store has just failed.
    fn drain_for(&mut self, longest: Duration) -> Result<(), Error> {
        let began = Instant::now();
        while self.is_backlogged() && Instant::now() >= self.next_attempt {
            let stored = self.store_next();
            if self.tried(stored)?.is_none() {
                return Ok(());
            }
            if began.elapsed() > longest {
                // Reading the server gets as much time as storing took.
                self.next_attempt = Instant::now() + began.elapsed();
            }
            (self.note)(&Note::Spooled(&self.spooled()));
        }
        Ok(())
    }

    /// Stores everything that waits, and a receipt of it. A run that follows the server waits for the store, until a
    /// stop is requested.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        while !self.store_all()? {
            self.wait()?;
        }
        Ok(())
    }

    /// Stores everything that waits, and a receipt of it, unless the store fails or has just failed. Returns whether
    /// nothing waits.
    pub(super) fn store_all(&mut self) -> Result<bool, Error> {
        self.end_pause();
        self.store_for(Duration::MAX)
    }

    /// Like [`Self::store_all`], for a few seconds.
    pub(super) fn store_some(&mut self) -> Result<bool, Error> {
        self.store_for(SLICE)
    }

    fn store_for(&mut self, longest: Duration) -> Result<bool, Error> {
        self.drain_for(longest)?;
        if !self.is_backlogged() {
            self.write_receipt()?;
        }
        Ok(!self.is_backlogged())
    }

    /// Ends a pause in which the server was to be read, but not one after a failure of the store.
    fn end_pause(&mut self) {
        if !self.has_failed {
            self.next_attempt = Instant::now();
        }
    }

    /// Compares the spool with the state. Lost parts are read from the server again.
    ///
    /// # Errors
    /// [`Error::SpoolMissing`] if nothing is known of what became of them.
    pub(super) fn recover(&mut self) -> Result<(), Error> {
        self.spool.check_presence(&self.state.archive.spool)?;
        let archive = &mut self.state.archive;
        let is_lost = archive.spool.lost() > 0;
        if !is_lost {
            archive.drop_partial_transactions();
        }
        let mut sound = 0;
        for part in archive.spool.iter() {
            if self.spool.read(part.segment.object)?.is_none() {
                break;
            }
            sound += 1;
        }
        if is_lost || sound < archive.spool.len() {
            archive.forget_spool_from(sound);
        }
        self.save()?;
        (self.note)(&Note::Spooled(&self.spooled()));
        Ok(())
    }

    /// Drops the spooled parts of an unfinished transaction, so that they are read again.
    pub(super) fn drop_partial_transactions(&mut self) -> Result<(), Error> {
        let before = self.state.archive.spool.len();
        self.state.archive.drop_partial_transactions();
        if self.state.archive.spool.len() < before {
            // The saved state must not name a list that gets other parts now.
            self.save()?;
            (self.note)(&Note::Spooled(&self.spooled()));
        }
        Ok(())
    }

    /// Keeps parts that the state does not know, although the server may not send their events again.
    pub(super) fn set_aside(&self) -> Result<(), Error> {
        let aside = self.spool.set_aside(&self.state.archive.spool)?;
        if aside > 0 {
            (self.note)(&Note::SetAside(aside, self.spool.directory()));
        }
        Ok(())
    }

    /// The result of work on the store; `None` if the store failed and this run tries again later.
    pub(super) fn tried<T>(&mut self, work: Result<T, Error>) -> Result<Option<T>, Error> {
        match work {
            Err(error) if self.mode == Mode::Follow && matches!(error, Error::Store(_)) => {
                let pause = self.pauses.next().unwrap_or_default();
                self.next_attempt = Instant::now() + pause;
                self.has_failed = true;
                (self.note)(&Note::Retry(&error, pause));
                (self.note)(&Note::Outage(&self.spooled()));
                Ok(None)
            }
            done => {
                self.pauses = PAUSES;
                self.has_failed = false;
                done.map(Some)
            }
        }
    }

    /// Writes the state. A run that follows the server waits until the file system has space for it, or a stop is
    /// requested; what waits in the spool is stored meanwhile, which frees space.
    pub(super) fn save(&mut self) -> Result<(), Error> {
        let mut pauses = PAUSES;
        let mut is_noted = false;
        loop {
            match self.state.save() {
                Err(error) if self.mode == Mode::Follow && is_full(&error) && !self.is_stopped() => {
                    if !std::mem::replace(&mut is_noted, true) {
                        (self.note)(&Note::StateFull(&error));
                    }
                    if !self.free_space()? {
                        self.sleep(pauses.next().unwrap_or_default());
                    }
                }
                saved => return saved,
            }
        }
    }

    /// Stores the oldest part of the spool and removes its file. Returns whether it did.
    fn free_space(&mut self) -> Result<bool, Error> {
        let can_store = self.state.archive.draft.is_none() && Instant::now() >= self.next_attempt;
        if !can_store || self.state.archive.spool.is_empty() {
            return Ok(false);
        }
        let stored = self.store_first();
        let Some(Some(object)) = self.tried(stored)? else { return Ok(false) };
        self.spool.remove(object)?;
        Ok(true)
    }

    pub(super) fn spooled(&self) -> SpoolStatus {
        SpoolStatus::new(&self.archived.server, &self.state.archive)
    }

    /// Waits until the next attempt is due.
    fn wait(&self) -> Result<(), Error> {
        self.sleep(self.next_attempt.saturating_duration_since(Instant::now()));
        if !self.is_stopped() {
            return Ok(());
        }
        let SpoolStatus { bytes, .. } = self.spooled();
        Err(Error::Waiting { location: self.repository.store().location(), bytes })
    }

    fn put_part(&mut self, segment: &Segment, encrypted: &[u8]) -> Result<(), Error> {
        self.verify_state()?;
        segment::put(self.repository, (&self.config.host, &self.archived.server), segment, encrypted)
    }

    /// Writes a part to the spool. Returns whether there is space.
    fn spool_part(&mut self, segment: &Segment, encrypted: &[u8], after: Option<&Checkpoint>) -> Result<bool, Error> {
        let bytes = self.spooled().bytes.saturating_add(segment.object.bytes);
        if bytes > self.config.spool_bytes || !self.spool.has_space(segment.object)? {
            return Ok(false);
        }
        let part = SpooledPart { segment: segment.clone(), since: Timestamp::now(), after: after.cloned() };
        let archive = &mut self.state.archive;
        let is_first = archive.spool.is_empty();
        match self.spool.put(&mut archive.spool, part, encrypted) {
            Err(error) if is_full(&error) => return Ok(false),
            put => put?,
        }
        if is_first {
            archive.stored = Some(Checkpoint { end: archive.end.clone(), gtid: archive.gtid.clone() });
        }
        (self.note)(&Note::Spooled(&self.spooled()));
        Ok(true)
    }

    /// Stores the receipt that waits, or else the oldest part of the spool.
    fn store_next(&mut self) -> Result<(), Error> {
        self.verify_state()?;
        if self.state.archive.draft.is_some() {
            return self.put_pending_receipt(Attempt::Again);
        }
        let Some(object) = self.store_first()? else { return Ok(()) };
        let archive = &self.state.archive;
        let is_due = archive.pending.len() >= MAX_RECEIPT_PARTS || self.written.elapsed() >= RECEIPT_EVERY;
        match self.state.save() {
            // Removing the stored part frees enough space for the state.
            Err(error) if is_full(&error) => {
                self.spool.remove(object)?;
                self.save()?;
            }
            saved => {
                saved?;
                self.spool.remove(object)?;
            }
        }
        if self.state.archive.spool.is_empty() {
            self.spool.remove_lists()?;
        }
        if is_due { self.draft_receipt() } else { Ok(()) }
    }

    /// Stores the oldest part of the spool; `None` if there is none. Its file is still to be removed.
    fn store_first(&mut self) -> Result<Option<Object>, Error> {
        let Some(first) = self.state.archive.spool.first().cloned() else { return Ok(None) };
        self.spool.check_presence(&self.state.archive.spool)?;
        let object = first.segment.object;
        let lost = || Error::SpoolLost { server: self.archived.server.clone() };
        let encrypted = self.spool.read(object)?.ok_or_else(lost)?;
        self.put_part(&first.segment, &encrypted)?;
        let archive = &mut self.state.archive;
        archive.spool.remove_first();
        archive.pending.push(first.segment);
        archive.stored = first.after.or_else(|| archive.stored.take()).filter(|_| !archive.spool.is_empty());
        Ok(Some(object))
    }
}

fn is_full(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if files::is_disk_full(source))
}
