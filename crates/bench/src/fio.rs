//! Runs `fio`, the usual disk benchmark, and reads its result.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde::{Deserialize, de::DeserializeOwned};

use crate::{Error, program};

/// A `fio` command for direct reads or writes of files, with its result as JSON.
pub(crate) fn command(program: &Path, files: &[PathBuf]) -> Command {
    let mut command = Command::new(program);
    command.args(["--direct=1", "--output-format=json"]);
    // `fio` separates file names by colons.
    let names: Vec<String> = files.iter().map(|file| file.display().to_string().replace(':', "\\:")).collect();
    command.arg(format!("--filename={}", names.join(":")));
    command
}

/// Runs a command with one job; returns the results of the job.
///
/// # Errors
/// [`Error::Program`].
pub(crate) fn run<J: DeserializeOwned>(command: &mut Command) -> Result<J, Error> {
    let output = program::succeed(command)?;
    first_job(&output.stdout).ok_or_else(|| no_result(command))
}

/// The error of a run that gave no result.
pub(crate) fn no_result(command: &Command) -> Error {
    program::failed(command, "wrote no result")
}

/// Skips warnings that `fio` may print before the document.
pub(crate) fn first_job<J: DeserializeOwned>(output: &[u8]) -> Option<J> {
    #[derive(Deserialize)]
    struct Document<J> {
        jobs: Vec<J>,
    }
    let begin = output.iter().position(|byte| *byte == b'{')?;
    let document: Document<J> = serde_json::from_slice(output.get(begin..)?).ok()?;
    document.jobs.into_iter().next()
}
