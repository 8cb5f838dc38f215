//! `sealant bench sst`: how long a node of a Galera cluster takes to join, and what its donor's clients
//! notice of it.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;

use ::bench::suite::sst::{self, Suite};
use clap::{Args, ValueEnum};

use super::current_program;
use super::output::Output;
use crate::cli::sst::PROGRAM;
use crate::exit::{self, Exit};
use crate::output::message::Failure;

/// Measure how long nodes of a Galera cluster take to join, by this and by other methods
///
/// Starts a node of its own on a copy of DIR, with a client that commits without a pause, and lets others join it:
/// from the start of the joiner's server until it is Synced, and the longest that a commit on the donor took
/// meanwhile; for this program beside how long the donor says that it stood still, and what `sealant snapshot estimate` said
/// before. A change of members stalls the commits of a cluster too, whatever the method. Everything happens on this machine, over loopback, below the directories of --into, each of
/// which stands for its file system. The donor's page cache is as the last run left it.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct BenchSst {
    /// The data directory of a stopped MariaDB, of which copies are made
    datadir: PathBuf,
    /// Directories to work below, with commas between them
    #[arg(long, value_name = "DIR", value_delimiter = ',', required = true)]
    into: Vec<PathBuf>,
    /// The server
    #[arg(long, value_name = "PROGRAM", default_value = "/usr/sbin/mariadbd")]
    mariadbd: PathBuf,
    /// The Galera provider
    #[arg(long, value_name = "FILE", default_value = "/usr/lib/galera/libgalera_smm.so")]
    provider: PathBuf,
    /// Methods, with commas between them
    #[arg(long, value_enum, value_name = "NAME", value_delimiter = ',', default_value = "rsync,mariabackup,sealant")]
    methods: Vec<Method>,
    /// Rounds
    #[arg(long, value_name = "N", default_value = "3")]
    rounds: NonZeroU32,
    /// An option of all servers, such as --innodb-buffer-pool-size=1G (repeatable)
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    server_option: Vec<OsString>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Method {
    /// Blocks the donor for the copy; in clear text
    Rsync,
    /// Through socat with TLS, both sides verified by an authority
    Mariabackup,
    /// This program
    Sealant,
}

const EXAMPLES: &str = "\
Examples:
  sealant bench sst /backup/datadir --into /var/tmp
  sealant bench sst /backup/datadir --into /mnt/btrfs,/mnt/xfs,/var/tmp --rounds 5 --raw samples.jsonl";

const EXITS: exit::Codes = &[
    (Exit::Clean, "measured"),
    (Exit::Failed, "a server could not be run, or a node did not join"),
    (Exit::Usage, "wrong usage"),
];

impl BenchSst {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let methods: Vec<sst::Method> = self.methods.iter().map(|&method| method.into()).collect();
        let suite = Suite {
            program: current_program()?,
            program_name: PROGRAM,
            datadir: &self.datadir,
            into: &self.into,
            mariadbd: &self.mariadbd,
            provider: &self.provider,
            methods: &methods,
            rounds: self.rounds,
            server_options: &self.server_option,
        };
        suite.check()?;
        self.output.check()?;
        self.output.measure(|watch| suite.run(watch))
    }
}

impl From<Method> for sst::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Rsync => Self::Rsync,
            Method::Mariabackup => Self::Mariabackup,
            Method::Sealant => Self::Sealant,
        }
    }
}
