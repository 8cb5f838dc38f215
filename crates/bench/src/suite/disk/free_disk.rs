//! The disk to measure on.

use std::{
    ffi::OsStr,
    fs::metadata,
    path::{Path, PathBuf},
    time::Duration,
};

use luks::device::{Block, Host, usage_signs};

use crate::{
    Error,
    disk::{Disk, FioLoad, device_mapper},
};

/// An unused disk or image.
#[derive(Debug)]
pub struct FreeDisk {
    /// The path as the user gave it.
    pub named: PathBuf,
    pub(super) fio: FioLoad,
    /// Whether the kernel has device-mapper. Without it, the disk is neither measured nor written to.
    pub(super) has_device_mapper: bool,
    bytes: u64,
}

impl FreeDisk {
    /// Opens the disk `named`. `fio` comes from `PATH` unless it is given, and runs for `span` each time.
    ///
    /// # Errors
    /// [`Error::Luks`] if it is in use, or holds data and `destroys_unknown_data` is false; [`Error::NoFio`],
    /// [`Error::NoProgram`].
    pub fn find(named: &Path, fio: Option<&OsStr>, span: Duration, destroys_unknown_data: bool) -> Result<Self, Error> {
        let host = Host::this();
        let found = usage_signs(&host, named, !destroys_unknown_data)?;
        if !found.is_empty() {
            return Err(Error::Luks(luks::Error::Used { device: named.to_owned(), uses: found }));
        }
        let has_device_mapper = device_mapper();
        let program = match (process::find(fio.unwrap_or_else(|| OsStr::new("fio"))), fio) {
            (Some(program), _) => program,
            (None, Some(fio)) => return Err(Error::NoProgram { program: fio.into(), has_version: true }),
            (None, None) if has_device_mapper => return Err(Error::NoFio),
            (None, None) => PathBuf::from("fio"),
        };
        let block = Block::find(&host, named).ok().flatten();
        let file_bytes = || metadata(named).map(|metadata| metadata.len()).unwrap_or_default();
        let bytes = block.as_ref().map_or_else(file_bytes, Block::bytes);
        Ok(Self { named: named.to_owned(), fio: FioLoad { program, span }, has_device_mapper, bytes })
    }

    /// Description of the disk.
    pub(super) fn note(&self, disk: &Disk) -> String {
        let block = Block::find(&Host::this(), disk.path()).ok().flatten();
        let queue = |name: &str| block.as_ref().and_then(|block| block.queue(name));
        let kind = match (disk.is_loop(), queue("rotational")) {
            (true, _) => "a file behind a loop device, whose file system is measured too",
            (false, Some(1)) => "rotating",
            (false, _) => "not rotating",
        };
        let blocks = queue("physical_block_size").map(|size| format!(", blocks of {size} bytes")).unwrap_or_default();
        format!(
            "measured on {}: {} MiB, {kind}{blocks}; busy cores count whatever ran on the machine, fio too",
            self.named.display(),
            self.bytes >> 20
        )
    }

    /// The version that `fio` reports.
    pub(super) fn version(&self) -> Option<String> {
        let text = process::version_text(&self.fio.program, &["--version"]).ok()?;
        let text = text.trim();
        Some(text.strip_prefix("fio-").unwrap_or(text).to_owned()).filter(|text| !text.is_empty())
    }
}
