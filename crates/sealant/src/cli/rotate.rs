//! `sealant rotate`: new master keys, with a proof before and after.

mod tls;

use std::path::PathBuf;
use std::time::Duration;

use ::change::StatementLog;
use ::change::rotate::{Copies, Error, Identities, Recipients, Report, Request, plan, run};
use clap::{Args, Subcommand};
use report::{write_rotate_json, write_rotate_plan, write_rotate_run};
use server::{Options, Target};

use self::tls::{Installation, NewCertificate};
use crate::cli::change::{Consent, Locks, LogFile, Output, Server, confirm, not_logged, open_log, state_dir};
use crate::cli::value;
use crate::cli::verify::forbid_dumps;
use crate::exit::{self, Exit};
use crate::output::message::{Failure, error, hint};
use crate::output::progress::StatusLine;
use crate::output::render::Writer;

/// Give a running server new keys and certificates, and prove from the bytes and the wire that nothing is lost
///
/// Proves that the keyring on disk opens every encrypted file, backs up exactly these bytes as an age
/// file, lets the server make a new key, backs up the keyring again, and reads all files once more: each
/// must open with the keyring, and each must carry the new key. No key is removed.
///
/// With --certificate the server's certificate is replaced, after the keys or alone: judged, installed, reloaded without a
/// restart, seen in a handshake from outside, and rolled back if it is not (as `sealant cert install`).
///
/// A run that was interrupted is finished by the same command. The privileges that are needed: PROCESS,
/// SELECT on performance_schema.keyring_component_status and keyring_keys, ENCRYPTION_KEY_ADMIN and
/// SESSION_VARIABLES_ADMIN for --master-key, BINLOG_ENCRYPTION_ADMIN for --binlog-key. Replicas are not
/// rotated along with their source: give each a run of its own.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
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
    new: NewCertificate,
    #[command(flatten)]
    backup: Backup,
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
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = value::time)]
    settle: Duration,
    #[command(flatten)]
    locks: Locks,
    #[command(flatten)]
    output: Output,
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
    /// The key of the redo log: what --master-key does, with the proof that a redo log file carries it
    #[arg(long)]
    redo: bool,
    /// The keys of tables and undo tablespaces themselves: every table is copied, and writes to it wait
    #[arg(long)]
    data_keys: bool,
    /// MariaDB: move every table to the key of this number, which is in the key file already
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    mariadb_key_id: Option<u32>,
    /// The server's certificate and its key: --cert, --key, --ca
    #[arg(long)]
    certificate: bool,
}

impl Keys {
    /// Whether anything but the certificate is rotated.
    fn any(&self) -> bool {
        self.master_key || self.binlog_key || self.redo || self.data_keys || self.mariadb_key_id.is_some()
    }
}

/// Where the backup goes, and who can open it; a plan does without.
#[derive(Debug, Args)]
#[command(next_help_heading = "Backup of the keyring")]
struct Backup {
    /// Write it to this file, which must not exist yet
    #[arg(long, value_name = "FILE")]
    keyring_backup: Option<PathBuf>,
    /// Encrypt it to this X25519 recipient of age (repeatable)
    #[arg(long, value_name = "AGE1…")]
    recipient: Vec<String>,
    /// Encrypt it to the recipients in this file, one a line (repeatable)
    #[arg(long, value_name = "FILE")]
    recipients_file: Vec<PathBuf>,
    /// Decrypt each backup again with this age identity, as a further proof
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
}

impl Backup {
    fn is_named(&self) -> bool {
        self.keyring_backup.is_some() || !self.recipient.is_empty() || !self.recipients_file.is_empty()
    }

    fn copies(&self) -> Result<Copies, Failure> {
        let mut recipients =
            Recipients::parse(self.recipient.iter().map(String::as_str)).map_err(Failure::bad_argument)?;
        for file in &self.recipients_file {
            recipients.add_file(file).map_err(Failure::bad_argument)?;
        }
        if recipients.is_empty() {
            return Err(Failure::usage("no recipient is named").hint("give --recipient age1…"));
        }
        let identities = self.identity.as_deref().map(Identities::read).transpose().map_err(Failure::bad_argument)?;
        let Some(file) = &self.keyring_backup else {
            return Err(Failure::usage("no backup is named").hint("give --keyring-backup FILE"));
        };
        let file = std::path::absolute(file).map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
        Ok(Copies { file, recipients, identities })
    }
}

/// Do it: show the plan, ask, and carry it out
#[derive(Debug, Args)]
struct Run {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    log: LogFile,
}

const EXAMPLES: &str = "\
Examples:
  sealant rotate plan --socket /run/mysqld/mysqld.sock --user root --master-key
  sealant rotate run --socket /run/mysqld/mysqld.sock --master-key --binlog-key \\
      --keyring-backup /backup/keyring-2026-11.age --recipients-file /etc/sealant/recipients --yes
  sealant rotate run --socket /run/mysqld/mysqld.sock --user root --certificate \\
      --cert /etc/sealant/ca/db1.pem --key /etc/sealant/ca/db1.key --ca /etc/sealant/ca/ca.pem --yes
  age -d -i IDENTITY /backup/keyring-2026-11.age > keyring    # to use a backup";

const EXITS: exit::Codes = &[
    (Exit::Clean, "the keys are new, and every proof holds"),
    (Exit::Failed, "it was refused, or could not be finished; run the same command again"),
    (Exit::Usage, "wrong usage"),
    (Exit::Findings, "a file still carries an older key; the report says which"),
];

impl Rotate {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        match self.command {
            Command::Plan(common) => Work::new(&common)?.plan(),
            Command::Run(run) if run.consent.dry_run => Work::new(&run.common)?.plan(),
            Command::Run(run) => Work::new(&run.common)?.run(&run),
        }
    }
}

/// The command line, understood.
struct Work<'c> {
    common: &'c Common,
    target: Target,
    options: Options,
    /// Keys, if any are rotated.
    request: Option<Request>,
    /// Where the keyring is backed up, if that is named.
    copies: Option<Copies>,
}

impl<'c> Work<'c> {
    fn new(common: &'c Common) -> Result<Self, Failure> {
        let request = common.keys.any().then(|| request(common)).transpose()?;
        let copies = common.backup.is_named().then(|| common.backup.copies()).transpose()?;
        let (target, options) = common.server.connection()?;
        Ok(Self { common, target, options, request, copies })
    }

    fn plan(&self) -> Result<Exit, Failure> {
        let report = self.planned()?;
        self.write(&report, write_rotate_plan)?;
        Ok(Exit::Clean)
    }

    fn planned(&self) -> Result<Report, Failure> {
        let log = not_logged(&self.target)?;
        let keys = self.request.as_ref();
        let keys =
            keys.map(|request| plan(&self.target, &self.options, request, self.copies.as_ref(), &log)).transpose();
        let keys = keys?;
        let tls = self.installation()?.map(|installation| installation.plan(&log)).transpose()?;
        together(keys, tls).ok_or_else(|| Failure::usage("nothing is to be rotated"))
    }

    fn installation(&self) -> Result<Option<Installation<'_>>, Failure> {
        let wanted = self.common.keys.certificate;
        wanted.then(|| self.common.new.installation(&self.target, &self.options)).transpose()
    }

    fn run(&self, run_options: &Run) -> Result<Exit, Failure> {
        let keys = self.request.as_ref().map(|request| self.backed_up(request)).transpose()?;
        let log: StatementLog = open_log(&run_options.log.log, &self.target)?;
        let planned = self.planned()?;
        if !run_options.consent.yes {
            confirm("rotate plan", &|out| write_rotate_plan(&planned, out).map_err(std::io::Error::from))?;
        }
        let keys = keys.map(|(request, copies)| self.rotate(request, copies, &log));
        // A certificate is not touched if the keys could not be rotated.
        let keys = match keys {
            Some((report, Err(error))) => {
                self.write(&report, write_rotate_run)?;
                return Err(error.into());
            }
            Some((report, Ok(()))) => Some(report),
            None => None,
        };
        let (tls, ended) = match self.installation()? {
            Some(installation) => installation.run(&log),
            None => (None, Ok(())),
        };
        let Some(report) = together(keys, tls) else { return ended.map(|()| Exit::Clean) };
        self.write(&report, write_rotate_run)?;
        ended.map(|()| self.judge(&report))
    }

    /// No key is made without a backup.
    fn backed_up<'r>(&'r self, request: &'r Request) -> Result<(&'r Request, &'r Copies), Failure> {
        let copies = self.copies.as_ref().ok_or_else(|| {
            Failure::usage("no backup of the keyring is named")
                .hint("give --keyring-backup FILE and --recipient age1…, or ask for a plan")
        })?;
        Ok((request, copies))
    }

    fn rotate(&self, request: &Request, copies: &Copies, log: &StatementLog) -> (Report, Result<(), Error>) {
        let status = StatusLine::new(self.common.output.quiet);
        let ended = run(&self.target, &self.options, request, copies, log, &|text| status.show(text));
        status.clear();
        ended
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

    fn write(&self, report: &Report, table: Writer<Report>) -> Result<(), Failure> {
        self.common.output.write(report, write_rotate_json, table)
    }
}

/// One report of both, if there is any.
fn together(keys: Option<Report>, tls: Option<::change::tls::Report>) -> Option<Report> {
    match (keys, tls) {
        (Some(keys), Some(tls)) => Some(Report { done: keys.done && tls.done, tls: Some(tls), ..keys }),
        (keys, None) => keys,
        (None, Some(tls)) => Some(Report::of_certificate(tls)),
    }
}

fn request(common: &Common) -> Result<Request, Failure> {
    Ok(Request {
        master_key: common.keys.master_key || common.keys.redo,
        binlog_key: common.keys.binlog_key,
        redo: common.keys.redo,
        data_keys: common.keys.data_keys,
        mariadb_key_id: common.keys.mariadb_key_id,
        lock: common.locks.patience(),
        datadir: common.datadir.clone(),
        keyring: common.keyring.clone(),
        state_dir: state_dir(common.state_dir.clone())?,
        patience: common.settle,
    })
}
