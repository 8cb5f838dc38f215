//! `sealant backup`: backups of a data directory, and what there is of them.

mod check;
mod init;
mod keyring;
mod list;
mod run;
mod show;

use std::path::PathBuf;

use ::backup::{Config, Repository};
use clap::{Args, Subcommand};
use report::write_json_line;
use serde::Serialize;

use crate::exit::Exit;
use crate::output::file::to_stdout;
use crate::output::message::Failure;
use crate::output::progress::StatusLine;

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

/// Whose backups.
#[derive(Debug, Args)]
pub(crate) struct Whose {
    #[command(flatten)]
    config: Configured,
    /// Backups of this host [default: the one of the configuration]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
}

impl Whose {
    /// The repository, and the name of the host.
    pub(crate) fn open(&self) -> Result<(Repository, String), Failure> {
        let (config, repository) = self.config.open()?;
        Ok((repository, self.host.clone().unwrap_or(config.host)))
    }
}

/// Whether a script reads the report.
#[derive(Debug, Args)]
pub(crate) struct Script {
    /// For scripts: JSON on standard output, of the schema that docs/schema has for it
    #[arg(long)]
    json: bool,
}

impl Script {
    /// Writes the document for a script; whether one reads.
    pub(crate) fn write(&self, document: &impl Serialize) -> Result<bool, Failure> {
        if self.json {
            to_stdout(&|out| write_json_line(document, out).map_err(std::io::Error::from))?;
        }
        Ok(self.json)
    }
}

/// What is told of a long run.
#[derive(Debug, Args)]
pub(crate) struct Reporting {
    #[command(flatten)]
    pub(crate) script: Script,
    /// No status line on stderr
    #[arg(long, short)]
    quiet: bool,
}

impl Reporting {
    /// The line that says how far it is.
    pub(crate) fn status(&self) -> StatusLine {
        StatusLine::new(self.quiet || self.script.json)
    }
}
