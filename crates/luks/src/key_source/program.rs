//! Runs a program that writes a key to its standard output.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::thread::{sleep, spawn};
use std::time::Instant;

use process::{Program, Running};

use super::{POLL, RETRY, leaves_time};
use crate::Error;
use crate::secret::Secret;

/// The output of the program. While there is time, a failed program is run again: a service that it asks may come up
/// later.
pub(super) fn key(program: &Path, deadline: Instant) -> Result<Secret, Error> {
    loop {
        match run(program, deadline) {
            Err(_) if program.exists() && leaves_time(deadline) => sleep(RETRY),
            ended => return ended,
        }
    }
}

fn run(program: &Path, deadline: Instant) -> Result<Secret, Error> {
    let failed = |error: io::Error| Error::KeyProgram { program: program.to_owned(), reason: error.to_string() };
    // The output is a secret, so it is not collected as text; error messages are for the log of the service.
    let started = Program::at(program).with_children().start(Stdio::piped(), Stdio::inherit());
    let mut running = started.map_err(failed)?;
    let pipe = running.stdout.take();
    let (sender, received) = channel();
    spawn(move || sender.send(pipe.map(|mut pipe| Secret::read(&mut pipe))));
    let is_success = is_success(&mut running, deadline).map_err(failed)?;
    // A process that the program left behind may still hold the pipe with the key.
    let left = deadline.saturating_duration_since(Instant::now());
    let key = if is_success { received.recv_timeout(left.max(POLL)).ok().flatten() } else { None };
    running.kill();
    let key = key.ok_or_else(|| Error::KeyProgramFailed { program: program.to_owned() })?;
    key.map_err(failed)
}

/// Whether the program exits with 0 before the deadline.
fn is_success(running: &mut Running, deadline: Instant) -> io::Result<bool> {
    let left = deadline.saturating_duration_since(Instant::now());
    Ok(running.wait(left)?.is_some_and(|status| status.success()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn run(script: &str, limit: Duration) -> Result<Secret, Error> {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("fetch-key");
        harness::script(&program, script).unwrap();
        key(&program, Instant::now() + limit)
    }

    #[test]
    fn the_output_of_the_program_is_the_key() {
        assert_eq!(run("printf 'a b\\n'", Duration::from_secs(10)).unwrap().bytes(), b"a b\n");
    }

    #[test]
    fn a_failed_program_is_run_again() {
        let script = "test -e \"$0.once\" && exec echo key; touch \"$0.once\"; exit 1";
        assert_eq!(run(script, Duration::from_secs(20)).unwrap().bytes(), b"key\n");
    }

    #[test]
    fn a_program_that_hangs_or_fails_gives_no_key() {
        for script in ["exec sleep 60", "echo key; exit 1"] {
            let began = Instant::now();
            let error = run(script, Duration::from_millis(300)).unwrap_err();
            assert!(matches!(error, Error::KeyProgramFailed { .. }), "{script}: {error}");
            assert!(began.elapsed() < Duration::from_secs(30), "{script}");
        }
        let error = run("exit 0", Duration::from_millis(300)).unwrap_err();
        assert!(error.to_string().ends_with("the key is empty"), "{error}");
    }
}
