//! `sealant migrate report`: the proof of a migration.

use std::path::{Path, PathBuf};

use ::migrate::{Proof, ProofVerdict, proof};
use clap::Args;
use report::{write_migrate_html, write_migrate_proof, write_migrate_proof_lines};

use super::scope::Scope;
use crate::exit::{self, Exit};
use crate::output::file::{check_writable, replace, to_stdout};
use crate::output::message::Failure;

/// Show the proof of a migration: what was compared, when and at which position, how each table is encrypted, and how
/// long writes were blocked
///
/// Only the target is contacted: the proof is in its state, which `finish` and `abort` remove. `finish` saves the proof
/// first.
#[derive(Debug, Args)]
#[command(after_help = exit::help("", EXITS))]
pub(crate) struct Report {
    #[command(flatten)]
    scope: Scope,
    /// Also write an HTML report to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
    /// Also write the proof to this file, as JSON Lines: each comparison, and a SHA-256 over all; the schema is in
    /// docs/schema
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    proof: Option<PathBuf>,
}

pub(super) const EXITS: exit::Codes = &[
    (Exit::Clean, "every row was compared after its last change and is equal, and no table is less encrypted"),
    (Exit::Failed, "there is no migration, or the target cannot be reached"),
    (Exit::Findings, "a table is less encrypted than it was at the source, or is not at the target"),
    (Exit::Incomplete, "rows are not copied, not compared since they changed, or differ"),
];

/// Writes the proof as JSON Lines.
pub(super) fn write_proof(path: &Path, found: &Proof) -> Result<(), Failure> {
    replace(path, &|out| write_migrate_proof_lines(found, out).map_err(std::io::Error::from))
}

impl Report {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        self.html.iter().chain(&self.proof).try_for_each(|path| check_writable(path))?;
        let found = proof(&self.scope.target()?)?;
        self.write(&found)?;
        Ok(match found.verdict() {
            ProofVerdict::Proven => Exit::Clean,
            ProofVerdict::LessEncrypted => Exit::Findings,
            ProofVerdict::NotCompared => Exit::Incomplete,
        })
    }

    fn write(&self, found: &Proof) -> Result<(), Failure> {
        if let Some(path) = &self.html {
            replace(path, &|out| write_migrate_html(found, out).map_err(std::io::Error::from))?;
        }
        if let Some(path) = &self.proof {
            write_proof(path, found)?;
        }
        to_stdout(&|out| write_migrate_proof(found, out).map_err(std::io::Error::from))
    }
}
