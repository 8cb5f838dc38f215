//! Which data directory, and how to copy it: options shared by the verbs that take copies.

use std::path::PathBuf;
use std::time::Duration;

use ::snapshot::follow::{Account, Keys};
use ::snapshot::{DataDir, Error, Keep, Options, ProviderChoice};
use ::verify::KeyStores;
use clap::Args;

use crate::cli::value;
use crate::output::message::{Failure, warning};
use crate::process::forbid_dumps;

/// The data directory.
#[derive(Debug, Args)]
pub(crate) struct Source {
    /// Data directory of the server
    #[arg(long, value_name = "DIR")]
    pub(crate) datadir: PathBuf,
    #[command(flatten)]
    pub(crate) server: ServerHint,
    /// Directory for copies, on the file system of the data, or for the provider follow on any [default: beside the
    /// data directory, or in it if its file system begins there]
    #[arg(long, alias = "place", value_name = "DIR")]
    pub(crate) location: Option<PathBuf>,
}

/// How to find the server of a data directory.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServerHint {
    /// Unix socket of the server [default: the server is found by the files that it has locked]
    #[arg(long, short = 'S', value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// File with the process id of the server
    #[arg(long, value_name = "FILE")]
    pub(crate) pid_file: Option<PathBuf>,
}

/// How to copy it.
#[derive(Debug, Args)]
pub(crate) struct Freezing {
    /// Maximum freeze of the server, such as 500ms; the providers lvm and zfs are not used if a write would probably
    /// wait longer
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = value::short_time)]
    pub(crate) max_freeze: Duration,
    #[arg(long, value_name = "HOW", default_value = "auto", help = provider_help())]
    pub(crate) provider: ProviderChoice,
    #[arg(long, short, value_name = "NAME", requires = "socket", help = account_help())]
    pub(crate) user: Option<String>,
    /// Read the password from this file; a line break at its end is ignored
    #[arg(long, value_name = "FILE", requires = "socket")]
    pub(crate) password_file: Option<PathBuf>,
}

fn provider_help() -> String {
    format!(
        "How to take the copy: {}; auto takes the best one that is safe here; the backup programs are only for \
         `sealant send --live`",
        ProviderChoice::names()
    )
}

fn account_help() -> String {
    format!(
        "Account to log in with at --socket, for the provider follow; it needs, on {} [default: from the option \
         files, or the name of the current user]",
        ::snapshot::follow::PRIVILEGES
    )
}

/// Keys for a copy of an encrypted MySQL that works on.
#[derive(Debug, Args)]
pub(crate) struct Keyring {
    /// MySQL's keyring: the file of component_keyring_file or of the keyring_file plug-in, or the configuration file of
    /// a keyring in Vault, on a KMIP server or behind AWS KMS, for the provider follow, which checks encrypted pages and the redo log
    /// with it (repeatable)
    #[arg(long, value_name = "FILE")]
    keyring: Vec<PathBuf>,
    /// Configuration file of MySQL's keyring component: component_keyring_file, component_keyring_vault,
    /// component_keyring_kmip or component_keyring_kms
    #[arg(long, value_name = "FILE", conflicts_with = "keyring")]
    keyring_config: Option<PathBuf>,
}

impl Keyring {
    pub(crate) fn keys(&self, source: &Source) -> Result<Keys, Failure> {
        let named = KeyStores {
            keyrings: self.keyring.clone(),
            keyring_config: self.keyring_config.clone(),
            ..KeyStores::default()
        };
        if !named.any() {
            return Ok(Keys::default());
        }
        forbid_dumps();
        let (keys, warnings) = named.read(Some(&source.datadir))?;
        warnings.iter().for_each(|problem| warning(&problem.to_string()));
        Ok(Keys::new(keys))
    }
}

impl Source {
    pub(crate) fn datadir(&self) -> Result<DataDir, Failure> {
        let datadir = DataDir::at(&self.datadir)?;
        Ok(datadir.socket(self.server.socket.clone()).pid_file(self.server.pid_file.clone()))
    }
}

impl Freezing {
    pub(crate) fn options(&self, source: &Source, keep: Keep) -> Result<Options, Failure> {
        Ok(Options {
            provider: self.provider,
            max_freeze: self.max_freeze,
            location: source.location.clone(),
            keep,
            account: self.account(&source.server)?,
            ..Options::default()
        })
    }

    fn account(&self, server: &ServerHint) -> Result<Option<Account>, Error> {
        let (socket, password_file) = (server.socket.as_deref(), self.password_file.as_deref());
        Account::for_choice(self.provider, socket, self.user.as_deref(), password_file)
    }
}
