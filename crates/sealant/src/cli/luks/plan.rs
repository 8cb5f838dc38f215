//! `sealant luks plan`: what lies where in clear, and how it becomes encrypted. Writes nothing.

use std::io::Write;
use std::path::{Path, PathBuf};

use ::audit::collect::LiveOptions;
use ::audit::collect::placement::{Placed, Placement, of_option_files, of_server};
use ::audit::facts::host::{DiskLayer, Swap};
use clap::Args;
use luks::cryptsetup::Cryptsetup;
use luks::device::{Block, Host, uses};
use luks::plan::{Disk, Machine, Plan as Decision, Scene, State};
use report::Format;
use serde_json::json;

use super::error::device as failure;
use crate::cli::connect::{self, Login};
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, warning};
use crate::output::render::Render;

/// Tell which paths of a server lie on which disk, what is in clear, and how to encrypt it; change nothing
///
/// Asks the running server for every path that matters: data, redo, undo, doublewrite, binary and relay logs, temporary
/// directories, logs, keyrings, backups; or reads option files if the server is down. Each path is followed down to its
/// disks, swap too. Then it says which cipher, sector size, key derivation and queues suit the disk and the processor,
/// and why, and gives the steps with their commands.
///
/// Nothing is written, to no disk: the new disk is read as `sealant luks format` would read it before it begins.
#[derive(Debug, Args)]
#[command(after_help = exit::help(END, EXITS))]
pub(super) struct Plan {
    /// The server, as mysql://USER@HOST:PORT
    #[arg(value_name = "URL", conflicts_with_all = ["socket", "option_file", "datadir"])]
    url: Option<String>,
    /// The server, by its unix socket
    #[arg(long, value_name = "PATH", conflicts_with_all = ["option_file", "datadir"])]
    socket: Option<PathBuf>,
    #[command(flatten)]
    login: Login,
    /// Do not ask a server: read its paths from this option file (repeatable, later ones count)
    #[arg(long, value_name = "FILE")]
    option_file: Vec<PathBuf>,
    /// Do not ask a server: this is the data directory
    #[arg(long, value_name = "DIR")]
    datadir: Option<PathBuf>,
    /// A directory with backups (repeatable)
    #[arg(long, value_name = "DIR")]
    backup: Vec<PathBuf>,
    /// The new disk that is to be encrypted
    #[arg(long, value_name = "DEVICE")]
    disk: Option<PathBuf>,
    /// Name of the volume to be
    #[arg(long, default_value = "mysqldata")]
    name: String,
    /// The server's unit; default: the one that is installed, or else the usual one of the server whose files these are
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
    (Exit::Usage, "wrong usage"),
    (Exit::Findings, "something lies in clear, or may: the plan says what to do"),
];

impl Plan {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let placement = self.placement()?;
        for (file, why) in &placement.unread {
            warning(&format!("{file}: not read: {why}"));
        }
        if let Some(why) = &placement.swaps_unseen {
            warning(&format!("swap areas are not known: {why}"));
        }
        let disk = self.disk.as_deref().map(|disk| self::disk(&Host::this(), disk)).transpose()?;
        let decision = Decision::new(Scene {
            datadir: placement.datadir.to_string_lossy().into_owned(),
            paths: placement.paths.iter().map(path).collect(),
            swaps: placement.swaps.iter().map(swap).collect(),
            disk,
            machine: machine(),
            name: self.name.clone(),
            unit: self.unit.clone().unwrap_or_else(|| unit(&placement.datadir).to_owned()),
        });
        to_stdout(&|out| match self.render.format() {
            Format::Json => {
                let mut json = serde_json::to_value(&decision)?;
                json["schema"] = json!("sealant.luks-plan/1");
                serde_json::to_writer_pretty(&mut *out, &json)?;
                writeln!(out)
            }
            _ => table(&decision, out),
        })?;
        Ok(if decision.is_done() { Exit::Clean } else { Exit::Findings })
    }

    fn placement(&self) -> Result<Placement, Failure> {
        if self.datadir.is_some() || !self.option_file.is_empty() {
            return Ok(of_option_files(&self.option_file, self.datadir.as_deref(), &self.backup)?);
        }
        let nothing =
            ["no server is named", "give mysql://USER@HOST:PORT, --socket PATH, --option-file FILE or --datadir DIR"];
        let (target, options) = connect::connection(self.url.as_deref(), self.socket.as_deref(), &self.login, nothing)?;
        let options = LiveOptions { backup_dirs: self.backup.clone(), ..LiveOptions::new(target, options) };
        Ok(of_server(&options).map_err(|error| error.at(&options.target.endpoint))?)
    }
}

/// Where packages and administrators put units.
const UNITS: [&str; 3] = ["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];

/// MariaDB has Aria's control file in its data directory, which no MySQL has. MySQL's unit has two names: that of Debian
/// and that of its makers.
fn unit(datadir: &Path) -> &'static str {
    if datadir.join("aria_log_control").exists() {
        return "mariadb.service";
    }
    let is_installed = |name: &&str| UNITS.iter().any(|place| Path::new(place).join(name).exists());
    ["mysql.service", "mysqld.service"].into_iter().find(is_installed).unwrap_or("mysql.service")
}

fn path(placed: &Placed) -> luks::plan::Path {
    let at = &placed.on_disk;
    luks::plan::Path {
        role: at.role.as_str().to_owned(),
        path: at.resolved.clone(),
        via: at.via.clone(),
        mount: at.mount_point.clone(),
        fs_type: at.fs_type.clone(),
        chain: at.chain.clone(),
        state: state(&at.layer),
        bytes: placed.bytes,
    }
}

fn swap(swap: &Swap) -> luks::plan::Path {
    luks::plan::Path {
        role: "swap".to_owned(),
        path: swap.name.clone(),
        via: "/proc/swaps".to_owned(),
        mount: String::new(),
        fs_type: String::new(),
        chain: Vec::new(),
        state: state(&swap.layer),
        bytes: None,
    }
}

fn state(layer: &DiskLayer) -> State {
    match layer {
        DiskLayer::Encrypted { by } => State::Encrypted(by.clone()),
        DiskLayer::Plain => State::Plain,
        DiskLayer::Memory => State::Memory,
        DiskLayer::Unknown { why } => State::Unknown(why.clone()),
    }
}

/// The new disk, as far as reading tells.
fn disk(host: &Host, device: &Path) -> Result<Disk, Failure> {
    let obstacles = uses(host, device, true).map_err(failure)?.iter().map(ToString::to_string).collect();
    let block = Block::of(host, device).ok().flatten();
    let queue = |name: &str| block.as_ref().and_then(|block| block.queue(name));
    let file_bytes = || std::fs::metadata(device).map(|metadata| metadata.len()).unwrap_or_default();
    Ok(Disk {
        device: device.display().to_string(),
        bytes: block.as_ref().map_or_else(file_bytes, Block::bytes),
        rotational: queue("rotational").map(|number| number != 0),
        physical_block_bytes: queue("physical_block_size"),
        discards: queue("discard_max_bytes").map(|number| number != 0),
        obstacles,
    })
}

fn machine() -> Machine {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let words = |line: &str| line.split_whitespace().any(|word| word == "aes");
    let memory = |line: &str| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse().ok();
    Machine {
        aes_instructions: read("/proc/cpuinfo")
            .lines()
            .filter(|line| line.starts_with("flags") || line.starts_with("Features"))
            .any(words),
        memory_kib: read("/proc/meminfo").lines().find_map(memory).unwrap_or_default(),
        cryptsetup: Cryptsetup::find().ok().map(|found| found.version().to_string()),
    }
}

fn table(plan: &Decision, out: &mut dyn Write) -> std::io::Result<()> {
    let scene = &plan.scene;
    writeln!(out, "{:<10} {:<24} {:<10} {:<40} DISKS", "STATE", "WHAT", "MIB", "WHERE")?;
    for path in scene.paths.iter().chain(&scene.swaps) {
        let state = match &path.state {
            State::Encrypted(_) => "encrypted",
            State::Plain => "PLAIN",
            State::Memory => "memory",
            State::Unknown(_) => "UNKNOWN",
        };
        let mib = path.bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.div_ceil(1 << 20).to_string());
        writeln!(out, "{state:<10} {:<24} {mib:<10} {:<40} {}", path.role, path.path, path.chain.join(" on "))?;
    }
    if !plan.steps.is_empty() {
        writeln!(out, "\nParameters:")?;
        for choice in &plan.choices {
            writeln!(out, "  {}: {}\n      {}", choice.what, choice.value, choice.why)?;
        }
        writeln!(out, "\nSpace: a new disk of at least {} MiB", plan.needed_bytes.div_ceil(1 << 20))?;
        writeln!(out, "\nSteps:")?;
        for (number, step) in plan.steps.iter().enumerate() {
            writeln!(out, "  {}. {}", number.saturating_add(1), step.what)?;
            if let Some(command) = &step.command {
                writeln!(out, "       {command}")?;
            }
        }
    }
    writeln!(out, "\nMind:")?;
    for remark in &plan.remarks {
        writeln!(out, "  - {remark}")?;
    }
    Ok(())
}
