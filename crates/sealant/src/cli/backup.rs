//! `sealant backup`: makes and examines backups of a data directory.

mod binlogs;
mod check;
mod init;
mod keyring;
mod list;
mod policy;
mod prune;
mod report;
mod run;
mod show;

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ::backup::binlogs::SpoolStatus;
use ::backup::events::{Committed, JobEvent, JobProgress};
use ::backup::{Config, Outcome, PruneConfig, Repository};
use ::report::{spool_unread_message, write_json_line};
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::exit::Exit;
use crate::output::file::to_stdout;
use crate::output::message::{Failure, say};
use crate::output::progress::{Quiet, StatusLine};
use crate::process::forbid_dumps;

/// Make encrypted, signed backups of a data directory, and prove every page of them
///
/// A backup holds the files as a power cut would leave them, all of the same instant; the server's own crash recovery
/// makes them consistent. Only changed pages are stored, but every backup restores like a full one. Pages of encrypted
/// tables are decrypted with the server's key, so that they compress, and then encrypted to age recipients whose
/// identities this host does not have. `sealant restore` encrypts them again to the identical bytes. A backup never
/// contains keyrings or private keys.
///
/// A configuration file names the server's directories, the repository, and who can decrypt the backups: see `sealant
/// backup init --help`.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Init),
    Run(run::Run),
    Binlogs(binlogs::Binlogs),
    List(list::List),
    Policy(policy::Policy),
    Prune(prune::Prune),
    Report(report::Report),
    Show(show::Show),
    Check(check::Check),
    Keyring(keyring::Keyring),
}

impl Backup {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        // Every verb may read a signing key, an identity, the keys of a store or a password.
        forbid_dumps();
        match self.command {
            Command::Init(verb) => verb.run(),
            Command::Run(verb) => verb.run(),
            Command::Binlogs(verb) => verb.run(),
            Command::List(verb) => verb.run(),
            Command::Policy(verb) => verb.run(),
            Command::Prune(verb) => verb.run(),
            Command::Report(verb) => verb.run(),
            Command::Show(verb) => verb.run(),
            Command::Check(verb) => verb.run(),
            Command::Keyring(verb) => verb.run(),
        }
    }
}

/// The configuration.
#[derive(Debug, Args)]
pub(crate) struct Configured {
    /// Configuration file, which `sealant backup init --help` describes
    #[arg(long, value_name = "FILE", default_value = "/etc/sealant/backup.toml")]
    config: PathBuf,
}

impl Configured {
    pub(crate) fn read(&self) -> Result<Config, Failure> {
        Ok(Config::read(&self.config)?)
    }

    /// Reads the configuration of a keeper, and opens its repository.
    pub(crate) fn open_as_keeper(&self) -> Result<(PruneConfig, Repository), Failure> {
        let keeper = PruneConfig::read(&self.config)?;
        let repository = ::backup::init::open_location(&keeper.repository)?.with_cache(&keeper.state);
        Ok((keeper, repository))
    }

    /// Like [`Self::open`], for a run that goes on while the store cannot be reached.
    pub(crate) fn open_for_follower(&self) -> Result<(Config, Repository), Failure> {
        let mut config = self.read()?;
        config.end_calls_early();
        let repository = ::backup::init::open_for_follower(&config)?;
        Ok((config, repository))
    }

    /// Reads the configuration, and opens its repository.
    pub(crate) fn open(&self) -> Result<(Config, Repository), Failure> {
        let config = self.read()?;
        let repository = ::backup::init::open(&config)?;
        Ok((config, repository))
    }
}

/// The host whose backups are meant, and the repository that has them.
#[derive(Debug, Args)]
pub(crate) struct HostSelection {
    #[command(flatten)]
    config: Configured,
    /// Host whose backups to use [default: the host in the configuration]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
}

impl HostSelection {
    /// Opens the repository; returns it with the name of the host.
    pub(crate) fn open(&self) -> Result<(Repository, String), Failure> {
        let (config, repository) = self.config.open()?;
        Ok((repository, self.host.clone().unwrap_or(config.host)))
    }

    /// Like [`Self::open`], for verbs that read receipts without examining the repository: they are kept in the state
    /// directory.
    pub(crate) fn open_with_cache(&self) -> Result<(Repository, String), Failure> {
        let (_, repository, host) = self.open_configured()?;
        Ok((repository, host))
    }

    /// Like [`Self::open_with_cache`]; also returns the configuration.
    pub(crate) fn open_configured(&self) -> Result<(Config, Repository, String), Failure> {
        let (config, repository) = self.config.open()?;
        let repository = repository.with_cache(&config.state);
        let host = self.host.clone().unwrap_or_else(|| config.host.clone());
        Ok((config, repository, host))
    }

    /// What waits on this host for the repository, if it is the one that is meant. A state that cannot be read is only
    /// warned of: the repository can be listed without it.
    pub(crate) fn spooled(&self, repository: &Repository, host: &str) -> Result<Vec<SpoolStatus>, Failure> {
        let config = self.config.read()?;
        if config.host != host {
            return Ok(Vec::new());
        }
        Ok(SpoolStatus::read_all(&config, repository).unwrap_or_else(|error| {
            say(&[spool_unread_message(&error)]);
            Vec::new()
        }))
    }
}

/// Options for scripts.
#[derive(Debug, Args)]
pub(crate) struct Script {
    /// Write JSON to standard output, one object per line; the schema is in docs/schema
    #[arg(long)]
    json: bool,
}

impl Script {
    /// Writes the document as JSON, if that was requested; returns whether it was.
    pub(crate) fn write(&self, document: &impl Serialize) -> Result<bool, Failure> {
        if self.json {
            to_stdout(&|out| write_json_line(document, out).map_err(std::io::Error::from))?;
        }
        Ok(self.json)
    }

    /// Writes an event as a line of JSON, if that was requested.
    fn event(&self, event: &impl Serialize) {
        if self.json {
            // If the reader is gone, the work goes on.
            let _ = write_json_line(event, &mut std::io::stdout().lock());
        }
    }
}

/// Interval of the events about progress.
const EVENT_INTERVAL: Duration = Duration::from_secs(1);

/// Writes the events of a long run, if JSON was requested.
#[derive(Debug)]
pub(crate) struct Events<'s> {
    script: &'s Script,
    began: Instant,
    /// When the plan or the newest progress was written; `None` before the plan.
    last: Mutex<Option<Instant>>,
}

impl<'s> Events<'s> {
    pub(crate) fn new(script: &'s Script) -> Self {
        Self { script, began: Instant::now(), last: Mutex::new(None) }
    }

    /// Writes the plan as soon as it is known, and from then on the progress every second.
    pub(crate) fn tick(&self, progress: &impl JobProgress) {
        let Ok(mut last) = self.last.lock() else { return };
        let event = match *last {
            None => progress.plan(),
            Some(last) => (last.elapsed() >= EVENT_INTERVAL).then(|| progress.progress(self.began.elapsed())),
        };
        if let Some(event) = event {
            *last = Some(Instant::now());
            self.script.event(&event);
        }
    }

    /// Writes the plan, unless it is not known or was written.
    pub(crate) fn begun(&self, progress: &impl JobProgress) {
        if self.last.lock().is_ok_and(|last| last.is_none()) {
            self.tick(progress);
        }
    }

    /// Writes the plan of what is not carried out.
    pub(crate) fn plan(&self, plan: &JobEvent) {
        self.script.event(plan);
    }

    /// Writes the last event of what succeeded: the report.
    pub(crate) fn committed(&self, report: &impl Serialize) {
        self.script.event(&Committed::new(report));
    }

    /// Writes the last event of what failed.
    pub(crate) fn failed(&self, failure: &Failure) {
        self.script.event(&JobEvent::Failed { reason: failure.error.clone() });
    }
}

/// The exit code of a verdict.
pub(crate) const fn exit_code(outcome: Outcome) -> Exit {
    match outcome {
        Outcome::Proven => Exit::Clean,
        Outcome::Damaged => Exit::Findings,
        Outcome::Unjudged => Exit::Incomplete,
    }
}

/// Output during a long run.
#[derive(Debug, Args)]
pub(crate) struct Reporting {
    #[command(flatten)]
    pub(crate) script: Script,
    #[command(flatten)]
    quiet: Quiet,
}

impl Reporting {
    /// The status line.
    pub(crate) fn status(&self) -> StatusLine {
        StatusLine::new(self.quiet.is_set() || self.script.json)
    }
}
