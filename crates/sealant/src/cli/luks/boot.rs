//! `sealant luks boot`: opens the volume and starts the server at every boot.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use luks::boot::{Boot as BootSetup, Edit, KeySource, check, removal};
use luks::cryptsetup::Cryptsetup;
use luks::device::{FileSystem, Host};
use report::{
    luks_boot_foreign_messages, luks_boot_installed_messages, luks_boot_removed_message, write_luks_boot_json,
    write_luks_boot_table,
};

use super::format::FILE_SYSTEMS;
use super::header::volume;
use crate::cli::change::Consent;
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, say};
use crate::output::render::Render;
use crate::process::current_program;

/// Open and mount the volume at every boot, and start the server only if it is mounted
#[derive(Debug, Args)]
pub(super) struct Boot {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Install(Box<Install>),
    Check(Check),
    Remove(Remove),
}

impl Boot {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        match self.task {
            Task::Install(task) => task.run(),
            Task::Check(task) => task.run(),
            Task::Remove(task) => task.run(),
        }
    }
}

/// Write the lines of crypttab and fstab, and a drop-in for the server's unit
///
/// Without the key or the disk the host still boots. The server then stays down, systemd reports why, and nothing can
/// be written to the mount point, because that directory is immutable. A different line for this name or directory that
/// exists already is refused. Running the command again changes nothing.
#[derive(Debug, Args)]
#[command(after_help = exit::help(INSTALL_END, INSTALL_EXITS))]
struct Install {
    /// Device or image with the volume
    device: PathBuf,
    /// Name of the volume in /dev/mapper
    #[arg(long)]
    name: String,
    /// Mount point: the data directory
    #[arg(long, value_name = "DIR")]
    directory: PathBuf,
    /// File with the exact bytes of the key
    #[arg(long, value_name = "FILE", required_unless_present = "key_from")]
    key_file: Option<PathBuf>,
    /// Get the key from `sealant luks key serve`, with these arguments, each in a --key-from= of its own
    #[arg(long, value_name = "WORD", conflicts_with = "key_file", allow_hyphen_values = true)]
    key_from: Vec<String>,
    /// systemd unit of the server, such as mariadb.service (repeatable)
    #[arg(long, value_name = "UNIT", required = true)]
    unit: Vec<String>,
    /// File system of the volume
    #[arg(long, value_name = "KIND", default_value = "ext4", value_parser = value::word(FILE_SYSTEMS))]
    filesystem: FileSystem,
    /// How long to wait at boot for the volume to appear; with a short limit, a slow boot can leave the server down
    #[arg(long, alias = "patience", value_name = "TIME", default_value = "60s")]
    #[arg(value_parser = value::seconds(30, u32::MAX.into()))]
    timeout: Duration,
    /// Keep dm-crypt's work queues, for a disk that rotates
    #[arg(long)]
    rotational: bool,
    /// Pass TRIM to the disk; an attacker then sees which blocks are in use
    #[arg(long)]
    allow_discards: bool,
    #[command(flatten)]
    target: TargetSystem,
    #[command(flatten)]
    consent: Consent,
}

#[derive(Debug, Args)]
struct TargetSystem {
    /// Work on the system in this directory, such as a mounted image
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
}

const INSTALL_END: &str = "\
Examples:
  sealant luks boot install /dev/nvme1n1 --name mysqldata --directory /var/lib/mysql \\
    --key-file /etc/sealant/mysqldata.key --unit mariadb.service
  sealant luks boot install /dev/nvme1n1 --name mysqldata --directory /var/lib/mysql \\
    --key-from=--file --key-from=mysqldata.key --key-from=--device --key-from=/dev/disk/by-label/KEYS --unit mysql.service";

const INSTALL_EXITS: exit::Codes = &[(Exit::Clean, "written, or --dry-run"), (Exit::Failed, "refused or failed")];

impl Install {
    fn run(&self) -> Result<Exit, Failure> {
        let setup = self.to_boot()?;
        let edits = setup.edits(&self.target.root)?;
        let host = Host::this();
        setup.check_mount(&self.target.root, &host)?;
        if !confirm_edits(&edits, &self.consent)? {
            return Ok(Exit::Clean);
        }
        let guard = setup.install(&self.target.root, &host, &edits)?;
        say(&luks_boot_installed_messages(&self.directory, guard, &self.name, &self.unit));
        Ok(Exit::Clean)
    }

    fn to_boot(&self) -> Result<BootSetup, Failure> {
        let volume = volume(&self.device)?;
        Ok(BootSetup {
            name: self.name.clone(),
            uuid: volume.uuid,
            directory: self.directory.clone(),
            file_system: self.filesystem,
            key: self.key()?,
            units: self.unit.clone(),
            timeout: u32::try_from(self.timeout.as_secs()).unwrap_or(u32::MAX),
            no_queues: !self.rotational,
            discards: self.allow_discards,
        })
    }

    fn key(&self) -> Result<KeySource, Failure> {
        if let Some(path) = &self.key_file {
            return std::path::absolute(path)
                .map(KeySource::File)
                .map_err(|error| Failure::new(format!("{}: {error}", path.display())));
        }
        Ok(KeySource::Service { program: current_program()?, arguments: self.key_from.clone() })
    }
}

/// Shows the edits and asks; returns whether there is anything to do.
fn confirm_edits(edits: &[Edit], consent: &Consent) -> Result<bool, Failure> {
    let text: String = edits.iter().map(ToString::to_string).collect();
    if consent.yes {
        to_stdout(&|out| out.write_all(text.as_bytes()))?;
    }
    consent.given(&text)
}

/// Prove that a reboot brings the server back, and report what would keep it down
///
/// Runs systemd's own generators on crypttab and fstab, with a temporary output directory, and examines what they
/// write. Proves the key on the volume. Checks that nothing can be written to the mount point while the volume is not
/// mounted. Checks the server's unit, because systemd may report "running" without the server.
#[derive(Debug, Args)]
#[command(after_help = exit::help(CHECK_END, CHECK_EXITS))]
struct Check {
    /// Name of the volume in /dev/mapper
    #[arg(long)]
    name: String,
    /// systemd unit of the server, such as mariadb.service (repeatable)
    #[arg(long, value_name = "UNIT", required = true)]
    unit: Vec<String>,
    #[command(flatten)]
    target: TargetSystem,
    #[command(flatten)]
    render: Render,
}

const CHECK_END: &str = "\
Example:
  sealant luks boot check --name mysqldata --unit mariadb.service";

const CHECK_EXITS: exit::Codes = &[
    (Exit::Clean, "a reboot brings the server back"),
    (Exit::Failed, "there is nothing to check"),
    (Exit::Findings, "something is wrong"),
];

impl Check {
    fn run(&self) -> Result<Exit, Failure> {
        let (cryptsetup, host) = (Cryptsetup::find()?, Host::this());
        let checked = check(&cryptsetup, &host, &self.target.root, &self.name, &self.unit)?;
        self.render.write(&checked, write_luks_boot_json, write_luks_boot_table)?;
        Ok(if checked.faults.is_empty() { Exit::Clean } else { Exit::Findings })
    }
}

/// Remove what `boot install` wrote; the volume, its key and the immutable mount point stay as they are
#[derive(Debug, Args)]
#[command(after_help = exit::help(REMOVE_END, REMOVE_EXITS))]
struct Remove {
    /// Name of the volume in /dev/mapper
    #[arg(long)]
    name: String,
    #[command(flatten)]
    target: TargetSystem,
    #[command(flatten)]
    consent: Consent,
}

const REMOVE_END: &str = "\
Example:
  sealant luks boot remove --name mysqldata";

const REMOVE_EXITS: exit::Codes =
    &[(Exit::Clean, "removed, or --dry-run"), (Exit::Failed, "there was nothing to remove, or it failed")];

impl Remove {
    fn run(&self) -> Result<Exit, Failure> {
        let removal = removal(&self.target.root, &self.name)?;
        say(&luks_boot_foreign_messages(&removal.foreign));
        removal.require_edits(&self.name)?;
        if !confirm_edits(&removal.edits, &self.consent)? {
            return Ok(Exit::Clean);
        }
        removal.run(&self.target.root, &self.name)?;
        say(&[luks_boot_removed_message()]);
        Ok(Exit::Clean)
    }
}
