//! Records the rotation in the register of keys, and removes backups that are no longer needed.

use std::fs;

use jiff::Timestamp;
use register::{CopyRecord, Written, sha256_of};

use super::{OLD_KEYS_REMAIN, Run, StepResult};
use crate::{
    Outcome,
    rotate::{
        Backup, Error, RotateReport, backup,
        copy::{KeyKind, KeyringCopy},
        proof::FileScan,
    },
};

impl Run<'_, '_> {
    /// Records in the register what is known about every key, and the proven backup.
    pub(super) fn remember(
        &mut self,
        copy: &KeyringCopy,
        seen: &FileScan,
        backup: Option<&Backup>,
    ) -> Result<(), Error> {
        let now = Timestamp::now();
        let (needed, names) = (seen.needed(), copy.names());
        let newest = [KeyKind::Master, KeyKind::BinaryLog].map(|kind| copy.newest(kind, &self.target.server_uuid));
        let register = &mut self.ledger.register;
        let then = register.unfinished.as_ref().map(|run| [run.master_key.clone(), run.binlog_key.clone()]);
        register.record_seen(&names, &needed);
        for record in register.keys.values_mut().filter(|record| record.in_keyring) {
            (record.copy_proven, record.copy) = (Some(now), Some(self.copies.file.clone()));
        }
        for (older, newer) in then.into_iter().flatten().zip(newest) {
            if let Some(record) =
                older.filter(|older| Some(older) != newer.as_ref()).and_then(|older| register.keys.get_mut(&older))
            {
                record.rotated.get_or_insert(now);
            }
        }
        let Some(backup) = backup else { return Ok(()) };
        let password = match &backup.password {
            Some(path) => sha256_of(path)?.map(|hash| (path.clone(), hash)),
            None => None,
        };
        let (sha256, keys) = (backup.sha256.clone(), copy.fingerprints());
        register.copies.insert(backup.file.clone(), CopyRecord { proven: now, sha256, keys, password });
        Ok(())
    }

    /// Completes the run: removes the older backup if the new one has all its keys, and updates the register.
    pub(super) fn record(&mut self, report: &mut RotateReport) -> StepResult {
        if !report.old_key_files.is_empty() || self.failed {
            self.ledger.save()?;
            return Ok(Outcome::Skipped { reason: OLD_KEYS_REMAIN.to_owned() });
        }
        self.remove_older(report)?;
        let needs = [
            ("master_key", self.request.rotates_master_key()),
            ("binlog_key", self.request.binlog_key),
            ("data_keys", self.request.data_keys),
            ("mariadb_key_id", self.request.mariadb_key_id.is_some()),
            ("mariadb_new_version", self.request.mariadb_new_version.is_some()),
        ];
        for (key, _) in needs.into_iter().filter(|(_, needs)| *needs) {
            self.ledger.register.last_rotated.insert(key.to_owned(), Timestamp::now());
        }
        self.ledger.register.unfinished = None;
        self.ledger.save()?;
        Ok(Outcome::Done)
    }

    fn remove_older(&mut self, report: &mut RotateReport) -> Result<(), Error> {
        let Some(copy) = &self.copy else { return Ok(()) };
        let names = copy.names();
        let backups = self.ledger.register.unfinished.as_ref().map(|run| run.backups.clone()).unwrap_or_default();
        let included = self.before.as_ref().is_some_and(|(before, _)| copy.includes(before));
        let kept = [self.copies.file.clone(), backup::password_of(&self.copies.file)];
        for written in backups.iter().filter(|written| !kept.contains(&written.path)) {
            if !written.is_unchanged()? {
                continue;
            }
            let removed: Vec<String> = written.keys.difference(&names).cloned().collect();
            if removed.is_empty() && included {
                let gone = fs::remove_file(&written.path).and_then(|()| files::sync_parent(&written.path));
                gone.map_err(|source| Error::Backup { path: written.path.clone(), source })?;
                report.backup_before = report.backup_before.take().filter(|backup| backup.file != written.path);
                continue;
            }
            for name in removed {
                self.note_removed(&name, written);
                report.removed_keys.push(name);
            }
        }
        self.ledger.register.forget_unused_copies();
        report.removed_keys.sort();
        report.removed_keys.dedup();
        Ok(())
    }

    /// Records a key that the server removed and the older backup has.
    fn note_removed(&mut self, name: &str, written: &Written) {
        let (now, path) = (Timestamp::now(), &written.path);
        // An interrupted run recorded no fingerprints of its backups.
        let keys = self.before.as_ref().map(|(before, _)| before.fingerprints()).unwrap_or_default();
        let keys = keys.into_iter().filter(|(name, _)| written.keys.contains(name)).collect();
        let copy = CopyRecord { proven: now, sha256: written.sha256.clone(), keys, password: None };
        self.ledger.register.copies.insert(path.clone(), copy);
        let record = self.ledger.register.keys.entry(name.to_owned()).or_default();
        record.first_seen.get_or_insert(now);
        (record.copy_proven, record.copy) = (Some(now), Some(path.clone()));
    }
}
