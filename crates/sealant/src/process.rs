//! This process: its memory is kept out of dumps, signals set a flag, and inherited files are closed.

mod inherited;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

pub(crate) use self::inherited::close_inherited;
use crate::exit::Exit;
use crate::output::message::{Failure, warning};

/// Forbids core dumps, because passwords stay in memory for a while. Lowering a limit cannot fail.
pub(crate) fn forbid_core_dumps() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
}

/// Raises the limit of open descriptors as far as it goes: a tunnel needs two for each session, and backup and restore one
/// for each tablespace.
pub(crate) fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Forbids core dumps, and reading by other processes of this user, because keys will be in memory. The limit of
/// [`forbid_core_dumps`] is not enough: a dump handler of the system may ignore it.
pub(crate) fn forbid_dumps() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
        warning("the system does not allow core dumps to be forbidden for this process");
    }
}

/// Returns a flag that the first signal sets. The second signal ends the program at once.
pub(crate) fn ended_by_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    set_by_signals(&stop)?;
    Ok(stop)
}

/// As [`ended_by_signals`], for an existing flag.
pub(crate) fn set_by_signals(stop: &Arc<AtomicBool>) -> Result<(), Failure> {
    for signal in [SIGINT, SIGTERM] {
        let registered = flag::register_conditional_default(signal, Arc::clone(stop))
            .and_then(|_| flag::register(signal, Arc::clone(stop)));
        registered.map_err(|error| Failure::new(format!("cannot wait for signals: {error}")))?;
    }
    Ok(())
}

/// Ends the program even if other threads still wait for a peer, which may never send anything.
#[expect(clippy::exit, reason = "these threads cannot be told to end")]
pub(crate) fn end(exit: Exit) -> ! {
    std::process::exit(exit.code().into())
}

/// Path of this program, for verbs that start it again.
pub(crate) fn current_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::new(format!("the path of this program: {error}")))
}

/// Number of processors that this process may use.
pub(crate) fn processors() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
