//! Backs up the keyring before and after the rotation, encrypted.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use files::sha256_hex;
use innodb::tablespace::TablespaceKind;
use jiff::Timestamp;
use register::{Unfinished, Written, sha256_of};
use verify::FileResult;

use super::{Run, StepResult};
use crate::{
    Outcome,
    rotate::{
        Backup, CopyProof, Error, RotateReport, backup,
        copy::{KeyKind, KeyringCopy},
        data_keys::{self, Fingerprints},
        proof::FileScan,
    },
};

impl Run<'_, '_> {
    pub(super) fn back_up_before(&mut self, report: &mut RotateReport) -> StepResult {
        let Some((copy, seen)) = self.before.take() else { return Ok(Outcome::Done) };
        self.begin_register(&copy, &seen);
        let path = self.earlier_path(&copy)?;
        report.backup_before = Some(self.write(&path, &copy)?);
        self.before = Some((copy, seen));
        Ok(Outcome::Done)
    }

    /// Records the start of the run; a resumed run keeps its earlier record.
    fn begin_register(&mut self, copy: &KeyringCopy, seen: &FileScan) {
        let current =
            |file: &&FileResult| matches!(file.tablespace, Some(TablespaceKind::FilePerTable | TablespaceKind::Undo));
        let fingerprints = || data_keys::of_all(seen.tablespaces().filter(current).map(|file| file.path.as_path()));
        let data_keys = if self.request.data_keys { fingerprints() } else { Fingerprints::new() };
        let uuid = &self.target.server_uuid;
        let mut begun = self.resumed.clone().unwrap_or_else(|| Unfinished {
            file: self.copies.file.clone(),
            started: Timestamp::now(),
            master_key: copy.newest(KeyKind::Master, uuid),
            binlog_key: copy.newest(KeyKind::BinaryLog, uuid),
            backups: Vec::new(),
            data_keys,
            key_id: None,
            key_version: None,
        });
        // Also if the interrupted run was to write a version of another key.
        if let Some(id) = self.request.mariadb_new_version.filter(|id| begun.key_id != Some(*id)) {
            let then = begun.version_at_start(id).or_else(|| copy.newest_version(id));
            (begun.key_id, begun.key_version) = (Some(id), then);
        }
        self.ledger.register.unfinished = Some(begun);
    }

    /// Path of the backup from before the rotation: `FILE.before`, or a numbered name if that file is not this run's or
    /// has other keys.
    fn earlier_path(&self, copy: &KeyringCopy) -> Result<PathBuf, Error> {
        let names = copy.names();
        let mut number = 1;
        loop {
            let path = before(&self.copies.file, number);
            if self.may_replace(&path, &names)? {
                return Ok(path);
            }
            number += 1;
        }
    }

    fn may_replace(&self, path: &Path, names: &BTreeSet<String>) -> Result<bool, Error> {
        match &self.ledger.register.unfinished {
            Some(run) => Ok(run.may_replace(path, names)?),
            None => Ok(path.symlink_metadata().is_err()),
        }
    }

    /// Encrypts a copy, records the SHA-256 of the result in the register, writes it, and verifies what is on disk.
    fn write(&mut self, path: &Path, copy: &KeyringCopy) -> Result<Backup, Error> {
        let names = copy.names();
        if !self.may_replace(path, &names)? {
            return Err(Error::BackupExists { path: path.to_owned() });
        }
        let refuse = |reason: String| Error::Age { path: path.to_owned(), reason };
        let encrypted = self.copies.recipients.encrypt(copy.bytes()).map_err(refuse)?;
        let sha256 = sha256_hex(&encrypted);
        let keys = names.len() as u64;
        if let Some(run) = &mut self.ledger.register.unfinished {
            run.backups.push(Written { path: path.to_owned(), sha256: sha256.clone(), keys: names });
        }
        self.ledger.save()?;
        let replace = path.symlink_metadata().is_ok();
        backup::install(path, &encrypted, replace)?;
        if sha256_of(path)?.as_ref() != Some(&sha256) {
            return Err(refuse("does not hold what was written".to_owned()));
        }
        let proof = self.decrypt_again(path, copy)?;
        let password = self.write_password(path, copy)?;
        let recipients = self.copies.recipients.names();
        Ok(Backup { file: path.to_owned(), recipients, sha256, keys, proof, password })
    }

    /// Backs up the password of an encrypted key file together with the file.
    fn write_password(&mut self, path: &Path, copy: &KeyringCopy) -> Result<Option<PathBuf>, Error> {
        let Some(password) = copy.password() else { return Ok(None) };
        let path = backup::password_of(path);
        if !self.may_replace(&path, &BTreeSet::new())? {
            return Err(Error::BackupExists { path });
        }
        let encrypted = self.copies.recipients.encrypt(&password.bytes);
        let encrypted = encrypted.map_err(|reason| Error::Age { path: path.clone(), reason })?;
        let sha256 = sha256_hex(&encrypted);
        if let Some(run) = &mut self.ledger.register.unfinished {
            run.backups.push(Written { path: path.clone(), sha256: sha256.clone(), keys: BTreeSet::new() });
        }
        self.ledger.save()?;
        backup::install(&path, &encrypted, path.symlink_metadata().is_ok())?;
        if sha256_of(&path)? != Some(sha256) {
            return Err(Error::Age { path, reason: "does not hold what was written".to_owned() });
        }
        Ok(Some(path))
    }

    /// Decrypts a backup, if an identity is available.
    fn decrypt_again(&self, path: &Path, copy: &KeyringCopy) -> Result<CopyProof, Error> {
        let Some(identities) = &self.copies.identities else { return Ok(CopyProof::SameBytes) };
        if identities.decrypt(path)?.as_slice() == copy.bytes() {
            return Ok(CopyProof::Decrypted);
        }
        Err(Error::Age { path: path.to_owned(), reason: "decrypts to other data than was encrypted".to_owned() })
    }

    /// Backs up the current keyring to the requested file.
    pub(super) fn back_up(&mut self, report: &mut RotateReport) -> StepResult {
        let copy = KeyringCopy::read(&self.target.store)?;
        let path = self.copies.file.clone();
        report.backup = Some(self.write(&path, &copy)?);
        self.copy = Some(copy);
        Ok(Outcome::Done)
    }

    /// Checks that only files which the unfinished run wrote are replaced.
    pub(super) fn refuse_overwriting(&self, copy: &KeyringCopy) -> Result<(), Error> {
        let path = &self.copies.file;
        match &self.resumed {
            Some(run) if !run.may_replace(path, &copy.names())? => Err(Error::BackupExists { path: path.clone() }),
            _ => Ok(()),
        }
    }
}

fn before(file: &Path, number: u32) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".before");
    if number > 1 {
        name.push(format!(".{number}"));
    }
    PathBuf::from(name)
}
