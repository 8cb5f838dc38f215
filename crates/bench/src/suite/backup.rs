//! The cost of backups and restores, compared with other common tools.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use files::quantity::size;
use snapshot::DataDir;
use verify::KeyStores;

use super::{Collected, Outcome, Watch, first_with_others, served::Served};
use crate::{
    Arm, Environment, Error, Experiment, Settings, Subject, TemporaryDirectory, Tree, Work,
    backup::{
        AgeKey, BackupTool, Bar, Changes, Cp, FULL, INCREMENTAL, MARIABACKUP_PROGRAMS, MariaBackup, OBJECTS, ONE_CORE,
        RESTIC_PROGRAMS, RESTORE, Restic, SEALANT, STREAM_PROGRAMS, Sealant, Sizes, Stored, TarZstdAge, Workspace,
        all_bars,
    },
    cache,
    copy::{missing, programs},
    error::NEEDS_SERVER,
};

/// Space for one repository of each tool, two in use at the same time, and a restored directory, in sizes of the
/// source.
const COPIES: u64 = 6;
const SEALANT_AS_IS: &str = "sealant, pages as-is";

/// Parameters of the measurement.
#[derive(Debug)]
pub struct BackupSuite<'a> {
    /// This program.
    pub program: PathBuf,
    /// The data directory, which must not change meanwhile.
    pub source: &'a Path,
    /// An older copy of `source`, the base of an incremental backup.
    pub before: Option<&'a Path>,
    /// Directory below which repositories and restored copies are made and removed.
    pub into: &'a Path,
    /// Measure only this program.
    pub no_peers: bool,
    /// Stores of the keys for encrypted pages.
    pub stores: &'a KeyStores,
    /// Options of this program that name these stores.
    pub key_options: Vec<OsString>,
    /// Rounds and time budget.
    pub settings: Settings<'a>,
}

/// One tool of the comparison.
struct Contender<'a> {
    name: &'static str,
    tool: Box<dyn BackupTool + 'a>,
    workspace: Workspace,
    /// Whether a second backup only stores what changed.
    incremental: bool,
}

/// Stored bytes of each contender in each experiment, round by round.
#[derive(Debug, Default)]
struct StoredBytes(Mutex<BTreeMap<(&'static str, &'static str), Vec<u64>>>);

impl StoredBytes {
    fn add(&self, experiment: &'static str, tool: &'static str, bytes: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry((experiment, tool)).or_default().push(bytes);
    }

    /// Each contender's bytes in the last round of an experiment.
    fn last(&self, experiment: &str) -> Vec<(&'static str, u64)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = all.iter().filter(|((of, _), _)| *of == experiment);
        of.filter_map(|((_, tool), rounds)| Some((*tool, *rounds.last()?))).collect()
    }
}

impl Stored for StoredBytes {
    #[allow(clippy::cast_precision_loss, reason = "sizes, to compute ratios of them")]
    fn rounds(&self, experiment: &str, tool: &str) -> Vec<f64> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().find(|((of, by), _)| *of == experiment && *by == tool);
        found.map(|(_, rounds)| rounds.iter().map(|bytes| *bytes as f64).collect()).unwrap_or_default()
    }
}

impl BackupSuite<'_> {
    /// Checks the parameters before a long run.
    ///
    /// # Errors
    /// [`Error`]: a server runs on the directory, it is empty, or repositories would be made inside it.
    pub fn check(&self) -> Result<Tree, Error> {
        for directory in [Some(self.source), self.before].into_iter().flatten() {
            if let Some(server) = DataDir::at(directory)?.server()? {
                let pid = server.pid.as_raw_nonzero().get();
                return Err(Error::ServerRuns { path: directory.to_owned(), pid });
            }
        }
        let tree = Tree::scan(self.source)?;
        if tree.bytes() == 0 {
            return Err(Error::NothingToCopy { path: self.source.to_owned() });
        }
        if fs::canonicalize(self.into).is_ok_and(|below| below.starts_with(tree.root())) {
            return Err(Error::WithinSource { path: self.into.to_owned() });
        }
        Ok(tree)
    }

    /// Runs the measurement.
    ///
    /// # Errors
    /// [`Error`]: there is no room, a program fails, or a restored tablespace differs.
    pub fn run(&self, tree: &Tree, served: Option<&Served>, watch: &Watch<'_>) -> Result<Outcome, Error> {
        let environment = Environment::now(self.source);
        let scratch = TemporaryDirectory::below(self.into)?;
        let (needed, room) = (tree.bytes().saturating_mul(COPIES), scratch.free_bytes()?);
        if room < needed {
            return Err(Error::NoRoom { path: self.into.to_owned(), needed, room });
        }
        let key = AgeKey::generate(scratch.path())?;
        let mut collected = Collected::default();
        let contenders = self.contenders(&scratch, &key, served, &mut collected);
        let stored = StoredBytes::default();
        let bench = Bench { tree, scratch: &scratch, stored: &stored };
        let pairs = first_with_others(contenders.iter().map(|contender| contender.name));
        collected.run(bench.full(&contenders), &self.settings, &pairs, watch)?;
        let cp = self.cp(&scratch)?;
        let restoring: Vec<&Contender<'_>> = contenders.iter().chain(&cp).collect();
        let pairs = first_with_others(restoring.iter().map(|contender| contender.name));
        collected.run(bench.restore(&restoring), &self.settings, &pairs, watch)?;
        let mut changes = None;
        if let Some(before) = self.before {
            let some: Vec<&Contender<'_>> = contenders.iter().filter(|contender| contender.incremental).collect();
            let before = Tree::scan(before)?;
            changes = Some(Changes::between(&before, tree)?);
            let pairs = first_with_others(some.iter().map(|contender| contender.name));
            collected.run(bench.incremental(&before, &some), &self.settings, &pairs, watch)?;
        }
        let sealant = self.sealant(&key, "open");
        let workspace = Workspace::at(scratch.path().join("last"));
        workspace.begin(&sealant)?;
        match missing(&[ONE_CORE]).as_slice() {
            [] => {
                sealant.back_up(tree.root(), &workspace)?;
                collected.run(objects(&sealant, &workspace), &self.settings, &[], watch)?;
            }
            _ => collected.missing.push(format!("the check of objects on one core (needs {ONE_CORE})")),
        }
        watch("memory of a full backup and of a restore");
        let memory_bytes = peaks(&sealant, tree, &workspace, &scratch)?;
        let (data_bytes, is_encrypted) = (tree.bytes(), self.stores.any());
        let sizes = Sizes { data_bytes, is_encrypted, changes, memory_bytes };
        collected.notes.extend(notes(&stored, tree, memory_bytes));
        collected.notes.extend(all_bars(&collected.experiments, &stored, &sizes).iter().map(Bar::line));
        let files = u64::try_from(tree.files().len()).unwrap_or(u64::MAX);
        let subject = Subject { files, bytes: tree.bytes(), ..Subject::default() };
        Ok(collected.finish(environment, subject))
    }

    fn sealant(&self, key: &AgeKey, pages: &'static str) -> Sealant<'_> {
        let (program, key) = (self.program.clone(), key.clone());
        Sealant { program, stores: self.stores, key_options: &self.key_options, key, pages }
    }

    /// `cp`, which restores are compared with.
    fn cp(&self, scratch: &TemporaryDirectory) -> Result<Option<Contender<'_>>, Error> {
        if self.no_peers {
            return Ok(None);
        }
        let tool = Cp { source: self.source.to_owned() };
        let workspace = Workspace::at(scratch.path().join("cp"));
        workspace.begin(&tool)?;
        Ok(Some(Contender { name: "cp", tool: Box::new(tool), workspace, incremental: false }))
    }

    /// This program, and the peers that are installed.
    fn contenders<'s>(
        &'s self,
        scratch: &TemporaryDirectory,
        key: &AgeKey,
        served: Option<&'s Served>,
        collected: &mut Collected,
    ) -> Vec<Contender<'s>> {
        let contender = |name: &'static str, tool: Box<dyn BackupTool + 's>, incremental| {
            let workspace = Workspace::at(scratch.path().join(name.replace([' ', ','], "-")));
            Contender { name, tool, workspace, incremental }
        };
        let mut all = vec![contender(SEALANT, Box::new(self.sealant(key, "open")), true)];
        if self.stores.any() {
            all.push(contender(SEALANT_AS_IS, Box::new(self.sealant(key, "as-is")), true));
        }
        if self.no_peers {
            return all;
        }
        let mut used: Vec<&'static str> = Vec::new();
        let mut add = |needs: &'static [&'static str], peer: Contender<'s>| match missing(needs).as_slice() {
            [] => {
                used.extend(needs);
                all.push(peer);
            }
            missing_data => collected.missing.push(format!("{} (needs {})", peer.name, missing_data.join(", "))),
        };
        add(STREAM_PROGRAMS, contender("tar-zstd-age", Box::new(TarZstdAge { key: key.clone() }), false));
        add(RESTIC_PROGRAMS, contender("restic", Box::new(Restic), true));
        match served {
            Some(served) => {
                let tool = Box::new(MariaBackup { server: &served.server });
                add(MARIABACKUP_PROGRAMS, contender("mariabackup-openssl", tool, true));
            }
            None => collected.missing.push(format!("mariabackup-openssl (needs {NEEDS_SERVER})")),
        }
        collected.programs = programs(used);
        all
    }
}

/// The parameters of all experiments.
#[derive(Clone, Copy)]
struct Bench<'b> {
    tree: &'b Tree,
    scratch: &'b TemporaryDirectory,
    stored: &'b StoredBytes,
}

impl<'b> Bench<'b> {
    /// Full backups into an empty repository.
    fn full(self, contenders: &'b [Contender<'b>]) -> Experiment<'b> {
        let arm = |contender: &'b Contender<'b>| {
            Arm::self_timed(contender.name, move || {
                contender.workspace.begin(&*contender.tool)?;
                self.timed(contender, FULL, self.tree.bytes(), || contender.back_up(self.tree))
            })
        };
        Experiment::new(FULL).arms(contenders.iter().map(arm))
    }

    /// Incremental backups into a repository with a backup of an older copy.
    fn incremental(self, before: &'b Tree, contenders: &[&'b Contender<'b>]) -> Experiment<'b> {
        let arm = |contender: &'b Contender<'b>| {
            Arm::self_timed(contender.name, move || {
                contender.workspace.begin(&*contender.tool)?;
                let (tool, workspace) = (&contender.tool, &contender.workspace);
                let failed = |error: Error| contender.failed(&error.to_string());
                tool.back_up_base(before.root(), workspace).map_err(failed)?;
                self.timed(contender, INCREMENTAL, self.tree.bytes(), || {
                    tool.back_up_changes(before.root(), self.tree.root(), workspace).map_err(failed)
                })
            })
        };
        Experiment::new(INCREMENTAL).arms(contenders.iter().copied().map(arm))
    }

    /// Restores from the repository of the last full backup. Each tablespace is compared afterwards, unmeasured.
    fn restore(self, contenders: &[&'b Contender<'b>]) -> Experiment<'b> {
        let arm = |contender: &'b Contender<'b>| {
            Arm::self_timed(contender.name, move || {
                self.scratch.empty()?;
                let target = self.scratch.target();
                let work = self.timed(contender, RESTORE, self.tree.bytes(), || {
                    contender
                        .tool
                        .restore(&contender.workspace, &target)
                        .map_err(|error| contender.failed(&error.to_string()))
                })?;
                let restored = contender.tool.restored(self.tree.root(), &target);
                match self.tree.tablespace_difference(&restored)? {
                    Some(what) if contender.tool.is_exact() => Err(contender.failed(&what)),
                    _ => Ok(work),
                }
            })
        };
        Experiment::new(RESTORE).arms(contenders.iter().copied().map(arm))
    }

    /// Measures until the disk is synced. The source is read into the page cache first.
    fn timed(
        self,
        contender: &Contender<'_>,
        experiment: &'static str,
        amount: u64,
        work: impl FnOnce() -> Result<(), Error>,
    ) -> Result<Work, Error> {
        let already = contender.workspace.stored_bytes()?;
        cache::warm(&self.tree.files())?;
        self.scratch.sync()?;
        let begin = Instant::now();
        work()?;
        self.scratch.sync()?;
        let seconds = begin.elapsed().as_secs_f64();
        let stored = contender.workspace.stored_bytes()?.saturating_sub(already);
        self.stored.add(experiment, contender.name, stored);
        Ok(Work { amount, seconds: Some(seconds), ..Work::default() })
    }
}

impl Contender<'_> {
    fn back_up(&self, tree: &Tree) -> Result<(), Error> {
        self.tool.back_up(tree.root(), &self.workspace).map_err(|error| self.failed(&error.to_string()))
    }

    fn failed(&self, reason: &str) -> Error {
        Error::Work { arm: self.name.to_owned(), reason: reason.to_owned() }
    }
}

/// Checks of all objects of a full backup. The amount is what is stored.
fn objects<'b>(sealant: &'b Sealant<'b>, workspace: &'b Workspace) -> Experiment<'b> {
    let arm = Arm::new(SEALANT, move || {
        let amount = workspace.stored_bytes()?;
        cache::warm(&Tree::scan(&workspace.repository())?.files())?;
        sealant.check_objects(workspace).map(|()| amount)
    });
    Experiment::new(OBJECTS).arms([arm])
}

/// Peak memory of a full backup, and of a restore of it.
fn peaks(
    sealant: &Sealant<'_>,
    tree: &Tree,
    workspace: &Workspace,
    scratch: &TemporaryDirectory,
) -> Result<[u64; 2], Error> {
    let run = sealant.peak(tree.root(), workspace)?;
    sealant.back_up(tree.root(), workspace)?;
    scratch.empty()?;
    let restore = sealant.peak_of_restore(workspace, &scratch.target())?;
    Ok([run.resident_bytes, restore.resident_bytes])
}

/// Notes on sizes and memory, which a rate does not show.
fn notes(stored: &StoredBytes, tree: &Tree, [run, restore]: [u64; 2]) -> Vec<String> {
    #[allow(clippy::cast_precision_loss, reason = "a ratio")]
    let ratio = |bytes: u64, of: u64| bytes as f64 / of.max(1) as f64;
    let full = stored.last(FULL).into_iter().map(|(name, bytes)| {
        format!("{name} stored {} in full: {:.2} times smaller", size(bytes), ratio(tree.bytes(), bytes))
    });
    let incremental = stored.last(INCREMENTAL).into_iter().map(|(name, bytes)| {
        format!(
            "{name} stored {} of what changed: {:.2} % of the data",
            size(bytes),
            100.0 * ratio(bytes, tree.bytes())
        )
    });
    let memory = format!("{SEALANT} took at most {} of memory to back up, {} to restore", size(run), size(restore));
    full.chain(incremental).chain(std::iter::once(memory)).collect()
}
