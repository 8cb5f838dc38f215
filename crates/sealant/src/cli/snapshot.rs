//! `sealant snapshot`: a still copy of a live data directory.

pub(crate) mod backup;
mod live;
mod source;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use ::snapshot::{Estimate, Found, Keep, State, discard, estimate, list, take};
use clap::{Args, Subcommand};
use report::{Format, size};
use serde::Serialize;

pub(crate) use self::live::{Held, Live};
pub(crate) use self::source::failure;
use self::source::{Freezing, Source};
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, info};
use crate::output::render::Render;

/// Take a still copy of a running server's data directory, of one instant for all files
///
/// On btrfs the file system takes it as one and the server runs on. On XFS, and others that share extents
/// between files, the server stands still while every file is cloned: for about 36 µs a file and 16 µs an
/// extent, and never longer than --max-freeze. A process of its own lets the server go on if this one is
/// killed. Copying files under locks is not offered: InnoDB writes on under every lock.
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

const EXITS: exit::Codes = &[
    (Exit::Clean, "done"),
    (Exit::Failed, "not done; the server runs on, and nothing is left behind"),
    (Exit::Usage, "wrong usage"),
];

#[derive(Debug, Subcommand)]
enum Command {
    Create(Create),
    List(List),
    Drop(Drop),
    Estimate(Cost),
    #[command(hide = true)]
    Watchdog(Watchdog),
}

/// Take a copy and leave it there
///
/// The path of the copy is written to standard output. It shares its blocks with the data, so that it takes
/// space only as these change.
#[derive(Debug, Args)]
struct Create {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    freezing: Freezing,
    #[command(flatten)]
    render: Render,
}

/// Show the copies of a data directory, and whether a program uses them
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
    /// Names, as `sealant snapshot list` shows them
    #[arg(value_name = "NAME", required_unless_present = "stale")]
    names: Vec<String>,
    /// All copies whose program was killed
    #[arg(long, conflicts_with = "names")]
    stale: bool,
}

/// Say how a copy would be taken, and for how long the server would stand still
///
/// Nothing is changed. Extents are counted by FIEMAP, dirty pages by cachestat (Linux 6.5 or newer; 0
/// before).
#[derive(Debug, Args)]
struct Cost {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    freezing: Freezing,
    #[command(flatten)]
    render: Render,
}

/// Let a server go on when the program that stopped it is gone, or its time is up
#[derive(Debug, Args)]
struct Watchdog {
    /// The server
    pid: i32,
    /// The longest freeze, in milliseconds
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
        let options = self.freezing.options(&self.source, Keep::UntilDiscarded);
        let still = take(&datadir, &options).map_err(failure)?;
        let Some(name) = still.name() else {
            info("no server runs on it, so the data directory is still by itself; nothing was copied");
            return Ok(Exit::Clean);
        };
        info(&format!("taken by {}; {}", still.provider(), still.effect()));
        let taken = Taken {
            name,
            root: still.root().to_owned(),
            provider: still.provider().name(),
            freeze_ms: still.frozen().as_secs_f64() * 1000.0,
        };
        to_stdout(&|out| match self.render.format() {
            Format::Json => json(out, &taken),
            _ => writeln!(out, "{}", taken.root.display()),
        })?;
        Ok(Exit::Clean)
    }
}

/// What `create` says to scripts.
#[derive(Serialize)]
struct Taken {
    name: String,
    root: PathBuf,
    provider: &'static str,
    freeze_ms: f64,
}

/// What `list` says to scripts.
#[derive(Serialize)]
struct Listed<'f> {
    name: &'f str,
    root: &'f PathBuf,
    provider: &'static str,
    created: String,
    freeze_ms: Option<f64>,
    state: State,
}

impl<'f> Listed<'f> {
    fn of(found: &'f Found) -> Self {
        Self {
            name: &found.name,
            root: &found.root,
            provider: found.provider.name(),
            created: found.created.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            freeze_ms: found.freeze_ms,
            state: found.state,
        }
    }
}

impl List {
    fn run(&self) -> Result<Exit, Failure> {
        let datadir = self.source.datadir()?;
        let found = list(&datadir, self.source.place.as_deref()).map_err(failure)?;
        let listed: Vec<Listed<'_>> = found.iter().map(Listed::of).collect();
        to_stdout(&|out| match self.render.format() {
            Format::Json => json(out, &listed),
            _ => table(out, &listed),
        })?;
        Ok(Exit::Clean)
    }
}

fn table(out: &mut dyn Write, listed: &[Listed<'_>]) -> std::io::Result<()> {
    writeln!(out, "{:<20}  {:<8}  {:<6}  NAME", "CREATED", "PROVIDER", "STATE")?;
    for copy in listed {
        let state = match copy.state {
            State::Kept => "kept",
            State::InUse => "in use",
            State::Stale => "stale",
            State::Void => "void",
        };
        writeln!(out, "{:<20}  {:<8}  {state:<6}  {}", copy.created, copy.provider, copy.name)?;
    }
    Ok(())
}

impl Drop {
    fn run(&self) -> Result<Exit, Failure> {
        let datadir = self.source.datadir()?;
        let found = list(&datadir, self.source.place.as_deref()).map_err(failure)?;
        let unknown = self.names.iter().find(|name| !found.iter().any(|copy| copy.name == **name));
        if let Some(name) = unknown {
            return Err(Failure::new(format!("{name}: there is no such copy of {}", datadir.path().display()))
                .hint("see `sealant snapshot list`"));
        }
        let wanted = |copy: &&Found| (self.stale && copy.state == State::Stale) || self.names.contains(&copy.name);
        for copy in found.iter().filter(wanted) {
            discard(copy).map_err(failure)?;
            info(&format!("dropped {}", copy.name));
        }
        Ok(Exit::Clean)
    }
}

impl Cost {
    fn run(&self) -> Result<Exit, Failure> {
        let datadir = self.source.datadir()?;
        let options = self.freezing.options(&self.source, Keep::WhileInUse);
        let estimate = estimate(&datadir, &options).map_err(failure)?;
        to_stdout(&|out| match self.render.format() {
            Format::Json => json(out, &estimate),
            _ => cost(out, &estimate),
        })?;
        Ok(Exit::Clean)
    }
}

fn cost(out: &mut dyn Write, estimate: &Estimate) -> std::io::Result<()> {
    writeln!(out, "provider     {}", estimate.provider)?;
    writeln!(out, "files        {}", estimate.files)?;
    writeln!(out, "extents      {}", estimate.extents)?;
    writeln!(out, "to write out {}", size(estimate.dirty_bytes))?;
    writeln!(out, "freeze       {}", milliseconds(estimate.freeze()))
}

fn json(out: &mut dyn Write, value: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    out.write_all(b"\n")
}

/// A time for people.
pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

impl Watchdog {
    fn run(&self) -> Result<Exit, Failure> {
        let ended = ::snapshot::watchdog::run(self.pid, Duration::from_millis(self.limit_ms));
        match ended {
            Ok(true) => Ok(Exit::Clean),
            // The same number as `watchdog::TIME_WAS_UP`.
            Ok(false) => Ok(Exit::Findings),
            Err(error) => Err(Failure::new(format!("process {}: {error}", self.pid))),
        }
    }
}
