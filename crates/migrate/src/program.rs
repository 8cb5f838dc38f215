//! Programs of the user that a cut-over runs.

use std::{
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread::sleep,
    time::Duration,
};

use crate::{Error, settings::Settings};

/// Pause between checks whether a program has ended.
const POLL: Duration = Duration::from_millis(20);

/// Runs a program with one argument, the step. Its environment has the addresses of both servers, and no secrets. Ends it
/// if `is_over` says so.
///
/// # Errors
/// [`Error::Program`]; [`Error::Stopped`].
pub(crate) fn run(program: &Path, step: &str, settings: &Settings, is_over: impl Fn() -> bool) -> Result<(), Error> {
    let failed = |what: String| Error::Program { program: program.display().to_string(), step: step.to_owned(), what };
    let mut command = Command::new(program);
    command.arg(step).stdin(Stdio::null()).stdout(Stdio::null());
    command.env("SEALANT_SOURCE", settings.source.target.endpoint.to_string());
    command.env("SEALANT_TARGET", settings.target.target.endpoint.to_string());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    match wait(&mut child, is_over).map_err(|error| failed(error.to_string()))? {
        None => Err(Error::Stopped),
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(failed(status.to_string())),
    }
}

/// Waits for the end of a program; `None` if it was killed.
fn wait(child: &mut Child, is_over: impl Fn() -> bool) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if is_over() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        sleep(POLL);
    }
}
