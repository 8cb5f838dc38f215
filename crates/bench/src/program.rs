//! Other programs: where they are, and how much memory they take.

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

/// The program of that name in `PATH`, or at that path if it has a slash.
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

/// A program that is told to end when this process does, in whatever way: `setpriv` of util-linux asks the kernel
/// for it. The signal comes when the thread ends that started it.
pub(crate) fn tied(program: &Path) -> Command {
    let Some(setpriv) = find_program(OsStr::new("setpriv")) else { return Command::new(program) };
    let mut command = Command::new(setpriv);
    command.args(["--pdeathsig", "TERM", "--"]).arg(program);
    command
}

/// Runs a program to its end and returns what it wrote.
pub(crate) fn output(command: &mut Command) -> Result<Output, Error> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| failed(command, &e.to_string()))?;
    ended(command, output.status)?;
    Ok(output)
}

/// Runs a program to its end, whatever its exit code; what it writes is dropped.
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

/// What a program took at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Resident memory in bytes: the kernel's high-water mark, last seen at most
    /// two milliseconds before the end.
    pub resident_bytes: u64,
    /// Its exit code.
    pub code: i32,
}

const EVERY: Duration = Duration::from_millis(2);

/// Runs a program to its end and watches its memory.
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
        thread::sleep(EVERY);
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
