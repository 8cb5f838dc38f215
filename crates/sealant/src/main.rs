//! Sealant: encrypt a MySQL server everywhere its data rests or moves, prove it from the bytes,
//! and know what it costs.
//!
//! This crate is the command line: arguments in, exit code out. The library crates implement the verbs.

mod cli;
mod exit;
mod output;
mod process;

use std::process::ExitCode;

use crate::cli::Cli;

/// musl's own allocator has one lock for all threads, makes a system call for every larger buffer, and keeps much of what a
/// long-running monitor has freed.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    process::forbid_core_dumps();
    process::raise_descriptors();
    if let Some(arguments) = as_state_transfer() {
        return cli::sst::run(arguments).into();
    }
    match Cli::from_arguments().and_then(Cli::run) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print();
            failure.exit.into()
        }
    }
}

/// The arguments, if a server of a cluster started this program as a state transfer method. Otherwise `None`.
fn as_state_transfer() -> Option<Vec<String>> {
    let mut arguments = std::env::args_os();
    let name = arguments.next()?;
    let named = std::path::Path::new(&name).file_name()? == cli::sst::PROGRAM;
    named.then(|| {
        process::close_inherited();
        arguments.map(|word| word.to_string_lossy().into_owned()).collect()
    })
}
