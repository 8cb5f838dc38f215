//! `sealant restore`.

use std::path::PathBuf;
use std::time::Instant;

use ::backup::config::{allowed_signers, identities};
use ::backup::init::open_directory;
use ::backup::report::RestoreReport;
use ::backup::restore::{BackupSelector, Options, Progress, open, plan, restore};
use ::transfer::receiver::Owner;
use archive::Digest;
use clap::Args;
use report::{restore_messages, restore_plan_messages, restore_progress};

use super::backup::Reporting;
use super::verify::{KeyStores, forbid_dumps};
use crate::exit::{self, Exit};
use crate::output::message::{Failure, say};

/// Restore a backup into a directory, proven from the disk before it is put in place
///
/// Everything is staged in the target, read back from the disk and compared with what was backed up, and every page is
/// opened with the key; only then is it moved into place. Nothing is replaced. A restore that was cut off goes on when the same
/// command is given again. The server's own recovery does the rest when it starts.
///
/// The keyring is not in a backup: give the server's, or a copy of it, with --keyring, and put it where the server will look.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Restore {
    /// Number of the backup, or latest
    #[arg(value_name = "N|latest", default_value = "latest")]
    backup: BackupSelector,
    /// The repository
    #[arg(long, value_name = "DIR")]
    repository: PathBuf,
    /// Whose backup, if the repository has those of several hosts
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// The target: a directory that does not exist, or an empty one
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// File of age identities, one of which opens the backup
    #[arg(long, value_name = "FILE")]
    identity: PathBuf,
    /// Who may have signed, as `sealant backup init` printed it and `ssh-keygen -Y verify -f` reads it; without it the
    /// signature is not judged
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    /// SHA-256 of the receipt, as the run printed it: the backup is that one and no other
    #[arg(long, value_name = "HASH")]
    receipt: Option<Digest>,
    /// A directory that has much of the backup already, of a stopped server or an older restore: what is the same is copied from
    /// there (without taking room, where the file system can), and only the rest is fetched. It is not changed
    #[arg(long, value_name = "DIR")]
    base: Option<PathBuf>,
    /// Say what would be fetched and written, and whether the keys fit; restore nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    keys: KeyStores,
    /// Owner of everything, by names or numbers [default: as it was]
    #[arg(long, value_name = "USER[:GROUP]")]
    owner: Option<Owner>,
    /// Threads
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    streams: u16,
    #[command(flatten)]
    reporting: Reporting,
}

const EXAMPLES: &str = "\
Examples:
  sealant restore --repository /backup/repo --into /var/lib/mysql --identity key.txt \\
      --allowed-signers signers --keyring /etc/mysql/keyring --owner mysql:mysql
  sealant restore 123 --repository /backup/repo --into /scratch/mysql --identity key.txt --allowed-signers signers";

const EXITS: exit::Codes = &[
    (Exit::Clean, "restored, signed, and every page proven"),
    (Exit::Failed, "not restored; the same command goes on"),
    (Exit::Usage, "wrong usage"),
    (Exit::Findings, "restored as it was backed up, and damaged pages are in it"),
    (
        Exit::Incomplete,
        "restored, but something could not be judged: the signature (no --allowed-signers), pages (no key), or whether the backup is the newest (latest without --receipt)",
    ),
];

impl Restore {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        forbid_dumps();
        let repository = open_directory(&self.repository)?;
        let host = repository.host(self.host.as_deref())?;
        let identities = identities(&self.identity)?;
        let signers = self.allowed_signers.as_deref().map(allowed_signers).transpose()?;
        let opened = open(&repository, &host, self.backup, signers.as_ref(), self.receipt)?;
        let keys = self.keys.read(None)?;
        if self.dry_run {
            let plan = plan(&repository, &opened, &identities, &keys, &self.into)?;
            say(&restore_plan_messages(&self.into, &opened, &plan));
            return Ok(Exit::Clean);
        }
        let options = Options {
            into: self.into.clone(),
            identities: &identities,
            keys: &keys,
            signers: signers.as_ref(),
            owner: self.owner,
            base: self.base.clone(),
            streams: self.streams,
        };
        let (began, progress) = (Instant::now(), Progress::default());
        let work = || restore(&repository, &opened, &options, &progress);
        let restored = self.reporting.status().watch(|| restore_progress(&progress), work)?;
        let seconds = began.elapsed().as_secs_f64();
        say(&restore_messages(&self.into, &opened, &restored, seconds));
        self.reporting.script.write(&RestoreReport::new(&opened, &restored, &progress, seconds))?;
        Ok(match restored.pages.bad {
            1.. => Exit::Findings,
            _ if restored.is_complete(&opened) => Exit::Clean,
            _ => Exit::Incomplete,
        })
    }
}
