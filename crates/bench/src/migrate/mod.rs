//! Copies of the tables of one server into another: with Sealant, and with other common tools.
//!
//! Both servers encrypt everything, and all connections use TLS. A tool logs in with an option file, so that no password
//! is among its arguments.

mod dump;
mod mydumper;
mod pair;
mod replication;
mod sealant;

use std::path::PathBuf;

pub(crate) use self::{
    dump::Dump,
    mydumper::{MyDumper, PROGRAMS as MYDUMPER_PROGRAMS},
    pair::{LogEnd, Pair, Side},
    replication::Replication,
    sealant::{Goal, Sealant},
};
use crate::Error;

/// A program, or combination of programs, that copies the tables of one server into another.
pub(crate) trait MigrationTool {
    /// Copies the tables of the source into the target, which does not have them.
    fn migrate(&self, pair: &Pair<'_>) -> Result<(), Error>;
}

/// A program, or a feature of the servers, that applies changes of the source to copied tables.
pub(crate) trait ChangeTool {
    /// Prepares it, before there are changes after `from`, the end of the source's log.
    fn prepare(&self, pair: &Pair<'_>, from: &LogEnd) -> Result<(), Error> {
        let _ = (pair, from);
        Ok(())
    }

    /// Applies every change of the source so far.
    fn apply(&self, pair: &Pair<'_>) -> Result<(), Error>;
}

/// A client program of the server's own installation, or in `PATH`; `names` are that of MySQL and that of MariaDB.
fn client_program(server: &std::path::Path, names: [&str; 2]) -> Option<PathBuf> {
    let beside = server.ancestors().skip(1).take(2).flat_map(|directory| [directory.to_owned(), directory.join("bin")]);
    let beside = beside.flat_map(|directory| names.map(|name| directory.join(name)));
    beside.into_iter().find(|program| program.is_file()).or_else(|| names.iter().find_map(process::find))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn clients_of_the_servers_own_installation_are_preferred() {
        let base = tempfile::tempdir().unwrap();
        for directory in ["bin", "sbin"] {
            fs::create_dir(base.path().join(directory)).unwrap();
        }
        let client = base.path().join("bin/mariadb-dump");
        fs::write(&client, "").unwrap();
        let names = ["no-such-dump", "mariadb-dump"];
        assert_eq!(client_program(&base.path().join("sbin/mariadbd"), names), Some(client.clone()));
        assert_eq!(client_program(&base.path().join("bin/mariadbd"), names), Some(client));
        assert_eq!(client_program(&base.path().join("sbin/mariadbd"), ["no-such-dump", "sh"]), process::find("sh"));
    }
}
