//! `sealant backup run`.

use std::sync::atomic::Ordering;
use std::time::Instant;

use ::backup::run::{Backup, Progress, Source};
use ::backup::{BackupError, Config, Repository};
use ::snapshot::{DataDir, Keep, Options, Provider, take};
use clap::Args;
use jiff::Timestamp;
use report::{size, visible};
use serde::Serialize;

use super::watch::{part, watch};
use super::{Configured, print_json};
use crate::cli::encrypt::ended_by_signals;
use crate::cli::snapshot::Held;
use crate::cli::verify::forbid_dumps;
use crate::exit::{self, Exit};
use crate::output::message::{Failure, hint, info, warning};

/// Make a backup
///
/// Of a server that does not run its directory is read as it is; of a running one a still copy is taken first, and removed at
/// the end: see `sealant snapshot`. Only pages that changed since the last backup are stored. Every page is opened with the
/// server's key and its checksum checked; what is damaged is stored as it is, and named.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Run {
    #[command(flatten)]
    config: Configured,
    /// Store all pages again, whatever an earlier backup has
    #[arg(long)]
    full: bool,
    /// End with 4 if pages could not be proven because their key is not at hand
    #[arg(long)]
    require_complete: bool,
    /// Write what was made to standard output, schema sealant.backup/1
    #[arg(long)]
    json: bool,
    /// No status line on stderr
    #[arg(long, short)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  sealant backup run
  sealant backup run --config /etc/sealant/backup.toml --full";

const EXITS: exit::Codes = &[
    (Exit::Clean, "there is a new backup, and every page of it is sound"),
    (Exit::Failed, "there is none; the same command tries again"),
    (Exit::Usage, "wrong usage"),
    (Exit::Findings, "there is a new backup, and damaged pages in it"),
    (
        Exit::Incomplete,
        "there is a new backup, and pages in it that could not be proven (only with --require-complete)",
    ),
];

impl Run {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        let (config, repository) = self.config.open()?;
        // Before the server is asked to stand still.
        config.signing_key()?;
        let began = Instant::now();
        let (held, provider) = hold(&config)?;
        let instant = Timestamp::now();
        let prove = || held.prove().map_err(|error| BackupError::Void(error.to_string()));
        let source = Source { root: held.root(), provider: &provider, instant, prove: &prove };
        let progress = Progress::default();
        let made = self.make(&config, &repository, &source, &progress)?;
        self.tell(&made, began.elapsed().as_secs_f64(), &progress)?;
        let pages = made.receipt.pages;
        Ok(match (pages.damaged, pages.unproven) {
            (1.., _) => Exit::Findings,
            (_, 1..) if self.require_complete => Exit::Incomplete,
            _ => Exit::Clean,
        })
    }

    fn make(
        &self,
        config: &Config,
        repository: &Repository,
        source: &Source<'_>,
        progress: &Progress,
    ) -> Result<Backup, Failure> {
        let words = || {
            if progress.verified_bytes.load(Ordering::Relaxed) > 0 {
                return part("verifying", &progress.verified_bytes, &progress.total_bytes);
            }
            let stored = size(progress.stored_bytes.load(Ordering::Relaxed));
            format!("{}, {stored} stored", part("reading", &progress.bytes, &progress.total_bytes))
        };
        let work = || ::backup::run::run(config, repository, source, self.full, progress);
        Ok(watch(self.quiet || self.json, words, work)?)
    }

    fn tell(&self, made: &Backup, seconds: f64, progress: &Progress) -> Result<(), Failure> {
        let receipt = &made.receipt;
        if let Some(number) = made.finished {
            info(&format!("backup {number}, of a run that was cut off at its end, was finished first"));
        }
        for left_out in &made.left_out {
            info(&format!("not in the backup: {}: {}", visible(&left_out.path), left_out.why));
        }
        for finding in &receipt.findings {
            warning(&visible(&finding.text));
        }
        let kind = match (made.base, made.full) {
            (Some(base), _) => format!("goes on from {base}"),
            (None, Some(why)) => format!("a full one: {why}"),
            (None, None) => "a full one".to_owned(),
        };
        info(&format!(
            "backup {} of {}: {} in {} files, {} changed, {} stored, in {seconds:.1} s ({kind})",
            receipt.number,
            receipt.host,
            size(receipt.bytes.data),
            made.files,
            size(receipt.bytes.changed),
            size(receipt.bytes.stored),
        ));
        if receipt.pages.unproven > 0 {
            hint(
                "with the server's keys, under [server] of the configuration, encrypted pages compress and are proven",
            );
        }
        info(&format!("receipt {}", made.sha256));
        if self.json { print_json(&Report::of(made, seconds, progress)) } else { Ok(()) }
    }
}

/// Takes a still copy.
fn hold(config: &Config) -> Result<(Held, String), Failure> {
    let server = &config.server;
    let datadir = DataDir::at(&server.datadir)?;
    let datadir = datadir.socket(server.socket.clone()).pid_file(server.pid_file.clone());
    let stop = ended_by_signals()?;
    let options = Options {
        provider: config.provider,
        max_freeze: config.max_freeze,
        keep: Keep::WhileInUse,
        ..Options::default()
    };
    let still = take(&datadir, &options)?;
    let provider = still.provider();
    match provider {
        Provider::Stopped => info("no server runs on it, so the data directory itself is read"),
        provider => info(&format!("copy taken by {provider}; {}", still.effect())),
    }
    Ok((Held::new(still, stop), provider.to_string()))
}

/// What a run made, for scripts.
#[derive(Serialize)]
struct Report<'r> {
    schema: &'static str,
    host: &'r str,
    number: u64,
    began: Timestamp,
    ended: Timestamp,
    receipt: String,
    base: Option<u64>,
    full: Option<String>,
    provider: &'r str,
    files: u64,
    bytes: Bytes,
    pages: archive::receipt::Pages,
    packs: Packs,
    left_out: &'r [archive::manifest::LeftOut],
    findings: &'r [archive::receipt::Finding],
    seconds: f64,
}

#[derive(Serialize)]
struct Bytes {
    data: u64,
    read: u64,
    changed: u64,
    opened: u64,
    stored: u64,
}

#[derive(Serialize)]
struct Packs {
    new: usize,
    used: usize,
}

impl<'r> Report<'r> {
    fn of(made: &'r Backup, seconds: f64, progress: &Progress) -> Self {
        let receipt = &made.receipt;
        let archive::receipt::Bytes { data, read, changed, stored } = receipt.bytes;
        let opened = progress.opened_bytes.load(Ordering::Relaxed);
        let new = receipt.packs.iter().filter(|pack| pack.new).count();
        Self {
            schema: "sealant.backup/1",
            host: &receipt.host,
            number: receipt.number,
            began: receipt.began,
            ended: receipt.ended,
            receipt: made.sha256.to_string(),
            base: made.base,
            full: made.full.map(|full| full.to_string()),
            provider: &receipt.provider,
            files: made.files,
            bytes: Bytes { data, read, changed, opened, stored },
            pages: receipt.pages,
            packs: Packs { new, used: receipt.packs.len() },
            left_out: &made.left_out,
            findings: &receipt.findings,
            seconds,
        }
    }
}
