//! `sealant verify --manifest`: checks that received files are unchanged.

use std::path::{Path, PathBuf};

use ::transfer::check::{Checked, check_received};
use report::{Format, manifest_check_status, write_manifest_check_json, write_manifest_check_table};

use crate::exit::Exit;
use crate::output::file;
use crate::output::message::Failure;
use crate::output::progress::Quiet;

/// What to check, and how to report it.
pub(super) struct Check<'c> {
    pub(super) manifest: &'c Path,
    /// Overrides the directory of the manifest.
    pub(super) directory: Option<&'c PathBuf>,
    pub(super) format: Format,
    pub(super) output: Option<&'c Path>,
    pub(super) threads: usize,
    pub(super) quiet: Quiet,
}

impl Check<'_> {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let status = self.quiet.status_line();
        let show = |bytes, total| status.show(&manifest_check_status(bytes, total));
        let checked = check_received(self.manifest, self.directory.map(PathBuf::as_path), self.threads, &show)?;
        status.clear();
        self.write(&checked)?;
        Ok(if checked.differences.is_empty() { Exit::Clean } else { Exit::Findings })
    }

    fn write(&self, checked: &Checked) -> Result<(), Failure> {
        let write = |out: &mut dyn std::io::Write| {
            let written = match self.format {
                Format::Json => write_manifest_check_json(checked, out),
                _ => write_manifest_check_table(checked, out),
            };
            written.map_err(std::io::Error::from)
        };
        match self.output {
            Some(path) => file::replace(path, &write),
            None => file::to_stdout(&write),
        }
    }
}
