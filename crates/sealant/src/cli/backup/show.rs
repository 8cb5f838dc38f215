//! `sealant backup show`.

use std::io::Write;

use ::backup::restore::BackupSelector;
use archive::Receipt;
use clap::Args;
use report::{size, visible};

use super::Configured;
use crate::cli::restore::parse_backup;
use crate::exit::{self, Exit};
use crate::output::message::Failure;

/// Show what the receipt of a backup says
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Show {
    /// Number of the backup, or latest
    #[arg(value_name = "N|latest", default_value = "latest", value_parser = parse_backup)]
    backup: BackupSelector,
    #[command(flatten)]
    config: Configured,
    /// Backup of this host [default: the one of the configuration]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// The receipt itself, schema sealant.receipt/1
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  sealant backup show
  sealant backup show 123 --json";

const EXITS: exit::Codes = &[
    (Exit::Clean, "it is shown"),
    (Exit::Failed, "there is none, or it cannot be read"),
    (Exit::Usage, "wrong usage"),
];

impl Show {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let (config, repository) = self.config.open()?;
        let host = self.host.unwrap_or(config.host);
        let opened = ::backup::restore::open(&repository, &host, self.backup, None, None)?;
        let (receipt, sha256) = (opened.receipt(), opened.sha256());
        if self.json {
            super::print_json(receipt)?;
        } else {
            let write = |out: &mut dyn Write| {
                writeln!(out, "backup {} of {}, receipt {sha256}", receipt.number, receipt.host)?;
                print(receipt, out)
            };
            crate::output::file::to_stdout(&write)?;
        }
        Ok(Exit::Clean)
    }
}

fn print(receipt: &Receipt, out: &mut dyn Write) -> std::io::Result<()> {
    let new = receipt.packs.iter().filter(|pack| pack.new).count();
    let (bytes, pages) = (receipt.bytes, receipt.pages);
    writeln!(out, "made        {} to {}, by {}", receipt.began, receipt.ended, visible(&receipt.tool))?;
    writeln!(out, "copy        {}", visible(&receipt.provider))?;
    let kind = if receipt.full { "full" } else { "incremental" };
    writeln!(out, "data        {}, {} changed ({kind})", size(bytes.data), size(bytes.changed))?;
    writeln!(out, "stored      {} in {new} new packs; {} packs are needed", size(bytes.stored), receipt.packs.len())?;
    writeln!(out, "pages       {} seen, {} damaged, {} unproven", pages.seen, pages.damaged, pages.unproven)?;
    for finding in &receipt.findings {
        writeln!(out, "{:10}  {}", visible(&finding.id), visible(&finding.text))?;
    }
    for recipient in &receipt.recipients {
        let unproven = receipt.unproven_recipients.contains(recipient);
        let note = if unproven { " (nobody has shown to have its identity)" } else { "" };
        writeln!(out, "recipient   {}{note}", visible(recipient))?;
    }
    Ok(())
}
