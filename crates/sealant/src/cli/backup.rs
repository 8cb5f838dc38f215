//! `sealant backup`: backups of a data directory, and what there is of them.

mod check;
mod init;
mod keyring;
mod list;
mod run;
mod show;
pub(crate) mod watch;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use ::backup::{BackupError, Config, Repository};
use archive::sshsig::AllowedSigners;
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::exit::Exit;
use crate::output::message::Failure;

/// Make encrypted, signed backups of a data directory, each page of which is proven
///
/// A backup is the image that a power cut could leave: the files of one instant, which the server's own recovery opens. Only
/// pages that changed are stored, and every backup is a full one to whoever restores it. Pages of encrypted tables are opened
/// with the server's key, so that they compress, and encrypted to age recipients whose identities this host does not hold;
/// `sealant restore` seals them again to the identical bytes. Keyrings and private keys are never in a backup.
///
/// What there is of a server, where the backups go, and who can open them, is in one file: see `sealant backup init --help`.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Init),
    Run(run::Run),
    List(list::List),
    Show(show::Show),
    Check(check::Check),
    Keyring(keyring::Keyring),
}

impl Backup {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        match self.command {
            Command::Init(verb) => verb.run(),
            Command::Run(verb) => verb.run(),
            Command::List(verb) => verb.run(),
            Command::Show(verb) => verb.run(),
            Command::Check(verb) => verb.run(),
            Command::Keyring(verb) => verb.run(),
        }
    }
}

/// The configuration.
#[derive(Debug, Args)]
pub(crate) struct Configured {
    /// The configuration
    #[arg(long, value_name = "FILE", default_value = "/etc/sealant/backup.toml")]
    config: PathBuf,
}

impl Configured {
    pub(crate) fn read(&self) -> Result<Config, Failure> {
        Ok(Config::read(&self.config)?)
    }

    /// The configuration, and the repository it names.
    pub(crate) fn open(&self) -> Result<(Config, Repository), Failure> {
        let config = self.read()?;
        let repository = ::backup::init::open(&config)?;
        Ok((config, repository))
    }
}

/// Reads a file of allowed signers.
pub(crate) fn signers(path: &Path) -> Result<AllowedSigners, Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    AllowedSigners::parse(&text).map_err(|source| BackupError::Key { path: path.to_owned(), source }.into())
}

/// Writes an object as one line of JSON.
pub(crate) fn print_json(object: &impl Serialize) -> Result<(), Failure> {
    crate::output::file::to_stdout(&|out: &mut dyn Write| {
        serde_json::to_writer(&mut *out, object)?;
        out.write_all(b"\n")
    })
}
