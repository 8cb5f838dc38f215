//! The running server that `mariabackup` copies from, while everything else copies an unchanging directory.

use std::path::{Path, PathBuf};

use server::option_file::{ClientOptions, Warning};
use server::{Connection, Endpoint, Flavor, Identity, Options, Target, describe};

use crate::{Error, RunningServer, Tree};

/// How to reach the server.
#[derive(Debug)]
pub struct ServerAccount<'a> {
    /// Socket of the server.
    pub socket: &'a Path,
    /// The account; by default that of the option file, or the user who runs this program.
    pub user: Option<&'a str>,
    /// The only option file to read.
    pub option_file: Option<&'a Path>,
}

/// A running server on the same data, and its version.
#[derive(Debug)]
pub struct Served {
    /// Parameters for copying from it.
    pub server: RunningServer,
    /// Fork and version.
    pub version: String,
}

impl ServerAccount<'_> {
    /// Asks the server for its version and directory, and compares it with the directory that the other programs copy.
    /// Passes warnings about the option file to `warn`.
    ///
    /// # Errors
    /// [`Error`]: no account is named, the server cannot be asked, it is not MariaDB, it uses that directory itself, or
    /// it has other data.
    pub fn serve(&self, directory: &Tree, warn: &dyn Fn(&Warning)) -> Result<Served, Error> {
        let defaults = self.option_file.map(ClientOptions::from_file).transpose().map_err(Error::option_file)?;
        let defaults = defaults.unwrap_or_default();
        defaults.warnings.iter().for_each(warn);
        let user = self.user.map(str::to_owned).or(defaults.user).or_else(|| std::env::var("USER").ok());
        let endpoint = Endpoint::Socket(self.socket.to_owned());
        let target = Target { endpoint, user: user.ok_or(Error::NoAccount)? };
        let identity = ask(&target, &Options { password: defaults.password, ..Options::default() })?;
        // An absolute path, because mariabackup changes its working directory before it connects again.
        let defaults_file = self.option_file.map(absolute).transpose()?;
        Served::from_identity(&identity, absolute(self.socket)?, target.user, defaults_file, directory)
    }
}

impl Served {
    /// Accepts the server if it has the same data as the directory that the other programs copy.
    fn from_identity(
        identity: &Identity,
        socket: PathBuf,
        user: String,
        defaults_file: Option<PathBuf>,
        directory: &Tree,
    ) -> Result<Self, Error> {
        let version = identity.version.to_string();
        if identity.flavor() != Flavor::MariaDb {
            return Err(Error::NotMariaDb { socket, version });
        }
        let tree = Tree::scan(&identity.datadir)
            .map_err(|source| Error::ServerUnread { socket: socket.clone(), source: Box::new(source) })?;
        if tree.root() == directory.root() {
            return Err(Error::SourceInUse { socket });
        }
        let server = RunningServer { socket, user, defaults_file, tree };
        match server.difference(directory) {
            Some(difference) => Err(Error::OtherData { socket: server.socket, difference }),
            None => Ok(Self { server, version }),
        }
    }
}

fn ask(target: &Target, options: &Options) -> Result<Identity, Error> {
    let identity = Connection::open(target, options).and_then(|mut connection| {
        let identity = describe(&mut connection);
        connection.close();
        identity
    });
    identity.map_err(|source| Error::Server { endpoint: target.endpoint.clone(), source: Box::new(source) })
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(Error::file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_answer_is_named() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ibdata1"), "x").unwrap();
        let socket = directory.path().join("mysqld.sock");
        let account = ServerAccount { socket: &socket, user: Some("root"), option_file: None };
        let error = account.serve(&Tree::scan(directory.path()).unwrap(), &|_| {}).unwrap_err();
        assert!(matches!(error, Error::Server { .. }) && error.to_string().contains("mysqld.sock"), "{error}");
    }
}
