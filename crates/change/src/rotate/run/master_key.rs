//! Rotates the master key of tablespaces or of binary logs.

use std::path::PathBuf;

use super::{RERUN_TIMEOUT, Run, StepResult};
use crate::{
    Outcome,
    keyring::has_room,
    rotate::{
        Error,
        copy::{KeyKind, KeyringCopy},
        plan::RotateAction,
        proof::ExpectedKeys,
    },
};

impl Run<'_, '_> {
    /// Rotates, unless the resumed run already did and every file uses the new key.
    pub(super) fn rotate(&mut self, action: &RotateAction, kind: KeyKind) -> StepResult {
        let newest = self.before.as_ref().and_then(|(copy, _)| copy.newest(kind, &self.target.server_uuid));
        if let Some(reason) = self.rotated_already(kind, newest.as_deref())? {
            return Ok(Outcome::Skipped { reason });
        }
        let behind = self.behind(kind, newest.as_deref())?;
        has_room(self.target.store.path())?;
        for statement in action.statements() {
            self.session.change(&statement)?;
        }
        let now = KeyringCopy::read(&self.target.store)?;
        if now.newest(kind, &self.target.server_uuid) == newest
            && !self.has_adopted(kind, newest.as_deref(), &behind)?
        {
            let is_in_service = self.target.store.names_service();
            return Err(Error::NoNewKey { path: self.target.store.path().to_owned(), older: newest, is_in_service });
        }
        Ok(Outcome::Done)
    }

    /// Whether the server has started to use a key that was already in the keyring. A server that is killed between
    /// generating a key and using it takes that key next time, because it continues from the number in the files
    /// (`Encryption::create_master_key`). `behind`: the files that had another key just before.
    fn has_adopted(&mut self, kind: KeyKind, newest: Option<&str>, behind: &[PathBuf]) -> Result<bool, Error> {
        let (Some(newest), Some((copy, seen))) = (newest, self.before.as_mut()) else { return Ok(false) };
        if behind.is_empty() {
            return Ok(false);
        }
        let wanted = ExpectedKeys::newest(kind, newest);
        seen.wait_until_settled(&wanted, copy, &mut self.session, self.request.settle_timeout)?;
        // A file that is gone uses no key.
        Ok(seen.old_key_files(&wanted).is_empty() && behind.iter().any(|path| seen.carries(path, &wanted)))
    }

    /// Files that do not use the newest key yet.
    fn behind(&mut self, kind: KeyKind, newest: Option<&str>) -> Result<Vec<PathBuf>, Error> {
        let (Some(newest), Some((copy, seen))) = (newest, self.before.as_mut()) else { return Ok(Vec::new()) };
        let wanted = ExpectedKeys::newest(kind, newest);
        if seen.behind(&wanted).is_empty() {
            return Ok(Vec::new());
        }
        seen.rescan(&seen.behind(&wanted), copy)?;
        Ok(seen.behind(&wanted))
    }

    /// Why no rotation is needed: the resumed run has generated the key, and every file uses it. Gives the server time
    /// to write page 0 of every file.
    fn rotated_already(&mut self, kind: KeyKind, newest: Option<&str>) -> Result<Option<String>, Error> {
        let (Some(run), Some(newest)) = (&self.resumed, newest) else { return Ok(None) };
        let then = match kind {
            KeyKind::Master => &run.master_key,
            KeyKind::BinaryLog => &run.binlog_key,
        };
        let wanted = ExpectedKeys::newest(kind, newest);
        let Some((copy, seen)) = self.before.as_mut().filter(|_| then.as_deref() != Some(newest)) else {
            return Ok(None);
        };
        seen.wait_until_settled(&wanted, copy, &mut self.session, self.request.settle_timeout.min(RERUN_TIMEOUT))?;
        let complete = seen.old_key_files(&wanted).is_empty();
        Ok(complete.then(|| format!("the interrupted run of {} has created {newest}", run.started)))
    }
}
