//! The running server that `mariabackup` copies from; everything else copies an unchanging directory.

use std::path::{Path, PathBuf};

use ::bench::Tree;
use ::bench::suite::transfer::Served;
use clap::Args;
use server::option_file::ClientOptions;
use server::{Connection, Endpoint, Identity, Options, Target, describe};

use crate::output::message::{Failure, warning};

/// Options for that server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Running server")]
pub(super) struct ServerOptions {
    /// Socket of an idle MariaDB server on this machine, of whose directory DIR is a copy or a snapshot: also measure
    /// `mariabackup-socat-tls`
    #[arg(long, value_name = "PATH", conflicts_with = "no_peers")]
    server_socket: Option<PathBuf>,
    /// The account [default: from --server-defaults, or the name of the user who runs this]
    #[arg(long, value_name = "NAME", requires = "server_socket")]
    server_user: Option<String>,
    /// The only option file to read for it: the password in the group client, options of the program in the group
    /// mariabackup
    #[arg(long, value_name = "FILE", requires = "server_socket")]
    server_defaults: Option<PathBuf>,
}

impl ServerOptions {
    pub(super) fn is_given(&self) -> bool {
        self.server_socket.is_some()
    }

    /// Asks the server, if one is given, and compares it with the directory that the others copy.
    pub(super) fn served(&self, directory: &Tree) -> Result<Option<Served>, Failure> {
        let Some(socket) = &self.server_socket else { return Ok(None) };
        let (user, identity) = self.ask(socket)?;
        let defaults_file = self.server_defaults.as_deref().map(absolute).transpose()?;
        Ok(Some(Served::from_identity(&identity, absolute(socket)?, user, defaults_file, directory)?))
    }

    fn ask(&self, socket: &Path) -> Result<(String, Identity), Failure> {
        let defaults = self.server_defaults.as_deref().map(ClientOptions::from_file).transpose()?.unwrap_or_default();
        defaults.warnings.iter().for_each(|odd| warning(&odd.to_string()));
        let user = self.server_user.clone().or(defaults.user).or_else(|| std::env::var("USER").ok());
        let user = user.ok_or_else(|| Failure::usage("no account is named").hint("give --server-user NAME"))?;
        let endpoint = Endpoint::Socket(socket.to_owned());
        let target = Target { endpoint, user };
        let options = Options { password: defaults.password, ..Options::default() };
        let identity = Connection::open(&target, &options).and_then(|mut connection| {
            let identity = describe(&mut connection);
            connection.close();
            identity
        });
        let identity = identity.map_err(|error| Failure::from(::audit::Error::from(error).at(&target.endpoint)))?;
        Ok((target.user, identity))
    }
}

/// mariabackup changes its directory before it connects again.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|e| Failure::new(format!("{}: {e}", path.display())))
}
