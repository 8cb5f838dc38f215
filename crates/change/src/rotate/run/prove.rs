//! Proves the keyring before the rotation, and its backup afterwards.

use innodb::tablespace::TablespaceKind;
use register::mariadb_name;

use super::{PROOFS, RERUN_TIMEOUT, Run, StepResult};
use crate::{
    Outcome,
    rotate::{
        DataKeys, Error, RotateReport, RotateRequest, RotationProof,
        copy::{KeyKind, KeyringCopy},
        data_keys,
        proof::{ExpectedKeys, FileScan},
        rotation_target,
        tables::{self, Work},
    },
};

impl Run<'_, '_> {
    pub(super) fn prove_before(&mut self, report: &mut RotateReport) -> StepResult {
        let mut copy = KeyringCopy::read(&self.target.store)?;
        if let Some(key_id) = self.request.mariadb_key()
            && copy.newest_version(key_id).is_none()
        {
            return Err(copy.lacks(key_id));
        }
        for _ in 0..PROOFS {
            rotation_target::is_current(&mut self.session, &copy, &self.target.store)?;
            copy.refuse_several()?;
            self.refuse_overwriting(&copy)?;
            let proven = FileScan::prove(&self.target.directories, &copy);
            let now = KeyringCopy::read(&self.target.store)?;
            let unchanged = now.is_same(&copy);
            match proven {
                Ok(seen) if unchanged => {
                    report.proofs.before = Some(seen.proof());
                    report.compromised = copy.compromised();
                    self.before = Some((copy, seen));
                    return Ok(Outcome::Done);
                }
                Err(error) if unchanged => return Err(error),
                // The server still executes the statement of a killed run, or others generate keys.
                _ => copy = now,
            }
        }
        Err(Error::KeyringChanges { path: self.target.store.path().to_owned() })
    }

    /// Proves the bytes that were backed up last. If the keyring has changed meanwhile, backs it up and proves it
    /// again, [`PROOFS`] times in all at most.
    pub(super) fn prove_after(&mut self, report: &mut RotateReport) -> StepResult {
        for _ in 0..PROOFS {
            let Some(copy) = self.copy.take() else { return Ok(Outcome::Done) };
            let wanted = self.wanted(&copy)?;
            let settle_timeout =
                if self.failed { self.request.settle_timeout.min(RERUN_TIMEOUT) } else { self.request.settle_timeout };
            let proven = FileScan::prove(&self.target.directories, &copy).and_then(|mut seen| {
                seen.wait_until_settled(&wanted, &copy, &mut self.session, settle_timeout)?;
                Ok(seen)
            });
            let unchanged = KeyringCopy::read(&self.target.store)?.is_same(&copy);
            match proven {
                Ok(seen) if unchanged => {
                    report.proofs.after = Some(after(&seen, &wanted, self.request));
                    report.old_key_files = seen.old_key_files(&wanted);
                    report.compromised = match report.old_key_files.is_empty() {
                        true => copy.still_compromised(&seen.used_keys()),
                        false => copy.compromised(),
                    };
                    if report.old_key_files.is_empty() {
                        self.prove_redo(&seen, &wanted)?;
                    }
                    self.remember(&copy, &seen, report.backup.as_ref())?;
                    self.copy = Some(copy);
                    return Ok(Outcome::Done);
                }
                Err(error) if unchanged => return Err(error),
                _ => self.back_up(report)?,
            };
        }
        Err(Error::KeyringChanges { path: self.target.store.path().to_owned() })
    }

    fn prove_redo(&self, seen: &FileScan, wanted: &ExpectedKeys) -> Result<(), Error> {
        match &wanted.master {
            Some(key) if self.request.redo && seen.on_new_key(wanted).redo == 0 => {
                Err(Error::RedoUnproven { server: self.target.server.clone(), key: key.clone() })
            }
            _ => Ok(()),
        }
    }

    fn wanted(&mut self, copy: &KeyringCopy) -> Result<ExpectedKeys, Error> {
        let encrypted = tables::called_encrypted(&mut self.session, self.target.datadir())?;
        if let Some(id) = self.request.mariadb_new_version {
            // Tables that were created before the server encrypted with the new version.
            let now = Work::for_mariadb_version(&mut self.session, self.target.datadir(), id)?;
            self.work.files.extend(now.files);
        }
        let newest = |kind, needs: bool| copy.newest(kind, &self.target.server_uuid).filter(|_| needs);
        Ok(ExpectedKeys {
            encrypted,
            master: newest(KeyKind::Master, self.request.rotates_master_key()),
            binary_log: newest(KeyKind::BinaryLog, self.request.binlog_key),
            not: self.unfinished_keys().map(|(path, key)| (path.clone(), *key)).collect(),
            mariadb: self.request.mariadb_key().and_then(|id| {
                let version = copy.newest_version(id)?;
                Some((mariadb_name(id, version), self.work.files.clone()))
            }),
        })
    }
}

fn after(seen: &FileScan, wanted: &ExpectedKeys, request: &RotateRequest) -> RotationProof {
    let on = seen.on_new_key(wanted);
    let data_keys = request.data_keys.then(|| {
        let mut counts = DataKeys::default();
        for file in seen.tablespaces() {
            let shared = matches!(file.tablespace, Some(TablespaceKind::General | TablespaceKind::Dictionary));
            let old = wanted.not.get(&file.path).is_some_and(|old| data_keys::of_tablespace(&file.path) == Some(*old));
            *(if shared || old { &mut counts.kept } else { &mut counts.new }) += 1;
        }
        counts
    });
    RotationProof {
        proof: seen.proof(),
        new_key: wanted.master.clone(),
        new_binlog_key: wanted.binary_log.clone(),
        tablespaces_on_new_key: if wanted.mariadb.is_some() { 0 } else { on.tablespaces },
        redo_on_new_key: on.redo,
        binary_logs_on_new_key: on.binary_logs,
        data_keys,
        tablespaces_on_key_id: wanted.mariadb.is_some().then_some(on.tablespaces),
    }
}
