//! `mariadb-backup` of a running server, piped into `openssl enc`.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::Command,
};

use innodb::{Lsn, redo::checkpoint_lsn, server_file::is_redo};
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
/// Header and checkpoints of MariaDB's redo log.
const HEAD_BYTES: u64 = 16 << 10;
const NO_CHECKPOINT: &str = "the older copy has no redo log with a checkpoint";

impl BackupTool for MariaBackup<'_> {
    fn init(&self, workspace: &Workspace) -> Result<(), Error> {
        let password = workspace.beside("password");
        fs::write(&password, "measured\n").map_err(Error::file(&password))
    }

    fn back_up(&self, _source: &Path, workspace: &Workspace) -> Result<(), Error> {
        self.stream(None, workspace)
    }

    /// The program needs no earlier backup, only the LSN of its end.
    fn back_up_base(&self, before: &Path, _workspace: &Workspace) -> Result<(), Error> {
        end_of_log(before).map(drop)
    }

    fn back_up_changes(&self, before: &Path, _source: &Path, workspace: &Workspace) -> Result<(), Error> {
        self.stream(Some(end_of_log(before)?), workspace)
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

impl MariaBackup<'_> {
    /// Backs up the server, or only pages that changed after an LSN.
    fn stream(&self, since: Option<Lsn>, workspace: &Workspace) -> Result<(), Error> {
        const NAME: &str = MARIADB_BACKUP[0];
        let directory = workspace.beside("extra");
        fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
        let mut pack = Command::new(name_in_path(NAME).unwrap_or(NAME));
        pack.args(self.server.options(&directory));
        pack.args(since.map(|since| format!("--incremental-lsn={}", since.0)));
        let mut encrypt = openssl(workspace);
        encrypt.arg("-out").arg(stream(workspace));
        Pipeline::start(vec![pack, encrypt])?.finish()
    }
}

/// The newest checkpoint in the directory of a stopped server: the end of its redo log.
fn end_of_log(directory: &Path) -> Result<Lsn, Error> {
    let redo = fs::read_dir(directory).map_err(Error::file(directory))?.flatten();
    let redo = redo.map(|entry| entry.path()).filter(|path| path.file_name().is_some_and(is_redo));
    let checkpoint = |path: PathBuf| {
        let mut head = Vec::new();
        let file = fs::File::open(&path).map_err(Error::file(&path))?;
        file.take(HEAD_BYTES).read_to_end(&mut head).map_err(Error::file(&path))?;
        Ok(checkpoint_lsn(&head))
    };
    let checkpoints: Vec<Option<Lsn>> = redo.map(checkpoint).collect::<Result<_, Error>>()?;
    let missing = || Error::Program { program: MARIADB_BACKUP[0].to_owned(), reason: NO_CHECKPOINT.to_owned() };
    checkpoints.into_iter().flatten().max().ok_or_else(missing)
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
