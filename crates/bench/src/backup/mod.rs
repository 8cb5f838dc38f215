//! Backups of a directory into a repository on a disk, and restores: with Sealant, and with other common tools.

mod bars;
mod changes;
mod cp;
mod mariabackup;
mod restic;
mod sealant;
mod stream;

use std::{
    fs,
    path::{Path, PathBuf},
};

pub(crate) use self::{
    bars::{Bar, Sizes, Stored, all as all_bars},
    changes::Changes,
    cp::Cp,
    mariabackup::{MariaBackup, PROGRAMS as MARIABACKUP_PROGRAMS},
    restic::{PROGRAMS as RESTIC_PROGRAMS, Restic},
    sealant::{ONE_CORE, Sealant},
    stream::{PROGRAMS as STREAM_PROGRAMS, TarZstdAge},
};
use crate::{Error, Tree};

/// The arm of this program.
pub(crate) const SEALANT: &str = "sealant";
/// The experiments.
pub(crate) const FULL: &str = "full backup";
pub(crate) const INCREMENTAL: &str = "incremental backup";
pub(crate) const RESTORE: &str = "restore";
pub(crate) const OBJECTS: &str = "check of all objects";

/// A program, or pipeline of programs, that makes backups and restores them.
pub(crate) trait BackupTool {
    /// Creates an empty repository; not measured.
    fn init(&self, workspace: &Workspace) -> Result<(), Error>;

    /// Backs up `source` into the repository.
    fn back_up(&self, source: &Path, workspace: &Workspace) -> Result<(), Error>;

    /// Prepares the repository for [`back_up_changes`](Self::back_up_changes) since `before`, an older copy of the
    /// source; not measured.
    fn back_up_base(&self, before: &Path, workspace: &Workspace) -> Result<(), Error> {
        self.back_up(before, workspace)
    }

    /// Backs up what changed in `source` since `before`.
    fn back_up_changes(&self, before: &Path, source: &Path, workspace: &Workspace) -> Result<(), Error> {
        let _ = before;
        self.back_up(source, workspace)
    }

    /// Restores the newest backup into an empty directory.
    fn restore(&self, workspace: &Workspace, target: &Path) -> Result<(), Error>;

    /// Location of the restored files of `source` below `target`.
    fn restored(&self, source: &Path, target: &Path) -> PathBuf {
        let _ = source;
        target.to_owned()
    }

    /// Whether restored tablespaces have the same bytes as the directory. A backup from a running server is complete
    /// only after a server has recovered it.
    fn is_exact(&self) -> bool {
        true
    }
}

/// The directory of one tool: its repository, keys and configuration.
#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// A workspace in a directory that does not exist yet.
    pub(crate) const fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// The repository: everything that a backup stores is below it.
    pub(crate) fn repository(&self) -> PathBuf {
        self.root.join("repository")
    }

    /// A file or directory beside the repository.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Removes the whole workspace, and creates an empty repository.
    pub(crate) fn begin(&self, tool: &dyn BackupTool) -> Result<(), Error> {
        match fs::remove_dir_all(&self.root) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::file(&self.root)(error)),
            _ => {}
        }
        let repository = self.repository();
        fs::create_dir_all(&repository).map_err(Error::file(&repository))?;
        tool.init(self)
    }

    /// Length of all files in the repository.
    pub(crate) fn stored_bytes(&self) -> Result<u64, Error> {
        Ok(Tree::scan(&self.repository())?.bytes())
    }
}

/// The age key of a measurement.
#[derive(Clone, Debug)]
pub(crate) struct AgeKey {
    /// File with the identity.
    pub(crate) identity: PathBuf,
    pub(crate) recipient: String,
}

impl AgeKey {
    /// Generates a key below `directory`, which must be private.
    pub(crate) fn generate(directory: &Path) -> Result<Self, Error> {
        let path = directory.join("identity");
        let identity = agefile::Identity::generate()?;
        fs::write(&path, identity.to_secret_text().as_bytes()).map_err(Error::file(&path))?;
        Ok(Self { identity: path, recipient: identity.recipient().to_string() })
    }
}
