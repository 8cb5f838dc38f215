//! `sealant rotate`: new master keys, with a proof before and after.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::change::rotate::{Error, Identities, Recipients, Report, Request, plan, run};
use ::change::{Outcome, StatementLog};
use clap::{Args, Subcommand, ValueEnum};
use server::{Options, Target};

use crate::cli::change::{Server, confirm};
use crate::cli::transfer::parse_time;
use crate::cli::verify::forbid_dumps;
use crate::exit::Exit;
use crate::output::file::to_stdout;
use crate::output::message::{Failure, error, hint};
use crate::output::progress::StatusLine;

/// Give a running MySQL server new master keys, and prove from the bytes that nothing is lost
///
/// Proves that the keyring on disk opens every encrypted file, backs up exactly these bytes as an age
/// file, lets the server make a new key, backs up the keyring again, and reads all files once more: each
/// must open with the keyring, and each must carry the new key. No key is removed.
///
/// A run that was interrupted is finished by the same command. The privileges that are needed: PROCESS,
/// SELECT on performance_schema.keyring_component_status and keyring_keys, ENCRYPTION_KEY_ADMIN and
/// SESSION_VARIABLES_ADMIN for --master-key, BINLOG_ENCRYPTION_ADMIN for --binlog-key. Replicas are not
/// rotated along with their source: give each a run of its own.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct Rotate {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Plan(Box<Common>),
    Run(Box<Run>),
}

/// Ask the server whether its keys can be rotated, and show the steps; change nothing
#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    copies: Copies,
    /// The server's data directory as seen from here, if it is elsewhere than the server says
    #[arg(long, value_name = "DIR")]
    datadir: Option<PathBuf>,
    /// The server's keyring file as seen from here, if it is elsewhere than the server says
    #[arg(long, value_name = "FILE")]
    keyring: Option<PathBuf>,
    /// Where the register of keys is: names and dates, never a key
    /// [default: /var/lib/sealant, or ~/.local/state/sealant if that cannot be written]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Wait so long for the server to write what it has re-wrapped
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    settle: Duration,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    /// No status line on stderr
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
}

/// Which keys.
#[derive(Debug, Args)]
#[command(next_help_heading = "Keys")]
#[group(required = true, multiple = true)]
struct Keys {
    /// The InnoDB master key, which wraps the keys of tablespaces and of the redo log
    #[arg(long)]
    master_key: bool,
    /// The master key of binary and relay logs
    #[arg(long)]
    binlog_key: bool,
}

/// Where the backup goes, and who can open it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Backup of the keyring")]
struct Copies {
    /// Write it to this file, which must not exist yet
    #[arg(long, value_name = "FILE")]
    keyring_backup: PathBuf,
    /// Encrypt it to this X25519 recipient of age (repeatable)
    #[arg(long, value_name = "AGE1…", required_unless_present = "recipients_file")]
    recipient: Vec<String>,
    /// Encrypt it to the recipients in this file, one a line (repeatable)
    #[arg(long, value_name = "FILE")]
    recipients_file: Vec<PathBuf>,
    /// Decrypt each backup again with this age identity, as a further proof
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
}

/// Do it: show the plan, ask, and carry it out
#[derive(Debug, Args)]
struct Run {
    #[command(flatten)]
    common: Common,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Show the plan and change nothing, as `sealant rotate plan` does
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Append every statement that changes something to this file, before it is sent
    #[arg(long, value_name = "FILE", default_value = "sealant-statements.jsonl", help_heading = "Output")]
    log: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// For scripts, schema sealant.rotate/1
    Json,
}

const EXAMPLES: &str = "\
Examples:
  sealant rotate plan --socket /run/mysqld/mysqld.sock --user root --master-key \\
      --keyring-backup /backup/keyring-2026-11.age --recipient age1…
  sealant rotate run mysql://admin@127.0.0.1:3306 --master-key --binlog-key \\
      --keyring-backup /backup/keyring-2026-11.age --recipients-file /etc/sealant/recipients --yes
  age -d -i IDENTITY /backup/keyring-2026-11.age > keyring    # to use a backup

Exit codes:
  0  the keys are new, and every proof holds
  1  it was refused, or could not be finished; run the same command again
  2  wrong usage
  3  a file still carries an older key; the report says which";

/// Where the register is for a user who may write there.
const SYSTEM_STATE: &str = "/var/lib/sealant";

impl Rotate {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        match self.command {
            Command::Plan(common) => Work::new(&common)?.plan(),
            Command::Run(run) if run.dry_run => Work::new(&run.common)?.plan(),
            Command::Run(run) => Work::new(&run.common)?.run(&run),
        }
    }
}

/// The command line, understood.
struct Work<'c> {
    common: &'c Common,
    target: Target,
    options: Options,
    request: Request,
}

impl<'c> Work<'c> {
    fn new(common: &'c Common) -> Result<Self, Failure> {
        let request = request(common)?;
        let (target, options) = common.server.connection()?;
        Ok(Self { common, target, options, request })
    }

    fn plan(&self) -> Result<Exit, Failure> {
        let report = self.planned()?;
        self.write(&report, &|out| write_plan(&report, out))?;
        Ok(Exit::Clean)
    }

    /// Nothing is changed, so nothing is logged.
    fn planned(&self) -> Result<Report, Failure> {
        let log = self.log(Path::new("/dev/null"))?;
        plan(&self.target, &self.options, &self.request, &log).map_err(|error| failure(&error))
    }

    fn log(&self, path: &Path) -> Result<StatementLog, Failure> {
        let log = StatementLog::open(path, &self.target.to_string(), &self.target.user);
        log.map_err(|error| failure(&Error::from(error)))
    }

    fn run(&self, run_options: &Run) -> Result<Exit, Failure> {
        let log = self.log(&run_options.log)?;
        let planned = self.planned()?;
        if !run_options.yes {
            confirm("rotate plan", &|out| write_plan(&planned, out))?;
        }
        let status = StatusLine::new(self.common.quiet);
        let (report, ended) = run(&self.target, &self.options, &self.request, &log, &|text| status.show(text));
        status.clear();
        self.write(&report, &|out| write_run(&report, out))?;
        ended.map_err(|error| failure(&error))?;
        Ok(self.judge(&report))
    }

    fn judge(&self, report: &Report) -> Exit {
        if report.done {
            return Exit::Clean;
        }
        for lagging in &report.lagging {
            let why = lagging
                .key
                .as_ref()
                .map_or_else(|| "its page 0 is not on disk yet".to_owned(), |key| format!("still carries {key}"));
            error(&format!("{}: {why}", lagging.file.display()));
        }
        hint(
            "a server writes page 0 when it comes to it: SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0, \
             innodb_max_dirty_pages_pct = 0 makes it do so, then run the same command again; a file that no server uses \
             keeps its key",
        );
        Exit::Findings
    }

    fn write(&self, report: &Report, table: &dyn Fn(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Failure> {
        match self.common.format {
            Format::Table => to_stdout(&|out| table(out)),
            Format::Json => to_stdout(&|out| {
                serde_json::to_writer_pretty(&mut *out, report)?;
                writeln!(out)
            }),
        }
    }
}

fn request(common: &Common) -> Result<Request, Failure> {
    let copies = &common.copies;
    let usage = |error: Error| Failure { exit: Exit::Usage, ..failure(&error) };
    let mut recipients = Recipients::parse(copies.recipient.iter().map(String::as_str)).map_err(usage)?;
    for file in &copies.recipients_file {
        recipients.add_file(file).map_err(usage)?;
    }
    if recipients.is_empty() {
        return Err(Failure::usage("no recipient is named").hint("give --recipient age1…"));
    }
    let identities = copies.identity.as_deref().map(Identities::read).transpose().map_err(usage)?;
    let backup = std::path::absolute(&copies.keyring_backup)
        .map_err(|error| Failure::usage(format!("{}: {error}", copies.keyring_backup.display())))?;
    Ok(Request {
        master_key: common.keys.master_key,
        binlog_key: common.keys.binlog_key,
        backup,
        recipients,
        identities,
        datadir: common.datadir.clone(),
        keyring: common.keyring.clone(),
        state_dir: common.state_dir.clone().map_or_else(default_state_dir, Ok)?,
        patience: common.settle,
    })
}

/// The system's place for a user who may write there, else the user's own.
fn default_state_dir() -> Result<PathBuf, Failure> {
    use rustix::fs::{Access, access};
    let system = Path::new(SYSTEM_STATE);
    let nearest = system.ancestors().find(|path| path.exists());
    if nearest.is_some_and(|path| access(path, Access::WRITE_OK).is_ok()) {
        return Ok(system.to_owned());
    }
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let own = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).and_then(absolute);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    let state = own.or_else(home).ok_or_else(|| {
        Failure::usage("there is no place for the register of keys").hint("name a directory with --state-dir")
    })?;
    Ok(state.join("sealant"))
}

fn failure(error: &Error) -> Failure {
    let failure = Failure::new(error.to_string());
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn write_plan(report: &Report, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{}", report.server)?;
    for (number, step) in (1_u32..).zip(&report.steps) {
        writeln!(out, "  {number}. {:<18} {}", step.step, step.what)?;
        for statement in &step.statements {
            writeln!(out, "     {:<18} {statement}", "")?;
        }
    }
    Ok(())
}

fn write_run(report: &Report, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{}", report.server)?;
    for step in &report.steps {
        let (state, why) = match &step.outcome {
            Outcome::Planned => ("not begun", None),
            Outcome::Done => ("done", None),
            Outcome::Skipped { reason } => ("skipped", Some(reason)),
            Outcome::Failed { reason } => ("failed", Some(reason)),
        };
        writeln!(out, "  {:<18} {state:<9} {:>7.2} s  {}", step.step, step.seconds, step.what)?;
        if let Some(why) = why {
            writeln!(out, "  {:<18} {why}", "")?;
        }
    }
    write_proofs(report, out)?;
    write_backups(report, out)
}

fn write_proofs(report: &Report, out: &mut dyn Write) -> std::io::Result<()> {
    if let Some(before) = &report.proofs.before {
        writeln!(out, "before: the keyring opens {} encrypted of {} files", before.encrypted_files, before.files)?;
    }
    let Some(after) = &report.proofs.after else { return Ok(()) };
    writeln!(
        out,
        "after:  the keyring opens {} encrypted of {} files",
        after.proof.encrypted_files, after.proof.files
    )?;
    if let Some(key) = &after.new_key {
        let (spaces, redo) = (after.tablespaces_on_new_key, after.redo_on_new_key);
        writeln!(out, "        {key} on {spaces} tablespaces and {redo} redo log files")?;
    }
    if let Some(key) = &after.new_binlog_key {
        writeln!(out, "        {key} on {} binary and relay logs", after.binary_logs_on_new_key)?;
    }
    if !report.lagging.is_empty() {
        writeln!(out, "        {} files do not carry the new key yet", report.lagging.len())?;
    }
    Ok(())
}

fn write_backups(report: &Report, out: &mut dyn Write) -> std::io::Result<()> {
    for backup in report.backup.iter().chain(&report.backup_before) {
        writeln!(out, "backup: {}, {} keys", backup.file.display(), backup.keys)?;
        writeln!(out, "        sha256 {}", backup.sha256)?;
    }
    for key in &report.removed_keys {
        writeln!(out, "        {key} was removed by the server; copies of older binary logs still need it")?;
    }
    Ok(())
}
