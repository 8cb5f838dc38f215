//! A new version of a MariaDB key in a Vault: written, fetched again, and awaited until the server encrypts with it.
//!
//! The server asks the Vault for the newest version itself and caches the answer
//! (`hashicorp_key_management_cache_version_timeout`), so a new version that is in the Vault proves nothing.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use register::Unfinished;

use super::{Run, StepResult};
use crate::{
    Outcome,
    rotate::{Error, copy::KeyringCopy},
};

/// Polling interval for the version that the server uses.
const POLL: Duration = Duration::from_millis(500);

impl Run<'_, '_> {
    /// Writes a new version, unless the resumed run has already written it.
    pub(super) fn add_version(&self, key_id: u32) -> StepResult {
        let path = self.target.store.path().to_owned();
        let Some((before, _)) = &self.before else { return Ok(Outcome::Done) };
        let older = before.newest_version(key_id);
        if let Some((run, version)) =
            self.resumed.as_ref().zip(older).filter(|(run, version)| has_written(run, key_id, *version))
        {
            let started = run.started;
            let reason = format!("the interrupted run of {started} has written version {version} of key {key_id}");
            return Ok(Outcome::Skipped { reason });
        }
        let of_service = |source| Error::KeyService { path: path.clone(), source };
        let configuration = keyring::read_file(&path).map_err(of_service)?;
        before.add_version(&configuration, key_id).map_err(of_service)?;
        let now = KeyringCopy::read(&self.target.store)?;
        let newest = now.newest_version(key_id);
        if newest <= older {
            return Err(Error::NoNewVersion { path, key_id, version: newest.unwrap_or_default() });
        }
        if !now.includes(before) {
            return Err(Error::VersionsRemoved { path, key_id });
        }
        Ok(Outcome::Done)
    }

    /// Waits until the server would encrypt with the newest version.
    pub(super) fn await_version(&mut self, key_id: u32) -> StepResult {
        let Some(wanted) = self.copy.as_ref().and_then(|copy| copy.newest_version(key_id)) else {
            return Ok(Outcome::Done);
        };
        let began = Instant::now();
        loop {
            let used = self.version_in_use(key_id)?;
            match used {
                None => return Ok(Outcome::Skipped { reason: format!("no tablespace uses key {key_id}") }),
                Some(used) if used >= wanted => return Ok(Outcome::Done),
                Some(used) if began.elapsed() >= self.request.settle_timeout => {
                    let server = self.target.server.clone();
                    return Err(Error::OldVersionInUse { server, key_id, used, newest: wanted });
                }
                Some(_) => sleep(POLL),
            }
        }
    }

    /// The version of a key with which the server encrypts pages now; `None` if no tablespace uses the key.
    fn version_in_use(&mut self, key_id: u32) -> Result<Option<u32>, Error> {
        let sql = format!(
            "SELECT MAX(CURRENT_KEY_VERSION) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE CURRENT_KEY_ID \
             = {key_id} AND ENCRYPTION_SCHEME <> 0"
        );
        Ok(self.session.value(&sql)?.and_then(|version| version.parse().ok()))
    }
}

/// Whether an interrupted run was to write a version of this key, and `newest` is newer than the one that it found.
fn has_written(run: &Unfinished, key_id: u32, newest: u32) -> bool {
    run.version_at_start(key_id).is_some_and(|then| newest > then)
}

#[cfg(test)]
mod tests {
    use register::Written;

    use super::*;

    #[test]
    fn an_interrupted_run_has_written_a_version_of_its_own_key_only() {
        let run = |key_id, held: &[&str]| Unfinished {
            file: "keys.age".into(),
            started: jiff::Timestamp::UNIX_EPOCH,
            master_key: None,
            binlog_key: None,
            backups: vec![Written {
                path: "keys.age.before".into(),
                sha256: String::new(),
                keys: held.iter().map(|name| (*name).to_owned()).collect(),
            }],
            data_keys: std::collections::BTreeMap::new(),
            key_id,
            key_version: Some(1),
        };
        assert!(has_written(&run(Some(1), &[]), 1, 2));
        assert!(!has_written(&run(Some(1), &[]), 1, 1), "it was interrupted before that");
        assert!(!has_written(&run(Some(1), &[]), 2, 3), "a version of another key");
        // An older version recorded no number of the key.
        let held = ["1 version 1", "2 version 1", "2 version 2", "11 version 3"];
        assert!(has_written(&run(None, &held), 1, 2));
        assert!(!has_written(&run(None, &held), 1, 1), "it was interrupted before that");
        assert!(!has_written(&run(None, &held), 2, 3), "key 2 had another version");
        assert!(!has_written(&run(None, &[]), 1, 2), "the record does not say of which key");
    }
}
