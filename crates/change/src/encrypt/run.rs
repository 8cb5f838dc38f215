//! Executes a plan step by step.

use std::{
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use server::{Flavor, dialect::statement::NOT_ON_REPLICAS};

use super::{
    EncryptAction, EncryptPlan, EncryptReport, Leftover, Options, POLL_INTERVAL, Progress, ServerAccess, TableChange,
    TableMethod, binlogs, doublewrite, in_place,
    key_proof::{key_stores, prove_keyrings},
    leftovers, mariadb, method, mysql, pages, read_only, redo,
    scan::Scan,
    undo,
};
use crate::{
    Activity, ClientImpact, Control, Error, KeyringProof, Outcome, Session, StatementLog, Step, StepReport,
    option_file, pace::Pace, prove, schema_change_tools, scratch_schema,
};

impl EncryptPlan {
    /// Executes the plan. A failed step is reported and the others continue, except for the proof of the keyring, which
    /// must succeed first.
    ///
    /// # Errors
    /// [`Error`] if the keyring is not proven, the server is gone, or the log cannot be written.
    pub fn run(
        &self,
        access: &ServerAccess,
        options: &Options,
        log: &StatementLog,
        control: &Control,
        progress: &Progress<'_>,
    ) -> Result<EncryptReport, Error> {
        let mut result = self.run_steps(access, options, log, control, progress);
        if control.must_restore_super_read_only() {
            result = read_only::put_back(access, options, log, control).and(result);
        }
        match &result {
            Ok(report) if report.canceled => control.finish(Activity::Canceled, None)?,
            Ok(report) if report.done => control.finish(Activity::Done, None)?,
            Ok(_) => control.finish(Activity::Leftovers, None)?,
            Err(error) => control.finish(Activity::Failed, Some(error.to_string()))?,
        }
        result
    }

    fn run_steps(
        &self,
        access: &ServerAccess,
        options: &Options,
        log: &StatementLog,
        control: &Control,
        progress: &Progress<'_>,
    ) -> Result<EncryptReport, Error> {
        let mut session = Session::open(&access.target, &access.connect, log, options.lock_wait)?;
        // A replica without a keyring would stop at these statements.
        session.query(NOT_ON_REPLICAS)?;
        let within = |text: &str| {
            progress(text);
            control.set_progress(text);
        };
        let mut run = Run {
            session,
            access,
            options,
            control,
            progress: &within,
            steps: Vec::new(),
            keyring: None,
            denied: None,
        };
        let total = self.steps.iter().map(|step| step.bytes).sum();
        control.update(|state| (state.steps, state.bytes_total) = (self.steps.len(), total))?;
        let mut pace = Pace::new(total);
        for (number, step) in self.steps.iter().enumerate() {
            control.start_step(number + 1, &step.what)?;
            progress(&format!("step {} of {}{pace}  {}", number + 1, self.steps.len(), step.what));
            match run.wait_and_do(step) {
                Err(Error::Canceled) => return run.canceled(self),
                other => other?,
            }
            if let Some(ended) = run.steps.last() {
                pace.add(ended);
            }
            control.update(|state| (state.bytes_done, state.bytes_total) = pace.bytes())?;
        }
        control.start_step(self.steps.len(), "reading every page of every file")?;
        let scan = match run.rescan_and_rewrite() {
            Err(Error::Canceled) => return run.canceled(self),
            other => other?,
        };
        let mut leftovers = scan.leftovers();
        let more = match run.is_mariadb() {
            true => {
                if mariadb::encrypts_binary_logs(&mut run.session)? {
                    leftovers::name_purge(&mut leftovers);
                }
                mariadb::pending_settings(&mut run.session, options, &scan)?
            }
            false => {
                let resizes = redo::capacity(&mut run.session)?.is_some();
                leftovers::name_remedies(&mut leftovers, &run.session.identity().version, resizes);
                leftovers::add(&mut leftovers, mysql::not_kept(&run.session, options, &scan));
                mysql::misreported(&mut run.session, options)?
            }
        };
        leftovers::add(&mut leftovers, more);
        let keyring_after = run.prove_again(&mut leftovers)?;
        let done = scan.complete() && leftovers.iter().all(|leftover| !leftover.closable);
        Ok(EncryptReport {
            steps: run.steps,
            leftovers,
            keyring: run.keyring,
            keyring_after,
            denied: run.denied,
            done,
            ..self.report()
        })
    }
}

/// A run in progress.
pub(super) struct Run<'r> {
    pub(super) session: Session<'r>,
    pub(super) access: &'r ServerAccess,
    pub(super) options: &'r Options,
    pub(super) control: &'r Control,
    pub(super) progress: &'r Progress<'r>,
    steps: Vec<StepReport>,
    keyring: Option<KeyringProof>,
    denied: Option<String>,
}

impl Run<'_> {
    /// Waits as long as required, then executes the step.
    pub(super) fn wait_and_do(&mut self, step: &Step<EncryptAction>) -> Result<(), Error> {
        let requests = self.control.requests();
        let takes = match step.blocks {
            ClientImpact::Writes => method::estimate(step.bytes),
            _ => Duration::ZERO,
        };
        loop {
            if requests.cancel() {
                return Err(Error::Canceled);
            }
            let waits = match requests.pause() {
                true => Some((Activity::Paused, None)),
                false => {
                    self.options.throttle.reason(&mut self.session, takes)?.map(|why| (Activity::Waiting, Some(why)))
                }
            };
            let Some((activity, why)) = waits else { break };
            (self.progress)(&format!("waiting: {}", why.as_deref().unwrap_or("paused")));
            self.control.set_activity(activity, why)?;
            // Keeps the connection alive: the server closes idle ones after hours.
            self.session.query("SELECT 1")?;
            sleep(POLL_INTERVAL);
        }
        self.control.set_activity(Activity::Running, None)?;
        self.step(step)
    }

    /// The report of a canceled run, after restoring temporary settings.
    fn canceled(mut self, plan: &EncryptPlan) -> Result<EncryptReport, Error> {
        let tidy = "restore temporary settings";
        if scratch_schema::exists(&mut self.session)? || !self.is_mariadb() && undo::exists(&mut self.session)? {
            self.step(&Step::quiet("tidy up", tidy, EncryptAction::CleanUp))?;
        }
        let leftovers = Scan::quick(self.access, self.options, self.progress)?.leftovers();
        Ok(EncryptReport {
            steps: self.steps,
            leftovers,
            keyring: self.keyring,
            denied: self.denied,
            canceled: true,
            ..plan.report()
        })
    }

    fn step(&mut self, step: &Step<EncryptAction>) -> Result<(), Error> {
        let began = Instant::now();
        let mut statements = Vec::new();
        let result = self.perform(&step.action, &mut statements);
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(error @ Error::Statement { .. }) if !error.is_fatal() => {
                let reason = error.to_string();
                if error.is_privilege() {
                    self.denied.get_or_insert_with(|| reason.clone());
                }
                Outcome::Failed { reason }
            }
            Err(error) => return Err(error),
        };
        self.steps.push(step.report(statements, outcome, began.elapsed().as_secs_f64()));
        Ok(())
    }

    fn perform(&mut self, action: &EncryptAction, executed: &mut Vec<String>) -> Result<Outcome, Error> {
        match action {
            EncryptAction::ProveKeyring => self.prove_keyring(),
            EncryptAction::Statements(statements) => {
                for statement in statements {
                    executed.push(statement.clone());
                    self.session.change(statement)?;
                }
                Ok(Outcome::Done)
            }
            EncryptAction::Tablespace(name) => {
                let datadir = self.options.datadir_of(&self.session);
                in_place::encrypt(&mut self.session, &datadir, name, &self.control.requests(), self.progress, executed)
            }
            EncryptAction::Table(change) => self.table(change, executed),
            EncryptAction::RenewUndo => {
                let datadir = self.options.datadir_of(&self.session);
                undo::renew(&mut self.session, &datadir, self.progress, executed)
            }
            EncryptAction::RenewRedo => redo::renew(&mut self.session, executed),
            EncryptAction::WritePages => pages::write(&mut self.session, executed),
            EncryptAction::RenewDoublewrite => doublewrite::renew(&mut self.session, executed),
            EncryptAction::CleanUp => {
                schema_change_tools::clean_up(&mut self.session, executed)?;
                scratch_schema::restore(&mut self.session, executed)?;
                undo::clean_up(&mut self.session, self.progress, executed)
            }
            EncryptAction::OptionFile { path, lines } => self.add_options(path, lines),
            EncryptAction::LiftSuperReadOnly => read_only::lift(&mut self.session, self.control, executed),
            EncryptAction::PurgeBinaryLogs => binlogs::purge(&mut self.session, executed),
            EncryptAction::CheckBinaryLogs => binlogs::check(&mut self.session),
            EncryptAction::UseFreePages => mariadb::use_free_pages(&mut self.session, self.progress, executed),
            EncryptAction::WaitForThreads => {
                let (throttle, requests) = (&self.options.throttle, self.control.requests());
                mariadb::wait_for_threads(&mut self.session, throttle, &requests, self.progress, executed)
            }
        }
    }

    fn table(&mut self, change: &TableChange, executed: &mut Vec<String>) -> Result<Outcome, Error> {
        let datadir = self.options.datadir_of(&self.session);
        if let Some(reason) = method::no_room(&datadir, change.bytes) {
            return Ok(Outcome::Failed { reason });
        }
        let requests = self.control.requests();
        let result = match &change.method {
            TableMethod::Leave(why) => return Ok(Outcome::Skipped { reason: why.clone() }),
            TableMethod::Copy => {
                executed.push(change.sql.clone());
                self.session.change_cancelable(&change.sql, &requests).map(|()| Outcome::Done)
            }
            TableMethod::Online(tool) => {
                let job = schema_change_tools::Job {
                    tool,
                    target: &self.access.target,
                    connect: &self.access.connect,
                    throttle: &self.options.throttle,
                    replicated: self.options.replicated,
                    lock_wait: self.options.lock_wait.wait,
                    requests: requests.clone(),
                    progress: self.progress,
                };
                schema_change_tools::encrypt(&mut self.session, &job, &change.table, executed)
            }
        };
        match result {
            Err(error) if error.is_no_such_table() => Ok(Outcome::Skipped { reason: "the table is gone".to_owned() }),
            Err(error) if error.is_tablespace_lost() => Ok(error.lost_in_a_crash()),
            Ok(Outcome::Failed { .. }) if requests.cancel() => Err(Error::Canceled),
            other => other,
        }
    }

    fn add_options(&self, path: &Path, lines: &str) -> Result<Outcome, Error> {
        self.session.note(&format!("added to {}: {}", path.display(), lines.replace('\n', "; ")))?;
        Ok(match option_file::append(path, lines) {
            Ok(()) => Outcome::Done,
            Err(error) => Outcome::Failed { reason: format!("{}: {error}", path.display()) },
        })
    }

    fn prove_keyring(&mut self) -> Result<Outcome, Error> {
        self.keyring = prove_keyrings(&mut self.session, &self.access.target.to_string(), self.options)?;
        Ok(match self.keyring {
            Some(_) => Outcome::Done,
            None => Outcome::Skipped {
                reason: "no file holds keys yet that can be tested; give the configuration of a key service with --keyring-copy"
                    .to_owned(),
            },
        })
    }

    /// Proves the keyring again: this run may have generated its first key, so the keyring must open everything, while
    /// older copies may not.
    fn prove_again(&mut self, leftovers: &mut Vec<Leftover>) -> Result<Option<KeyringProof>, Error> {
        let (stores, datadir) = key_stores(&mut self.session, &self.access.target.to_string(), self.options)?;
        let mut after = None;
        for (store, is_copy) in stores {
            match prove(&datadir, &store) {
                Ok(opened) => after = after.or(Some(opened)),
                Err(error) => leftovers.push(Leftover {
                    artefact: store.path().display().to_string(),
                    check: audit::checks::CANNOT_OPEN.id.to_owned(),
                    reason: error.to_string(),
                    remedy: if is_copy { "copy the keyring again" } else { "find the keyring before the server stops" }
                        .to_owned(),
                    closable: true,
                }),
            }
        }
        Ok(after)
    }

    pub(super) fn is_mariadb(&self) -> bool {
        self.session.identity().flavor() == Flavor::MariaDb
    }
}
