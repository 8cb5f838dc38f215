//! Common to the verbs that change a server: which server, and confirmation.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::change::{LockWait, StatementLog};
use clap::Args;
use server::{Options, Target};

use crate::cli::connect::{self, Address, Login, NoServer};
use crate::cli::value;
use crate::output::file::{check_writable, rendered, replace, to_stdout};
use crate::output::message::Failure;
use crate::output::progress::Quiet;
use crate::output::render::{Render, Writer};
use crate::output::terminal::Terminal;

/// The server to change.
#[derive(Debug, Args)]
pub(crate) struct Server {
    #[command(flatten)]
    address: Address,
    #[command(flatten)]
    login: Login,
}

/// Whether and how a change is confirmed.
#[derive(Debug, Args)]
pub(crate) struct Consent {
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Show the plan; change nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
}

impl Consent {
    /// Shows the plan, or asks for confirmation; returns whether to carry it out.
    pub(crate) fn given(&self, plan: &str) -> Result<bool, Failure> {
        if self.dry_run {
            to_stdout(&|out| out.write_all(plan.as_bytes()))?;
        } else if !self.yes {
            confirm_plan(plan)?;
        }
        Ok(!self.dry_run)
    }
}

/// How long and how often statements wait for a table's lock.
#[derive(Debug, Args)]
pub(crate) struct Locks {
    /// How long a statement waits for the lock of a table; later statements on that table wait behind it, so keep it
    /// short
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = value::seconds(1, 60))]
    lock_wait: Duration,
    /// How many times to try for a lock, with pauses as long as --lock-wait in between
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    lock_tries: u32,
}

impl Locks {
    pub(crate) fn lock_wait(&self) -> LockWait {
        LockWait { wait: self.lock_wait, tries: self.lock_tries, pause: self.lock_wait }
    }
}

/// Help of `--datadir`.
pub(crate) const DATADIR_HELP: &str =
    "Path of the server's data directory on this host, if it differs from the path that the server reports";

/// Options for output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    #[command(flatten)]
    render: Render,
    #[command(flatten)]
    pub(crate) quiet: Quiet,
}

impl Output {
    /// As [`Render::write_steps`].
    pub(crate) fn write<R>(&self, report: &R, json: Writer<R>, table: Writer<R>) -> Result<(), Failure> {
        self.render.write_steps(report, json, table)
    }
}

/// The page for auditors.
#[derive(Debug, Args)]
pub(crate) struct Evidence {
    /// Also write an HTML report for auditors to this file: what was done and proven, when, where and by whom
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run", help_heading = "Output")]
    html: Option<PathBuf>,
}

impl Evidence {
    /// Checks before a change that the page can be written.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.html.as_deref().map_or(Ok(()), check_writable)
    }

    /// Writes the page, if one was asked for.
    pub(crate) fn write<R>(&self, report: &R, html: Writer<R>) -> Result<(), Failure> {
        let Some(path) = &self.html else { return Ok(()) };
        replace(path, &|out| html(report, out).map_err(std::io::Error::from))
    }
}

/// The log of statements, for auditors.
#[derive(Debug, Args)]
pub(crate) struct LogFile {
    #[arg(long, value_name = "FILE", help_heading = "Output", help = log_help())]
    log: Option<PathBuf>,
}

fn log_help() -> String {
    let what = "Append every statement that changes something to this file before it is sent";
    format!("{what} [default: statements.jsonl in the state directory: {}]", register::DEFAULT_STATE_DIR)
}

impl LogFile {
    /// The path that was given, or else the one in `state_directory`.
    pub(crate) fn path(&self, state_directory: &Path) -> PathBuf {
        self.log.clone().unwrap_or_else(|| StatementLog::within(state_directory))
    }
}

const NO_SERVER: NoServer =
    NoServer { error: "no server was given", hint: "give mysql://USER@HOST:PORT, --socket PATH or --host HOST" };

impl Server {
    /// Whether the command line names a server; otherwise option files may.
    pub(crate) fn is_named(&self) -> bool {
        self.address.is_given()
    }

    /// Where and how to connect.
    pub(crate) fn connection(&self) -> Result<(Target, Options), Failure> {
        connect::connection(&self.address, &self.login, NO_SERVER)
    }

    /// Another server, with the same login.
    pub(crate) fn other(&self, url: &str) -> Result<(Target, Options), Failure> {
        connect::connection(&Address::from_url(url), &self.login, NO_SERVER)
    }
}

/// Shows the plan on stderr, since stdout is for the report, and asks for a yes. `verb` is the command that only shows
/// the plan.
pub(crate) fn confirm(verb: &str, plan: &dyn Fn(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Failure> {
    require_terminal(&format!("show it with `sealant {verb}`, then give --yes"))?;
    ask(plan)
}

/// As [`confirm`], for a plan in which only statements are to paste: other lines that are too wide are wrapped.
pub(crate) fn confirm_steps<R>(verb: &str, plan: &R, table: Writer<R>) -> Result<(), Failure> {
    confirm(verb, &|out| {
        let text = rendered(&|out| table(plan, out).map_err(std::io::Error::from))?;
        out.write_all(Terminal::stderr().fit_all_but_statements(&text).as_bytes())
    })
}

/// As [`confirm`], for a change that one sentence says.
pub(crate) fn confirm_change(sentence: &str) -> Result<(), Failure> {
    require_terminal("give --yes")?;
    ask(&|out| writeln!(out, "{sentence}"))
}

/// As [`confirm`], for verbs that show their plan with `--dry-run`.
fn confirm_plan(plan: &str) -> Result<(), Failure> {
    require_terminal("show it with `--dry-run`, then give --yes")?;
    ask(&|out| out.write_all(plan.as_bytes()))
}

fn require_terminal(otherwise: &str) -> Result<(), Failure> {
    if std::io::stdin().is_terminal() {
        return Ok(());
    }
    Err(Failure::usage("the plan cannot be confirmed: standard input is not a terminal").hint(otherwise))
}

fn ask(plan: &dyn Fn(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Failure> {
    let no_answer = |e: std::io::Error| Failure::new(format!("the plan cannot be confirmed: {e}"));
    let mut err = std::io::stderr();
    plan(&mut err).map_err(no_answer)?;
    write!(err, "\nContinue? Type yes: ").and_then(|()| err.flush()).map_err(no_answer)?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(no_answer)?;
    if answer.trim() == "yes" { Ok(()) } else { Err(Failure::new("not confirmed; nothing was changed")) }
}

/// Opens the log of statements that are sent to that server.
pub(crate) fn open_log(path: &Path, target: &Target) -> Result<StatementLog, Failure> {
    Ok(StatementLog::of_target(path, target)?)
}

/// For a run that changes nothing.
pub(crate) fn not_logged(target: &Target) -> Result<StatementLog, Failure> {
    Ok(StatementLog::none(target)?)
}

/// Help of an option that names the directory for state.
pub(crate) fn state_dir_help(what: &str) -> String {
    format!("{what} [default: {}]", register::DEFAULT_STATE_DIR)
}

/// Help of the option that names the directory of the key register.
pub(crate) fn register_help() -> String {
    state_dir_help("Directory of the key register, which holds names and dates, never keys")
}

/// Directory of the key register: the given one, or the system's if this user may write there, or else the user's own.
pub(crate) fn state_dir(given: Option<PathBuf>) -> Result<PathBuf, Failure> {
    Ok(register::state_dir(given)?)
}
