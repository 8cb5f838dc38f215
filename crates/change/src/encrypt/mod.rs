//! `sealant encrypt`: closes the gaps of a running server in an order that is safe, and lets the
//! bytes decide what is done.

mod binlogs;
pub(crate) mod clear;
mod doublewrite;
mod in_place;
mod leftovers;
mod mariadb;
mod method;
mod mysql;
mod pages;
mod read_only;
mod redo;
mod scan;
pub(crate) mod scratch;
pub(crate) mod undo;

use std::{
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use serde::Serialize;
use server::{Flavor, Target, dialect::encryption::Encrypts};

pub use self::leftovers::Leftover;
pub use self::method::{ASSUMED_RATE, How, Method, Room};
use self::scan::Scan;
use crate::{
    Activity, Blocks, Control, Error, KeyStore, LockPatience, Opened, Outcome, Session, StatementLog, Step, StepReport,
    Throttle,
    keyring::{awaits_first_key, has_room},
    online, option_file, prove, quote,
};

/// The shape of [`Report`].
pub const SCHEMA: &str = "sealant.encrypt/1";
/// How often leftovers are renewed before they are given up: other writers go on meanwhile.
const RENEWALS: u32 = 6;
/// After so many that change nothing in the doublewrite files these are left as they are.
const RENEWALS_IN_VAIN: u32 = 2;
/// The same where logs and undo stay in clear text, whose pages come back.
const RENEWALS_BESIDE_CLEAR: u32 = 2;

/// How long relay logs in clear text may take to be applied before they are told.
const RELAY_PATIENCE: Duration = Duration::from_secs(60);

/// How often a run that waits looks whether it still has to.
const PAUSE: Duration = Duration::from_millis(500);

/// What is to be encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Everything.
    #[default]
    All,
    /// Tablespaces, and the settings for new ones.
    Tables,
    /// Redo, undo, binary and relay logs.
    Logs,
}

/// How a run goes.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What is to be encrypted.
    pub policy: Policy,
    /// Only tables of these schemas; of all if empty.
    pub schemas: Vec<String>,
    /// Tables larger than this are left alone, since writes to them wait for as long as they are copied.
    pub largest_table_bytes: Option<u64>,
    /// Remove binary logs that were written in clear text.
    pub purge_binlogs: bool,
    /// Where we see the data directory, if that is not where the server says.
    pub datadir: Option<PathBuf>,
    /// The option file that gets the settings for the next start which the server does not keep itself.
    pub option_file: Option<PathBuf>,
    /// Copies of the keyring that have to open everything before anything is changed.
    pub keyring_copies: Vec<PathBuf>,
    /// How locks are waited for.
    pub patience: LockPatience,
    /// How tables are encrypted on MySQL.
    pub method: Method,
    /// How long writers to a table may wait for its copy.
    pub lock_budget: Duration,
    /// Whether replicas have keyrings, so that what a tool does may reach them.
    pub replicated: bool,
    /// When to wait.
    pub throttle: Throttle,
}

impl Options {
    /// Where we see the data directory.
    fn datadir_of(&self, session: &Session<'_>) -> PathBuf {
        self.datadir.clone().unwrap_or_else(|| session.identity().datadir.clone())
    }
}

/// A server and how to reach it.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where and as whom.
    pub target: Target,
    /// Password, TLS, time-outs.
    pub connect: server::Options,
}

/// How a step is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The keyring is looked at, and its file and copies are proven.
    ProveKeyring,
    /// These statements.
    Statements(Vec<String>),
    /// The general tablespace of that name is encrypted in place.
    Tablespace(String),
    /// One table is changed. With others in between, it may be gone by now.
    Table(TableChange),
    /// Undo tablespaces are emptied and made anew.
    RenewUndo,
    /// Redo files are left behind.
    RenewRedo,
    /// Pages that are in memory are written.
    WritePages,
    /// The doublewrite files are written over.
    RenewDoublewrite,
    /// Free pages that hold clear text are used again.
    UseFreePages,
    /// Binary logs in clear text are removed.
    PurgeBinaryLogs,
    /// Settings are added to an option file.
    OptionFile {
        /// The file.
        path: PathBuf,
        /// The lines.
        lines: String,
    },
    /// Nobody but administrators may write to a replica, and now they may, until the run ends.
    LiftSuperReadOnly,
    /// What an interrupted run has left is put right.
    TidyUp,
    /// The background threads are waited for.
    WaitForThreads,
}

/// One table to be encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableChange {
    table: online::Table,
    /// The server's own way.
    sql: String,
    /// Bytes of its tablespaces.
    bytes: u64,
    how: How,
}

/// Steps in their order, for that server.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The server.
    pub server: String,
    /// Its version.
    pub version: String,
    /// What tells it from every other server: the key of [`Control::begin`].
    pub identity: String,
    /// The steps.
    pub steps: Vec<Step<Action>>,
    /// What no step closes, and what to do about it.
    pub leftovers: Vec<Leftover>,
    /// Room for the largest copy of a table, if any is copied.
    pub room: Option<Room>,
}

/// What a run came to, or what it would do.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The server.
    pub server: String,
    /// Its version.
    pub version: String,
    /// The steps in their order.
    pub steps: Vec<StepReport>,
    /// What is in clear text after it, as the bytes say.
    pub leftovers: Vec<Leftover>,
    /// Room for the largest copy of a table, when it was planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<Room>,
    /// What the keyring, and each copy of it, was proven to open before anything was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyring: Option<Opened>,
    /// What the keyring was proven to open afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyring_after: Option<Opened>,
    /// Whether it ended since somebody asked for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub canceled: bool,
    /// Whether every page of every file was read, and nothing that this server can encrypt is in
    /// clear text.
    pub done: bool,
}

/// Files with keys, each with whether it is a copy, and the data directory.
type KeyStores = (Vec<(KeyStore, bool)>, PathBuf);

/// What goes on, for a status line.
pub type Progress<'p> = dyn Fn(&str) + 'p;

/// Finds out what is to be done. Changes nothing.
///
/// # Errors
/// [`Error`] if the server cannot be asked or cannot encrypt.
pub fn plan(place: &Place, options: &Options, log: &StatementLog, progress: &Progress<'_>) -> Result<Plan, Error> {
    progress("asking the server");
    let mut session = Session::open(&place.target, &place.connect, log, options.patience)?;
    if options.option_file.is_some() && session.identity().flavor() != Flavor::MariaDb && mysql::keeps_all(&session) {
        let reason = "MySQL keeps its settings by SET PERSIST; leave --option-file out".to_owned();
        return Err(Error::Unsupported { server: place.target.to_string(), reason });
    }
    schemas_exist(&mut session, place, options)?;
    let scan = Scan::quick(place, options, progress)?;
    let steps = match session.identity().flavor() {
        Flavor::MariaDb => mariadb::steps(&mut session, options, &scan)?,
        _ => mysql::steps(&mut session, place, options, &scan)?,
    };
    let version = session.identity().version.to_string();
    let mut leftovers: Vec<_> = scan.leftovers().into_iter().filter(|leftover| !leftover.closable).collect();
    if session.identity().flavor() != Flavor::MariaDb {
        leftovers::add(&mut leftovers, mysql::miscalled(&mut session, options)?);
        if options.option_file.is_none() {
            leftovers::add(&mut leftovers, mysql::not_kept(&session, options, &scan));
        }
    }
    let known = session.identity();
    let identity =
        known.server_uuid.clone().unwrap_or_else(|| format!("{} {}", known.hostname, known.datadir.display()));
    let room = room(&options.datadir_of(&session), &steps);
    Ok(Plan { server: place.target.to_string(), version, identity, steps, leftovers, room })
}

/// For the largest table that is copied.
fn room(datadir: &Path, steps: &[Step<Action>]) -> Option<Room> {
    let copied = steps.iter().filter_map(|step| match &step.action {
        Action::Table(TableChange { bytes, how: How::Copy | How::Online(_), .. }) => Some(*bytes),
        _ => None,
    });
    copied.max().map(|bytes| Room::for_copy(datadir, bytes))
}

/// What a run would refuse to begin for: keys that are not there, or not in their file. Changes nothing.
///
/// # Errors
/// As [`Plan::run`] would give.
pub fn may_begin(place: &Place, options: &Options, log: &StatementLog) -> Result<(), Error> {
    let mut session = Session::open(&place.target, &place.connect, log, options.patience)?;
    prove_keyrings(&mut session, &place.target.to_string(), options).map(drop)
}

fn key_stores(session: &mut Session<'_>, server: &str, options: &Options) -> Result<KeyStores, Error> {
    let of_mariadb = session.identity().flavor() == Flavor::MariaDb;
    let stores = if of_mariadb { mariadb::key_stores } else { mysql::key_stores };
    stores(session, server, options)
}

/// What the keyring and each copy of it open; `None` if the keys are in no file yet.
fn prove_keyrings(session: &mut Session<'_>, server: &str, options: &Options) -> Result<Option<Opened>, Error> {
    let (stores, datadir) = key_stores(session, server, options)?;
    let mut proven = None;
    for (store, is_copy) in stores {
        if let (KeyStore::MySql(file), false) = (&store, is_copy) {
            has_room(file)?;
        }
        // Before the first key there is nothing that the file would have to open.
        if is_copy || !awaits_first_key(session, &datadir, &store)? {
            proven = Some(prove(&datadir, &store)?);
        }
    }
    Ok(proven)
}

impl Plan {
    /// The plan as a report of what would be done.
    #[must_use]
    pub fn report(&self) -> Report {
        let planned = |step: &Step<Action>| step.report(statements_of(&step.action), Outcome::Planned, 0.0);
        Report {
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

    /// Carries the plan out. A step that fails is reported and the others go on, but for the proof
    /// of the keyring, without which nothing is begun.
    ///
    /// # Errors
    /// [`Error`] if the keyring is not proven, the server is gone, or the log cannot be written.
    pub fn run(
        &self,
        place: &Place,
        options: &Options,
        log: &StatementLog,
        control: &Control,
        progress: &Progress<'_>,
    ) -> Result<Report, Error> {
        let mut result = self.run_steps(place, options, log, control, progress);
        if control.owes_super_read_only() {
            result = read_only::put_back(place, options, log, control).and(result);
        }
        match &result {
            Ok(report) if report.canceled => control.ended(Activity::Canceled, None)?,
            Ok(report) if report.done => control.ended(Activity::Done, None)?,
            Ok(_) => control.ended(Activity::Leftovers, None)?,
            Err(error) => control.ended(Activity::Failed, Some(error.to_string()))?,
        }
        result
    }

    fn run_steps(
        &self,
        place: &Place,
        options: &Options,
        log: &StatementLog,
        control: &Control,
        progress: &Progress<'_>,
    ) -> Result<Report, Error> {
        let mut session = Session::open(&place.target, &place.connect, log, options.patience)?;
        // A replica that got these statements and has no keyring would stop.
        session.ask("SET SESSION sql_log_bin = OFF")?;
        let within = |text: &str| {
            progress(text);
            control.is_within(text);
        };
        let mut run = Run { session, place, options, control, progress: &within, steps: Vec::new(), keyring: None };
        let total = self.steps.iter().map(|step| step.bytes).sum();
        control.tell(|state| (state.steps, state.bytes_total) = (self.steps.len(), total))?;
        for (number, step) in self.steps.iter().enumerate() {
            control.at_step(number + 1, &step.what)?;
            progress(&format!("step {} of {}: {}", number + 1, self.steps.len(), step.what));
            match run.wait_and_do(step) {
                Err(Error::Canceled) => return run.canceled(self),
                other => other?,
            }
            control.tell(|state| state.bytes_done += step.bytes)?;
        }
        control.at_step(self.steps.len(), "reading every page of every file")?;
        let scan = match run.settle() {
            Err(Error::Canceled) => return run.canceled(self),
            other => other?,
        };
        let mut leftovers = scan.leftovers();
        let more = match run.is_mariadb() {
            true => {
                if mariadb::encrypts_binary_logs(&mut run.session)? {
                    leftovers::name_purge(&mut leftovers);
                }
                mariadb::unsettled(&mut run.session, options, &scan)?
            }
            false => {
                let resizes = redo::capacity(&mut run.session)?.is_some();
                leftovers::name_remedies(&mut leftovers, &run.session.identity().version, resizes);
                leftovers::add(&mut leftovers, mysql::not_kept(&run.session, options, &scan));
                mysql::miscalled(&mut run.session, options)?
            }
        };
        leftovers::add(&mut leftovers, more);
        let keyring_after = run.prove_again(&mut leftovers)?;
        let done = scan.complete() && leftovers.iter().all(|leftover| !leftover.closable);
        Ok(Report { steps: run.steps, leftovers, keyring: run.keyring, keyring_after, done, ..self.report() })
    }
}

/// A run that goes on.
struct Run<'r> {
    session: Session<'r>,
    place: &'r Place,
    options: &'r Options,
    control: &'r Control,
    progress: &'r Progress<'r>,
    steps: Vec<StepReport>,
    keyring: Option<Opened>,
}

impl Run<'_> {
    /// Waits for as long as it is asked to, or has to, and does the step.
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
            self.control.is_now(activity, why)?;
            // Else the server would end a connection that says nothing for hours.
            self.session.ask("SELECT 1")?;
            sleep(PAUSE);
        }
        self.control.is_now(Activity::Running, None)?;
        self.step(step)
    }

    /// The report of a run that was asked to end: what was set for a while is set back.
    fn canceled(mut self, plan: &Plan) -> Result<Report, Error> {
        let tidy = "put back what was set for a while";
        if scratch::is_left(&mut self.session)? || !self.is_mariadb() && undo::is_left(&mut self.session)? {
            self.step(&Step::quiet("tidy up", tidy, Action::TidyUp))?;
        }
        let leftovers = Scan::quick(self.place, self.options, self.progress)?.leftovers();
        Ok(Report { steps: self.steps, leftovers, keyring: self.keyring, canceled: true, ..plan.report() })
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

    fn perform(&mut self, action: &Action, ran: &mut Vec<String>) -> Result<Outcome, Error> {
        match action {
            Action::ProveKeyring => self.prove_keyring(),
            Action::Statements(statements) => {
                for statement in statements {
                    ran.push(statement.clone());
                    self.session.change(statement)?;
                }
                Ok(Outcome::Done)
            }
            Action::Tablespace(name) => {
                let datadir = self.options.datadir_of(&self.session);
                in_place::encrypt(&mut self.session, &datadir, name, &self.control.requests(), self.progress, ran)
            }
            Action::Table(change) => self.table(change, ran),
            Action::RenewUndo => {
                let datadir = self.options.datadir_of(&self.session);
                undo::renew(&mut self.session, &datadir, self.progress, ran)
            }
            Action::RenewRedo => redo::renew(&mut self.session, ran),
            Action::WritePages => pages::write(&mut self.session, ran),
            Action::RenewDoublewrite => doublewrite::renew(&mut self.session, ran),
            Action::TidyUp => {
                online::tidy_up(&mut self.session, ran)?;
                scratch::set_back(&mut self.session, ran)?;
                undo::tidy_up(&mut self.session, self.progress, ran)
            }
            Action::OptionFile { path, lines } => self.add_options(path, lines),
            Action::LiftSuperReadOnly => read_only::lift(&mut self.session, self.control, ran),
            Action::PurgeBinaryLogs => binlogs::purge(&mut self.session, ran),
            Action::UseFreePages => mariadb::use_free_pages(&mut self.session, self.progress, ran),
            Action::WaitForThreads => {
                let (throttle, requests) = (&self.options.throttle, self.control.requests());
                mariadb::wait_for_threads(&mut self.session, throttle, &requests, self.progress, ran)
            }
        }
    }

    fn table(&mut self, change: &TableChange, ran: &mut Vec<String>) -> Result<Outcome, Error> {
        let datadir = self.options.datadir_of(&self.session);
        if let Some(reason) = method::no_room(&datadir, change.bytes) {
            return Ok(Outcome::Failed { reason });
        }
        let requests = self.control.requests();
        let result = match &change.how {
            How::Leave(why) => return Ok(Outcome::Skipped { reason: why.clone() }),
            How::Copy => {
                ran.push(change.sql.clone());
                self.session.change_unless(&change.sql, &requests).map(|()| Outcome::Done)
            }
            How::Online(tool) => {
                let job = online::Job {
                    tool,
                    target: &self.place.target,
                    connect: &self.place.connect,
                    throttle: &self.options.throttle,
                    replicated: self.options.replicated,
                    lock_wait: self.options.patience.wait,
                    requests: requests.clone(),
                    progress: self.progress,
                };
                online::encrypt(&mut self.session, &job, &change.table, ran)
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
        self.keyring = prove_keyrings(&mut self.session, &self.place.target.to_string(), self.options)?;
        Ok(match self.keyring {
            Some(_) => Outcome::Done,
            None => Outcome::Skipped { reason: "the keys are in no file yet that could be proven".to_owned() },
        })
    }

    /// The keyring may have got its first key by this run: it has to open everything now, and copies
    /// of before may not.
    fn prove_again(&mut self, leftovers: &mut Vec<Leftover>) -> Result<Option<Opened>, Error> {
        let (stores, datadir) = key_stores(&mut self.session, &self.place.target.to_string(), self.options)?;
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

    /// Reads every page, and renews what is shown to hold clear text of before.
    fn settle(&mut self) -> Result<Scan, Error> {
        self.wait_for_relay_logs()?;
        let mut scan = Scan::deep(self.place, self.options, self.progress)?;
        let mut in_vain = 0;
        let renewals = if self.options.policy == Policy::Tables { RENEWALS_BESIDE_CLEAR } else { RENEWALS };
        for _ in 0..renewals {
            let hopeless =
                |step: &Step<Action>| in_vain >= RENEWALS_IN_VAIN && matches!(step.action, Action::RenewDoublewrite);
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
            let renewed = Scan::deep(self.place, self.options, self.progress)?;
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

    /// A replica removes relay logs in clear text itself when it has applied them.
    fn wait_for_relay_logs(&mut self) -> Result<(), Error> {
        let status = self.session.replica_status();
        if !self.is_mariadb() && !self.session.encrypts(Encrypts::BinaryLogs) {
            return Ok(());
        }
        if self.options.policy == Policy::Tables || self.session.ask(status)?.rows.is_empty() {
            return Ok(());
        }
        let (began, mut flushed) = (Instant::now(), false);
        while began.elapsed() < RELAY_PATIENCE && !self.control.requests().cancel() {
            if !Scan::quick(self.place, self.options, self.progress)?.failed(audit::checks::RELAYLOG_PLAINTEXT.id) {
                break;
            }
            if !flushed {
                // The one in use may be one of them.
                self.session.change("FLUSH RELAY LOGS")?;
                flushed = true;
            }
            (self.progress)("waiting until relay logs in clear text are applied");
            sleep(PAUSE);
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

fn schemas_exist(session: &mut Session<'_>, place: &Place, options: &Options) -> Result<(), Error> {
    for name in &options.schemas {
        let sql = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ";
        if session.value(&format!("{sql}{}", quote::text(name)))?.as_deref() == Some("0") {
            return Err(Error::NoSuchSchema { server: place.target.to_string(), name: name.clone() });
        }
    }
    Ok(())
}

/// Whether that schema's tables are to be encrypted.
fn wanted(options: &Options, schema: &str) -> bool {
    options.schemas.is_empty() || options.schemas.iter().any(|known| known == schema)
}

fn statements_of(action: &Action) -> Vec<String> {
    match action {
        Action::Statements(statements) => statements.clone(),
        Action::Table(TableChange { sql, how: How::Copy, .. }) => vec![sql.clone()],
        Action::Tablespace(name) => vec![in_place::statement(name)],
        Action::LiftSuperReadOnly => vec![read_only::LIFT.to_owned()],
        _ => Vec::new(),
    }
}
