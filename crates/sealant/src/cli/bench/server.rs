//! The running server that `mariabackup` copies from; everything else copies an unchanging directory.

use std::path::PathBuf;

use ::bench::Tree;
use ::bench::suite::served::{Served, ServerAccount};
use clap::Args;

use crate::output::message::{Failure, warning};

/// Options for that server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Running server")]
pub(super) struct ServerOptions {
    /// Socket of an idle MariaDB server on this machine, of whose directory DIR is a copy or a snapshot: also measure
    /// `mariabackup-socat-tls`
    #[arg(long, short = 'S', value_name = "PATH", conflicts_with = "no_peers")]
    server_socket: Option<PathBuf>,
    /// The account [default: from --server-defaults, or the name of the user who runs this]
    #[arg(long, short = 'u', value_name = "NAME", requires = "server_socket")]
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
        let account =
            ServerAccount { socket, user: self.server_user.as_deref(), option_file: self.server_defaults.as_deref() };
        Ok(Some(account.serve(directory, &|odd| warning(&odd.to_string()))?))
    }
}
