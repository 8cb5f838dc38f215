//! Other programs: how to find and run them, and their peak memory.

use std::{
    env,
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Output, Stdio},
    thread,
    time::Duration,
};

use crate::Error;

/// Finds a program in `PATH`, or at its path if `name` has a slash.
#[must_use]
pub fn find_program(name: &OsStr) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        return is_executable(path).then(|| path.to_path_buf());
    }
    let directories = env::var_os("PATH")?;
    env::split_paths(&directories).map(|directory| directory.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// A command that receives a signal when this process ends for whatever reason: `setpriv` of util-linux asks the kernel
/// for it. The kernel already sends it when the starting thread ends.
pub(crate) fn killed_with_parent(program: &Path) -> Command {
    let Some(setpriv) = find_program(OsStr::new("setpriv")) else { return Command::new(program) };
    let mut command = Command::new(setpriv);
    command.args(["--pdeathsig", "TERM", "--"]).arg(program);
    command
}

/// Runs a program to completion and returns its output.
pub(crate) fn output(command: &mut Command) -> Result<Output, Error> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| failed(command, &e.to_string()))?;
    ended(command, output.status)?;
    Ok(output)
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

const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Runs a program to completion and samples its memory.
///
/// # Errors
/// [`Error::Program`] if it cannot be started or is killed.
pub fn peak_memory(command: &mut Command) -> Result<Peak, Error> {
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = spawned.map_err(|e| failed(command, &e.to_string()))?;
    let status_file = format!("/proc/{}/status", child.id());
    let mut resident_bytes = 0;
    loop {
        resident_bytes = resident_bytes.max(high_water(&status_file).unwrap_or(0));
        if let Some(status) = child.try_wait().map_err(|e| failed(command, &e.to_string()))? {
            ended(command, status)?;
            return Ok(Peak { resident_bytes, code: status.code().unwrap_or(-1) });
        }
        thread::sleep(POLL_INTERVAL);
    }
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
    fn programs_are_found_by_name_and_by_path() {
        let sh = find_program(OsStr::new("sh")).unwrap();
        assert_eq!(find_program(sh.as_os_str()), Some(sh));
        assert_eq!(find_program(OsStr::new("no-such-program-anywhere")), None);
        assert_eq!(find_program(OsStr::new("/etc/passwd")), None);
    }

    #[test]
    fn the_peak_of_a_program_is_seen() {
        let peak = peak_memory(Command::new("sh").args(["-c", "sleep 0.05; exit 3"])).unwrap();
        assert_eq!(peak.code, 3);
        assert!(peak.resident_bytes > 100_000, "{peak:?}");
    }
}
