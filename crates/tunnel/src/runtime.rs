//! Threads of an end of the tunnel.

use std::future::Future;

use tokio::runtime::Builder;

use crate::error::Error;

/// Runs an end until it stops. By default it uses one thread per two cores, and at least one: more threads cost more by
/// waking each other than they gain when the server needs the cores itself.
///
/// # Errors
/// [`Error::Threads`], and errors of `end`.
pub fn run<E: From<Error>>(threads: Option<usize>, end: impl Future<Output = Result<(), E>>) -> Result<(), E> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or_else(|| (cores() / 2).max(1));
    let mut builder = if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    let runtime = builder.worker_threads(threads).enable_all().build().map_err(Error::Threads)?;
    runtime.block_on(end)?;
    // Shutdown must not wait for a name resolution in progress.
    runtime.shutdown_background();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_runs_on_one_thread_and_on_several() {
        for threads in [Some(1), Some(2), None] {
            assert!(run::<Error>(threads, async { Ok(()) }).is_ok());
        }
    }
}
