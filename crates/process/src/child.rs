//! Waits for child processes, signals them, and kills them with their descendants.

use std::{
    io,
    process::{Child, ExitStatus},
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Interval at which a running program is polled.
const INTERVAL: Duration = Duration::from_millis(2);

/// Waits until a child ends, and calls `meanwhile` every few milliseconds. `None` if it is still running after `limit`.
///
/// # Errors
/// Errors of the system.
pub fn wait(child: &mut Child, limit: Duration, meanwhile: &mut dyn FnMut()) -> io::Result<Option<ExitStatus>> {
    poll(limit, || {
        meanwhile();
        child.try_wait()
    })
}

/// Calls `status` every few milliseconds until it returns one. `None` if there is none after `limit`.
pub(crate) fn poll(
    limit: Duration,
    mut status: impl FnMut() -> io::Result<Option<ExitStatus>>,
) -> io::Result<Option<ExitStatus>> {
    let begin = Instant::now();
    loop {
        if let Some(status) = status()? {
            return Ok(Some(status));
        }
        if begin.elapsed() > limit {
            return Ok(None);
        }
        sleep(INTERVAL);
    }
}

/// Sends a signal to a child that has not been waited for. Does nothing if the child has ended.
pub fn signal(child: &Child, signal: Signal) {
    if let Some(pid) = pid(child) {
        let _ = kill_process(pid, signal);
    }
}

/// Kills what is left of the process group that a child leads.
pub fn kill_group(child: &Child) {
    if let Some(group) = pid(child) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use std::{
        io::Read,
        os::unix::process::CommandExt,
        process::{Command, Stdio},
    };

    use super::*;

    #[test]
    fn a_group_is_killed_with_its_children() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & echo started; wait"]).process_group(0).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        output.read_exact(&mut [0; 8]).unwrap();
        assert_eq!(wait(&mut child, Duration::ZERO, &mut || ()).unwrap(), None);
        kill_group(&child);
        assert!(!child.wait().unwrap().success());
        assert_eq!(output.read(&mut [0]).unwrap(), 0, "the sleep would hold it open");
    }

    #[test]
    fn a_signal_ends_a_child() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        signal(&child, Signal::TERM);
        let mut looked = 0;
        let status = wait(&mut child, Duration::from_secs(60), &mut || looked += 1).unwrap();
        assert!(status.is_some_and(|status| status.code().is_none()) && looked > 0);
    }
}
