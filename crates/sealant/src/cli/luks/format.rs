//! `sealant luks format`: makes a blank disk a volume.

use std::path::PathBuf;

use clap::Args;
use luks::cryptsetup::{Cryptsetup, NewVolume};
use luks::device::{Creation, FileSystem, Host};
use luks::key::NewVolumeKey;
use report::{luks_created_message, write_luks_created};

use super::key::iterations;
use crate::cli::change::Consent;
use crate::cli::value::{self, Word};
use crate::exit::{self, Exit};
use crate::output::file::{check_target_directory, to_stdout};
use crate::output::message::{Failure, say};

/// Make a LUKS2 volume on a blank disk, with a file system in it, and prove every step
///
/// Refuses every disk that is in use or holds anything: mounted, swap, part of an array or volume, with partitions or a
/// signature, open in a process, named in fstab or crypttab, read-only, or with data that no known signature explains,
/// such as a raw tablespace or a volume with a detached header.
///
/// The header is read back and judged. The key is proven to open it, and a random key not to. The file system is
/// created, and is looked for inside and outside of the volume. The header is saved. The volume is closed at the end.
#[derive(Debug, Args)]
#[command(after_help = exit::help(END, EXITS))]
pub(super) struct FormatVolume {
    /// Disk, partition or image
    device: PathBuf,
    /// File with the exact bytes of the key
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    /// Create the file of --key-file, with a key of 64 random bytes
    #[arg(long)]
    make_key: bool,
    /// File system to create in the volume
    #[arg(long, value_name = "KIND", default_value = "ext4", value_parser = value::word(FILE_SYSTEMS_OR_NONE))]
    filesystem: OptionalFileSystem,
    /// Directory for the header backup
    #[arg(long, value_name = "DIR", required_unless_present = "no_backup")]
    backups: Option<PathBuf>,
    /// Do not save the header
    #[arg(long, conflicts_with = "backups")]
    no_backup: bool,
    /// Size of an encryption sector in bytes: 4096, or 512 for a file system with smaller blocks
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = value::sector_bytes())]
    sector_bytes: u32,
    /// Length of the volume key in bits: 512 is AES-256 in XTS mode, 256 is AES-128
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = value::volume_key_bits())]
    key_bits: u32,
    /// Label of the volume
    #[arg(long, value_name = "TEXT", default_value = "")]
    label: String,
    /// Derive the key with this many iterations of PBKDF2; 1000 are enough for a random key, and it then opens the
    /// volume at once [default: Argon2id, as cryptsetup measures it for a passphrase]
    #[arg(long, value_name = "N", value_parser = iterations())]
    pbkdf2_iterations: Option<u32>,
    /// Overwrite the disk even if it holds data that no known signature explains
    #[arg(long)]
    destroy_unknown_data: bool,
    #[command(flatten)]
    consent: Consent,
}

pub(super) const FILE_SYSTEMS: &[Word<FileSystem>] =
    &[("ext4", FileSystem::Ext4, "ext4"), ("xfs", FileSystem::Xfs, "XFS")];

/// A value of --filesystem. For clap a plain `Option` would be an option that may be missing.
type OptionalFileSystem = Option<FileSystem>;

const FILE_SYSTEMS_OR_NONE: &[Word<OptionalFileSystem>] = &[
    ("ext4", Some(FileSystem::Ext4), "ext4"),
    ("xfs", Some(FileSystem::Xfs), "XFS"),
    ("none", None, "None: for a raw tablespace, LVM, or an image"),
];

const END: &str = "\
Example:
  sealant luks format /dev/nvme1n1 --key-file /etc/sealant/mysqldata.key --make-key \\
    --pbkdf2-iterations 1000 --backups /safe/headers";

const EXITS: exit::Codes = &[
    (Exit::Clean, "made and proven, or --dry-run"),
    (Exit::Failed, "refused, and nothing was changed; or a step failed, which the message names"),
];

impl FormatVolume {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let (cryptsetup, host) = (Cryptsetup::find()?, Host::this());
        let creation = self.creation(&cryptsetup, &host);
        self.backups.as_deref().map(check_target_directory).transpose()?;
        creation.check()?;
        let key = NewVolumeKey { path: &self.key_file, make: self.make_key };
        key.check()?;
        if !self.consent.given(&creation.describe(key.created()))? {
            return Ok(Exit::Clean);
        }
        let key = key.read_or_create()?;
        let mut reported = Ok(());
        let created = creation.run(&key, &mut |text| reported = to_stdout(&|out| writeln!(out, "{text}")))?;
        reported?;
        to_stdout(&|out| Ok(write_luks_created(&self.device, &created, out)?))?;
        say(&[luks_created_message()]);
        Ok(Exit::Clean)
    }

    fn creation<'a>(&'a self, cryptsetup: &'a Cryptsetup, host: &'a Host) -> Creation<'a> {
        Creation {
            cryptsetup,
            host,
            device: &self.device,
            format: NewVolume {
                key_bits: self.key_bits,
                sector_bytes: self.sector_bytes,
                label: self.label.clone(),
                iterations: self.pbkdf2_iterations,
                ..NewVolume::default()
            },
            file_system: self.filesystem,
            backups: self.backups.as_deref(),
            over_unknown_data: self.destroy_unknown_data,
        }
    }
}
