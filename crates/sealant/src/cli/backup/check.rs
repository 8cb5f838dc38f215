//! `sealant backup check`.

use std::io::Write;
use std::path::PathBuf;

use ::backup::check::{BadObject, Checked, Depth};
use clap::Args;
use report::visible;
use serde::Serialize;

use super::{Configured, print_json, signers};
use crate::exit::{self, Exit};
use crate::output::message::{Failure, hint, info, warning};

/// Find out whether all that the receipts name is there and as it was
///
/// Without more, receipts are read, their signatures judged and their chain followed, and every object has to be there with its
/// length. --objects makes SHA-256 of each, for which no key of any kind is needed: what was flipped, cut, swapped or forged is
/// found. --read-data decrypts and unpacks all of it, too.
///
/// With --state, a check also finds that a receipt which an earlier check has seen is gone.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Check {
    /// Number of a backup, or all
    #[arg(value_name = "N|all", default_value = "all", value_parser = parse_chosen)]
    backup: Chosen,
    #[command(flatten)]
    config: Configured,
    /// Backups of this host [default: the one of the configuration]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Make SHA-256 of every object
    #[arg(long)]
    objects: bool,
    /// Decrypt and unpack everything, too
    #[arg(long, requires = "identity", conflicts_with = "objects")]
    read_data: bool,
    /// File of age identities, for --read-data
    #[arg(long, value_name = "FILE", requires = "read_data")]
    identity: Option<PathBuf>,
    /// Who may have signed; without it signatures are not judged
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    /// Where to remember the newest receipt from check to check
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// End with 4 if signatures were not judged, or nothing tells whether a newer receipt is hidden
    #[arg(long)]
    require_complete: bool,
    /// For scripts, schema sealant.backup-check/1
    #[arg(long)]
    json: bool,
}

/// Which backups.
#[derive(Clone, Copy, Debug)]
struct Chosen(Option<u64>);

const EXAMPLES: &str = "\
Examples:
  sealant backup check --allowed-signers signers
  sealant backup check all --objects --allowed-signers signers --state /var/lib/sealant/check.json
  sealant backup check 123 --read-data --identity key.txt --allowed-signers signers";

const EXITS: exit::Codes = &[
    (Exit::Clean, "nothing is wrong"),
    (Exit::Failed, "the repository cannot be read"),
    (Exit::Usage, "wrong usage"),
    (
        Exit::Findings,
        "an object is missing or is not what its receipt says, a signature does not hold, or the chain is broken",
    ),
    (Exit::Incomplete, "something could not be judged (only with --require-complete)"),
];

#[derive(Serialize)]
struct Report<'r> {
    schema: &'static str,
    host: &'r str,
    receipts: u64,
    objects: Objects<'r>,
    chain: Vec<String>,
    signed: bool,
    newest_known: bool,
    unnamed: &'r [String],
}

#[derive(Serialize)]
struct Objects<'r> {
    named: u64,
    present: u64,
    read: u64,
    bad: &'r [BadObject],
}

impl Check {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let (config, repository) = self.config.open()?;
        let host = self.host.as_deref().unwrap_or(&config.host);
        let signers = self.allowed_signers.as_deref().map(signers).transpose()?;
        let identities = match &self.identity {
            Some(path) => ::backup::config::identities(path)?,
            None => Vec::new(),
        };
        let depth = match (self.read_data, self.objects) {
            (true, _) => Depth::Data(&identities),
            (_, true) => Depth::Objects,
            _ => Depth::Names,
        };
        let checked = ::backup::check::check(&repository, host, self.backup.0, &depth, signers.as_ref());
        let (mut checked, links) = checked?;
        if let Some(path) = &self.state {
            checked.compare_and_record(path, host, &links)?;
        }
        if self.json {
            print_json(&Report::of(host, &checked))?
        } else {
            print(host, &checked)?
        }
        Ok(match checked.is_sound() {
            false => Exit::Findings,
            true if self.require_complete && !(checked.signed && checked.newest_known) => Exit::Incomplete,
            true => Exit::Clean,
        })
    }
}

fn print(host: &str, checked: &Checked) -> Result<(), Failure> {
    crate::output::file::to_stdout(&|out: &mut dyn Write| {
        for bad in &checked.bad {
            writeln!(out, "{}: {}", visible(&bad.object), visible(&bad.what))?;
        }
        checked.breaks.iter().try_for_each(|found| writeln!(out, "{found}"))
    })?;
    info(&format!(
        "{host}: {} receipts; of {} objects {} are there, {} were read, {} are bad",
        checked.receipts,
        checked.named,
        checked.present,
        checked.read,
        checked.bad.len()
    ));
    if !checked.signed {
        warning("signatures were not judged: give --allowed-signers");
    }
    if !checked.unnamed.is_empty() {
        hint(&format!(
            "{} objects are named by no receipt: runs that were cut off leave such, and receipts that were removed",
            checked.unnamed.len()
        ));
    }
    Ok(())
}

impl<'r> Report<'r> {
    fn of(host: &'r str, checked: &'r Checked) -> Self {
        let Checked { named, present, read, .. } = *checked;
        Self {
            schema: "sealant.backup-check/1",
            host,
            receipts: checked.receipts,
            objects: Objects { named, present, read, bad: &checked.bad },
            chain: checked.breaks.iter().map(ToString::to_string).collect(),
            signed: checked.signed,
            newest_known: checked.newest_known,
            unnamed: &checked.unnamed,
        }
    }
}

fn parse_chosen(text: &str) -> Result<Chosen, String> {
    if text == "all" {
        return Ok(Chosen(None));
    }
    let number = text.parse().ok().filter(|number| *number > 0);
    number.map(|number| Chosen(Some(number))).ok_or_else(|| "the number of a backup, or all".to_owned())
}
