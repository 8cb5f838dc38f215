//! `sealant luks plan`: shows what lies where in plaintext, and how to encrypt it. Writes nothing.

use std::path::PathBuf;

use ::audit::collect::LiveOptions;
use ::audit::collect::placement::{Placement, from_option_files, from_server};
use clap::Args;
use luks::device::Host;
use luks::plan::{Disk, Plan as Decision};
use report::{luks_plan_messages, write_luks_plan_json, write_luks_plan_table};

use crate::cli::connect::{self, Address, Login, NoServer};
use crate::exit::{self, Exit};
use crate::output::message::{Failure, say};
use crate::output::render::Render;

/// Show which paths of a server lie on which disk, what is in plaintext, and how to encrypt it; change nothing
///
/// Asks the running server for every relevant path: data, redo, undo, doublewrite, binary and relay logs, temporary
/// directories, logs, keyrings, backups. For a stopped server, give --option-file or --datadir. Follows each path, and
/// swap, down to its disks. Then recommends cipher, sector size, key derivation and queues for the disk and the
/// processor, with reasons, and gives the steps with their commands.
///
/// Writes nothing to any disk: the new disk is only read, as `sealant luks format` reads it before it begins.
#[derive(Debug, Args)]
#[command(after_help = exit::help(END, EXITS))]
pub(super) struct Plan {
    #[command(flatten)]
    address: Address,
    #[command(flatten)]
    login: Login,
    /// Read the paths from this option file, and ask no server (repeatable; later files take precedence)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "socket", "host"])]
    option_file: Vec<PathBuf>,
    /// Examine this data directory, and ask no server
    #[arg(long, value_name = "DIR", conflicts_with_all = ["url", "socket", "host"])]
    datadir: Option<PathBuf>,
    /// Directory with backups (repeatable)
    #[arg(long, value_name = "DIR")]
    backup: Vec<PathBuf>,
    /// New disk to encrypt
    #[arg(long, value_name = "DEVICE")]
    disk: Option<PathBuf>,
    /// Name of the volume in /dev/mapper
    #[arg(long, default_value = "mysqldata")]
    name: String,
    /// systemd unit of the server [default: the installed one, or else the usual one of the server that these files
    /// belong to]
    #[arg(long)]
    unit: Option<String>,
    #[command(flatten)]
    render: Render,
}

const END: &str = "\
Examples:
  sealant luks plan --socket /run/mysqld/mysqld.sock --user root --disk /dev/nvme1n1
  sealant luks plan --option-file /etc/mysql/my.cnf";

const EXITS: exit::Codes = &[
    (Exit::Clean, "every path and swap area is encrypted or in memory only"),
    (Exit::Failed, "the server or its files cannot be looked at"),
    (Exit::Findings, "something is or may be in plaintext: the plan says what to do"),
];

const NO_SERVER: NoServer = NoServer {
    error: "no server was given",
    hint: "give mysql://USER@HOST:PORT, --socket PATH, --host HOST, --option-file FILE or --datadir DIR",
};

impl Plan {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let placement = self.placement()?;
        say(&luks_plan_messages(&placement));
        let disk = self.disk.as_deref().map(|disk| Disk::read(&Host::this(), disk)).transpose()?;
        let decision = Decision::new(placement.sources(disk, self.name.clone(), self.unit.clone()));
        self.render.write(&decision, write_luks_plan_json, write_luks_plan_table)?;
        Ok(if decision.is_done() { Exit::Clean } else { Exit::Findings })
    }

    fn placement(&self) -> Result<Placement, Failure> {
        if self.datadir.is_some() || !self.option_file.is_empty() {
            return Ok(from_option_files(&self.option_file, self.datadir.as_deref(), &self.backup)?);
        }
        let (target, options) = connect::connection(&self.address, &self.login, NO_SERVER)?;
        let options = LiveOptions { backup_dirs: self.backup.clone(), ..LiveOptions::new(target, options) };
        Ok(from_server(&options).map_err(|error| error.at(&options.target.endpoint))?)
    }
}
