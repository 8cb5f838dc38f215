//! `sealant bench backup`: what a backup and a restore cost, against what people use today.

use std::path::PathBuf;

use ::bench::Settings;
use ::bench::suite::backup::BackupSuite;
use clap::Args;

use super::effort::Effort;
use super::output::Output;
use super::server::ServerOptions;
use crate::cli::key_stores::KeyStores;
use crate::exit::{self, Exit};
use crate::output::file::check_directory;
use crate::output::message::Failure;
use crate::process::{current_program, ended_by_signals};

/// Measure what a backup and a restore cost, compared with other tools
///
/// Backs up DIR into an empty repository and restores it, with `sealant backup` and with every other tool whose
/// programs are in PATH: `tar | zstd -1 -T2 | age`, `restic` and, for a running MariaDB (--server-socket),
/// `mariadb-backup | openssl enc`. With --before, an older copy of the same directory is backed up first, and the time
/// and size of the incremental backup that follows are measured as well. Restores are also compared with `cp`, and all
/// objects are checked on one core. The notes of the report say what each tool stores, how much memory Sealant takes,
/// and which of its bars are met and which are missed.
///
/// The source is read into the page cache before each run; the time ends when the file system is flushed. After each
/// restore, unmeasured, every tablespace is compared with the source. `sealant` verifies every page when it stores it
/// and when it restores it; the other tools verify none.
///
/// DIR is only read. It must not change: the directory of a stopped server, or a snapshot. The repositories and copies
/// need six times as much space as DIR.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct BenchBackup {
    /// Data directory to back up
    #[arg(value_name = "DIR")]
    source: PathBuf,
    /// Directory below which repositories and copies are made and removed [default: the directory for temporary files]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Older copy of DIR: also measure an incremental backup
    #[arg(long, value_name = "DIR")]
    before: Option<PathBuf>,
    /// Measure only this program
    #[arg(long)]
    no_peers: bool,
    #[command(flatten)]
    keys: KeyStores,
    #[command(flatten)]
    server: ServerOptions,
    #[command(flatten)]
    effort: Effort,
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  sealant bench backup /snap/mysql --keyring keyring --into /var/tmp
  sealant bench backup /snap/tuesday --before /snap/monday --keyring keyring --rounds 5 --html backup.html";

const EXITS: exit::Codes = &[
    (Exit::Clean, "measured"),
    (Exit::Failed, "a program could not be run, a restored tablespace differs, or there is no room"),
];

impl BenchBackup {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        check_directory(&self.source)?;
        self.output.check()?;
        let (into, stores) = (self.into.clone().unwrap_or_else(std::env::temp_dir), self.keys.named());
        // Servers are stopped and files removed when a signal ends the measurement.
        let stopped = ended_by_signals()?;
        let suite = BackupSuite {
            program: current_program()?,
            source: &self.source,
            before: self.before.as_deref(),
            into: &into,
            no_peers: self.no_peers,
            stores: &stores,
            key_options: self.keys.options(),
            settings: Settings { stopped: Some(&stopped), ..self.effort.settings() },
        };
        let tree = suite.check()?;
        let served = self.server.served(&tree)?;
        self.output.measure("What a backup and a restore cost", |watch| suite.run(&tree, served.as_ref(), watch))
    }
}
