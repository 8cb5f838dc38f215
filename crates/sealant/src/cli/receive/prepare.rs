//! Prepares streamed backups: they are not yet data directories, until changes made during the backup are applied.

use std::path::{Path, PathBuf};
use std::time::Instant;

use ::backup::stream::unprepared_by;
use ::snapshot::prepare::Preparation;
use ::transfer::receiver::{Owner, Received};
use clap::Args;
use files::MANIFEST;
use report::prepared_message;

use crate::exit::Exit;
use crate::output::message::{Failure, say, warning};

/// Options for a backup that arrives unprepared.
#[derive(Debug, Args)]
pub(super) struct Preparing {
    /// Program to prepare a backup that --provider mariabackup or xtrabackup has sent: mariabackup or xtrabackup of the
    /// version of the sender's server [default: the one in PATH]. It processes what the sender sent: root runs it as
    /// --owner, which must not be root
    #[arg(long, value_name = "PROGRAM")]
    prepare_with: Option<PathBuf>,
    /// Option file for that program, if tables in the backup are encrypted: plugin_load, plugin_dir and the location of
    /// the keys on this host. No option of the sender that names a library or a file is used
    #[arg(long, value_name = "FILE")]
    prepare_options: Option<PathBuf>,
    /// Do not prepare such a backup; exit with 3
    #[arg(long, conflicts_with_all = ["prepare_with", "prepare_options"])]
    no_prepare: bool,
}

impl Preparing {
    /// Prepares what was received, if necessary. `owner` is the owner that this side sets for everything.
    pub(super) fn prepare(&self, into: &Path, received: &Received, owner: Option<Owner>) -> Result<Exit, Failure> {
        let Some(program) = unprepared_by(&received.notes) else { return Ok(Exit::Clean) };
        let preparation = Preparation {
            program,
            directory: into,
            path: self.prepare_with.as_deref(),
            options: self.prepare_options.as_deref(),
            list: MANIFEST,
        };
        preparation.check(&received.external_links)?;
        if self.no_prepare {
            warning(&preparation.warning());
            return Ok(Exit::Findings);
        }
        let began = Instant::now();
        preparation.run(owner.map(|owner| (owner.uid, owner.gid)))?;
        say(&[prepared_message(program, began.elapsed())]);
        Ok(Exit::Clean)
    }
}
