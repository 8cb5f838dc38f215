//! `restic`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{BackupTool, Workspace};
use crate::{Error, copy::Pipeline};

/// `restic`, whose repository is encrypted with a password.
#[derive(Debug)]
pub(crate) struct Restic;

/// Programs that must be installed.
pub(crate) const PROGRAMS: &[&str] = &["restic"];

impl BackupTool for Restic {
    fn init(&self, workspace: &Workspace) -> Result<(), Error> {
        let password = workspace.beside("password");
        fs::write(&password, "measured").map_err(Error::file(&password))?;
        run(workspace, |restic| restic.arg("init"))
    }

    fn back_up(&self, source: &Path, workspace: &Workspace) -> Result<(), Error> {
        run(workspace, |restic| restic.arg("backup").arg(source))
    }

    fn restore(&self, workspace: &Workspace, target: &Path) -> Result<(), Error> {
        run(workspace, |restic| restic.args(["restore", "latest", "--target"]).arg(target))
    }

    /// Restored files have their full path below the target.
    fn restored(&self, source: &Path, target: &Path) -> PathBuf {
        target.join(source.strip_prefix("/").unwrap_or(source))
    }
}

fn run(workspace: &Workspace, arguments: impl FnOnce(&mut Command) -> &mut Command) -> Result<(), Error> {
    let mut restic = Command::new("restic");
    restic.args(["--quiet", "--no-cache", "--password-file"]).arg(workspace.beside("password"));
    arguments(restic.arg("--repo").arg(workspace.repository()));
    Pipeline::start(vec![restic])?.finish()
}
