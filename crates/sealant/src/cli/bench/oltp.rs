//! `sealant bench oltp`: measures what encryption costs transactions.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use ::bench::suite::oltp::{FileOptions, OltpSuite};
use ::bench::{Arms, Changes, Driver, Pace, Preset, Settings, Workload};
use clap::Args;
use clap::builder::PossibleValuesParser;
use report::{write_bench_sysbench_table, write_bench_table};

use super::effort::Effort;
use super::output::Output;
use super::server_program::ServerProgram;
use crate::cli::value::{self, Word};
use crate::exit::{self, Exit};
use crate::output::message::{Failure, warning};
use crate::process::{current_program, ended_by_signals};

/// Measure what encryption of tables, of all logs and of connections costs transactions
///
/// Starts servers of the installed `mariadbd` or `mysqld` below DIR, each with the same rows and with keys of its own:
/// one that encrypts nothing, one with encrypted tables (`tde`), and one that also encrypts its redo, undo and binary
/// logs and its temporary files (`tde+logs`). That each encrypts what its name says is checked first. The server
/// without encryption is also measured over TCP and over TLS 1.3. Servers and data are removed afterwards.
///
/// Further arms are measured if --arms names them: tables with compressed pages, in the clear (`compressed`) and
/// encrypted (`compressed+tde`); MariaDB's cipher in CTR mode (`tde-ctr`); a rotation of keys in the middle of each run
/// (`rotation`), with the dip of the throughput and its length; a server on a LUKS volume (`luks`); TLS with
/// certificates of other kinds of keys than ECDSA P-256 (`tls-p384`, `tls-rsa2048`, `tls-rsa3072`, `tls-rsa4096`), of which
/// only new connections notice much; and connections through `sealant tunnel` (`tunnel`). MariaDB has no rotation of keys in a file, so that its background threads decrypt
/// and encrypt all pages again. The LUKS volume is in an image below DIR, and is compared with a file system in an image
/// without encryption (`image`), too; both need root and a loop device. What this server or machine cannot measure is
/// left out with a warning.
///
/// The installed sysbench runs the transactions, or else clients of this program with the same statements (--driver):
/// if sysbench is missing or too old, at a fixed rate, in runs of a fraction of a second, and in experiments with the
/// arm `rotation`. The report says which. A second server without encryption (`clear again`) runs in the same rounds:
/// the difference of these two is the resolution of this machine, and smaller differences are not reported as such.
/// After each run the server writes all changed pages and purges its undo logs, so that this disturbs no other run; its
/// CPU time and its bytes are counted. At a fixed rate, arms are compared by their latency.
///
/// The expected duration is said first. Ctrl-C ends the measurement early: the rounds completed until then are reported.
///
/// Only servers that this command starts are loaded; it connects to no other.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct BenchOltp {
    /// Directory below which servers and their data are made and removed
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    #[command(flatten)]
    server: ServerProgram,
    /// Option for all servers, such as --innodb-doublewrite=OFF (repeatable)
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    server_option: Vec<String>,
    /// Option file of a server, such as my.cnf, whose settings of InnoDB, logs, buffers and limits all servers get; paths,
    /// accounts, network, encryption and the size of the buffer pool are left out, with a warning
    #[arg(long, value_name = "FILE")]
    defaults_file: Option<PathBuf>,
    /// Settings to begin with, which the options below change
    #[arg(long, value_name = "NAME", default_value = "quick", value_parser = value::word(PRESETS))]
    preset: Preset,
    /// Arms to compare, separated by commas [default: clear,tde,tde+logs,socket,tcp,tls]
    #[arg(long, value_name = "ARM", value_delimiter = ',', value_parser = arm_names())]
    arms: Vec<String>,
    /// Script of sysbench whose statements the clients run [default: that of --preset]
    #[arg(long, value_name = "NAME", value_parser = workload_names())]
    workload: Option<String>,
    /// Number of tables [default: that of --preset]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    tables: Option<u32>,
    /// Rows in each table [default: those of --preset]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=100_000_000))]
    rows: Option<u32>,
    /// Access all rows equally often, not mostly one row in a hundred as sysbench does
    #[arg(long)]
    uniform: bool,
    /// Numbers of clients, separated by commas; all experiments are run with each [default: that of --preset]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1000))]
    threads: Vec<u32>,
    /// Transactions that begin per second, whether or not earlier ones are done [default: each client begins one when
    /// its last one is done]
    #[arg(long, value_name = "N")]
    rate: Option<NonZeroU32>,
    /// How long each arm runs in each round, in ms or s, up to 60s [default: that of --preset]
    #[arg(long, value_name = "TIME", value_parser = value::short_time)]
    span: Option<Duration>,
    /// Size of each server's buffer pool, such as 1GiB [default: that of --preset]
    #[arg(long, value_name = "SIZE", value_parser = value::bytes)]
    buffer_pool: Option<u64>,
    /// Program whose clients run the transactions
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = value::word(DRIVERS))]
    driver: Driver,
    #[command(flatten)]
    effort: Effort,
    #[command(flatten)]
    output: Output,
}

const PRESETS: &[Word<Preset>] = &[
    ("quick", Preset::Quick, "The tables of `webinar`, 2 s a run"),
    (
        "webinar",
        Preset::Webinar,
        "5 tables of 100,000 rows in memory, oltp_read_write of 2 clients, 60 s a run: the settings of a published \
         comparison",
    ),
    (
        "larger-than-memory",
        Preset::LargerThanMemory,
        "Data of four times the buffer pool, all rows accessed equally often: pages are read, written and decrypted",
    ),
    ("commits", Preset::Commits, "oltp_update_index of 4 clients: bound by commits"),
];

const DRIVERS: &[Word<Driver>] = &[
    (
        "auto",
        Driver::Installed,
        "sysbench if it is in PATH and can run the load, otherwise `own`; the report says which",
    ),
    ("sysbench", Driver::Sysbench, "sysbench 1.0 or newer: runs of whole seconds, without --rate"),
    ("own", Driver::Own, "This program, with the statements and the distribution of rows of sysbench 1.0"),
];

const EXAMPLES: &str = "\
Examples:
  sealant bench oltp --dir /var/tmp
  sealant bench oltp --dir /var/tmp --server mysql --preset webinar --html cost.html --raw samples.jsonl
  sealant bench oltp --dir /var/tmp --mysqld /opt/ps/bin/mysqld --preset larger-than-memory --arms tde,tde+logs
  sealant bench oltp --dir /var/tmp --mysqld /opt/ps/bin/mysqld --defaults-file /etc/my.cnf --arms clear,tde,tls
  sealant bench oltp --dir /var/tmp --threads 1,2,4,8 --arms tde+logs,tcp,tls --rounds 20
  sealant bench oltp --dir /var/tmp --workload oltp_point_select --rate 2000 --arms tcp,tls";

const EXITS: exit::Codes = &[
    (Exit::Clean, "measured"),
    (
        Exit::Failed,
        "a server could not be started or used, there is too little disk or memory, or it was interrupted; after an \
         interruption the completed rounds are reported",
    ),
];

fn arm_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Arms::all_names())
}

fn workload_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Workload::ALL.map(Workload::as_str))
}

impl BenchOltp {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        self.output.check()?;
        // Servers are stopped and their files removed when a signal ends the measurement.
        let stopped = ended_by_signals()?;
        let program = current_program()?;
        let named = self.server.named()?;
        let file = self.defaults_file.as_deref().map(FileOptions::read).transpose()?.unwrap_or_default();
        let options = [file.taken.as_slice(), &self.server_option].concat();
        let mut suite = OltpSuite {
            program: &program,
            server: named.as_deref(),
            families: self.server.families(),
            directory: &self.dir,
            arms: Arms::named(&self.arms),
            scale: self.preset.scale().with(&self.changes()),
            more_clients: self.threads.get(1..).unwrap_or_default(),
            pace: self.rate.map_or(Pace::Closed, |rate| Pace::Open(rate.get())),
            driver: self.driver,
            server_options: &options,
            settings: Settings { stopped: Some(&stopped), ..self.effort.settings() },
            time: None,
            stopped: &stopped,
        };
        let server = suite.check()?;
        suite.arms.left_out.extend(self.defaults_file.as_deref().and_then(|path| file.warning(path)));
        suite.arms.left_out.iter().for_each(|text| warning(text));
        self.output.announce(suite.duration());
        // The comparison that this preset repeats was published in sysbench's rows.
        let table = if self.preset == Preset::Webinar { write_bench_sysbench_table } else { write_bench_table };
        self.output.measure_as("What encryption costs transactions", table, |watch| suite.run(&server, watch))
    }

    fn changes(&self) -> Changes {
        Changes {
            workload: self.workload.as_deref().and_then(Workload::named),
            tables: self.tables,
            rows: self.rows,
            uniform: self.uniform,
            clients: self.threads.first().copied(),
            span: self.span,
            pool_bytes: self.buffer_pool,
        }
    }
}
