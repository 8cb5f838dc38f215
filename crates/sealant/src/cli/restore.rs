//! `sealant restore`.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::time::Instant;

use ::backup::Repository;
use ::backup::restore::{BackupSelector, Opened, Options, Progress, Restored};
use ::transfer::receiver::Owner;
use archive::Digest;
use clap::Args;
use report::size;
use serde::Serialize;
use store::Directory;

use super::backup::watch::{part, watch};
use super::backup::{print_json, signers};
use super::receive::parse_owner;
use super::verify::{KeyStores, forbid_dumps};
use crate::exit::{self, Exit};
use crate::output::message::{Failure, hint, info, warning};

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
    #[arg(value_name = "N|latest", default_value = "latest", value_parser = parse_backup)]
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
    #[arg(long, value_name = "HASH", value_parser = Digest::from_str)]
    receipt: Option<Digest>,
    #[command(flatten)]
    keys: KeyStores,
    /// Owner of everything, by names or numbers [default: as it was]
    #[arg(long, value_name = "USER[:GROUP]", value_parser = parse_owner)]
    owner: Option<Owner>,
    /// Threads
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    streams: u16,
    /// Write what was restored to standard output, schema sealant.restore/1
    #[arg(long)]
    json: bool,
    /// No status line on stderr
    #[arg(long, short)]
    quiet: bool,
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
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        let store = Directory::open(&self.repository).map_err(::backup::BackupError::from)?;
        let repository = Repository::open(Box::new(store))?;
        let host = repository.host(self.host.as_deref())?;
        let identities = ::backup::config::identities(&self.identity)?;
        let signers = self.allowed_signers.as_deref().map(signers).transpose()?;
        let opened = ::backup::restore::open(&repository, &host, self.backup, signers.as_ref(), self.receipt);
        let opened = opened?;
        let keys = self.keys.read(None)?;
        let options = Options {
            into: self.into.clone(),
            identities: &identities,
            keys: &keys,
            signers: signers.as_ref(),
            owner: self.owner,
            streams: self.streams,
        };
        let (began, progress) = (Instant::now(), Progress::default());
        let words = || words(&progress);
        let work = || ::backup::restore::restore(&repository, &opened, &options, &progress);
        let restored = watch(self.quiet || self.json, words, work)?;
        self.tell(&opened, &restored, &progress, began.elapsed().as_secs_f64())?;
        Ok(exit(&opened, &restored))
    }

    fn tell(&self, opened: &Opened, restored: &Restored, progress: &Progress, seconds: f64) -> Result<(), Failure> {
        let (receipt, pages) = (opened.receipt(), restored.pages);
        if restored.finished {
            info("only a restore that was cut off at its very end had to be finished");
        }
        info(&format!(
            "restored backup {} of {} into {}: {} in {seconds:.1} s, {} pages proven; tree {}",
            restored.number,
            receipt.host,
            self.into.display(),
            size(restored.bytes),
            pages.proven,
            restored.tree
        ));
        if pages.bad > 0 {
            warning(&format!(
                "{} pages are damaged, as they were when they were backed up; `sealant verify` names them",
                pages.bad
            ));
        }
        if pages.unproven > 0 {
            warning("pages could not be proven, since no key at hand opens them: give --keyring or --mariadb-key-file");
        }
        if !opened.signed {
            warning("the signature was not judged: give --allowed-signers");
        }
        if !opened.newest_known {
            warning(
                "whoever holds the repository could hide a newer backup: it is not known that this one is the newest",
            );
            hint(&format!("with --receipt {} it would be", opened.sha256()));
        }
        if self.json { print_json(&Report::of(opened, restored, progress, seconds)) } else { Ok(()) }
    }
}

fn words(progress: &Progress) -> String {
    if progress.proven_bytes.load(Ordering::Relaxed) > 0 {
        return part("reading back", &progress.proven_bytes, &progress.total_bytes);
    }
    part("writing", &progress.written_bytes, &progress.total_bytes)
}

fn exit(opened: &Opened, restored: &Restored) -> Exit {
    let complete = opened.signed && opened.newest_known && restored.pages.unproven == 0;
    match restored.pages.bad {
        1.. => Exit::Findings,
        _ if complete => Exit::Clean,
        _ => Exit::Incomplete,
    }
}

/// A backup, by its number, or the newest.
pub(crate) fn parse_backup(text: &str) -> Result<BackupSelector, String> {
    if text == "latest" {
        return Ok(BackupSelector::Latest);
    }
    let number = text.parse().ok().filter(|number| *number > 0);
    number.map(BackupSelector::Number).ok_or_else(|| "the number of a backup, or latest".to_owned())
}

/// What was restored, for scripts.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    host: String,
    number: u64,
    receipt: String,
    tree: String,
    packs: u64,
    bytes: Bytes,
    pages: Pages,
    signed: bool,
    newest_known: bool,
    seconds: f64,
}

#[derive(Serialize)]
struct Bytes {
    fetched: u64,
    written: u64,
    kept: u64,
}

#[derive(Serialize)]
struct Pages {
    proven: u64,
    bad: u64,
    unproven: u64,
}

impl Report {
    fn of(opened: &Opened, restored: &Restored, progress: &Progress, seconds: f64) -> Self {
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let ::backup::restore::Pages { proven, bad, unproven } = restored.pages;
        Self {
            schema: "sealant.restore/1",
            host: opened.receipt().host.clone(),
            number: restored.number,
            receipt: opened.sha256().to_string(),
            tree: restored.tree.to_string(),
            packs: restored.packs,
            bytes: Bytes {
                fetched: load(&progress.fetched_bytes),
                written: load(&progress.written_bytes),
                kept: load(&progress.kept_bytes),
            },
            pages: Pages { proven, bad, unproven },
            signed: opened.signed,
            newest_known: opened.newest_known,
            seconds,
        }
    }
}
