//! `cp`: the shortest time in which the same bytes get onto the same disk.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::{BackupTool, Workspace};
use crate::{Error, program};

/// Copies the source itself in place of a restore.
#[derive(Debug)]
pub(crate) struct Cp {
    pub(crate) source: PathBuf,
}

impl BackupTool for Cp {
    fn init(&self, _workspace: &Workspace) -> Result<(), Error> {
        Ok(())
    }

    fn back_up(&self, _source: &Path, _workspace: &Workspace) -> Result<(), Error> {
        Ok(())
    }

    fn restore(&self, _workspace: &Workspace, target: &Path) -> Result<(), Error> {
        program::succeed(Command::new("cp").arg("-a").arg(self.source.join(".")).arg(target)).map(drop)
    }
}
