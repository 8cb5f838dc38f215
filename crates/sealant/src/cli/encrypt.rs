//! `sealant encrypt`: encrypts what a running server stores in plaintext.

use std::path::PathBuf;
use std::time::Duration;

use ::change::encrypt::{EncryptReport, Method, Options, Policy, Records, ServerAccess, User, carry_out, preview};
use ::change::{Limit, Request, Throttle, Window};
use clap::{Args, Subcommand};
use report::{statement_log_hint, write_encrypt_html, write_encrypt_json, write_encrypt_plan, write_encrypt_run};

use crate::cli::change::{
    Consent, DATADIR_HELP, Evidence, Locks, LogFile, Output, Server, confirm_steps, state_dir, state_dir_help,
};
use crate::cli::value::{self, Word};
use crate::exit::{self, Exit};
use crate::output::message::{Failure, hint, say, warning};
use crate::output::render::Writer;
use crate::process::{ended_by_signals, forbid_dumps};

mod steer;

use steer::{RunSelection, Status};

/// Encrypt what a running server stores in plaintext, and prove it from the bytes
///
/// Examines the server's settings and files, and proceeds in a safe order. First it proves that the keyring opens what
/// is already encrypted. Then it sets the defaults for new tables, encrypts logs, tablespaces and tables, and rewrites
/// whatever still holds old plaintext. At the end every page of every file is read, which decides whether the run is
/// done.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Encrypt {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Plan(Box<Common>),
    Run(Box<Run>),
    Status(Status),
    /// Pause a run after its current step
    Pause(RunSelection),
    /// Resume a paused run
    Resume(RunSelection),
    /// End a run; a table that is being copied stays unchanged
    Cancel(RunSelection),
}

/// Show what would be done, in which order, and what clients would notice; change nothing
#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    server: Server,
    /// What to encrypt
    #[arg(long, default_value = "all", value_parser = value::word(POLICIES))]
    policy: Policy,
    /// Only the tables of this schema (repeatable)
    #[arg(long, value_name = "NAME")]
    schema: Vec<String>,
    /// How to encrypt tables on MySQL
    #[arg(long, default_value = "auto", value_parser = value::word(METHODS), help_heading = "Tables")]
    method: Method,
    /// How long writers may wait for the copy of a table; tables that take longer are left to gh-ost or
    /// pt-online-schema-change, or are skipped if neither can be used
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = value::time, help_heading = "Tables")]
    lock_budget: Duration,
    /// Confirm that all replicas have keyrings, so that changes by gh-ost and pt-online-schema-change may reach them
    #[arg(long, help_heading = "Tables")]
    replicated: bool,
    /// Skip tables larger than this, in MiB; writes to a table wait while it is copied
    #[arg(long, value_name = "MIB", help_heading = "Tables")]
    largest_table: Option<u64>,
    /// Remove binary logs that were written in plaintext, except those that a connected replica still reads; replicas
    /// that are not connected now must have read them
    #[arg(long)]
    purge_binlogs: bool,
    #[arg(long, value_name = "DIR", help = DATADIR_HELP)]
    datadir: Option<PathBuf>,
    /// Copy of the keyring, or the configuration of the Vault, the KMIP service or AWS KMS that has the keys, which must
    /// open everything before anything is changed (repeatable)
    #[arg(long, value_name = "FILE")]
    keyring_copy: Vec<PathBuf>,
    /// Add settings that the server cannot persist itself (MariaDB, MySQL 5.7, Percona Server 8.0) to this option file,
    /// which the server must read [default: the settings are only shown]
    #[arg(long, value_name = "FILE")]
    option_file: Option<PathBuf>,
    #[command(flatten)]
    locks: Locks,
    #[command(flatten)]
    throttle: ThrottleArgs,
    #[command(flatten)]
    output: Output,
}

/// When a run waits before its next step.
#[derive(Debug, Args)]
#[command(next_help_heading = "Waiting")]
struct ThrottleArgs {
    /// Wait while replication lags more than this, such as 5s, on this server if it is a replica, or on a --replica
    #[arg(long, value_name = "TIME", value_parser = value::whole_seconds)]
    max_lag: Option<Duration>,
    /// Replica to check for --max-lag, as mysql://USER@HOST:PORT, with the same password and TLS options (repeatable)
    #[arg(long, value_name = "URL", requires = "max_lag")]
    replica: Vec<String>,
    /// Wait while a status variable is higher, such as Threads_running=50 (repeatable)
    #[arg(long, value_name = "NAME=MOST")]
    throttle: Vec<Limit>,
    /// Begin steps only in this part of the day, in local time, such as 01:00-05:00
    #[arg(long, value_name = "FROM-TO")]
    window: Option<Window>,
}

/// Show the plan, ask for confirmation, and carry it out
#[derive(Debug, Args)]
struct Run {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    log: LogFile,
    #[command(flatten)]
    evidence: Evidence,
    #[arg(long, value_name = "DIR", help = state_help())]
    state_dir: Option<PathBuf>,
}

const METHODS: &[Word<Method>] = &[
    (
        "auto",
        Method::Auto,
        "The server's own copy if it fits into --lock-budget, else gh-ost or pt-online-schema-change",
    ),
    ("native", Method::Native, "The server's own copy, however long writers wait"),
    ("gh-ost", Method::GhOst, "gh-ost where it can be used, else the server's own copy if it fits into --lock-budget"),
    ("pt-osc", Method::PtOsc, "Like gh-ost, but with pt-online-schema-change"),
    (
        "rebuild-replica",
        Method::RebuildReplica,
        "The server's own copy, on a read-only replica that then takes over from the source",
    ),
];

const POLICIES: &[Word<Policy>] = &[
    ("all", Policy::All, "Tables and logs"),
    ("tables", Policy::Tables, "Tablespaces, and the defaults for new ones"),
    ("logs", Policy::Logs, "Redo, undo, binary and relay logs"),
];

fn state_help() -> String {
    state_dir_help("Directory of the run's state, which the other commands of `sealant encrypt` read")
}

const EXAMPLES: &str = "\
Examples:
  sealant encrypt plan --socket /run/mysqld/mysqld.sock --user root
  sealant encrypt run --socket /run/mysqld/mysqld.sock --user root
  sealant encrypt run --socket /run/mysqld/mysqld.sock --user root --purge-binlogs --yes --format json
  sealant encrypt run --socket /run/mysqld/mysqld.sock --user root --html evidence.html
  sealant encrypt run mysql://admin@db1 --tls-ca ca.pem --window 01:00-05:00 --throttle Threads_running=50 --lock-budget 10s
  sealant encrypt status";

const EXITS: exit::Codes = &[
    (Exit::Clean, "every page was read, and all that the server can encrypt is encrypted"),
    (Exit::Failed, "it could not be done: the server is gone, the keyring is not proven, or a privilege is missing"),
    (Exit::Findings, "something is in clear text that the server could encrypt; the report says what"),
];

impl Encrypt {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        match self.command {
            Command::Plan(common) => common.show_plan(),
            Command::Run(run) if run.consent.dry_run => run.common.show_plan(),
            Command::Run(run) => run.run(),
            Command::Status(status) => status.show(),
            Command::Pause(selection) => selection.ask(Request::Pause, true),
            Command::Resume(selection) => selection.ask(Request::Pause, false),
            Command::Cancel(selection) => selection.ask(Request::Cancel, true),
        }
    }
}

impl Common {
    fn show_plan(&self) -> Result<Exit, Failure> {
        let status = self.output.quiet.status_line();
        let planned = preview(&self.access()?, &self.options()?, &|text| status.show(text));
        status.clear();
        let planned = planned?;
        self.write(&planned.report, write_encrypt_plan)?;
        if let Some(lacking) = &planned.lacking {
            warn(lacking);
        }
        planned.keys?;
        Ok(Exit::Clean)
    }

    fn access(&self) -> Result<ServerAccess, Failure> {
        let (target, connect) = self.server.connection()?;
        Ok(ServerAccess { target, connect })
    }

    fn options(&self) -> Result<Options, Failure> {
        Ok(Options {
            policy: self.policy,
            schemas: self.schema.clone(),
            largest_table_bytes: self.largest_table.map(|mib| mib << 20),
            purge_binlogs: self.purge_binlogs,
            datadir: self.datadir.clone(),
            keyring_copies: self.keyring_copy.clone(),
            option_file: self.option_file.clone(),
            lock_wait: self.locks.lock_wait(),
            method: self.method,
            lock_budget: self.lock_budget,
            replicated: self.replicated,
            throttle: self.throttle.rules(&self.server)?,
        })
    }

    fn write(&self, report: &EncryptReport, table: Writer<EncryptReport>) -> Result<(), Failure> {
        self.output.write(report, write_encrypt_json, table)
    }
}

impl ThrottleArgs {
    fn rules(&self, server: &Server) -> Result<Throttle, Failure> {
        let replicas = self.replica.iter().map(|url| server.other(url)).collect::<Result<_, _>>()?;
        Ok(Throttle { max_lag: self.max_lag, replicas, limits: self.throttle.clone(), window: self.window })
    }
}

fn warn(error: &::change::Error) {
    warning(&error.to_string());
    if let Some(next) = error.hint() {
        hint(&next);
    }
}

impl Run {
    fn run(&self) -> Result<Exit, Failure> {
        self.evidence.check()?;
        let (access, options) = (self.common.access()?, self.common.options()?);
        let state_directory = state_dir(self.state_dir.clone())?;
        let log = self.log.path(&state_directory);
        let records = Records { log: &log, state_directory: &state_directory };
        let status = self.common.output.quiet.status_line();
        let ask = |plan: &EncryptReport| {
            status.clear();
            confirm_steps("encrypt plan", plan, write_encrypt_plan)
        };
        let agreed = |plan: &EncryptReport| if self.consent.yes { Ok(()) } else { ask(plan) };
        let user = User {
            confirm: &agreed,
            stop: &ended_by_signals,
            warn: &|error| {
                status.clear();
                warn(error);
            },
        };
        let report = carry_out(&access, &options, records, &user, &|text| status.show(text));
        status.clear();
        let report = report?;
        let page = self.evidence.write(&report, write_encrypt_html);
        self.common.write(&report, write_encrypt_run)?;
        if !report.done {
            say(&[statement_log_hint(&log)]);
        }
        page?;
        Ok(if report.done { Exit::Clean } else { Exit::Findings })
    }
}
