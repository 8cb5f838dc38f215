//! A copy that a verb takes, uses and releases, however the verb ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::backup::stream::Streamed;
use ::snapshot::backup::Settings;
use ::snapshot::follow::Keys;
use ::snapshot::{DataDir, Error, Keep, Listener, Options, ProviderChoice, SnapshotCopy, SnapshotGuard};
use clap::Args;
use report::{backup_copy_message, backup_copy_progress, snapshot_kept_message, snapshot_released_message};

use super::source::{Freezing, ServerHint, Source};
use crate::cli::key_stores::KeyStores;
use crate::exit::Exit;
use crate::output::message::{Failure, info, say};
use crate::output::progress::StatusLine;
use crate::process::{end, ended_by_signals};

/// The running server to copy.
#[derive(Debug, Args)]
#[command(next_help_heading = "Running server")]
pub(crate) struct Live {
    /// Take a consistent copy of a running server's data directory, send it, and remove it, even after an error or a
    /// signal
    #[arg(long, requires = "datadir")]
    pub(crate) live: bool,
    /// Data directory of that server, in place of SOURCE
    #[arg(long, value_name = "DIR", requires = "live")]
    datadir: Option<PathBuf>,
    #[command(flatten)]
    server: ServerHint,
    /// Directory for the copy, on the file system of the data, or for the provider follow on any [default: beside the
    /// data directory, or in it if its file system begins there]
    #[arg(long, alias = "place", value_name = "DIR")]
    location: Option<PathBuf>,
    #[command(flatten)]
    freezing: Freezing,
    /// Option file with the account for mariabackup or xtrabackup, if --provider names one of them
    #[arg(long, value_name = "FILE", requires = "live")]
    backup_defaults: Option<PathBuf>,
    /// Path of mariabackup or xtrabackup [default: the one in PATH]
    #[arg(long, value_name = "PROGRAM", requires = "live")]
    backup_program: Option<PathBuf>,
}

impl Live {
    /// The program whose stream is sent instead of a copy, if requested.
    pub(crate) fn stream(&self) -> Result<Option<Streamed>, Failure> {
        let ProviderChoice::Stream(program) = self.freezing.provider else { return Ok(None) };
        let settings = Settings {
            program,
            path: self.backup_program.clone(),
            defaults: self.backup_defaults.clone(),
            socket: self.server.socket.clone(),
        };
        Ok(Some(Streamed::new(&self.source()?.datadir()?, settings)?))
    }

    fn source(&self) -> Result<Source, Failure> {
        let datadir = self.datadir.clone().ok_or_else(|| Failure::usage("--live needs --datadir"))?;
        Ok(Source { datadir, server: self.server.clone(), location: self.location.clone() })
    }

    /// Takes the copy while a status line shows its progress; with keys, what is encrypted in it is checked.
    pub(crate) fn take(&self, keys: &KeyStores, status: StatusLine) -> Result<SnapshotGuard, Failure> {
        let source = self.source()?;
        let keys = if keys.any() { Keys::new(keys.read(Some(&source.datadir))?) } else { Keys::default() };
        let stop = ended_by_signals()?;
        let options = Options { keys, ..self.freezing.options(&source, Keep::WhileInUse)? };
        let copy = take(&source.datadir()?, &options, status)?;
        info(&backup_copy_message(&copy));
        Ok(guard(copy, stop))
    }
}

/// Takes a copy while a status line shows its progress.
pub(super) fn take(datadir: &DataDir, options: &Options, status: StatusLine) -> Result<SnapshotCopy, Error> {
    status.watch(|| backup_copy_progress(&options.progress), || ::snapshot::take(datadir, options))
}

/// Holds a copy. A signal releases it and ends the program, because other threads wait for the network.
pub(crate) fn guard(copy: SnapshotCopy, stop: Arc<AtomicBool>) -> SnapshotGuard {
    let kept = |error: &Error| say(&[snapshot_kept_message(error)]);
    SnapshotGuard::new(copy, stop, Listener { stopped: Box::new(end_by_signal), kept: Arc::new(kept) })
}

fn end_by_signal() {
    say(&[snapshot_released_message()]);
    end(Exit::Failed)
}
