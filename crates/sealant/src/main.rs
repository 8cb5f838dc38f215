//! Sealant: encrypt a MySQL server everywhere its data rests or moves, prove it from the bytes,
//! and know what it costs.
//!
//! This crate is the command line: arguments in, exit code out. The library crates implement the verbs.

mod cli;
mod exit;
mod inherited;
mod output;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;

fn main() -> ExitCode {
    forbid_core_dumps();
    if let Some(arguments) = as_state_transfer() {
        return cli::sst::run(arguments);
    }
    match Cli::parse().run() {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print();
            failure.exit.into()
        }
    }
}

/// The arguments, if a cluster's server started this program under the name of a state transfer method.
fn as_state_transfer() -> Option<Vec<String>> {
    let mut arguments = std::env::args_os();
    let name = arguments.next()?;
    let named = std::path::Path::new(&name).file_name()? == cli::sst::PROGRAM;
    named.then(|| {
        inherited::close();
        arguments.map(|word| word.to_string_lossy().into_owned()).collect()
    })
}

/// Passwords stay in memory for a while, so no core dumps may be written. Lowering a limit cannot fail.
fn forbid_core_dumps() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
}
