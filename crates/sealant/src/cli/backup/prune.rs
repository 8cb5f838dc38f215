//! `sealant backup prune`.

use ::backup::prune::{PruneOptions, PruneReport, Pruned, plan, prune};
use clap::Args;
use report::{prune_messages, prune_progress, write_prune_plan};

use super::{Configured, Reporting};
use crate::cli::change::Consent;
use crate::exit::{self, Exit};
use crate::output::message::{Failure, say};

/// Remove backups that the retention rules do not keep, and data that no backup needs
///
/// The section `retention` of the configuration says how many backups are kept: the newest ones, and the last good one
/// of each of the latest days, weeks, months and years. At least `min_good` good ones are kept, and always the newest
/// of each host. Then data that no kept backup needs is removed, if it is older than `keeper.orphan_days` (default 7),
/// so that a backup may run meanwhile.
///
/// What will be removed is first declared in a signed record, so that `sealant backup check` can tell it from a loss.
/// Nothing is removed if a receipt is missing or not signed by an allowed signer, or if a backup since the last prune
/// has less than half of the data of the one before it. After an interrupted prune every backup that is left can be
/// restored; the next prune removes the rest.
///
/// The configuration can be that of the host, or that of a keeper on another machine, with only the sections
/// `repository`, `keeper` and `retention`. The host itself then needs no right to delete.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Prune {
    #[command(flatten)]
    config: Configured,
    /// Host whose backups to prune [default: all hosts in the repository]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Prune even if a backup has less than half of the data of the one before it
    #[arg(long)]
    allow_shrunk: bool,
    /// Prune even if receipts are missing that no earlier prune removed
    #[arg(long)]
    allow_breaks: bool,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    reporting: Reporting,
}

const EXAMPLES: &str = "\
Examples:
  sealant backup prune --dry-run
  sealant backup prune --config /etc/sealant/keeper.toml --yes

Configuration (make the key with ssh-keygen -t ed25519 -N '' -f /etc/sealant/keeper.key):
  [keeper]
  signing_key = \"/etc/sealant/keeper.key\"
  # Has a line for each host, and: keeper namespaces=\"sealant-prune\" ssh-ed25519 ...
  allowed_signers = \"/etc/sealant/signers\"
  [retention]
  keep_last = 7
  daily = 14
  weekly = 8
  monthly = 12
  yearly = 0
  min_good = 2";

const EXITS: exit::Codes = &[
    (Exit::Clean, "pruned, or nothing to remove"),
    (Exit::Failed, "the repository cannot be read or changed, or a signature is invalid"),
    (Exit::Findings, "nothing is removed: a receipt is missing, or a backup shrank"),
];

impl Prune {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let (keeper, repository) = self.config.open_as_keeper()?;
        let options =
            PruneOptions { host: self.host.clone(), allow_shrunk: self.allow_shrunk, allow_breaks: self.allow_breaks };
        // The store dates its objects by its own clock: with a clock that is days ahead, those of a running backup would
        // be old enough to be removed.
        let plan = plan(&repository, &keeper, &options, repository.store().now())?;
        let script = &self.reporting.script;
        if self.consent.dry_run && script.write(&PruneReport::new(&plan, None))? {
            return Ok(Exit::Clean);
        }
        let mut text = Vec::new();
        write_prune_plan(&plan, keeper.orphan_days, &mut text)?;
        if !self.consent.given(&String::from_utf8_lossy(&text))? {
            return Ok(Exit::Clean);
        }
        let status = self.reporting.status();
        let pruned = prune(&repository, &keeper, &plan, &|pruned: &Pruned| status.show(&prune_progress(pruned)));
        status.clear();
        let pruned = pruned?;
        if !script.write(&PruneReport::new(&plan, Some(pruned)))? {
            say(&prune_messages(&plan, &pruned));
        }
        Ok(Exit::Clean)
    }
}
