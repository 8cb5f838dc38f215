//! `sealant luks open|mount|close`.

use std::path::PathBuf;

use clap::Args;
use luks::cryptsetup::{Cryptsetup, Mapping};
use luks::device::{Host, Mounting, Opening, close, unmount};
use report::{luks_mount_messages, write_luks_closed, write_luks_mounted, write_luks_opened};

use super::key::KeySource;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, say};

/// Open a volume, and prove by the kernel's table that it matches its header
///
/// Before any key is tried, a header is refused that demands an absurdly expensive key derivation, or whose
/// re-encryption was interrupted in its last step. If one copy of the header is damaged, as after a power cut,
/// cryptsetup restores it from the other. A volume that is already open under this name is left as it is.
#[derive(Debug, Args)]
#[command(after_help = exit::help(OPEN_END, OPEN_EXITS))]
pub(super) struct Open {
    /// Device or image with the volume
    device: PathBuf,
    /// Name of the volume in /dev/mapper
    #[arg(long)]
    name: String,
    #[command(flatten)]
    key: KeySource,
    /// Open with a copy of the header in memory, which is judged first, so that changes on disk in the meantime have no
    /// effect; refuse a header with any serious finding
    #[arg(long)]
    strict: bool,
    /// Encrypt without dm-crypt's work queues, which is faster on disks that do not rotate
    #[arg(long)]
    no_queues: bool,
    /// Pass TRIM to the disk; an attacker then sees which blocks are in use
    #[arg(long)]
    allow_discards: bool,
    /// Store --no-queues and --allow-discards in the header, for everyone who opens the volume
    #[arg(long, conflicts_with = "strict")]
    persistent: bool,
    /// Open read-only
    #[arg(long)]
    read_only: bool,
}

const OPEN_END: &str = "\
Example:
  sealant luks open /dev/nvme1n1 --name mysqldata --key-file /etc/sealant/mysqldata.key --no-queues";

const OPEN_EXITS: exit::Codes =
    &[(Exit::Clean, "open and proven"), (Exit::Failed, "refused or failed; nothing new is open")];

impl Open {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let (cryptsetup, host) = (Cryptsetup::find()?, Host::this());
        let opening = Opening {
            cryptsetup: &cryptsetup,
            host: &host,
            device: &self.device,
            name: &self.name,
            mapping: Mapping {
                header: None,
                discards: self.allow_discards,
                no_queues: self.no_queues,
                persistent: self.persistent,
                read_only: self.read_only,
            },
            strict: self.strict,
        };
        let opened = opening.run(&self.key.read()?)?;
        to_stdout(&|out| Ok(write_luks_opened(&self.name, &opened, out)?))?;
        Ok(Exit::Clean)
    }
}

/// Mount an open volume on a directory to which nothing can be written while it is not mounted
///
/// The directory must be empty. It is given to root, without permissions, and made immutable. A server that starts
/// before the volume is mounted then cannot write a single byte there in plaintext, not even as root. The mount table
/// proves that the volume is mounted.
#[derive(Debug, Args)]
#[command(after_help = exit::help(MOUNT_END, MOUNT_EXITS))]
pub(super) struct Mount {
    /// Name of the volume in /dev/mapper
    name: String,
    /// Mount point: an absolute path without links
    directory: PathBuf,
    /// Options of mount(8)
    #[arg(long, value_name = "LIST", default_value = "noatime")]
    options: String,
}

const MOUNT_END: &str = "\
Example:
  sealant luks mount mysqldata /var/lib/mysql";

const MOUNT_EXITS: exit::Codes = &[
    (Exit::Clean, "mounted and proven"),
    (Exit::Failed, "refused or failed"),
    (Exit::Findings, "it was mounted already, and files lie in plaintext below it"),
];

impl Mount {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let host = Host::this();
        let mounting = Mounting { host: &host, name: &self.name, directory: &self.directory, options: &self.options };
        let mounted = mounting.run()?;
        to_stdout(&|out| Ok(write_luks_mounted(&self.name, &self.directory, &mounted, out)?))?;
        say(&luks_mount_messages(&self.directory, &mounted));
        Ok(if mounted.hides_files() { Exit::Findings } else { Exit::Clean })
    }
}

/// Close a volume that nothing uses
#[derive(Debug, Args)]
#[command(after_help = exit::help(CLOSE_END, CLOSE_EXITS))]
pub(super) struct Close {
    /// Name of the volume in /dev/mapper
    name: String,
    /// Unmount it first, which fails while any file in it is open
    #[arg(long)]
    unmount: bool,
}

const CLOSE_END: &str = "\
Example:
  sealant luks close mysqldata --unmount";

const CLOSE_EXITS: exit::Codes = &[(Exit::Clean, "closed"), (Exit::Failed, "refused or failed")];

impl Close {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let (cryptsetup, host) = (Cryptsetup::find()?, Host::this());
        if self.unmount {
            unmount(&host, &self.name)?;
        }
        close(&cryptsetup, &host, &self.name)?;
        to_stdout(&|out| Ok(write_luks_closed(&self.name, out)?))?;
        Ok(Exit::Clean)
    }
}
