//! `sealant luks audit`: reports what is weak, damaged or unfinished in a header.

use std::path::PathBuf;

use clap::Args;
use luks::DeviceInfo;
use report::{Format, write_luks_json, write_luks_table};

use crate::cli::value::FailOn;
use crate::exit::{self, Exit};
use crate::output::file;
use crate::output::message::Failure;
use crate::output::render::Render;

/// Judge a LUKS header from its bytes: cipher, key slots, damage, unfinished work, backups
///
/// Reads both copies of the header, verifies checksums and metadata, and judges the content. It needs no key and
/// derives none, so a header that demands an absurdly expensive key derivation does no harm. It writes nothing, and can
/// read a device that is in use.
///
/// FILE is a disk, a partition, an image, a detached header or a header backup.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(super) struct Audit {
    /// Device or file that starts with the header
    file: PathBuf,
    /// Size of the disk with the header, in bytes [default: the size of FILE if it is a device]
    #[arg(long, value_name = "N")]
    device_bytes: Option<u64>,
    /// Physical block size of the disk, in bytes [default: as the system reports it, if FILE is a device]
    #[arg(long, value_name = "N")]
    physical_block_bytes: Option<u32>,
    /// Judge FILE as a header backup of the volume on this device or in this file
    #[arg(long, value_name = "FILE")]
    backup_of: Option<PathBuf>,
    /// Exit with 3 if a finding is at least this severe: info, low, medium, high, critical, or never
    #[arg(long, value_name = "SEVERITY", default_value = "high")]
    fail_on: FailOn,
    #[command(flatten)]
    render: Render,
}

const EXAMPLES: &str = "\
Examples:
  sealant luks audit /dev/nvme0n1p3
  sealant luks audit header.bak --backup-of /dev/nvme0n1p3
  sealant luks audit disk.img --device-bytes 3298534883328 --format json";

const EXITS: exit::Codes = &[
    (Exit::Clean, "no finding reaches --fail-on"),
    (Exit::Failed, "FILE could not be read, or the volume of --backup-of has no readable header"),
    (Exit::Findings, "a finding reaches --fail-on, or there is no LUKS header"),
];

impl Audit {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let reported = DeviceInfo {
            device_bytes: self.device_bytes,
            physical_block_bytes: self.physical_block_bytes,
            ..DeviceInfo::default()
        };
        let report = luks::audit_path(&self.file, &reported, self.backup_of.as_deref())?;
        let name = self.file.display().to_string();
        file::to_stdout(&|out| {
            let written = match self.render.format() {
                Format::Json => write_luks_json(&report, out),
                _ => write_luks_table(&name, &report, out),
            };
            written.map_err(std::io::Error::from)
        })?;
        let is_bad = self.fail_on.0.is_some_and(|least| report.reaches(least));
        Ok(if is_bad { Exit::Findings } else { Exit::Clean })
    }
}
