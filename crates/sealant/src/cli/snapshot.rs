//! `sealant snapshot`: takes a consistent copy of a live data directory.

mod live;
mod source;

use std::time::Duration;

use ::snapshot::{Keep, Options, discard_named, estimate, list};
use clap::{Args, Subcommand};
use report::{
    snapshot_dropped_message, snapshot_message, write_estimate_json, write_estimate_table, write_snapshot_json,
    write_snapshot_table, write_snapshots_json, write_snapshots_table,
};

use self::live::take;
pub(crate) use self::live::{Live, guard};
use self::source::{Freezing, Keyring, Source};
use crate::exit::{self, Exit};
use crate::output::message::{Failure, say};
use crate::output::progress::Quiet;
use crate::output::render::Render;

/// Take a consistent copy of a running server's data directory, of one instant for all files
///
/// On btrfs the server is frozen for a moment while the file system takes a snapshot. On XFS, and other file systems
/// that share extents between files, it is frozen while every file is cloned: about 36 µs per file and 16 µs per
/// extent. A freeze is never longer than --max-freeze, and a separate process resumes the server if this one is killed.
/// On ZFS and LVM, a snapshot is taken while the server runs; a write waits for a moment.
///
/// On any other file system, MySQL 8.0.30, MariaDB 10.8 and newer are copied while they run, if an account is given
/// (provider follow). Copying files under locks is not offered: InnoDB keeps writing under every lock.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Snapshot {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  sealant snapshot estimate --datadir /var/lib/mysql
  sealant snapshot create --datadir /var/lib/mysql
  sealant snapshot list --datadir /var/lib/mysql
  sealant snapshot drop --datadir /var/lib/mysql mysql-20261122T103000Z-4711-0";

const EXITS: exit::Codes =
    &[(Exit::Clean, "done"), (Exit::Failed, "not done; the server runs on, and nothing is left behind")];

#[derive(Debug, Subcommand)]
enum Command {
    Create(Create),
    List(List),
    Drop(Drop),
    Estimate(Cost),
    #[command(hide = true)]
    Watchdog(Watchdog),
}

/// Take a copy and keep it
///
/// The path of the copy is written to standard output. It shares its blocks with the data, so it uses space only as
/// these change. A copy by the provider follow uses as much space as the data.
#[derive(Debug, Args)]
struct Create {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    freezing: Freezing,
    #[command(flatten)]
    keyring: Keyring,
    #[command(flatten)]
    render: Render,
    #[command(flatten)]
    quiet: Quiet,
}

/// List the copies of a data directory, and whether a program is using them
#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    render: Render,
}

/// Remove copies
#[derive(Debug, Args)]
struct Drop {
    #[command(flatten)]
    source: Source,
    /// Names of copies, as `sealant snapshot list` shows them
    #[arg(value_name = "NAME", required_unless_present = "stale")]
    names: Vec<String>,
    /// Remove all copies that killed programs have left
    #[arg(long, conflicts_with = "names")]
    stale: bool,
}

/// Show how a copy would be taken, and how long the server would be frozen
///
/// Changes nothing. Extents are counted with FIEMAP, dirty pages with cachestat (Linux 6.5 or newer; 0 on older ones).
#[derive(Debug, Args)]
struct Cost {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    freezing: Freezing,
    #[command(flatten)]
    render: Render,
}

/// Resume a server when the program that stopped it is gone, or its time is up
#[derive(Debug, Args)]
struct Watchdog {
    /// The server
    pid: i32,
    /// Maximum freeze, in milliseconds
    limit_ms: u64,
}

impl Snapshot {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        match self.command {
            Command::Create(create) => create.run(),
            Command::List(list) => list.run(),
            Command::Drop(drop) => drop.run(),
            Command::Estimate(cost) => cost.run(),
            Command::Watchdog(watchdog) => watchdog.run(),
        }
    }
}

impl Create {
    fn run(&self) -> Result<Exit, Failure> {
        let datadir = self.source.datadir()?;
        let options = self.freezing.options(&self.source, Keep::UntilDiscarded)?;
        let options = Options { keys: self.keyring.keys(&self.source)?, ..options };
        let copy = take(&datadir, &options, self.quiet.status_line())?;
        say(&[snapshot_message(&copy)]);
        if copy.name().is_none() {
            return Ok(Exit::Clean);
        }
        self.render.write(&copy, write_snapshot_json, write_snapshot_table)?;
        Ok(Exit::Clean)
    }
}

impl List {
    fn run(&self) -> Result<Exit, Failure> {
        let datadir = self.source.datadir()?;
        let found = list(&datadir, self.source.location.as_deref())?;
        self.render.write(found.as_slice(), write_snapshots_json, write_snapshots_table)?;
        Ok(Exit::Clean)
    }
}

impl Drop {
    fn run(&self) -> Result<Exit, Failure> {
        let datadir = self.source.datadir()?;
        let location = self.source.location.as_deref();
        discard_named(&datadir, location, &self.names, self.stale, &mut |copy| say(&[snapshot_dropped_message(copy)]))?;
        Ok(Exit::Clean)
    }
}

impl Cost {
    fn run(&self) -> Result<Exit, Failure> {
        let datadir = self.source.datadir()?;
        let options = self.freezing.options(&self.source, Keep::WhileInUse)?;
        let estimate = estimate(&datadir, &options)?;
        self.render.write(&estimate, write_estimate_json, write_estimate_table)?;
        Ok(Exit::Clean)
    }
}

impl Watchdog {
    fn run(&self) -> Result<Exit, Failure> {
        let ended = ::snapshot::watchdog::run(self.pid, Duration::from_millis(self.limit_ms));
        match ended {
            Ok(true) => Ok(Exit::Clean),
            Ok(false) => Ok(Exit::Findings),
            Err(error) => Err(Failure::new(format!("process {}: {error}", self.pid))),
        }
    }
}
