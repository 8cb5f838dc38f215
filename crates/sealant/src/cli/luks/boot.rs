//! `sealant luks boot`: opens the volume and starts the server at every boot.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use luks::boot::{Boot as Wanted, Edit, KeySource, check, removal};
use luks::cryptsetup::Cryptsetup;
use luks::device::{FileSystem, Host, MountPointGuard};
use report::{write_luks_boot_json, write_luks_boot_table};

use super::header::volume;
use crate::cli::change::Consent;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, hint, warning};
use crate::output::render::Render;
use crate::process::current_program;

/// Open and mount the volume at every boot, and start the server only with it
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

/// Write the lines of crypttab and fstab, and the drop-in of the server's unit
///
/// Without the key or the disk the host still boots; the server stays down, systemd reports why, and nothing is written
/// to the mount point, because that directory is immutable. A different existing line for this name or directory is
/// refused. Running the command again changes nothing.
#[derive(Debug, Args)]
#[command(after_help = exit::help(INSTALL_END, INSTALL_EXITS))]
struct Install {
    /// Device with the volume
    device: PathBuf,
    /// Name of the volume in /dev/mapper
    #[arg(long)]
    name: String,
    /// Mount point: the data directory
    #[arg(long, value_name = "DIR")]
    directory: PathBuf,
    /// File with the key
    #[arg(long, value_name = "FILE", required_unless_present = "key_from")]
    key_file: Option<PathBuf>,
    /// Get the key from `sealant luks key serve`: each word of its arguments after its own --key-from=
    #[arg(long, value_name = "WORD", conflicts_with = "key_file", allow_hyphen_values = true)]
    key_from: Vec<String>,
    /// The server's unit (repeatable)
    #[arg(long, value_name = "UNIT", required = true)]
    unit: Vec<String>,
    /// File system of the volume
    #[arg(long, value_enum, value_name = "KIND", default_value_t = System::Ext4)]
    filesystem: System,
    /// Seconds to wait for the volume to appear. A short limit can leave the server down on a slow day
    #[arg(
        long = "patience",
        value_name = "SECONDS",
        default_value_t = 60,
        value_parser = clap::value_parser!(u32).range(30..)
    )]
    timeout: u32,
    /// The disk rotates: keep the work queues
    #[arg(long)]
    rotational: bool,
    /// Pass TRIM to the disk
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum System {
    /// ext4
    Ext4,
    /// XFS
    Xfs,
}

const INSTALL_END: &str = "\
Examples:
  sealant luks boot install /dev/nvme1n1 --name mysqldata --directory /var/lib/mysql \\
    --key-file /etc/sealant/mysqldata.key --unit mariadb.service
  sealant luks boot install /dev/nvme1n1 --name mysqldata --directory /var/lib/mysql \\
    --key-from=--file --key-from=mysqldata.key --key-from=--on --key-from=/dev/disk/by-label/KEYS --unit mysql.service";

const INSTALL_EXITS: exit::Codes =
    &[(Exit::Clean, "written, or --dry-run"), (Exit::Failed, "refused or failed"), (Exit::Usage, "wrong usage")];

impl Install {
    fn run(&self) -> Result<Exit, Failure> {
        let wanted = self.wanted()?;
        let edits = wanted.edits(&self.target.root)?;
        let host = Host::this();
        wanted.check_mount(&self.target.root, &host)?;
        if !go(&edits, &self.consent)? {
            return Ok(Exit::Clean);
        }
        if wanted.install(&self.target.root, &host, &edits)? == Some(MountPointGuard::Permissions) {
            warning(&format!(
                "{}: its file system has no immutable flag; as root, a server could still write there in plaintext",
                self.directory.display()
            ));
        }
        hint(&format!(
            "prove it: `sealant luks boot check --name {} --unit {}`",
            self.name,
            self.unit.join(" --unit ")
        ));
        Ok(Exit::Clean)
    }

    fn wanted(&self) -> Result<Wanted, Failure> {
        let volume = volume(&self.device)?;
        Ok(Wanted {
            name: self.name.clone(),
            uuid: volume.uuid,
            directory: self.directory.clone(),
            file_system: match self.filesystem {
                System::Ext4 => FileSystem::Ext4,
                System::Xfs => FileSystem::Xfs,
            },
            key: self.key()?,
            units: self.unit.clone(),
            timeout: self.timeout,
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
fn go(edits: &[Edit], consent: &Consent) -> Result<bool, Failure> {
    let text: String = edits.iter().map(ToString::to_string).collect();
    if consent.yes {
        to_stdout(&|out| out.write_all(text.as_bytes()))?;
    }
    consent.given(&text)
}

/// Prove that a reboot brings the server back, and report what keeps it down
///
/// Runs systemd's own generators on the tables, with a temporary output directory, and examines what they write; proves
/// the key on the volume; examines the guard of the mount point; and checks the server's unit: systemd may report
/// "running" without the server.
#[derive(Debug, Args)]
#[command(after_help = exit::help(CHECK_END, CHECK_EXITS))]
struct Check {
    /// Name of the volume in /dev/mapper
    #[arg(long)]
    name: String,
    /// The server's unit (repeatable)
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

/// Remove what `boot install` wrote; the volume, its key and the guard of the mount point stay
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
        for (table, line) in &removal.foreign {
            warning(&format!("{}: `{line}` stays, because `boot install` did not write it", table.display()));
        }
        if removal.edits.is_empty() {
            return Err(Failure::new(format!("{}: nothing was installed for this name", self.name)));
        }
        if !go(&removal.edits, &self.consent)? {
            return Ok(Exit::Clean);
        }
        removal.run(&self.target.root, &self.name)?;
        hint("the mount point stays immutable; `chattr -i` makes it writable");
        Ok(Exit::Clean)
    }
}
