//! `sealant encrypt`: encrypts what a running server keeps in clear text, in a safe order. The bytes on disk decide
//! what is encrypted.

mod binlogs;
pub(crate) mod clear;
mod doublewrite;
mod in_place;
mod job;
mod leftovers;
mod mariadb;
mod method;
mod mysql;
mod pages;
mod read_only;
mod redo;
mod scan;
pub(crate) mod scratch_schema;
pub(crate) mod undo;

use std::{
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use serde::Serialize;
use server::dialect::statement::{FLUSH_RELAY_LOGS, SUPER_READ_ONLY_OFF, encrypt_tablespace};
use server::quote;
use server::{Capability, Flavor, Target, dialect::statement::NOT_ON_REPLICAS};

pub use self::job::{Records, User, carry_out, preview};
pub use self::leftovers::Leftover;
pub use self::method::{ASSUMED_RATE, Method, Room, TableMethod};
use self::scan::Scan;
use crate::{
    Activity, Blocks, Control, Error, KeyStore, LockWait, Opened, Outcome, Session, StatementLog, Step, StepReport,
    Throttle,
    keyring::{awaits_first_key, has_room},
    online, option_file, prove,
};

/// Schema of [`EncryptReport`].
pub const SCHEMA: &str = "sealant.encrypt/1";
/// Maximum number of rewrites of leftovers: other clients may keep writing.
const MAX_RENEWALS: u32 = 6;
/// Maximum number of consecutive rewrites that change nothing in the doublewrite files.
const MAX_FRUITLESS_RENEWALS: u32 = 2;
/// Maximum number of rewrites if logs and undo stay in clear text: their pages reach the doublewrite files again.
const MAX_RENEWALS_WITH_CLEAR_LOGS: u32 = 2;

/// How long to wait until clear-text relay logs are applied.
const RELAY_TIMEOUT: Duration = Duration::from_secs(60);

/// Polling interval of a waiting run.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// What to encrypt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Everything.
    #[default]
    All,
    /// Tablespaces, and the defaults for new ones.
    Tables,
    /// Redo, undo, binary and relay logs.
    Logs,
}

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What to encrypt.
    pub policy: Policy,
    /// Encrypt only tables of these schemas; of all schemas if empty.
    pub schemas: Vec<String>,
    /// Skip tables larger than this: writes to a table wait while it is copied.
    pub largest_table_bytes: Option<u64>,
    /// Remove clear-text binary logs.
    pub purge_binlogs: bool,
    /// The data directory, if its path here differs from the server's.
    pub datadir: Option<PathBuf>,
    /// Option file for settings that the server does not persist itself.
    pub option_file: Option<PathBuf>,
    /// Copies of the keyring that must open everything before the run changes anything.
    pub keyring_copies: Vec<PathBuf>,
    /// Lock timeout and retries.
    pub lock_wait: LockWait,
    /// Method for tables on MySQL.
    pub method: Method,
    /// Maximum time that writers to a table may be blocked by its copy.
    pub lock_budget: Duration,
    /// Whether replicas have keyrings, so that the statements of online tools may be replicated.
    pub replicated: bool,
    /// When to pause.
    pub throttle: Throttle,
}

impl Options {
    /// Path of the data directory on this host.
    fn datadir_of(&self, session: &Session<'_>) -> PathBuf {
        session.datadir(self.datadir.as_deref())
    }
}

/// A server, and how to connect to it.
#[derive(Clone, Debug)]
pub struct ServerAccess {
    /// Address and user.
    pub target: Target,
    /// Password, TLS and timeouts.
    pub connect: server::Options,
}

/// Action of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Check the keyring, and prove that its file and copies open everything.
    ProveKeyring,
    /// Execute statements.
    Statements(Vec<String>),
    /// Encrypt the general tablespace of this name in place.
    Tablespace(String),
    /// Change one table, which may be dropped in the meantime.
    Table(TableChange),
    /// Empty and recreate the undo tablespaces.
    RenewUndo,
    /// Replace the redo files.
    RenewRedo,
    /// Write dirty pages.
    WritePages,
    /// Overwrite the doublewrite files.
    RenewDoublewrite,
    /// Reuse free pages that contain clear text.
    UseFreePages,
    /// Remove clear-text binary logs.
    PurgeBinaryLogs,
    /// Find binary logs with which the server does not start.
    CheckBinaryLogs,
    /// Add settings to an option file.
    OptionFile {
        /// Path of the option file.
        path: PathBuf,
        /// Lines to add.
        lines: String,
    },
    /// Lift `super_read_only` on a replica until the run ends.
    LiftSuperReadOnly,
    /// Clean up after an interrupted run.
    CleanUp,
    /// Wait for the background threads.
    WaitForThreads,
}

/// A table to encrypt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableChange {
    table: online::Table,
    /// The server's own statement for it.
    sql: String,
    /// Bytes of its tablespaces.
    bytes: u64,
    method: TableMethod,
}

/// The steps for a server.
#[derive(Clone, Debug)]
pub struct EncryptPlan {
    /// Name of the server in messages.
    pub server: String,
    /// Version of the server.
    pub version: String,
    /// Unique identity of the server: the argument of [`Control::begin`].
    pub identity: String,
    /// Steps in order.
    pub steps: Vec<Step<Action>>,
    /// Data that no step can encrypt, with remedies.
    pub leftovers: Vec<Leftover>,
    /// Disk space for the largest copy of a table, if there is one.
    pub room: Option<Room>,
}

/// Result of a run, or of planning one.
#[derive(Clone, Debug, Serialize)]
pub struct EncryptReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Name of the server in messages.
    pub server: String,
    /// Version of the server.
    pub version: String,
    /// Steps in order.
    pub steps: Vec<StepReport>,
    /// Data in clear text after the run, according to the bytes on disk.
    pub leftovers: Vec<Leftover>,
    /// Disk space for the largest copy of a table, when the run was planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<Room>,
    /// Numbers of files that the keyring and each copy opened before anything was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyring: Option<Opened>,
    /// Numbers of files that the keyring opened afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyring_after: Option<Opened>,
    /// Whether the run was canceled.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub canceled: bool,
    /// Whether every page of every file was read, and nothing that this server can encrypt is in clear text.
    pub done: bool,
}

/// Files with keys, each with whether it is a copy; and the data directory.
type KeyStores = (Vec<(KeyStore, bool)>, PathBuf);

/// Receives text for a status line.
pub type Progress<'p> = dyn Fn(&str) + 'p;

/// Determines the steps. Changes nothing.
///
/// # Errors
/// [`Error`] if the server does not answer, or cannot encrypt.
fn plan(
    access: &ServerAccess,
    options: &Options,
    log: &StatementLog,
    progress: &Progress<'_>,
) -> Result<EncryptPlan, Error> {
    progress("asking the server");
    let mut session = Session::open(&access.target, &access.connect, log, options.lock_wait)?;
    if options.option_file.is_some() && session.identity().flavor() != Flavor::MariaDb && mysql::keeps_all(&session) {
        let reason = "MySQL stores its settings with SET PERSIST; omit --option-file".to_owned();
        return Err(Error::Unsupported { server: access.target.to_string(), reason });
    }
    schemas_exist(&mut session, access, options)?;
    let scan = Scan::quick(access, options, progress)?;
    let steps = match session.identity().flavor() {
        Flavor::MariaDb => mariadb::steps(&mut session, options, &scan)?,
        _ => mysql::steps(&mut session, access, options, &scan)?,
    };
    let version = session.identity().version.to_string();
    let mut leftovers: Vec<_> = scan.leftovers().into_iter().filter(|leftover| !leftover.closable).collect();
    if session.identity().flavor() != Flavor::MariaDb {
        leftovers::add(&mut leftovers, mysql::misreported(&mut session, options)?);
        if options.option_file.is_none() {
            leftovers::add(&mut leftovers, mysql::not_kept(&session, options, &scan));
        }
    }
    let known = session.identity();
    let identity =
        known.server_uuid.clone().unwrap_or_else(|| format!("{} {}", known.hostname, known.datadir.display()));
    let room = room(&options.datadir_of(&session), &steps);
    Ok(EncryptPlan { server: access.target.to_string(), version, identity, steps, leftovers, room })
}

/// Disk space for the largest table that is copied.
fn room(datadir: &Path, steps: &[Step<Action>]) -> Option<Room> {
    let copied = steps.iter().filter_map(|step| match &step.action {
        Action::Table(TableChange { bytes, method: TableMethod::Copy | TableMethod::Online(_), .. }) => Some(*bytes),
        _ => None,
    });
    copied.max().map(|bytes| Room::for_copy(datadir, bytes))
}

/// Checks the preconditions of a run: keys must exist in a file. Changes nothing.
///
/// # Errors
/// As [`EncryptPlan::run`].
fn may_begin(access: &ServerAccess, options: &Options, log: &StatementLog) -> Result<(), Error> {
    let mut session = Session::open(&access.target, &access.connect, log, options.lock_wait)?;
    prove_keyrings(&mut session, &access.target.to_string(), options).map(drop)
}

fn key_stores(session: &mut Session<'_>, server: &str, options: &Options) -> Result<KeyStores, Error> {
    let of_mariadb = session.identity().flavor() == Flavor::MariaDb;
    let stores = if of_mariadb { mariadb::key_stores } else { mysql::key_stores };
    stores(session, server, options)
}

/// Proves the keyring and its copies; `None` if no file has keys yet.
fn prove_keyrings(session: &mut Session<'_>, server: &str, options: &Options) -> Result<Option<Opened>, Error> {
    let (stores, datadir) = key_stores(session, server, options)?;
    let mut proven = None;
    for (store, is_copy) in stores {
        if let (KeyStore::MySql(file), false) = (&store, is_copy) {
            has_room(file)?;
        }
        // Without keys, nothing can be encrypted, and the file need not open anything.
        if is_copy || !awaits_first_key(session, &datadir, &store)? {
            proven = Some(prove(&datadir, &store)?);
        }
    }
    Ok(proven)
}

impl EncryptPlan {
    /// The plan as a report.
    #[must_use]
    pub fn report(&self) -> EncryptReport {
        let planned = |step: &Step<Action>| step.report(statements_of(&step.action), Outcome::Planned, 0.0);
        EncryptReport {
            schema: SCHEMA,
            server: self.server.clone(),
            version: self.version.clone(),
            steps: self.steps.iter().map(planned).collect(),
            leftovers: self.leftovers.clone(),
            room: self.room,
            keyring: None,
            keyring_after: None,
            canceled: false,
            done: false,
        }
    }

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
        let mut run = Run { session, access, options, control, progress: &within, steps: Vec::new(), keyring: None };
        let total = self.steps.iter().map(|step| step.bytes).sum();
        control.update(|state| (state.steps, state.bytes_total) = (self.steps.len(), total))?;
        for (number, step) in self.steps.iter().enumerate() {
            control.start_step(number + 1, &step.what)?;
            progress(&format!("step {} of {}: {}", number + 1, self.steps.len(), step.what));
            match run.wait_and_do(step) {
                Err(Error::Canceled) => return run.canceled(self),
                other => other?,
            }
            control.update(|state| state.bytes_done += step.bytes)?;
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
        Ok(EncryptReport { steps: run.steps, leftovers, keyring: run.keyring, keyring_after, done, ..self.report() })
    }
}

/// A run in progress.
struct Run<'r> {
    session: Session<'r>,
    access: &'r ServerAccess,
    options: &'r Options,
    control: &'r Control,
    progress: &'r Progress<'r>,
    steps: Vec<StepReport>,
    keyring: Option<Opened>,
}

impl Run<'_> {
    /// Waits as long as required, then executes the step.
    fn wait_and_do(&mut self, step: &Step<Action>) -> Result<(), Error> {
        let requests = self.control.requests();
        let takes = match step.blocks {
            Blocks::Writes => method::estimate(step.bytes),
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
            self.step(&Step::quiet("tidy up", tidy, Action::CleanUp))?;
        }
        let leftovers = Scan::quick(self.access, self.options, self.progress)?.leftovers();
        Ok(EncryptReport { steps: self.steps, leftovers, keyring: self.keyring, canceled: true, ..plan.report() })
    }

    fn step(&mut self, step: &Step<Action>) -> Result<(), Error> {
        let began = Instant::now();
        let mut statements = Vec::new();
        let result = self.perform(&step.action, &mut statements);
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(error @ Error::Statement { .. }) if !error.is_fatal() => Outcome::Failed { reason: error.to_string() },
            Err(error) => return Err(error),
        };
        self.steps.push(step.report(statements, outcome, began.elapsed().as_secs_f64()));
        Ok(())
    }

    fn perform(&mut self, action: &Action, executed: &mut Vec<String>) -> Result<Outcome, Error> {
        match action {
            Action::ProveKeyring => self.prove_keyring(),
            Action::Statements(statements) => {
                for statement in statements {
                    executed.push(statement.clone());
                    self.session.change(statement)?;
                }
                Ok(Outcome::Done)
            }
            Action::Tablespace(name) => {
                let datadir = self.options.datadir_of(&self.session);
                in_place::encrypt(&mut self.session, &datadir, name, &self.control.requests(), self.progress, executed)
            }
            Action::Table(change) => self.table(change, executed),
            Action::RenewUndo => {
                let datadir = self.options.datadir_of(&self.session);
                undo::renew(&mut self.session, &datadir, self.progress, executed)
            }
            Action::RenewRedo => redo::renew(&mut self.session, executed),
            Action::WritePages => pages::write(&mut self.session, executed),
            Action::RenewDoublewrite => doublewrite::renew(&mut self.session, executed),
            Action::CleanUp => {
                online::clean_up(&mut self.session, executed)?;
                scratch_schema::restore(&mut self.session, executed)?;
                undo::clean_up(&mut self.session, self.progress, executed)
            }
            Action::OptionFile { path, lines } => self.add_options(path, lines),
            Action::LiftSuperReadOnly => read_only::lift(&mut self.session, self.control, executed),
            Action::PurgeBinaryLogs => binlogs::purge(&mut self.session, executed),
            Action::CheckBinaryLogs => binlogs::check(&mut self.session),
            Action::UseFreePages => mariadb::use_free_pages(&mut self.session, self.progress, executed),
            Action::WaitForThreads => {
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
                let job = online::Job {
                    tool,
                    target: &self.access.target,
                    connect: &self.access.connect,
                    throttle: &self.options.throttle,
                    replicated: self.options.replicated,
                    lock_wait: self.options.lock_wait.wait,
                    requests: requests.clone(),
                    progress: self.progress,
                };
                online::encrypt(&mut self.session, &job, &change.table, executed)
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
            None => Outcome::Skipped { reason: "no file holds the keys yet, so none can be tested".to_owned() },
        })
    }

    /// Proves the keyring again: this run may have generated its first key, so the keyring must open everything, while
    /// older copies may not.
    fn prove_again(&mut self, leftovers: &mut Vec<Leftover>) -> Result<Option<Opened>, Error> {
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

    /// Reads every page, and rewrites what still has clear text.
    fn rescan_and_rewrite(&mut self) -> Result<Scan, Error> {
        self.wait_for_relay_logs()?;
        let mut scan = Scan::deep(self.access, self.options, self.progress)?;
        let mut in_vain = 0;
        let renewals = if self.options.policy == Policy::Tables { MAX_RENEWALS_WITH_CLEAR_LOGS } else { MAX_RENEWALS };
        for _ in 0..renewals {
            let hopeless = |step: &Step<Action>| {
                in_vain >= MAX_FRUITLESS_RENEWALS && matches!(step.action, Action::RenewDoublewrite)
            };
            let mut steps = self.renewals(&scan)?;
            steps.retain(|step| self.wanted(step) && !hopeless(step));
            if steps.is_empty() {
                break;
            }
            if !self.is_mariadb() && read_only::is_super(&mut self.session)? {
                steps.insert(0, read_only::step());
            }
            for step in &steps {
                (self.progress)(&step.what);
                self.wait_and_do(step)?;
            }
            let renewed = Scan::deep(self.access, self.options, self.progress)?;
            in_vain = if renewed.same_doublewrite_slots(&scan) { in_vain + 1 } else { 0 };
            scan = renewed;
        }
        Ok(scan)
    }

    fn renewals(&mut self, scan: &Scan) -> Result<Vec<Step<Action>>, Error> {
        if !self.is_mariadb() {
            return mysql::renewals(&mut self.session, scan);
        }
        let clear = mariadb::clear_pages(&mut self.session, self.options, scan)?;
        Ok(scan.renewals().into_iter().chain(clear).collect())
    }

    /// Waits until a replica has applied its clear-text relay logs, which it then removes itself.
    fn wait_for_relay_logs(&mut self) -> Result<(), Error> {
        let status = self.session.replica_status();
        if !self.is_mariadb() && !self.session.can(Capability::EncryptBinaryLogs) {
            return Ok(());
        }
        if self.options.policy == Policy::Tables || self.session.query(status)?.rows.is_empty() {
            return Ok(());
        }
        let (began, mut flushed) = (Instant::now(), false);
        while began.elapsed() < RELAY_TIMEOUT && !self.control.requests().cancel() {
            if !Scan::quick(self.access, self.options, self.progress)?.failed(audit::checks::RELAYLOG_PLAINTEXT.id) {
                break;
            }
            if !flushed {
                // The current relay log may be one of them.
                self.session.change(FLUSH_RELAY_LOGS)?;
                flushed = true;
            }
            (self.progress)("waiting until relay logs in clear text are applied");
            sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    fn is_mariadb(&self) -> bool {
        self.session.identity().flavor() == Flavor::MariaDb
    }

    fn wanted(&self, step: &Step<Action>) -> bool {
        let of_tables = matches!(
            step.action,
            Action::WritePages
                | Action::RenewDoublewrite
                | Action::UseFreePages
                | Action::Table(_)
                | Action::WaitForThreads
        );
        of_tables || self.options.policy != Policy::Tables
    }
}

fn schemas_exist(session: &mut Session<'_>, access: &ServerAccess, options: &Options) -> Result<(), Error> {
    for name in &options.schemas {
        let sql = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ";
        if session.value(&format!("{sql}{}", quote::text_in_any_mode(name)))?.as_deref() == Some("0") {
            return Err(Error::NoSuchSchema { server: access.target.to_string(), name: name.clone() });
        }
    }
    Ok(())
}

/// Whether the tables of a schema are to be encrypted.
fn wanted(options: &Options, schema: &str) -> bool {
    options.schemas.is_empty() || options.schemas.iter().any(|known| known == schema)
}

fn statements_of(action: &Action) -> Vec<String> {
    match action {
        Action::Statements(statements) => statements.clone(),
        Action::Table(TableChange { sql, method: TableMethod::Copy, .. }) => vec![sql.clone()],
        Action::Tablespace(name) => vec![encrypt_tablespace(name)],
        Action::LiftSuperReadOnly => vec![SUPER_READ_ONLY_OFF.to_owned()],
        _ => Vec::new(),
    }
}
