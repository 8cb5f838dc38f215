//! `sealant backup show`.

use std::path::PathBuf;

use ::backup::config::identities;
use ::backup::restore::{BackupSelector, open};
use archive::manifest::Lists;
use clap::Args;
use report::{ManifestList, store_messages, write_manifest_table, write_receipt_table};

use super::{HostSelection, Script};
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, say};

/// Show the receipt of a backup, or what its manifest lists
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Show {
    /// Number of the backup, or latest
    #[arg(value_name = "N|latest", default_value = "latest")]
    backup: BackupSelector,
    #[command(flatten)]
    selection: HostSelection,
    /// List the files and their lengths instead
    #[arg(long, group = "contents", requires = "identity")]
    files: bool,
    /// List the keys that its encrypted files need instead
    #[arg(long, group = "contents", requires = "identity")]
    keys: bool,
    /// List in which pack each part of each file is instead
    #[arg(long, group = "contents", requires = "identity")]
    map: bool,
    /// File with age identities, one of which decrypts the manifest, which has these lists
    #[arg(long, value_name = "FILE", requires = "contents")]
    identity: Option<PathBuf>,
    #[command(flatten)]
    script: Script,
}

const EXAMPLES: &str = "\
Examples:
  sealant backup show
  sealant backup show 123 --json
  sealant backup show 123 --files --identity key.txt";

const EXITS: exit::Codes = &[(Exit::Clean, "shown"), (Exit::Failed, "there is no such backup, or it cannot be read")];

impl Show {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let (repository, host) = self.selection.open()?;
        let judged = open(&repository, &host, self.backup, None, None)?;
        say(&store_messages(&repository));
        if let Some(identity) = &self.identity {
            let list = match (self.files, self.keys) {
                (true, _) => ManifestList::Files,
                (_, true) => ManifestList::Keys,
                _ => ManifestList::Map,
            };
            let lists = if self.map { Lists::default() } else { Lists::not_kept() };
            let manifest = judged.manifest(&repository, &identities(identity)?, lists)?;
            to_stdout(&|out| write_manifest_table(&manifest, list, out).map_err(std::io::Error::from))?;
            return Ok(Exit::Clean);
        }
        if !self.script.write(&judged.receipt)? {
            to_stdout(&|out| write_receipt_table(&judged, out).map_err(std::io::Error::from))?;
        }
        Ok(Exit::Clean)
    }
}
