//! `sealant migrate finish` and `abort`: end a migration after its cut-over, or instead of it.

use std::path::{Path, PathBuf};

use ::migrate::Proof;
use clap::Args;
use report::{migrate_abort_change, migrate_aborted, migrate_finished, migrate_proof_saved, migrate_unproven};

use super::report::write_proof;
use super::scope::Scope;
use crate::cli::change::confirm_change;
use crate::exit::{self, Exit};
use crate::output::file::check_writable;
use crate::output::message::{Failure, say};

/// Save the proof of a migration after its cut-over, and remove its state; the tables stay on both servers
///
/// The target is contacted: its state is the only copy of the proof. After a cut-over with --fallback, the source is
/// contacted as well, and the way back is closed; after a fallback the proof is that of the fallback.
#[derive(Debug, Args)]
#[command(after_help = exit::help("", FINISH_EXITS))]
pub(crate) struct Finish {
    #[command(flatten)]
    scope: Scope,
    #[command(flatten)]
    proof: Keep,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Keep {
    /// Write the proof to this file, as JSON Lines, before the state is removed
    #[arg(long, value_name = "FILE")]
    proof: Option<PathBuf>,
    /// Remove the proof without saving it
    #[arg(long)]
    discard_proof: bool,
}

/// Give up a migration: leave the source writable as before, and remove the state at the target
#[derive(Debug, Args)]
#[command(after_help = exit::help("", ABORT_EXITS))]
pub(crate) struct Abort {
    #[command(flatten)]
    scope: Scope,
    /// Also drop the tables of the migration at the target
    #[arg(long)]
    drop_tables: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

pub(super) const FINISH_EXITS: exit::Codes =
    &[(Exit::Clean, "removed"), (Exit::Failed, "not removed: no cut-over, no migration, or the proof cannot be saved")];
pub(super) const ABORT_EXITS: exit::Codes =
    &[(Exit::Clean, "removed"), (Exit::Failed, "the cut-over was done, or there is no migration")];

impl Finish {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        self.proof.proof.iter().try_for_each(|path| check_writable(path))?;
        let path = self.proof.proof.as_deref();
        let (source, target) = (self.scope.source_if_named()?, self.scope.target()?);
        ::migrate::finish(&target, source.as_ref(), path.map(|path| move |proof: &Proof| save(path, proof)))?;
        say(&[migrate_finished()]);
        Ok(Exit::Clean)
    }
}

/// Saves the proof, and warns if it does not prove the migration: its state is removed all the same.
fn save(path: &Path, proof: &Proof) -> Result<(), Failure> {
    write_proof(path, proof)?;
    say(&[migrate_proof_saved(path)]);
    say(migrate_unproven(proof).as_slice());
    Ok(())
}

impl Abort {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let [source, target] = self.scope.servers()?;
        if !self.yes {
            confirm_change(migrate_abort_change(self.drop_tables))?;
        }
        ::migrate::abort(&source, &target, self.drop_tables.then(|| self.scope.filter()).as_ref())?;
        say(&[migrate_aborted(self.drop_tables)]);
        Ok(Exit::Clean)
    }
}
