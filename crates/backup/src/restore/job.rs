//! A whole restore, in its order: the files, then the binary logs, then the proof by a server, then the record.

use std::{path::Path, time::Instant};

use keyring::WritableKeyring;
use transfer::receiver::Owner;
use verify::{KeyStores, Keys};

use super::{
    ExternalLinks, Found, PointInTime, ReplayResult, RestoreOptions, RestoreProgress, RestoreReport, Restored,
    TemporaryDirectory,
};
use crate::{
    Error, Outcome,
    prove::{Proof, Prover},
};

/// Where to restore to.
#[derive(Clone, Copy, Debug)]
pub enum Target<'t> {
    /// This directory: it must not exist, be empty, or have an interrupted restore.
    Directory(&'t Path),
    /// A new directory below this one, which is removed at the end.
    ScratchBelow(&'t Path),
}

/// What to restore, and what follows.
#[derive(Debug)]
pub struct Job<'j> {
    /// The backup.
    pub found: &'j Found,
    /// The binary logs to replay, if any; needs a server.
    pub point: Option<&'j PointInTime>,
    /// Keys that encrypt the pages again.
    pub keys: &'j Keys,
    /// Where to.
    pub target: Target<'j>,
    /// Owner of all files, instead of the original one.
    pub owner: Option<Owner>,
    /// Keyring of the server that will use the directory.
    pub rekey: Option<&'j WritableKeyring>,
    /// An existing directory: parts of its files that equal the backup are copied from there.
    pub base: Option<&'j Path>,
    /// Whether to find the files in the packs alone, without the manifest.
    pub salvage: bool,
    /// Whether links that lead out of the directory are left out. Otherwise the backup is refused if a server is to
    /// start on it.
    pub leave_out_links: bool,
    /// Number of threads.
    pub streams: u16,
    /// The server that replays logs and checks tables, with the key stores of the server that was backed up.
    pub server: Option<Prover>,
    /// Whether the server checks the tables.
    pub prove: bool,
    /// File to append the report to.
    pub record: Option<&'j Path>,
}

/// Events of a restore, for the user.
#[derive(Debug)]
pub enum Event<'e> {
    /// The files are in place.
    Restored {
        /// Where.
        into: &'e Path,
        /// The result.
        restored: &'e Restored,
        /// Duration.
        seconds: f64,
    },
    /// Binary logs have been replayed: how many bytes.
    Replaying(u64),
    /// The logs are replayed.
    Replayed(&'e ReplayResult),
    /// The current step of the server's proof.
    Proving(&'e str),
    /// The server has checked the tables.
    Proven {
        /// The result.
        proof: &'e Proof,
        /// Duration of the restore before it.
        restored_seconds: f64,
    },
}

/// The work of restoring the files.
pub type Work<'w> = dyn Fn() -> Result<Restored, Error> + Sync + 'w;

/// Gets the progress of a job.
pub struct Observer<'w> {
    /// Called once, with the work that restores the files; calls it, and shows the progress meanwhile.
    pub restoring: &'w dyn Fn(&RestoreProgress, &Work<'_>) -> Result<Restored, Error>,
    /// Called for each event.
    pub event: &'w dyn Fn(Event<'_>),
}

/// Result of a job.
#[derive(Debug)]
pub struct JobResult<'j> {
    /// The report for scripts.
    pub report: RestoreReport<'j>,
    /// The verdict.
    pub outcome: Outcome,
}

impl<'j> Job<'j> {
    /// Runs the job.
    ///
    /// # Errors
    /// [`Error`]; unless the files were restored, the target is unchanged, except for a staging directory from
    /// which the same job continues.
    pub fn run(&self, watch: &Observer<'_>) -> Result<JobResult<'j>, Error> {
        let scratch = match self.target {
            Target::Directory(_) => None,
            Target::ScratchBelow(parent) => Some(TemporaryDirectory::below(parent)?),
        };
        let into = match (self.target, &scratch) {
            (_, Some(scratch)) => scratch.path(),
            (Target::Directory(path) | Target::ScratchBelow(path), None) => path,
        };
        let (began, progress) = (Instant::now(), RestoreProgress::default());
        let mut restored = self.restore(into, &progress, watch)?;
        let seconds = began.elapsed().as_secs_f64();
        (watch.event)(Event::Restored { into, restored: &restored, seconds });
        let mut report = RestoreReport::new(&self.found.opened, &restored, &progress, seconds);
        let server = self.server();
        if let (Some(point), Some(server)) = (self.point, &server) {
            let note = |bytes: u64| (watch.event)(Event::Replaying(bytes));
            let replayed = point.replay(self.found, &mut restored, into, self.keys, server, &note)?;
            (watch.event)(Event::Replayed(&replayed));
            report = report.replayed(&replayed);
        }
        let proof = match server.filter(|_| self.prove) {
            Some(server) => {
                let note = |text: &str| (watch.event)(Event::Proving(text));
                Some(restored.prove(into, &self.found.opened, self.keys, &server, &note)?)
            }
            None => None,
        };
        if let Some(proof) = &proof {
            (watch.event)(Event::Proven { proof, restored_seconds: seconds });
            report = report.proven(proof);
        }
        self.record.map(|path| report.record(path)).transpose()?;
        Ok(JobResult { report, outcome: restored.outcome(&self.found.opened, proof.as_ref()) })
    }

    fn restore(&self, into: &Path, progress: &RestoreProgress, watch: &Observer<'_>) -> Result<Restored, Error> {
        let options = RestoreOptions {
            into: into.to_owned(),
            identities: &self.found.identities,
            keys: self.keys,
            owner: self.owner,
            rekey: self.rekey,
            base: self.base.map(Path::to_owned),
            salvage: self.salvage,
            links: ExternalLinks::new(self.leave_out_links, self.point.is_some() || self.prove),
            streams: self.streams,
        };
        (watch.restoring)(progress, &|| self.found.restore(&options, progress))
    }

    /// The server's settings. If the keys of files were rewrapped, the server gets only the new keyring.
    fn server(&self) -> Option<Prover> {
        let server = self.server.clone()?;
        let Some(keyring) = self.rekey else { return Some(server) };
        let stores = KeyStores { keyrings: vec![keyring.path().to_owned()], ..KeyStores::default() };
        Some(Prover { stores, ..server })
    }
}
