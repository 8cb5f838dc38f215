//! Keys, a certificate, or both in one run.

use std::path::Path;

use server::{Options, Target};

use super::{Copies, Error, RotateReport, RotateRequest, plan, run};
use crate::{Confirm, RunResult, StatementLog, tls};

/// What to replace. Keys are rotated first: the certificate is not touched if that fails.
#[derive(Default)]
pub struct Rotation {
    /// The keys to rotate.
    pub keys: Option<RotateRequest>,
    /// Backup of the keyring; not needed for a plan.
    pub copies: Option<Copies>,
    /// The certificate to install.
    pub certificate: Option<tls::InstallRequest>,
}

impl Rotation {
    /// Checks with the server whether the rotation is possible. Changes nothing.
    ///
    /// # Errors
    /// [`Error::Nothing`], and other errors by cause.
    pub fn plan(&self, target: &Target, options: &Options) -> Result<RotateReport, Error> {
        let log = &StatementLog::none(target)?;
        let keys = self.keys.as_ref();
        let keys = keys.map(|request| plan(target, options, request, self.copies.as_ref(), log)).transpose()?;
        let certificate = self.certificate.as_ref();
        let certificate = certificate.map(|request| tls::plan(target, options, request, log)).transpose()?;
        together(keys, certificate).ok_or(Error::Nothing)
    }

    /// Plans, asks `confirm` if given, and carries out the plan. Logs statements at `log`.
    ///
    /// # Errors
    /// [`Error::NoBackup`] before anything else; errors of the plan and of `confirm`, after which nothing is changed.
    pub fn carry_out<E: From<Error>>(
        &self,
        target: &Target,
        options: &Options,
        log: &Path,
        confirm: Option<Confirm<'_, RotateReport, E>>,
        progress: &dyn Fn(&str),
    ) -> Result<RunResult<RotateReport>, E> {
        self.check()?;
        let plan = self.plan(target, options)?;
        if let Some(confirm) = confirm {
            confirm(&plan)?;
        }
        let log = StatementLog::of_target(log, target)?;
        Ok(self.run(target, options, &log, progress))
    }

    /// Checks before anything else whether a run may start: no key is generated without a backup.
    ///
    /// # Errors
    /// [`Error::NoBackup`].
    fn check(&self) -> Result<(), Error> {
        if self.keys.is_some() && self.copies.is_none() { Err(Error::NoBackup) } else { Ok(()) }
    }

    fn run(
        &self,
        target: &Target,
        options: &Options,
        log: &StatementLog,
        progress: &dyn Fn(&str),
    ) -> RunResult<RotateReport> {
        let keys = match (&self.keys, &self.copies) {
            (Some(_), None) => return RunResult { report: None, remains: None, result: Err(Error::NoBackup) },
            (Some(request), Some(copies)) => match run(target, options, request, copies, log, progress) {
                (report, Err(error)) => return RunResult { report: Some(report), remains: None, result: Err(error) },
                (report, Ok(())) => Some(report),
            },
            (None, _) => None,
        };
        let Some(request) = &self.certificate else {
            return RunResult { report: keys, remains: None, result: Ok(()) };
        };
        let RunResult { report, remains, result } = tls::run(target, options, request, log);
        let mut report = together(keys, report);
        if let (Some(report), Err(_)) = (&mut report, &result) {
            // A certificate that was refused before its first step has no report.
            report.done = false;
        }
        RunResult { report, remains, result }
    }
}

/// Merges both reports into one.
fn together(keys: Option<RotateReport>, certificate: Option<tls::InstallReport>) -> Option<RotateReport> {
    match (keys, certificate) {
        (Some(keys), Some(tls)) => Some(RotateReport { done: keys.done && tls.done, tls: Some(tls), ..keys }),
        (keys, None) => keys,
        (None, Some(tls)) => Some(RotateReport::of_certificate(tls)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(done: bool) -> tls::InstallReport {
        tls::InstallReport {
            schema: tls::SCHEMA,
            server: "db1".to_owned(),
            steps: Vec::new(),
            notes: Vec::new(),
            served_before: None,
            served_after: None,
            done,
            rolled_back: false,
        }
    }

    #[test]
    fn both_are_done_only_if_each_is() {
        let keys = |done| RotateReport { done, ..RotateReport::new("db1", Vec::new()) };
        for (of_keys, of_certificate) in [(true, true), (true, false), (false, true)] {
            let report = together(Some(keys(of_keys)), Some(certificate(of_certificate))).unwrap();
            assert_eq!(report.done, of_keys && of_certificate);
            assert!(report.tls.is_some());
        }
        assert!(together(None, Some(certificate(true))).unwrap().done);
        assert!(together(None, None).is_none());
    }

    #[test]
    fn no_key_is_made_without_a_backup() {
        assert!(Rotation::default().check().is_ok());
        let keys = Some(RotateRequest {
            master_key: true,
            binlog_key: false,
            redo: false,
            data_keys: false,
            mariadb_key_id: None,
            mariadb_new_version: None,
            lock: crate::LockWait::default(),
            datadir: None,
            keyring: None,
            state_dir: "/nowhere".into(),
            settle_timeout: std::time::Duration::ZERO,
        });
        let refused = Rotation { keys, ..Rotation::default() }.check().unwrap_err();
        assert!(matches!(refused, Error::NoBackup) && refused.is_misuse() && refused.hint().is_some());
    }
}
