//! Options that name the server program to start.

use std::path::{Path, PathBuf};

use clap::Args;
use server::{MARIADB_PROGRAM, MYSQL_PROGRAM, PROGRAMS};

use crate::cli::value::{self, Word};

/// The server program that a measurement starts.
#[derive(Debug, Args)]
pub(super) struct ServerProgram {
    /// Which installed server to start [default: mariadb, or mysql if there is none]
    #[arg(long, value_name = "NAME", conflicts_with = "mysqld", value_parser = value::word(FAMILIES))]
    server: Option<Programs>,
    /// Server program to start [default: from PATH or /usr/sbin]
    #[arg(long, value_name = "PROGRAM")]
    mysqld: Option<PathBuf>,
}

/// Programs that may serve, the preferred one first.
type Programs = &'static [&'static str];

const FAMILIES: &[Word<Programs>] =
    &[("mysql", &[MYSQL_PROGRAM], "`mysqld`"), ("mariadb", &[MARIADB_PROGRAM], "`mariadbd`")];

impl ServerProgram {
    /// The program, if it is named.
    pub(super) fn named(&self) -> Option<&Path> {
        self.mysqld.as_deref()
    }

    /// Names of programs that may serve otherwise.
    pub(super) fn families(&self) -> Programs {
        self.server.unwrap_or(&PROGRAMS)
    }
}
