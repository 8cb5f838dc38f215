//! One archive: `tar | zstd | age`.

use std::{path::Path, process::Command};

use super::{AgeKey, BackupTool, Workspace};
use crate::{Error, copy::Pipeline};

/// `tar`, `zstd -1 -T2` and `age`.
#[derive(Debug)]
pub(crate) struct TarZstdAge {
    pub(crate) key: AgeKey,
}

/// Programs that must be installed.
pub(crate) const PROGRAMS: &[&str] = &["tar", "zstd", "age"];
const ARCHIVE: &str = "backup.tar.zst.age";

impl BackupTool for TarZstdAge {
    fn init(&self, _desk: &Workspace) -> Result<(), Error> {
        Ok(())
    }

    fn back_up(&self, source: &Path, workspace: &Workspace) -> Result<(), Error> {
        let (mut tar, mut zstd, mut age) = (Command::new("tar"), Command::new("zstd"), Command::new("age"));
        tar.arg("-C").arg(source).args(["--sparse", "-cf", "-", "."]);
        zstd.args(["-1", "-T2", "-cq"]);
        age.args(["-r", &self.key.recipient, "-o"]).arg(workspace.repository().join(ARCHIVE));
        Pipeline::start(vec![tar, zstd, age])?.finish()
    }

    fn restore(&self, workspace: &Workspace, target: &Path) -> Result<(), Error> {
        let (mut tar, mut zstd, mut age) = (Command::new("tar"), Command::new("zstd"), Command::new("age"));
        age.arg("-d").arg("-i").arg(&self.key.identity).arg(workspace.repository().join(ARCHIVE));
        zstd.arg("-dcq");
        tar.arg("-C").arg(target).args(["-xf", "-"]);
        Pipeline::start(vec![age, zstd, tar])?.finish()
    }
}
