//! `mariadb-backup` of a running server, piped into `openssl enc`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use server::program::MARIADB_BACKUP;

use super::{BackupTool, Workspace};
use crate::{Error, RunningServer, copy::Pipeline, copy::name_in_path};

/// `mariadb-backup --stream=xbstream` and `openssl enc`, which encrypts but does not authenticate.
#[derive(Debug)]
pub(crate) struct MariaBackup<'a> {
    pub(crate) server: &'a RunningServer,
}

/// Programs that must be installed.
pub(crate) const PROGRAMS: &[&str] = &[MARIADB_BACKUP[0], "mbstream", "openssl"];
const STREAM: &str = "backup.xb.enc";

impl BackupTool for MariaBackup<'_> {
    fn init(&self, workspace: &Workspace) -> Result<(), Error> {
        let password = workspace.beside("password");
        fs::write(&password, "measured\n").map_err(Error::file(&password))
    }

    fn back_up(&self, _source: &Path, workspace: &Workspace) -> Result<(), Error> {
        const NAME: &str = MARIADB_BACKUP[0];
        let directory = workspace.beside("extra");
        fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
        let mut pack = Command::new(name_in_path(NAME).unwrap_or(NAME));
        pack.args(self.server.options(&directory));
        let mut encrypt = openssl(workspace);
        encrypt.arg("-out").arg(stream(workspace));
        Pipeline::start(vec![pack, encrypt])?.finish()
    }

    fn restore(&self, workspace: &Workspace, target: &Path) -> Result<(), Error> {
        let (mut decrypt, mut unpack) = (openssl(workspace), Command::new("mbstream"));
        decrypt.arg("-d").arg("-in").arg(stream(workspace));
        unpack.args(["-x", "-C"]).arg(target);
        Pipeline::start(vec![decrypt, unpack])?.finish()
    }

    fn is_exact(&self) -> bool {
        false
    }
}

fn stream(workspace: &Workspace) -> PathBuf {
    workspace.repository().join(STREAM)
}

fn openssl(workspace: &Workspace) -> Command {
    let mut password = std::ffi::OsString::from("file:");
    password.push(workspace.beside("password"));
    let mut command = Command::new("openssl");
    command.args(["enc", "-aes-256-ctr", "-pbkdf2", "-pass"]).arg(password);
    command
}
