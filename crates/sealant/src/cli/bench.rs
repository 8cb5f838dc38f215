//! `sealant bench`: measures what this program costs on this machine, compared with its alternatives.

mod backup;
mod disk;
mod effort;
mod judge;
mod migrate;
mod oltp;
mod output;
mod server;
mod server_program;
mod sst;
mod tls;
mod transfer;

use std::ffi::OsString;
use std::path::PathBuf;

use ::bench::suite::verify::VerifySuite;
use ::verify::check_paths;
use clap::{Args, Subcommand};

use self::effort::Effort;
use self::output::Output;
use super::key_stores::KeyStores;
use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::process::processors;

/// Measure what this program costs on this machine, compared with its alternatives
///
/// Each alternative is called an arm. Arms run in interleaved rounds (A B B A …) until the 95 % interval of every
/// ratio, or else of every median, is narrow or the time is up. Ratios are computed within rounds, with 95 % intervals.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Backup(Box<backup::BenchBackup>),
    Disk(Box<disk::BenchDisk>),
    Judge(judge::BenchJudge),
    Migrate(Box<migrate::BenchMigrate>),
    Oltp(Box<oltp::BenchOltp>),
    Sst(Box<sst::BenchSst>),
    Tls(Box<tls::BenchTls>),
    Transfer(Box<transfer::BenchTransfer>),
    Verify(Box<BenchVerify>),
}

/// Measure `sealant verify` on these files, compared with plain reads and other programs
///
/// Files are read from the page cache, by one thread and by all processors, and compared with plain reads of the same
/// files, and with `innochecksum` and `inno checksum` if they are installed. Other programs are timed on files of at
/// least 16 MiB that they read to the end, and their verdict is recorded for every file. With --cold, files are read
/// from disk, and compared with direct sequential reads of 1 MiB and with `fio`.
///
/// The files are only read, but --cold evicts them from the page cache, which slows down a server on them for a while.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct BenchVerify {
    /// Data directories, backups or single files
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    keys: KeyStores,
    #[command(flatten)]
    effort: Effort,
    /// Path of `innochecksum` of MariaDB or MySQL (repeatable) [default: the one in PATH, if any]
    #[arg(long, value_name = "PROGRAM")]
    innochecksum: Vec<OsString>,
    /// Path of `inno` of the crate innodb-utils [default: the one in PATH, if any]
    #[arg(long, value_name = "PROGRAM")]
    inno: Option<OsString>,
    /// Read from disk instead of the page cache
    #[arg(long)]
    cold: bool,
    /// Path of `fio`, for --cold [default: the one in PATH, if any]
    #[arg(long, value_name = "PROGRAM", requires = "cold")]
    fio: Option<OsString>,
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  sealant bench verify /backup/datadir --keyring keyring
  sealant bench verify t.ibd --innochecksum /usr/bin/innochecksum --rounds 20 --raw samples.jsonl
  sealant bench verify /backup/datadir --keyring keyring --cold --format json";

const EXITS: exit::Codes = &[
    (Exit::Clean, "measured"),
    (Exit::Failed, "a key store or a file could not be read, or a program could not be run"),
];

impl Bench {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        match self.what {
            What::Backup(verb) => verb.run(),
            What::Disk(verb) => verb.run(),
            What::Judge(verb) => verb.run(),
            What::Migrate(verb) => verb.run(),
            What::Oltp(verb) => verb.run(),
            What::Sst(verb) => verb.run(),
            What::Tls(verb) => verb.run(),
            What::Transfer(verb) => verb.run(),
            What::Verify(verb) => verb.run(),
        }
    }
}

impl BenchVerify {
    fn run(self) -> Result<Exit, Failure> {
        check_paths(&self.paths)?;
        self.output.check()?;
        let datadir = self.paths.iter().find(|path| path.is_dir());
        let keys = self.keys.read(datadir.map(PathBuf::as_path))?;
        let suite = VerifySuite {
            paths: &self.paths,
            keys: &keys,
            cold: self.cold,
            innochecksum: &self.innochecksum,
            inno: self.inno.as_deref(),
            fio: self.fio.as_deref(),
            settings: self.effort.settings(),
            processors: processors(),
        };
        self.output.measure("How fast files are verified", |watch| suite.run(watch))
    }
}
