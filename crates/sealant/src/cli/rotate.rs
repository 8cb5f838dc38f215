//! `sealant rotate`: rotates master keys, with a proof before and after.

mod tls;

use std::path::PathBuf;
use std::time::Duration;

use ::change::rotate::{Copies, RotateReport, RotateRequest, Rotation};
use clap::{Args, Subcommand};
use report::{rotate_messages, write_rotate_html, write_rotate_json, write_rotate_plan, write_rotate_run};

use self::tls::NewCertificate;
use crate::cli::change::{
    Consent, DATADIR_HELP, Evidence, Locks, LogFile, Output, Server, confirm_steps, register_help, state_dir,
};
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::message::{Failure, say, warning};
use crate::process::forbid_dumps;

/// Give a running server new keys and certificates, and prove from the bytes and the wire that nothing is lost
///
/// Proves that the keyring on disk opens every encrypted file, backs up exactly these bytes as an age file, makes the
/// server create a new key, backs up the keyring again, and reads all files once more: the keyring must open each, and
/// each must use the new key. No key is removed, but MySQL itself removes the older key of binary logs when that is
/// rotated; the first backup still has it.
///
/// With --certificate the server's certificate is replaced, after the keys or alone: it is checked, installed, loaded
/// without a restart, checked in a handshake from outside, and rolled back if the server does not present it (as
/// `sealant cert install` does).
///
/// The same command completes an interrupted run. Required privileges: PROCESS, SELECT on
/// performance_schema.keyring_component_status and keyring_keys, ENCRYPTION_KEY_ADMIN and SESSION_VARIABLES_ADMIN for
/// --master-key, BINLOG_ENCRYPTION_ADMIN for --binlog-key. Replicas are not rotated with their source: run it on each.
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
    #[arg(long, value_name = "DIR", help = DATADIR_HELP)]
    datadir: Option<PathBuf>,
    /// Path of the server's keyring or key file on this host, if it differs from the path that the server reports; or
    /// the configuration of the Vault, the KMIP service or AWS KMS that has its keys
    #[arg(long, value_name = "FILE")]
    keyring: Option<PathBuf>,
    #[arg(long, value_name = "DIR", help = register_help())]
    state_dir: Option<PathBuf>,
    /// How long to wait until the server has written the re-wrapped keys to its files
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = value::time)]
    settle: Duration,
    #[command(flatten)]
    locks: Locks,
    #[command(flatten)]
    output: Output,
}

/// Which keys to rotate.
#[derive(Debug, Args)]
#[command(next_help_heading = "Keys")]
#[group(required = true, multiple = true)]
struct Keys {
    /// Rotate the InnoDB master key, which wraps the keys of tablespaces and of the redo log
    #[arg(long)]
    master_key: bool,
    /// Rotate the master key of binary and relay logs
    #[arg(long)]
    binlog_key: bool,
    /// Rotate the InnoDB master key, as --master-key does, and prove that a redo log file uses the new one
    #[arg(long)]
    redo: bool,
    /// Rotate the keys of tables and undo tablespaces themselves; every table is copied, and writes to it wait
    #[arg(long)]
    data_keys: bool,
    /// MariaDB: move every table to the key with this number, which must exist in the key file
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    mariadb_key_id: Option<u32>,
    /// MariaDB with its keys in a Vault: write a new version of the key with this number, and copy every table that
    /// uses it; --keyring must name the option file of hashicorp_key_management
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "mariadb_key_id")]
    mariadb_new_version: Option<u32>,
    /// Replace the server's certificate and its key with --cert, --key and --ca
    #[arg(long)]
    certificate: bool,
}

/// Destination of the backup, and who can open it; not needed for a plan.
#[derive(Debug, Args)]
#[command(next_help_heading = "Backup of the keyring")]
struct Backup {
    /// Write the backup to this file, which must not exist yet
    #[arg(long, value_name = "FILE")]
    keyring_backup: Option<PathBuf>,
    /// Encrypt the backup to this X25519 recipient of age (repeatable)
    #[arg(long, value_name = "AGE1…")]
    recipient: Vec<String>,
    /// Encrypt the backup to the recipients in this file, one per line (repeatable)
    #[arg(long, value_name = "FILE")]
    recipients_file: Vec<PathBuf>,
    /// Decrypt each backup again with the age identity in this file, as a further proof
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
}

impl Backup {
    fn is_named(&self) -> bool {
        self.keyring_backup.is_some() || !self.recipient.is_empty() || !self.recipients_file.is_empty()
    }

    fn copies(&self) -> Result<Copies, Failure> {
        let file = self.keyring_backup.as_deref();
        Ok(Copies::new(file, &self.recipient, &self.recipients_file, self.identity.as_deref())?)
    }
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
    (Exit::Findings, "a file still uses an older key; the report says which"),
];

impl Rotate {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        match self.command {
            Command::Plan(common) => common.show_plan(),
            Command::Run(run) if run.consent.dry_run => run.common.show_plan(),
            Command::Run(run) => run.run(),
        }
    }
}

impl Common {
    fn show_plan(&self) -> Result<Exit, Failure> {
        let rotation = self.rotation()?;
        let (target, options) = self.server.connection()?;
        let plan = rotation.plan(&target, &options)?;
        self.output.write(&plan, write_rotate_json, write_rotate_plan)?;
        Ok(Exit::Clean)
    }

    fn rotation(&self) -> Result<Rotation, Failure> {
        Ok(Rotation {
            keys: Some(self.request()?).filter(RotateRequest::rotates_any),
            copies: self.backup.is_named().then(|| self.backup.copies()).transpose()?,
            certificate: self.keys.certificate.then(|| self.new.request()).transpose()?,
        })
    }

    fn request(&self) -> Result<RotateRequest, Failure> {
        Ok(RotateRequest {
            master_key: self.keys.master_key,
            binlog_key: self.keys.binlog_key,
            redo: self.keys.redo,
            data_keys: self.keys.data_keys,
            mariadb_key_id: self.keys.mariadb_key_id,
            mariadb_new_version: self.keys.mariadb_new_version,
            lock: self.locks.lock_wait(),
            datadir: self.datadir.clone(),
            keyring: self.keyring.clone(),
            state_dir: state_dir(self.state_dir.clone())?,
            settle_timeout: self.settle,
        })
    }
}

impl Run {
    fn run(&self) -> Result<Exit, Failure> {
        self.evidence.check()?;
        let rotation = self.common.rotation()?;
        let (target, options) = self.common.server.connection()?;
        let ask = |plan: &RotateReport| confirm_steps("rotate plan", plan, write_rotate_plan);
        let ask = (!self.consent.yes).then_some(&ask as &dyn Fn(&RotateReport) -> Result<(), Failure>);
        let status = self.common.output.quiet.status_line();
        let log = self.log.path(&state_dir(self.common.state_dir.clone())?);
        let ended = rotation.carry_out(&target, &options, &log, ask, &|text| status.show(text));
        status.clear();
        let ended = ended?;
        if let Some(remains) = &ended.remains {
            warning(&remains.to_string());
        }
        let page = ended.report.as_ref().map_or(Ok(()), |report| self.evidence.write(report, write_rotate_html));
        if let Some(report) = &ended.report {
            self.common.output.write(report, write_rotate_json, write_rotate_run)?;
        }
        if let (Err(_), Err(unwritten)) = (&ended.result, &page) {
            warning(&unwritten.error);
        }
        ended.result?;
        let Some(report) = ended.report else { return Ok(Exit::Clean) };
        say(&rotate_messages(&report));
        page?;
        Ok(if report.done { Exit::Clean } else { Exit::Findings })
    }
}
