//! How long a node takes to join a Galera cluster with encryption of the transfer, and without it.
//!
//! A server is filled and shut down; clusters run on copies of its directory.

use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use pki::KeyType;

use super::{
    Outcome, Watch, copies,
    sst::{Method, SstSuite},
};
use crate::{
    Error, ServerArm, TableSet, TemporaryDirectory,
    oltp::{BenchServer, ServerSetup, preparation},
    tls::{authority, is_mariadb, issue},
};

/// The Galera provider below the base directory of a server, and in the directories of packages.
const PROVIDERS: [&str; 2] = ["lib/galera/libgalera_smm.so", "lib64/galera-4/libgalera_smm.so"];
const PACKAGES: &str = "/usr";
const RSYNC: &str = "rsync";
const RSYNC_BESIDE: &str = "bin/rsync";
/// Time for a server to start as a node, and to stop.
const NODE: Duration = Duration::from_secs(6);

/// Parameters of the measurement.
#[derive(Debug)]
pub(crate) struct JoinSuite<'a> {
    /// This program.
    pub(crate) program: &'a Path,
    /// The name by which servers start it for a state transfer.
    pub(crate) program_name: &'static str,
    /// The server program.
    pub(crate) server: &'a Path,
    /// Directory below which everything is made and removed.
    pub(crate) directory: &'a Path,
    pub(crate) tables: TableSet,
    pub(crate) rounds: NonZeroU32,
    pub(crate) stopped: &'a Arc<AtomicBool>,
}

/// Time to fill a server, and to start a donor on a copy of its data.
pub(crate) fn preparation_of(tables: &TableSet) -> Duration {
    preparation(tables) + copies::run_time(tables) + NODE
}

/// Longest time for a node to join once.
pub(crate) fn run_time(tables: &TableSet) -> Duration {
    copies::run_time(tables) + NODE
}

/// Why joins cannot be measured with this server.
pub(crate) fn obstacle(server: &Path, version: &str) -> Option<&'static str> {
    if !is_mariadb(version) {
        return Some("only MariaDB has a Galera cluster here; a replica takes the time of a copy and of its start");
    }
    let has_rsync = process::find(RSYNC).is_some() || installed(server, &[RSYNC_BESIDE]).is_some();
    match provider(server) {
        None => Some("the Galera provider is not installed"),
        Some(_) if !has_rsync => Some("rsync is not installed, which joins in clear text"),
        Some(_) => None,
    }
}

fn provider(server: &Path) -> Option<PathBuf> {
    installed(server, &PROVIDERS)
}

/// The first of these files below the server's base directory, or the one of packages.
fn installed(server: &Path, names: &[&str]) -> Option<PathBuf> {
    let bases = server.ancestors().nth(2).into_iter().chain([Path::new(PACKAGES)]);
    bases.flat_map(|base| names.iter().map(|name| base.join(name))).find(|path| path.is_file())
}

impl JoinSuite<'_> {
    /// Runs the measurement.
    ///
    /// # Errors
    /// [`Error`]: a server could not be run, a node did not join, or it was interrupted.
    pub(crate) fn run(&self, watch: &Watch<'_>) -> Result<Outcome, Error> {
        let missing = || Error::NoInstallation { path: Path::new(PACKAGES).join(PROVIDERS[0]), option: "--mysqld" };
        let provider = provider(self.server).ok_or_else(missing)?;
        let scratch = TemporaryDirectory::below(self.directory)?;
        copies::check_room(self.directory, &scratch, &self.tables)?;
        watch("a server with the tables");
        let datadir = self.fill(&scratch)?;
        let suite = SstSuite {
            program: self.program.to_owned(),
            program_name: self.program_name,
            datadir: &datadir,
            into: &[scratch.path().to_owned()],
            mariadbd: self.server,
            provider: &provider,
            methods: &[Method::Rsync, Method::Sealant],
            rounds: self.rounds,
            server_options: &[],
            stopped: self.stopped,
        };
        suite.check()?;
        suite.run(watch)
    }

    /// Fills a server in the clear, and shuts it down. Returns its data directory, with the account of state transfers.
    fn fill(&self, scratch: &TemporaryDirectory) -> Result<PathBuf, Error> {
        let (ca, authority) = authority(&scratch.path().join("certificates"))?;
        let pair = issue(&authority, "server", KeyType::EcdsaP256)?;
        let options = copies::SMALL_LOGS.map(str::to_owned);
        let setup = ServerSetup {
            server: self.server,
            directory: scratch.path(),
            authority: &ca,
            pair: &pair,
            mariadb: true,
            pool_bytes: copies::POOL_BYTES,
            options: &options,
            tables: self.tables,
            warm_up: false,
            stopped: self.stopped,
        };
        let server = BenchServer::start(&setup, ServerArm::CLEAR, "a")?;
        server.create_root()?;
        server.shut_down()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_provider_belongs_to_the_server_and_mysql_has_none() {
        let base = tempfile::tempdir().unwrap();
        let server = base.path().join("sbin/mariadbd");
        let library = base.path().join(PROVIDERS[1]);
        fs::create_dir_all(library.parent().unwrap()).unwrap();
        fs::write(&library, "").unwrap();
        assert_eq!(provider(&server), Some(library));
        assert!(obstacle(&server, "9.7.0").is_some_and(|reason| reason.starts_with("only MariaDB")));
    }
}
