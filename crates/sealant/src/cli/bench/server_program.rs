//! Options that name the server program to start.

use std::path::PathBuf;

use ::bench::Error;
use ::bench::suite::server_of_version;
use clap::Args;
use server::{MARIADB_PROGRAM, MYSQL_PROGRAM, PROGRAMS};

/// The server program that a measurement starts.
#[derive(Debug, Args)]
pub(super) struct ServerProgram {
    /// Which installed server to start: mysql or mariadb, or one of them with the version that it must have, such as
    /// mysql97 [default: mariadb, or mysql if there is none]
    #[arg(long, value_name = "NAME", conflicts_with = "mysqld", value_parser = wanted)]
    server: Option<Wanted>,
    /// Server program to start [default: from PATH or /usr/sbin]
    #[arg(long, value_name = "PROGRAM")]
    mysqld: Option<PathBuf>,
}

/// Programs that may serve, the preferred one first.
type Programs = &'static [&'static str];

const FAMILIES: [(&str, Programs); 2] = [("mysql", &[MYSQL_PROGRAM]), ("mariadb", &[MARIADB_PROGRAM])];

/// A family of servers, and the version that it must have, empty if any.
#[derive(Clone, Debug)]
struct Wanted {
    programs: Programs,
    version: String,
}

fn wanted(text: &str) -> Result<Wanted, String> {
    let is_version = |version: &str| version.chars().all(|c| c.is_ascii_digit() || c == '.');
    let found = FAMILIES.iter().find_map(|(name, programs)| Some((*programs, text.strip_prefix(name)?)));
    let found = found.filter(|(_, version)| is_version(version));
    found
        .map(|(programs, version)| Wanted { programs, version: version.to_owned() })
        .ok_or_else(|| "mysql or mariadb, or one of them with its version, such as mysql97".to_owned())
}

impl ServerProgram {
    /// The program, if it is named, or if the installed one must have a version.
    ///
    /// # Errors
    /// As [`server_of_version`].
    pub(super) fn named(&self) -> Result<Option<PathBuf>, Error> {
        match &self.server {
            Some(wanted) if !wanted.version.is_empty() => server_of_version(wanted.programs, &wanted.version).map(Some),
            _ => Ok(self.mysqld.clone()),
        }
    }

    /// Names of programs that may serve otherwise.
    pub(super) fn families(&self) -> Programs {
        match &self.server {
            Some(wanted) => wanted.programs,
            None => &PROGRAMS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_follows_the_name_of_the_server() {
        let version = |text: &str| wanted(text).map(|found| found.version);
        assert_eq!(version("mysql97"), Ok("97".to_owned()));
        assert_eq!(version("mariadb10.11"), Ok("10.11".to_owned()));
        assert_eq!(version("mariadb"), Ok(String::new()));
        assert!(version("mysqld").is_err() && version("percona80").is_err());
    }
}
