//! `sealant restore`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::backup::Location;
use ::backup::binlogs::Until;
use ::backup::prove::{Proof, Prover};
use ::backup::report::RestoreReport;
use ::backup::restore::{
    BackupSelector, Found, Outcome, PointInTime, Request, RestoreOptions, RestoreProgress, Restored, TemporaryDirectory,
};
use ::transfer::receiver::Owner;
use archive::Digest;
use archive::binlog::BinlogPosition;
use clap::Args;
use jiff::Timestamp;
use report::{
    proof_messages, reach_messages, replay_messages, restore_messages, restore_plan_messages, restore_progress,
};

use super::backup::Reporting;
use super::bucket::Bucket;
use super::receive::writable_keyring;
use super::value;
use super::verify::{KeyStores, forbid_dumps};
use crate::exit::{self, Exit};
use crate::output::file;
use crate::output::message::{Failure, say};

/// Restore a backup into a directory, proven from the disk before it is moved into place
///
/// Everything is staged in the target, read back from disk and compared with the backup, and every page is decrypted
/// with its key; only then is it moved into place. Nothing is replaced. The same command resumes an interrupted
/// restore. The server's own recovery does the rest when it starts.
///
/// A backup does not contain the keyring: give the server's, or a copy of it, with --keyring, and put it where the
/// server expects it.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Restore {
    /// Number of the backup, or latest: with a point in time, the newest good one before it
    #[arg(value_name = "N|latest", default_value = "latest")]
    backup: BackupSelector,
    /// The repository: a directory, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "DIR|URL")]
    repository: PathBuf,
    #[command(flatten)]
    bucket: Bucket,
    /// Host whose backup to restore, if the repository has several
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// The target: a directory that does not exist, or an empty one
    #[arg(long, value_name = "DIR", required_unless_present = "scratch")]
    into: Option<PathBuf>,
    /// File of age identities, one of which opens the backup
    #[arg(long, value_name = "FILE")]
    identity: PathBuf,
    /// File of the accepted signers, as printed by `sealant backup init` and read by `ssh-keygen -Y verify -f`; without
    /// it, the signature is not judged
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    /// SHA-256 of the receipt, as the run printed it: restores exactly this backup
    #[arg(long, value_name = "HASH")]
    receipt: Option<Digest>,
    /// A directory that already has much of the backup, of a stopped server or an older restore: equal data is copied
    /// from there (without using space, if the file system can), and only the rest is fetched. It is not changed
    #[arg(long, value_name = "DIR")]
    base: Option<PathBuf>,
    /// The manifest is lost or damaged: find the files in the packs that the receipt names. Owners, permissions, empty files
    /// and directories are not in packs, and files that were dropped since an earlier backup may come back
    #[arg(long, conflicts_with_all = ["base", "dry_run"])]
    salvage: bool,
    /// The receipt is lost: restore what this manifest lists, hosts/NAME/manifests/NUMBER.age in the repository or a copy of
    /// it. Nothing shows who wrote it, or whether it is the newest
    #[arg(long, value_name = "FILE", conflicts_with_all = ["backup", "host", "receipt", "allowed_signers", "salvage", "prove", "record"])]
    manifest: Option<PathBuf>,
    /// Show what would be fetched and written, and whether the keys fit; restore nothing
    #[arg(long)]
    dry_run: bool,
    /// Then start a private server on the restored files, wait until it has recovered, check its tables, stop it, and
    /// verify every page. It follows no option of the backup, and nobody can reach it. The directory is recovered
    /// afterwards
    #[arg(long, requires_all = ["mysqld", "allowed_signers"], conflicts_with = "dry_run", help_heading = "Proof by a server")]
    prove: bool,
    /// Restore into a new directory below this one, and remove it after the proof: a test of the backup
    #[arg(long, value_name = "DIR", requires = "prove", conflicts_with = "into", help_heading = "Proof by a server")]
    scratch: Option<PathBuf>,
    /// Program of the server, of the version of the backup or newer; it runs as the owner of the files
    #[arg(long, value_name = "FILE", help_heading = "Proof by a server")]
    mysqld: Option<PathBuf>,
    /// Check only this many tables, the largest first [default: all]
    #[arg(long, value_name = "N", requires = "prove", help_heading = "Proof by a server")]
    check_tables: Option<u64>,
    /// An option for that server that the files do not show, as in --prove-option=--lower-case-table-names=1
    /// (repeatable)
    #[arg(
        long,
        value_name = "OPTION",
        requires = "mysqld",
        allow_hyphen_values = true,
        help_heading = "Proof by a server"
    )]
    prove_option: Vec<String>,
    /// Time limit of the recovery
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = value::time, help_heading = "Proof by a server")]
    prove_limit: Duration,
    #[command(flatten)]
    until: UntilArgs,
    /// With --to-end: SHA-256 of the newest receipt of binary logs, as `sealant backup binlogs` printed it; shows that none is
    /// hidden
    #[arg(long, value_name = "SHA256", requires = "to_end", help_heading = "Point in time")]
    binlog_receipt: Option<Digest>,
    #[command(flatten)]
    keys: KeyStores,
    /// Keyring file of the server that will use the directory: new master keys are added to it, and from then on wrap the
    /// keys of the files; it is created if it does not exist. Also needs the old keyring (--keyring), or --key-identity. MySQL only
    #[arg(long, value_name = "KEYRING")]
    rekey: Option<PathBuf>,
    /// File of age identities of the recipients under `keys` in the configuration: the backup has the keys of its files for
    /// them, so that --rekey needs no keyring of the server that was backed up
    #[arg(long, value_name = "FILE", requires = "rekey")]
    key_identity: Option<PathBuf>,
    /// Owner of everything, by names or numbers [default: unchanged]
    #[arg(long, value_name = "USER[:GROUP]")]
    owner: Option<Owner>,
    /// Threads
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    streams: u16,
    /// Append the result to this file, as a line of JSON: `sealant backup report --restores` reads it
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    record: Option<PathBuf>,
    #[command(flatten)]
    reporting: Reporting,
}

/// The point up to which archived binary logs are replayed.
#[derive(Debug, Args)]
#[group(multiple = false, requires = "mysqld", conflicts_with_all = ["salvage", "manifest"])]
struct UntilArgs {
    /// Then replay the archived binary logs (`sealant backup binlogs`), by the server of --mysqld: everything that was committed at
    /// or before this time, such as 2026-11-26T14:05:00Z
    #[arg(long, value_name = "TIME", value_parser = value::timestamp, help_heading = "Point in time")]
    to_time: Option<Timestamp>,
    /// The same, up to the transaction with this GTID
    #[arg(long, value_name = "GTID", help_heading = "Point in time")]
    to_gtid: Option<String>,
    /// The same, without the transaction with this GTID and all after it
    #[arg(long, value_name = "GTID", help_heading = "Point in time")]
    before_gtid: Option<String>,
    /// The same, up to this position of the server's binary log
    #[arg(long, value_name = "FILE:OFFSET", value_parser = position, help_heading = "Point in time")]
    to_position: Option<BinlogPosition>,
    /// The same, up to the end of the archive
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

/// Parses a position of a binary log.
fn position(text: &str) -> Result<BinlogPosition, String> {
    let (file, offset) = text.rsplit_once(':').unwrap_or_default();
    let offset = offset.parse().map_err(|_| "the name of a log, a colon and an offset".to_owned())?;
    Ok(BinlogPosition { file: file.to_owned(), offset })
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
        self.record.as_deref().map(file::check_writable).transpose()?;
        let (found, point, keys) = self.find()?;
        let scratch = self.scratch.as_deref().map(TemporaryDirectory::below).transpose()?;
        let of_scratch = || scratch.as_ref().map(TemporaryDirectory::path);
        let into = self.into.as_deref().or_else(of_scratch).unwrap_or_else(|| Path::new("."));
        if self.dry_run {
            point.iter().filter_map(PointInTime::planned).for_each(|reach| say(&reach_messages(reach)));
            say(&restore_plan_messages(into, &found.opened, &found.plan(&keys, into, self.rekey.is_some())?));
            return Ok(Exit::Clean);
        }
        let (began, progress) = (Instant::now(), RestoreProgress::default());
        let mut restored = self.restore(&found, into, &keys, &progress)?;
        let seconds = began.elapsed().as_secs_f64();
        say(&restore_messages(into, &found.opened, &restored, seconds));
        let report = RestoreReport::new(&found.opened, &restored, &progress, seconds);
        let status = self.reporting.status();
        let show = |bytes: u64| status.show(&format!("{} of binary logs replayed", ::verify::size(bytes)));
        let replay =
            |(point, prover): (&PointInTime, Prover)| point.replay(&found, &mut restored, into, &keys, &prover, &show);
        let replayed = point.as_ref().zip(self.prover()).map(replay);
        status.clear();
        let replayed = replayed.transpose()?;
        replayed.iter().for_each(|replayed| say(&replay_messages(replayed)));
        let report = replayed.iter().fold(report, RestoreReport::replayed);
        let prove = |prover| restored.prove(into, &found.opened, &keys, &prover, &|text| status.show(text));
        let proof = self.prover().filter(|_| self.prove).map(prove);
        status.clear();
        let proof = proof.transpose()?;
        self.report(report, proof.as_ref(), seconds)?;
        Ok(exit_code(restored.outcome(&found.opened, proof.as_ref())))
    }

    fn find(&self) -> Result<(Found, Option<PointInTime>, ::verify::Keys), Failure> {
        let location = self.bucket.location(&self.repository)?;
        let request = self.request(&location);
        let (found, point) = match self.until.until() {
            Some(until) => request.find_for(&until).map(|(found, point)| (found, Some(point)))?,
            None => (request.find()?, None),
        };
        let mut keys = self.keys.read(None)?;
        self.key_identity.as_deref().map(|path| found.add_keys(path, &mut keys)).transpose()?;
        Ok((found, point, keys))
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

    fn restore(
        &self,
        found: &Found,
        into: &Path,
        keys: &::verify::Keys,
        progress: &RestoreProgress,
    ) -> Result<Restored, Failure> {
        let rekey = self.rekey.as_deref().map(writable_keyring).transpose()?;
        let options = RestoreOptions {
            rekey: rekey.as_ref(),
            into: into.to_owned(),
            identities: &found.identities,
            keys,
            owner: self.owner,
            base: self.base.clone(),
            salvage: self.salvage,
            streams: self.streams,
        };
        let work = || found.restore(&options, progress);
        Ok(self.reporting.status().watch(|| restore_progress(progress), work)?)
    }

    fn report(&self, report: RestoreReport, proof: Option<&Proof>, seconds: f64) -> Result<(), Failure> {
        proof.iter().for_each(|proof| say(&proof_messages(proof, seconds)));
        let report = proof.into_iter().fold(report, RestoreReport::proven);
        self.record.as_deref().map(|path| report.record(path)).transpose()?;
        self.reporting.script.write(&report)?;
        Ok(())
    }

    fn prover(&self) -> Option<Prover> {
        let new_stores =
            |keyring: &PathBuf| ::verify::KeyStores { keyrings: vec![keyring.clone()], ..Default::default() };
        Some(Prover {
            mysqld: self.mysqld.clone()?,
            stores: self.rekey.as_ref().map_or_else(|| self.keys.named(), new_stores),
            check_tables: self.check_tables,
            options: self.prove_option.clone(),
            limit: self.prove_limit,
            streams: self.streams,
        })
    }
}

const fn exit_code(outcome: Outcome) -> Exit {
    match outcome {
        Outcome::Proven => Exit::Clean,
        Outcome::Damaged => Exit::Findings,
        Outcome::Unjudged => Exit::Incomplete,
    }
}
