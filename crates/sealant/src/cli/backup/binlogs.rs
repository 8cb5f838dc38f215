//! `sealant backup binlogs`.

use std::{cell::RefCell, collections::BTreeMap, path::PathBuf};

use ::backup::binlogs::{ArchivedReport, ArchivesReport, Mode, Note, SpoolStatus, TimeFilter, archive};
use clap::{ArgGroup, Args, Subcommand};
use jiff::Timestamp;
use report::{
    Message, binlog_messages, binlog_note, binlog_status, store_messages, write_binlog_table, write_spool_metrics,
};

use super::{Configured, HostSelection, Reporting, Script};
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::file::{self, to_stdout};
use crate::output::message::{Failure, info, say};
use crate::process::ended_by_signals;

/// Archive the binary logs of the server, so that a restore can replay them to any point in time
///
/// Reads the binary logs from the server as a replica does, decrypted if they are encrypted. They are stored in parts,
/// encrypted to the recipients of the backups, with signed receipts. The same command resumes where the archive ends.
///
/// While the repository cannot be reached, --follow writes the encrypted parts to the directory `binlogs.spool`
/// (default: that of the state), up to `binlogs.spool_max` (default 1GiB), and stores them afterwards. Beyond that limit
/// nothing is lost as long as the server keeps its logs.
///
/// The account in the section `server` of the configuration needs REPLICATION SLAVE and REPLICATION CLIENT (MariaDB:
/// BINLOG MONITOR).
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS), args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(group = ArgGroup::new("mode").required(true))]
pub(crate) struct Binlogs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    config: Configured,
    /// Archive what the server has now, then exit
    #[arg(long, group = "mode")]
    once: bool,
    /// Keep archiving until a signal ends it; if the server or the repository fails, try again
    #[arg(long, group = "mode")]
    follow: bool,
    /// Also write metrics to this file, for node_exporter's textfile collector: how much waits on this host for the
    /// repository, and when logs were last lost
    #[arg(long, value_name = "FILE", requires = "follow")]
    prometheus: Option<PathBuf>,
    #[command(flatten)]
    reporting: Reporting,
}

#[derive(Debug, Subcommand)]
enum Command {
    Show(Show),
}

const EXAMPLES: &str = "\
Examples:
  sealant backup binlogs --follow
  sealant backup binlogs --once --config /etc/sealant/backup.toml
  sealant backup binlogs show --around 2026-11-26T14:05:00Z --identity key.txt";

const EXITS: exit::Codes = &[
    (Exit::Clean, "archived, or the configuration has binlogs.enabled = false"),
    (Exit::Failed, "not everything was archived; the same command resumes"),
    (Exit::Findings, "archived, but logs were lost before they could be read"),
];

impl Binlogs {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        if let Some(Command::Show(show)) = &self.command {
            return show.run();
        }
        self.prometheus.iter().try_for_each(|path| file::check_writable(path))?;
        if !self.config.read()?.archives_binlogs {
            info("binary logs are not archived: binlogs.enabled is false in the configuration");
            return Ok(Exit::Clean);
        }
        let mode = if self.follow { Mode::Follow } else { Mode::Once };
        let (config, repository) = if self.follow { self.config.open_for_follower()? } else { self.config.open()? };
        let (stop, status) = (ended_by_signals()?, self.reporting.status());
        let spooled = RefCell::default();
        let archived = archive(&config, &repository, mode, &stop, &|note| {
            binlog_status(note).iter().for_each(|text| status.show(text));
            status.say(binlog_note(note).as_slice());
            self.write_metrics(&config.host, note, &spooled)
                .unwrap_or_else(|error| status.say(&[Message::Warning(error)]));
        });
        status.clear();
        let archived = archived?;
        say(&binlog_messages(&config.host, &archived));
        say(&store_messages(&repository));
        self.reporting.script.write(&ArchivedReport::new(&config.host, &archived))?;
        Ok(if archived.gaps.is_empty() { Exit::Clean } else { Exit::Findings })
    }

    /// Replaces the file of metrics, if one was requested and they changed. Archiving goes on without it.
    /// `spooled`: the status of each server so far; besides the current server, replaced ones may have something to store.
    fn write_metrics(
        &self,
        host: &str,
        note: &Note<'_>,
        spooled: &RefCell<BTreeMap<String, SpoolStatus>>,
    ) -> Result<(), String> {
        let (Some(path), Note::Spooled(status)) = (&self.prometheus, note) else { return Ok(()) };
        let mut servers = spooled.borrow_mut();
        servers.insert(status.server.clone(), (*status).clone());
        file::replace_metrics(path, &|out| Ok(write_spool_metrics(host, servers.values(), out)?))
            .map_err(|failure| failure.error)
    }
}

/// Show what is archived, or the transactions near a time: which tables they changed and how, never values
#[derive(Debug, Args)]
#[command(after_help = exit::help(SHOW_EXAMPLES, SHOW_EXITS))]
pub(crate) struct Show {
    #[command(flatten)]
    selection: HostSelection,
    /// List the transactions that were committed near this time, such as 2026-11-26T14:05:00Z
    #[arg(long, value_name = "TIME", value_parser = value::timestamp, requires = "identity")]
    around: Option<Timestamp>,
    /// How long before and after --around
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = value::time, requires = "around")]
    within: std::time::Duration,
    /// File with age identities, one of which decrypts the archive
    #[arg(long, value_name = "FILE", requires = "around")]
    identity: Option<PathBuf>,
    /// File of the allowed signers; without it, signatures are not verified
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    #[command(flatten)]
    script: Script,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  sealant backup binlogs show
  sealant backup binlogs show --around 2026-11-26T14:05:00Z --within 1m --identity key.txt";

const SHOW_EXITS: exit::Codes = &[
    (Exit::Clean, "shown, and nothing is missing"),
    (Exit::Failed, "the archive cannot be read"),
    (Exit::Findings, "shown, and parts are missing"),
];

impl Show {
    fn run(&self) -> Result<Exit, Failure> {
        let (repository, host) = self.selection.open_with_cache()?;
        let near = self.around.zip(self.identity.as_deref());
        let near = near.map(|(time, identity)| TimeFilter { time, within: self.within, identity });
        let report = ArchivesReport::read(&repository, &host, self.allowed_signers.as_deref(), near.as_ref())?;
        if !self.script.write(&report)? {
            to_stdout(&|out| write_binlog_table(&report, out).map_err(std::io::Error::from))?;
        }
        Ok(if report.is_whole() { Exit::Clean } else { Exit::Findings })
    }
}
