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
    /// Unix socket of an idle MariaDB server on this machine, of whose directory DIR is a copy or a snapshot;
    /// mariadb-backup of that server is then measured, too
    #[arg(long, short = 'S', value_name = "PATH", conflicts_with = "no_peers")]
    server_socket: Option<PathBuf>,
    /// Account to log in with [default: from --server-defaults, or the name of the current user]
    #[arg(long, short = 'u', value_name = "NAME", requires = "server_socket")]
    server_user: Option<String>,
    /// Read the account and the password only from this option file, group client, and options of mariadb-backup from
    /// its group mariabackup
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
