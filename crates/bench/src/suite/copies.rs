//! What encryption costs backups and copies of a server's data directory.
//!
//! Two servers with the same rows, one of them with encrypted tables, are filled and shut down. Both directories are
//! backed up in turn; the encrypted one is also copied over the loopback interface, with and without encryption.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use pki::KeyType;

use super::{Collected, Outcome, Watch, require_room, transfer::TransferSuite};
use crate::{
    Arm, CopyPeer, Environment, Error, Experiment, ServerArm, Settings, Subject, TableSet, TemporaryDirectory, Tree,
    Work,
    backup::{AgeKey, BackupTool, Sealant, Workspace},
    cache,
    oltp::{BenchServer, ServerSetup, preparation},
    tls::{authority, is_mariadb, issue, version_of},
};

/// Name of the experiment with backups.
pub(crate) const BACKUP: &str = "backup into an empty repository";
/// Part of the name of the experiment with copies.
pub(crate) const COPY: &str = "copy over loopback";
/// This program's arm of that experiment.
pub(crate) const ENCRYPTED_COPY: &str = "sealant";
/// Arms in clear text, the preferred one first: it uses the network, too.
pub(crate) const CLEAR_COPIES: [&str; 2] = ["tar-socat", "cp"];
/// Nothing is committed while the directories are measured: a large redo log would only be copied.
pub(super) const SMALL_LOGS: [&str; 2] = ["--loose-innodb-redo-log-capacity=64M", "--loose-innodb-log-file-size=64M"];
/// The servers are not loaded.
pub(super) const POOL_BYTES: u64 = 128 << 20;
/// System tables, redo and undo logs of a new server.
const EMPTY_BYTES: u64 = 200 << 20;
/// Lowest rate at which a directory is backed up or copied.
const BYTES_PER_SECOND: u64 = 150_000_000;

/// Parameters of the measurement.
#[derive(Debug)]
pub(crate) struct CopiesSuite<'a> {
    /// This program.
    pub(crate) program: &'a Path,
    /// The server program.
    pub(crate) server: &'a Path,
    /// Directory below which everything is made and removed.
    pub(crate) directory: &'a Path,
    pub(crate) tables: TableSet,
    pub(crate) settings: Settings<'a>,
    pub(crate) stopped: &'a Arc<AtomicBool>,
}

/// A stopped server's directory, and how it is backed up.
struct Source<'a> {
    arm: ServerArm,
    tree: Tree,
    sealant: Sealant<'a>,
    workspace: Workspace,
}

/// Time to fill and to shut down both servers.
pub(crate) fn preparation_of(tables: &TableSet) -> Duration {
    preparation(tables) * 2 + Duration::from_secs(5)
}

/// Longest time to back up or to copy a directory once.
pub(crate) fn run_time(tables: &TableSet) -> Duration {
    let milliseconds = tables.bytes().saturating_add(EMPTY_BYTES).saturating_mul(1000) / BYTES_PER_SECOND;
    Duration::from_millis(milliseconds)
}

/// Two data directories, a backup of each and a copy have to fit; or one directory, a donor's and a joiner's.
pub(crate) fn check_room(directory: &Path, scratch: &TemporaryDirectory, tables: &TableSet) -> Result<(), Error> {
    let needed = tables.bytes().saturating_mul(5).div_euclid(4).saturating_add(EMPTY_BYTES).saturating_mul(5);
    require_room(directory, scratch, needed)
}

impl CopiesSuite<'_> {
    /// Runs the measurement.
    ///
    /// # Errors
    /// [`Error`]: a server could not be run, a backup or copy failed, or it was interrupted.
    pub(crate) fn run(&self, watch: &Watch<'_>) -> Result<Outcome, Error> {
        let environment = Environment::now(self.directory);
        let scratch = TemporaryDirectory::below(self.directory)?;
        check_room(self.directory, &scratch, &self.tables)?;
        let mut collected = Collected::default();
        let directories = self.fill(&scratch, &mut collected, watch)?;
        self.settings.check_stopped()?;
        let key = AgeKey::generate(scratch.path())?;
        let sources = directories.iter().map(|(arm, datadir, stores)| {
            let program = self.program.to_owned();
            let sealant = Sealant { program, stores, key_options: &[], key: key.clone(), pages: "open" };
            let workspace = Workspace::at(scratch.path().join(format!("backup-{}", arm.as_str())));
            Ok(Source { arm: *arm, tree: Tree::scan(datadir)?, sealant, workspace })
        });
        let sources = sources.collect::<Result<Vec<_>, Error>>()?;
        // Both directories have the same rows: the ratio is that of the times.
        let bytes = sources.first().map_or(0, |source| source.tree.bytes());
        let arms = sources.iter().map(|source| source.backup(&scratch, bytes));
        let pair = (ServerArm::TABLES.as_str().to_owned(), ServerArm::CLEAR.as_str().to_owned());
        collected.run(Experiment::new(BACKUP).arms(arms), &self.settings, &[pair], watch)?;
        let backed_up = collected.experiments.iter_mut().flat_map(|experiment| &mut experiment.arms);
        backed_up.zip(&sources).for_each(|(arm, source)| arm.data_bytes = Some(source.tree.bytes()));
        self.copy(&sources, &scratch, &mut collected, watch)?;
        collected
            .notes
            .push("a backup is encrypted, and every page is verified, with and without encrypted tables".to_owned());
        Ok(collected.finish(environment, Subject::default()))
    }

    /// Fills both servers and shuts them down. Returns their data directories with the keys of the encrypted one.
    fn fill(
        &self,
        scratch: &TemporaryDirectory,
        collected: &mut Collected,
        watch: &Watch<'_>,
    ) -> Result<Vec<(ServerArm, PathBuf, verify::KeyStores)>, Error> {
        let (ca, authority) = authority(&scratch.path().join("certificates"))?;
        let pair = issue(&authority, "server", KeyType::EcdsaP256)?;
        let options = SMALL_LOGS.map(str::to_owned);
        let setup = ServerSetup {
            server: self.server,
            directory: scratch.path(),
            authority: &ca,
            pair: &pair,
            mariadb: is_mariadb(&version_of(self.server)?),
            pool_bytes: POOL_BYTES,
            options: &options,
            tables: self.tables,
            warm_up: false,
            stopped: self.stopped,
        };
        let servers = [(ServerArm::CLEAR, "a"), (ServerArm::TABLES, "b")].map(|(arm, directory)| {
            watch(&format!("a server with the tables of {}", arm.as_str()));
            let server = BenchServer::start(&setup, arm, directory)?;
            if arm == ServerArm::CLEAR {
                collected.programs.push(server.program());
            }
            let stores = if arm == ServerArm::CLEAR { verify::KeyStores::default() } else { server.key_stores() };
            let datadir = server.shut_down()?;
            Ok((arm, datadir, stores))
        });
        servers.into_iter().collect()
    }

    /// Copies the encrypted directory with this program, and without encryption.
    fn copy(
        &self,
        sources: &[Source<'_>],
        scratch: &TemporaryDirectory,
        collected: &mut Collected,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let Some(source) = sources.last() else { return Ok(()) };
        let is_installed = |name: &&&str| CopyPeer::by_name(name).is_some_and(|peer| peer.missing().is_empty());
        let peer = CLEAR_COPIES.iter().find(is_installed).copied().unwrap_or(CLEAR_COPIES[1]);
        if peer != CLEAR_COPIES[0] {
            collected
                .missing
                .push(format!("{} (copies are compared with {peer}, which uses no network)", CLEAR_COPIES[0]));
        }
        let suite = TransferSuite {
            program: self.program.to_owned(),
            source: source.tree.root(),
            into: scratch.path(),
            peers: &[peer.to_owned()],
            no_peers: false,
            peers_without_aes: false,
            rate: None,
            compress: &[],
            send: Vec::new(),
            settings: self.settings,
        };
        let outcome = suite.run(&source.tree, suite.choose(false)?, None, watch)?;
        collected.samples.extend(outcome.samples);
        collected.experiments.extend(outcome.record.experiments);
        collected.programs.extend(outcome.record.programs);
        Ok(())
    }
}

impl<'s> Source<'s> {
    /// A full backup into an empty repository, until the disk is synced. The source is read into the page cache first.
    /// `amount`: bytes that its rate is of.
    fn backup<'a>(&'a self, scratch: &'a TemporaryDirectory, amount: u64) -> Arm<'a> {
        Arm::self_timed(self.arm.as_str(), move || {
            self.workspace.begin(&self.sealant)?;
            cache::warm(&self.tree.files())?;
            scratch.sync()?;
            let begin = Instant::now();
            self.sealant.back_up(self.tree.root(), &self.workspace)?;
            scratch.sync()?;
            Ok(Work { amount, seconds: Some(begin.elapsed().as_secs_f64()), ..Work::default() })
        })
    }
}
