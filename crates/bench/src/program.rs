//! Other programs: how to run them, and their peak memory.
//!
//! Servers and proxies are `Program`s of the crate `process`, which ends them together with this process. Measured
//! programs are commands of the standard library: they have no time limit, enter network namespaces, and are connected
//! by pipes.

use std::{
    fs,
    path::Path,
    process::{Command, ExitStatus, Output, Stdio},
    time::Duration,
};

use process::{EndSignal, Program, Unguarded};

use crate::Error;

/// A program that receives SIGTERM when this process ends for whatever reason, if `setpriv` is installed.
pub(crate) fn ended_with_parent(program: &Path) -> Program<'static> {
    Program::at(program).ended_with_parent(EndSignal::Term, Unguarded::Run)
}

/// Runs a program to completion and returns its output.
pub(crate) fn output(command: &mut Command) -> Result<Output, Error> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| failed(command, &e.to_string()))?;
    ended(command, output.status)?;
    Ok(output)
}

/// Like [`output`], but fails if the program fails.
pub(crate) fn succeed(command: &mut Command) -> Result<Output, Error> {
    let output = output(command)?;
    if output.status.success() {
        return Ok(output);
    }
    Err(failed(command, String::from_utf8_lossy(&output.stderr).trim()))
}

/// Runs a program to completion and ignores its exit code and output.
pub(crate) fn finish(command: &mut Command) -> Result<(), Error> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    ended(command, status.map_err(|e| failed(command, &e.to_string()))?)
}

fn ended(command: &Command, status: ExitStatus) -> Result<(), Error> {
    match status.code() {
        Some(_) => Ok(()),
        None => Err(failed(command, &format!("did not end by itself ({status})"))),
    }
}

pub(crate) fn failed(command: &Command, reason: &str) -> Error {
    Error::Program { program: command.get_program().to_string_lossy().into_owned(), reason: reason.to_owned() }
}

/// Peak memory of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Resident memory in bytes: the kernel's high-water mark, read at most two milliseconds before the end.
    pub resident_bytes: u64,
    /// Exit code.
    pub code: i32,
}

/// Runs a program to completion and samples its memory.
///
/// # Errors
/// [`Error::Program`] if it cannot be started or is killed.
pub fn peak_memory(command: &mut Command) -> Result<Peak, Error> {
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = spawned.map_err(|e| failed(command, &e.to_string()))?;
    let status_file = format!("/proc/{}/status", child.id());
    let mut resident_bytes = 0;
    let mut look = || resident_bytes = resident_bytes.max(high_water(&status_file).unwrap_or(0));
    let status = process::wait(&mut child, Duration::MAX, &mut look).map_err(|e| failed(command, &e.to_string()))?;
    let Some(status) = status else { return Err(failed(command, "does not end")) };
    ended(command, status)?;
    Ok(Peak { resident_bytes, code: status.code().unwrap_or(-1) })
}

fn high_water(status_file: &str) -> Option<u64> {
    let text = fs::read_to_string(status_file).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_of_a_program_is_seen() {
        let peak = peak_memory(Command::new("sh").args(["-c", "sleep 0.05; exit 3"])).unwrap();
        assert_eq!(peak.code, 3);
        assert!(peak.resident_bytes > 100_000, "{peak:?}");
    }
}
