//! A copy that a verb takes, uses and releases, however it ends.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ::snapshot::backup::Settings;
use ::snapshot::{Choice, Keep, LEFT_OUT, LeftOut, Provider, Still, take};
use ::transfer::TransferError;
use clap::Args;
use glob::Pattern;

use super::backup::Streamed;
use super::source::{Freezing, Named, Source, failure};
use crate::cli::encrypt::ended_by_signals;
use crate::output::message::{Failure, info, warning};

/// The running server to copy.
#[derive(Debug, Args)]
#[command(next_help_heading = "Running server")]
pub(crate) struct Live {
    /// Take a still copy of a running server's data directory, send that, and remove it, however this ends
    #[arg(long, requires = "datadir")]
    pub(crate) live: bool,
    /// Its data directory, in place of SOURCE
    #[arg(long, value_name = "DIR", requires = "live")]
    datadir: Option<PathBuf>,
    #[command(flatten)]
    server: Named,
    /// Where the copy is kept meanwhile, on the file system of the data
    /// [default: beside the data directory, or in it if its file system begins there]
    #[arg(long, value_name = "DIR")]
    place: Option<PathBuf>,
    #[command(flatten)]
    freezing: Freezing,
    /// Option file with the account for mariabackup or xtrabackup (--provider mariabackup)
    #[arg(long, value_name = "FILE", requires = "live")]
    backup_defaults: Option<PathBuf>,
    /// mariabackup or xtrabackup itself [default: found on the path]
    #[arg(long, value_name = "PROGRAM", requires = "live")]
    backup_program: Option<PathBuf>,
}

/// What a copy should not take along: it is of one server, not of its data.
const OF_ONE_SERVER: &str = "auto.cnf";

impl Live {
    /// The program whose stream goes in place of a copy, if that is asked for.
    pub(crate) fn stream(&self) -> Result<Option<Streamed>, Failure> {
        let Choice::Stream(program) = self.freezing.provider else { return Ok(None) };
        let settings = Settings {
            program,
            path: self.backup_program.clone(),
            defaults: self.backup_defaults.clone(),
            socket: self.server.socket.clone(),
        };
        Streamed::of(&self.source()?.datadir()?, settings).map(Some)
    }

    fn source(&self) -> Result<Source, Failure> {
        let datadir = self.datadir.clone().ok_or_else(|| Failure::usage("--live needs --datadir"))?;
        Ok(Source { datadir, server: self.server.clone(), place: self.place.clone() })
    }

    /// Takes the copy.
    pub(crate) fn take(&self) -> Result<Held, Failure> {
        let source = self.source()?;
        let stop = ended_by_signals()?;
        let still = take(&source.datadir()?, &self.freezing.options(&source, Keep::WhileInUse)).map_err(failure)?;
        match still.provider() {
            Provider::Stopped => info("no server runs on it, so the data directory itself is sent"),
            provider => {
                info(&format!("copy taken by {provider}; {}", still.effect()));
            }
        }
        Ok(Held::new(still, stop))
    }

    /// What of the copy does not go.
    pub(crate) fn exclusions() -> impl Iterator<Item = Pattern> {
        let patterns = LEFT_OUT.into_iter().map(LeftOut::pattern).chain([OF_ONE_SERVER.to_owned()]);
        // Of `glob`, a bracket is one of the characters in it; none of these has one.
        patterns.filter_map(|pattern| Pattern::new(&pattern).ok())
    }
}

/// A copy in use. It is released with this value, and also when a signal ends the program.
pub(crate) struct Held {
    root: PathBuf,
    still: Arc<Mutex<Option<Still>>>,
    over: Arc<AtomicBool>,
}

impl Held {
    pub(crate) fn new(still: Still, stop: Arc<AtomicBool>) -> Self {
        let root = still.root().to_owned();
        let still = Arc::new(Mutex::new(Some(still)));
        let over = Arc::new(AtomicBool::new(false));
        let watched = (Arc::clone(&still), Arc::clone(&over));
        thread::spawn(move || {
            while !watched.1.load(Ordering::Relaxed) {
                if stop.load(Ordering::Relaxed) {
                    release(&watched.0);
                    end();
                }
                thread::sleep(Duration::from_millis(20));
            }
        });
        Self { root, still, over }
    }

    /// Makes sure that the copy is still of the instant that it was taken in.
    pub(crate) fn prove(&self) -> Result<(), TransferError> {
        let still = self.still.lock().unwrap_or_else(PoisonError::into_inner);
        let proven = still.as_ref().map_or(Ok(()), Still::prove);
        proven.map_err(|error| TransferError::Void { reason: error.to_string() })
    }

    /// The copy's data directory.
    pub(crate) fn root(&self) -> &std::path::Path {
        &self.root
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        release(&self.still);
    }
}

fn release(still: &Mutex<Option<Still>>) {
    // Held until it is done: the other thread waits, and the program with it.
    let mut still = still.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Err(error)) = still.take().map(Still::release) {
        warning(&format!("{error}; `sealant snapshot drop` removes it"));
    }
}

#[allow(clippy::exit, reason = "other threads wait for the network; a signal ends them all")]
fn end() -> ! {
    Failure::new("ended by a signal; nothing was committed, and the copy was released").print();
    std::process::exit(1)
}
