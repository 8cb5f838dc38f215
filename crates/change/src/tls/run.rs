//! Plans and executes the installation.

use std::{fmt::Write as _, path::Path, time::Instant};

use files::WriteOptions;
use jiff::Timestamp;
use pki::{Certificate, Credentials, Limits, judge, worst};
use rustls_pki_types::CertificateDer;
use server::{Options, Target, probe::served};
use zeroize::Zeroizing;

use super::{
    Error, InstallReport, InstallRequest, SCHEMA,
    certificate_target::CertificateTarget,
    pair_files::{self, Kind, Replacement},
};
use crate::{Confirm, LockWait, Outcome, RunResult, Session, StatementLog, Step};

/// Action of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InstallAction {
    Keep,
    Replace,
    Reload,
    Prove,
    Forget,
}

/// Queries the server and checks the certificate. Changes nothing.
///
/// # Errors
/// [`Error`], by cause.
pub fn plan(
    target: &Target,
    options: &Options,
    request: &InstallRequest,
    log: &StatementLog,
) -> Result<InstallReport, Error> {
    Ok(Installation::new(target, options, request, log)?.report(&|_| Outcome::Planned))
}

/// Installs the certificate, and proves that the server presents it; otherwise restores everything.
pub fn run(
    target: &Target,
    options: &Options,
    request: &InstallRequest,
    log: &StatementLog,
) -> RunResult<InstallReport> {
    let (report, ended) = match Installation::new(target, options, request, log) {
        Ok(mut work) => {
            let (report, ended) = work.run();
            (Some(report), ended)
        }
        Err(error) => (None, Err(error)),
    };
    match ended {
        // The certificate is installed, but the backups could not be removed.
        Err(error) if report.as_ref().is_some_and(|report| report.done) => {
            RunResult { report, remains: Some(error), result: Ok(()) }
        }
        result => RunResult { report, remains: None, result },
    }
}

/// Plans, asks `confirm` if given, and installs the certificate. Logs statements at `log`.
///
/// # Errors
/// [`Error`] by cause, and errors of `confirm`, after which nothing is logged or changed.
pub fn carry_out<E: From<Error>>(
    target: &Target,
    options: &Options,
    request: &InstallRequest,
    log: &Path,
    confirm: Option<Confirm<'_, InstallReport, E>>,
) -> Result<RunResult<InstallReport>, E> {
    if let Some(confirm) = confirm {
        confirm(&plan(target, options, request, &StatementLog::none(target)?)?)?;
    }
    Ok(run(target, options, request, &StatementLog::of_target(log, target)?))
}

struct Installation<'w> {
    request: &'w InstallRequest,
    session: Session<'w>,
    log: &'w StatementLog,
    target: CertificateTarget,
    files: Vec<Replacement>,
    /// SHA-256 of the new certificate.
    wanted: String,
    authorities: Vec<CertificateDer<'static>>,
    before: Option<String>,
    steps: Vec<Step<InstallAction>>,
}

impl<'w> Installation<'w> {
    fn new(
        target: &Target,
        options: &Options,
        request: &'w InstallRequest,
        log: &'w StatementLog,
    ) -> Result<Self, Error> {
        let credentials = Credentials::read(&request.certificate, Some(&request.key), Some(&request.ca))?;
        if !request.skip_checks {
            is_good(&credentials, request)?;
        }
        let mut session = Session::open(target, options, log, LockWait::default())?;
        let mut certificate_target = CertificateTarget::query(&mut session, target, request)?;
        let wanted = credentials.leaf().map(|leaf| leaf.sha256.clone()).unwrap_or_default();
        let (files, authorities) = replacements(&mut certificate_target, credentials, request)?;
        pair_files::check(&files, certificate_target.owner.0)?;
        let before = served(&certificate_target.outside, None, request.timeout);
        // A server without TLS presents no certificate.
        let before = match before {
            Err(server::Error::TlsNotOffered) => None,
            other => {
                Some(other.map_err(|source| Error::Unseen { endpoint: certificate_target.outside.clone(), source })?)
            }
        };
        let before = before.and_then(|chain| chain.first().map(|der| files::sha256_hex(der)));
        let steps = steps(&certificate_target, &files);
        Ok(Self { request, session, log, target: certificate_target, files, wanted, authorities, before, steps })
    }

    fn run(&mut self) -> (InstallReport, Result<(), Error>) {
        let mut outcomes: Vec<(Outcome, f64)> = Vec::new();
        let mut ended = Ok(());
        for step in self.steps.clone() {
            let began = Instant::now();
            let result = self.carry_out(step.action);
            let outcome = match &result {
                Ok(()) => Outcome::Done,
                Err(error) => Outcome::Failed { reason: error.to_string() },
            };
            outcomes.push((outcome, began.elapsed().as_secs_f64()));
            if let Err(error) = result {
                ended = Err(self.roll_back(step.action, error));
                break;
            }
        }
        let mut report = self.report(&|number| outcomes.get(number).map_or(Outcome::Planned, |(o, _)| o.clone()));
        for (step, (_, seconds)) in report.steps.iter_mut().zip(&outcomes) {
            step.seconds = *seconds;
        }
        // Backups may remain, but the certificate is installed.
        let proven = |step: &&Step<InstallAction>| step.action == InstallAction::Prove;
        let number = self.steps.iter().position(|step| proven(&step)).unwrap_or(usize::MAX);
        report.done = matches!(outcomes.get(number), Some((Outcome::Done, _)));
        report.served_after = if report.done { Some(self.wanted.clone()) } else { None };
        report.rolled_back = matches!(ended, Err(Error::RolledBack { .. }));
        if report.rolled_back {
            report.served_after.clone_from(&self.before);
        }
        (report, ended)
    }

    fn carry_out(&mut self, action: InstallAction) -> Result<(), Error> {
        match action {
            InstallAction::Keep => self.back_up(),
            InstallAction::Replace => pair_files::write(&self.files, self.log),
            InstallAction::Reload => Ok(self.session.change(self.target.reload)?),
            InstallAction::Prove => self.prove(),
            InstallAction::Forget => pair_files::remove_backups(&self.files),
        }
    }

    /// Backs up the files of the served certificate. If that certificate is in place, backups of an interrupted run are
    /// older, and are removed first.
    fn back_up(&self) -> Result<(), Error> {
        let pem = pair_files::read(&self.target.certificate)?.unwrap_or_default();
        let ders = pki::ders_from_pem(&pem).unwrap_or_default();
        let in_place = ders.first().map(|der| files::sha256_hex(der));
        if in_place.is_some() && in_place == self.before {
            pair_files::remove_backups(&self.files)?;
        }
        pair_files::back_up(&self.files)
    }

    /// Proves by a handshake from outside that the new certificate is presented, with possession of its key.
    fn prove(&self) -> Result<(), Error> {
        let found = self.handshake(Some(&self.authorities))?;
        if found == self.wanted {
            return Ok(());
        }
        let endpoint = self.target.outside.clone();
        Err(Error::NotServed { endpoint, found, wanted: self.wanted.clone() })
    }

    fn handshake(&self, authorities: Option<&[CertificateDer<'static>]>) -> Result<String, Error> {
        let endpoint = &self.target.outside;
        let chain = served(endpoint, authorities, self.request.timeout);
        let chain = chain.map_err(|source| Error::Unseen { endpoint: endpoint.clone(), source })?;
        Ok(chain.first().map(|der| files::sha256_hex(der)).unwrap_or_default())
    }

    /// Restores everything that the run has changed.
    fn roll_back(&mut self, failed: InstallAction, cause: Error) -> Error {
        let undone = match failed {
            InstallAction::Keep => pair_files::remove_backups(&self.files),
            InstallAction::Replace | InstallAction::Reload | InstallAction::Prove => self.undo(),
            InstallAction::Forget => return cause,
        };
        match undone {
            Ok(()) => Error::RolledBack { cause: Box::new(cause) },
            Err(why) => Error::NotRolledBack { cause: Box::new(cause), why: Box::new(why) },
        }
    }

    fn undo(&mut self) -> Result<(), Error> {
        pair_files::restore(&self.files, self.log)?;
        if let Some(before) = &self.before {
            self.session.change(self.target.reload)?;
            let found = self.handshake(None)?;
            if found != *before {
                let endpoint = self.target.outside.clone();
                return Err(Error::NotServed { endpoint, found, wanted: before.clone() });
            }
        }
        pair_files::remove_backups(&self.files)
    }

    fn report(&self, outcome: &dyn Fn(usize) -> Outcome) -> InstallReport {
        let steps = self.steps.iter().enumerate();
        InstallReport {
            schema: SCHEMA,
            server: self.target.server.clone(),
            steps: steps
                .map(|(number, step)| step.report(self.statements(step.action), outcome(number), 0.0))
                .collect(),
            notes: self.target.notes.clone(),
            served_before: self.before.clone(),
            served_after: None,
            done: false,
            rolled_back: false,
        }
    }

    fn statements(&self, action: InstallAction) -> Vec<String> {
        if action == InstallAction::Reload { vec![self.target.reload.to_owned()] } else { Vec::new() }
    }
}

/// Rejects a certificate with a critical finding.
fn is_good(credentials: &Credentials, request: &InstallRequest) -> Result<(), Error> {
    let limits = Limits { warning_days: 0, critical_days: 0 };
    let problems = judge(credentials, &request.hosts, &limits, Timestamp::now());
    if worst(&problems).is_none_or(|level| level < pki::Level::Critical) {
        return Ok(());
    }
    let reason = problems.into_iter().map(|problem| problem.text).collect::<Vec<_>>().join("; ");
    Err(Error::CertificateRefused { path: request.certificate.clone(), reason })
}

/// The content of each file, and the authorities by which the handshake is verified.
fn replacements(
    target: &mut CertificateTarget,
    credentials: Credentials,
    request: &InstallRequest,
) -> Result<(Vec<Replacement>, Vec<CertificateDer<'static>>), Error> {
    let owner = Some(target.owner);
    let certificate = Zeroizing::new(credentials.certificate_pem);
    let (authorities, ca_pem) = credentials.authorities.unwrap_or_default();
    let key = credentials.key.map(|(_, pem)| pem).unwrap_or_default();
    let public = WriteOptions { owner, ..WriteOptions::PUBLIC };
    let secret = WriteOptions { owner, ..WriteOptions::SECRET };
    let mut files = vec![
        Replacement::new(Kind::Certificate, target.certificate.clone(), certificate, public)?,
        Replacement::new(Kind::Key, target.key.clone(), key, secret)?,
    ];
    if let Some(path) = target.ca.clone() {
        // The check of all files finds entries that are not certificates of an authority.
        let old = pair_files::read(&path)?;
        let bytes =
            authorities_file(ca_pem, old.as_deref().map(Vec::as_slice), request.trust_old_ca, &mut target.notes);
        files.push(Replacement::new(Kind::Authorities, path, Zeroizing::new(bytes), public)?);
    }
    Ok((files, authorities))
}

/// The new authority, and the old ones if they are kept; otherwise adds a note about clients that will be refused.
fn authorities_file(new: Vec<u8>, old: Option<&[u8]>, back_up: bool, notes: &mut Vec<String>) -> Vec<u8> {
    let described = |pem: &[u8]| Certificate::from_pem(pem).unwrap_or_default();
    let known: Vec<String> = described(&new).into_iter().map(|one| one.sha256).collect();
    let leaving: Vec<Certificate> =
        old.map(described).unwrap_or_default().into_iter().filter(|one| !known.contains(&one.sha256)).collect();
    if leaving.is_empty() {
        return new;
    }
    let subjects = leaving.iter().map(|one| one.subject.as_str()).collect::<Vec<_>>().join(", ");
    let mut note = String::new();
    if let (true, Some(old)) = (back_up, old) {
        let _ = write!(note, "clients with certificates of {subjects} are still trusted");
        notes.push(note);
        return [new.as_slice(), b"\n", old].concat();
    }
    let _ = write!(note, "clients with certificates of {subjects} are refused afterwards; --trust-old-ca keeps them");
    notes.push(note);
    new
}

fn steps(target: &CertificateTarget, files: &[Replacement]) -> Vec<Step<InstallAction>> {
    let names = files.iter().map(|file| format!("{} {}", file.kind, file.path.display()));
    let names = names.collect::<Vec<_>>().join(", ");
    let outside = &target.outside;
    vec![
        Step::quiet("keep", "keep the server's files beside them, as FILE.sealant-before", InstallAction::Keep),
        Step::quiet("replace", &format!("replace {names}"), InstallAction::Replace),
        Step::quiet("reload", "make the server load them; open connections are not affected", InstallAction::Reload),
        Step::quiet("prove", &format!("check the new certificate in a handshake with {outside}"), InstallAction::Prove),
        Step::quiet("forget", "remove the old files", InstallAction::Forget),
    ]
}
