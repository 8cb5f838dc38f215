//! `sealant keyring`: sets up a keyring for a server without one, checks that the server uses it, and moves its keys to
//! another one.

use std::path::PathBuf;

use ::change::init::{CheckRequest, InitRequest, check, plan};
use ::change::keyring_migration::{self, MigrationReport, MigrationRequest};
use clap::{Args, Subcommand};
use report::{
    write_check_json, write_check_table, write_init_json, write_init_table, write_migration_json, write_migration_table,
};

use crate::cli::change::{Consent, DATADIR_HELP, LogFile, Server, confirm, not_logged, open_log, state_dir};
use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::output::render::Render;
use crate::process::forbid_dumps;

/// Give a server a keyring or key file, in a safe place with safe permissions, and prove that the server uses it
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Keyring {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(Box<Init>),
    Check(Box<Check>),
    Migrate(Migrate),
}

/// Write the files that a server needs for keys: show the plan, ask for confirmation, and carry it out
///
/// For MySQL: an empty keyring in its own directory, the configuration of component_keyring_file and a manifest in the
/// data directory, and two files beside the program and the component that point there. For MariaDB: an encrypted key
/// file with random keys, a file with its password, and the options of file_key_management. Run it on the server's host
/// as root. Existing files are not overwritten; the same command completes an interrupted run. The server is not
/// restarted: do that yourself.
#[derive(Debug, Args)]
struct Init {
    #[command(flatten)]
    server: Server,
    /// Option file of the server: for a stopped server, the one that names its data directory; for MariaDB, the one to
    /// add the options to [default for MariaDB: the one that the running server was started with, or a new file in the
    /// directory that it includes]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Path of the server's data directory on this host, if it differs from the path that the server or its option file
    /// names
    #[arg(long, value_name = "DIR")]
    datadir: Option<PathBuf>,
    /// Path of the keyring or key file [default: beside the data directory, such as /var/lib/mysql-keyring/keyring]
    #[arg(long, value_name = "FILE")]
    keyring_file: Option<PathBuf>,
    /// Accept a keyring inside the data directory: whoever copies that directory also has the keys
    #[arg(long)]
    inside_datadir: bool,
    /// Path of the password file of MariaDB's key file [default: beside the key file]
    #[arg(long, value_name = "FILE")]
    key_password_file: Option<PathBuf>,
    /// Number of keys in MariaDB's key file; the server reads it only at startup, so spare keys save a restart later
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    keys: u32,
    /// Directory of the server's components and plug-ins, if it is not found
    #[arg(long, value_name = "DIR")]
    plugin_dir: Option<PathBuf>,
    /// Directory of mysqld, if it is not found
    #[arg(long, value_name = "DIR")]
    daemon_dir: Option<PathBuf>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    render: Render,
}

/// Prove that a running server uses its keyring, that nobody else can read the keyring, and that it opens every
/// encrypted file
#[derive(Debug, Args)]
struct Check {
    #[command(flatten)]
    server: Server,
    #[arg(long, value_name = "DIR", help = DATADIR_HELP)]
    datadir: Option<PathBuf>,
    /// Path of the server's keyring or key file on this host, if it differs from the path that the server reports; or
    /// the configuration of the Vault, the KMIP service or AWS KMS that has its keys
    #[arg(long, value_name = "FILE")]
    keyring: Option<PathBuf>,
    /// Copy of the keyring or key file, or the configuration of a service with the keys, which must open everything, too
    /// (repeatable)
    #[arg(long, value_name = "FILE")]
    keyring_copy: Vec<PathBuf>,
    /// Make the server create and drop an encrypted table, which creates its first key
    #[arg(long)]
    write_test: bool,
    #[command(flatten)]
    log: LogFile,
    #[command(flatten)]
    render: Render,
}

/// Copy all keys of a MySQL server to another keyring, in a file or a Vault, and prove that it opens the data
///
/// Keys are only added to TO, never replaced, and FROM is never changed. Every key is read back and compared, and TO
/// alone must open every encrypted file of the data directory. The same command completes an interrupted run. The
/// server's configuration is not changed: the report says which lines to change; then restart the server. Run it on the
/// server's host, as root or as the server's user.
#[derive(Debug, Args)]
struct Migrate {
    /// Keyring to copy from: a keyring file, or the configuration of component_keyring_file, component_keyring_vault,
    /// keyring_vault, component_keyring_kmip or component_keyring_kms
    from: PathBuf,
    /// Keyring to copy to: a keyring file, which is created if it does not exist, or the configuration of
    /// component_keyring_file, component_keyring_vault or keyring_vault
    to: PathBuf,
    /// Data directory of the server
    #[arg(long, value_name = "DIR")]
    datadir: PathBuf,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    render: Render,
}

const EXAMPLES: &str = "\
Examples:
  sealant keyring init --socket /run/mysqld/mysqld.sock --user root
  sealant keyring init --config /etc/mysql/my.cnf --dry-run
  sealant keyring check --socket /run/mysqld/mysqld.sock --user root --write-test
  sealant keyring migrate /var/lib/mysql-keyring/keyring component_keyring_vault.cnf --datadir /var/lib/mysql";

const EXITS: exit::Codes = &[
    (Exit::Clean, "everything is written and proven; or every check holds"),
    (Exit::Failed, "it was refused, or could not be finished"),
    (Exit::Usage, "wrong usage, or no terminal to ask for confirmation and no --yes"),
    (Exit::Findings, "a check failed; the report says which"),
];

impl Keyring {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        match self.command {
            Command::Init(init) => init.run(),
            Command::Check(check) => check.run(),
            Command::Migrate(migrate) => migrate.run(),
        }
    }
}

impl Init {
    fn run(&self) -> Result<Exit, Failure> {
        let connection = match (&self.config, self.server.is_named()) {
            (Some(_), false) => None,
            _ => Some(self.server.connection()?),
        };
        let connection = connection.as_ref().map(|(target, options)| (target, options));
        let plan = plan(connection, &self.request())?;
        let planned = plan.report();
        if self.consent.dry_run || planned.done {
            return self.write(&planned);
        }
        if !self.consent.yes {
            let text = |out: &mut dyn std::io::Write| write_init_table(&planned, out).map_err(std::io::Error::from);
            confirm("keyring init --dry-run", &text)?;
        }
        let report = plan.carry_out()?;
        self.write(&report)
    }

    fn request(&self) -> InitRequest {
        InitRequest {
            config: self.config.clone(),
            datadir: self.datadir.clone(),
            keyring: self.keyring_file.clone(),
            password: self.key_password_file.clone(),
            plugin_dir: self.plugin_dir.clone(),
            daemon_dir: self.daemon_dir.clone(),
            inside_datadir: self.inside_datadir,
            keys: self.keys,
        }
    }

    fn write(&self, report: &::change::init::InitReport) -> Result<Exit, Failure> {
        self.render.write(report, write_init_json, write_init_table)?;
        Ok(Exit::Clean)
    }
}

impl Check {
    fn run(&self) -> Result<Exit, Failure> {
        let (target, options) = self.server.connection()?;
        let log =
            if self.write_test { open_log(&self.log.path(&state_dir(None)?), &target)? } else { not_logged(&target)? };
        let request = CheckRequest {
            datadir: self.datadir.clone(),
            keyring: self.keyring.clone(),
            copies: self.keyring_copy.clone(),
            write_test: self.write_test,
        };
        let report = check(&target, &options, &request, &log)?;
        self.render.write(&report, write_check_json, write_check_table)?;
        Ok(if report.sound { Exit::Clean } else { Exit::Findings })
    }
}

impl Migrate {
    fn run(self) -> Result<Exit, Failure> {
        let Self { from, to, datadir, consent, render } = self;
        let migration = keyring_migration::plan(&MigrationRequest { from, to, datadir })?;
        let planned = migration.report();
        let write = |report: &MigrationReport| render.write(report, write_migration_json, write_migration_table);
        if consent.dry_run {
            write(&planned)?;
            return Ok(Exit::Clean);
        }
        if !consent.yes && !migration.is_complete() {
            let text =
                |out: &mut dyn std::io::Write| write_migration_table(&planned, out).map_err(std::io::Error::from);
            confirm("keyring migrate --dry-run", &text)?;
        }
        write(&migration.carry_out()?)?;
        Ok(Exit::Clean)
    }
}
