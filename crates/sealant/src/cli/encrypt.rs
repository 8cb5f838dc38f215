//! `sealant encrypt`: closes the gaps of a running server.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::change::encrypt::{Options, Place, Plan, Policy, Report, plan};
use ::change::{Error, LockPatience, StatementLog};
use clap::{Args, Subcommand, ValueEnum};
use report::{write_encrypt_json, write_encrypt_plan, write_encrypt_run};

use crate::cli::change::{Server, confirm};
use crate::cli::verify::forbid_dumps;
use crate::exit::Exit;
use crate::output::file::to_stdout;
use crate::output::message::{Failure, hint};
use crate::output::progress::StatusLine;

/// Encrypt what a running server keeps in clear text, and prove it from the bytes
///
/// Looks at what the server declares and at its files, and goes through it in an order that is safe:
/// the keyring is proven to open what is encrypted; then the defaults for new tables, the logs, the
/// tablespaces and tables; then whatever still holds clear text of before is made anew. At the end
/// every page of every file is read, and that decides whether it is done.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct Encrypt {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Plan(Box<Common>),
    Run(Box<Run>),
}

/// Show what would be done, in which order, and what clients would notice; change nothing
#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    server: Server,
    /// What is to be encrypted
    #[arg(long, value_enum, default_value_t = PolicyName::All)]
    policy: PolicyName,
    /// Only tables of this schema (repeatable)
    #[arg(long, value_name = "NAME")]
    schema: Vec<String>,
    /// Leave tables alone that are larger, in MiB: writes to a table wait for as long as it is copied
    #[arg(long, value_name = "MIB")]
    largest_table: Option<u64>,
    /// Remove binary logs that were written in clear text, but for those that a connected replica still
    /// reads; a replica that is not connected just now must have read them
    #[arg(long)]
    purge_binlogs: bool,
    /// The server's data directory as seen from here, if it is elsewhere than the server says
    #[arg(long, value_name = "DIR")]
    datadir: Option<PathBuf>,
    /// A copy of the keyring that has to open everything before anything is changed (repeatable)
    #[arg(long, value_name = "FILE")]
    keyring_copy: Vec<PathBuf>,
    /// Seconds that a statement waits for a table's lock; all who come after it wait too, so keep it short
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=60))]
    lock_wait: u64,
    /// How often a lock is tried for, with the same time for others in between
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    lock_tries: u32,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    /// No status line on stderr
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
}

/// Do it: show the plan, ask, and carry it out
#[derive(Debug, Args)]
struct Run {
    #[command(flatten)]
    common: Common,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Show the plan and change nothing, as `sealant encrypt plan` does
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Append every statement that changes something to this file, before it is sent
    #[arg(long, value_name = "FILE", default_value = "sealant-statements.jsonl", help_heading = "Output")]
    log: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PolicyName {
    /// Tables and logs
    All,
    /// Tablespaces, and the defaults for new ones
    Tables,
    /// Redo, undo, binary and relay logs
    Logs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// For scripts, schema sealant.encrypt/1
    Json,
}

const EXAMPLES: &str = "\
Examples:
  sealant encrypt plan mysql://admin@127.0.0.1:3306
  sealant encrypt run --socket /run/mysqld/mysqld.sock --user root
  sealant encrypt run --socket /run/mysqld/mysqld.sock --user root --purge-binlogs --yes --format json

Exit codes:
  0  every page was read, and all that the server can encrypt is encrypted
  1  it could not be done: server gone, keyring not proven, a privilege is missing
  2  wrong usage
  3  something is in clear text that the server could encrypt; the report says what";

impl Encrypt {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        match self.command {
            Command::Plan(common) => common.show_plan(),
            Command::Run(run) if run.dry_run => run.common.show_plan(),
            Command::Run(run) => run.run(),
        }
    }
}

impl Common {
    fn show_plan(&self) -> Result<Exit, Failure> {
        let plan = self.plan(&self.place()?)?;
        self.write(&plan.report(), write_encrypt_plan)?;
        Ok(Exit::Clean)
    }

    /// Nothing is changed, so nothing is logged.
    fn plan(&self, place: &Place) -> Result<Plan, Failure> {
        let log = open_log(Path::new("/dev/null"), place)?;
        let status = StatusLine::new(self.quiet);
        plan(place, &self.options(), &log, &|text| status.show(text)).map_err(failure)
    }

    fn place(&self) -> Result<Place, Failure> {
        let (target, connect) = self.server.connection()?;
        Ok(Place { target, connect })
    }

    fn options(&self) -> Options {
        let wait = Duration::from_secs(self.lock_wait);
        Options {
            policy: match self.policy {
                PolicyName::All => Policy::All,
                PolicyName::Tables => Policy::Tables,
                PolicyName::Logs => Policy::Logs,
            },
            schemas: self.schema.clone(),
            largest_table_bytes: self.largest_table.map(|mib| mib << 20),
            purge_binlogs: self.purge_binlogs,
            datadir: self.datadir.clone(),
            keyring_copies: self.keyring_copy.clone(),
            patience: LockPatience { wait, tries: self.lock_tries, pause: wait },
        }
    }

    fn write(
        &self,
        report: &Report,
        table: fn(&Report, &mut dyn Write) -> Result<(), report::Error>,
    ) -> Result<(), Failure> {
        let write = if self.format == Format::Json { write_encrypt_json } else { table };
        to_stdout(&|out| write(report, out).map_err(std::io::Error::from))
    }
}

impl Run {
    fn run(&self) -> Result<Exit, Failure> {
        let place = self.common.place()?;
        let plan = self.common.plan(&place)?;
        if !self.yes {
            let text = &|out: &mut dyn Write| write_encrypt_plan(&plan.report(), out).map_err(std::io::Error::from);
            confirm("encrypt plan", text)?;
        }
        let log = open_log(&self.log, &place)?;
        let status = StatusLine::new(self.common.quiet);
        let report = plan.run(&place, &self.common.options(), &log, &|text| status.show(text));
        status.clear();
        let report = report.map_err(failure)?;
        self.common.write(&report, write_encrypt_run)?;
        if report.done {
            return Ok(Exit::Clean);
        }
        hint(&format!("every statement that ran is in {}", self.log.display()));
        Ok(Exit::Findings)
    }
}

fn open_log(path: &Path, place: &Place) -> Result<StatementLog, Failure> {
    StatementLog::open(path, &place.target.to_string(), &place.target.user).map_err(failure)
}

/// An error with what to do about it.
fn failure(error: Error) -> Failure {
    let next = match &error {
        Error::Server(e) => e.hint().map(str::to_owned),
        Error::Statement { source, .. } => source.hint().map(str::to_owned),
        Error::NoKeyring { .. } => {
            Some("configure component_keyring_file or a key service, and restart the server".to_owned())
        }
        Error::NoKeyManagement { .. } => {
            Some("load file_key_management or another key management plug-in, and restart the server".to_owned())
        }
        Error::ReadOnlyKeyring { .. } => Some("set read_only to false in its configuration and restart".to_owned()),
        Error::Keyring(_) | Error::KeyringOpensNotAll { .. } => {
            Some("nothing was changed; restore the keyring from a backup before anything else".to_owned())
        }
        _ => None,
    };
    let failure = match error {
        Error::Audit(e) => return Failure::from(e),
        other => Failure::new(other.to_string()),
    };
    Failure { hint: next, ..failure }
}
