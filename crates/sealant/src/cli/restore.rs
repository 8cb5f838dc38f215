//! `sealant restore`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ::backup::Location;
use ::backup::binlogs::Until;
use ::backup::prove::Prover;
use ::backup::restore::{BackupSelector, Event, ExternalLinks, Found, Job, Observer, PointInTime, Request, Target};
use ::transfer::receiver::Owner;
use ::transfer::rekey::open_keyring;
use archive::Digest;
use clap::Args;
use innodb::binlog::LogPosition;
use jiff::Timestamp;
use keyring::WritableKeyring;
use report::{
    reach_messages, restore_messages, restore_plan_messages, restore_progress, restore_status, store_messages,
};

use super::backup::{Events, Reporting, exit_code};
use super::bucket::Bucket;
use super::key_stores::KeyStores;
use super::value;
use crate::exit::{self, Exit};
use crate::output::file;
use crate::output::message::{Failure, say, warning};
use crate::process::{forbid_dumps, set_by_signals};

/// Restore a backup into a directory, proven from the disk before it is moved into place
///
/// Everything is staged in the target, read back from disk and compared with the backup, and every page is decrypted
/// with its key; only then is it moved into place. Nothing is replaced. The same command resumes an interrupted
/// restore. When the server starts on the directory, its own crash recovery does the rest.
///
/// A backup does not contain the keyring: give the server's, or a copy of it, with --keyring, and put it where the
/// server expects it.
///
/// With --json, the events `plan`, `progress` and `committed`, which is the report, or `failed` are written while it
/// runs.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Restore {
    /// Number of the backup, or latest; with a point in time, latest is the newest good one before it
    #[arg(value_name = "N|latest", default_value = "latest")]
    backup: BackupSelector,
    /// Repository: a directory, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "DIR|URL")]
    repository: PathBuf,
    #[command(flatten)]
    bucket: Bucket,
    /// Host whose backup to restore, if the repository has several
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Target directory, which must be empty or not exist
    #[arg(long, value_name = "DIR", required_unless_present = "scratch")]
    into: Option<PathBuf>,
    /// File with age identities, one of which decrypts the backup
    #[arg(long, value_name = "FILE")]
    identity: PathBuf,
    /// File of the allowed signers, as `sealant backup init` prints it and `ssh-keygen -Y verify -f` reads it; without
    /// it, the signature is not verified
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    /// SHA-256 of the receipt, as `sealant backup run` printed it; restores exactly this backup
    #[arg(long, value_name = "HASH")]
    receipt: Option<Digest>,
    /// Directory of a stopped server or of an older restore that already has much of the backup: equal data is copied
    /// from there (without using space, if the file system can), and only the rest is fetched. It is not changed
    #[arg(long, value_name = "DIR")]
    base: Option<PathBuf>,
    /// Restore although the manifest is lost or damaged: find the files in the packs that the receipt names. Owners,
    /// permissions, empty files and directories are not in packs, and files that were dropped since an earlier backup
    /// may come back
    #[arg(long, conflicts_with_all = ["base", "dry_run"])]
    salvage: bool,
    /// Restore although the receipt is lost, from this manifest: hosts/NAME/manifests/NUMBER.age in the repository, or
    /// a copy of it. Nothing shows who wrote it, or whether it is the newest
    #[arg(long, value_name = "FILE", conflicts_with_all = ["backup", "host", "receipt", "allowed_signers", "salvage", "prove", "record"])]
    manifest: Option<PathBuf>,
    /// Restore without links that lead out of the directory; a warning names each. A server would follow them, so
    /// without this option a backup with such links is refused if a server is to start on it (--prove, point in time).
    /// Only older releases made such backups
    #[arg(long)]
    leave_out_links: bool,
    /// Show what would be fetched and written, and whether the keys fit; restore nothing
    #[arg(long)]
    dry_run: bool,
    /// After the restore, start a private server on the files, wait until it has recovered, check its tables, stop it,
    /// and verify every page. It reads no option file of the backup, and nobody can connect to it. The directory is
    /// recovered afterwards, so it is no longer identical to the backup
    #[arg(long, requires_all = ["mysqld", "allowed_signers"], conflicts_with = "dry_run", help_heading = "Proof by a server")]
    prove: bool,
    /// Restore into a new directory below this one, and remove it after the proof, to test the backup
    #[arg(long, value_name = "DIR", requires = "prove", conflicts_with = "into", help_heading = "Proof by a server")]
    scratch: Option<PathBuf>,
    /// Server program, of the version of the backup or newer; it runs as the owner of the files
    #[arg(long, value_name = "FILE", help_heading = "Proof by a server")]
    mysqld: Option<PathBuf>,
    /// Check only this many tables, the largest first [default: all]
    #[arg(long, value_name = "N", requires = "prove", help_heading = "Proof by a server")]
    check_tables: Option<u64>,
    /// Option for that server that the files do not show, as in --prove-option=--lower-case-table-names=1 (repeatable)
    #[arg(
        long,
        value_name = "OPTION",
        requires = "mysqld",
        allow_hyphen_values = true,
        help_heading = "Proof by a server"
    )]
    prove_option: Vec<String>,
    /// Time limit for the recovery of that server
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = value::time, help_heading = "Proof by a server")]
    prove_limit: Duration,
    #[command(flatten)]
    until: UntilArgs,
    /// SHA-256 of the newest receipt of binary logs, as `sealant backup binlogs` printed it; with it, --to-end proves
    /// that none is hidden
    #[arg(long, value_name = "SHA256", requires = "to_end", help_heading = "Point in time")]
    binlog_receipt: Option<Digest>,
    #[command(flatten)]
    keys: KeyStores,
    /// Keyring file of the server that will use the directory, or component_keyring_vault.cnf: new master keys are added
    /// to it, and wrap the keys of the files from then on; a file is created if it does not exist. Also needs the old
    /// keyring (--keyring), or
    /// --key-identity. MySQL only
    #[arg(long, value_name = "KEYRING")]
    rekey: Option<PathBuf>,
    /// File with age identities of the recipients in the section `keys` of the configuration: the backup has the keys
    /// of its files for them, so that --rekey needs no keyring of the server that was backed up
    #[arg(long, value_name = "FILE", requires = "rekey")]
    key_identity: Option<PathBuf>,
    /// Owner of all files, by name or number [default: unchanged]
    #[arg(long, value_name = "USER[:GROUP]")]
    owner: Option<Owner>,
    /// Number of threads
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    streams: u16,
    /// Append the result to this file, as one line of JSON, for `sealant backup report --restores`
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    record: Option<PathBuf>,
    #[command(flatten)]
    reporting: Reporting,
}

/// The point up to which archived binary logs are replayed.
#[derive(Debug, Args)]
#[group(multiple = false, requires = "mysqld", conflicts_with_all = ["salvage", "manifest"])]
struct UntilArgs {
    /// After the restore, replay the archived binary logs (`sealant backup binlogs`) with the server of --mysqld:
    /// everything that was committed at or before this time, such as 2026-11-26T14:05:00Z
    #[arg(long, value_name = "TIME", value_parser = value::timestamp, help_heading = "Point in time")]
    to_time: Option<Timestamp>,
    /// Replay up to the transaction with this GTID, including it
    #[arg(long, value_name = "GTID", help_heading = "Point in time")]
    to_gtid: Option<String>,
    /// Replay up to the transaction with this GTID, excluding it
    #[arg(long, value_name = "GTID", help_heading = "Point in time")]
    before_gtid: Option<String>,
    /// Replay up to this position of the server's binary logs
    #[arg(long, value_name = "FILE:OFFSET", help_heading = "Point in time")]
    to_position: Option<LogPosition>,
    /// Replay up to the end of the archive
    #[arg(long, help_heading = "Point in time")]
    to_end: bool,
}

impl UntilArgs {
    fn until(&self) -> Option<Until> {
        self.to_time
            .map(Until::Time)
            .or_else(|| self.to_gtid.clone().map(Until::Gtid))
            .or_else(|| self.before_gtid.clone().map(Until::BeforeGtid))
            .or_else(|| self.to_position.clone().map(Until::Position))
            .or_else(|| self.to_end.then_some(Until::End))
    }
}

const EXAMPLES: &str = "\
Examples:
  sealant restore --repository /backup/repo --into /var/lib/mysql --identity key.txt \\
      --allowed-signers signers --keyring /etc/mysql/keyring --owner mysql:mysql
  sealant restore --repository /backup/repo --scratch /var/tmp --identity key.txt --allowed-signers signers \\
      --keyring keyring-copy --owner mysql:mysql --prove --mysqld /usr/sbin/mysqld
  sealant restore 123 --repository /backup/repo --into /scratch/mysql --identity key.txt --allowed-signers signers";

const EXITS: exit::Codes = &[
    (Exit::Clean, "restored, signed, and every page proven"),
    (Exit::Failed, "not restored; the same command resumes"),
    (
        Exit::Findings,
        "restored as it was backed up, with damaged pages, without packs that are lost (--salvage), or the server of --prove found errors",
    ),
    (
        Exit::Incomplete,
        "restored, but something could not be judged: the signature (no --allowed-signers), pages (no key), whether nothing newer is hidden (latest without --receipt, --to-end without --binlog-receipt), the list of files (--salvage), or who wrote the backup (--manifest)",
    ),
];

impl Restore {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        forbid_dumps();
        let events = Events::new(&self.reporting.script);
        self.restore(&events).inspect_err(|failure| events.failed(failure))
    }

    fn restore(&self, events: &Events<'_>) -> Result<Exit, Failure> {
        self.record.as_deref().map(file::check_writable).transpose()?;
        let location = self.bucket.location(&self.repository)?;
        let (found, point) = self.request(&location).find_until(self.until.until().as_ref())?;
        let mut keys = self.keys.read(None)?;
        self.key_identity.as_deref().map(|path| found.add_keys(path, &mut keys)).transpose()?;
        if self.dry_run {
            return self.show_plan(&found, point.as_ref(), &keys, events);
        }
        let rekey = self.rekey.as_deref().map(open_keyring).transpose()?;
        let stop = Arc::default();
        let job = self.job(&found, point.as_ref(), &keys, rekey.as_ref(), &stop);
        let (status, opened) = (self.reporting.status(), &found.opened);
        let ended = job.run(&Observer {
            restoring: &|progress, work| {
                let began = Instant::now();
                let following = || {
                    events.tick(progress);
                    restore_progress(progress, began.elapsed())
                };
                let restored = self.reporting.status().watch(following, work);
                // A short restore ends before anybody has looked at its progress.
                events.begun(progress);
                restored
            },
            event: &|event| {
                // Until then, a signal ends the program at once. Now a private server may start, with copies of the keys.
                if self.mysqld.is_some()
                    && matches!(event, Event::Restored { .. })
                    && let Err(failure) = set_by_signals(&stop)
                {
                    warning(&failure.error);
                }
                restore_status(&event).iter().for_each(|text| status.show(text));
                status.say(&restore_messages(opened, &event));
            },
        });
        // Also if it failed: which older versions of objects were used.
        say(&store_messages(found.repository()));
        let ended = ended?;
        events.committed(&ended.report);
        Ok(exit_code(ended.outcome))
    }

    fn show_plan(
        &self,
        found: &Found,
        point: Option<&PointInTime>,
        keys: &::verify::Keys,
        events: &Events<'_>,
    ) -> Result<Exit, Failure> {
        point.and_then(PointInTime::planned).iter().for_each(|reach| say(&reach_messages(reach)));
        let into = self.into.as_deref().unwrap_or_else(|| Path::new("."));
        let links = ExternalLinks::new(self.leave_out_links, point.is_some());
        let plan = found.plan(keys, into, self.rekey.is_some(), links)?;
        events.plan(&(&plan).into());
        say(&restore_plan_messages(into, &found.opened, &plan));
        say(&store_messages(found.repository()));
        Ok(Exit::Clean)
    }

    fn request<'r>(&'r self, repository: &'r Location) -> Request<'r> {
        Request {
            repository,
            host: self.host.as_deref(),
            backup: self.backup,
            identity: &self.identity,
            allowed_signers: self.allowed_signers.as_deref(),
            receipt: self.receipt,
            binlog_receipt: self.binlog_receipt,
            manifest: self.manifest.as_deref(),
        }
    }

    fn job<'j>(
        &'j self,
        found: &'j Found,
        point: Option<&'j PointInTime>,
        keys: &'j ::verify::Keys,
        rekey: Option<&'j WritableKeyring>,
        stop: &Arc<AtomicBool>,
    ) -> Job<'j> {
        let scratch = self.scratch.as_deref().map(Target::ScratchBelow);
        let target = self.into.as_deref().map(Target::Directory).or(scratch);
        Job {
            found,
            point,
            keys,
            target: target.unwrap_or_else(|| Target::Directory(Path::new("."))),
            owner: self.owner,
            rekey,
            base: self.base.as_deref(),
            salvage: self.salvage,
            leave_out_links: self.leave_out_links,
            streams: self.streams,
            server: self.server(stop),
            prove: self.prove,
            record: self.record.as_deref(),
        }
    }

    fn server(&self, stop: &Arc<AtomicBool>) -> Option<Prover> {
        Some(Prover {
            mysqld: self.mysqld.clone()?,
            stores: self.keys.named(),
            check_tables: self.check_tables,
            options: self.prove_option.clone(),
            limit: self.prove_limit,
            streams: self.streams,
            stop: Arc::clone(stop),
        })
    }
}
