//! `sealant backup run`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use ::backup::calendar::Calendar;
use ::backup::config::provider;
use ::backup::run::{Backup, RunProgress, RunReport, Scope, plan, run, take};
use ::backup::{Config, Repository};
use ::snapshot::ProviderChoice;
use clap::Args;
use report::{
    backup_copy_message, backup_copy_progress, backup_messages, backup_plan_messages, backup_progress, store_messages,
};

use super::report::write_files;
use super::{Configured, Events, Reporting, exit_code};
use crate::cli::snapshot::guard;
use crate::exit::{self, Exit};
use crate::output::message::{Failure, info, say, warning};
use crate::process::ended_by_signals;

/// Make a backup
///
/// Of a running server, a consistent copy is taken first and removed at the end: see `sealant snapshot`. If no server
/// is running, its directory is read as it is. All files are read, but only pages that changed since the last backup
/// are stored. Each of these is decrypted with the server's key, and its checksum is checked; damaged pages are stored
/// unchanged, and reported.
///
/// With --json, the events `plan`, `progress` and `committed`, which is the report, or `failed` are written while it
/// runs. If the section `report` of the configuration names files, they are written at the end, as by `sealant backup
/// report`.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Run {
    #[command(flatten)]
    config: Configured,
    /// Store all pages again, even if an earlier backup has them
    #[arg(long)]
    full: bool,
    /// Store data again whose packs a check found missing or damaged, if the server still has it; REPORT is the output
    /// of `sealant backup check --json`
    #[arg(long, value_name = "REPORT", conflicts_with = "full")]
    again: Option<PathBuf>,
    /// How to take the copy of a running server [default: as the configuration says]
    #[arg(long, value_name = "NAME", value_parser = provider)]
    provider: Option<ProviderChoice>,
    /// Exit with 4 if pages could not be proven because their key is not available
    #[arg(long)]
    require_complete: bool,
    /// Show what would be backed up and what would not, and how the copy would be taken; store nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    reporting: Reporting,
}

const EXAMPLES: &str = "\
Examples:
  sealant backup run
  sealant backup run --config /etc/sealant/backup.toml --full
  sealant backup check all --objects --json > report.json; sealant backup run --again report.json";

const EXITS: exit::Codes = &[
    (Exit::Clean, "there is a new backup, and every page of it is sound"),
    (Exit::Failed, "no backup was made; the same command tries again"),
    (Exit::Findings, "there is a new backup with damaged pages"),
    (Exit::Incomplete, "there is a new backup with pages that could not be proven (only with --require-complete)"),
];

impl Run {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let events = Events::new(&self.reporting.script);
        self.make(&events).inspect_err(|failure| events.failed(failure))
    }

    fn make(&self, events: &Events<'_>) -> Result<Exit, Failure> {
        let (mut config, repository) = self.config.open()?;
        config.provider = self.provider.unwrap_or(config.provider);
        let scope = Scope::new(self.full, self.again.as_deref(), &config.host)?;
        if self.dry_run {
            let plan = plan(&config, &repository, &scope)?;
            plan.key_warnings.iter().for_each(|problem| warning(&problem.to_string()));
            events.plan(&(&plan).into());
            say(&backup_plan_messages(&plan));
            say(&store_messages(&repository));
            return Ok(Exit::Clean);
        }
        let repository = repository.paced(config.bandwidth);
        let (made, seconds, progress) = self.back_up(&config, &repository, &scope, events)?;
        say(&backup_messages(&made, seconds));
        say(&store_messages(&repository));
        events.committed(&RunReport::new(&made, seconds, &progress));
        // The backup is complete without them.
        if let Err(failure) = write_report_files(&config, repository) {
            warning(&format!("the files of [report] were not written: {}", failure.error));
        }
        Ok(exit_code(made.outcome(self.require_complete)))
    }

    /// Makes the backup. Also returns its duration in seconds, and what was counted.
    fn back_up(
        &self,
        config: &Config,
        repository: &Repository,
        scope: &Scope,
        events: &Events<'_>,
    ) -> Result<(Backup, f64, RunProgress), Failure> {
        let (began, stop, copied) = (Instant::now(), ended_by_signals()?, Arc::default());
        let copying = || backup_copy_progress(&copied);
        let source_copy = self.reporting.status().watch(copying, || take(config, &copied))?;
        source_copy.key_warnings.iter().for_each(|problem| warning(&problem.to_string()));
        info(&backup_copy_message(&source_copy.copy));
        let (progress, reading) = (RunProgress::default(), Instant::now());
        let work = || run(config, repository, source_copy, |copy| guard(copy, stop), scope, &progress);
        let following = || {
            events.tick(&progress);
            backup_progress(&progress, reading.elapsed())
        };
        let made = self.reporting.status().watch(following, work);
        // A short run ends before anybody has looked at its progress.
        events.begun(&progress);
        Ok((made?, began.elapsed().as_secs_f64(), progress))
    }
}

/// Writes the files that the section `report` of the configuration names.
fn write_report_files(config: &Config, repository: Repository) -> Result<(), Failure> {
    let files = &config.report;
    if !files.are_written() {
        return Ok(());
    }
    if !repository.may_read() {
        return Err(Failure::new(
            "this host may not read the repository; name them where `sealant backup report` runs",
        ));
    }
    let repository = repository.with_cache(&config.state);
    let (restores, signers) = (files.restores.as_deref(), files.allowed_signers.as_deref());
    let calendar = Calendar::read(&repository, &config.host, restores, signers, None)?;
    write_files(&calendar, files.html.as_deref(), files.prometheus.as_deref())
}
